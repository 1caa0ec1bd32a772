// SPDX-License-Identifier: MIT
/* Tensors of others in host memory, which have DLPack only. */

#include "dlpack.h"
#include "tensor.h"

#include <string.h>

static PyTypeObject *tensor_type;

/*
 * A tensor with the buffer protocol. The capsule is renamed while this object has the tensor, and gets its
 * name back at the end, so that its own destructor frees the tensor. The garbage collector never tracks
 * the object, since it cannot see what a capsule holds.
 */
struct tensor {
	PyObject_HEAD
	PyObject *capsule; /* counted */
	const char *name; /* of the capsule */
	const struct dl_tensor *dl;
	const char *cannot_write; /* why; or NULL */
	Py_ssize_t size; /* in bytes, as the next ones */
	Py_ssize_t itemsize;
	Py_ssize_t *shape;
	Py_ssize_t *strides; /* in the same allocation */
};

/* The destructor is the producer's, and may run in the middle of an exception of ours. */
static void tensor_dealloc(PyObject *self)
{
	struct tensor *tensor = (struct tensor *)self;
	PyObject *kind, *value, *trace;

	PyErr_Fetch(&kind, &value, &trace);
	if (tensor->name)
		PyCapsule_SetName(tensor->capsule, tensor->name);
	Py_XDECREF(tensor->capsule);
	PyErr_Restore(kind, value, trace);
	PyMem_Free(tensor->shape);
	object_free(self, NULL);
}

static int tensor_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT((PyObject *)Py_TYPE(self));
	return 0;
}

/* The element type as a format of Python's module struct, or NULL. */
static const char *type_format(struct dl_type type)
{
	static const struct {
		struct dl_type type;
		const char *format;
	} formats[] = {
		{ { DL_BOOL, 8, 1 }, "?" }, { { DL_INT, 8, 1 }, "b" }, { { DL_UINT, 8, 1 }, "B" },
		{ { DL_INT, 16, 1 }, "h" }, { { DL_UINT, 16, 1 }, "H" }, { { DL_FLOAT, 16, 1 }, "e" },
		{ { DL_INT, 32, 1 }, "i" }, { { DL_UINT, 32, 1 }, "I" }, { { DL_FLOAT, 32, 1 }, "f" },
		{ { DL_INT, 64, 1 }, "q" }, { { DL_UINT, 64, 1 }, "Q" }, { { DL_FLOAT, 64, 1 }, "d" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(formats); i++)
		if (!memcmp(&formats[i].type, &type, sizeof(type)))
			return formats[i].format;
	return NULL;
}

/* Why a buffer over the tensor is not what `flags` ask for, or NULL. */
static const char *tensor_lacks(const struct tensor *tensor, const Py_buffer *view, int flags)
{
	bool is_c = PyBuffer_IsContiguous(view, 'C'), is_f = PyBuffer_IsContiguous(view, 'F');

	if (flags & PyBUF_WRITABLE && tensor->cannot_write)
		return tensor->cannot_write;
	if (flags & PyBUF_FORMAT && !view->format)
		return "the element type of the tensor has no format in the module struct";
	if (((flags & PyBUF_STRIDES) != PyBUF_STRIDES ||
	     (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS) && !is_c)
		return "the tensor is not C-contiguous";
	if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !is_f)
		return "the tensor is not Fortran-contiguous";
	if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !is_c && !is_f)
		return "the tensor is not contiguous";
	return NULL;
}

static int tensor_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
	const struct tensor *tensor = (const struct tensor *)self;
	const struct dl_tensor *dl = tensor->dl;
	const char *lacks;

	*view = (Py_buffer) {
		.buf = (char *)dl->data + dl->byte_offset, .len = tensor->size,
		.readonly = !!tensor->cannot_write, .itemsize = tensor->itemsize,
		.ndim = dl->ndim, .format = (char *)type_format(dl->dtype),
		.shape = dl->ndim ? tensor->shape : NULL,
		.strides = dl->ndim ? tensor->strides : NULL,
	};
	lacks = tensor_lacks(tensor, view, flags);
	if (lacks) {
		PyErr_SetString(PyExc_BufferError, lacks);
		return -1;
	}
	if (!(flags & PyBUF_FORMAT))
		view->format = NULL;
	if (!(flags & PyBUF_ND)) {
		view->ndim = 1;
		view->shape = NULL;
	}
	if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES)
		view->strides = NULL;
	view->obj = Py_NewRef(self);
	return 0;
}

/* Producers before DLPack 1.0 do not know max_version. */
static PyObject *ask_for_capsule(PyObject *method)
{
	PyObject *none = PyTuple_New(0);
	PyObject *words = none ? Py_BuildValue("{s(ii)}", "max_version", 1, 0) : NULL;
	PyObject *capsule = words ? PyObject_Call(method, none, words) : NULL;

	if (!capsule && words && PyErr_ExceptionMatches(PyExc_TypeError)) {
		PyErr_Clear();
		capsule = PyObject_Call(method, none, NULL);
	}
	Py_XDECREF(words);
	Py_XDECREF(none);
	return capsule;
}

static bool take_versioned(struct tensor *tensor, const struct dl_versioned *new)
{
	/* Of a later major version nothing but the first three members is known. */
	if (new->version.major != 1) {
		PyErr_Format(PyExc_BufferError, "the tensor is of DLPack %u: 1 is known",
			     new->version.major);
		return false;
	}
	if (new->flags & DL_PADDED) {
		PyErr_SetString(PyExc_BufferError, "the elements of the tensor are padded");
		return false;
	}
	if (new->flags & DL_READ_ONLY)
		tensor->cannot_write = "the tensor is read-only";
	else if (new->flags & DL_IS_COPY)
		tensor->cannot_write = "the tensor is a copy of its object's data";
	tensor->dl = &new->tensor;
	return true;
}

/* From here on no other consumer takes it. */
static bool tensor_take(struct tensor *tensor)
{
	const struct dl_managed *old;
	void *managed;

	tensor->name = dlpack_name(tensor->capsule);
	if (!tensor->name) {
		PyErr_SetString(PyExc_TypeError, "__dlpack__() has returned no unused capsule of DLPack");
		return false;
	}
	managed = PyCapsule_GetPointer(tensor->capsule, tensor->name);
	PyCapsule_SetName(tensor->capsule, DL_USED);
	if (!strcmp(tensor->name, DL_NEW))
		return take_versioned(tensor, managed);
	old = managed;
	tensor->dl = &old->tensor;
	return true;
}

static bool can_import(const struct dl_tensor *dl)
{
	unsigned int bits = dl->dtype.bits * dl->dtype.lanes;

	if (dl->device.type != DL_CPU && dl->device.type != DL_CUDA_HOST &&
	    dl->device.type != DL_ROCM_HOST) {
		PyErr_Format(PyExc_BufferError,
			     "the tensor is on device (%d, %d) of DLPack: the processor has to be "
			     "able to access it",
			     dl->device.type, dl->device.id);
		return false;
	}
	if (dl->ndim < 0 || dl->ndim > PyBUF_MAX_NDIM || (dl->ndim && !dl->shape)) {
		PyErr_Format(PyExc_BufferError,
			     "the tensor has %d dimensions: it has to have 0 to %d, and a shape",
			     dl->ndim, PyBUF_MAX_NDIM);
		return false;
	}
	if (!bits || bits % 8) {
		PyErr_Format(PyExc_BufferError,
			     "an element of the tensor has %u bits: whole bytes can be copied", bits);
		return false;
	}
	return true;
}

/*
 * Strides of DLPack count elements; without them the tensor is C-contiguous. False if a dimension is
 * negative, or a number of bytes is too large.
 */
static bool tensor_numbers(struct tensor *tensor)
{
	const struct dl_tensor *dl = tensor->dl;
	Py_ssize_t stride = tensor->itemsize;

	for (int i = dl->ndim - 1; i >= 0; i--) {
		tensor->strides[i] = stride;
		if (dl->shape[i] < 0 ||
		    __builtin_add_overflow(dl->shape[i], 0, &tensor->shape[i]) ||
		    __builtin_mul_overflow(stride, dl->shape[i], &stride) ||
		    (dl->strides && __builtin_mul_overflow(dl->strides[i], tensor->itemsize,
							   &tensor->strides[i])))
			return false;
	}
	tensor->size = stride;
	return true;
}

static bool tensor_layout(struct tensor *tensor)
{
	const struct dl_tensor *dl = tensor->dl;

	tensor->itemsize = dl->dtype.bits * dl->dtype.lanes / 8;
	tensor->shape = PyMem_Calloc(2 * (size_t)dl->ndim + 1, sizeof(*tensor->shape));
	if (!tensor->shape) {
		PyErr_NoMemory();
		return false;
	}
	tensor->strides = tensor->shape + dl->ndim;
	if (tensor_numbers(tensor))
		return true;
	PyErr_SetString(PyExc_BufferError, "the shape or the strides of the tensor are no valid numbers");
	return false;
}

static PyObject *tensor_new(PyObject *method)
{
	struct tensor *tensor = (struct tensor *)object_new(tensor_type);

	if (!tensor)
		return NULL;
	tensor->capsule = ask_for_capsule(method);
	if (tensor->capsule && tensor_take(tensor) && can_import(tensor->dl) && tensor_layout(tensor))
		return (PyObject *)tensor;
	Py_DECREF((PyObject *)tensor);
	return NULL;
}

PyObject *tensor_buffer(PyObject *object)
{
	PyObject *method, *result;

	if (PyObject_CheckBuffer(object))
		return Py_NewRef(object);
	method = PyObject_GetAttrString(object, "__dlpack__");
	if (method) {
		result = tensor_new(method);
		Py_DECREF(method);
		return result;
	}
	if (!PyErr_ExceptionMatches(PyExc_AttributeError))
		return NULL;
	PyErr_Clear();
	return Py_NewRef(object);
}

int buffer_get(PyObject *object, Py_buffer *view, int flags)
{
	PyObject *buffer = tensor_buffer(object);
	int rc = buffer ? PyObject_GetBuffer(buffer, view, flags) : -1;

	Py_XDECREF(buffer);
	return rc;
}

static PyType_Slot tensor_slots[] = {
	{ Py_tp_doc, "A tensor of DLPack with the buffer protocol." },
	{ Py_tp_dealloc, tensor_dealloc },
	{ Py_tp_traverse, tensor_traverse },
	{ Py_bf_getbuffer, tensor_get_buffer },
	{ 0, NULL },
};

static PyType_Spec tensor_spec = {
	.name = "accel._accel.Tensor",
	.basicsize = sizeof(struct tensor),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = tensor_slots,
};

int tensor_init(PyObject *module)
{
	tensor_type = type_add(module, &tensor_spec);
	return tensor_type ? 0 : -1;
}
