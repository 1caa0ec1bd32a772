/* SPDX-License-Identifier: MIT */
/*
 * accelctl bench: the bandwidth of copies and fills, by size.
 */
#include "bench.h"
#include "accelctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE_MIN ((size_t)4096)
#define SIZE_DEFAULT ((size_t)16 << 20)
#define POINT_SECONDS 0.2
enum { COPIES_MIN = 3, COPIES_MAX = 4096 };

enum kind { H2D, D2H, H2D_PAGEABLE, D2H_PAGEABLE, D2D, FILL, TO_PEER, FROM_PEER, KINDS };

const char *const bench_names[KINDS] = {
	[H2D] = "h2d",
	[D2H] = "d2h",
	[H2D_PAGEABLE] = "h2d_pageable",
	[D2H_PAGEABLE] = "d2h_pageable",
	[D2D] = "d2d",
	[FILL] = "fill",
	[TO_PEER] = "to_peer",
	[FROM_PEER] = "from_peer",
};

static const char *const titles[KINDS] = {
	[H2D] = "H2D/s",
	[D2H] = "D2H/s",
	[H2D_PAGEABLE] = "H2D pg./s",
	[D2H_PAGEABLE] = "D2H pg./s",
	[D2D] = "D2D/s",
	[FILL] = "FILL/s",
	[TO_PEER] = "TO PEER/s",
	[FROM_PEER] = "FROM PEER/s",
};

/* Another device, and the sizes that both can copy. */
struct peer {
	struct accel_device *dev;
	struct accel_device_info info;
	char *device; /* device memory of it */
	struct bench_point points[BENCH_SIZES_MAX];
	int count;
};

struct bench {
	const struct options *options;
	struct accel_device *dev;
	struct accel_device_info info;
	size_t size; /* the largest that is measured */
	char *device; /* twice as many bytes */
	void *pinned;
	size_t pinned_size; /* less than @size if RLIMIT_MEMLOCK is */
	void *pageable;
	struct bench_point points[BENCH_SIZES_MAX];
	int count;
	struct peer *peers;
	int peer_count;
	bool progress;
	int points_all, point; /* values to measure, and the one that is measured */
};

static int copy(const struct bench *bench, const struct peer *peer, enum kind kind, size_t size)
{
	switch (kind) {
	case H2D:
		return accel_memory_copy_h2d(bench->dev, bench->device, bench->pinned, size);
	case D2H:
		return accel_memory_copy_d2h(bench->dev, bench->pinned, bench->device, size);
	case H2D_PAGEABLE:
		return accel_memory_copy_h2d(bench->dev, bench->device, bench->pageable, size);
	case D2H_PAGEABLE:
		return accel_memory_copy_d2h(bench->dev, bench->pageable, bench->device, size);
	case D2D:
		return accel_memory_copy_d2d(bench->dev, bench->device + bench->size, bench->device,
					     size);
	case TO_PEER:
		return accel_memory_copy_p2p(peer->dev, bench->dev, peer->device, bench->device,
					     size);
	case FROM_PEER:
		return accel_memory_copy_p2p(bench->dev, peer->dev, bench->device, peer->device,
					     size);
	default:
		return accel_device_memory_set(bench->dev, bench->device, 0, size);
	}
}

static int by_duration(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* The median, since a copy that other work of the machine interrupts takes many times as long. */
static int measure(struct bench *bench, const struct peer *peer, enum kind kind, size_t size,
		   double *rate)
{
	double durations[COPIES_MAX], start = time_now(), before, now = start;
	int copies = -1; /* the first one is not counted */

	*rate = 0;
	if (bench->progress)
		fprintf(stderr, "\r\033[K%d of %d: %s, %s", ++bench->point, bench->points_all,
			bench_names[kind], size_text((double)size));
	if (size > bench->pinned_size && (kind == H2D || kind == D2H))
		return DONE;
	while (copies < COPIES_MIN || (copies < COPIES_MAX && now - start < POINT_SECONDS)) {
		before = now;
		if (copy(bench, peer, kind, size))
			return complain_last("bench");
		now = time_now();
		if (copies >= 0)
			durations[copies] = now - before;
		copies++;
	}
	qsort(durations, (size_t)copies, sizeof(durations[0]), by_duration);
	*rate = (double)size / durations[copies / 2];
	return DONE;
}

/* ---- What is shown ---- */

static void print_header(enum kind first, enum kind end)
{
	printf("%s%10s", colour(BOLD), "SIZE");
	for (enum kind kind = first; kind < end; kind++)
		printf(" %11s", titles[kind]);
	puts(colour(PLAIN));
}

static void print_point(const struct bench_point *point, enum kind first, enum kind end)
{
	printf("%10s", size_text((double)point->size));
	for (enum kind kind = first; kind < end; kind++)
		printf(" %11s", point->rates[kind] > 0 ? size_text(point->rates[kind]) : "-");
	putchar('\n');
	fflush(stdout);
}

static struct json_object *points_json(const struct bench_point *points, int count, enum kind first,
				       enum kind end)
{
	struct json_object *array = json_object_new_array();

	for (int i = 0; i < count; i++) {
		struct json_object *entry = json_object_new_object();

		json_add_number(entry, "size", points[i].size);
		for (enum kind kind = first; kind < end; kind++) {
			if (points[i].rates[kind] > 0)
				json_add_real(entry, bench_names[kind], points[i].rates[kind]);
			else
				json_add(entry, bench_names[kind], NULL);
		}
		json_object_array_add(array, entry);
	}
	return array;
}

static void print_json(const struct bench *bench)
{
	struct json_object *object = json_device(bench->info.node, &bench->info);
	struct json_object *peers = json_object_new_array();

	json_add(object, "points", points_json(bench->points, bench->count, H2D, TO_PEER));
	for (int i = 0; i < bench->peer_count; i++) {
		const struct peer *peer = &bench->peers[i];
		struct json_object *entry = json_device(peer->info.node, &peer->info);

		json_add(entry, "points", points_json(peer->points, peer->count, TO_PEER, KINDS));
		json_object_array_add(peers, entry);
	}
	json_add(object, "peers", peers);
	json_print(object);
}

/* ---- What is done ---- */

/* As much of it as may be locked. */
static void take_pinned(struct bench *bench)
{
	size_t size = bench->size;

	while (size && accel_host_memory_allocate(bench->dev, &bench->pinned, size) == -ENOMEM)
		size /= 2;
	bench->pinned_size = bench->pinned ? size : 0;
	if (bench->pinned_size < bench->size)
		complain("bench: h2d and d2h are measured up to %s only, which may be page-locked: "
			 "see ulimit -l",
			 size_text((double)bench->pinned_size));
}

/* Others may use the device, too: half as much, until there is room. NULL after an error message. */
static void *take_memory(struct accel_device *dev, size_t align, size_t *size, size_t times)
{
	void *block = NULL;
	int err = 0;

	*size -= *size % align;
	while (*size && (err = accel_device_memory_allocate(dev, &block, times * *size)) &&
	       (err == -ENOMEM || err == -EDQUOT))
		*size = *size / 2 - *size / 2 % align;
	if (!*size)
		complain("bench: there is no device memory left, or the size is below %zu bytes",
			 align);
	else if (err)
		complain_last("bench");
	return block;
}

/* Each size is four times the one before; the last one is the largest. */
static int fill_sizes(size_t largest, size_t align, struct bench_point points[BENCH_SIZES_MAX])
{
	size_t size = largest >= 4 * SIZE_MIN ? SIZE_MIN : align;
	int count = 0;

	if (largest < 4 * SIZE_MIN && size < 64 && largest >= 64)
		size = 64;
	for (; size < largest && count < BENCH_SIZES_MAX - 1; size *= 4)
		points[count++] = (struct bench_point){ .size = size };
	points[count++] = (struct bench_point){ .size = largest };
	return count;
}

static int prepare(struct bench *bench)
{
	const struct options *options = bench->options;
	size_t size = options->has_max_size ? options->max_size : SIZE_DEFAULT;

	if (size > bench->info.memory_size / 2)
		size = (size_t)bench->info.memory_size / 2;
	bench->device = take_memory(bench->dev, bench->info.copy_align, &size, 2);
	if (!bench->device)
		return FAILED;
	bench->size = size;
	bench->pageable = xcalloc(1, size);
	/* Written once: pages that were never touched are not memory yet. */
	memset(bench->pageable, 1, size);
	take_pinned(bench);
	bench->count = fill_sizes(size, bench->info.copy_align, bench->points);
	return DONE;
}

/* A device that cannot be opened, or that has no memory left, is left out, with a message. */
static void open_peer(struct bench *bench, unsigned int number)
{
	struct peer *peer = &bench->peers[bench->peer_count];
	size_t size = bench->size, align;

	if (number == bench->info.node || device_open("bench", number, &peer->dev, &peer->info))
		return;
	if (size > peer->info.memory_size)
		size = (size_t)peer->info.memory_size;
	/* Alignments are powers of two. */
	align = peer->info.copy_align > bench->info.copy_align ? peer->info.copy_align :
								  bench->info.copy_align;
	peer->device = take_memory(peer->dev, align, &size, 1);
	if (!peer->device) {
		accel_device_close(peer->dev);
		return;
	}
	peer->count = fill_sizes(size, align, peer->points);
	bench->peer_count++;
}

static void open_peers(struct bench *bench)
{
	unsigned int *numbers;
	int count = devices_in_dev(&numbers);

	bench->peers = xcalloc((size_t)count, sizeof(*bench->peers));
	for (int i = 0; i < count; i++)
		open_peer(bench, numbers[i]);
	free(numbers);
}

/* One table: kinds from @first on, before @end. */
static int run_table(struct bench *bench, const struct peer *peer, struct bench_point *points,
		     int count, enum kind first, enum kind end)
{
	int status = DONE;

	if (!bench->options->json)
		print_header(first, end);
	for (int i = 0; i < count && !status; i++) {
		for (enum kind kind = first; kind < end && !status; kind++)
			status = measure(bench, peer, kind, points[i].size, &points[i].rates[kind]);
		if (bench->progress)
			fputs("\r\033[K", stderr);
		if (!status && !bench->options->json)
			print_point(&points[i], first, end);
	}
	return status;
}

static int run_tables(struct bench *bench)
{
	bool text = !bench->options->json;
	int status;

	if (text)
		device_print(&bench->info);
	status = run_table(bench, NULL, bench->points, bench->count, H2D, TO_PEER);
	/* A copy through host memory locks some, too. */
	if (bench->pinned)
		accel_host_memory_deallocate(bench->dev, bench->pinned, bench->pinned_size);
	for (int i = 0; i < bench->peer_count && !status; i++) {
		struct peer *peer = &bench->peers[i];

		if (text)
			fputs("\npeer: ", stdout);
		if (text)
			device_print(&peer->info);
		status = run_table(bench, peer, peer->points, peer->count, TO_PEER, KINDS);
	}
	return status;
}

static int run(struct bench *bench)
{
	const struct options *options = bench->options;

	bench->progress = isatty(STDERR_FILENO);
	bench->points_all = bench->count * BENCH_KINDS;
	for (int i = 0; i < bench->peer_count; i++)
		bench->points_all += bench->peers[i].count * BENCH_PEER_KINDS;
	if (run_tables(bench))
		return FAILED;
	if (options->json)
		print_json(bench);
	if (options->svg &&
	    !bench_write_svg(options->svg, &bench->info, bench->points, bench->count))
		return complain("bench: cannot write %s: %s", options->svg, strerror(errno));
	return DONE;
}

int command_bench(const struct options *options)
{
	struct bench bench = { .options = options };
	unsigned int number;
	int status = device_choose("bench", options, &number);

	if (!status)
		status = device_open("bench", number, &bench.dev, &bench.info);
	if (status)
		return status;
	status = prepare(&bench);
	if (!status)
		open_peers(&bench);
	if (!status)
		status = run(&bench);
	/* Which frees device memory and page-locked memory. */
	accel_device_close(bench.dev);
	for (int i = 0; i < bench.peer_count; i++)
		accel_device_close(bench.peers[i].dev);
	free(bench.peers);
	free(bench.pageable);
	return status;
}
