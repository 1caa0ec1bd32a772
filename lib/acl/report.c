/* SPDX-License-Identifier: MIT */
/*
 * Threads of the program that run the callbacks of streams. Such a thread waits for the eventfds of
 * all its streams at once, and runs the callbacks that are due in the order of the launches.
 *
 * A stream has one eventfd for all its callbacks, since file descriptors are few. The driver signals
 * it in the order of the stream, so the number of signals tells which callbacks are due. The eventfd
 * and the number outlive the reader: signals of callbacks that were dropped still come.
 */
#include "callback.h"
#include "handle.h"
#include "report.h"
#include "state.h"
#include "stream.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A thread serves one device, which has 127 streams for a process, and has wake. */
#define MAX_EVENTS 128
#define NO_READER "out of memory, of file descriptors (RLIMIT_NOFILE), or of epoll watches"

static struct reader *readers; /* under the lock, as all that follows */
pthread_cond_t report_changed = PTHREAD_COND_INITIALIZER;

/* ---- Threads ---- */

static uint64_t this_thread(void)
{
	return (uint64_t)pthread_self();
}

static void reader_close(struct reader *reader)
{
	if (reader->epoll >= 0)
		close(reader->epoll);
	if (reader->wake >= 0)
		close(reader->wake);
	reader->epoll = reader->wake = -1;
}

static struct reader *reader_new(uint64_t thread)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	struct epoll_event event = { .events = EPOLLIN };

	if (!reader)
		return NULL;
	reader->thread = thread;
	reader->last = &reader->first;
	reader->epoll = epoll_create1(EPOLL_CLOEXEC);
	reader->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (reader->epoll >= 0 && reader->wake >= 0 &&
	    !epoll_ctl(reader->epoll, EPOLL_CTL_ADD, reader->wake, &event))
		return reader;
	reader_close(reader);
	free(reader);
	return NULL;
}

static struct reader *reader_find(uint64_t thread)
{
	struct reader *reader = readers;

	while (reader && reader->thread != thread)
		reader = reader->next;
	return reader;
}

/* Made by the first call that names the thread. NULL if there is no memory. */
static struct reader *reader_of(uint64_t thread)
{
	struct reader *reader = reader_find(thread);

	if (reader)
		return reader;
	reader = reader_new(thread);
	if (reader) {
		reader->next = readers;
		readers = reader;
	}
	return reader;
}

/* Frees a reader that serves no stream and is in no call: it has no callback then. */
static void reader_put(struct reader *reader)
{
	struct reader **at = &readers;

	if (reader->streams || reader->calls)
		return;
	while (*at != reader)
		at = &(*at)->next;
	*at = reader->next;
	reader_close(reader);
	free(reader);
}

/* ---- Their callbacks ---- */

void callback_append(struct reader *reader, struct callback *callback)
{
	callback->reader = reader;
	callback->is_ended = false;
	callback->uses++;
	reader->blocking += callback->is_blocking;
	*reader->last = callback;
	reader->last = &callback->next;
}

void callback_put(struct callback *callback)
{
	if (!--callback->uses)
		free(callback);
}

void callback_due(struct callback *callback)
{
	callback->is_due = true;
	if (!callback->is_ended)
		eventfd_write(callback->reader->wake, 1);
}

void callback_end(struct callback *callback)
{
	struct callback **at;

	if (callback->is_ended)
		return;
	for (at = &callback->reader->first; *at != callback; at = &(*at)->next)
		;
	*at = callback->next;
	if (!*at)
		callback->reader->last = at;
	callback->reader->blocking -= callback->is_blocking;
	callback->is_ended = true;
	pthread_cond_broadcast(&report_changed);
	callback_put(callback);
}

/* Of a device and of a stream, where they are not NULL. One that runs ends when it returns. */
static void callbacks_drop(struct reader *reader, const struct device *device, const void *stream)
{
	struct callback *callback, *next;

	for (callback = reader->first; callback; callback = next) {
		next = callback->next;
		if (!callback->is_running && (!device || callback->device == device) &&
		    (!stream || callback->stream == stream))
			callback_end(callback);
	}
}

/* The eventfd of the stream was readable. The stream may have left meanwhile. */
static void callbacks_find_due(struct reader *reader, const struct object *stream)
{
	struct object *object = reader->streams;
	struct callback *callback;
	eventfd_t count;

	while (object && object != stream)
		object = object->next_of_reader;
	if (!object || eventfd_read(object->reached, &count))
		return;
	object->signals_seen += count;
	for (callback = reader->first; callback; callback = callback->next)
		if (callback->stream == object->handle && callback->signal &&
		    callback->signal <= object->signals_seen)
			callback->is_due = true;
}

static struct callback *callback_next_due(const struct reader *reader)
{
	struct callback *callback = reader->first;

	while (callback && (!callback->is_due || callback->is_running))
		callback = callback->next;
	return callback;
}

/* The lock is released meanwhile. */
static void callback_run(struct callback *callback)
{
	callback->is_running = true;
	state_unlock();
	if (callback->is_blocking)
		call_awaited(callback->fn, callback->data);
	else
		callback->fn(callback->data);
	state_lock();
	callback_end(callback);
}

/* Runs no more than are in the list now, for each may launch another. */
static unsigned int callbacks_run(struct reader *reader)
{
	unsigned int count = 0, most = 0;
	struct callback *callback;

	for (callback = reader->first; callback; callback = callback->next)
		most += !callback->is_running;
	for (; count < most && (callback = callback_next_due(reader)); count++)
		callback_run(callback);
	return count;
}

static int milliseconds_until(uint64_t deadline)
{
	uint64_t now = deadline_after(0);

	if (deadline == UINT64_MAX)
		return -1;
	return deadline > now ? (int)((deadline - now + 999999) / 1000000) : 0;
}

/* The lock is released meanwhile. False when the time is over, or the last stream has left. */
static bool reader_wait(struct reader *reader, uint64_t deadline)
{
	struct epoll_event events[MAX_EVENTS];
	bool has_left = false;
	eventfd_t count;
	int found, err;

	state_unlock();
	found = epoll_wait(reader->epoll, events, MAX_EVENTS, milliseconds_until(deadline));
	err = errno;
	state_lock();
	for (int i = 0; i < found; i++) {
		if (events[i].data.ptr)
			callbacks_find_due(reader, events[i].data.ptr);
		else if (!eventfd_read(reader->wake, &count))
			has_left = !reader->streams;
	}
	return !has_left && (found > 0 || (found < 0 && err == EINTR));
}

/* Looks at all streams first, also if a callback is known to be due. */
static aclError reader_run(struct reader *reader, uint64_t deadline)
{
	unsigned int count;
	bool goes_on;

	do {
		goes_on = reader_wait(reader, callback_next_due(reader) ? 0 : deadline);
		count = callbacks_run(reader);
	} while (!count && goes_on);
	if (count)
		return ACL_SUCCESS;
	if (!reader->streams)
		return call_fail(ACL_ERROR_RT_THREAD_SUBSCRIBE,
				 "this thread (%#lx) serves no stream: aclrtSubscribeReport() "
				 "gives it one", (unsigned long)this_thread());
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
	reader = reader_of(this_thread());
	if (reader) {
		reader->calls++;
		err = reader_run(reader, deadline_after(timeout));
		reader->calls--;
		reader_put(reader);
	} else {
		err = call_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, NO_READER);
	}
	state_unlock();
	return err;
}

aclError reports_check(const struct device *device, aclrtContext context, const void *stream)
{
	const struct callback *callback;
	const struct reader *reader;
	bool is_running;

	state_lock();
	reader = reader_find(this_thread());
	/* Of most threads none blocks. */
	callback = reader && reader->blocking ? reader->first : NULL;
	while (callback && !(callback->is_blocking &&
			     (callback->device == device || callback->context == context ||
			      callback->stream == stream)))
		callback = callback->next;
	is_running = callback && callback->is_running;
	state_unlock();
	if (!callback)
		return ACL_SUCCESS;
	return call_fail(ACL_ERROR_RT_PARAM_INVALID,
			 "a stream waits for a callback of type ACL_CALLBACK_BLOCK that this "
			 "thread %s", is_running ? "is in" :
			 "has to run: aclrtProcessReport() comes first");
}

/* ---- Streams ---- */

void report_end(struct object *object)
{
	struct reader *reader = object->reader;
	struct object **at;

	if (!reader)
		return;
	object->reader = NULL;
	for (at = &reader->streams; *at != object; at = &(*at)->next_of_reader)
		;
	*at = object->next_of_reader;
	/* By the child of a fork, the eventfd may be open when this process has closed it. */
	epoll_ctl(reader->epoll, EPOLL_CTL_DEL, object->reached, NULL);
	callbacks_drop(reader, NULL, object->handle);
	if (!reader->streams) {
		reader->device = NULL;
		eventfd_write(reader->wake, 1);
	}
	reader_put(reader);
}

void reports_end(struct device *device)
{
	struct object *object;
	size_t at = 0;

	state_lock();
	while ((object = object_next(HANDLE_WITH_STREAM, device, NULL, &at)))
		report_end(object);
	/* A thread in aclrtDestroyContext() may wait for one: that context is found no more. */
	for (struct reader *reader = readers; reader; reader = reader->next)
		callbacks_drop(reader, device, NULL);
	state_unlock();
}

/*
 * The descriptors are the parent's, too: they are closed, and not used. A callback that has forked
 * returns to callback_run(), which needs its reader; other threads, and libaccel's, are not here.
 */
static void reader_forget(struct reader *reader)
{
	bool is_here = reader->thread == this_thread();

	for (struct callback *callback = reader->first; callback; callback = callback->next) {
		callback->uses = 1;
		callback->is_running &= is_here;
	}
	callbacks_drop(reader, NULL, NULL);
	reader_close(reader);
	reader->thread = 0;
	reader->device = NULL;
	reader->streams = NULL;
	reader->calls *= is_here;
	reader_put(reader);
}

void reports_forget(void)
{
	struct reader *reader, *next;

	report_changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	for (reader = readers; reader; reader = next) {
		next = reader->next;
		reader_forget(reader);
	}
}

/* Under the lock. False if there is no file descriptor. */
static bool reader_watch(const struct reader *reader, struct object *object)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = object };

	if (object->reached < 0)
		object->reached = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return object->reached >= 0 &&
	       !epoll_ctl(reader->epoll, EPOLL_CTL_ADD, object->reached, &event);
}

/* Under the lock. */
static aclError subscribe(const struct on_stream *on, struct reader *reader)
{
	struct object *object = stream_object(on);

	if (!object || object->reader)
		return ACL_ERROR_RT_STREAM_SUBSCRIBE;
	if (reader && reader->device && reader->device != on->here.device)
		return ACL_ERROR_RT_THREAD_SUBSCRIBE;
	if (!reader || !reader_watch(reader, object))
		return ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
	object->reader = reader;
	object->next_of_reader = reader->streams;
	reader->streams = object;
	reader->device = on->here.device;
	return ACL_SUCCESS;
}

static aclError subscribe_fail(aclError err, uint64_t thread, aclrtStream stream)
{
	if (err == ACL_ERROR_RT_STREAM_SUBSCRIBE)
		return call_fail(err, "stream %p has a thread already: aclrtUnSubscribeReport() "
				 "comes first", stream);
	if (err == ACL_ERROR_RT_THREAD_SUBSCRIBE)
		return call_fail(err, "threadId: thread %#lx serves a stream of another device",
				 (unsigned long)thread);
	return call_fail(err, NO_READER);
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream)
{
	struct reader *reader;
	struct on_stream on;
	aclError err = stream_find(__func__, stream, &on);

	if (err)
		return err;
	state_lock();
	reader = reader_of(threadId);
	err = subscribe(&on, reader);
	if (reader)
		reader_put(reader);
	state_unlock();
	stream_leave(&on);
	return err ? subscribe_fail(err, threadId, stream) : ACL_SUCCESS;
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream)
{
	struct object *object;
	struct on_stream on;
	bool found;
	aclError err = stream_find(__func__, stream, &on);

	if (err)
		return err;
	state_lock();
	object = stream_object(&on);
	found = object && object->reader && object->reader->thread == threadId;
	if (found)
		report_end(object);
	state_unlock();
	stream_leave(&on);
	return found ? ACL_SUCCESS :
		       call_fail(ACL_ERROR_RT_THREAD_SUBSCRIBE,
				 "threadId: thread %#lx does not serve stream %p",
				 (unsigned long)threadId, stream);
}
