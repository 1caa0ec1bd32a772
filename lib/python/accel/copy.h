/* SPDX-License-Identifier: MIT */
/* Copies and fills. */
#ifndef ACCEL_PYTHON_COPY_H
#define ACCEL_PYTHON_COPY_H

#include "operand.h"
#include "stream.h"

/* None, or NULL with an exception. Streams may be None. Without a stream a signal ends them. */
PyObject *copy_objects(PyObject *dst, PyObject *src, PyObject *stream);
/* The same as wait_in_parts() for operands of one shape. */
int copy_wait(const struct operand *dst, const struct operand *src);
/* For accel._view: destination, source, width, rows, two pitches, two offsets, stream. */
PyObject *copy_rows(PyObject *module, PyObject *args);
PyObject *copy_fill(struct memory *memory, PyObject *value, PyObject *stream);
/* A stream, entered; or *stream NULL for None. false with an exception. */
bool copy_stream(PyObject *object, struct stream **stream);
void copy_stream_done(struct stream *stream);

#endif
