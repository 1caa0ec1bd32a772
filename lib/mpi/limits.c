/* SPDX-License-Identifier: MIT */
/*
 * Parts of Open MPI 5.0 that take every address for host memory. Those that parameters can keep out of the way are
 * kept out of it, by the variables of the environment that MCA parameters are read from: this runs before they are
 * read. Where such a part is reached all the same, the processor cannot access the address, and a line tells why the
 * process dies.
 */
#include "opal_config.h"

#include "opal/util/output.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"

/* ---- Parameters ------------------------------------------------------------------------------ */

/*
 * Bytes of a fragment of any message, from host memory, too. Each one is a transfer of the device on both sides: with
 * Open MPI's 32 KiB over shared memory, 64 MiB took 376 ms, with 128 KiB 90, with 512 KiB 29 and with 1 MiB 27
 * (tests/bench/run mpi).
 */
#define FRAGMENT "1048576"

static bool lists(const char *list, const char *name)
{
	size_t length = strlen(name);
	const char *at;

	for (at = list; (at = strstr(at, name)); at += length)
		if ((at == list || at[-1] == ',' || at[-1] == '^') && (!at[length] || at[length] == ','))
			return true;
	return false;
}

/* Excludes UCX from a framework. It takes the memory types that it was built with, and the rest for host memory. */
static void exclude_ucx(const char *framework)
{
	char variable[32], *value;
	const char *list;

	snprintf(variable, sizeof(variable), "OMPI_MCA_%s", framework);
	list = getenv(variable);
	if (!list || !*list) {
		setenv(variable, "^ucx", 1);
	} else if (*list == '^' && !lists(list, "ucx")) {
		if (asprintf(&value, "%s,ucx", list) < 0)
			return;
		setenv(variable, value, 1);
		free(value);
	} else if (*list != '^' && lists(list, "ucx")) {
		say("%s=%s: UCX takes device pointers for host memory, so it is not used: %s=^ucx", framework,
		    list, framework);
		setenv(variable, "^ucx", 1);
	}
}

void limits_avoid(void)
{
	exclude_ucx("pml");
	exclude_ucx("osc");
	/* A large message of a rank to itself is a memcpy() unless it is sent as others are. */
	setenv("OMPI_MCA_btl_self_flags", "send,inplace", 0);
	setenv("OMPI_MCA_btl_sm_max_send_size", FRAGMENT, 0);
	setenv("OMPI_MCA_btl_tcp_max_send_size", FRAGMENT, 0);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static struct sigaction before;

/*
 * Whether the fault is one of device memory. A window that the processor cannot access is reserved, so that an access
 * to it is one without permission, not one to an address where nothing is mapped. The code is compared first because
 * accel_pointer_node() can wait for the library's lock, which the thread may have: a NULL or unmapped pointer that the
 * library itself follows while it changes its tables is not looked up. Corrupted tables that lead to protected memory
 * still are.
 */
static bool is_device_access(const siginfo_t *info)
{
	return info->si_code == SEGV_ACCERR && accel_pointer_node(info->si_addr) >= 0;
}

/*
 * The instruction is executed again, with the handler of before. A signal of kill() or raise() has none, so it is
 * sent again: it is blocked until the handler returns.
 */
static void explain(int number, siginfo_t *info, void *context)
{
	static const char text[] =
		"paccel: the program or a part of Open MPI has accessed device memory, which the "
		"processor cannot. Parts that take every address for host memory: one-sided calls "
		"over osc/rdma, UCX, btl/self with put or get, operators of MPI_Op_create() that do "
		"not copy\n";
	ssize_t written = 0;
	int saved = errno;

	(void)context;
	if (is_device_access(info))
		written = write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)written;
	sigaction(number, &before, NULL);
	if (info->si_code <= 0)
		raise(number);
	errno = saved;
}

void limits_explain(void)
{
	struct sigaction action = { .sa_sigaction = explain, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigaction(SIGSEGV, &action, &before);
}

/* Unless another one is in place meanwhile. */
void limits_end(void)
{
	struct sigaction now;

	if (!sigaction(SIGSEGV, NULL, &now) && now.sa_flags & SA_SIGINFO && now.sa_sigaction == explain)
		sigaction(SIGSEGV, &before, NULL);
}
