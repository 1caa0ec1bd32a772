/* SPDX-License-Identifier: MIT */
/*
 * libaccel_drm: memory and streams of libaccel shared with DRM drivers, over libdrm.
 */
#ifndef ACCEL_DRM_H
#define ACCEL_DRM_H

#include <accel/accel.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: DRM
 *
 * A GPU, or anything else that has a DRM driver, shares memory and completion with a device through
 * the kernel's own objects: memory is a GEM handle there, and the completion of work is a syncobj.
 * These functions turn one into the other.
 *
 * Implicit fences are ignored. The caller orders accesses to shared memory, with syncobjs for
 * example.
 *
 * *drm* is always an open node of a DRM driver (``/dev/dri/renderD128``), the caller's.
 *
 * All functions return 0 (accel_drm_list(): a number) or a negative errno, with errno itself left
 * alone. accel_strerror() explains it; accel_last_error() has a sentence if libaccel refused the
 * call, and not the DRM driver.
 *
 * *Thread safety.* These functions may be called from several threads at once.
 *
 * *Lifetime.* The functions keep no state: every file descriptor that they use in between is closed
 * again. What they return is ended by the functions of its own library: a GEM handle by
 * drmCloseBufferHandle(), registered memory by accel_host_unregister() or the last
 * accel_device_close(). Each side holds the memory on its own, so one may be freed or closed before
 * the other.
 *
 * Example, a copy from a buffer of a DRM driver that waits for the work that writes it::
 *
 *     accel_drm_memory_import(dev, drm, gem, size, ACCEL_REGISTER_READ_ONLY, &frame);
 *     accel_drm_stream_wait(stream, drm, syncobj, 0);
 *     accel_async_memory_copy_h2d(dev, stream, ptr, frame, size);
 *     accel_stream_synchronize(stream);
 *     accel_host_unregister(dev, frame);
 *
 * *Examples.* See also examples/vgem.c in the sources.
 */

/**
 * enum accel_drm_capability - what a DRM driver can do (bits of accel_drm_info.capabilities)
 * @ACCEL_DRM_IMPORT: it takes memory of others: accel_drm_memory_export(). It may still refuse
 *	memory that its device cannot use
 * @ACCEL_DRM_EXPORT: it gives memory to others: accel_drm_memory_import()
 * @ACCEL_DRM_SYNCOBJ: it has syncobjs: accel_drm_stream_signal(), accel_drm_stream_wait()
 * @ACCEL_DRM_TIMELINE: they can be timelines
 */
enum accel_drm_capability {
	ACCEL_DRM_IMPORT = 1 << 0,
	ACCEL_DRM_EXPORT = 1 << 1,
	ACCEL_DRM_SYNCOBJ = 1 << 2,
	ACCEL_DRM_TIMELINE = 1 << 3,
};

/**
 * struct accel_drm_info - a DRM device
 * @node: path of its render node, or of its primary node if it has no other
 * @driver: name of its driver
 * @bus_address: where it is (``0000:01:00.0``), empty if that is no PCI address
 * @capabilities: bits of enum accel_drm_capability
 * @reserved: 0
 */
struct accel_drm_info {
	char node[64];
	char driver[32];
	char bus_address[32];
	uint32_t capabilities;
	uint32_t reserved;
};

/**
 * accel_drm_list() - list the DRM devices that this process may open
 * @infos: receives the first @count of them; may be NULL if @count is 0
 * @count: number of entries of @infos
 *
 * Opens every DRM device for a moment, and reports its node, its driver and what it can share.
 *
 * Return: how many there are, also if that is more than @count; ``-EINVAL`` (NULL); ``-ENOMEM``.
 */
int accel_drm_list(struct accel_drm_info *infos, unsigned int count);

/**
 * accel_drm_memory_export() - host memory as a GEM handle
 * @dev: handle that allocated it
 * @ptr: what accel_host_memory_allocate() or accel_unified_memory_allocate() returned
 * @drm: node of the DRM driver that will use it
 * @gem: receives the GEM handle, 0 on failure
 *
 * Makes a new GEM handle with each call. It holds the memory, as the dma-buf of
 * accel_memory_export() does, until drmCloseBufferHandle().
 *
 * Return: 0; an error of accel_memory_export(); ``-EOPNOTSUPP`` (@ptr is device memory, or the DRM
 * driver imports no memory); or an error of drmPrimeFDToHandle().
 */
int accel_drm_memory_export(struct accel_device *dev, void *ptr, int drm, uint32_t *gem);

/**
 * accel_drm_memory_import() - memory behind a GEM handle as registered host memory
 * @dev: handle of the device that will use it
 * @drm: node of the DRM driver
 * @gem: GEM handle; may be closed after the call
 * @size: bytes from its start, at least 1 and at most what it has
 * @flags: 0 or ACCEL_REGISTER_READ_ONLY
 * @ptr: receives an address that stands for the first byte, NULL on failure
 *
 * Copies of @dev take the address as that of registered memory, as with
 * accel_host_register_dmabuf(). The processor cannot access the memory at this address.
 * accel_host_unregister() ends the registration.
 *
 * Return: 0; an error of accel_host_register_dmabuf(); ``-ENOENT`` (@gem does not exist); or
 * another error of drmPrimeHandleToFD().
 */
int accel_drm_memory_import(struct accel_device *dev, int drm, uint32_t gem, size_t size,
			    unsigned int flags, void **ptr);

/**
 * accel_drm_stream_signal() - let a syncobj stand for the work of a stream
 * @stream: stream
 * @drm: node of the DRM driver
 * @syncobj: its syncobj
 * @point: point of a timeline, above all that it has; 0: the syncobj is binary, and what it stood
 *	for is replaced
 *
 * Makes @syncobj stand for the completion of all that is queued in @stream now: work of the DRM
 * driver that waits for it starts after that.
 *
 * Return: 0; an error of accel_stream_export_fence(); ``-ENOENT`` (@syncobj does not exist);
 * ``-EOPNOTSUPP`` (the driver has no syncobjs, or no timelines); ``-ENOMEM``.
 */
int accel_drm_stream_signal(struct accel_stream *stream, int drm, uint32_t syncobj,
			    uint64_t point);

/**
 * accel_drm_stream_wait() - let a stream wait for a syncobj
 * @stream: stream
 * @drm: node of the DRM driver
 * @syncobj: its syncobj
 * @point: point of a timeline, or 0 for what a binary one stands for now
 *
 * Work that is submitted to @stream later does not start before @syncobj is signalled. The work
 * that signals it must have been submitted to the DRM driver before the call: a stream never waits
 * for something that may never be submitted.
 *
 * Return: 0; ``-EINVAL`` (no work that signals @syncobj was submitted yet); ``-ENOENT`` (@syncobj
 * does not exist); ``-EOPNOTSUPP`` (the driver has no syncobjs, or no timelines); ``-ENOMEM``; or
 * an error of accel_stream_wait_fence().
 */
int accel_drm_stream_wait(struct accel_stream *stream, int drm, uint32_t syncobj, uint64_t point);

#ifdef __cplusplus
}
#endif

#endif
