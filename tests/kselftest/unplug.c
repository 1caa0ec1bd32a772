// SPDX-License-Identifier: MIT
/*
 * The card goes away while a process is in the middle of everything: a copy runs, an
 * allocation waits for scrubbing, two threads hang in a userfaultfd inside the driver,
 * one polls, host memory is mapped and registered. Removal waits for none of them;
 * all of them learn it; the file is dead for ever; the card that comes back is as new.
 *
 * PACCEL_CYCLES=N is how often.
 */
#include "paccel_test.h"

/* Enough rows for minutes: no machine is so slow that the copy ends by itself. */
#define ROWS 1000
#define MEM LONG_COPY_BYTES(ROWS)

/* --- the process that has everything open -------------------------------- */

struct victim {
	struct line *line;
	bool mute;	/* interrupts get lost, so nothing ends before removal */
	u64 total;
};

struct hang {
	pthread_t thread;
	int fd, uffd;
	u8 *page;
	u64 mem;
	int rc, done;
};

struct plugged {
	int fd;
	u64 mem, rest, left, offset;
	u8 *own, *registered;
	long locked;
	struct side_call copy, alloc;
	struct hang pin, fetch;
	pthread_t poller;
	short revents;
	int polled;
};

static void *hang_in_pin(void *arg)
{
	struct hang *h = arg;

	h->rc = _test_cmd_copy_h2d(h->fd, h->mem, h->page, 8);
	__atomic_store_n(&h->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* The struct itself lies in memory that hangs. */
static void *hang_in_fetch(void *arg)
{
	struct hang *h = arg;

	h->rc = ioctl(h->fd, PACCEL_IOC_MEM_STATS, h->page) ? -errno : 0;
	__atomic_store_n(&h->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void hang_start(struct hang *h, int fd, u64 mem, void *(*fn)(void *))
{
	h->fd = fd;
	h->mem = mem;
	h->page = map_pages(1);
	h->uffd = uffd_hang(h->page, page_size);
	CHILD_CHECK(h->uffd >= 0);
	CHILD_CHECK(!pthread_create(&h->thread, NULL, fn, h));
	CHILD_CHECK(uffd_wait(h->uffd, 10000));
}

/* Lets it go on, with a struct that would be right, and says what came of it. */
static int hang_end(struct hang *h)
{
	struct paccel_mem_stats *s = calloc(1, page_size);

	s->size = sizeof(*s);
	CHILD_CHECK(!h->done);
	CHILD_CHECK(uffd_resolve(h->uffd, h->page, s));
	pthread_join(h->thread, NULL);
	return h->rc;
}

static void *wait_for_hangup(void *arg)
{
	struct plugged *p = arg;
	struct pollfd pfd = { .fd = p->fd, .events = POLLIN };

	p->polled = poll(&pfd, 1, -1);
	p->revents = pfd.revents;
	return NULL;
}

static void take_everything(struct plugged *p, struct victim *v)
{
	p->locked = locked_kb();
	p->fd = card_open();
	CHILD_CHECK(p->fd >= 0);
	/* While engines scrub, MEM could be placed between two pieces of the rest. */
	CHILD_CHECK(card_settle(p->fd));
	CHILD_EQ(0, _test_cmd_mem_alloc(p->fd, MEM, 0, &p->mem));
	p->left = v->total - in_granules(p->fd, MEM);
	CHILD_EQ(0, _test_cmd_mem_alloc(p->fd, p->left, 0, &p->rest));
	CHILD_EQ(0, _test_cmd_host_alloc(p->fd, 2 * page_size, &p->offset));
	p->own = host_map(p->fd, 2 * page_size, p->offset);
	CHILD_CHECK(p->own != MAP_FAILED);
	pattern_fill(p->own, 2 * page_size, 1);
	p->registered = map_pages(2);
	CHILD_EQ(0, _test_cmd_host_register(p->fd, p->registered, 2 * page_size, 0));
	CHILD_CHECK(!pthread_create(&p->poller, NULL, wait_for_hangup, p));
	hang_start(&p->pin, p->fd, p->mem + 128, hang_in_pin);
	hang_start(&p->fetch, p->fd, 0, hang_in_fetch);
}

/* A copy into registered memory, behind it memory to scrub, and somebody who waits. */
static void keep_the_card_busy(struct plugged *p, struct victim *v)
{
	u64 xfers = stats_of(p->fd).xfers;

	p->copy = (struct side_call){ .fn = side_copy, .fd = p->fd,
				      .dir = PACCEL_COPY_D2H, .src = p->mem,
				      .dst = (uintptr_t)p->registered,
				      .shape = long_copy(ROWS) };
	p->alloc = (struct side_call){ .fn = side_alloc, .fd = p->fd,
				       .length = p->left };
	card_slow();
	if (v->mute)
		card_mute_irq(true);
	side_call_start(&p->copy);
	CHILD_CHECK(WAIT_FOR(xfers_passed(p->fd, xfers), 10000));
	CHILD_EQ(0, _test_cmd_mem_free(p->fd, p->rest, p->left));
	side_call_start(&p->alloc);
	CHILD_CHECK(WAIT_FOR(side_call_done(&p->alloc) || card_waiting() == 1, 10000));
}

static void all_calls_fail(struct plugged *p)
{
	struct paccel_device_info info;
	struct paccel_mem_stats stats;
	u8 *host = p->registered;
	u64 out;

	CHILD_EQ(-ENODEV, _test_cmd_device_info(p->fd, &info));
	CHILD_EQ(-ENODEV, _test_cmd_mem_stats(p->fd, &stats));
	CHILD_EQ(-ENODEV, _test_cmd_mem_alloc(p->fd, 1, 0, &out));
	CHILD_EQ(-ENODEV, _test_cmd_mem_free(p->fd, p->mem, MEM));
	CHILD_EQ(-ENODEV, _test_cmd_host_alloc(p->fd, 1, &out));
	CHILD_EQ(-ENODEV, _test_cmd_host_register(p->fd, host, 1, 0));
	CHILD_EQ(-ENODEV, _test_cmd_host_free(p->fd, host, 0));
	CHILD_EQ(-ENODEV, _test_cmd_copy_h2d(p->fd, p->mem, host, 8));
	CHILD_EQ(-ENODEV, _test_cmd_copy_d2h(p->fd, host, p->mem, 8));
	CHILD_EQ(-ENODEV, _test_cmd_fill(p->fd, p->mem, 8, 0, 1));
	CHILD_EQ(-ENODEV, _test_cmd_reset(p->fd));
	CHILD_CHECK(ioctl(p->fd, _IO(PACCEL_IOC_TYPE, 0xff), 0) == -1);
	CHILD_EQ(ENODEV, errno);
	CHILD_CHECK(host_map(p->fd, page_size, page_size) == MAP_FAILED);
	CHILD_EQ(ENODEV, errno);
}

static void everybody_knows(struct plugged *p, struct victim *v)
{
	struct pollfd again = { .fd = p->fd, .events = POLLIN };

	CHILD_CHECK(WAIT_FOR(side_call_done(&p->copy), 10000));
	CHILD_EQ(-ENODEV, side_call_end(&p->copy));
	CHILD_CHECK(WAIT_FOR(side_call_done(&p->alloc), 10000));
	side_call_end(&p->alloc);
	/* With interrupts it may have been served just in time. */
	CHILD_CHECK(p->alloc.rc == -ENODEV || (!v->mute && !p->alloc.rc));
	pthread_join(p->poller, NULL);
	CHILD_CHECK(p->polled == 1 && (p->revents & POLLHUP));
	CHILD_CHECK(poll(&again, 1, 0) == 1 && (again.revents & POLLHUP));
	/* These two have not been waited for: they hang still. */
	CHILD_CHECK(!p->pin.done && !p->fetch.done);
}

/* The program's own memory is what it was, and can be used. */
static void memory_stays(struct plugged *p)
{
	CHILD_CHECK(pattern_diff(p->own, 2 * page_size, 1) < 0);
	memset(p->own, 2, 2 * page_size);
	CHILD_CHECK(all_bytes(p->own, 2 * page_size, 2));
	pattern_fill(p->own, 2 * page_size, 1);
	memset(p->registered, 3, 2 * page_size);
}

static int victim_main(void *arg)
{
	struct victim *v = arg;
	struct plugged p = {};

	take_everything(&p, v);
	keep_the_card_busy(&p, v);
	say(v->line, 1);
	CHILD_CHECK(hear(v->line, 1));
	/* The card is gone. */
	everybody_knows(&p, v);
	all_calls_fail(&p);
	memory_stays(&p);
	say(v->line, 1);
	CHILD_CHECK(hear(v->line, 1));
	/* Another card is there; for this file that changes nothing. */
	all_calls_fail(&p);
	CHILD_EQ(-ENODEV, hang_end(&p.pin));
	CHILD_EQ(-ENODEV, hang_end(&p.fetch));
	/* Not even the last close() takes it away. */
	close(p.fd);
	memory_stays(&p);
	munmap(p.own, 2 * page_size);
	CHILD_CHECK(WAIT_FOR(locked_kb() == p.locked, 5000));
	return 0;
}

/* --- ways to lose a card ------------------------------------------------- */

FIXTURE(unplug) {
	int cycles;
	u64 total;
	u8 *host;
};

FIXTURE_VARIANT(unplug) {
	int (*take)(FIXTURE_DATA(unplug) *self);
	int (*give)(FIXTURE_DATA(unplug) *self);
	int share;	/* of PACCEL_CYCLES, in quarters */
};

static int unbind(FIXTURE_DATA(unplug) *self)
{
	(void)self;
	return driver_unbind(card_bdf());
}

static int bind(FIXTURE_DATA(unplug) *self)
{
	(void)self;
	return driver_bind(card_bdf());
}

static int remove_device(FIXTURE_DATA(unplug) *self)
{
	(void)self;
	return pci_attr_write(card_bdf(), "remove", "1");
}

/*
 * Of its own bus: a scan of all buses can hide the configuration space of the other devices for a
 * moment, and meanwhile QEMU drops their interrupts on arm64.
 */
static int rescan(FIXTURE_DATA(unplug) *self)
{
	char path[64];

	(void)self;
	snprintf(path, sizeof(path), "/sys/class/pci_bus/%.7s/rescan", card_bdf());
	return file_write(path, "1");
}

static int guestctl(const char *verb)
{
	char command[64];

	snprintf(command, sizeof(command), "guestctl %s card%d", verb, card_index());
	return system(command);
}

static int pull(FIXTURE_DATA(unplug) *self)
{
	(void)self;
	return guestctl("device_del");
}

static int plug(FIXTURE_DATA(unplug) *self)
{
	(void)self;
	return guestctl("device_add");
}

FIXTURE_VARIANT_ADD(unplug, driver_unbind) { .take = unbind, .give = bind, .share = 2 };
FIXTURE_VARIANT_ADD(unplug, sysfs_remove) { .take = remove_device, .give = rescan, .share = 1 };
FIXTURE_VARIANT_ADD(unplug, device_del) { .take = pull, .give = plug, .share = 1 };

FIXTURE_SETUP(unplug)
{
	const char *cycles = getenv("PACCEL_CYCLES");
	int fd = card_open();

	ASSERT_LE(0, fd);
	self->cycles = ((cycles ? atoi(cycles) : 5) * variant->share + 3) / 4;
	self->total = info_of(fd).mem_size;
	self->host = map_pages(self->total / page_size + 1);
	close(fd);
}

FIXTURE_TEARDOWN(unplug)
{
	if (!WAIT_FOR(card_open() >= 0, 2000))
		variant->give(self);
}

/* The new card: nothing of the old one's programs is in it, and it works. */
static void as_new(struct __test_metadata *_metadata, FIXTURE_DATA(unplug) *self)
{
	int fd = -1;
	u64 addr;

	ASSERT_TRUE(WAIT_FOR((fd = card_open()) >= 0, 20000));
	EXPECT_EQ(0, stats_of(fd).used);
	test_cmd_mem_alloc(fd, self->total, 0, &addr);
	test_cmd_copy_d2h(fd, self->host, addr, self->total);
	EXPECT_TRUE(all_bytes(self->host, self->total, 0));
	memset(self->host, 0x88, self->total);
	test_cmd_copy_h2d(fd, addr, self->host, self->total);
	close(fd);
}

static void cycle(struct __test_metadata *_metadata, FIXTURE_DATA(unplug) *self,
		  const FIXTURE_VARIANT(unplug) *variant, bool mute)
{
	struct line line = line_open();
	struct victim v = { .line = &line, .mute = mute, .total = self->total };
	pid_t pid = spawn(victim_main, &v);

	ASSERT_TRUE(hear(&line, 0));
	xfers_note();
	EXPECT_EQ(0, variant->take(self));
	EXPECT_GT(0, card_open());
	say(&line, 0);
	EXPECT_TRUE(hear(&line, 0));
	card_behave();
	EXPECT_EQ(0, variant->give(self));
	as_new(_metadata, self);
	say(&line, 0);
	EXPECT_EQ(0, reap(pid));
	close(line.fd[0]);
	close(line.fd[1]);
}

TEST_F(unplug, in_the_middle_of_everything)
{
	for (int i = 0; i < self->cycles; i++)
		cycle(_metadata, self, variant, i % 2 == 0);
}

static int open_and_sleep(void *arg)
{
	struct line *l = arg;
	u64 addr;
	int fd = card_open();

	CHILD_CHECK(fd >= 0);
	CHILD_EQ(0, _test_cmd_mem_alloc(fd, 64, 0, &addr));
	say(l, 1);
	pause();
	return 0;
}

/* The process that had the card open dies after the card is gone. */
TEST_F(unplug, then_the_process_is_killed)
{
	struct line line = line_open();
	pid_t pid = spawn(open_and_sleep, &line);

	ASSERT_TRUE(hear(&line, 0));
	xfers_note();
	EXPECT_EQ(0, variant->take(self));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, reap(pid));
	EXPECT_EQ(0, variant->give(self));
	as_new(_metadata, self);
}

PACCEL_TEST_MAIN
