// SPDX-License-Identifier: MIT
/* Copies and fills. */

#include "private.h"

#include <acl/acl_rt.h>

static PyObject *rt_memcpy(PyObject *self, PyObject *args)
{
	size_t dest_max, count;
	void *dst, *src;
	int32_t kind;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "memcpy", POINTER(dst), SIZE(dest_max), POINTER(src), SIZE(count),
		       INT(kind)))
		return NULL;
	UNLOCKED(err, aclrtMemcpy(dst, dest_max, src, count, (aclrtMemcpyKind)kind));
	return result(err);
}

static PyObject *memcpy_async(PyObject *self, PyObject *args)
{
	size_t dest_max, count;
	void *dst, *src;
	aclrtStream stream;
	int32_t kind;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "memcpy_async", POINTER(dst), SIZE(dest_max), POINTER(src),
		       SIZE(count), INT(kind), POINTER(stream)))
		return NULL;
	UNLOCKED(err, aclrtMemcpyAsync(dst, dest_max, src, count, (aclrtMemcpyKind)kind, stream));
	return result(err);
}

struct rows {
	void *dst, *src;
	size_t dpitch, spitch, width, height;
	int32_t kind;
	aclrtStream stream;
};

#define ROWS(rows)                                                                                \
	{ "dst", ARGUMENT_POINTER, &(rows).dst }, { "dpitch", ARGUMENT_SIZE, &(rows).dpitch },    \
	{ "src", ARGUMENT_POINTER, &(rows).src }, { "spitch", ARGUMENT_SIZE, &(rows).spitch },    \
	{ "width", ARGUMENT_SIZE, &(rows).width }, { "height", ARGUMENT_SIZE, &(rows).height },   \
	{ "kind", ARGUMENT_INT, &(rows).kind }

static PyObject *memcpy2d(PyObject *self, PyObject *args)
{
	struct rows rows;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "memcpy2d", ROWS(rows)))
		return NULL;
	UNLOCKED(err, aclrtMemcpy2d(rows.dst, rows.dpitch, rows.src, rows.spitch, rows.width,
				    rows.height, (aclrtMemcpyKind)rows.kind));
	return result(err);
}

static PyObject *memcpy2d_async(PyObject *self, PyObject *args)
{
	struct rows rows;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "memcpy2d_async", ROWS(rows),
		       { "stream", ARGUMENT_POINTER, &rows.stream }))
		return NULL;
	UNLOCKED(err, aclrtMemcpy2dAsync(rows.dst, rows.dpitch, rows.src, rows.spitch, rows.width,
					 rows.height, (aclrtMemcpyKind)rows.kind, rows.stream));
	return result(err);
}

static PyObject *rt_memset(PyObject *self, PyObject *args)
{
	size_t max_count, count;
	int32_t value;
	void *dev_ptr;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "memset", POINTER(dev_ptr), SIZE(max_count), INT(value), SIZE(count)))
		return NULL;
	UNLOCKED(err, aclrtMemset(dev_ptr, max_count, value, count));
	return result(err);
}

static PyObject *memset_async(PyObject *self, PyObject *args)
{
	size_t max_count, count;
	aclrtStream stream;
	int32_t value;
	void *dev_ptr;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "memset_async", POINTER(dev_ptr), SIZE(max_count), INT(value),
		       SIZE(count), POINTER(stream)))
		return NULL;
	UNLOCKED(err, aclrtMemsetAsync(dev_ptr, max_count, value, count, stream));
	return result(err);
}

PyMethodDef copy_functions[] = {
	{ "memcpy", rt_memcpy, METH_VARARGS,
	  "memcpy(dst, dest_max, src, count, kind, /)\n--\n\n"
	  "Copies count bytes; dst has room for dest_max: ret." },
	{ "memcpy_async", memcpy_async, METH_VARARGS,
	  "memcpy_async(dst, dest_max, src, count, kind, stream, /)\n--\n\n"
	  "The same on a stream, 0 for the default one: ret.\n"
	  "Page-locked memory is in use until the copy has ended." },
	{ "memcpy2d", memcpy2d, METH_VARARGS,
	  "memcpy2d(dst, dpitch, src, spitch, width, height, kind, /)\n--\n\n"
	  "Copies rows of width bytes, which are a pitch apart: ret." },
	{ "memcpy2d_async", memcpy2d_async, METH_VARARGS,
	  "memcpy2d_async(dst, dpitch, src, spitch, width, height, kind, stream, /)\n--\n\n"
	  "The same on a stream, 0 for the default one: ret." },
	{ "memset", rt_memset, METH_VARARGS,
	  "memset(dev_ptr, max_count, value, count, /)\n--\n\n"
	  "Sets count bytes to value; there is room for max_count: ret." },
	{ "memset_async", memset_async, METH_VARARGS,
	  "memset_async(dev_ptr, max_count, value, count, stream, /)\n--\n\n"
	  "The same on a stream, 0 for the default one: ret." },
	{ NULL, NULL, 0, NULL },
};
