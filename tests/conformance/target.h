/* SPDX-License-Identifier: MIT */
/*
 * The device under test. target_driver.c is a device of the guest, target_mock.c one of the mock.
 */
#ifndef TARGET_H
#define TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every test runs once on each kind: true while there is another one. */
bool target_next(void);
/* Stands before the names of tests: "edu.", "ring.", or empty where the runner adds the kind. */
const char *target_prefix(void);
/* True if thousands of calls are too many. */
bool target_is_slow(void);
/* A test begins. */
void target_begin(const char *test);
/* A file descriptor or -1, as open(). */
int target_open(int flags);

/* Bytes of device memory that each user can have; 0 for no quota. */
void target_quota(uint64_t bytes);
void target_unplug(void);
void target_plug(void);
/* True if the tests of target_lose(), a reset that loses memory, can run beside the others. */
bool target_loses(void);
/* Before tests of target_lose() alone. */
void target_weaken(void);
void target_lose(void);
/* Transfers fail until further notice. */
void target_fail(bool fail);
/*
 * target_hold(): the next transfer stalls until a RESET and keeps its engine. On edu nothing stalls, but a
 * transfer takes 100 ms. target_wait_held(): waits until the device has begun that transfer and has as many
 * as it takes at once, which are 64 on a ring device: the operation must have more.
 */
void target_hold(void);
void target_wait_held(void);

/* A sync_file of another driver, the only one that is not signalled. */
int target_fence(void);
void target_fence_signal(int fd);

/* A page of another driver as a dma-buf that was opened read-only; or -1. */
int target_read_only_dmabuf(void);

/* For the rest of this process: RLIMIT_MEMLOCK holds; it is no administrator. */
void target_limit_memlock(size_t bytes);
void target_drop_admin(void);

#endif
