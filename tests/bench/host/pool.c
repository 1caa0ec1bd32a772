// SPDX-License-Identifier: MIT
/*
 * pool SAMPLES: what accel_pool costs on the host. No card is asked, and no memory that the pool
 * gives out is touched: its upstream has only addresses. The trace is that of RMM's benchmark
 * random_allocations: uniform sizes, 73 % allocations, a random victim. Times are those of the
 * threads' processors, so that others on the machine count little.
 */
#define _GNU_SOURCE
#include <accel/pool.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SPACE (UINT64_C(17) << 30)
#define LIVE_MAX (UINT64_C(16000) << 20)
#define GRANULE 256
#define MANY 100000
#define SMALL (UINT64_C(1) << 20)
#define FEW 10000
#define LARGE (UINT64_C(64) << 20)
#define THREADS 4
/* In a round of a thread: the scheduler takes a while until two processors have two threads each. */
#define TRACES 10
#define ALLOCATIONS_OF_100 73
#define CHAIN_BYTES (8u << 20)
#define CHAIN_STEPS 1000000
#define LINE 64
#define SEED 4711

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "pool: %s: %s\n", what, accel_last_error());
	exit(1);
}

static double clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

/* ---- Random numbers: xorshift64 ---- */

static inline uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

static inline uint64_t below(uint64_t random, uint64_t limit)
{
	return ((random & UINT32_MAX) * limit) >> 32;
}

/* ---- Upstream: addresses that nothing is at ---- */

static int give_addresses(void *context, struct accel_stream *stream, size_t size, size_t alignment,
			  void **ptr)
{
	(void)stream;
	(void)alignment;
	*ptr = (void *)(UINT64_C(1) << 40);
	return size == *(uint64_t *)context ? 0 : -ENOMEM;
}

static int take_addresses(void *context, struct accel_stream *stream, void *ptr, size_t size,
			  size_t alignment)
{
	(void)context;
	(void)stream;
	(void)ptr;
	(void)size;
	(void)alignment;
	return 0;
}

static const struct accel_resource_ops addresses = {
	.allocate = give_addresses,
	.deallocate = take_addresses,
};

static uint64_t all = SPACE, quarter = SPACE / THREADS;

/* Of so many bytes, and no more. */
static struct accel_pool *make_pool(uint64_t *space)
{
	struct accel_resource upstream = { .ops = &addresses, .context = space };
	struct accel_pool_options options = { 0 };
	struct accel_pool *pool;

	options.granule = GRANULE;
	options.initial_size = options.maximum_size = *space;
	must(accel_pool_create(NULL, &upstream, &options, &pool), "create");
	return pool;
}

/* ---- The reference: an exact best fit by looking at every free block ---- */

struct free_block {
	uint64_t at, size; /* in order of at */
	uint64_t since; /* which change has made it what it is */
};

struct best_fit {
	struct free_block *free;
	size_t nr;
	uint64_t changes;
};

static uint64_t rounded(uint64_t size)
{
	return (size + GRANULE - 1) / GRANULE * GRANULE;
}

static bool is_better(const struct free_block *a, const struct free_block *b)
{
	return a->size < b->size || (a->size == b->size && a->since > b->since);
}

/* The newest among the smallest that fit, which says nothing about how well they fit; or -1. */
static uint64_t best_fit_allocate(struct best_fit *fit, uint64_t size)
{
	size_t best = SIZE_MAX;
	uint64_t at;

	size = rounded(size);
	for (size_t i = 0; i < fit->nr; i++)
		if (fit->free[i].size >= size &&
		    (best == SIZE_MAX || is_better(&fit->free[i], &fit->free[best])))
			best = i;
	if (best == SIZE_MAX)
		return UINT64_MAX;
	at = fit->free[best].at;
	fit->free[best].at += size;
	fit->free[best].size -= size;
	fit->free[best].since = ++fit->changes;
	if (!fit->free[best].size)
		memmove(&fit->free[best], &fit->free[best + 1],
			(--fit->nr - best) * sizeof(*fit->free));
	return at;
}

static void best_fit_free(struct best_fit *fit, uint64_t at, uint64_t size)
{
	struct free_block *free = fit->free;
	size_t i = 0;

	size = rounded(size);
	while (i < fit->nr && free[i].at < at)
		i++;
	memmove(&free[i + 1], &free[i], (fit->nr++ - i) * sizeof(*free));
	free[i] = (struct free_block){ .at = at, .size = size };
	if (i + 1 < fit->nr && at + size == free[i + 1].at) {
		free[i].size += free[i + 1].size;
		memmove(&free[i + 1], &free[i + 2], (--fit->nr - i - 1) * sizeof(*free));
	}
	if (i && free[i - 1].at + free[i - 1].size == at) {
		free[i - 1].size += free[i].size;
		memmove(&free[i], &free[i + 1], (--fit->nr - i) * sizeof(*free));
		i--;
	}
	free[i].since = ++fit->changes;
}

/* ---- The trace ---- */

struct live {
	uint64_t at;
	uint32_t size;
};

/* An allocation of so many bytes; if that is 0, the free of what is in this place of the live ones. */
struct step {
	uint32_t size, victim;
};

struct trace {
	struct accel_pool *pool;
	struct best_fit *fit; /* instead of a pool; without both, all there could be is there */
	uint64_t steps, max_size, live_max, seed;
	struct live *live;
	uint64_t nr, bytes, failures;
};

static bool trace_allocate(struct trace *trace, uint32_t size)
{
	struct live *live = &trace->live[trace->nr];
	void *ptr;

	if (trace->pool) {
		if (accel_pool_allocate(trace->pool, NULL, size, 1, &ptr))
			return false;
		live->at = (uint64_t)ptr;
	} else if (trace->fit) {
		live->at = best_fit_allocate(trace->fit, size);
		if (live->at == UINT64_MAX)
			return false;
	}
	live->size = size;
	trace->nr++;
	trace->bytes += size;
	return true;
}

static void trace_free(struct trace *trace, uint64_t victim)
{
	struct live *live = &trace->live[victim];

	if (trace->pool)
		must(accel_pool_deallocate(trace->pool, NULL, (void *)live->at, live->size, 1),
		     "free");
	else if (trace->fit)
		best_fit_free(trace->fit, live->at, live->size);
	trace->bytes -= live->size;
	*live = trace->live[--trace->nr];
}

static inline struct step draw_step(struct trace *trace)
{
	uint64_t random = draw(&trace->seed), size = 1 + below(random >> 32, trace->max_size);

	if (!trace->nr || (below(random, 100) < ALLOCATIONS_OF_100 &&
			   trace->bytes + size <= trace->live_max))
		return (struct step){ .size = (uint32_t)size };
	return (struct step){ .victim = (uint32_t)below(draw(&trace->seed), trace->nr) };
}

/* A failure leaves all as it is. */
static inline void take_step(struct trace *trace, struct step step)
{
	if (step.size)
		trace->failures += !trace_allocate(trace, step.size);
	else
		trace_free(trace, step.victim);
}

static void trace_run(struct trace *trace)
{
	for (uint64_t i = 0; i < trace->steps; i++)
		take_step(trace, draw_step(trace));
}

static void trace_end(struct trace *trace)
{
	while (trace->nr)
		trace_free(trace, trace->nr - 1);
}

static struct live *new_live(uint64_t steps)
{
	struct live *live = calloc(steps, sizeof(*live));

	must(live ? 0 : -ENOMEM, "memory");
	return live;
}

/* ---- Samples ---- */

static void print(const char *name, const char *kind, const double *values, int nr)
{
	printf("{\"name\": \"%s\", \"%s\": [", name, kind);
	for (int i = 0; i < nr; i++)
		printf("%s%.3f", i ? ", " : "", values[i]);
	puts("]}");
	fflush(stdout);
}

/*
 * The first round is of a pool that has made no notes yet, and is not shown. What comes next after a
 * failure is another step than without: so steps are drawn in the round.
 */
static void measure_trace(const char *name, uint64_t n, uint64_t max_size, int samples,
			  double *failures)
{
	struct trace trace = { .pool = make_pool(&all), .steps = 2 * n, .max_size = max_size,
			       .live_max = LIVE_MAX, .live = new_live(2 * n) };
	double ns[1000], start;

	for (int i = -1; i < samples; i++) {
		trace.seed = SEED;
		trace.failures = 0;
		start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		trace_run(&trace);
		if (i >= 0)
			ns[i] = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)trace.steps;
		*failures = (double)trace.failures;
		trace_end(&trace);
	}
	print(name, "ns", ns, samples);
	must(accel_pool_check(trace.pool), "check");
	must(accel_pool_destroy(trace.pool), "destroy");
	free(trace.live);
}

static double reference_failures(uint64_t n, uint64_t max_size)
{
	struct best_fit fit = { .free = calloc(2 * n + 2, sizeof(struct free_block)), .nr = 1 };
	struct trace trace = { .fit = &fit, .steps = 2 * n, .max_size = max_size,
			       .live_max = LIVE_MAX, .live = new_live(2 * n), .seed = SEED };

	must(fit.free ? 0 : -ENOMEM, "memory");
	fit.free[0] = (struct free_block){ .at = 0, .size = SPACE };
	trace_run(&trace);
	free(fit.free);
	free(trace.live);
	return (double)trace.failures;
}

/* ---- Calls of a trace in which nothing fails ---- */

/* What a step comes to: the arguments, and in which slot the address is kept meanwhile. */
struct call {
	uint32_t size : 31, frees : 1;
	uint32_t slot;
};

struct record {
	struct call *calls; /* those that count, and behind them frees of all that is left */
	uint64_t nr, rest;
	uint32_t nr_slots;
};

/* Slots that were free last are used first, as by a program that has just forgotten something. */
struct slots {
	uint32_t *spare, nr_spare, nr;
};

static struct call record_step(struct trace *trace, struct slots *slots, struct step step)
{
	struct call call = { .size = step.size };

	if (step.size) {
		call.slot = slots->nr_spare ? slots->spare[--slots->nr_spare] : slots->nr++;
		trace->live[trace->nr].at = call.slot;
	} else {
		call.frees = 1;
		call.size = trace->live[step.victim].size & INT32_MAX;
		call.slot = (uint32_t)trace->live[step.victim].at;
		slots->spare[slots->nr_spare++] = call.slot;
	}
	take_step(trace, step);
	return call;
}

static struct record record(uint64_t n, uint64_t max_size)
{
	struct trace trace = { .max_size = max_size, .live_max = LIVE_MAX,
			       .live = new_live(2 * n), .seed = SEED };
	struct record made = { .calls = calloc(4 * n, sizeof(*made.calls)), .nr = 2 * n };
	struct slots slots = { .spare = calloc(2 * n, sizeof(*slots.spare)) };
	struct step last;

	must(made.calls && slots.spare ? 0 : -ENOMEM, "memory");
	for (uint64_t i = 0; i < made.nr; i++)
		made.calls[i] = record_step(&trace, &slots, draw_step(&trace));
	while (trace.nr) {
		last = (struct step){ .victim = (uint32_t)trace.nr - 1 };
		made.calls[made.nr + made.rest++] = record_step(&trace, &slots, last);
	}
	made.nr_slots = slots.nr;
	free(trace.live);
	free(slots.spare);
	return made;
}

static void replay(struct accel_pool *pool, const struct call *call, uint64_t nr, void **slots)
{
	int err = 0;

	for (const struct call *end = call + nr; call < end; call++)
		if (call->frees)
			err |= accel_pool_deallocate(pool, NULL, slots[call->slot], call->size, 1);
		else
			err |= accel_pool_allocate(pool, NULL, call->size, 1, &slots[call->slot]);
	must(err, "a call that cannot fail");
}

/*
 * Drawing, and notes of what is live, which are as much memory as half of the pool's own, would be
 * a good part of the time: so none of that is in it. As above the first round is not shown.
 */
static void measure_calls(const char *name, uint64_t n, uint64_t max_size, int samples)
{
	struct record made = record(n, max_size);
	struct accel_pool *pool = make_pool(&all);
	void **slots = calloc(made.nr_slots, sizeof(*slots));
	double ns[1000], start;

	must(slots ? 0 : -ENOMEM, "memory");
	for (int i = -1; i < samples; i++) {
		start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		replay(pool, made.calls, made.nr, slots);
		if (i >= 0)
			ns[i] = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)made.nr;
		replay(pool, made.calls + made.nr, made.rest, slots);
	}
	print(name, "ns", ns, samples);
	must(accel_pool_check(pool), "check");
	must(accel_pool_destroy(pool), "destroy");
	free(slots);
	free(made.calls);
}

/* ---- Failures alone ---- */

/* All memory is in use, but for holes that are too short. */
static void measure_failures(int samples)
{
	struct accel_pool *pool = make_pool(&all);
	double ns[1000], start;
	void *first, *ptr;

	must(accel_pool_allocate(pool, NULL, SPACE - 2 * GRANULE, 1, &first), "allocate");
	for (int i = 0; i < samples; i++) {
		start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		for (int j = 0; j < MANY; j++)
			if (!accel_pool_allocate(pool, NULL, 4 * GRANULE, 1, &ptr))
				must(-EINVAL, "an allocation that cannot be");
		ns[i] = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / MANY;
	}
	print("pool.failed", "ns", ns, samples);
	must(accel_pool_deallocate(pool, NULL, first, SPACE - 2 * GRANULE, 1), "free");
	must(accel_pool_destroy(pool), "destroy");
}

/* ---- Threads ---- */

struct worker {
	pthread_t thread;
	pthread_barrier_t *barrier;
	struct trace trace;
	int rounds;
	uint64_t steps; /* of the last round */
};

/* Threads in one pool, or apart, each in one of a quarter. Each has as much live in any case. */
struct team {
	const char *name;
	unsigned int nr;
	bool apart;
	pthread_barrier_t barrier;
	struct worker workers[THREADS];
	double ns[1000];
};

static void *run_rounds(void *arg)
{
	struct worker *worker = arg;
	struct trace *trace = &worker->trace;

	for (int i = 0; i < worker->rounds; i++) {
		pthread_barrier_wait(worker->barrier);
		worker->steps = 0;
		for (int j = 0; j < TRACES; j++) {
			trace_run(trace);
			worker->steps += trace->steps + trace->nr;
			trace_end(trace);
		}
		pthread_barrier_wait(worker->barrier);
	}
	return NULL;
}

static void start_team(struct team *team, int rounds)
{
	uint64_t *space = team->apart ? &quarter : &all;
	struct accel_pool *pool = make_pool(space);

	pthread_barrier_init(&team->barrier, NULL, team->nr + 1);
	for (unsigned int i = 0; i < team->nr; i++) {
		struct worker *worker = &team->workers[i];

		if (team->apart && i)
			pool = make_pool(space);
		*worker = (struct worker){
			.barrier = &team->barrier,
			.rounds = rounds,
			.trace = { .pool = pool, .steps = 2 * MANY, .max_size = SMALL,
				   .live_max = LIVE_MAX / THREADS, .seed = SEED + i,
				   .live = new_live(2 * MANY) },
		};
		must(-pthread_create(&worker->thread, NULL, run_rounds, worker), "thread");
	}
}

/* Nanoseconds of a step of all of them together, by the clock on the wall. */
static double run_team(struct team *team)
{
	uint64_t steps = 0;
	double start;

	pthread_barrier_wait(&team->barrier);
	start = clock_ns(CLOCK_MONOTONIC);
	pthread_barrier_wait(&team->barrier);
	start = clock_ns(CLOCK_MONOTONIC) - start;
	for (unsigned int i = 0; i < team->nr; i++)
		steps += team->workers[i].steps;
	return start / (double)steps;
}

static void end_team(struct team *team)
{
	for (unsigned int i = 0; i < team->nr; i++) {
		pthread_join(team->workers[i].thread, NULL);
		free(team->workers[i].trace.live);
	}
	for (unsigned int i = 0; i < (team->apart ? team->nr : 1); i++) {
		must(accel_pool_check(team->workers[i].trace.pool), "check");
		must(accel_pool_destroy(team->workers[i].trace.pool), "destroy");
	}
	pthread_barrier_destroy(&team->barrier);
}

/* In turns, for the machine's speed changes. The first round is not shown. */
static void measure_threads(int samples)
{
	static struct team teams[] = {
		{ .name = "pool.one", .nr = 1 },
		{ .name = "pool.four", .nr = THREADS },
		{ .name = "pool.apart", .nr = THREADS, .apart = true },
	};
	const size_t nr = sizeof(teams) / sizeof(teams[0]);
	double ns;

	for (size_t t = 0; t < nr; t++)
		start_team(&teams[t], samples + 1);
	for (int i = -1; i < samples; i++)
		for (size_t t = 0; t < nr; t++) {
			ns = run_team(&teams[t]);
			if (i >= 0)
				teams[t].ns[i] = ns;
		}
	for (size_t t = 0; t < nr; t++) {
		end_team(&teams[t]);
		print(teams[t].name, "ns", teams[t].ns, samples);
	}
}

/* ---- What the machine is like ---- */

struct line {
	struct line *next;
	char rest[LINE - sizeof(struct line *)];
};

static void measure_chain(int samples)
{
	size_t nr = CHAIN_BYTES / sizeof(struct line), j;
	struct line *lines = aligned_alloc(LINE, CHAIN_BYTES), *at;
	size_t *order = calloc(nr, sizeof(*order)), swap;
	uint64_t seed = SEED;
	double ns[1000], start;

	must(lines && order ? 0 : -ENOMEM, "memory");
	for (size_t i = 0; i < nr; i++) {
		j = below(draw(&seed), i + 1);
		order[i] = i;
		swap = order[j];
		order[j] = order[i];
		order[i] = swap;
	}
	for (size_t i = 0; i < nr; i++)
		lines[order[i]].next = &lines[order[(i + 1) % nr]];
	at = lines;
	for (int i = 0; i < samples; i++) {
		start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		for (j = 0; j < CHAIN_STEPS; j++)
			at = *(struct line *volatile *)&at->next;
		ns[i] = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / CHAIN_STEPS;
	}
	print("chain", "ns", ns, samples);
	free(lines);
	free(order);
}

int main(int argc, char **argv)
{
	int samples = argc == 2 ? atoi(argv[1]) : 0;
	double failures[2], cores = (double)sysconf(_SC_NPROCESSORS_ONLN);

	if (samples < 1 || samples > 1000) {
		fputs("usage: pool SAMPLES\n", stderr);
		return 2;
	}
	measure_chain(samples);
	measure_calls("pool.1e5", MANY, SMALL, samples);
	measure_trace("pool.pack", FEW, LARGE, samples, failures);
	failures[1] = reference_failures(FEW, LARGE);
	print("pool.failures", "count", failures, 2);
	measure_failures(samples);
	measure_threads(samples);
	print("pool.cores", "count", &cores, 1);
	return 0;
}
