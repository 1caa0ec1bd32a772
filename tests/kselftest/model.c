// SPDX-License-Identifier: MIT
/*
 * Random operations against a model of the card in host memory. The seed is printed;
 * PACCEL_SEED=N repeats a run, PACCEL_OPS=N makes it longer.
 */
#include <sys/random.h>

#include "paccel_test.h"

#define MAX_BLOCKS 8
#define OPS 120

struct block {
	u64 addr, length;	/* length 0: none */
};

FIXTURE(model) {
	int fd;
	u64 total, granule, base;
	unsigned int seed;
	struct block blocks[MAX_BLOCKS];
	u8 *card;	/* what the card's memory holds, by the model */
	u8 *host, *got;
	u64 moved[3], filled;
	int done[4];	/* operations that went well: three ways of copying, fills */
};

FIXTURE_SETUP(model)
{
	struct paccel_device_info info;
	const char *seed = getenv("PACCEL_SEED");

	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	info = info_of(self->fd);
	self->total = info.mem_size;
	self->granule = info.granule;
	self->base = info.mem_base;
	self->card = calloc(1, self->total);
	self->host = map_pages(self->total / page_size + 2);
	self->got = map_pages(self->total / page_size + 2);
	if (seed)
		self->seed = strtoul(seed, NULL, 0);
	else
		ASSERT_EQ(sizeof(self->seed),
			  getrandom(&self->seed, sizeof(self->seed), 0));
	printf("# PACCEL_SEED=%u\n", self->seed);
	ASSERT_TRUE(card_settle(self->fd));
}

FIXTURE_TEARDOWN(model)
{
	close(self->fd);
}

typedef FIXTURE_DATA(model) Model;

static unsigned int draw(Model *m, unsigned int below)
{
	return rand_r(&m->seed) % below;
}

static u8 *shadow(Model *m, u64 addr)
{
	return m->card + (addr - m->base);
}

static struct block *some_block(Model *m)
{
	int first = draw(m, MAX_BLOCKS);

	for (int i = 0; i < MAX_BLOCKS; i++) {
		struct block *b = &m->blocks[(first + i) % MAX_BLOCKS];

		if (b->length)
			return b;
	}
	return NULL;
}

/* True if there is room for so many bytes, scrubbed or not. */
static bool has_room(Model *m, u64 length, u64 align)
{
	u64 granules = m->total / m->granule, run = 0;
	bool used[granules];

	memset(used, 0, sizeof(used));
	for (int i = 0; i < MAX_BLOCKS; i++) {
		u64 at = m->blocks[i].addr - m->base, n = m->blocks[i].length;

		for (u64 g = at / m->granule; n && g * m->granule < at + n; g++)
			used[g] = true;
	}
	for (u64 g = 0; g < granules; g++) {
		if (used[g] || (!run && align > m->granule && g * m->granule % align))
			run = 0;
		else if (++run * m->granule >= length)
			return true;
	}
	return false;
}

static void op_alloc(struct __test_metadata *_metadata, Model *m)
{
	u64 length = draw(m, 900) + 1, align = 1ull << draw(m, 10), addr = 0;
	struct block *b = m->blocks;
	int rc;

	while (b < m->blocks + MAX_BLOCKS && b->length)
		b++;
	if (b == m->blocks + MAX_BLOCKS)
		return;
	rc = _test_cmd_mem_alloc(m->fd, length, align, &addr);
	ASSERT_EQ(has_room(m, length, align) ? 0 : -ENOMEM, rc);
	if (rc)
		return;
	ASSERT_EQ(0, addr % align);
	ASSERT_EQ(0, addr % m->granule);
	for (int i = 0; i < MAX_BLOCKS; i++)
		ASSERT_TRUE(!m->blocks[i].length ||
			    addr + length <= m->blocks[i].addr ||
			    m->blocks[i].addr + m->blocks[i].length <= addr);
	*b = (struct block){ addr, length };
	memset(shadow(m, addr), 0, length);
}

static void op_free(struct __test_metadata *_metadata, Model *m)
{
	struct block *b = some_block(m);

	if (!b)
		return;
	test_cmd_mem_free(m->fd, b->addr, b->length);
	b->length = 0;
}

/* A random range of a block; now and then it sticks out by a few bytes. */
static bool draw_range(Model *m, u64 *addr, u64 *n)
{
	struct block *b = some_block(m);
	u64 offset;

	if (!b)
		return false;
	offset = draw(m, b->length);
	*addr = b->addr + offset;
	*n = draw(m, b->length - offset) + 1;
	if (!draw(m, 12))
		*n = b->length - offset + 1 + draw(m, 9);
	return true;
}

/* True if one block of the model holds the whole range. */
static bool inside(Model *m, u64 addr, u64 n)
{
	for (int i = 0; i < MAX_BLOCKS; i++)
		if (m->blocks[i].length && addr >= m->blocks[i].addr &&
		    addr + n <= m->blocks[i].addr + m->blocks[i].length)
			return true;
	return false;
}

static void op_h2d(struct __test_metadata *_metadata, Model *m)
{
	u8 *from = m->host + draw(m, page_size);
	u64 addr, n;
	int rc;

	if (!draw_range(m, &addr, &n))
		return;
	for (u64 i = 0; i < n; i++)
		from[i] = draw(m, 256);
	rc = _test_cmd_copy_h2d(m->fd, addr, from, n);
	ASSERT_EQ(inside(m, addr, n) ? 0 : -EFAULT, rc);
	if (rc)
		return;
	memcpy(shadow(m, addr), from, n);
	m->moved[0] += n;
	m->done[0]++;
}

static void op_d2h(struct __test_metadata *_metadata, Model *m)
{
	u8 *to = m->got + 1 + draw(m, page_size);
	u64 addr, n;
	int rc;

	if (!draw_range(m, &addr, &n))
		return;
	to[-1] = 0xc3;
	to[n] = 0x3c;
	rc = _test_cmd_copy_d2h(m->fd, to, addr, n);
	ASSERT_EQ(inside(m, addr, n) ? 0 : -EFAULT, rc);
	EXPECT_EQ(0xc3, to[-1]);
	EXPECT_EQ(0x3c, to[n]);
	if (rc)
		return;
	ASSERT_EQ(-1, bytes_diff(to, shadow(m, addr), n));
	m->moved[1] += n;
	m->done[1]++;
}

static void op_d2d(struct __test_metadata *_metadata, Model *m)
{
	u64 from, to, n, room;
	int rc, expected = 0, tries = 4;

	/* Ranges that overlap are common and say little: a few of them will do. */
	do {
		if (!draw_range(m, &from, &n) || !draw_range(m, &to, &room))
			return;
		n = n < room ? n : room;
	} while (from < to + n && to < from + n && --tries);
	if (from < to + n && to < from + n)
		expected = -EINVAL;
	else if (!inside(m, from, n) || !inside(m, to, n))
		expected = -EFAULT;
	rc = _test_cmd_copy_d2d(m->fd, to, from, n);
	/* Both wrong: either answer is right. */
	if (expected == -EINVAL && !(inside(m, from, n) && inside(m, to, n)) && rc)
		return;
	ASSERT_EQ(expected, rc);
	if (rc)
		return;
	memcpy(shadow(m, to), shadow(m, from), n);
	m->moved[2] += n;
	m->done[2]++;
}

static void op_fill(struct __test_metadata *_metadata, Model *m)
{
	u32 size = 1u << draw(m, 4);
	u64 pattern = ((u64)rand_r(&m->seed) << 40) ^ ((u64)rand_r(&m->seed) << 16) ^
		      rand_r(&m->seed);
	u64 addr, n;
	int rc;

	if (!draw_range(m, &addr, &n))
		return;
	n = n < size ? size : n - n % size;
	if (size < 8)
		pattern &= (1ull << size * 8) - 1;
	rc = _test_cmd_fill(m->fd, addr, n, pattern, size);
	ASSERT_EQ(inside(m, addr, n) ? 0 : -EFAULT, rc);
	if (rc)
		return;
	for (u64 i = 0; i < n; i++)
		shadow(m, addr)[i] = ((u8 *)&pattern)[i % size];
	m->filled += n;
	m->done[3]++;
}

static void check_stats(struct __test_metadata *_metadata, Model *m)
{
	struct paccel_mem_stats s = stats_of(m->fd);
	u64 used = 0, n = 0;

	for (int i = 0; i < MAX_BLOCKS; i++) {
		if (!m->blocks[i].length)
			continue;
		used += (m->blocks[i].length + m->granule - 1) / m->granule * m->granule;
		n++;
	}
	ASSERT_TRUE(stats_add_up(&s));
	ASSERT_EQ(used, s.mine);
	ASSERT_EQ(n, s.mine_allocs);
	ASSERT_EQ(0, s.quarantined);
}

TEST_F(model, random_operations)
{
	static void (*const ops[])(struct __test_metadata *, Model *) = {
		op_alloc, op_alloc, op_alloc, op_free, op_free,
		op_h2d, op_h2d, op_d2h, op_d2h, op_d2d, op_d2d, op_d2d, op_fill, op_fill,
	};
	const char *wanted = getenv("PACCEL_OPS");
	struct paccel_mem_stats before = stats_of(self->fd), after;
	int n = wanted ? atoi(wanted) : OPS;

	for (int i = 0; i < n; i++) {
		ops[draw(self, ARRAY_SIZE(ops))](_metadata, self);
		check_stats(_metadata, self);
	}
	/* What has not been looked at for long. */
	for (int i = 0; i < MAX_BLOCKS; i++) {
		struct block *b = &self->blocks[i];

		if (!b->length)
			continue;
		test_cmd_copy_d2h(self->fd, self->got, b->addr, b->length);
		EXPECT_EQ(-1, bytes_diff(self->got, shadow(self, b->addr), b->length));
		self->moved[1] += b->length;
	}
	printf("# h2d %d, d2h %d, d2d %d, fill %d\n", self->done[0], self->done[1],
	       self->done[2], self->done[3]);
	after = stats_of(self->fd);
	EXPECT_EQ(before.bytes_h2d + self->moved[0], after.bytes_h2d);
	EXPECT_EQ(before.bytes_d2h + self->moved[1], after.bytes_d2h);
	EXPECT_EQ(before.bytes_d2d + self->moved[2], after.bytes_d2d);
	EXPECT_EQ(before.bytes_filled + self->filled, after.bytes_filled);
}

PACCEL_TEST_MAIN
