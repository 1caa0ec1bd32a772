/* SPDX-License-Identifier: MIT */
/* Batches: many operations, one call. */
#define _GNU_SOURCE
#include "fixture.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE 512
#define UNTOUCHED 77

static struct accel_device *dev;
static struct accel_stream *stream;
static struct accel_batch *batch;
static struct accel_event *event;
static char *device, *host;

static void set_up(void)
{
	dev = open_card();
	expect(accel_stream_create(dev, &stream), 0);
	expect(accel_batch_create(dev, &batch), 0);
	expect(accel_event_create(dev, &event), 0);
	device = device_memory(dev, SIZE);
	host = host_memory(dev, SIZE);
}

static void tear_down(void)
{
	expect(accel_device_close(dev), 0);
}

static void test_all_kinds_in_one_call(void)
{
	struct accel_stream *second;
	struct accel_event *end;
	int fd = eventfd(0, EFD_NONBLOCK);
	size_t failed = UNTOUCHED;
	eventfd_t count = 0;
	int64_t ns = -1;

	set_up();
	expect(accel_event_create(dev, &end), 0);
	expect(accel_stream_create(dev, &second), 0);
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, second, device, 'e', 1), 0);
	expect(accel_event_record(event, second), 0);
	memset(host, 'b', 100);
	expect(accel_batch_wait_event(batch, event), 0);
	expect(accel_batch_record_event(batch, event), 0);
	expect(accel_batch_copy(batch, device + 1, host, 100), 0);
	expect(accel_batch_copy(batch, device + 200, device, 100), 0);
	expect(accel_batch_device_memory_set(batch, device + 200, 's', 1), 0);
	expect(accel_batch_copy(batch, host + 200, device + 200, 100), 0);
	expect(accel_batch_record_event(batch, end), 0);
	expect(accel_batch_eventfd(batch, fd), 0);
	ok(mock_calls(PACCEL_NR_SUBMIT) == 2);
	expect(accel_batch_submit(batch, stream, &failed), 0);
	ok(mock_calls(PACCEL_NR_SUBMIT) == 3 && failed == UNTOUCHED);
	ok(MOCK_LAST(paccel_submit, PACCEL_NR_SUBMIT)->nr_ops == 8);
	ok(accel_event_query(end) == -EINPROGRESS && eventfd_read(fd, &count) < 0);
	mock_wait_held(0, 1);
	mock_release(0);
	expect(accel_stream_synchronize(stream), 0);
	ok(host[200] == 's' && host[201] == 'b' && host[299] == 'b');
	ok(!eventfd_read(fd, &count) && count == 1);
	expect(accel_event_elapsed_time(event, end, &ns), 0);
	ok(ns > 0);
	/* It is empty again. */
	refused(accel_batch_submit(batch, stream, NULL), -EINVAL, "empty");
	close(fd);
	tear_down();
}

static void test_rows_and_patterns(void)
{
	const uint32_t word = 0x64636261;

	set_up();
	for (int i = 0; i < 100; i++)
		host[i] = (char)('A' + i % 10);
	expect(accel_batch_copy_2d(batch, device, 3, host, 10, 3, 10, 0), 0);
	expect(accel_batch_copy_2d(batch, host + 100, 10, device, 3, 3, 10, 0), 0);
	expect(accel_batch_device_memory_fill(batch, device + 33, &word, 4, 8, 0), 0);
	expect(accel_batch_copy(batch, host + 200, device + 33, 8), 0);
	expect(accel_batch_submit(batch, stream, NULL), 0);
	ok(MOCK_LAST(paccel_submit, PACCEL_NR_SUBMIT)->nr_ops == 4);
	expect(accel_stream_synchronize(stream), 0);
	for (int i = 0; i < 100; i++)
		ok(host[100 + i] == (i % 10 < 3 ? 'A' + i % 10 : 0));
	ok(!memcmp(host + 200, "abcdabcd", 8));
	refused(accel_batch_copy_2d(batch, device, 2, host, 10, 3, 10, 0), -EINVAL, "dpitch is 2");
	refused(accel_batch_copy_2d(batch, device, 3, host, 10, 3, 0, 0), -EINVAL, "rows is 0");
	refused(accel_batch_copy_2d(batch, device, 3, host, 10, 3, 52, 0), -EFAULT, "allocation");
	refused(accel_batch_copy_2d(batch, device, 3, host, 10, 3, 1, 8), -EINVAL, "flags is 0x8");
	refused(accel_batch_copy_2d(NULL, device, 3, host, 10, 3, 1, 0), -EINVAL, "batch is NULL");
	refused(accel_batch_device_memory_fill(batch, device, &word, 3, 9, 0), -EINVAL,
		"pattern_size is 3");
	refused(accel_batch_device_memory_fill(batch, device, &word, 4, 6, 0), -EINVAL, "multiple");
	refused(accel_batch_device_memory_fill(NULL, device, &word, 4, 8, 0), -EINVAL,
		"batch is NULL");
	/* This device does not verify; the driver says so when it is asked. */
	expect(accel_batch_copy(batch, device, host, 1), 0);
	expect(accel_batch_copy_2d(batch, device, 3, host, 10, 3, 10, ACCEL_VERIFY), 0);
	refused(accel_batch_submit(batch, stream, NULL), -EOPNOTSUPP, "operation 1 (copy)");
	expect(accel_batch_destroy(batch), 0);
	expect(accel_batch_create(dev, &batch), 0);
	expect(accel_batch_device_memory_fill(batch, device, &word, 4, 8, ACCEL_VERIFY), 0);
	refused(accel_batch_submit(batch, stream, NULL), -EOPNOTSUPP, "operation 0 (fill)");
	tear_down();
}

static void *submits_often(void *arg)
{
	for (int i = 0; i < 200; i++)
		expect(accel_batch_submit(batch, arg, NULL), 0);
	expect(accel_stream_synchronize(arg), 0);
	return NULL;
}

static void test_replay_by_two_threads(void)
{
	struct accel_stream *second;
	uint64_t filled;
	struct accel_memory_stats stats;
	pthread_t thread;

	set_up();
	expect(accel_stream_create(dev, &second), 0);
	expect(accel_batch_keep(batch), 0);
	expect(accel_batch_device_memory_set(batch, device, 1, 1), 0);
	expect(accel_batch_record_event(batch, event), 0);
	expect(accel_memory_stats_full(dev, &stats), 0);
	filled = stats.bytes_filled;
	pthread_create(&thread, NULL, submits_often, second);
	submits_often(stream);
	pthread_join(thread, NULL);
	expect(accel_memory_stats_full(dev, &stats), 0);
	ok(stats.bytes_filled == filled + 400);
	tear_down();
}

/* Recorded once; every submission does all of it again, with the contents of that time. */
static void test_replay(void)
{
	struct accel_stream *second;
	int fd = eventfd(0, EFD_NONBLOCK);
	eventfd_t count = 0;
	size_t failed = UNTOUCHED;
	int64_t ns = -1;
	struct accel_event *end;

	set_up();
	expect(accel_stream_create(dev, &second), 0);
	expect(accel_event_create(dev, &end), 0);
	expect(accel_batch_keep(batch), 0);
	refused(accel_batch_submit(batch, stream, NULL), -EINVAL, "empty");
	expect(accel_batch_record_event(batch, event), 0);
	expect(accel_batch_copy(batch, device, host, 10), 0);
	expect(accel_batch_copy(batch, host + 100, device, 10), 0);
	expect(accel_batch_record_event(batch, end), 0);
	for (int i = 1; i <= 3; i++) {
		struct accel_stream *on = i % 2 ? stream : second;

		memset(host, i, 10);
		expect(accel_batch_submit(batch, on, NULL), 0);
		ok(MOCK_LAST(paccel_submit, PACCEL_NR_SUBMIT)->nr_ops == 4);
		expect(accel_stream_synchronize(on), 0);
		ok(host[100] == i && host[109] == i);
		expect(accel_event_elapsed_time(event, end, &ns), 0);
		ok(ns > 0);
	}
	/* It can grow, and a failure changes nothing. */
	expect(accel_batch_eventfd(batch, fd), 0);
	expect(accel_batch_submit(batch, stream, NULL), 0);
	mock_fail(PACCEL_NR_SUBMIT, 1, EIO);
	expect(accel_batch_submit(batch, stream, NULL), -EIO);
	expect(accel_batch_submit(batch, stream, NULL), 0);
	expect(accel_stream_synchronize(stream), 0);
	ok(!eventfd_read(fd, &count) && count == 2);
	expect(accel_host_memory_deallocate(dev, host, SIZE), 0);
	refused(accel_batch_submit(batch, stream, &failed), -EFAULT, "operation 1 (copy)");
	ok(failed == 1);
	expect(accel_batch_destroy(batch), 0);
	refused(accel_batch_keep(batch), -EINVAL, "destroyed");
	refused(accel_batch_keep(NULL), -EINVAL, "batch is NULL");
	/* That goes with the batch, though not with its memory. */
	expect(accel_batch_create(dev, &batch), 0);
	expect(accel_batch_device_memory_set(batch, device, 1, 1), 0);
	expect(accel_batch_submit(batch, stream, NULL), 0);
	refused(accel_batch_submit(batch, stream, NULL), -EINVAL, "empty");
	close(fd);
	tear_down();
}

/* A wait for what has happened is none; with nothing else there is nothing to queue. */
static void test_needless_waits(void)
{
	set_up();
	expect(accel_batch_wait_event(batch, event), 0);
	expect(accel_batch_submit(batch, stream, NULL), 0);
	ok(!mock_calls(PACCEL_NR_SUBMIT));
	expect(accel_event_record(event, stream), 0);
	expect(accel_event_synchronize(event), 0);
	expect(accel_batch_wait_event(batch, event), 0);
	expect(accel_batch_device_memory_set(batch, device, 1, 1), 0);
	expect(accel_stream_destroy(stream), 0);
	expect(accel_stream_create(dev, &stream), 0);
	expect(accel_batch_submit(batch, stream, NULL), 0);
	ok(MOCK_LAST(paccel_submit, PACCEL_NR_SUBMIT)->nr_ops == 1);
	expect(accel_stream_synchronize(stream), 0);
	tear_down();
}

/* A failure is not made good by destroying the stream, nor is it one of memory. */
static void test_wait_for_a_failed_stream(void)
{
	size_t failed = UNTOUCHED;
	struct accel_stream *other;

	set_up();
	expect(accel_stream_create(dev, &other), 0);
	mock_hold(0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	expect(accel_async_device_memory_set(dev, other, device, 1, 1), 0);
	expect(accel_event_record(event, other), 0);
	mock_release(0);
	expect(accel_event_synchronize(event), -EIO);
	expect(accel_stream_destroy(other), 0);
	expect(accel_batch_device_memory_set(batch, device, 1, 1), 0);
	expect(accel_batch_wait_event(batch, event), 0);
	refused(accel_batch_submit(batch, stream, &failed), -EIO,
		"operation 1 (wait for an event)");
	ok(failed == 1);
	expect(accel_stream_query(stream), 0);
	tear_down();
}

/* Nothing is queued, and the operation has a name. */
static void test_bad_operation(void)
{
	size_t failed = UNTOUCHED;
	char *more;

	set_up();
	more = device_memory(dev, 64);
	expect(accel_batch_wait_event(batch, event), 0);
	expect(accel_batch_device_memory_set(batch, device, 'x', SIZE), 0);
	expect(accel_batch_record_event(batch, event), 0);
	expect(accel_batch_copy(batch, more, host, 64), 0);
	expect(accel_device_memory_deallocate(dev, more, 64), 0);
	refused(accel_batch_submit(batch, stream, &failed), -EFAULT, "operation 3 (copy)");
	ok(failed == 3);
	expect(accel_stream_synchronize(stream), 0);
	expect(accel_event_query(event), 0);
	ok(*mock_memory(0, MOCK_BASE) == 0);
	tear_down();
}

static void test_batch_that_failed_is_as_before(void)
{
	int fd = eventfd(0, 0), same = dup(fd), none = memfd_create("none", 0);
	size_t failed = UNTOUCHED;

	set_up();
	expect(accel_batch_device_memory_set(batch, device, 'x', SIZE), 0);
	expect(accel_batch_record_event(batch, event), 0);
	expect(accel_batch_eventfd(batch, fd), 0);
	ok(dup2(none, fd) == fd);
	refused(accel_batch_submit(batch, stream, &failed), -EINVAL,
		"operation 2 (signal an eventfd): fd");
	ok(failed == 2);
	refused(accel_batch_submit(batch, stream, NULL), -EINVAL, "no eventfd");
	ok(dup2(same, fd) == fd);
	expect(accel_batch_submit(batch, stream, &failed), 0);
	expect(accel_event_synchronize(event), 0);
	ok(*mock_memory(0, MOCK_BASE) == 'x');
	close(fd);
	close(same);
	close(none);
	tear_down();
}

static void test_other_failures(void)
{
	size_t failed = UNTOUCHED;

	set_up();
	expect(accel_batch_record_event(batch, event), 0);
	expect(accel_batch_device_memory_set(batch, device, 'x', 1), 0);
	mock_fail(PACCEL_NR_SUBMIT, 1, EIO);
	refused(accel_batch_submit(batch, stream, &failed), -EIO, "out of service");
	ok(failed == 2);
	mock_fail(MOCK_OPERATION, 1, EIO);
	expect(accel_batch_submit(batch, stream, &failed), 0);
	expect(accel_stream_synchronize(stream), -EIO);
	expect(accel_batch_device_memory_set(batch, device, 'x', 1), 0);
	refused(accel_batch_submit(batch, stream, &failed), -ECANCELED, "accel_stream_clear()");
	ok(failed == 1);
	expect(accel_stream_clear(stream), 0);
	expect(accel_batch_record_event(batch, event), 0);
	expect(accel_event_destroy(event), 0);
	refused(accel_batch_submit(batch, stream, &failed), -EINVAL, "event was destroyed");
	ok(failed == 1);
	tear_down();
}

/* ---- Callbacks during a submission ---- */

/* In the thread that submits, which has the callback to wait for. */
static void lets_go(void)
{
	mock_release(0);
}

static void adds(void *data, int status)
{
	(void)status;
	expect(accel_batch_device_memory_set(data, device + 2, 'c', 1), 0);
}

static struct accel_stream *idle;

static void waits_for(void (*callback)(void *data, int status))
{
	set_up();
	expect(accel_stream_create(dev, &idle), 0);
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 'a', 1), 0);
	expect(accel_stream_add_callback(stream, callback, batch), 0);
	expect(accel_batch_record_event(batch, event), 0);
	expect(accel_batch_device_memory_set(batch, device + 1, 'b', 1), 0);
	/* The time stamp of the event needs memory, so this is in the middle of the submission. */
	mock_before(PACCEL_NR_HOST_ALLOC, lets_go);
	alarm(30);
}

/* A submission waits for the callbacks of its stream with no lock that a callback needs. */
static void test_callback_adds_to_the_batch(void)
{
	size_t failed = UNTOUCHED;

	waits_for(adds);
	expect(accel_batch_submit(batch, stream, &failed), 0);
	ok(MOCK_LAST(paccel_submit, PACCEL_NR_SUBMIT)->nr_ops == 2);
	expect(accel_batch_submit(batch, stream, &failed), 0);
	ok(MOCK_LAST(paccel_submit, PACCEL_NR_SUBMIT)->nr_ops == 1 && failed == UNTOUCHED);
	expect(accel_stream_synchronize(stream), 0);
	ok(!memcmp(mock_memory(0, MOCK_BASE), "abc", 3));
	refused(accel_batch_submit(batch, stream, NULL), -EINVAL, "empty");
	alarm(0);
	tear_down();
}

/* What was added meanwhile is behind what could not be queued. */
static void test_callback_adds_and_the_submission_fails(void)
{
	size_t failed = UNTOUCHED;

	waits_for(adds);
	mock_fail(PACCEL_NR_SUBMIT, 1, EIO);
	refused(accel_batch_submit(batch, stream, &failed), -EIO, "out of service");
	ok(failed == 2);
	expect(accel_batch_submit(batch, stream, &failed), 0);
	ok(MOCK_LAST(paccel_submit, PACCEL_NR_SUBMIT)->nr_ops == 3);
	expect(accel_stream_synchronize(stream), 0);
	ok(!memcmp(mock_memory(0, MOCK_BASE), "abc", 3));
	alarm(0);
	tear_down();
}

static void submits(void *data, int status)
{
	size_t failed = UNTOUCHED;

	(void)status;
	refused(accel_batch_submit(data, idle, &failed), -EINVAL, "empty");
	ok(failed == 0);
}

/* Operations that are being submitted are not submitted by another call. */
static void test_callback_submits_the_batch(void)
{
	waits_for(submits);
	expect(accel_batch_submit(batch, stream, NULL), 0);
	expect(accel_stream_synchronize(stream), 0);
	ok(!memcmp(mock_memory(0, MOCK_BASE), "ab", 2));
	alarm(0);
	tear_down();
}

/* Whatever is wrong, *failed is written. */
static void test_failed_before_the_batch_is_looked_at(void)
{
	struct accel_device *other;
	struct accel_stream *there;
	size_t failed = UNTOUCHED;

	set_up();
	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	expect(accel_stream_create(other, &there), 0);
	refused(accel_batch_submit(NULL, stream, &failed), -EINVAL, "batch is NULL");
	ok(failed == 0);
	failed = UNTOUCHED;
	refused(accel_batch_submit(batch, stream, &failed), -EINVAL, "empty");
	ok(failed == 0);
	expect(accel_batch_device_memory_set(batch, device, 1, 1), 0);
	expect(accel_batch_device_memory_set(batch, device, 2, 1), 0);
	refused(accel_batch_submit(batch, NULL, &failed), -EINVAL, "stream is NULL");
	ok(failed == 2);
	failed = UNTOUCHED;
	refused(accel_batch_submit(batch, there, &failed), -EINVAL, "stream belongs");
	ok(failed == 2);
	expect(accel_batch_destroy(batch), 0);
	failed = UNTOUCHED;
	refused(accel_batch_submit(batch, stream, &failed), -EINVAL, "destroyed");
	ok(failed == 0);
	expect(accel_device_close(other), 0);
	tear_down();
}

static void test_full(void)
{
	set_up();
	for (int i = 0; i < MOCK_OPS; i++)
		expect(accel_batch_device_memory_set(batch, device, (unsigned char)i, 1), 0);
	refused(accel_batch_device_memory_set(batch, device, 1, 1), -E2BIG,
		"/dev/paccel0 takes 32 operations at once");
	expect(accel_batch_submit(batch, stream, NULL), 0);
	expect(accel_stream_synchronize(stream), 0);
	ok(*mock_memory(0, MOCK_BASE) == MOCK_OPS - 1);
	tear_down();
}

static void test_memory_that_does_not_fit(void)
{
	struct accel_device *other;
	char mine[64] = "", *far, *unified;

	set_up();
	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	far = device_memory(other, 64);
	unified = unified_memory(dev, 64);
	refused(accel_batch_copy(batch, device, mine, 64), -EFAULT, "src");
	refused(accel_batch_copy(batch, mine, device, 64), -EFAULT, "dst");
	refused(accel_batch_copy(batch, host, mine, 64), -EINVAL, "neither");
	refused(accel_batch_copy(batch, far, device, 64), -EFAULT, "dst belongs to another handle");
	refused(accel_batch_copy(batch, host, far, 64), -EFAULT, "src belongs to another handle");
	refused(accel_batch_copy(batch, device, host, 0), -EINVAL, "size is 0");
	refused(accel_batch_copy(batch, device, device + 10, 64), -EINVAL, "overlap");
	refused(accel_batch_copy(batch, device, host + 500, 64), -EFAULT, "inside");
	refused(accel_batch_device_memory_set(batch, device, 1, SIZE + 1), -EFAULT, "past");
	refused(accel_batch_device_memory_set(batch, device, 1, 0), -EINVAL, "size is 0");
	refused(accel_batch_device_memory_set(batch, unified, 1, 1), -EFAULT, "unified");
	refused(accel_batch_device_memory_set(batch, far, 1, 1), -EFAULT, "another handle");
	refused(accel_batch_submit(batch, stream, NULL), -EINVAL, "empty");
	expect(accel_batch_copy(batch, unified, device, 64), 0);
	expect(accel_device_close(other), 0);
	tear_down();
}

static void test_bad_arguments(void)
{
	struct accel_device *other;
	struct accel_stream *there;
	struct accel_event *far;

	set_up();
	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	expect(accel_stream_create(other, &there), 0);
	expect(accel_event_create(other, &far), 0);
	expect(accel_batch_eventfd(batch, 0), 0);
	refused(accel_batch_create(dev, NULL), -EINVAL, "batch is NULL");
	refused(accel_batch_create(NULL, &batch), -EINVAL, "dev");
	ok(!batch);
	refused(accel_batch_destroy(NULL), -EINVAL, "batch is NULL");
	refused(accel_batch_copy(NULL, device, host, 1), -EINVAL, "batch is NULL");
	refused(accel_batch_device_memory_set(NULL, device, 1, 1), -EINVAL, "batch is NULL");
	refused(accel_batch_wait_event(NULL, event), -EINVAL, "batch is NULL");
	refused(accel_batch_record_event(NULL, event), -EINVAL, "batch is NULL");
	refused(accel_batch_eventfd(NULL, 0), -EINVAL, "batch is NULL");
	refused(accel_batch_submit(NULL, stream, NULL), -EINVAL, "batch is NULL");
	expect(accel_batch_create(dev, &batch), 0);
	refused(accel_batch_wait_event(batch, NULL), -EINVAL, "event is NULL");
	refused(accel_batch_wait_event(batch, far), -EINVAL, "event belongs to /dev/paccel1");
	refused(accel_batch_record_event(batch, far), -EINVAL, "event belongs to /dev/paccel1");
	refused(accel_batch_submit(batch, NULL, NULL), -EINVAL, "stream is NULL");
	refused(accel_batch_submit(batch, there, NULL), -EINVAL, "stream belongs to /dev/paccel1");
	expect(accel_batch_destroy(batch), 0);
	refused(accel_batch_destroy(batch), -EINVAL, "destroyed");
	refused(accel_batch_copy(batch, device, host, 1), -EINVAL, "destroyed");
	refused(accel_batch_submit(batch, stream, NULL), -EINVAL, "destroyed");
	expect(accel_device_close(other), 0);
	tear_down();
}

int main(void)
{
	RUN(test_all_kinds_in_one_call);
	RUN(test_rows_and_patterns);
	RUN(test_replay);
	RUN(test_replay_by_two_threads);
	RUN(test_needless_waits);
	RUN(test_wait_for_a_failed_stream);
	RUN(test_bad_operation);
	RUN(test_batch_that_failed_is_as_before);
	RUN(test_other_failures);
	RUN(test_failed_before_the_batch_is_looked_at);
	RUN(test_callback_adds_to_the_batch);
	RUN(test_callback_adds_and_the_submission_fails);
	RUN(test_callback_submits_the_batch);
	RUN(test_full);
	RUN(test_memory_that_does_not_fit);
	RUN(test_bad_arguments);
	return tap_end();
}
