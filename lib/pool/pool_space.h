/* SPDX-License-Identifier: MIT */
/*
 * The suballocator of pools: which granules of some regions are free. All of it lies in host memory;
 * it never touches the regions. Not thread-safe: the caller holds a lock.
 *
 * A *region* is memory without a gap. It consists of *blocks* that form a ring in the order of their
 * addresses, with one block of size 0, the edge, where the ring closes. Two neighbours are never both
 * free, unless streams keep them apart. Sizes are in granules.
 */
#ifndef LIBACCEL_POOL_SPACE_H
#define LIBACCEL_POOL_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bins;

enum block_state {
	BLOCK_SPARE, /* an unused entry of the table */
	BLOCK_EDGE, /* of a region */
	BLOCK_FREE,
	BLOCK_WAITING, /* free, but only for one stream until that stream has come to a point */
	BLOCK_USED,
	BLOCK_ALONE, /* used, and the whole of its region: it never becomes free */
};

/* Half a cache line. Index 0 is no block. */
struct block {
	uintptr_t addr; /* edge of a block that is alone: its owner */
	uint32_t size;
	uint32_t prev, next; /* neighbours in the region; spare ones are chained by next */
	union {
		struct {
			uint32_t bin_prev, bin_next; /* free, waiting */
		};
		struct {
			uint32_t hash_next, slack; /* used; slack: bytes that were not asked for */
		};
	};
	uint8_t state;
	uint8_t stream; /* waiting: number of the stream; used: the caller's */
};

_Static_assert(sizeof(struct block) == 32, "half a cache line");

/* Of waiting blocks. It is apart, since most blocks never wait. */
struct wait {
	uint64_t ticket;
	uint32_t older, newer;
};

/* Free blocks that wait for one stream. Tickets never decrease from the oldest to the newest. */
struct waiting {
	struct bins *bins;
	uint32_t oldest, newest;
};

static inline bool block_is_used(const struct block *block)
{
	return block->state == BLOCK_USED || block->state == BLOCK_ALONE;
}

#define SPACE_STREAMS 256

struct space {
	struct block *blocks;
	struct wait *waits;
	/*
	 * Bits of blocks in state BLOCK_FREE. They fit into the cache where the blocks do not, and the
	 * two neighbours of a block that is freed are mostly not free.
	 */
	uint64_t *is_free;
	struct bins *free;
	uint32_t *hash; /* of used blocks, by address */
	unsigned int hash_shift; /* of 64 bits */
	unsigned int granule_shift;
	uint32_t nr_blocks, spare, nr_spare;
	uint32_t nr_used, nr_waiting;
	uint64_t free_granules, waiting_granules; /* free_granules has the waiting ones too */
	struct waiting *waiting[SPACE_STREAMS];
	uint64_t busy_streams[SPACE_STREAMS / 64]; /* streams that blocks wait for */
};

int space_init(struct space *space, unsigned int granule_shift);
void space_destroy(struct space *space);
/* Makes room for so many blocks more, so that as many calls cannot fail for want of it. */
int space_grow(struct space *space, uint32_t count);
static inline int space_reserve(struct space *space, uint32_t count)
{
	return space->nr_spare >= count ? 0 : space_grow(space, count);
}

/* The index of its edge; 0: out of memory. */
uint32_t space_add_region(struct space *space, uintptr_t base, uint32_t size);
/* Of a region that is one free block. */
void space_remove_region(struct space *space, uint32_t edge);
/* A region that is one used block, whose index it returns, and its end; 0: out of memory. */
uint32_t space_add_alone(struct space *space, uintptr_t base, uint32_t size, void *owner);
void *space_remove_alone(struct space *space, uint32_t *at);
/* Whether a region is one free block. */
bool space_region_free(const struct space *space, uint32_t edge);

/*
 * Takes the smallest block that serves, out of the free ones and those that wait for the stream; its
 * index, or 0: none. align is in bytes, a power of two. There is room for two blocks more.
 */
uint32_t space_take_any(struct space *space, uint32_t size, size_t align, uint32_t stream);
/* Doubles the table of addresses; without memory for it its chains get longer, and searches slower. */
void space_grow_hash(struct space *space);

/* Where the index of the used block stands that starts at an address; 0 stands there: there is none. */
static inline uint32_t *space_at(const struct space *space, uintptr_t addr)
{
	uint32_t *at = &space->hash[addr * UINT64_C(0x9e3779b97f4a7c15) >> space->hash_shift];

	while (*at && space->blocks[*at].addr != addr)
		at = &space->blocks[*at].hash_next;
	return at;
}

/*
 * The lists of a stream, which space_release_after() and space_retag() need in space->waiting. They
 * take mapped memory, so the caller makes them before it takes the lock. NULL: out of memory.
 */
struct waiting *waiting_create(void);
void waiting_free(struct waiting *waiting);

/*
 * Frees the block whose index stands there when a stream has come to a point; until then it serves
 * that stream alone.
 */
void space_release_after(struct space *space, uint32_t *at, uint64_t ticket);

/*
 * Makes waiting blocks free: up to count of the oldest ones of each stream, if their points passed.
 * Whether a region is one free block by that.
 */
bool space_settle(struct space *space, uint32_t count, bool (*passed)(void *data, uint64_t ticket),
		  void *data);
/* The newest point of each stream that blocks wait for, but one; false: there is none. */
bool space_points(const struct space *space, uint64_t points[SPACE_STREAMS], uint32_t but);
/* Lets all blocks that wait for other streams, up to given points, wait for one point instead. */
void space_retag(struct space *space, const uint64_t points[SPACE_STREAMS], uint64_t ticket);

/* Granules of the largest free block. */
uint32_t space_largest(const struct space *space);
/* What is wrong in the tables; NULL: nothing. */
const char *space_check(const struct space *space);
/* Bytes of the tables; pages that were never touched count too. */
size_t space_memory(const struct space *space);
/* The used block that an address lies in, for error messages: it looks at all blocks. 0: none. */
uint32_t space_around(const struct space *space, uintptr_t addr);

#endif
