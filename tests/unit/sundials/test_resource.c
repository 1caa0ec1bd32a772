/* SPDX-License-Identifier: MIT */
/* Device memory from a resource of the program's: here from a pool. */
#include "fixture.h"

#include <accel/pool.h>
#include <pthread.h>
#include <stdatomic.h>

static struct accel_device *dev;
static struct accel_pool *pool;
static struct accel_resource resource;

static void begin_with_pool(void)
{
	struct accel_pool_options options = ACCEL_POOL_OPTIONS_INIT;

	dev = open_card();
	options.granule = 64;
	options.maximum_size = options.initial_size = 2048;
	expect(accel_pool_create(dev, NULL, &options, &pool), 0);
	expect(accel_pool_resource(pool, &resource), 0);
	gives(SUNContext_Create(SUN_COMM_NULL, &ctx), SUN_SUCCESS);
	helper = SUNMemoryHelper_AccelWithResource(ctx, dev, &resource);
	if (!helper)
		exit(1);
}

static void end_with_pool(void)
{
	end();
	expect(accel_pool_destroy(pool), 0);
	expect(accel_device_close(dev), 0);
}

static uint64_t in_pool(void)
{
	struct accel_pool_stats stats;

	expect(accel_pool_stats(pool, &stats), 0);
	return stats.bytes;
}

static void test_device_memory_of_a_pool(void)
{
	unsigned int calls;
	char bytes[SIZE];
	SUNMemory mem;

	begin_with_pool();
	pattern(bytes, SIZE, 1);
	calls = mock_calls(PACCEL_NR_MEM_ALLOC);
	for (int type = 0; type < TYPES; type++) {
		mem = memory_of(SIZE, type);
		ok(in_pool() == (type == DEVICE ? SIZE : 0));
		put(mem, bytes, SIZE);
		ok(holds(mem, bytes, SIZE));
		free_memory(mem);
		ok(!in_pool());
		ok(stats_are(helper, type, 1, 1, 0, SIZE));
	}
	ok(mock_calls(PACCEL_NR_MEM_ALLOC) == calls);
	mem = memory_of(0, DEVICE);
	ok(!mem->ptr);
	free_memory(mem);
	end_with_pool();
}

static void test_pool_is_full(void)
{
	SUNMemory mem = NULL, large;

	begin_with_pool();
	large = memory_of(1900, DEVICE);
	gives(SUNMemoryHelper_Alloc(helper, &mem, 1000, SUNMEMTYPE_DEVICE, NULL), SUN_ERR_EXT_FAIL);
	ok(!mem && stats_are(helper, DEVICE, 1, 0, 1900, 1900));
	free_memory(large);
	free_memory(memory_of(1000, DEVICE));
	end_with_pool();
}

static void test_clones_share_it(void)
{
	SUNMemoryHelper clone;
	SUNMemory mem;

	begin_with_pool();
	clone = SUNMemoryHelper_Clone(helper);
	mem = memory_by(clone, SIZE, DEVICE);
	ok(in_pool() == SIZE);
	/* What one of them has allocated, the other may free. */
	free_memory(mem);
	ok(!in_pool());
	gives(SUNMemoryHelper_Destroy(clone), SUN_SUCCESS);
	end_with_pool();
}

/* The pool finds it: its size is not known. */
static void test_owner_of_what_was_wrapped(void)
{
	SUNMemory mem, wrapped;

	begin_with_pool();
	mem = memory_of(SIZE, DEVICE);
	wrapped = wrap(mem->ptr, DEVICE);
	wrapped->own = SUNTRUE;
	gives(SUNMemoryHelper_Dealloc(helper, wrapped, NULL), SUN_ERR_EXT_FAIL);
	ok(in_pool() == SIZE);
	free_memory(mem);
	end_with_pool();
}

static atomic_bool released;

/* When so many have waited for the copy, it may go on. */
static void *release(void *waits)
{
	mock_wait_calls(PACCEL_NR_WAIT, *(unsigned int *)waits);
	atomic_store(&released, true);
	mock_release(0);
	return NULL;
}

static void *free_in_thread(void *mem)
{
	free_memory(mem);
	return NULL;
}

/* Otherwise the copy is still held, and nobody will wait for it. */
static void free_behind_the_copy(SUNMemory mem)
{
	free_memory(mem);
	if (atomic_load(&released))
		return;
	printf("Bail out! the memory was freed below a copy\n");
	exit(1);
}

static void test_free_waits_for_copies(void)
{
	struct accel_stream *stream;
	SUNMemory mem, other, pinned;
	unsigned int first, second;
	pthread_t releasing, freeing;

	begin_with_pool();
	expect(accel_stream_create(dev, &stream), 0);
	mem = memory_of(SIZE, DEVICE);
	other = memory_of(SIZE, DEVICE);
	pinned = memory_of(SIZE, PINNED);
	mock_hold(0);
	gives(SUNMemoryHelper_CopyAsync(helper, mem, pinned, SIZE, stream), SUN_SUCCESS);
	first = mock_calls(PACCEL_NR_WAIT) + 1;
	second = first + 1;
	atomic_store(&released, false);
	ok(!pthread_create(&releasing, NULL, release, &second));
	ok(!pthread_create(&freeing, NULL, free_in_thread, other));
	/* Another thread waits already: that is not for us. */
	mock_wait_calls(PACCEL_NR_WAIT, first);
	free_behind_the_copy(mem);
	ok(!pthread_join(freeing, NULL) && !pthread_join(releasing, NULL));
	free_memory(pinned);
	expect(accel_stream_destroy(stream), 0);
	end_with_pool();
}

static void test_no_resource(void)
{
	struct accel_resource none = { NULL, NULL };

	begin_with_pool();
	ok(!SUNMemoryHelper_AccelWithResource(ctx, dev, NULL) && *accel_last_error());
	ok(!SUNMemoryHelper_AccelWithResource(ctx, dev, &none) && *accel_last_error());
	ok(!SUNMemoryHelper_AccelWithResource(ctx, NULL, &resource));
	ok(!SUNMemoryHelper_AccelWithResource(NULL, dev, &resource));
	end_with_pool();
}

int main(void)
{
	RUN(test_device_memory_of_a_pool);
	RUN(test_pool_is_full);
	RUN(test_clones_share_it);
	RUN(test_owner_of_what_was_wrapped);
	RUN(test_free_waits_for_copies);
	RUN(test_no_resource);
	return tap_end();
}
