// SPDX-License-Identifier: MIT
/*
 * An allocation and a free of 4 KiB beside few and beside many others, on two cards of the same
 * size, and for comparison a dumb buffer of vgem; and what the many cost in kernel memory. Rounds
 * of all take turns. What is freed is any of those that live, so that each call finds its way
 * among all of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "bench.h"

/* Of every driver of graphics cards. Spelled out: libdrm, which has them, need not be there. */
struct drm_create_dumb {
	uint32_t height, width, bpp, flags;
	uint32_t handle, pitch;		/* out */
	uint64_t size;			/* out */
};

struct drm_destroy_dumb {
	uint32_t handle;
};

#define DRM_CREATE_DUMB _IOWR('d', 0xb2, struct drm_create_dumb)
#define DRM_DESTROY_DUMB _IOWR('d', 0xb4, struct drm_destroy_dumb)

#define ROUND 100
#define BYTES 4096
#define FEW 10
#define MAX_LIVE 1000000

/* What lives of one kind: device addresses, or handles of buffers. */
struct living {
	int fd;
	unsigned int nr;
	uint64_t *what;
	uint32_t random;
};

static uint64_t make_memory(int fd)
{
	return mem_alloc(fd, BYTES);
}

static void end_memory(int fd, uint64_t what)
{
	mem_free(fd, what, BYTES);
}

static uint64_t make_dumb(int fd)
{
	struct drm_create_dumb cmd = { .width = BYTES / 4, .height = 1, .bpp = 32 };

	must_ioctl(fd, DRM_CREATE_DUMB, &cmd, "CREATE_DUMB");
	if (cmd.size != BYTES)
		die("a dumb buffer of %llu bytes", (unsigned long long)cmd.size);
	return cmd.handle;
}

static void end_dumb(int fd, uint64_t what)
{
	struct drm_destroy_dumb cmd = { .handle = what };

	must_ioctl(fd, DRM_DESTROY_DUMB, &cmd, "DESTROY_DUMB");
}

static void living_init(struct living *l, const char *node, unsigned int nr,
			uint64_t (*make)(int fd))
{
	*l = (struct living){ .fd = node_open(node), .nr = nr, .random = 1 };
	l->what = malloc(nr * sizeof(*l->what));
	if (!l->what)
		die("out of memory");
	/* Nothing of it is counted as a cost of what is made. */
	memset(l->what, 0xff, nr * sizeof(*l->what));
	for (unsigned int i = 0; make && i < nr; i++)
		l->what[i] = make(l->fd);
}

/* Nanoseconds of one end and one making, of the average of a round. */
static uint64_t time_round(struct living *l, uint64_t (*make)(int fd),
			   void (*end)(int fd, uint64_t what))
{
	unsigned int victim[ROUND];
	uint64_t start;
	int i;

	for (i = 0; i < ROUND; i++) {
		l->random = l->random * 1664525 + 1013904223;
		victim[i] = (uint64_t)l->random * l->nr >> 32;
	}
	start = now_ns();
	for (i = 0; i < ROUND; i++) {
		end(l->fd, l->what[victim[i]]);
		l->what[victim[i]] = make(l->fd);
	}
	return (now_ns() - start) / ROUND;
}

/* Bytes of the kernel that our control group is charged for. */
static uint64_t kernel_memory(void)
{
	char path[512], line[256] = "", *end;
	unsigned long long bytes = 0;
	FILE *f = fopen("/proc/self/cgroup", "re");

	if (!f || !fgets(line, sizeof(line), f) || strncmp(line, "0::", 3))
		die("this process is in no control group of version 2");
	fclose(f);
	end = strchr(line, '\n');
	if (end)
		*end = 0;
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.stat", line + 3);
	f = fopen(path, "re");
	if (!f)
		die("%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "kernel %llu", &bytes) == 1)
			break;
	fclose(f);
	if (!bytes)
		die("%s does not count kernel memory", path);
	return bytes;
}

int bench_live(int argc, char **argv)
{
	struct samples few_ns = { .name = "live.few" }, many_ns = { .name = "live.many" },
		       dumb_ns = { .name = "live.vgem" };
	struct counts bytes = { .name = "live.bytes" };
	unsigned int i, rounds = number(argv[4], BENCH_MAX_SAMPLES);
	struct living few, many, dumb;
	uint64_t before;

	(void)argc;
	living_init(&few, argv[0], FEW, make_memory);
	living_init(&dumb, argv[2], FEW, make_dumb);
	living_init(&many, argv[1], number(argv[3], MAX_LIVE), NULL);
	before = kernel_memory();
	for (i = 0; i < many.nr; i++)
		many.what[i] = mem_alloc(many.fd, BYTES);
	counts_add(&bytes, kernel_memory() - before);
	counts_add(&bytes, many.nr);
	for (i = 0; i <= rounds; i++) {
		uint64_t ns[] = {
			time_round(&few, make_memory, end_memory),
			time_round(&many, make_memory, end_memory),
			time_round(&dumb, make_dumb, end_dumb),
		};

		/* The first one warms up. */
		if (!i)
			continue;
		samples_add(&few_ns, ns[0]);
		samples_add(&many_ns, ns[1]);
		samples_add(&dumb_ns, ns[2]);
	}
	samples_print(&few_ns);
	samples_print(&many_ns);
	samples_print(&dumb_ns);
	counts_print(&bytes);
	return 0;
}
