/* SPDX-License-Identifier: MIT */
/* Bytes of pageable memory on their way to the device. */
#ifndef LIBACCEL_STAGE_H
#define LIBACCEL_STAGE_H

#include "api.h"

struct stage_piece;
/* A place for a copy of some bytes, or NULL: there is no room, or they are too many. */
struct stage_piece *stage_take(struct accel_device *dev, size_t size, void **place);
/* It is free when the ticket has ended. */
void stage_give(struct accel_device *dev, struct stage_piece *piece, uint64_t ticket);
void stage_free(struct accel_device *dev);

#endif
