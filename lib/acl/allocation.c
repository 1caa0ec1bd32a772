/* SPDX-License-Identifier: MIT */
/*
 * What this layer has allocated and registered, by address, so that a reset can free it: libaccel
 * frees the memory of a device when its last user closes it, and another layer may have it open.
 */
#define _GNU_SOURCE
#include "private.h"

#include <search.h>
#include <stdlib.h>

struct allocation {
	void *ptr; /* first: it is the key */
	size_t size;
	uint64_t serial; /* of libaccel; 0: another device has memory at this address, too */
	enum accel_memory_kind kind;
	struct device *device;
};

static int compare(const void *a, const void *b)
{
	uintptr_t left = (uintptr_t)*(void *const *)a, right = (uintptr_t)*(void *const *)b;

	return (left > right) - (left < right);
}

static int release(const struct allocation *allocation)
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
static bool insert(struct allocation *allocation)
{
	struct allocation **found, *before = NULL;

	state_lock();
	found = tsearch(allocation, &allocation->device->allocations, compare);
	if (found && *found != allocation) {
		before = *found;
		*found = allocation;
	}
	state_unlock();
	free(before);
	return found;
}

static struct allocation *take(struct device *device, const void *ptr)
{
	struct allocation **found, *allocation = NULL;

	state_lock();
	found = tfind(&ptr, &device->allocations, compare);
	if (found) {
		allocation = *found;
		tdelete(&ptr, &device->allocations, compare);
	}
	state_unlock();
	return allocation;
}

static struct allocation *new_allocation(struct device *device, enum accel_memory_kind kind,
					 void *ptr, size_t size)
{
	struct allocation *allocation = malloc(sizeof(*allocation));
	struct accel_pointer_info info;

	if (!allocation)
		return NULL;
	*allocation = (struct allocation){ ptr, size, 0, kind, device };
	if (!accel_pointer_get_info(ptr, &info) && info.device == device->dev) {
		allocation->size = info.size;
		allocation->serial = info.serial;
	}
	return allocation;
}

aclError allocation_keep(struct device *device, enum accel_memory_kind kind, void *ptr, size_t size)
{
	struct allocation *allocation = new_allocation(device, kind, ptr, size);

	if (allocation && insert(allocation))
		return ACL_SUCCESS;
	if (allocation)
		release(allocation);
	free(allocation);
	return call_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "out of memory");
}

int allocation_free(struct device *device, enum accel_memory_kind kind, void *ptr, size_t size)
{
	const struct allocation others = { ptr, size, 0, kind, device };
	struct allocation *allocation = take(device, ptr);
	int err = release(&others);

	/* Without memory for it only the close of the device frees it. */
	if (err && allocation && insert(allocation))
		return err;
	free(allocation);
	return err;
}

/* Unless another layer has freed it, and its address is that of another allocation. */
static void end(void *data)
{
	struct allocation *allocation = data;
	struct accel_pointer_info info;

	if (accel_pointer_get_info(allocation->ptr, &info) || !allocation->serial ||
	    info.device != allocation->device->dev || info.serial == allocation->serial)
		release(allocation);
	free(allocation);
}

void allocations_end(struct device *device)
{
	void *all;

	state_lock();
	all = device->allocations;
	device->allocations = NULL;
	state_unlock();
	tdestroy(all, end);
}

void allocations_forget(struct device *device)
{
	tdestroy(device->allocations, free);
	device->allocations = NULL;
}
