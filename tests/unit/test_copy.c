/* SPDX-License-Identifier: MIT */
/* Copies in every direction, and what they refuse. */
#define _GNU_SOURCE
#include "fixture.h"

#include <sys/mman.h>
#include <sys/resource.h>

static const struct paccel_copy *last_copy(void)
{
	return MOCK_LAST(paccel_copy, PACCEL_NR_COPY);
}

static int was(uint32_t dir, uint64_t dst, uint64_t src, uint64_t width)
{
	const struct paccel_copy *cmd = last_copy();

	return cmd->size == sizeof(*cmd) && !cmd->flags && !cmd->reserved && cmd->dir == dir &&
	       cmd->dst == dst && cmd->src == src && cmd->width == width && cmd->rows == 1;
}

static void pattern(char *bytes, size_t size, int seed)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(i * 7 + (size_t)seed);
}

/* A page that can be read but not written, and one behind it that is not there. */
static char *read_only_page(void)
{
	char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(map + 4096, 4096);
	mprotect(map, 4096, PROT_READ);
	return map;
}

static void test_h2d_and_d2h(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 1000), in[999], back[1001];

	pattern(in, sizeof(in), 1);
	memset(back, 'x', sizeof(back));
	expect(accel_memory_copy_h2d(dev, ptr + 1, in, 999), 0);
	ok(was(PACCEL_COPY_H2D, MOCK_BASE + 1, (uintptr_t)in, 999));
	ok(!memcmp(mock_memory(0, MOCK_BASE + 1), in, 999));
	expect(accel_memory_copy_d2h(dev, back + 1, ptr + 1, 999), 0);
	ok(was(PACCEL_COPY_D2H, (uintptr_t)back + 1, MOCK_BASE + 1, 999));
	ok(back[0] == 'x' && !memcmp(back + 1, in, 999) && back[1000] == 'x');
	expect(accel_device_close(dev), 0);
}

static void test_d2d(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 1000), *other = device_memory(dev, 100), in[100];

	pattern(in, sizeof(in), 2);
	expect(accel_memory_copy_h2d(dev, ptr + 10, in, 100), 0);
	expect(accel_memory_copy_d2d(dev, other, ptr + 10, 100), 0);
	ok(was(PACCEL_COPY_D2D, MOCK_BASE + 1024, MOCK_BASE + 10, 100));
	ok(!memcmp(mock_memory(0, MOCK_BASE + 1024), in, 100));
	expect(accel_memory_copy_d2d(dev, ptr + 110, ptr + 10, 100), 0);
	ok(!memcmp(mock_memory(0, MOCK_BASE + 110), in, 100));
	expect(accel_device_close(dev), 0);
}

static void test_d2d_overlap(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 1000), *unified = unified_memory(dev, 1000);
	unsigned int before = mock_calls(PACCEL_NR_COPY);

	refused(accel_memory_copy_d2d(dev, ptr, ptr, 100), -EINVAL, "overlap");
	refused(accel_memory_copy_d2d(dev, ptr, ptr + 99, 100), -EINVAL, "overlap");
	refused(accel_memory_copy_d2d(dev, ptr + 99, ptr, 100), -EINVAL, hex(ptr + 99));
	refused(accel_memory_copy(ptr + 99, ptr, 100), -EINVAL, "overlap");
	refused(accel_memory_copy_d2d(dev, unified, unified + 1, 100), -EINVAL, "overlap");
	ok(mock_calls(PACCEL_NR_COPY) == before);
	expect(accel_memory_copy_d2d(dev, ptr + 100, ptr, 100), 0);
	expect(accel_memory_copy_d2d(dev, ptr, ptr + 100, 100), 0);
	expect(accel_device_close(dev), 0);
}

static void test_exact_size_bounds_every_access(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100), *unified = unified_memory(dev, 100),
	     *host = host_memory(dev, 100);
	static char mine[200];

	/* The granule has 128 bytes and the page 4096: both are nobody's. */
	refused(accel_memory_copy_h2d(dev, ptr, mine, 101), -EFAULT, "allocation at");
	refused(accel_memory_copy_h2d(dev, ptr + 100, mine, 1), -EFAULT, "no live allocation");
	refused(accel_memory_copy_d2h(dev, mine, ptr + 50, 51), -EFAULT, "runs past the end");
	refused(accel_memory_copy_h2d(dev, unified, mine, 101), -EFAULT, "unified allocation");
	refused(accel_memory_copy_h2d(dev, unified + 100, mine, 1), -EFAULT, "not wholly inside");
	refused(accel_memory_copy_d2h(dev, host, ptr, 101), -EFAULT, hex(host));
	refused(accel_memory_copy_d2h(dev, host + 99, ptr, 2), -EFAULT, "host allocation");
	refused(accel_memory_copy_d2h(dev, host + 4095, ptr, 1), -EFAULT, "of 100 bytes");
	refused(accel_memory_copy(ptr, host - 1, 2), -EFAULT, "host allocation");
	ok(!mock_calls(PACCEL_NR_COPY) && !host[0]);
	expect(accel_memory_copy_d2h(dev, host, ptr, 100), 0);
	expect(accel_device_close(dev), 0);
}

static void test_null_empty_and_wrapping(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100), bytes[100];
	unsigned int before = mock_all_calls();

	refused(accel_memory_copy_h2d(NULL, ptr, bytes, 1), -EINVAL, "dev");
	refused(accel_memory_copy_h2d(dev, NULL, bytes, 1), -EINVAL, "dst is NULL");
	refused(accel_memory_copy_h2d(dev, ptr, NULL, 1), -EINVAL, "src is NULL");
	refused(accel_memory_copy_h2d(dev, ptr, bytes, 0), -EINVAL, "size is 0");
	refused(accel_memory_copy_h2d(dev, ptr, bytes, SIZE_MAX), -EINVAL, "wraps");
	refused(accel_memory_copy_d2h(NULL, bytes, ptr, 1), -EINVAL, "dev");
	refused(accel_memory_copy_d2h(dev, NULL, ptr, 1), -EINVAL, "dst is NULL");
	refused(accel_memory_copy_d2h(dev, bytes, NULL, 1), -EINVAL, "src is NULL");
	refused(accel_memory_copy_d2h(dev, bytes, ptr, 0), -EINVAL, "size is 0");
	refused(accel_memory_copy_d2h(dev, bytes, ptr, SIZE_MAX), -EINVAL, "wraps");
	refused(accel_memory_copy_d2d(NULL, ptr, ptr + 50, 1), -EINVAL, "dev");
	refused(accel_memory_copy_d2d(dev, NULL, ptr, 1), -EINVAL, "dst is NULL");
	refused(accel_memory_copy_d2d(dev, ptr, NULL, 1), -EINVAL, "src is NULL");
	refused(accel_memory_copy_d2d(dev, ptr, ptr + 50, 0), -EINVAL, "size is 0");
	refused(accel_memory_copy_d2d(dev, ptr, ptr + 50, SIZE_MAX - 99), -EINVAL, "wraps");
	refused(accel_memory_copy_p2p(NULL, dev, ptr, ptr + 50, 1), -EINVAL, "dev");
	refused(accel_memory_copy_p2p(dev, NULL, ptr, ptr + 50, 1), -EINVAL, "dev");
	refused(accel_memory_copy(NULL, bytes, 1), -EINVAL, "dst is NULL");
	refused(accel_memory_copy(ptr, NULL, 1), -EINVAL, "src is NULL");
	refused(accel_memory_copy(ptr, bytes, 0), -EINVAL, "size is 0");
	refused(accel_memory_copy(ptr, bytes, SIZE_MAX), -EINVAL, "wraps");
	ok(mock_all_calls() == before);
	expect(accel_device_close(dev), 0);
}

static void test_wrong_kind_and_wrong_card(void)
{
	struct accel_device *dev = open_card(), *other;
	char *ptr = device_memory(dev, 100), *freed = device_memory(dev, 100), *foreign, bytes[100];

	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	foreign = device_memory(other, 100);
	expect(accel_device_memory_deallocate(dev, freed, 100), 0);
	refused(accel_memory_copy_h2d(dev, bytes, ptr, 1), -EFAULT, hex(bytes));
	refused(accel_memory_copy_h2d(dev, ptr, ptr + 1, 1), -EFAULT, "host memory is needed");
	refused(accel_memory_copy_h2d(dev, ptr, foreign, 1), -EFAULT, "/dev/paccel1");
	refused(accel_memory_copy_h2d(dev, foreign, bytes, 1), -EFAULT,
		"another handle (/dev/paccel1)");
	refused(accel_memory_copy_h2d(dev, freed, bytes, 1), -EFAULT, hex(freed));
	refused(accel_memory_copy_d2h(dev, ptr, ptr + 1, 1), -EFAULT, "host memory is needed");
	refused(accel_memory_copy_d2h(dev, bytes, bytes + 1, 1), -EFAULT,
		"neither device nor unified");
	refused(accel_memory_copy_d2h(dev, bytes, foreign, 1), -EFAULT, "another handle");
	refused(accel_memory_copy_d2h(dev, bytes, freed, 1), -EFAULT, "no live allocation");
	refused(accel_memory_copy_d2d(dev, ptr, bytes, 1), -EFAULT, "neither device nor unified");
	refused(accel_memory_copy_d2d(dev, bytes, ptr, 1), -EFAULT, "neither device nor unified");
	refused(accel_memory_copy_d2d(dev, foreign, ptr, 1), -EFAULT, "another handle");
	refused(accel_memory_copy_d2d(dev, ptr, freed, 1), -EFAULT, "no live allocation");
	refused(accel_memory_copy_p2p(other, dev, ptr, ptr + 1, 1), -EFAULT, "another handle");
	refused(accel_memory_copy_p2p(other, dev, foreign, foreign, 1), -EFAULT, "another handle");
	refused(accel_memory_copy(ptr, freed, 1), -EFAULT, "no live allocation");
	/* Beside the memory of the card, but still in its window. */
	refused(accel_memory_copy(bytes, ptr - 1, 1), -EFAULT, "no live allocation");
	refused(accel_memory_copy(bytes, ptr + 4032, 1), -EFAULT, "no live allocation");
	ok(!mock_calls(PACCEL_NR_COPY));
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(other), 0);
}

static void test_host_memory_that_is_not_there(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100), *unified = unified_memory(dev, 100),
	     *page = read_only_page(), bytes[100];

	refused(accel_memory_copy_h2d(dev, ptr, page + 4090, 7), -EFAULT, "cannot be read");
	refused(accel_memory_copy_d2h(dev, page, ptr, 1), -EFAULT, "cannot be written");
	refused(accel_memory_copy_h2d(dev, unified, page + 4090, 7), -EFAULT, hex(page + 4090));
	refused(accel_memory_copy_d2h(dev, page, unified, 1), -EFAULT, "read-only");
	refused(accel_memory_copy(bytes, page + 4096, 1), -EFAULT, "cannot be read");
	refused(accel_memory_copy(page, bytes, 1), -EFAULT, "cannot be written");
	expect(accel_memory_copy_h2d(dev, ptr, page + 4000, 96), 0);
	expect(accel_memory_copy_h2d(dev, unified, page + 4000, 96), 0);
	expect(accel_memory_copy(bytes, page + 4000, 96), 0);
	expect(accel_device_close(dev), 0);
	munmap(page, 4096);
}

static void test_read_only_registration(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100);
	static char mine[100];

	expect(accel_host_register(dev, mine, 100, ACCEL_REGISTER_READ_ONLY), 0);
	expect(accel_memory_copy_h2d(dev, ptr, mine, 100), 0);
	refused(accel_memory_copy_d2h(dev, mine, ptr, 100), -EFAULT, "cannot be written");
	expect(accel_host_unregister(dev, mine), 0);
	expect(accel_memory_copy_d2h(dev, mine, ptr, 100), 0);
	expect(accel_device_close(dev), 0);
}

/* A registration is the program's memory: an operand may run past it. */
static void test_beside_a_registration(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100);
	static char mine[100];

	expect(accel_host_register(dev, mine + 10, 50, 0), 0);
	expect(accel_memory_copy_h2d(dev, ptr, mine, 100), 0);
	expect(accel_memory_copy_d2h(dev, mine, ptr, 100), 0);
	expect(accel_device_close(dev), 0);
}

/* Neither may it reach into an allocation by way of a registration. */
static void test_registration_behind_an_allocation(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 4032), *host, *map;

	/* The allocation replaces the first of two pages. */
	host = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ok(host != MAP_FAILED);
	mock_map_at(host);
	ok(host_memory(dev, 100) == host);
	map = host + 4096;
	expect(accel_host_register(dev, map, 100, 0), 0);
	expect(accel_host_register(dev, map + 100, 100, 0), 0);
	refused(accel_memory_copy(ptr, host + 4000, 296), -EFAULT, "host allocation");
	expect(accel_memory_copy(ptr, map, 200), 0);
	expect(accel_memory_copy(ptr, map + 50, 400), 0);
	expect(accel_device_close(dev), 0);
	munmap(map, 4096);
}

static void test_unified_memory_counts_as_both(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100), *a = unified_memory(dev, 100),
	     *b = unified_memory(dev, 100), in[100];

	pattern(in, 100, 3);
	expect(accel_memory_copy_h2d(dev, a, in, 100), 0);
	ok(!memcmp(a, in, 100) && !mock_calls(PACCEL_NR_COPY));
	expect(accel_memory_copy_h2d(dev, ptr, a, 100), 0);
	ok(was(PACCEL_COPY_H2D, MOCK_BASE, (uintptr_t)a, 100));
	expect(accel_memory_copy_d2h(dev, b, ptr, 100), 0);
	ok(was(PACCEL_COPY_D2H, (uintptr_t)b, MOCK_BASE, 100) && !memcmp(b, in, 100));
	memset(in, 0, 100);
	expect(accel_memory_copy_d2h(dev, in, b, 100), 0);
	ok(!memcmp(in, a, 100) && mock_calls(PACCEL_NR_COPY) == 2);
	memset(b, 0, 100);
	expect(accel_memory_copy_d2d(dev, b, ptr, 50), 0);
	ok(was(PACCEL_COPY_D2H, (uintptr_t)b, MOCK_BASE, 50));
	expect(accel_memory_copy_d2d(dev, ptr + 50, b, 50), 0);
	ok(was(PACCEL_COPY_H2D, MOCK_BASE + 50, (uintptr_t)b, 50));
	ok(!memcmp(mock_memory(0, MOCK_BASE + 50), in, 50));
	expect(accel_memory_copy_d2d(dev, b + 50, a, 50), 0);
	ok(!memcmp(b + 50, in, 50) && mock_calls(PACCEL_NR_COPY) == 4);
	expect(accel_device_close(dev), 0);
}

static void test_pinned_memory_is_host_only(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100), *host = host_memory(dev, 100), in[100];

	pattern(host, 100, 4);
	expect(accel_memory_copy_h2d(dev, ptr, host, 100), 0);
	expect(accel_memory_copy_d2h(dev, in, ptr, 100), 0);
	ok(!memcmp(in, host, 100));
	refused(accel_memory_copy_h2d(dev, host, in, 100), -EFAULT, "neither device nor unified");
	refused(accel_memory_copy_d2h(dev, in, host, 100), -EFAULT, "neither device nor unified");
	refused(accel_memory_copy_d2d(dev, ptr, host, 100), -EFAULT, "neither device nor unified");
	expect(accel_device_close(dev), 0);
}

static void test_direction_is_found(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100), *unified = unified_memory(dev, 100), in[100],
	     back[100];

	pattern(in, 100, 5);
	expect(accel_memory_copy(ptr, in, 100), 0);
	ok(was(PACCEL_COPY_H2D, MOCK_BASE, (uintptr_t)in, 100));
	expect(accel_memory_copy(ptr + 60, ptr + 10, 40), 0);
	ok(was(PACCEL_COPY_D2D, MOCK_BASE + 60, MOCK_BASE + 10, 40));
	expect(accel_memory_copy(back, ptr, 100), 0);
	ok(was(PACCEL_COPY_D2H, (uintptr_t)back, MOCK_BASE, 100));
	ok(!memcmp(back, in, 60) && !memcmp(back + 60, in + 10, 40));
	expect(accel_memory_copy(unified, in, 100), 0);
	expect(accel_memory_copy(back, unified, 100), 0);
	ok(!memcmp(back, in, 100) && mock_calls(PACCEL_NR_COPY) == 3);
	expect(accel_device_close(dev), 0);
}

static void test_host_to_host_is_memmove(void)
{
	char bytes[] = "abcdefgh";

	expect(accel_memory_copy(bytes + 1, bytes, 6), 0);
	ok(!strcmp(bytes, "aabcdefh"));
	expect(accel_memory_copy(bytes, bytes + 2, 6), 0);
	ok(!strcmp(bytes, "bcdefhfh"));
	expect(accel_memory_copy(bytes, bytes, 8), 0);
}

static void test_p2p(void)
{
	struct accel_device *dev = open_card(), *other;
	char *ptr = device_memory(dev, 1000), *far, in[1000];

	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	far = device_memory(other, 1000);
	pattern(in, 1000, 6);
	expect(accel_memory_copy(ptr, in, 1000), 0);
	expect(accel_memory_copy_p2p(other, dev, far + 1, ptr + 3, 900), 0);
	ok(!memcmp(mock_memory(1, MOCK_BASE + 1), in + 3, 900));
	expect(accel_memory_copy(ptr, far + 500, 10), 0);
	ok(!memcmp(mock_memory(0, MOCK_BASE), in + 502, 10));
	expect(accel_memory_copy_p2p(dev, dev, ptr, ptr + 500, 500), 0);
	ok(was(PACCEL_COPY_D2D, MOCK_BASE, MOCK_BASE + 500, 500));
	refused(accel_memory_copy_p2p(dev, dev, ptr, ptr + 499, 500), -EINVAL, "overlap");
	refused(accel_memory_copy_p2p(other, dev, far, ptr, 1001), -EFAULT, "runs past the end");
	refused(accel_memory_copy_p2p(other, dev, far + 1, ptr, 1000), -EFAULT, hex(far + 1));
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(other), 0);
}

static void test_p2p_unified(void)
{
	struct accel_device *dev = open_card(), *other;
	char *ptr = device_memory(dev, 100), *unified = unified_memory(dev, 100), *far,
	     *far_unified, in[100];

	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	far = device_memory(other, 100);
	far_unified = unified_memory(other, 100);
	pattern(in, 100, 7);
	memcpy(unified, in, 100);
	expect(accel_memory_copy_p2p(other, dev, far, unified, 100), 0);
	ok(was(PACCEL_COPY_H2D, MOCK_BASE, (uintptr_t)unified, 100));
	expect(accel_memory_copy_p2p(dev, other, unified, far, 100), 0);
	ok(was(PACCEL_COPY_D2H, (uintptr_t)unified, MOCK_BASE, 100));
	expect(accel_memory_copy_p2p(other, dev, far_unified, unified, 100), 0);
	ok(!memcmp(far_unified, in, 100) && mock_calls(PACCEL_NR_COPY) == 2);
	/* To the other card it is host memory like any. */
	expect(accel_memory_copy_h2d(dev, ptr, far_unified, 100), 0);
	refused(accel_memory_copy_p2p(dev, other, far_unified, far, 100), -EFAULT,
		"neither device nor unified");
	mock_remove(0);
	refused(accel_memory_copy_p2p(other, dev, far, unified, 100), -ENODEV, "/dev/paccel0");
	refused(accel_memory_copy_p2p(dev, other, unified, far, 100), -ENODEV, "/dev/paccel0");
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(other), 0);
}

#define MANY (3u << 20)

/*
 * Through a buffer of 1 MiB, in both shapes: long rows are cut, short ones gathered. For two
 * buffers there is no locked memory.
 */
static void test_p2p_in_pieces(void)
{
	struct rlimit limit, none;
	struct accel_device *dev, *other;
	char *ptr, *far, *in = malloc(MANY), *back = malloc(MANY);
	unsigned int before;

	getrlimit(RLIMIT_MEMLOCK, &limit);
	none = limit;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_MEMLOCK, &none);
	mock_add_sized(0, MANY, MANY);
	mock_add_sized(1, MANY, MANY);
	expect(accel_device_open(0, &dev), 0);
	expect(accel_device_open(1, &other), 0);
	ptr = device_memory(dev, MANY);
	far = device_memory(other, MANY);
	for (size_t i = 0; i < MANY; i++)
		in[i] = (char)(i ^ i >> 8 ^ i >> 16);
	expect(accel_memory_copy(ptr, in, MANY), 0);
	before = mock_calls(PACCEL_NR_COPY);
	expect(accel_memory_copy_p2p(other, dev, far + 5, ptr + 1, MANY - 5), 0);
	ok(mock_calls(PACCEL_NR_COPY) - before == 6);
	ok(!memcmp(mock_memory(1, MOCK_BASE + 5), in + 1, MANY - 5));
	expect(accel_device_memory_set(other, far, 0, MANY), 0);
	before = mock_calls(PACCEL_NR_COPY);
	expect(accel_memory_copy_2d(far, 1000, ptr + 1, 900, 800, 3000), 0);
	ok(mock_calls(PACCEL_NR_COPY) - before == 6);
	expect(accel_memory_copy(back, far, MANY), 0);
	for (size_t i = 0; i < MANY && i < 3000 * 1000; i++)
		if (back[i] != (i % 1000 < 800 ? in[1 + i / 1000 * 900 + i % 1000] : 0)) {
			ok(!"all rows arrived, and nothing between them was touched");
			break;
		}
	mock_fail(PACCEL_NR_COPY, 4, EIO);
	expect(accel_memory_copy_p2p(other, dev, far, ptr, MANY), -EIO);
	setrlimit(RLIMIT_MEMLOCK, &limit);
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(other), 0);
	free(in);
	free(back);
}

/* Without a stream; with one: test_stream.c. */
static void test_async(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100), in[100], back[100];

	pattern(in, 100, 8);
	expect(accel_async_memory_copy_h2d(dev, NULL, ptr, in, 100), 0);
	expect(accel_async_memory_copy_d2d(dev, NULL, ptr, ptr + 50, 30), 0);
	expect(accel_async_memory_copy_p2p(dev, dev, NULL, ptr + 30, ptr + 80, 20), 0);
	expect(accel_async_memory_copy_d2h(dev, NULL, back, ptr, 100), 0);
	ok(!memcmp(back, in + 50, 50) && !memcmp(back + 50, in + 50, 50));
	refused(accel_async_memory_copy_h2d(dev, NULL, ptr, in, 101), -EFAULT, "runs past");
	refused(accel_async_memory_copy_d2h(dev, NULL, back, ptr + 1, 100), -EFAULT, "runs past");
	expect(accel_device_close(dev), 0);
}

static void test_2d(void)
{
	struct accel_device *dev = open_card();
	const struct paccel_copy *cmd = last_copy();
	char *ptr = device_memory(dev, 300), in[100], back[100];

	pattern(in, 100, 9);
	memset(back, 'x', 100);
	expect(accel_memory_copy_2d(ptr + 1, 30, in, 10, 7, 10), 0);
	ok(cmd->dir == PACCEL_COPY_H2D && cmd->width == 7 && cmd->rows == 10);
	ok(cmd->dst == MOCK_BASE + 1 && cmd->dst_pitch == 30 && cmd->src == (uintptr_t)in &&
	   cmd->src_pitch == 10);
	expect(accel_memory_copy_2d(ptr + 10, 30, ptr + 1, 30, 7, 10), 0);
	ok(cmd->dir == PACCEL_COPY_D2D);
	expect(accel_memory_copy_2d(back, 10, ptr + 10, 30, 7, 10), 0);
	ok(cmd->dir == PACCEL_COPY_D2H);
	for (int i = 0; i < 100; i++)
		ok(back[i] == (i % 10 < 7 ? in[i] : 'x'));
	expect(accel_memory_copy_2d(back, 0, ptr + 1, 0, 7, 1), 0);
	expect(accel_memory_copy_2d(back, 7, ptr + 1, 9, 7, 1), 0);
	expect(accel_device_close(dev), 0);
}

/* Without a stream; with one: test_stream.c. */
static void test_verified(void)
{
	const struct paccel_copy *cmd = last_copy();
	struct accel_device *dev, *plain;
	char *ptr, *far, in[100], back[100];

	mock_add_mappable(0, 8192);
	mock_add(1);
	expect(accel_device_open(0, &dev), 0);
	expect(accel_device_open(1, &plain), 0);
	ptr = device_memory(dev, 4096);
	far = device_memory(plain, 100);
	pattern(in, 100, 3);
	expect(accel_async_memory_copy_2d(NULL, ptr, 0, in, 0, 100, 1, ACCEL_VERIFY), 0);
	ok(cmd->dir == PACCEL_COPY_H2D && cmd->flags == PACCEL_COPY_VERIFY);
	expect(accel_async_memory_copy_2d(NULL, ptr + 100, 10, ptr, 10, 7, 10, ACCEL_VERIFY), 0);
	ok(cmd->dir == PACCEL_COPY_D2D && cmd->flags == PACCEL_COPY_VERIFY && cmd->rows == 10);
	expect(accel_async_memory_copy_2d(NULL, back, 0, ptr, 0, 100, 1, ACCEL_VERIFY), 0);
	ok(cmd->dir == PACCEL_COPY_D2H && cmd->flags == PACCEL_COPY_VERIFY);
	ok(!memcmp(back, in, 100));
	expect(accel_async_memory_copy_2d(NULL, back, 0, ptr, 0, 100, 1, 0), 0);
	ok(!cmd->flags);
	mock_fail(PACCEL_NR_COPY, 1, EBADMSG);
	refused(accel_async_memory_copy_2d(NULL, back, 0, ptr, 0, 100, 1, ACCEL_VERIFY), -EBADMSG,
		"changed");
	refused(accel_async_memory_copy_2d(NULL, back, 0, ptr, 0, 100, 1, 6), -EINVAL,
		"flags is 0x6");
	refused(accel_async_memory_copy_2d(NULL, far, 0, in, 0, 100, 1, ACCEL_VERIFY), -EOPNOTSUPP,
		"/dev/paccel1");
	/* Half of it cannot be. */
	refused(accel_async_memory_copy_2d(NULL, far, 0, ptr, 0, 100, 1, ACCEL_VERIFY), -EOPNOTSUPP,
		"/dev/paccel1");
	refused(accel_async_memory_copy_2d(NULL, back, 0, in, 0, 100, 1, ACCEL_VERIFY), -EOPNOTSUPP,
		"processor");
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(plain), 0);
}

static void test_2d_host_to_host(void)
{
	char in[] = "abcdefghi", out[] = ".........";

	expect(accel_memory_copy_2d(out, 4, in, 3, 2, 2), 0);
	ok(!strcmp(out, "ab..de..."));
	refused(accel_memory_copy_2d(in, 3, in + 1, 3, 2, 2), -EINVAL, "overlap");
	expect(accel_memory_copy_2d(in, 4, in + 2, 4, 2, 2), 0);
	ok(!strcmp(in, "cdcdghghi"));
}

static void test_2d_bad_arguments(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100), *host = host_memory(dev, 100), bytes[100];

	refused(accel_memory_copy_2d(NULL, 10, bytes, 10, 7, 10), -EINVAL, "dst is NULL");
	refused(accel_memory_copy_2d(ptr, 10, NULL, 10, 7, 10), -EINVAL, "src is NULL");
	refused(accel_memory_copy_2d(ptr, 10, bytes, 10, 0, 10), -EINVAL, "width");
	refused(accel_memory_copy_2d(ptr, 10, bytes, 10, 7, 0), -EINVAL, "rows");
	refused(accel_memory_copy_2d(ptr, 6, bytes, 10, 7, 10), -EINVAL, "dpitch");
	refused(accel_memory_copy_2d(ptr, 10, bytes, 6, 7, 10), -EINVAL, "spitch");
	refused(accel_memory_copy_2d(ptr, 0, bytes, 10, 7, 2), -EINVAL, "dpitch");
	refused(accel_memory_copy_2d(ptr, 6, bytes, 10, 7, 1), -EINVAL, "dpitch");
	refused(accel_memory_copy_2d(ptr, SIZE_MAX, bytes, 10, 7, 3), -EINVAL,
		"larger than the address space");
	refused(accel_memory_copy_2d(ptr, 10, bytes, SIZE_MAX / 2, 7, 4), -EINVAL,
		"larger than the address space");
	refused(accel_memory_copy_2d(ptr, 10, bytes, 10, 7, SIZE_MAX), -EINVAL,
		"larger than the address space");
	refused(accel_memory_copy_2d(ptr, SIZE_MAX, bytes, SIZE_MAX, SIZE_MAX, 2), -EINVAL,
		"times 2 rows");
	refused(accel_memory_copy_2d(ptr, SIZE_MAX - 8, bytes, 10, 7, 2), -EINVAL, "wraps");
	refused(accel_memory_copy_2d(ptr + 4, 10, bytes, 10, 7, 10), -EFAULT, "runs past the end");
	refused(accel_memory_copy_2d(ptr, 11, bytes, 10, 7, 10), -EFAULT, "106 bytes");
	refused(accel_memory_copy_2d(ptr, 10, host, 11, 7, 10), -EFAULT, "host allocation");
	refused(accel_memory_copy_2d(ptr, 20, ptr + 3, 20, 7, 3), -EINVAL, "overlap");
	ok(!mock_calls(PACCEL_NR_COPY));
	expect(accel_memory_copy_2d(ptr + 3, 10, bytes, 10, 7, 10), 0);
	expect(accel_device_close(dev), 0);
}

/* Against the mock, which compares every row with every row. */
static void test_2d_overlap_at_random(void)
{
	struct accel_device *dev = open_card();
	const struct paccel_copy *cmd = last_copy();
	char *ptr = device_memory(dev, 4032);
	unsigned int before, seed = 1, overlaps = 0;

	for (int i = 0; i < 20000; i++) {
		size_t width = 1 + (size_t)rand_r(&seed) % 9, rows = 1 + (size_t)rand_r(&seed) % 6;
		size_t dpitch = width + (size_t)rand_r(&seed) % 9, spitch = dpitch;
		size_t dst = (size_t)rand_r(&seed) % 80, src = (size_t)rand_r(&seed) % 80;
		int rc, collide = 0;

		if (rand_r(&seed) % 4 == 0)
			spitch = width + (size_t)rand_r(&seed) % 9;
		before = mock_calls(PACCEL_NR_COPY);
		rc = accel_memory_copy_2d(ptr + dst, dpitch, ptr + src, spitch, width, rows);
		if (dpitch != spitch)
			collide = dst < src + spitch * (rows - 1) + width &&
				  src < dst + dpitch * (rows - 1) + width;
		for (size_t a = 0; dpitch == spitch && a < rows * rows; a++) {
			size_t d = dst + a / rows * dpitch, s = src + a % rows * spitch;

			collide |= d < s + width && s < d + width;
		}
		overlaps += (unsigned int)collide;
		ok(rc == (collide ? -EINVAL : 0));
		ok(mock_calls(PACCEL_NR_COPY) - before == !collide);
		ok(collide || (cmd->width == width && cmd->rows == rows));
	}
	ok(overlaps > 2000 && overlaps < 18000);
	expect(accel_device_close(dev), 0);
}

static void test_driver_errors(void)
{
	static const int errors[] = { EIO, ETIMEDOUT, ENOMEM, ENODEV, ESTALE, EPERM };
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100), bytes[100];

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		mock_fail(PACCEL_NR_COPY, 1, errors[i]);
		expect(accel_memory_copy(ptr, bytes, 100), -errors[i]);
	}
	mock_fail(PACCEL_NR_COPY, 1, EFAULT);
	refused(accel_memory_copy(ptr, ptr + 50, 50), -EFAULT, "another thread");
	expect(accel_memory_copy(ptr, bytes, 100), 0);
	expect(accel_device_close(dev), 0);
}

int main(void)
{
	RUN(test_h2d_and_d2h);
	RUN(test_d2d);
	RUN(test_d2d_overlap);
	RUN(test_exact_size_bounds_every_access);
	RUN(test_null_empty_and_wrapping);
	RUN(test_wrong_kind_and_wrong_card);
	RUN(test_host_memory_that_is_not_there);
	RUN(test_read_only_registration);
	RUN(test_beside_a_registration);
	RUN(test_registration_behind_an_allocation);
	RUN(test_unified_memory_counts_as_both);
	RUN(test_pinned_memory_is_host_only);
	RUN(test_direction_is_found);
	RUN(test_host_to_host_is_memmove);
	RUN(test_p2p);
	RUN(test_p2p_unified);
	RUN(test_p2p_in_pieces);
	RUN(test_async);
	RUN(test_2d);
	RUN(test_verified);
	RUN(test_2d_host_to_host);
	RUN(test_2d_bad_arguments);
	RUN(test_2d_overlap_at_random);
	RUN(test_driver_errors);
	return tap_end();
}
