// SPDX-License-Identifier: MIT
/* The device of a guest that $PACCEL_BDF names, or the first. */
#include "../kselftest/card.h"
#include "../kselftest/foreign.h"
#include "../kselftest/util.h"
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct foreign foreign;
static u64 xfers_before;

static void must(bool done, const char *what)
{
	if (done)
		return;
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

bool target_next(void)
{
	static bool was;

	if (was)
		return false;
	was = true;
	must(foreign_open(&foreign), "sw_sync or vgem");
	xfers_at_exit();
	atexit(card_behave);
	return true;
}

const char *target_prefix(void)
{
	return "";
}

bool target_is_slow(void)
{
	return slow_factor() > 1;
}

void target_begin(const char *test)
{
	char mark[256];
	int n = snprintf(mark, sizeof(mark), "paccel-test: conformance: %s", test);
	int log = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	card_behave();
	if (log < 0)
		return;
	/* In one piece, which is a line. */
	if (write(log, mark, (size_t)n) != n)
		perror("/dev/kmsg");
	close(log);
}

int target_open(int flags)
{
	int fd = card_open_at(card_bdf(), flags);

	errno = fd < 0 ? -fd : errno;
	return fd < 0 ? -1 : fd;
}

void target_quota(uint64_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	must(!card_attr_write("max_user_bytes", text), "max_user_bytes");
}

void target_unplug(void)
{
	must(!driver_unbind(card_bdf()), "unbind");
}

void target_plug(void)
{
	must(!driver_bind(card_bdf()), "bind");
}

/* That takes a backend of its own, see target_weaken(). */
bool target_loses(void)
{
	return false;
}

static void give_back(void)
{
	must(!backend_unload() && !driver_bind(card_bdf()), "back to the driver of the card");
}

void target_weaken(void)
{
	xfers_note();
	atexit(give_back);
	must(!backend_load("set=flags=2") && WAIT_FOR(card_count() > 0, 5000),
	     "loading the backend for tests");
}

void target_lose(void)
{
	struct paccel_reset cmd = { .size = sizeof(cmd) };
	int fd = target_open(O_RDWR | O_CLOEXEC);

	must(fd >= 0 && !ioctl(fd, PACCEL_IOC_RESET, &cmd), "RESET");
	close(fd);
}

void target_fail(bool fail)
{
	card_fail(fail);
}

static u64 xfers(void)
{
	int fd = target_open(O_RDONLY | O_CLOEXEC);
	u64 nr;

	must(fd >= 0, "open");
	nr = stats_of(fd).xfers;
	close(fd);
	return nr;
}

void target_hold(void)
{
	xfers_before = xfers();
	card_hold();
}

void target_wait_held(void)
{
	must(WAIT_FOR(xfers() >= xfers_before + card_depth() && card_is_held(), 5000),
	     "waiting for a transfer");
}

int target_fence(void)
{
	int fd = foreign_fence(&foreign);

	errno = fd < 0 ? -fd : errno;
	return fd < 0 ? -1 : fd;
}

void target_fence_signal(int fd)
{
	(void)fd;
	foreign_signal(&foreign);
}

int target_read_only_dmabuf(void)
{
	int fd = foreign_read_only_dmabuf();

	errno = fd < 0 ? -fd : errno;
	return fd < 0 ? -1 : fd;
}

void target_limit_memlock(size_t bytes)
{
	limit_memlock(bytes);
}

void target_drop_admin(void)
{
	drop_capability(CAP_SYS_ADMIN);
}
