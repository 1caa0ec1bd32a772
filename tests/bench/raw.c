// SPDX-License-Identifier: MIT
/*
 * The raw transfer: edu driven over its BAR by this program, with no driver bound. It is what the
 * card takes, and so the limit of every copy. Timed from the write that starts it until RUN is
 * seen clear, host to card and card to host in turn; the bytes must come back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define EDU_ID 0x00
#define EDU_ID_VALUE 0xed
#define EDU_DMA_SRC 0x80
#define EDU_DMA_DST 0x88
#define EDU_DMA_COUNT 0x90
#define EDU_DMA_CMD 0x98
#define EDU_DMA_RUN 1
#define EDU_DMA_TO_HOST 2
#define EDU_BUF 0x40000
#define EDU_DMA_BITS 28
#define BAR_SIZE (1 << 20)

#define PCI_COMMAND 4
#define PCI_COMMAND_MASTER 4

#define PAGE 4096UL
#define SEARCH (32UL << 20)
#define PAGEMAP_PRESENT (1ULL << 63)
#define PAGEMAP_PFN ((1ULL << 55) - 1)

#define LIMIT_NS 5000000000ULL

struct raw {
	char sysfs[64];
	volatile unsigned char *bar;
	unsigned char *page;
	uint64_t bus;
};

static int open_attr(const struct raw *raw, const char *attr, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", raw->sysfs, attr);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	return fd;
}

static void set_enable(const struct raw *raw, const char *value)
{
	int fd = open_attr(raw, "enable", O_WRONLY);

	if (write(fd, value, 1) != 1)
		die("%s/enable: %s%s", raw->sysfs, strerror(errno),
		    errno == EBUSY ? " (a driver is bound)" : "");
	close(fd);
}

static void set_master(const struct raw *raw, int on)
{
	int fd = open_attr(raw, "config", O_RDWR);
	uint16_t command;

	if (pread(fd, &command, sizeof(command), PCI_COMMAND) != sizeof(command))
		die("%s/config: %s", raw->sysfs, strerror(errno));
	command = on ? command | PCI_COMMAND_MASTER : command & ~PCI_COMMAND_MASTER;
	if (pwrite(fd, &command, sizeof(command), PCI_COMMAND) != sizeof(command))
		die("%s/config: %s", raw->sysfs, strerror(errno));
	close(fd);
}

static uint32_t reg_read(const struct raw *raw, unsigned int at)
{
	return *(volatile uint32_t *)(raw->bar + at);
}

static void reg_write(const struct raw *raw, unsigned int at, uint32_t value)
{
	*(volatile uint32_t *)(raw->bar + at) = value;
}

static void map_bar(struct raw *raw)
{
	int fd = open_attr(raw, "resource0", O_RDWR | O_SYNC);
	void *bar = mmap(NULL, BAR_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (bar == MAP_FAILED)
		die("%s/resource0: %s", raw->sysfs, strerror(errno));
	close(fd);
	raw->bar = bar;
	if ((reg_read(raw, EDU_ID) & 0xffff) != EDU_ID_VALUE)
		die("%s: this is no edu card", raw->sysfs);
	if (reg_read(raw, EDU_DMA_CMD) & EDU_DMA_RUN)
		die("%s: a transfer runs already", raw->sysfs);
}

/* Where the page lies in memory; without an IOMMU that is its bus address. */
static uint64_t physical(const void *page)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry;

	if (fd < 0)
		die("pagemap: %s", strerror(errno));
	if (pread(fd, &entry, sizeof(entry), (uintptr_t)page / PAGE * sizeof(entry)) !=
	    sizeof(entry))
		die("pagemap: %s", strerror(errno));
	close(fd);
	if (!(entry & PAGEMAP_PRESENT) || !(entry & PAGEMAP_PFN))
		die("pagemap does not show where a page lies (not root?)");
	return (entry & PAGEMAP_PFN) * PAGE;
}

/* A locked page that the card can reach. */
static void find_page(struct raw *raw)
{
	unsigned char *area = mmap(NULL, SEARCH, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED | MAP_POPULATE, -1, 0);
	size_t at;

	if (area == MAP_FAILED)
		die("no locked memory: %s", strerror(errno));
	for (at = 0; at < SEARCH; at += PAGE) {
		raw->page = area + at;
		raw->bus = physical(raw->page);
		if (raw->bus >> EDU_DMA_BITS == 0)
			return;
	}
	die("no page below %lu MiB: give the guest less memory", 1UL << (EDU_DMA_BITS - 20));
}

static void set_up(struct raw *raw, const char *address)
{
	snprintf(raw->sysfs, sizeof(raw->sysfs), "/sys/bus/pci/devices/%s", address);
	find_page(raw);
	set_enable(raw, "1");
	map_bar(raw);
	set_master(raw, 1);
}

static void tear_down(struct raw *raw)
{
	set_master(raw, 0);
	set_enable(raw, "0");
}

static uint64_t transfer(const struct raw *raw, int to_host)
{
	uint64_t start, now;

	reg_write(raw, EDU_DMA_SRC, to_host ? EDU_BUF : raw->bus);
	reg_write(raw, EDU_DMA_DST, to_host ? raw->bus : EDU_BUF);
	reg_write(raw, EDU_DMA_COUNT, CARD_BYTES);
	start = now_ns();
	reg_write(raw, EDU_DMA_CMD, EDU_DMA_RUN | (to_host ? EDU_DMA_TO_HOST : 0));
	do {
		now = now_ns();
		if (now - start > LIMIT_NS)
			die("%s: a transfer does not end", raw->sysfs);
		/* Leaves the machine to the card, as a driver does that waits for an interrupt. */
		usleep(1);
	} while (reg_read(raw, EDU_DMA_CMD) & EDU_DMA_RUN);
	return now_ns() - start;
}

int bench_raw(int argc, char **argv)
{
	struct samples s = { .name = "raw" };
	unsigned int i, nr = number(argv[1], BENCH_MAX_SAMPLES);
	unsigned char want[CARD_BYTES];
	struct raw raw = { 0 };

	(void)argc;
	set_up(&raw, argv[0]);
	pattern(want, sizeof(want), 1);
	for (i = 0; i < nr; i++) {
		int to_host = i % 2;

		if (to_host)
			memset(raw.page, 0, CARD_BYTES);
		else
			memcpy(raw.page, want, CARD_BYTES);
		samples_add(&s, transfer(&raw, to_host));
		if (to_host && memcmp(raw.page, want, CARD_BYTES))
			die("%s: the bytes that came back are others", raw.sysfs);
	}
	if (physical(raw.page) != raw.bus)
		die("the page was moved under the card");
	tear_down(&raw);
	samples_print(&s);
	return 0;
}
