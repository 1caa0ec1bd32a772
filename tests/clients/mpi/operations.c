// SPDX-License-Identifier: MIT
/*
 * MPI on device pointers, between all ranks: see ../run. Rank N uses device N modulo their number.
 *
 * MOST=BYTES is a limit for the largest messages.
 *
 * operations [WORD...]    only checks whose names contain one of the words; those of limits only so
 */
#include "test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rank, ranks;
struct accel_device *device;
size_t most;

static const char *check_name;
static int failures;

/* ---- Failures -------------------------------------------------------------------------------- */

void fail_at(const char *file, int line, const char *format, ...)
{
	va_list args;

	/* The first ones tell the most. */
	if (++failures > 5)
		return;
	va_start(args, format);
	printf("# %s:%d: rank %d, %s: ", file, line, rank, check_name);
	vprintf(format, args);
	printf("\n");
	fflush(stdout);
	va_end(args);
}

static void __attribute__((noreturn)) give_up(const char *what)
{
	printf("# rank %d, %s: %s: %s\n", rank, check_name, what, accel_last_error());
	fflush(stdout);
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

/* ---- Memory ---------------------------------------------------------------------------------- */

enum { MARGIN = 8 };

static void margin_of(void *ptr, uint8_t margin[MARGIN])
{
	for (size_t i = 0; i < MARGIN; i++)
		margin[i] = byte_of((uint32_t)(uintptr_t)ptr, i);
}

/* Where it is said that the processor has no access, see hide.c, a stray one has to be noticed. */
static void check_access(void *ptr)
{
	struct accel_pointer_info info;

	if (accel_pointer_get_info(ptr, &info) || info.kind != ACCEL_MEMORY_DEVICE)
		give_up("a pointer");
	if (getenv("NO_ACCESS") && info.flags & ACCEL_POINTER_ACCESSIBLE)
		fail("the processor can access device memory");
}

void *device_memory(size_t size)
{
	uint8_t margin[MARGIN];
	void *base;

	if (accel_device_memory_allocate(device, &base, size + 2 * MARGIN))
		give_up("device memory");
	check_access(base);
	margin_of(base, margin);
	put(base, margin, MARGIN);
	put((char *)base + MARGIN + size, margin, MARGIN);
	return (char *)base + MARGIN;
}

void device_free(void *ptr, size_t size)
{
	char *base = (char *)ptr - MARGIN;
	uint8_t margin[MARGIN];

	margin_of(base, margin);
	compare_with(base, margin, MARGIN);
	compare_with(base + MARGIN + size, margin, MARGIN);
	if (accel_device_memory_deallocate(device, base, size + 2 * MARGIN))
		give_up("freeing device memory");
}

void *host_memory(size_t size)
{
	void *ptr = malloc(size ? size : 1);

	if (!ptr)
		give_up("host memory");
	return ptr;
}

/* ---- Contents -------------------------------------------------------------------------------- */

uint32_t seed_of(int from, int to, int number)
{
	return (uint32_t)(from * 1000003 + to * 10007 + number * 31 + 1);
}

uint8_t byte_of(uint32_t seed, size_t at)
{
	uint32_t x = seed * 2654435761u + (uint32_t)at * 2246822519u + (uint32_t)(at >> 8);

	x ^= x >> 15;
	x *= 2246822519u;
	return (uint8_t)(x >> 24);
}

void put(void *ptr, const void *values, size_t size)
{
	if (size && accel_memory_copy(ptr, values, size))
		give_up("a copy");
}

void compare_with(const void *ptr, const void *wanted, size_t size)
{
	uint8_t *got = host_memory(size);
	const uint8_t *want = wanted;
	size_t i;

	if (size && accel_memory_copy(got, ptr, size))
		give_up("a copy");
	for (i = 0; i < size && got[i] == want[i]; i++)
		;
	if (i < size)
		fail("byte %zu of %zu is %02x and not %02x", i, size, got[i], want[i]);
	free(got);
}

static uint8_t *contents(size_t size, uint32_t seed)
{
	uint8_t *bytes = host_memory(size);

	for (size_t i = 0; i < size; i++)
		bytes[i] = byte_of(seed, i);
	return bytes;
}

void fill(void *ptr, size_t size, uint32_t seed)
{
	uint8_t *bytes = contents(size, seed);

	put(ptr, bytes, size);
	free(bytes);
}

void compare(const void *ptr, size_t size, uint32_t seed)
{
	uint8_t *bytes = contents(size, seed);

	compare_with(ptr, bytes, size);
	free(bytes);
}

/* Below and above the limits at which Open MPI changes its protocol: 4 KiB for sm, 64 KiB for tcp. */
size_t size_number(int number)
{
	static const size_t sizes[] = { 1, 13, 64, 1000, 4097, 65536 + 1, 300000, 1 << 20 };

	if (number == sizeof(sizes) / sizeof(sizes[0]) || sizes[number] > most)
		return 0;
	return sizes[number];
}

/* ---- Running them ------------------------------------------------------------------------------ */

static int number;

static int conclude(const char *name)
{
	int all = 0;

	MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!rank) {
		printf("%sok %d - %s\n", all ? "not " : "", ++number, name);
		fflush(stdout);
	}
	failures = 0;
	return all;
}

static bool is_chosen(const char *name, char **words)
{
	if (!*words)
		return true;
	for (; *words; words++)
		if (strstr(name, *words))
			return true;
	return false;
}

static int run(const struct check *check, char **words)
{
	int bad = 0;

	for (; check->name; check++) {
		check_name = check->name;
		if (!is_chosen(check->name, words))
			continue;
		check->run();
		bad += conclude(check->name);
	}
	return bad;
}

static void skip(const struct check *check, char **words, const char *why)
{
	for (; check->name; check++)
		if (!rank && is_chosen(check->name, words))
			printf("ok %d - %s # SKIP %s\n", ++number, check->name, why);
}

/* Each rank has allocated what it uses itself, so what it has left is its own. */
static int check_leaks(void)
{
	struct accel_memory_stats stats;

	check_name = "leaks";
	if (accel_memory_stats_full(device, &stats))
		give_up("statistics");
	if (stats.mine || stats.mine_allocs)
		fail("%llu bytes in %llu allocations are left", (unsigned long long)stats.mine,
		     (unsigned long long)stats.mine_allocs);
	return conclude("no device memory is left");
}

static void choose_device(void)
{
	struct accel_device_info info;
	int count = accel_device_count();
	size_t limit;

	check_name = "set-up";
	if (count <= 0)
		give_up("no device");
	if (accel_device_open(rank % count, &device) || accel_device_get_info(device, &info))
		give_up("a device");
	/* What ranks on the same device can have at once, for four buffers and their margins. */
	most = info.memory_size / ((size_t)(ranks + count - 1) / (size_t)count) / 5;
	most = most < 5 * info.granule ? info.granule - 2 * MARGIN : most - 2 * info.granule;
	limit = getenv("MOST") ? (size_t)atol(getenv("MOST")) : 1 << 20;
	if (most > limit)
		most = limit;
	MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UNSIGNED_LONG, MPI_MIN, MPI_COMM_WORLD);
}

/* Between machines Open MPI has one-sided calls over osc/rdma only: see limits. */
static bool is_one_machine(void)
{
	MPI_Comm machine;
	int size;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
	MPI_Comm_size(machine, &size);
	MPI_Comm_free(&machine);
	return size == ranks;
}

int main(int argc, char **argv)
{
	int bad = 0;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	choose_device();
	bad += run(point_to_point, argv + 1);
	bad += run(collectives, argv + 1);
	bad += run(reductions, argv + 1);
	if (is_one_machine())
		bad += run(one_sided, argv + 1);
	else
		skip(one_sided, argv + 1, "Open MPI has osc/rdma only between machines");
	if (argc > 1)
		bad += run(limits, argv + 1);
	bad += check_leaks();
	if (!rank)
		printf("1..%d\n", number);
	fflush(stdout);
	accel_device_close(device);
	MPI_Finalize();
	return bad ? 1 : 0;
}
