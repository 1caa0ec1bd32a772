// SPDX-License-Identifier: MIT
#include "fixture.h"

struct world w;
char reply[256];

static unsigned int number, wrong, failed;

void check_at(bool good, const char *function, int line, const char *text)
{
	if (good)
		return;
	wrong++;
	printf("# %s:%d: not so: %s\n", function, line, text);
}

void check_eq_at(uint64_t got, uint64_t wanted, const char *function, int line, const char *text)
{
	if (got == wanted)
		return;
	wrong++;
	printf("# %s:%d: %s is %#llx, not %#llx\n", function, line, text,
	       (unsigned long long)got, (unsigned long long)wanted);
}

static void raise_vector(void *owner, unsigned int vector)
{
	struct card_of_world *card = owner;

	card->raised[vector]++;
	if (w.on_interrupt)
		w.on_interrupt();
}

static uint64_t now(void *owner)
{
	return ((struct card_of_world *)owner)->world->now;
}

static const struct ring_ops ops = { .raise = raise_vector, .now = now };

static void add_card(unsigned int i)
{
	struct card_of_world *card = &w.cards[i];
	struct ring_config config = {
		.bar_size = BAR_SIZE, .engines = ENGINES, .seed = 1, .ops = &ops, .owner = card,
	};

	/* Of the heap, so that a sanitizer sees a step beside it. */
	card->world = &w;
	card->bar = aligned_alloc(4096, BAR_SIZE);
	memset(card->bar, 0, BAR_SIZE);
	config.bar = card->bar;
	card->card = ring_card_create(&w.bus, &config);
	ring_card_power_on(card->card);
	ring_card_set_ram(card->card, &w.ram);
	shared_write64(card->bar + RING_BAR_ADDRESS, BAR_AT(i));
}

static void make_world(void)
{
	memset(&w, 0, sizeof(w));
	w.now = 1000;
	w.cookie = 0x1000;
	w.ram = (struct ring_ram){ aligned_alloc(4096, RAM_SIZE), RAM_SIZE, RAM_SIZE, 0 };
	memset(w.ram.base, 0, RAM_SIZE);
	for (unsigned int i = 0; i < CARDS; i++)
		add_card(i);
	w.card = w.cards[0].card;
	put(RING_CONTROL, RING_CONTROL_MASTER);
	run();
}

static void end_world(void)
{
	for (unsigned int i = 0; i < CARDS; i++) {
		ring_card_destroy(w.cards[i].card);
		free(w.cards[i].bar);
	}
	free(w.ram.base);
}

void run_test(void (*test)(void), const char *name)
{
	make_world();
	test();
	end_world();
	failed += !!wrong;
	printf("%sok %u - %s\n", wrong ? "not " : "", ++number, name);
	fflush(stdout);
	wrong = 0;
}

int tests_end(void)
{
	printf("1..%u\n", number);
	return !!failed;
}

uint32_t get(uint32_t reg)
{
	return shared_read32(w.cards[0].bar + reg);
}

void put(uint32_t reg, uint32_t value)
{
	shared_write32(w.cards[0].bar + reg, value);
}

uint32_t engine_get(unsigned int engine, uint32_t reg)
{
	return get(RING_ENGINE(engine) + reg);
}

void engine_put(unsigned int engine, uint32_t reg, uint32_t value)
{
	put(RING_ENGINE(engine) + reg, value);
}

uint8_t *mem(uint64_t offset)
{
	return w.cards[0].bar + RING_CONTROL_SIZE + offset;
}

uint8_t *peer_mem(uint64_t offset)
{
	return w.cards[1].bar + RING_CONTROL_SIZE + offset;
}

uint8_t *host(uint64_t address)
{
	return w.ram.base + address;
}

void fill_random(uint8_t *to, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		to[i] = (uint8_t)fault_random(&seed);
}

void run(void)
{
	unsigned int turns = 0;

	do
		w.next = ring_card_run(w.card);
	while (w.next <= w.now && ++turns < 100000);
	check(turns < 100000);
}

void run_for(uint64_t ns)
{
	uint64_t end = w.now + ns;

	run();
	while (w.next <= end) {
		w.now = w.next;
		run();
	}
	w.now = end;
}

uint64_t submit(unsigned int engine, struct ring_descriptor d)
{
	uint32_t tail = engine_get(engine, RING_SQ_TAIL);

	d.cookie = ++w.cookie;
	if (!d.generation)
		d.generation = engine_get(engine, RING_E_GENERATION);
	memcpy(w.cards[0].bar + RING_SQ(engine) + tail % RING_ENTRIES * sizeof(d), &d, sizeof(d));
	engine_put(engine, RING_SQ_TAIL, tail + 1);
	return d.cookie;
}

bool complete(unsigned int engine, struct ring_completion *c)
{
	uint32_t head = engine_get(engine, RING_CQ_HEAD);

	memset(c, 0, sizeof(*c));
	if (head == engine_get(engine, RING_CQ_TAIL))
		return false;
	memcpy(c, w.cards[0].bar + RING_CQ(engine) + head % RING_ENTRIES * sizeof(*c), sizeof(*c));
	check_eq(c->number, head);
	engine_put(engine, RING_CQ_HEAD, head + 1);
	return true;
}

struct ring_completion carry(struct ring_descriptor d)
{
	struct ring_completion c, second;
	uint64_t cookie = submit(0, d);

	run();
	if (complete(0, &c)) {
		check_eq(c.cookie, cookie);
		check(!complete(0, &second));
	}
	return c;
}

struct ring_descriptor h2d(uint64_t dst, uint64_t src, uint64_t len)
{
	return (struct ring_descriptor){ .opcode = RING_OP_H2D, .src = src, .dst = dst,
					 .len = len };
}

struct ring_descriptor d2h(uint64_t dst, uint64_t src, uint64_t len)
{
	return (struct ring_descriptor){ .opcode = RING_OP_D2H, .src = src, .dst = dst,
					 .len = len };
}

struct ring_descriptor d2d(uint64_t dst, uint64_t src, uint64_t len)
{
	return (struct ring_descriptor){ .opcode = RING_OP_D2D, .src = src, .dst = dst,
					 .len = len };
}

struct ring_descriptor fill_with(uint64_t dst, uint64_t len, uint64_t pattern, uint32_t size)
{
	return (struct ring_descriptor){ .opcode = RING_OP_FILL, .dst = dst, .len = len,
					 .pattern = pattern, .pattern_size = size };
}

struct ring_descriptor fence(void)
{
	return (struct ring_descriptor){ .opcode = RING_OP_FENCE };
}

void segment(unsigned int i, uint64_t address, uint32_t len)
{
	struct ring_segment s = { .address = address, .len = len };

	memcpy(host(LIST + i * sizeof(s)), &s, sizeof(s));
}

bool order(const char *line)
{
	ring_command(&w.bus, line, reply, sizeof(reply));
	return !strncmp(reply, "ok", 2);
}

uint32_t crc_of(const uint8_t *data, size_t len)
{
	return ~crc32c(~0u, data, len);
}
