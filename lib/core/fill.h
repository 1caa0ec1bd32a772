/* SPDX-License-Identifier: MIT */
/* Fills on a stream. */
#ifndef LIBACCEL_FILL_H
#define LIBACCEL_FILL_H

#include "operand.h"
#include "stream.h"

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
