// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest_ram.h"

/* From this size on q35 keeps 2 GiB below 4 GiB and puts the rest above; see hw/i386/pc_q35.c. */
#define Q35_LIMIT	(0xb0000000ull)
#define Q35_LOW		(0x80000000ull)

static uint64_t low_part(const struct guest_ram *file, uint64_t size)
{
	uint64_t low = file->low;

	if (!low)
		low = size >= Q35_LIMIT ? Q35_LOW : size;
	return low < size ? low : size;
}

static bool map(struct guest_ram *file, int fd)
{
	struct stat status;
	void *base;

	if (fstat(fd, &status))
		return false;
	base = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (base == MAP_FAILED)
		return false;
	file->ram.base = base;
	file->ram.size = (uint64_t)status.st_size;
	file->ram.low = low_part(file, file->ram.size);
	file->ram.start = file->start;
	return true;
}

static bool open_and_map(struct guest_ram *file)
{
	int fd = file->path ? open(file->path, O_RDWR | O_CLOEXEC) : file->fd;
	bool mapped = fd >= 0 && map(file, fd);

	if (!mapped)
		fprintf(stderr, "ringdev: RAM of the guest, %s: %s\n",
			file->path ? file->path : "inherited", strerror(errno));
	if (file->path && fd >= 0)
		close(fd);
	return mapped;
}

const struct ring_ram *guest_ram_get(struct guest_ram *file)
{
	if (!file->users && !open_and_map(file))
		return NULL;
	file->users++;
	return &file->ram;
}

void guest_ram_put(struct guest_ram *file)
{
	if (--file->users)
		return;
	munmap(file->ram.base, file->ram.size);
	memset(&file->ram, 0, sizeof(file->ram));
}
