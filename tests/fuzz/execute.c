// SPDX-License-Identifier: MIT
/* Runs a program: its calls one after the other, in one thread or in two at once. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "../kselftest/util.h"
#include "fuzz.h"

/* Calls that disturb all processes come this often, so that the others get something done. */
#define DISTURBANCE_MS 500

struct run {
	const struct program *program;
	const struct execution *how;
	struct new_edges *found;	/* NULL: without coverage */
	u64 *results;			/* of both threads: the one that is later counts */
};

/* One process at a time, and not all the time. */
static bool may_disturb(const struct execution *how)
{
	u64 now = now_ms(), next = __atomic_load_n(&shared->next_disturbance, __ATOMIC_RELAXED);

	return how->may_disturb && now >= next &&
	       __atomic_compare_exchange_n(&shared->next_disturbance, &next,
					   now + DISTURBANCE_MS, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

static u64 argument(const struct run *run, const struct call *call, int n)
{
	u64 value = call->args[n];

	if (call_types[call->type].args[n].kind > K_RESULTS)
		return value;
	return value ? __atomic_load_n(&run->results[value - 1], __ATOMIC_RELAXED) : NO_RESULT;
}

static long make_call(const struct run *run, const struct call *call)
{
	const struct call_type *type = &call_types[call->type];
	u64 args[MAX_ARGS] = { 0 };
	long rc;

	if (type->disturbs && !may_disturb(run->how))
		return -EAGAIN;
	for (int n = 0; n < type->nr_args; n++)
		args[n] = argument(run, call, n);
	if (call->fail)
		calls_fail_nth(call->fail);
	if (run->found)
		coverage_reset();
	rc = type->run(args);
	/* The child of a fork has no coverage of its own. */
	if (run->found && !calls_in_child())
		coverage_collect(run->found);
	if (call->fail)
		calls_fail_none();
	__atomic_fetch_add(&shared->made[call->type], 1, __ATOMIC_RELAXED);
	if (rc >= 0 || rc < -4095)
		__atomic_fetch_add(&shared->succeeded[call->type], 1, __ATOMIC_RELAXED);
	return rc;
}

static void run_calls(struct run *run)
{
	for (unsigned int i = 0; i < run->program->nr; i++) {
		u64 result = (u64)make_call(run, &run->program->calls[i]);

		__atomic_store_n(&run->results[i], result, __ATOMIC_RELAXED);
	}
}

static void *second_thread(void *arg)
{
	run_calls(arg);
	if (calls_in_child())
		_exit(0);
	return NULL;
}

void execute(const struct program *p, const struct execution *how, struct new_edges *found)
{
	u64 results[MAX_CALLS];
	struct run first = { p, how, found, results }, second = { p, how, NULL, results };
	bool two = p->threads > 1;
	pthread_t thread;

	memset(results, 0xff, sizeof(results));
	__atomic_fetch_add(&shared->programs, 1, __ATOMIC_RELAXED);
	if (two && pthread_create(&thread, NULL, second_thread, &second))
		two = false;
	run_calls(&first);
	if (calls_in_child())
		_exit(0);
	if (two)
		pthread_join(thread, NULL);
	calls_clean_up();
}
