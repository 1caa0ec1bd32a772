// SPDX-License-Identifier: MIT
/*
 * COPY in all directions. Transfers are slow, so many copies share one look at the
 * result: each changes the card's memory and a model of it alike.
 *
 * With PACCEL_STORM set the whole program runs under a timer signal.
 */
#include "paccel_test.h"

#define SIZE 1500	/* ends inside a granule */

enum kind { PAGEABLE, REGISTERED, OWN };

FIXTURE(copy) {
	int fd;
	u64 before, mem, after;	/* neighbours of 64 bytes, live, too */
	u8 *model, *got;
	struct paccel_mem_stats at_start;
};

FIXTURE_SETUP(copy)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	/* One allocation beside the other: best fit in an empty pool. */
	ASSERT_TRUE(card_settle(self->fd));
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, 64, 0, &self->before));
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, 64, 0, &self->after));
	ASSERT_EQ(self->before + in_granules(self->fd, 64), self->mem);
	ASSERT_EQ(self->mem + in_granules(self->fd, SIZE), self->after);
	self->model = map_pages(1);
	self->got = map_pages(3);
	self->at_start = stats_of(self->fd);
	storm_start();
}

FIXTURE_TEARDOWN(copy)
{
	storm_end();
	close(self->fd);
}

/* Both the card and the model get a pattern. */
#define INIT(seed)                                                             \
	do {                                                                   \
		pattern_fill(self->model, SIZE, seed);                         \
		test_cmd_copy_h2d(self->fd, self->mem, self->model, SIZE);     \
	} while (0)

/* The card holds what the model does. */
#define VERIFY()                                                               \
	do {                                                                   \
		memset(self->got, 0xc3, SIZE + 1);                             \
		test_cmd_copy_d2h(self->fd, self->got, self->mem, SIZE);       \
		EXPECT_EQ(-1, bytes_diff(self->got, self->model, SIZE));       \
		EXPECT_EQ(0xc3, self->got[SIZE]);                              \
	} while (0)

/* --- kinds of host memory ------------------------------------------------ */

FIXTURE(kinds) {
	int fd;
	u64 mem;
	u8 *host;	/* two pages of the kind */
	u8 *model;
};

FIXTURE_VARIANT(kinds) {
	enum kind kind;
};

FIXTURE_VARIANT_ADD(kinds, pageable) { .kind = PAGEABLE };
FIXTURE_VARIANT_ADD(kinds, registered) { .kind = REGISTERED };
FIXTURE_VARIANT_ADD(kinds, host_alloc) { .kind = OWN };

FIXTURE_SETUP(kinds)
{
	u64 offset;

	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
	self->model = map_pages(1);
	if (variant->kind == OWN) {
		ASSERT_EQ(0, _test_cmd_host_alloc(self->fd, 2 * page_size, &offset));
		self->host = host_map(self->fd, 2 * page_size, offset);
		ASSERT_NE(MAP_FAILED, self->host);
	} else {
		self->host = map_pages(2);
	}
	if (variant->kind == REGISTERED)
		ASSERT_EQ(0, _test_cmd_host_register(self->fd, self->host,
						     2 * page_size, 0));
	storm_start();
}

FIXTURE_TEARDOWN(kinds)
{
	storm_end();
	close(self->fd);
}

struct piece {
	u64 dev, host, n;
};

/* Odd lengths and offsets; the ones at page_size - x cross into the second page. */
TEST_F(kinds, to_the_card)
{
	const struct piece pieces[] = {
		{ 0, 1, 1 }, { 3, page_size - 1, 2 }, { 63, 7, 129 },
		{ 777, page_size - 333, 667 }, { SIZE - 1, 2 * page_size - 1, 1 },
	};

	pattern_fill(self->host, 2 * page_size, 7);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		const struct piece *p = &pieces[i];

		memcpy(self->model + p->dev, self->host + p->host, p->n);
		test_cmd_copy_h2d(self->fd, self->mem + p->dev,
				  self->host + p->host, p->n);
	}
	EXPECT_EQ(-1, pattern_diff(self->host, 2 * page_size, 7));
	/* What none of them has touched is still zero. */
	test_cmd_copy_d2h(self->fd, self->host + 5, self->mem, SIZE);
	EXPECT_EQ(-1, bytes_diff(self->host + 5, self->model, SIZE));
}

TEST_F(kinds, from_the_card)
{
	const struct piece pieces[] = {
		{ 1, 0, 1 }, { 2, page_size - 3, 5 }, { 65, 31, 127 },
		{ 499, page_size - 500, 1001 },
	};

	pattern_fill(self->model, SIZE, 9);
	memcpy(self->host + 3, self->model, SIZE);
	test_cmd_copy_h2d(self->fd, self->mem, self->host + 3, SIZE);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		const struct piece *p = &pieces[i];
		u8 *at = self->host + p->host;

		memset(self->host, 0xc3, 2 * page_size);
		test_cmd_copy_d2h(self->fd, at, self->mem + p->dev, p->n);
		EXPECT_EQ(-1, bytes_diff(at, self->model + p->dev, p->n));
		/* Not a byte before, not a byte behind. */
		EXPECT_TRUE(all_bytes(self->host, p->host, 0xc3));
		EXPECT_TRUE(all_bytes(at + p->n, 2 * page_size - p->host - p->n, 0xc3));
	}
}

TEST_F(kinds, rows)
{
	/* Rows of 37 bytes, pitch 101 on the card, 50 in host memory and across pages. */
	u8 *host = self->host + page_size - 60;
	const int rows = 2;

	pattern_fill(self->host, 2 * page_size, 11);
	for (int row = 0; row < rows; row++)
		memcpy(self->model + 13 + row * 101, host + row * 50, 37);
	test_cmd_copy_2d(self->fd, PACCEL_COPY_H2D, self->mem + 13,
			 (uintptr_t)host, 37, rows, 101, 50);
	EXPECT_EQ(-1, pattern_diff(self->host, 2 * page_size, 11));

	memset(self->host, 0xc3, 2 * page_size);
	test_cmd_copy_2d(self->fd, PACCEL_COPY_D2H, (uintptr_t)host,
			 self->mem + 13, 37, rows, 50, 101);
	EXPECT_TRUE(all_bytes(self->host, page_size - 60, 0xc3));
	for (int row = 0; row < rows; row++) {
		EXPECT_EQ(-1, bytes_diff(host + row * 50,
					 self->model + 13 + row * 101, 37));
		EXPECT_TRUE(all_bytes(host + row * 50 + 37, 13, 0xc3));
	}
	/* And on the card nothing lies between the rows. */
	test_cmd_copy_d2h(self->fd, self->host, self->mem, SIZE);
	EXPECT_EQ(-1, bytes_diff(self->host, self->model, SIZE));
}

/* --- inside the card ----------------------------------------------------- */

TEST_F(copy, inside_the_card)
{
	const struct piece pieces[] = {	/* from, to, length */
		{ 0, 1401, 1 }, { 1, 700, 333 }, { 1201, 129, 299 },
	};

	INIT(1);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		const struct piece *p = &pieces[i];

		memcpy(self->model + p->host, self->model + p->dev, p->n);
		test_cmd_copy_d2d(self->fd, self->mem + p->host,
				  self->mem + p->dev, p->n);
	}
	VERIFY();
}

TEST_F(copy, between_allocations)
{
	INIT(2);
	test_cmd_copy_d2d(self->fd, self->after, self->mem + 1, 64);
	test_cmd_copy_d2d(self->fd, self->before, self->after, 64);
	test_cmd_copy_d2h(self->fd, self->got, self->before, 64);
	EXPECT_EQ(-1, bytes_diff(self->got, self->model + 1, 64));
	VERIFY();
}

/* Source and destination touch, and do not overlap. */
TEST_F(copy, neighbours_are_no_overlap)
{
	INIT(3);
	memcpy(self->model + 100, self->model, 100);
	test_cmd_copy_d2d(self->fd, self->mem + 100, self->mem, 100);
	memcpy(self->model + 700, self->model + 800, 100);
	test_cmd_copy_d2d(self->fd, self->mem + 700, self->mem + 800, 100);
	VERIFY();
}

TEST_F(copy, overlap_is_refused)
{
	u64 m = self->mem;

	INIT(4);
	test_err_copy_d2d(EINVAL, self->fd, m, m, 1);
	test_err_copy_d2d(EINVAL, self->fd, m, m, SIZE);
	test_err_copy_d2d(EINVAL, self->fd, m + 1, m, 2);
	test_err_copy_d2d(EINVAL, self->fd, m, m + 1, 2);
	test_err_copy_d2d(EINVAL, self->fd, m + 99, m, 100);
	test_err_copy_d2d(EINVAL, self->fd, m, m + 99, 100);
	/* Rows: the same place, the next row, a byte into the next row. */
	test_err_copy_2d(EINVAL, self->fd, PACCEL_COPY_D2D, m, m, 10, 3, 64, 64);
	test_err_copy_2d(EINVAL, self->fd, PACCEL_COPY_D2D, m + 64, m, 10, 3, 64, 64);
	test_err_copy_2d(EINVAL, self->fd, PACCEL_COPY_D2D, m, m + 128, 10, 3, 64, 64);
	test_err_copy_2d(EINVAL, self->fd, PACCEL_COPY_D2D, m + 9, m, 10, 3, 64, 64);
	test_err_copy_2d(EINVAL, self->fd, PACCEL_COPY_D2D, m, m + 9, 10, 3, 64, 64);
	test_err_copy_2d(EINVAL, self->fd, PACCEL_COPY_D2D, m + 55, m, 10, 3, 64, 64);
	/* Unequal pitches: whole ranges are compared, though no byte is shared. */
	test_err_copy_2d(EINVAL, self->fd, PACCEL_COPY_D2D, m + 20, m, 10, 3, 65, 64);
	VERIFY();
}

/* With equal pitches rows may lie between each other's rows. */
TEST_F(copy, rows_interleave)
{
	INIT(5);
	for (int row = 0; row < 2; row++)
		memcpy(self->model + 10 + row * 64, self->model + row * 64, 10);
	test_cmd_copy_2d(self->fd, PACCEL_COPY_D2D, self->mem + 10, self->mem,
			 10, 2, 64, 64);
	/* The last place before the next row of the source begins. */
	for (int row = 0; row < 2; row++)
		memcpy(self->model + 554 + row * 64, self->model + 500 + row * 64, 10);
	test_cmd_copy_2d(self->fd, PACCEL_COPY_D2D, self->mem + 554,
			 self->mem + 500, 10, 2, 64, 64);
	VERIFY();
}

TEST_F(copy, rows_with_unequal_pitches)
{
	INIT(6);
	for (int row = 0; row < 2; row++)
		memcpy(self->model + 1000 + row * 7, self->model + row * 333, 7);
	test_cmd_copy_2d(self->fd, PACCEL_COPY_D2D, self->mem + 1000, self->mem,
			 7, 2, 7, 333);
	VERIFY();
}

/* --- ranges of device memory --------------------------------------------- */

/* All that is said of one range, for each command that takes one. */
static void refuse_range(struct __test_metadata *_metadata, int err, int fd,
			 u64 addr, u64 n, u64 valid, void *host)
{
	test_err_copy_h2d(err, fd, addr, host, n);
	test_err_copy_d2h(err, fd, host, addr, n);
	test_err_copy_d2d(err, fd, addr, valid, n);
	test_err_copy_d2d(err, fd, valid, addr, n);
	test_err_fill(err, fd, addr, n, 0, 1);
}

TEST_F(copy, one_byte_too_far)
{
	u64 m = self->mem, spacer, valid;
	u8 *host = self->got;

	INIT(7);
	test_cmd_mem_alloc(self->fd, 64, 0, &spacer);
	test_cmd_mem_alloc(self->fd, SIZE, 0, &valid);
	/* Bytes on both sides belong to live allocations, or to its own granule. */
	refuse_range(_metadata, EFAULT, self->fd, m - 1, 2, valid, host);
	refuse_range(_metadata, EFAULT, self->fd, m - 1, 1 + SIZE, valid, host);
	refuse_range(_metadata, EFAULT, self->fd, m + SIZE - 1, 2, valid, host);
	refuse_range(_metadata, EFAULT, self->fd, m, SIZE + 1, valid, host);
	refuse_range(_metadata, EFAULT, self->fd, m + SIZE, 1, valid, host);
	refuse_range(_metadata, EFAULT, self->fd, self->after - 1, 1, valid, host);
	refuse_range(_metadata, EFAULT, self->fd, self->before, 65, valid, host);
	refuse_range(_metadata, EFAULT, self->fd, self->after + 63, 2, valid, host);
	/* No such memory. */
	refuse_range(_metadata, EFAULT, self->fd, valid + in_granules(self->fd, SIZE), 1, valid,
		     host);
	refuse_range(_metadata, EFAULT, self->fd, 0, 1, valid, host);
	refuse_range(_metadata, EFAULT, self->fd, (u32)m, 1, valid, host);
	refuse_range(_metadata, EFAULT, self->fd, (uintptr_t)host, 1, valid, host);
	refuse_range(_metadata, EFAULT, self->fd, m + (1ull << 32), 1, valid, host);
	refuse_range(_metadata, EFAULT, self->fd, ~0ull - 8, 1, valid, host);
	/* The last byte of a row, and the first. */
	test_err_copy_2d(EFAULT, self->fd, PACCEL_COPY_H2D, m + SIZE - 73,
			 (uintptr_t)host, 10, 2, 64, 10);
	test_err_copy_2d(EFAULT, self->fd, PACCEL_COPY_D2H, (uintptr_t)host,
			 m - 1, 10, 2, 10, 64);
	VERIFY();
}

TEST_F(copy, up_to_the_last_byte)
{
	INIT(8);
	self->model[SIZE - 1] ^= 0xff;
	test_cmd_copy_h2d(self->fd, self->mem + SIZE - 1, &self->model[SIZE - 1], 1);
	memset(self->model + SIZE - 74, 1, 10);
	memset(self->model + SIZE - 10, 1, 10);
	memset(self->got, 1, 20);
	test_cmd_copy_2d(self->fd, PACCEL_COPY_H2D, self->mem + SIZE - 74,
			 (uintptr_t)self->got, 10, 2, 64, 10);
	VERIFY();
}

TEST_F(copy, freed_memory)
{
	u64 gone, valid;

	test_cmd_mem_alloc(self->fd, 64, 0, &gone);
	test_cmd_mem_alloc(self->fd, 64, 0, &valid);
	test_cmd_mem_free(self->fd, gone, 64);
	refuse_range(_metadata, EFAULT, self->fd, gone, 1, valid, self->got);
	refuse_range(_metadata, EFAULT, self->fd, gone + 63, 1, valid, self->got);
	refuse_range(_metadata, EFAULT, self->fd, valid - 1, 2, self->mem, self->got);
}

TEST_F(copy, wrapping_ranges)
{
	u64 m = self->mem, host = (uintptr_t)self->got;
	int fd = self->fd;

	refuse_range(_metadata, EINVAL, fd, ~0ull, 2, m, self->got);
	refuse_range(_metadata, EINVAL, fd, m, ~0ull - m + 2, m, self->got);
	refuse_range(_metadata, EINVAL, fd, m, ~0ull, m, self->got);
	test_err_copy_h2d(EINVAL, fd, m, (void *)-8ul, 9);
	test_err_copy_d2h(EINVAL, fd, (void *)-8ul, m, 9);
	/* Products and sums of rows and pitches, each on each side. */
	test_err_copy_2d(EINVAL, fd, PACCEL_COPY_H2D, m, host, 1, 1ull << 32, 1ull << 32, 1);
	test_err_copy_2d(EINVAL, fd, PACCEL_COPY_H2D, m, host, 1, 1ull << 32, 1, 1ull << 32);
	test_err_copy_2d(EINVAL, fd, PACCEL_COPY_H2D, m, host, 1, 3, 1ull << 63, 1);
	test_err_copy_2d(EINVAL, fd, PACCEL_COPY_H2D, m, host, 1, ~0ull, 2, 2);
	test_err_copy_2d(EINVAL, fd, PACCEL_COPY_H2D, m, host, ~0ull, 2, ~0ull, ~0ull);
	test_err_copy_2d(EINVAL, fd, PACCEL_COPY_D2D, m, m + 64, 1, 2, ~0ull, 1);
	test_err_copy_2d(EINVAL, fd, PACCEL_COPY_D2D, m, m + 64, 1, 2, 1, ~0ull);
}

TEST_F(copy, shapes)
{
	u64 m = self->mem, host = (uintptr_t)self->got;
	int fd = self->fd;
	const u32 dirs[] = { PACCEL_COPY_H2D, PACCEL_COPY_D2H, PACCEL_COPY_D2D };
	const u32 no_dirs[] = { 0, 4, 7, 1u << 31, ~0u };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		u64 dst = dirs[i] == PACCEL_COPY_D2H ? host : m;
		u64 src = dirs[i] == PACCEL_COPY_H2D ? host : m + 512;

		test_err_copy_2d(EINVAL, fd, dirs[i], dst, src, 0, 1, 0, 0);
		test_err_copy_2d(EINVAL, fd, dirs[i], dst, src, 1, 0, 0, 0);
		test_err_copy_2d(EINVAL, fd, dirs[i], dst, src, 8, 2, 7, 8);
		test_err_copy_2d(EINVAL, fd, dirs[i], dst, src, 8, 2, 8, 7);
		test_err_copy_2d(EINVAL, fd, dirs[i], dst, src, 8, 2, 0, 8);
		test_err_copy_2d(EINVAL, fd, dirs[i], dst, src, 8, 2, 8, 0);
		/* With one row a pitch may be 0, but if it is given it holds. */
		test_err_copy_2d(EINVAL, fd, dirs[i], dst, src, 8, 1, 7, 0);
		test_err_copy_2d(EINVAL, fd, dirs[i], dst, src, 8, 1, 0, 1);
		EXPECT_EQ(0, _test_cmd_copy_2d(fd, dirs[i], dst, src,
				(struct copy_2d){ 8, 1, 8, 1ull << 62 }));
	}
	for (size_t i = 0; i < ARRAY_SIZE(no_dirs); i++)
		test_err_copy_2d(EINVAL, fd, no_dirs[i], m, host, 1, 1, 0, 0);
}

/* --- host memory that is not there --------------------------------------- */

TEST_F(copy, host_memory_that_cannot_be_read)
{
	u8 *gone = map_pages(1), *none = map_pages(1);

	INIT(10);
	munmap(gone, page_size);
	mprotect(none, page_size, PROT_NONE);
	test_err_copy_h2d(EFAULT, self->fd, self->mem, NULL, 1);
	test_err_copy_h2d(EFAULT, self->fd, self->mem, gone, 1);
	test_err_copy_h2d(EFAULT, self->fd, self->mem, none, 8);
	/* Kernel addresses, and addresses that are none. */
	test_err_copy_h2d(EFAULT, self->fd, self->mem, (void *)(~0ul << 47), 8);
	test_err_copy_h2d(EFAULT, self->fd, self->mem, (void *)-4096ul, 8);
	test_err_copy_h2d(EFAULT, self->fd, self->mem, (void *)(1ul << 47), 8);
	test_err_copy_h2d(EFAULT, self->fd, self->mem, (void *)(1ul << 60), 8);
	VERIFY();
}

TEST_F(copy, host_memory_that_cannot_be_written)
{
	u8 *gone = map_pages(1), *fixed = map_pages(1);

	INIT(11);
	munmap(gone, page_size);
	memset(fixed, 0x77, page_size);
	mprotect(fixed, page_size, PROT_READ);
	test_err_copy_d2h(EFAULT, self->fd, NULL, self->mem, 1);
	test_err_copy_d2h(EFAULT, self->fd, gone, self->mem, 1);
	test_err_copy_d2h(EFAULT, self->fd, fixed, self->mem, 8);
	test_err_copy_d2h(EFAULT, self->fd, (void *)(~0ul << 47), self->mem, 8);
	EXPECT_TRUE(all_bytes(fixed, page_size, 0x77));
	/* It can be read, though. */
	memset(self->model, 0x77, 8);
	test_cmd_copy_h2d(self->fd, self->mem, fixed, 8);
	VERIFY();
}

/* The second of two pages is missing. */
TEST_F(copy, host_memory_that_ends_too_early)
{
	u8 *host = map_pages(2);

	munmap(host + page_size, page_size);
	test_err_copy_h2d(EFAULT, self->fd, self->mem, host + page_size - 4, 5);
	test_err_copy_d2h(EFAULT, self->fd, host + page_size - 4, self->mem, 5);
	test_err_copy_2d(EFAULT, self->fd, PACCEL_COPY_H2D, self->mem,
			 (uintptr_t)host + page_size - 8, 4, 3, 8, 4);
	INIT(12);
	memcpy(self->model, host + page_size - 4, 4);
	test_cmd_copy_h2d(self->fd, self->mem, host + page_size - 4, 4);
	VERIFY();
}

/* What lies between the rows is not touched, and need not be there. */
TEST_F(copy, host_memory_with_holes_between_rows)
{
	u8 *host = map_pages(3);

	munmap(host + page_size, page_size);
	INIT(17);
	pattern_fill(host, 8, 18);
	pattern_fill(host + 2 * page_size, 8, 19);
	memcpy(self->model, host, 8);
	memcpy(self->model + 8, host + 2 * page_size, 8);
	test_cmd_copy_2d(self->fd, PACCEL_COPY_H2D, self->mem, (uintptr_t)host,
			 8, 2, 8, 2 * page_size);
	test_cmd_copy_2d(self->fd, PACCEL_COPY_D2H, (uintptr_t)host, self->mem + 1,
			 8, 2, 2 * page_size, 8);
	EXPECT_EQ(-1, bytes_diff(host, self->model + 1, 8));
	EXPECT_EQ(-1, bytes_diff(host + 2 * page_size, self->model + 9, 8));
	VERIFY();
}

TEST_F(copy, never_touched_memory)
{
	u8 *untouched = map_pages(1);

	INIT(13);
	/* The zero page as a source, and then as a destination. */
	memset(self->model, 0, 100);
	test_cmd_copy_h2d(self->fd, self->mem, untouched, 100);
	VERIFY();
	test_cmd_copy_d2h(self->fd, untouched, self->mem + 100, 100);
	EXPECT_EQ(-1, bytes_diff(untouched, self->model + 100, 100));
	EXPECT_TRUE(all_bytes(untouched + 100, page_size - 100, 0));
}

TEST_F(copy, shared_and_file_memory)
{
	int file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	u8 *map, *private;

	ASSERT_LE(0, file);
	ASSERT_EQ(0, ftruncate(file, page_size));
	map = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	private = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_NE(MAP_FAILED, private);
	INIT(14);
	test_cmd_copy_d2h(self->fd, map, self->mem, 99);
	ASSERT_EQ(99, pread(file, self->got, 99, 0));
	EXPECT_EQ(-1, bytes_diff(self->got, self->model, 99));
	/* A private mapping gets a page of its own, the file stays as it is. */
	test_cmd_copy_d2h(self->fd, private, self->mem + 200, 99);
	EXPECT_EQ(-1, bytes_diff(private, self->model + 200, 99));
	EXPECT_EQ(-1, bytes_diff(map, self->model, 99));
}

/* Half of the operand is registered: as a whole it is pageable, and works. */
TEST_F(copy, partly_registered)
{
	u8 *host = map_pages(2);

	test_cmd_host_register(self->fd, host, page_size, 0);
	INIT(15);
	pattern_fill(host + page_size - 50, 100, 16);
	memcpy(self->model, host + page_size - 50, 100);
	test_cmd_copy_h2d(self->fd, self->mem, host + page_size - 50, 100);
	memset(host, 0, 2 * page_size);
	test_cmd_copy_d2h(self->fd, host + page_size - 50, self->mem, 100);
	EXPECT_EQ(-1, bytes_diff(host + page_size - 50, self->model, 100));
	VERIFY();
}

/* --- counters ------------------------------------------------------------ */

TEST_F(copy, bytes_are_counted)
{
	bool inside = info_of(self->fd).caps & PACCEL_CAP_NATIVE_D2D;
	struct paccel_mem_stats s;

	test_cmd_copy_h2d(self->fd, self->mem, self->got, 101);
	test_cmd_copy_d2h(self->fd, self->got, self->mem, 53);
	test_cmd_copy_d2d(self->fd, self->mem + 100, self->mem, 29);
	test_cmd_copy_2d(self->fd, PACCEL_COPY_H2D, self->mem,
			 (uintptr_t)self->got, 3, 2, 100, 100);
	/* Refused, so not counted. */
	test_err_copy_h2d(EFAULT, self->fd, self->mem, NULL, 1);
	test_err_copy_h2d(EFAULT, self->fd, 0, self->got, 1);
	s = stats_of(self->fd);
	EXPECT_EQ(self->at_start.bytes_h2d + 107, s.bytes_h2d);
	EXPECT_EQ(self->at_start.bytes_d2h + 53, s.bytes_d2h);
	EXPECT_EQ(self->at_start.bytes_d2d + 29, s.bytes_d2d);
	EXPECT_EQ(self->at_start.bytes_filled, s.bytes_filled);
	EXPECT_EQ(self->at_start.xfers + (inside ? 5 : 6), s.xfers);
}

/* Last of all: the storm was none if nobody was hit. */
FIXTURE(storm) {
	int nothing;
};

FIXTURE_SETUP(storm)
{
}

FIXTURE_TEARDOWN(storm)
{
}

TEST_F(storm, was_there)
{
	EXPECT_LE(storm_wanted() ? 100 : 0, storm_signals());
	EXPECT_EQ(storm_wanted(), storm_signals() > 0);
}

PACCEL_TEST_MAIN
