/* SPDX-License-Identifier: MIT */
/*
 * Streams, of which each context has a default one, made when it is first needed: a driver has
 * few.
 */
#include "handle.h"
#include "report.h"
#include "state.h"
#include "stream.h"

#include <time.h>

#define MAX_PRIORITY 7
#define KNOWN_FLAGS (ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC | ACL_STREAM_PERSISTENT | \
		     ACL_STREAM_HUGE | ACL_STREAM_CPU_SCHEDULE)

/* ---- From a handle to a stream ---- */

static aclError default_stream(const struct here *here, struct accel_stream **stream)
{
	struct accel_stream *made = NULL;
	struct object *context;
	aclError err;

	state_lock();
	context = handle_find(HANDLE_CONTEXT, here->context);
	*stream = context ? context->stream : NULL;
	state_unlock();
	if (*stream)
		return ACL_SUCCESS;
	err = call_failed_for(accel_stream_create(here->device->dev, &made),
			      ACL_ERROR_RT_NO_STREAM_RESOURCE);
	if (err)
		return err;
	state_lock();
	context = handle_find(HANDLE_CONTEXT, here->context);
	if (context && !context->stream) {
		context->stream = made;
		made = NULL;
	}
	*stream = context ? context->stream : NULL;
	state_unlock();
	/* Another thread was faster, or has destroyed the context. */
	if (made)
		accel_stream_destroy(made);
	return *stream ? ACL_SUCCESS : handle_fail("context", HANDLE_CONTEXT, here->context);
}

static aclError named_stream(const struct here *here, aclrtStream handle,
			     struct accel_stream **stream)
{
	aclrtContext context = NULL;
	struct object *object;
	int32_t device_id = 0;

	state_lock();
	object = handle_find(HANDLE_STREAM, handle);
	if (object) {
		*stream = object->stream;
		context = object->context;
		device_id = object->device->id;
	}
	state_unlock();
	if (!object)
		return handle_fail("stream", HANDLE_STREAM, handle);
	if (context == here->context)
		return ACL_SUCCESS;
	return call_fail(ACL_ERROR_RT_STREAM_CONTEXT,
			 "stream %p belongs to context %p of device %d, and the current one is %p "
			 "of device %d: aclrtSetCurrentContext() changes it", handle, context,
			 device_id, here->context, here->device->id);
}

aclError stream_find(const char *name, aclrtStream handle, struct on_stream *on)
{
	aclError err = here_enter(name, &on->here);

	if (err)
		return err;
	on->handle = handle ? handle : on->here.context;
	err = handle ? named_stream(&on->here, handle, &on->stream) :
		       default_stream(&on->here, &on->stream);
	if (err)
		here_leave(&on->here);
	return err;
}

struct object *stream_object(const struct on_stream *on)
{
	return handle_find(HANDLE_WITH_STREAM, on->handle);
}

aclError stream_enter(const char *name, aclrtStream handle, struct on_stream *on)
{
	aclError err = stream_find(name, handle, on);

	if (err)
		return err;
	err = reports_check(NULL, NULL, on->handle);
	if (err)
		stream_leave(on);
	return err;
}

void stream_leave(const struct on_stream *on)
{
	here_leave(&on->here);
}

struct object *stream_next(struct device *device, aclrtContext context, size_t *at)
{
	struct object *object;

	state_lock();
	do
		object = object_next(HANDLE_WITH_STREAM, device, context, at);
	while (object && !object->stream);
	if (object)
		object->refs++;
	state_unlock();
	return object;
}

/* ---- Failure ---- */

/* Of the work of a stream, and not of the call that asks. */
static bool is_failure(int err)
{
	return err && err != -EINPROGRESS && err != -EINVAL && err != -EDEADLK && !err_is_lost(err);
}

static aclError failure_report(int failed)
{
	/* The error of a fence of another driver can be -ETIME: it is no timeout of the call. */
	return call_fail(err_code(failed == -ETIME ? -ETIMEDOUT : failed),
			 "work of the stream failed: %s", accel_strerror(failed));
}

/* The failure is cleared. Threads that ask at once may each report it. */
static aclError told_until(struct accel_stream *stream, int err, uint64_t deadline)
{
	int failed;

	if (!err || err_is_lost(err))
		return call_failed(err);
	failed = accel_stream_query(stream);
	if (!is_failure(failed))
		return call_failed(err);
	err = accel_stream_clear_until(stream, deadline);
	return err == -ETIME ? call_failed(err) : failure_report(failed);
}

aclError stream_told(struct accel_stream *stream, int err)
{
	return told_until(stream, err, UINT64_MAX);
}

/*
 * Asks each stream of this layer, and clears those that have failed; returns the error of the last
 * one. @err, from accel_device_synchronize(), may be the error of a stream of another layer.
 */
aclError streams_told(struct device *device, int err)
{
	aclError code = ACL_SUCCESS;
	struct object *object;
	size_t at = 0;
	int failed;

	if (err_is_lost(err) || err == -EDEADLK)
		return call_failed(err);
	while ((object = stream_next(device, NULL, &at))) {
		failed = accel_stream_query(object->stream);
		if (is_failure(failed))
			code = stream_told(object->stream, failed);
		object_put(object);
	}
	return code;
}

/* ---- Making and ending ---- */

static aclError create(const struct here *here, aclrtStream *stream)
{
	struct object object = {
		.kind = HANDLE_STREAM, .device = here->device, .context = here->context
	};
	aclError err = call_failed_for(accel_stream_create(here->device->dev, &object.stream),
				       ACL_ERROR_RT_NO_STREAM_RESOURCE);

	if (err)
		return err;
	state_lock();
	*stream = handle_make(&object);
	state_unlock();
	if (*stream)
		return ACL_SUCCESS;
	accel_stream_destroy(object.stream);
	return call_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "out of memory");
}

static aclError create_stream(const char *name, aclrtStream *stream)
{
	struct here here;
	aclError err = here_enter(name, &here);

	if (stream)
		*stream = NULL;
	if (err)
		return err;
	err = stream ? create(&here, stream) : call_null("stream");
	here_leave(&here);
	return err;
}

aclError aclrtCreateStream(aclrtStream *stream)
{
	return create_stream(__func__, stream);
}

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag)
{
	aclError err = call_enter(__func__);

	if (stream)
		*stream = NULL;
	if (err)
		return err;
	if (priority > MAX_PRIORITY)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID, "priority is %u: 0 to %u are known",
				 priority, MAX_PRIORITY);
	if (flag & ~KNOWN_FLAGS)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %#x: %#x are known", flag,
				 KNOWN_FLAGS);
	return create_stream(__func__, stream);
}

static aclError destroy(const char *name, aclrtStream handle, bool wait)
{
	struct object *found;
	struct on_stream on;
	aclError err;

	err = call_enter(name);
	if (err)
		return err;
	if (!handle)
		return call_null("stream");
	err = wait ? stream_enter(name, handle, &on) : stream_find(name, handle, &on);
	if (err)
		return err;
	if (wait)
		err = stream_told(on.stream, accel_stream_synchronize(on.stream));
	state_lock();
	found = handle_find(HANDLE_STREAM, handle);
	if (found) {
		report_end(found);
		handle_drop(found);
	}
	state_unlock();
	/* Otherwise another thread has done it. */
	if (found)
		object_put(found);
	stream_leave(&on);
	return err;
}

aclError aclrtDestroyStream(aclrtStream stream)
{
	return destroy(__func__, stream, true);
}

aclError aclrtDestroyStreamForce(aclrtStream stream)
{
	return destroy(__func__, stream, false);
}

/* ---- Waiting ---- */

uint64_t deadline_after(int32_t timeout)
{
	struct timespec now;

	if (timeout < 0)
		return UINT64_MAX;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec +
	       (uint64_t)timeout * 1000000;
}

aclError device_synchronize(struct device *device)
{
	aclError err = reports_check(device, NULL, NULL);

	return err ? err : streams_told(device, accel_device_synchronize(device->dev));
}

static aclError synchronize_until(struct accel_stream *stream, uint64_t deadline)
{
	return told_until(stream, accel_stream_synchronize_until(stream, deadline), deadline);
}

aclError streams_wait(struct device *device, uint64_t deadline)
{
	aclError err = ACL_SUCCESS;
	struct object *object;
	size_t at = 0;

	while (!err && (object = stream_next(device, NULL, &at))) {
		err = synchronize_until(object->stream, deadline);
		object_put(object);
	}
	return err;
}

static aclError synchronize(const char *name, aclrtStream stream, int32_t timeout)
{
	struct on_stream on;
	aclError err = stream_enter(name, stream, &on);

	if (err)
		return err;
	if (timeout < -1)
		err = call_fail(ACL_ERROR_RT_PARAM_INVALID,
				"timeout is %d: -1 for ever, or milliseconds", timeout);
	else
		err = synchronize_until(on.stream, deadline_after(timeout));
	stream_leave(&on);
	return err;
}

aclError aclrtSynchronizeStream(aclrtStream stream)
{
	return synchronize(__func__, stream, -1);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout)
{
	return synchronize(__func__, stream, timeout);
}

static aclError query(struct accel_stream *stream, aclrtStreamStatus *status)
{
	int err = accel_stream_query(stream);

	if (err && err != -EINPROGRESS && !is_failure(err))
		return call_failed(err);
	/* A stream whose failure cannot be cleared yet is not ready. */
	if (is_failure(err) && accel_stream_clear_until(stream, 0) != -ETIME)
		return failure_report(err);
	*status = err ? ACL_STREAM_STATUS_NOT_READY : ACL_STREAM_STATUS_COMPLETE;
	return ACL_SUCCESS;
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status)
{
	struct on_stream on;
	aclError err = stream_find(__func__, stream, &on);

	if (err)
		return err;
	err = status ? query(on.stream, status) : call_null("status");
	stream_leave(&on);
	return err;
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode)
{
	aclError err = call_enter(__func__);
	struct on_stream on;

	if (err)
		return err;
	if (!stream)
		return call_null("stream");
	err = stream_find(__func__, stream, &on);
	if (err)
		return err;
	if (mode == ACL_CONTINUE_ON_FAILURE)
		err = call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
				"mode is ACL_CONTINUE_ON_FAILURE: streams stop at a failure");
	else if (mode != ACL_STOP_ON_FAILURE)
		err = call_fail(ACL_ERROR_RT_PARAM_INVALID, "mode is %lu: 0 and 1 are known",
				(unsigned long)mode);
	stream_leave(&on);
	return err;
}
