/* SPDX-License-Identifier: MIT */
/*
 * Streams that wait for events, and whether one still does.
 */
#include "private.h"

#include <stdlib.h>

/* So many that are told to wait for an event are kept before those that have come past it go. */
#define WAITS_KEPT 32

/* A stream that was told to wait has come past it when another event has happened. */
struct wait {
	/* Of the stream; NULL while the device is being closed, which ends `passed` too. */
	struct device *device;
	struct accel_event *passed;
	struct wait *next;
};

static pthread_cond_t looked = PTHREAD_COND_INITIALIZER; /* at the waits of an event */

/* Who looked stayed with the parent. */
void waits_in_child(void)
{
	looked = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

struct wait *waits_use(struct wait *waits)
{
	for (struct wait *wait = waits; wait; wait = wait->next) {
		if (wait->device->state == DEVICE_OPEN)
			wait->device->users++;
		else
			wait->device = NULL;
	}
	return waits;
}

static void wait_end(struct wait *wait)
{
	if (wait->device) {
		accel_event_destroy(wait->passed);
		device_put(wait->device);
	}
	free(wait);
}

void waits_end(struct wait *waits)
{
	while (waits) {
		struct wait *next = waits->next;

		wait_end(waits);
		waits = next;
	}
}

struct wait *waits_take_of(struct device *device)
{
	struct wait *taken = NULL;
	size_t at = 0;
	void *handle;

	while ((handle = handle_next(HANDLE_EVENT, NULL, NULL, &at))) {
		struct wait **link = &handle_find(HANDLE_EVENT, handle)->waits;

		while (*link) {
			struct wait *wait = *link;

			if (wait->device != device) {
				link = &wait->next;
				continue;
			}
			*link = wait->next;
			wait->next = taken;
			taken = wait;
			device->users++;
		}
	}
	return taken;
}

/* ---- Queueing ---- */

/* One whose device is in use by the caller. */
static void keep_wait(aclrtEvent handle, struct wait *wait)
{
	struct device *device = wait->device;
	struct object *event;

	state_lock();
	event = handle_find(HANDLE_EVENT, handle);
	if (event) {
		wait->next = event->waits;
		event->waits = wait;
	}
	state_unlock();
	if (event) {
		device_put(device);
		return;
	}
	/* Another thread has ended the event: nobody can ask any more. */
	wait_end(wait);
}

/* With one system call, so that there is no wait without its mark. */
static int queue_marked(const struct on_stream *on, struct accel_event *event,
			struct accel_event *mark)
{
	struct accel_batch *batch;
	int err = accel_batch_create(on->here.device->dev, &batch);

	if (err)
		return err;
	err = accel_batch_wait_event(batch, event);
	if (!err)
		err = accel_batch_record_event(batch, mark);
	if (!err)
		err = accel_batch_submit(batch, on->stream, NULL);
	accel_batch_destroy(batch);
	return err;
}

/* A batch waits for events of its own device only. */
static int queue_apart(const struct on_stream *on, struct accel_event *event,
		       struct accel_event *mark)
{
	int err = accel_stream_wait_event(on->stream, event);

	return err ? err : accel_event_record(mark, on->stream);
}

static aclError wait_for(const struct on_stream *on, aclrtEvent handle, const struct object *event)
{
	struct wait *wait = calloc(1, sizeof(*wait));
	aclError code;
	int err;

	if (!wait)
		return call_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "out of memory");
	err = accel_event_create(on->here.device->dev, &wait->passed);
	if (!err && event->device == on->here.device)
		err = queue_marked(on, event->event, wait->passed);
	else if (!err)
		err = queue_apart(on, event->event, wait->passed);
	if (!err) {
		wait->device = device_use(on->here.device);
		keep_wait(handle, wait);
		return ACL_SUCCESS;
	}
	code = call_failed_for(err, ACL_ERROR_RT_NO_EVENT_RESOURCE);
	if (wait->passed)
		accel_event_destroy(wait->passed);
	free(wait);
	return code;
}

/* ---- Who still waits ---- */

/* What a thread has taken out of the event no other sees: who asks, too, waits until it is back. */
static struct wait *waits_take(aclrtEvent handle)
{
	struct wait *waits = NULL;
	struct object *event;

	state_lock();
	while ((event = handle_find(HANDLE_EVENT, handle)) && event->is_looked_at)
		state_wait(&looked);
	if (event) {
		waits = waits_use(event->waits);
		event->waits = NULL;
		event->is_looked_at = true;
	}
	state_unlock();
	return waits;
}

static void looking_ends(aclrtEvent handle)
{
	struct object *event;

	state_lock();
	event = handle_find(HANDLE_EVENT, handle);
	if (event)
		event->is_looked_at = false;
	pthread_cond_broadcast(&looked);
	state_unlock();
}

static bool still_waits(aclrtEvent handle)
{
	struct wait *wait = waits_take(handle);
	bool waits = false;

	while (wait) {
		struct wait *next = wait->next;

		if (wait->device && accel_event_query(wait->passed) == -EINPROGRESS) {
			waits = true;
			keep_wait(handle, wait);
		} else {
			wait_end(wait);
		}
		wait = next;
	}
	looking_ends(handle);
	return waits;
}

/* Who waits for an event again and again never needs to ask. */
static bool is_time_to_look(aclrtEvent handle)
{
	struct object *event;
	bool is_time;

	state_lock();
	event = handle_find(HANDLE_EVENT, handle);
	is_time = event && ++event->waited % WAITS_KEPT == 0;
	state_unlock();
	return is_time;
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
		err = wait_for(&on, event, &object);
	if (is_time_to_look(event))
		still_waits(event);
	event_on_leave(&object, &on);
	return err;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status)
{
	struct object object;
	aclError err = event_enter(__func__, "event", event, &object);

	if (err)
		return err;
	if (!status)
		err = call_null("status");
	else
		*status = still_waits(event) ? ACL_EVENT_WAIT_STATUS_NOT_READY :
					       ACL_EVENT_WAIT_STATUS_COMPLETE;
	event_leave(&object);
	return err;
}
