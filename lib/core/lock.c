/* SPDX-License-Identifier: MIT */
/*
 * The slow side of lock.h. Who has the lock is nearly always on another processor and about to give
 * it; else it was preempted, and to look again and again would keep it from running.
 */
#define _GNU_SOURCE
#include "error.h"
#include "lock.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_PAUSES 1024

static void futex(void *at, int op, unsigned int value)
{
	KEEP_ERRNO;

	syscall(SYS_futex, at, op | FUTEX_PRIVATE_FLAG, value, NULL);
}

void lock_wait(struct lock *lock)
{
	for (int pauses = 1; pauses <= MOST_PAUSES; pauses *= 2) {
		for (int i = 0; i < pauses; i++) {
#if defined(__x86_64__) || defined(__i386__)
			__builtin_ia32_pause();
#endif
		}
		if (!__atomic_load_n(&lock->state, __ATOMIC_RELAXED) && lock_try(lock))
			return;
	}
	while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE))
		futex(&lock->state, FUTEX_WAIT, 2);
}

void lock_wake(struct lock *lock)
{
	futex(&lock->state, FUTEX_WAKE, 1);
}

void count_wait(unsigned int *count, unsigned int value)
{
	futex(count, FUTEX_WAIT, value);
}

void count_wake(unsigned int *count)
{
	futex(count, FUTEX_WAKE, INT_MAX);
}
