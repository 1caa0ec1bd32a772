// SPDX-License-Identifier: MIT
/*
 * Host memory that the driver knows: its own (HOST_ALLOC and one mmap) and the
 * program's (HOST_REGISTER), with everything that can be done to it behind the
 * driver's back.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "paccel_test.h"

#define SIZE 512

FIXTURE(host) {
	int fd;
	u64 mem;
	u8 *got;
	long locked;
};

FIXTURE_SETUP(host)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
	self->got = map_pages(1);
	memset(self->got, 0xc3, page_size);
	self->locked = locked_kb();
}

FIXTURE_TEARDOWN(host)
{
	close(self->fd);
	unmap_nodes();
	/* Whatever was locked by the test is given back with the file and the mapping. */
	EXPECT_TRUE(WAIT_FOR(locked_kb() == self->locked, 5000))
		TH_LOG("%ld kB locked before, %ld after", self->locked, locked_kb());
}

static long pages_kb(long pages)
{
	return pages * (page_size / 1024);
}

/* The card can read and write n bytes at host. */
#define WORKS(host, n)                                                         \
	do {                                                                   \
		pattern_fill(host, n, 21);                                     \
		test_cmd_copy_h2d(self->fd, self->mem, host, n);               \
		memset(host, 0, n);                                            \
		test_cmd_copy_d2h(self->fd, host, self->mem, n);               \
		EXPECT_EQ(-1, pattern_diff(host, n, 21));                      \
	} while (0)

/* Neither way, and not a byte is moved for it. */
#define IS_DEAD(host)                                                          \
	do {                                                                   \
		struct paccel_mem_stats _old = stats_of(self->fd), _new;       \
									       \
		test_err_copy_h2d(EFAULT, self->fd, self->mem, host, 8);       \
		test_err_copy_d2h(EFAULT, self->fd, host, self->mem, 8);       \
		_new = stats_of(self->fd);                                     \
		EXPECT_EQ(_old.bytes_h2d, _new.bytes_h2d);                     \
		EXPECT_EQ(_old.bytes_d2h, _new.bytes_d2h);                     \
	} while (0)

/* --- the driver's own memory --------------------------------------------- */

TEST_F(host, own_memory)
{
	u64 offset;
	u8 *p;

	test_cmd_host_alloc(self->fd, page_size + 1, &offset);
	EXPECT_NE(0, offset);
	EXPECT_EQ(self->locked + pages_kb(2), locked_kb());
	p = host_map(self->fd, 2 * page_size, offset);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_TRUE(all_bytes(p, 2 * page_size, 0));
	WORKS(p + page_size - 100, 200);
	/* The mapping is all of it, also behind the length that was asked for. */
	WORKS(p + 2 * page_size - 8, 8);
	test_cmd_host_free(self->fd, p, 0);
	/* The pages live as long as they are mapped, and so does the charge. */
	EXPECT_EQ(self->locked + pages_kb(2), locked_kb());
	munmap(p, 2 * page_size);
	EXPECT_TRUE(WAIT_FOR(locked_kb() == self->locked, 5000));
}

TEST_F(host, own_memory_lengths)
{
	u64 max = info_of(self->fd).max_host_bytes, offset;

	test_err_host_alloc(EINVAL, self->fd, 0);
	test_err_host_alloc(EINVAL, self->fd, max + 1);
	test_err_host_alloc(EINVAL, self->fd, 1ull << 63);
	test_err_host_alloc(EINVAL, self->fd, ~0ull);
	test_err_host_alloc(EINVAL, self->fd, ~0ull - page_size + 2);
	test_cmd_host_alloc(self->fd, 1, &offset);
	EXPECT_EQ(self->locked + pages_kb(1), locked_kb());
	test_cmd_host_free(self->fd, NULL, offset);
}

TEST_F(host, own_mapping_stays_whole)
{
	size_t n = 3 * page_size;
	u8 *p, *elsewhere = map_pages(4);
	u64 offset;

	test_cmd_host_alloc(self->fd, n, &offset);
	p = host_map(self->fd, n, offset);
	ASSERT_NE(MAP_FAILED, p);
#define REFUSED(call)                                                          \
	do {                                                                   \
		EXPECT_EQ(-1, (long)(call));                                   \
		EXPECT_EQ(EINVAL, errno);                                      \
	} while (0)
	REFUSED(munmap(p, page_size));
	REFUSED(munmap(p + page_size, page_size));
	REFUSED(munmap(p + 2 * page_size, page_size));
	REFUSED(mremap(p, n, page_size, 0));
	REFUSED(mremap(p, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere));
	/* Growing is refused by the kernel itself, which says EFAULT. */
	EXPECT_EQ(MAP_FAILED, mremap(p, n, n + page_size, MREMAP_MAYMOVE));
	WORKS(p + page_size - 10, 20);
	/* Something mapped over a part of it would split it, too. */
	EXPECT_EQ(MAP_FAILED, mmap(p + page_size, page_size, PROT_READ,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	WORKS(p + page_size - 10, 20);
}

TEST_F(host, own_memory_unmapped)
{
	u64 offset;
	u8 *p;

	test_cmd_host_alloc(self->fd, page_size, &offset);
	p = host_map(self->fd, page_size, offset);
	ASSERT_NE(MAP_FAILED, p);
	munmap(p, page_size);
	IS_DEAD(p);
	/* Also when something else lies there now. */
	ASSERT_EQ(p, mmap(p, page_size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
	IS_DEAD(p);
	EXPECT_EQ(self->locked + pages_kb(1), locked_kb());
	test_cmd_host_free(self->fd, NULL, offset);
	WORKS(p, 8);
}

TEST_F(host, own_memory_freed_while_mapped)
{
	u64 offset;
	u8 *p;

	test_cmd_host_alloc(self->fd, page_size, &offset);
	p = host_map(self->fd, page_size, offset);
	ASSERT_NE(MAP_FAILED, p);
	memset(p, 0x3c, page_size);
	test_cmd_host_free(self->fd, p, 0);
	test_err_host_free(ENOENT, self->fd, p, 0);
	test_err_host_free(ENOENT, self->fd, NULL, offset);
	/* The program's pages stay until munmap(), and may be what copies use. */
	EXPECT_TRUE(all_bytes(p, page_size, 0x3c));
	WORKS(p, 8);
}

TEST_F(host, own_memory_outlives_the_file)
{
	u64 offset;
	u8 *p;

	test_cmd_host_alloc(self->fd, page_size, &offset);
	p = host_map(self->fd, page_size, offset);
	ASSERT_NE(MAP_FAILED, p);
	memset(p, 0x5d, page_size);
	close(self->fd);
	EXPECT_TRUE(all_bytes(p, page_size, 0x5d));
	munmap(p, page_size);
	self->fd = card_open();
}

/* The page tables may lose it, the memory may not. */
TEST_F(host, own_memory_after_madvise)
{
	u64 offset;
	u8 *p;

	test_cmd_host_alloc(self->fd, page_size, &offset);
	p = host_map(self->fd, page_size, offset);
	ASSERT_NE(MAP_FAILED, p);
	memset(p, 0x4b, page_size);
	madvise(p, page_size, MADV_DONTNEED);
	EXPECT_TRUE(all_bytes(p, page_size, 0x4b));
	memset(p, 0x4c, 8);
	test_cmd_copy_h2d(self->fd, self->mem, p, 8);
	test_cmd_copy_d2h(self->fd, self->got, self->mem, 8);
	EXPECT_TRUE(all_bytes(self->got, 8, 0x4c));
}

static int write_shared(void *arg)
{
	u8 *p = arg;

	CHILD_CHECK(all_bytes(p, 100, 0x11));
	memset(p, 0x22, 100);
	return 0;
}

TEST_F(host, own_memory_is_inherited_by_fork)
{
	u64 offset;
	u8 *p;

	test_cmd_host_alloc(self->fd, page_size, &offset);
	p = host_map(self->fd, page_size, offset);
	ASSERT_NE(MAP_FAILED, p);
	memset(p, 0x11, page_size);
	EXPECT_EQ(0, run_in_child(write_shared, p));
	EXPECT_TRUE(all_bytes(p, 100, 0x22));
	EXPECT_TRUE(all_bytes(p + 100, page_size - 100, 0x11));
	/* The end of the child's mapping is not the end of ours. */
	WORKS(p, 8);
}

TEST_F(host, second_node)
{
	const char *node = "/tmp/paccel-second-node";
	char name[32], path[64];
	struct stat st;
	u64 offset;
	u8 *p;
	int fd;

	ASSERT_TRUE(card_node(card_bdf(), name));
	snprintf(path, sizeof(path), "/dev/%s", name);
	ASSERT_EQ(0, stat(path, &st));
	unlink(node);
	ASSERT_EQ(0, mknod(node, S_IFCHR | 0600, st.st_rdev));
	fd = open(node, O_RDWR | O_CLOEXEC);
	unlink(node);
	if (fd < 0 && errno == EACCES)
		SKIP(return, "/tmp is mounted nodev");
	ASSERT_LE(0, fd);
	test_cmd_host_alloc(fd, page_size, &offset);
	/* An offset belongs to the file that got it. */
	EXPECT_EQ(MAP_FAILED, host_map(self->fd, 2 * page_size, offset));
	p = host_map(fd, page_size, offset);
	ASSERT_NE(MAP_FAILED, p);
	memset(p, 1, page_size);
	close(fd);
	EXPECT_TRUE(all_bytes(p, page_size, 1));
}

/* --- registered memory --------------------------------------------------- */

TEST_F(host, registered_memory)
{
	u8 *p = map_pages(3);

	test_cmd_host_register(self->fd, p + 100, 2 * page_size, 0);
	/* Whole pages: these bytes lie in three. */
	EXPECT_EQ(self->locked + pages_kb(3), locked_kb());
	WORKS(p + 2 * page_size - 50, 100);
	test_cmd_host_free(self->fd, p + 100, 0);
	EXPECT_EQ(self->locked, locked_kb());
	test_err_host_free(ENOENT, self->fd, p + 100, 0);
	WORKS(p, 8);
}

TEST_F(host, register_refusals)
{
	u64 max = info_of(self->fd).max_host_bytes;
	u8 *p = map_pages(2), *fixed = map_pages(1), *gone = map_pages(1);
	u8 *none = map_pages(1), *end = map_pages(2);
	int fd = self->fd;

	munmap(gone, page_size);
	munmap(end + page_size, page_size);
	mprotect(fixed, page_size, PROT_READ);
	mprotect(none, page_size, PROT_NONE);
	test_err_host_register(EINVAL, fd, p, 0, 0);
	test_err_host_register(EINVAL, fd, p, max + 1, 0);
	test_err_host_register(EINVAL, fd, p, ~0ull, 0);
	test_err_host_register(EINVAL, fd, (void *)-16ul, 17, 0);
	test_err_host_register(EINVAL, fd, NULL, 1, 0);
	test_err_host_register(EFAULT, fd, gone, 1, 0);
	test_err_host_register(EFAULT, fd, none, 1, 0);
	test_err_host_register(EFAULT, fd, none, 1, PACCEL_HOST_READ_ONLY);
	test_err_host_register(EFAULT, fd, fixed, 1, 0);
	test_err_host_register(EFAULT, fd, end + page_size - 1, 2, 0);
	test_err_host_register(EFAULT, fd, (void *)(~0ul << 47), 8, 0);
	EXPECT_EQ(self->locked, locked_kb());
	/* None of these attempts is in the way of the real one. */
	test_cmd_host_register(fd, fixed, 1, PACCEL_HOST_READ_ONLY);
	test_cmd_host_register(fd, end, page_size, 0);
}

TEST_F(host, registrations_do_not_overlap)
{
	u8 *p = map_pages(2);
	int fd = self->fd;
	u64 offset;
	u8 *own;

	test_cmd_host_register(fd, p + 100, 100, 0);
	test_err_host_register(EEXIST, fd, p + 100, 100, 0);
	test_err_host_register(EEXIST, fd, p + 150, 10, 0);
	test_err_host_register(EEXIST, fd, p + 99, 2, 0);
	test_err_host_register(EEXIST, fd, p + 199, 2, 0);
	test_err_host_register(EEXIST, fd, p, 2 * page_size, 0);
	test_err_host_register(EEXIST, fd, p + 199, 1, PACCEL_HOST_READ_ONLY);
	/* Neighbours, in the same page. */
	test_cmd_host_register(fd, p + 200, 8, 0);
	test_cmd_host_register(fd, p + 92, 8, 0);
	/* The driver's own memory is a range like others. */
	test_cmd_host_alloc(fd, page_size, &offset);
	own = host_map(fd, page_size, offset);
	ASSERT_NE(MAP_FAILED, own);
	test_err_host_register(EEXIST, fd, own + 10, 10, 0);
	/* Two ranges make no third: an operand over both is pageable, and works. */
	WORKS(p + 190, 18);
	test_cmd_host_free(fd, p + 100, 0);
	test_cmd_host_register(fd, p + 100, 100, 0);
}

/* --- limits -------------------------------------------------------------- */

TEST_F(host, memlock_limit)
{
	u8 *p = map_pages(8);
	u64 offset;

	limit_memlock(self->locked * 1024 + 4 * page_size);
	test_cmd_host_register(self->fd, p, 2 * page_size, 0);
	test_err_host_register(ENOMEM, self->fd, p + 2 * page_size, 3 * page_size, 0);
	/* One byte too many is one page too many. */
	test_err_host_register(ENOMEM, self->fd, p + 3 * page_size - 1,
			       2 * page_size, 0);
	test_err_host_alloc(ENOMEM, self->fd, 2 * page_size + 1);
	EXPECT_EQ(self->locked + pages_kb(2), locked_kb());
	/* Up to the limit, in whichever way. */
	test_cmd_host_alloc(self->fd, 2 * page_size, &offset);
	test_err_host_register(ENOMEM, self->fd, p + 2 * page_size, 1, 0);
	test_err_host_alloc(ENOMEM, self->fd, 1);
	test_cmd_host_free(self->fd, p, 0);
	test_cmd_host_register(self->fd, p + page_size, 2 * page_size, 0);
	test_cmd_host_free(self->fd, NULL, offset);
	EXPECT_EQ(self->locked + pages_kb(2), locked_kb());
}

#define GENERATIONS 20

/* Each process allocates four pages, maps them and ends. Its child has the mapping. */
static int forks_and_ends(void *arg)
{
	struct line *line = arg;
	u64 offset;

	close(line->fd[0]);
	for (int i = 0; i < GENERATIONS; i++) {
		int fd = card_open();
		pid_t child;

		CHILD_CHECK(fd >= 0);
		if (_test_cmd_host_alloc(fd, 4 * page_size, &offset) == -ENOMEM)
			break;
		CHILD_CHECK(host_map(fd, 4 * page_size, offset) != MAP_FAILED);
		say(line, 1);
		child = fork();
		CHILD_CHECK(child >= 0);
		if (child)
			_exit(0);
	}
	shutdown(line->fd[1], SHUT_WR);
	/* The mappings stay until the test has counted. */
	hear_some_day(line, 1);
	return 0;
}

/* The end of a process does not end the charge for memory that its child has mapped. */
TEST_F(host, memlock_limits_what_children_keep)
{
	struct line line = line_open();
	int generations = 0;
	u64 offset;
	char byte;

	/* Of another user, and not of the address space that is charged below. */
	test_cmd_host_alloc(self->fd, page_size, &offset);
	limit_memlock(self->locked * 1024 + 8 * page_size);
	/* Descendants are waited for here, so the next test finds nothing of theirs. */
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
	EXPECT_EQ(0, reap(spawn(forks_and_ends, &line)));
	close(line.fd[1]);
	while (read(line.fd[0], &byte, 1) == 1)
		generations++;
	EXPECT_EQ(2, generations);
	close(line.fd[0]);
	while (wait(NULL) > 0)
		;
}

TEST_F(host, memlock_does_not_bind_root)
{
	struct rlimit none = { 0, 0 };
	u64 offset;

	/* CAP_IPC_LOCK is kept. */
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &none));
	test_cmd_host_alloc(self->fd, page_size, &offset);
	test_cmd_host_register(self->fd, map_pages(1), page_size, 0);
}

/* --- read-only registrations --------------------------------------------- */

TEST_F(host, read_only_is_not_written)
{
	u8 *p = map_pages(1);

	memset(p, 0x61, page_size);
	test_cmd_host_register(self->fd, p, page_size, PACCEL_HOST_READ_ONLY);
	test_err_copy_d2h(EFAULT, self->fd, p + 8, self->mem, 8);
	EXPECT_TRUE(all_bytes(p, page_size, 0x61));
	test_cmd_copy_h2d(self->fd, self->mem, p, 8);
	test_cmd_copy_d2h(self->fd, self->got, self->mem, 8);
	EXPECT_TRUE(all_bytes(self->got, 8, 0x61));
}

/* A read-only pin must not keep the zero page that a first write replaces. */
TEST_F(host, read_only_sees_later_writes)
{
	u8 *p = map_pages(2);
	u8 first = *(volatile u8 *)(p + page_size);

	EXPECT_EQ(0, first);
	test_cmd_host_register(self->fd, p, 2 * page_size, PACCEL_HOST_READ_ONLY);
	/* One page never touched, one only read. */
	memset(p, 0x71, 2 * page_size);
	test_cmd_copy_h2d(self->fd, self->mem, p, 8);
	test_cmd_copy_h2d(self->fd, self->mem + 8, p + page_size, 8);
	test_cmd_copy_d2h(self->fd, self->got, self->mem, 16);
	EXPECT_TRUE(all_bytes(self->got, 16, 0x71));
}

static u8 *map_file(int prot, int flags, u8 value)
{
	int file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	u8 *page = malloc(page_size), *p;

	memset(page, value, page_size);
	if (file < 0 || write(file, page, page_size) != (ssize_t)page_size)
		abort();
	p = mmap(NULL, page_size, prot, flags, file, 0);
	if (p == MAP_FAILED)
		abort();
	close(file);
	free(page);
	return p;
}

TEST_F(host, read_only_file_mappings)
{
	const int flags[] = { MAP_SHARED, MAP_PRIVATE };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		u8 *p = map_file(PROT_READ, flags[i], 0x81);

		test_err_host_register(EFAULT, self->fd, p, page_size, 0);
		test_cmd_host_register(self->fd, p, page_size, PACCEL_HOST_READ_ONLY);
		test_cmd_copy_h2d(self->fd, self->mem, p, 8);
		test_cmd_copy_d2h(self->fd, self->got, self->mem, 8);
		EXPECT_TRUE(all_bytes(self->got, 8, 0x81));
		test_cmd_host_free(self->fd, p, 0);
	}
}

TEST_F(host, shared_memory)
{
	u8 *p = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, p);
	test_cmd_host_register(self->fd, p, page_size, 0);
	WORKS(p, 100);
}

/* --- the memory under a registration changes ----------------------------- */

FIXTURE(changes) {
	int fd;
	u64 mem;
	u8 *p, *got;
	long locked;
};

FIXTURE_SETUP(changes)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
	self->p = map_pages(2);
	self->got = map_pages(1);
	memset(self->p, 0x55, 2 * page_size);
	self->locked = locked_kb();
	ASSERT_EQ(0, _test_cmd_host_register(self->fd, self->p, 2 * page_size, 0));
	ASSERT_EQ(self->locked + pages_kb(2), locked_kb());
}

FIXTURE_TEARDOWN(changes)
{
	/* Whatever has become of it, it can be freed, and all pages come back. */
	EXPECT_EQ(0, _test_cmd_host_free(self->fd, self->p, 0));
	EXPECT_EQ(self->locked, locked_kb());
	/* And then the same addresses are memory like any other. */
	mmap(self->p, page_size, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memset(self->p, 0x66, 8);
	EXPECT_EQ(0, _test_cmd_copy_h2d(self->fd, self->mem, self->p, 8));
	EXPECT_EQ(0, _test_cmd_copy_d2h(self->fd, self->got, self->mem, 8));
	EXPECT_TRUE(all_bytes(self->got, 8, 0x66));
	close(self->fd);
}

TEST_F(changes, munmap)
{
	munmap(self->p, 2 * page_size);
	IS_DEAD(self->p);
}

TEST_F(changes, munmap_of_a_part)
{
	munmap(self->p + page_size, page_size);
	IS_DEAD(self->p + page_size);
	/* A range is whole or dead. */
	IS_DEAD(self->p);
}

TEST_F(changes, something_else_is_mapped_there)
{
	u8 *q = mmap(self->p, 2 * page_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	ASSERT_EQ(self->p, q);
	memset(q, 0x99, 2 * page_size);
	/* Old pages must not be what a program that knows only new ones gets. */
	IS_DEAD(q);
	EXPECT_TRUE(all_bytes(q, 2 * page_size, 0x99));
}

TEST_F(changes, mremap)
{
	u8 *to = map_pages(2);

	ASSERT_EQ(to, mremap(self->p, 2 * page_size, 2 * page_size,
			     MREMAP_MAYMOVE | MREMAP_FIXED, to));
	IS_DEAD(self->p);
	EXPECT_TRUE(all_bytes(to, 2 * page_size, 0x55));
}

TEST_F(changes, madvise_dontneed_then_touched)
{
	ASSERT_EQ(0, madvise(self->p, 2 * page_size, MADV_DONTNEED));
	memset(self->p, 0x9a, 2 * page_size);
	IS_DEAD(self->p);
	EXPECT_TRUE(all_bytes(self->p, 2 * page_size, 0x9a));
}

TEST_F(changes, madvise_dontneed_untouched)
{
	ASSERT_EQ(0, madvise(self->p, 2 * page_size, MADV_DONTNEED));
	IS_DEAD(self->p);
	EXPECT_TRUE(all_bytes(self->p, 2 * page_size, 0));
}

TEST_F(changes, protection_only)
{
	/* Pages stay what they are: nothing has happened to the registration. */
	ASSERT_EQ(0, mprotect(self->p, page_size, PROT_READ));
	ASSERT_EQ(0, mprotect(self->p, page_size, PROT_READ | PROT_WRITE));
	WORKS(self->p + page_size - 10, 20);
}

/* Migration and its kin try and fail, for the pages are pinned. */
TEST_F(changes, harmless_attempts)
{
	madvise(self->p, 2 * page_size, MADV_COLD);
	madvise(self->p, 2 * page_size, 21 /* MADV_PAGEOUT */);
	madvise(self->p, 2 * page_size, MADV_MERGEABLE);
	file_write("/proc/sys/vm/compact_memory", "1");
	WORKS(self->p + page_size - 10, 20);
}

static int stays_as_it_was(void *arg)
{
	void **args = arg;
	struct line *l = args[0];
	u8 *p = args[1];

	/* In the child's copy nothing changes, whatever the card writes. */
	say(l, 1);
	CHILD_CHECK(hear(l, 1));
	CHILD_CHECK(all_bytes(p, 2 * page_size, 0x55));
	memset(p, 0xcd, 2 * page_size);
	say(l, 1);
	CHILD_CHECK(hear(l, 1));
	return 0;
}

TEST_F(changes, fork)
{
	struct line l = line_open();
	void *args[] = { &l, self->p };
	pid_t pid = spawn(stays_as_it_was, args);

	ASSERT_TRUE(hear(&l, 0));
	/* The card still reaches the page that the parent sees, in both directions. */
	memset(self->p, 0x56, 8);
	test_cmd_copy_h2d(self->fd, self->mem, self->p, 8);
	test_cmd_copy_d2h(self->fd, self->p + 100, self->mem, 8);
	EXPECT_TRUE(all_bytes(self->p + 100, 8, 0x56));
	memset(self->p, 0x55, 8);
	say(&l, 0);
	ASSERT_TRUE(hear(&l, 0));
	EXPECT_TRUE(all_bytes(self->p + 100, 8, 0x56));
	EXPECT_TRUE(all_bytes(self->p, 100, 0x55));
	say(&l, 0);
	EXPECT_EQ(0, reap(pid));
}

/* --- freed under a copy -------------------------------------------------- */

TEST_F(host, freed_while_a_copy_uses_it)
{
	struct side_call copy = { .fn = side_copy, .fd = self->fd,
				  .dir = PACCEL_COPY_D2H, .src = self->mem,
				  .shape = { 8, ROWS_BESIDE, 16, 16 } };
	u8 *p = map_pages(1);
	u64 xfers;

	test_cmd_fill(self->fd, self->mem, SIZE, 0x77, 1);
	memset(p, 0, page_size);
	test_cmd_host_register(self->fd, p, page_size, 0);
	copy.dst = (uintptr_t)p;
	ASSERT_TRUE(card_settle(self->fd));
	card_hold();
	xfers = stats_of(self->fd).xfers;
	side_call_start(&copy);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers) && card_is_held(), 5000));
	test_cmd_host_free(self->fd, p, 0);
	/* It was not waited for; the copy goes on to its end with the old pages. */
	EXPECT_TRUE(!side_call_done(&copy) || !card_can_hold());
	card_behave();
	EXPECT_EQ(0, side_call_end(&copy));
	for (u32 row = 0; row < ROWS_BESIDE; row++)
		EXPECT_TRUE(all_bytes(p + row * 16, 8, 0x77));
	EXPECT_TRUE(WAIT_FOR(locked_kb() == self->locked, 5000));
}

TEST_F(host, unmapped_while_a_copy_uses_it)
{
	struct side_call copy = { .fn = side_copy, .fd = self->fd,
				  .dir = PACCEL_COPY_D2H, .src = self->mem,
				  .shape = { 8, ROWS_BESIDE, 16, 16 } };
	u8 *p = map_pages(1);
	u64 xfers;

	test_cmd_host_register(self->fd, p, page_size, 0);
	copy.dst = (uintptr_t)p;
	ASSERT_TRUE(card_settle(self->fd));
	card_hold();
	xfers = stats_of(self->fd).xfers;
	side_call_start(&copy);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers) && card_is_held(), 5000));
	munmap(p, page_size);
	/* munmap() waits for no transfer, and the running job owns its pages. */
	EXPECT_TRUE(!side_call_done(&copy) || !card_can_hold());
	card_behave();
	side_call_end(&copy);
	EXPECT_TRUE(copy.rc == 0 || copy.rc == -EFAULT) TH_LOG("rc %d", copy.rc);
	IS_DEAD(p);
	test_cmd_host_free(self->fd, p, 0);
}

PACCEL_TEST_MAIN
