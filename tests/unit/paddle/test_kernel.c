/* SPDX-License-Identifier: MIT */
/*
 * The kernels, with tensors that are the test's own: it has the functions by which Paddle's are read
 * and made, and gives itself for Paddle's library.
 */
#define _GNU_SOURCE
#include "paddle.h"

#include "../../../lib/paddle/paddle_api.h"

#include <dlfcn.h>

#define MAX_DIMS 16 /* of a view */
#define MAX_KERNELS 64

struct tensor {
	enum type type;
	size_t dims;
	int64_t dim[20], stride[20];
	char *data; /* with the offset */
};

struct scalar {
	double real;
	int64_t whole;
};

struct device_context {
	stream_t stream;
	bool exhausted;
};

struct kernel_context {
	struct device_context *device;
	struct tensor *in, *out;
	struct scalar *scalar;
	struct tensor *other;
};

static struct kernel {
	char name[32];
	enum type type;
	size_t in_count, attribute_count, out_count;
	enum argument in[11], attributes[8], out[7];
	void (*from_context)(struct kernel_context *context);
	void *from_arguments;
} kernels[MAX_KERNELS];
static size_t kernel_count;

/* Whether there is a library of Paddle, and whether it is complete. */
static const char *library_name;
static const char *missing;

/* The function that throws, or NULL. */
static const char *throws;

/* ---- What Paddle has ---- */

void *__real_dlopen(const char *name, int flags);
void *__real_dlsym(void *library, const char *name);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlsym(void *library, const char *name);

void *__wrap_dlopen(const char *name, int flags)
{
	if (!name || (strcmp(name, "libphi_core.so") && strcmp(name, "libpaddle.so")))
		return __real_dlopen(name, flags);
	ok(flags & RTLD_NOLOAD);
	return library_name && !strcmp(name, library_name) ? __real_dlopen(NULL, RTLD_LAZY) : NULL;
}

void *__wrap_dlsym(void *library, const char *name)
{
	return missing && !strcmp(name, missing) ? NULL : __real_dlsym(library, name);
}

/* Unwinds the stack as an exception does, which C cannot throw: up to the start of the thread. */
static void may_throw(const char *function)
{
	if (throws && !strcmp(throws, function))
		pthread_exit(NULL);
}

#define PADDLE_FUNCTION(type, name, ...) \
	type name(__VA_ARGS__); \
	type name(__VA_ARGS__)

PADDLE_FUNCTION(void, PD_RegisterPhiKernel, const char *name, const char *device_type,
		enum type type, int layout, size_t in_count, const enum argument *in,
		size_t attribute_count, const enum argument *attributes, size_t out_count,
		const enum argument *out, void (*define)(const void *key, void *kernel),
		void (*from_context)(struct kernel_context *context), void *from_arguments)
{
	struct kernel *kernel = &kernels[kernel_count++];

	ok(!strcmp(device_type, "accel") && layout == ANY_LAYOUT && define);
	ok(in_count <= 11 && attribute_count <= 8 && out_count <= 7);
	define(NULL, NULL);
	*kernel = (struct kernel){ .type = type,
				   .in_count = in_count,
				   .attribute_count = attribute_count,
				   .out_count = out_count,
				   .from_context = from_context,
				   .from_arguments = from_arguments };
	snprintf(kernel->name, sizeof(kernel->name), "%s", name);
	memcpy(kernel->in, in, in_count * sizeof(*in));
	memcpy(kernel->attributes, attributes, attribute_count * sizeof(*attributes));
	memcpy(kernel->out, out, out_count * sizeof(*out));
}

PADDLE_FUNCTION(struct device_context *, PD_KernelContextGetDeviceContext,
		struct kernel_context *context)
{
	return context->device;
}

PADDLE_FUNCTION(struct tensor *, PD_KernelContextInputAt, struct kernel_context *context,
		size_t index)
{
	ok(index < 2);
	return index ? context->other : context->in;
}

PADDLE_FUNCTION(struct tensor *, PD_KernelContextOutputAt, struct kernel_context *context,
		size_t index)
{
	ok(index == 0);
	return context->out;
}

PADDLE_FUNCTION(struct scalar *, PD_KernelContextScalarAttrAt, struct kernel_context *context,
		size_t index)
{
	ok(index == 1);
	return context->scalar;
}

PADDLE_FUNCTION(stream_t, PD_DeviceContextGetStream, const struct device_context *context,
		enum status *status)
{
	may_throw(__func__);
	*status = STATUS_SUCCESS;
	return context->stream;
}

static const size_t sizes[TYPES] = { 0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16 };

static size_t count_of(const struct tensor *tensor)
{
	size_t count = 1;

	for (size_t i = 0; i < tensor->dims; i++)
		count *= (size_t)tensor->dim[i];
	return count;
}

/* Of no elements it has no memory of the card. */
PADDLE_FUNCTION(void *, PD_DeviceContextAllocateTensor, const struct device_context *context,
		struct tensor *tensor, size_t size, enum type type, enum status *status)
{
	may_throw(__func__);
	(void)context;
	ok(size == 0 && type == tensor->type);
	*status = STATUS_SUCCESS;
	if (!tensor->data && count_of(tensor))
		tensor->data = memory_of(accel0, count_of(tensor) * sizes[type]);
	return tensor->data;
}

PADDLE_FUNCTION(void *, PD_TensorGetDataPointer, const struct tensor *tensor,
		enum status *status)
{
	may_throw(__func__);
	*status = STATUS_SUCCESS;
	return tensor->data;
}

PADDLE_FUNCTION(enum type, PD_TensorGetPDDataType, const struct tensor *tensor,
		enum status *status)
{
	*status = STATUS_SUCCESS;
	return tensor->type;
}

PADDLE_FUNCTION(int64_t, PD_TensorGetElementCount, const struct tensor *tensor,
		enum status *status)
{
	*status = STATUS_SUCCESS;
	return (int64_t)count_of(tensor);
}

PADDLE_FUNCTION(int64_t, PD_TensorGetNumDims, const struct tensor *tensor, enum status *status)
{
	*status = STATUS_SUCCESS;
	return (int64_t)tensor->dims;
}

PADDLE_FUNCTION(int64_t, PD_TensorGetDim, const struct tensor *tensor, size_t index,
		enum status *status)
{
	*status = STATUS_SUCCESS;
	return tensor->dim[index];
}

PADDLE_FUNCTION(int64_t, PD_TensorGetStride, const struct tensor *tensor, size_t index,
		enum status *status)
{
	*status = STATUS_SUCCESS;
	return tensor->stride[index];
}

PADDLE_FUNCTION(void, PD_TensorSetStrides, struct tensor *tensor, int64_t count,
		const int64_t *strides, enum status *status)
{
	*status = STATUS_SUCCESS;
	memcpy(tensor->stride, strides, (size_t)count * sizeof(*strides));
}

PADDLE_FUNCTION(double, PD_ScalarGetFloat64Data, struct scalar *scalar)
{
	return scalar->real;
}

PADDLE_FUNCTION(int64_t, PD_ScalarGetInt64Data, struct scalar *scalar)
{
	return scalar->whole;
}

/* ---- What tests need ---- */

static const struct kernel *kernel_of(const char *name, enum type type)
{
	for (size_t i = 0; i < kernel_count; i++)
		if (!strcmp(kernels[i].name, name) && kernels[i].type == type)
			return &kernels[i];
	return NULL;
}

static void begin_kernels(void)
{
	library_name = "libphi_core.so";
	kernel_count = 0;
	mock_add_sized(0, 1 << 20, 1 << 20);
	begin();
}

static struct tensor tensor_of(enum type type, size_t dims, const int64_t *dim)
{
	struct tensor tensor = { .type = type, .dims = dims };
	int64_t stride = 1;

	for (size_t i = dims; i--;) {
		tensor.dim[i] = dim[i];
		tensor.stride[i] = stride;
		stride *= dim[i];
	}
	return tensor;
}

static void read_back(void *to, const struct tensor *tensor)
{
	gives(paddle->memory_copy_d2h(accel0, to, tensor->data,
				      count_of(tensor) * sizes[tensor->type]),
	      STATUS_SUCCESS);
}

static void release(struct tensor *tensor)
{
	if (tensor->data)
		gives(paddle->device_memory_deallocate(accel0, tensor->data,
						       count_of(tensor) * sizes[tensor->type]),
		      STATUS_SUCCESS);
	tensor->data = NULL;
}

typedef void (*full_t)(struct device_context *context, void *shape, struct scalar *scalar, int type,
		       struct tensor *out);
typedef void (*contiguous_t)(struct device_context *context, const struct tensor *in,
			     struct tensor *out);

static void run_full(struct device_context *context, struct scalar *scalar, struct tensor *out)
{
	full_t full = (full_t)kernel_of("full", out->type)->from_arguments;

	full(context, NULL, scalar, 77, out);
}

static void run_contiguous(struct device_context *context, const struct tensor *in,
			   struct tensor *out)
{
	contiguous_t contiguous = (contiguous_t)kernel_of("contiguous", in->type)->from_arguments;

	contiguous(context, in, out);
}

/* ---- Registration ---- */

static void test_registered(void)
{
	const struct kernel *kernel;

	begin_kernels();
	ok(silent() && kernel_count == 10 + 12 + 6 + 6);
	for (enum type type = TYPE_BOOL; type < TYPES; type++) {
		bool unused = type == TYPE_UINT16 || type == TYPE_UINT32 || type == TYPE_UINT64;

		ok(!kernel_of("full", type) == (unused || type >= TYPE_COMPLEX64));
		ok(!kernel_of("contiguous", type) == unused);
		ok(!kernel_of("add", type) == (type < TYPE_FLOAT16));
	}
	kernel = kernel_of("full", TYPE_FLOAT32);
	ok(kernel->in_count == 1 && kernel->in[0] == 0);
	ok(kernel->attribute_count == 3 && kernel->attributes[0] == 11 &&
	   kernel->attributes[1] == 10 && kernel->attributes[2] == 12);
	ok(kernel->out_count == 1 && kernel->out[0] == 1);
	kernel = kernel_of("contiguous", TYPE_INT64);
	ok(kernel->in_count == 2 && kernel->in[0] == 0 && kernel->in[1] == 1);
	ok(kernel->attribute_count == 0 && kernel->out_count == 1 && kernel->out[0] == 1);
	kernel = kernel_of("add", TYPE_FLOAT16);
	ok(kernel->in_count == 3 && kernel->in[0] == 0 && kernel->in[1] == 1 && kernel->in[2] == 1);
	ok(kernel->attribute_count == 0 && kernel->out_count == 1 && kernel->out[0] == 1);
	kernel = kernel_of("sgd_dense_param_sparse_grad", TYPE_FLOAT64);
	ok(kernel->in_count == 5 && kernel->attribute_count == 1 && kernel->out_count == 2);
	ok(kernel->attributes[0] == 2);
	kernel = kernel_of("adam_dense_param_sparse_grad", TYPE_BFLOAT16);
	ok(kernel->in_count == 11 && kernel->attribute_count == 8 && kernel->out_count == 7);
	ok(kernel->attributes[2] == 10 && kernel->attributes[3] == 2 && kernel->attributes[4] == 8);
	end();
}

static void test_older_library(void)
{
	library_name = "libpaddle.so";
	kernel_count = 0;
	load_plugin();
	ok(kernel_count == 10 + 12 + 6 + 6);
}

static void test_without_library(void)
{
	library_name = NULL;
	kernel_count = 0;
	log_clear();
	load_plugin();
	ok(!kernel_count && said("no C functions for kernels"));
	library_name = "libphi_core.so";
	missing = "PD_TensorSetStrides";
	log_clear();
	load_plugin();
	ok(!kernel_count && said("no C functions for kernels"));
	missing = NULL;
}

/* ---- full ---- */

struct filled {
	enum type type;
	struct scalar scalar;
	uint64_t bits;
};

static void test_full_of_each_type(void)
{
	static const struct filled all[] = {
		{ TYPE_BOOL, { 0.25, 0 }, 1 },
		{ TYPE_BOOL, { 0, 0 }, 0 },
		{ TYPE_UINT8, { 200, 200 }, 200 },
		{ TYPE_INT8, { -3, -3 }, 0xfd },
		{ TYPE_INT16, { -2, -2 }, 0xfffe },
		{ TYPE_INT32, { -5, -5 }, 0xfffffffb },
		{ TYPE_INT64, { 9007199254740993.0, 9007199254740993 }, 9007199254740993 },
		{ TYPE_FLOAT32, { 1.5, 1 }, 0x3fc00000 },
		{ TYPE_FLOAT64, { -1.5, -1 }, 0xbff8000000000000 },
		{ TYPE_BFLOAT16, { 1.5, 1 }, 0x3fc0 },
		{ TYPE_FLOAT16, { 1.5, 1 }, 0x3e00 },
	};
	struct device_context context = { 0 };

	begin_kernels();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const int64_t dim[] = { 3, 5 };
		struct tensor out = tensor_of(all[i].type, 2, dim);
		struct scalar scalar = all[i].scalar;
		char got[15 * 8];

		run_full(&context, &scalar, &out);
		read_back(got, &out);
		for (size_t j = 0; j < 15; j++)
			ok(!memcmp(got + j * sizes[all[i].type], &all[i].bits,
				   sizes[all[i].type]));
		release(&out);
	}
	ok(silent());
	end();
}

/* Round to nearest, ties to even; what is too large; what has no full precision any more. */
static void test_full_of_short_floats(void)
{
	static const struct filled all[] = {
		{ TYPE_FLOAT16, { 65504, 0 }, 0x7bff },
		{ TYPE_FLOAT16, { 65519, 0 }, 0x7bff },
		{ TYPE_FLOAT16, { 65520, 0 }, 0x7c00 },
		{ TYPE_FLOAT16, { -1e9, 0 }, 0xfc00 },
		{ TYPE_FLOAT16, { 1.0 + 1 / 2048.0, 0 }, 0x3c00 },
		{ TYPE_FLOAT16, { 1.0 + 3 / 2048.0, 0 }, 0x3c02 },
		{ TYPE_FLOAT16, { 0x1p-14, 0 }, 0x0400 },
		{ TYPE_FLOAT16, { -0x1p-24, 0 }, 0x8001 },
		{ TYPE_FLOAT16, { 0x1p-25, 0 }, 0x0000 },
		{ TYPE_FLOAT16, { 0x3p-25, 0 }, 0x0002 },
		{ TYPE_FLOAT16, { -0.0, 0 }, 0x8000 },
		{ TYPE_FLOAT16, { __builtin_inf(), 0 }, 0x7c00 },
		{ TYPE_FLOAT16, { __builtin_nan(""), 0 }, 0x7e00 },
		{ TYPE_BFLOAT16, { 1.0 + 1 / 256.0, 0 }, 0x3f80 },
		{ TYPE_BFLOAT16, { 1.0 + 3 / 256.0, 0 }, 0x3f82 },
		{ TYPE_BFLOAT16, { -3.4e38, 0 }, 0xff80 },
		{ TYPE_BFLOAT16, { __builtin_nan(""), 0 }, 0x7fc0 },
	};
	struct device_context context = { 0 };

	begin_kernels();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const int64_t dim[] = { 1 };
		struct tensor out = tensor_of(all[i].type, 1, dim);
		struct scalar scalar = all[i].scalar;
		uint16_t got = 0;

		run_full(&context, &scalar, &out);
		read_back(&got, &out);
		if (got != all[i].bits)
			printf("# %a is %#x\n", scalar.real, got);
		ok(got == all[i].bits);
		release(&out);
	}
	end();
}

/* One operation of the device, whatever the length. */
static void test_full_of_many(void)
{
	const int64_t dims[] = { 1, 511, 512, 513, 1025, 5000, 65537 };
	struct scalar scalar = { 0, 0x0123456789abcdef };
	struct device_context context = { 0 };
	static int64_t got[65537];

	begin_kernels();
	for (size_t i = 0; i < sizeof(dims) / sizeof(dims[0]); i++) {
		struct tensor out = tensor_of(TYPE_INT64, 1, &dims[i]);
		unsigned int fills = mock_calls(PACCEL_NR_FILL), copies = mock_calls(PACCEL_NR_COPY);
		int64_t same = 0;

		run_full(&context, &scalar, &out);
		ok(mock_calls(PACCEL_NR_FILL) == fills + 1 && mock_calls(PACCEL_NR_COPY) == copies);
		read_back(got, &out);
		while (same < dims[i] && got[same] == scalar.whole)
			same++;
		ok(same == dims[i]);
		release(&out);
	}
	end();
}

/* Zeros, as for clear_grad(), and all that is one byte over and over: the card fills by itself. */
static void test_full_of_one_byte(void)
{
	const int64_t dim[] = { 5000 };
	struct tensor out = tensor_of(TYPE_FLOAT32, 1, dim);
	struct device_context context = { 0 };
	struct scalar scalar = { 0, 0 };
	static float got[5000];

	begin_kernels();
	memset(got, 1, sizeof(got));
	run_full(&context, &scalar, &out);
	ok(mock_calls(PACCEL_NR_FILL) == 1 && !mock_calls(PACCEL_NR_COPY));
	read_back(got, &out);
	for (size_t i = 0; i < 5000; i++)
		ok(got[i] == 0);
	end();
}

/* ---- contiguous ---- */

static int64_t numbers[24];

/* 0 to 23 in two by three by four. */
static struct tensor cube(void)
{
	const int64_t dim[] = { 2, 3, 4 };
	struct tensor tensor = tensor_of(TYPE_INT64, 3, dim);

	for (int i = 0; i < 24; i++)
		numbers[i] = i;
	tensor.data = memory_of(accel0, sizeof(numbers));
	gives(paddle->memory_copy_h2d(accel0, tensor.data, numbers, sizeof(numbers)),
	      STATUS_SUCCESS);
	return tensor;
}

/* The elements of a view, one by one. */
static size_t walk(const struct tensor *view, int64_t first, size_t dim, int64_t *out)
{
	size_t count = 0;

	if (dim == view->dims) {
		*out = numbers[first];
		return 1;
	}
	for (int64_t i = 0; i < view->dim[dim]; i++)
		count += walk(view, first + i * view->stride[dim], dim + 1, out + count);
	return count;
}

static void packs(struct device_context *context, const struct tensor *view, int64_t first)
{
	struct tensor in = *view, out = *view;
	int64_t wanted[24], got[24];
	size_t count = walk(view, first, 0, wanted);

	in.data += first * 8;
	out.data = NULL;
	run_contiguous(context, &in, &out);
	gives(paddle->synchronize_stream(accel0, context->stream), STATUS_SUCCESS);
	read_back(got, &out);
	ok(!memcmp(got, wanted, count * 8));
	for (size_t i = out.dims, next = 1; i--; next *= (size_t)out.dim[i])
		ok(out.stride[i] == (int64_t)next);
	release(&out);
}

static struct tensor view_of(const struct tensor *whole, size_t dims, const int64_t *dim,
			     const int64_t *stride)
{
	struct tensor view = *whole;

	view.dims = dims;
	memcpy(view.dim, dim, dims * sizeof(*dim));
	memcpy(view.stride, stride, dims * sizeof(*stride));
	return view;
}

#define VIEW(whole, count, ...) view_of(whole, count, __VA_ARGS__)
#define THREE(a, b, c) ((const int64_t[]){ a, b, c })

static void test_contiguous(void)
{
	struct device_context context = { 0 };
	struct tensor whole, view;

	begin_kernels();
	whole = cube();
	context.stream = stream_of(accel0);
	packs(&context, &whole, 0);
	view = VIEW(&whole, 3, THREE(4, 3, 2), THREE(1, 4, 12)); /* transposed */
	packs(&context, &view, 0);
	view = VIEW(&whole, 3, THREE(2, 4, 3), THREE(12, 1, 4));
	packs(&context, &view, 0);
	view = VIEW(&whole, 3, THREE(2, 2, 2), THREE(12, 4, 2)); /* a slice with steps */
	packs(&context, &view, 5);
	view = VIEW(&whole, 3, THREE(2, 3, 1), THREE(12, 4, 1)); /* one column */
	packs(&context, &view, 3);
	view = VIEW(&whole, 3, THREE(2, 3, 4), THREE(0, 4, 0)); /* expanded */
	packs(&context, &view, 1);
	view = VIEW(&whole, 3, THREE(2, 3, 4), THREE(-12, -4, -1)); /* from the end */
	packs(&context, &view, 23);
	view = VIEW(&whole, 3, THREE(2, 3, 4), THREE(12, -4, 1));
	packs(&context, &view, 8);
	view = VIEW(&whole, 1, THREE(3, 0, 0), THREE(7, 0, 0));
	packs(&context, &view, 2);
	view = VIEW(&whole, 0, THREE(0, 0, 0), THREE(0, 0, 0)); /* one number */
	packs(&context, &view, 11);
	ok(silent());
	end();
}

/* What lies in one piece does not come to the host. */
static void test_contiguous_of_one_piece(void)
{
	struct device_context context = { 0 };
	struct accel_memory_stats stats;
	struct tensor whole, view;
	struct device *device;

	begin_kernels();
	whole = cube();
	view = VIEW(&whole, 2, THREE(2, 4, 0), THREE(4, 1, 0));
	view.data += 12 * 8;
	whole.data = NULL;
	whole.dims = 2;
	whole.dim[0] = 2;
	whole.dim[1] = 4;
	run_contiguous(&context, &view, &whole);
	device = plugin_enter("test", accel0);
	accel_memory_stats_full(device->dev, &stats);
	plugin_leave();
	ok(stats.bytes_d2d == 64 && !stats.bytes_d2h);
	end();
}

static void test_nothing(void)
{
	const int64_t dim[] = { 4, 0, 3 };
	struct tensor in = tensor_of(TYPE_FLOAT32, 3, dim), out = in;
	struct device_context context = { 0 };
	struct scalar scalar = { 1, 1 };

	begin_kernels();
	run_full(&context, &scalar, &out);
	run_contiguous(&context, &in, &out);
	ok(silent() && !mock_calls(PACCEL_NR_COPY));
	end();
}

static void test_from_context(void)
{
	const int64_t dim[] = { 4 }, stride[] = { 6 };
	struct tensor whole, view, out = tensor_of(TYPE_INT64, 1, dim);
	struct device_context device = { 0 };
	struct scalar scalar = { 0, 77 };
	struct kernel_context context = { &device, NULL, &out, &scalar, NULL };
	int64_t got[4];

	begin_kernels();
	kernel_of("full", TYPE_INT64)->from_context(&context);
	read_back(got, &out);
	ok(got[0] == 77 && got[3] == 77);
	whole = cube();
	view = VIEW(&whole, 1, dim, stride);
	context.in = &view;
	kernel_of("contiguous", TYPE_INT64)->from_context(&context);
	read_back(got, &out);
	ok(got[0] == 0 && got[1] == 6 && got[3] == 18);
	end();
}

/* ---- add ---- */

typedef void (*add_t)(struct device_context *context, const struct tensor *x,
		      const struct tensor *y, struct tensor *out);

static void run_add(const struct tensor *x, const struct tensor *y, struct tensor *out)
{
	struct device_context context = { 0 };
	add_t add = (add_t)kernel_of("add", x->type)->from_arguments;

	add(&context, x, y, out);
}

static void write_to(struct tensor *tensor, const void *from)
{
	size_t size = count_of(tensor) * sizes[tensor->type];

	tensor->data = memory_of(accel0, size);
	gives(paddle->memory_copy_h2d(accel0, tensor->data, from, size), STATUS_SUCCESS);
}

struct added {
	enum type type;
	uint64_t x[2], y[2], sum[2];
};

#define TWO(a) { a, a }

static void test_add_of_each_type(void)
{
	static const struct added all[] = {
		{ TYPE_FLOAT16, TWO(0x3c00), TWO(0x3e00), TWO(0x4100) }, /* 1 + 1.5 */
		{ TYPE_FLOAT16, TWO(0x0001), TWO(0x0001), TWO(0x0002) }, /* of 2^-24 */
		{ TYPE_FLOAT16, TWO(0x8001), TWO(0xc000), TWO(0xc000) },
		{ TYPE_FLOAT16, TWO(0x7bff), TWO(0x7bff), TWO(0x7c00) },
		{ TYPE_FLOAT16, TWO(0x7c00), TWO(0xfc00), TWO(0x7e00) },
		{ TYPE_BFLOAT16, TWO(0x3f80), TWO(0xbfc0), TWO(0xbf00) }, /* 1 - 1.5 */
		{ TYPE_FLOAT32, TWO(0x3f800000), TWO(0x3fc00000), TWO(0x40200000) },
		{ TYPE_FLOAT64, TWO(0x3ff0000000000000), TWO(0xbff8000000000000),
		  TWO(0xbfe0000000000000) },
		{ TYPE_COMPLEX64, TWO(0x3f80000000000000), TWO(0x3fc000003f800000),
		  TWO(0x402000003f800000) }, /* i + (1 + 1.5 i) */
		{ TYPE_COMPLEX128, { 0, 0x3ff0000000000000 }, { 0xbff8000000000000, 0 },
		  { 0xbff8000000000000, 0x3ff0000000000000 } },
	};

	begin_kernels();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const size_t size = sizes[all[i].type];
		const int64_t dim[] = { 3, 5 };
		struct tensor x = tensor_of(all[i].type, 2, dim), y = x, out = x;
		char bytes[3][15 * 16];

		for (size_t j = 0; j < 15; j++) {
			memcpy(bytes[0] + j * size, all[i].x, size);
			memcpy(bytes[1] + j * size, all[i].y, size);
		}
		write_to(&x, bytes[0]);
		write_to(&y, bytes[1]);
		run_add(&x, &y, &out);
		read_back(bytes[2], &out);
		for (size_t j = 0; j < 15; j++)
			ok(!memcmp(bytes[2] + j * size, all[i].sum, size));
		release(&x);
		release(&y);
		release(&out);
	}
	ok(silent());
	end();
}

static struct tensor numbers_of(size_t dims, const int64_t *dim, double first)
{
	struct tensor tensor = tensor_of(TYPE_FLOAT64, dims, dim);
	double values[24];

	for (int i = 0; i < 24; i++)
		values[i] = first + i;
	write_to(&tensor, values);
	return tensor;
}

/* As a gradient is accumulated: the sum replaces the first operand. */
static void test_add_in_place(void)
{
	const int64_t dim[] = { 4, 6 };
	struct tensor x, y;
	double got[24];
	char *data;

	begin_kernels();
	x = numbers_of(2, dim, 0);
	y = numbers_of(2, dim, 100);
	data = x.data;
	run_add(&x, &y, &x);
	ok(x.data == data);
	read_back(got, &x);
	for (int i = 0; i < 24; i++)
		ok(got[i] == 100 + 2 * i);
	run_add(&x, &x, &x);
	read_back(got, &x);
	for (int i = 0; i < 24; i++)
		ok(got[i] == 200 + 4 * i);
	ok(silent());
	end();
}

/* Columns 1 and 3 of a matrix, transposed: the others keep what they have, and so do the strides. */
static void test_add_in_place_of_a_view(void)
{
	const int64_t dim[] = { 4, 6 }, small[] = { 2, 4 }, stride[] = { 2, 6 };
	struct tensor whole, view, y;
	double got[24];

	begin_kernels();
	whole = numbers_of(2, dim, 0);
	y = numbers_of(2, small, 100);
	view = view_of(&whole, 2, small, stride);
	view.data += sizeof(double);
	run_add(&view, &y, &view);
	ok(view.stride[0] == 2 && view.stride[1] == 6);
	read_back(got, &whole);
	for (int i = 0; i < 24; i++) {
		int row = i / 6, column = i % 6;
		bool in = column == 1 || column == 3;

		ok(got[i] == i + (in ? 100 + column / 2 * 4 + row : 0));
	}
	ok(silent());
	end();
}

static void test_add_broadcasts(void)
{
	const int64_t dim[] = { 2, 3, 4 }, row[] = { 4 }, column[] = { 3, 1 };
	struct tensor x, y, z, scalar, out;
	double got[24];

	begin_kernels();
	x = numbers_of(3, dim, 0);
	y = numbers_of(1, row, 100);
	z = numbers_of(2, column, 1000);
	scalar = numbers_of(0, dim, 7);
	out = tensor_of(TYPE_FLOAT64, 3, dim);
	out.stride[0] = 1; /* as of an operand that is transposed */
	run_add(&x, &y, &out);
	ok(out.stride[0] == 12);
	read_back(got, &out);
	for (int i = 0; i < 24; i++)
		ok(got[i] == i + 100 + i % 4);
	run_add(&z, &x, &out);
	read_back(got, &out);
	for (int i = 0; i < 24; i++)
		ok(got[i] == i + 1000 + i / 4 % 3);
	run_add(&scalar, &x, &out);
	read_back(got, &out);
	for (int i = 0; i < 24; i++)
		ok(got[i] == i + 7);
	out = tensor_of(TYPE_FLOAT64, 0, dim);
	run_add(&scalar, &scalar, &out);
	read_back(got, &out);
	ok(got[0] == 14 && silent());
	end();
}

static void test_add_that_fails(void)
{
	int64_t dim[MAX_DIMS] = { 1 };
	struct tensor x, out;

	begin_kernels();
	x = numbers_of(1, dim, 1);
	out = tensor_of(TYPE_FLOAT64, 1, dim);
	out.data = memory_of(accel0, 64);
	mock_fail(PACCEL_NR_COPY, 1, EIO);
	log_clear();
	run_add(&x, &x, &out);
	ok(said("add: "));
	gives(paddle->synchronize_stream(accel0, NULL), STATUS_INTERNAL);
	for (int i = 0; i < MAX_DIMS; i++)
		dim[i] = 1;
	out = tensor_of(TYPE_FLOAT64, MAX_DIMS, dim);
	log_clear();
	run_add(&x, &x, &out);
	ok(said("a sum of 16 dimensions"));
	gives(paddle->synchronize_stream(accel0, NULL), STATUS_ERROR);
	/* Of one element more, and of one dimension more. */
	for (int i = 1; i <= 2; i++) {
		const int64_t more[] = { 2, 1 };
		struct tensor y = numbers_of((size_t)i, more, 1);

		out = x;
		out.data = memory_of(accel0, 64);
		log_clear();
		run_add(&x, &y, &out);
		ok(said("does not fit that of the sum"));
		gives(paddle->synchronize_stream(accel0, NULL), STATUS_ERROR);
	}
	/* Paddle makes them the same type before it adds. */
	for (int i = 0; i < 2; i++) {
		struct tensor y = x;

		out = x;
		out.data = memory_of(accel0, 64);
		y.type = i ? TYPE_FLOAT16 : TYPE_COMPLEX64;
		log_clear();
		run_add(&x, &y, &out);
		ok(said("cannot be added"));
		gives(paddle->synchronize_stream(accel0, NULL), STATUS_ERROR);
	}
	dim[0] = 0;
	x = tensor_of(TYPE_FLOAT64, 1, dim);
	out = x;
	log_clear();
	run_add(&x, &x, &out);
	ok(silent());
	end();
}

/* ---- Sparse gradients ---- */

/* The parameter is left as it is, and the next call of the device fails. */
static void test_sparse_gradients(void)
{
	static const char *const names[] = { "sgd_dense_param_sparse_grad",
					     "adam_dense_param_sparse_grad" };
	const int64_t dim[] = { 4, 6 };
	struct device_context device = { 0 };
	struct kernel_context context = { .device = &device };
	struct tensor parameter, away = { 0 };
	double got[24];

	begin_kernels();
	parameter = numbers_of(2, dim, 0);
	for (int i = 0; i < 4; i++) {
		const struct kernel *kernel = kernel_of(names[i / 2], TYPE_FLOAT64);

		log_clear();
		context.in = &parameter;
		if (i % 2)
			kernel->from_context(&context);
		else
			((contiguous_t)kernel->from_arguments)(&device, &parameter, NULL);
		ok(said("use sparse=False"));
		gives(paddle->synchronize_stream(accel0, NULL), STATUS_ERROR);
		gives(paddle->synchronize_stream(accel0, NULL), STATUS_SUCCESS);
		read_back(got, &parameter);
		for (int j = 0; j < 24; j++)
			ok(got[j] == j);
	}
	context.in = &away;
	log_clear();
	kernel_of(names[0], TYPE_FLOAT64)->from_context(&context);
	ok(said("memory of none of the devices"));
	end();
}

/* ---- Order and failures ---- */

/* Behind what is still to be done with the memory: a copy that waits would overwrite it. */
static void test_order(void)
{
	struct scalar scalar = { 0, 42 }, zero = { 0, 0 };
	const int64_t dim[] = { 8 };
	struct tensor out = tensor_of(TYPE_INT64, 1, dim), other = out;
	struct device_context context = { 0 };
	int64_t old[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, got[8];

	begin_kernels();
	context.stream = stream_of(accel0);
	out.data = memory_of(accel0, 64);
	other.data = memory_of(accel0, 64);
	mock_hold(0);
	gives(paddle->async_memory_copy_h2d(accel0, context.stream, out.data, old, 64),
	      STATUS_SUCCESS);
	gives(paddle->async_memory_copy_h2d(accel0, context.stream, other.data, old, 64),
	      STATUS_SUCCESS);
	run_full(&context, &scalar, &out);
	run_full(&context, &zero, &other);
	mock_release(0);
	gives(paddle->synchronize_stream(accel0, context.stream), STATUS_SUCCESS);
	read_back(got, &out);
	for (int i = 0; i < 8; i++)
		ok(got[i] == 42);
	read_back(got, &other);
	for (int i = 0; i < 8; i++)
		ok(got[i] == 0);
	end();
}

/* A kernel returns nothing: the next call that can fail does. */
static void test_failure_is_told_later(void)
{
	struct device_context context = { 0 };
	struct scalar scalar = { 0, 42 };
	const int64_t dim[] = { 8 };
	struct tensor out = tensor_of(TYPE_INT64, 1, dim);
	int64_t got[8];

	begin_kernels();
	mock_fail(PACCEL_NR_FILL, 1, EIO);
	log_clear();
	run_full(&context, &scalar, &out);
	ok(said("full: "));
	refuses(paddle->memory_copy_d2h(accel0, got, out.data, 64), STATUS_INTERNAL,
		"work before it failed");
	gives(paddle->memory_copy_d2h(accel0, got, out.data, 64), STATUS_SUCCESS);
	mock_fail(PACCEL_NR_FILL, 1, EIO);
	run_full(&context, &scalar, &out);
	refuses(paddle->synchronize_stream(accel0, NULL), STATUS_INTERNAL, "work before it");
	gives(paddle->synchronize_stream(accel0, NULL), STATUS_SUCCESS);
	mock_fail(PACCEL_NR_FILL, 1, EIO);
	run_full(&context, &scalar, &out);
	refuses(paddle->synchronize_device(accel0), STATUS_INTERNAL, "work before it");
	mock_fail(PACCEL_NR_FILL, 1, EIO);
	run_full(&context, &scalar, &out);
	refuses(paddle->memory_copy_h2d(accel0, out.data, got, 64), STATUS_INTERNAL,
		"work before it");
	mock_fail(PACCEL_NR_FILL, 1, EIO);
	run_full(&context, &scalar, &out);
	refuses(paddle->async_memory_copy_h2d(accel0, NULL, out.data, got, 64), STATUS_INTERNAL,
		"work before it");
	end();
}

struct kernel_run {
	const struct kernel *kernel;
	struct kernel_context context;
};

static void *run_kernel(void *data)
{
	struct kernel_run *run = data;

	run->kernel->from_context(&run->context);
	return run;
}

/* finalize waits for a use of the device that an exception has left behind. */
static void test_exceptions(void)
{
	static const char *const functions[] = { "PD_DeviceContextAllocateTensor",
						 "PD_DeviceContextGetStream",
						 "PD_TensorGetDataPointer" };
	struct device_context device = { 0 };
	struct scalar scalar = { 0, 77 };
	struct tensor in, out;

	begin_kernels();
	in = cube();
	out = in;
	out.data = memory_of(accel0, sizeof(numbers));
	for (size_t i = 0; i < 2 * sizeof(functions) / sizeof(functions[0]); i++) {
		struct kernel_run run = { kernel_of(i & 1 ? "full" : "contiguous", TYPE_INT64),
					  { &device, &in, &out, &scalar, &in } };
		pthread_t thread;
		void *returned;

		throws = functions[i / 2];
		ok(!pthread_create(&thread, NULL, run_kernel, &run));
		pthread_join(thread, &returned);
		throws = NULL;
		/* full does not read an address. */
		ok(!returned == (i != 5));
	}
	end();
}

static void test_kernels_of_a_card_that_is_gone(void)
{
	const int64_t dim[] = { 3 }, stride[] = { 2 };
	struct device_context context = { 0 };
	struct tensor whole, view, out;
	char byte;

	begin_kernels();
	whole = cube();
	view = VIEW(&whole, 1, dim, stride);
	out = tensor_of(TYPE_INT64, 1, dim);
	out.data = memory_of(accel0, 24);
	mock_remove(0);
	log_clear();
	run_contiguous(&context, &view, &out);
	ok(said("contiguous: ") && said("removed"));
	refuses(paddle->memory_copy_d2h(accel0, &byte, out.data, 1), STATUS_INTERNAL, "removed");
	end();
}

static void test_bad_tensors(void)
{
	struct device_context context = { .stream = (stream_t)0x1234 };
	struct scalar scalar = { 0, 42 };
	const int64_t dim[] = { 8 };
	struct tensor out = tensor_of(TYPE_INT64, 1, dim), deep = out;
	int64_t mine[8] = { 0 };

	begin_kernels();
	out.data = (char *)mine;
	log_clear();
	run_full(&context, &scalar, &out);
	ok(said("memory of none of the devices") && !mine[0]);
	out.data = NULL;
	log_clear();
	run_full(&context, &scalar, &out);
	ok(said("stream is no stream (0x1234)"));
	gives(paddle->synchronize_stream(accel0, NULL), STATUS_ERROR);
	context.stream = NULL;
	deep.dims = 17;
	for (int i = 0; i < 17; i++)
		deep.dim[i] = deep.stride[i] = 1;
	deep.data = memory_of(accel0, 8);
	out.data = NULL;
	log_clear();
	run_contiguous(&context, &deep, &out);
	ok(said("a view of 17 dimensions"));
	gives(paddle->synchronize_stream(accel0, NULL), STATUS_ERROR);
	end();
}

int main(void)
{
	log_catch();
	RUN(test_registered);
	RUN(test_older_library);
	RUN(test_without_library);
	RUN(test_full_of_each_type);
	RUN(test_full_of_short_floats);
	RUN(test_full_of_many);
	RUN(test_full_of_one_byte);
	RUN(test_contiguous);
	RUN(test_contiguous_of_one_piece);
	RUN(test_nothing);
	RUN(test_from_context);
	RUN(test_add_of_each_type);
	RUN(test_add_in_place);
	RUN(test_add_in_place_of_a_view);
	RUN(test_add_broadcasts);
	RUN(test_add_that_fails);
	RUN(test_sparse_gradients);
	RUN(test_order);
	RUN(test_failure_is_told_later);
	RUN(test_exceptions);
	RUN(test_kernels_of_a_card_that_is_gone);
	RUN(test_bad_tensors);
	return tap_end();
}
