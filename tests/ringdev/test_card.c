// SPDX-License-Identifier: MIT
/* Registers, commands, resets, the gate, limits of time, what a wild host does. */
#include "fixture.h"

#define MS	1000000u
#define S	1000000000ull

static void engine_command(unsigned int engine, uint32_t code)
{
	static uint32_t tag;

	code |= ++tag << 8;
	engine_put(engine, RING_E_COMMAND, code);
	run();
	check_eq(engine_get(engine, RING_E_COMMAND_DONE), code);
}

static void registers(void)
{
	check_eq(get(RING_MAGIC), RING_MAGIC_VALUE);
	check(!memcmp(w.cards[0].bar, "RING", 4));
	check_eq(get(RING_VERSION), 0x10001);
	check_eq(get(RING_CAPS), 0x7f);
	check_eq(get(RING_ENGINES), ENGINES);
	check_eq(shared_read64(w.cards[0].bar + RING_MEM_OFFSET), RING_CONTROL_SIZE);
	check_eq(shared_read64(w.cards[0].bar + RING_MEM_SIZE), MEM_SIZE);
	check_eq(get(RING_MAX_XFER_REG), RING_MAX_XFER);
	check_eq(get(RING_MAX_SEGMENTS_REG), RING_MAX_SEGMENTS);
	check_eq(get(RING_ENTRIES_REG), RING_ENTRIES);
	check_eq(get(RING_DMA_BITS), 64);
	check_eq(get(RING_STATUS), RING_STATUS_READY | RING_STATUS_MASTER);
	check_eq(get(RING_GENERATION), 1);
	for (unsigned int e = 0; e < ENGINES; e++)
		check_eq(engine_get(e, RING_E_GENERATION), 1);
	check_eq(engine_get(ENGINES, RING_E_GENERATION), 0);
}

/* The card keeps what it owns, whatever the host writes there. */
static void registers_of_the_card_are_its_own(void)
{
	fill_random(w.cards[0].bar, RING_CONTROL, 1);
	for (uint32_t at = RING_SQ_HEAD; at < 0x1000; at += 4)
		engine_put(0, at, 0xdeadbeef);
	memset(w.cards[0].bar + RING_CQ(0), 0xff, RING_ENTRIES * sizeof(struct ring_completion));
	check_eq(carry((struct ring_descriptor){ .opcode = RING_OP_FENCE, .generation = 1 }).status,
		 RING_OK);
	check_eq(engine_get(0, RING_SQ_HEAD), 1);
	check_eq(engine_get(0, RING_CQ_TAIL), 1);
}

static void commands(void)
{
	put(RING_COMMAND, 0x100 | RING_COMMAND_PING);
	run();
	check_eq(get(RING_COMMAND_DONE), 0x100 | RING_COMMAND_PING);
	check_eq(get(RING_COMMAND_RESULT), RING_RESULT_OK);
	check_eq(w.cards[0].raised[RING_VECTOR_DEVICE], 1);
	run();
	check_eq(w.cards[0].raised[RING_VECTOR_DEVICE], 1);
	put(RING_COMMAND, 0x2ff);
	run();
	check_eq(get(RING_COMMAND_DONE), 0x2ff);
	check_eq(get(RING_COMMAND_RESULT), RING_RESULT_UNKNOWN);
	check_eq(get(RING_GENERATION), 1);
	engine_command(3, RING_COMMAND_PING);
	check_eq(engine_get(3, RING_E_COMMAND_RESULT), RING_RESULT_OK);
	engine_command(3, 9);
	check_eq(engine_get(3, RING_E_COMMAND_RESULT), RING_RESULT_UNKNOWN);
	check_eq(engine_get(3, RING_E_GENERATION), 1);
}

static void reset_of_an_engine(void)
{
	struct ring_completion c;

	*mem(5) = 5;
	submit(0, fence());
	submit(1, fence());
	run();
	submit(0, fence());
	engine_command(0, RING_COMMAND_RESET);
	check_eq(engine_get(0, RING_E_GENERATION), 2);
	check_eq(engine_get(0, RING_SQ_TAIL), 0);
	check_eq(engine_get(0, RING_SQ_HEAD), 0);
	check_eq(engine_get(0, RING_CQ_TAIL), 0);
	check_eq(engine_get(0, RING_CQ_HEAD), 0);
	check_eq(shared_read64(w.cards[0].bar + RING_CQ(0)), 0);
	check_eq(shared_read64(w.cards[0].bar + RING_SQ(0)), 0);
	check(!complete(0, &c));
	check_eq(*mem(5), 5);
	/* The others do not notice. */
	check_eq(engine_get(1, RING_E_GENERATION), 1);
	check(complete(1, &c));
	check_eq(get(RING_GENERATION), 1);
	check_eq(carry((struct ring_descriptor){ .opcode = RING_OP_FENCE, .generation = 1 }).status,
		 RING_STALE);
	check_eq(carry(fence()).status, RING_OK);
}

static void reset_of_the_card(void)
{
	struct ring_completion c;
	unsigned int pinged;

	*mem(5) = 5;
	engine_command(2, RING_COMMAND_PING);
	submit(2, fence());
	run();
	submit(2, fence());
	pinged = w.cards[0].raised[RING_VECTOR_DEVICE];
	check_eq(pinged, 1);
	put(RING_COMMAND, RING_COMMAND_RESET);
	run();
	check_eq(get(RING_COMMAND_DONE), RING_COMMAND_RESET);
	check_eq(get(RING_GENERATION), 2);
	check_eq(get(RING_CONTROL), 0);
	check_eq(get(RING_STATUS), RING_STATUS_READY);
	check_eq(get(RING_MAGIC), RING_MAGIC_VALUE);
	check_eq(shared_read64(w.cards[0].bar + RING_BAR_ADDRESS), BAR_AT(0));
	/* The reset has shut the gate. */
	check_eq(w.cards[0].raised[RING_VECTOR_DEVICE], pinged);
	for (unsigned int e = 0; e < ENGINES; e++)
		check_eq(engine_get(e, RING_E_GENERATION), 2);
	run();
	check_eq(engine_get(2, RING_E_COMMAND_DONE), 0);
	check_eq(engine_get(2, RING_E_COMMAND_RESULT), RING_RESULT_OK);
	check(!complete(2, &c));
	check_eq(*mem(5), 5);
	run();
	check_eq(get(RING_GENERATION), 2);
	check_eq(carry(fence()).status, RING_OK);
	check_eq(carry(h2d(0, HOST, 8)).status, RING_NO_MASTER);
}

static void generations_go_round(void)
{
	w.card->engines[0].generation = UINT32_MAX - 2;
	engine_command(0, RING_COMMAND_RESET);
	check_eq(engine_get(0, RING_E_GENERATION), UINT32_MAX - 1);
	engine_command(0, RING_COMMAND_RESET);
	check_eq(engine_get(0, RING_E_GENERATION), 1);
}

/* Half a transfer, as far as one turn of the engine takes it. */
static void begin_long_transfer(void)
{
	memset(host(HOST), 0, 4u << 20);
	memset(mem(0), 0xaa, 4u << 20);
	submit(0, d2h(HOST, 0, 4u << 20));
	check_eq(ring_card_run(w.card), 0);
	check_eq(*host(HOST), 0xaa);
	check_eq(*host(HOST + (4u << 20) - 1), 0);
}

static void a_reset_stops_a_transfer(void)
{
	struct ring_completion c;

	begin_long_transfer();
	memset(host(HOST), 0, 4u << 20);
	engine_command(0, RING_COMMAND_RESET);
	for (unsigned int i = 0; i < 4; i++)
		check_eq(*host(HOST + (i << 20)), 0);
	check(!complete(0, &c));
	begin_long_transfer();
	memset(host(HOST), 0, 4u << 20);
	put(RING_COMMAND, RING_COMMAND_RESET);
	run();
	for (unsigned int i = 0; i < 4; i++)
		check_eq(*host(HOST + (i << 20)), 0);
	check(!complete(0, &c));
}

static void the_gate_stops_a_transfer(void)
{
	struct ring_completion c;

	begin_long_transfer();
	put(RING_CONTROL, 0);
	run();
	check_eq(get(RING_STATUS), RING_STATUS_READY);
	check(complete(0, &c));
	check_eq(c.status, RING_NO_MASTER);
	check_eq(c.bytes, 1u << 20);
	check_eq(*host(HOST + (1u << 20)), 0);
	/* It shuts while a fence waits for its time. */
	put(RING_CONTROL, RING_CONTROL_MASTER);
	check(order("set latency=1000000"));
	submit(0, (struct ring_descriptor){ .opcode = RING_OP_FENCE, .flags = RING_FLAG_WRITE,
					    .dst = LIST, .pattern = 1 });
	run();
	put(RING_CONTROL, 0);
	run_for(MS);
	check(complete(0, &c));
	check_eq(c.status, RING_NO_MASTER);
	check_eq(*host(LIST), 0);
}

static void reset_engine_1(void)
{
	engine_put(1, RING_E_COMMAND, RING_COMMAND_RESET);
}

static void shut_the_gate(void)
{
	put(RING_CONTROL, 0);
}

/* While the card is at work on another engine, which the host hears of by an interrupt. */
static void between_two_engines(void)
{
	struct ring_descriptor d = fence();
	struct ring_completion c;

	fill_random(mem(0), 8, 1);
	d.flags = RING_FLAG_IRQ;
	w.on_interrupt = reset_engine_1;
	submit(0, d);
	submit(1, d2h(HOST, 0, 8));
	run();
	check_eq(engine_get(1, RING_E_GENERATION), 2);
	check(!complete(1, &c));
	check_eq(shared_read64(host(HOST)), 0);
	w.on_interrupt = shut_the_gate;
	submit(0, d);
	submit(1, d2h(HOST, 0, 8));
	run();
	check(complete(1, &c));
	check_eq(c.status, RING_NO_MASTER);
	check_eq(shared_read64(host(HOST)), 0);
}

static void interrupts(void)
{
	const unsigned int *raised = &w.cards[0].raised[RING_VECTOR_ENGINE(1)];
	struct ring_descriptor d = fence();

	submit(1, d);
	run();
	check_eq(*raised, 0);
	d.flags = RING_FLAG_IRQ;
	submit(1, d);
	run();
	check_eq(*raised, 1);
	/* One for several that are done together. */
	for (unsigned int i = 0; i < 64; i++)
		submit(1, d);
	run();
	check_eq(*raised, 2);
	/* Also while the gate is shut. */
	put(RING_CONTROL, 0);
	submit(1, d);
	run();
	check_eq(*raised, 3);
	check_eq(w.cards[0].raised[RING_VECTOR_ENGINE(0)], 0);
	check_eq(w.cards[0].raised[RING_VECTOR_DEVICE], 0);
}

/* The host has no room for completions: the engine waits, and loses nothing. */
static void completion_ring_full(void)
{
	struct ring_completion c;

	for (unsigned int i = 0; i < RING_ENTRIES; i++)
		submit(0, fence());
	run();
	submit(0, fence());
	run();
	check_eq(engine_get(0, RING_CQ_TAIL), RING_ENTRIES);
	check_eq(engine_get(0, RING_SQ_HEAD), RING_ENTRIES);
	check(w.next > w.now && w.next <= w.now + MS);
	check(complete(0, &c));
	run_for(2 * MS);
	check_eq(engine_get(0, RING_CQ_TAIL), RING_ENTRIES + 1);
	for (unsigned int i = 0; i < RING_ENTRIES; i++)
		check(complete(0, &c) && c.descriptor == i + 1);
	check(!complete(0, &c));
	check_eq(w.next, RING_NEVER);
}

static void check_halted(uint32_t error)
{
	struct ring_completion c;

	check_eq(engine_get(0, RING_E_STATUS), RING_E_HALTED);
	check_eq(engine_get(0, RING_E_ERROR), error);
	check_eq(w.cards[0].raised[RING_VECTOR_DEVICE], 1);
	check_eq(w.next, RING_NEVER);
	/* What a fault holds back comes after the reset. */
	engine_put(0, RING_E_COMMAND, 0xff00 | RING_COMMAND_RESET);
	run();
	while (complete(0, &c))
		check_eq(c.generation, 1);
	engine_command(0, RING_COMMAND_RESET);
	check_eq(engine_get(0, RING_E_STATUS), RING_E_IDLE);
	check_eq(engine_get(0, RING_E_ERROR), 0);
	check_eq(carry(fence()).status, RING_OK);
}

static void wild_submission_index(void)
{
	engine_put(0, RING_SQ_TAIL, RING_ENTRIES + 1);
	run();
	check_eq(engine_get(0, RING_SQ_HEAD), 0);
	check_halted(RING_E_ERROR_SQ);
}

static void submission_index_goes_back(void)
{
	check_eq(carry(fence()).status, RING_OK);
	engine_put(0, RING_SQ_TAIL, 0);
	run();
	check_halted(RING_E_ERROR_SQ);
}

static void wild_completion_index(void)
{
	engine_put(0, RING_CQ_HEAD, 1);
	submit(0, fence());
	run();
	check_halted(RING_E_ERROR_CQ);
}

/* Room was there for the descriptor, and is gone when it is done. */
static void completion_index_goes_back(void)
{
	for (unsigned int i = 0; i < RING_ENTRIES; i++)
		check_eq(carry(fence()).status, RING_OK);
	check(order("late ns=1000000 count=2"));
	submit(0, fence());
	submit(0, fence());
	run();
	engine_put(0, RING_CQ_HEAD, 0);
	run_for(2 * MS);
	check_halted(RING_E_ERROR_CQ);
}

static void latency(void)
{
	struct ring_completion c;

	check(order("set latency=1000000"));
	for (unsigned int e = 0; e < ENGINES; e++)
		for (unsigned int i = 0; i < 10; i++)
			submit(e, fill_with(0, 8, 0, 1));
	run();
	check_eq(engine_get(0, RING_E_STATUS), RING_E_RUNNING);
	check_eq(engine_get(0, RING_CQ_TAIL), 0);
	check_eq(w.next, w.now + MS);
	run_for(10 * MS);
	/* Engines wait at the same time. */
	for (unsigned int e = 0; e < ENGINES; e++) {
		for (unsigned int i = 0; i < 10; i++) {
			check(complete(e, &c));
			check_eq(c.time, 1000 + (i + 1) * MS);
		}
	}
	check_eq(w.next, RING_NEVER);
}

/* One link for all engines, each direction of its own; what stays inside does not use it. */
static void rate(void)
{
	struct ring_completion c;

	check(order("set rate=1M latency=5"));
	submit(0, h2d(0, HOST, 1u << 20));
	submit(1, h2d(0, HOST, 1u << 19));
	submit(2, d2h(HOST, 0, 1u << 20));
	submit(3, d2d(0, 1u << 20, 1u << 20));
	run_for(2 * S);
	check(complete(0, &c));
	check_eq(c.time, 1000 + S + 5);
	check(complete(1, &c));
	check_eq(c.time, 1000 + S + S / 2 + 5);
	check(complete(2, &c));
	check_eq(c.time, 1000 + S + 5);
	check(complete(3, &c));
	check_eq(c.time, 1000 + 5);
}

/* A long transfer of one engine is cut, so that others get through. */
static void turns(void)
{
	submit(0, d2d(0, 3u << 20, 3u << 20));
	submit(1, fence());
	check_eq(ring_card_run(w.card), 0);
	check_eq(engine_get(0, RING_CQ_TAIL), 0);
	check_eq(engine_get(1, RING_CQ_TAIL), 1);
}

static void power(void)
{
	struct ring_completion c;

	check(order("set latency=1000000"));
	submit(0, d2h(HOST, 0, 8));
	run();
	ring_card_power_off(w.card);
	check(!w.card->ram);
	engine_put(0, RING_SQ_TAIL, 5);
	run_for(2 * MS);
	check_eq(w.next, RING_NEVER);
	check_eq(engine_get(0, RING_CQ_TAIL), 0);
	ring_card_power_on(w.card);
	ring_card_set_ram(w.card, &w.ram);
	run();
	check_eq(get(RING_GENERATION), 3);
	check_eq(engine_get(0, RING_SQ_TAIL), 0);
	check(!complete(0, &c));
	submit(0, fence());
	run_for(2 * MS);
	check(complete(0, &c) && c.status == RING_OK);
}

int main(void)
{
	RUN(registers);
	RUN(registers_of_the_card_are_its_own);
	RUN(commands);
	RUN(reset_of_an_engine);
	RUN(reset_of_the_card);
	RUN(generations_go_round);
	RUN(a_reset_stops_a_transfer);
	RUN(the_gate_stops_a_transfer);
	RUN(between_two_engines);
	RUN(interrupts);
	RUN(completion_ring_full);
	RUN(wild_submission_index);
	RUN(submission_index_goes_back);
	RUN(wild_completion_index);
	RUN(completion_index_goes_back);
	RUN(latency);
	RUN(rate);
	RUN(turns);
	RUN(power);
	return tests_end();
}
