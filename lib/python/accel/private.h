/* SPDX-License-Identifier: MIT */
/*
 * What the files of the Python module accel share. It knows libaccel by its public header only,
 * and CPython by its stable ABI.
 *
 * The GIL guards everything here: objects, counters, lists. It is given up in every call of
 * libaccel that may wait, and nowhere else. What such a call uses cannot go away meanwhile: `busy`
 * counts the calls that use a device, a piece of memory, a stream or an event, and whatever would
 * end one of them refuses as long as it is not 0.
 */
#ifndef ACCEL_PYTHON_PRIVATE_H
#define ACCEL_PYTHON_PRIVATE_H

#define PY_SSIZE_T_CLEAN
/* The buffer protocol is in the stable ABI from 3.11. */
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <structmember.h>

#include <accel/accel.h>
#include <accel/pool.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What belongs to a device and ends with it. It stands first in all objects that have one. */
struct child {
	PyObject *weakrefs;
	struct device *device; /* counted */
	void (*end)(struct child *child); /* gives back what libaccel has of it */
	struct child *next;
	struct child **link; /* NULL: ended with its device */
	unsigned int busy;
};

struct device {
	PyObject_HEAD
	PyObject *weakrefs;
	struct accel_device *handle; /* NULL: closed */
	int index;
	pid_t pid; /* that opened it */
	bool closing;
	unsigned int busy; /* calls on it and on what belongs to it */
	struct child *children; /* not counted */
};

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

struct pool {
	PyObject_HEAD
	struct child child;
	struct accel_pool *handle; /* NULL: closed */
	enum accel_memory_kind kind;
	struct memory *blocks; /* those that live, not counted */
};

struct queue;

struct stream {
	PyObject_HEAD
	struct child child;
	struct accel_stream *handle; /* NULL: closed */
	struct queue *queue; /* counted */
};

struct event {
	PyObject_HEAD
	struct child child;
	struct accel_event *handle; /* NULL: closed */
	struct queue *queue; /* counted: of the stream that it was recorded on, or NULL */
};

extern PyTypeObject *accel_device_type;
extern PyTypeObject *accel_memory_type;
extern PyTypeObject *accel_pool_type;
extern PyTypeObject *accel_stream_type;
extern PyTypeObject *accel_event_type;

/* ---- error.c ---- */

int error_init(PyObject *module);
/* Sets accel.Error with the sentence of the last call that failed in this thread. NULL. */
PyObject *error_raise(int err);
/* The same with a sentence of our own. */
PyObject *error_say(int err, const char *sentence);
/* The exception itself; or NULL with another one. */
PyObject *error_object(int err, const char *sentence);
/* None, or error_raise(). */
PyObject *error_none(int err);

/* ---- device.c: devices ---- */

int device_init(PyObject *module);
PyObject *device_open(PyObject *module, PyObject *args, PyObject *words);
/* Whatever uses the device stands between the two. An exception if it is closed. */
bool device_enter(struct device *device);
void device_leave(struct device *device);
/* Opened by the process that this one was forked from. */
bool device_is_inherited(const struct device *device);

/* ---- child.c: what belongs to a device ---- */

/* Completes the object, which the garbage collector tracks from here on. */
void child_link(struct child *child, struct device *device, void (*end)(struct child *child));
/* At the end of the object: ends it if it lives, and drops the reference to the device. */
void child_drop(struct child *child);
/*
 * For the garbage collector. There is no tp_clear for the device: it refers to no Python object, so
 * each cycle is broken elsewhere, and the objects of one that was cleared can still be used.
 */
int child_traverse(PyObject *self, visitproc visit, void *arg);
/* For weak references, a slot Py_tp_members of each type with a child. */
extern PyMemberDef child_members[];
/* The memory that it is, or NULL if it is another object. */
struct memory *child_memory(struct child *child);
/* Ends all that lives, the latest first; they keep their device. */
void children_end(struct device *device);
/* device_enter() and busy. An exception if `alive` is false: `what` names the object. */
bool child_enter(struct child *child, bool alive, const char *what);
void child_leave(struct child *child);
/* Whether it can be ended now; an exception if a call of another thread uses it. */
bool child_is_idle(const struct child *child, const char *what);

/* ---- info.c: what a device says of itself ---- */

int info_init(PyObject *module);
/* What the device's methods info() and stats() do; neither takes arguments. */
PyObject *info_of_device(struct device *device, PyObject *args, PyObject *words);
PyObject *info_of_memory(struct device *device, PyObject *args, PyObject *words);

/* Puts a value, which it takes over, into the next field of a tuple with names. */
void info_put(PyObject *tuple, Py_ssize_t *at, PyObject *value);
void info_put_numbers(PyObject *tuple, Py_ssize_t *at, const uint64_t *numbers, size_t count);
/* A value that could not be made has left an exception and a hole: then NULL, and the tuple goes. */
PyObject *info_whole(PyObject *tuple);

/* ---- pool.c ---- */

int pool_init(PyObject *module);
PyObject *pool_new(struct device *device, PyObject *args, PyObject *words);

/* ---- memory.c ---- */

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

/* ---- view.c, dlpack.c: memory for others ---- */

/*
 * Counts a buffer or tensor over the memory, which meanwhile is not freed, and holds its device open.
 * false with an exception if the processor cannot access it.
 */
bool memory_view_begin(struct memory *memory);
int memory_get_buffer(PyObject *self, Py_buffer *view, int flags);
void memory_release_buffer(PyObject *self, Py_buffer *view);
PyObject *memory_dlpack(PyObject *self, PyObject *args, PyObject *words);
PyObject *memory_dlpack_device(PyObject *self, PyObject *unused);
int tensor_init(PyObject *module);
/*
 * An object with the buffer protocol for one that has DLPack only, as tensors of PyTorch do; any other
 * object itself. NULL with an exception.
 */
PyObject *tensor_buffer(PyObject *object);
/* PyObject_GetBuffer() of that. */
int buffer_get(PyObject *object, Py_buffer *view, int flags);

/* ---- operand.c: what copies are given ---- */

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

/* ---- copy.c ---- */

/* None, or NULL with an exception. Streams may be None. Without a stream a signal ends them. */
PyObject *copy_objects(PyObject *dst, PyObject *src, PyObject *stream);
/* The same as wait_in_parts() for operands of one shape. */
int copy_wait(const struct operand *dst, const struct operand *src);
/* For accel._view: destination, source, width, rows, two pitches, two offsets, stream. */
PyObject *copy_rows(PyObject *module, PyObject *args);
PyObject *copy_fill(struct memory *memory, PyObject *value, PyObject *stream);
/* A stream, entered; or *stream NULL for None. false with an exception. */
bool copy_stream(PyObject *object, struct stream **stream);
void copy_stream_done(struct stream *stream);

/* ---- pending.c: memory that queued copies use, a queue for each stream ---- */

struct pending;

/* NULL with an exception. */
struct queue *queue_new(void);
struct queue *queue_get(struct queue *queue);
void queue_put(struct queue *queue);
/* How many callbacks of the stream have not returned. */
unsigned int *queue_calls(struct queue *queue);
/* Before anything is queued. NULL with an exception. */
struct pending *pending_new(struct device *device);
/* Nothing was queued. */
void pending_cancel(struct pending *pending);
/* What an operand holds is held until the copy has ended. */
void pending_hold(struct pending *pending, struct operand *operand);
/* What is recorded behind the copy. */
struct accel_event *pending_event(const struct pending *pending);
/* The copy was queued on the stream; `recorded`: and the event behind it. */
void pending_add(struct pending *pending, struct stream *stream, bool recorded);
/*
 * Gives back what ended copies have used: all of the queue, which may be NULL, and of some others.
 * Makes one query for each entry that is released, and at most 1 + LOOK_AT others. An exception that
 * is set stays.
 */
void pending_reap(struct queue *queue);
/* The same for all queues, for a query each. Returns whether an entry was released. */
bool pending_reap_all(void);
/* Whether queued copies use the memory, also by views of it. */
bool pending_has_memory(const struct memory *root);
/* Waits for them. false with an exception. */
bool pending_wait_memory(struct memory *root);
/* The same for all of a device that is closing. */
void pending_wait_device(struct device *device);

/* ---- wait.c ---- */

/* CLOCK_MONOTONIC in ns; None is never. false with an exception. */
bool wait_deadline(PyObject *timeout, uint64_t *deadline);
/* 0 or a negative errno of libaccel; 1 with an exception, that of a signal. Gives up the GIL. */
int wait_stream(struct accel_stream *stream, uint64_t deadline);
int wait_event(struct accel_event *event, uint64_t deadline);
int wait_device(struct accel_device *device);
/* Clears the error of the stream. */
int wait_clear(struct accel_stream *stream);
/* Calls a function for parts of `count` things of `size` bytes, each of which waits for its part. */
typedef int (*wait_part)(void *data, size_t begin, size_t number);
int wait_in_parts(wait_part function, void *data, size_t count, size_t size);
/* None, or NULL with an exception: also for 1. */
PyObject *wait_result(int rc);

/* ---- callback.c ---- */

int callback_init(void);
/* None, or NULL with an exception. */
PyObject *callback_add(struct stream *stream, PyObject *function);
/* For accel._asyncio: whether a call that queues work on the stream would wait for a callback. */
PyObject *callback_is_queued(PyObject *module, PyObject *stream);
/* For what libaccel refuses in a callback: it is done in another thread. Without memory it is left. */
void later_add(void (*end)(void *thing), void *thing);
/* Does what was left, unless it is called in a callback. */
void later_run(void);

/* ---- stream.c, event.c ---- */

int stream_init(PyObject *module);
/* What the device's methods of these names do; neither takes arguments. */
PyObject *stream_new(struct device *device, PyObject *args, PyObject *words);
int event_init(PyObject *module);
PyObject *event_new(struct device *device, PyObject *args, PyObject *words);
PyObject *event_record_on(struct event *event, struct stream *stream);

/* ---- common to all files ---- */

/* A type of which programs make no objects themselves, in the module. */
PyTypeObject *type_add(PyObject *module, PyType_Spec *spec);
/*
 * Filled with 0, so that an incomplete object can be deallocated. It is not tracked by the garbage
 * collector: gc.get_objects() would show it to other threads. PyObject_GC_Track() or child_link()
 * follows when the object is complete.
 */
PyObject *object_new(PyTypeObject *type);
/* `weakrefs` is the object's; the object has left the garbage collector, and holds nothing. */
void object_free(PyObject *self, PyObject *weakrefs);
/* The result of the end of a with block: an exception that comes out of it hides no other. */
PyObject *exit_block(PyObject *args, PyObject *result);
#define ENTER_DOC "__enter__($self)\n--\n\nReturns itself."
#define EXIT_DOC "__exit__($self, kind, value, trace, /)\n--\n\n" \
	"Ends it. An exception of the with block is not hidden by another one."
/* Calls a function of a module of the package with self and the arguments. */
PyObject *call_package(const char *module, const char *function, PyObject *self, PyObject *args,
		       PyObject *words);
/* A file descriptor, which the caller of the program owns; closed if that fails. */
PyObject *fd_object(int fd);
/* The iterator of `await self`: what the function of accel._asyncio returns. */
PyObject *await_with(PyObject *self, const char *function);
/* A method that takes keywords, in a table of methods. */
#define WORDS(function) ((PyCFunction)(void (*)(void))(function))

#endif
