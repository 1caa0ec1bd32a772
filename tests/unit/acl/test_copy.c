/* SPDX-License-Identifier: MIT */
/* Copies and fills, at once and on streams. */
#include "fixture.h"

#include <sys/mman.h>

#define SIZE 256

static char bytes[SIZE], back[SIZE];
static char *ptr, *other, *host;

static void set_up(void)
{
	begin();
	fill_with(bytes, SIZE, 3);
	memset(back, 0, SIZE);
	ptr = memory(SIZE);
	other = memory(SIZE);
	host = pinned(SIZE);
	fill_with(host, SIZE, 9);
}

static int holds(const char *at, const char *wanted, size_t size)
{
	memset(back, ~*wanted, size);
	gives(aclrtMemcpy(back, SIZE, at, size, ACL_MEMCPY_DEVICE_TO_HOST), 0);
	return !memcmp(back, wanted, size);
}

/* ---- At once ---- */

static void test_every_direction(void)
{
	set_up();
	gives(aclrtMemcpy(ptr, SIZE, bytes, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 0);
	ok(!memcmp(mock_memory(0, MOCK_BASE), bytes, SIZE));
	gives(aclrtMemcpy(other, SIZE, ptr, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE), 0);
	ok(holds(other, bytes, SIZE));
	gives(aclrtMemcpy(back, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_HOST), 0);
	ok(!memcmp(back, host, SIZE));
	gives(aclrtMemcpy(other, SIZE, host, SIZE, ACL_MEMCPY_DEFAULT), 0);
	ok(holds(other, host, SIZE));
	/* Interior, and aligned to nothing. */
	gives(aclrtMemcpy(ptr + 33, 101, host + 7, 101, ACL_MEMCPY_HOST_TO_DEVICE), 0);
	ok(holds(ptr + 33, host + 7, 101));
	ok(holds(ptr, bytes, 33));
	ok(holds(ptr + 134, bytes + 134, SIZE - 134));
	end();
}

/* The addresses decide. */
static void test_wrong_kind(void)
{
	set_up();
	for (int kind = ACL_MEMCPY_HOST_TO_HOST; kind <= ACL_MEMCPY_INTER_DEVICE_TO_DEVICE;
	     kind++) {
		fill_with(bytes, SIZE, kind);
		gives(aclrtMemcpy(ptr, SIZE, bytes, SIZE, kind), 0);
		gives(aclrtMemcpy(other, SIZE, ptr, SIZE, kind), 0);
		gives(aclrtMemcpy(back, SIZE, other, SIZE, kind), 0);
		ok(!memcmp(back, bytes, SIZE));
	}
	refuses(aclrtMemcpy(ptr, SIZE, bytes, SIZE, 8), ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
		"kind is 8");
	gives(aclrtMemcpy(ptr, SIZE, bytes, SIZE, -1), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
	end();
}

static void test_refused_ranges(void)
{
	set_up();
	refuses(aclrtMemcpy(ptr, SIZE - 1, bytes, SIZE, 1), ACL_ERROR_RT_PARAM_INVALID,
		"count is 256: destMax allows 255");
	refuses(aclrtMemcpy(ptr, SIZE, bytes, 0, 1), ACL_ERROR_INVALID_PARAM, "count is 0");
	refuses(aclrtMemcpy(NULL, SIZE, bytes, SIZE, 1), ACL_ERROR_INVALID_PARAM, "dst is NULL");
	refuses(aclrtMemcpy(ptr, SIZE, NULL, SIZE, 1), ACL_ERROR_INVALID_PARAM, "src is NULL");
	/* More than is allocated, whatever destMax says. */
	gives(aclrtMemcpy(ptr + 1, SIZE, bytes, SIZE, 1), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtMemcpy(back, SIZE, ptr + 1, SIZE, 2), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtMemcpy(ptr, SIZE, ptr + 8, 64, 3), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtFree(ptr), 0);
	gives(aclrtMemcpy(ptr, SIZE, bytes, SIZE, 1), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtMemcpyAsync(ptr, SIZE, bytes, SIZE, 1, NULL), ACL_ERROR_RT_PARAM_INVALID);
	end();
}

static void test_a_card_that_fails(void)
{
	set_up();
	mock_fail(PACCEL_NR_COPY, 1, EIO);
	gives(aclrtMemcpy(ptr, SIZE, bytes, SIZE, 1), ACL_ERROR_RT_SYS_DMA);
	mock_fail(PACCEL_NR_COPY, 1, ETIMEDOUT);
	gives(aclrtMemcpy(ptr, SIZE, bytes, SIZE, 1), ACL_ERROR_RT_SYS_DMA);
	mock_fail(PACCEL_NR_FILL, 1, EIO);
	gives(aclrtMemset(ptr, SIZE, 1, SIZE), ACL_ERROR_RT_SYS_DMA);
	end();
}

/* ---- Between devices ---- */

static char *on_second(size_t size)
{
	char *made;

	gives(aclrtSetDevice(1), 0);
	made = memory(size);
	gives(aclrtSetDevice(0), 0);
	return made;
}

static void test_peers(void)
{
	int32_t can = -1;
	char *there;

	begin_with(2);
	fill_with(bytes, SIZE, 5);
	ptr = memory(SIZE);
	there = on_second(SIZE);
	gives(aclrtMemcpy(ptr, SIZE, bytes, SIZE, 1), 0);
	refuses(aclrtMemcpy(there, SIZE, ptr, SIZE, 3), ACL_ERROR_RT_PARAM_INVALID,
		"aclrtDeviceEnablePeerAccess() comes first");
	refuses(aclrtMemcpyAsync(there, SIZE, ptr, SIZE, 3, NULL), ACL_ERROR_RT_PARAM_INVALID,
		"aclrtDeviceEnablePeerAccess() comes first");
	gives(aclrtDeviceCanAccessPeer(&can, 0, 1), 0);
	ok(can == 1);
	gives(aclrtDeviceCanAccessPeer(&can, 1, 1), 0);
	ok(can == 0);
	gives(aclrtDeviceEnablePeerAccess(1, 0), 0);
	gives(aclrtDeviceEnablePeerAccess(1, 0), 0);
	gives(aclrtMemcpy(there, SIZE, ptr, SIZE, 3), 0);
	ok(!memcmp(mock_memory(1, MOCK_BASE), bytes, SIZE));
	fill_with(bytes, SIZE, 6);
	gives(aclrtMemcpy(there, SIZE, bytes, SIZE, 1), 0);
	gives(aclrtMemcpy(ptr, SIZE, there, SIZE, 3), 0);
	ok(holds(ptr, bytes, SIZE));
	gives(aclrtMemsetAsync(ptr, SIZE, 7, SIZE, NULL), 0);
	gives(aclrtMemcpyAsync(there, SIZE, ptr, SIZE, 3, NULL), 0);
	gives(aclrtSynchronizeStream(NULL), 0);
	ok(*mock_memory(1, MOCK_BASE + SIZE - 1) == 7);
	/* A stream has nothing to do with what is not of its device. */
	refuses(aclrtMemcpyAsync(there, SIZE, bytes, SIZE, 1, NULL), ACL_ERROR_RT_PARAM_INVALID,
		"of another one");
	refuses(aclrtMemcpyAsync(there, SIZE / 2, there + SIZE / 2, SIZE / 2, 3, NULL),
		ACL_ERROR_RT_PARAM_INVALID, "of another one");
	gives(aclrtDeviceDisablePeerAccess(1), 0);
	gives(aclrtMemcpy(there, SIZE, ptr, SIZE, 3), ACL_ERROR_RT_PARAM_INVALID);
	refuses(aclrtDeviceDisablePeerAccess(1), ACL_ERROR_RT_PARAM_INVALID, "not enabled");
	/* The other of the two is enough. */
	gives(aclrtSetDevice(1), 0);
	gives(aclrtDeviceEnablePeerAccess(0, 0), 0);
	gives(aclrtSetDevice(0), 0);
	gives(aclrtMemcpy(there, SIZE, ptr, SIZE, 3), 0);
	end();
}

static void test_no_peers(void)
{
	int32_t can = 7;

	begin_with(2);
	refuses(aclrtDeviceEnablePeerAccess(0, 0), ACL_ERROR_RT_INVALID_DEVICEID, "itself");
	refuses(aclrtDeviceEnablePeerAccess(2, 0), ACL_ERROR_RT_INVALID_DEVICEID, "no device 2");
	gives(aclrtDeviceEnablePeerAccess(-1, 0), ACL_ERROR_RT_INVALID_DEVICEID);
	refuses(aclrtDeviceEnablePeerAccess(1, 1), ACL_ERROR_RT_PARAM_INVALID, "flags is 0x1");
	gives(aclrtDeviceDisablePeerAccess(64), ACL_ERROR_RT_INVALID_DEVICEID);
	gives(aclrtDeviceDisablePeerAccess(0), ACL_ERROR_RT_INVALID_DEVICEID);
	refuses(aclrtDeviceCanAccessPeer(&can, 2, 0), ACL_ERROR_RT_INVALID_DEVICEID,
		"deviceId: there is no device 2");
	ok(!can);
	refuses(aclrtDeviceCanAccessPeer(&can, 0, -1), ACL_ERROR_RT_INVALID_DEVICEID,
		"peerDeviceId: there is no device -1");
	gives(aclrtDeviceCanAccessPeer(NULL, 0, 1), ACL_ERROR_INVALID_PARAM);
	end();
}

/* ---- On a stream ---- */

static void test_page_locked_is_queued(void)
{
	aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
	aclrtStream stream;

	set_up();
	stream = new_stream();
	mock_hold(0);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 0);
	gives(aclrtMemcpyAsync(other, SIZE, ptr, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), 0);
	gives(aclrtMemsetAsync(ptr, SIZE, 0x1234, SIZE, stream), 0);
	gives(aclrtStreamQuery(stream, &status), 0);
	ok(status == ACL_STREAM_STATUS_NOT_READY);
	mock_release(0);
	gives(aclrtSynchronizeStream(stream), 0);
	gives(aclrtStreamQuery(stream, &status), 0);
	ok(status == ACL_STREAM_STATUS_COMPLETE);
	ok(holds(other, host, SIZE));
	memset(host, 0, SIZE);
	gives(aclrtMemcpyAsync(host, SIZE, ptr, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	ok(host[0] == 0x34 && host[SIZE - 1] == 0x34);
	end();
}

/* Other memory is the program's again when the call returns. */
static void test_pageable_on_a_stream(void)
{
	aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;

	set_up();
	mock_hold(0);
	gives(aclrtMemcpyAsync(ptr, SIZE, bytes, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, NULL), 0);
	memset(bytes, 0, SIZE);
	gives(aclrtStreamQuery(NULL, &status), 0);
	ok(status == ACL_STREAM_STATUS_NOT_READY);
	mock_release(0);
	gives(aclrtMemcpyAsync(back, SIZE, ptr, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, NULL), 0);
	fill_with(bytes, SIZE, 3);
	ok(!memcmp(back, bytes, SIZE));
	end();
}

static void *let_go(void *arg)
{
	mock_wait_held(0, 1);
	mock_release(0);
	return arg;
}

/* Complete on return: from page-locked memory by that kind, from other by that call. */
static void test_complete_on_return(void)
{
	aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
	pthread_t thread;

	set_up();
	mock_hold(0);
	pthread_create(&thread, NULL, let_go, NULL);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, NULL), 0);
	gives(aclrtStreamQuery(NULL, &status), 0);
	ok(status == ACL_STREAM_STATUS_COMPLETE);
	pthread_join(thread, NULL);
	mock_hold(0);
	pthread_create(&thread, NULL, let_go, NULL);
	gives(aclrtMemcpyAsyncWithCondition(ptr, SIZE, bytes, SIZE, 1, NULL), 0);
	gives(aclrtStreamQuery(NULL, &status), 0);
	ok(status == ACL_STREAM_STATUS_COMPLETE);
	pthread_join(thread, NULL);
	mock_hold(0);
	gives(aclrtMemcpyAsyncWithCondition(ptr, SIZE, host, SIZE, 1, NULL), 0);
	gives(aclrtStreamQuery(NULL, &status), 0);
	ok(status == ACL_STREAM_STATUS_NOT_READY);
	mock_release(0);
	end();
}

static void test_no_work_for_a_device(void)
{
	set_up();
	refuses(aclrtMemcpyAsync(back, SIZE, bytes, SIZE, ACL_MEMCPY_DEFAULT, NULL),
		ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "are host memory");
	refuses(aclrtMemcpyAsync(ptr, SIZE, bytes, SIZE, ACL_MEMCPY_HOST_TO_HOST, NULL),
		ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "HOST_TO_HOST");
	refuses(aclrtMemcpyAsync(ptr, 1, bytes, SIZE, 1, NULL), ACL_ERROR_RT_PARAM_INVALID,
		"destMax allows 1");
	gives(aclrtMemcpyAsync(ptr, SIZE, bytes, 0, 1, NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtMemcpyAsync(NULL, SIZE, bytes, SIZE, 1, NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtMemcpyAsync(ptr, SIZE, NULL, SIZE, 1, NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtMemcpyAsync(ptr, SIZE, bytes, SIZE, 9, NULL), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
	end();
}

/* ---- Rows ---- */

#define ROWS 5
#define WIDTH 7
#define PITCH 16
#define DPITCH 20

static void check_rows(const char *got, size_t got_pitch, const char *sent, size_t sent_pitch)
{
	for (size_t row = 0; row < ROWS; row++)
		ok(!memcmp(got + row * got_pitch, sent + row * sent_pitch, WIDTH));
}

/* What lies between the rows stays. */
static void check_between(const char *got, size_t pitch, char was)
{
	for (size_t row = 0; row + 1 < ROWS; row++)
		for (size_t at = WIDTH; at < pitch; at++)
			ok(got[row * pitch + at] == was);
}

static void test_rows(void)
{
	set_up();
	gives(aclrtMemset(ptr, SIZE, 0x55, SIZE), 0);
	gives(aclrtMemcpy2d(ptr, DPITCH, bytes, PITCH, WIDTH, ROWS, ACL_MEMCPY_HOST_TO_DEVICE), 0);
	check_rows((char *)mock_memory(0, MOCK_BASE), DPITCH, bytes, PITCH);
	check_between((char *)mock_memory(0, MOCK_BASE), DPITCH, 0x55);
	memset(back, 0x66, SIZE);
	gives(aclrtMemcpy2d(back, PITCH, ptr, DPITCH, WIDTH, ROWS, ACL_MEMCPY_DEVICE_TO_HOST), 0);
	check_rows(back, PITCH, bytes, PITCH);
	check_between(back, PITCH, 0x66);
	gives(aclrtMemcpy2d(back, WIDTH, ptr, DPITCH, WIDTH, ROWS, ACL_MEMCPY_DEFAULT), 0);
	check_rows(back, WIDTH, bytes, PITCH);
	end();
}

static void test_rows_on_a_stream(void)
{
	aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
	unsigned int calls;

	set_up();
	gives(aclrtMemset(ptr, SIZE, 0x55, SIZE), 0);
	mock_hold(0);
	calls = mock_all_calls();
	gives(aclrtMemcpy2dAsync(ptr, DPITCH, host, PITCH, WIDTH, ROWS,
				 ACL_MEMCPY_HOST_TO_DEVICE, NULL), 0);
	/* All rows by one system call, beside those that make the stream. */
	ok(mock_all_calls() - calls <= 4);
	gives(aclrtStreamQuery(NULL, &status), 0);
	ok(status == ACL_STREAM_STATUS_NOT_READY);
	mock_release(0);
	gives(aclrtSynchronizeStream(NULL), 0);
	check_rows((char *)mock_memory(0, MOCK_BASE), DPITCH, host, PITCH);
	check_between((char *)mock_memory(0, MOCK_BASE), DPITCH, 0x55);
	/* With pageable memory it is complete on return. */
	memset(back, 0x66, SIZE);
	gives(aclrtMemcpy2dAsync(back, PITCH, ptr, DPITCH, WIDTH, ROWS,
				 ACL_MEMCPY_DEVICE_TO_HOST, NULL), 0);
	check_rows(back, PITCH, host, PITCH);
	check_between(back, PITCH, 0x66);
	end();
}

static void *let_second_go(void *arg)
{
	mock_wait_held(1, 1);
	wait_asleep(getpid());
	mock_release(1);
	return arg;
}

/* After what was queued before, which waits for another card: this one would copy at once. */
static void test_pageable_rows_after_the_stream(void)
{
	aclrtEvent event;
	pthread_t thread;
	char *there;

	mock_add(1);
	set_up();
	gives(aclrtSetDevice(1), 0);
	there = memory(64);
	event = new_event();
	mock_hold(1);
	gives(aclrtMemsetAsync(there, 64, 1, 64, NULL), 0);
	gives(aclrtRecordEvent(event, NULL), 0);
	gives(aclrtSetDevice(0), 0);
	gives(aclrtStreamWaitEvent(NULL, event), 0);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, 1, NULL), 0);
	pthread_create(&thread, NULL, let_second_go, NULL);
	gives(aclrtMemcpy2dAsync(back, PITCH, ptr, PITCH, WIDTH, ROWS, 2, NULL), 0);
	pthread_join(thread, NULL);
	check_rows(back, PITCH, host, PITCH);
	end();
}

/* One operation, however many they are. */
static void test_many_rows_on_a_stream(void)
{
	enum { MANY = 3 * MOCK_OPS + 5 };
	unsigned int submits;
	char *wide, *source;

	begin();
	wide = memory(2 * MANY);
	source = pinned(MANY);
	fill_with(source, MANY, 1);
	gives(aclrtMemset(wide, 2 * MANY, 0x55, 2 * MANY), 0);
	submits = mock_calls(PACCEL_NR_SUBMIT);
	gives(aclrtMemcpy2dAsync(wide, 2, source, 1, 1, MANY, ACL_MEMCPY_HOST_TO_DEVICE, NULL), 0);
	ok(mock_calls(PACCEL_NR_SUBMIT) == submits + 1);
	gives(aclrtSynchronizeStream(NULL), 0);
	for (size_t i = 0; i < MANY; i++) {
		ok(*mock_memory(0, MOCK_BASE + 2 * i) == (uint8_t)source[i]);
		ok(*mock_memory(0, MOCK_BASE + 2 * i + 1) == 0x55);
	}
	end();
}

static void refuse_rows(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			size_t height, int kind, aclError code, const char *words)
{
	ok(aclrtMemcpy2d(dst, dpitch, src, spitch, width, height, kind) == code);
	ok(strstr(aclGetRecentErrMsg(), words));
	ok(aclrtMemcpy2dAsync(dst, dpitch, src, spitch, width, height, kind, NULL) == code);
	ok(strstr(aclGetRecentErrMsg(), words));
}

static void test_refused_rows(void)
{
	set_up();
	refuse_rows(NULL, 8, bytes, 8, 8, 2, 1, ACL_ERROR_INVALID_PARAM, "dst is NULL");
	refuse_rows(ptr, 8, NULL, 8, 8, 2, 1, ACL_ERROR_INVALID_PARAM, "src is NULL");
	refuse_rows(ptr, 8, bytes, 8, 0, 2, 1, ACL_ERROR_INVALID_PARAM, "width is 0");
	refuse_rows(ptr, 8, bytes, 8, 8, 0, 1, ACL_ERROR_INVALID_PARAM, "height is 0");
	refuse_rows(ptr, 7, host, 8, 8, 2, 1, ACL_ERROR_RT_PARAM_INVALID, "dpitch is 7");
	refuse_rows(ptr, 8, host, 7, 8, 2, 1, ACL_ERROR_RT_PARAM_INVALID, "spitch is 7");
	refuse_rows(ptr, 8, other, 8, 8, 2, 4, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "both device");
	refuse_rows(back, 8, bytes, 8, 8, 2, 4, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "both host");
	refuse_rows(ptr, 8, bytes, 8, 8, 2, 3, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "kind is 3");
	refuse_rows(ptr, 8, bytes, 8, 8, 2, 0, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "kind is 0");
	refuse_rows(ptr, 128, bytes, 8, 8, 3, 1, ACL_ERROR_RT_PARAM_INVALID, "");
	refuse_rows(ptr, 128, host, 8, 8, 3, 1, ACL_ERROR_RT_PARAM_INVALID, "");
	refuse_rows(ptr, 150, host, 8, 8, 3, 1, ACL_ERROR_RT_PARAM_INVALID, "");
	refuse_rows(ptr, SIZE_MAX, host, 8, 8, 3, 1, ACL_ERROR_RT_PARAM_INVALID, "");
	end();
}

/* ---- Several ---- */

static void *dsts[3], *srcs[3];
static size_t maxima[3], lengths[3], indexes[3];
static aclrtMemcpyBatchAttr attrs[3];

static void three_copies(void)
{
	set_up();
	for (size_t i = 0; i < 3; i++) {
		dsts[i] = ptr + 64 * i;
		srcs[i] = host + 64 * i;
		maxima[i] = lengths[i] = 60;
		indexes[i] = i;
	}
}

static aclError copy_three(size_t *failed)
{
	return aclrtMemcpyBatch(dsts, maxima, srcs, lengths, 3, attrs, indexes, 1, failed);
}

static aclError queue_three(size_t *failed)
{
	return aclrtMemcpyBatchAsync(dsts, maxima, srcs, lengths, 3, attrs, indexes, 1, failed,
				     NULL);
}

static void check_three(aclError (*copy)(size_t *failed))
{
	size_t failed = 5;

	three_copies();
	ok(!copy(&failed) && failed == SIZE_MAX);
	gives(aclrtSynchronizeStream(NULL), 0);
	for (size_t i = 0; i < 3; i++)
		ok(holds(dsts[i], srcs[i], 60));
	maxima[2] = 59;
	ok(copy(&failed) == ACL_ERROR_RT_PARAM_INVALID && failed == 2);
	ok(strstr(aclGetRecentErrMsg(), "destMax allows 59"));
	dsts[0] = NULL;
	ok(copy(NULL) == ACL_ERROR_INVALID_PARAM);
	ok(copy(&failed) == ACL_ERROR_INVALID_PARAM && failed == 0);
	end();
}

static void test_several(void)
{
	check_three(copy_three);
}

static void test_several_on_a_stream(void)
{
	check_three(queue_three);
}

static void test_refused_several(void)
{
	size_t failed = 5;

	three_copies();
	gives(aclrtMemcpyBatch(NULL, maxima, srcs, lengths, 3, attrs, indexes, 1, &failed), 100000);
	ok(failed == SIZE_MAX);
	gives(aclrtMemcpyBatch(dsts, NULL, srcs, lengths, 3, attrs, indexes, 1, NULL), 100000);
	gives(aclrtMemcpyBatch(dsts, maxima, NULL, lengths, 3, attrs, indexes, 1, NULL), 100000);
	gives(aclrtMemcpyBatch(dsts, maxima, srcs, NULL, 3, attrs, indexes, 1, NULL), 100000);
	gives(aclrtMemcpyBatch(dsts, maxima, srcs, lengths, 0, attrs, indexes, 1, NULL), 100000);
	gives(aclrtMemcpyBatch(dsts, maxima, srcs, lengths, 3, NULL, indexes, 1, NULL), 100000);
	gives(aclrtMemcpyBatch(dsts, maxima, srcs, lengths, 3, attrs, NULL, 1, NULL), 100000);
	gives(aclrtMemcpyBatch(dsts, maxima, srcs, lengths, 3, attrs, indexes, 0, NULL), 107000);
	gives(aclrtMemcpyBatch(dsts, maxima, srcs, lengths, 3, attrs, indexes, 4, NULL), 107000);
	gives(aclrtMemcpyBatch(dsts, maxima, srcs, lengths, 3, attrs, indexes, 3, NULL), 0);
	indexes[0] = 1;
	refuses(aclrtMemcpyBatch(dsts, maxima, srcs, lengths, 3, attrs, indexes, 1, NULL), 107000,
		"attrsIndexes[0] is 1");
	indexes[0] = 0;
	indexes[1] = 0;
	refuses(aclrtMemcpyBatch(dsts, maxima, srcs, lengths, 3, attrs, indexes, 2, NULL), 107000,
		"attrsIndexes[1] is 0");
	indexes[1] = 3;
	gives(aclrtMemcpyBatch(dsts, maxima, srcs, lengths, 3, attrs, indexes, 2, NULL), 107000);
	end();
}

/* ---- Fills ---- */

static void test_fills(void)
{
	char *own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	set_up();
	gives(aclrtMemset(ptr + 1, SIZE, -2, 100), 0);
	ok(*mock_memory(0, MOCK_BASE) == 0 && *mock_memory(0, MOCK_BASE + 1) == 0xfe);
	ok(*mock_memory(0, MOCK_BASE + 100) == 0xfe && *mock_memory(0, MOCK_BASE + 101) == 0);
	gives(aclrtMemset(host + 1, SIZE, 0x101, 10), 0);
	ok(host[1] == 1 && host[10] == 1 && host[11] != 1);
	gives(aclrtHostRegisterV2(own, 4096, ACL_HOST_REG_PINNED), 0);
	gives(aclrtMemset(own, 4096, 3, 4096), 0);
	ok(own[0] == 3 && own[4095] == 3);
	gives(aclrtMemsetAsync(own, 4096, 4, 4096, NULL), 0);
	ok(own[0] == 4);
	gives(aclrtHostUnregister(own), 0);
	munmap(own, 4096);
	refuses(aclrtMemset(bytes, SIZE, 1, SIZE), ACL_ERROR_RT_INVALID_MEMORY_TYPE,
		"neither device memory");
	refuses(aclrtMemsetAsync(bytes, SIZE, 1, SIZE, NULL), ACL_ERROR_RT_INVALID_MEMORY_TYPE,
		"neither device memory");
	refuses(aclrtMemset(ptr, 9, 1, 10), ACL_ERROR_RT_PARAM_INVALID, "maxCount allows 9");
	refuses(aclrtMemset(host + 1, SIZE, 1, SIZE), ACL_ERROR_RT_PARAM_INVALID, "has 255 bytes");
	gives(aclrtMemset(ptr + 1, SIZE, 1, SIZE), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtMemset(ptr, SIZE, 1, 0), ACL_ERROR_INVALID_PARAM);
	gives(aclrtMemset(NULL, SIZE, 1, SIZE), ACL_ERROR_INVALID_PARAM);
	gives(aclrtMemsetAsync(NULL, SIZE, 1, SIZE, NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtFree(ptr), 0);
	gives(aclrtMemset(ptr, SIZE, 1, SIZE), ACL_ERROR_RT_PARAM_INVALID);
	end();
}

/* The program's memory that it cannot write itself. */
static void test_fill_of_read_only_memory(void)
{
	char *own = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	set_up();
	gives(aclrtHostRegisterV2(own, 8192, ACL_HOST_REG_PINNED), 0);
	ok(!mprotect(own + 4096, 4096, PROT_READ));
	refuses(aclrtMemset(own + 4000, SIZE, 1, SIZE), ACL_ERROR_RT_INVALID_MEMORY_TYPE,
		"cannot be written");
	refuses(aclrtMemsetAsync(own + 4000, SIZE, 1, SIZE, NULL),
		ACL_ERROR_RT_INVALID_MEMORY_TYPE, "cannot be written");
	ok(!own[4000] && !own[4096]);
	gives(aclrtMemcpy(own + 4000, SIZE, bytes, SIZE, ACL_MEMCPY_HOST_TO_HOST),
	      ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtMemset(own + 4000, 96, 1, 96), 0);
	ok(own[4095] == 1);
	gives(aclrtHostUnregister(own), 0);
	munmap(own, 8192);
	end();
}

/* Another driver's memory, whose addresses the processor cannot access. */
static void test_fill_of_a_dmabuf(void)
{
	struct accel_device *dev;
	void *frame = NULL;
	int fd;

	set_up();
	ok(!accel_device_open(0, &dev));
	fd = mock_dmabuf(SIZE);
	ok(!accel_host_register_dmabuf(dev, fd, SIZE, 0, &frame));
	refuses(aclrtMemset(frame, SIZE, 1, SIZE), ACL_ERROR_RT_INVALID_MEMORY_TYPE,
		"the processor cannot access");
	refuses(aclrtMemsetAsync(frame, SIZE, 1, SIZE, NULL), ACL_ERROR_RT_INVALID_MEMORY_TYPE,
		"the processor cannot access");
	gives(aclrtMemcpy(frame, SIZE, ptr, SIZE, ACL_MEMCPY_DEVICE_TO_HOST), 0);
	ok(!accel_host_unregister(dev, frame));
	close(fd);
	ok(!accel_device_close(dev));
	end();
}

/* Host memory of a fill waits for the stream. */
static void test_fill_after_the_stream(void)
{
	pthread_t thread;

	set_up();
	mock_hold(0);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, 1, NULL), 0);
	memcpy(bytes, host, SIZE);
	pthread_create(&thread, NULL, let_go, NULL);
	gives(aclrtMemsetAsync(host, SIZE, 0, SIZE, NULL), 0);
	pthread_join(thread, NULL);
	ok(holds(ptr, bytes, SIZE));
	ok(!host[0]);
	end();
}

static void test_fill_of_another_device(void)
{
	char *there;

	begin_with(2);
	there = on_second(64);
	gives(aclrtMemset(there, 64, 6, 64), 0);
	ok(*mock_memory(1, MOCK_BASE + 63) == 6);
	/* A stream is of one device. */
	gives(aclrtMemsetAsync(there, 64, 6, 64, NULL), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtMemcpyAsync(there, 64, bytes, 64, 1, NULL), ACL_ERROR_RT_PARAM_INVALID);
	/* What needs no stream needs no current device of its own either. */
	gives(aclrtMemcpy(there, 64, bytes, 64, 1), 0);
	end();
}

int main(void)
{
	RUN(test_every_direction);
	RUN(test_wrong_kind);
	RUN(test_refused_ranges);
	RUN(test_a_card_that_fails);
	RUN(test_peers);
	RUN(test_no_peers);
	RUN(test_page_locked_is_queued);
	RUN(test_pageable_on_a_stream);
	RUN(test_complete_on_return);
	RUN(test_no_work_for_a_device);
	RUN(test_rows);
	RUN(test_rows_on_a_stream);
	RUN(test_pageable_rows_after_the_stream);
	RUN(test_many_rows_on_a_stream);
	RUN(test_refused_rows);
	RUN(test_several);
	RUN(test_several_on_a_stream);
	RUN(test_refused_several);
	RUN(test_fills);
	RUN(test_fill_of_read_only_memory);
	RUN(test_fill_of_a_dmabuf);
	RUN(test_fill_after_the_stream);
	RUN(test_fill_of_another_device);
	return tap_end();
}
