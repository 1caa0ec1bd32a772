/* SPDX-License-Identifier: MIT */
/*
 * Which devices are open and how many calls use them, what the current context of a thread is, and
 * what a fork leaves of it.
 */
#include "allocation.h"
#include "callback.h"
#include "context.h"
#include "handle.h"
#include "report.h"
#include "state.h"
#include "stream.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* of a device: its state or its users */
static pthread_once_t forks_watched = PTHREAD_ONCE_INIT;
static struct device devices[MAX_DEVICES];
static int open_devices;
static uint64_t inits; /* aclInit() that were not undone */
static bool was_finalized;
static bool in_child; /* the parent had called aclInit(), this process has not */

static __thread aclrtContext current;

void state_lock(void)
{
	pthread_mutex_lock(&lock);
}

void state_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void state_wait(pthread_cond_t *condition)
{
	pthread_cond_wait(condition, &lock);
}

void context_use(aclrtContext context)
{
	current = context;
}

/* ---- fork ---- */

/*
 * The calls that were under way stayed with the parent. The devices that it had opened are not
 * closed here: as long as libaccel has their windows, it refuses the addresses in them.
 */
static void after_fork_in_child(void)
{
	for (int i = 0; i < MAX_DEVICES; i++) {
		devices[i].state = DEVICE_CLOSED;
		devices[i].dev = NULL;
		devices[i].sets = 0;
		devices[i].users = 0;
		devices[i].context = NULL;
		devices[i].peers = 0;
		allocations_forget(&devices[i]);
	}
	open_devices = 0;
	handles_forget();
	awaited_in_child();
	reports_forget();
	in_child = in_child || inits;
	inits = 0;
	changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	state_unlock();
}

static void watch(void)
{
	pthread_atfork(state_lock, state_unlock, after_fork_in_child);
}

void state_watch_forks(void)
{
	pthread_once(&forks_watched, watch);
}

/* ---- aclInit() ---- */

uint64_t state_init(void)
{
	uint64_t count;

	state_watch_forks();
	state_lock();
	count = ++inits;
	in_child = false;
	state_unlock();
	return count;
}

/* Under the lock. */
static aclError uninitialized(void)
{
	bool child = in_child;

	state_unlock();
	if (child)
		return call_fail(ACL_ERROR_UNINITIALIZE,
				 "this process was forked from one that had called aclInit(): it "
				 "has to call aclInit() itself, and has nothing of the other's");
	return call_fail(ACL_ERROR_UNINITIALIZE, "aclInit() has not been called");
}

aclError call_enter(const char *name)
{
	call_begin(name);
	state_lock();
	if (!inits)
		return uninitialized();
	state_unlock();
	return ACL_SUCCESS;
}

/* ---- Uses of a device ---- */

/* Under the lock. */
static struct device *use(struct device *device)
{
	device->users++;
	return device;
}

/*
 * Without the lock, which each call has taken once already. Who closes the device says so before it
 * looks at the uses, and here the use ends before the state is looked at: one of the two sees the
 * other.
 */
void device_put(struct device *device)
{
	unsigned int users = atomic_load(&device->users);

	/* In a process that was forked inside a call the use is not counted. */
	while (users && !atomic_compare_exchange_weak(&device->users, &users, users - 1))
		;
	if (users != 1 || atomic_load(&device->state) != DEVICE_CLOSING)
		return;
	state_lock();
	pthread_cond_broadcast(&changed);
	state_unlock();
}

struct device *device_with(const struct accel_device *dev)
{
	struct device *device = NULL;

	state_lock();
	for (int i = 0; dev && !device && i < MAX_DEVICES; i++)
		if (devices[i].state == DEVICE_OPEN && devices[i].dev == dev)
			device = use(&devices[i]);
	state_unlock();
	return device;
}

struct device *device_next(int *at)
{
	struct device *device = NULL;

	state_lock();
	for (; !device && *at < MAX_DEVICES; ++*at)
		if (devices[*at].state == DEVICE_OPEN)
			device = use(&devices[*at]);
	state_unlock();
	return device;
}

static aclError no_context(void)
{
	if (!current)
		return call_fail(ACL_ERROR_RT_CONTEXT_NULL,
				 "this thread has no current context: aclrtSetDevice() makes one");
	return call_fail(ACL_ERROR_RT_CONTEXT_NULL,
			 "the current context of this thread is gone: it was destroyed, or its "
			 "device was reset; call aclrtSetDevice() or aclrtSetCurrentContext()");
}

aclError here_enter(const char *name, struct here *here)
{
	struct object *object;

	call_begin(name);
	state_lock();
	if (!inits)
		return uninitialized();
	object = handle_find(HANDLE_CONTEXT, current);
	if (object && object->device->state == DEVICE_OPEN)
		*here = (struct here){ use(object->device), current, open_devices == 1 };
	else
		object = NULL;
	state_unlock();
	return object ? ACL_SUCCESS : no_context();
}

void here_leave(const struct here *here)
{
	device_put(here->device);
}

/* ---- Opening and closing ---- */

/*
 * Under the lock, which is released meanwhile: waits until no other thread opens or closes the
 * device. False in a function that a stream waits for, if a thread closes the device: that thread
 * may wait for the stream.
 */
static bool settle(struct device *device)
{
	while (device->state == DEVICE_OPENING || device->state == DEVICE_CLOSING) {
		if (device->state == DEVICE_CLOSING && awaited_here())
			return false;
		pthread_cond_wait(&changed, &lock);
	}
	return true;
}

static void set_state(struct device *device, enum device_state state)
{
	open_devices += (state == DEVICE_OPEN) - (device->state == DEVICE_OPEN);
	device->state = state;
	pthread_cond_broadcast(&changed);
}

static aclError no_such_device(int32_t id)
{
	int count = accel_device_count();

	if (count <= 0)
		return call_fail(ACL_ERROR_RT_INVALID_DEVICEID,
				 "deviceId: there is no device %d: there is none", id);
	return call_fail(ACL_ERROR_RT_INVALID_DEVICEID,
			 "deviceId: there is no device %d: 0 to %d can be used", id, count - 1);
}

/* Under the lock, which is given up meanwhile. The default context lives as long as the device. */
static int open_closed(struct device *device, int32_t id)
{
	struct object object = { .kind = HANDLE_CONTEXT, .device = device, .is_default = true };
	struct accel_device *dev = NULL;
	int err;

	set_state(device, DEVICE_OPENING);
	state_unlock();
	err = accel_device_open(id, &dev);
	state_lock();
	if (!err) {
		device->context = handle_make(&object);
		err = device->context ? 0 : -ENOMEM;
	}
	if (err) {
		set_state(device, DEVICE_CLOSED);
		state_unlock();
		if (dev)
			accel_device_close(dev);
		state_lock();
		return err;
	}
	device->dev = dev;
	device->id = id;
	set_state(device, DEVICE_OPEN);
	return 0;
}

aclError device_open(int32_t id, struct device **device)
{
	int err = 0;

	if (id < 0 || id >= MAX_DEVICES)
		return no_such_device(id);
	state_lock();
	if (!settle(&devices[id])) {
		state_unlock();
		return call_fail(ACL_ERROR_RT_PARAM_INVALID,
				 "deviceId: device %d is being reset, which may wait for the "
				 "function of aclrtLaunchHostFunc() or aclrtLaunchCallback() that "
				 "makes this call", id);
	}
	/* If another thread has finalized since this call began, nothing would close the device. */
	if (!inits)
		return uninitialized();
	if (devices[id].state == DEVICE_CLOSED)
		err = open_closed(&devices[id], id);
	if (!err)
		*device = use(&devices[id]);
	state_unlock();
	if (err == -ENODEV)
		return no_such_device(id);
	return call_failed(err);
}

/* Under the lock, of one that is open: closed by this thread, by nobody else. */
static void begin_to_close(struct device *device)
{
	device->sets = 0;
	device->peers = 0;
	set_state(device, DEVICE_CLOSING);
}

/* What begin_to_close() has begun. */
static aclError close_now(struct device *device, bool wait)
{
	aclError code = ACL_SUCCESS;
	int err;

	/* A callback that blocks its stream would have to be waited for. */
	reports_end(device);
	err = wait ? accel_device_synchronize(device->dev) : 0;
	/* A device that is lost has no work: to reset it is the cure. */
	if (wait && !err_is_lost(err))
		code = streams_told(device, err);
	state_lock();
	while (device->users)
		pthread_cond_wait(&changed, &lock);
	state_unlock();
	objects_end(device, NULL);
	allocations_end(device);
	accel_device_close(device->dev);
	state_lock();
	device->dev = NULL;
	device->context = NULL;
	set_state(device, DEVICE_CLOSED);
	state_unlock();
	return code;
}

aclError device_reset(int32_t id, bool force)
{
	struct device *device;
	bool is_open, last;

	if (id < 0 || id >= MAX_DEVICES)
		return no_such_device(id);
	device = &devices[id];
	state_lock();
	/* Before the wait for another thread, which may close the device and wait for this one. */
	if (awaited_here() && device->state != DEVICE_CLOSED && (force || device->sets <= 1)) {
		state_unlock();
		return awaited_fail();
	}
	settle(device);
	is_open = device->state == DEVICE_OPEN;
	last = is_open && (force || device->sets <= 1);
	/* Before another thread can set the device: its own would be closed. */
	if (last)
		begin_to_close(device);
	else if (is_open)
		device->sets--;
	state_unlock();
	/* One that was removed is not counted any more, but can be reset. */
	if (!is_open && id >= accel_device_count())
		return no_such_device(id);
	if (!is_open)
		return call_fail(ACL_ERROR_RT_CONTEXT_NULL,
				 "deviceId: device %d is not in use: aclrtSetDevice() comes first",
				 id);
	return last ? close_now(device, !force) : ACL_SUCCESS;
}

/* ---- aclFinalize() ---- */

static bool is_settled(const struct device *device)
{
	return device->state == DEVICE_CLOSED || device->state == DEVICE_OPEN;
}

/* Under the lock, which is given up meanwhile. */
static void settle_all(void)
{
	for (int i = 0; i < MAX_DEVICES; i++) {
		if (is_settled(&devices[i]))
			continue;
		settle(&devices[i]);
		/* Meanwhile those before it may have changed. */
		i = -1;
	}
}

/* Under the lock; the devices that are this thread's to close, as bits. */
static uint64_t begin_to_close_all(void)
{
	uint64_t closing = 0;

	for (int i = 0; i < MAX_DEVICES; i++) {
		if (devices[i].state != DEVICE_OPEN)
			continue;
		begin_to_close(&devices[i]);
		closing |= UINT64_C(1) << i;
	}
	return closing;
}

/* Before another thread can begin anew: what it opens then is not closed. */
aclError state_finalize(bool all, uint64_t *left)
{
	aclError err = ACL_SUCCESS;
	uint64_t closing;

	state_lock();
	/* Another thread may close a device, and wait for the function that calls this. */
	if (!awaited_here())
		settle_all();
	if (!inits && was_finalized && !in_child) {
		state_unlock();
		return call_fail(ACL_ERROR_REPEAT_FINALIZE,
				 "aclInit() has not been called since the last aclFinalize()");
	}
	if (!inits)
		return uninitialized();
	if ((all || inits == 1) && awaited_here()) {
		*left = inits;
		state_unlock();
		return awaited_fail();
	}
	inits = all ? 0 : inits - 1;
	*left = inits;
	was_finalized = !inits;
	closing = inits ? 0 : begin_to_close_all();
	state_unlock();
	/* A failure is told, but leaves no device open. */
	for (int i = 0; i < MAX_DEVICES; i++) {
		aclError failed = closing >> i & 1 ? close_now(&devices[i], true) : ACL_SUCCESS;

		err = err ? err : failed;
	}
	return err;
}
