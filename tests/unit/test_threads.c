/* SPDX-License-Identifier: MIT */
/* Many threads at once; also built with the thread sanitizer. */
#include "fixture.h"

#include "core/device.h"
#include "core/lock.h"
#include "core/memory.h"
#include "core/operand.h"
#include "core/range.h"
#include "core/stream.h"
#include "core/table.h"

#include <pthread.h>

#define THREADS 16
#define ROUNDS 200

static void in_threads(int count, void *(*work)(void *arg), void *arg)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, work, arg);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void *allocates_and_copies(void *arg)
{
	struct accel_device *dev = arg;
	unsigned int seed = (unsigned int)(uintptr_t)&seed;
	struct accel_pointer_info info;
	char in[128], back[128];
	uint64_t serial = 0;
	void *ptr;

	for (int i = 0; i < ROUNDS; i++) {
		size_t size = 1 + (size_t)rand_r(&seed) % 128;

		memset(in, rand_r(&seed), sizeof(in));
		expect(accel_device_memory_allocate(dev, &ptr, size), 0);
		expect(accel_memory_copy(ptr, in, size), 0);
		expect(accel_memory_copy_d2h(dev, back, ptr, size), 0);
		ok(!memcmp(in, back, size));
		expect(accel_pointer_get_info(ptr, &info), 0);
		ok(info.base == ptr && info.size == size && info.serial > serial);
		serial = info.serial;
		expect(accel_device_memory_deallocate(dev, ptr, size), 0);
	}
	return NULL;
}

static void test_one_card(void)
{
	struct accel_device *dev = open_card();
	struct accel_memory_stats stats;

	in_threads(THREADS, allocates_and_copies, dev);
	expect(accel_memory_stats_full(dev, &stats), 0);
	ok(!stats.used && stats.allocs == THREADS * ROUNDS);
	expect(accel_device_close(dev), 0);
}

static void *host_memory_comes_and_goes(void *arg)
{
	struct accel_device *dev = arg;
	char mine[64];
	void *ptr;
	int err;

	for (int i = 0; i < ROUNDS; i++) {
		err = accel_unified_memory_allocate(dev, &ptr, 100);
		ok(!err || err == -ENOSPC);
		if (!err) {
			expect(accel_device_memory_set(dev, ptr, 1, 100), 0);
			expect(accel_unified_memory_deallocate(dev, ptr, 100), 0);
		}
		err = accel_host_register(dev, mine, sizeof(mine), 0);
		ok(!err || err == -ENOSPC);
		if (!err)
			expect(accel_host_unregister(dev, mine), 0);
	}
	return NULL;
}

static void test_host_memory(void)
{
	struct accel_device *dev = open_card();

	in_threads(8, host_memory_comes_and_goes, dev);
	expect(accel_device_close(dev), 0);
}

/* ---- Copies while others change the tables ---- */

static struct accel_device *stable;
static char *place;
static bool over;

/* What it copies to is there all the time, so no copy may say otherwise. */
static void *copies_always(void *arg)
{
	struct accel_pointer_info info;
	char in[64], back[64];
	char *own = place + 64 * (intptr_t)arg;
	unsigned int wrong = 0;

	for (unsigned char i = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); i++) {
		memset(in, i, sizeof(in));
		wrong += accel_memory_copy(own, in, 64) || accel_memory_copy(back, own, 64) ||
			 memcmp(in, back, 64) || accel_pointer_get_info(own + 63, &info) ||
			 info.device != stable || info.base != place || info.size != 512;
	}
	ok(!wrong);
	return NULL;
}

/* Ranges around it, in the same tree, and other handles. */
static void *changes_tables(void *arg)
{
	struct accel_device *other;
	void *ptr[8];

	for (int i = 0; i < 4 * ROUNDS; i++) {
		for (int j = 0; j < 8; j++)
			expect(accel_device_memory_allocate(stable, &ptr[j], 64), 0);
		expect(accel_device_open(1, &other), 0);
		for (int j = 0; j < 8; j++)
			expect(accel_device_memory_deallocate(stable, ptr[(j * 3) % 8], 64), 0);
		expect(accel_device_close(other), 0);
	}
	return arg;
}

#define NODES 31

/* Nothing but changes of the tree, with the range that others look up at any height of it. */
static void *turns_the_tree(void *arg)
{
	struct device *device = handle_get(HANDLE_DEVICE, stable);
	const char *first = (const char *)arg;
	struct range *ranges[NODES], *taken;
	int err = 0;

	for (int i = 0; i < 100 * ROUNDS; i++) {
		for (int j = 0; j < NODES; j++) {
			ranges[j] = range_create(64, ACCEL_MEMORY_DEVICE);
			WRITE_SHARED(ranges[j]->base, (uintptr_t)first + 64 * (size_t)j);
			range_publish(device, ranges[j]);
		}
		for (int j = 0; j < NODES; j++) {
			err |= range_take(device, (void *)(first + 64 * j), 64, ACCEL_MEMORY_DEVICE,
					  &taken);
			if (!err)
				range_free(taken);
		}
	}
	ok(!err);
	return arg;
}

static void *looks_up(void *arg)
{
	struct accel_pointer_info info = { .serial = 0 };
	unsigned int wrong = 0;
	uint64_t serial;

	expect(accel_pointer_get_info(arg, &info), 0);
	serial = info.serial;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		struct operand operand = { .name = "ptr", .ptr = (uintptr_t)arg, .size = 512 };

		wrong += operand_resolve(&operand, NULL) || operand.serial != serial ||
			 accel_pointer_node(arg);
		if (operand.dev)
			device_drop(operand.dev);
	}
	ok(!wrong);
	return NULL;
}

static void test_look_ups_while_a_tree_turns(void)
{
	pthread_t readers[2], writers[2];

	mock_add_sized(0, 1 << 20, 1 << 20);
	expect(accel_device_open(0, &stable), 0);
	for (int i = 0; i < 100; i++)
		place = device_memory(stable, 512);
	over = false;
	for (int i = 0; i < 2; i++) {
		pthread_create(&readers[i], NULL, looks_up, place);
		pthread_create(&writers[i], NULL, turns_the_tree, place + 4096 * (i + 1));
	}
	for (int i = 0; i < 2; i++)
		pthread_join(writers[i], NULL);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	expect(accel_device_close(stable), 0);
}

static void test_copies_while_tables_change(void)
{
	pthread_t threads[4];

	stable = open_card();
	mock_add(1);
	place = device_memory(stable, 512);
	over = false;
	for (intptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, copies_always, (void *)i);
	in_threads(3, changes_tables, NULL);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	expect(accel_device_close(stable), 0);
}

static void *opens_and_closes(void *arg)
{
	struct accel_device *dev;
	void *ptr;

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		expect(accel_device_open(i % 2, &dev), 0);
		expect(accel_device_memory_allocate(dev, &ptr, 1), 0);
		expect(accel_device_memory_deallocate(dev, ptr, 1), 0);
		expect(accel_device_close(dev), 0);
	}
	return NULL;
}

static void test_opens(void)
{
	mock_add(0);
	mock_add(1);
	in_threads(8, opens_and_closes, NULL);
	ok(!mock_files());
}

static void counts(void *data, int status)
{
	(void)status;
	++*(int *)data;
}

static void *calls_back(void *arg)
{
	struct accel_device *dev;
	struct accel_stream *stream;

	for (int i = 0; i < ROUNDS; i++) {
		int calls = 0;

		expect(accel_device_open(i % 2, &dev), 0);
		expect(accel_stream_create(dev, &stream), 0);
		expect(accel_stream_add_callback(stream, counts, &calls), 0);
		expect(accel_stream_synchronize(stream), 0);
		ok(calls == 1);
		/* A stream that has not drained counts for the most that a handle may have. */
		mock_wait_idle();
		expect(accel_stream_destroy(stream), 0);
		expect(accel_device_close(dev), 0);
	}
	return arg;
}

/* The thread of the callbacks comes with the first device that has one, and ends with the last. */
static void test_first_and_last_callbacks(void)
{
	mock_add(0);
	mock_add(1);
	in_threads(4, calls_back, NULL);
	ok(!mock_files());
}

static struct accel_device *card;
static char *target;

static void *one_copy(void *arg)
{
	expect(accel_memory_copy(target, arg, 64), 0);
	return NULL;
}

/* The copy goes on in the driver; nothing of the library waits for it. */
static void test_nothing_waits_for_a_copy(void)
{
	static char bytes[64];
	pthread_t thread;
	size_t total, left;
	char *ptr;

	card = open_card();
	target = device_memory(card, 64);
	mock_hold(0);
	pthread_create(&thread, NULL, one_copy, bytes);
	mock_wait_held(0, 1);
	ptr = device_memory(card, 64);
	expect(accel_device_memory_deallocate(card, ptr, 64), 0);
	expect(accel_device_memory_deallocate(card, target, 64), 0);
	expect(accel_device_memory_stats(card, &total, &left), 0);
	expect(accel_host_register(card, bytes, 64, 0), 0);
	mock_release(0);
	pthread_join(thread, NULL);
	expect(accel_device_close(card), 0);
}

static void *copy_until_removed(void *arg)
{
	expect(accel_memory_copy(target, arg, 64), -ENODEV);
	return NULL;
}

static void test_removal_ends_copies(void)
{
	static char bytes[64];
	pthread_t threads[4];

	card = open_card();
	target = device_memory(card, 64);
	mock_hold(0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, copy_until_removed, bytes);
	mock_wait_held(0, 4);
	mock_remove(0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	expect(accel_device_close(card), 0);
}

/* A copy that is in flight keeps what it needs of the handle. */
static void test_last_close_while_a_copy_runs(void)
{
	static char bytes[64];
	pthread_t thread;

	card = open_card();
	target = device_memory(card, 64);
	mock_hold(0);
	pthread_create(&thread, NULL, one_copy, bytes);
	mock_wait_held(0, 1);
	expect(accel_device_close(card), 0);
	mock_release(0);
	pthread_join(thread, NULL);
}

static void *frees(void *arg)
{
	int *wins = arg;
	int err = accel_device_memory_deallocate(card, target, 64);

	ok(!err || err == -ENOENT);
	if (!err)
		__atomic_add_fetch(wins, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void test_one_of_many_frees_wins(void)
{
	card = open_card();
	for (int i = 0; i < 50; i++) {
		int wins = 0;

		target = device_memory(card, 64);
		in_threads(8, frees, &wins);
		ok(wins == 1);
	}
	expect(accel_device_close(card), 0);
}

static void *waits_for_its_streams(void *arg)
{
	struct accel_device *dev = arg;
	char *dst = device_memory(dev, 64), *src = host_memory(dev, 64);
	struct accel_stream *stream;
	int err;

	for (int i = 0; i < 100; i++) {
		err = accel_stream_create(dev, &stream);
		if (err) {
			ok(err == -ENOSPC);
			continue;
		}
		expect(accel_async_memory_copy_h2d(dev, stream, dst, src, 64), 0);
		expect(accel_device_synchronize(dev), 0);
		expect(accel_stream_query(stream), 0);
		expect(accel_stream_destroy(stream), 0);
	}
	return NULL;
}

/* A handle whose stream has ended has the number of one that another thread has just created. */
static void test_synchronize_while_streams_end(void)
{
	struct accel_device *dev = open_card();

	in_threads(4, waits_for_its_streams, dev);
	expect(accel_device_close(dev), 0);
}

static struct lock counting;
static unsigned int counted; /* under that lock */

static void *takes_the_lock(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		lock_take(&counting);
		counted++;
		lock_give(&counting);
	}
	return arg;
}

/* It is held until the others wait for the wake-up. */
static void test_lock_that_is_held_long(void)
{
	pthread_t threads[THREADS];

	lock_take(&counting);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, takes_the_lock, NULL);
	while (__atomic_load_n(&counting.state, __ATOMIC_RELAXED) != 2)
		sched_yield();
	ok(!counted);
	lock_give(&counting);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ok(counted == THREADS * ROUNDS);
}

int main(void)
{
	RUN(test_one_card);
	RUN(test_host_memory);
	RUN(test_look_ups_while_a_tree_turns);
	RUN(test_copies_while_tables_change);
	RUN(test_opens);
	RUN(test_first_and_last_callbacks);
	RUN(test_nothing_waits_for_a_copy);
	RUN(test_removal_ends_copies);
	RUN(test_last_close_while_a_copy_runs);
	RUN(test_one_of_many_frees_wins);
	RUN(test_synchronize_while_streams_end);
	RUN(test_lock_that_is_held_long);
	return tap_end();
}
