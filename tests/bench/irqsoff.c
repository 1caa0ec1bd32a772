// SPDX-License-Identifier: MIT
/*
 * How long interrupts are off at most, as the irqsoff tracer of the kernel `latency` finds it, while
 * the driver has much to do at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define TRACEFS "/sys/kernel/tracing/"
#define SMALL 4096u
#define STREAMS 64
#define EVENTFDS 255	/* behind the copy of each stream */
#define LARGE (8u << 20)
#define LARGE_COPIES 8
#define REGISTERED (4ull << 30)

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("%s: %s", path, strerror(errno));
	close(fd);
}

/* The longest time since the last call. */
static uint64_t longest_ns(void)
{
	char text[32] = "";
	int fd = open(TRACEFS "tracing_max_latency", O_RDWR | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	/* Microseconds. */
	if (length <= 0 || pwrite(fd, "0", 1, 0) != 1)
		die(TRACEFS "tracing_max_latency: %s", strerror(errno));
	close(fd);
	return strtoull(text, NULL, 10) * 1000;
}

/* What the tracer finds while the call runs. */
static void sample(struct samples *s, int fd, void (*work)(int fd, uint64_t mem, void *host),
		   uint64_t mem, void *host)
{
	longest_ns();
	work(fd, mem, host);
	samples_add(s, longest_ns());
}

/* Small copies, for about as long as many_eventfds() takes: what the machine itself does meanwhile. */
static void small_copies(int fd, uint64_t mem, void *host)
{
	uint64_t end = now_ns() + 700000000;

	while (now_ns() < end)
		copy(fd, PACCEL_COPY_H2D, mem, (uintptr_t)host, SMALL);
}

/*
 * All streams are queued behind LARGE copies of the first one, so that they end together. The rate of
 * the device must be low enough for that.
 */
static void many_eventfds(int fd, uint64_t mem, void *host)
{
	static struct paccel_op large[1 + EVENTFDS], small[1 + EVENTFDS];
	static uint32_t streams[STREAMS];
	uint64_t points[STREAMS];
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	unsigned int i;

	if (event < 0)
		die("eventfd: %s", strerror(errno));
	for (i = 0; i <= EVENTFDS; i++) {
		small[i] = (struct paccel_op){ .op = PACCEL_OP_EVENTFD, .fd.fd = event };
		large[i] = i < LARGE_COPIES ? copy_op(PACCEL_COPY_H2D, mem, (uintptr_t)host, LARGE) :
					      small[i];
	}
	small[0] = copy_op(PACCEL_COPY_H2D, mem, (uintptr_t)host, SMALL);
	for (i = 0; i < STREAMS; i++) {
		if (!streams[i])
			streams[i] = stream_create(fd);
		points[i] = submit(fd, streams[i], i ? small : large, 1 + EVENTFDS);
	}
	for (i = 0; i < STREAMS; i++)
		wait_for(fd, streams[i], points[i]);
	close(event);
}

/* Two rows, from one end of the range and from the other. */
static void far_rows(int fd, uint64_t mem, void *host)
{
	struct paccel_copy cmd = {
		.size = sizeof(cmd), .dir = PACCEL_COPY_H2D, .dst = mem, .src = (uintptr_t)host,
		.width = SMALL, .rows = 2, .dst_pitch = SMALL, .src_pitch = REGISTERED - SMALL,
	};

	must_ioctl(fd, PACCEL_IOC_COPY, &cmd, "COPY");
}

/* Hardly two pages of it are neighbours in memory, for they are touched in another order. */
static void *scattered(int fd)
{
	struct paccel_host_register cmd = { .size = sizeof(cmd), .length = REGISTERED };
	char *at = mmap(NULL, REGISTERED, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t i, pages = REGISTERED / SMALL;

	if (at == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	madvise(at, REGISTERED, MADV_NOHUGEPAGE);
	for (i = 0; i < pages; i++)
		at[(i * 524287 % pages) * SMALL] = 1;
	cmd.addr = (uintptr_t)at;
	must_ioctl(fd, PACCEL_IOC_HOST_REGISTER, &cmd, "HOST_REGISTER");
	return at;
}

int bench_irqsoff(int argc, char **argv)
{
	struct samples idle = { .name = "irqsoff.small" };
	struct samples streams = { .name = "irqsoff.streams" };
	struct samples rows = { .name = "irqsoff.rows" };
	unsigned int i, nr = number(argv[1], BENCH_MAX_SAMPLES);
	int fd = node_open(argv[0]);
	uint64_t mem = mem_alloc(fd, LARGE);
	void *own = own_memory(fd, LARGE);
	void *large = scattered(fd);

	(void)argc;
	write_text(TRACEFS "current_tracer", "irqsoff");
	for (i = 0; i < nr; i++) {
		sample(&idle, fd, small_copies, mem, own);
		sample(&streams, fd, many_eventfds, mem, own);
		sample(&rows, fd, far_rows, mem, large);
	}
	write_text(TRACEFS "current_tracer", "nop");
	samples_print(&idle);
	samples_print(&streams);
	samples_print(&rows);
	close(fd);
	return 0;
}
