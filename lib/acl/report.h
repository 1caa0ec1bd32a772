/* SPDX-License-Identifier: MIT */
/*
 * Streams whose callbacks a thread of the program runs: what report.c, which knows who they are,
 * and callback.c, which queues and runs, share. All of it is under the lock.
 */
#ifndef LIBACCEL_ACL_REPORT_H
#define LIBACCEL_ACL_REPORT_H

#include "private.h"

/* A thread that runs callbacks. */
struct reader {
	uint64_t thread;
	struct device *device; /* NULL as long as it has no stream */
	int epoll;
	int wake; /* eventfd: its last stream has left */
	unsigned int streams; /* that it serves */
	unsigned int waiting; /* aclrtProcessReport() under way; a callback can call it again */
	struct reader *next;
};

/* A stream whose callbacks a thread runs. */
struct report {
	struct reader *reader;
	aclrtContext context; /* of the stream */
	/* By the table, by the thread while it runs one, and by each that is being queued. */
	unsigned int uses;
	bool is_ended;
	int reached; /* eventfd: how many of the list the stream has come to */
	unsigned int blocking; /* callbacks that block the stream */
	unsigned int queued; /* in the list */
	struct callback *first, **last;
	struct report *next;
};

struct callback {
	/* By who queues it, by the list or who runs it, and if it blocks by libaccel's thread. */
	unsigned int uses;
	aclrtCallback fn;
	void *data;
	void *stream; /* its handle, or of its context for a default stream; it may have ended */
	struct report *report; /* NULL: dropped, if it was not taken out before */
	bool is_blocking;
	bool is_done;
	struct callback *next;
};

/* A callback that blocks, or a host function, is done; one is queued; or they are dropped. */
extern pthread_cond_t report_done;

uint64_t report_thread(void);
/* Made by whoever comes first: the thread, or who names it. NULL if there is no memory. */
struct reader *reader_of(uint64_t thread);
/* Nobody may have anything to do with it any more. */
void reader_put(struct reader *reader);
void report_put(struct report *report);
void callback_put(struct callback *callback);
/* The report, if it is not ended, and still the thread's. */
struct report *report_live(const void *found, const struct reader *reader);

#endif
