/* SPDX-License-Identifier: MIT */
/*
 * Memory of a DRM driver as the source of a copy to the device, and memory of libaccel as a GEM
 * handle. vgem is a DRM driver that needs no hardware: modprobe vgem.
 *
 * Build: cc vgem.c $(pkg-config --cflags --libs accel-drm libdrm)
 */
#include <accel/drm.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xf86drm.h>

enum { SIZE = 4096 };

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, accel_strerror(err));
	exit(1);
}

int main(int argc, char **argv)
{
	int drm = open(argc > 1 ? argv[1] : "/dev/dri/card0", O_RDWR | O_CLOEXEC);
	struct drm_mode_create_dumb buffer = { .width = SIZE, .height = 1, .bpp = 8 };
	struct drm_mode_map_dumb place = { 0 };
	void *theirs, *host, *device;
	struct accel_device *dev;
	uint32_t handle;
	char *text;

	check(drmIoctl(drm, DRM_IOCTL_MODE_CREATE_DUMB, &buffer) ? -errno : 0, "make a buffer");
	place.handle = buffer.handle;
	check(drmIoctl(drm, DRM_IOCTL_MODE_MAP_DUMB, &place) ? -errno : 0, "ask for its offset");
	text = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, drm, (off_t)place.offset);
	check(text == MAP_FAILED ? -errno : 0, "map it");
	strcpy(text, "from a buffer of another driver");

	check(accel_device_open(0, &dev), "open");
	check(accel_device_memory_allocate(dev, &device, 64), "allocate");
	check(accel_host_memory_allocate(dev, &host, SIZE), "allocate host memory");

	/* The device reads the buffer without a copy. */
	check(accel_drm_memory_import(dev, drm, buffer.handle, SIZE, 0, &theirs), "import");
	check(accel_memory_copy(device, theirs, 64), "copy in");

	/* The device writes to memory that the DRM driver has a handle of. */
	check(accel_drm_memory_export(dev, host, drm, &handle), "export");
	check(accel_memory_copy(host, device, 64), "copy out");
	printf("%s: GEM handle %u\n", (char *)host, handle);
	return accel_device_close(dev);
}
