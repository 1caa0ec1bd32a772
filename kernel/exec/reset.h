/* SPDX-License-Identifier: GPL-2.0-only */
/* Reset, recovery, suspend and resume of a device. The functions may sleep. */
#ifndef PACCEL_RESET_H
#define PACCEL_RESET_H

#include <linux/paccel.h>

struct paccel_device;
struct work_struct;

/*
 * PACCEL_IOC_RESET: jobs with DMA requests in flight fail with -EIO, queued jobs continue. Returns
 * 0; -EIO: the device is out of service; -ENODEV; -EINTR: a fatal signal. Called without locks of
 * the driver and outside of paccel_enter() sections. Takes up to quiesce_ms and the time of
 * reset().
 */
int paccel_reset(struct paccel_device *pd);
/* Work item pd->recover: resets hung engines, or the device. */
void paccel_recover_work(struct work_struct *work);
/*
 * Quiesces the device until paccel_resume(); jobs wait. Returns 0, or -EIO: the device could not be
 * quiesced and is out of service.
 */
int paccel_suspend(struct paccel_device *pd);
/*
 * Resets the device and runs the jobs. @mem_lost: device memory has lost its contents, even if it
 * survives resets. Returns as paccel_reset().
 */
int paccel_resume(struct paccel_device *pd, bool mem_lost);
/* The PCI core has reported an error: takes the device out of service until a reset. */
void paccel_set_failed(struct paccel_device *pd);
/*
 * Quiesces the device. If that fails, turns bus mastering off. Calls paccel_mark_quiet() if the
 * device is quiesced or absent, or if bus mastering reads back as off and that stops DMA
 * (PACCEL_HW_BM_STOPS); otherwise paccel_is_unsafe() is true from now on. Returns as
 * paccel_quiesce(). pd->reset_lock is held and the engines are held.
 */
int paccel_stop_dma(struct paccel_device *pd);
/*
 * Records that the caller has proven that the device no longer writes host memory:
 * paccel_is_unsafe() is false from now on, and kept imports are released. pd->reset_lock is held,
 * or the device is unbound.
 */
void paccel_mark_quiet(struct paccel_device *pd);

/*
 * Ends all contexts: queued jobs are cancelled, and SUBMIT fails with @error from then on. @state
 * is shown in the completion pages. If @error is -ESTALE, the contexts are marked as lost, their
 * mappings of device memory are zapped, and work that revokes exports is queued. May sleep; does
 * not wait for jobs.
 */
void paccel_ctxs_end(struct paccel_device *pd, int error, enum paccel_page_state state);

#endif
