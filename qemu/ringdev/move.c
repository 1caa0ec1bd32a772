// SPDX-License-Identifier: MIT
/*
 * Moving the bytes of a transfer that has been checked.
 */
#include <string.h>

#include "model.h"
#include "shared.h"

/* From this size on the data is not expected to be in a cache, before or after. */
#define LONG	(256u << 10)
#define AHEAD	4
/* Small enough to stay in the first cache on its way; a multiple of every pattern. */
#define PIECE	16384u

/* From where the transfer is; it is there at a multiple of the pattern. */
static void fill_piece(uint8_t *piece, const struct ring_descriptor *d, size_t len)
{
	size_t have = d->pattern_size;

	memcpy(piece, &d->pattern, have);
	for (; have < len; have *= 2)
		memcpy(piece + have, piece, have < len - have ? have : len - have);
}

/* The bit that a corrupt transfer gets wrong, if it lies in these bytes. */
static void flip(const struct transfer *t, uint8_t *piece, uint64_t start, size_t len)
{
	uint64_t where = (t->faults.random >> 3) % t->d.len;

	if (fault_has(&t->faults, FAULT_CORRUPT) && where >= start && where - start < len)
		piece[where - start] ^= (uint8_t)(1u << (t->faults.random & 7));
}

/*
 * Through a buffer, so that each byte is read once: the checksum is that of the bytes on the
 * card's side, before or after a bit was flipped on the way.
 */
static void move_by_pieces(struct transfer *t, uint8_t *dst, const uint8_t *src, uint64_t len)
{
	uint8_t piece[PIECE];
	uint64_t start = t->moved;

	while (len) {
		size_t part = len < PIECE ? len : PIECE;

		if (src)
			memcpy(piece, src, part);
		else
			fill_piece(piece, &t->d, part);
		if (t->dst)
			flip(t, piece, start, part);
		t->checksum = crc32c(t->checksum, piece, part);
		if (!t->dst)
			flip(t, piece, start, part);
		if (dst)
			memcpy(dst, piece, part);
		src = src ? src + part : NULL;
		dst = dst ? dst + part : NULL;
		start += part;
		len -= part;
	}
}

bool is_uniform(const struct ring_descriptor *d)
{
	uint8_t piece[8];

	fill_piece(piece, d, sizeof(piece));
	return !memcmp(piece, piece + 1, sizeof(piece) - 1);
}

void move_fill(const struct ring_descriptor *d, uint8_t *dst, uint64_t len)
{
	uint8_t piece[PIECE];

	if (d->len >= LONG) {
		fill_piece(piece, d, STREAM_PATTERN);
		stream_fill(dst, piece, len);
		return;
	}
	if (is_uniform(d)) {
		memset(dst, d->pattern & 0xff, len);
		return;
	}
	fill_piece(piece, d, sizeof(piece));
	for (uint64_t done = 0; done < len; done += PIECE)
		memcpy(dst + done, piece, len - done < PIECE ? len - done : PIECE);
}

void move_copy(const struct ring_descriptor *d, uint8_t *dst, const uint8_t *src, uint64_t len,
	       const uint8_t *next)
{
	if (d->len >= LONG)
		stream_copy(dst, src, len, next);
	else
		memcpy(dst, src, len);
}

/* What is to be read after `len` bytes at `src`. */
static const uint8_t *next_source(const struct transfer *t, const uint8_t *src, uint64_t len)
{
	if (t->src || t->host_used || t->host_next == t->host_count)
		return src + len;
	return t->host[t->host_next].at;
}

static void move_part(struct transfer *t, uint8_t *dst, const uint8_t *src, uint64_t len)
{
	if (t->d.opcode == RING_OP_CHECKSUM || t->d.flags & RING_FLAG_CHECKSUM ||
	    fault_has(&t->faults, FAULT_CORRUPT))
		move_by_pieces(t, dst, src, len);
	else if (src)
		move_copy(&t->d, dst, src, len, next_source(t, src, len));
	else
		move_fill(&t->d, dst, len);
	t->moved += len;
}

/* The next bytes of the host's side that are together. */
static struct span host_part(struct transfer *t, uint64_t limit)
{
	struct span *span = &t->host[t->host_next], part;

	/* Pages of a list have nothing in common: where they are is looked up in advance. */
	if (t->host_next + AHEAD < t->host_count)
		__builtin_prefetch(span[AHEAD].at);
	part.at = span->at + t->host_used;
	part.len = span->len - t->host_used;
	if (part.len > limit) {
		part.len = limit;
		t->host_used += limit;
	} else {
		t->host_next++;
		t->host_used = 0;
	}
	return part;
}

void move(struct engine *e, struct transfer *t, uint64_t budget)
{
	uint64_t left = t->d.len - t->moved;

	if (budget > left)
		budget = left;
	e->card->counters.bytes += budget;
	while (budget) {
		struct span host = { NULL, budget };
		uint8_t *dst = t->dst ? t->dst + t->moved : NULL;
		uint8_t *src = t->src ? t->src + t->moved : NULL;

		if (t->host)
			host = host_part(t, budget);
		if (t->d.opcode == RING_OP_D2H)
			dst = host.at;
		if (t->d.opcode == RING_OP_H2D)
			src = host.at;
		move_part(t, dst, src, host.len);
		budget -= host.len;
	}
	stream_end();
}

void move_fence(struct engine *e, struct transfer *t)
{
	if (t->d.flags & RING_FLAG_TIME)
		shared_write64(t->host[0].at, card_now(e->card));
	else if (t->d.flags & RING_FLAG_WRITE)
		shared_write64(t->host[0].at, t->d.pattern);
}
