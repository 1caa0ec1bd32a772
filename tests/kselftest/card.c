// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "card.h"
#include "util.h"

#define PCI_COMMAND 0x04
#define PCI_COMMAND_MASTER 0x4
#define PCI_COMMAND_INTX_DISABLE 0x400
#define PCI_STATUS 0x06
#define PCI_STATUS_CAPS 0x10
#define PCI_CAPS 0x34
#define PCI_CAP_MSI 0x05
#define PCI_MSI_ENABLE 0x1

struct kind {
	const char *name, *vendor, *device;
	bool can_be_cut_off;
	int depth;
	void (*slow)(unsigned int us);
	void (*hold)(void);
	bool (*is_held)(void);
	void (*pass)(int n);
	void (*hang)(void);
	void (*mute_irq)(bool mute);
	void (*bus_master)(bool on);
	void (*fail)(bool fail);
	void (*ignore_stop)(bool ignore);
	void (*behave)(void);
};

/* What a test in a child has changed, the parent puts right. */
static struct shared {
	bool changed;
	bool mute_was_msi;
	u64 faults;	/* that the device had met before card_hold() */
} *shared;

__attribute__((constructor)) static void card_init(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		abort();
}

static void config_bits(int offset, u32 bits, bool set)
{
	u32 old = pci_config_read(card_bdf(), offset, 2);

	pci_config_write(card_bdf(), offset, 2, set ? old | bits : old & ~bits);
}

/* --- edu ----------------------------------------------------------------- */

static void edu_slow(unsigned int us)
{
	(void)us;
}

/* A transfer lasts. */
static void edu_hold(void)
{
}

static bool edu_is_held(void)
{
	return true;
}

static void edu_pass(int n)
{
	(void)n;
}

static int find_msi(const char *bdf)
{
	int at;

	if (!(pci_config_read(bdf, PCI_STATUS, 2) & PCI_STATUS_CAPS))
		return 0;
	at = pci_config_read(bdf, PCI_CAPS, 1) & ~3;
	while (at && pci_config_read(bdf, at, 1) != PCI_CAP_MSI)
		at = pci_config_read(bdf, at + 1, 1) & ~3;
	return at;
}

static void edu_mute_irq(bool mute)
{
	int msi = find_msi(card_bdf());

	if (mute)
		shared->mute_was_msi =
			msi && pci_config_read(card_bdf(), msi + 2, 2) & PCI_MSI_ENABLE;
	if (shared->mute_was_msi)
		config_bits(msi + 2, PCI_MSI_ENABLE, !mute);
	else
		config_bits(PCI_COMMAND, PCI_COMMAND_INTX_DISABLE, mute);
}

static void edu_bus_master(bool on)
{
	config_bits(PCI_COMMAND, PCI_COMMAND_MASTER, on);
}

/* All that it can do needs the bus. */
static void edu_fail(bool fail)
{
	edu_bus_master(!fail);
}

static void edu_ignore_stop(bool ignore)
{
	(void)ignore;
}

/* Whoever mutes it has to see whether there is a driver that listens. */
static void edu_behave(void)
{
}

/* --- ring: by orders to its process, see Documentation/ringdev.md --------- */

#define CTL "/dev/virtio-ports/paccel.ctl"
#define CTL_LOCK "/run/guestctl.lock"

/* The port lets in one at a time. Who has ended may still be on the way out. */
static int ctl_open(void)
{
	int fd = -1;

	WAIT_FOR((fd = open(CTL, O_RDWR | O_CLOEXEC)) >= 0 || errno != EBUSY, 10000);
	return fd;
}

static void ctl_talk(int ctl, const char *text, size_t n, char *answer, size_t size)
{
	size_t got = 0;
	ssize_t rc = write(ctl, text, n);

	while (rc > 0 && got < size - 1 && !memchr(answer, '\n', got)) {
		rc = read(ctl, answer + got, size - 1 - got);
		got += rc > 0 ? rc : 0;
	}
}

/* What guestctl does, without a process; signals have to wait. */
static int ring_ask(char *answer, size_t size, const char *format, va_list args)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "fault card%d ", card_index());
	int lock = open(CTL_LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600), ctl;
	sigset_t all, before;

	memset(answer, 0, size);
	n += vsnprintf(text + n, sizeof(text) - n - 1, format, args);
	text[n++] = '\n';
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	flock(lock, LOCK_EX);
	ctl = ctl_open();
	ctl_talk(ctl, text, n, answer, size);
	close(ctl);
	close(lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!strncmp(answer, "ok", 2))
		return 0;
	fprintf(stderr, "# %.*s: %s\n", n - 1, text, *answer ? answer : strerror(errno));
	return -1;
}

int ring_order(const char *format, ...)
{
	char answer[256];
	va_list args;
	int rc;

	shared->changed = true;
	va_start(args, format);
	rc = ring_ask(answer, sizeof(answer), format, args);
	va_end(args);
	return rc;
}

static int ring_stats(char *answer, size_t size, ...)
{
	va_list none;
	int rc;

	va_start(none, size);
	rc = ring_ask(answer, size, "stats", none);
	va_end(none);
	return rc;
}

u64 ring_stat(const char *name)
{
	char answer[256], key[32], *at;

	snprintf(key, sizeof(key), " %s=", name);
	if (ring_stats(answer, sizeof(answer)) || !(at = strstr(answer, key)))
		return ~0ull;
	return strtoull(at + strlen(key), NULL, 10);
}

static void obey(int rc)
{
	if (rc)
		abort();
}

static void ring_slow(unsigned int us)
{
	obey(ring_order("set latency=%u000", us));
}

static void ring_hold(void)
{
	shared->faults = ring_stat("faults");
	obey(ring_order("stall"));
}

static bool ring_is_held(void)
{
	u64 faults = ring_stat("faults");

	return faults != ~0ull && faults > shared->faults;
}

/*
 * The one that is stalled is the first of them. An order that comes before the device has met that one would count
 * it, too.
 */
static void ring_pass(int n)
{
	WAIT_FOR(ring_is_held(), 5000);
	obey(ring_order("stall after=%d", n - 1));
	obey(ring_order("resume"));
}

static void ring_hang(void)
{
	obey(ring_order("stall count=4294967295"));
}

static void ring_mute_irq(bool mute)
{
	obey(ring_order(mute ? "irq-lose count=4294967295" : "clear"));
}

static void ring_fail(bool fail)
{
	obey(ring_order(fail ? "fail count=4294967295" : "clear"));
}

static void ring_ignore_stop(bool ignore)
{
	obey(ring_order(ignore ? "mute" : "clear"));
}

static void ring_behave(void)
{
	/* One that has died does not hear it. */
	ring_order("clear");
	ring_order("set latency=0 rate=0");
}

#define RING_DOORBELL 0x0c		/* in BAR 0 */
#define RING_DOORBELL_CARD (1u << 16)
#define RING_STATUS 0x080		/* in BAR 2 */
#define RING_STATUS_MASTER 2
#define RING_CONTROL 0x100

/* The page in which the BAR begins: that may be smaller than a page. */
static volatile u8 *map_bar(int bar)
{
	unsigned long long start = 0;
	char path[128];
	FILE *f;
	u8 *p;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource", card_bdf());
	f = fopen(path, "re");
	for (int i = 0; f && i <= bar; i++)
		if (fscanf(f, "%llx %*x %*x", &start) != 1)
			abort();
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource%d", card_bdf(), bar);
	fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
	p = fd < 0 ? MAP_FAILED : mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		fprintf(stderr, "# %s: %s: boot with iomem=relaxed\n", path, strerror(errno));
		abort();
	}
	close(fd);
	return p + start % page_size;
}

/* The gate takes the place of the bit in the PCI command register. */
static void ring_bus_master(bool on)
{
	volatile u8 *doorbells = map_bar(0), *regs = map_bar(2);

	*(volatile u32 *)(regs + RING_CONTROL) = on;
	__sync_synchronize();
	*(volatile u32 *)(doorbells + RING_DOORBELL) = RING_DOORBELL_CARD;
	if (!WAIT_FOR(!(*(volatile u32 *)(regs + RING_STATUS) & RING_STATUS_MASTER) == !on, 5000)) {
		fprintf(stderr, "# the gate does not move\n");
		abort();
	}
	munmap((void *)regs, page_size);
	munmap((void *)((uintptr_t)doorbells & ~(page_size - 1)), page_size);
}

/* --- whichever it is ----------------------------------------------------- */

static const struct kind kinds[] = {
	{ "edu", "0x1234", "0x11e8", true, 1, edu_slow, edu_hold, edu_is_held, edu_pass,
	  edu_hold, edu_mute_irq, edu_bus_master, edu_fail, edu_ignore_stop, edu_behave },
	{ "ring", "0x1af4", "0x1110", false, 64, ring_slow, ring_hold, ring_is_held, ring_pass,
	  ring_hang, ring_mute_irq, ring_bus_master, ring_fail, ring_ignore_stop, ring_behave },
};

/* Known while the card is there, and remembered when it is not. */
static const struct kind *find_kind(void)
{
	static const struct kind *known;
	char path[128], vendor[16], device[16];

	if (known)
		return known;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/vendor", card_bdf());
	if (file_read(path, vendor, sizeof(vendor)) < 0)
		return NULL;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/device", card_bdf());
	if (file_read(path, device, sizeof(device)) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(vendor, kinds[i].vendor) && !strcmp(device, kinds[i].device))
			known = &kinds[i];
	return known;
}

static const struct kind *kind(void)
{
	if (!find_kind()) {
		fprintf(stderr, "# %s is no card that these tests know\n", card_bdf());
		abort();
	}
	return find_kind();
}

const char *card_kind(void)
{
	return kind()->name;
}

void card_slow(void)
{
	kind()->slow(XFER_MS * 1000);
	shared->changed = true;
}

void card_hold(void)
{
	kind()->hold();
	shared->changed = true;
}

bool card_can_hold(void)
{
	return kind()->hold != edu_hold || !strcmp(getenv("PACCEL_CLOCK") ?: "", "virtual");
}

bool card_is_held(void)
{
	return kind()->is_held();
}

void card_pass(int n)
{
	kind()->pass(n);
}

void card_hang(void)
{
	kind()->hang();
	shared->changed = true;
}

int card_depth(void)
{
	return kind()->depth;
}

void card_slow_turns(void)
{
	kind()->slow(XFER_MS * 1000 / card_depth());
	shared->changed = true;
}

void card_fail(bool fail)
{
	kind()->fail(fail);
	shared->changed = true;
}

void card_mute_irq(bool mute)
{
	kind()->mute_irq(mute);
	shared->changed = true;
}

void card_bus_master(bool on)
{
	kind()->bus_master(on);
}

void card_ignore_stop(bool ignore)
{
	kind()->ignore_stop(ignore);
	shared->changed = true;
}

bool card_can_be_cut_off(void)
{
	return kind()->can_be_cut_off;
}

void card_behave(void)
{
	if (shared->changed)
		kind()->behave();
	shared->changed = false;
	/* Remembered by the tests to come. */
	find_kind();
}
