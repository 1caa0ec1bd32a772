/* SPDX-License-Identifier: MIT */
/* The beginning and the end, devices, contexts; threads. Also built with the thread sanitizer. */
#include "fixture.h"

#include <limits.h>
#include <sys/stat.h>

/* ---- aclInit() and aclFinalize() ---- */

static void test_before_init(void)
{
	aclrtRunMode mode = ACL_DEVICE;
	aclrtContext context = &mode;
	uint32_t count = 7;
	void *ptr = &ptr;

	mock_add(0);
	refuses(aclrtMalloc(&ptr, 1, 0), ACL_ERROR_UNINITIALIZE, "aclInit() has not been called");
	ok(!ptr);
	gives(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
	gives(aclrtCreateContext(&context, 0), ACL_ERROR_UNINITIALIZE);
	ok(!context);
	gives(aclrtFree(&ptr), ACL_ERROR_UNINITIALIZE);
	gives(aclFinalize(), ACL_ERROR_UNINITIALIZE);
	gives(aclrtGetRunMode(&mode), 0);
	ok(mode == ACL_HOST);
	gives(aclrtGetDeviceCount(&count), 0);
	ok(count == 1);
	gives(aclrtGetRunMode(NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtGetDeviceCount(NULL), ACL_ERROR_INVALID_PARAM);
}

static void test_counted_init(void)
{
	uint64_t left = 9;

	mock_add(0);
	gives(aclInit(NULL), 0);
	gives(aclInit(NULL), 0);
	gives(aclInit(NULL), 0);
	gives(aclFinalizeReference(&left), 0);
	ok(left == 2);
	gives(aclrtSetDevice(0), 0);
	gives(aclFinalizeReference(NULL), 0);
	gives(aclrtSetDevice(0), 0);
	ok(mock_files());
	gives(aclFinalizeReference(&left), 0);
	ok(!left && !mock_files());
	refuses(aclFinalizeReference(&left), ACL_ERROR_REPEAT_FINALIZE, "since the last");
	gives(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
	/* However often it was called. */
	gives(aclInit(NULL), 0);
	gives(aclInit(NULL), 0);
	gives(aclFinalize(), 0);
	gives(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
	gives(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
}

static void test_finalize_frees_all(void)
{
	aclrtStream stream;
	aclrtEvent event;

	begin_with(2);
	memory(64);
	pinned(64);
	stream = new_stream();
	event = new_event();
	gives(aclrtRecordEvent(event, stream), 0);
	gives(aclrtSetDevice(1), 0);
	memory(64);
	end();
	ok(!mock_files());
	/* It can begin again, and nothing of before is there. */
	gives(aclInit(NULL), 0);
	gives(aclrtSetDevice(0), 0);
	gives(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
	gives(aclrtSynchronizeEvent(event), ACL_ERROR_RT_INVALID_HANDLE);
	end();
}

/* The file is opened, and nothing in it has an effect. */
static void test_configuration(void)
{
	char path[] = "/tmp/acl-test-XXXXXX";
	int fd = mkstemp(path);

	gives(aclInit(path), 0);
	gives(aclFinalize(), 0);
	ok(dprintf(fd, "no JSON") > 0);
	close(fd);
	gives(aclInit(path), 0);
	gives(aclFinalize(), 0);
	unlink(path);
	refuses(aclInit(path), ACL_ERROR_INVALID_FILE, "cannot be read");
	gives(aclInit("/"), ACL_ERROR_INVALID_FILE);
	gives(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
}

static void test_version(void)
{
	int32_t major = 0, minor = 0, patch = 1;

	gives(aclrtGetVersion(&major, &minor, &patch), 0);
	ok(major == 1 && minor == 15 && !patch);
	gives(aclrtGetVersion(NULL, &minor, &patch), ACL_ERROR_INVALID_PARAM);
	gives(aclrtGetVersion(&major, NULL, &patch), ACL_ERROR_INVALID_PARAM);
	gives(aclrtGetVersion(&major, &minor, NULL), ACL_ERROR_INVALID_PARAM);
}

/* ---- What went wrong ---- */

static void *no_message(void *arg)
{
	ok(!*aclGetRecentErrMsg());
	return arg;
}

static void test_messages(void)
{
	const char *said;
	uint32_t count;

	begin();
	ok(!*aclGetRecentErrMsg());
	ok(aclrtFree(NULL) == ACL_ERROR_INVALID_PARAM);
	/* A success leaves it, another thread has its own. */
	ok(!aclrtGetDeviceCount(&count));
	in_thread(no_message, NULL);
	said = aclGetRecentErrMsg();
	ok(!strcmp(said, "aclrtFree: devPtr is NULL"));
	/* The text stays while other calls fail, and is given once. */
	ok(aclrtFreeHost(NULL) == ACL_ERROR_INVALID_PARAM);
	ok(!strcmp(said, "aclrtFree: devPtr is NULL"));
	ok(!strcmp(aclGetRecentErrMsg(), "aclrtFreeHost: hostPtr is NULL"));
	ok(!*aclGetRecentErrMsg());
	end();
}

/* ---- Devices ---- */

static void test_no_device(void)
{
	uint32_t count = 7;

	gives(aclInit(NULL), 0);
	gives(aclrtGetDeviceCount(&count), 0);
	ok(!count);
	refuses(aclrtSetDevice(0), ACL_ERROR_RT_INVALID_DEVICEID, "there is none");
	gives(aclrtResetDevice(0), ACL_ERROR_RT_INVALID_DEVICEID);
	mock_add(0);
	refuses(aclrtSetDevice(1), ACL_ERROR_RT_INVALID_DEVICEID, "0 to 0 can be used");
	gives(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
	gives(aclrtSetDevice(64), ACL_ERROR_RT_INVALID_DEVICEID);
	gives(aclrtSetDevice(INT_MAX), ACL_ERROR_RT_INVALID_DEVICEID);
	gives(aclrtSetDevice(INT_MIN), ACL_ERROR_RT_INVALID_DEVICEID);
	mock_fail(MOCK_OPEN, 1, EACCES);
	gives(aclrtSetDevice(0), ACL_ERROR_RT_NO_PERMISSION);
	mock_fail(MOCK_OPEN, 1, EMFILE);
	gives(aclrtSetDevice(0), ACL_ERROR_RT_RESOURCE_ALLOC_FAIL);
	gives(aclrtSetDevice(0), 0);
	end();
}

static void test_reset_is_counted(void)
{
	int32_t id = 7;
	char *ptr;

	begin();
	gives(aclrtSetDevice(0), 0);
	ptr = memory(64);
	gives(aclrtResetDevice(0), 0);
	gives(aclrtMemset(ptr, 64, 1, 64), 0);
	gives(aclrtGetDevice(&id), 0);
	ok(!id);
	gives(aclrtResetDevice(0), 0);
	ok(!mock_files());
	refuses(aclrtGetDevice(&id), ACL_ERROR_RT_CONTEXT_NULL, "is gone");
	refuses(aclrtMemset(ptr, 64, 1, 64), ACL_ERROR_RT_CONTEXT_NULL, "aclrtMemset");
	gives(aclrtFree(ptr), ACL_ERROR_RT_PARAM_INVALID);
	refuses(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_NULL, "is not in use");
	gives(aclrtResetDevice(1), ACL_ERROR_RT_INVALID_DEVICEID);
	gives(aclrtResetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
	/* By force at once. */
	gives(aclrtSetDevice(0), 0);
	gives(aclrtSetDevice(0), 0);
	gives(aclrtResetDeviceForce(0), 0);
	ok(!mock_files());
	gives(aclrtResetDeviceForce(0), ACL_ERROR_RT_CONTEXT_NULL);
	end();
}

/* ---- Beside another layer, which has the device open, too ---- */

static struct accel_device *dev;
static char *ours, *locked, *theirs;
static char own[4096] __attribute__((aligned(4096)));

static void allocate_beside(void)
{
	void *ptr = NULL;

	ok(!accel_device_open(0, &dev));
	ok(!accel_device_memory_allocate(dev, &ptr, 64));
	theirs = ptr;
	ours = memory(64);
	locked = pinned(64);
	gives(aclrtHostRegisterV2(own, sizeof(own), ACL_HOST_REG_PINNED), 0);
}

static void is_freed_but_theirs(void)
{
	ok(!allocated(ours) && !allocated(locked) && !allocated(own));
	ok(allocated(theirs) == 64);
	ok(!mock_host_ranges(0));
}

/* Each layer's is freed when that layer ends, whichever comes first. */
static void test_reset_frees_its_own(void)
{
	begin();
	allocate_beside();
	gives(aclrtResetDevice(0), 0);
	is_freed_but_theirs();
	gives(aclrtSetDevice(0), 0);
	ours = memory(64);
	gives(aclrtFree(theirs), 0);
	gives(aclrtResetDeviceForce(0), 0);
	ok(!allocated(ours));
	ok(mock_files());
	ok(!accel_device_close(dev));
	ok(!mock_files());
	gives(aclrtSetDevice(0), 0);
	allocate_beside();
	ok(!accel_device_close(dev));
	ok(allocated(ours) == 64 && allocated(locked) == 64 && allocated(own) == sizeof(own));
	gives(aclrtResetDevice(0), 0);
	ok(!mock_files());
	gives(aclrtSetDevice(0), 0);
	allocate_beside();
	end();
	is_freed_but_theirs();
	ok(!accel_device_close(dev));
	ok(!mock_files());
}

/* What it has freed itself, or another layer for it, is not freed again in the place of another's. */
static void test_reset_frees_no_more(void)
{
	void *ptr = NULL, *rest;

	begin();
	allocate_beside();
	gives(aclrtFree(ours), 0);
	/* The only place that is left. */
	ok(!accel_device_memory_allocate(dev, &rest, MOCK_SIZE - 128));
	ours = memory(64);
	ok(!accel_device_memory_deallocate(dev, ours, 64));
	ok(!accel_device_memory_allocate(dev, &ptr, 64) && ptr == ours);
	gives(aclrtHostUnregister(own), 0);
	ok(!accel_host_register(dev, own, sizeof(own), 0));
	gives(aclrtFreeHost(locked), 0);
	gives(aclrtResetDevice(0), 0);
	ok(allocated(ptr) == 64 && allocated(own) == sizeof(own));
	ok(!accel_device_close(dev));
	ok(!mock_files());
	end();
}

/* A reset frees what could not be freed before. */
static void test_reset_frees_what_failed(void)
{
	begin();
	allocate_beside();
	mock_fail(PACCEL_NR_HOST_FREE, 1, EIO);
	gives(aclrtHostUnregister(own), ACL_ERROR_RT_SYS_DMA);
	mock_fail(PACCEL_NR_MEM_FREE, 1, EIO);
	gives(aclrtFree(ours), ACL_ERROR_RT_SYS_DMA);
	ok(allocated(ours) && allocated(own));
	gives(aclrtResetDevice(0), 0);
	is_freed_but_theirs();
	ok(!accel_device_close(dev));
	end();
}

static void *let_go(void *arg)
{
	mock_wait_held(0, 1);
	wait_asleep(getpid());
	mock_release(0);
	return arg;
}

static void test_reset_waits_for_work(void)
{
	char *host, *ptr;
	pthread_t thread;

	begin();
	host = pinned(64);
	ptr = memory(64);
	memset(host, 9, 64);
	mock_hold(0);
	gives(aclrtMemcpyAsync(ptr, 64, host, 64, 1, NULL), 0);
	pthread_create(&thread, NULL, let_go, NULL);
	gives(aclrtResetDevice(0), 0);
	pthread_join(thread, NULL);
	gives(aclrtSetDevice(0), 0);
	/* Nobody was told of a failure before: reset is the last to tell. */
	host = pinned(64);
	ptr = memory(64);
	mock_fail(MOCK_OPERATION, 1, EIO);
	gives(aclrtMemcpyAsync(ptr, 64, host, 64, 1, NULL), 0);
	gives(aclrtResetDevice(0), ACL_ERROR_RT_SYS_DMA);
	ok(!mock_files());
	/* By force nobody waits. */
	gives(aclrtSetDevice(0), 0);
	host = pinned(64);
	ptr = memory(64);
	mock_hold(0);
	gives(aclrtMemcpyAsync(ptr, 64, host, 64, 1, NULL), 0);
	gives(aclrtResetDeviceForce(0), 0);
	mock_release(0);
	end();
}

static void test_a_card_is_removed(void)
{
	aclrtStream stream;
	aclrtEvent event;
	char *ptr, *host, byte = 0;
	size_t free, total;

	begin_with(2);
	ptr = memory(64);
	host = pinned(64);
	stream = new_stream();
	event = new_event();
	gives(aclrtRecordEvent(event, stream), 0);
	mock_hold(0);
	gives(aclrtMemcpyAsync(ptr, 64, host, 64, 1, stream), 0);
	mock_remove(0);
	refuses(aclrtMemcpy(ptr, 1, &byte, 1, 1), ACL_ERROR_RT_NO_DEVICE, "aclrtMemcpy: ");
	gives(aclrtSynchronizeStream(stream), ACL_ERROR_RT_NO_DEVICE);
	gives(aclrtMemcpyAsync(ptr, 64, host, 64, 1, stream), ACL_ERROR_RT_NO_DEVICE);
	gives(aclrtSynchronizeDevice(), ACL_ERROR_RT_NO_DEVICE);
	gives(aclrtGetMemInfo(ACL_DDR_MEM, &free, &total), ACL_ERROR_RT_NO_DEVICE);
	ok(!free && !total);
	gives(aclrtRecordEvent(event, stream), ACL_ERROR_RT_NO_DEVICE);
	host[0] = 1;
	gives(aclrtDestroyEvent(event), 0);
	gives(aclrtDestroyStream(stream), ACL_ERROR_RT_NO_DEVICE);
	gives(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
	gives(aclrtResetDevice(0), 0);
	/* The other is the only one now, and is used under its own number. */
	gives(aclrtSetDevice(0), 0);
	memory(64);
	end();
	ok(!mock_files());
}

static void test_a_reset_loses_memory(void)
{
	char *ptr, byte = 0;

	begin();
	ptr = memory(64);
	mock_lose(0);
	gives(aclrtMemcpy(ptr, 1, &byte, 1, 1), ACL_ERROR_RT_DEVICE_MEM_ERROR);
	gives(aclrtResetDevice(0), 0);
	gives(aclrtSetDevice(0), 0);
	ptr = memory(64);
	gives(aclrtMemcpy(ptr, 1, &byte, 1, 1), 0);
	end();
}

/* ---- Contexts ---- */

static void test_contexts(void)
{
	aclrtContext first, context, found = NULL;
	aclrtStream of_first, of_second;
	int32_t id = 7;

	begin_with(2);
	gives(aclrtGetCurrentContext(&first), 0);
	of_first = new_stream();
	gives(aclrtCreateContext(&context, 1), 0);
	gives(aclrtGetCurrentContext(&found), 0);
	ok(found == context && context != first);
	gives(aclrtGetDevice(&id), 0);
	ok(id == 1);
	of_second = new_stream();
	gives(aclrtSynchronizeStream(of_second), 0);
	refuses(aclrtSynchronizeStream(of_first), ACL_ERROR_RT_STREAM_CONTEXT, "of device 0");
	refuses(aclrtDestroyStream(of_first), ACL_ERROR_RT_STREAM_CONTEXT, "belongs to context");
	gives(aclrtSetCurrentContext(first), 0);
	gives(aclrtGetDevice(&id), 0);
	ok(!id);
	gives(aclrtSynchronizeStream(of_first), 0);
	gives(aclrtSynchronizeStream(of_second), ACL_ERROR_RT_STREAM_CONTEXT);
	/* Its streams go with it. */
	gives(aclrtDestroyContext(context), 0);
	gives(aclrtSynchronizeStream(of_second), ACL_ERROR_RT_INVALID_HANDLE);
	gives(aclrtDestroyContext(context), ACL_ERROR_RT_INVALID_HANDLE);
	gives(aclrtSetCurrentContext(context), ACL_ERROR_RT_INVALID_HANDLE);
	refuses(aclrtDestroyContext(first), ACL_ERROR_RT_PARAM_INVALID, "default context");
	gives(aclrtResetDevice(1), 0);
	ok(mock_files() == 1);
	end();
}

/* On the device of the default one, with a default stream of its own. */
static void test_two_contexts_of_a_device(void)
{
	aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
	aclrtContext first, context;
	char *ptr, *host;

	begin();
	gives(aclrtGetCurrentContext(&first), 0);
	ptr = memory(64);
	host = pinned(64);
	mock_hold(0);
	gives(aclrtMemcpyAsync(ptr, 64, host, 64, 1, NULL), 0);
	gives(aclrtCreateContext(&context, 0), 0);
	gives(aclrtStreamQuery(NULL, &status), 0);
	ok(status == ACL_STREAM_STATUS_COMPLETE);
	gives(aclrtSetCurrentContext(first), 0);
	gives(aclrtStreamQuery(NULL, &status), 0);
	ok(status == ACL_STREAM_STATUS_NOT_READY);
	mock_release(0);
	gives(aclrtSynchronizeStream(NULL), 0);
	gives(aclrtSetCurrentContext(context), 0);
	gives(aclrtDestroyContext(context), 0);
	refuses(aclrtMemset(ptr, 1, 1, 1), ACL_ERROR_RT_CONTEXT_NULL, "is gone");
	gives(aclrtCreateContext(NULL, 0), ACL_ERROR_INVALID_PARAM);
	gives(aclrtCreateContext(&context, 1), ACL_ERROR_RT_INVALID_DEVICEID);
	ok(!context);
	gives(aclrtSetCurrentContext(NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtDestroyContext(NULL), ACL_ERROR_INVALID_PARAM);
	gives(aclrtGetCurrentContext(NULL), ACL_ERROR_RT_CONTEXT_NULL);
	gives(aclrtSetDevice(0), 0);
	gives(aclrtGetCurrentContext(NULL), ACL_ERROR_INVALID_PARAM);
	end();
}

/* ---- Threads ---- */

#define THREADS 8
#define ROUNDS 60

static void *starts_without(void *arg)
{
	void *ptr;

	refuses(aclrtMalloc(&ptr, 1, 0), ACL_ERROR_RT_CONTEXT_NULL, "no current context");
	gives(aclrtSetDevice(1), 0);
	ptr = memory(32);
	ok(accel_pointer_get_info(ptr, &(struct accel_pointer_info){ 0 }) == 0);
	return arg;
}

static void test_each_thread_has_a_device(void)
{
	int32_t id = 7;

	begin_with(2);
	in_thread(starts_without, NULL);
	gives(aclrtGetDevice(&id), 0);
	ok(!id);
	end();
}

static void *works(void *arg)
{
	int number = (int)(intptr_t)arg, id = number % 2;
	char bytes[64], back[64];
	aclrtStream stream;
	aclrtEvent event;
	char *ptr;

	gives(aclrtSetDevice(id), 0);
	for (int i = 0; i < ROUNDS; i++) {
		ptr = memory(64);
		stream = new_stream();
		event = new_event();
		fill_with(bytes, 64, number + i);
		gives(aclrtMemcpyAsync(ptr, 64, bytes, 64, 1, stream), 0);
		gives(aclrtRecordEvent(event, stream), 0);
		gives(aclrtStreamWaitEvent(NULL, event), 0);
		gives(aclrtMemcpyAsync(back, 64, ptr, 64, 2, NULL), 0);
		ok(!memcmp(bytes, back, 64));
		gives(aclrtDestroyEvent(event), 0);
		gives(aclrtDestroyStream(stream), 0);
		gives(aclrtFree(ptr), 0);
	}
	gives(aclrtResetDevice(id), 0);
	return NULL;
}

static void test_threads_with_devices(void)
{
	pthread_t threads[THREADS / 2];

	begin_with(2);
	for (size_t i = 0; i < THREADS / 2; i++)
		pthread_create(&threads[i], NULL, works, (void *)i);
	for (size_t i = 0; i < THREADS / 2; i++)
		pthread_join(threads[i], NULL);
	gives(aclrtResetDevice(0), 0);
	ok(!mock_files());
	end();
}

/* Whatever comes between: a call works, or says why not. */
static void *uses(void *arg)
{
	char bytes[8] = "";
	void *ptr;

	for (int i = 0; i < 4 * ROUNDS; i++) {
		if (aclrtSetDevice(0) || aclrtMalloc(&ptr, 8, 0))
			continue;
		aclrtMemcpy(ptr, 8, bytes, 8, 1);
		aclrtMemcpyAsync(ptr, 8, bytes, 8, 1, NULL);
		aclrtSynchronizeStream(NULL);
	}
	return arg;
}

static void *makes_contexts(void *arg)
{
	aclrtContext contexts[8];

	for (int i = 0; i < 4 * ROUNDS; i++) {
		for (int j = 0; j < 8; j++)
			if (!aclrtCreateContext(&contexts[j], 0))
				aclrtSynchronizeStream(NULL);
		for (int j = 0; j < 8; j++)
			aclrtDestroyContext(contexts[j]);
	}
	return arg;
}

static void *resets(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		aclrtResetDeviceForce(0);
		aclrtSetDevice(0);
		aclrtResetDevice(0);
	}
	return arg;
}

static void test_reset_while_others_work(void)
{
	pthread_t threads[4];

	begin();
	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, i ? uses : resets, NULL);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	end();
	ok(!mock_files());
}

static void test_reset_while_others_end_contexts(void)
{
	pthread_t threads[4];

	begin();
	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, i < 2 ? makes_contexts : resets, NULL);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	end();
	ok(!mock_files());
}

/* From aclrtSetDevice() to aclrtResetDevice() the device is the thread's, whatever others do. */
static void *sets_and_resets(void *arg)
{
	int32_t id = 7;

	for (int i = 0; i < 100 * ROUNDS; i++) {
		gives(aclrtSetDevice(0), 0);
		gives(aclrtGetDevice(&id), 0);
		gives(aclrtResetDevice(0), 0);
	}
	return arg;
}

static void test_the_last_reset_and_the_next_set(void)
{
	pthread_t threads[4];

	mock_add(0);
	gives(aclInit(NULL), 0);
	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, sets_and_resets, NULL);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ok(!mock_files());
	end();
}

/* So is what lies between aclInit() and aclFinalizeReference(). */
static void *begins_and_ends(void *arg)
{
	int32_t id = 7;

	for (int i = 0; i < 100 * ROUNDS; i++) {
		gives(aclInit(NULL), 0);
		gives(aclrtSetDevice(0), 0);
		gives(aclrtGetDevice(&id), 0);
		gives(aclFinalizeReference(NULL), 0);
	}
	return arg;
}

static void test_the_last_end_and_the_next_beginning(void)
{
	pthread_t threads[4];

	mock_add(0);
	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, begins_and_ends, NULL);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ok(!mock_files());
}

static bool over;

static void *sets(void *arg)
{
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		aclrtSetDevice(0);
	return arg;
}

/* Others may still try: after aclFinalize() there is no open card. */
static void test_nothing_is_open_after_the_end(void)
{
	pthread_t threads[3];

	mock_add(0);
	__atomic_store_n(&over, false, __ATOMIC_RELEASE);
	for (size_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, sets, NULL);
	for (int i = 0; i < 10 * ROUNDS; i++) {
		gives(aclInit(NULL), 0);
		gives(aclrtSetDevice(0), 0);
		gives(aclFinalize(), 0);
		ok(!mock_files());
	}
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	for (size_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	gives(aclInit(NULL), 0);
	end();
}

static void *inits(void *arg)
{
	void *ptr;

	for (int i = 0; i < ROUNDS; i++) {
		aclInit(NULL);
		if (!aclrtSetDevice(0) && !aclrtMalloc(&ptr, 8, 0))
			aclrtFree(ptr);
		aclFinalize();
	}
	return arg;
}

static void test_finalize_while_others_work(void)
{
	pthread_t threads[4];

	mock_add(0);
	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, inits, NULL);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	gives(aclInit(NULL), 0);
	end();
	ok(!mock_files());
}

int main(void)
{
	RUN(test_before_init);
	RUN(test_counted_init);
	RUN(test_finalize_frees_all);
	RUN(test_configuration);
	RUN(test_version);
	RUN(test_messages);
	RUN(test_no_device);
	RUN(test_reset_is_counted);
	RUN(test_reset_frees_its_own);
	RUN(test_reset_frees_no_more);
	RUN(test_reset_frees_what_failed);
	RUN(test_reset_waits_for_work);
	RUN(test_a_card_is_removed);
	RUN(test_a_reset_loses_memory);
	RUN(test_contexts);
	RUN(test_two_contexts_of_a_device);
	RUN(test_each_thread_has_a_device);
	RUN(test_threads_with_devices);
	RUN(test_reset_while_others_work);
	RUN(test_reset_while_others_end_contexts);
	RUN(test_the_last_reset_and_the_next_set);
	RUN(test_the_last_end_and_the_next_beginning);
	RUN(test_nothing_is_open_after_the_end);
	RUN(test_finalize_while_others_work);
	return tap_end();
}
