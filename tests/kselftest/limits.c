// SPDX-License-Identifier: MIT
/*
 * What the DMA of a card cannot do: tests/module/backend.c says so of the card, and fails each request that the
 * card could not have carried out. Nothing else may use the card.
 */
#include "dmabuf.h"
#include "stream_test.h"

#define ALIGN 16
/* Bytes of a copy, at most. */
#define MOST 262144

FIXTURE(limits) {
	char parameters[256];
	int fd;
	size_t size;
	u64 mem;
	u8 *there, *back;
};

FIXTURE_SETUP(limits)
{
	if (!getenv("PACCEL_TEST_KO") || access(getenv("PACCEL_TEST_KO"), R_OK))
		SKIP(return, "there is no paccel_test.ko: make kernel builds it");
	xfers_note();
	self->fd = -1;
	self->there = map_pages(MOST / page_size + 2);
	self->back = map_pages(MOST / page_size + 2);
	pattern_fill(self->there, MOST + page_size, 1);
}

FIXTURE_TEARDOWN(limits)
{
	if (self->fd >= 0)
		close(self->fd);
	if (!*self->parameters)
		return;
	EXPECT_TRUE(WAIT_FOR(!backend_unload(), 5000));
	EXPECT_EQ(0, driver_bind(card_bdf()));
}

static bool is_edu(void)
{
	return !strcmp(card_kind(), "edu");
}

/* Binds the card with fields of its paccel_hw_info, and allocates of its memory. */
static void begin(struct __test_metadata *_metadata, FIXTURE_DATA(limits) *self, const char *set)
{
	snprintf(self->parameters, sizeof(self->parameters), "backend=%s set=%s", card_kind(), set);
	ASSERT_EQ(0, backend_load(self->parameters));
	self->fd = card_open();
	ASSERT_LE(0, self->fd) TH_LOG("%s", set);
	/* Each transfer of an edu takes 100 ms. */
	self->size = is_edu() ? 1024 : MOST;
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, self->size, 0, &self->mem)) TH_LOG("%s", set);
}

static void end(struct __test_metadata *_metadata, FIXTURE_DATA(limits) *self)
{
	close(self->fd);
	self->fd = -1;
	ASSERT_TRUE(WAIT_FOR(!backend_unload(), 5000));
}

/* One of the values that the backend shows of its engines. */
static unsigned int shown(const char *name, unsigned int engine)
{
	char path[64], text[128], *word = text;

	snprintf(path, sizeof(path), "/sys/module/paccel_test/parameters/%s", name);
	if (file_read(path, text, sizeof(text)) < 0)
		abort();
	while (engine--)
		word = strchr(word, ',') + 1;
	return strtoul(word, NULL, 10);
}

static unsigned int pieces_given(void)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < 8; i++)
		sum += shown("pieces", i);
	return sum;
}

/* To the card and back, with host memory that is or is not registered. */
static void copy_around(struct __test_metadata *_metadata, FIXTURE_DATA(limits) *self, u8 *from,
			u8 *to)
{
	memset(to, 0, self->size);
	test_cmd_copy_h2d(self->fd, self->mem, from, self->size);
	test_cmd_copy_d2h(self->fd, to, self->mem, self->size);
	EXPECT_EQ(-1, bytes_diff(from, to, self->size)) TH_LOG("%s", self->parameters);
}

static void copy_all_ways(struct __test_metadata *_metadata, FIXTURE_DATA(limits) *self)
{
	u8 *from = self->there + 8, *to = self->back + 24;
	struct copy_2d rows = { self->size / 16, 8, self->size / 8, self->size / 8 };
	size_t length = MOST + page_size;

	/* At once, and in slices that are pinned for the time of the copy. */
	copy_around(_metadata, self, from, to);
	test_cmd_host_register(self->fd, self->there, length, 0);
	test_cmd_host_register(self->fd, self->back, length, 0);
	copy_around(_metadata, self, from, to);
	copy_around(_metadata, self, self->there, self->back);
	memset(to, 0, self->size);
	EXPECT_EQ(0, _test_cmd_copy_2d(self->fd, PACCEL_COPY_H2D, self->mem, (uintptr_t)from, rows));
	EXPECT_EQ(0, _test_cmd_copy_2d(self->fd, PACCEL_COPY_D2H, (uintptr_t)to, self->mem, rows));
	for (u64 row = 0; row < rows.rows; row++)
		EXPECT_EQ(-1, bytes_diff(from + row * rows.src_pitch, to + row * rows.dst_pitch,
					 rows.width));
	/* What is done with a buffer of the driver. */
	test_cmd_fill(self->fd, self->mem, self->size / 2, 0x55, 1);
	EXPECT_EQ(0, _test_cmd_copy_d2d(self->fd, self->mem + self->size / 2, self->mem,
					self->size / 2));
	test_cmd_copy_d2h(self->fd, to, self->mem, self->size);
	EXPECT_TRUE(all_bytes(to, self->size, 0x55)) TH_LOG("%s", self->parameters);
}

/* @most: bytes of a piece. */
static const struct { const char *set; size_t most; } pieces[] = {
	{ "max_seg=256", 256 },
	{ "seg_boundary=512", 512 },
	/* The others are the same for a card whose transfers have one piece. */
	{ "", MOST },
	{ "max_seg=4096", 4096 },
	{ "max_seg=1000", 1000 },
	{ "seg_boundary=4096", 4096 },
	{ "max_seg=720,seg_boundary=1024", 720 },
	{ "max_seg=4096,max_segs=1", 4096 },
	{ "max_segs=1", MOST },
	{ "seg_boundary=1024,max_segs=3", 1024 },
};

TEST_F(limits, of_pieces)
{
	for (size_t i = 0; i < (is_edu() ? 2 : ARRAY_SIZE(pieces)); i++) {
		unsigned int before;

		begin(_metadata, self, pieces[i].set);
		before = pieces_given();
		copy_all_ways(_metadata, self);
		/* Six copies of all and two of half of it, at least. */
		EXPECT_LE(7 * self->size / pieces[i].most, pieces_given() - before)
			TH_LOG("%s", pieces[i].set);
		end(_metadata, self);
	}
}

TEST_F(limits, of_alignment)
{
	u8 *odd = self->there + 3, *to = self->back + 5;
	u64 mem, n;
	int stream;

	begin(_metadata, self, "dma_align=16");
	EXPECT_EQ(ALIGN, info_of(self->fd).copy_align);
	mem = self->mem;
	n = self->size;
	/* The CPU copies host memory that lies differently. */
	copy_all_ways(_metadata, self);
	copy_around(_metadata, self, odd, to);
	test_cmd_copy_2d(self->fd, PACCEL_COPY_H2D, mem, (uintptr_t)odd, 32, 4, 48, 33);
	test_cmd_copy_2d(self->fd, PACCEL_COPY_D2H, (uintptr_t)to, mem, 32, 4, 35, 48);
	for (int row = 0; row < 4; row++)
		EXPECT_EQ(-1, bytes_diff(odd + row * 33, to + row * 35, 32));
	/* A pitch that is not used. */
	test_cmd_copy_2d(self->fd, PACCEL_COPY_H2D, mem, (uintptr_t)odd, 32, 1, 33, 33);

	test_err_copy_h2d(EINVAL, self->fd, mem + 8, odd, ALIGN);
	test_err_copy_h2d(EINVAL, self->fd, mem, odd, n - 1);
	test_err_copy_d2h(EINVAL, self->fd, to, mem + 1, ALIGN);
	test_err_copy_d2h(EINVAL, self->fd, to, mem, 8);
	test_err_copy_2d(EINVAL, self->fd, PACCEL_COPY_H2D, mem, (uintptr_t)odd, 32, 2, 40, 48);
	test_err_copy_2d(EINVAL, self->fd, PACCEL_COPY_D2H, (uintptr_t)to, mem, 32, 2, 48, 40);
	EXPECT_EQ(-EINVAL, _test_cmd_copy_d2d(self->fd, mem + 8, mem + 64, ALIGN));
	EXPECT_EQ(-EINVAL, _test_cmd_copy_d2d(self->fd, mem, mem + 72, ALIGN));
	test_err_fill(EINVAL, self->fd, mem + 8, ALIGN, 1, 1);
	test_err_fill(EINVAL, self->fd, mem, 24, 1, 8);
	stream = stream_create(self->fd);
	test_cmd_host_register(self->fd, self->back + MOST + page_size, page_size, 0);
	test_err_submit(EINVAL, self->fd, stream,
			op_d2h(self->back + MOST + page_size, mem + 8, ALIGN));
	EXPECT_EQ(0, outcome(self->fd, stream,
			     submit(self->fd, stream,
				    op_d2h(self->back + MOST + page_size + 1, mem, ALIGN))));
}

/* Where only the device reaches the memory, the CPU cannot align it. */
TEST_F(limits, of_alignment_in_foreign_memory)
{
	u8 *range = mmap(NULL, page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int dmabuf = vgem_dmabuf(page_size, true);
	int odd;

	ASSERT_LE(0, dmabuf);
	begin(_metadata, self, "dma_align=16");
	test_cmd_host_dmabuf(self->fd, range, page_size, dmabuf, 0);
	odd = info_of(self->fd).caps & PACCEL_CAP_DIRECT_DMA ? -EINVAL : 0;
	EXPECT_EQ(odd, _test_cmd_copy_h2d(self->fd, self->mem, range + 8, ALIGN));
	EXPECT_EQ(odd, _test_cmd_copy_d2h(self->fd, range + 1, self->mem, ALIGN));
	EXPECT_EQ(odd, _test_cmd_copy_2d(self->fd, PACCEL_COPY_H2D, self->mem, (uintptr_t)range,
					 (struct copy_2d){ ALIGN, 2, ALIGN, 24 }));
	test_cmd_copy_h2d(self->fd, self->mem, range + ALIGN, 2 * ALIGN);
	test_cmd_copy_d2h(self->fd, range + 3 * ALIGN, self->mem, 2 * ALIGN);
}

/* H2D, D2H and what happens inside the device each have engines of their own. An edu has one for all. */
#define TO_DEVICE 0x01
#define TO_HOST 0x02
#define INSIDE 0x1c

TEST_F(limits, of_engines)
{
	int stream;
	u64 half;

	begin(_metadata, self, is_edu() ? "engine_ops[0]=3" :
	      "engine_ops[0]=1,engine_ops[1]=2,engine_ops[2]=0x1c,engine_ops[3]=0x1c");
	half = self->size / 2;
	copy_all_ways(_metadata, self);
	stream = stream_create(self->fd);
	for (int i = 0; i < (is_edu() ? 1 : 20); i++) {
		memset(self->back, 0, self->size);
		self->there[0] = i;
		EXPECT_EQ(0, outcome(self->fd, stream, submit(self->fd, stream,
			op_h2d(self->mem, self->there, half),
			op_copy(PACCEL_COPY_D2D, self->mem + half, self->mem, half),
			op_fill(self->mem, half, i, 1),
			op_d2h(self->back, self->mem, self->size))));
		EXPECT_TRUE(all_bytes(self->back, half, i));
		EXPECT_EQ(-1, bytes_diff(self->there, self->back + half, half));
	}
	if (is_edu()) {
		EXPECT_EQ(TO_DEVICE | TO_HOST, shown("ops", 0));
		return;
	}
	EXPECT_EQ(TO_DEVICE, shown("ops", 0));
	EXPECT_EQ(TO_HOST, shown("ops", 1));
	EXPECT_EQ(0, (shown("ops", 2) | shown("ops", 3)) & ~INSIDE);
	EXPECT_NE(0, shown("ops", 2) | shown("ops", 3));
}

PACCEL_TEST_MAIN
