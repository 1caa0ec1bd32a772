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
	struct stream *stream; /* or NULL: complete on return */
	/* With a stream or batch: its device, and host memory only in host ranges of that. */
	const struct device *pin_dev;
};

/* ---- copy.c: what the arguments mean ---- */

struct copy copy_make(void *dst, const void *src, size_t size);
/* The same for rows, with what can be said without a look-up. */
int copy_make_2d(struct copy *copy, void *dst, size_t dpitch, const void *src, size_t spitch,
		 size_t width, size_t rows, unsigned int flags);
/* Checks it, and finds out whose memory it is: held until copy_end(), also after an error. */
int copy_begin(struct copy *copy);
void copy_end(const struct copy *copy);
/* Between any two addresses, on a stream; NULL: complete on return. */
int copy_any(struct accel_stream *handle, void *dst, const void *src, size_t size);

/* ---- transfer.c ---- */

/* In the way that the operands allow: changes the copy. */
int copy_transfer(struct copy *copy);
/* The direction for the driver if one device can do the copy alone; or 0. */
uint32_t copy_direction(const struct copy *copy);
void copy_operation(const struct copy *copy, uint32_t dir, struct paccel_op *op);
/* By one device, at once or on the stream; without a sentence. */
int copy_execute(struct device *dev, uint32_t dir, const struct copy *copy);
/* The sentence for its errors. */
int copy_failed(const struct device *dev, int err, const struct copy *copy);
/* The sentence for what was to be verified, but no device is to do. */
int verify_by_processor(void);
/* By the processor. */
int copy_rows(const struct copy *copy);

/* ---- Other ways: where one does not do, nothing is done and there is no error ---- */

/* Pageable memory to the device of the stream: stage.c. */
int copy_pageable(const struct copy *copy, bool *queued);
/* Between two devices, directly: peer.c. On a stream of the device that has the source, if on any. */
int copy_linked(const struct copy *copy, bool *done);
/* Between two devices, through host memory, complete on return: staged.c. This one always does. */
int copy_staged(const struct copy *copy);
/* Gives up what is kept for such copies. False if there was nothing. */
bool staged_give_up(void);
void staged_in_child(void);

/* ---- Fills ---- */

struct fill {
	struct operand memory;
	const void *pattern;
	size_t pattern_size;
	bool verify;
};

/* Checks what does not depend on the memory. */
int fill_make(struct fill *fill, struct device *dev, void *ptr, const void *pattern,
	      size_t pattern_size, size_t size, unsigned int flags);
void fill_operation(const struct fill *fill, struct paccel_op *op);
/* Device memory, on a stream; NULL: complete on return. */
int fill_transfer(const struct fill *fill, struct stream *stream);

#endif
