// SPDX-License-Identifier: MIT
/* Descriptors that are carried out only if the one before has ended well. */
#include "fixture.h"

#define MS	1000000u

static struct ring_descriptor linked(struct ring_descriptor d)
{
	d.flags |= RING_FLAG_LINK;
	return d;
}

static struct ring_descriptor bad(void)
{
	return (struct ring_descriptor){ .opcode = 99 };
}

/* One of each opcode, all of them good. */
static struct ring_descriptor any(unsigned int opcode)
{
	struct ring_descriptor d = { .opcode = (uint8_t)opcode, .len = 8 };

	if (opcode == RING_OP_H2D)
		d.src = HOST;
	if (opcode == RING_OP_D2H)
		d.dst = HOST;
	if (opcode == RING_OP_D2D)
		d.src = 64;
	if (opcode == RING_OP_FILL)
		d.pattern_size = 1;
	if (opcode == RING_OP_FENCE)
		d.len = 0;
	return d;
}

static void is_cancelled(struct ring_descriptor d)
{
	unsigned int *raised = &w.cards[0].raised[RING_VECTOR_ENGINE(0)], before = *raised;
	uint64_t bytes = w.card->counters.bytes;
	struct ring_completion c = carry(d);

	check_eq(c.status, RING_CANCELLED);
	check_eq(c.bytes, 0);
	check_eq(c.checksum, 0);
	check_eq(c.detail, 0);
	check_eq(w.card->counters.bytes, bytes);
	check_eq(*raised, before + 1);
}

static void after_a_good_one(void)
{
	fill_random(host(HOST), 64, 1);
	check_eq(carry(h2d(0, HOST, 64)).status, RING_OK);
	check_eq(carry(linked(d2d(100, 0, 64))).status, RING_OK);
	check_eq(carry(linked(d2h(HOST + 64, 100, 64))).status, RING_OK);
	check(!memcmp(host(HOST), host(HOST + 64), 64));
}

static void after_a_bad_one(void)
{
	for (unsigned int opcode = RING_OP_H2D; opcode <= RING_OP_FENCE; opcode++) {
		check_eq(carry(linked(any(opcode))).status, RING_OK);
		check_eq(carry(bad()).status, RING_BAD_OPCODE);
		is_cancelled(linked(any(opcode)));
		check_eq(carry(any(opcode)).status, RING_OK);
		check_eq(carry(linked(any(opcode))).status, RING_OK);
	}
}

/* Also if all of it is published at once. */
static void to_the_end_of_a_chain(void)
{
	struct ring_completion c;

	fill_random(host(HOST), 8, 1);
	submit(0, h2d(MEM_SIZE, HOST, 8));
	for (unsigned int i = 0; i < 100; i++)
		submit(0, linked(h2d(8 * i, HOST, 8)));
	submit(0, h2d(8, HOST, 8));
	submit(0, linked(h2d(16, HOST, 8)));
	run();
	check(complete(0, &c) && c.status == RING_BAD_CARD_ADDRESS);
	for (unsigned int i = 0; i < 100; i++)
		check(complete(0, &c) && c.status == RING_CANCELLED && !c.bytes);
	for (unsigned int i = 0; i < 2; i++)
		check(complete(0, &c) && c.status == RING_OK && c.bytes == 8);
	check_eq(shared_read64(mem(0)), 0);
	check(!memcmp(mem(8), host(HOST), 8) && !memcmp(mem(16), host(HOST), 8));
	check_eq(shared_read64(mem(24)), 0);
}

static void first_after_a_reset(void)
{
	check_eq(carry(linked(fence())).status, RING_OK);
	check_eq(carry(bad()).status, RING_BAD_OPCODE);
	engine_put(0, RING_E_COMMAND, 0x100 | RING_COMMAND_RESET);
	run();
	check_eq(carry(linked(fence())).status, RING_OK);
	check_eq(carry(bad()).status, RING_BAD_OPCODE);
	put(RING_COMMAND, 0x100 | RING_COMMAND_RESET);
	run();
	check_eq(carry(linked(fence())).status, RING_OK);
}

static void of_this_engine_only(void)
{
	struct ring_completion c;

	check_eq(carry(bad()).status, RING_BAD_OPCODE);
	submit(1, linked(fence()));
	run();
	check(complete(1, &c) && c.status == RING_OK);
	is_cancelled(linked(fence()));
}

/* Behind STALE, before all else; and both count as not OK. */
static void order_of_checks(void)
{
	struct ring_descriptor d = { .opcode = 99, .flags = 0xff, .generation = 12345,
				     .src = UINT64_MAX, .dst = UINT64_MAX };

	put(RING_CONTROL, 0);
	check_eq(carry(d).status, RING_STALE);
	is_cancelled(linked(fence()));
	check_eq(carry(d).status, RING_STALE);
	d.generation = 0;
	is_cancelled(d);
	check_eq(carry(fence()).status, RING_OK);
	check_eq(carry(d).status, RING_BAD_OPCODE);
}

/* Nothing is waited for. */
static void at_once(void)
{
	struct ring_completion c;

	check_eq(carry(bad()).status, RING_BAD_OPCODE);
	check(order("set latency=1000000"));
	submit(0, linked(fence()));
	run();
	check(complete(0, &c) && c.status == RING_CANCELLED && c.time == w.now);
}

/* The gate shuts in the middle of the one before. */
static void one_that_was_cut(void)
{
	struct ring_completion c;

	submit(0, d2h(HOST, 0, 4u << 20));
	submit(0, linked(d2d(0, 64, 8)));
	ring_card_run(w.card);
	put(RING_CONTROL, 0);
	run();
	check(complete(0, &c) && c.status == RING_NO_MASTER && c.bytes);
	check(complete(0, &c) && c.status == RING_CANCELLED && !c.bytes);
}

/* What the card has done counts, not what a fault lets the host see of it. */
static void with_faults(void)
{
	static const char *const good[] = {
		"drop", "late", "twice", "reorder", "wrong-id", "wrong-generation", "wrong-length",
		"corrupt", "irq-lose", "irq-repeat", "irq-delay",
	};
	struct ring_completion c;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		check(order(good[i]));
		shared_write64(mem(0), 0);
		submit(0, fill_with(64, 8, 1, 8));
		submit(0, linked(d2d(0, 32, 8)));
		memset(mem(32), 0x77, 8);
		run_for(1000 * MS);
		check_eq(shared_read64(mem(0)), 0x7777777777777777);
		while (complete(0, &c))
			check_eq(c.status, RING_OK);
	}
	check(order("fail"));
	submit(0, fill_with(64, 8, 1, 8));
	submit(0, linked(fence()));
	run();
	check(complete(0, &c) && c.status == RING_DATA_ERROR);
	check(complete(0, &c) && c.status == RING_CANCELLED);
	check(order("fail"));
	check(order("drop"));
	check_eq(carry(fill_with(64, 8, 1, 8)).status, 0);
	is_cancelled(linked(fence()));
	is_cancelled(linked(fence()));
}

int main(void)
{
	RUN(after_a_good_one);
	RUN(after_a_bad_one);
	RUN(to_the_end_of_a_chain);
	RUN(first_after_a_reset);
	RUN(of_this_engine_only);
	RUN(order_of_checks);
	RUN(at_once);
	RUN(one_that_was_cut);
	RUN(with_faults);
	return tests_end();
}
