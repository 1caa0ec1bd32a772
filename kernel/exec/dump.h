/* SPDX-License-Identifier: GPL-2.0-only */
/* What a card and its engines are at, as text. */
#ifndef PACCEL_DUMP_H
#define PACCEL_DUMP_H

#include "exec/job.h"

struct paccel_device;
struct paccel_engine;
struct seq_buf;
struct work_struct;

/* "ok", "recovering" or "failed". */
const char *paccel_health(struct paccel_device *pd);
const char *paccel_op_name(enum paccel_job_op op);
void paccel_show_engine(struct seq_buf *out, struct paccel_engine *eng);
void paccel_show_queues(struct seq_buf *out, struct paccel_engine *eng);

/* pd->reset_lock is held. */
void paccel_dump(struct paccel_device *pd, const char *why);
void paccel_dump_work(struct work_struct *work);
void paccel_dump_alloc(struct paccel_device *pd);
void paccel_dump_free(struct paccel_device *pd);

#endif
