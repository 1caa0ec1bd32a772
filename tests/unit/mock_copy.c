/* SPDX-License-Identifier: MIT */
/* The mock: copies and fills. */
#define _GNU_SOURCE
#include "mock_private.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

bool access_host(uint64_t addr, void *buffer, uint64_t length, bool write)
{
	struct iovec local = { buffer, length }, remote = { (void *)(uintptr_t)addr, length };

	/* Not by way of a sanitizer, which would look at the addresses first. */
	return syscall(write ? SYS_process_vm_writev : SYS_process_vm_readv, (long)getpid(), &local,
		       1ul, &remote, 1ul, 0ul) == (long)length;
}

struct host *host_around(struct file *file, uint64_t addr, uint64_t length)
{
	for (int i = 0; i < MOCK_HOST_RANGES; i++) {
		struct host *host = &file->hosts[i];

		if (host->live && host->addr && addr >= host->addr &&
		    addr + length <= host->addr + host->length)
			return host;
	}
	return NULL;
}

/* The memory of a file descriptor, or the caller's own. */
struct memory {
	int fd;
	uint64_t addr; /* which it stands for */
};

static bool access_memory(const struct memory *memory, uint64_t addr, void *buffer, uint64_t length,
			  bool write)
{
	off_t at = (off_t)(addr - memory->addr);

	if (memory->fd < 0)
		return access_host(addr, buffer, length, write);
	return (write ? pwrite(memory->fd, buffer, length, at)
		      : pread(memory->fd, buffer, length, at)) == (ssize_t)length;
}

static int copy_row(const struct file *file, const struct paccel_copy *cmd, uint64_t dst,
		    uint64_t src, const struct memory *host)
{
	uint8_t *memory = file->card->memory;

	switch (cmd->dir) {
	case PACCEL_COPY_H2D:
		return access_memory(host, src, memory + (dst - MOCK_BASE), cmd->width, false)
			       ? 0
			       : EFAULT;
	case PACCEL_COPY_D2H:
		return access_memory(host, dst, memory + (src - MOCK_BASE), cmd->width, true)
			       ? 0
			       : EFAULT;
	default:
		memcpy(memory + (dst - MOCK_BASE), memory + (src - MOCK_BASE), cmd->width);
		memory[dst - MOCK_BASE + cmd->width / 2] ^= file->card->corrupt;
		return 0;
	}
}

static int check_rows(const struct paccel_copy *cmd, uint64_t pitch, uint64_t start, uint64_t *span)
{
	uint64_t end;

	if (pitch < cmd->width && !(cmd->rows == 1 && !pitch))
		return EINVAL;
	return __builtin_mul_overflow(pitch, cmd->rows - 1, span) ||
			       __builtin_add_overflow(*span, cmd->width, span) ||
			       __builtin_add_overflow(start, *span - 1, &end)
		       ? EINVAL
		       : 0;
}

static bool rows_collide(const struct paccel_copy *cmd, uint64_t dst_span, uint64_t src_span)
{
	if (cmd->dst_pitch != cmd->src_pitch)
		return cmd->dst < cmd->src + src_span && cmd->src < cmd->dst + dst_span;
	for (uint64_t i = 0; i < cmd->rows; i++)
		for (uint64_t j = 0; j < cmd->rows; j++) {
			uint64_t dst = cmd->dst + i * cmd->dst_pitch,
				 src = cmd->src + j * cmd->src_pitch;

			if (dst < src + cmd->width && src < dst + cmd->width)
				return true;
		}
	return false;
}

/*
 * Only a mappable device takes VERIFY, and nothing is compared: copies of the mock are exact.
 * mock_corrupt() is not for such a device.
 */
static int check_verify(const struct file *file, uint32_t flags)
{
	return flags && !file->card->mappable ? EOPNOTSUPP : 0;
}

int check_copy(const struct file *file, const struct paccel_copy *cmd)
{
	uint64_t dst_span, src_span;
	const struct host *host;
	bool to_host;

	if (cmd->flags & ~PACCEL_COPY_VERIFY || cmd->reserved || !cmd->width || !cmd->rows ||
	    cmd->dir < PACCEL_COPY_H2D || cmd->dir > PACCEL_COPY_D2D)
		return EINVAL;
	if (check_rows(cmd, cmd->dst_pitch, cmd->dst, &dst_span) ||
	    check_rows(cmd, cmd->src_pitch, cmd->src, &src_span))
		return EINVAL;
	if (cmd->dir == PACCEL_COPY_D2D && rows_collide(cmd, dst_span, src_span))
		return EINVAL;
	if (cmd->dir != PACCEL_COPY_D2H && !inside(file, cmd->dst, dst_span))
		return EFAULT;
	if (cmd->dir != PACCEL_COPY_H2D && !inside(file, cmd->src, src_span))
		return EFAULT;
	if (cmd->dir == PACCEL_COPY_D2D)
		return check_verify(file, cmd->flags);
	to_host = cmd->dir == PACCEL_COPY_D2H;
	if (!is_user(to_host ? cmd->dst : cmd->src, to_host ? dst_span : src_span))
		return EFAULT;
	host = to_host ? host_around((struct file *)file, cmd->dst, dst_span) : NULL;
	if (host && host->read_only)
		return EFAULT;
	return check_verify(file, cmd->flags);
}

static void list_held(struct card *card, struct held *held)
{
	struct held **end = &card->in_hand;

	if (held->listed)
		return;
	while (*end)
		end = &(*end)->next;
	*end = held;
	held->next = NULL;
	held->listed = true;
	card->held++;
	has_moved();
}

void drop_held(struct card *card, struct held *held)
{
	struct held **at = &card->in_hand;

	if (!held->listed)
		return;
	while (*at && *at != held)
		at = &(*at)->next;
	/* The card may be another one by now. */
	if (*at) {
		/* A stall is of one transfer, the first in hand. */
		if (card->in_hand == held)
			card->stall = false;
		*at = held->next;
		card->held--;
	}
	held->listed = false;
}

/* What has stalled keeps its engine, and who needs the same one waits. */
static bool has_stalled(const struct card *card, const struct held *held)
{
	return card->stall && (card->engines == 1 || !card->in_hand || card->in_hand == held);
}

bool is_held(struct card *card, struct held *held)
{
	bool stops = card->present && !held->failed && (card->hold || has_stalled(card, held));

	if (stops)
		list_held(card, held);
	else
		drop_held(card, held);
	return stops;
}

int run_copy(struct file *file, const struct paccel_copy *cmd, int memfd, uint64_t memfd_addr)
{
	__u64 *counters[] = { [PACCEL_COPY_H2D] = &file->card->counters.bytes_h2d,
			      [PACCEL_COPY_D2H] = &file->card->counters.bytes_d2h,
			      [PACCEL_COPY_D2D] = &file->card->counters.bytes_d2d };
	const struct memory host = { memfd, memfd_addr };
	int err = 0;

	for (uint64_t i = 0; i < cmd->rows && !err; i++)
		err = copy_row(file, cmd, cmd->dst + i * cmd->dst_pitch,
			       cmd->src + i * cmd->src_pitch, &host);
	*counters[cmd->dir] += cmd->width * cmd->rows;
	file->card->counters.xfers += cmd->rows;
	return err;
}

int do_copy(struct file *file, const struct paccel_copy *cmd)
{
	struct held held = { .listed = false };
	int err = check_copy(file, cmd);
	const struct host *host;

	if (err)
		return err;
	while (is_held(file->card, &held))
		wait_moved(NULL);
	if (!file->card->present)
		return ENODEV;
	if (held.failed)
		return EIO;
	host = host_around(file, cmd->dir == PACCEL_COPY_D2H ? cmd->dst : cmd->src, cmd->width);
	/* Taken away. */
	if (host && host->peer && !host->peer->present)
		return EFAULT;
	/* A dma-buf is not where its addresses are; all else is. */
	return host && host->memfd >= 0 && !host->offset
		       ? run_copy(file, cmd, host->memfd, host->fd_addr)
		       : run_copy(file, cmd, -1, 0);
}

int check_fill(const struct file *file, const struct paccel_fill *cmd)
{
	unsigned int size = cmd->pattern_size;

	if (cmd->flags & ~PACCEL_FILL_VERIFY || cmd->reserved || !size || size > 8 ||
	    size & (size - 1) || !cmd->length || cmd->length % size ||
	    (size < 8 && cmd->pattern >> (8 * size)) || cmd->addr + cmd->length - 1 < cmd->addr)
		return EINVAL;
	if (!inside(file, cmd->addr, cmd->length))
		return EFAULT;
	return check_verify(file, cmd->flags);
}

void run_fill(struct file *file, const struct paccel_fill *cmd)
{
	uint8_t *to = file->card->memory + (cmd->addr - MOCK_BASE);

	for (uint64_t i = 0; i < cmd->length; i += cmd->pattern_size)
		memcpy(to + i, &cmd->pattern, cmd->pattern_size);
	file->card->counters.bytes_filled += cmd->length;
	file->card->counters.xfers++;
}

int do_fill(struct file *file, const struct paccel_fill *cmd)
{
	int err = check_fill(file, cmd);

	if (!err)
		run_fill(file, cmd);
	return err;
}
