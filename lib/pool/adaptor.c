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

static void count_allocated(struct accel_adaptor *adaptor, size_t size, int err)
{
	struct accel_adaptor_statistics *counts = &adaptor->statistics;

	adaptor->asked -= size;
	if (err) {
		counts->failures++;
		return;
	}
	counts->bytes += size;
	counts->total_bytes += size;
	counts->count++;
	counts->total_count++;
	if (counts->bytes > counts->peak_bytes)
		counts->peak_bytes = counts->bytes;
	if (counts->count > counts->peak_count)
		counts->peak_count = counts->count;
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

	if (err)
		return err;
	err = accel_resource_allocate(&adaptor->upstream, stream, size, alignment, ptr);
	if ((err == -ENOMEM || err == -EDQUOT) && adaptor->kind->exhausted &&
	    !adaptor->kind->exhausted(adaptor, &call))
		err = accel_resource_allocate(&adaptor->upstream, stream, size, alignment, ptr);
	call.ptr = *ptr;
	pthread_mutex_lock(&adaptor->lock);
	count_allocated(adaptor, size, err);
	if (adaptor->kind->allocated)
		adaptor->kind->allocated(adaptor, &call, err);
	pthread_mutex_unlock(&adaptor->lock);
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
	return err;
}

/* If upstream has refused it is live as before. */
static void keep(struct accel_adaptor *adaptor, const struct adaptor_call *call, int err)
{
	if (taken_back(err))
		err = 0;
	pthread_mutex_lock(&adaptor->lock);
	if (err) {
		adaptor->statistics.bytes += call->size;
		adaptor->statistics.count++;
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

	if (err)
		return err;
	err = accel_resource_deallocate(&adaptor->upstream, stream, ptr, size, alignment);
	keep(adaptor, &call, err);
	return err;
}

static const struct accel_resource_ops ops = {
	.size = sizeof(ops),
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
