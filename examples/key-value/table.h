// The server's table: memory that clients read, and the only code that writes it.
#ifndef TABLE_H
#define TABLE_H

#include "kv.h"

struct table {
    struct kv_bucket *buckets;
    uint32_t bucket_count;
    struct ibv_mr *readable;
    // Counters belong to the NIC: the processor never touches them, as operations of many devices are atomic among themselves only.
    uint64_t *counters;
    uint32_t counter_count;
    struct ibv_mr *countable;
    // Names of the counters that are in use. Clients don't see them.
    struct {
        uint8_t key[KV_KEY_MOST];
        size_t length;
    } *names;
    uint32_t named;
    uint64_t version;
    // Microseconds to wait in the middle of each write, which makes torn reads frequent enough to watch.
    uint32_t pause;
};

void table_open(struct table *table, struct ibv_pd *pd, uint32_t buckets, uint32_t counters);
void table_close(struct table *table);
// Each says in `number` what the reply does.
enum kv_status table_put(struct table *table, const uint8_t *key, size_t key_length, const uint8_t *value, size_t value_length, uint64_t *number);
enum kv_status table_delete(struct table *table, const uint8_t *key, size_t key_length, uint64_t *number);
enum kv_status table_counter(struct table *table, const uint8_t *key, size_t key_length, uint64_t *number);

#endif
