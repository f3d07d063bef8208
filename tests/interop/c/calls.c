// Calls of librdmacm whose arguments make no sense, or that aren't possible now: each returns an error, and none crashes.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

static int failures;

#define FAILS(call, error)                                                                      \
    do {                                                                                        \
        errno = 0;                                                                              \
        int result = (call);                                                                    \
        if (result != -1 || errno != (error)) {                                                 \
            fprintf(stderr, "%s: returns %d, errno %d (%s)\n", #call, result, errno,            \
                    strerror(errno));                                                           \
            failures++;                                                                         \
        }                                                                                       \
    } while (0)

#define HOLDS(condition)                                                                        \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                             \
            failures++;                                                                         \
        }                                                                                       \
    } while (0)

static struct sockaddr_in address(const char *text, int port)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, text, &own.sin_addr);
    return own;
}

static void without_device(struct rdma_event_channel *channel)
{
    struct rdma_cm_id *id;
    FAILS(rdma_create_id(channel, NULL, NULL, RDMA_PS_TCP), EINVAL);
    FAILS(rdma_create_id(channel, &id, NULL, RDMA_PS_IPOIB), EPROTONOSUPPORT);
    FAILS(rdma_destroy_id(NULL), EINVAL);
    FAILS(rdma_connect(NULL, NULL), EINVAL);
    FAILS(rdma_listen(NULL, 1), EINVAL);
    FAILS(rdma_get_cm_event(channel, NULL), EINVAL);
    FAILS(rdma_ack_cm_event(NULL), EINVAL);
    FAILS(rsocket(AF_INET, SOCK_STREAM, 0), EOPNOTSUPP);
    HOLDS(strcmp(rdma_event_str(RDMA_CM_EVENT_REJECTED), "RDMA_CM_EVENT_REJECTED") == 0);
    HOLDS(strcmp(rdma_event_str(99), "UNKNOWN EVENT") == 0);
}

static void with_device(struct rdma_event_channel *channel)
{
    struct rdma_cm_id *id, *other;
    struct sockaddr_in own = address("127.77.0.1", 9000), foreign = address("192.0.2.1", 0);
    struct sockaddr strange = {.sa_family = AF_UNIX};
    HOLDS(rdma_create_id(channel, &id, &own, RDMA_PS_TCP) == 0);
    HOLDS(rdma_create_id(channel, &other, NULL, RDMA_PS_TCP) == 0);
    HOLDS(id->context == &own && id->channel == channel && id->ps == RDMA_PS_TCP);
    FAILS(rdma_connect(id, NULL), EINVAL);
    FAILS(rdma_accept(id, NULL), EINVAL);
    FAILS(rdma_reject(id, NULL, 0), EINVAL);
    FAILS(rdma_disconnect(id), EINVAL);
    FAILS(rdma_resolve_route(id, 100), EINVAL);
    FAILS(rdma_bind_addr(id, &strange), EAFNOSUPPORT);
    FAILS(rdma_bind_addr(id, (struct sockaddr *)&foreign), EADDRNOTAVAIL);
    HOLDS(rdma_bind_addr(id, (struct sockaddr *)&own) == 0);
    HOLDS(id->verbs != NULL && id->port_num == 1 && rdma_get_src_port(id) == htons(9000));
    FAILS(rdma_bind_addr(id, (struct sockaddr *)&own), EINVAL);
    FAILS(rdma_bind_addr(other, (struct sockaddr *)&own), EADDRINUSE);
    FAILS(rdma_join_multicast(id, (struct sockaddr *)&own, NULL), EOPNOTSUPP);
    FAILS(rdma_create_qp(id, NULL, NULL), EINVAL);
    HOLDS(rdma_listen(id, 4) == 0);
    FAILS(rdma_listen(id, 4), EINVAL);
    FAILS(rdma_resolve_addr(id, NULL, (struct sockaddr *)&own, 100), EINVAL);
    HOLDS(rdma_destroy_id(other) == 0);
    HOLDS(rdma_destroy_id(id) == 0);
    // What is gone isn't touched.
    FAILS(rdma_listen(id, 4), EINVAL);
}

// A process connects to itself, and one of its ids is destroyed while the other one waits for a decision.
static void with_itself(struct rdma_event_channel *channel)
{
    struct rdma_cm_id *listener, *client;
    struct rdma_cm_event *event;
    struct rdma_conn_param param = {.private_data = "hello", .private_data_len = 6, .retry_count = 3};
    struct sockaddr_in own = address("127.77.0.1", 9001);
    HOLDS(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0);
    HOLDS(rdma_create_id(channel, &client, NULL, RDMA_PS_TCP) == 0);
    HOLDS(rdma_bind_addr(listener, (struct sockaddr *)&own) == 0);
    HOLDS(rdma_listen(listener, 0) == 0);
    HOLDS(rdma_resolve_addr(client, NULL, (struct sockaddr *)&own, 100) == 0);
    HOLDS(rdma_get_cm_event(channel, &event) == 0);
    HOLDS(event->event == RDMA_CM_EVENT_ADDR_RESOLVED && event->id == client && event->status == 0);
    HOLDS(rdma_ack_cm_event(event) == 0);
    HOLDS(rdma_resolve_route(client, 100) == 0);
    HOLDS(rdma_get_cm_event(channel, &event) == 0 && event->event == RDMA_CM_EVENT_ROUTE_RESOLVED);
    HOLDS(client->route.num_paths == 1 && client->route.path_rec != NULL);
    HOLDS(rdma_ack_cm_event(event) == 0);
    HOLDS(rdma_connect(client, &param) == 0);
    FAILS(rdma_connect(client, &param), EISCONN);
    HOLDS(rdma_get_cm_event(channel, &event) == 0);
    HOLDS(event->event == RDMA_CM_EVENT_CONNECT_REQUEST && event->listen_id == listener);
    HOLDS(event->param.conn.retry_count == 3 && event->param.conn.private_data_len >= 6);
    HOLDS(memcmp(event->param.conn.private_data, "hello", 6) == 0);
    struct rdma_cm_id *server = event->id;
    HOLDS(server != listener && server->verbs != NULL && server->channel == channel);
    HOLDS(rdma_get_src_port(server) == htons(9001) && rdma_get_dst_port(server) == rdma_get_src_port(client));
    HOLDS(rdma_ack_cm_event(event) == 0);
    HOLDS(rdma_reject(server, "no", 3) == 0);
    HOLDS(rdma_get_cm_event(channel, &event) == 0);
    HOLDS(event->event == RDMA_CM_EVENT_REJECTED && event->id == client && event->status == 28);
    HOLDS(memcmp(event->param.conn.private_data, "no", 3) == 0);
    HOLDS(rdma_ack_cm_event(event) == 0);
    // A request that nobody has heard of goes with its listener, and its sender hears of it.
    HOLDS(rdma_connect(client, &param) == 0);
    HOLDS(rdma_destroy_id(server) == 0);
    struct timespec moment = {.tv_nsec = 300 * 1000 * 1000};
    nanosleep(&moment, NULL);
    HOLDS(rdma_destroy_id(listener) == 0);
    HOLDS(rdma_get_cm_event(channel, &event) == 0);
    HOLDS(event->event == RDMA_CM_EVENT_REJECTED && event->id == client);
    HOLDS(rdma_ack_cm_event(event) == 0);
    HOLDS(rdma_destroy_id(client) == 0);
    HOLDS(fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0);
    FAILS(rdma_get_cm_event(channel, &event), EAGAIN);
}

int main(void)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    HOLDS(channel != NULL);
    without_device(channel);
    with_device(channel);
    with_itself(channel);
    rdma_destroy_event_channel(channel);
    return failures != 0;
}
