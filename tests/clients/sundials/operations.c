/* SPDX-License-Identifier: MIT */
/*
 * Every operation of the helper, called by SUNDIALS' generic functions: on a device, or on the
 * mock.
 */
#include "sundials.h"

#include <pthread.h>

#define SIZE 64 /* as in SUNDIALS' own tests; a granule of the smallest device */

static char bytes[2 * SIZE];

/* That what was compiled is what runs; everything else rests on it. */
static void test_layout(void)
{
	int major = 0, minor = 0, patch = 0;
	SUNMemoryHelper empty;
	void *none[sizeof(struct SUNMemoryHelper_Ops_) / sizeof(void *)] = { NULL };
	char label[64];

	begin();
	gives(SUNDIALSGetVersionNumber(&major, &minor, &patch, label, sizeof(label)), 0);
	printf("# SUNDIALS %d.%d.%d%s\n", major, minor, patch, label);
	ok(major == 7 && (minor >= 3) == HAS_QUEUE);
	empty = SUNMemoryHelper_NewEmpty(ctx);
	ok(empty && empty->sunctx == ctx && !empty->content);
	ok(!memcmp(empty->ops, none, sizeof(none)));
	gives(SUNMemoryHelper_Destroy(empty), SUN_SUCCESS);
	ok(helper->sunctx == ctx && SUNMemoryHelper_ImplementsRequiredOps(helper));
	ok(helper->ops->copyasync && helper->ops->getallocstats && helper->ops->clone &&
	   helper->ops->destroy);
#if HAS_QUEUE
	ok(helper->ops->allocstrided && !helper->queue);
#endif
	end();
}

static enum accel_memory_kind kind_of(SUNMemory mem)
{
	struct accel_pointer_info info = { .kind = (enum accel_memory_kind)99 };

	ok(!accel_pointer_get_info(mem->ptr, &info));
	return info.kind;
}

static void test_alloc(void)
{
	static const enum accel_memory_kind kinds[TYPES] = {
		ACCEL_MEMORY_PAGEABLE, ACCEL_MEMORY_HOST, ACCEL_MEMORY_DEVICE, ACCEL_MEMORY_UNIFIED,
	};

	begin();
	for (int type = 0; type < TYPES; type++) {
		SUNMemory mem = memory_of(SIZE, type);

		ok(mem->ptr && mem->type == (SUNMemoryType)type && mem->own == SUNTRUE);
		ok(mem->bytes == SIZE && kind_of(mem) == kinds[type]);
#if HAS_QUEUE
		ok(mem->stride == 1);
#endif
		if (type != DEVICE)
			memset(mem->ptr, type, SIZE);
		free_memory(mem);
	}
	end();
}

/* Also if the memory was used before: the second allocation gets the same memory. */
static void test_filled_with_0(void)
{
	static const char zeros[SIZE];
	const size_t total = (size_t)card_stats().total;

	begin();
	pattern(bytes, SIZE, 9);
	for (int round = 0; round < 2; round++)
		for (int type = PINNED; type < TYPES; type++) {
			SUNMemory mem = memory_of(type == DEVICE ? total : SIZE, type);

			ok(holds(mem, zeros, SIZE));
			put(mem, bytes, SIZE);
			free_memory(mem);
		}
	end();
}

#if HAS_QUEUE
/* In a release build of SUNDIALS one that is missing is a call to NULL. */
static void test_alloc_strided(void)
{
	begin();
	for (int type = 0; type < TYPES; type++) {
		SUNMemory mem = NULL;

		gives(SUNMemoryHelper_AllocStrided(helper, &mem, SIZE, sizeof(double),
						   (SUNMemoryType)type, NULL), SUN_SUCCESS);
		ok(mem && mem->stride == sizeof(double) && mem->bytes == SIZE &&
		   mem->type == (SUNMemoryType)type && mem->own);
		ok(stats_are(helper, type, 1, 0, SIZE, SIZE));
		free_memory(mem);
	}
	end();
}
#endif

/* As in SUNDIALS' own tests: requested bytes, independent of the device's granule. */
static void test_stats(void)
{
	begin();
	for (int type = 0; type < TYPES; type++) {
		SUNMemory first = memory_of(SIZE, type), second = memory_of(24, type), third;

		ok(stats_are(helper, type, 2, 0, SIZE + 24, SIZE + 24));
		free_memory(first);
		ok(stats_are(helper, type, 2, 1, 24, SIZE + 24));
		third = memory_of(SIZE, type);
		ok(stats_are(helper, type, 3, 1, SIZE + 24, SIZE + 24));
		free_memory(second);
		free_memory(third);
		ok(stats_are(helper, type, 3, 3, 0, SIZE + 24));
		if (type + 1 < TYPES)
			ok(stats_are(helper, type + 1, 0, 0, 0, 0));
	}
	end();
}

static void test_no_bytes(void)
{
	begin();
	for (int type = 0; type < TYPES; type++) {
		SUNMemory mem = memory_of(0, type), other = memory_of(SIZE, type);

		ok(mem->own && !mem->bytes && stats_are(helper, type, 2, 0, SIZE, SIZE));
		gives(SUNMemoryHelper_Copy(helper, other, mem, 0, NULL), SUN_SUCCESS);
		gives(SUNMemoryHelper_CopyAsync(helper, mem, other, 0, NULL), SUN_SUCCESS);
		free_memory(mem);
		free_memory(other);
		ok(stats_are(helper, type, 2, 2, 0, SIZE));
	}
	gives(SUNMemoryHelper_Dealloc(helper, NULL, NULL), SUN_SUCCESS);
	end();
}

/* ---- Copies ---- */

typedef SUNErrCode (*copy_t)(SUNMemoryHelper by, SUNMemory dst, SUNMemory src, size_t size,
			     void *queue);

/* The bytes that the device has moved for one copy. */
static void counted_as(const struct accel_memory_stats *before, int dst, int src)
{
	struct accel_memory_stats now = card_stats();

	ok(now.bytes_h2d - before->bytes_h2d == (dst == DEVICE && src != DEVICE ? SIZE : 0));
	ok(now.bytes_d2h - before->bytes_d2h == (src == DEVICE && dst != DEVICE ? SIZE : 0));
	ok(now.bytes_d2d - before->bytes_d2d == (dst == DEVICE && src == DEVICE ? SIZE : 0));
	/* Freed memory is cleared meanwhile, which takes transfers too. */
	if (dst == DEVICE || src == DEVICE)
		ok(now.transfers > before->transfers);
}

static void all_pairs(copy_t copy, struct accel_stream *stream, void *queue)
{
	for (int pair = 0; pair < TYPES * TYPES; pair++) {
		int to = pair % TYPES, from = pair / TYPES;
		SUNMemory dst = memory_of(SIZE, to), src = memory_of(SIZE, from);
		struct accel_memory_stats before;

		pattern(bytes, SIZE, pair);
		put(src, bytes, SIZE);
		before = card_stats();
		gives(copy(helper, dst, src, SIZE, queue), SUN_SUCCESS);
		if (stream)
			ok(!accel_stream_synchronize(stream));
		counted_as(&before, to, from);
		if (!holds(dst, bytes, SIZE))
			tap_check(0, __func__, pair, "the bytes have come");
		free_memory(dst);
		free_memory(src);
	}
}

static void test_copy_of_all_pairs(void)
{
	begin();
	all_pairs(SUNMemoryHelper_Copy, NULL, NULL);
	end();
}

static void with_stream(void (*part)(struct accel_stream *stream))
{
	struct accel_stream *stream = NULL;
	struct accel_device *dev;

	begin();
	ok(!accel_device_open(card_index(), &dev));
	ok(!accel_stream_create(dev, &stream));
	part(stream);
	ok(!accel_stream_destroy(stream));
	ok(!accel_device_close(dev));
	end();
}

static void on_a_queue(struct accel_stream *stream)
{
	all_pairs(SUNMemoryHelper_CopyAsync, stream, stream);
}

static void test_copy_async_of_all_pairs(void)
{
	with_stream(on_a_queue);
}

/* A chain through every kind, in order because it is one queue. */
static void a_chain(struct accel_stream *stream, void *queue, copy_t last)
{
	SUNMemory in = memory_of(SIZE, PINNED), up = memory_of(SIZE, DEVICE);
	SUNMemory beside = memory_of(SIZE, DEVICE), out = memory_of(SIZE, UVM);
	SUNMemory host = memory_of(SIZE, HOST);

	pattern(in->ptr, SIZE, 7);
	pattern(bytes, SIZE, 7);
	gives(SUNMemoryHelper_CopyAsync(helper, up, in, SIZE, queue), SUN_SUCCESS);
	gives(SUNMemoryHelper_CopyAsync(helper, beside, up, SIZE, queue), SUN_SUCCESS);
	gives(SUNMemoryHelper_CopyAsync(helper, out, beside, SIZE, queue), SUN_SUCCESS);
	gives(last(helper, host, out, SIZE, queue), SUN_SUCCESS);
	/* Between memory of the host a copy is complete on return, and comes after the queue. */
	ok(!memcmp(host->ptr, bytes, SIZE));
	ok(!stream || !accel_stream_query(stream));
	free_memory(in);
	free_memory(up);
	free_memory(beside);
	free_memory(out);
	free_memory(host);
}

static void chains(struct accel_stream *stream)
{
	a_chain(stream, stream, SUNMemoryHelper_CopyAsync);
	a_chain(stream, stream, SUNMemoryHelper_Copy);
	a_chain(NULL, NULL, SUNMemoryHelper_CopyAsync);
#if HAS_QUEUE
	gives(SUNMemoryHelper_SetDefaultQueue(helper, stream), SUN_SUCCESS);
	a_chain(stream, NULL, SUNMemoryHelper_CopyAsync);
	a_chain(stream, NULL, SUNMemoryHelper_Copy);
#endif
}

static void test_chain_on_a_queue(void)
{
	with_stream(chains);
}

/* Their size is not known to SUNDIALS: bytes is 0. */
static void test_alias_and_wrap(void)
{
	SUNMemory mem, alias, inside, host;

	begin();
	mem = memory_of(2 * SIZE, DEVICE);
	pattern(bytes, 2 * SIZE, 3);
	put(mem, bytes, 2 * SIZE);
	alias = SUNMemoryHelper_Alias(helper, mem);
	ok(alias && alias->ptr == mem->ptr && alias->type == SUNMEMTYPE_DEVICE && !alias->own);
	ok(!alias->bytes);
	inside = wrap((char *)mem->ptr + SIZE + 3, DEVICE);
	host = wrap(bytes + 1, HOST);
	ok(inside && host && !inside->own && !inside->bytes);
	gives(SUNMemoryHelper_Copy(helper, host, inside, SIZE - 3, NULL), SUN_SUCCESS);
	ok(!memcmp(bytes + 1, bytes + SIZE + 3, SIZE - 3));
	pattern(bytes, SIZE, 4);
	gives(SUNMemoryHelper_Copy(helper, inside, host, 9, NULL), SUN_SUCCESS);
	gives(SUNMemoryHelper_Copy(helper, host, alias, SIZE, NULL), SUN_SUCCESS);
	pattern(bytes + SIZE, SIZE, 3);
	ok(!memcmp(bytes + 1, bytes + SIZE, SIZE - 1));
	/* Only what is owned is freed. */
	free_memory(alias);
	free_memory(inside);
	free_memory(host);
	ok(stats_are(helper, DEVICE, 1, 0, 2 * SIZE, 2 * SIZE) && kind_of(mem) == ACCEL_MEMORY_DEVICE);
	free_memory(mem);
	end();
}

/* ---- Helpers ---- */

static void test_clone(void)
{
	SUNMemoryHelper original, clone;
	SUNMemory mem, back;
	int here = 1;

	begin();
	original = helper;
	mem = memory_of(SIZE, DEVICE);
#if HAS_QUEUE
	gives(SUNMemoryHelper_SetDefaultQueue(helper, &here), SUN_SUCCESS);
#endif
	clone = SUNMemoryHelper_Clone(helper);
	ok(clone && clone != helper && clone->content != helper->content && clone->sunctx == ctx);
	ok(stats_are(clone, DEVICE, 0, 0, 0, 0));
#if HAS_QUEUE
	ok(!clone->queue);
#endif
	(void)here;
	/* The clone keeps the device open, and its memory allocated. */
	gives(SUNMemoryHelper_Destroy(helper), SUN_SUCCESS);
	helper = clone;
	pattern(bytes, SIZE, 5);
	put(mem, bytes, SIZE);
	back = memory_of(SIZE, HOST);
	gives(SUNMemoryHelper_Copy(clone, back, mem, SIZE, NULL), SUN_SUCCESS);
	ok(!memcmp(back->ptr, bytes, SIZE) && clone != original);
	free_memory(back);
	free_memory(mem);
	/* What the other one has allocated does not go below 0 here. */
	ok(stats_are(clone, DEVICE, 0, 1, 0, 0));
	end();
}

/* A helper that has our operations only, and nothing of ours in it. */
static void test_copy_ops(void)
{
	SUNMemoryHelper empty;
	SUNMemory mem = NULL;
	unsigned long number;
	size_t size;

	begin();
	empty = SUNMemoryHelper_NewEmpty(ctx);
	gives(SUNMemoryHelper_CopyOps(helper, empty), SUN_SUCCESS);
	ok(!memcmp(empty->ops, helper->ops, sizeof(*empty->ops)));
	ok(SUNMemoryHelper_ImplementsRequiredOps(empty));
	gives(SUNMemoryHelper_Alloc(empty, &mem, SIZE, SUNMEMTYPE_HOST, NULL), SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_GetAllocStats(empty, SUNMEMTYPE_HOST, &number, &number, &size, &size),
	      SUN_ERR_ARG_CORRUPT);
	ok(!mem && !SUNMemoryHelper_Clone(empty));
	gives(SUNMemoryHelper_Destroy(empty), SUN_SUCCESS);
	end();
}

/* As SUNDIALS' own test of its data nodes does. */
static void test_destroy_after_the_context(void)
{
	begin();
	gives(SUNContext_Free(&ctx), SUN_SUCCESS);
	gives(SUNMemoryHelper_Destroy_Accel(helper), SUN_SUCCESS);
}

/* ---- Too much, and too many ---- */

static void test_exhaustion(void)
{
	SUNMemory all, none = (SUNMemory)bytes;
	size_t total = (size_t)card_stats().total;

	begin();
	all = memory_of(total, DEVICE);
	gives(SUNMemoryHelper_Alloc(helper, &none, SIZE, SUNMEMTYPE_DEVICE, NULL), SUN_ERR_EXT_FAIL);
	ok(none == (SUNMemory)bytes && *accel_last_error());
	ok(stats_are(helper, DEVICE, 1, 0, total, total));
	gives(SUNMemoryHelper_Alloc(helper, &none, SIZE_MAX / 2, SUNMEMTYPE_PINNED, NULL),
	      SUN_ERR_EXT_FAIL);
	gives(SUNMemoryHelper_Alloc(helper, &none, SIZE_MAX / 2, SUNMEMTYPE_UVM, NULL),
	      SUN_ERR_EXT_FAIL);
	ok(none == (SUNMemory)bytes && stats_are(helper, UVM, 0, 0, 0, 0) &&
	   stats_are(helper, PINNED, 0, 0, 0, 0));
	free_memory(all);
	free_memory(memory_of(SIZE, DEVICE));
	ok(stats_are(helper, DEVICE, 2, 2, 0, total));
	end();
}

#define ROUNDS 4

static void *works(void *arg)
{
	SUNMemoryHelper by = arg;
	char in[SIZE];

	for (int i = 0; i < ROUNDS; i++) {
		SUNMemory card = memory_by(by, SIZE, DEVICE), host = memory_by(by, SIZE, PINNED);

		pattern(in, SIZE, i + (int)(uintptr_t)arg);
		memcpy(host->ptr, in, SIZE);
		gives(SUNMemoryHelper_Copy(by, card, host, SIZE, NULL), SUN_SUCCESS);
		memset(host->ptr, 0, SIZE);
		gives(SUNMemoryHelper_Copy(by, host, card, SIZE, NULL), SUN_SUCCESS);
		ok(!memcmp(host->ptr, in, SIZE));
		gives(SUNMemoryHelper_Dealloc(by, card, NULL), SUN_SUCCESS);
		gives(SUNMemoryHelper_Dealloc(by, host, NULL), SUN_SUCCESS);
	}
	return NULL;
}

/* One thread with the original and one with a clone, as vectors of SUNDIALS have. */
static void test_two_threads(void)
{
	SUNMemoryHelper clone;
	pthread_t thread;

	begin();
	clone = SUNMemoryHelper_Clone(helper);
	ok(!pthread_create(&thread, NULL, works, clone));
	works(helper);
	ok(!pthread_join(thread, NULL));
	ok(stats_are(clone, DEVICE, ROUNDS, ROUNDS, 0, SIZE));
	ok(stats_are(helper, PINNED, ROUNDS, ROUNDS, 0, SIZE));
	gives(SUNMemoryHelper_Destroy(clone), SUN_SUCCESS);
	end();
}

int main(void)
{
	RUN_ON_CARD(test_layout);
	RUN_ON_CARD(test_alloc);
	RUN_ON_CARD(test_filled_with_0);
#if HAS_QUEUE
	RUN_ON_CARD(test_alloc_strided);
#endif
	RUN_ON_CARD(test_stats);
	RUN_ON_CARD(test_no_bytes);
	RUN_ON_CARD(test_copy_of_all_pairs);
	RUN_ON_CARD(test_copy_async_of_all_pairs);
	RUN_ON_CARD(test_chain_on_a_queue);
	RUN_ON_CARD(test_alias_and_wrap);
	RUN_ON_CARD(test_clone);
	RUN_ON_CARD(test_copy_ops);
	RUN_ON_CARD(test_destroy_after_the_context);
	RUN_ON_CARD(test_exhaustion);
	RUN_ON_CARD(test_two_threads);
	return tap_end();
}
