/* SPDX-License-Identifier: GPL-2.0-only */
/* The backends that are part of this module. */
#ifndef PACCEL_BACKENDS_H
#define PACCEL_BACKENDS_H

struct paccel_backend;

extern struct paccel_backend paccel_edu;
extern struct paccel_backend paccel_ring;

#endif
