// SPDX-License-Identifier: MIT
/*
 * Copies of 64 bytes by aclrtMemcpy(), called from C, in the process in which overhead.py calls it
 * from Python: with the same library, card and memory.
 */
#include <acl/acl.h>
#include <stdlib.h>
#include <time.h>

uint64_t calls_ns(void *dst, const void *src, unsigned int calls);

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t calls_ns(void *dst, const void *src, unsigned int calls)
{
	uint64_t start = now_ns();

	for (unsigned int i = 0; i < calls; i++)
		if (aclrtMemcpy(dst, 64, src, 64, ACL_MEMCPY_HOST_TO_DEVICE))
			abort();
	return now_ns() - start;
}
