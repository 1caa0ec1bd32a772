/* SPDX-License-Identifier: MIT */
/* What a device says of itself. */
#ifndef ACCEL_PYTHON_INFO_H
#define ACCEL_PYTHON_INFO_H

#include "device.h"

int info_init(PyObject *module);
/* What the device's methods info() and stats() do; neither takes arguments. */
PyObject *info_of_device(struct device *device, PyObject *args, PyObject *words);
PyObject *info_of_memory(struct device *device, PyObject *args, PyObject *words);

/* Puts a value, which it takes over, into the next field of a tuple with names. */
void info_put(PyObject *tuple, Py_ssize_t *at, PyObject *value);
void info_put_numbers(PyObject *tuple, Py_ssize_t *at, const uint64_t *numbers, size_t count);
/* A value that could not be made has left an exception and a hole: then NULL, and the tuple goes. */
PyObject *info_whole(PyObject *tuple);

#endif
