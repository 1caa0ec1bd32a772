/* SPDX-License-Identifier: MIT */
/*
 * Contexts: what streams belong to, and what a thread works with.
 */
#include "private.h"

aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId)
{
	aclError err = call_enter(__func__);
	struct object object = { .kind = HANDLE_CONTEXT };

	if (context)
		*context = NULL;
	if (err)
		return err;
	if (!context)
		return call_null("context");
	err = device_open(deviceId, &object.device);
	if (err)
		return err;
	state_lock();
	/* Another thread may be resetting the device. */
	if (object.device->state == DEVICE_OPEN)
		*context = handle_make(&object);
	state_unlock();
	device_put(object.device);
	if (!*context)
		return call_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL,
				 "out of memory, or the device is being reset");
	context_use(*context);
	return ACL_SUCCESS;
}

/* What can be ended by nobody else from then on. */
static bool take(enum handle_kind kind, struct device *device, aclrtContext context, size_t *at,
		 struct object *object)
{
	void *handle;

	state_lock();
	handle = handle_next(kind, device, context, at);
	if (handle) {
		report_end(handle_find(kind, handle));
		*object = *handle_find(kind, handle);
		handle_drop(handle);
	}
	state_unlock();
	return handle;
}

static void end(const struct object *object)
{
	if (object->stream && !object->holds)
		accel_stream_destroy(object->stream);
	waits_end(object->waits);
	if (object->event)
		accel_event_destroy(object->event);
}

static void end_all(enum handle_kind kind, struct device *device, aclrtContext context)
{
	struct object object;
	size_t at, ended;

	/* Until there is none: what was being made meanwhile may stand before those that were ended. */
	do {
		ended = 0;
		for (at = 0; take(kind, device, context, &at, &object); ended++)
			end(&object);
	} while (ended);
}

void objects_end(struct device *device, aclrtContext context)
{
	end_all(HANDLE_STREAM, device, context);
	if (context)
		return;
	end_all(HANDLE_EVENT, device, NULL);
	end_all(HANDLE_CONTEXT, device, NULL);
}

/* Its default stream, too. */
static aclError drain(struct device *device, const struct object *context, aclrtContext handle)
{
	aclError err = ACL_SUCCESS;
	struct held held;
	size_t at = 0;

	if (context->stream)
		err = stream_told(context->stream, accel_stream_synchronize(context->stream));
	while (stream_next(device, handle, &at, &held)) {
		aclError failed = stream_told(held.stream, accel_stream_synchronize(held.stream));

		stream_put(&held);
		err = err ? err : failed;
	}
	return err;
}

aclError aclrtDestroyContext(aclrtContext context)
{
	aclError err = call_enter(__func__);
	struct object *found, object = { 0 };

	if (!err && context)
		err = reports_check(NULL, context, NULL);
	if (err)
		return err;
	state_lock();
	found = handle_find(HANDLE_CONTEXT, context);
	/* Who resets the device ends it, and does not wait for uses that begin now. */
	if (found && found->device->state != DEVICE_OPEN)
		found = NULL;
	if (found) {
		object = *found;
		if (!object.is_default) {
			object.device->users++;
			handle_drop(context);
		}
	}
	state_unlock();
	if (!found)
		return handle_fail("context", HANDLE_CONTEXT, context);
	if (object.is_default)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID,
				 "context %p is the default context of device %d: "
				 "aclrtResetDevice() ends it", context, object.device->id);
	err = drain(object.device, &object, context);
	objects_end(object.device, context);
	state_lock();
	report_end(&object);
	state_unlock();
	end(&object);
	device_put(object.device);
	return err;
}

aclError aclrtSetCurrentContext(aclrtContext context)
{
	aclError err = call_enter(__func__);
	bool found;

	if (err)
		return err;
	state_lock();
	found = handle_find(HANDLE_CONTEXT, context);
	state_unlock();
	if (!found)
		return handle_fail("context", HANDLE_CONTEXT, context);
	context_use(context);
	return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext *context)
{
	struct here here;
	aclError err = here_enter(__func__, &here);

	if (context)
		*context = err ? NULL : here.context;
	if (err)
		return err;
	here_leave(&here);
	return context ? ACL_SUCCESS : call_null("context");
}
