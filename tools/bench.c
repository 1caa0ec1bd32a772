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

enum kind { H2D, D2H, H2D_PAGEABLE, D2H_PAGEABLE, D2D, FILL };

const char *const bench_names[BENCH_KINDS] = {
	[H2D] = "h2d",
	[D2H] = "d2h",
	[H2D_PAGEABLE] = "h2d_pageable",
	[D2H_PAGEABLE] = "d2h_pageable",
	[D2D] = "d2d",
	[FILL] = "fill",
};

static const char *const titles[BENCH_KINDS] = {
	[H2D] = "H2D/s",
	[D2H] = "D2H/s",
	[H2D_PAGEABLE] = "H2D pg./s",
	[D2H_PAGEABLE] = "D2H pg./s",
	[D2D] = "D2D/s",
	[FILL] = "FILL/s",
};

struct bench {
	struct accel_device *dev;
	struct accel_device_info info;
	size_t size; /* the largest that is measured */
	char *device; /* twice as many bytes */
	void *pinned;
	size_t pinned_size; /* less than @size if RLIMIT_MEMLOCK is */
	void *pageable;
	bool progress;
	int points, point; /* all, and the one that is measured */
};

static int copy(const struct bench *bench, enum kind kind, size_t size)
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
static int measure(struct bench *bench, enum kind kind, size_t size, double *rate)
{
	double durations[COPIES_MAX], start = time_now(), before, now = start;
	int copies = -1; /* the first one is not counted */

	*rate = 0;
	if (bench->progress)
		fprintf(stderr, "\r\033[K%d of %d: %s, %s", ++bench->point, bench->points,
			bench_names[kind], size_text((double)size));
	if (size > bench->pinned_size && (kind == H2D || kind == D2H))
		return DONE;
	while (copies < COPIES_MIN || (copies < COPIES_MAX && now - start < POINT_SECONDS)) {
		before = now;
		if (copy(bench, kind, size))
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

static void print_header(const struct bench *bench)
{
	device_print(&bench->info);
	printf("%s%10s", colour(BOLD), "SIZE");
	for (int kind = 0; kind < BENCH_KINDS; kind++)
		printf(" %11s", titles[kind]);
	puts(colour(PLAIN));
}

static void print_point(const struct bench_point *point)
{
	printf("%10s", size_text((double)point->size));
	for (int kind = 0; kind < BENCH_KINDS; kind++)
		printf(" %11s", point->rates[kind] > 0 ? size_text(point->rates[kind]) : "-");
	putchar('\n');
	fflush(stdout);
}

static void print_json(const struct bench *bench, const struct bench_point *points, int count)
{
	struct json_object *object = json_device(bench->info.node, &bench->info);
	struct json_object *array = json_object_new_array();

	for (int i = 0; i < count; i++) {
		struct json_object *entry = json_object_new_object();

		json_add_number(entry, "size", points[i].size);
		for (int kind = 0; kind < BENCH_KINDS; kind++) {
			if (points[i].rates[kind] > 0)
				json_add_real(entry, bench_names[kind], points[i].rates[kind]);
			else
				json_add(entry, bench_names[kind], NULL);
		}
		json_object_array_add(array, entry);
	}
	json_add(object, "points", array);
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

/* Others may use the device, too: half as much, until there is room. */
static int take_memory(struct bench *bench, const struct options *options)
{
	size_t size = options->has_max_size ? options->max_size : SIZE_DEFAULT;
	size_t align = bench->info.copy_align;
	void *block = NULL;
	int err;

	if (size > bench->info.memory_size / 2)
		size = (size_t)bench->info.memory_size / 2;
	size -= size % align;
	while (size && (err = accel_device_memory_allocate(bench->dev, &block, 2 * size)) &&
	       (err == -ENOMEM || err == -EDQUOT))
		size = size / 2 - size / 2 % align;
	if (!block)
		return size ? complain_last("bench") :
			      complain(
				      "bench: there is no device memory left, or the size is below "
				      "%zu bytes",
				      align);
	bench->size = size;
	bench->device = block;
	bench->pageable = xcalloc(1, size);
	/* Written once: pages that were never touched are not memory yet. */
	memset(bench->pageable, 1, size);
	take_pinned(bench);
	return DONE;
}

/* Powers of 4, and the largest size. */
static int fill_sizes(const struct bench *bench, struct bench_point points[BENCH_SIZES_MAX])
{
	size_t size = bench->size >= 4 * SIZE_MIN ? SIZE_MIN : bench->info.copy_align;
	int count = 0;

	if (bench->size < 4 * SIZE_MIN && size < 64 && bench->size >= 64)
		size = 64;
	for (; size < bench->size && count < BENCH_SIZES_MAX - 1; size *= 4)
		points[count++] = (struct bench_point){ .size = size };
	points[count++] = (struct bench_point){ .size = bench->size };
	return count;
}

static int run(struct bench *bench, const struct options *options)
{
	struct bench_point points[BENCH_SIZES_MAX];
	int count = fill_sizes(bench, points), status = DONE;

	bench->points = count * BENCH_KINDS;
	bench->progress = isatty(STDERR_FILENO);
	if (!options->json)
		print_header(bench);
	for (int i = 0; i < count && !status; i++) {
		for (int kind = 0; kind < BENCH_KINDS && !status; kind++)
			status = measure(bench, (enum kind)kind, points[i].size,
					 &points[i].rates[kind]);
		if (bench->progress)
			fputs("\r\033[K", stderr);
		if (!status && !options->json)
			print_point(&points[i]);
	}
	if (status)
		return status;
	if (options->json)
		print_json(bench, points, count);
	if (options->svg && !bench_write_svg(options->svg, &bench->info, points, count))
		return complain("bench: cannot write %s: %s", options->svg, strerror(errno));
	return DONE;
}

int command_bench(const struct options *options)
{
	struct bench bench = { 0 };
	unsigned int number;
	int status = device_choose("bench", options, &number);

	if (!status)
		status = device_open("bench", number, &bench.dev, &bench.info);
	if (status)
		return status;
	status = take_memory(&bench, options);
	if (!status)
		status = run(&bench, options);
	/* Which frees device memory and page-locked memory. */
	accel_device_close(bench.dev);
	free(bench.pageable);
	return status;
}
