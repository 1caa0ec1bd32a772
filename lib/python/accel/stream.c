// SPDX-License-Identifier: MIT
/* Stream: an ordered queue of work of one device. */

#include "callback.h"
#include "child.h"
#include "device.h"
#include "error.h"
#include "event.h"
#include "pending.h"
#include "stream.h"
#include "wait.h"

PyTypeObject *accel_stream_type;

static bool stream_enter(struct stream *stream)
{
	return child_enter(&stream->child, stream->handle, "stream is closed");
}

static void stream_leave(struct stream *stream)
{
	child_leave(&stream->child);
}

static void destroy_handle(void *handle)
{
	accel_stream_destroy(handle);
}

static void stream_end(struct child *child)
{
	struct stream *stream = (struct stream *)((char *)child - offsetof(struct stream, child));

	if (stream->handle && accel_stream_destroy(stream->handle) == -EDEADLK)
		later_add(destroy_handle, stream->handle);
	stream->handle = NULL;
}

static void stream_dealloc(PyObject *self)
{
	struct stream *stream = (struct stream *)self;

	PyObject_GC_UnTrack(self);
	child_drop(&stream->child);
	queue_put(stream->queue);
	object_free(self, stream->child.weakrefs);
}

PyObject *stream_new(struct device *device, PyObject *args, PyObject *words)
{
	struct stream *stream = (struct stream *)object_new(accel_stream_type);
	int rc;

	(void)args;
	(void)words;

	if (!stream)
		return NULL;
	stream->queue = queue_new();
	if (!stream->queue)
		goto free_stream;
	rc = accel_stream_create(device->handle, &stream->handle);
	if (rc) {
		error_raise(rc);
		goto free_stream;
	}
	child_link(&stream->child, device, stream_end);
	return (PyObject *)stream;

free_stream:
	Py_DECREF((PyObject *)stream);
	return NULL;
}

static PyObject *stream_synchronize(PyObject *self, PyObject *args, PyObject *words)
{
	static char *names[] = { "timeout", NULL };
	struct stream *stream = (struct stream *)self;
	PyObject *timeout = Py_None, *result;
	uint64_t deadline;

	if (!PyArg_ParseTupleAndKeywords(args, words, "|O:synchronize", names, &timeout))
		return NULL;
	if (!wait_deadline(timeout, &deadline) || !stream_enter(stream))
		return NULL;
	result = wait_result(wait_stream(stream->handle, deadline));
	stream_leave(stream);
	pending_reap(stream->queue);
	return result;
}

static PyObject *stream_query(PyObject *self, PyObject *unused)
{
	struct stream *stream = (struct stream *)self;
	PyObject *result;
	int rc;

	(void)unused;
	if (!stream_enter(stream))
		return NULL;
	rc = accel_stream_query(stream->handle);
	stream_leave(stream);
	if (rc == -EINPROGRESS)
		Py_RETURN_FALSE;
	result = rc ? error_raise(rc) : Py_NewRef(Py_True);
	pending_reap(stream->queue);
	return result;
}

static PyObject *stream_clear(PyObject *self, PyObject *unused)
{
	struct stream *stream = (struct stream *)self;
	PyObject *result;

	(void)unused;
	if (!stream_enter(stream))
		return NULL;
	result = wait_result(wait_clear(stream->handle));
	stream_leave(stream);
	return result;
}

static PyObject *stream_wait(PyObject *self, PyObject *args, PyObject *words)
{
	static char *names[] = { "event", NULL };
	struct stream *stream = (struct stream *)self;
	struct event *event;
	PyObject *result;
	int rc;

	if (!PyArg_ParseTupleAndKeywords(args, words, "O!:wait", names, accel_event_type, &event))
		return NULL;
	if (!stream_enter(stream))
		return NULL;
	if (!child_enter(&event->child, event->handle, "event is closed")) {
		stream_leave(stream);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS
	rc = accel_stream_wait_event(stream->handle, event->handle);
	Py_END_ALLOW_THREADS
	result = error_none(rc);
	child_leave(&event->child);
	stream_leave(stream);
	return result;
}

static PyObject *stream_record(PyObject *self, PyObject *args, PyObject *words)
{
	static char *names[] = { "event", NULL };
	struct stream *stream = (struct stream *)self;
	PyObject *event = Py_None, *recorded;

	if (!PyArg_ParseTupleAndKeywords(args, words, "|O:record", names, &event))
		return NULL;
	if (event != Py_None && Py_TYPE(event) != accel_event_type)
		return PyErr_Format(PyExc_TypeError,
				    "event has to be an accel.Event or None, not %R",
				    Py_TYPE(event));
	if (!stream_enter(stream))
		return NULL;
	event = event == Py_None ? event_new(stream->child.device, NULL, NULL) : Py_NewRef(event);
	stream_leave(stream);
	if (!event)
		return NULL;
	recorded = event_record_on((struct event *)event, stream);
	if (!recorded)
		Py_CLEAR(event);
	Py_XDECREF(recorded);
	return event;
}

static PyObject *stream_call(PyObject *self, PyObject *args, PyObject *words)
{
	static char *names[] = { "function", NULL };
	struct stream *stream = (struct stream *)self;
	PyObject *function, *result;

	if (!PyArg_ParseTupleAndKeywords(args, words, "O:call", names, &function))
		return NULL;
	if (!stream_enter(stream))
		return NULL;
	result = callback_add(stream, function);
	stream_leave(stream);
	return result;
}

/* A function that takes a file descriptor; the name is that of the argument. */
static PyObject *stream_give_fd(PyObject *self, PyObject *args, PyObject *words, char *name,
				int (*function)(struct accel_stream *stream, int fd))
{
	char *names[] = { name, NULL };
	struct stream *stream = (struct stream *)self;
	PyObject *file;
	int fd, rc;

	if (!PyArg_ParseTupleAndKeywords(args, words, "O", names, &file))
		return NULL;
	fd = PyObject_AsFileDescriptor(file);
	if (fd < 0 || !stream_enter(stream))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	rc = function(stream->handle, fd);
	Py_END_ALLOW_THREADS
	stream_leave(stream);
	return error_none(rc);
}

static PyObject *stream_signal(PyObject *self, PyObject *args, PyObject *words)
{
	return stream_give_fd(self, args, words, "eventfd", accel_stream_eventfd);
}

static PyObject *stream_wait_fence(PyObject *self, PyObject *args, PyObject *words)
{
	return stream_give_fd(self, args, words, "fence", accel_stream_wait_fence);
}

static PyObject *stream_export_fence(PyObject *self, PyObject *unused)
{
	struct stream *stream = (struct stream *)self;
	int fd, rc;

	(void)unused;
	if (!stream_enter(stream))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	rc = accel_stream_export_fence(stream->handle, &fd);
	Py_END_ALLOW_THREADS
	stream_leave(stream);
	return rc ? error_raise(rc) : fd_object(fd);
}

static PyObject *stream_await(PyObject *self)
{
	return await_with(self, "wait_stream");
}

static PyObject *stream_close(PyObject *self, PyObject *unused)
{
	struct stream *stream = (struct stream *)self;

	(void)unused;
	if (!child_is_idle(&stream->child, "stream"))
		return NULL;
	stream_end(&stream->child);
	Py_RETURN_NONE;
}

static PyObject *stream_enter_block(PyObject *self, PyObject *unused)
{
	(void)unused;
	if (!stream_enter((struct stream *)self))
		return NULL;
	stream_leave((struct stream *)self);
	return Py_NewRef(self);
}

/* After an exception the work still runs, but nobody waits for it. */
static PyObject *stream_exit_block(PyObject *self, PyObject *args)
{
	struct stream *stream = (struct stream *)self;
	PyObject *type, *value, *trace;
	int rc = 0;

	if (!PyArg_ParseTuple(args, "OOO:__exit__", &type, &value, &trace))
		return NULL;
	if (type == Py_None && stream->handle) {
		if (!stream_enter(stream))
			return NULL;
		rc = wait_stream(stream->handle, UINT64_MAX);
		if (rc && rc != 1)
			error_raise(rc);
		stream_leave(stream);
		pending_reap(stream->queue);
	}
	if (rc) {
		if (!stream->child.busy)
			stream_end(&stream->child);
		return NULL;
	}
	return exit_block(args, stream_close(self, NULL));
}

static PyObject *stream_repr(PyObject *self)
{
	const struct stream *stream = (const struct stream *)self;

	return PyUnicode_FromFormat("<accel.Stream at %p%s>", self,
				    stream->handle ? "" : ", closed");
}

static PyObject *stream_get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(!((struct stream *)self)->handle);
}

static PyObject *stream_get_device(PyObject *self, void *unused)
{
	(void)unused;
	return Py_NewRef((PyObject *)((struct stream *)self)->child.device);
}

static PyMethodDef stream_methods[] = {
	{ "synchronize", WORDS(stream_synchronize), METH_VARARGS | METH_KEYWORDS,
	  "synchronize($self, timeout=None)\n--\n\n"
	  "Waits for all that is queued. timeout is in seconds; when it is over, errno is ETIME." },
	{ "query", stream_query, METH_NOARGS,
	  "query($self)\n--\n\nWhether all that was queued has ended. Does not wait." },
	{ "clear", stream_clear, METH_NOARGS,
	  "clear($self)\n--\n\nMakes a stream that has failed usable again." },
	{ "wait", WORDS(stream_wait), METH_VARARGS | METH_KEYWORDS,
	  "wait($self, event)\n--\n\nWhat is queued later does not start before the event." },
	{ "record", WORDS(stream_record), METH_VARARGS | METH_KEYWORDS,
	  "record($self, event=None)\n--\n\n"
	  "Marks what is queued so far by the event, or by a new one. Returns it." },
	{ "call", WORDS(stream_call), METH_VARARGS | METH_KEYWORDS,
	  "call($self, function)\n--\n\n"
	  "Calls function(error) after what is queued so far, in a thread of the library. error is "
	  "None,\n"
	  "or the accel.Error of that work. What is queued later waits until function returns. It "
	  "may\n"
	  "not use the stream. An exception of it goes to sys.unraisablehook." },
	{ "signal", WORDS(stream_signal), METH_VARARGS | METH_KEYWORDS,
	  "signal($self, eventfd)\n--\n\n"
	  "Adds 1 to an eventfd after what is queued so far, also if that fails. It may be closed "
	  "after the call." },
	{ "export_fence", stream_export_fence, METH_NOARGS,
	  "export_fence($self)\n--\n\n"
	  "A file descriptor of a fence (sync_file) of what is queued so far, to be closed by the "
	  "caller." },
	{ "wait_fence", WORDS(stream_wait_fence), METH_VARARGS | METH_KEYWORDS,
	  "wait_fence($self, fence)\n--\n\n"
	  "What is queued later does not start before the fence, a sync_file of any driver." },
	{ "close", stream_close, METH_NOARGS,
	  "close($self)\n--\n\nEnds the stream. What is queued still runs." },
	{ "__enter__", stream_enter_block, METH_NOARGS, ENTER_DOC },
	{ "__exit__", stream_exit_block, METH_VARARGS, EXIT_DOC },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef stream_values[] = {
	{ "closed", stream_get_closed, NULL, "Whether it was closed, or its device.", NULL },
	{ "device", stream_get_device, NULL, "Device that it belongs to.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot stream_slots[] = {
	{ Py_tp_doc, "A queue of work of a device. Made by Device.stream()." },
	{ Py_tp_dealloc, stream_dealloc },
	{ Py_tp_traverse, child_traverse },
	{ Py_tp_members, child_members },
	{ Py_tp_repr, stream_repr },
	{ Py_am_await, stream_await },
	{ Py_tp_methods, stream_methods },
	{ Py_tp_getset, stream_values },
	{ 0, NULL },
};

static PyType_Spec stream_spec = {
	.name = "accel.Stream",
	.basicsize = sizeof(struct stream),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = stream_slots,
};

int stream_init(PyObject *module)
{
	accel_stream_type = type_add(module, &stream_spec);
	return accel_stream_type ? 0 : -1;
}
