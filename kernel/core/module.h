/* SPDX-License-Identifier: GPL-2.0-only */
/* Module parameters and workqueues. */
#ifndef PACCEL_MODULE_H
#define PACCEL_MODULE_H

#include <linux/types.h>
#include <linux/workqueue.h>

/* A parameter of milliseconds, with its limits. */
struct paccel_ms {
	unsigned int value;
	unsigned int min;
	unsigned int max;
};

/*
 * Module parameters, see Documentation/ABI/testing/module-paccel. paccel_scrub and paccel_p2p are
 * set at load time only; the others can change at any time and are read with READ_ONCE().
 */
extern bool paccel_scrub;		/* fill freed device memory with 0 */
extern bool paccel_verify;		/* verify all operations for which it is supported */
extern struct paccel_ms paccel_watchdog_ms;	/* limit of one DMA request */
extern struct paccel_ms paccel_quiesce_ms;	/* limit of paccel_hw_ops.quiesce() */

enum paccel_p2p {
	PACCEL_P2P_AUTO,	/* as pci_p2pdma_distance() decides */
	PACCEL_P2P_FORCE,	/* allowed between all devices */
	PACCEL_P2P_OFF,
};

extern enum paccel_p2p paccel_p2p;	/* which devices may access device memory in a BAR */

/* Runs engines. No work on it waits for user space, for memory or for a reset. */
extern struct workqueue_struct *paccel_wq;
/*
 * Runs streams and notifies of jobs that have ended, for as long as the eventfds and fences of
 * applications take. Code that ends a DMA request never waits for this queue.
 */
extern struct workqueue_struct *paccel_stream_wq;
/* Resets engines and devices that hang. Its work waits for work on paccel_wq. */
extern struct workqueue_struct *paccel_recovery_wq;
/*
 * Runs work that unpins pages, unmaps DMA and frees memory, and work that revokes exports, which
 * waits for DMA requests of importers. Code that ends a DMA request never waits for this queue.
 */
extern struct workqueue_struct *paccel_release_wq;

#endif
