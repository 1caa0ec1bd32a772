// SPDX-License-Identifier: MIT
/*
 * Each bad descriptor has its status, with all else good, moves nothing, raises the interrupt that
 * nobody has asked for, and leaves the engine as it was.
 */
#include "fixture.h"

static uint8_t before_mem[MEM_SIZE], before_host[RAM_SIZE];

#define refused(d, wanted) refused_at(d, wanted, __func__, __LINE__)

static struct ring_descriptor checksum(uint64_t src, uint64_t len)
{
	return (struct ring_descriptor){ .opcode = RING_OP_CHECKSUM, .src = src, .len = len };
}

static struct ring_descriptor fence_write(uint64_t dst)
{
	return (struct ring_descriptor){ .opcode = RING_OP_FENCE, .flags = RING_FLAG_WRITE,
					 .dst = dst };
}

static void refused_at(struct ring_descriptor d, uint32_t wanted, const char *test, int line)
{
	const unsigned int *raised = &w.cards[0].raised[RING_VECTOR_ENGINE(0)];
	unsigned int before = *raised;
	struct ring_completion c;

	memcpy(before_mem, mem(0), MEM_SIZE);
	memcpy(before_host, host(0), RAM_SIZE);
	c = carry(d);
	check_eq_at(c.status, wanted, test, line, "status");
	check_eq_at(c.bytes, 0, test, line, "bytes");
	check_at(!memcmp(before_mem, mem(0), MEM_SIZE), test, line, "device memory is as before");
	check_at(!memcmp(before_host, host(0), RAM_SIZE), test, line, "RAM is as before");
	check_eq_at(*raised, before + 1, test, line, "interrupts");
	check_eq_at(engine_get(0, RING_E_STATUS), RING_E_IDLE, test, line, "engine");
}

static struct ring_descriptor with_flags(struct ring_descriptor d, unsigned int flags)
{
	d.flags = (uint8_t)flags;
	return d;
}

static struct ring_descriptor listed(uint64_t len, unsigned int segments)
{
	struct ring_descriptor d = h2d(0, LIST, len);

	d.flags = RING_FLAG_LIST;
	d.segments = (uint16_t)segments;
	return d;
}

static void make_data(void)
{
	fill_random(mem(0), 4096, 1);
	fill_random(host(HOST), 4096, 2);
}

static void generation(void)
{
	struct ring_descriptor d = h2d(0, HOST, 8);

	make_data();
	d.generation = engine_get(0, RING_E_GENERATION) - 1;
	d.generation = d.generation ? d.generation : 77;
	refused(d, RING_STALE);
	d.generation = engine_get(0, RING_E_GENERATION) + 1;
	refused(d, RING_STALE);
}

static void opcode(void)
{
	struct ring_descriptor d = h2d(0, HOST, 8);

	make_data();
	d.opcode = 0;
	refused(d, RING_BAD_OPCODE);
	d.opcode = RING_OP_FENCE + 1;
	refused(d, RING_BAD_OPCODE);
	d.opcode = 255;
	refused(d, RING_BAD_OPCODE);
}

static void flags(void)
{
	make_data();
	for (unsigned int bit = 6; bit < 8; bit++)
		refused(with_flags(h2d(0, HOST, 8), 1u << bit), RING_BAD_FIELD);
	refused(with_flags(h2d(0, HOST, 8), RING_FLAG_WRITE), RING_BAD_FIELD);
	refused(with_flags(d2d(0, 64, 8), RING_FLAG_LIST), RING_BAD_FIELD);
	refused(with_flags(fill_with(0, 8, 0, 8), RING_FLAG_LIST), RING_BAD_FIELD);
	refused(with_flags(fence(), RING_FLAG_CHECKSUM), RING_BAD_FIELD);
	refused(with_flags(fence(), RING_FLAG_TIME), RING_BAD_FIELD);
}

static void fields_without_use(void)
{
	struct ring_descriptor d;

	make_data();
	for (unsigned int i = 0; i < 3; i++) {
		d = h2d(0, HOST, 8);
		d.zero[i] = 1;
		refused(d, RING_BAD_FIELD);
	}
	d = h2d(0, HOST, 8);
	d.segments = 1;
	refused(d, RING_BAD_FIELD);
	d = h2d(0, HOST, 8);
	d.pattern = 1;
	refused(d, RING_BAD_FIELD);
	d = h2d(0, HOST, 8);
	d.pattern_size = 1;
	refused(d, RING_BAD_FIELD);
	d = fill_with(0, 8, 1, 1);
	d.src = 1;
	refused(d, RING_BAD_FIELD);
	d = fence();
	d.dst = HOST;
	refused(d, RING_BAD_FIELD);
	d.flags = RING_FLAG_WRITE | RING_FLAG_TIME;
	d.pattern = 1;
	refused(d, RING_BAD_FIELD);
	d = checksum(0, 8);
	d.dst = 8;
	refused(d, RING_BAD_FIELD);
}

static void length(void)
{
	struct ring_descriptor d = fence();

	make_data();
	refused(h2d(0, HOST, 0), RING_BAD_LENGTH);
	refused(h2d(0, HOST, RING_MAX_XFER + 1ull), RING_BAD_LENGTH);
	refused(d2d(0, 0, UINT64_MAX), RING_BAD_LENGTH);
	d.len = 8;
	refused(d, RING_BAD_LENGTH);
}

static void pattern(void)
{
	make_data();
	refused(fill_with(0, 24, 0, 0), RING_BAD_PATTERN);
	refused(fill_with(0, 24, 0, 3), RING_BAD_PATTERN);
	refused(fill_with(0, 32, 0, 16), RING_BAD_PATTERN);
	refused(fill_with(0, 9, 0, 2), RING_BAD_PATTERN);
	refused(fill_with(0, 8, 0x100, 1), RING_BAD_PATTERN);
	refused(fill_with(0, 8, 1ull << 32, 4), RING_BAD_PATTERN);
}

static void card_address(void)
{
	make_data();
	check_eq(carry(h2d(MEM_SIZE - 8, HOST, 8)).status, RING_OK);
	refused(h2d(MEM_SIZE - 7, HOST, 8), RING_BAD_CARD_ADDRESS);
	refused(h2d(MEM_SIZE, HOST, 1), RING_BAD_CARD_ADDRESS);
	refused(h2d(UINT64_MAX, HOST, 8), RING_BAD_CARD_ADDRESS);
	refused(d2h(HOST, MEM_SIZE - 7, 8), RING_BAD_CARD_ADDRESS);
	refused(d2d(0, MEM_SIZE, 8), RING_BAD_CARD_ADDRESS);
	refused(d2d(-8ull, 0, 16), RING_BAD_CARD_ADDRESS);
	refused(fill_with(MEM_SIZE - 7, 8, 0, 1), RING_BAD_CARD_ADDRESS);
	refused(checksum(MEM_SIZE - 7, 8), RING_BAD_CARD_ADDRESS);
}

static void overlap(void)
{
	make_data();
	refused(d2d(0, 0, 8), RING_OVERLAP);
	refused(d2d(7, 0, 8), RING_OVERLAP);
	refused(d2d(0, 7, 8), RING_OVERLAP);
}

static void bus_master(void)
{
	make_data();
	put(RING_CONTROL, 0);
	refused(h2d(0, HOST, 8), RING_NO_MASTER);
	refused(d2h(HOST, 0, 8), RING_NO_MASTER);
	refused(listed(8, 1), RING_NO_MASTER);
	refused(fence_write(HOST), RING_NO_MASTER);
	refused(h2d(0, BAR_AT(1) + RING_CONTROL_SIZE, 8), RING_NO_MASTER);
	check_eq(carry(d2d(64, 0, 8)).status, RING_OK);
	check_eq(carry(fence()).status, RING_OK);
}

static void host_address(void)
{
	make_data();
	refused(h2d(0, RAM_SIZE - 7, 8), RING_BAD_HOST_ADDRESS);
	refused(d2h(RAM_SIZE, 0, 1), RING_BAD_HOST_ADDRESS);
	refused(d2h(UINT64_MAX, 0, 8), RING_BAD_HOST_ADDRESS);
	refused(d2h(1ull << 32, 0, 8), RING_BAD_HOST_ADDRESS);
	/* The legacy hole. */
	refused(d2h(0xa0000, 0, 1), RING_BAD_HOST_ADDRESS);
	refused(d2h(0x9ffff, 0, 2), RING_BAD_HOST_ADDRESS);
	refused(d2h(0xfffff, 0, 1), RING_BAD_HOST_ADDRESS);
	check_eq(carry(d2h(0x9ffff, 0, 1)).status, RING_OK);
	check_eq(carry(d2h(0x100000, 0, 1)).status, RING_OK);
	refused(fence_write(HOST + 4), RING_BAD_HOST_ADDRESS);
	refused(fence_write(RAM_SIZE), RING_BAD_HOST_ADDRESS);
}

static void no_ram(void)
{
	make_data();
	ring_card_set_ram(w.card, NULL);
	refused(h2d(0, HOST, 8), RING_BAD_HOST_ADDRESS);
	refused(h2d(0, BAR_AT(1) + RING_CONTROL_SIZE, 8), RING_BAD_HOST_ADDRESS);
	refused(listed(8, 1), RING_BAD_LIST);
	/* That neither has any does not make them cards of one guest. */
	ring_card_set_ram(w.cards[1].card, NULL);
	refused(h2d(0, BAR_AT(1) + RING_CONTROL_SIZE, 8), RING_BAD_HOST_ADDRESS);
}

static void peer_address(void)
{
	struct ring_ram other = w.ram;

	make_data();
	/* Registers and rings of a peer, beyond it, ourselves. */
	refused(d2h(BAR_AT(1), 0, 8), RING_BAD_HOST_ADDRESS);
	refused(d2h(BAR_AT(1) + RING_CONTROL_SIZE - 1, 0, 8), RING_BAD_HOST_ADDRESS);
	refused(d2h(BAR_AT(1) + BAR_SIZE - 7, 0, 8), RING_BAD_HOST_ADDRESS);
	refused(d2h(BAR_AT(0) + RING_CONTROL_SIZE, 0, 8), RING_BAD_HOST_ADDRESS);
	/* A BAR that is nowhere, or where no BAR can be. */
	shared_write64(w.cards[1].bar + RING_BAR_ADDRESS, BAR_AT(1) + 4096);
	refused(d2h(BAR_AT(1) + 4096 + RING_CONTROL_SIZE, 0, 8), RING_BAD_HOST_ADDRESS);
	shared_write64(w.cards[1].bar + RING_BAR_ADDRESS, -(uint64_t)BAR_SIZE);
	refused(d2h(-(uint64_t)BAR_SIZE + BAR_SIZE - 4, 0, 8), RING_BAD_HOST_ADDRESS);
	shared_write64(w.cards[1].bar + RING_BAR_ADDRESS, 0);
	ring_card_set_ram(w.cards[1].card, NULL);
	w.ram.low = w.ram.size = 0x1000;
	refused(d2h(RING_CONTROL_SIZE, 0, 8), RING_BAD_HOST_ADDRESS);
	w.ram = other;
	/* A card of another guest, one that is not plugged, one that has lost its link. */
	shared_write64(w.cards[1].bar + RING_BAR_ADDRESS, BAR_AT(1));
	ring_card_set_ram(w.cards[1].card, &other);
	refused(d2h(BAR_AT(1) + RING_CONTROL_SIZE, 0, 8), RING_BAD_HOST_ADDRESS);
	ring_card_set_ram(w.cards[1].card, &w.ram);
	w.cards[1].card->link_down = true;
	refused(d2h(BAR_AT(1) + RING_CONTROL_SIZE, 0, 8), RING_BAD_HOST_ADDRESS);
	w.cards[1].card->link_down = false;
	w.cards[1].card->powered = false;
	refused(d2h(BAR_AT(1) + RING_CONTROL_SIZE, 0, 8), RING_BAD_HOST_ADDRESS);
	w.cards[1].card->powered = true;
	check_eq(carry(d2h(BAR_AT(1) + RING_CONTROL_SIZE, 0, 8)).status, RING_OK);
}

static void list(void)
{
	struct ring_descriptor d;

	make_data();
	segment(0, HOST, 8);
	segment(1, HOST + 64, 8);
	check_eq(carry(listed(16, 2)).status, RING_OK);
	refused(listed(16, 0), RING_BAD_LIST);
	/* Longer and shorter than the transfer. */
	refused(listed(15, 2), RING_BAD_LIST);
	refused(listed(17, 2), RING_BAD_LIST);
	d = listed(16, 2);
	memmove(host(LIST + 8), host(LIST), 32);
	d.src += 8;
	refused(d, RING_BAD_LIST);
	segment(0, HOST, 8);
	segment(1, HOST + 64, 8);
	d.src = RAM_SIZE - 16;
	refused(d, RING_BAD_LIST);
	/* A list is in RAM, not in a peer. */
	memcpy(peer_mem(0), host(LIST), 32);
	d.src = BAR_AT(1) + RING_CONTROL_SIZE;
	refused(d, RING_BAD_LIST);
	segment(1, HOST + 64, 0);
	refused(listed(8, 2), RING_BAD_LIST);
	segment(1, HOST + 64, UINT32_MAX);
	refused(listed(16, 2), RING_BAD_LIST);
	segment(1, HOST + 64, 8);
	*host(LIST + 28) = 1;
	refused(listed(16, 2), RING_BAD_LIST);
}

static void list_too_long(void)
{
	make_data();
	for (unsigned int i = 0; i <= RING_MAX_SEGMENTS; i++)
		segment(i, HOST + i % 4096, 1);
	check_eq(carry(listed(RING_MAX_SEGMENTS, RING_MAX_SEGMENTS)).status, RING_OK);
	refused(listed(RING_MAX_SEGMENTS + 1, RING_MAX_SEGMENTS + 1), RING_BAD_LIST);
}

static void list_address(void)
{
	struct ring_completion c;

	make_data();
	segment(0, HOST, 8);
	segment(1, RAM_SIZE - 4, 8);
	refused(listed(16, 2), RING_BAD_HOST_ADDRESS);
	c = carry(listed(16, 2));
	check_eq(c.detail, 1);
}

/* The order of the checks: each with everything that comes later wrong as well. */
static void the_first_mistake_is_told(void)
{
	struct ring_descriptor d = { .opcode = 99, .flags = 0x80, .generation = 12345,
				     .src = UINT64_MAX, .dst = UINT64_MAX };

	make_data();
	put(RING_CONTROL, 0);
	refused(d, RING_STALE);
	d.generation = 0;
	refused(d, RING_BAD_OPCODE);
	d.opcode = RING_OP_H2D;
	refused(d, RING_BAD_FIELD);
	d.flags = RING_FLAG_LIST;
	refused(d, RING_BAD_LENGTH);
	d.len = 8;
	refused(d, RING_BAD_CARD_ADDRESS);
	d.dst = 0;
	refused(d, RING_NO_MASTER);
	put(RING_CONTROL, RING_CONTROL_MASTER);
	refused(d, RING_BAD_LIST);
	d.flags = 0;
	refused(d, RING_BAD_HOST_ADDRESS);
}

int main(void)
{
	RUN(generation);
	RUN(opcode);
	RUN(flags);
	RUN(fields_without_use);
	RUN(length);
	RUN(pattern);
	RUN(card_address);
	RUN(overlap);
	RUN(bus_master);
	RUN(host_address);
	RUN(no_ram);
	RUN(peer_address);
	RUN(list);
	RUN(list_too_long);
	RUN(list_address);
	RUN(the_first_mistake_is_told);
	return tests_end();
}
