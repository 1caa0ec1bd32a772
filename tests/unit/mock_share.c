/* SPDX-License-Identifier: MIT */
/*
 * The dma-bufs of the mock: files in memory that are known by their inodes.
 */
#define _GNU_SOURCE
#include "mock_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUFS 64

struct buf {
	ino_t id;
	unsigned int instance; /* of the card whose memory it is; 0 if it is host memory */
	unsigned int losses; /* of that card by then */
	const struct card *host_of; /* whose HOST_ALLOC memory it is, or NULL */
	uint64_t addr, length;
};

static struct buf bufs[BUFS]; /* the last ones */
static unsigned int next_buf;

void plain_close(int fd)
{
	syscall(SYS_close, fd);
}

ino_t file_id(int fd)
{
	struct statx st;

	return syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &st) ? 0 : st.stx_ino;
}

void forget_dmabufs(void)
{
	memset(bufs, 0, sizeof(bufs));
}

static struct buf *buf_of(int fd)
{
	ino_t id = file_id(fd);

	for (int i = 0; id && i < BUFS; i++)
		if (bufs[i].id == id)
			return &bufs[i];
	return NULL;
}

static void add_buf(int fd, const struct card *card, uint64_t addr, uint64_t length)
{
	struct buf *buf = buf_of(fd);

	if (!buf)
		buf = &bufs[next_buf++ % BUFS];
	*buf = (struct buf){
		.id = file_id(fd),
		.instance = card ? card->instance : 0,
		.losses = card ? card->losses : 0,
		.addr = addr,
		.length = length,
	};
}

int mock_dmabuf(size_t size)
{
	int fd = memfd_create("dmabuf", MFD_CLOEXEC);

	if (ftruncate(fd, (off_t)size))
		return -1;
	pthread_mutex_lock(&lock);
	add_buf(fd, NULL, 0, size);
	pthread_mutex_unlock(&lock);
	return fd;
}

/* Until the test lets the card go on. */
static void wait_hold(struct card *card)
{
	card->held++;
	has_moved();
	while (card->hold && card->present)
		wait_moved(NULL);
	card->held--;
}

static int export_device(struct file *file, struct paccel_mem_export *cmd)
{
	for (int i = 0; i < ALLOCS; i++) {
		const struct alloc *alloc = &file->allocs[i];

		if (!alloc->live || alloc->addr != cmd->addr)
			continue;
		cmd->fd = memfd_create("dmabuf", MFD_CLOEXEC);
		if (cmd->fd < 0)
			return EMFILE;
		add_buf(cmd->fd, file->card, alloc->addr, alloc->length);
		if (file->card->hold)
			wait_hold(file->card);
		return 0;
	}
	return ENOENT;
}

static int export_host(struct file *file, struct paccel_mem_export *cmd)
{
	struct host *host = host_around(file, cmd->addr, 1);

	if (!host || host->addr != cmd->addr || !host->offset)
		return ENOENT;
	cmd->fd = fcntl(host->memfd, F_DUPFD_CLOEXEC, 0);
	if (cmd->fd < 0)
		return EMFILE;
	add_buf(cmd->fd, NULL, 0, (host->length + PAGE - 1) / PAGE * PAGE);
	buf_of(cmd->fd)->host_of = file->card;
	return 0;
}

int do_mem_export(struct file *file, struct paccel_mem_export *cmd)
{
	if (cmd->flags)
		return EINVAL;
	switch (cmd->kind) {
	case PACCEL_EXPORT_DEVICE:
		return export_device(file, cmd);
	case PACCEL_EXPORT_HOST:
		return export_host(file, cmd);
	default:
		return EINVAL;
	}
}

int do_mem_import(struct file *file, struct paccel_mem_import *cmd)
{
	const struct buf *buf = buf_of(cmd->fd);

	if (cmd->flags || cmd->reserved || !buf)
		return EINVAL;
	if (buf->instance != file->card->instance)
		return EXDEV;
	if (buf->losses != file->card->losses)
		return ESTALE;
	cmd->addr = buf->addr;
	cmd->length = buf->length;
	for (int i = 0; i < ALLOCS; i++)
		if (file->allocs[i].live && file->allocs[i].addr == buf->addr) {
			file->allocs[i].imports++;
			return 0;
		}
	return add_alloc(file, buf->addr, buf->length, true);
}

/* Device memory of another card: where it lies in that. */
static int peer_memory(const struct card *card, const struct buf *buf, struct shared *shared)
{
	struct card *peer = card_of(buf->instance);

	if (!peers_reach || !peer || peer == card || !peer->mappable)
		return EOPNOTSUPP;
	shared->peer = peer;
	shared->peer_addr = buf->addr;
	shared->at = buf->addr - MOCK_BASE;
	shared->fd = fcntl(peer->memfd, F_DUPFD_CLOEXEC, 0);
	return 0;
}

int dmabuf_memory(const struct card *card, int fd, uint64_t length, bool write,
		  struct shared *shared)
{
	const struct buf *buf = buf_of(fd);

	*shared = (struct shared){ .fd = -1 };
	if (!buf || length > buf->length)
		return EINVAL;
	if (write && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return EACCES;
	if (buf->instance)
		return peer_memory(card, buf, shared);
	shared->charged = buf->host_of != card;
	shared->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return 0;
}
