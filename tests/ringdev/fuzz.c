// SPDX-License-Identifier: MIT
/*
 * What a guest can do to the card, as a fuzzer finds it: writes anywhere in registers, rings and
 * RAM, doorbells, time, plugging, and lines on the control socket. The memory ends where the heap
 * block ends, so a sanitizer sees each byte beside it.
 *
 * `fuzz --corpus DIRECTORY` writes the inputs that fuzzing starts from.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../qemu/ringdev/model.h"
#include "../../qemu/ringdev/shared.h"

#define CARDS		2
#define ENGINES		2
#define BAR_SIZE	(2u << 20)
#define MEM_SIZE	(BAR_SIZE - RING_CONTROL_SIZE)
#define RAM_SIZE	0x120000u
#define BAR_AT(card)	(0x800000000ull + (card) * 0x10000000ull)
#define MAX_RUNS	64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum action {
	WRITE_REGISTER, WRITE_ENGINE, DESCRIPTOR, RAW_DESCRIPTOR, SEGMENTS, MANY_SEGMENTS, RAW_RAM,
	RUN, TIME, CONTROL_LINE, REPLUG, RAM_SPLIT, ACTIONS,
};

struct input {
	const uint8_t *at;
	size_t left;
};

static struct ring_bus bus;
static struct ring_ram ram;
static uint8_t *bars[CARDS];
static uint64_t now, progress;

static void raise_vector(void *owner, unsigned int vector)
{
	(void)owner;
	if (vector > ENGINES)
		abort();
}

static uint64_t get_now(void *owner)
{
	(void)owner;
	return now;
}

static const struct ring_ops ops = { .raise = raise_vector, .now = get_now };

static void take(struct input *in, void *to, size_t size)
{
	size_t part = size < in->left ? size : in->left;

	memset(to, 0, size);
	memcpy(to, in->at, part);
	in->at += part;
	in->left -= part;
}

static uint64_t take64(struct input *in)
{
	uint64_t value;

	take(in, &value, sizeof(value));
	return value;
}

static uint32_t take32(struct input *in)
{
	uint32_t value;

	take(in, &value, sizeof(value));
	return value;
}

static uint8_t take8(struct input *in)
{
	uint8_t value;

	take(in, &value, sizeof(value));
	return value;
}

/* Around the places where something ends or begins. */
static uint64_t take_address(struct input *in)
{
	static const uint64_t places[] = {
		0, MEM_SIZE, RAM_SIZE, 0xa0000, 0x100000, 1ull << 32, RING_CONTROL_SIZE,
		BAR_AT(0), BAR_AT(0) + RING_CONTROL_SIZE, BAR_AT(1) + RING_CONTROL_SIZE,
		BAR_AT(1) + BAR_SIZE, UINT64_MAX,
	};
	uint8_t place = take8(in);
	int16_t offset;

	if (place >= sizeof(places) / sizeof(places[0]))
		return take64(in);
	take(in, &offset, sizeof(offset));
	return places[place] + (uint64_t)(int64_t)offset * (place & 1 ? 1 : 16);
}

static void submit(unsigned int card, unsigned int engine, const struct ring_descriptor *d)
{
	uint8_t *tail = bars[card] + RING_ENGINE(engine) + RING_SQ_TAIL;
	uint32_t index = shared_read32(tail);

	memcpy(bars[card] + RING_SQ(engine) + index % RING_ENTRIES * sizeof(*d), d, sizeof(*d));
	shared_write32(tail, index + 1);
}

/* A descriptor that has a chance: generation and place are those that the card expects. */
static void write_descriptor(struct input *in, unsigned int card)
{
	unsigned int engine = take8(in) % ENGINES;
	struct ring_descriptor d = {
		.generation = shared_read32(bars[card] + RING_ENGINE(engine) + RING_E_GENERATION),
	};

	take(in, &d.opcode, 2);
	d.segments = take8(in);
	d.src = take_address(in);
	d.dst = take_address(in);
	d.len = take32(in) % (2 * MEM_SIZE);
	d.pattern_size = take8(in);
	d.pattern = d.pattern_size ? take8(in) : 0;
	if (d.opcode == RING_OP_H2D && d.flags & RING_FLAG_LIST)
		d.src &= ~15ull;
	submit(card, engine, &d);
}

/* A transfer of so many bytes, each from a place of its own. */
static void write_many_segments(struct input *in, unsigned int card)
{
	uint32_t count = take32(in) % (2 * RING_MAX_SEGMENTS), at = take8(in);
	struct ring_segment s = { .address = take_address(in), .len = 1 };
	struct ring_descriptor d = {
		.opcode = RING_OP_H2D, .flags = RING_FLAG_LIST, .segments = (uint16_t)count,
		.generation = shared_read32(bars[card] + RING_ENGINE(0) + RING_E_GENERATION),
		.src = at * 16, .len = count,
	};

	for (uint32_t i = 0; i < count; i++)
		memcpy(ram.base + at * 16 + i * sizeof(s), &s, sizeof(s));
	submit(card, 0, &d);
}

static void write_segments(struct input *in)
{
	uint32_t at = take32(in) % (RAM_SIZE - 0x1000) & ~15u;
	unsigned int count = take8(in) % 64;

	for (unsigned int i = 0; i < count; i++) {
		struct ring_segment s = { .address = take_address(in), .len = take32(in) % 65536 };

		memcpy(ram.base + at + i * sizeof(s), &s, sizeof(s));
	}
}

static void write_raw(struct input *in, uint8_t *base, uint32_t size)
{
	uint32_t at = take32(in) % (size - 256);

	take(in, base + at, take8(in));
}

/* The most that a transfer may have moved is bounded, so that time is too. */
static void run_cards(void)
{
	for (unsigned int turn = 0; turn < MAX_RUNS; turn++) {
		uint64_t soonest = RING_NEVER;

		for (unsigned int i = 0; i < CARDS; i++) {
			uint64_t next = ring_card_run(bus.cards[i]);

			soonest = next < soonest ? next : soonest;
		}
		if (soonest == RING_NEVER)
			return;
		if (soonest > now)
			now = soonest;
		progress++;
	}
}

static void replug(unsigned int card, uint8_t how)
{
	ring_card_power_off(bus.cards[card]);
	if (how & 1)
		return;
	ring_card_power_on(bus.cards[card]);
	if (how & 2)
		ring_card_set_ram(bus.cards[card], &ram);
}

static void control_line(struct input *in)
{
	char line[300], reply[257];
	size_t len = take32(in) % sizeof(line);

	take(in, line, len);
	line[len] = '\0';
	ring_command(&bus, line, reply, sizeof(reply));
	if (strncmp(reply, "ok", 2) && strncmp(reply, "error: ", 7))
		abort();
	bus.die = false;
}

static void act(struct input *in)
{
	unsigned int what = take8(in), card = what / ACTIONS % CARDS;
	uint8_t *bar = bars[card];

	switch (what % ACTIONS) {
	case WRITE_REGISTER:
		/* Odd addresses too: what the host cannot reach, a neighbour's store can. */
		what = take8(in) * 4u;
		shared_write32(bar + what, take32(in));
		break;
	case WRITE_ENGINE:
		what = take8(in);
		bar += RING_ENGINE(what % ENGINES);
		shared_write32(bar + what / ENGINES % 4 * 4, take32(in));
		break;
	case DESCRIPTOR:
		write_descriptor(in, card);
		break;
	case RAW_DESCRIPTOR:
		take(in, bar + RING_SQ(0) + take8(in) * 64u, sizeof(struct ring_descriptor));
		break;
	case SEGMENTS:
		write_segments(in);
		break;
	case MANY_SEGMENTS:
		write_many_segments(in, card);
		break;
	case RAW_RAM:
		write_raw(in, take8(in) & 1 ? ram.base : bar, RAM_SIZE);
		break;
	case RUN:
		run_cards();
		break;
	case TIME:
		now += take32(in);
		break;
	case CONTROL_LINE:
		control_line(in);
		break;
	case REPLUG:
		replug(card, take8(in));
		break;
	case RAM_SPLIT:
		ram.low = take32(in) % (RAM_SIZE + 1);
		ram.start = (uint64_t)(take8(in) % 4) << 12;
		break;
	}
}

static void make_card(unsigned int i)
{
	struct ring_config config = {
		.bar_size = BAR_SIZE, .engines = ENGINES, .ops = &ops, .bar = bars[i],
	};
	struct ring_card *card;

	memset(bars[i] + RING_CONTROL_SIZE, (int)i, 4096);
	card = ring_card_create(&bus, &config);
	if (!card)
		abort();
	ring_card_power_on(card);
	ring_card_set_ram(card, &ram);
	shared_write32(bars[i] + RING_CONTROL, RING_CONTROL_MASTER);
	shared_write64(bars[i] + RING_BAR_ADDRESS, BAR_AT(i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	if (!ram.base) {
		ram.base = aligned_alloc(4096, RAM_SIZE);
		for (unsigned int i = 0; i < CARDS; i++)
			bars[i] = aligned_alloc(4096, BAR_SIZE);
	}
	ram.size = RAM_SIZE;
	ram.low = RAM_SIZE;
	ram.start = 0;
	memset(ram.base, 0, RAM_SIZE);
	now = 1;
	for (unsigned int i = 0; i < CARDS; i++)
		make_card(i);
	while (in.left)
		act(&in);
	run_cards();
	while (bus.count)
		ring_card_destroy(bus.cards[0]);
	return 0;
}

/* --- the corpus ------------------------------------------------------------------------------ */

/* As the bytes of an input are read: action, engine, opcode, flags, segments, src, dst, len, ... */
#define COPY(opcode, flags, segments, src, dst, len) \
	DESCRIPTOR, 0, opcode, flags, segments, src, 0x10, 0, dst, 0x20, 0, \
	(len) & 0xff, (len) >> 8, 0, 0, 0

#define SEED(...) { (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }) }

static const struct {
	const uint8_t *bytes;
	size_t size;
} seeds[] = {
	SEED(COPY(RING_OP_H2D, 1, 0, 0, 0, 0x300), COPY(RING_OP_D2H, 5, 0, 0, 0, 0x40), RUN),
	SEED(COPY(RING_OP_D2D, 4, 0, 0, 6, 0x100), COPY(RING_OP_D2D, 0, 0, 0, 0, 8), RUN),
	SEED(DESCRIPTOR, 1, RING_OP_FILL, 1, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0,
	     4, 9, RUN),
	SEED(SEGMENTS, 0, 1, 0, 0, 2, 0, 1, 0, 8, 0, 0, 0, 0, 9, 0, 8, 0, 0, 0,
	     DESCRIPTOR, 0, RING_OP_H2D, RING_FLAG_LIST, 2, 0, 16, 0, 0, 0, 0, 16, 0, 0, 0, 0, RUN),
	SEED(COPY(RING_OP_D2H, 1, 0, 0, 9, 0x80), RUN, WRITE_REGISTER, 65, 2, 0, 0, 0, RUN),
	SEED(COPY(RING_OP_CHECKSUM, 0, 0, 0, 255, 16), RUN, WRITE_ENGINE, 2, 255, 0, 0, 0, RUN),
	SEED(COPY(RING_OP_FENCE, 0x19, 0, 255, 0, 0), TIME, 1, 1, 1, 1, RUN, REPLUG, 2, RUN),
	SEED(CONTROL_LINE, 9, 0, 0, 0, 'l', 'a', 't', 'e', ' ', 'n', 's', '=', '5',
	     COPY(RING_OP_H2D, 1, 0, 0, 0, 8), RUN, TIME, 9, 0, 0, 0, RUN),
	SEED(CONTROL_LINE, 13, 0, 0, 0, 's', 't', 'o', 'r', 'm', ' ', 'e', 'v', 'e', 'r', 'y', '=',
	     '1', COPY(RING_OP_H2D, 1, 0, 0, 0, 8), COPY(RING_OP_D2H, 1, 0, 0, 0, 8), RUN),
	SEED(MANY_SEGMENTS, 0, 16, 0, 0, 0, 0, 16, 0, RUN),
	SEED(CONTROL_LINE, 13, 0, 0, 0, 'l', 'a', 't', 'e', ' ', 'c', 'o', 'u', 'n', 't', '=',
	     '9', '9', COPY(RING_OP_H2D, 1, 0, 0, 0, 8), COPY(RING_OP_D2H, 1, 0, 0, 0, 8), RUN),
	SEED(CONTROL_LINE, 24, 1, 0, 0, [5 ... 284] = 'x', RUN),
	SEED(COPY(99, 0, 0, 0, 0, 8), COPY(RING_OP_D2D, RING_FLAG_LINK, 0, 0, 6, 8), RUN,
	     COPY(RING_OP_FENCE, RING_FLAG_LINK | RING_FLAG_IRQ, 0, 255, 0, 0), RUN),
	SEED(CONTROL_LINE, 13, 0, 0, 0, 'r', 'e', 'c', 'o', 'r', 'd', ' ', 'o', 'p', '=', 'd', '2',
	     'h', COPY(RING_OP_D2H, 0, 0, 0, 0, 64), RUN,
	     CONTROL_LINE, 4, 0, 0, 0, 't', 'i', 'm', 'e', RUN),
	SEED(RAM_SPLIT, 0, 0, 8, 0, COPY(RING_OP_D2H, 1, 0, 0, 5, 0x80), RUN),
};

static void write_corpus(const char *directory)
{
	char path[4096];

	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/%zu", directory, i);
		file = fopen(path, "wb");
		if (!file || fwrite(seeds[i].bytes, seeds[i].size, 1, file) != 1 || fclose(file)) {
			perror(path);
			exit(1);
		}
	}
	exit(0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (*argc == 3 && !strcmp((*argv)[1], "--corpus"))
		write_corpus((*argv)[2]);
	return 0;
}
