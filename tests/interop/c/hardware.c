/* What programs know of hardware beyond the manual pages, on queue pairs of one process that talk to each other. The argument says which part is run. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "holds.h"

/* Headers before rdma-core 62 lack it. */
extern int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed);

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static union ibv_gid gid;
static int slot;

static struct ibv_qp *create(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 2 },
	};
	return ibv_create_qp(pd, &attr);
}

static struct ibv_qp *datagrams(void)
{
	struct ibv_qp *qp = create(IBV_QPT_UD);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 7 };

	HOLDS(qp && !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	HOLDS(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	HOLDS(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	return qp;
}

static struct ibv_wc next(void)
{
	struct ibv_wc wc;
	int count;

	while (!(count = ibv_poll_cq(cq, 1, &wc)))
		;
	HOLDS(count == 1);
	return wc;
}

static void send_to(struct ibv_qp *qp, struct ibv_ah *ah, uint32_t number)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .wr.ud = { .ah = ah, .remote_qpn = number, .remote_qkey = 7 } }, *bad;

	HOLDS(!ibv_post_send(qp, &wr, &bad));
}

/* What a datagram's completion says of its network header, by mlx5: bit 3 for UDP, 1 for IPv6 and 2 for IPv4. */
static void headers(void)
{
	static char room[64];
	const int expected = slot ? 0xa : 0x9;
	struct ibv_cq_init_attr_ex with = { .cqe = 8, .wc_flags = IBV_WC_EX_WITH_SL | IBV_WC_EX_WITH_SRC_QP };
	struct ibv_cq_ex *read;
	struct ibv_poll_cq_attr poll = {};
	struct ibv_ah_attr way = { .port_num = 1, .is_global = 1, .grh = { .dgid = gid, .sgid_index = slot } }, back;
	struct ibv_ah *ah = ibv_create_ah(pd, &way), *answer;
	struct ibv_mr *mr = ibv_reg_mr(pd, room, sizeof room, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)room, .length = sizeof room, .lkey = mr->lkey };
	struct ibv_recv_wr receive = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp *qp = datagrams();
	struct ibv_wc wc;
	int error;

	HOLDS(ah && !ibv_post_recv(qp, &receive, &bad));
	send_to(qp, ah, qp->qp_num);
	wc = next();
	HOLDS(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV && wc.wc_flags & IBV_WC_GRH);
	HOLDS(wc.sl == expected);
	/* It is no service level to answer with. */
	HOLDS(!ibv_init_ah_from_wc(context, 1, &wc, (struct ibv_grh *)room, &back));
	HOLDS(back.sl == 0 && back.is_global && !memcmp(&back.grh.dgid, &gid, sizeof gid));
	HOLDS((answer = ibv_create_ah_from_wc(pd, &wc, (struct ibv_grh *)room, 1)));
	HOLDS(!ibv_post_recv(qp, &receive, &bad));
	send_to(qp, answer, wc.src_qp);
	HOLDS(next().sl == expected);
	HOLDS(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
	/* Completions that are read field by field say the same. */
	HOLDS((read = ibv_create_cq_ex(context, &with)));
	cq = ibv_cq_ex_to_cq(read);
	qp = datagrams();
	HOLDS(!ibv_post_recv(qp, &receive, &bad));
	send_to(qp, ah, qp->qp_num);
	while ((error = ibv_start_poll(read, &poll)) == ENOENT)
		;
	HOLDS(!error && read->status == IBV_WC_SUCCESS);
	HOLDS(ibv_wc_read_sl(read) == expected && ibv_wc_read_src_qp(read) == qp->qp_num);
	ibv_end_poll(read);
	HOLDS(!ibv_destroy_qp(qp) && !ibv_destroy_ah(ah) && !ibv_destroy_ah(answer) && !ibv_dereg_mr(mr));
}

/* Programs test for this value, not for at least this one. */
static void atomics(void)
{
	struct ibv_device_attr attr;
	struct ibv_device_attr_ex all;

	HOLDS(!ibv_query_device(context, &attr) && attr.atomic_cap == IBV_ATOMIC_HCA);
	HOLDS(!ibv_query_device_ex(context, NULL, &all) && all.orig_attr.atomic_cap == IBV_ATOMIC_HCA);
}

static struct ibv_qp *create_ex(unsigned asked, unsigned *granted)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .pd = pd, .send_ops_flags = IBV_QP_EX_WITH_SEND,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = asked },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(context, &attr);

	*granted = attr.cap.max_inline_data;
	return qp;
}

/* Sends so many bytes that no key is for; returns what is said to it. */
static int post(struct ibv_qp *qp, void *bytes, unsigned length)
{
	/* Two pieces count together. */
	struct ibv_sge pieces[] = { { .addr = (uintptr_t)bytes, .length = length / 2 },
		{ .addr = (uintptr_t)bytes + length / 2, .length = length - length / 2 } };
	struct ibv_send_wr wr = { .sg_list = pieces, .num_sge = 2, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE }, *bad;

	return ibv_post_send(qp, &wr, &bad);
}

static int post_ex(struct ibv_qp *qp, void *bytes, unsigned length)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, bytes, length);
	return ibv_wr_complete(ex);
}

static int post_list(struct ibv_qp *qp, void *bytes, unsigned length)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	struct ibv_data_buf pieces[] = { { bytes, 1 }, { (char *)bytes + 1, length - 1 } };

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data_list(ex, 2, pieces);
	return ibv_wr_complete(ex);
}

static const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

static void connect_to_itself(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = all };

	HOLDS(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = qp->qp_num;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid = gid;
	attr.ah_attr.grh.sgid_index = slot;
	HOLDS(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = attr.rnr_retry = 3;
	attr.max_rd_atomic = 1;
	HOLDS(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		IBV_QP_MAX_QP_RD_ATOMIC));
}

/* What is said of inline data when a queue pair is made, asked, and used. */
static void inlined(void)
{
	const unsigned sizes[][2] = { { 0, 64 }, { 63, 64 }, { 64, 64 }, { 65, 65 }, { 1024, 1024 } };
	static char bytes[1025];
	unsigned at;

	for (at = 0; at < LENGTH(sizes); at++) {
		struct ibv_qp_init_attr asked = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
			.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = sizes[at][0] } };
		struct ibv_qp *qp = ibv_create_qp(pd, &asked), *ex;
		struct ibv_qp_attr attr;
		struct ibv_qp_init_attr told;
		unsigned most = sizes[at][1], granted;

		HOLDS(qp && asked.cap.max_inline_data == most && asked.cap.max_send_wr >= 4);
		HOLDS(!ibv_query_qp(qp, &attr, IBV_QP_CAP, &told));
		HOLDS(attr.cap.max_inline_data == most && told.cap.max_inline_data == most);
		connect_to_itself(qp);
		HOLDS(!post(qp, bytes, most) && post(qp, bytes, most + 1) == EINVAL);
		HOLDS((ex = create_ex(sizes[at][0], &granted)) && granted == most);
		connect_to_itself(ex);
		HOLDS(!post_ex(ex, bytes, most) && !post_list(ex, bytes, most));
		HOLDS(post_ex(ex, bytes, most + 1) == EINVAL && post_list(ex, bytes, most + 1) == EINVAL);
		HOLDS(!ibv_destroy_qp(qp) && !ibv_destroy_qp(ex));
	}
}

/* In units of 100 Mbit/s, and the same as width and speed say: 4 lanes of EDR, 25 Gbit/s each. */
static void speed(void)
{
	struct ibv_port_attr attr;
	uint64_t speed = 0;

	HOLDS(!ibv_query_port_speed(context, 1, &speed) && speed == 1000);
	HOLDS(!ibv_query_port(context, 1, &attr) && attr.active_width == 2 && attr.active_speed == 32);
	HOLDS(ibv_query_port_speed(context, 2, &speed) == EINVAL && ibv_query_port_speed(context, 1, NULL) == EINVAL);
	HOLDS(ibv_query_port_speed(NULL, 1, &speed) == EINVAL);
}

static int is(const char *bytes, int value, unsigned count)
{
	for (; count > 0; count--, bytes++)
		if (*bytes != (char)value)
			return 0;
	return 1;
}

/* Memory that isn't there: what is written is dropped, what is read is zeros, and nobody else can use it (ibv_alloc_null_mr(3)). */
static void null(void)
{
	static _Alignas(8) char bytes[64], into[64];
	struct ibv_mr *mr = ibv_alloc_null_mr(pd), *from, *to;
	struct ibv_qp *qp = create(IBV_QPT_RC);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_sge sges[2], parts[2];
	struct ibv_send_wr wr = { .sg_list = sges, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_recv_wr receive = { .sg_list = parts, .num_sge = 2 }, *refused;
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED };
	int at;

	HOLDS(mr && mr->addr == NULL && mr->length == SIZE_MAX && mr->pd == pd && mr->context == context && mr->rkey == 0);
	HOLDS((from = ibv_reg_mr(pd, bytes, sizeof bytes, all)) && (to = ibv_reg_mr(pd, into, sizeof into, all)) && qp && mw);
	connect_to_itself(qp);
	/* A WRITE of zeros, from an address where nothing is. */
	memset(into, 0xee, sizeof into);
	sges[0] = (struct ibv_sge){ .addr = 1ull << 60, .length = 48, .lkey = mr->lkey };
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.wr.rdma.remote_addr = (uintptr_t)into;
	wr.wr.rdma.rkey = to->rkey;
	HOLDS(!ibv_post_send(qp, &wr, &bad) && next().status == IBV_WC_SUCCESS);
	HOLDS(is(into, 0, 48) && is(into + 48, 0xee, 16));
	/* A READ that nobody wants the data of. */
	wr.opcode = IBV_WR_RDMA_READ;
	HOLDS(!ibv_post_send(qp, &wr, &bad) && next().status == IBV_WC_SUCCESS);
	HOLDS(is(into, 0, 48) && is(into + 48, 0xee, 16));
	/* Pieces of a message: the first half is zeros, and dropped at the other end but for its end. */
	memset(bytes, 0x55, sizeof bytes);
	sges[0] = (struct ibv_sge){ .addr = 0, .length = 32, .lkey = mr->lkey };
	sges[1] = (struct ibv_sge){ .addr = (uintptr_t)bytes, .length = 32, .lkey = from->lkey };
	parts[0] = (struct ibv_sge){ .addr = 0, .length = 24, .lkey = mr->lkey };
	parts[1] = (struct ibv_sge){ .addr = (uintptr_t)into, .length = 40, .lkey = to->lkey };
	memset(into, 0xee, sizeof into);
	wr.opcode = IBV_WR_SEND;
	wr.num_sge = 2;
	HOLDS(!ibv_post_recv(qp, &receive, &refused) && !ibv_post_send(qp, &wr, &bad));
	for (at = 0; at < 2; at++)
		HOLDS(next().status == IBV_WC_SUCCESS);
	HOLDS(is(into, 0, 8) && is(into + 8, 0x55, 32) && is(into + 40, 0xee, 24));
	/* An atomic whose former value nobody wants. */
	memset(into, 0, sizeof into);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.num_sge = 1;
	sges[0].length = 8;
	wr.wr.atomic.remote_addr = (uintptr_t)into;
	wr.wr.atomic.rkey = to->rkey;
	wr.wr.atomic.compare_add = 3;
	HOLDS(!ibv_post_send(qp, &wr, &bad) && next().status == IBV_WC_SUCCESS && into[0] == 3);
	/* It stays as it is, and its key is for this end only. */
	HOLDS(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, all) && ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0));
	HOLDS(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, into, sizeof into, 0));
	wr.opcode = IBV_WR_RDMA_WRITE;
	sges[0] = (struct ibv_sge){ .addr = (uintptr_t)bytes, .length = 8, .lkey = from->lkey };
	wr.wr.rdma.remote_addr = 0;
	wr.wr.rdma.rkey = mr->lkey;
	/* It is the queue pair itself that fails by the access, before it hears of that. */
	HOLDS(!ibv_post_send(qp, &wr, &bad) && next().status == IBV_WC_WR_FLUSH_ERR);
	HOLDS(!ibv_destroy_qp(qp) && (qp = create(IBV_QPT_RC)));
	connect_to_itself(qp);
	bind.bind_info = (struct ibv_mw_bind_info){ .mr = mr, .addr = 0, .length = 8, .mw_access_flags = IBV_ACCESS_REMOTE_READ };
	HOLDS(ibv_bind_mw(qp, mw, &bind) || next().status == IBV_WC_MW_BIND_ERR);
	HOLDS(!ibv_destroy_qp(qp) && !ibv_dealloc_mw(mw) && !ibv_dereg_mr(from) && !ibv_dereg_mr(to));
	HOLDS(ibv_dealloc_pd(pd) == EBUSY);
	HOLDS(!ibv_dereg_mr(mr));
}

static struct ibv_pd *parent_of(struct ibv_pd *domain, struct ibv_td *thread, uint32_t mask)
{
	struct ibv_parent_domain_init_attr attr = { .pd = domain, .td = thread, .comp_mask = mask, .pd_context = &attr };

	return ibv_alloc_parent_domain(context, &attr);
}

/* Parent domains are used like their domain, and neither they nor their parts go while somebody uses them (ibv_alloc_parent_domain(3)). */
static void domains(void)
{
	static char bytes[64], into[64];
	struct ibv_td_init_attr plain = {}, strange = { .comp_mask = 1 };
	struct ibv_td *td = ibv_alloc_td(context, &plain);
	struct ibv_pd *parent = parent_of(pd, td, IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT), *own = pd, *other;
	struct ibv_srq_init_attr shared = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_cq_init_attr_ex with = { .cqe = 8, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = parent };
	struct ibv_qp *qp;
	struct ibv_mr *mr, *outer;
	struct ibv_mw *mw;
	struct ibv_srq *srq;
	struct ibv_cq_ex *read;
	struct ibv_sge sge, part;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_recv_wr receive = { .sg_list = &part, .num_sge = 1 }, *refused;
	int at;

	HOLDS(td && td->context == context && parent && parent != pd && parent->context == context);
	HOLDS(!ibv_alloc_td(context, &strange) && errno == EINVAL);
	HOLDS(!parent_of(NULL, td, 0) && errno == EINVAL);
	HOLDS(!parent_of(pd, NULL, 1 << 5) && errno == EINVAL);
	/* There are no buffers of queues that a program could allocate. */
	HOLDS(!parent_of(pd, NULL, IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) && errno == EOPNOTSUPP);
	HOLDS(ibv_dealloc_td(td) == EBUSY && ibv_dealloc_pd(pd) == EBUSY);
	/* Each object counts, and works with those of the domain itself. */
	HOLDS((mr = ibv_reg_mr(parent, bytes, sizeof bytes, all)) && mr->pd == parent && ibv_dealloc_pd(parent) == EBUSY);
	HOLDS((outer = ibv_reg_mr(pd, into, sizeof into, all)));
	pd = parent;
	HOLDS((qp = create(IBV_QPT_RC)) && qp->pd == parent);
	pd = own;
	connect_to_itself(qp);
	memset(bytes, 0x77, sizeof bytes);
	sge = (struct ibv_sge){ .addr = (uintptr_t)bytes, .length = sizeof bytes, .lkey = mr->lkey };
	part = (struct ibv_sge){ .addr = (uintptr_t)into, .length = sizeof into, .lkey = outer->lkey };
	HOLDS(!ibv_post_recv(qp, &receive, &refused) && !ibv_post_send(qp, &wr, &bad));
	for (at = 0; at < 2; at++)
		HOLDS(next().status == IBV_WC_SUCCESS);
	HOLDS(is(into, 0x77, sizeof into) && !ibv_dereg_mr(outer));
	HOLDS((other = ibv_alloc_pd(context)) && !ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0));
	HOLDS(ibv_dealloc_pd(parent) == EBUSY && ibv_dealloc_pd(other) == EBUSY);
	HOLDS(!ibv_destroy_qp(qp) && !ibv_dealloc_pd(parent) && !ibv_dereg_mr(mr) && !ibv_dealloc_pd(other));
	HOLDS((parent = parent_of(pd, NULL, 0)) && !ibv_dealloc_td(td));
	HOLDS((srq = ibv_create_srq(parent, &shared)) && ibv_dealloc_pd(parent) == EBUSY && !ibv_destroy_srq(srq));
	HOLDS((mw = ibv_alloc_mw(parent, IBV_MW_TYPE_1)) && ibv_dealloc_pd(parent) == EBUSY && !ibv_dealloc_mw(mw));
	HOLDS((mr = ibv_alloc_null_mr(parent)) && ibv_dealloc_pd(parent) == EBUSY && !ibv_dereg_mr(mr));
	with.parent_domain = pd;
	HOLDS(!ibv_create_cq_ex(context, &with) && errno == EINVAL);
	with.parent_domain = NULL;
	HOLDS(!ibv_create_cq_ex(context, &with) && errno == EINVAL);
	with.parent_domain = parent;
	HOLDS((read = ibv_create_cq_ex(context, &with)) && ibv_dealloc_pd(parent) == EBUSY && !ibv_destroy_cq(ibv_cq_ex_to_cq(read)));
	HOLDS((other = parent_of(parent, NULL, 0)) && ibv_dealloc_pd(parent) == EBUSY);
	HOLDS(!ibv_dealloc_pd(other) && !ibv_dealloc_pd(parent));
}

int main(int count, char **arguments)
{
	const struct { const char *name; void (*run)(void); } parts[] = {
		{ "headers", headers }, { "atomics", atomics }, { "inlined", inlined },
		{ "speed", speed }, { "null", null }, { "domains", domains },
	};
	struct ibv_device **list = ibv_get_device_list(NULL);
	unsigned at, ran = 0;

	if (count != 2 || !list || !list[0] || !(context = ibv_open_device(list[0])))
		return 2;
	ibv_free_device_list(list);
	/* The last GID is the address as such. */
	HOLDS(!ibv_query_gid(context, 1, 1, &gid));
	slot = gid.raw[10] == 0xff;
	HOLDS(!ibv_query_gid(context, 1, slot, &gid));
	HOLDS((pd = ibv_alloc_pd(context)) && (cq = ibv_create_cq(context, 64, NULL, NULL, 0)));
	for (at = 0; at < LENGTH(parts); at++)
		if (!strcmp(parts[at].name, arguments[1])) {
			parts[at].run();
			ran++;
		}
	HOLDS(ran == 1);
	HOLDS(!ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd) && !ibv_close_device(context));
	return 0;
}
