// SPDX-License-Identifier: GPL-2.0-only
/*
 * References on a context, and its ended jobs that have not released their memory yet. Creation and
 * end of a context: uapi/ctx.c.
 */
#include <linux/freezer.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/compat.h"
#include "core/ctx.h"
#include "core/device.h"

/* Returns 0, or a mark for paccel_ctx_wait_released(). */
u64 paccel_ctx_releasing(struct paccel_ctx *ctx)
{
	u64 mark;

	spin_lock(&ctx->work_lock);
	mark = list_empty(&ctx->releasing) ? 0 : ctx->nr_ended;
	spin_unlock(&ctx->work_lock);
	return mark;
}

static bool ctx_has_released(struct paccel_ctx *ctx, u64 mark)
{
	struct paccel_ended *first;
	bool released;

	spin_lock(&ctx->work_lock);
	first = list_first_entry_or_null(&ctx->releasing, struct paccel_ended, node);
	released = !first || first->nr > mark;
	spin_unlock(&ctx->work_lock);
	return released;
}

/*
 * Does not wait for the device, as the jobs have ended. Returns 0, or -EINTR after a fatal signal.
 */
int paccel_ctx_wait_released(struct paccel_ctx *ctx, u64 mark)
{
	int ret = wait_event_state(ctx->settled, ctx_has_released(ctx, mark),
				   (TASK_KILLABLE | TASK_FREEZABLE));

	return ret ? -EINTR : 0;
}

/* A job has ended, and releases its memory later. ctx->work_lock is held. */
void paccel_ctx_work_ended(struct paccel_ctx *ctx, struct paccel_ended *ended)
{
	ended->nr = ++ctx->nr_ended;
	list_add_tail(&ended->node, &ctx->releasing);
}

/* A job has released its memory, or was dropped before it ended. */
void paccel_ctx_work_released(struct paccel_ctx *ctx, struct paccel_ended *ended)
{
	spin_lock(&ctx->work_lock);
	list_del_init(&ended->node);
	spin_unlock(&ctx->work_lock);
	/* Called for every job; waiters are rare. */
	if (wq_has_sleeper(&ctx->settled))
		wake_up_all(&ctx->settled);
}

static void ctx_free(struct kref *ref)
{
	struct paccel_ctx *ctx = container_of(ref, struct paccel_ctx, ref);
	struct paccel_device *pd = ctx->pd;

	/* Mappings of the completion page have references of their own. */
	free_page((unsigned long)ctx->page);
	kfree(ctx->queues);
	kfree(ctx);
	put_device(&pd->dev);
}

struct paccel_ctx *paccel_ctx_get(struct paccel_ctx *ctx)
{
	kref_get(&ctx->ref);
	return ctx;
}

/* May sleep. */
void paccel_ctx_put(struct paccel_ctx *ctx)
{
	kref_put(&ctx->ref, ctx_free);
}
