// SPDX-License-Identifier: MIT
/*
 * The ring card: how fast copies and fills are, what the way to the card and back adds to a small
 * one, what many in flight and several engines gain. What is compared takes turns, so that what
 * slows the machine hits both.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

#define LARGE (64u << 20)
#define SHORT (1u << 20)
#define SMALL 4096u
#define BATCH 64	/* operations of one SUBMIT */
#define BATCHES 16	/* that are under way together */
#define ENGINE_OPS 40

#define TRACEFS "/sys/kernel/tracing"

struct ring {
	const char *node;
	int fd;
	uint64_t a, b;		/* @bytes of the card each */
	size_t bytes;
	unsigned char *own;	/* HOST_ALLOC */
	unsigned char *plain;	/* pageable */
	unsigned char *mapped;	/* @a */
	int peer_fd;
	uint64_t peer;		/* of the other card */
	unsigned char *far;	/* @peer, as if it were memory of the host */
};

static void ring_open(struct ring *r, const char *node, size_t bytes)
{
	struct paccel_mem_stats stats = { .size = sizeof(stats) };

	*r = (struct ring){ .node = node, .fd = node_open(node), .bytes = bytes };
	/* Scrubbing takes turns with copies. */
	do {
		usleep(10000);
		must_ioctl(r->fd, PACCEL_IOC_MEM_STATS, &stats, "MEM_STATS");
	} while (stats.dirty);
	r->a = mem_alloc(r->fd, bytes);
	r->b = mem_alloc(r->fd, bytes);
	r->own = own_memory(r->fd, bytes);
	r->plain = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (r->plain == MAP_FAILED)
		die("out of memory");
	r->mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
			 (off_t)(PACCEL_MMAP_DEVICE + r->a));
	if (r->mapped == MAP_FAILED)
		die("%s cannot be mapped: %s", node, strerror(errno));
	pattern(r->plain, bytes, 1);
	memcpy(r->own, r->plain, bytes);
}

/* Memory of another card, where this one reaches it without the host. */
static void ring_add_peer(struct ring *r, const char *node)
{
	struct paccel_mem_export share = { .size = sizeof(share), .kind = PACCEL_EXPORT_DEVICE };
	struct paccel_host_register cmd = {
		.size = sizeof(cmd), .flags = PACCEL_HOST_DMABUF, .length = r->bytes,
	};

	r->peer_fd = node_open(node);
	r->peer = mem_alloc(r->peer_fd, r->bytes);
	share.addr = r->peer;
	must_ioctl(r->peer_fd, PACCEL_IOC_MEM_EXPORT, &share, "MEM_EXPORT");
	r->far = mmap(NULL, r->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		      0);
	if (r->far == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	cmd.addr = (uintptr_t)r->far;
	cmd.fd = share.fd;
	must_ioctl(r->fd, PACCEL_IOC_HOST_REGISTER, &cmd, "HOST_REGISTER of the other card");
	close(share.fd);
}

static void ring_close(struct ring *r)
{
	munmap(r->plain, r->bytes);
	munmap(r->mapped, r->bytes);
	close(r->fd);
	if (r->far) {
		munmap(r->far, r->bytes);
		close(r->peer_fd);
	}
}

static void fill(const struct ring *r, uint64_t addr, uint64_t bytes)
{
	struct paccel_fill cmd = {
		.size = sizeof(cmd), .addr = addr, .length = bytes, .pattern = 0x5a,
		.pattern_size = 1,
	};

	must_ioctl(r->fd, PACCEL_IOC_FILL, &cmd, "FILL");
}

/* --- ways ------------------------------------------------------------------------------- */

static void do_h2d(struct ring *r, size_t bytes)
{
	copy(r->fd, PACCEL_COPY_H2D, r->a, (uintptr_t)r->own, bytes);
}

static void do_d2h(struct ring *r, size_t bytes)
{
	copy(r->fd, PACCEL_COPY_D2H, (uintptr_t)r->own, r->a, bytes);
}

static void do_pageable_h2d(struct ring *r, size_t bytes)
{
	copy(r->fd, PACCEL_COPY_H2D, r->a, (uintptr_t)r->plain, bytes);
}

static void do_pageable_d2h(struct ring *r, size_t bytes)
{
	copy(r->fd, PACCEL_COPY_D2H, (uintptr_t)r->plain, r->a, bytes);
}

static void do_d2d(struct ring *r, size_t bytes)
{
	copy(r->fd, PACCEL_COPY_D2D, r->b, r->a, bytes);
}

static void do_fill(struct ring *r, size_t bytes)
{
	fill(r, r->b, bytes);
}

static void do_p2p(struct ring *r, size_t bytes)
{
	copy(r->fd, PACCEL_COPY_D2H, (uintptr_t)r->far, r->a, bytes);
}

static void do_stores(struct ring *r, size_t bytes)
{
	memcpy(r->mapped, r->plain, bytes);
}

struct way {
	const char *name;
	void (*run)(struct ring *r, size_t bytes);
};

static uint64_t time_way(struct ring *r, const struct way *way, size_t bytes)
{
	uint64_t start = now_ns();

	way->run(r, bytes);
	return now_ns() - start;
}

static const struct way large_ways[] = {
	{ "h2d", do_h2d }, { "d2h", do_d2h }, { "d2d", do_d2d }, { "fill", do_fill },
};

static const struct way all_ways[] = {
	{ "h2d", do_h2d }, { "d2h", do_d2h }, { "h2d.pageable", do_pageable_h2d },
	{ "d2h.pageable", do_pageable_d2h }, { "d2d", do_d2d }, { "fill", do_fill },
	{ "p2p", do_p2p }, { "stores", do_stores },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What was copied to the card last is there; or what it was filled with. */
static void check_bytes(struct ring *r)
{
	size_t i;

	do_pageable_h2d(r, r->bytes);
	do_d2d(r, r->bytes);
	memset(r->own, 0, r->bytes);
	copy(r->fd, PACCEL_COPY_D2H, (uintptr_t)r->own, r->b, r->bytes);
	if (memcmp(r->own, r->plain, r->bytes))
		die("%s: other bytes came back", r->node);
	do_fill(r, r->bytes);
	copy(r->fd, PACCEL_COPY_D2H, (uintptr_t)r->own, r->b, r->bytes);
	for (i = 0; i < r->bytes; i++)
		if (r->own[i] != 0x5a)
			die("%s: byte %zu was not filled", r->node, i);
}

/* --- large copies against what the card's process times --------------------------------- */

/* An order to the process; the number behind NAME= of its answer. */
static unsigned long long order(const char *card, const char *words, const char *name)
{
	char command[128], answer[256] = "", *at;
	FILE *f;

	snprintf(command, sizeof(command), "guestctl fault %s %s", card, words);
	f = popen(command, "re");
	if (!f)
		die("%s: %s", command, strerror(errno));
	if (!fgets(answer, sizeof(answer), f))
		answer[0] = 0;
	if (pclose(f))
		die("%s has failed", command);
	at = name ? strstr(answer, name) : NULL;
	if (name && !at)
		die("%s: '%s' has no %s", command, answer, name);
	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* Makes the process note what moves, so that it can do the same by itself. */
static void record(struct ring *r, const char *card, const struct way *way)
{
	char words[64];

	snprintf(words, sizeof(words), "record op=%s", way->name);
	order(card, words, NULL);
	way->run(r, LARGE);
	if (order(card, "time runs=1", "bytes=") != LARGE)
		die("%s: the process has not seen all of the copy", way->name);
}

int bench_ring_large(int argc, char **argv)
{
	unsigned int i, rounds = number(argv[2], BENCH_MAX_SAMPLES);
	static struct samples card[COUNT(large_ways)], memory[COUNT(large_ways)];
	char names[COUNT(large_ways)][2][32];
	struct ring r;
	size_t way;

	(void)argc;
	ring_open(&r, argv[0], LARGE);
	check_bytes(&r);
	for (way = 0; way < COUNT(large_ways); way++) {
		snprintf(names[way][0], sizeof(names[way][0]), "ring.%s", large_ways[way].name);
		snprintf(names[way][1], sizeof(names[way][1]), "memory.%s", large_ways[way].name);
		card[way].name = names[way][0];
		memory[way].name = names[way][1];
		record(&r, argv[1], &large_ways[way]);
		for (i = 0; i < rounds; i++) {
			/* Each after one of its own kind: warm. */
			time_way(&r, &large_ways[way], LARGE);
			samples_add(&card[way], time_way(&r, &large_ways[way], LARGE));
			samples_add(&memory[way], order(argv[1], "time runs=1", "ns="));
		}
		samples_print(&card[way]);
		samples_print(&memory[way]);
	}
	ring_close(&r);
	return 0;
}

/* --- pageable memory -------------------------------------------------------------------- */

int bench_ring_pageable(int argc, char **argv)
{
	struct samples pinned = { .name = "pinned" }, pageable = { .name = "pageable" };
	unsigned int i, rounds = number(argv[1], BENCH_MAX_SAMPLES);
	struct ring r;

	(void)argc;
	ring_open(&r, argv[0], LARGE);
	do_pageable_h2d(&r, LARGE);
	for (i = 0; i < rounds; i++) {
		uint64_t start = now_ns();

		do_h2d(&r, LARGE);
		samples_add(&pinned, now_ns() - start);
		start = now_ns();
		do_pageable_h2d(&r, LARGE);
		samples_add(&pageable, now_ns() - start);
	}
	check_bytes(&r);
	ring_close(&r);
	samples_print(&pinned);
	samples_print(&pageable);
	return 0;
}

/* --- from card to card ------------------------------------------------------------------ */

int bench_ring_p2p(int argc, char **argv)
{
	struct samples inside = { .name = "p2p.inside" }, across = { .name = "p2p.across" };
	unsigned int i, rounds = number(argv[2], BENCH_MAX_SAMPLES);
	const struct way d2d = { "d2d", do_d2d }, p2p = { "p2p", do_p2p };
	struct ring r;

	(void)argc;
	ring_open(&r, argv[0], LARGE);
	ring_add_peer(&r, argv[1]);
	do_pageable_h2d(&r, LARGE);
	for (i = 0; i <= rounds; i++) {
		uint64_t one = time_way(&r, &d2d, LARGE), other = time_way(&r, &p2p, LARGE);

		/* The first of each warms up. */
		if (!i)
			continue;
		samples_add(&inside, one);
		samples_add(&across, other);
	}
	memset(r.plain, 0, LARGE);
	copy(r.peer_fd, PACCEL_COPY_D2H, (uintptr_t)r.plain, r.peer, LARGE);
	if (memcmp(r.own, r.plain, LARGE))
		die("%s: other bytes came to %s", argv[0], argv[1]);
	ring_close(&r);
	samples_print(&inside);
	samples_print(&across);
	return 0;
}

/* --- curves ----------------------------------------------------------------------------- */

int bench_ring_curves(int argc, char **argv)
{
	unsigned int i, rounds = number(argv[2], BENCH_MAX_SAMPLES);
	struct ring r;
	size_t bytes, way;

	(void)argc;
	ring_open(&r, argv[0], LARGE);
	ring_add_peer(&r, argv[1]);
	for (bytes = SMALL; bytes <= LARGE; bytes *= 2) {
		struct samples s[COUNT(all_ways)] = { 0 };
		char name[48];

		/* The shorter they are the more others disturb them, and the less they cost. */
		for (i = 0; i <= (bytes < SHORT ? 5 : 1) * rounds; i++)
			for (way = 0; way < COUNT(all_ways); way++) {
				uint64_t ns = time_way(&r, &all_ways[way], bytes);

				/* The first one warms up. */
				if (i)
					samples_add(&s[way], ns);
			}
		for (way = 0; way < COUNT(all_ways); way++) {
			snprintf(name, sizeof(name), "curve.%s.%zu", all_ways[way].name, bytes);
			s[way].name = name;
			samples_print(&s[way]);
		}
	}
	ring_close(&r);
	return 0;
}

/* --- small copies ------------------------------------------------------------------------ */

static void trace_set(const char *dir, const char *file, const char *value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "we");
	if (!f || fputs(value, f) < 0 || fclose(f))
		die("%s: %s", path, strerror(errno));
}

/* From the doorbell to the interrupt: what each paccel_done of the trace says. */
static void read_trace(const char *dir, struct samples *s)
{
	char path[128], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/trace", dir);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, ": paccel_done: ");

		at = at ? strstr(at, " ns=") : NULL;
		if (at)
			samples_add(s, strtoull(at + 4, NULL, 10));
	}
	if (f)
		fclose(f);
}

int bench_ring_sync(int argc, char **argv)
{
	struct samples call = { .name = "sync.call" }, card = { .name = "sync.card" };
	unsigned int i, nr = number(argv[1], BENCH_MAX_SAMPLES);
	const char *dir = TRACEFS "/instances/bench";
	struct ring r;

	(void)argc;
	ring_open(&r, argv[0], SMALL);
	for (i = 0; i < 50; i++)
		do_h2d(&r, SMALL);
	if (mkdir(dir, 0700))
		die("%s: %s", dir, strerror(errno));
	trace_set(dir, "events/paccel/paccel_done/enable", "1");
	for (i = 0; i < nr; i++) {
		uint64_t start = now_ns();

		if (i % 2)
			do_d2h(&r, SMALL);
		else
			do_h2d(&r, SMALL);
		samples_add(&call, now_ns() - start);
	}
	trace_set(dir, "events/paccel/paccel_done/enable", "0");
	read_trace(dir, &card);
	rmdir(dir);
	if (card.nr != nr)
		die("%u copies and %u transfers", nr, card.nr);
	ring_close(&r);
	samples_print(&call);
	samples_print(&card);
	return 0;
}

/* @ops[BATCH], all of SMALL bytes, each to a place of its own. */
static void make_batch(const struct ring *r, struct paccel_op *ops)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		ops[i] = copy_op(PACCEL_COPY_H2D, r->a + i * SMALL,
				 (uintptr_t)r->own + i * SMALL, SMALL);
}

/* Nanoseconds of an operation in each case. */
int bench_ring_async(int argc, char **argv)
{
	struct samples sync = { .name = "async.sync" }, batch = { .name = "async.batch" },
		       batches = { .name = "async.batches" };
	unsigned int i, j, rounds = number(argv[1], BENCH_MAX_SAMPLES);
	struct paccel_op ops[BATCH];
	uint64_t start, point = 0;
	uint32_t stream;
	struct ring r;

	(void)argc;
	ring_open(&r, argv[0], BATCH * SMALL);
	stream = stream_create(r.fd);
	make_batch(&r, ops);
	wait_for(r.fd, stream, submit(r.fd, stream, ops, BATCH));
	for (i = 0; i < rounds; i++) {
		start = now_ns();
		for (j = 0; j < BATCH; j++)
			copy(r.fd, PACCEL_COPY_H2D, ops[j].copy.dst, ops[j].copy.src, SMALL);
		samples_add(&sync, (now_ns() - start) / BATCH);
		start = now_ns();
		wait_for(r.fd, stream, submit(r.fd, stream, ops, BATCH));
		samples_add(&batch, (now_ns() - start) / BATCH);
		start = now_ns();
		for (j = 0; j < BATCHES; j++)
			point = submit(r.fd, stream, ops, BATCH);
		wait_for(r.fd, stream, point);
		samples_add(&batches, (now_ns() - start) / (BATCH * BATCHES));
	}
	memset(r.own, 0, r.bytes);
	copy(r.fd, PACCEL_COPY_D2H, (uintptr_t)r.own, r.a, r.bytes);
	if (memcmp(r.own, r.plain, r.bytes))
		die("other bytes came back");
	ring_close(&r);
	samples_print(&sync);
	samples_print(&batch);
	samples_print(&batches);
	return 0;
}

/* --- engines ----------------------------------------------------------------------------- */

/* ENGINE_OPS copies in each of so many streams, all at once. */
static uint64_t time_streams(const struct ring *r, const uint32_t *streams, unsigned int nr)
{
	uint64_t start, points[PACCEL_PAGE_SLOTS];
	struct paccel_op ops[BATCH];
	unsigned int i;

	make_batch(r, ops);
	start = now_ns();
	for (i = 0; i < nr; i++)
		points[i] = submit(r->fd, streams[i], ops, ENGINE_OPS);
	for (i = 0; i < nr; i++)
		wait_for(r->fd, streams[i], points[i]);
	return now_ns() - start;
}

int bench_ring_engines(int argc, char **argv)
{
	struct samples one = { .name = "engines.one" }, all = { .name = "engines.all" };
	unsigned int i, rounds = number(argv[1], BENCH_MAX_SAMPLES);
	uint32_t streams[PACCEL_PAGE_SLOTS];
	struct paccel_device_info info;
	struct ring r;

	(void)argc;
	ring_open(&r, argv[0], BATCH * SMALL);
	device_info(r.fd, &info);
	if (info.engines != 4)
		die("%s: %u engines, where this reckons with 4", r.node, info.engines);
	for (i = 0; i < info.engines; i++)
		streams[i] = stream_create(r.fd);
	for (i = 0; i < rounds; i++) {
		samples_add(&one, time_streams(&r, streams, 1));
		samples_add(&all, time_streams(&r, streams, info.engines));
	}
	ring_close(&r);
	samples_print(&one);
	samples_print(&all);
	return 0;
}
