// SPDX-License-Identifier: MIT
/* Streams. 0 is the default one of the context. */

#include "private.h"

#include <acl/acl_rt.h>

static PyObject *create_stream(PyObject *self, PyObject *unused)
{
	aclrtStream stream = NULL;
	aclError err;

	(void)self;
	(void)unused;
	UNLOCKED(err, aclrtCreateStream(&stream));
	return result_pointer(stream, err);
}

static PyObject *create_stream_with_config(PyObject *self, PyObject *args)
{
	aclrtStream stream = NULL;
	uint32_t priority, flag;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "create_stream_with_config", UINT(priority), UINT(flag)))
		return NULL;
	UNLOCKED(err, aclrtCreateStreamWithConfig(&stream, priority, flag));
	return result_pointer(stream, err);
}

static PyObject *of_stream(PyObject *args, const char *call, aclError (*function)(aclrtStream))
{
	aclrtStream stream;
	aclError err;

	if (!ARGUMENTS(args, call, POINTER(stream)))
		return NULL;
	UNLOCKED(err, function(stream));
	return result(err);
}

static PyObject *destroy_stream(PyObject *self, PyObject *args)
{
	(void)self;
	return of_stream(args, "destroy_stream", aclrtDestroyStream);
}

static PyObject *destroy_stream_force(PyObject *self, PyObject *args)
{
	(void)self;
	return of_stream(args, "destroy_stream_force", aclrtDestroyStreamForce);
}

static PyObject *synchronize_stream(PyObject *self, PyObject *args)
{
	(void)self;
	return of_stream(args, "synchronize_stream", aclrtSynchronizeStream);
}

static PyObject *synchronize_stream_with_timeout(PyObject *self, PyObject *args)
{
	aclrtStream stream;
	int32_t timeout;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "synchronize_stream_with_timeout", POINTER(stream), INT(timeout)))
		return NULL;
	UNLOCKED(err, aclrtSynchronizeStreamWithTimeout(stream, timeout));
	return result(err);
}

static PyObject *stream_query(PyObject *self, PyObject *args)
{
	aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
	aclrtStream stream;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "stream_query", POINTER(stream)))
		return NULL;
	UNLOCKED(err, aclrtStreamQuery(stream, &status));
	return result_number((int)status, err);
}

static PyObject *stream_wait_event(PyObject *self, PyObject *args)
{
	aclrtStream stream;
	aclrtEvent event;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "stream_wait_event", POINTER(stream), POINTER(event)))
		return NULL;
	UNLOCKED(err, aclrtStreamWaitEvent(stream, event));
	return result(err);
}

PyMethodDef stream_functions[] = {
	{ "create_stream", create_stream, METH_NOARGS,
	  "create_stream()\n--\n\nA stream of the current context: (stream, ret)." },
	{ "create_stream_with_config", create_stream_with_config, METH_VARARGS,
	  "create_stream_with_config(priority, flag, /)\n--\n\n"
	  "The same, with flags: (stream, ret)." },
	{ "destroy_stream", destroy_stream, METH_VARARGS,
	  "destroy_stream(stream, /)\n--\n\nWaits for it, and ends it: ret." },
	{ "destroy_stream_force", destroy_stream_force, METH_VARARGS,
	  "destroy_stream_force(stream, /)\n--\n\nEnds it without waiting: ret." },
	{ "synchronize_stream", synchronize_stream, METH_VARARGS,
	  "synchronize_stream(stream, /)\n--\n\nWaits until it has done all its work: ret." },
	{ "synchronize_stream_with_timeout", synchronize_stream_with_timeout, METH_VARARGS,
	  "synchronize_stream_with_timeout(stream, timeout, /)\n--\n\n"
	  "The same for some milliseconds, -1 for ever: ret." },
	{ "stream_query", stream_query, METH_VARARGS,
	  "stream_query(stream, /)\n--\n\n"
	  "0 if it has done all its work, else 1: (status, ret)." },
	{ "stream_wait_event", stream_wait_event, METH_VARARGS,
	  "stream_wait_event(stream, event, /)\n--\n\n"
	  "What is queued later does not start before the event: ret." },
	{ NULL, NULL, 0, NULL },
};
