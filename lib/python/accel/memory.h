/* SPDX-License-Identifier: MIT */
/* Memory: allocations, registrations, blocks of pools, and slices. */
#ifndef ACCEL_PYTHON_MEMORY_H
#define ACCEL_PYTHON_MEMORY_H

#include "child.h"

#include <accel/pool.h>

struct pool;
struct stream;

struct memory {
	PyObject_HEAD
	struct child child; /* of a root only */
	struct memory *root; /* itself, or what this is a slice of, counted */
	char *ptr;
	size_t size;
	/* Of a root only: */
	enum accel_memory_kind kind;
	bool live;
	bool accessible; /* to the processor */
	bool read_only;
	unsigned int exports; /* views of others: buffers and tensors */
	unsigned int queued; /* entries of pending.c */
	Py_buffer view; /* what is registered */
	/* Of a block of a pool only: */
	struct pool *pool; /* counted */
	struct stream *stream; /* the last that has used it, counted; or NULL */
	struct block *block; /* see memory.c */
	struct memory *next; /* of the pool's blocks */
	struct memory **link;
};

extern PyTypeObject *accel_memory_type;

int memory_init(PyObject *module);
typedef int (*memory_allocate)(struct accel_device *device, void **ptr, size_t size);
PyObject *memory_new(struct device *device, Py_ssize_t size, enum accel_memory_kind kind,
		     memory_allocate allocate);
PyObject *memory_register(struct device *device, PyObject *args, PyObject *words);
PyObject *memory_register_dmabuf(struct device *device, PyObject *args, PyObject *words);
PyObject *memory_import(struct device *device, PyObject *args, PyObject *words);
typedef int (*block_allocate)(struct accel_pool *pool, struct accel_stream *stream, size_t size,
			      size_t alignment, void **ptr);
/* Both are entered; the stream may be NULL. */
PyObject *memory_of_pool(struct pool *pool, struct stream *stream, Py_ssize_t size,
			 block_allocate allocate);
/*
 * Frees blocks that a callback could not free, and whose streams have ended their work meanwhile.
 * Makes a query for each.
 */
void blocks_reap(void);
/* Frees those of the pool, and waits for their streams. -EDEADLK in a callback. */
int blocks_end(const struct pool *pool);
/* Work was queued that uses the memory. */
void memory_used_on(struct memory *memory, struct stream *stream);
const char *memory_kind_name(enum accel_memory_kind kind);
/* One that can be allocated. false with an exception. */
bool memory_kind(const char *name, enum accel_memory_kind *kind);
/* As device_enter(), and the memory cannot be freed before memory_leave(). */
bool memory_enter(struct memory *memory);
void memory_leave(struct memory *memory);

/* ---- view.c: buffers over it ---- */

/* Counts a buffer or tensor over the memory, which meanwhile is not freed, and holds its device open. */
bool memory_export_begin(struct memory *memory);
/* The same, with an exception if the processor cannot access it. */
bool memory_view_begin(struct memory *memory);
int memory_get_buffer(PyObject *self, Py_buffer *view, int flags);
void memory_release_buffer(PyObject *self, Py_buffer *view);

#endif
