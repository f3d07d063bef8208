// The server: one thread that sleeps until a client comes, asks or goes. It takes no part in GETs and INCRs.
#define _GNU_SOURCE
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    // Requests of a client under way at a time.
    CREDITS = 64,
    // A client may ask again before its NIC's acknowledgement of a reply is here, so there may be more replies on their way than credits.
    // If there are more than these, requests wait.
    SENDS = 2 * CREDITS,
    // Entries of the completion queue that a client may use.
    ENTRIES = CREDITS + SENDS,
};
// Nanoseconds after which a silent client is asked for a sign of life, and between looks for such.
#define SILENCE UINT64_C(5000000000)
#define LOOK UINT64_C(1000000000)

// What a client sends and gets, in registered memory.
struct mailbox {
    struct kv_request requests[CREDITS];
    struct kv_reply replies[SENDS];
};

struct client {
    // NULL if the place is free.
    struct rdma_cm_id *id;
    // Which client it is of all that came. Completions of one that is gone, if any are left, have an older number.
    uint32_t number;
    struct mailbox *box;
    // Receives complete in the order in which they were posted: `waiting` requests from `next` on have come and aren't answered.
    uint32_t next, waiting;
    uint32_t lengths[CREDITS];
    // Replies that were sent, and those of them that aren't acknowledged.
    uint32_t sent, replying;
    uint32_t inlined;
    uint64_t heard;
};

struct server {
    struct rdma_event_channel *events;
    struct rdma_cm_id *listener;
    struct ibv_context *device;
    struct ibv_device_attr limits;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    // One queue for all clients, so that one look finds whatever there is to do.
    struct ibv_cq *cq;
    struct mailbox *boxes;
    struct ibv_mr *mr;
    struct table table;
    struct client *clients;
    uint32_t most_clients, connected;
    // Clients that are gone and may have left completions.
    uint32_t leftovers;
    uint64_t served, seen, looked;
};

static volatile sig_atomic_t stopped;

static void on_signal(int signal)
{
    (void)signal;
    stopped = 1;
}

// A failed completion has no valid opcode, so its `wr_id` says all: whose it is, and whether of a send.
static uint64_t name_work(const struct server *server, const struct client *client, int is_send)
{
    return (uint64_t)client->number << 32 | (uint64_t)(client - server->clients) << 1 | (uint64_t)is_send;
}

static int post_receive(struct server *server, struct client *client, uint32_t at)
{
    struct ibv_sge piece = {
        .addr = (uintptr_t)&client->box->requests[at],
        .length = sizeof client->box->requests[at],
        .lkey = server->mr->lkey,
    };
    struct ibv_recv_wr work = {.wr_id = name_work(server, client, 0), .sg_list = &piece, .num_sge = 1}, *bad;
    return ibv_post_recv(client->id->qp, &work, &bad);
}

static int post_reply(struct server *server, struct client *client, struct kv_reply reply)
{
    struct kv_reply *place = &client->box->replies[client->sent % SENDS];
    *place = reply;
    struct ibv_sge piece = {.addr = (uintptr_t)place, .length = sizeof *place, .lkey = server->mr->lkey};
    struct ibv_send_wr work = {
        .wr_id = name_work(server, client, 1),
        .sg_list = &piece,
        .num_sge = 1,
        .opcode = IBV_WR_SEND,
        .send_flags = client->inlined >= sizeof *place ? IBV_SEND_INLINE : 0,
    }, *bad;
    client->sent++;
    client->replying++;
    return ibv_post_send(client->id->qp, &work, &bad);
}

// A WRITE of no bytes goes unnoticed at a client that lives, and fails if none is there. It uses an entry like a reply, but no receive.
static int post_heartbeat(struct server *server, struct client *client)
{
    struct ibv_send_wr work = {.wr_id = name_work(server, client, 1), .opcode = IBV_WR_RDMA_WRITE}, *bad;
    client->sent++;
    client->replying++;
    return ibv_post_send(client->id->qp, &work, &bad);
}

static void leave(struct server *server, struct client *client, const char *why)
{
    printf("client %u is gone: %s\n", client->number, why);
    // Fails what is posted, and tells the other end if it is there.
    rdma_disconnect(client->id);
    rdma_destroy_qp(client->id);
    rdma_destroy_id(client->id);
    client->id = NULL;
    server->connected--;
    server->leftovers++;
}

static struct kv_reply answer(struct server *server, const struct kv_request *request, uint32_t length)
{
    struct kv_reply reply = {0};
    uint64_t number = 0;
    enum kv_status status = KV_BAD;
    size_t header = offsetof(struct kv_request, bytes);
    // Nothing of a request is to be believed before its lengths fit together.
    if (length >= header) {
        size_t key_length = KV_LOAD(request->key_length), value_length = KV_LOAD(request->value_length);
        const uint8_t *key = request->bytes, *value = key + key_length;
        int fits = key_length && key_length <= KV_KEY_MOST && value_length <= KV_VALUE_MOST && length == header + key_length + value_length;
        if (fits && request->operation[0] == KV_PUT)
            status = table_put(&server->table, key, key_length, value, value_length, &number);
        else if (fits && request->operation[0] == KV_DELETE)
            status = table_delete(&server->table, key, key_length, &number);
        else if (fits && request->operation[0] == KV_COUNTER)
            status = table_counter(&server->table, key, key_length, &number);
        memcpy(reply.tag, request->tag, sizeof reply.tag);
    }
    KV_STORE(reply.status, status);
    KV_STORE(reply.number, number);
    server->served++;
    return reply;
}

static void serve(struct server *server, struct client *client)
{
    while (client->waiting && client->replying < SENDS) {
        uint32_t at = client->next;
        struct kv_reply reply = answer(server, &client->box->requests[at], client->lengths[at]);
        client->next = (at + 1) % CREDITS;
        client->waiting--;
        // In this order: who has a reply may ask again, and must find a receive.
        if (post_receive(server, client, at) || post_reply(server, client, reply)) {
            leave(server, client, "nothing can be posted to its queue pair");
            return;
        }
    }
}

static void on_completion(struct server *server, const struct ibv_wc *done)
{
    struct client *client = &server->clients[(done->wr_id & 0xffffffff) >> 1];
    int is_send = done->wr_id & 1;
    if (!client->id || client->number != done->wr_id >> 32)
        return;
    if (done->status != IBV_WC_SUCCESS) {
        leave(server, client, ibv_wc_status_str(done->status));
        return;
    }
    client->heard = kv_now();
    if (is_send) {
        client->replying--;
    } else {
        client->lengths[(client->next + client->waiting) % CREDITS] = done->byte_len;
        client->waiting++;
    }
    serve(server, client);
}

// Handles what is in the queue, and says whether there may be more: clients that never stop asking mustn't keep others from connecting.
static int drain(struct server *server)
{
    struct ibv_wc done[16];
    uint32_t most = (server->connected + server->leftovers) * ENTRIES;
    // So much is seen now that nothing is left of them.
    server->leftovers = 0;
    for (uint32_t seen = 0; seen <= most;) {
        int count = ibv_poll_cq(server->cq, 16, done);
        if (count < 0)
            kv_fail("the completion queue can't be read");
        if (count == 0)
            return 0;
        for (int i = 0; i < count; i++)
            on_completion(server, &done[i]);
        seen += (uint32_t)count;
    }
    return 1;
}

// The channel tells once of a queue that was armed. To arm it first and to look afterwards loses nothing: what came in between is seen by the
// look, and what comes later is told of.
static void on_channel(struct server *server)
{
    struct ibv_cq *cq;
    void *context;
    if (ibv_get_cq_event(server->channel, &cq, &context))
        kv_fail("the completion channel can't be read: %s", strerror(errno));
    ibv_ack_cq_events(cq, 1);
    if (ibv_req_notify_cq(server->cq, 0))
        kv_fail("the completion queue can't be armed");
}

static void refuse(struct rdma_cm_id *id, enum kv_reason reason)
{
    struct kv_refusal refusal;
    KV_STORE(refusal.magic, KV_MAGIC);
    KV_STORE(refusal.version, KV_VERSION);
    KV_STORE(refusal.reason, reason);
    rdma_reject(id, &refusal, sizeof refusal);
    rdma_destroy_id(id);
}

static struct kv_welcome welcome(const struct table *table)
{
    struct kv_welcome welcome;
    KV_STORE(welcome.magic, KV_MAGIC);
    KV_STORE(welcome.version, KV_VERSION);
    KV_STORE(welcome.credits, CREDITS);
    KV_STORE(welcome.table_address, (uintptr_t)table->buckets);
    KV_STORE(welcome.table_key, table->readable->rkey);
    KV_STORE(welcome.buckets, table->bucket_count);
    KV_STORE(welcome.counters_address, (uintptr_t)table->counters);
    KV_STORE(welcome.counters_key, table->countable ? table->countable->rkey : 0);
    KV_STORE(welcome.counters, table->counter_count);
    KV_STORE(welcome.slot_bytes, sizeof(struct kv_slot));
    KV_STORE(welcome.slots, KV_SLOTS);
    return welcome;
}

static int accept_client(struct server *server, struct client *client, struct rdma_cm_id *id, uint8_t reads)
{
    client->id = id;
    server->connected++;
    client->number = (uint32_t)++server->seen;
    client->box = &server->boxes[client - server->clients];
    client->next = client->waiting = client->sent = client->replying = 0;
    client->heard = kv_now();
    id->context = client;
    if (!kv_queue_pair(id, server->pd, server->cq, SENDS, CREDITS, &client->inlined))
        return -1;
    // Before consent, as requests may come as soon as it is there.
    for (uint32_t at = 0; at < CREDITS; at++)
        if (post_receive(server, client, at))
            return -1;
    struct kv_welcome ours = welcome(&server->table);
    struct rdma_conn_param agreed = {
        .private_data = &ours,
        .private_data_len = sizeof ours,
        // READs and atomics that the client may have under way at a time: as many as it wants and this device has room for.
        .responder_resources = reads < server->limits.max_qp_rd_atom ? reads : (uint8_t)server->limits.max_qp_rd_atom,
        // A reply always finds a receive, so this never counts; 7 means without end.
        .rnr_retry_count = 7,
    };
    return rdma_accept(id, &agreed);
}

static void on_request(struct server *server, struct rdma_cm_id *id, struct kv_hello hello, uint8_t reads)
{
    struct client *client = server->clients, *end = client + server->most_clients;
    while (client < end && client->id)
        client++;
    if (KV_LOAD(hello.magic) != KV_MAGIC || KV_LOAD(hello.version) != KV_VERSION)
        refuse(id, KV_FOREIGN);
    else if (id->verbs != server->device)
        refuse(id, KV_ELSEWHERE);
    else if (client == end || server->connected + server->leftovers > server->most_clients)
        // No free place, or no room in the completion queue.
        refuse(id, KV_CROWDED);
    else if (accept_client(server, client, id, reads))
        leave(server, client, strerror(errno));
}

static void on_event(struct server *server)
{
    struct rdma_cm_event *event;
    if (rdma_get_cm_event(server->events, &event))
        kv_fail("events of connections can't be read: %s", strerror(errno));
    enum rdma_cm_event_type kind = event->event;
    struct rdma_cm_id *id = event->id;
    struct kv_hello hello = {0};
    uint8_t reads = event->param.conn.responder_resources;
    if (event->param.conn.private_data && event->param.conn.private_data_len >= sizeof hello)
        memcpy(&hello, event->param.conn.private_data, sizeof hello);
    // Before its id is destroyed, which waits for that.
    rdma_ack_cm_event(event);
    if (kind == RDMA_CM_EVENT_CONNECT_REQUEST)
        on_request(server, id, hello, reads);
    else if (kind == RDMA_CM_EVENT_DISCONNECTED)
        leave(server, id->context, "it has disconnected");
    else if (kind == RDMA_CM_EVENT_CONNECT_ERROR || kind == RDMA_CM_EVENT_UNREACHABLE || kind == RDMA_CM_EVENT_REJECTED)
        leave(server, id->context, rdma_event_str(kind));
    else if (kind == RDMA_CM_EVENT_DEVICE_REMOVAL)
        kv_fail("the device has been removed");
}

// What befalls the device and no work request says.
static void on_device(struct server *server)
{
    struct ibv_async_event event;
    if (ibv_get_async_event(server->device, &event))
        return;
    enum ibv_event_type kind = event.event_type;
    ibv_ack_async_event(&event);
    if (kind == IBV_EVENT_DEVICE_FATAL || kind == IBV_EVENT_CQ_ERR)
        kv_fail("the device has failed: %s", ibv_event_type_str(kind));
}

// A client whose machine has lost power, or whose process is killed where no kernel tells us, says nothing any more.
static void look_for_the_dead(struct server *server)
{
    uint64_t now = kv_now();
    if (now - server->looked < LOOK)
        return;
    server->looked = now;
    for (struct client *client = server->clients; client < server->clients + server->most_clients; client++)
        if (client->id && client->replying == 0 && now - client->heard > SILENCE && post_heartbeat(server, client))
            leave(server, client, "nothing can be posted to its queue pair");
}

static void run(struct server *server, const sigset_t *while_asleep)
{
    struct pollfd sources[] = {
        {.fd = server->events->fd, .events = POLLIN},
        {.fd = server->channel->fd, .events = POLLIN},
        {.fd = server->device->async_fd, .events = POLLIN},
    };
    const struct timespec second = {.tv_sec = 1}, none = {0};
    int busy = 0;
    while (!stopped) {
        // Signals come only in here, so none slips in between the look at `stopped` and sleep.
        int count = ppoll(sources, 3, busy ? &none : &second, while_asleep);
        if (count < 0 && errno != EINTR)
            kv_fail("waiting fails: %s", strerror(errno));
        if (count > 0 && sources[1].revents)
            on_channel(server);
        busy = drain(server);
        if (count > 0 && sources[0].revents)
            on_event(server);
        if (count > 0 && sources[2].revents)
            on_device(server);
        look_for_the_dead(server);
    }
}

static void listen_at(struct server *server, const char *host, uint16_t port)
{
    server->events = kv_events();
    struct rdma_addrinfo *address = kv_address(host, port, RAI_PASSIVE);
    if (rdma_create_id(server->events, &server->listener, NULL, RDMA_PS_TCP))
        kv_fail("no id of the connection manager: %s", strerror(errno));
    if (rdma_bind_addr(server->listener, address->ai_src_addr))
        kv_fail("port %u%s%s can't be had: %s", port, host ? " of " : "", host ? host : "", strerror(errno));
    rdma_freeaddrinfo(address);
    server->device = server->listener->verbs;
    if (server->device)
        return;
    // All addresses, so any device. The table is registered with one.
    int count = 0;
    struct ibv_context **devices = rdma_get_devices(&count);
    if (count != 1)
        kv_fail("there are %d RDMA devices\n  hint: choose one by its address: --bind ADDRESS", count);
    server->device = devices[0];
    rdma_free_devices(devices);
}

static void prepare(struct server *server, uint32_t buckets, uint32_t counters)
{
    if (ibv_query_device(server->device, &server->limits))
        kv_fail("the device doesn't say what it can");
    const struct ibv_device_attr *limits = &server->limits;
    uint64_t completions = (uint64_t)(server->most_clients + 1) * ENTRIES;
    if (limits->max_qp_wr < SENDS || limits->max_cqe < 0 || (uint64_t)limits->max_cqe < completions)
        kv_fail("the device has queues of %d work requests and %d completions, %d and %" PRIu64 " are needed\n  hint: --clients makes it fewer",
                limits->max_qp_wr, limits->max_cqe, SENDS, completions);
    if (limits->max_qp_rd_atom < 1)
        kv_fail("the device doesn't answer READs");
    if (limits->atomic_cap == IBV_ATOMIC_NONE)
        counters = 0;
    server->pd = ibv_alloc_pd(server->device);
    server->channel = ibv_create_comp_channel(server->device);
    server->cq = server->channel ? ibv_create_cq(server->device, (int)completions, NULL, server->channel, 0) : NULL;
    if (!server->pd || !server->cq || ibv_req_notify_cq(server->cq, 0))
        kv_fail("the device has no room for a protection domain or completion queue: %s", strerror(errno));
    table_open(&server->table, server->pd, buckets, counters);
    server->clients = calloc(server->most_clients, sizeof *server->clients);
    // Registering takes long, so it is done once for all.
    size_t bytes = server->most_clients * sizeof *server->boxes;
    server->boxes = kv_pages(bytes);
    server->mr = ibv_reg_mr(server->pd, server->boxes, bytes, IBV_ACCESS_LOCAL_WRITE);
    if (!server->clients || !server->mr)
        kv_fail("memory for clients can't be registered: %s", strerror(errno));
}

// Everything goes in the reverse order: a device refuses to destroy what is still in use.
static void finish(struct server *server)
{
    for (struct client *client = server->clients; client < server->clients + server->most_clients; client++)
        if (client->id)
            leave(server, client, "the server ends");
    rdma_destroy_id(server->listener);
    ibv_dereg_mr(server->mr);
    table_close(&server->table);
    ibv_destroy_cq(server->cq);
    ibv_destroy_comp_channel(server->channel);
    ibv_dealloc_pd(server->pd);
    rdma_destroy_event_channel(server->events);
    free(server->boxes);
    free(server->clients);
    printf("%" PRIu64 " clients, %" PRIu64 " requests\n", server->seen, server->served);
}

static _Noreturn void usage(int status)
{
    fprintf(status ? stderr : stdout,
            "usage: kv-server [options]\n"
            "  --bind ADDRESS    listen at this address only, and use its device\n"
            "  --port PORT       %d\n"
            "  --buckets N       of the table, with %d keys each: 16384\n"
            "  --counters N      1024\n"
            "  --clients N       at a time: 64\n"
            "  --pause US        wait in the middle of each write, to see what that does to READs\n",
            KV_PORT, KV_SLOTS);
    exit(status);
}

int main(int count, char **arguments)
{
    static const struct option options[] = {
        {"bind", required_argument, NULL, 'a'},    {"port", required_argument, NULL, 'p'},  {"buckets", required_argument, NULL, 'b'},
        {"counters", required_argument, NULL, 'c'}, {"clients", required_argument, NULL, 'n'}, {"pause", required_argument, NULL, 'w'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    kv_program = "kv-server";
    struct server server = {.most_clients = 64};
    const char *host = NULL;
    uint32_t buckets = 16384, counters = 1024;
    uint16_t port = KV_PORT;
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;)
        switch (option) {
        case 'a': host = optarg; break;
        case 'p': port = (uint16_t)kv_number("--port", optarg, 1, 65535); break;
        case 'b': buckets = (uint32_t)kv_number("--buckets", optarg, 1, 1 << 24); break;
        case 'c': counters = (uint32_t)kv_number("--counters", optarg, 0, 1 << 20); break;
        case 'n': server.most_clients = (uint32_t)kv_number("--clients", optarg, 1, 4096); break;
        case 'w': server.table.pause = (uint32_t)kv_number("--pause", optarg, 0, 999999); break;
        case 'h': usage(0);
        default: usage(2);
        }
    if (optind != count)
        usage(2);
    // Whoever reads along wants lines when they are written.
    setvbuf(stdout, NULL, _IOLBF, 0);
    // Before the libraries start threads, which are to leave signals alone as well.
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, &before);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);

    listen_at(&server, host, port);
    prepare(&server, buckets, counters);
    if (rdma_listen(server.listener, 64))
        kv_fail("listening fails: %s", strerror(errno));
    printf("serving %u keys and %u counters at port %u by %s\n", buckets * KV_SLOTS, server.table.counter_count, port,
           ibv_get_device_name(server.device->device));
    run(&server, &before);
    finish(&server);
    return 0;
}
