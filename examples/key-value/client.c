// Commands for a store, and a benchmark.
#define _GNU_SOURCE
#include "session.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct session *session;
    uint32_t depth;
    uint64_t count;
    // What each operation is, and what is done with its result.
    void (*fill)(struct run *run, struct operation *operation);
    void (*take)(struct run *run, const struct operation *operation);
    // Commands.
    enum kind kind;
    const char *key, *value;
    uint64_t by;
    struct operation last;
    // Benchmark.
    uint64_t keys, size, random, filled, taken;
    // Of a hundred operations so many are GETs, the others of `kind`.
    uint32_t reads;
    uint64_t *nanoseconds;
    uint64_t torn;
};

static void check(const struct operation *operation)
{
    switch (operation->status) {
    case KV_OK: return;
    case KV_NOT_FOUND: kv_fail("not found: %s", operation->key);
    case KV_FULL:
        kv_fail("no room for %s\n  hint: kv-server --%s", operation->key, operation->kind == INCREMENT ? "counters" : "buckets makes the table larger");
    case KV_BUSY: kv_fail("%s is written so often that it can't be read", operation->key);
    default: kv_fail("the server doesn't understand the request for %s", operation->key);
    }
}

// Keeps as many operations under way as may be: while one is on the wire, the next is made.
static void run_all(struct run *run)
{
    struct operation *operations = calloc(run->depth, sizeof *operations);
    if (!operations)
        kv_fail("no memory");
    uint64_t started = 0;
    for (; started < run->count && started < run->depth; started++) {
        run->fill(run, &operations[started]);
        session_start(run->session, &operations[started]);
    }
    for (uint64_t ended = 0; ended < run->count; ended++) {
        struct operation *operation = session_next(run->session);
        check(operation);
        run->torn += operation->torn;
        run->take(run, operation);
        if (started < run->count) {
            run->fill(run, operation);
            session_start(run->session, operation);
            started++;
        }
    }
    free(operations);
}

static void fill_command(struct run *run, struct operation *operation)
{
    operation->kind = run->kind;
    operation->key = run->key;
    operation->by = run->by;
    if (run->kind == PUT) {
        operation->value_length = strlen(run->value);
        memcpy(operation->value, run->value, operation->value_length);
    }
}

static void take_command(struct run *run, const struct operation *operation)
{
    // GETs show each value; of others the last counts.
    if (operation->kind == GET) {
        fwrite(operation->value, 1, operation->value_length, stdout);
        putchar('\n');
    }
    if (operation->number >= run->last.number)
        run->last = *operation;
}

static void command(struct run *run)
{
    run->fill = fill_command;
    run->take = take_command;
    run_all(run);
    if (run->kind == INCREMENT)
        printf("%" PRIu64 "\n", run->last.number);
    else if (run->kind != GET)
        printf("version %" PRIu64 "\n", run->last.number);
    if (run->torn)
        fprintf(stderr, "%s: %" PRIu64 " READs came torn and were made again\n", kv_program, run->torn);
}

static char (*bench_keys)[KV_KEY_MOST + 1];

// xorshift64 (Marsaglia, Xorshift RNGs, 2003).
static uint64_t draw(struct run *run)
{
    run->random ^= run->random << 13;
    run->random ^= run->random >> 7;
    return run->random ^= run->random << 17;
}

static void fill_bench(struct run *run, struct operation *operation)
{
    // The first round stores each key once, the second chooses.
    int chooses = run->nanoseconds != NULL;
    uint64_t key = chooses ? draw(run) % run->keys : run->filled++;
    operation->kind = chooses && draw(run) % 100 < run->reads ? GET : run->kind;
    operation->key = bench_keys[key];
    operation->by = 1;
    operation->value_length = run->size;
    if (operation->kind == PUT)
        memset(operation->value, (int)('a' + key % 26), run->size);
}

static void take_bench(struct run *run, const struct operation *operation)
{
    if (!run->nanoseconds)
        return;
    run->nanoseconds[run->taken++] = operation->ended - operation->started;
    // What is found must be what this program stores.
    if (operation->kind == GET && operation->value_length && operation->value[0] != operation->value[operation->value_length - 1])
        kv_fail("%s has a value that nobody has stored", operation->key);
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void bench(struct run *run, const char *what)
{
    bench_keys = calloc(run->keys, sizeof *bench_keys);
    uint64_t *nanoseconds = calloc(run->count, sizeof *nanoseconds);
    if (!bench_keys || !nanoseconds)
        kv_fail("no memory for %" PRIu64 " keys and %" PRIu64 " operations", run->keys, run->count);
    for (uint64_t i = 0; i < run->keys; i++)
        snprintf(bench_keys[i], sizeof *bench_keys, "bench-%" PRIu64, i);
    run->fill = fill_bench;
    run->take = take_bench;
    uint64_t count = run->count;
    run->count = run->keys;
    run_all(run);
    run->count = count;
    run->nanoseconds = nanoseconds;
    run->torn = 0;
    uint64_t start = kv_now();
    run_all(run);
    double seconds = (double)(kv_now() - start) / 1e9;
    qsort(nanoseconds, count, sizeof *nanoseconds, compare);
    printf("%s: %" PRIu64 " operations, depth %u: %.0f a second, p50 %.1f us, p99 %.1f us, %" PRIu64 " torn\n", what, count, run->depth,
           (double)count / seconds, (double)nanoseconds[count / 2] / 1e3, (double)nanoseconds[count * 99 / 100] / 1e3, run->torn);
    free(nanoseconds);
    free(bench_keys);
}

static _Noreturn void usage(int status)
{
    fprintf(status ? stderr : stdout,
            "usage: kv-client [options] SERVER get KEY\n"
            "                                  put KEY VALUE\n"
            "                                  del KEY\n"
            "                                  incr NAME [BY]\n"
            "                                  bench [get|put|mixed|incr]\n"
            "  --port PORT    %d\n"
            "  --depth N      operations under way at a time: 16\n"
            "  --count N      how often the command is carried out: 1, bench 100000\n"
            "  --keys N       of bench: 1000\n"
            "  --size BYTES   of bench's values: 64\n",
            KV_PORT);
    exit(status);
}

static void check_length(const char *what, const char *text, size_t least, size_t most)
{
    size_t length = strlen(text);
    if (length >= least && length <= most)
        return;
    fprintf(stderr, "%s: the %s has %zu bytes, expected %zu to %zu\n", kv_program, what, length, least, most);
    exit(2);
}

// What the words behind the server's name ask for. Whether it is a benchmark.
static int parse_command(struct run *run, int count, char **words)
{
    const char *name = count ? words[0] : "";
    if (strcmp(name, "bench") == 0) {
        const char *what = count > 1 ? words[1] : "mixed";
        run->kind = strcmp(what, "incr") == 0 ? INCREMENT : PUT;
        // "mixed" is workload B of YCSB (SoCC 2010), over keys of equal chance.
        run->reads = strcmp(what, "get") == 0 ? 100 : strcmp(what, "mixed") == 0 ? 95 : 0;
        if (count > 2 || (!run->reads && run->kind == PUT && strcmp(what, "put") != 0))
            usage(2);
        return 1;
    }
    if (strcmp(name, "get") == 0 && count == 2)
        run->kind = GET;
    else if (strcmp(name, "put") == 0 && count == 3)
        run->kind = PUT;
    else if (strcmp(name, "del") == 0 && count == 2)
        run->kind = DELETE;
    else if (strcmp(name, "incr") == 0 && (count == 2 || count == 3))
        run->kind = INCREMENT;
    else
        usage(2);
    run->key = words[1];
    check_length("key", run->key, 1, KV_KEY_MOST);
    if (run->kind == PUT)
        check_length("value", run->value = words[2], 0, KV_VALUE_MOST);
    run->by = run->kind == INCREMENT && count == 3 ? kv_number("BY", words[2], 0, UINT64_MAX) : 1;
    return 0;
}

int main(int count, char **arguments)
{
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'}, {"depth", required_argument, NULL, 'd'}, {"count", required_argument, NULL, 'n'},
        {"keys", required_argument, NULL, 'k'}, {"size", required_argument, NULL, 's'},  {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    kv_program = "kv-client";
    struct run run = {.depth = 16, .keys = 1000, .size = 64, .random = 88172645463325252u};
    uint16_t port = KV_PORT;
    // "+": options end where the server is named, so that values may begin with a dash.
    for (int option; (option = getopt_long(count, arguments, "+", options, NULL)) != -1;)
        switch (option) {
        case 'p': port = (uint16_t)kv_number("--port", optarg, 1, 65535); break;
        case 'd': run.depth = (uint32_t)kv_number("--depth", optarg, 1, 1024); break;
        case 'n': run.count = kv_number("--count", optarg, 1, 100000000); break;
        case 'k': run.keys = kv_number("--keys", optarg, 1, 10000000); break;
        case 's': run.size = kv_number("--size", optarg, 0, KV_VALUE_MOST); break;
        case 'h': usage(0);
        default: usage(2);
        }
    if (count - optind < 2)
        usage(2);
    const char *host = arguments[optind++];
    int is_bench = parse_command(&run, count - optind, arguments + optind);
    if (run.count == 0)
        run.count = is_bench ? 100000 : 1;
    run.session = session_open(host, port, &run.depth);
    if (is_bench)
        bench(&run, optind + 1 < count ? arguments[optind + 1] : "mixed");
    else
        command(&run);
    session_close(run.session);
    return 0;
}
