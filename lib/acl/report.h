/* SPDX-License-Identifier: MIT */
/*
 * Callbacks and the threads that run them: shared by report.c (threads) and callback.c (launches).
 * All of it is under the lock.
 */
#ifndef LIBACCEL_ACL_REPORT_H
#define LIBACCEL_ACL_REPORT_H

#include "handle.h"

/* A thread that runs callbacks. */
struct reader {
	uint64_t thread;
	struct device *device; /* NULL without a stream */
	int epoll; /* for the eventfds of its streams, and wake */
	int wake; /* eventfd: a callback is due without a signal, or the last stream has left */
	struct object *streams; /* that it serves */
	unsigned int calls; /* aclrtProcessReport() under way; a callback can call it again */
	unsigned int blocking; /* of its callbacks */
	struct callback *first, **last; /* that have not returned, in the order of the launches */
	struct reader *next;
};

struct callback {
	/* By the launch, by the list of the reader, and by the function that libaccel calls. */
	unsigned int uses;
	aclrtCallback fn;
	void *data;
	struct device *device; /* of the stream */
	aclrtContext context; /* likewise */
	const void *stream; /* its handle, or of its context for a default stream; it may have ended */
	struct reader *reader; /* valid until is_ended */
	uint64_t signal; /* the number of its operation on the stream's eventfd, or 0 */
	bool is_blocking;
	bool is_due; /* the stream has come to it */
	bool is_running;
	bool is_ended; /* it is not in the list (yet): it has returned, or was dropped */
	struct callback *next;
};

/* A callback has ended, or a launch has. */
extern pthread_cond_t report_changed;

/* Adds a callback to the list of a reader. */
void callback_append(struct reader *reader, struct callback *callback);
/* Takes it out of the list, unless it has ended. */
void callback_end(struct callback *callback);
void callback_put(struct callback *callback);
/* The stream has come to it: its reader wakes. */
void callback_due(struct callback *callback);

/* ---- For other files ---- */

/* Under the lock: drops the callbacks of a stream, which has no reader from then on. */
void report_end(struct object *stream);
/* The same for all streams of a device. */
void reports_end(struct device *device);
/* Under the lock, in a forked process. */
void reports_forget(void);
/*
 * Before a wait for all streams of a device, or of a context, or for one stream (the others are
 * NULL): an error if a callback that this thread has to run blocks a stream.
 */
aclError reports_check(const struct device *device, aclrtContext context, const void *stream);

#endif
