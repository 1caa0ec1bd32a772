/* SPDX-License-Identifier: MIT */
/*
 * Bytes that one device moves, or the processor.
 */
#define _GNU_SOURCE
#include "api.h"
#include "copy.h"
#include "device.h"
#include "error.h"
#include "operand.h"

#include <linux/paccel.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int not_accessible(const struct operand *host, uintptr_t ptr, size_t size)
{
	return fail(-EFAULT, "%s: host memory at " ADDR ", %zu bytes, cannot be %s", host->name,
		    ptr, size,
		    host->written ? "written: not mapped, read-only, or a dead registration"
				  : "read: not mapped, or a dead registration");
}

int verify_refused(const struct accel_device *dev)
{
	return fail(-EOPNOTSUPP,
		    "%s does not verify this: that needs ACCEL_CAP_VERIFY, and memory that not "
		    "only another driver can access",
		    dev->name);
}

int verify_by_processor(void)
{
	return fail(-EOPNOTSUPP, "no device takes part, only the processor: there is nothing that "
				 "could verify it");
}

int copy_failed(const struct accel_device *dev, int err, const struct copy *copy)
{
	const struct operand *host = copy->dst.dev ? &copy->src : &copy->dst;

	if (err == -EOPNOTSUPP)
		return verify_refused(dev);
	if (err != -EFAULT)
		return general_error(dev, err);
	if (!host->dev)
		return not_accessible(host, host->ptr, host->size);
	return fail(err, "dst " ADDR " or src " ADDR " was freed by another thread", copy->dst.ptr,
		    copy->src.ptr);
}

uint64_t wire_address(const struct operand *operand)
{
	return operand->dev ? device_address(operand->dev, operand->ptr) : operand->ptr;
}

int copy_ioctl(struct accel_device *dev, uint32_t dir, const struct copy *copy)
{
	struct paccel_copy cmd = {
		.size = sizeof(cmd),
		.flags = copy->verify ? PACCEL_COPY_VERIFY : 0,
		.dir = dir,
		.dst = wire_address(&copy->dst),
		.src = wire_address(&copy->src),
		.width = copy->width,
		.rows = copy->rows,
		.dst_pitch = copy->dpitch,
		.src_pitch = copy->spitch,
	};

	return device_ioctl(dev, PACCEL_IOC_COPY, &cmd);
}

int copy_submit(struct accel_device *dev, uint32_t dir, const struct copy *copy)
{
	int err = copy_ioctl(dev, dir, copy);

	return err ? copy_failed(dev, err, copy) : 0;
}

/*
 * Pageable memory that is not there must be -EFAULT for the processor as it is for the device:
 * populating the pages is the check (in Linux since 5.14).
 */
int host_touch(const struct operand *host, uintptr_t ptr, size_t size)
{
	uintptr_t first = ptr & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	int advice = host->written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	if (host->known || !madvise((void *)first, ptr - first + size, advice))
		return 0;
	return not_accessible(host, ptr, size);
}

int copy_host(const struct copy *copy)
{
	if (copy->verify)
		return verify_by_processor();
	for (size_t row = 0; row < copy->rows; row++) {
		uintptr_t dst = copy->dst.ptr + row * copy->dpitch;
		uintptr_t src = copy->src.ptr + row * copy->spitch;
		int err = host_touch(&copy->dst, dst, copy->width);

		if (!err)
			err = host_touch(&copy->src, src, copy->width);
		if (err)
			return err;
		memmove((void *)dst, (const void *)src, copy->width);
	}
	return 0;
}
