// SPDX-License-Identifier: MIT
/*
 * The control protocol: a line is a command and words KEY=VALUE, the answer `ok...` or
 * `error: SENTENCE`. It is described in Documentation/ringdev.md.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model.h"
#include "number.h"

#define MAX_LINE	256

enum key {
	KEY_CARD, KEY_ENGINE, KEY_AFTER, KEY_COUNT, KEY_NS, KEY_OFFSET, KEY_MASK, KEY_EVERY,
	KEY_SEED, KEY_RATE, KEY_LATENCY, KEY_RUNS, KEY_KINDS, KEY_UNTIL, KEY_OP,
	KEYS,
};

/* Limits that depend on the card are checked with the card. */
static const struct {
	const char *name;
	uint64_t min, max;
} keys[KEYS] = {
	[KEY_CARD] = { "card", 0, RING_MAX_CARDS - 1 },
	[KEY_ENGINE] = { "engine", 0, RING_MAX_ENGINES - 1 },
	[KEY_AFTER] = { "after", 0, UINT32_MAX },
	[KEY_COUNT] = { "count", 1, UINT32_MAX },
	[KEY_NS] = { "ns", 1, RING_MAX_NS },
	[KEY_OFFSET] = { "offset", 0, RING_MAX_MEMORY - 1 },
	[KEY_MASK] = { "mask", 1, 255 },
	[KEY_EVERY] = { "every", 0, UINT32_MAX },
	[KEY_SEED] = { "seed", 0, UINT64_MAX },
	[KEY_RATE] = { "rate", 0, RING_MAX_RATE },
	[KEY_LATENCY] = { "latency", 0, RING_MAX_NS },
	[KEY_RUNS] = { "runs", 1, REFERENCE_MAX_RUNS },
	/* Words. */
	[KEY_KINDS] = { "kinds", 0, 0 },
	[KEY_UNTIL] = { "until", 0, 0 },
	[KEY_OP] = { "op", 0, 0 },
};

#define HAS(key)	(1u << (key))

struct order {
	struct ring_card *card;
	const char *verb;
	uint32_t given;			/* HAS(key) */
	uint64_t value[KEYS];
	const char *text[KEYS];
	char *reply;
	size_t size;
};

__attribute__((format(printf, 2, 3)))
static void answer(struct order *o, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(o->reply, o->size, format, arguments);
	va_end(arguments);
}

static int kind_of(const char *name, size_t len)
{
	for (int i = 0; i < FAULT_KINDS; i++)
		if (strlen(fault_names[i]) == len && !strncmp(fault_names[i], name, len))
			return i;
	return -1;
}

/* --- the commands ------------------------------------------------------------------------- */

static void do_fault(struct order *o)
{
	bool until_card = o->given & HAS(KEY_UNTIL) && !strcmp(o->text[KEY_UNTIL], "card");
	int kind = kind_of(o->verb, strlen(o->verb));

	if (o->given & HAS(KEY_UNTIL) && (kind != FAULT_STALL || (!until_card &&
	    strcmp(o->text[KEY_UNTIL], "engine")))) {
		answer(o, "error: until: engine or card, for stall only");
		return;
	}
	for (unsigned int i = 0; i < RING_MAX_PLANS; i++) {
		struct fault_plan *plan = &o->card->plans[i];

		if (plan->count)
			continue;
		*plan = (struct fault_plan){
			.kind = (enum fault_kind)kind,
			.engine = o->given & HAS(KEY_ENGINE) ? (int)o->value[KEY_ENGINE] : -1,
			.after = o->value[KEY_AFTER],
			.count = o->given & HAS(KEY_COUNT) ? o->value[KEY_COUNT] : 1,
			.ns = o->value[KEY_NS],
			.needs_card_reset = until_card,
		};
		return;
	}
	answer(o, "error: %d faults are waiting already", RING_MAX_PLANS);
}

static void do_storm(struct order *o)
{
	const char *names = o->given & HAS(KEY_KINDS) ? o->text[KEY_KINDS] : "";
	struct fault_storm storm = { .every = o->value[KEY_EVERY], .ns = o->value[KEY_NS] };

	if (!(o->given & HAS(KEY_EVERY))) {
		answer(o, "error: storm wants every=N, one descriptor in N; 0 ends it");
		return;
	}
	while (*names) {
		size_t len = strcspn(names, ",");
		int kind = kind_of(names, len);

		if (kind < 0) {
			answer(o, "error: kinds: there is no fault '%.*s'", (int)len, names);
			return;
		}
		storm.kinds |= 1u << kind;
		names += len + (names[len] == ',');
	}
	/* Only a checksum tells of a flipped bit: it has to be asked for. */
	if (!storm.kinds)
		storm.kinds = ((1u << FAULT_KINDS) - 1) & ~(1u << FAULT_CORRUPT);
	if (o->given & HAS(KEY_SEED))
		fault_seed(o->card, o->value[KEY_SEED]);
	o->card->storm = storm;
}

static void do_flip(struct order *o)
{
	uint64_t size = card_memory_size(o->card);
	uint8_t mask = o->given & HAS(KEY_MASK) ? (uint8_t)o->value[KEY_MASK] : 1;

	if (!(o->given & HAS(KEY_OFFSET)) || o->value[KEY_OFFSET] >= size) {
		answer(o, "error: flip wants offset=0 to %" PRIu64, size - 1);
		return;
	}
	o->card->config.bar[RING_CONTROL_SIZE + o->value[KEY_OFFSET]] ^= mask;
}

static void do_mute(struct order *o)
{
	o->card->mute_until = o->given & HAS(KEY_NS) ? card_now(o->card) + o->value[KEY_NS] :
						       RING_NEVER;
}

static void do_link_down(struct order *o)
{
	card_link(o->card, false);
}

static void do_link_up(struct order *o)
{
	card_link(o->card, true);
}

static void do_die(struct order *o)
{
	o->card->bus->die = true;
}

static void do_resume(struct order *o)
{
	fault_resume(o->card);
}

static void do_clear(struct order *o)
{
	fault_clear(o->card);
}

static void do_set(struct order *o)
{
	uint64_t rate = o->value[KEY_RATE];

	if (rate && rate < RING_MIN_RATE) {
		answer(o, "error: rate: 0, or %llu to %llu bytes per second", RING_MIN_RATE,
		       RING_MAX_RATE);
		return;
	}
	if (o->given & HAS(KEY_RATE))
		o->card->config.rate = rate;
	if (o->given & HAS(KEY_LATENCY))
		o->card->config.latency = o->value[KEY_LATENCY];
}

static void do_stats(struct order *o)
{
	const struct ring_counters *c = &o->card->counters;

	answer(o, "ok descriptors=%" PRIu64 " bytes=%" PRIu64 " completions=%" PRIu64
	       " interrupts=%" PRIu64 " faults=%" PRIu64 " generation=%" PRIu32, c->descriptors,
	       c->bytes, c->completions, c->interrupts, c->faults, o->card->generation);
}

static void do_record(struct order *o)
{
	static const char *const names[] = {
		[RING_OP_H2D] = "h2d", [RING_OP_D2H] = "d2h", [RING_OP_D2D] = "d2d",
		[RING_OP_FILL] = "fill",
	};
	const char *name = o->given & HAS(KEY_OP) ? o->text[KEY_OP] : "";
	uint8_t opcode = RING_OP_H2D;

	while (opcode <= RING_OP_FILL && strcmp(names[opcode], name))
		opcode++;
	if (opcode > RING_OP_FILL)
		answer(o, "error: record wants op=h2d, d2h, d2d or fill");
	else if (!reference_record(o->card, opcode))
		answer(o, "error: there is no memory");
}

static void do_time(struct order *o)
{
	unsigned int runs = o->given & HAS(KEY_RUNS) ? (unsigned int)o->value[KEY_RUNS] : 5;
	struct reference result;
	const char *problem = reference_time(o->card, runs, &result);

	if (problem)
		answer(o, "error: %s", problem);
	else
		answer(o, "ok ns=%" PRIu64 " min=%" PRIu64 " longest=%" PRIu64 " bytes=%" PRIu64
		       " pieces=%u", result.median, result.min, result.longest, result.bytes,
		       result.pieces);
}

#define FAULT_KEYS	(HAS(KEY_ENGINE) | HAS(KEY_AFTER) | HAS(KEY_COUNT) | HAS(KEY_NS) | \
			 HAS(KEY_UNTIL))

static const struct {
	const char *name;
	void (*run)(struct order *o);
	uint32_t keys;			/* besides card */
} verbs[] = {
	{ "storm", do_storm, HAS(KEY_EVERY) | HAS(KEY_KINDS) | HAS(KEY_SEED) | HAS(KEY_NS) },
	{ "flip", do_flip, HAS(KEY_OFFSET) | HAS(KEY_MASK) },
	{ "mute", do_mute, HAS(KEY_NS) },
	{ "link-down", do_link_down, 0 },
	{ "link-up", do_link_up, 0 },
	{ "die", do_die, 0 },
	{ "resume", do_resume, 0 },
	{ "clear", do_clear, 0 },
	{ "set", do_set, HAS(KEY_RATE) | HAS(KEY_LATENCY) },
	{ "stats", do_stats, 0 },
	{ "record", do_record, HAS(KEY_OP) },
	{ "time", do_time, HAS(KEY_RUNS) },
};

/* --- taking a line apart ---------------------------------------------------------------------- */

static bool take_word(struct order *o, char *word, uint32_t allowed)
{
	char *value = strchr(word, '=');
	unsigned int key;

	if (value)
		*value++ = '\0';
	for (key = 0; key < KEYS && (strcmp(word, keys[key].name) || !(allowed & HAS(key))); key++)
		;
	if (key == KEYS || !value) {
		answer(o, "error: %s takes no '%s'", o->verb, word);
		return false;
	}
	o->given |= HAS(key);
	o->text[key] = value;
	if (key >= KEY_KINDS)
		return true;
	if (!number_parse(value, &o->value[key]) || o->value[key] < keys[key].min ||
	    o->value[key] > keys[key].max) {
		answer(o, "error: %s: a number from %" PRIu64 " to %" PRIu64, word, keys[key].min,
		       keys[key].max);
		return false;
	}
	return true;
}

static bool choose_card(struct order *o, struct ring_bus *bus)
{
	if (o->value[KEY_CARD] >= bus->count) {
		answer(o, "error: card: a number from 0 to %u", bus->count - 1);
		return false;
	}
	o->card = bus->cards[o->value[KEY_CARD]];
	if (o->value[KEY_ENGINE] >= o->card->config.engines) {
		answer(o, "error: engine: a number from 0 to %u", o->card->config.engines - 1);
		return false;
	}
	return true;
}

static void run_order(struct order *o, struct ring_bus *bus, char *rest)
{
	void (*run)(struct order *o) = kind_of(o->verb, strlen(o->verb)) < 0 ? NULL : do_fault;
	uint32_t allowed = FAULT_KEYS;
	char *word;

	for (size_t i = 0; !run && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(o->verb, verbs[i].name))
			continue;
		run = verbs[i].run;
		allowed = verbs[i].keys;
	}
	if (!run) {
		answer(o, "error: there is no command '%s'", o->verb);
		return;
	}
	while ((word = strtok_r(NULL, " \t", &rest)))
		if (!take_word(o, word, allowed | HAS(KEY_CARD)))
			return;
	if (choose_card(o, bus))
		run(o);
}

void ring_command(struct ring_bus *bus, const char *line, char *reply, size_t size)
{
	struct order o = { .reply = reply, .size = size };
	char text[MAX_LINE], *rest;

	answer(&o, "ok");
	if (strlen(line) >= sizeof(text)) {
		answer(&o, "error: a line has at most %d characters", MAX_LINE - 1);
		return;
	}
	strcpy(text, line);
	o.verb = strtok_r(text, " \t", &rest);
	if (o.verb)
		run_order(&o, bus, rest);
	else
		answer(&o, "error: a line is COMMAND [KEY=VALUE...]");
}
