/* SPDX-License-Identifier: MIT */
/*
 * Memory: device, page-locked and unified.
 */
#include "private.h"

static bool is_exhausted(int err)
{
	return err == -ENOMEM || err == -EDQUOT;
}

/*
 * Out of memory is success without memory: then Paddle gives back what it has cached and tries
 * again, and what it raises in the end is a MemoryError with the numbers of device_memory_stats.
 * Any other status is raised at once.
 */
static enum status device_memory_allocate(struct place *place, void **ptr, size_t size)
{
	struct device *device = plugin_enter(__func__, place);
	int err;

	if (ptr)
		*ptr = NULL;
	if (!device)
		return STATUS_ERROR;
	err = accel_device_memory_allocate(device->dev, ptr, size);
	if (is_exhausted(err)) {
		plugin_trace("accel:%d %s(%zu): %s", device->id, __func__, size,
			     accel_last_error());
		err = 0;
	}
	return plugin_done(__func__, device, err, "%p, %zu", ptr ? *ptr : NULL, size);
}

/*
 * Success whatever it is: Paddle frees in destructors, and a failure there ends the process. Its
 * memory is not a child's, which drops what it has inherited without a word.
 */
static enum status free_by(const char *call, struct place *place, void *ptr, size_t size,
			   int (*deallocate)(struct accel_device *dev, void *ptr, size_t size))
{
	struct device *device;
	int err;

	if (plugin_in_child())
		return STATUS_SUCCESS;
	device = plugin_enter(call, place);
	if (!device)
		return STATUS_SUCCESS;
	err = deallocate(device->dev, ptr, size);
	plugin_done(call, device, err, "%p, %zu", ptr, size);
	return STATUS_SUCCESS;
}

static enum status device_memory_deallocate(struct place *place, void *ptr, size_t size)
{
	return free_by(__func__, place, ptr, size, accel_device_memory_deallocate);
}

/* Of these Paddle does not try twice: there is nothing cached to give back. */
static enum status allocate_by(const char *call, struct place *place, void **ptr, size_t size,
			       int (*allocate)(struct accel_device *dev, void **ptr, size_t size))
{
	struct device *device = plugin_enter(call, place);
	int err;

	if (ptr)
		*ptr = NULL;
	if (!device)
		return STATUS_ERROR;
	err = allocate(device->dev, ptr, size);
	return plugin_done(call, device, err, "%p, %zu", ptr ? *ptr : NULL, size);
}

static enum status host_memory_allocate(struct place *place, void **ptr, size_t size)
{
	return allocate_by(__func__, place, ptr, size, accel_host_memory_allocate);
}

static enum status host_memory_deallocate(struct place *place, void *ptr, size_t size)
{
	return free_by(__func__, place, ptr, size, accel_host_memory_deallocate);
}

static enum status unified_memory_allocate(struct place *place, void **ptr, size_t size)
{
	return allocate_by(__func__, place, ptr, size, accel_unified_memory_allocate);
}

static enum status unified_memory_deallocate(struct place *place, void *ptr, size_t size)
{
	return free_by(__func__, place, ptr, size, accel_unified_memory_deallocate);
}

static enum status device_memory_set(struct place *place, void *ptr, unsigned char value,
				     size_t size)
{
	struct device *device = plugin_enter(__func__, place);
	uint64_t begin;
	int err;

	if (!device)
		return STATUS_ERROR;
	begin = profile_begin();
	err = size ? accel_device_memory_set(device->dev, ptr, value, size) : 0;
	profile_end(begin, &(struct profile){ PROFILE_SET, __func__, device, NULL, err ? 0 : size,
					      value });
	if (!err)
		err = device_pending(device);
	return plugin_done(__func__, device, err, "%p, %d, %zu", ptr, value, size);
}

void memory_functions(struct interface *table)
{
	table->device_memory_allocate = device_memory_allocate;
	table->device_memory_deallocate = device_memory_deallocate;
	table->device_memory_set = device_memory_set;
	table->host_memory_allocate = host_memory_allocate;
	table->host_memory_deallocate = host_memory_deallocate;
	table->unified_memory_allocate = unified_memory_allocate;
	table->unified_memory_deallocate = unified_memory_deallocate;
}
