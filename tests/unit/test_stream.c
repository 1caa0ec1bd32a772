/* SPDX-License-Identifier: MIT */
/* Streams, callbacks, and asynchronous copies; also built with the thread sanitizer. */
#define _GNU_SOURCE
#include "fixture.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SIZE 512

static struct accel_device *dev;
static struct accel_stream *stream;
static char *device, *host;

static struct accel_stream *new_stream(struct accel_device *on)
{
	struct accel_stream *made = NULL;

	expect(accel_stream_create(on, &made), 0);
	return made;
}

static void set_up(void)
{
	dev = open_card();
	stream = new_stream(dev);
	device = device_memory(dev, SIZE);
	host = host_memory(dev, SIZE);
}

static void tear_down(void)
{
	expect(accel_device_close(dev), 0);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static bool readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

static uint64_t wait_for(int fd)
{
	uint64_t value = 0;

	ok(read(fd, &value, sizeof(value)) == sizeof(value));
	return value;
}

static void *lets_go(void *arg)
{
	mock_wait_held(0, 1);
	mock_release(0);
	return arg;
}

static void nothing(void *data, int status)
{
	(void)data;
	(void)status;
}

/* ---- Streams ---- */

static void test_busy_then_done(void)
{
	set_up();
	ok(accel_stream_query(stream) == 0);
	memset(host, 'a', SIZE);
	mock_hold(0);
	expect(accel_async_memory_copy_h2d(dev, stream, device, host, SIZE), 0);
	mock_wait_held(0, 1);
	ok(accel_stream_query(stream) == -EINPROGRESS);
	refused(accel_stream_synchronize_until(stream, 0), -ETIME, "deadline");
	refused(accel_stream_synchronize_until(stream, now() + 1000000), -ETIME, "deadline");
	refused(accel_device_synchronize_until(dev, 0), -ETIME, "by the deadline");
	refused(accel_device_synchronize_until(dev, now() + 1000000), -ETIME, "by the deadline");
	mock_release(0);
	expect(accel_device_synchronize_until(dev, UINT64_MAX), 0);
	expect(accel_device_synchronize_until(dev, 0), 0);
	expect(accel_stream_synchronize(stream), 0);
	expect(accel_stream_query(stream), 0);
	ok(!memcmp(mock_memory(0, MOCK_BASE), host, SIZE));
	tear_down();
}

/* The error of a stream, also if it is ETIME, does not hide that another one has work left. */
static void test_deadline_before_error(void)
{
	static const int errors[] = { EIO, ETIME };
	struct accel_stream *second;
	int fence;

	for (size_t i = 0; i < 2; i++) {
		set_up();
		expect(accel_stream_create(dev, &second), 0);
		mock_fail_operation(0, 1, errors[i]);
		expect(accel_async_device_memory_set(dev, stream, device, 1, SIZE), 0);
		ok(accel_stream_synchronize(stream) == -errors[i]);
		fence = mock_fence();
		expect(accel_stream_wait_fence(second, fence), 0);
		expect(accel_async_device_memory_set(dev, second, device, 2, SIZE), 0);
		refused(accel_device_synchronize_until(dev, 0), -ETIME, "by the deadline");
		refused(accel_device_synchronize_until(dev, now() + 1000000), -ETIME,
			"by the deadline");
		mock_fence_signal(fence, 0);
		expect(accel_stream_synchronize(second), 0);
		ok(accel_device_synchronize_until(dev, now()) == -errors[i]);
		close(fence);
		expect(accel_stream_destroy(second), 0);
		tear_down();
	}
}

/* Neither busy nor done, neither of a stream nor of an event. */
static void test_query_makes_no_call(void)
{
	struct accel_event *event;
	unsigned int before;

	set_up();
	expect(accel_event_create(dev, &event), 0);
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 1, SIZE), 0);
	expect(accel_event_record(event, stream), 0);
	before = mock_all_calls();
	ok(accel_stream_query(stream) == -EINPROGRESS && accel_event_query(event) == -EINPROGRESS);
	ok(mock_all_calls() == before);
	mock_release(0);
	expect(accel_stream_synchronize(stream), 0);
	before = mock_all_calls();
	expect(accel_stream_query(stream), 0);
	expect(accel_event_query(event), 0);
	expect(accel_stream_synchronize(stream), 0);
	expect(accel_event_synchronize(event), 0);
	ok(mock_all_calls() == before);
	tear_down();
}

static void test_streams_are_independent(void)
{
	struct accel_stream *second;
	struct accel_event *event;

	set_up();
	second = new_stream(dev);
	expect(accel_event_create(dev, &event), 0);
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 7, SIZE), 0);
	expect(accel_event_record(event, second), 0);
	expect(accel_event_synchronize(event), 0);
	expect(accel_stream_synchronize(second), 0);
	ok(accel_stream_query(stream) == -EINPROGRESS);
	mock_release(0);
	expect(accel_device_synchronize(dev), 0);
	expect(accel_stream_query(stream), 0);
	tear_down();
}

static void test_wait_event(void)
{
	struct accel_stream *second;
	struct accel_event *event;

	set_up();
	second = new_stream(dev);
	expect(accel_event_create(dev, &event), 0);
	mock_hold(0);
	memset(host, 'x', SIZE);
	expect(accel_async_memory_copy_h2d(dev, stream, device, host, 100), 0);
	expect(accel_event_record(event, stream), 0);
	expect(accel_stream_wait_event(second, event), 0);
	expect(accel_async_memory_copy_d2h(dev, second, host + 200, device, 100), 0);
	mock_wait_held(0, 1);
	ok(accel_stream_query(second) == -EINPROGRESS);
	mock_release(0);
	expect(accel_stream_synchronize(second), 0);
	ok(!memcmp(host + 200, host, 100));
	expect(accel_stream_query(stream), 0);
	tear_down();
}

static void test_limits_of_streams(void)
{
	struct accel_stream *streams[MOCK_STREAMS];

	set_up();
	for (int i = 0; i < MOCK_STREAMS - 1; i++)
		streams[i] = new_stream(dev);
	streams[MOCK_STREAMS - 1] = (void *)1;
	refused(accel_stream_create(dev, &streams[MOCK_STREAMS - 1]), -ENOSPC, "8 are the most");
	ok(!streams[MOCK_STREAMS - 1]);
	/* As often as one likes, and each is destroyed once. */
	for (unsigned int i = 1; i <= 20; i++) {
		expect(accel_stream_destroy(streams[3]), 0);
		ok(mock_calls(PACCEL_NR_STREAM_DESTROY) == i);
		streams[3] = new_stream(dev);
		ok(streams[3] != NULL);
	}
	tear_down();
}

static struct accel_stream *created;
static pthread_t creator;

static void *creates_one(void *arg)
{
	expect(accel_stream_create(dev, &created), 0);
	return arg;
}

static void another_creates(void)
{
	unsigned int calls = mock_calls(PACCEL_NR_STREAM_CREATE);

	pthread_create(&creator, NULL, creates_one, NULL);
	mock_wait_calls(PACCEL_NR_STREAM_CREATE, calls + 1);
}

/* Another thread is destroying the one that is one too many. */
static void test_limit_while_one_ends(void)
{
	struct accel_stream *first;

	set_up();
	first = new_stream(dev);
	for (int i = 0; i < MOCK_STREAMS - 2; i++)
		new_stream(dev);
	mock_before(PACCEL_NR_STREAM_DESTROY, another_creates);
	expect(accel_stream_destroy(first), 0);
	pthread_join(creator, NULL);
	ok(created != NULL);
	tear_down();
}

static void test_failed_create_leaves_nothing(void)
{
	struct accel_stream *second;

	dev = open_card();
	mock_fail(MOCK_MMAP, 1, ENOMEM);
	expect(accel_stream_create(dev, &second), -ENOMEM);
	ok(!second && mock_calls(PACCEL_NR_STREAM_DESTROY) == 1);
	mock_fail(PACCEL_NR_STREAM_CREATE, 1, ENOTTY);
	refused(accel_stream_create(dev, &second), -ENOTTY, "older");
	for (int i = 0; i < MOCK_STREAMS; i++)
		ok(new_stream(dev));
	tear_down();
}

/* What is queued runs on, and the driver keeps the stream until it has. */
static void test_destroy_with_work(void)
{
	struct accel_stream *second;
	struct accel_event *event;

	set_up();
	expect(accel_event_create(dev, &event), 0);
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 3, SIZE), 0);
	expect(accel_event_record(event, stream), 0);
	expect(accel_stream_destroy(stream), 0);
	refused(accel_stream_query(stream), -EINVAL, "destroyed");
	ok(accel_event_query(event) == -EINPROGRESS);
	second = new_stream(dev);
	ok(second != stream && !mock_calls(PACCEL_NR_STREAM_DESTROY));
	expect(accel_stream_wait_event(second, event), 0);
	mock_wait_held(0, 1);
	mock_release(0);
	expect(accel_event_synchronize(event), 0);
	expect(accel_stream_synchronize(second), 0);
	ok(*mock_memory(0, MOCK_BASE) == 3);
	expect(accel_stream_destroy(second), 0);
	ok(mock_calls(PACCEL_NR_STREAM_DESTROY) == 2);
	expect(accel_event_query(event), 0);
	tear_down();
}

static void test_device_synchronize(void)
{
	set_up();
	expect(accel_device_synchronize(dev), 0);
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 3, SIZE), 0);
	expect(accel_stream_destroy(stream), 0);
	mock_wait_held(0, 1);
	mock_release(0);
	expect(accel_device_synchronize(dev), 0);
	ok(*mock_memory(0, MOCK_BASE) == 3);
	mock_fail(MOCK_OPERATION, 1, EIO);
	stream = new_stream(dev);
	expect(accel_async_device_memory_set(dev, stream, device, 4, SIZE), 0);
	refused(accel_device_synchronize(dev), -EIO, "accel_stream_clear()");
	tear_down();
}

static struct accel_stream *others;
static int others_error;

static void release_card(void)
{
	mock_release(0);
}

static void *fails_on_its_own(void *arg)
{
	others = new_stream(dev);
	expect(accel_async_device_memory_set(dev, others, device, 4, SIZE), 0);
	expect(accel_stream_synchronize(others), -EIO);
	others_error = accel_device_synchronize(dev);
	return arg;
}

/* An error is that of a stream: it is for the thread that made the stream, and for who asks. */
static void test_device_synchronize_and_streams_of_others(void)
{
	pthread_t thread;

	set_up();
	mock_fail(MOCK_OPERATION, 1, EIO);
	pthread_create(&thread, NULL, fails_on_its_own, NULL);
	pthread_join(thread, NULL);
	ok(others_error == -EIO);
	expect(accel_device_synchronize(dev), 0);
	expect(accel_stream_query(others), -EIO);
	/* It is waited for all the same. */
	expect(accel_stream_clear(others), 0);
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, others, device, 5, SIZE), 0);
	mock_before(PACCEL_NR_WAIT, release_card);
	expect(accel_device_synchronize(dev), 0);
	ok(*mock_memory(0, MOCK_BASE) == 5);
	/* With one of its own that fails. */
	mock_fail(MOCK_OPERATION, 1, EIO);
	expect(accel_async_device_memory_set(dev, stream, device, 6, SIZE), 0);
	refused(accel_device_synchronize(dev), -EIO, "accel_stream_clear()");
	tear_down();
}

static void test_handlers_do_not_end_waits(void)
{
	set_up();
	mock_fail(PACCEL_NR_WAIT, 1, EINTR);
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 3, SIZE), 0);
	expect(accel_stream_synchronize_until(stream, now() + 1000000), -ETIME);
	ok(mock_calls(PACCEL_NR_WAIT) == 2);
	mock_fail(PACCEL_NR_SUBMIT, 1, EINTR);
	expect(accel_async_device_memory_set(dev, stream, device, 3, SIZE), 0);
	mock_release(0);
	tear_down();
}

/* The driver's clock is not that of a time namespace. */
static void test_time_namespace(void)
{
	/* A clock is never below 0, and this machine's may have begun a moment ago. */
	int64_t hour = 3600ll * 1000000000, half = (int64_t)(now() / 2), given;
	int64_t shift = half < hour ? half : hour;

	for (int sign = -1; sign <= 1; sign += 2) {
		mock_reset();
		mock_clock_shift(sign * shift);
		set_up();
		mock_hold(0);
		expect(accel_async_device_memory_set(dev, stream, device, 3, SIZE), 0);
		given = (int64_t)now() + 2000000;
		expect(accel_stream_synchronize_until(stream, (uint64_t)given), -ETIME);
		given -= (int64_t)MOCK_LAST(paccel_wait, PACCEL_NR_WAIT)->deadline_ns;
		ok(llabs(given + sign * shift) < 100000000);
		ok((int64_t)now() > given);
		mock_release(0);
		expect(accel_stream_synchronize(stream), 0);
		tear_down();
	}
}

/* ---- Failure ---- */

static void test_failure_is_sticky(void)
{
	struct accel_event *good, *bad;
	struct accel_stream *second;
	int fd = eventfd(0, 0);
	eventfd_t count;
	int64_t ns;

	set_up();
	second = new_stream(dev);
	expect(accel_event_create(dev, &good), 0);
	expect(accel_event_create(dev, &bad), 0);
	expect(accel_event_record(good, stream), 0);
	mock_hold(0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	expect(accel_async_device_memory_set(dev, stream, device, 1, SIZE), 0);
	expect(accel_async_device_memory_set(dev, stream, device, 2, SIZE), 0);
	expect(accel_event_record(bad, stream), 0);
	expect(accel_stream_wait_event(second, bad), 0);
	mock_wait_held(0, 1);
	mock_release(0);
	refused(accel_stream_synchronize(stream), -EIO, "accel_stream_clear()");
	expect(accel_stream_query(stream), -EIO);
	expect(accel_event_query(good), 0);
	refused(accel_event_query(bad), -EIO, "before the event");
	expect(accel_event_synchronize(bad), -EIO);
	expect(accel_event_elapsed_time(good, bad, &ns), -EIO);
	refused(accel_async_device_memory_set(dev, stream, device, 3, SIZE), -ECANCELED,
		"accel_stream_clear()");
	expect(accel_event_record(good, stream), -ECANCELED);
	expect(accel_stream_eventfd(stream, fd), 0);
	expect(eventfd_read(fd, &count), 0);
	close(fd);
	expect(accel_stream_synchronize(second), -EIO);
	expect(accel_stream_clear(stream), 0);
	expect(accel_stream_query(stream), 0);
	expect(accel_event_query(bad), 0);
	expect(accel_async_device_memory_set(dev, stream, device, 9, SIZE), 0);
	expect(accel_stream_synchronize(stream), 0);
	ok(*mock_memory(0, MOCK_BASE) == 9);
	expect(accel_stream_clear(stream), 0);
	tear_down();
}

/* Another stream waits for what failed, and is not there yet: it has to find out first. */
static void clear_with_dependents(int error)
{
	struct accel_stream *second;
	struct accel_event *event;
	unsigned int calls = mock_calls(PACCEL_NR_STREAM_CLEAR);
	pthread_t thread;

	set_up();
	second = new_stream(dev);
	expect(accel_event_create(dev, &event), 0);
	mock_hold(0);
	mock_fail(MOCK_OPERATION, 1, error);
	expect(accel_async_device_memory_set(dev, stream, device, 1, SIZE), 0);
	expect(accel_event_record(event, stream), 0);
	mock_wait_held(0, 1);
	mock_release(0);
	expect(accel_stream_synchronize(stream), -error);
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, second, device, 2, SIZE), 0);
	expect(accel_stream_wait_event(second, event), 0);
	mock_wait_held(0, 1);
	refused(accel_stream_clear_until(stream, 1), -ETIME, "by the deadline");
	expect(accel_stream_query(stream), -error);
	pthread_create(&thread, NULL, lets_go, NULL);
	expect(accel_stream_clear(stream), 0);
	pthread_join(thread, NULL);
	ok(mock_calls(PACCEL_NR_STREAM_CLEAR) < calls + 10);
	expect(accel_stream_query(second), -error);
	expect(accel_stream_query(stream), 0);
	tear_down();
}

/* ETIME may be the error of another driver's fence. */
static void test_clear_with_dependents(void)
{
	clear_with_dependents(EIO);
	clear_with_dependents(ETIME);
}

static sem_t may_return;

static void waits_to_return(void *data, int status)
{
	(void)data;
	(void)status;
	sem_wait(&may_return);
}

static void test_clear_with_a_callback(void)
{
	set_up();
	sem_init(&may_return, 0, 0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	expect(accel_async_device_memory_set(dev, stream, device, 1, SIZE), 0);
	expect(accel_stream_add_callback(stream, waits_to_return, NULL), 0);
	mock_wait_idle();
	refused(accel_stream_clear_until(stream, 1), -ETIME, "by the deadline");
	sem_post(&may_return);
	expect(accel_stream_clear_until(stream, UINT64_MAX), 0);
	expect(accel_stream_query(stream), 0);
	tear_down();
}

/* It has nothing to clear, and waits for nothing. */
static void test_clear_of_a_good_stream(void)
{
	set_up();
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 1, SIZE), 0);
	expect(accel_stream_add_callback(stream, nothing, NULL), 0);
	expect(accel_stream_clear(stream), 0);
	expect(accel_stream_clear_until(stream, 0), 0);
	ok(accel_stream_query(stream) == -EINPROGRESS);
	mock_release(0);
	tear_down();
}

static void test_removal(void)
{
	struct accel_stream *more, *idle;
	struct accel_event *event, *past;

	set_up();
	idle = new_stream(dev);
	expect(accel_event_create(dev, &event), 0);
	expect(accel_event_create(dev, &past), 0);
	expect(accel_event_record(past, idle), 0);
	expect(accel_stream_synchronize(idle), 0);
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 1, SIZE), 0);
	expect(accel_event_record(event, stream), 0);
	mock_wait_held(0, 1);
	mock_remove(0);
	refused(accel_stream_query(stream), -ENODEV, "removed");
	expect(accel_stream_query(idle), -ENODEV);
	expect(accel_event_query(past), -ENODEV);
	expect(accel_stream_synchronize(stream), -ENODEV);
	expect(accel_event_query(event), -ENODEV);
	expect(accel_event_synchronize(event), -ENODEV);
	expect(accel_device_synchronize(dev), -ENODEV);
	expect(accel_async_device_memory_set(dev, stream, device, 1, SIZE), -ENODEV);
	expect(accel_event_record(event, stream), -ENODEV);
	expect(accel_stream_create(dev, &more), -ENODEV);
	expect(accel_event_create(dev, &event), -ENODEV);
	expect(accel_stream_clear(stream), -ENODEV);
	expect(accel_stream_destroy(stream), 0);
	tear_down();
}

static void test_lost_in_a_reset(void)
{
	set_up();
	mock_lose(0);
	refused(accel_stream_query(stream), -ESTALE, "reset");
	expect(accel_stream_synchronize(stream), -ESTALE);
	expect(accel_async_device_memory_set(dev, stream, device, 1, SIZE), -ESTALE);
	tear_down();
}

static void *waits_for_stream(void *arg)
{
	expect(accel_stream_synchronize(arg), -ENODEV);
	return NULL;
}

static void test_removal_ends_waits(void)
{
	pthread_t threads[4];

	set_up();
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 1, SIZE), 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, waits_for_stream, stream);
	mock_wait_held(0, 1);
	mock_remove(0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	tear_down();
}

/* ---- Arguments ---- */

static void test_bad_arguments(void)
{
	struct accel_device *other;
	struct accel_stream *gone;
	int fd;

	set_up();
	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	refused(accel_stream_create(NULL, &gone), -EINVAL, "dev");
	refused(accel_stream_create(dev, NULL), -EINVAL, "stream is NULL");
	refused(accel_stream_destroy(NULL), -EINVAL, "stream is NULL");
	refused(accel_stream_query(NULL), -EINVAL, "stream is NULL");
	refused(accel_stream_synchronize(NULL), -EINVAL, "stream is NULL");
	refused(accel_stream_clear(NULL), -EINVAL, "stream is NULL");
	refused(accel_stream_clear_until(NULL, 0), -EINVAL, "stream is NULL");
	refused(accel_stream_eventfd(NULL, 0), -EINVAL, "stream is NULL");
	refused(accel_stream_export_fence(NULL, &fd), -EINVAL, "stream is NULL");
	refused(accel_stream_export_fence(stream, NULL), -EINVAL, "fd is NULL");
	refused(accel_stream_wait_fence(NULL, 0), -EINVAL, "stream is NULL");
	refused(accel_stream_wait_event(NULL, NULL), -EINVAL, "stream is NULL");
	refused(accel_stream_wait_event(stream, NULL), -EINVAL, "event is NULL");
	refused(accel_stream_add_callback(NULL, nothing, NULL), -EINVAL, "stream is NULL");
	refused(accel_stream_add_callback(stream, NULL, NULL), -EINVAL, "fn is NULL");
	refused(accel_device_synchronize(NULL), -EINVAL, "dev");
	gone = new_stream(dev);
	expect(accel_stream_destroy(gone), 0);
	refused(accel_stream_destroy(gone), -EINVAL, "destroyed");
	refused(accel_stream_synchronize(gone), -EINVAL, "destroyed");
	refused(accel_async_device_memory_set(dev, gone, device, 0, 1), -EINVAL, "destroyed");
	refused(accel_async_memory_copy_h2d(other, stream, device, host, 1), -EINVAL,
		"stream belongs to /dev/paccel0, not to /dev/paccel1");
	refused(accel_async_memory_copy_d2h(other, stream, host, device, 1), -EINVAL, "belongs");
	refused(accel_async_memory_copy_d2d(other, stream, device, device, 1), -EINVAL, "belongs");
	refused(accel_async_memory_copy_p2p(other, other, stream, device, device, 1), -EINVAL,
		"belongs");
	refused(accel_async_device_memory_set(other, stream, device, 0, 1), -EINVAL, "belongs");
	refused(accel_async_memory_copy_h2d(dev, stream, device, host, 0), -EINVAL, "size is 0");
	refused(accel_async_memory_copy_h2d(dev, stream, device + 1, host, SIZE), -EFAULT, "past");
	refused(accel_async_memory_copy_h2d(dev, stream, host, host, 1), -EFAULT, "neither");
	refused(accel_async_memory_copy_d2d(dev, stream, device, device + 1, 2), -EINVAL, "overlap");
	refused(accel_async_device_memory_set(dev, stream, device, 1, SIZE + 1), -EFAULT, "past");
	ok(!mock_calls(PACCEL_NR_SUBMIT));
	expect(accel_device_close(other), 0);
	tear_down();
}

/* ---- Copies ---- */

static void test_pinned_copies_are_queued(void)
{
	static char mine[SIZE];
	char *unified;

	set_up();
	unified = unified_memory(dev, SIZE);
	expect(accel_host_register(dev, mine, SIZE, 0), 0);
	memset(mine, 'm', SIZE);
	mock_hold(0);
	expect(accel_async_memory_copy_h2d(dev, stream, device, mine, 100), 0);
	expect(accel_async_memory_copy_d2d(dev, stream, device + 200, device, 100), 0);
	expect(accel_async_memory_copy_d2h(dev, stream, host, device + 200, 100), 0);
	expect(accel_async_memory_copy_d2d(dev, stream, unified, device + 200, 100), 0);
	expect(accel_async_device_memory_set(dev, stream, device, 5, 100), 0);
	ok(!mock_calls(PACCEL_NR_COPY) && mock_calls(PACCEL_NR_SUBMIT) == 5);
	ok(accel_stream_query(stream) == -EINPROGRESS && !host[0] && !unified[0]);
	mock_wait_held(0, 1);
	mock_release(0);
	expect(accel_stream_synchronize(stream), 0);
	ok(!memcmp(host, mine, 100) && !memcmp(unified, mine, 100));
	ok(*mock_memory(0, MOCK_BASE) == 5);
	tear_down();
}

static void test_freed_memory_is_still_copied(void)
{
	char *more;

	set_up();
	more = host_memory(dev, 100);
	memset(more, 'f', 100);
	mock_hold(0);
	expect(accel_async_memory_copy_h2d(dev, stream, device, more, 100), 0);
	expect(accel_host_memory_deallocate(dev, more, 100), 0);
	mock_release(0);
	expect(accel_stream_synchronize(stream), 0);
	ok(*mock_memory(0, MOCK_BASE + 99) == 'f');
	tear_down();
}

/* The source is the program's again when the call returns. */
static void test_small_pageable_copies_are_staged(void)
{
	char mine[300], back[300];

	set_up();
	mock_hold(0);
	for (int i = 0; i < 3; i++) {
		memset(mine, 'a' + i, 100);
		expect(accel_async_memory_copy_h2d(dev, stream, device + 100 * i, mine, 100), 0);
	}
	memset(mine, 'z', sizeof(mine));
	ok(mock_calls(PACCEL_NR_HOST_ALLOC) == 2 && !mock_calls(PACCEL_NR_COPY));
	mock_wait_held(0, 1);
	mock_release(0);
	/* To pageable memory: after the stream, complete on return. */
	expect(accel_async_memory_copy_d2h(dev, stream, back, device, 300), 0);
	for (int i = 0; i < 300; i++)
		ok(back[i] == 'a' + i / 100);
	ok(mock_calls(PACCEL_NR_COPY) == 1);
	tear_down();
}

/* One operation from locked memory; from pageable memory only the rows are copied aside. */
static void test_rows_on_a_stream(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char back[100], *last_row = page + 4096 - 10 * 9 - 7;

	set_up();
	for (int i = 0; i < 100; i++)
		host[i] = (char)('a' + i % 10);
	memcpy(last_row, host, 97);
	mock_hold(0);
	expect(accel_async_memory_copy_2d(stream, device, 30, host, 10, 7, 10, 0), 0);
	ok(MOCK_LAST(paccel_submit, PACCEL_NR_SUBMIT)->nr_ops == 1);
	/* The row behind the last one need not be there. */
	munmap(page + 4096, 4096);
	expect(accel_async_memory_copy_2d(stream, device + 10, 30, last_row, 10, 7, 10, 0), 0);
	memset(page, 'z', 4096);
	refused(accel_async_memory_copy_2d(stream, device + 20, 30, last_row + 10, 10, 7, 10, 0),
		-EFAULT, "src");
	ok(mock_calls(PACCEL_NR_SUBMIT) == 2 && !mock_calls(PACCEL_NR_COPY));
	mock_wait_held(0, 1);
	mock_release(0);
	for (int column = 0; column < 3; column++) {
		memset(back, 'x', 100);
		expect(accel_async_memory_copy_2d(stream, back, 10, device + 10 * column, 30, 7, 10,
						  0),
		       0);
		for (int i = 0; i < 100; i++)
			ok(back[i] == (i % 10 > 6 ? 'x' : column == 2 ? 0 : 'a' + i % 10));
	}
	munmap(page, 4096);
	refused(accel_async_memory_copy_2d(stream, device, 6, host, 10, 7, 10, 0), -EINVAL,
		"dpitch is 6");
	refused(accel_async_memory_copy_2d(stream, device, 52, host, 52, 52, 10, 0), -EFAULT,
		"allocation");
	expect(accel_stream_destroy(stream), 0);
	refused(accel_async_memory_copy_2d(stream, device, 7, host, 7, 7, 1, 0), -EINVAL,
		"destroyed");
	tear_down();
}

static void test_fill_on_a_stream(void)
{
	const uint16_t word = 0x4241;

	set_up();
	mock_hold(0);
	expect(accel_async_device_memory_fill(dev, stream, device + 1, &word, 2, 100, 0), 0);
	ok(accel_stream_query(stream) == -EINPROGRESS && !mock_calls(PACCEL_NR_FILL));
	mock_wait_held(0, 1);
	mock_release(0);
	expect(accel_stream_synchronize(stream), 0);
	for (int i = 0; i < 100; i++)
		ok(mock_memory(0, MOCK_BASE)[1 + i] == (i % 2 ? 'B' : 'A'));
	ok(!mock_memory(0, MOCK_BASE)[0] && !mock_memory(0, MOCK_BASE)[101]);
	tear_down();
}

/* The driver refuses it where the device does not verify, so what is asked for arrives there. */
static void test_verified_on_a_stream(void)
{
	char mine[100] = "";

	set_up();
	refused(accel_async_memory_copy_2d(stream, device, 0, host, 0, 100, 1, ACCEL_VERIFY),
		-EOPNOTSUPP, "/dev/paccel0");
	refused(accel_async_memory_copy_2d(stream, device, 0, mine, 0, 100, 1, ACCEL_VERIFY),
		-EOPNOTSUPP, "/dev/paccel0");
	refused(accel_async_device_memory_fill(dev, stream, device, "x", 1, 100, ACCEL_VERIFY),
		-EOPNOTSUPP, "/dev/paccel0");
	expect(accel_stream_query(stream), 0);
	tear_down();
	mock_reset();
	mock_add_mappable(0, 8192);
	expect(accel_device_open(0, &dev), 0);
	stream = new_stream(dev);
	device = device_memory(dev, SIZE);
	expect(accel_async_memory_copy_2d(stream, device, 0, mine, 0, 100, 1, ACCEL_VERIFY), 0);
	expect(accel_async_device_memory_fill(dev, stream, device, "x", 1, 100, ACCEL_VERIFY), 0);
	expect(accel_stream_synchronize(stream), 0);
	mock_fail(MOCK_OPERATION, 1, EBADMSG);
	expect(accel_async_device_memory_fill(dev, stream, device, "x", 1, 100, ACCEL_VERIFY), 0);
	refused(accel_stream_synchronize(stream), -EBADMSG, "changed");
	tear_down();
}

/* More than there is room for: those that find none wait for the stream. */
static void test_stage_wraps_and_fills(void)
{
	static char mine[60000], back[60000];
	int copies = 60;

	mock_add_sized(0, 1 << 20, 1 << 20);
	expect(accel_device_open(0, &dev), 0);
	stream = new_stream(dev);
	device = device_memory(dev, sizeof(mine));
	for (int i = 0; i < copies; i++) {
		memset(mine, i, sizeof(mine));
		expect(accel_async_memory_copy_h2d(dev, stream, device, mine, sizeof(mine)), 0);
		if (i % 7 == 3) {
			expect(accel_async_memory_copy_d2h(dev, stream, back, device, sizeof(back)),
			       0);
			ok(!memcmp(back, mine, sizeof(back)));
		}
	}
	expect(accel_stream_synchronize(stream), 0);
	ok(*mock_memory(0, MOCK_BASE) == copies - 1);
	ok(mock_calls(PACCEL_NR_HOST_ALLOC) == 1);
	tear_down();
}

static bool all_copied;

static void *lets_go_when_somebody_waits(void *arg)
{
	while (!mock_calls(PACCEL_NR_WAIT) && !__atomic_load_n(&all_copied, __ATOMIC_ACQUIRE))
		sched_yield();
	mock_release(0);
	return arg;
}

/* Bytes that the card has not read yet stay as they are. */
static void test_stage_keeps_what_is_on_its_way(void)
{
	static char mine[60000];
	pthread_t thread;

	mock_add_sized(0, 2 << 20, 2 << 20);
	expect(accel_device_open(0, &dev), 0);
	stream = new_stream(dev);
	device = device_memory(dev, 20 * sizeof(mine));
	mock_hold(0);
	pthread_create(&thread, NULL, lets_go_when_somebody_waits, NULL);
	for (size_t i = 0; i < 20; i++) {
		memset(mine, (int)i + 1, sizeof(mine));
		expect(accel_async_memory_copy_h2d(dev, stream, device + i * sizeof(mine), mine,
						   sizeof(mine)),
		       0);
		ok(i != 14 || !mock_calls(PACCEL_NR_COPY));
	}
	__atomic_store_n(&all_copied, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	expect(accel_stream_synchronize(stream), 0);
	for (size_t i = 0; i < 20; i++)
		ok(mock_memory(0, MOCK_BASE)[i * sizeof(mine)] == i + 1 &&
		   mock_memory(0, MOCK_BASE)[(i + 1) * sizeof(mine) - 1] == i + 1);
	tear_down();
}

static void test_large_pageable_copies_wait(void)
{
	static char mine[100000];
	pthread_t thread;

	mock_add_sized(0, 1 << 20, 1 << 20);
	expect(accel_device_open(0, &dev), 0);
	stream = new_stream(dev);
	device = device_memory(dev, sizeof(mine));
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 1, sizeof(mine)), 0);
	pthread_create(&thread, NULL, lets_go, NULL);
	memset(mine, 2, sizeof(mine));
	expect(accel_async_memory_copy_h2d(dev, stream, device, mine, sizeof(mine)), 0);
	ok(accel_stream_query(stream) == 0);
	ok(mock_calls(PACCEL_NR_COPY) == 1 && *mock_memory(0, MOCK_BASE) == 2);
	pthread_join(thread, NULL);
	tear_down();
}

/* No locked memory for the stage: slower, and as right. */
static void test_no_memory_for_the_stage(void)
{
	char mine[100];

	set_up();
	mock_fail(PACCEL_NR_HOST_ALLOC, 1, ENOMEM);
	memset(mine, 's', 100);
	expect(accel_async_memory_copy_h2d(dev, stream, device, mine, 100), 0);
	ok(mock_calls(PACCEL_NR_COPY) == 1 && *mock_memory(0, MOCK_BASE) == 's');
	expect(accel_async_memory_copy_h2d(dev, stream, device, mine, 100), 0);
	ok(mock_calls(PACCEL_NR_COPY) == 1);
	tear_down();
}

static void test_unreadable_source(void)
{
	char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	set_up();
	refused(accel_async_memory_copy_h2d(dev, stream, device, page, 100), -EFAULT, "src");
	refused(accel_async_memory_copy_d2h(dev, stream, page, device, 100), -EFAULT, "dst");
	expect(accel_stream_query(stream), 0);
	expect(accel_async_memory_copy_h2d(dev, stream, device, "abc", 3), 0);
	expect(accel_stream_synchronize(stream), 0);
	munmap(page, 4096);
	tear_down();
}

/* The processor's copies and fills come after the stream, too. */
static void test_host_to_host(void)
{
	char *unified;
	pthread_t thread;

	set_up();
	unified = unified_memory(dev, SIZE);
	mock_hold(0);
	memset(host, 'h', SIZE);
	expect(accel_async_memory_copy_d2d(dev, stream, unified, device, SIZE), 0);
	pthread_create(&thread, NULL, lets_go, NULL);
	expect(accel_async_memory_copy_h2d(dev, stream, unified, host, 10), 0);
	ok(unified[0] == 'h' && !unified[10]);
	expect(accel_async_device_memory_set(dev, stream, unified, 'u', 5), 0);
	ok(unified[0] == 'u' && unified[5] == 'h');
	pthread_join(thread, NULL);
	mock_fail(MOCK_OPERATION, 1, EIO);
	expect(accel_async_device_memory_set(dev, stream, device, 1, 1), 0);
	expect(accel_async_device_memory_set(dev, stream, unified, 'v', 5), -EIO);
	ok(unified[0] == 'u');
	tear_down();
}

static void test_between_cards(void)
{
	struct accel_device *other;
	char *there, *unified;

	set_up();
	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	there = device_memory(other, SIZE);
	unified = unified_memory(other, SIZE);
	memset(host, 'p', SIZE);
	expect(accel_async_memory_copy_h2d(dev, stream, device, host, SIZE), 0);
	expect(accel_async_memory_copy_p2p(other, dev, stream, there, device, SIZE), 0);
	ok(*mock_memory(1, MOCK_BASE) == 'p');
	expect(accel_async_memory_copy_p2p(dev, other, stream, device + 256, there, 10), 0);
	ok(*mock_memory(0, MOCK_BASE + 256) == 'p');
	/* Host memory of the other card is not in this stream's reach. */
	expect(accel_async_memory_copy_p2p(dev, other, stream, device + 300, unified, 10), 0);
	expect(accel_async_memory_copy_p2p(other, dev, stream, unified, device, 10), 0);
	ok(unified[9] == 'p');
	expect(accel_device_close(other), 0);
	tear_down();
}

static void test_stream_null_is_complete(void)
{
	char mine[10] = "";

	set_up();
	expect(accel_async_memory_copy_h2d(dev, NULL, device, "123456789", 10), 0);
	expect(accel_async_device_memory_set(dev, NULL, device, '0', 1), 0);
	expect(accel_async_memory_copy_d2h(dev, NULL, mine, device, 10), 0);
	ok(!strcmp(mine, "023456789") && !mock_calls(PACCEL_NR_SUBMIT));
	tear_down();
}

/* More than the driver takes at once: the caller waits. */
static void test_full_queue(void)
{
	set_up();
	for (int i = 0; i < 3 * MOCK_QUEUED; i++)
		expect(accel_async_device_memory_set(dev, stream, device, (unsigned char)i, 1), 0);
	expect(accel_stream_synchronize(stream), 0);
	ok(*mock_memory(0, MOCK_BASE) == 3 * MOCK_QUEUED - 1);
	tear_down();
}

/* ---- Signals ---- */

static void test_eventfd(void)
{
	int fd = eventfd(0, 0), other;

	set_up();
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 1, 1), 0);
	expect(accel_stream_eventfd(stream, fd), 0);
	mock_wait_held(0, 1);
	ok(!readable(fd));
	mock_release(0);
	ok(wait_for(fd) == 1);
	ok(accel_stream_query(stream) == 0);
	/* Also of a stream that fails. */
	mock_hold(0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	expect(accel_async_device_memory_set(dev, stream, device, 1, 1), 0);
	expect(accel_stream_eventfd(stream, fd), 0);
	mock_wait_held(0, 1);
	mock_release(0);
	ok(wait_for(fd) == 1);
	expect(accel_stream_query(stream), -EIO);
	expect(accel_stream_clear(stream), 0);
	refused(accel_stream_eventfd(stream, -1), -EINVAL, "fd -1 is no eventfd");
	other = memfd_create("none", 0);
	refused(accel_stream_eventfd(stream, other), -EINVAL, "no eventfd");
	close(other);
	close(fd);
	tear_down();
}

static void test_fences(void)
{
	struct accel_stream *second;
	int fence, none, foreign;

	set_up();
	second = new_stream(dev);
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 1, 1), 0);
	expect(accel_stream_export_fence(stream, &fence), 0);
	expect(accel_stream_wait_fence(second, fence), 0);
	close(fence);
	mock_wait_held(0, 1);
	ok(accel_stream_query(second) == -EINPROGRESS);
	mock_release(0);
	expect(accel_stream_synchronize(second), 0);
	foreign = mock_fence();
	expect(accel_stream_wait_fence(stream, foreign), 0);
	ok(accel_stream_query(stream) == -EINPROGRESS);
	mock_fence_signal(foreign, -EPIPE);
	expect(accel_stream_synchronize(stream), -EPIPE);
	expect(accel_stream_clear(stream), 0);
	none = memfd_create("none", 0);
	refused(accel_stream_wait_fence(stream, none), -EINVAL, "no sync_file");
	refused(accel_stream_wait_fence(stream, -1), -EINVAL, "fd -1 is no sync_file");
	mock_fail(PACCEL_NR_FENCE_EXPORT, 1, EMFILE);
	refused(accel_stream_export_fence(stream, &fence), -EMFILE, "RLIMIT_NOFILE");
	ok(fence == -1);
	close(none);
	close(foreign);
	tear_down();
}

/* A stream that never had work has a fence, too. */
static void test_fence_of_nothing(void)
{
	struct accel_stream *second;
	int fence;

	set_up();
	second = new_stream(dev);
	expect(accel_stream_export_fence(stream, &fence), 0);
	expect(accel_stream_wait_fence(second, fence), 0);
	expect(accel_stream_synchronize(second), 0);
	close(fence);
	tear_down();
}

/* ---- Callbacks ---- */

struct heard {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool block;
	unsigned int calls, entered;
	int status[64];
	char seen[64];
	pthread_t thread;
	int signals; /* that the thread does not block */
};

#define HEARD { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER }

static void hears(void *data, int status)
{
	struct heard *heard = data;
	sigset_t set;

	pthread_mutex_lock(&heard->lock);
	heard->entered++;
	pthread_cond_broadcast(&heard->cond);
	while (heard->block)
		pthread_cond_wait(&heard->cond, &heard->lock);
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	heard->signals += !sigismember(&set, SIGUSR1) + !sigismember(&set, SIGINT);
	heard->status[heard->calls] = status;
	heard->seen[heard->calls++] = (char)*mock_memory(0, MOCK_BASE);
	heard->thread = pthread_self();
	pthread_mutex_unlock(&heard->lock);
}

static void let_return(struct heard *heard)
{
	pthread_mutex_lock(&heard->lock);
	heard->block = false;
	pthread_cond_broadcast(&heard->cond);
	pthread_mutex_unlock(&heard->lock);
}

static void wait_entered(struct heard *heard, unsigned int entered)
{
	pthread_mutex_lock(&heard->lock);
	while (heard->entered < entered)
		pthread_cond_wait(&heard->cond, &heard->lock);
	pthread_mutex_unlock(&heard->lock);
}

/* In order: after the work before it, before the work behind it. */
static void test_callback_order(void)
{
	struct heard heard = HEARD;

	set_up();
	for (int i = 0; i < 20; i++) {
		expect(accel_async_device_memory_set(dev, stream, device, (unsigned char)i, 1), 0);
		expect(accel_stream_add_callback(stream, hears, &heard), 0);
		if (i % 3 == 0)
			expect(accel_stream_add_callback(stream, hears, &heard), 0);
	}
	expect(accel_stream_synchronize(stream), 0);
	ok(heard.calls == 27 && !heard.signals && !pthread_equal(heard.thread, pthread_self()));
	for (unsigned int i = 0, at = 0; i < 20; i++, at++) {
		ok(heard.seen[at] == (char)i && !heard.status[at]);
		if (i % 3 == 0)
			ok(heard.seen[++at] == (char)i);
	}
	tear_down();
}

static void *fills(void *arg)
{
	expect(accel_async_device_memory_set(dev, stream, device, 9, 1), 0);
	return arg;
}

static void test_work_waits_for_callback(void)
{
	struct heard heard = HEARD;
	unsigned int submitted;
	pthread_t thread;

	set_up();
	heard.block = true;
	expect(accel_stream_add_callback(stream, hears, &heard), 0);
	wait_entered(&heard, 1);
	submitted = mock_calls(PACCEL_NR_SUBMIT);
	ok(accel_stream_query(stream) == -EINPROGRESS);
	refused(accel_stream_synchronize_until(stream, now() + 3000000), -ETIME, "deadline");
	pthread_create(&thread, NULL, fills, NULL);
	refused(accel_stream_synchronize_until(stream, now() + 3000000), -ETIME, "deadline");
	ok(mock_calls(PACCEL_NR_SUBMIT) == submitted);
	let_return(&heard);
	pthread_join(thread, NULL);
	expect(accel_stream_synchronize(stream), 0);
	ok(heard.calls == 1 && heard.seen[0] == 0 && *mock_memory(0, MOCK_BASE) == 9);
	tear_down();
}

static void test_callback_of_a_failure(void)
{
	struct heard heard = HEARD;

	set_up();
	mock_hold(0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	expect(accel_async_device_memory_set(dev, stream, device, 1, 1), 0);
	expect(accel_stream_add_callback(stream, hears, &heard), 0);
	mock_wait_held(0, 1);
	mock_release(0);
	expect(accel_stream_synchronize(stream), -EIO);
	ok(heard.calls == 1 && heard.status[0] == -EIO);
	/* And when it had failed before. */
	expect(accel_stream_add_callback(stream, hears, &heard), 0);
	expect(accel_stream_clear(stream), 0);
	ok(heard.calls == 2 && heard.status[1] == -EIO);
	tear_down();
}

static void test_callback_of_a_removal(void)
{
	struct heard heard = HEARD;

	set_up();
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 1, 1), 0);
	expect(accel_stream_add_callback(stream, hears, &heard), 0);
	mock_wait_held(0, 1);
	mock_remove(0);
	wait_entered(&heard, 1);
	expect(accel_stream_add_callback(stream, hears, &heard), -ENODEV);
	tear_down();
	ok(heard.calls == 1 && heard.status[0] == -ENODEV);
}

static void store_status(void *data, int status)
{
	__atomic_store_n((int *)data, status, __ATOMIC_RELEASE);
}

/* A wait behind the failure keeps the stream busy: the callback waits for it, the close does not. */
static void test_close_with_callback_behind_a_failure(void)
{
	int failing = mock_fence(), never = mock_fence(), status = 1;

	set_up();
	expect(accel_stream_wait_fence(stream, failing), 0);
	expect(accel_stream_wait_fence(stream, never), 0);
	mock_fence_signal(failing, -EIO);
	mock_wait_idle();
	expect(accel_stream_add_callback(stream, store_status, &status), 0);
	mock_wait_idle();
	ok(__atomic_load_n(&status, __ATOMIC_ACQUIRE) == 1);
	tear_down();
	ok(status == -ECANCELED);
	close(failing);
	close(never);
}

/* The last close ends them, and the thread. */
static void test_close_with_callbacks(void)
{
	struct heard heard = HEARD;

	set_up();
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 1, 1), 0);
	for (int i = 0; i < 3; i++)
		expect(accel_stream_add_callback(stream, hears, &heard), 0);
	mock_wait_held(0, 1);
	expect(accel_stream_destroy(stream), 0);
	tear_down();
	ok(heard.calls == 3 && heard.status[2] == -ECANCELED);
}

static int errors[10];

static void calls_back(void *data, int status)
{
	struct accel_stream *busy = data;
	int fd;

	errors[0] = status;
	errors[1] = accel_stream_query(stream);
	errors[2] = accel_stream_synchronize(stream);
	errors[3] = accel_async_device_memory_set(dev, stream, device, 1, 1);
	errors[4] = accel_stream_add_callback(stream, nothing, NULL);
	errors[5] = accel_stream_destroy(stream);
	errors[6] = accel_device_synchronize(dev);
	errors[7] = accel_device_close(dev);
	errors[8] = accel_stream_synchronize(busy);
	errors[9] = accel_stream_export_fence(busy, &fd);
}

static void test_calls_from_a_callback(void)
{
	struct accel_stream *busy;

	set_up();
	busy = new_stream(dev);
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, busy, device, 1, 1), 0);
	expect(accel_stream_add_callback(busy, nothing, NULL), 0);
	mock_wait_held(0, 1);
	expect(accel_stream_add_callback(stream, calls_back, busy), 0);
	expect(accel_stream_synchronize(stream), 0);
	ok(!errors[0]);
	for (int i = 1; i < 10; i++)
		ok(errors[i] == -EDEADLK);
	mock_release(0);
	tear_down();
}

static void uses_other_stream(void *data, int status)
{
	struct accel_stream *other = data;

	ok(!status);
	expect(accel_async_device_memory_set(dev, other, device, 6, 1), 0);
	expect(accel_stream_synchronize(other), 0);
}

static void test_other_streams_in_a_callback(void)
{
	set_up();
	expect(accel_stream_add_callback(stream, uses_other_stream, new_stream(dev)), 0);
	expect(accel_stream_synchronize(stream), 0);
	ok(*mock_memory(0, MOCK_BASE) == 6);
	tear_down();
}

static void test_no_thread(void)
{
	struct rlimit limit, before;
	struct heard heard = HEARD;

	set_up();
	getrlimit(RLIMIT_NOFILE, &before);
	limit = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
	setrlimit(RLIMIT_NOFILE, &limit);
	refused(accel_stream_add_callback(stream, hears, &heard), -EMFILE, "eventfd");
	setrlimit(RLIMIT_NOFILE, &before);
	expect(accel_stream_query(stream), 0);
	mock_fail(PACCEL_NR_SUBMIT, 1, ENOMEM);
	expect(accel_stream_add_callback(stream, hears, &heard), -ENOMEM);
	expect(accel_stream_query(stream), 0);
	tear_down();
	ok(!heard.calls);
}

/* ---- Many threads ---- */

static void *works(void *arg)
{
	struct accel_stream *mine = new_stream(dev);
	struct heard heard = HEARD;
	struct accel_event *event;
	char *memory = device_memory(dev, 64), bytes[64];

	expect(accel_event_create(dev, &event), 0);
	for (int i = 0; i < 50; i++) {
		memset(bytes, i, sizeof(bytes));
		expect(accel_async_memory_copy_h2d(dev, mine, memory, bytes, 64), 0);
		expect(accel_event_record(event, mine), 0);
		if (i % 5 == 0)
			expect(accel_stream_add_callback(mine, hears, &heard), 0);
		expect(accel_event_synchronize(event), 0);
		expect(accel_async_memory_copy_d2h(dev, mine, bytes, memory, 64), 0);
		ok(bytes[63] == i);
	}
	expect(accel_stream_synchronize(mine), 0);
	ok(heard.calls == 10);
	expect(accel_event_destroy(event), 0);
	expect(accel_stream_destroy(mine), 0);
	return arg;
}

static void test_threads_with_streams(void)
{
	pthread_t threads[6];

	set_up();
	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, works, NULL);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	expect(accel_device_synchronize(dev), 0);
	tear_down();
}

static struct accel_event *shared_event;

static void *shares(void *arg)
{
	for (int i = 0; i < 100; i++) {
		expect(accel_async_device_memory_set(dev, stream, device, 1, 1), 0);
		expect(accel_event_record(shared_event, stream), 0);
		expect(accel_event_synchronize(shared_event), 0);
		expect(accel_stream_wait_event(stream, shared_event), 0);
		ok(accel_stream_query(stream) <= 0);
		if (i % 20 == 0)
			expect(accel_stream_add_callback(stream, nothing, NULL), 0);
	}
	return arg;
}

static void test_threads_share_a_stream(void)
{
	pthread_t threads[4];

	set_up();
	expect(accel_event_create(dev, &shared_event), 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, shares, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	expect(accel_stream_synchronize(stream), 0);
	tear_down();
}

static void *opens_and_calls_back(void *arg)
{
	struct accel_device *mine;
	struct accel_stream *own;
	struct heard heard = HEARD;

	for (int i = 0; i < 30; i++) {
		expect(accel_device_open(*(int *)arg, &mine), 0);
		own = new_stream(mine);
		expect(accel_stream_add_callback(own, hears, &heard), 0);
		expect(accel_stream_destroy(own), 0);
		expect(accel_device_close(mine), 0);
		ok(heard.calls == 1);
		heard.calls = 0;
	}
	return NULL;
}

static int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* One that has been joined stays in the list for a moment. */
static bool only_so_many_threads(int count)
{
	uint64_t late = now() + 5000000000;

	while (count_threads() > count && now() < late)
		sched_yield();
	return count_threads() == count;
}

/* The thread comes and goes with the cards that use it. */
static void test_thread_comes_and_goes(void)
{
	int indices[2] = { 0, 1 }, before = count_threads();
	pthread_t threads[2];

	mock_add(0);
	mock_add(1);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, opens_and_calls_back, &indices[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ok(only_so_many_threads(before));
}

/* Waits in a callback, and says whether that was in vain. */
struct gate {
	sem_t opened;
	struct gate *next; /* to be opened afterwards */
	bool passed;
};

static void waits_at_gate(void *data, int status)
{
	struct gate *gate = data;
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 20;
	gate->passed = !status && !sem_timedwait(&gate->opened, &limit);
	if (gate->next)
		sem_post(&gate->next->opened);
}

static void opens_gate(void *data, int status)
{
	struct gate *gate = data;

	(void)status;
	sem_post(&gate->opened);
}

/* Others are not held by a callback that waits, in whatever order they come. */
static void test_callback_that_blocks(void)
{
	struct accel_stream *streams[MOCK_STREAMS];
	struct gate gates[MOCK_STREAMS - 1];

	set_up();
	streams[0] = stream;
	for (int i = 1; i < MOCK_STREAMS; i++)
		streams[i] = new_stream(dev);
	for (int i = 0; i < MOCK_STREAMS - 1; i++) {
		gates[i] = (struct gate){ .next = i ? &gates[i - 1] : NULL };
		sem_init(&gates[i].opened, 0, 0);
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MOCK_STREAMS - 1; i++)
			expect(accel_stream_add_callback(streams[i], waits_at_gate, &gates[i]), 0);
		expect(accel_stream_add_callback(streams[MOCK_STREAMS - 1], opens_gate,
						 &gates[MOCK_STREAMS - 2]), 0);
		expect(accel_stream_synchronize(streams[MOCK_STREAMS - 1]), 0);
		for (int i = 0; i < MOCK_STREAMS - 1; i++) {
			expect(accel_stream_synchronize(streams[i]), 0);
			ok(gates[i].passed);
			gates[i].passed = false;
		}
	}
	tear_down();
}

static int turns[3], next_turn;

static void takes_turn(void *data, int status)
{
	(void)status;
	*(int *)data = ++next_turn;
}

/* Those of one stream run one after the other all the same. */
static void test_callback_that_blocks_its_stream(void)
{
	struct gate gate = { .next = NULL };
	struct accel_stream *other;

	set_up();
	other = new_stream(dev);
	next_turn = 0;
	sem_init(&gate.opened, 0, 0);
	expect(accel_stream_add_callback(stream, waits_at_gate, &gate), 0);
	for (int i = 0; i < 2; i++)
		expect(accel_stream_add_callback(stream, takes_turn, &turns[i]), 0);
	expect(accel_stream_add_callback(other, takes_turn, &turns[2]), 0);
	expect(accel_stream_synchronize(other), 0);
	ok(turns[2] == 1 && next_turn == 1);
	ok(accel_stream_query(stream) == -EINPROGRESS);
	sem_post(&gate.opened);
	expect(accel_stream_synchronize(stream), 0);
	ok(gate.passed && turns[0] == 2 && turns[1] == 3);
	tear_down();
}

int main(void)
{
	RUN(test_busy_then_done);
	RUN(test_deadline_before_error);
	RUN(test_query_makes_no_call);
	RUN(test_streams_are_independent);
	RUN(test_wait_event);
	RUN(test_limits_of_streams);
	RUN(test_limit_while_one_ends);
	RUN(test_failed_create_leaves_nothing);
	RUN(test_destroy_with_work);
	RUN(test_device_synchronize);
	RUN(test_device_synchronize_and_streams_of_others);
	RUN(test_handlers_do_not_end_waits);
	RUN(test_time_namespace);
	RUN(test_failure_is_sticky);
	RUN(test_clear_with_dependents);
	RUN(test_clear_with_a_callback);
	RUN(test_clear_of_a_good_stream);
	RUN(test_removal);
	RUN(test_lost_in_a_reset);
	RUN(test_removal_ends_waits);
	RUN(test_bad_arguments);
	RUN(test_pinned_copies_are_queued);
	RUN(test_freed_memory_is_still_copied);
	RUN(test_small_pageable_copies_are_staged);
	RUN(test_rows_on_a_stream);
	RUN(test_fill_on_a_stream);
	RUN(test_verified_on_a_stream);
	RUN(test_stage_wraps_and_fills);
	RUN(test_stage_keeps_what_is_on_its_way);
	RUN(test_large_pageable_copies_wait);
	RUN(test_no_memory_for_the_stage);
	RUN(test_unreadable_source);
	RUN(test_host_to_host);
	RUN(test_between_cards);
	RUN(test_stream_null_is_complete);
	RUN(test_full_queue);
	RUN(test_eventfd);
	RUN(test_fences);
	RUN(test_fence_of_nothing);
	RUN(test_callback_order);
	RUN(test_work_waits_for_callback);
	RUN(test_callback_of_a_failure);
	RUN(test_callback_of_a_removal);
	RUN(test_close_with_callback_behind_a_failure);
	RUN(test_close_with_callbacks);
	RUN(test_calls_from_a_callback);
	RUN(test_other_streams_in_a_callback);
	RUN(test_no_thread);
	RUN(test_threads_with_streams);
	RUN(test_threads_share_a_stream);
	RUN(test_thread_comes_and_goes);
	RUN(test_callback_that_blocks);
	RUN(test_callback_that_blocks_its_stream);
	return tap_end();
}
