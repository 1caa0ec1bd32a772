/* SPDX-License-Identifier: MIT */
/* Runs what the fuzzer has printed as C: each program in a process, repeated for a minute. */
#ifndef PACCEL_FUZZ_REPEAT_H
#define PACCEL_FUZZ_REPEAT_H

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

#define REPEAT_SECONDS 60

struct repeated {
	void *(*run)(void *results);
	unsigned int threads;
};

static inline void repeat_once(const struct repeated *program)
{
	static u64 results[32];
	pthread_t second;
	bool two = program->threads > 1;

	memset(results, 0xff, sizeof(results));
	if (two && pthread_create(&second, NULL, program->run, results))
		two = false;
	program->run(results);
	if (calls_in_child())
		_exit(0);
	if (two)
		pthread_join(second, NULL);
	calls_clean_up();
}

static inline int repeat(const struct repeated *programs, unsigned int nr)
{
	time_t end = time(NULL) + REPEAT_SECONDS;

	calls_init();
	for (unsigned int i = 0; i < nr; i++) {
		if (fork())
			continue;
		calls_clean_up();
		while (time(NULL) < end)
			repeat_once(&programs[i]);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	puts("all programs have ended");
	return 0;
}

#endif
