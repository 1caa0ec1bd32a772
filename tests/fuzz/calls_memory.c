// SPDX-License-Identifier: MIT
/* Calls about device memory, host memory and copies. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <linux/paccel.h>

#include "calls.h"

/* file */
long call_device_info(const u64 *a)
{
	struct paccel_device_info cmd = { .size = sizeof(cmd) };

	return call_result(ioctl((int)a[0], PACCEL_IOC_DEVICE_INFO, &cmd));
}

/* file, flags, length, alignment */
long call_mem_alloc(const u64 *a)
{
	struct paccel_mem_alloc cmd = {
		.size = sizeof(cmd),
		.flags = (u32)a[1],
		.length = a[2],
		.align = a[3],
	};

	return ioctl((int)a[0], PACCEL_IOC_MEM_ALLOC, &cmd) ? -errno : (long)cmd.addr;
}

/* file, address, length */
long call_mem_free(const u64 *a)
{
	struct paccel_mem_free cmd = { .size = sizeof(cmd), .addr = a[1], .length = a[2] };

	return call_result(ioctl((int)a[0], PACCEL_IOC_MEM_FREE, &cmd));
}

/* file */
long call_mem_stats(const u64 *a)
{
	struct paccel_mem_stats cmd = { .size = sizeof(cmd) };

	return call_result(ioctl((int)a[0], PACCEL_IOC_MEM_STATS, &cmd));
}

/* file, length; returns the offset */
long call_host_alloc(const u64 *a)
{
	struct paccel_host_alloc cmd = { .size = sizeof(cmd), .length = a[1] };

	return ioctl((int)a[0], PACCEL_IOC_HOST_ALLOC, &cmd) ? -errno : (long)cmd.offset;
}

/* file, offset, length */
long call_host_map(const u64 *a)
{
	return arena_map(a[2], PROT_READ | PROT_WRITE, MAP_SHARED, (int)a[0], a[1]);
}

/* file, address, length, flags; returns the address */
long call_host_register(const u64 *a)
{
	struct paccel_host_register cmd = {
		.size = sizeof(cmd),
		.flags = (u32)a[3],
		.addr = a[1],
		.length = a[2],
	};

	return ioctl((int)a[0], PACCEL_IOC_HOST_REGISTER, &cmd) ? -errno : (long)a[1];
}

/* file, address */
long call_host_free(const u64 *a)
{
	struct paccel_host_free cmd = { .size = sizeof(cmd), .addr = a[1] };

	return call_result(ioctl((int)a[0], PACCEL_IOC_HOST_FREE, &cmd));
}

/* file, offset */
long call_host_free_offset(const u64 *a)
{
	struct paccel_host_free cmd = { .size = sizeof(cmd), .offset = a[1] };

	return call_result(ioctl((int)a[0], PACCEL_IOC_HOST_FREE, &cmd));
}

/* file, to the host, device address, host address, width, rows, pitch, flags */
long call_copy(const u64 *a)
{
	struct paccel_copy cmd = {
		.size = sizeof(cmd),
		.flags = (u32)a[7],
		.dir = a[1] ? PACCEL_COPY_D2H : PACCEL_COPY_H2D,
		.dst = a[1] ? a[3] : a[2],
		.src = a[1] ? a[2] : a[3],
		.width = a[4],
		.rows = a[5],
		.dst_pitch = a[6],
		.src_pitch = a[6],
	};

	return call_result(ioctl((int)a[0], PACCEL_IOC_COPY, &cmd));
}

/* file, destination, offset of the source in it, source, width, rows, pitch, flags */
long call_copy_inside(const u64 *a)
{
	struct paccel_copy cmd = {
		.size = sizeof(cmd),
		.flags = (u32)a[7],
		.dir = PACCEL_COPY_D2D,
		.dst = a[1],
		.src = a[3] + a[2],
		.width = a[4],
		.rows = a[5],
		.dst_pitch = a[6],
		.src_pitch = a[6],
	};

	return call_result(ioctl((int)a[0], PACCEL_IOC_COPY, &cmd));
}

/* file, address, length, pattern, size of the pattern, flags */
long call_fill(const u64 *a)
{
	struct paccel_fill cmd = {
		.size = sizeof(cmd),
		.flags = (u32)a[5],
		.addr = a[1],
		.length = a[2],
		.pattern = a[3],
		.pattern_size = (u32)a[4],
	};

	return call_result(ioctl((int)a[0], PACCEL_IOC_FILL, &cmd));
}

/* file, address, length */
long call_map_device(const u64 *a)
{
	return arena_map(a[2], PROT_READ | PROT_WRITE, MAP_SHARED, (int)a[0],
			 PACCEL_MMAP_DEVICE + a[1]);
}

/* file */
long call_reset(const u64 *a)
{
	struct paccel_reset cmd = { .size = sizeof(cmd) };

	return call_result(ioctl((int)a[0], PACCEL_IOC_RESET, &cmd));
}

/* file, number, size, offset, value: any command, with a struct that is 0 but for one word */
long call_command(const u64 *a)
{
	u64 words[1024] = { 0 };

	words[a[3] / 8 % 1024] = a[4];
	memcpy(words, &(u32){ (u32)a[2] }, sizeof(u32));
	return call_result(ioctl((int)a[0], _IO(PACCEL_IOC_TYPE, a[1] & 0xff), words));
}
