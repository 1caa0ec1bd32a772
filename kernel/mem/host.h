/* SPDX-License-Identifier: GPL-2.0-only */
/* Host ranges of a context. */
#ifndef PACCEL_HOST_H
#define PACCEL_HOST_H

#include <linux/kref.h>
#include <linux/mmu_notifier.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "core/range.h"
#include "mem/pages.h"

struct mm_struct;
struct paccel_ctx;
struct user_struct;
struct vm_area_struct;

#define PACCEL_MAX_HOST_BYTES	SZ_4G
#define PACCEL_MAX_HOST_RANGES	65536

/**
 * struct paccel_host - registered memory of a program or of a dma-buf, or memory of the driver that
 *	a program maps
 * @ref: held by the context's tree and by jobs; for the driver's own memory also by its user
 *	mapping, by its dma-bufs and by host ranges that import those
 * @addr: node in ctx->hosts once the range has a user address; under ctx->lock
 * @cookie: in ctx->cookies (driver's own memory only), by mmap offset; under ctx->lock
 * @pages: the memory
 * @lender: PACCEL_PAGES_LENT: the range that owns @pages, a counted reference; else NULL
 * @mm: whose addresses these are; charged for the pages
 * @charged: pages charged to @mm, and to @payer if there is one
 * @payer: the user who is charged for the driver's own memory, else NULL
 * @notifier: watches registered memory
 * @watched: @notifier is inserted
 * @own: the driver's own memory, in ctx->cookies
 * @read_only: the card must not write it
 * @placed: in ctx->hosts; under ctx->lock
 * @dead: the range was unmapped or its pages were replaced: new jobs fail with -EFAULT. Set at any
 *	time, never cleared
 * @lock: @changes and the notifier's sequence number
 * @changes: number of notifications that pages may be replaced; under @lock
 * @checked: value of @changes before the pages were last compared and found unchanged
 */
struct paccel_host {
	struct kref ref;
	struct paccel_range addr;
	struct paccel_range cookie;
	struct paccel_pages pages;
	struct paccel_host *lender;
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

/*
 * For those that make ranges. paccel_host_new() returns a range that the context counts, but does
 * not have yet, or an ERR_PTR. paccel_host_charge() charges the process for @pages; @own: the user,
 * too. paccel_host_place() adds the range to the context by its address. A range that is not placed
 * is passed to paccel_host_discard().
 */
struct paccel_host *paccel_host_new(struct paccel_ctx *ctx, u64 addr, u64 length, bool read_only);
int paccel_host_charge(struct paccel_ctx *ctx, struct paccel_host *host, unsigned long pages,
		       bool own);
int paccel_host_place(struct paccel_ctx *ctx, struct paccel_host *host);

/* Registers the caller's own memory: @length bytes at @addr. */
int paccel_host_register(struct paccel_ctx *ctx, u64 addr, u64 length, bool read_only);
/*
 * Allocates memory of the driver. Returns a range that is not in the context's trees yet, or an
 * ERR_PTR. The caller then calls paccel_host_publish(), and if that fails, or instead of it,
 * paccel_host_discard(). Called without any of the driver's locks.
 */
struct paccel_host *paccel_host_alloc(struct paccel_ctx *ctx, u64 length);
int paccel_host_publish(struct paccel_ctx *ctx, struct paccel_host *host);
void paccel_host_discard(struct paccel_ctx *ctx, struct paccel_host *host);
/* -ENOENT: there is none at @addr, or with this mmap offset. */
int paccel_host_free(struct paccel_ctx *ctx, u64 addr);
int paccel_host_free_own(struct paccel_ctx *ctx, u64 offset);
int paccel_host_validate(struct paccel_host *host, bool write);
void paccel_host_put(struct paccel_host *host);
void paccel_host_end(struct paccel_ctx *ctx);
/* Bytes of all host ranges of the context. */
u64 paccel_host_bytes(struct paccel_ctx *ctx);
int paccel_host_mmap(struct paccel_ctx *ctx, struct vm_area_struct *vma);
/* A counted reference on the driver's own memory that is mapped at @addr, or NULL. */
struct paccel_host *paccel_host_get_own(struct paccel_ctx *ctx, u64 addr);

/* A counted reference on the host range that wholly holds these, or NULL; ctx->lock is held. */
struct paccel_host *paccel_host_get(struct paccel_ctx *ctx, u64 addr, u64 length);

#endif
