// SPDX-License-Identifier: MIT
/* Event: a point of a stream, and the time at which it was reached. */

#include "child.h"
#include "device.h"
#include "error.h"
#include "event.h"
#include "pending.h"
#include "stream.h"
#include "wait.h"

PyTypeObject *accel_event_type;

static bool event_enter(struct event *event)
{
	return child_enter(&event->child, event->handle, "event is closed");
}

static void event_leave(struct event *event)
{
	child_leave(&event->child);
}

static void event_end(struct child *child)
{
	struct event *event = (struct event *)((char *)child - offsetof(struct event, child));

	if (event->handle)
		accel_event_destroy(event->handle);
	event->handle = NULL;
}

static void event_dealloc(PyObject *self)
{
	struct event *event = (struct event *)self;

	PyObject_GC_UnTrack(self);
	child_drop(&event->child);
	queue_put(event->queue);
	object_free(self, event->child.weakrefs);
}

PyObject *event_new(struct device *device, PyObject *args, PyObject *words)
{
	struct event *event = (struct event *)object_new(accel_event_type);
	int rc;

	(void)args;
	(void)words;

	if (!event)
		return NULL;
	rc = accel_event_create(device->handle, &event->handle);
	if (rc) {
		error_raise(rc);
		Py_DECREF((PyObject *)event);
		return NULL;
	}
	child_link(&event->child, device, event_end);
	return (PyObject *)event;
}

PyObject *event_record_on(struct event *event, struct stream *stream)
{
	PyObject *result;
	int rc;

	if (!event_enter(event))
		return NULL;
	if (!child_enter(&stream->child, stream->handle, "stream is closed")) {
		event_leave(event);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS
	rc = accel_event_record(event->handle, stream->handle);
	Py_END_ALLOW_THREADS
	if (!rc) {
		queue_put(event->queue);
		event->queue = queue_get(stream->queue);
	}
	result = error_none(rc);
	child_leave(&stream->child);
	event_leave(event);
	return result;
}

static PyObject *event_record(PyObject *self, PyObject *args, PyObject *words)
{
	static char *names[] = { "stream", NULL };
	struct stream *stream;

	if (!PyArg_ParseTupleAndKeywords(args, words, "O!:record", names, accel_stream_type,
					 &stream))
		return NULL;
	return event_record_on((struct event *)self, stream);
}

static PyObject *event_query(PyObject *self, PyObject *unused)
{
	struct event *event = (struct event *)self;
	PyObject *result;
	int rc;

	(void)unused;
	if (!event_enter(event))
		return NULL;
	rc = accel_event_query(event->handle);
	event_leave(event);
	if (rc == -EINPROGRESS)
		Py_RETURN_FALSE;
	result = rc ? error_raise(rc) : Py_NewRef(Py_True);
	pending_reap(event->queue);
	return result;
}

static PyObject *event_synchronize(PyObject *self, PyObject *args, PyObject *words)
{
	static char *names[] = { "timeout", NULL };
	struct event *event = (struct event *)self;
	PyObject *timeout = Py_None, *result;
	uint64_t deadline;

	if (!PyArg_ParseTupleAndKeywords(args, words, "|O:synchronize", names, &timeout))
		return NULL;
	if (!wait_deadline(timeout, &deadline) || !event_enter(event))
		return NULL;
	result = wait_result(wait_event(event->handle, deadline));
	event_leave(event);
	pending_reap(event->queue);
	return result;
}

static PyObject *event_elapsed_ns(PyObject *self, PyObject *args, PyObject *words)
{
	static char *names[] = { "end", NULL };
	struct event *start = (struct event *)self, *end;
	int64_t ns = 0;
	int rc;

	if (!PyArg_ParseTupleAndKeywords(args, words, "O!:elapsed_ns", names, accel_event_type,
					 &end))
		return NULL;
	if (!event_enter(start))
		return NULL;
	if (!event_enter(end)) {
		event_leave(start);
		return NULL;
	}
	rc = accel_event_elapsed_time(start->handle, end->handle, &ns);
	event_leave(end);
	event_leave(start);
	return rc ? error_raise(rc) : PyLong_FromLongLong(ns);
}

static PyObject *event_await(PyObject *self)
{
	return await_with(self, "wait_event");
}

static PyObject *event_close(PyObject *self, PyObject *unused)
{
	struct event *event = (struct event *)self;

	(void)unused;
	if (!child_is_idle(&event->child, "event"))
		return NULL;
	event_end(&event->child);
	Py_RETURN_NONE;
}

static PyObject *event_enter_block(PyObject *self, PyObject *unused)
{
	(void)unused;
	if (!event_enter((struct event *)self))
		return NULL;
	event_leave((struct event *)self);
	return Py_NewRef(self);
}

static PyObject *event_exit_block(PyObject *self, PyObject *args)
{
	return exit_block(args, event_close(self, NULL));
}

static PyObject *event_repr(PyObject *self)
{
	const struct event *event = (const struct event *)self;

	return PyUnicode_FromFormat("<accel.Event at %p%s>", self, event->handle ? "" : ", closed");
}

static PyObject *event_get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(!((struct event *)self)->handle);
}

static PyObject *event_get_device(PyObject *self, void *unused)
{
	(void)unused;
	return Py_NewRef((PyObject *)((struct event *)self)->child.device);
}

static PyMethodDef event_methods[] = {
	{ "record", WORDS(event_record), METH_VARARGS | METH_KEYWORDS,
	  "record($self, stream)\n--\n\nMarks what is queued so far on the stream." },
	{ "query", event_query, METH_NOARGS,
	  "query($self)\n--\n\nWhether it has happened, or was never recorded. Does not wait." },
	{ "synchronize", WORDS(event_synchronize), METH_VARARGS | METH_KEYWORDS,
	  "synchronize($self, timeout=None)\n--\n\n"
	  "Waits until it has happened. timeout is in seconds; when it is over, errno is ETIME." },
	{ "elapsed_ns", WORDS(event_elapsed_ns), METH_VARARGS | METH_KEYWORDS,
	  "elapsed_ns($self, end)\n--\n\nNanoseconds from this event to that one." },
	{ "close", event_close, METH_NOARGS,
	  "close($self)\n--\n\nEnds the event. Streams that wait for it still do." },
	{ "__enter__", event_enter_block, METH_NOARGS, ENTER_DOC },
	{ "__exit__", event_exit_block, METH_VARARGS, EXIT_DOC },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef event_values[] = {
	{ "closed", event_get_closed, NULL, "Whether it was closed, or its device.", NULL },
	{ "device", event_get_device, NULL, "Device that it belongs to.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot event_slots[] = {
	{ Py_tp_doc, "A point of a stream. Made by Device.event() and Stream.record()." },
	{ Py_tp_dealloc, event_dealloc },
	{ Py_tp_traverse, child_traverse },
	{ Py_tp_members, child_members },
	{ Py_tp_repr, event_repr },
	{ Py_am_await, event_await },
	{ Py_tp_methods, event_methods },
	{ Py_tp_getset, event_values },
	{ 0, NULL },
};

static PyType_Spec event_spec = {
	.name = "accel.Event",
	.basicsize = sizeof(struct event),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = event_slots,
};

int event_init(PyObject *module)
{
	accel_event_type = type_add(module, &event_spec);
	return accel_event_type ? 0 : -1;
}
