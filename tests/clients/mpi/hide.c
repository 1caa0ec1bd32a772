// SPDX-License-Identifier: MIT
/*
 * For LD_PRELOAD: the memory of no device can be mapped, so the processor cannot access it, as on a device that moves
 * data by DMA alone. A transport that takes a device pointer for host memory dies.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/paccel.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *mmap64(void *addr, size_t length, int prot, int flags, int fd, off64_t offset)
{
	if (fd >= 0 && (uint64_t)offset >= PACCEL_MMAP_DEVICE) {
		errno = EPERM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, addr, length, prot, flags, fd, offset);
}
