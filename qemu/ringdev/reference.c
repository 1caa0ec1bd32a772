// SPDX-License-Identifier: MIT
/*
 * The reference for the bandwidth of transfers: the same bytes moved once more by the function that
 * moves transfers, in calls as long as the longest transfer, without descriptors and without lists of
 * pages. Transfers are recorded, and then done again while a clock runs.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model.h"

#define MAX_PIECES	65536u

struct piece {
	uint8_t *dst;
	const uint8_t *src;		/* NULL: filled with `byte` */
	uint64_t len;
	uint8_t byte;
};

struct ring_record {
	uint8_t opcode;
	bool complete;			/* it has been asked for its time */
	bool too_many;
	uint64_t longest;		/* of the transfers */
	unsigned int count;
	struct piece pieces[MAX_PIECES];
};

/* --- recording ------------------------------------------------------------------------------ */

bool reference_record(struct ring_card *card, uint8_t opcode)
{
	reference_forget(card);
	card->record = malloc(sizeof(*card->record));
	if (!card->record)
		return false;
	card->record->opcode = opcode;
	card->record->complete = false;
	card->record->too_many = false;
	card->record->longest = 0;
	card->record->count = 0;
	return true;
}

void reference_forget(struct ring_card *card)
{
	free(card->record);
	card->record = NULL;
}

static void add(struct ring_record *r, uint8_t *dst, const uint8_t *src, uint64_t len, uint8_t byte)
{
	struct piece *last = r->count ? &r->pieces[r->count - 1] : NULL;

	if (last && last->dst + last->len == dst && last->byte == byte &&
	    (src ? last->src + last->len == src : !last->src)) {
		last->len += len;
		return;
	}
	r->too_many = r->count == MAX_PIECES;
	if (!r->too_many)
		r->pieces[r->count++] = (struct piece){ dst, src, len, byte };
}

static bool in_ram(const struct ring_ram *ram, const struct span *span)
{
	return ram && span->at >= ram->base && span->at < ram->base + ram->size;
}

void reference_add(struct ring_card *card, const struct transfer *t)
{
	struct ring_record *r = card->record;
	uint64_t done = 0;

	if (!r || r->opcode != t->d.opcode || r->complete || r->too_many)
		return;
	/* memset() knows one byte. */
	if (r->opcode == RING_OP_FILL && !is_uniform(&t->d))
		return;
	if (t->d.len > r->longest)
		r->longest = t->d.len;
	if (!t->host)
		add(r, t->dst, t->src, t->d.len, (uint8_t)t->d.pattern);
	for (uint32_t i = 0; i < t->host_count && !r->too_many; i++) {
		const struct span *host = &t->host[i];

		/* The memory of a peer can go away, and is no memory of the host. */
		if (in_ram(card->ram, host))
			add(r, t->dst ? t->dst + done : host->at, t->src ? t->src + done : host->at,
			    host->len, 0);
		done += host->len;
	}
}

/* --- one piece of many ------------------------------------------------------------------------ */

static int by_card_side(const void *one, const void *two)
{
	const struct piece *a = one, *b = two;

	return a->dst < b->dst ? -1 : a->dst > b->dst;
}

static int by_source(const void *one, const void *two)
{
	const struct piece *a = one, *b = two;

	return a->src < b->src ? -1 : a->src > b->src;
}

/* Several engines, or lists, have done it in any order. */
static void sort_and_merge(struct ring_record *r)
{
	unsigned int count = r->count;

	qsort(r->pieces, count, sizeof(*r->pieces),
	      r->opcode == RING_OP_D2H ? by_source : by_card_side);
	r->count = 0;
	for (unsigned int i = 0; i < count; i++) {
		struct piece p = r->pieces[i];

		add(r, p.dst, p.src, p.len, p.byte);
	}
}

static uint8_t *host_side(const struct ring_record *r, const struct piece *p)
{
	return r->opcode == RING_OP_D2H ? p->dst : (uint8_t *)(uintptr_t)p->src;
}

static const uint8_t *card_side(const struct ring_record *r, const struct piece *p)
{
	return r->opcode == RING_OP_D2H ? p->src : p->dst;
}

/* The host's side in pieces that lie one behind the other on the card's side. */
static bool can_join(const struct ring_record *r)
{
	if ((r->opcode != RING_OP_H2D && r->opcode != RING_OP_D2H) || r->count < 2)
		return false;
	for (unsigned int i = 1; i < r->count; i++)
		if (card_side(r, &r->pieces[i - 1]) + r->pieces[i - 1].len !=
		    card_side(r, &r->pieces[i]))
			return false;
	return true;
}

/* The same pages a second time, in the order of the card's side; NULL if that cannot be had. */
static uint8_t *join(const struct ring_record *r, uint64_t len)
{
	uint8_t *all = MAP_FAILED, *at;

	if (can_join(r))
		all = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (all == MAP_FAILED)
		return NULL;
	at = all;
	for (unsigned int i = 0; i < r->count; i++) {
		/* Of a shared mapping, an old size of 0 is a copy. Only whole pages can be mapped. */
		if (mremap(host_side(r, &r->pieces[i]), 0, r->pieces[i].len,
			   MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED) {
			munmap(all, len);
			return NULL;
		}
		at += r->pieces[i].len;
	}
	return all;
}

/* --- timing ----------------------------------------------------------------------------------- */

/*
 * A memcpy() of the same bytes is no limit: it reads what it overwrites, which move_copy() does not.
 */
static void piece_move(const struct piece *p, uint64_t longest)
{
	struct ring_descriptor d = { .len = longest, .pattern = p->byte, .pattern_size = 1 };

	for (uint64_t at = 0, len; at < p->len; at += len) {
		len = p->len - at < longest ? p->len - at : longest;
		if (p->src)
			move_copy(&d, p->dst + at, p->src + at, len, p->src + at + len);
		else
			move_fill(&d, p->dst + at, len);
	}
}

static uint64_t time_once(struct ring_card *card, const struct piece *pieces, unsigned int count)
{
	uint64_t begin = card_now(card);

	for (unsigned int i = 0; i < count; i++)
		piece_move(&pieces[i], card->record->longest);
	stream_end();
	return card_now(card) - begin;
}

static int by_value(const void *one, const void *two)
{
	const uint64_t *a = one, *b = two;

	return *a < *b ? -1 : *a > *b;
}

static void time_runs(struct ring_card *card, const struct piece *pieces, unsigned int count,
		      unsigned int runs, struct reference *result)
{
	uint64_t times[REFERENCE_MAX_RUNS];

	time_once(card, pieces, count);
	for (unsigned int i = 0; i < runs; i++)
		times[i] = time_once(card, pieces, count);
	qsort(times, runs, sizeof(times[0]), by_value);
	result->median = times[runs / 2];
	result->min = times[0];
	result->longest = card->record->longest;
	result->pieces = count;
}

/* Also of a copy inside the card with itself, after it was merged with the next one. */
static bool overlap(const struct ring_record *r)
{
	for (unsigned int i = 0; i < r->count; i++) {
		const struct piece *p = &r->pieces[i];

		if (i && card_side(r, p) < card_side(r, p - 1) + p[-1].len)
			return true;
		if (p->src && p->src < p->dst + p->len && p->dst < p->src + p->len)
			return true;
	}
	return false;
}

static bool anybody_is_busy(const struct ring_bus *bus)
{
	bool busy = false;

	for (unsigned int i = 0; i < bus->count; i++)
		for (unsigned int n = 0; n < bus->cards[i]->config.engines; n++)
			busy |= bus->cards[i]->engines[n].busy;
	return busy;
}

static const char *check(struct ring_card *card)
{
	struct ring_record *r = card->record;

	if (!r || !r->count)
		return "nothing has been recorded";
	if (r->too_many)
		return "what has been recorded is in too many pieces";
	if (anybody_is_busy(card->bus))
		return "an engine is at work";
	if ((r->opcode == RING_OP_H2D || r->opcode == RING_OP_D2H) && !card_is_master(card))
		return "the gate is shut";
	sort_and_merge(r);
	return overlap(r) ? "transfers that have been recorded overlap" : NULL;
}

const char *reference_time(struct ring_card *card, unsigned int runs, struct reference *result)
{
	const char *problem = check(card);
	struct ring_record *r = card->record;
	struct piece whole;
	uint8_t *joined;

	if (problem)
		return problem;
	r->complete = true;
	result->bytes = 0;
	for (unsigned int i = 0; i < r->count; i++)
		result->bytes += r->pieces[i].len;
	joined = join(r, result->bytes);
	if (!joined) {
		time_runs(card, r->pieces, r->count, runs, result);
		return NULL;
	}
	whole = r->pieces[0];
	whole.len = result->bytes;
	if (r->opcode == RING_OP_D2H)
		whole.dst = joined;
	else
		whole.src = joined;
	time_runs(card, &whole, 1, runs, result);
	munmap(joined, result->bytes);
	return NULL;
}
