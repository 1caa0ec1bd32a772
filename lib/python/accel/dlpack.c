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

#define DL_READ_ONLY 1

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

#define OLD_NAME "dltensor"
#define NEW_NAME "dltensor_versioned"

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

/* A tensor with the buffer protocol. */
struct import {
	PyObject_HEAD
	PyObject *capsule; /* counted. The tensor stays in it, so its end frees the tensor */
	const struct dl_tensor *dl;
	bool read_only;
	Py_ssize_t itemsize;
	Py_ssize_t *shape;
	Py_ssize_t *strides; /* in the same allocation */
};

static void import_dealloc(PyObject *self)
{
	struct import *import = (struct import *)self;

	Py_XDECREF(import->capsule);
	PyMem_Free(import->shape);
	object_free(self, NULL);
}

static int import_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT((PyObject *)Py_TYPE(self));
	return 0;
}

/* Of the module struct; NULL if it has none for the type. */
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
	if (flags & PyBUF_WRITABLE && import->read_only)
		return "the tensor is read-only";
	if (flags & PyBUF_FORMAT && !view->format)
		return "the element type of the tensor has no format in the module struct";
	if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !PyBuffer_IsContiguous(view, 'C'))
		return "the tensor is not C-contiguous";
	return NULL;
}

static int import_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
	const struct import *import = (const struct import *)self;
	const struct dl_tensor *dl = import->dl;
	const char *lacks;

	*view = (Py_buffer) {
		.buf = (char *)dl->data + dl->byte_offset, .len = import->itemsize,
		.readonly = import->read_only, .itemsize = import->itemsize, .ndim = dl->ndim,
		.format = (char *)type_format(dl->dtype), .shape = import->shape,
		.strides = import->strides,
	};
	for (int i = 0; i < dl->ndim; i++)
		view->len *= import->shape[i];
	lacks = import_lacks(import, view, flags);
	if (lacks) {
		PyErr_SetString(PyExc_BufferError, lacks);
		return -1;
	}
	if (!(flags & PyBUF_FORMAT))
		view->format = NULL;
	if (!(flags & PyBUF_ND))
		view->shape = NULL;
	if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES)
		view->strides = NULL;
	view->obj = Py_NewRef(self);
	return 0;
}

/* Producers before DLPack 1.0 do not know the argument. */
static PyObject *ask_for_capsule(PyObject *object)
{
	PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
	PyObject *none = method ? PyTuple_New(0) : NULL;
	PyObject *words = none ? Py_BuildValue("{s(ii)}", "max_version", 1, 0) : NULL;
	PyObject *capsule = words ? PyObject_Call(method, none, words) : NULL;

	if (!capsule && words && PyErr_ExceptionMatches(PyExc_TypeError)) {
		PyErr_Clear();
		capsule = PyObject_Call(method, none, NULL);
	}
	Py_XDECREF(words);
	Py_XDECREF(none);
	Py_XDECREF(method);
	return capsule;
}

/* NULL with an exception. */
static const struct dl_tensor *capsule_open(PyObject *capsule, bool *read_only)
{
	const struct dl_versioned *new;
	const struct dl_managed *old;

	*read_only = false;
	if (PyCapsule_IsValid(capsule, OLD_NAME)) {
		old = PyCapsule_GetPointer(capsule, OLD_NAME);
		return &old->tensor;
	}
	new = PyCapsule_GetPointer(capsule, NEW_NAME);
	if (!new)
		return NULL;
	/* Of a later major version nothing but the first three members is known. */
	if (new->version.major != 1) {
		PyErr_Format(PyExc_BufferError, "the tensor is of DLPack %u: 1 is known",
			     new->version.major);
		return NULL;
	}
	*read_only = new->flags & DL_READ_ONLY;
	return &new->tensor;
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
	if (dl->ndim < 0 || dl->ndim > PyBUF_MAX_NDIM) {
		PyErr_Format(PyExc_BufferError, "the tensor has %d dimensions: 0 to %d are known",
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

/* Strides of DLPack count elements; without them the tensor is C-contiguous. */
static bool import_layout(struct import *import)
{
	const struct dl_tensor *dl = import->dl;
	Py_ssize_t stride;

	import->itemsize = dl->dtype.bits * dl->dtype.lanes / 8;
	import->shape = PyMem_Calloc(2 * (size_t)dl->ndim + 1, sizeof(*import->shape));
	if (!import->shape) {
		PyErr_NoMemory();
		return false;
	}
	import->strides = import->shape + dl->ndim;
	stride = import->itemsize;
	for (int i = dl->ndim - 1; i >= 0; i--) {
		import->shape[i] = (Py_ssize_t)dl->shape[i];
		import->strides[i] = dl->strides ? (Py_ssize_t)dl->strides[i] * import->itemsize :
						   stride;
		stride *= import->shape[i];
	}
	return true;
}

PyObject *tensor_buffer(PyObject *object)
{
	struct import *import;

	if (PyObject_CheckBuffer(object) || !PyObject_HasAttrString(object, "__dlpack__"))
		return Py_NewRef(object);
	import = (struct import *)object_new(tensor_type);
	if (!import)
		return NULL;
	import->capsule = ask_for_capsule(object);
	import->dl = import->capsule ? capsule_open(import->capsule, &import->read_only) : NULL;
	if (import->dl && can_import(import->dl) && import_layout(import))
		return (PyObject *)import;
	Py_DECREF((PyObject *)import);
	return NULL;
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
