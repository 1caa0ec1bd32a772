/* SPDX-License-Identifier: MIT */
/* Ranges of a handle. */
#ifndef LIBACCEL_MEMORY_H
#define LIBACCEL_MEMORY_H

#include "range.h"

struct accel_device;
struct device;

/* A range is freed with range_free() only: see table.h. */
struct range *range_create(size_t size, enum accel_memory_kind kind);
void range_free(struct range *range);
/* Frees all ranges of a tree that is in no table, and unmaps what they have mapped. */
void ranges_free(struct range *root);
/* The device, and a range for an allocation to come, so that publishing it cannot fail. */
int range_prepare(struct accel_device *handle, void **ptr, size_t size,
		  enum accel_memory_kind kind, struct device **dev, struct range **range);
/* Makes it visible, with a serial number. */
void range_publish(struct device *dev, struct range *range);
/* Takes a range out to free it; size 0 matches any. */
int range_take(struct device *dev, void *ptr, size_t size, enum accel_memory_kind kind,
	       struct range **range);
/* Puts it back when the driver would not free it. */
void range_restore(struct device *dev, struct range *range);

/* Finds the allocation that starts at an address; size 0 matches any. Under the table lock. */
int range_at_start(struct device *dev, uintptr_t ptr, size_t size,
		   enum accel_memory_kind kind, struct range **found);

/* Counts, by 1 or -1, a chunk of a pool in an allocation. One with chunks is not exported. */
void range_count_chunk(const void *base, int by);
/* 0 if they are an allocation of the driver from its first to its last byte, without such a chunk. */
int range_check_whole(const void *base, size_t size);

/* What every free checks first, and the device. */
int free_check(struct accel_device *handle, const void *ptr, size_t size, struct device **dev);

const char *kind_name(enum accel_memory_kind kind);

/* accel_device_memory_allocate(), aligned to a power of two. */
int device_memory_allocate(struct accel_device *handle, void **ptr, size_t size, size_t alignment);

#endif
