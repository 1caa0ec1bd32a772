/* SPDX-License-Identifier: MIT */
/*
 * Pageable bytes on their way to the device: copied into a ring of locked memory, so that the
 * program has its memory back when the call returns. The ring is small, since RLIMIT_MEMLOCK is 8
 * MiB by default: what finds no room is not staged, and nobody ever waits for another stream's
 * bytes.
 */
#include "api.h"
#include "copy.h"
#include "device.h"
#include "host.h"
#include "range.h"
#include "stage.h"
#include "stream.h"

#include <errno.h>
#include <linux/paccel.h>
#include <stdlib.h>
#include <sys/mman.h>

#define STAGE_BYTES ((size_t)1 << 20)
#define STAGE_MAX ((size_t)64 << 10)
#define STAGE_PIECES 1024

struct stage_piece {
	char *place;
	uint64_t end; /* of its bytes, counted since the ring was made */
	uint64_t ticket; /* when the driver has read them; or FILLING */
};

#define FILLING UINT64_MAX

/* Pieces and bytes are taken behind the last one and given back in front of the first one. */
struct stage {
	struct range range;
	uint64_t first, next; /* bytes */
	unsigned int first_piece, next_piece;
	struct stage_piece pieces[STAGE_PIECES];
};

static struct stage *make_stage(struct device *dev)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	if (!stage)
		return NULL;
	stage->range.size = STAGE_BYTES;
	if (host_pages(dev, &stage->range)) {
		free(stage);
		return NULL;
	}
	keep_from_children((void *)stage->range.base, stage->range.mapped);
	return stage;
}

static void destroy_stage(struct device *dev, struct stage *stage)
{
	struct paccel_host_free cmd = { .size = sizeof(cmd), .addr = stage->range.base };

	device_ioctl(dev, PACCEL_IOC_HOST_FREE, &cmd);
	munmap((void *)stage->range.base, stage->range.mapped);
	free(stage);
}

/* Without the lock of the device: HOST_ALLOC can sleep. */
static struct stage *get_stage(struct device *dev)
{
	struct stage *stage = __atomic_load_n(&dev->stage, __ATOMIC_ACQUIRE), *other = NULL;

	if (stage)
		return stage;
	stage = make_stage(dev);
	if (stage &&
	    !__atomic_compare_exchange_n(&dev->stage, &other, stage, false, __ATOMIC_RELEASE,
					 __ATOMIC_ACQUIRE)) {
		destroy_stage(dev, stage);
		stage = other;
	}
	return stage;
}

static void reclaim(struct device *dev, struct stage *stage)
{
	struct stage_piece *piece;

	while (stage->first_piece != stage->next_piece) {
		piece = &stage->pieces[stage->first_piece % STAGE_PIECES];
		if (piece->ticket == FILLING ||
		    (piece->ticket && ticket_status(dev, piece->ticket) == -EINPROGRESS))
			return;
		stage->first = piece->end;
		stage->first_piece++;
	}
}

/* A piece does not go round the end of the ring: what is left there is passed over. */
static struct stage_piece *take_piece(struct stage *stage, size_t size)
{
	uint64_t left = STAGE_BYTES - stage->next % STAGE_BYTES;
	uint64_t start = stage->next + (left < size ? left : 0);
	struct stage_piece *piece = &stage->pieces[stage->next_piece % STAGE_PIECES];

	if (start + size - stage->first > STAGE_BYTES ||
	    stage->next_piece - stage->first_piece == STAGE_PIECES)
		return NULL;
	stage->next = start + size;
	stage->next_piece++;
	piece->place = (char *)stage->range.base + start % STAGE_BYTES;
	piece->end = stage->next;
	piece->ticket = FILLING;
	return piece;
}

/* NULL: there is no room, or they are too many bytes. */
static struct stage_piece *stage_take(struct device *dev, size_t size)
{
	struct stage *stage = size <= STAGE_MAX ? get_stage(dev) : NULL;
	struct stage_piece *piece;

	if (!stage)
		return NULL;
	pthread_mutex_lock(&dev->lock);
	reclaim(dev, stage);
	piece = take_piece(stage, size);
	pthread_mutex_unlock(&dev->lock);
	return piece;
}

/* It is free when the ticket has ended. */
static void stage_give(struct device *dev, struct stage_piece *piece, uint64_t ticket)
{
	pthread_mutex_lock(&dev->lock);
	piece->ticket = ticket;
	pthread_mutex_unlock(&dev->lock);
}

int copy_pageable(const struct copy *copy, bool *queued)
{
	struct device *dev = copy->dst.dev;
	struct stage_piece *piece = stage_take(dev, copy->width * copy->rows);
	struct copy in = *copy, out = *copy;
	struct submitted done = { .ticket = 0 };
	struct paccel_op op;
	int err;

	*queued = piece;
	if (!piece)
		return 0;
	/* There the rows are packed. */
	in.dpitch = out.spitch = copy->width;
	in.dst = out.src = (struct operand){ .ptr = (uintptr_t)piece->place, .known = true };
	err = copy_rows(&in);
	if (!err) {
		copy_operation(&out, PACCEL_COPY_H2D, &op);
		err = stream_submit(copy->stream, &op, 1, &done);
		if (err)
			err = copy_failed(dev, err, copy);
	}
	stage_give(dev, piece, done.ticket);
	return err;
}

void stage_free(struct device *dev)
{
	if (dev->stage && !dev->inherited)
		munmap((void *)dev->stage->range.base, dev->stage->range.mapped);
	free(dev->stage);
	dev->stage = NULL;
}
