/* SPDX-License-Identifier: MIT */
/*
 * Fences of another driver: sw_sync's where the kernel has it (debug), else vgem's. The
 * latter end by themselves after 10 seconds, and cannot fail.
 */
#ifndef PACCEL_KSELFTEST_FOREIGN_H
#define PACCEL_KSELFTEST_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>

struct foreign {
	int fd;
	bool sw_sync;
	uint32_t handle, last;
	uint32_t reached;	/* of sw_sync's timeline: signalled up to there */
};

/* False if the kernel has neither. */
bool foreign_open(struct foreign *f);
/* A sync_file that is not signalled, the only one of @f that is not; or -errno. */
int foreign_fence(struct foreign *f);
void foreign_signal(struct foreign *f);
/* What was not signalled fails with -ENOENT (sw_sync) or is signalled (vgem). */
void foreign_close(struct foreign *f);

/* A page of vgem as a dma-buf that was opened read-only, or -errno. */
int foreign_read_only_dmabuf(void);

#endif
