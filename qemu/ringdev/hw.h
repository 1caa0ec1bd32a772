/* SPDX-License-Identifier: MIT */
/*
 * The hardware as its data sheet, Documentation/ringdev.md, specifies it: what is where in BAR 2,
 * in a descriptor and in a completion. All of it is little-endian.
 */
#ifndef RINGDEV_HW_H
#define RINGDEV_HW_H

#include <stdint.h>

#define RING_MAGIC_VALUE	0x474e4952u	/* "RING" */
#define RING_VERSION_VALUE	0x00010001u	/* major << 16 | minor */

#define RING_MAX_CARDS		8
#define RING_MAX_ENGINES	8
#define RING_ENTRIES		256		/* of each ring */
#define RING_MAX_XFER		(1u << 30)
#define RING_MAX_SEGMENTS	4096

/* BAR 2: registers and rings, then the memory. */
#define RING_CONTROL_SIZE	0x100000u
#define RING_ENGINE(n)		(0x1000u * ((n) + 1))
#define RING_RINGS(n)		(0x10000u * ((n) + 1))
#define RING_SQ(n)		RING_RINGS(n)
#define RING_CQ(n)		(RING_RINGS(n) + 0x8000u)

/* Device registers, written by the card. */
#define RING_MAGIC		0x000
#define RING_VERSION		0x004
#define RING_CAPS		0x008
#define RING_ENGINES		0x00c
#define RING_MEM_OFFSET		0x010	/* 64 bits */
#define RING_MEM_SIZE		0x018	/* 64 bits */
#define RING_MAX_XFER_REG	0x020
#define RING_MAX_SEGMENTS_REG	0x024
#define RING_ENTRIES_REG	0x028
#define RING_DMA_BITS		0x02c
#define RING_STATUS		0x080
#define RING_GENERATION		0x084
#define RING_COMMAND_DONE	0x088
#define RING_COMMAND_RESULT	0x08c
/* Device registers, written by the host. */
#define RING_CONTROL		0x100
#define RING_COMMAND		0x104
#define RING_BAR_ADDRESS	0x108	/* 64 bits */

#define RING_CAP_LIST		(1u << 0)
#define RING_CAP_INSIDE		(1u << 1)
#define RING_CAP_FILL		(1u << 2)
#define RING_CAP_CHECKSUM	(1u << 3)
#define RING_CAP_PEER		(1u << 4)
#define RING_CAP_MEM_SURVIVES	(1u << 5)
#define RING_CAP_LINK		(1u << 6)
#define RING_CAPS_VALUE		0x7fu

#define RING_STATUS_READY	(1u << 0)
#define RING_STATUS_MASTER	(1u << 1)
#define RING_CONTROL_MASTER	(1u << 0)

/* A command is code | tag << 8; COMMAND_DONE shows the one carried out last. */
#define RING_COMMAND_CODE	0xffu
#define RING_COMMAND_PING	1
#define RING_COMMAND_RESET	2
#define RING_RESULT_OK		0
#define RING_RESULT_UNKNOWN	1

/* Registers of an engine, from RING_ENGINE(n). Written by the host: */
#define RING_SQ_TAIL		0x000
#define RING_CQ_HEAD		0x004
#define RING_E_COMMAND		0x008
/* Written by the card: */
#define RING_SQ_HEAD		0x080
#define RING_CQ_TAIL		0x084
#define RING_E_COMMAND_DONE	0x088
#define RING_E_COMMAND_RESULT	0x08c
#define RING_E_GENERATION	0x090
#define RING_E_STATUS		0x094
#define RING_E_ERROR		0x098

#define RING_E_IDLE		0
#define RING_E_RUNNING		1
#define RING_E_HALTED		2

#define RING_E_ERROR_SQ		1	/* SQ_TAIL is more than a ring ahead of SQ_HEAD */
#define RING_E_ERROR_CQ		2	/* CQ_HEAD is more than a ring behind CQ_TAIL */

/* Doorbells and interrupt vectors: 0 is the device, 1 + n is engine n. */
#define RING_VECTOR_DEVICE	0
#define RING_VECTOR_ENGINE(n)	((n) + 1)
#define RING_MAX_VECTORS	(RING_MAX_ENGINES + 1)

enum ring_opcode {
	RING_OP_H2D = 1,
	RING_OP_D2H = 2,
	RING_OP_D2D = 3,
	RING_OP_FILL = 4,
	RING_OP_CHECKSUM = 5,
	RING_OP_FENCE = 6,
};

#define RING_FLAG_IRQ		(1u << 0)
#define RING_FLAG_LIST		(1u << 1)	/* H2D, D2H: the host side is a list */
#define RING_FLAG_CHECKSUM	(1u << 2)
#define RING_FLAG_WRITE		(1u << 3)	/* FENCE: write 8 bytes to dst */
#define RING_FLAG_TIME		(1u << 4)	/* FENCE: the clock instead of pattern */
#define RING_FLAG_LINK		(1u << 5)	/* only if the one before has ended well */

struct ring_descriptor {
	uint8_t opcode;
	uint8_t flags;
	uint16_t segments;
	uint32_t generation;
	uint64_t cookie;
	uint64_t src;
	uint64_t dst;
	uint64_t len;
	uint64_t pattern;
	uint32_t pattern_size;
	uint32_t zero[3];
};

struct ring_segment {
	uint64_t address;
	uint32_t len;
	uint32_t zero;
};

enum ring_status {
	RING_OK = 1,
	RING_STALE = 2,
	RING_BAD_OPCODE = 3,
	RING_BAD_FIELD = 4,
	RING_BAD_LENGTH = 5,
	RING_BAD_PATTERN = 6,
	RING_BAD_CARD_ADDRESS = 7,
	RING_OVERLAP = 8,
	RING_NO_MASTER = 9,
	RING_BAD_LIST = 10,
	RING_BAD_HOST_ADDRESS = 11,
	RING_DATA_ERROR = 12,
	RING_CANCELLED = 13,
};

struct ring_completion {
	uint64_t cookie;
	uint32_t generation;
	uint32_t status;
	uint64_t bytes;
	uint64_t time;
	uint32_t checksum;
	uint32_t detail;
	uint32_t number;
	uint32_t descriptor;
	uint64_t zero[2];
};

_Static_assert(sizeof(struct ring_descriptor) == 64, "a descriptor is 64 bytes");
_Static_assert(sizeof(struct ring_segment) == 16, "a segment is 16 bytes");
_Static_assert(sizeof(struct ring_completion) == 64, "a completion is 64 bytes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the card is little-endian");

#endif
