/* SPDX-License-Identifier: MIT */
/*
 * What the files of libaccel_acl share. It knows libaccel by its public header only.
 *
 * One lock guards all that the threads of a process share: whether aclInit() was called, which
 * devices are open and how many calls use them, handles, peers, callbacks. No function of libaccel
 * that takes a lock is called while it is held (accel_event_query() takes none), so it has no order
 * with the locks there, in fork() neither. A thread that has to wait for a device that another
 * thread opens or closes sleeps on a condition.
 */
#ifndef LIBACCEL_ACL_PRIVATE_H
#define LIBACCEL_ACL_PRIVATE_H

#include "acl/acl.h"

#include <accel/accel.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* ---- error.c: codes and sentences ---- */

/* Every call of the interface begins with it: the name stands before its sentences. */
void call_begin(const char *name);
/* Keeps a sentence for aclGetRecentErrMsg() and returns the code. */
aclError call_fail(aclError code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for what libaccel returned, with its own sentence; 0 is ACL_SUCCESS. */
aclError call_failed(int err);
/* The same with another code where the resource is exhausted. */
aclError call_failed_for(int err, aclError exhausted);
aclError call_null(const char *argument);
aclError err_code(int err);
/* The device, or its memory, is not there any more, or is another process's. */
bool err_is_lost(int err);

/* ---- state.c: which devices are open, and who uses them ---- */

#define MAX_DEVICES 64

enum device_state { DEVICE_CLOSED, DEVICE_OPENING, DEVICE_OPEN, DEVICE_CLOSING };

/*
 * Under the lock, but for what stays as it is while the device is in use, id and dev, and for two
 * that are written under it, and by device_put() without.
 */
struct device {
	_Atomic(enum device_state) state;
	int32_t id;
	struct accel_device *dev;
	uint64_t sets; /* aclrtSetDevice() that were not undone */
	atomic_uint users; /* calls under way */
	aclrtContext context; /* the default one */
	uint64_t peers; /* bits of the devices that it was let access */
	void *allocations; /* allocation.c: what was allocated on it by this layer */
};

void state_lock(void);
void state_unlock(void);
/* Under the lock, which is given up meanwhile. */
void state_wait(pthread_cond_t *condition);

/* Before the first use of the lock in a process that may not have called aclInit(). */
void state_watch_forks(void);
/* Counts aclInit(); the count. */
uint64_t state_init(void);
/* Undoes it once or wholly, and closes all devices when none is left. */
aclError state_finalize(bool all, uint64_t *left);

/* The name of a call, and ACL_ERROR_UNINITIALIZE before aclInit(). */
aclError call_enter(const char *name);

/*
 * What a call works with. The device stays open from here_enter() to here_leave(). Fails without
 * aclInit() or current context.
 */
struct here {
	struct device *device;
	aclrtContext context;
	bool is_alone; /* no other device was open */
};

aclError here_enter(const char *name, struct here *here);
void here_leave(const struct here *here);

/* Opens the device if need be and counts a use of it, which device_put() ends. */
aclError device_open(int32_t id, struct device **device);
/* The open device with this handle, counted, or NULL. */
struct device *device_with(const struct accel_device *dev);
/* The next open device from *at = 0 on, counted, or NULL. */
struct device *device_next(int *at);
void device_put(struct device *device);
/* One aclrtSetDevice() less, or none is left; closes the device with the last. */
aclError device_reset(int32_t id, bool force);
/* Makes the context the current one of this thread. */
void context_use(aclrtContext context);

/* ---- handle.c: streams, events and contexts as programs see them ---- */

enum handle_kind {
	HANDLE_CONTEXT = 1,
	HANDLE_STREAM,
	HANDLE_EVENT,
	HANDLE_WITH_STREAM, /* to find: a stream, or a context, which has a default one */
};

struct object {
	enum handle_kind kind;
	void *handle;
	struct device *device;
	aclrtContext context; /* that a stream belongs to; its own handle of a context */
	unsigned int refs; /* of the table, and of calls that use the object without the lock */
	struct accel_stream *stream; /* of a context: its default one, or NULL */
	struct accel_event *event;
	struct reader *reader; /* runs the callbacks of a stream, or NULL */
	struct object *next_of_reader;
	int reached; /* eventfd that the stream signals at callbacks, from its first reader on, or -1 */
	uint64_t signals_queued; /* operations on it */
	uint64_t signals_seen; /* the sum of what was read from it */
	bool is_signal_launch; /* a launch is queueing one more */
	unsigned int pending; /* functions that libaccel calls for a stream, or will */
	struct wait *waits, **last_wait; /* of a stream, for events, in its order */
	uint32_t flags; /* of an event */
	bool is_default; /* a context that aclrtSetDevice() made */
	bool is_reusable; /* an event of aclrtCreateEventExWithFlag() */
	bool is_recorded; /* an event */
};

/* Under the lock: what the handle stands for, or NULL; valid as long as the lock is held. */
struct object *handle_find(enum handle_kind kind, const void *handle);
/* The handle of a copy of the object, or NULL. */
void *handle_make(const struct object *object);
/* Ends the handle; the reference of the table is the caller's. */
void handle_drop(const struct object *object);
/* The next object from *at = 0 on, of a device and of a context where they are given, or NULL. */
struct object *object_next(enum handle_kind kind, const struct device *device,
			   aclrtContext context, size_t *at);
/* Without the lock: a reference less. The last one destroys what the object has. */
void object_put(struct object *object);
/* In a forked process. */
void handles_forget(void);
/* Why there is no such thing, in words. */
aclError handle_fail(const char *argument, enum handle_kind kind, const void *handle);

/* ---- context.c ---- */

/* Ends streams and events of a device, or those of a context, and the contexts. */
void objects_end(struct device *device, aclrtContext context);

/* ---- stream.c ---- */

struct on_stream {
	struct here here;
	const void *handle; /* of the stream, or of its context for a default stream */
	struct accel_stream *stream;
};

/* here_enter(), and a stream of the current context; NULL is its default one. */
aclError stream_find(const char *name, aclrtStream handle, struct on_stream *on);
/* The same for what would wait for the stream, but for a callback that this thread has to run. */
aclError stream_enter(const char *name, aclrtStream handle, struct on_stream *on);
void stream_leave(const struct on_stream *on);
/* Under the lock: the stream, or the context for a default one; NULL if it was destroyed meanwhile. */
struct object *stream_object(const struct on_stream *on);
/* A stream that has failed takes work again when the failure has been reported: with err, now. */
aclError stream_told(struct accel_stream *stream, int err);
/* All streams of a device. */
aclError streams_told(struct device *device, int err);
/* Waits for all of them, destroyed ones, too. */
aclError device_synchronize(struct device *device);
aclError streams_wait(struct device *device, uint64_t deadline);
/*
 * The next object of a device (and of a context, if one is given) from *at = 0 on that has a stream.
 * Another thread may end it meanwhile: object_put() ends the use.
 */
struct object *stream_next(struct device *device, aclrtContext context, size_t *at);
/* When a time in milliseconds from now is over, for libaccel. */
uint64_t deadline_after(int32_t timeout);

/* ---- memory.c ---- */

#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_1G_PAGE ((size_t)1 << 30)

/* An address that has to be the start of memory of a kind; its device is counted if it is. */
aclError memory_enter(const void *ptr, enum accel_memory_kind kind, const char *argument,
		      struct accel_pointer_info *info, struct device **device);
aclError config_check(const aclrtMallocConfig *cfg, bool host);

/* ---- allocation.c ---- */

/* Of a device that is in use: frees the memory with it, or now, if that cannot be recorded. */
aclError allocation_keep(struct device *device, enum accel_memory_kind kind, void *ptr,
			 size_t size);
/* What libaccel returns; the memory may also be another layer's. */
int allocation_free(struct device *device, enum accel_memory_kind kind, void *ptr, size_t size);
/* Of a device that is being closed, and that no call uses. */
void allocations_end(struct device *device);
/* Under the lock, in a forked process. */
void allocations_forget(struct device *device);

/* ---- copy.c ---- */

aclError check_size(const char *count_name, size_t count, const char *max_name, size_t max);
/* The copy of aclrtMemcpy() and aclrtMemcpyAsync() between other calls of theirs. */
aclError memcpy_now(const struct here *here, void *dst, size_t max, const void *src, size_t count,
		    aclrtMemcpyKind kind);
aclError memcpy_queue(const struct on_stream *on, void *dst, size_t max, const void *src,
		    size_t count, aclrtMemcpyKind kind);

/* ---- event.c ---- */

/* Those of an object that ends, whose device is in use. */
void waits_end(struct wait *waits);
/* In a forked process, where their events are the parent's. */
void waits_forget(struct wait *waits);

/* ---- callback.c ---- */

/* This thread is in a function that a stream waits for: it cannot close a device. */
bool awaited_here(void);
aclError awaited_fail(void);
/* In a forked process, where no stream does. */
void awaited_in_child(void);

/* ---- report.c ---- */

/* Under the lock: drops the callbacks of a stream, which has no reader from then on. */
void report_end(struct object *stream);
/* The same for all streams of a device. */
void reports_end(struct device *device);
/* Under the lock, in a forked process. */
void reports_forget(void);
/*
 * Before a wait for all streams of a device, or of a context, or for one stream (the others are
 * NULL): an error if a callback that this thread has to run blocks a stream.
 */
aclError reports_check(const struct device *device, aclrtContext context, const void *stream);

#endif
