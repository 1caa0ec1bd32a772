/* SPDX-License-Identifier: MIT */
/* What the checks have in common. All ranks run the same ones; rank 0 prints TAP. */
#ifndef TESTS_CLIENTS_MPI_TEST_H
#define TESTS_CLIENTS_MPI_TEST_H

#include <accel/accel.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct check {
	const char *name;
	void (*run)(void);
};

extern const struct check point_to_point[], collectives[], reductions[], one_sided[], limits[];

extern int rank, ranks;
extern struct accel_device *device;
/* Bytes that one buffer of a check can have: a check has up to four, and other ranks use the device, too. */
extern size_t most;

/* Ends the check with a failure when all ranks are through with it. */
void fail_at(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define fail(format, ...) fail_at(__FILE__, __LINE__, format, ##__VA_ARGS__)
#define ok(condition) ((condition) ? (void)0 : fail("%s", #condition))

/* The bytes before and behind it belong to it, and are compared when it is freed. */
void *device_memory(size_t size);
void device_free(void *ptr, size_t size);
void *host_memory(size_t size);

/* Bytes that a seed and their position tell; at any address. */
uint8_t byte_of(uint32_t seed, size_t at);
void fill(void *ptr, size_t size, uint32_t seed);
/* Fails unless all bytes are those. */
void compare(const void *ptr, size_t size, uint32_t seed);
/* The same with an array on the host. */
void put(void *ptr, const void *values, size_t size);
void compare_with(const void *ptr, const void *wanted, size_t size);

/* A seed for a message, which no other message has. */
uint32_t seed_of(int from, int to, int number);

/* Sizes to try, up to `most`, until 0. */
size_t size_number(int number);

#endif
