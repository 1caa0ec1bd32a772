/* SPDX-License-Identifier: MIT */
/*
 * The window: addresses as large as the device's memory that nothing else gets, so that a device
 * pointer can be told from every other one. Where the device's memory can be mapped it is mapped
 * there, all of it once; elsewhere nothing can access it, and a stray dereference is a clean
 * SIGSEGV. The library itself never loads or stores there: what a device that goes away does to
 * those who do (SIGBUS) must not come out of a call.
 */
#define _GNU_SOURCE
#include "error.h"
#include "table.h"
#include "window.h"

#include <linux/paccel.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define WINDOW_ALIGN ((size_t)2 << 20)
#define WINDOW_ALIGN_MAX ((size_t)1 << 30)
#define GUARD 4096
#define NO_ROOM "cannot reserve %zu bytes of address space for the device's memory: "

static int reserve_failed(int err, size_t size)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit))
		limit.rlim_cur = RLIM_INFINITY;
	if (limit.rlim_cur != RLIM_INFINITY)
		return fail(-ENOMEM, NO_ROOM "the limit (RLIMIT_AS, ulimit -v) is %llu bytes", size,
			    (unsigned long long)limit.rlim_cur);
	/* What mlockall(MCL_FUTURE) over the limit looks like; the contract knows no EAGAIN. */
	if (err == EAGAIN)
		return fail(-ENOMEM,
			    NO_ROOM
			    "mlockall(MCL_FUTURE) charges them to RLIMIT_MEMLOCK (ulimit -l); "
			    "open the device first",
			    size);
	return fail(-ENOMEM, NO_ROOM "%s", size, strerrordesc_np(err));
}

/*
 * The memory begins at a multiple of 4 GiB, so a pointer is aligned up to this as its device address
 * is.
 */
static size_t window_align(uint64_t mem_size)
{
	size_t align = WINDOW_ALIGN;

	while (align < mem_size && align < WINDOW_ALIGN_MAX)
		align *= 2;
	return align;
}

/* What is in front of the window and behind it, but for 2 MiB, is only needed to align it. */
static void trim(struct window *window, uint64_t mem_size)
{
	uintptr_t begin = window->base - WINDOW_ALIGN, end = window->map + window->map_size;
	size_t size = (((size_t)mem_size + WINDOW_ALIGN - 1) & ~(WINDOW_ALIGN - 1)) +
		      2 * WINDOW_ALIGN;

	if (begin > window->map)
		munmap((void *)window->map, begin - window->map);
	else
		begin = window->map;
	if (begin + size < end) {
		munmap((void *)(begin + size), end - begin - size);
		end = begin + size;
	}
	WRITE_SHARED(window->map, begin);
	WRITE_SHARED(window->map_size, end - begin);
}

static int reserve_aligned(struct window *window, uint64_t mem_size, size_t align)
{
	/* Room to align the base behind a guard, and for at least 2 MiB behind the memory. */
	size_t size = (size_t)mem_size + align + 2 * WINDOW_ALIGN;
	void *map;

	if (size < mem_size)
		return fail(-ENOMEM,
			    "the device's memory is larger than the address space of this program");
	map = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return reserve_failed(errno, size);
	/* Best effort: a core dump works with or without it. */
	madvise(map, size, MADV_DONTDUMP);
	WRITE_SHARED(window->map, (uintptr_t)map);
	WRITE_SHARED(window->map_size, size);
	window->base = (window->map + GUARD + align - 1) & ~(align - 1);
	trim(window, mem_size);
	return 0;
}

/* Where there is no room to align it to more it is aligned to 2 MiB. */
int window_reserve(struct window *window, uint64_t mem_size)
{
	size_t align = window_align(mem_size);
	int err = reserve_aligned(window, mem_size, align);

	if (err && align > WINDOW_ALIGN)
		err = reserve_aligned(window, mem_size, WINDOW_ALIGN);
	return err;
}

/*
 * A failed attempt can have left a hole. It is filled unless it was none, or somebody was faster,
 * whose addresses would be taken for device pointers from then on.
 */
static void reserve_again(void *at, size_t size)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;

	if (mmap(at, size, PROT_NONE, flags, -1, 0) == at)
		madvise(at, size, MADV_DONTDUMP);
}

void window_map(struct window *window, int fd, uint64_t mem_base, size_t mem_size)
{
	void *at = (void *)window->base;

	if (mmap(at, mem_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 (off_t)(PACCEL_MMAP_DEVICE + mem_base)) == at)
		window->mapped = mem_size;
	else
		reserve_again(at, mem_size);
}

void window_disown(struct window *window)
{
	if (window->mapped)
		reserve_again((void *)window->base, window->mapped);
	window->mapped = 0;
}

void window_release(struct window *window)
{
	munmap((void *)window->map, window->map_size);
	WRITE_SHARED(window->map, 0);
	WRITE_SHARED(window->map_size, 0);
	window->base = window->mapped = 0;
}
