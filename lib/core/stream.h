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

/* Streams stay allocated until the device is closed: a callback or a wait may still look at one. */
enum stream_state {
	STREAM_UNUSED,
	STREAM_LIVE,
	STREAM_DRAINING, /* destroyed, but the driver still works on it */
	STREAM_ENDING, /* drained, and a thread destroys it in the driver */
};

struct stream {
	struct stream *next;
	struct device *dev;
	struct accel_stream *handle;
	const struct paccel_slot *slot;
	uint32_t number;
	enum stream_state state; /* under the device's lock */
	/* Atomic: */
	uint64_t thread; /* that created it */
	unsigned int pending; /* callbacks that have not run; changed under their lock */
	uint64_t last; /* last point that is work: signals are none */
	uint64_t submitted; /* last point */
};

/* "Never" of deadlines, which are CLOCK_MONOTONIC of this process. */
#define NEVER UINT64_MAX

/* Whether a point has ended: 0, -EINPROGRESS, or the error that it or one before failed with. */
int ticket_status(struct device *dev, uint64_t ticket);
/* The same when it has ended, or -ETIME. Without a sentence. */
int ticket_wait(struct device *dev, uint64_t ticket, uint64_t deadline);

/* The stream of a handle. Its calls make sense: it is not inherited, nor is this its callback. */
int stream_get(const struct accel_stream *handle, struct stream **stream);
/* -EINVAL if it is a stream of another device. */
int stream_check_of(const struct stream *stream, const struct device *dev);
/* Both. */
int stream_get_of(const struct accel_stream *handle, const struct device *dev,
		  struct stream **stream);
/* Waits until all has ended, callbacks too; the error of the stream. */
int stream_settle(struct stream *stream, uint64_t deadline);
/* The sentence for an error of the stream's work. */
int stream_error(const struct stream *stream, int err);

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
int stream_position(struct stream *stream, uint64_t *ticket);
/*
 * Lets a stream wait for points of other streams of its device, by number; the point that is behind
 * them. Without a sentence.
 */
int stream_wait_points(struct stream *stream, const uint64_t points[1 << TICKET_BITS],
		       uint64_t *ticket);
/*
 * 0, -ENODEV, -ESTALE or -EPERM: what has become of the device, without a sentence. Read on the
 * completion page; before the first stream the driver is asked.
 */
int device_state(struct device *dev);
/* 0, or what the completion page says of the device. */
int stream_device_state(const struct stream *stream);

/* Queues operations behind all callbacks; without a sentence. */
int stream_submit(struct stream *stream, const struct paccel_op *ops, uint32_t nr,
		  struct submitted *done);
/* One that only tells of what is before it: no work, and it does not wait for callbacks. */
int stream_signal(struct stream *stream, const struct paccel_op *op, struct submitted *done);
/* The sentence for errors of either that do not come from an operation. */
int submit_error(const struct stream *stream, int err);
/* What a last close does with the streams: at once, and with the file closed. */
void streams_end_handles(struct device *dev);
void streams_free(struct device *dev);

#endif
