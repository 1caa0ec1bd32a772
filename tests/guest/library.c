/* SPDX-License-Identifier: MIT */
/*
 * libaccel with the real driver, as root in a guest with two cards of a kind, on which each
 * transfer takes 100 ms. What can be shown with the mock is shown there, here is what depends on the
 * kernel.
 */
#define _GNU_SOURCE
#include "../unit/tap.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define NODE "/dev/paccel0"
#define QUOTA "/sys/class/paccel/paccel0/max_user_bytes"

static struct accel_device *dev, *other;
/* Of each card. */
static size_t memory, granule;

#define RUN(test) run(test, #test)

static struct accel_device_info info_of(struct accel_device *on)
{
	struct accel_device_info info = { .granule = 0 };

	expect(accel_device_get_info(on, &info), 0);
	return info;
}

static void run(void (*test)(void), const char *name)
{
	size_t total = 0, left = 0;
	time_t end;

	expect(accel_device_open(0, &dev), 0);
	expect(accel_device_open(1, &other), 0);
	if (!dev || !other) {
		printf("Bail out! there are no two cards: %s\n", accel_last_error());
		exit(1);
	}
	expect(accel_device_memory_stats(dev, &memory, &left), 0);
	granule = info_of(dev).granule;
	test();
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(other), 0);
	end = time(NULL) + 60;
	/* Nothing of it is left on the card, once the driver has dropped the references of operations that have ended. */
	expect(accel_device_open(0, &dev), 0);
	do {
		expect(accel_device_memory_stats(dev, &total, &left), 0);
	} while (left != memory && time(NULL) < end);
	ok(total == memory && left == memory);
	expect(accel_device_close(dev), 0);
	tap_done(name);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		printf("# cannot write %s: %s\n", path, strerror(errno));
	ok(!close(fd));
}

static char *device_memory(struct accel_device *on, size_t size)
{
	void *ptr = NULL;

	expect(accel_device_memory_allocate(on, &ptr, size), 0);
	return ptr;
}

static char *unified_memory(struct accel_device *on, size_t size)
{
	void *ptr = NULL;

	expect(accel_unified_memory_allocate(on, &ptr, size), 0);
	return ptr;
}

static void pattern(char *bytes, size_t size, int seed)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(i * 31 + (size_t)seed + (i >> 8));
}

static void test_info(void)
{
	struct accel_device_info info;
	bool edu;

	ok(accel_device_count() == 2);
	expect(accel_device_get_info(dev, &info), 0);
	edu = !strcmp(info.name, "edu");
	ok((edu || !strcmp(info.name, "ring")) && strlen(info.bus_address) == strlen("0000:01:00.0"));
	ok(info.memory_size == memory);
	ok(memory == (edu ? (size_t)atoi(getenv("PACCEL_EDU_BYTES")) : 15 << 20));
	ok(info.granule == (edu ? 64 : 4096) && info.dma_bits == (edu ? 28 : 64));
}

static void test_round_trip(void)
{
	char *ptr = device_memory(dev, 3000), in[999], back[1001];

	pattern(in, sizeof(in), 1);
	memset(back, 'x', sizeof(back));
	expect(accel_memory_copy_h2d(dev, ptr + 1, in, 999), 0);
	expect(accel_memory_copy_d2d(dev, ptr + 1501, ptr + 1, 999), 0);
	expect(accel_memory_copy_d2h(dev, back + 1, ptr + 1501, 999), 0);
	ok(back[0] == 'x' && !memcmp(back + 1, in, 999) && back[1000] == 'x');
}

static void test_new_memory_is_zero(void)
{
	char *ptr = device_memory(dev, memory), *back = malloc(memory);

	expect(accel_device_memory_set(dev, ptr, 0xff, memory), 0);
	expect(accel_device_memory_deallocate(dev, ptr, memory), 0);
	ptr = device_memory(dev, memory);
	memset(back, 1, memory);
	expect(accel_memory_copy(back, ptr, memory), 0);
	ok(!back[0] && !memcmp(back, back + 1, memory - 1));
	free(back);
}

static void test_fill(void)
{
	char *ptr = device_memory(dev, 100), back[100];

	expect(accel_device_memory_set(dev, ptr + 7, 0xfe, 13), 0);
	expect(accel_memory_copy(back, ptr, 100), 0);
	for (int i = 0; i < 100; i++)
		ok((unsigned char)back[i] == (i >= 7 && i < 20 ? 0xfe : 0));
}

static void test_exhaustion(void)
{
	struct accel_memory_stats stats;
	void *ptr = (void *)1;
	char text[64];

	snprintf(text, sizeof(text), "%zu of %zu bytes", granule, memory);
	device_memory(dev, memory - granule);
	refused(accel_device_memory_allocate(dev, &ptr, granule + 1), -ENOMEM, "contiguous");
	ok(!ptr);
	refused(accel_device_memory_allocate(dev, &ptr, SIZE_MAX), -ENOMEM, text);
	device_memory(dev, granule);
	expect(accel_memory_stats_full(dev, &stats), 0);
	ok(stats.used == memory && !stats.free && stats.mine_allocs == 2 && stats.mine == memory);
}

static void test_refusals(void)
{
	char *ptr = device_memory(dev, 100), *far = device_memory(other, 100), bytes[200] = "";

	refused(accel_memory_copy_h2d(dev, ptr, bytes, 101), -EFAULT, "runs past the end");
	refused(accel_memory_copy_d2h(dev, bytes, far, 1), -EFAULT, "another handle");
	refused(accel_memory_copy_d2d(dev, ptr, ptr + 1, 10), -EINVAL, "overlap");
	refused(accel_device_memory_deallocate(dev, ptr, 99), -EINVAL, "100 bytes");
	refused(accel_device_memory_deallocate(dev, ptr + 64, 36), -ENOENT, "inside");
	expect(accel_device_memory_deallocate(dev, ptr, 100), 0);
	refused(accel_memory_copy(ptr, bytes, 1), -EFAULT, "no live allocation");
	refused(accel_device_memory_deallocate(dev, ptr, 100), -ENOENT, "no live allocation");
}

static void test_quota(void)
{
	char number[32], text[64];
	void *ptr;

	snprintf(number, sizeof(number), "%zu", 16 * granule);
	snprintf(text, sizeof(text), "quota of %zu bytes", 16 * granule);
	write_file(QUOTA, number);
	device_memory(dev, 16 * granule - 24);
	refused(accel_device_memory_allocate(dev, &ptr, 1), -EDQUOT, text);
	write_file(QUOTA, "0");
	expect(accel_device_memory_allocate(dev, &ptr, 1), 0);
}

/* Both sides at odd addresses of several pages, so that scatter lists are cut. */
static void test_host_and_unified_memory(void)
{
	char *ptr = device_memory(dev, memory), *unified = unified_memory(dev, 10000), in[3000];
	void *host;

	expect(accel_host_memory_allocate(dev, &host, 10000), 0);
	ok(!((uintptr_t)host & 4095) && !((char *)host)[9999]);
	pattern(in, sizeof(in), 2);
	memcpy((char *)host + 2501, in, 3000);
	expect(accel_memory_copy_h2d(dev, ptr, (char *)host + 2501, 3000), 0);
	expect(accel_memory_copy_d2d(dev, unified + 4001, ptr, 3000), 0);
	ok(!memcmp(unified + 4001, in, 3000) && !unified[4000] && !unified[7001]);
	expect(accel_device_memory_set(dev, unified, 3, 100), 0);
	expect(accel_memory_copy_d2d(dev, ptr + 17, unified, 100), 0);
	memset(host, 0, 10000);
	expect(accel_memory_copy_d2h(dev, host, ptr, 3000), 0);
	memset(in + 17, 3, 100);
	ok(!memcmp(host, in, 3000));
	expect(accel_unified_memory_deallocate(dev, unified, 10000), 0);
	expect(accel_host_memory_deallocate(dev, host, 10000), 0);
}

static void test_registered_memory(void)
{
	char *ptr = device_memory(dev, 100), in[100];
	char *mine = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	pattern(in, 100, 3);
	memcpy(mine + 4050, in, 100);
	expect(accel_host_register(dev, mine + 4050, 100, 0), 0);
	refused(accel_host_register(dev, mine + 4149, 1, 0), -EEXIST, "overlaps");
	expect(accel_memory_copy(ptr, mine + 4050, 100), 0);
	expect(accel_host_unregister(dev, mine + 4050), 0);
	expect(accel_host_register(dev, mine, 8192, ACCEL_REGISTER_READ_ONLY), 0);
	refused(accel_memory_copy(mine, ptr, 100), -EFAULT, "cannot be written");
	munmap(mine, 8192);
	refused(accel_memory_copy(ptr, mine, 100), -EFAULT, "cannot be read");
	expect(accel_host_unregister(dev, mine), 0);
	refused(accel_host_register(dev, ptr, 100, 0), -EFAULT, "device pointer");
	refused(accel_host_register(dev, mine, 100, 0), -EFAULT, "not mapped");
}

static void test_rows(void)
{
	char *ptr = device_memory(dev, 200), in[60], back[60];

	pattern(in, 60, 4);
	memset(back, 'x', 60);
	expect(accel_memory_copy_2d(ptr + 3, 50, in, 20, 15, 3), 0);
	expect(accel_memory_copy_2d(ptr + 20, 50, ptr + 3, 50, 15, 2), 0);
	expect(accel_memory_copy_2d(back, 20, ptr + 20, 50, 15, 2), 0);
	expect(accel_memory_copy_2d(back + 40, 0, ptr + 103, 0, 15, 1), 0);
	for (int i = 0; i < 60; i++)
		ok(back[i] == (i % 20 < 15 ? in[i] : 'x'));
}

static void test_patterns(void)
{
	static const char bytes[] = "\x80\x7f\x01\xff\x10\x20\x30\xf0";
	char *ptr = device_memory(dev, 100), back[100], wanted[100];
	struct accel_stream *stream = NULL;

	expect(accel_stream_create(dev, &stream), 0);
	for (size_t size = 1; size <= 8; size *= 2) {
		memset(wanted, 0, 100);
		for (size_t i = 0; i < 10 * size; i++)
			wanted[3 + i] = bytes[i % size];
		expect(accel_device_memory_set(dev, ptr, 0, 100), 0);
		if (size > 2)
			expect(accel_async_device_memory_fill(dev, stream, ptr + 3, bytes, size,
							      10 * size, 0), 0);
		else
			expect(accel_device_memory_fill(dev, ptr + 3, bytes, size, 10 * size, 0), 0);
		expect(accel_stream_synchronize(stream), 0);
		expect(accel_memory_copy(back, ptr, 100), 0);
		ok(!memcmp(back, wanted, 100));
	}
	expect(accel_device_memory_deallocate(dev, ptr, 100), 0);
}

/* Pageable rows, whose last one ends with the page; locked ones; and back. */
static void test_rows_on_a_stream(void)
{
	char *ptr = device_memory(dev, 300), *locked = NULL, back[100];
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct accel_stream *stream = NULL;

	expect(accel_stream_create(dev, &stream), 0);
	expect(accel_host_memory_allocate(dev, (void **)&locked, 100), 0);
	pattern(locked, 100, 5);
	memcpy(page + 4096 - 97, locked, 97);
	expect(accel_async_memory_copy_2d(stream, ptr, 30, locked, 10, 7, 10, 0), 0);
	expect(accel_async_memory_copy_2d(stream, ptr + 8, 30, page + 4096 - 97, 10, 7, 10, 0), 0);
	munmap(page, 4096);
	for (int side = 0; side < 2; side++) {
		memset(back, 'x', 100);
		expect(accel_async_memory_copy_2d(stream, back, 10, ptr + 8 * side, 30, 7, 10, 0), 0);
		for (int i = 0; i < 100; i++)
			ok(back[i] == (i % 10 < 7 ? locked[i] : 'x'));
	}
	expect(accel_host_memory_deallocate(dev, locked, 100), 0);
	expect(accel_device_memory_deallocate(dev, ptr, 300), 0);
}

/* Each direction, where the device can; elsewhere it is refused. */
static void test_verified(void)
{
	const int answer = info_of(dev).capabilities & ACCEL_CAP_VERIFY ? 0 : -EOPNOTSUPP;
	char *ptr = device_memory(dev, 200), *far = device_memory(other, 100), in[100], back[100];
	struct accel_stream *stream = NULL;

	pattern(in, 100, 6);
	expect(accel_stream_create(dev, &stream), 0);
	expect(accel_async_memory_copy_2d(NULL, ptr, 0, in, 0, 100, 1, ACCEL_VERIFY), answer);
	expect(accel_async_memory_copy_2d(stream, ptr + 100, 10, ptr, 10, 10, 10, ACCEL_VERIFY),
	       answer);
	expect(accel_async_memory_copy_2d(NULL, far, 0, ptr, 0, 100, 1, ACCEL_VERIFY), answer);
	expect(accel_async_memory_copy_2d(stream, back, 0, ptr + 100, 0, 100, 1, ACCEL_VERIFY),
	       answer);
	ok(answer || !memcmp(back, in, 100));
	expect(accel_device_memory_fill(dev, ptr, "ab", 2, 100, ACCEL_VERIFY), answer);
	expect(accel_async_device_memory_fill(dev, stream, ptr, "ab", 2, 100, ACCEL_VERIFY), answer);
	expect(accel_stream_synchronize(stream), 0);
	expect(accel_memory_copy(back, far, 100), 0);
	ok(answer || !memcmp(back, in, 100));
	expect(accel_device_memory_deallocate(dev, ptr, 200), 0);
	expect(accel_device_memory_deallocate(other, far, 100), 0);
}

static void test_memory_that_is_not_there(void)
{
	char *map = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *ptr = device_memory(dev, 100), bytes[100];

	munmap(map + 4096, 4096);
	refused(accel_memory_copy(ptr, map + 4090, 7), -EFAULT, "cannot be read");
	refused(accel_memory_copy(map, ptr, 1), -EFAULT, "cannot be written");
	expect(accel_memory_copy(ptr, map + 4000, 96), 0);
	expect(accel_memory_copy(bytes, ptr, 100), 0);
	munmap(map, 4096);
}

static int ends_in_sigsegv(volatile char *ptr)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(*ptr);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void test_stray_dereference(void)
{
	struct rlimit none = { 0, 0 };
	char *ptr = device_memory(dev, memory);

	setrlimit(RLIMIT_CORE, &none);
	ok(ends_in_sigsegv(ptr) && ends_in_sigsegv(ptr + memory) && ends_in_sigsegv(ptr - 1));
}

static char *device, *unified;

static void child_opens_again(void)
{
	struct accel_device *own;
	char bytes[64] = "", *ptr;

	expect(accel_memory_copy(device, bytes, 64), -EPERM);
	expect(accel_device_memory_deallocate(dev, device, 64), -EPERM);
	expect(accel_device_open(0, &own), 0);
	ptr = device_memory(own, 64);
	refused(accel_memory_copy_h2d(own, device, bytes, 64), -EFAULT, "before the fork");
	/* What the parent has allocated can be read here, by the card too. */
	expect(accel_memory_copy(ptr, unified, 64), 0);
	expect(accel_memory_copy(bytes, ptr, 64), 0);
	ok(!memcmp(bytes, unified, 64));
	strcpy(unified, "from the child");
	/* Ends without closing: the driver takes back what is left. */
}

static void test_fork(void)
{
	char bytes[64];

	device = device_memory(dev, 64);
	unified = unified_memory(dev, 64);
	pattern(unified, 64, 5);
	expect(accel_memory_copy(device, unified, 64), 0);
	in_child(child_opens_again);
	ok(!strcmp(unified, "from the child"));
	expect(accel_memory_copy(bytes, device, 64), 0);
	pattern(unified, 64, 5);
	ok(!memcmp(bytes, unified, 64));
}

static void become_nobody(void)
{
	ok(!setgid(NOBODY) && !setuid(NOBODY));
}

static void opens_as_nobody(void)
{
	struct accel_device *own = (void *)1;

	become_nobody();
	refused(accel_device_open(0, &own), -EACCES, NODE);
	ok(!own);
	expect(accel_device_count(), 2);
}

static void test_permission(void)
{
	in_child(opens_as_nobody);
}

static void limit_to(__rlimit_resource_t resource, rlim_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	ok(!setrlimit(resource, &limit));
}

static void locks_as_nobody(void)
{
	static char mine[131072];
	struct accel_device *own;
	void *ptr;

	expect(accel_device_open(0, &own), 0);
	limit_to(RLIMIT_MEMLOCK, 65536);
	become_nobody();
	refused(accel_host_memory_allocate(own, &ptr, 131072), -ENOMEM, "65536 bytes");
	ok(!ptr);
	refused(accel_host_register(own, mine, sizeof(mine), 0), -ENOMEM, "65536 bytes");
	expect(accel_host_memory_allocate(own, &ptr, 65536), 0);
	refused(accel_unified_memory_allocate(own, &ptr, 1), -ENOMEM, "65536 bytes");
}

static void test_locked_memory_limit(void)
{
	in_child(locks_as_nobody);
}

static void opens_in_a_small_address_space(void)
{
	struct accel_device *own = (void *)1;

	limit_to(RLIMIT_AS, 4 << 20);
	refused(accel_device_open(0, &own), -ENOMEM, "ulimit -v) is 4194304 bytes");
	ok(!own);
}

static void opens_after_mlockall(void)
{
	struct accel_device *own = (void *)1;

	limit_to(RLIMIT_MEMLOCK, 1 << 20);
	become_nobody();
	ok(!mlockall(MCL_FUTURE));
	refused(accel_device_open(0, &own), -ENOMEM, "mlockall(MCL_FUTURE)");
	ok(!own);
}

static void test_no_room_for_the_window(void)
{
	struct stat st;

	in_child(opens_in_a_small_address_space);
	ok(!stat(NODE, &st) && !chmod(NODE, 0666));
	in_child(opens_after_mlockall);
	ok(!chmod(NODE, st.st_mode & 07777));
}

static void test_p2p(void)
{
	char *ptr = device_memory(dev, 1000), *far = device_memory(other, 1000), in[900], back[900];

	pattern(in, 900, 6);
	unified = unified_memory(dev, 900);
	memcpy(unified, in, 900);
	expect(accel_memory_copy(ptr + 3, in, 900), 0);
	expect(accel_memory_copy_p2p(other, dev, far + 1, ptr + 3, 900), 0);
	expect(accel_memory_copy(back, far + 1, 900), 0);
	ok(!memcmp(back, in, 900));
	/* Unified memory of one card is host memory that the other card has to pin. */
	expect(accel_memory_copy_p2p(other, dev, far, unified + 100, 500), 0);
	expect(accel_memory_copy_p2p(dev, other, unified, far, 500), 0);
	ok(!memcmp(unified, in + 100, 500));
}

static void count_signal(int number)
{
	(void)number;
}

static void test_signals_do_not_end_a_copy(void)
{
	struct itimerval often = { { 0, 5000 }, { 0, 5000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = count_signal };
	char *ptr = device_memory(dev, 100), in[100], back[100];

	pattern(in, 100, 7);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	expect(accel_memory_copy(ptr, in, 100), 0);
	expect(accel_memory_copy(back, ptr, 100), 0);
	setitimer(ITIMER_REAL, &never, NULL);
	ok(!memcmp(back, in, 100));
}

static void *copies_both_ways(void *arg)
{
	char *ptr = device_memory(dev, 200), in[200], back[200];

	pattern(in, 200, *(int *)arg);
	expect(accel_memory_copy(ptr, in, 200), 0);
	expect(accel_memory_copy(back, ptr, 200), 0);
	ok(!memcmp(back, in, 200));
	expect(accel_device_memory_deallocate(dev, ptr, 200), 0);
	return NULL;
}

static void test_threads(void)
{
	int seeds[] = { 10, 20, 30, 40 };
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, copies_both_ways, &seeds[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static bool copied;

/* Each is a transfer: 100 ms on an edu. */
#define LONG_ROWS 64

static void *long_copy(void *arg)
{
	char back[LONG_ROWS * 50];

	expect(accel_memory_copy_2d(back, 50, arg, 50, 49, LONG_ROWS), 0);
	__atomic_store_n(&copied, true, __ATOMIC_RELEASE);
	return NULL;
}

/* The copy takes 6.4 s on an edu; memory can be had and given back meanwhile, that of the copy too. */
static void test_nothing_waits_for_a_copy(void)
{
	char *ptr = device_memory(dev, LONG_ROWS * 50), *spare;
	struct accel_memory_stats stats;
	pthread_t thread;
	uint64_t transfers;

	/* Who finds no clean memory waits for scrubbing, which has to share the card. */
	do
		expect(accel_memory_stats_full(dev, &stats), 0);
	while (stats.dirty);
	transfers = stats.transfers;
	pthread_create(&thread, NULL, long_copy, ptr);
	do
		expect(accel_memory_stats_full(dev, &stats), 0);
	while (stats.transfers == transfers);
	spare = device_memory(dev, 64);
	expect(accel_device_memory_deallocate(dev, spare, 64), 0);
	expect(accel_device_memory_deallocate(dev, ptr, LONG_ROWS * 50), 0);
	ok(!__atomic_load_n(&copied, __ATOMIC_ACQUIRE));
	pthread_join(thread, NULL);
}

#define COPIED 2016

static void *copy_until_removed(void *arg)
{
	char back[COPIED];
	int err = 0;

	while (!err)
		err = accel_memory_copy(back, arg, sizeof(back));
	ok(err == -ENODEV);
	return NULL;
}

static void test_open_by_name(void)
{
	struct accel_device *same = NULL;

	expect(accel_device_open_name(NODE, &same), 0);
	ok(same == dev);
	expect(accel_device_close(same), 0);
	expect(accel_device_open_name(info_of(other).bus_address, &same), 0);
	ok(same == other);
	expect(accel_device_close(same), 0);
	refused(accel_device_open_name("ffff:00:00.0", &same), -ENODEV, "ffff:00:00.0");
}

/* Both kinds of device keep their memory. */
static void test_reset(void)
{
	char *ptr = device_memory(dev, 64), back[3];

	expect(accel_memory_copy(ptr, "abc", 3), 0);
	expect(accel_device_reset(dev), 0);
	expect(accel_memory_copy(back, ptr, 3), 0);
	ok(!memcmp(back, "abc", 3));
	expect(accel_device_memory_deallocate(dev, ptr, 64), 0);
}

static bool is_readable(int fd, int timeout)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };

	return poll(&polled, 1, timeout) == 1 && polled.revents == POLLIN;
}

static void *poll_lost(void *arg)
{
	ok(is_readable(*(int *)arg, 30000));
	return NULL;
}

static void test_removal(void)
{
	int lost = -1, lost_other = -1;
	pthread_t poller;
	char *ptr = device_memory(dev, COPIED), bytes[64];
	struct accel_memory_stats stats;
	struct accel_device_info info;
	struct accel_device *back;
	uint64_t transfers;
	pthread_t thread;
	size_t size;
	int index = 0;
	void *none;

	unified = unified_memory(dev, 64);
	expect(accel_memory_stats_full(dev, &stats), 0);
	transfers = stats.transfers;
	pthread_create(&thread, NULL, copy_until_removed, ptr);
	do
		expect(accel_memory_stats_full(dev, &stats), 0);
	while (stats.transfers == transfers);
	expect(accel_device_lost_fd(dev, &lost), 0);
	expect(accel_device_lost_fd(other, &lost_other), 0);
	ok(!is_readable(lost, 0));
	pthread_create(&poller, NULL, poll_lost, &lost);
	write_file("/sys/class/paccel/paccel0/device/remove", "1");
	pthread_join(thread, NULL);
	pthread_join(poller, NULL);
	ok(is_readable(lost, 0) && !is_readable(lost_other, 0));
	close(lost);
	close(lost_other);
	for (int i = 0; i < 2; i++) {
		refused(accel_memory_copy(ptr, bytes, 64), -ENODEV, "removed");
		expect(accel_memory_copy_d2h(dev, bytes, unified, 64), -ENODEV);
		expect(accel_device_memory_allocate(dev, &none, 64), -ENODEV);
		expect(accel_device_memory_deallocate(dev, ptr, COPIED), -ENODEV);
		expect(accel_unified_memory_deallocate(dev, unified, 64), -ENODEV);
		expect(accel_device_memory_stats(dev, &size, &size), -ENODEV);
		expect(accel_device_get_info(dev, &info), -ENODEV);
	}
	strcpy(unified, "still there");
	expect(accel_device_count(), 1);
	write_file("/sys/bus/pci/rescan", "1");
	expect(accel_device_count(), 2);
	/* Its node may have another number than before, and its index follows that. */
	expect(accel_device_open(index, &back), 0);
	if (back == other) {
		expect(accel_device_close(back), 0);
		expect(accel_device_open(++index, &back), 0);
	}
	ok(back != dev && back != other);
	ptr = device_memory(back, 64);
	expect(accel_memory_copy(ptr, unified, 64), 0);
	expect(accel_memory_copy(bytes, ptr, 64), 0);
	ok(!strcmp(bytes, "still there"));
	expect(accel_device_close(back), 0);
}

/* ---- System calls ---- */

/* Traces its parent from one getppid() to the next, and says how many calls lie between them. */
static void trace(pid_t pid, int ready, int result)
{
	struct __ptrace_syscall_info info;
	int marks = 0, count = 0, status;

	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD) ||
	    ptrace(PTRACE_INTERRUPT, pid, 0, 0) || waitpid(pid, &status, __WALL) != pid ||
	    write(ready, "", 1) != 1)
		_exit(1);
	while (marks < 2 && !ptrace(PTRACE_SYSCALL, pid, 0, 0) &&
	       waitpid(pid, &status, __WALL) == pid) {
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0 ||
		    info.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		if (info.entry.nr == SYS_getppid)
			marks++;
		else
			count += marks == 1;
	}
	ptrace(PTRACE_DETACH, pid, 0, 0);
	_exit(write(result, &count, sizeof(count)) != sizeof(count));
}

/* How many system calls this thread makes in a function, or -1. */
static int count_calls(void (*fn)(void))
{
	int ready[2], result[2], count = -1;
	pid_t self = getpid(), pid;
	char byte;

	ok(!pipe(ready) && !pipe(result));
	fflush(stdout);
	pid = fork();
	if (!pid)
		trace(self, ready[1], result[1]);
	close(ready[1]);
	close(result[1]);
	if (read(ready[0], &byte, 1) == 1) {
		syscall(SYS_getppid);
		fn();
		syscall(SYS_getppid);
	}
	if (read(result[0], &count, sizeof(count)) != sizeof(count))
		count = -1;
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(result[0]);
	return count;
}

static struct {
	struct accel_stream *stream;
	struct accel_event *event;
	struct accel_pointer_info info;
	char *memory, *host, bytes[64];
	int err;
} call;

static void copies_to_the_card(void)
{
	call.err = accel_memory_copy(call.memory, call.bytes, 64);
}

static void fills(void)
{
	call.err = accel_device_memory_set(dev, call.memory, 1, 64);
}

static void queues_a_copy(void)
{
	call.err = accel_async_memory_copy_h2d(dev, call.stream, call.memory, call.host, 64);
}

static void looks_up(void)
{
	call.err = accel_pointer_get_info(call.memory + 1, &call.info);
}

static void creates_an_event(void)
{
	call.err = accel_event_create(dev, &call.event);
}

static void fails_to_copy(void)
{
	call.err = accel_memory_copy(call.memory + 1, call.bytes, 64) == -EFAULT ? 0 : 1;
}

static void test_system_calls(void)
{
	static const struct {
		const char *name;
		void (*fn)(void);
		int calls;
	} cases[] = {
		{ "copy", copies_to_the_card, 1 },
		{ "fill", fills, 1 },
		{ "queued copy", queues_a_copy, 1 },
		{ "look-up", looks_up, 0 },
		{ "event", creates_an_event, 0 },
		{ "refused copy", fails_to_copy, 0 },
	};
	int calls;

	call.memory = device_memory(dev, 64);
	expect(accel_host_memory_allocate(dev, (void **)&call.host, 64), 0);
	expect(accel_stream_create(dev, &call.stream), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		calls = count_calls(cases[i].fn);
		if (calls != cases[i].calls || call.err)
			printf("# %s: %d system calls, error %d\n", cases[i].name, calls, call.err);
		ok(calls == cases[i].calls && !call.err);
	}
	expect(accel_stream_synchronize(call.stream), 0);
}

int main(void)
{
	RUN(test_info);
	RUN(test_round_trip);
	RUN(test_new_memory_is_zero);
	RUN(test_fill);
	RUN(test_exhaustion);
	RUN(test_refusals);
	RUN(test_quota);
	RUN(test_host_and_unified_memory);
	RUN(test_registered_memory);
	RUN(test_rows);
	RUN(test_patterns);
	RUN(test_rows_on_a_stream);
	RUN(test_verified);
	RUN(test_memory_that_is_not_there);
	RUN(test_stray_dereference);
	RUN(test_fork);
	RUN(test_permission);
	RUN(test_locked_memory_limit);
	RUN(test_no_room_for_the_window);
	RUN(test_p2p);
	RUN(test_signals_do_not_end_a_copy);
	RUN(test_threads);
	RUN(test_nothing_waits_for_a_copy);
	RUN(test_open_by_name);
	RUN(test_reset);
	RUN(test_system_calls);
	RUN(test_removal);
	return tap_end();
}
