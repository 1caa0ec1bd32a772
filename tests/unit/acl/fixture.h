/* SPDX-License-Identifier: MIT */
/*
 * Tests of AscendCL's calls over the mock.
 */
#ifndef ACL_FIXTURE_H
#define ACL_FIXTURE_H

#include "../fixture.h"
#include "acl/acl.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* A call: what it returned, and that a failure has a sentence which begins with its name. */
#define gives(call, code) gives_code((call), (code), __func__, __LINE__, #call)

static inline const char *gives_code(int got, int wanted, const char *function, int line,
				     const char *text)
{
	const char *said = aclGetRecentErrMsg();
	size_t name = strcspn(text, "(");

	if (got && (strncmp(said, text, name) || strncmp(said + name, ": ", 2)))
		printf("# %s:%d: %s says: %s\n", function, line, text, said);
	if (got == wanted && (!got || (!strncmp(said, text, name) && said[name] == ':')))
		return said;
	__atomic_add_fetch(&tap_wrong, 1, __ATOMIC_RELAXED);
	printf("# %s:%d: %s is %d, not %d (%s)\n", function, line, text, got, wanted, said);
	return said;
}

/* A failure whose sentence has some words in it. */
#define refuses(call, code, words) \
	do { \
		const char *said_ = gives(call, code); \
		if (!strstr(said_, words)) { \
			tap_check(0, __func__, __LINE__, "it says \"" words "\""); \
			printf("# it says: %s\n", said_); \
		} \
	} while (0)

/* As many cards, and the first is the current device. */
static inline void begin_with(unsigned int cards)
{
	for (unsigned int i = 0; i < cards; i++)
		mock_add(i);
	gives(aclInit(NULL), 0);
	gives(aclrtSetDevice(0), 0);
}

static inline void begin(void)
{
	begin_with(1);
}

static inline void end(void)
{
	gives(aclFinalize(), 0);
}

/* Exactly so many bytes: a multiple of 32. */
static inline char *memory(size_t size)
{
	void *ptr = NULL;

	gives(aclrtMallocAlign32(&ptr, size, ACL_MEM_MALLOC_NORMAL_ONLY), 0);
	ok(ptr);
	return ptr;
}

static inline char *pinned(size_t size)
{
	void *ptr = NULL;

	gives(aclrtMallocHost(&ptr, size), 0);
	ok(ptr);
	return ptr;
}

static inline aclrtStream new_stream(void)
{
	aclrtStream made = NULL;

	gives(aclrtCreateStream(&made), 0);
	ok(made);
	return made;
}

static inline aclrtEvent new_event(void)
{
	aclrtEvent made = NULL;

	gives(aclrtCreateEvent(&made), 0);
	ok(made);
	return made;
}

/* Bytes of the allocation that an address is in; 0 if it is in none. */
static inline size_t allocated(const void *ptr)
{
	struct accel_pointer_info info;

	return accel_pointer_get_info(ptr, &info) ? 0 : info.size;
}

static inline void fill_with(char *bytes, size_t size, int seed)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(i * 7 + (size_t)seed);
}

/* Waits until the thread sleeps in a system call. */
static inline void wait_asleep(pid_t tid)
{
	char path[64], stat[512], *paren;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	do {
		file = fopen(path, "re");
		n = file ? fread(stat, 1, sizeof(stat) - 1, file) : 0;
		stat[n] = 0;
		if (file)
			fclose(file);
		paren = strrchr(stat, ')');
	} while (paren && strncmp(paren, ") S", 3));
}

/* In a thread of its own, which begins without a device. */
static inline void in_thread(void *(*part)(void *arg), void *arg)
{
	pthread_t thread;

	pthread_create(&thread, NULL, part, arg);
	pthread_join(thread, NULL);
}

#endif
