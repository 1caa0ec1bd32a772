// SPDX-License-Identifier: MIT
/*
 * The module accel._accel: functions, types, constants. Its types are the process's, so interpreters
 * that have a GIL of their own are not to load it, and CPython sees to that.
 */

#include "callback.h"
#include "copy.h"
#include "device.h"
#include "error.h"
#include "event.h"
#include "info.h"
#include "memory.h"
#include "module.h"
#include "pool.h"
#include "stream.h"
#include "tensor.h"

#include <unistd.h>

PyTypeObject *type_add(PyObject *module, PyType_Spec *spec)
{
	PyObject *type;

	/* Objects are made by what owns them: others would be half-made. */
	spec->flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE |
		Py_TPFLAGS_HAVE_GC;
	type = PyType_FromSpec(spec);
	if (!type || PyModule_AddType(module, (PyTypeObject *)type))
		return NULL;
	return (PyTypeObject *)type;
}

PyObject *object_new(PyTypeObject *type)
{
	PyObject *object = PyType_GenericAlloc(type, 0);

	if (object)
		PyObject_GC_UnTrack(object);
	return object;
}

/*
 * Callbacks of weak references run last: they may close the device, which must not find a child
 * that is ending in its list.
 */
void object_free(PyObject *self, PyObject *weakrefs)
{
	PyTypeObject *type = Py_TYPE(self);

	if (weakrefs)
		PyObject_ClearWeakRefs(self);
	PyObject_GC_Del(self);
	Py_DECREF(type);
}

PyObject *exit_block(PyObject *args, PyObject *result)
{
	if (result || PyTuple_Size(args) < 1 || PyTuple_GetItem(args, 0) == Py_None)
		return result;
	PyErr_Clear();
	Py_RETURN_NONE;
}

PyObject *call_package(const char *module_name, const char *name, PyObject *self, PyObject *args,
		       PyObject *words)
{
	PyObject *module = PyImport_ImportModule(module_name), *first = PyTuple_Pack(1, self);
	PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
	PyObject *all = first && args ? PySequence_Concat(first, args) : Py_XNewRef(first);
	PyObject *result = function && all ? PyObject_Call(function, all, words) : NULL;

	Py_XDECREF(all);
	Py_XDECREF(function);
	Py_XDECREF(first);
	Py_XDECREF(module);
	return result;
}

PyObject *await_with(PyObject *self, const char *function)
{
	PyObject *coroutine = call_package("accel._asyncio", function, self, NULL, NULL);
	PyObject *iterator;

	if (!coroutine)
		return NULL;
	iterator = PyObject_CallMethod(coroutine, "__await__", NULL);
	Py_DECREF(coroutine);
	return iterator;
}

PyObject *fd_object(int fd)
{
	PyObject *object = PyLong_FromLong(fd);

	if (!object)
		close(fd);
	return object;
}

static PyObject *module_count(PyObject *module, PyObject *unused)
{
	int count = accel_device_count();

	(void)module;
	(void)unused;
	return count < 0 ? error_raise(count) : PyLong_FromLong(count);
}

static PyObject *module_copy(PyObject *module, PyObject *args, PyObject *words)
{
	static char *names[] = { "destination", "source", "stream", NULL };
	PyObject *destination, *source, *stream = Py_None;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, words, "OO|O:copy", names, &destination, &source,
					 &stream))
		return NULL;
	return copy_objects(destination, source, stream);
}

/* For accel._view. */
static PyObject *module_tensor_buffer(PyObject *module, PyObject *object)
{
	(void)module;
	return tensor_buffer(object);
}

static PyMethodDef functions[] = {
	{ "count", module_count, METH_NOARGS, "count()\n--\n\nNumber of devices." },
	{ "open", WORDS(device_open), METH_VARARGS | METH_KEYWORDS,
	  "open(index=0)\n--\n\nOpens a device, 0 to count() - 1: a Device." },
	{ "copy", WORDS(module_copy), METH_VARARGS | METH_KEYWORDS,
	  "copy(destination, source, stream=None)\n--\n\n"
	  "Copies between device memory and anything with the buffer protocol or DLPack, of the "
	  "same size.\n"
	  "With a stream the copy is queued: both are held until it has ended." },
	{ "copy_rows", copy_rows, METH_VARARGS, NULL },
	{ "tensor_buffer", module_tensor_buffer, METH_O, NULL },
	{ "callback_is_queued", callback_is_queued, METH_O, NULL },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "accel._accel",
	.m_size = -1,
	.m_methods = functions,
};

static int add_constants(PyObject *module)
{
	if (PyModule_AddStringConstant(module, "__version__", accel_version()) ||
	    PyModule_AddIntConstant(module, "CAP_MAPPABLE", ACCEL_CAP_MAPPABLE) ||
	    PyModule_AddIntConstant(module, "CAP_NATIVE_D2D", ACCEL_CAP_NATIVE_D2D) ||
	    PyModule_AddIntConstant(module, "CAP_NATIVE_FILL", ACCEL_CAP_NATIVE_FILL) ||
	    PyModule_AddIntConstant(module, "CAP_MEM_SURVIVES_RESET",
				    ACCEL_CAP_MEM_SURVIVES_RESET) ||
	    PyModule_AddIntConstant(module, "CAP_DIRECT_DMA", ACCEL_CAP_DIRECT_DMA) ||
	    PyModule_AddIntConstant(module, "CAP_VERIFY", ACCEL_CAP_VERIFY))
		return -1;
	return 0;
}

PyMODINIT_FUNC PyInit__accel(void);

PyMODINIT_FUNC PyInit__accel(void)
{
	PyObject *module = PyModule_Create(&definition);

	if (!module)
		return NULL;
	if (error_init(module) || device_init(module) || memory_init(module) ||
	    tensor_init(module) || pool_init(module) ||
	    stream_init(module) || event_init(module) || info_init(module) ||
	    callback_init() ||
	    add_constants(module)) {
		Py_DECREF(module);
		return NULL;
	}
	return module;
}
