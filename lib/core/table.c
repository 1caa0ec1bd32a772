/* SPDX-License-Identifier: MIT */
/*
 * The lock of the tables, and reading them without it: see private.h.
 */
#include "private.h"

/* After so many a reader takes the lock: a writer may have been preempted. */
#define ATTEMPTS 100

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static uint64_t changes; /* atomic; odd while something is changed */

void table_lock(void)
{
	pthread_mutex_lock(&table);
}

void table_unlock(void)
{
	pthread_mutex_unlock(&table);
}

void table_wait(pthread_cond_t *condition)
{
	pthread_cond_wait(condition, &table);
}

/* What is written from now on is written with WRITE_SHARED(), behind this. */
void table_change_begin(void)
{
	__atomic_store_n(&changes, changes + 1, __ATOMIC_RELAXED);
}

void table_change_end(void)
{
	__atomic_store_n(&changes, changes + 1, __ATOMIC_RELEASE);
}

void table_read_begin(struct table_read *read)
{
	read->locked = read->attempts++ == ATTEMPTS;
	if (read->locked)
		table_lock();
	read->changes = __atomic_load_n(&changes, __ATOMIC_ACQUIRE);
}

bool table_read_retry(struct table_read *read)
{
	if (read->locked) {
		table_unlock();
		return false;
	}
	/* Not before what was read with READ_SHARED(). */
	return read->changes & 1 ||
	       __atomic_load_n(&changes, __ATOMIC_RELAXED) != read->changes;
}
