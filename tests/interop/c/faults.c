/* What goes wrong on purpose, as a program meets it that talks to itself. The argument says which part is run. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/verbs.h>

#include "holds.h"

#define DATAGRAMS 200

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static union ibv_gid gid;
static char room[4096];

static struct ibv_qp *create(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .sq_sig_all = 1,
		.cap = { .max_send_wr = DATAGRAMS, .max_recv_wr = DATAGRAMS, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 7, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	int kind = type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;

	/* More may be there than there is room for. */
	HOLDS(qp && attr.cap.max_send_wr >= DATAGRAMS && attr.cap.max_recv_wr >= DATAGRAMS);
	HOLDS(!ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | kind));
	return qp;
}

/* Connects a queue pair to itself, as far as it is ready to receive. */
static int receive_with(struct ibv_qp *qp, enum ibv_mtu mtu, int slot)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = mtu, .dest_qp_num = qp->qp_num, .max_dest_rd_atomic = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = gid, .sgid_index = slot } },
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static struct ibv_qp *connected(void)
{
	struct ibv_qp *qp = create(IBV_QPT_RC);
	/* 4.096 us 2^14: 67 ms. */
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1 };

	HOLDS(!receive_with(qp, IBV_MTU_1024, 1));
	HOLDS(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		IBV_QP_MAX_QP_RD_ATOMIC));
	return qp;
}

static int post(struct ibv_qp *qp, uint64_t id)
{
	struct ibv_send_wr wr = { .wr_id = id, .opcode = IBV_WR_RDMA_WRITE, .wr.rdma = { .remote_addr = (uintptr_t)room, .rkey = mr->rkey } };
	struct ibv_send_wr *bad = NULL;
	int error = ibv_post_send(qp, &wr, &bad);

	HOLDS(!error || bad == &wr);
	return error;
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

static enum ibv_event_type told(void)
{
	struct ibv_async_event event;

	HOLDS(!ibv_get_async_event(context, &event));
	ibv_ack_async_event(&event);
	return event.event_type;
}

/* The third request fails. */
static void request(void)
{
	static const enum ibv_wc_status expected[] = { IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR };
	struct ibv_qp *qp = connected();
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	unsigned at;

	for (at = 0; at < LENGTH(expected); at++)
		HOLDS(!post(qp, at));
	for (at = 0; at < LENGTH(expected); at++) {
		struct ibv_wc wc = next();

		HOLDS(wc.wr_id == at && wc.status == expected[at] && wc.qp_num == qp->qp_num);
	}
	HOLDS(!ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_ERR);
	HOLDS(!ibv_destroy_qp(qp));
}

/* The port is down after a second, for 300 ms: less than it takes a request to fail. */
static void port(void)
{
	struct ibv_qp *qp = connected();
	struct ibv_port_attr attr;

	HOLDS(!ibv_query_port(context, 1, &attr) && attr.state == IBV_PORT_ACTIVE && attr.phys_state == 5);
	HOLDS(!post(qp, 1) && next().status == IBV_WC_SUCCESS);
	HOLDS(told() == IBV_EVENT_PORT_ERR);
	HOLDS(!ibv_query_port(context, 1, &attr) && attr.state == IBV_PORT_DOWN && attr.phys_state == 3);
	HOLDS(!post(qp, 2));
	HOLDS(told() == IBV_EVENT_PORT_ACTIVE);
	HOLDS(!ibv_query_port(context, 1, &attr) && attr.state == IBV_PORT_ACTIVE && attr.phys_state == 5);
	HOLDS(next().status == IBV_WC_SUCCESS && !ibv_destroy_qp(qp));
}

static int is_at(int slot)
{
	union ibv_gid found;
	struct ibv_gid_entry entry;
	struct ibv_ah_attr way = { .port_num = 1, .is_global = 1, .grh = { .dgid = gid, .sgid_index = slot } };
	struct ibv_ah *ah;

	HOLDS(!ibv_query_gid(context, 1, slot, &found));
	if (memcmp(&found, &gid, sizeof gid)) {
		HOLDS(ibv_query_gid_ex(context, 1, slot, &entry, 0) == ENODATA);
		errno = 0;
		HOLDS(!ibv_create_ah(pd, &way) && errno == EINVAL);
		HOLDS(receive_with(create(IBV_QPT_RC), IBV_MTU_1024, slot) == EINVAL);
		return 0;
	}
	HOLDS(!ibv_query_gid_ex(context, 1, slot, &entry, 0) && entry.gid_index == (uint32_t)slot);
	HOLDS((ah = ibv_create_ah(pd, &way)) && !ibv_destroy_ah(ah));
	HOLDS(!receive_with(create(IBV_QPT_RC), IBV_MTU_1024, slot));
	return 1;
}

/* The GID moves from index 1 to 5 after a second, and goes soon after. */
static void moves(void)
{
	struct ibv_qp *qp = connected();

	HOLDS(is_at(1) && !is_at(5));
	HOLDS(told() == IBV_EVENT_GID_CHANGE);
	HOLDS(!is_at(1) && is_at(5));
	HOLDS(told() == IBV_EVENT_GID_CHANGE);
	HOLDS(!is_at(1) && !is_at(5));
	/* What is connected stays so. */
	HOLDS(!post(qp, 1) && next().status == IBV_WC_SUCCESS);
}

/* Nothing arrives, and there is room for two requests. */
static void full(void)
{
	struct ibv_qp *qp = connected();

	HOLDS(!post(qp, 1) && !post(qp, 2) && post(qp, 3) == ENOMEM);
}

/* There is room for two completions. */
static void overrun(void)
{
	struct ibv_qp *qp = connected();
	enum ibv_event_type events[2];

	HOLDS(!post(qp, 1) && !post(qp, 2) && !post(qp, 3));
	events[0] = told();
	events[1] = told();
	HOLDS(events[0] == IBV_EVENT_CQ_ERR || events[1] == IBV_EVENT_CQ_ERR);
	HOLDS(events[0] == IBV_EVENT_QP_FATAL || events[1] == IBV_EVENT_QP_FATAL);
}

/* The port has room for packets with 1024 bytes. */
static void mtu(void)
{
	struct ibv_port_attr attr;

	HOLDS(!ibv_query_port(context, 1, &attr) && attr.active_mtu == IBV_MTU_1024 && attr.max_mtu == IBV_MTU_4096);
	HOLDS(receive_with(create(IBV_QPT_RC), IBV_MTU_2048, 1) == EINVAL);
	HOLDS(!receive_with(create(IBV_QPT_RC), IBV_MTU_1024, 1));
}

/* Says which of many datagrams arrive before it has been quiet for a while. */
static void lost(void)
{
	struct ibv_qp *qp = create(IBV_QPT_UD);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct ibv_ah_attr way = { .port_num = 1, .is_global = 1, .grh = { .dgid = gid, .sgid_index = 1 } };
	struct ibv_ah *ah = ibv_create_ah(pd, &way);
	struct ibv_sge sge = { .addr = (uintptr_t)room, .length = sizeof room, .lkey = mr->lkey };
	struct ibv_recv_wr receive = { .sg_list = &sge, .num_sge = 1 }, *wrong;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND_WITH_IMM, .wr.ud = { .ah = ah, .remote_qpn = qp->qp_num, .remote_qkey = 7 } }, *bad;
	struct timespec now, last;
	struct ibv_wc wc;
	unsigned at;

	HOLDS(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	HOLDS(ah && !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	for (at = 0; at < DATAGRAMS; at++)
		HOLDS(!ibv_post_recv(qp, &receive, &wrong));
	for (at = 0; at < DATAGRAMS; at++) {
		send.imm_data = at;
		HOLDS(!ibv_post_send(qp, &send, &bad));
	}
	clock_gettime(CLOCK_MONOTONIC, &last);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (ibv_poll_cq(cq, 1, &wc)) {
			HOLDS(wc.status == IBV_WC_SUCCESS);
			if (wc.opcode == IBV_WC_RECV)
				printf("%u\n", wc.imm_data);
			last = now;
		}
	} while ((now.tv_sec - last.tv_sec) * 1000 + (now.tv_nsec - last.tv_nsec) / 1000000 < 300);
}

int main(int count, char **arguments)
{
	const struct { const char *name; void (*run)(void); } parts[] = {
		{ "request", request }, { "port", port }, { "moves", moves }, { "full", full },
		{ "overrun", overrun }, { "mtu", mtu }, { "lost", lost },
	};
	struct ibv_device **list = ibv_get_device_list(NULL);
	unsigned at, ran = 0;

	if (count != 2 || !list || !list[0] || !(context = ibv_open_device(list[0]))) {
		printf("no device\n");
		return 2;
	}
	HOLDS(!ibv_query_gid(context, 1, 1, &gid));
	HOLDS((pd = ibv_alloc_pd(context)) && (cq = ibv_create_cq(context, 2 * DATAGRAMS, NULL, NULL, 0)));
	HOLDS((mr = ibv_reg_mr(pd, room, sizeof room, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)));
	for (at = 0; at < LENGTH(parts); at++)
		if (!strcmp(parts[at].name, arguments[1])) {
			parts[at].run();
			ran++;
		}
	HOLDS(ran == 1);
	return 0;
}
