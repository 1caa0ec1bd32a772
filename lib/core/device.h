/* SPDX-License-Identifier: MIT */
/* Handles, and commands to the driver. */
#ifndef LIBACCEL_DEVICE_H
#define LIBACCEL_DEVICE_H

#include "api.h"
#include "node.h"
#include "range.h"
#include "stamp.h"
#include "window.h"

struct accel_device {
	/* For READ_SHARED(), as the window is: */
	struct accel_device *next;
	struct range *ranges; /* of all kinds: host memory never lies in the window */
	bool inherited; /* through fork(): every call is refused */
	unsigned int refs; /* 0: not listed, or about to be freed */
	struct window window;

	/* Used with a reference only: */
	uint64_t mem_base;
	uint64_t max_align;
	uint64_t max_host_bytes;
	uint32_t max_streams;
	uint32_t max_ops;
	int64_t clock_shift; /* by which the driver's clock is ahead of ours: a time namespace */
	dev_t rdev;
	unsigned int node;
	char name[NODE_PATH]; /* of the node, for sentences */
	uint64_t created; /* count of creations at its own; under the table lock */
	unsigned int opens; /* changed under the table lock; 0 after the last close */
	int fd;
	bool mappable; /* its memory has bus addresses */

	pthread_mutex_t lock; /* of what follows */
	const struct paccel_page *page; /* mapped with the first stream; read without the lock */
	struct accel_stream *streams; /* all that were ever made */
	struct accel_event *events; /* likewise */
	uint64_t streams_ended; /* numbers that were given back */
	struct accel_event *unused_events;
	struct accel_batch *batches;
	struct stamps stamps;
	struct stage *stage; /* atomic; made with the first use */

	/* Under the lock of the callbacks: */
	bool calls_back; /* is a user of the thread */
	bool closing; /* callbacks do not wait for the device any more */
};

/* The first one in the order in which they were opened; under the table lock or READ_SHARED(). */
struct accel_device *device_list(void);

/* 0 if calls on the handle make sense: not NULL, not inherited. */
int device_check(const struct accel_device *dev);
/* 0 if the device is there and the context usable. */
int device_alive(struct accel_device *dev);

/* One more open of a handle that is open. */
void device_open_again(struct accel_device *dev);
/*
 * Turns one open of a handle into a reference, for a close in a callback with work to do before it
 * ends. -EDEADLK, with a sentence: it is the last open, whose close would wait for the callback.
 */
int device_open_to_hold(struct accel_device *dev);
/* One more reference. The caller has one, or has found the handle under the table lock. */
void device_hold(struct accel_device *dev);
/* The same for a handle that was found without the lock. False: it is about to be freed. */
static inline bool device_try_hold(struct accel_device *dev)
{
	return reference_get(&dev->refs);
}
/* With the last one the handle is freed: not under a lock. */
void device_drop(struct accel_device *dev);
/* Whether the last close has not come yet. */
static inline bool device_is_open(const struct accel_device *dev)
{
	return __atomic_load_n(&dev->opens, __ATOMIC_SEQ_CST);
}

/* The device address of a pointer into the window, and back. */
static inline uint64_t device_address(const struct accel_device *dev, uintptr_t ptr)
{
	return dev->mem_base + (ptr - dev->window.base);
}

static inline uintptr_t device_pointer(const struct accel_device *dev, uint64_t addr)
{
	return dev->window.base + (uintptr_t)(addr - dev->mem_base);
}

/* Around the open and the close of a file that fork() must not copy: it waits for the end. */
void device_move_begin(void);
void device_move_end(void);
/* Waits until no file is being opened or closed; under the table lock, which is given meanwhile. */
void device_settle(void);
/* Makes every handle an inherited one, also those that are being closed; in the child. */
void device_disown_all(void);

/* ---- ioctl.c ---- */

/* One command; negative errno without a sentence. */
int device_ioctl(struct accel_device *dev, unsigned long request, void *arg);
/* The sentence for an error that any command can have. */
int general_error(const struct accel_device *dev, int err);

#endif
