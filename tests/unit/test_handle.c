/* SPDX-License-Identifier: MIT */
/*
 * Handles that are stale, of another kind, or none at all: -EINVAL, whatever has become of the
 * object. Also built with the thread sanitizer.
 */
#include "fixture.h"

#include <accel/pool.h>
#include <pthread.h>
#include <semaphore.h>

#define SIZE 64

static struct accel_device *dev;
static struct accel_stream *stream;
static struct accel_event *event;
static struct accel_batch *batch;
static char *device, *host;

static void set_up(void)
{
	dev = open_card();
	device = device_memory(dev, SIZE);
	host = host_memory(dev, SIZE);
	expect(accel_stream_create(dev, &stream), 0);
	expect(accel_event_create(dev, &event), 0);
	expect(accel_batch_create(dev, &batch), 0);
}

static void nothing(void *data, int status)
{
	(void)data;
	(void)status;
}

/* ---- Every call refuses a handle ---- */

static void refuse_stream(struct accel_stream *bad, const char *words)
{
	int fd;

	refused(accel_stream_query(bad), -EINVAL, words);
	refused(accel_stream_synchronize(bad), -EINVAL, words);
	refused(accel_stream_synchronize_until(bad, 0), -EINVAL, words);
	refused(accel_stream_clear(bad), -EINVAL, words);
	refused(accel_stream_clear_until(bad, 0), -EINVAL, words);
	refused(accel_stream_add_callback(bad, nothing, NULL), -EINVAL, words);
	refused(accel_stream_eventfd(bad, 0), -EINVAL, words);
	refused(accel_stream_export_fence(bad, &fd), -EINVAL, words);
	refused(accel_stream_wait_fence(bad, 0), -EINVAL, words);
	refused(accel_stream_destroy(bad), -EINVAL, words);
}

/* By calls that also take a handle that is live. */
static void refuse_stream_with_others(struct accel_stream *bad, const char *words)
{
	size_t failed;

	refused(accel_stream_wait_event(bad, event), -EINVAL, words);
	refused(accel_event_record(event, bad), -EINVAL, words);
	expect(accel_batch_device_memory_set(batch, device, 9, 1), 0);
	refused(accel_batch_submit(batch, bad, &failed), -EINVAL, words);
	refused(accel_async_device_memory_set(dev, bad, device, 9, 1), -EINVAL, words);
	refused(accel_async_memory_copy_h2d(dev, bad, device, host, 1), -EINVAL, words);
	refused(accel_async_memory_copy_d2h(dev, bad, host, device, 1), -EINVAL, words);
	refused(accel_async_memory_copy_p2p(dev, dev, bad, device, device + 1, 1), -EINVAL, words);
	refused(accel_async_memory_copy_2d(bad, device, 1, host, 1, 1, 1, 0), -EINVAL, words);
}

static void refuse_event(struct accel_event *bad, const char *words)
{
	int64_t ns;

	refused(accel_event_query(bad), -EINVAL, words);
	refused(accel_event_synchronize(bad), -EINVAL, words);
	refused(accel_event_synchronize_until(bad, 0), -EINVAL, words);
	refused(accel_event_elapsed_time(bad, bad, &ns), -EINVAL, words);
	refused(accel_event_destroy(bad), -EINVAL, words);
}

static void refuse_event_with_others(struct accel_event *bad, const char *words)
{
	int64_t ns;

	refused(accel_event_record(bad, stream), -EINVAL, words);
	refused(accel_stream_wait_event(stream, bad), -EINVAL, words);
	refused(accel_batch_wait_event(batch, bad), -EINVAL, words);
	refused(accel_batch_record_event(batch, bad), -EINVAL, words);
	refused(accel_event_elapsed_time(event, bad, &ns), -EINVAL, words);
}

static void refuse_batch(struct accel_batch *bad, const char *words)
{
	refused(accel_batch_keep(bad), -EINVAL, words);
	refused(accel_batch_copy(bad, device, host, 1), -EINVAL, words);
	refused(accel_batch_copy_2d(bad, device, 1, host, 1, 1, 1, 0), -EINVAL, words);
	refused(accel_batch_device_memory_set(bad, device, 9, 1), -EINVAL, words);
	refused(accel_batch_wait_event(bad, event), -EINVAL, words);
	refused(accel_batch_record_event(bad, event), -EINVAL, words);
	refused(accel_batch_eventfd(bad, 0), -EINVAL, words);
	refused(accel_batch_submit(bad, stream, NULL), -EINVAL, words);
	refused(accel_batch_destroy(bad), -EINVAL, words);
}

static void refuse_device(struct accel_device *bad, const char *words)
{
	struct accel_memory_stats stats;
	struct accel_device_info info;
	struct accel_stream *more;
	struct accel_event *another;
	struct accel_batch *bundle;
	size_t total, available;
	void *ptr;
	int fd;

	refused(accel_device_get_info(bad, &info), -EINVAL, words);
	refused(accel_device_reset(bad), -EINVAL, words);
	refused(accel_device_lost_fd(bad, &fd), -EINVAL, words);
	refused(accel_device_synchronize(bad), -EINVAL, words);
	refused(accel_device_synchronize_until(bad, 0), -EINVAL, words);
	refused(accel_device_memory_stats(bad, &total, &available), -EINVAL, words);
	refused(accel_memory_stats_full(bad, &stats), -EINVAL, words);
	refused(accel_stream_create(bad, &more), -EINVAL, words);
	refused(accel_event_create(bad, &another), -EINVAL, words);
	refused(accel_batch_create(bad, &bundle), -EINVAL, words);
	refused(accel_device_memory_allocate(bad, &ptr, 1), -EINVAL, words);
	refused(accel_host_memory_allocate(bad, &ptr, 1), -EINVAL, words);
	refused(accel_unified_memory_allocate(bad, &ptr, 1), -EINVAL, words);
	refused(accel_device_memory_deallocate(bad, device, SIZE), -EINVAL, words);
	refused(accel_host_memory_deallocate(bad, host, SIZE), -EINVAL, words);
	refused(accel_host_register(bad, &stats, 1, 0), -EINVAL, words);
	refused(accel_host_unregister(bad, &stats), -EINVAL, words);
	refused(accel_memory_export(bad, device, &fd), -EINVAL, words);
	refused(accel_memory_import(bad, 0, &ptr, &total), -EINVAL, words);
	refused(accel_host_register_dmabuf(bad, 0, 1, 0, &ptr), -EINVAL, words);
	refused(accel_device_memory_set(bad, device, 9, 1), -EINVAL, words);
	refused(accel_memory_copy_h2d(bad, device, host, 1), -EINVAL, words);
	refused(accel_memory_copy_d2h(bad, host, device, 1), -EINVAL, words);
	refused(accel_memory_copy_p2p(bad, bad, device, device + 1, 1), -EINVAL, words);
	refused(accel_device_close(bad), -EINVAL, words);
}

/* ---- Stale ones ---- */

/* The new stream has the driver's stream, and on older versions of the library the address, too. */
static void test_stale_stream(void)
{
	struct accel_stream *gone, *other;
	char byte = 0;

	set_up();
	expect(accel_device_memory_set(dev, device, 1, SIZE), 0);
	expect(accel_stream_create(dev, &gone), 0);
	expect(accel_stream_destroy(gone), 0);
	expect(accel_stream_create(dev, &other), 0);
	ok(other != gone);
	refuse_stream(gone, "stream was destroyed");
	refuse_stream_with_others(gone, "stream was destroyed");
	expect(accel_stream_query(other), 0);
	expect(accel_memory_copy(&byte, device, 1), 0);
	ok(byte == 1);
	expect(accel_stream_destroy(other), 0);
	refuse_stream(other, "stream was destroyed");
	expect(accel_device_close(dev), 0);
}

static void test_stale_event(void)
{
	struct accel_event *gone, *other;
	int64_t ns;

	set_up();
	expect(accel_event_record(event, stream), 0);
	expect(accel_event_create(dev, &gone), 0);
	expect(accel_event_record(gone, stream), 0);
	expect(accel_event_destroy(gone), 0);
	expect(accel_event_create(dev, &other), 0);
	ok(other != gone);
	refuse_event(gone, "event was destroyed");
	refuse_event_with_others(gone, "event was destroyed");
	/* It was not recorded through the other handle. */
	refused(accel_event_elapsed_time(other, other, &ns), -EINVAL, "never recorded");
	expect(accel_event_destroy(other), 0);
	expect(accel_device_close(dev), 0);
}

static void test_stale_batch(void)
{
	struct accel_batch *gone, *other;

	set_up();
	expect(accel_batch_create(dev, &gone), 0);
	expect(accel_batch_destroy(gone), 0);
	expect(accel_batch_create(dev, &other), 0);
	ok(other != gone);
	refuse_batch(gone, "batch was destroyed");
	refused(accel_batch_submit(other, stream, NULL), -EINVAL, "empty");
	expect(accel_batch_destroy(other), 0);
	expect(accel_device_close(dev), 0);
}

/* A batch names its events by their handles. */
static void test_stale_event_in_a_batch(void)
{
	struct accel_event *gone, *other;
	size_t failed = 9;

	set_up();
	expect(accel_event_create(dev, &gone), 0);
	expect(accel_batch_device_memory_set(batch, device, 1, 1), 0);
	expect(accel_batch_record_event(batch, gone), 0);
	expect(accel_event_destroy(gone), 0);
	expect(accel_event_create(dev, &other), 0);
	refused(accel_batch_submit(batch, stream, &failed), -EINVAL, "event was destroyed");
	ok(failed == 1);
	expect(accel_device_close(dev), 0);
}

static struct accel_event *fresh;

static void replace_event(void)
{
	expect(accel_event_destroy(event), 0);
	expect(accel_event_create(dev, &fresh), 0);
}

/* A record in progress does not become that of the event that has taken the place of its own. */
static void test_event_replaced_during_a_record(void)
{
	set_up();
	mock_hold(0);
	expect(accel_async_memory_copy_h2d(dev, stream, device, host, SIZE), 0);
	mock_before(PACCEL_NR_SUBMIT, replace_event);
	expect(accel_event_record(event, stream), 0);
	refused(accel_event_query(event), -EINVAL, "event was destroyed");
	/* Never recorded: nothing is in progress. */
	expect(accel_event_query(fresh), 0);
	mock_release(0);
	expect(accel_device_close(dev), 0);
}

static void test_stale_device(void)
{
	struct accel_device *gone, *again;
	struct accel_pointer_info info;

	set_up();
	gone = dev;
	expect(accel_device_close(dev), 0);
	refuse_device(gone, "dev was closed");
	expect(accel_device_open(0, &dev), 0);
	ok(dev != gone);
	refuse_device(gone, "dev was closed");
	device = device_memory(dev, SIZE);
	expect(accel_pointer_get_info(device, &info), 0);
	ok(info.device == dev);
	/* The same device has the same handle as long as it is open. */
	expect(accel_device_open(0, &again), 0);
	ok(again == dev);
	expect(accel_device_close(dev), 0);
	expect(accel_pointer_get_info(device, &info), 0);
	ok(info.device == again);
	expect(accel_device_close(again), 0);
}

/* What a close ends is refused, also when another handle has the memory. */
static void test_after_close(void)
{
	set_up();
	expect(accel_device_close(dev), 0);
	refuse_stream(stream, "stream was destroyed");
	refuse_event(event, "event was destroyed");
	refuse_batch(batch, "batch was destroyed");
	for (int i = 0; i < 3; i++) {
		struct accel_stream *old_stream = stream;
		struct accel_event *old_event = event;
		struct accel_batch *old_batch = batch;

		mock_reset();
		set_up();
		refuse_stream(old_stream, "stream was destroyed");
		refuse_event(old_event, "event was destroyed");
		refuse_batch(old_batch, "batch was destroyed");
		expect(accel_device_close(dev), 0);
	}
}

/* ---- Others ---- */

static void refuse_all(void *bad, const char *words)
{
	refuse_stream(bad, words);
	refuse_stream_with_others(bad, words);
	refuse_event(bad, words);
	refuse_event_with_others(bad, words);
	refuse_batch(bad, words);
	refuse_device(bad, words);
}

static void test_other_kinds(void)
{
	set_up();
	refuse_stream((void *)dev, "stream is no stream (");
	refuse_stream((void *)event, "stream is no stream (");
	refuse_stream_with_others((void *)batch, "stream is no stream (");
	refuse_event((void *)dev, "event is no event (");
	refuse_event((void *)stream, "event is no event (");
	refuse_event_with_others((void *)batch, "event is no event (");
	refuse_batch((void *)dev, "batch is no batch (");
	refuse_batch((void *)event, "batch is no batch (");
	refuse_device((void *)stream, "dev is no device (");
	refuse_device((void *)event, "dev is no device (");
	refuse_device((void *)batch, "dev is no device (");
	expect(accel_device_close(dev), 0);
}

/* None is ever dereferenced. */
static void test_junk(void)
{
	char *heap = malloc(64);
	uintptr_t live, kinds;

	set_up();
	live = (uintptr_t)stream;
	refuse_all((void *)1, "it has to be");
	refuse_all((void *)~(uintptr_t)0, "it has to be");
	refuse_all(heap, "it has to be");
	refuse_all(&live, "it has to be");
	refuse_all((void *)refuse_all, "it has to be");
	for (int bit = 0; bit < (int)(8 * sizeof(live)); bit++)
		expect(accel_stream_query((void *)(live ^ (uintptr_t)1 << bit)), -EINVAL);
	for (kinds = 0; kinds < 4096; kinds++) {
		expect(accel_stream_query((void *)kinds), -EINVAL);
		expect(accel_event_query((void *)(kinds << 32)), -EINVAL);
		expect(accel_batch_keep((void *)~kinds), -EINVAL);
	}
	refuse_stream(NULL, "stream is NULL");
	refuse_event(NULL, "event is NULL");
	refuse_batch(NULL, "batch is NULL");
	refuse_device(NULL, "dev is NULL");
	expect(accel_stream_query(stream), 0);
	free(heap);
	expect(accel_device_close(dev), 0);
}

/* ---- Many ---- */

#define MANY 3000

static int by_value(const void *a, const void *b)
{
	const void *const *left = a, *const *right = b;

	return (*left > *right) - (*left < *right);
}

static bool all_differ(void **handles, size_t count)
{
	qsort(handles, count, sizeof(*handles), by_value);
	for (size_t i = 1; i < count; i++)
		if (handles[i] == handles[i - 1])
			return false;
	return true;
}

static void test_many(void)
{
	static struct accel_event *events[MANY];
	static void *sorted[MANY];

	set_up();
	for (int i = 0; i < MANY; i++)
		expect(accel_event_create(dev, &events[i]), 0);
	memcpy(sorted, events, sizeof(sorted));
	ok(all_differ(sorted, MANY));
	for (int i = 0; i < MANY; i++)
		expect(accel_event_query(events[i]), 0);
	for (int i = 0; i < MANY; i += 2)
		expect(accel_event_destroy(events[i]), 0);
	for (int i = 0; i < MANY; i++)
		expect(accel_event_query(events[i]), i % 2 ? 0 : -EINVAL);
	expect(accel_device_close(dev), 0);
	for (int i = 0; i < MANY; i++)
		expect(accel_event_query(events[i]), -EINVAL);
}

/* One place that is used again and again gives another handle each time. */
static void test_reuse(void)
{
	static void *made[MANY];

	set_up();
	for (int i = 0; i < MANY; i++) {
		expect(accel_event_create(dev, (struct accel_event **)&made[i]), 0);
		expect(accel_event_destroy(made[i]), 0);
	}
	ok(all_differ(made, MANY));
	for (int i = 0; i < MANY; i += 2) {
		expect(accel_batch_create(dev, (struct accel_batch **)&made[i]), 0);
		expect(accel_batch_destroy(made[i]), 0);
		expect(accel_stream_create(dev, (struct accel_stream **)&made[i + 1]), 0);
		expect(accel_stream_destroy(made[i + 1]), 0);
	}
	ok(all_differ(made, MANY));
	expect(accel_device_close(dev), 0);
}

#define THREADS 8
#define ROUNDS 200
#define KEPT 8

/* Handles of this thread work, and those that it has destroyed do not, whatever others do. */
static void *makes_and_destroys(void *arg)
{
	struct accel_event *live[KEPT] = { NULL }, *gone[KEPT] = { NULL };

	(void)arg;
	for (int i = 0; i < ROUNDS * KEPT; i++) {
		int at = i % KEPT;

		if (live[at]) {
			gone[at] = live[at];
			expect(accel_event_destroy(live[at]), 0);
		}
		expect(accel_event_create(dev, &live[at]), 0);
		expect(accel_event_record(live[at], stream), 0);
		for (int j = 0; j < KEPT; j++) {
			if (live[j])
				expect(accel_event_synchronize(live[j]), 0);
			if (gone[j])
				expect(accel_event_query(gone[j]), -EINVAL);
		}
	}
	for (int j = 0; j < KEPT; j++)
		expect(accel_event_destroy(live[j]), 0);
	return NULL;
}

static void *makes_batches(void *arg)
{
	struct accel_batch *made, *before = NULL;

	for (int i = 0; i < ROUNDS; i++) {
		expect(accel_batch_create(dev, &made), 0);
		ok(made != before);
		expect(accel_batch_device_memory_set(made, device, 1, 1), 0);
		expect(accel_batch_submit(made, stream, NULL), 0);
		expect(accel_batch_destroy(made), 0);
		refused(accel_batch_keep(made), -EINVAL, "batch was destroyed");
		before = made;
	}
	return arg;
}

static void *opens_and_closes(void *arg)
{
	struct accel_device *again;

	for (int i = 0; i < ROUNDS; i++) {
		expect(accel_device_open(0, &again), 0);
		ok(again == dev);
		expect(accel_device_close(again), 0);
	}
	return arg;
}

static void test_threads(void)
{
	static void *(*const work[])(void *arg) = { makes_and_destroys, makes_batches,
						     makes_and_destroys, opens_and_closes };
	pthread_t threads[THREADS];

	set_up();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work[i % 4], NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	expect(accel_device_close(dev), 0);
}

/* Of threads that destroy one object, one has done it. */
static void *destroys(void *arg)
{
	struct accel_event **shared = arg;
	
	uintptr_t count = 0;

	for (int i = 0; i < MANY; i++)
		count += !accel_event_destroy(shared[i]);
	return (void *)count;
}

static void test_destroyed_by_many(void)
{
	static struct accel_event *events[MANY];
	pthread_t threads[THREADS];
	uintptr_t count = 0;

	set_up();
	for (int i = 0; i < MANY; i++)
		expect(accel_event_create(dev, &events[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, destroys, events);
	for (int i = 0; i < THREADS; i++) {
		void *by_one;

		pthread_join(threads[i], &by_one);
		count += (uintptr_t)by_one;
	}
	ok(count == MANY);
	expect(accel_device_close(dev), 0);
}

/* ---- fork ---- */

static void is_refused(void)
{
	struct accel_device_info info;
	struct accel_device *mine;

	refused(accel_device_get_info(dev, &info), -EPERM, "another process");
	refused(accel_stream_query(stream), -EPERM, "another process");
	refused(accel_event_query(event), -EPERM, "another process");
	refused(accel_batch_keep(batch), -EPERM, "another process");
	expect(accel_device_open(0, &mine), 0);
	ok(mine != dev);
	expect(accel_device_get_info(mine, &info), 0);
	refused(accel_device_get_info(dev, &info), -EPERM, "another process");
	expect(accel_device_close(dev), 0);
	refuse_device(dev, "dev was closed");
	refuse_stream(stream, "stream was destroyed");
	refuse_event(event, "event was destroyed");
	refuse_batch(batch, "batch was destroyed");
	expect(accel_device_close(mine), 0);
}

/* ---- Closing while other threads have references ---- */

#define CLOSES 400

static void *looked_up; /* atomic, as is looking */
static bool looking;

static void *look(void *unused)
{
	struct accel_pointer_info info;
	void *ptr;

	while (__atomic_load_n(&looking, __ATOMIC_ACQUIRE)) {
		ptr = __atomic_load_n(&looked_up, __ATOMIC_ACQUIRE);
		if (ptr)
			accel_pointer_get_info(ptr, &info);
	}
	return unused;
}

/* A look-up of an address has a reference on the device for a short time. */
static void test_close_beside_look_ups(void)
{
	unsigned int valid = 0;
	pthread_t threads[2];

	looking = true;
	for (int i = 0; i < 2; i++)
		expect(pthread_create(&threads[i], NULL, look, NULL), 0);
	set_up();
	for (int i = 0; i < CLOSES; i++) {
		__atomic_store_n(&looked_up, device, __ATOMIC_RELEASE);
		sched_yield();
		expect(accel_device_close(dev), 0);
		valid += accel_stream_query(stream) != -EINVAL ||
			 accel_event_query(event) != -EINVAL ||
			 accel_batch_keep(batch) != -EINVAL;
		__atomic_store_n(&looked_up, NULL, __ATOMIC_RELEASE);
		expect(accel_device_open(0, &dev), 0);
		device = device_memory(dev, SIZE);
		expect(accel_stream_create(dev, &stream), 0);
		expect(accel_event_create(dev, &event), 0);
		expect(accel_batch_create(dev, &batch), 0);
	}
	ok(!valid);
	__atomic_store_n(&looking, false, __ATOMIC_RELEASE);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	expect(accel_device_close(dev), 0);
}

static sem_t upstream_entered, device_closed, pool_destroyed;

static int allocate_upstream(void *context, struct accel_stream *none, size_t size, size_t alignment,
			     void **ptr)
{
	(void)none;
	(void)alignment;
	return accel_device_memory_allocate(context, ptr, size);
}

static int deallocate_upstream(void *context, struct accel_stream *none, void *ptr, size_t size,
			       size_t alignment)
{
	(void)none;
	(void)alignment;
	sem_post(&upstream_entered);
	sem_wait(&device_closed);
	expect(accel_device_memory_deallocate(context, ptr, size), 0);
	return 0;
}

static void destroy_pool(void *pool, int status)
{
	expect(status, 0);
	expect(accel_pool_destroy(pool), 0);
	sem_post(&pool_destroyed);
}

/* In a callback of another device, while this thread closes the pool's: its upstream still frees. */
static void test_close_beside_a_pool(void)
{
	const struct accel_resource_ops ops = {
		.allocate = allocate_upstream, .deallocate = deallocate_upstream
	};
	struct accel_pool_options options = { .granule = 64, .growth_size = 512 };
	struct accel_resource upstream = { .ops = &ops };
	struct accel_device *other;
	struct accel_pool *pool;
	void *ptr;

	sem_init(&upstream_entered, 0, 0);
	sem_init(&device_closed, 0, 0);
	sem_init(&pool_destroyed, 0, 0);
	mock_add(0);
	mock_add(1);
	expect(accel_device_open(0, &dev), 0);
	expect(accel_device_open(1, &other), 0);
	upstream.context = dev;
	expect(accel_stream_create(other, &stream), 0);
	expect(accel_pool_create(dev, &upstream, &options, &pool), 0);
	expect(accel_pool_allocate(pool, NULL, SIZE, 8, &ptr), 0);
	expect(accel_pool_deallocate(pool, NULL, ptr, SIZE, 8), 0);
	expect(accel_stream_add_callback(stream, destroy_pool, pool), 0);
	sem_wait(&upstream_entered);
	expect(accel_device_close(dev), 0);
	sem_post(&device_closed);
	sem_wait(&pool_destroyed);
	refuse_device(dev, "dev was closed");
	expect(accel_device_close(other), 0);
}

static void test_fork(void)
{
	set_up();
	in_child(is_refused);
	expect(accel_stream_query(stream), 0);
	expect(accel_event_query(event), 0);
	expect(accel_batch_keep(batch), 0);
	expect(accel_device_close(dev), 0);
}

int main(void)
{
	RUN(test_stale_stream);
	RUN(test_stale_event);
	RUN(test_stale_batch);
	RUN(test_stale_event_in_a_batch);
	RUN(test_event_replaced_during_a_record);
	RUN(test_stale_device);
	RUN(test_after_close);
	RUN(test_other_kinds);
	RUN(test_junk);
	RUN(test_many);
	RUN(test_reuse);
	RUN(test_threads);
	RUN(test_destroyed_by_many);
	RUN(test_close_beside_look_ups);
	RUN(test_close_beside_a_pool);
	RUN(test_fork);
	return tap_end();
}
