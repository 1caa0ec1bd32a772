/* SPDX-License-Identifier: MIT */
/*
 * The harness, and for each ioctl three ways to call it:
 *
 *   _test_cmd_x(fd, ...)      returns 0 or -errno
 *   test_cmd_x(fd, ...)       must succeed, else the test ends
 *   test_err_x(err, fd, ...)  must fail with this errno
 *
 * All of them check on the way that a command which fails has not touched its
 * struct (PACCEL_CLOBBERED if it has).
 */
#ifndef PACCEL_KSELFTEST_H
#define PACCEL_KSELFTEST_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "card.h"
#include "util.h"
#include "kselftest.h"

/*
 * The harness tells nobody but its output when a test begins. The kernel log has
 * to know, too: a report in it then stands behind the name of its test. And the card
 * has to forget what the test before had asked of it.
 */
static inline __attribute__((format(printf, 1, 2)))
void mark_and_print(const char *fmt, ...)
{
	char text[512], mark[600];
	va_list args;
	int fd, n;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	printf("# %s", text);
	if (strncmp(text, " RUN", 4))
		return;
	card_behave();
	fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = snprintf(mark, sizeof(mark), "paccel-test: %s:%s",
		     program_invocation_short_name, text + 4);
	if (write(fd, mark, n) != n)
		perror("/dev/kmsg");
	close(fd);
}
#define ksft_print_msg(...) mark_and_print(__VA_ARGS__)
#include "kselftest_harness.h"
#undef ksft_print_msg

/* The limit is against hanging only; a slow machine must not meet it. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 480

#define PACCEL_TEST_MAIN                                                       \
	int main(int argc, char **argv)                                        \
	{                                                                      \
		xfers_at_exit();                                               \
		atexit(card_behave);                                           \
		return test_harness_run(argc, argv);                           \
	}

/* The struct was written to by a command that failed. */
#define PACCEL_CLOBBERED 1000

static inline int paccel_call(int fd, unsigned long request, void *cmd)
{
	char before[512];
	size_t n = *(__u32 *)cmd;
	int err;

	if (n > sizeof(before))
		n = sizeof(before);
	memcpy(before, cmd, n);
	if (!ioctl(fd, request, cmd))
		return 0;
	err = errno;
	if (memcmp(before, cmd, n)) {
		fprintf(stderr, "# struct of a command changed with errno %d\n", err);
		return -PACCEL_CLOBBERED;
	}
	return -err;
}

/* --- DEVICE_INFO --------------------------------------------------------- */

static inline int _test_cmd_device_info(int fd, struct paccel_device_info *info)
{
	/* Reply fields that the driver forgets show as junk. */
	memset(info, 0xff, sizeof(*info));
	info->size = sizeof(*info);
	info->flags = 0;
	return paccel_call(fd, PACCEL_IOC_DEVICE_INFO, info);
}
#define test_cmd_device_info(fd, info) \
	ASSERT_EQ(0, _test_cmd_device_info(fd, info))
#define test_err_device_info(err, fd, info) \
	EXPECT_EQ(-(err), _test_cmd_device_info(fd, info))

static inline struct paccel_device_info info_of(int fd)
{
	struct paccel_device_info info;

	if (_test_cmd_device_info(fd, &info)) {
		perror("DEVICE_INFO");
		abort();
	}
	return info;
}

/* --- MEM_ALLOC, MEM_FREE, MEM_STATS -------------------------------------- */

static inline int _test_cmd_mem_alloc(int fd, u64 length, u64 align, u64 *addr)
{
	struct paccel_mem_alloc cmd = {
		.size = sizeof(cmd),
		.length = length,
		.align = align,
		.addr = 0xdeaddeaddeaddead,
	};
	int rc = paccel_call(fd, PACCEL_IOC_MEM_ALLOC, &cmd);

	if (!rc)
		*addr = cmd.addr;
	return rc;
}
#define test_cmd_mem_alloc(fd, length, align, addr) \
	ASSERT_EQ(0, _test_cmd_mem_alloc(fd, length, align, addr))
#define test_err_mem_alloc(err, fd, length, align)                             \
	({                                                                     \
		u64 _addr;                                                     \
		EXPECT_EQ(-(err), _test_cmd_mem_alloc(fd, length, align, &_addr)); \
	})

static inline int _test_cmd_mem_free(int fd, u64 addr, u64 length)
{
	struct paccel_mem_free cmd = {
		.size = sizeof(cmd),
		.addr = addr,
		.length = length,
	};

	return paccel_call(fd, PACCEL_IOC_MEM_FREE, &cmd);
}
#define test_cmd_mem_free(fd, addr, length) \
	ASSERT_EQ(0, _test_cmd_mem_free(fd, addr, length))
#define test_err_mem_free(err, fd, addr, length) \
	EXPECT_EQ(-(err), _test_cmd_mem_free(fd, addr, length))

static inline int _test_cmd_mem_stats(int fd, struct paccel_mem_stats *stats)
{
	memset(stats, 0xff, sizeof(*stats));
	stats->size = sizeof(*stats);
	stats->flags = 0;
	return paccel_call(fd, PACCEL_IOC_MEM_STATS, stats);
}
#define test_cmd_mem_stats(fd, stats) \
	ASSERT_EQ(0, _test_cmd_mem_stats(fd, stats))
#define test_err_mem_stats(err, fd, stats) \
	EXPECT_EQ(-(err), _test_cmd_mem_stats(fd, stats))

/* What an allocation of so many bytes takes. */
static inline u64 in_granules(int fd, u64 n)
{
	u64 granule = info_of(fd).granule;

	return (n + granule - 1) / granule * granule;
}

/* --- HOST_ALLOC, HOST_REGISTER, HOST_FREE -------------------------------- */

static inline int _test_cmd_host_alloc(int fd, u64 length, u64 *offset)
{
	struct paccel_host_alloc cmd = {
		.size = sizeof(cmd),
		.length = length,
		.offset = 0xdeaddeaddeaddead,
	};
	int rc = paccel_call(fd, PACCEL_IOC_HOST_ALLOC, &cmd);

	if (!rc)
		*offset = cmd.offset;
	return rc;
}
#define test_cmd_host_alloc(fd, length, offset) \
	ASSERT_EQ(0, _test_cmd_host_alloc(fd, length, offset))
#define test_err_host_alloc(err, fd, length)                                   \
	({                                                                     \
		u64 _offset;                                                   \
		EXPECT_EQ(-(err), _test_cmd_host_alloc(fd, length, &_offset)); \
	})

/* The one mapping of a HOST_ALLOC; MAP_FAILED and errno as from mmap(). */
static inline void *host_map(int fd, size_t length, u64 offset)
{
	return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}

static inline int _test_cmd_host_register(int fd, const void *addr, u64 length,
					  u32 flags)
{
	struct paccel_host_register cmd = {
		.size = sizeof(cmd),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = length,
	};

	return paccel_call(fd, PACCEL_IOC_HOST_REGISTER, &cmd);
}
#define test_cmd_host_register(fd, addr, length, flags) \
	ASSERT_EQ(0, _test_cmd_host_register(fd, addr, length, flags))
#define test_err_host_register(err, fd, addr, length, flags) \
	EXPECT_EQ(-(err), _test_cmd_host_register(fd, addr, length, flags))

static inline int _test_cmd_host_free(int fd, const void *addr, u64 offset)
{
	struct paccel_host_free cmd = {
		.size = sizeof(cmd),
		.addr = (uintptr_t)addr,
		.offset = offset,
	};

	return paccel_call(fd, PACCEL_IOC_HOST_FREE, &cmd);
}
#define test_cmd_host_free(fd, addr, offset) \
	ASSERT_EQ(0, _test_cmd_host_free(fd, addr, offset))
#define test_err_host_free(err, fd, addr, offset) \
	EXPECT_EQ(-(err), _test_cmd_host_free(fd, addr, offset))

/* --- MEM_EXPORT, MEM_IMPORT, HOST_REGISTER of a dma-buf ------------------- */

static inline int _test_cmd_mem_export(int fd, u32 kind, u64 addr, int *dmabuf)
{
	struct paccel_mem_export cmd = {
		.size = sizeof(cmd),
		.addr = addr,
		.kind = kind,
		.fd = -77,
	};
	int rc = paccel_call(fd, PACCEL_IOC_MEM_EXPORT, &cmd);

	if (!rc)
		*dmabuf = cmd.fd;
	return rc;
}
#define test_cmd_mem_export(fd, kind, addr, dmabuf) \
	ASSERT_EQ(0, _test_cmd_mem_export(fd, kind, addr, dmabuf))
#define test_err_mem_export(err, fd, kind, addr)                               \
	({                                                                     \
		int _dmabuf;                                                   \
		EXPECT_EQ(-(err), _test_cmd_mem_export(fd, kind, addr, &_dmabuf)); \
	})

static inline int _test_cmd_mem_import(int fd, int dmabuf, u64 *addr, u64 *length)
{
	struct paccel_mem_import cmd = {
		.size = sizeof(cmd),
		.fd = dmabuf,
		.addr = 0xdeaddeaddeaddead,
		.length = 0xdeaddeaddeaddead,
	};
	int rc = paccel_call(fd, PACCEL_IOC_MEM_IMPORT, &cmd);

	if (!rc) {
		*addr = cmd.addr;
		*length = cmd.length;
	}
	return rc;
}
#define test_cmd_mem_import(fd, dmabuf, addr, length) \
	ASSERT_EQ(0, _test_cmd_mem_import(fd, dmabuf, addr, length))
#define test_err_mem_import(err, fd, dmabuf)                                   \
	({                                                                     \
		u64 _addr, _length;                                            \
		EXPECT_EQ(-(err), _test_cmd_mem_import(fd, dmabuf, &_addr, &_length)); \
	})

static inline int _test_cmd_host_dmabuf(int fd, const void *addr, u64 length,
					int dmabuf, u32 flags)
{
	struct paccel_host_register cmd = {
		.size = sizeof(cmd),
		.flags = flags | PACCEL_HOST_DMABUF,
		.addr = (uintptr_t)addr,
		.length = length,
		.fd = dmabuf,
	};

	return paccel_call(fd, PACCEL_IOC_HOST_REGISTER, &cmd);
}
#define test_cmd_host_dmabuf(fd, addr, length, dmabuf, flags) \
	ASSERT_EQ(0, _test_cmd_host_dmabuf(fd, addr, length, dmabuf, flags))
#define test_err_host_dmabuf(err, fd, addr, length, dmabuf, flags) \
	EXPECT_EQ(-(err), _test_cmd_host_dmabuf(fd, addr, length, dmabuf, flags))

/* --- COPY ---------------------------------------------------------------- */

struct copy_2d {
	u64 width, rows, dst_pitch, src_pitch;
};

static inline int _test_cmd_copy_2d(int fd, u32 dir, u64 dst, u64 src,
				    struct copy_2d shape)
{
	struct paccel_copy cmd = {
		.size = sizeof(cmd),
		.dir = dir,
		.dst = dst,
		.src = src,
		.width = shape.width,
		.rows = shape.rows,
		.dst_pitch = shape.dst_pitch,
		.src_pitch = shape.src_pitch,
	};

	return paccel_call(fd, PACCEL_IOC_COPY, &cmd);
}
#define test_cmd_copy_2d(fd, dir, dst, src, ...)                               \
	ASSERT_EQ(0, _test_cmd_copy_2d(fd, dir, dst, src,                      \
				       (struct copy_2d){ __VA_ARGS__ }))
#define test_err_copy_2d(err, fd, dir, dst, src, ...)                          \
	EXPECT_EQ(-(err), _test_cmd_copy_2d(fd, dir, dst, src,                 \
					    (struct copy_2d){ __VA_ARGS__ }))

static inline int _test_cmd_copy_h2d(int fd, u64 dst, const void *src, u64 n)
{
	return _test_cmd_copy_2d(fd, PACCEL_COPY_H2D, dst, (uintptr_t)src,
				 (struct copy_2d){ n, 1, 0, 0 });
}
#define test_cmd_copy_h2d(fd, dst, src, n) \
	ASSERT_EQ(0, _test_cmd_copy_h2d(fd, dst, src, n))
#define test_err_copy_h2d(err, fd, dst, src, n) \
	EXPECT_EQ(-(err), _test_cmd_copy_h2d(fd, dst, src, n))

static inline int _test_cmd_copy_d2h(int fd, void *dst, u64 src, u64 n)
{
	return _test_cmd_copy_2d(fd, PACCEL_COPY_D2H, (uintptr_t)dst, src,
				 (struct copy_2d){ n, 1, 0, 0 });
}
#define test_cmd_copy_d2h(fd, dst, src, n) \
	ASSERT_EQ(0, _test_cmd_copy_d2h(fd, dst, src, n))
#define test_err_copy_d2h(err, fd, dst, src, n) \
	EXPECT_EQ(-(err), _test_cmd_copy_d2h(fd, dst, src, n))

static inline int _test_cmd_copy_d2d(int fd, u64 dst, u64 src, u64 n)
{
	return _test_cmd_copy_2d(fd, PACCEL_COPY_D2D, dst, src,
				 (struct copy_2d){ n, 1, 0, 0 });
}
#define test_cmd_copy_d2d(fd, dst, src, n) \
	ASSERT_EQ(0, _test_cmd_copy_d2d(fd, dst, src, n))
#define test_err_copy_d2d(err, fd, dst, src, n) \
	EXPECT_EQ(-(err), _test_cmd_copy_d2d(fd, dst, src, n))

/* --- FILL, RESET --------------------------------------------------------- */

static inline int _test_cmd_fill(int fd, u64 addr, u64 length, u64 pattern,
				 u32 pattern_size)
{
	struct paccel_fill cmd = {
		.size = sizeof(cmd),
		.addr = addr,
		.length = length,
		.pattern = pattern,
		.pattern_size = pattern_size,
	};

	return paccel_call(fd, PACCEL_IOC_FILL, &cmd);
}
#define test_cmd_fill(fd, addr, length, pattern, pattern_size) \
	ASSERT_EQ(0, _test_cmd_fill(fd, addr, length, pattern, pattern_size))
#define test_err_fill(err, fd, addr, length, pattern, pattern_size) \
	EXPECT_EQ(-(err), _test_cmd_fill(fd, addr, length, pattern, pattern_size))

static inline int _test_cmd_reset(int fd)
{
	struct paccel_reset cmd = { .size = sizeof(cmd) };

	return paccel_call(fd, PACCEL_IOC_RESET, &cmd);
}
#define test_cmd_reset(fd) ASSERT_EQ(0, _test_cmd_reset(fd))
#define test_err_reset(err, fd) EXPECT_EQ(-(err), _test_cmd_reset(fd))

/* --- calls in a thread --------------------------------------------------- */

/* One call that runs beside the test. */
struct side_call {
	pthread_t thread;
	int (*fn)(struct side_call *c);
	int fd;
	u32 dir;
	u64 dst, src, length, addr;
	struct copy_2d shape;
	pid_t tid;
	int rc;
	int done;
};

static inline void *side_call_main(void *arg)
{
	struct side_call *c = arg;

	c->tid = gettid();
	c->rc = c->fn(c);
	__atomic_store_n(&c->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static inline void side_call_start(struct side_call *c)
{
	if (pthread_create(&c->thread, NULL, side_call_main, c))
		abort();
}

static inline bool side_call_done(struct side_call *c)
{
	return __atomic_load_n(&c->done, __ATOMIC_ACQUIRE);
}

static inline int side_call_end(struct side_call *c)
{
	pthread_join(c->thread, NULL);
	return c->rc;
}

static inline int side_copy(struct side_call *c)
{
	return _test_cmd_copy_2d(c->fd, c->dir, c->dst, c->src, c->shape);
}

static inline int side_alloc(struct side_call *c)
{
	return _test_cmd_mem_alloc(c->fd, c->length, 0, &c->addr);
}

/*
 * A copy of so many transfers, one per row, that needs little memory. Rows of one
 * byte with a pitch of 1 would be one block, hence the pitch of 2.
 */
#define LONG_COPY_BYTES(rows) ((rows) * 2)
static inline struct copy_2d long_copy(u64 rows)
{
	return (struct copy_2d){ 1, rows, 2, 2 };
}

/* The same, of so many turns of a card that is given several transfers at once. */
static inline struct copy_2d long_turns(u64 turns)
{
	return long_copy(turns * card_depth());
}

/* Of a copy beside which something else happens: a slow kernel comes to that later. */
#define ROWS_BESIDE (3u * slow_factor())

/* In a test: the dead leave nothing, their memory is free, and it is clean. */
#define NOTHING_LEFT()                                                         \
	do {                                                                   \
		u64 _mem;                                                      \
									       \
		/* All of it need not be read slowly. */                       \
		card_behave();                                                 \
		EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == 0, 10000));    \
		test_cmd_mem_alloc(self->fd, self->total, 0, &_mem);           \
		memset(self->host, 0xee, self->total);                         \
		test_cmd_copy_d2h(self->fd, self->host, _mem, self->total);    \
		EXPECT_TRUE(all_bytes(self->host, self->total, 0));            \
		test_cmd_mem_free(self->fd, _mem, self->total);                \
	} while (0)

/* A transfer for which somebody waits has begun since the counter stood there. */
static inline bool xfers_passed(int fd, u64 before)
{
	return stats_of(fd).xfers > before;
}

#endif
