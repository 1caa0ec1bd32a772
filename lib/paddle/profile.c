/* SPDX-License-Identifier: MIT */
/*
 * Traces for Paddle's profiler. Each copy and fill that ends without an error while a trace is taken
 * gives two events: the call, and the work of the device. They are kept in a table of a fixed size, and
 * handed to Paddle after the end of the trace.
 *
 * The end of work on a stream is the time that the driver takes for an event behind it. It begins when it
 * is queued, or when the work before it on the same stream ends. Without a stream, or without such an
 * event, the work takes as long as the call.
 */
#define _GNU_SOURCE
#include "private.h"

#include "paddle_api.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_RECORDS 65536

struct record {
	enum profile_kind kind;
	uint32_t value;
	const char *call;
	uint64_t begin, end; /* of the call */
	uint64_t done; /* by the device; until the trace is collected only of work without an event */
	uint64_t thread;
	int device;
	uint64_t stream; /* its number */
	struct accel_event *event; /* behind the work, or NULL */
	size_t size;
};

bool profile_tracing;

static const struct paddle_profiler_api *paddle_profiler;

/* Under the lock. */
static struct record *records;
static size_t count, dropped;
static uint64_t started;

uint64_t profile_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* ---- Recording ---- */

/* An event behind the work of the stream. Without one the time of the call is taken. */
static struct accel_event *mark_end(const struct profile *profile)
{
	struct accel_event *event = NULL;

	if (!profile->stream || accel_event_create(profile->device->dev, &event))
		return NULL;
	if (!accel_event_record(event, profile->stream))
		return event;
	accel_event_destroy(event);
	return NULL;
}

/* False: it is not kept. An operation that has begun before the trace is no part of it. */
static bool keep(const struct record *record)
{
	bool kept = false;

	plugin_lock();
	if (profile_tracing && record->begin >= started) {
		kept = count < MAX_RECORDS;
		if (kept)
			records[count++] = *record;
		else
			dropped++;
	}
	plugin_unlock();
	return kept;
}

void profile_record(uint64_t begin, const struct profile *profile)
{
	struct record record = { .kind = profile->kind,
				 .value = profile->value,
				 .call = profile->call,
				 .begin = begin,
				 .end = profile_now(),
				 .thread = (uint64_t)syscall(SYS_gettid),
				 .device = profile->device->id,
				 .stream = stream_number(profile->device, profile->stream),
				 .event = mark_end(profile),
				 .size = profile->size };

	record.done = record.end;
	if (!keep(&record) && record.event)
		accel_event_destroy(record.event);
}

/* ---- Times of the device ---- */

/*
 * An event whose time is known by both clocks. libaccel has only differences of the driver's, which is one
 * clock for all devices.
 */
struct anchor {
	struct accel_event *event;
	uint64_t time; /* by the clock of Paddle */
};

/* Nothing else is on the stream, so the time is that of the call, give or take half of its duration. */
static int anchor_set(struct anchor *anchor, struct accel_stream *stream)
{
	uint64_t before = profile_now();
	int err = accel_event_record(anchor->event, stream) ?:
		  accel_event_synchronize(anchor->event);

	anchor->time = before + (profile_now() - before) / 2;
	return err;
}

static int anchor_make(struct anchor *anchor, struct accel_device *dev)
{
	struct accel_stream *stream;
	int err = accel_stream_create(dev, &stream);

	if (err)
		return err;
	err = accel_event_create(dev, &anchor->event);
	if (!err)
		err = anchor_set(anchor, stream);
	accel_stream_destroy(stream);
	return err;
}

static void record_read_time(struct record *record, const struct anchor *anchor)
{
	int64_t ns;

	if (!accel_event_elapsed_time(record->event, anchor->event, &ns))
		record->done = anchor->time - (uint64_t)ns;
	if (record->done < record->begin)
		record->done = record->begin;
	accel_event_destroy(record->event);
	record->event = NULL;
}

/* Where this fails, because the device was closed or removed, work keeps the times of its calls. */
static void read_times(struct record *all, size_t length)
{
	struct anchor anchor = { 0 };
	struct device *device = NULL;

	for (size_t i = 0; i < length; i++) {
		struct place place = { all[i].device };

		if (!all[i].event)
			continue;
		if (!device) {
			device = plugin_enter("profiler_collect_trace_data", &place);
			if (!device)
				return;
			anchor_make(&anchor, device->dev);
		}
		record_read_time(&all[i], &anchor);
	}
	if (anchor.event)
		accel_event_destroy(anchor.event);
	if (device)
		plugin_leave();
}

/* The end of the work before on the same stream, if that is later than the call. */
static uint64_t work_begin(const struct record *all, size_t at)
{
	const struct record *record = &all[at];
	uint64_t before = record->begin;

	while (record->stream && at--)
		if (all[at].stream == record->stream && all[at].device == record->device) {
			before = all[at].done > before ? all[at].done : before;
			break;
		}
	return before < record->done ? before : record->done;
}

/* ---- What Paddle gets ---- */

static struct text text_of(const char *words)
{
	return (struct text){ .at = words, .length = strlen(words) };
}

static void add_events(struct profiler *profiler, const struct record *all, size_t at)
{
	static const char *const names[] = { [PROFILE_H2D] = "memcpy_h2d",
					     [PROFILE_D2H] = "memcpy_d2h",
					     [PROFILE_D2D] = "memcpy_d2d",
					     [PROFILE_P2P] = "memcpy_p2p",
					     [PROFILE_SET] = "memset" };
	const struct record *record = &all[at];
	struct call_event call = { .name = text_of(record->call),
				   .type = EVENT_CALL,
				   .begin = record->begin,
				   .end = record->end,
				   .process = (uint64_t)getpid(),
				   .thread = record->thread,
				   .correlation = (uint32_t)at + 1 };
	struct device_event work = { .name = text_of(names[record->kind]),
				     .type = record->kind == PROFILE_SET ? EVENT_SET : EVENT_COPY,
				     .begin = work_begin(all, at),
				     .end = record->done,
				     .device = (uint64_t)record->device,
				     .stream = record->stream,
				     .correlation = call.correlation,
				     .size = record->size };

	if (record->kind == PROFILE_SET)
		work.set.value = record->value;
	paddle_profiler->add_call(profiler, &call);
	paddle_profiler->add_device(profiler, &work);
}

/* ---- The functions of the table ---- */

/* The state is not that of a profiler: Paddle has one for each type of devices. */
static enum status profiler_initialize(struct profiler *profiler, void **data)
{
	(void)profiler;
	if (data)
		*data = NULL;
	return STATUS_SUCCESS;
}

/* Ends the trace. The caller gets its records, and frees them. */
static struct record *take_records(size_t *length, size_t *lost)
{
	struct record *taken;

	plugin_lock();
	__atomic_store_n(&profile_tracing, false, __ATOMIC_RELAXED);
	taken = records;
	*length = count;
	*lost = dropped;
	records = NULL;
	count = dropped = 0;
	plugin_unlock();
	return taken;
}

/* Events of devices that were closed have ended with them. */
static void drop_records(void)
{
	size_t length, lost;
	struct record *taken = take_records(&length, &lost);

	for (size_t i = 0; i < length; i++)
		if (taken[i].event)
			accel_event_destroy(taken[i].event);
	free(taken);
}

static enum status profiler_finalize(struct profiler *profiler, void *data)
{
	(void)profiler;
	(void)data;
	drop_records();
	return STATUS_SUCCESS;
}

static enum status profiler_prepare_tracing(struct profiler *profiler, void *data)
{
	(void)profiler;
	(void)data;
	return STATUS_SUCCESS;
}

static enum status profiler_start_tracing(struct profiler *profiler, void *data)
{
	struct record *made = calloc(MAX_RECORDS, sizeof(*made));

	(void)profiler;
	(void)data;
	if (!made)
		return plugin_status(__func__, plugin_fail(-ENOMEM, "out of memory for a trace"));
	drop_records();
	plugin_lock();
	records = made;
	started = profile_now();
	__atomic_store_n(&profile_tracing, true, __ATOMIC_RELAXED);
	plugin_unlock();
	return STATUS_SUCCESS;
}

static enum status profiler_stop_tracing(struct profiler *profiler, void *data)
{
	(void)profiler;
	(void)data;
	__atomic_store_n(&profile_tracing, false, __ATOMIC_RELAXED);
	return STATUS_SUCCESS;
}

static enum status profiler_collect_trace_data(struct profiler *profiler, uint64_t start_ns,
					       void *data)
{
	size_t length, lost;
	struct record *taken = take_records(&length, &lost);

	(void)start_ns;
	(void)data;
	read_times(taken, length);
	for (size_t i = 0; i < length; i++)
		add_events(profiler, taken, i);
	if (lost)
		plugin_say("the trace lacks the last %zu copies and fills: it has room for %d", lost,
			   MAX_RECORDS);
	free(taken);
	return STATUS_SUCCESS;
}

void profile_functions(struct profiler_interface *slots)
{
	paddle_profiler = paddle_profiler_api_find();
	if (!paddle_profiler)
		return;
	slots->initialize = profiler_initialize;
	slots->finalize = profiler_finalize;
	slots->prepare_tracing = profiler_prepare_tracing;
	slots->start_tracing = profiler_start_tracing;
	slots->stop_tracing = profiler_stop_tracing;
	slots->collect_trace_data = profiler_collect_trace_data;
}
