/* SPDX-License-Identifier: MIT */
/*
 * Blocks of a space: taken, split, released, merged. What an operation costs does not depend on how
 * many there are, but for the tables, which double now and then.
 */
#include "pool_quick.h"
#include "core/private.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCKS 64
#define FIRST_HASH_BITS 6
#define MAX_BLOCKS (UINT32_C(1) << 30)
#define CACHE_LINE 64
/*
 * Blocks that an aligned request looks at before it takes one that is large enough for certain.
 * Where there is none it looks at all that may serve, so that it does not fail if one does.
 */
#define ALIGN_TRIES 64

/* ---- Blocks that stand for nothing ---- */

static int grow_blocks(struct space *space, uint32_t nr)
{
	size_t old = (space->nr_blocks + 63) / 64, words = ((size_t)nr + 63) / 64;
	struct block *blocks;
	struct wait *waits;
	uint64_t *bits;

	if (nr > MAX_BLOCKS)
		return -ENOMEM;
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
	if (space->blocks)
		memcpy(blocks, space->blocks, space->nr_blocks * sizeof(*blocks));
	free(space->blocks);
	space->blocks = blocks;
	memset(bits + old, 0, (words - old) * sizeof(*bits));
	space->nr_blocks = nr;
	return 0;
}

int space_grow(struct space *space, uint32_t count)
{
	uint32_t old = space->nr_blocks, nr = old > count ? old * 2 : old + count;

	nr += nr & 1; /* whole cache lines */
	if (count > MAX_BLOCKS || grow_blocks(space, nr))
		return -ENOMEM;
	while (nr-- > old)
		drop_block(space, nr);
	return 0;
}

/* ---- Used blocks by address ---- */

/* Without memory for it the chains get longer, and that is all. */
void space_grow_hash(struct space *space)
{
	uint32_t *old = space->hash, index, next;
	uint32_t nr = space->nr_chains;
	uint32_t *hash = calloc(nr * UINT64_C(2), sizeof(*hash));

	if (!hash)
		return;
	space->hash = hash;
	space->hash_shift--;
	space->nr_chains = nr * 2;
	for (uint32_t i = 0; i < nr; i++)
		for (index = old[i]; index; index = next) {
			uint32_t *chain = space_chain(space, space->blocks[index].addr);

			next = space->blocks[index].hash_next;
			space->blocks[index].hash_next = *chain;
			*chain = index;
		}
	free(old);
}

uint32_t space_around(const struct space *space, uintptr_t addr)
{
	const struct block *block;

	for (uint32_t i = 1; i < space->nr_blocks; i++) {
		block = &space->blocks[i];
		if (block->state == BLOCK_USED && addr >= block->addr &&
		    (addr - block->addr) >> space->granule_shift < block->size)
			return i;
	}
	return 0;
}

/* ---- Blocks that wait ---- */

static int waiting_create(struct space *space, uint32_t stream)
{
	struct waiting *waiting = calloc(1, sizeof(*waiting));

	if (!waiting)
		return -ENOMEM;
	waiting->bins = bins_create();
	if (!waiting->bins) {
		free(waiting);
		return -ENOMEM;
	}
	space->waiting[stream] = waiting;
	return 0;
}

/* Behind another one, or as the newest. */
static void wait_add(struct space *space, uint32_t index, uint32_t older, uint64_t ticket)
{
	uint32_t stream = ticket_stream(ticket);
	struct waiting *waiting = space->waiting[stream];
	struct wait *wait = &space->waits[index];

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
	space->busy_streams[stream / 64] |= UINT64_C(1) << stream % 64;
	bins_add(space, waiting->bins, index);
}

static void wait_remove_binned(struct space *space, uint32_t index)
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
	if (!waiting->oldest)
		space->busy_streams[stream / 64] &= ~(UINT64_C(1) << stream % 64);
}

static void wait_remove(struct space *space, uint32_t index)
{
	bins_remove(space, space->waiting[space->blocks[index].stream]->bins, index);
	wait_remove_binned(space, index);
}

/* ---- Neighbours ---- */

/* Cuts a block; what is behind so many granules becomes one of its own, in no list. */
static uint32_t split(struct space *space, uint32_t index, uint32_t size)
{
	uint32_t rest = new_block(space);
	struct block *block = &space->blocks[index], *behind = &space->blocks[rest];

	behind->addr = block->addr + ((uintptr_t)size << space->granule_shift);
	behind->size = block->size - size;
	behind->state = block->state;
	behind->stream = block->stream;
	block->size = size;
	link_behind(space, rest, index);
	return rest;
}

/* ---- Taking ---- */

static inline uint32_t granules_to(const struct space *space, uintptr_t addr, size_t align)
{
	return (uint32_t)((-addr & (align - 1)) >> space->granule_shift);
}

static uint32_t find_aligned(const struct space *space, struct bins *bins,
			     const struct request *request)
{
	uint64_t certain = (uint64_t)request->size + (request->align >> space->granule_shift) - 1;
	uint32_t index = bins_find(space, bins, request->size), tries = 0, found;
	const struct block *block;

	for (; index; index = bins_next(space, bins, index)) {
		block = &space->blocks[index];
		if (block->size - request->size >= granules_to(space, block->addr, request->align))
			return index;
		if (++tries != ALIGN_TRIES || certain > UINT32_MAX)
			continue;
		found = bins_find(space, bins, (uint32_t)certain);
		if (found)
			return found;
	}
	return 0;
}

static inline uint32_t find(const struct space *space, struct bins *bins,
			    const struct request *request)
{
	return request->align >> space->granule_shift > 1 ? find_aligned(space, bins, request)
						       : bins_find(space, bins, request->size);
}

/* Of a block that is in no list. What is left over goes back to where it was. */
static uint32_t cut_free(struct space *space, uint32_t index, uint32_t pad, uint32_t size)
{
	uint32_t rest;

	if (pad) {
		rest = split(space, index, pad);
		bins_add(space, space->free, index);
		index = rest;
	}
	if (space->blocks[index].size > size) {
		rest = split(space, index, size);
		set_free(space, rest);
		bins_add(space, space->free, rest);
	}
	return index;
}

static uint32_t cut_waiting(struct space *space, uint32_t index, uint32_t pad, uint32_t size)
{
	struct bins *bins = space->waiting[space->blocks[index].stream]->bins;
	uint64_t ticket = space->waits[index].ticket;
	uint32_t rest;

	if (pad) {
		rest = split(space, index, pad);
		bins_add(space, bins, index);
		wait_add(space, rest, index, ticket);
		bins_remove(space, bins, rest);
		index = rest;
	}
	if (space->blocks[index].size > size)
		wait_add(space, split(space, index, size), index, ticket);
	wait_remove_binned(space, index);
	return index;
}

static uint32_t take(struct space *space, uint32_t index, struct bins *bins,
		     const struct request *request)
{
	uint32_t pad = granules_to(space, space->blocks[index].addr, request->align);
	struct block *block;

	bins_remove(space, bins, index);
	index = bins == space->free ? cut_free(space, index, pad, request->size)
				    : cut_waiting(space, index, pad, request->size);
	block = &space->blocks[index];
	block->state = BLOCK_USED;
	clear_free(space, index);
	block->slack = request->slack;
	space->free_granules -= request->size;
	hash_add(space, index);
	return index;
}

uint32_t space_take(struct space *space, const struct request *request, uint32_t stream)
{
	uint32_t index = find(space, space->free, request), own = 0;
	struct waiting *waiting = space->nr_waiting ? space->waiting[stream] : NULL;

	if (waiting)
		own = find(space, waiting->bins, request);
	if (own && (!index || space->blocks[own].size <= space->blocks[index].size))
		return take(space, own, waiting->bins, request);
	return index ? take(space, index, space->free, request) : 0;
}

struct block *space_take_large(struct space *space, uint32_t size, uint32_t slack)
{
	uint32_t index, left, made, before;
	struct block *block, *used;

	index = space->free->large_top ? bins_find_large(space, space->free, size) : 0;
	block = &space->blocks[index];
	left = block->size - size;
	before = block->bin_prev;
	if (!index || (left ^ block->size) >> BINS_CLASS_SHIFT ||
	    (before && space->blocks[before].size > left))
		return NULL;
	made = new_block(space);
	used = &space->blocks[made];
	used->addr = block->addr;
	used->size = size;
	used->slack = slack;
	used->state = BLOCK_USED;
	link_behind(space, made, block->prev);
	block->addr += (uintptr_t)size << space->granule_shift;
	block->size = left;
	space->free_granules -= size;
	hash_add(space, made);
	return used;
}

/* ---- Releasing ---- */

static void make_waiting(struct space *space, uint32_t index, uint64_t ticket)
{
	uint32_t prev = space->blocks[index].prev, next = space->blocks[index].next;
	uint32_t stream = ticket_stream(ticket);

	if (space->blocks[next].state == BLOCK_WAITING && space->blocks[next].stream == stream) {
		wait_remove(space, next);
		absorb(space, index, next);
	}
	if (space->blocks[prev].state == BLOCK_WAITING && space->blocks[prev].stream == stream) {
		wait_remove(space, prev);
		absorb(space, prev, index);
		index = prev;
	}
	wait_add(space, index, 0, ticket);
}

uint32_t space_release(struct space *space, uint32_t *at)
{
	return space_release_quickly(space, at);
}

int space_release_after(struct space *space, uint32_t *at, uint64_t ticket)
{
	uint32_t stream = ticket_stream(ticket), index;

	if (!space->waiting[stream] && waiting_create(space, stream))
		return -ENOMEM;
	index = hash_remove(space, at);
	space->free_granules += space->blocks[index].size;
	make_waiting(space, index, ticket);
	return 0;
}

void space_settle(struct space *space, uint32_t stream, uint32_t count,
		  bool (*passed)(void *data, uint64_t ticket), void *data)
{
	const struct waiting *waiting = space->waiting[stream];
	uint32_t index;

	while (waiting && count-- && (index = waiting->oldest)) {
		if (!passed(data, space->waits[index].ticket))
			return;
		wait_remove(space, index);
		make_free(space, index);
	}
}

void space_retag(struct space *space, const uint64_t points[SPACE_STREAMS], uint64_t ticket)
{
	uint32_t index, own = ticket_stream(ticket);
	const struct waiting *waiting;

	if (!space->waiting[own] && waiting_create(space, own))
		return;
	for (uint32_t stream = 0; stream < SPACE_STREAMS; stream++) {
		waiting = space->waiting[stream];
		while (waiting && stream != own && (index = waiting->oldest) &&
		       ticket_point(space->waits[index].ticket) <= points[stream]) {
			wait_remove(space, index);
			make_waiting(space, index, ticket);
		}
	}
}

/* ---- Regions ---- */

uint32_t space_add_region(struct space *space, uintptr_t base, uint32_t size)
{
	uint32_t edge, index;

	if (space_reserve(space, 2))
		return 0;
	edge = new_block(space);
	index = new_block(space);
	space->blocks[edge] = (struct block){ .addr = base, .prev = edge, .next = edge,
					      .state = BLOCK_EDGE };
	space->blocks[index] = (struct block){ .addr = base, .size = size };
	link_behind(space, index, edge);
	make_free(space, index);
	space->free_granules += size;
	return edge;
}

uint32_t space_whole(const struct space *space, uint32_t edge)
{
	uint32_t index = space->blocks[edge].next;

	if (space->blocks[index].state != BLOCK_FREE || space->blocks[index].next != edge)
		return 0;
	return index;
}

void space_remove_region(struct space *space, uint32_t edge)
{
	uint32_t index = space_whole(space, edge);

	if (index) {
		bins_remove(space, space->free, index);
		space->free_granules -= space->blocks[index].size;
		drop_block(space, index);
	}
	drop_block(space, edge);
}

uint32_t space_cut(struct space *space, uint32_t edge, uint32_t index, uint32_t granules)
{
	uint32_t next = space->blocks[index].next, last = space->blocks[edge].prev, made = 0;

	bins_remove(space, space->free, index);
	space->blocks[index].size -= granules;
	space->free_granules -= granules;
	bins_add(space, space->free, index);
	if (next == edge)
		return 0;
	made = new_block(space);
	space->blocks[made] = (struct block){ .addr = space->blocks[next].addr, .prev = last,
					      .next = next, .state = BLOCK_EDGE };
	space->blocks[next].prev = space->blocks[last].next = made;
	space->blocks[index].next = edge;
	space->blocks[edge].prev = index;
	return made;
}

/* Block 0 stands for nothing. */
uint32_t space_nr_blocks(const struct space *space)
{
	return space->nr_blocks - space->nr_spare - 1;
}

int space_accept(struct space *to, const struct space *from)
{
	for (uint32_t i = 0; i < SPACE_STREAMS; i++)
		if (from->waiting[i] && !to->waiting[i] && waiting_create(to, i))
			return -ENOMEM;
	return space_reserve(to, space_nr_blocks(from));
}

/* What is in a list of the one comes into the same list of the other. */
static void move_block(struct space *to, struct space *from, uint32_t index, uint32_t edge)
{
	const struct block *block = &from->blocks[index];
	uint64_t ticket = from->waits[index].ticket;
	uint32_t made = new_block(to);

	to->blocks[made] = *block;
	link_behind(to, made, to->blocks[edge].prev);
	if (block->state == BLOCK_USED) {
		hash_remove(from, space_at(from, block->addr));
		hash_add(to, made);
		return;
	}
	from->free_granules -= block->size;
	to->free_granules += block->size;
	if (block->state == BLOCK_WAITING) {
		wait_remove(from, index);
		wait_add(to, made, 0, ticket);
	} else {
		bins_remove(from, from->free, index);
		bins_add(to, to->free, made);
		set_free(to, made);
	}
}

uint32_t space_move(struct space *to, struct space *from, uint32_t edge)
{
	uint32_t made = new_block(to), index, next;

	to->blocks[made] = from->blocks[edge];
	to->blocks[made].prev = to->blocks[made].next = made;
	for (index = from->blocks[edge].next; index != edge; index = next) {
		next = from->blocks[index].next;
		move_block(to, from, index, made);
		drop_block(from, index);
	}
	drop_block(from, edge);
	return made;
}

void space_join(struct space *space, uint32_t edge, uint32_t second)
{
	struct block *blocks = space->blocks;
	uint32_t last = blocks[edge].prev, first = blocks[second].next;

	blocks[last].next = first;
	blocks[first].prev = last;
	blocks[blocks[second].prev].next = edge;
	blocks[edge].prev = blocks[second].prev;
	drop_block(space, second);
	if (blocks[last].state == BLOCK_FREE && blocks[first].state == BLOCK_FREE) {
		bins_remove(space, space->free, last);
		make_free(space, last);
	}
}

int space_init(struct space *space, unsigned int granule_shift)
{
	memset(space, 0, sizeof(*space));
	space->granule_shift = granule_shift;
	space->hash_shift = 64 - FIRST_HASH_BITS;
	space->nr_chains = 1 << FIRST_HASH_BITS;
	space->hash = calloc(space->nr_chains, sizeof(*space->hash));
	space->free = bins_create();
	if (!space->hash || !space->free || space_grow(space, FIRST_BLOCKS)) {
		space_destroy(space);
		return -ENOMEM;
	}
	/* The first one of the chain is block 0. */
	space->blocks[new_block(space)].state = BLOCK_EDGE;
	return 0;
}

void space_destroy(struct space *space)
{
	for (int i = 0; i < SPACE_STREAMS; i++)
		if (space->waiting[i]) {
			bins_free(space->waiting[i]->bins);
			free(space->waiting[i]);
		}
	bins_free(space->free);
	free(space->hash);
	free(space->blocks);
	free(space->waits);
	free(space->is_free);
	memset(space, 0, sizeof(*space));
}

/* ---- Is all as it has to be ---- */

struct tally {
	uint32_t used, waiting, seen;
	uint64_t free;
};

static bool in_list(const struct space *space, struct bins *bins, uint32_t index)
{
	const struct block *block = &space->blocks[index];
	uint32_t at = bins_find(space, bins, block->size);

	while (at && at != index && space->blocks[at].size == block->size)
		at = space->blocks[at].bin_next;
	return at == index;
}

static const char *check_block(const struct space *space, uint32_t index, struct tally *tally)
{
	const struct block *block = &space->blocks[index], *next = &space->blocks[block->next];
	uintptr_t end = block->addr + ((uintptr_t)block->size << space->granule_shift);

	tally->seen++;
	if (next->prev != index)
		return "neighbours do not know each other";
	if (!block->size)
		return "a block is empty";
	if (is_free(space, index) != (block->state == BLOCK_FREE))
		return "the bit of a block is wrong";
	if (next->state != BLOCK_EDGE && next->addr != end)
		return "a block does not begin where the one before it ends";
	switch (block->state) {
	case BLOCK_USED:
		tally->used++;
		return *space_at((struct space *)space, block->addr) == index
			       ? NULL
			       : "a used block cannot be found";
	case BLOCK_WAITING:
		tally->waiting++;
		tally->free += block->size;
		return in_list(space, space->waiting[block->stream]->bins, index)
			       ? NULL
			       : "a block that waits is in no list";
	case BLOCK_FREE:
		tally->free += block->size;
		if (next->state == BLOCK_FREE)
			return "two neighbours are free";
		return in_list(space, space->free, index) ? NULL : "a free block is in no list";
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

	for (uint32_t i = 0; i < SPACE_STREAMS; i++) {
		waiting = space->waiting[i];
		if (!waiting)
			continue;
		for (index = waiting->oldest; index; index = space->waits[index].newer) {
			if (space->blocks[index].state != BLOCK_WAITING ||
			    space->blocks[index].stream != i)
				return "a block waits in the wrong list";
			count++;
		}
		if (!waiting->oldest != !(space->busy_streams[i / 64] >> i % 64 & 1))
			return "the streams that blocks wait for are others";
	}
	return count == space->nr_waiting ? NULL : "some blocks that wait are in no order";
}

const char *space_check(const struct space *space)
{
	struct tally tally = { .free = 0 };
	const char *wrong = NULL;

	for (uint32_t i = 1; i < space->nr_blocks && !wrong; i++)
		if (space->blocks[i].state == BLOCK_EDGE)
			wrong = check_region(space, i, &tally);
	if (wrong)
		return wrong;
	if (tally.used != space->nr_used || tally.waiting != space->nr_waiting)
		return "there are other blocks than were counted";
	if (tally.free != space->free_granules)
		return "other bytes are free than were counted";
	if (tally.seen != space_nr_blocks(space))
		return "some blocks are in no region";
	return check_waits(space);
}

/* ---- What it takes ---- */

size_t space_memory(const struct space *space)
{
	size_t bytes = space->nr_blocks * (sizeof(*space->blocks) + sizeof(*space->waits)) +
		       (space->nr_blocks + 63) / 64 * sizeof(*space->is_free) +
		       space->nr_chains * sizeof(*space->hash) + sizeof(struct bins);

	for (int i = 0; i < SPACE_STREAMS; i++)
		if (space->waiting[i])
			bytes += sizeof(*space->waiting[i]) + sizeof(struct bins);
	return bytes;
}
