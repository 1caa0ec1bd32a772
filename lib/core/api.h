/* SPDX-License-Identifier: MIT */
/*
 * The public declarations, visible; everything else is hidden. Names have no prefix: the linker map
 * and objcopy keep them out of both libraries.
 */
#ifndef LIBACCEL_API_H
#define LIBACCEL_API_H

#pragma GCC visibility push(default)
#include <accel/accel.h>
#pragma GCC visibility pop

#endif
