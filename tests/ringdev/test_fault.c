// SPDX-License-Identifier: MIT
/* Each way of misbehaving, alone; a storm; the control protocol. */
#include "fixture.h"

#define MS	1000000u

static const unsigned int *const raised = &w.cards[0].raised[RING_VECTOR_ENGINE(0)];

static struct ring_descriptor told(struct ring_descriptor d)
{
	d.flags |= RING_FLAG_IRQ;
	return d;
}

static void reset_engine(void)
{
	static uint32_t tag;

	engine_put(0, RING_E_COMMAND, ++tag << 8 | RING_COMMAND_RESET);
	run();
}

/* The fault is over: the next one is good. */
static void check_good(void)
{
	struct ring_completion c;
	unsigned int before = *raised;
	uint64_t cookie = submit(0, told(fence()));

	run();
	check(complete(0, &c));
	check_eq(c.cookie, cookie);
	check_eq(c.status, RING_OK);
	check_eq(c.generation, engine_get(0, RING_E_GENERATION));
	check_eq(*raised, before + 1);
	check(!complete(0, &c));
}

static void stall(void)
{
	struct ring_completion c;

	check(order("stall engine=0"));
	fill_random(mem(0), 8, 1);
	submit(0, d2h(HOST, 0, 8));
	submit(1, fence());
	run_for(1000 * MS);
	check_eq(engine_get(0, RING_E_STATUS), RING_E_RUNNING);
	check(!complete(0, &c));
	check(complete(1, &c));
	reset_engine();
	check_eq(engine_get(0, RING_E_GENERATION), 2);
	check_good();
	check_eq(shared_read64(host(HOST)), 0);
	/* Or it wakes up again. */
	check(order("stall"));
	submit(0, d2h(HOST, 0, 8));
	run();
	check(!complete(0, &c));
	check(order("clear"));
	run();
	check(complete(0, &c) && c.status == RING_OK && c.bytes == 8);
	check(!memcmp(host(HOST), mem(0), 8));
}

/* The stalled descriptor and two behind it pass, and no more. */
static void stall_and_resume(void)
{
	struct ring_completion c;

	check(order("stall"));
	for (int i = 0; i < 6; i++)
		submit(0, fence());
	run();
	check(!complete(0, &c));
	check(order("stall after=2"));
	run_for(1000 * MS);
	check(!complete(0, &c));
	check(order("resume"));
	run_for(1000 * MS);
	for (uint32_t i = 0; i < 3; i++)
		check(complete(0, &c) && c.descriptor == i && c.status == RING_OK);
	check(!complete(0, &c));
	check(order("resume"));
	run();
	for (uint32_t i = 3; i < 6; i++)
		check(complete(0, &c) && c.descriptor == i);
	check_good();
}

static void stall_until_the_card_is_reset(void)
{
	struct ring_completion c;

	check(order("stall until=card"));
	submit(0, fence());
	run();
	reset_engine();
	check_eq(engine_get(0, RING_E_GENERATION), 1);
	check_eq(engine_get(0, RING_E_COMMAND_DONE), 0);
	check(!complete(0, &c));
	put(RING_COMMAND, RING_COMMAND_RESET);
	run();
	check_eq(get(RING_GENERATION), 2);
	check_good();
}

static void drop(void)
{
	struct ring_completion c;

	check(order("drop"));
	*mem(0) = 7;
	submit(0, told(d2h(HOST, 0, 1)));
	run_for(1000 * MS);
	check(!complete(0, &c));
	check_eq(*host(HOST), 7);
	check_eq(*raised, 0);
	check_good();
}

static void late(void)
{
	struct ring_completion c;

	check(order("late ns=5000000"));
	submit(0, told(fence()));
	run_for(4 * MS);
	check(!complete(0, &c));
	check_good();
	run_for(2 * MS);
	check(complete(0, &c) && c.descriptor == 0);
	check_eq(*raised, 2);
	check_eq(w.next, RING_NEVER);
}

/* It has been given up, and completes nevertheless. */
static void late_after_a_reset(void)
{
	struct ring_completion c;

	check(order("late ns=5000000"));
	submit(0, fence());
	run();
	reset_engine();
	check_good();
	run_for(6 * MS);
	check(complete(0, &c));
	check_eq(c.generation, 1);
	check_eq(engine_get(0, RING_E_GENERATION), 2);
	/* A reset of the card ends even that. */
	check(order("late ns=5000000"));
	submit(0, fence());
	run();
	put(RING_COMMAND, RING_COMMAND_RESET);
	run_for(6 * MS);
	check(!complete(0, &c));
}

static void twice(void)
{
	struct ring_completion c, again;
	uint64_t cookie;

	check(order("twice"));
	cookie = submit(0, told(fence()));
	run();
	check(complete(0, &c));
	check_eq(c.cookie, cookie);
	check(complete(0, &again));
	check_eq(again.cookie, cookie);
	check_eq(again.number, 1);
	check_good();
}

/* A completion too many never takes the place of one that has to come. */
static void twice_in_a_full_ring(void)
{
	struct ring_completion c;
	unsigned int count = 0;
	uint64_t last = 0;

	check(order("twice after=1 count=1000"));
	for (unsigned int i = 0; i < RING_ENTRIES; i++)
		submit(0, fence());
	run();
	check_eq(engine_get(0, RING_CQ_TAIL), RING_ENTRIES);
	do {
		while (complete(0, &c)) {
			count += c.cookie != last;
			last = c.cookie;
		}
		run_for(2 * MS);
	} while (engine_get(0, RING_CQ_TAIL) != engine_get(0, RING_CQ_HEAD));
	check_eq(count, RING_ENTRIES);
	check_eq(engine_get(0, RING_E_STATUS), RING_E_IDLE);
}

static void reorder(void)
{
	struct ring_completion c;

	check(order("reorder"));
	submit(0, fence());
	submit(0, fence());
	submit(0, fence());
	run();
	check(complete(0, &c) && c.descriptor == 1);
	check(complete(0, &c) && c.descriptor == 0);
	check(complete(0, &c) && c.descriptor == 2);
	check_good();
	/* Behind nothing it comes in the end. */
	check(order("reorder"));
	submit(0, fence());
	run();
	check(!complete(0, &c));
	run_for(100 * MS);
	check(complete(0, &c));
}

/* Completions that are held back have their places, too. */
static void late_in_a_full_ring(void)
{
	struct ring_completion c;
	unsigned int count = 0;

	for (unsigned int i = 0; i < RING_ENTRIES - 3; i++)
		submit(0, fence());
	run();
	check(order("late count=2 ns=1000000"));
	for (unsigned int i = 0; i < 10; i++)
		submit(0, fence());
	run_for(3 * MS);
	check_eq(engine_get(0, RING_CQ_TAIL), RING_ENTRIES);
	while (complete(0, &c)) {
		count++;
		run_for(2 * MS);
	}
	check_eq(count, RING_ENTRIES - 3 + 10);
	check_eq(engine_get(0, RING_E_STATUS), RING_E_IDLE);
}

/* More than can be held back: the rest comes in order. */
static void many_held_back(void)
{
	struct ring_completion c;
	unsigned int count = 0;

	check(order("late count=50 ns=1000000"));
	for (unsigned int i = 0; i < 50; i++)
		submit(0, fence());
	run();
	while (complete(0, &c))
		count++;
	check_eq(count, 50 - RING_MAX_HELD);
	run_for(2 * MS);
	while (complete(0, &c))
		count++;
	check_eq(count, 50);
}

static struct ring_completion with_fault(const char *line, uint64_t *cookie)
{
	struct ring_completion c;

	check(order(line));
	fill_random(host(HOST), 1000, 1);
	*cookie = submit(0, told(h2d(0, HOST, 1000)));
	run();
	check(complete(0, &c));
	check_good();
	return c;
}

static void wrong_id(void)
{
	uint64_t cookie;
	struct ring_completion c = with_fault("wrong-id", &cookie);

	check(c.cookie != cookie);
	check_eq(c.status, RING_OK);
	check(!memcmp(host(HOST), mem(0), 1000));
}

static void wrong_generation(void)
{
	uint64_t cookie;
	struct ring_completion c = with_fault("wrong-generation", &cookie);

	check_eq(c.cookie, cookie);
	check(c.generation != engine_get(0, RING_E_GENERATION));
}

static void wrong_length(void)
{
	uint64_t cookie;
	struct ring_completion c = with_fault("wrong-length", &cookie);

	check_eq(c.cookie, cookie);
	check_eq(c.status, RING_OK);
	check(c.bytes != 1000);
}

static void fail(void)
{
	uint64_t cookie;
	struct ring_completion c = with_fault("fail", &cookie);

	check_eq(c.cookie, cookie);
	check_eq(c.status, RING_DATA_ERROR);
	check_eq(c.bytes, 500);
	check(!memcmp(host(HOST), mem(0), 500));
	check_eq(*mem(500), 0);
}

static void fail_a_fence(void)
{
	struct ring_completion c;

	check(order("fail"));
	c = carry((struct ring_descriptor){ .opcode = RING_OP_FENCE, .flags = RING_FLAG_WRITE,
					    .dst = HOST, .pattern = 1 });
	check_eq(c.status, RING_DATA_ERROR);
	check_eq(*host(HOST), 0);
}

static unsigned int different_bits(const uint8_t *a, const uint8_t *b, size_t len)
{
	unsigned int count = 0;

	for (size_t i = 0; i < len; i++)
		count += (unsigned int)__builtin_popcount(a[i] ^ b[i]);
	return count;
}

/* One bit, which the checksum tells: it is always that of the card's side. */
static void corrupt(void)
{
	struct ring_descriptor d = h2d(0, HOST, 100000);
	struct ring_completion c;

	d.flags = RING_FLAG_CHECKSUM;
	fill_random(host(HOST), 100000, 1);
	check(order("corrupt"));
	c = carry(d);
	check_eq(c.status, RING_OK);
	check_eq(different_bits(mem(0), host(HOST), 100000), 1);
	check_eq(c.checksum, crc_of(mem(0), 100000));
	d = d2h(HOST, 0, 100000);
	d.flags = RING_FLAG_CHECKSUM;
	check(order("corrupt"));
	c = carry(d);
	check_eq(different_bits(mem(0), host(HOST), 100000), 1);
	check_eq(c.checksum, crc_of(mem(0), 100000));
	/* Without being asked for a checksum, too. */
	check(order("corrupt"));
	check_eq(carry(d2d(200000, 0, 100000)).status, RING_OK);
	check_eq(different_bits(mem(0), mem(200000), 100000), 1);
	check(order("corrupt"));
	memset(host(0), 9, 5000);
	check_eq(carry(fill_with(0, 5000, 9, 1)).status, RING_OK);
	check_eq(different_bits(mem(0), host(0), 5000), 1);
	check_good();
}

static void interrupt_lost(void)
{
	struct ring_completion c;

	check(order("irq-lose"));
	submit(0, told(fence()));
	run_for(1000 * MS);
	check_eq(*raised, 0);
	check(complete(0, &c));
	check_good();
}

static void interrupt_repeated(void)
{
	struct ring_completion c;

	check(order("irq-repeat"));
	submit(0, told(fence()));
	run();
	check_eq(*raised, 1);
	check(complete(0, &c));
	run_for(2 * MS);
	check_eq(*raised, 2);
	run_for(100 * MS);
	check_eq(*raised, 2);
	check_good();
}

static void interrupt_delayed(void)
{
	struct ring_completion c;

	check(order("irq-delay ns=3000000"));
	submit(0, told(fence()));
	run_for(2 * MS);
	check_eq(*raised, 0);
	check(complete(0, &c));
	run_for(2 * MS);
	check_eq(*raised, 1);
	check_good();
}

static void flip(void)
{
	check(order("flip offset=1000"));
	check_eq(*mem(1000), 1);
	check(order("flip offset=0x3e8 mask=0x81"));
	check_eq(*mem(1000), 0x80);
	check(order("flip offset=7M card=1") == (MEM_SIZE > 7u << 20));
	check(!order("flip"));
}

static void mute(void)
{
	struct ring_completion c;

	check(order("mute"));
	submit(0, told(fence()));
	put(RING_COMMAND, RING_COMMAND_RESET);
	run_for(1000 * MS);
	check(!complete(0, &c));
	check_eq(get(RING_COMMAND_DONE), 0);
	check_eq(get(RING_MAGIC), RING_MAGIC_VALUE);
	check(order("clear"));
	run();
	check_eq(get(RING_COMMAND_DONE), RING_COMMAND_RESET);
	/* For a while. */
	check(order("mute ns=5000000"));
	submit(0, told(fence()));
	run_for(4 * MS);
	check(!complete(0, &c));
	run_for(2 * MS);
	check(complete(0, &c));
}

static void link_lost(void)
{
	struct ring_completion c;

	fill_random(mem(0), 8, 1);
	submit(0, told(d2h(HOST, 0, 8)));
	check(order("link-down"));
	run();
	for (uint32_t at = 0; at < RING_CONTROL_SIZE; at += 4)
		if (get(at) != UINT32_MAX) {
			check_eq(at, RING_CONTROL_SIZE);
			break;
		}
	put(RING_CONTROL, RING_CONTROL_MASTER);
	put(RING_COMMAND, RING_COMMAND_RESET);
	run_for(1000 * MS);
	check_eq(get(RING_CONTROL), UINT32_MAX);
	check_eq(get(RING_COMMAND), UINT32_MAX);
	check_eq(shared_read64(host(HOST)), 0);
	check_eq(*raised, 0);
	check(order("link-up"));
	run();
	check_eq(get(RING_MAGIC), RING_MAGIC_VALUE);
	check_eq(get(RING_GENERATION), 2);
	check_eq(get(RING_CONTROL), 0);
	check(!complete(0, &c));
	check_good();
}

static void die(void)
{
	check(order("die"));
	check(w.bus.die);
}

static void which_one(void)
{
	struct ring_completion c;

	check(order("drop engine=1 after=2 count=2"));
	for (unsigned int i = 0; i < 6; i++)
		submit(0, fence());
	run();
	for (unsigned int i = 0; i < 6; i++)
		check(complete(0, &c));
	for (unsigned int i = 0; i < 6; i++)
		submit(1, fence());
	run();
	for (unsigned int i = 0; i < 6; i++)
		check(i == 2 || i == 3 || (complete(1, &c) && c.descriptor == i));
	check(!complete(1, &c));
	/* The other card has its own. */
	check(order("drop card=1"));
	check_good();
	check(order("drop count=100"));
	check(order("clear"));
	check_good();
}

/* What comes of 1000 descriptors, as one number. */
static uint32_t storm_of(const char *line)
{
	struct ring_completion c;
	uint32_t sum = 0;

	check(order(line));
	for (unsigned int i = 0; i < 1000; i++) {
		submit(0, told(h2d(0, HOST, 1000)));
		run_for(MS);
		while (complete(0, &c)) {
			c.time = 0;
			c.cookie -= w.cookie;
			c.generation -= engine_get(0, RING_E_GENERATION);
			sum = crc32c(sum, (uint8_t *)&c, sizeof(c));
		}
		if (engine_get(0, RING_SQ_TAIL) - engine_get(0, RING_SQ_HEAD) > 100)
			reset_engine();
	}
	check(order("storm every=0"));
	return sum;
}

static void begin_again(void)
{
	put(RING_COMMAND, (uint32_t)++w.cookie << 8 | RING_COMMAND_RESET);
	run();
	put(RING_CONTROL, RING_CONTROL_MASTER);
	run();
}

static void storm(void)
{
	uint32_t first;

	/* Cards of one seed do not fail in step. */
	check(w.cards[0].card->engines[0].random != w.cards[1].card->engines[0].random);
	first = storm_of("storm every=20 seed=7");
	check(w.card->counters.faults > 20 && w.card->counters.faults < 100);
	begin_again();
	check_eq(storm_of("storm every=20 seed=7"), first);
	begin_again();
	check(storm_of("storm every=20 seed=8") != first);
}

static void storm_of_some_kinds(void)
{
	struct ring_completion c;

	check(order("storm every=1 kinds=fail,wrong-id"));
	for (unsigned int i = 0; i < 200; i++) {
		uint64_t cookie = submit(0, fence());

		run();
		check(complete(0, &c));
		check((c.status == RING_OK) != (c.cookie == cookie));
	}
	check_eq(w.card->counters.faults, 200);
	check(order("storm every=0"));
	check_good();
}

static void storm_of_all_kinds(void)
{
	check(order("storm every=5"));
	check_eq(w.card->storm.kinds, (1u << FAULT_KINDS) - 1 - (1u << FAULT_CORRUPT));
}

static void no_storm_without_being_asked(void)
{
	for (unsigned int i = 0; i < 10000; i++)
		carry(fence());
	check_eq(w.card->counters.faults, 0);
}

static void says(const char *line, const char *answer)
{
	order(line);
	check(!strcmp(reply, answer));
	if (strcmp(reply, answer))
		printf("# '%s': '%s'\n", line, reply);
}

static void protocol(void)
{
	char line[300];

	says("set rate=100M latency=20 card=1", "ok");
	check_eq(w.cards[1].card->config.rate, 100u << 20);
	check_eq(w.cards[1].card->config.latency, 20);
	check_eq(w.card->config.rate, 0);
	says(" late \t ns=0x10  engine=3 ", "ok");
	carry(fence());
	says("stats", "ok descriptors=1 bytes=0 completions=1 interrupts=0 faults=0 generation=1");
	says("", "error: a line is COMMAND [KEY=VALUE...]");
	says("nothing", "error: there is no command 'nothing'");
	says("late foo=1", "error: late takes no 'foo'");
	says("late ns", "error: late takes no 'ns'");
	says("late offset=1", "error: late takes no 'offset'");
	says("late ns=0", "error: ns: a number from 1 to 60000000000");
	says("late ns=-1", "error: ns: a number from 1 to 60000000000");
	says("late ns=1x", "error: ns: a number from 1 to 60000000000");
	says("late ns=99999999999999999999", "error: ns: a number from 1 to 60000000000");
	says("late card=2", "error: card: a number from 0 to 1");
	says("late engine=4", "error: engine: a number from 0 to 3");
	says("late until=card", "error: until: engine or card, for stall only");
	says("stall until=never", "error: until: engine or card, for stall only");
	says("storm", "error: storm wants every=N, one descriptor in N; 0 ends it");
	says("storm every=9 kinds=late,x", "error: kinds: there is no fault 'x'");
	says("set rate=5", "error: rate: 0, or 1048576 to 1099511627776 bytes per second");
	says("flip offset=7M", "error: flip wants offset=0 to 7340031");
	check(order("clear"));
	for (unsigned int i = 0; i < RING_MAX_PLANS; i++)
		check(order("drop"));
	says("drop", "error: 16 faults are waiting already");
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	says(line, "error: a line has at most 255 characters");
}

static void numbers(void)
{
	uint64_t n;

	check(number_parse("0", &n) && n == 0);
	check(number_parse("0xffffffffffffffff", &n) && n == UINT64_MAX);
	check(number_parse("3K", &n) && n == 3072);
	check(number_parse("3M", &n) && n == 3u << 20);
	check(number_parse("4G", &n) && n == 4ull << 30);
	check(!number_parse("", &n));
	check(!number_parse("-1", &n));
	check(!number_parse("+1", &n));
	check(!number_parse(" 1", &n));
	check(!number_parse("1 ", &n));
	check(!number_parse("1T", &n));
	check(!number_parse("1MB", &n));
	check(!number_parse("0x10000000000000000", &n));
	check(!number_parse("99999999999G", &n));
}

int main(void)
{
	RUN(stall);
	RUN(stall_and_resume);
	RUN(stall_until_the_card_is_reset);
	RUN(drop);
	RUN(late);
	RUN(late_after_a_reset);
	RUN(twice);
	RUN(twice_in_a_full_ring);
	RUN(reorder);
	RUN(late_in_a_full_ring);
	RUN(many_held_back);
	RUN(wrong_id);
	RUN(wrong_generation);
	RUN(wrong_length);
	RUN(fail);
	RUN(fail_a_fence);
	RUN(corrupt);
	RUN(interrupt_lost);
	RUN(interrupt_repeated);
	RUN(interrupt_delayed);
	RUN(flip);
	RUN(mute);
	RUN(link_lost);
	RUN(die);
	RUN(which_one);
	RUN(storm);
	RUN(storm_of_some_kinds);
	RUN(storm_of_all_kinds);
	RUN(no_storm_without_being_asked);
	RUN(protocol);
	RUN(numbers);
	return tests_end();
}
