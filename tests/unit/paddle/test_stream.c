/* SPDX-License-Identifier: MIT */
/* Streams, events and callbacks. */
#include "paddle.h"

#define THREADS 8
#define ROUNDS 100

static char bytes[256], back[256];

static void set_bytes(void)
{
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 5 + 3);
	memset(back, 0, sizeof(back));
}

static int holds(struct place *device, const char *ptr, const void *wanted, size_t size)
{
	gives(paddle->memory_copy_d2h(device, back, ptr, size), STATUS_SUCCESS);
	return !memcmp(back, wanted, size);
}

/* ---- Copies on streams ---- */

static void test_busy_then_done(void)
{
	char *first, *second;
	stream_t stream;

	begin_with(1);
	set_bytes();
	first = memory_of(accel0, 256);
	second = memory_of(accel0, 256);
	stream = stream_of(accel0);
	gives(paddle->query_stream(accel0, stream), STATUS_SUCCESS);
	mock_hold(0);
	gives(paddle->async_memory_copy_h2d(accel0, stream, first, bytes, 256), STATUS_SUCCESS);
	/* The source is the caller's again. */
	memset(bytes, 0, sizeof(bytes));
	gives(paddle->async_memory_copy_d2d(accel0, stream, second, first, 256), STATUS_SUCCESS);
	gives(paddle->query_stream(accel0, stream), STATUS_FAILED);
	mock_release(0);
	gives(paddle->synchronize_stream(accel0, stream), STATUS_SUCCESS);
	gives(paddle->query_stream(accel0, stream), STATUS_SUCCESS);
	set_bytes();
	ok(holds(accel0, second, bytes, 256));
	memset(back, 0, sizeof(back));
	gives(paddle->async_memory_copy_d2h(accel0, stream, back, second, 256), STATUS_SUCCESS);
	ok(!memcmp(back, bytes, 256));
	gives(paddle->destroy_stream(accel0, stream), STATUS_SUCCESS);
	ok(silent());
	end();
}

static void test_synchronize_device(void)
{
	stream_t stream;
	char *ptr;

	begin_with(1);
	set_bytes();
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	gives(paddle->synchronize_device(accel0), STATUS_SUCCESS);
	gives(paddle->query_stream(accel0, stream), STATUS_SUCCESS);
	ok(!memcmp(mock_memory(0, MOCK_BASE), bytes, 64));
	end();
}

static void test_between_cards(void)
{
	stream_t on_source, on_target;
	char *here, *there;

	begin_with(2);
	set_bytes();
	here = memory_of(accel0, 256);
	there = memory_of(accel1, 256);
	on_source = stream_of(accel0);
	on_target = stream_of(accel1);
	gives(paddle->memory_copy_h2d(accel0, here, bytes, 256), STATUS_SUCCESS);
	gives(paddle->async_memory_copy_p2p(accel1, accel0, on_source, there, here, 100),
	      STATUS_SUCCESS);
	gives(paddle->async_memory_copy_p2p(accel1, accel0, on_target, there + 100, here + 100,
					    156),
	      STATUS_SUCCESS);
	gives(paddle->synchronize_stream(accel0, on_source), STATUS_SUCCESS);
	gives(paddle->synchronize_stream(accel1, on_target), STATUS_SUCCESS);
	ok(holds(accel1, there, bytes, 256));
	refuses(paddle->async_memory_copy_h2d(accel0, on_target, here, bytes, 8), STATUS_ERROR,
		"stream belongs to");
	end();
}

/* ---- What is no stream or event ---- */

static void no_stream(stream_t bad, const char *words)
{
	event_t event = event_of(accel0);
	char *ptr = memory_of(accel0, 64), *other = memory_of(accel0, 64);
	enum status (*const *at)(struct place *device, stream_t stream);

	at = &paddle->query_stream;
	refuses((*at)(accel0, bad), STATUS_ERROR, words);
	at = &paddle->synchronize_stream;
	refuses((*at)(accel0, bad), STATUS_ERROR, words);
	refuses(paddle->record_event(accel0, bad, event), STATUS_ERROR, words);
	refuses(paddle->stream_wait_event(accel0, bad, event), STATUS_ERROR, words);
	refuses(paddle->async_memory_copy_h2d(accel0, bad, ptr, bytes, 64), STATUS_ERROR,
		words);
	refuses(paddle->async_memory_copy_d2h(accel0, bad, back, ptr, 64), STATUS_ERROR,
		words);
	refuses(paddle->async_memory_copy_d2d(accel0, bad, ptr, other, 64), STATUS_ERROR,
		words);
	refuses(paddle->async_memory_copy_p2p(accel0, accel0, bad, ptr, other, 64), STATUS_ERROR,
		words);
	refuses(paddle->destroy_stream(accel0, bad), STATUS_SUCCESS, words);
	gives(paddle->destroy_event(accel0, event), STATUS_SUCCESS);
	gives(paddle->device_memory_deallocate(accel0, ptr, 64), STATUS_SUCCESS);
	gives(paddle->device_memory_deallocate(accel0, other, 64), STATUS_SUCCESS);
}

static void no_event(event_t bad, const char *words)
{
	stream_t stream = stream_of(accel0);

	refuses(paddle->record_event(accel0, stream, bad), STATUS_ERROR, words);
	refuses(paddle->query_event(accel0, bad), STATUS_ERROR, words);
	refuses(paddle->synchronize_event(accel0, bad), STATUS_ERROR, words);
	refuses(paddle->stream_wait_event(accel0, stream, bad), STATUS_ERROR, words);
	if (bad)
		refuses(paddle->destroy_event(accel0, bad), STATUS_SUCCESS, words);
	gives(paddle->destroy_stream(accel0, stream), STATUS_SUCCESS);
}

static void test_bad_handles(void)
{
	stream_t stream, again;
	event_t event;

	begin_with(1);
	no_stream((stream_t)bytes, "is no stream");
	no_stream((stream_t)1, "is no stream");
	no_stream((stream_t)UINTPTR_MAX, "is no stream");
	no_event(NULL, "event is NULL");
	no_event((event_t)bytes, "is no event");
	no_event((event_t)1, "is no event");
	stream = stream_of(accel0);
	event = event_of(accel0);
	no_stream((stream_t)event, "is no stream");
	no_event((event_t)stream, "is no event");
	gives(paddle->destroy_stream(accel0, stream), STATUS_SUCCESS);
	gives(paddle->destroy_event(accel0, event), STATUS_SUCCESS);
	no_stream(stream, "was destroyed");
	no_event(event, "was destroyed");
	/* The same place in the table, another handle. */
	again = stream_of(accel0);
	ok(again != stream);
	no_stream(stream, "was destroyed");
	gives(paddle->query_stream(accel0, again), STATUS_SUCCESS);
	end();
	begin();
	no_stream(again, "was destroyed");
	for (int i = 0; i < 100; i++) {
		stream = stream_of(accel0);
		ok(stream != again);
		gives(paddle->destroy_stream(accel0, stream), STATUS_SUCCESS);
	}
	end();
}

static void test_bad_arguments(void)
{
	stream_t stream;
	event_t event;

	begin_with(1);
	refuses(paddle->create_stream(accel0, NULL), STATUS_ERROR, "stream is NULL");
	refuses(paddle->create_event(accel0, NULL), STATUS_ERROR, "event is NULL");
	refuses(paddle->create_stream(accel1, &stream), STATUS_ERROR, "no device 1");
	refuses(paddle->create_event(accel1, &event), STATUS_ERROR, "no device 1");
	refuses(paddle->create_stream(NULL, &stream), STATUS_ERROR, "device is NULL");
	refuses(paddle->create_event(NULL, &event), STATUS_ERROR, "device is NULL");
	log_clear();
	gives(paddle->destroy_stream(accel0, NULL), STATUS_SUCCESS);
	gives(paddle->destroy_event(accel0, NULL), STATUS_SUCCESS);
	ok(silent());
	end();
}

static void test_as_many_as_there_are(void)
{
	stream_t stream = (stream_t)bytes;

	begin_with(1);
	for (int i = 0; i < MOCK_STREAMS; i++)
		stream_of(accel0);
	refuses(paddle->create_stream(accel0, &stream), STATUS_FAILED, "no more streams");
	ok(!stream);
	mock_remove(0);
	refuses(paddle->create_stream(accel0, &stream), STATUS_INTERNAL, "removed");
	end();
}

static void test_many_events(void)
{
	static event_t events[1000];

	begin_with(1);
	for (int i = 0; i < 1000; i++) {
		events[i] = event_of(accel0);
		ok(!i || events[i] != events[i - 1]);
	}
	for (int i = 0; i < 1000; i++)
		gives(paddle->query_event(accel0, events[i]), STATUS_SUCCESS);
	for (int i = 0; i < 1000; i += 2)
		gives(paddle->destroy_event(accel0, events[i]), STATUS_SUCCESS);
	for (int i = 1; i < 1000; i += 2)
		gives(paddle->query_event(accel0, events[i]), STATUS_SUCCESS);
	gives(paddle->query_event(accel0, events[0]), STATUS_ERROR);
	end();
}

/* ---- Events ---- */

static void test_events(void)
{
	stream_t stream, other;
	event_t event;
	char *ptr, *copy;

	begin_with(1);
	set_bytes();
	ptr = memory_of(accel0, 64);
	copy = memory_of(accel0, 64);
	stream = stream_of(accel0);
	other = stream_of(accel0);
	event = event_of(accel0);
	gives(paddle->query_event(accel0, event), STATUS_SUCCESS);
	mock_hold(0);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	gives(paddle->record_event(accel0, stream, event), STATUS_SUCCESS);
	gives(paddle->query_event(accel0, event), STATUS_FAILED);
	gives(paddle->stream_wait_event(accel0, other, event), STATUS_SUCCESS);
	gives(paddle->async_memory_copy_d2d(accel0, other, copy, ptr, 64), STATUS_SUCCESS);
	mock_release(0);
	gives(paddle->synchronize_event(accel0, event), STATUS_SUCCESS);
	gives(paddle->query_event(accel0, event), STATUS_SUCCESS);
	gives(paddle->synchronize_stream(accel0, other), STATUS_SUCCESS);
	ok(holds(accel0, copy, bytes, 64) && silent());
	end();
}

/* An event of one card orders the work of another. */
static void test_event_of_another_card(void)
{
	stream_t stream, other;
	event_t event;
	char *ptr;

	begin_with(2);
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	other = stream_of(accel1);
	event = event_of(accel0);
	mock_hold(0);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	gives(paddle->record_event(accel0, stream, event), STATUS_SUCCESS);
	gives(paddle->stream_wait_event(accel1, other, event), STATUS_SUCCESS);
	gives(paddle->query_stream(accel1, other), STATUS_FAILED);
	mock_release(0);
	gives(paddle->synchronize_stream(accel1, other), STATUS_SUCCESS);
	gives(paddle->query_event(accel0, event), STATUS_SUCCESS);
	refuses(paddle->record_event(accel1, other, event), STATUS_ERROR, "stream belongs to");
	end();
}

/* Paddle's NULL: work there is done when the call returns, so an event there has happened. */
static void test_null_stream(void)
{
	stream_t stream;
	event_t event;
	char *ptr;

	begin_with(1);
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	event = event_of(accel0);
	gives(paddle->query_stream(accel0, NULL), STATUS_SUCCESS);
	gives(paddle->synchronize_stream(accel0, NULL), STATUS_SUCCESS);
	mock_hold(0);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	gives(paddle->record_event(accel0, stream, event), STATUS_SUCCESS);
	gives(paddle->query_event(accel0, event), STATUS_FAILED);
	gives(paddle->record_event(accel0, NULL, event), STATUS_SUCCESS);
	gives(paddle->synchronize_event(accel0, event), STATUS_SUCCESS);
	gives(paddle->query_event(accel0, event), STATUS_SUCCESS);
	gives(paddle->query_stream(accel0, stream), STATUS_FAILED);
	gives(paddle->record_event(accel0, stream, event), STATUS_SUCCESS);
	mock_release(0);
	gives(paddle->stream_wait_event(accel0, NULL, event), STATUS_SUCCESS);
	gives(paddle->query_event(accel0, event), STATUS_SUCCESS);
	gives(paddle->record_event(accel0, NULL, event), STATUS_SUCCESS);
	ok(mock_streams(0) == 2);
	end();
}

/* ---- Failures ---- */

/* Told once, and then the stream works again: Paddle cannot clear it. */
static void test_failure_is_told_once(void)
{
	stream_t stream;
	event_t event;
	char *ptr;

	begin_with(1);
	set_bytes();
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	event = event_of(accel0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	/* Nothing is still to come, or Paddle would ask for ever. */
	while (paddle->query_stream(accel0, stream) == STATUS_FAILED)
		sched_yield();
	gives(paddle->query_stream(accel0, stream), STATUS_SUCCESS);
	refuses(paddle->synchronize_stream(accel0, stream), STATUS_INTERNAL, "failed");
	gives(paddle->synchronize_stream(accel0, stream), STATUS_SUCCESS);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	gives(paddle->record_event(accel0, stream, event), STATUS_SUCCESS);
	gives(paddle->synchronize_stream(accel0, stream), STATUS_SUCCESS);
	ok(holds(accel0, ptr, bytes, 64));
	end();
}

/* By the next call on the stream, if none has waited for it. */
static void test_failure_is_told_by_the_next_call(void)
{
	stream_t stream;
	event_t event;
	char *ptr;

	begin_with(1);
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	event = event_of(accel0);
	mock_hold(0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	gives(paddle->record_event(accel0, stream, event), STATUS_SUCCESS);
	mock_release(0);
	/* Nothing is still to come, or Paddle would ask for ever. */
	while (paddle->query_event(accel0, event) == STATUS_FAILED)
		sched_yield();
	gives(paddle->query_event(accel0, event), STATUS_SUCCESS);
	refuses(paddle->synchronize_event(accel0, event), STATUS_INTERNAL, "before the event");
	refuses(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_INTERNAL,
		"work of the stream failed");
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	gives(paddle->synchronize_stream(accel0, stream), STATUS_SUCCESS);
	mock_fail(MOCK_OPERATION, 1, EIO);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	refuses(paddle->synchronize_device(accel0), STATUS_INTERNAL, "failed");
	gives(paddle->synchronize_device(accel0), STATUS_SUCCESS);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	gives(paddle->synchronize_stream(accel0, stream), STATUS_SUCCESS);
	end();
}

/* Of another layer of the process, in this thread. */
static void test_stream_of_another_layer_fails(void)
{
	struct accel_device *dev = NULL;
	struct accel_stream *other = NULL;
	stream_t stream;
	char *ptr;

	begin_with(1);
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	expect(accel_device_open(0, &dev), 0);
	expect(accel_stream_create(dev, &other), 0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	expect(accel_async_device_memory_set(dev, other, ptr, 1, 64), 0);
	gives(paddle->synchronize_device(accel0), STATUS_SUCCESS);
	/* It is not Paddle's to clear, and does not hide one of Paddle's. */
	expect(accel_stream_query(other), -EIO);
	mock_fail(MOCK_OPERATION, 1, EBADMSG);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	refuses(paddle->synchronize_device(accel0), STATUS_INTERNAL, "bytes have changed");
	gives(paddle->synchronize_device(accel0), STATUS_SUCCESS);
	expect(accel_stream_query(other), -EIO);
	expect(accel_device_close(dev), 0);
	end();
}

static void test_unplug_with_work(void)
{
	stream_t stream;
	event_t event;
	char *ptr;

	begin_with(1);
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	event = event_of(accel0);
	mock_hold(0);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	gives(paddle->record_event(accel0, stream, event), STATUS_SUCCESS);
	mock_remove(0);
	gives(paddle->query_event(accel0, event), STATUS_SUCCESS);
	gives(paddle->query_stream(accel0, stream), STATUS_SUCCESS);
	refuses(paddle->synchronize_event(accel0, event), STATUS_INTERNAL, "removed");
	refuses(paddle->synchronize_stream(accel0, stream), STATUS_INTERNAL, "removed");
	refuses(paddle->synchronize_stream(accel0, stream), STATUS_INTERNAL, "removed");
	refuses(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_INTERNAL,
		"removed");
	log_clear();
	gives(paddle->destroy_event(accel0, event), STATUS_SUCCESS);
	gives(paddle->destroy_stream(accel0, stream), STATUS_SUCCESS);
	ok(silent());
	end();
}

/* Paddle frees tensors by way of these, also those of a card that is gone. */
static void test_events_of_a_card_that_is_gone(void)
{
	event_t before, after = NULL;
	stream_t stream, other;

	begin_with(2);
	before = event_of(accel0);
	stream = stream_of(accel0);
	other = stream_of(accel1);
	mock_remove(0);
	refuses(paddle->record_event(accel0, stream, before), STATUS_SUCCESS, "removed");
	refuses(paddle->create_event(accel0, &after), STATUS_SUCCESS, "removed");
	ok(after && after != before);
	log_clear();
	gives(paddle->record_event(accel0, stream, after), STATUS_SUCCESS);
	gives(paddle->query_event(accel0, before), STATUS_SUCCESS);
	gives(paddle->query_event(accel0, after), STATUS_SUCCESS);
	ok(silent());
	gives(paddle->record_event(accel0, NULL, after), STATUS_SUCCESS);
	refuses(paddle->synchronize_event(accel0, after), STATUS_INTERNAL, "was made when accel:0");
	refuses(paddle->stream_wait_event(accel1, other, after), STATUS_INTERNAL, "was made when");
	refuses(paddle->stream_wait_event(accel0, NULL, after), STATUS_INTERNAL, "was made when");
	log_clear();
	gives(paddle->destroy_event(accel0, after), STATUS_SUCCESS);
	gives(paddle->destroy_event(accel0, before), STATUS_SUCCESS);
	ok(silent());
	refuses(paddle->query_event(accel0, before), STATUS_ERROR, "was destroyed");
	end();
}

/* Nor do they fail because work has: the next synchronize does. */
static void test_event_on_a_stream_that_failed(void)
{
	stream_t stream;
	event_t event;
	char *ptr;

	begin_with(1);
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	event = event_of(accel0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	while (paddle->query_stream(accel0, stream) == STATUS_FAILED)
		sched_yield();
	refuses(paddle->record_event(accel0, stream, event), STATUS_SUCCESS,
		"work of the stream failed");
	gives(paddle->synchronize_event(accel0, event), STATUS_SUCCESS);
	refuses(paddle->synchronize_stream(accel0, stream), STATUS_INTERNAL, "before it failed");
	gives(paddle->synchronize_stream(accel0, stream), STATUS_SUCCESS);
	end();
}

/* The times of events are in locked memory, of which there may be none. */
static void test_event_without_room(void)
{
	stream_t stream;
	event_t event;
	char *ptr;

	begin_with(1);
	set_bytes();
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	event = event_of(accel0);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	mock_fail(PACCEL_NR_HOST_ALLOC, 1, ENOMEM);
	gives(paddle->record_event(accel0, stream, event), STATUS_SUCCESS);
	gives(paddle->query_stream(accel0, stream), STATUS_SUCCESS);
	gives(paddle->query_event(accel0, event), STATUS_SUCCESS);
	mock_fail(MOCK_OPERATION, 1, EIO);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	mock_fail(PACCEL_NR_HOST_ALLOC, 1, ENOSPC);
	gives(paddle->record_event(accel0, stream, event), STATUS_SUCCESS);
	gives(paddle->synchronize_stream(accel0, stream), STATUS_INTERNAL);
	gives(paddle->synchronize_stream(accel0, stream), STATUS_SUCCESS);
	end();
}

/* ---- Copies of 0 bytes ---- */

/* All four on one stream. */
static void copy_nothing(stream_t stream, enum status status)
{
	gives(paddle->async_memory_copy_h2d(accel0, stream, NULL, NULL, 0), status);
	gives(paddle->async_memory_copy_d2h(accel0, stream, NULL, NULL, 0), status);
	gives(paddle->async_memory_copy_d2d(accel0, stream, NULL, NULL, 0), status);
	gives(paddle->async_memory_copy_p2p(accel0, accel1, stream, NULL, NULL, 0), status);
}

/* They take any addresses, but no stream that other copies refuse. */
static void test_empty_copies(void)
{
	stream_t stream;
	char *ptr;

	begin_with(2);
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	copy_nothing(NULL, STATUS_SUCCESS);
	copy_nothing(stream, STATUS_SUCCESS);
	mock_hold(0);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	copy_nothing(stream, STATUS_SUCCESS);
	gives(paddle->query_stream(accel0, stream), STATUS_FAILED);
	mock_release(0);
	gives(paddle->synchronize_stream(accel0, stream), STATUS_SUCCESS);
	ok(silent());
	mock_fail_operation(0, 1, EIO);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	mock_wait_idle();
	gives(paddle->async_memory_copy_h2d(accel0, stream, NULL, NULL, 0), STATUS_INTERNAL);
	copy_nothing(stream, STATUS_SUCCESS);
	gives(paddle->destroy_stream(accel0, stream), STATUS_SUCCESS);
	log_clear();
	copy_nothing(stream, STATUS_ERROR);
	ok(said("stream was destroyed"));
	copy_nothing((stream_t)bytes, STATUS_ERROR);
	end();
}

/* ---- Callbacks ---- */

struct called {
	int times, device;
	stream_t stream;
	enum status status;
};

static void note(struct place *device, stream_t stream, void *data, enum status *status)
{
	struct called *called = data;

	called->device = device->id;
	called->stream = stream;
	called->status = *status;
	__atomic_add_fetch(&called->times, 1, __ATOMIC_RELEASE);
}

static void test_callback(void)
{
	struct called called = { .device = 9 }, at_once = { .device = 9 };
	stream_t stream;
	char *ptr;

	begin_with(2);
	ptr = memory_of(accel1, 64);
	stream = stream_of(accel1);
	mock_hold(1);
	gives(paddle->async_memory_copy_h2d(accel1, stream, ptr, bytes, 64), STATUS_SUCCESS);
	gives(paddle->stream_add_callback(accel1, stream, note, &called), STATUS_SUCCESS);
	ok(!__atomic_load_n(&called.times, __ATOMIC_ACQUIRE));
	mock_release(1);
	gives(paddle->synchronize_stream(accel1, stream), STATUS_SUCCESS);
	ok(called.times == 1 && called.device == 1 && called.stream == stream &&
	   called.status == STATUS_SUCCESS);
	gives(paddle->stream_add_callback(accel1, NULL, note, &at_once), STATUS_SUCCESS);
	ok(at_once.times == 1 && at_once.device == 1 && !at_once.stream &&
	   at_once.status == STATUS_SUCCESS);
	end();
	ok(called.times == 1 && at_once.times == 1);
}

/* Unwinds the stack as an exception does, which C cannot throw: up to the start of the thread. */
static void throws(struct place *device, stream_t stream, void *data, enum status *status)
{
	(void)device;
	(void)stream;
	(void)data;
	(void)status;
	pthread_exit(NULL);
}

static void *adds_one_that_throws(void *data)
{
	paddle->stream_add_callback(accel0, NULL, throws, data);
	return paddle;
}

/* finalize waits for a use of the device that an exception has left behind. */
static void test_callback_that_throws(void)
{
	pthread_t thread;
	void *returned;

	begin_with(1);
	ok(!pthread_create(&thread, NULL, adds_one_that_throws, NULL));
	pthread_join(thread, &returned);
	ok(!returned);
	end();
}

static void test_callback_of_a_failure(void)
{
	struct called called = { 0 };
	stream_t stream;
	char *ptr;

	begin_with(1);
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	gives(paddle->stream_add_callback(accel0, stream, note, &called), STATUS_SUCCESS);
	gives(paddle->synchronize_stream(accel0, stream), STATUS_INTERNAL);
	ok(called.times == 1 && called.status == STATUS_INTERNAL);
	ok(said("work before a callback failed"));
	end();
	ok(called.times == 1);
}

/* What waits when the process ends is told that nothing came of it. */
static void test_callback_at_finalize(void)
{
	struct called called = { 0 };
	stream_t stream;
	char *ptr;

	begin_with(1);
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	mock_hold(0);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	gives(paddle->stream_add_callback(accel0, stream, note, &called), STATUS_SUCCESS);
	end();
	ok(called.times == 1 && called.status == STATUS_INTERNAL);
	mock_release(0);
}

/* Not called by a call that fails: Paddle keeps its data then. */
static void test_bad_callbacks(void)
{
	struct called called = { 0 };
	stream_t stream;

	begin_with(1);
	stream = stream_of(accel0);
	refuses(paddle->stream_add_callback(accel0, stream, NULL, &called), STATUS_ERROR,
		"callback is NULL");
	refuses(paddle->stream_add_callback(accel0, (stream_t)bytes, note, &called), STATUS_ERROR,
		"is no stream");
	refuses(paddle->stream_add_callback(accel1, stream, note, &called), STATUS_ERROR,
		"no device 1");
	refuses(paddle->stream_add_callback(NULL, stream, note, &called), STATUS_ERROR,
		"device is NULL");
	mock_remove(0);
	refuses(paddle->stream_add_callback(accel0, stream, note, &called), STATUS_INTERNAL,
		"removed");
	end();
	ok(!called.times);
}

/* A callback that calls the plugin is refused where it would wait for itself. */
static void calls_back_in(struct place *device, stream_t stream, void *data, enum status *status)
{
	struct called *called = data;

	(void)status;
	gives(paddle->synchronize_stream(device, stream), STATUS_ERROR);
	gives(paddle->set_device(device), STATUS_SUCCESS);
	called->times++;
}

static void test_calls_from_a_callback(void)
{
	struct called called = { 0 };
	stream_t stream;

	begin_with(1);
	stream = stream_of(accel0);
	gives(paddle->stream_add_callback(accel0, stream, calls_back_in, &called),
	      STATUS_SUCCESS);
	gives(paddle->synchronize_stream(accel0, stream), STATUS_SUCCESS);
	ok(called.times == 1);
	end();
}

/* ---- Threads ---- */

static int callbacks_run;

static void count(struct place *device, stream_t stream, void *data, enum status *status)
{
	(void)device;
	(void)stream;
	(void)data;
	(void)status;
	__atomic_add_fetch(&callbacks_run, 1, __ATOMIC_RELAXED);
}

static void *works(void *arg)
{
	struct place *device = arg;
	char in[64], out[64];
	void *ptr = NULL;

	for (int i = 0; i < ROUNDS; i++) {
		event_t event = event_of(device);
		stream_t stream = NULL;

		memset(in, i, sizeof(in));
		gives(paddle->set_device(device), STATUS_SUCCESS);
		gives(paddle->device_memory_allocate(device, &ptr, 64), STATUS_SUCCESS);
		if (i % 2)
			paddle->create_stream(device, &stream);
		gives(paddle->async_memory_copy_h2d(device, stream, ptr, in, 64), STATUS_SUCCESS);
		gives(paddle->stream_add_callback(device, stream, count, NULL), STATUS_SUCCESS);
		gives(paddle->record_event(device, stream, event), STATUS_SUCCESS);
		gives(paddle->synchronize_event(device, event), STATUS_SUCCESS);
		gives(paddle->memory_copy_d2h(device, out, ptr, 64), STATUS_SUCCESS);
		ok(!memcmp(in, out, 64));
		gives(paddle->destroy_event(device, event), STATUS_SUCCESS);
		gives(paddle->destroy_stream(device, stream), STATUS_SUCCESS);
		gives(paddle->device_memory_deallocate(device, ptr, 64), STATUS_SUCCESS);
	}
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[THREADS];

	callbacks_run = 0;
	begin_with(2);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, works, &place[i % 2]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	end();
	ok(callbacks_run == THREADS * ROUNDS);
}

/* Those that do not know that the process ends get an answer, and no more. */
static void *asks_on(void *arg)
{
	struct place *device = arg;
	event_t event = NULL;
	enum status status;

	do {
		status = paddle->create_event(device, &event);
		if (status == STATUS_SUCCESS)
			paddle->query_event(device, event);
		paddle->destroy_event(device, event);
	} while (status == STATUS_SUCCESS);
	gives(status, STATUS_ERROR);
	return NULL;
}

static void test_threads_at_finalize(void)
{
	pthread_t threads[THREADS];

	begin_with(2);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, asks_on, &place[i % 2]);
	end();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	log_catch();
	RUN(test_busy_then_done);
	RUN(test_synchronize_device);
	RUN(test_between_cards);
	RUN(test_bad_handles);
	RUN(test_bad_arguments);
	RUN(test_as_many_as_there_are);
	RUN(test_many_events);
	RUN(test_events);
	RUN(test_event_of_another_card);
	RUN(test_null_stream);
	RUN(test_failure_is_told_once);
	RUN(test_failure_is_told_by_the_next_call);
	RUN(test_stream_of_another_layer_fails);
	RUN(test_unplug_with_work);
	RUN(test_events_of_a_card_that_is_gone);
	RUN(test_event_on_a_stream_that_failed);
	RUN(test_event_without_room);
	RUN(test_empty_copies);
	RUN(test_callback);
	RUN(test_callback_that_throws);
	RUN(test_callback_of_a_failure);
	RUN(test_callback_at_finalize);
	RUN(test_bad_callbacks);
	RUN(test_calls_from_a_callback);
	RUN(test_threads);
	RUN(test_threads_at_finalize);
	return tap_end();
}
