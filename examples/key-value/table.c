#define _GNU_SOURCE
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void table_open(struct table *table, struct ibv_pd *pd, uint32_t buckets, uint32_t counters)
{
    table->bucket_count = buckets;
    table->buckets = kv_pages(buckets * sizeof *table->buckets);
    struct kv_slot empty;
    kv_slot_fill(&empty, 0, NULL, 0, NULL, 0);
    for (uint32_t i = 0; i < buckets; i++)
        for (int slot = 0; slot < KV_SLOTS; slot++)
            table->buckets[i].slots[slot] = empty;
    // Two regions, as rights are those of a region: whatever a client does, it can't write into the table.
    table->readable = ibv_reg_mr(pd, table->buckets, buckets * sizeof *table->buckets, IBV_ACCESS_REMOTE_READ);
    if (!table->readable)
        kv_fail("the table can't be registered: %s\n  hint: memory is pinned, ulimit -l says how much may be", strerror(errno));
    if (counters == 0)
        return;
    table->counter_count = counters;
    table->counters = kv_pages(counters * sizeof *table->counters);
    table->names = calloc(counters, sizeof *table->names);
    // Whoever may write remotely needs a region that may be written locally.
    table->countable = ibv_reg_mr(pd, table->counters, counters * sizeof *table->counters, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
    if (!table->names || !table->countable)
        kv_fail("counters can't be registered: %s", strerror(errno));
}

void table_close(struct table *table)
{
    // Memory is given back after its registration: before, the NIC may still read it.
    ibv_dereg_mr(table->readable);
    if (table->countable)
        ibv_dereg_mr(table->countable);
    free(table->buckets);
    free(table->counters);
    free(table->names);
}

// Clients may read the slot at any moment of this. They find out by the checksum, so the order of writes doesn't matter; it couldn't be relied
// upon, either, as a NIC reads memory in the order it likes.
static void write_slot(struct table *table, struct kv_slot *slot, const struct kv_slot *from)
{
    size_t half = table->pause ? offsetof(struct kv_slot, value) + KV_LOAD(from->value_length) / 2 : 0;
    memcpy(slot, from, half);
    if (table->pause)
        usleep(table->pause);
    memcpy((uint8_t *)slot + half, (const uint8_t *)from + half, sizeof *slot - half);
}

// The slot that has a key, or else a free one, or none.
static struct kv_slot *find(struct table *table, const uint8_t *key, size_t key_length, int *has)
{
    struct kv_bucket *bucket = &table->buckets[kv_bucket_of(key, key_length, table->bucket_count)];
    struct kv_slot *free_slot = NULL;
    *has = 1;
    for (int i = 0; i < KV_SLOTS; i++) {
        struct kv_slot *slot = &bucket->slots[i];
        if (kv_slot_has(slot, key, key_length))
            return slot;
        if (!free_slot && KV_LOAD(slot->key_length) == 0)
            free_slot = slot;
    }
    *has = 0;
    return free_slot;
}

enum kv_status table_put(struct table *table, const uint8_t *key, size_t key_length, const uint8_t *value, size_t value_length, uint64_t *number)
{
    int has;
    struct kv_slot *slot = find(table, key, key_length, &has), next;
    if (!slot)
        return KV_FULL;
    *number = ++table->version;
    kv_slot_fill(&next, *number, key, key_length, value, value_length);
    write_slot(table, slot, &next);
    return KV_OK;
}

enum kv_status table_delete(struct table *table, const uint8_t *key, size_t key_length, uint64_t *number)
{
    int has;
    struct kv_slot *slot = find(table, key, key_length, &has), next;
    if (!has)
        return KV_NOT_FOUND;
    *number = ++table->version;
    kv_slot_fill(&next, *number, NULL, 0, NULL, 0);
    write_slot(table, slot, &next);
    return KV_OK;
}

enum kv_status table_counter(struct table *table, const uint8_t *key, size_t key_length, uint64_t *number)
{
    for (*number = 0; *number < table->named; ++*number)
        if (table->names[*number].length == key_length && memcmp(table->names[*number].key, key, key_length) == 0)
            return KV_OK;
    if (table->named == table->counter_count)
        return KV_FULL;
    memcpy(table->names[*number].key, key, key_length);
    table->names[*number].length = key_length;
    table->named++;
    return KV_OK;
}
