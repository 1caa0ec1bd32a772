// SPDX-License-Identifier: MIT
/* Makes programs and changes them, by the grammar. */
#include <string.h>

#include "program.h"

/* Values that no grammar names. None is an address that anything is mapped at. */
static const u64 odd_values[] = {
	0, 1, 2, 7, 63, 65, 4095, 4097, 1ull << 31, 1ull << 32, (1ull << 32) + 4096, 1ull << 40,
	1ull << 62, 1ull << 63, ~0ull, ~0ull - 4095, 0xffffffff,
};

static const struct call_type *type_of(const struct program *p, u64 ref)
{
	return &call_types[p->calls[ref - 1].type];
}

static bool is_result(const struct arg *arg)
{
	return arg->kind < K_RESULTS;
}

static bool has_owner(const struct call_type *type)
{
	return type->nr_args && type->args[0].kind == K_DEVICE;
}

/* Of a sharing of any other file's objects. */
static bool is_shared(enum kind kind)
{
	return kind == K_DMABUF || kind == K_SYNC || kind == K_FILE || kind == K_DEVICE;
}

static u64 pick_value(const struct arg *arg, struct random *r)
{
	if (one_in(r, 120) || !arg->nr_values)
		return odd_values[random_below(r, sizeof(odd_values) / sizeof(u64))];
	return arg->values[random_below(r, arg->nr_values)];
}

/* As long as what it is the length of, or a part of that. */
static u64 pick_length(const struct program *p, const struct call *call, const struct arg *arg,
		       struct random *r)
{
	u64 ref = call->args[arg->of], whole;

	if (!ref || one_in(r, 30))
		return pick_value(arg, r);
	if (!type_of(p, ref)->length)
		return pick_value(arg, r);
	whole = p->calls[ref - 1].args[type_of(p, ref)->length - 1];
	return whole > 8192 && one_in(r, 8) ? whole / 2 : whole;
}

/* --- generating --------------------------------------------------------------------- */

static u64 add_call(struct program *p, u16 type, u64 owner, struct random *r);

/* A call before the end that returns that kind, of the same file; 0 if there is none. */
static u64 find_result(const struct program *p, enum kind kind, u64 owner, struct random *r)
{
	u64 found = 0, nr = 0;

	for (u64 ref = 1; ref <= p->nr; ref++) {
		const struct call_type *type = type_of(p, ref);

		if (!kind_accepts(kind, type->result))
			continue;
		if (owner && !is_shared(kind) && has_owner(type) &&
		    p->calls[ref - 1].args[0] != owner)
			continue;
		if (one_in(r, ++nr))
			found = ref;
	}
	return found;
}

/* A new call that returns that kind. */
static u64 make_result(struct program *p, enum kind kind, u64 owner, struct random *r)
{
	u64 sum = 0, at;
	u16 type;

	for (type = 0; type < NR_CALLS; type++)
		if (kind_accepts(kind, call_types[type].result))
			sum += call_types[type].weight;
	at = random_below(r, sum);
	for (type = 0;; type++) {
		if (!kind_accepts(kind, call_types[type].result))
			continue;
		if (at < call_types[type].weight)
			return add_call(p, type, owner, r);
		at -= call_types[type].weight;
	}
}

static u64 pick_result(struct program *p, enum kind kind, u64 owner, struct random *r)
{
	u64 ref;

	if (one_in(r, 300))
		return 0;
	if (kind == K_DEVICE && owner && !one_in(r, 100))
		return owner;
	ref = one_in(r, 8) ? 0 : find_result(p, kind, owner, r);
	if (!ref)
		ref = make_result(p, kind, owner, r);
	return ref ?: find_result(p, kind, 0, r);
}

/* A point is one of its stream. */
static void match_stream(const struct program *p, struct call *call, struct random *r)
{
	const struct call_type *type = &call_types[call->type];
	u64 point;

	for (int i = 1; i < type->nr_args; i++) {
		point = call->args[i];
		if (type->args[i].kind == K_POINT && point && !one_in(r, 20))
			call->args[i - 1] = p->calls[point - 1].args[1];
	}
}

static void pick_args(struct program *p, struct call *call, u64 owner, struct random *r)
{
	const struct call_type *type = &call_types[call->type];

	for (int i = 0; i < type->nr_args; i++)
		if (is_result(&type->args[i]))
			call->args[i] = pick_result(p, type->args[i].kind, owner, r);
	for (int i = 0; i < type->nr_args; i++) {
		if (type->args[i].kind == K_LENGTH)
			call->args[i] = pick_length(p, call, &type->args[i], r);
		else if (!is_result(&type->args[i]))
			call->args[i] = pick_value(&type->args[i], r);
	}
	match_stream(p, call, r);
}

static bool is_operation(u16 type)
{
	return type >= CALL_op_copy && type <= CALL_op_time;
}

/* SUBMIT has nothing to submit without operations before it. */
static void add_operations(struct program *p, u64 owner, struct random *r)
{
	for (u64 n = 1 + random_below(r, 3); n; n--)
		add_call(p, (u16)(CALL_op_copy + random_below(r, CALL_submit - CALL_op_copy)),
			 owner, r);
}

/* Beside the one that WAIT has anyway. Few programs have two streams by themselves. */
static void add_points(struct program *p, u64 owner, struct random *r)
{
	u64 n = random_below(r, 4);

	if (n && one_in(r, 2)) {
		add_call(p, CALL_stream_create, owner, r);
		add_call(p, CALL_submit, owner, r);
	}
	for (; n; n--)
		add_call(p, CALL_point, owner, r);
}

/*
 * Allocations fail in calls to the driver only. The kernel warns of some of its own that fail: a stack in
 * fork(), the frame of a signal, or what the exporter of a dma-buf needs to register it.
 */
static bool can_fail(u16 type)
{
	return type != CALL_host_dmabuf &&
	       (type == CALL_open || call_types[type].args[0].kind == K_DEVICE);
}

/* With the calls that it needs before it; their reference, or 0 if there is no room. */
static u64 add_call(struct program *p, u16 type, u64 owner, struct random *r)
{
	struct call call = { .type = type };

	if (p->nr >= MAX_CALLS)
		return 0;
	if (type == CALL_submit && !one_in(r, 30))
		add_operations(p, owner, r);
	if (type == CALL_wait)
		add_points(p, owner, r);
	pick_args(p, &call, owner, r);
	if (p->nr >= MAX_CALLS)
		return 0;
	if (one_in(r, 150) && can_fail(type))
		call.fail = (u16)(1 + random_below(r, 20));
	p->calls[p->nr++] = call;
	return p->nr;
}

static u16 pick_type(struct random *r)
{
	u64 sum = 0, at;
	u16 type;

	for (type = 0; type < NR_CALLS; type++)
		sum += call_types[type].weight;
	at = random_below(r, sum);
	for (type = 0; at >= call_types[type].weight; type++)
		at -= call_types[type].weight;
	return type;
}

/* Adds a call of any type, mostly for a file that there is. */
static void extend(struct program *p, struct random *r)
{
	u64 owner = find_result(p, K_DEVICE, 0, r);
	u16 type = pick_type(r);

	/* Operations come with their SUBMIT, points with their WAIT. */
	if (is_operation(type))
		type = CALL_submit;
	if (type == CALL_point)
		type = CALL_wait;
	add_call(p, type, owner ?: add_call(p, CALL_open, 0, r), r);
}

void program_generate(struct program *p, struct random *r)
{
	u64 calls = 4 + random_below(r, MAX_CALLS - 4);

	memset(p, 0, sizeof(*p));
	p->threads = one_in(r, 4) ? 2 : 1;
	while (p->nr < calls)
		extend(p, r);
}

/* --- changing --------------------------------------------------------------------------- */

void program_remove(struct program *p, unsigned int at)
{
	p->nr--;
	memmove(&p->calls[at], &p->calls[at + 1], (p->nr - at) * sizeof(p->calls[0]));
	for (unsigned int i = at; i < p->nr; i++) {
		struct call *call = &p->calls[i];
		const struct call_type *type = &call_types[call->type];

		for (int n = 0; n < type->nr_args; n++) {
			if (!is_result(&type->args[n]))
				continue;
			if (call->args[n] == at + 1)
				call->args[n] = 0;
			else if (call->args[n] > at + 1)
				call->args[n]--;
		}
	}
	memset(&p->calls[p->nr], 0, sizeof(p->calls[0]));
}

/* Another result or another constant for one argument. */
static void change_arg(struct program *p, struct random *r)
{
	u64 at = random_below(r, p->nr);
	struct call *call = &p->calls[at];
	const struct call_type *type = &call_types[call->type];
	struct program before = *p;
	const struct arg *arg;
	u64 n;

	if (!type->nr_args)
		return;
	n = random_below(r, type->nr_args);
	arg = &type->args[n];
	before.nr = (u16)at;
	if (is_result(arg))
		call->args[n] = find_result(&before, arg->kind, 0, r);
	else if (arg->kind == K_LENGTH && !one_in(r, 3))
		call->args[n] = pick_length(p, call, arg, r);
	else if (one_in(r, 8))
		call->args[n] ^= 1ull << random_below(r, 20);
	else
		call->args[n] = pick_value(arg, r);
}

/* All of @other that there is room for, behind @p. */
static void append(struct program *p, const struct program *other)
{
	u16 shift = p->nr;

	for (u16 i = 0; i < other->nr && p->nr < MAX_CALLS; i++) {
		struct call call = other->calls[i];

		for (int n = 0; n < call_types[call.type].nr_args; n++)
			if (is_result(&call_types[call.type].args[n]) && call.args[n])
				call.args[n] += shift;
		p->calls[p->nr++] = call;
	}
}

static void change_fail(struct call *call, struct random *r)
{
	call->fail = can_fail(call->type) ? (u16)random_below(r, 24) : 0;
}

static void mutate_once(struct program *p, const struct program *other, struct random *r)
{
	u64 kind = random_below(r, 16);

	if (kind < 5)
		extend(p, r);
	else if (kind < 11)
		change_arg(p, r);
	else if (kind < 12)
		p->threads = 3 - p->threads;
	else if (kind < 13)
		change_fail(&p->calls[random_below(r, p->nr)], r);
	else if (kind < 14)
		append(p, other);
	else if (p->nr > 1)
		program_remove(p, (unsigned int)random_below(r, p->nr));
}

void program_mutate(struct program *p, const struct program *other, struct random *r)
{
	for (u64 n = 1 + random_below(r, 4); n; n--)
		mutate_once(p, other, r);
}

/* --- checking ----------------------------------------------------------------------------- */

static bool arg_is_valid(const struct program *p, unsigned int at, int n)
{
	const struct arg *arg = &call_types[p->calls[at].type].args[n];
	u64 value = p->calls[at].args[n];

	if (!is_result(arg) || !value)
		return true;
	return value <= at && kind_accepts(arg->kind, type_of(p, value)->result);
}

bool program_is_valid(const struct program *p)
{
	if (!p->nr || p->nr > MAX_CALLS || p->threads < 1 || p->threads > 2)
		return false;
	for (unsigned int at = 0; at < p->nr; at++) {
		if (p->calls[at].type >= NR_CALLS)
			return false;
		for (int n = 0; n < call_types[p->calls[at].type].nr_args; n++)
			if (!arg_is_valid(p, at, n))
				return false;
	}
	return true;
}
