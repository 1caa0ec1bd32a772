/* SPDX-License-Identifier: MIT */
/*
 * fork(): the driver serves the process that opened the device, so a child has to open it again.
 * Handlers instead of a getpid() in every call.
 */
#include "callback.h"
#include "copy.h"
#include "device.h"
#include "error.h"
#include "fork.h"
#include "peer.h"
#include "table.h"

#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int installed;
unsigned int forks;

/*
 * The inherited windows stay reserved, so that pointers from before the fork are still told from
 * host memory; the inherited files are closed, so that the child does not keep the parent's devices
 * open.
 */
static void in_child(void)
{
	KEEP_ERRNO;

	forks++;
	staged_in_child();
	callbacks_in_child();
	peers_in_child();
	device_disown_all();
	table_unlock();
}

static void before(void)
{
	table_lock();
	device_settle();
	callbacks_before_fork();
}

static void in_parent(void)
{
	callbacks_after_fork();
	table_unlock();
}

static void install(void)
{
	installed = -pthread_atfork(before, in_parent, in_child);
}

int fork_watch(void)
{
	pthread_once(&once, install);
	return installed ? fail(installed, "out of memory") : 0;
}
