// SPDX-License-Identifier: MIT
/*
 * What `make run-mpi` runs: messages go round between ranks, from device memory to device memory, and each rank adds
 * to what it has received. Every byte of every message is compared, and the last line says how many were.
 */
#include <accel/accel.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT ((size_t)1 << 20)
#define SIZE (COUNT * sizeof(float))
#define ROUNDS 4

static int rank, ranks;

static void __attribute__((noreturn)) give_up(const char *what, const char *why)
{
	fprintf(stderr, "rank %d: %s: %s\n", rank, what, why);
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

static void must(int err, const char *what)
{
	if (err)
		give_up(what, accel_last_error());
}

/* A whole number below 2^20, other for each rank, round and place. */
static float value_of(int from, int round, size_t at)
{
	return (float)((at * 7 + (size_t)from * 1009 + (size_t)round * 13) % 1000003);
}

static void fill(float *values, int from, int round)
{
	for (size_t at = 0; at < COUNT; at++)
		values[at] = value_of(from, round, at);
}

static void compare(const float *values, int from, int round)
{
	for (size_t at = 0; at < COUNT; at++)
		if (values[at] != value_of(from, round, at))
			give_up("a message", "it has wrong bytes");
}

static void compare_sum(const float *values, int round)
{
	for (size_t at = 0; at < COUNT; at++) {
		float sum = 0;

		for (int from = 0; from < ranks; from++)
			sum += value_of(from, round, at);
		if (values[at] != sum)
			give_up("a reduction", "its result is wrong");
	}
}

static void say_who(struct accel_device *dev)
{
	char host[MPI_MAX_PROCESSOR_NAME];
	struct accel_device_info info;
	int length;

	MPI_Get_processor_name(host, &length);
	must(accel_device_get_info(dev, &info), "info");
	for (int turn = 0; turn < ranks; turn++) {
		if (turn == rank) {
			printf("rank %d on %s has the %s at %s\n", rank, host, info.name, info.bus_address);
			fflush(stdout);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

/* One message to the next rank, and a sum over all of them. */
static void run_round(int round, float *host, void *out, void *in)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;

	fill(host, rank, round);
	must(accel_memory_copy(out, host, SIZE), "copy");
	MPI_Sendrecv(out, (int)COUNT, MPI_FLOAT, next, round, in, (int)COUNT, MPI_FLOAT, before, round, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	must(accel_memory_copy(host, in, SIZE), "copy");
	compare(host, before, round);
	MPI_Allreduce(out, in, (int)COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	must(accel_memory_copy(host, in, SIZE), "copy");
	compare_sum(host, round);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		printf("round %d of %d: %d messages of %zu MiB and a sum over %d ranks, device to device\n", round + 1,
		       ROUNDS, ranks, SIZE >> 20, ranks);
	fflush(stdout);
}

int main(void)
{
	struct accel_device *dev;
	float *host = malloc(SIZE);
	void *out, *in;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!host)
		give_up("memory", "there is none");
	must(accel_device_open(rank % (accel_device_count() > 0 ? accel_device_count() : 1), &dev), "a device");
	must(accel_device_memory_allocate(dev, &out, SIZE), "device memory");
	must(accel_device_memory_allocate(dev, &in, SIZE), "device memory");
	say_who(dev);
	for (int round = 0; round < ROUNDS; round++)
		run_round(round, host, out, in);
	if (!rank)
		printf("verified: %d messages and %d sums between %d ranks, %zu bytes in device memory "
		       "compared, none differs\n",
		       ROUNDS * ranks, ROUNDS, ranks, 2 * SIZE * ROUNDS * (size_t)ranks);
	must(accel_device_close(dev), "close");
	free(host);
	MPI_Finalize();
	return 0;
}
