/* SPDX-License-Identifier: MIT */
/* Memory that is shared as dma-bufs. */
#define _GNU_SOURCE
#include "fixture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE 200

static struct accel_device *dev;

static void test_import_of_own_memory(void)
{
	struct accel_memory_stats stats;
	struct accel_pointer_info info;
	void *again, *ptr;
	uint64_t serial;
	size_t size;
	int fd;

	dev = open_card();
	ptr = device_memory(dev, SIZE);
	expect(accel_pointer_get_info(ptr, &info), 0);
	serial = info.serial;
	expect(accel_memory_export(dev, ptr, &fd), 0);
	expect(accel_memory_import(dev, fd, &again, &size), 0);
	ok(again == ptr && size == SIZE);
	expect(accel_memory_import(dev, fd, &again, &size), 0);
	expect(accel_pointer_get_info(ptr, &info), 0);
	ok(info.serial == serial && info.size == SIZE);
	/* As many frees as there were of both. */
	for (int i = 0; i < 3; i++) {
		expect(accel_memory_copy(ptr, "abc", 3), 0);
		refused(accel_device_memory_deallocate(dev, ptr, SIZE - 1), -EINVAL, "200 bytes");
		expect(accel_device_memory_deallocate(dev, ptr, SIZE), 0);
	}
	refused(accel_device_memory_deallocate(dev, ptr, SIZE), -ENOENT, "no live allocation");
	expect(accel_pointer_get_info(ptr, &info), -ENOENT);
	expect(accel_memory_stats_full(dev, &stats), 0);
	ok(!stats.used);
	close(fd);
	expect(accel_device_close(dev), 0);
}

static void test_free_that_the_driver_refuses(void)
{
	void *ptr, *again;
	size_t size;
	int fd;

	dev = open_card();
	ptr = device_memory(dev, SIZE);
	expect(accel_memory_export(dev, ptr, &fd), 0);
	expect(accel_memory_import(dev, fd, &again, &size), 0);
	mock_fail(PACCEL_NR_MEM_FREE, 1, EIO);
	expect(accel_device_memory_deallocate(dev, ptr, SIZE), -EIO);
	expect(accel_device_memory_deallocate(dev, ptr, SIZE), 0);
	expect(accel_device_memory_deallocate(dev, ptr, SIZE), 0);
	expect(accel_device_memory_deallocate(dev, ptr, SIZE), -ENOENT);
	close(fd);
	expect(accel_device_close(dev), 0);
}

static void test_refused_exports(void)
{
	static char mine[SIZE];
	char *ptr, *host;
	int fd = 5;

	dev = open_card();
	ptr = device_memory(dev, SIZE);
	host = host_memory(dev, SIZE);
	expect(accel_host_register(dev, mine, SIZE, 0), 0);
	refused(accel_memory_export(dev, ptr, NULL), -EINVAL, "fd is NULL");
	refused(accel_memory_export(NULL, ptr, &fd), -EINVAL, "dev");
	ok(fd == -1);
	refused(accel_memory_export(dev, NULL, &fd), -EINVAL, "ptr is NULL");
	refused(accel_memory_export(dev, ptr + 1, &fd), -ENOENT, "inside the allocation");
	refused(accel_memory_export(dev, host + 1, &fd), -ENOENT, "inside the allocation");
	refused(accel_memory_export(dev, mine, &fd), -ENOENT, "registered memory");
	refused(accel_memory_export(dev, &fd, &fd), -ENOENT, "no live allocation");
	mock_fail(PACCEL_NR_MEM_EXPORT, 1, EMFILE);
	refused(accel_memory_export(dev, ptr, &fd), -EMFILE, "RLIMIT_NOFILE");
	ok(fd == -1);
	expect(accel_device_close(dev), 0);
}

static void test_refused_imports(void)
{
	struct accel_device *other;
	int none = memfd_create("none", 0), foreign, fd;
	void *ptr = (void *)1;
	size_t size = 1;

	dev = open_card();
	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	foreign = mock_dmabuf(4096);
	expect(accel_memory_export(other, device_memory(other, SIZE), &fd), 0);
	refused(accel_memory_import(dev, none, &ptr, &size), -EINVAL, "no dma-buf");
	ok(!ptr && !size);
	refused(accel_memory_import(dev, -1, &ptr, &size), -EINVAL, "fd -1 is no dma-buf");
	refused(accel_memory_import(dev, foreign, &ptr, &size), -EXDEV,
		"accel_host_register_dmabuf()");
	refused(accel_memory_import(dev, fd, &ptr, &size), -EXDEV, "not device memory of");
	refused(accel_memory_import(dev, fd, NULL, &size), -EINVAL, "ptr is NULL");
	refused(accel_memory_import(dev, fd, &ptr, NULL), -EINVAL, "size is NULL");
	refused(accel_memory_import(NULL, fd, &ptr, &size), -EINVAL, "dev");
	close(none);
	close(foreign);
	close(fd);
	expect(accel_device_close(other), 0);
	expect(accel_device_close(dev), 0);
}

/* Copies go to the memory behind the descriptor, the processor finds nothing at the address. */
static void test_memory_of_others(void)
{
	struct accel_pointer_info info;
	struct accel_stream *stream;
	char *ptr, text[8] = "";
	int fd = mock_dmabuf(8192);
	void *there;

	dev = open_card();
	expect(accel_stream_create(dev, &stream), 0);
	ptr = device_memory(dev, SIZE);
	ok(pwrite(fd, "dma-buf", 8, 4090) == 8);
	expect(accel_host_register_dmabuf(dev, fd, 5000, 0, &there), 0);
	expect(accel_pointer_get_info(there, &info), 0);
	ok(info.kind == ACCEL_MEMORY_REGISTERED && !info.flags);
	expect(accel_pointer_get_info(there, &info), 0);
	ok(info.base == there && info.size == 5000 && info.kind == ACCEL_MEMORY_REGISTERED);
	expect(accel_memory_copy_h2d(dev, ptr, (char *)there + 4090, 8), 0);
	ok(!strcmp((char *)mock_memory(0, MOCK_BASE), "dma-buf"));
	expect(accel_async_device_memory_set(dev, stream, ptr, 'X', 3), 0);
	expect(accel_async_memory_copy_d2h(dev, stream, there, ptr, 8), 0);
	expect(accel_stream_synchronize(stream), 0);
	ok(pread(fd, text, 8, 0) == 8 && !strcmp(text, "XXX-buf"));
	ok(!mock_calls(PACCEL_NR_COPY) || mock_calls(PACCEL_NR_COPY) == 1);
	refused(accel_memory_copy(text, there, 8), -EFAULT, "src");
	refused(accel_host_register(dev, there, 10, 0), -EEXIST, "overlaps");
	expect(accel_host_unregister(dev, there), 0);
	expect(accel_host_unregister(dev, there), -ENOENT);
	close(fd);
	expect(accel_device_close(dev), 0);
}

static void test_host_memory_for_others(void)
{
	char *host, *map;
	int fd;

	dev = open_card();
	host = host_memory(dev, 5000);
	expect(accel_memory_export(dev, host, &fd), 0);
	strcpy(host, "both");
	map = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	ok(map != MAP_FAILED && !strcmp(map, "both"));
	munmap(map, 8192);
	close(fd);
	expect(accel_device_close(dev), 0);
}

static void test_refused_registrations(void)
{
	int fd, none = memfd_create("none", 0), read_only, own;
	char path[32];
	void *ptr = (void *)1;
	unsigned char resident;
	uintptr_t there;

	dev = open_card();
	fd = mock_dmabuf(4096);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_only = open(path, O_RDONLY);
	expect(accel_memory_export(dev, device_memory(dev, SIZE), &own), 0);
	refused(accel_host_register_dmabuf(dev, none, 10, 0, &ptr), -EINVAL, "no dma-buf");
	ok(!ptr);
	refused(accel_host_register_dmabuf(dev, fd, 4097, 0, &ptr), -EINVAL, "less than 4097");
	refused(accel_host_register_dmabuf(dev, fd, 0, 0, &ptr), -EINVAL, "size is 0");
	refused(accel_host_register_dmabuf(dev, fd, 10, 2, &ptr), -EINVAL, "flags is 0x2");
	refused(accel_host_register_dmabuf(dev, fd, MOCK_HOST_MAX + 1, 0, &ptr), -EINVAL,
		"at most");
	refused(accel_host_register_dmabuf(dev, fd, 10, 0, NULL), -EINVAL, "ptr is NULL");
	refused(accel_host_register_dmabuf(NULL, fd, 10, 0, &ptr), -EINVAL, "dev");
	refused(accel_host_register_dmabuf(dev, read_only, 10, 0, &ptr), -EACCES, "READ_ONLY");
	refused(accel_host_register_dmabuf(dev, own, 10, 0, &ptr), -EOPNOTSUPP, "its driver");
	mock_fail(MOCK_MMAP, 1, ENOMEM);
	refused(accel_host_register_dmabuf(dev, fd, 10, 0, &ptr), -ENOMEM, "address space");
	mock_fail(PACCEL_NR_HOST_REGISTER, 1, ENOSPC);
	refused(accel_host_register_dmabuf(dev, fd, 10, 0, &ptr), -ENOSPC, "host ranges");
	/* Its addresses are given back. */
	there = MOCK_LAST(paccel_host_register, PACCEL_NR_HOST_REGISTER)->addr;
	ok(there && mincore((void *)there, 1, &resident) && errno == ENOMEM);
	expect(accel_host_register_dmabuf(dev, read_only, 10, ACCEL_REGISTER_READ_ONLY, &ptr), 0);
	close(none);
	close(own);
	close(read_only);
	close(fd);
	expect(accel_device_close(dev), 0);
}

int main(void)
{
	RUN(test_import_of_own_memory);
	RUN(test_free_that_the_driver_refuses);
	RUN(test_refused_exports);
	RUN(test_refused_imports);
	RUN(test_memory_of_others);
	RUN(test_host_memory_for_others);
	RUN(test_refused_registrations);
	return tap_end();
}
