/* SPDX-License-Identifier: MIT */
/* Pools and streams, and pools and threads; also built with the thread sanitizer. */
#include "heap.h"

#include <accel/pool.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#define CARD (1 << 20)

static struct accel_device *dev;
static struct accel_stream *one, *two;
static struct accel_pool *pool;
static struct heap heap;

static struct accel_pool_stats stats_of(void)
{
	struct accel_pool_stats stats;

	expect(accel_pool_get_stats(pool, &stats), 0);
	return stats;
}

static void open_with_streams(void)
{
	mock_add_sized(0, CARD, CARD);
	expect(accel_device_open(0, &dev), 0);
	expect(accel_stream_create(dev, &one), 0);
	expect(accel_stream_create(dev, &two), 0);
}

/* A pool of so many bytes that does not grow, on a card with two streams. */
static void set_up(size_t size)
{
	struct accel_pool_options options = { 0 };

	open_with_streams();
	options.granule = 64;
	options.initial_size = options.maximum_size = size;
	expect(accel_pool_create(dev, NULL, &options, &pool), 0);
}

static void tear_down(void)
{
	expect(accel_pool_check(pool), 0);
	expect(accel_pool_destroy(pool), 0);
	expect(accel_device_close(dev), 0);
}

static char *block(struct accel_stream *stream, size_t size)
{
	void *ptr = NULL;

	expect(accel_pool_allocate(pool, stream, size, 1, &ptr), 0);
	return ptr;
}

static void give(struct accel_stream *stream, void *ptr, size_t size)
{
	expect(accel_pool_deallocate(pool, stream, ptr, size, 1), 0);
}

/* Work on a stream that is not done before mock_release(). */
static void keep_busy(struct accel_stream *stream, char *ptr)
{
	expect(accel_async_device_memory_set(dev, stream, ptr, 1, 64), 0);
}

static void test_same_stream_at_once(void)
{
	unsigned int calls;
	char *a;

	set_up(1024);
	a = block(one, 1024);
	mock_hold(0);
	keep_busy(one, a);
	mock_wait_held(0, 1);
	calls = mock_all_calls();
	for (int i = 0; i < 100; i++) {
		give(one, a, 1024);
		ok(stats_of().waiting_bytes == 1024 && !stats_of().largest_free);
		ok(block(one, 1024) == a);
		expect(accel_pool_check(pool), 0);
	}
	ok(mock_all_calls() == calls && !stats_of().taken_over);
	mock_release(0);
	give(one, a, 1024);
	tear_down();
}

/* Another stream has the rest, and what was freed when its work has ended. */
static void test_other_stream_later(void)
{
	char *a, *b, *c;

	set_up(1024);
	a = block(one, 512);
	mock_hold(0);
	keep_busy(one, a);
	mock_wait_held(0, 1);
	give(one, a, 512);
	b = block(two, 256);
	ok(b == a + 512 && stats_of().waiting_bytes == 512);
	mock_release(0);
	expect(accel_stream_synchronize(one), 0);
	c = block(two, 512);
	ok(c == a && !stats_of().taken_over && !stats_of().waiting_bytes);
	give(two, b, 256);
	give(two, c, 512);
	ok(stats_of().largest_free == 1024 && stats_of().free_blocks == 1);
	tear_down();
}

/* So has who allocates without a stream: the best fit is what was freed, not the rest. */
static void test_no_stream_later(void)
{
	char *a, *wall, *b;

	set_up(1024);
	a = block(one, 128);
	wall = block(NULL, 64);
	mock_hold(0);
	keep_busy(one, a);
	mock_wait_held(0, 1);
	give(one, a, 128);
	b = block(NULL, 128);
	ok(b == wall + 64);
	give(NULL, b, 128);
	mock_release(0);
	expect(accel_stream_synchronize(one), 0);
	b = block(NULL, 128);
	ok(b == a);
	give(NULL, b, 128);
	give(NULL, wall, 64);
	ok(stats_of().free_blocks == 1);
	tear_down();
}

/* Nothing else serves: the stream waits, and the caller does not. */
static void test_stream_takes_over(void)
{
	char *a, *b, *c;

	set_up(1024);
	a = block(one, 512);
	b = block(one, 512);
	mock_hold(0);
	keep_busy(one, a);
	mock_wait_held(0, 1);
	give(one, a, 512);
	give(one, b, 512);
	c = block(two, 1000);
	ok(c == a && stats_of().taken_over == 1);
	expect(accel_async_device_memory_set(dev, two, c, 2, 64), 0);
	ok(accel_stream_query(two) == -EINPROGRESS);
	mock_release(0);
	expect(accel_stream_synchronize(two), 0);
	/* In this order, or it would be 1. */
	ok(*mock_memory(0, MOCK_BASE) == 2);
	give(two, c, 1000);
	tear_down();
}

/* What one stream took over and did not use waits for that stream then. */
static void test_rest_after_take_over(void)
{
	char *a, *b;

	set_up(1024);
	a = block(one, 1024);
	mock_hold(0);
	keep_busy(one, a);
	mock_wait_held(0, 1);
	give(one, a, 1024);
	b = block(two, 64);
	ok(stats_of().waiting_bytes == 960 && stats_of().taken_over == 1);
	ok(block(two, 960) == b + 64 && stats_of().taken_over == 1);
	give(two, b + 64, 960);
	/* Back again: the other way round. */
	ok(block(one, 960) == b + 64 && stats_of().taken_over == 2);
	mock_release(0);
	give(one, b + 64, 960);
	give(two, b, 64);
	expect(accel_device_synchronize(dev), 0);
	ok(stats_of().largest_free == 1024);
	tear_down();
}

static void *release_later(void *arg)
{
	mock_wait_calls(PACCEL_NR_WAIT, 1);
	mock_release(0);
	return arg;
}

/* Stream NULL is the caller, who waits. */
static void test_caller_takes_over(void)
{
	pthread_t thread;
	char *a;

	set_up(1024);
	a = block(one, 1024);
	mock_hold(0);
	keep_busy(one, a);
	mock_wait_held(0, 1);
	give(one, a, 1024);
	pthread_create(&thread, NULL, release_later, NULL);
	ok(block(NULL, 1024) == a && stats_of().taken_over == 1);
	expect(accel_stream_query(one), 0);
	pthread_join(thread, NULL);
	give(NULL, a, 1024);
	tear_down();
}

/* Upstream may know nothing of streams: nothing is given back that work may still use. */
static void test_destroy_waits(void)
{
	pthread_t thread;
	char *a;

	set_up(1024);
	a = block(one, 1024);
	mock_hold(0);
	keep_busy(one, a);
	mock_wait_held(0, 1);
	give(one, a, 1024);
	pthread_create(&thread, NULL, release_later, NULL);
	expect(accel_pool_destroy(pool), 0);
	ok(!accel_stream_query(one));
	pthread_join(thread, NULL);
	expect(accel_device_close(dev), 0);
}

/* One WAIT for each stream, however many blocks wait for it. */
static void test_destroy_waits_once(void)
{
	pthread_t thread;
	char *blocks[8];
	unsigned int calls;

	set_up(1024);
	for (int i = 0; i < 8; i++)
		blocks[i] = block(one, 128);
	mock_hold(0);
	/* Each free has a sequence number of its own, and no two neighbours become one block. */
	for (int i = 0; i < 8; i += 2) {
		keep_busy(one, blocks[i]);
		give(one, blocks[i], 128);
	}
	mock_wait_held(0, 1);
	for (int i = 1; i < 8; i += 2)
		give(NULL, blocks[i], 128);
	ok(stats_of().waiting_bytes == 4 * 128);
	calls = mock_calls(PACCEL_NR_WAIT);
	pthread_create(&thread, NULL, release_later, NULL);
	expect(accel_pool_destroy(pool), 0);
	pthread_join(thread, NULL);
	ok(mock_calls(PACCEL_NR_WAIT) == calls + 1);
	ok(!accel_stream_query(one));
	expect(accel_device_close(dev), 0);
}

/* With room upstream it still waits, and does not grow; with too little it grows. */
static void test_grows_if_waiting_does_not_help(void)
{
	struct accel_pool_options options = { 0 };
	char *a, *b;

	set_up(1024);
	expect(accel_pool_destroy(pool), 0);
	options.initial_size = 1024;
	options.growth_size = 64;
	expect(accel_pool_create(dev, NULL, &options, &pool), 0);
	a = block(one, 1024);
	mock_hold(0);
	keep_busy(one, a);
	mock_wait_held(0, 1);
	give(one, a, 1024);
	b = block(two, 2048);
	ok(stats_of().chunks == 2 && !stats_of().taken_over);
	mock_release(0);
	give(two, b, 2048);
	tear_down();
}

/* Neighbours that wait for one stream are one; for two they are not, until both have come so far. */
static void test_neighbours(void)
{
	static const int orders[][4] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 1, 2, 0, 3 } };
	char *parts[4];
	int i;

	set_up(1024);
	for (i = 0; i < 4; i++)
		parts[i] = block(i < 2 ? one : two, 256);
	mock_hold(0);
	keep_busy(one, parts[0]);
	keep_busy(two, parts[2]);
	mock_wait_held(0, 1);
	for (int round = 0; round < 3; round++) {
		for (int j = 0; j < 4; j++) {
			i = orders[round][j];
			give(i < 2 ? one : two, parts[i], 256);
			expect(accel_pool_check(pool), 0);
		}
		ok(stats_of().free_blocks == 2 && stats_of().waiting_bytes == 1024);
		for (i = 0; i < 4 && round < 2; i++)
			parts[i] = block(i < 2 ? one : two, 256);
		ok(!stats_of().taken_over);
	}
	/* Where they begin. */
	parts[0] = block(one, 512);
	parts[2] = block(two, 512);
	give(one, parts[0], 512);
	give(two, parts[2], 512);
	ok(block(two, 300) == parts[2]);
	expect(accel_pool_check(pool), 0);
	ok(block(one, 400) == parts[0]);
	give(one, parts[0], 400);
	give(two, parts[2], 300);
	mock_release(0);
	expect(accel_device_synchronize(dev), 0);
	ok(stats_of().free_blocks == 1 && stats_of().largest_free == 1024);
	tear_down();
}

static void test_aligned_of_those_that_wait(void)
{
	void *ptr;
	char *a;

	set_up(4096);
	a = block(one, 4096);
	mock_hold(0);
	keep_busy(one, a);
	mock_wait_held(0, 1);
	give(one, a, 4096);
	ptr = block(one, 64);
	expect(accel_pool_allocate(pool, one, 64, 1024, (void **)&a), 0);
	ok(!((uintptr_t)a % 1024));
	expect(accel_pool_check(pool), 0);
	expect(accel_pool_deallocate(pool, one, a, 64, 1024), 0);
	give(one, ptr, 64);
	ok(stats_of().free_blocks == 1 && stats_of().waiting_bytes == 4096);
	mock_release(0);
	expect(accel_stream_synchronize(one), 0);
	tear_down();
}

/*
 * No call sees when the work ends that a free chunk waits for. The next free gives it back, also
 * if another call has found that it has ended.
 */
static void test_given_back_when_work_has_ended(void)
{
	struct accel_pool_options options = { 0 };
	char *a, *b, *c;

	open_with_streams();
	options.granule = 64;
	options.growth_size = 4096;
	options.flags = ACCEL_POOL_RELEASE;
	expect(accel_pool_create(dev, NULL, &options, &pool), 0);
	for (int found = 0; found < 2; found++) {
		a = block(NULL, 4096);
		b = block(NULL, 2048);
		c = block(NULL, 2048);
		mock_hold(0);
		keep_busy(one, a);
		mock_wait_held(0, 1);
		give(one, a, 4096);
		ok(stats_of().chunks == 2);
		mock_release(0);
		expect(accel_stream_synchronize(one), 0);
		ok(!found || !stats_of().waiting_bytes);
		give(NULL, c, 2048);
		ok(stats_of().chunks == 1);
		give(NULL, b, 2048);
		ok(!stats_of().chunks);
	}
	tear_down();
}

/* Work that has failed has ended. A stream that waits for it in vain fails too. */
static void test_failed_work(void)
{
	char *a;

	set_up(1024);
	a = block(one, 1024);
	mock_fail_operation(0, 1, EIO);
	keep_busy(one, a);
	expect(accel_stream_synchronize(one), -EIO);
	give(one, a, 1024);
	ok(!stats_of().waiting_bytes);
	ok(block(two, 1024) == a && !stats_of().taken_over);
	give(two, a, 1024);
	expect(accel_stream_query(two), 0);
	tear_down();
}

/* A stream that fails still waits for the work whose memory it has taken over. */
static void test_failed_taker(void)
{
	int fence;
	char *a;

	set_up(1024);
	fence = mock_fence();
	a = block(one, 1024);
	mock_hold(0);
	keep_busy(one, a);
	mock_wait_held(0, 1);
	give(one, a, 1024);
	expect(accel_stream_wait_fence(two, fence), 0);
	ok(block(two, 1024) == a && stats_of().taken_over == 1);
	give(two, a, 1024);
	mock_fence_signal(fence, -EIO);
	mock_wait_idle();
	ok(stats_of().waiting_bytes == 1024);
	mock_release(0);
	expect(accel_stream_synchronize(two), -EIO);
	ok(!stats_of().waiting_bytes);
	close(fence);
	tear_down();
}

static void test_refused_streams(void)
{
	struct accel_device *other;
	struct accel_stream *foreign;
	void *ptr;
	char *a;

	set_up(1024);
	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	expect(accel_stream_create(other, &foreign), 0);
	a = block(one, 64);
	refused(accel_pool_allocate(pool, foreign, 1, 1, &ptr), -EINVAL, "belongs to");
	refused(accel_pool_deallocate(pool, foreign, a, 64, 1), -EINVAL, "belongs to");
	expect(accel_stream_destroy(two), 0);
	refused(accel_pool_allocate(pool, two, 1, 1, &ptr), -EINVAL, "destroyed");
	refused(accel_pool_deallocate(pool, two, a, 64, 1), -EINVAL, "destroyed");
	ok(stats_of().count == 1);
	mock_lose(0);
	expect(accel_pool_allocate(pool, one, 1, 1, &ptr), -ESTALE);
	expect(accel_pool_deallocate(pool, one, a, 64, 1), -ESTALE);
	/* Without a stream nobody is asked. */
	give(NULL, a, 64);
	tear_down();
	expect(accel_device_close(other), 0);
}

/* A stream that is destroyed leaves no trap, also if its number comes back. */
static void test_destroyed_stream(void)
{
	struct accel_stream *again;
	char *a;

	set_up(1024);
	a = block(one, 1024);
	mock_hold(0);
	keep_busy(one, a);
	mock_wait_held(0, 1);
	give(one, a, 1024);
	expect(accel_stream_destroy(one), 0);
	ok(stats_of().waiting_bytes == 1024);
	mock_release(0);
	expect(accel_device_synchronize(dev), 0);
	expect(accel_stream_create(dev, &again), 0);
	ok(block(two, 1024) == a && !stats_of().taken_over);
	give(again, a, 1024);
	tear_down();
}

static void in_callback(void *data, int status)
{
	struct accel_stream *stream = data;
	void *ptr;

	expect(status, 0);
	expect(accel_pool_allocate(pool, stream, 1, 1, &ptr), -EDEADLK);
	/* On another stream it may. */
	give(two, block(two, 64), 64);
}

static void test_callback(void)
{
	set_up(1024);
	expect(accel_stream_add_callback(one, in_callback, one), 0);
	expect(accel_stream_synchronize(one), 0);
	tear_down();
}

static sem_t growing, refused_there;

/* Until the callback is over, or for 5 s. */
static int grows_slowly(void *context, struct accel_stream *stream, size_t size, size_t alignment,
			void **ptr)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 5;
	sem_post(&growing);
	ok(!sem_timedwait(&refused_there, &until));
	return heap_ops.allocate(context, stream, size, alignment, ptr);
}

static const struct accel_resource_ops slow_ops = {
	.allocate = grows_slowly,
	.deallocate = heap_deallocate,
};

static void asks_beside(void *data, int status)
{
	void *ptr;

	expect(status, 0);
	sem_wait(&growing);
	refused(accel_pool_allocate(data, NULL, 64, 1, &ptr), -ENOMEM, "maximum_size");
	sem_post(&refused_there);
}

/* In a callback no call waits for a chunk of another thread: that one may wait for the callback. */
static void test_callback_beside_growth(void)
{
	struct accel_pool_options options = { 0 };
	struct accel_resource upstream = { .ops = &slow_ops, .context = &heap };

	open_with_streams();
	heap = (struct heap){ .limit = 0 };
	sem_init(&growing, 0, 0);
	sem_init(&refused_there, 0, 0);
	options.growth_size = options.maximum_size = 4096;
	expect(accel_pool_create(dev, &upstream, &options, &pool), 0);
	expect(accel_stream_add_callback(one, asks_beside, pool), 0);
	give(NULL, block(NULL, 64), 64);
	expect(accel_stream_synchronize(one), 0);
	sem_destroy(&growing);
	sem_destroy(&refused_there);
	tear_down();
}

static void destroy_in_callback(void *data, int status)
{
	expect(status, 0);
	if (data)
		refused(accel_pool_destroy(pool), -EDEADLK, "callback");
	else
		expect(accel_pool_destroy(pool), 0);
}

/* The pool has the last open of its device: the close would wait for the callback. */
static void test_destroy_in_callback(void)
{
	struct accel_stream *stream;

	set_up(1024);
	stream = one;
	expect(accel_device_close(dev), 0);
	expect(accel_stream_add_callback(stream, destroy_in_callback, stream), 0);
	expect(accel_stream_synchronize(stream), 0);
	/* It goes on. */
	give(NULL, block(NULL, 64), 64);
	expect(accel_pool_destroy(pool), 0);
	ok(!mock_files());
	mock_reset();
	set_up(1024);
	expect(accel_stream_add_callback(one, destroy_in_callback, NULL), 0);
	expect(accel_stream_synchronize(one), 0);
	ok(mock_files() == 1);
	expect(accel_device_close(dev), 0);
	ok(!mock_files());
}

/* ---- Random: work really overlaps, and every byte is that of the last who may write ---- */

#define LIVE 24
#define SHARE 64

static void test_random(void)
{
	struct accel_stream *streams[3];
	struct {
		char *ptr;
		size_t size;
		struct accel_stream *stream;
	} live[LIVE];
	unsigned int seed = 7, nr = 0;
	void *ptr;

	set_up(16 * SHARE);
	streams[0] = one;
	streams[1] = two;
	expect(accel_stream_create(dev, &streams[2]), 0);
	for (int i = 0; i < 2000; i++) {
		struct accel_stream *stream = streams[rand_r(&seed) % 3];
		size_t size = SHARE * (size_t)(1 + rand_r(&seed) % 4);

		/* As much as is queued until then fits into the queues. */
		if (i % 50 == 0) {
			expect(accel_device_synchronize(dev), 0);
			mock_hold(0);
		}
		if (i % 50 == 10)
			mock_release(0);
		if (nr < LIVE && rand_r(&seed) % 2 &&
		    !accel_pool_allocate(pool, stream, size, 1, &ptr)) {
			for (unsigned int j = 0; j < nr; j++)
				ok((char *)ptr + size <= live[j].ptr ||
				   (char *)ptr >= live[j].ptr + live[j].size);
			live[nr].ptr = ptr;
			live[nr].size = size;
			live[nr++].stream = stream;
			expect(accel_async_device_memory_set(dev, stream, ptr, (unsigned char)i,
							     size),
			       0);
		} else if (nr) {
			unsigned int j = (unsigned int)rand_r(&seed) % nr;

			give(live[j].stream, live[j].ptr, live[j].size);
			live[j] = live[--nr];
		}
		if (i % 20 == 0)
			expect(accel_pool_check(pool), 0);
	}
	mock_release(0);
	while (nr--)
		give(live[nr].stream, live[nr].ptr, live[nr].size);
	expect(accel_device_synchronize(dev), 0);
	ok(stats_of().largest_free == 16 * SHARE && stats_of().free_blocks == 1);
	tear_down();
}

/* ---- Threads ---- */

#define THREADS 6
#define ROUNDS 20000
#define KEPT 40
#define SPACE (64 << 20)

static uint64_t most;

static void on_the_heap(void)
{
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_pool_options options = { 0 };

	heap = (struct heap){ .limit = 0 };
	options.granule = 64;
	options.initial_size = options.maximum_size = SPACE;
	expect(accel_pool_create(NULL, &upstream, &options, &pool), 0);
}

/* Memory that two threads have at once is seen by the sanitizer, and by the marks. */
static void *works(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg, nr = 0;
	struct {
		unsigned int *ptr;
		size_t size;
	} live[KEPT];
	void *ptr;

	for (int i = 0; i < ROUNDS; i++) {
		size_t size = 4 + (size_t)rand_r(&seed) % 20000;

		if (nr < KEPT && rand_r(&seed) % 100 < 60 &&
		    !accel_pool_allocate(pool, NULL, size, 1, &ptr)) {
			live[nr].ptr = ptr;
			*live[nr].ptr = seed + nr;
			live[nr++].size = size;
		} else if (nr) {
			unsigned int j = (unsigned int)rand_r(&seed) % nr;

			*live[j].ptr = 0;
			give(NULL, live[j].ptr, live[j].size);
			live[j] = live[--nr];
		}
		if (i % 4096 == 4095)
			ok(stats_of().peak_bytes <= SPACE);
	}
	while (nr--)
		give(NULL, live[nr].ptr, live[nr].size);
	return NULL;
}

static void in_threads(void *(*work)(void *arg))
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* However it was divided among threads, it is one again. */
static void test_threads(void)
{
	struct accel_pool_stats stats;
	void *ptr;

	on_the_heap();
	in_threads(works);
	stats = stats_of();
	ok(!stats.bytes && !stats.count && stats.largest_free == SPACE);
	ok(stats.peak_bytes <= THREADS * KEPT * 20004u && stats.peak_bytes >= 20004);
	expect(accel_pool_check(pool), 0);
	expect(accel_pool_allocate(pool, NULL, SPACE, 1, &ptr), 0);
	give(NULL, ptr, SPACE);
	expect(accel_pool_destroy(pool), 0);
	ok(heap.allocations == 1 && heap.frees == 1);
}

static pthread_barrier_t barrier;
static void *handed[THREADS][KEPT];

/* Each frees what another one has allocated; the sum of all is known at every barrier. */
static void *passes_on(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg - 1, from = (me + 1) % THREADS;

	for (int round = 0; round < 60; round++) {
		for (int i = 0; i < KEPT; i++)
			expect(accel_pool_allocate(pool, NULL, 1000, 1, &handed[me][i]), 0);
		pthread_barrier_wait(&barrier);
		if (!me) {
			ok(stats_of().bytes == THREADS * KEPT * 1000u);
			ok(stats_of().count == THREADS * KEPT);
			ok(stats_of().peak_bytes == THREADS * KEPT * 1000u);
			expect(accel_pool_check(pool), 0);
		}
		pthread_barrier_wait(&barrier);
		for (int i = 0; i < KEPT; i++)
			give(NULL, handed[from][i], 1000);
		refused(accel_pool_deallocate(pool, NULL, handed[from][0], 1000, 1), -ENOENT,
			"freed before");
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void test_passed_on(void)
{
	on_the_heap();
	pthread_barrier_init(&barrier, NULL, THREADS);
	in_threads(passes_on);
	pthread_barrier_destroy(&barrier);
	ok(stats_of().total_count == THREADS * 60 * KEPT && !stats_of().bytes);
	expect(accel_pool_destroy(pool), 0);
}

static void *frees_once(void *arg)
{
	int err = accel_pool_deallocate(pool, NULL, handed[0][0], 64, 1);

	ok(!err || err == -ENOENT);
	if (!err)
		__atomic_add_fetch(&most, 1, __ATOMIC_RELAXED);
	return arg;
}

static void test_one_of_many_frees_wins(void)
{
	on_the_heap();
	for (int i = 0; i < 50; i++) {
		most = 0;
		handed[0][0] = block(NULL, 64);
		in_threads(frees_once);
		ok(most == 1);
	}
	expect(accel_pool_destroy(pool), 0);
}

/* Chunks come and go under the feet of others. */
static void *grows(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	void *ptr;

	for (int i = 0; i < 400; i++) {
		size_t size = 1 + (size_t)rand_r(&seed) % 100000;

		if (!accel_pool_allocate(pool, NULL, size, 1, &ptr))
			give(NULL, ptr, size);
		if (i % 64 == 0)
			expect(accel_pool_trim(pool, 0), 0);
	}
	return NULL;
}

static void test_threads_that_grow(void)
{
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_pool_options options = { 0 };

	heap = (struct heap){ .limit = 0 };
	options.growth_size = 4096;
	options.maximum_size = 400000;
	options.flags = ACCEL_POOL_RELEASE;
	options.release_threshold = 50000;
	expect(accel_pool_create(NULL, &upstream, &options, &pool), 0);
	in_threads(grows);
	expect(accel_pool_check(pool), 0);
	ok(stats_of().peak_chunk_bytes <= 400000 && !stats_of().bytes);
	expect(accel_pool_destroy(pool), 0);
	ok(heap.allocations == heap.frees && !heap.bytes);
}

int main(void)
{
	RUN(test_same_stream_at_once);
	RUN(test_other_stream_later);
	RUN(test_no_stream_later);
	RUN(test_stream_takes_over);
	RUN(test_rest_after_take_over);
	RUN(test_caller_takes_over);
	RUN(test_destroy_waits);
	RUN(test_destroy_waits_once);
	RUN(test_grows_if_waiting_does_not_help);
	RUN(test_neighbours);
	RUN(test_aligned_of_those_that_wait);
	RUN(test_given_back_when_work_has_ended);
	RUN(test_failed_work);
	RUN(test_failed_taker);
	RUN(test_refused_streams);
	RUN(test_destroyed_stream);
	RUN(test_callback);
	RUN(test_callback_beside_growth);
	RUN(test_destroy_in_callback);
	RUN(test_random);
	RUN(test_threads);
	RUN(test_passed_on);
	RUN(test_one_of_many_frees_wins);
	RUN(test_threads_that_grow);
	return tap_end();
}
