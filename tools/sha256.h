/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 (FIPS 180-4), so that accelctl needs no library but ours.
 */
#ifndef SHA256_H
#define SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
	uint32_t state[8];
	uint8_t block[64];
	uint64_t length; /* bytes so far */
};

#define SHA256_TEXT 65

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *data, size_t size);
/* The digest in hexadecimal; the state is used up. */
void sha256_text(struct sha256 *sha, char text[SHA256_TEXT]);

#endif
