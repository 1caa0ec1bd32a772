/* SPDX-License-Identifier: MIT */
/*
 * samples DEVICE: the steps of the documentation's samples on one device: resources, copies at once
 * and on streams, events, callbacks in a thread of the program, out of memory; and that nothing of
 * it stays.
 */
#include "acl.h"

#include <sched.h>
#include <stdatomic.h>

#define SIZE 1000

static int32_t device;
static char bytes[SIZE], back[SIZE];

static void begin(void)
{
	gives(aclInit(NULL), ACL_SUCCESS);
	gives(aclrtSetDevice(device), ACL_SUCCESS);
	fill_with(bytes, SIZE, device);
	memset(back, 0, SIZE);
}

static void end(void)
{
	gives(aclrtResetDevice(device), ACL_SUCCESS);
	gives(aclFinalize(), ACL_SUCCESS);
}

static char *on_device(size_t size)
{
	void *ptr = NULL;

	gives(aclrtMalloc(&ptr, size, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
	return ptr;
}

static char *on_host(size_t size)
{
	void *ptr = NULL;

	gives(aclrtMallocHost(&ptr, size), ACL_SUCCESS);
	return ptr;
}

/* ---- Memory ---- */

static void test_copies(void)
{
	struct accel_memory_stats before, now;
	char *first, *second;

	begin();
	first = on_device(SIZE);
	second = on_device(SIZE);
	before = card_stats(device);
	gives(aclrtMemcpy(first, SIZE, bytes, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
	gives(aclrtMemcpy(second, SIZE, first, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_SUCCESS);
	gives(aclrtMemcpy(back, SIZE, second, SIZE, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
	ok(!memcmp(back, bytes, SIZE));
	now = card_stats(device);
	ok(now.bytes_h2d - before.bytes_h2d == SIZE);
	ok(now.bytes_d2d - before.bytes_d2d == SIZE);
	ok(now.bytes_d2h - before.bytes_d2h == SIZE);
	ok(now.transfers - before.transfers >= 3);
	gives(aclrtFree(first), ACL_SUCCESS);
	gives(aclrtFree(second), ACL_SUCCESS);
	end();
}

static const size_t sizes[] = { 1, 31, 32, 33, 63, 64, 65 };
#define SIZES (sizeof(sizes) / sizeof(*sizes))

/* Each block has its rounded size to itself. All is filled first, and then looked at. */
static void test_sizes(void)
{
	size_t rounded[SIZES];
	char *blocks[SIZES], byte;

	begin();
	for (size_t i = 0; i < SIZES; i++) {
		rounded[i] = (sizes[i] + 31) / 32 * 32;
		gives(aclrtMallocAlign32((void **)&blocks[i], sizes[i], ACL_MEM_MALLOC_HUGE_FIRST),
		      ACL_SUCCESS);
		ok(!((uintptr_t)blocks[i] % 64));
		gives(aclrtMemset(blocks[i], rounded[i], (int32_t)i + 1, rounded[i]), ACL_SUCCESS);
	}
	for (size_t i = 0; i < SIZES; i++) {
		byte = 0;
		gives(aclrtMemcpy(&byte, 1, blocks[i] + rounded[i] - 1, 1,
				  ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
		ok(byte == (char)(i + 1));
		gives(aclrtFree(blocks[i]), ACL_SUCCESS);
		gives(aclrtFree(blocks[i]), ACL_ERROR_RT_PARAM_INVALID);
	}
	end();
}

static void test_out_of_memory(void)
{
	size_t free = 0, total = 0;
	void *all, *ptr = &all;

	begin();
	gives(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
	ok(free && free <= total && total == card_stats(device).total);
	gives(aclrtMallocAlign32(&all, free, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
	gives(aclrtMalloc(&ptr, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
	ok(!ptr);
	gives(aclrtFree(all), ACL_SUCCESS);
	gives(aclrtMalloc(&ptr, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
	end();
}

#define ROWS 4
#define WIDTH 10
#define PITCH 16

static void test_rows(void)
{
	char *ptr;

	begin();
	ptr = on_device(ROWS * PITCH);
	gives(aclrtMemcpy2d(ptr, PITCH, bytes, WIDTH + 3, WIDTH, ROWS, ACL_MEMCPY_HOST_TO_DEVICE),
	      ACL_SUCCESS);
	gives(aclrtMemcpy2d(back, WIDTH, ptr, PITCH, WIDTH, ROWS, ACL_MEMCPY_DEVICE_TO_HOST),
	      ACL_SUCCESS);
	for (size_t row = 0; row < ROWS; row++)
		ok(!memcmp(back + row * WIDTH, bytes + row * (WIDTH + 3), WIDTH));
	end();
}

/* ---- Streams and events ---- */

/* A fast device may have completed before the query. Only edu is slow enough for a busy answer. */
static bool is_slow(void)
{
	return card_stats(device).total < 65536;
}

static void test_stream_and_events(void)
{
	struct accel_memory_stats before, now;
	aclrtEventRecordedStatus status = 7;
	aclrtStream stream, other;
	aclrtEvent start, stop;
	char *ptr, *host;
	float ms = -1;

	begin();
	ptr = on_device(SIZE);
	host = on_host(2 * SIZE);
	memcpy(host, bytes, SIZE);
	gives(aclrtCreateStream(&stream), ACL_SUCCESS);
	gives(aclrtCreateStreamWithConfig(&other, 0, ACL_STREAM_FAST_LAUNCH), ACL_SUCCESS);
	gives(aclrtCreateEvent(&start), ACL_SUCCESS);
	gives(aclrtCreateEventWithFlag(&stop, ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC), ACL_SUCCESS);
	before = card_stats(device);
	gives(aclrtRecordEvent(start, stream), ACL_SUCCESS);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream),
	      ACL_SUCCESS);
	gives(aclrtRecordEvent(stop, stream), ACL_SUCCESS);
	gives(aclrtQueryEventStatus(stop, &status), ACL_SUCCESS);
	ok(!is_slow() || status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
	gives(aclrtStreamWaitEvent(other, stop), ACL_SUCCESS);
	gives(aclrtMemcpyAsync(host + SIZE, SIZE, ptr, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, other),
	      ACL_SUCCESS);
	gives(aclrtSynchronizeStream(other), ACL_SUCCESS);
	ok(!memcmp(host + SIZE, bytes, SIZE));
	gives(aclrtQueryEventStatus(stop, &status), ACL_SUCCESS);
	ok(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
	gives(aclrtEventElapsedTime(&ms, start, stop), ACL_SUCCESS);
	ok(ms > 0 && (!is_slow() || ms >= 99));
	now = card_stats(device);
	ok(now.bytes_h2d - before.bytes_h2d == SIZE && now.bytes_d2h - before.bytes_d2h == SIZE);
	gives(aclrtDestroyEvent(start), ACL_SUCCESS);
	gives(aclrtDestroyEvent(stop), ACL_SUCCESS);
	gives(aclrtDestroyStream(stream), ACL_SUCCESS);
	gives(aclrtDestroyStream(other), ACL_SUCCESS);
	gives(aclrtFreeHost(host), ACL_SUCCESS);
	gives(aclrtFree(ptr), ACL_SUCCESS);
	end();
}

static void test_timeout(void)
{
	char *ptr, *host;

	begin();
	ptr = on_device(SIZE);
	host = on_host(SIZE);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, NULL),
	      ACL_SUCCESS);
	if (is_slow())
		gives(aclrtSynchronizeStreamWithTimeout(NULL, 1),
		      ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
	gives(aclrtSynchronizeStreamWithTimeout(NULL, 60000), ACL_SUCCESS);
	gives(aclrtSynchronizeDeviceWithTimeout(60000), ACL_SUCCESS);
	end();
}

/* What was freed is used by the copy until it has ended. */
static void test_free_at_work(void)
{
	char *ptr, *host;

	begin();
	ptr = on_device(SIZE);
	host = on_host(SIZE);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, NULL),
	      ACL_SUCCESS);
	gives(aclrtFree(ptr), ACL_SUCCESS);
	gives(aclrtFreeHost(host), ACL_SUCCESS);
	gives(aclrtSynchronizeStream(NULL), ACL_SUCCESS);
	end();
}

/* ---- Contexts ---- */

static void test_contexts(void)
{
	aclrtContext first, second;
	aclrtStream stream;
	int32_t id = -1;

	begin();
	gives(aclrtGetCurrentContext(&first), ACL_SUCCESS);
	gives(aclrtCreateContext(&second, device), ACL_SUCCESS);
	gives(aclrtCreateStream(&stream), ACL_SUCCESS);
	gives(aclrtSetCurrentContext(first), ACL_SUCCESS);
	gives(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_CONTEXT);
	gives(aclrtSetCurrentContext(second), ACL_SUCCESS);
	gives(aclrtGetDevice(&id), ACL_SUCCESS);
	ok(id == device);
	gives(aclrtDestroyStream(stream), ACL_SUCCESS);
	gives(aclrtDestroyContext(second), ACL_SUCCESS);
	end();
}

/* ---- Callbacks: a thread of the program runs them ---- */

static atomic_bool ends;
static atomic_int ran;

static void *reports(void *arg)
{
	while (!ends)
		aclrtProcessReport(100);
	return arg;
}

static void count(void *data)
{
	ran += *(int *)data;
}

static void test_callbacks(void)
{
	int one = 1, hundred = 100;
	aclrtStream stream;
	pthread_t thread;
	char *ptr, *host;

	begin();
	ends = false;
	ran = 0;
	ptr = on_device(SIZE);
	host = on_host(SIZE);
	gives(aclrtCreateStream(&stream), ACL_SUCCESS);
	pthread_create(&thread, NULL, reports, NULL);
	gives(aclrtSubscribeReport((uint64_t)thread, stream), ACL_SUCCESS);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream),
	      ACL_SUCCESS);
	gives(aclrtLaunchCallback(count, &one, ACL_CALLBACK_NO_BLOCK, stream), ACL_SUCCESS);
	ok(!is_slow() || !ran);
	gives(aclrtMemcpyAsync(host, SIZE, ptr, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream),
	      ACL_SUCCESS);
	gives(aclrtLaunchCallback(count, &hundred, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
	gives(aclrtSynchronizeStream(stream), ACL_SUCCESS);
	ok(ran == 101);
	gives(aclrtUnSubscribeReport((uint64_t)thread, stream), ACL_SUCCESS);
	ends = true;
	pthread_join(thread, NULL);
	gives(aclrtDestroyStream(stream), ACL_SUCCESS);
	end();
}

/* ---- Nothing stays ---- */

static void test_nothing_stays(void)
{
	struct accel_memory_stats now;
	aclrtStream stream;
	aclrtEvent event;

	/* What earlier tests have freed. */
	while (card_stats(device).used)
		sched_yield();
	begin();
	for (int i = 0; i < 5; i++) {
		ok(on_device(64) && on_host(64));
		gives(aclrtCreateStream(&stream), ACL_SUCCESS);
		gives(aclrtCreateEvent(&event), ACL_SUCCESS);
		gives(aclrtRecordEvent(event, stream), ACL_SUCCESS);
	}
	now = card_stats(device);
	ok(now.mine_allocs == 5 && now.used && now.used == now.mine);
	/* All of it goes with the device. */
	end();
	now = card_stats(device);
	ok(!now.mine && !now.mine_allocs && !now.used);
	ok(now.free + now.dirty == now.total - now.used);
}

int main(int argc, char **argv)
{
	device = argc == 2 ? atoi(argv[1]) : 0;
	RUN(test_copies);
	RUN(test_sizes);
	RUN(test_out_of_memory);
	RUN(test_rows);
	RUN(test_stream_and_events);
	RUN(test_timeout);
	RUN(test_free_at_work);
	RUN(test_contexts);
	RUN(test_callbacks);
	RUN(test_nothing_stays);
	return tap_end();
}
