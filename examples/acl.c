/* SPDX-License-Identifier: MIT */
/*
 * A program for AscendCL: a file's worth of bytes to the card and back, in pieces, on a stream, with
 * two page-locked buffers that take turns: while one is on its way the other is filled.
 *
 * Build: cc acl.c $(pkg-config --cflags --libs accel-acl)
 */
#include "acl/acl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 1024
#define PIECES 4

/* Every call returns 0 or a code; aclGetRecentErrMsg() says in words what was wrong. */
static void check(aclError err, const char *what)
{
	if (err == ACL_SUCCESS)
		return;
	fprintf(stderr, "%s: %d: %s\n", what, err, aclGetRecentErrMsg());
	exit(1);
}

static unsigned char byte_of(size_t piece, size_t at)
{
	return (unsigned char)(piece * 37 + at * 11);
}

/* Of piece i + 2 the buffer is that of piece i, whose copy has to be over. */
static void send_pieces(aclrtStream stream, char *ptr, unsigned char *const buffers[2],
			const aclrtEvent sent[2])
{
	for (size_t piece = 0; piece < PIECES; piece++) {
		unsigned char *buffer = buffers[piece % 2];

		if (piece >= 2)
			check(aclrtSynchronizeEvent(sent[piece % 2]), "wait for a buffer");
		for (size_t at = 0; at < PIECE; at++)
			buffer[at] = byte_of(piece, at);
		check(aclrtMemcpyAsync(ptr + piece % 2 * PIECE, PIECE, buffer, PIECE,
				       ACL_MEMCPY_HOST_TO_DEVICE, stream), "copy");
		check(aclrtRecordEvent(sent[piece % 2], stream), "record");
	}
	check(aclrtSynchronizeStream(stream), "wait for the stream");
}

/* The last two pieces are there. */
static int came_back(const char *ptr)
{
	unsigned char back[PIECE];

	for (size_t piece = PIECES - 2; piece < PIECES; piece++) {
		check(aclrtMemcpy(back, PIECE, ptr + piece % 2 * PIECE, PIECE,
				  ACL_MEMCPY_DEVICE_TO_HOST), "copy back");
		for (size_t at = 0; at < PIECE; at++)
			if (back[at] != byte_of(piece, at))
				return 0;
	}
	return 1;
}

int main(void)
{
	unsigned char *buffers[2];
	size_t free_bytes, total;
	aclrtStream stream;
	aclrtEvent sent[2];
	void *ptr, *host;
	int good;

	check(aclInit(NULL), "aclInit");
	check(aclrtSetDevice(0), "aclrtSetDevice");
	check(aclrtGetMemInfo(ACL_DDR_MEM, &free_bytes, &total), "aclrtGetMemInfo");
	printf("%zu of %zu bytes are free\n", free_bytes, total);

	check(aclrtMallocAlign32(&ptr, 2 * PIECE, ACL_MEM_MALLOC_HUGE_FIRST), "device memory");
	check(aclrtMallocHost(&host, 2 * PIECE), "host memory");
	buffers[0] = host;
	buffers[1] = buffers[0] + PIECE;
	check(aclrtCreateStream(&stream), "stream");
	check(aclrtCreateEvent(&sent[0]), "event");
	check(aclrtCreateEvent(&sent[1]), "event");

	send_pieces(stream, ptr, buffers, sent);
	good = came_back(ptr);
	printf(good ? "All of it came back.\n" : "Something is wrong.\n");

	check(aclrtDestroyEvent(sent[0]), "event");
	check(aclrtDestroyEvent(sent[1]), "event");
	check(aclrtDestroyStream(stream), "stream");
	check(aclrtFreeHost(host), "free");
	check(aclrtFree(ptr), "free");
	/* What is left, it would free. */
	check(aclrtResetDevice(0), "aclrtResetDevice");
	check(aclFinalize(), "aclFinalize");
	return !good;
}
