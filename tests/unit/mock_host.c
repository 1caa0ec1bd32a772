/* SPDX-License-Identifier: MIT */
/* The mock: host memory that the cards reach, and maps of files. */
#define _GNU_SOURCE
#include "mock_private.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t last_offset;

void drop_host(struct host *host)
{
	struct host dropped = *host;

	*host = (struct host){ .memfd = -1 };
	if (dropped.memfd >= 0)
		plain_close(dropped.memfd);
	if (dropped.peer)
		let_go(dropped.peer, dropped.peer_addr, dropped.length);
}

static uint64_t locked_bytes(void)
{
	uint64_t bytes = 0;

	for (int i = 0; i < FILES; i++)
		for (int j = 0; files[i].used && j < MOCK_HOST_RANGES; j++)
			if (files[i].hosts[j].live && !files[i].hosts[j].peer)
				bytes += (files[i].hosts[j].length + PAGE - 1) / PAGE * PAGE;
	return bytes;
}

/* Nobody pays for another card's memory. */
static int new_host(struct file *file, uint64_t length, bool charged, struct host **host)
{
	struct rlimit limit;

	if (!length || length > MOCK_HOST_MAX)
		return EINVAL;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (charged && locked_bytes() + (length + PAGE - 1) / PAGE * PAGE > limit.rlim_cur)
		return ENOMEM;
	for (int i = 0; i < MOCK_HOST_RANGES; i++) {
		if (file->hosts[i].live)
			continue;
		*host = &file->hosts[i];
		**host = (struct host){ .length = length, .memfd = -1 };
		return 0;
	}
	return ENOSPC;
}

int do_host_alloc(struct file *file, struct paccel_host_alloc *cmd)
{
	struct host *host;
	int err = cmd->flags ? EINVAL : new_host(file, cmd->length, true, &host);

	if (err)
		return err;
	host->memfd = memfd_create("host", MFD_CLOEXEC);
	if (host->memfd < 0 ||
	    ftruncate(host->memfd, (off_t)((cmd->length + PAGE - 1) / PAGE * PAGE)))
		return ENOMEM;
	host->live = true;
	host->offset = cmd->offset = last_offset += 1ull << 44;
	return 0;
}

static bool host_overlaps(const struct file *file, uint64_t addr, uint64_t length)
{
	for (int i = 0; i < MOCK_HOST_RANGES; i++) {
		const struct host *host = &file->hosts[i];

		if (host->live && host->addr && addr < host->addr + host->length &&
		    host->addr < addr + length)
			return true;
	}
	return false;
}

/* Touches one byte of each page, as pinning would. */
static bool can_pin(uint64_t addr, uint64_t length, bool write)
{
	uint64_t at = addr;
	uint8_t byte;

	while (at < addr + length) {
		if (!access_host(at, &byte, 1, false) ||
		    (write && !access_host(at, &byte, 1, true)))
			return false;
		at = (at / PAGE + 1) * PAGE;
	}
	return true;
}

int do_host_register(struct file *file, const struct paccel_host_register *cmd)
{
	struct shared shared = { .fd = -1 };
	struct host *host;
	int err;

	bool dmabuf = cmd->flags & PACCEL_HOST_DMABUF;
	bool read_only = cmd->flags & PACCEL_HOST_READ_ONLY;

	if (cmd->flags & ~(PACCEL_HOST_READ_ONLY | PACCEL_HOST_DMABUF) || cmd->reserved ||
	    (!dmabuf && cmd->fd) || cmd->addr + cmd->length < cmd->addr)
		return EINVAL;
	if (host_overlaps(file, cmd->addr, cmd->length))
		return EEXIST;
	err = dmabuf ? dmabuf_memory(file->card, cmd->fd, cmd->length, !read_only, &shared) : 0;
	if (err)
		return err;
	err = new_host(file, cmd->length, !shared.peer, &host);
	if (err) {
		if (shared.fd >= 0)
			plain_close(shared.fd);
		return err;
	}
	if (!dmabuf && !can_pin(cmd->addr, cmd->length, !read_only))
		return EFAULT;
	host->addr = cmd->addr;
	host->memfd = shared.fd;
	host->fd_addr = cmd->addr - shared.at;
	host->peer = shared.peer;
	host->peer_addr = shared.peer_addr;
	host->read_only = read_only;
	host->live = true;
	return 0;
}

int do_host_free(struct file *file, const struct paccel_host_free *cmd)
{
	if (cmd->flags || !cmd->addr == !cmd->offset)
		return EINVAL;
	for (int i = 0; i < MOCK_HOST_RANGES; i++) {
		struct host *host = &file->hosts[i];

		if (!host->live ||
		    (cmd->addr ? host->addr != cmd->addr : host->offset != cmd->offset))
			continue;
		drop_host(host);
		return 0;
	}
	return ENOENT;
}

static struct host *host_by_offset(int fd, uint64_t offset)
{
	for (int i = 0; i < FILES; i++)
		for (int j = 0; files[i].used && files[i].fd == fd && j < MOCK_HOST_RANGES; j++)
			if (files[i].hosts[j].live && files[i].hosts[j].offset == offset)
				return &files[i].hosts[j];
	return NULL;
}

/* All of it, which is what the library maps. */
static int map_device(const struct file *file, uint64_t offset, size_t length, int flags)
{
	if (!file->card->mappable)
		return -EOPNOTSUPP;
	if (offset != PACCEL_MMAP_DEVICE + MOCK_BASE || length != file->card->size ||
	    !(flags & MAP_SHARED))
		return -EINVAL;
	return file->card->memfd;
}

int mock_sys_map(int fd, uint64_t offset, size_t length, int flags)
{
	struct host *host;
	int rc;

	pthread_mutex_lock(&lock);
	host = host_by_offset(fd, offset);
	if (offset >= PACCEL_MMAP_DEVICE)
		rc = map_device(file_at(fd), offset, length, flags);
	else if (offset == MOCK_PAGE_OFFSET)
		rc = length == PAGE && flags & MAP_SHARED ? file_at(fd)->page_fd : -EINVAL;
	else if (!host || !offset || length != (host->length + PAGE - 1) / PAGE * PAGE ||
	    !(flags & MAP_SHARED))
		rc = -EINVAL;
	else
		rc = host->addr ? -EBUSY : host->memfd;
	pthread_mutex_unlock(&lock);
	return rc;
}

int mock_sys_mapped(int fd, uint64_t offset, void *addr)
{
	pthread_mutex_lock(&lock);
	if (offset != MOCK_PAGE_OFFSET && offset < PACCEL_MMAP_DEVICE)
		host_by_offset(fd, offset)->addr = host_by_offset(fd, offset)->fd_addr =
			(uintptr_t)addr;
	pthread_mutex_unlock(&lock);
	return 0;
}
