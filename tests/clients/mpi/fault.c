// SPDX-License-Identifier: MIT
/*
 * Ranks exchange device memory until something goes wrong: see the part `faults` of run.
 *
 * Each compares every byte of every message. One that differs is printed as WRONG. An error that MPI returns is
 * printed, and ends the rank with status 3.
 */
#include <accel/accel.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE ((size_t)256 << 10)
#define SECONDS 300

static int rank, ranks;

static void __attribute__((noreturn)) end(const char *what, const char *why, int status)
{
	printf("rank %d: %s: %s\n", rank, what, why);
	fflush(stdout);
	_exit(status);
}

static void copy(void *to, const void *from)
{
	if (accel_memory_copy(to, from, SIZE))
		end("a copy of the program", accel_last_error(), 2);
}

static void check(const char *what, int err)
{
	char text[MPI_MAX_ERROR_STRING];
	int length;

	if (!err)
		return;
	MPI_Error_string(err, text, &length);
	end(what, text, 3);
}

static void fill(uint32_t *values, int from, unsigned int round)
{
	for (size_t i = 0; i < SIZE / sizeof(*values); i++)
		values[i] = (uint32_t)from * 0x01000193u ^ (round * 2654435761u + (uint32_t)i);
}

static void *device_memory(struct accel_device *dev)
{
	void *ptr;

	if (accel_device_memory_allocate(dev, &ptr, SIZE))
		end("device memory", accel_last_error(), 2);
	return ptr;
}

static void run(struct accel_device *dev)
{
	void *out = device_memory(dev), *in = device_memory(dev);
	uint32_t *values = malloc(SIZE), *wanted = malloc(SIZE);
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	double begin = MPI_Wtime();

	for (unsigned int round = 0; MPI_Wtime() - begin < SECONDS; round++) {
		fill(values, rank, round);
		fill(wanted, before, round);
		copy(out, values);
		check("sendrecv", MPI_Sendrecv(out, (int)SIZE, MPI_BYTE, next, 0, in, (int)SIZE, MPI_BYTE,
					       before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		copy(values, in);
		if (memcmp(values, wanted, SIZE))
			end("WRONG", "bytes of a message", 4);
		if (round == 3) {
			printf("rank %d has pid %d\n", rank, (int)getpid());
			fflush(stdout);
		}
	}
	end("nothing", "has gone wrong", 5);
}

int main(void)
{
	struct accel_device *dev;

	/* Over TCP, Open MPI 5.0 can write to the socket of a rank that has just died. */
	signal(SIGPIPE, SIG_IGN);
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (accel_device_open(rank % accel_device_count(), &dev))
		end("a device", accel_last_error(), 2);
	run(dev);
}
