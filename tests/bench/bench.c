// SPDX-License-Identifier: MIT
/* bench MEASUREMENT ARGUMENT...: one measurement in the guest, see tests/bench/guest. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define DEADLINE_NEVER (~0ull)

void die(const char *format, ...)
{
	va_list args;

	fputs("bench: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

unsigned int number(const char *text, unsigned int max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || !value || value > max)
		die("'%s' is not a number from 1 to %u", text, max);
	return value;
}

void samples_add(struct samples *s, uint64_t ns)
{
	if (s->nr == BENCH_MAX_SAMPLES)
		die("%s: more than %d samples", s->name, BENCH_MAX_SAMPLES);
	s->ns[s->nr++] = ns;
}

static void print(const char *name, const char *what, const uint64_t *numbers, unsigned int nr)
{
	unsigned int i;

	printf("{\"name\": \"%s\", \"%s\": [", name, what);
	for (i = 0; i < nr; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)numbers[i]);
	puts("]}");
	if (fflush(stdout))
		die("standard output: %s", strerror(errno));
}

void samples_print(const struct samples *s)
{
	print(s->name, "ns", s->ns, s->nr);
}

void counts_add(struct counts *c, uint64_t count)
{
	if (c->nr == BENCH_MAX_COUNTS)
		die("%s: more than %d numbers", c->name, BENCH_MAX_COUNTS);
	c->count[c->nr++] = count;
}

void counts_print(const struct counts *c)
{
	print(c->name, "count", c->count, c->nr);
}

void pattern(unsigned char *to, size_t len, unsigned int seed)
{
	uint32_t x = seed * 2654435761u + 1;
	size_t i;

	for (i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		to[i] = x >> 24;
	}
}

void must_ioctl(int fd, unsigned long cmd, void *arg, const char *name)
{
	if (ioctl(fd, cmd, arg))
		die("%s: %s", name, strerror(errno));
}

int node_open(const char *node)
{
	int fd = open(node, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		die("%s: %s", node, strerror(errno));
	return fd;
}

uint64_t mem_alloc(int fd, uint64_t length)
{
	struct paccel_mem_alloc cmd = { .size = sizeof(cmd), .length = length };

	must_ioctl(fd, PACCEL_IOC_MEM_ALLOC, &cmd, "MEM_ALLOC");
	return cmd.addr;
}

void mem_free(int fd, uint64_t addr, uint64_t length)
{
	struct paccel_mem_free cmd = { .size = sizeof(cmd), .addr = addr, .length = length };

	must_ioctl(fd, PACCEL_IOC_MEM_FREE, &cmd, "MEM_FREE");
}

void device_info(int fd, struct paccel_device_info *info)
{
	info->size = sizeof(*info);
	info->flags = 0;
	must_ioctl(fd, PACCEL_IOC_DEVICE_INFO, info, "DEVICE_INFO");
}

void copy(int fd, enum paccel_copy_dir dir, uint64_t dst, uint64_t src, uint64_t length)
{
	struct paccel_copy cmd = {
		.size = sizeof(cmd), .dir = dir, .dst = dst, .src = src,
		.width = length, .rows = 1,
	};

	must_ioctl(fd, PACCEL_IOC_COPY, &cmd, "COPY");
}

void card_open(struct card *card, const char *node)
{
	struct paccel_device_info info;

	card->node = node;
	card->fd = node_open(node);
	device_info(card->fd, &info);
	if (info.mem_size < CARD_BYTES || info.max_xfer < CARD_BYTES)
		die("%s: %llu bytes in transfers of %llu, where this reckons with %d", node,
		    info.mem_size, info.max_xfer, CARD_BYTES);
	card->addr = mem_alloc(card->fd, CARD_BYTES);
}

void card_close(struct card *card)
{
	mem_free(card->fd, card->addr, CARD_BYTES);
	close(card->fd);
}

void copy_pieces(const struct card *card, enum paccel_copy_dir dir, unsigned char *host)
{
	uint64_t at = (uintptr_t)host, end = at + BENCH_BYTES;

	while (at < end) {
		uint64_t len = end - at < CARD_BYTES ? end - at : CARD_BYTES;

		if (dir == PACCEL_COPY_H2D)
			copy(card->fd, dir, card->addr, at, len);
		else
			copy(card->fd, dir, at, card->addr, len);
		at += len;
	}
}

uint32_t stream_create(int fd)
{
	struct paccel_stream_create cmd = { .size = sizeof(cmd) };

	must_ioctl(fd, PACCEL_IOC_STREAM_CREATE, &cmd, "STREAM_CREATE");
	return cmd.stream;
}

uint64_t submit(int fd, uint32_t stream, const struct paccel_op *ops, uint32_t nr)
{
	struct paccel_submit cmd = {
		.size = sizeof(cmd), .stream = stream, .nr_ops = nr, .ops = (uintptr_t)ops,
		.op_size = sizeof(*ops),
	};

	must_ioctl(fd, PACCEL_IOC_SUBMIT, &cmd, "SUBMIT");
	return cmd.point;
}

void wait_for(int fd, uint32_t stream, uint64_t point)
{
	struct paccel_point p = { .stream = stream, .point = point };
	struct paccel_wait cmd = {
		.size = sizeof(cmd), .deadline_ns = DEADLINE_NEVER, .points = (uintptr_t)&p,
		.nr_points = 1, .point_size = sizeof(p),
	};

	must_ioctl(fd, PACCEL_IOC_WAIT, &cmd, "WAIT");
	if (p.error)
		die("point %llu: %s", (unsigned long long)point, strerror(-p.error));
}

void *own_memory(int fd, size_t length)
{
	struct paccel_host_alloc cmd = { .size = sizeof(cmd), .length = length };
	void *p;

	must_ioctl(fd, PACCEL_IOC_HOST_ALLOC, &cmd, "HOST_ALLOC");
	p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, cmd.offset);
	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return p;
}

struct paccel_op copy_op(enum paccel_copy_dir dir, uint64_t dst, uint64_t src, uint64_t length)
{
	return (struct paccel_op){
		.op = PACCEL_OP_COPY,
		.copy = { .dir = dir, .dst = dst, .src = src, .width = length, .rows = 1 },
	};
}

static const struct {
	const char *name;
	const char *arguments;
	int argc;
	int (*run)(int argc, char **argv);
} measurements[] = {
	{ "raw", "PCI-ADDRESS SAMPLES", 2, bench_raw },
	{ "h2d", "NODE SAMPLES", 2, bench_h2d },
	{ "d2h", "NODE SAMPLES", 2, bench_d2h },
	{ "d2d", "NODE SAMPLES", 2, bench_d2d },
	{ "small", "NODE SAMPLES", 2, bench_small },
	{ "cards", "SAMPLES NODE NODE...", 3, bench_cards },
	{ "alloc", "NODE SAMPLES", 2, bench_alloc },
	{ "fair", "NODE SECONDS", 2, bench_fair },
	{ "beside", "NODE SAMPLES", 2, bench_beside },
	{ "batch", "NODE", 1, bench_batch },
	{ "live", "NODE NODE VGEM LIVE SAMPLES", 5, bench_live },
	{ "irqsoff", "NODE SAMPLES", 2, bench_irqsoff },
	{ "ring-large", "NODE CARD SAMPLES", 3, bench_ring_large },
	{ "ring-pageable", "NODE SAMPLES", 2, bench_ring_pageable },
	{ "ring-p2p", "NODE NODE SAMPLES", 3, bench_ring_p2p },
	{ "ring-curves", "NODE NODE SAMPLES", 3, bench_ring_curves },
	{ "ring-sync", "NODE SAMPLES", 2, bench_ring_sync },
	{ "ring-async", "NODE SAMPLES", 2, bench_ring_async },
	{ "ring-engines", "NODE SAMPLES", 2, bench_ring_engines },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; i < sizeof(measurements) / sizeof(measurements[0]); i++)
		if (argc - 2 >= measurements[i].argc && !strcmp(argv[1], measurements[i].name))
			return measurements[i].run(argc - 2, argv + 2);
	for (i = 0; i < sizeof(measurements) / sizeof(measurements[0]); i++)
		fprintf(stderr, "usage: bench %s %s\n", measurements[i].name,
			measurements[i].arguments);
	return 2;
}
