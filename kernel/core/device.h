/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A card, and what every layer asks of it.
 *
 * Lock order, outermost first; a lock is not taken while a lock to its right is held:
 *
 *   device_lock() of the PCI function -> pd->reset_lock
 *   mmap_lock or pd->reset_lock -> ctx->lock -> pd->ctxs_lock -> pool->lock -> pd->mapped_lock
 *   -> ctx->work_lock -> eng->lock (irq)
 *
 * mmap_lock and pd->reset_lock are never held together. eng->lock is the only one that interrupts
 * take.
 *
 * While one of the driver's locks above is held, user memory is not accessed or pinned, no mmu
 * notifier is registered or unregistered, and nothing waits for the device. The exception is
 * pd->reset_lock, which is held while the device is quiesced. Fences, eventfds and waiters of
 * streams are signalled in a worker, without any of these locks, and that path does not allocate
 * memory.
 *
 * A paccel_enter() section does not wait for user space. The section in which a foreign dma-buf is
 * mapped waits for other devices, which may wait for this one. So synchronize_srcu() is called only
 * while the engines run, or after all jobs have been aborted.
 *
 * The reservation lock of a dma-buf, and the locks of its exporter, come before all of the above:
 *
 *   pd->detach_lock or pd->exports_lock -> reservation -> (exporter's) -> shared->lock (share.c)
 *
 * pd->detach_lock and pd->exports_lock are the only locks of the driver that may be held when a
 * dma_buf_*() function is called; mmap_lock may not. The driver's dma_buf_ops take only
 * shared->lock; their release() also takes pd->exports_lock and the locks needed to free memory.
 * The driver's invalidate_mappings() takes only eng->lock. Revoking an export waits, with
 * pd->exports_lock and the reservation lock held, for DMA requests of other devices. So the
 * functions that end a device's DMA requests take neither of the two.
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
 * enum paccel_state - what a device does
 * @PACCEL_RUNNING: its engines run jobs
 * @PACCEL_RESETTING: it, or one of its engines, is being restarted. Jobs wait
 * @PACCEL_MEM_LOST: the same, and the reset has lost device memory: new jobs fail with -ESTALE
 *	until every context is marked as lost
 * @PACCEL_SUSPENDED: jobs wait for paccel_resume()
 * @PACCEL_FAILED: out of service: jobs fail with -EIO until a reset succeeds
 * @PACCEL_REMOVING: system calls and new jobs fail with -ENODEV. Jobs in flight go on, and so does
 *	recovery, which does not leave this state: removal waits for paccel_enter() sections,
 *	which may wait for an exporter that waits for this device
 * @PACCEL_REMOVED: the engines are stopped for good
 *
 * Which state may follow which is in core/device.c.
 */
enum paccel_state {
	PACCEL_RUNNING,
	PACCEL_RESETTING,
	PACCEL_MEM_LOST,
	PACCEL_SUSPENDED,
	PACCEL_FAILED,
	PACCEL_REMOVING,
	PACCEL_REMOVED,
};

/**
 * struct paccel_device - a card, from probe until the last reference
 * @dev: /sys/class/paccel/paccelN; its release frees everything
 * @cdev: /dev/paccelN
 * @hw: what the backend sees; @hw.pdev is a counted reference
 * @card: name of the backend, for DEVICE_INFO
 * @ops: functions of the backend, until it has removed the card
 * @bus_addr: PCI address, for DEVICE_INFO
 * @inode: its i_mapping is that of every open file, and of every dma-buf of device memory
 * @mem_phys: physical address of device memory, with PACCEL_HW_MAPPABLE
 * @write_combined: the range at @mem_phys is reserved as write-combining memory
 * @state: changed by paccel_set_state() under @reset_lock, read without a lock
 * @unsafe_seq: odd while the device could not be stopped and perhaps still writes host memory.
 *	Incremented when that begins, and when it has been proven to have ended: by a reset, by
 *	removal that finds the device idle or absent, or when paccel is bound again to a device at
 *	the same PCI address
 * @lost: in lost_devices if it was unbound while @unsafe_seq was odd
 * @direct: all host memory can be mapped for the device; if false, DMA uses the bounce buffers
 * @bounce_size: bytes of an engine's bounce buffer
 * @reset_lock: serializes reset, recovery, suspend, resume and removal
 * @recover: work item that resets a hung engine, or the device
 * @dump: text of the recovery that @dump_work has not copied yet; under @reset_lock
 * @dump_work: work item that makes a device core dump of @dump
 * @debugfs: directory of the device in debugfs
 * @pool: device memory
 * @mem_ops: functions of exec/ that mem/ calls
 * @scrub_job: scrubs device memory, a range at a time
 * @engines: PACCEL_MAX_ENGINES of them, info.engines in use
 * @evicted: woken when a transfer whose pages are revoked has ended
 * @ctxs: every open context; under @ctxs_lock
 * @ctxs_lock: @ctxs
 * @mapped: every paccel_pages that is mapped for the card; under @mapped_lock
 * @mapped_lock: @mapped; while it is held, nothing in that list is freed
 * @attached: every paccel_pages whose dma-buf the card is attached to; under @detach_lock
 * @detach_lock: @attached, and detaching itself
 * @exports: dma-bufs of its memory, struct paccel_export; under @exports_lock
 * @exports_lock: @exports; while it is held, no dma-buf in that list is freed
 * @revoke: work item that revokes the exports of device memory whose contents a reset has lost
 * @stream_jobs: number of jobs, in streams of all contexts, whose end is not yet fully signalled
 * @count: counters
 */
struct paccel_device {
	struct device dev;
	struct cdev cdev;
	struct paccel_hw hw;
	char card[PACCEL_BACKEND_NAME_MAX + 1];
	const struct paccel_hw_ops *ops;
	char bus_addr[32];
	struct inode *inode;
	phys_addr_t mem_phys;
	bool write_combined;
	enum paccel_state state;
	unsigned int unsafe_seq;
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
	struct mutex mapped_lock;	/* mapped */
	struct list_head attached;
	struct mutex detach_lock;	/* attached, and detaching itself */
	struct list_head exports;
	struct mutex exports_lock;	/* exports */
	struct work_struct revoke;
	atomic_t stream_jobs;
	struct paccel_counters count;
};

/* pd->reset_lock is held. Changes nothing if the device is being removed, except to REMOVED. */
void paccel_set_state(struct paccel_device *pd, enum paccel_state state);
/*
 * 0, or the error that every new job fails with in this state. What is read afterwards is not older
 * than the state.
 */
int paccel_state_error(const struct paccel_device *pd);

/* Unregistered. Outside of paccel_enter() sections a reader may see this late. */
static inline bool paccel_gone(const struct paccel_device *pd)
{
	return READ_ONCE(pd->state) >= PACCEL_REMOVING;
}

/*
 * paccel_enter() and paccel_exit() enclose code that needs a bound device, as drm_dev_enter() does.
 * If paccel_enter() returns true, the device stays bound until paccel_exit(). If it returns false,
 * the device has been unregistered, and paccel_exit() must not be called.
 */
extern struct srcu_struct paccel_srcu;

static inline bool paccel_enter(struct paccel_device *pd, int *idx)
{
	*idx = srcu_read_lock(&paccel_srcu);
	if (!paccel_gone(pd))
		return true;
	srcu_read_unlock(&paccel_srcu, *idx);
	return false;
}

static inline void paccel_exit(int idx)
{
	srcu_read_unlock(&paccel_srcu, idx);
}

static inline struct paccel_device *paccel_of_hw(struct paccel_hw *hw)
{
	return container_of(hw, struct paccel_device, hw);
}

/* Alignment in bytes that the device's DMA requests need, at least 1. */
static inline u32 paccel_dma_align(const struct paccel_device *pd)
{
	return pd->hw.info.dma_align ?: 1;
}

static inline bool paccel_mappable(const struct paccel_device *pd)
{
	return pd->hw.info.flags & PACCEL_HW_MAPPABLE;
}

/*
 * Orders earlier loads and stores of the caller in mapped device memory before the DMA requests of
 * this ioctl. A system call does not flush write-combined stores. Loads are ordered as well, since
 * a request may overwrite what they read; so wmb() is not enough. One call per ioctl suffices: only
 * accesses before the ioctl are ordered. Another thread orders its own accesses before it hands the
 * data over.
 */
static inline void paccel_order_cpu(const struct paccel_device *pd)
{
	if (paccel_mappable(pd))
		mb();	/* the mapping: before the card is asked */
}

/* Returns whether the device could not be stopped and perhaps still writes host memory. */
static inline bool paccel_is_unsafe(const struct paccel_device *pd)
{
	return READ_ONCE(pd->unsafe_seq) & 1;
}

/*
 * Returns whether the device may still write to memory that was mapped when pd->unsafe_seq had the
 * value @unsafe_seq. Memory that is mapped while the count is odd is not given to the device.
 */
static inline bool paccel_may_write(const struct paccel_device *pd, unsigned int unsafe_seq)
{
	unsigned int now = READ_ONCE(pd->unsafe_seq);

	return now & 1 && now != unsafe_seq;
}

/*
 * Counts and logs @pages that are never freed, since the device may still write to them. The log
 * is needed because the counter in sysfs may already have been removed.
 */
void paccel_count_leak(struct paccel_device *pd, unsigned long pages);

u32 paccel_device_caps(struct paccel_device *pd);

#endif
