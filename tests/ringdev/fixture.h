/* SPDX-License-Identifier: MIT */
/*
 * Tests of the ring card's model: two cards in one guest, whose memory and clock are the test's. A
 * test fails when a check() in it does.
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../qemu/ringdev/model.h"
#include "../../qemu/ringdev/number.h"
#include "../../qemu/ringdev/shared.h"

#define CARDS		2
#define ENGINES		4
#define BAR_SIZE	(8u << 20)
#define MEM_SIZE	(BAR_SIZE - RING_CONTROL_SIZE)
#define RAM_SIZE	(16u << 20)
#define BAR_AT(card)	(0x800000000ull + (card) * 0x10000000ull)

/* Host memory that is away from everything, and the place of lists. */
#define HOST		0x200000u
#define LIST		0x110000u

struct world {
	struct ring_bus bus;
	struct ring_card *card;			/* the first */
	struct ring_ram ram;
	struct card_of_world {
		struct world *world;
		struct ring_card *card;
		uint8_t *bar;
		unsigned int raised[RING_MAX_VECTORS];
	} cards[CARDS];
	uint64_t now;
	uint64_t cookie;
	void (*on_interrupt)(void);		/* what the host does at once */
	uint64_t next;				/* what the last run() has returned */
};

extern struct world w;

#define check(condition) check_at(!!(condition), __func__, __LINE__, #condition)
#define check_eq(got, wanted) \
	check_eq_at((uint64_t)(got), (uint64_t)(wanted), __func__, __LINE__, #got)

void check_at(bool good, const char *function, int line, const char *text);
void check_eq_at(uint64_t got, uint64_t wanted, const char *function, int line, const char *text);

#define RUN(test) run_test(test, #test)
void run_test(void (*test)(void), const char *name);
int tests_end(void);

/* Registers of the first card, as a driver has them. */
uint32_t get(uint32_t reg);
void put(uint32_t reg, uint32_t value);
uint32_t engine_get(unsigned int engine, uint32_t reg);
void engine_put(unsigned int engine, uint32_t reg, uint32_t value);

/* Device memory of the first card. */
uint8_t *mem(uint64_t offset);
uint8_t *peer_mem(uint64_t offset);
uint8_t *host(uint64_t address);
void fill_random(uint8_t *to, size_t len, uint64_t seed);

/* Runs the card until it has nothing to do at this time. */
void run(void);
/* The same, with the clock going on by `ns` at most, stopping at each deadline. */
void run_for(uint64_t ns);

/* With cookie and generation; returns the cookie. */
uint64_t submit(unsigned int engine, struct ring_descriptor d);
bool complete(unsigned int engine, struct ring_completion *c);
/* Submit, run, and the only completion that came; status 0 if there is none. */
struct ring_completion carry(struct ring_descriptor d);

struct ring_descriptor h2d(uint64_t dst, uint64_t src, uint64_t len);
struct ring_descriptor d2h(uint64_t dst, uint64_t src, uint64_t len);
struct ring_descriptor d2d(uint64_t dst, uint64_t src, uint64_t len);
struct ring_descriptor fill_with(uint64_t dst, uint64_t len, uint64_t pattern, uint32_t size);
struct ring_descriptor fence(void);
void segment(unsigned int number, uint64_t address, uint32_t len);

/* A line of the control protocol; true if the answer is "ok". */
bool order(const char *line);
extern char reply[256];

uint32_t crc_of(const uint8_t *data, size_t len);

#endif
