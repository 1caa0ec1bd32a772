// SPDX-License-Identifier: MIT
/*
 * What a descriptor must be. The order of the checks is part of the data sheet: with two things
 * wrong the first is reported.
 */
#include "model.h"
#include "shared.h"

enum side { UNUSED, CARD, HOST };

struct rule {
	enum side src, dst;
	uint8_t flags;
	bool pattern;
};

#define COPY_FLAGS	(RING_FLAG_IRQ | RING_FLAG_LINK | RING_FLAG_CHECKSUM)
#define FENCE_FLAGS	(RING_FLAG_IRQ | RING_FLAG_LINK | RING_FLAG_WRITE | RING_FLAG_TIME)

static const struct rule rules[] = {
	[RING_OP_H2D] = { HOST, CARD, COPY_FLAGS | RING_FLAG_LIST, false },
	[RING_OP_D2H] = { CARD, HOST, COPY_FLAGS | RING_FLAG_LIST, false },
	[RING_OP_D2D] = { CARD, CARD, COPY_FLAGS, false },
	[RING_OP_FILL] = { UNUSED, CARD, COPY_FLAGS, true },
	[RING_OP_CHECKSUM] = { CARD, UNUSED, COPY_FLAGS, false },
	[RING_OP_FENCE] = { UNUSED, UNUSED, FENCE_FLAGS, false },
};

static const struct rule *rule_of(const struct ring_descriptor *d)
{
	if (d->opcode < RING_OP_H2D || d->opcode > RING_OP_FENCE)
		return NULL;
	return &rules[d->opcode];
}

/* What an opcode has no use for is zero, so that it can get a meaning some day. */
static bool fields_good(const struct ring_descriptor *d, const struct rule *rule)
{
	bool write = d->flags & RING_FLAG_WRITE, time = d->flags & RING_FLAG_TIME;

	if (d->flags & ~rule->flags || d->zero[0] || d->zero[1] || d->zero[2])
		return false;
	if (time && !write)
		return false;
	if (!(d->flags & RING_FLAG_LIST) && d->segments)
		return false;
	if (rule->src == UNUSED && d->src)
		return false;
	if (rule->dst == UNUSED && !write && d->dst)
		return false;
	if (!rule->pattern && d->pattern_size)
		return false;
	return rule->pattern || (write && !time) || !d->pattern;
}

static bool length_good(const struct ring_descriptor *d)
{
	if (d->opcode == RING_OP_FENCE)
		return !d->len;
	return d->len && d->len <= RING_MAX_XFER;
}

static uint32_t check_pattern(const struct ring_descriptor *d)
{
	uint32_t size = d->pattern_size;

	if (size != 1 && size != 2 && size != 4 && size != 8)
		return RING_BAD_PATTERN;
	/* A cut pattern, or bits that do not fit, are a mistake of whoever asks. */
	if (d->len % size || (size < 8 && d->pattern >> (8 * size)))
		return RING_BAD_PATTERN;
	return RING_OK;
}

static uint8_t *card_at(struct ring_card *card, uint64_t offset, uint64_t len)
{
	uint64_t size = card_memory_size(card);

	if (offset > size || len > size - offset)
		return NULL;
	return card->config.bar + RING_CONTROL_SIZE + offset;
}

static uint32_t check_card_side(struct engine *e, struct transfer *t, const struct rule *rule)
{
	struct ring_descriptor *d = &t->d;

	t->src = rule->src == CARD ? card_at(e->card, d->src, d->len) : NULL;
	t->dst = rule->dst == CARD ? card_at(e->card, d->dst, d->len) : NULL;
	if ((rule->src == CARD && !t->src) || (rule->dst == CARD && !t->dst))
		return RING_BAD_CARD_ADDRESS;
	if (t->src && t->dst && d->src < d->dst + d->len && d->dst < d->src + d->len)
		return RING_OVERLAP;
	return RING_OK;
}

/* One entry of a list, which is read once. */
static uint32_t check_segment(struct engine *e, uint8_t *at, uint64_t left, struct span *span)
{
	struct ring_segment s;

	shared_read(&s, at, sizeof(s));
	if (!s.len || s.zero || s.len > left)
		return RING_BAD_LIST;
	span->at = bus_at(e->card, s.address, s.len);
	span->len = s.len;
	return span->at ? RING_OK : RING_BAD_HOST_ADDRESS;
}

static uint32_t check_list(struct engine *e, struct transfer *t, uint64_t address, uint32_t *detail)
{
	uint32_t count = t->d.segments, status;
	uint64_t left = t->d.len;
	uint8_t *list;

	if (!count || count > RING_MAX_SEGMENTS || address % sizeof(struct ring_segment))
		return RING_BAD_LIST;
	list = bus_ram_at(e->card, address, count * sizeof(struct ring_segment));
	if (!list)
		return RING_BAD_LIST;
	for (uint32_t i = 0; i < count; i++) {
		*detail = i;
		status = check_segment(e, list + i * sizeof(struct ring_segment), left,
				       &e->spans[i]);
		if (status != RING_OK)
			return status;
		left -= e->spans[i].len;
	}
	t->host_count = count;
	return left ? RING_BAD_LIST : RING_OK;
}

static uint32_t check_host_side(struct engine *e, struct transfer *t, uint64_t address,
				uint64_t len, uint32_t *detail)
{
	if (!card_is_master(e->card))
		return RING_NO_MASTER;
	t->host = e->spans;
	if (t->d.flags & RING_FLAG_LIST)
		return check_list(e, t, address, detail);
	e->spans[0] = (struct span){ bus_at(e->card, address, len), len };
	t->host_count = 1;
	return e->spans[0].at ? RING_OK : RING_BAD_HOST_ADDRESS;
}

static uint32_t check_fence(struct engine *e, struct transfer *t, uint32_t *detail)
{
	if (!(t->d.flags & RING_FLAG_WRITE))
		return RING_OK;
	/* Eight bytes that the host can read at once. */
	if (t->d.dst % 8)
		return RING_BAD_HOST_ADDRESS;
	return check_host_side(e, t, t->d.dst, 8, detail);
}

uint32_t check_descriptor(struct engine *e, struct transfer *t, uint32_t *detail)
{
	struct ring_descriptor *d = &t->d;
	const struct rule *rule = rule_of(d);
	uint32_t status;

	*detail = 0;
	if (d->generation != e->generation)
		return RING_STALE;
	if (d->flags & RING_FLAG_LINK && !e->ok)
		return RING_CANCELLED;
	if (!rule)
		return RING_BAD_OPCODE;
	if (!fields_good(d, rule))
		return RING_BAD_FIELD;
	if (!length_good(d))
		return RING_BAD_LENGTH;
	status = rule->pattern ? check_pattern(d) : RING_OK;
	if (status == RING_OK)
		status = check_card_side(e, t, rule);
	if (status != RING_OK)
		return status;
	if (d->opcode == RING_OP_FENCE)
		return check_fence(e, t, detail);
	if (rule->src == HOST)
		return check_host_side(e, t, d->src, d->len, detail);
	if (rule->dst == HOST)
		return check_host_side(e, t, d->dst, d->len, detail);
	return RING_OK;
}
