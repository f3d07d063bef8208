// Connections whose other end leaves without a word, and requests to nobody.
//   gone server ADDRESS             tells what happens to each connection, one line each, until it is killed
//   gone late ADDRESS               the same, and listens half a second after it has an address
//   gone client ADDRESS MODE        connects, says so, and exits, sleeps, forks children, waits for an event, or
//                                 says goodbye after a second
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include "holds.h"

static struct rdma_event_channel *channel;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

// The next event, which is told. Its id stays.
static struct rdma_cm_id *next(enum rdma_cm_event_type *kind)
{
    struct rdma_cm_event *event;
    HOLDS(rdma_get_cm_event(channel, &event) == 0);
    struct rdma_cm_id *id = event->id;
    *kind = event->event;
    printf("%s %d\n", rdma_event_str(event->event), event->status);
    fflush(stdout);
    HOLDS(rdma_ack_cm_event(event) == 0);
    return id;
}

static void pair(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr = {.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    attr.qp_type = IBV_QPT_RC;
    HOLDS(rdma_create_qp(id, NULL, &attr) == 0);
}

static void server(struct sockaddr *at, int late)
{
    enum rdma_cm_event_type kind;
    struct rdma_cm_id *listener;
    HOLDS(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0);
    HOLDS(rdma_bind_addr(listener, at) == 0);
    if (late) {
        puts("bound");
        fflush(stdout);
        usleep(500000);
    }
    HOLDS(rdma_listen(listener, 8) == 0);
    puts("listening");
    fflush(stdout);
    for (;;) {
        struct rdma_cm_id *id = next(&kind);
        if (kind == RDMA_CM_EVENT_CONNECT_REQUEST) {
            pair(id);
            // Whoever asks may have left meanwhile, of which the next event tells.
            (void)rdma_accept(id, NULL);
        }
    }
}

static void client(struct sockaddr *to, const char *mode)
{
    enum rdma_cm_event_type kind;
    struct rdma_cm_id *id;
    HOLDS(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
    HOLDS(rdma_resolve_addr(id, NULL, to, 100) == 0 && next(&kind) == id && kind == RDMA_CM_EVENT_ADDR_RESOLVED);
    HOLDS(rdma_resolve_route(id, 100) == 0 && next(&kind) == id && kind == RDMA_CM_EVENT_ROUTE_RESOLVED);
    pair(id);
    double begin = now();
    HOLDS(rdma_connect(id, NULL) == 0);
    // Without waiting for the answer.
    if (strcmp(mode, "hurry") == 0)
        return;
    HOLDS(next(&kind) == id);
    fprintf(stderr, "answered after %.3f s\n", now() - begin);
    if (kind != RDMA_CM_EVENT_ESTABLISHED)
        exit(now() - begin < 1.0 ? 3 : 4);
    if (strcmp(mode, "fork") == 0) {
        pid_t child = fork();
        if (child == 0)
            exit(0);
        HOLDS(waitpid(child, NULL, 0) == child);
        puts("forked");
        // The next one outlives this one by two seconds, with all that it has open.
        pid_t own = getpid();
        if (fork() == 0) {
            while (getppid() == own)
                nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
            sleep(2);
            _exit(0);
        }
        puts("forked");
        fflush(stdout);
    }
    if (strcmp(mode, "goodbye") == 0) {
        sleep(1);
        begin = now();
        HOLDS(rdma_disconnect(id) == 0);
        next(&kind);
        HOLDS(kind == RDMA_CM_EVENT_DISCONNECTED && now() - begin < 1.0);
        return;
    }
    if (strcmp(mode, "event") == 0) {
        next(&kind);
        HOLDS(kind == RDMA_CM_EVENT_DISCONNECTED);
        return;
    }
    if (strcmp(mode, "exit") != 0)
        sleep(60);
}

int main(int count, char **arguments)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9200)};
    HOLDS(count >= 3 && inet_pton(AF_INET, arguments[2], &address.sin_addr) == 1);
    alarm(60);
    channel = rdma_create_event_channel();
    if (strcmp(arguments[1], "client") != 0)
        server((struct sockaddr *)&address, strcmp(arguments[1], "late") == 0);
    HOLDS(count == 4);
    client((struct sockaddr *)&address, arguments[3]);
    return 0;
}
