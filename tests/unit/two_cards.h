/* SPDX-License-Identifier: MIT */
/*
 * Two cards, each with one allocation, for tests of copies between them.
 */
#ifndef TWO_CARDS_H
#define TWO_CARDS_H

#include "fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

#define SIZE (6u << 20)

static struct accel_device *from, *to;
static char *src, *dst;
static char bytes[SIZE];

/* Descriptors that the library was given. */
static inline unsigned int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;
	struct dirent *entry;
	char name[64];
	ssize_t length;

	while ((entry = readdir(dir))) {
		length = readlinkat(dirfd(dir), entry->d_name, name, sizeof(name) - 1);
		name[length < 0 ? 0 : length] = 0;
		count += strstr(name, "sync_file") || strstr(name, "dmabuf");
	}
	closedir(dir);
	return count;
}

static inline void open_two(void)
{
	expect(accel_device_open(0, &from), 0);
	expect(accel_device_open(1, &to), 0);
	src = device_memory(from, SIZE);
	dst = device_memory(to, SIZE);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (char)(i ^ i >> 8 ^ i >> 16);
	expect(accel_memory_copy(src, bytes, SIZE), 0);
}

static inline void close_two(void)
{
	expect(accel_device_close(from), 0);
	expect(accel_device_close(to), 0);
}

static inline int copy_all(void)
{
	return accel_memory_copy_p2p(to, from, dst, src, SIZE);
}

static inline void empty_destination(void)
{
	expect(accel_device_memory_set(to, dst, 0, SIZE), 0);
}

static inline int arrived(size_t at, size_t start, size_t size)
{
	return !memcmp(mock_memory(1, MOCK_BASE) + at, bytes + start, size);
}

static inline struct accel_memory_stats stats_of(struct accel_device *dev)
{
	struct accel_memory_stats stats;

	expect(accel_memory_stats_full(dev, &stats), 0);
	return stats;
}

/* copy_all() in a thread of its own, and what became of it. */
struct call {
	pthread_t thread;
	int err;
	char sentence[256];
};

static inline void *call_copy(void *arg)
{
	struct call *call = arg;

	call->err = copy_all();
	snprintf(call->sentence, sizeof(call->sentence), "%s", accel_last_error());
	return NULL;
}

static inline void start_copy(struct call *call)
{
	pthread_create(&call->thread, NULL, call_copy, call);
}

static inline int end_copy(const struct call *call)
{
	pthread_join(call->thread, NULL);
	return call->err;
}

#endif
