/* SPDX-License-Identifier: MIT */
#ifndef RINGDEV_OPTIONS_H
#define RINGDEV_OPTIONS_H

#include "card.h"
#include "guest_ram.h"

struct options {
	const char *socket;		/* as given */
	char sockets[RING_MAX_CARDS][120];
	const char *control;
	struct guest_ram rams[RING_MAX_CARDS];
	unsigned int ram_count;
	uint64_t ram_low;
	uint64_t ram_start;
	uint64_t memory;
	unsigned int engines;
	unsigned int cards;
	uint64_t rate, latency, seed, storm;
};

/* Negative: go on. Else the exit status: 0 after --help, 2 after a sentence on stderr. */
int options_parse(struct options *options, int argc, char **argv);
/* The RAM that a card is given, NULL if none is. */
struct guest_ram *options_ram(struct options *options, unsigned int card);

#endif
