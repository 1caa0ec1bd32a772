/* SPDX-License-Identifier: MIT */
/* Device memory, host memory, and what addresses are. */
#include "fixture.h"

#include <sys/mman.h>

#define MIB ((size_t)1 << 20)

/* ---- Sizes ---- */

static const size_t sizes[] = { 1, 31, 32, 33, 63, 64, 65 };
#define SIZES (sizeof(sizes) / sizeof(*sizes))

static size_t up(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

static void test_rounding(void)
{
	char *plain, *exact, *cached;
	void *ptr;

	begin();
	for (size_t i = 0; i < SIZES; i++) {
		gives(aclrtMalloc(&ptr, sizes[i], ACL_MEM_MALLOC_HUGE_FIRST), 0);
		plain = ptr;
		gives(aclrtMallocAlign32(&ptr, sizes[i], ACL_MEM_MALLOC_HUGE_FIRST), 0);
		exact = ptr;
		gives(aclrtMallocCached(&ptr, sizes[i], ACL_MEM_MALLOC_HUGE_FIRST), 0);
		cached = ptr;
		ok(allocated(plain) == up(sizes[i], 32) + 32);
		ok(allocated(exact) == up(sizes[i], 32));
		ok(allocated(plain) - allocated(exact) == 32);
		ok(allocated(cached) == allocated(plain));
		gives(aclrtFree(plain), 0);
		gives(aclrtFree(exact), 0);
		gives(aclrtFree(cached), 0);
	}
	end();
}

/* Each has bytes of its own, to the last rounded one. */
static void test_blocks_are_apart(void)
{
	char *blocks[SIZES], back[128];
	size_t size;

	begin();
	for (size_t i = 0; i < SIZES; i++) {
		blocks[i] = memory(sizes[i]);
		ok(!((uintptr_t)blocks[i] % 64));
		size = up(sizes[i], 32);
		gives(aclrtMemset(blocks[i], size, (int32_t)i + 1, size), 0);
	}
	for (size_t i = 0; i < SIZES; i++) {
		size = up(sizes[i], 32);
		memset(back, 0, sizeof(back));
		gives(aclrtMemcpy(back, sizeof(back), blocks[i], size, ACL_MEMCPY_DEVICE_TO_HOST),
		      0);
		for (size_t at = 0; at < size; at++)
			ok(back[at] == (char)(i + 1));
		gives(aclrtFree(blocks[i]), 0);
	}
	end();
}

static void test_no_such_size(void)
{
	static const size_t too_large[] = { SIZE_MAX, SIZE_MAX - 31, SIZE_MAX - 62 };
	void *ptr;

	begin();
	for (size_t i = 0; i < 3; i++) {
		ptr = &ptr;
		refuses(aclrtMalloc(&ptr, too_large[i], 0), ACL_ERROR_RT_MEMORY_ALLOCATION,
			"size is");
		ok(!ptr);
		ptr = &ptr;
		gives(aclrtMallocAlign32(&ptr, too_large[i], 0), ACL_ERROR_RT_MEMORY_ALLOCATION);
		ok(!ptr);
		gives(aclrtMallocAlign32(&ptr, too_large[i], ACL_MEM_MALLOC_HUGE1G_ONLY),
		      ACL_ERROR_RT_MEMORY_ALLOCATION);
	}
	refuses(aclrtMalloc(&ptr, 0, 0), ACL_ERROR_INVALID_PARAM, "size is 0");
	refuses(aclrtMallocAlign32(&ptr, 0, 0), ACL_ERROR_INVALID_PARAM, "size is 0");
	refuses(aclrtMallocCached(&ptr, 0, 0), ACL_ERROR_INVALID_PARAM, "size is 0");
	refuses(aclrtMallocHost(&ptr, 0), ACL_ERROR_INVALID_PARAM, "size is 0");
	refuses(aclrtMalloc(NULL, 1, 0), ACL_ERROR_INVALID_PARAM, "devPtr is NULL");
	refuses(aclrtMallocHost(NULL, 1), ACL_ERROR_INVALID_PARAM, "hostPtr is NULL");
	end();
}

/* ---- Policies ---- */

static const aclrtMemMallocPolicy small_policies[] = {
	ACL_MEM_MALLOC_HUGE_FIRST,
	ACL_MEM_MALLOC_NORMAL_ONLY,
	ACL_MEM_MALLOC_HUGE_FIRST_P2P,
	ACL_MEM_MALLOC_NORMAL_ONLY_P2P,
	ACL_MEM_TYPE_LOW_BAND_WIDTH,
	ACL_MEM_TYPE_HIGH_BAND_WIDTH,
	ACL_MEM_MALLOC_NORMAL_ONLY | ACL_MEM_TYPE_HIGH_BAND_WIDTH,
	ACL_MEM_MALLOC_NORMAL_ONLY | ACL_MEM_ACCESS_USER_SPACE_READONLY,
	ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH,
	8, 77, 0x7fffffff, -1,
};

static void test_policies_of_small_blocks(void)
{
	void *ptr;

	begin();
	for (size_t i = 0; i < sizeof(small_policies) / sizeof(*small_policies); i++) {
		gives(aclrtMallocAlign32(&ptr, 33, small_policies[i]), 0);
		ok(allocated(ptr) == 64);
		gives(aclrtFree(ptr), 0);
		gives(aclrtMalloc(&ptr, 33, small_policies[i]), 0);
		ok(allocated(ptr) == 96);
		gives(aclrtFree(ptr), 0);
	}
	/* There are not so many bytes on the card. */
	gives(aclrtMallocAlign32(&ptr, 1, ACL_MEM_MALLOC_HUGE_ONLY),
	      ACL_ERROR_RT_MEMORY_ALLOCATION);
	gives(aclrtMallocAlign32(&ptr, 1, ACL_MEM_MALLOC_HUGE_ONLY_P2P),
	      ACL_ERROR_RT_MEMORY_ALLOCATION);
	gives(aclrtMallocAlign32(&ptr, 1, ACL_MEM_MALLOC_HUGE1G_ONLY),
	      ACL_ERROR_RT_MEMORY_ALLOCATION);
	gives(aclrtMallocAlign32(&ptr, 1, ACL_MEM_MALLOC_HUGE1G_ONLY_P2P),
	      ACL_ERROR_RT_MEMORY_ALLOCATION);
	end();
}

static const struct {
	aclrtMemMallocPolicy policy;
	size_t size, plain, exact;
} large[] = {
	{ ACL_MEM_MALLOC_HUGE_FIRST, MIB, MIB + 32, MIB },
	{ ACL_MEM_MALLOC_HUGE_FIRST, MIB + 1, 2 * MIB, 2 * MIB },
	{ ACL_MEM_MALLOC_HUGE_FIRST, 2 * MIB, 4 * MIB, 2 * MIB },
	{ ACL_MEM_MALLOC_HUGE_FIRST_P2P, 2 * MIB, 4 * MIB, 2 * MIB },
	{ ACL_MEM_TYPE_HIGH_BAND_WIDTH, 2 * MIB, 4 * MIB, 2 * MIB },
	{ ACL_MEM_MALLOC_HUGE_ONLY, 1, 2 * MIB, 2 * MIB },
	{ ACL_MEM_MALLOC_HUGE_ONLY | ACL_MEM_TYPE_LOW_BAND_WIDTH, 1, 2 * MIB, 2 * MIB },
	{ ACL_MEM_MALLOC_HUGE_ONLY_P2P, 3 * MIB, 4 * MIB, 4 * MIB },
	{ ACL_MEM_MALLOC_NORMAL_ONLY, 2 * MIB, 2 * MIB + 32, 2 * MIB },
	{ ACL_MEM_MALLOC_NORMAL_ONLY_P2P, 2 * MIB, 2 * MIB + 32, 2 * MIB },
	{ 77, MIB + 1, MIB + 64, MIB + 32 },
	/* Both of them are none. */
	{ ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH, MIB + 1, MIB + 64, MIB + 32 },
	{ 77, 2 * MIB, 4 * MIB, 2 * MIB },
};

static void test_huge_pages(void)
{
	void *ptr;

	mock_add_sized(0, 16 * MIB, 16 * MIB);
	gives(aclInit(NULL), 0);
	gives(aclrtSetDevice(0), 0);
	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++) {
		gives(aclrtMalloc(&ptr, large[i].size, large[i].policy), 0);
		ok(allocated(ptr) == large[i].plain);
		gives(aclrtFree(ptr), 0);
		gives(aclrtMallocAlign32(&ptr, large[i].size, large[i].policy), 0);
		ok(allocated(ptr) == large[i].exact);
		gives(aclrtFree(ptr), 0);
	}
	end();
}

/* Where huge ones have run out, HUGE_FIRST takes what there is, and HUGE_ONLY does not. */
static void test_huge_pages_run_out(void)
{
	void *ptr, *first;

	mock_add_sized(0, 3 * MIB, 3 * MIB);
	gives(aclInit(NULL), 0);
	gives(aclrtSetDevice(0), 0);
	gives(aclrtMallocAlign32(&first, MIB / 2 * 3, ACL_MEM_MALLOC_NORMAL_ONLY), 0);
	gives(aclrtMallocAlign32(&ptr, MIB + 32, ACL_MEM_MALLOC_HUGE_ONLY),
	      ACL_ERROR_RT_MEMORY_ALLOCATION);
	gives(aclrtMallocAlign32(&ptr, MIB + 32, ACL_MEM_MALLOC_HUGE_FIRST), 0);
	ok(allocated(ptr) == MIB + 32);
	gives(aclrtFree(ptr), 0);
	mock_quota(0, MIB / 2 * 3 + MIB + 4096);
	gives(aclrtFree(first), 0);
	gives(aclrtMallocAlign32(&first, MIB / 2 * 3, ACL_MEM_MALLOC_NORMAL_ONLY), 0);
	gives(aclrtMallocAlign32(&ptr, MIB + 32, ACL_MEM_MALLOC_HUGE_FIRST), 0);
	ok(allocated(ptr) == MIB + 32);
	end();
}

static void test_page_of_a_gib(void)
{
	void *ptr;

	mock_add_sized(0, (size_t)2 << 30, (size_t)2 << 30);
	gives(aclInit(NULL), 0);
	gives(aclrtSetDevice(0), 0);
	/* No 32 bytes more, or this would be two. */
	gives(aclrtMalloc(&ptr, (size_t)1 << 30, ACL_MEM_MALLOC_HUGE1G_ONLY), 0);
	ok(allocated(ptr) == (size_t)1 << 30);
	gives(aclrtMalloc(&ptr, 1, ACL_MEM_MALLOC_HUGE1G_ONLY_P2P), 0);
	ok(allocated(ptr) == (size_t)1 << 30);
	end();
}

static void test_attributes(void)
{
	aclrtMallocAttribute attrs[2] = { { .attr = ACL_RT_MEM_ATTR_MODULE_ID } };
	aclrtMallocConfig cfg = { attrs, 1 };
	void *ptr;

	begin();
	gives(aclrtMallocWithCfg(&ptr, 33, ACL_MEM_MALLOC_HUGE_FIRST, NULL), 0);
	ok(allocated(ptr) == 96);
	gives(aclrtMallocWithCfg(&ptr, 33, ACL_MEM_MALLOC_HUGE_FIRST, &cfg), 0);
	gives(aclrtMallocHostWithCfg(&ptr, 33, NULL), 0);
	gives(aclrtMallocHostWithCfg(&ptr, 33, &cfg), 0);
	attrs[1].attr = ACL_RT_MEM_ATTR_VA_FLAG;
	cfg.numAttrs = 2;
	gives(aclrtMallocHostWithCfg(&ptr, 33, &cfg), 0);
	refuses(aclrtMallocWithCfg(&ptr, 33, 0, &cfg), ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
		"attribute 1 is of type 3");
	ok(!ptr);
	attrs[1].value.vaFlag = 1;
	gives(aclrtMallocHostWithCfg(&ptr, 33, &cfg), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
	ok(!ptr);
	cfg.attrs = NULL;
	refuses(aclrtMallocWithCfg(&ptr, 33, 0, &cfg), ACL_ERROR_INVALID_PARAM, "attrs is NULL");
	cfg.numAttrs = 0;
	gives(aclrtMallocWithCfg(&ptr, 33, 0, &cfg), 0);
	refuses(aclrtMallocHostWithCfg(NULL, 33, NULL), ACL_ERROR_INVALID_PARAM, "ptr is NULL");
	end();
}

/* ---- Free ---- */

static void test_free(void)
{
	char *ptr, *host, stack[4];

	begin();
	ptr = memory(64);
	host = pinned(64);
	refuses(aclrtFree(NULL), ACL_ERROR_INVALID_PARAM, "devPtr is NULL");
	refuses(aclrtFree(ptr + 32), ACL_ERROR_RT_PARAM_INVALID, "inside of device memory");
	refuses(aclrtFree(host), ACL_ERROR_RT_PARAM_INVALID, "host memory of aclrtMallocHost()");
	refuses(aclrtFree(stack), ACL_ERROR_RT_PARAM_INVALID, "not allocated here");
	refuses(aclrtFreeHost(ptr), ACL_ERROR_RT_PARAM_INVALID, "is device memory");
	refuses(aclrtFreeHost(host + 1), ACL_ERROR_RT_PARAM_INVALID, "inside of host memory");
	refuses(aclrtFreeHost(stack), ACL_ERROR_RT_PARAM_INVALID, "not allocated here");
	refuses(aclrtFreeHost(NULL), ACL_ERROR_INVALID_PARAM, "hostPtr is NULL");
	refuses(aclrtHostUnregister(host), ACL_ERROR_RT_PARAM_INVALID,
		"host memory of aclrtMallocHost()");
	gives(aclrtFree(ptr), 0);
	refuses(aclrtFree(ptr), ACL_ERROR_RT_PARAM_INVALID, "no live allocation");
	gives(aclrtFreeWithDevSync(ptr), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtFreeHost(host), 0);
	gives(aclrtFreeHost(host), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtFreeHostWithDevSync(host), ACL_ERROR_RT_PARAM_INVALID);
	ok(!mock_host_ranges(0) || mock_host_ranges(0) == 1);
	end();
}

static void *let_go(void *arg)
{
	wait_asleep(getpid());
	mock_release(0);
	return arg;
}

/* A free waits for nobody, the one with its name for it does. */
static void test_free_of_busy_memory(void)
{
	char *ptr, *other, *host, *more;
	aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
	pthread_t thread;

	begin();
	ptr = memory(64);
	other = memory(64);
	host = pinned(64);
	more = pinned(64);
	mock_hold(0);
	gives(aclrtMemcpyAsync(ptr, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE, NULL), 0);
	gives(aclrtFree(ptr), 0);
	gives(aclrtFreeHost(host), 0);
	gives(aclrtStreamQuery(NULL, &status), 0);
	ok(status == ACL_STREAM_STATUS_NOT_READY);
	pthread_create(&thread, NULL, let_go, NULL);
	gives(aclrtFreeWithDevSync(other), 0);
	gives(aclrtStreamQuery(NULL, &status), 0);
	ok(status == ACL_STREAM_STATUS_COMPLETE);
	pthread_join(thread, NULL);
	other = memory(64);
	mock_hold(0);
	gives(aclrtMemcpyAsync(other, 64, more, 64, ACL_MEMCPY_HOST_TO_DEVICE, NULL), 0);
	pthread_create(&thread, NULL, let_go, NULL);
	gives(aclrtFreeHostWithDevSync(more), 0);
	gives(aclrtStreamQuery(NULL, &status), 0);
	ok(status == ACL_STREAM_STATUS_COMPLETE);
	pthread_join(thread, NULL);
	end();
}

static void test_out_of_memory(void)
{
	void *all, *ptr = &all;
	size_t free, total;

	begin();
	gives(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), 0);
	gives(aclrtMallocAlign32(&all, free, ACL_MEM_MALLOC_HUGE_FIRST), 0);
	refuses(aclrtMalloc(&ptr, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION,
		"contiguous bytes");
	ok(!ptr);
	gives(aclrtFree(all), 0);
	gives(aclrtMalloc(&ptr, 1, ACL_MEM_MALLOC_HUGE_FIRST), 0);
	mock_quota(0, 64);
	gives(aclrtMalloc(&all, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
	end();
}

/* ---- Host memory ---- */

static void test_host_memory(void)
{
	unsigned int before;
	char *host, *own;
	void *mapped = &host, *more;
	int count = 0;

	begin();
	before = mock_host_ranges(0);
	host = pinned(100);
	ok(!((uintptr_t)host % 64));
	memset(host, 1, 100);
	ok(mock_host_ranges(0) == before + 1);
	gives(aclrtFreeHost(host), 0);
	ok(mock_host_ranges(0) == before);
	own = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	gives(aclrtHostRegisterV2(own + 8, 100, ACL_HOST_REG_PINNED), 0);
	gives(aclrtHostRegisterV2(own + 50, 100, ACL_HOST_REG_PINNED), ACL_ERROR_RT_PARAM_INVALID);
	refuses(aclrtHostUnregister(own + 9), ACL_ERROR_RT_PARAM_INVALID, "inside");
	refuses(aclrtFreeHost(own + 8), ACL_ERROR_RT_PARAM_INVALID, "aclrtHostRegisterV2()");
	gives(aclrtHostUnregister(own + 8), 0);
	gives(aclrtHostUnregister(own + 8), ACL_ERROR_RT_PARAM_INVALID);
	refuses(aclrtHostRegisterV2(own, 100, ACL_HOST_REG_MAPPED),
		ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "MAPPED");
	refuses(aclrtHostRegisterV2(own, 100, ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED),
		ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "MAPPED");
	refuses(aclrtHostRegisterV2(own, 100, 0), ACL_ERROR_RT_PARAM_INVALID, "flag is 0");
	refuses(aclrtHostRegisterV2(own, 100, 1), ACL_ERROR_RT_PARAM_INVALID, "flag is 0x1");
	gives(aclrtHostRegisterV2(own, 0, ACL_HOST_REG_PINNED), ACL_ERROR_INVALID_PARAM);
	gives(aclrtHostRegisterV2(NULL, 1, ACL_HOST_REG_PINNED), ACL_ERROR_INVALID_PARAM);
	gives(aclrtHostRegister(own, 4096, ACL_HOST_REGISTER_MAPPED, &mapped),
	      ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
	ok(!mapped);
	munmap(own, 8192);
	while (count < 100 && !aclrtMallocHost(&more, 1))
		count++;
	gives(aclrtMallocHost(&more, 1), ACL_ERROR_RT_OVER_LIMIT);
	ok(count > 0 && count <= MOCK_HOST_RANGES);
	end();
}

/* What one device has registered, another may have as a part, or as its own memory. */
static void test_registrations_of_two_devices(void)
{
	static char bytes[192];
	char *host;

	begin_with(2);
	host = pinned(64);
	gives(aclrtHostRegisterV2(bytes, 128, ACL_HOST_REG_PINNED), 0);
	gives(aclrtSetDevice(1), 0);
	gives(aclrtHostRegisterV2(bytes + 64, 128, ACL_HOST_REG_PINNED), 0);
	gives(aclrtHostRegisterV2(host, 64, ACL_HOST_REG_PINNED), 0);
	gives(aclrtHostUnregister(bytes + 64), 0);
	gives(aclrtHostUnregister(host), 0);
	gives(aclrtHostUnregister(bytes + 64), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtHostUnregister(host), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtHostRegisterV2(bytes, 192, ACL_HOST_REG_PINNED), 0);
	for (int i = 0; i < 2; i++)
		gives(aclrtHostUnregister(bytes), 0);
	gives(aclrtHostUnregister(bytes), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtFreeHost(host), 0);
	end();
}

/* ---- Memory of the process that runs out ---- */

static __thread unsigned int fail_in; /* the nth next allocation of this thread fails; 0: none */
static bool fail_tsearch;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_tsearch(const void *key, void **root, int (*compare)(const void *, const void *));
void *__wrap_tsearch(const void *key, void **root, int (*compare)(const void *, const void *));

void *__wrap_malloc(size_t size)
{
	return fail_in && !--fail_in ? NULL : __real_malloc(size);
}

void *__wrap_tsearch(const void *key, void **root, int (*compare)(const void *, const void *))
{
	return fail_tsearch ? NULL : __real_tsearch(key, root, compare);
}

enum way { DEVICE_WAY, HOST_WAY, REGISTER_WAY };

static char registered[64];

static aclError allocate(enum way way, void **ptr)
{
	*ptr = registered;
	if (way == REGISTER_WAY)
		return aclrtHostRegisterV2(registered, 64, ACL_HOST_REG_PINNED);
	return way == DEVICE_WAY ? aclrtMalloc(ptr, 64, 0) : aclrtMallocHost(ptr, 64);
}

static aclError free_again(enum way way, void *ptr)
{
	if (way == REGISTER_WAY)
		return aclrtHostUnregister(ptr);
	return way == DEVICE_WAY ? aclrtFree(ptr) : aclrtFreeHost(ptr);
}

static unsigned int fail_once(enum way way, unsigned int nth, bool at_tsearch)
{
	size_t before, after, total;
	unsigned int ranges = mock_host_ranges(0), left;
	void *ptr;
	aclError err;

	gives(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), 0);
	fail_in = nth;
	fail_tsearch = at_tsearch;
	err = allocate(way, &ptr);
	left = fail_in;
	fail_in = 0;
	fail_tsearch = false;
	ok(!err || err == ACL_ERROR_RT_MEMORY_ALLOCATION);
	ok(!err || way == REGISTER_WAY || !ptr);
	ok(err || !free_again(way, ptr));
	gives(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), 0);
	ok(before == after && ranges == mock_host_ranges(0));
	return left;
}

/* Memory that cannot be recorded is freed, by the call that does not return it. */
static void test_no_record(void)
{
	begin();
	for (enum way way = DEVICE_WAY; way <= REGISTER_WAY; way++) {
		unsigned int nth = 1;

		/* What libaccel keeps is there from now on. */
		fail_once(way, 0, false);
		while (!fail_once(way, nth, false))
			nth++;
		ok(nth > 1);
		fail_once(way, 0, true);
	}
	end();
}

/* The record of host memory stays while the same address is unregistered on another device. */
static void test_record_of_another_device(void)
{
	struct accel_device *beside;
	char *host;

	begin_with(2);
	expect(accel_device_open(0, &beside), 0);
	host = pinned(64);
	ok(mock_host_ranges(0) == 1);
	gives(aclrtSetDevice(1), 0);
	gives(aclrtHostRegisterV2(host, 64, ACL_HOST_REG_PINNED), 0);
	fail_tsearch = true;
	gives(aclrtHostUnregister(host), 0);
	fail_tsearch = false;
	gives(aclrtResetDevice(0), 0);
	ok(!mock_host_ranges(0));
	end();
	expect(accel_device_close(beside), 0);
}

/* ---- Questions ---- */

static void test_attributes_of_pointers(void)
{
	aclrtPtrAttributes found;
	char *ptr, *host;

	begin();
	gives(aclrtSetDevice(0), 0);
	ptr = memory(64);
	host = pinned(64);
	gives(aclrtPointerGetAttributes(ptr + 33, &found), 0);
	ok(found.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && !found.location.id);
	ok(found.pageSize == MOCK_GRANULE);
	gives(aclrtPointerGetAttributes(host + 3, &found), 0);
	ok(found.location.type == ACL_MEM_LOCATION_TYPE_HOST && !found.location.id);
	ok(found.pageSize == (uint32_t)sysconf(_SC_PAGESIZE));
	gives(aclrtPointerGetAttributes(&found, &found), 0);
	ok(found.location.type == ACL_MEM_LOCATION_TYPE_UNREGISTERED && !found.location.id);
	refuses(aclrtPointerGetAttributes(NULL, &found), ACL_ERROR_INVALID_PARAM, "ptr is NULL");
	refuses(aclrtPointerGetAttributes(ptr, NULL), ACL_ERROR_INVALID_PARAM, "attributes");
	gives(aclrtFree(ptr), 0);
	gives(aclrtPointerGetAttributes(ptr, &found), ACL_ERROR_RT_PARAM_INVALID);
	end();
}

static void test_pointers_of_another_device(void)
{
	aclrtPtrAttributes found;
	char *ptr;

	begin_with(2);
	gives(aclrtSetDevice(1), 0);
	ptr = memory(64);
	gives(aclrtSetDevice(0), 0);
	gives(aclrtPointerGetAttributes(ptr, &found), 0);
	ok(found.location.id == 1);
	/* It says itself whose it is. */
	gives(aclrtFree(ptr), 0);
	end();
}

static void test_memory_info(void)
{
	size_t free = 1, total = 1, more;
	char *ptr;

	begin();
	for (int attr = ACL_DDR_MEM; attr <= ACL_HBM_MEM_P2P_HUGE1G; attr++) {
		bool huge = attr == ACL_DDR_MEM_HUGE || attr == ACL_HBM_MEM_HUGE ||
			    attr == ACL_DDR_MEM_P2P_HUGE || attr == ACL_HBM_MEM_P2P_HUGE ||
			    attr >= ACL_HBM_MEM_HUGE1G;

		gives(aclrtGetMemInfo(attr, &free, &total), 0);
		ok(total == (huge ? 0 : MOCK_SIZE) && free == total);
	}
	ptr = memory(64);
	gives(aclrtGetMemInfo(ACL_DDR_MEM, &more, &total), 0);
	ok(total == MOCK_SIZE && more == MOCK_SIZE - 64);
	gives(aclrtFree(ptr), 0);
	refuses(aclrtGetMemInfo(12, &free, &total), ACL_ERROR_RT_PARAM_INVALID, "attr is 12");
	gives(aclrtGetMemInfo(-1, &free, &total), ACL_ERROR_RT_PARAM_INVALID);
	refuses(aclrtGetMemInfo(0, NULL, &total), ACL_ERROR_INVALID_PARAM, "free is NULL");
	refuses(aclrtGetMemInfo(0, &free, NULL), ACL_ERROR_INVALID_PARAM, "total is NULL");
	end();
}

static void test_memory_info_of_huge_pages(void)
{
	size_t free, total;

	mock_add_sized(0, 5 * MIB, 5 * MIB);
	gives(aclInit(NULL), 0);
	gives(aclrtSetDevice(0), 0);
	memory(64);
	gives(aclrtGetMemInfo(ACL_HBM_MEM_HUGE, &free, &total), 0);
	ok(free == 4 * MIB && total == 4 * MIB);
	memory(2 * MIB);
	gives(aclrtGetMemInfo(ACL_DDR_MEM_HUGE, &free, &total), 0);
	ok(free == 2 * MIB && total == 4 * MIB);
	end();
}

static void test_utilization(void)
{
	aclrtUtilizationInfo info = { .cubeUtilization = 5 };

	begin_with(2);
	gives(aclrtGetDeviceUtilizationRate(0, &info), 0);
	ok(info.cubeUtilization == -1 && info.vectorUtilization == -1);
	ok(info.aicpuUtilization == -1 && !info.memoryUtilization && !info.utilizationExtend);
	memory(2016);
	gives(aclrtGetDeviceUtilizationRate(0, &info), 0);
	ok(info.memoryUtilization == 51);
	/* It need not be set. */
	gives(aclrtGetDeviceUtilizationRate(1, &info), 0);
	ok(!info.memoryUtilization);
	gives(aclrtGetDeviceUtilizationRate(2, &info), ACL_ERROR_RT_INVALID_DEVICEID);
	gives(aclrtGetDeviceUtilizationRate(0, NULL), ACL_ERROR_INVALID_PARAM);
	info.utilizationExtend = (void *)&info;
	gives(aclrtGetDeviceUtilizationRate(0, &info), ACL_ERROR_RT_PARAM_INVALID);
	end();
}

static void test_caches(void)
{
	char *ptr, *host;

	begin();
	ptr = memory(64);
	host = pinned(64);
	gives(aclrtMemFlush(ptr, 64), 0);
	gives(aclrtMemInvalidate(ptr + 32, 32), 0);
	refuses(aclrtMemFlush(ptr + 32, 33), ACL_ERROR_RT_PARAM_INVALID, "has 32 bytes");
	gives(aclrtMemInvalidate(ptr, 65), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtMemInvalidate(ptr + 1, SIZE_MAX), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtMemFlush(host, 64), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtMemFlush(NULL, 64), ACL_ERROR_INVALID_PARAM);
	gives(aclrtMemFlush(ptr, 0), ACL_ERROR_INVALID_PARAM);
	gives(aclrtFree(ptr), 0);
	gives(aclrtMemFlush(ptr, 64), ACL_ERROR_RT_PARAM_INVALID);
	end();
}

int main(void)
{
	RUN(test_rounding);
	RUN(test_blocks_are_apart);
	RUN(test_no_such_size);
	RUN(test_policies_of_small_blocks);
	RUN(test_huge_pages);
	RUN(test_huge_pages_run_out);
	RUN(test_page_of_a_gib);
	RUN(test_attributes);
	RUN(test_free);
	RUN(test_free_of_busy_memory);
	RUN(test_out_of_memory);
	RUN(test_host_memory);
	RUN(test_registrations_of_two_devices);
	RUN(test_no_record);
	RUN(test_record_of_another_device);
	RUN(test_attributes_of_pointers);
	RUN(test_pointers_of_another_device);
	RUN(test_memory_info);
	RUN(test_memory_info_of_huge_pages);
	RUN(test_utilization);
	RUN(test_caches);
	return tap_end();
}
