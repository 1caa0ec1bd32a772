/* SPDX-License-Identifier: MIT */
/* What a child of fork() can do. */
#define _GNU_SOURCE
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct accel_device *dev;
static char *device, *host, *unified;
static char mine[64];
static struct accel_stream *stream;
static struct accel_event *event;
static struct accel_batch *batch;

static void set_up(void)
{
	dev = open_card();
	device = device_memory(dev, 100);
	host = host_memory(dev, 100);
	unified = unified_memory(dev, 100);
	expect(accel_host_register(dev, mine, 64, 0), 0);
	expect(accel_stream_create(dev, &stream), 0);
	expect(accel_event_create(dev, &event), 0);
	expect(accel_batch_create(dev, &batch), 0);
	expect(accel_event_record(event, stream), 0);
}

static void nothing(void *data, int status)
{
	(void)data;
	(void)status;
}

static void streams_are_refused(void)
{
	struct accel_stream *more;
	struct accel_event *another;
	struct accel_batch *bundle;
	size_t size;
	int64_t ns;
	void *ptr;
	int fd;

	refused(accel_stream_create(dev, &more), -EPERM, "another process");
	expect(accel_event_create(dev, &another), -EPERM);
	expect(accel_batch_create(dev, &bundle), -EPERM);
	refused(accel_stream_query(stream), -EPERM, "another process");
	expect(accel_stream_synchronize(stream), -EPERM);
	expect(accel_stream_destroy(stream), -EPERM);
	expect(accel_stream_clear(stream), -EPERM);
	expect(accel_stream_add_callback(stream, nothing, NULL), -EPERM);
	expect(accel_stream_wait_event(stream, event), -EPERM);
	expect(accel_stream_eventfd(stream, 0), -EPERM);
	expect(accel_stream_export_fence(stream, &fd), -EPERM);
	expect(accel_stream_wait_fence(stream, 0), -EPERM);
	expect(accel_device_synchronize(dev), -EPERM);
	expect(accel_async_device_memory_set(dev, stream, device, 1, 64), -EPERM);
	expect(accel_async_memory_copy_h2d(dev, stream, device, mine, 64), -EPERM);
	refused(accel_event_query(event), -EPERM, "another process");
	expect(accel_event_synchronize(event), -EPERM);
	expect(accel_event_record(event, stream), -EPERM);
	expect(accel_event_destroy(event), -EPERM);
	expect(accel_event_elapsed_time(event, event, &ns), -EPERM);
	expect(accel_batch_copy(batch, device, mine, 1), -EPERM);
	expect(accel_batch_submit(batch, stream, NULL), -EPERM);
	expect(accel_batch_destroy(batch), -EPERM);
	expect(accel_memory_export(dev, device, &fd), -EPERM);
	expect(accel_memory_import(dev, 0, &ptr, &size), -EPERM);
	expect(accel_host_register_dmabuf(dev, 0, 1, 0, &ptr), -EPERM);
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
	expect(accel_device_get_info(dev, &info), -EPERM);
	expect(accel_device_memory_stats(dev, &a, &b), -EPERM);
	expect(accel_memory_stats_full(dev, &stats), -EPERM);
}

static void test_child_is_refused(void)
{
	set_up();
	in_child(calls_are_refused);
	in_child(streams_are_refused);
	expect(accel_memory_copy(device, mine, 64), 0);
	expect(accel_stream_synchronize(stream), 0);
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
	refused(accel_pointer_get_info(device, &info), -ENOENT, "before a fork");
	expect(accel_pointer_get_info(host, &info), 0);
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

static void counts(void *data, int status)
{
	(void)status;
	__atomic_add_fetch((int *)data, 1, __ATOMIC_RELAXED);
}

/* A thread for callbacks of its own; the parent's do not run here. */
static void calls_back_itself(void)
{
	struct accel_device *own;
	struct accel_stream *more;
	int calls = 0;

	expect(accel_device_open(0, &own), 0);
	expect(accel_stream_create(own, &more), 0);
	expect(accel_async_device_memory_set(own, more, device_memory(own, 64), 1, 64), 0);
	expect(accel_stream_add_callback(more, counts, &calls), 0);
	expect(accel_stream_synchronize(more), 0);
	ok(calls == 1);
	expect(accel_device_close(own), 0);
	expect(accel_device_close(dev), 0);
}

static void test_fork_while_a_callback_is_due(void)
{
	static int calls;

	set_up();
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 1, 64), 0);
	expect(accel_stream_add_callback(stream, counts, &calls), 0);
	mock_wait_held(0, 1);
	in_child(streams_are_refused);
	mock_release(0);
	in_child(calls_back_itself);
	expect(accel_stream_synchronize(stream), 0);
	ok(calls == 1);
	expect(accel_device_close(dev), 0);
}

/* The window of a handle that was being closed is still no host memory. */
static void closing_handle_is_inherited(void)
{
	inherited_file_is_closed();
	refused(accel_memory_copy(device, mine, 64), -EPERM, "before the fork");
}

static void forks_during_the_close(void *data, int status)
{
	(void)data;
	ok(status == -ECANCELED);
	in_child(closing_handle_is_inherited);
}

/* The last close runs pending callbacks. A child forked meanwhile does not keep the device open. */
static void test_fork_while_a_close_runs_callbacks(void)
{
	set_up();
	mock_hold(0);
	expect(accel_async_device_memory_set(dev, stream, device, 1, 64), 0);
	expect(accel_stream_add_callback(stream, forks_during_the_close, NULL), 0);
	mock_wait_held(0, 1);
	expect(accel_device_close(dev), 0);
	mock_release(0);
}

/* The handle was closed, but a copy in flight still uses it. */
static void test_fork_while_a_copy_keeps_a_closed_handle(void)
{
	pthread_t thread;

	set_up();
	mock_hold(0);
	pthread_create(&thread, NULL, copies, NULL);
	mock_wait_held(0, 1);
	expect(accel_device_close(dev), 0);
	in_child(closing_handle_is_inherited);
	mock_release(0);
	pthread_join(thread, NULL);
}

/* In the thread of the callbacks itself. */
static void forks(void *data, int status)
{
	(void)data;
	expect(status, 0);
	in_child(calls_back_itself);
}

/* The last thread has ended: so does the process. */
static void leave(void)
{
	_exit(7);
}

/* The child comes back from the callback, into a thread that is not there. */
static void forks_and_returns(void *data, int status)
{
	pid_t pid;

	(void)data;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		accel_device_close(dev);
		atexit(leave);
		return;
	}
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void test_child_returns_from_a_callback(void)
{
	set_up();
	expect(accel_stream_add_callback(stream, forks_and_returns, NULL), 0);
	expect(accel_stream_synchronize(stream), 0);
	expect(accel_device_close(dev), 0);
}

static void test_fork_in_a_callback(void)
{
	set_up();
	expect(accel_stream_add_callback(stream, forks, NULL), 0);
	expect(accel_stream_synchronize(stream), 0);
	expect(accel_device_close(dev), 0);
}

static char *mapped;

/* The driver's mapping is the parent's. Nothing else may come in its place. */
static void mapped_window_is_kept(void)
{
	void *at = (void *)((uintptr_t)mapped & ~(uintptr_t)4095);
	char byte;

	ok(mmap(at, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
	   MAP_FAILED);
	/* An access would be a SIGSEGV: the kernel says so without one. */
	ok(write(dev ? fileno(stdout) : -1, mapped, 1) == -1 && errno == EFAULT);
	refused(accel_memory_copy(&byte, mapped, 1), -EPERM, "before the fork");
	expect(accel_device_close(dev), 0);
}

static void test_mapped_window(void)
{
	mock_add_mappable(0, 1 << 20);
	expect(accel_device_open(0, &dev), 0);
	mapped = device_memory(dev, 10000);
	memset(mapped, 5, 10000);
	in_child(mapped_window_is_kept);
	ok(mapped[9999] == 5);
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
	RUN(test_fork_while_a_callback_is_due);
	RUN(test_fork_while_a_close_runs_callbacks);
	RUN(test_fork_while_a_copy_keeps_a_closed_handle);
	RUN(test_fork_in_a_callback);
	RUN(test_child_returns_from_a_callback);
	RUN(test_mapped_window);
	return tap_end();
}
