/* SPDX-License-Identifier: MIT */
/*
 * AscendCL: copies page-locked memory to the device and back, on a stream.
 *
 * Build: cc acl.c $(pkg-config --cflags --libs accel-acl)
 */
#include "acl/acl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 1024

/* Every call returns 0 or an error code; aclGetRecentErrMsg() returns a message. */
static void check(aclError err, const char *what)
{
	if (err == ACL_SUCCESS)
		return;
	fprintf(stderr, "%s: %d: %s\n", what, err, aclGetRecentErrMsg());
	exit(1);
}

/* Both copies are queued. The buffers must not be used until they have ended. */
static void there_and_back(aclrtStream stream, void *ptr, void *back, const void *host)
{
	check(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), "copy");
	check(aclrtMemcpyAsync(back, SIZE, ptr, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream), "copy");
	check(aclrtSynchronizeStream(stream), "wait for the stream");
}

int main(void)
{
	void *ptr, *host, *back;
	size_t free_bytes, total;
	aclrtStream stream;
	int good;

	check(aclInit(NULL), "aclInit");
	check(aclrtSetDevice(0), "aclrtSetDevice");
	check(aclrtGetMemInfo(ACL_DDR_MEM, &free_bytes, &total), "aclrtGetMemInfo");
	printf("%zu of %zu bytes are free\n", free_bytes, total);
	check(aclrtMallocAlign32(&ptr, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), "device memory");
	check(aclrtMallocHost(&host, SIZE), "host memory");
	check(aclrtMallocHost(&back, SIZE), "host memory");
	check(aclrtCreateStream(&stream), "stream");

	memset(host, 0x5a, SIZE);
	there_and_back(stream, ptr, back, host);
	good = !memcmp(host, back, SIZE);
	puts(good ? "All of it came back." : "Something is wrong.");

	check(aclrtDestroyStream(stream), "stream");
	check(aclrtFreeHost(back), "free");
	check(aclrtFreeHost(host), "free");
	check(aclrtFree(ptr), "free");
	check(aclFinalize(), "aclFinalize"); /* also resets the device */
	return !good;
}
