/* SPDX-License-Identifier: MIT */
/*
 * An exact best fit by a scan of all free blocks in the order of their addresses, the lowest address
 * among equals, as RMM's coalescing_free_list places blocks. It is the reference for failures, and much
 * too slow for the other columns. Not thread-safe.
 */
#include "race.h"

#include <stdlib.h>
#include <string.h>

struct hole {
	uint64_t at, size;
};

struct fit {
	size_t nr;
	struct hole holes[RACE_BLOCKS];
};

static uint64_t rounded(uint32_t bytes)
{
	return ((uint64_t)bytes + RACE_GRANULE - 1) / RACE_GRANULE * RACE_GRANULE;
}

static void hole_remove(struct fit *fit, size_t i)
{
	memmove(&fit->holes[i], &fit->holes[i + 1], (--fit->nr - i) * sizeof(*fit->holes));
}

static void *fit_create(uint64_t bytes)
{
	struct fit *fit = malloc(sizeof(*fit));

	if (!fit)
		return NULL;
	fit->nr = 1;
	fit->holes[0] = (struct hole){ .at = 0, .size = bytes };
	return fit;
}

static bool fit_allocate(void *self, uint32_t bytes, struct place *place)
{
	uint64_t size = rounded(bytes), least = UINT64_MAX;
	struct fit *fit = self;
	size_t best = 0;

	for (size_t i = 0; i < fit->nr; i++)
		if (fit->holes[i].size >= size && fit->holes[i].size < least) {
			best = i;
			least = fit->holes[i].size;
		}
	if (least == UINT64_MAX)
		return false;
	place->at = fit->holes[best].at;
	fit->holes[best].at += size;
	fit->holes[best].size -= size;
	if (!fit->holes[best].size)
		hole_remove(fit, best);
	return true;
}

static void fit_release(void *self, const struct place *place, uint32_t bytes)
{
	struct fit *fit = self;
	struct hole *holes = fit->holes;
	uint64_t size = rounded(bytes);
	size_t i = 0;

	while (i < fit->nr && holes[i].at < place->at)
		i++;
	memmove(&holes[i + 1], &holes[i], (fit->nr++ - i) * sizeof(*holes));
	holes[i] = (struct hole){ .at = place->at, .size = size };
	if (i + 1 < fit->nr && place->at + size == holes[i + 1].at) {
		holes[i].size += holes[i + 1].size;
		hole_remove(fit, i + 1);
	}
	if (i && holes[i - 1].at + holes[i - 1].size == place->at) {
		holes[i - 1].size += holes[i].size;
		hole_remove(fit, i);
	}
}

const struct racer fit_racer = {
	.name = "best fit as RMM's",
	.create = fit_create,
	.destroy = free,
	.allocate = fit_allocate,
	.release = fit_release,
};
