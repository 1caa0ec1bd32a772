/* SPDX-License-Identifier: MIT */
/*
 * Chunks: had from upstream, given back, and the pool from beginning to end.
 */
#include "pool_private.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REFUSED_MS 100
#define DEFAULT_GRANULE 256
#define LEAST_GRANULE 16
#define SMALL_CARD ((uint64_t)1 << 20)
#define DEFAULT_GROWTH ((size_t)64 << 20)
#define GROWTHS_OF_CARD 32

/* What a region can count. */
static size_t largest_chunk(const struct accel_pool *pool)
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

bool pool_may_grow(struct accel_pool *pool, size_t bytes)
{
	size_t refused = POOL_LOAD(pool->refused_size);

	if (bytes > largest_chunk(pool))
		return false;
	if (pool->maximum_size && (bytes > pool->maximum_size ||
				   POOL_LOAD(pool->chunk_bytes) > pool->maximum_size - bytes))
		return false;
	return !refused || bytes < refused || now_ms() >= POOL_LOAD(pool->refused_until);
}

/* ---- One more ---- */

/* So that two threads that grow at once stay below the maximum. */
static bool charge(struct accel_pool *pool, size_t bytes)
{
	bool room;

	lock_take(&pool->lock);
	room = !pool->maximum_size || (bytes <= pool->maximum_size &&
				       pool->chunk_bytes <= pool->maximum_size - bytes);
	if (room)
		POOL_STORE(pool->chunk_bytes, pool->chunk_bytes + bytes);
	lock_give(&pool->lock);
	return room;
}

/* What was given back may serve where something was refused. */
static void discharge(struct accel_pool *pool, size_t bytes, bool given_back)
{
	lock_take(&pool->lock);
	POOL_STORE(pool->chunk_bytes, pool->chunk_bytes - bytes);
	if (given_back)
		POOL_STORE(pool->refused_size, 0);
	lock_give(&pool->lock);
}

/* Under all locks. Chunks are in no order; the regions of each follow each other. */
static bool publish(struct accel_pool *pool, struct chunk *chunk, struct region *region)
{
	uint32_t granules = (uint32_t)(chunk->size >> pool->granule_shift);

	*region = (struct region){
		.next = pool->regions,
		.chunk = chunk,
		.base = (uintptr_t)chunk->base,
		.size = granules,
		.edge = space_add_region(&pool->arenas[0].space, (uintptr_t)chunk->base, granules),
	};
	if (!region->edge)
		return false;
	pool->regions = region;
	chunk->next = pool->chunks;
	pool->chunks = chunk;
	pool->grown++;
	if (pool->chunk_bytes > pool->peak_chunk_bytes)
		POOL_STORE(pool->peak_chunk_bytes, pool->chunk_bytes);
	return true;
}

static int insert_chunk(struct accel_pool *pool, void *base, size_t size)
{
	struct chunk *chunk = malloc(sizeof(*chunk));
	struct region *region = malloc(sizeof(*region));
	bool done = false;

	if (chunk && region) {
		*chunk = (struct chunk){ .base = base, .size = size };
		pool_lock_all(pool);
		done = publish(pool, chunk, region);
		pool_unlock_all(pool);
	}
	if (done)
		return 0;
	free(chunk);
	free(region);
	return fail(-ENOMEM, "out of memory");
}

static int take_chunk(struct accel_pool *pool, size_t bytes)
{
	size_t granule = (size_t)1 << pool->granule_shift;
	void *base;
	int err;

	err = accel_resource_allocate(&pool->upstream, NULL, bytes, granule, &base);
	if (err)
		return err;
	if ((uintptr_t)base & (granule - 1))
		err = fail(-EINVAL,
			   "upstream gave %p where an address aligned to %zu was asked for", base,
			   granule);
	if (!err && pool->debug)
		err = debug_fill_free(base, bytes);
	if (!err)
		err = insert_chunk(pool, base, bytes);
	if (err)
		accel_resource_deallocate(&pool->upstream, NULL, base, bytes, granule);
	return err;
}

int pool_add_chunk(struct accel_pool *pool, size_t bytes)
{
	int err;

	if (!charge(pool, bytes))
		return fail(-ENOMEM, "maximum_size does not let the pool grow by %zu bytes", bytes);
	err = take_chunk(pool, bytes);
	if (err)
		discharge(pool, bytes, false);
	return err;
}

/* How much to ask for, where so much is needed. */
static size_t generous(struct accel_pool *pool, size_t bytes)
{
	size_t most = largest_chunk(pool), granule = (size_t)1 << pool->granule_shift;
	size_t wish = bytes > pool->growth_size ? bytes : pool->growth_size;

	if (pool->maximum_size && pool->maximum_size - POOL_LOAD(pool->chunk_bytes) < most)
		most = pool->maximum_size - POOL_LOAD(pool->chunk_bytes);
	most &= ~(granule - 1);
	return wish < most ? wish : most;
}

int pool_grow(struct accel_pool *pool, size_t bytes)
{
	size_t wish = generous(pool, bytes);
	int err = wish > bytes ? pool_add_chunk(pool, wish) : -ENOMEM;

	if (err == -ENOMEM || err == -EDQUOT)
		err = pool_add_chunk(pool, bytes);
	if (err != -ENOMEM && err != -EDQUOT)
		return err;
	lock_take(&pool->lock);
	POOL_STORE(pool->refused_until, now_ms() + REFUSED_MS);
	POOL_STORE(pool->refused_size, bytes);
	lock_give(&pool->lock);
	return err;
}

/* ---- Back ---- */

static uint64_t free_granules(const struct accel_pool *pool)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < pool->nr_arenas; i++)
		sum += pool->arenas[i].space.free_granules;
	return sum;
}

/* The largest chunk that is wholly free and can be done without, out of all lists; or NULL. */
static struct chunk *pick(struct accel_pool *pool, size_t keep)
{
	struct region **at, **found = NULL, *region;
	size_t left = pool_bytes(pool, free_granules(pool));
	struct chunk *chunk, **link;

	for (at = &pool->regions; (region = *at); at = &region->next)
		if (region->chunk->size == pool_bytes(pool, region->size) &&
		    space_whole(&pool->arenas[region->arena].space, region->edge) &&
		    left - region->chunk->size >= keep &&
		    (!found || region->size > (*found)->size))
			found = at;
	if (!found)
		return NULL;
	region = *found;
	chunk = region->chunk;
	*found = region->next;
	space_remove_region(&pool->arenas[region->arena].space, region->edge);
	free(region);
	for (link = &pool->chunks; *link != chunk; link = &(*link)->next)
		;
	*link = chunk->next;
	return chunk;
}

static void give_back(struct accel_pool *pool, struct chunk *chunk)
{
	/* It has come from there; what upstream may have against it, nobody can help. */
	accel_resource_deallocate(&pool->upstream, NULL, chunk->base, chunk->size,
				  (size_t)1 << pool->granule_shift);
	discharge(pool, chunk->size, true);
	free(chunk);
}

void pool_shrink(struct accel_pool *pool, size_t keep)
{
	struct chunk *chunk;

	do {
		pool_lock_all(pool);
		pool_fold(pool);
		pool_settle(pool, &pool->arenas[0], UINT32_MAX);
		chunk = pick(pool, keep);
		pool_unlock_all(pool);
		if (chunk)
			give_back(pool, chunk);
	} while (chunk);
}

int accel_pool_trim(struct accel_pool *pool, size_t keep)
{
	int err = pool_check(pool);

	if (!err)
		pool_shrink(pool, keep);
	return err;
}

void pool_drop_chunks(struct accel_pool *pool, bool give_them_back)
{
	struct region *region;
	struct chunk *chunk;

	while ((region = pool->regions)) {
		pool->regions = region->next;
		free(region);
	}
	while ((chunk = pool->chunks)) {
		pool->chunks = chunk->next;
		if (give_them_back)
			give_back(pool, chunk);
		else
			free(chunk);
	}
}

/* ---- From beginning to end ---- */

static const struct accel_pool_options defaults = ACCEL_POOL_OPTIONS_INIT;

static int check_options(const struct accel_pool_options *options)
{
	size_t granule = options->granule;

	if (options->size != sizeof(*options))
		return fail(-EINVAL, "options: size is %zu: it has to be %zu, that of the "
				     "structure", options->size, sizeof(*options));
	if (options->flags & ~(uint32_t)ACCEL_POOL_DEBUG)
		return fail(-EINVAL, "options: flags is %#x: only ACCEL_POOL_DEBUG (%#x) is known",
			    options->flags, ACCEL_POOL_DEBUG);
	if (granule && (granule < LEAST_GRANULE || granule > POOL_MAX_ALIGN ||
			granule & (granule - 1)))
		return fail(-EINVAL, "options: granule is %zu: it has to be a power of two from %d "
				     "to %zu", granule, LEAST_GRANULE, POOL_MAX_ALIGN);
	if (options->maximum_size && options->initial_size > options->maximum_size)
		return fail(-EINVAL, "options: initial_size is %zu, more than maximum_size, %zu",
			    options->initial_size, options->maximum_size);
	for (int i = 0; i < 4; i++)
		if (options->reserved[i])
			return fail(-EINVAL, "options: reserved is not 0");
	return 0;
}

static size_t round_up(size_t size, size_t granule)
{
	return size > SIZE_MAX - granule ? SIZE_MAX & ~(granule - 1)
					 : (size + granule - 1) & ~(granule - 1);
}

/* What depends on the card. */
static int configure(struct accel_pool *pool, const struct accel_pool_options *options)
{
	struct accel_device_info info = { .granule = DEFAULT_GRANULE };
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t granule;
	int err = pool->dev ? accel_device_info(pool->dev, &info) : 0;

	if (err)
		return err;
	granule = options->granule;
	if (!granule)
		granule = info.granule < DEFAULT_GRANULE && info.memory_size < SMALL_CARD ?
				  (size_t)info.granule : DEFAULT_GRANULE;
	pool->granule_shift = (unsigned int)__builtin_ctzll(granule);
	pool->growth_size = options->growth_size;
	if (!pool->growth_size)
		pool->growth_size = pool->dev ? (size_t)(info.memory_size / GROWTHS_OF_CARD)
					      : DEFAULT_GROWTH;
	pool->growth_size = round_up(pool->growth_size, granule);
	pool->maximum_size = options->maximum_size;
	pool->release_threshold = options->release_threshold;
	pool->max_arenas = POOL_ARENAS;
	if (processors < POOL_ARENAS / 2)
		pool->max_arenas = processors < 2 ? 1 : (unsigned int)processors * 2;
	return 0;
}

static void init(struct accel_pool *pool, struct accel_device *dev,
		 const struct accel_resource *upstream)
{
	memset(pool, 0, sizeof(*pool));
	pool->upstream = *upstream;
	pool->generation = fork_generation();
	pool->nr_arenas = 1;
	pool->tolerance = POOL_TOLERANCE;
	if (!dev)
		return;
	device_open_again(dev);
	pool->dev = dev;
}

static void pool_free(struct accel_pool *pool)
{
	for (unsigned int i = 0; i < POOL_ARENAS; i++)
		space_destroy(&pool->arenas[i].space);
	free(pool);
}

static int set_up(struct accel_pool *pool, const struct accel_pool_options *options)
{
	size_t initial;
	int err = configure(pool, options);

	if (err)
		return err;
	pool->debug = options->flags & ACCEL_POOL_DEBUG;
	pool->simple_in = pool->debug ? UINT_MAX : pool->generation;
	if (space_init(&pool->arenas[0].space, pool->granule_shift) ||
	    space_reserve(&pool->arenas[0].space, options->reserve_blocks))
		return fail(-ENOMEM, "out of memory");
	if (!options->initial_size)
		return 0;
	initial = round_up(options->initial_size, (size_t)1 << pool->granule_shift);
	if (initial > largest_chunk(pool))
		return fail(-EINVAL, "options: initial_size is %zu: the most for this granule is "
				     "%zu", options->initial_size, largest_chunk(pool));
	if (pool->maximum_size && initial > pool->maximum_size)
		return fail(-EINVAL, "options: initial_size is %zu in whole granules, more than "
				     "maximum_size, %zu", initial, pool->maximum_size);
	return pool_add_chunk(pool, initial);
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

int accel_pool_create(struct accel_device *dev, const struct accel_resource *upstream,
		      const struct accel_pool_options *options, struct accel_pool **pool)
{
	KEEP_ERRNO;
	struct accel_resource from;
	struct accel_pool *made;
	int err;

	if (!pool)
		return fail(-EINVAL, "pool is NULL: the handle has to go somewhere");
	*pool = NULL;
	if (!options)
		options = &defaults;
	err = dev ? device_check(dev) : 0;
	if (!err)
		err = check_upstream(dev, upstream, &from) ?: check_options(options);
	if (!err)
		err = fork_watch();
	if (err)
		return err;
	made = aligned_alloc(_Alignof(struct accel_pool), sizeof(*made));
	if (!made)
		return fail(-ENOMEM, "out of memory");
	init(made, dev, &from);
	err = set_up(made, options);
	if (err) {
		/* In a callback the open of the caller keeps it from being the last one. */
		if (dev)
			accel_device_close(dev);
		pool_free(made);
	} else {
		*pool = made;
	}
	return err;
}

/* Upstream may know nothing of streams. */
static void wait_for_work(struct accel_pool *pool)
{
	const struct space *space;
	uint32_t newest;

	for (unsigned int i = 0; i < pool->nr_arenas; i++) {
		space = &pool->arenas[i].space;
		/* A stream completes its work in order. */
		for (uint32_t stream = 1; stream < SPACE_STREAMS; stream++) {
			newest = space->waiting[stream] ? space->waiting[stream]->newest : 0;
			if (newest)
				ticket_wait(pool->dev, space->waits[newest].ticket, NEVER);
		}
	}
}

int accel_pool_destroy(struct accel_pool *pool)
{
	KEEP_ERRNO;
	uint64_t used = 0;
	bool ours, held;
	int err;

	if (!pool)
		return fail(-EINVAL, "pool is NULL: it has to be from accel_pool_create()");
	ours = pool->generation == fork_generation();
	for (unsigned int i = 0; ours && i < pool->nr_arenas; i++)
		used += pool->arenas[i].space.nr_used;
	if (used)
		return fail(-EBUSY, "%" PRIu64 " blocks of the pool are allocated: free them first",
			    used);
	held = ours && pool->dev && in_callbacks();
	err = held ? device_open_to_hold(pool->dev) : 0;
	if (err)
		return err;
	if (ours)
		wait_for_work(pool);
	pool_drop_chunks(pool, ours);
	if (held)
		device_drop(pool->dev);
	else if (pool->dev)
		accel_device_close(pool->dev);
	pool_free(pool);
	return 0;
}
