/* SPDX-License-Identifier: MIT */
/*
 * The devices that Paddle sees. They are opened by initialize and closed by finalize, whatever else
 * happens: Paddle numbers them once, and uses them from any thread without saying so before.
 */
#include "private.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static pthread_once_t forks_watched = PTHREAD_ONCE_INIT;
static struct device *devices;
static size_t device_count;
static unsigned int users; /* calls under way */
static bool is_open;
static bool in_child; /* what is open belongs to the parent */

static __thread int current;

void plugin_lock(void)
{
	pthread_mutex_lock(&lock);
}

void plugin_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* ---- fork: workers of a data loader ---- */

/* The calls that were under way stayed with the parent. */
static void after_fork_in_child(void)
{
	users = 0;
	for (size_t i = 0; i < device_count; i++)
		devices[i].pending = 0;
	in_child = true;
	idle = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	plugin_unlock();
}

static void watch(void)
{
	if (pthread_atfork(plugin_lock, plugin_unlock, after_fork_in_child))
		plugin_say("out of memory: a process that forks may hang");
}

void plugin_watch_forks(void)
{
	pthread_once(&forks_watched, watch);
}

bool plugin_in_child(void)
{
	return in_child;
}

int plugin_waited(int err)
{
	return in_child && err == -EPERM ? 0 : err;
}

/* ---- Calls that use a device ---- */

/* Under the lock. */
static struct device *device_at(const struct place *place)
{
	if (!place || !is_open || place->id < 0 || (size_t)place->id >= device_count)
		return NULL;
	return &devices[place->id];
}

static void complain_of(const char *call, const struct place *place, bool was_open, size_t count)
{
	if (!was_open)
		plugin_say("%s: before initialize, or after finalize", call);
	else if (!place)
		plugin_say("%s: device is NULL", call);
	else
		plugin_say("%s: there is no device %d: %zu can be used", call, place->id, count);
}

struct device *plugin_enter(const char *call, const struct place *place)
{
	struct device *device;
	bool was_open;
	size_t count;

	plugin_lock();
	device = device_at(place);
	users += !!device;
	was_open = is_open;
	count = device_count;
	plugin_unlock();
	if (!device)
		complain_of(call, place, was_open, count);
	return device;
}

/* Under the lock. */
static struct device *device_of(const struct accel_device *dev)
{
	for (size_t i = 0; is_open && i < device_count; i++)
		if (devices[i].dev == dev)
			return &devices[i];
	return NULL;
}

struct device *plugin_enter_memory(const void *ptr)
{
	struct accel_pointer_info info;
	struct device *device;

	if (accel_pointer_get_info(ptr, &info))
		return NULL;
	plugin_lock();
	device = device_of(info.device);
	users += !!device;
	plugin_unlock();
	return device;
}

struct device *plugin_enter_current(void)
{
	struct place now = { .id = current };
	struct device *device;

	plugin_lock();
	device = device_at(&now);
	users += !!device;
	plugin_unlock();
	return device;
}

void plugin_leave(void)
{
	plugin_lock();
	/* In a child that was forked inside a call, it is not counted. */
	if (users && !--users)
		pthread_cond_broadcast(&idle);
	plugin_unlock();
}

enum status plugin_done(const char *call, const struct device *device, int err,
			const char *format, ...)
{
	enum status status = plugin_status(call, err);
	char text[TEXT_SIZE];
	va_list args;

	if (plugin_tracing) {
		va_start(args, format);
		vsnprintf(text, sizeof(text), format, args);
		va_end(args);
		plugin_trace("accel:%d %s(%s) = %d", device->id, call, text, err);
	}
	plugin_leave();
	return status;
}

static uint64_t kept_error(int err)
{
	static uint32_t number;

	return (uint64_t)__atomic_fetch_add(&number, 1, __ATOMIC_RELAXED) << 32 | (uint32_t)-err;
}

uint64_t device_keep(struct device *device, int err)
{
	uint64_t none = 0, kept = kept_error(err);

	return __atomic_compare_exchange_n(&device->pending, &none, kept, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED) ? kept : 0;
}

void device_forget(struct device *device, uint64_t kept)
{
	if (kept)
		__atomic_compare_exchange_n(&device->pending, &kept, 0, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
}

void device_fail(struct device *device, const char *call, int err)
{
	plugin_complain(call, err);
	__atomic_store_n(&device->pending, kept_error(err), __ATOMIC_RELAXED);
}

int device_pending(struct device *device)
{
	int err = -(int)(uint32_t)__atomic_exchange_n(&device->pending, 0, __ATOMIC_RELAXED);

	return err ? plugin_fail(err, "work before it failed: %s", accel_strerror(err)) : 0;
}

/* ---- Opening and closing ---- */

static int device_open(struct device *device, int index, size_t min_chunk)
{
	int err = accel_device_open(index, &device->dev);
	struct accel_device_info info;

	if (err)
		return err;
	err = accel_device_get_info(device->dev, &info);
	if (err) {
		accel_device_close(device->dev);
		return err;
	}
	device->min_chunk = min_chunk ? min_chunk : info.granule;
	device->total = info.memory_size;
	return 0;
}

/* One that cannot be used is left out, and the others move up: Paddle numbers without gaps. */
static size_t open_devices(const struct settings *settings, struct device *made)
{
	size_t count = 0;

	for (size_t i = 0; i < settings->count; i++) {
		int err;

		made[count] = (struct device){ .id = (int)count };
		err = device_open(&made[count], settings->devices[i], settings->min_chunk);
		if (err)
			plugin_complain("initialize", err);
		count += !err;
	}
	return count;
}

static void say_why_none(void)
{
	struct accel_device *dev;

	if (accel_device_open(0, &dev))
		plugin_say("no device: %s", accel_last_error());
	else
		accel_device_close(dev);
}

static size_t find_devices(struct device **made)
{
	struct settings settings = { 0 };
	int present = accel_device_count();
	int err = present < 0 ? present : settings_read(&settings, present);
	size_t count = 0;

	*made = NULL;
	plugin_tracing = settings.trace;
	if (!err) {
		*made = calloc(settings.count + 1, sizeof(**made));
		if (!*made)
			err = plugin_fail(-ENOMEM, "out of memory");
	}
	if (err)
		plugin_complain("no device", err);
	else if (!present)
		say_why_none();
	else
		count = open_devices(&settings, *made);
	free(settings.devices);
	return count;
}

/* Anything but success ends the process. Without a device, get_device_count() gives 0. */
static enum status initialize(void)
{
	struct device *made;
	size_t count;
	bool again;

	plugin_lock();
	again = is_open;
	plugin_unlock();
	if (again)
		return STATUS_SUCCESS;
	plugin_watch_forks();
	count = find_devices(&made);
	plugin_lock();
	devices = made;
	device_count = count;
	is_open = true;
	in_child = false;
	plugin_unlock();
	plugin_trace("initialize() = 0, %zu devices", count);
	return STATUS_SUCCESS;
}

/* Calls of other threads end first; there are such while the process ends. */
static void take_devices(struct device **taken, size_t *count)
{
	plugin_lock();
	is_open = false;
	while (users)
		pthread_cond_wait(&idle, &lock);
	*taken = devices;
	*count = device_count;
	devices = NULL;
	device_count = 0;
	plugin_unlock();
}

/* Paddle does not survive any other answer than success. */
static enum status finalize(void)
{
	struct device *taken;
	size_t count;

	take_devices(&taken, &count);
	for (size_t i = 0; i < count; i++) {
		int err;

		staging_free(&taken[i]);
		err = accel_device_close(taken[i].dev);

		if (err)
			plugin_complain(__func__, err);
		free(taken[i].streams);
	}
	free(taken);
	plugin_trace("finalize() = 0");
	return STATUS_SUCCESS;
}

/* ---- Numbers ---- */

/* It has been opened already. */
static enum status init_device(struct place *place)
{
	struct device *device = plugin_enter(__func__, place);

	return device ? plugin_done(__func__, device, 0, "%s", "") : STATUS_ERROR;
}

/* The device stays open until finalize: other threads may still use it. */
static enum status deinit_device(struct place *place)
{
	struct device *device = plugin_enter(__func__, place);

	return device ? plugin_done(__func__, device, 0, "%s", "") : STATUS_ERROR;
}

static enum status set_device(struct place *place)
{
	struct device *device = plugin_enter(__func__, place);

	if (!device)
		return STATUS_ERROR;
	current = device->id;
	return plugin_done(__func__, device, 0, "%s", "");
}

static enum status get_device(struct place *place)
{
	struct place now = { .id = current };
	struct device *device = plugin_enter(__func__, &now);

	if (!device)
		return STATUS_ERROR;
	if (!place)
		return plugin_done(__func__, device, plugin_fail(-EINVAL, "device is NULL"),
				   "NULL");
	place->id = current;
	return plugin_done(__func__, device, 0, "%s", "");
}

static bool count_devices(size_t *count)
{
	bool was_open;

	plugin_lock();
	was_open = is_open;
	*count = device_count;
	plugin_unlock();
	return was_open;
}

static enum status get_device_count(size_t *count)
{
	if (!count)
		return plugin_status(__func__, plugin_fail(-EINVAL, "count is NULL"));
	return count_devices(count) ? STATUS_SUCCESS : STATUS_ERROR;
}

/* They are 0 to count - 1: Paddle mixes up places in the list and numbers of devices. */
static enum status get_device_list(size_t *list)
{
	size_t count;

	if (!count_devices(&count))
		return STATUS_ERROR;
	if (count && !list)
		return plugin_status(__func__, plugin_fail(-EINVAL, "list is NULL"));
	for (size_t i = 0; i < count; i++)
		list[i] = i;
	return STATUS_SUCCESS;
}

void device_functions(struct interface *table)
{
	table->initialize = initialize;
	table->finalize = finalize;
	table->init_device = init_device;
	table->deinit_device = deinit_device;
	table->set_device = set_device;
	table->get_device = get_device;
	table->get_device_count = get_device_count;
	table->get_device_list = get_device_list;
}
