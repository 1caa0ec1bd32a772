/* SPDX-License-Identifier: MIT */
/*
 * 2D copies with page-locked host memory: one tile of a matrix is copied to the device, packed, and
 * back to another place in the matrix.
 *
 * Build: cc tile.c $(pkg-config --cflags --libs accel)
 */
#include <accel/accel.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 8, TILE = 3 };

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, accel_last_error());
	exit(1);
}

static void print(unsigned char (*matrix)[SIDE])
{
	for (int y = 0; y < SIDE; y++) {
		for (int x = 0; x < SIDE; x++)
			printf(" %2d", matrix[y][x]);
		putchar('\n');
	}
}

int main(void)
{
	unsigned char(*matrix)[SIDE];
	struct accel_device *dev;
	void *host, *tile;

	check(accel_device_open(0, &dev), "open");

	/* An ordinary pointer to page-locked memory, which is charged to RLIMIT_MEMLOCK (ulimit -l). */
	check(accel_host_memory_allocate(dev, &host, SIDE * SIDE), "allocate host memory");
	check(accel_device_memory_allocate(dev, &tile, TILE * TILE), "allocate device memory");
	matrix = host;
	for (int i = 0; i < SIDE * SIDE; i++)
		matrix[i / SIDE][i % SIDE] = (unsigned char)i;

	/* The pitch is the distance from row to row: SIDE in the matrix, TILE on the device. */
	check(accel_memory_copy_2d(tile, TILE, &matrix[0][0], SIDE, TILE, TILE), "copy in");
	check(accel_memory_copy_2d(&matrix[5][5], SIDE, tile, TILE, TILE, TILE), "copy out");
	print(matrix);

	/* The last close frees both allocations. */
	check(accel_device_close(dev), "close");
	return 0;
}
