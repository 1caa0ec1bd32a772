/* SPDX-License-Identifier: MIT */
/*
 * Contexts: what streams belong to, and what a thread works with.
 */
#include "context.h"
#include "handle.h"
#include "report.h"
#include "state.h"
#include "stream.h"

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

/* No other thread can end the object from then on. */
static struct object *object_take(enum handle_kind kind, struct device *device,
				  aclrtContext context, size_t *at)
{
	struct object *object;

	state_lock();
	object = object_next(kind, device, context, at);
	if (object) {
		report_end(object);
		handle_drop(object);
	}
	state_unlock();
	return object;
}

static void end_all(enum handle_kind kind, struct device *device, aclrtContext context)
{
	struct object *object;
	size_t at, ended;

	/* Until there is none: what was being made meanwhile may stand before those that were ended. */
	do {
		ended = 0;
		for (at = 0; (object = object_take(kind, device, context, &at)); ended++)
			object_put(object);
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

/* The handle of the context has ended: its default stream is not found by it. */
static aclError drain(const struct object *context)
{
	struct object *object;
	aclError err = ACL_SUCCESS, failed;
	size_t at = 0;

	if (context->stream)
		err = stream_told(context->stream, accel_stream_synchronize(context->stream));
	while ((object = stream_next(context->device, context->handle, &at))) {
		failed = stream_told(object->stream, accel_stream_synchronize(object->stream));
		object_put(object);
		err = err ? err : failed;
	}
	return err;
}

aclError aclrtDestroyContext(aclrtContext context)
{
	aclError err = call_enter(__func__);
	struct device *device;
	struct object *found;
	bool is_default;

	if (!err && context)
		err = reports_check(NULL, context, NULL);
	if (err)
		return err;
	state_lock();
	found = handle_find(HANDLE_CONTEXT, context);
	/* Who resets the device ends it, and does not wait for uses that begin now. */
	if (found && found->device->state != DEVICE_OPEN)
		found = NULL;
	is_default = found && found->is_default;
	device = found ? found->device : NULL;
	if (found && !is_default) {
		device->users++;
		handle_drop(found);
	}
	state_unlock();
	if (!found)
		return handle_fail("context", HANDLE_CONTEXT, context);
	if (is_default)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID,
				 "context %p is the default context of device %d: "
				 "aclrtResetDevice() ends it", context, device->id);
	err = drain(found);
	objects_end(device, context);
	state_lock();
	report_end(found);
	state_unlock();
	object_put(found);
	device_put(device);
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
