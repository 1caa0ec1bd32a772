/* SPDX-License-Identifier: MIT */
/* Tensors of others in host memory. */
#ifndef ACCEL_PYTHON_TENSOR_H
#define ACCEL_PYTHON_TENSOR_H

#include "module.h"

int tensor_init(PyObject *module);
/*
 * An object with the buffer protocol for one that has DLPack only, as tensors of PyTorch do; any other
 * object itself. NULL with an exception.
 */
PyObject *tensor_buffer(PyObject *object);
/* PyObject_GetBuffer() of what tensor_buffer() returns. */
int buffer_get(PyObject *object, Py_buffer *view, int flags);

#endif
