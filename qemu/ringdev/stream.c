// SPDX-License-Identifier: MIT
/*
 * Long copies and fills, past the caches: what is overwritten is not read first, and the next page
 * is on its way while this one is copied, wherever it is. A list of pages goes as fast as one
 * memcpy() of all of it.
 */
#include <string.h>

#include "model.h"

#define LINE	64u
#define PAGE	4096u

#ifdef __x86_64__
#include <immintrin.h>

typedef __m128i quarter;	/* of a line */

static inline quarter load(const uint8_t *at)
{
	return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* Stores of this kind are not ordered with others, until there is a fence. */
static inline void store(uint8_t *at, quarter value)
{
	_mm_stream_si128((__m128i *)(void *)at, value);
}

/* The memory of some machines takes whole lines only at full speed. */
__attribute__((target("avx512f")))
static void fill_by_lines(uint8_t *dst, const uint8_t *pattern, size_t len)
{
	__m512i value = _mm512_loadu_si512(pattern);

	for (size_t i = 0; i < len; i += LINE)
		_mm512_stream_si512((__m512i *)(void *)(dst + i), value);
}

static bool has_lines(void)
{
	return __builtin_cpu_supports("avx512f");
}

void stream_end(void)
{
	_mm_sfence();
}
#else
typedef struct { uint8_t bytes[16]; } quarter;

static inline quarter load(const uint8_t *at)
{
	quarter value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline void store(uint8_t *at, quarter value)
{
	memcpy(at, &value, sizeof(value));
}

static void fill_by_lines(uint8_t *dst, const uint8_t *pattern, size_t len)
{
	(void)dst;
	(void)pattern;
	(void)len;
}

static bool has_lines(void)
{
	return false;
}

void stream_end(void)
{
}
#endif

/* Bytes before the first whole line. */
static size_t head_of(const uint8_t *dst, size_t len)
{
	size_t head = -(uintptr_t)dst % LINE;

	return head < len ? head : len;
}

static void copy_lines(uint8_t *dst, const uint8_t *src, size_t len, const uint8_t *ahead)
{
	for (size_t i = 0; i < len; i += LINE) {
		quarter a = load(src + i), b = load(src + i + 16);
		quarter c = load(src + i + 32), d = load(src + i + 48);

		__builtin_prefetch((const void *)((uintptr_t)ahead + i));
		store(dst + i, a);
		store(dst + i + 16, b);
		store(dst + i + 32, c);
		store(dst + i + 48, d);
	}
}

void stream_copy(uint8_t *dst, const uint8_t *src, size_t len, const uint8_t *next)
{
	size_t head = head_of(dst, len);

	memcpy(dst, src, head);
	for (dst += head, src += head, len -= head; len >= LINE;) {
		size_t part = len < PAGE ? len - len % LINE : PAGE;

		copy_lines(dst, src, part, part < len ? src + part : next);
		dst += part;
		src += part;
		len -= part;
	}
	memcpy(dst, src, len);
}

static void fill_by_quarters(uint8_t *dst, const uint8_t *pattern, size_t len)
{
	quarter value = load(pattern);

	for (size_t i = 0; i < len; i += sizeof(value))
		store(dst + i, value);
}

void stream_fill(uint8_t *dst, const uint8_t pattern[STREAM_PATTERN], size_t len)
{
	size_t head = head_of(dst, len), lines = (len - head) / LINE * LINE;
	const uint8_t *turned = pattern + head % 8;

	memcpy(dst, pattern, head);
	if (has_lines())
		fill_by_lines(dst + head, turned, lines);
	else
		fill_by_quarters(dst + head, turned, lines);
	memcpy(dst + head + lines, turned, len - head - lines);
}
