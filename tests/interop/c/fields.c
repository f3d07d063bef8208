// What programs read and ask for: results of rdma_getaddrinfo, fields of ids at every event, addresses and options that
// they bind with, descriptors that are no sockets over RDMA. Expected is what rdma-core and the kernel give. The argument
// says which part is run.
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>

#include "holds.h"

#define OWN "127.77.0.1"

static struct sockaddr_in four(const char *address, int port)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, address, &own.sin_addr);
    return own;
}

static struct sockaddr_in6 six(const char *address, int port)
{
    struct sockaddr_in6 own = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    inet_pton(AF_INET6, address, &own.sin6_addr);
    return own;
}

// A result has an address, and says how long it is.
static int names(struct sockaddr *address, socklen_t length, struct sockaddr_in expected)
{
    struct sockaddr_in *own = (struct sockaddr_in *)address;
    return own && length == sizeof expected && own->sin_family == AF_INET && own->sin_port == expected.sin_port &&
           own->sin_addr.s_addr == expected.sin_addr.s_addr;
}

static void hints(void)
{
    struct sockaddr_in from = four(OWN, 0), to = four("192.0.2.1", 4000);
    struct rdma_addrinfo *got, asked = {.ai_flags = RAI_NOROUTE | RAI_FAMILY, .ai_family = AF_INET};
    asked.ai_qp_type = IBV_QPT_UD;
    asked.ai_port_space = RDMA_PS_UDP;
    asked.ai_src_addr = (struct sockaddr *)&from;
    asked.ai_src_len = sizeof from;
    asked.ai_dst_addr = (struct sockaddr *)&to;
    asked.ai_dst_len = sizeof to;
    // Without names all comes from the hints, and is a copy.
    HOLDS(rdma_getaddrinfo(NULL, NULL, &asked, &got) == 0);
    HOLDS(got->ai_flags == asked.ai_flags && got->ai_family == AF_INET);
    HOLDS(got->ai_qp_type == IBV_QPT_UD && got->ai_port_space == RDMA_PS_UDP);
    HOLDS(names(got->ai_src_addr, got->ai_src_len, from) && got->ai_src_addr != asked.ai_src_addr);
    HOLDS(names(got->ai_dst_addr, got->ai_dst_len, to) && got->ai_dst_addr != asked.ai_dst_addr);
    HOLDS(got->ai_route_len == 0 && got->ai_connect_len == 0 && got->ai_next == NULL);
    rdma_freeaddrinfo(got);
    // A passive side's hints, too.
    asked.ai_flags = RAI_PASSIVE;
    HOLDS(rdma_getaddrinfo(NULL, NULL, &asked, &got) == 0);
    HOLDS(got->ai_flags == RAI_PASSIVE && names(got->ai_src_addr, got->ai_src_len, from));
    HOLDS(names(got->ai_dst_addr, got->ai_dst_len, to));
    rdma_freeaddrinfo(got);
    // A name is the other end; the own one still comes from the hints.
    asked.ai_flags = RAI_NUMERICHOST;
    HOLDS(rdma_getaddrinfo("192.0.2.7", "4001", &asked, &got) == 0);
    HOLDS(names(got->ai_src_addr, got->ai_src_len, from));
    HOLDS(names(got->ai_dst_addr, got->ai_dst_len, four("192.0.2.7", 4001)));
    rdma_freeaddrinfo(got);
    // Where it waits, the name is the own end, and there is no other.
    asked.ai_flags = RAI_PASSIVE | RAI_NUMERICHOST;
    HOLDS(rdma_getaddrinfo(OWN, "4001", &asked, &got) == 0);
    HOLDS(names(got->ai_src_addr, got->ai_src_len, four(OWN, 4001)));
    HOLDS(got->ai_dst_addr == NULL && got->ai_dst_len == 0);
    rdma_freeaddrinfo(got);
    // Without length there is no address, and a family that names don't have is an error.
    asked.ai_flags = 0;
    asked.ai_src_len = 0;
    HOLDS(rdma_getaddrinfo(NULL, NULL, &asked, &got) == 0 && got->ai_src_addr == NULL && got->ai_src_len == 0);
    rdma_freeaddrinfo(got);
    asked.ai_family = AF_INET6;
    HOLDS(rdma_getaddrinfo("192.0.2.7", NULL, &asked, &got) != 0);
    // An id can be made of what hints say.
    struct rdma_addrinfo few = {.ai_port_space = RDMA_PS_TCP, .ai_dst_len = sizeof to};
    struct rdma_cm_id *id;
    to = four(OWN, 4000);
    few.ai_dst_addr = (struct sockaddr *)&to;
    HOLDS(rdma_getaddrinfo(NULL, NULL, &few, &got) == 0 && rdma_create_ep(&id, got, NULL, NULL) == 0);
    rdma_freeaddrinfo(got);
    HOLDS(id->qp_type == IBV_QPT_RC && id->ps == RDMA_PS_TCP && rdma_get_dst_port(id) == htons(4000));
    rdma_destroy_ep(id);
}

// An id without device has none of what comes with one.
static int is_free(struct rdma_cm_id *id)
{
    return !id->verbs && !id->pd && !id->port_num && !id->qp && !id->route.num_paths && !id->route.path_rec;
}

// An id at the device has all of it.
static int is_placed(struct rdma_cm_id *id)
{
    static const uint8_t gid[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 77, 0, 1};
    struct ibv_context *verbs = id->verbs;
    return verbs && id->pd && id->pd->context == verbs && id->port_num == 1 &&
           id->route.addr.addr.ibaddr.pkey == 0xffff && memcmp(&id->route.addr.addr.ibaddr.sgid, gid, 16) == 0;
}

// An id that knows its way has a path, whose fields are what the kernel says of RoCE.
static int has_path(struct rdma_cm_id *id)
{
    struct ibv_sa_path_rec *path = id->route.path_rec;
    struct ibv_port_attr port;
    return id->route.num_paths == 1 && path && ibv_query_port(id->verbs, 1, &port) == 0 &&
           memcmp(&path->sgid, &id->route.addr.addr.ibaddr.sgid, 16) == 0 &&
           memcmp(&path->dgid, &id->route.addr.addr.ibaddr.dgid, 16) == 0 && path->pkey == 0xffff &&
           path->hop_limit > 1 && path->reversible && path->numb_path == 1 && path->mtu_selector == 2 &&
           path->mtu == port.active_mtu && path->rate_selector == 2 && path->rate == IBV_RATE_100_GBPS &&
           path->packet_life_time_selector == 2 && path->packet_life_time == 18;
}

static struct rdma_cm_event *next(struct rdma_event_channel *channel, enum rdma_cm_event_type kind)
{
    struct rdma_cm_event *event;
    HOLDS(rdma_get_cm_event(channel, &event) == 0);
    if (event->event != kind)
        fprintf(stderr, "expected %s, got %s\n", rdma_event_str(kind), rdma_event_str(event->event));
    HOLDS(event->event == kind && event->status == 0);
    return event;
}

static void fields(void)
{
    struct rdma_event_channel *channel = rdma_create_event_channel(), *other = rdma_create_event_channel();
    struct ibv_qp_init_attr attr = {.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    struct sockaddr_in at = four("0.0.0.0", 4000), own = four(OWN, 0);
    struct rdma_cm_id *listener, *bound, *id, *accepted;
    struct rdma_cm_event *event;
    attr.qp_type = IBV_QPT_RC;
    // Waiting at any address is waiting at any device.
    HOLDS(rdma_create_id(channel, &listener, &at, RDMA_PS_TCP) == 0 && is_free(listener));
    HOLDS(listener->context == &at && listener->channel == channel);
    HOLDS(listener->ps == RDMA_PS_TCP && listener->qp_type == IBV_QPT_RC);
    HOLDS(rdma_bind_addr(listener, (struct sockaddr *)&at) == 0 && is_free(listener));
    HOLDS(rdma_listen(listener, 1) == 0 && is_free(listener) && rdma_get_src_port(listener) == htons(4000));
    // An address of a device is that device.
    HOLDS(rdma_create_id(channel, &bound, NULL, RDMA_PS_UDP) == 0 && bound->qp_type == IBV_QPT_UD);
    HOLDS(rdma_bind_addr(bound, (struct sockaddr *)&own) == 0 && is_placed(bound) && rdma_get_src_port(bound) != 0);
    HOLDS(names(rdma_get_local_addr(bound), sizeof own, four(OWN, ntohs(rdma_get_src_port(bound)))));
    // The active side.
    at = four(OWN, 4000);
    HOLDS(rdma_create_id(channel, &id, &own, RDMA_PS_TCP) == 0);
    HOLDS(rdma_resolve_addr(id, NULL, (struct sockaddr *)&at, 100) == 0);
    rdma_ack_cm_event(next(channel, RDMA_CM_EVENT_ADDR_RESOLVED));
    HOLDS(is_placed(id) && !id->qp && !id->route.num_paths && rdma_get_dst_port(id) == htons(4000));
    HOLDS(names(rdma_get_peer_addr(id), sizeof at, at) && id->pd == bound->pd);
    HOLDS(rdma_resolve_route(id, 100) == 0);
    rdma_ack_cm_event(next(channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
    HOLDS(is_placed(id) && has_path(id));
    // Shared receives of another domain leave the id's.
    struct ibv_pd *domain = ibv_alloc_pd(id->verbs), *usual = id->pd;
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = 1, .max_sge = 1}};
    HOLDS(rdma_create_srq(id, domain, &shared) == 0 && id->srq->pd == domain && id->pd == usual);
    rdma_destroy_srq(id);
    HOLDS(id->srq == NULL);
    HOLDS(rdma_create_qp(id, NULL, &attr) == 0 && id->qp->pd == usual && id->pd == usual);
    HOLDS(id->send_cq == attr.send_cq && id->recv_cq == attr.recv_cq && id->send_cq_channel && id->recv_cq_channel);
    HOLDS(rdma_connect(id, NULL) == 0);
    // The request's id has all of it before the program does anything.
    event = next(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    accepted = event->id;
    HOLDS(event->listen_id == listener && accepted != listener && accepted->context == listener->context);
    HOLDS(accepted->channel == channel && accepted->ps == RDMA_PS_TCP && accepted->qp_type == IBV_QPT_RC);
    HOLDS(is_placed(accepted) && has_path(accepted) && !accepted->qp && accepted->pd == usual);
    HOLDS(rdma_get_src_port(accepted) == htons(4000) && rdma_get_dst_port(accepted) == rdma_get_src_port(id));
    HOLDS(event->param.conn.qp_num == id->qp->qp_num);
    rdma_ack_cm_event(event);
    // A queue pair of another domain brings its domain along.
    memset(&attr, 0, sizeof attr);
    attr.cap.max_send_wr = attr.cap.max_recv_wr = attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
    attr.qp_type = IBV_QPT_RC;
    HOLDS(rdma_create_qp(accepted, domain, &attr) == 0 && accepted->pd == domain);
    HOLDS(rdma_migrate_id(accepted, other) == 0 && accepted->channel == other);
    HOLDS(rdma_accept(accepted, NULL) == 0);
    rdma_ack_cm_event(next(channel, RDMA_CM_EVENT_ESTABLISHED));
    rdma_ack_cm_event(next(other, RDMA_CM_EVENT_ESTABLISHED));
    HOLDS(is_placed(id) && has_path(id) && is_placed(accepted) && has_path(accepted) && is_free(listener));
    HOLDS(rdma_disconnect(id) == 0);
    rdma_ack_cm_event(next(channel, RDMA_CM_EVENT_DISCONNECTED));
    rdma_ack_cm_event(next(other, RDMA_CM_EVENT_DISCONNECTED));
    HOLDS(is_placed(id) && id->qp && is_placed(accepted) && accepted->qp);
    rdma_destroy_qp(id);
    HOLDS(id->qp == NULL && id->send_cq == NULL && id->recv_cq == NULL && id->pd == usual);
    rdma_destroy_qp(accepted);
    ibv_dealloc_pd(domain);
    // A request that nobody has taken leaves nothing behind.
    struct rdma_cm_id *late;
    HOLDS(rdma_create_id(other, &late, NULL, RDMA_PS_TCP) == 0);
    HOLDS(rdma_resolve_addr(late, NULL, (struct sockaddr *)&at, 100) == 0 && rdma_resolve_route(late, 100) == 0);
    HOLDS(rdma_destroy_id(late) == 0 && rdma_destroy_id(bound) == 0 && rdma_destroy_id(accepted) == 0);
    HOLDS(rdma_destroy_id(listener) == 0 && rdma_destroy_id(id) == 0);
    rdma_destroy_event_channel(channel);
    rdma_destroy_event_channel(other);
}

static struct rdma_cm_id *make(struct rdma_event_channel *channel)
{
    struct rdma_cm_id *id;
    HOLDS(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
    return id;
}

static void resolve(struct rdma_cm_id *id, void *to)
{
    HOLDS(rdma_resolve_addr(id, NULL, to, 100) == 0);
    rdma_ack_cm_event(next(id->channel, RDMA_CM_EVENT_ADDR_RESOLVED));
    HOLDS(rdma_resolve_route(id, 100) == 0);
    rdma_ack_cm_event(next(id->channel, RDMA_CM_EVENT_ROUTE_RESOLVED));
}

// Who asks for a connection of an address is answered by an id's request, or refused.
static void ask(struct rdma_event_channel *channel, void *to, struct rdma_cm_id *answers)
{
    struct rdma_conn_param param = {.qp_num = 77};
    struct rdma_cm_id *id = make(channel);
    struct rdma_cm_event *event;
    resolve(id, to);
    HOLDS(is_placed(id) && rdma_connect(id, &param) == 0);
    if (answers) {
        event = next(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
        struct rdma_cm_id *accepted = event->id;
        HOLDS(event->listen_id == answers && is_placed(accepted));
        rdma_ack_cm_event(event);
        HOLDS(rdma_destroy_id(accepted) == 0);
    }
    HOLDS(rdma_get_cm_event(channel, &event) == 0 && event->event == RDMA_CM_EVENT_REJECTED);
    // IB_CM_REJ_INVALID_SERVICE_ID, IB_CM_REJ_CONSUMER_DEFINED
    HOLDS(event->status == (answers ? 28 : 8));
    rdma_ack_cm_event(event);
    HOLDS(rdma_destroy_id(id) == 0);
}

static void loopback(void)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct sockaddr_in home = four("127.0.0.1", 0), own = four(OWN, 0), foreign = four("10.255.255.1", 0);
    struct sockaddr_in6 home6 = six("::1", 0);
    struct rdma_cm_id *id = make(channel), *other = make(channel), *third = make(channel);
    // An address of loopback that is no device's means any device, as no address does.
    HOLDS(rdma_bind_addr(id, (struct sockaddr *)&home) == 0 && is_free(id) && rdma_get_src_port(id));
    HOLDS(names(rdma_get_local_addr(id), sizeof home, four("127.0.0.1", ntohs(rdma_get_src_port(id)))));
    HOLDS(rdma_bind_addr(other, (struct sockaddr *)&own) == 0 && is_placed(other));
    HOLDS(rdma_bind_addr(third, (struct sockaddr *)&foreign) == -1 && errno == EADDRNOTAVAIL && is_free(third));
    HOLDS(rdma_bind_addr(third, (struct sockaddr *)&home6) == 0 && is_free(third));
    // So it is in the way of every other, and hears at every device.
    HOLDS(rdma_destroy_id(other) == 0);
    other = make(channel);
    own.sin_port = home.sin_port = rdma_get_src_port(id);
    HOLDS(rdma_bind_addr(other, (struct sockaddr *)&own) == -1 && errno == EADDRNOTAVAIL);
    HOLDS(rdma_listen(id, 1) == 0);
    ask(channel, &own, id);
    // To ask for loopback is to ask at a device of the process.
    ask(channel, &home, id);
    home6.sin6_port = home.sin_port;
    ask(channel, &home6, id);
    struct sockaddr_in any = four("0.0.0.0", ntohs(home.sin_port));
    ask(channel, &any, id);
    HOLDS(rdma_destroy_id(id) == 0 && rdma_destroy_id(other) == 0 && rdma_destroy_id(third) == 0);
    rdma_destroy_event_channel(channel);
}

static int set(struct rdma_cm_id *id, int name, int value)
{
    return rdma_set_option(id, RDMA_OPTION_ID, name, &value, sizeof value);
}

#define ONLY RDMA_OPTION_ID_AFONLY
#define REUSE RDMA_OPTION_ID_REUSEADDR

static void options(void)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct sockaddr_in any = four("0.0.0.0", 3260), own = four(OWN, 3260);
    struct sockaddr_in6 any6 = six("::", 3260);
    struct rdma_cm_id *a = make(channel), *b = make(channel), *c = make(channel);
    char one = 1;
    // Both wildcards only beside each other if each is one of its own version, which IPv4's is.
    HOLDS(rdma_bind_addr(a, (struct sockaddr *)&any) == 0 && rdma_listen(a, 1) == 0);
    HOLDS(rdma_bind_addr(b, (struct sockaddr *)&any6) == -1 && errno == EADDRNOTAVAIL);
    HOLDS(rdma_set_option(b, RDMA_OPTION_ID, ONLY, &one, sizeof one) == -1 && errno == EINVAL);
    HOLDS(set(b, ONLY, 1) == 0 && rdma_bind_addr(b, (struct sockaddr *)&any6) == 0 && rdma_listen(b, 1) == 0);
    HOLDS(set(b, ONLY, 0) == -1 && errno == EINVAL);
    ask(channel, &own, a);
    // Alone, the one of IPv6 hears of requests by IPv4 unless it is only for IPv6.
    HOLDS(rdma_destroy_id(a) == 0);
    own.sin_port = any6.sin6_port = htons(3261);
    HOLDS(set(c, ONLY, 1) == 0 && set(c, ONLY, 0) == 0);
    HOLDS(rdma_bind_addr(c, (struct sockaddr *)&any6) == 0 && rdma_listen(c, 1) == 0);
    ask(channel, &own, c);
    own.sin_port = htons(3260);
    HOLDS(rdma_destroy_id(b) == 0 && rdma_destroy_id(c) == 0);
    b = make(channel);
    any6.sin6_port = own.sin_port = htons(3262);
    HOLDS(set(b, ONLY, 1) == 0 && rdma_bind_addr(b, (struct sockaddr *)&any6) == 0 && rdma_listen(b, 1) == 0);
    ask(channel, &own, NULL);
    HOLDS(rdma_destroy_id(b) == 0);
    // Those that may share an address do until one listens.
    a = make(channel), b = make(channel), c = make(channel);
    own.sin_port = htons(3263);
    HOLDS(set(a, REUSE, 1) == 0 && rdma_bind_addr(a, (struct sockaddr *)&own) == 0);
    HOLDS(rdma_bind_addr(b, (struct sockaddr *)&own) == -1 && errno == EADDRINUSE);
    HOLDS(set(b, REUSE, 1) == 0 && rdma_bind_addr(b, (struct sockaddr *)&own) == 0);
    HOLDS(set(b, REUSE, 0) == -1 && errno == EINVAL);
    HOLDS(rdma_listen(a, 1) == -1 && errno == EADDRINUSE);
    HOLDS(rdma_destroy_id(b) == 0 && rdma_listen(a, 1) == 0);
    HOLDS(set(a, REUSE, 1) == -1 && errno == EINVAL);
    HOLDS(set(c, REUSE, 1) == 0 && rdma_bind_addr(c, (struct sockaddr *)&own) == -1 && errno == EADDRINUSE);
    HOLDS(rdma_destroy_id(a) == 0 && rdma_destroy_id(c) == 0);
    rdma_destroy_event_channel(channel);
}

// Without sockets over RDMA each descriptor is an ordinary one.
static void descriptors(void)
{
    int ends[2];
    struct timeval none = {.tv_sec = 0}, short_time = {.tv_usec = 2000};
    fd_set reads, writes;
    HOLDS(rsocket(AF_INET, SOCK_STREAM, 0) == -1 && errno == EOPNOTSUPP);
    HOLDS(pipe(ends) == 0);
    struct pollfd both[] = {{.fd = ends[0], .events = POLLIN}, {.fd = ends[1], .events = POLLOUT}};
    HOLDS(rpoll(both, 2, -1) == 1 && both[0].revents == 0 && both[1].revents == POLLOUT);
    HOLDS(rpoll(both, 1, 0) == 0 && rpoll(both, 1, 2) == 0);
    FD_ZERO(&reads);
    FD_ZERO(&writes);
    FD_SET(ends[0], &reads);
    FD_SET(ends[1], &writes);
    HOLDS(rselect(ends[1] + 1, &reads, &writes, NULL, NULL) == 1);
    HOLDS(!FD_ISSET(ends[0], &reads) && FD_ISSET(ends[1], &writes));
    FD_SET(ends[0], &reads);
    HOLDS(rselect(ends[0] + 1, &reads, NULL, NULL, &short_time) == 0 && !FD_ISSET(ends[0], &reads));
    HOLDS(write(ends[1], "x", 1) == 1);
    FD_SET(ends[0], &reads);
    HOLDS(rselect(ends[0] + 1, &reads, NULL, NULL, &none) == 1 && FD_ISSET(ends[0], &reads));
    HOLDS(rpoll(both, 1, -1) == 1 && both[0].revents == POLLIN);
    HOLDS(close(ends[0]) == 0 && close(ends[1]) == 0);
    HOLDS(rselect(ends[0] + 1, &reads, NULL, NULL, &none) == -1 && errno == EBADF);
    HOLDS(rpoll(both, 1, -1) == 1 && both[0].revents == POLLNVAL);
}

int main(int count, char **arguments)
{
    static const struct { const char *name; void (*run)(void); } parts[] = {
        {"hints", hints},
        {"fields", fields},
        {"loopback", loopback},
        {"options", options},
        {"descriptors", descriptors},
    };
    HOLDS(count == 2);
    alarm(20);
    for (size_t at = 0; at < sizeof parts / sizeof *parts; at++) {
        if (strcmp(parts[at].name, arguments[1]) == 0) {
            parts[at].run();
            return 0;
        }
    }
    return 2;
}
