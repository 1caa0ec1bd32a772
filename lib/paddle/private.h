/* SPDX-License-Identifier: MIT */
/*
 * What the files of the plugin share. It knows libaccel by its public header only.
 *
 * One lock guards the little that is shared: whether the devices are open and how many calls are
 * under way, the lists of streams, the last sentence. No function of libaccel is called while it is held, so
 * it has no order with the locks there, in fork() neither.
 */
#ifndef PADDLE_ACCEL_PRIVATE_H
#define PADDLE_ACCEL_PRIVATE_H

#include "abi.h"

#include <accel/accel.h>
#include <errno.h>
#include <stdbool.h>

/* ---- status.c: what went wrong, for Paddle and for its user ---- */

#define TEXT_SIZE 640 /* the longest sentence of libaccel has 511 characters */

/* Keeps a sentence for plugin_status() and returns err. */
int plugin_fail(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line in Paddle's log, which is standard error; the same one twice in a row is said once. */
void plugin_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What Paddle is told of a result; if it is a failure, the log gets its sentence. */
enum status plugin_status(const char *call, int err);
/* The same without asking what Paddle should be told. */
void plugin_complain(const char *call, int err);
void plugin_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern bool plugin_tracing;

/* ---- settings.c: PADDLE_ACCEL_* of the environment ---- */

struct settings {
	bool trace;
	size_t min_chunk; /* 0: what suits the device */
	size_t count; /* of devices to show, by their indices */
	int *devices;
};

/* 0, or -EINVAL or -ENOMEM. The caller frees devices. */
int settings_read(struct settings *settings, int present);
/* Of waits for other ranks. 0, or -EINVAL. */
int settings_limit(unsigned int *limit_ms);

/* ---- device.c: the devices, and who uses them ---- */

struct device {
	struct accel_device *dev;
	int id; /* Paddle's */
	size_t min_chunk;
	size_t total; /* bytes of memory */
	uint64_t pending; /* a failure that could not be told yet: its number, and its errno in the low 32 bits */
	struct accel_stream *null_stream; /* for events: made when it is needed */
	struct accel_stream **streams; /* Paddle's; NULL: a free place; under the lock */
	size_t stream_count;
	struct staging_pool *pool; /* made when it is needed; under the lock */
};

void plugin_lock(void);
void plugin_unlock(void);
/* Once for each process. */
void plugin_watch_forks(void);
bool plugin_in_child(void);
/* The error of a wait or a destruction: what a child has inherited is its parent's, and nothing is pending. */
int plugin_waited(int err);

/*
 * Every call that uses a device stands between the two: finalize waits until none is. NULL if there
 * is no such device, or none any more; that has been said.
 */
struct device *plugin_enter(const char *call, const struct place *place);
/* The device whose memory this is; nothing is said. */
struct device *plugin_enter_memory(const void *ptr);
/* The current device of the thread; nothing is said. */
struct device *plugin_enter_current(void);
void plugin_leave(void);
/* Leaves, traces, and gives what Paddle is told. */
enum status plugin_done(const char *call, const struct device *device, int err,
			const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Kernels return nothing: the next synchronize, copy or fill returns their error, the last one if there are several. */
void device_fail(struct device *device, const char *call, int err);
int device_pending(struct device *device);
/*
 * For an error that is kept elsewhere too: without a message, and only if there is none. What it returns is for
 * device_forget(), when another call returns the error; 0: nothing.
 */
uint64_t device_keep(struct device *device, int err);
void device_forget(struct device *device, uint64_t kept);

/* ---- profile.c: traces of Paddle's profiler ---- */

enum profile_kind { PROFILE_H2D, PROFILE_D2H, PROFILE_D2D, PROFILE_P2P, PROFILE_SET };

/* A copy or a fill. */
struct profile {
	enum profile_kind kind;
	const char *call; /* lives as long as the plugin */
	const struct device *device; /* whose stream it is */
	struct accel_stream *stream; /* NULL: it is complete */
	size_t size; /* 0: nothing is recorded, since the operation failed or had no bytes */
	uint32_t value; /* of a fill */
};

extern bool profile_tracing;

/* Nanoseconds by the clock of Paddle's own events. */
uint64_t profile_now(void);
void profile_record(uint64_t begin, const struct profile *profile);

/* Before and after each operation; profile_end() takes what profile_begin() returned. */
static inline uint64_t profile_begin(void)
{
	return __atomic_load_n(&profile_tracing, __ATOMIC_RELAXED) ? profile_now() : 0;
}

static inline void profile_end(uint64_t begin, const struct profile *profile)
{
	if (begin && profile->size)
		profile_record(begin, profile);
}

/* Leaves the slots empty if this Paddle has no functions that take events. */
void profile_functions(struct profiler_interface *slots);

/* ---- copy.c ---- */

/* One operation on a stream, or now if it is NULL, with an entry in the trace. PROFILE_H2D, _D2H or _D2D. */
int copy_queue(struct device *device, struct accel_stream *stream, enum profile_kind kind,
	       const char *call, void *dst, const void *src, size_t size);

/* ---- stream.c ---- */

/* A number of the stream that is unique on its device while the stream exists, from 1; 0 for NULL. */
uint64_t stream_number(const struct device *device, const struct accel_stream *stream);

/* The device, or its memory, is not there any more, or is another process's. */
bool plugin_is_lost(int err);
/* What a query answers: -EINPROGRESS, or -EINVAL, as it is no stream or event; what failed is 0. */
int still_to_come(int err);
/* A stream that has failed takes no more work until somebody has been told: with err, now. */
int stream_told(struct accel_stream *stream, int err);

/* ---- staging.c: host memory between device and engine ---- */

struct staging {
	void *at;
	size_t size; /* of the block */
	bool is_pinned;
};

/* Page-locked where the device has some left. The contents are undefined. */
int staging_get(struct device *device, size_t size, struct staging *staging);
/* Keeps the block for the next one, up to a limit. NULL is nothing. */
void staging_put(struct device *device, struct staging *staging);
/* Before the device is closed. */
void staging_free(struct device *device);

/* ---- load_engine.c ---- */

/* The engine, loaded by the first call; NULL: it cannot be had, which is kept for plugin_status(). */
const struct engine *engine_get(void);

/* ---- job.c: the operations of a group, or one, behind each other on a stream ---- */

enum op_kind {
	OP_ALL_REDUCE,
	OP_BROADCAST,
	OP_REDUCE,
	OP_ALL_GATHER,
	OP_REDUCE_SCATTER,
	OP_ALL_TO_ALL,
	OP_SEND,
	OP_RECEIVE,
};

/* A part of an all_to_all. */
struct op_block {
	const void *send;
	void *receive;
	size_t send_size, receive_size;
};

struct op {
	enum op_kind kind;
	struct comm *comm;
	const void *send;
	void *receive;
	size_t count, size; /* elements, and their bytes: what one rank gives to another one */
	enum type type;
	enum reduction reduction;
	int peer; /* or the root */
	uint64_t tag;
	struct op_block *blocks; /* of all ranks */

	/* While it runs. */
	struct staging in, out;
	struct engine_request *request;
};

struct job {
	int device; /* Paddle's number */
	struct device *entered; /* while it runs */
	size_t count;
	struct op *ops;
	uint32_t place; /* in the background: among the sends to the same rank */
};

/* Messages of a communicator with one of its ranks. */
struct messages {
	uint32_t sent, received;
	/* Of the sends in the background; under the lock of background.c. */
	uint32_t begun, ended;
};

struct comm {
	const struct engine *engine;
	struct engine_comm *connected;
	int rank, size;
	char name[64];
	uint32_t next; /* the number of the next collective */
	struct messages *with; /* each rank */
	/* Under the lock of xccl.c. */
	unsigned int jobs; /* that have not ended */
	int failed; /* the first error */
	uint64_t kept; /* its device_keep(), on the device of that number: */
	int kept_on;
	/* Without a lock: only one thread at a time calls functions of a communicator. */
	struct accel_event *done; /* the last job */
	struct accel_stream *stream; /* where it is */
	int device;
};

/* Runs it now, and frees it. err: the work before it has failed. */
void job_run(struct job *job, int err);
/* The rest of one whose messages have been started, in this order. job_end() frees it. */
int job_finish(struct job *job);
void job_fail(struct job *job, int err);
void job_end(struct job *job);
void job_free(struct job *job);

/* ---- background.c ---- */

/* Finishes and ends the job of a send in a thread. Waits while too many are under way. */
void background_finish(struct job *job);

/* ---- xccl.c ---- */

/*
 * The first error of a communicator stays. The next synchronize, copy or fill returns it too, unless it has another
 * one, or a call on the communicator is earlier. The connections are left as they are.
 */
void comm_fail(struct comm *comm, struct device *device, int err);
/* The first error, or 0. */
int comm_error(struct comm *comm);
/* The first error stays. The connections are closed: the other ranks do not wait until the limit. */
void comm_break(struct comm *comm, int err);
void comm_done(struct comm *comm);
void collective_functions(struct collective_interface *slots);

/* ---- What each file puts into the table ---- */

void device_functions(struct interface *table);
void stream_functions(struct interface *table);
void event_functions(struct interface *table);
void memory_functions(struct interface *table);
void copy_functions(struct interface *table);
void size_functions(struct interface *table);

/* ---- kernels.c ---- */

void kernels_register(const char *device_type);

#endif
