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

int debug_take_back(struct accel_pool *pool, struct accel_stream *stream, void *ptr, size_t size,
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

static int check_block(struct accel_pool *pool, const struct block *block)
{
	size_t room = pool_bytes(pool, block->size), size;

	if (block->state == BLOCK_FREE)
		return expect(pool, block->addr, room, FREE_BYTE, AFTER_FREE, block->addr);
	if (block->state != BLOCK_USED || block->stream == POOL_BUSY)
		return 0;
	size = pool_block_bytes(pool, block);
	return expect(pool, block->addr + size, room - size, GUARD_BYTE, BEHIND, block->addr);
}

int debug_check(struct accel_pool *pool)
{
	const struct space *space = &pool->space;
	int err = 0;

	for (uint32_t i = 1; i < space->nr_blocks && !err; i++)
		err = check_block(pool, &space->blocks[i]);
	return err;
}
