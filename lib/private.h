/* SPDX-License-Identifier: MIT */
/*
 * What the files of libaccel share. Names without prefix: the linker map and objcopy keep them out
 * of both libraries.
 *
 * One mutex, the table lock, guards every table: the list of handles, their windows and their trees
 * of ranges. A copy has to look its addresses up in all of them (a pointer of another card is an
 * error, not host memory), so finer locks would be taken together anyway. It is held for look-ups
 * and insertions only, never while an ioctl can wait for the card or for user memory.
 */
#ifndef LIBACCEL_PRIVATE_H
#define LIBACCEL_PRIVATE_H

/* Everything is hidden but what the public header declares. */
#pragma GCC visibility push(default)
#include <accel/accel.h>
#pragma GCC visibility pop

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <sys/types.h>

/* ---- error.c: sentences, and errno as the caller left it ---- */

/* Stores a sentence for accel_last_error() and returns err. */
int fail(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline void errno_restore(const int *saved)
{
	errno = *saved;
}

/* First line of every public function that makes a system call. */
#define KEEP_ERRNO __attribute__((cleanup(errno_restore), unused)) const int saved_errno = errno

/* An address in a sentence. */
#define ADDR "%#" PRIxPTR
#define DEAD "%s has no live allocation there (freed before?)"

/* ---- range.c: live allocations and registrations, by address ---- */

struct range {
	struct range *child[2];
	int height;
	uintptr_t base;
	size_t size;
	size_t mapped; /* bytes of the mapping that is ours to unmap */
	uint64_t serial;
	enum accel_memory_kind kind;
};

void range_insert(struct range **root, struct range *range);
void range_remove(struct range **root, struct range *range);
/* The range that starts last at or below addr: the only one that can hold it. */
struct range *range_below(struct range *root, uintptr_t addr);

static inline bool range_holds(const struct range *range, uintptr_t addr, size_t size)
{
	return range->base <= addr && addr - range->base <= range->size &&
	       size <= range->size - (addr - range->base);
}

static inline bool wraps(uintptr_t addr, size_t size)
{
	return size && addr + (size - 1) < addr;
}

/* ---- window.c: the addresses of a card's memory ---- */

struct window {
	uintptr_t base; /* stands for mem_base */
	uintptr_t map; /* what is reserved, with the guards on both sides */
	size_t map_size;
};

int window_reserve(struct window *window, uint64_t mem_size);
void window_release(const struct window *window);

static inline bool window_spans(const struct window *window, uintptr_t addr)
{
	return addr - window->map < window->map_size;
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
void node_path(const struct node *node, char path[NODE_PATH]);
/* File descriptor, or a negative errno that says what to do. */
int node_open(const char *path);

/* ---- device.c: handles ---- */

struct accel_device {
	struct accel_device *next;
	struct window window;
	struct range *ranges; /* of all kinds: the window's addresses are nobody else's */
	uint64_t mem_base;
	uint64_t max_host_bytes;
	dev_t rdev;
	unsigned int node;
	char name[NODE_PATH]; /* of the node, for sentences */
	unsigned int opens; /* by the program; at 0 the handle leaves the list */
	unsigned int holds; /* by copies and fills in flight */
	int fd;
	bool inherited; /* through fork(): every call is refused */
};

void table_lock(void);
void table_unlock(void);

/* In the order in which they were opened; under the table lock. */
struct accel_device *device_list(void);

/* 0 if calls on the handle make sense: not NULL, not inherited. */
int device_check(const struct accel_device *dev);
/* 0 if the card is there and the context usable, by asking the driver. */
int device_alive(struct accel_device *dev);

/* Under the table lock, and without it. */
void device_hold(struct accel_device *dev);
void device_drop(struct accel_device *dev);

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

/* ---- memory.c: ranges of a handle ---- */

struct range *range_create(size_t size, enum accel_memory_kind kind);
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

/* What every free checks first. */
int free_check(const struct accel_device *dev, const void *ptr, size_t size);

const char *kind_name(enum accel_memory_kind kind);

/* ---- operand.c: what an address means ---- */

/* What a call wants at an address. */
enum want {
	WANT_ANY,
	WANT_HOST, /* anything but device memory */
	WANT_DEVICE, /* device or unified memory of one card */
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
	bool known; /* host memory that is mapped for certain: host or unified */
};

/* What can be said without a look-up: NULL, size 0, wrapping. */
int operand_check(const struct operand *operand);
/* Finds out whose memory it is, or says what is wrong; under the table lock. Holds dev. */
int operand_resolve(struct operand *operand);
/* 0 if it does not start in a window. */
int operand_is_host(const struct operand *operand);
/* The handle in whose window an address lies, or NULL; under the table lock. */
struct accel_device *window_owner(uintptr_t ptr);

/* ---- transfer.c: how bytes move ---- */

struct copy {
	struct operand dst, src;
	size_t dpitch, spitch, width, rows;
};

/* By one card; enum paccel_copy_dir. */
int copy_submit(struct accel_device *dev, uint32_t dir, const struct copy *copy);
/* Between two cards, through host memory. */
int copy_staged(const struct copy *copy);
/* By the processor. */
int copy_host(const struct copy *copy);

/* ---- fork.c ---- */

/* Installs the fork handlers, once. */
int fork_watch(void);
/* Makes every handle an inherited one; in the child. */
void device_disown_all(void);

#endif
