/* SPDX-License-Identifier: MIT */
/*
 * `make bench-pool`: allocators that take part in one comparison. Each one manages a range of
 * addresses without memory behind them.
 */
#ifndef BENCH_RACE_H
#define BENCH_RACE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RACE_GRANULE 256u
/* Blocks, used and free, that an allocator has room for. */
#define RACE_BLOCKS (512u << 10)

/* A block: its address, and what the allocator needs to free it. */
struct place {
	uint64_t at, handle;
};

/* All functions but create and destroy are called by several threads at once. */
struct racer {
	const char *name;
	void *(*create)(uint64_t bytes);
	void (*destroy)(void *self);
	bool (*allocate)(void *self, uint32_t bytes, struct place *place);
	void (*release)(void *self, const struct place *place, uint32_t bytes);
};

extern const struct racer bins_racer;
extern const struct racer fit_racer;
/* NULL where their source is not there. */
extern const struct racer offset_racer __attribute__((weak));
extern const struct racer vma_racer __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
