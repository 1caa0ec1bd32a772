/* SPDX-License-Identifier: MIT */
/*
 * A lock for what is over in some 50 ns: a mutex of libc would take as long as what it protects. It
 * never sleeps but in lock_wait().
 */
#ifndef LIBACCEL_LOCK_H
#define LIBACCEL_LOCK_H

#include <stdbool.h>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
/*
 * Whether there is no other thread, and so none that could take a lock meanwhile: then two
 * atomic operations, as long as a third of what they protect, can be ordinary ones.
 */
static inline bool lock_alone(void)
{
	return __libc_single_threaded;
}
#else
static inline bool lock_alone(void)
{
	return false;
}
#endif

struct lock {
	int state; /* atomic: 0 is free, 1 taken, 2 taken and perhaps waited for */
};

/* lock.c: what happens if it is taken. */
void lock_wait(struct lock *lock);
void lock_wake(struct lock *lock);
/* Sleeps while a number that others count up is still this, or less long; and wakes all. */
void count_wait(unsigned int *count, unsigned int value);
void count_wake(unsigned int *count);

static inline bool lock_try(struct lock *lock)
{
	int free = 0;

	if (lock_alone()) {
		if (__atomic_load_n(&lock->state, __ATOMIC_RELAXED))
			return false;
		__atomic_store_n(&lock->state, 1, __ATOMIC_RELAXED);
		return true;
	}
	return __atomic_compare_exchange_n(&lock->state, &free, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static inline void lock_take(struct lock *lock)
{
	if (!lock_try(lock))
		lock_wait(lock);
}

static inline void lock_give(struct lock *lock)
{
	if (lock_alone())
		__atomic_store_n(&lock->state, 0, __ATOMIC_RELEASE);
	else if (__atomic_exchange_n(&lock->state, 0, __ATOMIC_RELEASE) == 2)
		lock_wake(lock);
}

#endif
