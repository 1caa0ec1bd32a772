/* SPDX-License-Identifier: MIT */
/*
 * Blocks that can be exported. Each is an allocation of upstream of its own, and alone in its region:
 * its dma-buf has the bytes of no other block, and no other block gets its memory.
 */
#include "core/api.h"
#include "core/error.h"
#include "core/memory.h"
#include "pool_private.h"
#include "resource.h"

#include <stdlib.h>

/* It does not move any more. */
static int lone_insert(struct accel_pool *pool, struct chunk *lone)
{
	size_t room = pool_round(pool, lone->size);
	uint32_t index;

	lock_take(&pool->lock);
	index = space_add_alone(&pool->space, (uintptr_t)lone->base,
				(uint32_t)(room >> pool->granule_shift), lone);
	if (index) {
		pool->space.blocks[index].slack = (uint32_t)(room - lone->size);
		__atomic_store_n(&pool->nr_lone, pool->nr_lone + 1, __ATOMIC_RELAXED);
		move_end(pool, lone);
		pool_count_chunk(pool, lone);
		pool_count_block(pool, lone->size);
	}
	lock_give(&pool->lock);
	if (index)
		return 0;
	return fail(-ENOMEM, "out of memory: the host has none for the tables of the pool");
}

static int lone_request(struct accel_pool *pool, struct accel_stream *stream, struct chunk *lone)
{
	size_t bytes = pool_round(pool, lone->size);
	bool room;
	int err;

	lock_take(&pool->lock);
	room = pool_has_room(pool, bytes);
	if (room)
		move_begin(pool, lone, false);
	lock_give(&pool->lock);
	if (!room)
		return fail(-ENOMEM, "maximum_size of the pool leaves less than %zu bytes", bytes);
	err = upstream_allocate(pool, stream, lone);
	if (!err) {
		err = range_check_whole(lone->base, lone->size) ?: lone_insert(pool, lone);
		if (err)
			upstream_deallocate(pool, stream, lone);
	}
	if (err) {
		lock_take(&pool->lock);
		move_end(pool, lone);
		if (lone->base)
			pool_count_given(pool);
		lock_give(&pool->lock);
	}
	return err;
}

/* -ENOMEM: the pool never has so much, whatever it gives back. */
static int lone_check_size(const struct accel_pool *pool, size_t size)
{
	size_t most = pool_largest_chunk(pool);

	if (pool->maximum_size && pool->maximum_size < most)
		most = pool->maximum_size;
	return size <= most && pool_round(pool, size) <= most ? 0 :
		fail(-ENOMEM, "size is %zu: a block of the pool has at most %zu bytes (%s)", size, most,
		     most == pool->maximum_size ? "maximum_size" : "for this granule");
}

static int lone_allocate(struct accel_pool *pool, struct accel_stream *stream, struct chunk *lone)
{
	int err = lone_request(pool, stream, lone);

	if (err == -ENOMEM || err == -EDQUOT) {
		pool_shrink(pool, 0);
		err = lone_request(pool, stream, lone);
	}
	return err;
}

int accel_pool_allocate_exportable(struct accel_pool *pool, struct accel_stream *stream,
				   size_t size, size_t alignment, void **ptr)
{
	struct stream *checked;
	struct chunk *lone;
	size_t granule;
	int err = pool_check_request(pool, stream, size, alignment, ptr, &checked);

	if (err)
		return err;
	lone = calloc(1, sizeof(*lone));
	if (!lone)
		return fail(-ENOMEM, "out of memory: the host has none for the tables of the pool");
	granule = (size_t)1 << pool->granule_shift;
	lone->size = size;
	lone->alignment = alignment > granule ? alignment : granule;
	err = lone_check_size(pool, size) ?: lone_allocate(pool, stream, lone);
	if (!err) {
		*ptr = lone->base;
		return 0;
	}
	free(lone);
	if (err == -ENOMEM || err == -EDQUOT) {
		lock_take(&pool->lock);
		pool->failures++;
		lock_give(&pool->lock);
	}
	return err;
}

int pool_deallocate_lone(struct accel_pool *pool, struct accel_stream *stream, uintptr_t addr,
			 size_t size)
{
	struct chunk *lone = NULL;
	uint32_t *at;
	int err;

	lock_take(&pool->lock);
	at = space_at(&pool->space, addr);
	err = -EAGAIN;
	if (pool->space.blocks[*at].state == BLOCK_ALONE)
		err = pool_check_block(pool, *at, size);
	if (!err) {
		lone = space_remove_alone(&pool->space, at);
		__atomic_store_n(&pool->nr_lone, pool->nr_lone - 1, __ATOMIC_RELAXED);
		pool->nr_chunks--;
		pool->chunk_bytes -= pool_round(pool, size);
		pool->bytes -= size;
		move_begin(pool, lone, true);
	}
	lock_give(&pool->lock);
	if (lone)
		chunk_give_back(pool, stream, lone);
	return err;
}
