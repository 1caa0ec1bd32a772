/* SPDX-License-Identifier: GPL-2.0-only */
/* Segments of a DMA mapping. */
#ifndef PACCEL_SEGS_H
#define PACCEL_SEGS_H

#include <linux/scatterlist.h>
#include <linux/types.h>

/* A position in the segments of a mapping. @sg is NULL at first. */
struct paccel_cursor {
	struct scatterlist *sg;
	u64 base;		/* offset of the first byte of @sg */
};

/**
 * struct paccel_segs - segments of a DMA mapping; a byte is found in O(log n) steps
 * @sgt: the segments
 * @marks: position of every 64th segment of @sgt, if it has more than 64 segments
 * @nr_marks: number of entries in @marks
 */
struct paccel_segs {
	struct sg_table sgt;
	struct paccel_cursor *marks;
	unsigned int nr_marks;
};

/* Fills segs->marks from segs->sgt. Returns 0 or -ENOMEM. _free() frees both. May sleep. */
int paccel_segs_mark(struct paccel_segs *segs);
void paccel_segs_free(struct paccel_segs *segs);
/* Moves @cursor to the segment that contains the byte at @off. Any context. */
void paccel_segs_seek(const struct paccel_segs *segs, struct paccel_cursor *cursor, u64 off);

#endif
