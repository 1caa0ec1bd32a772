/* SPDX-License-Identifier: MIT */
/* Events. */
#ifndef LIBACCEL_EVENT_H
#define LIBACCEL_EVENT_H

#include "stream.h"

struct accel_event {
	struct accel_event *next, *next_unused;
	struct accel_device *dev;
	struct stamp *stamp; /* under the device's lock, as is a change of the ticket */
	/* Atomic: */
	enum handle_state state;
	uint64_t ticket; /* 0 if it was never recorded */
};

int event_check(const struct accel_event *event);
/* A record in steps: a place for the time, the operation, then the point or the way back. */
int event_prepare(struct accel_event *event, struct paccel_op *op, struct stamp **stamp);
void event_publish(struct accel_event *event, struct stamp *stamp, uint64_t ticket);
void event_abandon(struct accel_event *event, struct stamp *stamp);
/* Whether it ended well: no wait is needed. */
bool ticket_passed(struct accel_device *dev, uint64_t ticket);
void events_free(struct accel_device *dev);

#endif
