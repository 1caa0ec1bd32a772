// SPDX-License-Identifier: MIT
/*
 * A ring card that does not answer at all. What it was given then is never given back, and the
 * log says so. The watchdog is the module's: nothing else may run meanwhile.
 */
#include "ring_test.h"

#define BLOCK 4096
#define QUIESCE_MS 1000
/* An engine's reset is not answered, nor is the card's. */
#define GIVEN_UP_MS (WATCHDOG_MS + RING_ANSWER_MS + QUIESCE_MS)

FIXTURE(silence) {
	int fd;
	u64 leaked, pinned;	/* pages, before the test */
	char old_watchdog[16], old_quiesce[16];
};

FIXTURE_VARIANT(silence) {
	const char *down, *up;
};

FIXTURE_VARIANT_ADD(silence, mute) { .down = "mute", .up = "clear" };
/* Perhaps in the middle of a byte. */
FIXTURE_VARIANT_ADD(silence, stop) { .down = "stop", .up = "cont" };
FIXTURE_VARIANT_ADD(silence, link_down) { .down = "link-down", .up = "link-up" };

FIXTURE_SETUP(silence)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(module_param("watchdog_ms", self->old_watchdog, 16));
	ASSERT_TRUE(module_param("quiesce_ms", self->old_quiesce, 16));
	card_behave();
	ASSERT_TRUE(card_settle(self->fd));
	ASSERT_TRUE(watchdog_set(WATCHDOG_MS));
	ASSERT_EQ(0, module_param_set("quiesce_ms", "1000"));
	self->leaked = card_counter("leaked_pages");
	self->pinned = pins();
}

/* No call of the test runs any more: pinned are the pages that are counted as leaked, and no others. */
FIXTURE_TEARDOWN(silence)
{
	u64 leaked = card_counter("leaked_pages") - self->leaked;

	EXPECT_TRUE(WAIT_FOR(pins() - self->pinned == leaked, 5000))
		TH_LOG("%llu leaked, %lld pinned", (unsigned long long)leaked,
		       (long long)(pins() - self->pinned));
	/* `run` adds these up, and compares them with the pins of the whole guest. */
	printf("# leaked: %llu pages\n", (unsigned long long)leaked);
	pci_bus_restore(card_bdf());
	/* What is not down does not mind. */
	ring_order("%s", variant->up);
	card_behave();
	EXPECT_EQ(0, module_param_set("watchdog_ms", self->old_watchdog));
	EXPECT_EQ(0, module_param_set("quiesce_ms", self->old_quiesce));
	EXPECT_EQ(0, _test_cmd_reset(self->fd));
	close(self->fd);
}

#define CALLS 4

/*
 * It is given up, and all that it was given stays where it is; when it is there again a RESET
 * brings it back, and whatever is given to it from then on comes back, too.
 */
TEST_F(silence, given_up)
{
	u64 limit = GENEROUS(GIVEN_UP_MS), mem, start;
	u8 *fresh, *buffer = map_pages(256);
	struct call c[CALLS];

	for (int i = 0; i < CALLS; i++) {
		ASSERT_TRUE(call_open(&c[i], self->fd, BLOCK));
		c[i].what = i;
	}
	test_cmd_mem_alloc(self->fd, 256 * page_size, 0, &mem);
	test_cmd_fill(self->fd, mem, 256 * page_size, 0x77, 1);
	memset(buffer, 0x11, 256 * page_size);

	ASSERT_EQ(0, ring_order("%s", variant->down));
	for (int i = 0; i < CALLS; i++)
		ASSERT_EQ(0, pthread_create(&c[i].thread, NULL, call_main, &c[i]));
	start = now_ms();
	EXPECT_GT(0, _test_cmd_copy_d2h(self->fd, buffer, mem, 256 * page_size));
	EXPECT_GE(limit, now_ms() - start);
	for (int i = 0; i < CALLS; i++) {
		pthread_join(c[i].thread, NULL);
		EXPECT_TRUE(c[i].rc == -ETIMEDOUT || c[i].rc == -EIO) TH_LOG("%d", c[i].rc);
		EXPECT_GE(limit, c[i].took);
	}
	printf("# out of service after %llu ms\n", (unsigned long long)(now_ms() - start));
	ASSERT_TRUE(WAIT_FOR(card_health_is("failed"), 5000));
	EXPECT_TRUE(all_bytes(buffer, 256 * page_size, 0x11));
	/* Of the calls the pages of the copy above were the only ones that ended with it. */
	EXPECT_TRUE(WAIT_FOR(card_counter("leaked_pages") == self->leaked + 256, 5000));
	start = now_ms();
	test_err_copy_h2d(EIO, self->fd, mem, buffer, 8);
	test_err_mem_alloc(EIO, self->fd, 1, 0);
	EXPECT_EQ(-EIO, _test_cmd_reset(self->fd));
	EXPECT_GE(GENEROUS(QUIESCE_MS), now_ms() - start);

	/* The pages are not given to anybody else: the card finds nothing of ours. */
	munmap(buffer, 256 * page_size);
	fresh = map_pages(16384);
	memset(fresh, 0x22, 16384 * page_size);
	ASSERT_EQ(0, ring_order("%s", variant->up));
	usleep(200000);
	EXPECT_TRUE(fresh[0] == 0x22 && !memcmp(fresh, fresh + 1, 16384 * page_size - 1));

	test_cmd_reset(self->fd);
	EXPECT_TRUE(card_health_is("ok"));
	for (int i = 0; i < CALLS; i++) {
		ASSERT_TRUE(call_prepare(&c[i]));
		call_main(&c[i]);
		EXPECT_EQ(0, c[i].rc);
		EXPECT_TRUE(call_check(&c[i]));
		EXPECT_TRUE(call_close(&c[i]));
	}
	test_cmd_copy_d2h(self->fd, fresh, mem, 256 * page_size);
	EXPECT_TRUE(all_bytes(fresh, page_size, 0x77));
	EXPECT_EQ(self->leaked + 256, card_counter("leaked_pages"));
	test_cmd_mem_free(self->fd, mem, 256 * page_size);
	munmap(fresh, 16384 * page_size);
}

/*
 * Configuration space reads all-ones, and no scan of the bus hides it: the device is absent if its
 * registers read all-ones, too, and its pages are not kept.
 */
TEST_F(silence, as_if_absent)
{
	u64 kept = strcmp(variant->down, "link-down") ? 16 : 0, mem;
	u8 *buffer = map_pages(16);

	test_cmd_mem_alloc(self->fd, 16 * page_size, 0, &mem);
	ASSERT_EQ(0, ring_order("%s", variant->down));
	pci_bus_change(card_bdf(), NO_BUS);
	EXPECT_GT(0, _test_cmd_copy_d2h(self->fd, buffer, mem, 16 * page_size));
	EXPECT_TRUE(card_health_is("failed"));
	EXPECT_TRUE(WAIT_FOR(card_counter("leaked_pages") == self->leaked + kept, 5000));
	pci_bus_restore(card_bdf());
	ASSERT_EQ(0, ring_order("%s", variant->up));
	test_cmd_reset(self->fd);
	EXPECT_TRUE(card_health_is("ok"));
	EXPECT_EQ(self->leaked + kept, card_counter("leaked_pages"));
	munmap(buffer, 16 * page_size);
	test_cmd_mem_free(self->fd, mem, 16 * page_size);
}

/* Not for long: it has only been slow. Or, if the link was down, it has forgotten everything. */
TEST_F(silence, for_a_moment)
{
	bool forgets = !strcmp(variant->down, "link-down");
	struct call c;
	u64 xfers;

	ASSERT_TRUE(watchdog_set(forgets ? WATCHDOG_MS : 10 * WATCHDOG_MS));
	ASSERT_TRUE(call_open(&c, self->fd, BLOCK));
	for (c.what = 0; c.what < 4; c.what++) {
		ASSERT_TRUE(call_prepare(&c) && card_settle(self->fd));
		ASSERT_EQ(0, ring_order("%s", variant->down));
		xfers = stats_of(self->fd).xfers;
		ASSERT_EQ(0, pthread_create(&c.thread, NULL, call_main, &c));
		ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers), 5000));
		ASSERT_EQ(0, ring_order("%s", variant->up));
		pthread_join(c.thread, NULL);
		EXPECT_EQ(forgets ? -ETIMEDOUT : 0, c.rc);
		EXPECT_TRUE(forgets || call_check(&c));
		/* Without a RESET. */
		ASSERT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
	}
	EXPECT_TRUE(card_health_is("ok"));
	EXPECT_TRUE(call_close(&c));
}

/* --- a card that goes, and another one comes ----------------------------- */

#define WORKERS 4

/* Copies and looks at them until the device is gone, which a call must report. */
static int worker_main(void *arg)
{
	struct line *l = arg;
	int fd = card_open(), rc = 0;
	bool works = false;
	struct call c;

	close(l->fd[0]);
	CHILD_CHECK(fd >= 0 && call_open(&c, fd, 64 * BLOCK));
	for (c.what = 0; !rc; c.what = (c.what + 1) % 4) {
		rc = call_arrange(&c);
		if (rc)
			break;
		call_main(&c);
		CHILD_CHECK(c.took <= GENEROUS(GIVEN_UP_MS));
		/* What it says has been moved has been, whatever happens to it next. */
		rc = c.rc ?: call_verify(&c);
		if (!rc && !works)
			say(l, 1);
		works = true;
	}
	if (rc != -ENODEV && rc != -EIO)
		CHILD_EQ(-ETIMEDOUT, rc);
	/* None of its calls runs any more. */
	say(l, 1);
	CHILD_CHECK(hear(l, 1));
	/* Later calls are refused in the same way. */
	CHILD_CHECK(WAIT_FOR(_test_cmd_fill(fd, c.a, 8, 0, 1) < 0, 10000));
	return 0;
}

static int guestctl(const char *verb, int index)
{
	char command[64];

	snprintf(command, sizeof(command), "guestctl %s card%d", verb, index);
	return system(command);
}

FIXTURE(replug) {
	int index;
	u64 total;
	u64 pinned;	/* pages, before the test */
	u64 leaked;	/* pages of programs, in the test */
	char old_watchdog[16], old_quiesce[16];
};

FIXTURE_VARIANT(replug) {
	const char *first;	/* what happens before it is pulled */
};

FIXTURE_VARIANT_ADD(replug, at_work) { };
FIXTURE_VARIANT_ADD(replug, killed) { .first = "kill" };

FIXTURE_SETUP(replug)
{
	char bdf[32];
	int fd = card_open();

	ASSERT_LE(0, fd);
	self->total = info_of(fd).mem_size;
	close(fd);
	while (card_nth(self->index, bdf) && strcmp(bdf, card_bdf()))
		self->index++;
	ASSERT_TRUE(module_param("watchdog_ms", self->old_watchdog, 16));
	ASSERT_TRUE(module_param("quiesce_ms", self->old_quiesce, 16));
	ASSERT_TRUE(watchdog_set(WATCHDOG_MS));
	ASSERT_EQ(0, module_param_set("quiesce_ms", "1000"));
	self->pinned = pins();
}

/* Whatever else the driver had to leak of a device that is gone was its own memory. */
FIXTURE_TEARDOWN(replug)
{
	EXPECT_TRUE(WAIT_FOR(pins() - self->pinned == self->leaked, 5000))
		TH_LOG("%llu leaked, %lld pinned", (unsigned long long)self->leaked,
		       (long long)(pins() - self->pinned));
	printf("# leaked: %llu pages\n", (unsigned long long)self->leaked);
	EXPECT_EQ(0, module_param_set("watchdog_ms", self->old_watchdog));
	EXPECT_EQ(0, module_param_set("quiesce_ms", self->old_quiesce));
}

/*
 * The process of the device is killed, so the driver cannot know that it no longer writes. When all
 * workers have got an error, no call runs and their registrations still exist: the pages leaked until
 * then are those that the calls had pinned.
 */
static void kill_device(struct __test_metadata *_metadata, FIXTURE_DATA(replug) *self,
			const char *order, struct line lines[WORKERS])
{
	u64 leaked = card_counter("leaked_pages");

	ASSERT_EQ(0, ring_order("%s", order));
	EXPECT_TRUE(WAIT_FOR(card_health_is("failed"), 10000));
	for (int i = 0; i < WORKERS; i++)
		ASSERT_TRUE(hear(&lines[i], 0));
	self->leaked += card_counter("leaked_pages") - leaked;
	EXPECT_EQ(self->leaked, pins() - self->pinned);
}

/*
 * Pages that leaked stay mapped, which the debugger of the DMA API reports; they may be those of earlier
 * tests. Of a device that was killed, the registrations leak when it is removed.
 */
static int pull(int index, bool killed)
{
	bool leaked = killed || card_counter("leaked_pages") > 0;
	int rc;

	if (leaked)
		allow_warnings(KEPT_MAPPINGS);
	rc = guestctl("device_del", index);
	if (leaked)
		allow_warnings(NULL);
	return rc;
}

TEST_F(replug, under_load)
{
	const char *cycles = getenv("PACCEL_CYCLES");
	struct line lines[WORKERS];
	pid_t pids[WORKERS];
	int fd;

	for (int n = cycles ? atoi(cycles) : 5; n > 0; n--) {
		for (int i = 0; i < WORKERS; i++) {
			lines[i] = line_open();
			pids[i] = spawn(worker_main, &lines[i]);
			close(lines[i].fd[1]);
		}
		/* All have copied. */
		for (int i = 0; i < WORKERS; i++)
			ASSERT_TRUE(hear(&lines[i], 0));
		if (variant->first)
			kill_device(_metadata, self, variant->first, lines);
		ASSERT_EQ(0, pull(self->index, variant->first));
		for (int i = 0; i < WORKERS; i++) {
			if (!variant->first)
				EXPECT_TRUE(hear(&lines[i], 0));
			say(&lines[i], 0);
			EXPECT_EQ(0, reap_within(pids[i], 20000 * slow_factor()));
			close(lines[i].fd[0]);
		}
		ASSERT_EQ(0, guestctl("device_add", self->index));
		ASSERT_TRUE(WAIT_FOR((fd = card_open()) >= 0, 10000));
		EXPECT_TRUE(card_health_is("ok"));
		EXPECT_TRUE(WAIT_FOR(stats_of(fd).used == 0 && card_settle(fd), 10000));
		EXPECT_EQ(self->total, stats_of(fd).free);
		close(fd);
	}
}

PACCEL_TEST_MAIN
