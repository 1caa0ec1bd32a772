/* SPDX-License-Identifier: MIT */
/* What a child of fork() can do. Each part runs in one; what is wrong is its exit status. */
#define _GNU_SOURCE
#include "fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct accel_device *dev;
static char *device, *host, *unified;
static char mine[64];

static void in_child(void (*part)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		tap_wrong = 0;
		part();
		fflush(stdout);
		_exit(!!tap_wrong);
	}
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status));
}

static void set_up(void)
{
	dev = open_card();
	device = device_memory(dev, 100);
	host = host_memory(dev, 100);
	unified = unified_memory(dev, 100);
	expect(accel_host_register(dev, mine, 64, 0), 0);
}

static void calls_are_refused(void)
{
	struct accel_memory_stats stats;
	struct accel_device_info info;
	size_t a, b;
	void *ptr;

	refused(accel_device_memory_allocate(dev, &ptr, 64), -EPERM, "another process");
	ok(!ptr);
	expect(accel_host_memory_allocate(dev, &ptr, 64), -EPERM);
	expect(accel_unified_memory_allocate(dev, &ptr, 64), -EPERM);
	expect(accel_device_memory_deallocate(dev, device, 100), -EPERM);
	expect(accel_host_memory_deallocate(dev, host, 100), -EPERM);
	expect(accel_unified_memory_deallocate(dev, unified, 100), -EPERM);
	expect(accel_host_register(dev, mine, 64, 0), -EPERM);
	expect(accel_host_unregister(dev, mine), -EPERM);
	expect(accel_memory_copy_h2d(dev, device, mine, 64), -EPERM);
	expect(accel_memory_copy_d2h(dev, mine, device, 64), -EPERM);
	expect(accel_memory_copy_d2d(dev, device, device + 50, 50), -EPERM);
	expect(accel_memory_copy_p2p(dev, dev, device, device + 50, 50), -EPERM);
	expect(accel_async_memory_copy_h2d(dev, NULL, device, mine, 64), -EPERM);
	expect(accel_async_memory_copy_d2h(dev, NULL, mine, device, 64), -EPERM);
	expect(accel_async_memory_copy_d2d(dev, NULL, device, device + 50, 50), -EPERM);
	expect(accel_async_memory_copy_p2p(dev, dev, NULL, device, device + 50, 50), -EPERM);
	refused(accel_memory_copy(device, mine, 64), -EPERM, "before the fork");
	expect(accel_memory_copy(mine, device, 64), -EPERM);
	expect(accel_memory_copy_2d(device, 10, mine, 10, 5, 2), -EPERM);
	expect(accel_device_memory_set(dev, device, 1, 64), -EPERM);
	expect(accel_device_info(dev, &info), -EPERM);
	expect(accel_device_memory_stats(dev, &a, &b), -EPERM);
	expect(accel_memory_stats_full(dev, &stats), -EPERM);
	expect(accel_device_min_chunk_size(dev, &a), -EPERM);
	expect(accel_device_max_chunk_size(dev, &a), -EPERM);
	expect(accel_device_max_alloc_size(dev, &a), -EPERM);
	expect(accel_device_extra_padding_size(dev, &a), -EPERM);
	expect(accel_device_init_alloc_size(dev, &a), -EPERM);
	expect(accel_device_realloc_size(dev, &a), -EPERM);
}

static void test_child_is_refused(void)
{
	set_up();
	in_child(calls_are_refused);
	expect(accel_memory_copy(device, mine, 64), 0);
	expect(accel_device_close(dev), 0);
}

static void inherited_file_is_closed(void)
{
	ok(fcntl(mock_last_fd(), F_GETFD) < 0 && errno == EBADF);
	expect(accel_device_count(), 1);
}

static void test_child_does_not_keep_the_card(void)
{
	set_up();
	in_child(inherited_file_is_closed);
	expect(accel_device_close(dev), 0);
}

static void opens_again(void)
{
	struct accel_device *own;
	struct accel_pointer_info info;
	char *ptr, back[64];

	expect(accel_device_open(0, &own), 0);
	ok(own != dev);
	ptr = device_memory(own, 64);
	ok(ptr + 4096 < device || ptr > device + 4096);
	strcpy(mine, "child");
	expect(accel_memory_copy(ptr, mine, 64), 0);
	expect(accel_memory_copy(back, ptr, 64), 0);
	ok(!strcmp(back, "child"));
	refused(accel_memory_copy_h2d(own, device, mine, 64), -EFAULT, "before the fork");
	refused(accel_memory_copy_d2h(own, mine, device, 64), -EFAULT, "before the fork");
	refused(accel_memory_copy(ptr, device, 64), -EPERM, "before the fork");
	refused(accel_memory_copy_h2d(own, ptr, device, 64), -EFAULT, "host memory is needed");
	refused(accel_device_memory_deallocate(own, device, 100), -ENOENT, hex(device));
	refused(accel_host_memory_deallocate(own, host, 100), -ENOENT, hex(host));
	refused(accel_host_unregister(own, mine), -ENOENT, hex(mine));
	refused(accel_pointer_info(device, &info), -ENOENT, "before a fork");
	expect(accel_pointer_info(host, &info), 0);
	ok(info.kind == ACCEL_MEMORY_PAGEABLE);
	/* Memory of the parent is shared, and to this library host memory like any. */
	strcpy(host, "shared");
	expect(accel_memory_copy(ptr, host, 64), 0);
	expect(accel_memory_copy(ptr, host + 90, 20), 0);
	expect(accel_memory_copy_2d(unified, 10, host, 10, 7, 1), 0);
	expect(accel_host_register(own, mine, 64, 0), 0);
	expect(accel_device_memory_allocate(dev, (void **)&ptr, 64), -EPERM);
	expect(accel_device_close(own), 0);
}

static void test_child_opens_again(void)
{
	set_up();
	in_child(opens_again);
	ok(!strcmp(host, "shared") && !strcmp(unified, "shared"));
	expect(accel_memory_copy(device, mine, 64), 0);
	expect(accel_device_close(dev), 0);
}

static void closes_what_it_inherited(void)
{
	unsigned char resident;
	struct accel_device *own;

	expect(accel_device_close(dev), 0);
	ok(mincore((void *)((uintptr_t)device & ~4095ul), 1, &resident) &&
	   mincore(host, 1, &resident));
	expect(accel_device_open(0, &own), 0);
	device_memory(own, 64);
	expect(accel_device_close(own), 0);
}

static void test_child_closes_what_it_inherited(void)
{
	set_up();
	in_child(closes_what_it_inherited);
	host[99] = 1;
	expect(accel_memory_copy(device, mine, 64), 0);
	expect(accel_device_close(dev), 0);
}

static void grandchild(void)
{
	struct accel_device *own = NULL;

	expect(accel_device_open(0, &own), 0);
	dev = own;
	device = device_memory(own, 100);
	in_child(calls_are_refused);
	expect(accel_device_close(own), 0);
}

static void test_grandchild(void)
{
	set_up();
	in_child(grandchild);
	expect(accel_device_close(dev), 0);
}

static void *copies(void *arg)
{
	(void)arg;
	expect(accel_memory_copy(device, mine, 64), 0);
	return NULL;
}

/* The thread that copies is not in the child; its hold on the handle is not either. */
static void test_fork_while_a_copy_runs(void)
{
	pthread_t thread;

	set_up();
	mock_hold(0);
	pthread_create(&thread, NULL, copies, NULL);
	mock_wait_held(0, 1);
	in_child(closes_what_it_inherited);
	in_child(calls_are_refused);
	mock_release(0);
	pthread_join(thread, NULL);
	expect(accel_device_close(dev), 0);
}

int main(void)
{
	RUN(test_child_is_refused);
	RUN(test_child_does_not_keep_the_card);
	RUN(test_child_opens_again);
	RUN(test_child_closes_what_it_inherited);
	RUN(test_grandchild);
	RUN(test_fork_while_a_copy_runs);
	return tap_end();
}
