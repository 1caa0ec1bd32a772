/* SPDX-License-Identifier: MIT */
/*
 * What the files of pools share. A pool is a space under one lock. The lock is held for the time of a
 * search, and never while the pool asks upstream, waits for a stream, or accesses the memory. There is
 * one exception to the rule that no lock is held across a system call that can sleep: a table that is
 * full is doubled, and a chunk is noted, with malloc() under the lock, which may map memory. A table
 * that was made before the lock would be too small when other threads have filled it meanwhile.
 * accel_pool_options.reserve_blocks makes the tables of blocks large enough from the beginning.
 */
#ifndef LIBACCEL_POOL_PRIVATE_H
#define LIBACCEL_POOL_PRIVATE_H

#include "core/api.h"
#include "core/device.h"
#include "core/lock.h"
#include "core/stream.h"
#include "pool_space.h"

#pragma GCC visibility push(default)
#include <accel/pool.h>
#pragma GCC visibility pop

_Static_assert(SPACE_STREAMS == 1 << TICKET_BITS, "every stream of a device can be waited for");

#define POOL_LINE 64
#define POOL_MAX_GRANULE ((size_t)2 << 20)

/*
 * With ACCEL_POOL_DEBUG, of a used block: stream is this while its patterns are written, before the
 * application has it, or after, and else 0. The block is then the thread's that writes.
 */
#define POOL_BUSY 1

struct chunk {
	struct chunk *next; /* in the list of chunks, or of those that move */
	void *base;
	size_t size, alignment; /* as requested from upstream */
	uint32_t edge; /* of its region; 0: the chunk is an exportable block */
	uint64_t move; /* the number of its move; 0: no call waits for it */
};

/*
 * With ACCEL_POOL_DEBUG: memory that accel_pool_check() reads, without the lock, because no call may
 * write it at that time. A call that is about to write it, or to give it back, calls debug_wait().
 */
struct reading {
	struct reading *next;
	uintptr_t addr;
	size_t size;
};

struct accel_pool {
	struct device *dev; /* counted as open; or NULL */
	struct accel_resource upstream;
	unsigned int generation; /* of the process */
	unsigned int quick_generation; /* the same, or with ACCEL_POOL_DEBUG none */
	bool debug;
	unsigned int granule_shift;
	size_t growth_size, maximum_size, release_threshold;
	uint64_t corruptions; /* atomic */

	/*
	 * Of what follows; nothing else is taken inside. What all calls change is in few cache lines,
	 * which move from CPU to CPU together with the lock.
	 */
	struct lock lock __attribute__((aligned(POOL_LINE)));
	uint64_t bytes, peak_bytes, total_bytes, total_count; /* as requested */
	struct space space;
	struct chunk *chunks;
	unsigned int nr_lone; /* exportable blocks; read without the lock */
	bool spare; /* work has ended, and by that a chunk is wholly free */
	uint64_t nr_chunks; /* with the exportable blocks, which are not in the list */
	uint64_t grown, taken_over, failures;
	size_t chunk_bytes, peak_chunk_bytes;
	struct chunk *moving; /* being requested from upstream or given back */
	size_t moving_bytes; /* of these, in whole granules */
	uint64_t nr_moves; /* that have begun */
	unsigned int ended_moves; /* threads sleep on it */
	struct reading *readings;
	unsigned int ended_readings; /* threads sleep on it */
	unsigned int reading_waiters; /* so many */
	struct demand *waiters; /* allocations that found nothing while chunks moved */
	uint64_t given; /* chunks back to upstream */
	size_t refused_size; /* upstream did not have so many; 0: it may have any number */
	size_t refused_alignment; /* aligned so; it may have so many that are aligned to less */
	uint64_t refused_until; /* milliseconds */
	size_t unaligned; /* upstream has answered -EINVAL to this alignment; SIZE_MAX: to none */
};

static inline size_t pool_bytes(const struct accel_pool *pool, uint64_t granules)
{
	return (size_t)granules << pool->granule_shift;
}

/* So many bytes in whole granules, or fewer if that is too many. */
static inline size_t pool_round(const struct accel_pool *pool, size_t size)
{
	size_t less = ((size_t)1 << pool->granule_shift) - 1;

	return size > SIZE_MAX - less ? SIZE_MAX & ~less : (size + less) & ~less;
}

/* Memory was given back to upstream, which may serve what it has refused; under the lock. */
static inline void pool_count_given(struct accel_pool *pool)
{
	pool->refused_size = 0;
	pool->given++;
}

/* Counts a block that is allocated; under the lock. */
static inline void pool_count_block(struct accel_pool *pool, size_t size)
{
	pool->bytes += size;
	pool->total_bytes += size;
	pool->total_count++;
	if (pool->bytes > pool->peak_bytes)
		pool->peak_bytes = pool->bytes;
}

/* The bytes that were requested of a used block. */
static inline size_t pool_block_bytes(const struct accel_pool *pool, const struct block *block)
{
	return pool_bytes(pool, block->size) - block->slack;
}

/* ---- pool.c ---- */

/* 0 if calls on the pool make sense. */
int pool_check(const struct accel_pool *pool);
/* Checks the arguments of an allocation, sets *ptr to NULL, and finds the stream, or NULL. */
int pool_check_request(const struct accel_pool *pool, const struct accel_stream *handle, size_t size,
		       size_t alignment, void **ptr, struct stream **stream);
/* 0 if that is the size of a used block. */
int pool_check_block(const struct accel_pool *pool, uint32_t index, size_t size);
/* Makes waiting blocks free whose points have passed, all or a few of each stream; under the lock. */
void pool_settle(struct accel_pool *pool, uint32_t count);
#define POOL_SETTLE_ALL UINT32_MAX
/* Waits for points of streams, as space_points() gives them. */
void pool_wait_points(const struct accel_pool *pool, const uint64_t points[SPACE_STREAMS]);

/* ---- pool_grow.c ---- */

/* The most bytes that a chunk can have. */
size_t pool_largest_chunk(const struct accel_pool *pool);
/* Whether maximum_size and the granule leave so many bytes; under the lock. */
bool pool_has_room(const struct accel_pool *pool, size_t bytes);
/* The same, and upstream may have them, aligned so. */
bool pool_may_grow(const struct accel_pool *pool, size_t bytes, size_t alignment);
/*
 * Sleeps, without the lock, until the moves that are under way have ended or *served is not NULL. Later
 * moves do not prolong it. A thread that moves a chunk never waits for another move, so that threads
 * do not wait for each other.
 */
void pool_wait_moves(struct accel_pool *pool, size_t bytes, void *const *served);
/*
 * Takes a chunk with at least so many bytes that begins at such an address, where pool_may_grow();
 * gives the lock meanwhile. -EAGAIN: upstream has refused it.
 */
int pool_grow(struct accel_pool *pool, size_t bytes, size_t alignment);
/* Gives wholly free chunks back while so many bytes stay free. */
void pool_shrink(struct accel_pool *pool, size_t keep);

/*
 * A chunk moves from now on, and does not any more; under the lock. Its bytes count for maximum_size
 * meanwhile. Without awaited no call waits for it.
 */
void move_begin(struct accel_pool *pool, struct chunk *chunk, bool awaited);
void move_end(struct accel_pool *pool, struct chunk *chunk);
/* Counts a chunk that is the pool's now; under the lock. */
void pool_count_chunk(struct accel_pool *pool, const struct chunk *chunk);
int upstream_allocate(const struct accel_pool *pool, struct accel_stream *stream,
		      struct chunk *chunk);
void upstream_deallocate(const struct accel_pool *pool, struct accel_stream *stream,
			 const struct chunk *chunk);
/* Of a chunk that moves; it ends. */
void chunk_give_back(struct accel_pool *pool, struct accel_stream *stream, struct chunk *chunk);

/* ---- pool_export.c ---- */

/* Frees a block that can be exported; -EAGAIN: no such block is there. */
int pool_deallocate_lone(struct accel_pool *pool, struct accel_stream *stream, uintptr_t addr,
			 size_t size);

/* ---- pool_debug.c ---- */

/* Bytes behind a block that the application must not write. */
size_t debug_guard(const struct accel_pool *pool);
/* Fills a new chunk with the pattern of free memory. */
int debug_fill_free(void *ptr, size_t size);
/* A block is allocated, and freed. -EFAULT: bytes were written that must not be. */
int debug_give(struct accel_pool *pool, void *ptr, size_t size, size_t room);
int debug_take_back(struct accel_pool *pool, struct stream *stream, void *ptr, size_t size,
		    size_t room);
/* Looks at all memory that no call may write; of blocks that change meanwhile some may be left out. */
int debug_check(struct accel_pool *pool);
/*
 * Sleeps until debug_check() does not read these bytes. No call of it begins to: they are in a block
 * that is busy, or in no region.
 */
void debug_wait(struct accel_pool *pool, uintptr_t addr, size_t size);

#endif
