/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A card, and what every layer asks of it.
 *
 * Lock order, outermost first; a lock is never taken while one that stands below it is held:
 *
 *   mmap_lock -> pd->reset_lock -> ctx->lock -> pd->ctxs_lock -> pool->lock -> pd->mapped_lock
 *   -> ctx->work_lock (irq), eng->lock (irq)
 *
 * The last two are never held together.
 *
 * With any of ours held, user memory is neither touched nor pinned, no notifier is inserted or
 * removed, and nothing waits for the card, except that pd->reset_lock is held while the card is
 * stopped. pd->reset_lock is never taken under mmap_lock. paccel_enter() sections never wait for
 * the card or for user space. Fences, eventfds and waiters of streams are signalled with none of
 * ours held, and nothing on the way there allocates memory.
 *
 * A dma-buf's reservation lock, and whatever else its driver takes, is outside of all that:
 *
 *   pd->detach_lock or pd->exports_lock -> reservation -> (its driver's) -> shared->lock (share.c)
 *
 * No dma_buf_*() is called with any lock of ours but those two held, nor with mmap_lock; our side
 * of a dma-buf takes none but shared->lock and, at the very end, pd->exports_lock and what freeing
 * memory takes. Transfers of *another* card are waited for with pd->exports_lock and a reservation
 * held; so what ends that card's transfers takes neither.
 */
#ifndef PACCEL_DEVICE_H
#define PACCEL_DEVICE_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/seq_buf.h>
#include <linux/srcu.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "include/paccel.h"

struct dentry;
struct inode;
struct paccel_engine;
struct paccel_job;
struct paccel_mem_ops;
struct paccel_pool;
struct pci_dev;

struct paccel_counters {
	atomic64_t h2d, d2h, d2d, filled, scrubbed;	/* bytes */
	atomic64_t xfers;
	atomic64_t allocs, alloc_failures;
	atomic64_t timeouts;		/* transfers that the card did not finish in time */
	atomic64_t lost_irqs;		/* transfers that had ended without an interrupt */
	atomic64_t spurious_irqs;
	atomic64_t bogus;		/* completions that match no transfer */
	atomic64_t corrupt;		/* transfers whose checksum was wrong */
	atomic64_t resets;
	atomic64_t engine_resets;
	atomic64_t leaked_pages;	/* kept for ever: the card might still write them */
};

/**
 * struct paccel_device - a card, from probe until the last reference
 * @dev: /sys/class/paccel/paccelN; its release frees everything
 * @cdev: /dev/paccelN
 * @pdev: the PCI function; used by the card's file and until unregistered only
 * @ops: the kind of card
 * @hw: the card's file's own
 * @info: what probe found
 * @bus_addr: PCI address, for DEVICE_INFO
 * @inode: the mapping of every file and dma-buf of the card
 * @mem_phys: where the processor has device memory, if it can be mapped
 * @write_combined: that range is reserved for mapping it so
 * @gone: unplugged; read in paccel_enter() sections or where a late answer does no harm
 * @failed: out of service until a reset succeeds; changed under @reset_lock
 * @stopped: its engines are stopped for good, since it is @gone; under @reset_lock
 * @unsafe: it could not be stopped and perhaps still writes host memory, until it is proven not
 *	to: by a reset, by removal that finds it idle or absent, or when paccel is bound to a
 *	device at its place again
 * @lost: in lost_devices if it was unbound while @unsafe
 * @give_ups: how often @unsafe became true; changed under @reset_lock
 * @direct: host memory may be mapped for the card
 * @bounce_size: bytes of an engine's bounce buffer
 * @reset_lock: one at a time stops or starts the card
 * @recover: what a hung transfer sets off
 * @dump: what the recovery has to say and @dump_work has not fetched yet; under @reset_lock
 * @dump_work: makes a device core dump of it
 * @debugfs: its folder there
 * @pool: device memory
 * @mem_ops: what memory asks of the engines
 * @scrub_job: scrubs device memory, a range at a time
 * @engines: PACCEL_MAX_ENGINES of them, info.engines in use
 * @evicted: woken when a transfer whose pages are revoked has ended
 * @ctxs: every open context; under @ctxs_lock
 * @ctxs_lock: @ctxs
 * @mapped: every paccel_pages that is mapped for the card; under @mapped_lock
 * @mapped_lock: @mapped, and mapping and unmapping themselves
 * @attached: every paccel_pages whose dma-buf the card is attached to; under @detach_lock
 * @detach_lock: @attached, and detaching itself
 * @exports: dma-bufs of its memory, struct paccel_export; under @exports_lock
 * @exports_lock: @exports, and keeps those dma-bufs from ending
 * @revoke: takes away from importers what a reset has lost
 * @stream_jobs: jobs in streams of all contexts whose end has not been signalled everywhere
 * @count: counters
 */
struct paccel_device {
	struct device dev;
	struct cdev cdev;
	struct pci_dev *pdev;
	const struct paccel_hw_ops *ops;
	void *hw;
	struct paccel_hw_info info;
	char bus_addr[32];
	struct inode *inode;
	phys_addr_t mem_phys;
	bool write_combined;
	bool gone;
	bool failed;
	bool stopped;
	bool unsafe;
	unsigned int give_ups;
	struct list_head lost;
	bool direct;
	u32 bounce_size;
	struct mutex reset_lock;	/* one at a time stops or starts the card */
	struct work_struct recover;
	struct seq_buf dump;
	struct work_struct dump_work;
	struct dentry *debugfs;
	struct paccel_pool *pool;
	const struct paccel_mem_ops *mem_ops;
	struct paccel_job *scrub_job;
	struct paccel_engine *engines;
	wait_queue_head_t evicted;
	struct list_head ctxs;
	struct mutex ctxs_lock;		/* ctxs */
	struct list_head mapped;
	struct mutex mapped_lock;	/* mapped, and mapping and unmapping themselves */
	struct list_head attached;
	struct mutex detach_lock;	/* attached, and detaching itself */
	struct list_head exports;
	struct mutex exports_lock;	/* exports */
	struct work_struct revoke;
	atomic_t stream_jobs;
	struct paccel_counters count;
};

/*
 * paccel_enter() .. paccel_exit() bracket what needs the card to be bound: true, and it stays so
 * until the exit, or false for ever after.
 */
extern struct srcu_struct paccel_srcu;

static inline bool paccel_enter(struct paccel_device *pd, int *idx)
{
	*idx = srcu_read_lock(&paccel_srcu);
	if (!READ_ONCE(pd->gone))
		return true;
	srcu_read_unlock(&paccel_srcu, *idx);
	return false;
}

static inline void paccel_exit(int idx)
{
	srcu_read_unlock(&paccel_srcu, idx);
}

static inline bool paccel_mappable(const struct paccel_device *pd)
{
	return pd->info.flags & PACCEL_HW_MAPPABLE;
}

/*
 * What the program has written through its mapping, and read, is before the work that it asks for
 * now: write-combined stores wait in the processor until something drains them, and a syscall does
 * not. The order of loads is needed as well, for the work may overwrite what it reads: so this is
 * no wmb(). Once per ioctl, however many operations that has, for only what the program did before
 * it counts; what other threads write they order themselves when they say that it is there.
 */
static inline void paccel_order_cpu(const struct paccel_device *pd)
{
	if (paccel_mappable(pd))
		mb();	/* the mapping: before the card is asked */
}

/* May the device still write to what was mapped for it at the count @give_ups? */
static inline bool paccel_may_write(struct paccel_device *pd, unsigned int give_ups)
{
	/* Pairs with paccel_give_up(), which counts first. */
	return smp_load_acquire(&pd->unsafe) && give_ups != READ_ONCE(pd->give_ups);
}

/* Pages that are kept for ever; the log tells, since sysfs may be gone by then. */
void paccel_count_leak(struct paccel_device *pd, unsigned long pages);

u32 paccel_device_caps(struct paccel_device *pd);

#endif
