/* SPDX-License-Identifier: MIT */
/*
 * Events. Paddle makes and records them where it frees memory that several streams have used, in
 * destructors, and a failure there ends the process. So neither fails for what the device or the
 * stream has come to: what is to be told is told by the next synchronize.
 */
#include "private.h"

/* Every event that was made on a device that is lost: nothing is still to come there. */
static _Alignas(16) char lost; /* no handle is aligned so */
#define LOST_EVENT ((event_t)&lost)

/* A child has lost the devices of its parent, which is no news. */
static int let_pass(const char *call, int err)
{
	if (!plugin_is_lost(err))
		return err;
	if (!plugin_in_child())
		plugin_complain(call, err);
	return 0;
}

/* In a child there is nothing to wait for. */
static int say_lost(const struct device *device)
{
	if (plugin_in_child())
		return 0;
	return plugin_fail(-ENODEV, "the event was made when accel:%d was removed or reset",
			   device->id);
}

static int create(struct device *device, event_t *event)
{
	int err;

	if (!event)
		return plugin_fail(-EINVAL, "event is NULL: it has to go somewhere");
	err = let_pass("create_event", accel_event_create(device->dev, event));
	if (!err && !*event)
		*event = LOST_EVENT;
	return err;
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
static enum status destroy_event(struct place *place, event_t event)
{
	struct device *device = plugin_enter(__func__, place);
	int err;

	if (!device)
		return STATUS_SUCCESS;
	err = event && event != LOST_EVENT ? plugin_waited(accel_event_destroy(event)) : 0;
	plugin_done(__func__, device, err, "%p", (void *)event);
	return STATUS_SUCCESS;
}

/* An event that is recorded on no stream has to forget the one before: it is on an empty one. */
static int null_stream(struct device *device, stream_t *stream)
{
	stream_t made, none = NULL;
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
static int settle(struct device *device, stream_t stream)
{
	int err = accel_stream_synchronize(stream);

	if (!err || plugin_is_lost(err))
		return err;
	device_fail(device, "record_event", stream_told(stream, err));
	return 0;
}

static int record(struct device *device, stream_t stream, event_t event)
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

static enum status record_event(struct place *place, stream_t stream, event_t event)
{
	struct device *device = plugin_enter(__func__, place);
	stream_t on = stream;
	int err;

	if (!device)
		return STATUS_ERROR;
	err = stream ? 0 : null_stream(device, &on);
	if (!err)
		err = record(device, on, event);
	err = let_pass(__func__, err);
	return plugin_done(__func__, device, err, "%p, %p", (void *)stream, (void *)event);
}

/* As query_stream: what failed is not still to come. */
static enum status query_event(struct place *place, event_t event)
{
	struct device *device = plugin_enter(__func__, place);
	int err;

	if (!device)
		return STATUS_ERROR;
	err = event == LOST_EVENT ? 0 : still_to_come(accel_event_query(event));
	return plugin_done(__func__, device, err, "%p", (void *)event);
}

static enum status synchronize_event(struct place *place, event_t event)
{
	struct device *device = plugin_enter(__func__, place);
	int err;

	if (!device)
		return STATUS_ERROR;
	err = event == LOST_EVENT ? say_lost(device) : accel_event_synchronize(event);
	return plugin_done(__func__, device, plugin_waited(err), "%p", (void *)event);
}

/* Behind the NULL stream is the caller: it waits itself. */
static int wait_for(const struct device *device, stream_t stream, event_t event)
{
	if (event == LOST_EVENT)
		return say_lost(device);
	if (!stream)
		return accel_event_synchronize(event);
	return stream_told(stream, accel_stream_wait_event(stream, event));
}

static enum status stream_wait_event(struct place *place, stream_t stream, event_t event)
{
	struct device *device = plugin_enter(__func__, place);
	int err;

	if (!device)
		return STATUS_ERROR;
	err = plugin_waited(wait_for(device, stream, event));
	return plugin_done(__func__, device, err, "%p, %p", (void *)stream, (void *)event);
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
