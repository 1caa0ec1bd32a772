/* SPDX-License-Identifier: MIT */
/* Streams that wait for events. */
#ifndef LIBACCEL_ACL_EVENT_H
#define LIBACCEL_ACL_EVENT_H

#include "state.h"

struct wait;

/* Those of an object that ends, whose device is in use. */
void waits_end(struct wait *waits);
/* In a forked process, where their events are the parent's. */
void waits_forget(struct wait *waits);

#endif
