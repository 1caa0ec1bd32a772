// SPDX-License-Identifier: MIT
/* Events. */

#include "private.h"

#include <acl/acl_rt.h>

static PyObject *create_event(PyObject *self, PyObject *unused)
{
	aclrtEvent event = NULL;
	aclError err;

	(void)self;
	(void)unused;
	UNLOCKED(err, aclrtCreateEvent(&event));
	return result_pointer(event, err);
}

static PyObject *create_flagged(PyObject *args, const char *call,
				aclError (*function)(aclrtEvent *event, uint32_t flag))
{
	aclrtEvent event = NULL;
	uint32_t flag;
	aclError err;

	if (!ARGUMENTS(args, call, UINT(flag)))
		return NULL;
	UNLOCKED(err, function(&event, flag));
	return result_pointer(event, err);
}

static PyObject *create_event_with_flag(PyObject *self, PyObject *args)
{
	(void)self;
	return create_flagged(args, "create_event_with_flag", aclrtCreateEventWithFlag);
}

static PyObject *create_event_ex_with_flag(PyObject *self, PyObject *args)
{
	(void)self;
	return create_flagged(args, "create_event_ex_with_flag", aclrtCreateEventExWithFlag);
}

static PyObject *of_event(PyObject *args, const char *call, aclError (*function)(aclrtEvent))
{
	aclrtEvent event;
	aclError err;

	if (!ARGUMENTS(args, call, POINTER(event)))
		return NULL;
	UNLOCKED(err, function(event));
	return result(err);
}

static PyObject *destroy_event(PyObject *self, PyObject *args)
{
	(void)self;
	return of_event(args, "destroy_event", aclrtDestroyEvent);
}

static PyObject *synchronize_event(PyObject *self, PyObject *args)
{
	(void)self;
	return of_event(args, "synchronize_event", aclrtSynchronizeEvent);
}

static PyObject *synchronize_event_with_timeout(PyObject *self, PyObject *args)
{
	aclrtEvent event;
	int32_t timeout;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "synchronize_event_with_timeout", POINTER(event), INT(timeout)))
		return NULL;
	UNLOCKED(err, aclrtSynchronizeEventWithTimeout(event, timeout));
	return result(err);
}

static PyObject *of_both(PyObject *args, const char *call,
			 aclError (*function)(aclrtEvent event, aclrtStream stream))
{
	aclrtEvent event;
	aclrtStream stream;
	aclError err;

	if (!ARGUMENTS(args, call, POINTER(event), POINTER(stream)))
		return NULL;
	UNLOCKED(err, function(event, stream));
	return result(err);
}

static PyObject *record_event(PyObject *self, PyObject *args)
{
	(void)self;
	return of_both(args, "record_event", aclrtRecordEvent);
}

static PyObject *reset_event(PyObject *self, PyObject *args)
{
	(void)self;
	return of_both(args, "reset_event", aclrtResetEvent);
}

static PyObject *query_event(PyObject *self, PyObject *args)
{
	aclrtEventStatus status = ACL_EVENT_STATUS_COMPLETE;
	aclrtEvent event;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "query_event", POINTER(event)))
		return NULL;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	UNLOCKED(err, aclrtQueryEvent(event, &status));
#pragma GCC diagnostic pop
	return result_number((int)status, err);
}

static PyObject *query_event_status(PyObject *self, PyObject *args)
{
	aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
	aclrtEvent event;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "query_event_status", POINTER(event)))
		return NULL;
	UNLOCKED(err, aclrtQueryEventStatus(event, &status));
	return result_number((int)status, err);
}

static PyObject *query_event_wait_status(PyObject *self, PyObject *args)
{
	aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_COMPLETE;
	aclrtEvent event;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "query_event_wait_status", POINTER(event)))
		return NULL;
	UNLOCKED(err, aclrtQueryEventWaitStatus(event, &status));
	return result_number((int)status, err);
}

static PyObject *event_elapsed_time(PyObject *self, PyObject *args)
{
	aclrtEvent start_event, end_event;
	float ms = 0;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "event_elapsed_time", POINTER(start_event), POINTER(end_event)))
		return NULL;
	UNLOCKED(err, aclrtEventElapsedTime(&ms, start_event, end_event));
	return Py_BuildValue("(di)", err ? 0 : (double)ms, (int)err);
}

PyMethodDef event_functions[] = {
	{ "create_event", create_event, METH_NOARGS,
	  "create_event()\n--\n\nAn event of the current device: (event, ret)." },
	{ "create_event_with_flag", create_event_with_flag, METH_VARARGS,
	  "create_event_with_flag(flag, /)\n--\n\nThe same for some purposes: (event, ret)." },
	{ "create_event_ex_with_flag", create_event_ex_with_flag, METH_VARARGS,
	  "create_event_ex_with_flag(flag, /)\n--\n\n"
	  "The same, of the kind that may be reused: (event, ret)." },
	{ "destroy_event", destroy_event, METH_VARARGS,
	  "destroy_event(event, /)\n--\n\nEnds it: ret." },
	{ "record_event", record_event, METH_VARARGS,
	  "record_event(event, stream, /)\n--\n\n"
	  "Marks what is queued so far; stream 0 is the default one: ret." },
	{ "reset_event", reset_event, METH_VARARGS,
	  "reset_event(event, stream, /)\n--\n\nMakes it one that is not recorded: ret." },
	{ "query_event", query_event, METH_VARARGS,
	  "query_event(event, /)\n--\n\n0 if it has happened, else 1: (status, ret)." },
	{ "query_event_status", query_event_status, METH_VARARGS,
	  "query_event_status(event, /)\n--\n\n"
	  "1 if it was recorded and has happened, else 0: (status, ret)." },
	{ "query_event_wait_status", query_event_wait_status, METH_VARARGS,
	  "query_event_wait_status(event, /)\n--\n\n"
	  "0 if no stream waits for it, else 1: (status, ret)." },
	{ "synchronize_event", synchronize_event, METH_VARARGS,
	  "synchronize_event(event, /)\n--\n\nWaits for it: ret." },
	{ "synchronize_event_with_timeout", synchronize_event_with_timeout, METH_VARARGS,
	  "synchronize_event_with_timeout(event, timeout, /)\n--\n\n"
	  "The same for some milliseconds, -1 for ever: ret." },
	{ "event_elapsed_time", event_elapsed_time, METH_VARARGS,
	  "event_elapsed_time(start_event, end_event, /)\n--\n\n"
	  "Milliseconds between two events: (ms, ret)." },
	{ NULL, NULL, 0, NULL },
};
