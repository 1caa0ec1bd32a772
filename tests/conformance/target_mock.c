// SPDX-License-Identifier: MIT
/* Devices of the mock, of the shapes of those that the driver knows. */
#include "../unit/mock.h"
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define RING_BYTES (64u << 12)

static unsigned int kind;

bool target_next(void)
{
	mock_reset();
	if (++kind == 1)
		mock_add(0);
	else
		mock_add_mappable(0, RING_BYTES);
	return kind <= 2;
}

const char *target_prefix(void)
{
	return kind == 1 ? "edu." : "ring.";
}

bool target_is_slow(void)
{
	return false;
}

void target_begin(const char *test)
{
	(void)test;
}

int target_open(int flags)
{
	return open("/dev/paccel0", flags);
}

void target_quota(uint64_t bytes)
{
	mock_quota(0, bytes);
}

void target_unplug(void)
{
	mock_remove(0);
}

void target_plug(void)
{
	if (kind == 1)
		mock_add(0);
	else
		mock_add_mappable(0, RING_BYTES);
}

bool target_loses(void)
{
	return true;
}

void target_weaken(void)
{
}

void target_lose(void)
{
	mock_lose(0);
}

void target_fail(bool fail)
{
	mock_fail_operation(0, fail, EIO);
}

void target_hold(void)
{
	mock_stall(0);
}

void target_wait_held(void)
{
	mock_wait_held(0, 1);
}

int target_fence(void)
{
	return mock_fence();
}

void target_fence_signal(int fd)
{
	mock_fence_signal(fd, 0);
}

int target_read_only_dmabuf(void)
{
	int writable = mock_dmabuf(4096), fd;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", writable);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	close(writable);
	return fd;
}

void target_limit_memlock(size_t bytes)
{
	setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ bytes, bytes });
}

void target_drop_admin(void)
{
	mock_admin(false);
}
