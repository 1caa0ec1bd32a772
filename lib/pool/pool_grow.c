/* SPDX-License-Identifier: MIT */
/*
 * Chunks: requested from upstream and given back; pools: created and destroyed.
 */
#include "core/api.h"
#include "core/callback.h"
#include "core/device.h"
#include "core/error.h"
#include "core/fork.h"
#include "core/memory.h"
#include "core/stream.h"
#include "pool_private.h"
#include "resource.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REFUSED_MS 100
#define DEFAULT_GRANULE 256
#define LEAST_GRANULE 16
#define SMALL_DEVICE ((uint64_t)1 << 20)
#define DEFAULT_GROWTH ((size_t)64 << 20)
#define GROWTHS_OF_DEVICE 32

/* A region counts its granules in 32 bits. */
size_t pool_largest_chunk(const struct accel_pool *pool)
{
	size_t granules = UINT32_MAX - 1;

	return granules > SIZE_MAX >> pool->granule_shift
		       ? SIZE_MAX & ~(((size_t)1 << pool->granule_shift) - 1)
		       : granules << pool->granule_shift;
}

/* Without a system call, and exact enough. */
static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Bytes that maximum_size leaves, and a chunk can have; under the lock. */
static size_t growth_left(const struct accel_pool *pool)
{
	size_t most = pool_largest_chunk(pool), left;

	if (!pool->maximum_size)
		return most;
	left = (pool->maximum_size - pool->chunk_bytes - pool->moving_bytes) &
	       ~(((size_t)1 << pool->granule_shift) - 1);
	return left < most ? left : most;
}

bool pool_has_room(const struct accel_pool *pool, size_t bytes)
{
	return bytes <= growth_left(pool);
}

bool pool_may_grow(const struct accel_pool *pool, size_t bytes, size_t alignment)
{
	return pool_has_room(pool, bytes) &&
	       (!pool->refused_size || bytes < pool->refused_size ||
		alignment < pool->refused_alignment || now_ms() >= pool->refused_until);
}

/* Calls of upstream, of any pool, that the thread is in: upstream may call the application. */
static __thread unsigned int moving_here;

void move_begin(struct accel_pool *pool, struct chunk *chunk, bool awaited)
{
	pool->nr_moves++;
	chunk->move = awaited ? pool->nr_moves : 0;
	chunk->next = pool->moving;
	pool->moving = chunk;
	pool->moving_bytes += pool_round(pool, chunk->size);
}

void move_end(struct accel_pool *pool, struct chunk *chunk)
{
	struct chunk **at = &pool->moving;

	while (*at != chunk)
		at = &(*at)->next;
	*at = chunk->next;
	pool->moving_bytes -= pool_round(pool, chunk->size);
	pool->ended_moves++;
	if (pool->waiters)
		count_wake(&pool->ended_moves);
}

/* Whether a move up to a number has not ended. */
static bool moves_left(const struct accel_pool *pool, uint64_t last)
{
	const struct chunk *chunk = pool->moving;

	while (chunk && !(chunk->move && chunk->move <= last))
		chunk = chunk->next;
	return chunk;
}

void pool_wait_moves(struct accel_pool *pool, size_t bytes, void *const *served)
{
	uint64_t last = pool->nr_moves;
	unsigned int ended;

	if (bytes > pool_largest_chunk(pool) ||
	    (pool->maximum_size && bytes > pool->maximum_size - pool->chunk_bytes))
		return;
	/* Upstream may wait for this thread, or for a stream, and so for its callbacks. */
	if (moving_here || in_callbacks())
		return;
	while (!*served && moves_left(pool, last)) {
		ended = pool->ended_moves;
		lock_give(&pool->lock);
		count_wait(&pool->ended_moves, ended);
		lock_take(&pool->lock);
	}
}

/* An error cannot be handled here: the chunk is not the pool's any more. */
void upstream_deallocate(const struct accel_pool *pool, struct accel_stream *stream,
			 const struct chunk *chunk)
{
	moving_here++;
	accel_resource_deallocate(&pool->upstream, stream, chunk->base, chunk->size,
				  chunk->alignment);
	moving_here--;
}

int upstream_allocate(const struct accel_pool *pool, struct accel_stream *stream,
		      struct chunk *chunk)
{
	int err;

	moving_here++;
	err = accel_resource_allocate(&pool->upstream, stream, chunk->size, chunk->alignment,
				      &chunk->base);
	moving_here--;
	if (err || !((uintptr_t)chunk->base & (chunk->alignment - 1)))
		return err;
	upstream_deallocate(pool, stream, chunk);
	return fail(-EINVAL, "upstream gave %p where an address aligned to %zu was asked for",
		    chunk->base, chunk->alignment);
}

/* ---- One more chunk ---- */

void pool_count_chunk(struct accel_pool *pool, const struct chunk *chunk)
{
	pool->grown++;
	pool->nr_chunks++;
	pool->chunk_bytes += pool_round(pool, chunk->size);
	if (pool->chunk_bytes > pool->peak_chunk_bytes)
		pool->peak_chunk_bytes = pool->chunk_bytes;
}

/*
 * Under the lock, as all up to pool_grow(). The bytes count as moving before upstream is asked, so that
 * two threads stay below maximum_size.
 */
static struct chunk *chunk_begin(struct accel_pool *pool, size_t bytes, size_t alignment)
{
	struct chunk *chunk = calloc(1, sizeof(*chunk));

	if (!chunk) {
		fail(-ENOMEM, "out of memory: the host has none for the tables of the pool");
		return NULL;
	}
	chunk->size = bytes;
	chunk->alignment = alignment;
	move_begin(pool, chunk, true);
	return chunk;
}

/* Gives the lock while it asks upstream. */
static int chunk_request(struct accel_pool *pool, struct chunk *chunk)
{
	int err;

	lock_give(&pool->lock);
	err = upstream_allocate(pool, NULL, chunk);
	if (!err && pool->debug) {
		err = debug_fill_free(chunk->base, chunk->size);
		if (err)
			upstream_deallocate(pool, NULL, chunk);
	}
	if (!err)
		range_count_chunk(chunk->base, 1);
	lock_take(&pool->lock);
	if (err && chunk->base)
		pool_count_given(pool);
	return err;
}

/* It is the pool's if err is 0, and ends otherwise. */
static int chunk_arrive(struct accel_pool *pool, struct chunk *chunk, int err)
{
	if (!err)
		chunk->edge = space_add_region(&pool->space, (uintptr_t)chunk->base,
					       (uint32_t)(chunk->size >> pool->granule_shift));
	if (!err && !chunk->edge) {
		lock_give(&pool->lock);
		range_count_chunk(chunk->base, -1);
		chunk_give_back(pool, NULL, chunk);
		lock_take(&pool->lock);
		return fail(-ENOMEM, "out of memory: the host has none for the tables of the pool");
	}
	move_end(pool, chunk);
	if (err) {
		free(chunk);
		return err;
	}
	chunk->next = pool->chunks;
	pool->chunks = chunk;
	pool_count_chunk(pool, chunk);
	return 0;
}

/* Whether upstream has no memory, or not so much. */
static bool is_refusal(int err)
{
	return err == -ENOMEM || err == -EDQUOT || err == -EAGAIN;
}

int pool_grow(struct accel_pool *pool, size_t bytes, size_t alignment)
{
	/* While others lack memory no call takes more than it needs. */
	size_t wish = pool->waiters ? 0 : pool->growth_size, left = growth_left(pool);
	struct chunk *chunk = chunk_begin(pool, wish < bytes ? bytes : wish < left ? wish : left,
					  alignment);
	uint64_t given = pool->given;
	int err, answer;

	if (!chunk)
		return -ENOMEM;
	answer = chunk_request(pool, chunk);
	if (is_refusal(answer) && chunk->size > bytes) {
		/* What is needed keeps moving, so that no other thread gets it instead. */
		pool->moving_bytes -= chunk->size - bytes;
		chunk->size = bytes;
		given = pool->given;
		answer = chunk_request(pool, chunk);
	}
	err = chunk_arrive(pool, chunk, answer);
	if (!is_refusal(answer))
		return err;
	/* If another thread has given something back meanwhile, upstream may be asked once more. */
	if (given == pool->given) {
		pool->refused_until = now_ms() + REFUSED_MS;
		pool->refused_size = bytes;
		pool->refused_alignment = alignment;
	}
	return -EAGAIN;
}

/* ---- Back to upstream ---- */

/* Takes the largest chunk that is free and not needed out of the lists; NULL: there is none. */
static struct chunk *chunk_pick(struct accel_pool *pool, size_t keep)
{
	struct chunk **at, **found = NULL, *chunk;
	size_t left = pool_bytes(pool, pool->space.free_granules);

	for (at = &pool->chunks; (chunk = *at); at = &chunk->next)
		if (space_region_free(&pool->space, chunk->edge) && left - chunk->size >= keep &&
		    (!found || chunk->size > (*found)->size))
			found = at;
	if (!found)
		return NULL;
	chunk = *found;
	*found = chunk->next;
	pool->nr_chunks--;
	pool->chunk_bytes -= chunk->size;
	space_remove_region(&pool->space, chunk->edge);
	move_begin(pool, chunk, true);
	return chunk;
}

void chunk_give_back(struct accel_pool *pool, struct accel_stream *stream, struct chunk *chunk)
{
	if (chunk->edge)
		range_count_chunk(chunk->base, -1);
	upstream_deallocate(pool, stream, chunk);
	lock_take(&pool->lock);
	move_end(pool, chunk);
	pool_count_given(pool);
	lock_give(&pool->lock);
	free(chunk);
}

void pool_shrink(struct accel_pool *pool, size_t keep)
{
	struct chunk *chunk;

	do {
		lock_take(&pool->lock);
		pool_settle(pool, POOL_SETTLE_ALL);
		pool->spare = false;
		chunk = chunk_pick(pool, keep);
		lock_give(&pool->lock);
		if (chunk) {
			debug_wait(pool, (uintptr_t)chunk->base, chunk->size);
			chunk_give_back(pool, NULL, chunk);
		}
	} while (chunk);
}

int accel_pool_trim(struct accel_pool *pool, size_t keep)
{
	int err = pool_check(pool);

	if (!err)
		pool_shrink(pool, keep);
	return err;
}

/* ---- Create and destroy ---- */

static const struct accel_pool_options defaults = { 0 };

static int check_options(const struct accel_pool_options *options)
{
	size_t granule = options->granule;

	if (options->flags & ~(uint32_t)(ACCEL_POOL_DEBUG | ACCEL_POOL_RELEASE))
		return fail(-EINVAL, "options: flags is %#x: only ACCEL_POOL_DEBUG (%#x) and "
				     "ACCEL_POOL_RELEASE (%#x) are known",
			    options->flags, ACCEL_POOL_DEBUG, ACCEL_POOL_RELEASE);
	if (options->release_threshold && !(options->flags & ACCEL_POOL_RELEASE))
		return fail(-EINVAL, "options: release_threshold is %zu: that needs the flag "
				     "ACCEL_POOL_RELEASE", options->release_threshold);
	if (granule && (granule < LEAST_GRANULE || granule > POOL_MAX_GRANULE ||
			granule & (granule - 1)))
		return fail(-EINVAL, "options: granule is %zu: it has to be a power of two from %d "
				     "to %zu", granule, LEAST_GRANULE, POOL_MAX_GRANULE);
	if (options->maximum_size && options->initial_size > options->maximum_size)
		return fail(-EINVAL, "options: initial_size is %zu, more than maximum_size, %zu",
			    options->initial_size, options->maximum_size);
	for (int i = 0; i < 4; i++)
		if (options->reserved[i])
			return fail(-EINVAL, "options: reserved is not 0");
	return 0;
}

/* Some defaults depend on the device. */
static int configure(struct accel_pool *pool, const struct accel_pool_options *options)
{
	struct accel_device_info info = { .granule = DEFAULT_GRANULE };
	size_t granule;
	int err = pool->dev ? accel_device_get_info(pool->dev->handle, &info) : 0;

	if (err)
		return err;
	granule = options->granule;
	if (!granule)
		granule = info.granule < DEFAULT_GRANULE && info.memory_size < SMALL_DEVICE ?
				  (size_t)info.granule : DEFAULT_GRANULE;
	pool->granule_shift = (unsigned int)__builtin_ctzll(granule);
	pool->growth_size = options->growth_size;
	if (!pool->growth_size)
		pool->growth_size = pool->dev ? (size_t)(info.memory_size / GROWTHS_OF_DEVICE)
					      : DEFAULT_GROWTH;
	pool->growth_size = pool_round(pool, pool->growth_size);
	pool->maximum_size = options->maximum_size;
	pool->release_threshold = options->flags & ACCEL_POOL_RELEASE ? options->release_threshold
								       : SIZE_MAX;
	return 0;
}

static void init(struct accel_pool *pool, struct device *dev,
		 const struct accel_resource *upstream)
{
	memset(pool, 0, sizeof(*pool));
	pool->upstream = *upstream;
	pool->unaligned = SIZE_MAX;
	pool->generation = fork_generation();
	if (!dev)
		return;
	device_open_again(dev);
	pool->dev = dev;
}

static void pool_free(struct accel_pool *pool)
{
	const struct block *blocks = pool->space.blocks;

	/* Exportable blocks of the parent. */
	for (uint32_t i = 1; i < pool->space.nr_blocks; i++)
		if (blocks[i].state == BLOCK_ALONE)
			free((void *)blocks[blocks[i].prev].addr);
	space_destroy(&pool->space);
	free(pool);
}

static int set_up(struct accel_pool *pool, const struct accel_pool_options *options)
{
	struct chunk *chunk;
	size_t initial;
	int err = configure(pool, options);

	if (err)
		return err;
	pool->debug = options->flags & ACCEL_POOL_DEBUG;
	pool->quick_generation = pool->debug ? UINT_MAX : pool->generation;
	if (space_init(&pool->space, pool->granule_shift) ||
	    space_reserve(&pool->space, options->reserve_blocks))
		return fail(-ENOMEM, "out of memory");
	if (!options->initial_size)
		return 0;
	initial = pool_round(pool, options->initial_size);
	if (initial > pool_largest_chunk(pool))
		return fail(-EINVAL, "options: initial_size is %zu: the most for this granule is "
				     "%zu", options->initial_size, pool_largest_chunk(pool));
	if (pool->maximum_size && initial > pool->maximum_size)
		return fail(-EINVAL, "options: initial_size is %zu in whole granules, more than "
				     "maximum_size, %zu", initial, pool->maximum_size);
	lock_take(&pool->lock);
	chunk = chunk_begin(pool, initial, (size_t)1 << pool->granule_shift);
	err = chunk ? chunk_arrive(pool, chunk, chunk_request(pool, chunk)) : -ENOMEM;
	lock_give(&pool->lock);
	return err;
}

static int check_upstream(struct accel_device *dev, const struct accel_resource *upstream,
			  struct accel_resource *copy)
{
	if (upstream) {
		*copy = *upstream;
		return resource_check(copy);
	}
	if (dev)
		return accel_resource_of_device(dev, ACCEL_MEMORY_DEVICE, copy);
	return fail(-EINVAL, "dev and upstream are NULL: the memory has to come from somewhere");
}

int accel_pool_create(struct accel_device *handle, const struct accel_resource *upstream,
		      const struct accel_pool_options *options, struct accel_pool **pool)
{
	KEEP_ERRNO;
	struct accel_resource from;
	struct accel_pool *made;
	struct device *dev = NULL;
	int err;

	if (!pool)
		return fail(-EINVAL, "pool is NULL: the handle has to go somewhere");
	*pool = NULL;
	if (!options)
		options = &defaults;
	err = handle ? device_get(handle, &dev) : 0;
	if (!err)
		err = check_upstream(handle, upstream, &from) ?: check_options(options);
	if (!err)
		err = fork_watch();
	if (err)
		return err;
	made = aligned_alloc(POOL_LINE, sizeof(*made));
	if (!made)
		return fail(-ENOMEM, "out of memory");
	init(made, dev, &from);
	err = set_up(made, options);
	if (err) {
		/* In a callback the open of the caller keeps it from being the last one. */
		if (dev)
			accel_device_close(handle);
		pool_free(made);
	} else {
		*pool = made;
	}
	return err;
}

int accel_pool_destroy(struct accel_pool *pool)
{
	KEEP_ERRNO;
	uint64_t points[SPACE_STREAMS];
	struct chunk *chunk;
	bool ours, held;
	int err;

	if (!pool)
		return fail(-EINVAL, "pool is NULL: it has to be from accel_pool_create()");
	ours = pool->generation == fork_generation();
	if (ours && pool->space.nr_used)
		return fail(-EBUSY, "%u blocks of the pool are allocated: free them first",
			    pool->space.nr_used);
	held = ours && pool->dev && in_callbacks();
	err = held ? device_open_to_hold(pool->dev) : 0;
	if (err)
		return err;
	/* Upstream may not order memory by streams. */
	if (ours && space_points(&pool->space, points, 0))
		pool_wait_points(pool, points);
	while ((chunk = pool->chunks)) {
		pool->chunks = chunk->next;
		if (ours) {
			move_begin(pool, chunk, true);
			chunk_give_back(pool, NULL, chunk);
		} else {
			free(chunk);
		}
	}
	if (held)
		device_end_hold(pool->dev);
	else if (pool->dev)
		accel_device_close(pool->dev->handle);
	pool_free(pool);
	return 0;
}
