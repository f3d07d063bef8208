// What client and server have to agree on: the layout of the table that clients read, and the messages between them.
//
// Everything that travels, or that the other end reads, is bytes with the most significant first, whatever the machines are: structures here
// have fields of bytes only, so that no compiler puts padding between them. The one exception are counters, see `kv_welcome`.
#ifndef KV_H
#define KV_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

enum {
    KV_PORT = 7480,
    // Goes up with every change of this file that an older program would misunderstand.
    KV_VERSION = 1,
    KV_KEY_MOST = 40,
    KV_VALUE_MOST = 192,
    // Places in a bucket. A key has one bucket, so one READ finds it wherever it is.
    KV_SLOTS = 4,
};
#define KV_MAGIC 0x464c4b56u

// A key with its value. A free slot has a key of length 0.
struct kv_slot {
    // CRC-64 of all fields below, of key and value only the part in use.
    uint8_t checksum[8];
    // Goes up with every change of the table.
    uint8_t version[8];
    uint8_t value_length[2];
    uint8_t key_length[1];
    uint8_t reserved[5];
    uint8_t key[KV_KEY_MOST];
    uint8_t value[KV_VALUE_MOST];
};
_Static_assert(sizeof(struct kv_slot) == 256, "slots have the same layout everywhere");

struct kv_bucket {
    struct kv_slot slots[KV_SLOTS];
};

enum kv_operation {
    KV_PUT = 1,
    KV_DELETE,
    // Asks for the place of a counter, which is made if it isn't there.
    KV_COUNTER,
};

// A SEND of the client, as long as it has bytes. A GET or an INCR sends none: the server's NIC answers them by itself.
struct kv_request {
    // Comes back in the reply.
    uint8_t tag[4];
    uint8_t operation[1];
    uint8_t key_length[1];
    uint8_t value_length[2];
    // The key, then the value.
    uint8_t bytes[KV_KEY_MOST + KV_VALUE_MOST];
};

enum kv_status {
    KV_OK,
    KV_NOT_FOUND,
    // The bucket of the key, or the array of counters, has no free place.
    KV_FULL,
    // The server doesn't understand the request.
    KV_BAD,
    // Only the client itself says so: the key is written so often that no READ was whole.
    KV_BUSY,
};

// A SEND of the server.
struct kv_reply {
    uint8_t tag[4];
    uint8_t status[1];
    uint8_t reserved[3];
    // PUT and DELETE: the new version. COUNTER: the place in the array of counters.
    uint8_t number[8];
};

// Private data of the connection manager, by which the ends introduce themselves before there is a connection: a client with its request,
struct kv_hello {
    uint8_t magic[4];
    uint8_t version[2];
    uint8_t reserved[2];
};

// the server with its consent,
struct kv_welcome {
    uint8_t magic[4];
    uint8_t version[2];
    // Requests that may be under way at a time: the server has as many receives posted.
    uint8_t credits[2];
    // Where the table is, and the key that lets clients read it.
    uint8_t table_address[8];
    uint8_t table_key[4];
    uint8_t buckets[4];
    // An array of 64-bit counters for FETCH-ADD. In memory they have the byte order of the server's processor, which only its NIC has to
    // know: an atomic operation takes and returns numbers in the order of whoever asks.
    uint8_t counters_address[8];
    uint8_t counters_key[4];
    // 0 if the server's device has no atomic operations.
    uint8_t counters[4];
    uint8_t slot_bytes[2];
    uint8_t slots[2];
};

// or with its refusal.
struct kv_refusal {
    uint8_t magic[4];
    uint8_t version[2];
    uint8_t reason[2];
};
// The most that fits: a request has 56 bytes for us, refusals 148, consent 196.
_Static_assert(sizeof(struct kv_hello) <= 56 && sizeof(struct kv_welcome) <= 196, "fits into private data");

enum kv_reason {
    // Another magic or version.
    KV_FOREIGN = 1,
    // As many clients as the server takes.
    KV_CROWDED,
    // It came by another device than the one that the table is registered with.
    KV_ELSEWHERE,
};

static inline uint64_t kv_load(const uint8_t *from, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | from[i];
    return value;
}

static inline void kv_store(uint8_t *to, size_t bytes, uint64_t value)
{
    for (size_t i = bytes; i-- > 0; value >>= 8)
        to[i] = (uint8_t)value;
}

// For fields, which know their size.
#define KV_LOAD(field) kv_load((field), sizeof(field))
#define KV_STORE(field, value) kv_store((field), sizeof(field), (value))

enum kv_state { KV_FREE, KV_TAKEN, KV_TORN };

// Fills a slot and seals it with its checksum. A free slot has no key.
void kv_slot_fill(struct kv_slot *slot, uint64_t version, const void *key, size_t key_length, const void *value, size_t value_length);
// Whether a slot is whole, and in use. A READ isn't atomic: what is written meanwhile may come half old, half new.
enum kv_state kv_slot_state(const struct kv_slot *slot);
int kv_slot_has(const struct kv_slot *slot, const void *key, size_t key_length);
// The bucket of a key.
uint32_t kv_bucket_of(const void *key, size_t key_length, uint32_t buckets);

// The name that messages begin with.
extern const char *kv_program;
// Says on standard error what is wrong, and ends the program.
_Noreturn void kv_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Nanoseconds of a clock that never goes back.
uint64_t kv_now(void);
// Memory that begins with a page, zeroed.
void *kv_pages(size_t bytes);
// A number between bounds, or the end of the program with status 2.
uint64_t kv_number(const char *what, const char *text, uint64_t least, uint64_t most);
struct rdma_event_channel *kv_events(void);
// An address of the machine, or of another one, with a port.
struct rdma_addrinfo *kv_address(const char *host, uint16_t port, int flags);
// Gives an id a queue pair, and says how many bytes it sends inline. NULL with `errno` if the device refuses.
struct ibv_qp *kv_queue_pair(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_cq *cq, uint32_t sends, uint32_t receives, uint32_t *inlined);

#endif
