/* SPDX-License-Identifier: MIT */
/* Streams, events and contexts as programs see them. */
#ifndef LIBACCEL_ACL_HANDLE_H
#define LIBACCEL_ACL_HANDLE_H

#include "state.h"

enum handle_kind {
	HANDLE_CONTEXT = 1,
	HANDLE_STREAM,
	HANDLE_EVENT,
	HANDLE_WITH_STREAM, /* to find: a stream, or a context, which has a default one */
};

struct object {
	enum handle_kind kind;
	void *handle;
	struct device *device;
	aclrtContext context; /* that a stream belongs to; its own handle of a context */
	unsigned int refs; /* of the table, and of calls that use the object without the lock */
	struct accel_stream *stream; /* of a context: its default one, or NULL */
	struct accel_event *event;
	struct reader *reader; /* runs the callbacks of a stream, or NULL */
	struct object *next_of_reader;
	int reached; /* eventfd that the stream signals at callbacks, from its first reader on, or -1 */
	uint64_t signals_queued; /* operations on it */
	uint64_t signals_seen; /* the sum of what was read from it */
	bool is_signal_launch; /* a launch is queueing one more */
	unsigned int pending; /* functions that libaccel calls for a stream, or will */
	struct wait *waits, **last_wait; /* of a stream, for events, in its order */
	uint32_t flags; /* of an event */
	bool is_default; /* a context that aclrtSetDevice() made */
	bool is_reusable; /* an event of aclrtCreateEventExWithFlag() */
	bool is_recorded; /* an event */
};

/* Under the lock: what the handle stands for, or NULL; valid as long as the lock is held. */
struct object *handle_find(enum handle_kind kind, const void *handle);
/* The handle of a copy of the object, or NULL. */
void *handle_make(const struct object *object);
/* Ends the handle; the reference of the table is the caller's. */
void handle_drop(const struct object *object);
/* The next object from *at = 0 on, of a device and of a context where they are given, or NULL. */
struct object *object_next(enum handle_kind kind, const struct device *device,
			   aclrtContext context, size_t *at);
/* Without the lock: a reference less. The last one destroys what the object has. */
void object_put(struct object *object);
/* In a forked process. */
void handles_forget(void);
/* Why there is no such thing, in words. */
aclError handle_fail(const char *argument, enum handle_kind kind, const void *handle);

#endif
