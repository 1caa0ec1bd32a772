/* SPDX-License-Identifier: MIT */
/*
 * Callbacks, run by a thread of the program that asks for them.
 *
 * A stream that has a thread for it has an eventfd, which counts the callbacks that it has come to,
 * and a list of them in order. The thread waits for the eventfds of all its streams at once. A
 * callback that blocks its stream keeps libaccel's thread of callbacks until it has returned.
 */
#include "private.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A thread that runs callbacks. */
struct reader {
	uint64_t thread;
	struct card *card; /* NULL as long as it has no stream */
	int epoll;
	int wake; /* eventfd: its last stream has left */
	unsigned int streams; /* that it serves */
	unsigned int waiting; /* aclrtProcessReport() under way; a callback can call it again */
	struct reader *next;
};

/* A stream whose callbacks a thread runs. */
struct report {
	struct reader *reader;
	unsigned int uses; /* by the table, and by the thread while it runs one */
	bool is_ended;
	int reached; /* eventfd */
	uint64_t due; /* of the list, that the stream has come to */
	unsigned int blocking; /* callbacks that block the stream */
	struct callback *first, **last;
	struct report *next;
};

/* One that blocks belongs to libaccel's thread when it is queued, any other to the list. */
struct callback {
	aclrtCallback fn;
	void *data;
	struct report *report; /* NULL: dropped, if it was not taken out before */
	bool is_blocking;
	bool is_done;
	struct callback *next;
};

static struct reader *readers; /* under the lock, as all that hangs on the two */
static struct report *reports;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER; /* a callback that blocks is */

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

/* Under the lock. Made by whoever comes first: the thread, or who names it. */
static struct reader *reader_of(uint64_t thread)
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

/* Under the lock: nobody has anything to do with it any more. */
static void reader_put(struct reader *reader)
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
	report->reached = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (report->reached >= 0 &&
	    !epoll_ctl(reader->epoll, EPOLL_CTL_ADD, report->reached, &event))
		return report;
	if (report->reached >= 0)
		close(report->reached);
	free(report);
	return NULL;
}

/* Under the lock. */
static void report_link(struct report *report, struct card *card)
{
	uint64_t count;

	report->reader->card = card;
	report->reader->streams++;
	/* From when its last stream had left. */
	if (read(report->reader->wake, &count, sizeof(count)) < 0)
		count = 0;
	report->next = reports;
	reports = report;
}

/* Under the lock. */
static void report_put(struct report *report)
{
	if (!--report->uses)
		free(report);
}

/* Under the lock. */
static void drop_callbacks(struct report *report)
{
	struct callback *next;

	for (struct callback *callback = report->first; callback; callback = next) {
		next = callback->next;
		callback->report = NULL;
		if (!callback->is_blocking)
			free(callback);
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
	pthread_cond_broadcast(&done);
	/* By itself it would go only when no forked process has the eventfd any more. */
	epoll_ctl(reader->epoll, EPOLL_CTL_DEL, report->reached, NULL);
	close(report->reached);
	report->is_ended = true;
	report_put(report);
	if (!--reader->streams) {
		reader->card = NULL;
		eventfd_write(reader->wake, 1);
	}
	reader_put(reader);
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
static bool forget_next(enum handle_kind kind, struct card *card)
{
	struct object *object;
	size_t at = 0;
	void *handle;

	while ((handle = handle_next(kind, card, NULL, &at))) {
		object = handle_find(kind, handle);
		if (!object->report)
			continue;
		report_unlink(object->report);
		object->report = NULL;
		return true;
	}
	return false;
}

void reports_end(struct card *card)
{
	state_lock();
	while (forget_next(HANDLE_STREAM, card) || forget_next(HANDLE_CONTEXT, card))
		;
	state_unlock();
}

/*
 * Under the lock, in a forked process: libaccel's thread, and what it held, are not here. The
 * descriptors are still the parent's: they are closed, and not used.
 */
void reports_forget(void)
{
	while (reports) {
		struct report *report = reports;

		reports = report->next;
		drop_callbacks(report);
		close(report->reached);
		free(report);
	}
	while (readers) {
		struct reader *reader = readers;

		readers = reader->next;
		reader_close(reader);
	}
	done = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

bool report_blocks(const struct report *report)
{
	/* The thread would wait for what it has to do itself. */
	return report && report->blocking && report->reader->thread == this_thread();
}

/* Under the lock. */
static aclError subscribe(const struct on_stream *on, aclrtStream stream, struct reader *reader)
{
	struct object *object = stream_object(on, stream);

	if (!object || object->report)
		return ACL_ERROR_RT_STREAM_SUBSCRIBE;
	if (!reader)
		return ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
	if (reader->card && reader->card != on->here.card)
		return ACL_ERROR_RT_THREAD_SUBSCRIBE;
	object->report = report_new(reader);
	if (!object->report)
		return ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
	report_link(object->report, on->here.card);
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

/* ---- Queueing ---- */

/* Under the lock. */
static void append(struct report *report, struct callback *callback)
{
	callback->report = report;
	report->blocking += callback->is_blocking;
	*report->last = callback;
	report->last = &callback->next;
}

/* Under the lock. */
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
	return true;
}

/* In libaccel's thread, when the stream has come so far. */
static void block(void *data, int status)
{
	struct callback *callback = data;

	(void)status;
	state_lock();
	if (callback->report)
		eventfd_write(callback->report->reached, 1);
	while (callback->report && !callback->is_done)
		state_wait(&done);
	state_unlock();
	free(callback);
}

/* It was not queued. Somebody may have dropped it meanwhile. */
static void take_back(const struct on_stream *on, aclrtStream stream, struct callback *callback,
		      bool is_blocking)
{
	struct object *object;
	bool found;

	state_lock();
	object = stream_object(on, stream);
	found = object && object->report && take_out(object->report, callback);
	if (found)
		object->report->blocking -= is_blocking;
	state_unlock();
	if (found || is_blocking)
		free(callback);
}

/* A descriptor of its own, for another thread may end the report; -1 if nobody runs callbacks. */
static int put_in(const struct on_stream *on, aclrtStream stream, struct callback *callback)
{
	struct object *object;
	int fd = -1;

	state_lock();
	object = stream_object(on, stream);
	/* Of a device that is being reset nobody would run it. */
	if (object && object->report && object->card->state == CARD_OPEN)
		fd = fcntl(object->report->reached, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		append(object->report, callback);
	state_unlock();
	return fd;
}

static aclError launch(const struct on_stream *on, aclrtStream stream, struct callback *callback)
{
	bool is_blocking = callback->is_blocking;
	int fd = put_in(on, stream, callback), err;

	if (fd < 0) {
		free(callback);
		return call_fail(ACL_ERROR_RT_STREAM_NO_CB_REG, "no thread serves stream %p: "
				 "aclrtSubscribeReport() comes first", stream);
	}
	if (is_blocking)
		err = accel_stream_add_callback(on->stream, block, callback);
	else
		err = accel_stream_eventfd(on->stream, fd);
	if (err)
		take_back(on, stream, callback, is_blocking);
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

/* Under the lock. */
static struct report *report_live(const void *found, const struct reader *reader)
{
	struct report *report = reports;

	while (report && (report != found || report->reader != reader))
		report = report->next;
	return report;
}

/* Under the lock: the next that the stream has come to, out of the list, or NULL. */
static struct callback *next_due(struct report *report)
{
	struct callback *callback = report->first;

	if (report->is_ended || !report->due || !callback)
		return NULL;
	report->due--;
	take_out(report, callback);
	return callback;
}

/* Under the lock, which is given up meanwhile. */
static void run(struct report *report, struct callback *callback)
{
	bool is_blocking = callback->is_blocking;

	state_unlock();
	callback->fn(callback->data);
	state_lock();
	if (!is_blocking) {
		free(callback);
		return;
	}
	report->blocking--;
	callback->is_done = true;
	pthread_cond_broadcast(&done);
}

/* How many have run. */
static unsigned int run_due(const void *found, const struct reader *reader)
{
	struct callback *callback;
	struct report *report;
	unsigned int count = 0;
	uint64_t more;

	state_lock();
	report = report_live(found, reader);
	if (report) {
		report->uses++;
		if (read(report->reached, &more, sizeof(more)) == sizeof(more))
			report->due += more;
		for (; (callback = next_due(report)); count++)
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

/* ---- In libaccel's own thread ---- */

struct host_call {
	aclrtHostFunc func;
	void *args;
};

static void call_host(void *data, int status)
{
	struct host_call call = *(struct host_call *)data;

	(void)status;
	free(data);
	call.func(call.args);
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
		*call = (struct host_call){ func, args };
		err = call_failed(accel_stream_add_callback(on.stream, call_host, call));
		/* It is called, and frees it, if and only if it was queued. */
		if (!err)
			call = NULL;
	}
	free(call);
	stream_leave(&on);
	return err;
}
