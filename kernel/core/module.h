/* SPDX-License-Identifier: GPL-2.0-only */
/* What belongs to the module and not to one device: its parameters and workqueues. */
#ifndef PACCEL_MODULE_H
#define PACCEL_MODULE_H

#include <linux/types.h>
#include <linux/workqueue.h>

extern bool paccel_scrub;
extern bool paccel_verify;
extern unsigned int paccel_watchdog_ms;
extern unsigned int paccel_quiesce_ms;

enum paccel_p2p {
	PACCEL_P2P_AUTO,
	PACCEL_P2P_FORCE,
	PACCEL_P2P_OFF,
};

extern enum paccel_p2p paccel_p2p;

/* Runs engines; nothing on it waits for user space, for memory or for a reset. */
extern struct workqueue_struct *paccel_wq;
/*
 * Runs streams and notifies of the end of their jobs. How long that takes, and how much of it there
 * is, programs decide: code that ends a DMA request never waits for this queue.
 */
extern struct workqueue_struct *paccel_stream_wq;
/* Resets engines and cards that hang; waits for work of paccel_wq. */
extern struct workqueue_struct *paccel_recovery_wq;
/*
 * For work that unpins pages, unmaps DMA and frees memory; and for work that revokes exports, which
 * waits for DMA requests of importers. Code that ends a DMA request never waits for this queue.
 */
extern struct workqueue_struct *paccel_release_wq;

#endif
