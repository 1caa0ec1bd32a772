/* SPDX-License-Identifier: MIT */
/* Many threads at once; also built with the thread sanitizer. */
#include "fixture.h"

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
		expect(accel_pointer_info(ptr, &info), 0);
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

int main(void)
{
	RUN(test_one_card);
	RUN(test_host_memory);
	RUN(test_opens);
	RUN(test_nothing_waits_for_a_copy);
	RUN(test_removal_ends_copies);
	RUN(test_last_close_while_a_copy_runs);
	RUN(test_one_of_many_frees_wins);
	return tap_end();
}
