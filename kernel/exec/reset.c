// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stopping and restarting a card. RESET, a hung transfer, resume and the PCI core's resets are
 * one path: hold the engines, prove that the card is quiet, take back what it had in hand, make
 * it ready, go on.
 */
#include <linux/pci.h>

#include "core/compat.h"
#include "core/ctx.h"
#include "core/device.h"
#include "core/module.h"
#include "exec/dump.h"
#include "exec/engine.h"
#include "exec/reset.h"
#include "include/paccel.h"
#include "mem/import.h"
#include "mem/map.h"
#include "mem/pool.h"

/*
 * Wakes everybody who waits. What was queued is cancelled by workers: the lock of the list is
 * held here, and none of ours may be where a fence is signalled.
 */
void paccel_ctxs_end(struct paccel_device *pd, int error, enum paccel_page_state state)
{
	struct paccel_ctx *ctx;

	mutex_lock(&pd->ctxs_lock);
	list_for_each_entry(ctx, &pd->ctxs, node) {
		if (error == -ESTALE)
			WRITE_ONCE(ctx->lost, true);
		ctx->stop(ctx, error, state);
	}
	mutex_unlock(&pd->ctxs_lock);
	if (error != -ESTALE)
		return;
	paccel_map_zap_all(pd);
	/* Waits for other cards, and one of those may be waiting for a reset, too. */
	queue_work(paccel_release_wq, &pd->revoke);
}

/*
 * The card could not be proven quiet. Where bus mastering stops it, that is the proof, and so is
 * that it has been pulled out, which configuration space tells better than a register; elsewhere
 * what it might write is never given back.
 */
void paccel_mark_unsafe(struct paccel_device *pd)
{
	lockdep_assert_held(&pd->reset_lock);
	pci_clear_master(pd->hw.pdev);
	if ((pd->hw.info.flags & PACCEL_HW_BM_STOPS) || !pci_device_is_present(pd->hw.pdev)) {
		paccel_mark_quiet(pd);
		return;
	}
	if (!paccel_is_unsafe(pd))
		WRITE_ONCE(pd->unsafe_seq, pd->unsafe_seq + 1);
}

/* It writes nothing any more. What has been lost until now stays lost. */
void paccel_mark_quiet(struct paccel_device *pd)
{
	if (paccel_is_unsafe(pd))
		WRITE_ONCE(pd->unsafe_seq, pd->unsafe_seq + 1);
	paccel_import_release_kept();
}

/* What waits must not run on memory that holds something else now; nor may anybody be given it. */
static void device_lose_contexts(struct paccel_device *pd)
{
	paccel_set_state(pd, PACCEL_MEM_LOST);
	paccel_engines_withdraw(pd, -ESTALE);
	flush_work(&pd->pool->scrub_work);
	paccel_pool_mark_dirty(pd);

	paccel_ctxs_end(pd, -ESTALE, PACCEL_PAGE_LOST);
}

/* @quiet: the card is proven to write nothing. The engines are held, and stay so until a reset. */
static void device_take_out_of_service(struct paccel_device *pd, bool quiet, const char *why)
{
	dev_err(&pd->dev, "%s: out of service until RESET\n", why);
	paccel_dump(pd, why);
	if (!quiet)
		paccel_mark_unsafe(pd);
	paccel_set_state(pd, PACCEL_FAILED);
	paccel_engines_abort(pd, -EIO);
	paccel_engines_withdraw(pd, -EIO);
	paccel_pool_answer(pd);
}

int paccel_quiesce(struct paccel_hw *hw)
{
	return paccel_of_hw(hw)->ops->quiesce(hw, READ_ONCE(paccel_quiesce_ms));
}
EXPORT_SYMBOL_PACCEL(paccel_quiesce);

/*
 * @error: of what runs, or 0: it is done again, unless device memory is lost. @mem_lost: it is,
 * even if it survives resets. Returns 0, or -EIO with the card out of service.
 */
static int device_restart(struct paccel_device *pd, int error, bool mem_lost)
{
	mem_lost = mem_lost || !(pd->hw.info.flags & PACCEL_HW_MEM_SURVIVES);
	paccel_set_state(pd, PACCEL_RESETTING);
	paccel_engines_hold(pd, error);
	if (mem_lost)
		error = -EIO;
	atomic64_inc(&pd->count.resets);
	if (paccel_quiesce(&pd->hw)) {
		device_take_out_of_service(pd, false, "the card does not become idle");
		return -EIO;
	}
	paccel_mark_quiet(pd);
	paccel_engines_abort(pd, error);
	if (pd->ops->reset(&pd->hw)) {
		device_take_out_of_service(pd, true, "the card does not come back");
		return -EIO;
	}
	if (mem_lost)
		device_lose_contexts(pd);
	paccel_set_state(pd, PACCEL_RUNNING);
	paccel_engines_unhold(pd);
	queue_work(paccel_wq, &pd->pool->scrub_work);
	return 0;
}

static int device_restart_and_rescrub(struct paccel_device *pd, int error, bool mem_lost)
{
	int ret = device_restart(pd, error, mem_lost);

	if (!ret)
		paccel_pool_rescrub(pd);
	return ret;
}

/* RESET. Waits for the card, quiesce_ms at most: no lock, no paccel_enter(). */
int paccel_reset(struct paccel_device *pd)
{
	int ret;

	if (mutex_lock_killable(&pd->reset_lock))
		return -EINTR;
	ret = paccel_gone(pd) ? -ENODEV : device_restart_and_rescrub(pd, -EIO, false);
	mutex_unlock(&pd->reset_lock);
	return ret;
}

/* The engine alone: 0 if that has helped, else it is still held. */
static int engine_restart(struct paccel_engine *eng)
{
	int ret = -EOPNOTSUPP;

	paccel_engine_hold(eng, 0);
	if (eng->pd->ops->reset_engine)
		ret = eng->pd->ops->reset_engine(&eng->pd->hw, eng->id);
	if (ret)
		return ret;
	atomic64_inc(&eng->pd->count.engine_resets);
	paccel_engine_abort(eng, 0);
	paccel_engine_unhold(eng);
	return 0;
}

/* What hung ends, what others have in flight is done again. */
static void device_recover(struct paccel_device *pd)
{
	unsigned int i;

	for (i = 0; i < pd->hw.info.engines; i++) {
		struct paccel_engine *eng = &pd->engines[i];

		if (!paccel_engine_hung(eng))
			continue;
		dev_warn(&pd->dev, "engine %u: a transfer did not end as it should: restarting %s\n",
			 i, pd->ops->reset_engine ? "the engine" : "the card");
		paccel_dump(pd, "a transfer did not end as it should");
		paccel_set_state(pd, PACCEL_RESETTING);
		if (!engine_restart(eng)) {
			paccel_set_state(pd, PACCEL_RUNNING);
			continue;
		}
		if (pd->ops->reset_engine)
			dev_warn(&pd->dev, "engine %u does not come back: restarting the card\n",
				 i);
		paccel_dump(pd, pd->ops->reset_engine ? "the engine does not come back" :
							"the card is restarted");
		device_restart(pd, 0, false);
		return;
	}
}

/*
 * A transfer hung. What waits goes on afterwards, if the card can be restarted. Fences wait for
 * this, so no memory is allocated under pd->reset_lock; dma_fence_begin_signalling() cannot say so,
 * for it takes the flush of an engine's work, which says it of itself, for a cycle.
 */
void paccel_recover_work(struct work_struct *work)
{
	struct paccel_device *pd = container_of(work, struct paccel_device, recover);

	guard(mutex)(&pd->reset_lock);
	/* A reset may have come first. */
	if (pd->state != PACCEL_REMOVED)
		device_recover(pd);
}

/*
 * Stops the device until paccel_resume(). Jobs wait. Returns 0; also if the device was out of
 * service before and cannot write: that is all there is to do. -EIO: it cannot be stopped, and is
 * out of service.
 */
int paccel_suspend(struct paccel_device *pd)
{
	guard(mutex)(&pd->reset_lock);
	if (pd->state == PACCEL_FAILED && !paccel_is_unsafe(pd))
		return 0;
	paccel_engines_hold(pd, 0);
	if (paccel_quiesce(&pd->hw)) {
		device_take_out_of_service(pd, false, "the card does not become idle");
		return -EIO;
	}
	paccel_engines_abort(pd, 0);
	paccel_set_state(pd, PACCEL_SUSPENDED);
	return 0;
}

int paccel_resume(struct paccel_device *pd, bool mem_lost)
{
	guard(mutex)(&pd->reset_lock);
	/* After a shutdown as well the PCI core can be asked to reset the function. */
	return paccel_gone(pd) ? -ENODEV : device_restart_and_rescrub(pd, 0, mem_lost);
}

/* The PCI core has found an error: nothing runs until a reset, which may never come. */
void paccel_set_failed(struct paccel_device *pd)
{
	guard(mutex)(&pd->reset_lock);
	paccel_engines_hold(pd, -EIO);
	device_take_out_of_service(pd, !paccel_quiesce(&pd->hw), "a PCI error");
}
