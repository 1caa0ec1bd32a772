/* SPDX-License-Identifier: MIT */
/*
 * The debug mode of pools: patterns where nobody may write. What the processor cannot access goes
 * through the device, in pieces.
 */
#include "core/api.h"
#include "core/error.h"
#include "core/stream.h"
#include "pool_private.h"

#include <string.h>

#define PIECE ((size_t)4096)
#define FREE_BYTE 0xdd
#define GUARD_BYTE 0xfb
#define NEW_BYTE 0xcd /* of memory that nobody has written yet */

size_t debug_guard(const struct accel_pool *pool)
{
	return (size_t)1 << pool->granule_shift;
}

static int fill(uintptr_t addr, size_t size, unsigned char byte)
{
	struct accel_pointer_info info;
	int err = accel_pointer_get_info((const void *)addr, &info);

	if (err)
		return err;
	if (info.kind == ACCEL_MEMORY_DEVICE)
		return accel_device_memory_set(info.device, (void *)addr, byte, size);
	memset((void *)addr, byte, size);
	return 0;
}

int debug_fill_free(void *ptr, size_t size)
{
	return fill((uintptr_t)ptr, size, FREE_BYTE);
}

/* What is in memory and should all be one byte. */
static int expect(struct accel_pool *pool, uintptr_t addr, size_t size, unsigned char byte,
		  const char *what, uintptr_t block)
{
	unsigned char piece[PIECE];
	size_t now;
	int err;

	for (; size; addr += now, size -= now) {
		now = size < PIECE ? size : PIECE;
		err = accel_memory_copy(piece, (const void *)addr, now);
		if (err)
			return err;
		for (size_t i = 0; i < now; i++)
			if (piece[i] != byte) {
				__atomic_add_fetch(&pool->corruptions, 1, __ATOMIC_RELAXED);
				return fail(-EFAULT,
					    "the byte at " ADDR ", %s the block at " ADDR
					    ", was written: it is %#x, not %#x",
					    addr + i, what, block, piece[i], byte);
			}
	}
	return 0;
}

#define BEHIND "behind"
#define AFTER_FREE "after the free of"

int debug_give(struct accel_pool *pool, void *ptr, size_t size, size_t room)
{
	uintptr_t addr = (uintptr_t)ptr;
	int err = expect(pool, addr, room, FREE_BYTE, AFTER_FREE, addr) ?:
			  fill(addr, size, NEW_BYTE) ?:
			  fill(addr + size, room - size, GUARD_BYTE);

	/* It is not given out: it is whole again, and free. */
	if (err)
		fill(addr, room, FREE_BYTE);
	return err;
}

int debug_take_back(struct accel_pool *pool, struct stream *stream, void *ptr, size_t size,
		    size_t room)
{
	uintptr_t addr = (uintptr_t)ptr;
	int found, err = 0;

	/* Work that failed has ended as well. */
	if (stream)
		stream_settle(stream, NEVER);
	found = expect(pool, addr + size, room - size, GUARD_BYTE, BEHIND, addr);
	if (!found || found == -EFAULT)
		err = fill(addr, room, FREE_BYTE);
	return err ? err : found;
}

/* ---- Check ---- */

/* Under the lock; false: the block has no bytes that no call may write. */
static bool reading_begin(struct accel_pool *pool, const struct block *block,
			  struct reading *reading)
{
	size_t used = block->state == BLOCK_USED ? pool_block_bytes(pool, block) : 0;

	if (block->state != BLOCK_FREE && (!used || block->stream == POOL_BUSY))
		return false;
	reading->addr = block->addr + used;
	reading->size = pool_bytes(pool, block->size) - used;
	reading->next = pool->readings;
	pool->readings = reading;
	return true;
}

/* Under the lock. */
static void reading_end(struct accel_pool *pool, const struct reading *reading)
{
	struct reading **at = &pool->readings;

	while (*at != reading)
		at = &(*at)->next;
	*at = reading->next;
	pool->ended_readings++;
	if (pool->reading_waiters)
		count_wake(&pool->ended_readings);
}

int debug_check(struct accel_pool *pool)
{
	struct reading reading;
	uintptr_t block;
	int err = 0;

	lock_take(&pool->lock);
	for (uint32_t i = 1; i < pool->space.nr_blocks && !err; i++) {
		block = pool->space.blocks[i].addr;
		if (!reading_begin(pool, &pool->space.blocks[i], &reading))
			continue;
		lock_give(&pool->lock);
		err = reading.addr == block ?
			expect(pool, block, reading.size, FREE_BYTE, AFTER_FREE, block) :
			expect(pool, reading.addr, reading.size, GUARD_BYTE, BEHIND, block);
		lock_take(&pool->lock);
		reading_end(pool, &reading);
	}
	lock_give(&pool->lock);
	return err;
}

static bool is_read(const struct accel_pool *pool, uintptr_t addr, size_t size)
{
	const struct reading *reading = pool->readings;

	while (reading && addr - reading->addr >= reading->size && reading->addr - addr >= size)
		reading = reading->next;
	return reading;
}

void debug_wait(struct accel_pool *pool, uintptr_t addr, size_t size)
{
	unsigned int ended;

	if (!pool->debug)
		return;
	lock_take(&pool->lock);
	while (is_read(pool, addr, size)) {
		ended = pool->ended_readings;
		pool->reading_waiters++;
		lock_give(&pool->lock);
		count_wait(&pool->ended_readings, ended);
		lock_take(&pool->lock);
		pool->reading_waiters--;
	}
	lock_give(&pool->lock);
}
