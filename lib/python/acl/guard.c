// SPDX-License-Identifier: MIT
/*
 * Addresses of host memory are plain numbers in Python: one that is wrong would end the process
 * where acl.util reads it. The kernel is asked first, as libaccel asks before it copies. Between
 * the question and the access another thread may unmap the memory; against that there is nothing.
 */

#include "private.h"

#include <accel/accel.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of Linux 5.14. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* An older kernel knows nothing, and every address is taken as it is. */
static bool kernel_knows(void)
{
	static char here;
	static int knows = -1;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	if (knows < 0)
		knows = !madvise((void *)((uintptr_t)&here & -page), page, MADV_POPULATE_READ);
	return knows;
}

static bool is_mapped(const void *ptr, size_t size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)ptr & -page;
	uintptr_t end = ((uintptr_t)ptr + size + page - 1) & -page;
	int rc;

	if (!kernel_knows())
		return true;
	do
		rc = madvise((void *)first, end - first, MADV_POPULATE_READ);
	while (rc && (errno == EINTR || errno == EAGAIN));
	return !rc;
}

#define NO_ACCESS "address %p: the processor cannot access it"

const char *guard_host(const void *ptr, size_t size)
{
	struct accel_pointer_info info;
	size_t left;

	if (!ptr)
		return "the address is NULL";
	if (!size)
		return NULL;
	if ((uintptr_t)ptr + size - 1 < (uintptr_t)ptr)
		return "address %p: the range wraps";
	if (accel_pointer_get_info(ptr, &info))
		return "address %p is device memory that was freed, or of another process";
	if (info.kind == ACCEL_MEMORY_PAGEABLE)
		return is_mapped(ptr, size) ? NULL : NO_ACCESS;
	/* Also where it is mapped: it would be gone with the device. */
	if (info.kind == ACCEL_MEMORY_DEVICE)
		return "address %p is device memory, which acl.rt.memcpy() copies";
	if (!(info.flags & ACCEL_POINTER_ACCESSIBLE))
		return "address %p stands for memory of another driver";
	/* Memory of the program, which goes on beyond the registration or was unmapped since. */
	if (info.kind == ACCEL_MEMORY_REGISTERED)
		return is_mapped(ptr, size) ? NULL : NO_ACCESS;
	left = info.size - (size_t)((const char *)ptr - (const char *)info.base);
	if (size > left)
		return "address %p: the allocation ends before the range";
	return NULL;
}
