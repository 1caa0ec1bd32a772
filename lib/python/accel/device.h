/* SPDX-License-Identifier: MIT */
/* Devices. */
#ifndef ACCEL_PYTHON_DEVICE_H
#define ACCEL_PYTHON_DEVICE_H

#include "module.h"

struct child;

struct device {
	PyObject_HEAD
	PyObject *weakrefs;
	struct accel_device *handle; /* NULL: closed */
	int index;
	pid_t pid; /* that opened it */
	bool closing;
	unsigned int busy; /* calls on it and on what belongs to it */
	struct child *children; /* not counted */
};

extern PyTypeObject *accel_device_type;

int device_init(PyObject *module);
PyObject *device_open(PyObject *module, PyObject *args, PyObject *words);
/* Whatever uses the device stands between the two. An exception if it is closed. */
bool device_enter(struct device *device);
void device_leave(struct device *device);
/* Opened by the process that this one was forked from. */
bool device_is_inherited(const struct device *device);

#endif
