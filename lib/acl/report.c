/* SPDX-License-Identifier: MIT */
/*
 * Which thread of the program runs the callbacks of a stream.
 *
 * A stream that has a thread for it has an eventfd, which counts the callbacks that it has come to,
 * and a list of them in order. The thread waits for the eventfds of all its streams at once.
 */
#include "report.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct reader *readers; /* under the lock, as all that hangs on the two */
static struct report *reports;
pthread_cond_t report_done = PTHREAD_COND_INITIALIZER;

/* ---- Threads ---- */

uint64_t report_thread(void)
{
	return (uint64_t)pthread_self();
}

static void reader_close(struct reader *reader)
{
	if (reader->epoll >= 0)
		close(reader->epoll);
	if (reader->wake >= 0)
		close(reader->wake);
	free(reader);
}

static struct reader *reader_new(uint64_t thread)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	struct epoll_event event = { .events = EPOLLIN };

	if (!reader)
		return NULL;
	reader->thread = thread;
	reader->epoll = epoll_create1(EPOLL_CLOEXEC);
	reader->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (reader->epoll >= 0 && reader->wake >= 0 &&
	    !epoll_ctl(reader->epoll, EPOLL_CTL_ADD, reader->wake, &event))
		return reader;
	reader_close(reader);
	return NULL;
}

struct reader *reader_of(uint64_t thread)
{
	struct reader *reader = readers;

	while (reader && reader->thread != thread)
		reader = reader->next;
	if (reader)
		return reader;
	reader = reader_new(thread);
	if (reader) {
		reader->next = readers;
		readers = reader;
	}
	return reader;
}

void reader_put(struct reader *reader)
{
	struct reader **at = &readers;

	if (reader->streams || reader->waiting)
		return;
	while (*at != reader)
		at = &(*at)->next;
	*at = reader->next;
	reader_close(reader);
}

/* ---- Streams ---- */

static struct report *report_new(struct reader *reader)
{
	struct report *report = calloc(1, sizeof(*report));
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = report };

	if (!report)
		return NULL;
	report->last = &report->first;
	report->reader = reader;
	report->uses = 1;
	report->reached = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	if (report->reached >= 0 &&
	    !epoll_ctl(reader->epoll, EPOLL_CTL_ADD, report->reached, &event))
		return report;
	if (report->reached >= 0)
		close(report->reached);
	free(report);
	return NULL;
}

/* Under the lock. */
static void report_link(struct report *report, const struct here *here)
{
	uint64_t count;

	report->context = here->context;
	report->reader->device = here->device;
	report->reader->streams++;
	/* From when its last stream had left. */
	if (read(report->reader->wake, &count, sizeof(count)) < 0)
		count = 0;
	report->next = reports;
	reports = report;
}

void report_put(struct report *report)
{
	if (!--report->uses)
		free(report);
}

void callback_put(struct callback *callback)
{
	if (!--callback->uses)
		free(callback);
}

/* Under the lock. */
static void drop_callbacks(struct report *report)
{
	struct callback *next;

	for (struct callback *callback = report->first; callback; callback = next) {
		next = callback->next;
		callback->report = NULL;
		callback_put(callback);
	}
	report->first = NULL;
}

/* Under the lock: its thread, and a callback that blocks, are told. One that runs will be done. */
static void report_unlink(struct report *report)
{
	struct reader *reader = report->reader;
	struct report **at = &reports;

	while (*at != report)
		at = &(*at)->next;
	*at = report->next;
	drop_callbacks(report);
	pthread_cond_broadcast(&report_done);
	/* By itself it would go only when no forked process has the eventfd any more. */
	epoll_ctl(reader->epoll, EPOLL_CTL_DEL, report->reached, NULL);
	close(report->reached);
	report->is_ended = true;
	report_put(report);
	if (!--reader->streams) {
		reader->device = NULL;
		eventfd_write(reader->wake, 1);
	}
	reader_put(reader);
}

struct report *report_live(const void *found, const struct reader *reader)
{
	struct report *report = reports;

	while (report && (report != found || report->reader != reader))
		report = report->next;
	return report;
}

void report_end(struct report *report)
{
	if (!report)
		return;
	state_lock();
	report_unlink(report);
	state_unlock();
}

/* Under the lock. */
static bool forget_next(enum handle_kind kind, struct device *device)
{
	struct object *object;
	size_t at = 0;
	void *handle;

	while ((handle = handle_next(kind, device, NULL, &at))) {
		object = handle_find(kind, handle);
		if (!object->report)
			continue;
		report_unlink(object->report);
		object->report = NULL;
		return true;
	}
	return false;
}

void reports_end(struct device *device)
{
	state_lock();
	while (forget_next(HANDLE_STREAM, device) || forget_next(HANDLE_CONTEXT, device))
		;
	state_unlock();
}

/*
 * Under the lock, in a forked process: libaccel's thread, and what it held, are not here. The
 * descriptors are still the parent's: they are closed, and not used. A callback that has forked
 * returns to what runs it, which lets go of its report and its reader then.
 */
static void report_forget(struct report *report)
{
	drop_callbacks(report);
	close(report->reached);
	report->is_ended = true;
	report_put(report);
}

/* True if it is closed: the calls of other threads are not here. */
static bool reader_forget(struct reader *reader)
{
	bool is_running = reader->waiting && reader->thread == report_thread();

	if (!is_running) {
		reader_close(reader);
		return true;
	}
	close(reader->epoll);
	close(reader->wake);
	reader->epoll = reader->wake = -1;
	reader->thread = 0;
	reader->device = NULL;
	reader->streams = 0;
	return false;
}

void reports_forget(void)
{
	struct reader **at = &readers;

	while (reports) {
		struct report *report = reports;

		reports = report->next;
		report_forget(report);
	}
	while (*at) {
		struct reader *reader = *at, *next = reader->next;

		if (reader_forget(reader))
			*at = next;
		else
			at = &reader->next;
	}
	report_done = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

bool report_blocks(const struct report *report)
{
	/* The thread would wait for what it has to do itself. */
	return report && report->blocking && report->reader->thread == report_thread();
}

aclError reports_check(const struct device *device, aclrtContext context)
{
	const struct report *report;

	state_lock();
	for (report = reports; report; report = report->next)
		if ((report->reader->device == device || report->context == context) &&
		    report_blocks(report))
			break;
	state_unlock();
	if (!report)
		return ACL_SUCCESS;
	return call_fail(ACL_ERROR_RT_PARAM_INVALID,
			 "a stream waits for a callback of type ACL_CALLBACK_BLOCK that this "
			 "thread has to run: aclrtProcessReport() comes first");
}

/* Under the lock. */
static aclError subscribe(const struct on_stream *on, aclrtStream stream, struct reader *reader)
{
	struct object *object = stream_object(on, stream);

	if (!object || object->report)
		return ACL_ERROR_RT_STREAM_SUBSCRIBE;
	if (!reader)
		return ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
	if (reader->device && reader->device != on->here.device)
		return ACL_ERROR_RT_THREAD_SUBSCRIBE;
	object->report = report_new(reader);
	if (!object->report)
		return ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
	report_link(object->report, &on->here);
	return ACL_SUCCESS;
}

static aclError say(aclError err, uint64_t thread, aclrtStream stream)
{
	if (err == ACL_ERROR_RT_STREAM_SUBSCRIBE)
		return call_fail(err, "stream %p has a thread already: aclrtUnSubscribeReport() "
				 "comes first", stream);
	if (err == ACL_ERROR_RT_THREAD_SUBSCRIBE)
		return call_fail(err, "threadId: thread %#lx serves a stream of another device",
				 (unsigned long)thread);
	return call_fail(err, "out of memory, or of file descriptors");
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
	err = subscribe(&on, stream, reader);
	if (reader && err)
		reader_put(reader);
	state_unlock();
	stream_leave(&on);
	return err ? say(err, threadId, stream) : ACL_SUCCESS;
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
	object = stream_object(&on, stream);
	found = object && object->report && object->report->reader->thread == threadId;
	if (found) {
		report_unlink(object->report);
		object->report = NULL;
	}
	state_unlock();
	stream_leave(&on);
	return found ? ACL_SUCCESS :
		       call_fail(ACL_ERROR_RT_THREAD_SUBSCRIBE,
				 "threadId: thread %#lx does not serve stream %p",
				 (unsigned long)threadId, stream);
}
