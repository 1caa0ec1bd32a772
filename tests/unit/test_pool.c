/* SPDX-License-Identifier: MIT */
/* Pools: refusals, a model, growth, limits, trimming, the debug mode, children. */
#define _GNU_SOURCE
#include "heap.h"

#include <accel/pool.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRANULE 64

static struct heap heap;
static struct accel_pool_options options;

/* A pool of so many bytes in one chunk of the heap that does not grow. */
static struct accel_pool *small_pool(size_t size)
{
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_pool *pool = NULL;

	heap = (struct heap){ .limit = 0 };
	options = (struct accel_pool_options){ 0 };
	options.granule = GRANULE;
	options.initial_size = options.maximum_size = size;
	expect(accel_pool_create(NULL, &upstream, &options, &pool), 0);
	if (!pool)
		exit(1);
	return pool;
}

static struct accel_pool_stats stats_of(struct accel_pool *pool)
{
	struct accel_pool_stats stats;

	expect(accel_pool_get_stats(pool, &stats), 0);
	return stats;
}

static char *block(struct accel_pool *pool, size_t size)
{
	void *ptr = NULL;

	expect(accel_pool_allocate(pool, NULL, size, 1, &ptr), 0);
	return ptr;
}

static void give(struct accel_pool *pool, void *ptr, size_t size)
{
	expect(accel_pool_deallocate(pool, NULL, ptr, size, 1), 0);
}

static void end(struct accel_pool *pool)
{
	expect(accel_pool_check(pool), 0);
	expect(accel_pool_destroy(pool), 0);
	ok(heap.allocations == heap.frees && !heap.bytes);
}

/* ---- Refusals: Documentation/pool.md has a row for each ---- */

static void test_refused_create(void)
{
	struct accel_resource upstream = heap_resource(&heap), none = { .ops = NULL };
	struct accel_resource_ops ops = heap_ops;
	struct accel_pool *pool = (void *)&upstream;

	heap = (struct heap){ .limit = 0 };
	options = (struct accel_pool_options){ 0 };
	refused(accel_pool_create(NULL, &upstream, NULL, NULL), -EINVAL, "pool is NULL");
	refused(accel_pool_create(NULL, NULL, NULL, &pool), -EINVAL, "dev and upstream");
	ok(!pool);
	refused(accel_pool_create(NULL, &none, NULL, &pool), -EINVAL, "ops is NULL");
	ops.deallocate = NULL;
	none.ops = &ops;
	refused(accel_pool_create(NULL, &none, NULL, &pool), -EINVAL, "deallocate is NULL");
	options.flags = 4;
	refused(accel_pool_create(NULL, &upstream, &options, &pool), -EINVAL, "flags is 0x4");
	options.flags = 0;
	options.reserved[3] = 1;
	refused(accel_pool_create(NULL, &upstream, &options, &pool), -EINVAL, "reserved");
	options.reserved[3] = 0;
	ok(!heap.allocations && !pool);
}

static void test_refused_sizes_of_pools(void)
{
	static const size_t granules[] = { 1, 8, 24, 100, (size_t)4 << 20, SIZE_MAX };
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_pool *pool;

	heap = (struct heap){ .limit = 0 };
	options = (struct accel_pool_options){ 0 };
	for (int i = 0; i < 6; i++) {
		options.granule = granules[i];
		refused(accel_pool_create(NULL, &upstream, &options, &pool), -EINVAL, "granule is");
	}
	options.granule = GRANULE;
	options.initial_size = 100;
	options.maximum_size = 99;
	refused(accel_pool_create(NULL, &upstream, &options, &pool), -EINVAL, "more than maximum");
	options.maximum_size = 100;
	refused(accel_pool_create(NULL, &upstream, &options, &pool), -EINVAL, "whole granules");
	options.maximum_size = 0;
	options.initial_size = SIZE_MAX;
	refused(accel_pool_create(NULL, &upstream, &options, &pool), -EINVAL, "the most");
	options.initial_size = 4096;
	options.reserve_blocks = UINT32_MAX;
	expect(accel_pool_create(NULL, &upstream, &options, &pool), -ENOMEM);
	options.reserve_blocks = 0;
	heap.fail_nth = 1;
	heap.fail_err = -ENODEV;
	expect(accel_pool_create(NULL, &upstream, &options, &pool), -ENODEV);
	heap.shift = 16;
	refused(accel_pool_create(NULL, &upstream, &options, &pool), -EINVAL, "aligned to 64");
	ok(heap.allocations == heap.frees && !pool);
}

static void test_refused_allocate(void)
{
	static const size_t alignments[] = { 0, 3, 24, ((size_t)4 << 20) + 1, SIZE_MAX };
	struct accel_device *dev = open_card();
	struct accel_pool *pool = small_pool(1024);
	struct accel_stream *stream;
	void *ptr = pool;

	refused(accel_pool_allocate(pool, NULL, 1, 1, NULL), -EINVAL, "ptr is NULL");
	refused(accel_pool_allocate(NULL, NULL, 1, 1, &ptr), -EINVAL, "pool is NULL");
	ok(!ptr);
	ptr = pool;
	refused(accel_pool_allocate(pool, NULL, 0, 1, &ptr), -EINVAL, "size is 0");
	ok(!ptr);
	for (int i = 0; i < 5; i++)
		refused(accel_pool_allocate(pool, NULL, 1, alignments[i], &ptr), -EINVAL,
			"alignment is");
	expect(accel_stream_create(dev, &stream), 0);
	refused(accel_pool_allocate(pool, stream, 1, 1, &ptr), -EINVAL, "has no device");
	refused(accel_pool_allocate(pool, NULL, 1025, 1, &ptr), -ENOMEM, "1025 bytes");
	expect(accel_pool_allocate(pool, NULL, SIZE_MAX, 1, &ptr), -ENOMEM);
	expect(accel_pool_allocate(pool, NULL, SIZE_MAX, (size_t)2 << 20, &ptr), -ENOMEM);
	expect(accel_pool_allocate(pool, NULL, SIZE_MAX / 2 + 1, 4096, &ptr), -ENOMEM);
	expect(accel_pool_allocate(pool, NULL, SIZE_MAX - 63, 64, &ptr), -ENOMEM);
	refused(accel_pool_allocate(pool, NULL, 1025, (size_t)4 << 20, &ptr), -ENOMEM,
		"aligned to 4194304: 1024 of 1024 bytes are free, and maximum_size");
	expect(accel_pool_allocate(pool, NULL, 1025, SIZE_MAX / 2 + 1, &ptr), -ENOMEM);
	ok(!ptr && stats_of(pool).failures == 7 && stats_of(pool).largest_free == 1024);
	end(pool);
	expect(accel_device_close(dev), 0);
}

static void test_refused_deallocate(void)
{
	struct accel_pool *pool = small_pool(4096);
	char *a = block(pool, 100), *b = block(pool, 200), outside;
	bool odd = (uintptr_t)a % 256;

	refused(accel_pool_deallocate(NULL, NULL, a, 100, 1), -EINVAL, "pool is NULL");
	refused(accel_pool_deallocate(pool, NULL, NULL, 100, 1), -EINVAL, "ptr is NULL");
	refused(accel_pool_deallocate(pool, NULL, a, 0, 1), -EINVAL, "size is 0");
	refused(accel_pool_deallocate(pool, NULL, a, 100, 3), -EINVAL, "alignment is 3");
	refused(accel_pool_deallocate(pool, NULL, a + 1, 100, 64), -EINVAL, "not aligned to 64");
	/* One of the two is at no multiple of 256. */
	refused(accel_pool_deallocate(pool, NULL, odd ? a : b, odd ? 100 : 200, 256), -EINVAL,
		"not aligned to 256");
	refused(accel_pool_deallocate(pool, NULL, a, 99, 1), -EINVAL, "100 bytes");
	refused(accel_pool_deallocate(pool, NULL, a, 128, 1), -EINVAL, "100 bytes");
	refused(accel_pool_deallocate(pool, NULL, a + 64, 36, 1), -ENOENT, hex(a));
	refused(accel_pool_deallocate(pool, NULL, a + 1, 99, 1), -ENOENT, "is inside the block");
	refused(accel_pool_deallocate(pool, NULL, &outside, 1, 1), -ENOENT, "not from this pool");
	refused(accel_pool_deallocate(pool, NULL, b + 256, 64, 1), -ENOENT, "freed before");
	ok(stats_of(pool).count == 2 && stats_of(pool).bytes == 300);
	give(pool, a, 100);
	refused(accel_pool_deallocate(pool, NULL, a, 100, 1), -ENOENT, "freed before");
	refused(accel_pool_deallocate(pool, NULL, a, 0, 1), -EINVAL, "size is 0");
	give(pool, b, 200);
	refused(accel_pool_deallocate(pool, NULL, b, 200, 1), -ENOENT, "freed before");
	end(pool);
}

static void test_refused_others(void)
{
	struct accel_pool *pool = small_pool(4096);
	struct accel_pool_stats stats;
	struct accel_resource resource = { .context = pool };
	char *a = block(pool, 1);

	refused(accel_pool_destroy(NULL), -EINVAL, "pool is NULL");
	refused(accel_pool_destroy(pool), -EBUSY, "1 blocks");
	refused(accel_pool_get_stats(NULL, &stats), -EINVAL, "pool is NULL");
	refused(accel_pool_get_stats(pool, NULL), -EINVAL, "stats is NULL");
	refused(accel_pool_trim(NULL, 0), -EINVAL, "pool is NULL");
	refused(accel_pool_check(NULL), -EINVAL, "pool is NULL");
	refused(accel_pool_resource(NULL, &resource), -EINVAL, "pool is NULL");
	ok(!resource.ops && !resource.context);
	refused(accel_pool_resource(pool, NULL), -EINVAL, "resource is NULL");
	give(pool, a, 1);
	end(pool);
}

/* ---- Against a model ---- */

#define SLOTS 200

struct model {
	struct accel_pool *pool;
	char *base;
	size_t size;
	struct {
		char *ptr;
		size_t size, alignment;
	} live[SLOTS];
	unsigned int nr, seed;
	uint64_t bytes, peak, total, count;
};

static size_t rounded(size_t size)
{
	return (size + GRANULE - 1) / GRANULE * GRANULE;
}

/* Free bytes, and the longest free part, from what is live alone. */
static size_t model_free(const struct model *model, size_t *longest)
{
	static unsigned char used[1 << 16];
	size_t run = 0, sum = 0;

	memset(used, 0, model->size / GRANULE);
	for (unsigned int i = 0; i < model->nr; i++)
		for (size_t at = 0; at < model->live[i].size; at += GRANULE) {
			size_t granule = (size_t)(model->live[i].ptr + at - model->base) / GRANULE;

			ok(!used[granule]);
			used[granule] = 1;
		}
	*longest = 0;
	for (size_t i = 0; i < model->size / GRANULE; i++) {
		run = used[i] ? 0 : run + GRANULE;
		sum += used[i] ? 0 : GRANULE;
		*longest = run > *longest ? run : *longest;
	}
	return sum;
}

static bool model_is_free(const struct model *model, size_t at, size_t size)
{
	for (unsigned int i = 0; i < model->nr; i++) {
		size_t start = (size_t)(model->live[i].ptr - model->base);

		if (at < start + rounded(model->live[i].size) && start < at + size)
			return false;
	}
	return true;
}

static bool model_fits(const struct model *model, size_t size, size_t alignment)
{
	size_t step = alignment > GRANULE ? alignment : GRANULE;
	size_t at = -(uintptr_t)model->base & (step - 1);

	for (; at + rounded(size) <= model->size; at += step)
		if (model_is_free(model, at, rounded(size)))
			return true;
	return false;
}

static void compare(const struct model *model)
{
	struct accel_pool_stats stats = stats_of(model->pool);
	size_t longest, left = model_free(model, &longest);

	ok(stats.free_bytes == left && stats.largest_free == longest);
	ok(stats.used_bytes + stats.free_bytes == model->size);
	ok(stats.chunk_bytes == model->size && stats.chunks == 1 && !stats.waiting_bytes);
	ok(stats.bytes == model->bytes && stats.peak_bytes == model->peak);
	ok(stats.total_bytes == model->total && stats.total_count == model->count);
	ok(stats.count == model->nr && stats.corruptions == 0);
	expect(accel_pool_check(model->pool), 0);
}

static void model_allocate(struct model *model, size_t size, size_t alignment)
{
	bool fits = model_fits(model, size, alignment);
	void *ptr;
	int err;

	err = accel_pool_allocate(model->pool, NULL, size, alignment, &ptr);
	/* What fits is there, and what cannot fit is not. */
	ok(!err == fits);
	ok(!err || (err == -ENOMEM && !ptr));
	if (err)
		return;
	ok((char *)ptr >= model->base && (char *)ptr + size <= model->base + model->size);
	ok(!((uintptr_t)ptr % alignment) && !((uintptr_t)ptr % GRANULE));
	model->live[model->nr].ptr = ptr;
	model->live[model->nr].size = size;
	model->live[model->nr++].alignment = alignment;
	model->bytes += size;
	model->total += size;
	model->count++;
	model->peak = model->bytes > model->peak ? model->bytes : model->peak;
}

static void model_free_one(struct model *model)
{
	unsigned int i = (unsigned int)rand_r(&model->seed) % model->nr;

	expect(accel_pool_deallocate(model->pool, NULL, model->live[i].ptr, model->live[i].size,
				     model->live[i].alignment),
	       0);
	model->bytes -= model->live[i].size;
	model->live[i] = model->live[--model->nr];
}

static void run_model(unsigned int seed, size_t size, size_t max)
{
	struct model *model = calloc(1, sizeof(*model));
	struct accel_pool_stats stats;

	model->pool = small_pool(size);
	model->size = size;
	model->seed = seed;
	model->base = block(model->pool, size);
	give(model->pool, model->base, size);
	model->total = model->peak = size;
	model->count = 1;
	for (int i = 0; i < 400; i++) {
		if (model->nr && (model->nr == SLOTS || rand_r(&model->seed) % 100 >= 73))
			model_free_one(model);
		else
			model_allocate(model, 1 + (size_t)rand_r(&model->seed) % max,
				       (size_t)1 << rand_r(&model->seed) % 13);
		compare(model);
	}
	while (model->nr)
		model_free_one(model);
	/* One block again, though the best fit has torn it into many. */
	stats = stats_of(model->pool);
	ok(stats.largest_free == size && stats.free_blocks == 1 && stats.fragmentation == 0);
	end(model->pool);
	free(model);
}

static void test_model(void)
{
	for (unsigned int seed = 1; seed <= 6; seed++) {
		run_model(seed, 16384, 512);
		run_model(seed, 65536, 8192);
		/* The edu card. */
		run_model(seed, 4032, 512);
	}
}

/* ---- Where blocks come from ---- */

/* The same calls of one thread find the same places, whatever was there before. */
static void test_places_are_the_same_again(void)
{
	enum { NR = 100, CALLS = 3000 };
	struct accel_pool *pool = small_pool((size_t)1 << 18);
	static char *places[3][CALLS];
	size_t sizes[NR];
	char *live[NR];

	for (int round = 0; round < 3; round++) {
		unsigned int seed = 5, nr = 0;

		for (int i = 0; i < CALLS; i++)
			if (nr < NR && rand_r(&seed) % 2) {
				sizes[nr] = 1 + rand_r(&seed) % 4000;
				if (!accel_pool_allocate(pool, NULL, sizes[nr], 1 << i % 9,
							 (void **)&live[nr]))
					places[round][i] = live[nr++];
			} else if (nr) {
				unsigned int at = rand_r(&seed) % nr;

				give(pool, live[at], sizes[at]);
				live[at] = live[--nr];
				sizes[at] = sizes[nr];
			}
		while (nr--)
			give(pool, live[nr], sizes[nr]);
	}
	ok(!memcmp(places[0], places[1], sizeof(places[0])));
	ok(!memcmp(places[0], places[2], sizeof(places[0])));
	end(pool);
}

static void test_best_fit(void)
{
	struct accel_pool *pool = small_pool(64 * 100);
	char *holes[8], *walls[8], *ptr;
	static const size_t sizes[] = { 5, 2, 9, 3, 7, 3, 12, 1 };

	for (int i = 0; i < 8; i++) {
		holes[i] = block(pool, sizes[i] * 64);
		walls[i] = block(pool, 64);
	}
	for (int i = 0; i < 8; i++)
		give(pool, holes[i], sizes[i] * 64);
	/* The smallest that serves, and among equals the one that was freed last. */
	ptr = block(pool, 3 * 64);
	ok(ptr == holes[5]);
	ok(block(pool, 150) == holes[3]);
	ok(block(pool, 6 * 64) == holes[4]);
	/* What was left over of 7 is newer. */
	ok(block(pool, 64) == holes[4] + 6 * 64);
	ok(block(pool, 10) == holes[7]);
	ok(block(pool, 10 * 64) == holes[6]);
	give(pool, holes[5], 3 * 64);
	give(pool, holes[3], 150);
	give(pool, holes[4], 6 * 64);
	give(pool, holes[7], 10);
	give(pool, holes[4] + 6 * 64, 64);
	give(pool, holes[6], 10 * 64);
	for (int i = 0; i < 8; i++)
		give(pool, walls[i], 64);
	ok(stats_of(pool).free_blocks == 1);
	end(pool);
}

/* More granules than there are lists for a size each. */
static void test_large_blocks(void)
{
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_pool *pool;
	char *a, *b, *c, *d;

	heap = (struct heap){ .limit = 0 };
	options = (struct accel_pool_options){ 0 };
	options.granule = 16;
	options.initial_size = options.maximum_size = (size_t)64 << 20;
	expect(accel_pool_create(NULL, &upstream, &options, &pool), 0);
	a = block(pool, (size_t)9 << 20);
	b = block(pool, 16);
	c = block(pool, (size_t)7 << 20);
	d = block(pool, 16);
	give(pool, a, (size_t)9 << 20);
	give(pool, c, (size_t)7 << 20);
	expect(accel_pool_check(pool), 0);
	ok(block(pool, (size_t)6 << 20) == c);
	ok(block(pool, (size_t)8 << 20) == a);
	ok(stats_of(pool).largest_free == ((size_t)48 << 20) - 32);
	give(pool, a, (size_t)8 << 20);
	give(pool, c, (size_t)6 << 20);
	give(pool, b, 16);
	give(pool, d, 16);
	ok(stats_of(pool).free_blocks == 1);
	end(pool);
}

/* Those that share a list are in order there. */
static void test_order_of_large_blocks(void)
{
	static const size_t kib[] = { 9600, 10200, 9900, 8800 };
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_pool *pool;
	char *holes[4], *walls[4];

	heap = (struct heap){ .limit = 0 };
	options = (struct accel_pool_options){ 0 };
	options.granule = 16;
	options.initial_size = options.maximum_size = (size_t)64 << 20;
	expect(accel_pool_create(NULL, &upstream, &options, &pool), 0);
	for (int i = 0; i < 4; i++) {
		holes[i] = block(pool, kib[i] << 10);
		walls[i] = block(pool, 16);
	}
	for (int i = 0; i < 4; i++)
		give(pool, holes[i], kib[i] << 10);
	expect(accel_pool_check(pool), 0);
	ok(block(pool, (size_t)9700 << 10) == holes[2]);
	ok(block(pool, (size_t)9500 << 10) == holes[0]);
	ok(block(pool, (size_t)8700 << 10) == holes[3]);
	ok(block(pool, (size_t)9700 << 10) == holes[1]);
	give(pool, holes[2], (size_t)9700 << 10);
	give(pool, holes[0], (size_t)9500 << 10);
	give(pool, holes[3], (size_t)8700 << 10);
	give(pool, holes[1], (size_t)9700 << 10);
	for (int i = 0; i < 4; i++)
		give(pool, walls[i], 16);
	ok(stats_of(pool).free_blocks == 1);
	end(pool);
}

/* However many are of the right size and in the wrong place. */
static void test_alignment_among_many(void)
{
	struct accel_pool *pool = small_pool((size_t)1 << 20);
	void *holes[100], *walls[100], *aligned[2];

	for (int i = 0; i < 100; i++) {
		holes[i] = block(pool, 128);
		walls[i] = block(pool, 64);
	}
	for (int i = 0; i < 100; i++)
		give(pool, holes[i], 128);
	for (int i = 0; i < 2; i++) {
		expect(accel_pool_allocate(pool, NULL, 128, 65536, &aligned[i]), 0);
		ok(!((uintptr_t)aligned[i] % 65536));
	}
	for (int i = 0; i < 100; i++)
		give(pool, walls[i], 64);
	for (int i = 0; i < 2; i++)
		expect(accel_pool_deallocate(pool, NULL, aligned[i], 128, 65536), 0);
	ok(stats_of(pool).free_blocks == 1);
	end(pool);
}

/* The only piece that serves is the last of hundreds that are as small, and none is large. */
static void test_alignment_of_the_last(void)
{
	enum { NR = 1024, LAST = 4096 };
	struct accel_pool *pool = small_pool(NR * GRANULE);
	unsigned int aligned = 0, nr = 0;
	char *blocks[NR];
	void *ptr;

	for (int i = 0; i < NR; i++)
		blocks[i] = block(pool, GRANULE);
	while ((uintptr_t)blocks[aligned] % LAST)
		aligned++;
	give(pool, blocks[aligned], GRANULE);
	for (unsigned int i = aligned % 2; i < NR; i += 2)
		if ((uintptr_t)blocks[i] % LAST) {
			give(pool, blocks[i], GRANULE);
			nr++;
		}
	ok(nr > 400 && stats_of(pool).largest_free == GRANULE);
	expect(accel_pool_allocate(pool, NULL, 1, LAST, &ptr), 0);
	ok(ptr == blocks[aligned]);
	/* Now there is none. */
	expect(accel_pool_allocate(pool, NULL, 1, LAST, &ptr), -ENOMEM);
	expect(accel_pool_deallocate(pool, NULL, blocks[aligned], 1, LAST), 0);
	for (unsigned int i = 0; i < NR; i++)
		if (i % 2 != aligned % 2 || (i != aligned && !((uintptr_t)blocks[i] % LAST)))
			give(pool, blocks[i], GRANULE);
	ok(stats_of(pool).free_blocks == 1);
	end(pool);
}

static void test_alignment(void)
{
	struct accel_pool *pool = small_pool((size_t)32 << 20);
	void *ptr[25];

	for (int i = 0; i <= 24; i++) {
		expect(accel_pool_allocate(pool, NULL, 1, (size_t)1 << i, &ptr[i]), 0);
		ok(!((uintptr_t)ptr[i] % ((size_t)1 << i)));
		expect(accel_pool_check(pool), 0);
	}
	/* What lies before an aligned block is free. */
	ok(stats_of(pool).used_bytes == 25 * GRANULE);
	for (int i = 0; i <= 24; i++)
		expect(accel_pool_deallocate(pool, NULL, ptr[i], 1, (size_t)1 << i), 0);
	ok(stats_of(pool).free_blocks == 1);
	end(pool);
}

/* ---- Growth ---- */

static struct accel_pool *growing_pool(size_t growth, size_t maximum, size_t threshold)
{
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_pool *pool = NULL;

	heap = (struct heap){ .limit = 0 };
	options = (struct accel_pool_options){ 0 };
	options.granule = GRANULE;
	options.growth_size = growth;
	options.maximum_size = maximum;
	options.flags = threshold == SIZE_MAX ? 0 : ACCEL_POOL_RELEASE;
	options.release_threshold = threshold == SIZE_MAX ? 0 : threshold;
	options.reserve_blocks = 100;
	expect(accel_pool_create(NULL, &upstream, &options, &pool), 0);
	return pool;
}

static void test_growth(void)
{
	struct accel_pool *pool = growing_pool(1000, 5000, SIZE_MAX);
	char *a, *b, *c;
	void *ptr;

	ok(!heap.allocations && !stats_of(pool).chunk_bytes);
	a = block(pool, 100);
	ok(heap.last_size == 1024 && heap.last_alignment == GRANULE && !heap.last_stream);
	b = block(pool, 2000);
	ok(heap.last_size == 2048 && heap.allocations == 2);
	/* As much as the maximum leaves, in whole granules. */
	c = block(pool, 1900);
	ok(heap.last_size == 1920 && stats_of(pool).chunk_bytes == 4992);
	refused(accel_pool_allocate(pool, NULL, 1000, 1, &ptr), -ENOMEM, "maximum_size");
	ok(heap.allocations == 3);
	expect(accel_pool_trim(pool, 0), 0);
	ok(!heap.frees);
	give(pool, b, 2000);
	give(pool, c, 1900);
	ok(!heap.frees && stats_of(pool).peak_chunk_bytes == 4992);
	expect(accel_pool_trim(pool, 1920), 0);
	ok(heap.frees == 1 && stats_of(pool).chunk_bytes == 2944);
	expect(accel_pool_trim(pool, 0), 0);
	ok(heap.frees == 2 && stats_of(pool).chunks == 1);
	give(pool, a, 100);
	expect(accel_pool_trim(pool, SIZE_MAX), 0);
	ok(heap.frees == 2);
	expect(accel_pool_trim(pool, 0), 0);
	ok(heap.frees == 3 && !stats_of(pool).chunk_bytes && stats_of(pool).grown == 3);
	a = block(pool, 1);
	give(pool, a, 1);
	end(pool);
}

static void test_growth_for_alignment(void)
{
	struct accel_pool *pool = growing_pool(64, 0, 0);
	void *ptr;

	expect(accel_pool_allocate(pool, NULL, 64, 65536, &ptr), 0);
	ok(!((uintptr_t)ptr % 65536) && heap.last_size == 64 && heap.last_alignment == 65536);
	expect(accel_pool_deallocate(pool, NULL, ptr, 64, 65536), 0);
	ok(heap.frees == 1 && heap.last_alignment == 65536);
	end(pool);
}

/* Where upstream does not align so, and where it gives another address, a chunk is longer. */
static void test_growth_for_alignment_of_its_own(void)
{
	struct accel_pool *pool = growing_pool(64, 0, 0);
	void *ptr;

	for (int i = 0; i < 2; i++) {
		heap.max_alignment = i ? 0 : 4096;
		heap.shift = i ? 64 : 0;
		expect(accel_pool_allocate(pool, NULL, 64, 65536, &ptr), 0);
		ok(!((uintptr_t)ptr % 65536) && heap.last_size == 65536);
		ok(heap.last_alignment == GRANULE);
		expect(accel_pool_deallocate(pool, NULL, ptr, 64, 65536), 0);
	}
	heap.max_alignment = 4096;
	refused(accel_pool_allocate(pool, NULL, 64, (size_t)1 << 62, &ptr), -ENOMEM,
		"no chunk can be large enough");
	end(pool);
}

static void take_aligned(struct accel_pool *pool, size_t alignment)
{
	void *ptr;

	expect(accel_pool_allocate(pool, NULL, 64, alignment, &ptr), 0);
	ok(!((uintptr_t)ptr % alignment));
	expect(accel_pool_deallocate(pool, NULL, ptr, 64, alignment), 0);
}

/* Upstream is not asked again for an alignment that it does not have, nor for a larger one. */
static void test_alignment_that_upstream_lacks(void)
{
	struct accel_pool *pool = growing_pool(64, 0, 0);
	void *ptr;

	heap.max_alignment = 4096;
	for (int i = 0; i < 3; i++)
		take_aligned(pool, 65536 << i);
	ok(heap.too_aligned == 1);
	for (int i = 0; i < 3; i++)
		take_aligned(pool, 8192);
	ok(heap.too_aligned == 2 && heap.allocations == 6);
	take_aligned(pool, 4096);
	ok(heap.too_aligned == 2 && heap.last_size == 64 && heap.last_alignment == 4096);
	end(pool);
	/* An answer to any request says nothing about the alignment. */
	pool = growing_pool(64, 0, 0);
	heap.max_alignment = 1;
	expect(accel_pool_allocate(pool, NULL, 64, 65536, &ptr), -EINVAL);
	heap.max_alignment = 0;
	take_aligned(pool, 65536);
	ok(heap.last_size == 64 && heap.last_alignment == 65536);
	end(pool);
}

/* The answer to an alignment may have been about the size: where a longer chunk is too long. */
static void test_alignment_that_upstream_lacked(void)
{
	struct accel_pool *pool = growing_pool(64, 1 << 20, 0);
	void *ptr;

	heap.max_alignment = 4096;
	take_aligned(pool, 65536);
	expect(accel_pool_trim(pool, 0), 0);
	refused(accel_pool_allocate(pool, NULL, 1 << 20, 65536, &ptr), -ENOMEM,
		"maximum_size does not let it grow");
	heap.max_alignment = 0;
	expect(accel_pool_allocate(pool, NULL, 1 << 20, 65536, &ptr), 0);
	ok(!((uintptr_t)ptr % 65536) && heap.last_size == 1 << 20);
	expect(accel_pool_deallocate(pool, NULL, ptr, 1 << 20, 65536), 0);
	end(pool);
}

/* That there is no memory for an aligned chunk says nothing about others. */
static void test_growth_for_alignment_fails(void)
{
	struct accel_pool *pool = growing_pool(64, 0, SIZE_MAX);
	void *ptr;

	heap.fail_nth = 1;
	refused(accel_pool_allocate(pool, NULL, 64, 4096, &ptr), -ENOMEM, "upstream has refused");
	heap.last_size = 0;
	expect(accel_pool_allocate(pool, NULL, 64, 8192, &ptr), -ENOMEM);
	ok(!heap.last_size);
	expect(accel_pool_allocate(pool, NULL, 64, 2048, &ptr), 0);
	expect(accel_pool_deallocate(pool, NULL, ptr, 64, 2048), 0);
	end(pool);
}

/* 2^32 granules before the next such address. */
#define FAR_BASE (((uintptr_t)1 << 40) - GRANULE * ((uintptr_t)1 << 32))

static int far_allocate(void *context, struct accel_stream *stream, size_t size, size_t alignment,
			void **ptr)
{
	(void)context;
	(void)stream;
	(void)size;
	(void)alignment;
	*ptr = (void *)FAR_BASE;
	return 0;
}

static int far_deallocate(void *context, struct accel_stream *stream, void *ptr, size_t size,
			  size_t alignment)
{
	(void)context;
	(void)stream;
	(void)size;
	(void)alignment;
	ok(ptr == (void *)FAR_BASE);
	return 0;
}

/* Nothing is accessed there. */
static void test_alignment_far_above_the_chunk(void)
{
	static const struct accel_resource_ops ops = { .allocate = far_allocate,
						       .deallocate = far_deallocate };
	struct accel_resource upstream = { .ops = &ops };
	struct accel_pool *pool = NULL;
	void *ptr;

	options = (struct accel_pool_options){ 0 };
	options.granule = GRANULE;
	options.initial_size = options.maximum_size = 4096;
	expect(accel_pool_create(NULL, &upstream, &options, &pool), 0);
	expect(accel_pool_allocate(pool, NULL, 64, (size_t)1 << 40, &ptr), -ENOMEM);
	expect(accel_pool_allocate(pool, NULL, 64, (size_t)1 << 38, &ptr), 0);
	ok(ptr == (void *)FAR_BASE);
	expect(accel_pool_deallocate(pool, NULL, ptr, 64, (size_t)1 << 38), 0);
	expect(accel_pool_destroy(pool), 0);
}

/* More than the driver aligns to, and as much; of a device without room for more. */
static void test_alignment_on_a_card(void)
{
	enum { LARGE = 4 << 20, TOTAL = 8 << 20 };
	struct accel_pool *pool = NULL;
	struct accel_device *dev;
	void *ptr[2];

	mock_add_sized(0, TOTAL, TOTAL);
	expect(accel_device_open(0, &dev), 0);
	expect(accel_pool_create(dev, NULL, NULL, &pool), 0);
	expect(accel_pool_allocate(pool, NULL, LARGE, LARGE / 2, &ptr[0]), 0);
	ok(!((uintptr_t)ptr[0] % (LARGE / 2)) && stats_of(pool).chunk_bytes == LARGE);
	expect(accel_pool_allocate(pool, NULL, LARGE, LARGE, &ptr[1]), -ENOMEM);
	expect(accel_pool_deallocate(pool, NULL, ptr[0], LARGE, LARGE / 2), 0);
	expect(accel_pool_trim(pool, 0), 0);
	expect(accel_pool_allocate(pool, NULL, 1, LARGE, &ptr[1]), 0);
	ok(!((uintptr_t)ptr[1] % LARGE));
	expect(accel_pool_deallocate(pool, NULL, ptr[1], 1, LARGE), 0);
	expect(accel_pool_check(pool), 0);
	expect(accel_pool_destroy(pool), 0);
	expect(accel_device_close(dev), 0);
}

/* Options that are 0 are defaults: nothing is given back until it is asked for. */
static void test_options_of_0(void)
{
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_pool_options zero = { 0 };
	struct accel_pool *pool = NULL;
	char *a;

	heap = (struct heap){ .limit = 0 };
	zero.growth_size = 1024;
	expect(accel_pool_create(NULL, &upstream, &zero, &pool), 0);
	a = block(pool, 1024);
	give(pool, a, 1024);
	ok(!heap.frees && stats_of(pool).free_bytes == 1024);
	end(pool);
	zero.release_threshold = 1024;
	refused(accel_pool_create(NULL, &upstream, &zero, &pool), -EINVAL, "ACCEL_POOL_RELEASE");
	zero.flags = 4;
	refused(accel_pool_create(NULL, &upstream, &zero, &pool), -EINVAL, "flags is 0x4");
}

static void test_release_threshold(void)
{
	struct accel_pool *pool = growing_pool(1024, 0, 2048);
	char *blocks[5];

	for (int i = 0; i < 5; i++)
		blocks[i] = block(pool, 1024);
	ok(heap.allocations == 5);
	for (int i = 0; i < 5; i++)
		give(pool, blocks[i], 1024);
	ok(heap.frees == 3 && stats_of(pool).free_bytes == 2048);
	end(pool);
}

/* A growth that fails leaves all as it was, and is not tried again for a while. */
static void test_growth_fails(void)
{
	struct accel_pool *pool = growing_pool(4096, 0, SIZE_MAX);
	struct accel_pool_stats before, after;
	char *a = block(pool, 4000);
	void *ptr;

	before = stats_of(pool);
	heap.limit = 4096 + 1024;
	/* Not so much as it would like, but what it needs. */
	expect(accel_pool_allocate(pool, NULL, 1024, 1, &ptr), 0);
	ok(heap.last_size == 1024);
	give(pool, ptr, 1024);
	expect(accel_pool_trim(pool, 0), 0);
	refused(accel_pool_allocate(pool, NULL, 2000, 1, &ptr), -ENOMEM, "upstream has refused");
	after = stats_of(pool);
	ok(after.chunk_bytes == before.chunk_bytes && after.bytes == before.bytes);
	heap.last_size = 0;
	for (int i = 0; i < 1000; i++)
		expect(accel_pool_allocate(pool, NULL, 2000 + i, 1, &ptr), -ENOMEM);
	/* 1000 failures are over long before that. */
	ok(!heap.last_size);
	heap.limit = 0;
	give(pool, a, 4000);
	expect(accel_pool_trim(pool, 0), 0);
	/* Something was given back, so it is asked again. */
	a = block(pool, 5000);
	give(pool, a, 5000);
	end(pool);
}

/* What was not had does not count. */
static void test_growth_fails_below_the_maximum(void)
{
	struct accel_pool *pool = growing_pool(64, 5000, SIZE_MAX);
	void *ptr;

	heap.limit = 3500;
	expect(accel_pool_allocate(pool, NULL, 4096, 1, &ptr), -ENOMEM);
	ptr = block(pool, 3000);
	give(pool, ptr, 3000);
	end(pool);
}

/* What upstream says about initial_size is what the pool says. */
static void test_initial_size_is_refused(void)
{
	static const int answers[] = { -ENOMEM, -EDQUOT, -EAGAIN, -ENODEV };
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_pool *pool;

	options = (struct accel_pool_options){ 0 };
	options.initial_size = 4096;
	for (int i = 0; i < 4; i++) {
		heap = (struct heap){ .fail_nth = 1, .fail_err = answers[i] };
		expect(accel_pool_create(NULL, &upstream, &options, &pool), answers[i]);
		ok(!pool && !heap.allocations);
	}
}

static void test_growth_fails_otherwise(void)
{
	struct accel_pool *pool = growing_pool(4096, 0, SIZE_MAX);
	void *ptr;

	heap.fail_nth = 1;
	heap.fail_err = -ENODEV;
	expect(accel_pool_allocate(pool, NULL, 1, 1, &ptr), -ENODEV);
	ok(!ptr);
	heap.shift = 16;
	refused(accel_pool_allocate(pool, NULL, 1, 1, &ptr), -EINVAL, "upstream gave");
	ok(heap.allocations == heap.frees);
	heap.shift = 0;
	ptr = block(pool, 1);
	give(pool, ptr, 1);
	end(pool);
}

static struct accel_pool *nested;

/* Gives an address that is not aligned, while the pool needs more than is left. */
static int allocate_nested(void *context, struct accel_stream *stream, size_t size,
			   size_t alignment, void **ptr)
{
	struct accel_pool *pool = nested;
	int err = heap_ops.allocate(context, stream, size, alignment, ptr);
	void *other;

	nested = NULL;
	if (pool)
		expect(accel_pool_allocate(pool, NULL, 700 << 10, 1, &other), -ENOMEM);
	return err;
}

/* Memory that the pool returns to upstream at once may serve a request that was refused before. */
static void test_growth_after_a_chunk_is_taken_back(void)
{
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_resource_ops ops = heap_ops;
	struct accel_pool *pool;
	void *ptr;

	ops.allocate = allocate_nested;
	upstream.ops = &ops;
	heap = (struct heap){ .limit = 1 << 20 };
	options = (struct accel_pool_options){ .growth_size = 4096, .granule = GRANULE };
	expect(accel_pool_create(NULL, &upstream, &options, &pool), 0);
	for (int lone = 0; lone < 2; lone++) {
		nested = pool;
		heap.shift = 16;
		refused(lone ? accel_pool_allocate_exportable(pool, NULL, 400 << 10, 1, &ptr)
			     : accel_pool_allocate(pool, NULL, 400 << 10, 1, &ptr),
			-EINVAL, "upstream gave");
		heap.shift = 0;
		ok(!heap.bytes);
		ptr = block(pool, 700 << 10);
		if (ptr)
			give(pool, ptr, 700 << 10);
		expect(accel_pool_trim(pool, 0), 0);
	}
	end(pool);
}

/* ---- As a resource ---- */

static void test_resource(void)
{
	struct accel_pool *pool = small_pool(4096), *inner = NULL, *other;
	struct accel_resource resource, same;
	void *ptr;

	expect(accel_pool_resource(pool, &resource), 0);
	expect(accel_pool_resource(pool, &same), 0);
	expect(accel_resource_equal(&resource, &same), 1);
	expect(accel_resource_allocate(&resource, NULL, 100, 256, &ptr), 0);
	ok(!((uintptr_t)ptr % 256) && stats_of(pool).bytes == 100);
	expect(accel_resource_deallocate(&resource, NULL, ptr, 100, 256), 0);
	/* A pool out of a pool. */
	options.initial_size = options.maximum_size = 1024;
	expect(accel_pool_create(NULL, &resource, &options, &inner), 0);
	expect(accel_pool_resource(inner, &same), 0);
	expect(accel_resource_equal(&resource, &same), 0);
	ptr = block(inner, 1024);
	ok(stats_of(pool).bytes == 1024);
	expect(accel_pool_create(NULL, &resource, NULL, &other), 0);
	refused(accel_pool_allocate(other, NULL, 1 << 20, 1, &same.context), -ENOMEM, "upstream");
	expect(accel_pool_destroy(other), 0);
	give(inner, ptr, 1024);
	expect(accel_pool_destroy(inner), 0);
	end(pool);
}

/* ---- On a card ---- */

/* Bytes that a block of one takes, if nothing is said about granules. */
static uint64_t least_block(uint64_t size, uint64_t granule)
{
	struct accel_device *dev = NULL;
	struct accel_pool *pool;
	uint64_t bytes;
	char *ptr;

	mock_reset();
	mock_add_sized(0, size, size);
	mock_granule(0, granule);
	expect(accel_device_open(0, &dev), 0);
	expect(accel_pool_create(dev, NULL, NULL, &pool), 0);
	ptr = block(pool, 1);
	bytes = stats_of(pool).used_bytes;
	give(pool, ptr, 1);
	expect(accel_pool_destroy(pool), 0);
	expect(accel_device_close(dev), 0);
	return bytes;
}

/* Not that of a card which gives whole pages. */
static void test_granule_of_a_card(void)
{
	ok(least_block(8192, 64) == 64);
	ok(least_block(1 << 20, 64) == 256);
	ok(least_block(1 << 20, 4096) == 256);
	ok(least_block(65536, 4096) == 256);
}

static void test_on_a_card(void)
{
	struct accel_device *dev = open_card();
	struct accel_pool *pool;
	struct accel_memory_stats stats;
	char *a, *b, text[64] = "in a block", back[64];
	unsigned int calls;
	void *ptr;

	expect(accel_pool_create(dev, NULL, NULL, &pool), 0);
	/* The pool keeps it open. */
	expect(accel_device_close(dev), 0);
	a = block(pool, 64);
	ok(stats_of(pool).chunk_bytes == 128);
	expect(accel_pool_allocate(pool, NULL, 3000, 1, &ptr), 0);
	b = ptr;
	expect(accel_memory_copy(a, text, 64), 0);
	expect(accel_memory_copy(b + 100, a, 64), 0);
	expect(accel_memory_copy(back, b + 100, 64), 0);
	ok(!strcmp(back, text));
	refused(accel_pool_allocate(pool, NULL, 2000, 1, &ptr), -ENOMEM, "upstream has refused");
	calls = mock_all_calls();
	for (int i = 0; i < 1000; i++) {
		give(pool, a, 64);
		a = block(pool, 64);
		expect(accel_pool_allocate(pool, NULL, 2000, 1, &ptr), -ENOMEM);
	}
	/* But what was refused may be asked for again every 100 ms, twice. */
	ok(mock_all_calls() - calls <= 100);
	give(pool, a, 64);
	give(pool, b, 3000);
	expect(accel_pool_trim(pool, 0), 0);
	expect(accel_memory_stats_full(dev, &stats), 0);
	ok(!stats.mine);
	expect(accel_pool_destroy(pool), 0);
}

/* ---- The debug mode ---- */

static struct accel_pool *debug_pool(struct accel_device *dev)
{
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_pool *pool = NULL;

	heap = (struct heap){ .limit = 0 };
	options = (struct accel_pool_options){ 0 };
	options.flags = ACCEL_POOL_DEBUG;
	options.granule = GRANULE;
	options.initial_size = options.maximum_size = 2048;
	expect(accel_pool_create(dev, dev ? NULL : &upstream, &options, &pool), 0);
	return pool;
}

/* Memory of the driver that the application has, and does not free with the pool. */
static int kept_allocate(void *context, struct accel_stream *stream, size_t size, size_t alignment,
			 void **ptr)
{
	(void)stream;
	(void)size;
	(void)alignment;
	*ptr = context;
	return 0;
}

static int kept_deallocate(void *context, struct accel_stream *stream, void *ptr, size_t size,
			   size_t alignment)
{
	(void)stream;
	(void)size;
	(void)alignment;
	ok(ptr == context);
	return 0;
}

/* The dma-buf would be of the whole chunk, also if the block is the first of it, or all of it. */
static void test_export_of_chunks(void)
{
	static const struct accel_resource_ops ops = { .allocate = kept_allocate,
						       .deallocate = kept_deallocate };
	struct accel_resource upstream = { .ops = &ops }, outer;
	struct accel_pool *pool = NULL, *inner = NULL;
	struct accel_device *dev = open_card();
	char *whole;
	int fd;

	options = (struct accel_pool_options){ 0 };
	options.granule = GRANULE;
	options.initial_size = options.maximum_size = 1024;
	whole = upstream.context = device_memory(dev, 1024);
	expect(accel_pool_create(dev, &upstream, &options, &pool), 0);
	ok(block(pool, 512) == whole);
	refused(accel_memory_export(dev, whole, &fd), -ENOENT, "memory of a pool");
	refused(accel_memory_export(dev, whole + 64, &fd), -ENOENT, "memory of a pool");
	give(pool, whole, 512);
	/* A pool out of the pool. */
	expect(accel_pool_resource(pool, &outer), 0);
	expect(accel_pool_create(NULL, &outer, &options, &inner), 0);
	ok(block(inner, 1024) == whole);
	refused(accel_memory_export(dev, whole, &fd), -ENOENT, "memory of a pool");
	give(inner, whole, 1024);
	expect(accel_pool_destroy(inner), 0);
	refused(accel_memory_export(dev, whole, &fd), -ENOENT, "memory of a pool");
	expect(accel_pool_destroy(pool), 0);
	expect(accel_memory_export(dev, whole, &fd), 0);
	close(fd);
	expect(accel_device_close(dev), 0);
}

static char *exportable(struct accel_pool *pool, size_t size, size_t alignment)
{
	void *ptr = NULL;

	expect(accel_pool_allocate_exportable(pool, NULL, size, alignment, &ptr), 0);
	return ptr;
}

/* Its dma-buf is of its bytes alone, and it is freed as any block. */
static void test_exportable(void)
{
	struct accel_device *dev = open_card();
	struct accel_pool *pool = NULL;
	struct accel_pool_stats stats;
	struct accel_stream *stream;
	char *a, *b, *other;
	void *again;
	size_t size;
	int fd;

	options = (struct accel_pool_options){ 0 };
	options.granule = GRANULE;
	options.initial_size = 1024;
	expect(accel_pool_create(dev, NULL, &options, &pool), 0);
	expect(accel_stream_create(dev, &stream), 0);
	other = block(pool, 100);
	a = exportable(pool, 200, 512);
	ok(!((uintptr_t)a % 512) && MOCK_LAST(paccel_mem_alloc, PACCEL_NR_MEM_ALLOC)->length == 200);
	refused(accel_memory_export(dev, other, &fd), -ENOENT, "accel_pool_allocate_exportable()");
	expect(accel_memory_export(dev, a, &fd), 0);
	expect(accel_memory_import(dev, fd, &again, &size), 0);
	ok(again == a && size == 200);
	expect(accel_device_memory_deallocate(dev, again, size), 0);
	close(fd);
	expect(accel_pool_allocate_exportable(pool, stream, 1, 1, &again), 0);
	b = again;
	stats = stats_of(pool);
	ok(stats.count == 3 && stats.bytes == 301 && stats.peak_bytes == 301 && stats.chunks == 3);
	ok(stats.chunk_bytes == 1024 + 256 + 64 && stats.used_bytes == 128 + 256 + 64);
	ok(stats.total_count == 3 && stats.grown == 3 && stats.free_blocks == 1);
	expect(accel_pool_check(pool), 0);
	refused(accel_pool_destroy(pool), -EBUSY, "3 blocks");
	refused(accel_pool_deallocate(pool, NULL, a, 199, 512), -EINVAL, "has 200 bytes");
	refused(accel_pool_deallocate(pool, NULL, a + 64, 136, 1), -ENOENT, "inside the block");
	/* It goes back at once, with its whole chunk, although the pool keeps what is free. */
	expect(accel_pool_deallocate(pool, stream, a, 200, 512), 0);
	ok(MOCK_LAST(paccel_mem_free, PACCEL_NR_MEM_FREE)->length == 200);
	refused(accel_pool_deallocate(pool, NULL, a, 200, 512), -ENOENT, "not from this pool");
	give(pool, b, 1);
	give(pool, other, 100);
	stats = stats_of(pool);
	ok(stats.chunk_bytes == 1024 && !stats.bytes && !stats.count && stats.chunks == 1);
	expect(accel_pool_check(pool), 0);
	expect(accel_pool_destroy(pool), 0);
	expect(accel_device_close(dev), 0);
}

/* What is free in the pool serves through upstream; the rest is out of maximum_size. */
static void test_exportable_out_of_free_chunks(void)
{
	struct accel_device *dev = open_card();
	struct accel_pool *pool = NULL;
	void *ptr;
	char *a;

	options = (struct accel_pool_options){ 0 };
	options.granule = GRANULE;
	options.initial_size = 4032;
	options.maximum_size = 4032;
	expect(accel_pool_create(dev, NULL, &options, &pool), 0);
	a = block(pool, 1);
	refused(accel_pool_allocate_exportable(pool, NULL, 64, 1, &ptr), -ENOMEM, "maximum_size");
	ok(!ptr && stats_of(pool).failures == 1);
	give(pool, a, 1);
	a = exportable(pool, 4032, 1);
	ok(stats_of(pool).chunk_bytes == 4032 && !stats_of(pool).free_bytes);
	expect(accel_pool_allocate(pool, NULL, 1, 1, &ptr), -ENOMEM);
	expect(accel_pool_allocate_exportable(pool, NULL, SIZE_MAX, 1, &ptr), -ENOMEM);
	give(pool, a, 4032);
	/* As much as maximum_size, which upstream does not have. */
	ptr = device_memory(dev, 64);
	expect(accel_pool_allocate_exportable(pool, NULL, 4032, 1, (void **)&a), -ENOMEM);
	ok(!a && !stats_of(pool).chunk_bytes);
	a = block(pool, 3000);
	give(pool, a, 3000);
	expect(accel_pool_destroy(pool), 0);
	expect(accel_device_close(dev), 0);
}

/* What no chunk that is given back helps. */
static void test_exportable_too_large(void)
{
	struct accel_pool *pool = growing_pool(1024, 0, SIZE_MAX);
	void *ptr;

	give(pool, block(pool, 1), 1);
	refused(accel_pool_allocate_exportable(pool, NULL, SIZE_MAX, 1, &ptr), -ENOMEM,
		"for this granule");
	ok(!ptr && stats_of(pool).chunk_bytes == 1024 && stats_of(pool).failures == 1);
	end(pool);
	pool = growing_pool(1024, 2048, SIZE_MAX);
	give(pool, block(pool, 1), 1);
	refused(accel_pool_allocate_exportable(pool, NULL, 2049, 1, &ptr), -ENOMEM,
		"at most 2048 bytes (maximum_size)");
	ok(!ptr && stats_of(pool).chunk_bytes == 1024 && stats_of(pool).failures == 1);
	end(pool);
}

static void test_refused_exportable(void)
{
	struct accel_device *dev = open_card();
	struct accel_pool *pool = small_pool(1024), *of_card, *inner;
	struct accel_resource outer;
	struct accel_stream *stream;
	void *ptr = pool;

	expect(accel_stream_create(dev, &stream), 0);
	refused(accel_pool_allocate_exportable(pool, NULL, 1, 1, NULL), -EINVAL, "ptr is NULL");
	refused(accel_pool_allocate_exportable(NULL, NULL, 1, 1, &ptr), -EINVAL, "pool is NULL");
	ok(!ptr);
	refused(accel_pool_allocate_exportable(pool, NULL, 0, 1, &ptr), -EINVAL, "size is 0");
	refused(accel_pool_allocate_exportable(pool, NULL, 1, 3, &ptr), -EINVAL, "alignment is 3");
	refused(accel_pool_allocate_exportable(pool, stream, 1, 1, &ptr), -EINVAL, "no device");
	end(pool);
	/* Memory of the process, and a block of a pool, which has the size of its chunk. */
	pool = small_pool(1024);
	expect(accel_pool_trim(pool, 0), 0);
	refused(accel_pool_allocate_exportable(pool, NULL, 64, 1, &ptr), -EOPNOTSUPP,
		"no allocation of the driver of 64 bytes");
	ok(!ptr && !stats_of(pool).chunk_bytes && !stats_of(pool).count);
	heap.shift = 16;
	refused(accel_pool_allocate_exportable(pool, NULL, 64, 1, &ptr), -EINVAL,
		"aligned to 64 was asked for");
	ok(!ptr && heap.allocations == heap.frees);
	end(pool);
	options.initial_size = options.maximum_size = 1024;
	expect(accel_pool_create(dev, NULL, &options, &of_card), 0);
	expect(accel_pool_resource(of_card, &outer), 0);
	options.initial_size = 0;
	expect(accel_pool_create(dev, &outer, &options, &inner), 0);
	refused(accel_pool_allocate_exportable(inner, NULL, 1024, 1, &ptr), -EOPNOTSUPP, "driver");
	expect(accel_pool_destroy(inner), 0);
	refused(accel_pool_allocate_exportable(of_card, NULL, 1, 4 << 20, &ptr), -EINVAL,
		"aligns to");
	expect(accel_pool_destroy(of_card), 0);
	expect(accel_device_close(dev), 0);
}

/* The block is freed without the device, also in the debug mode, which does not look at it. */
static void test_exportable_on_a_lost_card(void)
{
	struct accel_device *dev = open_card();
	struct accel_pool *pool = NULL;
	char *a;

	options = (struct accel_pool_options){ 0 };
	options.flags = ACCEL_POOL_DEBUG;
	expect(accel_pool_create(dev, NULL, &options, &pool), 0);
	a = exportable(pool, 100, 1);
	mock_remove(0);
	give(pool, a, 100);
	expect(accel_pool_destroy(pool), 0);
	expect(accel_device_close(dev), 0);
}

static void test_debug_on_the_heap(void)
{
	struct accel_pool *pool = debug_pool(NULL);
	unsigned char *a = (void *)block(pool, 100), *b = (void *)block(pool, 64);
	void *ptr;

	ok(a[0] == 0xcd && a[99] == 0xcd && b[63] == 0xcd);
	memset(a, 1, 100);
	expect(accel_pool_check(pool), 0);
	a[100] = 0;
	refused(accel_pool_check(pool), -EFAULT, hex(a + 100));
	refused(accel_pool_deallocate(pool, NULL, a, 100, 1), -EFAULT, "behind the block");
	refused(accel_pool_deallocate(pool, NULL, a, 100, 1), -ENOENT, "freed before");
	ok(a[0] == 0xdd && a[100] == 0xdd && stats_of(pool).count == 1);
	a[50] = 1;
	refused(accel_pool_check(pool), -EFAULT, "after the free");
	refused(accel_pool_allocate(pool, NULL, 100, 1, &ptr), -EFAULT, hex(a + 50));
	ok(!ptr);
	/* Whoever asks again gets it: it is clean. */
	ok(block(pool, 100) == (char *)a);
	refused(accel_pool_deallocate(pool, NULL, a, 99, 1), -EINVAL, "100 bytes");
	refused(accel_pool_deallocate(pool, NULL, b + 64, 1, 1), -ENOENT, "inside");
	give(pool, a, 100);
	b[64 + 63] = 0;
	refused(accel_pool_deallocate(pool, NULL, b, 64, 1), -EFAULT, hex(b + 127));
	ok(stats_of(pool).corruptions == 5);
	end(pool);
}

static void test_debug_on_a_card(void)
{
	struct accel_device *dev = open_card();
	struct accel_pool *pool = debug_pool(dev);
	struct accel_stream *stream;
	char *a;
	void *ptr;

	expect(accel_stream_create(dev, &stream), 0);
	expect(accel_pool_allocate(pool, stream, 100, 1, &ptr), 0);
	a = ptr;
	mock_hold(0);
	/* One byte too many, and it is not there yet when the block is freed. */
	expect(accel_async_device_memory_set(dev, stream, a, 7, 101), 0);
	mock_release(0);
	refused(accel_pool_deallocate(pool, stream, a, 100, 1), -EFAULT, hex(a + 100));
	expect(accel_device_memory_set(dev, a, 7, 1), 0);
	refused(accel_pool_allocate(pool, NULL, 10, 1, &ptr), -EFAULT, hex(a));
	expect(accel_pool_allocate(pool, NULL, 10, 1, &ptr), 0);
	give(pool, ptr, 10);
	expect(accel_pool_check(pool), 0);
	expect(accel_pool_destroy(pool), 0);
	expect(accel_device_close(dev), 0);
}

static void end_on_a_lost_card(void (*lose)(unsigned int node), int err)
{
	struct accel_device *dev = open_card();
	struct accel_pool *pool = debug_pool(dev);
	void *ptr = block(pool, 100), *none = &ptr;

	lose(0);
	expect(accel_pool_allocate(pool, NULL, 100, 1, &none), err);
	ok(!none && stats_of(pool).count == 1 && stats_of(pool).bytes == 100);
	give(pool, ptr, 100);
	refused(accel_pool_deallocate(pool, NULL, ptr, 100, 1), -ENOENT, "freed before");
	ok(!stats_of(pool).count && !stats_of(pool).corruptions);
	expect(accel_pool_destroy(pool), 0);
	expect(accel_device_close(dev), 0);
}

/* The memory is lost, but its blocks can be freed, and a refused allocation leaves none. */
static void test_debug_on_a_lost_card(void)
{
	end_on_a_lost_card(mock_remove, -ENODEV);
	end_on_a_lost_card(mock_lose, -ESTALE);
}

/* ---- System calls ---- */

/* From now on the kernel ends a process that makes another call than write and exit. */
static void no_calls(struct accel_pool *few)
{
	void *ptr[64], *none;
	long wrong = 0;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < 64; i++)
			wrong += !!accel_pool_allocate(few, NULL, 1 + i * 7 % 190,
						       (size_t)1 << i % 9, &ptr[i]);
		wrong += accel_pool_allocate(few, NULL, 1 << 20, 1, &none) != -ENOMEM;
		for (size_t i = 0; i < 64; i++)
			wrong += !!accel_pool_deallocate(few, NULL, ptr[i], 1 + i * 7 % 190,
							 (size_t)1 << i % 9);
		/* In the first round it has its tables made. */
		if (!round)
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	}
	syscall(SYS_exit, wrong);
}

static void test_no_system_call(void)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		no_calls(small_pool(65536));
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status));
}

/* ---- In the child of a fork ---- */

static void child(struct accel_pool *pool, struct accel_pool *of_card, char *a)
{
	struct accel_pool_stats stats;
	void *ptr;

	tap_wrong = 0;
	refused(accel_pool_allocate(pool, NULL, 1, 1, &ptr), -EPERM, "before a fork");
	refused(accel_pool_deallocate(pool, NULL, a, 10, 1), -EPERM, "before a fork");
	expect(accel_pool_get_stats(pool, &stats), -EPERM);
	expect(accel_pool_trim(pool, 0), -EPERM);
	expect(accel_pool_check(pool), -EPERM);
	expect(accel_pool_allocate(of_card, NULL, 1, 1, &ptr), -EPERM);
	expect(accel_pool_allocate_exportable(of_card, NULL, 1, 1, &ptr), -EPERM);
	/* They are forgotten, and nothing is given back. */
	expect(accel_pool_destroy(pool), 0);
	ok(!heap.frees);
	expect(accel_pool_destroy(of_card), 0);
	fflush(stdout);
	_exit(!!tap_wrong);
}

static void test_fork(void)
{
	struct accel_device *dev = open_card();
	struct accel_pool *pool = small_pool(4096), *of_card;
	char *a = block(pool, 10), *b, *c;
	int status = -1;
	pid_t pid;

	expect(accel_pool_create(dev, NULL, NULL, &of_card), 0);
	b = block(of_card, 10);
	c = exportable(of_card, 10, 1);
	fflush(stdout);
	pid = fork();
	if (!pid)
		child(pool, of_card, a);
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status));
	give(pool, a, 10);
	give(of_card, b, 10);
	give(of_card, c, 10);
	expect(accel_pool_destroy(of_card), 0);
	end(pool);
	expect(accel_device_close(dev), 0);
}

/* ---- Nonsense ---- */

static size_t nonsense(unsigned int *seed)
{
	static const size_t values[] = { 0, 1, 2, 63, 64, 65, 4032, 4096, SIZE_MAX, SIZE_MAX - 1,
					 SIZE_MAX - 63, SIZE_MAX / 2, SIZE_MAX / 2 + 1,
					 (size_t)1 << 32, ((size_t)1 << 38) - 64, (size_t)2 << 20 };

	return values[(unsigned int)rand_r(seed) % 16] + (size_t)(rand_r(seed) % 2);
}

/* Whatever it is given, it goes on, and its notes are right. */
static void test_nonsense(void)
{
	struct accel_pool *pool = small_pool(1 << 20);
	char *base = block(pool, 1 << 20);
	size_t sizes[64], alignments[64];
	void *live[64], *ptr;
	unsigned int seed = 1, nr = 0;
	int err;

	give(pool, base, 1 << 20);
	for (int i = 0; i < 20000; i++) {
		size_t size = nonsense(&seed), alignment = nonsense(&seed);

		err = accel_pool_allocate(pool, NULL, size, alignment, &ptr);
		ok(!err == !!ptr && (!err || err == -EINVAL || err == -ENOMEM));
		if (!err && nr < 64) {
			sizes[nr] = size;
			alignments[nr] = alignment;
			live[nr++] = ptr;
		} else if (!err) {
			expect(accel_pool_deallocate(pool, NULL, ptr, size, alignment), 0);
		}
		ptr = (void *)((uintptr_t)base + nonsense(&seed) % (1 << 20) + 7);
		err = accel_pool_deallocate(pool, NULL, ptr, size, alignment);
		ok(err == -EINVAL || err == -ENOENT);
		err = accel_pool_deallocate(pool, NULL, (void *)nonsense(&seed), size, alignment);
		ok(err == -EINVAL || err == -ENOENT);
		if (nr && rand_r(&seed) % 2) {
			nr--;
			expect(accel_pool_deallocate(pool, NULL, live[nr], sizes[nr],
						     alignments[nr]),
			       0);
		}
		if (i % 500 == 0)
			expect(accel_pool_check(pool), 0);
	}
	while (nr--)
		expect(accel_pool_deallocate(pool, NULL, live[nr], sizes[nr], alignments[nr]), 0);
	ok(stats_of(pool).largest_free == 1 << 20);
	end(pool);
}

int main(void)
{
	RUN(test_refused_create);
	RUN(test_refused_sizes_of_pools);
	RUN(test_refused_allocate);
	RUN(test_refused_deallocate);
	RUN(test_refused_others);
	RUN(test_model);
	RUN(test_places_are_the_same_again);
	RUN(test_best_fit);
	RUN(test_large_blocks);
	RUN(test_order_of_large_blocks);
	RUN(test_alignment);
	RUN(test_alignment_among_many);
	RUN(test_alignment_of_the_last);
	RUN(test_growth);
	RUN(test_growth_for_alignment);
	RUN(test_growth_for_alignment_of_its_own);
	RUN(test_alignment_that_upstream_lacks);
	RUN(test_alignment_that_upstream_lacked);
	RUN(test_growth_for_alignment_fails);
	RUN(test_alignment_far_above_the_chunk);
	RUN(test_alignment_on_a_card);
	RUN(test_options_of_0);
	RUN(test_release_threshold);
	RUN(test_growth_fails);
	RUN(test_growth_fails_below_the_maximum);
	RUN(test_initial_size_is_refused);
	RUN(test_growth_fails_otherwise);
	RUN(test_growth_after_a_chunk_is_taken_back);
	RUN(test_resource);
	RUN(test_granule_of_a_card);
	RUN(test_on_a_card);
	RUN(test_export_of_chunks);
	RUN(test_exportable);
	RUN(test_exportable_out_of_free_chunks);
	RUN(test_exportable_too_large);
	RUN(test_refused_exportable);
	RUN(test_exportable_on_a_lost_card);
	RUN(test_debug_on_the_heap);
	RUN(test_debug_on_a_card);
	RUN(test_debug_on_a_lost_card);
	RUN(test_no_system_call);
	RUN(test_fork);
	RUN(test_nonsense);
	return tap_end();
}
