/* SPDX-License-Identifier: MIT */
/* The 22 functions for memory: what they do, and what they are given. */
#include "paddle.h"

static char bytes[256], back[256];

static void set_bytes(void)
{
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + 1);
	memset(back, 0, sizeof(back));
}

static int holds(struct place *device, const char *ptr, const void *wanted, size_t size)
{
	gives(paddle->memory_copy_d2h(device, back, ptr, size), STATUS_SUCCESS);
	return !memcmp(back, wanted, size);
}

static size_t free_of(struct place *device)
{
	size_t total = 0, left = 0;

	gives(paddle->device_memory_stats(device, &total, &left), STATUS_SUCCESS);
	ok(total == 4032 && left <= total);
	return left;
}

/* ---- Allocation ---- */

static void test_allocate(void)
{
	char *first, *second;

	begin_with(1);
	first = memory_of(accel0, 64);
	second = memory_of(accel0, 100);
	ok(second - first == 64 && !((uintptr_t)first % 64));
	ok(free_of(accel0) == 4032 - 64 - 128);
	gives(paddle->device_memory_deallocate(accel0, second, 100), STATUS_SUCCESS);
	gives(paddle->device_memory_deallocate(accel0, first, 64), STATUS_SUCCESS);
	ok(free_of(accel0) == 4032 && silent());
	end();
}

static void test_allocate_bad_arguments(void)
{
	void *ptr = bytes;

	begin_with(1);
	refuses(paddle->device_memory_allocate(accel0, NULL, 64), STATUS_ERROR, "ptr is NULL");
	refuses(paddle->device_memory_allocate(accel0, &ptr, 0), STATUS_ERROR, "size is 0");
	ok(!ptr);
	ptr = bytes;
	refuses(paddle->device_memory_allocate(NULL, &ptr, 64), STATUS_ERROR, "device is NULL");
	ok(!ptr);
	ptr = bytes;
	refuses(paddle->device_memory_allocate(accel1, &ptr, 64), STATUS_ERROR, "no device 1");
	ok(!ptr && free_of(accel0) == 4032);
	end();
}

/* Success without memory: what Paddle has to hear to try again and to raise a MemoryError. */
static void test_out_of_memory(void)
{
	char *all[63];
	void *ptr = bytes;

	begin_with(1);
	for (int i = 0; i < 63; i++)
		all[i] = memory_of(accel0, 64);
	gives(paddle->device_memory_allocate(accel0, &ptr, 64), STATUS_SUCCESS);
	ok(!ptr && free_of(accel0) == 0);
	gives(paddle->device_memory_deallocate(accel0, all[5], 64), STATUS_SUCCESS);
	ok(memory_of(accel0, 64) == all[5]);
	ptr = bytes;
	gives(paddle->device_memory_allocate(accel0, &ptr, SIZE_MAX), STATUS_SUCCESS);
	ok(!ptr && silent());
	end();
}

static void test_quota(void)
{
	void *ptr = bytes;

	begin_with(1);
	mock_quota(0, 128);
	gives(paddle->device_memory_allocate(accel0, &ptr, 192), STATUS_SUCCESS);
	ok(!ptr && silent());
	memory_of(accel0, 128);
	end();
}

static void test_card_that_fails_an_allocation(void)
{
	void *ptr = bytes;

	begin_with(1);
	mock_fail(PACCEL_NR_MEM_ALLOC, 1, EIO);
	refuses(paddle->device_memory_allocate(accel0, &ptr, 64), STATUS_INTERNAL,
		"device_memory_allocate: ");
	ok(!ptr);
	memory_of(accel0, 64);
	end();
}

/* Success whatever it is, as Paddle does not survive anything else, and the allocation stays. */
static void test_bad_frees(void)
{
	char *ptr, *foreign, *freed;

	begin_with(2);
	ptr = memory_of(accel0, 100);
	freed = memory_of(accel0, 64);
	foreign = memory_of(accel1, 100);
	gives(paddle->device_memory_deallocate(accel0, freed, 64), STATUS_SUCCESS);
	ok(silent());
	refuses(paddle->device_memory_deallocate(accel0, freed, 64), STATUS_SUCCESS,
		"freed before");
	refuses(paddle->device_memory_deallocate(accel0, NULL, 64), STATUS_SUCCESS, "ptr is NULL");
	refuses(paddle->device_memory_deallocate(accel0, ptr, 0), STATUS_SUCCESS, "size is 0");
	refuses(paddle->device_memory_deallocate(accel0, ptr, 99), STATUS_SUCCESS,
		"has 100 bytes");
	refuses(paddle->device_memory_deallocate(accel0, ptr + 64, 36), STATUS_SUCCESS, "inside");
	refuses(paddle->device_memory_deallocate(accel0, foreign, 100), STATUS_SUCCESS,
		"device_memory_deallocate: ");
	refuses(paddle->device_memory_deallocate(accel0, bytes, 100), STATUS_SUCCESS,
		"device_memory_deallocate: ");
	refuses(paddle->device_memory_deallocate(NULL, ptr, 100), STATUS_SUCCESS,
		"device is NULL");
	refuses(paddle->host_memory_deallocate(accel0, ptr, 100), STATUS_SUCCESS,
		"not host memory");
	refuses(paddle->unified_memory_deallocate(accel0, ptr, 100), STATUS_SUCCESS,
		"not unified memory");
	ok(free_of(accel0) == 4032 - 128 && free_of(accel1) == 4032 - 128);
	end();
}

static void host_kind(enum status (*allocate)(struct place *device, void **ptr, size_t size),
		      enum status (*deallocate)(struct place *device, void *ptr, size_t size))
{
	void *ptr = bytes;

	gives(allocate(accel0, &ptr, 5000), STATUS_SUCCESS);
	if (!ptr)
		return;
	memset(ptr, 7, 5000);
	ok(mock_host_ranges(0) == 1);
	gives(deallocate(accel0, ptr, 5000), STATUS_SUCCESS);
	ok(mock_host_ranges(0) == 0 && silent());
	refuses(deallocate(accel0, ptr, 5000), STATUS_SUCCESS, "_memory_deallocate: ");
	refuses(deallocate(accel0, NULL, 5000), STATUS_SUCCESS, "ptr is NULL");
	refuses(deallocate(accel1, bytes, 1), STATUS_SUCCESS, "no device 1");
	refuses(allocate(accel0, NULL, 64), STATUS_ERROR, "ptr is NULL");
	refuses(allocate(accel0, &ptr, 0), STATUS_ERROR, "size is 0");
	ok(!ptr);
	ptr = bytes;
	refuses(allocate(accel1, &ptr, 64), STATUS_ERROR, "no device 1");
	ok(!ptr);
	ptr = bytes;
	refuses(allocate(accel0, &ptr, SIZE_MAX / 2), STATUS_FAILED, "_memory_allocate: ");
	ok(!ptr);
	log_clear();
}

static void test_host_memory(void)
{
	begin_with(1);
	host_kind(paddle->host_memory_allocate, paddle->host_memory_deallocate);
	end();
}

static void test_unified_memory(void)
{
	char *ptr;
	void *got;

	begin_with(1);
	host_kind(paddle->unified_memory_allocate, paddle->unified_memory_deallocate);
	set_bytes();
	ptr = memory_of(accel0, 100);
	gives(paddle->unified_memory_allocate(accel0, &got, 100), STATUS_SUCCESS);
	gives(paddle->device_memory_set(accel0, got, 9, 100), STATUS_SUCCESS);
	gives(paddle->memory_copy_d2d(accel0, ptr, got, 100), STATUS_SUCCESS);
	memset(bytes, 9, 100);
	ok(holds(accel0, ptr, bytes, 100));
	gives(paddle->unified_memory_deallocate(accel0, got, 100), STATUS_SUCCESS);
	end();
}

/* ---- Copies and fills ---- */

static void test_copies(void)
{
	char *first, *second;

	begin_with(1);
	set_bytes();
	first = memory_of(accel0, 256);
	second = memory_of(accel0, 256);
	gives(paddle->memory_copy_h2d(accel0, first, bytes, 256), STATUS_SUCCESS);
	ok(holds(accel0, first, bytes, 256));
	ok(!memcmp(mock_memory(0, MOCK_BASE), bytes, 256));
	/* Interior, unaligned, odd. */
	gives(paddle->memory_copy_d2d(accel0, second + 3, first + 101, 77), STATUS_SUCCESS);
	ok(holds(accel0, second + 3, bytes + 101, 77));
	gives(paddle->memory_copy_h2d(accel0, first + 255, bytes, 1), STATUS_SUCCESS);
	ok(holds(accel0, first + 255, bytes, 1));
	ok(silent());
	end();
}

/* numpy() reads the whole block, with what nobody has written. */
static void test_tail_that_was_never_written(void)
{
	char *ptr, zeros[64] = "";

	begin_with(1);
	set_bytes();
	ptr = memory_of(accel0, 64);
	gives(paddle->memory_copy_h2d(accel0, ptr, bytes, 12), STATUS_SUCCESS);
	ok(holds(accel0, ptr, bytes, 12));
	ok(holds(accel0, ptr + 12, zeros, 52));
	end();
}

static void test_set(void)
{
	char *ptr;

	begin_with(1);
	set_bytes();
	ptr = memory_of(accel0, 256);
	gives(paddle->memory_copy_h2d(accel0, ptr, bytes, 256), STATUS_SUCCESS);
	gives(paddle->device_memory_set(accel0, ptr + 1, 0xfe, 100), STATUS_SUCCESS);
	memset(bytes + 1, 0xfe, 100);
	ok(holds(accel0, ptr, bytes, 256));
	refuses(paddle->device_memory_set(accel0, ptr, 1, 257), STATUS_ERROR, "past the end");
	refuses(paddle->device_memory_set(accel0, NULL, 1, 1), STATUS_ERROR, "ptr is NULL");
	refuses(paddle->device_memory_set(accel0, bytes, 1, 1), STATUS_ERROR, "neither device");
	refuses(paddle->device_memory_set(accel0, ptr, 1, SIZE_MAX), STATUS_ERROR, "wraps");
	refuses(paddle->device_memory_set(accel1, ptr, 1, 1), STATUS_ERROR, "no device 1");
	gives(paddle->device_memory_set(accel0, NULL, 1, 0), STATUS_SUCCESS);
	ok(holds(accel0, ptr, bytes, 256));
	end();
}

static void test_between_cards(void)
{
	char *here, *there, *beside;

	begin_with(2);
	set_bytes();
	here = memory_of(accel0, 256);
	beside = memory_of(accel0, 256);
	there = memory_of(accel1, 256);
	gives(paddle->memory_copy_h2d(accel0, here, bytes, 256), STATUS_SUCCESS);
	gives(paddle->memory_copy_p2p(accel1, accel0, there + 5, here + 9, 100), STATUS_SUCCESS);
	ok(holds(accel1, there + 5, bytes + 9, 100));
	gives(paddle->memory_copy_p2p(accel0, accel0, beside, here, 256), STATUS_SUCCESS);
	ok(holds(accel0, beside, bytes, 256));
	gives(paddle->async_memory_copy_p2p(accel1, accel0, NULL, there, here, 256),
	      STATUS_SUCCESS);
	ok(holds(accel1, there, bytes, 256) && silent());
	refuses(paddle->memory_copy_p2p(accel0, accel1, there, here, 8), STATUS_ERROR,
		"another handle");
	refuses(paddle->memory_copy_p2p(accel1, accel0, there, here, 257), STATUS_ERROR,
		"past the end");
	refuses(paddle->memory_copy_p2p(&place[2], accel0, there, here, 8), STATUS_ERROR,
		"no device 2");
	refuses(paddle->memory_copy_p2p(accel1, &place[2], there, here, 8), STATUS_ERROR,
		"no device 2");
	refuses(paddle->async_memory_copy_p2p(accel1, &place[2], NULL, there, here, 8),
		STATUS_ERROR, "no device 2");
	refuses(paddle->async_memory_copy_p2p(NULL, accel0, NULL, there, here, 8), STATUS_ERROR,
		"device is NULL");
	gives(paddle->memory_copy_p2p(accel1, accel0, NULL, NULL, 0), STATUS_SUCCESS);
	gives(paddle->async_memory_copy_p2p(accel1, accel0, NULL, NULL, NULL, 0), STATUS_SUCCESS);
	end();
}

typedef enum status (*copy_t)(struct place *device, void *dst, const void *src, size_t size);

/* Each of these, with all else valid. */
static void copy_refuses(copy_t copy, char *dst, char *src, char *freed, size_t size)
{
	refuses(copy(accel0, NULL, src, size), STATUS_ERROR, "dst is NULL");
	refuses(copy(accel0, dst, NULL, size), STATUS_ERROR, "src is NULL");
	refuses(copy(accel0, dst, src, SIZE_MAX), STATUS_ERROR, "wraps");
	refuses(copy(accel0, dst, src, size + 1), STATUS_ERROR, "past the end");
	refuses(copy(accel1, dst, src, size), STATUS_ERROR, "no device 1");
	refuses(copy(NULL, dst, src, size), STATUS_ERROR, "device is NULL");
	if (copy != paddle->memory_copy_h2d)
		refuses(copy(accel0, dst, freed, 8), STATUS_ERROR, "freed before");
	if (copy != paddle->memory_copy_d2h)
		refuses(copy(accel0, freed, src, 8), STATUS_ERROR, "freed before");
	gives(copy(accel0, NULL, NULL, 0), STATUS_SUCCESS);
	gives(copy(accel0, dst, src, size), STATUS_SUCCESS);
}

static enum status async_h2d(struct place *device, void *dst, const void *src, size_t size)
{
	return paddle->async_memory_copy_h2d(device, NULL, dst, src, size);
}

static enum status async_d2h(struct place *device, void *dst, const void *src, size_t size)
{
	return paddle->async_memory_copy_d2h(device, NULL, dst, src, size);
}

static enum status async_d2d(struct place *device, void *dst, const void *src, size_t size)
{
	return paddle->async_memory_copy_d2d(device, NULL, dst, src, size);
}

static void test_bad_copies(void)
{
	char *ptr, *other, *freed;

	begin_with(1);
	ptr = memory_of(accel0, 200);
	other = memory_of(accel0, 200);
	freed = memory_of(accel0, 64);
	gives(paddle->device_memory_deallocate(accel0, freed, 64), STATUS_SUCCESS);
	copy_refuses(paddle->memory_copy_h2d, ptr, bytes, freed, 200);
	copy_refuses(paddle->memory_copy_d2h, back, ptr, freed, 200);
	copy_refuses(paddle->memory_copy_d2d, ptr, other, freed, 200);
	refuses(paddle->memory_copy_h2d(accel0, bytes, back, 8), STATUS_ERROR, "neither device");
	refuses(paddle->memory_copy_d2h(accel0, ptr, other, 8), STATUS_ERROR, "host memory");
	refuses(paddle->memory_copy_d2d(accel0, ptr, bytes, 8), STATUS_ERROR, "neither device");
	refuses(paddle->memory_copy_d2d(accel0, ptr, ptr + 7, 8), STATUS_ERROR, "overlap");
	refuses(async_h2d(accel0, ptr, NULL, 8), STATUS_ERROR, "src is NULL");
	refuses(async_d2h(accel0, back, freed, 8), STATUS_ERROR, "freed before");
	refuses(async_d2d(accel0, ptr, other, 201), STATUS_ERROR, "past the end");
	gives(async_h2d(accel0, NULL, NULL, 0), STATUS_SUCCESS);
	gives(async_d2h(accel0, NULL, NULL, 0), STATUS_SUCCESS);
	gives(async_d2d(accel0, NULL, NULL, 0), STATUS_SUCCESS);
	refuses(async_h2d(accel1, ptr, bytes, 8), STATUS_ERROR, "no device 1");
	refuses(async_d2h(accel1, back, ptr, 8), STATUS_ERROR, "no device 1");
	refuses(async_d2d(accel1, ptr, other, 8), STATUS_ERROR, "no device 1");
	end();
}

/* Without a stream they are complete when they return. */
static void test_async_copies_without_stream(void)
{
	char *first, *second;

	begin_with(1);
	set_bytes();
	first = memory_of(accel0, 256);
	second = memory_of(accel0, 256);
	gives(async_h2d(accel0, first, bytes, 256), STATUS_SUCCESS);
	gives(async_d2d(accel0, second, first, 256), STATUS_SUCCESS);
	gives(async_d2h(accel0, back, second, 256), STATUS_SUCCESS);
	ok(!memcmp(back, bytes, 256) && !mock_streams(0));
	end();
}

static void test_card_that_fails_a_copy(void)
{
	static const int errors[] = { EIO, ETIMEDOUT };
	char *ptr;

	begin_with(1);
	ptr = memory_of(accel0, 64);
	for (int i = 0; i < 2; i++) {
		mock_fail(PACCEL_NR_COPY, 1, errors[i]);
		refuses(paddle->memory_copy_h2d(accel0, ptr, bytes, 64), STATUS_INTERNAL,
			"memory_copy_h2d: ");
		gives(paddle->memory_copy_h2d(accel0, ptr, bytes, 64), STATUS_SUCCESS);
	}
	end();
}

/* ---- Sizes ---- */

static void test_stats(void)
{
	size_t total = 9, left = 9;

	begin_with(2);
	memory_of(accel1, 100);
	gives(paddle->device_memory_stats(accel1, &total, &left), STATUS_SUCCESS);
	ok(total == 4032 && left == 4032 - 128);
	ok(free_of(accel0) == 4032);
	refuses(paddle->device_memory_stats(accel0, NULL, &left), STATUS_ERROR, "total is NULL");
	refuses(paddle->device_memory_stats(accel0, &total, NULL), STATUS_ERROR, "free is NULL");
	refuses(paddle->device_memory_stats(NULL, &total, &left), STATUS_ERROR, "device is NULL");
	refuses(paddle->device_memory_stats(&place[2], &total, &left), STATUS_ERROR, "device 2");
	end();
}

static size_t max_alloc(void)
{
	size_t size = 99;

	gives(paddle->device_max_alloc_size(accel0, &size), STATUS_SUCCESS);
	return size;
}

/* What one allocation can get: the longest part that is free, within the user's quota. */
static void test_max_alloc_size(void)
{
	char *parts[3];
	size_t size = 99;

	begin_with(1);
	ok(max_alloc() == 4032);
	for (int i = 0; i < 3; i++)
		parts[i] = memory_of(accel0, 1024);
	ok(max_alloc() == 4032 - 3 * 1024);
	gives(paddle->device_memory_deallocate(accel0, parts[1], 1024), STATUS_SUCCESS);
	/* This part is longer, and still to be cleared. */
	ok(max_alloc() == 4032 - 3 * 1024);
	memory_of(accel0, 1024);
	ok(max_alloc() == 4032 - 3 * 1024);
	mock_quota(0, 3 * 1024 + 128);
	ok(max_alloc() == 128);
	mock_quota(0, 64);
	ok(max_alloc() == 0);
	refuses(paddle->device_max_alloc_size(accel0, NULL), STATUS_ERROR, "size is NULL");
	refuses(paddle->device_max_alloc_size(accel1, &size), STATUS_ERROR, "no device 1");
	ok(size == 0);
	mock_remove(0);
	size = 99;
	refuses(paddle->device_max_alloc_size(accel0, &size), STATUS_INTERNAL, "removed");
	ok(size == 0);
	end();
}

static void test_sizes(void)
{
	size_t size = 0;

	begin_with(1);
	gives(paddle->device_min_chunk_size(accel0, &size), STATUS_SUCCESS);
	ok(size == 64);
	refuses(paddle->device_min_chunk_size(accel0, NULL), STATUS_ERROR, "size is NULL");
	size = 0;
	refuses(paddle->device_min_chunk_size(accel1, &size), STATUS_ERROR, "no device 1");
	ok(size == 1);
	gives(paddle->device_extra_padding_size(accel0, &size), STATUS_SUCCESS);
	ok(size == 0);
	refuses(paddle->device_extra_padding_size(accel0, NULL), STATUS_ERROR, "size is NULL");
	refuses(paddle->device_extra_padding_size(accel1, &size), STATUS_ERROR, "no device 1");
	end();
}

/* ---- A card that goes away ---- */

static void test_unplug(void)
{
	size_t total, left, size = 0;
	char *ptr, *there;
	void *got = bytes;

	begin_with(2);
	ptr = memory_of(accel0, 64);
	there = memory_of(accel1, 64);
	mock_remove(0);
	refuses(paddle->memory_copy_h2d(accel0, ptr, bytes, 64), STATUS_INTERNAL, "removed");
	refuses(paddle->memory_copy_d2h(accel0, back, ptr, 64), STATUS_INTERNAL, "removed");
	refuses(paddle->memory_copy_p2p(accel1, accel0, there, ptr, 64), STATUS_INTERNAL,
		"removed");
	refuses(paddle->device_memory_set(accel0, ptr, 1, 64), STATUS_INTERNAL, "removed");
	refuses(paddle->device_memory_allocate(accel0, &got, 64), STATUS_INTERNAL, "removed");
	ok(!got);
	refuses(paddle->device_memory_stats(accel0, &total, &left), STATUS_INTERNAL, "removed");
	refuses(paddle->synchronize_device(accel0), STATUS_INTERNAL, "removed");
	refuses(paddle->device_memory_deallocate(accel0, ptr, 64), STATUS_SUCCESS, "removed");
	gives(paddle->device_min_chunk_size(accel0, &size), STATUS_SUCCESS);
	ok(size == 64);
	gives(paddle->memory_copy_h2d(accel1, there, bytes, 64), STATUS_SUCCESS);
	end();
}

/* Who asks in a loop does not fill the log. */
static void test_sentence_is_said_once(void)
{
	begin_with(1);
	for (int i = 0; i < 5; i++)
		gives(paddle->memory_copy_h2d(accel0, NULL, bytes, 64), STATUS_ERROR);
	ok(lines_said() == 1);
	gives(paddle->memory_copy_d2h(accel0, NULL, bytes, 64), STATUS_ERROR);
	gives(paddle->memory_copy_h2d(accel0, NULL, bytes, 64), STATUS_ERROR);
	ok(lines_said() == 3);
	end();
}

/* What is not freed goes with the cards: Paddle leaves it at exit. */
static void test_finalize_frees(void)
{
	void *got;

	begin_with(1);
	memory_of(accel0, 4032);
	gives(paddle->host_memory_allocate(accel0, &got, 100), STATUS_SUCCESS);
	end();
	ok(!mock_host_ranges(0) && !mock_files());
	begin();
	memory_of(accel0, 4032);
	end();
}

int main(void)
{
	log_catch();
	RUN(test_allocate);
	RUN(test_allocate_bad_arguments);
	RUN(test_out_of_memory);
	RUN(test_quota);
	RUN(test_card_that_fails_an_allocation);
	RUN(test_bad_frees);
	RUN(test_host_memory);
	RUN(test_unified_memory);
	RUN(test_copies);
	RUN(test_tail_that_was_never_written);
	RUN(test_set);
	RUN(test_between_cards);
	RUN(test_bad_copies);
	RUN(test_async_copies_without_stream);
	RUN(test_card_that_fails_a_copy);
	RUN(test_stats);
	RUN(test_max_alloc_size);
	RUN(test_sizes);
	RUN(test_unplug);
	RUN(test_sentence_is_said_once);
	RUN(test_finalize_frees);
	return tap_end();
}
