/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the driver know of each other.
 *
 * Lock order, outermost first; a lock is never taken while one that stands below it is held:
 *
 *   mmap_lock -> pd->reset_lock -> ctx->lock -> pd->ctxs_lock -> pool->lock -> pd->mapped_lock
 *   -> ctx->work_lock (irq), eng->lock (irq)
 *
 * The last two are never held together.
 *
 * With any of ours held nobody touches or pins user memory, inserts or removes a notifier, or waits
 * for the card; pd->reset_lock alone is held while the card is stopped, and whoever takes mmap_lock
 * never takes that one. paccel_enter() sections never wait for the card or for user space. Fences,
 * eventfds and waiters of streams are signalled with none of ours held, and nothing on the way
 * there allocates memory.
 *
 * A dma-buf's reservation lock, and whatever else its driver takes, is outside of all that:
 *
 *   pd->detach_lock or pd->exports_lock -> reservation -> (its driver's) -> shared->lock (share.c)
 *
 * No dma_buf_*() is called with any lock of ours but those two held, nor with mmap_lock; our side
 * of a dma-buf takes none but shared->lock and, at the very end, pd->exports_lock and what freeing
 * memory takes. With pd->exports_lock and a reservation held somebody waits for *another* card; so
 * whatever lets that one's transfers end takes neither.
 */
#ifndef PACCEL_H
#define PACCEL_H

#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/kref.h>
#include <linux/llist.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/scatterlist.h>
#include <linux/seq_buf.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/paccel.h>

#include "core/compat.h"
#include "core/module.h"
#include "hw/hw.h"
#include "mem/pool.h"
#include "core/range.h"

#define PACCEL_MEM_BASE		SZ_4G
#define PACCEL_MAX_ALIGN	SZ_2M
#define PACCEL_MAX_HOST_BYTES	SZ_4G
#define PACCEL_MAX_HOST_RANGES	65536
/* Pageable memory is pinned in slices of this many bytes at most. */
#define PACCEL_SLICE		SZ_1M
#define PACCEL_MAX_STREAMS	(PACCEL_PAGE_SLOTS - 1)
#define PACCEL_MAX_OPS		1024
#define PACCEL_MAX_QUEUED	4096
#define PACCEL_MAX_QUEUED_ALL	16384
#define PACCEL_MAX_POINTS	128
/* Pages of mmap offsets: 0 is nothing, 1 the completion page, the others are HOST_ALLOC's. */
#define PACCEL_PAGE_COOKIE	1

/* --- pages.c: host pages that the card is given --- */

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

/* --- foreign.c: host memory that is another driver's dma-buf --- */

int paccel_foreign_get(struct paccel_pages *p, struct paccel_device *pd, struct dma_buf *dmabuf,
		       u64 length, bool write);
void paccel_foreign_put(struct paccel_pages *p);
void paccel_foreign_detach_all(struct paccel_device *pd);
void paccel_foreign_release_kept(void);
bool paccel_foreign_readable(const struct paccel_pages *p);
void paccel_foreign_read(struct paccel_pages *p, u64 off, void *to, u32 len);
void paccel_foreign_write(struct paccel_pages *p, u64 off, const void *from, u32 len);

/* --- host.c: host ranges of a context --- */

/**
 * struct paccel_host - registered memory of a program or of a dma-buf, or memory of the driver that
 *	a program maps
 * @ref: the context's tree, jobs; of the driver's own memory also its mapping, dma-bufs and those
 *	that it is lent to
 * @addr: in ctx->hosts once it has a user address; under ctx->lock
 * @cookie: in ctx->cookies (driver's own memory only), by mmap offset; under ctx->lock
 * @pages: the memory
 * @mm: whose addresses these are; charged for the pages
 * @charged: pages charged to @mm, and to @payer if there is one
 * @payer: the user who is charged for the driver's own memory, else NULL
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
	struct user_struct *payer;
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

struct paccel_ctx;

/*
 * @dmabuf: a file descriptor of the dma-buf that is to lie under these addresses; NULL: the
 * caller's memory is there.
 */
int paccel_host_register(struct paccel_ctx *ctx, u64 addr, u64 length, bool read_only,
			 const int *dmabuf);
/*
 * Memory of the driver that the context does not have yet, or an ERR_PTR. A paccel_host_publish()
 * that succeeds, or paccel_host_discard(), ends that state. No lock is held.
 */
struct paccel_host *paccel_host_alloc(struct paccel_ctx *ctx, u64 length);
int paccel_host_publish(struct paccel_ctx *ctx, struct paccel_host *host);
void paccel_host_discard(struct paccel_ctx *ctx, struct paccel_host *host);
/* -ENOENT: there is none at @addr, or with this mmap offset. */
int paccel_host_free(struct paccel_ctx *ctx, u64 addr);
int paccel_host_free_own(struct paccel_ctx *ctx, u64 offset);
int paccel_host_use(struct paccel_host *host, bool write);
void paccel_host_put(struct paccel_host *host);
void paccel_host_end(struct paccel_ctx *ctx);
/* Bytes of all host ranges of the context. */
u64 paccel_host_bytes(struct paccel_ctx *ctx);
int paccel_host_mmap(struct paccel_ctx *ctx, struct vm_area_struct *vma);
/* A counted reference on the driver's own memory that is mapped at @addr, or NULL. */
struct paccel_host *paccel_host_get_own(struct paccel_ctx *ctx, u64 addr);

/* --- export.c: dma-bufs of device memory --- */

struct dma_buf *paccel_export_buf(struct paccel_buf *buf);
struct paccel_buf *paccel_exported_buf(struct dma_buf *dmabuf);
void paccel_exports_revoke(struct paccel_device *pd);
void paccel_exports_revoke_work(struct work_struct *work);

/* --- share.c: dma-bufs of our memory, and memory of dma-bufs --- */

struct dma_buf *paccel_dmabuf(const struct dma_buf_ops *ops, void *priv, u64 size);

/*
 * The caller's reference on a dma-buf of the allocation that begins at @addr, or of the driver's
 * memory that the program has mapped there. ERR_PTR(-ENOENT): there is none.
 */
struct dma_buf *paccel_share_mem(struct paccel_ctx *ctx, u64 addr);
struct dma_buf *paccel_share_host(struct paccel_ctx *ctx, u64 addr);
struct paccel_buf *paccel_share_buf(struct paccel_device *pd, int fd);
int paccel_pages_import(struct paccel_pages *p, struct paccel_device *pd, int fd, u64 length,
			bool write);

/* Of work that has ended and still has what it worked on; under ctx->work_lock. */
struct paccel_ended {
	struct list_head node;	/* in ctx->releasing */
	u64 nr;			/* ctx->nr_ended then */
};

/* --- job.c: one operation, cut into transfers --- */

/* How far a job has been started. */
struct paccel_place {
	u64 row;
	u64 col;
	bool staged;	/* the stage is full, of a copy inside the device */
};

/* A rectangle: rows of width bytes, pitch bytes apart; one row is an ordinary range. */
struct paccel_rect {
	u64 start;
	u64 pitch;
};

struct paccel_job;

enum paccel_job_op {
	PACCEL_JOB_H2D = PACCEL_COPY_H2D,
	PACCEL_JOB_D2H = PACCEL_COPY_D2H,
	PACCEL_JOB_D2D = PACCEL_COPY_D2D,
	PACCEL_JOB_FILL,
	PACCEL_JOB_SCRUB,
	/* Of streams only, and no transfers: */
	PACCEL_JOB_WAIT_POINT,
	PACCEL_JOB_WAIT_FENCE,
	PACCEL_JOB_EVENTFD,
	PACCEL_JOB_WRITE,
	PACCEL_JOB_TIME,
};

/* Of a job in a stream; under ctx->work_lock. */
enum paccel_job_state {
	PACCEL_JOB_QUEUED,
	PACCEL_JOB_STARTING,	/* in the hands of whoever runs the stream */
	PACCEL_JOB_RUNNING,	/* the engine has it */
	PACCEL_JOB_ENDED,
};

/**
 * struct paccel_job_ops - of jobs that are in a stream, which is a layer above
 * @issued: nothing of the job is left to start: the engine may be given the next one
 * @ended: these have ended, all of one stream: their references are handed over
 * @release: give back what only jobs of streams have. May sleep
 *
 * The first two in any context, with no lock of the engine held.
 */
struct paccel_job_ops {
	void (*issued)(struct paccel_job *job);
	void (*ended)(struct list_head *jobs);
	void (*release)(struct paccel_job *job);
};

/**
 * struct paccel_job - one operation on its way through an engine
 * @ref: the engine until the job has ended, and whoever waits
 * @node: in its queue, under eng->lock
 * @waits: is in its queue; under eng->lock
 * @ctx: whose it is, a counted reference; NULL for a scrub job
 * @queue: where it waits; NULL for a scrub job
 * @eng: who runs it
 * @since: when the engine got it, in jiffies
 * @op: what to do
 * @dst: where to: a device address, or an offset into @pages
 * @src: where from, likewise
 * @width: bytes of each row
 * @rows: rows
 * @pattern: of a fill, repeated to 8 bytes
 * @verify: its transfers are verified
 * @source: of a verified copy that the card makes inside: checksum of what the next transfer copies
 * @bufs: device memory that must stay
 * @host: host range whose pages these are, or NULL
 * @pages: the host side: of @host, or @own
 * @own: pages pinned for this job alone
 * @cursor: where the last transfer was in @pages
 * @stage: what a copy inside the device has read and not yet written, where the card cannot copy
 *	by itself; of its stream if it has one, for that runs one job at a time
 * @at: what comes next; this and all down to @over under eng->lock
 * @in_flight: transfers of it that have been started and have not left the ring
 * @rewound: @at is where something in flight began that has to be done again
 * @complete: its last transfer, and all before it, have ended well
 * @stop: 0, or what it fails with as soon as nothing of it is in flight
 * @leader: the job before it in its stream, in flight or waiting to be done again, and not to be
 *	overtaken; or NULL
 * @follower: whose leader it is
 * @over: it has ended; @error is final
 * @told: its stream knows that nothing of it is left to start
 * @issued_node: for telling it
 * @released: the references above and below are gone
 * @error: 0 or why it failed; under eng->lock until it has ended
 * @ops: of a job in a stream, else NULL
 * @end: of a job in no stream: called once when it has ended, with no lock held; in any context
 * @done: for those who wait
 * @unreferenced: in ctx->unreferenced
 * @stream_id: number of the stream that it is in, or 0
 * @stream: that stream, a counted reference, or NULL
 * @in_stream: in stream->jobs; this and all below under ctx->work_lock once it is queued
 * @state: how far it is
 * @issued: nothing of it is left to start: the next one can be given to the engine
 * @cancelled: the engine has been told to
 * @point: of the SUBMIT that it came with
 * @last: of that SUBMIT
 * @always: runs also in a stream that has failed
 * @deferred: was withdrawn by somebody who holds locks; under eng->lock until it has ended
 * @ended: it has ended and is not released
 * @what: WAIT_POINT: the stream that it waits for, a counted reference
 * @what_point: WAIT_POINT: the point
 * @waiter: WAIT_POINT: in what->waiters
 * @fence: WAIT_FENCE: the fence, a counted reference
 * @fence_cb: WAIT_FENCE: tells that it is signalled; hung on it when the job is the first
 * @watched: WAIT_FENCE: that has been done
 * @fence_error: WAIT_FENCE: of the fence, valid once @fence_done
 * @fence_done: WAIT_FENCE: it is signalled; set with release semantics
 * @eventfd: EVENTFD: a counted reference
 * @value: WRITE: what
 */
struct paccel_job {
	struct kref ref;
	struct list_head node;
	bool waits;
	struct paccel_ctx *ctx;
	struct paccel_queue *queue;
	struct paccel_engine *eng;
	unsigned long since;
	enum paccel_job_op op;
	struct paccel_rect dst;
	struct paccel_rect src;
	u64 width;
	u64 rows;
	u64 pattern;
	bool verify;
	u32 source;
	struct paccel_buf *bufs[2];
	struct paccel_host *host;
	struct paccel_pages *pages;
	struct paccel_pages own;
	struct paccel_cursor cursor;
	void *stage;
	struct paccel_place at;
	unsigned int in_flight;
	bool rewound;
	bool complete;
	int stop;
	struct paccel_job *leader;
	struct paccel_job *follower;
	bool over;
	bool told;
	struct list_head issued_node;
	unsigned long released;
	int error;
	const struct paccel_job_ops *ops;
	void (*end)(struct paccel_job *job);
	struct completion done;
	struct llist_node unreferenced;
	u32 stream_id;

	struct paccel_stream *stream;
	struct list_head in_stream;
	enum paccel_job_state state;
	bool issued;
	bool cancelled;
	u64 point;
	bool last;
	bool always;
	bool deferred;
	struct paccel_ended ended;
	struct paccel_stream *what;
	u64 what_point;
	struct list_head waiter;
	struct dma_fence *fence;
	struct dma_fence_cb fence_cb;
	bool watched;
	int fence_error;
	bool fence_done;
	struct eventfd_ctx *eventfd;
	u64 value;
};

/**
 * struct paccel_step - a transfer of a job
 * @x: what the card is asked for
 * @bounce: through the bounce buffer
 * @sync: as of the pages
 * @last: of its job
 * @host: offset into job->pages
 * @at: where in the job it is
 */
struct paccel_step {
	struct paccel_xfer x;
	bool bounce;
	bool sync;
	bool last;
	u64 host;
	struct paccel_place at;
};

struct paccel_job *paccel_job_alloc(struct paccel_device *pd, struct paccel_ctx *ctx,
				    enum paccel_job_op op);
void paccel_job_put(struct paccel_job *job);
void paccel_jobs_release(struct work_struct *work);
void paccel_job_release(struct paccel_job *job);
void paccel_job_drop(struct paccel_job *job);
void *paccel_job_stage(const struct paccel_job *job);
int paccel_job_submit(struct paccel_job *job, struct paccel_job *leader, bool more);
int paccel_job_finish(struct paccel_job *job);
int paccel_job_run(struct paccel_job *job);
int paccel_job_verify(struct paccel_job *job, struct paccel_device *pd, bool wanted);
bool paccel_job_inside(const struct paccel_job *job, const struct paccel_device *pd);
void paccel_job_plan(struct paccel_job *job, struct paccel_step *step);
void paccel_job_before(struct paccel_job *job, const struct paccel_step *step, void *bounce);
void paccel_job_after(struct paccel_job *job, const struct paccel_step *step, const void *bounce);
u32 paccel_job_checksum(struct paccel_job *job, const struct paccel_step *step, const void *bounce);
bool paccel_job_issue(struct paccel_job *job, const struct paccel_step *step);
void paccel_job_count(struct paccel_job *job, const struct paccel_step *step);

/* --- engine.c, turns.c, stop.c: one DMA channel --- */

/* The jobs of one context on one engine; under eng->lock. */
struct paccel_queue {
	struct paccel_ctx *ctx;
	struct list_head node;	/* in eng->queues or eng->served while it has jobs */
	struct list_head jobs;
	unsigned int in_flight;	/* transfers */
};

enum paccel_tag_state {
	PACCEL_TAG_PICKED,	/* the worker has to fill the bounce buffer first */
	PACCEL_TAG_FILLING,	/* it does */
	PACCEL_TAG_BUSY,	/* the card has it */
	PACCEL_TAG_DONE,	/* the card has ended it: status */
	PACCEL_TAG_EMPTYING,	/* the worker looks at, and takes, what the card has written */
	PACCEL_TAG_HUNG,	/* the card is not to be trusted with it any more */
};

/* A transfer in flight. The party that @state names has it. */
struct paccel_tag {
	enum paccel_tag_state state;
	struct paccel_job *job;
	struct paccel_step step;
	int status;
	u32 checksum;		/* what the card says */
	bool seen;		/* the worker has had it after the card */
	ktime_t started;	/* when the card was asked */
};

/**
 * struct paccel_engine - one DMA channel
 * @pd: the card
 * @id: its number
 * @lock: all below down to @last_end, and its queues and jobs; taken in interrupts
 * @tags: info.depth of them: the transfer with cookie c has the place c modulo that
 * @head: cookie of the oldest transfer in flight
 * @tail: cookie of the next one
 * @bytes: in flight
 * @unkicked: transfers that were started and that the card has not been told of
 * @bouncing: one of those in flight needs the bounce buffer
 * @hung: waits for the recovery: nothing is started
 * @heard: poll() has told something
 * @deaf: poll() is not called: the engine is being reset
 * @hold: > 0: start nothing
 * @refuse: 0, or the error of every new job
 * @load: jobs; read without the lock
 * @queues: contexts that have work, in turn
 * @served: those that have something in flight as well, and a turn only if there is no other
 * @scrub: waits for the engine to be idle
 * @deadline: of the oldest transfer in flight
 * @alarm: when @watchdog comes, in jiffies
 * @armed: and that it does
 * @last_end: when the card ended something
 * @bounce: coherent, pd->bounce_size bytes; of whoever has the transfer that needs it
 * @bounce_dma: where the card finds it
 * @lists: coherent, info.list_size bytes for each tag
 * @lists_dma: where the card finds them
 * @work: moves bytes, goes on
 * @watchdog: looks after @deadline
 */
struct paccel_engine {
	struct paccel_device *pd;
	unsigned int id;
	spinlock_t lock;		/* see above */
	struct paccel_tag *tags;
	u64 head;
	u64 tail;
	u64 bytes;
	unsigned int unkicked;
	bool bouncing;
	bool hung;
	bool heard;
	bool deaf;
	unsigned int hold;
	int refuse;
	unsigned int load;
	struct list_head queues;
	struct list_head served;
	struct paccel_job *scrub;
	ktime_t deadline;
	unsigned long alarm;
	bool armed;
	ktime_t last_end;
	void *bounce;
	dma_addr_t bounce_dma;
	void *lists;
	dma_addr_t lists_dma;
	struct work_struct work;
	struct delayed_work watchdog;
};

int paccel_engines_init(struct paccel_device *pd);
void paccel_engines_exit(struct paccel_device *pd);
int paccel_engines_alloc(struct paccel_device *pd);
void paccel_engines_free(struct paccel_device *pd);
struct paccel_engine *paccel_engine_choose(struct paccel_device *pd);
int paccel_engine_submit(struct paccel_engine *eng, struct paccel_job *job,
			 struct paccel_job *leader, bool more);
void paccel_engine_kick(struct paccel_engine *eng);
void paccel_engine_cancel(struct paccel_job *job, int error);
/* The steps of stopping an engine, or a card; pd->reset_lock is held. */
void paccel_engine_hold(struct paccel_engine *eng, int error);
void paccel_engine_abort(struct paccel_engine *eng, int error);
void paccel_engine_unhold(struct paccel_engine *eng);
bool paccel_engine_hung(struct paccel_engine *eng);
void paccel_engines_hold(struct paccel_device *pd, int error);
void paccel_engines_abort(struct paccel_device *pd, int error);
void paccel_engines_refuse(struct paccel_device *pd, int error);
void paccel_engines_unhold(struct paccel_device *pd);
void paccel_engines_evict(struct paccel_device *pd, const struct paccel_pages *pages);

extern const struct paccel_mem_ops paccel_mem_ops;
struct paccel_queue *paccel_queues_alloc(struct paccel_ctx *ctx);
int paccel_scrub_alloc(struct paccel_device *pd);
void paccel_scrub_free(struct paccel_device *pd);

/* --- dump.c, device.c, reset.c, sysfs.c --- */

const char *paccel_op_name(enum paccel_job_op op);
void paccel_show_engine(struct seq_buf *out, struct paccel_engine *eng);
void paccel_show_queues(struct seq_buf *out, struct paccel_engine *eng);

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
 * @unsafe: given up and perhaps still writing host memory, until it is proven not to: by a reset,
 *	by removal that finds it idle or absent, or when paccel is bound to a device at its
 *	place again
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
 * @evicted: told when a transfer whose pages are revoked is not in flight any more
 * @ctxs: every open context; under @ctxs_lock
 * @ctxs_lock: @ctxs
 * @mapped: every paccel_pages that is mapped for the card; under @mapped_lock
 * @mapped_lock: @mapped, and mapping and unmapping themselves
 * @attached: every paccel_pages whose dma-buf the card is attached to; under @detach_lock
 * @detach_lock: @attached, and detaching itself
 * @exports: dma-bufs of its memory, struct paccel_export; under @exports_lock
 * @exports_lock: @exports, and keeps those dma-bufs from ending
 * @revoke: takes away from importers what a reset has lost
 * @stream_jobs: jobs in streams of all contexts, until all have heard of their end
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

/*
 * The result of what takes all locks of an address space, which any signal ends, also one that
 * stops the process for a while. Nobody wants to know: the system call begins again.
 */
static inline int paccel_from_the_start(int ret)
{
	return ret == -EINTR ? -ERESTARTNOINTR : ret;
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

struct paccel_device *paccel_device_alloc(struct pci_dev *pdev, const struct paccel_hw_ops *ops);
int paccel_device_register(struct paccel_device *pd);
void paccel_device_unregister(struct paccel_device *pd);
u32 paccel_device_caps(struct paccel_device *pd);
void paccel_devices_wait(void);
void paccel_device_exit(void);
int paccel_device_init(void);

/* pd->reset_lock is held. */
void paccel_dump(struct paccel_device *pd, const char *why);
void paccel_dump_work(struct work_struct *work);
void paccel_dump_alloc(struct paccel_device *pd);
void paccel_dump_free(struct paccel_device *pd);

void paccel_debugfs_init(void);
void paccel_debugfs_exit(void);
void paccel_debugfs_add(struct paccel_device *pd);
void paccel_debugfs_remove(struct paccel_device *pd);

/* "ok", "recovering" or "failed". */
const char *paccel_health(struct paccel_device *pd);
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
void paccel_prove_quiet(struct paccel_device *pd);
/* May the device still write to what was mapped for it at the count @give_ups? */
static inline bool paccel_may_write(struct paccel_device *pd, unsigned int give_ups)
{
	/* Pairs with paccel_give_up(), which counts first. */
	return smp_load_acquire(&pd->unsafe) && give_ups != READ_ONCE(pd->give_ups);
}

/* Pages that are kept for ever; the log tells, since sysfs may be gone by then. */
void paccel_count_leak(struct paccel_device *pd, unsigned long pages);

extern const struct attribute_group *paccel_groups[];
extern struct pci_driver paccel_pci_driver;

/* --- ctx.c, file.c: an open file --- */

/* What one context has had, for fdinfo. */
struct paccel_usage {
	atomic64_t h2d, d2h, d2d, filled;	/* bytes */
	atomic64_t engine_ns;
};

/**
 * struct paccel_ctx - one open file, and the one process that it serves
 * @ref: the file, its streams and its jobs
 * @id: its number, for traces and fdinfo
 * @pd: the card, a counted reference
 * @stop: ends the work of its streams, which are a layer above those that call this
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
 * @usage: counters
 * @unreferenced: jobs that nobody has any more and that have to be put away
 * @release: does that
 * @wait: WAIT, SUBMIT that waits for room, and poll()
 * @settled: paccel_ctx_wait_released(); apart, for to an edge-triggered poll() a wake-up is news
 * @work_lock: all below, and its streams with their jobs; taken in interrupts
 * @streams: by number less 1
 * @page: the completion page, from the first stream on
 * @page_state: what it says, or will say
 * @queued: jobs in all streams
 * @nr_ended: jobs of streams that have ended
 * @releasing: those of them that still have what they worked on, struct paccel_ended, in order
 * @ended: 0, or why nothing can be submitted any more
 * @completions: points that have ended
 * @seen: what @completions was at the last WAIT
 */
struct paccel_ctx {
	struct kref ref;
	u64 id;
	struct paccel_device *pd;
	void (*stop)(struct paccel_ctx *ctx, int error, enum paccel_page_state state);
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
	struct paccel_queue *queues;
	struct paccel_usage usage;
	struct llist_head unreferenced;
	struct work_struct release;
	wait_queue_head_t wait;
	wait_queue_head_t settled;
	spinlock_t work_lock;		/* all below, and streams with their jobs */
	struct paccel_stream *streams[PACCEL_MAX_STREAMS];
	struct paccel_page *page;
	enum paccel_page_state page_state;
	unsigned int queued;
	u64 nr_ended;
	struct list_head releasing;
	int ended;
	u64 completions;
	u64 seen;
};

/* --- stream.c, submit.c, wait.c, fence.c: asynchronous work --- */

/**
 * struct paccel_stream - operations one after the other
 * @ref: the context's table, jobs in it, jobs that wait for it, whoever looks at it
 * @ctx: whose it is, a counted reference
 * @id: its number
 * @slot: in the completion page; this and all below under ctx->work_lock
 * @jobs: in order
 * @queued: how many those are
 * @newest: the last transfer that was given to an engine, while it is in @jobs
 * @stage: of its jobs, from the first that needs one on; not under the lock
 * @fences: exported, not signalled, by point
 * @waiters: jobs of other streams that wait for a point of this one
 * @dependents: queued jobs of streams that wait for a point of this one
 * @submitted: the last point that was given
 * @done: the last point that has ended
 * @failed_point: the first that failed, 0 if none
 * @error: why
 * @open: STREAM_CREATE has told its number and STREAM_DESTROY has not come
 * @running: somebody runs it
 * @fence_context: of its fences
 * @work: runs it where the one who noticed cannot
 */
struct paccel_stream {
	struct kref ref;
	struct paccel_ctx *ctx;
	u32 id;
	struct paccel_slot *slot;
	struct list_head jobs;
	unsigned int queued;
	struct paccel_job *newest;
	void *stage;
	struct list_head fences;
	struct list_head waiters;
	unsigned int dependents;
	u64 submitted;
	u64 done;
	u64 failed_point;
	int error;
	bool open;
	bool running;
	u64 fence_context;
	struct work_struct work;
};

/* A counted reference, or an ERR_PTR. It is put after paccel_stream_open() or _close(). */
struct paccel_stream *paccel_stream_create(struct paccel_ctx *ctx);
void paccel_stream_open(struct paccel_stream *stream);
/* It is not found any more. Drops the table's reference if it has drained. */
void paccel_stream_close(struct paccel_stream *stream);
int paccel_stream_destroy(struct paccel_ctx *ctx, u32 id);
/* How it has failed; 0, 0 if it has not. -EBUSY: work of it, or that waits for it, is left. */
int paccel_stream_failure(struct paccel_stream *stream, int *error, u64 *failed_point);
/* Unless it has failed differently since. */
void paccel_stream_clear(struct paccel_stream *stream, u64 failed_point);
/* A counted reference on the stream of that number, or NULL. */
struct paccel_stream *paccel_stream_get(struct paccel_ctx *ctx, u32 id);
/* Likewise, if @point was submitted to it: else -ENOENT or -EINVAL, for it might never end. */
int paccel_stream_get_point(struct paccel_ctx *ctx, u32 id, u64 point,
			    struct paccel_stream **streamp);
void paccel_stream_put(struct paccel_stream *stream);
/* How a point that has ended did end: 0 or its error; ctx->work_lock is held. */
int paccel_stream_error(struct paccel_stream *stream, u64 point);
/* Is there room for so many operations? ctx->work_lock is held. */
bool paccel_stream_fits(struct paccel_stream *stream, unsigned int nr);
int paccel_stream_queue(struct paccel_stream *stream, struct list_head *jobs, unsigned int nr,
			u64 point);
/*
 * The job, just made, is this stream's; only from then on a release of the job drops what is of
 * streams alone: fence, eventfd and the stream that it waits for.
 */
void paccel_stream_adopt(struct paccel_stream *stream, struct paccel_job *job);
void paccel_streams_end(struct paccel_ctx *ctx, int error, enum paccel_page_state state);
void paccel_streams_close(struct paccel_ctx *ctx);
int paccel_page_alloc(struct paccel_ctx *ctx);
int paccel_page_mmap(struct paccel_ctx *ctx, struct vm_area_struct *vma);

/* A point as others see it, in stream->fences until it has ended. */
struct paccel_fence {
	struct dma_fence base;
	spinlock_t lock;		/* base's: lives as long as that, unlike a stream */
	struct list_head node;
	u64 point;
	int error;
	char timeline[48];
};

/*
 * A counted reference on the fence of @point, which is not 0 and was submitted: it is signalled if
 * that has ended. NULL: no memory.
 */
struct dma_fence *paccel_fence_get(struct paccel_stream *stream, u64 point);
void paccel_fence_signal(struct paccel_fence *fence);

/* @verify: the program wants it. */
int paccel_copy_job(struct paccel_ctx *ctx, const struct paccel_op_copy *copy, bool verify,
		    struct paccel_job **jobp);
int paccel_fill_job(struct paccel_ctx *ctx, const struct paccel_op_fill *fill, bool verify,
		    struct paccel_job **jobp);
/* A counted reference on the host range that wholly holds these, or NULL; ctx->lock is held. */
struct paccel_host *paccel_host_get(struct paccel_ctx *ctx, u64 addr, u64 length);

struct paccel_ctx *paccel_ctx_open(struct paccel_device *pd);
void paccel_ctx_close(struct paccel_ctx *ctx);
struct paccel_ctx *paccel_ctx_get(struct paccel_ctx *ctx);
void paccel_ctx_put(struct paccel_ctx *ctx);
/*
 * A job that has ended keeps what it worked on until a worker has put it away. Who has found out
 * that memory is short, and then that this is not 0, waits for it and tries again.
 */
u64 paccel_ctx_releasing(struct paccel_ctx *ctx);
int paccel_ctx_wait_released(struct paccel_ctx *ctx, u64 mark);
void paccel_ctx_ended(struct paccel_ctx *ctx, struct paccel_ended *ended);
void paccel_ctx_released(struct paccel_ctx *ctx, struct paccel_ended *ended);
/* All contexts of the card: no work any more. */
void paccel_ctxs_end(struct paccel_device *pd, int error, enum paccel_page_state state);

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
/* Likewise, with a descriptor for @file in @fd, a field of it. Takes the reference in any case. */
int paccel_reply_file(struct paccel_ucmd *ucmd, s32 *fd, struct file *file);

int paccel_ioctl_device_info(struct paccel_ucmd *ucmd);
int paccel_ioctl_mem_alloc(struct paccel_ucmd *ucmd);
int paccel_ioctl_mem_free(struct paccel_ucmd *ucmd);
int paccel_ioctl_mem_stats(struct paccel_ucmd *ucmd);
int paccel_ioctl_mem_export(struct paccel_ucmd *ucmd);
int paccel_ioctl_mem_import(struct paccel_ucmd *ucmd);
int paccel_ioctl_host_alloc(struct paccel_ucmd *ucmd);
int paccel_ioctl_host_register(struct paccel_ucmd *ucmd);
int paccel_ioctl_host_free(struct paccel_ucmd *ucmd);
int paccel_ioctl_copy(struct paccel_ucmd *ucmd);
int paccel_ioctl_fill(struct paccel_ucmd *ucmd);
int paccel_ioctl_stream_create(struct paccel_ucmd *ucmd);
int paccel_ioctl_stream_destroy(struct paccel_ucmd *ucmd);
int paccel_ioctl_stream_clear(struct paccel_ucmd *ucmd);
int paccel_ioctl_submit(struct paccel_ucmd *ucmd);
int paccel_ioctl_wait(struct paccel_ucmd *ucmd);
int paccel_ioctl_fence_export(struct paccel_ucmd *ucmd);
int paccel_ioctl_reset(struct paccel_ucmd *ucmd);

/* --- mem/mem.c: device memory of a context --- */

/*
 * Device memory that the context does not have yet, or an ERR_PTR: an allocation, or what the
 * dma-buf @fd is of. paccel_mem_publish() or paccel_mem_drop() ends that state.
 */
struct paccel_map *paccel_mem_alloc(struct paccel_ctx *ctx, u64 length, u64 align);
struct paccel_map *paccel_mem_import(struct paccel_ctx *ctx, int fd);
/* Gives it to the context; what that has already counts once more. Takes @map, also on failure. */
int paccel_mem_publish(struct paccel_ctx *ctx, struct paccel_map *map);
/* Of no context: ends its mappings and puts the memory. No lock is held. */
void paccel_mem_drop(struct paccel_map *map);
int paccel_mem_free(struct paccel_ctx *ctx, u64 addr, u64 length);
void paccel_mem_end(struct paccel_ctx *ctx);
/* A counted reference on the allocation that wholly holds the range, or NULL; ctx->lock is held. */
struct paccel_buf *paccel_mem_get(struct paccel_ctx *ctx, u64 addr, u64 length);

const struct paccel_buf *paccel_mem_touch(struct paccel_ctx *ctx, u64 addr);

/* --- map.c: device memory that programs map --- */

int paccel_map_alloc(struct paccel_device *pd);
void paccel_map_free(struct paccel_device *pd);
void paccel_map_begin(struct paccel_device *pd);
void paccel_map_end(struct paccel_device *pd);
bool paccel_map_is_ours(const struct vm_area_struct *vma);
int paccel_map_mmap(struct paccel_ctx *ctx, struct vm_area_struct *vma);
int paccel_map_buf(struct paccel_buf *buf, struct vm_area_struct *vma);
void paccel_map_zap(struct paccel_device *pd, u64 addr, u64 size);
void paccel_map_zap_all(struct paccel_device *pd);

extern const struct file_operations paccel_fops;

#endif /* PACCEL_H */
