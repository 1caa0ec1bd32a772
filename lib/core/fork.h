/* SPDX-License-Identifier: MIT */
/* fork(), and what a child must not use. */
#ifndef LIBACCEL_FORK_H
#define LIBACCEL_FORK_H

/* Installs the fork handlers, once. */
int fork_watch(void);
/* How many forks lie between this process and the first one that used the library. */
extern unsigned int forks __attribute__((visibility("hidden")));
static inline unsigned int fork_generation(void)
{
	return forks;
}

#endif
