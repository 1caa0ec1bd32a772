/* SPDX-License-Identifier: MIT */
/*
 * Device memory: how much of it an allocation takes, and whose an address is.
 */
#include "allocation.h"
#include "memory.h"
#include "state.h"
#include "stream.h"

#define UNIT 32
#define HUGE_FIRST_FROM ((size_t)1 << 20) /* sizes above it */

/* Policies that may stand beside another. */
#define BAND_WIDTH (ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH)

/* ---- Sizes ---- */

/* Pages that are tried first, 1 for normal ones, and whether normal ones will do as well. */
struct pages {
	size_t size;
	bool normal_too;
};

static struct pages huge_first(bool huge)
{
	return huge ? (struct pages){ HUGE_PAGE, true } : (struct pages){ 1, false };
}

static struct pages pages_for(unsigned int policy, size_t size)
{
	unsigned int base = policy & ~(unsigned int)ACL_MEM_ACCESS_USER_SPACE_READONLY;

	if ((base & BAND_WIDTH) != BAND_WIDTH)
		base &= ~(unsigned int)BAND_WIDTH;
	switch (base) {
	case ACL_MEM_MALLOC_HUGE_FIRST:
	case ACL_MEM_MALLOC_HUGE_FIRST_P2P:
		return huge_first(size > HUGE_FIRST_FROM);
	case ACL_MEM_MALLOC_HUGE_ONLY:
	case ACL_MEM_MALLOC_HUGE_ONLY_P2P:
		return (struct pages){ HUGE_PAGE, false };
	case ACL_MEM_MALLOC_NORMAL_ONLY:
	case ACL_MEM_MALLOC_NORMAL_ONLY_P2P:
		return (struct pages){ 1, false };
	case ACL_MEM_MALLOC_HUGE1G_ONLY:
	case ACL_MEM_MALLOC_HUGE1G_ONLY_P2P:
		return (struct pages){ HUGE_1G_PAGE, false };
	default:
		return huge_first(size >= HUGE_PAGE);
	}
}

/* 0 if there is no such number. */
static size_t round_up(size_t size, size_t unit)
{
	return size > SIZE_MAX - (unit - 1) ? 0 : (size + unit - 1) / unit * unit;
}

static size_t padded(size_t size, size_t padding)
{
	size_t rounded = round_up(size, UNIT);

	return rounded && rounded <= SIZE_MAX - padding ? rounded + padding : 0;
}

/* ---- Allocation ---- */

/* What was counted as free may be another's by now, so both are just tried. */
static int allocate(struct accel_device *dev, void **ptr, size_t size, struct pages pages)
{
	size_t whole = round_up(size, pages.size);
	int err = whole ? accel_device_memory_allocate(dev, ptr, whole) : -ENOMEM;

	if (pages.normal_too && (err == -ENOMEM || err == -EDQUOT))
		err = accel_device_memory_allocate(dev, ptr, size);
	return err;
}

static aclError allocate_on(struct accel_device *dev, void **ptr, size_t size, unsigned int policy,
			    size_t padding)
{
	struct pages pages = pages_for(policy, size);
	size_t real = padded(size, pages.size == HUGE_1G_PAGE ? 0 : padding);

	if (!size)
		return call_fail(ACL_ERROR_INVALID_PARAM, "size is 0: at least 1 byte");
	if (!real || !round_up(real, pages.size))
		return call_fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
				 "size is %zu: rounded up there is no such number", size);
	return call_failed_for(allocate(dev, ptr, real, pages), ACL_ERROR_RT_MEMORY_ALLOCATION);
}

static aclError allocate_device(const char *name, void **ptr, size_t size, unsigned int policy,
				size_t padding, const aclrtMallocConfig *cfg)
{
	struct here here;
	aclError err = here_enter(name, &here);

	if (ptr)
		*ptr = NULL;
	if (err)
		return err;
	err = ptr ? config_check(cfg, false) : call_null("devPtr");
	if (!err)
		err = allocate_on(here.device->dev, ptr, size, policy, padding);
	if (!err)
		err = allocation_keep(here.device, ACCEL_MEMORY_DEVICE, *ptr, size);
	if (err && ptr)
		*ptr = NULL;
	here_leave(&here);
	return err;
}

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
	return allocate_device(__func__, devPtr, size, policy, UNIT, NULL);
}

aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
	return allocate_device(__func__, devPtr, size, policy, 0, NULL);
}

aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
	return allocate_device(__func__, devPtr, size, policy, UNIT, NULL);
}

aclError aclrtMallocWithCfg(void **devPtr, size_t size, aclrtMemMallocPolicy policy,
			    aclrtMallocConfig *cfg)
{
	return allocate_device(__func__, devPtr, size, policy, UNIT, cfg);
}

/* An attribute that is not known could mean anything, and is not passed over. */
aclError config_check(const aclrtMallocConfig *cfg, bool host)
{
	if (!cfg || !cfg->numAttrs)
		return ACL_SUCCESS;
	if (!cfg->attrs)
		return call_fail(ACL_ERROR_INVALID_PARAM, "cfg: attrs is NULL and numAttrs is %zu",
				 cfg->numAttrs);
	for (size_t i = 0; i < cfg->numAttrs; i++) {
		const aclrtMallocAttribute *attr = &cfg->attrs[i];

		if (attr->attr == ACL_RT_MEM_ATTR_MODULE_ID)
			continue;
		if (host && attr->attr == ACL_RT_MEM_ATTR_VA_FLAG && !attr->value.vaFlag)
			continue;
		return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
				 "cfg: attribute %zu is of type %d, which is not supported", i,
				 (int)attr->attr);
	}
	return ACL_SUCCESS;
}

/* ---- Addresses ---- */

static const char *const kinds[] = {
	[ACCEL_MEMORY_PAGEABLE] = "host memory that was not allocated here",
	[ACCEL_MEMORY_DEVICE] = "device memory",
	[ACCEL_MEMORY_HOST] = "host memory of aclrtMallocHost()",
	[ACCEL_MEMORY_UNIFIED] = "unified memory",
	[ACCEL_MEMORY_REGISTERED] = "host memory of aclrtHostRegisterV2()",
};

aclError memory_enter(const void *ptr, enum accel_memory_kind kind, const char *argument,
		      struct accel_pointer_info *info, struct device **device)
{
	int err;

	if (!ptr)
		return call_null(argument);
	err = accel_pointer_get_info(ptr, info);
	if (err)
		return call_failed(err);
	if (info->kind != kind)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID, "%s %p is %s, and has to be %s",
				 argument, ptr, kinds[info->kind], kinds[kind]);
	if (info->base != ptr)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID,
				 "%s %p is inside of %s that begins at %p", argument, ptr,
				 kinds[kind], info->base);
	*device = device_with(info->device);
	if (*device)
		return ACL_SUCCESS;
	return call_fail(ACL_ERROR_RT_PARAM_INVALID,
			 "%s %p is of a device that is not open by aclrtSetDevice()", argument,
			 ptr);
}

static aclError free_device(const char *name, void *ptr, bool wait)
{
	aclError err = call_enter(name);
	struct accel_pointer_info info;
	struct device *device;

	if (!err)
		err = memory_enter(ptr, ACCEL_MEMORY_DEVICE, "devPtr", &info, &device);
	if (err)
		return err;
	if (wait)
		err = device_synchronize(device);
	if (!err)
		err = call_failed(allocation_free(device, ACCEL_MEMORY_DEVICE, ptr, info.size));
	device_put(device);
	return err;
}

aclError aclrtFree(void *devPtr)
{
	return free_device(__func__, devPtr, false);
}

aclError aclrtFreeWithDevSync(void *devPtr)
{
	return free_device(__func__, devPtr, true);
}

/* ---- Caches, of which there are none ---- */

static aclError check_range(const char *name, const void *ptr, size_t size)
{
	aclError err = call_enter(name);
	struct accel_pointer_info info;
	int failed;

	if (err)
		return err;
	if (!ptr)
		return call_null("devPtr");
	if (!size)
		return call_fail(ACL_ERROR_INVALID_PARAM, "size is 0: at least 1 byte");
	failed = accel_pointer_get_info(ptr, &info);
	if (failed)
		return call_failed(failed);
	if (info.kind != ACCEL_MEMORY_DEVICE)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID,
				 "devPtr %p is %s, and has to be device memory", ptr,
				 kinds[info.kind]);
	if (size > info.size - ((uintptr_t)ptr - (uintptr_t)info.base))
		return call_fail(ACL_ERROR_RT_PARAM_INVALID,
				 "size is %zu: the allocation has %zu bytes from devPtr on", size,
				 info.size - ((uintptr_t)ptr - (uintptr_t)info.base));
	return ACL_SUCCESS;
}

aclError aclrtMemFlush(void *devPtr, size_t size)
{
	return check_range(__func__, devPtr, size);
}

aclError aclrtMemInvalidate(void *devPtr, size_t size)
{
	return check_range(__func__, devPtr, size);
}
