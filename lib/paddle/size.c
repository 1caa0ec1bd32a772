/* SPDX-License-Identifier: MIT */
/*
 * Statistics, and the sizes that Paddle's allocators ask for.
 *
 * Three of them are left out: largest chunk, first and further growth of a pool. Paddle takes the
 * largest allocation for the largest chunk then.
 */
#include "private.h"

/* A child can allocate nothing, which is no failure: statistics need no device. */
static int read_stats(const struct device *device, size_t *total, size_t *free)
{
	if (!plugin_in_child() || !total || !free)
		return accel_device_memory_stats(device->dev, total, free);
	*total = device->total;
	*free = 0;
	return 0;
}

static enum status device_memory_stats(struct place *place, size_t *total, size_t *free)
{
	struct device *device = plugin_enter(__func__, place);
	int err;

	if (!device)
		return STATUS_ERROR;
	err = read_stats(device, total, free);
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

/*
 * An allocation is contiguous, so it is the longest free part. If all free memory is being cleared,
 * for which an allocation waits, it is the sum, which may be more than the longest part of it.
 */
static uint64_t stats_available(const struct accel_memory_stats *stats)
{
	uint64_t most = stats->largest_free ? stats->largest_free : stats->dirty;
	uint64_t left = stats->user_max > stats->user ? stats->user_max - stats->user : 0;

	return stats->user_max && left < most ? left : most;
}

static enum status device_max_alloc_size(struct place *place, size_t *size)
{
	struct device *device = plugin_enter(__func__, place);
	struct accel_memory_stats stats = { 0 };
	int err;

	if (size)
		*size = 0;
	if (!device)
		return STATUS_ERROR;
	if (!size)
		return plugin_done(__func__, device, plugin_fail(-EINVAL, "size is NULL"), "NULL");
	err = plugin_in_child() ? 0 : accel_memory_stats_full(device->dev, &stats);
	*size = err ? 0 : stats_available(&stats);
	return plugin_done(__func__, device, err, "%zu", *size);
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
	table->device_max_alloc_size = device_max_alloc_size;
	table->device_extra_padding_size = device_extra_padding_size;
}
