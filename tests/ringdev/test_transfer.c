// SPDX-License-Identifier: MIT
/* Every kind of descriptor. */
#include "fixture.h"

#define ODD	12345u
#define LONG	(3u * 1048576 + 7)	/* several slices */

/* The bytes beside a range are what they were. */
static void check_edges(const uint8_t *at, size_t len, uint8_t value)
{
	check(at[-1] == value && at[len] == value);
}

static void host_to_card(void)
{
	struct ring_completion c;

	fill_random(host(HOST + 3), ODD, 1);
	memset(mem(0), 0xee, MEM_SIZE);
	c = carry(h2d(77, HOST + 3, ODD));
	check_eq(c.status, RING_OK);
	check_eq(c.bytes, ODD);
	check_eq(c.generation, engine_get(0, RING_E_GENERATION));
	check_eq(c.checksum, 0);
	check_eq(c.descriptor, 0);
	check(!memcmp(mem(77), host(HOST + 3), ODD));
	check_edges(mem(77), ODD, 0xee);
}

static void card_to_host(void)
{
	fill_random(mem(0), LONG, 2);
	memset(host(HOST), 0xee, LONG + 2);
	check_eq(carry(d2h(HOST + 1, 0, LONG)).status, RING_OK);
	check(!memcmp(mem(0), host(HOST + 1), LONG));
	check_edges(host(HOST + 1), LONG, 0xee);
}

static void inside_the_card(void)
{
	fill_random(mem(0), LONG, 3);
	memset(mem(LONG), 0xee, MEM_SIZE - LONG);
	check_eq(carry(d2d(LONG + 1, 0, LONG)).status, RING_OK);
	check(!memcmp(mem(0), mem(LONG + 1), LONG));
	check_edges(mem(LONG + 1), LONG, 0xee);
	/* Neighbours do not overlap. */
	check_eq(carry(d2d(100, 0, 100)).status, RING_OK);
	check_eq(carry(d2d(0, 100, 100)).status, RING_OK);
}

static void fill_patterns(void)
{
	static const uint64_t patterns[] = { 0x11, 0x2233, 0x44556677, 0x8899aabbccddeeff };

	for (unsigned int i = 0; i < 4; i++) {
		uint32_t size = 1u << i;
		uint64_t len = 1048576 + 8 * size + 32768;

		memset(mem(0), 0xee, MEM_SIZE);
		check_eq(carry(fill_with(1, len, patterns[i], size)).status, RING_OK);
		for (uint64_t at = 0; at < len; at += size)
			if (memcmp(mem(1 + at), &patterns[i], size)) {
				check_eq(at, len);
				break;
			}
		check_edges(mem(1), len, 0xee);
	}
	check_eq(carry(fill_with(0, 8, 0, 8)).status, RING_OK);
	check_eq(*mem(7), 0);
}

/* Longer than what is written at once, and shorter than what goes past the caches. */
static void short_fills(void)
{
	uint64_t value;

	memset(mem(0), 0xee, 100000);
	check_eq(carry(fill_with(3, 40000, 0x1122334455667788, 8)).status, RING_OK);
	for (unsigned int at = 3; at < 40003; at += 8) {
		memcpy(&value, mem(at), 8);
		check_eq(value, 0x1122334455667788);
	}
	check_edges(mem(3), 40000, 0xee);
	check_eq(carry(fill_with(50001, 40000, 0x97, 1)).status, RING_OK);
	check(*mem(50001) == 0x97 && !memcmp(mem(50001), mem(50002), 39999));
	check_edges(mem(50001), 40000, 0xee);
}

/* Behind something of an odd length it is cut elsewhere. */
static void fills_in_parts(void)
{
	uint64_t value = 0x1122334455667788, len = 3u << 20;
	struct ring_completion c;

	fill_random(host(HOST), 1000, 1);
	for (unsigned int i = 0; i < 5; i++) {
		memset(mem(0), 0xee, MEM_SIZE);
		for (unsigned int k = 0; k < 3; k++)
			submit(0, h2d(100, HOST, 1 + i * 7));
		submit(0, fill_with(1001, len, value, 8));
		run();
		for (uint64_t at = 0; at < len; at += 8)
			if (memcmp(mem(1001 + at), &value, 8)) {
				check_eq(at, len);
				break;
			}
		check_edges(mem(1001), len, 0xee);
		for (unsigned int k = 0; k < 4; k++)
			check(complete(0, &c) && c.status == RING_OK);
	}
}

/* Pieces of any length, also some that end in the middle of a slice, or one after the other. */
static void long_lists(void)
{
	struct ring_descriptor d = { .flags = RING_FLAG_LIST, .segments = 600 };
	uint8_t *data = malloc(LONG), *at = data;

	fill_random(host(HOST), 8u << 20, 1);
	for (unsigned int i = 0; i < 600; i++) {
		uint32_t len = i % 7 ? 4096 + i % 3 : 1 + i * 3, from = HOST + i * 9973;

		segment(i, from, len);
		memcpy(at, host(from), len);
		at += len;
	}
	d.len = (uint64_t)(at - data);
	check(d.len > 2u << 20 && d.len < LONG);
	memset(mem(0), 0xee, LONG);
	d.opcode = RING_OP_H2D;
	d.src = LIST;
	d.dst = 5;
	check_eq(carry(d).status, RING_OK);
	check(!memcmp(mem(5), data, d.len));
	check_edges(mem(5), d.len, 0xee);

	/* And back, where they do not overlap. */
	for (unsigned int i = 0; i < 600; i++)
		segment(i, HOST + i * 9973, i % 7 ? 4096 + i % 3 : 1 + i * 3);
	memset(host(HOST - 1), 0xee, 8u << 20);
	d.opcode = RING_OP_D2H;
	d.src = 5;
	d.dst = LIST;
	check_eq(carry(d).status, RING_OK);
	at = data;
	for (unsigned int i = 0; i < 600; i++) {
		uint32_t len = i % 7 ? 4096 + i % 3 : 1 + i * 3;

		check(!memcmp(host(HOST + i * 9973), at, len));
		check_edges(host(HOST + i * 9973), len, 0xee);
		at += len;
	}
	free(data);
}

static void checksum_of_memory(void)
{
	struct ring_descriptor d = { .opcode = RING_OP_CHECKSUM, .src = 9, .len = 9 };

	memcpy(mem(9), "123456789", 9);
	check_eq(carry(d).checksum, 0xe3069283);
	fill_random(mem(0), LONG, 4);
	d.src = 0;
	d.len = LONG;
	check_eq(carry(d).checksum, crc_of(mem(0), LONG));
}

/* The instruction and the table say the same; lengths that are no multiple of a word. */
static void checksum_bit_by_bit(void)
{
	uint8_t data[100];

	fill_random(data, sizeof(data), 5);
	for (size_t len = 0; len <= sizeof(data); len++) {
		uint32_t crc = ~0u;

		for (size_t i = 0; i < len; i++) {
			crc ^= data[i];
			for (int bit = 0; bit < 8; bit++)
				crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
		}
		check_eq(crc_of(data, len), ~crc);
	}
}

static void checksum_of_transfers(void)
{
	struct ring_descriptor d = h2d(0, HOST, LONG);
	uint32_t checksum;

	fill_random(host(HOST), LONG, 6);
	d.flags = RING_FLAG_CHECKSUM;
	check_eq(carry(d).checksum, crc_of(host(HOST), LONG));
	check(!memcmp(mem(0), host(HOST), LONG));
	d = d2h(HOST, 1, ODD);
	d.flags = RING_FLAG_CHECKSUM;
	check_eq(carry(d).checksum, crc_of(mem(1), ODD));
	check(!memcmp(mem(1), host(HOST), ODD));
	d = d2d(LONG, 1, ODD);
	d.flags = RING_FLAG_CHECKSUM;
	check_eq(carry(d).checksum, crc_of(mem(1), ODD));
	check(!memcmp(mem(1), mem(LONG), ODD));
	d = fill_with(8, 40000, 0x0102030405060708, 8);
	d.flags = RING_FLAG_CHECKSUM;
	checksum = carry(d).checksum;
	check_eq(checksum, crc_of(mem(8), 40000));
	check_eq(mem(8)[39999], 1);
}

static void fences(void)
{
	struct ring_descriptor d = fence();

	w.now = 5555;
	check_eq(carry(d).time, 5555);
	d.flags = RING_FLAG_WRITE;
	d.dst = HOST + 8;
	d.pattern = 0x123456789abcdef0;
	check_eq(carry(d).status, RING_OK);
	check_eq(shared_read64(host(HOST + 8)), 0x123456789abcdef0);
	d.pattern = 0;
	d.flags |= RING_FLAG_TIME;
	check_eq(carry(d).status, RING_OK);
	check_eq(shared_read64(host(HOST + 8)), 5555);
	check_eq(shared_read64(host(HOST)), 0);
	check_eq(shared_read64(host(HOST + 16)), 0);
}

static void list_to_card(void)
{
	struct ring_descriptor d = h2d(5, LIST, 4096 + 1 + 300);

	fill_random(host(HOST), 0x10000, 7);
	segment(0, HOST + 0x5000, 4096);
	segment(1, HOST + 0x1fff, 1);
	segment(2, HOST + 0x9001, 300);
	d.flags = RING_FLAG_LIST;
	d.segments = 3;
	check_eq(carry(d).status, RING_OK);
	check(!memcmp(mem(5), host(HOST + 0x5000), 4096));
	check_eq(*mem(5 + 4096), *host(HOST + 0x1fff));
	check(!memcmp(mem(5 + 4097), host(HOST + 0x9001), 300));
}

/* As many as may be, in reverse, across slices, with a checksum. */
static void list_to_host(void)
{
	struct ring_descriptor d = d2h(LIST, 0, RING_MAX_SEGMENTS * 500u);
	struct ring_completion c;
	unsigned int bad = 0;

	fill_random(mem(0), d.len, 8);
	for (unsigned int i = 0; i < RING_MAX_SEGMENTS; i++)
		segment(i, HOST + (RING_MAX_SEGMENTS - 1 - i) * 512, 500);
	d.flags = RING_FLAG_LIST | RING_FLAG_CHECKSUM;
	d.segments = RING_MAX_SEGMENTS;
	c = carry(d);
	check_eq(c.status, RING_OK);
	check_eq(c.bytes, d.len);
	check_eq(c.checksum, crc_of(mem(0), d.len));
	for (unsigned int i = 0; i < RING_MAX_SEGMENTS; i++)
		bad += !!memcmp(mem(i * 500u), host(HOST + (RING_MAX_SEGMENTS - 1 - i) * 512), 500);
	check_eq(bad, 0);
	check_eq(*host(HOST + 500), 0);
}

static void read_from_a_peer(void)
{
	fill_random(peer_mem(0), MEM_SIZE, 9);
	check_eq(carry(h2d(0, BAR_AT(1) + RING_CONTROL_SIZE + 50, LONG)).status, RING_OK);
	check(!memcmp(mem(0), peer_mem(50), LONG));
	/* Its last byte. */
	check_eq(carry(h2d(0, BAR_AT(1) + BAR_SIZE - 1, 1)).status, RING_OK);
	check_eq(*mem(0), *peer_mem(MEM_SIZE - 1));
}

static void write_to_a_peer(void)
{
	struct ring_descriptor d = d2h(LIST, 0, 300);

	fill_random(mem(0), 300, 10);
	segment(0, BAR_AT(1) + RING_CONTROL_SIZE, 100);
	segment(1, HOST, 200);
	d.flags = RING_FLAG_LIST;
	d.segments = 2;
	check_eq(carry(d).status, RING_OK);
	check(!memcmp(mem(0), peer_mem(0), 100));
	check(!memcmp(mem(100), host(HOST), 200));
}

/* RAM on both sides of the hole below 4 GiB. */
static void memory_above_4_gib(void)
{
	const uint64_t high = 1ull << 32;

	w.ram.low = RAM_SIZE / 2;
	fill_random(host(0), RAM_SIZE, 11);
	check_eq(carry(h2d(0, high + 5, 1000)).status, RING_OK);
	check(!memcmp(mem(0), host(RAM_SIZE / 2 + 5), 1000));
	check_eq(carry(h2d(0, RAM_SIZE / 2 - 10, 10)).status, RING_OK);
	check(!memcmp(mem(0), host(RAM_SIZE / 2 - 10), 10));
	check_eq(carry(h2d(0, high + RAM_SIZE / 2 - 10, 10)).status, RING_OK);
	check_eq(carry(h2d(0, high + RAM_SIZE / 2 - 9, 10)).status, RING_BAD_HOST_ADDRESS);
	check_eq(carry(h2d(0, RAM_SIZE / 2 - 9, 10)).status, RING_BAD_HOST_ADDRESS);
	check_eq(carry(h2d(0, high - 1, 2)).status, RING_BAD_HOST_ADDRESS);
}

/* RAM in one piece that starts at a bus address, where nothing is below it, the legacy hole included. */
static void memory_that_starts_at_1_gib(void)
{
	const uint64_t start = 1ull << 30;

	w.ram.start = start;
	fill_random(host(0), RAM_SIZE, 12);
	check_eq(carry(h2d(0, start + 0xa0005, 1000)).status, RING_OK);
	check(!memcmp(mem(0), host(0xa0005), 1000));
	check_eq(carry(h2d(0, start + RAM_SIZE - 10, 10)).status, RING_OK);
	check(!memcmp(mem(0), host(RAM_SIZE - 10), 10));
	check_eq(carry(h2d(0, start + RAM_SIZE - 9, 10)).status, RING_BAD_HOST_ADDRESS);
	check_eq(carry(h2d(0, start - 1, 2)).status, RING_BAD_HOST_ADDRESS);
	check_eq(carry(h2d(0, 0, 10)).status, RING_BAD_HOST_ADDRESS);
	check_eq(carry(h2d(0, 1ull << 32, 10)).status, RING_BAD_HOST_ADDRESS);
}

/* The ring goes round several times, in batches of every size, and stays in order. */
static void rings_wrap(void)
{
	struct ring_completion c;
	uint64_t wanted = w.cookie, sent = 0;

	for (unsigned int batch = 1; batch <= RING_ENTRIES; batch += 17) {
		for (unsigned int i = 0; i < batch; i++, sent++)
			submit(2, fill_with(sent % 1000, 1, sent & 0xff, 1));
		run();
		for (unsigned int i = 0; i < batch; i++) {
			check(complete(2, &c));
			check_eq(c.cookie, ++wanted);
			check_eq(c.status, RING_OK);
		}
		check(!complete(2, &c));
	}
	check(sent > 4 * RING_ENTRIES);
	check_eq(engine_get(2, RING_SQ_HEAD), sent);
	check_eq(engine_get(2, RING_CQ_TAIL), sent);
}

/* Indices count to 2^32 and over. */
static void indices_wrap(void)
{
	struct engine *e = &w.card->engines[0];

	e->sq_head = e->cq_tail = UINT32_MAX - 3;
	engine_put(0, RING_SQ_TAIL, UINT32_MAX - 3);
	engine_put(0, RING_CQ_HEAD, UINT32_MAX - 3);
	engine_put(0, RING_CQ_TAIL, UINT32_MAX - 3);
	for (unsigned int i = 0; i < 8; i++)
		check_eq(carry(fill_with(0, 1, i, 1)).status, RING_OK);
	check_eq(engine_get(0, RING_SQ_HEAD), 4);
	check_eq(engine_get(0, RING_E_STATUS), RING_E_IDLE);
}

static void engines_side_by_side(void)
{
	struct ring_completion c;

	for (unsigned int e = 0; e < ENGINES; e++)
		for (unsigned int i = 0; i < 50; i++)
			submit(e, fill_with(e * 0x1000 + i, 1, e * 50 + i, 1));
	run();
	for (unsigned int e = 0; e < ENGINES; e++)
		for (unsigned int i = 0; i < 50; i++) {
			check(complete(e, &c));
			check_eq(c.descriptor, i);
			check_eq(*mem(e * 0x1000 + i), e * 50 + i);
		}
}

int main(void)
{
	RUN(host_to_card);
	RUN(card_to_host);
	RUN(inside_the_card);
	RUN(fill_patterns);
	RUN(short_fills);
	RUN(fills_in_parts);
	RUN(long_lists);
	RUN(checksum_of_memory);
	RUN(checksum_bit_by_bit);
	RUN(checksum_of_transfers);
	RUN(fences);
	RUN(list_to_card);
	RUN(list_to_host);
	RUN(read_from_a_peer);
	RUN(write_to_a_peer);
	RUN(memory_above_4_gib);
	RUN(memory_that_starts_at_1_gib);
	RUN(rings_wrap);
	RUN(indices_wrap);
	RUN(engines_side_by_side);
	return tests_end();
}
