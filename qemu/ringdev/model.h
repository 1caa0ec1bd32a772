/* SPDX-License-Identifier: MIT */
/*
 * What the files of the model know of each other.
 */
#ifndef RINGDEV_MODEL_H
#define RINGDEV_MODEL_H

#include "card.h"

#define RING_MAX_HELD	32
#define RING_MAX_PLANS	16
/* Descriptors that an engine carries out before others get their turn, with one interrupt. */
#define ENGINE_BATCH	64

/* Everything that can go wrong with one descriptor, in the order of fault_names[]. */
enum fault_kind {
	FAULT_STALL,
	FAULT_DROP,
	FAULT_LATE,
	FAULT_TWICE,
	FAULT_REORDER,
	FAULT_WRONG_ID,
	FAULT_WRONG_GENERATION,
	FAULT_WRONG_LENGTH,
	FAULT_FAIL,
	FAULT_CORRUPT,
	FAULT_IRQ_LOSE,
	FAULT_IRQ_REPEAT,
	FAULT_IRQ_DELAY,
	FAULT_KINDS,
};

/* What a descriptor gets. */
struct fault_set {
	uint32_t kinds;		/* bits, 1 << enum fault_kind */
	uint64_t late;		/* ns */
	uint64_t irq_delay;	/* ns */
	uint64_t random;	/* which bit, which byte */
	bool needs_card_reset;	/* of a stall */
};

/* An order from the control socket: this kind, `count` times, after `after` descriptors. */
struct fault_plan {
	enum fault_kind kind;
	int engine;		/* -1: any */
	uint64_t after;
	uint64_t count;		/* 0: this entry is free */
	uint64_t ns;
	bool needs_card_reset;
};

struct fault_storm {
	uint64_t every;		/* one descriptor in so many, 0: none */
	uint32_t kinds;
	uint64_t ns;
};

/* A piece of memory of this process; at is NULL where there is none. */
struct span {
	uint8_t *at;
	uint64_t len;
};

/* The descriptor that an engine works on. What is here is the engine's own copy. */
struct transfer {
	struct ring_descriptor d;
	uint32_t index;			/* in the submission ring, not wrapped */
	uint64_t due;			/* when latency and link allow it to end */
	uint64_t moved;
	uint32_t checksum;
	uint8_t *src, *dst;		/* card side, NULL where that is the host's */
	struct span *host;
	uint32_t host_count, host_next;
	uint64_t host_used;		/* bytes of host[host_next] */
	struct fault_set faults;
};

struct held_completion {
	struct ring_completion c;
	uint64_t due;
	bool after_next;		/* goes behind the one that comes next */
	bool irq;
	struct fault_set faults;
};

struct engine {
	struct ring_card *card;
	unsigned int number;
	uint32_t generation;
	uint32_t sq_head, cq_tail;
	uint32_t command_done;
	uint32_t status;
	bool busy;
	bool ok;			/* the descriptor before has ended well, or there is none */
	struct transfer now;
	struct held_completion held[RING_MAX_HELD];
	unsigned int held_count;
	bool irq;			/* to be raised at the end of this turn */
	uint64_t irq_due;		/* a delayed one; RING_NEVER: none */
	uint64_t random;
	struct span spans[RING_MAX_SEGMENTS];
};

struct ring_counters {
	uint64_t descriptors, bytes, completions, interrupts, faults;
};

struct ring_card {
	struct ring_bus *bus;
	struct ring_config config;
	const struct ring_ram *ram;
	bool powered;
	bool link_down;
	uint64_t mute_until;		/* in the past: it answers */
	uint32_t generation;
	uint32_t command_done;
	uint32_t status;
	uint64_t link_free[2];		/* when each direction of the link is free again */
	struct fault_plan plans[RING_MAX_PLANS];
	struct fault_storm storm;
	struct ring_counters counters;
	struct ring_record *record;	/* NULL: nothing is recorded */
	struct engine engines[RING_MAX_ENGINES];
};

/* card.c */
uint64_t card_now(struct ring_card *card);
bool card_is_master(struct ring_card *card);
void card_raise(struct ring_card *card, unsigned int vector);
void card_link(struct ring_card *card, bool up);
void card_serve_commands(struct ring_card *card);

/* engine.c */
void engine_reset(struct engine *e, uint32_t generation);
uint64_t engine_run(struct engine *e);

/* check.c: the status of a descriptor that cannot be carried out, or RING_OK. */
uint32_t check_descriptor(struct engine *e, struct transfer *t, uint32_t *detail);

/* move.c: at most so many bytes. */
void move(struct engine *e, struct transfer *t, uint64_t budget);
void move_fence(struct engine *e, struct transfer *t);
/* A part of a transfer, the way that its length asks for; stream_end() comes after the last. */
void move_copy(const struct ring_descriptor *d, uint8_t *dst, const uint8_t *src, uint64_t len,
	       const uint8_t *next);
void move_fill(const struct ring_descriptor *d, uint8_t *dst, uint64_t len);
/* True if the pattern of this fill is one byte again and again. */
bool is_uniform(const struct ring_descriptor *d);

/*
 * stream.c: as memcpy(), where `next` is what will be read after that; and a pattern of at most 8
 * bytes, given several times. stream_end() comes before anybody is told.
 */
#define STREAM_PATTERN	80
void stream_copy(uint8_t *dst, const uint8_t *src, size_t len, const uint8_t *next);
void stream_fill(uint8_t *dst, const uint8_t pattern[STREAM_PATTERN], size_t len);
void stream_end(void);

/* bus.c: `len` bytes at a bus address, or NULL. */
uint8_t *bus_at(struct ring_card *card, uint64_t address, uint64_t len);
uint8_t *bus_ram_at(struct ring_card *card, uint64_t address, uint64_t len);
uint64_t card_memory_size(const struct ring_card *card);

/* fault.c */
extern const char *const fault_names[FAULT_KINDS];
void fault_pick(struct engine *e, struct fault_set *set);
void fault_seed(struct ring_card *card, uint64_t seed);
void fault_resume(struct ring_card *card);
void fault_clear(struct ring_card *card);
uint64_t fault_random(uint64_t *state);

static inline bool fault_has(const struct fault_set *set, enum fault_kind kind)
{
	return set->kinds & (1u << kind);
}

/* reference.c: from now on, transfers of this opcode; NULL or why not. */
#define REFERENCE_MAX_RUNS	100u
struct reference {
	uint64_t median, min;		/* ns */
	uint64_t bytes;
	uint64_t longest;		/* of the transfers: so much is moved by one call */
	unsigned int pieces;		/* that are not adjacent */
};

bool reference_record(struct ring_card *card, uint8_t opcode);
void reference_forget(struct ring_card *card);
void reference_add(struct ring_card *card, const struct transfer *t);
const char *reference_time(struct ring_card *card, unsigned int runs, struct reference *result);

/* crc32c.c */
uint32_t crc32c(uint32_t crc, const uint8_t *data, size_t len);

#endif
