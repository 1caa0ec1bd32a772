/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the driver know of each other.
 *
 * Lock order, outermost first; a lock is never taken while one that stands below it is held:
 *
 *   mmap_lock -> pd->reset_lock -> ctx->lock -> pd->ctxs_lock -> pool->lock -> pd->mapped_lock
 *   -> eng->lock (irq)
 *
 * With any of ours held nobody touches or pins user memory, inserts or removes a notifier, or waits
 * for the card; pd->reset_lock alone is held while the card is stopped, and whoever takes mmap_lock
 * never takes that one. paccel_enter() sections never wait for the card or for user space.
 */
#ifndef PACCEL_H
#define PACCEL_H

#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/genalloc.h>
#include <linux/kref.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/paccel.h>

#include "compat.h"
#include "hw/hw.h"

#define PACCEL_MEM_BASE		SZ_4G
#define PACCEL_MAX_ALIGN	SZ_2M
#define PACCEL_MAX_HOST_BYTES	SZ_4G
#define PACCEL_MAX_HOST_RANGES	65536
/* Pageable memory is pinned in slices of this many bytes at most. */
#define PACCEL_SLICE		SZ_1M

extern bool paccel_scrub;
extern unsigned int paccel_watchdog_ms;
extern unsigned int paccel_quiesce_ms;

/* Runs the engines; nothing on it waits for user space or allocates. */
extern struct workqueue_struct *paccel_wq;
/* Unpins, unmaps and gives back; nothing on it waits for a card. */
extern struct workqueue_struct *paccel_release_wq;

/* --- range.c: disjoint ranges of u64, by address. The caller locks. --- */

struct paccel_range {
	struct rb_node node;
	u64 start;
	u64 last;
};

int paccel_range_insert(struct rb_root *root, struct paccel_range *r);
struct paccel_range *paccel_range_find(struct rb_root *root, u64 start, u64 len);
struct paccel_range *paccel_range_at(struct rb_root *root, u64 start);

/* --- pool.c: the memory of a card --- */

enum paccel_buf_state {
	PACCEL_BUF_USED,	/* has an owner */
	PACCEL_BUF_DIRTY,	/* freed, waits for scrubbing */
	PACCEL_BUF_SCRUBBING,	/* the card fills it with zero */
	PACCEL_BUF_CLEAN,	/* can be allocated */
	PACCEL_BUF_ASIDE,	/* could not be scrubbed */
	PACCEL_BUF_STATES,
};

/**
 * struct paccel_buf - a range of device memory; all of them together tile the card
 * @by_addr: in pool->by_addr, always
 * @by_size: in pool->by_size while clean
 * @list: in pool->dirty while dirty
 * @start: device address
 * @size: bytes, whole granules
 * @ref: while used: the contexts that hold it and the jobs that run on it
 * @user: who pays, while used
 * @pd: the card, a counted reference while used
 * @state: under pool->lock, as everything above but @ref
 */
struct paccel_buf {
	struct rb_node by_addr;
	struct rb_node by_size;
	struct list_head list;
	u64 start;
	u64 size;
	struct kref ref;
	enum paccel_buf_state state;
	struct paccel_user *user;
	struct paccel_device *pd;
};

/* A user of a card, by real uid; under pool->lock. */
struct paccel_user {
	struct list_head node;
	kuid_t uid;
	unsigned int files;
	u64 used;
};

struct paccel_pool {
	struct mutex lock;		/* all below but @waiters; every paccel_buf and _user */
	struct gen_pool *gen;		/* the truth: what is taken here has exactly one owner */
	struct rb_root by_addr;
	struct rb_root by_size;		/* clean ones, by (size, start) */
	struct list_head dirty;
	struct list_head users;
	struct paccel_buf *scrubbing;
	u64 bytes[PACCEL_BUF_STATES];
	u64 max_user_bytes;
	u64 changes;			/* grows when memory becomes clean or is set aside */
	unsigned int waiters;		/* for scrubbing; read without the lock */
	wait_queue_head_t wait;
	struct work_struct scrub_work;
	struct paccel_job *scrub_job;
};

int paccel_pool_init(struct paccel_device *pd);
void paccel_pool_destroy(struct paccel_device *pd);
struct paccel_user *paccel_user_get(struct paccel_device *pd, kuid_t uid);
void paccel_user_put(struct paccel_device *pd, struct paccel_user *user);
int paccel_pool_alloc(struct paccel_device *pd, struct paccel_user *user, u64 length, u64 align,
		      struct paccel_buf **bufp);
void paccel_buf_put(struct paccel_buf *buf);
void paccel_pool_stats(struct paccel_device *pd, struct paccel_user *user,
		       struct paccel_mem_stats *stats);
void paccel_pool_wake(struct paccel_device *pd);
void paccel_pool_soil(struct paccel_device *pd);
/* After a reset: what was set aside gets another try. */
void paccel_pool_retry(struct paccel_device *pd);

/* --- pages.c: host pages that the card is given --- */

/**
 * struct paccel_pages - pages of host memory, and their mapping for the card if there is one
 * @pages: the pages
 * @nr: how many
 * @offset: of the first byte, inside the first page
 * @length: bytes
 * @dir: what the card may do: DMA_TO_DEVICE or DMA_BIDIRECTIONAL
 * @pinned: pinned user pages; else our own
 * @pd: the card
 * @mapped: in pd->mapped while @sgt is mapped; under pd->mapped_lock
 * @sgt: the mapping
 */
struct paccel_pages {
	struct page **pages;
	unsigned long nr;
	unsigned int offset;
	u64 length;
	enum dma_data_direction dir;
	bool pinned;
	struct paccel_device *pd;
	struct list_head mapped;
	struct sg_table sgt;
};

/* A place in the segments of a mapping: walking on from it is cheap. All 0 is the start. */
struct paccel_cursor {
	struct scatterlist *sg;
	u64 base;		/* offset of the first byte of @sg */
};

int paccel_pages_pin(struct paccel_pages *p, struct paccel_device *pd, u64 addr, u64 length,
		     bool write, unsigned int gup_flags);
int paccel_pages_alloc(struct paccel_pages *p, struct paccel_device *pd, u64 length);
int paccel_pages_same(struct paccel_pages *p, u64 addr);
void paccel_pages_map(struct paccel_pages *p);
void paccel_pages_release(struct paccel_pages *p);
void paccel_pages_unmap_all(struct paccel_device *pd);
void paccel_pages_seek(struct paccel_pages *p, struct paccel_cursor *cursor, u64 off);
bool paccel_pages_dma(struct paccel_pages *p, struct paccel_cursor *cursor, u64 off, u32 len,
		      dma_addr_t *dma);
void paccel_pages_read(struct paccel_pages *p, u64 off, void *to, u32 len);
void paccel_pages_write(struct paccel_pages *p, u64 off, const void *from, u32 len);

/* --- host.c: host ranges of a context --- */

/**
 * struct paccel_host - registered memory of a program, or memory of the driver that it maps
 * @ref: the context's tree, jobs, and mappings of the driver's own memory
 * @addr: in ctx->hosts once it has a user address; under ctx->lock
 * @cookie: in ctx->cookies (driver's own memory only), by mmap offset; under ctx->lock
 * @pages: the memory
 * @mm: whose addresses these are; charged for the pages
 * @charged: pages charged to @mm
 * @notifier: watches registered memory
 * @watched: @notifier is inserted
 * @own: the driver's own memory, in ctx->cookies
 * @read_only: the card must not write it
 * @placed: in ctx->hosts; under ctx->lock
 * @dead: unmapped or replaced: answers -EFAULT. Set at any time, never cleared
 * @lock: @changes and the notifier's sequence number
 * @changes: grows when pages are perhaps being replaced; under @lock
 * @checked: @changes when the pages were last compared
 */
struct paccel_host {
	struct kref ref;
	struct paccel_range addr;
	struct paccel_range cookie;
	struct paccel_pages pages;
	struct mm_struct *mm;
	unsigned long charged;
	struct mmu_interval_notifier notifier;
	bool watched;
	bool own;
	bool read_only;
	bool placed;
	bool dead;
	spinlock_t lock;		/* changes, and the notifier's sequence number */
	unsigned int changes;
	unsigned int checked;
};

struct paccel_ucmd;
struct paccel_ctx;

int paccel_host_use(struct paccel_host *host, bool write);
void paccel_host_put(struct paccel_host *host);
void paccel_host_end(struct paccel_ctx *ctx);
int paccel_host_mmap(struct paccel_ctx *ctx, struct vm_area_struct *vma);

/* --- job.c: one operation, cut into transfers --- */

/* A rectangle: rows of width bytes, pitch bytes apart; one row is an ordinary range. */
struct paccel_rect {
	u64 start;
	u64 pitch;
};

enum paccel_op {
	PACCEL_OP_H2D = PACCEL_COPY_H2D,
	PACCEL_OP_D2H = PACCEL_COPY_D2H,
	PACCEL_OP_D2D = PACCEL_COPY_D2D,
	PACCEL_OP_FILL,
	PACCEL_OP_SCRUB,
};

/**
 * struct paccel_job - one operation on its way through an engine
 * @ref: the engine until the job has ended, and whoever waits
 * @node: in its queue; under eng->lock
 * @waits: is in its queue; under eng->lock
 * @queue: where it waits; NULL for a scrub job
 * @eng: who runs it
 * @op: what to do
 * @dst: where to: a device address, or an offset into @pages
 * @src: where from, likewise
 * @width: bytes of each row
 * @rows: rows
 * @pattern: of a fill, repeated to 8 bytes
 * @bufs: device memory that must stay
 * @host: host range whose pages these are, or NULL
 * @pages: the host side: of @host, or @own
 * @own: pages pinned for this job alone
 * @cursor: where the last transfer was in @pages
 * @stage: what a copy inside the device has read and not yet written, where the card cannot copy
 *	by itself
 * @staged: @stage is full
 * @row: next row; @row, @col and @staged belong to whoever runs the engine
 * @col: next byte in it
 * @restart: begin again instead of failing; under eng->lock
 * @released: the references above are gone
 * @error: 0 or why it failed; under eng->lock until it has ended
 * @end: called once when it has ended, with no lock held; in any context
 * @done: for those who wait
 * @release: gives back what it holds, in process context
 */
struct paccel_job {
	struct kref ref;
	struct list_head node;
	bool waits;
	struct paccel_queue *queue;
	struct paccel_engine *eng;
	enum paccel_op op;
	struct paccel_rect dst;
	struct paccel_rect src;
	u64 width;
	u64 rows;
	u64 pattern;
	struct paccel_buf *bufs[2];
	struct paccel_host *host;
	struct paccel_pages *pages;
	struct paccel_pages own;
	struct paccel_cursor cursor;
	void *stage;
	bool staged;
	u64 row;
	u64 col;
	bool restart;
	unsigned long released;
	int error;
	void (*end)(struct paccel_job *job);
	struct completion done;
	struct work_struct release;
};

/* The next transfer of a job. */
struct paccel_step {
	struct paccel_xfer x;
	bool bounce;
	u64 host;		/* offset into job->pages */
};

struct paccel_job *paccel_job_alloc(struct paccel_device *pd, enum paccel_op op, gfp_t gfp);
void paccel_job_put(struct paccel_job *job);
void paccel_job_release(struct paccel_job *job);
int paccel_job_run(struct paccel_ctx *ctx, struct paccel_job *job);
void paccel_job_plan(struct paccel_job *job, struct paccel_step *step);
void paccel_job_before(struct paccel_job *job, const struct paccel_step *step, void *bounce);
void paccel_job_after(struct paccel_job *job, const struct paccel_step *step, const void *bounce);
bool paccel_job_advance(struct paccel_job *job, const struct paccel_step *step);

/* --- engine.c: one DMA channel --- */

/* The jobs of one context on one engine; under eng->lock. */
struct paccel_queue {
	struct paccel_ctx *ctx;
	struct list_head node;	/* in eng->queues while it has jobs */
	struct list_head jobs;
};

enum paccel_engine_state {
	PACCEL_ENGINE_IDLE,	/* nothing chosen */
	PACCEL_ENGINE_PICKED,	/* a step that needs the worker first */
	PACCEL_ENGINE_WORK,	/* the worker moves bytes of the step */
	PACCEL_ENGINE_BUSY,	/* the card runs the step */
	PACCEL_ENGINE_DONE,	/* the card has ended it: status */
	PACCEL_ENGINE_HUNG,	/* the card did not end it in time */
};

struct paccel_engine {
	struct paccel_device *pd;
	unsigned int id;
	spinlock_t lock;		/* all below, its queues and jobs; taken in interrupts */
	enum paccel_engine_state state;
	unsigned int hold;		/* > 0: start nothing */
	int refuse;			/* 0, or the error of every new job */
	unsigned int load;		/* jobs; read without the lock */
	struct list_head queues;	/* contexts that have work, in turn */
	struct paccel_job *scrub;	/* waits for the engine to be idle */
	struct paccel_job *job;		/* whose step this is, from PICKED to HUNG */
	struct paccel_step step;
	int status;
	unsigned long deadline;		/* in jiffies, while BUSY */
	void *bounce;			/* coherent, info.max_xfer bytes; whoever runs the step */
	dma_addr_t bounce_dma;
	struct work_struct work;
	struct delayed_work watchdog;
};

void paccel_engines_init(struct paccel_device *pd);
int paccel_engines_alloc(struct paccel_device *pd);
void paccel_engines_free(struct paccel_device *pd);
struct paccel_engine *paccel_engine_choose(struct paccel_device *pd);
int paccel_engine_submit(struct paccel_engine *eng, struct paccel_job *job);
void paccel_engine_cancel(struct paccel_job *job, int error);
/* The four steps of stopping a card; pd->reset_lock is held. */
void paccel_engines_hold(struct paccel_device *pd, int error);
void paccel_engines_abort(struct paccel_device *pd, int error);
void paccel_engines_refuse(struct paccel_device *pd, int error);
void paccel_engines_unhold(struct paccel_device *pd);

/* --- device.c, reset.c, sysfs.c --- */

struct paccel_counters {
	atomic64_t h2d, d2h, d2d, filled, scrubbed;	/* bytes */
	atomic64_t xfers;
	atomic64_t allocs, alloc_failures;
	atomic64_t timeouts;		/* transfers that the card did not finish in time */
	atomic64_t lost_irqs;		/* transfers that had ended without an interrupt */
	atomic64_t spurious_irqs;
	atomic64_t resets;
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
 * @gone: unplugged; read in paccel_enter() sections or where a late answer does no harm
 * @failed: out of service until a reset succeeds; changed under @reset_lock
 * @unsafe: given up and perhaps still writing host memory; never cleared
 * @direct: host memory may be mapped for the card
 * @reset_lock: one at a time stops or starts the card
 * @recover: what a hung transfer sets off
 * @pool: device memory
 * @engines: info.engines of them
 * @ctxs: every open context; under @ctxs_lock
 * @ctxs_lock: @ctxs
 * @mapped: every paccel_pages that is mapped for the card; under @mapped_lock
 * @mapped_lock: @mapped, and mapping and unmapping themselves
 * @wait: poll()
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
	bool gone;
	bool failed;
	bool unsafe;
	bool direct;
	struct mutex reset_lock;	/* one at a time stops or starts the card */
	struct work_struct recover;
	struct paccel_pool pool;
	struct paccel_engine engines[PACCEL_MAX_ENGINES];
	struct list_head ctxs;
	struct mutex ctxs_lock;		/* ctxs */
	struct list_head mapped;
	struct mutex mapped_lock;	/* mapped, and mapping and unmapping themselves */
	wait_queue_head_t wait;
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

struct paccel_device *paccel_device_alloc(struct pci_dev *pdev, const struct paccel_hw_ops *ops);
int paccel_device_register(struct paccel_device *pd);
void paccel_device_unregister(struct paccel_device *pd);
u32 paccel_device_caps(struct paccel_device *pd);
void paccel_device_exit(void);
int paccel_device_init(void);

int paccel_reset(struct paccel_device *pd);
void paccel_recover_work(struct work_struct *work);
void paccel_suspend(struct paccel_device *pd);
int paccel_resume(struct paccel_device *pd);
void paccel_fail(struct paccel_device *pd);
/*
 * Nothing of the card can write host memory after this, or pd->unsafe is set; pd->reset_lock is
 * held.
 */
void paccel_give_up(struct paccel_device *pd);
/* Pages that are kept for ever; the log tells, since sysfs may be gone by then. */
void paccel_count_leak(struct paccel_device *pd, unsigned long pages);

extern const struct attribute_group *paccel_groups[];
extern struct pci_driver paccel_pci_driver;

/* --- ctx.c, file.c: an open file --- */

/* One context's hold on one allocation. */
struct paccel_map {
	struct paccel_range range;
	struct paccel_buf *buf;
};

/**
 * struct paccel_ctx - one open file, and the one process that it serves
 * @pd: the card, a counted reference
 * @mm: the opener's address space (mmgrab: it may die before the file does)
 * @user: who pays for device memory
 * @node: in pd->ctxs
 * @lock: @maps, @hosts, @cookies and their counts
 * @maps: device memory, struct paccel_map
 * @hosts: host ranges by user address
 * @cookies: the driver's own memory by mmap offset
 * @next_cookie: never given twice
 * @nr_maps: allocations
 * @nr_hosts: host ranges, with those that are being made
 * @bytes: device memory, in whole granules
 * @lost: a reset has lost its memory
 * @notifier: tells of the end of @mm
 * @end: ends the context then
 * @queues: its jobs, by engine
 */
struct paccel_ctx {
	struct paccel_device *pd;
	struct mm_struct *mm;
	struct paccel_user *user;
	struct list_head node;
	struct mutex lock;		/* the trees and their counts */
	struct rb_root maps;
	struct rb_root hosts;
	struct rb_root cookies;
	u64 next_cookie;
	u64 nr_maps;
	u32 nr_hosts;
	u64 bytes;
	bool lost;
	struct mmu_notifier notifier;
	struct work_struct end;
	struct paccel_queue queues[PACCEL_MAX_ENGINES];
};

struct paccel_ctx *paccel_ctx_open(struct paccel_device *pd);
void paccel_ctx_close(struct paccel_ctx *ctx);

/*
 * An ioctl on its way: the struct that @cmd points to is a copy, as large as this driver knows
 * it.
 */
struct paccel_ucmd {
	struct paccel_ctx *ctx;
	void __user *user;
	u32 user_size;
	u32 size;
	void *cmd;
};

/* Copies the struct back; the last thing before what it announces is published. */
int paccel_reply(struct paccel_ucmd *ucmd);

int paccel_ioctl_device_info(struct paccel_ucmd *ucmd);
int paccel_ioctl_mem_alloc(struct paccel_ucmd *ucmd);
int paccel_ioctl_mem_free(struct paccel_ucmd *ucmd);
int paccel_ioctl_mem_stats(struct paccel_ucmd *ucmd);
int paccel_ioctl_host_alloc(struct paccel_ucmd *ucmd);
int paccel_ioctl_host_register(struct paccel_ucmd *ucmd);
int paccel_ioctl_host_free(struct paccel_ucmd *ucmd);
int paccel_ioctl_copy(struct paccel_ucmd *ucmd);
int paccel_ioctl_fill(struct paccel_ucmd *ucmd);
int paccel_ioctl_reset(struct paccel_ucmd *ucmd);

void paccel_mem_end(struct paccel_ctx *ctx);
/* A counted reference on the allocation that wholly holds the range, or NULL; ctx->lock is held. */
struct paccel_buf *paccel_mem_get(struct paccel_ctx *ctx, u64 addr, u64 length);

extern const struct file_operations paccel_fops;

#endif /* PACCEL_H */
