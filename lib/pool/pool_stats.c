/* SPDX-License-Identifier: MIT */
/*
 * Statistics of a pool, a check of its tables, and the pool as a resource.
 */
#include "core/api.h"
#include "core/error.h"
#include "core/stream.h"
#include "pool_private.h"

#include <string.h>

/* ---- Statistics ---- */

/* Under the lock. */
static void collect(const struct accel_pool *pool, struct accel_pool_stats *stats)
{
	const struct space *space = &pool->space;

	*stats = (struct accel_pool_stats){
		.chunk_bytes = pool->chunk_bytes,
		.peak_chunk_bytes = pool->peak_chunk_bytes,
		.free_bytes = pool_bytes(pool, space->free_granules),
		.waiting_bytes = pool_bytes(pool, space->waiting_granules),
		.largest_free = pool_bytes(pool, space_largest(space)),
		.bytes = pool->bytes,
		.peak_bytes = pool->peak_bytes,
		.total_bytes = pool->total_bytes,
		.count = space->nr_used,
		.total_count = pool->total_count,
		.failures = pool->failures,
		/* Block 0 is none. */
		.free_blocks = space->nr_blocks - space->nr_spare - 1 - space->nr_used -
			       pool->nr_chunks,
		.chunks = pool->nr_chunks,
		.grown = pool->grown,
		.taken_over = pool->taken_over,
		.corruptions = __atomic_load_n(&pool->corruptions, __ATOMIC_RELAXED),
		.metadata_bytes = space_memory(space) + sizeof(*pool) +
				  pool->nr_chunks * sizeof(struct chunk),
	};
	stats->used_bytes = stats->chunk_bytes - stats->free_bytes;
	if (stats->free_bytes)
		stats->fragmentation =
			1 - (double)stats->largest_free / (double)stats->free_bytes;
}

int accel_pool_get_stats(struct accel_pool *pool, struct accel_pool_stats *stats)
{
	int err = pool_check(pool);

	if (err)
		return err;
	if (!stats)
		return fail(-EINVAL, "stats is NULL");
	lock_take(&pool->lock);
	pool_settle(pool, POOL_SETTLE_ALL);
	collect(pool, stats);
	lock_give(&pool->lock);
	return 0;
}

/* ---- Check ---- */

static const char *check_counts(const struct accel_pool *pool)
{
	const struct space *space = &pool->space;
	const struct chunk *chunk;
	uint64_t bytes = 0;

	for (chunk = pool->chunks; chunk; chunk = chunk->next)
		if (space->blocks[chunk->edge].state != BLOCK_EDGE ||
		    space->blocks[chunk->edge].addr != (uintptr_t)chunk->base)
			return "a chunk has no region";
	for (uint32_t i = 1; i < space->nr_blocks; i++)
		if (block_is_used(&space->blocks[i]))
			bytes += pool_block_bytes(pool, &space->blocks[i]);
	if (bytes != pool->bytes || bytes > pool->peak_bytes)
		return "other bytes are allocated than were counted";
	return NULL;
}

int accel_pool_check(struct accel_pool *pool)
{
	KEEP_ERRNO;
	const char *wrong;
	int err = pool_check(pool);

	if (err)
		return err;
	lock_take(&pool->lock);
	wrong = space_check(&pool->space);
	if (!wrong)
		wrong = check_counts(pool);
	lock_give(&pool->lock);
	if (wrong)
		return fail(-EUCLEAN, "the tables of the pool are wrong: %s", wrong);
	return pool->debug ? debug_check(pool) : 0;
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
