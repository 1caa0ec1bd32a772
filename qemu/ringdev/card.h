/* SPDX-License-Identifier: MIT */
/*
 * The model of the card. It does no I/O of its own: it gets the memory of BAR 2 and of the guest,
 * and two functions to call. One thread calls it.
 */
#ifndef RINGDEV_CARD_H
#define RINGDEV_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hw.h"

/* A point in time that never comes. */
#define RING_NEVER	UINT64_MAX

struct ring_card;

/*
 * RAM of a guest. With `start` it is one piece, from that bus address on. Without, as on a PC: bus
 * addresses below `low` are offsets; from 4 GiB on the rest follows.
 */
struct ring_ram {
	uint8_t *base;
	uint64_t size;
	uint64_t low;
	uint64_t start;
};

struct ring_ops {
	void (*raise)(void *owner, unsigned int vector);
	uint64_t (*now)(void *owner);		/* ns, never back */
};

struct ring_config {
	uint8_t *bar;			/* zeroed, aligned to 8 */
	uint64_t bar_size;		/* more than RING_CONTROL_SIZE */
	unsigned int engines;
	uint64_t rate;			/* bytes per second and direction, 0: no limit */
	uint64_t latency;		/* ns of every descriptor */
	uint64_t seed;
	const struct ring_ops *ops;
	void *owner;
};

/* The cards of one process: each other's peers if they are in the same guest. */
struct ring_bus {
	struct ring_card *cards[RING_MAX_CARDS];
	unsigned int count;
	bool die;			/* the process has been told to end at once */
};

/* NULL: no memory. */
struct ring_card *ring_card_create(struct ring_bus *bus, const struct ring_config *config);
void ring_card_destroy(struct ring_card *card);

/* The guest has plugged the card, and lets go of it. RAM may be attached later, or be NULL. */
void ring_card_power_on(struct ring_card *card);
void ring_card_power_off(struct ring_card *card);
void ring_card_set_ram(struct ring_card *card, const struct ring_ram *ram);

/*
 * Does a bounded amount of work: call it after a doorbell and when the time has come that it
 * returns. 0 is at once.
 */
uint64_t ring_card_run(struct ring_card *card);

/* One line of the control protocol; the reply is one line, too. */
void ring_command(struct ring_bus *bus, const char *line, char *reply, size_t size);

#endif
