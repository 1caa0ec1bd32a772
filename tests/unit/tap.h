/* SPDX-License-Identifier: MIT */
/*
 * Tests that print TAP: one line per test function, and what was wrong in it below.
 */
#ifndef TAP_H
#define TAP_H

#include <accel/accel.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Weak: the files of a program share them. */
#define TAP_SHARED __attribute__((weak)) unsigned int
TAP_SHARED tap_number;
TAP_SHARED tap_wrong;
TAP_SHARED tap_failed;
__attribute__((weak)) const char *tap_skipped;

#define ERRNO_MARK 4711

#define ok(condition) tap_check(!!(condition), __func__, __LINE__, #condition)

static inline void tap_check(int good, const char *function, int line, const char *text)
{
	if (good)
		return;
	__atomic_add_fetch(&tap_wrong, 1, __ATOMIC_RELAXED);
	printf("# %s:%d: not so: %s\n", function, line, text);
}

/* A call of the library: what it returned, that errno is left alone, that a failure has words. */
#define expect(call, value) \
	do { \
		errno = ERRNO_MARK; \
		tap_expect((call), (value), __func__, __LINE__, #call); \
	} while (0)

static inline void tap_expect(int got, int wanted, const char *function, int line, const char *text)
{
	if (errno != ERRNO_MARK)
		tap_check(0, function, line, "the call changed errno");
	if (got < 0 && !*accel_last_error())
		tap_check(0, function, line, "the call failed without a sentence");
	if (got == wanted)
		return;
	__atomic_add_fetch(&tap_wrong, 1, __ATOMIC_RELAXED);
	printf("# %s:%d: %s is %d, not %d (%s)\n", function, line, text, got, wanted,
	       accel_last_error());
}

/* A failure whose sentence has some words in it. */
#define refused(call, value, words) \
	do { \
		expect(call, value); \
		tap_says(words, __func__, __LINE__); \
	} while (0)

static inline void tap_says(const char *words, const char *function, int line)
{
	if (strstr(accel_last_error(), words))
		return;
	__atomic_add_fetch(&tap_wrong, 1, __ATOMIC_RELAXED);
	printf("# %s:%d: the sentence lacks \"%s\": %s\n", function, line, words,
	       accel_last_error());
}

/* Part of a test in a child of fork(), whose exit status is what was wrong in it. */
#define in_child(part) tap_in_child((part), __func__, __LINE__, #part)

static inline void tap_in_child(void (*part)(void), const char *function, int line,
				const char *text)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		tap_wrong = 0;
		part();
		fflush(stdout);
		_exit(!!tap_wrong);
	}
	waitpid(pid, &status, 0);
	tap_check(WIFEXITED(status) && !WEXITSTATUS(status), function, line, text);
}

static inline const char *hex(const void *ptr)
{
	static __thread char text[32];

	snprintf(text, sizeof(text), "%#lx", (unsigned long)ptr);
	return text;
}

/* The test that runs cannot be run here. */
static inline void tap_skip(const char *reason)
{
	tap_skipped = reason;
}

static inline void tap_done(const char *name)
{
	tap_failed += !!tap_wrong;
	printf("%sok %u - %s%s%s\n", tap_wrong ? "not " : "", ++tap_number, name,
	       tap_skipped ? " # SKIP " : "", tap_skipped ? tap_skipped : "");
	fflush(stdout);
	tap_wrong = 0;
	tap_skipped = NULL;
}

static inline int tap_end(void)
{
	printf("1..%u\n", tap_number);
	return !!tap_failed;
}

#endif
