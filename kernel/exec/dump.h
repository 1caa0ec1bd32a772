/* SPDX-License-Identifier: GPL-2.0-only */
/* State dumps of engines and devices as text, for devcoredump and debugfs. */
#ifndef PACCEL_DUMP_H
#define PACCEL_DUMP_H

#include "exec/job.h"

struct paccel_device;
struct seq_buf;
struct work_struct;

/*
 * Returns "failed" in PACCEL_FAILED; "recovering" in PACCEL_RESETTING and PACCEL_MEM_LOST, or if an
 * engine hangs; else "ok".
 */
const char *paccel_health(struct paccel_device *pd);
/* Returns the name of the operation. */
const char *paccel_op_name(enum paccel_job_op op);
/*
 * Prints the state of the device, its engines and its registers. The device is bound. Takes the
 * lock of each engine.
 */
void paccel_dump_device(struct seq_buf *out, struct paccel_device *pd);

/*
 * Adds the state of the device to pd->dump, if it is empty, else one line with the reason @why, and
 * queues paccel_dump_work(). Does not allocate memory, since fences wait for the recovery.
 * pd->reset_lock is held.
 */
void paccel_dump(struct paccel_device *pd, const char *why);
/* Work item pd->dump_work: passes pd->dump to devcoredump. Takes pd->reset_lock. */
void paccel_dump_work(struct work_struct *work);
/* Allocates the buffer of pd->dump. If that fails, there are no dumps. */
void paccel_dump_alloc(struct paccel_device *pd);
void paccel_dump_free(struct paccel_device *pd);

#endif
