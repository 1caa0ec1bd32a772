// SPDX-License-Identifier: MIT
/*
 * Memory: an allocation or a registration, or a slice of one. A slice holds its root, and all that
 * is counted is counted there.
 */

#include "child.h"
#include "copy.h"
#include "device.h"
#include "dlpack.h"
#include "error.h"
#include "memory.h"
#include "operand.h"
#include "pending.h"
#include "pool.h"
#include "stream.h"
#include "tensor.h"
#include "wait.h"

#include <string.h>

PyTypeObject *accel_memory_type;

static const char *const kind_names[] = {
	[ACCEL_MEMORY_PAGEABLE] = "pageable",
	[ACCEL_MEMORY_DEVICE] = "device",
	[ACCEL_MEMORY_HOST] = "host",
	[ACCEL_MEMORY_UNIFIED] = "unified",
	[ACCEL_MEMORY_REGISTERED] = "registered",
};

const char *memory_kind_name(enum accel_memory_kind kind)
{
	return kind_names[kind];
}

bool memory_kind(const char *name, enum accel_memory_kind *kind)
{
	static const enum accel_memory_kind kinds[] = { ACCEL_MEMORY_DEVICE, ACCEL_MEMORY_HOST,
							ACCEL_MEMORY_UNIFIED };

	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++)
		if (!strcmp(name, kind_names[kinds[i]])) {
			*kind = kinds[i];
			return true;
		}
	PyErr_Format(PyExc_ValueError, "kind is '%s': it has to be 'device', 'host' or 'unified'",
		     name);
	return false;
}

bool memory_enter(struct memory *memory)
{
	return child_enter(&memory->root->child, memory->root->live, "memory has been freed");
}

void memory_leave(struct memory *memory)
{
	child_leave(&memory->root->child);
}

/* ---- beginning and end ---- */

/* What frees a block: made with it, as a free may not fail for want of memory. */
struct block {
	struct block *next; /* of those that are left */
	struct pool *pool; /* counted if it is left */
	struct stream *stream; /* likewise; or NULL */
	void *ptr;
	size_t size;
};

/* Blocks that a callback has freed while another stream might use them. */
static struct block *blocks_left;

/*
 * A free in the order of a stream waits for the stream's callbacks, which need the GIL. A callback may
 * not wait: -EDEADLK. In a callback of the same stream all work that has used the block has ended. The
 * work of a stream that was closed may not have: all of the device is waited for.
 */
static int block_free(const struct block *block)
{
	struct stream *used_on = block->stream && block->stream->handle ? block->stream : NULL;
	struct accel_device *device = block->pool->child.device->handle;
	struct accel_stream *stream = used_on ? used_on->handle : NULL;
	struct accel_pool *pool = block->pool->handle;
	int rc = 0;

	/* It has ended with all its blocks. */
	if (!pool)
		return 0;
	block->pool->child.device->busy++;
	block->pool->child.busy++;
	if (used_on) {
		used_on->child.device->busy++;
		used_on->child.busy++;
	}
	Py_BEGIN_ALLOW_THREADS
	if (block->stream && !stream)
		rc = accel_device_synchronize(device);
	else if (stream && accel_stream_query(stream) == -EDEADLK)
		stream = NULL;
	if (rc != -EDEADLK)
		rc = accel_pool_deallocate(pool, stream, block->ptr, block->size, 1);
	Py_END_ALLOW_THREADS
	if (used_on) {
		used_on->child.busy--;
		used_on->child.device->busy--;
	}
	block->pool->child.busy--;
	block->pool->child.device->busy--;
	return rc;
}

static int give_back_block(struct memory *root)
{
	struct block *block = root->block;
	int rc;

	block->pool = root->pool;
	block->stream = root->stream;
	block->ptr = root->ptr;
	block->size = root->size;
	rc = block_free(block);
	if (rc != -EDEADLK)
		return rc;
	Py_INCREF((PyObject *)block->pool);
	Py_XINCREF((PyObject *)block->stream);
	block->next = blocks_left;
	blocks_left = block;
	root->block = NULL;
	return 0;
}

static void block_drop(struct block *block)
{
	Py_XDECREF((PyObject *)block->stream);
	Py_DECREF((PyObject *)block->pool);
	PyMem_Free(block);
}

/* Does not wait. */
static bool block_is_idle(const struct block *block)
{
	struct accel_stream *stream = block->stream ? block->stream->handle : NULL;
	int rc;

	if (!block->pool->handle)
		return true;
	if (stream)
		rc = accel_stream_query(stream);
	else
		rc = accel_device_synchronize_until(block->pool->child.device->handle, 0);
	return rc != -EINPROGRESS && rc != -EDEADLK && (stream || rc != -ETIME);
}

/* Out of the list before anything is dropped, which may run code of the program. */
void blocks_reap(void)
{
	struct block **at = &blocks_left, *block, *ended = NULL;

	while ((block = *at)) {
		if (!block_is_idle(block)) {
			at = &block->next;
			continue;
		}
		*at = block->next;
		block->next = ended;
		ended = block;
		if (block->pool->handle)
			accel_pool_deallocate(block->pool->handle, NULL, block->ptr, block->size, 1);
	}
	while ((block = ended)) {
		ended = block->next;
		block_drop(block);
	}
}

int blocks_end(const struct pool *pool)
{
	struct block **at = &blocks_left, *block;

	while ((block = *at)) {
		if (block->pool != pool) {
			at = &block->next;
			continue;
		}
		*at = block->next;
		if (block_free(block) == -EDEADLK) {
			block->next = blocks_left;
			blocks_left = block;
			return -EDEADLK;
		}
		block_drop(block);
		/* The list may be another one now. */
		at = &blocks_left;
	}
	return 0;
}

static void block_link(struct memory *root, struct pool *pool)
{
	root->pool = (struct pool *)Py_NewRef((PyObject *)pool);
	root->next = pool->blocks;
	root->link = &pool->blocks;
	if (root->next)
		root->next->link = &root->next;
	pool->blocks = root;
}

static void block_unlink(struct memory *root)
{
	*root->link = root->next;
	if (root->next)
		root->next->link = root->link;
}

static int give_back(struct memory *root)
{
	struct accel_device *device = root->child.device->handle;

	if (root->pool)
		return give_back_block(root);
	switch (root->kind) {
	case ACCEL_MEMORY_DEVICE:
		return accel_device_memory_deallocate(device, root->ptr, root->size);
	case ACCEL_MEMORY_HOST:
		return accel_host_memory_deallocate(device, root->ptr, root->size);
	case ACCEL_MEMORY_UNIFIED:
		return accel_unified_memory_deallocate(device, root->ptr, root->size);
	default:
		return accel_host_unregister(device, root->ptr);
	}
}

/*
 * `live` is cleared first, since the functions below may release the GIL. The buffer of the registered
 * object is released last, since the device may use it until then. A block that could not be freed stays
 * live; with -EFAULT it was freed, and with -EPERM it is the parent's.
 */
static int end_root(struct memory *root)
{
	int rc;

	if (!root->live)
		return 0;
	root->live = false;
	rc = give_back(root);
	if (root->pool) {
		root->live = rc && rc != -EFAULT && rc != -EPERM;
		if (!root->live)
			block_unlink(root);
	}
	if (root->view.obj)
		PyBuffer_Release(&root->view);
	return rc;
}

static void memory_end(struct child *child)
{
	end_root((struct memory *)((char *)child - offsetof(struct memory, child)));
}

static void memory_dealloc(PyObject *self)
{
	struct memory *memory = (struct memory *)self;

	PyObject_GC_UnTrack(self);
	if (memory->root == memory) {
		child_drop(&memory->child);
		if (memory->pool && memory->live)
			block_unlink(memory);
	} else {
		Py_XDECREF((PyObject *)memory->root);
	}
	Py_XDECREF((PyObject *)memory->stream);
	Py_XDECREF((PyObject *)memory->pool);
	PyMem_Free(memory->block);
	object_free(self, memory->child.weakrefs);
}

static int memory_traverse(PyObject *self, visitproc visit, void *arg)
{
	const struct memory *memory = (const struct memory *)self;

	if (memory->root != memory)
		Py_VISIT((PyObject *)memory->root);
	Py_VISIT(memory->view.obj);
	Py_VISIT((PyObject *)memory->stream);
	Py_VISIT((PyObject *)memory->pool);
	return child_traverse(self, visit, arg);
}

/*
 * Ends a registration, as memory_dealloc() does. Queued copies hold references that the collector
 * cannot see, so it does not take what the device uses for garbage. While there are views the memory
 * stays: they are in the same cycle, and clearing them breaks it.
 */
static int memory_clear(PyObject *self)
{
	struct memory *memory = (struct memory *)self;

	if (memory->root == memory && memory->view.obj && !memory->exports)
		end_root(memory);
	return 0;
}

/* From here on the object owns what lies there. */
static void begin_root(struct memory *memory, struct device *device, void *ptr, size_t size,
		       enum accel_memory_kind kind)
{
	struct accel_pointer_info info;

	memory->root = memory;
	memory->ptr = ptr;
	memory->size = size;
	memory->kind = kind;
	memory->live = true;
	memory->accessible = !accel_pointer_get_info(ptr, &info) &&
		info.flags & ACCEL_POINTER_ACCESSIBLE;
	child_link(&memory->child, device, memory_end);
}

/* What memory is asked for, and what it is then. */
struct request {
	enum accel_memory_kind kind;
	int (*make)(struct accel_device *device, struct request *request);
	memory_allocate allocate;
	block_allocate allocate_block;
	struct accel_pool *pool;
	struct accel_stream *stream;
	int fd;
	unsigned int flags;
	void *ptr;
	size_t size;
};

static int make_allocation(struct accel_device *device, struct request *request)
{
	return request->allocate(device, &request->ptr, request->size);
}

static int make_block(struct accel_device *device, struct request *request)
{
	(void)device;
	return request->allocate_block(request->pool, request->stream, request->size, 1,
				       &request->ptr);
}

static int make_import(struct accel_device *device, struct request *request)
{
	return accel_memory_import(device, request->fd, &request->ptr, &request->size);
}

static int make_registration(struct accel_device *device, struct request *request)
{
	return accel_host_register(device, request->ptr, request->size, request->flags);
}

static int make_dmabuf_registration(struct accel_device *device, struct request *request)
{
	return accel_host_register_dmabuf(device, request->fd, request->size, request->flags,
					  &request->ptr);
}

/* What ended copies hold may be what it needs. Takes over the object; NULL with an exception. */
static PyObject *memory_make(struct memory *memory, struct device *device, struct request *request)
{
	int rc;

	pending_reap(NULL);
	do {
		Py_BEGIN_ALLOW_THREADS
		rc = request->make(device->handle, request);
		Py_END_ALLOW_THREADS
	} while (rc && pending_reap_all());
	if (rc) {
		error_raise(rc);
		if (memory->view.obj)
			PyBuffer_Release(&memory->view);
		Py_DECREF((PyObject *)memory);
		return NULL;
	}
	memory->read_only = request->flags & ACCEL_REGISTER_READ_ONLY;
	begin_root(memory, device, request->ptr, request->size, request->kind);
	return (PyObject *)memory;
}

static PyObject *memory_request(struct device *device, struct request *request)
{
	struct memory *memory = (struct memory *)object_new(accel_memory_type);

	return memory ? memory_make(memory, device, request) : NULL;
}

static bool can_be_size(Py_ssize_t size, const char *verb)
{
	if (size > 0)
		return true;
	PyErr_Format(PyExc_ValueError, "size is %zd: at least 1 byte can be %s", size, verb);
	return false;
}

PyObject *memory_new(struct device *device, Py_ssize_t size, enum accel_memory_kind kind,
		     memory_allocate function)
{
	struct request request = { .kind = kind, .make = make_allocation, .allocate = function,
				   .size = (size_t)size };

	return can_be_size(size, "allocated") ? memory_request(device, &request) : NULL;
}

PyObject *memory_of_pool(struct pool *pool, struct stream *stream, Py_ssize_t size,
			 block_allocate allocate)
{
	struct request request = { .kind = pool->kind, .make = make_block,
				   .allocate_block = allocate, .pool = pool->handle,
				   .stream = stream ? stream->handle : NULL, .size = (size_t)size };
	struct memory *memory;
	struct block *block;

	if (!can_be_size(size, "allocated"))
		return NULL;
	block = PyMem_Calloc(1, sizeof(*block));
	if (!block)
		return PyErr_NoMemory();
	memory = (struct memory *)memory_request(pool->child.device, &request);
	if (!memory) {
		PyMem_Free(block);
		return NULL;
	}
	memory->block = block;
	memory->stream = (struct stream *)Py_XNewRef((PyObject *)stream);
	block_link(memory, pool);
	return (PyObject *)memory;
}

/* One stream is known, so it is the caller who orders several. */
void memory_used_on(struct memory *memory, struct stream *stream)
{
	struct memory *root = memory->root;
	PyObject *before = (PyObject *)root->stream;

	if (!root->pool || root->stream == stream)
		return;
	root->stream = (struct stream *)Py_NewRef((PyObject *)stream);
	Py_XDECREF(before);
}

PyObject *memory_import(struct device *device, PyObject *args, PyObject *words)
{
	static char *names[] = { "fd", NULL };
	struct request request = { .kind = ACCEL_MEMORY_DEVICE, .make = make_import };
	PyObject *file;

	if (!PyArg_ParseTupleAndKeywords(args, words, "O:import_memory", names, &file))
		return NULL;
	request.fd = PyObject_AsFileDescriptor(file);
	return request.fd < 0 ? NULL : memory_request(device, &request);
}

PyObject *memory_register_dmabuf(struct device *device, PyObject *args, PyObject *words)
{
	static char *names[] = { "fd", "size", "read_only", NULL };
	struct request request = { .kind = ACCEL_MEMORY_REGISTERED,
				   .make = make_dmabuf_registration };
	PyObject *file;
	Py_ssize_t size;
	int read_only = 0;

	if (!PyArg_ParseTupleAndKeywords(args, words, "On|p:register_dmabuf", names, &file, &size,
					 &read_only))
		return NULL;
	if (!can_be_size(size, "registered"))
		return NULL;
	request.size = (size_t)size;
	request.flags = read_only ? ACCEL_REGISTER_READ_ONLY : 0;
	request.fd = PyObject_AsFileDescriptor(file);
	return request.fd < 0 ? NULL : memory_request(device, &request);
}

PyObject *memory_register(struct device *device, PyObject *args, PyObject *words)
{
	static char *names[] = { "buffer", "read_only", NULL };
	struct request request = { .kind = ACCEL_MEMORY_REGISTERED, .make = make_registration };
	struct memory *memory;
	PyObject *buffer;
	int read_only = 0;

	if (!PyArg_ParseTupleAndKeywords(args, words, "O|p:register", names, &buffer, &read_only))
		return NULL;
	memory = (struct memory *)object_new(accel_memory_type);
	if (!memory)
		return NULL;
	if (buffer_get(buffer, &memory->view, read_only ? PyBUF_SIMPLE : PyBUF_WRITABLE))
		goto free_memory;
	if (!memory->view.len) {
		PyErr_SetString(PyExc_ValueError,
				"the buffer is empty: there is nothing to register");
		PyBuffer_Release(&memory->view);
		goto free_memory;
	}
	request.ptr = memory->view.buf;
	request.size = (size_t)memory->view.len;
	request.flags = read_only ? ACCEL_REGISTER_READ_ONLY : 0;
	return memory_make(memory, device, &request);

free_memory:
	Py_DECREF((PyObject *)memory);
	return NULL;
}

static bool is_root(const struct memory *memory, const char *verb)
{
	if (memory->root == memory)
		return true;
	PyErr_Format(PyExc_ValueError, "this is a slice: %s the memory that it is of", verb);
	return false;
}

/* The descriptor is the caller's. */
static PyObject *memory_export(PyObject *self, PyObject *unused)
{
	struct memory *memory = (struct memory *)self;
	int fd, rc;

	(void)unused;
	if (!is_root(memory, "export") || !memory_enter(memory))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	rc = accel_memory_export(memory->child.device->handle, memory->ptr, &fd);
	Py_END_ALLOW_THREADS
	memory_leave(memory);
	return rc ? error_raise(rc) : fd_object(fd);
}

/* The device stays open meanwhile. */
static bool wait_for_copies(struct memory *root)
{
	struct device *device = root->child.device;
	bool done;

	if (!device_enter(device))
		return false;
	done = pending_wait_memory(root);
	device_leave(device);
	return done;
}

/* Waits for queued copies that use it, as the memory of others would be written to otherwise. */
static PyObject *memory_free(PyObject *self, PyObject *unused)
{
	struct memory *memory = (struct memory *)self;

	(void)unused;
	if (!is_root(memory, "free"))
		return NULL;
	if (!memory->live || !memory->child.device->handle)
		Py_RETURN_NONE;
	if (!child_is_idle(&memory->child, "memory"))
		return NULL;
	/* Of the views some may be those of copies. */
	if ((memory->queued || memory->exports) && !wait_for_copies(memory))
		return NULL;
	/* Meanwhile another thread may have been here. */
	if (!memory->live)
		Py_RETURN_NONE;
	if (!child_is_idle(&memory->child, "memory"))
		return NULL;
	if (memory->exports && !device_is_inherited(memory->child.device)) {
		PyErr_Format(PyExc_BufferError,
			     "there are %u views of the memory: memoryviews, arrays or tensors "
			     "have to go first",
			     memory->exports);
		return NULL;
	}
	return error_none(end_root(memory));
}

/* ---- use ---- */

static PyObject *memory_copy_from(PyObject *self, PyObject *args, PyObject *words)
{
	static char *names[] = { "source", "stream", NULL };
	PyObject *source, *stream = Py_None;

	if (!PyArg_ParseTupleAndKeywords(args, words, "O|O:copy_from", names, &source, &stream))
		return NULL;
	return copy_objects(self, source, stream);
}

static PyObject *memory_copy_to(PyObject *self, PyObject *args, PyObject *words)
{
	static char *names[] = { "destination", "stream", NULL };
	PyObject *destination, *stream = Py_None;

	if (!PyArg_ParseTupleAndKeywords(args, words, "O|O:copy_to", names, &destination, &stream))
		return NULL;
	return copy_objects(destination, self, stream);
}

static PyObject *memory_fill(PyObject *self, PyObject *args, PyObject *words)
{
	static char *names[] = { "value", "stream", NULL };
	PyObject *value, *stream = Py_None;

	if (!PyArg_ParseTupleAndKeywords(args, words, "O|O:fill", names, &value, &stream))
		return NULL;
	return copy_fill((struct memory *)self, value, stream);
}

static PyObject *memory_tobytes(PyObject *self, PyObject *unused)
{
	struct memory *memory = (struct memory *)self;
	struct operand src = { .ptr = memory->ptr, .size = memory->size, .width = memory->size,
			       .rows = 1, .pitch = memory->size }, dst = src;
	PyObject *bytes, *copied;

	(void)unused;
	if (!memory_enter(memory))
		return NULL;
	bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)memory->size);
	if (bytes) {
		dst.ptr = PyBytes_AsString(bytes);
		copied = wait_result(copy_wait(&dst, &src));
		if (!copied)
			Py_CLEAR(bytes);
		Py_XDECREF(copied);
	}
	memory_leave(memory);
	return bytes;
}

static PyObject *memory_subscript(PyObject *self, PyObject *key)
{
	struct memory *memory = (struct memory *)self, *slice;
	Py_ssize_t start, stop, step, length;

	if (!PyObject_TypeCheck(key, &PySlice_Type))
		return PyErr_Format(PyExc_TypeError,
				    "memory is cut by slices, memory[start:stop]; bytes of host "
				    "memory are read with memoryview(memory)");
	if (PySlice_Unpack(key, &start, &stop, &step))
		return NULL;
	if (step != 1)
		return PyErr_Format(PyExc_ValueError,
				    "the step is %zd: slices of memory are contiguous", step);
	length = PySlice_AdjustIndices((Py_ssize_t)memory->size, &start, &stop, step);
	slice = (struct memory *)object_new(accel_memory_type);
	if (!slice)
		return NULL;
	slice->root = (struct memory *)Py_NewRef((PyObject *)memory->root);
	slice->ptr = memory->ptr + start;
	slice->size = (size_t)length;
	PyObject_GC_Track((PyObject *)slice);
	return (PyObject *)slice;
}

static PyObject *memory_view(PyObject *self, PyObject *args, PyObject *words)
{
	return call_package("accel._view", "View", self, args, words);
}

static Py_ssize_t memory_length(PyObject *self)
{
	return (Py_ssize_t)((struct memory *)self)->size;
}

static PyObject *memory_repr(PyObject *self)
{
	const struct memory *memory = (const struct memory *)self;

	return PyUnicode_FromFormat("<accel.Memory %s, %zd bytes at %p%s>",
				    kind_names[memory->root->kind], (Py_ssize_t)memory->size,
				    memory->ptr, memory->root->live ? "" : ", freed");
}

static PyObject *memory_enter_block(PyObject *self, PyObject *unused)
{
	(void)unused;
	if (!memory_enter((struct memory *)self))
		return NULL;
	memory_leave((struct memory *)self);
	return Py_NewRef(self);
}

/* A slice ends with its root. */
static PyObject *memory_exit_block(PyObject *self, PyObject *args)
{
	if (((struct memory *)self)->root != (struct memory *)self)
		Py_RETURN_NONE;
	return exit_block(args, memory_free(self, NULL));
}

static PyObject *memory_get_size(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromSize_t(((struct memory *)self)->size);
}

static PyObject *memory_get_address(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromVoidPtr(((struct memory *)self)->ptr);
}

static PyObject *memory_get_kind(PyObject *self, void *unused)
{
	(void)unused;
	return PyUnicode_FromString(kind_names[((struct memory *)self)->root->kind]);
}

static PyObject *memory_get_device(PyObject *self, void *unused)
{
	(void)unused;
	return Py_NewRef((PyObject *)((struct memory *)self)->root->child.device);
}

static PyObject *memory_get_pool(PyObject *self, void *unused)
{
	PyObject *pool = (PyObject *)((struct memory *)self)->root->pool;

	(void)unused;
	return Py_NewRef(pool ? pool : Py_None);
}

static PyObject *memory_get_freed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(!((struct memory *)self)->root->live);
}

static PyMethodDef memory_methods[] = {
	{ "copy_from", WORDS(memory_copy_from), METH_VARARGS | METH_KEYWORDS,
	  "copy_from($self, source, stream=None)\n--\n\naccel.copy(self, source, stream)" },
	{ "copy_to", WORDS(memory_copy_to), METH_VARARGS | METH_KEYWORDS,
	  "copy_to($self, destination, stream=None)\n--\n\naccel.copy(destination, self, stream)" },
	{ "fill", WORDS(memory_fill), METH_VARARGS | METH_KEYWORDS,
	  "fill($self, value, stream=None)\n--\n\n"
	  "Sets every byte to value, 0 to 255, or repeats it: bytes of 1, 2, 4 or 8. On a stream it "
	  "is queued;\n"
	  "unified memory is filled by the call, which waits for the stream before." },
	{ "view", WORDS(memory_view), METH_VARARGS | METH_KEYWORDS,
	  "view($self, dtype='uint8', shape=None)\n--\n\n"
	  "An array over the memory: a View. dtype is a name such as 'float32', a format of struct, "
	  "or a\n"
	  "type of NumPy; shape an int or a tuple of ints, and None is one dimension." },
	{ "tobytes", memory_tobytes, METH_NOARGS,
	  "tobytes($self)\n--\n\nA copy of what is in it." },
	{ "export", memory_export, METH_NOARGS,
	  "export($self)\n--\n\n"
	  "A file descriptor of a dma-buf that stands for the memory, to be closed by the caller.\n"
	  "It keeps the memory, also if that is freed: see Device.import_memory()." },
	{ "free", memory_free, METH_NOARGS,
	  "free($self)\n--\n\n"
	  "Gives it back. Waits for queued copies with Python's memory. A second time it does "
	  "nothing." },
	{ "__dlpack__", WORDS(memory_dlpack), METH_VARARGS | METH_KEYWORDS,
	  "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
	  "A tensor of bytes over the memory: of the processor's where it can read it, else of an "
	  "extension device, for consumers that pass the address on, such as mpi4py." },
	{ "__dlpack_device__", memory_dlpack_device, METH_NOARGS,
	  "__dlpack_device__($self)\n--\n\n"
	  "(1, 0) where the processor can read it, (12, index) elsewhere." },
	{ "__enter__", memory_enter_block, METH_NOARGS, ENTER_DOC },
	{ "__exit__", memory_exit_block, METH_VARARGS, EXIT_DOC },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef memory_values[] = {
	{ "size", memory_get_size, NULL, "Bytes.", NULL },
	{ "address", memory_get_address, NULL, "Pointer, for interfaces that take numbers.", NULL },
	{ "kind", memory_get_kind, NULL, "'device', 'host', 'unified' or 'registered'.", NULL },
	{ "device", memory_get_device, NULL, "Device that it belongs to.", NULL },
	{ "pool", memory_get_pool, NULL, "Pool that it is a block of, or None.", NULL },
	{ "freed", memory_get_freed, NULL, "Whether it was freed, or its device closed.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot memory_slots[] = {
	{ Py_tp_doc, "Memory that a device uses, or a slice of it. Made by methods of a Device." },
	{ Py_tp_dealloc, memory_dealloc },
	{ Py_tp_traverse, memory_traverse },
	{ Py_tp_clear, memory_clear },
	{ Py_tp_members, child_members },
	{ Py_tp_repr, memory_repr },
	{ Py_tp_methods, memory_methods },
	{ Py_tp_getset, memory_values },
	{ Py_mp_length, memory_length },
	{ Py_mp_subscript, memory_subscript },
	{ Py_bf_getbuffer, memory_get_buffer },
	{ Py_bf_releasebuffer, memory_release_buffer },
	{ 0, NULL },
};

static PyType_Spec memory_spec = {
	.name = "accel.Memory",
	.basicsize = sizeof(struct memory),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = memory_slots,
};

int memory_init(PyObject *module)
{
	accel_memory_type = type_add(module, &memory_spec);
	return accel_memory_type ? 0 : -1;
}
