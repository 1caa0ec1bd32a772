/* SPDX-License-Identifier: MIT */
/*
 * Callbacks. The driver wakes one thread of the library by an eventfd, and that thread runs what is
 * due. The driver knows no work that waits for the processor: so whoever queues behind a callback
 * waits until it has run, and every point is known as soon as its call returns.
 */
#define _GNU_SOURCE
#include "private.h"

#include <linux/paccel.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct call {
	struct call *next;
	struct accel_stream *stream;
	uint64_t ticket; /* all the work before it */
	bool quiet; /* the stream had failed before: the driver signals nothing */
	void (*fn)(void *data, int status);
	void *data;
};

/* There is one while any card that is open has had a callback. */
struct worker {
	pthread_t thread;
	unsigned int users;
	int fd;
	bool stop;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ran = PTHREAD_COND_INITIALIZER;
static struct call *calls; /* in the order in which they were added */
static struct worker *worker;

static __thread bool is_worker;
static __thread const struct accel_stream *current;

bool in_callbacks(void)
{
	return is_worker;
}

bool in_callback_of(const struct accel_stream *stream)
{
	return current == stream;
}

/* An eventfd takes 2^64 - 2 of these before it blocks. */
static void wake(const struct worker *sleeper)
{
	eventfd_write(sleeper->fd, 1);
}

/* ---- The thread ---- */

static bool is_due(const struct call *call)
{
	struct accel_device *dev = call->stream->dev;

	return call->quiet || dev->closing || ticket_status(dev, call->ticket) != -EINPROGRESS;
}

static struct call *take_due(void)
{
	struct call **at, *call;

	for (at = &calls; (call = *at); at = &call->next)
		if (is_due(call)) {
			*at = call->next;
			return call;
		}
	return NULL;
}

/* Behind a failure everything ends by itself, so a quiet call does not wait for the card. */
static int status_for(const struct call *call)
{
	struct accel_device *dev = call->stream->dev;
	int status = ticket_status(dev, call->ticket);

	if (status != -EINPROGRESS)
		return status;
	return call->quiet ? ticket_wait(dev, call->ticket, NEVER) : -ECANCELED;
}

static void settle(struct accel_stream *stream)
{
	__atomic_sub_fetch(&stream->pending, 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&ran);
}

/* Called with the lock, and run without it. */
static void run(struct call *call)
{
	struct accel_stream *stream = call->stream;

	pthread_mutex_unlock(&lock);
	current = stream;
	call->fn(call->data, status_for(call));
	free(call);
	/* In a child of a fork() that was made there, nothing is left to go on with. */
	if (!is_worker)
		pthread_exit(NULL);
	current = NULL;
	pthread_mutex_lock(&lock);
	settle(stream);
}

static void *work(void *arg)
{
	struct worker *self = arg;
	struct call *call;
	eventfd_t count;
	bool stop;

	is_worker = true;
	do {
		eventfd_read(self->fd, &count);
		pthread_mutex_lock(&lock);
		while (!self->stop && (call = take_due()))
			run(call);
		stop = self->stop;
		pthread_mutex_unlock(&lock);
	} while (!stop);
	return NULL;
}

static int start_thread(struct worker *made)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	err = pthread_create(&made->thread, NULL, work, made);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err ? fail(-ENOMEM, "cannot start the thread for callbacks: %s",
			  accel_strerror(err))
		   : 0;
}

static int worker_create(struct worker **made)
{
	struct worker *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return fail(-ENOMEM, "out of memory");
	new->fd = eventfd(0, EFD_CLOEXEC);
	err = new->fd < 0 ? fail(-errno, "cannot make an eventfd for callbacks: %s",
				 accel_strerror(errno))
			  : start_thread(new);
	if (err) {
		if (new->fd >= 0)
			close(new->fd);
		free(new);
		return err;
	}
	*made = new;
	return 0;
}

/* Under the lock. */
static int worker_use(struct accel_device *dev)
{
	int err = worker || dev->calls_back ? 0 : worker_create(&worker);

	if (err || dev->calls_back)
		return err;
	dev->calls_back = true;
	worker->users++;
	return 0;
}

static void worker_end(struct worker *ending)
{
	wake(ending);
	pthread_join(ending->thread, NULL);
	close(ending->fd);
	free(ending);
}

/* ---- What others ask for ---- */

int callbacks_wait(struct accel_stream *stream, uint64_t deadline)
{
	struct timespec when = { .tv_sec = (time_t)(deadline / 1000000000),
				 .tv_nsec = (long)(deadline % 1000000000) };
	int err = 0;

	if (!__atomic_load_n(&stream->pending, __ATOMIC_ACQUIRE))
		return 0;
	if (is_worker)
		return fail(-EDEADLK, "a callback cannot wait for a stream that has a callback to "
				      "run: it would run in the same thread");
	pthread_mutex_lock(&lock);
	while (stream->pending && err != ETIMEDOUT)
		err = deadline > INT64_MAX
			      ? pthread_cond_wait(&ran, &lock)
			      : pthread_cond_clockwait(&ran, &lock, CLOCK_MONOTONIC, &when);
	err = stream->pending ? -ETIME : 0;
	pthread_mutex_unlock(&lock);
	return err;
}

static bool has_calls(const struct accel_device *dev)
{
	const struct accel_stream *stream;

	for (stream = dev->streams; stream; stream = stream->next)
		if (stream->pending)
			return true;
	return false;
}

void callbacks_end(struct accel_device *dev)
{
	struct worker *ending = NULL;

	pthread_mutex_lock(&lock);
	if (dev->calls_back) {
		dev->closing = true;
		wake(worker);
		while (has_calls(dev))
			pthread_cond_wait(&ran, &lock);
		dev->calls_back = false;
		if (!--worker->users) {
			ending = worker;
			ending->stop = true;
			worker = NULL;
		}
	}
	pthread_mutex_unlock(&lock);
	if (ending)
		worker_end(ending);
}

/* ---- Adding one ---- */

/* From now on work of the stream waits. */
static int announce(struct accel_stream *stream, int *fd)
{
	int err;

	pthread_mutex_lock(&lock);
	err = worker_use(stream->dev);
	if (!err) {
		*fd = worker->fd;
		__atomic_add_fetch(&stream->pending, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return err;
}

static void withdraw(struct accel_stream *stream)
{
	pthread_mutex_lock(&lock);
	settle(stream);
	pthread_mutex_unlock(&lock);
}

/* The thread may have been woken before it could find the call. */
static void publish(struct call *call)
{
	struct call **end = &calls;

	pthread_mutex_lock(&lock);
	while (*end)
		end = &(*end)->next;
	call->next = NULL;
	*end = call;
	if (is_due(call))
		wake(worker);
	pthread_mutex_unlock(&lock);
}

/* It waits for all before the signal: points of a stream follow each other without a gap. */
static int queue_signal(struct call *call, int fd)
{
	struct accel_stream *stream = call->stream;
	struct submitted done;
	struct paccel_op op;
	int err;

	op_init_eventfd(&op, fd);
	err = stream_signal(stream, &op, &done);
	if (!err)
		call->ticket = ticket_make(stream->number, ticket_point(done.ticket) - 1);
	if (err != -ECANCELED)
		return err;
	call->ticket = ticket_make(stream->number,
				   __atomic_load_n(&stream->submitted, __ATOMIC_ACQUIRE));
	call->quiet = true;
	return 0;
}

int accel_stream_add_callback(struct accel_stream *stream, void (*fn)(void *data, int status),
			      void *data)
{
	KEEP_ERRNO;
	struct call *call;
	int err = stream_check(stream), fd;

	if (err)
		return err;
	if (!fn)
		return fail(-EINVAL, "fn is NULL: it has to be a function");
	call = malloc(sizeof(*call));
	if (!call)
		return fail(-ENOMEM, "out of memory");
	*call = (struct call){ .stream = stream, .fn = fn, .data = data };
	err = announce(stream, &fd);
	if (!err) {
		err = queue_signal(call, fd);
		if (!err) {
			publish(call);
			return 0;
		}
		withdraw(stream);
		err = submit_error(stream, err);
	}
	free(call);
	return err;
}

/* ---- fork ---- */

void callbacks_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

void callbacks_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* The thread stayed with the parent, and so did those that wait for it. */
void callbacks_in_child(void)
{
	struct call *call;

	while ((call = calls)) {
		calls = call->next;
		free(call);
	}
	if (worker)
		close(worker->fd);
	free(worker);
	worker = NULL;
	is_worker = false;
	current = NULL;
	ran = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	pthread_mutex_unlock(&lock);
}
