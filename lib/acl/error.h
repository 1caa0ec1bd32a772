/* SPDX-License-Identifier: MIT */
/* Codes and sentences. */
#ifndef LIBACCEL_ACL_ERROR_H
#define LIBACCEL_ACL_ERROR_H

#include "acl/acl.h"

#include <accel/accel.h>
#include <errno.h>
#include <stdbool.h>

/* Every call of the interface begins with it: the name stands before its sentences. */
void call_begin(const char *name);
/* Keeps a sentence for aclGetRecentErrMsg() and returns the code. */
aclError call_fail(aclError code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for what libaccel returned, with its own sentence; 0 is ACL_SUCCESS. */
aclError call_failed(int err);
/* The same with another code where the resource is exhausted. */
aclError call_failed_for(int err, aclError exhausted);
aclError call_null(const char *argument);
aclError err_code(int err);
/* The device, or its memory, is not there any more, or is another process's. */
bool err_is_lost(int err);

#endif
