/* SPDX-License-Identifier: MIT */
/*
 * The tables are the list of handles with their windows, their trees of ranges, and the links
 * between devices. One mutex, the table lock, serializes changes. It is held for changes and for
 * look-ups of other calls than copies and fills, never across a system call. A copy or fill looks
 * its addresses up in all tables (a pointer of another device is an error, not host memory) without
 * the lock: it reads the tables between table_read_begin() and table_read_retry(), and reads again
 * if they were changed meanwhile. This is a sequence count over nodes whose type is stable. It is right
 * although nodes are freed:
 *
 * - Handles, ranges and links are never returned to the heap. They are reused for their own
 *   type, so an outdated pointer leads to a node of the same type. The memory is bounded by the
 *   most that were live.
 * - All fields that are read without the lock are written with WRITE_SHARED() and read with
 *   READ_SHARED(). The odd count is stored before each such write, which is a release. A reader
 *   that sees the written value, by an acquire, also sees that count, and discards what it has
 *   read.
 * - What is needed afterwards is copied, or referenced. A reference is taken only where the
 *   count of references is not 0, and is dropped if the tables were changed.
 *
 * Epochs would need a full barrier per copy, a registry of threads, and a tree that is copied
 * for each change, which can fail for lack of memory.
 *
 * A copy takes the table lock in two cases: when it has met a change 100 times, and to make the
 * link when it is the first from its device to an allocation of another.
 *
 * Streams, events and staged bytes have one lock for each device (device.lock), callbacks one
 * for the process. The order is: table lock, device, callbacks. None is held while anything waits.
 * Pools and adaptors have locks of their own, which come before all of these.
 */
#ifndef LIBACCEL_TABLE_H
#define LIBACCEL_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

void table_lock(void);
void table_unlock(void);
void table_wait(pthread_cond_t *condition);

#define READ_SHARED(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define WRITE_SHARED(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELEASE)

/* Around changes that lead from one state that may be read to another; under the table lock. */
void table_change_begin(void);
void table_change_end(void);

/* Starts as { 0 }. What was read is of use only when table_read_retry() has said false. */
struct table_read {
	uint64_t changes;
	unsigned int attempts;
	bool locked;
};

/* How many changes have begun and ended: odd while something is changed. */
extern uint64_t table_changes __attribute__((visibility("hidden")));

/* After so many attempts a reader takes the lock: a writer may have been preempted. */
#define TABLE_ATTEMPTS 100

static inline void table_read_begin(struct table_read *read)
{
	read->locked = read->attempts++ == TABLE_ATTEMPTS;
	if (read->locked)
		table_lock();
	read->changes = READ_SHARED(table_changes);
}

static inline bool table_read_retry(struct table_read *read)
{
	if (read->locked) {
		table_unlock();
		return false;
	}
	/* Not before what was read with READ_SHARED(). */
	return read->changes & 1 ||
	       __atomic_load_n(&table_changes, __ATOMIC_RELAXED) != read->changes;
}

/* One more reference, unless there is none: the object is not alive. */
static inline bool reference_get(unsigned int *count)
{
	unsigned int seen = __atomic_load_n(count, __ATOMIC_RELAXED);

	while (seen && !__atomic_compare_exchange_n(count, &seen, seen + 1, true, __ATOMIC_ACQUIRE,
						    __ATOMIC_RELAXED))
		;
	return seen;
}

/* True: that was the last one. */
static inline bool reference_put(unsigned int *count)
{
	return !__atomic_sub_fetch(count, 1, __ATOMIC_ACQ_REL);
}

#endif
