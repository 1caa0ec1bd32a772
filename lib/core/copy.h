/* SPDX-License-Identifier: MIT */
/* How bytes move. */
#ifndef LIBACCEL_COPY_H
#define LIBACCEL_COPY_H

#include "operand.h"
#include "stream.h"

struct copy {
	struct operand dst, src;
	size_t dpitch, spitch, width, rows;
	bool verify;
	struct accel_stream *stream; /* or NULL: complete on return */
	struct accel_device *pin_dev; /* whose host ranges count; with a stream or batch */
	struct accel_batch *batch; /* only collected there */
};

/* Takes a copy apart, checks it, and has it done in its way: copy.c. */
struct copy copy_make(void *dst, const void *src, size_t size);
/* The same for rows, with what can be said without a look-up. */
int copy_make_2d(struct copy *copy, void *dst, size_t dpitch, const void *src, size_t spitch,
		 size_t width, size_t rows, unsigned int flags);
int copy_run(struct copy *copy);
/* Between any two addresses, on a stream; NULL: complete on return. */
int copy_any(struct accel_stream *stream, void *dst, const void *src, size_t size);
/* In the way that the operands allow, complete on return. */
int copy_now(const struct copy *copy);

/* By one device; enum paccel_copy_dir. Without a sentence, and with one. */
int copy_ioctl(struct accel_device *dev, uint32_t dir, const struct copy *copy);
int copy_submit(struct accel_device *dev, uint32_t dir, const struct copy *copy);
/* Between two devices, through host memory: staged.c. */
int copy_staged(const struct copy *copy);
/* Gives up what is kept for such copies. False if there was nothing. */
bool staged_give_up(void);
void staged_in_child(void);
/* Between two devices, directly if they reach each other: peer.c. */
int copy_between(const struct copy *copy);
/* On a stream of the device that has the source; nothing is queued where that does not do. */
int copy_between_queue(const struct copy *copy, bool *queued);
/* By the processor. */
int copy_host(const struct copy *copy);
/* The sentence for an error of the driver. */
int copy_failed(const struct accel_device *dev, int err, const struct copy *copy);
/* The sentences for -EOPNOTSUPP of what was to be verified, and for what no device is to do. */
int verify_refused(const struct accel_device *dev);
int verify_by_processor(void);
uint64_t wire_address(const struct operand *operand);
/* Pageable memory that the processor is about to access; says what is wrong. */
int host_touch(const struct operand *host, uintptr_t ptr, size_t size);

/* ---- On a stream ---- */

/* The direction for the driver if a device can do the copy alone, with pinned host memory; or 0. */
uint32_t copy_direction(const struct copy *copy);
void copy_operation(const struct copy *copy, uint32_t dir, struct paccel_op *op);
int copy_queue(const struct copy *copy);

/* ---- Fills ---- */

struct pattern {
	uint64_t value; /* in the low bytes, as the driver has it */
	uint32_t size;
	bool verify;
};

/* Checks what does not depend on the memory. */
int pattern_make(struct pattern *pattern, const void *bytes, size_t pattern_size, size_t size,
		 unsigned int flags);
int fill_queue(struct accel_stream *stream, const struct operand *memory,
	       const struct pattern *pattern);
void fill_operation(const struct operand *memory, const struct pattern *pattern,
		    struct paccel_op *op);
/* The sentence for an error of the driver. */
int fill_failed(const struct accel_device *dev, int err, const struct operand *memory);

#endif
