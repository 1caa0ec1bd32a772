/* SPDX-License-Identifier: MIT */
/*
 * Blocks of a space: taken, split, released, merged. The time of an operation does not depend on the
 * number of blocks, except when the tables double.
 */
#include "core/stream.h"
#include "pool_quick.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_BLOCKS 64
#define FIRST_HASH_BITS 6
#define MAX_BLOCKS (UINT32_C(1) << 30)
#define CACHE_LINE 64
/*
 * Blocks that an aligned request looks at before it takes one that is large enough for certain. Where
 * there is none it looks at all that may serve, so that it fails only if none does.
 */
#define ALIGN_TRIES 64

/* ---- Bins ---- */

static struct bins *bins_create(void)
{
	void *map = mmap(NULL, sizeof(struct bins), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

static void bins_free(struct bins *bins)
{
	if (bins)
		munmap(bins, sizeof(*bins));
}

void bins_add_ordered(struct space *space, struct bins *bins, uint32_t index)
{
	struct block *blocks = space->blocks;
	uint32_t bin = bin_of(blocks[index].size), next = bins->first[bin], before = 0;

	while (next && blocks[next].size < blocks[index].size) {
		before = next;
		next = blocks[next].bin_next;
	}
	blocks[index].bin_prev = before;
	blocks[index].bin_next = next;
	blocks[next].bin_prev = index;
	if (before)
		blocks[before].bin_next = index;
	else
		bins->first[bin] = index;
	bins_mark(bins, bin);
}

/* The next block in the order of sizes; 0: none. */
static uint32_t bins_after(const struct space *space, struct bins *bins, uint32_t index)
{
	const struct block *block = &space->blocks[index];
	uint32_t bin = bin_of(block->size) + 1;

	if (block->bin_next)
		return block->bin_next;
	return bin < BINS ? bins->first[bins_next(bins, bin)] : 0;
}

uint32_t space_largest(const struct space *space)
{
	const struct bins *bins = space->free;
	uint32_t word, index;

	for (uint32_t i = BINS_MID; i--;) {
		if (!bins->mid[i])
			continue;
		word = i * 64 + 63 - (uint32_t)__builtin_clzll(bins->mid[i]);
		index = bins->first[word * 64 + 63 - (uint32_t)__builtin_clzll(bins->low[word])];
		while (space->blocks[index].bin_next)
			index = space->blocks[index].bin_next;
		return space->blocks[index].size;
	}
	return 0;
}

/* ---- The table of blocks ---- */

static int blocks_resize(struct space *space, uint32_t nr)
{
	size_t old = (space->nr_blocks + 63) / 64, words = ((size_t)nr + 63) / 64;
	struct block *blocks, *before = space->blocks;
	struct wait *waits;
	uint64_t *bits;

	waits = realloc(space->waits, nr * sizeof(*waits));
	if (!waits)
		return -ENOMEM;
	space->waits = waits;
	bits = realloc(space->is_free, words * sizeof(*bits));
	if (!bits)
		return -ENOMEM;
	space->is_free = bits;
	blocks = aligned_alloc(CACHE_LINE, nr * sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	if (before)
		memcpy(blocks, before, space->nr_blocks * sizeof(*blocks));
	/* A child that is forked meanwhile reads the table, so it is never one that was freed. */
	space->blocks = blocks;
	free(before);
	memset(bits + old, 0, (words - old) * sizeof(*bits));
	space->nr_blocks = nr;
	return 0;
}

int space_grow(struct space *space, uint32_t count)
{
	uint32_t old = space->nr_blocks, nr = old > count ? old * 2 : old + count;

	nr += nr & 1; /* whole cache lines */
	if (count > MAX_BLOCKS || nr > MAX_BLOCKS || blocks_resize(space, nr))
		return -ENOMEM;
	while (nr-- > old)
		block_drop(space, nr);
	return 0;
}

/* ---- Used blocks by address ---- */

/* Without memory for it the chains get longer, and searches slower. */
void space_grow_hash(struct space *space)
{
	uint32_t nr = UINT32_C(1) << (64 - space->hash_shift), index, next;
	uint32_t *old = space->hash, *hash = calloc(nr * UINT64_C(2), sizeof(*hash));

	if (!hash)
		return;
	space->hash = hash;
	space->hash_shift--;
	for (uint32_t i = 0; i < nr; i++)
		for (index = old[i]; index; index = next) {
			next = space->blocks[index].hash_next;
			hash_link(space, index);
		}
	free(old);
}

uint32_t space_around(const struct space *space, uintptr_t addr)
{
	const struct block *block;

	for (uint32_t i = 1; i < space->nr_blocks; i++) {
		block = &space->blocks[i];
		if (block_is_used(block) && addr >= block->addr &&
		    (addr - block->addr) >> space->granule_shift < block->size)
			return i;
	}
	return 0;
}

/* ---- Blocks that wait ---- */

struct waiting *waiting_create(void)
{
	struct waiting *waiting = calloc(1, sizeof(*waiting));

	if (!waiting)
		return NULL;
	waiting->bins = bins_create();
	if (waiting->bins)
		return waiting;
	free(waiting);
	return NULL;
}

void waiting_free(struct waiting *waiting)
{
	if (!waiting)
		return;
	bins_free(waiting->bins);
	free(waiting);
}

/*
 * Behind another one, or as the newest. Two threads may free in another order than that in which they
 * got their tickets: then the later one waits for the higher ticket too.
 */
static void wait_add(struct space *space, uint32_t index, uint32_t older, uint64_t ticket)
{
	uint32_t stream = ticket_stream(ticket);
	struct waiting *waiting = space->waiting[stream];
	struct wait *wait = &space->waits[index];

	if (!older && waiting->newest && space->waits[waiting->newest].ticket > ticket)
		ticket = space->waits[waiting->newest].ticket;
	space->blocks[index].state = BLOCK_WAITING;
	space->blocks[index].stream = (uint8_t)stream;
	wait->ticket = ticket;
	wait->older = older ? older : waiting->newest;
	wait->newer = older ? space->waits[older].newer : 0;
	if (wait->older)
		space->waits[wait->older].newer = index;
	else
		waiting->oldest = index;
	if (wait->newer)
		space->waits[wait->newer].older = index;
	else
		waiting->newest = index;
	space->nr_waiting++;
	space->waiting_granules += space->blocks[index].size;
	space->busy_streams[stream / 64] |= UINT64_C(1) << stream % 64;
	bins_add(space, waiting->bins, index);
}

/* Of a block that is in no bin. */
static void wait_unlink(struct space *space, uint32_t index)
{
	const struct wait *wait = &space->waits[index];
	uint32_t stream = space->blocks[index].stream;
	struct waiting *waiting = space->waiting[stream];

	if (wait->older)
		space->waits[wait->older].newer = wait->newer;
	else
		waiting->oldest = wait->newer;
	if (wait->newer)
		space->waits[wait->newer].older = wait->older;
	else
		waiting->newest = wait->older;
	space->nr_waiting--;
	space->waiting_granules -= space->blocks[index].size;
	if (!waiting->oldest)
		space->busy_streams[stream / 64] &= ~(UINT64_C(1) << stream % 64);
}

static void wait_remove(struct space *space, uint32_t index)
{
	bins_remove(space, space->waiting[space->blocks[index].stream]->bins, index);
	wait_unlink(space, index);
}

/* ---- Neighbours ---- */

/* As block_make_free(), for one stream until that has come to a point. */
static void block_make_waiting(struct space *space, uint32_t index, uint64_t ticket)
{
	uint32_t prev = space->blocks[index].prev, next = space->blocks[index].next;
	uint32_t stream = ticket_stream(ticket);

	if (space->blocks[next].state == BLOCK_WAITING && space->blocks[next].stream == stream) {
		wait_remove(space, next);
		block_absorb(space, index, next);
	}
	if (space->blocks[prev].state == BLOCK_WAITING && space->blocks[prev].stream == stream) {
		wait_remove(space, prev);
		block_absorb(space, prev, index);
		index = prev;
	}
	wait_add(space, index, 0, ticket);
}

/* ---- Taking ---- */

static inline uint64_t granules_to(const struct space *space, uint32_t index, size_t align)
{
	return (-space->blocks[index].addr & (align - 1)) >> space->granule_shift;
}

static uint32_t bins_find_aligned(const struct space *space, struct bins *bins, uint32_t size,
				  size_t align)
{
	uint64_t certain = (uint64_t)size + (align >> space->granule_shift) - 1;
	uint32_t index = bins_find(space, bins, size), tries = 0, found;

	for (; index; index = bins_after(space, bins, index)) {
		if (space->blocks[index].size - size >= granules_to(space, index, align))
			return index;
		if (++tries != ALIGN_TRIES || certain > UINT32_MAX)
			continue;
		found = bins_find(space, bins, (uint32_t)certain);
		if (found)
			return found;
	}
	return 0;
}

/* Cuts a block that is free or waits; what is behind so many granules stays what the whole was. */
static uint32_t cut(struct space *space, struct bins *bins, uint32_t index, uint32_t size)
{
	uint32_t rest = block_split(space, index, size);

	if (bins == space->free) {
		block_set_free(space, rest);
		bins_add(space, bins, rest);
	} else {
		space->waiting_granules -= space->blocks[rest].size;
		wait_add(space, rest, index, space->waits[index].ticket);
	}
	return rest;
}

/* The granules before and behind those that are wanted stay what they are. */
static uint32_t take(struct space *space, struct bins *bins, uint32_t index, size_t align,
		     uint32_t size)
{
	uint32_t pad = (uint32_t)granules_to(space, index, align), rest;

	bins_remove(space, bins, index);
	if (pad) {
		rest = cut(space, bins, index, pad);
		bins_add(space, bins, index);
		bins_remove(space, bins, rest);
		index = rest;
	}
	if (space->blocks[index].size > size)
		cut(space, bins, index, size);
	if (bins == space->free)
		block_clear_free(space, index);
	else
		wait_unlink(space, index);
	return block_use(space, index, size);
}

static inline uint32_t find(const struct space *space, struct bins *bins, uint32_t size,
			    size_t align)
{
	return align >> space->granule_shift > 1 ? bins_find_aligned(space, bins, size, align)
						 : bins_find(space, bins, size);
}

uint32_t space_take_any(struct space *space, uint32_t size, size_t align, uint32_t stream)
{
	uint32_t index = find(space, space->free, size, align), own = 0;

	if (space->nr_waiting && space->waiting[stream])
		own = find(space, space->waiting[stream]->bins, size, align);
	if (own && (!index || space->blocks[own].size <= space->blocks[index].size))
		return take(space, space->waiting[stream]->bins, own, align, size);
	return index ? take(space, space->free, index, align, size) : 0;
}

/* ---- Releasing ---- */

void space_release_after(struct space *space, uint32_t *at, uint64_t ticket)
{
	uint32_t index = hash_remove(space, at);

	space->free_granules += space->blocks[index].size;
	block_make_waiting(space, index, ticket);
}

static bool settle_stream(struct space *space, uint32_t stream, uint32_t count,
			  bool (*passed)(void *data, uint64_t ticket), void *data)
{
	bool whole = false;
	uint32_t index;

	while (count-- && (index = space->waiting[stream]->oldest)) {
		if (!passed(data, space->waits[index].ticket))
			break;
		wait_remove(space, index);
		index = block_make_free(space, index);
		whole |= space->blocks[index].prev == space->blocks[index].next;
	}
	return whole;
}

bool space_settle(struct space *space, uint32_t count, bool (*passed)(void *data, uint64_t ticket),
		  void *data)
{
	bool whole = false;
	uint64_t streams;

	for (uint32_t i = 0; i < SPACE_STREAMS / 64; i++)
		for (streams = space->busy_streams[i]; streams; streams &= streams - 1)
			whole |= settle_stream(space, i * 64 + lowest_bit(streams), count, passed,
					       data);
	return whole;
}

bool space_points(const struct space *space, uint64_t points[SPACE_STREAMS], uint32_t but)
{
	const struct waiting *waiting;
	bool any = false;

	for (uint32_t stream = 0; stream < SPACE_STREAMS; stream++) {
		waiting = space->waiting[stream];
		points[stream] = 0;
		if (!waiting || !waiting->newest || stream == but)
			continue;
		points[stream] = ticket_point(space->waits[waiting->newest].ticket);
		any = true;
	}
	return any;
}

void space_retag(struct space *space, const uint64_t points[SPACE_STREAMS], uint64_t ticket)
{
	uint32_t index, own = ticket_stream(ticket);
	const struct waiting *waiting;

	for (uint32_t stream = 0; stream < SPACE_STREAMS; stream++) {
		waiting = space->waiting[stream];
		while (waiting && stream != own && (index = waiting->oldest) &&
		       ticket_point(space->waits[index].ticket) <= points[stream]) {
			wait_remove(space, index);
			block_make_waiting(space, index, ticket);
		}
	}
}

/* ---- Regions ---- */

/* A region of one block, in no list; the index of that. */
static uint32_t region_create(struct space *space, uintptr_t base, uint32_t size, uintptr_t of_edge)
{
	uint32_t edge, index;

	if (space_reserve(space, 2))
		return 0;
	edge = block_new(space);
	index = block_new(space);
	space->blocks[edge] = (struct block){ .addr = of_edge, .prev = edge, .next = edge,
					      .state = BLOCK_EDGE };
	space->blocks[index] = (struct block){ .addr = base, .size = size };
	block_link(space, index, edge);
	return index;
}

static void region_drop(struct space *space, uint32_t index)
{
	block_drop(space, space->blocks[index].prev);
	block_drop(space, index);
}

uint32_t space_add_region(struct space *space, uintptr_t base, uint32_t size)
{
	uint32_t index = region_create(space, base, size, base);

	if (!index)
		return 0;
	block_make_free(space, index);
	space->free_granules += size;
	return space->blocks[index].prev;
}

uint32_t space_add_alone(struct space *space, uintptr_t base, uint32_t size, void *owner)
{
	uint32_t index = region_create(space, base, size, (uintptr_t)owner);

	if (!index)
		return 0;
	space->blocks[index].state = BLOCK_ALONE;
	hash_add(space, index);
	return index;
}

void *space_remove_alone(struct space *space, uint32_t *at)
{
	uint32_t index = hash_remove(space, at), edge = space->blocks[index].prev;

	region_drop(space, index);
	return (void *)space->blocks[edge].addr;
}

bool space_region_free(const struct space *space, uint32_t edge)
{
	uint32_t index = space->blocks[edge].next;

	return block_is_free(space, index) && space->blocks[index].next == edge;
}

void space_remove_region(struct space *space, uint32_t edge)
{
	uint32_t index = space->blocks[edge].next;

	bins_remove(space, space->free, index);
	block_clear_free(space, index);
	space->free_granules -= space->blocks[index].size;
	region_drop(space, index);
}

int space_init(struct space *space, unsigned int granule_shift)
{
	memset(space, 0, sizeof(*space));
	space->granule_shift = granule_shift;
	space->hash_shift = 64 - FIRST_HASH_BITS;
	space->hash = calloc((size_t)1 << FIRST_HASH_BITS, sizeof(*space->hash));
	space->free = bins_create();
	if (!space->hash || !space->free || space_grow(space, FIRST_BLOCKS)) {
		space_destroy(space);
		return -ENOMEM;
	}
	/* The first one of the chain is block 0. */
	memset(&space->blocks[block_new(space)], 0, sizeof(*space->blocks));
	return 0;
}

void space_destroy(struct space *space)
{
	for (int i = 0; i < SPACE_STREAMS; i++)
		waiting_free(space->waiting[i]);
	bins_free(space->free);
	free(space->hash);
	free(space->blocks);
	free(space->waits);
	free(space->is_free);
	memset(space, 0, sizeof(*space));
}

size_t space_memory(const struct space *space)
{
	size_t bytes = space->nr_blocks * (sizeof(*space->blocks) + sizeof(*space->waits)) +
		       (space->nr_blocks + 63) / 64 * sizeof(*space->is_free) +
		       (sizeof(*space->hash) << (64 - space->hash_shift)) + sizeof(struct bins);

	for (int i = 0; i < SPACE_STREAMS; i++)
		if (space->waiting[i])
			bytes += sizeof(*space->waiting[i]) + sizeof(struct bins);
	return bytes;
}

/* ---- Check ---- */

struct tally {
	uint32_t used, waiting, seen;
	uint64_t free_granules, waiting_granules;
};

static bool in_bin(const struct space *space, struct bins *bins, uint32_t index)
{
	uint32_t at = bins_find(space, bins, space->blocks[index].size);

	while (at && at != index && space->blocks[at].size == space->blocks[index].size)
		at = space->blocks[at].bin_next;
	return at == index;
}

static const char *check_block(const struct space *space, uint32_t index, struct tally *tally)
{
	const struct block *block = &space->blocks[index], *next = &space->blocks[block->next];
	uintptr_t end = block->addr + ((uintptr_t)block->size << space->granule_shift);

	tally->seen++;
	if (next->prev != index)
		return "neighbours are not linked to each other";
	if (!block->size)
		return "a block is empty";
	if (block_is_free(space, index) != (block->state == BLOCK_FREE))
		return "the bit of a block is wrong";
	if (next->state != BLOCK_EDGE && next->addr != end)
		return "a block does not begin where the one before it ends";
	switch (block->state) {
	case BLOCK_USED:
	case BLOCK_ALONE:
		tally->used++;
		return *space_at(space, block->addr) == index ? NULL
							      : "a used block cannot be found";
	case BLOCK_WAITING:
		tally->waiting++;
		tally->free_granules += block->size;
		tally->waiting_granules += block->size;
		return in_bin(space, space->waiting[block->stream]->bins, index)
			       ? NULL
			       : "a block that waits is in no list";
	case BLOCK_FREE:
		tally->free_granules += block->size;
		if (next->state == BLOCK_FREE)
			return "two neighbours are free";
		return in_bin(space, space->free, index) ? NULL : "a free block is in no list";
	default:
		return "a block is of no kind";
	}
}

static const char *check_region(const struct space *space, uint32_t edge, struct tally *tally)
{
	const char *wrong = NULL;
	uint32_t index;

	tally->seen++;
	for (index = space->blocks[edge].next; index != edge && !wrong;
	     index = space->blocks[index].next)
		wrong = check_block(space, index, tally);
	return wrong;
}

static const char *check_waits(const struct space *space)
{
	const struct waiting *waiting;
	uint32_t count = 0, index;
	uint64_t last;

	for (uint32_t i = 0; i < SPACE_STREAMS; i++) {
		waiting = space->waiting[i];
		if (!waiting)
			continue;
		last = 0;
		for (index = waiting->oldest; index; index = space->waits[index].newer) {
			if (space->blocks[index].state != BLOCK_WAITING ||
			    space->blocks[index].stream != i)
				return "a block waits in the wrong list";
			if (space->waits[index].ticket < last)
				return "blocks that wait are out of order";
			last = space->waits[index].ticket;
			count++;
		}
		if (!waiting->oldest != !(space->busy_streams[i / 64] >> i % 64 & 1))
			return "the streams that blocks wait for are others";
	}
	return count == space->nr_waiting ? NULL : "some blocks that wait are in no order";
}

const char *space_check(const struct space *space)
{
	struct tally tally = { .used = 0 };
	const char *wrong = NULL;

	for (uint32_t i = 1; i < space->nr_blocks && !wrong; i++)
		if (space->blocks[i].state == BLOCK_EDGE)
			wrong = check_region(space, i, &tally);
	if (wrong)
		return wrong;
	if (tally.used != space->nr_used || tally.waiting != space->nr_waiting)
		return "there are other blocks than were counted";
	if (tally.free_granules != space->free_granules ||
	    tally.waiting_granules != space->waiting_granules)
		return "other bytes are free than were counted";
	/* Block 0 is in no region. */
	if (tally.seen != space->nr_blocks - space->nr_spare - 1)
		return "some blocks are in no region";
	return check_waits(space);
}
