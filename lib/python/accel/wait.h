/* SPDX-License-Identifier: MIT */
/* Waits, which a signal can end. */
#ifndef ACCEL_PYTHON_WAIT_H
#define ACCEL_PYTHON_WAIT_H

#include "module.h"

/* CLOCK_MONOTONIC in ns; None is never. false with an exception. */
bool wait_deadline(PyObject *timeout, uint64_t *deadline);
/* 0 or a negative errno of libaccel; 1 with an exception, that of a signal. Releases the GIL. */
int wait_stream(struct accel_stream *stream, uint64_t deadline);
int wait_event(struct accel_event *event, uint64_t deadline);
int wait_device(struct accel_device *device);
/* Clears the error of the stream. */
int wait_clear(struct accel_stream *stream);
/* Calls a function for parts of `count` things of `size` bytes, each of which waits for its part. */
typedef int (*wait_part)(void *data, size_t begin, size_t number);
int wait_in_parts(wait_part function, void *data, size_t count, size_t size);
/* None, or NULL with an exception: also for 1. */
PyObject *wait_result(int rc);

#endif
