// SPDX-License-Identifier: GPL-2.0-only
/*
 * Begin and end of a context: one open file and the process that opened it. A context ends when the
 * file is closed or when that process exits; a forked child that still has the file cannot use it.
 * Its end does not wait for the device, as jobs hold references on the memory that they use.
 */
#include <linux/cred.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "core/ctx.h"
#include "core/device.h"
#include "core/module.h"
#include "exec/engine.h"
#include "exec/job.h"
#include "mem/host.h"
#include "mem/mem.h"
#include "mem/pool.h"
#include "stream/stream.h"
#include "uapi/file.h"

/*
 * Ends all streams and frees all memory of the context. Nothing can be added concurrently: the
 * process has exited or the file is closed. May be called again.
 */
static void ctx_end(struct paccel_ctx *ctx)
{
	paccel_streams_end(ctx, -ECANCELED, PACCEL_PAGE_CLOSED);
	paccel_streams_close(ctx);
	paccel_mem_end(ctx);
	paccel_host_end(ctx);
}

static void ctx_end_work(struct work_struct *work)
{
	ctx_end(container_of(work, struct paccel_ctx, end));
}

/* Called when the process exits, where nothing may block on the device. */
static void ctx_mm_release(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	struct paccel_ctx *ctx = container_of(notifier, struct paccel_ctx, notifier);

	queue_work(paccel_release_wq, &ctx->end);
}

static const struct mmu_notifier_ops ctx_notifier_ops = {
	.release = ctx_mm_release,
};

static atomic64_t last_id;

static struct paccel_ctx *ctx_new(struct paccel_device *pd)
{
	struct paccel_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);

	if (!ctx)
		return NULL;
	ctx->pd = pd;
	ctx->queues = paccel_queues_alloc(ctx);
	if (!ctx->queues) {
		kfree(ctx);
		return NULL;
	}
	ctx->stop = paccel_streams_end;
	ctx->maps = RB_ROOT;
	ctx->hosts = RB_ROOT;
	ctx->cookies = RB_ROOT;
	kref_init(&ctx->ref);
	ctx->id = atomic64_inc_return(&last_id);
	ctx->next_cookie = PACCEL_PAGE_COOKIE + 1;
	mutex_init(&ctx->lock);
	spin_lock_init(&ctx->work_lock);
	init_waitqueue_head(&ctx->wait);
	init_waitqueue_head(&ctx->settled);
	INIT_LIST_HEAD(&ctx->releasing);
	INIT_LIST_HEAD(&ctx->node);
	INIT_WORK(&ctx->end, ctx_end_work);
	INIT_WORK(&ctx->release, paccel_ctx_release_jobs);
	return ctx;
}

/*
 * Creates a context of the calling process, or returns an ERR_PTR. The caller holds a reference on
 * @pd.
 */
struct paccel_ctx *paccel_ctx_open(struct paccel_device *pd)
{
	struct paccel_ctx *ctx = ctx_new(pd);
	int ret = -ENOMEM;

	if (!ctx)
		return ERR_PTR(-ENOMEM);
	ctx->user = paccel_user_get(pd, current_uid());
	if (!ctx->user)
		goto free_ctx;
	ctx->mm = current->mm;
	ctx->notifier.ops = &ctx_notifier_ops;
	ret = mmu_notifier_register(&ctx->notifier, ctx->mm);
	if (ret) {
		ret = paccel_restart_on_eintr(ret);
		goto put_user;
	}
	mmgrab(ctx->mm);
	get_device(&pd->dev);
	mutex_lock(&pd->ctxs_lock);
	list_add(&ctx->node, &pd->ctxs);
	mutex_unlock(&pd->ctxs_lock);
	return ctx;

put_user:
	paccel_user_put(pd, ctx->user);
free_ctx:
	kfree(ctx->queues);
	kfree(ctx);
	return ERR_PTR(ret);
}

/* Called when the last reference on the file is dropped. */
void paccel_ctx_close(struct paccel_ctx *ctx)
{
	struct paccel_device *pd = ctx->pd;

	mutex_lock(&pd->ctxs_lock);
	list_del(&ctx->node);
	mutex_unlock(&pd->ctxs_lock);
	ctx_end(ctx);
	/*
	 * Calls ctx_mm_release() if the process has not exited. Afterwards it is not called any
	 * more.
	 */
	mmu_notifier_unregister(&ctx->notifier, ctx->mm);
	cancel_work_sync(&ctx->end);
	paccel_user_put(pd, ctx->user);
	mmdrop(ctx->mm);
	paccel_ctx_put(ctx);
}
