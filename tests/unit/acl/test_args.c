/* SPDX-License-Identifier: MIT */
/*
 * Every function with every kind of argument that is wrong: the code, a sentence with the name of
 * the call, and that nothing else happens.
 */
#include "fixture.h"

#define SIZE 64

/* ---- What arguments are made of ---- */

static char *ptr, *there, *freed, *host, *foreign;
static aclrtStream stream, other_stream, dead_stream;
static aclrtEvent event, other_event, dead_event;
static aclrtContext context, dead_context;
static char pageable[SIZE];

static void *any;
static size_t size;
static int32_t id;
static float ms;
static aclrtPtrAttributes attributes;
static aclrtEventRecordedStatus recorded;
static aclrtEventWaitStatus waited;
static aclrtStreamStatus status;

static void nothing(void *data)
{
	(void)data;
}

static struct accel_device *apart;

/* A card that the program has opened itself, and this interface has not. */
static char *memory_of_another(void)
{
	void *made = NULL;

	expect(accel_device_open(2, &apart), 0);
	expect(accel_device_memory_allocate(apart, &made, SIZE), 0);
	return made;
}

static void set_up(void)
{
	begin_with(3);
	ptr = memory(SIZE);
	host = pinned(SIZE);
	freed = memory(SIZE);
	gives(aclrtFree(freed), 0);
	foreign = memory_of_another();
	stream = new_stream();
	dead_stream = new_stream();
	gives(aclrtDestroyStream(dead_stream), 0);
	event = new_event();
	dead_event = new_event();
	gives(aclrtDestroyEvent(dead_event), 0);
	gives(aclrtCreateContext(&dead_context, 0), 0);
	gives(aclrtDestroyContext(dead_context), 0);
	gives(aclrtSetDevice(1), 0);
	there = memory(SIZE);
	other_stream = new_stream();
	other_event = new_event();
	gives(aclrtSetDevice(0), 0);
	gives(aclrtGetCurrentContext(&context), 0);
	gives(aclrtRecordEvent(event, stream), 0);
	gives(aclrtSynchronizeStream(stream), 0);
}

static void tear_down(void)
{
	expect(accel_device_close(apart), 0);
	end();
}

/* ---- Handles ---- */

/* gives(), where the text of the call is that of a list. */
#define wants(call, code) gives_code((call), (code), __func__, __LINE__, #call)

static aclError wanted;
#define WANTED(call) wants(call, wanted);

/* Every call that takes a stream. */
#define STREAM_CALLS(X, handle) \
	X(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, 1, handle)) \
	X(aclrtMemcpyAsyncWithCondition(ptr, SIZE, host, SIZE, 1, handle)) \
	X(aclrtMemcpy2dAsync(ptr, 8, host, 8, 8, 2, 1, handle)) \
	X(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, handle)) \
	X(aclrtDestroyStream(handle)) \
	X(aclrtDestroyStreamForce(handle)) \
	X(aclrtSynchronizeStream(handle)) \
	X(aclrtSynchronizeStreamWithTimeout(handle, 5)) \
	X(aclrtStreamQuery(handle, &status)) \
	X(aclrtStreamWaitEvent(handle, event)) \
	X(aclrtSetStreamFailureMode(handle, 1)) \
	X(aclrtRecordEvent(event, handle)) \
	X(aclrtResetEvent(event, handle)) \
	X(aclrtSubscribeReport(1, handle)) \
	X(aclrtUnSubscribeReport(1, handle)) \
	X(aclrtLaunchCallback(nothing, NULL, 0, handle)) \
	X(aclrtLaunchHostFunc(handle, nothing, NULL))

/* Every call that takes an event. */
#define EVENT_CALLS(X, handle) \
	X(aclrtDestroyEvent(handle)) \
	X(aclrtRecordEvent(handle, stream)) \
	X(aclrtResetEvent(handle, stream)) \
	X(aclrtQueryEventStatus(handle, &recorded)) \
	X(aclrtQueryEventWaitStatus(handle, &waited)) \
	X(aclrtSynchronizeEvent(handle)) \
	X(aclrtSynchronizeEventWithTimeout(handle, 5)) \
	X(aclrtEventElapsedTime(&ms, handle, event)) \
	X(aclrtEventElapsedTime(&ms, event, handle)) \
	X(aclrtStreamWaitEvent(stream, handle))

static void test_no_stream(void)
{
	void *bad[6];

	set_up();
	memcpy(bad, (void *[]){ dead_stream, event, context, host, (void *)1, (void *)-1 },
	       sizeof(bad));
	wanted = ACL_ERROR_RT_INVALID_HANDLE;
	for (size_t i = 0; i < 6; i++) {
		STREAM_CALLS(WANTED, bad[i])
	}
	wanted = ACL_ERROR_RT_STREAM_CONTEXT;
	STREAM_CALLS(WANTED, other_stream)
	tear_down();
}

static void test_no_event(void)
{
	void *bad[6];

	set_up();
	memcpy(bad, (void *[]){ dead_event, stream, context, host, (void *)1, (void *)-1 },
	       sizeof(bad));
	wanted = ACL_ERROR_RT_INVALID_HANDLE;
	for (size_t i = 0; i < 6; i++) {
		EVENT_CALLS(WANTED, bad[i])
	}
	wanted = ACL_ERROR_INVALID_PARAM;
	EVENT_CALLS(WANTED, NULL)
	gives(aclrtRecordEvent(other_event, stream), ACL_ERROR_RESOURCE_NOT_MATCH);
	tear_down();
}

static void test_no_context(void)
{
	void *bad[6];

	set_up();
	memcpy(bad, (void *[]){ dead_context, stream, event, host, (void *)1, (void *)-1 },
	       sizeof(bad));
	for (size_t i = 0; i < 6; i++) {
		gives(aclrtSetCurrentContext(bad[i]), ACL_ERROR_RT_INVALID_HANDLE);
		gives(aclrtDestroyContext(bad[i]), ACL_ERROR_RT_INVALID_HANDLE);
	}
	gives(aclrtSetCurrentContext(NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtDestroyContext(NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtDestroyContext(context), ACL_ERROR_RT_PARAM_INVALID);
	tear_down();
}

/* ---- Memory ---- */

/* Every call that takes the start of device memory, of host memory, a registration. */
#define FREE_CALLS(X, ptr) X(aclrtFree(ptr)) X(aclrtFreeWithDevSync(ptr))
#define FREE_HOST_CALLS(X, ptr) X(aclrtFreeHost(ptr)) X(aclrtFreeHostWithDevSync(ptr))

static void test_no_memory_to_free(void)
{
	set_up();
	wanted = ACL_ERROR_RT_PARAM_INVALID;
	FREE_CALLS(WANTED, ptr + 1)
	FREE_CALLS(WANTED, ptr + SIZE)
	FREE_CALLS(WANTED, freed)
	FREE_CALLS(WANTED, host)
	FREE_CALLS(WANTED, foreign)
	FREE_CALLS(WANTED, pageable)
	FREE_CALLS(WANTED, (void *)16)
	FREE_CALLS(WANTED, (void *)-1)
	FREE_HOST_CALLS(WANTED, host + 1)
	FREE_HOST_CALLS(WANTED, ptr)
	FREE_HOST_CALLS(WANTED, there)
	FREE_HOST_CALLS(WANTED, freed)
	FREE_HOST_CALLS(WANTED, foreign)
	FREE_HOST_CALLS(WANTED, pageable)
	FREE_HOST_CALLS(WANTED, (void *)16)
	gives(aclrtHostUnregister(host), wanted);
	gives(aclrtHostUnregister(ptr), wanted);
	gives(aclrtHostUnregister(pageable), wanted);
	wanted = ACL_ERROR_INVALID_PARAM;
	FREE_CALLS(WANTED, NULL)
	FREE_HOST_CALLS(WANTED, NULL)
	gives(aclrtHostUnregister(NULL), wanted);
	/* What was refused is still there. */
	gives(aclrtMemset(ptr, SIZE, 1, SIZE), 0);
	expect(accel_device_memory_set(apart, foreign, 1, SIZE), 0);
	gives(aclrtFree(there), 0);
	gives(aclrtFree(ptr), 0);
	gives(aclrtFreeHost(host), 0);
	tear_down();
}

/* Every call that writes, and every one that reads. */
#define WRITE_CALLS(X, ptr) \
	X(aclrtMemcpy(ptr, SIZE, host, SIZE, 1)) \
	X(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, 1, stream)) \
	X(aclrtMemcpyAsyncWithCondition(ptr, SIZE, host, SIZE, 1, stream)) \
	X(aclrtMemcpy2d(ptr, 8, host, 8, 8, SIZE / 8, 1)) \
	X(aclrtMemcpy2dAsync(ptr, 8, host, 8, 8, SIZE / 8, 1, stream)) \
	X(aclrtMemset(ptr, SIZE, 1, SIZE)) \
	X(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, stream))

#define READ_CALLS(X, ptr) \
	X(aclrtMemcpy(host, SIZE, ptr, SIZE, 2)) \
	X(aclrtMemcpyAsync(host, SIZE, ptr, SIZE, 2, stream)) \
	X(aclrtMemcpyAsyncWithCondition(host, SIZE, ptr, SIZE, 2, stream)) \
	X(aclrtMemcpy2d(host, 8, ptr, 8, 8, SIZE / 8, 2)) \
	X(aclrtMemcpy2dAsync(host, 8, ptr, 8, 8, SIZE / 8, 2, stream))

static void test_no_memory_to_copy(void)
{
	set_up();
	wanted = ACL_ERROR_RT_PARAM_INVALID;
	WRITE_CALLS(WANTED, freed)
	WRITE_CALLS(WANTED, ptr + 1)
	READ_CALLS(WANTED, freed)
	READ_CALLS(WANTED, ptr + 1)
	wanted = ACL_ERROR_INVALID_PARAM;
	WRITE_CALLS(WANTED, NULL)
	READ_CALLS(WANTED, NULL)
	/* A stream is of its device alone; without one any device will do. */
	wanted = ACL_ERROR_RT_PARAM_INVALID;
	gives(aclrtMemcpyAsync(there, SIZE, host, SIZE, 1, stream), wanted);
	gives(aclrtMemcpyAsync(host, SIZE, there, SIZE, 2, stream), wanted);
	gives(aclrtMemcpy2dAsync(there, 8, host, 8, 8, 2, 1, stream), wanted);
	gives(aclrtMemsetAsync(there, SIZE, 1, SIZE, stream), wanted);
	gives(aclrtMemcpy(there, SIZE, host, SIZE, 1), 0);
	/* A card of the program's own is not this interface's to fill. */
	gives(aclrtMemset(foreign, SIZE, 1, SIZE), wanted);
	gives(aclrtPointerGetAttributes(foreign, &attributes), 0);
	tear_down();
}

/* ---- Places for answers, devices ---- */

static void test_no_place_for_an_answer(void)
{
	set_up();
	gives(aclrtMalloc(NULL, 1, 0), ACL_ERROR_INVALID_PARAM);
	gives(aclrtMallocAlign32(NULL, 1, 0), ACL_ERROR_INVALID_PARAM);
	gives(aclrtMallocCached(NULL, 1, 0), ACL_ERROR_INVALID_PARAM);
	gives(aclrtMallocWithCfg(NULL, 1, 0, NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtMallocHost(NULL, 1), ACL_ERROR_INVALID_PARAM);
	gives(aclrtMallocHostWithCfg(NULL, 1, NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtGetMemInfo(0, NULL, &size), ACL_ERROR_INVALID_PARAM);
	gives(aclrtGetMemInfo(0, &size, NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtGetDevice(NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtGetDeviceCount(NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtGetRunMode(NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtGetCurrentContext(NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtCreateContext(NULL, 0), ACL_ERROR_INVALID_PARAM);
	gives(aclrtCreateStream(NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtCreateStreamWithConfig(NULL, 0, 0), ACL_ERROR_INVALID_PARAM);
	gives(aclrtCreateEvent(NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtCreateEventWithFlag(NULL, 1), ACL_ERROR_INVALID_PARAM);
	gives(aclrtCreateEventExWithFlag(NULL, 1), ACL_ERROR_INVALID_PARAM);
	gives(aclrtStreamQuery(stream, NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtQueryEventStatus(event, NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtQueryEventWaitStatus(event, NULL), ACL_ERROR_INVALID_PARAM);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	gives(aclrtQueryEvent(event, NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtQueryEvent(NULL, NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtQueryEvent(stream, NULL), ACL_ERROR_RT_INVALID_HANDLE);
#pragma GCC diagnostic pop
	gives(aclrtEventElapsedTime(NULL, event, event), ACL_ERROR_INVALID_PARAM);
	gives(aclrtPointerGetAttributes(ptr, NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtDeviceCanAccessPeer(NULL, 0, 1), ACL_ERROR_INVALID_PARAM);
	gives(aclrtGetDeviceUtilizationRate(0, NULL), ACL_ERROR_INVALID_PARAM);
	tear_down();
}

/* Every call that takes a device. */
#define DEVICE_CALLS(X, id) \
	X(aclrtSetDevice(id)) X(aclrtResetDevice(id)) X(aclrtResetDeviceForce(id)) \
	X(aclrtCreateContext(&any, id)) X(aclrtDeviceCanAccessPeer(&peer, id, 0)) \
	X(aclrtDeviceCanAccessPeer(&peer, 0, id)) X(aclrtDeviceEnablePeerAccess(id, 0)) \
	X(aclrtDeviceDisablePeerAccess(id)) X(aclrtGetDeviceUtilizationRate(id, &rates))

static void test_no_device(void)
{
	static const int32_t bad[] = { -1, 3, 63, 64, 0x7fffffff, -0x7fffffff };
	aclrtUtilizationInfo rates = { 0 };
	int32_t peer;

	set_up();
	wanted = ACL_ERROR_RT_INVALID_DEVICEID;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		DEVICE_CALLS(WANTED, bad[i])
	}
	tear_down();
}

/* ---- Without aclInit(), and without a context ---- */

/* Every call that needs a current context. */
#define CONTEXT_CALLS(X) \
	X(aclrtMalloc(&any, 1, 0)) X(aclrtMallocAlign32(&any, 1, 0)) \
	X(aclrtMallocCached(&any, 1, 0)) X(aclrtMallocWithCfg(&any, 1, 0, NULL)) \
	X(aclrtMallocHost(&any, 1)) X(aclrtMallocHostWithCfg(&any, 1, NULL)) \
	X(aclrtHostRegisterV2(pageable, SIZE, ACL_HOST_REG_PINNED)) \
	X(aclrtGetDevice(&id)) X(aclrtSynchronizeDevice()) \
	X(aclrtSynchronizeDeviceWithTimeout(1)) X(aclrtGetMemInfo(0, &size, &size)) \
	X(aclrtDeviceEnablePeerAccess(1, 0)) X(aclrtDeviceDisablePeerAccess(1)) \
	X(aclrtGetCurrentContext(&any)) X(aclrtCreateStream(&any)) \
	X(aclrtCreateStreamWithConfig(&any, 0, 0)) X(aclrtCreateEvent(&any)) \
	X(aclrtCreateEventWithFlag(&any, 1)) X(aclrtCreateEventExWithFlag(&any, 1)) \
	X(aclrtMemcpy(pageable, 1, pageable, 1, 0)) X(aclrtMemset(pageable, 1, 1, 1)) \
	X(aclrtMemcpy2d(pageable, 8, pageable, 8, 8, 2, 1)) \
	X(aclrtMemcpyBatch(NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL)) \
	X(aclrtMemcpyBatchAsync(NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, NULL)) \
	X(aclrtMemcpyAsync(pageable, 1, pageable, 1, 1, NULL)) \
	X(aclrtMemcpyAsyncWithCondition(pageable, 1, pageable, 1, 1, NULL)) \
	X(aclrtMemcpy2dAsync(pageable, 8, pageable, 8, 8, 2, 1, NULL)) \
	X(aclrtMemsetAsync(pageable, 1, 1, 1, NULL)) X(aclrtSynchronizeStream(NULL)) \
	X(aclrtSynchronizeStreamWithTimeout(NULL, 1)) X(aclrtStreamQuery(NULL, &status)) \
	X(aclrtSubscribeReport(1, NULL)) X(aclrtUnSubscribeReport(1, NULL)) \
	X(aclrtLaunchCallback(nothing, NULL, 0, NULL)) X(aclrtLaunchHostFunc(NULL, nothing, NULL))

/* And every other that needs aclInit(). */
#define OTHER_CALLS(X) \
	X(aclrtSetDevice(0)) X(aclrtResetDevice(0)) X(aclrtResetDeviceForce(0)) \
	X(aclrtCreateContext(&any, 0)) X(aclrtDestroyContext(&any)) \
	X(aclrtSetCurrentContext(&any)) X(aclrtFree(&any)) X(aclrtFreeWithDevSync(&any)) \
	X(aclrtFreeHost(&any)) X(aclrtFreeHostWithDevSync(&any)) X(aclrtHostUnregister(&any)) \
	X(aclrtHostRegister(&any, 1, ACL_HOST_REGISTER_MAPPED, &any)) X(aclrtMemFlush(&any, 1)) \
	X(aclrtMemInvalidate(&any, 1)) X(aclrtPointerGetAttributes(&any, &attributes)) \
	X(aclrtDestroyStream(&any)) X(aclrtDestroyStreamForce(&any)) \
	X(aclrtSetStreamFailureMode(&any, 1)) X(aclrtStreamWaitEvent(NULL, &any)) \
	X(aclrtDestroyEvent(&any)) X(aclrtRecordEvent(&any, NULL)) X(aclrtResetEvent(&any, NULL)) \
	X(aclrtQueryEventStatus(&any, &recorded)) X(aclrtQueryEventWaitStatus(&any, &waited)) \
	X(aclrtSynchronizeEvent(&any)) X(aclrtSynchronizeEventWithTimeout(&any, 1)) \
	X(aclrtEventElapsedTime(&ms, &any, &any)) X(aclrtProcessReport(1)) \
	X(aclrtDeviceCanAccessPeer(&id, 0, 1)) X(aclFinalize()) X(aclFinalizeReference(NULL))

static void test_before_init(void)
{
	wanted = ACL_ERROR_UNINITIALIZE;
	CONTEXT_CALLS(WANTED)
	OTHER_CALLS(WANTED)
	ok(!any && !size);
}

static void test_without_a_context(void)
{
	mock_add(0);
	mock_add(1);
	gives(aclInit(NULL), 0);
	wanted = ACL_ERROR_RT_CONTEXT_NULL;
	CONTEXT_CALLS(WANTED)
	ok(!any);
	ok(!mock_files());
	end();
}

int main(void)
{
	RUN(test_before_init);
	RUN(test_without_a_context);
	RUN(test_no_stream);
	RUN(test_no_event);
	RUN(test_no_context);
	RUN(test_no_memory_to_free);
	RUN(test_no_memory_to_copy);
	RUN(test_no_place_for_an_answer);
	RUN(test_no_device);
	return tap_end();
}
