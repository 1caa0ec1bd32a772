/* SPDX-License-Identifier: MIT */
/*
 * Host memory that the device reaches without pinning: the driver's own pages (host and unified
 * memory), and the program's (registered).
 */
#define _GNU_SOURCE
#include "api.h"
#include "device.h"
#include "error.h"
#include "host.h"
#include "memory.h"
#include "operand.h"
#include "range.h"
#include "table.h"

#include <linux/paccel.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static int locked_memory_full(const struct device *dev, size_t size)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return fail(-ENOMEM, "%s: out of memory for %zu locked bytes", dev->name, size);
	return fail(
		-ENOMEM,
		"%s: cannot lock %zu bytes: the limit (RLIMIT_MEMLOCK, ulimit -l) is %llu bytes for "
		"this process, and for the host memory of all processes of this user; raise it, or free "
		"host memory",
		dev->name, size, (unsigned long long)limit.rlim_cur);
}

/* Errors of HOST_ALLOC, its mmap, and HOST_REGISTER. */
int host_failed(const struct device *dev, int err, size_t size)
{
	switch (err) {
	case -ENOMEM:
	case -EAGAIN: /* mlockall(MCL_FUTURE) over the limit; the contract knows no EAGAIN */
		return locked_memory_full(dev, size);
	case -ENOSPC:
		return fail(err, "%s: no more host ranges for this handle; free or unregister some",
			    dev->name);
	case -EEXIST:
		return fail(
			err,
			"%s: the kernel chose an address inside a registered range whose memory "
			"was unmapped; accel_host_unregister() that range",
			dev->name);
	default:
		return general_error(dev, err);
	}
}

static void host_free_offset(struct device *dev, uint64_t offset)
{
	struct paccel_host_free cmd = { .size = sizeof(cmd), .offset = offset };

	device_ioctl(dev, PACCEL_IOC_HOST_FREE, &cmd);
}

static int host_map(struct device *dev, struct range *range, uint64_t offset)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t mapped = (range->size + page - 1) & ~(page - 1);
	void *map = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, dev->fd, (off_t)offset);
	int err = -errno;

	if (map != MAP_FAILED) {
		WRITE_SHARED(range->base, (uintptr_t)map);
		WRITE_SHARED(range->mapped, mapped);
		return 0;
	}
	host_free_offset(dev, offset);
	return err;
}

void keep_from_children(void *map, size_t size)
{
	/* Best effort: what is inherited is of no use, and does no harm. */
	madvise(map, size, MADV_DONTFORK);
}

int host_pages(struct device *dev, struct range *range)
{
	struct paccel_host_alloc cmd = { .size = sizeof(cmd), .length = range->size };

	return device_ioctl(dev, PACCEL_IOC_HOST_ALLOC, &cmd) ?: host_map(dev, range, cmd.offset);
}

int size_above_max(const struct device *dev, int err, size_t size)
{
	return fail(err, "size is %zu: %s takes host ranges of at most %" PRIu64 " bytes", size,
		    dev->name, dev->max_host_bytes);
}

static int host_create(struct device *dev, struct range *range)
{
	int err;

	if (range->size > dev->max_host_bytes)
		return size_above_max(dev, -ENOMEM, range->size);
	err = host_pages(dev, range);
	return err ? host_failed(dev, err, range->size) : 0;
}

static int host_allocate(struct accel_device *handle, void **ptr, size_t size,
			 enum accel_memory_kind kind)
{
	struct device *dev;
	struct range *range;
	int err = range_prepare(handle, ptr, size, kind, &dev, &range);

	if (err)
		return err;
	err = host_create(dev, range);
	if (err) {
		range_free(range);
		return err;
	}
	*ptr = (void *)range->base;
	range_publish(dev, range);
	return 0;
}

/* Of registered memory the size is not given, but 1. */
static int host_release(struct accel_device *handle, void *ptr, size_t size,
			enum accel_memory_kind kind)
{
	struct paccel_host_free cmd = { .size = sizeof(cmd), .addr = (uintptr_t)ptr };
	struct device *dev;
	struct range *range;
	int err = free_check(handle, ptr, size, &dev);

	if (!err)
		err = range_take(dev, ptr, kind == ACCEL_MEMORY_REGISTERED ? 0 : size, kind,
				 &range);
	if (err)
		return err;
	err = device_ioctl(dev, PACCEL_IOC_HOST_FREE, &cmd);
	if (err) {
		range_restore(dev, range);
		return general_error(dev, err);
	}
	if (range->mapped)
		munmap(ptr, range->mapped);
	range_free(range);
	return 0;
}

int accel_host_memory_allocate(struct accel_device *dev, void **ptr, size_t size)
{
	KEEP_ERRNO;

	return host_allocate(dev, ptr, size, ACCEL_MEMORY_HOST);
}

int accel_host_memory_deallocate(struct accel_device *dev, void *ptr, size_t size)
{
	KEEP_ERRNO;

	return host_release(dev, ptr, size, ACCEL_MEMORY_HOST);
}

int accel_unified_memory_allocate(struct accel_device *dev, void **ptr, size_t size)
{
	KEEP_ERRNO;

	return host_allocate(dev, ptr, size, ACCEL_MEMORY_UNIFIED);
}

int accel_unified_memory_deallocate(struct accel_device *dev, void *ptr, size_t size)
{
	KEEP_ERRNO;

	return host_release(dev, ptr, size, ACCEL_MEMORY_UNIFIED);
}

static int register_check(const struct device *dev, const struct operand *memory,
			  unsigned int flags)
{
	int err = operand_check(memory);

	if (err)
		return err;
	if (flags & ~ACCEL_REGISTER_READ_ONLY)
		return fail(-EINVAL, "flags is %#x: only ACCEL_REGISTER_READ_ONLY (%#x) is known",
			    flags, ACCEL_REGISTER_READ_ONLY);
	if (memory->size > dev->max_host_bytes)
		return size_above_max(dev, -EINVAL, memory->size);
	return operand_is_host(memory);
}

static int register_failed(const struct device *dev, int err, const struct operand *memory,
			   unsigned int flags)
{
	switch (err) {
	case -EEXIST:
		return fail(err,
			    "ptr " ADDR ", %zu bytes, overlaps a host range that %s has already",
			    memory->ptr, memory->size, dev->name);
	case -EFAULT:
		return fail(err,
			    "ptr " ADDR ", %zu bytes, cannot be pinned: %s or mapped device memory",
			    memory->ptr, memory->size,
			    flags ? "not mapped" : "not mapped, not writable (READ_ONLY?)");
	default:
		return host_failed(dev, err, memory->size);
	}
}

int accel_host_register(struct accel_device *handle, void *ptr, size_t size, unsigned int flags)
{
	KEEP_ERRNO;
	struct device *dev;
	struct operand memory = { .name = "ptr", .ptr = (uintptr_t)ptr, .size = size };
	struct paccel_host_register cmd = { .size = sizeof(cmd),
					    .addr = (uintptr_t)ptr,
					    .length = size };
	struct range *range;
	int err = device_get(handle, &dev) ?: register_check(dev, &memory, flags);

	if (err)
		return err;
	range = range_create(size, ACCEL_MEMORY_REGISTERED);
	if (!range)
		return fail(-ENOMEM, "out of memory");
	if (flags & ACCEL_REGISTER_READ_ONLY)
		cmd.flags = PACCEL_HOST_READ_ONLY;
	err = device_ioctl(dev, PACCEL_IOC_HOST_REGISTER, &cmd);
	if (err) {
		range_free(range);
		return register_failed(dev, err, &memory, flags);
	}
	WRITE_SHARED(range->base, (uintptr_t)ptr);
	range_publish(dev, range);
	return 0;
}

int accel_host_unregister(struct accel_device *dev, void *ptr)
{
	KEEP_ERRNO;

	return host_release(dev, ptr, 1, ACCEL_MEMORY_REGISTERED);
}
