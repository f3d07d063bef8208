// The client's operations: GET by READ, PUT and DELETE by SEND and reply, INCREMENT by FETCH-ADD.
#define _GNU_SOURCE
#include "session.h"
#include "connect.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

// Nanoseconds for which a completion is looked for before sleep, and those after which the server counts as dead.
#define SPIN UINT64_C(50000)
#define PATIENCE UINT64_C(10000000000)
// READs of one GET.
enum { TRIES = 1000000 };

// Registered memory of a lane, where the NIC writes. Atomics want 8 bytes that are aligned so.
struct lane_memory {
    uint64_t counter;
    struct kv_bucket bucket;
    struct kv_request request;
    struct kv_reply reply;
};

// A place for an operation under way.
struct lane {
    struct operation *operation;
    // Completions that it waits for: for a SEND its own and that of the reply, which may come first.
    int pending;
    struct lane *next_free;
};

// Names of counters are asked for once.
struct counter {
    char key[KV_KEY_MOST + 1];
    uint64_t at;
    struct counter *next;
};

struct session {
    struct connection connection;
    struct kv_welcome server;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct lane_memory *memory;
    struct lane *lanes, *free_lanes;
    struct counter *counters;
    struct operation *ended, **last_ended;
    uint32_t depth, inlined;
};

static void post(struct session *session, struct lane *lane, struct ibv_send_wr work, void *memory, size_t length)
{
    struct ibv_sge piece = {.addr = (uintptr_t)memory, .length = (uint32_t)length, .lkey = session->mr->lkey};
    struct ibv_send_wr *bad;
    // A failed completion has no valid opcode, so bit 0 says that it is of a send.
    work.wr_id = (uint64_t)(lane - session->lanes) << 1 | 1;
    work.sg_list = &piece;
    work.num_sge = 1;
    int error = ibv_post_send(session->connection.id->qp, &work, &bad);
    if (error)
        kv_fail("a request can't be posted: %s", strerror(error));
    lane->pending++;
}

static void post_receive(struct session *session, uint64_t at)
{
    struct kv_reply *reply = &session->memory[at].reply;
    struct ibv_sge piece = {.addr = (uintptr_t)reply, .length = sizeof *reply, .lkey = session->mr->lkey};
    struct ibv_recv_wr work = {.wr_id = at << 1, .sg_list = &piece, .num_sge = 1}, *bad;
    int error = ibv_post_recv(session->connection.id->qp, &work, &bad);
    if (error)
        kv_fail("a receive can't be posted: %s", strerror(error));
}

static void read_bucket(struct session *session, struct lane *lane)
{
    const char *key = lane->operation->key;
    uint32_t bucket = kv_bucket_of(key, strlen(key), (uint32_t)KV_LOAD(session->server.buckets));
    struct kv_bucket *to = &session->memory[lane - session->lanes].bucket;
    struct ibv_send_wr work = {.opcode = IBV_WR_RDMA_READ};
    work.wr.rdma.remote_addr = KV_LOAD(session->server.table_address) + (uint64_t)bucket * sizeof *to;
    work.wr.rdma.rkey = (uint32_t)KV_LOAD(session->server.table_key);
    post(session, lane, work, to, sizeof *to);
}

static void send_request(struct session *session, struct lane *lane, enum kv_operation what)
{
    struct operation *operation = lane->operation;
    uint32_t tag = (uint32_t)(lane - session->lanes);
    struct kv_request *request = &session->memory[tag].request;
    size_t key_length = strlen(operation->key), value_length = what == KV_PUT ? operation->value_length : 0;
    KV_STORE(request->tag, tag);
    KV_STORE(request->operation, what);
    KV_STORE(request->key_length, key_length);
    KV_STORE(request->value_length, value_length);
    memcpy(request->bytes, operation->key, key_length);
    memcpy(request->bytes + key_length, operation->value, value_length);
    size_t length = offsetof(struct kv_request, bytes) + key_length + value_length;
    struct ibv_send_wr work = {.opcode = IBV_WR_SEND, .send_flags = length <= session->inlined ? IBV_SEND_INLINE : 0};
    // For the reply, which could complete before `post` returns only to us: nobody else looks.
    lane->pending++;
    post(session, lane, work, request, length);
}

static void add(struct session *session, struct lane *lane, uint64_t at)
{
    struct ibv_send_wr work = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD};
    work.wr.atomic.remote_addr = KV_LOAD(session->server.counters_address) + at * sizeof(uint64_t);
    work.wr.atomic.rkey = (uint32_t)KV_LOAD(session->server.counters_key);
    work.wr.atomic.compare_add = lane->operation->by;
    post(session, lane, work, &session->memory[lane - session->lanes].counter, sizeof(uint64_t));
}

static struct counter *known_counter(struct session *session, const char *key)
{
    struct counter *known = session->counters;
    while (known && strcmp(known->key, key) != 0)
        known = known->next;
    return known;
}

static void increment(struct session *session, struct lane *lane)
{
    struct counter *known = known_counter(session, lane->operation->key);
    if (known)
        add(session, lane, known->at);
    else
        send_request(session, lane, KV_COUNTER);
}

void session_start(struct session *session, struct operation *operation)
{
    struct lane *lane = session->free_lanes;
    if (!lane)
        kv_fail("more than %u operations at a time", session->depth);
    if (operation->kind == INCREMENT && KV_LOAD(session->server.counters) == 0)
        kv_fail("the server has no counters: its device may have no atomic operations");
    session->free_lanes = lane->next_free;
    lane->operation = operation;
    lane->pending = 0;
    operation->torn = 0;
    operation->started = kv_now();
    switch (operation->kind) {
    case GET: read_bucket(session, lane); break;
    case PUT: send_request(session, lane, KV_PUT); break;
    case DELETE: send_request(session, lane, KV_DELETE); break;
    case INCREMENT: increment(session, lane); break;
    }
}

// Looks for the key in the bucket that has come. A torn slot may have been the key's, so without another that has it nothing is known.
static enum kv_state examine(const struct kv_bucket *bucket, struct operation *operation)
{
    enum kv_state state = KV_FREE;
    size_t key_length = strlen(operation->key);
    operation->number = 0;
    for (int i = 0; i < KV_SLOTS; i++) {
        const struct kv_slot *slot = &bucket->slots[i];
        enum kv_state own = kv_slot_state(slot);
        if (own == KV_TORN && state == KV_FREE)
            state = KV_TORN;
        // A key that has moved while it was read is there twice: the higher version is the later one.
        if (own != KV_TAKEN || !kv_slot_has(slot, operation->key, key_length) || KV_LOAD(slot->version) < operation->number)
            continue;
        state = KV_TAKEN;
        operation->number = KV_LOAD(slot->version);
        operation->value_length = KV_LOAD(slot->value_length);
        memcpy(operation->value, slot->value, operation->value_length);
    }
    return state;
}

static void end(struct session *session, struct lane *lane)
{
    struct operation *operation = lane->operation;
    operation->ended = kv_now();
    operation->next = NULL;
    *session->last_ended = operation;
    session->last_ended = &operation->next;
    lane->operation = NULL;
    lane->next_free = session->free_lanes;
    session->free_lanes = lane;
}

static void on_bucket(struct session *session, struct lane *lane)
{
    struct operation *operation = lane->operation;
    enum kv_state state = examine(&session->memory[lane - session->lanes].bucket, operation);
    if (state == KV_TORN && ++operation->torn < TRIES) {
        read_bucket(session, lane);
        return;
    }
    operation->status = state == KV_TAKEN ? KV_OK : state == KV_TORN ? KV_BUSY : KV_NOT_FOUND;
    end(session, lane);
}

// The place of a counter is known, or why there is none.
static void on_counter(struct session *session, struct lane *lane)
{
    struct operation *operation = lane->operation;
    if (operation->status != KV_OK) {
        end(session, lane);
        return;
    }
    if (operation->number >= KV_LOAD(session->server.counters))
        kv_fail("the place of counter %s makes no sense", operation->key);
    // Another operation may have asked at the same time.
    if (!known_counter(session, operation->key)) {
        struct counter *known = calloc(1, sizeof *known);
        if (!known)
            kv_fail("no memory");
        strncpy(known->key, operation->key, KV_KEY_MOST);
        known->at = operation->number;
        known->next = session->counters;
        session->counters = known;
    }
    add(session, lane, operation->number);
}

static void on_reply(struct session *session, uint64_t at)
{
    struct kv_reply reply = session->memory[at].reply;
    post_receive(session, at);
    uint64_t tag = KV_LOAD(reply.tag);
    if (tag >= session->depth || !session->lanes[tag].operation || session->lanes[tag].pending == 0)
        kv_fail("the server answers what nobody has asked");
    session->lanes[tag].operation->status = (enum kv_status)KV_LOAD(reply.status);
    session->lanes[tag].operation->number = KV_LOAD(reply.number);
    session->lanes[tag].pending--;
}

static void on_completion(struct session *session, const struct ibv_wc *done)
{
    if (done->status == IBV_WC_RETRY_EXC_ERR)
        kv_fail("the server doesn't answer any more");
    if (done->status != IBV_WC_SUCCESS)
        kv_fail("a request fails: %s", ibv_wc_status_str(done->status));
    uint64_t at = done->wr_id >> 1;
    int is_send = done->wr_id & 1;
    if (!is_send) {
        // Which lane the reply is for, only the reply knows.
        uint64_t tag = KV_LOAD(session->memory[at].reply.tag);
        on_reply(session, at);
        at = tag;
    } else {
        session->lanes[at].pending--;
    }
    struct lane *lane = &session->lanes[at];
    if (lane->pending)
        return;
    // The lane has had all its completions; what was the last of them tells what it did.
    if (lane->operation->kind == GET)
        on_bucket(session, lane);
    else if (is_send && done->opcode == IBV_WC_FETCH_ADD) {
        lane->operation->status = KV_OK;
        lane->operation->number = session->memory[at].counter + lane->operation->by;
        end(session, lane);
    } else if (lane->operation->kind == INCREMENT)
        on_counter(session, lane);
    else
        end(session, lane);
}

// Sleeps until there are completions. The channel tells once of a queue that was armed; a look after arming finds what came before.
static void sleep_for_completions(struct session *session)
{
    struct pollfd sources[] = {
        {.fd = session->channel->fd, .events = POLLIN},
        {.fd = session->connection.events->fd, .events = POLLIN},
    };
    int count = poll(sources, 2, (int)(PATIENCE / 1000000));
    if (count == 0)
        kv_fail("the server doesn't answer any more");
    if (count > 0 && sources[0].revents) {
        struct ibv_cq *cq;
        void *context;
        if (ibv_get_cq_event(session->channel, &cq, &context))
            kv_fail("the completion channel can't be read: %s", strerror(errno));
        ibv_ack_cq_events(cq, 1);
    } else if (count > 0 && sources[1].revents) {
        // Nothing else can happen to a connection that is there.
        kv_fail("the server has closed the connection");
    }
}

struct operation *session_next(struct session *session)
{
    uint64_t asleep_from = kv_now() + SPIN;
    int armed = 0;
    while (!session->ended) {
        struct ibv_wc done[16];
        int count = ibv_poll_cq(session->cq, 16, done);
        if (count < 0)
            kv_fail("the completion queue can't be read");
        for (int i = 0; i < count; i++)
            on_completion(session, &done[i]);
        if (count > 0) {
            asleep_from = kv_now() + SPIN;
        } else if (armed) {
            sleep_for_completions(session);
            armed = 0;
        } else if (kv_now() > asleep_from) {
            // One look more comes before sleep.
            if (ibv_req_notify_cq(session->cq, 0))
                kv_fail("the completion queue can't be armed");
            armed = 1;
        }
    }
    struct operation *operation = session->ended;
    session->ended = operation->next;
    if (!session->ended)
        session->last_ended = &session->ended;
    return operation;
}

static void make_resources(struct session *session, uint32_t depth)
{
    struct ibv_context *device = session->connection.id->verbs;
    session->pd = ibv_alloc_pd(device);
    session->channel = ibv_create_comp_channel(device);
    // Each lane has at most a SEND and a reply.
    session->cq = session->channel ? ibv_create_cq(device, (int)(2 * depth), NULL, session->channel, 0) : NULL;
    if (!session->pd || !session->cq)
        kv_fail("the device has no room for a protection domain or completion queue: %s", strerror(errno));
    session->memory = kv_pages(depth * sizeof *session->memory);
    session->mr = ibv_reg_mr(session->pd, session->memory, depth * sizeof *session->memory, IBV_ACCESS_LOCAL_WRITE);
    if (!session->mr)
        kv_fail("memory can't be registered: %s\n  hint: memory is pinned, ulimit -l says how much may be", strerror(errno));
    if (!kv_queue_pair(session->connection.id, session->pd, session->cq, depth, depth, &session->inlined))
        kv_fail("the device has no queue pair for %u operations at a time: %s", depth, strerror(errno));
}

struct session *session_open(const char *host, uint16_t port, uint32_t *depth)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        kv_fail("no memory");
    session->last_ended = &session->ended;
    connection_resolve(&session->connection, host, port);
    struct ibv_device_attr limits;
    if (ibv_query_device(session->connection.id->verbs, &limits))
        kv_fail("the device doesn't say what it can");
    if (limits.max_qp_wr < 1 || limits.max_qp_init_rd_atom < 1)
        kv_fail("the device doesn't send READs");
    if (*depth > (uint32_t)limits.max_qp_wr)
        *depth = (uint32_t)limits.max_qp_wr;
    make_resources(session, *depth);
    for (uint32_t at = 0; at < *depth; at++)
        post_receive(session, at);
    uint32_t reads = *depth < (uint32_t)limits.max_qp_init_rd_atom ? *depth : (uint32_t)limits.max_qp_init_rd_atom;
    session->server = connection_establish(&session->connection, host, port, reads > 255 ? 255 : reads);
    // The server knows how many requests it has receives for.
    if (*depth > KV_LOAD(session->server.credits))
        *depth = (uint32_t)KV_LOAD(session->server.credits);
    session->depth = *depth;
    session->lanes = calloc(*depth, sizeof *session->lanes);
    if (!session->lanes)
        kv_fail("no memory");
    for (uint32_t at = *depth; at-- > 0; session->free_lanes = &session->lanes[at])
        session->lanes[at].next_free = session->free_lanes;
    return session;
}

void session_close(struct session *session)
{
    connection_close(&session->connection);
    // Memory is given back after its registration, and nothing may be destroyed that is in use.
    ibv_dereg_mr(session->mr);
    ibv_destroy_cq(session->cq);
    ibv_destroy_comp_channel(session->channel);
    ibv_dealloc_pd(session->pd);
    for (struct counter *known = session->counters, *next; known; known = next) {
        next = known->next;
        free(known);
    }
    free(session->memory);
    free(session->lanes);
    free(session);
}
