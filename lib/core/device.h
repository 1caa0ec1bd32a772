/* SPDX-License-Identifier: MIT */
/* Devices that are open, and commands to the driver. */
#ifndef LIBACCEL_DEVICE_H
#define LIBACCEL_DEVICE_H

#include "api.h"
#include "handle.h"
#include "node.h"
#include "range.h"
#include "stamp.h"
#include "window.h"

#include <errno.h>

struct device {
	/* For READ_SHARED(), as the window is: */
	struct device *next;
	struct range *ranges; /* of all kinds: host memory never lies in the window */
	bool inherited; /* through fork(): every call is refused */
	unsigned int refs; /* 0: not listed, or about to be freed */
	struct window window;
	unsigned int node;

	/* Used with a reference only: */
	struct accel_device *handle; /* until the last close and the last hold */
	uint64_t mem_base;
	uint64_t max_align;
	uint64_t max_host_bytes;
	uint32_t max_streams;
	uint32_t max_ops;
	int64_t clock_shift; /* by which the driver's clock is ahead of ours: a time namespace */
	dev_t rdev;
	char name[NODE_PATH]; /* of the node, for sentences */
	uint64_t created; /* count of creations at its own; under the table lock */
	unsigned int opens; /* changed under the table lock; 0 after the last close */
	unsigned int holds; /* opens that became one; under the table lock, as is closed */
	bool closed; /* callbacks have ended */
	int fd;
	bool mappable; /* its memory has bus addresses */

	pthread_mutex_t lock; /* of what follows */
	const struct paccel_page *page; /* mapped with the first stream; read without the lock */
	struct stream *streams; /* all that were ever made */
	struct event *events; /* likewise */
	uint64_t streams_ended; /* numbers that were given back */
	struct event *unused_events;
	struct batch *batches;
	struct stamps stamps;
	struct stage *stage; /* atomic; made with the first use */

	/* Under the lock of the callbacks: */
	bool calls_back; /* is a user of the thread */
	bool closing; /* callbacks do not wait for the device any more */
};

/* The first one in the order in which they were opened; under the table lock or READ_SHARED(). */
struct device *device_list(void);

/* The sentence for an error that any command can have. */
int general_error(const struct device *dev, int err);
/* The device of a handle. Its calls make sense: it is open, and not inherited. */
int device_get(const struct accel_device *handle, struct device **dev);
/* The second of the two. */
static inline int device_usable(const struct device *dev)
{
	return dev->inherited ? general_error(dev, -EPERM) : 0;
}
/* 0 if the device is there and the context usable. */
int device_alive(struct device *dev);

/* One more open of a device that is open. */
void device_open_again(struct device *dev);
/*
 * Turns one open of a device into a hold, for a close in a callback with work to do before it ends: a
 * reference, and the handle stays valid. -EDEADLK, with a sentence: it is the last open, whose close
 * would wait for the callback.
 */
int device_open_to_hold(struct device *dev);
/* Ends the hold. Handles of a device that has been closed meanwhile end here, not before. */
void device_end_hold(struct device *dev);
/* One more reference. The caller has one, or has found the device under the table lock. */
void device_hold(struct device *dev);
/* The same for a device that was found without the lock. False: it is about to be freed. */
static inline bool device_try_hold(struct device *dev)
{
	return reference_get(&dev->refs);
}
/* With the last one the device is freed: not under a lock. */
void device_drop(struct device *dev);
/* Whether the last close has not come yet. */
static inline bool device_is_open(const struct device *dev)
{
	return __atomic_load_n(&dev->opens, __ATOMIC_SEQ_CST);
}

/* The device address of a pointer into the window, and back. */
static inline uint64_t device_address(const struct device *dev, uintptr_t ptr)
{
	return dev->mem_base + (ptr - dev->window.base);
}

static inline uintptr_t device_pointer(const struct device *dev, uint64_t addr)
{
	return dev->window.base + (uintptr_t)(addr - dev->mem_base);
}

/* Around the open and the close of a file that fork() must not copy: it waits for the end. */
void device_move_begin(void);
void device_move_end(void);
/* Waits until no file is being opened or closed; under the table lock, which is given meanwhile. */
void device_settle(void);
/* Makes every device an inherited one, also those that are being closed; in the child. */
void device_disown_all(void);

/* ---- ioctl.c ---- */

/* One command; negative errno without a sentence. */
int device_ioctl(struct device *dev, unsigned long request, void *arg);

#endif
