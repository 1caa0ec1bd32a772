/* SPDX-License-Identifier: MIT */
/* Streams. */
#ifndef LIBACCEL_ACL_STREAM_H
#define LIBACCEL_ACL_STREAM_H

#include "state.h"

struct object;

struct on_stream {
	struct here here;
	const void *handle; /* of the stream, or of its context for a default stream */
	struct accel_stream *stream;
};

/* here_enter(), and a stream of the current context; NULL is its default one. */
aclError stream_find(const char *name, aclrtStream handle, struct on_stream *on);
/* The same for what would wait for the stream, but for a callback that this thread has to run. */
aclError stream_enter(const char *name, aclrtStream handle, struct on_stream *on);
void stream_leave(const struct on_stream *on);
/* Under the lock: the stream, or the context for a default one; NULL if it was destroyed meanwhile. */
struct object *stream_object(const struct on_stream *on);
/* A stream that has failed takes work again when the failure has been reported: with err, now. */
aclError stream_told(struct accel_stream *stream, int err);
/* All streams of a device. */
aclError streams_told(struct device *device, int err);
/* Waits for all of them, destroyed ones, too. */
aclError device_synchronize(struct device *device);
aclError streams_wait(struct device *device, uint64_t deadline);
/*
 * The next object of a device (and of a context, if one is given) from *at = 0 on that has a stream.
 * Another thread may end it meanwhile: object_put() ends the use.
 */
struct object *stream_next(struct device *device, aclrtContext context, size_t *at);
/* When a time in milliseconds from now is over, for libaccel. */
uint64_t deadline_after(int32_t timeout);

#endif
