// SPDX-License-Identifier: MIT
/*
 * DLPack: tensors over memory that the processor can access, and tensors of others in host memory.
 */

#include "device.h"
#include "dlpack.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* The structs of DLPack 1.0, whose first form has no version and no flags. */
enum dl_device_type { DL_CPU = 1, DL_CUDA_HOST = 3, DL_ROCM_HOST = 11, DL_EXTENSION = 12 };
enum dl_type_code { DL_INT, DL_UINT, DL_FLOAT, DL_BOOL = 6 };

struct dl_device {
	int32_t type;
	int32_t id;
};

struct dl_tensor {
	void *data;
	struct dl_device device;
	int32_t ndim;
	struct dl_type {
		uint8_t code;
		uint8_t bits;
		uint16_t lanes;
	} dtype;
	int64_t *shape;
	int64_t *strides;
	uint64_t byte_offset;
};

struct dl_managed {
	struct dl_tensor tensor;
	void *context;
	void (*deleter)(struct dl_managed *managed);
};

struct dl_versioned {
	struct {
		uint32_t major;
		uint32_t minor;
	} version;
	void *context;
	void (*deleter)(struct dl_versioned *managed);
	uint64_t flags;
	struct dl_tensor tensor;
};

enum { DL_READ_ONLY = 1, DL_IS_COPY = 2, DL_PADDED = 4 }; /* flags */

/* One tensor in either form, and the numbers that it points to. */
struct tensor {
	union {
		struct dl_managed old;
		struct dl_versioned new;
	} dl;
	struct memory *memory; /* counted */
	int64_t shape;
	int64_t stride;
};

/* ---- tensors over Memory ---- */

static void tensor_free(struct tensor *tensor)
{
	tensor->memory->root->exports--;
	Py_DECREF((PyObject *)tensor->memory);
	free(tensor);
}

/*
 * Of consumers, who need not have the GIL. Not for who is known to have it: in an interpreter that
 * is not the first, CPython 3.11 would wait here for the thread itself.
 */
static void tensor_delete(struct tensor *tensor)
{
	PyGILState_STATE state;

	if (!Py_IsInitialized())
		return;
	state = PyGILState_Ensure();
	tensor_free(tensor);
	PyGILState_Release(state);
}

static void delete_old(struct dl_managed *managed)
{
	tensor_delete(managed->context);
}

static void delete_versioned(struct dl_versioned *managed)
{
	tensor_delete(managed->context);
}

/* A consumer that has taken the tensor renames the capsule. */
#define OLD_NAME "dltensor"
#define NEW_NAME "dltensor_versioned"
#define USED_NAME "used_dltensor"

/* A capsule whose tensor no consumer has taken: one that does renames it. */
static void capsule_free(PyObject *capsule)
{
	struct tensor *tensor = NULL;

	if (PyCapsule_IsValid(capsule, OLD_NAME))
		tensor = PyCapsule_GetPointer(capsule, OLD_NAME);
	else if (PyCapsule_IsValid(capsule, NEW_NAME))
		tensor = PyCapsule_GetPointer(capsule, NEW_NAME);
	if (tensor)
		tensor_free(tensor);
}

static void describe(struct dl_tensor *dl, struct tensor *tensor)
{
	tensor->shape = (int64_t)tensor->memory->size;
	tensor->stride = 1;
	dl->data = tensor->memory->ptr;
	dl->device.type = DL_CPU;
	dl->ndim = 1;
	dl->dtype.code = DL_UINT;
	dl->dtype.bits = 8;
	dl->dtype.lanes = 1;
	dl->shape = &tensor->shape;
	dl->strides = &tensor->stride;
}

static PyObject *make_tensor(struct memory *memory, bool versioned)
{
	struct tensor *tensor;
	PyObject *capsule;

	if (!memory_view_begin(memory))
		return NULL;
	tensor = calloc(1, sizeof(*tensor));
	if (!tensor) {
		memory->root->exports--;
		return PyErr_NoMemory();
	}
	tensor->memory = (struct memory *)Py_NewRef((PyObject *)memory);
	if (versioned) {
		tensor->dl.new.version.major = 1;
		tensor->dl.new.context = tensor;
		tensor->dl.new.deleter = delete_versioned;
		tensor->dl.new.flags = memory->root->read_only ? DL_READ_ONLY : 0;
		describe(&tensor->dl.new.tensor, tensor);
	} else {
		tensor->dl.old.context = tensor;
		tensor->dl.old.deleter = delete_old;
		describe(&tensor->dl.old.tensor, tensor);
	}
	capsule = PyCapsule_New(tensor, versioned ? NEW_NAME : OLD_NAME, capsule_free);
	if (!capsule)
		tensor_free(tensor);
	return capsule;
}

/* What a consumer asks for beyond that. */
static bool can_give(PyObject *stream, PyObject *dl_device, PyObject *copy)
{
	int wanted = PyObject_IsTrue(copy);
	long type, id;

	if (wanted < 0)
		return false;
	if (stream != Py_None) {
		PyErr_SetString(PyExc_BufferError,
				"stream has to be None: the processor reads this memory");
		return false;
	}
	if (wanted) {
		PyErr_SetString(PyExc_BufferError,
				"a tensor over this memory is no copy: make one of tobytes()");
		return false;
	}
	if (dl_device == Py_None)
		return true;
	if (!PyArg_ParseTuple(dl_device, "ll;dl_device is (type, id)", &type, &id))
		return false;
	if (type != DL_CPU || id) {
		PyErr_Format(PyExc_BufferError, "dl_device is (%ld, %ld): there is (1, 0) only",
			     type, id);
		return false;
	}
	return true;
}

PyObject *memory_dlpack(PyObject *self, PyObject *args, PyObject *words)
{
	static char *names[] = { "stream", "max_version", "dl_device", "copy", NULL };
	PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
	struct memory *memory = (struct memory *)self;
	long major = 0, minor;

	if (!PyArg_ParseTupleAndKeywords(args, words, "|$OOOO:__dlpack__", names, &stream, &version,
					 &device, &copy))
		return NULL;
	if (version != Py_None && (!PyTuple_Check(version) ||
				   !PyArg_ParseTuple(version, "ll;max_version is (major, minor)",
						     &major, &minor))) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_TypeError, "max_version has to be a tuple or None");
		return NULL;
	}
	if (device != Py_None && !PyTuple_Check(device)) {
		PyErr_SetString(PyExc_TypeError, "dl_device has to be a tuple or None");
		return NULL;
	}
	if (!can_give(stream, device, copy))
		return NULL;
	if (major < 1 && memory->root->read_only) {
		PyErr_SetString(PyExc_BufferError,
				"the memory is read-only, which DLPack says from 1.0 on: ask with "
				"max_version=(1, 0)");
		return NULL;
	}
	return make_tensor(memory, major >= 1);
}

PyObject *memory_dlpack_device(PyObject *self, PyObject *unused)
{
	const struct memory *root = ((struct memory *)self)->root;

	(void)unused;
	if (root->accessible)
		return Py_BuildValue("(ii)", DL_CPU, 0);
	return Py_BuildValue("(ii)", DL_EXTENSION, root->child.device->index);
}

/* ---- tensors of others ---- */

static PyTypeObject *tensor_type;

/*
 * A tensor with the buffer protocol. The capsule is renamed while this object has the tensor, and gets its
 * name back at the end, so that its own destructor frees the tensor. The garbage collector never tracks
 * the object, since it cannot see what a capsule holds.
 */
struct import {
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
static void import_dealloc(PyObject *self)
{
	struct import *import = (struct import *)self;
	PyObject *kind, *value, *trace;

	PyErr_Fetch(&kind, &value, &trace);
	if (import->name)
		PyCapsule_SetName(import->capsule, import->name);
	Py_XDECREF(import->capsule);
	PyErr_Restore(kind, value, trace);
	PyMem_Free(import->shape);
	object_free(self, NULL);
}

static int import_traverse(PyObject *self, visitproc visit, void *arg)
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

	for (size_t i = 0; i < Py_ARRAY_LENGTH(formats); i++)
		if (!memcmp(&formats[i].type, &type, sizeof(type)))
			return formats[i].format;
	return NULL;
}

/* Why a buffer over the tensor is not what `flags` ask for, or NULL. */
static const char *import_lacks(const struct import *import, const Py_buffer *view, int flags)
{
	bool is_c = PyBuffer_IsContiguous(view, 'C'), is_f = PyBuffer_IsContiguous(view, 'F');

	if (flags & PyBUF_WRITABLE && import->cannot_write)
		return import->cannot_write;
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

static int import_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
	const struct import *import = (const struct import *)self;
	const struct dl_tensor *dl = import->dl;
	const char *lacks;

	*view = (Py_buffer) {
		.buf = (char *)dl->data + dl->byte_offset, .len = import->size,
		.readonly = !!import->cannot_write, .itemsize = import->itemsize,
		.ndim = dl->ndim, .format = (char *)type_format(dl->dtype),
		.shape = dl->ndim ? import->shape : NULL,
		.strides = dl->ndim ? import->strides : NULL,
	};
	lacks = import_lacks(import, view, flags);
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

static bool take_versioned(struct import *import, const struct dl_versioned *new)
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
		import->cannot_write = "the tensor is read-only";
	else if (new->flags & DL_IS_COPY)
		import->cannot_write = "the tensor is a copy of its object's data";
	import->dl = &new->tensor;
	return true;
}

/* From here on no other consumer takes it. */
static bool take_tensor(struct import *import)
{
	const struct dl_managed *old;

	import->name = PyCapsule_IsValid(import->capsule, OLD_NAME) ? OLD_NAME :
		       PyCapsule_IsValid(import->capsule, NEW_NAME) ? NEW_NAME : NULL;
	if (!import->name) {
		PyErr_SetString(PyExc_TypeError, "__dlpack__() has returned no unused capsule of DLPack");
		return false;
	}
	old = PyCapsule_GetPointer(import->capsule, import->name);
	import->dl = &old->tensor;
	PyCapsule_SetName(import->capsule, USED_NAME);
	return !strcmp(import->name, OLD_NAME) || take_versioned(import, (const void *)old);
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
 * Strides of DLPack count elements; without them the tensor is C-contiguous. False if a number is negative,
 * or does not fit: numbers of elements, 0 or not, have to fit for the strides.
 */
static bool import_numbers(struct import *import)
{
	const struct dl_tensor *dl = import->dl;
	Py_ssize_t stride = import->itemsize;

	for (int i = dl->ndim - 1; i >= 0; i--) {
		import->strides[i] = stride;
		if (dl->shape[i] < 0 ||
		    __builtin_add_overflow(dl->shape[i], 0, &import->shape[i]) ||
		    __builtin_mul_overflow(stride, dl->shape[i], &stride) ||
		    (dl->strides && __builtin_mul_overflow(dl->strides[i], import->itemsize,
							   &import->strides[i])))
			return false;
	}
	import->size = stride;
	return true;
}

static bool import_layout(struct import *import)
{
	const struct dl_tensor *dl = import->dl;

	import->itemsize = dl->dtype.bits * dl->dtype.lanes / 8;
	import->shape = PyMem_Calloc(2 * (size_t)dl->ndim + 1, sizeof(*import->shape));
	if (!import->shape) {
		PyErr_NoMemory();
		return false;
	}
	import->strides = import->shape + dl->ndim;
	if (import_numbers(import))
		return true;
	PyErr_SetString(PyExc_BufferError, "the shape or the strides of the tensor are no valid numbers");
	return false;
}

static PyObject *import_new(PyObject *method)
{
	struct import *import = (struct import *)object_new(tensor_type);

	if (!import)
		return NULL;
	import->capsule = ask_for_capsule(method);
	if (import->capsule && take_tensor(import) && can_import(import->dl) && import_layout(import))
		return (PyObject *)import;
	Py_DECREF((PyObject *)import);
	return NULL;
}

PyObject *tensor_buffer(PyObject *object)
{
	PyObject *method, *result;

	if (PyObject_CheckBuffer(object))
		return Py_NewRef(object);
	method = PyObject_GetAttrString(object, "__dlpack__");
	if (method) {
		result = import_new(method);
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
	{ Py_tp_dealloc, import_dealloc },
	{ Py_tp_traverse, import_traverse },
	{ Py_bf_getbuffer, import_get_buffer },
	{ 0, NULL },
};

static PyType_Spec tensor_spec = {
	.name = "accel._accel.Tensor",
	.basicsize = sizeof(struct import),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = tensor_slots,
};

int tensor_init(PyObject *module)
{
	tensor_type = type_add(module, &tensor_spec);
	return tensor_type ? 0 : -1;
}
