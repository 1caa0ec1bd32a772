// SPDX-License-Identifier: MIT
/* accel.Error: an OSError with the errno and the sentence of libaccel. */

#include "private.h"

static PyObject *error_type;

int error_init(PyObject *module)
{
	error_type = PyErr_NewExceptionWithDoc("accel.Error",
		"A call of libaccel has failed: errno is what it returned, strerror its sentence.",
		PyExc_OSError, NULL);
	if (!error_type)
		return -1;
	return PyModule_AddObjectRef(module, "Error", error_type);
}

PyObject *error_say(int err, const char *sentence)
{
	PyObject *args = Py_BuildValue("(is)", err < 0 ? -err : err, sentence);

	if (args) {
		PyErr_SetObject(error_type, args);
		Py_DECREF(args);
	}
	return NULL;
}

PyObject *error_raise(int err)
{
	const char *sentence = accel_last_error();

	return error_say(err, *sentence ? sentence : accel_strerror(err));
}

PyObject *error_none(int err)
{
	if (err)
		return error_raise(err);
	Py_RETURN_NONE;
}
