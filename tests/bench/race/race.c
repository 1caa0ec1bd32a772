/* SPDX-License-Identifier: MIT */
/*
 * race [SAMPLES]: accel_pool beside other allocators, all on the same recorded calls, in turns. The
 * trace is that of RMM's benchmark random_allocations: uniform sizes, 73 % allocations, a random
 * victim, at most 16000 MiB allocated in 17 GiB. Times are CPU time; medians of the samples.
 */
#include "race.h"

#include <accel/pool.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SPACE (UINT64_C(17) << 30)
#define LIVE_MAX (UINT64_C(16000) << 20)
#define MANY 100000u
#define SMALL (UINT32_C(1) << 20)
#define FEW 10000u
#define LARGE (UINT32_C(64) << 20)
#define THREADS 4
#define REPLAYS 3 /* of a thread in a sample */
#define SEEDS 10
#define SEED 4711
#define SAMPLES 9
#define SAMPLES_MAX 1000
#define ALLOCATIONS_OF_100 73
#define FAILING 100000
#define CHECKED (UINT64_C(4) << 20)
#define RACERS 5

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "race: %s: %s\n", what, accel_last_error());
	exit(1);
}

static double clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

/* ---- accel_pool ---- */

static int give_addresses(void *context, struct accel_stream *stream, size_t size, size_t alignment,
			  void **ptr)
{
	(void)context;
	(void)stream;
	(void)size;
	(void)alignment;
	*ptr = (void *)(UINT64_C(1) << 40);
	return 0;
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

static void *pool_create(uint64_t bytes)
{
	struct accel_resource upstream = { .ops = &addresses };
	struct accel_pool_options options = { 0 };
	struct accel_pool *pool;

	options.granule = RACE_GRANULE;
	options.initial_size = options.maximum_size = bytes;
	return accel_pool_create(NULL, &upstream, &options, &pool) ? NULL : pool;
}

static void pool_destroy(void *self)
{
	must(!accel_pool_check(self), "check");
	must(!accel_pool_destroy(self), "destroy");
}

static bool pool_allocate(void *self, uint32_t bytes, struct place *place)
{
	return !accel_pool_allocate(self, NULL, bytes, 1, (void **)&place->at);
}

static void pool_release(void *self, const struct place *place, uint32_t bytes)
{
	must(!accel_pool_deallocate(self, NULL, (void *)place->at, bytes, 1), "free");
}

static const struct racer pool_racer = {
	.name = "accel_pool",
	.create = pool_create,
	.destroy = pool_destroy,
	.allocate = pool_allocate,
	.release = pool_release,
};

static void *new_allocator(const struct racer *racer, uint64_t bytes)
{
	void *self = racer->create(bytes);

	must(self, racer->name);
	return self;
}

/* ---- The trace ---- */

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

struct live {
	struct place place;
	uint32_t size, slot;
};

/* A walk of 2 n steps; without a racer all allocations succeed. */
struct trace {
	const struct racer *racer;
	void *self;
	uint64_t seed, bytes, live_max;
	uint32_t n, max_size, nr, failures;
	struct live *live;
};

/* What a step comes to: the arguments, and in which slot the block is kept meanwhile. */
struct call {
	uint32_t size : 31, frees : 1;
	uint32_t slot;
};

static struct call step_free(struct trace *trace, uint32_t victim)
{
	struct live *live = &trace->live[victim];
	struct call call = { .size = live->size & INT32_MAX, .frees = 1, .slot = live->slot };

	if (trace->racer)
		trace->racer->release(trace->self, &live->place, live->size);
	trace->bytes -= live->size;
	*live = trace->live[--trace->nr];
	return call;
}

/* The caller sets the slot. A failure leaves everything as it is. */
static struct call step_allocate(struct trace *trace, uint32_t size)
{
	struct live *live = &trace->live[trace->nr];

	if (trace->racer && !trace->racer->allocate(trace->self, size, &live->place)) {
		trace->failures++;
		return (struct call){ .size = 0 };
	}
	live->size = size;
	trace->nr++;
	trace->bytes += size;
	return (struct call){ .size = size & INT32_MAX };
}

static struct call step(struct trace *trace)
{
	uint64_t random = draw(&trace->seed);
	uint32_t size = 1 + (uint32_t)below(random >> 32, trace->max_size);

	if (!trace->nr || (below(random, 100) < ALLOCATIONS_OF_100 &&
			   trace->bytes + size <= trace->live_max))
		return step_allocate(trace, size);
	return step_free(trace, (uint32_t)below(draw(&trace->seed), trace->nr));
}

static struct live *new_live(uint32_t n)
{
	struct live *live = calloc(2 * (size_t)n, sizeof(*live));

	must(live, "memory");
	return live;
}

/* Calls of a trace in which nothing fails; behind them the frees of all that is left. */
struct record {
	struct call *calls;
	uint32_t nr, rest, nr_slots;
};

/* Slots that were freed last are used first, as in a process that has just forgotten a block. */
static struct record record(uint64_t live_max, uint64_t seed)
{
	struct trace trace = { .n = MANY, .max_size = SMALL, .live_max = live_max, .seed = seed,
			       .live = new_live(MANY) };
	struct record made = { .calls = calloc(4 * MANY, sizeof(*made.calls)), .nr = 2 * MANY };
	uint32_t *spare = calloc(2 * MANY, sizeof(*spare)), nr_spare = 0;
	struct call *call = made.calls;

	must(call && spare, "memory");
	for (uint32_t i = 0; i < made.nr; i++, call++) {
		*call = step(&trace);
		if (call->frees) {
			spare[nr_spare++] = call->slot;
			continue;
		}
		call->slot = nr_spare ? spare[--nr_spare] : made.nr_slots++;
		trace.live[trace.nr - 1].slot = call->slot;
	}
	while (trace.nr) {
		*call++ = step_free(&trace, trace.nr - 1);
		made.rest++;
	}
	free(trace.live);
	free(spare);
	return made;
}

static void replay(const struct racer *racer, void *self, const struct call *call, uint32_t nr,
		   struct place *slots)
{
	bool good = true;

	for (const struct call *end = call + nr; call < end; call++)
		if (call->frees)
			racer->release(self, &slots[call->slot], call->size);
		else
			good &= racer->allocate(self, call->size, &slots[call->slot]);
	must(good, "an allocation that cannot fail");
}

/* ---- What is measured ---- */

struct entry {
	const struct racer *racer;
	void *self;
	double calls[SAMPLES_MAX]; /* ns of CPU time for a call, one thread */
	double threads[SAMPLES_MAX]; /* likewise, four threads with one allocator */
	double wall[SAMPLES_MAX]; /* ns for a call of all four, by the clock */
	double failing[SAMPLES_MAX]; /* ns of CPU time for a failing call */
	uint32_t failures;
};

/* No two blocks share a granule, and an allocator without used blocks is one free block again. */
static void check_places(const struct racer *racer)
{
	unsigned char marks[CHECKED / RACE_GRANULE] = { 0 }, *mark;
	struct trace trace = { .racer = racer, .self = new_allocator(racer, CHECKED), .n = FEW,
			       .max_size = 20000, .live_max = CHECKED / 2, .seed = SEED,
			       .live = new_live(FEW) };
	struct place whole, origin;
	struct call call;

	must(racer->allocate(trace.self, 1, &origin), racer->name);
	racer->release(trace.self, &origin, 1);
	for (uint32_t i = 0; i < 2 * trace.n; i++) {
		memset(marks, 0, sizeof(marks));
		call = step(&trace);
		must(call.size, "an allocation of half the memory");
		for (uint32_t j = 0; i % 100 == 0 && j < trace.nr; j++) {
			mark = marks + (trace.live[j].place.at - origin.at) / RACE_GRANULE;
			for (uint32_t k = 0; k < trace.live[j].size; k += RACE_GRANULE)
				must(!(*mark++)++, "two blocks overlap");
		}
	}
	while (trace.nr)
		step_free(&trace, trace.nr - 1);
	must(racer->allocate(trace.self, CHECKED, &whole), "the memory is not one block again");
	racer->release(trace.self, &whole, CHECKED);
	racer->destroy(trace.self);
	free(trace.live);
}

static void measure_calls(struct entry *entries, unsigned int nr, int samples)
{
	struct record made = record(LIVE_MAX, SEED);
	struct place *slots = calloc(made.nr_slots, sizeof(*slots));
	double start;

	must(slots, "memory");
	for (unsigned int i = 0; i < nr; i++)
		entries[i].self = new_allocator(entries[i].racer, SPACE);
	/* The first round is that of an allocator that has touched no memory yet. */
	for (int s = -1; s < samples; s++)
		for (struct entry *entry = entries; entry < entries + nr; entry++) {
			start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
			replay(entry->racer, entry->self, made.calls, made.nr, slots);
			if (s >= 0)
				entry->calls[s] = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) /
						  made.nr;
			replay(entry->racer, entry->self, made.calls + made.nr, made.rest, slots);
		}
	for (unsigned int i = 0; i < nr; i++)
		entries[i].racer->destroy(entries[i].self);
	free(made.calls);
	free(slots);
}

static void measure_failures(struct entry *entry)
{
	for (uint64_t seed = SEED; seed < SEED + SEEDS; seed++) {
		struct trace trace = { .racer = entry->racer,
				       .self = new_allocator(entry->racer, SPACE), .n = FEW,
				       .max_size = LARGE, .live_max = LIVE_MAX, .seed = seed,
				       .live = new_live(FEW) };

		for (uint32_t i = 0; i < 2 * trace.n; i++)
			step(&trace);
		entry->failures += trace.failures;
		while (trace.nr)
			step_free(&trace, trace.nr - 1);
		entry->racer->destroy(trace.self);
		free(trace.live);
	}
}

/* In an allocator without a free block. */
static void measure_failing(struct entry *entries, unsigned int nr, int samples)
{
	struct place filling[64], none;
	uint32_t sizes[64];
	double start;
	int filled = 0, wrong = 0;

	for (struct entry *entry = entries; entry < entries + nr; entry++) {
		entry->self = new_allocator(entry->racer, SPACE);
		filled = 0;
		for (uint32_t size = 1u << 30; size >= RACE_GRANULE && filled < 64;)
			if (entry->racer->allocate(entry->self, size, &filling[filled]))
				sizes[filled++] = size;
			else
				size /= 2;
		for (int s = 0; s < samples; s++) {
			start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
			for (int i = 0; i < FAILING; i++)
				wrong += entry->racer->allocate(entry->self, 4 * RACE_GRANULE, &none);
			entry->failing[s] = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / FAILING;
		}
		must(!wrong, "an allocation that cannot succeed");
		while (filled--)
			entry->racer->release(entry->self, &filling[filled], sizes[filled]);
		entry->racer->destroy(entry->self);
	}
}

struct worker {
	pthread_t thread;
	pthread_barrier_t *barrier;
	const struct entry *entry;
	struct record made;
	struct place *slots;
	double ns;
};

static void *work(void *arg)
{
	struct worker *worker = arg;
	const struct record *made = &worker->made;

	pthread_barrier_wait(worker->barrier);
	worker->ns = -clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < REPLAYS; i++)
		replay(worker->entry->racer, worker->entry->self, made->calls,
		       made->nr + made->rest, worker->slots);
	worker->ns += clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static void run_workers(struct worker *workers, struct entry *entry, double *cpu, double *wall)
{
	pthread_barrier_t barrier;
	double sum = 0, calls = 0, start;

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		workers[i].barrier = &barrier;
		workers[i].entry = entry;
		calls += (double)(workers[i].made.nr + workers[i].made.rest) * REPLAYS;
		must(!pthread_create(&workers[i].thread, NULL, work, &workers[i]), "thread");
	}
	pthread_barrier_wait(&barrier);
	start = clock_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		sum += workers[i].ns;
	}
	*wall = (clock_ns(CLOCK_MONOTONIC) - start) / calls;
	*cpu = sum / calls;
	pthread_barrier_destroy(&barrier);
}

static void measure_threads(struct entry *entries, unsigned int nr, int samples)
{
	struct worker workers[THREADS];
	double cpu, wall;

	for (int i = 0; i < THREADS; i++) {
		workers[i].made = record(LIVE_MAX / THREADS, SEED + (uint64_t)i);
		workers[i].slots = calloc(workers[i].made.nr_slots, sizeof(struct place));
		must(workers[i].slots, "memory");
	}
	for (unsigned int i = 0; i < nr; i++)
		entries[i].self = new_allocator(entries[i].racer, SPACE);
	for (int s = -1; s < samples; s++)
		for (struct entry *entry = entries; entry < entries + nr; entry++) {
			run_workers(workers, entry, &cpu, &wall);
			if (s < 0)
				continue;
			entry->threads[s] = cpu;
			entry->wall[s] = wall;
		}
	for (unsigned int i = 0; i < nr; i++)
		entries[i].racer->destroy(entries[i].self);
	for (int i = 0; i < THREADS; i++) {
		free(workers[i].made.calls);
		free(workers[i].slots);
	}
}

/* ---- The table ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *values, int nr)
{
	double sorted[SAMPLES_MAX];

	memcpy(sorted, values, (size_t)nr * sizeof(*values));
	qsort(sorted, (size_t)nr, sizeof(*sorted), compare);
	return nr % 2 ? sorted[nr / 2] : (sorted[nr / 2 - 1] + sorted[nr / 2]) / 2;
}

static void print_goal(const char *what, double value, double limit)
{
	printf("%-46s %8.2f  <= %8.2f  %s\n", what, value, limit, value <= limit ? "ok" : "MISSED");
}

/* Of the medians of ratios in the same round, since the speed of the machine varies. */
static double ratio(const double *ours, const double *theirs, int samples)
{
	double ratios[SAMPLES_MAX];

	for (int i = 0; i < samples; i++)
		ratios[i] = ours[i] / theirs[i];
	return median(ratios, samples);
}

static void print_table(const struct entry *entries, unsigned int nr, const struct entry *fit,
			int samples)
{
	const struct entry *other = &entries[1];
	char what[80];

	printf("%-26s %9s %9s %9s %9s %9s\n", "", "1 thread", "4 threads", "by clock", "failures",
	       "failing");
	for (const struct entry *entry = entries; entry < entries + nr; entry++)
		printf("%-26s %9.1f %9.1f %9.1f %9u %9.1f\n", entry->racer->name,
		       median(entry->calls, samples), median(entry->threads, samples),
		       median(entry->wall, samples), entry->failures,
		       median(entry->failing, samples));
	printf("%-26s %9s %9s %9s %9u %9s\n\n", fit->racer->name, "-", "-", "-", fit->failures, "-");
	for (unsigned int i = 1; i < nr; i++)
		if (entries[i].racer == &offset_racer)
			other = &entries[i];
	snprintf(what, sizeof(what), "1 thread / %s", other->racer->name);
	print_goal(what, ratio(entries[0].calls, other->calls, samples), 1);
	snprintf(what, sizeof(what), "4 threads / %s", other->racer->name);
	print_goal(what, ratio(entries[0].threads, other->threads, samples), 1.1);
	snprintf(what, sizeof(what), "failures / %s", fit->racer->name);
	print_goal(what, (double)entries[0].failures / fit->failures, 1);
	print_goal("a failing call, ns", median(entries[0].failing, samples), 60);
}

int main(int argc, char **argv)
{
	static struct entry entries[RACERS], fit = { .racer = &fit_racer };
	int samples = argc == 2 ? atoi(argv[1]) : SAMPLES;
	unsigned int nr = 0;

	if (argc > 2 || samples < 1 || samples > SAMPLES_MAX) {
		fprintf(stderr, "usage: race [SAMPLES], from 1 to %d\n", SAMPLES_MAX);
		return 2;
	}
	entries[nr++].racer = &pool_racer;
	entries[nr++].racer = &bins_racer;
	if (&offset_racer)
		entries[nr++].racer = &offset_racer;
	else
		puts("without OffsetAllocator: OFFSETALLOCATOR_SRC= names no folder with its source");
	if (&vma_racer)
		entries[nr++].racer = &vma_racer;
	else
		puts("without VMA: VMA_SRC= names no folder with vk_mem_alloc.h and vulkan/");
	for (unsigned int i = 0; i < nr; i++)
		check_places(entries[i].racer);
	check_places(fit.racer);
	/* Before there is a second thread: locks are cheaper then. */
	measure_calls(entries, nr, samples);
	measure_failing(entries, nr, samples);
	for (unsigned int i = 0; i < nr; i++)
		measure_failures(&entries[i]);
	measure_failures(&fit);
	measure_threads(entries, nr, samples);
	print_table(entries, nr, &fit, samples);
	return 0;
}
