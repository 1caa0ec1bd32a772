/* SPDX-License-Identifier: MIT */
/*
 * What all files of the Python module accel share. It knows libaccel by its public headers only, and
 * CPython by its stable ABI.
 *
 * The GIL guards everything here: objects, counters, lists. It is released in every call of
 * libaccel that may wait, and nowhere else. What such a call uses cannot go away meanwhile: `busy`
 * counts the calls that use a device, a piece of memory, a stream or an event, and whatever would
 * end one of them refuses as long as it is not 0.
 */
#ifndef ACCEL_PYTHON_MODULE_H
#define ACCEL_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
/* The buffer protocol is in the stable ABI from 3.11. */
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <structmember.h>

#include <accel/accel.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Py_ARRAY_LENGTH() of Python 3.13 is no constant expression: an initializer cannot use it. */
#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* A type of which programs make no objects themselves, in the module. */
PyTypeObject *type_add(PyObject *module, PyType_Spec *spec);
/*
 * Filled with 0, so that an incomplete object can be deallocated. It is not tracked by the garbage
 * collector: gc.get_objects() would show it to other threads. PyObject_GC_Track() or child_link()
 * follows when the object is complete.
 */
PyObject *object_new(PyTypeObject *type);
/* `weakrefs` is the object's; the object has left the garbage collector, and holds nothing. */
void object_free(PyObject *self, PyObject *weakrefs);
/* The result of the end of a with block: an exception that comes out of it hides no other. */
PyObject *exit_block(PyObject *args, PyObject *result);
#define ENTER_DOC "__enter__($self)\n--\n\nReturns itself."
#define EXIT_DOC "__exit__($self, kind, value, trace, /)\n--\n\n" \
	"Ends it. An exception of the with block is not hidden by another one."
/* Calls a function of a module of the package with self and the arguments. */
PyObject *call_package(const char *module, const char *function, PyObject *self, PyObject *args,
		       PyObject *words);
/* A file descriptor, which the caller of the program owns; closed if that fails. */
PyObject *fd_object(int fd);
/* The iterator of `await self`: what the function of accel._asyncio returns. */
PyObject *await_with(PyObject *self, const char *function);
/* A method that takes keywords, in a table of methods. */
#define WORDS(function) ((PyCFunction)(void (*)(void))(function))

#endif
