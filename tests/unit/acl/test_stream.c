/* SPDX-License-Identifier: MIT */
/* Streams and events. Also built with the thread sanitizer. */
#include "fixture.h"

#include <limits.h>
#include <time.h>

#define SIZE 64

/* What a call costs of the driver's system calls. */
#define costs(call, calls) \
	do { \
		unsigned int before_ = mock_all_calls(); \
		gives(call, 0); \
		ok(mock_all_calls() - before_ == (calls)); \
	} while (0)

static char *ptr, *host;
static aclrtStream stream;

static void set_up(void)
{
	begin();
	ptr = memory(SIZE);
	host = pinned(SIZE);
	stream = new_stream();
}

/* Work that does not end before mock_release(). */
static void keep_busy(aclrtStream on)
{
	mock_hold(0);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, 1, on), 0);
}

static void *let_go(void *arg)
{
	mock_wait_held(0, 1);
	wait_asleep(getpid());
	mock_release(0);
	return arg;
}

static aclrtStreamStatus status_of(aclrtStream of)
{
	aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;

	gives(aclrtStreamQuery(of, &status), 0);
	return status;
}

/* ---- Streams ---- */

static void test_streams_run_apart(void)
{
	aclrtStream other;

	set_up();
	other = new_stream();
	keep_busy(stream);
	ok(status_of(stream) == ACL_STREAM_STATUS_NOT_READY);
	ok(status_of(other) == ACL_STREAM_STATUS_COMPLETE);
	ok(status_of(NULL) == ACL_STREAM_STATUS_COMPLETE);
	gives(aclrtSynchronizeStream(other), 0);
	mock_release(0);
	gives(aclrtSynchronizeStream(stream), 0);
	ok(status_of(stream) == ACL_STREAM_STATUS_COMPLETE);
	gives(aclrtStreamQuery(stream, NULL), ACL_ERROR_INVALID_PARAM);
	end();
}

static void test_configured_streams(void)
{
	aclrtStream made;

	begin();
	gives(aclrtCreateStreamWithConfig(&made, 0, 0), 0);
	gives(aclrtCreateStreamWithConfig(&made, 7,
					  ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC), 0);
	gives(aclrtSynchronizeStream(made), 0);
	refuses(aclrtCreateStreamWithConfig(&made, 8, 0), ACL_ERROR_RT_PARAM_INVALID,
		"priority is 8");
	ok(!made);
	refuses(aclrtCreateStreamWithConfig(&made, 0, 0x20), ACL_ERROR_RT_PARAM_INVALID,
		"flag is 0x20");
	gives(aclrtCreateStreamWithConfig(NULL, 0, 0), ACL_ERROR_INVALID_PARAM);
	gives(aclrtCreateStream(NULL), ACL_ERROR_INVALID_PARAM);
	end();
}

static void test_too_many_streams(void)
{
	aclrtStream made[MOCK_STREAMS + 1], more = &more;
	int count = 0;

	begin();
	while (count <= MOCK_STREAMS && !aclrtCreateStream(&made[count]))
		count++;
	ok(count > 0 && count <= MOCK_STREAMS);
	gives(aclrtCreateStream(&more), ACL_ERROR_RT_NO_STREAM_RESOURCE);
	ok(!more);
	/* The default stream is none of those that the program has made, but of the driver's. */
	gives(aclrtSynchronizeStream(NULL), ACL_ERROR_RT_NO_STREAM_RESOURCE);
	gives(aclrtDestroyStream(made[0]), 0);
	gives(aclrtSynchronizeStream(NULL), 0);
	end();
}

static void test_destroy_waits(void)
{
	pthread_t thread;
	aclrtStream other;

	set_up();
	memset(host, 5, SIZE);
	keep_busy(stream);
	pthread_create(&thread, NULL, let_go, NULL);
	gives(aclrtDestroyStream(stream), 0);
	ok(*mock_memory(0, MOCK_BASE) == 5);
	pthread_join(thread, NULL);
	refuses(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE, "no live stream");
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, 1, stream), ACL_ERROR_RT_INVALID_HANDLE);
	/* A new one is not taken for the old one. */
	other = new_stream();
	ok(other != stream);
	gives(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
	keep_busy(other);
	gives(aclrtDestroyStreamForce(other), 0);
	gives(aclrtDestroyStreamForce(other), ACL_ERROR_RT_INVALID_HANDLE);
	mock_release(0);
	gives(aclrtSynchronizeDevice(), 0);
	gives(aclrtDestroyStream(NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtDestroyStreamForce(NULL), ACL_ERROR_INVALID_PARAM);
	end();
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void test_timeouts(void)
{
	uint64_t start;
	pthread_t thread;

	set_up();
	gives(aclrtSynchronizeStreamWithTimeout(stream, 0), 0);
	keep_busy(stream);
	gives(aclrtSynchronizeStreamWithTimeout(stream, 0), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
	start = now_ms();
	gives(aclrtSynchronizeStreamWithTimeout(stream, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
	ok(now_ms() - start >= 9);
	gives(aclrtSynchronizeDeviceWithTimeout(10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, 1, NULL), 0);
	pthread_create(&thread, NULL, let_go, NULL);
	gives(aclrtSynchronizeStreamWithTimeout(stream, 60000), 0);
	pthread_join(thread, NULL);
	gives(aclrtSynchronizeDeviceWithTimeout(60000), 0);
	ok(status_of(NULL) == ACL_STREAM_STATUS_COMPLETE);
	keep_busy(NULL);
	gives(aclrtSynchronizeDeviceWithTimeout(10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
	pthread_create(&thread, NULL, let_go, NULL);
	gives(aclrtSynchronizeDeviceWithTimeout(-1), 0);
	pthread_join(thread, NULL);
	gives(aclrtSynchronizeStreamWithTimeout(stream, -1), 0);
	refuses(aclrtSynchronizeStreamWithTimeout(stream, -2), ACL_ERROR_RT_PARAM_INVALID,
		"timeout is -2");
	gives(aclrtSynchronizeStreamWithTimeout(stream, INT_MIN), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtSynchronizeStreamWithTimeout(stream, INT_MAX), 0);
	refuses(aclrtSynchronizeDeviceWithTimeout(0), ACL_ERROR_RT_PARAM_INVALID, "timeout is 0");
	gives(aclrtSynchronizeDeviceWithTimeout(-2), ACL_ERROR_RT_PARAM_INVALID);
	end();
}

/* Work can fail with the error of a wait that is over. */
static void test_failure_that_looks_like_a_timeout(void)
{
	set_up();
	mock_fail(MOCK_OPERATION, 1, ETIME);
	gives(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, stream), 0);
	mock_wait_idle();
	refuses(aclrtSynchronizeStreamWithTimeout(stream, 60000), ACL_ERROR_RT_SYS_DMA,
		"work of the stream failed");
	gives(aclrtSynchronizeStream(stream), 0);
	end();
}

/* The failure stays until what waits for the stream has ended, and is reported then. */
static void test_timeout_of_a_failure(void)
{
	aclrtStreamStatus status;
	aclrtStream second;
	aclrtEvent event;

	set_up();
	second = new_stream();
	event = new_event();
	mock_fail(MOCK_OPERATION, 1, EIO);
	keep_busy(stream);
	gives(aclrtRecordEvent(event, stream), 0);
	mock_wait_held(0, 1);
	mock_release(0);
	mock_wait_idle();
	keep_busy(second);
	gives(aclrtStreamWaitEvent(second, event), 0);
	mock_wait_held(0, 1);
	gives(aclrtSynchronizeStreamWithTimeout(stream, 1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
	gives(aclrtSynchronizeDeviceWithTimeout(1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
	ok(status_of(stream) == ACL_STREAM_STATUS_NOT_READY);
	ok(!aclrtStreamQuery(stream, &status) && !*aclGetRecentErrMsg());
	mock_release(0);
	gives(aclrtSynchronizeStream(stream), ACL_ERROR_RT_SYS_DMA);
	gives(aclrtSynchronizeStream(second), ACL_ERROR_RT_SYS_DMA);
	gives(aclrtSynchronizeDevice(), 0);
	end();
}

static void *makes_streams(void *arg)
{
	aclrtStream made;

	gives(aclrtSetDevice(0), 0);
	while (!__atomic_load_n((bool *)arg, __ATOMIC_ACQUIRE)) {
		made = new_stream();
		gives(aclrtDestroyStream(made), 0);
	}
	return NULL;
}

/* Streams of other threads come and go, which is not the fault of who waits. */
static void test_a_device_with_streams_that_end(void)
{
	pthread_t threads[3];
	bool over = false;

	set_up();
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, makes_streams, &over);
	for (int i = 0; i < 30000; i++)
		gives(aclrtSynchronizeDeviceWithTimeout(60000), 0);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	end();
}

static void *waits_for_the_device(void *arg)
{
	gives(aclrtSetDevice(0), 0);
	gives(aclrtSynchronizeDeviceWithTimeout(60000), 0);
	return arg;
}

/* Who ends a stream by force does not wait for who waits, who gives it back. */
static void test_a_stream_ends_under_a_wait(void)
{
	aclrtStream more[MOCK_STREAMS];
	unsigned int before;
	pthread_t thread;

	set_up();
	keep_busy(stream);
	before = mock_calls(PACCEL_NR_WAIT);
	pthread_create(&thread, NULL, waits_for_the_device, NULL);
	mock_wait_calls(PACCEL_NR_WAIT, before + 1);
	gives(aclrtDestroyStreamForce(stream), 0);
	gives(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
	gives(aclrtDestroyStreamForce(stream), ACL_ERROR_RT_INVALID_HANDLE);
	/* Its handle is not given to another one. */
	for (int i = 0; i < MOCK_STREAMS - 1; i++) {
		more[i] = new_stream();
		ok(more[i] != stream);
	}
	mock_release(0);
	pthread_join(thread, NULL);
	more[MOCK_STREAMS - 1] = new_stream();
	for (int i = 0; i < MOCK_STREAMS; i++)
		gives(aclrtDestroyStream(more[i]), 0);
	end();
}

/* Told once, then it works again. */
static void test_work_fails(void)
{
	aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;

	set_up();
	mock_fail(MOCK_OPERATION, 1, EIO);
	keep_busy(stream);
	gives(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, stream), 0);
	mock_release(0);
	refuses(aclrtSynchronizeStream(stream), ACL_ERROR_RT_SYS_DMA, "work of the stream failed");
	gives(aclrtSynchronizeStream(stream), 0);
	ok(*mock_memory(0, MOCK_BASE) != 1);
	gives(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, stream), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	ok(*mock_memory(0, MOCK_BASE) == 1);
	/* Until somebody is told it takes no more. */
	mock_fail(MOCK_OPERATION, 1, EIO);
	gives(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, stream), 0);
	mock_wait_idle();
	gives(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, stream), ACL_ERROR_RT_DEVICE_TASK_ABORT);
	gives(aclrtStreamQuery(stream, &status), ACL_ERROR_RT_SYS_DMA);
	gives(aclrtStreamQuery(stream, &status), 0);
	/* The device tells of all that have failed. */
	mock_fail(MOCK_OPERATION, 1, EIO);
	gives(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, NULL), 0);
	gives(aclrtSynchronizeDevice(), ACL_ERROR_RT_SYS_DMA);
	gives(aclrtSynchronizeDevice(), 0);
	gives(aclrtSynchronizeStream(NULL), 0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	gives(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, stream), 0);
	gives(aclrtSynchronizeDevice(), ACL_ERROR_RT_SYS_DMA);
	gives(aclrtSynchronizeStream(stream), 0);
	/* One that is destroyed tells, too, and is destroyed. */
	mock_fail(MOCK_OPERATION, 1, EIO);
	gives(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, stream), 0);
	gives(aclrtDestroyStream(stream), ACL_ERROR_RT_SYS_DMA);
	gives(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
	end();
}

/* Of another layer of the process, in this thread. */
static void test_stream_of_another_layer_fails(void)
{
	struct accel_device *dev = NULL;
	struct accel_stream *other = NULL;

	set_up();
	expect(accel_device_open(0, &dev), 0);
	expect(accel_stream_create(dev, &other), 0);
	mock_fail(MOCK_OPERATION, 1, EIO);
	expect(accel_async_device_memory_set(dev, other, ptr, 1, SIZE), 0);
	gives(aclrtSynchronizeDevice(), 0);
	/* It is not this layer's to clear, and does not hide one of this layer's. */
	expect(accel_stream_query(other), -EIO);
	mock_fail(MOCK_OPERATION, 1, EIO);
	gives(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, stream), 0);
	gives(aclrtSynchronizeDevice(), ACL_ERROR_RT_SYS_DMA);
	gives(aclrtSynchronizeDevice(), 0);
	expect(accel_stream_query(other), -EIO);
	expect(accel_device_close(dev), 0);
	end();
}

static void test_failure_mode(void)
{
	set_up();
	gives(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE), 0);
	gives(aclrtSetStreamFailureMode(stream, ACL_CONTINUE_ON_FAILURE),
	      ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
	gives(aclrtSetStreamFailureMode(stream, 2), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtSetStreamFailureMode(NULL, 1), ACL_ERROR_INVALID_PARAM);
	end();
}

/* ---- Events ---- */

/* The two answers are each other's opposite. */
static void answers(aclrtEvent event, bool happened)
{
	aclrtEventRecordedStatus recorded = 7;
	aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;

	gives(aclrtQueryEventStatus(event, &recorded), 0);
	ok(recorded == (happened ? 1 : 0));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	gives(aclrtQueryEvent(event, &status), 0);
#pragma GCC diagnostic pop
	ok(status == (happened ? 0 : 1));
}

static aclrtEventRecordedStatus recorded_status(aclrtEvent event)
{
	aclrtEventRecordedStatus recorded = 7;

	gives(aclrtQueryEventStatus(event, &recorded), 0);
	return recorded;
}

static void test_events(void)
{
	aclrtEvent event, reusable;
	pthread_t thread;

	set_up();
	event = new_event();
	gives(aclrtCreateEventExWithFlag(&reusable, ACL_EVENT_SYNC), 0);
	ok(recorded_status(event) == ACL_EVENT_RECORDED_STATUS_NOT_READY);
	ok(recorded_status(reusable) == ACL_EVENT_RECORDED_STATUS_COMPLETE);
	gives(aclrtSynchronizeEvent(event), 0);
	keep_busy(stream);
	gives(aclrtRecordEvent(event, stream), 0);
	gives(aclrtRecordEvent(reusable, stream), 0);
	answers(event, false);
	answers(reusable, false);
	gives(aclrtSynchronizeEventWithTimeout(event, 0), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
	gives(aclrtSynchronizeEventWithTimeout(event, 5), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
	pthread_create(&thread, NULL, let_go, NULL);
	gives(aclrtSynchronizeEvent(event), 0);
	pthread_join(thread, NULL);
	answers(event, true);
	gives(aclrtSynchronizeEventWithTimeout(event, -1), 0);
	gives(aclrtSynchronizeEventWithTimeout(event, -2), ACL_ERROR_RT_PARAM_INVALID);
	/* Recorded again it stands for the new point. */
	keep_busy(stream);
	gives(aclrtRecordEvent(event, stream), 0);
	answers(event, false);
	mock_release(0);
	gives(aclrtResetEvent(event, stream), 0);
	ok(recorded_status(event) == ACL_EVENT_RECORDED_STATUS_NOT_READY);
	refuses(aclrtResetEvent(reusable, stream), ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
		"without a reset");
	gives(aclrtDestroyEvent(event), 0);
	gives(aclrtDestroyEvent(event), ACL_ERROR_RT_INVALID_HANDLE);
	gives(aclrtDestroyEvent(reusable), 0);
	end();
}

static void test_event_flags(void)
{
	aclrtEvent made;

	begin();
	for (uint32_t flag = 1; flag < 16; flag++) {
		bool known = !(flag & 4);

		gives(aclrtCreateEventWithFlag(&made, flag), known ? 0 : 107000);
		ok(known == !!made);
		gives(aclrtCreateEventExWithFlag(&made, flag), known ? 0 : 107000);
	}
	refuses(aclrtCreateEventWithFlag(&made, 0), ACL_ERROR_RT_PARAM_INVALID, "flag is 0");
	gives(aclrtCreateEventWithFlag(&made, ACL_EVENT_IPC), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
	gives(aclrtCreateEventWithFlag(&made, ACL_EVENT_EXTERNAL),
	      ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
	gives(aclrtCreateEvent(NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtCreateEventWithFlag(NULL, 1), ACL_ERROR_INVALID_PARAM);
	gives(aclrtCreateEventExWithFlag(NULL, 1), ACL_ERROR_INVALID_PARAM);
	end();
}

static void test_times(void)
{
	aclrtEvent first, last, none;
	float ms = -1;

	set_up();
	first = new_event();
	last = new_event();
	gives(aclrtCreateEventWithFlag(&none, ACL_EVENT_SYNC), 0);
	gives(aclrtRecordEvent(first, stream), 0);
	gives(aclrtSynchronizeEvent(first), 0);
	keep_busy(stream);
	gives(aclrtRecordEvent(last, stream), 0);
	gives(aclrtRecordEvent(none, stream), 0);
	refuses(aclrtEventElapsedTime(&ms, first, last), ACL_ERROR_RT_EVENT_NOT_COMPLETE,
		"endEvent has not happened");
	usleep(10000);
	mock_release(0);
	gives(aclrtSynchronizeStream(stream), 0);
	gives(aclrtEventElapsedTime(&ms, first, last), 0);
	ok(ms >= 10 && ms < 10000);
	gives(aclrtEventElapsedTime(&ms, first, first), 0);
	ok(ms == 0);
	refuses(aclrtEventElapsedTime(&ms, last, first), ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL,
		"before startEvent");
	refuses(aclrtEventElapsedTime(&ms, first, none), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
		"endEvent was made without");
	refuses(aclrtEventElapsedTime(&ms, new_event(), last),
		ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "startEvent is not recorded");
	gives(aclrtEventElapsedTime(NULL, first, last), ACL_ERROR_INVALID_PARAM);
	gives(aclrtEventElapsedTime(&ms, NULL, last), ACL_ERROR_INVALID_PARAM);
	gives(aclrtEventElapsedTime(&ms, first, stream), ACL_ERROR_RT_INVALID_HANDLE);
	end();
}

static aclrtEventWaitStatus wait_status(aclrtEvent event)
{
	aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_RESERVED;

	gives(aclrtQueryEventWaitStatus(event, &status), 0);
	return status;
}

static void test_event_of_failed_work(void)
{
	aclrtEventRecordedStatus recorded;
	aclrtEventStatus status;
	aclrtEvent event;
	float ms;

	set_up();
	event = new_event();
	mock_fail(MOCK_OPERATION, 1, EIO);
	keep_busy(stream);
	gives(aclrtRecordEvent(event, stream), 0);
	mock_release(0);
	mock_wait_idle();
	gives(aclrtQueryEventStatus(event, &recorded), ACL_ERROR_RT_SYS_DMA);
	gives(aclrtSynchronizeEvent(event), ACL_ERROR_RT_SYS_DMA);
	gives(aclrtEventElapsedTime(&ms, event, event),
	      ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	gives(aclrtQueryEvent(event, &status), ACL_ERROR_RT_SYS_DMA);
#pragma GCC diagnostic pop
	gives(aclrtStreamWaitEvent(NULL, event), 0);
	mock_wait_idle();
	ok(wait_status(event) == ACL_EVENT_WAIT_STATUS_COMPLETE);
	gives(aclrtSynchronizeStream(NULL), ACL_ERROR_RT_SYS_DMA);
	gives(aclrtSynchronizeStream(stream), ACL_ERROR_RT_SYS_DMA);
	ok(recorded_status(event) == ACL_EVENT_RECORDED_STATUS_COMPLETE);
	end();
}

/* ---- Waits ---- */

static void test_a_stream_waits(void)
{
	aclrtStream other, third;
	aclrtEvent event;
	char *more;

	set_up();
	other = new_stream();
	third = new_stream();
	more = memory(SIZE);
	event = new_event();
	/* One that is not recorded has happened. */
	gives(aclrtStreamWaitEvent(other, event), 0);
	ok(status_of(other) == ACL_STREAM_STATUS_COMPLETE);
	ok(wait_status(event) == ACL_EVENT_WAIT_STATUS_COMPLETE);
	memset(host, 7, SIZE);
	keep_busy(stream);
	gives(aclrtRecordEvent(event, stream), 0);
	gives(aclrtStreamWaitEvent(other, event), 0);
	gives(aclrtStreamWaitEvent(third, event), 0);
	gives(aclrtMemcpyAsync(more, SIZE, ptr, SIZE, 3, other), 0);
	ok(status_of(other) == ACL_STREAM_STATUS_NOT_READY);
	ok(wait_status(event) == ACL_EVENT_WAIT_STATUS_NOT_READY);
	/* Who waits already is not moved on. */
	gives(aclrtRecordEvent(event, third), 0);
	mock_release(0);
	gives(aclrtSynchronizeStream(other), 0);
	gives(aclrtSynchronizeStream(third), 0);
	ok(*mock_memory(0, MOCK_BASE + SIZE) == 7);
	ok(wait_status(event) == ACL_EVENT_WAIT_STATUS_COMPLETE);
	gives(aclrtQueryEventWaitStatus(event, NULL), ACL_ERROR_INVALID_PARAM);
	end();
}

static void test_system_calls(void)
{
	aclrtEventWaitStatus status;
	aclrtStream other;
	aclrtEvent event;

	set_up();
	other = new_stream();
	event = new_event();
	/* Memory for times. */
	gives(aclrtRecordEvent(event, other), 0);
	costs(aclrtSynchronizeStream(stream), 0);
	for (int i = 0; i < 100; i++) {
		keep_busy(stream);
		costs(aclrtRecordEvent(event, stream), 1);
		costs(aclrtStreamWaitEvent(other, event), 1);
		costs(aclrtStreamWaitEvent(NULL, event), i ? 1 : 2); /* makes the stream */
		costs(aclrtQueryEventWaitStatus(event, &status), 0);
		ok(status == ACL_EVENT_WAIT_STATUS_NOT_READY);
		mock_release(0);
		gives(aclrtSynchronizeDevice(), 0);
		costs(aclrtSynchronizeStream(other), 0);
		/* It has happened. */
		costs(aclrtStreamWaitEvent(other, event), 0);
	}
	end();
}

static unsigned int queries;
int __real_accel_event_query(struct accel_event *event);
int __wrap_accel_event_query(struct accel_event *event);

int __wrap_accel_event_query(struct accel_event *event)
{
	__atomic_add_fetch(&queries, 1, __ATOMIC_RELAXED);
	return __real_accel_event_query(event);
}

/* What a wait takes does not depend on how many there are. */
static void test_many_waits(void)
{
	aclrtStream other;
	aclrtEvent event;

	set_up();
	other = new_stream();
	event = new_event();
	keep_busy(stream);
	gives(aclrtRecordEvent(event, stream), 0);
	queries = 0;
	for (int i = 0; i < 20; i++)
		gives(aclrtStreamWaitEvent(other, event), 0);
	ok(queries <= 40);
	ok(wait_status(event) == ACL_EVENT_WAIT_STATUS_NOT_READY);
	mock_release(0);
	gives(aclrtSynchronizeStream(other), 0);
	ok(wait_status(event) == ACL_EVENT_WAIT_STATUS_COMPLETE);
	end();
}

static aclrtEvent asked;

static void *asks(void *arg)
{
	for (int i = 0; i < 20000; i++)
		ok(wait_status(asked) == ACL_EVENT_WAIT_STATUS_NOT_READY);
	return arg;
}

/* The answer is the same for all who ask at once. */
static void test_several_ask(void)
{
	pthread_t threads[4];
	aclrtStream other;

	set_up();
	other = new_stream();
	asked = new_event();
	keep_busy(stream);
	gives(aclrtRecordEvent(asked, stream), 0);
	gives(aclrtStreamWaitEvent(other, asked), 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, asks, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	mock_release(0);
	gives(aclrtSynchronizeStream(other), 0);
	ok(wait_status(asked) == ACL_EVENT_WAIT_STATUS_COMPLETE);
	end();
}

/* An event may go while a stream waits for it. */
static void test_destroyed_while_waited_for(void)
{
	aclrtStream other;
	aclrtEvent event;

	set_up();
	other = new_stream();
	event = new_event();
	keep_busy(stream);
	gives(aclrtRecordEvent(event, stream), 0);
	gives(aclrtStreamWaitEvent(other, event), 0);
	gives(aclrtDestroyEvent(event), 0);
	ok(status_of(other) == ACL_STREAM_STATUS_NOT_READY);
	mock_release(0);
	gives(aclrtSynchronizeStream(other), 0);
	end();
}

static void test_events_of_two_devices(void)
{
	aclrtStream there;
	aclrtEvent event, there_event;

	begin_with(2);
	ptr = memory(SIZE);
	host = pinned(SIZE);
	event = new_event();
	keep_busy(NULL);
	gives(aclrtRecordEvent(event, NULL), 0);
	gives(aclrtSetDevice(1), 0);
	there = new_stream();
	there_event = new_event();
	/* The driver's: a fence is exported, waited for, and the end of the wait is recorded. */
	gives(aclrtRecordEvent(there_event, there), 0);
	costs(aclrtStreamWaitEvent(there, event), 3);
	gives(aclrtSynchronizeStreamWithTimeout(there, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
	ok(status_of(there) == ACL_STREAM_STATUS_NOT_READY);
	ok(wait_status(event) == ACL_EVENT_WAIT_STATUS_NOT_READY);
	refuses(aclrtRecordEvent(event, there), ACL_ERROR_RESOURCE_NOT_MATCH, "is of device 0");
	mock_release(0);
	gives(aclrtSynchronizeStream(there), 0);
	/* The stream's device goes, the event's stays. */
	gives(aclrtStreamWaitEvent(there, event), 0);
	gives(aclrtResetDevice(1), 0);
	ok(wait_status(event) == ACL_EVENT_WAIT_STATUS_COMPLETE);
	gives(aclrtSetDevice(0), 0);
	gives(aclrtDestroyEvent(event), 0);
	end();
}

/* The event's device goes, the stream's stays: the leak checker sees what is forgotten. */
static void test_waits_of_another_device_end(void)
{
	aclrtStream there;
	aclrtEvent event;

	begin_with(2);
	gives(aclrtSetDevice(1), 0);
	there = new_stream();
	gives(aclrtSetDevice(0), 0);
	event = new_event();
	gives(aclrtRecordEvent(event, NULL), 0);
	gives(aclrtSetDevice(1), 0);
	gives(aclrtStreamWaitEvent(there, event), 0);
	gives(aclrtResetDevice(0), 0);
	gives(aclrtSynchronizeStream(there), 0);
	end();
}

/* What a reset ends is given back, also if the program has the card open by itself. */
static void test_waits_end_with_their_device(void)
{
	struct accel_device *dev;
	unsigned int before = 0;
	aclrtEvent event;

	begin();
	expect(accel_device_open(0, &dev), 0);
	for (int i = 0; i < 1200; i++) {
		event = new_event();
		gives(aclrtRecordEvent(event, NULL), 0);
		gives(aclrtStreamWaitEvent(NULL, event), 0);
		gives(aclrtResetDevice(0), 0);
		gives(aclrtSetDevice(0), 0);
		if (i == 10)
			before = mock_calls(PACCEL_NR_HOST_ALLOC);
	}
	ok(mock_calls(PACCEL_NR_HOST_ALLOC) == before);
	expect(accel_device_close(dev), 0);
	end();
}

/* A program may wait for one event for as long as it runs, without asking. */
static void test_waits_do_not_pile_up(void)
{
	unsigned int before = 0;
	aclrtStream other;
	aclrtEvent event;

	set_up();
	other = new_stream();
	event = new_event();
	for (int i = 0; i < 2000; i++) {
		gives(aclrtRecordEvent(event, stream), 0);
		gives(aclrtStreamWaitEvent(other, event), 0);
		if (i % 16 == 0)
			gives(aclrtSynchronizeStream(other), 0);
		if (i == 500)
			before = mock_calls(PACCEL_NR_HOST_ALLOC);
	}
	ok(mock_calls(PACCEL_NR_HOST_ALLOC) == before);
	/* One that is still to come is not forgotten. */
	keep_busy(stream);
	gives(aclrtRecordEvent(event, stream), 0);
	for (int i = 0; i < 24; i++)
		gives(aclrtStreamWaitEvent(i ? NULL : other, event), 0);
	ok(wait_status(event) == ACL_EVENT_WAIT_STATUS_NOT_READY);
	mock_release(0);
	gives(aclrtSynchronizeDevice(), 0);
	ok(wait_status(event) == ACL_EVENT_WAIT_STATUS_COMPLETE);
	end();
}

static void test_no_room_for_times(void)
{
	aclrtEvent event;

	set_up();
	event = new_event();
	mock_fail(PACCEL_NR_HOST_ALLOC, 1, ENOMEM);
	gives(aclrtRecordEvent(event, stream), ACL_ERROR_RT_NO_EVENT_RESOURCE);
	ok(recorded_status(event) == ACL_EVENT_RECORDED_STATUS_NOT_READY);
	gives(aclrtRecordEvent(event, stream), 0);
	gives(aclrtSynchronizeEvent(event), 0);
	answers(event, true);
	end();
}

int main(void)
{
	RUN(test_streams_run_apart);
	RUN(test_configured_streams);
	RUN(test_too_many_streams);
	RUN(test_destroy_waits);
	RUN(test_timeouts);
	RUN(test_failure_that_looks_like_a_timeout);
	RUN(test_timeout_of_a_failure);
	RUN(test_a_device_with_streams_that_end);
	RUN(test_a_stream_ends_under_a_wait);
	RUN(test_work_fails);
	RUN(test_stream_of_another_layer_fails);
	RUN(test_failure_mode);
	RUN(test_events);
	RUN(test_event_flags);
	RUN(test_times);
	RUN(test_event_of_failed_work);
	RUN(test_a_stream_waits);
	RUN(test_system_calls);
	RUN(test_many_waits);
	RUN(test_several_ask);
	RUN(test_destroyed_while_waited_for);
	RUN(test_events_of_two_devices);
	RUN(test_waits_of_another_device_end);
	RUN(test_waits_end_with_their_device);
	RUN(test_waits_do_not_pile_up);
	RUN(test_no_room_for_times);
	return tap_end();
}
