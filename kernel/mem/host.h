/* SPDX-License-Identifier: GPL-2.0-only */
/* Host ranges of a context: registered memory, registered dma-bufs, and HOST_ALLOC memory. */
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
struct cred;
struct vm_area_struct;

#define PACCEL_MAX_HOST_BYTES	SZ_4G	/* of one range */
#define PACCEL_MAX_HOST_RANGES	65536	/* of one context */

/**
 * struct paccel_host - a host range
 * @ref: held by the context's trees and by jobs; for HOST_ALLOC memory also by its user mapping, by
 *	its dma-bufs and by host ranges that import those
 * @addr: node in ctx->hosts once the range has a user address; under ctx->lock
 * @cookie: HOST_ALLOC memory: node in ctx->cookies by mmap() offset in pages; under ctx->lock
 * @pages: the pages
 * @lender: PACCEL_PAGES_LENT: the range that owns @pages, a counted reference; else NULL
 * @mm: address space of the range, charged for the pages; an mmgrab() reference
 * @charged: pages charged to @mm, and to the user of @payer if there is one
 * @payer: HOST_ALLOC memory: credentials with the user that is charged, else NULL. They hold the
 *	user: free_uid() is not exported by older releases of 6.1
 * @notifier: watches registered memory of the process
 * @watched: @notifier is inserted
 * @own: HOST_ALLOC memory, in ctx->cookies
 * @read_only: the device must not write to the range
 * @placed: @addr is in ctx->hosts; under ctx->lock
 * @dead: the range was unmapped or its pages were replaced: new jobs fail with -EFAULT. Set at any
 *	time, never cleared
 * @lock: protects @changes and the notifier's sequence number; a leaf lock
 * @changes: number of notifications that pages may have been replaced; under @lock
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
	const struct cred *payer;
	struct mmu_interval_notifier notifier;
	bool watched;
	bool own;
	bool read_only;
	bool placed;
	bool dead;
	spinlock_t lock;		/* see above */
	unsigned int changes;
	unsigned int checked;
};

/*
 * All functions may sleep, and are called without locks of the driver unless stated otherwise.
 *
 * Construction of ranges. paccel_host_new() returns a range that is counted for the context and in
 * none of its trees, or an ERR_PTR. paccel_host_charge() charges the process for @pages; @own: the
 * user, too. paccel_host_place() inserts the range into ctx->hosts. A range that is not inserted is
 * passed to paccel_host_discard().
 */
struct paccel_host *paccel_host_new(struct paccel_ctx *ctx, u64 addr, u64 length, bool read_only);
int paccel_host_charge(struct paccel_ctx *ctx, struct paccel_host *host, unsigned long pages,
		       bool own);
int paccel_host_place(struct paccel_ctx *ctx, struct paccel_host *host);

/* Registers the caller's own memory: @length bytes at @addr. */
int paccel_host_register(struct paccel_ctx *ctx, u64 addr, u64 length, bool read_only);
/*
 * HOST_ALLOC. Returns a range that is not in the context's trees yet, or an ERR_PTR. The caller
 * then calls paccel_host_publish(), and if that fails, or instead of it, paccel_host_discard().
 */
struct paccel_host *paccel_host_alloc(struct paccel_ctx *ctx, u64 length);
int paccel_host_publish(struct paccel_ctx *ctx, struct paccel_host *host);
void paccel_host_discard(struct paccel_ctx *ctx, struct paccel_host *host);
/*
 * Remove the range that begins at @addr, or HOST_ALLOC memory by its mmap() offset in bytes. Jobs
 * that use it go on. Return 0; -ENOENT: no such range.
 */
int paccel_host_free(struct paccel_ctx *ctx, u64 addr);
int paccel_host_free_own(struct paccel_ctx *ctx, u64 offset);
/*
 * Returns 0 if a new job may use the range, for @write access; -EFAULT if not; -ENOMEM or -EINTR if
 * that could not be determined. Called by the process that opened the context. May pin user memory
 * to compare it, and sleep for as long as user space delays the page faults.
 */
int paccel_host_validate(struct paccel_host *host, bool write);
/* Drops a reference. mmap_lock may be held for HOST_ALLOC memory. */
void paccel_host_put(struct paccel_host *host);
/* The context has ended: removes all its ranges. */
void paccel_host_end(struct paccel_ctx *ctx);
/* Maps HOST_ALLOC memory, once. mmap_lock is held for writing. Returns 0 or the error of mmap(). */
int paccel_host_mmap(struct paccel_ctx *ctx, struct vm_area_struct *vma);
/* Returns a counted reference on the HOST_ALLOC memory that is mapped from @addr on, or NULL. */
struct paccel_host *paccel_host_get_own(struct paccel_ctx *ctx, u64 addr);

/* Returns a counted reference on the range that contains the bytes, or NULL. ctx->lock is held. */
struct paccel_host *paccel_host_get(struct paccel_ctx *ctx, u64 addr, u64 length);

#endif
