/* SPDX-License-Identifier: MIT */
/*
 * The lock of the tables, and reading them without it: see table.h.
 */
#include "table.h"

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
uint64_t table_changes;

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
	__atomic_store_n(&table_changes, table_changes + 1, __ATOMIC_RELAXED);
}

void table_change_end(void)
{
	__atomic_store_n(&table_changes, table_changes + 1, __ATOMIC_RELEASE);
}
