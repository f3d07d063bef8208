// How a client finds its server, and leaves it.
#define _GNU_SOURCE
#include "connect.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

// Milliseconds that one step may take.
enum { PATIENCE = 5000 };

static _Noreturn void fail_rejected(const struct rdma_cm_event *event, const char *host, uint16_t port)
{
    struct kv_refusal refusal = {0};
    const void *data = event->param.conn.private_data;
    if (data && event->param.conn.private_data_len >= sizeof refusal)
        memcpy(&refusal, data, sizeof refusal);
    if (KV_LOAD(refusal.magic) != KV_MAGIC)
        // The number is the connection manager's (IBTA 12.6.7.2): 8 is a service that nobody offers.
        kv_fail("nobody serves port %u of %s (%s, status %d)\n  hint: start kv-server there", port, host, rdma_event_str(event->event), event->status);
    switch (KV_LOAD(refusal.reason)) {
    case KV_FOREIGN: kv_fail("%s speaks version %u, this program %u", host, (unsigned)KV_LOAD(refusal.version), KV_VERSION);
    case KV_CROWDED: kv_fail("%s has as many clients as it takes\n  hint: kv-server --clients", host);
    case KV_ELSEWHERE: kv_fail("%s serves another of its devices", host);
    default: kv_fail("%s refuses", host);
    }
}

// Waits for a step of the connection manager. The event is to be acknowledged.
static struct rdma_cm_event *await(struct rdma_event_channel *events, enum rdma_cm_event_type kind, const char *host, uint16_t port)
{
    struct pollfd source = {.fd = events->fd, .events = POLLIN};
    struct rdma_cm_event *event;
    // The connection manager would give up, too, but after a minute.
    if (poll(&source, 1, PATIENCE) == 0)
        kv_fail("%s doesn't answer", host);
    if (rdma_get_cm_event(events, &event))
        kv_fail("events of connections can't be read: %s", strerror(errno));
    if (event->event == kind)
        return event;
    switch (event->event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR: kv_fail("no RDMA device here leads to %s", host);
    case RDMA_CM_EVENT_REJECTED: fail_rejected(event, host, port);
    case RDMA_CM_EVENT_UNREACHABLE: kv_fail("%s doesn't answer", host);
    default: kv_fail("connecting fails: %s", rdma_event_str(event->event));
    }
}

static void step(struct rdma_event_channel *events, enum rdma_cm_event_type kind, const char *host, uint16_t port)
{
    rdma_ack_cm_event(await(events, kind, host, port));
}

void connection_resolve(struct connection *connection, const char *host, uint16_t port)
{
    connection->events = kv_events();
    struct rdma_addrinfo *address = kv_address(host, port, 0);
    if (rdma_create_id(connection->events, &connection->id, NULL, RDMA_PS_TCP))
        kv_fail("no id of the connection manager: %s", strerror(errno));
    if (rdma_resolve_addr(connection->id, NULL, address->ai_dst_addr, PATIENCE))
        kv_fail("no RDMA device here leads to %s: %s", host, strerror(errno));
    rdma_freeaddrinfo(address);
    step(connection->events, RDMA_CM_EVENT_ADDR_RESOLVED, host, port);
    if (rdma_resolve_route(connection->id, PATIENCE))
        kv_fail("no RDMA device here leads to %s: %s", host, strerror(errno));
    step(connection->events, RDMA_CM_EVENT_ROUTE_RESOLVED, host, port);
}

struct kv_welcome connection_establish(struct connection *connection, const char *host, uint16_t port, uint32_t reads)
{
    struct kv_hello hello = {0};
    KV_STORE(hello.magic, KV_MAGIC);
    KV_STORE(hello.version, KV_VERSION);
    struct rdma_conn_param wish = {
        .private_data = &hello,
        .private_data_len = sizeof hello,
        // READs and atomics that we may have under way; the queue pair lets more wait.
        .initiator_depth = (uint8_t)reads,
        // After which the peer counts as dead.
        .retry_count = 7,
        .rnr_retry_count = 7,
    };
    if (rdma_connect(connection->id, &wish))
        kv_fail("connecting to %s fails: %s", host, strerror(errno));
    struct rdma_cm_event *event = await(connection->events, RDMA_CM_EVENT_ESTABLISHED, host, port);
    struct kv_welcome welcome = {0};
    if (event->param.conn.private_data && event->param.conn.private_data_len >= sizeof welcome)
        memcpy(&welcome, event->param.conn.private_data, sizeof welcome);
    rdma_ack_cm_event(event);
    if (KV_LOAD(welcome.magic) != KV_MAGIC || KV_LOAD(welcome.version) != KV_VERSION)
        kv_fail("what serves port %u of %s isn't kv-server", port, host);
    if (KV_LOAD(welcome.slot_bytes) != sizeof(struct kv_slot) || KV_LOAD(welcome.slots) != KV_SLOTS || !KV_LOAD(welcome.buckets) || !KV_LOAD(welcome.credits))
        kv_fail("the table of %s has another layout", host);
    return welcome;
}

void connection_close(struct connection *connection)
{
    rdma_disconnect(connection->id);
    rdma_destroy_qp(connection->id);
    rdma_destroy_id(connection->id);
    rdma_destroy_event_channel(connection->events);
}
