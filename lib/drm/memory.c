/* SPDX-License-Identifier: MIT */
/*
 * Memory: a dma-buf between a GEM handle and ours, gone when the call returns.
 */
#include "private.h"

#include <fcntl.h>
#include <unistd.h>
#include <xf86drm.h>

int accel_drm_memory_export(struct accel_device *dev, void *ptr, int drm, uint32_t *gem)
{
	KEEP_ERRNO;
	int fd, err;

	if (!gem)
		return -EINVAL;
	*gem = 0;
	err = accel_memory_export(dev, ptr, &fd);
	if (err)
		return err;
	err = drm_result(drmPrimeFDToHandle(drm, fd, gem));
	if (err)
		*gem = 0;
	close(fd);
	return err;
}

int accel_drm_memory_import(struct accel_device *dev, int drm, uint32_t gem, size_t size,
			    unsigned int flags, void **ptr)
{
	KEEP_ERRNO;
	unsigned int access = flags & ACCEL_REGISTER_READ_ONLY ? 0 : DRM_RDWR;
	int fd, err;

	if (!ptr)
		return -EINVAL;
	*ptr = NULL;
	err = drm_result(drmPrimeHandleToFD(drm, gem, DRM_CLOEXEC | access, &fd));
	if (err)
		return err;
	err = accel_host_register_dmabuf(dev, fd, size, flags, ptr);
	close(fd);
	return err;
}
