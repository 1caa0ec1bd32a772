/* SPDX-License-Identifier: MIT */
/*
 * What the files of libaccel_drm share. It knows libaccel by its public header only.
 */
#ifndef LIBACCEL_DRM_PRIVATE_H
#define LIBACCEL_DRM_PRIVATE_H

/* Everything is hidden but what the public header declares. */
#pragma GCC visibility push(default)
#include <accel/drm.h>
#pragma GCC visibility pop

#include <errno.h>
#include <stdbool.h>

static inline void errno_restore(const int *saved)
{
	errno = *saved;
}

/* First line of every public function. */
#define KEEP_ERRNO __attribute__((cleanup(errno_restore), unused)) const int saved_errno = errno

/* Of a function of libdrm that says -1 and sets errno. */
static inline int drm_result(int rc)
{
	return rc ? -errno : 0;
}

#endif
