// SPDX-License-Identifier: MIT
/*
 * Memory of Python that queued copies still use. libaccel lets a program free what is queued, and
 * the driver keeps its pages; but what is registered is memory of an object, which would be used
 * for something else while the device writes to it. So each such copy is followed by an event, and
 * what it uses is held until the event has happened, well or not: what a stream that failed has not
 * begun it will not begin.
 *
 * Copies of one stream end in order, so there is a queue for each stream, and only the first of a
 * queue is asked whether it has ended. Threads that copy on one stream may enter its queue in another
 * order than their events were recorded: an entry that has ended may follow one that has not. A queue
 * outlives its stream while it is not empty. What is held may hold its device, so the queues belong to
 * none.
 */

#include "callback.h"
#include "device.h"
#include "error.h"
#include "memory.h"
#include "operand.h"
#include "pending.h"
#include "stream.h"
#include "wait.h"

struct pending {
	struct pending *next;
	struct device *device; /* counted; of the event */
	struct accel_event *event;
	struct memory *memory[2]; /* roots, counted */
	Py_buffer *view[2];
	unsigned int waiters; /* threads that wait for the event: see has_ended() */
};

struct queue {
	struct pending *first; /* NULL: it is not in the ring */
	struct pending *last;
	struct queue *next;
	struct queue *previous;
	unsigned int users; /* its stream, events recorded there, the ring, callbacks */
	unsigned int calls; /* callbacks that have not returned */
};

/* The queues that are not empty: the one that is looked at next, and how many there are. */
static struct queue *turn;
static size_t queue_count;
/* At how many a call looks, so that its cost does not depend on how many there are. */
#define LOOK_AT 4

struct queue *queue_new(void)
{
	struct queue *queue = PyMem_Calloc(1, sizeof(*queue));

	if (!queue) {
		PyErr_NoMemory();
		return NULL;
	}
	queue->users = 1;
	return queue;
}

struct queue *queue_get(struct queue *queue)
{
	queue->users++;
	return queue;
}

void queue_put(struct queue *queue)
{
	if (queue && !--queue->users)
		PyMem_Free(queue);
}

unsigned int *queue_calls(struct queue *queue)
{
	return &queue->calls;
}

/* At the end of the ring. */
static void ring_enter(struct queue *queue)
{
	if (!turn) {
		turn = queue;
		queue->previous = queue;
	}
	queue->next = turn;
	queue->previous = turn->previous;
	queue->previous->next = queue;
	turn->previous = queue;
	queue_count++;
	queue_get(queue);
}

static void ring_leave(struct queue *queue)
{
	queue->next->previous = queue->previous;
	queue->previous->next = queue->next;
	if (turn == queue)
		turn = queue->next == queue ? NULL : queue->next;
	queue_count--;
	queue_put(queue);
}

struct pending *pending_new(struct device *device)
{
	struct pending *pending = PyMem_Calloc(1, sizeof(*pending));
	int rc;

	if (!pending) {
		PyErr_NoMemory();
		return NULL;
	}
	rc = accel_event_create(device->handle, &pending->event);
	if (rc) {
		PyMem_Free(pending);
		error_raise(rc);
		return NULL;
	}
	pending->device = (struct device *)Py_NewRef((PyObject *)device);
	return pending;
}

void pending_cancel(struct pending *pending)
{
	accel_event_destroy(pending->event);
	for (int i = 0; i < 2; i++) {
		if (pending->memory[i]) {
			pending->memory[i]->queued--;
			Py_DECREF((PyObject *)pending->memory[i]);
		}
		if (pending->view[i]) {
			PyBuffer_Release(pending->view[i]);
			PyMem_Free(pending->view[i]);
		}
	}
	Py_DECREF((PyObject *)pending->device);
	PyMem_Free(pending);
}

void pending_hold(struct pending *pending, struct operand *operand)
{
	int at = pending->memory[0] || pending->view[0];

	pending->view[at] = operand->view;
	operand->view = NULL;
	if (operand->memory) {
		pending->memory[at] =
			(struct memory *)Py_NewRef((PyObject *)operand->memory->root);
		pending->memory[at]->queued++;
	}
}

static void queue_add(struct queue *queue, struct pending *pending)
{
	if (queue->first) {
		queue->last->next = pending;
	} else {
		queue->first = pending;
		ring_enter(queue);
	}
	queue->last = pending;
}

struct accel_event *pending_event(const struct pending *pending)
{
	return pending->event;
}

/* Without event the end of all that is queued has to do. */
static int record_or_wait(const struct pending *pending, const struct stream *stream)
{
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = accel_event_record(pending->event, stream->handle);
	if (rc)
		accel_stream_synchronize(stream->handle);
	Py_END_ALLOW_THREADS
	return rc;
}

void pending_add(struct pending *pending, struct stream *stream, bool recorded)
{
	int rc = recorded ? 0 : record_or_wait(pending, stream);

	if (rc) {
		pending_cancel(pending);
		return;
	}
	queue_add(stream->queue, pending);
	pending_reap(stream->queue);
}

/* What is awaited is not to be given back. After fork() the threads that waited are not there. */
static bool has_ended(const struct pending *pending)
{
	if (pending->waiters && !device_is_inherited(pending->device))
		return false;
	return accel_event_query(pending->event) != -EINPROGRESS;
}

/* Adds what has ended to a list, and takes it out of its queue. */
static void queue_take(struct queue *queue, struct pending **ended)
{
	struct pending *pending;

	while ((pending = queue->first) && has_ended(pending)) {
		queue->first = pending->next;
		pending->next = *ended;
		*ended = pending;
	}
	if (!queue->first)
		ring_leave(queue);
}

/* Out of the queues before anything is released, which may run code of the program. */
static bool queues_reap(struct queue *queue, size_t others)
{
	struct pending *pending, *ended = NULL;
	bool any;

	later_run();
	blocks_reap();
	if (queue && queue->first)
		queue_take(queue, &ended);
	for (size_t i = others < queue_count ? others : queue_count; i; i--) {
		queue = turn;
		turn = turn->next;
		queue_take(queue, &ended);
	}
	any = ended;
	while ((pending = ended)) {
		ended = pending->next;
		pending_cancel(pending);
	}
	return any;
}

void pending_reap(struct queue *queue)
{
	queues_reap(queue, LOOK_AT);
}

bool pending_reap_all(void)
{
	return queues_reap(NULL, queue_count);
}

/* Itself, or by a view of somebody else's: an array or a memoryview over it. */
static bool uses(const struct pending *pending, int at, const struct memory *root)
{
	const Py_buffer *view = pending->view[at];
	const char *ptr = view ? view->buf : NULL;

	return pending->memory[at] == root ||
		(view && ptr >= root->ptr && ptr < root->ptr + root->size);
}

/* The last entry of the first queue that has one. */
static struct pending *of_memory(const struct memory *root, struct queue **of)
{
	struct pending *pending, *found = NULL;
	struct queue *queue = turn;

	for (size_t i = 0; i < queue_count && !found; i++, queue = queue->next)
		for (pending = queue->first; pending; pending = pending->next)
			if (uses(pending, 0, root) || uses(pending, 1, root)) {
				found = pending;
				*of = queue;
			}
	return found;
}

bool pending_has_memory(const struct memory *root)
{
	struct queue *queue;

	return of_memory(root, &queue);
}

/* What releases an entry: its end, and if it has ended, that of the first entry of its queue. */
static struct pending *queue_awaited(const struct queue *queue, struct pending *pending)
{
	return accel_event_query(pending->event) == -EINPROGRESS ? pending : queue->first;
}

/* The event of another process says at once that it is one: there is nothing to wait for. */
bool pending_wait_memory(struct memory *root)
{
	struct pending *pending;
	struct queue *queue;
	int rc = 0;

	while ((pending = of_memory(root, &queue))) {
		pending = queue_awaited(queue, pending);
		if (!device_is_inherited(pending->device)) {
			pending->waiters++;
			rc = wait_event(pending->event, UINT64_MAX);
			pending->waiters--;
		}
		if (rc == 1)
			return false;
		pending_reap_all();
	}
	return true;
}

static struct queue *of_device(const struct device *device)
{
	struct queue *queue = turn;

	for (size_t i = 0; i < queue_count; i++, queue = queue->next)
		if (queue->first->device == device)
			return queue;
	return NULL;
}

void pending_wait_device(struct device *device)
{
	struct pending *pending;
	struct queue *queue;

	while ((queue = of_device(device))) {
		pending = queue_awaited(queue, queue->last);
		if (!device_is_inherited(device)) {
			pending->waiters++;
			Py_BEGIN_ALLOW_THREADS
			accel_event_synchronize(pending->event);
			Py_END_ALLOW_THREADS
			pending->waiters--;
		}
		pending_reap_all();
	}
}
