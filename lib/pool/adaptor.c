/* SPDX-License-Identifier: MIT */
/*
 * Adaptors: what all kinds do, and the two that need no more than that.
 */
#include "adaptor.h"
#include "core/api.h"
#include "core/error.h"
#include "core/fork.h"
#include "core/stream.h"
#include "resource.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int adaptor_check(const struct accel_adaptor *adaptor)
{
	if (!adaptor)
		return fail(-EINVAL, "adaptor is NULL: it has to be from accel_adaptor_create_*()");
	if (adaptor->generation != fork_generation())
		return fail(-EPERM, "adaptor was made by another process, before a fork: make one "
				    "in this");
	return 0;
}

/* ---- As a resource ---- */

static void raise_to(uint64_t *most, uint64_t value)
{
	if (value > *most)
		*most = value;
}

static void add_live(struct accel_adaptor_statistics *counts, size_t size)
{
	counts->bytes += size;
	counts->count++;
	raise_to(&counts->peak_bytes, counts->bytes);
	raise_to(&counts->peak_count, counts->count);
}

static void count_allocated(struct accel_adaptor *adaptor, const struct adaptor_call *call, int err)
{
	struct accel_adaptor_statistics *counts = &adaptor->statistics;

	adaptor->asked -= call->size;
	counts->allocate_ns += call->ns;
	raise_to(&counts->longest_allocate_ns, call->ns);
	if (err) {
		counts->failures++;
		return;
	}
	counts->total_bytes += call->size;
	counts->total_count++;
	add_live(counts, call->size);
}

/* 0 if the kind is not timed, without a look at the clock. */
static uint64_t clock_ns(const struct accel_adaptor *adaptor)
{
	struct timespec now;

	if (!adaptor->kind->timed)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int admit(struct accel_adaptor *adaptor, const struct adaptor_call *call)
{
	int err = 0;

	pthread_mutex_lock(&adaptor->lock);
	if (adaptor->kind->admit)
		err = adaptor->kind->admit(adaptor, call);
	if (err)
		adaptor->statistics.failures++;
	else
		adaptor->asked += call->size;
	pthread_mutex_unlock(&adaptor->lock);
	return err;
}

static int allocate(void *context, struct accel_stream *stream, size_t size, size_t alignment,
		    void **ptr)
{
	struct accel_adaptor *adaptor = context;
	struct adaptor_call call = { .stream = stream, .size = size, .alignment = alignment };
	int err = adaptor_check(adaptor) ?: admit(adaptor, &call);
	uint64_t begin;

	if (err)
		return err;
	begin = clock_ns(adaptor);
	err = accel_resource_allocate(&adaptor->upstream, stream, size, alignment, ptr);
	if ((err == -ENOMEM || err == -EDQUOT) && adaptor->kind->exhausted &&
	    !adaptor->kind->exhausted(adaptor, &call))
		err = accel_resource_allocate(&adaptor->upstream, stream, size, alignment, ptr);
	call.ns = clock_ns(adaptor) - begin;
	call.ptr = *ptr;
	pthread_mutex_lock(&adaptor->lock);
	count_allocated(adaptor, &call, err);
	if (adaptor->kind->allocated)
		adaptor->kind->allocated(adaptor, &call, err);
	pthread_mutex_unlock(&adaptor->lock);
	if (adaptor->kind->log)
		adaptor->kind->log(adaptor, &call, err ? "allocate failure" : "allocate");
	return err;
}

int adaptor_covers(const struct accel_adaptor *adaptor, const struct adaptor_call *call)
{
	const struct accel_adaptor_statistics *counts = &adaptor->statistics;

	if (counts->count && counts->bytes >= call->size)
		return 0;
	return fail(-ENOENT,
		    "ptr " ADDR ", %zu bytes: only %" PRIu64 " bytes that came through this "
		    "adaptor are live", (uintptr_t)call->ptr, call->size, (uint64_t)counts->bytes);
}

/* Before upstream has it back, for then another thread may be given the same address. */
static int let_go(struct accel_adaptor *adaptor, struct adaptor_call *call)
{
	int err;

	pthread_mutex_lock(&adaptor->lock);
	err = adaptor->kind->free ? adaptor->kind->free(adaptor, call) :
				    adaptor_covers(adaptor, call);
	if (!err) {
		adaptor->statistics.bytes -= call->size;
		adaptor->statistics.count--;
	}
	pthread_mutex_unlock(&adaptor->lock);
	if (!err && adaptor->kind->log)
		adaptor->kind->log(adaptor, call, "free");
	return err;
}

/* If upstream has refused it is live as before. */
static void keep(struct accel_adaptor *adaptor, const struct adaptor_call *call, int err)
{
	struct accel_adaptor_statistics *counts = &adaptor->statistics;

	if (taken_back(err))
		err = 0;
	pthread_mutex_lock(&adaptor->lock);
	if (err) {
		add_live(counts, call->size);
	} else {
		counts->deallocate_ns += call->ns;
		raise_to(&counts->longest_deallocate_ns, call->ns);
	}
	if (adaptor->kind->freed)
		adaptor->kind->freed(adaptor, call, err);
	pthread_mutex_unlock(&adaptor->lock);
}

static int deallocate(void *context, struct accel_stream *stream, void *ptr, size_t size,
		      size_t alignment)
{
	struct accel_adaptor *adaptor = context;
	struct adaptor_call call = { .stream = stream, .ptr = ptr, .size = size,
				     .alignment = alignment };
	int err = adaptor_check(adaptor) ?: let_go(adaptor, &call);
	uint64_t begin;

	if (err)
		return err;
	begin = clock_ns(adaptor);
	err = accel_resource_deallocate(&adaptor->upstream, stream, ptr, size, alignment);
	call.ns = clock_ns(adaptor) - begin;
	keep(adaptor, &call, err);
	return err;
}

static const struct accel_resource_ops ops = {
	.allocate = allocate,
	.deallocate = deallocate,
};

int accel_adaptor_resource(struct accel_adaptor *adaptor, struct accel_resource *resource)
{
	if (!resource)
		return fail(-EINVAL, "resource is NULL");
	memset(resource, 0, sizeof(*resource));
	if (!adaptor)
		return fail(-EINVAL, "adaptor is NULL: it has to be from accel_adaptor_create_*()");
	*resource = (struct accel_resource){ .ops = &ops, .context = adaptor };
	return 0;
}

/* ---- Create and destroy ---- */

int adaptor_create(const struct adaptor_kind *kind, size_t size,
		   const struct accel_resource *upstream, struct accel_adaptor **adaptor)
{
	struct accel_adaptor *made;
	int err;

	if (!adaptor)
		return fail(-EINVAL, "adaptor is NULL: the handle has to go somewhere");
	*adaptor = NULL;
	err = resource_check(upstream) ?: fork_watch();
	if (err)
		return err;
	made = calloc(1, size);
	if (!made)
		return fail(-ENOMEM, "out of memory");
	made->kind = kind;
	made->upstream = *upstream;
	made->generation = fork_generation();
	pthread_mutex_init(&made->lock, NULL);
	*adaptor = made;
	return 0;
}

/* ---- Scopes ---- */

/* The statistics when the scope was pushed; their maxima are since the outer scope was pushed. */
struct scope {
	struct scope *outer;
	struct accel_adaptor_statistics before;
};

static void raise_maxima(struct accel_adaptor_statistics *to,
			 const struct accel_adaptor_statistics *by)
{
	raise_to(&to->peak_bytes, by->peak_bytes);
	raise_to(&to->peak_count, by->peak_count);
	raise_to(&to->longest_allocate_ns, by->longest_allocate_ns);
	raise_to(&to->longest_deallocate_ns, by->longest_deallocate_ns);
}

/* The maxima of the statistics are since the scope was pushed. */
static struct accel_adaptor_statistics scope_count(const struct scope *scope,
						   struct accel_adaptor_statistics now)
{
	const struct accel_adaptor_statistics *before = &scope->before;

	now.bytes -= before->bytes;
	now.peak_bytes -= before->bytes;
	now.total_bytes -= before->total_bytes;
	now.count -= before->count;
	now.peak_count -= before->count;
	now.total_count -= before->total_count;
	now.failures -= before->failures;
	now.allocate_ns -= before->allocate_ns;
	now.deallocate_ns -= before->deallocate_ns;
	return now;
}

int accel_adaptor_push_scope(struct accel_adaptor *adaptor)
{
	struct accel_adaptor_statistics *counts;
	struct scope *scope;
	int err = adaptor_check(adaptor);

	if (err)
		return err;
	scope = malloc(sizeof(*scope));
	if (!scope)
		return fail(-ENOMEM, "out of memory");
	counts = &adaptor->statistics;
	pthread_mutex_lock(&adaptor->lock);
	scope->outer = adaptor->scopes;
	scope->before = *counts;
	adaptor->scopes = scope;
	counts->peak_bytes = counts->bytes;
	counts->peak_count = counts->count;
	counts->longest_allocate_ns = counts->longest_deallocate_ns = 0;
	pthread_mutex_unlock(&adaptor->lock);
	return 0;
}

int accel_adaptor_pop_scope(struct accel_adaptor *adaptor,
			    struct accel_adaptor_statistics *statistics)
{
	struct scope *scope;
	int err = adaptor_check(adaptor);

	if (err)
		return err;
	if (!statistics)
		return fail(-EINVAL, "statistics is NULL");
	pthread_mutex_lock(&adaptor->lock);
	scope = adaptor->scopes;
	if (scope) {
		adaptor->scopes = scope->outer;
		*statistics = scope_count(scope, adaptor->statistics);
		raise_maxima(&adaptor->statistics, &scope->before);
	}
	pthread_mutex_unlock(&adaptor->lock);
	if (!scope)
		return fail(-ENOENT, "no scope of the adaptor is left to pop");
	free(scope);
	return 0;
}

static void scopes_free(struct accel_adaptor *adaptor)
{
	struct scope *scope;

	while ((scope = adaptor->scopes)) {
		adaptor->scopes = scope->outer;
		free(scope);
	}
}

int accel_adaptor_destroy(struct accel_adaptor *adaptor)
{
	KEEP_ERRNO;
	bool ours;
	int err = 0;

	if (!adaptor)
		return fail(-EINVAL, "adaptor is NULL: it has to be from accel_adaptor_create_*()");
	ours = adaptor->generation == fork_generation();
	if (ours && adaptor->statistics.count)
		return fail(-EBUSY,
			    "%" PRIu64 " allocations that came through the adaptor are live: free "
			    "them first", (uint64_t)adaptor->statistics.count);
	if (adaptor->kind->destroy)
		err = adaptor->kind->destroy(adaptor);
	/* That of another process may be locked, for ever. */
	if (ours)
		pthread_mutex_destroy(&adaptor->lock);
	scopes_free(adaptor);
	free(adaptor);
	return err;
}

int accel_adaptor_get_statistics(struct accel_adaptor *adaptor,
				 struct accel_adaptor_statistics *statistics)
{
	int err = adaptor_check(adaptor);

	if (err)
		return err;
	if (!statistics)
		return fail(-EINVAL, "statistics is NULL");
	pthread_mutex_lock(&adaptor->lock);
	*statistics = adaptor->statistics;
	for (const struct scope *scope = adaptor->scopes; scope; scope = scope->outer)
		raise_maxima(statistics, &scope->before);
	pthread_mutex_unlock(&adaptor->lock);
	return 0;
}

/* ---- Counting alone ---- */

static const struct adaptor_kind counting = { .admit = NULL };

int accel_adaptor_create_statistics(const struct accel_resource *upstream,
				    struct accel_adaptor **adaptor)
{
	return adaptor_create(&counting, sizeof(struct accel_adaptor), upstream, adaptor);
}

/* ---- The time of upstream ---- */

static const struct adaptor_kind timing = { .timed = true };

int accel_adaptor_create_timing(const struct accel_resource *upstream,
				struct accel_adaptor **adaptor)
{
	return adaptor_create(&timing, sizeof(struct accel_adaptor), upstream, adaptor);
}

/* ---- A limit ---- */

struct limiting {
	struct accel_adaptor base;
	uint64_t limit;
};

static void say_limit(char *text, size_t size, const uint64_t numbers[SENTENCE_NUMBERS])
{
	snprintf(text, size,
		 "%" PRIu64 " bytes are more than the limit of the adaptor leaves: %" PRIu64
		 " of %" PRIu64 " bytes are allocated",
		 numbers[0], numbers[1], numbers[2]);
}

/* What others are just asking upstream for is as good as allocated. */
static int within_limit(struct accel_adaptor *adaptor, const struct adaptor_call *call)
{
	const struct limiting *limiting = (const struct limiting *)adaptor;
	uint64_t taken = adaptor->statistics.bytes + adaptor->asked;

	if (taken <= limiting->limit && call->size <= limiting->limit - taken)
		return 0;
	return fail_later(-EDQUOT, say_limit,
			  (const uint64_t[SENTENCE_NUMBERS]){ call->size, taken, limiting->limit });
}

static const struct adaptor_kind limiting_kind = { .admit = within_limit };

int accel_adaptor_create_limiting(const struct accel_resource *upstream, uint64_t limit,
				  struct accel_adaptor **adaptor)
{
	int err = adaptor_create(&limiting_kind, sizeof(struct limiting), upstream, adaptor);

	if (!err)
		((struct limiting *)*adaptor)->limit = limit;
	return err;
}

/* ---- Spill ---- */

struct spilling {
	struct accel_adaptor base;
	int (*spill)(void *data, size_t size);
	void *data;
};

/* An allocation in the callback does not call it again. */
static __thread bool in_spill;

static int spill(struct accel_adaptor *adaptor, const struct adaptor_call *call)
{
	const struct spilling *spilling = (const struct spilling *)adaptor;
	int err;

	if (in_spill)
		return -ENOMEM;
	in_spill = true;
	err = spilling->spill(spilling->data, call->size);
	in_spill = false;
	return err ? fail(-ENOMEM, "upstream has no memory for %zu bytes, and the spill callback "
				   "has freed none: it returned %d", call->size, err)
		   : 0;
}

static const struct adaptor_kind spilling_kind = { .exhausted = spill };

int accel_adaptor_create_spilling(const struct accel_resource *upstream,
				  int (*fn)(void *data, size_t size), void *data,
				  struct accel_adaptor **adaptor)
{
	struct spilling *made;
	int err = adaptor_create(&spilling_kind, sizeof(*made), upstream, adaptor);

	if (err)
		return err;
	made = (struct spilling *)*adaptor;
	if (!fn) {
		accel_adaptor_destroy(&made->base);
		*adaptor = NULL;
		return fail(-EINVAL, "fn is NULL: it has to be a function that frees memory");
	}
	made->spill = fn;
	made->data = data;
	return 0;
}
