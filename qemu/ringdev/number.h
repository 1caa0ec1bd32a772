/* SPDX-License-Identifier: MIT */
#ifndef RINGDEV_NUMBER_H
#define RINGDEV_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal, 0x hexadecimal; K, M and G behind it are powers of 1024. */
bool number_parse(const char *text, uint64_t *number);

#define RING_MIN_MEMORY		(16ull << 20)
#define RING_MAX_MEMORY		(4ull << 30)
#define RING_MIN_RATE		(1ull << 20)
#define RING_MAX_RATE		(1ull << 40)
#define RING_MAX_NS		60000000000ull

#endif
