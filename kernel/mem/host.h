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

/* A counted reference on the host range that wholly holds these, or NULL; ctx->lock is held. */
struct paccel_host *paccel_host_get(struct paccel_ctx *ctx, u64 addr, u64 length);

#endif
