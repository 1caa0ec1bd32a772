// SPDX-License-Identifier: MIT
/* Fences of other drivers: how sw_sync and vgem make them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/dma-buf.h>
#include <linux/ioctl.h>
#include <linux/types.h>

#include "foreign.h"

/* --- sw_sync, of which the kernel has no header -------------------------- */

#define SW_SYNC "/sys/kernel/debug/sync/sw_sync"

struct sw_sync_create_fence_data {
	__u32 value;
	char name[32];
	__s32 fence;
};

#define SW_SYNC_IOC_CREATE_FENCE _IOWR('W', 0, struct sw_sync_create_fence_data)
#define SW_SYNC_IOC_INC _IOW('W', 1, __u32)

static int sw_sync_fence(struct foreign *f)
{
	struct sw_sync_create_fence_data data = { .value = ++f->last, .name = "test" };

	return ioctl(f->fd, SW_SYNC_IOC_CREATE_FENCE, &data) ? -errno : data.fence;
}

/* --- vgem, without libdrm's headers -------------------------------------- */

struct drm_version {
	int major, minor, patch;
	size_t name_len;
	char *name;
	size_t date_len;
	char *date;
	size_t desc_len;
	char *desc;
};

struct drm_create_dumb {
	__u32 height, width, bpp, flags, handle, pitch;
	__u64 size;
};

struct drm_prime_handle {
	__u32 handle, flags;
	__s32 fd;
};

struct drm_vgem_fence_attach {
	__u32 handle, flags, out_fence, pad;
};

struct drm_vgem_fence_signal {
	__u32 fence, flags;
};

#define DRM_IOCTL_VERSION _IOWR('d', 0x00, struct drm_version)
#define DRM_IOCTL_PRIME_HANDLE_TO_FD _IOWR('d', 0x2d, struct drm_prime_handle)
#define DRM_IOCTL_MODE_CREATE_DUMB _IOWR('d', 0xb2, struct drm_create_dumb)
#define DRM_IOCTL_VGEM_FENCE_ATTACH _IOWR('d', 0x41, struct drm_vgem_fence_attach)
#define DRM_IOCTL_VGEM_FENCE_SIGNAL _IOW('d', 0x42, struct drm_vgem_fence_signal)
#define VGEM_FENCE_WRITE 1

static int vgem_open(void)
{
	char path[32], name[16];

	for (int i = 0; i < 8; i++) {
		struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		memset(name, 0, sizeof(name));
		if (!ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "vgem"))
			return fd;
		close(fd);
	}
	return -1;
}

static int vgem_open_or_load(void)
{
	int fd = vgem_open();

	return fd < 0 && !system("modprobe vgem 2>/dev/null") ? vgem_open() : fd;
}

/* A page. */
static int vgem_buffer(struct foreign *f)
{
	struct drm_create_dumb dumb = { .height = 1, .width = 1024, .bpp = 32 };

	if (ioctl(f->fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb))
		return -errno;
	f->handle = dumb.handle;
	return 0;
}

/* The fence goes into the buffer, and comes out of the buffer's dma-buf. */
static int vgem_fence(struct foreign *f)
{
	struct drm_vgem_fence_attach attach = { .handle = f->handle,
						.flags = VGEM_FENCE_WRITE };
	struct drm_prime_handle prime = { .handle = f->handle, .flags = O_CLOEXEC | O_RDWR };
	struct dma_buf_export_sync_file sync = { .flags = DMA_BUF_SYNC_RW };
	int rc;

	if (ioctl(f->fd, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach) ||
	    ioctl(f->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime))
		return -errno;
	f->last = attach.out_fence;
	rc = ioctl(prime.fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &sync) ? -errno : sync.fd;
	close(prime.fd);
	return rc;
}

/* --- either of them ------------------------------------------------------ */

bool foreign_open(struct foreign *f)
{
	*f = (struct foreign){ .sw_sync = true };
	f->fd = open(SW_SYNC, O_RDWR | O_CLOEXEC);
	if (f->fd >= 0)
		return true;
	f->sw_sync = false;
	f->fd = vgem_open_or_load();
	return f->fd >= 0 && !vgem_buffer(f);
}

int foreign_fence(struct foreign *f)
{
	return f->sw_sync ? sw_sync_fence(f) : vgem_fence(f);
}

void foreign_signal(struct foreign *f)
{
	struct drm_vgem_fence_signal signal = { .fence = f->last };
	__u32 step = f->last - f->reached;
	int rc;

	/* Never beyond the last fence, also if it was signalled before: the next one would be as well. */
	f->reached = f->last;
	if (f->sw_sync)
		rc = step ? ioctl(f->fd, SW_SYNC_IOC_INC, &step) : 0;
	else
		rc = ioctl(f->fd, DRM_IOCTL_VGEM_FENCE_SIGNAL, &signal);
	/* vgem says so if the fence had timed out. */
	if (rc)
		perror("signalling a foreign fence");
}

void foreign_close(struct foreign *f)
{
	close(f->fd);
}

int foreign_read_only_dmabuf(void)
{
	struct foreign f = { .fd = vgem_open_or_load() };
	struct drm_prime_handle prime = { .flags = O_CLOEXEC };
	int rc;

	if (f.fd < 0)
		return -ENODEV;
	rc = vgem_buffer(&f);
	prime.handle = f.handle;
	if (!rc)
		rc = ioctl(f.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime) ? -errno : prime.fd;
	close(f.fd);
	return rc;
}
