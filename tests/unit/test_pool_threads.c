/* SPDX-License-Identifier: MIT */
/*
 * Pools that several threads use: counts are exact, all memory is within the reach of each thread, and
 * a thread that finds the lock taken gets on. Also built with the thread sanitizer.
 */
#include "heap.h"

#include "pool/pool_private.h"
#include "pool/pool_quick.h"

#include <sched.h>
#include <semaphore.h>

#define SIZE ((size_t)16 << 20)
#define WORKERS 4

static struct heap heap;
static struct accel_pool *pool;

static void set_up(void)
{
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_pool_options options = { 0 };

	heap = (struct heap){ .limit = 0 };
	options.granule = 64;
	options.initial_size = options.maximum_size = SIZE;
	expect(accel_pool_create(NULL, &upstream, &options, &pool), 0);
}

static struct accel_pool_stats stats_of(void)
{
	struct accel_pool_stats stats;

	expect(accel_pool_get_stats(pool, &stats), 0);
	expect(accel_pool_check(pool), 0);
	return stats;
}

static void tear_down(void)
{
	struct accel_pool_stats stats = stats_of();

	ok(!stats.bytes && !stats.count && stats.largest_free == SIZE && stats.free_blocks == 1);
	expect(accel_pool_destroy(pool), 0);
	ok(heap.allocations == 1 && heap.frees == 1);
}

static char *block(size_t size)
{
	void *ptr = NULL;

	expect(accel_pool_allocate(pool, NULL, size, 1, &ptr), 0);
	return ptr;
}

static void give(void *ptr, size_t size)
{
	expect(accel_pool_deallocate(pool, NULL, ptr, size, 1), 0);
}

/* Each worker has its number, from 0 on. */
static void in_threads(void *(*work)(void *arg))
{
	pthread_t threads[WORKERS];

	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
}

/* Before there is a second thread, and after. */
static void test_lock(void)
{
	struct lock lock = { 0 };

	lock_take(&lock);
	ok(!lock_try(&lock));
	lock_give(&lock);
	ok(lock_try(&lock));
	lock_give(&lock);
	ok(!lock.state);
}

static void *allocates_aligned(void *arg)
{
	expect(accel_pool_allocate(pool, NULL, 1000, 128, arg), 0);
	return NULL;
}

static void *frees_aligned(void *arg)
{
	expect(accel_pool_deallocate(pool, NULL, *(void **)arg, 1000, 128), 0);
	return NULL;
}

/* The call of another thread sleeps until this one gives the lock. */
static void find_lock_taken(void *(*call)(void *arg), void *arg)
{
	pthread_t thread;

	lock_take(&pool->lock);
	pthread_create(&thread, NULL, call, arg);
	while (__atomic_load_n(&pool->lock.state, __ATOMIC_RELAXED) != 2)
		sched_yield();
	ok(pool->space.nr_used == 1);
	lock_give(&pool->lock);
	pthread_join(thread, NULL);
}

static void test_lock_taken(void)
{
	void *ptr = NULL;
	char *other;

	set_up();
	other = block(64);
	find_lock_taken(allocates_aligned, &ptr);
	ok(ptr && stats_of().count == 2);
	give(other, 64);
	find_lock_taken(frees_aligned, &ptr);
	tear_down();
}

#define LIVE 64
#define STEPS 20000

/* Sums after each call, and the peak is that of all sums before. */
static void test_counts_are_exact(void)
{
	size_t sizes[LIVE] = { 0 }, sum = 0, peak = 0, used = 0, total = 0;
	unsigned int seed = 1, wrong = 0, nr = 0;
	struct accel_pool_stats stats;
	void *live[LIVE];

	set_up();
	for (int i = 0; i < STEPS; i++) {
		int at = rand_r(&seed) % LIVE;

		if (sizes[at]) {
			give(live[at], sizes[at]);
			sum -= sizes[at];
			used -= (sizes[at] + 63) / 64 * 64;
			sizes[at] = 0;
			nr--;
		} else {
			/* From time to time more than ever. */
			sizes[at] = 1 + (size_t)rand_r(&seed) % (1000 + (size_t)i);
			live[at] = block(sizes[at]);
			sum += sizes[at];
			total += sizes[at];
			used += (sizes[at] + 63) / 64 * 64;
			peak = sum > peak ? sum : peak;
			nr++;
		}
		expect(accel_pool_get_stats(pool, &stats), 0);
		wrong += stats.bytes != sum || stats.peak_bytes != peak || stats.count != nr ||
			 stats.used_bytes != used || stats.total_bytes != total;
		wrong += stats.used_bytes + stats.free_bytes != SIZE;
		if (i % 1000 == 0)
			expect(accel_pool_check(pool), 0);
	}
	ok(!wrong);
	pool->bytes++;
	refused(accel_pool_check(pool), -EUCLEAN, "counted");
	pool->bytes--;
	for (int i = 0; i < LIVE; i++)
		if (sizes[i])
			give(live[i], sizes[i]);
	ok(stats_of().peak_bytes == peak);
	tear_down();
}

#define KEPT 32
#define ROUNDS 2000
static pthread_barrier_t together;

/* Never more than KEPT blocks, and as many when the others have as many too. */
static void *allocates_up_to(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg, nr = 0;
	void *live[KEPT];

	for (int i = 0; i < ROUNDS; i++)
		if (nr < KEPT && rand_r(&seed) % 3)
			live[nr++] = block(1000);
		else if (nr)
			give(live[--nr], 1000);
	while (nr < KEPT)
		live[nr++] = block(1000);
	pthread_barrier_wait(&together);
	while (nr)
		give(live[--nr], 1000);
	return NULL;
}

static void test_peak_of_threads(void)
{
	set_up();
	pthread_barrier_init(&together, NULL, WORKERS);
	in_threads(allocates_up_to);
	pthread_barrier_destroy(&together);
	ok(stats_of().peak_bytes == WORKERS * KEPT * 1000 && !stats_of().bytes);
	tear_down();
}

static void *kept[WORKERS];

static void *keeps_one(void *arg)
{
	kept[(uintptr_t)arg] = block(64);
	return NULL;
}

static void *fills_up(void *arg)
{
	struct { unsigned int nr; void *ptr[64]; } *all = arg;

	while (all->nr < 64 && !accel_pool_allocate(pool, NULL, 300000, 1, &all->ptr[all->nr]))
		all->nr++;
	return NULL;
}

/* After other threads have used the pool, one thread still gets all that is free. */
static void test_nothing_is_out_of_reach(void)
{
	struct { unsigned int nr; void *ptr[64]; } all = { 0 };
	pthread_t thread;

	set_up();
	in_threads(keeps_one);
	pthread_create(&thread, NULL, fills_up, &all);
	pthread_join(thread, NULL);
	/* 16 MiB have room for 55 of them; the small blocks may be in the way of one each. */
	ok(all.nr >= 55 - WORKERS && all.nr <= 55);
	ok(stats_of().largest_free < 300032);
	while (all.nr)
		give(all.ptr[--all.nr], 300000);
	for (int i = 0; i < WORKERS; i++)
		give(kept[i], 64);
	tear_down();
}

static void *frees_of_next(void *arg)
{
	uintptr_t next = ((uintptr_t)arg + 1) % WORKERS;

	give(kept[next], 64);
	refused(accel_pool_deallocate(pool, NULL, kept[next], 64, 1), -ENOENT, "freed before");
	return NULL;
}

/* A block may be freed by another thread than the one that allocated it, and once. */
static void test_freed_by_another_thread(void)
{
	set_up();
	in_threads(keeps_one);
	ok(stats_of().count == WORKERS && stats_of().bytes == WORKERS * 64);
	in_threads(frees_of_next);
	tear_down();
}

/* ---- Chunks that move ---- */

static sem_t moving, given;
static int slow; /* the next so many calls of upstream */
static bool moved, is_late; /* is_late: no thread waits for it */

static bool has_waiters(void)
{
	bool found;

	lock_take(&pool->lock);
	found = pool->waiters;
	lock_give(&pool->lock);
	return found;
}

/* Until another thread waits for the chunk. */
static void move_slowly(void)
{
	if (__atomic_load_n(&slow, __ATOMIC_RELAXED) <= 0 ||
	    __atomic_fetch_sub(&slow, 1, __ATOMIC_RELAXED) <= 0)
		return;
	sem_post(&moving);
	while (!has_waiters() && !__atomic_load_n(&is_late, __ATOMIC_RELAXED))
		sched_yield();
	__atomic_store_n(&moved, true, __ATOMIC_RELAXED);
}

/* Which the slow move waits for. */
static char *block_beside_the_move(void)
{
	char *ptr = block(1024);

	ok(__atomic_load_n(&moved, __ATOMIC_RELAXED));
	__atomic_store_n(&is_late, true, __ATOMIC_RELAXED);
	return ptr;
}

static int slow_allocate(void *context, struct accel_stream *stream, size_t size,
			 size_t alignment, void **ptr)
{
	move_slowly();
	return heap_allocate(context, stream, size, alignment, ptr);
}

static int slow_deallocate(void *context, struct accel_stream *stream, void *ptr, size_t size,
			   size_t alignment)
{
	move_slowly();
	return heap_deallocate(context, stream, ptr, size, alignment);
}

static const struct accel_resource_ops slow_ops = {
	.allocate = slow_allocate,
	.deallocate = slow_deallocate,
};

/* A pool that has at most one chunk, and gives it back when it is free. */
static void set_up_moving(const struct accel_resource_ops *ops)
{
	struct accel_resource upstream = { .ops = ops, .context = &heap };
	struct accel_pool_options options = { 0 };

	heap = (struct heap){ .limit = 0 };
	moved = is_late = false;
	slow = 0;
	sem_init(&moving, 0, 0);
	options.granule = 64;
	options.flags = ACCEL_POOL_RELEASE;
	options.growth_size = options.maximum_size = 4096;
	expect(accel_pool_create(NULL, &upstream, &options, &pool), 0);
}

static void tear_down_moving(void)
{
	ok(!stats_of().bytes && !stats_of().count && !pool->moving_bytes);
	expect(accel_pool_destroy(pool), 0);
	ok(heap.allocations == heap.frees && !heap.bytes);
	sem_destroy(&moving);
}

static void *allocates_one(void *arg)
{
	*(char **)arg = block(1024);
	return NULL;
}

static void *frees_one(void *arg)
{
	give(arg, 1024);
	return NULL;
}

/* A second thread waits for the chunk of the first one if that may help, and else does not. */
static void test_while_another_grows(void)
{
	pthread_t thread;
	char *first = NULL, *second;
	void *none;

	set_up_moving(&slow_ops);
	slow = 1;
	pthread_create(&thread, NULL, allocates_one, &first);
	sem_wait(&moving);
	refused(accel_pool_allocate(pool, NULL, 4097, 1, &none), -ENOMEM, "maximum_size");
	ok(!__atomic_load_n(&moved, __ATOMIC_RELAXED));
	second = block_beside_the_move();
	pthread_join(thread, NULL);
	ok(second && heap.allocations == 1 && stats_of().failures == 1);
	give(second, 1024);
	give(first, 1024);
	tear_down_moving();
}

static void test_while_another_gives_back(void)
{
	pthread_t thread;
	char *ptr;

	set_up_moving(&slow_ops);
	ptr = block(1024);
	slow = 1;
	pthread_create(&thread, NULL, frees_one, ptr);
	sem_wait(&moving);
	ptr = block_beside_the_move();
	pthread_join(thread, NULL);
	ok(ptr && heap.allocations == 2 && heap.frees == 1 && !stats_of().failures);
	give(ptr, 1024);
	tear_down_moving();
}

/* As many as have room, while their chunk comes and goes. */
static void *comes_and_goes(void *arg)
{
	char *ptr;

	for (int i = 0; i < ROUNDS; i++) {
		ptr = block(1024);
		if (ptr)
			give(ptr, 1024);
	}
	return arg;
}

static void test_all_wait_for_one_chunk(void)
{
	set_up_moving(&slow_ops);
	in_threads(comes_and_goes);
	ok(!stats_of().failures);
	tear_down_moving();
}

static void *keeps_1024(void *arg)
{
	kept[(uintptr_t)arg] = block(1024);
	return NULL;
}

/* What one thread would like to have does not keep the others from what they need. */
static void test_all_get_what_they_need(void)
{
	for (int i = 0; i < 100; i++) {
		set_up_moving(&slow_ops);
		heap.limit = WORKERS * 1024;
		pool->growth_size = pool->maximum_size = 2 * heap.limit;
		in_threads(keeps_1024);
		for (int j = 0; j < WORKERS; j++)
			if (kept[j])
				give(kept[j], 1024);
		ok(!stats_of().failures);
		tear_down_moving();
	}
}

/* Says that there is no memory when another thread has given some back meanwhile. */
static int late_allocate(void *context, struct accel_stream *stream, size_t size,
			 size_t alignment, void **ptr)
{
	int err = heap_allocate(context, stream, size, alignment, ptr);

	if (err && __atomic_fetch_sub(&slow, 1, __ATOMIC_RELAXED) == 1) {
		sem_post(&moving);
		sem_wait(&given);
	}
	return err;
}

static const struct accel_resource_ops late_ops = {
	.allocate = late_allocate,
	.deallocate = heap_deallocate,
};

static void *allocates_all(void *arg)
{
	*(char **)arg = block(4096);
	return NULL;
}

static void test_given_back_before_the_refusal(void)
{
	char *first, *second = NULL;
	pthread_t thread;

	set_up_moving(&late_ops);
	sem_init(&given, 0, 0);
	heap.limit = 4096;
	pool->maximum_size = 0;
	first = block(4096);
	slow = 1;
	pthread_create(&thread, NULL, allocates_all, &second);
	sem_wait(&moving);
	give(first, 4096);
	ok(heap.frees == 1);
	sem_post(&given);
	pthread_join(thread, NULL);
	ok(second && !stats_of().failures);
	if (second)
		give(second, 4096);
	sem_destroy(&given);
	tear_down_moving();
}

static int calling_allocate(void *context, struct accel_stream *stream, size_t size,
			    size_t alignment, void **ptr)
{
	void *none;

	/* No other thread can end what this one has begun. */
	expect(accel_pool_allocate(pool, NULL, 64, 1, &none), -ENOMEM);
	expect(accel_pool_trim(pool, 0), 0);
	return heap_allocate(context, stream, size, alignment, ptr);
}

static const struct accel_resource_ops calling_ops = {
	.allocate = calling_allocate,
	.deallocate = heap_deallocate,
};

static void test_upstream_that_calls_the_pool(void)
{
	char *ptr;

	set_up_moving(&calling_ops);
	ptr = block(1024);
	ok(ptr && stats_of().failures == 1);
	give(ptr, 1024);
	tear_down_moving();
}

/* ---- Chunks that move all the time ---- */

#define WANTED 8192 /* bytes that upstream never has */
#define MOST_ROUNDS 100000 /* of a call that does not return */
static sem_t asked, answered, begun[2];
static unsigned int rounds;
static bool over;

/* While upstream refuses WANTED bytes another thread takes a chunk and gives it back. */
static int crossed_allocate(void *context, struct accel_stream *stream, size_t size,
			    size_t alignment, void **ptr)
{
	if (size == WANTED && rounds++ < MOST_ROUNDS) {
		sem_post(&asked);
		sem_wait(&answered);
	}
	return heap_allocate(context, stream, size, alignment, ptr);
}

static const struct accel_resource_ops crossed_ops = {
	.allocate = crossed_allocate,
	.deallocate = heap_deallocate,
};

static void *takes_and_gives_back(void *arg)
{
	for (sem_wait(&asked); !over; sem_wait(&asked)) {
		give(block(1024), 1024);
		sem_post(&answered);
	}
	return arg;
}

/* A call requests WANTED bytes at most twice, whatever is given back meanwhile. */
static void test_refused_while_others_give_back(void)
{
	pthread_t thread;
	void *none;

	set_up_moving(&crossed_ops);
	sem_init(&asked, 0, 0);
	sem_init(&answered, 0, 0);
	heap.limit = 4096;
	pool->growth_size = 1024;
	pool->maximum_size = rounds = 0;
	over = false;
	pthread_create(&thread, NULL, takes_and_gives_back, NULL);
	expect(accel_pool_allocate(pool, NULL, WANTED, 1, &none), -ENOMEM);
	ok(rounds == 2 && stats_of().failures == 1);
	over = true;
	sem_post(&asked);
	pthread_join(thread, NULL);
	sem_destroy(&asked);
	sem_destroy(&answered);
	tear_down_moving();
}

/* Returns when the other thread has begun a call as well: so there is always one. */
static int overlapping_allocate(void *context, struct accel_stream *stream, size_t size,
				size_t alignment, void **ptr)
{
	if (size != 1024 && size != 2048)
		return heap_allocate(context, stream, size, alignment, ptr);
	sem_post(&begun[size == 2048]);
	sem_wait(&begun[size != 2048]);
	if (__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED) == MOST_ROUNDS)
		__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	return heap_allocate(context, stream, size, alignment, ptr);
}

static const struct accel_resource_ops overlapping_ops = {
	.allocate = overlapping_allocate,
	.deallocate = heap_deallocate,
};

static void *requests_exportable(void *arg)
{
	size_t size = arg ? 2048 : 1024;
	void *none;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		expect(accel_pool_allocate_exportable(pool, NULL, size, 1, &none), -EOPNOTSUPP);
	sem_post(&begun[!!arg]);
	return arg;
}

/* A call does not wait for exportable blocks that are being allocated. */
static void test_while_others_request_exportable(void)
{
	pthread_t threads[2];
	void *none;

	set_up_moving(&overlapping_ops);
	rounds = 0;
	over = false;
	for (uintptr_t i = 0; i < 2; i++)
		sem_init(&begun[i], 0, 0);
	pthread_create(&threads[0], NULL, requests_exportable, NULL);
	sem_wait(&begun[0]);
	pthread_create(&threads[1], NULL, requests_exportable, &threads);
	refused(accel_pool_allocate(pool, NULL, 4096, 1, &none), -ENOMEM, "maximum_size");
	ok(!none && !__atomic_exchange_n(&over, true, __ATOMIC_RELAXED));
	for (uintptr_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (uintptr_t i = 0; i < 2; i++)
		sem_destroy(&begun[i]);
	if (none)
		give(none, 4096);
	tear_down_moving();
}

/* Chunks of 4096 bytes stay in here when they are given back, and those of 1024 when they are taken. */
static void hold(sem_t *until)
{
	if (__atomic_load_n(&over, __ATOMIC_RELAXED))
		return;
	sem_post(&moving);
	sem_wait(until);
}

static int held_allocate(void *context, struct accel_stream *stream, size_t size, size_t alignment,
			 void **ptr)
{
	if (size == 1024)
		hold(&begun[1]);
	return heap_allocate(context, stream, size, alignment, ptr);
}

static int held_deallocate(void *context, struct accel_stream *stream, void *ptr, size_t size,
			   size_t alignment)
{
	if (size == 4096)
		hold(&begun[0]);
	return heap_deallocate(context, stream, ptr, size, alignment);
}

static const struct accel_resource_ops held_ops = {
	.allocate = held_allocate,
	.deallocate = held_deallocate,
};

static void *frees_all(void *arg)
{
	give(arg, 4096);
	return NULL;
}

static void *lacks_memory(void *arg)
{
	void *none;

	refused(accel_pool_allocate(pool, NULL, 8192, 1, &none), -ENOMEM, "maximum_size");
	return arg;
}

static bool is_waited(void)
{
	bool waited;

	lock_take(&pool->lock);
	waited = pool->waiters;
	lock_give(&pool->lock);
	return waited;
}

/* A call waits for a chunk that was moving when it found nothing, and not for the next one. */
static void test_waits_once(void)
{
	pthread_t gives, waits, takes;
	char *ptr;

	set_up_moving(&held_ops);
	pool->growth_size = 1024;
	pool->maximum_size = 8192;
	over = false;
	for (int i = 0; i < 2; i++)
		sem_init(&begun[i], 0, 0);
	pthread_create(&gives, NULL, frees_all, block(4096));
	sem_wait(&moving);
	pthread_create(&waits, NULL, lacks_memory, NULL);
	while (!is_waited())
		sched_yield();
	pthread_create(&takes, NULL, allocates_one, &ptr);
	sem_wait(&moving);
	ok(is_waited());
	sem_post(&begun[0]);
	pthread_join(waits, NULL);
	pthread_join(gives, NULL);
	ok(pool->moving_bytes == 1024 && heap.allocations == 1);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	sem_post(&begun[1]);
	pthread_join(takes, NULL);
	give(ptr, 1024);
	for (int i = 0; i < 2; i++)
		sem_destroy(&begun[i]);
	tear_down_moving();
}

/* ---- The debug mode ---- */

#define LARGE 20000
static bool enough;

static void set_up_debug(void)
{
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_pool_options options = { 0 };

	heap = (struct heap){ .limit = 0 };
	options.flags = ACCEL_POOL_DEBUG;
	options.initial_size = options.maximum_size = SIZE;
	expect(accel_pool_create(NULL, &upstream, &options, &pool), 0);
}

static void *allocates_and_frees(void *arg)
{
	while (!__atomic_load_n(&enough, __ATOMIC_RELAXED))
		give(block(LARGE), LARGE);
	return arg;
}

/* A check does not take the patterns of a block that changes hands for damage. */
static void test_debug_check_beside_a_thread(void)
{
	pthread_t thread;

	set_up_debug();
	enough = false;
	pthread_create(&thread, NULL, allocates_and_frees, NULL);
	for (int i = 0; i < 50; i++)
		expect(accel_pool_check(pool), 0);
	__atomic_store_n(&enough, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	ok(!stats_of().corruptions);
	tear_down();
}

/* What another thread does while a check reads, and when that call has come as far as it can. */
static struct {
	void *(*call)(void *arg);
	bool (*waits)(void);
	pthread_t thread;
} beside;

static void *frees_the_block(void *arg)
{
	give(kept[0], LARGE);
	return arg;
}

/* Block 0: it does not wait, and has freed the block. */
static bool is_busy(void)
{
	uint32_t index = *space_at(&pool->space, (uintptr_t)kept[0]);

	return !index || pool->space.blocks[index].stream == POOL_BUSY;
}

static void *allocates_a_block(void *arg)
{
	kept[0] = block(LARGE);
	return arg;
}

static bool is_allocated(void)
{
	return pool->space.nr_used == 1;
}

static void *trims(void *arg)
{
	expect(accel_pool_trim(pool, 0), 0);
	return arg;
}

static bool has_no_chunk(void)
{
	return !pool->nr_chunks;
}

static void while_it_is_read(void)
{
	bool waits = false;

	pthread_create(&beside.thread, NULL, beside.call, NULL);
	while (!waits) {
		sched_yield();
		lock_take(&pool->lock);
		waits = beside.waits();
		lock_give(&pool->lock);
	}
}

static void check_beside(void *(*call)(void *arg), bool (*waits)(void))
{
	beside.call = call;
	beside.waits = waits;
	mock_before(PACCEL_NR_COPY, while_it_is_read);
	expect(accel_pool_check(pool), 0);
	pthread_join(beside.thread, NULL);
	expect(accel_pool_check(pool), 0);
}

/* The memory stays as it is until it has been read, and the call returns what it would without a check. */
static void test_calls_wait_for_a_check(void)
{
	const struct accel_pool_options options = { .flags = ACCEL_POOL_DEBUG,
						    .initial_size = 4 * LARGE };
	struct accel_device *dev;

	mock_reset();
	mock_add_sized(0, 8 * LARGE, 8 * LARGE);
	expect(accel_device_open(0, &dev), 0);
	expect(accel_pool_create(dev, NULL, &options, &pool), 0);
	check_beside(allocates_a_block, is_allocated);
	check_beside(frees_the_block, is_busy);
	check_beside(trims, has_no_chunk);
	ok(!stats_of().corruptions);
	expect(accel_pool_destroy(pool), 0);
	expect(accel_device_close(dev), 0);
}

static unsigned int freed;

/* Who is late must not have touched the block either: it may be in use again. */
static void *frees_what_all_free(void *arg)
{
	int err;

	pthread_barrier_wait(&together);
	err = accel_pool_deallocate(pool, NULL, kept[0], LARGE, 1);
	ok(!err || err == -ENOENT);
	if (!err)
		__atomic_add_fetch(&freed, 1, __ATOMIC_RELAXED);
	return arg;
}

static void test_debug_one_of_many_frees_wins(void)
{
	set_up_debug();
	pthread_barrier_init(&together, NULL, WORKERS);
	for (int i = 0; i < 100; i++) {
		freed = 0;
		kept[0] = block(LARGE);
		in_threads(frees_what_all_free);
		ok(freed == 1);
	}
	pthread_barrier_destroy(&together);
	ok(!stats_of().corruptions);
	tear_down();
}

static bool up_to(void *data, uint64_t ticket)
{
	return ticket_point(ticket) <= *(uint64_t *)data;
}

/*
 * Two threads that free on one stream may take the lock in another order than that of their sequence
 * numbers. The newest number of a stream covers all of its blocks all the same.
 */
static void test_numbers_out_of_order(void)
{
	uint64_t points[SPACE_STREAMS], passed = 5;
	uint32_t edge, blocks[3];
	struct space space;

	expect(space_init(&space, 8), 0);
	edge = space_add_region(&space, 1 << 20, 3);
	for (int i = 0; i < 3; i++)
		blocks[i] = space_take_any(&space, 1, 1, 0);
	space.waiting[1] = waiting_create();
	for (int i = 0; i < 3; i += 2)
		space_release_after(&space, space_at(&space, space.blocks[blocks[i]].addr),
				    ticket_make(1, i ? 5 : 6));
	ok(!space_check(&space) && space.nr_waiting == 2 && space.waiting_granules == 2);
	ok(space_points(&space, points, 0) && points[1] == 6);
	space_settle(&space, UINT32_MAX, up_to, &passed);
	ok(space.nr_waiting == 2);
	passed = 6;
	space_settle(&space, UINT32_MAX, up_to, &passed);
	ok(!space.nr_waiting && !space.waiting_granules && !space_check(&space));
	ok(!space_points(&space, points, 0) && space_largest(&space) == 1);
	space_release(&space, space_at(&space, space.blocks[blocks[1]].addr));
	ok(space_region_free(&space, edge) && space_largest(&space) == 3);
	space_destroy(&space);
}

/* A search for each size, among pieces of many sizes in lists of their own and in shared ones. */
static void test_bins(void)
{
	uint32_t sizes[200], index, best, seed = 1;
	struct space space;

	expect(space_init(&space, 8), 0);
	for (int i = 0; i < 200; i++) {
		/* Of all magnitudes up to 2^27, apart from each other. */
		sizes[i] = 1 + (uint32_t)rand_r(&seed) % (2u << rand_r(&seed) % 27);
		ok(space_add_region(&space, (uintptr_t)(i + 1) << 40, sizes[i]));
	}
	expect(!!space_check(&space), 0);
	for (int i = 0; i < 2000; i++) {
		uint32_t size = 1 + (uint32_t)rand_r(&seed) % (2u << rand_r(&seed) % 27);

		best = 0;
		for (int j = 0; j < 200; j++)
			if (sizes[j] >= size && (!best || sizes[j] < best))
				best = sizes[j];
		index = bins_find(&space, space.free, size);
		ok((index ? space.blocks[index].size : 0) == best);
	}
	space_destroy(&space);
}

static void *exports(void *arg)
{
	size_t size = 64 * (1 + (uintptr_t)arg);
	void *ptr, *other;

	for (int i = 0; i < 300; i++) {
		expect(accel_pool_allocate_exportable(pool, NULL, size, 1, &ptr), 0);
		other = block(size);
		give(ptr, size);
		give(other, size);
	}
	return NULL;
}

/* Blocks that can be exported, and others beside them; the table of addresses finds all of them. */
static void test_exportable_in_threads(void)
{
	struct accel_pool_options options = { 0 };
	struct accel_device *dev = open_card();
	struct accel_pool_stats stats;
	void *ptr;

	options.granule = 64;
	options.initial_size = 1024;
	expect(accel_pool_create(dev, NULL, &options, &pool), 0);
	expect(accel_pool_allocate_exportable(pool, NULL, 64, 1, &ptr), 0);
	ok(*space_at(&pool->space, (uintptr_t)ptr) && stats_of().count == 1);
	give(ptr, 64);
	in_threads(exports);
	stats = stats_of();
	ok(!stats.bytes && !stats.count && stats.total_count == 1 + 2 * 300 * WORKERS);
	ok(!stats.failures && stats.chunk_bytes == 1024);
	expect(accel_pool_destroy(pool), 0);
	expect(accel_device_close(dev), 0);
}

int main(void)
{
	RUN(test_lock);
	RUN(test_counts_are_exact);
	RUN(test_lock_taken);
	RUN(test_peak_of_threads);
	RUN(test_nothing_is_out_of_reach);
	RUN(test_freed_by_another_thread);
	RUN(test_while_another_grows);
	RUN(test_while_another_gives_back);
	RUN(test_all_wait_for_one_chunk);
	RUN(test_all_get_what_they_need);
	RUN(test_given_back_before_the_refusal);
	RUN(test_upstream_that_calls_the_pool);
	RUN(test_refused_while_others_give_back);
	RUN(test_while_others_request_exportable);
	RUN(test_waits_once);
	RUN(test_exportable_in_threads);
	RUN(test_debug_check_beside_a_thread);
	RUN(test_calls_wait_for_a_check);
	RUN(test_debug_one_of_many_frees_wins);
	RUN(test_numbers_out_of_order);
	RUN(test_bins);
	RUN(test_lock);
	return tap_end();
}
