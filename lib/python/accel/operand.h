/* SPDX-License-Identifier: MIT */
/* What copies are given. */
#ifndef ACCEL_PYTHON_OPERAND_H
#define ACCEL_PYTHON_OPERAND_H

#include "memory.h"

/*
 * `rows` of `width` bytes, `pitch` from one to the next: one row, but for an array of two or more
 * dimensions whose rows do not touch.
 */
struct operand {
	struct memory *memory; /* counted and entered; or NULL */
	Py_buffer *view; /* else this is held: in a place of its own, as it may not be moved */
	char *ptr;
	size_t size;
	size_t width;
	size_t rows;
	size_t pitch;
};

/* Rows of an operand whose bytes are contiguous. */
struct part {
	size_t offset;
	size_t width;
	size_t rows;
	size_t pitch;
};

/* false with an exception; then there is nothing to put. */
bool operand_get(struct operand *operand, PyObject *object, bool writable, const char *name);
void operand_put(struct operand *operand);
/* Makes a whole one look like rows. */
void operand_cut(struct operand *operand, const struct operand *rows);

/* Leaves these rows; false with an exception. */
bool operand_take(struct operand *operand, const struct part *part);

#endif
