/* SPDX-License-Identifier: MIT */
/* Copies between two cards that do not reach each other; also built with the thread sanitizer. */
#include "two_cards.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK (1u << 20)
#define BLOCKS (SIZE / BLOCK)

static void begin(void)
{
	mock_add_sized(0, SIZE, SIZE);
	mock_add_sized(1, SIZE, SIZE);
	open_two();
}

/* How many ranges and streams each card has; descriptors are never left. */
static void left(unsigned int count)
{
	ok(mock_host_ranges(0) == count && mock_host_ranges(1) == count);
	ok(mock_streams(0) == count && mock_streams(1) == count);
	ok(!open_files());
}

static void works(void)
{
	empty_destination();
	expect(copy_all(), 0);
	ok(arrived(0, 0, SIZE));
}

/* After a copy that has failed. */
static void nothing_is_left(void)
{
	left(0);
	works();
	left(1);
}

static void test_pipelined(void)
{
	unsigned int before;

	begin();
	before = mock_calls(PACCEL_NR_COPY);
	expect(accel_memory_copy_p2p(to, from, dst + 5, src + 1, SIZE - 5), 0);
	ok(mock_calls(PACCEL_NR_SUBMIT) == 2 * BLOCKS);
	ok(arrived(5, 1, SIZE - 5));
	ok(stats_of(from).bytes_d2h == SIZE - 5);
	expect(accel_memory_copy_p2p(to, from, dst, src, BLOCK + 1), 0);
	ok(arrived(0, 0, BLOCK + 1));
	ok(mock_calls(PACCEL_NR_COPY) == before && mock_calls(PACCEL_NR_SUBMIT) == 2 * BLOCKS + 4);
	works();
	left(1);
	close_two();
}

static void check_rows(size_t dpitch, size_t spitch, size_t width, size_t rows)
{
	const uint8_t *memory = mock_memory(1, MOCK_BASE);

	empty_destination();
	expect(accel_memory_copy_2d(dst, dpitch, src + 1, spitch, width, rows), 0);
	for (size_t i = 0; i < rows; i++)
		ok(!memcmp(memory + i * dpitch, bytes + 1 + i * spitch, width));
	for (size_t i = 0; i < rows * dpitch && i < SIZE; i++)
		if (i % dpitch >= width && memory[i]) {
			ok(!"nothing between the rows was touched");
			break;
		}
}

/* Short rows are gathered, long ones are cut. */
static void test_rows(void)
{
	unsigned int before;

	begin();
	before = mock_calls(PACCEL_NR_COPY);
	check_rows(1000, 900, 800, 6000);
	check_rows(900, 1001, 1, 3000);
	check_rows(2000000, 1900000, 1800000, 3);
	check_rows(BLOCK, BLOCK, BLOCK - 1, 5);
	/* The one that is small enough for one block. */
	ok(mock_calls(PACCEL_NR_COPY) == before + 2);
	left(1);
	close_two();
}

static void test_one_block(void)
{
	begin();
	expect(accel_memory_copy_p2p(to, from, dst + 3, src + 7, BLOCK), 0);
	ok(arrived(3, 7, BLOCK));
	ok(!mock_calls(PACCEL_NR_SUBMIT) && !mock_calls(PACCEL_NR_HOST_REGISTER));
	close_two();
}

/* All is queued: the writer has filled both buffers, and waits for the card that reads them. */
static void test_a_full_buffer_is_not_written(void)
{
	struct call call;

	begin();
	mock_hold(1);
	start_copy(&call);
	mock_wait_calls(PACCEL_NR_WAIT, 1);
	mock_wait_idle();
	ok(stats_of(from).bytes_d2h == 2 * BLOCK && !stats_of(to).bytes_h2d);
	mock_release(1);
	expect(end_copy(&call), 0);
	ok(arrived(0, 0, SIZE));
	works();
	close_two();
}

static void test_an_empty_buffer_is_not_read(void)
{
	struct call call;

	begin();
	mock_hold(0);
	start_copy(&call);
	mock_wait_calls(PACCEL_NR_WAIT, 1);
	mock_wait_idle();
	ok(!stats_of(to).bytes_h2d);
	mock_release(0);
	expect(end_copy(&call), 0);
	ok(arrived(0, 0, SIZE));
	works();
	close_two();
}

/* Each operation of each card; the error is told of the card that made it. */
static void test_failures(void)
{
	begin();
	for (unsigned int nth = 1; nth <= BLOCKS; nth++) {
		mock_fail_operation(0, nth, EIO);
		refused(copy_all(), -EIO, "/dev/paccel0");
		nothing_is_left();
		mock_fail_operation(1, nth, ETIMEDOUT);
		refused(copy_all(), -ETIMEDOUT, "/dev/paccel1");
		nothing_is_left();
	}
	mock_fail_operation(0, 5, EIO);
	mock_fail_operation(1, 2, ETIMEDOUT);
	refused(copy_all(), -ETIMEDOUT, "/dev/paccel1");
	mock_fail_operation(0, 0, 0);
	nothing_is_left();
	close_two();
}

static void lose_in_the_middle(unsigned int node, void (*lose)(unsigned int node), int err)
{
	struct call call;
	char name[32];

	begin();
	mock_hold(node);
	start_copy(&call);
	mock_wait_calls(PACCEL_NR_WAIT, 1);
	mock_wait_held(node, 1);
	lose(node);
	mock_release(node);
	expect(end_copy(&call), err);
	snprintf(name, sizeof(name), err == -ENODEV ? "/dev/paccel%u: the device was removed"
						    : "/dev/paccel%u: a reset", node);
	ok(strstr(call.sentence, name));
	ok(!mock_host_ranges(!node) && !mock_streams(!node));
	ok(!open_files());
	close_two();
	mock_reset();
}

static void test_cards_that_go(void)
{
	for (unsigned int node = 0; node < 2; node++) {
		lose_in_the_middle(node, mock_remove, -ENODEV);
		lose_in_the_middle(node, mock_lose, -ESTALE);
	}
}

static void refuse_each(unsigned int command, unsigned int calls, int err)
{
	for (unsigned int nth = 1; nth <= calls; nth++) {
		unsigned int before = mock_calls(PACCEL_NR_COPY);

		empty_destination();
		mock_fail(command, nth, err);
		expect(copy_all(), 0);
		ok(mock_calls(PACCEL_NR_COPY) - before == 2 * BLOCKS);
		ok(arrived(0, 0, SIZE));
		left(0);
	}
}

/* What cannot be had is not missed: the cards take turns, in blocks of 1 MiB. */
static void test_limits(void)
{
	begin();
	refuse_each(PACCEL_NR_HOST_REGISTER, 2, ENOSPC);
	refuse_each(PACCEL_NR_STREAM_CREATE, 2, ENOSPC);
	refuse_each(PACCEL_NR_SUBMIT, 2 * BLOCKS, ENOMEM);
	refuse_each(PACCEL_NR_FENCE_EXPORT, 2 * BLOCKS, EMFILE);
	works();
	close_two();
}

/* One is kept: nothing is made for the next copy, in either direction. */
static void test_kept(void)
{
	unsigned int copies;

	begin();
	copies = mock_calls(PACCEL_NR_COPY);
	for (int i = 0; i < 3; i++) {
		works();
		left(1);
		expect(accel_memory_copy(src, dst, SIZE), 0);
		ok(!memcmp(mock_memory(0, MOCK_BASE), bytes, SIZE));
	}
	ok(mock_calls(PACCEL_NR_COPY) == copies);
	ok(mock_calls(PACCEL_NR_HOST_REGISTER) == 2 && mock_calls(PACCEL_NR_STREAM_CREATE) == 2);
	/* Until one of the cards is closed. */
	expect(accel_device_close(from), 0);
	ok(!mock_host_ranges(1) && !mock_streams(1));
	expect(accel_device_close(to), 0);
	open_two();
	works();
	expect(accel_device_close(to), 0);
	ok(!mock_host_ranges(0) && !mock_streams(0));
	expect(accel_device_close(from), 0);
}

/* A copy between two others takes its place. */
static void test_three_cards(void)
{
	struct accel_device *third;
	char *far;

	begin();
	mock_add_sized(2, SIZE, SIZE);
	expect(accel_device_open(2, &third), 0);
	far = device_memory(third, SIZE);
	works();
	expect(accel_memory_copy(far, dst, SIZE), 0);
	ok(!memcmp(mock_memory(2, MOCK_BASE), bytes, SIZE));
	ok(!mock_host_ranges(0) && mock_host_ranges(1) == 1 && mock_host_ranges(2) == 1);
	works();
	ok(mock_host_ranges(0) == 1 && mock_host_ranges(1) == 1 && !mock_host_ranges(2));
	expect(accel_device_close(third), 0);
	close_two();
}

/* The program has all that its limits allow. */
static void test_given_up(void)
{
	struct accel_stream *streams[MOCK_STREAMS];
	struct rlimit limit, low;
	char *host, *ranges[MOCK_HOST_RANGES];

	begin();
	getrlimit(RLIMIT_MEMLOCK, &limit);
	low = limit;
	low.rlim_cur = 4 * BLOCK;
	setrlimit(RLIMIT_MEMLOCK, &low);
	works();
	left(1);
	host = host_memory(from, 4 * BLOCK);
	ok(host && mock_host_ranges(0) == 1 && !mock_host_ranges(1));
	expect(accel_host_memory_deallocate(from, host, 4 * BLOCK), 0);
	setrlimit(RLIMIT_MEMLOCK, &limit);

	works();
	for (int i = 0; i < MOCK_STREAMS; i++)
		expect(accel_stream_create(from, &streams[i]), 0);
	ok(mock_streams(0) == MOCK_STREAMS && !mock_streams(1));
	for (int i = 0; i < MOCK_STREAMS; i++)
		expect(accel_stream_destroy(streams[i]), 0);

	works();
	for (int i = 0; i < MOCK_HOST_RANGES; i++)
		ranges[i] = host_memory(to, 1);
	ok(mock_host_ranges(1) == MOCK_HOST_RANGES && !mock_host_ranges(0));
	for (int i = 0; i < MOCK_HOST_RANGES; i++)
		expect(accel_host_memory_deallocate(to, ranges[i], 1), 0);
	close_two();
}

static void test_locked_memory(void)
{
	struct rlimit limit, low;
	unsigned int before;

	begin();
	getrlimit(RLIMIT_MEMLOCK, &limit);
	low = limit;
	/* Enough for nobody, for one card, and for both. */
	for (rlim_t blocks = 1; blocks <= 4; blocks++) {
		left(0);
		low.rlim_cur = blocks * BLOCK;
		setrlimit(RLIMIT_MEMLOCK, &low);
		before = mock_calls(PACCEL_NR_COPY);
		works();
		ok(mock_calls(PACCEL_NR_COPY) - before == (blocks < 4 ? 2 * BLOCKS : 0));
	}
	setrlimit(RLIMIT_MEMLOCK, &limit);
	close_two();
}

static void test_freed_under_it(void)
{
	begin();
	mock_fail(PACCEL_NR_SUBMIT, 3, EFAULT);
	mock_fail(PACCEL_NR_COPY, 1, EFAULT);
	refused(copy_all(), -EFAULT, "freed by another thread");
	nothing_is_left();
	mock_fail(PACCEL_NR_COPY, 2, EFAULT);
	refused(accel_memory_copy_p2p(to, from, dst, src, 10), -EFAULT, "freed by another thread");
	mock_fail(PACCEL_NR_COPY, 2, EIO);
	refused(accel_memory_copy_p2p(to, from, dst, src, 10), -EIO, "/dev/paccel1");
	works();
	close_two();
}

#define PARTS 4
#define PART (SIZE / PARTS)

static void *copies_a_part(void *arg)
{
	size_t at = (size_t)(uintptr_t)arg * PART;

	for (int i = 0; i < 3; i++) {
		expect(accel_memory_copy_p2p(to, from, dst + at, src + at, PART), 0);
		expect(accel_memory_copy_p2p(from, to, src + at, dst + at, PART), 0);
	}
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[PARTS];

	begin();
	for (uintptr_t i = 0; i < PARTS; i++)
		pthread_create(&threads[i], NULL, copies_a_part, (void *)i);
	for (int i = 0; i < PARTS; i++)
		pthread_join(threads[i], NULL);
	ok(arrived(0, 0, SIZE));
	ok(!memcmp(mock_memory(0, MOCK_BASE), bytes, SIZE));
	works();
	close_two();
}

/* Pages that cards are writing to are not copied, and a child has no use for them. */
static void test_fork(void)
{
	struct call call;
	uintptr_t buffers;
	int status = -1;
	pid_t child;

	begin();
	mock_hold(1);
	start_copy(&call);
	mock_wait_held(1, 1);
	buffers = MOCK_LAST(paccel_host_register, PACCEL_NR_HOST_REGISTER)->addr;
	ok(!msync((void *)buffers, 2 * BLOCK, MS_ASYNC));
	child = fork();
	if (!child)
		_exit(!msync((void *)buffers, 2 * BLOCK, MS_ASYNC));
	ok(waitpid(child, &status, 0) == child && !status);
	mock_release(1);
	expect(end_copy(&call), 0);
	/* Nor of what is kept, which is the parent's: its addresses are free here. */
	child = fork();
	if (!child) {
		void *mine = mmap((void *)buffers, BLOCK, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		accel_device_close(from);
		accel_device_close(to);
		_exit(mine == MAP_FAILED || msync(mine, BLOCK, MS_ASYNC));
	}
	ok(waitpid(child, &status, 0) == child && !status);
	left(1);
	works();
	close_two();
}

int main(void)
{
	RUN(test_pipelined);
	RUN(test_rows);
	RUN(test_one_block);
	RUN(test_a_full_buffer_is_not_written);
	RUN(test_an_empty_buffer_is_not_read);
	RUN(test_failures);
	RUN(test_cards_that_go);
	RUN(test_limits);
	RUN(test_kept);
	RUN(test_three_cards);
	RUN(test_given_up);
	RUN(test_locked_memory);
	RUN(test_freed_under_it);
	RUN(test_threads);
	RUN(test_fork);
	return tap_end();
}
