/* SPDX-License-Identifier: MIT */
/* Events: when they have happened, and when that was. */
#include "fixture.h"

#include <time.h>

#define SIZE 256

static struct accel_device *dev;
static struct accel_stream *stream;
static char *device;

static struct accel_event *new_event(struct accel_device *on)
{
	struct accel_event *event = NULL;

	expect(accel_event_create(on, &event), 0);
	return event;
}

static void set_up(void)
{
	dev = open_card();
	expect(accel_stream_create(dev, &stream), 0);
	device = device_memory(dev, SIZE);
}

static void tear_down(void)
{
	expect(accel_device_close(dev), 0);
}

static void fill(unsigned char value)
{
	expect(accel_async_device_memory_set(dev, stream, device, value, SIZE), 0);
}

/* As with CUDA: it is as if it had happened long ago. */
static void test_never_recorded(void)
{
	struct accel_event *event;
	int64_t ns = 5;

	set_up();
	event = new_event(dev);
	expect(accel_event_query(event), 0);
	expect(accel_event_synchronize(event), 0);
	expect(accel_stream_wait_event(stream, event), 0);
	refused(accel_event_elapsed_time(event, event, &ns), -EINVAL, "start was never recorded");
	ok(ns == 5 && !mock_calls(PACCEL_NR_SUBMIT));
	tear_down();
}

static void test_elapsed_time(void)
{
	struct accel_event *start, *end;
	struct timespec pause = { .tv_nsec = 2000000 };
	int64_t ns = 0;

	set_up();
	start = new_event(dev);
	end = new_event(dev);
	expect(accel_event_record(start, stream), 0);
	expect(accel_event_synchronize(start), 0);
	refused(accel_event_elapsed_time(start, end, &ns), -EINVAL, "end was never recorded");
	mock_hold(0);
	fill(1);
	expect(accel_event_record(end, stream), 0);
	refused(accel_event_elapsed_time(start, end, &ns), -EINPROGRESS, "end has not happened");
	mock_wait_held(0, 1);
	/* The time that is measured. */
	nanosleep(&pause, NULL);
	mock_release(0);
	expect(accel_event_synchronize(end), 0);
	expect(accel_event_elapsed_time(start, end, &ns), 0);
	ok(ns >= pause.tv_nsec && ns < 60ll * 1000000000);
	pause.tv_nsec = (long)ns;
	expect(accel_event_elapsed_time(end, start, &ns), 0);
	ok(ns == -pause.tv_nsec);
	expect(accel_event_elapsed_time(end, end, &ns), 0);
	ok(ns == 0);
	tear_down();
}

/* The driver may still write where the first record said: the second has a place of its own. */
static void test_recorded_again_while_pending(void)
{
	struct accel_event *event, *before, *third;
	struct accel_stream *second;
	int64_t early = 0, late = 0, early_third = 0, late_third = 0;

	set_up();
	expect(accel_stream_create(dev, &second), 0);
	event = new_event(dev);
	before = new_event(dev);
	third = new_event(dev);
	expect(accel_event_record(before, second), 0);
	mock_hold(0);
	fill(1);
	expect(accel_event_record(event, stream), 0);
	ok(accel_event_query(event) == -EINPROGRESS);
	expect(accel_event_record(event, second), 0);
	expect(accel_event_synchronize(event), 0);
	expect(accel_event_elapsed_time(before, event, &early), 0);
	expect(accel_event_record(third, second), 0);
	expect(accel_event_synchronize(third), 0);
	expect(accel_event_elapsed_time(before, third, &early_third), 0);
	mock_wait_held(0, 1);
	mock_release(0);
	expect(accel_stream_synchronize(stream), 0);
	expect(accel_event_elapsed_time(before, event, &late), 0);
	expect(accel_event_elapsed_time(before, third, &late_third), 0);
	ok(early == late && early > 0 && early_third == late_third);
	tear_down();
}

/* Nobody gets the place of a time that is still to be written. */
static void test_destroyed_while_pending(void)
{
	struct accel_event *event, *next, *last[100];
	int64_t ns[100] = { 0 }, again = 0;
	struct accel_stream *second;

	set_up();
	expect(accel_stream_create(dev, &second), 0);
	mock_hold(0);
	fill(1);
	event = new_event(dev);
	expect(accel_event_record(event, stream), 0);
	expect(accel_event_destroy(event), 0);
	refused(accel_event_query(event), -EINVAL, "destroyed");
	event = new_event(dev);
	expect(accel_event_record(event, second), 0);
	/* More than there are on a page, so that places have to be found again. */
	for (int i = 0; i < 600; i++) {
		next = new_event(dev);
		expect(accel_event_record(next, second), 0);
		expect(accel_event_synchronize(next), 0);
		if (i >= 500)
			last[i - 500] = next;
		else
			expect(accel_event_destroy(next), 0);
	}
	ok(mock_calls(PACCEL_NR_HOST_ALLOC) == 1);
	for (int i = 0; i < 100; i++)
		expect(accel_event_elapsed_time(event, last[i], &ns[i]), 0);
	mock_wait_held(0, 1);
	mock_release(0);
	expect(accel_stream_synchronize(stream), 0);
	for (int i = 0; i < 100; i++) {
		expect(accel_event_elapsed_time(event, last[i], &again), 0);
		ok(ns[i] == again && ns[i] > 0);
	}
	tear_down();
}

static void test_many_pending(void)
{
	struct accel_event *events[520];

	set_up();
	mock_hold(0);
	fill(1);
	/* A batch takes several, so that the queue is not full. */
	for (int i = 0; i < 520; i++)
		events[i] = new_event(dev);
	for (int i = 0; i < 30; i++)
		expect(accel_event_record(events[i], stream), 0);
	mock_release(0);
	for (int i = 30; i < 520; i++)
		expect(accel_event_record(events[i], stream), 0);
	expect(accel_stream_synchronize(stream), 0);
	for (int i = 0; i < 520; i++)
		expect(accel_event_query(events[i]), 0);
	ok(mock_calls(PACCEL_NR_HOST_ALLOC) == 2);
	tear_down();
}

/* Between cards a fence does it. */
static void test_wait_for_another_card(void)
{
	struct accel_device *other;
	struct accel_stream *there;
	struct accel_event *event;
	int64_t ns;

	set_up();
	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	expect(accel_stream_create(other, &there), 0);
	event = new_event(dev);
	mock_hold(0);
	fill(1);
	expect(accel_event_record(event, stream), 0);
	expect(accel_stream_wait_event(there, event), 0);
	mock_wait_held(0, 1);
	ok(accel_stream_query(there) == -EINPROGRESS);
	mock_release(0);
	expect(accel_stream_synchronize(there), 0);
	expect(accel_event_query(event), 0);
	refused(accel_event_record(event, there), -EINVAL,
		"stream belongs to /dev/paccel1, not to /dev/paccel0");
	expect(accel_event_elapsed_time(event, event, &ns), 0);
	expect(accel_device_close(other), 0);
	tear_down();
}

/* The stream that it was recorded on, and another in its place, change nothing. */
static void test_stream_is_gone(void)
{
	struct accel_stream *second;
	struct accel_event *event;
	int64_t ns;

	set_up();
	event = new_event(dev);
	fill(1);
	expect(accel_event_record(event, stream), 0);
	expect(accel_stream_synchronize(stream), 0);
	expect(accel_stream_destroy(stream), 0);
	expect(accel_event_query(event), 0);
	expect(accel_stream_create(dev, &stream), 0);
	mock_hold(0);
	fill(2);
	mock_wait_held(0, 1);
	expect(accel_event_query(event), 0);
	expect(accel_event_synchronize(event), 0);
	expect(accel_event_elapsed_time(event, event, &ns), 0);
	expect(accel_stream_create(dev, &second), 0);
	expect(accel_stream_wait_event(second, event), 0);
	expect(accel_stream_query(second), 0);
	mock_release(0);
	tear_down();
}

/* A failure is not made good by destroying the stream. */
static void test_failed_stream_is_gone(void)
{
	struct accel_stream *second, *there;
	struct accel_device *other;
	struct accel_event *event;

	set_up();
	expect(accel_stream_create(dev, &second), 0);
	event = new_event(dev);
	mock_hold(0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	fill(1);
	expect(accel_event_record(event, stream), 0);
	mock_release(0);
	expect(accel_event_synchronize(event), -EIO);
	expect(accel_stream_destroy(stream), 0);
	refused(accel_stream_wait_event(second, event), -EIO, "before the event");
	expect(accel_stream_query(second), 0);
	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	expect(accel_stream_create(other, &there), 0);
	refused(accel_stream_wait_event(there, event), -EIO, "before the event");
	expect(accel_stream_query(there), 0);
	expect(accel_device_close(other), 0);
	tear_down();
}

static void fail_and_go(void)
{
	mock_release(0);
	mock_wait_idle();
	expect(accel_stream_query(stream), -EIO);
	expect(accel_stream_destroy(stream), 0);
}

/* Between a look at the event and the wait for it. */
static void test_stream_goes_meanwhile(void)
{
	struct accel_event *event;

	set_up();
	event = new_event(dev);
	mock_hold(0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	fill(1);
	expect(accel_event_record(event, stream), 0);
	mock_before(PACCEL_NR_WAIT, fail_and_go);
	refused(accel_event_synchronize(event), -EIO, "before the event");
	expect(mock_streams(0), 0);
	tear_down();
}

static struct accel_event *other_event;

static void another_records(void)
{
	expect(accel_event_record(other_event, stream), 0);
	mock_fail(PACCEL_NR_HOST_ALLOC, 1, ENOSPC);
}

/* Another thread has made room for both, and has taken the last range. */
static void test_last_range_goes_meanwhile(void)
{
	struct accel_event *event;

	set_up();
	event = new_event(dev);
	other_event = new_event(dev);
	mock_before(PACCEL_NR_HOST_ALLOC, another_records);
	expect(accel_event_record(event, stream), 0);
	tear_down();
}

static void test_no_locked_memory(void)
{
	struct accel_event *event;
	int fd;

	set_up();
	event = new_event(dev);
	mock_fail(PACCEL_NR_HOST_ALLOC, 1, ENOMEM);
	expect(accel_event_record(event, stream), -ENOMEM);
	expect(accel_event_query(event), 0);
	mock_fail(PACCEL_NR_HOST_ALLOC, 1, ENOSPC);
	refused(accel_event_record(event, stream), -ENOSPC, "host ranges");
	mock_fail(PACCEL_NR_HOST_ALLOC, 1, ENODEV);
	refused(accel_event_record(event, stream), -ENODEV, "removed");
	mock_fail(PACCEL_NR_HOST_ALLOC, 1, ESTALE);
	refused(accel_event_record(event, stream), -ESTALE, "reset");
	mock_fail(MOCK_MMAP, 1, ENOMEM);
	refused(accel_event_record(event, stream), -ENOMEM, "RLIMIT_MEMLOCK");
	mock_fail(PACCEL_NR_HOST_ALLOC, 1, ENOSPC);
	refused(accel_stream_export_fence(stream, &fd), -ENOSPC, "host ranges");
	/* The place of a record that fails is free again. */
	for (int i = 0; i < 600; i++) {
		mock_fail(PACCEL_NR_SUBMIT, 1, ENOMEM);
		expect(accel_event_record(event, stream), -ENOMEM);
	}
	ok(mock_calls(PACCEL_NR_HOST_ALLOC) == 7);
	expect(accel_event_record(event, stream), 0);
	tear_down();
}

/* The completion page has the state of the device. Before the first stream there is no page. */
static void test_creation_makes_no_call(void)
{
	struct accel_batch *batch;
	struct accel_event *event;
	unsigned int calls;

	set_up();
	calls = mock_all_calls();
	expect(accel_event_create(dev, &event), 0);
	expect(accel_batch_create(dev, &batch), 0);
	expect(accel_device_synchronize(dev), 0);
	ok(mock_all_calls() == calls);
	mock_lose(0);
	refused(accel_event_create(dev, &event), -ESTALE, "reset");
	refused(accel_batch_create(dev, &batch), -ESTALE, "reset");
	refused(accel_device_synchronize(dev), -ESTALE, "reset");
	ok(mock_all_calls() == calls);
	tear_down();
}

static void test_creation_without_a_stream(void)
{
	struct accel_batch *batch;
	struct accel_event *event;

	dev = open_card();
	expect(accel_event_create(dev, &event), 0);
	expect(accel_batch_create(dev, &batch), 0);
	expect(accel_device_synchronize(dev), 0);
	ok(mock_calls(PACCEL_NR_WAIT) == 3 && !mock_calls(PACCEL_NR_MEM_FREE));
	mock_remove(0);
	refused(accel_event_create(dev, &event), -ENODEV, "removed");
	ok(!event);
	refused(accel_batch_create(dev, &batch), -ENODEV, "removed");
	refused(accel_device_synchronize(dev), -ENODEV, "removed");
	tear_down();
}

static void test_deadline(void)
{
	struct accel_event *event;

	set_up();
	event = new_event(dev);
	mock_hold(0);
	fill(1);
	expect(accel_event_record(event, stream), 0);
	refused(accel_event_synchronize_until(event, 1), -ETIME, "deadline");
	mock_release(0);
	expect(accel_event_synchronize_until(event, UINT64_MAX), 0);
	expect(accel_event_synchronize_until(event, 0), 0);
	tear_down();
}

static void test_bad_arguments(void)
{
	struct accel_event *event;
	int64_t ns;

	set_up();
	event = new_event(dev);
	refused(accel_event_create(NULL, &event), -EINVAL, "dev");
	ok(!event);
	event = new_event(dev);
	refused(accel_event_create(dev, NULL), -EINVAL, "event is NULL");
	refused(accel_event_destroy(NULL), -EINVAL, "event is NULL");
	refused(accel_event_record(NULL, stream), -EINVAL, "event is NULL");
	refused(accel_event_record(event, NULL), -EINVAL, "stream is NULL");
	refused(accel_event_query(NULL), -EINVAL, "event is NULL");
	refused(accel_event_synchronize(NULL), -EINVAL, "event is NULL");
	refused(accel_event_elapsed_time(NULL, event, &ns), -EINVAL, "event is NULL");
	refused(accel_event_elapsed_time(event, NULL, &ns), -EINVAL, "event is NULL");
	refused(accel_event_elapsed_time(event, event, NULL), -EINVAL, "ns is NULL");
	expect(accel_event_destroy(event), 0);
	refused(accel_event_destroy(event), -EINVAL, "destroyed");
	refused(accel_event_record(event, stream), -EINVAL, "destroyed");
	refused(accel_stream_wait_event(stream, event), -EINVAL, "destroyed");
	tear_down();
}

int main(void)
{
	RUN(test_never_recorded);
	RUN(test_elapsed_time);
	RUN(test_recorded_again_while_pending);
	RUN(test_destroyed_while_pending);
	RUN(test_many_pending);
	RUN(test_wait_for_another_card);
	RUN(test_stream_is_gone);
	RUN(test_failed_stream_is_gone);
	RUN(test_stream_goes_meanwhile);
	RUN(test_last_range_goes_meanwhile);
	RUN(test_no_locked_memory);
	RUN(test_creation_makes_no_call);
	RUN(test_creation_without_a_stream);
	RUN(test_deadline);
	RUN(test_bad_arguments);
	return tap_end();
}
