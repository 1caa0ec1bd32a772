/* SPDX-License-Identifier: MIT */
/*
 * Streams: queues of the driver, and what can be known of their points. The completion page tells
 * without a system call what has ended; who has to wait asks the driver.
 */
#include "api.h"
#include "callback.h"
#include "device.h"
#include "error.h"
#include "event.h"
#include "host.h"
#include "stream.h"

#include <linux/paccel.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define STORE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELEASE)

_Static_assert(PACCEL_PAGE_SLOTS <= 1 << TICKET_BITS, "a ticket has room for every stream");

/* The driver writes 64 bits whole, but a program of 32 bits cannot read them so. */
static const bool page_is_whole = sizeof(void *) >= sizeof(uint64_t);

/* ---- Points ---- */

/* What was queued when the device went, or lost its memory, may still be ending. */
static int page_error(const struct paccel_page *page)
{
	switch (__atomic_load_n(&page->state, __ATOMIC_RELAXED)) {
	case PACCEL_PAGE_RUNNING:
		return 0;
	case PACCEL_PAGE_GONE:
		return -ENODEV;
	case PACCEL_PAGE_LOST:
		return -ESTALE;
	default:
		return -EPERM;
	}
}

/* What is asked of the page was written before done was. */
static int page_status(const struct paccel_page *page, uint32_t stream, uint64_t point)
{
	const struct paccel_slot *slot = &page->slots[stream - 1];
	uint64_t failed;
	int err;

	if (LOAD(slot->done) < point)
		return -EINPROGRESS;
	err = page_error(page);
	if (err)
		return err;
	failed = LOAD(slot->failed_point);
	return failed && point >= failed ? LOAD(slot->error) : 0;
}

static uint64_t driver_time(const struct device *dev, uint64_t deadline)
{
	int64_t when;

	if (deadline > INT64_MAX || __builtin_add_overflow((int64_t)deadline, dev->clock_shift, &when))
		return INT64_MAX;
	return when < 0 ? 0 : (uint64_t)when;
}

/* A point behind one that failed was cancelled: what the stream failed with says more. */
static int first_error(const struct device *dev, const struct paccel_point *point)
{
	const struct paccel_page *page = LOAD(dev->page);
	int err = point->error == -ECANCELED ? LOAD(page->slots[point->stream - 1].error) : 0;

	return err ? err : point->error;
}

int ticket_wait(struct device *dev, uint64_t ticket, uint64_t deadline)
{
	KEEP_ERRNO;
	struct paccel_point point = { .stream = ticket_stream(ticket),
				      .point = ticket_point(ticket) };
	struct paccel_wait cmd = {
		.size = sizeof(cmd),
		.deadline_ns = driver_time(dev, deadline),
		.points = (uintptr_t)&point,
		.nr_points = 1,
		.point_size = sizeof(point),
	};
	int err = device_ioctl(dev, PACCEL_IOC_WAIT, &cmd);

	/* The library destroys a stream when it has drained, not before. Its slot knows what came of it. */
	if (err == -ENOENT)
		return page_is_whole ? page_status(LOAD(dev->page), point.stream, point.point) : 0;
	return err ? err : first_error(dev, &point);
}

/* A wait for no point returns at once. */
static int ask_driver(struct device *dev)
{
	struct paccel_wait cmd = { .size = sizeof(cmd),
				   .point_size = sizeof(struct paccel_point) };

	return device_ioctl(dev, PACCEL_IOC_WAIT, &cmd);
}

int device_state(struct device *dev)
{
	const struct paccel_page *page = LOAD(dev->page);

	return page ? page_error(page) : ask_driver(dev);
}

int ticket_status(struct device *dev, uint64_t ticket)
{
	int err;

	if (page_is_whole)
		return page_status(LOAD(dev->page), ticket_stream(ticket), ticket_point(ticket));
	err = ticket_wait(dev, ticket, 0);
	return err == -ETIME ? -EINPROGRESS : err;
}

bool ticket_passed(struct device *dev, uint64_t ticket)
{
	return !ticket || !ticket_status(dev, ticket);
}

/* ---- Checks ---- */

int stream_get(const struct accel_stream *handle, struct stream **stream)
{
	int err;

	*stream = handle_get(HANDLE_STREAM, handle);
	if (!*stream)
		return handle_error(HANDLE_STREAM, handle);
	err = device_usable((*stream)->dev);
	if (err)
		return err;
	if (LOAD((*stream)->pending) && in_callback_of(*stream))
		return fail(-EDEADLK, "a callback of this stream cannot call into it: "
				      "it would wait for itself");
	return 0;
}

int stream_check_of(const struct stream *stream, const struct device *dev)
{
	if (stream->dev == dev)
		return 0;
	return fail(-EINVAL, "stream belongs to %s, not to %s", stream->dev->name, dev->name);
}

int stream_get_of(const struct accel_stream *handle, const struct device *dev,
		  struct stream **stream)
{
	return stream_get(handle, stream) ?: stream_check_of(*stream, dev);
}

int stream_error(const struct stream *stream, int err)
{
	const char *name = stream->dev->name;

	switch (err) {
	case -ENODEV:
	case -ESTALE:
	case -EPERM:
		return general_error(stream->dev, err);
	case -ETIME:
		return fail(err, "%s: the stream is not done by the deadline", name);
	default:
		return fail(err,
			    "%s: work of the stream failed (%s); it takes no more until "
			    "accel_stream_clear()",
			    name, accel_strerror(err));
	}
}

/* ---- Submission ---- */

void op_init(struct paccel_op *op, uint32_t code)
{
	memset(op, 0, sizeof(*op));
	op->op = code;
}

void op_init_eventfd(struct paccel_op *op, int fd)
{
	op_init(op, PACCEL_OP_EVENTFD);
	op->flags = PACCEL_OP_ALWAYS;
	op->fd.fd = fd;
}

/* Threads that submit at once may come here in any order. */
static void raise_to(uint64_t *at, uint64_t point)
{
	uint64_t seen = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (seen < point && !__atomic_compare_exchange_n(at, &seen, point, true,
							    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

static int submit(struct stream *stream, const struct paccel_op *ops, uint32_t nr,
		  struct submitted *done)
{
	struct paccel_submit cmd = {
		.size = sizeof(cmd),
		.stream = stream->number,
		.nr_ops = nr,
		.ops = (uintptr_t)ops,
		.op_size = sizeof(*ops),
		.bad_op = nr,
	};
	int err = device_ioctl(stream->dev, PACCEL_IOC_SUBMIT, &cmd);

	done->bad = err ? cmd.bad_op : nr;
	if (err)
		return err;
	done->ticket = ticket_make(stream->number, cmd.point);
	raise_to(&stream->submitted, cmd.point);
	return 0;
}

int stream_submit(struct stream *stream, const struct paccel_op *ops, uint32_t nr,
		  struct submitted *done)
{
	int err;

	done->bad = nr;
	err = callbacks_wait(stream, NEVER);
	if (err)
		return err;
	err = submit(stream, ops, nr, done);
	if (!err)
		raise_to(&stream->last, ticket_point(done->ticket));
	return err;
}

int stream_signal(struct stream *stream, const struct paccel_op *op, struct submitted *done)
{
	return submit(stream, op, 1, done);
}

int stream_position(struct stream *stream, uint64_t *ticket)
{
	int err = LOAD(stream->pending) ? callbacks_wait(stream, NEVER) : 0;

	*ticket = ticket_make(stream->number, LOAD(stream->last));
	if (!err && ticket_status(stream->dev, *ticket) != -EINPROGRESS)
		*ticket = 0;
	return err;
}

static int wait_point(struct stream *stream, uint32_t other, uint64_t point, uint64_t *ticket)
{
	struct submitted done;
	struct paccel_op op;
	int err;

	op_init(&op, PACCEL_OP_WAIT_POINT);
	op.wait.stream = other;
	op.wait.point = point;
	err = stream_submit(stream, &op, 1, &done);
	/* The other one has drained and is destroyed. */
	if (err == -ENOENT && !done.bad)
		return 0;
	if (!err)
		*ticket = done.ticket;
	return err;
}

int stream_wait_points(struct stream *stream, const uint64_t points[1 << TICKET_BITS],
		       uint64_t *ticket)
{
	int err = 0;

	*ticket = ticket_make(stream->number, LOAD(stream->last));
	for (uint32_t other = 1; other < 1 << TICKET_BITS && !err; other++)
		if (points[other] && other != stream->number)
			err = wait_point(stream, other, points[other], ticket);
	return err;
}

int stream_device_state(const struct stream *stream)
{
	int err = page_error(LOAD(stream->dev->page));

	return err ? general_error(stream->dev, err) : 0;
}

int submit_error(const struct stream *stream, int err)
{
	const char *name = stream->dev->name;

	if (err == -EDEADLK)
		return err;
	if (err == -ECANCELED)
		return fail(err,
			    "%s: the stream has failed before (%s): nothing is queued until "
			    "accel_stream_clear()",
			    name, accel_strerror(LOAD(stream->slot->error)));
	if (err == -ENOENT)
		return fail(-EINVAL, "stream was destroyed by another thread");
	return general_error(stream->dev, err);
}

/* ---- Create and destroy ---- */

/* A number that no other thread of the process has or had. */
static uint64_t this_thread(void)
{
	static uint64_t last;
	static __thread uint64_t number;

	if (!number)
		number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	return number;
}

static int destroy_in_driver(struct device *dev, uint32_t number)
{
	struct paccel_stream_destroy cmd = { .size = sizeof(cmd), .stream = number };

	return device_ioctl(dev, PACCEL_IOC_STREAM_DESTROY, &cmd);
}

static bool has_drained(struct stream *stream)
{
	uint64_t ticket = ticket_make(stream->number, LOAD(stream->submitted));

	return !LOAD(stream->pending) && ticket_status(stream->dev, ticket) != -EINPROGRESS;
}

/* A drained stream, which only this thread destroys in the driver; or NULL. */
static struct stream *take_drained(struct device *dev)
{
	struct stream *stream;

	pthread_mutex_lock(&dev->lock);
	for (stream = dev->streams; stream; stream = stream->next)
		if (stream->state == STREAM_DRAINING && has_drained(stream)) {
			stream->state = STREAM_ENDING;
			break;
		}
	pthread_mutex_unlock(&dev->lock);
	return stream;
}

/*
 * A stream is destroyed in the driver when it has drained, not before: another thread may wait
 * for an event of the stream, and the driver refuses waits for a stream that it does not know.
 */
static void reap(struct device *dev)
{
	struct stream *stream;

	while ((stream = take_drained(dev))) {
		destroy_in_driver(dev, stream->number);
		pthread_mutex_lock(&dev->lock);
		stream->state = STREAM_UNUSED;
		dev->streams_ended++;
		pthread_mutex_unlock(&dev->lock);
	}
}

/* Without the lock. If several threads map the page, one mapping remains. */
static int map_page(struct device *dev, uint64_t offset)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	const struct paccel_page *page, *none = NULL;

	if (LOAD(dev->page))
		return 0;
	page = mmap(NULL, size, PROT_READ, MAP_SHARED, dev->fd, (off_t)offset);
	if (page == MAP_FAILED)
		return errno == EAGAIN ? -ENOMEM : -errno;
	if (page->version != PACCEL_PAGE_VERSION) {
		munmap((void *)page, size);
		return -EOPNOTSUPP;
	}
	keep_from_children((void *)page, size);
	if (!__atomic_compare_exchange_n(&dev->page, &none, page, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		munmap((void *)page, size);
	return 0;
}

/* Under the device's lock. */
static struct stream *stream_allocate(struct device *dev)
{
	struct stream *stream;

	for (stream = dev->streams; stream; stream = stream->next)
		if (stream->state == STREAM_UNUSED)
			return stream;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return NULL;
	stream->dev = dev;
	stream->next = dev->streams;
	STORE(dev->streams, stream);
	return stream;
}

/* Under the device's lock. */
static int stream_init(struct device *dev, const struct paccel_stream_create *cmd,
		       struct accel_stream **handle)
{
	struct stream *stream = stream_allocate(dev);

	if (!stream)
		return -ENOMEM;
	stream->number = cmd->stream;
	stream->slot = &LOAD(dev->page)->slots[cmd->stream - 1];
	stream->last = stream->submitted = cmd->point;
	STORE(stream->thread, this_thread());
	stream->handle = handle_create(HANDLE_STREAM, stream);
	if (!stream->handle)
		return -ENOMEM;
	stream->state = STREAM_LIVE;
	*handle = stream->handle;
	return 0;
}

static int stream_make(struct device *dev, struct accel_stream **handle)
{
	struct paccel_stream_create cmd = { .size = sizeof(cmd) };
	int err = device_ioctl(dev, PACCEL_IOC_STREAM_CREATE, &cmd);

	if (err)
		return err;
	err = map_page(dev, cmd.page_offset);
	if (!err) {
		pthread_mutex_lock(&dev->lock);
		err = stream_init(dev, &cmd, handle);
		pthread_mutex_unlock(&dev->lock);
	}
	if (err)
		destroy_in_driver(dev, cmd.stream);
	return err;
}

/* Whether a thread is about to give a number back, or has done so since *ended was read. */
static bool is_ending(struct device *dev, uint64_t *ended)
{
	const struct stream *stream;
	bool changed;

	pthread_mutex_lock(&dev->lock);
	changed = dev->streams_ended != *ended;
	*ended = dev->streams_ended;
	for (stream = dev->streams; stream && stream->state != STREAM_ENDING; stream = stream->next)
		;
	pthread_mutex_unlock(&dev->lock);
	return stream || changed;
}

int accel_stream_create(struct accel_device *handle, struct accel_stream **stream)
{
	KEEP_ERRNO;
	struct device *dev;
	uint64_t ended = 0;
	int err;

	if (!stream)
		return fail(-EINVAL, "stream is NULL: the handle has to go somewhere");
	*stream = NULL;
	err = device_get(handle, &dev);
	if (err)
		return err;
	reap(dev);
	is_ending(dev, &ended);
	while ((err = stream_make(dev, stream)) == -ENOSPC && is_ending(dev, &ended)) {
		sched_yield();
		reap(dev);
	}
	if (err == -ENOSPC)
		return fail(err,
			    "%s: no more streams for this handle: %" PRIu32
			    " are the most, those that are destroyed and still busy count",
			    dev->name, dev->max_streams);
	return err ? general_error(dev, err) : 0;
}

int accel_stream_destroy(struct accel_stream *handle)
{
	KEEP_ERRNO;
	struct stream *stream;
	int err = stream_get(handle, &stream);

	if (err)
		return err;
	/* Another thread may be faster. */
	if (!handle_end(HANDLE_STREAM, handle))
		return handle_error(HANDLE_STREAM, handle);
	pthread_mutex_lock(&stream->dev->lock);
	stream->state = STREAM_DRAINING;
	pthread_mutex_unlock(&stream->dev->lock);
	reap(stream->dev);
	return 0;
}

void streams_end_handles(struct device *dev)
{
	for (const struct stream *stream = dev->streams; stream; stream = stream->next)
		handle_end(HANDLE_STREAM, stream->handle);
}

void streams_free(struct device *dev)
{
	struct stream *stream;

	while ((stream = dev->streams)) {
		dev->streams = stream->next;
		free(stream);
	}
	if (LOAD(dev->page) && !dev->inherited)
		munmap((void *)LOAD(dev->page), (size_t)sysconf(_SC_PAGESIZE));
}

/* ---- Query and wait ---- */

static int status_of(struct stream *stream)
{
	return ticket_status(stream->dev, ticket_make(stream->number, LOAD(stream->last)));
}

/* No sentence for the answer that it is busy: it is not a failure, and asked for in loops. */
int accel_stream_query(struct accel_stream *handle)
{
	struct stream *stream;
	int err = stream_get(handle, &stream);

	if (err)
		return err;
	if (LOAD(stream->pending))
		return -EINPROGRESS;
	err = status_of(stream);
	return err && err != -EINPROGRESS ? stream_error(stream, err) : err;
}

/* Waits for callbacks and a point. Without a sentence, but for -EDEADLK. */
static int wait_all(struct stream *stream, uint64_t ticket, uint64_t deadline)
{
	int err = callbacks_wait(stream, deadline);

	if (!err)
		err = ticket_status(stream->dev, ticket);
	return err == -EINPROGRESS ? ticket_wait(stream->dev, ticket, deadline) : err;
}

int stream_settle(struct stream *stream, uint64_t deadline)
{
	int err = wait_all(stream, ticket_make(stream->number, LOAD(stream->last)), deadline);

	return err && err != -EDEADLK ? stream_error(stream, err) : err;
}

int accel_stream_synchronize_until(struct accel_stream *handle, uint64_t deadline)
{
	KEEP_ERRNO;
	struct stream *stream;
	int err = stream_get(handle, &stream);

	return err ? err : stream_settle(stream, deadline);
}

int accel_stream_synchronize(struct accel_stream *stream)
{
	return accel_stream_synchronize_until(stream, NEVER);
}

/* What a stream was at some time: it may be used for a new one now. Starts as { 0 }. */
struct snapshot {
	struct stream *stream;
	uint32_t number;
	uint64_t last, submitted; /* tickets */
	bool own; /* live, and created by this thread */
};

/* Goes on to the stream with the next number that has not ended and been destroyed; false: none. */
static bool next_stream(struct device *dev, struct snapshot *at)
{
	struct stream *stream, *next = NULL;

	pthread_mutex_lock(&dev->lock);
	for (stream = dev->streams; stream; stream = stream->next)
		if (stream->state != STREAM_UNUSED && stream->state != STREAM_ENDING &&
		    stream->number > at->number && (!next || stream->number < next->number))
			next = stream;
	if (next)
		*at = (struct snapshot){
			.stream = next,
			.number = next->number,
			.last = ticket_make(next->number, LOAD(next->last)),
			.submitted = ticket_make(next->number, LOAD(next->submitted)),
			.own = next->state == STREAM_LIVE && next->thread == this_thread(),
		};
	pthread_mutex_unlock(&dev->lock);
	return next;
}

/*
 * The error of a stream belongs to the stream: accel_device_synchronize() returns it to the
 * thread that has created the stream, and to no other layer of the process. The error of a
 * destroyed stream is not returned. -ETIME may be the error of the work too, so `late` reports a
 * stream that is busy at the deadline.
 */
static int settle_one(const struct snapshot *at, uint64_t deadline, bool *late)
{
	struct device *dev = at->stream->dev;
	int err = wait_all(at->stream, at->last, deadline);

	if (err == -ENODEV || err == -ESTALE)
		return general_error(dev, err);
	if (err == -ETIME && deadline != NEVER &&
	    (LOAD(at->stream->pending) || ticket_status(dev, at->last) == -EINPROGRESS)) {
		*late = true;
		return 0;
	}
	return err && at->own ? stream_error(at->stream, err) : 0;
}

int accel_device_synchronize_until(struct accel_device *handle, uint64_t deadline)
{
	KEEP_ERRNO;
	struct device *dev;
	struct snapshot at = { 0 };
	bool late = false;
	int err = device_get(handle, &dev), failed;

	if (err)
		return err;
	if (in_callbacks())
		return fail(-EDEADLK, "a callback cannot wait for all streams of a device: "
				      "its own is one of them");
	err = device_alive(dev);
	while (next_stream(dev, &at)) {
		failed = settle_one(&at, deadline, &late);
		err = err ? err : failed;
	}
	reap(dev);
	if (late)
		return fail(-ETIME, "%s: the work of a stream has not ended by the deadline",
			    dev->name);
	return err;
}

int accel_device_synchronize(struct accel_device *dev)
{
	return accel_device_synchronize_until(dev, NEVER);
}

static int clear_once(struct stream *stream)
{
	struct paccel_stream_clear cmd = { .size = sizeof(cmd), .stream = stream->number };

	return device_ioctl(stream->dev, PACCEL_IOC_STREAM_CLEAR, &cmd);
}

/*
 * What was cancelled has to end first, and so do waits of other streams for this one, which have to
 * find out. Which streams wait is not known: the driver is asked again after each of them.
 */
static int clear_until(struct stream *stream, uint64_t deadline)
{
	uint64_t ticket = ticket_make(stream->number, LOAD(stream->submitted));
	struct device *dev = stream->dev;
	struct snapshot at = { 0 };
	int err;

	/* What a wait returns may be the error of the work, which -ETIME is one of, too. */
	while ((err = clear_once(stream)) == -EBUSY) {
		ticket_wait(dev, ticket, deadline);
		if (ticket_status(dev, ticket) == -EINPROGRESS)
			return -ETIME;
		if (!next_stream(dev, &at))
			at = (struct snapshot){ 0 };
		ticket = at.stream ? at.submitted : ticket;
	}
	return err;
}

int accel_stream_clear_until(struct accel_stream *handle, uint64_t deadline)
{
	KEEP_ERRNO;
	struct stream *stream;
	int err = stream_get(handle, &stream);

	if (err)
		return err;
	/* Callbacks that are due have to be told of the error. */
	if (LOAD(stream->slot->error))
		err = callbacks_wait(stream, deadline);
	if (err == -EDEADLK)
		return err;
	if (!err)
		err = clear_until(stream, deadline);
	if (err == -ETIME)
		return fail(err, "%s: what was cancelled has not ended by the deadline",
			    stream->dev->name);
	return err ? general_error(stream->dev, err) : 0;
}

int accel_stream_clear(struct accel_stream *stream)
{
	return accel_stream_clear_until(stream, NEVER);
}
