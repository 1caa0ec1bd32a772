/* SPDX-License-Identifier: MIT */
/*
 * What the files of the Python module acl share. It is a thin layer over libaccel_acl: numbers in,
 * numbers out, the code of the call last. All state is there; here is only what tells a program in
 * Python more than an address that is wrong would.
 */
#ifndef ACL_PYTHON_PRIVATE_H
#define ACL_PYTHON_PRIVATE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include <acl/acl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- argument.c ---- */

enum argument_kind {
	ARGUMENT_POINTER, /* void *: an address or a handle */
	ARGUMENT_SIZE, /* size_t */
	ARGUMENT_INT, /* int32_t */
	ARGUMENT_UINT, /* uint32_t */
};

struct argument {
	const char *name;
	enum argument_kind kind;
	void *value;
};

/* Fills the values. false with a TypeError, or an OverflowError, that names the argument. */
bool arguments_get(PyObject *args, const char *call, const struct argument *wanted, int count);

#define ARGUMENTS(args, call, ...)                                                                \
	arguments_get(args, call, (const struct argument[]){ __VA_ARGS__ },                       \
		      sizeof((const struct argument[]){ __VA_ARGS__ }) / sizeof(struct argument))
#define POINTER(variable) { #variable, ARGUMENT_POINTER, &(variable) }
#define SIZE(variable) { #variable, ARGUMENT_SIZE, &(variable) }
#define INT(variable) { #variable, ARGUMENT_INT, &(variable) }
#define UINT(variable) { #variable, ARGUMENT_UINT, &(variable) }

/* The call without the GIL: all of them may wait, for the device or for another thread. */
#define UNLOCKED(err, call)                                                                       \
	do {                                                                                      \
		Py_BEGIN_ALLOW_THREADS                                                            \
		(err) = (call);                                                                   \
		Py_END_ALLOW_THREADS                                                              \
	} while (0)

/* ret, and (value, ret), whose value is 0 if the call has failed. */
PyObject *result(aclError err);
PyObject *result_pointer(const void *value, aclError err);
PyObject *result_number(long long value, aclError err);

/* ---- guard.c: addresses of the host that the processor is going to read ---- */

/* NULL, or what is wrong, a format for the address. */
const char *guard_host(const void *ptr, size_t size);

/* ---- the functions of each file ---- */

extern PyMethodDef device_functions[];
extern PyMethodDef memory_functions[];
extern PyMethodDef copy_functions[];
extern PyMethodDef stream_functions[];
extern PyMethodDef event_functions[];
extern PyMethodDef util_functions[];

#endif
