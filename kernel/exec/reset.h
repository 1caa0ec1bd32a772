/* SPDX-License-Identifier: GPL-2.0-only */
/* Stopping a card, and starting it again. */
#ifndef PACCEL_RESET_H
#define PACCEL_RESET_H

#include <linux/paccel.h>

struct paccel_device;
struct work_struct;

int paccel_reset(struct paccel_device *pd);
void paccel_recover_work(struct work_struct *work);
int paccel_suspend(struct paccel_device *pd);
int paccel_resume(struct paccel_device *pd, bool mem_lost);
void paccel_set_failed(struct paccel_device *pd);
/*
 * The device could not be quiesced: clears bus mastering, and makes paccel_is_unsafe() true, unless
 * that or the absence of the device proves that it no longer writes host memory. pd->reset_lock is
 * held.
 */
void paccel_mark_unsafe(struct paccel_device *pd);
/* The device provably no longer writes host memory; releases kept imports. */
void paccel_mark_quiet(struct paccel_device *pd);

/*
 * Cancels the work of all contexts; SUBMIT fails with @error from then on. -ESTALE: device memory
 * was lost, so its user mappings are zapped and its exports are revoked as well.
 */
void paccel_ctxs_end(struct paccel_device *pd, int error, enum paccel_page_state state);

#endif
