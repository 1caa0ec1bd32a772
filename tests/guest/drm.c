/* SPDX-License-Identifier: MIT */
/*
 * libaccel_drm with two independent drivers, in a guest with a card whose transfers take 100 ms
 * and a virtio-gpu: vgem shares memory, virtio-gpu has syncobjs.
 */
#define _GNU_SOURCE
#include "../kselftest/foreign.h"
#include "../unit/tap.h"

#include <accel/drm.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

#define PAGE 4096
#define SIZE 500
#define MOST 8

static struct accel_device *dev;
static int vgem, gpu;

#define RUN(test) run(test, #test)

/* As expect(), of a library that has numbers but no sentences. */
#define answers(call, value) \
	do { \
		errno = ERRNO_MARK; \
		ok((call) == (value)); \
		ok(errno == ERRNO_MARK); \
	} while (0)

static void run(void (*test)(void), const char *name)
{
	expect(accel_device_open(0, &dev), 0);
	test();
	expect(accel_device_close(dev), 0);
	tap_done(name);
}

static const struct accel_drm_info *find(const struct accel_drm_info *infos, int count,
					 const char *driver)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(infos[i].driver, driver))
			return &infos[i];
	return NULL;
}

/* vgem makes buffers through its primary node only. */
static int open_driver(const char *driver)
{
	char path[32];

	for (int i = 0; i < MOST; i++) {
		drmVersionPtr version;
		bool found;
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		version = drmGetVersion(fd);
		found = version && !strcmp(version->name, driver);
		drmFreeVersion(version);
		if (found)
			return fd;
		close(fd);
	}
	printf("Bail out! there is no %s\n", driver);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void fill(unsigned char *bytes, unsigned char seed)
{
	for (int i = 0; i < SIZE; i++)
		bytes[i] = (unsigned char)(i * 7 + seed);
}

/* ---- which there are ---- */

static void lists_both(void)
{
	struct accel_drm_info infos[MOST], one;
	int count = accel_drm_list(infos, MOST);
	const struct accel_drm_info *info;

	ok(count == 2);
	info = find(infos, count, "vgem");
	ok(info && info->capabilities == (ACCEL_DRM_IMPORT | ACCEL_DRM_EXPORT));
	ok(info && !*info->bus_address && !strncmp(info->node, "/dev/dri/renderD", 16));
	info = find(infos, count, "virtio_gpu");
	ok(info && info->capabilities & ACCEL_DRM_SYNCOBJ && info->capabilities & ACCEL_DRM_TIMELINE);
	ok(info && strlen(info->bus_address) == strlen("0000:01:00.0"));
	/* A shorter list is the beginning of the long one. */
	ok(accel_drm_list(&one, 1) == count && !memcmp(&one, infos, sizeof(one)));
	ok(accel_drm_list(NULL, 0) == count);
	answers(accel_drm_list(NULL, 1), -EINVAL);
}

/* ---- memory ---- */

static void host_memory_as_gem(void)
{
	unsigned char *host, *seen, bytes[SIZE];
	uint32_t gem, again;
	void *device, *p;
	int fd;

	expect(accel_host_memory_allocate(dev, &p, PAGE), 0);
	host = p;
	expect(accel_device_memory_allocate(dev, &device, SIZE), 0);
	answers(accel_drm_memory_export(dev, host, vgem, &gem), 0);
	answers(accel_drm_memory_export(dev, host, vgem, &again), 0);
	/* Each call is a dma-buf of its own, and so a handle. */
	ok(gem && again && gem != again);
	ok(!drmCloseBufferHandle(vgem, again));
	/* What the card writes is seen through the other driver. */
	fill(bytes, 1);
	expect(accel_memory_copy(device, bytes, SIZE), 0);
	expect(accel_memory_copy(host, device, SIZE), 0);
	ok(!drmPrimeHandleToFD(vgem, gem, DRM_CLOEXEC | DRM_RDWR, &fd));
	seen = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ok(seen != MAP_FAILED && !memcmp(seen, bytes, SIZE));
	close(fd);
	munmap(seen, PAGE);
	/* And stays when we are done with it. */
	expect(accel_host_memory_deallocate(dev, host, PAGE), 0);
	ok(!drmPrimeHandleToFD(vgem, gem, DRM_CLOEXEC, &fd));
	seen = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ok(seen != MAP_FAILED && !memcmp(seen, bytes, SIZE));
	close(fd);
	munmap(seen, PAGE);
	ok(!drmCloseBufferHandle(vgem, gem));
}

static void gem_as_host_memory(void)
{
	struct drm_mode_create_dumb dumb = { .width = PAGE, .height = 1, .bpp = 8 };
	struct drm_mode_map_dumb place = { 0 };
	unsigned char *theirs, bytes[SIZE];
	void *device, *ptr;

	ok(!drmIoctl(vgem, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	place.handle = dumb.handle;
	ok(!drmIoctl(vgem, DRM_IOCTL_MODE_MAP_DUMB, &place));
	theirs = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, vgem, (off_t)place.offset);
	fill(theirs, 2);
	expect(accel_device_memory_allocate(dev, &device, SIZE), 0);
	answers(accel_drm_memory_import(dev, vgem, dumb.handle, PAGE, 0, &ptr), 0);
	expect(accel_memory_copy(device, ptr, SIZE), 0);
	expect(accel_memory_copy(bytes, device, SIZE), 0);
	ok(!memcmp(theirs, bytes, SIZE));
	expect(accel_memory_copy((char *)ptr + 1000, device, SIZE), 0);
	ok(!memcmp(theirs + 1000, bytes, SIZE));
	expect(accel_host_unregister(dev, ptr), 0);
	answers(accel_drm_memory_import(dev, vgem, dumb.handle, PAGE, ACCEL_REGISTER_READ_ONLY, &ptr),
	       0);
	expect(accel_memory_copy(ptr, device, SIZE), -EFAULT);
	expect(accel_host_unregister(dev, ptr), 0);
	munmap(theirs, PAGE);
	ok(!drmCloseBufferHandle(vgem, dumb.handle));
}

static void memory_refusals(void)
{
	void *device, *host, *ptr = &ptr;
	uint32_t gem = 7;

	expect(accel_device_memory_allocate(dev, &device, SIZE), 0);
	expect(accel_host_memory_allocate(dev, &host, PAGE), 0);
	/* There are no pages behind it. */
	answers(accel_drm_memory_export(dev, device, vgem, &gem), -EOPNOTSUPP);
	ok(gem == 0);
	answers(accel_drm_memory_export(dev, (char *)host + 1, vgem, &gem), -ENOENT);
	answers(accel_drm_memory_export(dev, host, vgem, NULL), -EINVAL);
	answers(accel_drm_memory_export(dev, host, -1, &gem), -EBADF);
	answers(accel_drm_memory_import(dev, vgem, 12345, PAGE, 0, &ptr), -ENOENT);
	ok(!ptr);
	answers(accel_drm_memory_import(dev, vgem, 12345, PAGE, 0, NULL), -EINVAL);
	answers(accel_drm_memory_export(dev, host, vgem, &gem), 0);
	answers(accel_drm_memory_import(dev, vgem, gem, PAGE + 1, 0, &ptr), -EINVAL);
	ok(!drmCloseBufferHandle(vgem, gem));
}

/* ---- completion ---- */

static struct accel_stream *first, *second;
static void *device, *host;

/* What is queued on it from now on waits until the gate is opened by foreign_signal(). */
static void gate_before(struct accel_stream *stream, struct foreign *gate)
{
	uint32_t syncobj;
	int fence;

	ok(foreign_open(gate));
	fence = foreign_fence(gate);
	ok(fence >= 0);
	ok(!drmSyncobjCreate(gpu, 0, &syncobj));
	ok(!drmSyncobjImportSyncFile(gpu, syncobj, fence));
	answers(accel_drm_stream_wait(stream, gpu, syncobj, 0), 0);
	ok(!drmSyncobjDestroy(gpu, syncobj));
	close(fence);
}

static void streams_open(void)
{
	expect(accel_stream_create(dev, &first), 0);
	expect(accel_stream_create(dev, &second), 0);
	expect(accel_device_memory_allocate(dev, &device, SIZE), 0);
	expect(accel_host_memory_allocate(dev, &host, PAGE), 0);
}

/* From stream to syncobj to stream: the second copies what the first has written. */
static void round_trip(uint32_t syncobj, uint64_t point)
{
	uint64_t waits = point;
	struct foreign gate;

	gate_before(first, &gate);
	fill(host, (unsigned char)(3 + point));
	expect(accel_async_device_memory_set(dev, first, device, 0, SIZE), 0);
	expect(accel_async_memory_copy_h2d(dev, first, device, host, SIZE), 0);
	answers(accel_drm_stream_signal(first, gpu, syncobj, point), 0);
	answers(accel_drm_stream_wait(second, gpu, syncobj, point), 0);
	expect(accel_async_memory_copy_d2h(dev, second, (char *)host + 1000, device, SIZE), 0);
	ok(point ? drmSyncobjTimelineWait(gpu, &syncobj, &waits, 1, 0, 0, NULL) == -ETIME :
		   drmSyncobjWait(gpu, &syncobj, 1, 0, 0, NULL) == -ETIME);
	foreign_signal(&gate);
	expect(accel_stream_synchronize(second), 0);
	ok(!memcmp(host, (char *)host + 1000, SIZE));
	expect(accel_stream_query(first), 0);
	ok(!(point ? drmSyncobjTimelineWait(gpu, &syncobj, &waits, 1, (int64_t)now_ns(), 0, NULL) :
		     drmSyncobjWait(gpu, &syncobj, 1, (int64_t)now_ns(), 0, NULL)));
	foreign_close(&gate);
}

static void binary_syncobj(void)
{
	uint32_t syncobj;

	streams_open();
	ok(!drmSyncobjCreate(gpu, 0, &syncobj));
	/* It stands for nothing yet. */
	answers(accel_drm_stream_wait(second, gpu, syncobj, 0), -EINVAL);
	round_trip(syncobj, 0);
	ok(!drmSyncobjDestroy(gpu, syncobj));
}

static void timeline_syncobj(void)
{
	uint64_t value = 0;
	uint32_t syncobj;

	streams_open();
	ok(!drmSyncobjCreate(gpu, 0, &syncobj));
	answers(accel_drm_stream_wait(second, gpu, syncobj, 5), -EINVAL);
	round_trip(syncobj, 5);
	ok(!drmSyncobjQuery(gpu, &syncobj, &value, 1));
	ok(value == 5);
	/* What the other side signals by itself is waited for, too. */
	value = 9;
	ok(!drmSyncobjTimelineSignal(gpu, &syncobj, &value, 1));
	answers(accel_drm_stream_wait(second, gpu, syncobj, 9), 0);
	expect(accel_stream_synchronize(second), 0);
	ok(!drmSyncobjDestroy(gpu, syncobj));
}

static void sync_refusals(void)
{
	uint32_t syncobj;

	streams_open();
	ok(!drmSyncobjCreate(gpu, 0, &syncobj));
	answers(accel_drm_stream_signal(NULL, gpu, syncobj, 0), -EINVAL);
	answers(accel_drm_stream_signal(first, gpu, 12345, 0), -ENOENT);
	answers(accel_drm_stream_signal(first, gpu, 12345, 1), -ENOENT);
	answers(accel_drm_stream_wait(first, gpu, 12345, 0), -ENOENT);
	answers(accel_drm_stream_wait(first, gpu, 12345, 1), -ENOENT);
	/* vgem has no syncobjs. */
	answers(accel_drm_stream_signal(first, vgem, 1, 0), -EOPNOTSUPP);
	answers(accel_drm_stream_wait(first, vgem, 1, 1), -EOPNOTSUPP);
	ok(!drmSyncobjDestroy(gpu, syncobj));
}

int main(void)
{
	vgem = open_driver("vgem");
	gpu = open_driver("virtio_gpu");
	RUN(lists_both);
	RUN(host_memory_as_gem);
	RUN(gem_as_host_memory);
	RUN(memory_refusals);
	RUN(binary_syncobj);
	RUN(timeline_syncobj);
	RUN(sync_refusals);
	return tap_end();
}
