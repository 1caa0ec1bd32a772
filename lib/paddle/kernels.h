/* SPDX-License-Identifier: MIT */
/*
 * What the kernels share.
 */
#ifndef PADDLE_ACCEL_KERNELS_H
#define PADDLE_ACCEL_KERNELS_H

#include "private.h"

#include "paddle_api.h"

#define MAX_DIMS 16

extern const struct paddle_api *paddle;

/* ---- The use of a device ---- */

/* What a kernel uses while it runs. */
struct run {
	const char *kernel;
	struct device *device;
	struct accel_stream *stream;
	int err; /* the result of the kernel */
};

/*
 * Functions of Paddle throw C++ exceptions. One that passes through a kernel ends the kernel's use of
 * the device as a return does: finalize waits until no use is left.
 */
#define RUN __attribute__((cleanup(run_end))) struct run

void run_end(struct run *run);
/* Begins the use of the device of this memory; false, and a message, if there is none. */
bool run_begin(struct run *run, const struct device_context *context, const void *data);

/* ---- Tensors ---- */

struct view {
	size_t dims;
	size_t element_size;
	size_t count;
	int64_t dim[MAX_DIMS];
	int64_t stride[MAX_DIMS]; /* elements */
	int64_t lowest, highest; /* elements from the first, both included */
};

void view_read(const struct tensor *tensor, struct view *view);
/*
 * Advances the indices `at` of the first `outer` dimensions as the digits of a number, and returns the
 * distance from the element before, in elements.
 */
int64_t view_step(const struct view *view, size_t outer, int64_t *at);
/* Sets the strides of a tensor to those of a contiguous one with the dimensions of the view. */
void view_pack(struct tensor *out, const struct view *view);

/* Rounded to the nearest, ties to even. */
uint16_t to_float16(float value);
uint16_t to_bfloat16(float value);

/* ---- add.c ---- */

bool can_add(enum type type);
void add_context(struct kernel_context *context);
void add_arguments(const struct device_context *context, const struct tensor *x,
		   const struct tensor *y, struct tensor *out);

#endif
