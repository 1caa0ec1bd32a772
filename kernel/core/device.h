/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State of a device that all layers share, and the lock order of the driver. A lock is not taken
 * while a lock to its right is held:
 *
 *   device_lock() of the PCI function -> pd->reset_lock
 *   mmap_lock or pd->reset_lock -> ctx->lock -> pd->ctxs_lock -> pool->lock -> pd->mapped_lock
 *   -> ctx->work_lock -> eng->lock (irq)
 *
 * mmap_lock and pd->reset_lock are never held together. Interrupts take eng->lock only. The locks
 * of struct paccel_host and struct paccel_fence, and static locks, are leaf locks; that of a fence
 * is taken without any lock above, since callbacks of other drivers run under it.
 *
 * While a lock above is held, user memory is not accessed or pinned, no mmu notifier is registered
 * or unregistered, and nothing waits for the device, except that it is quiesced under
 * pd->reset_lock. Fences and eventfds of streams are signalled without these locks and without
 * allocating memory.
 *
 * A paccel_enter() section does not take pd->reset_lock, which may be held for synchronize_srcu(),
 * and does not wait for user space. It may wait for other devices, to map a foreign dma-buf, and
 * these for this device. So synchronize_srcu() is called only while the engines run, or after all
 * jobs have been aborted.
 *
 * The reservation lock of a dma-buf is taken before the locks above, and not while mmap_lock is
 * held:
 *
 *   reservation -> (exporter's) -> shared->lock (share.c)
 *
 * No lock of the driver is held when a dma_buf_*() function is called, since other drivers may hold
 * a reservation lock for any time. So pd->detach_lock and pd->exports_lock are leaf locks, held to
 * look at a list only. The driver's dma_buf_ops take shared->lock only; release() also takes
 * pd->exports_lock and those needed to free memory. Its invalidate_mappings() takes eng->lock only.
 * Revoking an export waits, with the reservation lock held, for DMA requests of other devices, so
 * functions that end DMA requests of this device do not take that.
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
#include <linux/paccel.h>

#include "include/paccel.h"

struct dentry;
struct inode;
struct paccel_engine;
struct paccel_job;
struct paccel_mem_ops;
struct paccel_pool;

/* Operation of a job. Those up to PACCEL_JOB_FILL count bytes. */
enum paccel_job_op {
	PACCEL_JOB_H2D = PACCEL_COPY_H2D,
	PACCEL_JOB_D2H = PACCEL_COPY_D2H,
	PACCEL_JOB_D2D = PACCEL_COPY_D2D,
	PACCEL_JOB_FILL,
	PACCEL_JOB_SCRUB,
	/* In streams only, without DMA requests: */
	PACCEL_JOB_WAIT_POINT,
	PACCEL_JOB_WAIT_FENCE,
	PACCEL_JOB_EVENTFD,
	PACCEL_JOB_WRITE,
	PACCEL_JOB_TIME,
};

/* Counts since the driver was bound. */
struct paccel_counters {
	atomic64_t bytes[PACCEL_JOB_FILL + 1];	/* copied or filled, by operation */
	atomic64_t scrubbed;		/* bytes */
	atomic64_t xfers, allocs, alloc_failures;
	atomic64_t timeouts;		/* DMA requests that did not complete in watchdog_ms */
	atomic64_t lost_irqs;		/* DMA requests that completed without an interrupt */
	atomic64_t bogus;		/* completions of no DMA request, or of a wrong length */
	atomic64_t corrupt;		/* DMA requests whose checksum was wrong */
	atomic64_t spurious_irqs, resets, engine_resets;
	atomic64_t leaked_pages;	/* never freed, since the device may still write to them */
};

/**
 * enum paccel_state - state of a device; core/device.c has the allowed transitions
 * @PACCEL_RUNNING: the engines run jobs
 * @PACCEL_RESETTING: the device, or one of its engines, is being reset; jobs wait
 * @PACCEL_MEM_LOST: as PACCEL_RESETTING, but the reset has lost device memory: new jobs fail with
 *	-ESTALE until all contexts are marked as lost
 * @PACCEL_SUSPENDED: jobs wait for paccel_resume()
 * @PACCEL_FAILED: out of service: jobs fail with -EIO until a reset succeeds
 * @PACCEL_REMOVING: system calls and new jobs fail with -ENODEV. Jobs in flight and recovery
 *	continue, since an exporter that a paccel_enter() section waits for may need them
 * @PACCEL_REMOVED: the engines are stopped for good. paccel_gone() depends on this order
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
 * struct paccel_device - a device, from probe until the last reference is dropped
 * @dev: /sys/class/paccel/paccelN; its release frees everything
 * @cdev: /dev/paccelN
 * @hw: the device as the backend sees it; @hw.pdev is a counted reference
 * @backend: name of the backend, for DEVICE_INFO
 * @saved: configuration space before probe(), for paccel_slot_reset()
 * @ops: functions of the backend; NULL after remove()
 * @bus_addr: PCI address, for DEVICE_INFO
 * @inode: its i_mapping is that of every open file, and of every dma-buf of device memory
 * @mem_phys: physical address of device memory, with PACCEL_HW_MAPPABLE
 * @write_combined: the range at @mem_phys is reserved as write-combining memory
 * @state: set by paccel_set_state() under @reset_lock, read without a lock
 * @unsafe_seq: odd while the device could not be quiesced and may still write host memory.
 *	Incremented when that begins, and when it has provably ended: once the device is quiesced,
 *	is absent, or has lost bus mastering and that stops it, or by binding to a device at the
 *	same PCI address
 * @lost: node in lost_devices (driver/device.c) if the device was unbound while @unsafe_seq was odd
 * @direct: all host memory can be mapped for DMA; if false, DMA uses the bounce buffers
 * @bounce_size: bytes of an engine's bounce buffer
 * @reset_lock: serializes reset, recovery, suspend, resume and removal
 * @recover: work item that resets a hung engine, or the device
 * @dump: text of the recovery that @dump_work has not copied yet; under @reset_lock
 * @dump_work: work item that makes a device core dump of @dump
 * @debugfs: directory of the device in debugfs
 * @pool: device memory
 * @mem_ops: functions of exec/ that mem/ calls
 * @engines: array of PACCEL_MAX_ENGINES, of which info.engines are in use
 * @evicted: wait queue of paccel_engines_evict()
 * @ctxs: every open context; under @ctxs_lock
 * @ctxs_lock: protects @ctxs
 * @mapped: every paccel_pages with a DMA mapping for the device; under @mapped_lock
 * @mapped_lock: protects @mapped; while it is held, nothing in that list is freed
 * @attached: every paccel_pages with a dma-buf attachment of the device; under @detach_lock
 * @detach_lock: protects @attached
 * @detaching: number of imports that are neither in @attached nor detached or kept yet
 * @exports: every struct paccel_export of device memory; under @exports_lock
 * @exports_lock: protects @exports; while it is held, no dma-buf in that list is freed, but its
 *	last reference may have been dropped
 * @revoke: work item that revokes the exports of device memory whose contents a reset has lost
 * @stream_jobs: number of jobs, in streams of all contexts, whose end is not signalled yet
 * @count: counters
 */
struct paccel_device {
	struct device dev;
	struct cdev cdev;
	struct paccel_hw hw;
	struct pci_saved_state *saved;
	char backend[PACCEL_BACKEND_NAME_MAX + 1];
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
	struct mutex reset_lock;	/* see above */
	struct work_struct recover;
	struct seq_buf dump;
	struct work_struct dump_work;
	struct dentry *debugfs;
	struct paccel_pool *pool;
	const struct paccel_mem_ops *mem_ops;
	struct paccel_engine *engines;
	wait_queue_head_t evicted;
	struct list_head ctxs;
	struct mutex ctxs_lock;	/* see above */
	struct list_head mapped;
	struct mutex mapped_lock;	/* see above */
	struct list_head attached;
	struct mutex detach_lock;	/* see above */
	atomic_t detaching;
	struct list_head exports;
	struct mutex exports_lock;	/* see above */
	struct work_struct revoke;
	atomic_t stream_jobs;
	struct paccel_counters count;
};

/* pd->reset_lock is held. While the device is being removed, only REMOVED is set. */
void paccel_set_state(struct paccel_device *pd, enum paccel_state state);
/* Returns 0, or the error of new jobs in this state. Acquire: pairs with paccel_set_state(). */
int paccel_state_error(const struct paccel_device *pd);

/* Returns whether removal has begun. Without paccel_enter() removal may end at any time. */
static inline bool paccel_gone(const struct paccel_device *pd)
{
	return READ_ONCE(pd->state) >= PACCEL_REMOVING;
}

/*
 * As drm_dev_enter(). true: the device stays bound until paccel_exit(). false: removal has begun,
 * and paccel_exit() must not be called.
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

/* Returns the alignment in bytes of all DMA requests, at least 1. */
static inline u32 paccel_dma_align(const struct paccel_device *pd)
{
	return pd->hw.info.dma_align ?: 1;
}

static inline bool paccel_mappable(const struct paccel_device *pd)
{
	return pd->hw.info.flags & PACCEL_HW_MAPPABLE;
}

/*
 * Orders earlier accesses of the caller to mapped device memory before the DMA requests of this
 * ioctl: a system call does not flush write-combined stores. Not wmb(), since a request may
 * overwrite what was loaded. Accesses of other threads are ordered by these.
 */
static inline void paccel_order_cpu(const struct paccel_device *pd)
{
	if (paccel_mappable(pd))
		mb();	/* before the DMA request is started */
}

/* Returns whether the device could not be quiesced and may still write host memory. */
static inline bool paccel_is_unsafe(const struct paccel_device *pd)
{
	return READ_ONCE(pd->unsafe_seq) & 1;
}

/*
 * Returns whether the device may still write to memory that was mapped when pd->unsafe_seq was
 * @unsafe_seq. Memory mapped while that is odd gets no DMA requests.
 */
static inline bool paccel_may_write(const struct paccel_device *pd, unsigned int unsafe_seq)
{
	unsigned int now = READ_ONCE(pd->unsafe_seq);

	return now & 1 && now != unsafe_seq;
}

/* Counts and logs @pages that are never freed, since the device may still write to them. */
void paccel_count_leak(struct paccel_device *pd, unsigned long pages);

/* Returns the bits of enum paccel_cap. */
u32 paccel_device_caps(struct paccel_device *pd);

#endif
