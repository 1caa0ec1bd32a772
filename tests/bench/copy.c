// SPDX-License-Identifier: MIT
/* Copies of one card, one after the other, from and to ordinary memory of the program. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define SMALL_BYTES 8

static unsigned char *host_memory(unsigned int seed)
{
	unsigned char *host = malloc(BENCH_BYTES);

	if (!host)
		die("out of memory");
	pattern(host, BENCH_BYTES, seed);
	return host;
}

static void must_be(const unsigned char *got, const unsigned char *want, size_t len,
		    const char *name)
{
	if (memcmp(got, want, len))
		die("%s: the bytes that came back are others", name);
}

/* What the card holds, into @to. */
static void read_card(const struct card *card, unsigned char *to, uint64_t offset, uint64_t len)
{
	copy(card->fd, PACCEL_COPY_D2H, (uintptr_t)to, card->addr + offset, len);
}

int bench_h2d(int argc, char **argv)
{
	struct samples s = { .name = "h2d" };
	unsigned int i, nr = number(argv[1], BENCH_MAX_SAMPLES);
	unsigned char *host = host_memory(1), *back = host_memory(2);
	struct card card;
	const size_t last = BENCH_BYTES % CARD_BYTES;

	(void)argc;
	card_open(&card, argv[0]);
	for (i = 0; i < nr; i++) {
		uint64_t start = now_ns();

		copy_pieces(&card, PACCEL_COPY_H2D, host);
		samples_add(&s, now_ns() - start);
	}
	/* The last piece is what the card has now. */
	read_card(&card, back, 0, last);
	must_be(back, host + BENCH_BYTES - last, last, s.name);
	card_close(&card);
	samples_print(&s);
	return 0;
}

int bench_d2h(int argc, char **argv)
{
	struct samples s = { .name = "d2h" };
	unsigned int i, nr = number(argv[1], BENCH_MAX_SAMPLES);
	unsigned char *host = host_memory(1), *back = host_memory(2);
	struct card card;
	size_t at;

	(void)argc;
	card_open(&card, argv[0]);
	copy(card.fd, PACCEL_COPY_H2D, card.addr, (uintptr_t)host, CARD_BYTES);
	for (i = 0; i < nr; i++) {
		uint64_t start = now_ns();

		copy_pieces(&card, PACCEL_COPY_D2H, back);
		samples_add(&s, now_ns() - start);
	}
	for (at = 0; at < BENCH_BYTES; at += CARD_BYTES)
		must_be(back + at, host,
			BENCH_BYTES - at < CARD_BYTES ? BENCH_BYTES - at : CARD_BYTES, s.name);
	card_close(&card);
	samples_print(&s);
	return 0;
}

/* One half of the card's memory to the other. */
int bench_d2d(int argc, char **argv)
{
	struct samples s = { .name = "d2d" };
	unsigned int i, nr = number(argv[1], BENCH_MAX_SAMPLES);
	unsigned char *host = host_memory(1), *back = host_memory(2);
	struct card card;
	const uint64_t half = CARD_BYTES / 2;

	(void)argc;
	card_open(&card, argv[0]);
	copy(card.fd, PACCEL_COPY_H2D, card.addr, (uintptr_t)host, CARD_BYTES);
	for (i = 0; i < nr; i++) {
		uint64_t start = now_ns();

		copy(card.fd, PACCEL_COPY_D2D, card.addr + half, card.addr, half);
		samples_add(&s, now_ns() - start);
	}
	read_card(&card, back, half, half);
	must_be(back, host, half, s.name);
	card_close(&card);
	samples_print(&s);
	return 0;
}

int bench_small(int argc, char **argv)
{
	struct samples s = { .name = "small" };
	unsigned int i, nr = number(argv[1], BENCH_MAX_SAMPLES);
	unsigned char *host = host_memory(1), *back = host_memory(2);
	struct card card;

	(void)argc;
	card_open(&card, argv[0]);
	for (i = 0; i < nr; i++) {
		uint64_t start = now_ns();

		copy(card.fd, PACCEL_COPY_H2D, card.addr, (uintptr_t)host, SMALL_BYTES);
		samples_add(&s, now_ns() - start);
	}
	read_card(&card, back, 0, SMALL_BYTES);
	must_be(back, host, SMALL_BYTES, s.name);
	card_close(&card);
	samples_print(&s);
	return 0;
}
