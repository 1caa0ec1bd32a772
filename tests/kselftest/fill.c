// SPDX-License-Identifier: MIT
/* FILL: patterns of every size at odd places, and each refusal. */
#include "paccel_test.h"

#define SIZE 1000

FIXTURE(fill) {
	int fd;
	u64 mem;
	u8 *model, *got;
};

FIXTURE_SETUP(fill)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
	self->model = map_pages(1);
	self->got = map_pages(1);
	pattern_fill(self->model, SIZE, 1);
	ASSERT_EQ(0, _test_cmd_copy_h2d(self->fd, self->mem, self->model, SIZE));
}

FIXTURE_TEARDOWN(fill)
{
	close(self->fd);
}

/* The card and the model alike. */
#define FILL(at, n, pattern, size)                                             \
	do {                                                                   \
		u64 _p = (pattern);                                            \
									       \
		for (u64 _i = 0; _i < (n); _i++)                               \
			self->model[(at) + _i] = ((u8 *)&_p)[_i % (size)];     \
		test_cmd_fill(self->fd, self->mem + (at), n, _p, size);        \
	} while (0)

#define VERIFY()                                                               \
	do {                                                                   \
		test_cmd_copy_d2h(self->fd, self->got, self->mem, SIZE);       \
		EXPECT_EQ(-1, bytes_diff(self->got, self->model, SIZE));       \
	} while (0)

TEST_F(fill, every_pattern_size_at_odd_places)
{
	u64 filled = stats_of(self->fd).bytes_filled;

	FILL(1, 1, 0xa5, 1);
	FILL(3, 61, 0xff, 1);
	FILL(65, 130, 0xbeef, 2);
	FILL(203, 100, 0x12345678, 4);
	FILL(305, 8, 0x0123456789abcdefull, 8);
	FILL(331, 344, 0xfedcba9876543210ull, 8);
	FILL(SIZE - 4, 4, 0, 4);
	VERIFY();
	EXPECT_EQ(filled + 1 + 61 + 130 + 100 + 8 + 344 + 4,
		  stats_of(self->fd).bytes_filled);
}

TEST_F(fill, whole_allocation)
{
	FILL(0, SIZE, 0x0102030405060708ull, 8);
	VERIFY();
}

TEST_F(fill, refusals_change_nothing)
{
	const u32 no_sizes[] = { 0, 3, 5, 6, 7, 9, 16, 256, 1u << 31, ~0u };
	u64 filled = stats_of(self->fd).bytes_filled, m = self->mem;
	int fd = self->fd;

	test_err_fill(EINVAL, fd, m, 0, 0, 1);
	for (size_t i = 0; i < ARRAY_SIZE(no_sizes); i++)
		test_err_fill(EINVAL, fd, m, 720, 0, no_sizes[i]);
	/* Length is no multiple. */
	test_err_fill(EINVAL, fd, m, 1, 0, 2);
	test_err_fill(EINVAL, fd, m, 6, 0, 4);
	test_err_fill(EINVAL, fd, m, 12, 0, 8);
	/* Bits that do not belong to the pattern, lowest and highest. */
	test_err_fill(EINVAL, fd, m, 8, 0x100, 1);
	test_err_fill(EINVAL, fd, m, 8, 1ull << 63, 1);
	test_err_fill(EINVAL, fd, m, 8, 0x10000, 2);
	test_err_fill(EINVAL, fd, m, 8, 1ull << 63, 2);
	test_err_fill(EINVAL, fd, m, 8, 1ull << 32, 4);
	test_err_fill(EINVAL, fd, m, 8, 1ull << 63, 4);
	/* Ranges. */
	test_err_fill(EINVAL, fd, ~0ull, 2, 0, 1);
	test_err_fill(EINVAL, fd, m, ~7ull, 0, 8);
	test_err_fill(EFAULT, fd, m, SIZE + 1, 0, 1);
	test_err_fill(EFAULT, fd, m, SIZE + 24, 0, 8);
	test_err_fill(EFAULT, fd, m + SIZE, 1, 0, 1);
	test_err_fill(EFAULT, fd, m - 1, 2, 0, 1);
	test_err_fill(EFAULT, fd, 0, 8, 0, 8);
	EXPECT_EQ(filled, stats_of(fd).bytes_filled);
	VERIFY();
}

PACCEL_TEST_MAIN
