/* What programs know of hardware beyond the manual pages, on queue pairs of one process that talk to each other. The argument says which part is run. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

#define HOLDS(condition)                                                            \
	do {                                                                        \
		if (!(condition)) {                                                 \
			printf("line %d: %s (errno %d)\n", __LINE__, #condition, errno); \
			exit(1);                                                    \
		}                                                                   \
	} while (0)

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

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

int main(int count, char **arguments)
{
	const struct { const char *name; void (*run)(void); } parts[] = {
		{ "headers", headers }, { "atomics", atomics }, { "inlined", inlined },
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
