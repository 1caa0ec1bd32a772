/* SPDX-License-Identifier: MIT */
/*
 * What the files of libaccel share. Names without prefix: the linker map and objcopy keep them out
 * of both libraries.
 *
 * The tables are the list of handles with their windows, their trees of ranges, and the links
 * between devices. One mutex, the table lock, serializes changes. It is held for look-ups and
 * insertions only, never across a system call. A copy looks its addresses up in all tables (a
 * pointer of another device is an error, not host memory), but takes no lock of the process: it
 * reads the tables between table_read_begin() and table_read_retry(), and reads again if they
 * were changed meanwhile. This is a sequence count over nodes whose type is stable. It is right
 * although nodes are freed:
 *
 * - Handles, ranges and links are never returned to the heap. They are reused for their own
 *   type, so an outdated pointer leads to a node of the same type. The memory is bounded by the
 *   most that were live.
 * - All fields that are read without the lock are written with WRITE_SHARED() and read with
 *   READ_SHARED(). The odd count is stored before each such write, which is a release. A reader
 *   that sees the written value, by an acquire, also sees that count, and discards what it has
 *   read.
 * - What is needed afterwards is copied, or referenced. A reference is taken only where the
 *   count of references is not 0, and is dropped if the tables were changed.
 *
 * Epochs would need a full barrier per copy, a registry of threads, and a tree that is copied
 * for each change, which can fail for lack of memory. A reader that meets a change 100 times
 * takes the lock.
 *
 * Streams, events and staged bytes have one lock for each device (accel_device.lock), callbacks one
 * for the process. The order is: table lock, device, callbacks. None is held while anything waits.
 * Pools and adaptors have locks of their own, which come before all of these.
 */
#ifndef LIBACCEL_PRIVATE_H
#define LIBACCEL_PRIVATE_H

/* Everything is hidden but what the public header declares. */
#pragma GCC visibility push(default)
#include <accel/accel.h>
#pragma GCC visibility pop

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

/* ---- error.c: sentences, and errno as the caller left it ---- */

/* Stores a sentence for accel_last_error() and returns err. */
int fail(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The same for a failure that has to be as quick as a success: the sentence is made of the numbers
 * when somebody asks for it.
 */
#define SENTENCE_NUMBERS 6
typedef void sentence_fn(char *text, size_t size, const uint64_t numbers[SENTENCE_NUMBERS]);
int fail_later(int err, sentence_fn *say, const uint64_t numbers[SENTENCE_NUMBERS]);

static inline void errno_restore(const int *saved)
{
	errno = *saved;
}

/* First line of every public function that makes a system call. */
#define KEEP_ERRNO __attribute__((cleanup(errno_restore), unused)) const int saved_errno = errno

/* An address in a sentence. */
#define ADDR "%#" PRIxPTR
#define DEAD "%s has no live allocation there (freed before?)"

/* ---- table.c: the tables, with the lock and without ---- */

void table_lock(void);
void table_unlock(void);
void table_wait(pthread_cond_t *condition);

#define READ_SHARED(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define WRITE_SHARED(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELEASE)

/* Around changes that lead from one state that may be read to another; under the table lock. */
void table_change_begin(void);
void table_change_end(void);

/* Starts as { 0 }. What was read is of use only when table_read_retry() has said false. */
struct table_read {
	uint64_t changes;
	unsigned int attempts;
	bool locked;
};

/* How many changes have begun and ended: odd while something is changed. */
extern uint64_t table_changes __attribute__((visibility("hidden")));

/* After so many attempts a reader takes the lock: a writer may have been preempted. */
#define TABLE_ATTEMPTS 100

static inline void table_read_begin(struct table_read *read)
{
	read->locked = read->attempts++ == TABLE_ATTEMPTS;
	if (read->locked)
		table_lock();
	read->changes = READ_SHARED(table_changes);
}

static inline bool table_read_retry(struct table_read *read)
{
	if (read->locked) {
		table_unlock();
		return false;
	}
	/* Not before what was read with READ_SHARED(). */
	return read->changes & 1 ||
	       __atomic_load_n(&table_changes, __ATOMIC_RELAXED) != read->changes;
}

/* One more reference, unless there is none: the object is not alive. */
static inline bool reference_get(unsigned int *count)
{
	unsigned int seen = __atomic_load_n(count, __ATOMIC_RELAXED);

	while (seen && !__atomic_compare_exchange_n(count, &seen, seen + 1, true, __ATOMIC_ACQUIRE,
						    __ATOMIC_RELAXED))
		;
	return seen;
}

/* True: that was the last one. */
static inline bool reference_put(unsigned int *count)
{
	return !__atomic_sub_fetch(count, 1, __ATOMIC_ACQ_REL);
}

/* ---- range.c: live allocations and registrations, by address ---- */

/* Written with WRITE_SHARED() but for the height and the imports, which only writers need. */
struct range {
	struct range *child[2];
	int height;
	unsigned int imports; /* of device memory: how often it has to be freed once more */
	uintptr_t base;
	size_t size;
	size_t mapped; /* bytes of the mapping that is ours to unmap */
	uint64_t serial;
	enum accel_memory_kind kind;
};

void range_insert(struct range **root, struct range *range);
void range_remove(struct range **root, struct range *range);
/*
 * The range that starts last at or below addr: the only one that can hold it. May be called
 * while the tree is changed: any range or NULL is returned then.
 */
struct range *range_below(struct range *root, uintptr_t addr);

/* A copy of what is known of a range. */
struct extent {
	size_t size; /* 0: of none, and the rest is not set */
	uintptr_t base;
	size_t mapped;
	uint64_t serial;
	enum accel_memory_kind kind;
};

/* In place: a copy of a struct that was written just now, word by word, waits for each word. */
static inline void extent_read(struct extent *extent, const struct range *range)
{
	extent->size = 0;
	if (!range)
		return;
	extent->base = READ_SHARED(range->base);
	extent->size = READ_SHARED(range->size);
	extent->mapped = READ_SHARED(range->mapped);
	extent->serial = READ_SHARED(range->serial);
	extent->kind = READ_SHARED(range->kind);
}

static inline bool extent_holds(const struct extent *extent, uintptr_t addr, size_t size)
{
	return extent->size && extent->base <= addr && addr - extent->base <= extent->size &&
	       size <= extent->size - (addr - extent->base);
}

static inline bool range_holds(const struct range *range, uintptr_t addr, size_t size)
{
	return range->base <= addr && addr - range->base <= range->size &&
	       size <= range->size - (addr - range->base);
}

static inline bool wraps(uintptr_t addr, size_t size)
{
	return size && addr + (size - 1) < addr;
}

/* ---- window.c: the addresses of a device's memory ---- */

struct window {
	uintptr_t base; /* stands for mem_base */
	uintptr_t map; /* what is reserved, with the guards on both sides: for WRITE_SHARED() */
	size_t map_size;
	size_t mapped; /* bytes from base on that the processor can access, if they are allocated */
};

int window_reserve(struct window *window, uint64_t mem_size);
/* Maps the device's memory there. If that is refused, nothing can access the window. */
void window_map(struct window *window, int fd, uint64_t mem_base, size_t mem_size);
/* In the child of a fork, which has no mapping: keeps the addresses from others. */
void window_disown(struct window *window);
void window_release(struct window *window);

static inline bool window_spans(const struct window *window, uintptr_t addr)
{
	return addr - READ_SHARED(window->map) < READ_SHARED(window->map_size);
}

/* ---- node.c: what is in /dev ---- */

#define NODE_PATH 24

struct node {
	dev_t rdev;
	unsigned int number;
};

/* Number of nodes, in order of number in *nodes (the caller's to free), or a negative errno. */
int node_scan(struct node **nodes);
/* The node at a position; says why there is none. */
int node_find(int index, struct node *node);
/* The node with a path or a bus address. */
int node_find_name(const char *name, struct node *node);
void node_path(const struct node *node, char path[NODE_PATH]);
/* File descriptor, or a negative errno that says what to do. */
int node_open(const char *path);

/* ---- stamp.c: where the driver writes times ---- */

struct stamp {
	struct stamp *next;
	uint64_t *at;
	uint64_t ticket; /* when the driver has written for the last time */
};

struct stamps {
	struct stamp *unused;
	struct stamp *retired; /* the driver may still write there */
	struct stamp_block *blocks;
};

/* ---- device.c: handles ---- */

struct accel_device {
	/* For READ_SHARED(), as the window is: */
	struct accel_device *next;
	struct range *ranges; /* of all kinds: the window's addresses are nobody else's */
	bool inherited; /* through fork(): every call is refused */
	unsigned int refs; /* 0: not listed, or about to be freed */
	struct window window;

	/* Used with a reference only: */
	uint64_t mem_base;
	uint64_t max_align;
	uint64_t max_host_bytes;
	uint32_t max_streams;
	uint32_t max_ops;
	int64_t clock_shift; /* by which the driver's clock is ahead of ours: a time namespace */
	dev_t rdev;
	unsigned int node;
	char name[NODE_PATH]; /* of the node, for sentences */
	uint64_t created; /* count of creations at its own; under the table lock */
	unsigned int opens; /* changed under the table lock; 0 after the last close */
	int fd;
	bool mappable; /* its memory has bus addresses */

	pthread_mutex_t lock; /* of what follows */
	const struct paccel_page *page; /* mapped with the first stream; read without the lock */
	struct accel_stream *streams; /* all that were ever made */
	struct accel_event *events; /* likewise */
	uint64_t streams_ended; /* numbers that were given back */
	struct accel_event *unused_events;
	struct accel_batch *batches;
	struct stamps stamps;
	struct stage *stage; /* atomic; made with the first use */

	/* Under the lock of the callbacks: */
	bool calls_back; /* is a user of the thread */
	bool closing; /* callbacks do not wait for the device any more */
};

/* The first one in the order in which they were opened; under the table lock or READ_SHARED(). */
struct accel_device *device_list(void);

/* 0 if calls on the handle make sense: not NULL, not inherited. */
int device_check(const struct accel_device *dev);
/* 0 if the device is there and the context usable. */
int device_alive(struct accel_device *dev);

/* One more open of a handle that is open. */
void device_open_again(struct accel_device *dev);
/*
 * Turns one open of a handle into a reference, for a close in a callback with work to do before it
 * ends. -EDEADLK, with a sentence: it is the last open, whose close would wait for the callback.
 */
int device_open_to_hold(struct accel_device *dev);
/* One more reference. The caller has one, or has found the handle under the table lock. */
void device_hold(struct accel_device *dev);
/* The same for a handle that was found without the lock. False: it is about to be freed. */
static inline bool device_try_hold(struct accel_device *dev)
{
	return reference_get(&dev->refs);
}
/* With the last one the handle is freed: not under a lock. */
void device_drop(struct accel_device *dev);
/* Whether the last close has not come yet. */
static inline bool device_is_open(const struct accel_device *dev)
{
	return __atomic_load_n(&dev->opens, __ATOMIC_SEQ_CST);
}

/* The device address of a pointer into the window, and back. */
static inline uint64_t device_address(const struct accel_device *dev, uintptr_t ptr)
{
	return dev->mem_base + (ptr - dev->window.base);
}

static inline uintptr_t device_pointer(const struct accel_device *dev, uint64_t addr)
{
	return dev->window.base + (uintptr_t)(addr - dev->mem_base);
}

/* ---- ioctl.c ---- */

/* One command; negative errno without a sentence. */
int device_ioctl(struct accel_device *dev, unsigned long request, void *arg);
/* The sentence for an error that any command can have. */
int general_error(const struct accel_device *dev, int err);

/* ---- stream.c: queues of the driver ---- */

/*
 * A ticket is a point of a stream of some device in one word, so that it can be read whole. Points
 * of a stream's number never go back, so it stays right when the stream is destroyed. 0 is
 * complete.
 */
#define TICKET_BITS 8

static inline uint64_t ticket_make(uint32_t stream, uint64_t point)
{
	return point << TICKET_BITS | stream;
}

static inline uint64_t ticket_point(uint64_t ticket)
{
	return ticket >> TICKET_BITS;
}

static inline uint32_t ticket_stream(uint64_t ticket)
{
	return ticket & ((1u << TICKET_BITS) - 1);
}

/*
 * Handles stay allocated until the device is closed, so that a destroyed one can be told, and
 * nothing that is late touches freed memory.
 */
enum handle_state {
	HANDLE_UNUSED,
	HANDLE_LIVE,
	HANDLE_DRAINING, /* of a stream: destroyed, but the driver still works on it */
	HANDLE_ENDING, /* of a stream: drained, and a thread destroys it in the driver */
};

struct accel_stream {
	struct accel_stream *next;
	struct accel_device *dev;
	const struct paccel_slot *slot;
	uint32_t number;
	/* Atomic: */
	enum handle_state state;
	uint64_t thread; /* that created it */
	unsigned int pending; /* callbacks that have not run; changed under their lock */
	uint64_t last; /* last point that is work: signals are none */
	uint64_t submitted; /* last point */
};

/* "Never" of deadlines, which are CLOCK_MONOTONIC of this process. */
#define NEVER UINT64_MAX

/* Whether a point has ended: 0, -EINPROGRESS, or the error that it or one before failed with. */
int ticket_status(struct accel_device *dev, uint64_t ticket);
/* The same when it has ended, or -ETIME. Without a sentence. */
int ticket_wait(struct accel_device *dev, uint64_t ticket, uint64_t deadline);

/* 0 if calls on the stream make sense: not NULL, not inherited, live, not inside its callback. */
int stream_check(const struct accel_stream *stream);
/* The same, and that it belongs to a device. */
int stream_check_of(const struct accel_stream *stream, const struct accel_device *dev);
/* Waits until all has ended, callbacks too; the error of the stream. */
int stream_settle(struct accel_stream *stream, uint64_t deadline);
/* The sentence for an error of the stream's work. */
int stream_error(const struct accel_stream *stream, int err);

/* An initializer leaves what is behind a member of a union as it is; the driver wants 0 there. */
struct paccel_op;
void op_init(struct paccel_op *op, uint32_t code);
/* Also when the stream fails. */
void op_init_eventfd(struct paccel_op *op, int fd);

struct submitted {
	uint64_t ticket;
	uint32_t bad; /* which operation was wrong */
};

/*
 * The point behind all that is queued, as an event recorded now would have it; 0: all has ended.
 * Waits for callbacks as the record would.
 */
int stream_position(struct accel_stream *stream, uint64_t *ticket);
/*
 * Lets a stream wait for points of other streams of its device, by number; the point that is behind
 * them. Without a sentence.
 */
int stream_wait_points(struct accel_stream *stream, const uint64_t points[1 << TICKET_BITS],
		       uint64_t *ticket);
/*
 * 0, -ENODEV, -ESTALE or -EPERM: what has become of the device, without a sentence. Read on the
 * completion page; before the first stream the driver is asked.
 */
int device_state(struct accel_device *dev);
/* 0, or what the completion page says of the device. */
int stream_device_state(const struct accel_stream *stream);

/* Queues operations behind all callbacks; without a sentence. */
int stream_submit(struct accel_stream *stream, const struct paccel_op *ops, uint32_t nr,
		  struct submitted *done);
/* One that only tells of what is before it: no work, and it does not wait for callbacks. */
int stream_signal(struct accel_stream *stream, const struct paccel_op *op, struct submitted *done);
/* The sentence for errors of either that do not come from an operation. */
int submit_error(const struct accel_stream *stream, int err);
/* What a last close does with the streams; with the file closed. */
void streams_free(struct accel_device *dev);

/* ---- callback.c: the threads that run callbacks ---- */

/* Waits until no callback of the stream is pending. */
int callbacks_wait(struct accel_stream *stream, uint64_t deadline);
/* Runs those of a device now, whatever its work does. */
void callbacks_end(struct accel_device *dev);
/* Whether this is a thread that runs them, and for which stream. */
bool in_callbacks(void);
bool in_callback_of(const struct accel_stream *stream);
void callbacks_before_fork(void);
void callbacks_after_fork(void);
void callbacks_in_child(void);

/* ---- stamp.c: in use ---- */

/* Takes the device's lock. Says what is wrong if there is no locked memory for it. */
int stamp_take(struct accel_device *dev, struct stamp **stamp);
/* Gives it back once the ticket has ended; under the device's lock. */
void stamp_retire(struct accel_device *dev, struct stamp *stamp, uint64_t ticket);
void stamps_free(struct accel_device *dev);

/* ---- event.c ---- */

struct accel_event {
	struct accel_event *next, *next_unused;
	struct accel_device *dev;
	struct stamp *stamp; /* under the device's lock, as is a change of the ticket */
	/* Atomic: */
	enum handle_state state;
	uint64_t ticket; /* 0 if it was never recorded */
};

int event_check(const struct accel_event *event);
/* A record in steps: a place for the time, the operation, then the point or the way back. */
int event_prepare(struct accel_event *event, struct paccel_op *op, struct stamp **stamp);
void event_publish(struct accel_event *event, struct stamp *stamp, uint64_t ticket);
void event_abandon(struct accel_event *event, struct stamp *stamp);
/* Whether it ended well: nobody has to wait for it. */
bool ticket_passed(struct accel_device *dev, uint64_t ticket);
void events_free(struct accel_device *dev);

/* ---- stage.c: bytes of pageable memory on their way to the device ---- */

struct stage_piece;
/* A place for a copy of some bytes, or NULL: there is no room, or they are too many. */
struct stage_piece *stage_take(struct accel_device *dev, size_t size, void **place);
/* It is free when the ticket has ended. */
void stage_give(struct accel_device *dev, struct stage_piece *piece, uint64_t ticket);
void stage_free(struct accel_device *dev);

/* ---- memory.c: ranges of a handle ---- */

/* A range is freed with range_free() only: see the top of this file. */
struct range *range_create(size_t size, enum accel_memory_kind kind);
void range_free(struct range *range);
/* Frees all ranges of a tree that is in no table, and unmaps what they have mapped. */
void ranges_free(struct range *root);
/* A range for an allocation to come, so that publishing it cannot fail. */
int range_prepare(struct accel_device *dev, void **ptr, size_t size, enum accel_memory_kind kind,
		  struct range **range);
/* Makes it visible, with a serial number. */
void range_publish(struct accel_device *dev, struct range *range);
/* Takes a range out to free it; size 0 matches any. */
int range_take(struct accel_device *dev, void *ptr, size_t size, enum accel_memory_kind kind,
	       struct range **range);
/* Puts it back when the driver would not free it. */
void range_restore(struct accel_device *dev, struct range *range);

/* Finds the allocation that starts at an address; size 0 matches any. Under the table lock. */
int range_at_start(struct accel_device *dev, uintptr_t ptr, size_t size,
		   enum accel_memory_kind kind, struct range **found);

/* What every free checks first. */
int free_check(const struct accel_device *dev, const void *ptr, size_t size);

const char *kind_name(enum accel_memory_kind kind);

/* accel_device_memory_allocate(), aligned to a power of two. */
int device_memory_allocate(struct accel_device *dev, void **ptr, size_t size, size_t alignment);

/* ---- host.c ---- */

/* Page-locked memory of the driver for a range whose size is set; without a sentence. */
int host_pages(struct accel_device *dev, struct range *range);
/* Memory that only this process needs: in a child it would keep the driver's file open. */
void keep_from_children(void *map, size_t size);
/* The sentence for its errors. */
int host_failed(const struct accel_device *dev, int err, size_t size);
int size_above_max(const struct accel_device *dev, int err, size_t size);

/* ---- operand.c: what an address means ---- */

/* What a call wants at an address. */
enum want {
	WANT_ANY,
	WANT_HOST, /* anything but device memory */
	WANT_DEVICE, /* device or unified memory of one device */
};

struct operand {
	const char *name; /* of the argument */
	uintptr_t ptr;
	size_t size; /* from the first byte to the last */
	enum want want;
	struct accel_device *want_dev; /* with WANT_DEVICE */
	bool written;
	/* Found out by operand_resolve(): */
	struct accel_device *dev; /* whose device memory it is; NULL: the processor's to access */
	uint64_t serial; /* with dev: of the allocation */
	bool known; /* host memory that is mapped for certain: host or unified */
	bool pinned; /* wholly in one host range of the device that is asked */
};

/* What can be said without a look-up: NULL, size 0, wrapping. */
int operand_check(const struct operand *operand);
/*
 * Finds out whose memory it is, or says what is wrong. Holds dev. Takes no lock. pin_dev: NULL,
 * or the device whose host ranges count as pinned.
 */
int operand_resolve(struct operand *operand, const struct accel_device *pin_dev);
/* 0 if it does not start in a window. */
int operand_is_host(const struct operand *operand);
/* The handle in whose window an address lies, or NULL; under the table lock or READ_SHARED(). */
struct accel_device *window_owner(uintptr_t ptr);

/* ---- transfer.c: how bytes move ---- */

struct copy {
	struct operand dst, src;
	size_t dpitch, spitch, width, rows;
	bool verify;
	struct accel_stream *stream; /* or NULL: complete on return */
	struct accel_device *pin_dev; /* whose host ranges count; with a stream or batch */
	struct accel_batch *batch; /* only collected there */
};

/* Takes a copy apart, checks it, and has it done in its way: copy.c. */
struct copy copy_make(void *dst, const void *src, size_t size);
/* The same for rows, with what can be said without a look-up. */
int copy_make_2d(struct copy *copy, void *dst, size_t dpitch, const void *src, size_t spitch,
		 size_t width, size_t rows, unsigned int flags);
int copy_run(struct copy *copy);
/* Between any two addresses, on a stream; NULL: complete on return. */
int copy_any(struct accel_stream *stream, void *dst, const void *src, size_t size);
/* By whoever can, complete on return. */
int copy_now(const struct copy *copy);

/* By one device; enum paccel_copy_dir. Without a sentence, and with one. */
int copy_ioctl(struct accel_device *dev, uint32_t dir, const struct copy *copy);
int copy_submit(struct accel_device *dev, uint32_t dir, const struct copy *copy);
/* Between two devices, through host memory: staged.c. */
int copy_staged(const struct copy *copy);
/* Gives up what is kept for such copies. False if there was nothing. */
bool staged_give_up(void);
void staged_in_child(void);
/* Between two devices, directly if they reach each other: peer.c. */
int copy_between(const struct copy *copy);
/* On a stream of the device that has the source; nothing is queued where that does not do. */
int copy_between_queue(const struct copy *copy, bool *queued);
/* By the processor. */
int copy_host(const struct copy *copy);
/* The sentence for an error of the driver. */
int copy_failed(const struct accel_device *dev, int err, const struct copy *copy);
/* The sentences for -EOPNOTSUPP of what was to be verified, and for what no device is to do. */
int verify_refused(const struct accel_device *dev);
int verify_by_processor(void);
uint64_t wire_address(const struct operand *operand);
/* Pageable memory that the processor is about to access; says what is wrong. */
int host_touch(const struct operand *host, uintptr_t ptr, size_t size);

/* ---- peer.c ---- */

/* An allocation of device memory was freed, once; and the last close of a handle has come. */
void peers_freed(struct accel_device *dev, uintptr_t ptr, uint64_t serial);
void peers_closed(struct accel_device *dev);
/* Under the table lock. */
void peers_in_child(void);

/* ---- async.c: copies and fills on a stream ---- */

/* The direction for the driver if a device can do the copy alone, with pinned host memory; or 0. */
uint32_t copy_direction(const struct copy *copy);
void copy_operation(const struct copy *copy, uint32_t dir, struct paccel_op *op);
int copy_queue(const struct copy *copy);

struct pattern {
	uint64_t value; /* in the low bytes, as the driver has it */
	uint32_t size;
	bool verify;
};

/* Checks what does not depend on the memory. */
int pattern_make(struct pattern *pattern, const void *bytes, size_t pattern_size, size_t size,
		 unsigned int flags);
int fill_queue(struct accel_stream *stream, const struct operand *memory,
	       const struct pattern *pattern);
void fill_operation(const struct operand *memory, const struct pattern *pattern,
		    struct paccel_op *op);
/* The sentence for an error of the driver. */
int fill_failed(const struct accel_device *dev, int err, const struct operand *memory);

/* ---- resource.c ---- */

struct accel_resource;
/* 0 if it has the functions that it needs. */
int resource_check(const struct accel_resource *resource);
/* What a resource has answered to a free: memory that was found to be damaged is gone, too. */
static inline bool taken_back(int err)
{
	return !err || err == -EFAULT;
}

/* ---- batch.c ---- */

/* Adds the copy to its batch. */
int batch_add_copy(const struct copy *copy);
void batches_free(struct accel_device *dev);

/* ---- fork.c ---- */

/* Installs the fork handlers, once. */
int fork_watch(void);
/* How many forks lie between this process and the first one that used the library. */
extern unsigned int forks __attribute__((visibility("hidden")));
static inline unsigned int fork_generation(void)
{
	return forks;
}
/* Around the open and the close of a file that fork() must not copy: it waits for the end. */
void device_move_begin(void);
void device_move_end(void);
/* Waits until no file is being opened or closed; under the table lock, which is given meanwhile. */
void device_settle(void);
/* Makes every handle an inherited one, also those that are being closed; in the child. */
void device_disown_all(void);

#endif
