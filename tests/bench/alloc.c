// SPDX-License-Identifier: MIT
/*
 * One allocation and its free, and for comparison the cheapest ioctl that copies a struct in and
 * out. Rounds of both take turns and are shorter than a time slice of a busy host, so that what
 * slows the machine hits few of them, and both alike.
 */
#include "bench.h"

#define ROUND 100
#define BYTES 64

static uint64_t time_info(int fd)
{
	struct paccel_device_info info;
	uint64_t start = now_ns();
	int i;

	for (i = 0; i < ROUND; i++)
		device_info(fd, &info);
	return (now_ns() - start) / ROUND;
}

static uint64_t time_alloc(int fd)
{
	uint64_t start = now_ns();
	int i;

	for (i = 0; i < ROUND; i++)
		mem_free(fd, mem_alloc(fd, BYTES), BYTES);
	return (now_ns() - start) / ROUND;
}

int bench_alloc(int argc, char **argv)
{
	struct samples info = { .name = "info" }, alloc = { .name = "alloc" };
	unsigned int i, rounds = number(argv[1], BENCH_MAX_SAMPLES);
	int fd = node_open(argv[0]);

	(void)argc;
	/* The first round of each warms up. */
	time_info(fd);
	time_alloc(fd);
	for (i = 0; i < rounds; i++) {
		samples_add(&info, time_info(fd));
		samples_add(&alloc, time_alloc(fd));
	}
	samples_print(&info);
	samples_print(&alloc);
	return 0;
}
