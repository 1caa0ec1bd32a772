/* SPDX-License-Identifier: MIT */
/* Functions that streams wait for. */
#ifndef LIBACCEL_ACL_CALLBACK_H
#define LIBACCEL_ACL_CALLBACK_H

#include "error.h"

/* This thread is in a function that a stream waits for: it cannot close a device. */
bool awaited_here(void);
aclError awaited_fail(void);
/* Calls a function that a stream waits for. */
void call_awaited(void (*fn)(void *data), void *data);
/* In a forked process, where no stream does. */
void awaited_in_child(void);

#endif
