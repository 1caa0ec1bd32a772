/* SPDX-License-Identifier: GPL-2.0-only */
/* Segments of a DMA mapping. */
#ifndef PACCEL_SEGS_H
#define PACCEL_SEGS_H

#include <linux/scatterlist.h>
#include <linux/types.h>

/* A place in segments. @sg is NULL: nowhere yet. */
struct paccel_cursor {
	struct scatterlist *sg;
	u64 base;		/* offset of the first byte of @sg */
};

/**
 * struct paccel_segs - segments of a DMA mapping, in which a byte is found in logarithmic time
 * @sgt: the segments
 * @marks: places in @sgt, every 64 segments, if it has more than 64
 * @nr_marks: how many
 */
struct paccel_segs {
	struct sg_table sgt;
	struct paccel_cursor *marks;
	unsigned int nr_marks;
};

int paccel_segs_mark(struct paccel_segs *segs);
void paccel_segs_free(struct paccel_segs *segs);
/* Moves @cursor to the segment that holds the byte at @off. */
void paccel_segs_seek(const struct paccel_segs *segs, struct paccel_cursor *cursor, u64 off);

#endif
