/* SPDX-License-Identifier: MIT */
/* Resources of the driver, and adaptors. */
#include "heap.h"

#include <accel/buffer.h>
#include <accel/pool.h>
#include <execinfo.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct heap heap;

static struct accel_adaptor_statistics counts_of(struct accel_adaptor *adaptor)
{
	struct accel_adaptor_statistics counts;

	expect(accel_adaptor_get_statistics(adaptor, &counts), 0);
	return counts;
}

static void *take(const struct accel_resource *resource, size_t size)
{
	void *ptr = NULL;

	expect(accel_resource_allocate(resource, NULL, size, 64, &ptr), 0);
	return ptr;
}

static void give(const struct accel_resource *resource, void *ptr, size_t size)
{
	expect(accel_resource_deallocate(resource, NULL, ptr, size, 64), 0);
}

/* ---- Resources ---- */

static void test_refused_resources(void)
{
	struct accel_resource_ops ops = heap_ops;
	struct accel_resource resource = heap_resource(&heap), bad = { .ops = NULL };
	void *ptr = &ptr;

	heap = (struct heap){ .limit = 0 };
	refused(accel_resource_allocate(NULL, NULL, 1, 1, &ptr), -EINVAL, "resource is NULL");
	ok(!ptr);
	refused(accel_resource_allocate(&resource, NULL, 1, 1, NULL), -EINVAL, "ptr is NULL");
	refused(accel_resource_allocate(&bad, NULL, 1, 1, &ptr), -EINVAL, "ops is NULL");
	bad.ops = &ops;
	ops.reserved[3] = (void (*)(void))abort;
	refused(accel_resource_allocate(&bad, NULL, 1, 1, &ptr), -EINVAL, "reserved is not NULL");
	ops = heap_ops;
	ops.allocate = NULL;
	refused(accel_resource_allocate(&bad, NULL, 1, 1, &ptr), -EINVAL, "allocate is NULL");
	refused(accel_resource_deallocate(&bad, NULL, &ptr, 1, 1), -EINVAL, "allocate is NULL");
	refused(accel_resource_equal(&bad, &resource), -EINVAL, "allocate is NULL");
	refused(accel_resource_equal(&resource, NULL), -EINVAL, "resource is NULL");
	refused(accel_resource_allocate(&resource, NULL, 0, 1, &ptr), -EINVAL, "size is 0");
	refused(accel_resource_allocate(&resource, NULL, 1, 0, &ptr), -EINVAL, "alignment is 0");
	refused(accel_resource_allocate(&resource, NULL, 1, 6, &ptr), -EINVAL, "alignment is 6");
	refused(accel_resource_deallocate(&resource, NULL, NULL, 1, 1), -EINVAL, "ptr is NULL");
	refused(accel_resource_deallocate(&resource, NULL, &ptr, 0, 1), -EINVAL, "size is 0");
	refused(accel_resource_deallocate(&resource, NULL, &ptr, 1, 3), -EINVAL, "alignment is 3");
	ok(!heap.allocations && !heap.last_size);
	heap.fail_nth = 1;
	ptr = &ptr;
	ok(accel_resource_allocate(&resource, NULL, 1, 1, &ptr) == -ENOMEM && !ptr);
}

static int gives_nothing(void *context, struct accel_stream *stream, size_t size, size_t alignment,
			 void **ptr)
{
	(void)stream;
	(void)size;
	(void)alignment;
	(void)ptr;
	return *(int *)context;
}

static int takes_nothing(void *context, struct accel_stream *stream, void *ptr, size_t size,
			 size_t alignment)
{
	(void)ptr;
	return gives_nothing(context, stream, size, alignment, NULL);
}

/* An allocator that does not keep to what was agreed: nobody takes NULL for memory. */
static void test_bad_answers(void)
{
	static const struct accel_resource_ops ops = { .allocate = gives_nothing,
						       .deallocate = takes_nothing };
	int answer = 0;
	struct accel_resource resource = { .ops = &ops, .context = &answer };
	struct accel_adaptor *adaptor;
	struct accel_buffer buffer;
	void *ptr = &ptr;

	refused(accel_resource_allocate(&resource, NULL, 1, 1, &ptr), -ENOMEM, "no address");
	refused(accel_buffer_create(&buffer, &resource, NULL, 1, 1), -ENOMEM, "no address");
	expect(accel_buffer_destroy(&buffer), 0);
	expect(accel_adaptor_create_tracking(&resource, 0, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &resource), 0);
	expect(accel_resource_allocate(&resource, NULL, 1, 1, &ptr), -ENOMEM);
	ok(counts_of(adaptor).failures == 1 && !counts_of(adaptor).count);
	answer = ENOMEM;
	refused(accel_resource_allocate(&resource, NULL, 1, 1, &ptr), -EINVAL,
		"allocate has answered 12");
	expect(accel_adaptor_destroy(adaptor), 0);
	resource = (struct accel_resource){ .ops = &ops, .context = &answer };
	ptr = &ptr;
	refused(accel_resource_deallocate(&resource, NULL, ptr, 1, 1), -EINVAL,
		"deallocate has answered 12");
}

static void test_equal(void)
{
	struct heap other = { .limit = 5 };
	struct accel_resource a = heap_resource(&heap), b = heap_resource(&other), c = a;
	struct accel_resource_ops ops = heap_ops;

	heap = (struct heap){ .limit = 0 };
	expect(accel_resource_equal(&a, &a), 1);
	expect(accel_resource_equal(&a, &b), 0);
	heap.limit = 5;
	expect(accel_resource_equal(&a, &b), 1);
	c.ops = &ops;
	expect(accel_resource_equal(&a, &c), 0);
	ops.equal = NULL;
	b.ops = &ops;
	expect(accel_resource_equal(&b, &c), 0);
	expect(accel_resource_equal(&c, &c), 1);
}

static void test_of_device(void)
{
	static const enum accel_memory_kind kinds[] = { ACCEL_MEMORY_DEVICE, ACCEL_MEMORY_HOST,
							ACCEL_MEMORY_UNIFIED };
	struct accel_device *dev = open_card();
	struct accel_resource resource, device;
	struct accel_pointer_info info;
	void *ptr;

	refused(accel_resource_of_device(dev, ACCEL_MEMORY_DEVICE, NULL), -EINVAL, "resource");
	refused(accel_resource_of_device(NULL, ACCEL_MEMORY_DEVICE, &resource), -EINVAL, "dev");
	refused(accel_resource_of_device(dev, ACCEL_MEMORY_PAGEABLE, &resource), -EINVAL, "kind");
	refused(accel_resource_of_device(dev, ACCEL_MEMORY_REGISTERED, &resource), -EINVAL, "kind");
	ok(!resource.ops && !resource.context);
	for (int i = 0; i < 3; i++) {
		expect(accel_resource_of_device(dev, kinds[i], &resource), 0);
		expect(accel_resource_of_device(dev, kinds[(i + 1) % 3], &device), 0);
		expect(accel_resource_equal(&resource, &device), 0);
		ptr = take(&resource, 100);
		expect(accel_pointer_get_info(ptr, &info), 0);
		ok(info.kind == kinds[i] && info.size == 100 && info.base == ptr);
		ok(accel_resource_deallocate(&device, NULL, ptr, 100, 64) == -ENOENT);
		give(&resource, ptr, 100);
		refused(accel_resource_allocate(&resource, NULL, 100, 4 << 20, &ptr), -EINVAL,
			"alignment");
	}
	expect(accel_resource_of_device(dev, ACCEL_MEMORY_DEVICE, &resource), 0);
	expect(accel_resource_allocate(&resource, NULL, 100, 1024, &ptr), 0);
	ok(MOCK_LAST(paccel_mem_alloc, PACCEL_NR_MEM_ALLOC)->align == 1024);
	expect(accel_device_close(dev), 0);
}

/* ---- Statistics ---- */

static void test_statistics(void)
{
	struct accel_resource upstream = heap_resource(&heap), counted;
	struct accel_adaptor_statistics counts;
	struct accel_adaptor *adaptor;
	void *a, *b, *ptr;

	heap = (struct heap){ .limit = 0 };
	expect(accel_adaptor_create_statistics(&upstream, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &counted), 0);
	a = take(&counted, 100);
	b = take(&counted, 50);
	give(&counted, a, 100);
	a = take(&counted, 30);
	heap.fail_nth = 1;
	ok(accel_resource_allocate(&counted, NULL, 7, 64, &ptr) == -ENOMEM && !ptr);
	counts = counts_of(adaptor);
	ok(counts.bytes == 80 && counts.peak_bytes == 150 && counts.total_bytes == 180);
	ok(counts.count == 2 && counts.peak_count == 2 && counts.total_count == 3);
	ok(counts.failures == 1 && !counts.allocate_ns && !counts.reserved[0]);
	refused(accel_adaptor_destroy(adaptor), -EBUSY, "2 allocations");
	/* What upstream will not have back is live. */
	heap.free_err = -EIO;
	ok(accel_resource_deallocate(&counted, NULL, a, 30, 64) == -EIO);
	ok(counts_of(adaptor).bytes == 80 && counts_of(adaptor).count == 2);
	heap.free_err = 0;
	give(&counted, a, 30);
	refused(accel_resource_deallocate(&counted, NULL, b, 51, 64), -ENOENT, "only 50 bytes");
	give(&counted, b, 50);
	refused(accel_resource_deallocate(&counted, NULL, b, 1, 64), -ENOENT, "only 0 bytes");
	expect(accel_adaptor_destroy(adaptor), 0);
	ok(heap.allocations == heap.frees);
}

/* Two scopes, one in the other; the adaptor's own statistics do not notice. */
static void test_scopes(void)
{
	struct accel_resource upstream = heap_resource(&heap), counted;
	struct accel_adaptor_statistics outer, inner, all;
	struct accel_adaptor *adaptor;
	void *a, *b, *ptr;

	heap = (struct heap){ .limit = 0 };
	expect(accel_adaptor_create_statistics(&upstream, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &counted), 0);
	a = take(&counted, 100);
	expect(accel_adaptor_push_scope(adaptor), 0);
	b = take(&counted, 500);
	give(&counted, b, 500);
	expect(accel_adaptor_push_scope(adaptor), 0);
	b = take(&counted, 30);
	heap.fail_nth = 1;
	expect(accel_resource_allocate(&counted, NULL, 7, 64, &ptr), -ENOMEM);
	give(&counted, a, 100);
	all = counts_of(adaptor);
	ok(all.bytes == 30 && all.peak_bytes == 600 && all.total_bytes == 630);
	ok(all.count == 1 && all.peak_count == 2 && all.total_count == 3 && all.failures == 1);
	expect(accel_adaptor_pop_scope(adaptor, &inner), 0);
	ok((int64_t)inner.bytes == -70 && inner.peak_bytes == 30 && inner.total_bytes == 30);
	ok(!inner.count && inner.peak_count == 1 && inner.total_count == 1 && inner.failures == 1);
	give(&counted, b, 30);
	expect(accel_adaptor_pop_scope(adaptor, &outer), 0);
	ok((int64_t)outer.bytes == -100 && outer.peak_bytes == 500 && outer.total_bytes == 530);
	ok((int64_t)outer.count == -1 && outer.peak_count == 1 && outer.total_count == 2);
	ok(outer.failures == 1);
	ok(counts_of(adaptor).peak_bytes == 600 && !counts_of(adaptor).bytes);
	expect(accel_adaptor_pop_scope(adaptor, &outer), -ENOENT);
	/* A scope that is left ends with the adaptor. */
	expect(accel_adaptor_push_scope(adaptor), 0);
	expect(accel_adaptor_destroy(adaptor), 0);
}

/* ---- Time ---- */

/* How long the functions below took, as they have measured it. */
static struct {
	uint64_t sum, longest;
} took[2];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void spend(int which, uint64_t least)
{
	uint64_t begin = now_ns(), ns;

	do
		ns = now_ns() - begin;
	while (ns < least);
	took[which].sum += ns;
	if (ns > took[which].longest)
		took[which].longest = ns;
}

static int timed_allocate(void *context, struct accel_stream *stream, size_t size, size_t alignment,
			  void **ptr)
{
	spend(0, size);
	return heap_allocate(context, stream, size, alignment, ptr);
}

static int timed_deallocate(void *context, struct accel_stream *stream, void *ptr, size_t size,
			    size_t alignment)
{
	spend(1, 2 * size);
	return heap_deallocate(context, stream, ptr, size, alignment);
}

/* At least what upstream took, of each call the longest too, and at most what the calls took. */
static void test_timing(void)
{
	static const struct accel_resource_ops ops = { .allocate = timed_allocate,
						       .deallocate = timed_deallocate };
	struct accel_resource timed = { .ops = &ops, .context = &heap };
	struct accel_adaptor_statistics counts, scope;
	struct accel_adaptor *adaptor;
	uint64_t begin = now_ns();
	void *a, *b, *ptr;

	heap = (struct heap){ .limit = 0 };
	expect(accel_adaptor_create_timing(&timed, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &timed), 0);
	a = take(&timed, 100000);
	b = take(&timed, 5000);
	heap.fail_nth = 1;
	expect(accel_resource_allocate(&timed, NULL, 7000, 64, &ptr), -ENOMEM);
	give(&timed, a, 100000);
	counts = counts_of(adaptor);
	ok(counts.allocate_ns >= took[0].sum && counts.longest_allocate_ns >= took[0].longest);
	ok(counts.deallocate_ns >= took[1].sum && counts.longest_deallocate_ns >= took[1].longest);
	ok(counts.longest_allocate_ns < counts.allocate_ns && counts.failures == 1);
	ok(counts.longest_deallocate_ns == counts.deallocate_ns);
	ok(counts.allocate_ns + counts.deallocate_ns <= now_ns() - begin);
	expect(accel_adaptor_push_scope(adaptor), 0);
	give(&timed, b, 5000);
	expect(accel_adaptor_pop_scope(adaptor, &scope), 0);
	ok(!scope.allocate_ns && !scope.longest_allocate_ns && scope.deallocate_ns >= 10000);
	ok(scope.longest_deallocate_ns == scope.deallocate_ns);
	/* What upstream will not have back is not counted. */
	a = take(&timed, 1);
	counts = counts_of(adaptor);
	heap.free_err = -EIO;
	expect(accel_resource_deallocate(&timed, NULL, a, 1, 64), -EIO);
	ok(counts_of(adaptor).deallocate_ns == counts.deallocate_ns);
	heap.free_err = 0;
	give(&timed, a, 1);
	expect(accel_adaptor_destroy(adaptor), 0);
}

static void test_refused_adaptors(void)
{
	struct accel_resource upstream = heap_resource(&heap), bad = { .ops = NULL };
	struct accel_adaptor_statistics counts;
	struct accel_adaptor *adaptor = (void *)&bad;

	refused(accel_adaptor_create_statistics(&upstream, NULL), -EINVAL, "adaptor is NULL");
	refused(accel_adaptor_create_statistics(NULL, &adaptor), -EINVAL, "resource is NULL");
	ok(!adaptor);
	refused(accel_adaptor_create_fallback(&bad, &upstream, &adaptor), -EINVAL, "ops is NULL");
	refused(accel_adaptor_create_fallback(&upstream, &bad, &adaptor), -EINVAL, "ops is NULL");
	ok(!adaptor);
	refused(accel_adaptor_create_limiting(&bad, 1, &adaptor), -EINVAL, "ops is NULL");
	refused(accel_adaptor_create_logging(&bad, "/tmp/x", &adaptor), -EINVAL, "ops is NULL");
	refused(accel_adaptor_create_logging(&upstream, NULL, &adaptor), -EINVAL, "path is NULL");
	refused(accel_adaptor_create_logging(&upstream, "/no/where", &adaptor), -ENOENT,
		"/no/where");
	refused(accel_adaptor_create_spilling(&upstream, NULL, NULL, &adaptor), -EINVAL,
		"fn is NULL");
	ok(!adaptor);
	refused(accel_adaptor_create_tracking(&upstream, 33, &adaptor), -EINVAL, "frames is 33");
	refused(accel_adaptor_create_tracking(&bad, 1, &adaptor), -EINVAL, "ops is NULL");
	ok(!adaptor);
	refused(accel_adaptor_destroy(NULL), -EINVAL, "adaptor is NULL");
	refused(accel_adaptor_resource(NULL, &bad), -EINVAL, "adaptor is NULL");
	refused(accel_adaptor_get_statistics(NULL, &counts), -EINVAL, "adaptor is NULL");
	refused(accel_adaptor_outstanding(NULL, NULL, NULL), -EINVAL, "adaptor is NULL");
	refused(accel_adaptor_push_scope(NULL), -EINVAL, "adaptor is NULL");
	refused(accel_adaptor_pop_scope(NULL, &counts), -EINVAL, "adaptor is NULL");
	expect(accel_adaptor_create_statistics(&upstream, &adaptor), 0);
	refused(accel_adaptor_resource(adaptor, NULL), -EINVAL, "resource is NULL");
	refused(accel_adaptor_get_statistics(adaptor, NULL), -EINVAL, "statistics is NULL");
	refused(accel_adaptor_outstanding(adaptor, NULL, NULL), -EINVAL, "fn is NULL");
	refused(accel_adaptor_pop_scope(adaptor, NULL), -EINVAL, "statistics is NULL");
	refused(accel_adaptor_pop_scope(adaptor, &counts), -ENOENT, "no scope");
	refused(accel_adaptor_outstanding(adaptor, (void *)abort, NULL), -EINVAL, "not track");
	expect(accel_adaptor_destroy(adaptor), 0);
}

/* ---- Limit ---- */

static void test_limit(void)
{
	struct accel_resource upstream = heap_resource(&heap), limited;
	struct accel_adaptor *adaptor;
	void *a, *b, *ptr = &ptr;

	heap = (struct heap){ .limit = 0 };
	expect(accel_adaptor_create_limiting(&upstream, 100, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &limited), 0);
	a = take(&limited, 60);
	refused(accel_resource_allocate(&limited, NULL, 41, 64, &ptr), -EDQUOT, "60 of 100");
	ok(!ptr && heap.last_size == 60);
	expect(accel_resource_allocate(&limited, NULL, SIZE_MAX, 64, &ptr), -EDQUOT);
	b = take(&limited, 40);
	expect(accel_resource_allocate(&limited, NULL, 1, 64, &ptr), -EDQUOT);
	give(&limited, a, 60);
	/* A failure upstream gives back what it was going to take. */
	heap.fail_nth = 1;
	ok(accel_resource_allocate(&limited, NULL, 60, 64, &ptr) == -ENOMEM);
	a = take(&limited, 60);
	ok(counts_of(adaptor).failures == 4 && counts_of(adaptor).peak_bytes == 100);
	give(&limited, a, 60);
	give(&limited, b, 40);
	expect(accel_adaptor_destroy(adaptor), 0);
}

static struct accel_resource behind;

static void *asks_for_more(void *arg)
{
	void *ptr;

	expect(accel_resource_allocate(arg, NULL, 60, 64, &ptr), -EDQUOT);
	return NULL;
}

/* While one thread is at it, another one asks. */
static int slow_allocate(void *context, struct accel_stream *stream, size_t size, size_t alignment,
			 void **ptr)
{
	pthread_t thread;

	pthread_create(&thread, NULL, asks_for_more, &behind);
	pthread_join(thread, NULL);
	return heap_allocate(context, stream, size, alignment, ptr);
}

/* What is being asked for counts. */
static void test_limit_at_once(void)
{
	static const struct accel_resource_ops ops = { .allocate = slow_allocate,
						       .deallocate = heap_deallocate };
	struct accel_resource upstream = { .ops = &ops, .context = &heap };
	struct accel_adaptor *adaptor;
	void *a;

	heap = (struct heap){ .limit = 0 };
	expect(accel_adaptor_create_limiting(&upstream, 100, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &behind), 0);
	a = take(&behind, 60);
	ok(counts_of(adaptor).failures == 1 && counts_of(adaptor).bytes == 60);
	give(&behind, a, 60);
	expect(accel_adaptor_destroy(adaptor), 0);
}

/* ---- Fallback ---- */

static void test_fallback(void)
{
	struct heap larger = { .limit = 1000 };
	struct accel_resource first = heap_resource(&heap), second = heap_resource(&larger), both;
	struct accel_adaptor *adaptor;
	void *a, *b, *c, *ptr;

	heap = (struct heap){ .limit = 100 };
	expect(accel_adaptor_create_fallback(&first, &second, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &both), 0);
	a = take(&both, 60);
	b = take(&both, 60);
	c = take(&both, 900);
	ok(heap.bytes == 60 && larger.bytes == 960);
	refused(accel_resource_allocate(&both, NULL, 41, 64, &ptr), -ENOMEM, "");
	ok(!ptr && counts_of(adaptor).bytes == 1020 && counts_of(adaptor).failures == 1);
	/* A free goes where the memory is from, and what is refused is live as before. */
	larger.fail_free_nth = 1;
	ok(accel_resource_deallocate(&both, NULL, b, 60, 64) == -EIO);
	ok(larger.bytes == 960 && counts_of(adaptor).count == 3);
	give(&both, b, 60);
	ok(heap.bytes == 60 && larger.bytes == 900);
	give(&both, a, 60);
	ok(!heap.bytes && larger.bytes == 900);
	refused(accel_adaptor_destroy(adaptor), -EBUSY, "live");
	/* The first one again, once it has memory; the second one not for other errors. */
	a = take(&both, 100);
	ok(heap.bytes == 100);
	heap.fail_nth = 1;
	heap.fail_err = -ENODEV;
	ok(accel_resource_allocate(&both, NULL, 10, 64, &ptr) == -ENODEV && larger.bytes == 900);
	give(&both, c, 900);
	give(&both, a, 100);
	expect(accel_adaptor_destroy(adaptor), 0);
	ok(!heap.bytes && !larger.bytes);
}

/* ---- Spill ---- */

/* Blocks that the application can do without. */
struct spare {
	struct accel_resource resource;
	void *blocks[4];
	unsigned int nr, calls;
	size_t wanted;
	bool allocates;
};

/* Frees the newest block. */
static int spill_one(void *data, size_t size)
{
	struct spare *spare = data;
	void *ptr;

	spare->calls++;
	spare->wanted = size;
	if (spare->allocates)
		expect(accel_resource_allocate(&spare->resource, NULL, size, 64, &ptr), -ENOMEM);
	if (!spare->nr)
		return -ENOENT;
	give(&spare->resource, spare->blocks[--spare->nr], 300);
	return 0;
}

static void test_spill(void)
{
	struct accel_resource upstream = heap_resource(&heap);
	struct spare spare = { .nr = 0 };
	struct accel_adaptor *adaptor;
	void *a, *b, *ptr;

	heap = (struct heap){ .limit = 1000 };
	expect(accel_adaptor_create_spilling(&upstream, spill_one, &spare, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &spare.resource), 0);
	while (spare.nr < 3)
		spare.blocks[spare.nr++] = take(&spare.resource, 300);
	ok(!spare.calls);
	a = take(&spare.resource, 400);
	ok(spare.calls == 1 && spare.wanted == 400 && spare.nr == 2);
	/* One block more is not enough, and it is not called twice. */
	refused(accel_resource_allocate(&spare.resource, NULL, 700, 64, &ptr), -ENOMEM, "");
	ok(!ptr && spare.calls == 2 && spare.nr == 1);
	/* Inside the callback an allocation fails, and does not call it again. */
	spare.allocates = true;
	b = take(&spare.resource, 500);
	ok(spare.calls == 3 && !spare.nr);
	spare.allocates = false;
	refused(accel_resource_allocate(&spare.resource, NULL, 200, 64, &ptr), -ENOMEM,
		"has freed none");
	ok(!ptr && spare.calls == 4);
	/* It is called again after that, but not for other errors. */
	heap.fail_nth = 1;
	heap.fail_err = -ENODEV;
	ok(accel_resource_allocate(&spare.resource, NULL, 10, 64, &ptr) == -ENODEV);
	ok(spare.calls == 4);
	heap.fail_err = -EDQUOT;
	refused(accel_resource_allocate(&spare.resource, NULL, 200, 64, &ptr), -EDQUOT,
		"has freed none");
	ok(spare.calls == 5 && counts_of(adaptor).failures == 5 && counts_of(adaptor).bytes == 900);
	give(&spare.resource, a, 400);
	give(&spare.resource, b, 500);
	expect(accel_adaptor_destroy(adaptor), 0);
	ok(!heap.bytes);
}

/* ---- Log ---- */

static void read_log(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t length = 0;

	if (file) {
		length = fread(text, 1, size - 1, file);
		fclose(file);
	}
	text[length] = 0;
}

static void test_log(void)
{
	struct accel_resource upstream = heap_resource(&heap), logged;
	char path[] = "/tmp/accel-log-XXXXXX", text[4096], action[32], *line;
	unsigned int hours, minutes;
	struct accel_adaptor *adaptor;
	unsigned long pointer, size, stream;
	double seconds;
	int thread, fd = mkstemp(path);
	void *a, *ptr;

	close(fd);
	heap = (struct heap){ .limit = 0 };
	expect(accel_adaptor_create_logging(&upstream, path, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &logged), 0);
	a = take(&logged, 100);
	heap.fail_nth = 1;
	ok(accel_resource_allocate(&logged, (void *)0x1230, 7, 64, &ptr) == -ENOMEM);
	give(&logged, a, 100);
	/* Complete at once. */
	read_log(path, text, sizeof(text));
	line = strtok(text, "\n");
	ok(line && !strcmp(line, "Thread,Time,Action,Pointer,Size,Stream"));
	for (int i = 0; i < 3; i++) {
		static const char *const actions[] = { "allocate", "allocate failure", "free" };

		line = strtok(NULL, "\n");
		ok(line && sscanf(line, "%d,%u:%u:%lf,%31[^,],%lx,%lu,%lx", &thread, &hours,
				  &minutes, &seconds, action, &pointer, &size, &stream) == 8);
		ok(thread == getpid() && hours < 24 && minutes < 60 && seconds < 61);
		ok(!strcmp(action, actions[i]) && size == (i == 1 ? 7 : 100));
		ok(pointer == (i == 1 ? 0 : (unsigned long)a));
		ok(stream == (i == 1 ? 0x1230 : 0));
	}
	ok(!strtok(NULL, "\n"));
	expect(accel_adaptor_destroy(adaptor), 0);
	unlink(path);
}

/* What the file cannot take fails nobody, and is told at the end. */
static void test_log_of_a_full_disk(void)
{
	struct accel_resource upstream = heap_resource(&heap), logged;
	struct accel_adaptor *adaptor;
	void *a;

	heap = (struct heap){ .limit = 0 };
	expect(accel_adaptor_create_logging(&upstream, "/dev/full", &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &logged), 0);
	a = take(&logged, 100);
	give(&logged, a, 100);
	refused(accel_adaptor_destroy(adaptor), -ENOSPC, "No space left on device");
}

/* What did not come through an adaptor is not its to free: upstream is not asked. */
static void test_free_of_others_memory(void)
{
	struct accel_resource upstream = heap_resource(&heap), resource;
	struct accel_adaptor *adaptor[4];
	void *ptr;

	heap = (struct heap){ .limit = 0 };
	ptr = take(&upstream, 100);
	expect(accel_adaptor_create_statistics(&upstream, &adaptor[0]), 0);
	expect(accel_adaptor_create_limiting(&upstream, 1000, &adaptor[1]), 0);
	expect(accel_adaptor_create_logging(&upstream, "/dev/null", &adaptor[2]), 0);
	expect(accel_adaptor_create_tracking(&upstream, 0, &adaptor[3]), 0);
	for (int i = 0; i < 4; i++) {
		expect(accel_adaptor_resource(adaptor[i], &resource), 0);
		expect(accel_resource_deallocate(&resource, NULL, ptr, 100, 64), -ENOENT);
		ok(!heap.frees && !counts_of(adaptor[i]).bytes && !counts_of(adaptor[i]).count);
		expect(accel_adaptor_destroy(adaptor[i]), 0);
	}
	give(&upstream, ptr, 100);
}

/* ---- Tracking ---- */

struct seen {
	struct accel_adaptor_allocation live[8];
	void *frames[8][8];
	int nr, stop;
};

static int see(void *data, const struct accel_adaptor_allocation *live)
{
	struct seen *seen = data;

	memcpy(seen->frames[seen->nr], live->frames, live->nr_frames * sizeof(void *));
	seen->live[seen->nr] = *live;
	seen->live[seen->nr].frames = seen->frames[seen->nr];
	seen->nr++;
	return seen->nr == seen->stop ? 4711 : 0;
}

static void test_tracking(void)
{
	struct accel_resource upstream = heap_resource(&heap), tracked;
	struct accel_adaptor *adaptor;
	struct seen seen = { .nr = 0 };
	char *a, *b, *c;
	void *ptr;

	heap = (struct heap){ .limit = 0 };
	expect(accel_adaptor_create_tracking(&upstream, 8, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &tracked), 0);
	a = take(&tracked, 100);
	expect(accel_resource_allocate(&tracked, (void *)0x40, 200, 128, &ptr), 0);
	b = ptr;
	heap.fail_nth = 1;
	ok(accel_resource_allocate(&tracked, NULL, 7, 64, &ptr) == -ENOMEM);
	c = take(&tracked, 300);
	expect(accel_adaptor_outstanding(adaptor, see, &seen), 0);
	ok(seen.nr == 3 && seen.live[0].ptr == a && seen.live[1].ptr == b && seen.live[2].ptr == c);
	ok(seen.live[1].size == 200 && seen.live[1].alignment == 128);
	ok(seen.live[1].stream == (void *)0x40 && seen.live[1].sequence == 2);
	/* The frames begin with who asked, as far as a sanitizer leaves them. */
	ok(seen.live[0].nr_frames > 0 && seen.live[0].nr_frames <= 8);
	ok((char *)seen.live[0].frames[0] > (char *)test_of_device - (1 << 20) &&
	   (char *)seen.live[0].frames[0] < (char *)test_of_device + (1 << 20));
	/* Misuse does not reach upstream. */
	heap.last_size = 0;
	refused(accel_resource_deallocate(&tracked, NULL, a, 99, 64), -EINVAL, "100 bytes");
	refused(accel_resource_deallocate(&tracked, NULL, a + 1, 99, 64), -ENOENT, hex(a));
	refused(accel_resource_deallocate(&tracked, NULL, &seen, 1, 64), -ENOENT, "freed before");
	ok(!heap.last_size);
	/* What upstream does not take back is live, and where it was in the order. */
	heap.free_err = -EIO;
	ok(accel_resource_deallocate(&tracked, NULL, b, 200, 128) == -EIO);
	heap.free_err = 0;
	seen = (struct seen){ .stop = 2 };
	ok(accel_adaptor_outstanding(adaptor, see, &seen) == 4711);
	ok(seen.nr == 2 && seen.live[1].ptr == b && seen.live[1].sequence == 2);
	give(&tracked, a, 100);
	refused(accel_resource_deallocate(&tracked, NULL, a, 100, 64), -ENOENT, "freed before");
	expect(accel_resource_deallocate(&tracked, NULL, b, 200, 128), 0);
	refused(accel_adaptor_destroy(adaptor), -EBUSY, "1 allocations");
	give(&tracked, c, 300);
	seen.nr = 0;
	expect(accel_adaptor_outstanding(adaptor, see, &seen), 0);
	ok(!seen.nr);
	expect(accel_adaptor_destroy(adaptor), 0);
	ok(heap.allocations == heap.frees);
}

static struct accel_resource tracked_one;

/* Allocates and frees through the adaptor that calls it. */
static int see_and_use(void *data, const struct accel_adaptor_allocation *live)
{
	struct seen *seen = data;

	ok(live->frames != NULL && live->nr_frames <= 8);
	for (size_t i = 0; i < sizeof(live->reserved) / sizeof(live->reserved[0]); i++)
		ok(!live->reserved[i]);
	give(&tracked_one, take(&tracked_one, 10), 10);
	give(&tracked_one, live->ptr, live->size);
	take(&tracked_one, live->size);
	return see(seen, live);
}

/* What is live when the call begins; the allocations of the function are not. */
static void test_outstanding_without_a_lock(void)
{
	struct accel_resource upstream = heap_resource(&heap);
	struct accel_adaptor *adaptor;
	struct seen seen = { .nr = 0 };
	void *a, *b;

	heap = (struct heap){ .limit = 0 };
	expect(accel_adaptor_create_tracking(&upstream, 8, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &tracked_one), 0);
	a = take(&tracked_one, 100);
	b = take(&tracked_one, 200);
	expect(accel_adaptor_outstanding(adaptor, see_and_use, &seen), 0);
	ok(seen.nr == 2 && seen.live[0].ptr == a && seen.live[1].ptr == b);
	ok(seen.live[0].sequence == 1 && seen.live[1].sequence == 2);
	seen = (struct seen){ .nr = 0 };
	expect(accel_adaptor_outstanding(adaptor, see, &seen), 0);
	ok(seen.nr == 2 && seen.live[0].size == 100 && seen.live[1].size == 200);
	for (int i = 0; i < 2; i++)
		give(&tracked_one, seen.live[i].ptr, seen.live[i].size);
	expect(accel_adaptor_destroy(adaptor), 0);
}

struct asked {
	const void *caller;
	int index;
	void *ptr;
};

static __attribute__((noinline)) void asks(const struct accel_resource *resource,
					   struct asked *asked)
{
	void *frames[8];
	int nr = backtrace(frames, 8);

	/* Sanitizers have a frame of their own in front. */
	asked->caller = __builtin_return_address(0);
	for (asked->index = 0; asked->index < nr; asked->index++)
		if (frames[asked->index] == asked->caller)
			break;
	expect(accel_resource_allocate(resource, NULL, 10, 64, &asked->ptr), 0);
}

/* The first frame is of who has called the library, whatever the compiler has made of that. */
static void test_frames_begin_with_the_caller(void)
{
	struct accel_resource upstream = heap_resource(&heap), tracked;
	struct accel_adaptor *adaptor;
	struct seen seen = { .nr = 0 };
	struct asked asked;

	heap = (struct heap){ .limit = 0 };
	expect(accel_adaptor_create_tracking(&upstream, 8, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &tracked), 0);
	asks(&tracked, &asked);
	expect(accel_adaptor_outstanding(adaptor, see, &seen), 0);
	ok(seen.nr == 1 && asked.index > 0 && asked.index < 8);
	ok((int)seen.live[0].nr_frames > asked.index);
	ok(seen.live[0].frames[asked.index] == asked.caller);
	give(&tracked, asked.ptr, 10);
	expect(accel_adaptor_destroy(adaptor), 0);
}

/* Gives the addresses that it is told to. */
static int gives_told(void *context, struct accel_stream *stream, size_t size, size_t alignment,
		      void **ptr)
{
	(void)stream;
	(void)size;
	(void)alignment;
	*ptr = *(void **)context;
	return 0;
}

static int takes_all(void *context, struct accel_stream *stream, void *ptr, size_t size,
		     size_t alignment)
{
	(void)context;
	(void)stream;
	(void)ptr;
	(void)size;
	(void)alignment;
	return 0;
}

/*
 * A program frees behind the adaptor's back, and upstream gives the same memory once more: what was
 * there before is not live any more.
 */
static void test_freed_behind_its_back(void)
{
	static const struct accel_resource_ops ops = { .allocate = gives_told,
						       .deallocate = takes_all };
	void *told = (void *)0x5000, *ptr;
	struct accel_resource resource = { .ops = &ops, .context = &told };
	struct accel_adaptor *adaptor;
	struct seen seen = { .nr = 0 };

	expect(accel_adaptor_create_tracking(&resource, 0, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &resource), 0);
	for (int i = 0; i < 2; i++)
		expect(accel_resource_allocate(&resource, NULL, 60, 64, &ptr), 0);
	told = (void *)0x4000;
	expect(accel_resource_allocate(&resource, NULL, 0x400, 64, &ptr), 0);
	told = (void *)0x3000;
	expect(accel_resource_allocate(&resource, NULL, 16, 64, &ptr), 0);
	expect(accel_resource_deallocate(&resource, NULL, (void *)0x5000, 60, 64), 0);
	ok(counts_of(adaptor).count == 2 && counts_of(adaptor).bytes == 0x410);
	/* Over the end of the one, and all of the other. */
	told = (void *)0x3008;
	expect(accel_resource_allocate(&resource, NULL, 0x2000, 8, &ptr), 0);
	ok(counts_of(adaptor).count == 1 && counts_of(adaptor).bytes == 0x2000);
	expect(accel_adaptor_outstanding(adaptor, see, &seen), 0);
	ok(seen.nr == 1 && seen.live[0].ptr == ptr && seen.live[0].sequence == 5);
	expect(accel_resource_deallocate(&resource, NULL, ptr, 0x2000, 8), 0);
	expect(accel_adaptor_destroy(adaptor), 0);
}

static struct {
	struct accel_resource tracked;
	sem_t is_asked, has_ended;
	pthread_t other;
	int answer; /* to the free of the second one */
	void *ptr;
} twice;

static void *takes_it_again(void *arg)
{
	(void)arg;
	expect(accel_resource_allocate(&twice.tracked, NULL, 60, 64, &twice.ptr), 0);
	ok(accel_resource_deallocate(&twice.tracked, NULL, twice.ptr, 60, 64) == -EIO);
	return NULL;
}

/*
 * While the first one frees, another thread is given the same address and frees it too: that is
 * refused, after the first one has ended.
 */
static int takes_both(void *context, struct accel_stream *stream, void *ptr, size_t size,
		      size_t alignment)
{
	(void)context;
	(void)stream;
	(void)ptr;
	(void)alignment;
	if (size == 60) {
		sem_post(&twice.is_asked);
		sem_wait(&twice.has_ended);
		return twice.answer;
	}
	pthread_create(&twice.other, NULL, takes_it_again, NULL);
	sem_wait(&twice.is_asked);
	return 0;
}

static void test_two_frees_of_an_address(void)
{
	static const struct accel_resource_ops ops = { .allocate = gives_told,
						       .deallocate = takes_both };
	void *told = (void *)0x5000, *ptr;
	struct accel_resource resource = { .ops = &ops, .context = &told };
	struct accel_adaptor *adaptor;
	struct seen seen = { .nr = 0 };

	twice.answer = -EIO;
	sem_init(&twice.is_asked, 0, 0);
	sem_init(&twice.has_ended, 0, 0);
	expect(accel_adaptor_create_tracking(&resource, 0, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &twice.tracked), 0);
	expect(accel_resource_allocate(&twice.tracked, NULL, 100, 64, &ptr), 0);
	expect(accel_resource_deallocate(&twice.tracked, NULL, ptr, 100, 64), 0);
	sem_post(&twice.has_ended);
	pthread_join(twice.other, NULL);
	/* What was refused is live, and as large as it was. */
	expect(accel_adaptor_outstanding(adaptor, see, &seen), 0);
	ok(seen.nr == 1 && seen.live[0].size == 60 && seen.live[0].sequence == 2);
	twice.answer = 0;
	sem_post(&twice.has_ended);
	expect(accel_resource_deallocate(&twice.tracked, NULL, ptr, 60, 64), 0);
	expect(accel_adaptor_destroy(adaptor), 0);
	sem_destroy(&twice.is_asked);
	sem_destroy(&twice.has_ended);
}

/* A pool that finds damage has freed all the same. */
static void test_damage_is_found(void)
{
	struct accel_pool_options options = { 0 };
	struct accel_resource at = heap_resource(&heap);
	struct accel_adaptor *counting, *tracking;
	struct accel_pool *pool;
	struct seen seen = { .nr = 0 };
	char *ptr;

	heap = (struct heap){ .limit = 0 };
	options.flags = ACCEL_POOL_DEBUG;
	options.initial_size = 65536;
	expect(accel_pool_create(NULL, &at, &options, &pool), 0);
	expect(accel_pool_resource(pool, &at), 0);
	expect(accel_adaptor_create_tracking(&at, 0, &tracking), 0);
	expect(accel_adaptor_resource(tracking, &at), 0);
	expect(accel_adaptor_create_statistics(&at, &counting), 0);
	expect(accel_adaptor_resource(counting, &at), 0);
	ptr = take(&at, 100);
	ptr[100] ^= 1;
	refused(accel_resource_deallocate(&at, NULL, ptr, 100, 64), -EFAULT, hex(ptr + 100));
	expect(accel_adaptor_outstanding(tracking, see, &seen), 0);
	ok(!seen.nr && !counts_of(tracking).count && !counts_of(counting).bytes);
	expect(accel_resource_deallocate(&at, NULL, ptr, 100, 64), -ENOENT);
	expect(accel_adaptor_destroy(counting), 0);
	expect(accel_adaptor_destroy(tracking), 0);
	expect(accel_pool_destroy(pool), 0);
}

/* ---- All together ---- */

static struct accel_resource top;

static void *works(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	void *ptr;

	for (int i = 0; i < 500; i++) {
		size_t size = 1 + (size_t)rand_r(&seed) % 3000;

		if (!accel_resource_allocate(&top, NULL, size, 64, &ptr))
			give(&top, ptr, size);
	}
	return NULL;
}

/* Each line of a log is whole, and a block is freed before its address is allocated again. */
static void check_log(const char *path, unsigned int calls)
{
	unsigned long live[4] = { 0 }, ptr; /* each thread has one block at most */
	FILE *file = fopen(path, "r");
	unsigned int lines = 0;
	char line[160], action[32];
	bool allocated;
	int at, end;

	ok(fgets(line, sizeof(line), file));
	for (; fgets(line, sizeof(line), file); lines++) {
		end = 0;
		ok(sscanf(line, "%*d,%*u:%*u:%*f,%31[^,],%lx,%*u,%*x%n", action, &ptr, &end) == 2);
		ok(end && !strcmp(line + end, "\n"));
		if (!strcmp(action, "allocate failure"))
			continue;
		allocated = !strcmp(action, "allocate");
		for (at = 0; at < 4 && live[at] != ptr; at++)
			;
		ok(allocated == (at == 4));
		for (int i = 0; at == 4 && i < 4; i++)
			if (!live[i])
				at = i;
		ok(at < 4);
		live[at % 4] = allocated ? ptr : 0;
	}
	fclose(file);
	ok(lines == calls);
}

/* One on the other, and threads that use them at once: no limit is ever passed. */
static void test_stack_in_threads(void)
{
	struct accel_resource at = heap_resource(&heap);
	struct accel_adaptor *stack[4];
	struct accel_adaptor_statistics scope;
	char path[] = "/tmp/accel-log-XXXXXX";
	pthread_t threads[4];

	close(mkstemp(path));
	heap = (struct heap){ .limit = 6000 };
	expect(accel_adaptor_create_limiting(&at, 6000, &stack[0]), 0);
	expect(accel_adaptor_resource(stack[0], &at), 0);
	expect(accel_adaptor_create_tracking(&at, 4, &stack[1]), 0);
	expect(accel_adaptor_resource(stack[1], &at), 0);
	expect(accel_adaptor_create_logging(&at, path, &stack[2]), 0);
	expect(accel_adaptor_resource(stack[2], &at), 0);
	expect(accel_adaptor_create_timing(&at, &stack[3]), 0);
	expect(accel_adaptor_resource(stack[3], &top), 0);
	expect(accel_adaptor_push_scope(stack[3]), 0);
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, works, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	expect(accel_adaptor_pop_scope(stack[3], &scope), 0);
	ok(scope.total_count + scope.failures == 2000 && scope.allocate_ns && !scope.bytes);
	for (int i = 3; i >= 0; i--) {
		ok(counts_of(stack[i]).peak_bytes <= 6000 && !counts_of(stack[i]).bytes);
		ok(counts_of(stack[i]).total_count + counts_of(stack[i]).failures == 2000);
		expect(accel_adaptor_destroy(stack[i]), 0);
	}
	ok(!heap.bytes && heap.allocations == heap.frees);
	check_log(path, 2000 + (unsigned int)scope.total_count);
	unlink(path);
}

static void child(struct accel_adaptor *adaptor, struct accel_resource *resource, void *a)
{
	struct accel_adaptor_statistics counts;
	struct seen seen;
	void *ptr;

	tap_wrong = 0;
	refused(accel_resource_allocate(resource, NULL, 1, 1, &ptr), -EPERM, "before a fork");
	expect(accel_resource_deallocate(resource, NULL, a, 10, 64), -EPERM);
	expect(accel_adaptor_get_statistics(adaptor, &counts), -EPERM);
	expect(accel_adaptor_outstanding(adaptor, see, &seen), -EPERM);
	expect(accel_adaptor_push_scope(adaptor), -EPERM);
	expect(accel_adaptor_pop_scope(adaptor, &counts), -EPERM);
	expect(accel_adaptor_destroy(adaptor), 0);
	fflush(stdout);
	_exit(!!tap_wrong);
}

static void test_fork(void)
{
	struct accel_resource upstream = heap_resource(&heap), tracked;
	struct accel_adaptor *adaptor;
	int status = -1;
	pid_t pid;
	void *a;

	heap = (struct heap){ .limit = 0 };
	expect(accel_adaptor_create_tracking(&upstream, 2, &adaptor), 0);
	expect(accel_adaptor_resource(adaptor, &tracked), 0);
	a = take(&tracked, 10);
	fflush(stdout);
	pid = fork();
	if (!pid)
		child(adaptor, &tracked, a);
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status));
	give(&tracked, a, 10);
	expect(accel_adaptor_destroy(adaptor), 0);
}

int main(void)
{
	RUN(test_refused_resources);
	RUN(test_bad_answers);
	RUN(test_equal);
	RUN(test_of_device);
	RUN(test_statistics);
	RUN(test_scopes);
	RUN(test_timing);
	RUN(test_refused_adaptors);
	RUN(test_limit);
	RUN(test_limit_at_once);
	RUN(test_fallback);
	RUN(test_spill);
	RUN(test_log);
	RUN(test_log_of_a_full_disk);
	RUN(test_free_of_others_memory);
	RUN(test_tracking);
	RUN(test_outstanding_without_a_lock);
	RUN(test_frames_begin_with_the_caller);
	RUN(test_freed_behind_its_back);
	RUN(test_two_frees_of_an_address);
	RUN(test_damage_is_found);
	RUN(test_stack_in_threads);
	RUN(test_fork);
	return tap_end();
}
