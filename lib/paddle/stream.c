/* SPDX-License-Identifier: MIT */
/*
 * Streams, and calls back when one has come so far. Paddle's NULL is a stream that never has work:
 * what is asked of it is done when the call returns.
 */
#include "private.h"

#include <stdlib.h>

bool plugin_is_lost(int err)
{
	return err == -ENODEV || err == -ESTALE || err == -EPERM;
}

/* Paddle knows no way to make a stream usable again. -EINVAL: it is no stream. */
int stream_told(struct accel_stream *stream, int err)
{
	int failed;

	if (!stream || !err || plugin_is_lost(err))
		return err;
	failed = accel_stream_query(stream);
	if (!failed || failed == -EINPROGRESS || failed == -EINVAL || plugin_is_lost(failed))
		return err;
	accel_stream_clear(stream);
	return plugin_fail(failed, "work of the stream failed: %s", accel_strerror(failed));
}

/* ---- Which streams a device has: libaccel does not tell ---- */

/* Puts a stream in the place of another one, or of NULL. False: out of memory. */
static bool list_replace(struct device *device, stream_t old, stream_t new)
{
	size_t at = 0;
	stream_t *more;
	bool found;

	plugin_lock();
	while (at < device->stream_count && device->streams[at] != old)
		at++;
	if (at == device->stream_count && new &&
	    (more = realloc(device->streams, (at + 1) * sizeof(*more)))) {
		device->streams = more;
		device->stream_count++;
	}
	found = at < device->stream_count;
	if (found)
		device->streams[at] = new;
	plugin_unlock();
	return found;
}

uint64_t stream_number(const struct device *device, const struct accel_stream *stream)
{
	uint64_t number = 0;

	plugin_lock();
	for (size_t i = 0; stream && !number && i < device->stream_count; i++)
		if (device->streams[i] == stream)
			number = i + 1;
	plugin_unlock();
	return number;
}

/* The next one from *at = 0 on, or NULL. */
static stream_t list_next(const struct device *device, size_t *at)
{
	stream_t stream = NULL;

	plugin_lock();
	while (!stream && *at < device->stream_count)
		stream = device->streams[(*at)++];
	plugin_unlock();
	return stream;
}

/* ---- Create and destroy ---- */

static int create(struct device *device, stream_t *stream)
{
	int err;

	if (!stream)
		return plugin_fail(-EINVAL, "stream is NULL: it has to go somewhere");
	err = accel_stream_create(device->dev, stream);
	if (err || list_replace(device, NULL, *stream))
		return err;
	accel_stream_destroy(*stream);
	*stream = NULL;
	return plugin_fail(-ENOMEM, "out of memory");
}

static enum status create_stream(struct place *place, stream_t *stream)
{
	struct device *device = plugin_enter(__func__, place);
	int err;

	if (!device)
		return STATUS_ERROR;
	err = create(device, stream);
	return plugin_done(__func__, device, err, "%p", stream ? (void *)*stream : NULL);
}

/* Success whatever it is: Paddle calls it where nothing may fail. */
static enum status destroy_stream(struct place *place, stream_t stream)
{
	struct device *device = plugin_enter(__func__, place);
	int err = 0;

	if (!device)
		return STATUS_SUCCESS;
	if (stream) {
		err = plugin_waited(accel_stream_destroy(stream));
		/* One that may not be destroyed now, inside its own callback, stays. */
		if (!err || err == -EINVAL)
			list_replace(device, stream, NULL);
	}
	plugin_done(__func__, device, err, "%p", (void *)stream);
	return STATUS_SUCCESS;
}

/* ---- Query and wait ---- */

int still_to_come(int err)
{
	return err == -EINPROGRESS || err == -EINVAL ? err : 0;
}

/*
 * Whether something is still to come. Work that failed is not: Paddle would ask for ever. The next
 * synchronize is told of the failure.
 */
static enum status query_stream(struct place *place, stream_t stream)
{
	struct device *device = plugin_enter(__func__, place);
	int err;

	if (!device)
		return STATUS_ERROR;
	err = stream ? still_to_come(accel_stream_query(stream)) : 0;
	return plugin_done(__func__, device, err, "%p", (void *)stream);
}

static enum status synchronize_stream(struct place *place, stream_t stream)
{
	struct device *device = plugin_enter(__func__, place);
	int err = 0;

	if (!device)
		return STATUS_ERROR;
	if (stream)
		err = stream_told(stream, plugin_waited(accel_stream_synchronize(stream)));
	if (!err)
		err = device_pending(device);
	return plugin_done(__func__, device, err, "%p", (void *)stream);
}

/*
 * Asks each stream of Paddle, and clears those that have failed; returns the error of the last one.
 * The error of accel_device_synchronize() may be that of a stream of another layer.
 */
static int synchronize(struct device *device)
{
	int err = accel_device_synchronize(device->dev), failed = 0;
	stream_t stream;
	size_t at = 0;

	if (plugin_is_lost(err) || err == -EDEADLK)
		return err;
	while ((stream = list_next(device, &at))) {
		err = accel_stream_query(stream);
		/* -EINVAL: another thread has destroyed it. */
		if (err && err != -EINPROGRESS && err != -EINVAL)
			failed = stream_told(stream, err);
	}
	return failed ? failed : device_pending(device);
}

static enum status synchronize_device(struct place *place)
{
	struct device *device = plugin_enter(__func__, place);

	if (!device)
		return STATUS_ERROR;
	return plugin_done(__func__, device, plugin_waited(synchronize(device)), "%s", "");
}

/* ---- Callbacks ---- */

struct call {
	struct place place;
	stream_t stream;
	callback_t callback;
	void *data;
};

/* In a thread of libaccel, whose last error may be another one. */
static void call_back(void *data, int err)
{
	struct call *call = data;
	enum status status;

	if (err)
		plugin_fail(err, "work before a callback failed: %s", accel_strerror(err));
	status = plugin_status("stream_add_callback", err);
	call->callback(&call->place, call->stream, call->data, &status);
	free(call);
}

static int add(struct device *device, stream_t stream, callback_t callback, void *data)
{
	struct call *call;
	int err;

	if (!callback)
		return plugin_fail(-EINVAL, "callback is NULL");
	if (!stream)
		return 0;
	call = malloc(sizeof(*call));
	if (!call)
		return plugin_fail(-ENOMEM, "out of memory");
	*call = (struct call){ { device->id }, stream, callback, data };
	err = accel_stream_add_callback(stream, call_back, call);
	if (err)
		free(call);
	return err;
}

/*
 * Paddle's function frees its data: it is called once, or never if this fails. Behind the NULL stream it
 * is called here, after the use of the device has ended: it may throw a C++ exception.
 */
static enum status stream_add_callback(struct place *place, stream_t stream, callback_t callback,
				       void *data)
{
	struct device *device = plugin_enter(__func__, place);
	enum status status, none = STATUS_SUCCESS;
	struct place called;

	if (!device)
		return STATUS_ERROR;
	called.id = device->id;
	status = plugin_done(__func__, device, add(device, stream, callback, data), "%p, %p",
			     (void *)stream, data);
	if (!stream && status == STATUS_SUCCESS)
		callback(&called, NULL, data, &none);
	return status;
}

void stream_functions(struct interface *table)
{
	table->create_stream = create_stream;
	table->destroy_stream = destroy_stream;
	table->query_stream = query_stream;
	table->synchronize_stream = synchronize_stream;
	table->synchronize_device = synchronize_device;
	table->stream_add_callback = stream_add_callback;
}
