/* SPDX-License-Identifier: MIT */
/*
 * The three kernels that Paddle cannot do without. For any other it copies the operands to the
 * host, computes there, and copies the result back. But it fills tensors with `full` in place and
 * accumulates gradients with `add`, by way of the processor if the device has no kernel of its own,
 * and a device's address is not the processor's; and for a view that is not `contiguous` it knows no
 * way at all.
 *
 * `full` writes a pattern, `contiguous` moves bytes, and `add` adds in host memory (add.c). They queue
 * on the stream of their context, behind what is still to be done with the memory that they are given.
 */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

const struct paddle_api *paddle;

static const size_t type_sizes[TYPES] = {
	[TYPE_BOOL] = 1,
	[TYPE_UINT8] = 1,
	[TYPE_INT8] = 1,
	[TYPE_INT16] = 2,
	[TYPE_INT32] = 4,
	[TYPE_INT64] = 8,
	[TYPE_FLOAT16] = 2,
	[TYPE_FLOAT32] = 4,
	[TYPE_FLOAT64] = 8,
	[TYPE_BFLOAT16] = 2,
	[TYPE_COMPLEX64] = 8,
	[TYPE_COMPLEX128] = 16,
};

static size_t size_of(const struct tensor *tensor)
{
	enum status status;
	enum type type = paddle->type(tensor, &status);

	return type < TYPES ? type_sizes[type] : 0;
}

/* ---- full ---- */

/* To the nearest, ties to even, of which the low bits of a float are cut. */
static uint32_t round_off(uint32_t bits, unsigned int cut)
{
	uint32_t half = (1u << (cut - 1)) - 1 + (bits >> cut & 1);

	return (bits + half) >> cut;
}

static uint32_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

uint16_t to_bfloat16(float value)
{
	uint32_t bits = float_bits(value);

	return value != value ? 0x7fc0 : (uint16_t)round_off(bits, 16);
}

/* The smallest normal number is 2^-14, below it are multiples of 2^-24. */
uint16_t to_float16(float value)
{
	uint32_t bits = float_bits(value), sign = bits >> 16 & 0x8000, magnitude = bits & INT32_MAX;

	if (magnitude > 0x7f800000)
		return 0x7e00;
	if (magnitude >= 0x47800000)
		return (uint16_t)(sign | 0x7c00);
	if (magnitude >= 0x38800000)
		return (uint16_t)(sign | round_off(magnitude - 0x38000000, 13));
	/* Adding 0.5 leaves the multiple of 2^-24 in the low bits, rounded by the processor. */
	value = (value < 0 ? -value : value) + 0.5f;
	return (uint16_t)(sign | (float_bits(value) - float_bits(0.5f)));
}

union element {
	uint8_t byte;
	uint16_t half;
	uint32_t word;
	uint64_t whole;
	float single;
	double real;
};

static union element element_of(enum type type, struct scalar *value)
{
	switch (type) {
	case TYPE_BOOL:
		return (union element){ .byte = paddle->to_double(value) != 0 };
	case TYPE_FLOAT16:
		return (union element){ .half = to_float16((float)paddle->to_double(value)) };
	case TYPE_BFLOAT16:
		return (union element){ .half = to_bfloat16((float)paddle->to_double(value)) };
	case TYPE_FLOAT32:
		return (union element){ .single = (float)paddle->to_double(value) };
	case TYPE_FLOAT64:
		return (union element){ .real = paddle->to_double(value) };
	default:
		/* The low bytes of a whole number are the shorter number. */
		return (union element){ .whole = (uint64_t)paddle->to_int64(value) };
	}
}

void run_end(struct run *run)
{
	int err;

	if (!run->device)
		return;
	err = stream_told(run->stream, run->err);
	if (err)
		device_fail(run->device, run->kernel, err);
	plugin_leave();
}

bool run_begin(struct run *run, const struct device_context *context, const void *data)
{
	enum status status;

	run->device = plugin_enter_memory(data);
	if (run->device)
		run->stream = paddle->stream(context, &status);
	else
		plugin_say("a kernel was called with memory of none of the devices");
	return run->device;
}

static void full(const struct device_context *context, struct scalar *value, struct tensor *out)
{
	enum status status = STATUS_SUCCESS;
	enum type type = paddle->type(out, &status);
	union element element = element_of(type, value);
	int64_t count = paddle->count(out, &status);
	void *data = paddle->allocate(context, out, 0, type, &status);
	RUN run = { .kernel = "full" };
	uint32_t low = 0;
	uint64_t begin;
	size_t size;

	if (count <= 0 || !run_begin(&run, context, data))
		return;
	size = (size_t)count * type_sizes[type];
	memcpy(&low, &element, type_sizes[type] < sizeof(low) ? type_sizes[type] : sizeof(low));
	begin = profile_begin();
	run.err = accel_async_device_memory_fill(run.device->dev, run.stream, data, &element,
						 type_sizes[type], size, 0);
	profile_end(begin, &(struct profile){ PROFILE_SET, run.kernel, run.device, run.stream,
					      run.err ? 0 : size, low });
	plugin_trace("accel:%d full(%p, %lld elements of type %d) = %d", run.device->id, data,
		     (long long)count, (int)type, run.err);
}

/* Paddle gives the type once more, in another numbering; that of the tensor is meant. */
static void full_arguments(const struct device_context *context, const void *shape,
			   struct scalar *value, int type, struct tensor *out)
{
	(void)shape;
	(void)type;
	full(context, value, out);
}

static void full_context(struct kernel_context *context)
{
	full(paddle->device_context(context), paddle->scalar(context, 1),
	     paddle->output(context, 0));
}

/* ---- contiguous ---- */

void view_read(const struct tensor *tensor, struct view *view)
{
	enum status status;

	*view = (struct view){ .element_size = size_of(tensor),
			       .count = (size_t)paddle->count(tensor, &status),
			       .dims = (size_t)paddle->dims(tensor, &status) };
	for (size_t i = 0; i < view->dims && i < MAX_DIMS; i++) {
		int64_t reach;

		view->dim[i] = paddle->dim(tensor, i, &status);
		view->stride[i] = paddle->stride(tensor, i, &status);
		reach = (view->dim[i] - 1) * view->stride[i];
		view->lowest += reach < 0 ? reach : 0;
		view->highest += reach > 0 ? reach : 0;
	}
}

/* Elements that lie one behind the other in both, from the last dimensions on. */
static size_t run_of(const struct view *view, size_t *outer)
{
	int64_t run = 1;

	*outer = view->dims;
	while (*outer && (view->dim[*outer - 1] == 1 || view->stride[*outer - 1] == run))
		run *= view->dim[--*outer];
	return (size_t)run;
}

/* The next place of the dimensions before the run, as the digits of a number. */
int64_t view_step(const struct view *view, size_t outer, int64_t *at)
{
	int64_t moved = 0;

	while (outer--) {
		moved += view->stride[outer];
		if (++at[outer] < view->dim[outer])
			return moved;
		moved -= view->stride[outer] * view->dim[outer];
		at[outer] = 0;
	}
	return moved;
}

static void gather(char *to, const char *from, const struct view *view)
{
	int64_t at[MAX_DIMS] = { 0 };
	size_t outer, run = run_of(view, &outer);
	size_t size = run * view->element_size;

	for (size_t done = 0; done < view->count; done += run) {
		memcpy(to, from, size);
		to += size;
		from += view_step(view, outer, at) * (int64_t)view->element_size;
	}
}

/* By way of the host: the device moves no single elements. */
static int gather_in_host(struct device *device, struct accel_stream *stream, char *dst,
			  const char *src, const struct view *view)
{
	int64_t size = (int64_t)view->element_size;
	size_t span = (size_t)((view->highest - view->lowest + 1) * size);
	size_t packed = view->count * view->element_size;
	char *from = malloc(span), *to = malloc(packed);
	int err = from && to ? 0 : plugin_fail(-ENOMEM, "out of host memory for %zu bytes",
					       span + packed);

	if (!err)
		err = copy_queue(device, stream, PROFILE_D2H, "contiguous", from,
				 src + view->lowest * size, span);
	if (!err) {
		gather(to, from - view->lowest * size, view);
		err = copy_queue(device, stream, PROFILE_H2D, "contiguous", dst, to, packed);
	}
	free(from);
	free(to);
	return err;
}

static int pack(struct device *device, struct accel_stream *stream, void *dst, const void *src,
		const struct view *view)
{
	size_t outer, run;

	if (view->dims > MAX_DIMS)
		return plugin_fail(-EINVAL, "a view of %zu dimensions: %d are the most", view->dims,
				   MAX_DIMS);
	run = run_of(view, &outer);
	if (run == view->count)
		return copy_queue(device, stream, PROFILE_D2D, "contiguous", dst, src,
				  run * view->element_size);
	return gather_in_host(device, stream, dst, src, view);
}

/* A tensor that is made for the result of an operation of one operand has that one's strides. */
void view_pack(struct tensor *out, const struct view *view)
{
	int64_t strides[MAX_DIMS], next = 1;
	enum status status;

	for (size_t i = view->dims; i--;) {
		strides[i] = next;
		next *= view->dim[i];
	}
	paddle->set_strides(out, (int64_t)view->dims, strides, &status);
}

static void contiguous(const struct device_context *context, const struct tensor *in,
		       struct tensor *out)
{
	enum status status = STATUS_SUCCESS;
	RUN run = { .kernel = "contiguous" };
	struct view view;
	void *dst;

	view_read(in, &view);
	if (view.dims <= MAX_DIMS)
		view_pack(out, &view);
	dst = paddle->allocate(context, out, 0, paddle->type(in, &status), &status);
	if (!view.count || !run_begin(&run, context, dst))
		return;
	run.err = pack(run.device, run.stream, dst, paddle->data(in, &status), &view);
	plugin_trace("accel:%d contiguous(%p, %zu elements of %zu bytes) = %d", run.device->id, dst,
		     view.count, view.element_size, run.err);
}

static void contiguous_context(struct kernel_context *context)
{
	contiguous(paddle->device_context(context), paddle->input(context, 0),
		   paddle->output(context, 0));
}

/* ---- Sparse gradients ---- */

/*
 * SGD and Adam with the gradient of an Embedding(sparse=True). Paddle's kernels for the CPU write the rows of
 * the gradient only, and Paddle gives them a result that has no values yet, so the rest of the parameter would
 * be lost. A kernel here cannot read such a gradient: Paddle has no C functions for it. The parameter is left
 * as it is, and the next call of the device fails. The arguments behind the parameter are not read.
 */
static void refuse_sparse(const struct device_context *context, const struct tensor *parameter)
{
	enum status status = STATUS_SUCCESS;
	RUN run = { .kernel = "sparse gradient" };

	if (run_begin(&run, context, paddle->data(parameter, &status)))
		run.err = plugin_fail(-EINVAL, "SGD and Adam cannot take the gradient of an "
				      "Embedding(sparse=True): use sparse=False, or Momentum");
}

static void refuse_sparse_context(struct kernel_context *context)
{
	refuse_sparse(paddle->device_context(context), paddle->input(context, 0));
}

/* ---- Registration ---- */

static const enum argument of_full[] = { ARGUMENT_INT_ARRAY, ARGUMENT_SCALAR, ARGUMENT_TYPE };
static const enum argument of_kernels[] = { ARGUMENT_CONTEXT, ARGUMENT_TENSOR, ARGUMENT_TENSOR };

static const struct kernel_arguments full_takes = {
	.in_count = 1, .in = of_kernels, .attribute_count = 3, .attributes = of_full,
	.out_count = 1, .out = of_kernels + 1,
};

static const struct kernel_arguments contiguous_takes = {
	.in_count = 2, .in = of_kernels, .attribute_count = 0, .attributes = of_full,
	.out_count = 1, .out = of_kernels + 1,
};

static const struct kernel_arguments add_takes = {
	.in_count = 3, .in = of_kernels, .attribute_count = 0, .attributes = of_full,
	.out_count = 1, .out = of_kernels + 1,
};

static const enum argument of_optimizers[] = {
	ARGUMENT_CONTEXT, ARGUMENT_TENSOR, ARGUMENT_TENSOR, ARGUMENT_TENSOR,
	ARGUMENT_TENSOR,  ARGUMENT_TENSOR, ARGUMENT_TENSOR, ARGUMENT_TENSOR,
	ARGUMENT_TENSOR,  ARGUMENT_TENSOR, ARGUMENT_TENSOR,
};

static const enum argument of_adam[] = {
	ARGUMENT_SCALAR, ARGUMENT_SCALAR, ARGUMENT_SCALAR, ARGUMENT_BOOL,
	ARGUMENT_INT64,	 ARGUMENT_BOOL,	  ARGUMENT_BOOL,   ARGUMENT_BOOL,
};

/* The sparse gradient and tensors that may be absent are declared as tensors, too: none of them is read. */
static const struct kernel_arguments sgd_takes = {
	.in_count = 5, .in = of_optimizers, .attribute_count = 1, .attributes = of_adam + 3,
	.out_count = 2, .out = of_optimizers + 1,
};

static const struct kernel_arguments adam_takes = {
	.in_count = 11, .in = of_optimizers, .attribute_count = 8, .attributes = of_adam,
	.out_count = 7, .out = of_optimizers + 1,
};

/* Nothing in or out has another type than the kernel. */
static void define(const void *key, void *kernel)
{
	(void)key;
	(void)kernel;
}

static void define_kernel(const char *name, const char *device_type, enum type type,
			  const struct kernel_arguments *takes,
			  void (*from_context)(struct kernel_context *), void *from_arguments)
{
	paddle->register_kernel(name, device_type, type, ANY_LAYOUT, takes->in_count, takes->in,
				takes->attribute_count, takes->attributes, takes->out_count,
				takes->out, define, from_context, from_arguments);
}

/* Paddle has no tensors of these; up to 3.0 a kernel for one of them makes its import fail. */
static bool is_used(enum type type)
{
	return type != TYPE_UINT16 && type != TYPE_UINT32 && type != TYPE_UINT64;
}

/* The real part is all that can be had of a complex scalar. */
static bool can_fill(enum type type)
{
	return type != TYPE_COMPLEX64 && type != TYPE_COMPLEX128;
}

/* The optimizers of Paddle's CPU have these types. */
static bool is_refused(enum type type)
{
	return type == TYPE_FLOAT32 || type == TYPE_FLOAT64 || type == TYPE_BFLOAT16;
}

void kernels_register(const char *device_type)
{
	paddle = paddle_api_find();
	if (!paddle) {
		plugin_say("this Paddle has no C functions for kernels: clear_grad(), views that are "
			   "not contiguous and accumulated gradients will not work");
		return;
	}
	for (enum type type = TYPE_BOOL; type < TYPES; type++) {
		if (!is_used(type))
			continue;
		if (can_fill(type))
			define_kernel("full", device_type, type, &full_takes, full_context,
				      (void *)full_arguments);
		if (can_add(type))
			define_kernel("add", device_type, type, &add_takes, add_context,
				      (void *)add_arguments);
		define_kernel("contiguous", device_type, type, &contiguous_takes,
			      contiguous_context, (void *)contiguous);
		if (!is_refused(type))
			continue;
		define_kernel("sgd_dense_param_sparse_grad", device_type, type, &sgd_takes,
			      refuse_sparse_context, (void *)refuse_sparse);
		define_kernel("adam_dense_param_sparse_grad", device_type, type, &adam_takes,
			      refuse_sparse_context, (void *)refuse_sparse);
	}
}
