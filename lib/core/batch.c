/* SPDX-License-Identifier: MIT */
/*
 * Batches: operations that are collected, and queued by one system call.
 */
#include "api.h"
#include "batch.h"
#include "copy.h"
#include "device.h"
#include "error.h"
#include "event.h"
#include "operand.h"
#include "stamp.h"
#include "stream.h"

#include <linux/paccel.h>
#include <stdlib.h>

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)

struct item {
	struct paccel_op op;
	const char *what;
	struct accel_event *handle; /* of an event to be recorded */
	struct event *event; /* while it is submitted: that */
	struct stamp *stamp; /* and a place for its time */
	const struct submission *taken_by;
};

/*
 * The operations of a batch that one call of accel_batch_submit() is queueing: copies, so that the
 * batch's lock is not held while that waits for callbacks and for room in the stream. The originals
 * stay where they are, marked, until the call has ended; those of a batch that keeps them are not
 * marked, so several calls can queue them at once.
 */
struct submission {
	struct batch *batch;
	struct item *items;
	uint32_t nr;
};

struct batch {
	struct batch *next;
	struct device *dev;
	pthread_mutex_t lock;
	struct accel_batch *handle; /* atomic; NULL: destroyed */
	bool keep; /* submissions leave the operations there; under the lock */
	uint32_t nr, room; /* under the lock, as are the items */
	struct item *items;
};

static int batch_get(const struct accel_batch *handle, struct batch **batch)
{
	*batch = handle_get(HANDLE_BATCH, handle);
	if (!*batch)
		return handle_error(HANDLE_BATCH, handle);
	return device_usable((*batch)->dev);
}

/* ---- Create and destroy ---- */

/* Under the device's lock. */
static struct batch *batch_allocate(struct device *dev)
{
	struct batch *batch;

	for (batch = dev->batches; batch; batch = batch->next)
		if (!LOAD(batch->handle))
			return batch;
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return NULL;
	pthread_mutex_init(&batch->lock, NULL);
	batch->dev = dev;
	batch->next = dev->batches;
	return dev->batches = batch;
}

/* Under the device's lock. */
static struct accel_batch *batch_make(struct device *dev)
{
	struct batch *batch = batch_allocate(dev);

	if (!batch)
		return NULL;
	return batch->handle = handle_create(HANDLE_BATCH, batch);
}

int accel_batch_create(struct accel_device *handle, struct accel_batch **batch)
{
	KEEP_ERRNO;
	struct device *dev;
	int err;

	if (!batch)
		return fail(-EINVAL, "batch is NULL: the handle has to go somewhere");
	*batch = NULL;
	err = device_get(handle, &dev) ?: device_alive(dev);
	if (err)
		return err;
	pthread_mutex_lock(&dev->lock);
	*batch = batch_make(dev);
	pthread_mutex_unlock(&dev->lock);
	return *batch ? 0 : fail(-ENOMEM, "out of memory");
}

int accel_batch_destroy(struct accel_batch *handle)
{
	KEEP_ERRNO;
	struct batch *batch;
	int err = batch_get(handle, &batch);

	if (err)
		return err;
	/* Another thread may be faster. */
	if (!handle_end(HANDLE_BATCH, handle))
		return handle_error(HANDLE_BATCH, handle);
	pthread_mutex_lock(&batch->lock);
	free(batch->items);
	batch->items = NULL;
	batch->nr = batch->room = 0;
	batch->keep = false;
	__atomic_store_n(&batch->handle, NULL, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&batch->lock);
	return 0;
}

int accel_batch_keep(struct accel_batch *handle)
{
	struct batch *batch;
	int err = batch_get(handle, &batch);

	if (err)
		return err;
	pthread_mutex_lock(&batch->lock);
	batch->keep = true;
	pthread_mutex_unlock(&batch->lock);
	return 0;
}

void batches_end_handles(struct device *dev)
{
	for (const struct batch *batch = dev->batches; batch; batch = batch->next)
		handle_end(HANDLE_BATCH, batch->handle);
}

void batches_free(struct device *dev)
{
	struct batch *batch;

	while ((batch = dev->batches)) {
		dev->batches = batch->next;
		pthread_mutex_destroy(&batch->lock);
		free(batch->items);
		free(batch);
	}
}

/* ---- Collect ---- */

static int make_room(struct batch *batch)
{
	uint32_t max = batch->dev->max_ops, room = batch->room ? 2 * batch->room : 16;
	struct item *items;

	if (batch->nr >= max)
		return fail(-E2BIG,
			    "the batch is full: %s takes %" PRIu32 " operations at once; "
			    "submit it first",
			    batch->dev->name, max);
	if (batch->nr < batch->room)
		return 0;
	items = realloc(batch->items, room * sizeof(*items));
	if (!items)
		return fail(-ENOMEM, "out of memory");
	batch->items = items;
	batch->room = room;
	return 0;
}

static int add(struct batch *batch, const struct item *item)
{
	int err;

	pthread_mutex_lock(&batch->lock);
	err = make_room(batch);
	if (!err)
		batch->items[batch->nr++] = *item;
	pthread_mutex_unlock(&batch->lock);
	return err;
}

static int add_copy(struct batch *batch, const struct copy *copy)
{
	const struct device *to = copy->dst.dev, *from = copy->src.dev, *dev = batch->dev;
	const struct operand *device = to && (to != dev || !from) ? &copy->dst : &copy->src;
	const struct operand *host = to ? &copy->src : &copy->dst;
	uint32_t dir = copy_direction(copy);
	struct item item = { .what = "copy" };

	if (!to && !from)
		return fail(-EINVAL, "neither dst nor src is device memory: "
				     "a device does not copy that");
	if (device->dev != dev)
		return fail(-EFAULT, "%s belongs to another handle (%s), not to the batch's (%s)",
			    device->name, device->dev->name, dev->name);
	if (!dir)
		return fail(-EFAULT,
			    "%s " ADDR ", %zu bytes, is pageable: a batch takes host memory that is "
			    "allocated or registered",
			    host->name, host->ptr, host->size);
	copy_operation(copy, dir, &item.op);
	return add(batch, &item);
}

static int batch_copy(struct batch *batch, struct copy *copy)
{
	int err;

	copy->pin_dev = batch->dev;
	err = copy_begin(copy) ?: add_copy(batch, copy);
	copy_end(copy);
	return err;
}

int accel_batch_copy(struct accel_batch *handle, void *dst, const void *src, size_t size)
{
	KEEP_ERRNO;
	struct batch *batch;
	struct copy copy = copy_make(dst, src, size);

	return batch_get(handle, &batch) ?: batch_copy(batch, &copy);
}

int accel_batch_copy_2d(struct accel_batch *handle, void *dst, size_t dpitch, const void *src,
			size_t spitch, size_t width, size_t rows, unsigned int flags)
{
	KEEP_ERRNO;
	struct batch *batch;
	struct copy copy;

	return batch_get(handle, &batch) ?:
	       copy_make_2d(&copy, dst, dpitch, src, spitch, width, rows, flags) ?:
	       batch_copy(batch, &copy);
}

int accel_batch_device_memory_set(struct accel_batch *batch, void *ptr, unsigned char value,
				  size_t size)
{
	return accel_batch_device_memory_fill(batch, ptr, &value, 1, size, 0);
}

int accel_batch_device_memory_fill(struct accel_batch *handle, void *ptr, const void *pattern,
				   size_t pattern_size, size_t size, unsigned int flags)
{
	KEEP_ERRNO;
	struct batch *batch;
	struct fill fill;
	struct item item = { .what = "fill" };
	int err = batch_get(handle, &batch) ?:
		  fill_make(&fill, batch->dev, ptr, pattern, pattern_size, size, flags) ?:
		  operand_resolve(&fill.memory, NULL);

	if (err)
		return err;
	if (!fill.memory.dev)
		return fail(-EFAULT,
			    "ptr " ADDR " is unified memory: only the processor fills that",
			    fill.memory.ptr);
	fill_operation(&fill, &item.op);
	err = add(batch, &item);
	device_drop(fill.memory.dev);
	return err;
}

static int get_with_event(const struct accel_batch *batch_handle,
			  const struct accel_event *event_handle, struct batch **batch,
			  struct event **event)
{
	int err = batch_get(batch_handle, batch) ?: event_get(event_handle, event);

	if (err || (*event)->dev == (*batch)->dev)
		return err;
	return fail(-EINVAL, "event belongs to %s, the batch to %s", (*event)->dev->name,
		    (*batch)->dev->name);
}

int accel_batch_wait_event(struct accel_batch *batch_handle, struct accel_event *event_handle)
{
	KEEP_ERRNO;
	struct batch *batch;
	struct event *event;
	struct item item = { .what = "wait for an event" };
	int err = get_with_event(batch_handle, event_handle, &batch, &event);
	uint64_t ticket;

	if (err)
		return err;
	ticket = LOAD(event->ticket);
	op_init(&item.op, PACCEL_OP_WAIT_POINT);
	item.op.wait.stream = ticket_stream(ticket);
	item.op.wait.point = ticket_point(ticket);
	return add(batch, &item);
}

int accel_batch_record_event(struct accel_batch *batch_handle, struct accel_event *event_handle)
{
	KEEP_ERRNO;
	struct batch *batch;
	struct event *event;
	struct item item = { .what = "record an event", .handle = event_handle };
	int err = get_with_event(batch_handle, event_handle, &batch, &event);

	op_init(&item.op, PACCEL_OP_TIME);
	return err ? err : add(batch, &item);
}

int accel_batch_eventfd(struct accel_batch *handle, int fd)
{
	KEEP_ERRNO;
	struct batch *batch;
	struct item item = { .what = "signal an eventfd" };
	int err = batch_get(handle, &batch);

	op_init_eventfd(&item.op, fd);
	return err ? err : add(batch, &item);
}

/* ---- Submit ---- */

static uint64_t awaited(const struct item *item)
{
	return ticket_make(item->op.wait.stream, item->op.wait.point);
}

static bool is_needless(struct device *dev, const struct item *item)
{
	return item->op.op == PACCEL_OP_WAIT_POINT && ticket_passed(dev, awaited(item));
}

/* Leaves out waits that have nothing to wait for; from[] says which operation each was. */
static uint32_t collect(const struct submission *sub, struct paccel_op *ops, uint32_t *from)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < sub->nr; i++) {
		if (is_needless(sub->batch->dev, &sub->items[i]))
			continue;
		from[nr] = i;
		ops[nr++] = sub->items[i].op;
	}
	return nr;
}

/* A wait whose stream the driver does not know any more has become needless since (0), or failed. */
static int status_of_wait(const struct submission *sub, uint32_t bad)
{
	const struct item *item = &sub->items[bad];

	return item->op.op == PACCEL_OP_WAIT_POINT ? ticket_status(sub->batch->dev, awaited(item))
						   : -ENOENT;
}

static int queue(const struct submission *sub, struct stream *stream, struct paccel_op *ops,
		 uint32_t *from, struct submitted *done)
{
	uint32_t nr;
	int err;

	do {
		nr = collect(sub, ops, from);
		err = nr ? stream_submit(stream, ops, nr, done) : 0;
		from[nr] = sub->nr;
		if (err)
			done->bad = from[done->bad < nr ? done->bad : nr];
	} while (err == -ENOENT && done->bad < sub->nr &&
		 !(err = status_of_wait(sub, done->bad)));
	return err;
}

static int operation_error(const struct submission *sub, uint32_t bad, int err)
{
	const struct item *item = &sub->items[bad];

	if (err == -EOPNOTSUPP)
		return fail(err,
			    "operation %" PRIu32 " (%s): %s cannot verify it: see ACCEL_CAP_VERIFY",
			    bad, item->what, sub->batch->dev->name);
	if (item->op.op == PACCEL_OP_EVENTFD)
		return fail(err, "operation %" PRIu32 " (%s): fd %d is no eventfd", bad, item->what,
			    item->op.fd.fd);
	if (err == -EFAULT && (item->op.op == PACCEL_OP_COPY || item->op.op == PACCEL_OP_FILL))
		return fail(err,
			    "operation %" PRIu32 " (%s): memory was freed or unregistered since it "
			    "was added (%s)",
			    bad, item->what, accel_strerror(err));
	return fail(err, "operation %" PRIu32 " (%s): %s", bad, item->what, accel_strerror(err));
}

/* Places for the times of all events that are recorded. */
static int prepare(const struct submission *sub, uint32_t *bad)
{
	struct item *item;
	int err = 0;

	for (*bad = 0; *bad < sub->nr && !err; ++*bad) {
		item = &sub->items[*bad];
		if (item->handle)
			err = event_get(item->handle, &item->event) ?:
			      event_prepare(item->event, &item->op, &item->stamp);
	}
	*bad -= !!err;
	return err;
}

static void record(const struct submission *sub, int err, uint64_t ticket)
{
	const struct item *item;

	for (uint32_t i = 0; i < sub->nr; i++) {
		item = &sub->items[i];
		if (item->stamp && err)
			event_abandon(item->event, item->stamp);
		else if (item->stamp)
			event_publish(item->event, item->handle, item->stamp, ticket);
	}
}

static int submit(const struct submission *sub, struct stream *stream, uint32_t *bad)
{
	struct paccel_op *ops = calloc(sub->nr, sizeof(*ops));
	uint32_t *from = calloc(sub->nr + 1, sizeof(*from));
	struct submitted done = { .bad = sub->nr };
	int err = ops && from ? 0 : fail(-ENOMEM, "out of memory");

	if (!err) {
		err = prepare(sub, &done.bad);
		if (!err) {
			err = queue(sub, stream, ops, from, &done);
			if (err && done.bad < sub->nr)
				err = operation_error(sub, done.bad, err);
			else if (err)
				err = submit_error(stream, err);
		}
		record(sub, err, done.ticket);
	}
	*bad = done.bad;
	free(ops);
	free(from);
	return err;
}

/* Under the lock of the batch. */
static uint32_t count_free(const struct batch *batch)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < batch->nr; i++)
		nr += !batch->items[i].taken_by;
	return nr;
}

/* Those that no other thread is submitting. */
static int take_items(struct submission *sub)
{
	struct batch *batch = sub->batch;
	uint32_t nr, i;
	int err = 0;

	pthread_mutex_lock(&batch->lock);
	nr = count_free(batch);
	sub->items = nr ? calloc(nr, sizeof(*sub->items)) : NULL;
	if (!nr)
		err = fail(-EINVAL, "the batch is empty: there is nothing to queue");
	else if (!sub->items)
		err = fail(-ENOMEM, "out of memory");
	for (i = 0; i < batch->nr && !err; i++)
		if (!batch->items[i].taken_by) {
			sub->items[sub->nr++] = batch->items[i];
			batch->items[i].taken_by = batch->keep ? NULL : sub;
		}
	pthread_mutex_unlock(&batch->lock);
	return err;
}

/* Takes the originals that are marked out of the batch, or leaves them for the next submission. */
static void end_items(const struct submission *sub, bool queued)
{
	struct batch *batch = sub->batch;
	uint32_t nr = 0;

	pthread_mutex_lock(&batch->lock);
	for (uint32_t i = 0; i < batch->nr; i++) {
		if (batch->items[i].taken_by == sub) {
			if (queued)
				continue;
			batch->items[i].taken_by = NULL;
		}
		batch->items[nr++] = batch->items[i];
	}
	batch->nr = nr;
	pthread_mutex_unlock(&batch->lock);
	free(sub->items);
}

/* How many operations a call that has not looked at any would have queued. */
static uint32_t count_items(struct batch *batch)
{
	uint32_t nr;

	pthread_mutex_lock(&batch->lock);
	nr = count_free(batch);
	pthread_mutex_unlock(&batch->lock);
	return nr;
}

static int submit_batch(struct batch *batch, struct accel_stream *handle, uint32_t *bad)
{
	struct submission sub = { .batch = batch };
	struct stream *stream;
	int err = stream_get_of(handle, batch->dev, &stream) ?: take_items(&sub);

	if (err) {
		*bad = count_items(batch);
		return err;
	}
	err = submit(&sub, stream, bad);
	end_items(&sub, !err);
	return err;
}

int accel_batch_submit(struct accel_batch *handle, struct accel_stream *stream, size_t *failed)
{
	KEEP_ERRNO;
	struct batch *batch;
	uint32_t bad = 0;
	int err = batch_get(handle, &batch) ?: submit_batch(batch, stream, &bad);

	if (err && failed)
		*failed = bad;
	return err;
}
