// SPDX-License-Identifier: MIT
/*
 * Interrupts that mean nothing: whoever can reach the card's register raises them at
 * will, and they must neither end a transfer nor anything else.
 *
 * Needs a kernel that lets root map a BAR which a driver has: without STRICT_DEVMEM, or
 * with iomem=relaxed on its command line.
 */
#include "paccel_test.h"

#define SIZE 400
#define EDU_RAISE 0x60

FIXTURE(irq) {
	int fd;
	u64 mem, spurious, lost;
	u8 *host;
	volatile u32 *bar;
};

static u64 counter(const char *name)
{
	u64 n = ~0ull;

	card_attr_u64(name, &n);
	return n;
}

FIXTURE_SETUP(irq)
{
	char path[128];
	void *bar;
	int fd;

	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_STREQ("edu", info_of(self->fd).backend);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource0", card_bdf());
	fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
	ASSERT_LE(0, fd);
	bar = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bar == MAP_FAILED)
		SKIP(return, "a BAR that a driver has cannot be mapped (%s): boot with iomem=relaxed",
		     strerror(errno));
	close(fd);
	self->bar = bar;
	self->host = map_pages(1);
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
	ASSERT_TRUE(card_settle(self->fd));
	self->spurious = counter("spurious_irqs");
	self->lost = counter("lost_irqs");
}

FIXTURE_TEARDOWN(irq)
{
	EXPECT_EQ(self->lost, counter("lost_irqs"));
	EXPECT_TRUE(card_health_is("ok"));
	pattern_fill(self->host, SIZE, 6);
	EXPECT_EQ(0, _test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE));
	close(self->fd);
}

static void raise_irq(FIXTURE_DATA(irq) *self, u32 value)
{
	self->bar[EDU_RAISE / 4] = value;
}

/*
 * Counted one by one: the next is raised when the last was seen. All-ones is also what
 * a card that is gone reads as.
 */
TEST_F(irq, while_idle)
{
	const u32 values[] = { 0x100, 0x1, 0x101, 0x80000000, 0xffffffff, 0x100 };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		raise_irq(self, values[i]);
		EXPECT_TRUE(WAIT_FOR(counter("spurious_irqs") == self->spurious + i + 1,
				     5000));
	}
}

static void disturb(struct __test_metadata *_metadata, FIXTURE_DATA(irq) *self,
		    struct side_call *copy, u64 xfers)
{
	const u32 values[] = { 0x100, 0x1, 0xffffffff, 0x100 };
	u64 seen = self->spurious;

	side_call_start(copy);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers), 5000));
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		raise_irq(self, values[i]);
		WAIT_FOR(counter("spurious_irqs") > seen, 20);
		seen = counter("spurious_irqs");
	}
	EXPECT_EQ(0, side_call_end(copy));
	EXPECT_LT(self->spurious, counter("spurious_irqs"));
}

/* The data of a copy that was ended too early would not be there. */
TEST_F(irq, during_a_copy_to_the_host)
{
	struct side_call copy = { .fn = side_copy, .fd = self->fd,
				  .dir = PACCEL_COPY_D2H, .src = self->mem,
				  .dst = (uintptr_t)self->host,
				  .shape = { SIZE, 1, 0, 0 } };

	pattern_fill(self->host, SIZE, 5);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	memset(self->host, 0, SIZE);
	disturb(_metadata, self, &copy, stats_of(self->fd).xfers);
	EXPECT_EQ(-1, pattern_diff(self->host, SIZE, 5));
}

TEST_F(irq, during_a_copy_to_the_card)
{
	struct side_call copy = { .fn = side_copy, .fd = self->fd,
				  .dir = PACCEL_COPY_H2D, .dst = self->mem,
				  .src = (uintptr_t)self->host,
				  .shape = { SIZE, 1, 0, 0 } };

	pattern_fill(self->host, SIZE, 7);
	disturb(_metadata, self, &copy, stats_of(self->fd).xfers);
	/* The source may be reused from here on. */
	memset(self->host, 0, SIZE);
	test_cmd_copy_d2h(self->fd, self->host, self->mem, SIZE);
	EXPECT_EQ(-1, pattern_diff(self->host, SIZE, 7));
}

PACCEL_TEST_MAIN
