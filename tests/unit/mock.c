/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "mock_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MAX(a, b) ((a) > (b) ? (a) : (b))

enum state { FREE, USED, WAITING };

static struct card cards[MOCK_CARDS];
struct file files[FILES];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
bool peers_reach;
static bool unloaded;
static unsigned int instances, calls[COMMANDS];
static uint64_t last_offset;
static int open_flags, last_fd;
static int64_t clock_shift;
static struct {
	unsigned int nth;
	int err;
} faults[MOCK_ANY + 1];
static union {
	struct paccel_copy copy;
	struct paccel_mem_stats stats;
	struct paccel_device_info info;
	struct paccel_submit submit;
	struct paccel_wait wait;
} last[COMMANDS];

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* Those that waited stayed with the parent. */
static void in_child(void)
{
	moved = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	engine_lost();
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void start(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}

/* ---- What tests arrange ---- */

static void free_memory(struct card *card)
{
	if (card->mappable) {
		munmap(card->memory, card->size);
		plain_close(card->memfd);
	} else {
		free(card->memory);
	}
	free(card->state);
}

void mock_reset(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MOCK_CARDS; i++) {
		free_memory(&cards[i]);
	}
	memset(cards, 0, sizeof(cards));
	memset(calls, 0, sizeof(calls));
	memset(faults, 0, sizeof(faults));
	unloaded = peers_reach = false;
	clock_shift = 0;
	forget_fences();
	forget_dmabufs();
	pthread_mutex_unlock(&lock);
}

struct card *card_at(unsigned int node)
{
	for (int i = 0; i < MOCK_CARDS; i++)
		if (cards[i].memory && cards[i].node == node)
			return &cards[i];
	return NULL;
}

struct card *card_of(unsigned int instance)
{
	for (int i = 0; i < MOCK_CARDS; i++)
		if (cards[i].memory && cards[i].present && cards[i].instance == instance)
			return &cards[i];
	return NULL;
}

void mock_add_sized(unsigned int node, uint64_t size, uint64_t model_bytes)
{
	struct card *card = card_at(node);

	for (int i = 0; !card && i < MOCK_CARDS; i++)
		if (!cards[i].memory)
			card = &cards[i];
	free_memory(card);
	*card = (struct card){
		.present = true,
		.node = node,
		.size = size,
		.granule = MOCK_GRANULE,
		.instance = ++instances,
	};
	card->granules = model_bytes / MOCK_GRANULE;
	card->memory = calloc(1, model_bytes);
	card->state = calloc(1, card->granules);
}

void mock_add_mappable(unsigned int node, uint64_t size)
{
	struct card *card;

	mock_add_sized(node, size, size);
	card = card_at(node);
	free(card->memory);
	card->mappable = true;
	card->memfd = memfd_create("card", MFD_CLOEXEC);
	if (card->memfd < 0 || ftruncate(card->memfd, (off_t)size))
		abort();
	card->memory = mock_sys_map_memory(card->memfd, size);
}

void mock_add(unsigned int node)
{
	mock_add_sized(node, MOCK_SIZE, MOCK_SIZE);
}

void mock_remove(unsigned int node)
{
	pthread_mutex_lock(&lock);
	card_at(node)->present = false;
	for (int i = 0; i < FILES; i++)
		if (files[i].used && files[i].card->node == node)
			end_streams(&files[i], PACCEL_PAGE_GONE, -ENODEV);
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&lock);
}

void mock_lose(unsigned int node)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < FILES; i++)
		if (files[i].used && files[i].card->node == node) {
			files[i].lost = true;
			end_streams(&files[i], PACCEL_PAGE_LOST, -ESTALE);
		}
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&lock);
}

void mock_clock_shift(int64_t ns)
{
	clock_shift = ns;
}

uint64_t mock_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)(now.tv_sec * 1000000000ll + now.tv_nsec + clock_shift);
}

void mock_quota(unsigned int node, uint64_t bytes)
{
	card_at(node)->quota = bytes;
}

void mock_granule(unsigned int node, uint64_t bytes)
{
	card_at(node)->granule = bytes;
}

void mock_set_aside(unsigned int node, uint64_t bytes)
{
	card_at(node)->set_aside = bytes;
}

void mock_foreign(unsigned int node)
{
	card_at(node)->foreign = true;
}

void mock_corrupt(unsigned int node)
{
	card_at(node)->corrupt = true;
}

void mock_peers(bool reach)
{
	peers_reach = reach;
}

void mock_unload(void)
{
	unloaded = true;
}

void mock_hold(unsigned int node)
{
	pthread_mutex_lock(&lock);
	card_at(node)->hold = true;
	pthread_mutex_unlock(&lock);
}

void mock_wait_held(unsigned int node, unsigned int copies)
{
	struct card *card = card_at(node);

	pthread_mutex_lock(&lock);
	while (card->held < copies)
		pthread_cond_wait(&moved, &lock);
	pthread_mutex_unlock(&lock);
}

void mock_release(unsigned int node)
{
	pthread_mutex_lock(&lock);
	card_at(node)->hold = false;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&lock);
}

void mock_fail(unsigned int what, unsigned int nth, int err)
{
	pthread_mutex_lock(&lock);
	faults[what].nth = nth;
	faults[what].err = err;
	pthread_mutex_unlock(&lock);
}

void mock_fail_operation(unsigned int node, unsigned int nth, int err)
{
	pthread_mutex_lock(&lock);
	card_at(node)->fail_nth = nth;
	card_at(node)->fail_err = err;
	pthread_mutex_unlock(&lock);
}

int take_card_fault(struct card *card)
{
	return card->fail_nth && !--card->fail_nth ? card->fail_err : 0;
}

int take_fault(unsigned int what)
{
	return faults[what].nth && !--faults[what].nth ? faults[what].err : 0;
}

int mock_sys_fault(unsigned int what)
{
	int err;

	pthread_mutex_lock(&lock);
	err = take_fault(what);
	pthread_mutex_unlock(&lock);
	return err;
}

unsigned int mock_calls(unsigned int nr)
{
	unsigned int count;

	pthread_mutex_lock(&lock);
	count = calls[nr];
	pthread_mutex_unlock(&lock);
	return count;
}

void mock_wait_calls(unsigned int nr, unsigned int count)
{
	pthread_mutex_lock(&lock);
	while (calls[nr] < count)
		pthread_cond_wait(&moved, &lock);
	pthread_mutex_unlock(&lock);
}

unsigned int mock_all_calls(void)
{
	unsigned int sum = 0;

	for (int i = 0; i < COMMANDS; i++)
		sum += calls[i];
	return sum;
}

const void *mock_last(unsigned int nr)
{
	return &last[nr];
}

uint8_t *mock_memory(unsigned int node, uint64_t addr)
{
	uint8_t *memory;

	/* What was written is there, as another thread sees it. */
	pthread_mutex_lock(&lock);
	memory = card_at(node)->memory + (addr - MOCK_BASE);
	pthread_mutex_unlock(&lock);
	return memory;
}

unsigned int mock_files(void)
{
	unsigned int count = 0;

	for (int i = 0; i < FILES; i++)
		count += files[i].used;
	return count;
}

unsigned int mock_host_ranges(unsigned int node)
{
	unsigned int count = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < FILES; i++)
		for (int j = 0; files[i].used && files[i].card->node == node &&
				j < MOCK_HOST_RANGES; j++)
			count += files[i].hosts[j].live;
	pthread_mutex_unlock(&lock);
	return count;
}

unsigned int mock_streams(unsigned int node)
{
	unsigned int count = 0;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < FILES; i++)
		for (int j = 0; files[i].used && files[i].card->node == node && j < MOCK_STREAMS;
		     j++)
			count += files[i].streams[j].used &&
				 (!files[i].streams[j].destroyed || files[i].streams[j].jobs);
	pthread_mutex_unlock(&lock);
	return count;
}

int mock_open_flags(void)
{
	return open_flags;
}

int mock_last_fd(void)
{
	return last_fd;
}

static struct file *file_at(int fd)
{
	for (int i = 0; i < FILES; i++)
		if (files[i].used && files[i].fd == fd)
			return &files[i];
	return NULL;
}

/* ---- Device memory ---- */

bool inside(const struct file *file, uint64_t addr, uint64_t length)
{
	for (int i = 0; i < ALLOCS; i++) {
		const struct alloc *alloc = &file->allocs[i];

		if (alloc->live && addr >= alloc->addr && addr - alloc->addr <= alloc->length &&
		    length <= alloc->length - (addr - alloc->addr))
			return true;
	}
	return false;
}

static size_t granules_of(uint64_t length)
{
	return length / MOCK_GRANULE + !!(length % MOCK_GRANULE);
}

static uint64_t count_state(const struct card *card, enum state state)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < card->granules; i++)
		bytes += card->state[i] == state ? MOCK_GRANULE : 0;
	return bytes;
}

static uint64_t longest_free(const struct card *card)
{
	uint64_t run = 0, longest = 0;

	for (size_t i = 0; i < card->granules; i++) {
		run = card->state[i] == FREE ? run + MOCK_GRANULE : 0;
		longest = MAX(longest, run);
	}
	return longest;
}

static void scrub(struct card *card)
{
	for (size_t i = 0; i < card->granules; i++) {
		if (card->state[i] != WAITING)
			continue;
		memset(card->memory + i * MOCK_GRANULE, 0, MOCK_GRANULE);
		card->counters.bytes_scrubbed += MOCK_GRANULE;
		card->state[i] = FREE;
	}
}

/* The first run of free granules that begins at a multiple of @step. */
static bool find_place(const struct card *card, size_t count, size_t step, size_t *place)
{
	size_t run = 0;

	for (size_t i = 0; i < card->granules; i++) {
		run = card->state[i] == FREE && (run || i % step == 0) ? run + 1 : 0;
		if (run == count) {
			*place = i + 1 - count;
			return true;
		}
	}
	return false;
}

static uint64_t charged(const struct card *card, const struct file *only, __u64 *count)
{
	uint64_t bytes = 0;

	for (int i = 0; i < FILES; i++) {
		if (!files[i].used || files[i].card != card || (only && &files[i] != only))
			continue;
		for (int j = 0; j < ALLOCS; j++) {
			if (!files[i].allocs[j].live || files[i].allocs[j].imported)
				continue;
			bytes += granules_of(files[i].allocs[j].length) * MOCK_GRANULE;
			if (count)
				(*count)++;
		}
	}
	return bytes;
}

int add_alloc(struct file *file, uint64_t addr, uint64_t length, bool imported)
{
	int slot = 0;

	while (slot < ALLOCS && file->allocs[slot].live)
		slot++;
	if (slot == ALLOCS)
		return ENOMEM;
	file->allocs[slot] = (struct alloc){
		.addr = addr, .length = length, .live = true, .imported = imported
	};
	return 0;
}

/* A context, or another card that it is registered with. */
static bool somebody_has(const struct card *card, uint64_t addr)
{
	for (int i = 0; i < FILES; i++)
		for (int j = 0; files[i].used && j < MOCK_HOST_RANGES; j++)
			if (files[i].hosts[j].live && files[i].hosts[j].peer == card &&
			    files[i].hosts[j].peer_addr == addr)
				return true;
	for (int i = 0; i < FILES; i++)
		for (int j = 0; files[i].used && files[i].card == card && j < ALLOCS; j++)
			if (files[i].allocs[j].live && files[i].allocs[j].addr == addr)
				return true;
	return false;
}

static void let_go(struct card *card, uint64_t addr, uint64_t length)
{
	if (!somebody_has(card, addr))
		memset(card->state + (addr - MOCK_BASE) / MOCK_GRANULE, WAITING,
		       granules_of(length));
}

static void drop_alloc(struct file *file, struct alloc *alloc)
{
	alloc->live = false;
	let_go(file->card, alloc->addr, alloc->length);
}

static int place_alloc(struct file *file, uint64_t length, uint64_t align, __u64 *addr)
{
	struct card *card = file->card;
	size_t count = granules_of(length), step = align > MOCK_GRANULE ? align / MOCK_GRANULE : 1;
	size_t place;
	int err;

	if (card->quota && (count > card->quota / MOCK_GRANULE ||
			    charged(card, NULL, NULL) + count * MOCK_GRANULE > card->quota))
		return EDQUOT;
	if (!find_place(card, count, step, &place)) {
		scrub(card);
		if (!find_place(card, count, step, &place))
			return ENOMEM;
	}
	err = add_alloc(file, MOCK_BASE + place * MOCK_GRANULE, length, false);
	if (err)
		return err;
	memset(card->state + place, USED, count);
	*addr = MOCK_BASE + place * MOCK_GRANULE;
	return 0;
}

static int do_mem_alloc(struct file *file, struct paccel_mem_alloc *cmd)
{
	int err;

	if (cmd->flags & ~PACCEL_MEM_MAPPABLE || !cmd->length || cmd->align & (cmd->align - 1))
		return EINVAL;
	if (cmd->flags)
		return EOPNOTSUPP;
	err = place_alloc(file, cmd->length, cmd->align, &cmd->addr);
	file->card->counters.allocs += !err;
	file->card->counters.alloc_failures += !!err;
	return err;
}

static int do_mem_free(struct file *file, const struct paccel_mem_free *cmd)
{
	if (cmd->flags)
		return EINVAL;
	for (int i = 0; i < ALLOCS; i++) {
		struct alloc *alloc = &file->allocs[i];

		if (!alloc->live || alloc->addr != cmd->addr)
			continue;
		if (alloc->length != cmd->length)
			return EINVAL;
		if (alloc->imports)
			alloc->imports--;
		else
			drop_alloc(file, alloc);
		return 0;
	}
	return ENOENT;
}

static int do_mem_stats(const struct file *file, struct paccel_mem_stats *cmd)
{
	const struct card *card = file->card;

	if (cmd->flags)
		return EINVAL;
	*cmd = card->counters;
	cmd->size = sizeof(*cmd);
	cmd->flags = 0;
	cmd->total = card->size;
	cmd->used = count_state(card, USED);
	cmd->waiting = count_state(card, WAITING);
	cmd->set_aside = card->set_aside;
	cmd->free = card->size - cmd->used - cmd->waiting - cmd->set_aside;
	cmd->mine = charged(card, file, &cmd->mine_allocs);
	cmd->user = charged(card, NULL, NULL);
	cmd->user_max = card->quota;
	cmd->largest_free = longest_free(card);
	return 0;
}

static int do_device_info(const struct file *file, struct paccel_device_info *cmd)
{
	if (cmd->flags)
		return EINVAL;
	*cmd = (struct paccel_device_info){
		.size = sizeof(*cmd),
		.mem_base = MOCK_BASE,
		.mem_size = file->card->size,
		.granule = file->card->granule,
		.max_xfer = 4032,
		.max_align = 2 << 20,
		.max_host_bytes = MOCK_HOST_MAX,
		.max_host_ranges = MOCK_HOST_RANGES,
		.engines = 1,
		.dma_bits = 28,
		.card = "mock",
		.caps = PACCEL_CAP_MEM_SURVIVES_RESET |
			(file->card->mappable ? PACCEL_CAP_MAPPABLE : 0),
		.clock_ns = mock_clock(),
		.max_streams = MOCK_STREAMS,
		.max_ops = MOCK_OPS,
		.max_queued = MOCK_QUEUED,
		.max_points = 8,
	};
	snprintf(cmd->bus_addr, sizeof(cmd->bus_addr), "0000:%02x:00.0", file->card->node + 1);
	return 0;
}

/* ---- Host memory ---- */

static void drop_host(struct host *host)
{
	struct host dropped = *host;

	*host = (struct host){ .memfd = -1 };
	if (dropped.memfd >= 0)
		plain_close(dropped.memfd);
	if (dropped.peer)
		let_go(dropped.peer, dropped.peer_addr, dropped.length);
}

static uint64_t locked_bytes(void)
{
	uint64_t bytes = 0;

	for (int i = 0; i < FILES; i++)
		for (int j = 0; files[i].used && j < MOCK_HOST_RANGES; j++)
			if (files[i].hosts[j].live && !files[i].hosts[j].peer)
				bytes += (files[i].hosts[j].length + PAGE - 1) / PAGE * PAGE;
	return bytes;
}

/* Nobody pays for another card's memory. */
static int new_host(struct file *file, uint64_t length, bool charged, struct host **host)
{
	struct rlimit limit;

	if (!length || length > MOCK_HOST_MAX)
		return EINVAL;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (charged && locked_bytes() + (length + PAGE - 1) / PAGE * PAGE > limit.rlim_cur)
		return ENOMEM;
	for (int i = 0; i < MOCK_HOST_RANGES; i++) {
		if (file->hosts[i].live)
			continue;
		*host = &file->hosts[i];
		**host = (struct host){ .length = length, .memfd = -1 };
		return 0;
	}
	return ENOSPC;
}

static int do_host_alloc(struct file *file, struct paccel_host_alloc *cmd)
{
	struct host *host;
	int err = cmd->flags ? EINVAL : new_host(file, cmd->length, true, &host);

	if (err)
		return err;
	host->memfd = memfd_create("host", MFD_CLOEXEC);
	if (host->memfd < 0 ||
	    ftruncate(host->memfd, (off_t)((cmd->length + PAGE - 1) / PAGE * PAGE)))
		return ENOMEM;
	host->live = true;
	host->offset = cmd->offset = last_offset += 1ull << 44;
	return 0;
}

static bool host_overlaps(const struct file *file, uint64_t addr, uint64_t length)
{
	for (int i = 0; i < MOCK_HOST_RANGES; i++) {
		const struct host *host = &file->hosts[i];

		if (host->live && host->addr && addr < host->addr + host->length &&
		    host->addr < addr + length)
			return true;
	}
	return false;
}

/* Touches one byte of each page, as pinning would. */
static bool can_pin(uint64_t addr, uint64_t length, bool write)
{
	uint64_t at = addr;
	uint8_t byte;

	while (at < addr + length) {
		if (!access_host(at, &byte, 1, false) ||
		    (write && !access_host(at, &byte, 1, true)))
			return false;
		at = (at / PAGE + 1) * PAGE;
	}
	return true;
}

static int do_host_register(struct file *file, const struct paccel_host_register *cmd)
{
	struct shared shared = { .fd = -1 };
	struct host *host;
	int err;

	bool dmabuf = cmd->flags & PACCEL_HOST_DMABUF;
	bool read_only = cmd->flags & PACCEL_HOST_READ_ONLY;

	if (cmd->flags & ~(PACCEL_HOST_READ_ONLY | PACCEL_HOST_DMABUF) || cmd->reserved ||
	    (!dmabuf && cmd->fd) || cmd->addr + cmd->length < cmd->addr)
		return EINVAL;
	if (host_overlaps(file, cmd->addr, cmd->length))
		return EEXIST;
	err = dmabuf ? dmabuf_memory(file->card, cmd->fd, cmd->length, !read_only, &shared) : 0;
	if (err)
		return err;
	err = new_host(file, cmd->length, !shared.peer, &host);
	if (err) {
		if (shared.fd >= 0)
			plain_close(shared.fd);
		return err;
	}
	if (!dmabuf && !can_pin(cmd->addr, cmd->length, !read_only))
		return EFAULT;
	host->addr = cmd->addr;
	host->memfd = shared.fd;
	host->fd_addr = cmd->addr - shared.at;
	host->peer = shared.peer;
	host->peer_addr = shared.peer_addr;
	host->read_only = read_only;
	host->live = true;
	return 0;
}

static int do_host_free(struct file *file, const struct paccel_host_free *cmd)
{
	if (cmd->flags || !cmd->addr == !cmd->offset)
		return EINVAL;
	for (int i = 0; i < MOCK_HOST_RANGES; i++) {
		struct host *host = &file->hosts[i];

		if (!host->live ||
		    (cmd->addr ? host->addr != cmd->addr : host->offset != cmd->offset))
			continue;
		drop_host(host);
		return 0;
	}
	return ENOENT;
}

static struct host *host_by_offset(int fd, uint64_t offset)
{
	for (int i = 0; i < FILES; i++)
		for (int j = 0; files[i].used && files[i].fd == fd && j < MOCK_HOST_RANGES; j++)
			if (files[i].hosts[j].live && files[i].hosts[j].offset == offset)
				return &files[i].hosts[j];
	return NULL;
}

/* All of it, which is what the library maps. */
static int map_device(const struct file *file, uint64_t offset, size_t length, int flags)
{
	if (!file->card->mappable)
		return -EOPNOTSUPP;
	if (offset != PACCEL_MMAP_DEVICE + MOCK_BASE || length != file->card->size ||
	    !(flags & MAP_SHARED))
		return -EINVAL;
	return file->card->memfd;
}

int mock_sys_map(int fd, uint64_t offset, size_t length, int flags)
{
	struct host *host;
	int rc;

	pthread_mutex_lock(&lock);
	host = host_by_offset(fd, offset);
	if (offset >= PACCEL_MMAP_DEVICE)
		rc = map_device(file_at(fd), offset, length, flags);
	else if (offset == MOCK_PAGE_OFFSET)
		rc = length == PAGE && flags & MAP_SHARED ? file_at(fd)->page_fd : -EINVAL;
	else if (!host || !offset || length != (host->length + PAGE - 1) / PAGE * PAGE ||
	    !(flags & MAP_SHARED))
		rc = -EINVAL;
	else
		rc = host->addr ? -EBUSY : host->memfd;
	pthread_mutex_unlock(&lock);
	return rc;
}

int mock_sys_mapped(int fd, uint64_t offset, void *addr)
{
	pthread_mutex_lock(&lock);
	if (offset != MOCK_PAGE_OFFSET && offset < PACCEL_MMAP_DEVICE)
		host_by_offset(fd, offset)->addr = host_by_offset(fd, offset)->fd_addr =
			(uintptr_t)addr;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* ---- Copies ---- */

bool access_host(uint64_t addr, void *buffer, uint64_t length, bool write)
{
	struct iovec local = { buffer, length }, remote = { (void *)(uintptr_t)addr, length };

	/* Not by way of a sanitizer, which would look at the addresses first. */
	return syscall(write ? SYS_process_vm_writev : SYS_process_vm_readv, (long)getpid(), &local,
		       1ul, &remote, 1ul, 0ul) == (long)length;
}

struct host *host_around(struct file *file, uint64_t addr, uint64_t length)
{
	for (int i = 0; i < MOCK_HOST_RANGES; i++) {
		struct host *host = &file->hosts[i];

		if (host->live && host->addr && addr >= host->addr &&
		    addr + length <= host->addr + host->length)
			return host;
	}
	return NULL;
}

/* The memory of a file descriptor, or the caller's own. */
struct memory {
	int fd;
	uint64_t addr; /* which it stands for */
};

static bool access_memory(const struct memory *memory, uint64_t addr, void *buffer, uint64_t length,
			  bool write)
{
	off_t at = (off_t)(addr - memory->addr);

	if (memory->fd < 0)
		return access_host(addr, buffer, length, write);
	return (write ? pwrite(memory->fd, buffer, length, at)
		      : pread(memory->fd, buffer, length, at)) == (ssize_t)length;
}

static int copy_row(const struct file *file, const struct paccel_copy *cmd, uint64_t dst,
		    uint64_t src, const struct memory *host)
{
	uint8_t *memory = file->card->memory;

	switch (cmd->dir) {
	case PACCEL_COPY_H2D:
		return access_memory(host, src, memory + (dst - MOCK_BASE), cmd->width, false)
			       ? 0
			       : EFAULT;
	case PACCEL_COPY_D2H:
		return access_memory(host, dst, memory + (src - MOCK_BASE), cmd->width, true)
			       ? 0
			       : EFAULT;
	default:
		memcpy(memory + (dst - MOCK_BASE), memory + (src - MOCK_BASE), cmd->width);
		memory[dst - MOCK_BASE + cmd->width / 2] ^= file->card->corrupt;
		return 0;
	}
}

static int check_rows(const struct paccel_copy *cmd, uint64_t pitch, uint64_t start, uint64_t *span)
{
	uint64_t end;

	if (pitch < cmd->width && !(cmd->rows == 1 && !pitch))
		return EINVAL;
	return __builtin_mul_overflow(pitch, cmd->rows - 1, span) ||
			       __builtin_add_overflow(*span, cmd->width, span) ||
			       __builtin_add_overflow(start, *span - 1, &end)
		       ? EINVAL
		       : 0;
}

static bool rows_collide(const struct paccel_copy *cmd, uint64_t dst_span, uint64_t src_span)
{
	if (cmd->dst_pitch != cmd->src_pitch)
		return cmd->dst < cmd->src + src_span && cmd->src < cmd->dst + dst_span;
	for (uint64_t i = 0; i < cmd->rows; i++)
		for (uint64_t j = 0; j < cmd->rows; j++) {
			uint64_t dst = cmd->dst + i * cmd->dst_pitch,
				 src = cmd->src + j * cmd->src_pitch;

			if (dst < src + cmd->width && src < dst + cmd->width)
				return true;
		}
	return false;
}

int check_copy(const struct file *file, const struct paccel_copy *cmd)
{
	uint64_t dst_span, src_span;
	const struct host *host;

	if (cmd->flags || cmd->reserved || !cmd->width || !cmd->rows ||
	    cmd->dir < PACCEL_COPY_H2D || cmd->dir > PACCEL_COPY_D2D)
		return EINVAL;
	if (check_rows(cmd, cmd->dst_pitch, cmd->dst, &dst_span) ||
	    check_rows(cmd, cmd->src_pitch, cmd->src, &src_span))
		return EINVAL;
	if (cmd->dir == PACCEL_COPY_D2D && rows_collide(cmd, dst_span, src_span))
		return EINVAL;
	if (cmd->dir != PACCEL_COPY_D2H && !inside(file, cmd->dst, dst_span))
		return EFAULT;
	if (cmd->dir != PACCEL_COPY_H2D && !inside(file, cmd->src, src_span))
		return EFAULT;
	if (cmd->dir != PACCEL_COPY_D2H)
		return 0;
	host = host_around((struct file *)file, cmd->dst, dst_span);
	return host && host->read_only ? EFAULT : 0;
}

void wait_hold(struct card *card)
{
	card->held++;
	pthread_cond_broadcast(&moved);
	while (card->hold && card->present)
		pthread_cond_wait(&moved, &lock);
	card->held--;
}

int run_copy(struct file *file, const struct paccel_copy *cmd, int memfd, uint64_t memfd_addr)
{
	__u64 *counters[] = { [PACCEL_COPY_H2D] = &file->card->counters.bytes_h2d,
			      [PACCEL_COPY_D2H] = &file->card->counters.bytes_d2h,
			      [PACCEL_COPY_D2D] = &file->card->counters.bytes_d2d };
	const struct memory host = { memfd, memfd_addr };
	int err = 0;

	for (uint64_t i = 0; i < cmd->rows && !err; i++)
		err = copy_row(file, cmd, cmd->dst + i * cmd->dst_pitch,
			       cmd->src + i * cmd->src_pitch, &host);
	*counters[cmd->dir] += cmd->width * cmd->rows;
	file->card->counters.xfers += cmd->rows;
	return err;
}

static int do_copy(struct file *file, const struct paccel_copy *cmd)
{
	int err = check_copy(file, cmd);
	const struct host *host;

	if (err)
		return err;
	if (file->card->hold)
		wait_hold(file->card);
	if (!file->card->present)
		return ENODEV;
	host = host_around(file, cmd->dir == PACCEL_COPY_D2H ? cmd->dst : cmd->src, cmd->width);
	/* Taken away. */
	if (host && host->peer && !host->peer->present)
		return EFAULT;
	/* A dma-buf is not where its addresses are; all else is. */
	return host && host->memfd >= 0 && !host->offset
		       ? run_copy(file, cmd, host->memfd, host->fd_addr)
		       : run_copy(file, cmd, -1, 0);
}

int check_fill(const struct file *file, const struct paccel_fill *cmd)
{
	if (cmd->flags || cmd->reserved || !cmd->length || cmd->pattern_size != 1 ||
	    cmd->pattern > 255 || cmd->addr + cmd->length < cmd->addr)
		return EINVAL;
	return inside(file, cmd->addr, cmd->length) ? 0 : EFAULT;
}

void run_fill(struct file *file, const struct paccel_fill *cmd)
{
	memset(file->card->memory + (cmd->addr - MOCK_BASE), (int)cmd->pattern, cmd->length);
	file->card->counters.bytes_filled += cmd->length;
	file->card->counters.xfers++;
}

static int do_fill(struct file *file, const struct paccel_fill *cmd)
{
	int err = check_fill(file, cmd);

	if (!err)
		run_fill(file, cmd);
	return err;
}

/* ---- Dispatch ---- */

static const struct {
	unsigned long request;
	uint32_t size;
	bool any_process;
} commands[COMMANDS] = {
#define COMMAND(name, type, any) \
	[PACCEL_NR_##name] = { PACCEL_IOC_##name, sizeof(struct type), any }
	COMMAND(DEVICE_INFO, paccel_device_info, true),
	COMMAND(MEM_ALLOC, paccel_mem_alloc, false),
	COMMAND(MEM_FREE, paccel_mem_free, false),
	COMMAND(MEM_STATS, paccel_mem_stats, true),
	COMMAND(HOST_ALLOC, paccel_host_alloc, false),
	COMMAND(HOST_REGISTER, paccel_host_register, false),
	COMMAND(HOST_FREE, paccel_host_free, false),
	COMMAND(COPY, paccel_copy, false),
	COMMAND(FILL, paccel_fill, false),
	COMMAND(MEM_EXPORT, paccel_mem_export, false),
	COMMAND(MEM_IMPORT, paccel_mem_import, false),
	COMMAND(STREAM_CREATE, paccel_stream_create, false),
	COMMAND(STREAM_DESTROY, paccel_stream_destroy, false),
	COMMAND(STREAM_CLEAR, paccel_stream_clear, false),
	COMMAND(SUBMIT, paccel_submit, false),
	COMMAND(WAIT, paccel_wait, false),
	COMMAND(FENCE_EXPORT, paccel_fence_export, false),
};

static int run(struct file *file, unsigned int nr, void *arg)
{
	switch (nr) {
	case PACCEL_NR_DEVICE_INFO: return do_device_info(file, arg);
	case PACCEL_NR_MEM_ALLOC: return do_mem_alloc(file, arg);
	case PACCEL_NR_MEM_FREE: return do_mem_free(file, arg);
	case PACCEL_NR_MEM_STATS: return do_mem_stats(file, arg);
	case PACCEL_NR_HOST_ALLOC: return do_host_alloc(file, arg);
	case PACCEL_NR_HOST_REGISTER: return do_host_register(file, arg);
	case PACCEL_NR_HOST_FREE: return do_host_free(file, arg);
	case PACCEL_NR_COPY: return do_copy(file, arg);
	case PACCEL_NR_FILL: return do_fill(file, arg);
	case PACCEL_NR_MEM_EXPORT: return do_mem_export(file, arg);
	case PACCEL_NR_MEM_IMPORT: return do_mem_import(file, arg);
	case PACCEL_NR_STREAM_CREATE: return do_stream_create(file, arg);
	case PACCEL_NR_STREAM_DESTROY: return do_stream_destroy(file, arg);
	case PACCEL_NR_STREAM_CLEAR: return do_stream_clear(file, arg);
	case PACCEL_NR_SUBMIT: return do_submit(file, arg);
	case PACCEL_NR_WAIT: return do_wait(file, arg);
	case PACCEL_NR_FENCE_EXPORT: return do_fence_export(file, arg);
	default: return ENOTTY;
	}
}

static int dispatch(struct file *file, unsigned long request, void *arg)
{
	unsigned int nr = _IOC_NR(request);
	int err;

	if (nr >= COMMANDS || commands[nr].request != request || file->card->foreign)
		return ENOTTY;
	if (*(uint32_t *)arg != commands[nr].size)
		return E2BIG;
	calls[nr]++;
	pthread_cond_broadcast(&moved);
	memcpy(&last[nr], arg, commands[nr].size);
	err = take_fault(nr);
	if (!err)
		err = take_fault(MOCK_ANY);
	if (err)
		return err;
	if (!file->card->present || file->card->instance != file->instance)
		return ENODEV;
	if (!commands[nr].any_process && file->pid != getpid())
		return EPERM;
	if (!commands[nr].any_process && file->lost)
		return ESTALE;
	return run(file, nr, arg);
}

int mock_sys_ioctl(int fd, unsigned long request, void *arg, bool *ours)
{
	struct file *file;
	int err = 0;

	pthread_mutex_lock(&lock);
	file = file_at(fd);
	*ours = file;
	if (file)
		err = dispatch(file, request, arg);
	pthread_mutex_unlock(&lock);
	return err;
}

int mock_sys_node(const char *name, unsigned int *node, unsigned int *rdev)
{
	char own[32];

	for (int i = 0; i < MOCK_CARDS; i++) {
		snprintf(own, sizeof(own), "paccel%u", cards[i].node);
		if (cards[i].memory && cards[i].present && !strcmp(own, name)) {
			*node = cards[i].node;
			*rdev = 0xea00 + cards[i].node;
			return 0;
		}
	}
	return -ENOENT;
}

/* Names that the library has to pass over stand among the nodes. */
bool mock_sys_list(unsigned int at, char *name, size_t size)
{
	static const char *const others[] = { ".",	  "paccel",
					      "null",	  "paccelx",
					      "paccel01", "paccel3x",
					      "xpaccel0", "paccel99999999999",
					      "paccel77" };

	if (at < sizeof(others) / sizeof(others[0])) {
		snprintf(name, size, "%s", others[at]);
		return true;
	}
	at -= sizeof(others) / sizeof(others[0]);
	for (int i = MOCK_CARDS - 1; i >= 0; i--)
		if (cards[i].memory && cards[i].present && !at--) {
			snprintf(name, size, "paccel%u", cards[i].node);
			return true;
		}
	return false;
}

int mock_sys_open(const char *path, int flags, int fd)
{
	unsigned int node, rdev;
	struct file *file = files;

	if (mock_sys_node(path + strlen("/dev/"), &node, &rdev))
		return -ENXIO;
	pthread_mutex_lock(&lock);
	while (file->used)
		file++;
	memset(file, 0, sizeof(*file));
	file->used = true;
	file->fd = last_fd = fd;
	file->pid = getpid();
	file->card = card_at(node);
	file->instance = file->card->instance;
	open_flags = flags;
	pthread_mutex_unlock(&lock);
	return fd;
}

bool mock_sys_is_file(int fd, unsigned int *rdev)
{
	struct file *file;

	pthread_mutex_lock(&lock);
	file = file_at(fd);
	if (file)
		*rdev = 0xea00 + file->card->node;
	pthread_mutex_unlock(&lock);
	return file;
}

static void drop_file(struct file *file)
{
	bool live_card = file->card->instance == file->instance;

	end_streams(file, PACCEL_PAGE_CLOSED, -ECANCELED);
	close_streams(file);
	for (int i = 0; i < MOCK_HOST_RANGES; i++)
		if (file->hosts[i].live)
			drop_host(&file->hosts[i]);
	for (int i = 0; live_card && i < ALLOCS; i++)
		if (file->allocs[i].live)
			drop_alloc(file, &file->allocs[i]);
	file->used = false;
}

bool mock_sys_close(int fd)
{
	struct file *file;

	pthread_mutex_lock(&lock);
	fence_closed(fd);
	file = file_at(fd);
	if (file && file->pid == getpid())
		drop_file(file);
	else if (file)
		file->used = false;
	pthread_mutex_unlock(&lock);
	return file;
}

bool mock_sys_loaded(void)
{
	return !unloaded;
}
