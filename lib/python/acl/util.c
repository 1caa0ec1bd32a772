// SPDX-License-Identifier: MIT
/* Addresses of Python's bytes, and bytes at addresses. What is not there raises. */

#include "private.h"

static PyObject *bytes_to_ptr(PyObject *self, PyObject *data)
{
	(void)self;
	if (!PyBytes_Check(data)) {
		PyErr_Format(PyExc_TypeError, "bytes_to_ptr(): data has to be bytes, not %R",
			     (PyObject *)Py_TYPE(data));
		return NULL;
	}
	return PyLong_FromVoidPtr(PyBytes_AsString(data));
}

static bool check_host(const char *call, const void *ptr, size_t size)
{
	const char *wrong = guard_host(ptr, size);
	PyObject *sentence;

	if (!wrong)
		return true;
	sentence = PyUnicode_FromFormat(wrong, ptr);
	if (sentence)
		PyErr_Format(PyExc_ValueError, "%s(): %U", call, sentence);
	Py_XDECREF(sentence);
	return false;
}

static PyObject *ptr_to_bytes(PyObject *self, PyObject *args)
{
	void *ptr;
	size_t size;

	(void)self;
	if (!ARGUMENTS(args, "ptr_to_bytes", POINTER(ptr), SIZE(size)))
		return NULL;
	if (size > (size_t)PY_SSIZE_T_MAX) {
		PyErr_SetString(PyExc_OverflowError,
				"ptr_to_bytes(): size is more than bytes can have");
		return NULL;
	}
	if (!check_host("ptr_to_bytes", ptr, size))
		return NULL;
	return PyBytes_FromStringAndSize(ptr, (Py_ssize_t)size);
}

/* For what is written in Python. */
static PyObject *check_ptr(PyObject *self, PyObject *args)
{
	void *ptr;
	size_t size;

	(void)self;
	if (!ARGUMENTS(args, "ptr_to_numpy", POINTER(ptr), SIZE(size)) ||
	    !check_host("ptr_to_numpy", ptr, size))
		return NULL;
	Py_RETURN_NONE;
}

PyMethodDef util_functions[] = {
	{ "bytes_to_ptr", bytes_to_ptr, METH_O,
	  "bytes_to_ptr(data, /)\n--\n\n"
	  "Address of bytes, which have to live as long as it is used." },
	{ "ptr_to_bytes", ptr_to_bytes, METH_VARARGS,
	  "ptr_to_bytes(ptr, size, /)\n--\n\nA copy of host memory. Device memory is refused." },
	{ "check_ptr", check_ptr, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};
