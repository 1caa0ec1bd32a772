/* SPDX-License-Identifier: GPL-2.0-only */
/* The backends that are part of this module. */
#ifndef PACCEL_BACKENDS_H
#define PACCEL_BACKENDS_H

struct paccel_hw_ops;

extern const struct paccel_hw_ops paccel_edu;
extern const struct paccel_hw_ops paccel_ring;

#endif
