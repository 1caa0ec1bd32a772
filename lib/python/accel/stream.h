/* SPDX-License-Identifier: MIT */
/* Streams. */
#ifndef ACCEL_PYTHON_STREAM_H
#define ACCEL_PYTHON_STREAM_H

#include "child.h"

struct queue;

struct stream {
	PyObject_HEAD
	struct child child;
	struct accel_stream *handle; /* NULL: closed */
	struct queue *queue; /* counted */
};

extern PyTypeObject *accel_stream_type;

int stream_init(PyObject *module);
/* What the device's method stream() does, which takes no arguments. */
PyObject *stream_new(struct device *device, PyObject *args, PyObject *words);

#endif
