/* SPDX-License-Identifier: MIT */
/* Events. */
#ifndef LIBACCEL_EVENT_H
#define LIBACCEL_EVENT_H

#include "stream.h"

struct event {
	struct event *next, *next_unused;
	struct device *dev;
	/* Changed under the device's lock: */
	struct accel_event *handle; /* NULL: destroyed */
	struct stamp *stamp;
	uint64_t ticket; /* atomic; 0 if it was never recorded */
};

int event_get(const struct accel_event *handle, struct event **event);
/* A record in steps: a place for the time, the operation, then the point or the way back. */
int event_prepare(struct event *event, struct paccel_op *op, struct stamp **stamp);
void event_publish(struct event *event, const struct accel_event *handle, struct stamp *stamp,
		   uint64_t ticket);
void event_abandon(struct event *event, struct stamp *stamp);
/* Whether it ended well: no wait is needed. */
bool ticket_passed(struct device *dev, uint64_t ticket);
void events_end_handles(struct device *dev);
void events_free(struct device *dev);

#endif
