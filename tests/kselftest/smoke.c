// SPDX-License-Identifier: MIT
/*
 * The main path in few transfers, for machines of other shapes. Two environment
 * variables say what is expected of this one:
 *
 *   PACCEL_EXPECT_DMA=direct|bounce    whether an edu reaches all of the memory; a ring card does.
 *   PACCEL_EXPECT_IRQ=msi|intx
 */
#include "paccel_test.h"

#define SIZE 1000

FIXTURE(smoke) {
	int fd;
	u64 mem;
	u8 *host;
	u64 lost, spurious;
};

static u64 counter(const char *name)
{
	u64 n = ~0ull;

	card_attr_u64(name, &n);
	return n;
}

FIXTURE_SETUP(smoke)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
	self->host = map_pages(2);
	self->lost = counter("lost_irqs");
	self->spurious = counter("spurious_irqs");
}

/* However slow it is, no interrupt may be missing and none be too much. */
FIXTURE_TEARDOWN(smoke)
{
	EXPECT_EQ(self->lost, counter("lost_irqs"));
	EXPECT_EQ(self->spurious, counter("spurious_irqs"));
	EXPECT_EQ(0, counter("timeouts"));
	close(self->fd);
}

TEST_F(smoke, dma_is_what_this_machine_offers)
{
	const char *expected = getenv("PACCEL_EXPECT_DMA");
	bool direct = info_of(self->fd).caps & PACCEL_CAP_DIRECT_DMA;

	if (!strcmp(card_kind(), "ring"))
		expected = "direct";
	if (expected)
		EXPECT_STREQ(expected, direct ? "direct" : "bounce");
}

static void is_edu(struct __test_metadata *_metadata, const struct paccel_device_info *info)
{
	const char *bytes = getenv("PACCEL_EDU_BYTES");

	/* PACCEL_EDU_BYTES is the size that the runner expects of this version of QEMU. */
	ASSERT_NE(NULL, bytes);
	EXPECT_EQ(atoi(bytes), info->mem_size);
	EXPECT_EQ(64, info->granule);
	EXPECT_EQ(2 << 20, info->max_align);
	EXPECT_EQ(info->mem_size, info->max_xfer);
	EXPECT_EQ(1, info->engines);
	EXPECT_EQ(0, info->caps & (PACCEL_CAP_MAPPABLE | PACCEL_CAP_NATIVE_D2D |
				   PACCEL_CAP_NATIVE_FILL));
}

/* How much it has of everything is said where it is started. */
static void is_ring(struct __test_metadata *_metadata, const struct paccel_device_info *info)
{
	u64 bar = info->mem_size + (1 << 20);

	EXPECT_LE(16 << 20, bar);
	EXPECT_EQ(0, bar & (bar - 1));
	EXPECT_EQ(page_size, info->granule);
	EXPECT_LE(1 << 20, info->max_xfer);
	EXPECT_GE(8, info->engines);
	EXPECT_EQ(64, info->dma_bits);
}

/* What DEVICE_INFO says of each kind. */
TEST_F(smoke, device_info_of_this_card)
{
	struct paccel_device_info info = info_of(self->fd);

	EXPECT_STREQ(card_kind(), info.backend);
	if (!strcmp(info.backend, "edu"))
		is_edu(_metadata, &info);
	else
		is_ring(_metadata, &info);
	EXPECT_NE(0, info.caps & PACCEL_CAP_MEM_SURVIVES_RESET);
}

TEST_F(smoke, interrupts_are_what_this_machine_offers)
{
	const char *expected = getenv("PACCEL_EXPECT_IRQ");
	char path[128];
	bool msi;

	/* The kernel lists the vectors of a function that uses MSI. */
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/msi_irqs", card_bdf());
	msi = access(path, F_OK) == 0;
	if (expected)
		EXPECT_STREQ(expected, msi ? "msi" : "intx");
}

/* There and back, across a page boundary, at odd places. */
static void round_trip(struct __test_metadata *_metadata, FIXTURE_DATA(smoke) *self,
		       u8 *host)
{
	u8 *at = host + page_size - 333;

	pattern_fill(at, SIZE, 1);
	test_cmd_copy_h2d(self->fd, self->mem, at, SIZE);
	memset(host, 0xc3, 2 * page_size);
	test_cmd_copy_d2h(self->fd, at, self->mem, SIZE);
	EXPECT_EQ(-1, pattern_diff(at, SIZE, 1));
	EXPECT_TRUE(all_bytes(host, page_size - 333, 0xc3));
	EXPECT_TRUE(all_bytes(at + SIZE, page_size + 333 - SIZE, 0xc3));
}

TEST_F(smoke, pageable_memory)
{
	round_trip(_metadata, self, self->host);
}

TEST_F(smoke, registered_memory)
{
	test_cmd_host_register(self->fd, self->host, 2 * page_size, 0);
	round_trip(_metadata, self, self->host);
}

/* Slots that all drivers share where the DMA API copies what is mapped; -1: the kernel does not tell. */
static long swiotlb_slots(void)
{
	char text[32] = {};

	if (file_read("/sys/kernel/debug/swiotlb/io_tlb_used", text, sizeof(text)) <= 0)
		return -1;
	return atol(text);
}

TEST_F(smoke, registered_memory_takes_no_swiotlb_slots)
{
	size_t size = 1 << 20;
	u8 *p = map_pages(size / page_size);
	long before = swiotlb_slots();
	char cmdline[4096] = {};

	/* Where the number says something it must be there. */
	ASSERT_LT(0, file_read("/proc/cmdline", cmdline, sizeof(cmdline)));
	ASSERT_TRUE(before >= 0 || !strstr(cmdline, "swiotlb=force"));
	test_cmd_host_register(self->fd, p, size, 0);
	/* A slot has 2 KiB. Other drivers take some, too. */
	EXPECT_GT(before + 256, swiotlb_slots());
	test_cmd_host_free(self->fd, p, 0);
}

/* How many pieces of memory the device may only read, by the DMA-API debugger; -1 without that. */
static int mapped_for_reading(void)
{
	FILE *dump = fopen("/sys/kernel/debug/dma-api/dump", "re");
	char line[512];
	int nr = 0;

	if (!dump)
		return -1;
	while (fgets(line, sizeof(line), dump))
		nr += strstr(line, card_bdf()) && strstr(line, "DMA_TO_DEVICE");
	fclose(dump);
	return nr;
}

TEST_F(smoke, read_only_memory)
{
	int before = mapped_for_reading();

	test_cmd_host_register(self->fd, self->host, page_size, PACCEL_HOST_READ_ONLY);
	if (before >= 0 && info_of(self->fd).caps & PACCEL_CAP_DIRECT_DMA)
		EXPECT_EQ(before + 1, mapped_for_reading());
	pattern_fill(self->host, SIZE, 4);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	test_cmd_copy_d2h(self->fd, self->host + page_size, self->mem, SIZE);
	EXPECT_EQ(-1, pattern_diff(self->host + page_size, SIZE, 4));
	test_cmd_host_free(self->fd, self->host, 0);
	EXPECT_EQ(before, mapped_for_reading());
}

TEST_F(smoke, own_memory)
{
	u64 offset;
	u8 *p;

	test_cmd_host_alloc(self->fd, 2 * page_size, &offset);
	p = host_map(self->fd, 2 * page_size, offset);
	ASSERT_NE(MAP_FAILED, p);
	round_trip(_metadata, self, p);
}

TEST_F(smoke, inside_the_card)
{
	pattern_fill(self->host, SIZE, 2);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	test_cmd_copy_d2d(self->fd, self->mem + 601, self->mem, 399);
	test_cmd_fill(self->fd, self->mem + 1, 100, 0xabcd, 2);
	memcpy(self->host + 601, self->host, 399);
	for (int i = 1; i <= 100; i++)
		self->host[i] = i % 2 ? 0xcd : 0xab;
	test_cmd_copy_d2h(self->fd, self->host + page_size, self->mem, SIZE);
	EXPECT_EQ(-1, bytes_diff(self->host, self->host + page_size, SIZE));
}

/* A lot of memory, of which the kernel gives the highest first: above 4 GiB, if any. */
TEST_F(smoke, memory_far_up)
{
	size_t pages = (64 << 20) / page_size;
	u8 *big = mmap(NULL, pages * page_size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	u64 step = pages / 2 * page_size;

	ASSERT_NE(MAP_FAILED, big);
	for (u64 at = 0; at < 2 * step; at += step) {
		pattern_fill(big + at, 64, at / step + 3);
		test_cmd_copy_h2d(self->fd, self->mem, big + at, 64);
		memset(big + at, 0, 64);
		test_cmd_copy_d2h(self->fd, big + at, self->mem, 64);
		EXPECT_EQ(-1, pattern_diff(big + at, 64, at / step + 3));
	}
}

TEST_F(smoke, freed_memory_is_scrubbed)
{
	u64 total = info_of(self->fd).mem_size, addr;
	u8 *all = map_pages(total / page_size + 1);

	memset(self->host, 0x99, SIZE);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	test_cmd_mem_free(self->fd, self->mem, SIZE);
	test_cmd_mem_alloc(self->fd, total, 0, &addr);
	memset(all, 0x99, total);
	test_cmd_copy_d2h(self->fd, all, addr, total);
	EXPECT_TRUE(all_bytes(all, total, 0));
}

PACCEL_TEST_MAIN
