// What both programs use.
#define _GNU_SOURCE
#include "kv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *kv_program = "kv";

// CRC-64/XZ (ECMA-182, reflected), begun with 0 for `crc`. A torn slot passes once in 2^64.
static uint64_t crc64(uint64_t crc, const uint8_t *bytes, size_t count)
{
    static uint64_t table[256];
    if (table[1] == 0)
        for (uint64_t i = 0; i < 256; i++) {
            uint64_t entry = i;
            for (int bit = 0; bit < 8; bit++)
                entry = entry & 1 ? entry >> 1 ^ 0xc96c5795d7870f42u : entry >> 1;
            table[i] = entry;
        }
    crc = ~crc;
    for (size_t i = 0; i < count; i++)
        crc = table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
    return ~crc;
}

static uint64_t checksum(const struct kv_slot *slot)
{
    size_t header = offsetof(struct kv_slot, key) - offsetof(struct kv_slot, version);
    uint64_t crc = crc64(0, slot->version, header);
    crc = crc64(crc, slot->key, KV_LOAD(slot->key_length));
    return crc64(crc, slot->value, KV_LOAD(slot->value_length));
}

void kv_slot_fill(struct kv_slot *slot, uint64_t version, const void *key, size_t key_length, const void *value, size_t value_length)
{
    memset(slot, 0, sizeof *slot);
    KV_STORE(slot->version, version);
    KV_STORE(slot->key_length, key_length);
    KV_STORE(slot->value_length, value_length);
    if (key_length)
        memcpy(slot->key, key, key_length);
    if (value_length)
        memcpy(slot->value, value, value_length);
    KV_STORE(slot->checksum, checksum(slot));
}

enum kv_state kv_slot_state(const struct kv_slot *slot)
{
    // Lengths come from another machine, or are half of two: nothing may rely on them before they are checked.
    if (KV_LOAD(slot->key_length) > KV_KEY_MOST || KV_LOAD(slot->value_length) > KV_VALUE_MOST)
        return KV_TORN;
    if (KV_LOAD(slot->checksum) != checksum(slot))
        return KV_TORN;
    return KV_LOAD(slot->key_length) ? KV_TAKEN : KV_FREE;
}

int kv_slot_has(const struct kv_slot *slot, const void *key, size_t key_length)
{
    return KV_LOAD(slot->key_length) == key_length && memcmp(slot->key, key, key_length) == 0;
}

uint32_t kv_bucket_of(const void *key, size_t key_length, uint32_t buckets)
{
    const uint8_t *bytes = key;
    // FNV-1a.
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < key_length; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return (uint32_t)(hash % buckets);
}

void kv_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    // What was said so far comes first.
    fflush(stdout);
    fprintf(stderr, "%s: ", kv_program);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

uint64_t kv_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void *kv_pages(size_t bytes)
{
    // Whole pages: registration pins pages, and nothing else should be in those that others may read.
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = aligned_alloc(page, (bytes + page - 1) / page * page);
    if (!memory)
        kv_fail("no memory for %zu bytes", bytes);
    return memset(memory, 0, bytes);
}

uint64_t kv_number(const char *what, const char *text, uint64_t least, uint64_t most)
{
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || number < least || number > most) {
        fprintf(stderr, "%s: %s is \"%s\", expected a number from %ju to %ju\n", kv_program, what, text, (uintmax_t)least, (uintmax_t)most);
        exit(2);
    }
    return number;
}

struct rdma_event_channel *kv_events(void)
{
    // The connection manager knows only devices that can be used with it; without any, some versions have no channel either.
    int count = 0;
    struct ibv_context **devices = rdma_get_devices(&count);
    if (devices)
        rdma_free_devices(devices);
    struct rdma_event_channel *events = count ? rdma_create_event_channel() : NULL;
    if (!events)
        kv_fail("there is no RDMA device here\n"
                "  hint: ibv_devices lists them; without hardware, start the program by: fairlane exec -- %s ...",
                kv_program);
    return events;
}

struct rdma_addrinfo *kv_address(const char *host, uint16_t port, int flags)
{
    struct rdma_addrinfo hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_TCP}, *found;
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    if (rdma_getaddrinfo(host, service, &hints, &found))
        kv_fail("there is no address of the name %s", host);
    return found;
}

struct ibv_qp *kv_queue_pair(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_cq *cq, uint32_t sends, uint32_t receives, uint32_t *inlined)
{
    // No attribute of a device says how much it sends inline (from the work request, without fetching memory): one asks for what one
    // would like, and for less if that is refused.
    for (uint32_t wish = sizeof(struct kv_request);; wish /= 2) {
        struct ibv_qp_init_attr attr = {
            .send_cq = cq,
            .recv_cq = cq,
            .cap = {.max_send_wr = sends, .max_recv_wr = receives, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = wish},
            .qp_type = IBV_QPT_RC,
            .sq_sig_all = 1,
        };
        if (rdma_create_qp(id, pd, &attr) == 0) {
            *inlined = attr.cap.max_inline_data;
            return id->qp;
        }
        if (wish == 0)
            return NULL;
    }
}
