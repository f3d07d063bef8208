// The port's table of partition keys, and a queue pair that takes another key on its way to RTR. Prints the table: index, key in
// host order, index of that key; then the index that the queue pair has.
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "holds.h"

int main(void)
{
    struct ibv_device **devices = ibv_get_device_list(NULL);
    struct ibv_context *context = ibv_open_device(devices[0]);
    HOLDS(context);
    struct ibv_port_attr port;
    HOLDS(ibv_query_port(context, 1, &port) == 0);
    for (int index = 0; index < port.pkey_tbl_len; index++) {
        __be16 key;
        HOLDS(ibv_query_pkey(context, 1, index, &key) == 0);
        printf("%d %#06x %d\n", index, ntohs(key), ibv_get_pkey_index(context, 1, key));
    }
    __be16 none;
    HOLDS(ibv_query_pkey(context, 1, port.pkey_tbl_len, &none) != 0);
    HOLDS(ibv_get_pkey_index(context, 1, htons(0x8123)) < 0);

    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(pd, &init);
    HOLDS(qp);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    int mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
    HOLDS(ibv_modify_qp(qp, &attr, mask) == 0);
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = qp->qp_num;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.pkey_index = 1;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.sgid_index = 1;
    attr.ah_attr.grh.hop_limit = 1;
    HOLDS(ibv_query_gid(context, 1, 1, &attr.ah_attr.grh.dgid) == 0);
    mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN
        | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_PKEY_INDEX;
    HOLDS(ibv_modify_qp(qp, &attr, mask) == 0);
    attr.pkey_index = 9;
    HOLDS(ibv_query_qp(qp, &attr, IBV_QP_PKEY_INDEX, &init) == 0);
    printf("%d\n", attr.pkey_index);
    return 0;
}
