/* SPDX-License-Identifier: MIT */
/*
 * Pools: allocation and free.
 */
#include "core/api.h"
#include "core/error.h"
#include "core/fork.h"
#include "core/stream.h"
#include "pool_private.h"
#include "pool_quick.h"

#include <stdio.h>
#include <string.h>

/* Each call looks at a few waiting blocks, so that no call has to look at all. */
#define SETTLE_FEW 2

int pool_check(const struct accel_pool *pool)
{
	if (!pool)
		return fail(-EINVAL, "pool is NULL: it has to be from accel_pool_create()");
	if (pool->generation != fork_generation())
		return fail(-EPERM, "pool was made by another process, before a fork: make one in "
				    "this");
	return 0;
}

/* NULL for a handle stays NULL. */
static int get_stream(const struct accel_pool *pool, const struct accel_stream *handle,
		      struct stream **stream)
{
	*stream = NULL;
	if (!handle)
		return 0;
	if (!pool->dev)
		return fail(-EINVAL, "stream is not NULL, and the pool has no device");
	return stream_get_of(handle, pool->dev, stream) ?: stream_device_state(*stream);
}

/* 0 is more than the most. */
static inline bool alignment_up_to(size_t alignment, size_t most)
{
	return alignment - 1 < most && !(alignment & (alignment - 1));
}

static int bad_alignment(size_t alignment)
{
	return fail(-EINVAL, "alignment is %zu: it has to be a power of two", alignment);
}

/* Whether a call is quick: these arguments need no check, and the pool no care. */
static inline bool is_quick(const struct accel_pool *pool, const struct accel_stream *stream)
{
	return pool && !stream && pool->quick_generation == fork_generation();
}

/* ---- Blocks that wait ---- */

/* Work that has failed has ended. */
static bool has_passed(void *data, uint64_t ticket)
{
	const struct accel_pool *pool = data;

	return ticket_status(pool->dev, ticket) != -EINPROGRESS;
}

void pool_settle(struct accel_pool *pool, uint32_t count)
{
	if (space_settle(&pool->space, count, has_passed, pool))
		pool->spare = true;
}

void pool_wait_points(const struct accel_pool *pool, const uint64_t points[SPACE_STREAMS])
{
	for (uint32_t stream = 1; stream < SPACE_STREAMS; stream++)
		if (points[stream])
			ticket_wait(pool->dev, ticket_make(stream, points[stream]), NEVER);
}

/* Before blocks wait for a stream for the first time; without the lock. */
static int waiting_prepare(struct accel_pool *pool, uint32_t stream)
{
	struct waiting **at = &pool->space.waiting[stream], *made;

	if (__atomic_load_n(at, __ATOMIC_RELAXED))
		return 0;
	made = waiting_create();
	if (!made)
		return -EAGAIN;
	lock_take(&pool->lock);
	if (!*at) {
		__atomic_store_n(at, made, __ATOMIC_RELAXED);
		made = NULL;
	}
	lock_give(&pool->lock);
	waiting_free(made);
	return 0;
}

/* ---- Allocation ---- */

struct demand {
	struct stream *stream;
	size_t size, alignment;
	uint32_t granules;
	size_t growth; /* bytes of the chunk that would have it */
	void *ptr; /* the block, once there is one */
	struct demand *next; /* of the waiters */
};

/*
 * The bytes and the alignment of a chunk that has room for such a block; SIZE_MAX: there are not
 * so many. Where upstream does not align so the block is in it wherever it begins.
 */
static inline size_t growth_for(const struct accel_pool *pool, struct demand *demand,
				size_t *alignment)
{
	size_t granule = (size_t)1 << pool->granule_shift;

	demand->growth = pool_bytes(pool, demand->granules);
	*alignment = demand->alignment > granule ? demand->alignment : granule;
	if (*alignment < pool->unaligned)
		return demand->growth;
	if (__builtin_add_overflow(demand->growth, *alignment - granule, &demand->growth))
		demand->growth = SIZE_MAX;
	*alignment = granule;
	return demand->growth;
}

/* The message is made when it is asked for, so that a failure is quick. */
static void say_no_memory(char *text, size_t size, const uint64_t numbers[SENTENCE_NUMBERS])
{
	snprintf(text, size,
		 "no free block of the pool has %" PRIu64 " bytes aligned to %" PRIu64 ": %" PRIu64
		 " of %" PRIu64 " bytes are free, and %s",
		 numbers[0], numbers[1], numbers[2], numbers[3],
		 numbers[4] ? "no chunk can be large enough" :
		 numbers[5] ? "upstream has refused more just now"
			    : "maximum_size does not let it grow");
}

static int no_memory(const struct accel_pool *pool, const struct demand *demand)
{
	const uint64_t numbers[SENTENCE_NUMBERS] = {
		demand->size,
		demand->alignment,
		pool_bytes(pool, pool->space.free_granules),
		pool->chunk_bytes,
		demand->growth > pool_largest_chunk(pool),
		pool->refused_size,
	};

	return fail_later(-ENOMEM, say_no_memory, numbers);
}

/* Under the lock, as all functions up to allocate(). */
static inline void *give_out(struct accel_pool *pool, uint32_t index, size_t size)
{
	struct block *block = &pool->space.blocks[index];

	block->slack = (uint32_t)(pool_bytes(pool, block->size) - size);
	pool_count_block(pool, size);
	return (void *)block->addr;
}

/* 0; -EAGAIN: nothing serves; -ENOMEM: there is no host memory. */
static int take(struct accel_pool *pool, struct demand *demand)
{
	uint32_t index;

	/* From serve_waiters() of another thread. */
	if (demand->ptr)
		return 0;
	if (space_reserve(&pool->space, 2))
		return fail(-ENOMEM, "out of memory: the host has none for the tables of the pool");
	index = space_take_any(&pool->space, demand->granules, demand->alignment,
			       demand->stream ? demand->stream->number : 0);
	if (!index)
		return -EAGAIN;
	demand->ptr = give_out(pool, index, demand->size);
	if (pool->debug)
		pool->space.blocks[index].stream = POOL_BUSY;
	return 0;
}

/* The stream waits for the work that blocks wait for, or the caller does; then all blocks serve. */
static int take_over(struct accel_pool *pool, struct demand *demand,
		     const uint64_t points[SPACE_STREAMS])
{
	uint64_t ticket = 0;
	int err = 0;

	lock_give(&pool->lock);
	if (demand->stream)
		err = waiting_prepare(pool, demand->stream->number) ?:
		      stream_wait_points(demand->stream, points, &ticket);
	else
		pool_wait_points(pool, points);
	lock_take(&pool->lock);
	if (err)
		return -EAGAIN;
	pool->taken_over++;
	if (demand->stream)
		space_retag(&pool->space, points, ticket);
	else
		pool_settle(pool, POOL_SETTLE_ALL);
	return take(pool, demand);
}

/* Out of all memory of the pool: first without what other streams use, then with it. */
static int take_anywhere(struct accel_pool *pool, struct demand *demand)
{
	uint64_t points[SPACE_STREAMS];
	int err;

	pool_settle(pool, POOL_SETTLE_ALL);
	err = take(pool, demand);
	if (err == -EAGAIN && pool->space.free_granules >= demand->granules &&
	    pool->space.nr_waiting &&
	    space_points(&pool->space, points, demand->stream ? demand->stream->number : 0))
		err = take_over(pool, demand, points);
	return err;
}

/* Of a chunk that has come, before other threads take what is left of it. */
static void serve_waiters(struct accel_pool *pool)
{
	for (struct demand *demand = pool->waiters; demand; demand = demand->next)
		take(pool, demand);
}

static inline int grow(struct accel_pool *pool, struct demand *demand, size_t *alignment)
{
	size_t bytes = growth_for(pool, demand, alignment);

	if (!pool_may_grow(pool, bytes, *alignment))
		return -EAGAIN;
	return pool_grow(pool, bytes, *alignment);
}

/*
 * The same, also where upstream does not align so: first what upstream is known to do. Its answer to
 * an alignment may have been about the size.
 */
static inline int grow_in_any_case(struct accel_pool *pool, struct demand *demand)
{
	size_t alignment, unaligned = pool->unaligned;
	int err = grow(pool, demand, &alignment);
	bool exact = alignment >= demand->alignment;

	if (err == -EINVAL && alignment > (size_t)1 << pool->granule_shift)
		pool->unaligned = alignment;
	else if (err == -EAGAIN && !exact)
		pool->unaligned = SIZE_MAX;
	else
		return err;
	err = grow(pool, demand, &alignment);
	if (!err)
		return 0;
	pool->unaligned = unaligned;
	if (exact)
		return err;
	/* What the longer chunk would have had. */
	growth_for(pool, demand, &alignment);
	return err == -EINVAL ? -EAGAIN : err;
}

/* Takes a chunk, and the block out of it. */
static int grow_and_take(struct accel_pool *pool, struct demand *demand)
{
	int err = grow_in_any_case(pool, demand);

	if (err)
		return err;
	err = take(pool, demand);
	serve_waiters(pool);
	return err;
}

/*
 * Waits for the moves that are under way, once, and asks upstream once more. So the call returns,
 * whatever other threads do. A chunk that comes meanwhile serves the waiters, and other threads take
 * chunks no larger than they need: so the call fails only if there is not enough memory.
 */
static int take_after_moves(struct accel_pool *pool, struct demand *demand)
{
	struct demand **at = &pool->waiters;
	int err;

	demand->next = pool->waiters;
	pool->waiters = demand;
	pool_wait_moves(pool, pool_bytes(pool, demand->granules), &demand->ptr);
	err = take_anywhere(pool, demand);
	if (err == -EAGAIN)
		err = grow_and_take(pool, demand);
	if (err == -EAGAIN)
		err = take_anywhere(pool, demand);
	while (*at != demand)
		at = &(*at)->next;
	*at = demand->next;
	return demand->ptr ? 0 : err;
}

/* Where take() has found nothing. */
static int take_slowly(struct accel_pool *pool, struct demand *demand)
{
	uint64_t moves = pool->nr_moves;
	int err = pool->space.nr_waiting ? take_anywhere(pool, demand) : -EAGAIN;

	if (err == -EAGAIN)
		err = grow_and_take(pool, demand);
	if (err == -EAGAIN && (pool->moving || pool->nr_moves != moves))
		err = take_after_moves(pool, demand);
	return err == -EAGAIN ? no_memory(pool, demand) : err;
}

static int allocate(struct accel_pool *pool, struct demand *demand, void **ptr)
{
	int err;

	lock_take(&pool->lock);
	if (pool->space.nr_waiting)
		pool_settle(pool, SETTLE_FEW);
	err = take(pool, demand);
	if (err == -EAGAIN)
		err = take_slowly(pool, demand);
	if (err == -ENOMEM)
		pool->failures++;
	lock_give(&pool->lock);
	*ptr = demand->ptr;
	return err;
}

static int deallocate(struct accel_pool *pool, uintptr_t addr, size_t size, uint64_t ticket);

/* The patterns of a block are in order, and who has it may free it. */
static void not_busy(struct accel_pool *pool, uintptr_t addr)
{
	lock_take(&pool->lock);
	pool->space.blocks[*space_at(&pool->space, addr)].stream = 0;
	lock_give(&pool->lock);
}

static int allocate_guarded(struct accel_pool *pool, struct demand *demand, void **ptr)
{
	size_t room = pool_bytes(pool, demand->granules);
	int err = allocate(pool, demand, ptr);

	if (err)
		return err;
	debug_wait(pool, (uintptr_t)*ptr, room);
	err = debug_give(pool, *ptr, demand->size, room);
	if (err) {
		deallocate(pool, (uintptr_t)*ptr, demand->size, 0);
		*ptr = NULL;
		return err;
	}
	not_busy(pool, (uintptr_t)*ptr);
	return 0;
}

/* A size that no chunk can have becomes one that certainly fails. */
static uint32_t granules_for(const struct accel_pool *pool, size_t size)
{
	size_t room = ((size_t)1 << pool->granule_shift) - 1, granules;

	if (pool->debug)
		room += debug_guard(pool);
	if (__builtin_add_overflow(size, room, &granules))
		return UINT32_MAX;
	granules >>= pool->granule_shift;
	return granules < UINT32_MAX ? (uint32_t)granules : UINT32_MAX;
}

int pool_check_request(const struct accel_pool *pool, const struct accel_stream *handle, size_t size,
		       size_t alignment, void **ptr, struct stream **stream)
{
	int err;

	if (!ptr)
		return fail(-EINVAL, "ptr is NULL: the address has to go somewhere");
	*ptr = NULL;
	err = pool_check(pool) ?: get_stream(pool, handle, stream);
	if (err)
		return err;
	if (!size)
		return fail(-EINVAL, "size is 0: a block has at least 1 byte");
	return alignment_up_to(alignment, SIZE_MAX) ? 0 : bad_alignment(alignment);
}

static __attribute__((noinline)) int
allocate_carefully(struct accel_pool *pool, struct accel_stream *stream, size_t size,
		   size_t alignment, void **ptr)
{
	struct demand demand = { .size = size, .alignment = alignment };
	int err = pool_check_request(pool, stream, size, alignment, ptr, &demand.stream);

	if (err)
		return err;
	demand.granules = granules_for(pool, size);
	if (pool->debug)
		return allocate_guarded(pool, &demand, ptr);
	return allocate(pool, &demand, ptr);
}

/* NULL: it takes more care. */
static inline void *allocate_quickly(struct accel_pool *pool, size_t size)
{
	size_t granules = ((size - 1) >> pool->granule_shift) + 1;
	struct space *space = &pool->space;
	uint32_t index = 0;
	void *ptr = NULL;

	/* Also if size is 0. */
	if (granules >= UINT32_MAX)
		return NULL;
	lock_take(&pool->lock);
	if (!space->nr_waiting && space->nr_spare >= 2)
		index = granules < BINS_EXACT ? space_take(space, (uint32_t)granules)
					      : space_take_any(space, (uint32_t)granules, 1, 0);
	if (index)
		ptr = give_out(pool, index, size);
	lock_give(&pool->lock);
	return ptr;
}

int accel_pool_allocate(struct accel_pool *pool, struct accel_stream *stream, size_t size,
			size_t alignment, void **ptr)
{
	void *found = NULL;

	if (ptr && is_quick(pool, stream) &&
	    alignment_up_to(alignment, (size_t)1 << pool->granule_shift))
		found = allocate_quickly(pool, size);
	if (!found)
		return allocate_carefully(pool, stream, size, alignment, ptr);
	*ptr = found;
	return 0;
}

/* ---- Free ---- */

/* Under the lock. */
static int not_a_block(const struct accel_pool *pool, uintptr_t addr)
{
	const struct chunk *chunk = pool->chunks;
	const struct block *block;
	uint32_t index;

	index = space_around(&pool->space, addr);
	while (!index && chunk && addr - (uintptr_t)chunk->base >= chunk->size)
		chunk = chunk->next;
	if (!index && !chunk)
		return fail(-ENOENT, "ptr " ADDR " is not from this pool", addr);
	block = &pool->space.blocks[index];
	/* One that is busy is another thread's. */
	if (!index || block->addr == addr)
		return fail(-ENOENT, "ptr " ADDR ": no block is allocated there (freed before?)",
			    addr);
	return fail(-ENOENT, "ptr " ADDR " is inside the block at " ADDR " of %zu bytes", addr,
		    block->addr, pool_block_bytes(pool, block));
}

int pool_check_block(const struct accel_pool *pool, uint32_t index, size_t size)
{
	const struct block *block = &pool->space.blocks[index];
	size_t bytes = pool_block_bytes(pool, block);

	if (bytes == size)
		return 0;
	return fail(-EINVAL, "size is %zu, and the block at " ADDR " has %zu bytes", size,
		    block->addr, bytes);
}

/* Where the index of the block stands, under the lock; 0, or what is wrong. */
static inline int find_block(const struct accel_pool *pool, uintptr_t addr, size_t size,
			     uint32_t **at)
{
	*at = space_at(&pool->space, addr);
	if (pool->space.blocks[**at].state != BLOCK_USED)
		return not_a_block(pool, addr);
	return pool_check_block(pool, **at, size);
}

/* Whether the chunk of a free block might be given back. */
static bool chunk_to_spare(const struct accel_pool *pool, uint32_t index)
{
	const struct block *block = &pool->space.blocks[index];

	return pool->release_threshold != SIZE_MAX && block->prev == block->next &&
	       pool_bytes(pool, pool->space.free_granules - block->size) >=
		       pool->release_threshold;
}

/* With a ticket after waiting_prepare(). */
static int deallocate(struct accel_pool *pool, uintptr_t addr, size_t size, uint64_t ticket)
{
	bool spare = false;
	uint32_t *at;
	int err;

	lock_take(&pool->lock);
	err = find_block(pool, addr, size, &at);
	if (!err && !ticket)
		spare = chunk_to_spare(pool, space_release(&pool->space, at));
	else if (!err)
		space_release_after(&pool->space, at, ticket);
	if (!err)
		pool->bytes -= size;
	if (pool->space.nr_waiting)
		pool_settle(pool, SETTLE_FEW);
	if (pool->release_threshold != SIZE_MAX && pool->spare)
		spare = true;
	lock_give(&pool->lock);
	if (spare)
		pool_shrink(pool, pool->release_threshold);
	return err;
}

static int deallocate_after(struct accel_pool *pool, struct stream *stream, uintptr_t addr,
			    size_t size)
{
	uint64_t ticket = 0;
	int err = stream_position(stream, &ticket);

	if (err)
		return err;
	/* There is no host memory to note what the block waits for: the caller waits. */
	if (ticket && waiting_prepare(pool, stream->number)) {
		ticket_wait(pool->dev, ticket, NEVER);
		ticket = 0;
	}
	return deallocate(pool, addr, size, ticket);
}

/* Marks it as busy: until it is free no other thread frees it, or looks at it. */
static int take_from_user(struct accel_pool *pool, uintptr_t addr, size_t size, size_t *room)
{
	struct block *block;
	uint32_t *at;
	int err;

	lock_take(&pool->lock);
	err = find_block(pool, addr, size, &at);
	block = &pool->space.blocks[*at];
	if (!err && block->stream == POOL_BUSY)
		err = not_a_block(pool, addr);
	if (!err) {
		block->stream = POOL_BUSY;
		*room = pool_bytes(pool, block->size);
	}
	lock_give(&pool->lock);
	return err;
}

/* On a lost device there is nothing to look at. */
static int deallocate_guarded(struct accel_pool *pool, struct stream *stream, uintptr_t addr,
			      size_t size)
{
	size_t room = 0;
	int err = take_from_user(pool, addr, size, &room);

	if (err)
		return err;
	debug_wait(pool, addr, room);
	err = debug_take_back(pool, stream, (void *)addr, size, room);
	if (err && err != -EFAULT && err != -ENODEV && err != -ESTALE) {
		not_busy(pool, addr);
		return err;
	}
	deallocate(pool, addr, size, 0);
	return err == -EFAULT ? err : 0;
}

static __attribute__((noinline)) int
deallocate_carefully(struct accel_pool *pool, struct accel_stream *handle, void *ptr, size_t size,
		     size_t alignment)
{
	uintptr_t addr = (uintptr_t)ptr;
	struct stream *stream;
	int err = pool_check(pool) ?: get_stream(pool, handle, &stream);

	if (err)
		return err;
	if (!ptr)
		return fail(-EINVAL, "ptr is NULL");
	if (!size)
		return fail(-EINVAL, "size is 0: it has to be the size that was allocated");
	if (!alignment_up_to(alignment, SIZE_MAX))
		return bad_alignment(alignment);
	if (addr & (alignment - 1))
		return fail(-EINVAL,
			    "ptr " ADDR " is not aligned to %zu: that is not the alignment of the "
			    "allocation", addr, alignment);
	if (__atomic_load_n(&pool->nr_lone, __ATOMIC_RELAXED)) {
		err = pool_deallocate_lone(pool, handle, addr, size);
		if (err != -EAGAIN)
			return err;
	}
	if (pool->debug)
		return deallocate_guarded(pool, stream, addr, size);
	return stream ? deallocate_after(pool, stream, addr, size) : deallocate(pool, addr, size, 0);
}

/* false: it takes more care. */
static inline bool deallocate_quickly(struct accel_pool *pool, uintptr_t addr, size_t size)
{
	struct space *space = &pool->space;
	const struct block *block;
	uint32_t *at;
	bool done;

	lock_take(&pool->lock);
	at = space_at(space, addr);
	block = &space->blocks[*at];
	done = block->state == BLOCK_USED && pool_block_bytes(pool, block) == size;
	if (done) {
		space_release(space, at);
		pool->bytes -= size;
	}
	lock_give(&pool->lock);
	return done;
}

int accel_pool_deallocate(struct accel_pool *pool, struct accel_stream *stream, void *ptr,
			  size_t size, size_t alignment)
{
	uintptr_t addr = (uintptr_t)ptr;

	if (is_quick(pool, stream) && alignment_up_to(alignment, SIZE_MAX) &&
	    !(addr & (alignment - 1)) && pool->release_threshold == SIZE_MAX &&
	    deallocate_quickly(pool, addr, size))
		return 0;
	return deallocate_carefully(pool, stream, ptr, size, alignment);
}
