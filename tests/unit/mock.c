/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "mock_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct card cards[MOCK_CARDS];
struct file files[FILES];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
bool peers_reach, is_admin;
static bool unloaded;
static unsigned int instances, calls[COMMANDS];
static int open_flags, last_fd;
static int64_t clock_shift;
unsigned int queued_max = MOCK_QUEUED;
static struct {
	unsigned int nth;
	int err;
} faults[MOCK_CLOSE + 1];
static struct {
	unsigned int nr;
	void (*fn)(void);
} before;
static union command last[COMMANDS];

/* Not a condition variable: a wait for that goes on after a signal. */
static uint32_t moves;

void has_moved(void)
{
	moves++;
	syscall(SYS_futex, &moves, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

int wait_moved(const struct timespec *until)
{
	uint32_t seen = moves;
	int err;

	pthread_mutex_unlock(&lock);
	err = syscall(SYS_futex, &moves, FUTEX_WAIT_BITSET_PRIVATE, seen, until, NULL,
		      FUTEX_BITSET_MATCH_ANY) ? errno : 0;
	pthread_mutex_lock(&lock);
	return err == EAGAIN ? 0 : err;
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
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
	before.fn = NULL;
	unloaded = peers_reach = false;
	is_admin = true;
	clock_shift = 0;
	queued_max = MOCK_QUEUED;
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

/* The granule of the model, and what DEVICE_INFO says. */
static void set_unit(struct card *card, uint64_t unit, uint64_t bytes)
{
	free(card->state);
	card->granule = card->unit = unit;
	card->granules = bytes / unit;
	card->state = calloc(1, card->granules);
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
		.engines = 1,
		.size = size,
		.instance = ++instances,
	};
	card->memory = calloc(1, model_bytes);
	set_unit(card, MOCK_GRANULE, model_bytes);
}

void mock_add_mappable(unsigned int node, uint64_t size)
{
	struct card *card;

	mock_add_sized(node, size, size);
	card = card_at(node);
	free(card->memory);
	card->mappable = true;
	card->engines = 4;
	card->memfd = memfd_create("card", MFD_CLOEXEC);
	if (card->memfd < 0 || ftruncate(card->memfd, (off_t)size))
		abort();
	card->memory = mock_sys_map_memory(card->memfd, size);
	set_unit(card, PAGE, size);
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
		if (files[i].used && files[i].card->node == node) {
			end_streams(&files[i], PACCEL_PAGE_GONE, -ENODEV);
			mock_sys_hang_up(files[i].fd);
		}
	has_moved();
	pthread_mutex_unlock(&lock);
}

void mock_lose(unsigned int node)
{
	pthread_mutex_lock(&lock);
	card_at(node)->losses++;
	for (int i = 0; i < FILES; i++)
		if (files[i].used && files[i].card->node == node) {
			files[i].lost = true;
			end_streams(&files[i], PACCEL_PAGE_LOST, -ESTALE);
			mock_sys_hang_up(files[i].fd);
		}
	has_moved();
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

void mock_queued_max(unsigned int jobs)
{
	queued_max = jobs;
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
	card_at(node)->quarantined = bytes;
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

void mock_admin(bool admin)
{
	is_admin = admin;
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

void mock_stall(unsigned int node)
{
	pthread_mutex_lock(&lock);
	card_at(node)->stall = true;
	pthread_mutex_unlock(&lock);
}

void mock_wait_held(unsigned int node, unsigned int copies)
{
	struct card *card = card_at(node);

	pthread_mutex_lock(&lock);
	while (card->held < copies)
		wait_moved(NULL);
	pthread_mutex_unlock(&lock);
}

void mock_release(unsigned int node)
{
	pthread_mutex_lock(&lock);
	card_at(node)->hold = false;
	wake_engine();
	pthread_mutex_unlock(&lock);
}

void mock_fail(unsigned int what, unsigned int nth, int err)
{
	pthread_mutex_lock(&lock);
	faults[what].nth = nth;
	faults[what].err = err;
	pthread_mutex_unlock(&lock);
}

void mock_before(unsigned int nr, void (*fn)(void))
{
	pthread_mutex_lock(&lock);
	before.nr = nr;
	before.fn = fn;
	pthread_mutex_unlock(&lock);
}

static void run_before(unsigned int nr)
{
	void (*fn)(void) = NULL;

	pthread_mutex_lock(&lock);
	if (before.nr == nr) {
		fn = before.fn;
		before.fn = NULL;
	}
	pthread_mutex_unlock(&lock);
	if (fn)
		fn();
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

	run_before(what);
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
		wait_moved(NULL);
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

struct file *file_at(int fd)
{
	for (int i = 0; i < FILES; i++)
		if (files[i].used && files[i].fd == fd)
			return &files[i];
	return NULL;
}

/* ---- Dispatch ---- */

enum { ANY_CALLER = 1, REPLIES = 2 };

static const struct {
	unsigned long request;
	uint32_t size;
	unsigned int flags;
} commands[COMMANDS] = {
#define COMMAND(name, type, flags) \
	[PACCEL_NR_##name] = { PACCEL_IOC_##name, sizeof(struct type), flags }
	COMMAND(DEVICE_INFO, paccel_device_info, ANY_CALLER | REPLIES),
	COMMAND(MEM_ALLOC, paccel_mem_alloc, REPLIES),
	COMMAND(MEM_FREE, paccel_mem_free, 0),
	COMMAND(MEM_STATS, paccel_mem_stats, ANY_CALLER | REPLIES),
	COMMAND(HOST_ALLOC, paccel_host_alloc, REPLIES),
	COMMAND(HOST_REGISTER, paccel_host_register, 0),
	COMMAND(HOST_FREE, paccel_host_free, 0),
	COMMAND(COPY, paccel_copy, 0),
	COMMAND(FILL, paccel_fill, 0),
	COMMAND(MEM_EXPORT, paccel_mem_export, REPLIES),
	COMMAND(MEM_IMPORT, paccel_mem_import, REPLIES),
	COMMAND(STREAM_CREATE, paccel_stream_create, REPLIES),
	COMMAND(STREAM_DESTROY, paccel_stream_destroy, 0),
	COMMAND(STREAM_CLEAR, paccel_stream_clear, REPLIES),
	COMMAND(SUBMIT, paccel_submit, REPLIES),
	COMMAND(WAIT, paccel_wait, REPLIES),
	COMMAND(FENCE_EXPORT, paccel_fence_export, REPLIES),
	COMMAND(RESET, paccel_reset, 0),
};

static int run(struct file *file, unsigned int nr, union command *cmd)
{
	switch (nr) {
	case PACCEL_NR_DEVICE_INFO: return do_device_info(file, &cmd->device_info);
	case PACCEL_NR_MEM_ALLOC: return do_mem_alloc(file, &cmd->mem_alloc);
	case PACCEL_NR_MEM_FREE: return do_mem_free(file, &cmd->mem_free);
	case PACCEL_NR_MEM_STATS: return do_mem_stats(file, &cmd->mem_stats);
	case PACCEL_NR_HOST_ALLOC: return do_host_alloc(file, &cmd->host_alloc);
	case PACCEL_NR_HOST_REGISTER: return do_host_register(file, &cmd->host_register);
	case PACCEL_NR_HOST_FREE: return do_host_free(file, &cmd->host_free);
	case PACCEL_NR_COPY: return do_copy(file, &cmd->copy);
	case PACCEL_NR_FILL: return do_fill(file, &cmd->fill);
	case PACCEL_NR_MEM_EXPORT: return do_mem_export(file, &cmd->mem_export);
	case PACCEL_NR_MEM_IMPORT: return do_mem_import(file, &cmd->mem_import);
	case PACCEL_NR_STREAM_CREATE: return do_stream_create(file, &cmd->stream_create);
	case PACCEL_NR_STREAM_DESTROY: return do_stream_destroy(file, &cmd->stream_destroy);
	case PACCEL_NR_STREAM_CLEAR: return do_stream_clear(file, &cmd->stream_clear);
	case PACCEL_NR_SUBMIT: return do_submit(file, &cmd->submit);
	case PACCEL_NR_WAIT: return do_wait(file, &cmd->wait);
	case PACCEL_NR_FENCE_EXPORT: return do_fence_export(file, &cmd->fence_export);
	default: return do_reset(file, &cmd->reset);
	}
}

int fetch_struct(void *to, size_t size, uint64_t from, size_t user_size)
{
	uint8_t buffer[PAGE];

	if (user_size < size)
		return EINVAL;
	if (user_size > PAGE)
		return E2BIG;
	if (!access_host(from, buffer, user_size, false))
		return EFAULT;
	for (size_t i = size; i < user_size; i++)
		if (buffer[i])
			return E2BIG;
	/* Where a sanitizer sees who reads the bytes that the driver knows. */
	memcpy(to, (const void *)(uintptr_t)from, size);
	return 0;
}

static int fetch_command(union command *cmd, size_t size, const void *arg)
{
	uint32_t user_size;

	if (!access_host((uintptr_t)arg, &user_size, sizeof(user_size), false))
		return EFAULT;
	return fetch_struct(cmd, size, (uintptr_t)arg, user_size);
}

int may_use(const struct file *file)
{
	if (!file->writable)
		return EACCES;
	if (file->pid != getpid())
		return EPERM;
	return file->lost ? ESTALE : 0;
}

bool is_gone(const struct file *file)
{
	return !file->card->present || file->card->instance != file->instance;
}

/* True if the reply can be written: what is there is written once more. */
static bool can_reply(void *arg, size_t size)
{
	union command there;

	return access_host((uintptr_t)arg, &there, size, false) &&
	       access_host((uintptr_t)arg, &there, size, true);
}

/* A command that fails writes nothing, but which operation was wrong, and what has ended. */
static void reply(unsigned int nr, int err, void *arg, const union command *cmd)
{
	struct paccel_submit *submit = arg;

	if (!err ? commands[nr].flags & REPLIES : nr == PACCEL_NR_WAIT && err == ETIME)
		memcpy(arg, cmd, commands[nr].size);
	else if (err && nr == PACCEL_NR_SUBMIT)
		submit->bad_op = cmd->submit.bad_op;
}

static int dispatch(struct file *file, unsigned long request, void *arg)
{
	unsigned int nr = _IOC_NR(request);
	union command cmd;
	int err, fetched;

	if (nr >= COMMANDS || !commands[nr].size || commands[nr].request != request ||
	    file->card->foreign)
		return ENOTTY;
	fetched = fetch_command(&cmd, commands[nr].size, arg);
	if (!fetched)
		last[nr] = cmd;
	calls[nr]++;
	has_moved();
	err = take_fault(nr);
	if (err)
		return err;
	if (is_gone(file))
		return ENODEV;
	err = commands[nr].flags & ANY_CALLER ? 0 : may_use(file);
	if (!err)
		err = fetched;
	if (!err && commands[nr].flags & REPLIES && !can_reply(arg, commands[nr].size))
		err = EFAULT;
	if (err)
		return err;
	err = run(file, nr, &cmd);
	reply(nr, err, arg, &cmd);
	return err;
}

int mock_sys_ioctl(int fd, unsigned long request, void *arg, bool *ours)
{
	struct file *file;
	int err = 0;

	if (_IOC_TYPE(request) == PACCEL_IOC_TYPE)
		run_before(_IOC_NR(request));
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
	file->writable = (flags & O_ACCMODE) != O_RDONLY;
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
