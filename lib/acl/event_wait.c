/* SPDX-License-Identifier: MIT */
/*
 * Streams that wait for events, and whether one still does.
 */
#include "private.h"

#include <stdlib.h>

/* A stream that was told to wait has come past it when another event has happened. */
struct wait {
	struct card *card; /* of the stream; NULL: it is closed, and the other event with it */
	struct accel_event *passed;
	struct wait *next;
};

struct wait *waits_use(struct wait *waits)
{
	for (struct wait *wait = waits; wait; wait = wait->next) {
		if (wait->card->state == CARD_OPEN)
			wait->card->users++;
		else
			wait->card = NULL;
	}
	return waits;
}

static void wait_end(struct wait *wait)
{
	if (wait->card) {
		accel_event_destroy(wait->passed);
		card_put(wait->card);
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

/* Those in events of other cards, too. */
void waits_forget(const struct card *card)
{
	size_t at = 0;
	void *handle;

	while ((handle = handle_next(HANDLE_EVENT, NULL, NULL, &at))) {
		struct wait **link = &handle_find(HANDLE_EVENT, handle)->waits;

		while (*link) {
			struct wait *wait = *link;

			if (wait->card != card && wait->card->state != CARD_CLOSED) {
				link = &wait->next;
				continue;
			}
			*link = wait->next;
			free(wait);
		}
	}
}

/* ---- Queueing ---- */

/* One whose card is in use by the caller. */
static void keep_wait(aclrtEvent handle, struct wait *wait)
{
	struct card *card = wait->card;
	struct object *event;

	state_lock();
	event = handle_find(HANDLE_EVENT, handle);
	if (event) {
		wait->next = event->waits;
		event->waits = wait;
	}
	state_unlock();
	if (event) {
		card_put(card);
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
	int err = accel_batch_create(on->here.card->dev, &batch);

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

/* A batch waits for events of its own card only. */
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
	err = accel_event_create(on->here.card->dev, &wait->passed);
	if (!err && event->card == on->here.card)
		err = queue_marked(on, event->event, wait->passed);
	else if (!err)
		err = queue_apart(on, event->event, wait->passed);
	if (!err) {
		wait->card = card_use(on->here.card);
		keep_wait(handle, wait);
		return ACL_SUCCESS;
	}
	code = call_failed_for(err, ACL_ERROR_RT_NO_EVENT_RESOURCE);
	if (wait->passed)
		accel_event_destroy(wait->passed);
	free(wait);
	return code;
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event)
{
	struct on_stream on;
	struct object object;
	aclError err = event_enter(__func__, "event", event, &object);

	if (err)
		return err;
	err = stream_enter(__func__, stream, &on);
	if (!err) {
		/* One that is not recorded has happened. */
		if (object.is_recorded)
			err = wait_for(&on, event, &object);
		stream_leave(&on);
	}
	event_leave(&object);
	return err;
}

/* ---- The question ---- */

/* What a thread has taken out of the event no other sees; it puts back what is still to come. */
static struct wait *waits_take(aclrtEvent handle)
{
	struct object *event;
	struct wait *waits;

	state_lock();
	event = handle_find(HANDLE_EVENT, handle);
	waits = event ? waits_use(event->waits) : NULL;
	if (event)
		event->waits = NULL;
	state_unlock();
	return waits;
}

static bool still_waits(aclrtEvent handle)
{
	struct wait *wait = waits_take(handle);
	bool waits = false;

	while (wait) {
		struct wait *next = wait->next;

		if (wait->card && accel_event_query(wait->passed) == -EINPROGRESS) {
			waits = true;
			keep_wait(handle, wait);
		} else {
			wait_end(wait);
		}
		wait = next;
	}
	return waits;
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
