/* SPDX-License-Identifier: MIT */
/* Sentences, and errno as the caller left it. */
#ifndef LIBACCEL_ERROR_H
#define LIBACCEL_ERROR_H

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>

/* Stores a sentence for accel_last_error() and returns err. */
int fail(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The same for a failure that has to be as quick as a success: the sentence is made of the numbers
 * when accel_last_error() is called.
 */
#define SENTENCE_NUMBERS 6
typedef void sentence_fn(char *text, size_t size, const uint64_t numbers[SENTENCE_NUMBERS]);
int fail_later(int err, sentence_fn *say, const uint64_t numbers[SENTENCE_NUMBERS]);

static inline void errno_restore(const int *saved)
{
	errno = *saved;
}

/* First line of every public function that makes a system call. */
#define KEEP_ERRNO __attribute__((cleanup(errno_restore), unused)) const int saved_errno = errno

/* An address in a sentence. */
#define ADDR "%#" PRIxPTR
#define DEAD "%s has no live allocation there (freed before?)"

#endif
