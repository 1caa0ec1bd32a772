/* SPDX-License-Identifier: MIT */
/*
 * devices CARD: uses all devices of the machine at once: a device for each thread, and copies between
 * devices. The last test unplugs device 1 while it is in use; qemu/run calls it CARD.
 */
#include "acl.h"

#define SIZE 500
#define ROUNDS 3

static char bytes[SIZE], back[SIZE];
static const char *pulled;

static void begin(void)
{
	gives(aclInit(NULL), ACL_SUCCESS);
	gives(aclrtSetDevice(0), ACL_SUCCESS);
	fill_with(bytes, SIZE, 1);
	memset(back, 0, SIZE);
}

static void *works(void *arg)
{
	int32_t device = (int32_t)(intptr_t)arg, id = -1;
	char sent[SIZE], got[SIZE];
	void *ptr;

	gives(aclrtMalloc(&ptr, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
	gives(aclrtSetDevice(device), ACL_SUCCESS);
	for (int i = 0; i < ROUNDS; i++) {
		fill_with(sent, SIZE, device + 10 * i);
		gives(aclrtMalloc(&ptr, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
		gives(aclrtMemcpyAsync(ptr, SIZE, sent, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, NULL),
		      ACL_SUCCESS);
		gives(aclrtMemcpyAsync(got, SIZE, ptr, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, NULL),
		      ACL_SUCCESS);
		ok(!memcmp(got, sent, SIZE));
		gives(aclrtFree(ptr), ACL_SUCCESS);
	}
	gives(aclrtGetDevice(&id), ACL_SUCCESS);
	ok(id == device);
	gives(aclrtResetDevice(device), ACL_SUCCESS);
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[2];

	begin();
	for (size_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, works, (void *)i);
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	gives(aclFinalize(), ACL_SUCCESS);
}

static void test_peers(void)
{
	void *here, *there;
	int32_t can = 0;

	begin();
	gives(aclrtMalloc(&here, SIZE, ACL_MEM_MALLOC_HUGE_FIRST_P2P), ACL_SUCCESS);
	gives(aclrtSetDevice(1), ACL_SUCCESS);
	gives(aclrtMalloc(&there, SIZE, ACL_MEM_MALLOC_HUGE_FIRST_P2P), ACL_SUCCESS);
	gives(aclrtSetDevice(0), ACL_SUCCESS);
	gives(aclrtMemcpy(here, SIZE, bytes, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
	gives(aclrtMemcpy(there, SIZE, here, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE),
	      ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtDeviceCanAccessPeer(&can, 0, 1), ACL_SUCCESS);
	ok(can == 1);
	gives(aclrtDeviceEnablePeerAccess(1, 0), ACL_SUCCESS);
	gives(aclrtMemcpy(there, SIZE, here, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_SUCCESS);
	gives(aclrtMemcpy(back, SIZE, there, SIZE, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
	ok(!memcmp(back, bytes, SIZE));
	gives(aclFinalize(), ACL_SUCCESS);
}

static int guestctl(const char *what)
{
	char command[64];

	fflush(stdout);
	snprintf(command, sizeof(command), "guestctl %s %s", what, pulled);
	return system(command);
}

static void test_pulled(void)
{
	uint32_t count = 0;
	aclrtStream stream;
	void *ptr, *other;

	begin();
	gives(aclrtMalloc(&other, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
	gives(aclrtSetDevice(1), ACL_SUCCESS);
	gives(aclrtMalloc(&ptr, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
	gives(aclrtCreateStream(&stream), ACL_SUCCESS);
	ok(!guestctl("device_del"));
	gives(aclrtMemcpy(ptr, SIZE, bytes, SIZE, ACL_MEMCPY_HOST_TO_DEVICE),
	      ACL_ERROR_RT_NO_DEVICE);
	gives(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, stream), ACL_ERROR_RT_NO_DEVICE);
	gives(aclrtSynchronizeStream(stream), ACL_ERROR_RT_NO_DEVICE);
	gives(aclrtDestroyStream(stream), ACL_ERROR_RT_NO_DEVICE);
	gives(aclrtResetDevice(1), ACL_SUCCESS);
	gives(aclrtSetDevice(1), ACL_ERROR_RT_INVALID_DEVICEID);
	/* The other goes on. */
	gives(aclrtSetDevice(0), ACL_SUCCESS);
	gives(aclrtMemcpy(other, SIZE, bytes, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
	ok(!guestctl("device_add"));
	for (int i = 0; i < 200 && count < 2; i++) {
		gives(aclrtGetDeviceCount(&count), ACL_SUCCESS);
		usleep(50000);
	}
	ok(count == 2);
	gives(aclrtSetDevice(1), ACL_SUCCESS);
	gives(aclrtMalloc(&ptr, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
	gives(aclrtMemset(ptr, SIZE, 1, SIZE), ACL_SUCCESS);
	gives(aclFinalize(), ACL_SUCCESS);
}

int main(int argc, char **argv)
{
	pulled = argc == 2 ? argv[1] : "card1";
	RUN(test_threads);
	RUN(test_peers);
	RUN(test_pulled);
	return tap_end();
}
