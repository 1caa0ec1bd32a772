/* SPDX-License-Identifier: MIT */
#include "sha256.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void expand(uint32_t w[64], const uint8_t block[64])
{
	memcpy(w, block, 64);
	for (int i = 0; i < 16; i++)
		w[i] = be32toh(w[i]);
	for (int i = 16; i < 64; i++) {
		uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
}

/* h[0] to h[7] are the a to h of the standard. */
static void one_round(uint32_t h[8], uint32_t constant)
{
	uint32_t s1 = rotate(h[4], 6) ^ rotate(h[4], 11) ^ rotate(h[4], 25);
	uint32_t choice = (h[4] & h[5]) ^ (~h[4] & h[6]);
	uint32_t t1 = h[7] + s1 + choice + constant;
	uint32_t s0 = rotate(h[0], 2) ^ rotate(h[0], 13) ^ rotate(h[0], 22);
	uint32_t majority = (h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]);

	memmove(h + 1, h, 7 * sizeof(*h));
	h[4] += t1;
	h[0] = t1 + s0 + majority;
}

static void compress(struct sha256 *sha)
{
	uint32_t w[64], h[8];

	expand(w, sha->block);
	memcpy(h, sha->state, sizeof(h));
	for (int i = 0; i < 64; i++)
		one_round(h, round_constants[i] + w[i]);
	for (int i = 0; i < 8; i++)
		sha->state[i] += h[i];
}

void sha256_init(struct sha256 *sha)
{
	*sha = (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(struct sha256 *sha, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	while (size) {
		size_t used = sha->length % 64;
		size_t part = size < 64 - used ? size : 64 - used;

		memcpy(sha->block + used, bytes, part);
		sha->length += part;
		bytes += part;
		size -= part;
		if (used + part == 64)
			compress(sha);
	}
}

void sha256_text(struct sha256 *sha, char text[SHA256_TEXT])
{
	static const uint8_t padding[64] = { 0x80 };
	uint64_t bits = htobe64(sha->length * 8);

	/* Up to 8 bytes before the end of a block. */
	sha256_add(sha, padding, 64 - (sha->length + 8) % 64);
	sha256_add(sha, &bits, sizeof(bits));
	for (int i = 0; i < 8; i++)
		snprintf(text + 8 * i, 9, "%08x", sha->state[i]);
}
