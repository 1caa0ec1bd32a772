// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reset, recovery, suspend and resume. RESET, a hung request, resume and resets by the PCI core use
 * one sequence: hold the engines, quiesce the device, abort the requests in flight, reset the
 * device, unhold the engines.
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
 * Wakes all waiters. Queued jobs are cancelled by work items, since pd->ctxs_lock is held here, and
 * no lock of the driver may be held while a fence is signalled.
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
	/*
	 * In a work item: revoking waits for other devices, one of which may wait for a reset of
	 * this one.
	 */
	queue_work(paccel_release_wq, &pd->revoke);
}

/*
 * @error: of quiesce(). Returns whether the device does not write host memory any more, because it
 * is absent or bus mastering is off. That its registers read all-ones does not prove that it is
 * absent, since memory space may be off.
 */
static bool device_is_cut_off(struct paccel_device *pd, int error)
{
	int ret = paccel_bus_master(pd->hw.pdev, false);

	if (ret == -ENODEV)
		return error == -ENODEV;
	return !ret && (pd->hw.info.flags & PACCEL_HW_BM_STOPS);
}

int paccel_stop_dma(struct paccel_device *pd)
{
	int ret;

	lockdep_assert_held(&pd->reset_lock);
	ret = paccel_quiesce(&pd->hw);
	if (!ret || device_is_cut_off(pd, ret))
		paccel_mark_quiet(pd);
	else if (!paccel_is_unsafe(pd))
		WRITE_ONCE(pd->unsafe_seq, pd->unsafe_seq + 1);
	return ret;
}

/* The device does not write host memory any more. Memory that has been leaked stays leaked. */
void paccel_mark_quiet(struct paccel_device *pd)
{
	if (paccel_is_unsafe(pd))
		WRITE_ONCE(pd->unsafe_seq, pd->unsafe_seq + 1);
	paccel_import_release_kept();
}

/*
 * Queued jobs must not run on device memory whose contents are lost, and that memory must be
 * scrubbed before it is allocated again.
 */
static void device_lose_contexts(struct paccel_device *pd)
{
	paccel_set_state(pd, PACCEL_MEM_LOST);
	paccel_engines_withdraw(pd, -ESTALE);
	flush_work(&pd->pool->scrub_work);
	paccel_pool_mark_dirty(pd);

	paccel_ctxs_end(pd, -ESTALE, PACCEL_PAGE_LOST);
}

/* The engines are held, and stay held until a reset. */
static void device_take_out_of_service(struct paccel_device *pd, const char *why)
{
	dev_err(&pd->dev, "%s: out of service until RESET\n", why);
	paccel_dump(pd, why);
	paccel_set_state(pd, PACCEL_FAILED);
	paccel_engines_abort(pd, -EIO);
	paccel_engines_withdraw(pd, -EIO);
	paccel_pool_answer(pd);
}

int paccel_quiesce(struct paccel_hw *hw)
{
	return paccel_of_hw(hw)->ops->quiesce(hw, READ_ONCE(paccel_quiesce_ms.value));
}
EXPORT_SYMBOL_PACCEL(paccel_quiesce);

/* Returns 0, or -EIO with the device out of service. The engines are held. */
static int device_quiesce(struct paccel_device *pd)
{
	if (!paccel_stop_dma(pd))
		return 0;
	device_take_out_of_service(pd, "the device does not become idle");
	return -EIO;
}

/* A reset has succeeded. */
static void device_go_on(struct paccel_device *pd)
{
	paccel_set_state(pd, PACCEL_RUNNING);
	queue_work(paccel_wq, &pd->pool->scrub_work);
}

/*
 * @error: error of the jobs in flight; 0: they are repeated, unless device memory is lost.
 * @mem_lost: it is lost, even if it survives resets. @rescrub: quarantined memory is scrubbed
 * again. Returns 0, or -EIO with the device out of service.
 */
static int device_restart(struct paccel_device *pd, int error, bool mem_lost, bool rescrub)
{
	mem_lost = mem_lost || !(pd->hw.info.flags & PACCEL_HW_MEM_SURVIVES);
	paccel_set_state(pd, PACCEL_RESETTING);
	paccel_engines_hold(pd, error);
	if (mem_lost)
		error = -EIO;
	atomic64_inc(&pd->count.resets);
	if (device_quiesce(pd))
		return -EIO;
	paccel_engines_abort(pd, error);
	if (pd->ops->reset(&pd->hw)) {
		device_take_out_of_service(pd, "the device does not come back");
		return -EIO;
	}
	if (mem_lost)
		device_lose_contexts(pd);
	if (rescrub)
		paccel_pool_rescrub(pd);
	device_go_on(pd);
	paccel_engines_unhold(pd);
	return 0;
}

/*
 * RESET. Waits up to quiesce_ms for the device, so the caller holds no lock of the driver and is in
 * no paccel_enter() section.
 */
int paccel_reset(struct paccel_device *pd)
{
	int ret;

	if (mutex_lock_killable(&pd->reset_lock))
		return -EINTR;
	ret = paccel_gone(pd) ? -ENODEV : device_restart(pd, -EIO, false, true);
	mutex_unlock(&pd->reset_lock);
	return ret;
}

/* Resets one engine. On failure the engine is still held. */
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

/* Jobs with a hung request fail, other requests in flight are repeated. */
static void device_recover(struct paccel_device *pd)
{
	unsigned int i;

	for (i = 0; i < pd->hw.info.engines; i++) {
		struct paccel_engine *eng = &pd->engines[i];

		if (!paccel_engine_hung(eng))
			continue;
		dev_warn(&pd->dev, "engine %u: a DMA request timed out or had an invalid completion: resetting %s\n",
			 i, pd->ops->reset_engine ? "the engine" : "the device");
		paccel_dump(pd, "a DMA request timed out or had an invalid completion");
		paccel_set_state(pd, PACCEL_RESETTING);
		if (!engine_restart(eng)) {
			device_go_on(pd);
			continue;
		}
		if (pd->ops->reset_engine)
			dev_warn(&pd->dev, "engine %u does not come back: resetting the device\n",
				 i);
		paccel_dump(pd, pd->ops->reset_engine ? "the engine does not come back" :
							"the device is reset");
		device_restart(pd, 0, false, false);
		return;
	}
}

/*
 * A request hung. Queued jobs run after the recovery, if it succeeds. Fences wait for it, so no
 * memory is allocated under pd->reset_lock. It is not annotated with dma_fence_begin_signalling():
 * lockdep would report a cycle, since eng->work, which is flushed here, has that annotation.
 */
void paccel_recover_work(struct work_struct *work)
{
	struct paccel_device *pd = container_of(work, struct paccel_device, recover);

	guard(mutex)(&pd->reset_lock);
	/* The device may have been reset, or removed, before this ran. */
	if (pd->state != PACCEL_REMOVED)
		device_recover(pd);
}

/*
 * Stops the device until paccel_resume(). Jobs wait. Returns 0, also if the device was out of
 * service before and does not write host memory; it stays as it is then. -EIO: the device could not
 * be quiesced, and is out of service.
 */
int paccel_suspend(struct paccel_device *pd)
{
	guard(mutex)(&pd->reset_lock);
	if (pd->state == PACCEL_FAILED && !paccel_is_unsafe(pd))
		return 0;
	paccel_engines_hold(pd, 0);
	if (device_quiesce(pd))
		return -EIO;
	paccel_engines_abort(pd, 0);
	paccel_set_state(pd, PACCEL_SUSPENDED);
	return 0;
}

int paccel_resume(struct paccel_device *pd, bool mem_lost)
{
	guard(mutex)(&pd->reset_lock);
	/* The PCI core can reset a function after its shutdown, too. */
	return paccel_gone(pd) ? -ENODEV : device_restart(pd, 0, mem_lost, true);
}

/*
 * The PCI core has detected an error: the device is out of service until a reset, which may never
 * come.
 */
void paccel_set_failed(struct paccel_device *pd)
{
	guard(mutex)(&pd->reset_lock);
	paccel_engines_hold(pd, -EIO);
	paccel_stop_dma(pd);
	device_take_out_of_service(pd, "a PCI error");
}
