/* SPDX-License-Identifier: MIT */
/* Exceptions. */
#ifndef ACCEL_PYTHON_ERROR_H
#define ACCEL_PYTHON_ERROR_H

#include "module.h"

int error_init(PyObject *module);
/* Sets accel.Error with the sentence of the last call that failed in this thread. NULL. */
PyObject *error_raise(int err);
/* The same with a sentence of our own. */
PyObject *error_say(int err, const char *sentence);
/* The exception itself; or NULL with another one. */
PyObject *error_object(int err, const char *sentence);
/* None, or error_raise(). */
PyObject *error_none(int err);

#endif
