/* SPDX-License-Identifier: MIT */
/*
 * Callbacks. The driver wakes a thread of the library by an eventfd, and that thread runs what is
 * due. The driver knows no work that waits for the processor: so a call that queues behind a callback
 * waits until it has run, and every point is known as soon as its call returns.
 *
 * A callback that blocks holds its own stream only: as long as a stream has calls to run and none is
 * running, one thread, the reader, waits for the eventfd. A thread that is about to run a callback
 * makes another one the reader if there are such streams, and so does a call that is added. Threads
 * are started when there is none for it; MAX_SPARE of those that are not needed are kept.
 */
#define _GNU_SOURCE
#include "api.h"
#include "callback.h"
#include "device.h"
#include "error.h"
#include "stream.h"
#include "table.h"

#include <linux/paccel.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct call {
	struct call *next;
	struct stream *stream;
	uint64_t ticket; /* all the work before it */
	void (*fn)(void *data, int status);
	void *data;
};

/* There is one while any device that is open has had a callback. */
struct worker {
	struct thread *threads;
	pthread_cond_t wanted; /* spare threads wait for it */
	unsigned int spare;
	unsigned int starting; /* not in threads yet */
	unsigned int users;
	int fd;
	bool has_reader; /* or one that was called, and will look for calls first */
	bool is_called; /* a spare thread, to be the reader */
	bool stop;
};

struct thread {
	struct thread *next;
	struct worker *worker;
	pthread_t id;
};

#define MAX_SPARE 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ran = PTHREAD_COND_INITIALIZER;
static struct call *calls; /* in the order in which they were added */
static struct call *running;
static struct worker *worker;

static __thread bool is_worker;
static __thread struct call *current;

bool in_callbacks(void)
{
	return is_worker;
}

bool in_callback_of(const struct stream *stream)
{
	return current && current->stream == stream;
}

/* An eventfd takes 2^64 - 2 of these before it blocks. */
static void wake(const struct worker *sleeper)
{
	eventfd_write(sleeper->fd, 1);
}

/* ---- The threads ---- */

/* Under the lock, as all that follows. */
static bool is_running(const struct stream *stream)
{
	const struct call *call = running;

	while (call && call->stream != stream)
		call = call->next;
	return call;
}

static bool is_due(const struct call *call)
{
	struct device *dev = call->stream->dev;

	return dev->closing || ticket_status(dev, call->ticket) != -EINPROGRESS;
}

/* The link to the first call that can be run now. Callbacks of one stream run one after the other. */
static struct call **find_due(void)
{
	struct call **at;

	for (at = &calls; *at; at = &(*at)->next)
		if (!is_running((*at)->stream) && is_due(*at))
			return at;
	return NULL;
}

static void unlink_call(struct call **at)
{
	*at = (*at)->next;
}

static int status_for(const struct call *call)
{
	int status = ticket_status(call->stream->dev, call->ticket);

	return status == -EINPROGRESS ? -ECANCELED : status;
}

static void settle(struct stream *stream)
{
	__atomic_sub_fetch(&stream->pending, 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&ran);
}

static void *work(void *arg);

/* The thread is the reader: claim_thread() before, then without the lock. Returns an errno. */
static int start_thread(struct worker *owner)
{
	struct thread *thread = malloc(sizeof(*thread));
	sigset_t all, before;
	pthread_t id;
	int err = ENOMEM;

	if (thread) {
		thread->worker = owner;
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, &before);
		err = pthread_create(&id, NULL, work, thread);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (err) {
		free(thread);
		pthread_mutex_lock(&lock);
		owner->starting--;
		/* A thread that has become spare meanwhile took this one for the reader. */
		owner->has_reader = owner->is_called = owner->spare;
		pthread_cond_broadcast(&owner->wanted);
		pthread_cond_broadcast(&ran);
		pthread_mutex_unlock(&lock);
	}
	return err;
}

static void claim_thread(struct worker *owner)
{
	owner->has_reader = true;
	owner->starting++;
}

static void thread_has_started(struct thread *thread)
{
	struct worker *owner = thread->worker;

	thread->id = pthread_self();
	thread->next = owner->threads;
	owner->threads = thread;
	owner->starting--;
	pthread_cond_broadcast(&ran);
}

/*
 * Called with the lock, and runs the call without it. If no thread can be started the callbacks of
 * other streams wait for this one.
 */
static void run(struct call *call, struct worker *self, bool needs_thread)
{
	struct call **at;

	current = call;
	pthread_mutex_unlock(&lock);
	if (needs_thread)
		start_thread(self);
	call->fn(call->data, status_for(call));
	current = NULL;
	/* In a child of a fork() that was made there, nothing is left to go on with. */
	if (!is_worker) {
		free(call);
		pthread_exit(NULL);
	}
	pthread_mutex_lock(&lock);
	for (at = &running; *at != call; at = &(*at)->next)
		;
	unlink_call(at);
	settle(call->stream);
	free(call);
}

/* Whether the caller has to start a thread. */
static bool call_reader(struct worker *owner)
{
	const struct call *call = calls;

	while (call && is_running(call->stream))
		call = call->next;
	if (!call || owner->has_reader)
		return false;
	if (!owner->spare) {
		claim_thread(owner);
		return true;
	}
	owner->has_reader = owner->is_called = true;
	pthread_cond_signal(&owner->wanted);
	return false;
}

/* Nothing for a worker that is not published: another thread's is used instead, and it is ended. */
static void run_due(struct worker *self)
{
	struct call **due, *call;

	while (!self->stop && worker == self && (due = find_due())) {
		call = *due;
		unlink_call(due);
		call->next = running;
		running = call;
		run(call, self, call_reader(self));
	}
}

static void retire(struct thread *thread)
{
	struct thread **at = &thread->worker->threads;

	while (*at != thread)
		at = &(*at)->next;
	*at = thread->next;
	pthread_detach(pthread_self());
	free(thread);
}

/* Another thread is the reader; false: this one is not needed. */
static bool wait_for_turn(struct worker *self)
{
	if (self->spare == MAX_SPARE)
		return false;
	self->spare++;
	while (!self->is_called && !self->stop)
		pthread_cond_wait(&self->wanted, &lock);
	self->spare--;
	self->is_called = false;
	return true;
}

/* Calls may be due already. */
static void read_eventfd(struct worker *self)
{
	eventfd_t count;

	self->has_reader = true;
	pthread_mutex_unlock(&lock);
	eventfd_read(self->fd, &count);
	pthread_mutex_lock(&lock);
}

static void *work(void *arg)
{
	struct thread *thread = arg;
	struct worker *self = thread->worker;
	bool is_reader = true;

	is_worker = true;
	pthread_mutex_lock(&lock);
	thread_has_started(thread);
	while (!self->stop) {
		if (is_reader)
			self->has_reader = false;
		run_due(self);
		if (self->stop)
			break;
		is_reader = !self->has_reader;
		if (is_reader) {
			read_eventfd(self);
		} else if (wait_for_turn(self)) {
			is_reader = true;
		} else {
			retire(thread);
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int worker_create(struct worker **made)
{
	struct worker *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return fail(-ENOMEM, "out of memory");
	pthread_cond_init(&new->wanted, NULL);
	new->fd = eventfd(0, EFD_CLOEXEC);
	if (new->fd < 0) {
		err = fail(-errno, "cannot make an eventfd for callbacks: %s",
			   accel_strerror(errno));
		goto free_worker;
	}
	claim_thread(new);
	err = start_thread(new);
	if (err) {
		err = fail(-ENOMEM, "cannot start the thread for callbacks: %s",
			   accel_strerror(err));
		goto close_eventfd;
	}
	*made = new;
	return 0;

close_eventfd:
	close(new->fd);
free_worker:
	free(new);
	return err;
}

/* Under the lock. */
static void worker_use(struct device *dev)
{
	worker->users += !dev->calls_back;
	dev->calls_back = true;
}

static void worker_end(struct worker *ending)
{
	struct thread *thread;

	pthread_mutex_lock(&lock);
	ending->stop = true;
	while (ending->starting)
		pthread_cond_wait(&ran, &lock);
	pthread_mutex_unlock(&lock);
	wake(ending);
	pthread_cond_broadcast(&ending->wanted);
	while ((thread = ending->threads)) {
		ending->threads = thread->next;
		pthread_join(thread->id, NULL);
		free(thread);
	}
	pthread_cond_destroy(&ending->wanted);
	close(ending->fd);
	free(ending);
}

/* ---- What others ask for ---- */

int callbacks_wait(struct stream *stream, uint64_t deadline)
{
	struct timespec when = { .tv_sec = (time_t)(deadline / 1000000000),
				 .tv_nsec = (long)(deadline % 1000000000) };
	int err = 0;

	if (!__atomic_load_n(&stream->pending, __ATOMIC_ACQUIRE))
		return 0;
	if (is_worker)
		return fail(-EDEADLK, "a callback cannot wait for a stream that has a callback to "
				      "run: the two might wait for each other");
	pthread_mutex_lock(&lock);
	while (stream->pending && err != ETIMEDOUT)
		err = deadline > INT64_MAX
			      ? pthread_cond_wait(&ran, &lock)
			      : pthread_cond_clockwait(&ran, &lock, CLOCK_MONOTONIC, &when);
	err = stream->pending ? -ETIME : 0;
	pthread_mutex_unlock(&lock);
	return err;
}

static bool has_calls(const struct device *dev)
{
	const struct stream *stream;

	for (stream = READ_SHARED(dev->streams); stream; stream = stream->next)
		if (stream->pending)
			return true;
	return false;
}

void callbacks_end(struct device *dev)
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
			worker = NULL;
		}
	}
	pthread_mutex_unlock(&lock);
	if (ending)
		worker_end(ending);
}

/* ---- Adding one ---- */

/* With a worker, which is the one that was made unless another thread was faster. */
static bool announce_to(struct worker **made, struct stream *stream, int *fd)
{
	bool ready;

	pthread_mutex_lock(&lock);
	if (!worker) {
		worker = *made;
		*made = NULL;
	}
	ready = worker;
	if (ready) {
		worker_use(stream->dev);
		*fd = worker->fd;
		__atomic_add_fetch(&stream->pending, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return ready;
}

/* From now on work of the stream waits. A worker is made without the lock. */
static int announce(struct stream *stream, int *fd)
{
	struct worker *made = NULL;
	int err = 0;

	while (!err && !announce_to(&made, stream, fd))
		err = worker_create(&made);
	if (made)
		worker_end(made);
	return err;
}

static void withdraw(struct stream *stream)
{
	pthread_mutex_lock(&lock);
	settle(stream);
	pthread_mutex_unlock(&lock);
}

/* The thread may have been woken before it could find the call. */
static void publish(struct call *call)
{
	struct call **end = &calls;
	struct worker *used;
	bool needs_thread;

	pthread_mutex_lock(&lock);
	used = worker;
	while (*end)
		end = &(*end)->next;
	call->next = NULL;
	*end = call;
	needs_thread = call_reader(used);
	if (is_due(call))
		wake(used);
	pthread_mutex_unlock(&lock);
	if (needs_thread)
		start_thread(used);
}

/* It waits for all before the signal: points of a stream follow each other without a gap. */
static int queue_signal(struct call *call, int fd)
{
	struct stream *stream = call->stream;
	struct submitted done;
	struct paccel_op op;
	int err;

	op_init_eventfd(&op, fd);
	err = stream_signal(stream, &op, &done);
	if (!err)
		call->ticket = ticket_make(stream->number, ticket_point(done.ticket) - 1);
	return err;
}

int accel_stream_add_callback(struct accel_stream *handle, void (*fn)(void *data, int status),
			      void *data)
{
	KEEP_ERRNO;
	struct stream *stream;
	struct call *call;
	int err = stream_get(handle, &stream), fd = -1;

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

/* But the one that this thread is in. */
static void free_calls(struct call **list)
{
	struct call *call;

	while ((call = *list)) {
		*list = call->next;
		if (call != current)
			free(call);
	}
}

/* The threads stayed with the parent, and so did those that wait for them. */
void callbacks_in_child(void)
{
	struct thread *thread;

	free_calls(&calls);
	free_calls(&running);
	if (worker)
		close(worker->fd);
	while (worker && (thread = worker->threads)) {
		worker->threads = thread->next;
		free(thread);
	}
	free(worker);
	worker = NULL;
	is_worker = false;
	ran = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	pthread_mutex_unlock(&lock);
}
