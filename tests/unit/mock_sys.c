/* SPDX-License-Identifier: MIT */
/*
 * The system calls that the mock catches. With MOCK_PRELOAD they are the functions themselves, for
 * LD_PRELOAD, and the cards come from the environment: MOCK_CARDS=0,2 are their nodes, MOCK_BYTES the
 * size of each, and what goes wrong stands at the end of this file.
 */
#define _GNU_SOURCE
#include "mock.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef MOCK_PRELOAD
#define CAUGHT(name) name
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#else
#define CAUGHT(name) __wrap_##name
#define REAL(name) __real_##name
#endif

extern __typeof__(close) __real_close;
extern __typeof__(mmap64) __real_mmap64;

#define CATCH(type, name, ...) \
	extern __typeof__(name) __real_##name; \
	type CAUGHT(name)(__VA_ARGS__); \
	type CAUGHT(name)(__VA_ARGS__)

int ioctl(int fd, unsigned long request, ...);

static __thread DIR *fake_dir;
static __thread unsigned int fake_at;

static int fails(int err)
{
	errno = err;
	return -1;
}

#define CLASS "/sys/class/paccel"

/* Folders that a test has made stand for these; there is none without the variable, but /proc. */
static const struct {
	const char *folder, *variable, *otherwise;
} moved[] = {
	{ CLASS, "MOCK_SYSFS", "/nowhere" },
	{ "/sys/class/devcoredump", "MOCK_DUMPS", "/nowhere" },
	{ "/proc", "MOCK_PROC", "/proc" },
};

static const char *moved_path(const char *path, char real[4096])
{
	for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++) {
		size_t length = strlen(moved[i].folder);
		const char *to = getenv(moved[i].variable);

		if (strncmp(path, moved[i].folder, length) || (path[length] && path[length] != '/'))
			continue;
		snprintf(real, 4096, "%s%s", to ? to : moved[i].otherwise, path + length);
		return real;
	}
	return path;
}

/*
 * TSan sees closedir() close a descriptor and does not see opendir() open it: where another thread
 * had that number before, it takes the one for a race with the other.
 */
static DIR *open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? NULL : fdopendir(fd);
}

CATCH(DIR *, opendir, const char *path)
{
	char real[4096];
	int err;

	if (strcmp(path, "/dev"))
		return open_dir(moved_path(path, real));
	err = mock_sys_fault(MOCK_OPENDIR);
	if (err) {
		errno = err;
		return NULL;
	}
	fake_at = 0;
	return fake_dir = open_dir("/");
}

CATCH(struct dirent64 *, readdir64, DIR *dir)
{
	static __thread struct dirent64 entry;

	if (dir != fake_dir)
		return REAL(readdir64)(dir);
	return mock_sys_list(fake_at++, entry.d_name, sizeof(entry.d_name)) ? &entry : NULL;
}

CATCH(int, closedir, DIR *dir)
{
	if (dir == fake_dir)
		fake_dir = NULL;
	return REAL(closedir)(dir);
}

static int fill_stat(struct stat64 *st, unsigned int rdev)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFCHR | 0660;
	st->st_gid = 44;
	st->st_rdev = rdev;
	return 0;
}

/* Of the names that are no nodes all are devices, but paccel77. */
CATCH(int, fstatat64, int dir, const char *name, struct stat64 *st, int flags)
{
	unsigned int node, rdev;

	if (strncmp(name, "paccel", 6))
		return REAL(fstatat64)(dir, name, st, flags);
	if (!mock_sys_node(name, &node, &rdev))
		return fill_stat(st, rdev);
	fill_stat(st, 0);
	if (!strcmp(name, "paccel77"))
		st->st_mode = S_IFREG | 0660;
	return 0;
}

CATCH(int, stat64, const char *path, struct stat64 *st)
{
	unsigned int node, rdev;

	if (strncmp(path, "/dev/paccel", 11))
		return REAL(stat64)(path, st);
	return mock_sys_node(path + 5, &node, &rdev) ? fails(ENOENT) : fill_stat(st, rdev);
}

CATCH(int, fstat64, int fd, struct stat64 *st)
{
	unsigned int rdev;

	return mock_sys_is_file(fd, &rdev) ? fill_stat(st, rdev) : REAL(fstat64)(fd, st);
}

CATCH(int, access, const char *path, int mode)
{
	if (strcmp(path, CLASS))
		return REAL(access)(path, mode);
	return mock_sys_loaded() ? 0 : fails(ENOENT);
}

CATCH(int, open64, const char *path, int flags, ...)
{
	char real[4096];
	int err, fd;
	mode_t mode;
	va_list args;

	if (strncmp(path, "/dev/paccel", 11)) {
		va_start(args, flags);
		mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
		va_end(args);
		return REAL(open64)(moved_path(path, real), flags, mode);
	}
	err = mock_sys_fault(MOCK_OPEN);
	if (err)
		return fails(err);
	/* One that poll() can find hung up: see mock_sys_hang_up(). */
	fd = socket(AF_UNIX, SOCK_DGRAM | (flags & O_CLOEXEC ? SOCK_CLOEXEC : 0), 0);
	if (fd < 0)
		return fd;
	err = mock_sys_open(path, flags, fd);
	if (err < 0) {
		REAL(close)(fd);
		return fails(-err);
	}
	return fd;
}

void mock_sys_hang_up(int fd)
{
	shutdown(fd, SHUT_RDWR);
}

CATCH(int, close, int fd)
{
	mock_sys_fault(MOCK_CLOSE);
	mock_sys_close(fd);
	return REAL(close)(fd);
}

CATCH(int, ioctl, int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;
	bool ours;
	int err;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	err = mock_sys_ioctl(fd, request, arg, &ours);
	if (!ours)
		return REAL(ioctl)(fd, request, arg);
	return err ? fails(err) : 0;
}

static void *next_map;

void mock_map_at(void *addr)
{
	next_map = addr;
}

static void *map_host(void *addr, size_t length, int prot, int flags, int fd, off64_t offset)
{
	uint64_t at;
	int memfd;
	void *map;

	if (next_map) {
		addr = next_map;
		flags |= MAP_FIXED;
		next_map = NULL;
	}
	memfd = mock_sys_map(fd, (uint64_t)offset, addr, length, prot, flags, &at);
	if (memfd < 0) {
		errno = -memfd;
		return MAP_FAILED;
	}
	map = REAL(mmap64)(addr, length, prot, flags, memfd, (off64_t)at);
	if (map != MAP_FAILED)
		mock_sys_mapped(fd, (uint64_t)offset, map, length);
	/* As the driver's: a child does not have it. */
	if (map != MAP_FAILED && (uint64_t)offset >= PACCEL_MMAP_DEVICE)
		madvise(map, length, MADV_DONTFORK);
	return map;
}

CATCH(void *, mmap64, void *addr, size_t length, int prot, int flags, int fd, off64_t offset)
{
	unsigned int rdev;
	bool ours = fd >= 0 && mock_sys_is_file(fd, &rdev);
	int err = ours || flags & MAP_NORESERVE ? mock_sys_fault(MOCK_MMAP) : 0;

	if (err) {
		/* What was there is gone by the time that a driver refuses. */
		if (ours && flags & MAP_FIXED)
			munmap(addr, length);
		errno = err;
		return MAP_FAILED;
	}
	return ours ? map_host(addr, length, prot, flags, fd, offset)
		    : REAL(mmap64)(addr, length, prot, flags, fd, offset);
}

void *mock_sys_map_memory(int fd, size_t length)
{
	return REAL(mmap64)(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

#ifdef MOCK_PRELOAD
static unsigned int number_from(const char *name)
{
	const char *value = getenv(name);

	return value ? (unsigned int)strtoul(value, NULL, 10) : 0;
}

__attribute__((constructor)) static void from_environment(void)
{
	unsigned int node, size = number_from("MOCK_BYTES") ?: MOCK_SIZE;
	const char *list = getenv("MOCK_CARDS");
	char *end;

	mock_reset();
	for (; list && *list; list = *end ? end + 1 : end) {
		node = (unsigned int)strtoul(list, &end, 10);
		mock_add_sized(node, size, size);
		if (getenv("MOCK_CORRUPT"))
			mock_corrupt(node);
		mock_quota(node, number_from("MOCK_QUOTA"));
	}
	mock_fail(MOCK_OPEN, number_from("MOCK_DENY"), EACCES);
	mock_fail(PACCEL_NR_COPY, number_from("MOCK_FAIL_COPY"), EIO);
	mock_fail(PACCEL_NR_RESET, number_from("MOCK_FAIL_RESET"), EIO);
	mock_admin(!getenv("MOCK_NO_ADMIN"));
	mock_fail(PACCEL_NR_FILL, number_from("MOCK_FAIL_FILL"), ETIMEDOUT);
	if (getenv("MOCK_UNLOADED"))
		mock_unload();
}
#endif
