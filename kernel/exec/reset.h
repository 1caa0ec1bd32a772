/* SPDX-License-Identifier: GPL-2.0-only */
/* Stopping a card, and starting it again. */
#ifndef PACCEL_RESET_H
#define PACCEL_RESET_H

#include <linux/paccel.h>

struct paccel_device;
struct work_struct;

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

/* All contexts of the card: no work any more. */
void paccel_ctxs_end(struct paccel_device *pd, int error, enum paccel_page_state state);

#endif
