/* SPDX-License-Identifier: MIT */
/*
 * What the files of libaccel_sundials share. It knows libaccel by its public header only.
 */
#ifndef LIBACCEL_SUNDIALS_PRIVATE_H
#define LIBACCEL_SUNDIALS_PRIVATE_H

/* Everything is hidden but what the public header declares. */
#pragma GCC visibility push(default)
#include <accel/buffer.h>
#include <accel/sundials.h>
#include <sundials/sundials_core.h>
#pragma GCC visibility pop

#include <stdatomic.h>
#include <stdbool.h>

/* 7.3 has a queue in each helper, a stride in each object, and an operation for it. */
#define HAS_QUEUE (SUNDIALS_VERSION_MINOR >= 3)

#define MEMORY_TYPES 4

static inline bool is_type(SUNMemoryType type)
{
	return (unsigned int)type < MEMORY_TYPES;
}

/* ---- stats.c: what was allocated, of one type ---- */

struct stats {
	atomic_ulong allocated, freed;
	atomic_size_t bytes, high;
};

void stats_allocated(struct stats *stats, size_t bytes);
void stats_freed(struct stats *stats, size_t bytes);

/* ---- helper.c ---- */

/* Shared by a helper and its clones. */
struct device {
	struct accel_device *dev;
	struct accel_resource resources[MEMORY_TYPES]; /* without functions: none */
	atomic_bool queued; /* CopyAsync has queued copies */
	atomic_uint helpers;
	bool opened; /* by us: the last helper closes it */
};

struct content {
	const void *tag;
	struct device *device;
	struct stats stats[MEMORY_TYPES];
};

/* NULL if it is no helper of ours. */
struct content *helper_content(SUNMemoryHelper helper);

#endif
