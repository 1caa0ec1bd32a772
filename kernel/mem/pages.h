/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages of host memory that the device accesses, and their DMA mapping. */
#ifndef PACCEL_PAGES_H
#define PACCEL_PAGES_H

#include <linux/dma-mapping.h>
#include <linux/types.h>

#include "mem/segs.h"

struct dma_buf;
struct paccel_device;
struct paccel_import;
struct paccel_xfer;

enum paccel_pages_kind {
	PACCEL_PAGES_NONE,	/* zeroed or released */
	PACCEL_PAGES_PINNED,	/* pinned pages of a process */
	PACCEL_PAGES_OWN,	/* allocated by the driver (HOST_ALLOC) */
	PACCEL_PAGES_LENT,	/* PACCEL_PAGES_OWN of another host range, imported as a dma-buf */
	PACCEL_PAGES_IMPORTED,	/* any other dma-buf */
};

/**
 * struct paccel_pages - pages of host memory, and their DMA mapping if there is one
 * @kind: where the pages come from
 * @pages: the pages; NULL for PACCEL_PAGES_IMPORTED
 * @nr: number of pages
 * @offset: offset of the first byte in the first page
 * @length: bytes
 * @dir: DMA_TO_DEVICE, or DMA_BIDIRECTIONAL if the device may write
 * @lender: PACCEL_PAGES_LENT: the pages of the host range that owns them
 * @import: PACCEL_PAGES_IMPORTED: the import
 * @revoked: the exporter has revoked the dma-buf: no DMA request to it is started any more, and
 *	jobs that use it fail with -EFAULT. Set at any time, never cleared
 * @pd: the device
 * @mapped: in pd->mapped while @segs is mapped, under pd->mapped_lock; for PACCEL_PAGES_IMPORTED in
 *	pd->attached, under pd->detach_lock
 * @segs: the mapping
 * @sync: some segments of @segs need dma_sync_*() before and after a DMA request
 * @unsafe_seq: value of pd->unsafe_seq when the pages were mapped
 */
struct paccel_pages {
	enum paccel_pages_kind kind;
	struct page **pages;
	unsigned long nr;
	unsigned int offset;
	u64 length;
	enum dma_data_direction dir;
	struct paccel_pages *lender;
	struct paccel_import *import;
	bool revoked;
	struct paccel_device *pd;
	struct list_head mapped;
	struct paccel_segs segs;
	bool sync;
	unsigned int unsafe_seq;
};

/*
 * Initialize @p. May sleep; no lock is held and no paccel_enter() section is open, since pinning
 * waits for user space. On failure there is nothing to release. @write: the device may write.
 * _pin(): memory of the caller. _alloc(): new pages, all bytes 0. _borrow(): the first @length
 * bytes of HOST_ALLOC memory; the caller keeps the range that owns @lender. _import(): the first
 * @length bytes of a dma-buf of another driver or device; takes a reference on it.
 */
int paccel_pages_pin(struct paccel_pages *p, struct paccel_device *pd, u64 addr, u64 length,
		     bool write, unsigned int gup_flags);
int paccel_pages_alloc(struct paccel_pages *p, struct paccel_device *pd, u64 length);
void paccel_pages_borrow(struct paccel_pages *p, struct paccel_device *pd,
			 struct paccel_pages *lender, u64 length, bool write);
int paccel_pages_import(struct paccel_pages *p, struct paccel_device *pd, struct dma_buf *dmabuf,
			u64 length, bool write);
/*
 * Returns 0 if the pinned pages are still those of the caller at @addr; -EFAULT if not; another
 * error if that could not be determined. Pins as _pin() does.
 */
int paccel_pages_same(struct paccel_pages *p, u64 addr);
/*
 * Maps the pages for DMA, if pd->direct. On failure they stay unmapped and DMA uses the bounce
 * buffer, which is no error. May sleep.
 */
void paccel_pages_map(struct paccel_pages *p);
/* Direction of the mapping in use, and whether it needs dma_sync_*(). */
enum dma_data_direction paccel_pages_dir(struct paccel_pages *p);
bool paccel_pages_sync(struct paccel_pages *p);
/* Unmaps and releases pages that no DMA request uses. May sleep. Ignores PACCEL_PAGES_NONE. */
void paccel_pages_release(struct paccel_pages *p);
/*
 * The device is unbound or being unbound, and its engines are stopped: undoes all DMA mappings,
 * except those that the device may still write to. No lock is held.
 */
void paccel_pages_unmap_all(struct paccel_device *pd);
/*
 * Sets the segments of a DMA request of at most x->len bytes at offset @off, and shortens x->len to
 * what fits into paccel_hw_info.max_segs. Returns false if the request has to use the bounce
 * buffer. eng->lock is held, and the engine is running, so that the mapping stays.
 */
bool paccel_pages_dma(struct paccel_pages *p, struct paccel_cursor *cursor, u64 off,
		      struct paccel_xfer *x);
/* Copy bytes at offset @off by CPU; paccel_pages_readable() is true. */
void paccel_pages_read(struct paccel_pages *p, u64 off, void *to, u32 len);
void paccel_pages_write(struct paccel_pages *p, u64 off, const void *from, u32 len);
/* Returns whether the CPU can read the pages; false for a dma-buf that is mapped for the device. */
bool paccel_pages_readable(const struct paccel_pages *p);
/* Returns the CRC32C of bytes that the device accesses directly. Not for PACCEL_PAGES_IMPORTED. */
u32 paccel_pages_crc32c(struct paccel_pages *p, u64 off, u32 len);

/*
 * Returns whether the DMA API may use swiotlb bounce buffers for the device: the mapping size is
 * limited only then. Memory that two devices share must not be bounced, since copying one device's
 * bounce buffer back overwrites what the other device has written.
 */
static inline bool paccel_swiotlb_possible(struct device *dev)
{
	return dma_max_mapping_size(dev) != SIZE_MAX;
}

#endif
