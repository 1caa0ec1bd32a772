/* SPDX-License-Identifier: MIT */
/*
 * Sends outside of groups end in threads: all ranks may send first and receive then, as batch_isend_irecv() does, for
 * which Paddle starts no group on custom devices. What is sent has been copied to staging memory. The next call on the
 * device returns the error of a send, and its communicator is of no use then, as after any job. destroy_comm and
 * finalize, which Paddle calls at its end, wait for sends.
 */
#include "private.h"

#include <pthread.h>
#include <signal.h>

/* Of sends under way, besides a single one of any size. Further ones end before their call returns. */
#define MOST_SENDS 64
#define MOST_BYTES (256ul << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int sends; /* under the lock */
static size_t bytes; /* of them; under the lock */

static bool take_room(size_t size)
{
	bool has_room;

	pthread_mutex_lock(&lock);
	has_room = !sends || (sends < MOST_SENDS && bytes + size <= MOST_BYTES);
	if (has_room) {
		sends++;
		bytes += size;
	}
	pthread_mutex_unlock(&lock);
	return has_room;
}

static void give_room(size_t size)
{
	pthread_mutex_lock(&lock);
	sends--;
	bytes -= size;
	pthread_mutex_unlock(&lock);
}

static void *finish(void *data)
{
	struct job *job = data;
	size_t size = job->ops[0].size;

	job_finish(job, 0);
	give_room(size);
	return NULL;
}

/* Signals are for the threads of the program. */
static bool start_thread(struct job *job)
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, finish, job);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		pthread_detach(thread);
	return !err;
}

bool background_finish(struct job *job)
{
	size_t size = job->ops[0].size;

	if (!take_room(size))
		return false;
	if (start_thread(job))
		return true;
	give_room(size);
	return false;
}
