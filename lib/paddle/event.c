/* SPDX-License-Identifier: MIT */
/*
 * Events. Paddle makes and records them where it frees memory that several streams have used, in
 * destructors, and a failure there ends the process. So neither fails for what the device or the
 * stream has come to: what is to be told is told by the next synchronize.
 */
#include "private.h"

/* Every event that was made on a device that is lost: nothing is still to come there. */
static char lost;
#define LOST_EVENT ((struct accel_event *)&lost)

/* A child has lost the devices of its parent, which is no news. */
static int let_pass(const char *call, int err)
{
	if (!plugin_is_lost(err))
		return err;
	if (!plugin_in_child())
		plugin_complain(call, err);
	return 0;
}

static int say_lost(const struct device *device)
{
	return plugin_fail(-ENODEV, "the event was made when accel:%d was removed or reset",
			   device->id);
}

static int event_find(event_t handle, struct accel_event **event)
{
	*event = handle_get(HANDLE_EVENT, handle);
	if (*event)
		return 0;
	return plugin_fail(-EINVAL, "event %p is not live: it was destroyed, or is none",
			   (void *)handle);
}

static int create(struct device *device, event_t *handle)
{
	struct accel_event *event;
	int err;

	if (!handle)
		return plugin_fail(-EINVAL, "event is NULL: it has to go somewhere");
	*handle = NULL;
	err = let_pass("create_event", accel_event_create(device->dev, &event));
	if (err)
		return err;
	event = event ? event : LOST_EVENT;
	*handle = handle_make(HANDLE_EVENT, device, event);
	if (*handle)
		return 0;
	if (event != LOST_EVENT)
		accel_event_destroy(event);
	return plugin_fail(-ENOMEM, "out of memory");
}

static enum status create_event(struct place *place, event_t *event)
{
	struct device *device = plugin_enter(__func__, place);
	int err;

	if (!device)
		return STATUS_ERROR;
	err = create(device, event);
	return plugin_done(__func__, device, err, "%p", event ? (void *)*event : NULL);
}

/* Success whatever it is: Paddle calls it where nothing may fail. */
static enum status destroy_event(struct place *place, event_t handle)
{
	struct device *device = plugin_enter(__func__, place);
	struct accel_event *event;
	int err;

	if (!device)
		return STATUS_SUCCESS;
	event = handle_take(HANDLE_EVENT, handle);
	err = event && event != LOST_EVENT ? accel_event_destroy(event) : 0;
	if (!event && handle)
		err = plugin_fail(-EINVAL, "event %p is not live", (void *)handle);
	plugin_done(__func__, device, err, "%p", (void *)handle);
	return STATUS_SUCCESS;
}

/* An event that is recorded on no stream has to forget the one before: it is on an empty one. */
static int null_stream(struct device *device, struct accel_stream **stream)
{
	struct accel_stream *made, *none = NULL;
	int err;

	*stream = __atomic_load_n(&device->null_stream, __ATOMIC_ACQUIRE);
	if (*stream)
		return 0;
	err = accel_stream_create(device->dev, &made);
	if (err)
		return err;
	if (__atomic_compare_exchange_n(&device->null_stream, &none, made, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE)) {
		*stream = made;
		return 0;
	}
	*stream = none;
	return accel_stream_destroy(made);
}

/* An event that has no room for its time is waited for: then it has happened, as it says. */
static int settle(struct device *device, struct accel_stream *stream)
{
	int err = accel_stream_synchronize(stream);

	if (!err || plugin_is_lost(err))
		return err;
	device_fail(device, "record_event", stream_told(stream, err));
	return 0;
}

static int record(struct device *device, struct accel_stream *stream, struct accel_event *event)
{
	int err = event == LOST_EVENT ? 0 : accel_event_record(event, stream);

	if (err == -ECANCELED) {
		device_fail(device, "record_event", stream_told(stream, err));
		err = accel_event_record(event, stream);
	}
	if (err == -ENOMEM || err == -ENOSPC)
		err = settle(device, stream);
	return err;
}

static enum status record_event(struct place *place, stream_t stream_handle, event_t handle)
{
	struct device *device = plugin_enter(__func__, place);
	struct accel_stream *stream;
	struct accel_event *event;
	int err;

	if (!device)
		return STATUS_ERROR;
	err = event_find(handle, &event) ?: stream_find(stream_handle, &stream);
	if (!err && !stream)
		err = null_stream(device, &stream);
	if (!err)
		err = record(device, stream, event);
	err = let_pass(__func__, err);
	return plugin_done(__func__, device, err, "%p, %p", (void *)stream_handle, (void *)handle);
}

/* As query_stream: what failed is not still to come. */
static enum status query_event(struct place *place, event_t handle)
{
	struct device *device = plugin_enter(__func__, place);
	struct accel_event *event;
	int err;

	if (!device)
		return STATUS_ERROR;
	err = event_find(handle, &event);
	if (!err && event != LOST_EVENT && accel_event_query(event) == -EINPROGRESS)
		err = -EINPROGRESS;
	return plugin_done(__func__, device, err, "%p", (void *)handle);
}

static enum status synchronize_event(struct place *place, event_t handle)
{
	struct device *device = plugin_enter(__func__, place);
	struct accel_event *event;
	int err;

	if (!device)
		return STATUS_ERROR;
	err = event_find(handle, &event);
	if (!err)
		err = event == LOST_EVENT ? say_lost(device) : accel_event_synchronize(event);
	return plugin_done(__func__, device, err, "%p", (void *)handle);
}

/* Behind the NULL stream is the caller: it waits itself. */
static int wait_for(struct device *device, struct accel_stream *stream, struct accel_event *event)
{
	if (event == LOST_EVENT)
		return say_lost(device);
	if (!stream)
		return accel_event_synchronize(event);
	return stream_told(stream, accel_stream_wait_event(stream, event));
}

static enum status stream_wait_event(struct place *place, stream_t stream_handle, event_t handle)
{
	struct device *device = plugin_enter(__func__, place);
	struct accel_stream *stream;
	struct accel_event *event;
	int err;

	if (!device)
		return STATUS_ERROR;
	err = event_find(handle, &event) ?: stream_find(stream_handle, &stream);
	if (!err)
		err = wait_for(device, stream, event);
	return plugin_done(__func__, device, err, "%p, %p", (void *)stream_handle, (void *)handle);
}

void event_functions(struct interface *table)
{
	table->create_event = create_event;
	table->destroy_event = destroy_event;
	table->record_event = record_event;
	table->query_event = query_event;
	table->synchronize_event = synchronize_event;
	table->stream_wait_event = stream_wait_event;
}
