/* SPDX-License-Identifier: GPL-2.0-only */
/* The requests that a backend gets, and how it reports that they have completed. */
#ifndef PACCEL_XFER_H
#define PACCEL_XFER_H

#include <linux/types.h>

struct paccel_hw;
struct scatterlist;

enum paccel_xfer_op {
	PACCEL_XFER_H2D,	/* host to card */
	PACCEL_XFER_D2H,	/* card to host */
	PACCEL_XFER_D2D,	/* inside the card; only with PACCEL_HW_D2D */
	PACCEL_XFER_FILL,	/* of card memory; only with PACCEL_HW_FILL */
	PACCEL_XFER_CHECKSUM,	/* of card memory, nothing moves; only with PACCEL_HW_CHECKSUM */
};

/**
 * struct paccel_seg - iterator over the segments of the host side of a DMA request
 * @addr: bus address of the current segment; valid after paccel_seg_next() has returned true
 * @len: bytes of the current segment; valid as @addr is
 * @sg: scatterlist entry of the next segment; NULL if the host side is a single segment at @addr
 * @skip: bytes at the start of @sg that were returned before, or are not part of the request
 * @left: bytes that paccel_seg_next() has not returned yet
 * @max: bytes of a segment, at most
 * @mask: no segment crosses a bus address whose bits of @mask are 0
 */
struct paccel_seg {
	dma_addr_t addr;
	u32 len;
	struct scatterlist *sg;
	u32 skip;
	u32 left;
	u32 max;
	u64 mask;
};

/**
 * struct paccel_xfer - one DMA request; start() takes nothing else
 * @op: the operation
 * @linked: execute only if the request that was started before this one on the engine succeeds,
 *	else complete with -ECANCELED. Only with PACCEL_HW_LINK
 * @verify: report the checksum with paccel_xfer_checksum(). Only with PACCEL_HW_CHECKSUM
 * @list: paccel_hw_info.list_size bytes of coherent memory, which the backend may use while the
 *	request is in flight, for example for a scatter list
 * @list_dma: bus address of @list
 * @quiet: success needs no interrupt if another request is started before the next kick(). A hint
 * @cookie: identifies the request; the backend passes it to paccel_xfer_done()
 * @dev: byte offset in device memory of the destination; D2H: of the source; CHECKSUM: 0
 * @dev_src: D2D, CHECKSUM: byte offset in device memory of the source
 * @pattern: FILL: 8 bytes, the lowest first, repeated: what is filled begins with the first of them
 * @len: bytes, 1 to paccel_hw_info.max_xfer
 * @segs: H2D, D2H: the host side. The backend calls paccel_seg_next() on a copy of it
 * @nr_segs: H2D, D2H: number of segments, 1 to paccel_hw_info.max_segs. Each is as
 *	paccel_hw_info.max_seg and seg_boundary demand
 *
 * Device ranges lie inside device memory, bus addresses come from the DMA API, and addresses and
 * lengths are multiples of paccel_hw_info.dma_align. A backend need not check them.
 */
struct paccel_xfer {
	enum paccel_xfer_op op;
	bool linked;
	bool verify;
	bool quiet;
	u64 cookie;
	void *list;
	dma_addr_t list_dma;
	u64 dev;
	u64 dev_src;
	u64 pattern;
	u32 len;
	struct paccel_seg segs;
	u32 nr_segs;
};

/**
 * paccel_seg_next() - the next piece of the host side of a request
 * @seg: a copy of paccel_xfer.segs; its @addr and @len are those of the piece afterwards
 *
 * Any context.
 *
 * Return: whether there was one more piece
 */
bool paccel_seg_next(struct paccel_seg *seg);

/**
 * paccel_xfer_check() - ask poll() whether requests have completed
 * @hw: the card
 * @engine: number of the engine
 *
 * For the interrupt handler of a card, which calls it whenever a request may have completed. Any
 * context; the engine's lock must not be held, as it is in start(), kick() and poll().
 *
 * Return: whether poll() has reported a completion
 */
bool paccel_xfer_check(struct paccel_hw *hw, unsigned int engine);
/**
 * paccel_xfer_done() - report that a request has completed
 * @hw: the card
 * @engine: number of the engine
 * @cookie: paccel_xfer.cookie of the request
 * @bytes: length that the device reports
 * @status: 0; -ECANCELED: it was linked, and the one before it has failed; or another error
 *
 * For poll(). A cookie of no request in flight is counted as bogus and ignored. Success with a
 * wrong @bytes is counted as bogus too; the request then fails with -EIO, and the core resets the
 * engine or the device.
 */
void paccel_xfer_done(struct paccel_hw *hw, unsigned int engine, u64 cookie, u64 bytes,
		      int status);
/**
 * paccel_xfer_checksum() - report the checksum of a request with paccel_xfer.verify
 * @hw: the card
 * @engine: number of the engine
 * @cookie: paccel_xfer.cookie of the request
 * @checksum: CRC32C (initial value and final inversion of all ones) of its bytes as the device has
 *	written them to its memory, or, of D2H and CHECKSUM, read them from it
 *
 * For poll(), before paccel_xfer_done(). A cookie of no request in flight is ignored.
 */
void paccel_xfer_checksum(struct paccel_hw *hw, unsigned int engine, u64 cookie,
			  u32 checksum);
/**
 * paccel_xfer_bogus() - count and log a completion entry that is not valid
 * @hw: the card
 * @engine: number of the engine
 *
 * For poll().
 */
void paccel_xfer_bogus(struct paccel_hw *hw, unsigned int engine);

#endif /* PACCEL_XFER_H */
