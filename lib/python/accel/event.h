/* SPDX-License-Identifier: MIT */
/* Events. */
#ifndef ACCEL_PYTHON_EVENT_H
#define ACCEL_PYTHON_EVENT_H

#include "child.h"

struct queue;
struct stream;

struct event {
	PyObject_HEAD
	struct child child;
	struct accel_event *handle; /* NULL: closed */
	struct queue *queue; /* counted: of the stream that it was recorded on, or NULL */
};

extern PyTypeObject *accel_event_type;

int event_init(PyObject *module);
/* What the device's method event() does, which takes no arguments. */
PyObject *event_new(struct device *device, PyObject *args, PyObject *words);
PyObject *event_record_on(struct event *event, struct stream *stream);

#endif
