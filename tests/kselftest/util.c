// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/userfaultfd.h>

#include "card.h"
#include "util.h"

#define MAX_CARDS 32
#define CLASS "/sys/class/paccel"
#define PCI_DEVICES "/sys/bus/pci/devices"

/* Tests run in children of children: what they find out must reach the parent. */
struct shared {
	u64 xfers;		/* of bindings that have ended */
	u64 xfers_start;	/* counter of this binding when it was noted last */
	int signals;
	u32 buses;		/* what pci_bus_restore() writes, or 0 */
};

size_t page_size;
static struct shared *shared;

__attribute__((constructor)) static void util_init(void)
{
	page_size = sysconf(_SC_PAGESIZE);
	shared = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		abort();
}

/* --- files --------------------------------------------------------------- */

int file_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	buf[n > 0 ? n : 0] = 0;
	if (n > 0 && buf[n - 1] == '\n')
		buf[n - 1] = 0;
	return n;
}

int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

int kmsg_open(void)
{
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (kmsg >= 0)
		lseek(kmsg, 0, SEEK_END);
	return kmsg;
}

bool log_says(int kmsg, const char *text)
{
	char record[1024];
	ssize_t n;

	while ((n = read(kmsg, record, sizeof(record) - 1)) > 0) {
		record[n] = 0;
		if (strstr(record, text))
			return true;
	}
	return false;
}

static void mark_warnings(const char *how, const char *regex)
{
	char mark[256];

	snprintf(mark, sizeof(mark), "paccel-test: %s-warning %s%s", how, regex ? "begin " : "end",
		 regex ?: "");
	file_write("/dev/kmsg", mark);
}

void allow_warnings(const char *regex)
{
	mark_warnings("allow", regex);
}

void expect_kept_mappings(void)
{
	const char *how = access("/sys/kernel/debug/dma-api", F_OK) ? "allow" : "expect";

	mark_warnings(how, KEPT_MAPPINGS);
}

/* --- cards --------------------------------------------------------------- */

/* PCI address of a node of the class. */
static bool node_bdf(const char *node, char bdf[32])
{
	char path[300], target[PATH_MAX], *slash;
	ssize_t n;

	snprintf(path, sizeof(path), CLASS "/%s/device", node);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = 0;
	slash = strrchr(target, '/');
	snprintf(bdf, 32, "%.31s", slash ? slash + 1 : target);
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int list_cards(char bdfs[MAX_CARDS][32])
{
	DIR *dir = opendir(CLASS);
	struct dirent *entry;
	int n = 0;

	if (!dir)
		return 0;
	while (n < MAX_CARDS && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && node_bdf(entry->d_name, bdfs[n]))
			n++;
	closedir(dir);
	qsort(bdfs, n, 32, by_name);
	return n;
}

int card_count(void)
{
	char bdfs[MAX_CARDS][32];

	return list_cards(bdfs);
}

bool card_nth(int nth, char bdf[32])
{
	char bdfs[MAX_CARDS][32];

	if (nth >= list_cards(bdfs))
		return false;
	memcpy(bdf, bdfs[nth], 32);
	return true;
}

const char *card_bdf(void)
{
	static char bdf[32];
	const char *wanted = getenv("PACCEL_BDF");

	if (!bdf[0] && wanted)
		snprintf(bdf, sizeof(bdf), "%.31s", wanted);
	if (!bdf[0])
		card_nth(0, bdf);
	return bdf;
}

int card_index(void)
{
	unsigned int bus = 0;

	sscanf(card_bdf(), "%*x:%x", &bus);
	return (int)bus - 1;
}

bool card_node(const char *bdf, char name[32])
{
	DIR *dir = opendir(CLASS);
	struct dirent *entry;
	bool found = false;
	char other[32];

	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !node_bdf(entry->d_name, other))
			continue;
		found = !strcmp(bdf, other);
		snprintf(name, 32, "%.31s", entry->d_name);
	}
	closedir(dir);
	return found;
}

int card_open_at(const char *bdf, int flags)
{
	char node[32], path[64];
	int fd;

	if (!card_node(bdf, node))
		return -ENXIO;
	snprintf(path, sizeof(path), "/dev/%s", node);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int card_open(void)
{
	return card_open_at(card_bdf(), O_RDWR);
}

static bool attr_path(const char *attr, char path[128])
{
	char node[32];

	if (!card_node(card_bdf(), node))
		return false;
	snprintf(path, 128, CLASS "/%s/%.64s", node, attr);
	return true;
}

int card_attr_read(const char *attr, char *buf, size_t size)
{
	char path[128];

	return attr_path(attr, path) ? file_read(path, buf, size) : -ENXIO;
}

int card_attr_u64(const char *attr, u64 *value)
{
	char buf[64], *end;
	int rc = card_attr_read(attr, buf, sizeof(buf));

	if (rc < 0)
		return rc;
	*value = strtoull(buf, &end, 0);
	return end == buf || *end ? -EINVAL : 0;
}

bool card_health_is(const char *health)
{
	char text[32];

	return card_attr_read("health", text, sizeof(text)) > 0 && !strcmp(text, health);
}

int card_attr_write(const char *attr, const char *text)
{
	char path[128];

	return attr_path(attr, path) ? file_write(path, text) : -ENXIO;
}

/* --- PCI ----------------------------------------------------------------- */

int pci_attr_write(const char *bdf, const char *attr, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/%.64s", bdf, attr);
	return file_write(path, text);
}

static int config_open(const char *bdf, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/config", bdf);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0) {
		perror(path);
		abort();
	}
	return fd;
}

u32 pci_config_read(const char *bdf, int offset, int bytes)
{
	int fd = config_open(bdf, O_RDONLY);
	u32 value = 0;

	if (pread(fd, &value, bytes, offset) != bytes)
		abort();
	close(fd);
	return value;
}

void pci_config_write(const char *bdf, int offset, int bytes, u32 value)
{
	int fd = config_open(bdf, O_RDWR);

	if (pwrite(fd, &value, bytes, offset) != bytes)
		abort();
	close(fd);
}

int driver_unbind(const char *bdf)
{
	char path[128];

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/driver/unbind", bdf);
	return file_write(path, bdf);
}

int driver_bind(const char *bdf)
{
	return file_write("/sys/bus/pci/drivers/paccel/bind", bdf);
}

#define PCI_PRIMARY_BUS 0x18	/* then secondary, subordinate and latency */

static void bridge_of(const char *bdf, char name[32])
{
	char up[128], path[PATH_MAX];

	snprintf(up, sizeof(up), PCI_DEVICES "/%s/..", bdf);
	if (!realpath(up, path)) {
		perror(up);
		abort();
	}
	snprintf(name, 32, "%.31s", strrchr(path, '/') + 1);
}

void pci_bus_change(const char *bdf, unsigned int number)
{
	char bridge[32];

	bridge_of(bdf, bridge);
	if (!shared->buses)
		shared->buses = pci_config_read(bridge, PCI_PRIMARY_BUS, 4);
	pci_config_write(bridge, PCI_PRIMARY_BUS, 4,
			 (shared->buses & 0xff000000) | number << 16 | number << 8);
}

void pci_bus_restore(const char *bdf)
{
	char bridge[32];

	if (!shared->buses)
		return;
	bridge_of(bdf, bridge);
	pci_config_write(bridge, PCI_PRIMARY_BUS, 4, shared->buses);
	shared->buses = 0;
}

/* --- the module ---------------------------------------------------------- */

bool module_loaded(void)
{
	return access("/sys/module/paccel", F_OK) == 0;
}

static int load_file(const char *path, const char *parameters)
{
	int fd, rc;

	if (!path)
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;
	close(fd);
	return rc;
}

int module_load(const char *parameters)
{
	return load_file(getenv("PACCEL_KO"), parameters);
}

int module_unload(void)
{
	return syscall(SYS_delete_module, "paccel", O_NONBLOCK) ? -errno : 0;
}

static bool module_is_unused(void)
{
	char users[16];

	return file_read("/sys/module/paccel/refcnt", users, sizeof(users)) > 0 &&
	       !strcmp(users, "0");
}

int module_unload_unused(unsigned int ms)
{
	if (!WAIT_FOR(module_is_unused() || !module_loaded(), ms))
		fprintf(stderr, "# the driver still has users after %u ms\n", ms);
	return module_unload();
}

static int driver_override(const char *driver)
{
	char path[128];

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/driver_override", card_bdf());
	return file_write(path, driver);
}

int backend_load(const char *parameters)
{
	int rc = driver_override("paccel_test\n");

	if (!rc)
		rc = driver_unbind(card_bdf());
	/* Without a driver since its backend was refused. */
	if (rc == -ENOENT)
		rc = 0;
	return rc ? rc : load_file(getenv("PACCEL_TEST_KO"), parameters);
}

int backend_unload(void)
{
	int rc = driver_override("\n");

	return syscall(SYS_delete_module, "paccel_test", O_NONBLOCK) && errno != ENOENT ? -errno : rc;
}

int importer_load(const char *parameters)
{
	return load_file(getenv("PACCEL_IMPORTER_KO"), parameters);
}

int importer_unload(void)
{
	return syscall(SYS_delete_module, "paccel_importer", O_NONBLOCK) ? -errno : 0;
}

static void param_path(const char *name, char path[128])
{
	snprintf(path, 128, "/sys/module/paccel/parameters/%.64s", name);
}

bool module_param(const char *name, char *buf, size_t size)
{
	char path[128];

	param_path(name, path);
	return file_read(path, buf, size) > 0;
}

void module_parameters(char *buf, size_t size)
{
	static const char *const names[] = { "scrub", "verify", "watchdog_ms", "quiesce_ms", "p2p",
					     "edu_dma_bits" };
	char value[32];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (module_param(names[i], value, sizeof(value)))
			n += snprintf(buf + n, size - n, "%s=%s ", names[i], value);
}

int module_param_set(const char *name, const char *value)
{
	char path[128];

	param_path(name, path);
	return file_write(path, value);
}

bool scrub_is_on(void)
{
	char value[16];

	return !module_param("scrub", value, sizeof(value)) ||
	       (value[0] != 'N' && value[0] != '0');
}

/* --- transfers ----------------------------------------------------------- */

struct paccel_mem_stats stats_of(int fd)
{
	struct paccel_mem_stats s = { .size = sizeof(s) };

	if (ioctl(fd, PACCEL_IOC_MEM_STATS, &s)) {
		perror("MEM_STATS");
		abort();
	}
	return s;
}

bool stats_add_up(const struct paccel_mem_stats *s)
{
	return s->total == s->used + s->free + s->dirty + s->quarantined &&
	       s->largest_free <= s->free && s->mine <= s->used &&
	       s->mine <= s->user && s->user <= s->used &&
	       (s->mine == 0) == (s->mine_allocs == 0);
}

/*
 * Sum of the numbers at %d in those lines of debugfs that begin as the form does up to there. -1 if
 * the file cannot be read.
 */
static int card_state_sum(const char *form)
{
	char node[32], path[96], line[512];
	int sum = 0, n;
	FILE *f;

	if (!card_node(card_bdf(), node))
		return -1;
	snprintf(path, sizeof(path), "/sys/kernel/debug/paccel/%s/state", node);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, form, &n) == 1)
			sum += n;
	if (ferror(f))
		sum = -1;
	fclose(f);
	return sum;
}

int card_jobs(void)
{
	return card_state_sum("engine %*u: %d jobs");
}

int card_waiting(void)
{
	return card_state_sum("allocations that wait for scrubbing: %d");
}

bool card_settle(int fd)
{
	return WAIT_FOR(stats_of(fd).dirty == 0, 20000);
}

static bool xfers_now(u64 *xfers)
{
	struct paccel_mem_stats s = { .size = sizeof(s) };
	int fd = card_open_at(card_bdf(), O_RDONLY);
	bool known = fd >= 0 && !ioctl(fd, PACCEL_IOC_MEM_STATS, &s);

	if (fd >= 0)
		close(fd);
	*xfers = s.xfers;
	return known;
}

void xfers_note(void)
{
	u64 now;

	if (xfers_now(&now)) {
		/* Below the start: a binding has ended that nobody noted. */
		if (now < shared->xfers_start)
			shared->xfers_start = 0;
		shared->xfers += now - shared->xfers_start;
	}
	shared->xfers_start = 0;
}

static void xfers_print(void)
{
	xfers_note();
	printf("# transfers: %llu\n", (unsigned long long)shared->xfers);
	fflush(stdout);
}

void xfers_at_exit(void)
{
	xfers_now(&shared->xfers_start);
	atexit(xfers_print);
}

/* --- processes and time -------------------------------------------------- */

long proc_status(pid_t pid, const char *key)
{
	char path[64], line[256];
	long value = -1;
	size_t n = strlen(key);
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, n) && line[n] == ':')
			value = strtol(line + n + 1, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

long locked_kb(void)
{
	return proc_status(getpid(), "VmLck") + proc_status(getpid(), "VmPin");
}

char thread_state(pid_t pid, pid_t tid)
{
	char path[64], buf[512], *paren;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	if (file_read(path, buf, sizeof(buf)) <= 0)
		return 0;
	paren = strrchr(buf, ')');
	return paren && paren[1] ? paren[2] : 0;
}

int send_fd(int socket, int fd)
{
	char byte = 'f', room[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = room, .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(socket, &msg, 0) == 1 ? 0 : -errno;
}

int receive_fd(int socket)
{
	char byte, room[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = room, .msg_controllen = sizeof(room) };
	int fd = -1;

	if (recvmsg(socket, &msg, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&msg))
		return -errno;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

int slow_factor(void)
{
	const char *slow = getenv("PACCEL_SLOWDOWN");
	int factor = slow ? atoi(slow) : 1;

	return factor > 0 ? factor : 1;
}

u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + t.tv_nsec;
}

u64 now_ms(void)
{
	return now_ns() / 1000000;
}

pid_t spawn(int (*fn)(void *arg), void *arg)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		abort();
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(fn(arg));
	}
	return pid;
}

static int status_of(int status)
{
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int reap(pid_t pid)
{
	int status;
	pid_t rc;

	do {
		rc = waitpid(pid, &status, 0);
	} while (rc < 0 && errno == EINTR);
	return rc == pid ? status_of(status) : -1;
}

int reap_within(pid_t pid, int ms)
{
	int status;

	if (!WAIT_FOR(waitpid(pid, &status, WNOHANG) == pid, ms))
		return -2;
	return status_of(status);
}

int run_in_child(int (*fn)(void *arg), void *arg)
{
	return reap(spawn(fn, arg));
}

void child_failed(const char *file, int line, const char *cond)
{
	fprintf(stderr, "# %s:%d: in a child: %s (errno %d)\n", file, line, cond,
		errno);
	_exit(99);
}

struct line line_open(void)
{
	struct line l;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, l.fd))
		abort();
	return l;
}

void say(struct line *l, int end)
{
	if (send(l->fd[end], "x", 1, MSG_NOSIGNAL) != 1)
		perror("say");
}

static bool hear_within(struct line *l, int end, int ms)
{
	struct pollfd p = { .fd = l->fd[end], .events = POLLIN };
	int rc;
	char c;

	do {
		rc = poll(&p, 1, ms);
	} while (rc < 0 && errno == EINTR);
	return rc == 1 && read(l->fd[end], &c, 1) == 1;
}

bool hear(struct line *l, int end)
{
	return hear_within(l, end, 60000 * slow_factor());
}

bool hear_some_day(struct line *l, int end)
{
	return hear_within(l, end, -1);
}

void drop_capability(int cap)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		abort();
	data[cap / 32].effective &= ~(1u << cap % 32);
	if (syscall(SYS_capset, &head, data))
		abort();
}

void limit_memlock(size_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		abort();
	/* The effective uid stays root's: it may open the node. */
	if (setresuid(100000 + getpid(), -1, -1))
		abort();
	drop_capability(CAP_IPC_LOCK);
}

/* --- memory -------------------------------------------------------------- */

void *map_pages(size_t pages)
{
	void *p = mmap(NULL, pages * page_size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

void unmap_nodes(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start[64], end[64];
	char line[512];
	int n = 0;

	while (f && n < 64 && fgets(line, sizeof(line), f))
		if (strstr(line, "paccel") && strstr(line, "rw-s"))
			n += sscanf(line, "%lx-%lx", &start[n], &end[n]) == 2;
	if (f)
		fclose(f);
	while (n--)
		munmap((void *)start[n], end[n] - start[n]);
}

void *guarded(size_t bytes)
{
	size_t pages = (bytes + page_size - 1) / page_size;
	u8 *p = map_pages(pages + 1);

	if (mprotect(p + pages * page_size, page_size, PROT_NONE))
		abort();
	return p + pages * page_size - bytes;
}

static u8 pattern_byte(size_t i, unsigned int seed)
{
	u8 b = (i * 7 + (i >> 8) * 31 + seed * 101 + 1) & 0xff;

	return b ? b : 0x5a;
}

/* It repeats itself, which makes megabytes of it cheap. */
#define PATTERN_PERIOD 65536

void pattern_fill(void *buf, size_t n, unsigned int seed)
{
	u8 *to = buf;

	for (size_t i = 0; i < n && i < PATTERN_PERIOD; i++)
		to[i] = pattern_byte(i, seed);
	for (size_t i = PATTERN_PERIOD; i < n; i += PATTERN_PERIOD)
		memcpy(to + i, to, n - i < PATTERN_PERIOD ? n - i : PATTERN_PERIOD);
}

long pattern_diff(const void *buf, size_t n, unsigned int seed)
{
	const u8 *at = buf;

	for (size_t i = 0; i < n && i < PATTERN_PERIOD; i++)
		if (at[i] != pattern_byte(i, seed))
			return i;
	if (n <= PATTERN_PERIOD || !memcmp(at, at + PATTERN_PERIOD, n - PATTERN_PERIOD))
		return -1;
	return PATTERN_PERIOD + bytes_diff(at, at + PATTERN_PERIOD, n - PATTERN_PERIOD);
}

long bytes_diff(const void *a, const void *b, size_t n)
{
	if (!memcmp(a, b, n))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (((const u8 *)a)[i] != ((const u8 *)b)[i])
			return i;
	/* Memory that changes under our eyes. */
	return -1;
}

bool all_bytes(const void *buf, size_t n, u8 value)
{
	const u8 *at = buf;

	return !n || (at[0] == value && !memcmp(at, at + 1, n - 1));
}

/* --- userfaultfd --------------------------------------------------------- */

int uffd_hang(void *addr, size_t length)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { .start = (uintptr_t)addr, .len = length },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range)) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

bool uffd_wait(int uffd, int ms)
{
	struct pollfd p = { .fd = uffd, .events = POLLIN };
	struct uffd_msg msg;

	return poll(&p, 1, ms * slow_factor()) == 1 &&
	       read(uffd, &msg, sizeof(msg)) == sizeof(msg) &&
	       msg.event == UFFD_EVENT_PAGEFAULT;
}

bool uffd_resolve(int uffd, void *addr, const void *page)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)addr & ~(page_size - 1),
		.src = (uintptr_t)page,
		.len = page_size,
	};

	return !ioctl(uffd, UFFDIO_COPY, &copy);
}

/* --- signal storm -------------------------------------------------------- */

static void count_signal(int sig)
{
	(void)sig;
	__atomic_fetch_add(&shared->signals, 1, __ATOMIC_RELAXED);
}

void storm_begin(int every_ms)
{
	/* Without SA_RESTART: a call that a signal can end shows as EINTR. */
	struct sigaction action = { .sa_handler = count_signal };
	struct itimerval timer = {
		.it_interval = { .tv_usec = every_ms * 1000 },
		.it_value = { .tv_usec = every_ms * 1000 },
	};

	if (sigaction(SIGALRM, &action, NULL) ||
	    setitimer(ITIMER_REAL, &timer, NULL))
		abort();
}

void storm_end(void)
{
	struct itimerval off = {};

	setitimer(ITIMER_REAL, &off, NULL);
}

bool storm_wanted(void)
{
	return getenv("PACCEL_STORM") != NULL;
}

void storm_start(void)
{
	if (!storm_wanted())
		return;
	/* A signal is to come in the middle of each transfer. */
	card_slow();
	storm_begin(10 * slow_factor());
}

int storm_signals(void)
{
	return __atomic_load_n(&shared->signals, __ATOMIC_RELAXED);
}
