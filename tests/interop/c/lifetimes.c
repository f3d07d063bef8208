// What lives as long as what: queue pairs, completion queues and ids that come and go. The argument says which part is run.
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "holds.h"

#define SERVER "127.77.0.1"
#define MANY 48

static struct sockaddr_in address(int port)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, SERVER, &own.sin_addr);
    return own;
}

static void pause_ms(int ms)
{
    struct timespec moment = {.tv_nsec = ms * 1000L * 1000};
    nanosleep(&moment, NULL);
}

static struct ibv_qp_init_attr modest(void)
{
    struct ibv_qp_init_attr attr = {.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
    attr.qp_type = IBV_QPT_RC;
    return attr;
}

static struct rdma_cm_event *next(struct rdma_event_channel *channel, enum rdma_cm_event_type kind)
{
    struct rdma_cm_event *event;
    HOLDS(rdma_get_cm_event(channel, &event) == 0);
    if (event->event != kind)
        fprintf(stderr, "expected %s, got %s\n", rdma_event_str(kind), rdma_event_str(event->event));
    HOLDS(event->event == kind);
    return event;
}

static void take(struct rdma_event_channel *channel, enum rdma_cm_event_type kind)
{
    HOLDS(rdma_ack_cm_event(next(channel, kind)) == 0);
}

static int is_readable(struct rdma_event_channel *channel)
{
    struct pollfd own = {.fd = channel->fd, .events = POLLIN};
    return poll(&own, 1, 0);
}

// An id that knows its way to a port.
static struct rdma_cm_id *resolved(struct rdma_event_channel *channel, int port)
{
    struct rdma_cm_id *id;
    struct sockaddr_in to = address(port);
    HOLDS(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
    HOLDS(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 100) == 0);
    if (channel)
        take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    HOLDS(rdma_resolve_route(id, 100) == 0);
    if (channel)
        take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
    return id;
}

static struct rdma_cm_id *listener(struct rdma_event_channel *channel, int port)
{
    struct rdma_cm_id *id;
    struct sockaddr_in at = address(port);
    HOLDS(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
    HOLDS(rdma_bind_addr(id, (struct sockaddr *)&at) == 0);
    HOLDS(rdma_listen(id, MANY) == 0);
    return id;
}

static struct rdma_cm_id *endpoint(int flags, struct ibv_qp_init_attr *attr)
{
    struct rdma_addrinfo *found, hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_TCP};
    struct rdma_cm_id *id;
    HOLDS(rdma_getaddrinfo(SERVER, "9100", &hints, &found) == 0);
    HOLDS(rdma_create_ep(&id, found, NULL, attr) == 0);
    rdma_freeaddrinfo(found);
    return id;
}

// Each connection of a listener has completion queues of its own, also after the first is gone.
static void completions(void)
{
    struct ibv_qp_init_attr attr = modest();
    struct rdma_cm_id *listening = endpoint(RAI_PASSIVE, &attr);
    struct rdma_event_channel *channel = rdma_create_event_channel();
    HOLDS(attr.send_cq == NULL && attr.recv_cq == NULL);
    HOLDS(rdma_listen(listening, 4) == 0);
    for (int round = 0; round < 3; round++) {
        struct rdma_cm_id *client = resolved(channel, 9100), *server;
        struct ibv_qp_init_attr own = modest();
        HOLDS(rdma_create_qp(client, NULL, &own) == 0);
        HOLDS(own.send_cq == client->send_cq && own.recv_cq == client->recv_cq && client->send_cq);
        HOLDS(rdma_connect(client, NULL) == 0);
        HOLDS(rdma_get_request(listening, &server) == 0);
        HOLDS(server->send_cq && server->recv_cq && server->qp->send_cq == server->send_cq);
        HOLDS(rdma_accept(server, NULL) == 0);
        take(channel, RDMA_CM_EVENT_ESTABLISHED);
        HOLDS(rdma_disconnect(client) == 0);
        rdma_destroy_ep(server);
        rdma_destroy_qp(client);
        HOLDS(rdma_destroy_id(client) == 0);
    }
    // What has failed leaves nothing in the program's structure.
    struct rdma_cm_id *client = resolved(channel, 9100);
    struct ibv_qp_init_attr own = modest();
    own.cap.max_send_wr = 1u << 30;
    HOLDS(rdma_create_qp(client, NULL, &own) == -1);
    HOLDS(own.send_cq == NULL && own.recv_cq == NULL && client->send_cq == NULL);
    HOLDS(rdma_destroy_id(client) == 0);
    rdma_destroy_ep(listening);
    rdma_destroy_event_channel(channel);
}

static void *destroy_pair(void *id)
{
    rdma_destroy_qp(id);
    return NULL;
}

static void *destroy_shared(void *id)
{
    rdma_destroy_srq(id);
    return NULL;
}

// While somebody waits in destroy() until an event is acknowledged, others may call the library before they do so.
static void while_destroyed(struct rdma_cm_id *id, void *(*destroy)(void *), enum ibv_event_type kind)
{
    struct ibv_async_event event;
    pthread_t waits;
    HOLDS(ibv_get_async_event(id->verbs, &event) == 0 && event.event_type == kind);
    HOLDS(pthread_create(&waits, NULL, destroy, id) == 0);
    pause_ms(200);
    HOLDS(rdma_notify(id, IBV_EVENT_COMM_EST) == -1);
    ibv_ack_async_event(&event);
    HOLDS(pthread_join(waits, NULL) == 0);
}

static void acknowledgements(void)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *id = resolved(channel, 9101);
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = 4, .max_sge = 1}};
    struct ibv_srq_attr limit = {.srq_limit = 2};
    struct ibv_qp_init_attr own = modest();
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    HOLDS(rdma_create_srq(id, NULL, &shared) == 0);
    HOLDS(rdma_create_qp(id, NULL, &own) == 0 && id->qp->srq == id->srq);
    HOLDS(ibv_modify_qp(id->qp, &error, IBV_QP_STATE) == 0);
    while_destroyed(id, destroy_pair, IBV_EVENT_QP_LAST_WQE_REACHED);
    HOLDS(id->qp == NULL && id->send_cq == NULL);
    HOLDS(ibv_modify_srq(id->srq, &limit, IBV_SRQ_LIMIT) == 0);
    while_destroyed(id, destroy_shared, IBV_EVENT_SRQ_LIMIT_REACHED);
    HOLDS(id->srq == NULL);
    HOLDS(rdma_destroy_id(id) == 0);
    rdma_destroy_event_channel(channel);
}

// Connects many ids, whose answers come at once because the process is stopped meanwhile.
static void many_clients(void)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *ids[MANY];
    for (int at = 0; at < MANY; at++) {
        struct ibv_qp_init_attr own = modest();
        ids[at] = resolved(channel, 9102);
        HOLDS(rdma_create_qp(ids[at], NULL, &own) == 0);
    }
    for (int at = 0; at < MANY; at++)
        HOLDS(rdma_connect(ids[at], NULL) == 0);
    for (int at = 0; at < MANY; at++) {
        struct rdma_cm_event *event = next(channel, RDMA_CM_EVENT_ESTABLISHED);
        HOLDS(event->id == ids[at]);
        HOLDS(rdma_ack_cm_event(event) == 0);
    }
    _exit(0);
}

// Events come in the order of what they tell of, also if much happens at once.
static void order(void)
{
    int status;
    pid_t client = fork();
    if (client == 0) {
        HOLDS(setenv("FAIRLANE_ADDRESS", "127.77.0.2", 1) == 0);
        alarm(20);
        pause_ms(300);
        many_clients();
    }
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *listening = listener(channel, 9102), *ids[MANY];
    for (int at = 0; at < MANY; at++) {
        struct rdma_cm_event *event = next(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
        ids[at] = event->id;
        HOLDS(rdma_ack_cm_event(event) == 0);
    }
    HOLDS(kill(client, SIGSTOP) == 0);
    for (int at = 0; at < MANY; at++) {
        struct ibv_qp_init_attr own = modest();
        HOLDS(rdma_create_qp(ids[at], NULL, &own) == 0);
        HOLDS(rdma_accept(ids[at], NULL) == 0);
    }
    pause_ms(200);
    HOLDS(kill(client, SIGCONT) == 0);
    HOLDS(waitpid(client, &status, 0) == client);
    HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int at = 0; at < MANY; at++) {
        rdma_destroy_qp(ids[at]);
        HOLDS(rdma_destroy_id(ids[at]) == 0);
    }
    HOLDS(rdma_destroy_id(listening) == 0);
    rdma_destroy_event_channel(channel);
}

// What is posted to a queue pair that isn't going to be connected completes.
static void refusal(void)
{
    struct rdma_event_channel *here = rdma_create_event_channel(), *there = rdma_create_event_channel();
    struct rdma_cm_id *listening = listener(here, 9103), *client = resolved(there, 9103);
    struct ibv_qp_init_attr own = modest();
    struct ibv_recv_wr receive = {.wr_id = 7}, *bad;
    struct ibv_wc completion = {.status = IBV_WC_SUCCESS};
    HOLDS(rdma_create_qp(client, NULL, &own) == 0);
    HOLDS(ibv_post_recv(client->qp, &receive, &bad) == 0);
    HOLDS(rdma_connect(client, NULL) == 0);
    struct rdma_cm_event *event = next(here, RDMA_CM_EVENT_CONNECT_REQUEST);
    struct rdma_cm_id *server = event->id;
    HOLDS(rdma_ack_cm_event(event) == 0);
    HOLDS(rdma_reject(server, NULL, 0) == 0);
    take(there, RDMA_CM_EVENT_REJECTED);
    for (int tries = 0; tries < 50 && ibv_poll_cq(client->recv_cq, 1, &completion) == 0; tries++)
        pause_ms(20);
    HOLDS(completion.wr_id == 7 && completion.status == IBV_WC_WR_FLUSH_ERR);
    rdma_destroy_qp(client);
    HOLDS(rdma_destroy_id(client) == 0);
    HOLDS(rdma_destroy_id(server) == 0);
    HOLDS(rdma_destroy_id(listening) == 0);
    rdma_destroy_event_channel(here);
    rdma_destroy_event_channel(there);
}

// A channel is readable exactly while it has events, also when they go with their id or move.
static void readable(void)
{
    struct rdma_event_channel *channel = rdma_create_event_channel(), *other = rdma_create_event_channel();
    struct rdma_cm_id *id, *moved;
    struct sockaddr_in to = address(9104);
    HOLDS(!is_readable(channel));
    HOLDS(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
    HOLDS(rdma_create_id(channel, &moved, NULL, RDMA_PS_TCP) == 0);
    HOLDS(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 100) == 0);
    HOLDS(rdma_resolve_addr(moved, NULL, (struct sockaddr *)&to, 100) == 0);
    HOLDS(rdma_destroy_id(id) == 0);
    HOLDS(is_readable(channel));
    HOLDS(rdma_migrate_id(moved, other) == 0);
    HOLDS(!is_readable(channel) && is_readable(other));
    HOLDS(rdma_resolve_route(moved, 100) == 0);
    take(other, RDMA_CM_EVENT_ADDR_RESOLVED);
    HOLDS(is_readable(other));
    take(other, RDMA_CM_EVENT_ROUTE_RESOLVED);
    HOLDS(!is_readable(other));
    HOLDS(rdma_destroy_id(moved) == 0);
    rdma_destroy_event_channel(channel);
    rdma_destroy_event_channel(other);
}

static int descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    HOLDS(folder != NULL);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

// Calls that fail leave nothing behind, and who has asked for a connection that can't be made hears of it.
static void failures(void)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct ibv_qp_init_attr attr = modest(), large = modest();
    large.cap.max_recv_wr = 1u << 30;
    struct rdma_cm_id *listening = endpoint(RAI_PASSIVE, &large), *client = resolved(channel, 9100), *server;
    HOLDS(rdma_listen(listening, 4) == 0);
    HOLDS(rdma_create_qp(client, NULL, &attr) == 0);
    HOLDS(rdma_connect(client, NULL) == 0);
    HOLDS(rdma_get_request(listening, &server) == -1);
    take(channel, RDMA_CM_EVENT_REJECTED);
    rdma_destroy_qp(client);
    int before = descriptors();
    for (int round = 0; round < 3; round++) {
        HOLDS(rdma_create_qp(client, NULL, &large) == -1);
        HOLDS(rdma_migrate_id((struct rdma_cm_id *)&attr, NULL) == -1);
        HOLDS(rdma_connect(client, NULL) == 0);
        HOLDS(rdma_get_request(listening, &server) == -1);
        take(channel, RDMA_CM_EVENT_REJECTED);
    }
    HOLDS(descriptors() == before);
    HOLDS(rdma_destroy_id(client) == 0);
    rdma_destroy_ep(listening);
    rdma_destroy_event_channel(channel);
}

// The library's thread leaves signals to the program's threads.
static void signals(void)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *listening = listener(channel, 9105);
    pause_ms(200);
    DIR *folder = opendir("/proc/self/task");
    int found = 0;
    sigset_t own;
    HOLDS(folder != NULL);
    for (struct dirent *task; (task = readdir(folder));) {
        char path[300], line[200], name[20] = "";
        unsigned long long blocked = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *status = fopen(path, "r");
        while (status && fgets(line, sizeof line, status)) {
            sscanf(line, "Name: %19s", name);
            sscanf(line, "SigBlk: %llx", &blocked);
        }
        if (status)
            fclose(status);
        if (strcmp(name, "rdmacm") != 0)
            continue;
        found++;
        HOLDS(blocked >> (SIGALRM - 1) & blocked >> (SIGINT - 1) & blocked >> (SIGCHLD - 1) & 1);
    }
    closedir(folder);
    HOLDS(found == 1);
    HOLDS(pthread_sigmask(SIG_SETMASK, NULL, &own) == 0 && !sigismember(&own, SIGALRM));
    HOLDS(rdma_destroy_id(listening) == 0);
    rdma_destroy_event_channel(channel);
}

int main(int count, char **arguments)
{
    static const struct { const char *name; void (*run)(void); } parts[] = {
        {"completions", completions},
        {"acknowledgements", acknowledgements},
        {"order", order},
        {"refusal", refusal},
        {"readable", readable},
        {"failures", failures},
        {"signals", signals},
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
