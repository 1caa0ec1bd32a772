// SPDX-License-Identifier: MIT
/* What copies are given: device memory, or anything with the buffer protocol or DLPack. */

#include "memory.h"
#include "operand.h"
#include "tensor.h"

/* Arrays whose rows are whole but do not touch; how far apart they are, or 0. */
static size_t row_pitch(const Py_buffer *view, size_t *width)
{
	Py_ssize_t inner = view->itemsize;

	if (view->ndim < 2)
		return 0;
	for (int i = view->ndim - 1; i > 0; i--) {
		/* From one of one there is no next. */
		if (view->shape[i] != 1 && view->strides[i] != inner)
			return 0;
		inner *= view->shape[i];
	}
	if (view->strides[0] < inner)
		return 0;
	*width = (size_t)inner;
	return (size_t)view->strides[0];
}

static bool get_shape(struct operand *operand, const char *name)
{
	const Py_buffer *view = operand->view;

	operand->ptr = view->buf;
	operand->size = (size_t)view->len;
	operand->width = operand->size;
	operand->pitch = operand->size;
	operand->rows = 1;
	if (PyBuffer_IsContiguous(view, 'C'))
		return true;
	operand->pitch = row_pitch(view, &operand->width);
	if (operand->pitch) {
		operand->rows = (size_t)view->shape[0];
		return true;
	}
	PyErr_Format(PyExc_BufferError,
		     "the %s is not C-contiguous, and its first dimension is not the only one with "
		     "gaps: make a copy that is, as numpy.ascontiguousarray() and Tensor.contiguous() do",
		     name);
	return false;
}

static bool get_view(struct operand *operand, PyObject *object, bool writable, const char *name)
{
	operand->view = PyMem_Malloc(sizeof(*operand->view));
	if (!operand->view) {
		PyErr_NoMemory();
		return false;
	}
	if (buffer_get(object, operand->view, writable ? PyBUF_STRIDED : PyBUF_STRIDED_RO))
		goto free_view;
	if (get_shape(operand, name))
		return true;
	PyBuffer_Release(operand->view);
free_view:
	PyMem_Free(operand->view);
	return false;
}

bool operand_get(struct operand *operand, PyObject *object, bool writable, const char *name)
{
	*operand = (struct operand) { 0 };
	if (Py_TYPE(object) != accel_memory_type)
		return get_view(operand, object, writable, name);
	operand->memory = (struct memory *)object;
	if (!memory_enter(operand->memory))
		return false;
	if (writable && operand->memory->root->read_only) {
		memory_leave(operand->memory);
		PyErr_Format(PyExc_BufferError, "the %s is registered as read-only", name);
		return false;
	}
	Py_INCREF(object);
	operand->ptr = operand->memory->ptr;
	operand->size = operand->memory->size;
	operand->width = operand->size;
	operand->pitch = operand->size;
	operand->rows = 1;
	return true;
}

void operand_put(struct operand *operand)
{
	if (operand->memory) {
		memory_leave(operand->memory);
		Py_DECREF((PyObject *)operand->memory);
	}
	if (operand->view) {
		PyBuffer_Release(operand->view);
		PyMem_Free(operand->view);
	}
}

void operand_cut(struct operand *operand, const struct operand *rows)
{
	operand->width = rows->width;
	operand->pitch = rows->width;
	operand->rows = rows->rows;
}

/* Also sums that do not fit are outside. */
static bool part_fits(const struct operand *operand, const struct part *part)
{
	size_t last;

	return operand->rows == 1 && part->width && part->rows &&
		!__builtin_mul_overflow(part->rows - 1, part->pitch, &last) &&
		!__builtin_add_overflow(last, part->width, &last) &&
		!__builtin_add_overflow(last, part->offset, &last) && last <= operand->size;
}

bool operand_take(struct operand *operand, const struct part *part)
{
	if (!part_fits(operand, part)) {
		PyErr_SetString(PyExc_ValueError, "the rows are outside of the memory");
		return false;
	}
	operand->ptr += part->offset;
	operand->size = part->width * part->rows;
	operand->width = part->width;
	operand->rows = part->rows;
	operand->pitch = part->pitch;
	return true;
}
