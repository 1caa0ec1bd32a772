/* SPDX-License-Identifier: MIT */
/*
 * Helpers: how they are made, cloned and destroyed, and the device that a helper and its clones
 * share.
 */
#include "private.h"

#include <limits.h>
#include <stdlib.h>

/*
 * The libraries of all 7.x have the same name, but 7.3 has put fields and an operation between others:
 * what this was compiled for must be what runs.
 */
#if __SIZEOF_POINTER__ == 8
_Static_assert(offsetof(struct SUNMemory_, type) == 8, "type of SUNMemory");
_Static_assert(offsetof(struct SUNMemory_, own) == 12, "own of SUNMemory");
_Static_assert(offsetof(struct SUNMemory_, bytes) == 16, "bytes of SUNMemory");
_Static_assert(sizeof(struct SUNMemory_) == (HAS_QUEUE ? 32 : 24), "SUNMemory");
_Static_assert(offsetof(struct SUNMemoryHelper_, ops) == (HAS_QUEUE ? 16 : 8), "ops");
_Static_assert(sizeof(struct SUNMemoryHelper_) == (HAS_QUEUE ? 32 : 24), "SUNMemoryHelper");
_Static_assert(offsetof(struct SUNMemoryHelper_Ops_, copy) == 16, "copy");
_Static_assert(offsetof(struct SUNMemoryHelper_Ops_, copyasync) == (HAS_QUEUE ? 32 : 24),
	       "copyasync");
_Static_assert(sizeof(struct SUNMemoryHelper_Ops_) == (HAS_QUEUE ? 64 : 56), "operations");
#if HAS_QUEUE
_Static_assert(offsetof(struct SUNMemory_, stride) == 24, "stride of SUNMemory");
_Static_assert(offsetof(struct SUNMemoryHelper_, queue) == 8, "queue of SUNMemoryHelper");
_Static_assert(offsetof(struct SUNMemoryHelper_Ops_, allocstrided) == 24, "allocstrided");
#endif
#endif
_Static_assert(SUNMEMTYPE_HOST == 0 && SUNMEMTYPE_UVM == MEMORY_TYPES - 1, "types of memory");

#define FIRST_MINOR (HAS_QUEUE ? 3 : 1)
#define LAST_MINOR (HAS_QUEUE ? INT_MAX : 2)

static bool is_laid_out_so(void)
{
	int major = 0, minor = 0, patch = 0;
	char label[64];

	return !SUNDIALSGetVersionNumber(&major, &minor, &patch, label, sizeof(label)) &&
	       major == 7 && minor >= FIRST_MINOR && minor <= LAST_MINOR;
}

/* Its address tells our content from another implementation's. */
static const char tag;

struct content *helper_content(SUNMemoryHelper helper)
{
	struct content *content = helper ? helper->content : NULL;

	return content && content->tag == &tag ? content : NULL;
}

/* ---- The device ---- */

static struct device *device_new(struct accel_device *dev, bool opened)
{
	struct device *device = calloc(1, sizeof(*device));

	if (!device)
		return NULL;
	device->dev = dev;
	device->opened = opened;
	atomic_init(&device->helpers, 1);
	return device;
}

static int device_put(struct device *device)
{
	int err = 0;

	if (atomic_fetch_sub(&device->helpers, 1) != 1)
		return 0;
	if (device->opened)
		err = accel_device_close(device->dev);
	free(device);
	return err;
}

/* ---- Helpers ---- */

static void set_operations(SUNMemoryHelper_Ops ops)
{
	ops->alloc = SUNMemoryHelper_Alloc_Accel;
	ops->dealloc = SUNMemoryHelper_Dealloc_Accel;
	ops->copy = SUNMemoryHelper_Copy_Accel;
#if HAS_QUEUE
	ops->allocstrided = SUNMemoryHelper_AllocStrided_Accel;
#endif
	ops->copyasync = SUNMemoryHelper_CopyAsync_Accel;
	ops->getallocstats = SUNMemoryHelper_GetAllocStats_Accel;
	ops->clone = SUNMemoryHelper_Clone_Accel;
	ops->destroy = SUNMemoryHelper_Destroy_Accel;
}

/* Takes over the caller's share of the device, if it returns one. */
static SUNMemoryHelper helper_new(SUNContext sunctx, struct device *device)
{
	struct content *content = calloc(1, sizeof(*content));
	SUNMemoryHelper helper;

	if (!content)
		return NULL;
	helper = SUNMemoryHelper_NewEmpty(sunctx);
	if (!helper)
		goto free_content;
	/* SUNDIALS looks at this only where it checks errors. */
	if (!helper->ops)
		goto free_helper;
	content->tag = &tag;
	content->device = device;
	helper->content = content;
	set_operations(helper->ops);
	return helper;

free_helper:
	free(helper);
free_content:
	free(content);
	return NULL;
}

SUNMemoryHelper SUNMemoryHelper_AccelWithDevice(SUNContext sunctx, struct accel_device *dev)
{
	struct accel_device_info info;
	SUNMemoryHelper helper;
	struct device *device;

	if (!sunctx || !is_laid_out_so() || accel_device_get_info(dev, &info))
		return NULL;
	device = device_new(dev, false);
	if (!device)
		return NULL;
	helper = helper_new(sunctx, device);
	if (!helper)
		device_put(device);
	return helper;
}

SUNMemoryHelper
SUNMemoryHelper_AccelWithResources(SUNContext sunctx, struct accel_device *dev,
				   const struct accel_resource *const resources[SUNMEMTYPE_UVM + 1])
{
	SUNMemoryHelper helper;
	struct device *device;

	/* The comparison says in words what is wrong with one. */
	for (int type = 0; resources && type < MEMORY_TYPES; type++)
		if (resources[type] && accel_resource_equal(resources[type], resources[type]) < 0)
			return NULL;
	helper = resources ? SUNMemoryHelper_AccelWithDevice(sunctx, dev) : NULL;
	if (!helper)
		return NULL;
	device = helper_content(helper)->device;
	for (int type = 0; type < MEMORY_TYPES; type++)
		if (resources[type])
			device->resources[type] = *resources[type];
	return helper;
}

SUNMemoryHelper SUNMemoryHelper_Accel(SUNContext sunctx)
{
	struct accel_device *dev;
	SUNMemoryHelper helper;
	struct device *device;

	if (!sunctx || !is_laid_out_so() || accel_device_open(0, &dev))
		return NULL;
	device = device_new(dev, true);
	if (!device) {
		accel_device_close(dev);
		return NULL;
	}
	helper = helper_new(sunctx, device);
	if (!helper)
		device_put(device);
	return helper;
}

SUNMemoryHelper SUNMemoryHelper_Clone_Accel(SUNMemoryHelper helper)
{
	struct content *content = helper_content(helper);
	SUNMemoryHelper clone;

	if (!content)
		return NULL;
	atomic_fetch_add(&content->device->helpers, 1);
	clone = helper_new(helper->sunctx, content->device);
	/* Not the last share: the original has one. */
	if (!clone)
		device_put(content->device);
	return clone;
}

/* The context may be gone. */
SUNErrCode SUNMemoryHelper_Destroy_Accel(SUNMemoryHelper helper)
{
	struct content *content = helper_content(helper);
	int err = 0;

	/* Without content it is one that has our operations only. */
	if (!helper || (helper->content && !content))
		return SUN_ERR_ARG_CORRUPT;
	if (content)
		err = device_put(content->device);
	free(content);
	free(helper->ops);
	free(helper);
	return err ? SUN_ERR_DESTROY_FAIL : SUN_SUCCESS;
}
