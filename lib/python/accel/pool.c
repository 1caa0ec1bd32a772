// SPDX-License-Identifier: MIT
/*
 * Pool: blocks of memory out of a few large allocations. A block is a Memory that holds its pool, and
 * the stream that has used it last, on which it is freed.
 */

#include "child.h"
#include "copy.h"
#include "device.h"
#include "error.h"
#include "info.h"
#include "memory.h"
#include "pool.h"
#include "stream.h"

#include <sched.h>

PyTypeObject *accel_pool_type;
static PyTypeObject *stats_type;

static PyStructSequence_Field stats_fields[] = {
	{ "chunk_bytes", "bytes that it has from the device: used_bytes + free_bytes" },
	{ "peak_chunk_bytes", "largest value of chunk_bytes so far" },
	{ "used_bytes", "bytes of allocated blocks, in whole granules" },
	{ "free_bytes", "bytes that are not allocated" },
	{ "waiting_bytes", "those of free_bytes that one stream only can get, until its work ends" },
	{ "largest_free", "size of the largest block that every stream can get" },
	{ "bytes", "bytes that are allocated, as they were requested" },
	{ "peak_bytes", "largest value of bytes so far" },
	{ "total_bytes", "sum of the sizes of all allocations so far" },
	{ "blocks", "blocks that are allocated" },
	{ "total_blocks", "number of allocations so far" },
	{ "failures", "allocations that failed for want of memory" },
	{ "free_blocks", "number of blocks that free_bytes consist of" },
	{ "chunks", "allocations of the device that it has" },
	{ "grown", "allocations of the device so far" },
	{ "taken_over", "how often a stream had to wait for the work of another one" },
	{ "corruptions", "writes outside of blocks that were found, with debug" },
	{ "metadata_bytes", "bytes of host memory that its tables occupy" },
	{ "fragmentation", "1 - largest_free / free_bytes; 0 if nothing is free" },
	{ NULL, NULL },
};

static PyStructSequence_Desc stats_desc = {
	.name = "accel.PoolStats",
	.doc = "What a pool has, and what was done with it.",
	.fields = stats_fields,
	.n_in_sequence = ARRAY_LENGTH(stats_fields) - 1,
};

static bool pool_enter(struct pool *pool)
{
	return child_enter(&pool->child, pool->handle, "pool is closed");
}

static void pool_leave(struct pool *pool)
{
	child_leave(&pool->child);
}

/*
 * Its blocks have ended before: they are later children of the device. A thread that frees one meanwhile
 * has read the handle.
 */
static int pool_destroy(struct pool *pool)
{
	struct accel_pool *handle = pool->handle;
	int rc = blocks_end(pool);

	if (!handle || rc)
		return rc;
	pool->handle = NULL;
	while (pool->child.busy && !device_is_inherited(pool->child.device)) {
		Py_BEGIN_ALLOW_THREADS
		sched_yield();
		Py_END_ALLOW_THREADS
	}
	Py_BEGIN_ALLOW_THREADS
	rc = accel_pool_destroy(handle);
	Py_END_ALLOW_THREADS
	if (rc)
		pool->handle = handle;
	return rc;
}

static void pool_end(struct child *child)
{
	struct pool *pool = (struct pool *)((char *)child - offsetof(struct pool, child));

	pool_destroy(pool);
	pool->handle = NULL;
}

static void pool_dealloc(PyObject *self)
{
	struct pool *pool = (struct pool *)self;

	PyObject_GC_UnTrack(self);
	child_drop(&pool->child);
	object_free(self, pool->child.weakrefs);
}

static bool pool_create(struct pool *pool, struct device *device,
			const struct accel_pool_options *options)
{
	struct accel_resource upstream;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = accel_resource_of_device(device->handle, pool->kind, &upstream) ?:
		accel_pool_create(device->handle, &upstream, options, &pool->handle);
	Py_END_ALLOW_THREADS
	if (rc)
		error_raise(rc);
	return !rc;
}

PyObject *pool_new(struct device *device, PyObject *args, PyObject *words)
{
	static char *names[] = { "initial_size", "maximum_size", "growth_size", "granule",
				 "release_threshold", "debug", "kind", NULL };
	struct accel_pool_options options = { 0 };
	PyObject *threshold = Py_None;
	const char *kind = "device";
	Py_ssize_t sizes[5] = { 0 };
	struct pool *pool;
	int debug = 0;

	if (!PyArg_ParseTupleAndKeywords(args, words, "|n$nnnOps:pool", names, &sizes[0], &sizes[1],
					 &sizes[2], &sizes[3], &threshold, &debug, &kind))
		return NULL;
	if (threshold != Py_None)
		sizes[4] = PyLong_AsSsize_t(threshold);
	if (PyErr_Occurred())
		return NULL;
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++)
		if (sizes[i] < 0)
			return PyErr_Format(PyExc_ValueError, "%s is %zd: it is in bytes, from 0",
					    names[i], sizes[i]);
	options.initial_size = (size_t)sizes[0];
	options.maximum_size = (size_t)sizes[1];
	options.growth_size = (size_t)sizes[2];
	options.granule = (size_t)sizes[3];
	options.release_threshold = (size_t)sizes[4];
	options.flags = (debug ? ACCEL_POOL_DEBUG : 0) |
		(threshold == Py_None ? 0 : ACCEL_POOL_RELEASE);
	pool = (struct pool *)object_new(accel_pool_type);
	if (!pool)
		return NULL;
	if (!memory_kind(kind, &pool->kind) || !pool_create(pool, device, &options)) {
		Py_DECREF((PyObject *)pool);
		return NULL;
	}
	child_link(&pool->child, device, pool_end);
	return (PyObject *)pool;
}

static PyObject *pool_allocate(PyObject *self, PyObject *args, PyObject *words)
{
	static char *names[] = { "size", "stream", "exportable", NULL };
	PyObject *stream_object = Py_None, *memory = NULL;
	struct pool *pool = (struct pool *)self;
	struct stream *stream;
	Py_ssize_t size;
	int exportable = 0;

	if (!PyArg_ParseTupleAndKeywords(args, words, "n|Op:allocate", names, &size, &stream_object,
					 &exportable))
		return NULL;
	if (!copy_stream(stream_object, &stream))
		return NULL;
	if (pool_enter(pool)) {
		memory = memory_of_pool(pool, stream, size, exportable ?
					accel_pool_allocate_exportable : accel_pool_allocate);
		pool_leave(pool);
	}
	copy_stream_done(stream);
	return memory;
}

static PyObject *pool_stats(PyObject *self, PyObject *unused)
{
	struct pool *pool = (struct pool *)self;
	struct accel_pool_stats stats = { 0 };
	PyObject *tuple;
	Py_ssize_t at = 0;
	int rc;

	(void)unused;
	if (!pool_enter(pool))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	_Static_assert(ARRAY_LENGTH(stats_fields) - 1 ==
		       offsetof(struct accel_pool_stats, fragmentation) / sizeof(uint64_t) + 1,
		       "a name for each number");
	rc = accel_pool_get_stats(pool->handle, &stats);
	Py_END_ALLOW_THREADS
	pool_leave(pool);
	if (rc)
		return error_raise(rc);
	tuple = PyStructSequence_New(stats_type);
	if (!tuple)
		return NULL;
	info_put_numbers(tuple, &at, &stats.chunk_bytes,
			 offsetof(struct accel_pool_stats, fragmentation) / sizeof(uint64_t));
	info_put(tuple, &at, PyFloat_FromDouble(stats.fragmentation));
	return info_whole(tuple);
}

static PyObject *pool_trim(PyObject *self, PyObject *args, PyObject *words)
{
	static char *names[] = { "keep", NULL };
	struct pool *pool = (struct pool *)self;
	Py_ssize_t keep = 0;
	int rc;

	if (!PyArg_ParseTupleAndKeywords(args, words, "|n:trim", names, &keep))
		return NULL;
	if (keep < 0)
		return PyErr_Format(PyExc_ValueError, "keep is %zd: it is in bytes, from 0", keep);
	if (!pool_enter(pool))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	rc = accel_pool_trim(pool->handle, (size_t)keep);
	Py_END_ALLOW_THREADS
	pool_leave(pool);
	return error_none(rc);
}

/* Frees its blocks. What refuses that is as if the program had freed them itself. */
static PyObject *pool_close(PyObject *self, PyObject *unused)
{
	struct pool *pool = (struct pool *)self;
	PyObject *memory, *freed;

	(void)unused;
	if (!pool->handle)
		Py_RETURN_NONE;
	if (!child_is_idle(&pool->child, "pool"))
		return NULL;
	while (pool->handle && (memory = (PyObject *)pool->blocks)) {
		Py_INCREF(memory);
		freed = PyObject_CallMethod(memory, "free", NULL);
		Py_DECREF(memory);
		if (!freed)
			return NULL;
		Py_DECREF(freed);
	}
	/* Meanwhile another thread may have been here. */
	if (!child_is_idle(&pool->child, "pool"))
		return NULL;
	return error_none(pool_destroy(pool));
}

static PyObject *pool_enter_block(PyObject *self, PyObject *unused)
{
	(void)unused;
	if (!pool_enter((struct pool *)self))
		return NULL;
	pool_leave((struct pool *)self);
	return Py_NewRef(self);
}

static PyObject *pool_exit_block(PyObject *self, PyObject *args)
{
	return exit_block(args, pool_close(self, NULL));
}

static PyObject *pool_repr(PyObject *self)
{
	const struct pool *pool = (const struct pool *)self;

	return PyUnicode_FromFormat("<accel.Pool of %s memory at %p%s>",
				    memory_kind_name(pool->kind), self,
				    pool->handle ? "" : ", closed");
}

static PyObject *pool_get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(!((struct pool *)self)->handle);
}

static PyObject *pool_get_device(PyObject *self, void *unused)
{
	(void)unused;
	return Py_NewRef((PyObject *)((struct pool *)self)->child.device);
}

static PyMethodDef pool_methods[] = {
	{ "allocate", WORDS(pool_allocate), METH_VARARGS | METH_KEYWORDS,
	  "allocate($self, size, stream=None, exportable=False)\n--\n\n"
	  "A block of memory, which is not cleared. The work of the stream may use it at once; with\n"
	  "None the program and every stream may. Memory.export() needs exportable." },
	{ "stats", pool_stats, METH_NOARGS,
	  "stats($self)\n--\n\nWhat it has and what was done with it: a PoolStats." },
	{ "trim", WORDS(pool_trim), METH_VARARGS | METH_KEYWORDS,
	  "trim($self, keep=0)\n--\n\n"
	  "Gives free memory back to the device, as long as keep bytes stay free." },
	{ "close", pool_close, METH_NOARGS,
	  "close($self)\n--\n\nFrees all blocks, and ends the pool. A second time it does nothing." },
	{ "__enter__", pool_enter_block, METH_NOARGS, ENTER_DOC },
	{ "__exit__", pool_exit_block, METH_VARARGS, EXIT_DOC },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef pool_values[] = {
	{ "closed", pool_get_closed, NULL, "Whether it was closed, or its device.", NULL },
	{ "device", pool_get_device, NULL, "Device that it belongs to.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot pool_slots[] = {
	{ Py_tp_doc, "Many allocations out of a few large ones. Made by Device.pool()." },
	{ Py_tp_dealloc, pool_dealloc },
	{ Py_tp_traverse, child_traverse },
	{ Py_tp_members, child_members },
	{ Py_tp_repr, pool_repr },
	{ Py_tp_methods, pool_methods },
	{ Py_tp_getset, pool_values },
	{ 0, NULL },
};

static PyType_Spec pool_spec = {
	.name = "accel.Pool",
	.basicsize = sizeof(struct pool),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = pool_slots,
};

int pool_init(PyObject *module)
{
	accel_pool_type = type_add(module, &pool_spec);
	stats_type = PyStructSequence_NewType(&stats_desc);
	if (!accel_pool_type || !stats_type)
		return -1;
	return PyModule_AddObjectRef(module, "PoolStats", (PyObject *)stats_type);
}
