/* SPDX-License-Identifier: MIT */
/*
 * Pools that threads have divided. Whether threads meet is chance, so this test looks inside: it
 * takes the lock itself, and has a thread find it taken.
 */
#include "heap.h"

#include "pool/pool_private.h"

#include <sched.h>

#define SIZE ((size_t)16 << 20)

static struct heap heap;
static struct accel_pool *pool;

static void set_up(void)
{
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_pool_options options = ACCEL_POOL_OPTIONS_INIT;

	heap = (struct heap){ .limit = 0 };
	options.granule = 64;
	options.initial_size = options.maximum_size = SIZE;
	expect(accel_pool_create(NULL, &upstream, &options, &pool), 0);
	/* However many processors this machine has. */
	pool->max_arenas = 4;
}

static struct accel_pool_stats stats_of(void)
{
	struct accel_pool_stats stats;

	expect(accel_pool_stats(pool, &stats), 0);
	expect(accel_pool_check(pool), 0);
	return stats;
}

static void tear_down(void)
{
	struct accel_pool_stats stats = stats_of();

	ok(!stats.bytes && !stats.count && stats.largest_free == SIZE);
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

struct job {
	size_t size;
	unsigned int nr;
	char *ptr[64];
};

#define OF(count, bytes) { .size = (bytes), .nr = (count) }

static void *allocates(void *arg)
{
	struct job *job = arg;

	for (unsigned int i = 0; i < job->nr; i++)
		job->ptr[i] = block(job->size);
	return NULL;
}

/* The thread has to wait once, so often that the pool gives it an arena of its own. */
static void in_the_way(struct job *job)
{
	pthread_t thread;

	lock_take(&pool->arenas[0].lock);
	__atomic_store_n(&pool->contended, 1u << 30, __ATOMIC_RELAXED);
	pthread_create(&thread, NULL, allocates, job);
	while (!__atomic_load_n(&pool->lock.state, __ATOMIC_RELAXED))
		sched_yield();
	lock_give(&pool->arenas[0].lock);
	pthread_join(thread, NULL);
}

static void free_job(struct job *job)
{
	for (unsigned int i = 0; i < job->nr; i++)
		give(job->ptr[i], job->size);
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

/* The first thread has the first arena for itself, the others get new ones, as many as there may be. */
static void divide(struct job jobs[5])
{
	for (int i = 0; i < 5; i++) {
		in_the_way(&jobs[i]);
		expect(accel_pool_check(pool), 0);
	}
	ok(pool->nr_arenas == 4);
}

static void test_divided_and_one_again(void)
{
	struct job jobs[5] = { OF(10, 1000), OF(10, 2000), OF(10, 3000), OF(10, 4000),
			       OF(10, 5000) };
	struct accel_pool_stats stats;
	char *most;

	set_up();
	divide(jobs);
	stats = stats_of();
	ok(stats.bytes == 150000 && stats.peak_bytes == 150000 && stats.count == 50);
	ok(stats.total_count == 50 && stats.total_bytes == 150000 && stats.chunks == 1);
	/* Freed by a thread of another arena, and only once. */
	free_job(&jobs[1]);
	refused(accel_pool_deallocate(pool, NULL, jobs[1].ptr[3], 2000, 1), -ENOENT, "freed before");
	free_job(&jobs[3]);
	stats = stats_of();
	ok(stats.bytes == 90000 && stats.peak_bytes == 150000 && pool->nr_arenas == 4);
	/* More than any arena has: they become one, and nothing is lost. */
	ok(stats.largest_free > pool_bytes(pool, pool->regions->size));
	most = block(stats.largest_free);
	ok(pool->nr_arenas == 1 && pool->folds == 1 && !pool->regions->next);
	/* That took as long as there were blocks: it has to be worth it to be divided again. */
	ok(pool->tolerance >= POOL_TOLERANCE + 10);
	ok(stats_of().largest_free < stats.largest_free);
	ok(stats_of().bytes == 90000 + stats.largest_free && stats_of().total_count == 51);
	ok(stats_of().peak_bytes == 90000 + stats.largest_free);
	give(most, stats.largest_free);
	free_job(&jobs[0]);
	free_job(&jobs[2]);
	free_job(&jobs[4]);
	ok(stats_of().free_blocks == 1);
	tear_down();
}

/* The peak was between two frees, in other arenas. */
static void test_peak_over_arenas(void)
{
	struct job jobs[5] = { OF(1, 64), OF(1, 64), OF(1, 64), OF(1, 64), OF(1, 64) };
	struct job large = OF(10, 100000), larger = OF(12, 100000);

	set_up();
	divide(jobs);
	in_the_way(&large);
	free_job(&large);
	in_the_way(&larger);
	give(larger.ptr[0], 100000);
	ok(stats_of().peak_bytes == 5 * 64 + 1200000 && stats_of().bytes == 5 * 64 + 1100000);
	larger.ptr[0] = larger.ptr[--larger.nr];
	free_job(&larger);
	for (int i = 0; i < 5; i++)
		free_job(&jobs[i]);
	tear_down();
}

/* This thread goes there from now on. */
static void go_to(unsigned int number)
{
	unsigned int slot = (pool_thread ? pool_thread : pool_new_thread()) % POOL_SLOTS;

	__atomic_store_n(&pool->arena_of[slot], number | POOL_SETTLED, __ATOMIC_RELAXED);
}

#define LIVE 64
#define STEPS 20000

/* One call after the other, in any arena: the peak is that of a sum after each of them. */
static void test_peak_is_exact(void)
{
	struct job jobs[5] = { OF(1, 64), OF(1, 64), OF(1, 64), OF(1, 64), OF(1, 64) };
	size_t sizes[LIVE] = { 0 }, sum = 5 * 64, peak = sum;
	void *live[LIVE];
	unsigned int seed = 1, wrong = 0;

	set_up();
	divide(jobs);
	for (int i = 0; i < STEPS; i++) {
		int at = rand_r(&seed) % LIVE;

		go_to(rand_r(&seed) % 4);
		if (sizes[at]) {
			give(live[at], sizes[at]);
			sum -= sizes[at];
			sizes[at] = 0;
		} else {
			/* From time to time more than ever. */
			sizes[at] = 1 + rand_r(&seed) % (1000 + i);
			live[at] = block(sizes[at]);
			sum += sizes[at];
			peak = sum > peak ? sum : peak;
		}
		wrong += __atomic_load_n(&pool->peak_bytes, __ATOMIC_RELAXED) != peak;
		if (i % 1000 == 0)
			ok(stats_of().bytes == sum && stats_of().peak_bytes == peak);
	}
	ok(!wrong && pool->nr_arenas == 4);
	pool->peak_bytes++;
	refused(accel_pool_check(pool), -EUCLEAN, "the peak is not");
	pool->peak_bytes--;
	for (int i = 0; i < LIVE; i++)
		if (sizes[i])
			give(live[i], sizes[i]);
	for (int i = 0; i < 5; i++)
		free_job(&jobs[i]);
	ok(stats_of().peak_bytes == peak);
	tear_down();
}

#define WORKERS 4
#define KEPT 32
#define ROUNDS 2000
static pthread_barrier_t together;

/* Never more than KEPT blocks, and as many when the others have as many too. */
static void *allocates_up_to(void *arg)
{
	unsigned int *number = arg, seed = *number, nr = 0;
	void *live[KEPT];

	go_to(*number);
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

/* Several threads at once, who take each other's credit: none of it is lost, and none is made. */
static void test_peak_of_threads(void)
{
	struct job jobs[5] = { OF(1, 64), OF(1, 64), OF(1, 64), OF(1, 64), OF(1, 64) };
	unsigned int numbers[WORKERS];
	pthread_t threads[WORKERS];

	set_up();
	divide(jobs);
	pthread_barrier_init(&together, NULL, WORKERS);
	for (unsigned int i = 0; i < WORKERS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, allocates_up_to, &numbers[i]);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&together);
	ok(stats_of().peak_bytes == WORKERS * KEPT * 1000 + 5 * 64 && stats_of().bytes == 5 * 64);
	for (int i = 0; i < 5; i++)
		free_job(&jobs[i]);
	tear_down();
}

static unsigned int arena_with(const void *ptr)
{
	for (unsigned int i = 0; i < pool->nr_arenas; i++)
		if (*space_at(&pool->arenas[i].space, (uintptr_t)ptr))
			return i;
	return POOL_ARENAS;
}

/* Who frees what another thread has allocated needs no lock but that of the arena that has it. */
static void test_free_asks_one_arena(void)
{
	struct job jobs[5] = { OF(9, 100000), OF(9, 100000), OF(9, 100000), OF(9, 100000),
			       OF(9, 100000) };
	unsigned int has;

	set_up();
	divide(jobs);
	go_to(0);
	for (unsigned int i = 0; i < 5; i++)
		for (int j = 0; j < 9; j++) {
			has = arena_with(jobs[i].ptr[j]);
			ok(has == i || i == 4);
			for (unsigned int k = 0; k < 4; k++)
				if (k != has)
					lock_take(&pool->arenas[k].lock);
			give(jobs[i].ptr[j], 100000);
			for (unsigned int k = 0; k < 4; k++)
				if (k != has)
					lock_give(&pool->arenas[k].lock);
		}
	tear_down();
}

/* It is a hint: where it is wrong, all arenas are asked. */
static void test_wrong_part(void)
{
	struct job jobs[5] = { OF(3, 1000), OF(3, 2000), OF(3, 3000), OF(3, 4000), OF(3, 5000) };

	set_up();
	divide(jobs);
	for (unsigned int wrong = 0; wrong < 4; wrong += 3) {
		memset(pool->part_of, (int)wrong, sizeof(pool->part_of));
		for (int i = 0; i < 5; i++) {
			give(jobs[i].ptr[wrong / 3], jobs[i].size);
			refused(accel_pool_deallocate(pool, NULL, jobs[i].ptr[wrong / 3],
						      jobs[i].size, 1), -ENOENT, "freed before");
			refused(accel_pool_deallocate(pool, NULL, jobs[i].ptr[2], 7, 1), -EINVAL,
				"and the block");
		}
	}
	for (int i = 0; i < 5; i++)
		give(jobs[i].ptr[2], jobs[i].size);
	tear_down();
}

static void *allocates_in_third(void *arg)
{
	go_to(2);
	/* Not the short way, which is not for alignments. */
	expect(accel_pool_allocate(pool, NULL, 1000, 128, arg), 0);
	return NULL;
}

static void *frees_from_third(void *arg)
{
	give(*(char **)arg, 1000);
	return NULL;
}

/* A thread waits for an arena, and when it gets it all has become part of the first one. */
static void fold_meanwhile(void *(*call)(void *), void *arg)
{
	pthread_t thread;

	lock_take(&pool->lock);
	for (unsigned int i = 0; i < 4; i++)
		lock_take(&pool->arenas[i].lock);
	pthread_create(&thread, NULL, call, arg);
	while (__atomic_load_n(&pool->arenas[2].lock.state, __ATOMIC_RELAXED) != 2)
		sched_yield();
	pool_fold(pool);
	pool_unlock_all(pool);
	pthread_join(thread, NULL);
	ok(pool->nr_arenas == 1 && !pool->arenas[2].space.free);
	expect(accel_pool_check(pool), 0);
}

static void test_gone_meanwhile(void)
{
	struct job jobs[5] = { OF(1, 1000), OF(1, 1000), OF(1, 1000), OF(1, 1000), OF(1, 1000) };
	void *ptr = NULL;

	set_up();
	divide(jobs);
	/* Leaves credit, which counts no more when they are several again. */
	go_to(1);
	give(block(5000), 5000);
	fold_meanwhile(allocates_in_third, &ptr);
	ok(ptr && stats_of().count == 6);
	expect(accel_pool_deallocate(pool, NULL, ptr, 1000, 128), 0);
	for (int i = 0; i < 5; i++)
		free_job(&jobs[i]);
	divide(jobs);
	fold_meanwhile(frees_from_third, &jobs[2].ptr[0]);
	ok(stats_of().count == 4);
	for (int i = 0; i < 5; i++)
		if (i != 2)
			free_job(&jobs[i]);
	tear_down();
}

/* A hole with used blocks on both sides is cut: there is a region behind. */
static void test_cut_in_the_middle(void)
{
	struct job jobs[3] = { OF(5, 1000), OF(5, 1000), OF(5, 1000) };
	char *before, *hole, *behind, *rest;

	set_up();
	before = block(1 << 20);
	hole = block(10 << 20);
	behind = block(64);
	rest = block(1 << 20);
	give(hole, 10 << 20);
	for (int i = 0; i < 3; i++)
		in_the_way(&jobs[i]);
	ok(pool->nr_arenas == 3 && pool->regions->next && pool->regions->next->next);
	expect(accel_pool_check(pool), 0);
	ok(stats_of().used_bytes == (2 << 20) + 64 + 15 * 1024);
	give(behind, 64);
	give(rest, 1 << 20);
	expect(accel_pool_check(pool), 0);
	for (int i = 0; i < 3; i++)
		free_job(&jobs[i]);
	give(before, 1 << 20);
	ok(stats_of().largest_free == SIZE && pool->nr_arenas == 3);
	expect(accel_pool_trim(pool, SIZE), 0);
	ok(pool->nr_arenas == 1 && heap.frees == 0);
	tear_down();
}

static void *fills_up(void *arg)
{
	struct job *job = arg;
	void *ptr;

	for (job->nr = 0; job->nr < 64; job->nr++) {
		if (accel_pool_allocate(pool, NULL, job->size, 1, &ptr))
			break;
		job->ptr[job->nr] = ptr;
	}
	return NULL;
}

/* An arena that has nothing more has that of the others: all the memory is to be had. */
static void test_nothing_is_out_of_reach(void)
{
	struct job jobs[5] = { OF(1, 64), OF(1, 64), OF(1, 64), OF(1, 64), OF(1, 64) };
	struct job all = OF(0, 300000), much = OF(18, 300000);
	pthread_t thread;

	set_up();
	divide(jobs);
	/* More than an arena has: it takes from others, and all stay what they are. */
	in_the_way(&much);
	ok(!pool->folds && pool->nr_arenas == 4);
	free_job(&much);
	pthread_create(&thread, NULL, fills_up, &all);
	pthread_join(thread, NULL);
	/* 16 MiB have room for 55 of them; the five blocks may be in the way of one each. */
	ok(all.nr >= 50 && all.nr <= 55);
	ok(stats_of().largest_free < 300032);
	free_job(&all);
	for (int i = 0; i < 5; i++)
		free_job(&jobs[i]);
	tear_down();
}

int main(void)
{
	RUN(test_lock);
	RUN(test_divided_and_one_again);
	RUN(test_peak_over_arenas);
	RUN(test_peak_is_exact);
	RUN(test_peak_of_threads);
	RUN(test_free_asks_one_arena);
	RUN(test_wrong_part);
	RUN(test_gone_meanwhile);
	RUN(test_lock);
	RUN(test_cut_in_the_middle);
	RUN(test_nothing_is_out_of_reach);
	return tap_end();
}
