// SPDX-License-Identifier: MIT
/* Memory of devices, and page-locked memory of the host. */

#include "private.h"

#include <acl/acl_rt.h>

typedef aclError (*allocate_function)(void **ptr, size_t size, aclrtMemMallocPolicy policy);
typedef aclError (*free_function)(void *ptr);
typedef aclError (*range_function)(void *ptr, size_t size);

static PyObject *allocate(PyObject *args, const char *call, allocate_function function)
{
	void *dev_ptr = NULL;
	int32_t policy;
	size_t size;
	aclError err;

	if (!ARGUMENTS(args, call, SIZE(size), INT(policy)))
		return NULL;
	UNLOCKED(err, function(&dev_ptr, size, (aclrtMemMallocPolicy)policy));
	return result_pointer(dev_ptr, err);
}

static PyObject *rt_malloc(PyObject *self, PyObject *args)
{
	(void)self;
	return allocate(args, "malloc", aclrtMalloc);
}

static PyObject *malloc_align32(PyObject *self, PyObject *args)
{
	(void)self;
	return allocate(args, "malloc_align32", aclrtMallocAlign32);
}

static PyObject *malloc_cached(PyObject *self, PyObject *args)
{
	(void)self;
	return allocate(args, "malloc_cached", aclrtMallocCached);
}

static PyObject *give_back(PyObject *args, const char *call, const char *name,
			   free_function function)
{
	void *ptr;
	aclError err;

	if (!ARGUMENTS(args, call, { name, ARGUMENT_POINTER, &ptr }))
		return NULL;
	UNLOCKED(err, function(ptr));
	return result(err);
}

static PyObject *rt_free(PyObject *self, PyObject *args)
{
	(void)self;
	return give_back(args, "free", "dev_ptr", aclrtFree);
}

static PyObject *free_with_dev_sync(PyObject *self, PyObject *args)
{
	(void)self;
	return give_back(args, "free_with_dev_sync", "dev_ptr", aclrtFreeWithDevSync);
}

static PyObject *free_host(PyObject *self, PyObject *args)
{
	(void)self;
	return give_back(args, "free_host", "host_ptr", aclrtFreeHost);
}

static PyObject *free_host_with_dev_sync(PyObject *self, PyObject *args)
{
	(void)self;
	return give_back(args, "free_host_with_dev_sync", "host_ptr",
			 aclrtFreeHostWithDevSync);
}

static PyObject *malloc_host(PyObject *self, PyObject *args)
{
	void *host_ptr = NULL;
	size_t size;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "malloc_host", SIZE(size)))
		return NULL;
	UNLOCKED(err, aclrtMallocHost(&host_ptr, size));
	return result_pointer(host_ptr, err);
}

/* Of the configuration only an empty one is documented. */
static PyObject *malloc_host_with_cfg(PyObject *self, PyObject *args)
{
	PyObject *cfg, *first;
	void *host_ptr = NULL;
	size_t size;
	aclError err;

	(void)self;
	if (PyTuple_Size(args) != 2) {
		PyErr_Format(PyExc_TypeError,
			     "malloc_host_with_cfg(size, cfg) takes 2 arguments, not %zd",
			     PyTuple_Size(args));
		return NULL;
	}
	cfg = PyTuple_GetItem(args, 1);
	if (!PyDict_Check(cfg)) {
		PyErr_Format(PyExc_TypeError,
			     "malloc_host_with_cfg(): cfg has to be a dict, not %R",
			     (PyObject *)Py_TYPE(cfg));
		return NULL;
	}
	if (PyDict_Size(cfg)) {
		PyErr_SetString(PyExc_ValueError, "malloc_host_with_cfg(): cfg has to be empty");
		return NULL;
	}
	first = PyTuple_GetSlice(args, 0, 1);
	if (!first)
		return NULL;
	if (!ARGUMENTS(first, "malloc_host_with_cfg", SIZE(size))) {
		Py_DECREF(first);
		return NULL;
	}
	Py_DECREF(first);
	UNLOCKED(err, aclrtMallocHostWithCfg(&host_ptr, size, NULL));
	return result_pointer(host_ptr, err);
}

static PyObject *of_range(PyObject *args, const char *call, range_function function)
{
	void *dev_ptr;
	size_t size;
	aclError err;

	if (!ARGUMENTS(args, call, POINTER(dev_ptr), SIZE(size)))
		return NULL;
	UNLOCKED(err, function(dev_ptr, size));
	return result(err);
}

static PyObject *mem_flush(PyObject *self, PyObject *args)
{
	(void)self;
	return of_range(args, "mem_flush", aclrtMemFlush);
}

static PyObject *mem_invalidate(PyObject *self, PyObject *args)
{
	(void)self;
	return of_range(args, "mem_invalidate", aclrtMemInvalidate);
}

PyMethodDef memory_functions[] = {
	{ "malloc", rt_malloc, METH_VARARGS,
	  "malloc(size, policy, /)\n--\n\n"
	  "Memory of the device, of size rounded up to 32 and 32 more: (dev_ptr, ret)." },
	{ "malloc_align32", malloc_align32, METH_VARARGS,
	  "malloc_align32(size, policy, /)\n--\n\n"
	  "Memory of the device, of size rounded up to 32: (dev_ptr, ret)." },
	{ "malloc_cached", malloc_cached, METH_VARARGS,
	  "malloc_cached(size, policy, /)\n--\n\nAs malloc(): (dev_ptr, ret)." },
	{ "free", rt_free, METH_VARARGS,
	  "free(dev_ptr, /)\n--\n\nFrees memory of a device, without waiting: ret." },
	{ "free_with_dev_sync", free_with_dev_sync, METH_VARARGS,
	  "free_with_dev_sync(dev_ptr, /)\n--\n\nWaits for the device, then frees: ret." },
	{ "malloc_host", malloc_host, METH_VARARGS,
	  "malloc_host(size, /)\n--\n\nPage-locked memory of the host: (host_ptr, ret)." },
	{ "malloc_host_with_cfg", malloc_host_with_cfg, METH_VARARGS,
	  "malloc_host_with_cfg(size, cfg, /)\n--\n\n"
	  "The same; cfg has to be an empty dict: (host_ptr, ret)." },
	{ "free_host", free_host, METH_VARARGS,
	  "free_host(host_ptr, /)\n--\n\nFrees page-locked memory of the host: ret." },
	{ "free_host_with_dev_sync", free_host_with_dev_sync, METH_VARARGS,
	  "free_host_with_dev_sync(host_ptr, /)\n--\n\nWaits for the device, then frees: ret." },
	{ "mem_flush", mem_flush, METH_VARARGS,
	  "mem_flush(dev_ptr, size, /)\n--\n\nWrites back what is cached: ret." },
	{ "mem_invalidate", mem_invalidate, METH_VARARGS,
	  "mem_invalidate(dev_ptr, size, /)\n--\n\nForgets what is cached: ret." },
	{ NULL, NULL, 0, NULL },
};
