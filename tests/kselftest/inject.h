/* SPDX-License-Identifier: MIT */
/*
 * Fault injection into one thread: the nth allocation or access to user memory of the next calls
 * fails. Needs a kernel with fault injection.
 */
#ifndef PACCEL_KSELFTEST_INJECT_H
#define PACCEL_KSELFTEST_INJECT_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "paccel_test.h"

#define DEBUGFS "/sys/kernel/debug/"

/* What the kernel itself says when it has no memory for vmalloc(), a file in /proc, or kmemleak. */
#define NO_MEMORY "vmalloc error|remove_proc_entry|kmemleak: Cannot allocate a scan area"

static inline bool have_injection(void)
{
	const char *settings[][2] = {
		{ DEBUGFS "failslab/ignore-gfp-wait", "N" },
		{ DEBUGFS "failslab/verbose", "0" },
		{ DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N" },
		{ DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ DEBUGFS "fail_page_alloc/min-order", "0" },
		{ DEBUGFS "fail_page_alloc/verbose", "0" },
		{ DEBUGFS "fail_usercopy/verbose", "0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (file_write(settings[i][0], settings[i][1]))
			return false;
	return true;
}

static inline int nth_open(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/fail-nth", syscall(SYS_gettid));
	return open(path, O_RDWR | O_CLOEXEC);
}

static inline void nth_arm(int nth_fd, int nth)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", nth);

	if (pwrite(nth_fd, text, n, 0) != n)
		abort();
}

/* How many allocations and accesses there were since it was armed with @nth, which was not reached. */
static inline int nth_passed(int nth_fd, int nth)
{
	char text[16] = {};

	if (pread(nth_fd, text, sizeof(text) - 1, 0) <= 0)
		abort();
	return nth - atoi(text);
}

/*
 * True if the failure was taken. Reading and disarming copy to and from user memory, too, so
 * the failure may hit these: then the call before has got through.
 */
static inline bool nth_disarm(int nth_fd)
{
	char text[16] = {};
	bool taken = pread(nth_fd, text, sizeof(text) - 1, 0) > 0 && atoi(text) == 0;

	if (pwrite(nth_fd, "0", 1, 0) == 1)
		return taken;
	if (pwrite(nth_fd, "0", 1, 0) != 1)
		abort();
	return false;
}

#endif
