// SPDX-License-Identifier: MIT
/*
 * Memory of Python that queued copies still use. libaccel lets a program free what is queued, and
 * the driver keeps its pages; but what is registered is memory of an object, which would be used
 * for something else while the device writes to it. So each such copy is followed by an event, and
 * what it uses is held until the event has happened, well or not: what a stream that failed has not
 * begun it will not begin.
 *
 * What is held may hold its device, so the list belongs to none.
 */

#include "private.h"

struct pending {
	struct pending *next;
	struct device *device; /* counted; of the event */
	struct accel_event *event;
	struct memory *memory[2]; /* roots, counted */
	Py_buffer *view[2];
	unsigned int waiters; /* threads that wait for the event: see is_awaited() */
};

static struct pending *first;
/* How many there are, and at how many it is worth a look which have ended. */
static size_t count;
#define LOOK_AT_LEAST 32
static size_t look_at = LOOK_AT_LEAST;

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

void pending_add(struct pending *pending, struct stream *stream)
{
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = accel_event_record(pending->event, stream->handle);
	/* Without event the end of all that is queued has to do. */
	if (rc)
		accel_stream_synchronize(stream->handle);
	Py_END_ALLOW_THREADS
	if (rc) {
		pending_cancel(pending);
		return;
	}
	pending->next = first;
	first = pending;
	if (++count < look_at)
		return;
	pending_reap();
	look_at = count * 2 > LOOK_AT_LEAST ? count * 2 : LOOK_AT_LEAST;
}

/* What is awaited is not to be given back. After fork() the threads that waited are not there. */
static bool is_awaited(const struct pending *pending)
{
	return pending->waiters && !device_is_inherited(pending->device);
}

/* Out of the list before anything is let go of, which may run code of the program. */
void pending_reap(void)
{
	struct pending **link = &first, *pending, *ended = NULL;

	while ((pending = *link)) {
		if (is_awaited(pending) || accel_event_query(pending->event) == -EINPROGRESS) {
			link = &pending->next;
			continue;
		}
		*link = pending->next;
		pending->next = ended;
		ended = pending;
		count--;
	}
	while ((pending = ended)) {
		ended = pending->next;
		pending_cancel(pending);
	}
}

/* Itself, or by a view of somebody else's: an array or a memoryview over it. */
static bool uses(const struct pending *pending, int at, const struct memory *root)
{
	const Py_buffer *view = pending->view[at];
	const char *ptr = view ? view->buf : NULL;

	return pending->memory[at] == root ||
		(view && ptr >= root->ptr && ptr < root->ptr + root->size);
}

static struct pending *of_memory(const struct memory *root)
{
	struct pending *pending = first;

	while (pending && !uses(pending, 0, root) && !uses(pending, 1, root))
		pending = pending->next;
	return pending;
}

bool pending_has_memory(const struct memory *root)
{
	return of_memory(root);
}

/* The event of another process says at once that it is one: there is nothing to wait for. */
bool pending_wait_memory(struct memory *root)
{
	struct pending *pending;
	int rc = 0;

	while ((pending = of_memory(root))) {
		if (!device_is_inherited(pending->device)) {
			pending->waiters++;
			rc = wait_event(pending->event, UINT64_MAX);
			pending->waiters--;
		}
		if (rc == 1)
			return false;
		pending_reap();
	}
	return true;
}

static struct pending *of_device(const struct device *device)
{
	struct pending *pending = first;

	while (pending && pending->device != device)
		pending = pending->next;
	return pending;
}

void pending_wait_device(struct device *device)
{
	struct pending *pending;

	while ((pending = of_device(device))) {
		if (!device_is_inherited(device)) {
			pending->waiters++;
			Py_BEGIN_ALLOW_THREADS
			accel_event_synchronize(pending->event);
			Py_END_ALLOW_THREADS
			pending->waiters--;
		}
		pending_reap();
	}
}
