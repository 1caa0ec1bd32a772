/* SPDX-License-Identifier: MIT */
/*
 * Launches of callbacks and of host functions.
 *
 * A callback is an operation on the eventfd of its stream, or a function of libaccel. A callback that
 * blocks its stream keeps one of libaccel's threads until it has returned; libaccel holds all that
 * is queued later. An eventfd operation would wait for these functions, so while there are any, a
 * callback that does not block is a function, too: no launch waits for a callback.
 *
 * One eventfd operation at a time is being queued in a stream, so that their numbers are in the order
 * of the stream.
 */
#include "callback.h"
#include "handle.h"
#include "report.h"
#include "state.h"
#include "stream.h"

#include <stdlib.h>

/* ---- Functions that a stream waits for ---- */

/* How many functions that streams wait for are under way in this thread: they can nest. */
static __thread unsigned int awaited;

bool awaited_here(void)
{
	return awaited;
}

aclError awaited_fail(void)
{
	return call_fail(ACL_ERROR_RT_PARAM_INVALID,
			 "a function of aclrtLaunchHostFunc(), or a callback of type "
			 "ACL_CALLBACK_BLOCK, cannot close a device: it would wait for itself");
}

void awaited_in_child(void)
{
	awaited = 0;
}

/* In a child that was forked by the function the stream does not wait for it. */
void call_awaited(void (*fn)(void *data), void *data)
{
	awaited++;
	fn(data);
	if (awaited)
		awaited--;
}

/* ---- What libaccel has ---- */

/*
 * Under the lock, which is released meanwhile: counts a function that libaccel is given, and waits
 * until no eventfd operation is being queued, which would wait for the function. It is counted
 * first: launches of other threads are functions then, and this one has an end to wait for.
 */
static void pending_begin(struct object *object)
{
	object->pending++;
	while (object->is_signal_launch)
		state_wait(&report_changed);
}

static void pending_end(const void *handle)
{
	struct object *object = handle_find(HANDLE_WITH_STREAM, handle);

	if (object)
		object->pending--;
}

/* ---- Callbacks ---- */

/* In a thread of libaccel, when the stream has come to the callback. */
static void callback_reach(void *data, int status)
{
	struct callback *callback = data;

	(void)status;
	state_lock();
	callback_due(callback);
	while (callback->is_blocking && !callback->is_ended)
		state_wait(&report_changed);
	pending_end(callback->stream);
	callback_put(callback);
	state_unlock();
}

static struct callback *callback_new(const struct on_stream *on)
{
	struct callback *callback = calloc(1, sizeof(*callback));

	if (!callback)
		return NULL;
	callback->uses = 1;
	callback->device = on->here.device;
	callback->context = on->here.context;
	callback->stream = on->handle;
	callback->is_ended = true;
	return callback;
}

/* Under the lock: who runs the callbacks of a stream. Those of a device under reset are not run. */
static struct reader *reader_for(const struct object *object)
{
	return object->device->state == DEVICE_OPEN ? object->reader : NULL;
}

/*
 * Adds the callback to the list of its reader. A function that a stream waits for runs in a thread of
 * libaccel, where an eventfd operation fails if libaccel has any function for the stream, also one
 * that is not counted here any more.
 */
static aclError launch_begin(struct object *object, struct callback *callback, bool *by_thread)
{
	struct reader *reader;

	*by_thread = callback->is_blocking || awaited_here();
	while (!*by_thread && !object->pending && object->is_signal_launch)
		state_wait(&report_changed);
	*by_thread |= object->pending;
	callback->uses += *by_thread;
	if (*by_thread)
		pending_begin(object);
	else
		object->is_signal_launch = true;
	reader = reader_for(object);
	if (!reader)
		return ACL_ERROR_RT_STREAM_NO_CB_REG;
	callback_append(reader, callback);
	return ACL_SUCCESS;
}

/* The callback may have been dropped meanwhile, or the stream has come to it. */
static void launch_end(struct object *object, struct callback *callback, bool by_thread,
		       bool is_queued)
{
	if (!by_thread) {
		object->is_signal_launch = false;
		pthread_cond_broadcast(&report_changed);
	}
	if (!is_queued)
		callback_end(callback);
	if (is_queued && !by_thread) {
		callback->signal = ++object->signals_queued;
		if (callback->signal <= object->signals_seen)
			callback_due(callback);
	} else if (!is_queued && by_thread) {
		object->pending--;
		callback_put(callback);
	}
}

/* The object is in use: its eventfd stays open. */
static aclError launch_on(struct object *object, const struct on_stream *on, aclrtStream stream,
			  struct callback *callback)
{
	bool by_thread;
	aclError code;
	int err = 0;

	state_lock();
	code = launch_begin(object, callback, &by_thread);
	state_unlock();
	if (code)
		call_fail(code, "no thread serves stream %p: aclrtSubscribeReport() comes first",
			  stream);
	else if (by_thread)
		err = accel_stream_add_callback(on->stream, callback_reach, callback);
	else
		err = accel_stream_eventfd(on->stream, object->reached);
	if (err)
		code = call_failed(err);
	state_lock();
	launch_end(object, callback, by_thread, !code);
	state_unlock();
	return code;
}

static aclError launch(const struct on_stream *on, aclrtStream stream, struct callback *callback)
{
	struct object *object;
	aclError err;

	state_lock();
	object = stream_object(on);
	if (object)
		object->refs++;
	state_unlock();
	if (!object)
		return handle_fail("stream", HANDLE_STREAM, on->handle);
	err = launch_on(object, on, stream, callback);
	object_put(object);
	return err;
}

aclError aclrtLaunchCallback(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType,
			     aclrtStream stream)
{
	struct callback *callback = NULL;
	struct on_stream on;
	aclError err = stream_find(__func__, stream, &on);

	if (err)
		return err;
	if (!fn)
		err = call_null("fn");
	else if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK)
		err = call_fail(ACL_ERROR_RT_PARAM_INVALID, "blockType is %d: 0 and 1 are known",
				(int)blockType);
	else if (!(callback = callback_new(&on)))
		err = call_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "out of memory");
	if (!err) {
		callback->fn = fn;
		callback->data = userData;
		callback->is_blocking = blockType == ACL_CALLBACK_BLOCK;
		err = launch(&on, stream, callback);
		state_lock();
		callback_put(callback);
		state_unlock();
	}
	stream_leave(&on);
	return err;
}

/* ---- Host functions, in threads of libaccel ---- */

struct host_call {
	aclrtHostFunc func;
	void *args;
	const void *stream; /* as of a callback */
};

static void host_call_run(void *data, int status)
{
	struct host_call call = *(struct host_call *)data;

	(void)status;
	free(data);
	call_awaited(call.func, call.args);
	state_lock();
	pending_end(call.stream);
	state_unlock();
}

static int host_call_launch(const struct on_stream *on, struct host_call *call)
{
	struct object *object;
	int err;

	call->stream = on->handle;
	state_lock();
	object = stream_object(on);
	if (object) {
		object->refs++;
		pending_begin(object);
	}
	state_unlock();
	err = accel_stream_add_callback(on->stream, host_call_run, call);
	if (!object)
		return err;
	if (err) {
		state_lock();
		object->pending--;
		state_unlock();
	}
	object_put(object);
	return err;
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc func, void *args)
{
	struct host_call *call;
	struct on_stream on;
	aclError err = stream_find(__func__, stream, &on);

	if (err)
		return err;
	call = malloc(sizeof(*call));
	if (!func) {
		err = call_null("func");
	} else if (!call) {
		err = call_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "out of memory");
	} else {
		*call = (struct host_call){ .func = func, .args = args };
		err = call_failed(host_call_launch(&on, call));
		/* It is called, and frees it, if and only if it was queued. */
		if (!err)
			call = NULL;
	}
	free(call);
	stream_leave(&on);
	return err;
}
