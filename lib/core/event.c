/* SPDX-License-Identifier: MIT */
/*
 * Events: a point of a stream, and the time at which the stream came there. The driver knows none.
 */
#include "api.h"
#include "device.h"
#include "error.h"
#include "event.h"
#include "stamp.h"
#include "stream.h"

#include <linux/paccel.h>
#include <stdlib.h>
#include <unistd.h>

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define STORE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELEASE)

int event_get(const struct accel_event *handle, struct event **event)
{
	*event = handle_get(HANDLE_EVENT, handle);
	if (!*event)
		return handle_error(HANDLE_EVENT, handle);
	return device_usable((*event)->dev);
}

static int event_error(const struct event *event, int err)
{
	const char *name = event->dev->name;

	switch (err) {
	case -ENODEV:
	case -ESTALE:
	case -EPERM:
		return general_error(event->dev, err);
	case -ETIME:
		return fail(err, "%s: the event has not happened by the deadline", name);
	default:
		return fail(err, "%s: work before the event failed: %s", name, accel_strerror(err));
	}
}

/* ---- Create and destroy ---- */

/* Under the device's lock. */
static struct event *event_allocate(struct device *dev)
{
	struct event *event;

	if (dev->unused_events)
		return dev->unused_events;
	event = calloc(1, sizeof(*event));
	if (!event)
		return NULL;
	event->dev = dev;
	event->next = dev->events;
	return dev->events = dev->unused_events = event;
}

/* Under the device's lock. */
static struct accel_event *event_make(struct device *dev)
{
	struct event *event = event_allocate(dev);

	if (!event)
		return NULL;
	STORE(event->ticket, 0);
	event->handle = handle_create(HANDLE_EVENT, event);
	if (event->handle)
		dev->unused_events = event->next_unused;
	return event->handle;
}

int accel_event_create(struct accel_device *handle, struct accel_event **event)
{
	KEEP_ERRNO;
	struct device *dev;
	int err;

	if (!event)
		return fail(-EINVAL, "event is NULL: the handle has to go somewhere");
	*event = NULL;
	err = device_get(handle, &dev) ?: device_alive(dev);
	if (err)
		return err;
	pthread_mutex_lock(&dev->lock);
	*event = event_make(dev);
	pthread_mutex_unlock(&dev->lock);
	return *event ? 0 : fail(-ENOMEM, "out of memory");
}

/* The driver may still write the time: the stamp stays its until then. */
int accel_event_destroy(struct accel_event *handle)
{
	KEEP_ERRNO;
	struct event *event;
	struct device *dev;
	int err = event_get(handle, &event);

	if (err)
		return err;
	/* Another thread may be faster. */
	if (!handle_end(HANDLE_EVENT, handle))
		return handle_error(HANDLE_EVENT, handle);
	dev = event->dev;
	pthread_mutex_lock(&dev->lock);
	event->handle = NULL;
	if (event->stamp)
		stamp_retire(dev, event->stamp, event->ticket);
	event->stamp = NULL;
	event->next_unused = dev->unused_events;
	dev->unused_events = event;
	pthread_mutex_unlock(&dev->lock);
	return 0;
}

void events_end_handles(struct device *dev)
{
	for (const struct event *event = dev->events; event; event = event->next)
		handle_end(HANDLE_EVENT, event->handle);
}

void events_free(struct device *dev)
{
	struct event *event;

	while ((event = dev->events)) {
		dev->events = event->next;
		free(event);
	}
}

/* ---- Record ---- */

int event_prepare(struct event *event, struct paccel_op *op, struct stamp **stamp)
{
	int err = stamp_take(event->dev, stamp);

	if (err)
		return err;
	op_init(op, PACCEL_OP_TIME);
	op->write.addr = (uintptr_t)(*stamp)->at;
	return 0;
}

/* An event that is recorded again while the first time is not written keeps the two apart. */
void event_publish(struct event *event, const struct accel_event *handle, struct stamp *stamp,
		   uint64_t ticket)
{
	struct device *dev = event->dev;

	pthread_mutex_lock(&dev->lock);
	if (event->handle == handle) {
		if (event->stamp)
			stamp_retire(dev, event->stamp, event->ticket);
		event->stamp = stamp;
		STORE(event->ticket, ticket);
	} else {
		stamp_retire(dev, stamp, ticket);
	}
	pthread_mutex_unlock(&dev->lock);
}

void event_abandon(struct event *event, struct stamp *stamp)
{
	pthread_mutex_lock(&event->dev->lock);
	stamp_retire(event->dev, stamp, 0);
	pthread_mutex_unlock(&event->dev->lock);
}

int accel_event_record(struct accel_event *event_handle, struct accel_stream *stream_handle)
{
	KEEP_ERRNO;
	struct event *event;
	struct stream *stream;
	struct submitted done;
	struct stamp *stamp;
	struct paccel_op op;
	int err = event_get(event_handle, &event);

	if (!err)
		err = stream_get_of(stream_handle, event->dev, &stream);
	if (!err)
		err = event_prepare(event, &op, &stamp);
	if (err)
		return err;
	err = stream_submit(stream, &op, 1, &done);
	if (err) {
		event_abandon(event, stamp);
		return submit_error(stream, err);
	}
	event_publish(event, event_handle, stamp, done.ticket);
	return 0;
}

/* ---- Query and wait ---- */

/* *ticket: of the last record; 0 if there is none, and nothing to wait for. */
static int event_status(const struct event *event, uint64_t *ticket)
{
	*ticket = LOAD(event->ticket);
	return *ticket ? ticket_status(event->dev, *ticket) : 0;
}

int accel_event_query(struct accel_event *handle)
{
	struct event *event;
	int err = event_get(handle, &event);
	uint64_t ticket;

	if (err)
		return err;
	err = event_status(event, &ticket);
	return err && err != -EINPROGRESS ? event_error(event, err) : err;
}

int accel_event_synchronize_until(struct accel_event *handle, uint64_t deadline)
{
	KEEP_ERRNO;
	struct event *event;
	int err = event_get(handle, &event);
	uint64_t ticket;

	if (err)
		return err;
	err = event_status(event, &ticket);
	if (err == -EINPROGRESS)
		err = ticket_wait(event->dev, ticket, deadline);
	return err ? event_error(event, err) : 0;
}

int accel_event_synchronize(struct accel_event *event)
{
	return accel_event_synchronize_until(event, NEVER);
}

/* The library destroys a stream when it has drained: what came of a point that the driver lost. */
static int gone(const struct event *event, uint64_t ticket)
{
	int err = ticket_status(event->dev, ticket);

	return err ? event_error(event, err) : 0;
}

/* Devices share neither points nor streams, but fences. */
static int wait_for_other_device(struct stream *stream, const struct event *event,
				 uint64_t ticket)
{
	struct paccel_fence_export cmd = { .size = sizeof(cmd),
					   .stream = ticket_stream(ticket),
					   .point = ticket_point(ticket) };
	struct submitted done;
	struct paccel_op op;
	int err = device_ioctl(event->dev, PACCEL_IOC_FENCE_EXPORT, &cmd);

	if (err)
		return err == -ENOENT ? gone(event, ticket) : general_error(event->dev, err);
	op_init(&op, PACCEL_OP_WAIT_FENCE);
	op.fd.fd = cmd.fd;
	err = stream_submit(stream, &op, 1, &done);
	close(cmd.fd);
	return err ? submit_error(stream, err) : 0;
}

static int wait_for_point(struct stream *stream, const struct event *event,
			  uint64_t ticket)
{
	struct submitted done;
	struct paccel_op op;
	int err;

	op_init(&op, PACCEL_OP_WAIT_POINT);
	op.wait.stream = ticket_stream(ticket);
	op.wait.point = ticket_point(ticket);
	err = stream_submit(stream, &op, 1, &done);
	if (err == -ENOENT && !done.bad)
		return gone(event, ticket);
	return err ? submit_error(stream, err) : 0;
}

int accel_stream_wait_event(struct accel_stream *stream_handle, struct accel_event *event_handle)
{
	KEEP_ERRNO;
	struct stream *stream;
	struct event *event;
	int err = stream_get(stream_handle, &stream) ?: event_get(event_handle, &event);
	uint64_t ticket;

	if (err)
		return err;
	ticket = LOAD(event->ticket);
	if (ticket_passed(event->dev, ticket))
		return 0;
	return event->dev == stream->dev ? wait_for_point(stream, event, ticket)
					 : wait_for_other_device(stream, event, ticket);
}

/* ---- Time ---- */

/* The time of an event that has happened. */
static int time_of(struct event *event, const char *name, int64_t *ns)
{
	struct device *dev = event->dev;
	int err;

	pthread_mutex_lock(&dev->lock);
	err = event->stamp ? ticket_status(dev, event->ticket) : -EINVAL;
	if (!err)
		*ns = (int64_t)LOAD(*event->stamp->at);
	pthread_mutex_unlock(&dev->lock);
	if (err == -EINVAL)
		return fail(err, "%s was never recorded", name);
	if (err == -EINPROGRESS)
		return fail(err, "%s has not happened yet: synchronize with it first", name);
	return err ? event_error(event, err) : 0;
}

int accel_event_elapsed_time(struct accel_event *start_handle, struct accel_event *end_handle,
			     int64_t *ns)
{
	KEEP_ERRNO;
	struct event *start, *end;
	int64_t from = 0, to = 0;
	int err;

	if (!ns)
		return fail(-EINVAL, "ns is NULL: the time has to go somewhere");
	err = event_get(start_handle, &start) ?: event_get(end_handle, &end);
	if (!err)
		err = time_of(start, "start", &from) ?: time_of(end, "end", &to);
	if (!err)
		*ns = to - from;
	return err;
}
