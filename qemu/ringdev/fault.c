// SPDX-License-Identifier: MIT
/*
 * Which descriptor meets which fault: orders from the control socket, and a storm whose schedule
 * follows from its seed and from the number of the descriptor on its engine alone.
 */
#include <string.h>

#include "model.h"

#define DEFAULT_NS		10000000u	/* late, delayed */
#define DEFAULT_REPEAT_NS	1000000u

const char *const fault_names[FAULT_KINDS] = {
	"stall", "drop", "late", "twice", "reorder", "wrong-id", "wrong-generation",
	"wrong-length", "fail", "corrupt", "irq-lose", "irq-repeat", "irq-delay",
};

/* splitmix64 */
uint64_t fault_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint64_t ns_of(enum fault_kind kind, uint64_t ns)
{
	if (ns)
		return ns;
	return kind == FAULT_IRQ_REPEAT ? DEFAULT_REPEAT_NS : DEFAULT_NS;
}

static void add(struct fault_set *set, enum fault_kind kind, uint64_t ns)
{
	set->kinds |= 1u << kind;
	if (kind == FAULT_LATE)
		set->late = ns_of(kind, ns);
	if (kind == FAULT_IRQ_DELAY || kind == FAULT_IRQ_REPEAT)
		set->irq_delay = ns_of(kind, ns);
}

static void pick_from_plans(struct engine *e, struct fault_set *set)
{
	for (unsigned int i = 0; i < RING_MAX_PLANS; i++) {
		struct fault_plan *plan = &e->card->plans[i];

		if (!plan->count || (plan->engine >= 0 && plan->engine != (int)e->number))
			continue;
		if (plan->after) {
			plan->after--;
			continue;
		}
		plan->count--;
		add(set, plan->kind, plan->ns);
		if (plan->kind == FAULT_STALL)
			set->needs_card_reset = plan->needs_card_reset;
	}
}

/* Draws as many numbers whether something happens or not. */
static void pick_from_storm(struct engine *e, struct fault_set *set)
{
	const struct fault_storm *storm = &e->card->storm;
	uint64_t when = fault_random(&e->random), which = fault_random(&e->random);
	unsigned int wanted;

	set->random = fault_random(&e->random);
	if (!storm->every || !storm->kinds || when % storm->every)
		return;
	wanted = (unsigned int)(which % (unsigned int)__builtin_popcount(storm->kinds));
	for (unsigned int kind = 0; kind < FAULT_KINDS; kind++)
		if (storm->kinds & 1u << kind && !wanted--)
			add(set, kind, storm->ns);
}

void fault_pick(struct engine *e, struct fault_set *set)
{
	memset(set, 0, sizeof(*set));
	pick_from_storm(e, set);
	pick_from_plans(e, set);
	e->card->counters.faults += (unsigned int)__builtin_popcount(set->kinds);
}

void fault_seed(struct ring_card *card, uint64_t seed)
{
	uint64_t state = seed;

	for (unsigned int i = 0; i < RING_MAX_ENGINES; i++)
		card->engines[i].random = fault_random(&state);
}

/* Faults that have been ordered stay: a test lets a number of descriptors pass, and no more. */
void fault_resume(struct ring_card *card)
{
	for (unsigned int i = 0; i < card->config.engines; i++)
		card->engines[i].now.faults.kinds &= ~(1u << FAULT_STALL);
}

/* A stalled engine goes on, a card that does not answer answers; the link has its own command. */
void fault_clear(struct ring_card *card)
{
	memset(card->plans, 0, sizeof(card->plans));
	memset(&card->storm, 0, sizeof(card->storm));
	card->mute_until = 0;
	fault_resume(card);
}
