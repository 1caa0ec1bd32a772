/* SPDX-License-Identifier: MIT */
/*
 * Memory: the four types, each from where libaccel has it.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>

static int host_allocate(struct accel_device *dev, void **ptr, size_t size)
{
	(void)dev;
	*ptr = malloc(size);
	return *ptr ? 0 : -ENOMEM;
}

/* Of size 0 is what the driver knows: a program may have made an object the owner of what it wraps. */
static int driver_free(void *ptr, size_t size,
		       int (*deallocate)(struct accel_device *dev, void *ptr, size_t size))
{
	struct accel_pointer_info info;
	int err = accel_pointer_get_info(ptr, &info);

	return err ? err : deallocate(info.device, ptr, size ? size : info.size);
}

static int host_free(SUNMemory mem)
{
	free(mem->ptr);
	return 0;
}

/*
 * With the size of the object, if it has one: where it is less than the driver's, this is a block of
 * another helper's resource, and the driver would take back all that the resource had of it.
 */
static int pinned_free(SUNMemory mem)
{
	return driver_free(mem->ptr, mem->bytes, accel_host_memory_deallocate);
}

static int device_free(SUNMemory mem)
{
	return driver_free(mem->ptr, mem->bytes, accel_device_memory_deallocate);
}

static int unified_free(SUNMemory mem)
{
	return driver_free(mem->ptr, mem->bytes, accel_unified_memory_deallocate);
}

/*
 * Of a resource: nobody says on which stream memory is used first. A free has to be behind the last
 * use, so it waits for all copies that were queued, as other devices' free functions do.
 */
static int resource_free(struct device *device, SUNMemory mem)
{
	/*
	 * From then on each time: another thread may be waiting for what this one has queued, but has
	 * not done so yet. What has failed, has ended, too; only a callback does not wait.
	 */
	if (atomic_load(&device->queued) && accel_device_synchronize(device->dev) == -EDEADLK)
		return -EDEADLK;
	return accel_resource_deallocate(&device->resources[mem->type], NULL, mem->ptr, mem->bytes,
					 ACCEL_BUFFER_ALIGNMENT);
}

static const struct {
	int (*allocate)(struct accel_device *dev, void **ptr, size_t size);
	int (*free)(SUNMemory mem);
	SUNErrCode refused;
} types[MEMORY_TYPES] = {
	[SUNMEMTYPE_HOST] = { host_allocate, host_free, SUN_ERR_MALLOC_FAIL },
	[SUNMEMTYPE_PINNED] = { accel_host_memory_allocate, pinned_free, SUN_ERR_EXT_FAIL },
	[SUNMEMTYPE_DEVICE] = { accel_device_memory_allocate, device_free, SUN_ERR_EXT_FAIL },
	[SUNMEMTYPE_UVM] = { accel_unified_memory_allocate, unified_free, SUN_ERR_EXT_FAIL },
};

static SUNErrCode allocate(struct device *device, SUNMemoryType type, void **ptr, size_t size)
{
	const struct accel_resource *resource = &device->resources[type];

	if (!resource->ops)
		return types[type].allocate(device->dev, ptr, size) ? types[type].refused : 0;
	return accel_resource_allocate(resource, NULL, size, ACCEL_BUFFER_ALIGNMENT, ptr) ?
		       SUN_ERR_EXT_FAIL : 0;
}

static int free_memory(struct device *device, SUNMemory mem)
{
	if (!mem->ptr)
		return 0;
	if (device->resources[mem->type].ops)
		return resource_free(device, mem);
	return types[mem->type].free(mem);
}

SUNErrCode SUNMemoryHelper_Alloc_Accel(SUNMemoryHelper helper, SUNMemory *memptr, size_t mem_size,
				       SUNMemoryType mem_type, void *queue)
{
	struct content *content = helper_content(helper);
	SUNErrCode err = SUN_SUCCESS;
	SUNMemory mem;

	(void)queue;
	if (!content || !memptr)
		return SUN_ERR_ARG_CORRUPT;
	if (!is_type(mem_type))
		return SUN_ERR_ARG_OUTOFRANGE;
	mem = SUNMemoryNewEmpty(helper->sunctx);
	if (!mem)
		return SUN_ERR_MALLOC_FAIL;
	mem->ptr = NULL;
	if (mem_size)
		err = allocate(content->device, mem_type, &mem->ptr, mem_size);
	if (err) {
		free(mem);
		return err;
	}
	mem->type = mem_type;
	mem->own = SUNTRUE;
	mem->bytes = mem_size;
	stats_allocated(&content->stats[mem_type], mem_size);
	*memptr = mem;
	return SUN_SUCCESS;
}

#if HAS_QUEUE
SUNErrCode SUNMemoryHelper_AllocStrided_Accel(SUNMemoryHelper helper, SUNMemory *memptr,
					      size_t mem_size, size_t stride,
					      SUNMemoryType mem_type, void *queue)
{
	SUNErrCode err = SUNMemoryHelper_Alloc_Accel(helper, memptr, mem_size, mem_type, queue);

	if (!err)
		(*memptr)->stride = stride;
	return err;
}
#endif

SUNErrCode SUNMemoryHelper_Dealloc_Accel(SUNMemoryHelper helper, SUNMemory mem, void *queue)
{
	struct content *content = helper_content(helper);
	int err = 0;

	(void)queue;
	if (!mem)
		return SUN_SUCCESS;
	if (!content)
		return SUN_ERR_ARG_CORRUPT;
	/* Of what it does not own the type does not matter, and may be anything. */
	if (mem->own && !is_type(mem->type))
		return SUN_ERR_ARG_OUTOFRANGE;
	if (mem->own) {
		err = free_memory(content->device, mem);
		/* In a callback, which cannot wait: elsewhere it can still be freed. */
		if (err == -EDEADLK)
			return SUN_ERR_EXT_FAIL;
		/* What a resource has found to be damaged, it has taken back. */
		if (!err || err == -EFAULT)
			stats_freed(&content->stats[mem->type], mem->bytes);
	}
	/* What libaccel does not free now it will not free later either. */
	free(mem);
	return err ? SUN_ERR_EXT_FAIL : SUN_SUCCESS;
}
