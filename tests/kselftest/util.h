/* SPDX-License-Identifier: MIT */
/*
 * What the tests need from the machine around the driver: cards and their
 * nodes, sysfs, PCI configuration space, the module, processes and time.
 * Nothing here issues an ioctl of the driver but MEM_STATS.
 */
#ifndef PACCEL_KSELFTEST_UTIL_H
#define PACCEL_KSELFTEST_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include <linux/paccel.h>

typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;
typedef uint8_t u8;

/* --- cards --------------------------------------------------------------- */

/*
 * A card is known by its PCI address, for its node changes its number when the
 * driver is bound again. The program's own card is $PACCEL_BDF, else the first.
 */
const char *card_bdf(void);
int card_count(void);
/* The nth card in the order of PCI addresses; false past the last. */
bool card_nth(int nth, char bdf[32]);
/* Its place among the guest's cards, which the runner has put on a bus each. */
int card_index(void);
/* Name of the node without /dev, or false while there is none. */
bool card_node(const char *bdf, char name[32]);
/* fd or negative errno. */
int card_open_at(const char *bdf, int flags);
int card_open(void);

/* Attributes in /sys/class/paccel/paccelN. All return 0 (or a length) or -errno. */
int card_attr_read(const char *attr, char *buf, size_t size);
int card_attr_u64(const char *attr, u64 *value);
int card_attr_write(const char *attr, const char *text);
bool card_health_is(const char *health);

/* --- PCI ----------------------------------------------------------------- */

int pci_attr_write(const char *bdf, const char *attr, const char *text);
u32 pci_config_read(const char *bdf, int offset, int bytes);
void pci_config_write(const char *bdf, int offset, int bytes, u32 value);
/*
 * The bridge above the device has another bus behind it, and configuration space reads all-ones: with
 * 0 as while Linux scans buses whose numbers it has assigned, with NO_BUS as if the device were absent.
 * pci_bus_restore() does nothing if the number was not changed.
 */
#define NO_BUS 0xfe
void pci_bus_change(const char *bdf, unsigned int number);
void pci_bus_restore(const char *bdf);

int driver_unbind(const char *bdf);
int driver_bind(const char *bdf);

/* --- the module ---------------------------------------------------------- */

bool module_loaded(void);
int module_load(const char *parameters);
int module_unload(void);
/*
 * Waits until the driver has no users, at most so many milliseconds times slow_factor(), and
 * unloads it once. 0, or -errno.
 */
int module_unload_unused(unsigned int ms);
/*
 * The card is given to the backend for tests (tests/module/backend.c), which is loaded with these parameters. 0,
 * or -errno. What that backend says of the card may be refused: then the card has no driver.
 */
int backend_load(const char *parameters);
/* The card has no driver then; also if it was not loaded. 0, or -errno. */
int backend_unload(void);
/* The importer for tests (tests/module/importer.c) begins and ends to use a dma-buf. 0, or -errno. */
int importer_load(const char *parameters);
int importer_unload(void);
/* Value of /sys/module/paccel/parameters/NAME, false if it has none. */
bool module_param(const char *name, char *buf, size_t size);
/* The parameters as they are, in the form in which they are given. */
void module_parameters(char *buf, size_t size);
int module_param_set(const char *name, const char *value);
bool scrub_is_on(void);

/* --- transfers ----------------------------------------------------------- */

struct paccel_mem_stats stats_of(int fd);
/* total is the sum of its parts, and all else that always holds. */
bool stats_add_up(const struct paccel_mem_stats *s);
/* Jobs that the engines of the card have, by debugfs; -1 if that cannot be read. */
int card_jobs(void);
/* Allocations that wait for scrubbing, by debugfs; -1 if that cannot be read. */
int card_waiting(void);
/* Waits until nothing is left to scrub. */
bool card_settle(int fd);
/*
 * The counter of transfers starts anew with every binding of the driver:
 * note what has been counted before it does.
 */
void xfers_note(void);
/* Prints the transfers of the whole program at its end. */
void xfers_at_exit(void);

/* --- files, processes, time ---------------------------------------------- */

int file_read(const char *path, char *buf, size_t size);
int file_write(const char *path, const char *text);
/* A reader of the kernel log, which begins behind what is there. -1 with errno. */
int kmsg_open(void);
/* True if the kernel log says this, from the present position of the reader on. */
bool log_says(int kmsg, const char *text);

/* Reports that match are no failure from here on, until the next call with NULL. */
void allow_warnings(const char *regex);
/*
 * Nothing proves that a device out of service does not write any more, so it keeps what it had
 * mapped until the driver has left it. The debugger of the DMA API, where it is there, takes that
 * for a leak.
 */
#define KEPT_MAPPINGS "dma_debug_device_change|DMA-API: "
/* Where that debugger is there, it has to say so from here on, until allow_warnings(NULL). */
void expect_kept_mappings(void);
/* A line of /proc/PID/status in its own unit (kB or count); -1 if absent. */
long proc_status(pid_t pid, const char *key);
/* Pages that this process has charged to RLIMIT_MEMLOCK. */
long locked_kb(void);
/* "R", "S", "D" ... of a thread; 0 if it is gone. */
char thread_state(pid_t pid, pid_t tid);

/* Hands a file to another process over a socket; the fd that came, or negative errno. */
int send_fd(int socket, int fd);
int receive_fd(int socket);

/* Limits in this suite are for a stock kernel; a debug kernel gets more. */
int slow_factor(void);
u64 now_ns(void);
u64 now_ms(void);

/* Waits for a condition, at most so many milliseconds times slow_factor(). */
#define WAIT_FOR(cond, ms)                                                    \
	({                                                                    \
		u64 _end = now_ms() + (u64)(ms) * slow_factor();              \
		bool _met;                                                    \
		while (!(_met = (cond)) && now_ms() < _end)                   \
			nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, 0); \
		_met;                                                         \
	})

/* fork() and run; the child exits with fn's value. */
pid_t spawn(int (*fn)(void *arg), void *arg);
/* Exit status, 128 + signal, or -1. */
int reap(pid_t pid);
/* reap(), but gives up (and says -2) after so many milliseconds. */
int reap_within(pid_t pid, int ms);
int run_in_child(int (*fn)(void *arg), void *arg);

/* In a child: says which line, and ends it with a failure. */
#define CHILD_CHECK(cond)                                                      \
	do {                                                                   \
		if (!(cond))                                                   \
			child_failed(__FILE__, __LINE__, #cond);               \
	} while (0)
/* The same for a value that is not what it should be. */
#define CHILD_EQ(expected, value)                                              \
	do {                                                                   \
		long _want = (expected), _is = (value);                        \
		if (_want != _is) {                                            \
			fprintf(stderr, "# %ld instead of %ld\n", _is, _want); \
			child_failed(__FILE__, __LINE__, #value);              \
		}                                                              \
	} while (0)
void child_failed(const char *file, int line, const char *cond)
	__attribute__((noreturn));

/* A rendezvous of two processes: each end says and hears. */
struct line {
	int fd[2];
};
struct line line_open(void);
void say(struct line *l, int end);
/* False if the other side is gone, or has nothing to say for a minute. */
bool hear(struct line *l, int end);
/* The same without that limit. */
bool hear_some_day(struct line *l, int end);

void drop_capability(int cap);
/*
 * Sets RLIMIT_MEMLOCK and makes it hold, which it does not for root. The real uid becomes one that
 * no other process has: what a user has locked is one sum, to which programs that run beside this
 * one would add.
 */
void limit_memlock(size_t bytes);

/* --- memory -------------------------------------------------------------- */

extern size_t page_size;

/* Anonymous pages, never touched. */
void *map_pages(size_t pages);
/* Unmaps whatever this process has mapped of a card. */
void unmap_nodes(void);
/* A buffer of bytes whose end is followed by a PROT_NONE page. */
void *guarded(size_t bytes);
/* Bytes that depend on position and seed, never 0. */
void pattern_fill(void *buf, size_t n, unsigned int seed);
/* Index of the first byte that differs, or -1. */
long pattern_diff(const void *buf, size_t n, unsigned int seed);
long bytes_diff(const void *a, const void *b, size_t n);
bool all_bytes(const void *buf, size_t n, u8 value);

/* A userfaultfd over whole pages that hangs whoever touches them. */
int uffd_hang(void *addr, size_t length);
/* Waits until somebody hangs. */
bool uffd_wait(int uffd, int ms);
/* Lets them go on, with these contents. */
bool uffd_resolve(int uffd, void *addr, const void *page);

/* A signal every 10 ms from here on, if $PACCEL_STORM asks for it. */
void storm_start(void);
bool storm_wanted(void);
/* Signals taken so far by this process. */
int storm_signals(void);
void storm_begin(int every_ms);
void storm_end(void);

#endif
