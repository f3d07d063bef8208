// How a client finds its server, and leaves it. What fails ends the program with a line that says why.
#ifndef CONNECT_H
#define CONNECT_H

#include "kv.h"

struct connection {
    struct rdma_event_channel *events;
    struct rdma_cm_id *id;
};

// Finds the device that leads to a server, for which resources can be made then.
void connection_resolve(struct connection *connection, const char *host, uint16_t port);
// Connects the queue pair that the id has got meanwhile, with at most so many READs and atomics under way.
struct kv_welcome connection_establish(struct connection *connection, const char *host, uint16_t port, uint32_t reads);
void connection_close(struct connection *connection);

#endif
