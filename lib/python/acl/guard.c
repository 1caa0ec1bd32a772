// SPDX-License-Identifier: MIT
/*
 * Addresses of host memory are plain numbers in Python: one that is wrong would end the process
 * where the processor reads or writes it. The kernel is asked first. Between the question and the
 * access another thread may unmap the memory; against that there is nothing.
 */

#include "private.h"

#include <accel/accel.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of Linux 5.14. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

static _Thread_local char message[256];

const char *guard_message(void)
{
	return *message ? message : NULL;
}

void guard_forget(void)
{
	*message = '\0';
}

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

static bool is_mapped(const void *ptr, size_t size, enum guard_access access)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)ptr & -page;
	uintptr_t end = ((uintptr_t)ptr + size + page - 1) & -page;
	int rc;

	if (!kernel_knows())
		return true;
	do
		rc = madvise((void *)first, end - first,
			     access == GUARD_READ ? MADV_POPULATE_READ : MADV_POPULATE_WRITE);
	while (rc && (errno == EINTR || errno == EAGAIN));
	return !rc;
}

const char *guard_host(const void *ptr, size_t size, enum guard_access access)
{
	struct accel_pointer_info info;
	size_t left;

	if (!ptr)
		return "the address is NULL";
	if (!size)
		return NULL;
	if ((uintptr_t)ptr + size - 1 < (uintptr_t)ptr)
		return "address %p: the range wraps";
	if (accel_pointer_info(ptr, &info))
		return "address %p is memory of a card that was freed, or of another process";
	if (info.kind == ACCEL_MEMORY_PAGEABLE)
		return is_mapped(ptr, size, access) ? NULL :
			"address %p: the processor cannot access it";
	/* Also where it is mapped: it would be gone with the card. */
	if (info.kind == ACCEL_MEMORY_DEVICE)
		return "address %p is memory of a card, which acl.rt.memcpy() copies";
	if (!(info.flags & ACCEL_POINTER_ACCESSIBLE))
		return "address %p stands for memory of another driver";
	/* A registration may go on beyond what the library knows. */
	left = info.size - (size_t)((const char *)ptr - (const char *)info.base);
	if (size > left && info.kind != ACCEL_MEMORY_REGISTERED)
		return "address %p: the allocation ends before the range";
	return NULL;
}

static bool is_of_host(const void *ptr)
{
	struct accel_pointer_info info;

	return !accel_pointer_info(ptr, &info) && info.kind != ACCEL_MEMORY_DEVICE;
}

static aclError refuse(const char *call, const char *name, const char *what, const void *ptr)
{
	int length = snprintf(message, sizeof(message), "%s: %s: ", call, name);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(message + length, sizeof(message) - (size_t)length, what, ptr);
#pragma GCC diagnostic pop
	return ACL_ERROR_RT_PARAM_INVALID;
}

/*
 * Between memory of the host the processor copies, and small copies to a card on a stream begin
 * with it. All else the driver does, which knows what is mapped.
 */
aclError guard_copy(const char *call, bool queued, const void *dst, size_t dst_size,
		    const void *src, size_t src_size)
{
	const char *wrong;
	bool to_host;

	/* NULL and no bytes are what the library itself refuses. */
	if (!dst || !src || !dst_size || !src_size)
		return ACL_SUCCESS;
	to_host = is_of_host(dst);
	if ((!to_host && !queued) || !is_of_host(src))
		return ACL_SUCCESS;
	wrong = guard_host(src, src_size, GUARD_READ);
	if (wrong)
		return refuse(call, "src", wrong, src);
	if (!to_host)
		return ACL_SUCCESS;
	wrong = guard_host(dst, dst_size, GUARD_WRITE);
	return wrong ? refuse(call, "dst", wrong, dst) : ACL_SUCCESS;
}
