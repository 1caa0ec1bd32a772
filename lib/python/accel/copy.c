// SPDX-License-Identifier: MIT
/* Copies and fills. */

#include "child.h"
#include "copy.h"
#include "device.h"
#include "error.h"
#include "memory.h"
#include "operand.h"
#include "pending.h"
#include "stream.h"
#include "wait.h"

#include <string.h>

bool copy_stream(PyObject *object, struct stream **stream)
{
	*stream = NULL;
	if (object == Py_None)
		return true;
	if (Py_TYPE(object) != accel_stream_type) {
		PyErr_Format(PyExc_TypeError, "stream has to be an accel.Stream or None, not %R",
			     Py_TYPE(object));
		return false;
	}
	*stream = (struct stream *)object;
	return child_enter(&(*stream)->child, (*stream)->handle, "stream is closed");
}

void copy_stream_done(struct stream *stream)
{
	if (stream)
		child_leave(&stream->child);
}

static bool same_shape(struct operand *dst, struct operand *src)
{
	if (dst->size != src->size) {
		PyErr_Format(PyExc_ValueError,
			     "the destination has %zu bytes and the source %zu: slice one of them",
			     dst->size, src->size);
		return false;
	}
	if (dst->rows == 1)
		operand_cut(dst, src);
	else if (src->rows == 1)
		operand_cut(src, dst);
	if (dst->width == src->width)
		return true;
	PyErr_Format(PyExc_BufferError,
		     "the destination has gaps after every %zu bytes and the source after every "
		     "%zu: one has to be C-contiguous",
		     dst->width, src->width);
	return false;
}

struct copy {
	const struct operand *dst;
	const struct operand *src;
};

static int copy_part(void *data, size_t begin, size_t number)
{
	const struct copy *copy = data;

	return accel_memory_copy(copy->dst->ptr + begin, copy->src->ptr + begin, number);
}

static int copy_part_rows(void *data, size_t begin, size_t number)
{
	const struct copy *copy = data;
	const struct operand *dst = copy->dst, *src = copy->src;

	return accel_memory_copy_2d(dst->ptr + begin * dst->pitch, dst->pitch,
				    src->ptr + begin * src->pitch, src->pitch, dst->width, number);
}

static bool overlap(const struct operand *dst, const struct operand *src)
{
	return dst->ptr < src->ptr + src->pitch * src->rows &&
		src->ptr < dst->ptr + dst->pitch * dst->rows;
}

/* Parts of what overlaps might overwrite what is copied later. */
int copy_wait(const struct operand *dst, const struct operand *src)
{
	struct copy copy = { dst, src };
	bool flat = dst->rows == 1;
	wait_part function = flat ? copy_part : copy_part_rows;
	size_t count = flat ? dst->size : dst->rows;
	int rc;

	if (!overlap(dst, src))
		return wait_in_parts(function, &copy, count, flat ? 1 : dst->width);
	Py_BEGIN_ALLOW_THREADS
	rc = function(&copy, 0, count);
	Py_END_ALLOW_THREADS
	return rc;
}

static PyObject *copy_now(const struct operand *dst, const struct operand *src)
{
	return wait_result(copy_wait(dst, src));
}

/* ---- on a stream ---- */

static bool is_device(const struct accel_pointer_info *info)
{
	return info->kind == ACCEL_MEMORY_DEVICE || info->kind == ACCEL_MEMORY_UNIFIED;
}

static bool is_memory_of(const struct accel_pointer_info *info, const struct stream *stream)
{
	return is_device(info) && info->device == stream->child.device->handle;
}

/*
 * What is held until the copy has ended. The device keeps its own memory itself, and a block of a pool
 * is freed in the order of its stream: but for one that is used through a view or by another device.
 */
static bool is_held(const struct operand *operand, const struct accel_pointer_info *info,
		    const struct stream *stream)
{
	if (info->kind != ACCEL_MEMORY_DEVICE)
		return info->kind != ACCEL_MEMORY_PAGEABLE;
	return operand->view ||
		(operand->memory->root->pool && info->device != stream->child.device->handle);
}

/* Beside a registration there may be other memory of its object. */
static bool is_whole(const struct operand *operand, const struct accel_pointer_info *info)
{
	return operand->ptr + operand->pitch * (operand->rows - 1) + operand->width <=
		(const char *)info->base + info->size;
}

/* Whether a batch takes it: not pageable memory, nor that of another device. */
static bool fits_batch(const struct operand *operand, const struct accel_pointer_info info[2],
		       const struct stream *stream)
{
	for (int i = 0; i < 2; i++)
		if (info[i].kind == ACCEL_MEMORY_PAGEABLE || !is_whole(&operand[i], &info[i]) ||
		    info[i].device != stream->child.device->handle)
			return false;
	return info[0].kind == ACCEL_MEMORY_DEVICE || info[1].kind == ACCEL_MEMORY_DEVICE;
}

/* The copy and the record of the event behind it, by one system call. */
static int queue_with_event(const struct operand *operand, const struct stream *stream,
			    struct accel_event *event)
{
	struct accel_batch *batch;
	int rc = accel_batch_create(stream->child.device->handle, &batch);

	if (rc)
		return rc;
	rc = accel_batch_copy_2d(batch, operand[0].ptr, operand[0].pitch, operand[1].ptr,
				 operand[1].pitch, operand[0].width, operand[0].rows, 0) ?:
		accel_batch_record_event(batch, event) ?:
		accel_batch_submit(batch, stream->handle, NULL);
	accel_batch_destroy(batch);
	return rc;
}

static int queue_copy(const struct operand *operand, const struct stream *stream)
{
	return accel_async_memory_copy_2d(stream->handle, operand[0].ptr, operand[0].pitch,
					  operand[1].ptr, operand[1].pitch, operand[0].width,
					  operand[0].rows, 0);
}

static PyObject *copy_on_stream(struct operand *operand, struct stream *stream)
{
	struct accel_pointer_info info[2];
	struct pending *pending = NULL;
	bool held[2], recorded;
	int rc = 0;

	if (device_is_inherited(stream->child.device))
		return error_say(EPERM, "the stream is of the process that this one was forked from");
	for (int i = 0; i < 2; i++) {
		rc = accel_pointer_get_info(operand[i].ptr, &info[i]);
		if (rc)
			return error_raise(rc);
	}
	if (!is_device(&info[0]) && !is_device(&info[1])) {
		PyErr_SetString(PyExc_ValueError,
				"neither is device memory: only copies to or from a device go on "
				"a stream");
		return NULL;
	}
	if (!is_memory_of(&info[0], stream) && !is_memory_of(&info[1], stream))
		return error_say(EINVAL, "the stream is of another device than the memory");
	for (int i = 0; i < 2; i++)
		held[i] = is_held(&operand[i], &info[i], stream);
	if (held[0] || held[1]) {
		pending = pending_new(stream->child.device);
		if (!pending)
			return NULL;
	}
	recorded = pending && fits_batch(operand, info, stream);
	Py_BEGIN_ALLOW_THREADS
	if (recorded) {
		rc = queue_with_event(operand, stream, pending_event(pending));
		/* The copy needs less than its event does. */
		recorded = rc != -ENOMEM && rc != -ENOSPC;
	}
	if (!recorded)
		rc = queue_copy(operand, stream);
	Py_END_ALLOW_THREADS
	if (rc) {
		error_raise(rc);
		if (pending)
			pending_cancel(pending);
		return NULL;
	}
	for (int i = 0; i < 2; i++)
		if (held[i])
			pending_hold(pending, &operand[i]);
		else if (operand[i].memory)
			memory_used_on(operand[i].memory, stream);
	if (pending)
		pending_add(pending, stream, recorded);
	Py_RETURN_NONE;
}

static PyObject *copy_operands(struct operand *operand, struct stream *stream)
{
	if (!operand[0].size)
		Py_RETURN_NONE;
	if (!stream)
		return copy_now(&operand[0], &operand[1]);
	return copy_on_stream(operand, stream);
}

/* `part` is for the destination and for the source; NULL: all of both, of the same size. */
static PyObject *copy_parts(PyObject *dst, PyObject *src, PyObject *stream_object,
			    const struct part *part)
{
	struct operand operand[2];
	struct stream *stream;
	PyObject *result = NULL;

	if (!copy_stream(stream_object, &stream))
		return NULL;
	if (!operand_get(&operand[0], dst, true, "destination"))
		goto leave_stream;
	if (!operand_get(&operand[1], src, false, "source"))
		goto put_destination;
	if (part ? operand_take(&operand[0], &part[0]) && operand_take(&operand[1], &part[1]) :
		   same_shape(&operand[0], &operand[1]))
		result = copy_operands(operand, stream);
	operand_put(&operand[1]);
put_destination:
	operand_put(&operand[0]);
leave_stream:
	copy_stream_done(stream);
	return result;
}

PyObject *copy_objects(PyObject *dst, PyObject *src, PyObject *stream)
{
	return copy_parts(dst, src, stream, NULL);
}

PyObject *copy_rows(PyObject *module, PyObject *args)
{
	PyObject *dst, *src, *stream;
	struct part part[2];
	Py_ssize_t width, rows, pitch[2], offset[2];

	(void)module;
	if (!PyArg_ParseTuple(args, "OOnnnnnnO:copy_rows", &dst, &src, &width, &rows, &pitch[0],
			      &pitch[1], &offset[0], &offset[1], &stream))
		return NULL;
	for (int i = 0; i < 2; i++)
		part[i] = (struct part) { .offset = (size_t)offset[i], .width = (size_t)width,
					  .rows = (size_t)rows, .pitch = (size_t)pitch[i] };
	return copy_parts(dst, src, stream, part);
}

/* ---- fills ---- */

/* What is repeated: 1, 2, 4 or 8 bytes. */
struct pattern {
	unsigned char bytes[8];
	size_t size;
};

static bool pattern_get(struct pattern *pattern, PyObject *object)
{
	long value;

	if (PyBytes_Check(object)) {
		pattern->size = (size_t)PyBytes_Size(object);
		if (pattern->size != 1 && pattern->size != 2 && pattern->size != 4 &&
		    pattern->size != 8) {
			PyErr_Format(PyExc_ValueError,
				     "value has %zu bytes: a pattern has 1, 2, 4 or 8",
				     pattern->size);
			return false;
		}
		memcpy(pattern->bytes, PyBytes_AsString(object), pattern->size);
		return true;
	}
	value = PyLong_AsLong(object);
	if (value == -1 && PyErr_Occurred())
		return false;
	if (value < 0 || value > 255) {
		PyErr_Format(PyExc_ValueError, "value is %ld: a byte is 0 to 255", value);
		return false;
	}
	pattern->bytes[0] = (unsigned char)value;
	pattern->size = 1;
	return true;
}

static PyObject *fill_host(struct memory *memory, const struct pattern *pattern,
			   const struct stream *stream)
{
	if (stream) {
		PyErr_SetString(PyExc_ValueError,
				"this is host memory: only device memory is filled on a stream");
		return NULL;
	}
	if (!memory->root->accessible || memory->root->read_only) {
		PyErr_SetString(PyExc_ValueError,
				memory->root->read_only ? "the memory is registered as read-only" :
				"the processor cannot access memory of another driver");
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS
	if (pattern->size == 1)
		memset(memory->ptr, pattern->bytes[0], memory->size);
	else
		for (size_t at = 0; at < memory->size; at += pattern->size)
			memcpy(memory->ptr + at, pattern->bytes, pattern->size);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}

struct fill {
	const struct memory *memory;
	const struct pattern *pattern;
};

static int fill_part(void *data, size_t begin, size_t number)
{
	const struct fill *fill = data;
	const struct memory *memory = fill->memory;
	size_t size = fill->pattern->size;

	return accel_device_memory_fill(memory->root->child.device->handle,
					memory->ptr + begin * size, fill->pattern->bytes, size,
					number * size, 0);
}

static PyObject *fill(struct memory *memory, const struct pattern *pattern, struct stream *stream)
{
	struct accel_device *device = memory->root->child.device->handle;
	enum accel_memory_kind kind = memory->root->kind;
	struct fill all = { memory, pattern };
	int rc;

	if (memory->size % pattern->size)
		return PyErr_Format(PyExc_ValueError,
				    "the memory has %zu bytes: no multiple of the %zu of value",
				    memory->size, pattern->size);
	if (!memory->size)
		Py_RETURN_NONE;
	if (kind != ACCEL_MEMORY_DEVICE && kind != ACCEL_MEMORY_UNIFIED)
		return fill_host(memory, pattern, stream);
	if (!stream)
		return wait_result(wait_in_parts(fill_part, &all, memory->size / pattern->size,
						 pattern->size));
	Py_BEGIN_ALLOW_THREADS
	rc = accel_async_device_memory_fill(device, stream->handle, memory->ptr, pattern->bytes,
					    pattern->size, memory->size, 0);
	Py_END_ALLOW_THREADS
	if (!rc)
		memory_used_on(memory, stream);
	return error_none(rc);
}

PyObject *copy_fill(struct memory *memory, PyObject *value, PyObject *stream_object)
{
	struct pattern pattern;
	struct stream *stream;
	PyObject *result = NULL;

	if (!pattern_get(&pattern, value))
		return NULL;
	if (!copy_stream(stream_object, &stream))
		return NULL;
	if (memory_enter(memory)) {
		result = fill(memory, &pattern, stream);
		memory_leave(memory);
	}
	copy_stream_done(stream);
	return result;
}
