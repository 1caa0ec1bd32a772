// SPDX-License-Identifier: MIT
/*
 * The card as a whole: its registers, commands, resets, power and link.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "shared.h"

static void put32(struct ring_card *card, uint32_t reg, uint32_t value)
{
	shared_write32(card->config.bar + reg, value);
}

static uint32_t get32(struct ring_card *card, uint32_t reg)
{
	return shared_read32(card->config.bar + reg);
}

uint64_t card_now(struct ring_card *card)
{
	return card->config.ops->now(card->config.owner);
}

/* Asked of the register itself each time: the gate holds from the moment that it is shut. */
bool card_is_master(struct ring_card *card)
{
	return get32(card, RING_CONTROL) & RING_CONTROL_MASTER;
}

/*
 * Vector 0 follows the gate, which a reset shuts: QEMU 7.2 crashes if the interrupt of the reset that ends
 * a removal comes when the device has been unplugged. Completions are announced with the gate shut, too:
 * otherwise each NO_MASTER would be found by the driver's watchdog only.
 */
void card_raise(struct ring_card *card, unsigned int vector)
{
	if (vector == RING_VECTOR_DEVICE && !card_is_master(card))
		return;
	card->counters.interrupts++;
	card->config.ops->raise(card->config.owner, vector);
}

/* Neither 0 nor all ones, which are what a card shows that is off or gone. */
static uint32_t next_generation(uint32_t generation)
{
	return generation >= UINT32_MAX - 1 ? 1 : generation + 1;
}

static void write_registers(struct ring_card *card)
{
	const uint64_t memory[] = { RING_CONTROL_SIZE, card_memory_size(card) };

	memset(card->config.bar, 0, RING_CONTROL_SIZE);
	for (unsigned int i = 0; i < card->config.engines; i++)
		put32(card, RING_ENGINE(i) + RING_E_GENERATION, card->engines[i].generation);
	put32(card, RING_CAPS, RING_CAPS_VALUE);
	put32(card, RING_ENGINES, card->config.engines);
	shared_write(card->config.bar + RING_MEM_OFFSET, memory, sizeof(memory));
	put32(card, RING_MAX_XFER_REG, RING_MAX_XFER);
	put32(card, RING_MAX_SEGMENTS_REG, RING_MAX_SEGMENTS);
	put32(card, RING_ENTRIES_REG, RING_ENTRIES);
	put32(card, RING_DMA_BITS, 64);
	put32(card, RING_GENERATION, card->generation);
	card->status = RING_STATUS_READY;
	put32(card, RING_STATUS, card->status);
	put32(card, RING_VERSION, RING_VERSION_VALUE);
	put32(card, RING_MAGIC, RING_MAGIC_VALUE);
}

/* Device memory keeps its contents. */
static void reset_card(struct ring_card *card)
{
	card->generation = next_generation(card->generation);
	reference_forget(card);
	card->link_free[0] = 0;
	card->link_free[1] = 0;
	for (unsigned int i = 0; i < card->config.engines; i++) {
		struct engine *e = &card->engines[i];

		engine_reset(e, next_generation(e->generation));
		e->held_count = 0;
		e->command_done = 0;
	}
	write_registers(card);
}

/* --- commands --------------------------------------------------------------------------- */

/* Also how the host learns that the gate has shut: nothing is moved between two of these. */
static void acknowledge_master(struct ring_card *card)
{
	uint32_t status = RING_STATUS_READY;

	if (card_is_master(card))
		status |= RING_STATUS_MASTER;
	if (status == card->status)
		return;
	card->status = status;
	put32(card, RING_STATUS, status);
}

static void finish_command(struct ring_card *card, uint32_t command, uint32_t result)
{
	card->command_done = command;
	put32(card, RING_COMMAND_RESULT, result);
	put32(card, RING_COMMAND_DONE, command);
	card_raise(card, RING_VECTOR_DEVICE);
}

/* Where the bus has put the card stays as it is: peers may be in the middle of its memory. */
static void reset_by_command(struct ring_card *card)
{
	uint64_t address = shared_read64(card->config.bar + RING_BAR_ADDRESS);

	reset_card(card);
	shared_write64(card->config.bar + RING_BAR_ADDRESS, address);
}

static void serve_device(struct ring_card *card)
{
	uint32_t command = get32(card, RING_COMMAND), code = command & RING_COMMAND_CODE;
	uint32_t result = RING_RESULT_OK;

	if (command == card->command_done)
		return;
	if (code == RING_COMMAND_RESET) {
		reset_by_command(card);
		put32(card, RING_COMMAND, command);
	} else if (code != RING_COMMAND_PING) {
		result = RING_RESULT_UNKNOWN;
	}
	finish_command(card, command, result);
}

static bool hears_commands(const struct engine *e)
{
	const struct fault_set *faults = &e->now.faults;

	return !(e->busy && fault_has(faults, FAULT_STALL) && faults->needs_card_reset);
}

static void serve_engine(struct ring_card *card, struct engine *e)
{
	uint32_t base = RING_ENGINE(e->number), command = get32(card, base + RING_E_COMMAND);
	uint32_t code = command & RING_COMMAND_CODE, result = RING_RESULT_OK;

	if (command == e->command_done || !hears_commands(e))
		return;
	if (code == RING_COMMAND_RESET)
		engine_reset(e, next_generation(e->generation));
	else if (code != RING_COMMAND_PING)
		result = RING_RESULT_UNKNOWN;
	e->command_done = command;
	put32(card, base + RING_E_COMMAND_RESULT, result);
	put32(card, base + RING_E_COMMAND_DONE, command);
	card_raise(card, RING_VECTOR_DEVICE);
}

void card_serve_commands(struct ring_card *card)
{
	serve_device(card);
	for (unsigned int i = 0; i < card->config.engines; i++)
		serve_engine(card, &card->engines[i]);
	acknowledge_master(card);
}

/* --- power and link ----------------------------------------------------------------------- */

void ring_card_power_on(struct ring_card *card)
{
	card->powered = true;
	card->link_down = false;
	card->command_done = 0;
	reset_card(card);
}

void ring_card_power_off(struct ring_card *card)
{
	card->powered = false;
	card->command_done = 0;
	reset_card(card);
	card->ram = NULL;
}

void card_link(struct ring_card *card, bool up)
{
	if (up && card->link_down && card->powered)
		ring_card_power_on(card);
	card->link_down = !up;
}

void ring_card_set_ram(struct ring_card *card, const struct ring_ram *ram)
{
	reference_forget(card);
	card->ram = ram;
}

/* --- running ---------------------------------------------------------------------------------- */

uint64_t ring_card_run(struct ring_card *card)
{
	uint64_t soonest = RING_NEVER;

	if (!card->powered)
		return RING_NEVER;
	if (card->link_down) {
		/* It is RAM: what the host has written since would stay. */
		memset(card->config.bar, 0xff, RING_CONTROL_SIZE);
		return RING_NEVER;
	}
	if (card_now(card) < card->mute_until)
		return card->mute_until;
	card_serve_commands(card);
	for (unsigned int i = 0; i < card->config.engines; i++) {
		uint64_t next = engine_run(&card->engines[i]);

		soonest = next < soonest ? next : soonest;
	}
	return soonest;
}

struct ring_card *ring_card_create(struct ring_bus *bus, const struct ring_config *config)
{
	struct ring_card *card = calloc(1, sizeof(*card));

	if (!card)
		return NULL;
	card->bus = bus;
	card->config = *config;
	for (unsigned int i = 0; i < RING_MAX_ENGINES; i++) {
		card->engines[i].card = card;
		card->engines[i].number = i;
	}
	/* Cards of one seed do not fail in step. */
	fault_seed(card, config->seed + bus->count);
	bus->cards[bus->count++] = card;
	return card;
}

void ring_card_destroy(struct ring_card *card)
{
	struct ring_bus *bus = card->bus;

	for (unsigned int i = 0; i < bus->count; i++)
		if (bus->cards[i] == card)
			bus->cards[i] = bus->cards[--bus->count];
	reference_forget(card);
	free(card);
}
