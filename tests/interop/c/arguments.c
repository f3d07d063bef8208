/* What the library says to wrong arguments, and what a peer can do to memory: two queue pairs of one process, connected with each other. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <infiniband/verbs.h>

static int failures;

#define EXPECT(condition)                                                   \
	do {                                                                \
		if (!(condition)) {                                         \
			printf("line %d: %s (errno %d)\n", __LINE__, #condition, errno); \
			failures++;                                         \
		}                                                           \
	} while (0)

static struct ibv_context *context, *foreign;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static union ibv_gid gid;
static char local[8192], remote[8192];
static struct ibv_mr *source, *target;

static struct ibv_qp *create(void)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 2, .max_send_sge = 2, .max_recv_sge = 1, .max_inline_data = 16 },
	};
	return ibv_create_qp(pd, &attr);
}

static void connect_to(struct ibv_qp *qp, struct ibv_qp *peer, int access)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access };
	EXPECT(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	memset(&attr, 0, sizeof attr);
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = peer->qp_num;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid = gid;
	attr.ah_attr.grh.sgid_index = 1;
	EXPECT(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 3;
	attr.rnr_retry = 3;
	attr.max_rd_atomic = 1;
	EXPECT(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		IBV_QP_MAX_QP_RD_ATOMIC));
}

/* The status of a request between two fresh queue pairs. */
static int status_of(enum ibv_wr_opcode opcode, uint64_t address, uint32_t key, uint32_t length, int access)
{
	struct ibv_qp *qp = create(), *peer = create();
	struct ibv_sge sge = { .addr = (uintptr_t)local, .length = length, .lkey = source->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;
	int count;

	connect_to(peer, qp, access);
	connect_to(qp, peer, 0);
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = address;
		wr.wr.atomic.rkey = key;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = address;
		wr.wr.rdma.rkey = key;
	}
	EXPECT(!ibv_post_send(qp, &wr, &bad));
	while (!(count = ibv_poll_cq(cq, 1, &wc)))
		;
	EXPECT(count == 1);
	EXPECT(!ibv_destroy_qp(qp) && !ibv_destroy_qp(peer));
	return wc.status;
}

static void memory_of_others(void)
{
	const int write = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, all = write | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	uint64_t start = (uintptr_t)remote + 1024;
	struct ibv_pd *other = ibv_alloc_pd(context);
	struct ibv_mr *closed = ibv_reg_mr(pd, remote + 1024, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *elsewhere = ibv_reg_mr(other, remote + 1024, 4096, all);
	static char zeros[8192];
	unsigned at;

	target = ibv_reg_mr(pd, remote + 1024, 4096, all);
	EXPECT(other && closed && elsewhere && target);
	memset(local, 0xee, sizeof local);
	EXPECT(status_of(IBV_WR_RDMA_WRITE, start, target->rkey + 1, 64, all) == IBV_WC_REM_ACCESS_ERR);
	EXPECT(status_of(IBV_WR_RDMA_WRITE, start, target->rkey ^ 0x4000, 64, all) == IBV_WC_REM_ACCESS_ERR);
	EXPECT(status_of(IBV_WR_RDMA_WRITE, start - 1, target->rkey, 64, all) == IBV_WC_REM_ACCESS_ERR);
	EXPECT(status_of(IBV_WR_RDMA_WRITE, start + 4096 - 63, target->rkey, 64, all) == IBV_WC_REM_ACCESS_ERR);
	EXPECT(status_of(IBV_WR_RDMA_WRITE, start, target->rkey, 4097, all) == IBV_WC_REM_ACCESS_ERR);
	EXPECT(status_of(IBV_WR_RDMA_WRITE, UINT64_MAX - 8, target->rkey, 64, all) == IBV_WC_REM_ACCESS_ERR);
	EXPECT(status_of(IBV_WR_RDMA_WRITE, start, closed->rkey, 64, all) == IBV_WC_REM_ACCESS_ERR);
	EXPECT(status_of(IBV_WR_RDMA_WRITE, start, elsewhere->rkey, 64, all) == IBV_WC_REM_ACCESS_ERR);
	EXPECT(status_of(IBV_WR_RDMA_WRITE, start, target->rkey, 64, IBV_ACCESS_REMOTE_READ) == IBV_WC_REM_ACCESS_ERR);
	EXPECT(status_of(IBV_WR_RDMA_READ, start, target->rkey, 64, write) == IBV_WC_REM_ACCESS_ERR);
	EXPECT(status_of(IBV_WR_RDMA_READ, start, closed->rkey, 64, all) == IBV_WC_REM_ACCESS_ERR);
	EXPECT(status_of(IBV_WR_ATOMIC_FETCH_AND_ADD, start, target->rkey, 8, write) == IBV_WC_REM_ACCESS_ERR);
	/* The last local byte that may be read is the end of the region. */
	EXPECT(status_of(IBV_WR_RDMA_WRITE, start, target->rkey, sizeof local, all) != IBV_WC_SUCCESS);
	EXPECT(!memcmp(remote, zeros, sizeof remote));
	for (at = 0; at < sizeof local; at++)
		EXPECT((unsigned char)local[at] == 0xee);
	/* What is allowed works, up to the last byte. */
	EXPECT(status_of(IBV_WR_RDMA_WRITE, start, target->rkey, 4096, all) == IBV_WC_SUCCESS);
	EXPECT(!memcmp(remote, zeros, 1024) && !memcmp(remote + 5120, zeros, 3072) && !memcmp(remote + 1024, local, 4096));
	EXPECT(!ibv_dereg_mr(target) && !ibv_dereg_mr(closed) && !ibv_dereg_mr(elsewhere) && !ibv_dealloc_pd(other));
	EXPECT(status_of(IBV_WR_RDMA_WRITE, start, closed->rkey, 64, all) == IBV_WC_REM_ACCESS_ERR);
}

static void requests(void)
{
	struct ibv_qp *qp = create(), *peer = create();
	struct ibv_sge sges[3] = { { .addr = (uintptr_t)local, .length = 8, .lkey = source->lkey } };
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = sges, .num_sge = 1, .opcode = IBV_WR_SEND }, chain[6], *bad = NULL;
	struct ibv_recv_wr receive = { .sg_list = sges, .num_sge = 1 }, *bad_receive = NULL;
	int at;

	EXPECT(ibv_post_send(qp, &wr, &bad) && bad == &wr);
	EXPECT(ibv_post_recv(qp, &receive, &bad_receive) && bad_receive == &receive);
	connect_to(peer, qp, 0);
	connect_to(qp, peer, 0);
	wr.num_sge = 3;
	EXPECT(ibv_post_send(qp, &wr, &bad) == EINVAL && bad == &wr);
	wr.num_sge = -1;
	EXPECT(ibv_post_send(qp, &wr, &bad) == EINVAL);
	wr.num_sge = 1;
	wr.sg_list = NULL;
	EXPECT(ibv_post_send(qp, &wr, &bad) == EINVAL);
	wr.sg_list = sges;
	wr.opcode = 77;
	EXPECT(ibv_post_send(qp, &wr, &bad) == EINVAL);
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_INLINE;
	sges[0].length = 65;
	EXPECT(ibv_post_send(qp, &wr, &bad) == EINVAL);
	receive.num_sge = 2;
	EXPECT(ibv_post_recv(qp, &receive, &bad_receive) == EINVAL);
	/* Of a list those in front of the first that finds no room are taken. */
	wr.send_flags = 0;
	sges[0].length = 8;
	for (at = 0; at < 6; at++) {
		chain[at] = wr;
		chain[at].next = at < 5 ? &chain[at + 1] : NULL;
	}
	EXPECT(ibv_post_send(qp, chain, &bad) == ENOMEM && bad == &chain[4]);
	EXPECT(ibv_destroy_cq(cq) == EBUSY);
	EXPECT(ibv_dealloc_pd(pd) == EBUSY);
	EXPECT(!ibv_destroy_qp(qp) && !ibv_destroy_qp(peer));
}

static struct ibv_qp_ex *create_ex(enum ibv_qp_type type, uint64_t operations)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .pd = pd, .send_ops_flags = operations,
		.cap = { .max_send_wr = 4, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(context, &attr);
	return qp ? ibv_qp_to_qp_ex(qp) : NULL;
}

/* Posts so many WRITEs at once. */
static int write_times(struct ibv_qp_ex *ex, int count)
{
	ibv_wr_start(ex);
	for (ex->wr_id = 0; count-- > 0; ex->wr_id++) {
		ibv_wr_rdma_write(ex, target->rkey, (uintptr_t)remote);
		ibv_wr_set_sge(ex, source->lkey, (uintptr_t)local, 8);
	}
	return ibv_wr_complete(ex);
}

/* What is begun by ibv_wr_start is posted as a whole or not at all. */
static void requests_begun(void)
{
	struct ibv_qp_ex *ex = create_ex(IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_BIND_MW);
	struct ibv_qp_ex *datagrams = create_ex(IBV_QPT_UD, IBV_QP_EX_WITH_SEND);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 7 };
	struct ibv_ah_attr way = { .port_num = 1, .is_global = 1, .grh = { .dgid = gid, .sgid_index = 1 } };
	struct ibv_qp *peer = create();
	struct ibv_ah *ah = ibv_create_ah(pd, &way);
	struct ibv_wc wc;
	int got, count;

	target = ibv_reg_mr(pd, remote, sizeof remote, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	EXPECT(ex && datagrams && peer && ah && target);
	connect_to(peer, &ex->qp_base, IBV_ACCESS_REMOTE_WRITE);
	connect_to(&ex->qp_base, peer, 0);
	ex->wr_flags = IBV_SEND_SIGNALED;
	EXPECT(write_times(ex, 5) == ENOMEM);
	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, target->rkey, (uintptr_t)remote);
	ibv_wr_bind_mw(ex, NULL, 0, NULL);
	EXPECT(ibv_wr_complete(ex) == EINVAL);
	EXPECT(!write_times(ex, 4));
	for (got = 0; got < 4; got++) {
		while (!(count = ibv_poll_cq(cq, 1, &wc)))
			;
		EXPECT(count == 1 && wc.status == IBV_WC_SUCCESS && wc.wr_id == (uint64_t)got);
	}
	EXPECT(!ibv_modify_qp(&datagrams->qp_base, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	EXPECT(!ibv_modify_qp(&datagrams->qp_base, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	EXPECT(!ibv_modify_qp(&datagrams->qp_base, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	/* A datagram without an address, as the last one and in front of another one. */
	ibv_wr_start(datagrams);
	ibv_wr_send(datagrams);
	EXPECT(ibv_wr_complete(datagrams) == EINVAL);
	ibv_wr_start(datagrams);
	ibv_wr_send(datagrams);
	ibv_wr_send(datagrams);
	ibv_wr_set_ud_addr(datagrams, ah, peer->qp_num, 7);
	EXPECT(ibv_wr_complete(datagrams) == EINVAL);
	ibv_wr_start(datagrams);
	ibv_wr_send(datagrams);
	ibv_wr_set_ud_addr(datagrams, ah, peer->qp_num, 7);
	EXPECT(!ibv_wr_complete(datagrams));
	EXPECT(!ibv_destroy_qp(&ex->qp_base) && !ibv_destroy_qp(&datagrams->qp_base) && !ibv_destroy_qp(peer));
	EXPECT(!ibv_destroy_ah(ah) && !ibv_dereg_mr(target));
}

/* A queue pair that has failed, of which so many requests have been flushed. */
static struct ibv_qp *flushed(uint64_t id, int count)
{
	struct ibv_qp *qp = create();
	struct ibv_send_wr wr = { .wr_id = id, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	connect_to(qp, qp, 0);
	EXPECT(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	for (; count > 0; count--, wr.wr_id++)
		EXPECT(!ibv_post_send(qp, &wr, &bad));
	return qp;
}

static struct ibv_cq_ex *many;
static atomic_uint_fast64_t seen;

static void *poll_one(void *unused)
{
	struct ibv_poll_cq_attr attr = {};

	EXPECT(!ibv_start_poll(many, &attr));
	seen = many->wr_id;
	ibv_end_poll(many);
	return unused;
}

/* Completions that are read one by one: threads take turns, and what is left of a queue pair goes with it. */
static void completions_read(void)
{
	struct ibv_cq_init_attr_ex with = { .cqe = 64, .wc_flags = IBV_WC_EX_WITH_QP_NUM };
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq *plain = cq;
	struct ibv_qp *first, *second;
	pthread_t thread;

	many = ibv_create_cq_ex(context, &with);
	EXPECT(many);
	cq = ibv_cq_ex_to_cq(many);
	EXPECT(ibv_start_poll(many, &attr) == ENOENT);
	first = flushed(10, 4);
	second = flushed(20, 2);
	EXPECT(!ibv_start_poll(many, &attr) && many->wr_id == 10);
	EXPECT(!pthread_create(&thread, NULL, poll_one, NULL));
	usleep(200 * 1000);
	EXPECT(!seen && many->wr_id == 10 && ibv_wc_read_qp_num(many) == first->qp_num);
	EXPECT(!ibv_next_poll(many) && many->wr_id == 11);
	ibv_end_poll(many);
	EXPECT(!pthread_join(thread, NULL) && seen == 12);
	EXPECT(!ibv_destroy_qp(first));
	EXPECT(!ibv_start_poll(many, &attr) && many->wr_id == 20 && ibv_wc_read_qp_num(many) == second->qp_num);
	EXPECT(!ibv_next_poll(many) && many->wr_id == 21 && ibv_next_poll(many) == ENOENT);
	ibv_end_poll(many);
	EXPECT(!ibv_destroy_qp(second) && !ibv_destroy_cq(cq));
	cq = plain;
}

static void objects(void)
{
	struct ibv_qp_init_attr attr = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RAW_PACKET, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_srq_init_attr shared = { .attr = { .max_wr = 0, .max_sge = 1 } };
	struct ibv_device_attr device;
	void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_ah_attr way = { .port_num = 1, .dlid = 5 };
	union ibv_gid wrong;

	munmap(hole, 4096);
	EXPECT(!ibv_query_device(context, &device));
	EXPECT(!ibv_alloc_pd(NULL) && errno == EINVAL);
	EXPECT(ibv_dealloc_pd(NULL) == EINVAL && ibv_destroy_qp(NULL) == EINVAL && ibv_destroy_cq(NULL) == EINVAL);
	EXPECT(ibv_dereg_mr(NULL) == EINVAL && ibv_destroy_ah(NULL) == EINVAL && ibv_close_device(NULL) == EINVAL);
	EXPECT(!ibv_create_qp(pd, &attr) && errno == EOPNOTSUPP);
	attr.qp_type = IBV_QPT_RC;
	attr.cap.max_send_sge = 1000;
	EXPECT(!ibv_create_qp(pd, &attr) && errno == EINVAL);
	attr.cap.max_send_sge = 1;
	attr.cap.max_recv_wr = device.max_qp_wr + 1;
	EXPECT(!ibv_create_qp(pd, &attr) && errno == EINVAL);
	attr.cap.max_recv_wr = 1;
	attr.cap.max_inline_data = 1 << 20;
	EXPECT(!ibv_create_qp(pd, &attr) && errno == EINVAL);
	attr.cap.max_inline_data = 0;
	EXPECT(!ibv_create_srq(pd, &shared) && errno == EINVAL);
	shared.attr.max_wr = device.max_srq_wr + 1;
	EXPECT(!ibv_create_srq(pd, &shared) && errno == EINVAL);
	attr.send_cq = NULL;
	EXPECT(!ibv_create_qp(pd, &attr) && errno == EINVAL);
	EXPECT(!ibv_create_cq(context, device.max_cqe + 1, NULL, NULL, 0) && errno == EINVAL);
	EXPECT(!ibv_create_cq(context, 0, NULL, NULL, 0) && !ibv_create_cq(context, 8, NULL, NULL, context->num_comp_vectors));
	EXPECT(!ibv_reg_mr(pd, hole, 4096, IBV_ACCESS_LOCAL_WRITE) && errno);
	EXPECT(!ibv_reg_mr(pd, local, 64, IBV_ACCESS_REMOTE_WRITE) && errno == EINVAL);
	EXPECT(!ibv_create_ah(pd, &way) && errno == EINVAL);
	EXPECT(ibv_query_gid(context, 2, 0, &wrong) == -1 && ibv_query_gid(context, 1, 1000, &wrong) == -1);
	EXPECT(ibv_query_gid(context, 1, -1, &wrong) == -1 && !ibv_query_gid(context, 1, 15, &wrong));
	EXPECT(ibv_attach_mcast(NULL, &gid, 0) == EOPNOTSUPP);
	EXPECT(!ibv_import_device(0) && errno == EOPNOTSUPP);
}

/* Objects of one device mean nothing to another one, though it may have some with the same numbers. */
static void devices(void)
{
	struct ibv_pd *domain = ibv_alloc_pd(foreign);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(foreign), *own = ibv_create_comp_channel(context);
	struct ibv_cq *there = ibv_create_cq(foreign, 8, NULL, channel, 0);
	struct ibv_srq_init_attr room = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(domain, &room), *here = ibv_create_srq(pd, &room);
	struct ibv_qp_init_attr attr = { .send_cq = cq, .recv_cq = cq, .srq = here, .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp *qp;

	EXPECT(domain && channel && own && there && srq && here);
	EXPECT(!ibv_create_cq(context, 8, NULL, channel, 0) && errno == EINVAL);
	attr.send_cq = there;
	EXPECT(!ibv_create_qp(pd, &attr) && errno == EINVAL);
	attr.send_cq = cq;
	attr.recv_cq = there;
	EXPECT(!ibv_create_qp(pd, &attr) && errno == EINVAL);
	attr.recv_cq = cq;
	attr.srq = srq;
	EXPECT(!ibv_create_qp(pd, &attr) && errno == EINVAL);
	attr.srq = here;
	EXPECT((qp = ibv_create_qp(pd, &attr)) && !ibv_destroy_qp(qp));
	EXPECT(!ibv_destroy_srq(here) && !ibv_destroy_srq(srq) && !ibv_destroy_cq(there));
	EXPECT(!ibv_destroy_comp_channel(own) && !ibv_destroy_comp_channel(channel) && !ibv_dealloc_pd(domain));
}

/* A child has none of its parent's objects. */
static void child(void)
{
	struct ibv_qp *qp = create();
	struct ibv_send_wr *bad;
	int status = -1;
	pid_t process = fork();

	if (!process)
		_exit(ibv_post_send(qp, NULL, &bad));
	EXPECT(waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == EINVAL);
	EXPECT(!ibv_destroy_qp(qp));
}

int main(void)
{
	struct ibv_device **list;

	setenv("FAIRLANE_ADDRESS", "127.77.0.4,127.77.0.5", 1);
	list = ibv_get_device_list(NULL);
	if (!list || !list[0] || !list[1] || !(context = ibv_open_device(list[0])) || !(foreign = ibv_open_device(list[1])))
		return 2;
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	source = ibv_reg_mr(pd, local, sizeof local, IBV_ACCESS_LOCAL_WRITE);
	EXPECT(pd && cq && source && !ibv_query_gid(context, 1, 1, &gid));
	objects();
	devices();
	child();
	requests();
	requests_begun();
	completions_read();
	memory_of_others();
	EXPECT(!ibv_dereg_mr(source) && !ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd) && !ibv_close_device(context));
	EXPECT(!ibv_close_device(foreign));
	printf("%d failures\n", failures);
	return failures != 0;
}
