// SPDX-License-Identifier: MIT
/*
 * An engine: takes descriptors from its ring one after the other, carries them out, completes
 * them. The faults that a descriptor has drawn are met on the way.
 */
#include <string.h>

#include "model.h"
#include "shared.h"

/* What an engine may do before the others get their turn. */
#define SLICE		(1u << 20)
/* Nobody rings when there is room for completions again, or when the next of two never comes. */
#define FULL_RETRY_NS	1000000u
#define REORDER_NS	100000000u

static uint8_t *reg(struct engine *e, uint32_t offset)
{
	return e->card->config.bar + RING_ENGINE(e->number) + offset;
}

static void set_status(struct engine *e, uint32_t status)
{
	if (e->status == status)
		return;
	e->status = status;
	shared_write32(reg(e, RING_E_STATUS), status);
}

/* The registers say where nothing can be: the engine does no more until it is reset. */
static void halt(struct engine *e, uint32_t error)
{
	e->busy = false;
	shared_write32(reg(e, RING_E_ERROR), error);
	set_status(e, RING_E_HALTED);
	card_raise(e->card, RING_VECTOR_DEVICE);
}

/*
 * The registers of the host's side are cleared too, before the reset is acknowledged. Completions
 * that a fault holds back stay: a card that is late is not stopped by a reset, and their
 * generation tells.
 */
void engine_reset(struct engine *e, uint32_t generation)
{
	e->generation = generation;
	e->busy = false;
	e->ok = true;
	e->sq_head = 0;
	e->cq_tail = 0;
	e->irq = false;
	e->irq_due = RING_NEVER;
	e->status = RING_E_IDLE;
	memset(e->card->config.bar + RING_RINGS(e->number), 0, RING_RINGS(1) - RING_RINGS(0));
	shared_write32(reg(e, RING_SQ_TAIL), 0);
	shared_write32(reg(e, RING_CQ_HEAD), 0);
	shared_write32(reg(e, RING_SQ_HEAD), 0);
	shared_write32(reg(e, RING_CQ_TAIL), 0);
	shared_write32(reg(e, RING_E_STATUS), RING_E_IDLE);
	shared_write32(reg(e, RING_E_ERROR), 0);
	shared_write32(reg(e, RING_E_GENERATION), generation);
}

/* --- completing ------------------------------------------------------------------------- */

/* Free entries of the completion ring; 0 also if the engine had to halt. */
static uint32_t completion_room(struct engine *e)
{
	uint32_t used = e->cq_tail - shared_read32(reg(e, RING_CQ_HEAD));

	if (used <= RING_ENTRIES)
		return RING_ENTRIES - used;
	halt(e, RING_E_ERROR_CQ);
	return 0;
}

static void publish(struct engine *e, struct ring_completion *c)
{
	c->number = e->cq_tail;
	shared_write(e->card->config.bar + RING_CQ(e->number) +
		     e->cq_tail % RING_ENTRIES * sizeof(*c), c, sizeof(*c));
	e->cq_tail++;
	shared_write32(reg(e, RING_CQ_TAIL), e->cq_tail);
	e->card->counters.completions++;
}

static void request_interrupt(struct engine *e, const struct fault_set *faults)
{
	uint64_t due = card_now(e->card) + faults->irq_delay;

	if (fault_has(faults, FAULT_IRQ_LOSE))
		return;
	if (fault_has(faults, FAULT_IRQ_DELAY) || fault_has(faults, FAULT_IRQ_REPEAT))
		e->irq_due = due < e->irq_due ? due : e->irq_due;
	if (!fault_has(faults, FAULT_IRQ_DELAY))
		e->irq = true;
}

static void emit(struct engine *e, struct held_completion *done)
{
	uint32_t room = completion_room(e);

	if (e->status == RING_E_HALTED)
		return;
	/* Room was there when the descriptor was fetched: the host has moved CQ_HEAD back. */
	if (!room) {
		halt(e, RING_E_ERROR_CQ);
		return;
	}
	publish(e, &done->c);
	/* A second one only where it takes no place that is promised to another. */
	if (fault_has(&done->faults, FAULT_TWICE) && room >= 2 + e->held_count)
		publish(e, &done->c);
	if (done->irq)
		request_interrupt(e, &done->faults);
	for (unsigned int i = 0; i < e->held_count; i++)
		if (e->held[i].after_next)
			e->held[i].due = 0;
}

static void deliver_held(struct engine *e)
{
	uint64_t now = e->held_count ? card_now(e->card) : 0;

	for (unsigned int i = 0; i < e->held_count && e->status != RING_E_HALTED;) {
		struct held_completion done = e->held[i];

		if (done.due > now) {
			i++;
			continue;
		}
		e->held_count--;
		memmove(&e->held[i], &e->held[i + 1], (e->held_count - i) * sizeof(done));
		emit(e, &done);
	}
}

static bool hold(struct engine *e, struct held_completion *done)
{
	bool late = fault_has(&done->faults, FAULT_LATE);

	if ((!late && !fault_has(&done->faults, FAULT_REORDER)) || e->held_count == RING_MAX_HELD)
		return false;
	done->after_next = !late;
	done->due = card_now(e->card) + (late ? done->faults.late : REORDER_NS);
	e->held[e->held_count++] = *done;
	return true;
}

static void falsify(struct ring_completion *c, const struct fault_set *faults)
{
	if (fault_has(faults, FAULT_WRONG_ID))
		c->cookie ^= 1ull << (faults->random % 64);
	if (fault_has(faults, FAULT_WRONG_GENERATION))
		c->generation--;
	if (fault_has(faults, FAULT_WRONG_LENGTH))
		c->bytes ^= 1ull << (faults->random % 32);
}

static void finish(struct engine *e, uint32_t status, uint32_t detail)
{
	struct transfer *t = &e->now;
	bool summed = t->d.opcode == RING_OP_CHECKSUM || t->d.flags & RING_FLAG_CHECKSUM;
	struct held_completion done = {
		.c = {
			.cookie = t->d.cookie,
			.generation = t->d.generation,
			.status = status,
			.bytes = t->moved,
			.time = card_now(e->card),
			.checksum = status == RING_OK && summed ? ~t->checksum : 0,
			.detail = detail,
			.descriptor = t->index,
		},
		/* An error is told whether the host has asked or not. */
		.irq = t->d.flags & RING_FLAG_IRQ || status != RING_OK,
		.faults = t->faults,
	};

	e->busy = false;
	/* What a LINK behind it goes by, whatever the host gets to see. */
	e->ok = status == RING_OK;
	if (e->ok)
		reference_add(e->card, t);
	falsify(&done.c, &t->faults);
	if (!fault_has(&t->faults, FAULT_DROP) && !hold(e, &done))
		emit(e, &done);
}

/* --- carrying out --------------------------------------------------------------------------- */

/* When latency and the link, of which each direction is one for all engines, let it end. */
static uint64_t due(struct engine *e, const struct transfer *t)
{
	struct ring_card *card = e->card;
	uint64_t *link = &card->link_free[t->d.opcode == RING_OP_D2H];
	uint64_t now = card_now(card);

	if (!card->config.rate || !t->host || t->d.opcode == RING_OP_FENCE)
		return now + card->config.latency;
	*link = (*link > now ? *link : now) + t->d.len * 1000000000ull / card->config.rate;
	return *link + card->config.latency;
}

static void take(struct engine *e)
{
	struct transfer *t = &e->now;
	uint32_t status, detail;

	memset(t, 0, sizeof(*t));
	shared_read(&t->d, e->card->config.bar + RING_SQ(e->number) +
		    e->sq_head % RING_ENTRIES * sizeof(t->d), sizeof(t->d));
	t->index = e->sq_head++;
	t->checksum = ~0u;
	shared_write32(reg(e, RING_SQ_HEAD), e->sq_head);
	e->busy = true;
	e->card->counters.descriptors++;
	fault_pick(e, &t->faults);
	status = check_descriptor(e, t, &detail);
	if (status == RING_OK)
		t->due = due(e, t);
	else
		finish(e, status, detail);
}

static uint32_t submitted(struct engine *e)
{
	return shared_read32(reg(e, RING_SQ_TAIL)) - e->sq_head;
}

/*
 * A host that has read "running" after its SQ_TAIL was written does not ring. So what it has
 * written until it can read "idle" has to be noticed without.
 */
static uint32_t go_idle(struct engine *e)
{
	if (e->status == RING_E_IDLE)
		return 0;
	set_status(e, RING_E_IDLE);
	shared_fence();
	return submitted(e);
}

/* 0, or when to try again. */
static uint64_t fetch(struct engine *e)
{
	uint32_t ready = submitted(e), room;

	if (!ready)
		ready = go_idle(e);
	if (!ready)
		return RING_NEVER;
	if (ready > RING_ENTRIES) {
		halt(e, RING_E_ERROR_SQ);
		return RING_NEVER;
	}
	set_status(e, RING_E_RUNNING);
	room = completion_room(e);
	if (e->status == RING_E_HALTED)
		return RING_NEVER;
	if (room <= e->held_count)
		return card_now(e->card) + FULL_RETRY_NS;
	take(e);
	return 0;
}

static void carry_out(struct engine *e, uint64_t *budget)
{
	struct transfer *t = &e->now;
	bool fails = fault_has(&t->faults, FAULT_FAIL);
	uint64_t end = fails ? t->d.len / 2 : t->d.len;
	/* A fill goes on where its pattern begins anew. */
	uint64_t part = (*budget + 7) & ~7ull;

	if (part > end - t->moved)
		part = end - t->moved;

	/* The gate may have shut since the last part. */
	if (t->host && !card_is_master(e->card)) {
		finish(e, RING_NO_MASTER, 0);
		return;
	}
	if (t->d.opcode == RING_OP_FENCE && !fails) {
		move_fence(e, t);
		finish(e, RING_OK, 0);
		return;
	}
	move(e, t, part);
	*budget -= part < *budget ? part : *budget;
	if (t->moved == end)
		finish(e, fails ? RING_DATA_ERROR : RING_OK, 0);
}

/* One part of a transfer, or the next descriptor. 0: go on; else when, if nothing happens. */
static uint64_t step(struct engine *e, uint64_t *budget)
{
	uint64_t wait;

	deliver_held(e);
	if (e->status == RING_E_HALTED)
		return RING_NEVER;
	if (!e->busy) {
		wait = fetch(e);
		if (wait || !e->busy)
			return wait;
	}
	if (fault_has(&e->now.faults, FAULT_STALL))
		return RING_NEVER;
	if (e->now.due > card_now(e->card))
		return e->now.due;
	carry_out(e, budget);
	return 0;
}

static uint64_t raise_interrupts(struct engine *e)
{
	if (e->irq_due != RING_NEVER && e->irq_due <= card_now(e->card)) {
		e->irq_due = RING_NEVER;
		e->irq = true;
	}
	/* One for all that this turn has completed. */
	if (e->irq)
		card_raise(e->card, RING_VECTOR_ENGINE(e->number));
	e->irq = false;
	return e->irq_due;
}

uint64_t engine_run(struct engine *e)
{
	uint64_t budget = SLICE, next = 0, irq;

	for (unsigned int i = 0; i < ENGINE_BATCH && budget && !next; i++) {
		/* A reset that was asked for is done before another byte is written. */
		card_serve_commands(e->card);
		next = step(e, &budget);
	}
	irq = raise_interrupts(e);
	next = irq < next ? irq : next;
	/* Nobody takes completions from an engine that has halted. */
	for (unsigned int i = 0; i < e->held_count && e->status != RING_E_HALTED; i++)
		next = e->held[i].due < next ? e->held[i].due : next;
	return next;
}
