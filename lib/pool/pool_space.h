/* SPDX-License-Identifier: MIT */
/*
 * The suballocator of pools: which bytes of some regions are free. All of it lies in host memory,
 * none in what is handed out. Not thread-safe: whoever has a space has a lock for it.
 *
 * A *region* is memory without a gap. It consists of *blocks* that follow each other in a ring, with
 * one block of size 0, its edge, where the ring closes. Two neighbours are never both free, unless
 * streams keep them apart. Sizes are in granules.
 */
#ifndef LIBACCEL_POOL_SPACE_H
#define LIBACCEL_POOL_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Free blocks below this size have a list for each size: pool_bins.h. */
#define BINS_EXACT (1u << 18)

struct bins;

enum block_state {
	BLOCK_SPARE, /* stands for nothing */
	BLOCK_EDGE, /* of a region */
	BLOCK_FREE,
	BLOCK_WAITING, /* free, but only for one stream as long as that has not come to a point */
	BLOCK_USED,
};

/* What an operation looks at: half a cache line, never parts of two. Index 0 is no block. */
struct block {
	uintptr_t addr;
	uint32_t size;
	uint32_t prev, next; /* neighbours in the region; spare ones are chained by next */
	union {
		struct {
			uint32_t bin_prev, bin_next; /* free, waiting */
		};
		struct {
			uint32_t hash_next, slack; /* used; slack: bytes that nobody asked for */
		};
	};
	uint8_t state;
	uint8_t stream; /* number of the one that it waits for */
};

_Static_assert(sizeof(struct block) == 32, "half a cache line");

/* Only of those that wait: apart, for most never do. */
struct wait {
	uint64_t ticket;
	uint32_t older, newer;
};

/* Free blocks that wait for one stream. Tickets never fall from the oldest to the newest. */
struct waiting {
	struct bins *bins;
	uint32_t oldest, newest;
};

#define SPACE_STREAMS 256

struct space {
	struct block *blocks;
	struct wait *waits;
	/*
	 * Bits of blocks in state BLOCK_FREE. They fit into the cache where the blocks do not, and what a
	 * free has to know of the two neighbours is mostly that they are not.
	 */
	uint64_t *is_free;
	uint32_t nr_blocks, spare, nr_spare;
	struct bins *free;
	uint32_t *hash; /* of used blocks, by address */
	unsigned int hash_shift; /* of 64 bits */
	uint32_t nr_chains;
	unsigned int granule_shift;
	uint32_t nr_used, nr_waiting;
	uint64_t free_granules; /* waiting ones too */
	struct waiting *waiting[SPACE_STREAMS];
	uint64_t busy_streams[SPACE_STREAMS / 64]; /* those that blocks wait for */
};

/* What is wanted. Sizes in granules but slack. */
struct request {
	uint32_t size;
	uint32_t slack;
	size_t align; /* bytes, a power of two */
};

int space_init(struct space *space, unsigned int granule_shift);
void space_destroy(struct space *space);
/* Room for so many blocks more, so that that many calls cannot fail for want of it. */
int space_grow(struct space *space, uint32_t count);
static inline int space_reserve(struct space *space, uint32_t count)
{
	return space->nr_spare >= count ? 0 : space_grow(space, count);
}
/* The index of its edge, or 0: out of memory. */
uint32_t space_add_region(struct space *space, uintptr_t base, uint32_t size);
/* Forgets a region that is one free block, or empty. */
void space_remove_region(struct space *space, uint32_t edge);
/* The one free block of a region that is wholly free; 0: it is not. */
uint32_t space_whole(const struct space *space, uint32_t edge);

/*
 * Takes the last granules of a free block out of its region; what is behind them becomes a region of
 * its own, whose edge is returned, or 0 if there is nothing. There is room for a block more, and the
 * block has more granules than that.
 */
uint32_t space_cut(struct space *space, uint32_t edge, uint32_t index, uint32_t granules);
/* Blocks that stand for something. */
uint32_t space_nr_blocks(const struct space *space);
/* Makes room in a space for all that is in another one. */
int space_accept(struct space *to, const struct space *from);
/* Moves a region there; its edge in the new space. */
uint32_t space_move(struct space *to, struct space *from, uint32_t edge);
/* Two regions, the second of which begins where the first one ends, become one. */
void space_join(struct space *space, uint32_t edge, uint32_t second);

/*
 * Takes the smallest block that serves, out of the free ones and those that wait for the stream; 0:
 * none. There is room for two blocks more.
 */
uint32_t space_take(struct space *space, const struct request *request, uint32_t stream);
/*
 * The same where nothing serves but a block of at least BINS_EXACT granules that stays where it is in
 * its list. NULL: space_take() may find something. There is room for a block more.
 */
struct block *space_take_large(struct space *space, uint32_t size, uint32_t slack);

/* Without memory for it the chains get longer, and that is all. */
void space_grow_hash(struct space *space);
static inline uint32_t *space_chain(const struct space *space, uintptr_t addr)
{
	return &space->hash[addr * UINT64_C(0x9e3779b97f4a7c15) >> space->hash_shift];
}

/* Where the index of the used block stands that starts at an address; 0 stands there: none does. */
static inline uint32_t *space_at(struct space *space, uintptr_t addr)
{
	uint32_t *at = space_chain(space, addr);

	while (*at && space->blocks[*at].addr != addr)
		at = &space->blocks[*at].hash_next;
	return at;
}

/* Frees that block; the free one that it has become part of. */
uint32_t space_release(struct space *space, uint32_t *at);
/*
 * The same, once a stream has come to a point; until then it serves that stream alone. -ENOMEM: out
 * of memory, and nothing has changed.
 */
int space_release_after(struct space *space, uint32_t *at, uint64_t ticket);

/* Lets blocks that wait go: up to count of the oldest of a stream, whose points have passed. */
void space_settle(struct space *space, uint32_t stream, uint32_t count,
		  bool (*passed)(void *data, uint64_t ticket), void *data);
/* Lets all blocks that wait for other streams, up to given points, wait for one point instead. */
void space_retag(struct space *space, const uint64_t points[SPACE_STREAMS], uint64_t ticket);

/* Whether all is as it has to be; says what is not. */
const char *space_check(const struct space *space);
/* Bytes of the process that it has; pages that were never touched count too. */
size_t space_memory(const struct space *space);
/* The used block that an address lies in, by looking at all: for sentences. */
uint32_t space_around(const struct space *space, uintptr_t addr);

#endif
