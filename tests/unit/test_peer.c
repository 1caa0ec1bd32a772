/* SPDX-License-Identifier: MIT */
/* Copies between two cards that reach each other; also built with the thread sanitizer. */
#include "two_cards.h"

#include <sys/mman.h>

#define LINKS() mock_host_ranges(0)

/* An allocation of SIZE has only one place. */
static void begin(bool reach)
{
	mock_add_mappable(0, SIZE + (1u << 20));
	mock_add_mappable(1, SIZE + (1u << 20));
	mock_peers(reach);
	open_two();
}

static bool is_direct(void)
{
	uint64_t before = stats_of(to).bytes_h2d;

	empty_destination();
	expect(accel_memory_copy(dst + 3, src + 5, 1000), 0);
	ok(arrived(3, 5, 1000));
	return stats_of(to).bytes_h2d == before;
}

/* The card that has the source writes, once: nothing is exported again. */
static void test_direct(void)
{
	unsigned int copies;

	begin(true);
	copies = mock_calls(PACCEL_NR_COPY);
	ok(!LINKS());
	expect(copy_all(), 0);
	ok(arrived(0, 0, SIZE));
	ok(LINKS() == 1 && !mock_host_ranges(1) && !open_files());
	ok(is_direct() && is_direct());
	expect(accel_memory_copy_2d(dst, 1000, src + 1, 900, 800, 3000), 0);
	for (size_t i = 0; i < 3000; i++)
		ok(arrived(i * 1000, 1 + i * 900, 800));
	ok(mock_calls(PACCEL_NR_COPY) - copies == 4 && mock_calls(PACCEL_NR_MEM_EXPORT) == 1);
	ok(MOCK_LAST(paccel_copy, PACCEL_NR_COPY)->dir == PACCEL_COPY_D2H);
	/* The other way round the other card writes. */
	expect(accel_memory_copy(src, dst, SIZE), 0);
	ok(mock_host_ranges(1) == 1 && mock_calls(PACCEL_NR_MEM_EXPORT) == 2);
	close_two();
}

/* The device that writes cannot read back what it wrote: both halves are verified instead. */
static void test_verified(void)
{
	uint64_t before;

	begin(true);
	ok(is_direct());
	before = stats_of(to).bytes_h2d;
	empty_destination();
	expect(accel_async_memory_copy_2d(NULL, dst, 0, src, 0, SIZE, 1, ACCEL_VERIFY), 0);
	ok(arrived(0, 0, SIZE));
	ok(stats_of(to).bytes_h2d == before + SIZE);
	expect(accel_async_memory_copy_2d(NULL, dst, 0, src, 0, 100, 1, ACCEL_VERIFY), 0);
	ok(MOCK_LAST(paccel_copy, PACCEL_NR_COPY)->dir == PACCEL_COPY_H2D &&
	   MOCK_LAST(paccel_copy, PACCEL_NR_COPY)->flags == PACCEL_COPY_VERIFY);
	close_two();
}

static void test_refused_once(void)
{
	uintptr_t place;

	begin(false);
	for (int i = 0; i < 3; i++)
		ok(!is_direct());
	place = MOCK_LAST(paccel_host_register, PACCEL_NR_HOST_REGISTER)->addr;
	ok(msync((void *)place, SIZE, MS_ASYNC)); /* not mapped any more */
	ok(mock_calls(PACCEL_NR_MEM_EXPORT) == 1 && mock_calls(PACCEL_NR_HOST_REGISTER) == 1);
	/* A new allocation is asked for anew. */
	mock_peers(true);
	ok(!is_direct());
	expect(accel_device_memory_deallocate(to, dst, SIZE), 0);
	dst = device_memory(to, SIZE);
	ok(is_direct());
	close_two();
}

static void test_not_mappable(void)
{
	mock_add_mappable(0, SIZE);
	mock_add_sized(1, SIZE, SIZE);
	mock_peers(true);
	open_two();
	ok(!is_direct() && !mock_calls(PACCEL_NR_MEM_EXPORT));
	close_two();
}

/* What cannot be had for the direct way leaves nothing behind, and the bytes arrive. */
static void test_limits(void)
{
	static const struct {
		unsigned int what;
		int err;
	} limits[] = {
		{ PACCEL_NR_MEM_EXPORT, EMFILE },
		{ PACCEL_NR_HOST_REGISTER, ENOSPC },
		{ MOCK_MMAP, ENOMEM },
	};

	begin(true);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		mock_fail(limits[i].what, 1, limits[i].err);
		ok(!is_direct());
		ok(!LINKS() && !open_files());
		expect(accel_device_memory_deallocate(to, dst, SIZE), 0);
		dst = device_memory(to, SIZE);
	}
	ok(is_direct());
	close_two();
}

static void test_errors(void)
{
	begin(true);
	ok(is_direct());
	mock_fail(PACCEL_NR_COPY, 1, EIO);
	refused(accel_memory_copy(dst, src, 10), -EIO, "/dev/paccel0");
	/* Memory that was taken away is the host's to reach, or nobody's. */
	mock_fail(PACCEL_NR_COPY, 1, EFAULT);
	ok(!is_direct());
	ok(is_direct());
	mock_remove(1);
	refused(accel_memory_copy(dst, src, 10), -ENODEV, "/dev/paccel1");
	close_two();
}

/* The other card does not keep what was freed, and writes into what came in its place. */
static void test_freed(void)
{
	char *same;

	begin(true);
	same = dst;
	for (unsigned int i = 1; i <= 3; i++) {
		ok(is_direct() && LINKS() == 1 && mock_calls(PACCEL_NR_MEM_EXPORT) == i);
		ok(same == dst);
		expect(accel_device_memory_deallocate(to, dst, SIZE), 0);
		ok(!LINKS() && !stats_of(to).used);
		dst = device_memory(to, SIZE);
	}
	/* That of the source has nothing to do with it. */
	ok(is_direct());
	expect(accel_device_memory_deallocate(from, src, SIZE), 0);
	ok(LINKS() == 1);
	close_two();
}

static void test_imported(void)
{
	size_t size;
	void *ptr;
	int fd;

	begin(true);
	expect(accel_memory_export(to, dst, &fd), 0);
	expect(accel_memory_import(to, fd, &ptr, &size), 0);
	close(fd);
	ok(ptr == dst && is_direct());
	expect(accel_device_memory_deallocate(to, dst, SIZE), 0);
	ok(LINKS() == 1 && is_direct() && mock_calls(PACCEL_NR_MEM_EXPORT) == 2);
	expect(accel_device_memory_deallocate(to, dst, SIZE), 0);
	ok(!LINKS() && !stats_of(to).used);
	close_two();
}

static void test_closed(void)
{
	begin(true);
	ok(is_direct());
	expect(accel_device_close(to), 0);
	ok(!LINKS());
	expect(accel_device_open(1, &to), 0);
	ok(!stats_of(to).used);
	dst = device_memory(to, SIZE);
	ok(is_direct());
	expect(accel_device_close(from), 0);
	expect(accel_device_open(0, &from), 0);
	ok(!LINKS());
	src = device_memory(from, SIZE);
	expect(accel_memory_copy(src, bytes, SIZE), 0);
	ok(is_direct() && LINKS() == 1);
	close_two();
}

/* A copy in flight keeps the link; who frees does not wait for it. */
static void test_freed_in_flight(void)
{
	struct call call;

	begin(true);
	mock_hold(0);
	start_copy(&call);
	mock_wait_held(0, 1);
	expect(accel_device_memory_deallocate(to, dst, SIZE), 0);
	ok(LINKS() == 1 && stats_of(to).used == SIZE);
	mock_release(0);
	expect(end_copy(&call), 0);
	ok(!LINKS() && !stats_of(to).used);
	close_two();
}

static void closes_the_writer(void)
{
	expect(accel_device_close(from), 0);
	/* The link that is being ended is the writer's. */
	ok(mock_files() == 2);
}

/* The writing device is closed while a free of the other device's memory ends the link. */
static void test_freed_while_the_writer_is_closed(void)
{
	begin(true);
	ok(is_direct() && LINKS() == 1);
	mock_before(PACCEL_NR_HOST_FREE, closes_the_writer);
	expect(accel_device_memory_deallocate(to, dst, SIZE), 0);
	ok(mock_files() == 1 && !LINKS() && !stats_of(to).used);
	expect(accel_device_close(to), 0);
}

/* A copy in flight makes no link to a handle that was closed: nothing would end it. */
static void test_closed_before_the_link(void)
{
	struct call call;

	begin(true);
	mock_hold(1);
	start_copy(&call);
	mock_wait_held(1, 1);
	expect(accel_device_close(from), 0);
	mock_release(1);
	expect(end_copy(&call), 0);
	ok(mock_files() == 1 && !LINKS());
	expect(accel_device_close(to), 0);
}

/* It is gone before the link is made: there is none then. */
static void test_freed_before_the_link(void)
{
	struct call call;

	begin(true);
	mock_hold(1);
	start_copy(&call);
	mock_wait_held(1, 1);
	expect(accel_device_memory_deallocate(to, dst, SIZE), 0);
	mock_release(1);
	expect(end_copy(&call), -EFAULT);
	ok(!LINKS() && !open_files() && !stats_of(to).used);
	close_two();
}

#define ROUNDS 100

static pthread_mutex_t place = PTHREAD_MUTEX_INITIALIZER;
static char *small;

static void *copies(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		char *at;
		int err;

		pthread_mutex_lock(&place);
		at = small;
		pthread_mutex_unlock(&place);
		/* Freed before, or under it. */
		err = accel_memory_copy(at, src, 4096);
		ok(!err || err == -EFAULT);
	}
	return arg;
}

static void test_threads_and_a_free(void)
{
	pthread_t threads[4];

	begin(true);
	small = device_memory(to, 4096);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, copies, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		char *old = small, *new = device_memory(to, 4096);

		pthread_mutex_lock(&place);
		small = new;
		pthread_mutex_unlock(&place);
		expect(accel_device_memory_deallocate(to, old, 4096), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	expect(accel_device_memory_deallocate(to, small, 4096), 0);
	ok(!LINKS() && stats_of(to).used == SIZE);
	close_two();
}

static void *copies_once(void *arg)
{
	expect(accel_memory_copy(dst, src, 4096), 0);
	return arg;
}

/* Those that come first together make one link. */
static void test_first_together(void)
{
	pthread_t threads[8];

	begin(true);
	for (int i = 0; i < 10; i++) {
		for (int j = 0; j < 8; j++)
			pthread_create(&threads[j], NULL, copies_once, NULL);
		for (int j = 0; j < 8; j++)
			pthread_join(threads[j], NULL);
		ok(LINKS() == 1);
		expect(accel_device_memory_deallocate(to, dst, SIZE), 0);
		ok(!LINKS() && !stats_of(to).used);
		dst = device_memory(to, SIZE);
	}
	close_two();
}

/* ---- On a stream ---- */

static void test_queued(void)
{
	struct accel_stream *stream;

	begin(true);
	expect(accel_stream_create(from, &stream), 0);
	mock_hold(0);
	expect(accel_async_memory_copy_p2p(to, from, stream, dst, src, SIZE), 0);
	ok(accel_stream_query(stream) == -EINPROGRESS);
	mock_release(0);
	expect(accel_stream_synchronize(stream), 0);
	ok(arrived(0, 0, SIZE) && !stats_of(to).bytes_h2d);

	/* What is queued keeps what it needs: the link is not waited for. */
	mock_hold(0);
	expect(accel_async_memory_copy_p2p(to, from, stream, dst, src, SIZE), 0);
	expect(accel_device_memory_deallocate(to, dst, SIZE), 0);
	ok(!LINKS() && accel_stream_query(stream) == -EINPROGRESS);
	mock_release(0);
	expect(accel_stream_synchronize(stream), 0);
	close_two();
}

static void test_not_queued(void)
{
	struct accel_stream *stream, *far;

	begin(false);
	expect(accel_stream_create(from, &stream), 0);
	expect(accel_stream_create(to, &far), 0);
	/* No direct way. */
	expect(accel_async_memory_copy_p2p(to, from, stream, dst, src, 1000), 0);
	ok(arrived(0, 0, 1000) && !mock_calls(PACCEL_NR_SUBMIT));
	/* Not the card that writes. */
	mock_peers(true);
	expect(accel_device_memory_deallocate(to, dst, SIZE), 0);
	dst = device_memory(to, SIZE);
	expect(accel_async_memory_copy_p2p(to, from, far, dst, src + 1, 1000), 0);
	ok(arrived(0, 1, 1000) && !mock_calls(PACCEL_NR_SUBMIT) && LINKS() == 1);
	/* Memory that was taken away. */
	mock_fail(PACCEL_NR_SUBMIT, 1, EFAULT);
	expect(accel_async_memory_copy_p2p(to, from, stream, dst, src + 2, 1000), 0);
	ok(arrived(0, 2, 1000));
	/* Other errors are the stream's. */
	mock_fail_operation(0, 1, EIO);
	expect(accel_async_memory_copy_p2p(to, from, stream, dst, src, 1000), 0);
	expect(accel_stream_synchronize(stream), -EIO);
	refused(accel_async_memory_copy_p2p(to, from, stream, dst, src, 1000), -ECANCELED,
		"accel_stream_clear()");
	close_two();
}

int main(void)
{
	RUN(test_direct);
	RUN(test_verified);
	RUN(test_refused_once);
	RUN(test_not_mappable);
	RUN(test_limits);
	RUN(test_errors);
	RUN(test_freed);
	RUN(test_imported);
	RUN(test_closed);
	RUN(test_freed_in_flight);
	RUN(test_freed_while_the_writer_is_closed);
	RUN(test_closed_before_the_link);
	RUN(test_freed_before_the_link);
	RUN(test_threads_and_a_free);
	RUN(test_first_together);
	RUN(test_queued);
	RUN(test_not_queued);
	return tap_end();
}
