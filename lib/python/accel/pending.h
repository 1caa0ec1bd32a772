/* SPDX-License-Identifier: MIT */
/* Memory that queued copies use, a queue for each stream. */
#ifndef ACCEL_PYTHON_PENDING_H
#define ACCEL_PYTHON_PENDING_H

#include "operand.h"
#include "stream.h"

struct pending;

/* NULL with an exception. */
struct queue *queue_new(void);
struct queue *queue_get(struct queue *queue);
void queue_put(struct queue *queue);
/* How many callbacks of the stream have not returned. */
unsigned int *queue_calls(struct queue *queue);
/* Before anything is queued. NULL with an exception. */
struct pending *pending_new(struct device *device);
/* Nothing was queued. */
void pending_cancel(struct pending *pending);
/* What an operand holds is held until the copy has ended. */
void pending_hold(struct pending *pending, struct operand *operand);
/* What is recorded behind the copy. */
struct accel_event *pending_event(const struct pending *pending);
/* The copy was queued on the stream; `recorded`: and the event behind it. */
void pending_add(struct pending *pending, struct stream *stream, bool recorded);
/*
 * Gives back what ended copies have used: all of the queue, which may be NULL, and of some others.
 * Makes one query for each entry that is released, and at most 1 + LOOK_AT others. An exception that
 * is set stays.
 */
void pending_reap(struct queue *queue);
/* The same for all queues, for a query each. Returns whether an entry was released. */
bool pending_reap_all(void);
/* Whether queued copies use the memory, also by views of it. */
bool pending_has_memory(const struct memory *root);
/* Waits for them. false with an exception. */
bool pending_wait_memory(struct memory *root);
/* The same for all of a device that is closing. */
void pending_wait_device(struct device *device);

#endif
