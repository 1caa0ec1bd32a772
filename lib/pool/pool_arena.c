/* SPDX-License-Identifier: MIT */
/*
 * Arenas: who goes where, and how one becomes several and several one. See pool_private.h.
 */
#include "pool_private.h"

#include <stdlib.h>

/* An arena of less would soon be empty. */
#define LEAST_SHARE 1024 /* granules */
/* An arena that has so many times the credit that another one needs gives half of it. */
#define PLENTY 64

static unsigned int nr_threads; /* atomic */
__thread unsigned int pool_thread __attribute__((tls_model("initial-exec")));

unsigned int pool_new_thread(void)
{
	return pool_thread = __atomic_add_fetch(&nr_threads, 1, __ATOMIC_RELAXED);
}

/* ---- How many bytes there are, and were at most ---- */

/*
 * A sum that all processors change would cost more than all the rest. So what may be allocated
 * before there is a new peak is divided among the arenas, as their credit: while there are several,
 *
 *	the peak = the bytes of all arenas + the credit of all arenas
 *
 * An allocation takes from its arena's credit, and a free adds to it. Where it does not do, other
 * arenas have to help out, and only if all of them have none is there a new peak. None of that
 * takes a lock, for who has one may have been preempted. So a free by another thread may be
 * overlooked while an allocation goes from arena to arena: the peak is never too low, and too high
 * by what was freed during such a call at most.
 */

/* So much of what an arena has; half of it if that is plenty, so that it is not asked each time. */
static int64_t take_credit(struct arena *arena, int64_t need)
{
	int64_t has = POOL_LOAD(arena->credit), part;

	while (has > 0) {
		part = has < need ? has : need;
		if (has / PLENTY > need)
			part = has / 2;
		if (__atomic_compare_exchange_n(&arena->credit, &has, has - part, true,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return part;
	}
	return 0;
}

void pool_find_credit(struct accel_pool *pool, struct arena *arena)
{
	int64_t need = -POOL_LOAD(arena->credit), found = 0;
	unsigned int number = (unsigned int)(arena - pool->arenas);

	for (unsigned int i = 1; i < pool->nr_arenas && found < need; i++)
		found += take_credit(&pool->arenas[(number + i) % pool->nr_arenas], need - found);
	if (found < need) {
		__atomic_add_fetch(&pool->peak_bytes, (uint64_t)(need - found), __ATOMIC_RELAXED);
		found = need;
	}
	__atomic_add_fetch(&arena->credit, found, __ATOMIC_RELAXED);
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

/* ---- Which of several has a block ---- */

static void mark_parts(struct accel_pool *pool, uintptr_t base, uintptr_t end, unsigned int to)
{
	uintptr_t first = base >> pool->part_shift, last = (end - 1) >> pool->part_shift;

	for (uintptr_t i = 0; i <= last - first && i < POOL_PARTS; i++)
		POOL_STORE(pool->part_of[(first + i) % POOL_PARTS], (uint8_t)to);
}

/* The first arena has it all. A chunk has fewer parts than there are entries, wherever it is. */
static void forget_parts(struct accel_pool *pool)
{
	unsigned int shift = pool->granule_shift;

	while (POOL_LOAD(pool->chunk_bytes) >> shift >= POOL_PARTS)
		shift++;
	POOL_STORE(pool->part_shift, shift);
	for (unsigned int i = 0; i < POOL_PARTS; i++)
		POOL_STORE(pool->part_of[i], 0);
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
	mark_parts(pool, base, end, to);
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

/* Somewhat less, where that makes the border one between parts too. */
static uint32_t up_to_part(const struct accel_pool *pool, const struct block *block,
			   uint32_t share, uint32_t least)
{
	uintptr_t base = block->addr + pool_bytes(pool, block->size - share);
	uintptr_t beyond = (-base & (((uintptr_t)1 << pool->part_shift) - 1)) >>
			   pool->granule_shift;

	return share >= least + beyond ? share - (uint32_t)beyond : share;
}

/*
 * Gives an arena memory out of the longest free block there is: half of it at most, for who has it
 * goes on there. Under all locks.
 */
bool pool_refill(struct accel_pool *pool, unsigned int number, uint32_t least)
{
	uint64_t share = (POOL_LOAD(pool->chunk_bytes) >> pool->granule_shift) / pool->max_arenas;
	const struct block *block;
	uint32_t index = 0, half;
	struct arena *from;

	from = widest(pool, &index);
	if (!from || from == &pool->arenas[number])
		return false;
	block = &from->space.blocks[index];
	half = block->size / 2;
	if (half < least)
		return false;
	if (share < half)
		half = (uint32_t)share;
	return hand_over(pool, region_of(pool, block->addr), index,
			 up_to_part(pool, block, half, least), number);
}

/* Under all locks. */
static bool add_arena(struct accel_pool *pool)
{
	unsigned int number = pool->nr_arenas;
	struct arena *first = &pool->arenas[0], *arena = &pool->arenas[number];

	if (!arena->space.free && space_init(&arena->space, pool->granule_shift))
		return false;
	if (number == 1)
		forget_parts(pool);
	if (!pool_refill(pool, number, LEAST_SHARE))
		return false;
	if (number == 1)
		POOL_STORE(first->credit, (int64_t)(pool->peak_bytes - first->bytes));
	POOL_STORE(arena->credit, 0);
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
	POOL_STORE(pool->arena_of[slot], (uint8_t)(number | POOL_SETTLED));
	pool_unlock_all(pool);
}

struct arena *pool_lock_busy(struct accel_pool *pool)
{
	unsigned int slot = pool_slot();
	struct arena *arena;

	if (!(POOL_LOAD(pool->arena_of[slot]) & POOL_SETTLED) && pool->max_arenas > 1 &&
	    __atomic_add_fetch(&pool->contended, 1, __ATOMIC_RELAXED) >=
		    POOL_LOAD(pool->tolerance))
		look_for_room(pool, slot);
	arena = &pool->arenas[POOL_LOAD(pool->arena_of[slot]) & ~POOL_SETTLED];
	lock_take(&arena->lock);
	return arena;
}

unsigned int pool_my_arena(const struct accel_pool *pool)
{
	return POOL_LOAD(pool->arena_of[pool_slot()]) & ~POOL_SETTLED;
}

/* It has nothing more. */
struct arena *pool_lock_gone(struct accel_pool *pool, struct arena *arena)
{
	do {
		lock_give(&arena->lock);
		arena = &pool->arenas[0];
		lock_take(&arena->lock);
	} while (!arena->space.free);
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
