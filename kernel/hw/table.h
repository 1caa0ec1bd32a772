/* SPDX-License-Identifier: GPL-2.0-only */
/* The backends that are part of this module. */
#ifndef PACCEL_TABLE_H
#define PACCEL_TABLE_H

struct paccel_backend;

extern struct paccel_backend paccel_edu;
extern struct paccel_backend paccel_ring;

extern struct paccel_backend *const paccel_backends[];
extern const unsigned int paccel_nr_backends;

#endif
