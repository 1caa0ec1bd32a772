/* SPDX-License-Identifier: MIT */
/* Host, unified and registered memory. */
#define _GNU_SOURCE
#include "fixture.h"

#include <sys/mman.h>
#include <sys/resource.h>

static const struct kind {
	int (*allocate)(struct accel_device *dev, void **ptr, size_t size);
	int (*deallocate)(struct accel_device *dev, void *ptr, size_t size);
	int (*other_deallocate)(struct accel_device *dev, void *ptr, size_t size);
	enum accel_memory_kind kind;
} kinds[] = {
	{ accel_host_memory_allocate, accel_host_memory_deallocate, accel_unified_memory_deallocate,
	  ACCEL_MEMORY_HOST },
	{ accel_unified_memory_allocate, accel_unified_memory_deallocate,
	  accel_host_memory_deallocate, ACCEL_MEMORY_UNIFIED },
};

#define FOR_EACH_KIND(kind) for (const struct kind *kind = kinds; kind < kinds + 2; kind++)

static void test_allocate(void)
{
	struct accel_device *dev = open_card();
	const struct paccel_host_alloc *alloc = MOCK_LAST(paccel_host_alloc, PACCEL_NR_HOST_ALLOC);
	const struct paccel_host_free *freed = MOCK_LAST(paccel_host_free, PACCEL_NR_HOST_FREE);
	unsigned char resident;
	char *ptr;

	FOR_EACH_KIND (kind) {
		expect(kind->allocate(dev, (void **)&ptr, 5000), 0);
		ok(alloc->size == sizeof(*alloc) && !alloc->flags && alloc->length == 5000);
		ok(!((uintptr_t)ptr & 4095) && !ptr[0] && !ptr[4999]);
		memset(ptr, 1, 5000);
		expect(kind->deallocate(dev, ptr, 5000), 0);
		ok(freed->size == sizeof(*freed) && !freed->flags &&
		   freed->addr == (uintptr_t)ptr && !freed->offset);
		ok(mincore(ptr, 1, &resident) && mincore(ptr + 4096, 1, &resident));
	}
	expect(accel_device_close(dev), 0);
}

static void test_allocate_bad_arguments(void)
{
	struct accel_device *dev = open_card();
	unsigned int before = mock_all_calls();
	void *ptr;

	FOR_EACH_KIND (kind) {
		ptr = (void *)1;
		refused(kind->allocate(dev, &ptr, 0), -EINVAL, "size");
		ok(!ptr);
		refused(kind->allocate(dev, NULL, 64), -EINVAL, "ptr");
		refused(kind->allocate(NULL, &ptr, 64), -EINVAL, "dev");
		ptr = (void *)1;
		refused(kind->allocate(dev, &ptr, SIZE_MAX), -ENOMEM, "at most 1073741824 bytes");
		ok(!ptr);
		refused(kind->allocate(dev, &ptr, MOCK_HOST_MAX + 1), -ENOMEM, "at most");
	}
	ok(mock_all_calls() == before);
	expect(accel_device_close(dev), 0);
}

/* Lowers RLIMIT_MEMLOCK; gives back what it was. */
static struct rlimit lower_memlock(rlim_t bytes)
{
	struct rlimit before, low;

	getrlimit(RLIMIT_MEMLOCK, &before);
	low = before;
	low.rlim_cur = bytes;
	setrlimit(RLIMIT_MEMLOCK, &low);
	return before;
}

static void test_locked_memory_limit(void)
{
	struct accel_device *dev = open_card();
	struct rlimit before = lower_memlock(65536);
	static char mine[65537];
	void *ptr;

	FOR_EACH_KIND (kind) {
		ptr = (void *)1;
		refused(kind->allocate(dev, &ptr, 65537), -ENOMEM,
			"RLIMIT_MEMLOCK, ulimit -l) is 65536 bytes");
		ok(!ptr);
	}
	refused(accel_host_register(dev, mine, 65537, 0), -ENOMEM, "is 65536 bytes");
	expect(accel_host_memory_allocate(dev, &ptr, 65536), 0);
	refused(accel_host_register(dev, mine, 1, 0), -ENOMEM, "RLIMIT_MEMLOCK");
	expect(accel_host_memory_deallocate(dev, ptr, 65536), 0);
	expect(accel_host_register(dev, mine, 1, 0), 0);
	setrlimit(RLIMIT_MEMLOCK, &before);
	expect(accel_device_close(dev), 0);
}

static void test_out_of_memory_without_a_limit(void)
{
	struct accel_device *dev = open_card();
	struct rlimit before = lower_memlock(RLIM_INFINITY), now;
	void *ptr;

	getrlimit(RLIMIT_MEMLOCK, &now);
	mock_fail(PACCEL_NR_HOST_ALLOC, 1, ENOMEM);
	/* The hard limit may forbid it. */
	refused(accel_host_memory_allocate(dev, &ptr, 64), -ENOMEM,
		now.rlim_cur == RLIM_INFINITY ? "out of memory" : "cannot lock");
	setrlimit(RLIMIT_MEMLOCK, &before);
	expect(accel_device_close(dev), 0);
}

static void test_map_fails(void)
{
	static const struct {
		int err, answer;
		const char *words;
	} cases[] = {
		{ ENOMEM, -ENOMEM, "cannot lock" },
		{ EAGAIN, -ENOMEM, "cannot lock" },
		{ EEXIST, -EEXIST, "accel_host_unregister() that range" },
		{ ENODEV, -ENODEV, "removed" },
	};
	struct accel_device *dev = open_card();
	struct rlimit before = lower_memlock(65536);
	const struct paccel_host_free *freed = MOCK_LAST(paccel_host_free, PACCEL_NR_HOST_FREE);
	void *ptr;

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ptr = (void *)1;
		mock_fail(MOCK_MMAP, 1, cases[i].err);
		refused(accel_host_memory_allocate(dev, &ptr, 65536), cases[i].answer,
			cases[i].words);
		ok(!ptr && mock_calls(PACCEL_NR_HOST_FREE) == i + 1);
		ok(!freed->addr && freed->offset);
	}
	expect(accel_host_memory_allocate(dev, &ptr, 65536), 0);
	setrlimit(RLIMIT_MEMLOCK, &before);
	expect(accel_device_close(dev), 0);
}

static void test_too_many_ranges(void)
{
	struct accel_device *dev = open_card();
	static char mine[64];
	void *ptr;

	for (int i = 0; i < MOCK_HOST_RANGES; i++)
		host_memory(dev, 64);
	refused(accel_host_memory_allocate(dev, &ptr, 64), -ENOSPC, "no more host ranges");
	refused(accel_host_register(dev, mine, 64, 0), -ENOSPC, "no more host ranges");
	expect(accel_device_close(dev), 0);
}

static void test_bad_frees_leave_the_allocation(void)
{
	struct accel_device *dev = open_card(), *other;
	static char mine[64];
	unsigned int before;
	char *ptr;

	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	FOR_EACH_KIND (kind) {
		expect(kind->allocate(dev, (void **)&ptr, 100), 0);
		before = mock_all_calls();
		refused(kind->deallocate(dev, ptr, 99), -EINVAL, "has 100 bytes");
		refused(kind->deallocate(dev, ptr, 4096), -EINVAL, "has 100 bytes");
		refused(kind->deallocate(dev, ptr, 0), -EINVAL, "size");
		refused(kind->deallocate(dev, NULL, 100), -EINVAL, "ptr");
		refused(kind->deallocate(NULL, ptr, 100), -EINVAL, "dev");
		refused(kind->deallocate(dev, ptr + 1, 99), -ENOENT, hex(ptr));
		refused(kind->deallocate(dev, ptr + 100, 100), -ENOENT, "no live allocation");
		refused(kind->deallocate(other, ptr, 100), -ENOENT, "no live allocation");
		refused(kind->other_deallocate(dev, ptr, 100), -ENOENT, hex(ptr));
		refused(accel_device_memory_deallocate(dev, ptr, 100), -ENOENT,
			"not device memory");
		refused(accel_host_unregister(dev, ptr), -ENOENT, "not registered memory");
		refused(kind->deallocate(dev, mine, 64), -ENOENT, hex(mine));
		ok(mock_all_calls() == before);
		ptr[99] = 1;
		mock_fail(PACCEL_NR_HOST_FREE, 1, EIO);
		expect(kind->deallocate(dev, ptr, 100), -EIO);
		ptr[99] = 2;
		expect(kind->deallocate(dev, ptr, 100), 0);
		refused(kind->deallocate(dev, ptr, 100), -ENOENT, "freed before");
	}
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(other), 0);
}

static void test_register(void)
{
	struct accel_device *dev = open_card();
	const struct paccel_host_register *cmd = MOCK_LAST(paccel_host_register,
							   PACCEL_NR_HOST_REGISTER);
	static char mine[8192];

	expect(accel_host_register(dev, mine + 3, 5000, 0), 0);
	ok(cmd->size == sizeof(*cmd) && !cmd->flags && cmd->addr == (uintptr_t)mine + 3 &&
	   cmd->length == 5000);
	refused(accel_host_register(dev, mine, 4, 0), -EEXIST, hex(mine));
	expect(accel_host_register(dev, mine, 3, ACCEL_REGISTER_READ_ONLY), 0);
	ok(cmd->flags == PACCEL_HOST_READ_ONLY);
	expect(accel_host_unregister(dev, mine + 3), 0);
	refused(accel_host_unregister(dev, mine + 3), -ENOENT, "no live allocation");
	expect(accel_host_unregister(dev, mine), 0);
	expect(accel_host_register(dev, mine, sizeof(mine), 0), 0);
	expect(accel_device_close(dev), 0);
}

static void test_register_bad_arguments(void)
{
	struct accel_device *dev = open_card();
	char *device = device_memory(dev, 64), *host = host_memory(dev, 64);
	static char mine[64];
	unsigned int before = mock_all_calls();

	refused(accel_host_register(NULL, mine, 64, 0), -EINVAL, "dev");
	refused(accel_host_register(dev, NULL, 64, 0), -EINVAL, "ptr");
	refused(accel_host_register(dev, mine, 0, 0), -EINVAL, "size");
	refused(accel_host_register(dev, mine, SIZE_MAX, 0), -EINVAL, "wraps");
	refused(accel_host_register(dev, mine, MOCK_HOST_MAX + 1, 0), -EINVAL, "at most");
	refused(accel_host_register(dev, mine, 64, 2), -EINVAL, "flags is 0x2");
	refused(accel_host_register(dev, mine, 64, 0x80000001), -EINVAL, "flags");
	refused(accel_host_register(dev, device, 64, 0), -EFAULT, "device pointer");
	refused(accel_host_unregister(NULL, mine), -EINVAL, "dev");
	refused(accel_host_unregister(dev, NULL), -EINVAL, "ptr");
	refused(accel_host_unregister(dev, mine), -ENOENT, hex(mine));
	ok(mock_all_calls() == before);
	refused(accel_host_register(dev, host, 64, 0), -EEXIST, "overlaps");
	expect(accel_device_close(dev), 0);
}

static void test_unregister_interior(void)
{
	struct accel_device *dev = open_card();
	static char mine[64];

	expect(accel_host_register(dev, mine, 64, 0), 0);
	refused(accel_host_unregister(dev, mine + 1), -ENOENT, hex(mine));
	refused(accel_host_memory_deallocate(dev, mine, 64), -ENOENT,
		"registered memory, not host memory");
	expect(accel_host_unregister(dev, mine), 0);
	expect(accel_device_close(dev), 0);
}

static void test_register_what_cannot_be_pinned(void)
{
	struct accel_device *dev = open_card();
	char *map = mmap(NULL, 12288, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	refused(accel_host_register(dev, map, 4096, 0), -EFAULT, "not writable (READ_ONLY?)");
	expect(accel_host_register(dev, map, 4096, ACCEL_REGISTER_READ_ONLY), 0);
	munmap(map + 8192, 4096);
	refused(accel_host_register(dev, map + 4096, 8192, ACCEL_REGISTER_READ_ONLY), -EFAULT,
		hex(map + 4096));
	expect(accel_device_close(dev), 0);
	munmap(map, 8192);
}

int main(void)
{
	RUN(test_allocate);
	RUN(test_allocate_bad_arguments);
	RUN(test_locked_memory_limit);
	RUN(test_out_of_memory_without_a_limit);
	RUN(test_map_fails);
	RUN(test_too_many_ranges);
	RUN(test_bad_frees_leave_the_allocation);
	RUN(test_register);
	RUN(test_register_bad_arguments);
	RUN(test_unregister_interior);
	RUN(test_register_what_cannot_be_pinned);
	return tap_end();
}
