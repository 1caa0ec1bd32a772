// SPDX-License-Identifier: MIT
/*
 * Memory for others: tensors of DLPack. Where the processor cannot access it, it is one of an extension device: for
 * consumers that pass the address on to something that knows it, such as MPI.
 */

#include "device.h"
#include "dlpack.h"
#include "memory.h"

#include <stdlib.h>

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

const char *dlpack_name(PyObject *capsule)
{
	if (PyCapsule_IsValid(capsule, DL_OLD))
		return DL_OLD;
	return PyCapsule_IsValid(capsule, DL_NEW) ? DL_NEW : NULL;
}

static void capsule_free(PyObject *capsule)
{
	const char *name = dlpack_name(capsule);

	if (name)
		tensor_free(PyCapsule_GetPointer(capsule, name));
}

static struct dl_device device_of(const struct memory *memory)
{
	const struct memory *root = memory->root;

	if (root->accessible)
		return (struct dl_device){ .type = DL_CPU };
	return (struct dl_device){ .type = DL_EXTENSION, .id = root->child.device->index };
}

/*
 * The addresses of a registered dma-buf are only reserved: in no window, so that no library recognizes them as device
 * memory.
 */
static bool has_device(const struct memory *memory)
{
	const struct memory *root = memory->root;

	if (root->accessible || root->kind != ACCEL_MEMORY_REGISTERED)
		return true;
	PyErr_SetString(PyExc_BufferError,
			"a registered dma-buf has no DLPack: only copies of accel can access it");
	return false;
}

static void describe(struct dl_tensor *dl, struct tensor *tensor)
{
	tensor->shape = (int64_t)tensor->memory->size;
	tensor->stride = 1;
	dl->data = tensor->memory->ptr;
	dl->device = device_of(tensor->memory);
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

	if (!memory_export_begin(memory))
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
	capsule = PyCapsule_New(tensor, versioned ? DL_NEW : DL_OLD, capsule_free);
	if (!capsule)
		tensor_free(tensor);
	return capsule;
}

/* -1 asks for no order with work of the device, which there is not in any case. */
static bool stream_fits(PyObject *stream, struct dl_device device)
{
	int overflow = 0;

	if (stream == Py_None)
		return true;
	if (device.type == DL_EXTENSION && PyLong_Check(stream) &&
	    PyLong_AsLongAndOverflow(stream, &overflow) == -1 && !overflow)
		return true;
	PyErr_SetString(PyExc_BufferError, device.type == DL_CPU ?
			"stream has to be None: the processor reads this memory" :
			"stream has to be None or -1: synchronize the stream that works with this memory");
	return false;
}

/* What a consumer asks for beyond that. */
static bool can_give(struct dl_device device, PyObject *stream, PyObject *dl_device, PyObject *copy)
{
	int wanted = PyObject_IsTrue(copy);
	long type, id;

	if (wanted < 0 || !stream_fits(stream, device))
		return false;
	if (wanted) {
		PyErr_SetString(PyExc_BufferError,
				"a tensor over this memory is no copy: make one of tobytes()");
		return false;
	}
	if (dl_device == Py_None)
		return true;
	if (!PyArg_ParseTuple(dl_device, "ll;dl_device is (type, id)", &type, &id))
		return false;
	if (type != device.type || id != device.id) {
		PyErr_Format(PyExc_BufferError, "dl_device is (%ld, %ld): there is (%d, %d) only",
			     type, id, (int)device.type, (int)device.id);
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
	if (!has_device(memory) || !can_give(device_of(memory), stream, device, copy))
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
	struct memory *memory = (struct memory *)self;
	struct dl_device device;

	(void)unused;
	if (!has_device(memory))
		return NULL;
	device = device_of(memory);
	return Py_BuildValue("(ii)", (int)device.type, (int)device.id);
}
