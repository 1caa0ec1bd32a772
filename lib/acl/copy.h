/* SPDX-License-Identifier: MIT */
/* Copies. */
#ifndef LIBACCEL_ACL_COPY_H
#define LIBACCEL_ACL_COPY_H

#include "stream.h"

aclError check_size(const char *count_name, size_t count, const char *max_name, size_t max);
/* The copy of aclrtMemcpy() and aclrtMemcpyAsync() between other calls of theirs. */
aclError memcpy_now(const struct here *here, void *dst, size_t max, const void *src, size_t count,
		    aclrtMemcpyKind kind);
aclError memcpy_queue(const struct on_stream *on, void *dst, size_t max, const void *src,
		    size_t count, aclrtMemcpyKind kind);

#endif
