/* SPDX-License-Identifier: MIT */
/*
 * Every allocation on the way of a call that succeeds fails once: the first, then the second, and so
 * on until the call gets through. Each time the call returns -ENOMEM or does without, nothing stays
 * allocated on the device, and the next call succeeds. LeakSanitizer sees what stays in the process.
 */
#include "fixture.h"

#include "core/device.h"
#include "core/event.h"
#include "core/memory.h"
#include "core/range.h"
#include "core/stream.h"

#include <accel/pool.h>
#include <accel/resource.h>
#include <stdbool.h>

#define SIZE 512
#define LIMIT 200

/* ---- Allocations that fail ---- */

static __thread unsigned int fail_in; /* the nth next allocation of this thread fails; 0: none */

static bool fails(void)
{
	return fail_in && !--fail_in;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
	return fails() ? NULL : __real_realloc(ptr, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

/* ---- Ranges that were freed, which the library uses again instead of allocating ---- */

static struct range *hidden[LIMIT];
static unsigned int nr_hidden;

static void hide_ranges(void)
{
	fail_in = 1;
	while ((hidden[nr_hidden] = range_create(1, ACCEL_MEMORY_DEVICE)))
		nr_hidden++;
}

static void give_ranges(void)
{
	while (nr_hidden)
		range_free(hidden[--nr_hidden]);
}

/* ---- Calls, which undo what they did ---- */

static struct accel_device *dev;
static struct accel_stream *stream;
static char *device, *host;
static char pageable[SIZE];

/* Returns the first error, but gives back what was made. */
static int first(int a, int b)
{
	return a ? a : b;
}

static int open_another(void)
{
	struct accel_device *another;
	int err = accel_device_open(1, &another);

	return err ? err : accel_device_close(another);
}

static int allocate_device(void)
{
	void *ptr;
	int err = accel_device_memory_allocate(dev, &ptr, SIZE);

	return err ? err : accel_device_memory_deallocate(dev, ptr, SIZE);
}

static int allocate_host(void)
{
	void *ptr;
	int err = accel_host_memory_allocate(dev, &ptr, SIZE);

	return err ? err : accel_host_memory_deallocate(dev, ptr, SIZE);
}

static int register_host(void)
{
	int err = accel_host_register(dev, pageable, sizeof(pageable), 0);

	return err ? err : accel_host_unregister(dev, pageable);
}

static int create_stream(void)
{
	struct accel_stream *made;
	int err = accel_stream_create(dev, &made);

	return err ? err : accel_stream_destroy(made);
}

static int record_event(void)
{
	struct accel_event *event;
	int err = accel_event_create(dev, &event);

	if (err)
		return err;
	err = accel_event_record(event, stream);
	err = first(err, accel_stream_synchronize(stream));
	return first(err, accel_event_destroy(event));
}

static int copy_pageable(void)
{
	int err = accel_async_memory_copy_h2d(dev, stream, device, pageable, SIZE);

	return first(err, accel_stream_synchronize(stream));
}

static int copy_to_host(void)
{
	int err = accel_async_memory_copy_d2h(dev, stream, host, device, SIZE);

	return first(err, accel_stream_synchronize(stream));
}

static void note(void *data, int status)
{
	*(int *)data = status;
}

static int call_back(void)
{
	int status = 1;
	int err = accel_stream_add_callback(stream, note, &status);

	err = first(err, accel_stream_synchronize(stream));
	return first(err, err ? 0 : status);
}

static int fill_batch(struct accel_batch *batch)
{
	int err = 0;

	for (int i = 0; i < 30 && !err; i++)
		err = accel_batch_copy(batch, device + i, host + i, 1);
	if (!err)
		err = accel_batch_submit(batch, stream, NULL);
	return first(err, accel_stream_synchronize(stream));
}

static int submit_batch(void)
{
	struct accel_batch *batch;
	int err = accel_batch_create(dev, &batch);

	if (err)
		return err;
	err = fill_batch(batch);
	return first(err, accel_batch_destroy(batch));
}

/* Another stream's block, so that it has to wait; a cut one; and more than the first chunk. */
static int use_pool(struct accel_pool *pool)
{
	struct accel_stream *streams[] = { stream, NULL };
	void *ptr;
	int err = 0;

	for (int i = 0; i < 8 && !err; i++) {
		err = accel_pool_allocate(pool, streams[i % 2], 64 << i % 3, 16, &ptr);
		if (!err)
			err = accel_pool_deallocate(pool, streams[i % 2], ptr, 64 << i % 3, 16);
	}
	return first(err, accel_pool_trim(pool, 0));
}

static int pool(void)
{
	struct accel_pool_options options = { 0 };
	struct accel_pool *made;
	int err;

	options.growth_size = 512;
	options.granule = 64;
	err = accel_pool_create(dev, NULL, &options, &made);
	if (err)
		return err;
	err = use_pool(made);
	return first(err, accel_pool_destroy(made));
}

static int ignore(void *data, const struct accel_adaptor_allocation *live)
{
	(void)data;
	(void)live;
	return 0;
}

static int use_adaptor(struct accel_adaptor *adaptor, bool tracks)
{
	struct accel_resource resource;
	void *ptr;
	int err = accel_adaptor_resource(adaptor, &resource);

	if (!err)
		err = accel_resource_allocate(&resource, NULL, 64, 16, &ptr);
	if (!err) {
		err = tracks ? accel_adaptor_outstanding(adaptor, ignore, NULL) : 0;
		err = first(err, accel_resource_deallocate(&resource, NULL, ptr, 64, 16));
	}
	return first(err, accel_adaptor_destroy(adaptor));
}

/* The first resource has nothing. */
static int use_fallback(const struct accel_resource *memory)
{
	struct accel_adaptor *limiting, *made;
	struct accel_resource limited;
	int err = accel_adaptor_create_limiting(memory, 1, &limiting);

	if (err)
		return err;
	err = accel_adaptor_resource(limiting, &limited);
	if (!err)
		err = accel_adaptor_create_fallback(&limited, memory, &made);
	if (!err)
		err = use_adaptor(made, false);
	return first(err, accel_adaptor_destroy(limiting));
}

static int adaptors(void)
{
	struct accel_resource memory;
	struct accel_adaptor *made;
	int err = accel_resource_of_device(dev, ACCEL_MEMORY_DEVICE, &memory);

	if (!err)
		err = accel_adaptor_create_statistics(&memory, &made);
	if (!err)
		err = use_adaptor(made, false);
	if (!err)
		err = use_fallback(&memory);
	if (!err)
		err = accel_adaptor_create_tracking(&memory, 4, &made);
	return err ? err : use_adaptor(made, true);
}

/* ---- The sweep ---- */

static uint64_t used(void)
{
	struct accel_memory_stats stats;

	expect(accel_memory_stats_full(dev, &stats), 0);
	return stats.used;
}

static void set_up(void)
{
	dev = open_card();
	mock_add(1);
	expect(accel_stream_create(dev, &stream), 0);
	device = device_memory(dev, SIZE);
	host = host_memory(dev, SIZE);
}

/* One call whose nth allocation fails: false if it makes fewer. */
static bool fail_at(int (*call)(void), unsigned int nth)
{
	uint64_t before;
	bool taken;
	int err;

	mock_reset();
	set_up();
	before = used();
	hide_ranges();
	fail_in = nth;
	err = call();
	taken = !fail_in;
	fail_in = 0;
	give_ranges();
	ok(err == 0 || (taken && err == -ENOMEM));
	if (err && err != -ENOMEM)
		printf("# allocation %u: %d (%s)\n", nth, err, accel_last_error());
	ok(used() == before);
	expect(call(), 0);
	ok(used() == before);
	expect(accel_device_close(dev), 0);
	return taken;
}

static void sweep(int (*call)(void))
{
	unsigned int nth = 1;

	while (fail_at(call, nth) && nth < LIMIT)
		nth++;
	ok(1 < nth && nth < LIMIT);
}

#define SWEEP(call) static void test_##call(void) { sweep(call); }
SWEEP(open_another)
SWEEP(allocate_device)
SWEEP(allocate_host)
SWEEP(register_host)
SWEEP(create_stream)
SWEEP(record_event)
SWEEP(copy_pageable)
SWEEP(copy_to_host)
SWEEP(call_back)
SWEEP(submit_batch)
SWEEP(pool)
SWEEP(adaptors)

#define BLOCKS 1000

/* Lack of host memory for the tables has an error message of its own. */
static void test_tables_of_a_pool(void)
{
	struct accel_pool_options options = { 0 };
	unsigned int refusals = 0, nr = 0;
	struct accel_pool_stats stats;
	struct accel_pool *made;
	void *ptr[BLOCKS], *none;
	int err;

	mock_reset();
	mock_add_sized(0, BLOCKS * 64, BLOCKS * 64);
	expect(accel_device_open(0, &dev), 0);
	options.initial_size = options.maximum_size = BLOCKS * 64;
	options.granule = 64;
	expect(accel_pool_create(dev, NULL, &options, &made), 0);
	while (nr < BLOCKS) {
		fail_in = 1;
		err = accel_pool_allocate(made, NULL, 64, nr % 2 ? 64 : 1, &ptr[nr]);
		fail_in = 0;
		nr += !err;
		if (!err)
			continue;
		ok(err == -ENOMEM && strstr(accel_last_error(), "out of memory"));
		refusals++;
		expect(accel_pool_allocate(made, NULL, 64, 1, &ptr[nr++]), 0);
	}
	ok(refusals > 0);
	fail_in = 1;
	expect(accel_pool_allocate_exportable(made, NULL, 1, 1, &none), -ENOMEM);
	fail_in = 0;
	ok(!none && strstr(accel_last_error(), "out of memory"));
	expect(accel_pool_get_stats(made, &stats), 0);
	ok(stats.failures == refusals && stats.count == BLOCKS);
	expect(accel_pool_check(made), 0);
	while (nr--)
		expect(accel_pool_deallocate(made, NULL, ptr[nr], 64, 1), 0);
	expect(accel_pool_destroy(made), 0);
	expect(accel_device_close(dev), 0);
}

#define EXPORTABLE 40 /* their tables grow once */

/* Each allocation of host memory fails, one after the other: a block is there whole, or not at all. */
static void test_tables_of_exportable_blocks(void)
{
	struct accel_pool_stats stats;
	struct accel_pool *made;
	void *ptr[EXPORTABLE];
	unsigned int nr = 0;
	bool failed;
	int err;

	mock_reset();
	mock_add_sized(0, EXPORTABLE * 64, EXPORTABLE * 64);
	expect(accel_device_open(0, &dev), 0);
	expect(accel_pool_create(dev, NULL, NULL, &made), 0);
	for (int at = 1; nr < EXPORTABLE; at = failed ? at + 1 : 1) {
		fail_in = at;
		err = accel_pool_allocate_exportable(made, NULL, 64, 1, &ptr[nr]);
		failed = !fail_in;
		fail_in = 0;
		ok(!err || err == -ENOMEM);
		if (!err && failed)
			expect(accel_pool_deallocate(made, NULL, ptr[nr], 64, 1), 0);
		nr += !err && !failed;
		expect(accel_pool_get_stats(made, &stats), 0);
		ok(stats.count == nr && stats.chunks == nr && stats.chunk_bytes == nr * 64);
	}
	expect(accel_pool_check(made), 0);
	while (nr--)
		expect(accel_pool_deallocate(made, NULL, ptr[nr], 64, 1), 0);
	expect(accel_pool_destroy(made), 0);
	expect(accel_device_close(dev), 0);
}

/* Lack of host memory for a chunk does not count as a refusal of upstream, which lasts for 100 ms. */
static void test_chunk_of_a_pool(void)
{
	struct accel_pool *made;
	void *ptr;

	dev = open_card();
	expect(accel_pool_create(dev, NULL, NULL, &made), 0);
	fail_in = 1;
	refused(accel_pool_allocate(made, NULL, 64, 1, &ptr), -ENOMEM, "out of memory");
	ok(!fail_in && !mock_calls(PACCEL_NR_MEM_ALLOC));
	expect(accel_pool_allocate(made, NULL, 64, 1, &ptr), 0);
	expect(accel_pool_deallocate(made, NULL, ptr, 64, 1), 0);
	expect(accel_pool_destroy(made), 0);
	expect(accel_device_close(dev), 0);
}

int main(void)
{
	RUN(test_open_another);
	RUN(test_allocate_device);
	RUN(test_allocate_host);
	RUN(test_register_host);
	RUN(test_create_stream);
	RUN(test_record_event);
	RUN(test_copy_pageable);
	RUN(test_copy_to_host);
	RUN(test_call_back);
	RUN(test_submit_batch);
	RUN(test_pool);
	RUN(test_tables_of_a_pool);
	RUN(test_tables_of_exportable_blocks);
	RUN(test_chunk_of_a_pool);
	RUN(test_adaptors);
	return tap_end();
}
