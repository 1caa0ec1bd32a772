/* SPDX-License-Identifier: MIT */
/* Memory: what fails, and what then has changed. */
#include "fixture.h"

/* Instead of an end of the program. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static int no_object;

SUNMemory __real_SUNMemoryNewEmpty(SUNContext sunctx);
SUNMemory __wrap_SUNMemoryNewEmpty(SUNContext sunctx);
SUNMemory __wrap_SUNMemoryNewEmpty(SUNContext sunctx)
{
	return no_object ? NULL : __real_SUNMemoryNewEmpty(sunctx);
}

static const SUNMemory untouched = (SUNMemory)&no_object;

static void alloc_fails(size_t size, int type, SUNErrCode code)
{
	SUNMemory mem = untouched;

	gives(SUNMemoryHelper_Alloc(helper, &mem, size, (SUNMemoryType)type, NULL), code);
	ok(mem == untouched);
	gives(SUNMemoryHelper_AllocStrided(helper, &mem, size, 8, (SUNMemoryType)type, NULL), code);
	ok(mem == untouched);
	if (type >= 0 && type < TYPES)
		ok(stats_are(helper, type, 0, 0, 0, 0));
}

static void test_bad_arguments(void)
{
	begin_with(1);
	gives(SUNMemoryHelper_Alloc_Accel(helper, NULL, SIZE, SUNMEMTYPE_HOST, NULL),
	      SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_AllocStrided_Accel(helper, NULL, SIZE, 8, SUNMEMTYPE_HOST, NULL),
	      SUN_ERR_ARG_CORRUPT);
	alloc_fails(SIZE, TYPES, SUN_ERR_ARG_OUTOFRANGE);
	alloc_fails(SIZE, -1, SUN_ERR_ARG_OUTOFRANGE);
	alloc_fails(0, TYPES, SUN_ERR_ARG_OUTOFRANGE);
	end();
}

static void test_bad_arguments_of_stats(void)
{
	unsigned long a = 7, f = 7;
	size_t b = 7, h = 7;

	begin_with(1);
	gives(SUNMemoryHelper_GetAllocStats(helper, SUNMEMTYPE_HOST, NULL, &f, &b, &h),
	      SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_GetAllocStats(helper, SUNMEMTYPE_HOST, &a, NULL, &b, &h),
	      SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_GetAllocStats(helper, SUNMEMTYPE_HOST, &a, &f, NULL, &h),
	      SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_GetAllocStats(helper, SUNMEMTYPE_HOST, &a, &f, &b, NULL),
	      SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_GetAllocStats(helper, (SUNMemoryType)TYPES, &a, &f, &b, &h),
	      SUN_ERR_ARG_OUTOFRANGE);
	ok(a == 7 && f == 7 && b == 7 && h == 7);
	end();
}

static void test_what_fails(void)
{
	begin_with(1);
	no_object = 1;
	for (int type = 0; type < TYPES; type++)
		alloc_fails(SIZE, type, SUN_ERR_MALLOC_FAIL);
	no_object = 0;
	alloc_fails(SIZE_MAX / 4, HOST, SUN_ERR_MALLOC_FAIL);
	alloc_fails(MOCK_HOST_MAX + 1, PINNED, SUN_ERR_EXT_FAIL);
	alloc_fails(MOCK_HOST_MAX + 1, UVM, SUN_ERR_EXT_FAIL);
	alloc_fails(MOCK_SIZE + 1, DEVICE, SUN_ERR_EXT_FAIL);
	mock_quota(0, SIZE - 1);
	alloc_fails(SIZE, DEVICE, SUN_ERR_EXT_FAIL);
	ok(strstr(accel_last_error(), "max_user_bytes"));
	mock_quota(0, 0);
	mock_remove(0);
	alloc_fails(SIZE, PINNED, SUN_ERR_EXT_FAIL);
	alloc_fails(SIZE, DEVICE, SUN_ERR_EXT_FAIL);
	alloc_fails(SIZE, UVM, SUN_ERR_EXT_FAIL);
	/* That needs no card. */
	free_memory(memory_of(SIZE, HOST));
	end();
}

static void test_exhaustion_and_recovery(void)
{
	SUNMemory all[MOCK_SIZE / MOCK_GRANULE], none = untouched;
	size_t count = sizeof(all) / sizeof(*all);

	begin_with(1);
	for (size_t i = 0; i < count; i++)
		all[i] = memory_of(1, DEVICE);
	gives(SUNMemoryHelper_Alloc(helper, &none, 1, SUNMEMTYPE_DEVICE, NULL), SUN_ERR_EXT_FAIL);
	ok(none == untouched && stats_are(helper, DEVICE, count, 0, count, count));
	free_memory(all[7]);
	all[7] = memory_of(1, DEVICE);
	for (size_t i = 0; i < count; i++)
		free_memory(all[i]);
	free_memory(memory_of(MOCK_SIZE, DEVICE));
	ok(stats_are(helper, DEVICE, count + 2, count + 2, 0, MOCK_SIZE));
	end();
}

/* Objects are gone all the same: the address sanitizer would find them. */
static void free_fails(SUNMemory mem)
{
	int type = (int)mem->type;
	unsigned long allocated, freed, now;
	size_t bytes, high, left;

	SUNMemoryHelper_GetAllocStats(helper, mem->type, &allocated, &freed, &bytes, &high);
	gives(SUNMemoryHelper_Dealloc(helper, mem, NULL), SUN_ERR_EXT_FAIL);
	ok(*accel_last_error());
	SUNMemoryHelper_GetAllocStats(helper, (SUNMemoryType)type, &allocated, &now, &left, &high);
	ok(now == freed && left == bytes);
}

static SUNMemory own(void *ptr, int type)
{
	SUNMemory mem = wrap(ptr, type);

	mem->own = SUNTRUE;
	return mem;
}

static void test_frees_that_fail(void)
{
	struct accel_device *dev;
	SUNMemory mem;
	char *ptr;

	begin_with(1);
	dev = card_of(0);
	mem = memory_of(2 * SIZE, DEVICE);
	ptr = device_memory(dev, SIZE);
	free_fails(own((char *)mem->ptr + SIZE, DEVICE));
	free_fails(own(&ptr, DEVICE));
	free_fails(own(ptr, PINNED));
	free_fails(own(ptr, UVM));
	expect(accel_device_memory_deallocate(dev, ptr, SIZE), 0);
	free_fails(own(ptr, DEVICE));
	mock_fail(PACCEL_NR_MEM_FREE, 1, EIO);
	free_fails(mem);
	mem = memory_of(SIZE, DEVICE);
	mock_remove(0);
	free_fails(mem);
	expect(accel_device_close(dev), 0);
	end();
}

/* One that it allocated, and then gave to an object: bytes is 0 there. */
static void test_ownership_of_what_is_wrapped(void)
{
	struct accel_device *dev;

	begin_with(1);
	dev = card_of(0);
	free_memory(own(device_memory(dev, 100), DEVICE));
	free_memory(own(host_memory(dev, 100), PINNED));
	free_memory(own(unified_memory(dev, 100), UVM));
	free_memory(own(malloc(100), HOST));
	for (int type = 0; type < TYPES; type++)
		ok(stats_are(helper, type, 0, 1, 0, 0));
	ok(!card_stats().used && !mock_host_ranges(0));
	expect(accel_device_close(dev), 0);
	end();
}

/* The memory knows its card, whoever frees it. */
static void test_memory_of_another_card(void)
{
	SUNMemoryHelper other;
	struct accel_device *dev;
	SUNMemory mem;

	begin_with(2);
	dev = card_of(1);
	other = SUNMemoryHelper_AccelWithDevice(ctx, dev);
	for (int type = PINNED; type < TYPES; type++) {
		mem = memory_by(other, SIZE, type);
		free_memory(mem);
		ok(stats_are(helper, type, 0, 1, 0, 0) && stats_are(other, type, 1, 0, SIZE, SIZE));
	}
	ok(!mock_host_ranges(1));
	gives(SUNMemoryHelper_Destroy(other), SUN_SUCCESS);
	expect(accel_device_close(dev), 0);
	end();
}

static void test_types_that_are_none(void)
{
	SUNMemory mem;

	begin_with(1);
	mem = memory_of(SIZE, HOST);
	mem->type = (SUNMemoryType)TYPES;
	gives(SUNMemoryHelper_Dealloc(helper, mem, NULL), SUN_ERR_ARG_OUTOFRANGE);
	/* It is as it was. */
	mem->type = SUNMEMTYPE_HOST;
	free_memory(mem);
	ok(stats_are(helper, HOST, 1, 1, 0, SIZE));
	/* A release build of SUNDIALS makes such objects; they own nothing. */
	mem = wrap(&mem, TYPES);
	if (mem)
		free_memory(mem);
	end();
}

static void test_null(void)
{
	begin_with(1);
	gives(SUNMemoryHelper_Dealloc_Accel(helper, NULL, NULL), SUN_SUCCESS);
	free_memory(own(NULL, DEVICE));
	end();
}

int main(void)
{
	RUN(test_bad_arguments);
	RUN(test_bad_arguments_of_stats);
	RUN(test_what_fails);
	RUN(test_exhaustion_and_recovery);
	RUN(test_frees_that_fail);
	RUN(test_ownership_of_what_is_wrapped);
	RUN(test_memory_of_another_card);
	RUN(test_types_that_are_none);
	RUN(test_null);
	return tap_end();
}
