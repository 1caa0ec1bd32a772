/* SPDX-License-Identifier: MIT */
/*
 * The adaptor that remembers what is live, with backtraces. An allocation is found by its address
 * in an AVL tree, that of the ranges: its nodes are the notes themselves.
 */
#define _GNU_SOURCE
#include "adaptor.h"
#include "core/api.h"
#include "core/error.h"
#include "core/range.h"
#include "core/stream.h"

#include <execinfo.h>
#include <stdlib.h>
#include <string.h>

/* Frames of the library itself, which tell nobody anything: two here, adaptor.c, resource.c. */
#define OWN_FRAMES 4

struct note {
	struct range range; /* first: the tree's node */
	struct note *older, *newer;
	struct accel_stream *stream;
	size_t alignment;
	uint64_t sequence;
	unsigned int nr_frames;
	void *frames[];
};

struct tracking {
	struct accel_adaptor base;
	unsigned int frames;
	struct range *notes;
	struct note *oldest, *newest;
	/* Chained by older: */
	struct note *spare; /* made before upstream is asked, so that nothing fails after */
	struct note *taken; /* out of the tree, while upstream takes back */
	uint64_t sequence;
};

static struct tracking *tracking_of(struct accel_adaptor *adaptor)
{
	return (struct tracking *)adaptor;
}

static int make_note(struct accel_adaptor *adaptor, const struct adaptor_call *call)
{
	struct tracking *tracking = tracking_of(adaptor);
	struct note *note = calloc(1, sizeof(*note) + tracking->frames * sizeof(void *));

	(void)call;
	if (!note)
		return fail(-ENOMEM, "out of memory");
	note->older = tracking->spare;
	tracking->spare = note;
	return 0;
}

/* In order of their numbers: behind all others, unless upstream has refused to take it back. */
static void link_note(struct tracking *tracking, struct note *note)
{
	struct note *newer = NULL, *older = tracking->newest;

	while (older && older->sequence > note->sequence) {
		newer = older;
		older = older->older;
	}
	note->older = older;
	note->newer = newer;
	if (newer)
		newer->older = note;
	else
		tracking->newest = note;
	if (older)
		older->newer = note;
	else
		tracking->oldest = note;
}

static void unlink_note(struct tracking *tracking, struct note *note)
{
	if (note->older)
		note->older->newer = note->newer;
	else
		tracking->oldest = note->newer;
	if (note->newer)
		note->newer->older = note->older;
	else
		tracking->newest = note->older;
}

/*
 * Upstream gives no memory that is live: where a note lies there, somebody has freed it without the
 * adaptor. The tree has no two that overlap.
 */
static void insert_note(struct tracking *tracking, struct note *note)
{
	struct accel_adaptor_statistics *counts = &tracking->base.statistics;
	uintptr_t last = note->range.base + (note->range.size - 1);
	struct range *stale;

	while ((stale = range_below(tracking->notes, last)) &&
	       stale->base + (stale->size - 1) >= note->range.base) {
		range_remove(&tracking->notes, stale);
		unlink_note(tracking, (struct note *)stale);
		counts->bytes -= stale->size;
		counts->count--;
		free(stale);
	}
	range_insert(&tracking->notes, &note->range);
}

/* Inlined it would be one of OWN_FRAMES less, and that of the caller be cut off. */
static __attribute__((noinline)) void take_backtrace(struct tracking *tracking, struct note *note)
{
	void *frames[ACCEL_ADAPTOR_FRAMES + OWN_FRAMES];
	int nr = backtrace(frames, (int)tracking->frames + OWN_FRAMES) - OWN_FRAMES;

	note->nr_frames = nr > 0 ? (unsigned int)nr : 0;
	memcpy(note->frames, frames + OWN_FRAMES, note->nr_frames * sizeof(void *));
}

static void remember(struct accel_adaptor *adaptor, const struct adaptor_call *call, int err)
{
	struct tracking *tracking = tracking_of(adaptor);
	struct note *note = tracking->spare;

	tracking->spare = note->older;
	if (err) {
		free(note);
		return;
	}
	note->range.base = (uintptr_t)call->ptr;
	note->range.size = call->size;
	note->stream = call->stream;
	note->alignment = call->alignment;
	note->sequence = ++tracking->sequence;
	if (tracking->frames)
		take_backtrace(tracking, note);
	insert_note(tracking, note);
	link_note(tracking, note);
}

static int find_note(struct tracking *tracking, const struct adaptor_call *call, struct note **note)
{
	uintptr_t addr = (uintptr_t)call->ptr;
	struct range *range = range_below(tracking->notes, addr);

	if (!range || !range_holds(range, addr, 1))
		return fail(-ENOENT,
			    "ptr " ADDR ": nothing that came through this adaptor is live there "
			    "(freed before?)", addr);
	if (range->base != addr)
		return fail(-ENOENT, "ptr " ADDR " is inside the allocation at " ADDR, addr,
			    range->base);
	if (range->size != call->size)
		return fail(-EINVAL, "size is %zu, and the allocation at " ADDR " has %zu bytes",
			    call->size, addr, range->size);
	*note = (struct note *)range;
	return 0;
}

static int take_note(struct accel_adaptor *adaptor, struct adaptor_call *call)
{
	struct tracking *tracking = tracking_of(adaptor);
	struct note *note = NULL;
	int err = find_note(tracking, call, &note);

	if (err)
		return err;
	range_remove(&tracking->notes, &note->range);
	unlink_note(tracking, note);
	note->older = tracking->taken;
	tracking->taken = note;
	call->kept = note;
	return 0;
}

static void forget(struct accel_adaptor *adaptor, const struct adaptor_call *call, int err)
{
	struct tracking *tracking = tracking_of(adaptor);
	struct note **at = &tracking->taken, *note = call->kept;

	/* Others of the same address may be there: upstream has given it again meanwhile. */
	while (*at != note)
		at = &(*at)->older;
	*at = note->older;
	if (!err) {
		free(note);
		return;
	}
	insert_note(tracking, note);
	link_note(tracking, note);
}

/* In the child of a fork some may be left. */
static int forget_all(struct accel_adaptor *adaptor)
{
	struct tracking *tracking = tracking_of(adaptor);
	struct note *lists[] = { tracking->newest, tracking->spare, tracking->taken }, *note;

	for (int i = 0; i < 3; i++)
		while ((note = lists[i])) {
			lists[i] = note->older;
			free(note);
		}
	return 0;
}

static const struct adaptor_kind tracking_kind = {
	.admit = make_note,
	.allocated = remember,
	.free = take_note,
	.freed = forget,
	.destroy = forget_all,
};

int accel_adaptor_create_tracking(const struct accel_resource *upstream, unsigned int frames,
				  struct accel_adaptor **adaptor)
{
	void *first[1];
	int err;

	if (frames > ACCEL_ADAPTOR_FRAMES) {
		if (adaptor)
			*adaptor = NULL;
		return fail(-EINVAL, "frames is %u: at most %d are kept", frames,
			    ACCEL_ADAPTOR_FRAMES);
	}
	err = adaptor_create(&tracking_kind, sizeof(struct tracking), upstream, adaptor);
	if (err)
		return err;
	tracking_of(*adaptor)->frames = frames;
	/* The first call loads what it needs: here, and not under a lock. */
	if (frames)
		backtrace(first, 1);
	return 0;
}

/*
 * Copies all notes, oldest first, to *copy, which is to be freed. The memory is allocated without the
 * lock; other threads may add notes meanwhile, which then need more.
 */
static int copy_notes(struct tracking *tracking, struct accel_adaptor_allocation **copy, size_t *nr)
{
	pthread_mutex_t *lock = &tracking->base.lock;
	struct accel_adaptor_allocation *to;
	const struct note *note;
	size_t room = 0;
	void **frames;

	*copy = NULL;
	pthread_mutex_lock(lock);
	while ((*nr = tracking->base.statistics.count) > room) {
		room = *nr;
		pthread_mutex_unlock(lock);
		free(*copy);
		*copy = calloc(room, sizeof(*to) + tracking->frames * sizeof(void *));
		if (!*copy)
			return fail(-ENOMEM, "out of memory");
		pthread_mutex_lock(lock);
	}
	to = *copy;
	frames = to ? (void **)(to + room) : NULL;
	for (note = tracking->oldest; note; note = note->newer, frames += tracking->frames) {
		memcpy(frames, note->frames, note->nr_frames * sizeof(void *));
		*to++ = (struct accel_adaptor_allocation){
			.ptr = (void *)note->range.base,
			.size = note->range.size,
			.alignment = note->alignment,
			.stream = note->stream,
			.sequence = note->sequence,
			.frames = frames,
			.nr_frames = note->nr_frames,
		};
	}
	pthread_mutex_unlock(lock);
	return 0;
}

int accel_adaptor_outstanding(struct accel_adaptor *adaptor,
			      int (*fn)(void *data, const struct accel_adaptor_allocation *live),
			      void *data)
{
	struct accel_adaptor_allocation *copy;
	int err = adaptor_check(adaptor);
	size_t nr;

	if (err)
		return err;
	if (!fn)
		return fail(-EINVAL, "fn is NULL");
	if (adaptor->kind != &tracking_kind)
		return fail(-EINVAL, "adaptor does not track: it has to be from "
				     "accel_adaptor_create_tracking()");
	err = copy_notes(tracking_of(adaptor), &copy, &nr);
	if (err)
		return err;
	for (size_t i = 0; i < nr && !err; i++)
		err = fn(data, &copy[i]);
	free(copy);
	return err;
}
