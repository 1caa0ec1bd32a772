/* SPDX-License-Identifier: MIT */
/*
 * Streams of libaccel with the real driver, as root in a guest with two cards on which each transfer
 * takes 100 ms: so there are few; what needs none of the card is done often.
 */
#define _GNU_SOURCE
#include "../kselftest/foreign.h"
#include "../unit/tap.h"

#include <accel/pool.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIZE 512
#define TRANSFER 90000000ll /* ns, at least */

static struct accel_device *dev, *other;
static struct accel_stream *stream, *second;
static char *device, *host;
static volatile bool no_call;
static struct foreign gate;

#define RUN(test) run(test, #test)

static void open_cards(void)
{
	void *ptr;

	expect(accel_device_open(0, &dev), 0);
	expect(accel_device_open(1, &other), 0);
	if (!dev || !other) {
		printf("Bail out! there are no two cards: %s\n", accel_last_error());
		exit(1);
	}
	expect(accel_stream_create(dev, &stream), 0);
	expect(accel_stream_create(dev, &second), 0);
	expect(accel_device_memory_allocate(dev, &ptr, SIZE), 0);
	device = ptr;
	expect(accel_host_memory_allocate(dev, &ptr, SIZE), 0);
	host = ptr;
	ok(foreign_open(&gate));
}

/* What is queued from now on waits until let_go(). */
static void hold(struct accel_stream *s)
{
	int fence = foreign_fence(&gate);

	expect(accel_stream_wait_fence(s, fence), 0);
	close(fence);
}

static void let_go(void)
{
	foreign_signal(&gate);
}

static void run(void (*test)(void), const char *name)
{
	open_cards();
	test();
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(other), 0);
	foreign_close(&gate);
	tap_done(name);
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static struct accel_event *new_event(struct accel_device *on)
{
	struct accel_event *event = NULL;

	expect(accel_event_create(on, &event), 0);
	return event;
}

static void fill(struct accel_stream *on, unsigned char value)
{
	expect(accel_async_device_memory_set(dev, on, device, value, SIZE), 0);
}

static void test_copies_are_queued(void)
{
	struct accel_event *start = new_event(dev), *end = new_event(dev);
	int64_t before = now(), ns = 0;

	memset(host, 'q', SIZE / 2);
	/* A call that waited for what it has queued would not come back. */
	hold(stream);
	expect(accel_event_record(start, stream), 0);
	expect(accel_async_memory_copy_h2d(dev, stream, device, host, SIZE / 2), 0);
	expect(accel_async_memory_copy_d2h(dev, stream, host + SIZE / 2, device, SIZE / 2), 0);
	expect(accel_event_record(end, stream), 0);
	ok(accel_stream_query(stream) == -EINPROGRESS);
	ok(accel_event_query(end) == -EINPROGRESS);
	expect(accel_event_elapsed_time(start, end, &ns), -EINPROGRESS);
	expect(accel_stream_synchronize_until(stream, (uint64_t)now() + 1000000), -ETIME);
	let_go();
	expect(accel_stream_synchronize(stream), 0);
	ok(!memcmp(host, host + SIZE / 2, SIZE / 2));
	expect(accel_stream_query(stream), 0);
	expect(accel_event_query(end), 0);
	expect(accel_event_elapsed_time(start, end, &ns), 0);
	ok(ns >= 2 * TRANSFER && ns <= now() - before);
}

/* In strict mode the kernel lets a thread read, write and exit, and ends it at any other call. */
static void *asks_in_strict_mode(void *arg)
{
	struct accel_event *event = arg;
	int wrong = 0;

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return NULL;
	for (int i = 0; i < 1000; i++) {
		wrong += accel_stream_query(stream) != -EINPROGRESS;
		wrong += accel_event_query(event) != -EINPROGRESS;
		wrong += accel_stream_query(second) != 0;
	}
	no_call = !wrong;
	syscall(SYS_exit, 0);
	return NULL;
}

static void test_query_makes_no_system_call(void)
{
	struct accel_event *event = new_event(dev);
	pthread_t thread;

	no_call = false;
	hold(stream);
	fill(stream, 1);
	expect(accel_event_record(event, stream), 0);
	pthread_create(&thread, NULL, asks_in_strict_mode, event);
	pthread_join(thread, NULL);
	ok(no_call);
	ok(accel_stream_query(stream) == -EINPROGRESS);
	let_go();
	expect(accel_stream_synchronize(stream), 0);
}

static void test_pageable_source_is_free_on_return(void)
{
	char mine[100], back[100];

	memset(mine, 'a', sizeof(mine));
	hold(stream);
	expect(accel_async_memory_copy_h2d(dev, stream, device, mine, sizeof(mine)), 0);
	memset(mine, 'b', sizeof(mine));
	ok(accel_stream_query(stream) == -EINPROGRESS);
	let_go();
	expect(accel_async_memory_copy_d2h(dev, stream, back, device, sizeof(back)), 0);
	ok(back[0] == 'a' && back[99] == 'a');
}

static void test_events_order_streams(void)
{
	struct accel_event *event = new_event(dev);
	struct accel_stream *there;

	expect(accel_stream_create(other, &there), 0);
	hold(stream);
	fill(stream, 'e');
	expect(accel_event_record(event, stream), 0);
	expect(accel_stream_wait_event(second, event), 0);
	expect(accel_async_memory_copy_d2h(dev, second, host, device, SIZE), 0);
	/* On the other card by a fence. */
	expect(accel_stream_wait_event(there, event), 0);
	ok(accel_stream_query(there) == -EINPROGRESS);
	expect(accel_stream_destroy(stream), 0);
	let_go();
	expect(accel_stream_synchronize(second), 0);
	ok(host[0] == 'e' && host[SIZE - 1] == 'e');
	expect(accel_stream_synchronize(there), 0);
	expect(accel_event_query(event), 0);
	expect(accel_event_destroy(event), 0);
}

static sem_t second_came;
static bool first_waited;

static void waits_for_second(void *data, int status)
{
	struct timespec limit;

	(void)data;
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 60;
	first_waited = !status && !sem_timedwait(&second_came, &limit);
}

static void comes_second(void *data, int status)
{
	(void)data;
	(void)status;
	sem_post(&second_came);
}

static void test_callback_that_blocks(void)
{
	sem_init(&second_came, 0, 0);
	expect(accel_async_device_memory_set(dev, stream, device, 1, 8), 0);
	expect(accel_stream_add_callback(stream, waits_for_second, NULL), 0);
	expect(accel_async_device_memory_set(dev, second, device, 2, 8), 0);
	expect(accel_stream_add_callback(second, comes_second, NULL), 0);
	expect(accel_stream_synchronize(stream), 0);
	ok(first_waited);
}

/* Thousands of operations that need nothing of the card, and a few that do. */
static void test_batches(void)
{
	struct accel_batch *batch;
	struct accel_event *event = new_event(dev), *first = new_event(dev);
	int fd = eventfd(0, EFD_NONBLOCK);
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	eventfd_t count = 0, more;
	int64_t ns = -1;

	expect(accel_batch_create(dev, &batch), 0);
	expect(accel_event_record(first, stream), 0);
	for (int i = 0; i < 200; i++) {
		for (int j = 0; j < 64; j++)
			expect(accel_batch_eventfd(batch, fd), 0);
		if (i % 50 == 0)
			expect(accel_batch_device_memory_set(batch, device, (unsigned char)i, 8), 0);
		expect(accel_batch_record_event(batch, event), 0);
		expect(accel_batch_submit(batch, stream, NULL), 0);
	}
	expect(accel_event_synchronize(event), 0);
	/* The event comes before eventfds are signalled, though by little. */
	while (count < 200 * 64 && poll(&polled, 1, 10000) == 1 && !eventfd_read(fd, &more))
		count += more;
	ok(count == 200 * 64);
	expect(accel_event_elapsed_time(first, event, &ns), 0);
	ok(ns >= 4 * TRANSFER);
	close(fd);
}

/* Recorded once, with what the host memory holds at each submission. */
static void test_replay(void)
{
	struct accel_batch *batch;
	void *locked;

	expect(accel_host_memory_allocate(dev, &locked, 8), 0);
	expect(accel_batch_create(dev, &batch), 0);
	expect(accel_batch_keep(batch), 0);
	expect(accel_batch_copy(batch, device, locked, 8), 0);
	expect(accel_batch_copy(batch, host, device, 8), 0);
	for (int i = 1; i <= 3; i++) {
		memset(locked, i, 8);
		expect(accel_batch_submit(batch, i % 2 ? stream : second, NULL), 0);
		expect(accel_stream_synchronize(i % 2 ? stream : second), 0);
		ok(host[0] == i && host[7] == i);
	}
	expect(accel_host_memory_deallocate(dev, locked, 8), 0);
	refused(accel_batch_submit(batch, stream, NULL), -EFAULT, "operation 0 (copy)");
}

static void test_batch_errors(void)
{
	struct accel_batch *batch;
	size_t failed = 99;
	void *more;
	int err;

	expect(accel_batch_create(dev, &batch), 0);
	expect(accel_device_memory_allocate(dev, &more, 64), 0);
	expect(accel_batch_device_memory_set(batch, device, 1, 8), 0);
	expect(accel_batch_copy(batch, more, host, 64), 0);
	expect(accel_device_memory_deallocate(dev, more, 64), 0);
	refused(accel_batch_submit(batch, stream, &failed), -EFAULT, "operation 1 (copy)");
	ok(failed == 1);
	expect(accel_batch_destroy(batch), 0);
	expect(accel_batch_create(dev, &batch), 0);
	do
		err = accel_batch_eventfd(batch, 0);
	while (!err);
	expect(err, -E2BIG);
	ok(strstr(accel_last_error(), "1024 operations") != NULL);
	refused(accel_batch_submit(batch, stream, &failed), -EINVAL, "fd 0 is no eventfd");
}

static void counts(void *data, int status)
{
	int *calls = data;

	ok(!status);
	calls[0]++;
	calls[1] = host[0];
}

static void test_callbacks(void)
{
	int calls[2] = { 0, 0 };

	for (int i = 0; i < 100; i++)
		expect(accel_stream_add_callback(stream, counts, calls), 0);
	expect(accel_stream_synchronize(stream), 0);
	ok(calls[0] == 100);
	hold(stream);
	fill(stream, 'c');
	expect(accel_async_memory_copy_d2h(dev, stream, host, device, 8), 0);
	expect(accel_stream_add_callback(stream, counts, calls), 0);
	ok(accel_stream_query(stream) == -EINPROGRESS && calls[0] == 100);
	let_go();
	/* Behind the callback. */
	fill(stream, 'd');
	ok(calls[0] == 101 && calls[1] == 'c');
	expect(accel_device_synchronize(dev), 0);
}

static void told(void *data, int status)
{
	*(int *)data = status;
}

static void test_close_with_work(void)
{
	struct accel_device *again;
	int status = 1;

	hold(stream);
	fill(stream, 1);
	expect(accel_stream_add_callback(stream, told, &status), 0);
	expect(accel_device_close(dev), 0);
	ok(status == -ECANCELED);
	let_go();
	expect(accel_device_open(0, &again), 0);
	dev = again;
}

static void test_descriptors(void)
{
	int fd = eventfd(0, 0), fence;
	struct pollfd polled[2];
	eventfd_t count;

	hold(stream);
	fill(stream, 'f');
	expect(accel_stream_eventfd(stream, fd), 0);
	expect(accel_stream_export_fence(stream, &fence), 0);
	expect(accel_stream_wait_fence(second, fence), 0);
	polled[0] = (struct pollfd){ .fd = fd, .events = POLLIN };
	polled[1] = (struct pollfd){ .fd = fence, .events = POLLIN };
	ok(poll(polled, 2, 0) == 0 && accel_stream_query(second) == -EINPROGRESS);
	let_go();
	ok(poll(&polled[0], 1, 10000) == 1 && !eventfd_read(fd, &count) && count == 1);
	expect(accel_stream_query(stream), 0);
	ok(poll(&polled[1], 1, 10000) == 1);
	expect(accel_stream_synchronize(second), 0);
	refused(accel_stream_wait_fence(stream, fd), -EINVAL, "no sync_file");
	refused(accel_stream_eventfd(stream, fence), -EINVAL, "no eventfd");
	close(fd);
	close(fence);
	/* Of a stream that never did anything. */
	expect(accel_stream_destroy(second), 0);
	expect(accel_stream_create(dev, &second), 0);
	expect(accel_stream_export_fence(second, &fence), 0);
	polled[1].fd = fence;
	ok(poll(&polled[1], 1, 10000) == 1);
	close(fence);
}

static void test_limits(void)
{
	struct accel_stream *more[200];
	int made = 0;

	while (made < 200 && !accel_stream_create(dev, &more[made]))
		made++;
	ok(made == 125 && strstr(accel_last_error(), "127 are the most"));
	expect(accel_stream_destroy(more[60]), 0);
	expect(accel_stream_create(dev, &more[60]), 0);
}

/* ---- Sharing ---- */

static int receive_fd(int socket)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	int fd = -1;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

static void send_fd(int socket, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
				  .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS } };
	char byte = 0;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	ok(sendmsg(socket, &message, 0) == 1);
}

static void import_and_answer(int socket)
{
	struct accel_device *own;
	char text[32] = "";
	size_t size = 0;
	void *ptr;

	expect(accel_device_open(0, &own), 0);
	expect(accel_memory_import(own, receive_fd(socket), &ptr, &size), 0);
	ok(size == SIZE);
	expect(accel_memory_copy(text, ptr, sizeof(text)), 0);
	ok(!strcmp(text, "from the parent"));
	expect(accel_memory_copy(ptr, "from the child", 15), 0);
	expect(accel_device_memory_deallocate(own, ptr, size), 0);
	expect(accel_device_close(own), 0);
}

static void test_memory_of_another_process(void)
{
	int sockets[2], fd, status = -1;
	char text[32] = "from the parent";
	pid_t pid;

	ok(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	expect(accel_memory_copy(device, text, sizeof(text)), 0);
	expect(accel_memory_export(dev, device, &fd), 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		tap_wrong = 0;
		import_and_answer(sockets[1]);
		fflush(stdout);
		_exit(!!tap_wrong);
	}
	send_fd(sockets[0], fd);
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status));
	expect(accel_memory_copy(text, device, sizeof(text)), 0);
	ok(!strcmp(text, "from the child"));
	close(fd);
	close(sockets[0]);
	close(sockets[1]);
}

static void import_block_and_answer(int socket)
{
	struct accel_device *own;
	char text[32] = "";
	size_t size = 0;
	void *ptr;
	char *block;

	expect(accel_device_open(0, &own), 0);
	expect(accel_memory_import(own, receive_fd(socket), &ptr, &size), 0);
	block = ptr;
	ok(size == SIZE);
	expect(accel_memory_copy(text, block, sizeof(text)), 0);
	ok(!strcmp(text, "of the block"));
	/* Nothing before or behind it. */
	ok(accel_memory_copy(text, block + SIZE, 1) && accel_memory_copy(text, block - 1, 1));
	ok(accel_memory_copy(text, block + SIZE - 1, 2));
	expect(accel_device_memory_set(own, block, 7, SIZE), 0);
	expect(accel_device_memory_deallocate(own, ptr, size), 0);
	expect(accel_device_close(own), 0);
}

/* Takes the memory of the device, and fills the last block. Nothing of it is where the freed one was. */
static void take_the_rest(struct accel_pool *pool, const char *gone)
{
	size_t size, free_bytes;
	void *blocks[16];
	char *block;
	int nr = 0;

	expect(accel_device_memory_stats(dev, &size, &free_bytes), 0);
	size /= 8;
	while (nr < 16 && !accel_pool_allocate(pool, NULL, size, 1, &blocks[nr])) {
		block = blocks[nr++];
		ok(block + size <= gone || gone + SIZE <= block);
	}
	ok(nr > 1 && nr < 16);
	if (nr > 1)
		expect(accel_device_memory_set(dev, blocks[nr - 1], 'x', 100), 0);
	while (nr--)
		expect(accel_pool_deallocate(pool, NULL, blocks[nr], size, 1), 0);
}

/* It is freed before it is imported, and no block of the exporter gets its memory meanwhile. */
static void test_block_of_another_process(void)
{
	int sockets[2], fd, refused_fd, status = -1;
	char text[32] = "of the block";
	struct accel_pool *pool = NULL;
	void *block, *beside;
	pid_t pid;

	ok(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	expect(accel_pool_create(dev, NULL, NULL, &pool), 0);
	expect(accel_pool_allocate(pool, NULL, SIZE, 1, &beside), 0);
	expect(accel_pool_allocate_exportable(pool, NULL, SIZE, 1, &block), 0);
	refused(accel_memory_export(dev, beside, &refused_fd), -ENOENT, "memory of a pool");
	expect(accel_memory_copy(block, text, sizeof(text)), 0);
	expect(accel_memory_export(dev, block, &fd), 0);
	expect(accel_pool_deallocate(pool, NULL, block, SIZE, 1), 0);
	take_the_rest(pool, block);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		tap_wrong = 0;
		import_block_and_answer(sockets[1]);
		fflush(stdout);
		_exit(!!tap_wrong);
	}
	send_fd(sockets[0], fd);
	close(fd);
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status));
	expect(accel_pool_deallocate(pool, NULL, beside, SIZE, 1), 0);
	expect(accel_pool_destroy(pool), 0);
	close(sockets[0]);
	close(sockets[1]);
}

/* Memory of one card's handle as host memory of the other's. */
static void test_memory_as_dmabuf(void)
{
	void *there, *ptr;
	size_t size;
	int fd;

	expect(accel_memory_export(dev, host, &fd), 0);
	expect(accel_host_register_dmabuf(other, fd, SIZE, 0, &there), 0);
	expect(accel_device_memory_allocate(other, &ptr, SIZE), 0);
	strcpy(host, "by the other card");
	expect(accel_memory_copy_h2d(other, ptr, there, 64), 0);
	memset(host, 0, 64);
	expect(accel_memory_copy_d2h(other, there, ptr, 64), 0);
	ok(!strcmp(host, "by the other card"));
	expect(accel_host_unregister(other, there), 0);
	refused(accel_memory_import(dev, fd, &there, &size), -EXDEV, "not device memory");
	close(fd);
	expect(accel_memory_export(dev, device, &fd), 0);
	expect(accel_memory_import(other, fd, &there, &size), -EXDEV);
	expect(accel_host_register_dmabuf(other, fd, SIZE, 0, &there), -EOPNOTSUPP);
	expect(accel_memory_import(dev, fd, &there, &size), 0);
	ok(there == device);
	expect(accel_device_memory_deallocate(dev, device, SIZE), 0);
	expect(accel_device_memory_deallocate(dev, device, SIZE), 0);
	close(fd);
}

int main(void)
{
	RUN(test_copies_are_queued);
	RUN(test_query_makes_no_system_call);
	RUN(test_pageable_source_is_free_on_return);
	RUN(test_events_order_streams);
	RUN(test_callback_that_blocks);
	RUN(test_batches);
	RUN(test_replay);
	RUN(test_batch_errors);
	RUN(test_callbacks);
	RUN(test_close_with_work);
	RUN(test_descriptors);
	RUN(test_limits);
	RUN(test_memory_of_another_process);
	RUN(test_block_of_another_process);
	RUN(test_memory_as_dmabuf);
	return tap_end();
}
