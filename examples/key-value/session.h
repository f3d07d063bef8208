// A client's connection, by which many operations may be under way at a time. One thread only.
#ifndef SESSION_H
#define SESSION_H

#include "kv.h"

enum kind { GET, PUT, DELETE, INCREMENT };

// What the caller fills in, and reads when it has ended. It stays where it is until then.
struct operation {
    enum kind kind;
    const char *key;
    // PUT: what is stored. GET: what was found.
    uint8_t value[KV_VALUE_MOST];
    size_t value_length;
    // INCREMENT: how much is added.
    uint64_t by;

    enum kv_status status;
    // The version that was read or written. INCREMENT: the sum.
    uint64_t number;
    // READs that were made again as they came torn.
    uint64_t torn;
    // When it was started and when it has ended, in nanoseconds.
    uint64_t started, ended;
    struct operation *next;
};

struct session;

// Ends the program with a line that says why, if there is no such server. It may reduce `depth`.
struct session *session_open(const char *host, uint16_t port, uint32_t *depth);
void session_close(struct session *session);
// Starts an operation; at most `depth` are under way.
void session_start(struct session *session, struct operation *operation);
// Waits until one has ended.
struct operation *session_next(struct session *session);

#endif
