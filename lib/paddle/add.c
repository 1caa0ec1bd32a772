/* SPDX-License-Identifier: MIT */
/*
 * The kernel `add`. Paddle accumulates a gradient in place with the kernel of the device, which it calls
 * directly; without one it calls the kernel of the CPU with addresses of the device.
 *
 * The operands are copied to the host, added there, and the sum is copied back. An operand is repeated
 * along the dimensions that it lacks or that have one element (broadcasting).
 */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

static float float_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static float from_bfloat16(uint16_t bits)
{
	return float_of_bits((uint32_t)bits << 16);
}

static float from_float16(uint16_t bits)
{
	uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = bits & INT16_MAX;

	if (magnitude >= 0x7c00) /* infinity, not a number */
		return float_of_bits(sign | 0x7f800000 | magnitude << 13);
	if (magnitude >= 0x400)
		return float_of_bits(sign | ((magnitude << 13) + 0x38000000));
	return (sign ? -0x1p-24f : 0x1p-24f) * (float)magnitude;
}

/* ---- Rows: elements along the last dimension ---- */

enum { X, Y, OUT, OPERANDS };

struct row {
	size_t count;
	char *at[OPERANDS];
	int64_t step[OPERANDS]; /* elements */
};

#define DEFINE_ADD_ROW(name, type, sum) \
	static void name(const struct row *row) \
	{ \
		const type *x = (const type *)row->at[X], *y = (const type *)row->at[Y]; \
		type *out = (type *)row->at[OUT]; \
		for (size_t i = 0; i < row->count; i++) { \
			*out = sum; \
			x += row->step[X]; \
			y += row->step[Y]; \
			out += row->step[OUT]; \
		} \
	}

DEFINE_ADD_ROW(add_floats, float, *x + *y)
DEFINE_ADD_ROW(add_doubles, double, *x + *y)
DEFINE_ADD_ROW(add_float16s, uint16_t, to_float16(from_float16(*x) + from_float16(*y)))
DEFINE_ADD_ROW(add_bfloat16s, uint16_t, to_bfloat16(from_bfloat16(*x) + from_bfloat16(*y)))

/* The types of gradients. A complex number is two elements. */
static const struct adder {
	void (*add_row)(const struct row *row);
	int64_t parts;
} adders[TYPES] = {
	[TYPE_FLOAT16] = { add_float16s, 1 },	 [TYPE_FLOAT32] = { add_floats, 1 },
	[TYPE_FLOAT64] = { add_doubles, 1 },	 [TYPE_BFLOAT16] = { add_bfloat16s, 1 },
	[TYPE_COMPLEX64] = { add_floats, 2 },	 [TYPE_COMPLEX128] = { add_doubles, 2 },
};

bool can_add(enum type type)
{
	return adders[type].add_row;
}

/* ---- Operands ---- */

struct operand {
	struct view view;
	char *data; /* the first element, on the device */
	char *buffer; /* the elements from the lowest to the highest address, in host memory */
	char *first; /* the first element, there */
};

static size_t operand_size(const struct operand *operand)
{
	const struct view *view = &operand->view;

	return (size_t)(view->highest - view->lowest + 1) * view->element_size;
}

static int64_t operand_offset(const struct operand *operand)
{
	return operand->view.lowest * (int64_t)operand->view.element_size;
}

static int operand_allocate(struct operand *operand)
{
	operand->buffer = malloc(operand_size(operand));
	if (!operand->buffer)
		return plugin_fail(-ENOMEM, "out of host memory for %zu bytes",
				   operand_size(operand));
	operand->first = operand->buffer - operand_offset(operand);
	return 0;
}

static int operand_fetch(struct operand *operand, const struct run *run)
{
	int err = operand_allocate(operand);

	return err ? err : copy_queue(run->device, run->stream, PROFILE_D2H, run->kernel,
				      operand->buffer, operand->data + operand_offset(operand),
				      operand_size(operand));
}

/* The view as one with the dimensions of the result, and the parts of an element as a dimension more. */
static struct view view_broadcast(const struct view *view, const struct view *out, int64_t parts)
{
	struct view wide = { .dims = out->dims + 1,
			     .count = out->count * (size_t)parts,
			     .element_size = view->element_size / (size_t)parts };
	size_t missing = out->dims - view->dims;

	for (size_t i = 0; i < out->dims; i++) {
		bool repeats = i < missing || view->dim[i - missing] == 1;

		wide.dim[i] = out->dim[i];
		wide.stride[i] = repeats ? 0 : view->stride[i - missing] * parts;
	}
	wide.dim[out->dims] = parts;
	wide.stride[out->dims] = 1;
	return wide;
}

static bool view_fits(const struct view *view, const struct view *out)
{
	if (view->dims > out->dims)
		return false;
	for (size_t i = 0; i < view->dims; i++)
		if (view->dim[i] != 1 && view->dim[i] != out->dim[out->dims - view->dims + i])
			return false;
	return true;
}

/* ---- The kernel ---- */

static void add_rows(const struct operand *operands, const struct adder *adder)
{
	int64_t at[OPERANDS][MAX_DIMS] = { 0 };
	struct view views[OPERANDS];
	struct row row;
	size_t last;

	for (int i = 0; i < OPERANDS; i++) {
		views[i] = view_broadcast(&operands[i].view, &operands[OUT].view, adder->parts);
		row.at[i] = operands[i].first;
	}
	last = views[OUT].dims - 1;
	/* The dimension of the parts is the row of a complex number, and otherwise the one before it. */
	last -= adder->parts == 1 && last;
	row.count = (size_t)views[OUT].dim[last];
	for (int i = 0; i < OPERANDS; i++)
		row.step[i] = views[i].stride[last];
	for (size_t done = 0; done < views[OUT].count; done += row.count) {
		adder->add_row(&row);
		for (int i = 0; i < OPERANDS; i++)
			row.at[i] += view_step(&views[i], last, at[i]) *
				     (int64_t)views[i].element_size;
	}
}

static bool is_in_place(const struct operand *operands)
{
	return operands[OUT].data == operands[X].data &&
	       !memcmp(&operands[OUT].view, &operands[X].view, sizeof(operands[X].view));
}

/* The sum of an addition in place replaces its first operand in host memory, too. */
static int add_on_host(const struct run *run, struct operand *operands, const struct adder *adder)
{
	struct operand *out = &operands[OUT];
	bool in_place = is_in_place(operands);
	int err = operand_fetch(&operands[X], run);

	if (!err)
		err = operand_fetch(&operands[Y], run);
	if (!err && !in_place)
		err = operand_allocate(out);
	if (!err) {
		if (in_place)
			out->first = operands[X].first;
		add_rows(operands, adder);
		err = copy_queue(run->device, run->stream, PROFILE_H2D, run->kernel,
				 out->data + operand_offset(out),
				 out->first + operand_offset(out), operand_size(out));
	}
	for (int i = 0; i < OPERANDS; i++)
		free(operands[i].buffer);
	return err;
}

static void operand_read(struct operand *operand, const struct tensor *tensor)
{
	enum status status;

	view_read(tensor, &operand->view);
	if (operand->view.count)
		operand->data = paddle->data(tensor, &status);
}

/* A result in place keeps its strides. Any other is contiguous, whatever strides Paddle has given it. */
static void result_prepare(const struct device_context *context, struct operand *operands,
			   struct tensor *tensor, enum type type)
{
	struct operand *out = &operands[OUT];
	enum status status;

	view_read(tensor, &out->view);
	out->data = paddle->allocate(context, tensor, 0, type, &status);
	if (is_in_place(operands) || out->view.dims > MAX_DIMS)
		return;
	view_pack(tensor, &out->view);
	view_read(tensor, &out->view);
}

void add_arguments(const struct device_context *context, const struct tensor *x,
		   const struct tensor *y, struct tensor *out)
{
	struct operand operands[OPERANDS] = { 0 };
	const struct view *sum = &operands[OUT].view;
	enum status status;
	enum type type = paddle->type(x, &status), other = paddle->type(y, &status);
	RUN run = { .kernel = "add" };

	operand_read(&operands[X], x);
	operand_read(&operands[Y], y);
	result_prepare(context, operands, out, type);
	if (!sum->count || !run_begin(&run, context, operands[OUT].data))
		return;
	if (sum->dims >= MAX_DIMS)
		run.err = plugin_fail(-EINVAL, "a sum of %zu dimensions: %d are the most",
				      sum->dims, MAX_DIMS - 1);
	else if (other != type)
		run.err = plugin_fail(-EINVAL, "types %d and %d cannot be added", (int)type,
				      (int)other);
	else if (!view_fits(&operands[X].view, sum) || !view_fits(&operands[Y].view, sum))
		run.err = plugin_fail(-EINVAL, "the shape of an operand does not fit that of the "
				      "sum");
	else
		run.err = add_on_host(&run, operands, &adders[type]);
	plugin_trace("accel:%d add(%p, %zu elements of type %d) = %d", run.device->id,
		     (void *)operands[OUT].data, sum->count, (int)type, run.err);
}

void add_context(struct kernel_context *context)
{
	add_arguments(paddle->device_context(context), paddle->input(context, 0),
		      paddle->input(context, 1), paddle->output(context, 0));
}
