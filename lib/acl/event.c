/* SPDX-License-Identifier: MIT */
/*
 * Events, which are points of streams, and streams that wait for them. The values that
 * aclrtQueryEvent() and aclrtQueryEventStatus() return are opposites.
 */
#include "event.h"
#include "handle.h"
#include "state.h"
#include "stream.h"

#include <stdlib.h>

#define KNOWN_FLAGS (ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE)
#define OTHER_FLAGS (ACL_EVENT_EXTERNAL | ACL_EVENT_IPC)

/* ---- Making and ending ---- */

static aclError create(struct here *here, aclrtEvent *event, uint32_t flags, bool is_reusable)
{
	struct object object = {
		.kind = HANDLE_EVENT, .device = here->device, .flags = flags,
		.is_reusable = is_reusable
	};
	aclError err = call_failed_for(accel_event_create(here->device->dev, &object.event),
				       ACL_ERROR_RT_NO_EVENT_RESOURCE);

	if (err)
		return err;
	state_lock();
	*event = handle_make(&object);
	state_unlock();
	if (*event)
		return ACL_SUCCESS;
	accel_event_destroy(object.event);
	return call_fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "out of memory");
}

static aclError check_flags(uint32_t flag)
{
	if (flag & OTHER_FLAGS)
		return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
				 "flag is %#x: events of other processes are not supported", flag);
	if (!flag || flag & ~KNOWN_FLAGS)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %#x: some of %#x are known",
				 flag, KNOWN_FLAGS);
	return ACL_SUCCESS;
}

static aclError create_event(const char *name, aclrtEvent *event, uint32_t flag, bool is_reusable)
{
	struct here here;
	aclError err = here_enter(name, &here);

	if (event)
		*event = NULL;
	if (err)
		return err;
	err = event ? check_flags(flag) : call_null("event");
	if (!err)
		err = create(&here, event, flag, is_reusable);
	here_leave(&here);
	return err;
}

aclError aclrtCreateEvent(aclrtEvent *event)
{
	return create_event(__func__, event, KNOWN_FLAGS, false);
}

aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag)
{
	return create_event(__func__, event, flag, false);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag)
{
	return create_event(__func__, event, flag, true);
}

/* ---- From a handle to an event ---- */

/* A copy of what the handle stands for; its device stays open until event_leave(). */
static aclError event_enter(const char *name, const char *argument, aclrtEvent handle,
			    struct object *event)
{
	aclError err = call_enter(name);
	struct object *found;

	/* Also for a compiler that does not know that a failure is not 0. */
	*event = (struct object){ .device = NULL };
	if (err)
		return err;
	state_lock();
	found = handle_find(HANDLE_EVENT, handle);
	if (found && found->device->state == DEVICE_OPEN) {
		*event = *found;
		event->device->users++;
	} else {
		found = NULL;
	}
	state_unlock();
	return found ? ACL_SUCCESS : handle_fail(argument, HANDLE_EVENT, handle);
}

static void event_leave(const struct object *event)
{
	device_put(event->device);
}

/* An event and a stream, for what is queued there. */
static aclError event_on_enter(const char *name, aclrtEvent handle, aclrtStream stream,
			       struct object *event, struct on_stream *on)
{
	aclError err = event_enter(name, "event", handle, event);

	if (err)
		return err;
	err = stream_enter(name, stream, on);
	if (err)
		event_leave(event);
	return err;
}

static void event_on_leave(const struct object *event, const struct on_stream *on)
{
	stream_leave(on);
	event_leave(event);
}

aclError aclrtDestroyEvent(aclrtEvent event)
{
	struct object *found, object;
	aclError err = event_enter(__func__, "event", event, &object);

	if (err)
		return err;
	state_lock();
	found = handle_find(HANDLE_EVENT, event);
	if (found)
		handle_drop(found);
	state_unlock();
	/* Otherwise another thread has done it. */
	if (found)
		object_put(found);
	event_leave(&object);
	return ACL_SUCCESS;
}

/* ---- Recording ---- */

static void set_recorded(aclrtEvent handle, bool is_recorded)
{
	struct object *event;

	state_lock();
	event = handle_find(HANDLE_EVENT, handle);
	if (event)
		event->is_recorded = is_recorded;
	state_unlock();
}

static aclError record(const struct on_stream *on, aclrtEvent handle, const struct object *event)
{
	aclError err;

	if (event->device != on->here.device)
		return call_fail(ACL_ERROR_RESOURCE_NOT_MATCH,
				 "event %p is of device %d, and the stream of device %d", handle,
				 event->device->id, on->here.device->id);
	err = call_failed_for(accel_event_record(event->event, on->stream),
			      ACL_ERROR_RT_NO_EVENT_RESOURCE);
	if (!err)
		set_recorded(handle, true);
	return err;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream)
{
	struct on_stream on;
	struct object object;
	aclError err = event_on_enter(__func__, event, stream, &object, &on);

	if (err)
		return err;
	err = record(&on, event, &object);
	event_on_leave(&object, &on);
	return err;
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream)
{
	struct on_stream on;
	struct object object;
	aclError err = event_on_enter(__func__, event, stream, &object, &on);

	if (err)
		return err;
	if (object.is_reusable) {
		err = call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
				"event %p is of aclrtCreateEventExWithFlag(): it is recorded "
				"again without a reset", event);
	} else {
		err = stream_told(on.stream, accel_stream_synchronize(on.stream));
		set_recorded(event, false);
	}
	event_on_leave(&object, &on);
	return err;
}

/* ---- Questions ---- */

/* unrecorded: the answer for an event that is not recorded, unless it may be reused. */
static aclError event_ask(const char *name, aclrtEvent handle, const void *status, int unrecorded,
			  bool *happened)
{
	struct object event;
	aclError err = event_enter(name, "event", handle, &event);
	int answer;

	if (err)
		return err;
	if (event.is_recorded)
		answer = accel_event_query(event.event);
	else
		answer = event.is_reusable ? 0 : unrecorded;
	if (!status)
		err = call_null("status");
	else if (answer && answer != -EINPROGRESS)
		err = call_failed(answer);
	*happened = !answer;
	event_leave(&event);
	return err;
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status)
{
	bool happened = false;
	aclError err = event_ask(__func__, event, status, 0, &happened);

	if (!err)
		*status = happened ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
	return err;
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status)
{
	bool happened = false;
	aclError err = event_ask(__func__, event, status, -EINPROGRESS, &happened);

	if (!err)
		*status = happened ? ACL_EVENT_RECORDED_STATUS_COMPLETE :
				     ACL_EVENT_RECORDED_STATUS_NOT_READY;
	return err;
}

/* ---- Waiting, and times ---- */

static aclError synchronize(const char *name, aclrtEvent handle, int32_t timeout)
{
	struct object event;
	aclError code = event_enter(name, "event", handle, &event);
	int err = 0;

	if (code)
		return code;
	if (timeout < -1)
		code = call_fail(ACL_ERROR_RT_PARAM_INVALID,
				 "timeout is %d: -1 for ever, or milliseconds", timeout);
	else if (event.is_recorded)
		err = accel_event_synchronize_until(event.event, deadline_after(timeout));
	if (err == -ETIME)
		code = call_fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "timeout: the event has not "
				 "happened by then");
	else if (err)
		code = call_failed(err);
	event_leave(&event);
	return code;
}

aclError aclrtSynchronizeEvent(aclrtEvent event)
{
	return synchronize(__func__, event, -1);
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout)
{
	return synchronize(__func__, event, timeout);
}

static aclError check_time(const char *argument, const struct object *event)
{
	int err;

	if (!(event->flags & ACL_EVENT_TIME_LINE))
		return call_fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
				 "%s was made without ACL_EVENT_TIME_LINE", argument);
	if (!event->is_recorded)
		return call_fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "%s is not recorded",
				 argument);
	err = accel_event_query(event->event);
	if (err == -EINPROGRESS)
		return call_fail(ACL_ERROR_RT_EVENT_NOT_COMPLETE,
				 "%s has not happened: aclrtSynchronizeEvent() waits for it",
				 argument);
	if (err && !err_is_lost(err))
		return call_fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
				 "%s: the work before it has failed: %s", argument,
				 accel_strerror(err));
	return call_failed(err);
}

static aclError elapsed(float *ms, const struct object *start, const struct object *end)
{
	aclError err = check_time("startEvent", start);
	int64_t ns = 0;

	if (!err)
		err = check_time("endEvent", end);
	if (!err)
		err = call_failed(accel_event_elapsed_time(start->event, end->event, &ns));
	if (!err && ns < 0)
		err = call_fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL,
				"endEvent happened %g ms before startEvent", (double)-ns / 1e6);
	if (!err)
		*ms = (float)((double)ns / 1e6);
	return err;
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent)
{
	struct object start, end;
	aclError err = event_enter(__func__, "startEvent", startEvent, &start);

	if (err)
		return err;
	err = event_enter(__func__, "endEvent", endEvent, &end);
	if (!err) {
		err = ms ? elapsed(ms, &start, &end) : call_null("ms");
		event_leave(&end);
	}
	event_leave(&start);
	return err;
}

/* ---- Streams that wait ---- */

/* A stream has come past its wait for an event when `passed` has happened. */
struct wait {
	struct wait *next;
	aclrtEvent event; /* it may have ended */
	struct accel_event *passed;
};

void waits_forget(struct wait *waits)
{
	struct wait *next;

	for (; waits; waits = next) {
		next = waits->next;
		free(waits);
	}
}

void waits_end(struct wait *waits)
{
	for (const struct wait *wait = waits; wait; wait = wait->next)
		accel_event_destroy(wait->passed);
	waits_forget(waits);
}

/* Under the lock. */
static bool is_under_way(const struct wait *wait)
{
	return accel_event_query(wait->passed) == -EINPROGRESS;
}

/* Takes those that the stream has come past out of its list: they are the first ones. */
static struct wait *waits_take_passed(const struct on_stream *on)
{
	struct wait *passed = NULL, **end = &passed;
	struct object *object;

	state_lock();
	object = stream_object(on);
	while (object && object->waits && !is_under_way(object->waits)) {
		*end = object->waits;
		end = &(*end)->next;
		object->waits = *end;
		*end = NULL;
	}
	if (object && !object->waits)
		object->last_wait = &object->waits;
	state_unlock();
	return passed;
}

static aclError wait_new(const struct on_stream *on, struct wait **made)
{
	struct wait *wait = calloc(1, sizeof(*wait));
	aclError err;

	if (!wait)
		return call_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "out of memory");
	err = call_failed_for(accel_event_create(on->here.device->dev, &wait->passed),
			      ACL_ERROR_RT_NO_EVENT_RESOURCE);
	if (err)
		free(wait);
	else
		*made = wait;
	return err;
}

/* One that the stream has come past, again, or a new one. */
static aclError wait_get(const struct on_stream *on, struct wait **got)
{
	struct wait *wait = waits_take_passed(on);

	if (!wait)
		return wait_new(on, got);
	waits_end(wait->next);
	wait->next = NULL;
	*got = wait;
	return ACL_SUCCESS;
}

static void wait_keep(const struct on_stream *on, struct wait *wait)
{
	struct object *object;

	state_lock();
	object = stream_object(on);
	if (object) {
		*object->last_wait = wait;
		object->last_wait = &wait->next;
	}
	state_unlock();
	/* Another thread has ended the stream. */
	if (!object)
		waits_end(wait);
}

/* With one system call. */
static int wait_queue(const struct on_stream *on, struct accel_event *event,
		      struct accel_event *passed)
{
	struct accel_batch *batch;
	int err = accel_batch_create(on->here.device->dev, &batch);

	if (err)
		return err;
	err = accel_batch_wait_event(batch, event);
	if (!err)
		err = accel_batch_record_event(batch, passed);
	if (!err)
		err = accel_batch_submit(batch, on->stream, NULL);
	accel_batch_destroy(batch);
	return err;
}

/* A batch waits for events of its own device only. If the second call fails the stream waits. */
static int wait_queue_apart(const struct on_stream *on, struct accel_event *event,
			    struct accel_event *passed)
{
	int err = accel_stream_wait_event(on->stream, event);

	return err ? err : accel_event_record(passed, on->stream);
}

static aclError wait_for(const struct on_stream *on, const struct object *event)
{
	struct wait *wait = NULL;
	aclError code;
	int err;

	if (!accel_event_query(event->event))
		return ACL_SUCCESS;
	code = wait_get(on, &wait);
	if (code)
		return code;
	wait->event = event->handle;
	if (event->device == on->here.device)
		err = wait_queue(on, event->event, wait->passed);
	else
		err = wait_queue_apart(on, event->event, wait->passed);
	code = call_failed_for(err, ACL_ERROR_RT_NO_EVENT_RESOURCE);
	if (err)
		waits_end(wait);
	else
		wait_keep(on, wait);
	return code;
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event)
{
	struct on_stream on;
	struct object object;
	aclError err = event_on_enter(__func__, event, stream, &object, &on);

	if (err)
		return err;
	/* One that is not recorded has happened. */
	if (object.is_recorded)
		err = wait_for(&on, &object);
	event_on_leave(&object, &on);
	return err;
}

/* Under the lock. */
static bool some_wait(aclrtEvent event)
{
	const struct wait *wait = NULL;
	const struct object *object;
	size_t at = 0;

	while (!wait && (object = object_next(HANDLE_WITH_STREAM, NULL, NULL, &at))) {
		wait = object->waits;
		while (wait && (wait->event != event || !is_under_way(wait)))
			wait = wait->next;
	}
	return wait;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status)
{
	struct object object;
	aclError err = event_enter(__func__, "event", event, &object);
	bool waits;

	if (err)
		return err;
	state_lock();
	waits = some_wait(event);
	state_unlock();
	if (!status)
		err = call_null("status");
	else
		*status = waits ? ACL_EVENT_WAIT_STATUS_NOT_READY : ACL_EVENT_WAIT_STATUS_COMPLETE;
	event_leave(&object);
	return err;
}
