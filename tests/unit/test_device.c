/* SPDX-License-Identifier: MIT */
/* Finding, opening, closing and losing cards. */
#define _GNU_SOURCE
#include "fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_count(void)
{
	expect(accel_device_count(), 0);
	mock_add(3);
	expect(accel_device_count(), 1);
	mock_add(0);
	mock_add(10);
	expect(accel_device_count(), 3);
	mock_fail(MOCK_OPENDIR, 1, EACCES);
	refused(accel_device_count(), -EACCES, "/dev");
	expect(accel_device_count(), 3);
}

static void test_index_is_in_order_of_number(void)
{
	static const unsigned int nodes[] = { 0, 2, 10 };
	struct accel_device_info info;
	struct accel_device *dev;

	mock_add(10);
	mock_add(0);
	mock_add(2);
	for (int i = 0; i < 3; i++) {
		expect(accel_device_open(i, &dev), 0);
		expect(accel_device_get_info(dev, &info), 0);
		ok(info.node == nodes[i]);
		expect(accel_device_close(dev), 0);
	}
}

static void test_open_by_name(void)
{
	static const struct {
		const char *name;
		unsigned int node;
		int index;
	} names[] = {
		{ "/dev/paccel0", 0, 0 },
		{ "/dev/paccel10", 10, 2 },
		{ "0000:03:00.0", 2, 1 },
		{ "03:00.0", 2, 1 },
		{ "3:0.0", 2, 1 },
		{ "0000:0b:00.0", 10, 2 },
		{ "0000:0B:00.0", 10, 2 },
	};
	struct accel_device_info info;
	struct accel_device *dev, *same;

	mock_add(10);
	mock_add(0);
	mock_add(2);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		expect(accel_device_open_name(names[i].name, &dev), 0);
		expect(accel_device_get_info(dev, &info), 0);
		ok(info.node == names[i].node && mock_files() == 1);
		expect(accel_device_open(names[i].index, &same), 0);
		ok(same == dev);
		expect(accel_device_close(dev), 0);
		expect(accel_device_close(same), 0);
	}
}

static void removes_first(void)
{
	mock_remove(0);
}

static void test_open_by_bad_name(void)
{
	static const char *const names[] = { "paccel0", "01:00", "01:00.0 ", "-1:00.0", "0x1:00.0",
					     "1:0000:01:00.0", "01:00.00", "0", "?" };
	struct accel_device *dev = (void *)1;

	refused(accel_device_open_name("/dev/paccel0", &dev), -ENODEV, "no /dev/paccelN");
	ok(!dev);
	mock_add(0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		refused(accel_device_open_name(names[i], &dev), -EINVAL, names[i]);
	refused(accel_device_open_name(NULL, &dev), -EINVAL, "name is NULL");
	refused(accel_device_open_name("", &dev), -EINVAL, "name is empty");
	refused(accel_device_open_name("/dev/paccel0", NULL), -EINVAL, "dev is NULL");
	refused(accel_device_open_name("/dev/paccel1", &dev), -ENODEV, "there is no /dev/paccel1");
	refused(accel_device_open_name("/dev/null", &dev), -EINVAL, "/dev/null is none");
	refused(accel_device_open_name("/", &dev), -EINVAL, "/ is none");
	refused(accel_device_open_name("/dev/null/x", &dev), -ENODEV, "/dev/null/x");
	refused(accel_device_open_name("02:00.0", &dev), -ENODEV, "0000:02:00.0");
	mock_fail(MOCK_OPENDIR, 1, EACCES);
	refused(accel_device_open_name("01:00.0", &dev), -EACCES, "/dev");
	/* That node may be the one. */
	mock_fail(MOCK_OPEN, 1, EACCES);
	refused(accel_device_open_name("01:00.0", &dev), -EACCES, "/dev/paccel0");
	mock_fail(PACCEL_NR_DEVICE_INFO, 1, EIO);
	refused(accel_device_open_name("01:00.0", &dev), -EIO, "/dev/paccel0");
	ok(!dev && !mock_files());
}

/* Its position belongs to another device by the time that it is opened: it is the node that counts. */
static void test_open_by_name_while_others_go(void)
{
	struct accel_device_info info;
	struct accel_device *dev;

	for (unsigned int node = 0; node < 3; node++)
		mock_add(node);
	mock_before(PACCEL_NR_DEVICE_INFO, removes_first);
	expect(accel_device_open_name("02:00.0", &dev), 0);
	expect(accel_device_get_info(dev, &info), 0);
	ok(!strcmp(info.bus_address, "0000:02:00.0"));
	expect(accel_device_close(dev), 0);
	ok(!mock_files());
}

static void test_reset(void)
{
	struct accel_device *dev = open_card();
	char *ptr = device_memory(dev, 64), back[3];

	expect(accel_memory_copy(ptr, "abc", 3), 0);
	expect(accel_device_reset(dev), 0);
	ok(mock_calls(PACCEL_NR_RESET) == 1);
	expect(accel_memory_copy(back, ptr, 3), 0);
	ok(!memcmp(back, "abc", 3));
	refused(accel_device_reset(NULL), -EINVAL, "dev is NULL");
	mock_admin(false);
	refused(accel_device_reset(dev), -EACCES, "CAP_SYS_ADMIN");
	mock_admin(true);
	mock_fail(PACCEL_NR_RESET, 1, EIO);
	refused(accel_device_reset(dev), -EIO, "out of service");
	mock_remove(0);
	refused(accel_device_reset(dev), -ENODEV, "removed");
	expect(accel_device_close(dev), 0);
}

static bool is_readable(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };

	return poll(&polled, 1, 0) == 1 && polled.revents == POLLIN;
}

static void test_lost_fd(void)
{
	struct accel_device *dev = open_card(), *other;
	int fd = 77, second, far, more;

	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	expect(accel_device_lost_fd(dev, &fd), 0);
	expect(accel_device_lost_fd(dev, &second), 0);
	expect(accel_device_lost_fd(other, &far), 0);
	ok(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	ok(!is_readable(fd) && !is_readable(second) && !is_readable(far));
	mock_remove(0);
	for (int i = 0; i < 2; i++)
		ok(is_readable(fd) && is_readable(second) && !is_readable(far));
	expect(accel_device_lost_fd(dev, &more), 0);
	ok(is_readable(more));
	mock_lose(1);
	ok(is_readable(far));
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(other), 0);
	/* They are the program's, and hold nothing. */
	ok(!mock_files() && !is_readable(fd));
	ok(!close(fd) && !close(second) && !close(far) && !close(more));
}

/* As a poll loop sees it. */
static void *removes_card(void *arg)
{
	while (!__atomic_load_n((bool *)arg, __ATOMIC_ACQUIRE))
		sched_yield();
	mock_remove(0);
	return NULL;
}

static void test_lost_fd_wakes(void)
{
	struct accel_device *dev = open_card();
	struct pollfd polled = { .events = POLLIN };
	bool ready = false;
	pthread_t thread;

	expect(accel_device_lost_fd(dev, &polled.fd), 0);
	pthread_create(&thread, NULL, removes_card, &ready);
	__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	ok(poll(&polled, 1, 10000) == 1);
	pthread_join(thread, NULL);
	close(polled.fd);
	expect(accel_device_close(dev), 0);
}

static void test_lost_fd_bad_arguments(void)
{
	struct accel_device *dev = open_card();
	struct rlimit limit, none;
	int fd = 77;

	refused(accel_device_lost_fd(dev, NULL), -EINVAL, "fd is NULL");
	refused(accel_device_lost_fd(NULL, &fd), -EINVAL, "dev is NULL");
	ok(fd == -1);
	getrlimit(RLIMIT_NOFILE, &limit);
	none = limit;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	refused(accel_device_lost_fd(dev, &fd), -EMFILE, "/dev/paccel0");
	setrlimit(RLIMIT_NOFILE, &limit);
	ok(fd == -1);
	expect(accel_device_close(dev), 0);
}

static void test_open_without_driver(void)
{
	struct accel_device *dev = (void *)1;

	mock_unload();
	refused(accel_device_open(0, &dev), -ENODEV, "modprobe paccel");
	ok(!dev);
}

static void test_open_without_card(void)
{
	struct accel_device *dev = (void *)1;

	refused(accel_device_open(0, &dev), -ENODEV, "there is no device");
	ok(!dev);
	mock_add(0);
	mock_add(1);
	refused(accel_device_open(2, &dev), -ENODEV, "the last device is 1");
	refused(accel_device_open(1 << 30, &dev), -ENODEV, "the last device is 1");
}

static void test_open_bad_arguments(void)
{
	struct accel_device *dev = (void *)1;

	mock_add(0);
	refused(accel_device_open(-1, &dev), -EINVAL, "-1");
	ok(!dev);
	refused(accel_device_open(0, NULL), -EINVAL, "NULL");
	refused(accel_device_close(NULL), -EINVAL, "NULL");
}

static void test_open_without_permission(void)
{
	struct accel_device *dev = (void *)1;

	mock_add(0);
	mock_fail(MOCK_OPEN, 1, EACCES);
	refused(accel_device_open(0, &dev), -EACCES,
		"/dev/paccel0: it belongs to user 0 and group 44, mode 660");
	ok(!dev);
	expect(accel_device_count(), 1);
	mock_fail(MOCK_OPEN, 1, EPERM);
	refused(accel_device_open(0, &dev), -EACCES, "container");
	mock_fail(MOCK_OPEN, 1, EMFILE);
	refused(accel_device_open(0, &dev), -EMFILE, "/dev/paccel0");
	mock_fail(MOCK_OPEN, 1, ENXIO);
	refused(accel_device_open(0, &dev), -ENODEV, "removed");
}

static void test_open_fails_half_way(void)
{
	struct accel_device *dev = (void *)1;

	mock_add(0);
	mock_fail(PACCEL_NR_DEVICE_INFO, 1, EIO);
	expect(accel_device_open(0, &dev), -EIO);
	ok(!dev && !mock_files());
	mock_fail(MOCK_MMAP, 1, ENOMEM);
	refused(accel_device_open(0, &dev), -ENOMEM, "address space");
	ok(!dev && !mock_files());
	mock_fail(MOCK_MMAP, 1, EAGAIN);
	refused(accel_device_open(0, &dev), -ENOMEM, "MCL_FUTURE");
	ok(!dev && !mock_files());
	mock_foreign(0);
	refused(accel_device_open(0, &dev), -ENODEV, "does not belong to the paccel driver");
	ok(!dev && !mock_files());
}

static void test_card_larger_than_address_space(void)
{
	struct accel_device *dev;

	mock_add_sized(0, UINT64_MAX - 4095, 4096);
	refused(accel_device_open(0, &dev), -ENOMEM, "larger than the address space");
	mock_add_sized(0, 1ull << 60, 4096);
	refused(accel_device_open(0, &dev), -ENOMEM, "address space");
}

static void test_open_restarts_after_a_signal(void)
{
	struct accel_device *dev;

	mock_add(0);
	mock_fail(MOCK_OPEN, 1, EINTR);
	expect(accel_device_open(0, &dev), 0);
	expect(accel_device_close(dev), 0);
}

static void test_file_is_read_write_and_closed_on_exec(void)
{
	struct accel_device *dev = open_card();

	ok((mock_open_flags() & (O_ACCMODE | O_CLOEXEC)) == (O_RDWR | O_CLOEXEC));
	expect(accel_device_close(dev), 0);
}

static void test_second_open_is_the_same_handle(void)
{
	struct accel_device *dev = open_card(), *again;
	char *ptr = device_memory(dev, 64);

	expect(accel_device_open(0, &again), 0);
	ok(again == dev && mock_files() == 1);
	expect(accel_device_close(again), 0);
	expect(accel_memory_copy(ptr, "abc", 3), 0);
	expect(accel_device_close(dev), 0);
	ok(!mock_files());
}

static void test_two_cards_are_two_handles(void)
{
	struct accel_device *dev = open_card(), *other;

	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	ok(other != dev && mock_files() == 2);
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(other), 0);
}

static int mapped(const void *ptr)
{
	unsigned char resident;

	return !mincore((void *)((uintptr_t)ptr & ~4095ul), 1, &resident);
}

static void test_closed_handle(void)
{
	struct accel_device *dev = open_card(), *again;
	struct accel_device_info info;

	expect(accel_device_close(dev), 0);
	refused(accel_device_close(dev), -EINVAL, "was closed");
	refused(accel_device_get_info(dev, &info), -EINVAL, "was closed");
	expect(accel_device_open(0, &again), 0);
	expect(accel_device_close(again), 0);
	refused(accel_device_close(again), -EINVAL, "was closed");
}

static void test_last_close_frees_all(void)
{
	struct accel_device *dev = open_card();
	char *device = device_memory(dev, 4032), *host = host_memory(dev, 5000),
	     *unified = unified_memory(dev, 1);
	static char mine[8192];
	struct accel_pointer_info info;

	expect(accel_host_register(dev, mine, sizeof(mine), 0), 0);
	ok(mapped(device) && mapped(host) && mapped(unified));
	expect(accel_device_close(dev), 0);
	ok(!mapped(device) && !mapped(host) && !mapped(host + 4999) && !mapped(unified) &&
	   mapped(mine));
	expect(accel_pointer_get_info(mine, &info), 0);
	ok(info.kind == ACCEL_MEMORY_PAGEABLE);
	expect(accel_device_open(0, &dev), 0);
	device_memory(dev, 4032);
	expect(accel_device_close(dev), 0);
}

static void test_info(void)
{
	struct accel_device *dev = open_card();
	struct accel_device_info info;

	memset(&info, 0xff, sizeof(info));
	expect(accel_device_get_info(dev, &info), 0);
	ok(!strcmp(info.name, "mock") && !strcmp(info.bus_address, "0000:01:00.0"));
	ok(info.memory_size == 4032 && info.granule == 64 && info.max_transfer == 4032);
	ok(info.max_alignment == 2 << 20 && info.max_host_bytes == MOCK_HOST_MAX);
	ok(info.max_host_ranges == MOCK_HOST_RANGES && info.engines == 1 && info.dma_bits == 28 &&
	   info.node == 0 && info.copy_align == 1);
	ok(info.capabilities == ACCEL_CAP_MEM_SURVIVES_RESET);
	for (size_t i = 0; i < sizeof(info.reserved) / sizeof(info.reserved[0]); i++)
		ok(!info.reserved[i]);
	refused(accel_device_get_info(dev, NULL), -EINVAL, "info");
	refused(accel_device_get_info(NULL, &info), -EINVAL, "dev");
	expect(accel_device_close(dev), 0);
}

/* Every call that reaches the card, with arguments that were good before. */
static void expect_all(struct accel_device *dev, char *device, char *host, char *unified,
		       char *registered, int err)
{
	struct accel_memory_stats stats;
	struct accel_device_info info;
	char bytes[8];
	size_t a, b;
	void *ptr;

	expect(accel_device_get_info(dev, &info), err);
	expect(accel_device_memory_allocate(dev, &ptr, 64), err);
	ok(!ptr);
	expect(accel_host_memory_allocate(dev, &ptr, 64), err);
	ok(!ptr);
	expect(accel_unified_memory_allocate(dev, &ptr, 64), err);
	ok(!ptr);
	expect(accel_host_register(dev, bytes, 8, 0), err);
	expect(accel_memory_copy_h2d(dev, device, bytes, 8), err);
	expect(accel_memory_copy_h2d(dev, unified, bytes, 8), err);
	expect(accel_memory_copy_d2h(dev, bytes, device, 8), err);
	expect(accel_memory_copy_d2h(dev, bytes, unified, 8), err);
	expect(accel_memory_copy_d2d(dev, device, device + 8, 8), err);
	expect(accel_memory_copy_d2d(dev, unified, unified + 8, 8), err);
	expect(accel_memory_copy_p2p(dev, dev, device, device + 8, 8), err);
	expect(accel_async_memory_copy_h2d(dev, NULL, device, bytes, 8), err);
	expect(accel_async_memory_copy_d2h(dev, NULL, bytes, device, 8), err);
	expect(accel_async_memory_copy_d2d(dev, NULL, device, device + 8, 8), err);
	expect(accel_async_memory_copy_p2p(dev, dev, NULL, device, device + 8, 8), err);
	expect(accel_memory_copy(device, bytes, 8), err);
	expect(accel_memory_copy_2d(device, 8, bytes, 4, 2, 2), err);
	expect(accel_device_memory_set(dev, device, 1, 8), err);
	expect(accel_device_memory_set(dev, unified, 1, 8), err);
	expect(accel_device_memory_stats(dev, &a, &b), err);
	expect(accel_memory_stats_full(dev, &stats), err);
	expect(accel_device_memory_deallocate(dev, device, 64), err);
	expect(accel_host_memory_deallocate(dev, host, 64), err);
	expect(accel_unified_memory_deallocate(dev, unified, 64), err);
	expect(accel_host_unregister(dev, registered), err);
}

static void test_removed_card(void)
{
	struct accel_device *dev = open_card(), *again = (void *)1;
	char *device = device_memory(dev, 64), *host = host_memory(dev, 64),
	     *unified = unified_memory(dev, 64);
	static char registered[64];

	expect(accel_host_register(dev, registered, 64, 0), 0);
	mock_remove(0);
	for (int i = 0; i < 2; i++)
		expect_all(dev, device, host, unified, registered, -ENODEV);
	refused(accel_memory_copy(device, registered, 1), -ENODEV, "the device was removed");
	host[0] = unified[0] = 1;
	expect(accel_device_open(0, &again), -ENODEV);
	ok(!again);
	expect(accel_device_close(dev), 0);
}

static void test_card_comes_back(void)
{
	struct accel_device *dev = open_card(), *back;
	char *old = device_memory(dev, 64), *new;

	mock_remove(0);
	mock_add(0);
	expect(accel_device_open(0, &back), 0);
	ok(back != dev && mock_files() == 2);
	new = device_memory(back, 64);
	ok(new != old);
	expect(accel_memory_copy(new, "new", 3), 0);
	expect(accel_memory_copy(old, "old", 3), -ENODEV);
	refused(accel_memory_copy_h2d(back, old, "old", 3), -EFAULT, "another handle");
	ok(!memcmp(mock_memory(0, MOCK_BASE), "new", 3));
	expect(accel_device_close(dev), 0);
	expect(accel_memory_copy(new, "end", 3), 0);
	expect(accel_device_close(back), 0);
}

static void test_lost_memory(void)
{
	struct accel_device *dev = open_card(), *again;
	char *ptr = device_memory(dev, 64);
	size_t total, left;

	mock_lose(0);
	refused(accel_memory_copy(ptr, "abc", 3), -ESTALE, "reset");
	expect(accel_device_memory_deallocate(dev, ptr, 64), -ESTALE);
	expect(accel_device_memory_stats(dev, &total, &left), 0);
	expect(accel_device_open(0, &again), 0);
	ok(again != dev);
	device_memory(again, 64);
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(again), 0);
}

static void test_every_command_restarts_after_a_signal(void)
{
	struct accel_device *dev = open_card();
	static char bytes[64];
	char *device, *host;

	mock_fail(PACCEL_NR_MEM_ALLOC, 1, EINTR);
	device = device_memory(dev, 64);
	mock_fail(PACCEL_NR_HOST_ALLOC, 1, EINTR);
	host = host_memory(dev, 64);
	mock_fail(PACCEL_NR_HOST_REGISTER, 1, EINTR);
	expect(accel_host_register(dev, bytes, 64, 0), 0);
	mock_fail(PACCEL_NR_COPY, 1, EINTR);
	expect(accel_memory_copy(device, bytes, 64), 0);
	mock_fail(PACCEL_NR_FILL, 1, EINTR);
	expect(accel_device_memory_set(dev, device, 7, 64), 0);
	mock_fail(PACCEL_NR_MEM_FREE, 1, EINTR);
	expect(accel_device_memory_deallocate(dev, device, 64), 0);
	mock_fail(PACCEL_NR_HOST_FREE, 1, EINTR);
	expect(accel_host_memory_deallocate(dev, host, 64), 0);
	ok(mock_calls(PACCEL_NR_COPY) == 2 && mock_calls(PACCEL_NR_FILL) == 2);
	/* "Would block" is no reason to ask again, but an error like others. */
	mock_fail(PACCEL_NR_HOST_FREE, 1, EAGAIN);
	expect(accel_host_unregister(dev, bytes), -EAGAIN);
	expect(accel_host_unregister(dev, bytes), 0);
	expect(accel_device_close(dev), 0);
}

static int ends_in_sigsegv(volatile char *ptr, int write)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		/* The sanitizers' handlers would report it and exit. */
		signal(SIGSEGV, SIG_DFL);
		if (write)
			*ptr = 1;
		else
			(void)*ptr;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void test_window(void)
{
	struct accel_device *dev = open_card(), *other;
	char *ptr = device_memory(dev, 4032), *far;
	size_t distance;

	ok(ends_in_sigsegv(ptr, 0) && ends_in_sigsegv(ptr + 4031, 1));
	ok(ends_in_sigsegv(ptr + 4032, 0) && ends_in_sigsegv(ptr - 1, 1));
	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	far = device_memory(other, 1);
	distance = far > ptr ? (size_t)(far - ptr) : (size_t)(ptr - far);
	ok(distance >= 2 << 20);
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(other), 0);
}

#define MAPPED (4 << 20)

/* True if another mapping could get this address. */
static int is_free(char *ptr)
{
	void *at = (void *)((uintptr_t)ptr & ~(uintptr_t)4095);
	void *map = mmap(at, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			 -1, 0);

	if (map == MAP_FAILED)
		return 0;
	munmap(map, 4096);
	return map == at;
}

static uint32_t capabilities(struct accel_device *dev)
{
	struct accel_device_info info = { .capabilities = 0 };

	expect(accel_device_get_info(dev, &info), 0);
	return info.capabilities;
}

static uint32_t pointer_flags(const void *ptr)
{
	struct accel_pointer_info info = { .flags = 77 };

	expect(accel_pointer_get_info(ptr, &info), 0);
	return info.flags;
}

static void test_mapped_window(void)
{
	struct accel_device *dev;
	char got[100];
	char *ptr;

	mock_add_mappable(0, MAPPED);
	expect(accel_device_open(0, &dev), 0);
	ok(capabilities(dev) & ACCEL_CAP_MAPPABLE);
	ptr = device_memory(dev, MAPPED);
	ok(pointer_flags(ptr + 5) == ACCEL_POINTER_ACCESSIBLE);
	memset(ptr, 7, 100);
	ptr[MAPPED - 1] = 9;
	expect(accel_memory_copy(got, ptr, 100), 0);
	ok(got[0] == 7 && got[99] == 7);
	memset(got, 3, sizeof(got));
	expect(accel_memory_copy(ptr + 1, got, 100), 0);
	ok(ptr[0] == 7 && ptr[1] == 3 && ptr[100] == 3 && !ptr[101]);
	/* The guards are as ever. */
	ok(ends_in_sigsegv(ptr - 1, 0) && ends_in_sigsegv(ptr + MAPPED, 1));
	expect(accel_device_close(dev), 0);
	ok(is_free(ptr));
}

/* Of a device that can be mapped, and has several engines. */
static void test_info_of_larger_card(void)
{
	struct accel_device_info info;
	struct accel_device *dev;

	mock_add_mappable(0, MAPPED);
	expect(accel_device_open(0, &dev), 0);
	expect(accel_device_get_info(dev, &info), 0);
	ok(info.engines == 4 && info.memory_size == MAPPED && info.granule == 4096);
	ok(info.capabilities ==
	   (ACCEL_CAP_MEM_SURVIVES_RESET | ACCEL_CAP_MAPPABLE | ACCEL_CAP_VERIFY));
	expect(accel_device_close(dev), 0);
}

static void test_window_that_cannot_be_mapped(void)
{
	struct accel_device *dev;
	char *ptr;

	mock_add_mappable(0, MAPPED);
	/* The first reserves the window. */
	mock_fail(MOCK_MMAP, 2, EPERM);
	expect(accel_device_open(0, &dev), 0);
	ok(!(capabilities(dev) & ACCEL_CAP_MAPPABLE));
	ptr = device_memory(dev, MAPPED);
	ok(!pointer_flags(ptr));
	ok(!is_free(ptr) && !is_free(ptr + MAPPED - 1));
	ok(ends_in_sigsegv(ptr, 0) && ends_in_sigsegv(ptr + MAPPED - 1, 1));
	expect(accel_device_memory_set(dev, ptr, 1, 100), 0);
	expect(accel_device_close(dev), 0);
}

static void test_card_that_cannot_be_mapped(void)
{
	struct accel_device *dev = open_card();

	ok(!(capabilities(dev) & ACCEL_CAP_MAPPABLE));
	ok(!pointer_flags(device_memory(dev, 1)));
	expect(accel_device_close(dev), 0);
}

static void test_windows_are_aligned(void)
{
	static const uint64_t sizes[] = { 4096, 7ull << 20, 4ull << 30 };
	static const uintptr_t aligned[] = { 2u << 20, 8u << 20, 1u << 30 };
	struct accel_device *devs[MOCK_CARDS];

	for (int i = 0; i < 3; i++) {
		mock_add_sized(0, sizes[i], 4096);
		expect(accel_device_open(0, &devs[0]), 0);
		ok(!((uintptr_t)device_memory(devs[0], 1) % aligned[i]));
		expect(accel_device_close(devs[0]), 0);
	}
}

static size_t address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	ok(file && fscanf(file, "%zu", &pages) == 1);
	if (file)
		fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* The alignment takes no address space while the device is open, and none that is not there. */
static void test_window_takes_no_more_than_memory(void)
{
	enum { SIZE = 600 << 20, MORE = 64 << 20 };
	struct rlimit limit, low;
	struct accel_device *dev;
	size_t before;

	mock_add_sized(0, SIZE, 4096);
	before = address_space();
	expect(accel_device_open(0, &dev), 0);
	ok(address_space() - before < SIZE + MORE);
	expect(accel_device_close(dev), 0);
	getrlimit(RLIMIT_AS, &limit);
	low = limit;
	low.rlim_cur = address_space() + SIZE + MORE;
	setrlimit(RLIMIT_AS, &low);
	expect(accel_device_open(0, &dev), 0);
	ok(!((uintptr_t)device_memory(dev, 1) % (2u << 20)));
	setrlimit(RLIMIT_AS, &limit);
	expect(accel_device_close(dev), 0);
}

static void test_windows_of_odd_sizes(void)
{
	struct accel_device *devs[MOCK_CARDS];

	for (unsigned int i = 0; i < MOCK_CARDS; i++) {
		mock_add_sized(i, 4096 * (1 + 77 * i), 4096);
		expect(accel_device_open((int)i, &devs[i]), 0);
		ok(!((uintptr_t)device_memory(devs[i], 1) & ((2u << 20) - 1)));
	}
	for (unsigned int i = 0; i < MOCK_CARDS; i++)
		expect(accel_device_close(devs[i]), 0);
}

static void test_large_card_costs_addresses_only(void)
{
	struct accel_device *devs[MOCK_CARDS];

	for (unsigned int i = 0; i < MOCK_CARDS; i++) {
		mock_add_sized(i, 4ull << 30, 4096);
		expect(accel_device_open((int)i, &devs[i]), 0);
	}
	for (unsigned int i = 0; i < MOCK_CARDS; i++)
		expect(accel_device_close(devs[i]), 0);
}

int main(void)
{
	RUN(test_count);
	RUN(test_index_is_in_order_of_number);
	RUN(test_open_by_name);
	RUN(test_open_by_bad_name);
	RUN(test_open_by_name_while_others_go);
	RUN(test_reset);
	RUN(test_lost_fd);
	RUN(test_lost_fd_wakes);
	RUN(test_lost_fd_bad_arguments);
	RUN(test_open_without_driver);
	RUN(test_open_without_card);
	RUN(test_open_bad_arguments);
	RUN(test_open_without_permission);
	RUN(test_open_fails_half_way);
	RUN(test_card_larger_than_address_space);
	RUN(test_open_restarts_after_a_signal);
	RUN(test_file_is_read_write_and_closed_on_exec);
	RUN(test_second_open_is_the_same_handle);
	RUN(test_two_cards_are_two_handles);
	RUN(test_closed_handle);
	RUN(test_last_close_frees_all);
	RUN(test_info);
	RUN(test_removed_card);
	RUN(test_card_comes_back);
	RUN(test_lost_memory);
	RUN(test_every_command_restarts_after_a_signal);
	RUN(test_window);
	RUN(test_mapped_window);
	RUN(test_info_of_larger_card);
	RUN(test_window_that_cannot_be_mapped);
	RUN(test_card_that_cannot_be_mapped);
	RUN(test_windows_are_aligned);
	RUN(test_window_takes_no_more_than_memory);
	RUN(test_windows_of_odd_sizes);
	RUN(test_large_card_costs_addresses_only);
	return tap_end();
}
