/* SPDX-License-Identifier: MIT */
/* Memory from resources of the program's: here from pools. */
#include "fixture.h"

#include <accel/pool.h>
#include <pthread.h>
#include <stdatomic.h>

static struct accel_device *dev;
static struct accel_pool *pool;
static struct accel_resource resource;

/* A helper whose device memory is from it. */
static SUNMemoryHelper helper_with(const struct accel_resource *of_device)
{
	const struct accel_resource *from[TYPES] = { [SUNMEMTYPE_DEVICE] = of_device };

	return SUNMemoryHelper_AccelWithResources(ctx, dev, from);
}

static void begin_with_pool(void)
{
	struct accel_pool_options options = { 0 };

	dev = open_card();
	options.granule = 64;
	options.maximum_size = options.initial_size = 2048;
	expect(accel_pool_create(dev, NULL, &options, &pool), 0);
	expect(accel_pool_resource(pool, &resource), 0);
	gives(SUNContext_Create(SUN_COMM_NULL, &ctx), SUN_SUCCESS);
	helper = helper_with(&resource);
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

	expect(accel_pool_get_stats(pool, &stats), 0);
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

/* A pool of its own for each type: HOST memory may be page-locked, too. */
static void test_each_type_of_its_own_pool(void)
{
	static const uint32_t kinds[TYPES] = {
		[SUNMEMTYPE_HOST] = ACCEL_MEMORY_HOST,
		[SUNMEMTYPE_PINNED] = ACCEL_MEMORY_HOST,
		[SUNMEMTYPE_DEVICE] = ACCEL_MEMORY_DEVICE,
		[SUNMEMTYPE_UVM] = ACCEL_MEMORY_UNIFIED,
	};
	const struct accel_pool_options options = { .granule = 64, .maximum_size = 1024 };
	struct accel_resource upstream, of_pool[TYPES];
	const struct accel_resource *from[TYPES];
	struct accel_pool_stats stats;
	struct accel_pool *pools[TYPES];
	SUNMemoryHelper by;
	SUNMemory mem[TYPES];
	char bytes[SIZE];

	begin_with_pool();
	pattern(bytes, SIZE, 1);
	for (int type = 0; type < TYPES; type++) {
		expect(accel_resource_of_device(dev, kinds[type], &upstream), 0);
		expect(accel_pool_create(dev, &upstream, &options, &pools[type]), 0);
		expect(accel_pool_resource(pools[type], &of_pool[type]), 0);
		from[type] = &of_pool[type];
	}
	by = SUNMemoryHelper_AccelWithResources(ctx, dev, from);
	for (int type = 0; type < TYPES; type++) {
		mem[type] = memory_by(by, SIZE, type);
		put(mem[type], bytes, SIZE);
		expect(accel_pool_get_stats(pools[type], &stats), 0);
		ok(stats.bytes == SIZE && stats_are(by, type, 1, 0, SIZE, SIZE));
	}
	for (int type = 0; type < TYPES; type++) {
		SUNMemory full = NULL;

		ok(holds(mem[type], bytes, SIZE));
		gives(SUNMemoryHelper_Alloc(by, &full, 2048, type, NULL), SUN_ERR_EXT_FAIL);
		ok(!full && *accel_last_error());
		gives(SUNMemoryHelper_Dealloc(by, mem[type], NULL), SUN_SUCCESS);
		expect(accel_pool_destroy(pools[type]), 0);
	}
	gives(SUNMemoryHelper_Destroy(by), SUN_SUCCESS);
	end_with_pool();
}

/* The driver would take back the whole chunk of the pool, which begins with this block. */
static void test_pinned_memory_of_another_helper(void)
{
	const struct accel_pool_options options = { .granule = 64, .maximum_size = 4096 };
	const struct accel_resource *from[TYPES] = { NULL };
	struct accel_resource upstream, of_pool;
	struct accel_pool *pinned;
	SUNMemory mem, same;
	SUNMemoryHelper by;

	begin_with_pool();
	expect(accel_resource_of_device(dev, ACCEL_MEMORY_HOST, &upstream), 0);
	expect(accel_pool_create(dev, &upstream, &options, &pinned), 0);
	expect(accel_pool_resource(pinned, &of_pool), 0);
	from[SUNMEMTYPE_PINNED] = &of_pool;
	by = SUNMemoryHelper_AccelWithResources(ctx, dev, from);
	mem = memory_by(by, SIZE, PINNED);
	same = SUNMemoryNewEmpty(ctx);
	*same = *mem;
	gives(SUNMemoryHelper_Dealloc(helper, same, NULL), SUN_ERR_EXT_FAIL);
	gives(SUNMemoryHelper_Dealloc(by, mem, NULL), SUN_SUCCESS);
	gives(SUNMemoryHelper_Destroy(by), SUN_SUCCESS);
	expect(accel_pool_destroy(pinned), 0);
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

/*
 * Helpers that do not share the resource do not free its memory, nor it theirs: the driver would take
 * back the whole chunk with whatever else lies in it.
 */
static void test_helpers_of_other_memory(void)
{
	SUNMemoryHelper plain;
	SUNMemory first, second, ours;
	char bytes[SIZE];
	uint64_t used;

	begin_with_pool();
	plain = SUNMemoryHelper_AccelWithDevice(ctx, dev);
	pattern(bytes, SIZE, 1);
	first = memory_of(SIZE, DEVICE);
	second = memory_of(SIZE, DEVICE);
	put(second, bytes, SIZE);
	used = card_stats().used;
	/* The first block is where the chunk begins. */
	for (int i = 0; i < 2; i++) {
		SUNMemory mem = SUNMemoryNewEmpty(ctx);

		*mem = i ? *second : *first;
		gives(SUNMemoryHelper_Dealloc(plain, mem, NULL), SUN_ERR_EXT_FAIL);
		ok(*accel_last_error() && card_stats().used == used && in_pool() == 2 * SIZE);
	}
	ok(stats_are(plain, DEVICE, 0, 0, 0, 0));
	ok(holds(second, bytes, SIZE));
	free_memory(first);
	free_memory(second);
	ours = memory_by(plain, SIZE, DEVICE);
	first = SUNMemoryNewEmpty(ctx);
	*first = *ours;
	gives(SUNMemoryHelper_Dealloc(helper, first, NULL), SUN_ERR_EXT_FAIL);
	gives(SUNMemoryHelper_Dealloc(plain, ours, NULL), SUN_SUCCESS);
	gives(SUNMemoryHelper_Destroy(plain), SUN_SUCCESS);
	end_with_pool();
}

/* A pool that looks for damage says that it has found some; the memory is free, and counted so. */
static void test_damage_is_found(void)
{
	struct accel_pool_options options = { 0 };
	struct accel_resource careful;
	struct accel_pool *looking;
	SUNMemoryHelper by;
	SUNMemory mem;

	begin_with_pool();
	options.flags = ACCEL_POOL_DEBUG;
	options.granule = 64;
	options.maximum_size = options.initial_size = 1024;
	expect(accel_pool_create(dev, NULL, &options, &looking), 0);
	expect(accel_pool_resource(looking, &careful), 0);
	by = helper_with(&careful);
	mem = memory_by(by, SIZE, DEVICE);
	expect(accel_memory_copy((char *)mem->ptr + SIZE, "x", 1), 0);
	gives(SUNMemoryHelper_Dealloc(by, mem, NULL), SUN_ERR_EXT_FAIL);
	ok(strstr(accel_last_error(), "behind the block"));
	ok(stats_are(by, DEVICE, 1, 1, 0, SIZE));
	gives(SUNMemoryHelper_Destroy(by), SUN_SUCCESS);
	expect(accel_pool_destroy(looking), 0);
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

/* HOST memory of a resource may be page-locked, and then a queued copy uses it. */
static void test_free_of_host_memory_waits(void)
{
	const struct accel_resource *from[TYPES] = { NULL };
	struct accel_resource pinned;
	struct accel_stream *stream;
	SUNMemory host, device;
	SUNMemoryHelper plain;
	pthread_t releasing;
	unsigned int first;

	begin_with_pool();
	expect(accel_resource_of_device(dev, ACCEL_MEMORY_HOST, &pinned), 0);
	from[SUNMEMTYPE_HOST] = &pinned;
	plain = helper;
	helper = SUNMemoryHelper_AccelWithResources(ctx, dev, from);
	expect(accel_stream_create(dev, &stream), 0);
	host = memory_of(SIZE, HOST);
	device = memory_of(SIZE, DEVICE);
	mock_hold(0);
	gives(SUNMemoryHelper_CopyAsync(helper, host, device, SIZE, stream), SUN_SUCCESS);
	first = mock_calls(PACCEL_NR_WAIT) + 1;
	atomic_store(&released, false);
	ok(!pthread_create(&releasing, NULL, release, &first));
	free_behind_the_copy(host);
	ok(!pthread_join(releasing, NULL));
	free_memory(device);
	gives(SUNMemoryHelper_Destroy(helper), SUN_SUCCESS);
	helper = plain;
	expect(accel_stream_destroy(stream), 0);
	end_with_pool();
}

static SUNErrCode freed;

static void frees(void *mem, int status)
{
	(void)status;
	freed = SUNMemoryHelper_Dealloc(helper, mem, NULL);
}

/* A callback cannot wait, and nobody may have the memory below a copy. */
static void test_free_in_a_callback(void)
{
	struct accel_stream *stream, *other;
	SUNMemory mem, pinned;

	begin_with_pool();
	expect(accel_stream_create(dev, &stream), 0);
	expect(accel_stream_create(dev, &other), 0);
	mem = memory_of(SIZE, DEVICE);
	pinned = memory_of(SIZE, PINNED);
	mock_hold(0);
	gives(SUNMemoryHelper_CopyAsync(helper, mem, pinned, SIZE, stream), SUN_SUCCESS);
	freed = SUN_SUCCESS;
	expect(accel_stream_add_callback(other, frees, mem), 0);
	expect(accel_stream_synchronize(other), 0);
	gives(freed, SUN_ERR_EXT_FAIL);
	ok(in_pool() == SIZE && stats_are(helper, DEVICE, 1, 0, SIZE, SIZE));
	mock_release(0);
	/* Nothing is lost by that. */
	free_memory(mem);
	ok(!in_pool());
	free_memory(pinned);
	expect(accel_stream_destroy(other), 0);
	expect(accel_stream_destroy(stream), 0);
	end_with_pool();
}

static void test_no_resource(void)
{
	const struct accel_resource none = { NULL, NULL };
	const struct accel_resource *from[TYPES] = { &resource, &resource, &resource, &none };

	begin_with_pool();
	ok(!SUNMemoryHelper_AccelWithResources(ctx, dev, from) && *accel_last_error());
	from[SUNMEMTYPE_UVM] = NULL;
	ok(!SUNMemoryHelper_AccelWithResources(ctx, dev, NULL));
	ok(!SUNMemoryHelper_AccelWithResources(ctx, NULL, from));
	ok(!SUNMemoryHelper_AccelWithResources(NULL, dev, from));
	end_with_pool();
}

int main(void)
{
	RUN(test_device_memory_of_a_pool);
	RUN(test_each_type_of_its_own_pool);
	RUN(test_pinned_memory_of_another_helper);
	RUN(test_pool_is_full);
	RUN(test_clones_share_it);
	RUN(test_owner_of_what_was_wrapped);
	RUN(test_helpers_of_other_memory);
	RUN(test_damage_is_found);
	RUN(test_free_waits_for_copies);
	RUN(test_free_of_host_memory_waits);
	RUN(test_free_in_a_callback);
	RUN(test_no_resource);
	return tap_end();
}
