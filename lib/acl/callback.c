/* SPDX-License-Identifier: MIT */
/*
 * Launches of callbacks and of host functions.
 *
 * A callback has an eventfd, which its stream signals when it comes to the callback. A callback that
 * blocks its stream keeps one of libaccel's threads until it has returned; libaccel holds all that
 * is queued later. An eventfd operation would wait for these callbacks, so while there are any,
 * libaccel's thread signals the eventfd of a callback that does not block, too: no launch waits for
 * a callback.
 */
#include "report.h"

#include <stdlib.h>
#include <sys/eventfd.h>

/* ---- Functions that a stream waits for ---- */

/* Functions under way in this thread that a stream waits for, one called by the other. */
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
 * Under the lock, which is released meanwhile: waits until no eventfd operation is being queued in
 * the stream, and counts a function that libaccel is given. NULL if the stream was destroyed.
 */
static struct object *pending_begin(const struct on_stream *on)
{
	struct object *object;

	while ((object = stream_object(on)) && object->signals)
		state_wait(&report_changed);
	if (object)
		object->pending++;
	return object;
}

static void pending_end(const void *handle)
{
	struct object *object = handle_find(HANDLE_WITH_STREAM, handle);

	if (object)
		object->pending--;
}

static void signals_end(const void *handle)
{
	struct object *object = handle_find(HANDLE_WITH_STREAM, handle);

	if (object)
		object->signals--;
	pthread_cond_broadcast(&report_changed);
}

/* ---- Callbacks ---- */

/* In a thread of libaccel, when the stream has come to the callback. */
static void callback_reach(void *data, int status)
{
	struct callback *callback = data;

	(void)status;
	state_lock();
	eventfd_write(callback->reached, 1);
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
	callback->reached = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (callback->reached >= 0)
		return callback;
	free(callback);
	return NULL;
}

/* Under the lock: who runs the callbacks of a stream. Those of a device under reset are not run. */
static struct reader *reader_for(const struct object *object)
{
	return object && object->device->state == DEVICE_OPEN ? object->reader : NULL;
}

/* Adds the callback to the list of its reader. *by_thread: libaccel's thread signals its eventfd. */
static aclError launch_begin(const struct on_stream *on, struct callback *callback,
			     bool *by_thread)
{
	struct object *object = stream_object(on);
	struct reader *reader;

	*by_thread = callback->is_blocking || (object && object->pending);
	callback->uses += *by_thread;
	if (*by_thread)
		object = pending_begin(on);
	else if (object)
		object->signals++;
	reader = reader_for(object);
	if (!reader)
		return ACL_ERROR_RT_STREAM_NO_CB_REG;
	return callback_append(reader, callback) ? ACL_SUCCESS : ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
}

/* The callback may have been dropped meanwhile. */
static void launch_end(struct callback *callback, bool by_thread, bool is_queued)
{
	if (!by_thread)
		signals_end(callback->stream);
	if (is_queued)
		return;
	callback_end(callback);
	if (by_thread) {
		pending_end(callback->stream);
		callback_put(callback);
	}
}

static aclError launch(const struct on_stream *on, aclrtStream stream, struct callback *callback)
{
	bool by_thread;
	aclError code;
	int err;

	state_lock();
	code = launch_begin(on, callback, &by_thread);
	if (code)
		launch_end(callback, by_thread, false);
	state_unlock();
	if (code == ACL_ERROR_RT_STREAM_NO_CB_REG)
		return call_fail(code, "no thread serves stream %p: aclrtSubscribeReport() comes "
				 "first", stream);
	if (code)
		return call_fail(code, "out of memory");
	if (by_thread)
		err = accel_stream_add_callback(on->stream, callback_reach, callback);
	else
		err = accel_stream_eventfd(on->stream, callback->reached);
	code = call_failed(err);
	state_lock();
	launch_end(callback, by_thread, !err);
	state_unlock();
	return code;
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
		err = call_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL,
				"out of memory, or of file descriptors");
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
	int err;

	call->stream = on->handle;
	state_lock();
	pending_begin(on);
	state_unlock();
	err = accel_stream_add_callback(on->stream, host_call_run, call);
	if (!err)
		return 0;
	state_lock();
	pending_end(on->handle);
	state_unlock();
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
