// SPDX-License-Identifier: MIT
/*
 * Preloaded beside the mock: counts calls of accel_event_query() by the Python module, and stops one of
 * accel_event_record() or accel_batch_submit(). Raises a signal.
 */

#include <accel/accel.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static atomic_uint queries;

enum record { RECORD_PASSES, RECORD_STOPS, RECORD_STOPPED };

static enum record record;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* The number since the last call. */
__attribute__((visibility("default"))) unsigned int count_queries(void);

unsigned int count_queries(void)
{
	return atomic_exchange(&queries, 0);
}

/* The next call stops after the event was recorded; wait until it has; let it return. */
__attribute__((visibility("default"))) void record_stop(void);
__attribute__((visibility("default"))) void record_wait_stopped(void);
__attribute__((visibility("default"))) void record_continue(void);

static void record_set(enum record state)
{
	pthread_mutex_lock(&lock);
	record = state;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* With the lock held. */
static void record_wait_while(enum record state)
{
	while (record == state)
		pthread_cond_wait(&changed, &lock);
}

static void record_pass(void)
{
	pthread_mutex_lock(&lock);
	if (record == RECORD_STOPS) {
		record = RECORD_STOPPED;
		pthread_cond_broadcast(&changed);
		record_wait_while(RECORD_STOPPED);
	}
	pthread_mutex_unlock(&lock);
}

void record_stop(void)
{
	record_set(RECORD_STOPS);
}

void record_wait_stopped(void)
{
	pthread_mutex_lock(&lock);
	record_wait_while(RECORD_STOPS);
	pthread_mutex_unlock(&lock);
}

void record_continue(void)
{
	record_set(RECORD_PASSES);
}

/* For mock_before(): a function in Python would run the handler of the signal itself. */
__attribute__((visibility("default"))) void raise_alarm(void);

void raise_alarm(void)
{
	raise(SIGALRM);
}

/* The module has loaded the library, though not for all to see: RTLD_NEXT would not find it. */
static void *real_function(const char *name)
{
	return dlsym(dlopen("libaccel.so.0", RTLD_LAZY | RTLD_NOLOAD), name);
}

__attribute__((visibility("default"))) int accel_event_query(struct accel_event *event)
{
	int (*query)(struct accel_event *) = real_function(__func__);

	atomic_fetch_add(&queries, 1);
	return query(event);
}

__attribute__((visibility("default"))) int accel_event_record(struct accel_event *event,
							      struct accel_stream *stream)
{
	int (*record_event)(struct accel_event *, struct accel_stream *) = real_function(__func__);
	int rc = record_event(event, stream);

	record_pass();
	return rc;
}

__attribute__((visibility("default"))) int accel_batch_submit(struct accel_batch *batch,
							      struct accel_stream *stream, size_t *failed)
{
	int (*submit)(struct accel_batch *, struct accel_stream *, size_t *) = real_function(__func__);
	int rc = submit(batch, stream, failed);

	record_pass();
	return rc;
}
