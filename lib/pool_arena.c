/* SPDX-License-Identifier: MIT */
/*
 * Arenas: who goes where, and how one becomes several and several one. See pool_private.h.
 */
#include "pool_private.h"

#include <stdlib.h>
#include <time.h>

/* An arena of less would soon be empty. */
#define LEAST_SHARE 1024 /* granules */
/* In arena_of: the thread has chosen. */
#define SETTLED 0x80

static unsigned int nr_threads; /* atomic */
static __thread unsigned int thread_number __attribute__((tls_model("initial-exec")));

static inline unsigned int my_slot(void)
{
	if (!thread_number)
		thread_number = __atomic_add_fetch(&nr_threads, 1, __ATOMIC_RELAXED);
	return thread_number % POOL_SLOTS;
}

/* ---- How many bytes there are, and were at most ---- */

static uint64_t now_ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc();
#else
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
#endif
}

static inline unsigned int nr_changes(const struct arena *arena)
{
	return POOL_LOAD(arena->changes_head) - POOL_LOAD(arena->changes_tail);
}

/* Read without the arena's lock, so the entry is there before it is counted. */
static void note(struct accel_pool *pool, struct arena *arena, int64_t bytes)
{
	unsigned int head = arena->changes_head;

	arena->changes[head % POOL_CHANGES] =
		(struct pool_change){ .when = now_ticks(), .bytes = bytes };
	__atomic_store_n(&arena->changes_head, head + 1, __ATOMIC_RELEASE);
	/* The order of locks is the other way round, but to try is no waiting. */
	if (head % POOL_CHANGES_SOON || !lock_try(&pool->lock))
		return;
	pool_settle_counts(pool);
	lock_give(&pool->lock);
}

/*
 * A sum that all processors change would cost more than all the rest. So arenas note their changes,
 * and somebody adds them up in the order of time. That takes no arena's lock, for who has it may
 * have been preempted; what is noted later is of a call that has not returned yet.
 */
void pool_count(struct accel_pool *pool, struct arena *arena, int64_t bytes)
{
	arena->bytes += (uint64_t)bytes;
	if (bytes > 0) {
		arena->total_bytes += (uint64_t)bytes;
		arena->total_count++;
	}
	if (POOL_LOAD(pool->nr_arenas) > 1) {
		note(pool, arena, bytes);
	} else {
		pool->settled_bytes = arena->bytes;
		if (arena->bytes > pool->peak_bytes)
			pool->peak_bytes = arena->bytes;
	}
}

static struct arena *earliest(struct accel_pool *pool, const unsigned int heads[POOL_ARENAS])
{
	struct arena *arena, *first = NULL;
	const struct pool_change *change;
	uint64_t when = UINT64_MAX;

	for (unsigned int i = 0; i < pool->nr_arenas; i++) {
		arena = &pool->arenas[i];
		if (arena->changes_tail == heads[i])
			continue;
		change = &arena->changes[arena->changes_tail % POOL_CHANGES];
		if (change->when <= when) {
			first = arena;
			when = change->when;
		}
	}
	return first;
}

void pool_settle_counts(struct accel_pool *pool)
{
	unsigned int heads[POOL_ARENAS], tail;
	struct arena *arena;

	for (unsigned int i = 0; i < pool->nr_arenas; i++)
		heads[i] = __atomic_load_n(&pool->arenas[i].changes_head, __ATOMIC_ACQUIRE);
	while ((arena = earliest(pool, heads))) {
		tail = arena->changes_tail;
		pool->settled_bytes += (uint64_t)arena->changes[tail % POOL_CHANGES].bytes;
		__atomic_store_n(&arena->changes_tail, tail + 1, __ATOMIC_RELEASE);
		if (pool->settled_bytes > pool->peak_bytes)
			pool->peak_bytes = pool->settled_bytes;
	}
}

/* ---- Locks ---- */

void pool_lock_all(struct accel_pool *pool)
{
	lock_take(&pool->lock);
	for (unsigned int i = 0; i < pool->max_arenas; i++)
		lock_take(&pool->arenas[i].lock);
}

void pool_unlock_all(struct accel_pool *pool)
{
	for (unsigned int i = pool->max_arenas; i--;)
		lock_give(&pool->arenas[i].lock);
	lock_give(&pool->lock);
}

/* ---- One becomes two ---- */

static struct region *region_of(struct accel_pool *pool, uintptr_t addr)
{
	struct region *region = pool->regions;

	while (addr - region->base >= pool_bytes(pool, region->size))
		region = region->next;
	return region;
}

static void insert_behind(struct region *region, struct region *made)
{
	made->next = region->next;
	made->chunk = region->chunk;
	region->next = made;
}

/* The last granules of a free block become a region of another arena. */
static bool hand_over(struct accel_pool *pool, struct region *region, uint32_t index,
		      uint32_t share, unsigned int to)
{
	struct space *space = &pool->arenas[region->arena].space;
	const struct block *block = &space->blocks[index];
	struct region *cut = malloc(sizeof(*cut)), *behind = malloc(sizeof(*behind));
	uintptr_t base = block->addr + pool_bytes(pool, block->size - share);
	uintptr_t end = base + pool_bytes(pool, share);
	uint32_t edge = 0, before = (uint32_t)((base - region->base) >> pool->granule_shift);

	if (cut && behind && !space_reserve(space, 1))
		edge = space_add_region(&pool->arenas[to].space, base, share);
	if (!edge) {
		free(cut);
		free(behind);
		return false;
	}
	*cut = (struct region){ .base = base, .size = share, .edge = edge, .arena = to };
	insert_behind(region, cut);
	edge = space_cut(space, region->edge, index, share);
	*behind = (struct region){ .base = end, .size = region->size - before - share,
				   .edge = edge, .arena = region->arena };
	if (edge)
		insert_behind(cut, behind);
	else
		free(behind);
	region->size = before;
	return true;
}

/* The arena with the longest free block. */
static struct arena *widest(struct accel_pool *pool, uint32_t *index)
{
	struct arena *arena, *found = NULL;
	uint32_t at, size = 0;

	for (unsigned int i = 0; i < pool->nr_arenas; i++) {
		arena = &pool->arenas[i];
		at = bins_largest(&arena->space, arena->space.free);
		if (at && arena->space.blocks[at].size > size) {
			found = arena;
			*index = at;
			size = arena->space.blocks[at].size;
		}
	}
	return found;
}

static bool prepare_arena(struct accel_pool *pool, unsigned int number)
{
	struct arena *arena = &pool->arenas[number];

	if (!arena->changes)
		arena->changes = malloc(POOL_CHANGES * sizeof(*arena->changes));
	if (!arena->changes)
		return false;
	return arena->space.free || !space_init(&arena->space, pool->granule_shift);
}

/*
 * Gives an arena memory out of the longest free block there is: half of it at most, for who has it
 * goes on there. Under all locks.
 */
bool pool_refill(struct accel_pool *pool, unsigned int number, uint32_t least)
{
	uint64_t share = (POOL_LOAD(pool->chunk_bytes) >> pool->granule_shift) / pool->max_arenas;
	uint32_t index = 0, half;
	struct arena *from;

	from = widest(pool, &index);
	if (!from || from == &pool->arenas[number])
		return false;
	half = from->space.blocks[index].size / 2;
	if (half < least)
		return false;
	return hand_over(pool, region_of(pool, from->space.blocks[index].addr), index,
			 share < half ? (uint32_t)share : half, number);
}

/* Under all locks. */
static bool add_arena(struct accel_pool *pool)
{
	unsigned int number = pool->nr_arenas;

	if (!prepare_arena(pool, 0) || !prepare_arena(pool, number) ||
	    !pool_refill(pool, number, LEAST_SHARE))
		return false;
	POOL_STORE(pool->nr_arenas, number + 1);
	return true;
}

/* One that nobody has chosen yet, a new one, or, if there are enough, one to share. */
static unsigned int choose(struct accel_pool *pool, unsigned int slot)
{
	for (unsigned int i = 0; i < pool->nr_arenas; i++)
		if (!pool->arenas[i].chosen)
			return i;
	if (!pool->debug && pool->nr_arenas < pool->max_arenas && add_arena(pool))
		return pool->nr_arenas - 1;
	return slot % pool->nr_arenas;
}

/* Once: who goes from one to another leaves blocks behind, and meets others when it frees them. */
static void look_for_room(struct accel_pool *pool, unsigned int slot)
{
	unsigned int number;

	/* Somebody is at it. */
	if (!lock_try(&pool->lock))
		return;
	for (unsigned int i = 0; i < pool->max_arenas; i++)
		lock_take(&pool->arenas[i].lock);
	POOL_STORE(pool->contended, 0);
	number = choose(pool, slot);
	pool->arenas[number].chosen = true;
	POOL_STORE(pool->arena_of[slot], (uint8_t)(number | SETTLED));
	pool_unlock_all(pool);
}

/* There is room for one more note when the lock is taken. */
static inline void check_room(struct accel_pool *pool, struct arena *arena)
{
	while (nr_changes(arena) == POOL_CHANGES) {
		lock_give(&arena->lock);
		lock_take(&pool->lock);
		pool_settle_counts(pool);
		lock_give(&pool->lock);
		lock_take(&arena->lock);
	}
}

/* With room for one more note. */
struct arena *pool_lock_arena(struct accel_pool *pool, unsigned int number)
{
	struct arena *arena = &pool->arenas[number];

	lock_take(&arena->lock);
	check_room(pool, arena);
	return arena;
}

static struct arena *lock_in_turn(struct accel_pool *pool, unsigned int slot)
{
	if (!(POOL_LOAD(pool->arena_of[slot]) & SETTLED) && pool->max_arenas > 1 &&
	    __atomic_add_fetch(&pool->contended, 1, __ATOMIC_RELAXED) >=
		    POOL_LOAD(pool->tolerance))
		look_for_room(pool, slot);
	return pool_lock_arena(pool, POOL_LOAD(pool->arena_of[slot]) & ~SETTLED);
}

unsigned int pool_my_arena(const struct accel_pool *pool)
{
	return POOL_LOAD(pool->arena_of[my_slot()]) & ~SETTLED;
}

struct arena *pool_lock(struct accel_pool *pool)
{
	unsigned int slot = my_slot();
	struct arena *arena = &pool->arenas[POOL_LOAD(pool->arena_of[slot]) & ~SETTLED];

	if (lock_try(&arena->lock))
		check_room(pool, arena);
	else
		arena = lock_in_turn(pool, slot);
	/* Those that have become part of the first one meanwhile have nothing. */
	while (!arena->space.free) {
		lock_give(&arena->lock);
		arena = pool_lock_arena(pool, 0);
	}
	return arena;
}

/* ---- Several become one ---- */

/* Moves all regions of the other arenas into the first one. */
static bool move_regions(struct accel_pool *pool)
{
	struct space *first = &pool->arenas[0].space;
	struct region *region;
	uint32_t count = POOL_TOLERANCE;

	for (unsigned int i = 1; i < pool->nr_arenas; i++) {
		count += space_nr_blocks(&pool->arenas[i].space);
		if (space_accept(first, &pool->arenas[i].space))
			return false;
	}
	if (space_reserve(first, count))
		return false;
	POOL_STORE(pool->tolerance, count);
	for (region = pool->regions; region; region = region->next)
		if (region->arena) {
			region->edge = space_move(first, &pool->arenas[region->arena].space,
						  region->edge);
			region->arena = 0;
		}
	return true;
}

static void join_regions(struct accel_pool *pool)
{
	struct space *first = &pool->arenas[0].space;
	struct region *region = pool->regions, *next;

	while (region && (next = region->next)) {
		if (next->chunk != region->chunk) {
			region = next;
			continue;
		}
		space_join(first, region->edge, next->edge);
		region->size += next->size;
		region->next = next->next;
		free(next);
	}
}

/* What is left of the others are their counts, and empty spaces to be used again. */
static void take_counts(struct accel_pool *pool)
{
	struct arena *first = &pool->arenas[0], *arena;

	for (unsigned int i = 1; i < pool->nr_arenas; i++) {
		arena = &pool->arenas[i];
		first->bytes += arena->bytes;
		first->total_bytes += arena->total_bytes;
		first->total_count += arena->total_count;
		first->failures += arena->failures;
		arena->bytes = arena->total_bytes = arena->total_count = arena->failures = 0;
		space_destroy(&arena->space);
	}
}

void pool_fold(struct accel_pool *pool)
{
	if (pool->nr_arenas == 1)
		return;
	pool_settle_counts(pool);
	if (!move_regions(pool))
		return;
	join_regions(pool);
	take_counts(pool);
	for (unsigned int i = 0; i < POOL_SLOTS; i++)
		POOL_STORE(pool->arena_of[i], 0);
	for (unsigned int i = 0; i < pool->nr_arenas; i++)
		pool->arenas[i].chosen = false;
	__atomic_add_fetch(&pool->folds, 1, __ATOMIC_RELEASE);
	POOL_STORE(pool->nr_arenas, 1);
}
