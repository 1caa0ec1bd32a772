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

bool is_user(uint64_t addr, uint64_t length)
{
	return addr < USER_END && length <= USER_END - addr;
}

/* There is one process, so its user is charged for no more than it is. */
static uint64_t locked_bytes(void)
{
	uint64_t bytes = 0;

	for (int i = 0; i < FILES; i++)
		for (int j = 0; files[i].used && j < MOCK_HOST_RANGES; j++)
			if (files[i].hosts[j].live && files[i].hosts[j].charged)
				bytes += (files[i].hosts[j].length + PAGE - 1) / PAGE * PAGE;
	return bytes;
}

static bool may_lock(uint64_t length)
{
	struct rlimit limit;

	getrlimit(RLIMIT_MEMLOCK, &limit);
	return locked_bytes() + (length + PAGE - 1) / PAGE * PAGE <= limit.rlim_cur;
}

static int new_host(struct file *file, uint64_t length, bool charged, struct host **host)
{
	if (charged && !may_lock(length))
		return ENOMEM;
	for (int i = 0; i < MOCK_HOST_RANGES; i++) {
		if (file->hosts[i].live)
			continue;
		*host = &file->hosts[i];
		**host = (struct host){ .length = length, .charged = charged, .memfd = -1 };
		return 0;
	}
	return ENOSPC;
}

int do_host_alloc(struct file *file, struct paccel_host_alloc *cmd)
{
	struct host *host;
	int err;

	if (cmd->flags || !cmd->length || cmd->length > MOCK_HOST_MAX)
		return EINVAL;
	err = new_host(file, cmd->length, true, &host);
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

static int check_register(const struct paccel_host_register *cmd)
{
	if (cmd->flags & ~(PACCEL_HOST_READ_ONLY | PACCEL_HOST_DMABUF) || cmd->reserved ||
	    (!(cmd->flags & PACCEL_HOST_DMABUF) && cmd->fd) || !cmd->addr || !cmd->length ||
	    cmd->length > MOCK_HOST_MAX || cmd->addr + cmd->length - 1 < cmd->addr)
		return EINVAL;
	return is_user(cmd->addr, cmd->length) ? 0 : EFAULT;
}

static bool maps_device(const struct file *file, uint64_t addr, uint64_t length)
{
	return addr < file->map_addr + file->map_length && file->map_addr < addr + length;
}

int do_host_register(struct file *file, const struct paccel_host_register *cmd)
{
	bool dmabuf = cmd->flags & PACCEL_HOST_DMABUF;
	bool read_only = cmd->flags & PACCEL_HOST_READ_ONLY;
	struct shared shared = { .fd = -1 };
	struct host *host;
	int err = check_register(cmd);

	if (err)
		return err;
	if (host_overlaps(file, cmd->addr, cmd->length))
		return EEXIST;
	err = dmabuf ? dmabuf_memory(file->card, cmd->fd, cmd->length, !read_only, &shared) : 0;
	if (err)
		return err;
	err = new_host(file, cmd->length, !dmabuf || shared.charged, &host);
	if (err) {
		if (shared.fd >= 0)
			plain_close(shared.fd);
		return err;
	}
	if (!dmabuf && (maps_device(file, cmd->addr, cmd->length) ||
			!can_pin(cmd->addr, cmd->length, !read_only)))
		return EFAULT;
	*host = (struct host){
		.addr = cmd->addr,
		.length = cmd->length,
		.memfd = shared.fd,
		.fd_addr = cmd->addr - shared.at,
		.peer = shared.peer,
		.peer_addr = shared.peer_addr,
		.read_only = read_only,
		.dmabuf = dmabuf,
		.charged = !dmabuf || shared.charged,
		.live = true,
	};
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

static int map_device(const struct file *file, uint64_t offset, size_t length, int prot, int flags,
		      uint64_t *at)
{
	uint64_t start = offset - PACCEL_MMAP_DEVICE - MOCK_BASE;

	if (!file->card->mappable)
		return -EOPNOTSUPP;
	if (start >= file->card->size || length > file->card->size - start || !(flags & MAP_SHARED))
		return -EINVAL;
	if (prot & PROT_EXEC)
		return -EACCES;
	*at = start;
	return file->card->memfd;
}

static int map_page(const struct file *file, size_t length, int prot, int flags)
{
	if (!file->page || length != PAGE || !(flags & MAP_SHARED))
		return -EINVAL;
	return prot & PROT_WRITE ? -EACCES : file->page_fd;
}

static int map_host(const struct file *file, uint64_t offset, void *addr, size_t length, int flags)
{
	const struct host *host = host_by_offset(file->fd, offset);

	if (!host || !offset || length != (host->length + PAGE - 1) / PAGE * PAGE ||
	    !(flags & MAP_SHARED))
		return -EINVAL;
	if (host->addr)
		return -EBUSY;
	return flags & MAP_FIXED && host_overlaps(file, (uintptr_t)addr, length) ? -EEXIST
										: host->memfd;
}

int mock_sys_map(int fd, uint64_t offset, void *addr, size_t length, int prot, int flags, uint64_t *at)
{
	const struct file *file;
	int rc;

	*at = 0;
	pthread_mutex_lock(&lock);
	file = file_at(fd);
	rc = is_gone(file) ? -ENODEV : -may_use(file);
	if (!rc && offset >= PACCEL_MMAP_DEVICE)
		rc = map_device(file, offset, length, prot, flags, at);
	else if (!rc && offset == MOCK_PAGE_OFFSET)
		rc = map_page(file, length, prot, flags);
	else if (!rc)
		rc = map_host(file, offset, addr, length, flags);
	pthread_mutex_unlock(&lock);
	return rc;
}

void mock_sys_mapped(int fd, uint64_t offset, void *addr, size_t length)
{
	struct host *host;
	struct file *file;

	pthread_mutex_lock(&lock);
	file = file_at(fd);
	host = host_by_offset(fd, offset);
	if (offset >= PACCEL_MMAP_DEVICE) {
		file->map_addr = (uintptr_t)addr;
		file->map_length = length;
	} else if (host && offset != MOCK_PAGE_OFFSET) {
		host->addr = host->fd_addr = (uintptr_t)addr;
	}
	pthread_mutex_unlock(&lock);
}
