// SPDX-License-Identifier: MIT
/*
 * Device: one open of a device. Objects for the same device share the handle of libaccel, which
 * counts; what was made through one of them ends with that one.
 */

#include "callback.h"
#include "child.h"
#include "device.h"
#include "error.h"
#include "event.h"
#include "info.h"
#include "memory.h"
#include "pending.h"
#include "pool.h"
#include "stream.h"
#include "wait.h"

#include <sched.h>
#include <unistd.h>

PyTypeObject *accel_device_type;

bool device_is_inherited(const struct device *device)
{
	return device->pid != getpid();
}

bool device_enter(struct device *device)
{
	if (!device->handle || device->closing) {
		PyErr_SetString(PyExc_ValueError, "the device is closed");
		return false;
	}
	device->busy++;
	return true;
}

void device_leave(struct device *device)
{
	device->busy--;
}

PyObject *device_open(PyObject *module, PyObject *args, PyObject *words)
{
	static char *names[] = { "index", NULL };
	struct accel_device *handle;
	struct device *device;
	int index = 0, rc;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, words, "|i:open", names, &index))
		return NULL;
	device = (struct device *)object_new(accel_device_type);
	if (!device)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	rc = accel_device_open(index, &handle);
	Py_END_ALLOW_THREADS
	if (rc) {
		error_raise(rc);
		Py_DECREF((PyObject *)device);
		return NULL;
	}
	device->handle = handle;
	device->index = index;
	device->pid = getpid();
	PyObject_GC_Track((PyObject *)device);
	return (PyObject *)device;
}

/* One that others have views of; with `queued` one of those that queued copies use. Or NULL. */
static struct memory *find_viewed(const struct device *device, bool queued)
{
	struct memory *memory;

	for (struct child *child = device->children; child; child = child->next) {
		memory = child_memory(child);
		if (memory && memory->exports && (!queued || pending_has_memory(memory)))
			return memory;
	}
	return NULL;
}

/* Views of others lead into memory that would be unmapped. */
static bool has_views(const struct device *device)
{
	return find_viewed(device, false);
}

/* Some of them are those of copies. false with an exception, that of a signal. */
static bool wait_for_views(struct device *device)
{
	struct memory *memory;
	bool done = true;

	device->busy++;
	while (done && (memory = find_viewed(device, true))) {
		Py_INCREF((PyObject *)memory);
		done = pending_wait_memory(memory);
		Py_DECREF((PyObject *)memory);
	}
	device->busy--;
	return done;
}

static bool is_idle(const struct device *device)
{
	/* After fork() other threads are not there. */
	if (!device->busy || device_is_inherited(device))
		return true;
	error_say(EBUSY, "another thread uses the device: wait until its calls return");
	return false;
}

/* Sets `closing`: whoever comes later finds the device closed. */
static bool can_close(struct device *device)
{
	/* While it waited for copies another thread may have come. */
	if (!is_idle(device) || !wait_for_views(device) || !is_idle(device))
		return false;
	/* For those of a child see device_end(). */
	if (has_views(device) && !device_is_inherited(device)) {
		PyErr_SetString(PyExc_BufferError,
				"there are views of the device's memory: memoryviews, arrays or "
				"tensors have to go first");
		return false;
	}
	device->closing = true;
	return true;
}

static void close_handle(void *handle)
{
	Py_BEGIN_ALLOW_THREADS
	accel_device_close(handle);
	Py_END_ALLOW_THREADS
}

/*
 * Views of a child may be of threads that are not there, and would never go. So they do not keep it
 * from closing, but the handle stays: host memory is mapped as long as that.
 */
static void device_end(struct device *device)
{
	struct accel_device *handle = device->handle;
	bool keep = has_views(device);
	int rc = 0;

	children_end(device);
	device->handle = NULL;
	if (!keep) {
		Py_BEGIN_ALLOW_THREADS
		rc = accel_device_close(handle);
		Py_END_ALLOW_THREADS
	}
	if (rc == -EDEADLK)
		later_add(close_handle, handle);
	device->closing = false;
}

/* The end of what is queued, and of frees that began before: they wait for work too. As wait_device(). */
static int wait_until_idle(const struct device *device)
{
	int rc;

	for (;;) {
		rc = wait_device(device->handle);
		if (rc == -EDEADLK || rc == 1 || !device->busy || device_is_inherited(device))
			return rc;
		Py_BEGIN_ALLOW_THREADS
		sched_yield();
		Py_END_ALLOW_THREADS
	}
}

/*
 * What is queued ends first, well or not: whose stream has failed has been told by that, or did not
 * ask. The wait needs no `busy`, for nobody else can close.
 */
static PyObject *device_close(PyObject *self, PyObject *unused)
{
	struct device *device = (struct device *)self;
	int rc;

	(void)unused;
	if (!device->handle || (device->closing && !device_is_inherited(device)))
		Py_RETURN_NONE;
	if (!can_close(device))
		return NULL;
	rc = wait_until_idle(device);
	if (rc == -EDEADLK || rc == 1) {
		device->closing = false;
		return wait_result(rc);
	}
	pending_wait_device(device);
	device_end(device);
	Py_RETURN_NONE;
}

/* Nothing belongs to it any more: all that does holds it. */
static void device_dealloc(PyObject *self)
{
	struct device *device = (struct device *)self;

	PyObject_GC_UnTrack(self);
	if (device->handle)
		device_end(device);
	object_free(self, device->weakrefs);
}

static int device_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT((PyObject *)Py_TYPE(self));
	return 0;
}

static PyObject *allocate(PyObject *self, PyObject *args, PyObject *words,
			  enum accel_memory_kind kind, memory_allocate function)
{
	static char *names[] = { "size", NULL };
	struct device *device = (struct device *)self;
	PyObject *memory;
	Py_ssize_t size;

	if (!PyArg_ParseTupleAndKeywords(args, words, "n", names, &size))
		return NULL;
	if (!device_enter(device))
		return NULL;
	memory = memory_new(device, size, kind, function);
	device_leave(device);
	return memory;
}

static PyObject *device_allocate(PyObject *self, PyObject *args, PyObject *words)
{
	return allocate(self, args, words, ACCEL_MEMORY_DEVICE, accel_device_memory_allocate);
}

static PyObject *device_allocate_host(PyObject *self, PyObject *args, PyObject *words)
{
	return allocate(self, args, words, ACCEL_MEMORY_HOST, accel_host_memory_allocate);
}

static PyObject *device_allocate_unified(PyObject *self, PyObject *args, PyObject *words)
{
	return allocate(self, args, words, ACCEL_MEMORY_UNIFIED, accel_unified_memory_allocate);
}

/* Runs what makes an object of the device. */
static PyObject *make(PyObject *self, PyObject *args, PyObject *words,
		      PyObject *(*function)(struct device *device, PyObject *args, PyObject *words))
{
	struct device *device = (struct device *)self;
	PyObject *object;

	if (!device_enter(device))
		return NULL;
	object = function(device, args, words);
	device_leave(device);
	return object;
}

static PyObject *device_info(PyObject *self, PyObject *unused)
{
	return make(self, unused, NULL, info_of_device);
}

static PyObject *device_stats(PyObject *self, PyObject *unused)
{
	return make(self, unused, NULL, info_of_memory);
}

static PyObject *device_register(PyObject *self, PyObject *args, PyObject *words)
{
	return make(self, args, words, memory_register);
}

static PyObject *device_register_dmabuf(PyObject *self, PyObject *args, PyObject *words)
{
	return make(self, args, words, memory_register_dmabuf);
}

static PyObject *device_import_memory(PyObject *self, PyObject *args, PyObject *words)
{
	return make(self, args, words, memory_import);
}

static PyObject *device_pool(PyObject *self, PyObject *args, PyObject *words)
{
	return make(self, args, words, pool_new);
}

static PyObject *device_stream(PyObject *self, PyObject *unused)
{
	return make(self, unused, NULL, stream_new);
}

static PyObject *device_event(PyObject *self, PyObject *unused)
{
	return make(self, unused, NULL, event_new);
}

/*
 * The error of one of the streams that were made through this object. What libaccel answers for
 * streams that this thread has created may be of another one, or of another layer.
 */
static int own_failure(const struct device *device)
{
	const struct child *child;
	const struct stream *stream;
	int rc;

	for (child = device->children; child; child = child->next) {
		/* Or another object, whose type stands at the same place. */
		stream = (const struct stream *)((const char *)child -
						 offsetof(struct stream, child));
		if (Py_TYPE((PyObject *)stream) != accel_stream_type || !stream->handle)
			continue;
		rc = accel_stream_query(stream->handle);
		if (rc && rc != -EINPROGRESS)
			return rc;
	}
	return 0;
}

static PyObject *device_synchronize(PyObject *self, PyObject *unused)
{
	struct device *device = (struct device *)self;
	PyObject *result;
	int rc;

	(void)unused;
	if (!device_enter(device))
		return NULL;
	rc = wait_device(device->handle);
	if (rc != 1 && rc != -EDEADLK && rc != -ENODEV && rc != -ESTALE && rc != -EPERM)
		rc = own_failure(device);
	result = wait_result(rc);
	pending_reap_all();
	device_leave(device);
	return result;
}

static PyObject *device_enter_block(PyObject *self, PyObject *unused)
{
	(void)unused;
	if (!device_enter((struct device *)self))
		return NULL;
	device_leave((struct device *)self);
	return Py_NewRef(self);
}

static PyObject *device_exit_block(PyObject *self, PyObject *args)
{
	return exit_block(args, device_close(self, NULL));
}

static PyObject *device_repr(PyObject *self)
{
	const struct device *device = (const struct device *)self;

	return PyUnicode_FromFormat("<accel.Device %d%s>", device->index,
				    device->handle ? "" : ", closed");
}

static PyObject *device_get_index(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLong(((struct device *)self)->index);
}

static PyObject *device_get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(!((struct device *)self)->handle);
}

static PyMethodDef device_methods[] = {
	{ "info", device_info, METH_NOARGS,
	  "info($self)\n--\n\nWhat the device is: a DeviceInfo." },
	{ "stats", device_stats, METH_NOARGS,
	  "stats($self)\n--\n\nThe memory of the device and what was done with it: a MemoryStats." },
	{ "allocate", WORDS(device_allocate), METH_VARARGS | METH_KEYWORDS,
	  "allocate($self, size)\n--\n\nDevice memory, filled with 0." },
	{ "allocate_host", WORDS(device_allocate_host), METH_VARARGS | METH_KEYWORDS,
	  "allocate_host($self, size)\n--\n\n"
	  "Page-locked memory of the host, filled with 0: copies on streams run beside the "
	  "program." },
	{ "allocate_unified", WORDS(device_allocate_unified), METH_VARARGS | METH_KEYWORDS,
	  "allocate_unified($self, size)\n--\n\n"
	  "Page-locked memory of the host that counts as device memory too." },
	{ "register", WORDS(device_register), METH_VARARGS | METH_KEYWORDS,
	  "register($self, buffer, read_only=False)\n--\n\n"
	  "Pins the memory of an object with the buffer protocol or DLPack, until it is freed.\n"
	  "With read_only the device only reads it, and the object may be a constant one." },
	{ "register_dmabuf", WORDS(device_register_dmabuf), METH_VARARGS | METH_KEYWORDS,
	  "register_dmabuf($self, fd, size, read_only=False)\n--\n\n"
	  "Memory of another driver, by its dma-buf: copies take it as registered memory. The "
	  "processor\n"
	  "cannot access it. The file descriptor may be closed after the call." },
	{ "import_memory", WORDS(device_import_memory), METH_VARARGS | METH_KEYWORDS,
	  "import_memory($self, fd)\n--\n\n"
	  "Device memory that another process has exported from the same device: both access the "
	  "same\n"
	  "bytes. The file descriptor may be closed after the call." },
	{ "pool", WORDS(device_pool), METH_VARARGS | METH_KEYWORDS,
	  "pool($self, initial_size=0, *, maximum_size=0, growth_size=0, granule=0,\n"
	  "     release_threshold=None, debug=False, kind='device')\n--\n\n"
	  "A pool, whose allocations need no system call. Sizes are in bytes, and 0 is the default "
	  "of\n"
	  "each. With a release_threshold it gives memory back while more than that is free. With "
	  "debug\n"
	  "it finds writes outside of blocks, and is slow. kind is 'device', 'host' or 'unified'." },
	{ "stream", device_stream, METH_NOARGS, "stream($self)\n--\n\nA new stream." },
	{ "event", device_event, METH_NOARGS, "event($self)\n--\n\nA new event." },
	{ "synchronize", device_synchronize, METH_NOARGS,
	  "synchronize($self)\n--\n\nWaits for all streams of this process on the device." },
	{ "close", device_close, METH_NOARGS,
	  "close($self)\n--\n\n"
	  "Waits for what is queued, and ends all memory, streams and events of this object.\n"
	  "A second time it does nothing." },
	{ "__enter__", device_enter_block, METH_NOARGS, ENTER_DOC },
	{ "__exit__", device_exit_block, METH_VARARGS, EXIT_DOC },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef device_values[] = {
	{ "index", device_get_index, NULL, "Number that it was opened by.", NULL },
	{ "closed", device_get_closed, NULL, "Whether it was closed.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyMemberDef device_members[] = {
	{ "__weaklistoffset__", T_PYSSIZET, offsetof(struct device, weakrefs), READONLY, NULL },
	{ NULL, 0, 0, 0, NULL },
};

static PyType_Slot device_slots[] = {
	{ Py_tp_doc, "A device that is open. Made by accel.open()." },
	{ Py_tp_dealloc, device_dealloc },
	{ Py_tp_traverse, device_traverse },
	{ Py_tp_members, device_members },
	{ Py_tp_repr, device_repr },
	{ Py_tp_methods, device_methods },
	{ Py_tp_getset, device_values },
	{ 0, NULL },
};

static PyType_Spec device_spec = {
	.name = "accel.Device",
	.basicsize = sizeof(struct device),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = device_slots,
};

int device_init(PyObject *module)
{
	accel_device_type = type_add(module, &device_spec);
	return accel_device_type ? 0 : -1;
}
