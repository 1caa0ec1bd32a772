/* SPDX-License-Identifier: MIT */
/*
 * The slow side of lock.h. Who has the lock is nearly always on another processor and about to give
 * it. If it does not, it was preempted, or many threads want the lock: then looking again and again would
 * keep the others from running, so this thread sleeps.
 */
#define _GNU_SOURCE
#include "error.h"
#include "lock.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST_PAUSES 16
#define SLEEPS 8
#define SLEEP_NS 50000

static void futex(void *at, int op, unsigned int value)
{
	KEEP_ERRNO;

	syscall(SYS_futex, at, op | FUTEX_PRIVATE_FLAG, value, NULL);
}

static void nap(void)
{
	const struct timespec time = { .tv_nsec = SLEEP_NS };
	KEEP_ERRNO;

	nanosleep(&time, NULL);
}

/* As long as the lock is held by a thread that is running. */
static bool lock_spin(struct lock *lock)
{
	for (int pauses = 1; pauses <= MOST_PAUSES; pauses *= 2) {
		for (int i = 0; i < pauses; i++) {
#if defined(__x86_64__) || defined(__i386__)
			__builtin_ia32_pause();
#endif
		}
		if (!__atomic_load_n(&lock->state, __ATOMIC_RELAXED) && lock_try(lock))
			return true;
	}
	return false;
}

/*
 * Of threads that do nothing but take the lock, one makes many calls in a row meanwhile: what it protects
 * stays in the caches of one processor, and no thread has to be woken. The last wait is one for the wake-up, so
 * that no thread waits for ever.
 */
void lock_wait(struct lock *lock)
{
	for (int i = 0; i < SLEEPS; i++) {
		if (lock_spin(lock))
			return;
		nap();
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
