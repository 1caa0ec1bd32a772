/* SPDX-License-Identifier: MIT */
/*
 * Memory that is shared as dma-bufs: with other processes that use the device, and with other
 * drivers.
 */
#define _GNU_SOURCE
#include "api.h"
#include "device.h"
#include "error.h"
#include "host.h"
#include "memory.h"
#include "range.h"
#include "table.h"

#include <linux/paccel.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Export ---- */

static int no_descriptor(int err)
{
	return fail(err, "no file descriptor is left (RLIMIT_NOFILE, ulimit -n)");
}

static int not_ours(const struct range *range, uintptr_t ptr)
{
	return fail(-ENOENT,
		    "ptr " ADDR " is %s memory: device, host and unified memory can be exported",
		    ptr, kind_name(range->kind));
}

/* Under the table lock. */
static int export_what(struct device *dev, uintptr_t ptr, struct paccel_mem_export *cmd)
{
	const struct range *range = range_below(dev->ranges, ptr);

	if (!range || !range_holds(range, ptr, 1))
		return fail(-ENOENT, "ptr " ADDR ": " DEAD, ptr, dev->name);
	if (range->kind == ACCEL_MEMORY_REGISTERED)
		return not_ours(range, ptr);
	if (range->chunks)
		return fail(-ENOENT, "ptr " ADDR " is memory of a pool, whose other blocks would be "
				     "exported too: accel_pool_allocate_exportable() gives a block "
				     "that can be", ptr);
	if (range->base != ptr)
		return fail(-ENOENT, "ptr " ADDR " is inside the allocation at " ADDR, ptr,
			    range->base);
	cmd->kind = range->kind == ACCEL_MEMORY_DEVICE ? PACCEL_EXPORT_DEVICE : PACCEL_EXPORT_HOST;
	cmd->addr = range->kind == ACCEL_MEMORY_DEVICE ? device_address(dev, ptr) : ptr;
	return 0;
}

int accel_memory_export(struct accel_device *handle, void *ptr, int *fd)
{
	KEEP_ERRNO;
	struct device *dev;
	struct paccel_mem_export cmd = { .size = sizeof(cmd) };
	int err;

	if (!fd)
		return fail(-EINVAL, "fd is NULL: the file descriptor has to go somewhere");
	*fd = -1;
	err = free_check(handle, ptr, 1, &dev);
	if (err)
		return err;
	table_lock();
	err = export_what(dev, (uintptr_t)ptr, &cmd);
	table_unlock();
	if (err)
		return err;
	err = device_ioctl(dev, PACCEL_IOC_MEM_EXPORT, &cmd);
	if (err == -EMFILE)
		return no_descriptor(err);
	if (err)
		return general_error(dev, err);
	*fd = cmd.fd;
	return 0;
}

/* ---- Import ---- */

static int import_failed(const struct device *dev, int err, int fd)
{
	switch (err) {
	case -EINVAL:
		return fail(err, "fd %d is no dma-buf", fd);
	case -EXDEV:
		return fail(err,
			    "fd %d is not device memory of %s; accel_host_register_dmabuf() takes "
			    "memory of others",
			    fd, dev->name);
	default:
		return general_error(dev, err);
	}
}

int accel_memory_import(struct accel_device *handle, int fd, void **ptr, size_t *size)
{
	KEEP_ERRNO;
	struct device *dev;
	struct paccel_mem_import cmd = { .size = sizeof(cmd), .fd = fd };
	struct range *range;
	int err;

	if (!size)
		return fail(-EINVAL, "size is NULL: the bytes have to go somewhere");
	*size = 0;
	err = range_prepare(handle, ptr, 1, ACCEL_MEMORY_DEVICE, &dev, &range);
	if (err)
		return err;
	err = device_ioctl(dev, PACCEL_IOC_MEM_IMPORT, &cmd);
	if (err) {
		range_free(range);
		return import_failed(dev, err, fd);
	}
	*ptr = (void *)device_pointer(dev, cmd.addr);
	*size = cmd.length;
	WRITE_SHARED(range->base, (uintptr_t)*ptr);
	WRITE_SHARED(range->size, *size);
	range_publish(dev, range);
	return 0;
}

/* ---- Memory of other drivers ---- */

static int dmabuf_failed(const struct device *dev, int err, int fd, size_t size)
{
	switch (err) {
	case -EINVAL:
		return fail(err, "fd %d is no dma-buf, or has less than %zu bytes", fd, size);
	case -EACCES:
		return fail(err,
			    "fd %d was opened read-only: ACCEL_REGISTER_READ_ONLY says that the "
			    "device only reads",
			    fd);
	case -EOPNOTSUPP:
		return fail(err,
			    "fd %d: its driver gives neither pages that %s reaches nor a mapping "
			    "for the processor",
			    fd, dev->name);
	default:
		return host_failed(dev, err, size);
	}
}

/* Addresses that nothing else gets, and that the processor cannot access. */
static int reserve(struct range *range)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (range->size + page - 1) & ~(page - 1);
	void *map = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return fail(-ENOMEM, "cannot reserve %zu bytes of address space", size);
	WRITE_SHARED(range->base, (uintptr_t)map);
	WRITE_SHARED(range->mapped, size);
	return 0;
}

static int register_dmabuf(struct device *dev, struct range *range, int fd,
			   unsigned int flags)
{
	struct paccel_host_register cmd = { .size = sizeof(cmd),
					    .flags = PACCEL_HOST_DMABUF,
					    .length = range->size,
					    .fd = fd };
	int err = reserve(range);

	if (err)
		return err;
	if (flags & ACCEL_REGISTER_READ_ONLY)
		cmd.flags |= PACCEL_HOST_READ_ONLY;
	cmd.addr = range->base;
	err = device_ioctl(dev, PACCEL_IOC_HOST_REGISTER, &cmd);
	if (!err)
		return 0;
	munmap((void *)range->base, range->mapped);
	return dmabuf_failed(dev, err, fd, range->size);
}

int accel_host_register_dmabuf(struct accel_device *handle, int fd, size_t size, unsigned int flags,
			       void **ptr)
{
	KEEP_ERRNO;
	struct device *dev;
	struct range *range;
	int err = range_prepare(handle, ptr, size, ACCEL_MEMORY_REGISTERED, &dev, &range);

	if (err)
		return err;
	if (flags & ~ACCEL_REGISTER_READ_ONLY)
		err = fail(-EINVAL, "flags is %#x: only ACCEL_REGISTER_READ_ONLY (%#x) is known",
			   flags, ACCEL_REGISTER_READ_ONLY);
	else if (size > dev->max_host_bytes)
		err = size_above_max(dev, -EINVAL, size);
	else
		err = register_dmabuf(dev, range, fd, flags);
	if (err) {
		range_free(range);
		return err;
	}
	*ptr = (void *)range->base;
	range_publish(dev, range);
	return 0;
}
