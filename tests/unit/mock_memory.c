/* SPDX-License-Identifier: MIT */
/* The mock: device memory, and what is said of a card. */
#include "mock_private.h"

#include <errno.h>
#include <string.h>

#define MAX(a, b) ((a) > (b) ? (a) : (b))

bool inside(const struct file *file, uint64_t addr, uint64_t length)
{
	for (int i = 0; i < ALLOCS; i++) {
		const struct alloc *alloc = &file->allocs[i];

		if (alloc->live && addr >= alloc->addr && addr - alloc->addr <= alloc->length &&
		    length <= alloc->length - (addr - alloc->addr))
			return true;
	}
	return false;
}

static size_t granules_of(const struct card *card, uint64_t length)
{
	return length / card->unit + !!(length % card->unit);
}

static uint64_t count_state(const struct card *card, enum state state)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < card->granules; i++)
		bytes += card->state[i] == state ? card->unit : 0;
	return bytes;
}

static uint64_t longest_free(const struct card *card)
{
	uint64_t run = 0, longest = 0;

	for (size_t i = 0; i < card->granules; i++) {
		run = card->state[i] == FREE ? run + card->unit : 0;
		longest = MAX(longest, run);
	}
	return longest;
}

static void scrub(struct card *card)
{
	for (size_t i = 0; i < card->granules; i++) {
		if (card->state[i] != WAITING)
			continue;
		memset(card->memory + i * card->unit, 0, card->unit);
		card->counters.bytes_scrubbed += card->unit;
		card->state[i] = FREE;
	}
}

/* The first run of free granules that begins at a multiple of @step. */
static bool find_place(const struct card *card, size_t count, size_t step, size_t *place)
{
	size_t run = 0;

	for (size_t i = 0; i < card->granules; i++) {
		run = card->state[i] == FREE && (run || i % step == 0) ? run + 1 : 0;
		if (run == count) {
			*place = i + 1 - count;
			return true;
		}
	}
	return false;
}

/* What counts against the quota: all that was allocated, and not what was imported. */
static uint64_t charged(const struct card *card)
{
	uint64_t bytes = 0;

	for (int i = 0; i < FILES; i++) {
		if (!files[i].used || files[i].card != card)
			continue;
		for (int j = 0; j < ALLOCS; j++)
			if (files[i].allocs[j].live && !files[i].allocs[j].imported)
				bytes += granules_of(card, files[i].allocs[j].length) * card->unit;
	}
	return bytes;
}

int add_alloc(struct file *file, uint64_t addr, uint64_t length, bool imported)
{
	int slot = 0;

	while (slot < ALLOCS && file->allocs[slot].live)
		slot++;
	if (slot == ALLOCS)
		return ENOMEM;
	file->allocs[slot] = (struct alloc){
		.addr = addr, .length = length, .live = true, .imported = imported
	};
	return 0;
}

/* A context, or another card that it is registered with. */
static bool somebody_has(const struct card *card, uint64_t addr)
{
	for (int i = 0; i < FILES; i++)
		for (int j = 0; files[i].used && j < MOCK_HOST_RANGES; j++)
			if (files[i].hosts[j].live && files[i].hosts[j].peer == card &&
			    files[i].hosts[j].peer_addr == addr)
				return true;
	for (int i = 0; i < FILES; i++)
		for (int j = 0; files[i].used && files[i].card == card && j < ALLOCS; j++)
			if (files[i].allocs[j].live && files[i].allocs[j].addr == addr)
				return true;
	return false;
}

void let_go(struct card *card, uint64_t addr, uint64_t length)
{
	if (!somebody_has(card, addr))
		memset(card->state + (addr - MOCK_BASE) / card->unit, WAITING,
		       granules_of(card, length));
}

void drop_alloc(struct file *file, struct alloc *alloc)
{
	alloc->live = false;
	let_go(file->card, alloc->addr, alloc->length);
}

static int place_alloc(struct file *file, uint64_t length, uint64_t align, __u64 *addr)
{
	struct card *card = file->card;
	size_t count = granules_of(card, length), step = align > card->unit ? align / card->unit : 1;
	size_t place;
	int err;

	if (card->quota && (count > card->quota / card->unit ||
			    charged(card) + count * card->unit > card->quota))
		return EDQUOT;
	if (!find_place(card, count, step, &place)) {
		scrub(card);
		if (!find_place(card, count, step, &place))
			return ENOMEM;
	}
	err = add_alloc(file, MOCK_BASE + place * card->unit, length, false);
	if (err)
		return err;
	memset(card->state + place, USED, count);
	*addr = MOCK_BASE + place * card->unit;
	return 0;
}

int do_mem_alloc(struct file *file, struct paccel_mem_alloc *cmd)
{
	int err;

	if (cmd->flags & ~PACCEL_MEM_MAPPABLE || !cmd->length || cmd->align > MOCK_ALIGN_MAX ||
	    cmd->align & (cmd->align - 1))
		return EINVAL;
	if (cmd->flags && !file->card->mappable)
		return EOPNOTSUPP;
	err = place_alloc(file, cmd->length, cmd->align, &cmd->addr);
	file->card->counters.allocs += !err;
	file->card->counters.alloc_failures += !!err;
	return err;
}

int do_mem_free(struct file *file, const struct paccel_mem_free *cmd)
{
	if (cmd->flags)
		return EINVAL;
	for (int i = 0; i < ALLOCS; i++) {
		struct alloc *alloc = &file->allocs[i];

		if (!alloc->live || alloc->addr != cmd->addr)
			continue;
		if (alloc->length != cmd->length)
			return EINVAL;
		if (alloc->imports)
			alloc->imports--;
		else
			drop_alloc(file, alloc);
		return 0;
	}
	return ENOENT;
}

int do_mem_stats(const struct file *file, struct paccel_mem_stats *cmd)
{
	const struct card *card = file->card;

	if (cmd->flags)
		return EINVAL;
	*cmd = card->counters;
	cmd->size = sizeof(*cmd);
	cmd->flags = 0;
	cmd->total = card->size;
	cmd->used = count_state(card, USED);
	cmd->dirty = count_state(card, WAITING);
	cmd->quarantined = card->quarantined;
	cmd->free = card->size - cmd->used - cmd->dirty - cmd->quarantined;
	for (int i = 0; i < ALLOCS; i++) {
		if (!file->allocs[i].live)
			continue;
		cmd->mine += granules_of(card, file->allocs[i].length) * card->unit;
		cmd->mine_allocs++;
	}
	cmd->user = charged(card);
	cmd->user_max = card->quota;
	cmd->largest_free = longest_free(card);
	return 0;
}

/* Of those that the card has, only the first ones run: one on each engine. */
static void fail_what_runs(struct card *card)
{
	unsigned int engines = card->engines;

	for (struct held *held = card->in_hand; held && engines; held = held->next, engines--)
		held->failed = true;
	card->stall = false;
	wake_engine();
}

/*
 * What the device holds survives; memory whose scrubbing failed is scrubbed. What runs fails, and that
 * is what a test holds: all else that the mock does takes no time.
 */
int do_reset(struct file *file, const struct paccel_reset *cmd)
{
	if (!is_admin)
		return EPERM;
	if (cmd->flags)
		return EINVAL;
	file->card->quarantined = 0;
	fail_what_runs(file->card);
	return 0;
}

int do_device_info(const struct file *file, struct paccel_device_info *cmd)
{
	if (cmd->flags)
		return EINVAL;
	*cmd = (struct paccel_device_info){
		.size = sizeof(*cmd),
		.mem_base = MOCK_BASE,
		.mem_size = file->card->size,
		.granule = file->card->granule,
		.max_xfer = 4032,
		.max_align = MOCK_ALIGN_MAX,
		.max_host_bytes = MOCK_HOST_MAX,
		.max_host_ranges = MOCK_HOST_RANGES,
		.engines = file->card->engines,
		.dma_bits = 28,
		.backend = "mock",
		.caps = PACCEL_CAP_MEM_SURVIVES_RESET |
			(file->card->mappable ? PACCEL_CAP_MAPPABLE | PACCEL_CAP_VERIFY : 0),
		.clock_ns = mock_clock(),
		.max_streams = MOCK_STREAMS,
		.max_ops = MOCK_OPS,
		.max_queued = MOCK_QUEUED,
		.max_points = MOCK_POINTS,
		.max_queued_all = MOCK_QUEUED_ALL,
		.copy_align = 1,
	};
	snprintf(cmd->bus_addr, sizeof(cmd->bus_addr), "0000:%02x:00.0", file->card->node + 1);
	return 0;
}
