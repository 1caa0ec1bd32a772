/* SPDX-License-Identifier: MIT */
/* Other drivers' dma-bufs, and one driver (vgem) that takes ours. */
#ifndef PACCEL_KSELFTEST_DMABUF_H
#define PACCEL_KSELFTEST_DMABUF_H

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include <libdrm/drm.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>

#include "paccel_test.h"

/* --- vgem ---------------------------------------------------------------- */

static int vgem_find(void)
{
	char path[32], name[32];

	for (int i = 0; i < 16; i++) {
		struct drm_version v = { .name = name, .name_len = sizeof(name) - 1 };
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		memset(name, 0, sizeof(name));
		if (fd >= 0 && !ioctl(fd, DRM_IOCTL_VERSION, &v) && !strcmp(name, "vgem"))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* A file of vgem's primary node: its render node makes no dumb buffers. */
static int vgem_open(void)
{
	int fd = vgem_find();

	if (fd < 0 && !system("modprobe vgem"))
		fd = vgem_find();
	return fd;
}

/* A handle on the dma-buf or a negative errno. */
static inline int vgem_import(int vgem, int dmabuf)
{
	struct drm_prime_handle prime = { .fd = dmabuf };

	return ioctl(vgem, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime) ? -errno : (int)prime.handle;
}

static int vgem_export(int vgem, u32 handle, u32 flags)
{
	struct drm_prime_handle prime = { .handle = handle, .flags = flags };

	return ioctl(vgem, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime) ? -errno : prime.fd;
}

static inline int vgem_close(int vgem, u32 handle)
{
	struct drm_gem_close cmd = { .handle = handle };

	return ioctl(vgem, DRM_IOCTL_GEM_CLOSE, &cmd);
}

/* A handle on a new buffer, or 0. */
static u32 vgem_create(int vgem, size_t bytes)
{
	struct drm_mode_create_dumb dumb = { .width = bytes, .height = 1, .bpp = 8 };

	return ioctl(vgem, DRM_IOCTL_MODE_CREATE_DUMB, &dumb) ? 0 : dumb.handle;
}

static int vgem_dmabuf(size_t bytes, bool writable)
{
	int vgem = vgem_open(), fd;

	fd = vgem_export(vgem, vgem_create(vgem, bytes), DRM_CLOEXEC | (writable ? DRM_RDWR : 0));
	close(vgem);
	return fd;
}

/* Nobody installs vgem_drm.h. A fence ends by itself after 10 seconds. */
struct vgem_fence {
	u32 handle, flags, out_fence, pad;
};

struct vgem_signal {
	u32 fence, flags;
};

#define VGEM_FENCE_ATTACH _IOWR(DRM_IOCTL_BASE, DRM_COMMAND_BASE + 1, struct vgem_fence)
#define VGEM_FENCE_SIGNAL _IOW(DRM_IOCTL_BASE, DRM_COMMAND_BASE + 2, struct vgem_signal)
#define VGEM_FENCE_WRITE 1

/* --- others ---------------------------------------------------------------- */

static int udmabuf_dmabuf(size_t bytes)
{
	struct udmabuf_create create = {
		.memfd = memfd_create("share", MFD_ALLOW_SEALING | MFD_CLOEXEC),
		.flags = UDMABUF_FLAGS_CLOEXEC,
		.size = bytes,
	};
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;

	if (ftruncate(create.memfd, bytes) || fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -1;
	fd = ioctl(dev, UDMABUF_CREATE, &create);
	close(dev);
	close(create.memfd);
	return fd;
}

static int heap_dmabuf(size_t bytes)
{
	struct dma_heap_allocation_data data = { .len = bytes, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
	int rc = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &data);

	close(heap);
	return rc ? -1 : (int)data.fd;
}

enum maker { VGEM, UDMABUF, HEAP, MAKERS };

/*
 * Debian's 6.1 has neither udmabuf nor heaps; from 6.12 on they must be there, but for heaps on
 * arm64.
 */
static inline enum maker makers(void)
{
	struct utsname name;
	int major, minor;

	if (uname(&name) || sscanf(name.release, "%d.%d", &major, &minor) != 2)
		abort();
	if (major < 6 || (major == 6 && minor < 12))
		return UDMABUF;
	return strcmp(name.machine, "aarch64") ? MAKERS : HEAP;
}

static inline int foreign_dmabuf(enum maker maker, size_t bytes)
{
	switch (maker) {
	case VGEM:
		return vgem_dmabuf(bytes, true);
	case UDMABUF:
		return udmabuf_dmabuf(bytes);
	default:
		return heap_dmabuf(bytes);
	}
}

/* --- what every dma-buf has ------------------------------------------------ */

static inline u8 *dmabuf_map(int dmabuf, size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
}

/* Before the CPU looks and after it has written. */
static inline int dmabuf_sync(int dmabuf, u64 flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	return ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync) ? -errno : 0;
}

#endif
