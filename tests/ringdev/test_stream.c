// SPDX-License-Identifier: MIT
/* Long copies and fills: each length and place around the ends of lines and pages. */
#include "fixture.h"

/* The same without the instructions of this processor. */
void plain_copy(uint8_t *dst, const uint8_t *src, size_t len, const uint8_t *next);
void plain_fill(uint8_t *dst, const uint8_t pattern[STREAM_PATTERN], size_t len);
void plain_end(void);

#define stream_copy	plain_copy
#define stream_fill	plain_fill
#define stream_end	plain_end
#undef __x86_64__
#include "../../qemu/ringdev/stream.c"
#undef stream_copy
#undef stream_fill
#undef stream_end

#define MAX	9000u

typedef void copy_function(uint8_t *dst, const uint8_t *src, size_t len, const uint8_t *next);
typedef void fill_function(uint8_t *dst, const uint8_t *pattern, size_t len);

static void check_copy(copy_function *copy, size_t dst, size_t src, size_t len)
{
	/* The last byte is the last of its block, so that a sanitizer sees the next one. */
	uint8_t *to = aligned_alloc(64, 64 * 400), *from = malloc(src + len);
	uint8_t *at = to + dst;

	fill_random(from, src + len, len);
	memset(to, 0xee, 64 * 400);
	copy(at, from + src, len, NULL);
	check(!memcmp(at, from + src, len));
	check((!dst || at[-1] == 0xee) && at[len] == 0xee);
	free(to);
	free(from);
}

static void copies_of(copy_function *copy)
{
	for (size_t len = 0; len < 200; len++)
		for (size_t dst = 0; dst < 64; dst += 1 + len % 3)
			check_copy(copy, dst, len % 17, len);
	for (size_t len = 4096 - 65; len < 4096 + 65; len += 5)
		for (size_t dst = 0; dst < 64; dst += 7)
			check_copy(copy, dst, len % 17, len);
	check_copy(copy, 0, 0, 8192);
	check_copy(copy, 63, 1, MAX);
}

static void check_fill(fill_function *fill, size_t dst, size_t len, size_t size)
{
	uint8_t *to = aligned_alloc(64, 64 * 400), pattern[STREAM_PATTERN], *at = to + dst;
	bool good = true;

	fill_random(pattern, size, size);
	for (size_t i = size; i < sizeof(pattern); i++)
		pattern[i] = pattern[i - size];
	memset(to, 0xee, 64 * 400);
	fill(at, pattern, len);
	for (size_t i = 0; i < len; i++)
		good &= at[i] == pattern[i % size];
	check(good);
	check((!dst || at[-1] == 0xee) && at[len] == 0xee);
	free(to);
}

static void fills_of(fill_function *fill)
{
	for (size_t size = 1; size <= 8; size *= 2) {
		for (size_t len = 0; len < 200; len++)
			for (size_t dst = 0; dst < 64; dst += 1 + len % 3)
				check_fill(fill, dst, len, size);
		check_fill(fill, 61, MAX, size);
	}
}

static void copies(void)
{
	copies_of(stream_copy);
}

static void copies_without_instructions(void)
{
	copies_of(plain_copy);
}

static void fills(void)
{
	fills_of(stream_fill);
}

static void fills_without_instructions(void)
{
	fills_of(plain_fill);
	plain_end();
}

int main(void)
{
	RUN(copies);
	RUN(copies_without_instructions);
	RUN(fills);
	RUN(fills_without_instructions);
	return tests_end();
}
