// SPDX-License-Identifier: MIT
/* The copy that transfers are measured against: which bytes, in how many pieces, and when not. */
#include <sys/mman.h>

#include "fixture.h"

#define PAGE	4096u

/* The clock goes on by this each time that it is asked for. */
static uint64_t tick[64];
static unsigned int asked;

static uint64_t ticking(void *owner)
{
	(void)owner;
	if (asked < 64)
		w.now += tick[asked++];
	return w.now;
}

static struct ring_descriptor listed(struct ring_descriptor d, unsigned int segments)
{
	d.flags = RING_FLAG_LIST;
	d.segments = (uint16_t)segments;
	return d;
}

static void refused(const char *why)
{
	check(!order("time"));
	check(strstr(reply, why));
	if (!strstr(reply, why))
		printf("# %s\n", reply);
}

static void check_time(uint64_t bytes, unsigned int pieces)
{
	char wanted[64];

	snprintf(wanted, sizeof(wanted), " bytes=%llu pieces=%u", (unsigned long long)bytes,
		 pieces);
	check(order("time runs=2"));
	check(strstr(reply, wanted) && strlen(strstr(reply, wanted)) == strlen(wanted));
	if (!strstr(reply, wanted))
		printf("# %s\n", reply);
}

static void nothing_recorded(void)
{
	refused("nothing has been recorded");
	check_eq(carry(h2d(0, HOST, 8)).status, RING_OK);
	refused("nothing has been recorded");
	check(order("record op=h2d"));
	refused("nothing has been recorded");
	check_eq(carry(d2h(HOST, 0, 8)).status, RING_OK);
	check_eq(carry(h2d(MEM_SIZE, HOST, 8)).status, RING_BAD_CARD_ADDRESS);
	check(order("fail"));
	check_eq(carry(h2d(0, HOST, 8)).status, RING_DATA_ERROR);
	refused("nothing has been recorded");
	check_eq(carry(h2d(0, HOST, 8)).status, RING_OK);
	check_time(8, 1);
	/* Again, also if there were more since; and what is recorded anew. */
	check_eq(carry(h2d(8, HOST, 8)).status, RING_OK);
	check_eq(carry(h2d(0, HOST, 8)).status, RING_OK);
	check_time(8, 1);
	check(order("record op=h2d"));
	refused("nothing has been recorded");
}

/* The same bytes again, and no others. */
static void moves_what_was_moved(void)
{
	uint8_t data[300];

	fill_random(data, sizeof(data), 1);
	memcpy(host(HOST), data, sizeof(data));
	check(order("record op=h2d"));
	check_eq(carry(h2d(100, HOST, 300)).status, RING_OK);
	memset(mem(0), 0x55, 1000);
	check_time(300, 1);
	check(!memcmp(mem(100), data, 300) && *mem(99) == 0x55 && *mem(400) == 0x55);

	check(order("record op=d2h"));
	check_eq(carry(d2h(HOST + 1000, 100, 300)).status, RING_OK);
	memset(host(HOST), 0x66, 2000);
	check_time(300, 1);
	check(!memcmp(host(HOST + 1000), data, 300));
	check(*host(HOST + 999) == 0x66 && *host(HOST + 1300) == 0x66);

	check(order("record op=d2d"));
	check_eq(carry(d2d(5000, 100, 300)).status, RING_OK);
	memset(mem(5000), 0, 300);
	check_time(300, 1);
	check(!memcmp(mem(5000), data, 300) && *mem(5300) == 0);

	check(order("record op=fill"));
	check_eq(carry(fill_with(5000, 300, 0x4242, 2)).status, RING_OK);
	memset(mem(5000), 0, 301);
	check_time(300, 1);
	memset(data, 0x42, sizeof(data));
	check(!memcmp(mem(5000), data, 300) && *mem(5300) == 0);
}

static void patterns_that_memset_cannot_write(void)
{
	check(order("record op=fill"));
	check_eq(carry(fill_with(0, 8, 0x4243, 2)).status, RING_OK);
	refused("nothing has been recorded");
}

/* Of any engine, in any order: in as few pieces as there are. */
static void pieces_are_put_together(void)
{
	fill_random(host(HOST), 64 * PAGE, 1);
	check(order("record op=h2d"));
	for (unsigned int i = 0; i < 64; i++) {
		unsigned int page = i * 29 % 64;

		submit(i % ENGINES, h2d(page * PAGE, HOST + page * PAGE, PAGE));
	}
	run();
	memset(mem(0), 0, 64 * PAGE);
	check_time(64 * PAGE, 1);
	check(!memcmp(mem(0), host(HOST), 64 * PAGE));
}

/* Three that become one, in pieces as long as the second: 300, 300 and 100 bytes. */
static void pieces_as_long_as_transfers(void)
{
	fill_random(host(HOST), 700, 1);
	check(order("record op=h2d"));
	check_eq(carry(h2d(0, HOST, 200)).status, RING_OK);
	check_eq(carry(h2d(200, HOST + 200, 300)).status, RING_OK);
	check_eq(carry(h2d(500, HOST + 500, 200)).status, RING_OK);
	memset(mem(0), 0, 701);
	check_time(700, 1);
	check(strstr(reply, " longest=300 "));
	check(!memcmp(mem(0), host(HOST), 700) && *mem(700) == 0);

	check(order("record op=fill"));
	check_eq(carry(fill_with(0, 300, 0x42, 1)).status, RING_OK);
	check_eq(carry(fill_with(300, 400, 0x42, 1)).status, RING_OK);
	memset(mem(0), 0, 701);
	check_time(700, 1);
	check(strstr(reply, " longest=400 "));
	check(*mem(0) == 0x42 && *mem(699) == 0x42 && *mem(700) == 0);
}

static void pieces_that_stay_apart(void)
{
	/* On the card's side together, on the host's not. */
	check(order("record op=d2h"));
	check_eq(carry(d2h(HOST, 0, PAGE)).status, RING_OK);
	check_eq(carry(d2h(HOST + 2 * PAGE, PAGE, PAGE)).status, RING_OK);
	memset(host(HOST), 0, 4 * PAGE);
	check_time(2 * PAGE, 2);
	check(!memcmp(host(HOST), mem(0), PAGE) && !memcmp(host(HOST + 2 * PAGE), mem(PAGE), PAGE));
	check_eq(shared_read64(host(HOST + PAGE)), 0);
	/* Fills with different bytes. */
	check(order("record op=fill"));
	check_eq(carry(fill_with(0, 8, 1, 1)).status, RING_OK);
	check_eq(carry(fill_with(8, 8, 2, 1)).status, RING_OK);
	memset(mem(0), 0, 16);
	check_time(16, 2);
	check(*mem(0) == 1 && *mem(7) == 1 && *mem(8) == 2);
}

/* Linux names shared memory after this file. */
static unsigned int shared_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int count = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		count += strstr(line, "/dev/zero") != NULL;
	if (maps)
		fclose(maps);
	return count;
}

/* RAM that is a shared mapping, as that of a guest is: its pages become one piece. */
static void pages_are_mapped_together(void)
{
	struct ring_ram ram = { NULL, RAM_SIZE, RAM_SIZE, 0 };
	uint8_t data[3 * PAGE];

	ram.base = mmap(NULL, RAM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memcpy(ram.base + LIST, (struct ring_segment[]){
		{ HOST + 5 * PAGE, PAGE, 0 }, { HOST + PAGE, PAGE, 0 }, { HOST + 3 * PAGE, PAGE, 0 },
	}, 48);
	ring_card_set_ram(w.card, &ram);
	fill_random(ram.base + HOST, 8 * PAGE, 1);
	check(order("record op=h2d"));
	check_eq(carry(listed(h2d(7, LIST, 3 * PAGE), 3)).status, RING_OK);
	memcpy(data, mem(7), sizeof(data));
	memset(mem(0), 0, 8 * PAGE);
	check_time(3 * PAGE, 1);
	check(!memcmp(mem(7), data, sizeof(data)) && !*mem(6) && !*mem(7 + sizeof(data)));

	check(order("record op=d2h"));
	check_eq(carry(listed((struct ring_descriptor){ .opcode = RING_OP_D2H, .src = 7,
			.dst = LIST, .len = 3 * PAGE }, 3)).status, RING_OK);
	memset(ram.base + HOST, 0, 8 * PAGE);
	check_time(3 * PAGE, 1);
	check(!memcmp(ram.base + HOST + 5 * PAGE, data, PAGE));
	check(!memcmp(ram.base + HOST + PAGE, data + PAGE, PAGE));
	check(!memcmp(ram.base + HOST + 3 * PAGE, data + 2 * PAGE, PAGE));
	for (unsigned int page = 0; page < 8; page += 2)
		check_eq(shared_read64(ram.base + HOST + page * PAGE), 0);

	/* Not whole pages, and with a gap on the card's side. */
	check(order("record op=h2d"));
	check_eq(carry(h2d(0, HOST + 4 * PAGE, PAGE)).status, RING_OK);
	check_eq(carry(h2d(PAGE, HOST + 8, PAGE)).status, RING_OK);
	check_time(2 * PAGE, 2);
	check(order("record op=h2d"));
	check_eq(carry(h2d(0, HOST, PAGE)).status, RING_OK);
	check_eq(carry(h2d(2 * PAGE, HOST + 4 * PAGE, PAGE)).status, RING_OK);
	*mem(PAGE) = 9;
	check_time(2 * PAGE, 2);
	check_eq(*mem(PAGE), 9);
	check_eq(shared_mappings(), 1);
	check(!memcmp(mem(2 * PAGE), ram.base + HOST + 4 * PAGE, PAGE));
	ring_card_set_ram(w.card, NULL);
	munmap(ram.base, RAM_SIZE);
}

static void not_now(void)
{
	check(order("record op=d2h"));
	check_eq(carry(d2h(HOST, 0, 8)).status, RING_OK);
	check(order("set latency=1000000 card=1"));
	shared_write32(w.cards[1].bar + RING_SQ(0), RING_OP_FENCE);
	shared_write32(w.cards[1].bar + RING_SQ(0) + 4, 1);
	shared_write32(w.cards[1].bar + RING_ENGINE(0) + RING_SQ_TAIL, 1);
	ring_card_run(w.cards[1].card);
	refused("an engine is at work");
	w.now += 1000000;
	ring_card_run(w.cards[1].card);
	check_time(8, 1);
	put(RING_CONTROL, 0);
	*host(HOST) = 77;
	refused("the gate is shut");
	check_eq(*host(HOST), 77);
	put(RING_CONTROL, RING_CONTROL_MASTER);
	check_time(8, 1);
	check_eq(*host(HOST), 0);
	/* What stays inside needs no gate. */
	put(RING_CONTROL, 0);
	check(order("record op=fill"));
	check_eq(carry(fill_with(0, 8, 0, 1)).status, RING_OK);
	check_time(8, 1);
}

static void overlap(void)
{
	check(order("record op=h2d"));
	check_eq(carry(h2d(0, HOST, 16)).status, RING_OK);
	check_eq(carry(h2d(15, HOST + 100, 16)).status, RING_OK);
	refused("overlap");
	/* Two that become one that overlaps itself. */
	check(order("record op=d2d"));
	check_eq(carry(d2d(100, 0, 100)).status, RING_OK);
	check_eq(carry(d2d(200, 100, 100)).status, RING_OK);
	refused("overlap");
}

static void too_many_pieces(void)
{
	struct ring_descriptor d = listed(h2d(0, LIST, 4096), 4096);

	for (unsigned int i = 0; i < 4096; i++)
		segment(i, HOST + 2 * i, 1);
	check(order("record op=h2d"));
	for (unsigned int i = 0; i < 16; i++, d.dst += 4096)
		check_eq(carry(d).status, RING_OK);
	check_time(65536, 65536);
	check(order("record op=h2d"));
	for (d.dst = 0; d.dst < 16 * 4096; d.dst += 4096)
		check_eq(carry(d).status, RING_OK);
	check_eq(carry(h2d(1u << 20, HOST, 1)).status, RING_OK);
	refused("too many pieces");
	check(order("record op=h2d"));
	check_eq(carry(h2d(1u << 20, HOST, 1)).status, RING_OK);
	check_time(1, 1);
}

/* It must not come back to memory that the host has taken away. */
static void forgotten(void)
{
	check(order("record op=d2h"));
	check_eq(carry(d2h(HOST, 0, 8)).status, RING_OK);
	put(RING_COMMAND, RING_COMMAND_RESET);
	run();
	refused("nothing has been recorded");
	put(RING_CONTROL, RING_CONTROL_MASTER);
	check(order("record op=d2h"));
	check_eq(carry(d2h(HOST, 0, 8)).status, RING_OK);
	ring_card_set_ram(w.card, &w.ram);
	refused("nothing has been recorded");
	check(order("record op=d2h"));
	check_eq(carry(d2h(HOST, 0, 8)).status, RING_OK);
	ring_card_power_off(w.card);
	refused("nothing has been recorded");
}

static void peers_are_left_alone(void)
{
	check(order("record op=d2h"));
	check_eq(carry(d2h(BAR_AT(1) + RING_CONTROL_SIZE, 0, 8)).status, RING_OK);
	refused("nothing has been recorded");
}

static void median_and_minimum(void)
{
	struct ring_ops ops = *w.card->config.ops;

	ops.now = ticking;
	check(order("record op=fill"));
	check_eq(carry(fill_with(0, 8, 0, 1)).status, RING_OK);
	w.card->config.ops = &ops;
	/* Every second one is the length of a run; the first is not counted. */
	memcpy(tick, (uint64_t[64]){ 0, 1, 0, 700, 0, 50, 0, 300 }, sizeof(tick));
	asked = 0;
	check(order("time runs=3"));
	check(!strcmp(reply, "ok ns=300 min=50 longest=8 bytes=8 pieces=1"));
	asked = 0;
	check(order("time"));
	check_eq(asked, 12);
}

static void bad_orders(void)
{
	check(!order("record"));
	check(!order("record op=checksum"));
	check(!order("record op="));
	check(!strcmp(reply, "error: record wants op=h2d, d2h, d2d or fill"));
	check(!order("time runs=0"));
	check(!order("time runs=101"));
	check(!strcmp(reply, "error: runs: a number from 1 to 100"));
	check(!order("time op=h2d"));
}

int main(void)
{
	RUN(nothing_recorded);
	RUN(moves_what_was_moved);
	RUN(patterns_that_memset_cannot_write);
	RUN(pieces_are_put_together);
	RUN(pieces_as_long_as_transfers);
	RUN(pieces_that_stay_apart);
	RUN(pages_are_mapped_together);
	RUN(not_now);
	RUN(overlap);
	RUN(too_many_pieces);
	RUN(forgotten);
	RUN(peers_are_left_alone);
	RUN(median_and_minimum);
	RUN(bad_orders);
	return tests_end();
}
