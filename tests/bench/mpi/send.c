// SPDX-License-Identifier: MIT
/*
 * send [SAMPLES]: times of MPI between two or more ranks, each with its device, in a guest. JSON lines: the samples, in
 * nanoseconds of one message or reduction, with host and with device memory in turns.
 *
 * With PLAIN=1 and LD_PRELOAD=libplain.so "device" is host memory that its component takes for device memory, and memcpy()
 * moves it: the same path through Open MPI without a device.
 *
 * send table             one line of text for each size instead: how time grows with ranks and bytes
 */
#include "plain.h"

#include <accel/accel.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE ((size_t)64 << 20)
#define SMALL ((size_t)4096)
#define REDUCED ((size_t)16 << 20)
#define MAX_SAMPLES 101

static int rank, ranks;
static struct accel_device *dev;
static bool plain;

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "send: %s: %s\n", what, accel_last_error());
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *host_memory(size_t size)
{
	void *ptr = aligned_alloc(4096, size);

	must(!ptr, "memory");
	memset(ptr, rank + 1, size);
	return ptr;
}

static void *device_memory(size_t size)
{
	void *ptr;

	if (plain) {
		ptr = host_memory(size);
		plain_add(ptr, size);
		return ptr;
	}
	must(accel_device_memory_allocate(dev, &ptr, size), "allocate");
	must(accel_device_memory_set(dev, ptr, (unsigned char)(rank + 1), size), "fill");
	return ptr;
}

static void device_free(void *ptr, size_t size)
{
	if (plain)
		free(ptr);
	else
		must(accel_device_memory_deallocate(dev, ptr, size), "free");
}

/* The last byte tells whether the message has come. */
static void check(const void *ptr, size_t size, unsigned char wanted)
{
	unsigned char got = 0;

	must(accel_memory_copy(&got, (const char *)ptr + size - 1, 1), "copy");
	if (got == wanted)
		return;
	fprintf(stderr, "send: rank %d got %d and not %d\n", rank, got, wanted);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A message whose bytes the program itself copies from device memory, if there is any. */
static void send_once(void *ptr, const void *there, size_t size)
{
	if (there)
		must(accel_memory_copy(ptr, there, size), "copy");
	MPI_Send(ptr, (int)size, MPI_BYTE, !rank, 0, MPI_COMM_WORLD);
}

static void receive_once(void *ptr, void *there, size_t size)
{
	MPI_Recv(ptr, (int)size, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (there)
		must(accel_memory_copy(there, ptr, size), "copy");
}

/* Half of a message there and back between ranks 0 and 1. */
static double send_ns(void *ptr, void *there, size_t size, int times)
{
	double begin;

	MPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	for (int i = 0; i < times; i++) {
		if (rank == 0)
			send_once(ptr, there, size);
		if (rank < 2)
			receive_once(ptr, there, size);
		if (rank == 1)
			send_once(ptr, there, size);
	}
	return (MPI_Wtime() - begin) / times / 2 * 1e9;
}

/* From rank 0 to rank 1, until that has it. */
static double large_ns(void *ptr, size_t size)
{
	double begin;

	MPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	if (rank == 0)
		MPI_Send(ptr, (int)size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
	else if (rank == 1)
		MPI_Recv(ptr, (int)size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	return (MPI_Wtime() - begin) * 1e9;
}

static double allreduce_ns(void *in, void *out, size_t size)
{
	double begin;

	MPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	MPI_Allreduce(in, out, (int)(size / sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	return (MPI_Wtime() - begin) * 1e9;
}

static void print(const char *name, const char *where, const double *ns, int samples)
{
	if (rank)
		return;
	printf("{\"name\": \"%s.%s\", \"ns\": [", name, where);
	for (int i = 0; i < samples; i++)
		printf("%s%.0f", i ? ", " : "", ns[i]);
	puts("]}");
	fflush(stdout);
}

/* The median of so many messages of 4 KiB there and back, the third time with copies of the program. */
static void measure_small(int times, int samples)
{
	void *host = host_memory(SMALL), *there = device_memory(SMALL);
	double of_host[MAX_SAMPLES], of_device[MAX_SAMPLES], of_copies[MAX_SAMPLES];

	for (int i = 0; i < samples; i++) {
		of_host[i] = send_ns(host, NULL, SMALL, times);
		of_device[i] = send_ns(there, NULL, SMALL, times);
		of_copies[i] = send_ns(host, there, SMALL, times);
	}
	if (rank == 1)
		check(there, SMALL, 1);
	print("mpi.send.4k", "host", of_host, samples);
	print("mpi.send.4k", "device", of_device, samples);
	print("mpi.send.4k", "copies", of_copies, samples);
	free(host);
	device_free(there, SMALL);
}

static void measure_large(int samples)
{
	void *host = host_memory(LARGE), *there = device_memory(LARGE);
	double of_host[MAX_SAMPLES], of_device[MAX_SAMPLES];

	/* The first host message maps what the transport uses. */
	large_ns(host, LARGE);
	for (int i = 0; i < samples; i++) {
		of_host[i] = large_ns(host, LARGE);
		of_device[i] = large_ns(there, LARGE);
	}
	if (rank == 1)
		check(there, LARGE, 1);
	print("mpi.send.64m", "host", of_host, samples);
	print("mpi.send.64m", "device", of_device, samples);
	free(host);
	device_free(there, LARGE);
}

static void measure_allreduce(int samples)
{
	void *host = host_memory(REDUCED), *host_out = host_memory(REDUCED), *in = device_memory(REDUCED),
	     *out = device_memory(REDUCED);
	double of_host[MAX_SAMPLES], of_device[MAX_SAMPLES];

	for (int i = 0; i < samples; i++) {
		of_host[i] = allreduce_ns(host, host_out, REDUCED);
		of_device[i] = allreduce_ns(in, out, REDUCED);
	}
	print("mpi.allreduce.16m", "host", of_host, samples);
	print("mpi.allreduce.16m", "device", of_device, samples);
	free(host);
	free(host_out);
	device_free(in, REDUCED);
	device_free(out, REDUCED);
}

/* The middle one of three. */
static double middle(double a, double b, double c)
{
	return a > b ? (b > c ? b : (a > c ? c : a)) : (a > c ? a : (b > c ? c : b));
}

static void print_table(void)
{
	if (!rank)
		printf("%5s %9s %14s %14s   (ms)\n", "ranks", "bytes", "send", "allreduce");
	for (size_t size = 4096; size <= ((size_t)4 << 20); size *= 32) {
		void *in = device_memory(size), *out = device_memory(size);
		double send = middle(send_ns(in, NULL, size, 1), send_ns(in, NULL, size, 1), send_ns(in, NULL, size, 1));
		double reduce = middle(allreduce_ns(in, out, size), allreduce_ns(in, out, size),
				       allreduce_ns(in, out, size));

		if (!rank)
			printf("%5d %9zu %14.3f %14.3f\n", ranks, size, send / 1e6, reduce / 1e6);
		fflush(stdout);
		device_free(in, size);
		device_free(out, size);
	}
}

int main(int argc, char **argv)
{
	int samples = argc > 1 ? atoi(argv[1]) : 5;

	plain = getenv("PLAIN");
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!plain)
		must(accel_device_open(rank % accel_device_count(), &dev), "open");
	if (argc > 1 && !strcmp(argv[1], "table")) {
		print_table();
	} else {
		samples = samples < 1 ? 1 : samples > MAX_SAMPLES ? MAX_SAMPLES : samples;
		measure_large(samples);
		measure_small(10, 6 * samples > MAX_SAMPLES ? MAX_SAMPLES : 6 * samples);
		measure_allreduce(samples);
	}
	if (dev)
		must(accel_device_close(dev), "close");
	MPI_Finalize();
	return 0;
}
