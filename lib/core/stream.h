/* SPDX-License-Identifier: MIT */
/* Queues of the driver. */
#ifndef LIBACCEL_STREAM_H
#define LIBACCEL_STREAM_H

#include "device.h"

/*
 * A ticket is a point of a stream of some device in one word, so that it can be read whole. Points
 * of a stream's number never go back, so it stays right when the stream is destroyed. 0 is
 * complete.
 */
#define TICKET_BITS 8

static inline uint64_t ticket_make(uint32_t stream, uint64_t point)
{
	return point << TICKET_BITS | stream;
}

static inline uint64_t ticket_point(uint64_t ticket)
{
	return ticket >> TICKET_BITS;
}

static inline uint32_t ticket_stream(uint64_t ticket)
{
	return ticket & ((1u << TICKET_BITS) - 1);
}

/*
 * Handles stay allocated until the device is closed, so that a destroyed one can be recognized,
 * and nothing that is late touches freed memory.
 */
enum handle_state {
	HANDLE_UNUSED,
	HANDLE_LIVE,
	HANDLE_DRAINING, /* of a stream: destroyed, but the driver still works on it */
	HANDLE_ENDING, /* of a stream: drained, and a thread destroys it in the driver */
};

struct accel_stream {
	struct accel_stream *next;
	struct accel_device *dev;
	const struct paccel_slot *slot;
	uint32_t number;
	/* Atomic: */
	enum handle_state state;
	uint64_t thread; /* that created it */
	unsigned int pending; /* callbacks that have not run; changed under their lock */
	uint64_t last; /* last point that is work: signals are none */
	uint64_t submitted; /* last point */
};

/* "Never" of deadlines, which are CLOCK_MONOTONIC of this process. */
#define NEVER UINT64_MAX

/* Whether a point has ended: 0, -EINPROGRESS, or the error that it or one before failed with. */
int ticket_status(struct accel_device *dev, uint64_t ticket);
/* The same when it has ended, or -ETIME. Without a sentence. */
int ticket_wait(struct accel_device *dev, uint64_t ticket, uint64_t deadline);

/* 0 if calls on the stream make sense: not NULL, not inherited, live, not inside its callback. */
int stream_check(const struct accel_stream *stream);
/* The same, and that it belongs to a device. */
int stream_check_of(const struct accel_stream *stream, const struct accel_device *dev);
/* Waits until all has ended, callbacks too; the error of the stream. */
int stream_settle(struct accel_stream *stream, uint64_t deadline);
/* The sentence for an error of the stream's work. */
int stream_error(const struct accel_stream *stream, int err);

/* An initializer leaves what is behind a member of a union as it is; the driver wants 0 there. */
struct paccel_op;
void op_init(struct paccel_op *op, uint32_t code);
/* Also when the stream fails. */
void op_init_eventfd(struct paccel_op *op, int fd);

struct submitted {
	uint64_t ticket;
	uint32_t bad; /* which operation was wrong */
};

/*
 * The point behind all that is queued, as an event recorded now would have it; 0: all has ended.
 * Waits for callbacks as the record would.
 */
int stream_position(struct accel_stream *stream, uint64_t *ticket);
/*
 * Lets a stream wait for points of other streams of its device, by number; the point that is behind
 * them. Without a sentence.
 */
int stream_wait_points(struct accel_stream *stream, const uint64_t points[1 << TICKET_BITS],
		       uint64_t *ticket);
/*
 * 0, -ENODEV, -ESTALE or -EPERM: what has become of the device, without a sentence. Read on the
 * completion page; before the first stream the driver is asked.
 */
int device_state(struct accel_device *dev);
/* 0, or what the completion page says of the device. */
int stream_device_state(const struct accel_stream *stream);

/* Queues operations behind all callbacks; without a sentence. */
int stream_submit(struct accel_stream *stream, const struct paccel_op *ops, uint32_t nr,
		  struct submitted *done);
/* One that only tells of what is before it: no work, and it does not wait for callbacks. */
int stream_signal(struct accel_stream *stream, const struct paccel_op *op, struct submitted *done);
/* The sentence for errors of either that do not come from an operation. */
int submit_error(const struct accel_stream *stream, int err);
/* What a last close does with the streams; with the file closed. */
void streams_free(struct accel_device *dev);

#endif
