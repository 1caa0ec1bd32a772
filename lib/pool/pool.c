/* SPDX-License-Identifier: MIT */
/*
 * Pools: what happens on every call. The rest is in the files beside this one.
 */
#include "pool_private.h"
#include "pool_quick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks that wait are looked at by the way, a few each time, so that nobody has to do it all. */
#define SETTLE_BY_THE_WAY 2
#define SETTLE_ALL UINT32_MAX
/* An arena that has run empty gets so many times what was asked for, or nothing. */
#define REFILL 16
#define REFILL_EVERY 64

int pool_check(const struct accel_pool *pool)
{
	if (!pool)
		return fail(-EINVAL, "pool is NULL: it has to be from accel_pool_create()");
	if (pool->generation != fork_generation())
		return fail(-EPERM, "pool was made by another process, before a fork: make one in "
				    "this");
	return 0;
}

static int check_stream(const struct accel_pool *pool, const struct accel_stream *stream)
{
	if (!stream)
		return 0;
	if (!pool->dev)
		return fail(-EINVAL, "stream is not NULL, and the pool has no card");
	return stream_check_of(stream, pool->dev) ?: stream_card(stream);
}

static int bad_alignment(size_t alignment)
{
	return fail(-EINVAL, "alignment is %zu: it has to be a power of two up to %zu", alignment,
		    POOL_MAX_ALIGN);
}

/* Also 0 is more than the most. */
static inline bool alignment_up_to(size_t alignment, size_t most)
{
	return alignment - 1 < most && !(alignment & (alignment - 1));
}

static inline bool alignment_ok(size_t alignment)
{
	return alignment_up_to(alignment, POOL_MAX_ALIGN);
}

/* Whether a call has nothing that could be refused, or be special, in these arguments. */
static inline bool is_simple(const struct accel_pool *pool, const struct accel_stream *stream)
{
	return pool && !stream && pool->simple_in == fork_generation();
}

/* ---- Failures that have to be quick ---- */

static void say_no_memory(char *text, size_t size, const uint64_t numbers[SENTENCE_NUMBERS])
{
	if (numbers[4])
		snprintf(text, size,
			 "no free block of the pool has %" PRIu64 " bytes aligned to %" PRIu64
			 ": %" PRIu64 " of %" PRIu64 " bytes are free, and upstream has refused "
			 "more just now",
			 numbers[0], numbers[1], numbers[2], numbers[3]);
	else
		snprintf(text, size,
			 "no free block of the pool has %" PRIu64 " bytes aligned to %" PRIu64
			 ": %" PRIu64 " of %" PRIu64 " bytes are free, and maximum_size does not "
			 "let it grow",
			 numbers[0], numbers[1], numbers[2], numbers[3]);
}

/* ---- Blocks that wait ---- */

/* One whose work has failed has ended too. */
static bool has_passed(void *data, uint64_t ticket)
{
	const struct accel_pool *pool = data;

	return ticket_status(pool->dev, ticket) != -EINPROGRESS;
}

void pool_settle(struct accel_pool *pool, struct arena *arena, uint32_t count)
{
	struct space *space = &arena->space;
	uint64_t streams;

	for (unsigned int i = 0; i < SPACE_STREAMS / 64; i++)
		for (streams = space->busy_streams[i]; streams; streams &= streams - 1)
			space_settle(space, i * 64 + lowest_bit(streams), count, has_passed, pool);
}

/* The newest point of each stream that blocks of the first arena wait for. */
static bool collect_points(const struct arena *arena, uint64_t points[SPACE_STREAMS], uint32_t own)
{
	const struct space *space = &arena->space;
	bool any = false;
	uint32_t index;

	memset(points, 0, SPACE_STREAMS * sizeof(*points));
	for (uint32_t stream = 0; stream < SPACE_STREAMS; stream++) {
		if (!space->waiting[stream] || stream == own)
			continue;
		index = space->waiting[stream]->oldest;
		for (; index; index = space->waits[index].newer)
			if (ticket_point(space->waits[index].ticket) > points[stream])
				points[stream] = ticket_point(space->waits[index].ticket);
		any |= points[stream];
	}
	return any;
}

/* ---- Allocation ---- */

struct demand {
	bool *no_room; /* set where the host has no memory for the tables */
	struct accel_stream *stream;
	uint32_t number; /* of the stream, or 0 */
	size_t size, alignment;
	struct request request;
};

static int no_memory(struct accel_pool *pool, struct arena *arena,
		     const struct demand *demand)
{
	const uint64_t numbers[SENTENCE_NUMBERS] = {
		demand->size,
		demand->alignment,
		pool_bytes(pool, arena->space.free_granules),
		POOL_LOAD(pool->chunk_bytes),
		POOL_LOAD(pool->refused_size),
	};

	arena->failures++;
	if (*demand->no_room)
		return fail(-ENOMEM, "out of memory: the host has none for the tables of the pool");
	return fail_later(-ENOMEM, say_no_memory, numbers);
}

static void *take(struct accel_pool *pool, struct arena *arena, const struct demand *demand)
{
	uint32_t index;

	if (space_reserve(&arena->space, 2)) {
		*demand->no_room = true;
		return NULL;
	}
	index = space_take(&arena->space, &demand->request, demand->number);
	if (!index)
		return NULL;
	pool_count_more(pool, arena, demand->size);
	return (void *)arena->space.blocks[index].addr;
}

/* Waits in the right way for what blocks wait for, and lets the stream have them. */
static void *take_over(struct accel_pool *pool, const struct demand *demand,
		       const uint64_t points[SPACE_STREAMS])
{
	struct arena *first = &pool->arenas[0];
	uint64_t ticket = 0;
	void *ptr;

	if (demand->stream && stream_wait_points(demand->stream, points, &ticket))
		return NULL;
	for (uint32_t other = 1; !demand->stream && other < SPACE_STREAMS; other++)
		if (points[other])
			ticket_wait(pool->dev, ticket_make(other, points[other]), NEVER);
	pool_lock_all(pool);
	pool->taken_over++;
	pool_fold(pool);
	if (demand->stream)
		space_retag(&first->space, points, ticket);
	else
		pool_settle(pool, first, SETTLE_ALL);
	ptr = take(pool, first, demand);
	pool_unlock_all(pool);
	return ptr;
}

/* Gives this thread's arena some of the memory of another one. */
static void *refill(struct accel_pool *pool, const struct demand *demand)
{
	uint32_t size = demand->request.size;
	void *ptr = NULL;
	unsigned int mine;

	pool_lock_all(pool);
	mine = pool_my_arena(pool);
	if (mine < pool->nr_arenas && size <= UINT32_MAX / REFILL &&
	    pool_refill(pool, mine, size * REFILL))
		ptr = take(pool, &pool->arenas[mine], demand);
	pool_unlock_all(pool);
	return ptr;
}

static void *take_from(struct accel_pool *pool, struct arena *arena, const struct demand *demand)
{
	void *ptr = arena->space.free ? take(pool, arena, demand) : NULL;

	lock_give(&arena->lock);
	return ptr;
}

/*
 * Where several arenas are, another one may have it. Now and then borders are moved instead. Those
 * whose lock is taken come last: who has it may have been preempted.
 */
static void *take_elsewhere(struct accel_pool *pool, const struct demand *demand)
{
	unsigned int nr = POOL_LOAD(pool->nr_arenas), busy = 0;
	void *ptr = NULL;

	if (__atomic_add_fetch(&pool->empty, 1, __ATOMIC_RELAXED) % REFILL_EVERY == 1)
		ptr = refill(pool, demand);
	for (unsigned int i = 0; i < nr && !ptr; i++) {
		if (lock_try(&pool->arenas[i].lock))
			ptr = take_from(pool, &pool->arenas[i], demand);
		else
			busy |= 1u << i;
	}
	for (unsigned int i = 0; i < nr && !ptr; i++)
		if (busy & 1u << i) {
			lock_take(&pool->arenas[i].lock);
			ptr = take_from(pool, &pool->arenas[i], demand);
		}
	return ptr;
}

/* All arenas as one, without what others use; then with it. */
static void *take_anywhere(struct accel_pool *pool, const struct demand *demand)
{
	uint64_t points[SPACE_STREAMS];
	void *ptr = NULL;
	bool waiting;

	pool_lock_all(pool);
	pool_fold(pool);
	/* There are several only if there was no memory to make them one. */
	for (unsigned int i = 0; i < pool->nr_arenas && !ptr; i++) {
		pool_settle(pool, &pool->arenas[i], SETTLE_ALL);
		ptr = take(pool, &pool->arenas[i], demand);
	}
	waiting = !ptr && collect_points(&pool->arenas[0], points, demand->number) &&
		  pool->arenas[0].space.free_granules >= demand->request.size;
	pool_unlock_all(pool);
	return waiting ? take_over(pool, demand, points) : ptr;
}

/* The bytes that a chunk has to have. */
static bool growth_for(const struct accel_pool *pool, const struct demand *demand, size_t *bytes)
{
	size_t granule = (size_t)1 << pool->granule_shift;

	*bytes = pool_bytes(pool, demand->request.size);
	return demand->alignment <= granule ||
	       !__builtin_add_overflow(*bytes, demand->alignment - granule, bytes);
}

static int allocate_slowly(struct accel_pool *pool, const struct demand *demand, void **ptr)
{
	struct arena *arena;
	size_t growth;
	int err = 0;

	*ptr = POOL_LOAD(pool->nr_arenas) > 1 ? take_elsewhere(pool, demand) : NULL;
	if (!*ptr && !*demand->no_room)
		*ptr = take_anywhere(pool, demand);
	while (!*ptr && !err && !*demand->no_room && growth_for(pool, demand, &growth) && pool_may_grow(pool, growth)) {
		err = pool_grow(pool, growth);
		if (!err)
			*ptr = take_anywhere(pool, demand);
	}
	if (*ptr || (err && err != -ENOMEM && err != -EDQUOT))
		return err;
	arena = pool_lock(pool);
	err = no_memory(pool, arena, demand);
	lock_give(&arena->lock);
	return err;
}

/* Whether there is nothing that more effort could find; under the arena's lock. */
static bool is_hopeless(struct accel_pool *pool, const struct arena *arena,
			const struct demand *demand)
{
	size_t growth;

	return *demand->no_room ||
	       (POOL_LOAD(pool->nr_arenas) == 1 && !arena->space.nr_waiting &&
		!(growth_for(pool, demand, &growth) && pool_may_grow(pool, growth)));
}

static int allocate(struct accel_pool *pool, const struct demand *demand, void **ptr)
{
	struct arena *arena = pool_lock(pool);
	int err = 0;

	if (arena->space.nr_waiting)
		pool_settle(pool, arena, SETTLE_BY_THE_WAY);
	*ptr = take(pool, arena, demand);
	if (!*ptr && is_hopeless(pool, arena, demand))
		err = no_memory(pool, arena, demand);
	lock_give(&arena->lock);
	return *ptr || err ? err : allocate_slowly(pool, demand, ptr);
}

/* Of a size that no chunk can have, one that certainly fails. */
static void fill_request(const struct accel_pool *pool, struct demand *demand)
{
	size_t granule = (size_t)1 << pool->granule_shift;
	size_t room = pool->debug ? debug_guard(pool) : 0, granules;

	if (__builtin_add_overflow(demand->size, room + granule - 1, &granules))
		granules = SIZE_MAX;
	granules >>= pool->granule_shift;
	demand->request.size = granules < UINT32_MAX ? (uint32_t)granules : UINT32_MAX;
	demand->request.slack = (uint32_t)(pool_bytes(pool, demand->request.size) - demand->size);
	demand->request.align = demand->alignment;
}

static int allocate_guarded(struct accel_pool *pool, const struct demand *demand, void **ptr)
{
	int err = allocate(pool, demand, ptr);

	if (err)
		return err;
	err = debug_give(pool, *ptr, demand->size, pool_bytes(pool, demand->request.size));
	if (!err)
		return 0;
	/* The block is whole again, and free. */
	accel_pool_deallocate(pool, NULL, *ptr, demand->size, demand->alignment);
	*ptr = NULL;
	return err;
}

/*
 * What most calls are: nothing to refuse, and a piece that serves is in the arena of the thread.
 * NULL: it takes a closer look.
 */
static inline void *take_quickly(struct accel_pool *pool, size_t size)
{
	size_t granules = ((size - 1) >> pool->granule_shift) + 1;
	struct arena *arena;
	struct space *space;
	struct block *block = NULL;
	void *ptr = NULL;

	/* Also if size is 0. */
	if (granules >= BINS_EXACT)
		return NULL;
	arena = pool_lock(pool);
	space = &arena->space;
	if (!space->nr_waiting && space->nr_spare)
		block = space_take_quickly(space, (uint32_t)granules,
					   (uint32_t)(pool_bytes(pool, granules) - size));
	if (block) {
		ptr = (void *)block->addr;
		pool_count_more(pool, arena, size);
	}
	lock_give(&arena->lock);
	return ptr;
}

/* Likewise. */
static inline bool free_quickly(struct accel_pool *pool, uintptr_t addr, size_t size)
{
	struct arena *arena = pool_lock_of(pool, addr);
	struct space *space = &arena->space;
	uint32_t *at = space_at(space, addr);
	bool done = *at && block_bytes(pool, &space->blocks[*at]) == size;

	if (done) {
		space_release_quickly(space, at);
		pool_count_less(pool, arena, size);
	}
	lock_give(&arena->lock);
	return done;
}

static __attribute__((noinline)) int
allocate_carefully(struct accel_pool *pool, struct accel_stream *stream, size_t size,
		   size_t alignment, void **ptr)
{
	bool no_room = false;
	struct demand demand = { .no_room = &no_room, .stream = stream, .size = size,
				 .alignment = alignment };
	int err;

	if (!ptr)
		return fail(-EINVAL, "ptr is NULL: the address has to go somewhere");
	*ptr = NULL;
	err = pool_check(pool) ?: check_stream(pool, stream);
	if (err)
		return err;
	if (!size)
		return fail(-EINVAL, "size is 0: a block has at least 1 byte");
	if (!alignment_ok(alignment))
		return bad_alignment(alignment);
	demand.number = stream ? stream->number : 0;
	fill_request(pool, &demand);
	if (pool->debug)
		return allocate_guarded(pool, &demand, ptr);
	return allocate(pool, &demand, ptr);
}

int accel_pool_allocate(struct accel_pool *pool, struct accel_stream *stream, size_t size,
			size_t alignment, void **ptr)
{
	void *found = NULL;

	if (ptr && is_simple(pool, stream) &&
	    alignment_up_to(alignment, (size_t)1 << pool->granule_shift))
		found = take_quickly(pool, size);
	if (!found)
		return allocate_carefully(pool, stream, size, alignment, ptr);
	*ptr = found;
	return 0;
}

/* ---- Free ---- */

static int not_a_block(struct accel_pool *pool, uintptr_t addr)
{
	const struct block *block = NULL;
	const struct region *region;
	uint32_t index = 0;
	int err;

	pool_lock_all(pool);
	for (region = pool->regions; region; region = region->next)
		if (addr - region->base < pool_bytes(pool, region->size))
			break;
	if (region) {
		index = space_around(&pool->arenas[region->arena].space, addr);
		block = &pool->arenas[region->arena].space.blocks[index];
	}
	if (!region)
		err = fail(-ENOENT, "ptr " ADDR " is not from this pool", addr);
	else if (!index)
		err = fail(-ENOENT, "ptr " ADDR ": no block is allocated there (freed before?)",
			   addr);
	else
		err = fail(-ENOENT, "ptr " ADDR " is inside the block at " ADDR " of %zu bytes",
			   addr, block->addr, block_bytes(pool, block));
	pool_unlock_all(pool);
	return err;
}

static int wrong_size(size_t size, uintptr_t addr, size_t bytes)
{
	return fail(-EINVAL, "size is %zu, and the block at " ADDR " has %zu bytes", size, addr,
		    bytes);
}

/* The arena that has the block, locked, or NULL. Arenas can become one while this looks. */
static struct arena *find_arena(struct accel_pool *pool, uintptr_t addr, uint32_t **at)
{
	struct arena *arena = pool_lock_of(pool, addr);
	unsigned int folds;

	*at = space_at(&arena->space, addr);
	if (**at)
		return arena;
	lock_give(&arena->lock);
	do {
		folds = __atomic_load_n(&pool->folds, __ATOMIC_ACQUIRE);
		for (unsigned int i = 0; i < POOL_LOAD(pool->nr_arenas); i++) {
			arena = &pool->arenas[i];
			lock_take(&arena->lock);
			*at = arena->space.free ? space_at(&arena->space, addr) : NULL;
			if (*at && **at)
				return arena;
			lock_give(&arena->lock);
		}
	} while (folds != __atomic_load_n(&pool->folds, __ATOMIC_ACQUIRE));
	return NULL;
}

/* Whether a chunk might be given back. */
static bool is_whole(const struct accel_pool *pool, const struct space *space, uint32_t index)
{
	const struct block *block = &space->blocks[index];

	return pool->release_threshold != SIZE_MAX && block->prev == block->next &&
	       pool_bytes(pool, space->free_granules - block->size) >= pool->release_threshold;
}

/* Under the arena's lock. Without room for a note of who waits, 0 is not what comes back. */
static int release(struct accel_pool *pool, struct arena *arena, uint32_t *at, uint64_t ticket,
		   bool *whole)
{
	size_t bytes = block_bytes(pool, &arena->space.blocks[*at]);

	if (!ticket)
		*whole = is_whole(pool, &arena->space, space_release(&arena->space, at));
	else if (space_release_after(&arena->space, at, ticket))
		return -ENOMEM;
	pool_count_less(pool, arena, bytes);
	if (arena->space.nr_waiting)
		pool_settle(pool, arena, SETTLE_BY_THE_WAY);
	return 0;
}

static int deallocate(struct accel_pool *pool, uintptr_t addr, size_t size, uint64_t ticket)
{
	struct arena *arena;
	bool whole = false;
	size_t bytes;
	uint32_t *at;
	int err;

	arena = find_arena(pool, addr, &at);
	if (!arena)
		return not_a_block(pool, addr);
	bytes = block_bytes(pool, &arena->space.blocks[*at]);
	err = bytes == size ? release(pool, arena, at, ticket, &whole) : -EINVAL;
	lock_give(&arena->lock);
	if (err == -EINVAL)
		return wrong_size(size, addr, bytes);
	if (err) {
		/* Rather late than never. */
		ticket_wait(pool->dev, ticket, NEVER);
		return deallocate(pool, addr, size, 0);
	}
	if (whole)
		pool_shrink(pool, pool->release_threshold);
	return 0;
}

/* How much room the block has, if there is one. */
static int find_room(struct accel_pool *pool, uintptr_t addr, size_t size, size_t *room)
{
	struct arena *arena;
	size_t bytes;
	uint32_t *at;

	arena = find_arena(pool, addr, &at);
	if (!arena)
		return not_a_block(pool, addr);
	bytes = block_bytes(pool, &arena->space.blocks[*at]);
	*room = pool_bytes(pool, arena->space.blocks[*at].size);
	lock_give(&arena->lock);
	return bytes == size ? 0 : wrong_size(size, addr, bytes);
}

static int deallocate_guarded(struct accel_pool *pool, struct accel_stream *stream, uintptr_t addr,
			      size_t size)
{
	size_t room = 0;
	int err = find_room(pool, addr, size, &room), found;

	if (err)
		return err;
	found = debug_take_back(pool, stream, (void *)addr, size, room);
	if (found && found != -EFAULT)
		return found;
	err = deallocate(pool, addr, size, 0);
	return err ? err : found;
}

static __attribute__((noinline)) int
deallocate_carefully(struct accel_pool *pool, struct accel_stream *stream, void *ptr, size_t size,
		     size_t alignment)
{
	uintptr_t addr = (uintptr_t)ptr;
	uint64_t ticket = 0;
	int err = pool_check(pool) ?: check_stream(pool, stream);

	if (err)
		return err;
	if (!ptr)
		return fail(-EINVAL, "ptr is NULL");
	if (!size)
		return fail(-EINVAL, "size is 0: it has to be the size that was allocated");
	if (!alignment_ok(alignment))
		return bad_alignment(alignment);
	if (stream)
		err = stream_position(stream, &ticket);
	if (err)
		return err;
	if (addr & (alignment - 1))
		return fail(-EINVAL,
			    "ptr " ADDR " is not aligned to %zu: that is not the alignment of the "
			    "allocation", addr, alignment);
	if (pool->debug)
		return deallocate_guarded(pool, stream, addr, size);
	return deallocate(pool, addr, size, ticket);
}

int accel_pool_deallocate(struct accel_pool *pool, struct accel_stream *stream, void *ptr,
			  size_t size, size_t alignment)
{
	uintptr_t addr = (uintptr_t)ptr;

	if (is_simple(pool, stream) && alignment_ok(alignment) && !(addr & (alignment - 1)) &&
	    pool->release_threshold == SIZE_MAX && free_quickly(pool, addr, size))
		return 0;
	return deallocate_carefully(pool, stream, ptr, size, alignment);
}
