/* SPDX-License-Identifier: MIT */
/*
 * A program of the fuzzer: calls whose arguments are constants or results of calls before them. In
 * the corpus and in the log it is a line of text:
 *
 *   2 open 0x0 0x2; mem_alloc r0 0x0 0x1000 0x0; fill!3 r0 r1 0x1000 0x7 0x1 0x0
 *
 * The first number is how many threads run all of it at once. An argument rN is what call N has
 * returned, - is no result. A call NAME!N runs with its Nth allocation or user copy failing.
 */
#ifndef PACCEL_FUZZ_PROGRAM_H
#define PACCEL_FUZZ_PROGRAM_H

#include <stdio.h>

#include "calls.h"

#define MAX_CALLS 24
#define MAX_ARGS 8
/* Of a program as text, with its newline. */
#define MAX_TEXT (MAX_CALLS * (32 + MAX_ARGS * 20))

/* What a call returns, and what an argument can be. */
enum kind {
	K_NONE,
	/* Results of calls. */
	K_DEVICE,	/* a file of a device */
	K_MEM,		/* a device address */
	K_MAP,		/* an address of the process */
	K_HOST,		/* one inside a host range: also a K_MAP */
	K_OWN,		/* one inside HOST_ALLOC's memory: also a K_HOST */
	K_OFFSET,
	K_STREAM,
	K_POINT,
	K_DMABUF,
	K_SYNC,
	K_EVENTFD,
	K_TIMELINE,
	K_CHILD,
	K_FILE,		/* any of those that are files */
	K_RESULTS,
	/* Constants. */
	K_LENGTH,	/* of what another argument names, if that says how long it is */
	K_VALUE,
};

struct arg {
	enum kind kind;
	u8 of;			/* K_LENGTH: the argument that it is the length of */
	const u64 *values;	/* K_LENGTH, K_VALUE: those that make sense */
	u8 nr_values;
};

struct call_type {
	const char *name;
	long (*run)(const u64 *a);
	enum kind result;
	u8 weight;		/* how often it is chosen */
	u8 nr_args;
	u8 length;		/* which argument, from 1, says how long the result is; 0: none */
	bool disturbs;		/* the device or all processes: privileged, and rare */
	bool is_progress;	/* a SUBMIT, a copy, an allocation or a share */
	struct arg args[MAX_ARGS];
};

/* grammar.c */
extern const struct call_type call_types[NR_CALLS];
/* True if a result of the second kind can be given where the first kind is wanted. */
bool kind_accepts(enum kind wanted, enum kind result);

/* args[i] of a result: the number of the call and 1, or 0 for none. */
struct call {
	u16 type;
	u16 fail;
	u64 args[MAX_ARGS];
};

struct program {
	u16 nr;
	u16 threads;
	struct call calls[MAX_CALLS];
};

struct random {
	u64 state;
};

static inline u64 random_next(struct random *r)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return r->state * 0x2545f4914f6cdd1d;
}

static inline u64 random_below(struct random *r, u64 n)
{
	return (random_next(r) >> 33) % n;
}

static inline bool one_in(struct random *r, u64 n)
{
	return !random_below(r, n);
}

static inline void random_seed(struct random *r, u64 seed)
{
	r->state = seed * 0x9e3779b97f4a7c15 | 1;
	random_next(r);
}

/* program.c. The same seed gives the same program. */
void program_generate(struct program *p, struct random *r);
void program_mutate(struct program *p, const struct program *other, struct random *r);
void program_remove(struct program *p, unsigned int call);
/* Numbers are in range, and results come from calls before that return them. */
bool program_is_valid(const struct program *p);

/* text.c */
size_t program_format(const struct program *p, char text[MAX_TEXT]);
/* False if the line is no program. */
bool program_parse(struct program *p, const char *text);
/* As a program in C that is linked with the files of calls. */
void programs_print_c(FILE *to, const struct program *p, unsigned int nr);

#endif
