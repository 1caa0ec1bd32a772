// SPDX-License-Identifier: MIT
/* Calls about files, mappings, processes and the devices of the machine. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include "calls.h"
#include "../kselftest/card.h"
#include "../kselftest/util.h"

#define UNPRIVILEGED 65534
#define ARENA_SLOTS 64
#define MAX_CHILDREN 4

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_DEVICES 8

/* As they were at the start: a device that is unbound keeps its number. */
static char devices[MAX_DEVICES][32];
static int first_fd;
static unsigned int arena_used;
static pid_t children[MAX_CHILDREN];
static unsigned int nr_children;
static bool in_child;
/* volatile: only the signal handler reads it between its two values. */
static __thread sigjmp_buf *volatile fault;
static __thread int nth_fd = -1;

void fuzz_abort(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	fflush(stdout);
	abort();
}

int call_result(int rc)
{
	return rc < 0 ? -errno : rc;
}

/* --- the process ----------------------------------------------------------- */

/* A touch of memory that is gone returns -EFAULT; any other such signal is a bug of the fuzzer. */
static void on_fault(int number)
{
	if (fault)
		siglongjmp(*fault, 1);
	signal(number, SIG_DFL);
	raise(number);
}

static void on_alarm(int number)
{
	(void)number;
}

unsigned int calls_init(void)
{
	struct sigaction action = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	unsigned int n = 0;

	while (n < MAX_DEVICES && card_nth(n, devices[n]))
		n++;

	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	/* Without SA_RESTART: the call is interrupted. */
	action.sa_handler = on_alarm;
	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	share_init();
	return n;
}

static const char *device_bdf(u64 device)
{
	return device < MAX_DEVICES && devices[device][0] ? devices[device] : NULL;
}

/* The path of one of the device's files in sysfs or debugfs. */
static bool device_path(u64 device, const char *folder, const char *file, char path[128])
{
	const char *bdf = device_bdf(device);
	char node[32];

	if (!bdf || !card_node(bdf, node))
		return false;
	snprintf(path, 128, "%s/%s/%s", folder, node, file);
	return true;
}

void calls_drop_privileges(void)
{
	/* The nodes and debugfs belong to root. */
	u64 keep = 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_DAC_READ_SEARCH;
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = keep, .permitted = keep },
	};

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED) ||
	    syscall(SYS_capset, &header, data) || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
		fuzz_abort("dropping privileges");
}

bool calls_in_child(void)
{
	return in_child;
}

/* What a program opens is behind what the process had when the first program began. */
static void note_first_fd(void)
{
	if (first_fd)
		return;
	first_fd = dup(0);
	if (first_fd < 0)
		fuzz_abort("dup");
	close(first_fd);
}

void calls_clean_up(void)
{
	static const struct itimerval never;

	setitimer(ITIMER_REAL, &never, NULL);
	calls_forget();
	note_first_fd();
	for (unsigned int i = 0; i < nr_children; i++)
		kill(children[i], SIGKILL);
	while (nr_children && waitpid(-1, NULL, 0) > 0)
		;
	nr_children = 0;
	if (syscall(SYS_close_range, first_fd, ~0u, 0))
		fuzz_abort("close_range");
	if (munmap(ARENA, ARENA_SLOTS * ARENA_SLOT))
		fuzz_abort("munmap of the arena");
	arena_used = 0;
}

/* --- failures on demand: fail-nth of the kernel's Documentation/fault-injection ---------------- */

static void mask_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(how, &set, NULL);
}

void calls_fail_nth(unsigned int nth)
{
	char path[64], text[16];
	int n = snprintf(text, sizeof(text), "%u", nth);

	/* The kernel kills a process if it cannot write the frame of a signal. */
	mask_signals(SIG_BLOCK);
	snprintf(path, sizeof(path), "/proc/self/task/%ld/fail-nth", syscall(SYS_gettid));
	nth_fd = open(path, O_RDWR | O_CLOEXEC);
	if (nth_fd >= 0 && pwrite(nth_fd, text, n, 0) != n)
		fuzz_abort("fail-nth");
}

/* The write itself can be what fails. */
void calls_fail_none(void)
{
	if (nth_fd < 0)
		return;
	if (pwrite(nth_fd, "0", 1, 0) != 1 && pwrite(nth_fd, "0", 1, 0) != 1)
		fuzz_abort("end of fail-nth");
	close(nth_fd);
	nth_fd = -1;
	mask_signals(SIG_UNBLOCK);
}

/* --- files ------------------------------------------------------------------- */

/* device, flags */
long call_open(const u64 *a)
{
	const char *bdf = device_bdf(a[0]);

	return bdf ? card_open_at(bdf, (int)a[1]) : -ENODEV;
}

long call_dup(const u64 *a)
{
	return call_result(dup((int)a[0]));
}

long call_close(const u64 *a)
{
	if ((int)a[0] < first_fd)
		return -EBADF;
	return call_result(close((int)a[0]));
}

/* file, milliseconds */
long call_poll(const u64 *a)
{
	struct pollfd p = { .fd = (int)a[0], .events = POLLIN };

	return call_result(poll(&p, 1, (int)a[1]));
}

/* --- processes ----------------------------------------------------------------- */

/* The child runs the rest of the program, too. */
long call_fork(const u64 *a)
{
	pid_t pid;

	(void)a;
	if (in_child || nr_children == MAX_CHILDREN)
		return -EAGAIN;
	pid = fork();
	if (pid) {
		if (pid > 0)
			children[nr_children++] = pid;
		return call_result(pid);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	in_child = true;
	nth_fd = -1;
	nr_children = 0;
	return 0;
}

/* child, signal */
long call_kill(const u64 *a)
{
	for (unsigned int i = 0; i < nr_children; i++)
		if (children[i] == (pid_t)a[0])
			return call_result(kill(children[i], a[1] ? SIGKILL : SIGUSR1));
	return -ESRCH;
}

/* microseconds between signals, for the rest of the program */
long call_timer(const u64 *a)
{
	suseconds_t us = 200 + a[0] % 100000;
	struct itimerval every = { .it_interval = { .tv_usec = us }, .it_value = { .tv_usec = us } };

	return call_result(setitimer(ITIMER_REAL, &every, NULL));
}

/* --- mappings ------------------------------------------------------------------ */

void *arena_address(void)
{
	unsigned int slot = __atomic_fetch_add(&arena_used, 1, __ATOMIC_RELAXED);

	return slot < ARENA_SLOTS ? ARENA + slot * ARENA_SLOT : NULL;
}

long arena_map(size_t length, int prot, int flags, int fd, u64 offset)
{
	void *at = arena_address(), *map;

	if (!at)
		return -ENOMEM;
	if (length > ARENA_SLOT)
		return -EINVAL;
	map = mmap(at, length, prot, flags | MAP_FIXED_NOREPLACE, fd, offset);
	return map == MAP_FAILED ? -errno : (long)map;
}

/* length */
long call_buffer(const u64 *a)
{
	return arena_map(a[0], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static bool in_arena(u64 address, u64 length)
{
	u64 from = address - (u64)(uintptr_t)ARENA, size = ARENA_SLOTS * ARENA_SLOT;

	return from < size && length <= size - from;
}

/* mapping, offset, write */
long call_touch(const u64 *a)
{
	volatile u8 *at = (u8 *)(uintptr_t)(a[0] + a[1]);
	sigjmp_buf here;
	long rc = 0;

	if (!in_arena(a[0], a[1] + 1))
		return -EINVAL;
	if (sigsetjmp(here, 1)) {
		fault = NULL;
		return -EFAULT;
	}
	fault = &here;
	if (a[2])
		*at = (u8)a[2];
	else
		rc = *at;
	fault = NULL;
	return rc;
}

/* mapping, offset, length */
long call_unmap(const u64 *a)
{
	if (!in_arena(a[0] + a[1], a[2]))
		return -EINVAL;
	return call_result(munmap((void *)(uintptr_t)(a[0] + a[1]), a[2]));
}

/* mapping, length, protection */
long call_protect(const u64 *a)
{
	if (!in_arena(a[0], a[1]))
		return -EINVAL;
	return call_result(mprotect((void *)(uintptr_t)a[0], a[1],
				    a[2] & (PROT_READ | PROT_WRITE | PROT_EXEC)));
}

/* mapping, length, advice */
long call_advise(const u64 *a)
{
	if (!in_arena(a[0], a[1]))
		return -EINVAL;
	return call_result(madvise((void *)(uintptr_t)a[0], a[1], (int)a[2]));
}

/* mapping, old length, new length */
long call_remap(const u64 *a)
{
	void *to = arena_address(), *map;

	if (!to || !in_arena(a[0], a[1]) || a[2] > ARENA_SLOT)
		return -EINVAL;
	map = mremap((void *)(uintptr_t)a[0], a[1], a[2], MREMAP_MAYMOVE | MREMAP_FIXED, to);
	return map == MAP_FAILED ? -errno : (long)map;
}

/* --- devices of the machine ------------------------------------------------------ */

#define CLASS "/sys/class/paccel"
#define DEBUGFS "/sys/kernel/debug/paccel"

static const char *const attributes[][2] = {
	{ CLASS, "used" }, { CLASS, "quarantined" }, { CLASS, "health" }, { CLASS, "timeouts" },
	{ CLASS, "max_user_bytes" }, { DEBUGFS, "state" },
};

/* device, attribute */
long call_read_attribute(const u64 *a)
{
	u64 n = a[1] % ARRAY_SIZE(attributes);
	char path[128], text[4096];

	if (!device_path(a[0], attributes[n][0], attributes[n][1], path))
		return -ENODEV;
	return file_read(path, text, sizeof(text));
}

static void pause_ms(u64 ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = (long)(ms % 100 * 1000000) }, NULL);
}

/* device, milliseconds */
long call_rebind(const u64 *a)
{
	const char *bdf = device_bdf(a[0]);
	int rc;

	if (!bdf)
		return -ENODEV;
	rc = driver_unbind(bdf);
	pause_ms(a[1]);
	return driver_bind(bdf) ?: rc;
}

static long guestctl(const char *verb, u64 device, const char *order)
{
	char command[160];

	snprintf(command, sizeof(command), "guestctl %s card%u %s >/dev/null 2>&1", verb,
		 (unsigned int)device, order);
	return system(command) ? -EIO : 0;
}

/* device, milliseconds */
long call_replug(const u64 *a)
{
	long rc = guestctl("device_del", a[0], "");

	pause_ms(a[1]);
	return guestctl("device_add", a[0], "") ?: rc;
}

/* Orders of Documentation/ringdev.md. */
static const char *const orders[] = {
	"clear", "stall", "stall until=card", "drop", "late ns=5000000", "twice", "reorder",
	"wrong-id", "wrong-generation", "wrong-length", "fail", "corrupt", "irq-lose",
	"irq-repeat ns=1000000", "irq-delay ns=5000000", "storm every=150", "storm every=0",
	"set latency=100000", "set latency=0",
};

/*
 * The driver keeps the pages that a silent device might still write, and their mapping, for ever. The
 * debugger of the DMA API takes that for a leak, so where it runs these are not made.
 */
static const char *const silent_orders[] = { "mute ns=3000000000", "link-down", "link-up" };

/* device, order */
long call_order(const u64 *a)
{
	u64 n = a[1] % (ARRAY_SIZE(orders) + ARRAY_SIZE(silent_orders));

	if (n < ARRAY_SIZE(orders))
		return guestctl("fault", a[0], orders[n]);
	if (!access("/sys/kernel/debug/dma-api", F_OK))
		return -EPERM;
	return guestctl("fault", a[0], silent_orders[n - ARRAY_SIZE(orders)]);
}

/* Without faults, plugged, bound and reset the device works, whatever the programs did. */
bool calls_mend(u64 device)
{
	static const struct paccel_reset reset = { .size = sizeof(reset) };
	const char *bdf = device_bdf(device);
	char node[32], path[128], health[32] = "";
	int fd;

	/* Each is an error where there is nothing to mend, and for an edu there are no faults. */
	guestctl("fault", device, "clear");
	guestctl("fault", device, "link-up");
	guestctl("device_add", device, "");
	if (!card_node(bdf, node))
		driver_bind(bdf);
	if (!WAIT_FOR((fd = card_open_at(bdf, O_RDWR)) >= 0, 20000)) {
		printf("%s: has no node that can be opened\n", bdf);
		return false;
	}
	if (ioctl(fd, PACCEL_IOC_RESET, &reset))
		printf("%s: RESET: %s\n", bdf, strerror(errno));
	else if (!device_path(device, CLASS, "health", path) ||
		 file_read(path, health, sizeof(health)) <= 0)
		printf("%s: has no file `health`\n", bdf);
	else if (strncmp(health, "ok", 2))
		printf("%s: after RESET its health is %s\n", bdf, health);
	close(fd);
	return !strncmp(health, "ok", 2);
}

/* device, bytes */
long call_quota(const u64 *a)
{
	char path[128], text[32];

	if (!device_path(a[0], CLASS, "max_user_bytes", path))
		return -ENODEV;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)a[1]);
	return file_write(path, text);
}

/* on */
long call_verify(const u64 *a)
{
	return module_param_set("verify", a[0] ? "1" : "0");
}
