/* SPDX-License-Identifier: MIT */
/* The addresses of a device's memory. */
#ifndef LIBACCEL_WINDOW_H
#define LIBACCEL_WINDOW_H

#include "table.h"

#include <stddef.h>

struct window {
	uintptr_t base; /* stands for mem_base */
	uintptr_t map; /* what is reserved, with the guards on both sides: for WRITE_SHARED() */
	size_t map_size;
	size_t mapped; /* bytes from base on that the processor can access, if they are allocated */
};

int window_reserve(struct window *window, uint64_t mem_size);
/* Maps the device's memory there. If that is refused, nothing can access the window. */
void window_map(struct window *window, int fd, uint64_t mem_base, size_t mem_size);
/* In the child of a fork, which has no mapping: keeps the addresses from others. */
void window_disown(struct window *window);
void window_release(struct window *window);

static inline bool window_spans(const struct window *window, uintptr_t addr)
{
	return addr - READ_SHARED(window->map) < READ_SHARED(window->map_size);
}

#endif
