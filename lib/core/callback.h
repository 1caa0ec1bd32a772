/* SPDX-License-Identifier: MIT */
/* The threads that run callbacks. */
#ifndef LIBACCEL_CALLBACK_H
#define LIBACCEL_CALLBACK_H

#include "api.h"

#include <stdbool.h>
#include <stdint.h>

struct device;
struct stream;

/* Waits until no callback of the stream is pending. */
int callbacks_wait(struct stream *stream, uint64_t deadline);
/* Runs those of a device now, whatever its work does. */
void callbacks_end(struct device *dev);
/* Whether this is a thread that runs them, and for which stream. */
bool in_callbacks(void);
bool in_callback_of(const struct stream *stream);
void callbacks_before_fork(void);
void callbacks_after_fork(void);
void callbacks_in_child(void);

#endif
