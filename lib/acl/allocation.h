/* SPDX-License-Identifier: MIT */
/* What this layer has allocated and registered. */
#ifndef LIBACCEL_ACL_ALLOCATION_H
#define LIBACCEL_ACL_ALLOCATION_H

#include "state.h"

/* Of a device that is in use: frees the memory with it, or now, if that cannot be recorded. */
aclError allocation_keep(struct device *device, enum accel_memory_kind kind, void *ptr,
			 size_t size);
/* What libaccel returns; the memory may also be another layer's. */
int allocation_free(struct device *device, enum accel_memory_kind kind, void *ptr, size_t size);
/* Of a device that is being closed, and that no call uses. */
void allocations_end(struct device *device);
/* Under the lock, in a forked process. */
void allocations_forget(struct device *device);

#endif
