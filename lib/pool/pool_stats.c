/* SPDX-License-Identifier: MIT */
/*
 * What a pool has, whether it is in order, and the pool as a resource.
 */
#include "pool_private.h"

#include <string.h>

/* ---- Statistics ---- */

struct measure {
	uint64_t longest, run; /* granules */
};

/* Two free blocks at a border between arenas are as good as one: it can fall at any time. */
static void measure_region(const struct space *space, uint32_t edge, bool goes_on,
			   struct measure *measure, struct accel_pool_stats *stats)
{
	const struct block *block;
	uint32_t index;

	if (!goes_on)
		measure->run = 0;
	for (index = space->blocks[edge].next; index != edge; index = block->next) {
		block = &space->blocks[index];
		stats->free_blocks += block->state != BLOCK_USED;
		if (block->state == BLOCK_WAITING)
			stats->waiting_bytes += block->size;
		measure->run = block->state == BLOCK_FREE ? measure->run + block->size : 0;
		if (measure->run > measure->longest)
			measure->longest = measure->run;
	}
}

static void measure_free(const struct accel_pool *pool, struct accel_pool_stats *stats)
{
	struct measure measure = { .longest = 0 };
	const struct chunk *chunk = NULL;
	const struct region *region;

	for (region = pool->regions; region; region = region->next) {
		measure_region(&pool->arenas[region->arena].space, region->edge,
			       region->chunk == chunk, &measure, stats);
		chunk = region->chunk;
	}
	stats->waiting_bytes = pool_bytes(pool, stats->waiting_bytes);
	stats->largest_free = pool_bytes(pool, measure.longest);
}

static void add_arena(const struct accel_pool *pool, const struct arena *arena,
		      struct accel_pool_stats *stats)
{
	const struct space *space = &arena->space;

	stats->free_bytes += pool_bytes(pool, space->free_granules);
	stats->bytes += arena->bytes;
	stats->total_bytes += arena->total_bytes;
	stats->count += space->nr_used;
	stats->total_count += arena->total_count;
	stats->failures += arena->failures;
	stats->metadata_bytes += space_memory(space);
}

static void collect(struct accel_pool *pool, struct accel_pool_stats *stats)
{
	const struct chunk *chunk;

	for (unsigned int i = 0; i < pool->nr_arenas; i++) {
		pool_settle(pool, &pool->arenas[i], UINT32_MAX);
		add_arena(pool, &pool->arenas[i], stats);
	}
	measure_free(pool, stats);
	for (chunk = pool->chunks; chunk; chunk = chunk->next) {
		stats->chunks++;
		stats->chunk_bytes += chunk->size;
		stats->metadata_bytes += sizeof(struct chunk) + sizeof(struct region);
	}
	stats->metadata_bytes += sizeof(*pool);
	stats->peak_chunk_bytes = pool->peak_chunk_bytes;
	stats->used_bytes = stats->chunk_bytes - stats->free_bytes;
	stats->peak_bytes = pool->peak_bytes;
	stats->grown = pool->grown;
	stats->taken_over = pool->taken_over;
	stats->corruptions = POOL_LOAD(pool->corruptions);
	if (stats->free_bytes)
		stats->fragmentation =
			1 - (double)stats->largest_free / (double)stats->free_bytes;
}

int accel_pool_stats(struct accel_pool *pool, struct accel_pool_stats *stats)
{
	int err = pool_check(pool);

	if (err)
		return err;
	if (!stats)
		return fail(-EINVAL, "stats is NULL");
	memset(stats, 0, sizeof(*stats));
	pool_lock_all(pool);
	collect(pool, stats);
	pool_unlock_all(pool);
	return 0;
}

/* ---- Check ---- */

static const char *check_regions(const struct accel_pool *pool)
{
	const struct chunk *chunk;
	const struct region *region;
	size_t bytes;

	for (chunk = pool->chunks; chunk; chunk = chunk->next) {
		bytes = 0;
		for (region = pool->regions; region; region = region->next) {
			if (region->chunk != chunk)
				continue;
			if (region->base != (uintptr_t)chunk->base + bytes)
				return "regions of a chunk are out of order";
			bytes += pool_bytes(pool, region->size);
		}
		if (bytes != chunk->size)
			return "regions are not the whole chunk";
	}
	return NULL;
}

static const char *check_bytes(const struct accel_pool *pool)
{
	const struct space *space;
	uint64_t bytes, most = 0;

	for (unsigned int i = 0; i < pool->nr_arenas; i++) {
		space = &pool->arenas[i].space;
		bytes = 0;
		for (uint32_t j = 1; j < space->nr_blocks; j++)
			if (space->blocks[j].state == BLOCK_USED)
				bytes += block_bytes(pool, &space->blocks[j]);
		if (bytes != pool->arenas[i].bytes)
			return "other bytes are allocated than were counted";
		most += bytes;
		if (pool->nr_arenas > 1 && pool->arenas[i].credit < 0)
			return "an arena has less credit than none";
		if (pool->nr_arenas > 1)
			most += (uint64_t)pool->arenas[i].credit;
	}
	if (pool->nr_arenas > 1 ? most != pool->peak_bytes : most > pool->peak_bytes)
		return "the peak is not what arenas have and may have";
	return NULL;
}

static int check(struct accel_pool *pool)
{
	const char *wrong = check_regions(pool);

	for (unsigned int i = 0; i < pool->nr_arenas && !wrong; i++)
		wrong = space_check(&pool->arenas[i].space);
	if (!wrong)
		wrong = check_bytes(pool);
	if (wrong)
		return fail(-EUCLEAN, "the pool's notes are wrong: %s", wrong);
	return pool->debug ? debug_check(pool) : 0;
}

int accel_pool_check(struct accel_pool *pool)
{
	KEEP_ERRNO;
	int err = pool_check(pool);

	if (err)
		return err;
	pool_lock_all(pool);
	err = check(pool);
	pool_unlock_all(pool);
	return err;
}

/* ---- As a resource ---- */

static int allocate(void *context, struct accel_stream *stream, size_t size, size_t alignment,
		    void **ptr)
{
	return accel_pool_allocate(context, stream, size, alignment, ptr);
}

static int deallocate(void *context, struct accel_stream *stream, void *ptr, size_t size,
		      size_t alignment)
{
	return accel_pool_deallocate(context, stream, ptr, size, alignment);
}

static const struct accel_resource_ops ops = {
	.size = sizeof(ops),
	.allocate = allocate,
	.deallocate = deallocate,
};

int accel_pool_resource(struct accel_pool *pool, struct accel_resource *resource)
{
	if (!resource)
		return fail(-EINVAL, "resource is NULL");
	memset(resource, 0, sizeof(*resource));
	if (!pool)
		return fail(-EINVAL, "pool is NULL: it has to be from accel_pool_create()");
	*resource = (struct accel_resource){ .ops = &ops, .context = pool };
	return 0;
}
