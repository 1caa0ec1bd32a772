/* SPDX-License-Identifier: MIT */
/*
 * Which devices are open, and who uses them. The layer knows libaccel by its public header only.
 *
 * One lock guards all that the threads of a process share: whether aclInit() was called, which
 * devices are open and how many calls use them, handles, peers, callbacks. No function of libaccel
 * that takes a lock is called while it is held (accel_event_query() takes none), so it has no order
 * with the locks there, in fork() neither. A thread that has to wait for a device that another
 * thread opens or closes sleeps on a condition.
 */
#ifndef LIBACCEL_ACL_STATE_H
#define LIBACCEL_ACL_STATE_H

#include "error.h"

#include <pthread.h>
#include <stdatomic.h>

#define MAX_DEVICES 64

enum device_state { DEVICE_CLOSED, DEVICE_OPENING, DEVICE_OPEN, DEVICE_CLOSING };

/*
 * Under the lock, but for what stays as it is while the device is in use, id and dev, and for two
 * that are written under it, and by device_put() without.
 */
struct device {
	_Atomic(enum device_state) state;
	int32_t id;
	struct accel_device *dev;
	uint64_t sets; /* aclrtSetDevice() that were not undone */
	atomic_uint users; /* calls under way */
	aclrtContext context; /* the default one */
	uint64_t peers; /* bits of the devices that it was let access */
	void *allocations; /* allocation.c: what was allocated on it by this layer */
};

void state_lock(void);
void state_unlock(void);
/* Under the lock, which is released meanwhile. */
void state_wait(pthread_cond_t *condition);

/* Before the first use of the lock in a process that may not have called aclInit(). */
void state_watch_forks(void);
/* Counts aclInit(); the count. */
uint64_t state_init(void);
/* Undoes it once or wholly, and closes all devices when none is left. */
aclError state_finalize(bool all, uint64_t *left);

/* The name of a call, and ACL_ERROR_UNINITIALIZE before aclInit(). */
aclError call_enter(const char *name);

/*
 * What a call works with. The device stays open from here_enter() to here_leave(). Fails without
 * aclInit() or current context.
 */
struct here {
	struct device *device;
	aclrtContext context;
	bool is_alone; /* no other device was open */
};

aclError here_enter(const char *name, struct here *here);
void here_leave(const struct here *here);

/* Opens the device if need be and counts a use of it, which device_put() ends. */
aclError device_open(int32_t id, struct device **device);
/* The open device with this handle, counted, or NULL. */
struct device *device_with(const struct accel_device *dev);
/* The next open device from *at = 0 on, counted, or NULL. */
struct device *device_next(int *at);
void device_put(struct device *device);
/* One aclrtSetDevice() less, or none is left; closes the device with the last. */
aclError device_reset(int32_t id, bool force);
/* Makes the context the current one of this thread. */
void context_use(aclrtContext context);

#endif
