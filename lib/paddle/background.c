/* SPDX-License-Identifier: MIT */
/*
 * Sends outside of groups end in threads: all ranks may send first and receive then, as batch_isend_irecv() does, for
 * which Paddle starts no group on custom devices. What is sent has been copied to staging memory.
 *
 * The sends to a rank are waited for in their order, so that the limit of each begins when the one before has been
 * received. A send that fails leaves its communicator failed, as any job. destroy_comm and finalize wait for sends.
 */
#include "private.h"

#include <pthread.h>
#include <signal.h>

/* Of sends under way in this process, besides a single one of any size. Further ones wait until others have ended. */
#define MOST_SENDS 64
#define MOST_BYTES (256ul << 20)

/* No other lock is taken under it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned int sends;
static size_t bytes;

static struct messages *messages_of(const struct job *job)
{
	return &job->ops[0].comm->with[job->ops[0].peer];
}

static void enqueue(struct job *job)
{
	size_t size = job->ops[0].size;

	pthread_mutex_lock(&lock);
	while (sends && (sends == MOST_SENDS || bytes + size > MOST_BYTES))
		pthread_cond_wait(&changed, &lock);
	sends++;
	bytes += size;
	job->place = messages_of(job)->begun++;
	pthread_mutex_unlock(&lock);
}

static void wait_for_turn(const struct job *job)
{
	pthread_mutex_lock(&lock);
	while (messages_of(job)->ended != job->place)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void dequeue(struct job *job)
{
	pthread_mutex_lock(&lock);
	sends--;
	bytes -= job->ops[0].size;
	messages_of(job)->ended++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void *finish(void *data)
{
	struct job *job = data;
	int err;

	wait_for_turn(job);
	err = job_finish(job);
	/* Without closing connections: another operation of the communicator may be waiting for a rank that is alive. */
	if (err)
		job_fail(job, err);
	dequeue(job);
	job_end(job);
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

void background_finish(struct job *job)
{
	enqueue(job);
	if (!start_thread(job))
		finish(job);
}
