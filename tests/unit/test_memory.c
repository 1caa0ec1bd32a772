/* SPDX-License-Identifier: MIT */
/* Device memory: allocate, free, fill, count. */
#include "fixture.h"

static void test_allocate(void)
{
	struct accel_device *dev = open_card();
	const struct paccel_mem_alloc *cmd = MOCK_LAST(paccel_mem_alloc, PACCEL_NR_MEM_ALLOC);
	char *a = device_memory(dev, 100), *b = device_memory(dev, 1), back[101];

	ok(cmd->size == sizeof(*cmd) && !cmd->flags && cmd->length == 1 && !cmd->align);
	ok(b - a == 128);
	memset(back, 1, sizeof(back));
	expect(accel_memory_copy_d2h(dev, back, a, 100), 0);
	for (int i = 0; i < 100; i++)
		ok(!back[i]);
	ok(back[100] == 1);
	expect(accel_device_close(dev), 0);
}

static void test_allocate_bad_arguments(void)
{
	struct accel_device *dev = open_card();
	unsigned int before = mock_all_calls();
	void *ptr = (void *)1;

	refused(accel_device_memory_allocate(dev, NULL, 64), -EINVAL, "ptr");
	refused(accel_device_memory_allocate(NULL, &ptr, 64), -EINVAL, "dev");
	ok(!ptr);
	ptr = (void *)1;
	refused(accel_device_memory_allocate(dev, &ptr, 0), -EINVAL, "size");
	ok(!ptr);
	ok(mock_all_calls() == before);
	expect(accel_device_close(dev), 0);
}

static void test_exhaustion(void)
{
	struct accel_device *dev = open_card();
	char *all[63];
	void *ptr = (void *)1;

	for (int i = 0; i < 63; i++)
		all[i] = device_memory(dev, 64);
	refused(accel_device_memory_allocate(dev, &ptr, 1), -ENOMEM, "0 of 4032 bytes");
	ok(!ptr);
	for (int i = 0; i < 63; i += 2)
		expect(accel_device_memory_deallocate(dev, all[i], 64), 0);
	refused(accel_device_memory_allocate(dev, &ptr, 65), -ENOMEM, "2048 of 4032 bytes");
	expect(accel_device_memory_allocate(dev, &ptr, 64), 0);
	for (int i = 1; i < 63; i += 2)
		expect(accel_device_memory_deallocate(dev, all[i], 64), 0);
	expect(accel_device_memory_deallocate(dev, ptr, 64), 0);
	expect(accel_device_memory_allocate(dev, &ptr, 4032), 0);
	expect(accel_device_close(dev), 0);
}

static void test_more_than_there_is(void)
{
	static const size_t sizes[] = { 4033, 1u << 20, SIZE_MAX / 2, SIZE_MAX - 63, SIZE_MAX };
	struct accel_device *dev = open_card();
	void *ptr;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ptr = (void *)1;
		refused(accel_device_memory_allocate(dev, &ptr, sizes[i]), -ENOMEM, "contiguous");
		ok(!ptr);
	}
	expect(accel_device_memory_allocate(dev, &ptr, 4032), 0);
	expect(accel_device_close(dev), 0);
}

static void test_quota(void)
{
	struct accel_device *dev = open_card();
	void *ptr = (void *)1;

	mock_quota(0, 1024);
	device_memory(dev, 1000);
	refused(accel_device_memory_allocate(dev, &ptr, 1), -EDQUOT, "quota of 1024 bytes");
	ok(!ptr && strstr(accel_last_error(), "this user has 1024"));
	refused(accel_device_memory_allocate(dev, &ptr, SIZE_MAX), -EDQUOT, "quota");
	expect(accel_device_close(dev), 0);
}

static void test_driver_errors(void)
{
	static const int errors[] = { EIO, ETIMEDOUT, ENOMEM, EDQUOT, EOPNOTSUPP, ENOTTY, E2BIG };
	struct accel_device *dev = open_card();
	void *ptr;

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		ptr = (void *)1;
		mock_fail(PACCEL_NR_MEM_ALLOC, 1, errors[i]);
		expect(accel_device_memory_allocate(dev, &ptr, 64), -errors[i]);
		ok(!ptr);
	}
	mock_fail(PACCEL_NR_MEM_ALLOC, 1, ENOTTY);
	refused(accel_device_memory_allocate(dev, &ptr, 64), -ENOTTY, "older than this library");
	/* Even the statistics for the sentence may fail. */
	mock_fail(PACCEL_NR_MEM_STATS, 1, EIO);
	mock_fail(PACCEL_NR_MEM_ALLOC, 1, ENOMEM);
	expect(accel_device_memory_allocate(dev, &ptr, 64), -ENOMEM);
	expect(accel_device_memory_allocate(dev, &ptr, 4032), 0);
	expect(accel_device_close(dev), 0);
}

static void test_deallocate(void)
{
	struct accel_device *dev = open_card();
	const struct paccel_mem_free *cmd = MOCK_LAST(paccel_mem_free, PACCEL_NR_MEM_FREE);
	char *first = device_memory(dev, 100), *ptr = device_memory(dev, 100);

	expect(accel_device_memory_deallocate(dev, ptr, 100), 0);
	ok(cmd->size == sizeof(*cmd) && !cmd->flags && cmd->addr == MOCK_BASE + 128 &&
	   cmd->length == 100);
	expect(accel_device_memory_deallocate(dev, first, 100), 0);
	expect(accel_device_close(dev), 0);
}

static void test_bad_frees_leave_the_allocation(void)
{
	struct accel_device *dev = open_card(), *other;
	char *ptr = device_memory(dev, 100), *host = host_memory(dev, 100), *foreign;
	static char mine[100];
	unsigned int before;

	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	foreign = device_memory(other, 100);
	expect(accel_host_register(dev, mine, 100, 0), 0);
	before = mock_all_calls();
	refused(accel_device_memory_deallocate(dev, ptr, 99), -EINVAL, "has 100 bytes");
	refused(accel_device_memory_deallocate(dev, ptr, 101), -EINVAL, "has 100 bytes");
	refused(accel_device_memory_deallocate(dev, ptr, SIZE_MAX), -EINVAL, "has 100 bytes");
	refused(accel_device_memory_deallocate(dev, ptr, 0), -EINVAL, "size");
	refused(accel_device_memory_deallocate(dev, NULL, 100), -EINVAL, "ptr");
	refused(accel_device_memory_deallocate(NULL, ptr, 100), -EINVAL, "dev");
	refused(accel_device_memory_deallocate(dev, ptr + 1, 99), -ENOENT, hex(ptr + 1));
	refused(accel_device_memory_deallocate(dev, ptr + 64, 36), -ENOENT, hex(ptr));
	refused(accel_device_memory_deallocate(dev, ptr + 100, 100), -ENOENT, hex(ptr + 100));
	refused(accel_device_memory_deallocate(dev, ptr - 1, 100), -ENOENT, "no live allocation");
	refused(accel_device_memory_deallocate(dev, foreign, 100), -ENOENT, hex(foreign));
	refused(accel_device_memory_deallocate(dev, mine, 100), -ENOENT, "registered");
	refused(accel_device_memory_deallocate(dev, host, 100), -ENOENT,
		"host memory, not device memory");
	refused(accel_host_memory_deallocate(dev, ptr, 100), -ENOENT,
		"device memory, not host memory");
	refused(accel_unified_memory_deallocate(dev, ptr, 100), -ENOENT,
		"device memory, not unified memory");
	refused(accel_host_unregister(dev, ptr), -ENOENT, "device memory");
	ok(mock_all_calls() == before);
	expect(accel_memory_copy(ptr, host, 100), 0);
	expect(accel_device_memory_deallocate(dev, ptr, 100), 0);
	refused(accel_device_memory_deallocate(dev, ptr, 100), -ENOENT, "freed before");
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(other), 0);
}

static void test_free_that_the_driver_refuses(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100);

	mock_fail(PACCEL_NR_MEM_FREE, 1, EIO);
	expect(accel_device_memory_deallocate(dev, ptr, 100), -EIO);
	expect(accel_memory_copy(ptr, "abc", 3), 0);
	expect(accel_device_memory_deallocate(dev, ptr, 100), 0);
	expect(accel_device_close(dev), 0);
}

static void test_set(void)
{
	struct accel_device *dev = open_card();
	const struct paccel_fill *cmd = MOCK_LAST(paccel_fill, PACCEL_NR_FILL);
	char *ptr = device_memory(dev, 100), back[100];

	expect(accel_device_memory_set(dev, ptr, 0x11, 100), 0);
	expect(accel_device_memory_set(dev, ptr + 7, 0xfe, 13), 0);
	ok(cmd->size == sizeof(*cmd) && !cmd->flags && cmd->addr == MOCK_BASE + 7 &&
	   cmd->length == 13);
	ok(cmd->pattern == 0xfe && cmd->pattern_size == 1 && !cmd->reserved);
	expect(accel_memory_copy(back, ptr, 100), 0);
	for (int i = 0; i < 100; i++)
		ok((unsigned char)back[i] == (i >= 7 && i < 20 ? 0xfe : 0x11));
	expect(accel_device_close(dev), 0);
}

static void test_set_unified_memory(void)
{
	struct accel_device *dev = open_card();
	char *ptr = unified_memory(dev, 100);

	expect(accel_device_memory_set(dev, ptr + 1, 3, 99), 0);
	ok(ptr[0] == 0 && ptr[1] == 3 && ptr[99] == 3 && !mock_calls(PACCEL_NR_FILL));
	refused(accel_device_memory_set(dev, ptr + 1, 3, 100), -EFAULT, "not wholly inside");
	expect(accel_device_close(dev), 0);
}

static void test_set_bad_arguments(void)
{
	struct accel_device *dev = open_card(), *other;
	char *ptr = device_memory(dev, 100), *host = host_memory(dev, 100),
	     *freed = device_memory(dev, 64);
	char *foreign, mine[100];

	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	foreign = unified_memory(other, 100);
	expect(accel_device_memory_deallocate(dev, freed, 64), 0);
	refused(accel_device_memory_set(NULL, ptr, 1, 1), -EINVAL, "dev");
	refused(accel_device_memory_set(dev, NULL, 1, 1), -EINVAL, "ptr");
	refused(accel_device_memory_set(dev, ptr, 1, 0), -EINVAL, "size");
	refused(accel_device_memory_set(dev, ptr, 1, SIZE_MAX), -EINVAL, "wraps");
	refused(accel_device_memory_set(dev, ptr, 1, 101), -EFAULT, "runs past the end");
	refused(accel_device_memory_set(dev, ptr + 99, 1, 2), -EFAULT, hex(ptr + 99));
	refused(accel_device_memory_set(dev, ptr + 100, 1, 1), -EFAULT, "no live allocation");
	refused(accel_device_memory_set(dev, freed, 1, 1), -EFAULT, "no live allocation");
	refused(accel_device_memory_set(dev, host, 1, 1), -EFAULT, "neither device nor unified");
	refused(accel_device_memory_set(dev, mine, 1, 1), -EFAULT, "neither device nor unified");
	refused(accel_device_memory_set(dev, foreign, 1, 1), -EFAULT, "neither device nor unified");
	refused(accel_device_memory_set(other, ptr, 1, 1), -EFAULT, "another handle");
	ok(!mock_calls(PACCEL_NR_FILL));
	mock_fail(PACCEL_NR_FILL, 1, EFAULT);
	refused(accel_device_memory_set(dev, ptr, 1, 1), -EFAULT, "another thread");
	mock_fail(PACCEL_NR_FILL, 1, ETIMEDOUT);
	refused(accel_device_memory_set(dev, ptr, 1, 1), -ETIMEDOUT, "in time");
	expect(accel_device_memory_set(dev, ptr, 1, 1), 0);
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(other), 0);
}

/* Every size, at an odd address, with what stands before and behind left alone. */
static void check_fill(struct accel_device *dev, char *ptr, size_t pattern_size)
{
	static const char bytes[] = "\x80\x7f\x01\xff\x10\x20\x30\xf0";
	char back[100], wanted[100];

	memset(wanted, 0, 100);
	for (size_t i = 0; i < 10 * pattern_size; i++)
		wanted[3 + i] = bytes[i % pattern_size];
	expect(accel_device_memory_set(dev, ptr, 0, 100), 0);
	expect(accel_device_memory_fill(dev, ptr + 3, bytes, pattern_size, 10 * pattern_size, 0), 0);
	expect(accel_memory_copy(back, ptr, 100), 0);
	ok(!memcmp(back, wanted, 100));
}

static void test_fill(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100), *unified = unified_memory(dev, 100);
	const float half = 0.5f;
	float back[25];
	unsigned int before;

	for (size_t size = 1; size <= 8; size *= 2) {
		before = mock_calls(PACCEL_NR_FILL);
		check_fill(dev, ptr, size);
		ok(mock_calls(PACCEL_NR_FILL) == before + 2);
		check_fill(dev, unified, size);
		ok(mock_calls(PACCEL_NR_FILL) == before + 2);
	}
	expect(accel_device_memory_fill(dev, ptr, &half, sizeof(half), 100, 0), 0);
	expect(accel_memory_copy(back, ptr, 100), 0);
	for (int i = 0; i < 25; i++)
		ok(back[i] == half);
	expect(accel_device_close(dev), 0);
}

static void test_fill_bad_arguments(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100), *unified = unified_memory(dev, 100);
	const uint64_t word = 1;

	refused(accel_device_memory_fill(NULL, ptr, &word, 4, 4, 0), -EINVAL, "dev");
	refused(accel_device_memory_fill(dev, NULL, &word, 4, 4, 0), -EINVAL, "ptr");
	refused(accel_device_memory_fill(dev, ptr, NULL, 4, 4, 0), -EINVAL, "pattern is NULL");
	for (size_t size = 0; size <= 16; size++)
		if (size != 1 && size != 2 && size != 4 && size != 8)
			refused(accel_device_memory_fill(dev, ptr, &word, size, 80, 0), -EINVAL,
				"pattern_size is");
	refused(accel_device_memory_fill(dev, ptr, &word, 8, 0, 0), -EINVAL, "size is 0");
	refused(accel_device_memory_fill(dev, ptr, &word, 8, 12, 0), -EINVAL,
		"size is 12: it has to be a multiple of pattern_size, 8");
	refused(accel_device_memory_fill(dev, ptr, &word, 4, 104, 0), -EFAULT, "runs past the end");
	refused(accel_device_memory_fill(dev, ptr, &word, 4, 4, 2), -EINVAL, "flags is 0x2");
	ok(!mock_calls(PACCEL_NR_FILL));
	/* A device that computes no checksums, and memory that is none of a device. */
	refused(accel_device_memory_fill(dev, ptr, &word, 4, 4, ACCEL_VERIFY), -EOPNOTSUPP,
		"/dev/paccel0");
	refused(accel_device_memory_fill(dev, unified, &word, 4, 4, ACCEL_VERIFY), -EOPNOTSUPP,
		"processor");
	ok(!unified[0]);
	expect(accel_device_close(dev), 0);
}

static void test_fill_verified(void)
{
	const struct paccel_fill *cmd = MOCK_LAST(paccel_fill, PACCEL_NR_FILL);
	const uint32_t word = 0x12345678;
	struct accel_device *dev;
	char *ptr;

	mock_add_mappable(0, 8192);
	expect(accel_device_open(0, &dev), 0);
	ptr = device_memory(dev, 4096);
	expect(accel_device_memory_fill(dev, ptr, &word, 4, 400, ACCEL_VERIFY), 0);
	ok(cmd->flags == PACCEL_FILL_VERIFY && cmd->pattern == word && cmd->pattern_size == 4);
	mock_fail(PACCEL_NR_FILL, 1, EBADMSG);
	refused(accel_device_memory_fill(dev, ptr, &word, 4, 4, ACCEL_VERIFY), -EBADMSG, "changed");
	expect(accel_device_close(dev), 0);
}

static void test_stats(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100);
	size_t total = 1, left = 1;

	expect(accel_device_memory_stats(dev, &total, &left), 0);
	ok(total == 4032 && left == 4032 - 128);
	expect(accel_device_memory_deallocate(dev, ptr, 100), 0);
	expect(accel_device_memory_stats(dev, &total, &left), 0);
	ok(left == 4032);
	mock_set_aside(0, 64);
	expect(accel_device_memory_stats(dev, &total, &left), 0);
	ok(left == 4032 - 64);
	refused(accel_device_memory_stats(dev, NULL, &left), -EINVAL, "total");
	refused(accel_device_memory_stats(dev, &total, NULL), -EINVAL, "free");
	refused(accel_device_memory_stats(NULL, &total, &left), -EINVAL, "dev");
	expect(accel_device_close(dev), 0);
}

static void test_stats_full(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 100), *freed = device_memory(dev, 64), back[100];
	struct accel_memory_stats stats;
	void *none;

	mock_quota(0, 4000);
	mock_set_aside(0, 64);
	expect(accel_device_memory_allocate(dev, &none, 4032), -EDQUOT);
	expect(accel_device_memory_deallocate(dev, freed, 64), 0);
	expect(accel_memory_copy(ptr, back, 100), 0);
	expect(accel_memory_copy(back, ptr, 90), 0);
	expect(accel_memory_copy(ptr, ptr + 50, 40), 0);
	expect(accel_device_memory_set(dev, ptr, 0, 30), 0);
	memset(&stats, 0xff, sizeof(stats));
	expect(accel_memory_stats_full(dev, &stats), 0);
	ok(stats.total == 4032 && stats.used == 128 && stats.dirty == 64 &&
	   stats.quarantined == 64);
	ok(stats.free == 4032 - 128 - 64 - 64 && stats.largest_free == 4032 - 128 - 64);
	ok(stats.mine == 128 && stats.mine_allocs == 1 && stats.user == 128 &&
	   stats.user_max == 4000);
	ok(stats.allocs == 2 && stats.alloc_failures == 1);
	ok(stats.bytes_h2d == 100 && stats.bytes_d2h == 90 && stats.bytes_d2d == 40 &&
	   stats.bytes_filled == 30);
	ok(stats.bytes_scrubbed == 0 && stats.transfers == 4);
	mock_quota(0, 0);
	device_memory(dev, 3904);
	expect(accel_memory_stats_full(dev, &stats), 0);
	ok(stats.bytes_scrubbed == 64);
	for (size_t i = 0; i < sizeof(stats.reserved) / sizeof(stats.reserved[0]); i++)
		ok(!stats.reserved[i]);
	refused(accel_memory_stats_full(dev, NULL), -EINVAL, "stats");
	refused(accel_memory_stats_full(NULL, &stats), -EINVAL, "dev");
	expect(accel_device_close(dev), 0);
}

int main(void)
{
	RUN(test_allocate);
	RUN(test_allocate_bad_arguments);
	RUN(test_exhaustion);
	RUN(test_more_than_there_is);
	RUN(test_quota);
	RUN(test_driver_errors);
	RUN(test_deallocate);
	RUN(test_bad_frees_leave_the_allocation);
	RUN(test_free_that_the_driver_refuses);
	RUN(test_set);
	RUN(test_set_unified_memory);
	RUN(test_set_bad_arguments);
	RUN(test_fill);
	RUN(test_fill_bad_arguments);
	RUN(test_fill_verified);
	RUN(test_stats);
	RUN(test_stats_full);
	return tap_end();
}
