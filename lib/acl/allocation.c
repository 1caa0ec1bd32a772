/* SPDX-License-Identifier: MIT */
/*
 * What this layer has allocated and registered, by address, so that a reset can free it: libaccel
 * frees the memory of a device when its last user closes it, and another layer may have it open.
 */
#define _GNU_SOURCE
#include "allocation.h"
#include "state.h"

#include <search.h>
#include <stdlib.h>

struct allocation {
	void *ptr; /* first: it is the key */
	size_t size;
	uint64_t serial; /* of libaccel; 0: another device has memory at this address, too */
	enum accel_memory_kind kind;
	struct device *device;
};

static int allocation_compare(const void *a, const void *b)
{
	uintptr_t left = (uintptr_t)*(void *const *)a, right = (uintptr_t)*(void *const *)b;

	return (left > right) - (left < right);
}

static int allocation_release(const struct allocation *allocation)
{
	struct accel_device *dev = allocation->device->dev;

	switch (allocation->kind) {
	case ACCEL_MEMORY_DEVICE:
		return accel_device_memory_deallocate(dev, allocation->ptr, allocation->size);
	case ACCEL_MEMORY_HOST:
		return accel_host_memory_deallocate(dev, allocation->ptr, allocation->size);
	default:
		return accel_host_unregister(dev, allocation->ptr);
	}
}

/* False if there is no memory for it. One at the same address was freed by another layer. */
static bool allocation_insert(struct allocation *allocation)
{
	struct allocation **found, *before = NULL;

	state_lock();
	found = tsearch(allocation, &allocation->device->allocations, allocation_compare);
	if (found && *found != allocation) {
		before = *found;
		*found = allocation;
	}
	state_unlock();
	free(before);
	return found;
}

/* NULL if what was recorded for the address is of another kind: that stays. */
static struct allocation *allocation_take(struct device *device, enum accel_memory_kind kind,
					  const void *ptr)
{
	struct allocation **found, *allocation = NULL;

	state_lock();
	found = tfind(&ptr, &device->allocations, allocation_compare);
	if (found && (*found)->kind == kind) {
		allocation = *found;
		tdelete(&ptr, &device->allocations, allocation_compare);
	}
	state_unlock();
	return allocation;
}

static struct allocation allocation_describe(struct device *device, enum accel_memory_kind kind,
					     void *ptr, size_t size)
{
	struct allocation allocation = { ptr, size, 0, kind, device };
	struct accel_pointer_info info;

	if (!accel_pointer_get_info(ptr, &info) && info.device == device->dev) {
		allocation.size = info.size;
		allocation.serial = info.serial;
	}
	return allocation;
}

aclError allocation_keep(struct device *device, enum accel_memory_kind kind, void *ptr, size_t size)
{
	const struct allocation made = allocation_describe(device, kind, ptr, size);
	struct allocation *kept = malloc(sizeof(*kept));

	if (kept) {
		*kept = made;
		if (allocation_insert(kept))
			return ACL_SUCCESS;
	}
	free(kept);
	allocation_release(&made);
	return call_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of memory for a record");
}

int allocation_free(struct device *device, enum accel_memory_kind kind, void *ptr, size_t size)
{
	const struct allocation others = { ptr, size, 0, kind, device };
	struct allocation *allocation = allocation_take(device, kind, ptr);
	int err = allocation_release(&others);

	/* Without memory for it only the close of the device frees it. */
	if (err && allocation && allocation_insert(allocation))
		return err;
	free(allocation);
	return err;
}

/* Memory whose address has another serial number by now was freed by another layer: it stays. */
static void allocation_end(void *data)
{
	struct allocation *allocation = data;
	struct accel_pointer_info info;

	if (accel_pointer_get_info(allocation->ptr, &info) || !allocation->serial ||
	    info.device != allocation->device->dev || info.serial == allocation->serial)
		allocation_release(allocation);
	free(allocation);
}

void allocations_end(struct device *device)
{
	void *all;

	state_lock();
	all = device->allocations;
	device->allocations = NULL;
	state_unlock();
	tdestroy(all, allocation_end);
}

void allocations_forget(struct device *device)
{
	tdestroy(device->allocations, free);
	device->allocations = NULL;
}
