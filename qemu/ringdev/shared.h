/* SPDX-License-Identifier: MIT */
/*
 * Memory that the guest writes at the same time. Each value is read once, into the caller's own
 * copy, and only the copy is looked at: what has been checked cannot change afterwards.
 */
#ifndef RINGDEV_SHARED_H
#define RINGDEV_SHARED_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t shared_read32(const uint8_t *at)
{
	return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

static inline uint64_t shared_read64(const uint8_t *at)
{
	return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

/* Everything written before is visible to whoever sees this. */
static inline void shared_write32(uint8_t *at, uint32_t value)
{
	__atomic_store_n((uint32_t *)(void *)at, value, __ATOMIC_RELEASE);
}

static inline void shared_write64(uint8_t *at, uint64_t value)
{
	__atomic_store_n((uint64_t *)(void *)at, value, __ATOMIC_RELEASE);
}

/* What is written before is visible to others before anything behind it is read. */
static inline void shared_fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Structures, in words of 8 bytes; `size` is a multiple of that. */
static inline void shared_read(void *to, const uint8_t *at, size_t size)
{
	uint64_t *words = to;

	for (size_t i = 0; i < size / 8; i++)
		words[i] = shared_read64(at + 8 * i);
}

static inline void shared_write(uint8_t *at, const void *from, size_t size)
{
	const uint64_t *words = from;

	for (size_t i = 0; i < size / 8; i++)
		shared_write64(at + 8 * i, words[i]);
}

#endif
