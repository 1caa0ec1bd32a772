// SPDX-License-Identifier: GPL-2.0-only
/*
 * Host memory that is another driver's dma-buf: mapped for the card by that driver, or, where the
 * card cannot reach it, mapped for the CPU and copied through the bounce buffer. One or the other,
 * never both: nobody would keep the two views of the memory the same.
 *
 * All that can sleep for another driver's sake is done when the range is made and when it ends: on
 * a job's way there is no reservation lock, and so no access by CPU is begun or ended there.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/iosys-map.h>
#include <linux/slab.h>

#include "paccel.h"

/**
 * struct paccel_foreign - a dma-buf as host memory
 * @dmabuf: a counted reference
 * @attach: for the card, while the pages are in pd->attached
 * @sgt: its mapping, which belongs to the other driver; NULL if that has taken it away. Under the
 *	reservation lock. Its addresses are in the pages' own table, for whoever looks at any time
 * @map: where the CPU sees it, else null
 * @access: begun with, and to be ended
 */
struct paccel_foreign {
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	struct iosys_map map;
	enum dma_data_direction access;
};

/* Is it as long as it says? */
static bool covers(struct sg_table *sgt, u64 length)
{
	struct scatterlist *sg;
	unsigned int i;
	u64 bytes = 0;

	for_each_sgtable_dma_sg(sgt, sg, i)
		bytes += sg_dma_len(sg);
	return bytes >= length;
}

/*
 * The memory goes, with its card or with what that had in it. Called by its driver, with the
 * reservation lock held, which waits for us: nothing of ours is in it, nor will be, when this
 * returns. That is as long as one transfer takes, at most until the watchdog has ended it; nothing
 * on that way takes a reservation lock.
 */
static void moved(struct dma_buf_attachment *attach)
{
	struct paccel_pages *p = attach->importer_priv;
	struct paccel_foreign *f = p->foreign;

	if (!f->sgt)
		return;
	WRITE_ONCE(p->revoked, true);
	paccel_engines_evict(p->pd, p);
	if (p->pd->unsafe)
		dev_err(&p->pd->dev, "cannot be stopped, and may go on in memory of another card\n");
	dma_buf_unmap_attachment(attach, f->sgt, p->dir);
	f->sgt = NULL;
}

static const struct dma_buf_attach_ops attach_ops = {
	.allow_peer2peer = true,
	.move_notify = moved,
};

/* The addresses, so that they can be looked at without a lock. */
static int copy_addresses(struct paccel_pages *p, struct sg_table *from)
{
	struct scatterlist *sg, *to;
	unsigned int i;
	int ret = sg_alloc_table(&p->sgt, from->nents, GFP_KERNEL_ACCOUNT);

	if (ret)
		return ret;
	to = p->sgt.sgl;
	for_each_sgtable_dma_sg(from, sg, i) {
		sg_dma_address(to) = sg_dma_address(sg);
		sg_dma_len(to) = sg_dma_len(sg);
		to = sg_next(to);
	}
	return 0;
}

/* The reservation lock is held. */
static int map_locked(struct paccel_pages *p)
{
	struct paccel_foreign *f = p->foreign;
	struct sg_table *sgt;
	long ret = dma_buf_pin(f->attach);

	if (ret)
		return ret;
	sgt = dma_buf_map_attachment(f->attach, p->dir);
	if (IS_ERR(sgt)) {
		ret = PTR_ERR(sgt);
		goto unpin;
	}
	/* For an importer that can be told of moves nobody else waits until the last is over. */
	ret = dma_resv_wait_timeout(f->dmabuf->resv, DMA_RESV_USAGE_KERNEL, true,
				    MAX_SCHEDULE_TIMEOUT);
	if (ret < 0)
		goto unmap;
	ret = covers(sgt, p->length) ? copy_addresses(p, sgt) : -EOPNOTSUPP;
	if (ret)
		goto unmap;
	f->sgt = sgt;
	return 0;

unmap:
	dma_buf_unmap_attachment(f->attach, sgt, p->dir);
unpin:
	dma_buf_unpin(f->attach);
	return ret;
}

/* In a paccel_enter() section: what the other driver does here waits for devices only. */
static int map_for_card(struct paccel_pages *p)
{
	struct device *dev = &p->pd->pdev->dev;
	struct paccel_foreign *f = p->foreign;
	int ret;

	/* Somebody had to say when, for each transfer, and the mapping is not ours. */
	if (paccel_bounces(dev))
		return -EOPNOTSUPP;
	f->attach = dma_buf_dynamic_attach(f->dmabuf, dev, &attach_ops, p);
	if (IS_ERR(f->attach))
		return PTR_ERR(f->attach);
	dma_resv_lock(f->dmabuf->resv, NULL);
	ret = map_locked(p);
	dma_resv_unlock(f->dmabuf->resv);
	if (ret) {
		dma_buf_detach(f->dmabuf, f->attach);
		return ret;
	}
	mutex_lock(&p->pd->detach_lock);
	list_add(&p->mapped, &p->pd->attached);
	mutex_unlock(&p->pd->detach_lock);
	return 0;
}

static int map_for_cpu(struct paccel_foreign *f)
{
	int ret = dma_buf_vmap_unlocked(f->dmabuf, &f->map);

	if (ret)
		return ret;
	ret = dma_buf_begin_cpu_access(f->dmabuf, f->access);
	if (ret) {
		dma_buf_vunmap_unlocked(f->dmabuf, &f->map);
		iosys_map_clear(&f->map);
	}
	return ret;
}

static bool interrupted(int ret)
{
	return ret == -ERESTARTSYS || ret == -EINTR;
}

static int map_somehow(struct paccel_pages *p)
{
	int ret = -EOPNOTSUPP, first, idx;

	if (p->pd->direct) {
		if (!paccel_enter(p->pd, &idx))
			return -ENODEV;
		ret = map_for_card(p);
		paccel_exit(idx);
	}
	first = ret;
	if (ret && !interrupted(ret))
		ret = map_for_cpu(p->foreign);
	/* It is not that it cannot be done, if the card's way wanted memory alone. */
	if (ret && !interrupted(ret) && first == -ENOMEM)
		ret = first;
	/* A wait for fences that anything interrupts: from the start, even without SA_RESTART. */
	if (interrupted(ret))
		return -ERESTARTNOINTR;
	return !ret || ret == -ENOMEM ? ret : -EOPNOTSUPP;
}

/* Takes its own reference on @dmabuf. On failure there is nothing to release. */
int paccel_foreign_get(struct paccel_pages *p, struct paccel_device *pd, struct dma_buf *dmabuf,
		       u64 length, bool write)
{
	struct paccel_foreign *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!f)
		return -ENOMEM;
	f->dmabuf = dmabuf;
	f->access = write ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE;
	p->foreign = f;
	p->nr = PAGE_ALIGN(length) >> PAGE_SHIFT;
	p->offset = 0;
	p->length = length;
	p->dir = write ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	p->pd = pd;
	INIT_LIST_HEAD(&p->mapped);
	ret = map_somehow(p);
	if (ret) {
		p->foreign = NULL;
		kfree(f);
		return ret;
	}
	get_dma_buf(dmabuf);
	p->kind = PACCEL_PAGES_FOREIGN;
	return 0;
}

static void detach_locked(struct paccel_pages *p)
{
	struct paccel_foreign *f = p->foreign;

	lockdep_assert_held(&p->pd->detach_lock);
	list_del_init(&p->mapped);
	dma_resv_lock(f->dmabuf->resv, NULL);
	if (f->sgt)
		dma_buf_unmap_attachment(f->attach, f->sgt, p->dir);
	f->sgt = NULL;
	dma_buf_unpin(f->attach);
	dma_resv_unlock(f->dmabuf->resv);
	dma_buf_detach(f->dmabuf, f->attach);
}

/* The driver is being unbound and the card writes nothing any more. */
void paccel_foreign_detach_all(struct paccel_device *pd)
{
	guard(mutex)(&pd->detach_lock);
	while (!list_empty(&pd->attached))
		detach_locked(list_first_entry(&pd->attached, struct paccel_pages, mapped));
}

/* False if the card may still write it: then it stays attached for ever. */
static bool detach(struct paccel_pages *p)
{
	guard(mutex)(&p->pd->detach_lock);
	if (list_empty(&p->mapped))
		return true;
	if (!p->pd->unsafe) {
		detach_locked(p);
		return true;
	}
	list_del_init(&p->mapped);
	/* The attachment names the PCI function. */
	get_device(&p->pd->dev);
	return false;
}

void paccel_foreign_put(struct paccel_pages *p)
{
	struct paccel_foreign *f = p->foreign;

	if (!detach(p)) {
		paccel_count_leak(p->pd, p->nr);
		return;
	}
	if (iosys_map_is_set(&f->map)) {
		dma_buf_end_cpu_access(f->dmabuf, f->access);
		dma_buf_vunmap_unlocked(f->dmabuf, &f->map);
	}
	/* Empty if it never was for the card. */
	sg_free_table(&p->sgt);
	dma_buf_put(f->dmabuf);
	kfree(f);
}

/* Only what goes through the bounce buffer. */
bool paccel_foreign_readable(const struct paccel_pages *p)
{
	return iosys_map_is_set(&p->foreign->map);
}

void paccel_foreign_read(struct paccel_pages *p, u64 off, void *to, u32 len)
{
	iosys_map_memcpy_from(to, &p->foreign->map, off, len);
}

void paccel_foreign_write(struct paccel_pages *p, u64 off, const void *from, u32 len)
{
	iosys_map_memcpy_to(&p->foreign->map, off, from, len);
}
