/* SPDX-License-Identifier: MIT */
/*
 * Callbacks: queued, and run by the thread of the program that asks for them. One that blocks its
 * stream keeps one of libaccel's threads until it has returned.
 */
#include "report.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- Functions that a stream waits for ---- */

/* Functions under way in this thread that a stream waits for, one called by the other. */
static __thread unsigned int awaited;
static __thread bool in_host_function; /* of aclrtLaunchHostFunc(), in a thread of libaccel */

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
	in_host_function = false;
}

/* In a child that was forked by the function the stream does not wait for it. */
static void call_awaited(void (*fn)(void *data), void *data)
{
	awaited++;
	fn(data);
	if (awaited)
		awaited--;
}

/* ---- Queueing ---- */

/* Under the lock, as all that follows with a report. */
static void append(struct report *report, struct callback *callback)
{
	callback->report = report;
	callback->uses++;
	report->blocking += callback->is_blocking;
	report->queued++;
	*report->last = callback;
	report->last = &callback->next;
}

/* The use that the list had is the caller's. */
static bool take_out(struct report *report, struct callback *callback)
{
	struct callback **at = &report->first;

	while (*at && *at != callback)
		at = &(*at)->next;
	if (!*at)
		return false;
	*at = callback->next;
	if (!*at)
		report->last = at;
	report->queued--;
	return true;
}

/* Of a stream, or of the context whose default stream it is; NULL if the stream has ended. */
static struct object *object_of(const void *handle)
{
	struct object *object = handle_find(HANDLE_STREAM, handle);

	return object ? object : handle_find(HANDLE_CONTEXT, handle);
}

/*
 * An eventfd operation waits in libaccel until the stream has no callback pending. These callbacks
 * may launch on the stream, so they are waited for here, before the claim. A host function does not
 * wait: libaccel refuses the operation.
 */
static bool must_wait(const struct object *object, bool is_eventfd)
{
	if (object->is_claimed)
		return true;
	return is_eventfd && object->device->state == DEVICE_OPEN && object->report &&
	       !report_blocks(object->report) && object->pending && !in_host_function;
}

/* The lock is released meanwhile. NULL if the stream was destroyed. */
static struct object *stream_claimable(const struct on_stream *on, aclrtStream stream,
				       bool is_eventfd)
{
	struct object *object;

	while ((object = stream_object(on, stream)) && must_wait(object, is_eventfd))
		state_wait(&report_done);
	return object;
}

/*
 * The claim covers one submission, which waits for no callback. The eventfd does not tell which
 * callback the stream has reached, so the list and the stream need the same order.
 */
static void stream_claim(struct object *object, bool is_eventfd)
{
	object->is_claimed = true;
	object->pending += !is_eventfd;
}

/* @pending_less: of the callbacks that are pending in libaccel. */
static void stream_unclaim(const void *handle, unsigned int pending_less)
{
	struct object *object = object_of(handle);

	if (object) {
		object->is_claimed = false;
		object->pending -= pending_less;
	}
	pthread_cond_broadcast(&report_done);
}

static void pending_end(const void *handle)
{
	struct object *object = object_of(handle);

	if (object)
		object->pending--;
	pthread_cond_broadcast(&report_done);
}

/* In a thread of libaccel, when the stream has reached the callback. */
static void block(void *data, int status)
{
	struct callback *callback = data;

	(void)status;
	state_lock();
	if (callback->report)
		eventfd_write(callback->report->reached, 1);
	while (callback->report && !callback->is_done)
		state_wait(&report_done);
	pending_end(callback->stream);
	callback_put(callback);
	state_unlock();
}

/* The descriptor is duplicated, for another thread may end the report. */
static aclError put_in(const struct on_stream *on, aclrtStream stream, struct callback *callback,
		       struct report **claimed, int *own)
{
	struct object *object;
	struct report *report;
	bool blocks;
	int fd = -1;

	state_lock();
	object = stream_claimable(on, stream, !callback->is_blocking);
	/* The callbacks of a device that is being reset are not run. */
	report = object && object->device->state == DEVICE_OPEN ? object->report : NULL;
	blocks = report_blocks(report);
	if (report && !blocks)
		fd = fcntl(report->reached, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0) {
		stream_claim(object, !callback->is_blocking);
		report->uses++;
		append(report, callback);
	}
	state_unlock();
	*claimed = report;
	*own = fd;
	if (fd >= 0)
		return ACL_SUCCESS;
	if (blocks)
		return stream_blocks_fail(stream);
	if (report)
		return call_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "out of file descriptors");
	return call_fail(ACL_ERROR_RT_STREAM_NO_CB_REG, "no thread serves stream %p: "
			 "aclrtSubscribeReport() comes first", stream);
}

/* It may have been dropped meanwhile. */
static void launch_end(struct report *report, struct callback *callback, int err)
{
	state_lock();
	stream_unclaim(callback->stream, err && callback->is_blocking);
	if (err && take_out(report, callback)) {
		report->blocking -= callback->is_blocking;
		callback_put(callback);
	}
	/* libaccel's thread does not come to it. */
	if (err && callback->is_blocking)
		callback_put(callback);
	callback_put(callback);
	report_put(report);
	state_unlock();
}

static aclError launch(const struct on_stream *on, aclrtStream stream, struct callback *callback)
{
	struct report *report;
	aclError code;
	int fd, err;

	callback->uses = callback->is_blocking ? 2 : 1;
	callback->stream = stream ? stream : on->here.context;
	code = put_in(on, stream, callback, &report, &fd);
	if (code) {
		free(callback);
		return code;
	}
	if (callback->is_blocking)
		err = accel_stream_add_callback(on->stream, block, callback);
	else
		err = accel_stream_eventfd(on->stream, fd);
	launch_end(report, callback, err);
	close(fd);
	return call_failed(err);
}

aclError aclrtLaunchCallback(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType,
			     aclrtStream stream)
{
	struct callback *callback;
	struct on_stream on;
	aclError err = stream_enter(__func__, stream, &on);

	if (err)
		return err;
	callback = calloc(1, sizeof(*callback));
	if (!fn) {
		err = call_null("fn");
	} else if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK) {
		err = call_fail(ACL_ERROR_RT_PARAM_INVALID, "blockType is %d: 0 and 1 are known",
				(int)blockType);
	} else if (!callback) {
		err = call_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "out of memory");
	} else {
		callback->fn = fn;
		callback->data = userData;
		callback->is_blocking = blockType == ACL_CALLBACK_BLOCK;
		err = launch(&on, stream, callback);
		callback = NULL;
	}
	free(callback);
	stream_leave(&on);
	return err;
}

/* ---- Running ---- */

/*
 * Under the lock: the next that the stream has come to, out of the list, or NULL. The eventfd counts
 * down by one, so that a callback which asks for more finds what is left.
 */
static struct callback *next_due(struct report *report)
{
	struct callback *callback;
	uint64_t one;

	if (report->is_ended || read(report->reached, &one, sizeof(one)) != sizeof(one))
		return NULL;
	callback = report->first;
	if (callback)
		take_out(report, callback);
	return callback;
}

/* Under the lock, which is given up meanwhile. */
static void run(struct report *report, struct callback *callback)
{
	state_unlock();
	if (callback->is_blocking)
		call_awaited(callback->fn, callback->data);
	else
		callback->fn(callback->data);
	state_lock();
	if (callback->is_blocking) {
		report->blocking--;
		callback->is_done = true;
		pthread_cond_broadcast(&report_done);
	}
	callback_put(callback);
}

/* How many have run: of those that are queued now, for each may queue another. */
static unsigned int run_due(const void *found, const struct reader *reader)
{
	unsigned int count = 0, most;
	struct callback *callback;
	struct report *report;

	state_lock();
	report = report_live(found, reader);
	if (report) {
		report->uses++;
		most = report->queued;
		for (; count < most && (callback = next_due(report)); count++)
			run(report, callback);
		report_put(report);
	}
	state_unlock();
	return count;
}

static bool is_alone(const struct reader *reader)
{
	bool alone;

	state_lock();
	alone = !reader->streams;
	state_unlock();
	return alone;
}

static int left_until(uint64_t deadline)
{
	uint64_t now = deadline_after(0);

	if (deadline == UINT64_MAX)
		return -1;
	return deadline > now ? (int)((deadline - now + 999999) / 1000000) : 0;
}

/* What epoll has found: callbacks of streams, or that the last stream has left. */
static aclError wait_and_run(const struct reader *reader, uint64_t deadline)
{
	struct epoll_event events[8];
	unsigned int count = 0;
	bool left = false;
	int found;

	do {
		found = epoll_wait(reader->epoll, events, 8, left_until(deadline));
		for (int i = 0; i < found; i++) {
			if (events[i].data.ptr)
				count += run_due(events[i].data.ptr, reader);
			else
				left = is_alone(reader);
		}
	} while (!count && !left && (found > 0 || (found < 0 && errno == EINTR)));
	if (count)
		return ACL_SUCCESS;
	if (is_alone(reader))
		return call_fail(ACL_ERROR_RT_THREAD_SUBSCRIBE,
				 "this thread (%#lx) serves no stream: aclrtSubscribeReport() "
				 "gives it one", (unsigned long)report_thread());
	return call_fail(ACL_ERROR_RT_REPORT_TIMEOUT, "timeout: no callback was due");
}

aclError aclrtProcessReport(int32_t timeout)
{
	aclError err = call_enter(__func__);
	struct reader *reader;

	if (err)
		return err;
	if (timeout < -1 || !timeout)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID,
				 "timeout is %d: -1 for ever, or milliseconds", timeout);
	state_lock();
	reader = reader_of(report_thread());
	if (reader)
		reader->waiting++;
	state_unlock();
	if (!reader)
		return call_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL,
				 "out of memory, or of file descriptors");
	err = wait_and_run(reader, deadline_after(timeout));
	state_lock();
	reader->waiting--;
	reader_put(reader);
	state_unlock();
	return err;
}

/* ---- In libaccel's own threads ---- */

struct host_call {
	aclrtHostFunc func;
	void *args;
	void *stream; /* as of a callback */
};

static void call_host(void *data, int status)
{
	struct host_call call = *(struct host_call *)data;

	(void)status;
	free(data);
	in_host_function = true;
	call_awaited(call.func, call.args);
	in_host_function = false;
	state_lock();
	pending_end(call.stream);
	state_unlock();
}

static int launch_host(const struct on_stream *on, aclrtStream stream, struct host_call *call)
{
	void *handle = call->stream = stream ? stream : on->here.context;
	struct object *object;
	int err;

	state_lock();
	object = stream_claimable(on, stream, false);
	if (object)
		stream_claim(object, false);
	state_unlock();
	err = accel_stream_add_callback(on->stream, call_host, call);
	state_lock();
	stream_unclaim(handle, err ? 1 : 0);
	state_unlock();
	return err;
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc func, void *args)
{
	struct host_call *call;
	struct on_stream on;
	aclError err = stream_enter(__func__, stream, &on);

	if (err)
		return err;
	call = malloc(sizeof(*call));
	if (!func) {
		err = call_null("func");
	} else if (!call) {
		err = call_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "out of memory");
	} else {
		*call = (struct host_call){ .func = func, .args = args };
		err = call_failed(launch_host(&on, stream, call));
		/* It is called, and frees it, if and only if it was queued. */
		if (!err)
			call = NULL;
	}
	free(call);
	stream_leave(&on);
	return err;
}
