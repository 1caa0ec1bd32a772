/* SPDX-License-Identifier: MIT */
/* Pools. */
#ifndef ACCEL_PYTHON_POOL_H
#define ACCEL_PYTHON_POOL_H

#include "child.h"

#include <accel/pool.h>

struct pool {
	PyObject_HEAD
	struct child child;
	struct accel_pool *handle; /* NULL: closed */
	enum accel_memory_kind kind;
	struct memory *blocks; /* those that live, not counted */
};

extern PyTypeObject *accel_pool_type;

int pool_init(PyObject *module);
PyObject *pool_new(struct device *device, PyObject *args, PyObject *words);

#endif
