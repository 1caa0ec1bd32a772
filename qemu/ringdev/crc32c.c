// SPDX-License-Identifier: MIT
/*
 * CRC32C (Castagnoli), reflected, as in iSCSI and the kernel's crc32c(): begins with all ones and
 * ends inverted, which is done by the caller of crc32c() once per transfer.
 */
#include <string.h>

#include "model.h"

#define POLYNOMIAL	0x82f63b78u

static uint32_t table[256];

static void make_table(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
		table[byte] = crc;
	}
}

static uint32_t by_table(uint32_t crc, const uint8_t *data, size_t len)
{
	if (!table[1])
		make_table();
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *data++) & 0xff];
	return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2")))
static uint32_t by_instruction(uint32_t crc, const uint8_t *data, size_t len)
{
	uint64_t wide = crc, word;

	for (; len >= 8; data += 8, len -= 8) {
		memcpy(&word, data, 8);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	for (crc = (uint32_t)wide; len; data++, len--)
		crc = __builtin_ia32_crc32qi(crc, *data);
	return crc;
}
#endif

uint32_t crc32c(uint32_t crc, const uint8_t *data, size_t len)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return by_instruction(crc, data, len);
#endif
	return by_table(crc, data, len);
}
