/* collectives ROUNDS: rounds of MPI_Allreduce, MPI_Alltoall and MPI_Sendrecv around a ring, of 8 bytes to 8 MiB in turn, whose results are
 * known; then atomics and puts. Exit status 1 if a number is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 8, LARGEST = 8 << 20 };
static const int sizes[SIZES] = { 8, 64, 512, 4096, 32768, 262144, 2097152, LARGEST };

static int rank, ranks;
static long wrong;

static void expect(long found, long expected, const char *what, int bytes) {
    if (found == expected)
        return;
    if (wrong++ < 3)
        fprintf(stderr, "rank %d: %s of %d bytes: %ld, expected %ld\n", rank, what, bytes, found, expected);
}

/* A number that depends on who sends it to whom, when and where. */
static long number(int round, int from, int to, int place) {
    return (long)round * 1000003 + from * 10007 + to * 101 + place;
}

static void all_reduce(int round, long *in, long *out, int bytes) {
    int count = bytes / sizeof *in;
    for (int at = 0; at < count; at++)
        in[at] = number(round, rank, 0, at);
    MPI_Allreduce(in, out, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int at = 0; at < count; at++) {
        long sum = 0;
        for (int from = 0; from < ranks; from++)
            sum += number(round, from, 0, at);
        expect(out[at], sum, "all-reduce", bytes);
    }
}

/* Each pair exchanges its part of the bytes, but at least 8. */
static void all_to_all(int round, long *in, long *out, int bytes) {
    int count = bytes / (int)sizeof *in / ranks;
    if (count == 0)
        count = 1;
    for (int to = 0; to < ranks; to++)
        for (int at = 0; at < count; at++)
            in[to * count + at] = number(round, rank, to, at);
    MPI_Alltoall(in, count, MPI_LONG, out, count, MPI_LONG, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; from++)
        for (int at = 0; at < count; at++)
            expect(out[from * count + at], number(round, from, rank, at), "all-to-all", bytes);
}

static void ring(int round, long *in, long *out, int bytes) {
    int count = bytes / sizeof *in, next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    for (int at = 0; at < count; at++)
        in[at] = number(round, rank, next, at);
    MPI_Sendrecv(in, count, MPI_LONG, next, round, out, count, MPI_LONG, before, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int at = 0; at < count; at++)
        expect(out[at], number(round, before, rank, at), "ring", bytes);
}

static void one_sided(int rounds) {
    long *memory, one = 1, old, mine = rank + 1;
    MPI_Win window;
    MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memory[0] = memory[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    for (int round = 0; round < rounds; round++)
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Put(&mine, 1, MPI_LONG, (rank + 1) % ranks, 1, 1, MPI_LONG, window);
    MPI_Win_flush_all(window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        expect(memory[0], (long)rounds * ranks, "fetch-and-add", 8);
    expect(memory[1], (rank + ranks - 1) % ranks + 1, "put", 8);
    MPI_Win_free(&window);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long *in = malloc(LARGEST), *out = malloc(LARGEST), all = 0;
    for (int round = 0; round < rounds; round++) {
        int bytes = sizes[round % SIZES];
        all_reduce(round, in, out, bytes);
        all_to_all(round, in, out, bytes);
        ring(round, in, out, bytes);
    }
    one_sided(50);
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, %d rounds, %ld wrong\n", ranks, rounds, all);
    MPI_Finalize();
    return all != 0;
}
