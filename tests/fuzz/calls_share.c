// SPDX-License-Identifier: MIT
/* Calls about dma-bufs and sync_files: ours, other drivers', and those of other processes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/paccel.h>
#include <linux/sync_file.h>
#include <linux/udmabuf.h>

#include "calls.h"

#define SW_SYNC "/sys/kernel/debug/sync/sw_sync"

/* --- paccel -------------------------------------------------------------------- */

static long export(int fd, u32 kind, u64 addr)
{
	struct paccel_mem_export cmd = { .size = sizeof(cmd), .kind = kind, .addr = addr };

	return ioctl(fd, PACCEL_IOC_MEM_EXPORT, &cmd) ? -errno : cmd.fd;
}

/* file, device address; returns a dma-buf */
long call_mem_export(const u64 *a)
{
	return export((int)a[0], PACCEL_EXPORT_DEVICE, a[1]);
}

/* file, host address; returns a dma-buf */
long call_host_export(const u64 *a)
{
	return export((int)a[0], PACCEL_EXPORT_HOST, a[1]);
}

/* file, dma-buf; returns the device address */
long call_mem_import(const u64 *a)
{
	struct paccel_mem_import cmd = { .size = sizeof(cmd), .fd = (int)a[1] };

	return ioctl((int)a[0], PACCEL_IOC_MEM_IMPORT, &cmd) ? -errno : (long)cmd.addr;
}

/* file, dma-buf, length, flags; returns the host address */
long call_host_dmabuf(const u64 *a)
{
	struct paccel_host_register cmd = {
		.size = sizeof(cmd),
		.flags = (u32)a[3] | PACCEL_HOST_DMABUF,
		.addr = (uintptr_t)arena_address(),
		.length = a[2],
		.fd = (int)a[1],
	};

	if (!cmd.addr)
		return -ENOMEM;
	return ioctl((int)a[0], PACCEL_IOC_HOST_REGISTER, &cmd) ? -errno : (long)cmd.addr;
}

/* --- dma-bufs --------------------------------------------------------------------- */

/* dma-buf, length */
long call_map_dmabuf(const u64 *a)
{
	return arena_map(a[1], PROT_READ | PROT_WRITE, MAP_SHARED, (int)a[0], 0);
}

/* dma-buf, flags */
long call_dmabuf_sync(const u64 *a)
{
	struct dma_buf_sync sync = { .flags = a[1] };

	return call_result(ioctl((int)a[0], DMA_BUF_IOCTL_SYNC, &sync));
}

/* dma-buf, flags; returns a sync_file of its implicit fences */
long call_sync_of(const u64 *a)
{
	struct dma_buf_export_sync_file cmd = { .flags = (u32)a[1] };

	return ioctl((int)a[0], DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &cmd) ? -errno : cmd.fd;
}

/* dma-buf, sync_file, flags */
long call_sync_into(const u64 *a)
{
	struct dma_buf_import_sync_file cmd = { .flags = (u32)a[2], .fd = (int)a[1] };

	return call_result(ioctl((int)a[0], DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &cmd));
}

/*
 * The first synchronization of a udmabuf makes its table, without a lock: of two at once one leaks it. So
 * that is done before anything else can have the file.
 */
static int with_table(int fd)
{
	struct dma_buf_sync begin = { .flags = DMA_BUF_SYNC_RW | DMA_BUF_SYNC_START };
	struct dma_buf_sync end = { .flags = DMA_BUF_SYNC_RW | DMA_BUF_SYNC_END };
	int rc = ioctl(fd, DMA_BUF_IOCTL_SYNC, &begin) ? -errno : 0;

	if (rc || ioctl(fd, DMA_BUF_IOCTL_SYNC, &end)) {
		rc = rc ?: -errno;
		close(fd);
		return rc;
	}
	return fd;
}

/* length */
long call_udmabuf(const u64 *a)
{
	struct udmabuf_create create = {
		.memfd = (u32)memfd_create("fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC),
		.flags = UDMABUF_FLAGS_CLOEXEC,
		.size = a[0],
	};
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd = -1;

	errno = 0;
	if (!ftruncate((int)create.memfd, (off_t)a[0]) &&
	    !fcntl((int)create.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		fd = ioctl(dev, UDMABUF_CREATE, &create);
	fd = fd < 0 ? -errno : with_table(fd);
	close(dev);
	close((int)create.memfd);
	return fd;
}

/* length: a heap has no limit, and a larger buffer could be all memory of the machine */
long call_heap(const u64 *a)
{
	struct dma_heap_allocation_data data = { .len = a[0], .fd_flags = O_RDWR | O_CLOEXEC };
	int heap;
	long rc;

	if (data.len > ARENA_SLOT)
		return -ENOMEM;
	heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
	rc = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &data) ? -errno : (int)data.fd;
	close(heap);
	return rc;
}

/* --- sync_files ------------------------------------------------------------------- */

/* sync_file, sync_file */
long call_merge(const u64 *a)
{
	struct sync_merge_data data = { .name = "fuzz", .fd2 = (int)a[1] };

	return ioctl((int)a[0], SYNC_IOC_MERGE, &data) ? -errno : data.fence;
}

/* sync_file */
long call_sync_info(const u64 *a)
{
	struct sync_fence_info fences[4] = { 0 };
	struct sync_file_info info = {
		.num_fences = 4,
		.sync_fence_info = (uintptr_t)fences,
	};

	return call_result(ioctl((int)a[0], SYNC_IOC_FILE_INFO, &info));
}

/* The kernel has no header for sw_sync. */
struct sw_sync_create_fence_data {
	u32 value;
	char name[32];
	int fence;
};

#define SW_SYNC_IOC_CREATE_FENCE _IOWR('W', 0, struct sw_sync_create_fence_data)
#define SW_SYNC_IOC_INC _IOW('W', 1, u32)

long call_timeline(const u64 *a)
{
	(void)a;
	return call_result(open(SW_SYNC, O_RDWR | O_CLOEXEC));
}

bool share_has_timelines(void)
{
	return !access(SW_SYNC, F_OK);
}

/* timeline, value */
long call_timeline_fence(const u64 *a)
{
	struct sw_sync_create_fence_data data = { .value = (u32)a[1], .name = "fuzz" };

	return ioctl((int)a[0], SW_SYNC_IOC_CREATE_FENCE, &data) ? -errno : data.fence;
}

/* timeline, by how much */
long call_timeline_step(const u64 *a)
{
	u32 by = (u32)a[1];

	return call_result(ioctl((int)a[0], SW_SYNC_IOC_INC, &by));
}

/* --- from process to process --------------------------------------------------------- */

static int dmabufs[2], syncs[2];

void share_init(void)
{
	int flags = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

	if (socketpair(AF_UNIX, flags, 0, dmabufs) || socketpair(AF_UNIX, flags, 0, syncs))
		abort();
}

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(sizeof(int))];
};

static long give(int box, int fd)
{
	union control control = { .align = { 0 } };
	char byte = 0;
	struct iovec bytes = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	return call_result((int)sendmsg(box, &message, 0));
}

static long take(int box)
{
	union control control;
	char byte;
	struct iovec bytes = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *head;
	int fd;

	if (recvmsg(box, &message, MSG_CMSG_CLOEXEC) < 0)
		return -errno;
	head = CMSG_FIRSTHDR(&message);
	if (!head)
		return -ENOENT;
	memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

/* dma-buf */
long call_give_dmabuf(const u64 *a)
{
	return give(dmabufs[0], (int)a[0]);
}

long call_take_dmabuf(const u64 *a)
{
	(void)a;
	return take(dmabufs[1]);
}

/* sync_file */
long call_give_sync(const u64 *a)
{
	return give(syncs[0], (int)a[0]);
}

long call_take_sync(const u64 *a)
{
	(void)a;
	return take(syncs[1]);
}
