/* SPDX-License-Identifier: MIT */
/*
 * Paddle, for tests of the plugin: it clears the structs, gives their sizes, has them filled, and
 * calls what it has been given. What the plugin says is caught.
 */
#ifndef PADDLE_H
#define PADDLE_H

#include "../fixture.h"
#include "../../../lib/paddle/private.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void InitPlugin(struct params *params);

/* ---- What the plugin says ---- */

static char *log_text;
static size_t log_size, log_from;

/* The sanitizers write to the descriptor, and not to this. */
static inline void log_catch(void)
{
	stderr = open_memstream(&log_text, &log_size);
}

static inline void log_clear(void)
{
	plugin_say("-");
	fflush(stderr);
	log_from = log_size;
}

static inline int said(const char *words)
{
	fflush(stderr);
	return strstr(log_text + log_from, words) != NULL;
}

static inline int silent(void)
{
	fflush(stderr);
	return log_size == log_from;
}

static inline int lines_said(void)
{
	int lines = 0;

	fflush(stderr);
	for (const char *at = log_text + log_from; *at; at++)
		lines += *at == '\n';
	return lines;
}

/* ---- What Paddle does ---- */

static struct {
	struct params params;
	char more[96 - sizeof(struct params)];
} given;
static union {
	struct interface table;
	char size[1128];
} table;
static struct interface *const paddle = &table.table;

static struct place place[4] = { { 0 }, { 1 }, { 2 }, { 3 } };
static struct place *const accel0 = &place[0], *const accel1 = &place[1];

static inline void load_plugin(void)
{
	memset(&given, 0, sizeof(given));
	memset(&table, 0, sizeof(table));
	given.params.size = sizeof(given);
	given.params.interface = paddle;
	paddle->size = sizeof(table);
	InitPlugin(&given.params);
	if (!given.params.device_type)
		exit(1);
}

#define gives(call, status) gives_status((call), status, __func__, __LINE__, #call)

static inline void gives_status(enum status got, enum status wanted, const char *function, int line,
				const char *text)
{
	if (got == wanted)
		return;
	__atomic_add_fetch(&tap_wrong, 1, __ATOMIC_RELAXED);
	fflush(stderr);
	printf("# %s:%d: %s is %d, not %d (%s)\n", function, line, text, (int)got, (int)wanted,
	       log_text + log_from);
}

/* It fails so, and says why. */
#define refuses(call, status, words) \
	do { \
		log_clear(); \
		gives(call, status); \
		if (!said(words)) \
			tap_check(0, __func__, __LINE__, "it says " #words); \
	} while (0)

/* As many cards as there are. */
static inline void begin(void)
{
	load_plugin();
	log_clear();
	gives(paddle->initialize(), STATUS_SUCCESS);
}

static inline void begin_with(unsigned int cards)
{
	for (unsigned int i = 0; i < cards; i++)
		mock_add(i);
	begin();
}

static inline void end(void)
{
	gives(paddle->finalize(), STATUS_SUCCESS);
}

static inline char *memory_of(struct place *device, size_t size)
{
	void *ptr = NULL;

	gives(paddle->device_memory_allocate(device, &ptr, size), STATUS_SUCCESS);
	ok(ptr);
	return ptr;
}

static inline stream_t stream_of(struct place *device)
{
	stream_t stream = NULL;

	gives(paddle->create_stream(device, &stream), STATUS_SUCCESS);
	ok(stream);
	return stream;
}

static inline event_t event_of(struct place *device)
{
	event_t event = NULL;

	gives(paddle->create_event(device, &event), STATUS_SUCCESS);
	ok(event);
	return event;
}

static inline size_t device_count(void)
{
	size_t count = 99;

	gives(paddle->get_device_count(&count), STATUS_SUCCESS);
	return count;
}

/* ---- What the process has ---- */

static inline int entries_of(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* A thread that has been joined stays in the list for a moment. */
static inline int threads_are(int count)
{
	time_t late = time(NULL) + 5;

	while (entries_of("/proc/self/task") > count && time(NULL) < late)
		sched_yield();
	return entries_of("/proc/self/task") == count;
}

#endif
