// SPDX-License-Identifier: MIT
/*
 * accel.Error: an OSError with the errno and the sentence of libaccel. Some errors are also of a type
 * of Python that programs catch.
 */

#include "error.h"

#include <string.h>

static PyObject *error_type;

static struct kind {
	const char *name;
	const char *doc;
	PyObject **base;
	int numbers[2];
	PyObject *type;
} kinds[] = {
	{ "accel.Timeout", "The time of a wait is over, or the device did not answer in time.",
	  &PyExc_TimeoutError, { ETIME, ETIMEDOUT }, NULL },
	{ "accel.OutOfMemory", "There is not enough memory, of the device or of the host.",
	  &PyExc_MemoryError, { ENOMEM }, NULL },
	{ "accel.NotPermitted", "The device may not be opened, or belongs to the parent process.",
	  &PyExc_PermissionError, { EPERM, EACCES }, NULL },
};

static int kind_init(PyObject *module, struct kind *kind)
{
	PyObject *bases = PyTuple_Pack(2, error_type, *kind->base);

	if (!bases)
		return -1;
	kind->type = PyErr_NewExceptionWithDoc(kind->name, kind->doc, bases, NULL);
	Py_DECREF(bases);
	if (!kind->type)
		return -1;
	return PyModule_AddObjectRef(module, kind->name + sizeof("accel"), kind->type);
}

int error_init(PyObject *module)
{
	error_type = PyErr_NewExceptionWithDoc("accel.Error",
		"A call of libaccel has failed: errno is what it returned, strerror its sentence.",
		PyExc_OSError, NULL);
	if (!error_type || PyModule_AddObjectRef(module, "Error", error_type))
		return -1;
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++)
		if (kind_init(module, &kinds[i]))
			return -1;
	return 0;
}

static PyObject *error_type_of(int number)
{
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++)
		if (number == kinds[i].numbers[0] || number == kinds[i].numbers[1])
			return kinds[i].type;
	return error_type;
}

/* The sentence is copied first: the call may start a collection, whose calls can fail too. */
PyObject *error_object(int err, const char *sentence)
{
	PyObject *text = PyUnicode_DecodeUTF8(sentence, (Py_ssize_t)strlen(sentence), "replace");
	int number = err < 0 ? -err : err;

	return text ? PyObject_CallFunction(error_type_of(number), "iN", number, text) : NULL;
}

PyObject *error_say(int err, const char *sentence)
{
	PyObject *error = error_object(err, sentence);

	if (error) {
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
		Py_DECREF(error);
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
