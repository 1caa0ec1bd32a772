/* SPDX-License-Identifier: MIT */
/*
 * Devices: one object per device and process, counted, in a list in the order in which they were
 * opened. Its handle is valid until the last close.
 *
 * The object is freed with its last reference. The program has one, for all its opens; each copy
 * and fill in flight has one, each link between two devices (peer.c) and each pipe (staged.c)
 * one on each of its two devices. Streams, events and batches are the device's own and are freed
 * with it; a callback is waited for by the last close, a pool opens the device once more. The
 * last close ends links and pipes, and no new ones are made then, so that they do not keep a
 * device for ever.
 *
 * A device stays in the list until its file is closed. fork() closes all files in the child that
 * are in the list, and waits for those that are being opened or closed.
 */
#include "api.h"
#include "batch.h"
#include "callback.h"
#include "copy.h"
#include "device.h"
#include "error.h"
#include "event.h"
#include "fork.h"
#include "memory.h"
#include "node.h"
#include "peer.h"
#include "stage.h"
#include "stamp.h"
#include "stream.h"
#include "table.h"
#include "window.h"

#include <linux/paccel.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct device *devices;
static struct device *unused; /* those that were freed; under the table lock */
static uint64_t creations;
static unsigned int moving; /* files that are being opened, and not in the list, or closed */
static pthread_cond_t settled = PTHREAD_COND_INITIALIZER;

struct device *device_list(void)
{
	return READ_SHARED(devices);
}

void device_settle(void)
{
	while (moving)
		table_wait(&settled);
}

/* Under the table lock. */
static void end_move(void)
{
	if (!--moving)
		pthread_cond_broadcast(&settled);
}

void device_move_begin(void)
{
	table_lock();
	moving++;
	table_unlock();
}

void device_move_end(void)
{
	table_lock();
	end_move();
	table_unlock();
}

int device_get(const struct accel_device *handle, struct device **dev)
{
	*dev = handle_get(HANDLE_DEVICE, handle);
	if (!*dev)
		return handle_error(HANDLE_DEVICE, handle);
	return device_usable(*dev);
}

int device_alive(struct device *dev)
{
	int err = device_state(dev);

	return err ? general_error(dev, err) : 0;
}

static int query_info(struct device *dev, struct paccel_device_info *cmd)
{
	*cmd = (struct paccel_device_info){ .size = sizeof(*cmd) };
	return device_ioctl(dev, PACCEL_IOC_DEVICE_INFO, cmd);
}

static int64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* In a time namespace the driver's clock is another one, ahead or behind by a fixed time. */
static int64_t clock_shift(int64_t before, uint64_t driver, int64_t after)
{
	int64_t there = (int64_t)driver;

	return there >= before && there <= after ? 0 : there - before - (after - before) / 2;
}

/* Between the look into /dev and the open another device may have taken the name. */
static int identify(struct device *dev, const struct node *node)
{
	struct paccel_device_info info;
	int64_t before;
	struct stat st;
	int err;

	if (fstat(dev->fd, &st) || !S_ISCHR(st.st_mode) || st.st_rdev != node->rdev)
		return fail(-ENODEV, "%s was replaced just now: open it again", dev->name);
	before = clock_now();
	err = query_info(dev, &info);
	if (err == -ENOTTY)
		return fail(-ENODEV, "%s does not belong to the paccel driver", dev->name);
	if (err)
		return general_error(dev, err);
	dev->mem_base = info.mem_base;
	dev->max_align = info.max_align;
	dev->max_host_bytes = info.max_host_bytes;
	dev->max_streams = info.max_streams;
	dev->max_ops = info.max_ops;
	dev->mappable = info.caps & PACCEL_CAP_MAPPABLE;
	dev->clock_shift = clock_shift(before, info.clock_ns, clock_now());
	err = window_reserve(&dev->window, info.mem_size);
	if (!err && info.caps & PACCEL_CAP_MAPPABLE)
		window_map(&dev->window, dev->fd, info.mem_base, (size_t)info.mem_size);
	return err;
}

/* One that is not in the list, and has no references: readers of the tables take none. */
static struct device *device_allocate(void)
{
	const size_t own = offsetof(struct device, handle);
	struct device *dev;

	table_lock();
	dev = unused;
	if (dev)
		unused = dev->next;
	table_unlock();
	if (!dev)
		return calloc(1, sizeof(*dev));
	WRITE_SHARED(dev->next, NULL);
	WRITE_SHARED(dev->ranges, NULL);
	WRITE_SHARED(dev->inherited, false);
	memset((char *)dev + own, 0, sizeof(*dev) - own);
	return dev;
}

static void device_free(struct device *dev)
{
	handle_end(HANDLE_DEVICE, dev->handle);
	window_release(&dev->window);
	pthread_mutex_destroy(&dev->lock);
	table_lock();
	WRITE_SHARED(dev->next, unused);
	unused = dev;
	table_unlock();
}

/* A device that another thread has created since. */
static struct device *find_created(const struct device *mine, uint64_t since)
{
	struct device *dev;

	for (dev = devices; dev; dev = dev->next)
		if (dev->rdev == mine->rdev && dev->opens && !dev->inherited &&
		    dev->created > since)
			return dev;
	return NULL;
}

/* Puts a device into the list, or opens the one of another thread that was faster. */
static struct device *list(struct device *dev, uint64_t since)
{
	struct device **end, *other = find_created(dev, since);

	if (other) {
		__atomic_add_fetch(&other->opens, 1, __ATOMIC_SEQ_CST);
		return other;
	}
	dev->created = ++creations;
	for (end = &devices; *end; end = &(*end)->next)
		;
	table_change_begin();
	WRITE_SHARED(dev->refs, 1);
	WRITE_SHARED(*end, dev);
	table_change_end();
	return dev;
}

static int open_file(struct device *dev, const struct node *node)
{
	int err;

	dev->fd = node_open(dev->name);
	if (dev->fd < 0)
		return dev->fd;
	err = identify(dev, node);
	if (err)
		close(dev->fd);
	return err;
}

static int device_create(const struct node *node, uint64_t since, struct device **made)
{
	struct device *dev = device_allocate();
	int err;

	if (!dev)
		return fail(-ENOMEM, "out of memory");
	dev->handle = handle_create(HANDLE_DEVICE, dev);
	WRITE_SHARED(dev->node, node->number);
	node_path(node, dev->name);
	dev->rdev = node->rdev;
	dev->opens = 1;
	pthread_mutex_init(&dev->lock, NULL);
	device_move_begin();
	err = dev->handle ? open_file(dev, node) : fail(-ENOMEM, "out of memory");
	table_lock();
	if (!err) {
		*made = list(dev, since);
		if (*made == dev)
			end_move();
	} else {
		end_move();
	}
	table_unlock();
	if (err) {
		device_free(dev);
	} else if (*made != dev) {
		close(dev->fd);
		device_move_end();
		device_free(dev);
	}
	return err;
}

/* The next open device of a node, with a reference. */
static struct device *next_open(const struct node *node, const struct device *after)
{
	struct device *dev;

	table_lock();
	dev = after ? after->next : devices;
	while (dev && (dev->rdev != node->rdev || !dev->opens || dev->inherited))
		dev = dev->next;
	if (dev)
		device_hold(dev);
	table_unlock();
	return dev;
}

/* One more open, unless the last close has come. */
static bool open_again(struct device *dev)
{
	bool is_open;

	table_lock();
	is_open = dev->opens;
	if (is_open)
		__atomic_add_fetch(&dev->opens, 1, __ATOMIC_SEQ_CST);
	table_unlock();
	return is_open;
}

/*
 * Opens a device that is there. One that is of no more use is passed over: the device is a new
 * one, or has been reset. The driver may be asked, so without the lock.
 */
static struct device *find_open(const struct node *node)
{
	struct device *dev, *before = NULL;
	bool found = false;

	while (!found && (dev = next_open(node, before))) {
		if (before)
			device_drop(before);
		before = dev;
		found = !device_state(dev) && open_again(dev);
	}
	if (before)
		device_drop(before);
	return found ? before : NULL;
}

static uint64_t count_creations(void)
{
	uint64_t count;

	table_lock();
	count = creations;
	table_unlock();
	return count;
}

static int open_node(const struct node *node, struct accel_device **handle)
{
	uint64_t since = count_creations();
	struct device *dev = find_open(node);
	int err = dev ? 0 : device_create(node, since, &dev);

	if (!err)
		*handle = dev->handle;
	return err;
}

int accel_device_open(int index, struct accel_device **dev)
{
	KEEP_ERRNO;
	struct node node;
	int err;

	if (!dev)
		return fail(-EINVAL, "dev is NULL: the handle has to go somewhere");
	*dev = NULL;
	if (index < 0)
		return fail(-EINVAL, "index is %d: the first device is 0", index);
	err = node_find(index, &node) ?: fork_watch();
	return err ? err : open_node(&node, dev);
}

static void unlink_device(struct device *dev)
{
	struct device **at;

	for (at = &devices; *at != dev; at = &(*at)->next)
		;
	table_change_begin();
	WRITE_SHARED(*at, dev->next);
	table_change_end();
}

/* Out of the list, and its file closed, which may take its time. */
static void close_file(struct device *dev)
{
	table_lock();
	unlink_device(dev);
	moving++;
	table_unlock();
	if (dev->fd >= 0)
		close(dev->fd);
	table_lock();
	end_move();
	table_unlock();
}

/* Closing the file frees in the driver whatever is left: no command is needed for each range. */
static void device_destroy(struct device *dev)
{
	close_file(dev);
	ranges_free(dev->ranges);
	streams_free(dev);
	events_free(dev);
	batches_free(dev);
	stamps_free(dev);
	stage_free(dev);
	device_free(dev);
}

static int callback_close_error(void)
{
	return fail(-EDEADLK, "a callback cannot close the last handle of a device: the close "
			      "waits for callbacks");
}

/* Under the table lock. A callback cannot wait for itself. */
static int close_one(struct device *dev, bool *last)
{
	if (!dev->opens)
		return -EINVAL;
	if (dev->opens == 1 && in_callbacks())
		return -EDEADLK;
	*last = !__atomic_sub_fetch(&dev->opens, 1, __ATOMIC_SEQ_CST);
	return 0;
}

/* No call is in progress with any of them, but one that only looks an address up may have a reference. */
static void end_handles(struct device *dev)
{
	handle_end(HANDLE_DEVICE, dev->handle);
	streams_end_handles(dev);
	events_end_handles(dev);
	batches_end_handles(dev);
}

/* Callbacks that are due may still use the handle, and so may the one that holds the device. */
static void close_last(struct device *dev)
{
	bool held;

	callbacks_end(dev);
	table_lock();
	dev->closed = true;
	held = dev->holds;
	table_unlock();
	if (!held)
		end_handles(dev);
	peers_closed(dev);
	staged_give_up();
	device_drop(dev);
}

int accel_device_close(struct accel_device *handle)
{
	KEEP_ERRNO;
	struct device *dev;
	bool last = false;
	int err;

	table_lock();
	dev = handle_get(HANDLE_DEVICE, handle);
	err = dev ? close_one(dev, &last) : -EINVAL;
	table_unlock();
	if (last)
		close_last(dev);
	if (err == -EDEADLK)
		return callback_close_error();
	return err ? handle_error(HANDLE_DEVICE, handle) : 0;
}

void device_open_again(struct device *dev)
{
	open_again(dev);
}

int device_open_to_hold(struct device *dev)
{
	bool allowed;

	table_lock();
	allowed = dev->opens > 1;
	if (allowed) {
		__atomic_sub_fetch(&dev->opens, 1, __ATOMIC_SEQ_CST);
		dev->holds++;
		device_hold(dev);
	}
	table_unlock();
	return allowed ? 0 : callback_close_error();
}

void device_end_hold(struct device *dev)
{
	bool last;

	table_lock();
	last = !--dev->holds && dev->closed;
	table_unlock();
	if (last)
		end_handles(dev);
	device_drop(dev);
}

void device_hold(struct device *dev)
{
	__atomic_add_fetch(&dev->refs, 1, __ATOMIC_RELAXED);
}

void device_drop(struct device *dev)
{
	if (reference_put(&dev->refs))
		device_destroy(dev);
}

void device_disown_all(void)
{
	struct device *dev;

	settled = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	for (dev = devices; dev; dev = dev->next) {
		if (dev->fd >= 0)
			close(dev->fd);
		dev->fd = -1;
		window_disown(&dev->window);
		dev->inherited = true;
		/* That of the opens. Threads with other references are not in this process. */
		dev->refs = 1;
		dev->holds = 0;
		dev->calls_back = false;
	}
}

int accel_device_open_name(const char *name, struct accel_device **dev)
{
	KEEP_ERRNO;
	struct node node;
	int err;

	if (!dev)
		return fail(-EINVAL, "dev is NULL: the handle has to go somewhere");
	*dev = NULL;
	if (!name || !*name)
		return fail(-EINVAL, "name is %s: a path or a PCI address is needed",
			    name ? "empty" : "NULL");
	err = fork_watch() ?: node_find_name(name, &node);
	return err ? err : open_node(&node, dev);
}

/* EPERM is about fork() everywhere else. */
int accel_device_reset(struct accel_device *handle)
{
	KEEP_ERRNO;
	struct device *dev;
	struct paccel_reset cmd = { .size = sizeof(cmd) };
	int err = device_get(handle, &dev);

	if (err)
		return err;
	err = device_ioctl(dev, PACCEL_IOC_RESET, &cmd);
	if (err == -EPERM)
		return fail(-EACCES, "%s: a reset needs the capability CAP_SYS_ADMIN", dev->name);
	return err ? general_error(dev, err) : 0;
}

/*
 * The file of the device reports a hang-up or an error then, for which nothing has to be asked. An
 * epoll file keeps no reference on it, as a duplicate would.
 */
int accel_device_lost_fd(struct accel_device *handle, int *fd)
{
	KEEP_ERRNO;
	struct device *dev;
	struct epoll_event none = { .events = 0 };
	int err;

	if (!fd)
		return fail(-EINVAL, "fd is NULL: the file descriptor has to go somewhere");
	*fd = -1;
	err = device_get(handle, &dev);
	if (err)
		return err;
	*fd = epoll_create1(EPOLL_CLOEXEC);
	if (*fd >= 0 && !epoll_ctl(*fd, EPOLL_CTL_ADD, dev->fd, &none))
		return 0;
	err = -errno;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return fail(err, "cannot watch %s: %s", dev->name, accel_strerror(err));
}

int accel_device_count(void)
{
	KEEP_ERRNO;
	struct node *nodes;
	int count = node_scan(&nodes);

	free(nodes);
	return count;
}

_Static_assert((int)ACCEL_CAP_MAPPABLE == PACCEL_CAP_MAPPABLE &&
		       (int)ACCEL_CAP_NATIVE_D2D == PACCEL_CAP_NATIVE_D2D &&
		       (int)ACCEL_CAP_NATIVE_FILL == PACCEL_CAP_NATIVE_FILL &&
		       (int)ACCEL_CAP_MEM_SURVIVES_RESET == PACCEL_CAP_MEM_SURVIVES_RESET &&
		       (int)ACCEL_CAP_DIRECT_DMA == PACCEL_CAP_DIRECT_DMA &&
		       (int)ACCEL_CAP_VERIFY == PACCEL_CAP_VERIFY,
	       "capabilities are the driver's");

/* A device that can be mapped is not mappable through a handle whose mapping was refused. */
static uint32_t capabilities(const struct device *dev, uint32_t caps)
{
	return dev->window.mapped ? caps : caps & ~(uint32_t)ACCEL_CAP_MAPPABLE;
}

int accel_device_get_info(struct accel_device *handle, struct accel_device_info *info)
{
	KEEP_ERRNO;
	struct device *dev;
	struct paccel_device_info cmd;
	int err = device_get(handle, &dev);

	if (err)
		return err;
	if (!info)
		return fail(-EINVAL, "info is NULL");
	err = query_info(dev, &cmd);
	if (err)
		return general_error(dev, err);
	*info = (struct accel_device_info){
		.memory_size = cmd.mem_size,
		.granule = cmd.granule,
		.max_transfer = cmd.max_xfer,
		.max_alignment = cmd.max_align,
		.max_host_bytes = cmd.max_host_bytes,
		.max_host_ranges = cmd.max_host_ranges,
		.capabilities = capabilities(dev, cmd.caps),
		.engines = cmd.engines,
		.dma_bits = cmd.dma_bits,
		.copy_align = cmd.copy_align,
		.node = dev->node,
	};
	memcpy(info->name, cmd.backend, sizeof(info->name) - 1);
	memcpy(info->bus_address, cmd.bus_addr, sizeof(info->bus_address) - 1);
	return 0;
}
