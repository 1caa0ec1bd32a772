// SPDX-License-Identifier: MIT
/*
 * A process that runs programs: those that earlier runs have kept, then new ones and changed ones.
 * What reaches edges that no program has reached before is made as short as possible and kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../kselftest/util.h"
#include "fuzz.h"

/* A process then ends, so that the end of processes is tested, and the next one is a new one. */
#define PROGRAMS 100
/* Of all processes together, since they are one user. */
#define MEMLOCK (64 << 20)

static unsigned int slot;
static struct execution how;
static struct random dice;

static void run(const struct program *p, struct new_edges *found)
{
	struct slot *mine = &shared->slots[slot];

	log_program(LOG_RUN, slot, p);
	__atomic_store_n(&mine->since, now_ms(), __ATOMIC_RELAXED);
	execute(p, &how, found);
	__atomic_store_n(&mine->since, 0, __ATOMIC_RELAXED);
}

/* --- the corpus --------------------------------------------------------------------- */

static void keep(const struct program *p)
{
	unsigned int at = __atomic_fetch_add(&shared->nr_corpus, 1, __ATOMIC_RELAXED);

	if (at >= MAX_CORPUS)
		return;
	shared->corpus[at] = *p;
	__atomic_store_n(&shared->ready[at], true, __ATOMIC_RELEASE);
	log_program(LOG_KEPT, slot, p);
}

static const struct program *any_kept(void)
{
	unsigned int nr = __atomic_load_n(&shared->nr_corpus, __ATOMIC_RELAXED);
	u64 at;

	if (!nr)
		return NULL;
	at = random_below(&dice, nr < MAX_CORPUS ? nr : MAX_CORPUS);
	return __atomic_load_n(&shared->ready[at], __ATOMIC_ACQUIRE) ? &shared->corpus[at] : NULL;
}

/* --- minimising ------------------------------------------------------------------------ */

/* Runs @p again. Takes out of @wanted what it does not reach, and returns how many are left. */
static unsigned int run_again(const struct program *p, struct new_edges *wanted)
{
	struct new_edges more = { .nr = 0 };

	coverage_trace_begin();
	run(p, &more);
	coverage_trace_end(wanted);
	return wanted->nr;
}

/*
 * Takes out calls without which the new edges are reached, too. An edge that a second run does not
 * reach depends on timing and is not looked for.
 */
static void minimise(struct program *p, struct new_edges *wanted)
{
	if (!run_again(p, wanted))
		return;
	for (unsigned int at = p->nr; at-- && p->nr > 1;) {
		struct program shorter = *p;
		struct new_edges left = *wanted;

		program_remove(&shorter, at);
		if (run_again(&shorter, &left) == wanted->nr)
			*p = shorter;
	}
	keep(p);
}

/* --- programs ------------------------------------------------------------------------ */

static const struct program *next_import(void)
{
	unsigned int at;

	if (__atomic_load_n(&shared->next_import, __ATOMIC_RELAXED) >= shared->nr_imports)
		return NULL;
	at = __atomic_fetch_add(&shared->next_import, 1, __ATOMIC_RELAXED);
	return at < shared->nr_imports ? &shared->imports[at] : NULL;
}

static void make_program(struct program *p)
{
	const struct program *kept = any_kept(), *other = any_kept();

	/* Without coverage nothing new is kept, so more has to be new. */
	if (!kept || !other || one_in(&dice, shared->covered ? 6 : 2)) {
		program_generate(p, &dice);
		return;
	}
	*p = *kept;
	program_mutate(p, other, &dice);
}

static void run_one(void)
{
	const struct program *import = next_import();
	struct new_edges found = { .nr = 0 }, *guide = shared->covered ? &found : NULL;
	struct program p;

	if (import) {
		run(import, guide);
		if (found.nr || !guide)
			keep(import);
		__atomic_fetch_add(&shared->imports_done, 1, __ATOMIC_RELAXED);
		return;
	}
	make_program(&p);
	run(&p, guide);
	if (found.nr)
		minimise(&p, &found);
}

void worker_run(unsigned int number, u64 seed)
{
	slot = number;
	random_seed(&dice, seed);
	/* One slot keeps the privileges, and makes the calls that need them. */
	how.may_disturb = !slot;
	if (shared->covered && !coverage_open()) {
		fprintf(stderr, "no coverage: the kernel has no KCOV, or paccel.ko is built without\n");
		exit(1);
	}
	if (slot)
		calls_drop_privileges();
	else
		limit_memlock(MEMLOCK);
	calls_clean_up();
	for (int i = 0; i < PROGRAMS && !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); i++)
		run_one();
	_exit(0);
}
