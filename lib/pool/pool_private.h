/* SPDX-License-Identifier: MIT */
/*
 * What the files of pools share.
 *
 * A pool is as many *arenas* as threads get in each other's way, at most a few for each processor:
 * one at first. Each is a space of its own under a lock of its own, and each thread has one that it
 * goes to. So a program of one thread has the best fit in all of the memory. Where an arena has
 * nothing that serves, all of them become one again before the pool grows or gives up: no
 * allocation fails because memory was divided.
 */
#ifndef LIBACCEL_POOL_PRIVATE_H
#define LIBACCEL_POOL_PRIVATE_H

#include "core/lock.h"
#include "pool_bins.h"
#include "core/private.h"

#pragma GCC visibility push(default)
#include <accel/pool.h>
#pragma GCC visibility pop

_Static_assert(SPACE_STREAMS == 1 << TICKET_BITS, "every stream of a card can be waited for");

#define POOL_ARENAS 16
#define POOL_SLOTS 64
#define POOL_SETTLED 0x80 /* in accel_pool.arena_of: the thread has chosen */
#define POOL_MAX_ALIGN ((size_t)2 << 20)
#define POOL_TOLERANCE 32
/* Parts of the memory that are told apart by where their blocks are. */
#define POOL_PARTS 4096

struct arena {
	/*
	 * Of all of this. Order: the pool's lock, then those of arenas from the first to the last;
	 * nothing else is taken inside, and nothing waits.
	 */
	struct lock lock;
	bool chosen; /* by a thread that met others elsewhere */
	/*
	 * Atomic, while there are several arenas: bytes that may be allocated here before there can
	 * be a new peak. Others take from it without the lock, and never below 0.
	 */
	int64_t credit;
	uint64_t bytes, failures, total_bytes, total_count; /* as asked for */
	struct space space;
} __attribute__((aligned(128)));

struct chunk {
	struct chunk *next;
	void *base;
	size_t size;
};

/* Part of a chunk that belongs to one arena. In order of chunk and address. */
struct region {
	struct region *next;
	struct chunk *chunk;
	uintptr_t base;
	uint32_t size; /* granules */
	uint32_t edge; /* in the arena's space */
	unsigned int arena;
};

struct accel_pool {
	struct accel_device *dev; /* counted as open; or NULL */
	struct accel_resource upstream;
	unsigned int generation; /* of the process */
	unsigned int simple_in; /* the generation in which calls can be simple, if ever */
	bool debug;
	unsigned int granule_shift;
	unsigned int max_arenas;
	size_t growth_size, maximum_size, release_threshold;

	/* Atomic; change under the locks of all arenas. */
	unsigned int nr_arenas;
	unsigned int folds; /* how often several have become one */
	/* Atomic, hints: */
	uint8_t arena_of[POOL_SLOTS]; /* where a thread goes, by its number */
	/*
	 * Which arena has a part of the memory, by the address: so a free need not ask all of them.
	 * Wrong where a border lies inside a part, or two parts share an entry.
	 */
	unsigned int part_shift;
	uint8_t part_of[POOL_PARTS];
	/*
	 * How often threads found their arena taken, and how often they may before the pool looks
	 * for a better one. To make one of several takes long where there are many blocks: then it
	 * has to be worth it before they are several again.
	 */
	unsigned int contended, tolerance;
	unsigned int empty; /* how often an arena had nothing, and there were others */

	/* Of what follows; order: before those of arenas. */
	struct lock lock;
	struct chunk *chunks;
	struct region *regions; /* change under all locks */
	uint64_t grown, taken_over;
	/* Atomic. Of all arenas; of the first one, under its lock, while it is alone. */
	uint64_t peak_bytes;
	/* Atomic, change under the lock: */
	size_t chunk_bytes, peak_chunk_bytes; /* also what is being asked for */
	size_t refused_size; /* upstream had not so much; 0: it was not asked, or has got some back */
	uint64_t refused_until; /* milliseconds */
	uint64_t corruptions;

	struct arena arenas[POOL_ARENAS];
};

#define POOL_LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define POOL_STORE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)

static inline size_t pool_bytes(const struct accel_pool *pool, uint64_t granules)
{
	return (size_t)granules << pool->granule_shift;
}

/* The bytes of a used block that somebody asked for. */
static inline size_t block_bytes(const struct accel_pool *pool, const struct block *block)
{
	return pool_bytes(pool, block->size) - block->slack;
}

/* ---- pool.c ---- */

/* 0 if calls on the pool make sense. */
int pool_check(const struct accel_pool *pool);
/* Lets blocks go that wait for points that have passed; under the arena's lock. */
void pool_settle(struct accel_pool *pool, struct arena *arena, uint32_t count);

/* ---- pool_arena.c ---- */

/* Number of this thread from 1 on; 0: it has none yet. */
extern __thread unsigned int pool_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));
unsigned int pool_new_thread(void);
/* Another one than the one that was found taken, or has become part of the first. */
struct arena *pool_lock_busy(struct accel_pool *pool);
struct arena *pool_lock_gone(struct accel_pool *pool, struct arena *arena);

static inline unsigned int pool_slot(void)
{
	return (pool_thread ? pool_thread : pool_new_thread()) % POOL_SLOTS;
}

/* The arena of this thread, locked. */
static inline struct arena *pool_lock(struct accel_pool *pool)
{
	struct arena *arena = &pool->arenas[0];

	if (POOL_LOAD(pool->nr_arenas) > 1)
		arena += POOL_LOAD(pool->arena_of[pool_slot()]) & ~POOL_SETTLED;
	if (!lock_try(&arena->lock))
		arena = pool_lock_busy(pool);
	return arena->space.free ? arena : pool_lock_gone(pool, arena);
}

/* That which seems to have the block at an address. */
static inline struct arena *pool_lock_of(struct accel_pool *pool, uintptr_t addr)
{
	uint8_t part;
	struct arena *arena;

	if (POOL_LOAD(pool->nr_arenas) == 1)
		return pool_lock(pool);
	part = POOL_LOAD(pool->part_of[(addr >> POOL_LOAD(pool->part_shift)) % POOL_PARTS]);
	arena = &pool->arenas[part];
	lock_take(&arena->lock);
	return arena->space.free ? arena : pool_lock_gone(pool, arena);
}

/* The pool and all arenas. */
void pool_lock_all(struct accel_pool *pool);
void pool_unlock_all(struct accel_pool *pool);
/* The one that this thread goes to. */
unsigned int pool_my_arena(const struct accel_pool *pool);
/* Gives an arena some of the longest free block, if that is at least twice as long. */
bool pool_refill(struct accel_pool *pool, unsigned int number, uint32_t least);
/* Makes all arenas one, if there is memory for that; under all locks. */
void pool_fold(struct accel_pool *pool);
/* Of an arena whose credit is below 0, which nobody else changes. */
void pool_find_credit(struct accel_pool *pool, struct arena *arena);

/* So many bytes are allocated, or free again; under the arena's lock. */
static inline void pool_count_more(struct accel_pool *pool, struct arena *arena, uint64_t bytes)
{
	arena->bytes += bytes;
	arena->total_bytes += bytes;
	arena->total_count++;
	if (POOL_LOAD(pool->nr_arenas) > 1) {
		if (__atomic_sub_fetch(&arena->credit, (int64_t)bytes, __ATOMIC_RELAXED) < 0)
			pool_find_credit(pool, arena);
	} else if (arena->bytes > pool->peak_bytes) {
		pool->peak_bytes = arena->bytes;
	}
}

static inline void pool_count_less(struct accel_pool *pool, struct arena *arena, uint64_t bytes)
{
	arena->bytes -= bytes;
	if (POOL_LOAD(pool->nr_arenas) > 1)
		__atomic_add_fetch(&arena->credit, (int64_t)bytes, __ATOMIC_RELAXED);
}

/* ---- pool_grow.c ---- */

/* Whether to ask for so many bytes more makes sense. */
bool pool_may_grow(struct accel_pool *pool, size_t bytes);
/* Takes a chunk with at least so many bytes. */
int pool_grow(struct accel_pool *pool, size_t bytes);
/* Takes one with so many, no more and no less. */
int pool_add_chunk(struct accel_pool *pool, size_t bytes);
/* Gives wholly free chunks back while so many bytes stay free. */
void pool_shrink(struct accel_pool *pool, size_t keep);
/* All of them, without looking. */
void pool_drop_chunks(struct accel_pool *pool, bool give_back);

/* ---- pool_debug.c ---- */

/* Bytes behind a block that nobody may write. */
size_t debug_guard(const struct accel_pool *pool);
/* What is free has a pattern; a new chunk gets it. */
int debug_fill_free(void *ptr, size_t size);
/* A block that is being given out; and one that was given back. -EFAULT: somebody wrote there. */
int debug_give(struct accel_pool *pool, void *ptr, size_t size, size_t room);
int debug_take_back(struct accel_pool *pool, struct accel_stream *stream, void *ptr, size_t size,
		    size_t room);
/* Looks at everything; under all locks. */
int debug_check(struct accel_pool *pool);

#endif
