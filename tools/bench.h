/* SPDX-License-Identifier: MIT */
/*
 * The results of accelctl bench.
 */
#ifndef BENCH_H
#define BENCH_H

#include <accel/accel.h>
#include <stdbool.h>
#include <stddef.h>

enum { BENCH_KINDS = 6, BENCH_PEER_KINDS = 2, BENCH_SIZES_MAX = 32 };

/* For one size: bytes per second, 0 for what was not measured. */
struct bench_point {
	size_t size;
	double rates[BENCH_KINDS + BENCH_PEER_KINDS]; /* those of a peer: in a table of its own */
};

extern const char *const bench_names[BENCH_KINDS + BENCH_PEER_KINDS];

/* Writes a chart, both axes logarithmic; false with errno. */
bool bench_write_svg(const char *path, const struct accel_device_info *info,
		     const struct bench_point *points, int count);

#endif
