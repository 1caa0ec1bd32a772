// SPDX-License-Identifier: MIT
/* The module acl._acl: all functions of acl, acl.rt and acl.util that are written in C. */

#include "private.h"

#include <string.h>

static PyObject *acl_init(PyObject *self, PyObject *args)
{
	PyObject *config = Py_None, *path = NULL;
	aclError err;

	(void)self;
	if (!PyArg_ParseTuple(args, "|O:init", &config))
		return NULL;
	if (config != Py_None && !PyUnicode_FSConverter(config, &path))
		return NULL;
	UNLOCKED(err, aclInit(path ? PyBytes_AsString(path) : NULL));
	Py_XDECREF(path);
	return result(err);
}

static PyObject *acl_finalize(PyObject *self, PyObject *unused)
{
	aclError err;

	(void)self;
	(void)unused;
	UNLOCKED(err, aclFinalize());
	return result(err);
}

static PyObject *acl_finalize_reference(PyObject *self, PyObject *unused)
{
	uint64_t count = 0;
	aclError err;

	(void)self;
	(void)unused;
	UNLOCKED(err, aclFinalizeReference(&count));
	return result_number((long long)count, err);
}

static PyObject *acl_get_version(PyObject *self, PyObject *unused)
{
	int32_t major = 0, minor = 0, patch = 0;
	aclError err;

	(void)self;
	(void)unused;
	err = aclrtGetVersion(&major, &minor, &patch);
	return Py_BuildValue("(iiii)", (int)major, (int)minor, (int)patch, (int)err);
}

static PyObject *acl_get_recent_err_msg(PyObject *self, PyObject *unused)
{
	const char *sentence;

	(void)self;
	(void)unused;
	sentence = aclGetRecentErrMsg();
	/* Of paths in it not all are UTF-8, and a long one is cut off anywhere. */
	return PyUnicode_DecodeUTF8(sentence, (Py_ssize_t)strlen(sentence), "replace");
}

static PyMethodDef acl_functions[] = {
	{ "init", acl_init, METH_VARARGS,
	  "init(config_path=None, /)\n--\n\nBegins the use of AscendCL: ret." },
	{ "finalize", acl_finalize, METH_NOARGS,
	  "finalize()\n--\n\nEnds the use of AscendCL, however often it was begun: ret." },
	{ "finalize_reference", acl_finalize_reference, METH_NOARGS,
	  "finalize_reference()\n--\n\nUndoes one init(): (how many are left, ret)." },
	{ "get_version", acl_get_version, METH_NOARGS,
	  "get_version()\n--\n\nVersion of the interface: (major, minor, patch, ret)." },
	{ "get_recent_err_msg", acl_get_recent_err_msg, METH_NOARGS,
	  "get_recent_err_msg()\n--\n\n"
	  "What was wrong with the last call of this thread that failed, once: a str." },
	{ NULL, NULL, 0, NULL },
};

static int module_exec(PyObject *module)
{
	PyMethodDef *const tables[] = {
		device_functions, memory_functions, copy_functions,
		stream_functions, event_functions, util_functions,
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (PyModule_AddFunctions(module, tables[i]))
			return -1;
	return 0;
}

static PyModuleDef_Slot slots[] = {
	{ Py_mod_exec, module_exec },
	{ 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "acl._acl",
	.m_methods = acl_functions,
	.m_slots = slots,
};

PyMODINIT_FUNC PyInit__acl(void);

PyMODINIT_FUNC PyInit__acl(void)
{
	return PyModuleDef_Init(&definition);
}
