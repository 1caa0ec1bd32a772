/* SPDX-License-Identifier: MIT */
/*
 * Which locks a copy takes and how often it calls the driver, and that no lock is held in a call of
 * the driver.
 */
#include "two_cards.h"

#include "core/device.h"
#include "core/event.h"
#include "core/stream.h"
#include "pool/pool_private.h"
/* Last: it has a variable called lock. */
#include "mock_private.h"

#include <accel/resource.h>

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *arg),
			  void *arg);
ssize_t __real_write(int fd, const void *data, size_t size);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *arg),
			  void *arg);
ssize_t __wrap_write(int fd, const void *data, size_t size);

static __thread unsigned int of_process, of_devices; /* how often they were taken */
static __thread unsigned int held; /* of the library's, by this thread */

static bool is_mock(const pthread_mutex_t *mutex)
{
	return mutex == &lock;
}

static bool is_device(const pthread_mutex_t *mutex)
{
	const struct device *first = handle_get(HANDLE_DEVICE, from);
	const struct device *second = handle_get(HANDLE_DEVICE, to);

	return (first && mutex == &first->lock) || (second && mutex == &second->lock);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	if (!is_mock(mutex)) {
		++*(is_device(mutex) ? &of_devices : &of_process);
		held++;
	}
	return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	held -= !is_mock(mutex);
	return __real_pthread_mutex_unlock(mutex);
}

static unsigned int started;
static int (*refuses_thread)(void); /* an errno, once */

/* A new thread needs memory of the kernel. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *arg),
			  void *arg)
{
	int (*refuses)(void) = refuses_thread;

	ok(!held);
	started++;
	refuses_thread = NULL;
	if (refuses)
		return refuses();
	return __real_pthread_create(thread, attr, fn, arg);
}

static unsigned int written;

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	ok(!held);
	written++;
	return __real_write(fd, data, size);
}

/* ---- What a copy costs ---- */

static struct accel_stream *stream, *far;
static char *pinned;
static unsigned int calls;

static void set_up(bool reach)
{
	mock_add_mappable(0, SIZE + (1u << 20));
	mock_add_mappable(1, SIZE + (1u << 20));
	mock_peers(reach);
	open_two();
	expect(accel_stream_create(from, &stream), 0);
	expect(accel_stream_create(to, &far), 0);
	pinned = host_memory(from, 4096);
}

static void count(void)
{
	of_process = of_devices = 0;
	calls = mock_all_calls();
}

/* What was done since count(): no lock of the process, and so many calls of the driver. */
#define costs(commands, device_locks) \
	do { \
		ok(!of_process); \
		ok(of_devices == (device_locks)); \
		ok(mock_all_calls() - calls == (commands)); \
		count(); \
	} while (0)

static void test_copy_takes_no_lock(void)
{
	static char mine[4096];

	set_up(true);
	count();
	expect(accel_memory_copy(src, mine, 4096), 0);
	costs(1, 0);
	expect(accel_memory_copy(mine, src, 4096), 0);
	costs(1, 0);
	expect(accel_memory_copy_h2d(from, src, pinned, 4096), 0);
	costs(1, 0);
	expect(accel_memory_copy_d2d(from, src, src + 8192, 4096), 0);
	costs(1, 0);
	expect(accel_memory_copy_2d(src, 64, mine, 64, 32, 10), 0);
	costs(1, 0);
	expect(accel_device_memory_set(from, src, 1, 4096), 0);
	costs(1, 0);
	/* Memory of the processor is copied without the driver. */
	expect(accel_memory_copy(mine, pinned, 4096), 0);
	costs(0, 0);
	close_two();
}

static void test_queued_copy_takes_no_lock(void)
{
	static char mine[4096];

	set_up(true);
	count();
	expect(accel_async_memory_copy_h2d(from, stream, src, pinned, 4096), 0);
	costs(1, 0);
	expect(accel_async_memory_copy_d2h(from, stream, pinned, src, 4096), 0);
	costs(1, 0);
	expect(accel_async_memory_copy_d2d(from, stream, src, src + 8192, 4096), 0);
	costs(1, 0);
	expect(accel_async_device_memory_set(from, stream, src, 1, 4096), 0);
	costs(1, 0);
	/* The stage of the device is locked to take a piece, and to give it. */
	expect(accel_async_memory_copy_h2d(from, stream, src, mine, 4096), 0);
	count();
	expect(accel_async_memory_copy_h2d(from, stream, src, mine, 4096), 0);
	costs(1, 2);
	expect(accel_stream_synchronize(stream), 0);
	close_two();
}

/* Directly: the first copy makes the link. */
static void test_peer_copy_takes_no_lock(void)
{
	set_up(true);
	expect(copy_all(), 0);
	count();
	expect(copy_all(), 0);
	costs(1, 0);
	expect(accel_async_memory_copy_p2p(to, from, stream, dst, src, SIZE), 0);
	costs(1, 0);
	expect(accel_stream_synchronize(stream), 0);
	close_two();
}

static void test_copy_through_the_host_takes_no_lock(void)
{
	set_up(false);
	expect(copy_all(), 0);
	expect(copy_all(), 0);
	of_process = of_devices = 0;
	expect(copy_all(), 0);
	ok(!of_process && !of_devices);
	expect(accel_memory_copy_p2p(to, from, dst, src, 100), 0);
	ok(!of_process && !of_devices);
	close_two();
}

static void test_questions_take_no_lock(void)
{
	struct accel_pointer_info info;
	struct accel_event *event;

	set_up(true);
	expect(accel_event_create(from, &event), 0);
	expect(accel_event_record(event, stream), 0);
	expect(accel_stream_synchronize(stream), 0);
	count();
	expect(accel_pointer_get_info(src + 5, &info), 0);
	expect(accel_pointer_get_info(&info, &info), 0);
	expect(accel_stream_query(stream), 0);
	expect(accel_event_query(event), 0);
	costs(0, 0);
	close_two();
}

/* ---- Calls of the driver ---- */

static unsigned int watched, seen;
static struct accel_pool *pool; /* whose lock, which is no mutex, only this thread takes */

/* In the thread that calls the driver. */
static void holds_no_lock(void)
{
	unsigned int all = held + (pool && pool->lock.state);

	if (all)
		printf("# call %u is made with %u locks held\n", watched, all);
	ok(!all);
	seen++;
	mock_before(watched, holds_no_lock);
}

static void nothing(void *data, int status)
{
	(void)data;
	(void)status;
}

static void use_memory(void)
{
	static char mine[256];
	void *ptr;
	size_t size;
	int fd;

	ptr = device_memory(from, 100);
	expect(accel_device_memory_deallocate(from, ptr, 100), 0);
	expect(accel_host_register(from, mine, sizeof(mine), 0), 0);
	expect(accel_host_unregister(from, mine), 0);
	expect(accel_memory_export(from, src, &fd), 0);
	expect(accel_memory_import(from, fd, &ptr, &size), 0);
	expect(accel_device_memory_deallocate(from, ptr, size), 0);
	close(fd);
	expect(accel_memory_copy(src, mine, 256), 0);
	expect(accel_device_memory_set(from, src, 1, 256), 0);
	expect(copy_all(), 0);
	expect(copy_all(), 0);
}

static void use_streams(void)
{
	static char mine[256];
	struct accel_stream *more;
	struct accel_batch *batch;
	struct accel_event *event;
	int fd;

	expect(accel_event_create(from, &event), 0);
	expect(accel_stream_export_fence(stream, &fd), 0);
	expect(accel_stream_wait_fence(far, fd), 0);
	close(fd);
	expect(accel_async_memory_copy_h2d(from, stream, src, mine, 256), 0);
	expect(accel_event_record(event, stream), 0);
	expect(accel_stream_add_callback(stream, nothing, NULL), 0);
	expect(accel_batch_create(from, &batch), 0);
	expect(accel_batch_record_event(batch, event), 0);
	expect(accel_batch_submit(batch, stream, NULL), 0);
	expect(accel_stream_wait_event(far, event), 0);
	mock_hold(0);
	expect(accel_async_device_memory_set(from, stream, src, 1, 256), 0);
	expect(accel_stream_synchronize_until(stream, 0), -ETIME);
	mock_release(0);
	expect(accel_device_synchronize(from), 0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	expect(accel_async_device_memory_set(from, stream, src, 1, 256), 0);
	expect(accel_stream_synchronize(stream), -EIO);
	expect(accel_stream_clear(stream), 0);
	expect(accel_stream_create(from, &more), 0);
	expect(accel_stream_destroy(more), 0);
}

static void use_pool(uint32_t flags)
{
	const struct accel_pool_options options = { .flags = flags, .maximum_size = 65536 };
	struct accel_stream *other;
	void *a, *b;

	expect(accel_stream_create(from, &other), 0);
	expect(accel_pool_create(from, NULL, &options, &pool), 0);
	expect(accel_pool_allocate(pool, NULL, 100, 1, &a), 0);
	expect(accel_pool_allocate(pool, stream, 50000, 1, &b), 0);
	/* A free of the debug mode waits for the work; otherwise the other stream does. */
	if (!flags)
		mock_hold(0);
	expect(accel_async_device_memory_set(from, stream, src, 1, 256), 0);
	expect(accel_pool_deallocate(pool, stream, b, 50000, 1), 0);
	expect(accel_pool_allocate(pool, other, 50000, 1, &b), 0);
	mock_release(0);
	expect(accel_pool_check(pool), 0);
	expect(accel_pool_deallocate(pool, NULL, b, 50000, 1), 0);
	expect(accel_pool_deallocate(pool, NULL, a, 100, 1), 0);
	expect(accel_pool_trim(pool, 0), 0);
	expect(accel_stream_destroy(other), 0);
	expect(accel_pool_destroy(pool), 0);
	pool = NULL;
}

static void use_all(bool reach)
{
	struct accel_memory_stats stats;
	struct accel_device_info info;
	struct accel_device *again;

	set_up(reach);
	use_memory();
	use_streams();
	use_pool(0);
	use_pool(ACCEL_POOL_DEBUG);
	expect(accel_memory_stats_full(from, &stats), 0);
	expect(accel_device_get_info(from, &info), 0);
	/* A handle that is there is asked whether it is of use. */
	expect(accel_device_open(0, &again), 0);
	expect(accel_device_close(again), 0);
	close_two();
	from = to = NULL;
}

static void watch(unsigned int what)
{
	watched = what;
	for (int reach = 0; reach < 2; reach++) {
		mock_reset();
		seen = 0;
		mock_before(watched, holds_no_lock);
		use_all(reach);
		ok(seen);
	}
}

static void test_no_lock_in_a_call_of_the_driver(void)
{
	for (unsigned int nr = 0; nr < PACCEL_NR_RESET; nr++)
		watch(nr);
}

static void test_no_lock_in_other_system_calls(void)
{
	watch(MOCK_OPENDIR);
	watch(MOCK_OPEN);
	watch(MOCK_MMAP);
	watch(MOCK_CLOSE);
}

static void wait_for(void *data, int status)
{
	(void)status;
	while (!__atomic_load_n((bool *)data, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void set(void *data, int status)
{
	(void)status;
	__atomic_store_n((bool *)data, true, __ATOMIC_RELEASE);
}

/* The callback of another stream gets a thread while that of the first one blocks. */
static void test_no_lock_while_a_thread_is_started(void)
{
	bool is_free = false;

	set_up(true);
	started = 0;
	expect(accel_stream_add_callback(stream, wait_for, &is_free), 0);
	expect(accel_stream_add_callback(far, set, &is_free), 0);
	expect(accel_stream_synchronize(stream), 0);
	expect(accel_stream_synchronize(far), 0);
	ok(started == 2);
	close_two();
	from = to = NULL;
}

static bool is_running, is_released;

static void runs_until_released(void *data, int status)
{
	set(&is_running, status);
	wait_for(data, status);
}

/* The thread that runs the callback of `stream` has become spare then. */
static int ends_the_callback(void)
{
	__atomic_store_n(&is_released, true, __ATOMIC_RELEASE);
	expect(accel_stream_synchronize(stream), 0);
	return EAGAIN;
}

/* It is not left without a thread that looks for it. */
static void test_callback_whose_thread_does_not_start(void)
{
	bool was_called = false;
	struct timespec now;

	set_up(true);
	is_running = is_released = false;
	expect(accel_stream_add_callback(stream, runs_until_released, &is_released), 0);
	wait_for(&is_running, 0);
	/* Not due yet. */
	mock_hold(1);
	expect(accel_async_device_memory_set(to, far, dst, 1, 64), 0);
	refuses_thread = ends_the_callback;
	expect(accel_stream_add_callback(far, set, &was_called), 0);
	ok(!refuses_thread);
	mock_release(1);
	clock_gettime(CLOCK_MONOTONIC, &now);
	expect(accel_stream_synchronize_until(far, (uint64_t)(now.tv_sec + 60) * 1000000000), 0);
	ok(__atomic_load_n(&was_called, __ATOMIC_ACQUIRE));
	if (!was_called)
		exit(1);
	close_two();
	from = to = NULL;
}

static void test_no_lock_while_a_log_is_written(void)
{
	struct accel_adaptor *adaptor;
	struct accel_resource resource;
	void *ptr;

	set_up(true);
	expect(accel_resource_of_device(from, ACCEL_MEMORY_DEVICE, &resource), 0);
	expect(accel_adaptor_create_logging(&resource, "/dev/null", &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &resource), 0);
	written = 0;
	expect(accel_resource_allocate(&resource, NULL, 100, 1, &ptr), 0);
	ok(written == 1);
	expect(accel_resource_deallocate(&resource, NULL, ptr, 100, 1), 0);
	ok(written == 2);
	expect(accel_adaptor_destroy(adaptor), 0);
	close_two();
}

int main(void)
{
	RUN(test_copy_takes_no_lock);
	RUN(test_queued_copy_takes_no_lock);
	RUN(test_peer_copy_takes_no_lock);
	RUN(test_copy_through_the_host_takes_no_lock);
	RUN(test_questions_take_no_lock);
	RUN(test_no_lock_in_a_call_of_the_driver);
	RUN(test_no_lock_in_other_system_calls);
	RUN(test_no_lock_while_a_thread_is_started);
	RUN(test_callback_whose_thread_does_not_start);
	RUN(test_no_lock_while_a_log_is_written);
	return tap_end();
}
