// SPDX-License-Identifier: MIT
/*
 * What ../conformance does not have of the contract: 32-bit programs, time namespaces, calls that
 * are no ioctls. Runs with scrub=0, for nothing here is about contents.
 */
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "paccel_test.h"

TEST(device_info)
{
	struct paccel_device_info info;
	int fd = card_open();
	u64 before, after;

	ASSERT_LE(0, fd);
	before = now_ms();
	test_cmd_device_info(fd, &info);
	after = now_ms();
	EXPECT_LE(before, info.clock_ns / 1000000);
	EXPECT_GE(after, info.clock_ns / 1000000);
	EXPECT_STREQ(card_bdf(), info.bus_addr);
	close(fd);
}

/* --- 32-bit programs ----------------------------------------------------- */

#ifdef __x86_64__
static long ioctl_32(int fd, unsigned int request, void *arg)
{
	long rc;

	/* The old gate takes a 64-bit program into the 32-bit table. */
	asm volatile("int $0x80"
		     : "=a"(rc)
		     : "a"(54), "b"((long)fd), "c"((long)request), "d"(arg)
		     : "memory", "r8", "r9", "r10", "r11");
	return (int)rc;
}

static int ask_info_32(void *arg)
{
	struct paccel_device_info *info = arg;
	int fd = card_open();

	info->size = sizeof(*info);
	return -ioctl_32(fd, PACCEL_IOC_DEVICE_INFO, info);
}

TEST(thirty_two_bit)
{
	void *low = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct paccel_device_info *info = low;
	struct paccel_mem_alloc *alloc = low;
	struct paccel_mem_free *release = low;
	int fd = card_open(), status;
	u64 addr;

	ASSERT_LE(0, fd);
	ASSERT_NE(MAP_FAILED, low);
	status = run_in_child(ask_info_32, info);
	if (status > 128)
		SKIP(return, "this kernel runs no 32-bit programs");
	EXPECT_EQ(0, status);
	EXPECT_EQ(info_of(fd).mem_size, info->mem_size);
	EXPECT_STREQ(card_bdf(), info->bus_addr);

	*alloc = (struct paccel_mem_alloc){ .size = sizeof(*alloc), .length = 1 };
	ASSERT_EQ(0, ioctl_32(fd, PACCEL_IOC_MEM_ALLOC, alloc));
	EXPECT_EQ(1, stats_of(fd).mine_allocs);
	addr = alloc->addr;
	*release = (struct paccel_mem_free){ .size = sizeof(*release),
					     .addr = addr, .length = 1 };
	EXPECT_EQ(0, ioctl_32(fd, PACCEL_IOC_MEM_FREE, release));
	EXPECT_EQ(0, stats_of(fd).mine_allocs);
	EXPECT_EQ(-ENOTTY, ioctl_32(fd, _IO(PACCEL_IOC_TYPE, 0xff), low));
	close(fd);
}
#else
TEST(thirty_two_bit)
{
	SKIP(return, "a 64-bit program makes no 32-bit system calls on this architecture");
}
#endif

/* --- time namespace ------------------------------------------------------ */

#define SHIFT_S 5000

static int clock_in_child(void *arg)
{
	u64 *seen = arg;
	int fd = card_open();

	CHILD_CHECK(fd >= 0);
	seen[0] = info_of(fd).clock_ns / 1000000;
	seen[1] = now_ms();
	return 0;
}

static int clock_in_namespace(void *arg)
{
	char shift[64];

	if (unshare(CLONE_NEWTIME))
		return 4;
	snprintf(shift, sizeof(shift), "monotonic %d 0", SHIFT_S);
	CHILD_CHECK(file_write("/proc/self/timens_offsets", shift) == 0);
	/* Only children are inside. */
	return run_in_child(clock_in_child, arg);
}

/* The library can correct for a shifted clock only if it sees the kernel's own. */
TEST(clock_of_the_initial_namespace)
{
	u64 *seen = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	u64 before = now_ms(), after;
	int status = run_in_child(clock_in_namespace, seen);

	after = now_ms();
	if (status == 4)
		SKIP(return, "no time namespaces");
	ASSERT_EQ(0, status);
	EXPECT_LE(before, seen[0]);
	EXPECT_GE(after, seen[0]);
	EXPECT_LT(before + SHIFT_S * 500, seen[1]);
}

/* --- what is no ioctl ---------------------------------------------------- */

TEST(other_calls)
{
	struct pollfd p = { .events = POLLIN | POLLOUT };
	char byte = 0;
	int fd = card_open();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, read(fd, &byte, 1));
	EXPECT_EQ(-1, write(fd, &byte, 1));
	p.fd = fd;
	EXPECT_EQ(0, poll(&p, 1, 0) ? p.revents & (POLLHUP | POLLERR | POLLNVAL) : 0);
	close(fd);
}

static int open_as_nobody(void *arg)
{
	(void)arg;
	CHILD_CHECK(setgid(65534) == 0 && setuid(65534) == 0);
	return -card_open();
}

TEST(node_is_not_for_everybody)
{
	EXPECT_EQ(EACCES, run_in_child(open_as_nobody, NULL));
}

PACCEL_TEST_MAIN
