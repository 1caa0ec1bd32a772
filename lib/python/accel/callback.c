// SPDX-License-Identifier: MIT
/*
 * Functions of the program that run after the work of a stream, in threads of libaccel.
 *
 * In such a thread libaccel refuses the end of the stream and of the device that the callback belongs
 * to. But the last reference to one of them may be dropped there, by the function or by a garbage
 * collection. So what libaccel refuses is done later, in the main thread or in a later call.
 */

#include "callback.h"
#include "error.h"
#include "pending.h"
#include "stream.h"

#include <pthread.h>

struct later {
	struct later *next;
	void (*end)(void *thing);
	void *thing;
};

/* The thing is the function. */
struct callback {
	struct later later;
	struct queue *queue; /* counted: of the stream */
};

/* Guarded by the GIL. */
static struct later *laters;
static _Thread_local bool in_callback;

/* From the end of the interpreter on no thread may ask for the GIL: it would never return. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static unsigned int inside;
static bool exiting;
static int fork_error;

/* ---- what is done later ---- */

void later_run(void)
{
	struct later *first;

	while (!in_callback && (first = laters)) {
		laters = first->next;
		first->end(first->thing);
		PyMem_Free(first);
	}
}

static int run_in_main_thread(void *unused)
{
	(void)unused;
	later_run();
	return 0;
}

/* If the queue of the interpreter is full, the next call that looks for ended copies runs it. */
static void later_queue(struct later *later)
{
	bool was_empty = !laters;

	later->next = laters;
	laters = later;
	if (was_empty)
		Py_AddPendingCall(run_in_main_thread, NULL);
}

void later_add(void (*end)(void *thing), void *thing)
{
	struct later *later = PyMem_Calloc(1, sizeof(*later));

	if (!later)
		return;
	*later = (struct later) { .end = end, .thing = thing };
	later_queue(later);
}

/* ---- the interpreter ---- */

static bool interpreter_enter(void)
{
	bool entered;

	pthread_mutex_lock(&lock);
	entered = !exiting;
	inside += entered;
	pthread_mutex_unlock(&lock);
	return entered;
}

/* In a child that a callback has forked there is none. */
static void interpreter_leave(void)
{
	pthread_mutex_lock(&lock);
	inside -= !!inside;
	pthread_cond_broadcast(&left);
	pthread_mutex_unlock(&lock);
}

static PyObject *interpreter_exit(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	Py_BEGIN_ALLOW_THREADS
	pthread_mutex_lock(&lock);
	exiting = true;
	while (inside)
		pthread_cond_wait(&left, &lock);
	pthread_mutex_unlock(&lock);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}

static void fork_before(void)
{
	pthread_mutex_lock(&lock);
}

static void fork_in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void fork_in_child(void)
{
	inside = 0;
	left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	pthread_mutex_unlock(&lock);
}

/* The module may be loaded more than once: the lock is not to be taken twice. */
static void fork_register(void)
{
	fork_error = pthread_atfork(fork_before, fork_in_parent, fork_in_child);
}

int callback_init(void)
{
	static PyMethodDef at_exit = { "callbacks_end", interpreter_exit, METH_NOARGS, NULL };
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	PyObject *atexit, *function = NULL, *result = NULL;

	pthread_once(&once, fork_register);
	if (fork_error) {
		PyErr_NoMemory();
		return -1;
	}
	/* An interpreter may have ended before. */
	pthread_mutex_lock(&lock);
	exiting = false;
	pthread_mutex_unlock(&lock);
	atexit = PyImport_ImportModule("atexit");
	if (atexit)
		function = PyCFunction_New(&at_exit, NULL);
	if (function)
		result = PyObject_CallMethod(atexit, "register", "O", function);
	Py_XDECREF(result);
	Py_XDECREF(function);
	Py_XDECREF(atexit);
	return result ? 0 : -1;
}

/* ---- callbacks ---- */

static void drop(void *thing)
{
	Py_DECREF((PyObject *)thing);
}

static void call(PyObject *function, int status)
{
	PyObject *error, *result = NULL;

	error = status ? error_object(status, accel_strerror(status)) : Py_NewRef(Py_None);
	if (error)
		result = PyObject_CallFunctionObjArgs(function, error, NULL);
	if (!result)
		PyErr_WriteUnraisable(function);
	Py_XDECREF(result);
	Py_XDECREF(error);
}

/* At the end of the thread state objects of the program may end too. */
static void run(void *data, int status)
{
	struct callback *callback = data;
	PyGILState_STATE state;

	if (!interpreter_enter())
		return;
	state = PyGILState_Ensure();
	in_callback = true;
	call(callback->later.thing, status);
	--*queue_calls(callback->queue);
	queue_put(callback->queue);
	later_queue(&callback->later);
	PyGILState_Release(state);
	in_callback = false;
	interpreter_leave();
}

PyObject *callback_add(struct stream *stream, PyObject *function)
{
	struct callback *callback;
	int rc;

	if (!PyCallable_Check(function))
		return PyErr_Format(PyExc_TypeError, "function has to be callable, not %R",
				    Py_TYPE(function));
	callback = PyMem_Calloc(1, sizeof(*callback));
	if (!callback)
		return PyErr_NoMemory();
	callback->later = (struct later) { .end = drop, .thing = Py_NewRef(function) };
	callback->queue = queue_get(stream->queue);
	++*queue_calls(callback->queue);
	Py_BEGIN_ALLOW_THREADS
	rc = accel_stream_add_callback(stream->handle, run, callback);
	Py_END_ALLOW_THREADS
	if (!rc)
		Py_RETURN_NONE;
	error_raise(rc);
	--*queue_calls(callback->queue);
	queue_put(callback->queue);
	Py_DECREF(function);
	PyMem_Free(callback);
	return NULL;
}

PyObject *callback_is_queued(PyObject *module, PyObject *stream)
{
	(void)module;
	return PyBool_FromLong(*queue_calls(((struct stream *)stream)->queue));
}
