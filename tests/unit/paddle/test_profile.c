/* SPDX-License-Identifier: MIT */
/*
 * Traces for Paddle's profiler. The functions of Paddle that take the events are the test's own, which gives
 * itself for Paddle's library.
 */
#define _GNU_SOURCE
#include "paddle.h"

#include "../../../lib/paddle/paddle_api.h"

#include <dlfcn.h>
#include <sys/syscall.h>

#define ROOM 65536
#define SLOTS_AT 824

static struct profiler {
	size_t calls, works;
	struct call_event call[ROOM + 10];
	struct device_event work[ROOM + 10];
} profiler;

static bool has_library = true;
static const char *missing;
static char bytes[256], back[256];

/* ---- What Paddle has ---- */

void *__real_dlopen(const char *name, int flags);
void *__real_dlsym(void *library, const char *name);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlsym(void *library, const char *name);
void profiler_add_runtime_trace_event(struct profiler *to, struct call_event *event);
void profiler_add_device_trace_event(struct profiler *to, struct device_event *event);

void *__wrap_dlopen(const char *name, int flags)
{
	if (!name || (strcmp(name, "libphi_core.so") && strcmp(name, "libpaddle.so")))
		return __real_dlopen(name, flags);
	ok(flags & RTLD_NOLOAD);
	return has_library && !strcmp(name, "libpaddle.so") ? __real_dlopen(NULL, RTLD_LAZY) : NULL;
}

void *__wrap_dlsym(void *library, const char *name)
{
	return missing && !strcmp(name, missing) ? NULL : __real_dlsym(library, name);
}

void profiler_add_runtime_trace_event(struct profiler *to, struct call_event *event)
{
	to->call[to->calls++] = *event;
}

void profiler_add_device_trace_event(struct profiler *to, struct device_event *event)
{
	to->work[to->works++] = *event;
}

/* ---- What tests need ---- */

static struct profiler_interface *slots(void)
{
	return (struct profiler_interface *)(table.size + SLOTS_AT);
}

static void start(void)
{
	void *data = &profiler;

	memset(&profiler, 0, sizeof(profiler));
	gives(slots()->initialize(&profiler, &data), STATUS_SUCCESS);
	ok(!data);
	gives(slots()->prepare_tracing(&profiler, NULL), STATUS_SUCCESS);
	gives(slots()->start_tracing(&profiler, NULL), STATUS_SUCCESS);
}

static void stop(void)
{
	gives(slots()->stop_tracing(&profiler, NULL), STATUS_SUCCESS);
	gives(slots()->collect_trace_data(&profiler, 0, NULL), STATUS_SUCCESS);
}

static uint64_t real_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool is_named(const struct text *name, const char *words)
{
	return name->length == strlen(words) && !memcmp(name->at, words, name->length);
}

struct expected {
	const char *call, *work;
	size_t size;
	uint64_t device;
	bool queued;
};

/* One call and its work, between two times; stream: of what is queued. */
static void holds_event(size_t at, const struct expected *expected, uint64_t stream, uint64_t from,
			uint64_t to)
{
	const struct call_event *call = &profiler.call[at];
	const struct device_event *work = &profiler.work[at];
	bool is_set = !strcmp(expected->work, "memset");

	ok(is_named(&call->name, expected->call) && call->type == EVENT_CALL);
	ok(is_named(&work->name, expected->work) &&
	   work->type == (is_set ? EVENT_SET : EVENT_COPY));
	ok(call->correlation == at + 1 && work->correlation == at + 1);
	ok(call->process == (uint64_t)getpid() && call->thread == (uint64_t)syscall(SYS_gettid));
	ok(from <= call->begin && call->begin <= call->end && call->end <= to);
	ok(call->begin <= work->begin && work->begin <= work->end && work->end <= to);
	ok(work->size == expected->size && work->device == expected->device);
	ok(work->stream == (expected->queued ? stream : 0));
	if (!expected->queued)
		ok(work->begin == call->begin && work->end == call->end);
}

/* ---- The table ---- */

/* test_load has what other places of the table hold. */
static bool is_empty(void)
{
	void *const *slot = (void *const *)slots();

	for (int i = 0; i < 6; i++)
		if (slot[i])
			return false;
	return true;
}

static void load_with(size_t params_size, size_t functions_size)
{
	memset(&given, 0, sizeof(given));
	memset(&table, 0, sizeof(table));
	given.params.size = params_size;
	given.params.interface = paddle;
	paddle->size = functions_size;
	InitPlugin(&given.params);
	ok(given.params.device_type);
}

/* Only where the place of the functions is known, and if Paddle takes events. */
static void test_slots(void)
{
	static const size_t others[][2] = { { 88, 904 },  { 88, 912 },	{ 96, 920 },
					    { 96, 1032 }, { 96, 1040 }, { 96, 1120 } };
	static const char *const functions[] = { "profiler_add_runtime_trace_event",
						 "profiler_add_device_trace_event" };
	void *const *slot = (void *const *)slots();

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		load_with(others[i][0], others[i][1]);
		ok(is_empty());
	}
	for (size_t i = 0; i < 2; i++) {
		missing = functions[i];
		load_with(96, 1128);
		ok(is_empty());
	}
	missing = NULL;
	has_library = false;
	load_with(96, 1128);
	ok(is_empty());
	has_library = true;
	load_with(96, 1128);
	ok(!slot[-1] && !slot[6]);
	for (int i = 0; i < 6; i++)
		ok(slot[i]);
}

/* ---- Traces ---- */

static void test_each_operation(void)
{
	static const struct expected all[] = {
		{ "memory_copy_h2d", "memcpy_h2d", 64, 0, false },
		{ "memory_copy_d2h", "memcpy_d2h", 63, 0, false },
		{ "memory_copy_d2d", "memcpy_d2d", 62, 0, false },
		{ "memory_copy_p2p", "memcpy_p2p", 61, 1, false },
		{ "device_memory_set", "memset", 60, 0, false },
		{ "async_memory_copy_h2d", "memcpy_h2d", 59, 0, false },
		{ "async_memory_copy_h2d", "memcpy_h2d", 58, 0, true },
		{ "async_memory_copy_d2h", "memcpy_d2h", 57, 0, true },
		{ "async_memory_copy_d2d", "memcpy_d2d", 56, 0, true },
		{ "async_memory_copy_p2p", "memcpy_p2p", 55, 0, true },
	};
	const size_t count = sizeof(all) / sizeof(all[0]);
	stream_t first, stream;
	char *ptr, *copy, *far;
	uint64_t from;

	begin_with(2);
	ptr = memory_of(accel0, 64);
	copy = memory_of(accel0, 64);
	far = memory_of(accel1, 64);
	first = stream_of(accel0);
	stream = stream_of(accel0);
	start();
	from = real_time();
	gives(paddle->memory_copy_h2d(accel0, ptr, bytes, 64), STATUS_SUCCESS);
	gives(paddle->memory_copy_d2h(accel0, back, ptr, 63), STATUS_SUCCESS);
	gives(paddle->memory_copy_d2d(accel0, copy, ptr, 62), STATUS_SUCCESS);
	gives(paddle->memory_copy_p2p(accel0, accel1, ptr, far, 61), STATUS_SUCCESS);
	gives(paddle->device_memory_set(accel0, ptr, 200, 60), STATUS_SUCCESS);
	gives(paddle->async_memory_copy_h2d(accel0, NULL, ptr, bytes, 59), STATUS_SUCCESS);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 58), STATUS_SUCCESS);
	gives(paddle->async_memory_copy_d2h(accel0, stream, back, ptr, 57), STATUS_SUCCESS);
	gives(paddle->async_memory_copy_d2d(accel0, stream, copy, ptr, 56), STATUS_SUCCESS);
	gives(paddle->async_memory_copy_p2p(accel1, accel0, stream, far, ptr, 55), STATUS_SUCCESS);
	gives(paddle->synchronize_device(accel0), STATUS_SUCCESS);
	stop();
	ok(profiler.calls == count && profiler.works == count);
	for (size_t i = 0; i < count; i++)
		holds_event(i, &all[i], 2, from, real_time());
	ok(profiler.work[4].set.value == 200 && silent());
	gives(paddle->destroy_stream(accel0, first), STATUS_SUCCESS);
	end();
}

/* No operation that has failed, none of 0 bytes, and none before or after. */
static void test_what_is_no_part(void)
{
	unsigned int submitted;
	stream_t stream;
	char *ptr;

	begin_with(1);
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	gives(paddle->memory_copy_h2d(accel0, ptr, bytes, 64), STATUS_SUCCESS);
	start();
	gives(paddle->memory_copy_h2d(accel0, NULL, NULL, 0), STATUS_SUCCESS);
	gives(paddle->async_memory_copy_h2d(accel0, stream, NULL, NULL, 0), STATUS_SUCCESS);
	refuses(paddle->memory_copy_h2d(accel0, ptr, bytes, 65), STATUS_ERROR, "");
	refuses(paddle->async_memory_copy_d2d(accel0, stream, ptr, ptr, 65), STATUS_ERROR, "");
	refuses(paddle->device_memory_set(accel0, ptr, 1, 65), STATUS_ERROR, "");
	gives(paddle->memory_copy_h2d(accel0, ptr, bytes, 32), STATUS_SUCCESS);
	gives(slots()->stop_tracing(&profiler, NULL), STATUS_SUCCESS);
	gives(paddle->memory_copy_h2d(accel0, ptr, bytes, 16), STATUS_SUCCESS);
	gives(slots()->collect_trace_data(&profiler, 0, NULL), STATUS_SUCCESS);
	ok(profiler.calls == 1 && profiler.works == 1 && profiler.work[0].size == 32);
	/* No event of the driver is recorded without a trace. */
	submitted = mock_calls(PACCEL_NR_SUBMIT);
	gives(paddle->async_memory_copy_d2d(accel0, stream, ptr + 32, ptr, 16), STATUS_SUCCESS);
	ok(mock_calls(PACCEL_NR_SUBMIT) == submitted + 1);
	start();
	stop();
	ok(!profiler.calls && !profiler.works);
	end();
}

/* The times are those of the driver: the second copy begins where the first one ends. */
static void test_queued_copies(void)
{
	const struct device_event *work = profiler.work;
	stream_t stream;
	uint64_t late;
	char *ptr;

	begin_with(1);
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	start();
	mock_hold(0);
	gives(paddle->async_memory_copy_d2d(accel0, stream, ptr + 32, ptr, 16), STATUS_SUCCESS);
	gives(paddle->async_memory_copy_d2d(accel0, stream, ptr + 48, ptr, 16), STATUS_SUCCESS);
	late = real_time() + 20000000;
	while (real_time() < late)
		sched_yield();
	mock_release(0);
	gives(paddle->synchronize_stream(accel0, stream), STATUS_SUCCESS);
	stop();
	ok(profiler.works == 2);
	/* Give or take half of the time that an event of an empty stream takes. */
	ok(work[0].begin == profiler.call[0].begin && work[0].end > late - 10000000);
	ok(work[1].begin == work[0].end && work[1].end >= work[1].begin);
	ok(profiler.call[1].end < late);
	end();
}

/* Without room for the event of the driver it is the time of the call. */
static void test_without_events(void)
{
	stream_t stream;
	char *ptr;

	begin_with(1);
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	start();
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 16), STATUS_SUCCESS);
	end();
	stop();
	ok(profiler.works == 1 && profiler.work[0].begin == profiler.call[0].begin &&
	   profiler.work[0].end == profiler.call[0].end);
	gives(slots()->finalize(&profiler, NULL), STATUS_SUCCESS);
}

/* What does not fit is counted. */
static void test_full(void)
{
	char *ptr;

	begin_with(1);
	ptr = memory_of(accel0, 64);
	start();
	for (int i = 0; i < ROOM + 3; i++)
		gives(paddle->device_memory_set(accel0, ptr, 1, 1 + (i >= ROOM)), STATUS_SUCCESS);
	log_clear();
	stop();
	ok(profiler.calls == ROOM && profiler.works == ROOM && profiler.work[ROOM - 1].size == 1);
	ok(said("lacks the last 3 copies and fills") && lines_said() == 1);
	start();
	gives(paddle->device_memory_set(accel0, ptr, 1, 5), STATUS_SUCCESS);
	log_clear();
	stop();
	ok(profiler.calls == 1 && silent());
	end();
}

/* A trace that was never collected is dropped with the events of the driver. */
static void test_dropped(void)
{
	stream_t stream;
	char *ptr;

	begin_with(1);
	ptr = memory_of(accel0, 64);
	stream = stream_of(accel0);
	for (int i = 0; i < 2; i++) {
		start();
		gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 16),
		      STATUS_SUCCESS);
	}
	gives(paddle->synchronize_device(accel0), STATUS_SUCCESS);
	stop();
	ok(profiler.works == 1);
	start();
	gives(slots()->finalize(&profiler, NULL), STATUS_SUCCESS);
	gives(paddle->memory_copy_h2d(accel0, ptr, bytes, 16), STATUS_SUCCESS);
	stop();
	ok(!profiler.works);
	end();
}

int main(void)
{
	log_catch();
	RUN(test_slots);
	RUN(test_each_operation);
	RUN(test_what_is_no_part);
	RUN(test_queued_copies);
	RUN(test_without_events);
	RUN(test_full);
	RUN(test_dropped);
	return tap_end();
}
