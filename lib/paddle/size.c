/* SPDX-License-Identifier: MIT */
/*
 * Statistics, and the sizes that Paddle's allocators ask for.
 *
 * Four of them are left out: largest chunk, largest allocation, first and further growth of a pool.
 * Paddle then takes 92 % of the free memory, which works on every device. If they were the size of
 * the device's memory, Paddle's second allocator would ask for more than is left as soon as
 * anything is in use.
 */
#include "private.h"

static enum status device_memory_stats(struct place *place, size_t *total, size_t *free)
{
	struct device *device = plugin_enter(__func__, place);
	int err;

	if (!device)
		return STATUS_ERROR;
	err = accel_device_memory_stats(device->dev, total, free);
	return plugin_done(__func__, device, err, "%zu, %zu", err ? 0 : *total, err ? 0 : *free);
}

/* Paddle divides by it without a look at the status: it is never left 0. */
static enum status device_min_chunk_size(struct place *place, size_t *size)
{
	struct device *device = plugin_enter(__func__, place);

	if (size)
		*size = device ? device->min_chunk : 1;
	if (!device)
		return STATUS_ERROR;
	if (!size)
		return plugin_done(__func__, device, plugin_fail(-EINVAL, "size is NULL"), "NULL");
	return plugin_done(__func__, device, 0, "%zu", *size);
}

static enum status device_extra_padding_size(struct place *place, size_t *size)
{
	struct device *device = plugin_enter(__func__, place);

	if (!device)
		return STATUS_ERROR;
	if (!size)
		return plugin_done(__func__, device, plugin_fail(-EINVAL, "size is NULL"), "NULL");
	*size = 0;
	return plugin_done(__func__, device, 0, "0");
}

void size_functions(struct interface *table)
{
	table->device_memory_stats = device_memory_stats;
	table->device_min_chunk_size = device_min_chunk_size;
	table->device_extra_padding_size = device_extra_padding_size;
}
