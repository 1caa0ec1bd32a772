// SPDX-License-Identifier: MIT
/*
 * Device memory that is mapped: only on a card that can. Which page is there for whom, that it is
 * gone the moment it is freed, lost or unplugged, and that nobody sees what the next owner writes.
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "paccel_test.h"
#include "touch.h"

#define PAGES 8
#define RW (PROT_READ | PROT_WRITE)

/* --- a mapping of a whole card ------------------------------------------- */

/* MAP_FAILED and errno as from mmap(). */
static u8 *map_device(int fd, u64 addr, u64 length, int prot, int flags)
{
	return mmap(NULL, length, prot, flags, fd, PACCEL_MMAP_DEVICE + addr);
}

/* Where mem_base is. */
static u8 *map_card(int fd)
{
	struct paccel_device_info info = info_of(fd);

	return map_device(fd, info.mem_base, info.mem_size, RW, MAP_SHARED);
}

FIXTURE(map) {
	int fd;
	u64 base, total, mem, size;
	u8 *card, *at, *host;
};

FIXTURE_SETUP(map)
{
	struct paccel_device_info info;

	catch_bus();
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	info = info_of(self->fd);
	ASSERT_TRUE(info.caps & PACCEL_CAP_MAPPABLE) TH_LOG("not for this card");
	self->base = info.mem_base;
	self->total = info.mem_size;
	self->size = PAGES * page_size;
	self->host = map_pages(PAGES);
	self->card = map_card(self->fd);
	ASSERT_NE(MAP_FAILED, self->card);
	/* After a bind all memory is dirty, and its free pieces need not be contiguous yet. */
	ASSERT_TRUE(card_settle(self->fd));
	test_cmd_mem_alloc(self->fd, self->size, 0, &self->mem);
	self->at = self->card + (self->mem - self->base);
}

FIXTURE_TEARDOWN(map)
{
	close(self->fd);
}

/* --- bytes --------------------------------------------------------------- */

TEST_F(map, granule_is_a_page)
{
	EXPECT_EQ(0, info_of(self->fd).granule % page_size);
	EXPECT_EQ(0, self->mem % page_size);
}

TEST_F(map, mappable_allocation)
{
	struct paccel_mem_alloc cmd = {
		.size = sizeof(cmd), .flags = PACCEL_MEM_MAPPABLE, .length = 100
	};

	EXPECT_EQ(0, paccel_call(self->fd, PACCEL_IOC_MEM_ALLOC, &cmd));
	EXPECT_EQ(0, peek(self->card + (cmd.addr - self->base)));
}

TEST_F(map, new_memory_is_zero)
{
	EXPECT_TRUE(all_bytes(self->at, self->size, 0));
}

TEST_F(map, what_a_copy_writes_is_there)
{
	pattern_fill(self->host, self->size, 1);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, self->size);
	EXPECT_EQ(-1, pattern_diff(self->at, self->size, 1));
	test_cmd_fill(self->fd, self->mem, self->size, 0x5a, 1);
	EXPECT_TRUE(all_bytes(self->at, self->size, 0x5a));
}

TEST_F(map, what_is_written_is_copied)
{
	for (int i = 0; i < 50; i++) {
		pattern_fill(self->at, self->size, i);
		test_cmd_copy_d2h(self->fd, self->host, self->mem, self->size);
		ASSERT_EQ(-1, pattern_diff(self->host, self->size, i)) TH_LOG("round %d", i);
	}
}

TEST_F(map, every_page_of_a_large_one)
{
	u64 size = 4 << 20, mem;
	u8 *at;

	test_cmd_mem_alloc(self->fd, size, 0, &mem);
	at = self->card + (mem - self->base);
	for (u64 off = 0; off < size; off += page_size)
		*(u64 *)(at + off) = off ^ mem;
	for (u64 off = 0; off < size; off += page_size) {
		u64 got;

		test_cmd_copy_d2h(self->fd, &got, mem + off, sizeof(got));
		ASSERT_EQ(off ^ mem, got);
	}
	/* The neighbour's pages were not put in with ours. */
	test_cmd_mem_free(self->fd, mem, size);
	EXPECT_EQ(-SIGBUS, peek(at));
	EXPECT_EQ(-SIGBUS, peek(at + size - 1));
	EXPECT_EQ(0, peek(self->at));
}

TEST_F(map, a_part_and_twice)
{
	u8 *part = map_device(self->fd, self->mem + 2 * page_size, 3 * page_size, RW, MAP_SHARED);
	u8 *read = map_device(self->fd, self->mem, page_size, PROT_READ, MAP_SHARED);

	ASSERT_NE(MAP_FAILED, part);
	ASSERT_NE(MAP_FAILED, read);
	part[5] = 77;
	__sync_synchronize();
	EXPECT_EQ(77, self->at[2 * page_size + 5]);
	EXPECT_EQ(0, peek(part + 3 * page_size - 1));
	EXPECT_EQ(0, peek(read));
	EXPECT_EQ(-SIGSEGV, poke(read, 1));
	EXPECT_EQ(0, munmap(part, 3 * page_size));
	EXPECT_EQ(77, self->at[2 * page_size + 5]);
}

/* The rest of the last granule is the program's, too, and nobody else's. */
TEST_F(map, short_allocation)
{
	u64 mem;
	u8 *at;

	test_cmd_mem_alloc(self->fd, 10, 0, &mem);
	at = self->card + (mem - self->base);
	EXPECT_TRUE(all_bytes(at, page_size, 0));
	memset(at, 0xff, page_size);
	test_cmd_mem_free(self->fd, mem, 10);
	EXPECT_EQ(-SIGBUS, peek(at));
	ASSERT_TRUE(card_settle(self->fd));
	test_cmd_mem_alloc(self->fd, page_size, 0, &mem);
	EXPECT_TRUE(all_bytes(self->card + (mem - self->base), page_size, 0));
}

/* The driver reads and writes its structs there as anywhere, with none of its locks held. */
TEST_F(map, commands_in_device_memory)
{
	struct paccel_mem_alloc *cmd = (void *)self->at;

	cmd->size = sizeof(*cmd);
	cmd->length = 10;
	EXPECT_EQ(0, ioctl(self->fd, PACCEL_IOC_MEM_ALLOC, cmd));
	EXPECT_LE(self->base, cmd->addr);
}

/* --- what is refused ----------------------------------------------------- */

#define REFUSED(err, ...)                                                      \
	({                                                                     \
		errno = 0;                                                     \
		EXPECT_EQ(MAP_FAILED, map_device(__VA_ARGS__));                \
		EXPECT_EQ(err, errno);                                         \
	})

TEST_F(map, private)
{
	REFUSED(EINVAL, self->fd, self->mem, page_size, RW, MAP_PRIVATE);
	REFUSED(EINVAL, self->fd, self->mem, page_size, PROT_READ, MAP_PRIVATE);
}

TEST_F(map, executable)
{
	REFUSED(EACCES, self->fd, self->mem, page_size, RW | PROT_EXEC, MAP_SHARED);
	EXPECT_EQ(-1, mprotect(self->card, self->total, RW | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(map, outside_of_the_card)
{
	u64 end = self->base + self->total;

	REFUSED(EINVAL, self->fd, 0, page_size, RW, MAP_SHARED);
	REFUSED(EINVAL, self->fd, self->base - page_size, page_size, RW, MAP_SHARED);
	REFUSED(EINVAL, self->fd, self->base - page_size, 2 * page_size, RW, MAP_SHARED);
	REFUSED(EINVAL, self->fd, end, page_size, RW, MAP_SHARED);
	REFUSED(EINVAL, self->fd, end - page_size, 2 * page_size, RW, MAP_SHARED);
	REFUSED(EINVAL, self->fd, self->base, self->total + page_size, RW, MAP_SHARED);
	REFUSED(EINVAL, self->fd, PACCEL_MMAP_DEVICE - page_size, page_size, RW, MAP_SHARED);
	REFUSED(EINVAL, self->fd, PACCEL_MMAP_DEVICE + self->mem, page_size, RW, MAP_SHARED);
}

TEST_F(map, read_only_file)
{
	int fd = card_open_at(card_bdf(), O_RDONLY);

	ASSERT_LE(0, fd);
	REFUSED(EACCES, fd, self->base, page_size, PROT_READ, MAP_SHARED);
}

static int map_of_parents_file(void *arg)
{
	int fd = *(int *)arg;

	CHILD_CHECK(map_device(fd, info_of(fd).mem_base, page_size, RW, MAP_SHARED) == MAP_FAILED);
	CHILD_EQ(EPERM, errno);
	return 0;
}

TEST_F(map, other_process)
{
	EXPECT_EQ(0, run_in_child(map_of_parents_file, &self->fd));
}

TEST_F(map, in_parts)
{
	u8 *part = self->card + self->total / 2;

	EXPECT_EQ(-1, munmap(part, page_size));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, munmap(self->card, page_size));
	EXPECT_EQ(-1, mprotect(part, page_size, PROT_NONE));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(part, page_size, RW,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	EXPECT_EQ(0, poke(self->at, 3));
	/* As a whole anything goes. */
	EXPECT_EQ(0, mprotect(self->card, self->total, PROT_NONE));
	EXPECT_EQ(-SIGSEGV, peek(self->at));
	EXPECT_EQ(0, mprotect(self->card, self->total, RW));
	EXPECT_EQ(3, peek(self->at));
	EXPECT_EQ(0, munmap(self->card, self->total));
	EXPECT_EQ(-SIGSEGV, peek(self->at));
}

TEST_F(map, moved)
{
	EXPECT_EQ(MAP_FAILED, mremap(self->card, self->total, self->total + page_size,
				     MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(self->card, self->total, self->total,
				     MREMAP_MAYMOVE | MREMAP_FIXED,
				     self->card + 2 * self->total));
	EXPECT_EQ(MAP_FAILED, mremap(self->card, self->total, page_size, 0));
	EXPECT_EQ(MAP_FAILED, mremap(self->card, 0, page_size, MREMAP_MAYMOVE));
	EXPECT_EQ(0, peek(self->at));
}

TEST_F(map, as_host_memory)
{
	u64 other;

	test_cmd_mem_alloc(self->fd, page_size, 0, &other);
	test_err_host_register(EFAULT, self->fd, self->at, page_size, 0);
	test_err_copy_d2h(EFAULT, self->fd, self->at, other, page_size);
	test_err_copy_h2d(EFAULT, self->fd, other, self->at, page_size);
}

TEST_F(map, advice)
{
	EXPECT_EQ(0, poke(self->at, 9));
	EXPECT_EQ(-1, madvise(self->card, self->total, MADV_DOFORK));
	EXPECT_EQ(-1, madvise(self->card, self->total, MADV_DODUMP));
	EXPECT_EQ(-1, madvise(self->card, self->total, MADV_DONTNEED));
	EXPECT_EQ(-1, madvise(self->card, self->total, MADV_REMOVE));
	EXPECT_EQ(9, peek(self->at));
}

/* --- whose is a page ----------------------------------------------------- */

TEST_F(map, not_allocated)
{
	u8 *end = self->card + self->total - page_size;

	EXPECT_EQ(-SIGBUS, peek(end));
	EXPECT_EQ(-SIGBUS, poke(end, 1));
	/* Nor with a page beside it, from which on others are put in as well. */
	EXPECT_EQ(0, peek(self->at + self->size - 1));
	EXPECT_EQ(0, peek(self->at));
	EXPECT_EQ(-SIGBUS, peek(self->at + self->size));
	if (self->mem > self->base)
		EXPECT_EQ(-SIGBUS, peek(self->at - 1));
}

TEST_F(map, other_contexts_page)
{
	int other = card_open();
	u8 *card = map_card(other);

	ASSERT_NE(MAP_FAILED, card);
	EXPECT_EQ(0, poke(self->at, 1));
	EXPECT_EQ(-SIGBUS, peek(card + (self->mem - self->base)));
	EXPECT_EQ(1, peek(self->at));
}

struct neighbour {
	u64 off;
};

static int looks_at_everything(void *arg)
{
	struct neighbour *n = arg;
	int fd = card_open();
	u8 *card = map_card(fd);
	u64 total = info_of(fd).mem_size;

	catch_bus();
	CHILD_CHECK(card != MAP_FAILED);
	CHILD_EQ(-SIGBUS, peek(card + n->off));
	for (u64 off = 0; off < total; off += page_size)
		CHILD_EQ(-SIGBUS, peek(card + off));
	return 0;
}

TEST_F(map, other_process_page)
{
	struct neighbour n = { .off = self->mem - self->base };

	memset(self->at, 0x77, self->size);
	EXPECT_EQ(0, run_in_child(looks_at_everything, &n));
}

static int touches_parents(void *arg)
{
	catch_bus();
	CHILD_EQ(-SIGSEGV, peek(arg));
	return 0;
}

TEST_F(map, forked_child)
{
	EXPECT_EQ(0, poke(self->at, 4));
	EXPECT_EQ(0, run_in_child(touches_parents, self->at));
	EXPECT_EQ(4, peek(self->at));
}

TEST_F(map, imported)
{
	int other = card_open(), dmabuf;
	u8 *at = map_card(other) + (self->mem - self->base);
	u64 addr, length;

	test_cmd_mem_export(self->fd, PACCEL_EXPORT_DEVICE, self->mem, &dmabuf);
	test_cmd_mem_import(other, dmabuf, &addr, &length);
	EXPECT_EQ(0, poke(self->at, 6));
	EXPECT_EQ(6, peek(at));
	/* The page of the one is gone, that of the other is found again. */
	test_cmd_mem_free(self->fd, self->mem, self->size);
	EXPECT_EQ(-SIGBUS, peek(self->at));
	EXPECT_EQ(6, peek(at));
	test_cmd_mem_import(self->fd, dmabuf, &addr, &length);
	EXPECT_EQ(6, peek(self->at));
	close(dmabuf);
}

TEST_F(map, counted_imports)
{
	u64 addr, length;
	int dmabuf;

	test_cmd_mem_export(self->fd, PACCEL_EXPORT_DEVICE, self->mem, &dmabuf);
	test_cmd_mem_import(self->fd, dmabuf, &addr, &length);
	EXPECT_EQ(0, poke(self->at, 8));
	test_cmd_mem_free(self->fd, self->mem, self->size);
	EXPECT_EQ(8, peek(self->at));
	test_cmd_mem_free(self->fd, self->mem, self->size);
	EXPECT_EQ(-SIGBUS, peek(self->at));
	close(dmabuf);
}

/* --- freed --------------------------------------------------------------- */

TEST_F(map, freed)
{
	memset(self->at, 0x99, self->size);
	test_cmd_mem_free(self->fd, self->mem, self->size);
	for (u64 off = 0; off < self->size; off += page_size) {
		EXPECT_EQ(-SIGBUS, peek(self->at + off));
		EXPECT_EQ(-SIGBUS, poke(self->at + off, 1));
	}
	ASSERT_TRUE(card_settle(self->fd));
	EXPECT_EQ(-SIGBUS, peek(self->at));
}

TEST_F(map, allocated_again)
{
	u64 mem;

	memset(self->at, 0x99, self->size);
	test_cmd_mem_free(self->fd, self->mem, self->size);
	ASSERT_TRUE(card_settle(self->fd));
	test_cmd_mem_alloc(self->fd, self->size, 0, &mem);
	EXPECT_TRUE(all_bytes(self->card + (mem - self->base), self->size, 0));
}

/* The node of a container: another inode, and what is freed is gone from there, too. */
TEST_F(map, second_node)
{
	struct stat node;
	u8 *card;
	u64 mem;
	int fd;

	ASSERT_EQ(0, fstat(self->fd, &node));
	ASSERT_EQ(0, mknod("/tmp/second", S_IFCHR | 0600, node.st_rdev));
	fd = open("/tmp/second", O_RDWR | O_CLOEXEC);
	unlink("/tmp/second");
	ASSERT_LE(0, fd);
	card = map_card(fd);
	ASSERT_NE(MAP_FAILED, card);
	test_cmd_mem_alloc(fd, page_size, 0, &mem);
	EXPECT_EQ(0, poke(card + (mem - self->base), 1));
	test_cmd_mem_free(fd, mem, page_size);
	EXPECT_EQ(-SIGBUS, peek(card + (mem - self->base)));
	/* And unplug reaches both. */
	test_cmd_mem_alloc(fd, page_size, 0, &mem);
	EXPECT_EQ(0, poke(card + (mem - self->base), 1));
	EXPECT_EQ(0, poke(self->at, 1));
	xfers_note();
	ASSERT_EQ(0, driver_unbind(card_bdf()));
	EXPECT_EQ(-SIGBUS, peek(card + (mem - self->base)));
	EXPECT_EQ(-SIGBUS, peek(self->at));
	ASSERT_EQ(0, driver_bind(card_bdf()));
}

/* --- the next owner ------------------------------------------------------ */

#define MINE 0x11
#define THEIRS 0xee

struct looker {
	pthread_t thread;
	u8 *at;
	u64 size;
	int bad, stop;
	unsigned long saw, missed;
};

/* Sees its own bytes, zeros that are its own next allocation's, or SIGBUS. */
static void *look_for_ever(void *arg)
{
	struct looker *l = arg;
	u64 off = 0;

	while (!__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE)) {
		int got = peek(l->at + off);

		if (got == MINE || got == 0)
			l->saw++;
		else if (got == -SIGBUS)
			l->missed++;
		else
			l->bad = got;
		off = (off + 64) % l->size;
	}
	return NULL;
}

/* True once the thread has found memory there, and none. */
static bool both_seen(const struct looker *l)
{
	return __atomic_load_n(&l->saw, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&l->missed, __ATOMIC_RELAXED);
}

struct taker {
	struct line *line;
	u64 total;
};

/* Takes whatever is free as fast as it can, and writes itself all over it. */
static int takes_and_writes(void *arg)
{
	struct taker *t = arg;
	u64 mem, size = PAGES * page_size;
	int fd = card_open();
	u8 *card = map_card(fd);

	CHILD_CHECK(card != MAP_FAILED);
	say(t->line, 1);
	for (;;) {
		if (_test_cmd_mem_alloc(fd, size, 0, &mem))
			continue;
		CHILD_EQ(0, _test_cmd_fill(fd, mem, size, THEIRS, 1));
		memset(card + (mem - info_of(fd).mem_base), THEIRS, size);
		CHILD_EQ(0, _test_cmd_mem_free(fd, mem, size));
	}
}

/*
 * One thread looks, another frees and allocates, and a second process, as quick as it can, takes
 * what was freed. All but a few pages of the card are taken, so they meet.
 */
TEST_F(map, next_owners_bytes_are_never_seen)
{
	struct line line = line_open();
	struct taker taker = { .line = &line };
	struct looker looker[2] = { };
	u64 rest, left, again = 0, came_back = 0, mem, end, limit;
	int tries = 1;
	pid_t child;

	left = self->total - 3 * self->size;
	ASSERT_TRUE(card_settle(self->fd));
	test_cmd_mem_alloc(self->fd, left, 0, &rest);
	child = spawn(takes_and_writes, &taker);
	ASSERT_TRUE(hear(&line, 0));
	for (int i = 0; i < 2; i++) {
		looker[i].at = self->at;
		looker[i].size = self->size;
		ASSERT_EQ(0, pthread_create(&looker[i].thread, NULL, look_for_ever, &looker[i]));
	}
	end = now_ms() + 5000;
	/* On a busy host they get little time to look. */
	limit = end + 25000;
	while (now_ms() < (both_seen(&looker[0]) && came_back ? end : limit) && !looker[0].bad &&
	       !looker[1].bad) {
		tries += now_ms() >= end;
		for (u64 off = 0; off < self->size; off += page_size)
			poke(self->at + off, MINE);
		test_cmd_mem_free(self->fd, self->mem, self->size);
		do {
			test_cmd_mem_alloc(self->fd, self->size, 0, &mem);
			again++;
			if (mem == self->mem)
				break;
			test_cmd_mem_free(self->fd, mem, self->size);
		} while (now_ms() < limit);
		came_back += mem == self->mem;
	}
	if (tries > 1)
		printf("# tries: map.next_owners_bytes_are_never_seen %d\n", tries);
	for (int i = 0; i < 2; i++) {
		__atomic_store_n(&looker[i].stop, 1, __ATOMIC_RELEASE);
		pthread_join(looker[i].thread, NULL);
		EXPECT_EQ(0, looker[i].bad) TH_LOG("saw %#x", looker[i].bad);
		TH_LOG("%lu looks, %lu SIGBUS", looker[i].saw, looker[i].missed);
	}
	TH_LOG("%llu allocations, %llu at the same place", (unsigned long long)again,
	       (unsigned long long)came_back);
	EXPECT_LT(0, looker[0].missed);
	EXPECT_LT(0, looker[0].saw);
	EXPECT_LT(0, came_back);
	kill(child, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, reap(child));
}

/* --- the card goes ------------------------------------------------------- */

TEST_F(map, unplugged)
{
	struct looker looker[2] = { };

	memset(self->at, MINE, self->size);
	for (int i = 0; i < 2; i++) {
		looker[i].at = self->at;
		looker[i].size = self->size;
		ASSERT_EQ(0, pthread_create(&looker[i].thread, NULL, look_for_ever, &looker[i]));
	}
	/* Page tables are taken away and filled in all the time. */
	for (int i = 0; i < 20; i++) {
		u64 mem;

		test_cmd_mem_alloc(self->fd, page_size, 0, &mem);
		EXPECT_EQ(0, poke(self->card + (mem - self->base), MINE));
		test_cmd_mem_free(self->fd, mem, page_size);
	}
	xfers_note();
	ASSERT_EQ(0, driver_unbind(card_bdf()));
	for (u64 off = 0; off < self->size; off += page_size) {
		EXPECT_EQ(-SIGBUS, peek(self->at + off));
	}
	EXPECT_EQ(-SIGBUS, poke(self->at, 1));
	for (int i = 0; i < 2; i++) {
		__atomic_store_n(&looker[i].stop, 1, __ATOMIC_RELEASE);
		pthread_join(looker[i].thread, NULL);
		EXPECT_EQ(0, looker[i].bad) TH_LOG("saw %#x", looker[i].bad);
	}
	REFUSED(ENODEV, self->fd, self->mem, page_size, RW, MAP_SHARED);
	ASSERT_EQ(0, driver_bind(card_bdf()));
	/* Also when the card is back: the file's is gone for ever. */
	EXPECT_EQ(-SIGBUS, peek(self->at));
	EXPECT_EQ(0, munmap(self->card, self->total));
}

struct hang {
	pthread_t thread;
	u8 *from, *to;
	int uffd, signal;
};

/* Stands between two faults, in a load that hangs, before a store to the card. */
static void *hang_in_fault(void *arg)
{
	struct hang *h = arg;
	u8 value = *(volatile u8 *)h->from;

	h->signal = poke(h->to, value);
	return NULL;
}

TEST_F(map, unplugged_under_a_thread_in_a_fault)
{
	struct hang h = { .from = map_pages(1), .to = self->at };
	static u8 page[65536];

	h.uffd = uffd_hang(h.from, page_size);
	ASSERT_LE(0, h.uffd);
	ASSERT_EQ(0, pthread_create(&h.thread, NULL, hang_in_fault, &h));
	ASSERT_TRUE(uffd_wait(h.uffd, 10000));
	xfers_note();
	ASSERT_EQ(0, driver_unbind(card_bdf()));
	ASSERT_TRUE(uffd_resolve(h.uffd, h.from, page));
	pthread_join(h.thread, NULL);
	EXPECT_EQ(-SIGBUS, h.signal);
	ASSERT_EQ(0, driver_bind(card_bdf()));
}

/* Where memory survives, mappings do; else the context is lost, and they with it. */
TEST_F(map, reset)
{
	memset(self->at, MINE, self->size);
	test_cmd_reset(self->fd);
	if (info_of(self->fd).caps & PACCEL_CAP_MEM_SURVIVES_RESET) {
		EXPECT_TRUE(all_bytes(self->at, self->size, MINE));
		return;
	}
	EXPECT_EQ(-SIGBUS, peek(self->at));
	REFUSED(ESTALE, self->fd, self->mem, page_size, RW, MAP_SHARED);
}

/* --- what the kernel knows of it ----------------------------------------- */

/* The flags of the mapping at an address, as /proc/self/smaps has them, or NULL. */
static const char *vm_flags(const void *at, char line[512])
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long start, end;
	bool here = false;

	while (f && fgets(line, 512, f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = start <= (unsigned long)at && (unsigned long)at < end;
		else if (here && !strncmp(line, "VmFlags:", 8))
			break;
	}
	if (f)
		fclose(f);
	return line;
}

TEST_F(map, flags)
{
	static const char *const want[] = { " sh", " pf", " io", " dc", " de", " dd" };
	char line[512];
	const char *flags = vm_flags(self->at, line);

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		EXPECT_NE(NULL, strstr(flags, want[i]))
			TH_LOG("no%s in %s", want[i], flags);
	}
	EXPECT_EQ(NULL, strstr(flags, " me"));
}

/* x86 gives a page the type that is reserved for it, whatever the mapping asks for. */
TEST_F(map, write_combined)
{
	FILE *f = fopen("/sys/kernel/debug/x86/pat_memtype_list", "re");
	char line[256];
	int found = 0;

	if (!f && !system("mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null"))
		f = fopen("/sys/kernel/debug/x86/pat_memtype_list", "re");
	if (!f)
		SKIP(return, "no list of memory types");
	while (fgets(line, sizeof(line), f)) {
		unsigned long long start, end;
		const char *range = strstr(line, "[mem ");

		if (range && sscanf(range, "[mem %llx-%llx", &start, &end) == 2 &&
		    strstr(line, "write-combining") && end - start >= self->total - 1)
			found++;
	}
	fclose(f);
	EXPECT_LT(0, found);
}

PACCEL_TEST_MAIN
