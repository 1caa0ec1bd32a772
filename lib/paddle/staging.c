/* SPDX-License-Identifier: MIT */
/*
 * Host memory between the device and the engine. Blocks are kept, since page-locked memory takes a system
 * call and time for each page.
 */
#include "private.h"

#include <stdlib.h>
#include <sys/resource.h>

#define KEPT_BLOCKS 8
#define KEPT_BYTES (64ul << 20) /* of all blocks of a device */

struct staging_pool {
	struct staging blocks[KEPT_BLOCKS]; /* at is NULL: free */
	size_t bytes;
};

/* Under the lock. The smallest one that is large enough, and not four times as large. */
static struct staging *pool_find(struct staging_pool *pool, size_t size)
{
	struct staging *best = NULL;

	for (size_t i = 0; pool && i < KEPT_BLOCKS; i++) {
		struct staging *block = &pool->blocks[i];

		if (block->at && block->size >= size && block->size / 4 <= size &&
		    (!best || block->size < best->size))
			best = block;
	}
	return best;
}

static bool pool_take(struct device *device, size_t size, struct staging *staging)
{
	struct staging *found;

	plugin_lock();
	found = pool_find(device->pool, size);
	if (found) {
		*staging = *found;
		found->at = NULL;
		device->pool->bytes -= found->size;
	}
	plugin_unlock();
	return found;
}

static void block_free(struct device *device, const struct staging *staging)
{
	if (!staging->is_pinned)
		free(staging->at);
	else if (staging->at)
		accel_host_memory_deallocate(device->dev, staging->at, staging->size);
}

int staging_get(struct device *device, size_t size, struct staging *staging)
{
	size_t whole = (size + 4095) & ~4095ul;

	*staging = (struct staging){ 0 };
	if (!size || pool_take(device, size, staging))
		return 0;
	*staging = (struct staging){ .size = whole, .is_pinned = true };
	if (!accel_host_memory_allocate(device->dev, &staging->at, whole))
		return 0;
	*staging = (struct staging){ .at = malloc(whole), .size = whole };
	return staging->at ? 0 : plugin_fail(-ENOMEM, "out of memory");
}

/* Page-locked memory counts for the program's limit, of which half is left to it. */
static size_t kept_most(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur / 2 > KEPT_BYTES)
		return KEPT_BYTES;
	return limit.rlim_cur / 2;
}

/* Under the lock. */
static bool pool_put(struct device *device, const struct staging *staging)
{
	if (!device->pool)
		device->pool = calloc(1, sizeof(*device->pool));
	if (!device->pool || device->pool->bytes + staging->size > kept_most())
		return false;
	for (size_t i = 0; i < KEPT_BLOCKS; i++) {
		if (!device->pool->blocks[i].at) {
			device->pool->blocks[i] = *staging;
			device->pool->bytes += staging->size;
			return true;
		}
	}
	return false;
}

void staging_put(struct device *device, struct staging *staging)
{
	bool kept = false;

	if (staging->at && staging->is_pinned) {
		plugin_lock();
		kept = pool_put(device, staging);
		plugin_unlock();
	}
	if (!kept)
		block_free(device, staging);
	*staging = (struct staging){ 0 };
}

void staging_free(struct device *device)
{
	for (size_t i = 0; device->pool && i < KEPT_BLOCKS; i++)
		block_free(device, &device->pool->blocks[i]);
	free(device->pool);
	device->pool = NULL;
}
