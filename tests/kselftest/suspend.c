// SPDX-License-Identifier: MIT
/*
 * Suspend and resume of all devices, without the machine itself sleeping (pm_test).
 *
 * The guest's files come over 9p, whose virtio device does not survive this: nothing
 * can be read, opened or even closed there afterwards. So this program runs alone in
 * a guest, last, linked statically, from a copy in /tmp.
 */
#include <sys/swap.h>

#include "ring_test.h"

#define SIZE 500
#define FILLS 100

FIXTURE(suspend) {
	int fd;
	u64 mem, total;
	u8 *host, *got;
};

FIXTURE_SETUP(suspend)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	self->total = info_of(self->fd).mem_size;
	self->host = map_pages(1);
	self->got = map_pages(1);
	ASSERT_TRUE(card_settle(self->fd));
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
}

FIXTURE_TEARDOWN(suspend)
{
	close(self->fd);
}

/* The devices go to sleep and wake up. */
static int sleep_and_wake(void)
{
	/* How long the kernel stays asleep, in seconds. */
	file_write("/sys/module/suspend/parameters/pm_test_delay", "0");
	return file_write("/sys/power/pm_test", "devices") ?:
	       file_write("/sys/power/state", "freeze");
}

static bool pm_test_is_there(void)
{
	return access("/sys/power/pm_test", W_OK) == 0;
}

TEST_F(suspend, with_a_copy_and_a_scrub)
{
	struct side_call copy = { .fn = side_copy, .fd = self->fd,
				  .dir = PACCEL_COPY_D2H, .src = self->mem,
				  .dst = (uintptr_t)self->got,
				  .shape = long_copy(4) };
	u64 rest = self->total - in_granules(self->fd, SIZE), addr, xfers;

	if (!pm_test_is_there())
		SKIP(return, "no /sys/power/pm_test");
	pattern_fill(self->host, SIZE, 3);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	test_cmd_mem_alloc(self->fd, rest, 0, &addr);
	card_slow();
	xfers = stats_of(self->fd).xfers;
	side_call_start(&copy);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers), 5000));
	test_cmd_mem_free(self->fd, addr, rest);
	EXPECT_EQ(0, sleep_and_wake());
	/* It waited for the transfer that ran; the rest goes on afterwards. */
	EXPECT_EQ(0, side_call_end(&copy));
	for (int row = 0; row < 4; row++)
		EXPECT_EQ(self->host[2 * row], self->got[2 * row]);
	/* What waited for scrubbing is there, clean. */
	test_cmd_mem_alloc(self->fd, rest, 0, &addr);
	EXPECT_EQ(0, stats_of(self->fd).quarantined);
}

TEST_F(suspend, memory_and_interrupts_survive)
{
	u64 lost, lost_then;

	if (!pm_test_is_there())
		SKIP(return, "no /sys/power/pm_test");
	ASSERT_EQ(0, card_attr_u64("lost_irqs", &lost));
	pattern_fill(self->host, SIZE, 4);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	test_cmd_host_register(self->fd, self->got, page_size, 0);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, sleep_and_wake());
	test_cmd_copy_d2h(self->fd, self->got, self->mem, SIZE);
	EXPECT_EQ(-1, pattern_diff(self->got, SIZE, 4));
	ASSERT_EQ(0, card_attr_u64("lost_irqs", &lost_then));
	EXPECT_EQ(lost, lost_then);
}

/*
 * A device that goes on would write what is read back after the sleep. Nothing of the host is given
 * to it here: that would be lost.
 */
TEST_F(suspend, is_refused_while_the_device_goes_on)
{
	char quiesce[16];
	struct rig r;
	int rc, tries = 1;
	u64 xfers;

	if (!pm_test_is_there())
		SKIP(return, "no /sys/power/pm_test");
	ASSERT_EQ(0, rig_open(&r, SIZE));
	ASSERT_TRUE(module_param("quiesce_ms", quiesce, sizeof(quiesce)));
	card_slow();
	card_ignore_stop(true);
	EXPECT_EQ(0, module_param_set("quiesce_ms", "10"));
	xfers = stats_of(r.fd).xfers;
	/* So many that the device has work whenever the kernel comes to it. */
	for (int i = 1; i <= FILLS; i++)
		ASSERT_EQ(i, submit(r.fd, r.stream, op_fill(r.mem, SIZE, 0x5a, 1)));
	EXPECT_TRUE(WAIT_FOR(xfers_passed(r.fd, xfers), 5000));
	/* Unless an edu is between two transfers then, or one ends in quiesce_ms. */
	while (!(rc = sleep_and_wake()) && tries < 10)
		tries++;
	if (tries > 1)
		printf("# tries: suspend.is_refused_while_the_device_goes_on %d\n", tries);
	EXPECT_EQ(-EIO, rc);
	EXPECT_GT(0, outcome(r.fd, r.stream, FILLS));
	EXPECT_TRUE(card_health_is("failed"));
	test_err_copy_h2d(EIO, self->fd, self->mem, self->host, SIZE);

	card_behave();
	EXPECT_EQ(0, module_param_set("quiesce_ms", quiesce));
	test_cmd_reset(self->fd);
	EXPECT_EQ(0, sleep_and_wake());
	EXPECT_TRUE(card_health_is("ok"));
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	rig_close(&r);
}

/* --- sleeps without power ------------------------------------------------ */

/* Suspend to RAM, until the clock wakes the machine. The devices really are reset. */
static int sleep_to_ram(void)
{
	return file_write("/sys/power/pm_test", "none") ?:
	       file_write("/sys/power/mem_sleep", "deep") ?:
	       /* The alarm of an earlier sleep. */
	       file_write("/sys/class/rtc/rtc0/wakealarm", "0") ?:
	       /* In whole seconds. An alarm before the sleep would not end it. */
	       file_write("/sys/class/rtc/rtc0/wakealarm", "+5") ?:
	       file_write("/sys/power/state", "mem");
}

/* Writes an image of memory to the disk, and goes on with what it reads back from there. */
static int hibernate(void)
{
	int rc = swapon("/dev/vda", 0) ? -errno : 0;

	rc = rc ?: file_write("/sys/power/pm_test", "none") ?:
		   file_write("/sys/power/disk", "test_resume") ?:
		   file_write("/sys/power/state", "disk");
	swapoff("/dev/vda");
	return rc;
}

FIXTURE(power_loss) {
	int fd;
	u64 mem, total;
	u8 *host, *got;
};

FIXTURE_VARIANT(power_loss) {
	int (*sleep)(void);
	const char *needs[2];
	/* Another kernel may have used the device before an image is read back. */
	bool keeps_nonvolatile;
};

FIXTURE_VARIANT_ADD(power_loss, to_ram) {
	.sleep = sleep_to_ram,
	.needs = { "/sys/power/mem_sleep", "/sys/class/rtc/rtc0/wakealarm" },
	.keeps_nonvolatile = true,
};

FIXTURE_VARIANT_ADD(power_loss, to_disk) {
	.sleep = hibernate,
	.needs = { "/dev/vda", "/sys/power/disk" },
};

FIXTURE_SETUP(power_loss)
{
	for (int i = 0; i < 2; i++)
		if (access(variant->needs[i], W_OK))
			SKIP(return, "no %s", variant->needs[i]);
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	self->total = info_of(self->fd).mem_size;
	self->host = map_pages(1);
	self->got = map_pages(self->total / page_size + 1);
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
}

FIXTURE_TEARDOWN(power_loss)
{
	close(self->fd);
}

/* Device memory may have other contents, which no program is given as its own. */
TEST_F(power_loss, loses_contexts)
{
	pattern_fill(self->host, SIZE, 5);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	test_cmd_host_register(self->fd, self->got, page_size, 0);
	EXPECT_EQ(0, variant->sleep());
	test_err_copy_d2h(ESTALE, self->fd, self->got, self->mem, SIZE);
	test_err_mem_alloc(ESTALE, self->fd, SIZE, 0);
	EXPECT_TRUE(card_health_is("ok"));

	/* The device works, and its memory is clean. */
	close(self->fd);
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	test_cmd_mem_alloc(self->fd, self->total, 0, &self->mem);
	memset(self->got, 0xee, self->total);
	test_cmd_copy_d2h(self->fd, self->got, self->mem, self->total);
	EXPECT_TRUE(all_bytes(self->got, self->total, 0));
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	test_cmd_copy_d2h(self->fd, self->got, self->mem, SIZE);
	EXPECT_EQ(-1, pattern_diff(self->got, SIZE, 5));
}

/* The card's own flags of <linux/paccel.h>, and PACCEL_HW_MEM_NONVOLATILE. */
static const char *nonvolatile(void)
{
	return strcmp(card_kind(), "ring") ? "backend=edu set=flags=0x83" : "backend=ring set=flags=0xfd";
}

/* A card whose memory survives suspend to RAM: what has been allocated there stays, with its bytes. */
TEST_F(power_loss, keeps_nonvolatile_memory)
{
	close(self->fd);
	ASSERT_EQ(0, backend_load(nonvolatile()));
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem);
	pattern_fill(self->host, SIZE, 5);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	EXPECT_EQ(0, variant->sleep());
	if (variant->keeps_nonvolatile) {
		test_cmd_copy_d2h(self->fd, self->got, self->mem, SIZE);
		EXPECT_EQ(-1, pattern_diff(self->got, SIZE, 5));
		EXPECT_EQ(in_granules(self->fd, SIZE), stats_of(self->fd).mine);
	} else {
		test_err_copy_d2h(ESTALE, self->fd, self->got, self->mem, SIZE);
	}
	close(self->fd);
	self->fd = -1;
	EXPECT_TRUE(WAIT_FOR(!backend_unload(), 5000));
	EXPECT_EQ(0, driver_bind(card_bdf()));
}

/* --- streams at work ----------------------------------------------------- */

#define STREAMS 3
#define CELL 64

/*
 * A stream and its memory: two cells of the card, and a cell of registered memory for each step to
 * come from and to go to.
 */
struct chain {
	u32 stream;
	s64 last;
	u64 a, b;
	u8 *in, *out;
};

/*
 * What a has goes to b and out, and then something new to a: who does a transfer twice, not at
 * all, or behind the next one has wrong bytes from there on. A ring card is given dozens of these
 * at once, each linked to the one before.
 */
static bool chain_queue(struct chain *c, int fd, int steps)
{
	for (int i = 0; i < steps; i++) {
		c->last = submit(fd, c->stream, op_copy(PACCEL_COPY_D2D, c->b, c->a, CELL),
				 op_d2h(c->out + i * CELL, c->b, CELL),
				 op_h2d(c->a, c->in + i * CELL, CELL));
		if (c->last != i + 1)
			return false;
	}
	return true;
}

static bool chain_open(struct chain *c, int fd, u32 stream, int seed)
{
	c->stream = stream;
	c->in = map_pages(1);
	c->out = map_pages(1);
	pattern_fill(c->in, page_size, seed);
	return !_test_cmd_mem_alloc(fd, CELL, 0, &c->a) &&
	       !_test_cmd_mem_alloc(fd, CELL, 0, &c->b) &&
	       !_test_cmd_host_register(fd, c->in, page_size, 0) &&
	       !_test_cmd_host_register(fd, c->out, page_size, 0);
}

/* Each step has put out what the one before it has taken in; the first one zeroes. */
static long chain_diff(struct chain *c, int steps)
{
	if (!all_bytes(c->out, CELL, 0))
		return 0;
	return bytes_diff(c->out + CELL, c->in, (steps - 1) * CELL);
}

/* True while every stream has work left. */
static bool all_at_work(const struct rig *r, const struct chain *c)
{
	for (int i = 0; i < STREAMS; i++)
		if (page_done(r->page, c[i].stream) >= (u64)c[i].last)
			return false;
	return true;
}

/*
 * The devices sleep while streams are at work: what the card had in hand is done again, what waited
 * is done afterwards, everything in its order, and nobody is told of a failure.
 */
TEST_F(suspend, with_streams_at_work)
{
	bool ring = !strcmp(card_kind(), "ring");
	/* So many that none of it is over with the last sleep. */
	int steps = ring ? 60 : 6, sleeps = ring ? 3 : 1;
	struct counts before = counts_now(), now;
	struct chain c[STREAMS] = {};
	u64 pinned = pins(), xfers;
	struct rig r;

	if (!pm_test_is_there())
		SKIP(return, "no /sys/power/pm_test");
	ASSERT_EQ(0, rig_open(&r, 0));
	for (int i = 0; i < STREAMS; i++)
		ASSERT_TRUE(chain_open(&c[i], r.fd, i ? stream_create(r.fd) : (int)r.stream,
				       10 + i));
	EXPECT_LT(pinned, pins());
	card_slow();
	xfers = stats_of(r.fd).xfers;
	for (int i = 0; i < STREAMS; i++)
		ASSERT_TRUE(chain_queue(&c[i], r.fd, steps));
	for (int i = 0; i < sleeps; i++) {
		/* It moves between one sleep and the next. */
		ASSERT_TRUE(WAIT_FOR(xfers_passed(r.fd, xfers), 5000));
		ASSERT_TRUE(all_at_work(&r, c));
		EXPECT_EQ(0, sleep_and_wake());
		ASSERT_TRUE(all_at_work(&r, c)) TH_LOG("over in sleep %d", i);
		xfers = stats_of(r.fd).xfers;
	}
	card_behave();
	for (int i = 0; i < STREAMS; i++) {
		EXPECT_EQ(0, outcome(r.fd, c[i].stream, c[i].last));
		EXPECT_EQ(-1, chain_diff(&c[i], steps)) TH_LOG("stream %d", i);
	}
	now = counts_now();
	EXPECT_EQ(before.resets + sleeps, now.resets);
	now.resets = before.resets;
	EXPECT_EQ(0, memcmp(&before, &now, sizeof(now)));
	EXPECT_TRUE(card_health_is("ok"));

	/* The same streams, with nothing in the way. */
	EXPECT_LT(0, submit(r.fd, c[0].stream, op_fill(c[0].b, CELL, 0x3c, 1)));
	EXPECT_EQ(0, outcome(r.fd, c[0].stream, c[0].last + 1));
	test_cmd_copy_d2h(r.fd, c[0].out, c[0].b, CELL);
	EXPECT_TRUE(all_bytes(c[0].out, CELL, 0x3c));
	rig_close(&r);
	EXPECT_TRUE(WAIT_FOR(pins() == pinned, 5000));
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == stats_of(self->fd).mine, 5000));
}

PACCEL_TEST_MAIN
