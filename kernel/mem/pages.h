/* SPDX-License-Identifier: GPL-2.0-only */
/* Host pages that the card is given, and their mapping. */
#ifndef PACCEL_PAGES_H
#define PACCEL_PAGES_H

#include <linux/dma-mapping.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

struct paccel_device;
struct paccel_foreign;
struct paccel_host;
struct paccel_xfer;

enum paccel_pages_kind {
	PACCEL_PAGES_NONE,	/* zeroed or released */
	PACCEL_PAGES_PINNED,	/* a program's */
	PACCEL_PAGES_OWN,	/* the driver's */
	PACCEL_PAGES_LENT,	/* another host range's own */
	PACCEL_PAGES_FOREIGN,	/* another driver's dma-buf */
};

/**
 * struct paccel_pages - pages of host memory, and their mapping for the card if there is one
 * @kind: whose they are
 * @pages: the pages; NULL where they are foreign
 * @nr: how many
 * @offset: of the first byte, inside the first page
 * @length: bytes
 * @dir: what the card may do: DMA_TO_DEVICE or DMA_BIDIRECTIONAL
 * @lender: a counted reference on the range whose pages these are, where they are lent
 * @foreign: the dma-buf, where they are foreign
 * @revoked: they were taken away: nothing may be started on them any more, and what ran has failed.
 *	Set at any time, never cleared
 * @pd: the card
 * @mapped: in pd->mapped while @sgt is mapped, under pd->mapped_lock; foreign ones in pd->attached
 *	under pd->detach_lock
 * @sgt: the mapping
 * @sync: the CPU's view and the card's of some of it are made the same by dma_sync_*() only
 * @give_ups: of the device, when they were mapped
 */
struct paccel_pages {
	enum paccel_pages_kind kind;
	struct page **pages;
	unsigned long nr;
	unsigned int offset;
	u64 length;
	enum dma_data_direction dir;
	struct paccel_host *lender;
	struct paccel_foreign *foreign;
	bool revoked;
	struct paccel_device *pd;
	struct list_head mapped;
	struct sg_table sgt;
	bool sync;
	unsigned int give_ups;
};

/* A place in the segments of a mapping: walking on from it is cheap. All 0 is the start. */
struct paccel_cursor {
	struct scatterlist *sg;
	u64 base;		/* offset of the first byte of @sg */
};

int paccel_pages_pin(struct paccel_pages *p, struct paccel_device *pd, u64 addr, u64 length,
		     bool write, unsigned int gup_flags);
int paccel_pages_alloc(struct paccel_pages *p, struct paccel_device *pd, u64 length);
void paccel_pages_borrow(struct paccel_pages *p, struct paccel_device *pd,
			 struct paccel_host *from, u64 length, bool write);
int paccel_pages_same(struct paccel_pages *p, u64 addr);
void paccel_pages_map(struct paccel_pages *p);
bool paccel_pages_shared(const struct paccel_pages *p);
enum dma_data_direction paccel_pages_dir(struct paccel_pages *p);
bool paccel_pages_sync(struct paccel_pages *p);
void paccel_pages_release(struct paccel_pages *p);
void paccel_pages_unmap_all(struct paccel_device *pd);
void paccel_pages_seek(struct paccel_pages *p, struct paccel_cursor *cursor, u64 off);
bool paccel_pages_dma(struct paccel_pages *p, struct paccel_cursor *cursor, u64 off,
		      struct paccel_xfer *x);
void paccel_pages_read(struct paccel_pages *p, u64 off, void *to, u32 len);
void paccel_pages_write(struct paccel_pages *p, u64 off, const void *from, u32 len);
/* Can the CPU read them at any time? */
bool paccel_pages_readable(const struct paccel_pages *p);
/* Of those that it can, where the card reads and writes them itself. */
u32 paccel_pages_crc32c(struct paccel_pages *p, u64 off, u32 len);

/*
 * Does the DMA API copy what is mapped for the device? Only mappings of that kind have a limit. Two
 * devices that share memory would then overwrite each other's bytes with old ones.
 */
static inline bool paccel_bounces(struct device *dev)
{
	return dma_max_mapping_size(dev) != SIZE_MAX;
}

#endif
