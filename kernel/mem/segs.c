// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segments of a DMA mapping: looking up a byte, and splitting requests into pieces for the device.
 */
#include <linux/mm.h>
#include <linux/scatterlist.h>

#include "core/compat.h"
#include "include/paccel.h"
#include "mem/segs.h"

/* The position of every 64th segment is stored, so that a byte is found in O(log n) steps. */
#define PACCEL_MARK 64

/* On failure there is nothing to free. */
int paccel_segs_mark(struct paccel_segs *segs)
{
	unsigned int nr = DIV_ROUND_UP(segs->sgt.nents, PACCEL_MARK), i;
	struct scatterlist *sg;
	u64 base = 0;

	if (nr <= 1)
		return 0;
	segs->marks = kvmalloc_array(nr, sizeof(*segs->marks), GFP_KERNEL_ACCOUNT);
	if (!segs->marks)
		return -ENOMEM;
	for_each_sgtable_dma_sg(&segs->sgt, sg, i) {
		if (i % PACCEL_MARK == 0)
			segs->marks[i / PACCEL_MARK] = (struct paccel_cursor){ sg, base };
		base += sg_dma_len(sg);
	}
	segs->nr_marks = nr;
	return 0;
}

void paccel_segs_free(struct paccel_segs *segs)
{
	kvfree(segs->marks);
	segs->marks = NULL;
	segs->nr_marks = 0;
	sg_free_table(&segs->sgt);
}

/* Returns the last mark at or before @off. */
static struct paccel_cursor segs_find_mark(const struct paccel_segs *segs, u64 off)
{
	unsigned int first = 0, end = segs->nr_marks;

	if (!end)
		return (struct paccel_cursor){ .sg = segs->sgt.sgl };
	while (end - first > 1) {
		unsigned int middle = first + (end - first) / 2;

		if (segs->marks[middle].base <= off)
			first = middle;
		else
			end = middle;
	}
	return segs->marks[first];
}

static bool cursor_holds(const struct paccel_cursor *cursor, u64 off)
{
	return off >= cursor->base && off - cursor->base < sg_dma_len(cursor->sg);
}

/* Most requests begin in the segment of the previous request, or directly after it. */
void paccel_segs_seek(const struct paccel_segs *segs, struct paccel_cursor *cursor, u64 off)
{
	if (cursor->sg && cursor_holds(cursor, off))
		return;
	*cursor = segs_find_mark(segs, off);
	while (!cursor_holds(cursor, off)) {
		cursor->base += sg_dma_len(cursor->sg);
		cursor->sg = sg_next(cursor->sg);
	}
}

/* Returns how many of @len bytes fit into the piece that begins at seg->addr, at least 1. */
static u32 seg_piece_len(const struct paccel_seg *seg, u32 len)
{
	u64 to_boundary = seg->mask - (seg->addr & seg->mask);

	return min_t(u64, to_boundary, min(len, seg->max) - 1) + 1;
}

bool paccel_seg_next(struct paccel_seg *seg)
{
	if (!seg->left)
		return false;
	if (!seg->sg) {
		/* A single piece: seg->addr is set already. */
		seg->len = seg->left;
	} else {
		seg->addr = sg_dma_address(seg->sg) + seg->skip;
		seg->len = seg_piece_len(seg, min(sg_dma_len(seg->sg) - seg->skip, seg->left));
		seg->skip += seg->len;
		if (seg->skip == sg_dma_len(seg->sg)) {
			seg->sg = sg_next(seg->sg);
			seg->skip = 0;
		}
	}
	seg->left -= seg->len;
	return true;
}
EXPORT_SYMBOL_PACCEL(paccel_seg_next);
