// SPDX-License-Identifier: MIT
/* Numbers from Python, each in its range. */

#include "private.h"

static bool refuse_count(const char *call, const struct argument *wanted, int count,
			 Py_ssize_t given)
{
	PyObject *names = PyUnicode_FromString("");

	for (int i = 0; i < count && names; i++) {
		PyObject *more = PyUnicode_FromFormat("%U%s%s", names, i ? ", " : "",
						      wanted[i].name);

		Py_DECREF(names);
		names = more;
	}
	if (names)
		PyErr_Format(PyExc_TypeError, "%s(%U) takes %d arguments, not %zd", call, names,
			     count, given);
	Py_XDECREF(names);
	return false;
}

static bool refuse_range(const char *call, const struct argument *wanted, PyObject *number)
{
	static const char *const ranges[] = {
		[ARGUMENT_POINTER] = "an address or a handle is 0 to 2**64 - 1",
		[ARGUMENT_SIZE] = "a size is 0 to 2**64 - 1",
		[ARGUMENT_INT] = "it is -2**31 to 2**31 - 1",
		[ARGUMENT_UINT] = "it is 0 to 2**32 - 1",
	};

	PyObject *text;

	PyErr_Clear();
	/* Python writes out no numbers of thousands of digits. */
	text = PyObject_Str(number);
	if (!text)
		PyErr_Clear();
	PyErr_Format(PyExc_OverflowError, "%s(): %s is %V: %s", call, wanted->name, text,
		     "a number of thousands of digits", ranges[wanted->kind]);
	Py_XDECREF(text);
	return false;
}

static bool get_signed(const char *call, const struct argument *wanted, PyObject *number)
{
	long long value = PyLong_AsLongLong(number);

	if ((value == -1 && PyErr_Occurred()) || value < INT32_MIN || value > INT32_MAX)
		return refuse_range(call, wanted, number);
	*(int32_t *)wanted->value = (int32_t)value;
	return true;
}

static bool get_unsigned(const char *call, const struct argument *wanted, PyObject *number)
{
	unsigned long long value = PyLong_AsUnsignedLongLong(number);

	if (value == (unsigned long long)-1 && PyErr_Occurred())
		return refuse_range(call, wanted, number);
	switch (wanted->kind) {
	case ARGUMENT_POINTER:
		if (value > UINTPTR_MAX)
			return refuse_range(call, wanted, number);
		*(void **)wanted->value = (void *)(uintptr_t)value;
		return true;
	case ARGUMENT_SIZE:
		if (value > SIZE_MAX)
			return refuse_range(call, wanted, number);
		*(size_t *)wanted->value = (size_t)value;
		return true;
	default:
		if (value > UINT32_MAX)
			return refuse_range(call, wanted, number);
		*(uint32_t *)wanted->value = (uint32_t)value;
		return true;
	}
}

static bool get_one(PyObject *object, const char *call, const struct argument *wanted)
{
	PyObject *number;
	bool done;

	if (PyLong_Check(object)) {
		number = object;
		Py_INCREF(number);
	} else {
		/* Numbers of NumPy, but no floats. */
		number = PyIndex_Check(object) ? PyNumber_Index(object) : NULL;
	}
	if (!number) {
		if (!PyErr_Occurred())
			PyErr_Format(PyExc_TypeError, "%s(): %s has to be an int, not %R", call,
				     wanted->name, (PyObject *)Py_TYPE(object));
		return false;
	}
	done = wanted->kind == ARGUMENT_INT ? get_signed(call, wanted, number)
					    : get_unsigned(call, wanted, number);
	Py_DECREF(number);
	return done;
}

bool arguments_get(PyObject *args, const char *call, const struct argument *wanted, int count)
{
	Py_ssize_t given = PyTuple_Size(args);

	if (given != count)
		return refuse_count(call, wanted, count, given);
	for (int i = 0; i < count; i++)
		if (!get_one(PyTuple_GetItem(args, i), call, &wanted[i]))
			return false;
	return true;
}

PyObject *result(aclError err)
{
	return PyLong_FromLong(err);
}

PyObject *result_pointer(const void *value, aclError err)
{
	return Py_BuildValue("(Ki)", err ? 0 : (unsigned long long)(uintptr_t)value, (int)err);
}

PyObject *result_number(long long value, aclError err)
{
	return Py_BuildValue("(Li)", err ? 0 : value, (int)err);
}
