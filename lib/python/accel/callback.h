/* SPDX-License-Identifier: MIT */
/* Functions that streams call. */
#ifndef ACCEL_PYTHON_CALLBACK_H
#define ACCEL_PYTHON_CALLBACK_H

#include "stream.h"

int callback_init(void);
/* None, or NULL with an exception. */
PyObject *callback_add(struct stream *stream, PyObject *function);
/* For accel._asyncio: whether a call that queues work on the stream would wait for a callback. */
PyObject *callback_is_queued(PyObject *module, PyObject *stream);
/* For what libaccel refuses in a callback: it is done in another thread. Without memory it is left. */
void later_add(void (*end)(void *thing), void *thing);
/* Does what was left, unless it is called in a callback. */
void later_run(void);

#endif
