// SPDX-License-Identifier: MIT
/*
 * Bus addresses: RAM of the guest, and the memory of other cards in the same guest.
 */
#include "model.h"
#include "shared.h"

#define FOUR_GIB	(1ull << 32)
/* Legacy video memory and ROM: RAM of the file that is not RAM of the machine. */
#define HOLE_START	0xa0000u
#define HOLE_END	0x100000u

static bool inside(uint64_t start, uint64_t len, uint64_t from, uint64_t to)
{
	return start >= from && start <= to && len <= to - start;
}

uint8_t *bus_ram_at(struct ring_card *card, uint64_t address, uint64_t len)
{
	const struct ring_ram *ram = card->ram;

	if (!ram || !ram->base)
		return NULL;
	if (ram->start)
		return inside(address, len, ram->start, ram->start + ram->size) ?
		       ram->base + (address - ram->start) : NULL;
	if (inside(address, len, 0, ram->low < HOLE_START ? ram->low : HOLE_START) ||
	    inside(address, len, HOLE_END, ram->low))
		return ram->base + address;
	if (inside(address, len, FOUR_GIB, FOUR_GIB + (ram->size - ram->low)))
		return ram->base + ram->low + (address - FOUR_GIB);
	return NULL;
}

/* Only the memory of a peer can be reached, never its registers and rings. */
static uint8_t *peer_at(struct ring_card *card, struct ring_card *peer, uint64_t address,
			uint64_t len)
{
	uint64_t base;

	if (peer == card || !card->ram || peer->ram != card->ram || !peer->powered ||
	    peer->link_down)
		return NULL;
	base = shared_read64(peer->config.bar + RING_BAR_ADDRESS);
	if (!base || base & (peer->config.bar_size - 1) ||
	    !inside(address, len, base + RING_CONTROL_SIZE, base + peer->config.bar_size))
		return NULL;
	return peer->config.bar + (address - base);
}

uint8_t *bus_at(struct ring_card *card, uint64_t address, uint64_t len)
{
	uint8_t *at = bus_ram_at(card, address, len);

	for (unsigned int i = 0; !at && i < card->bus->count; i++)
		at = peer_at(card, card->bus->cards[i], address, len);
	return at;
}

uint64_t card_memory_size(const struct ring_card *card)
{
	return card->config.bar_size - RING_CONTROL_SIZE;
}
