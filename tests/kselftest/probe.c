// SPDX-License-Identifier: MIT
/*
 * Probing that fails: a device that is none of ours or does not answer, and a kernel without memory.
 * bind(2)'s errno of sysfs says why, nothing is left of the attempt, and the next one succeeds.
 * The program has the device for itself and unbinds it; a kernel without fault injection skips the
 * sweeps.
 */
#include "inject.h"

#define LIMIT 4000

#define NO_RING(reg) reg ": not a ring device, or an unsupported version"

#define PCI_COMMAND 0x04
#define PCI_COMMAND_MEMORY 0x2

FIXTURE(probe) {
	int log;
	volatile u8 *regs;	/* the first page of the BAR with registers */
	bool enough;		/* for edu_keep_busy() */
};

static volatile u8 *map_registers(void)
{
	const char *bar = strcmp(card_kind(), "ring") ? "resource0" : "resource2";
	char path[128];
	void *regs;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", card_bdf(), bar);
	fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
	regs = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return regs;
}

FIXTURE_SETUP(probe)
{
	int fd = card_open();

	ASSERT_LE(0, fd);
	ASSERT_TRUE(card_settle(fd));
	close(fd);
	xfers_note();
	ASSERT_EQ(0, driver_unbind(card_bdf()));
	self->log = kmsg_open();
	ASSERT_LE(0, self->log);
	self->regs = map_registers();
	ASSERT_NE(MAP_FAILED, self->regs);
}

/* What a failed attempt had left would be in the way of this one. */
static void binds_and_works(struct __test_metadata *_metadata)
{
	u8 bytes[64], back[64] = {};
	u64 mem;
	int fd;

	ASSERT_EQ(0, driver_bind(card_bdf()));
	fd = card_open();
	ASSERT_LE(0, fd);
	pattern_fill(bytes, sizeof(bytes), 3);
	test_cmd_mem_alloc(fd, sizeof(bytes), 0, &mem);
	test_cmd_copy_h2d(fd, mem, bytes, sizeof(bytes));
	test_cmd_copy_d2h(fd, back, mem, sizeof(back));
	EXPECT_EQ(-1, pattern_diff(back, sizeof(back), 3));
	close(fd);
	xfers_note();
}

FIXTURE_TEARDOWN(probe)
{
	/* What a test that ended early has left. */
	allow_warnings(NULL);
	pci_attr_write(card_bdf(), "enable", "0");
	munmap((void *)self->regs, page_size);
	close(self->log);
	binds_and_works(_metadata);
}

/* Neither a node nor an interrupt. */
static void expect_nothing_left(struct __test_metadata *_metadata)
{
	char path[128], name[32];

	EXPECT_FALSE(card_node(card_bdf(), name));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/msi_irqs", card_bdf());
	EXPECT_NE(0, access(path, F_OK));
}

/* --- a device that cannot be right --------------------------------------- */

#define expect_refusal(error, text)                                            \
	do {                                                                   \
		EXPECT_EQ(-(error), driver_bind(card_bdf()));                  \
		EXPECT_TRUE(log_says(self->log, text));                        \
		expect_nothing_left(_metadata);                                \
	} while (0)

static u32 reg_read(FIXTURE_DATA(probe) *self, int offset)
{
	return *(volatile u32 *)(self->regs + offset);
}

static void reg_write(FIXTURE_DATA(probe) *self, int offset, u32 value)
{
	*(volatile u32 *)(self->regs + offset) = value;
}

/* Memory space is off, and stays off: the device counts as enabled. All reads are all-ones. */
TEST_F(probe, device_does_not_answer)
{
	u32 command = pci_config_read(card_bdf(), PCI_COMMAND, 2);

	ASSERT_EQ(0, pci_attr_write(card_bdf(), "enable", "1"));
	pci_config_write(card_bdf(), PCI_COMMAND, 2, command & ~PCI_COMMAND_MEMORY);
	expect_refusal(ENODEV, strcmp(card_kind(), "edu") ? NO_RING("MAGIC") :
			       "BAR 0 does not respond as an edu device does");
	pci_config_write(card_bdf(), PCI_COMMAND, 2, command | PCI_COMMAND_MEMORY);
	EXPECT_EQ(0, pci_attr_write(card_bdf(), "enable", "0"));
}

#define EDU_DMA_SRC 0x80
#define EDU_DMA_DST 0x88
#define EDU_DMA_COUNT 0x90
#define EDU_DMA_CMD 0x98
#define EDU_BUF 0x40000

/* A transfer, as an earlier driver has left it. Bus mastering is off, so it reads nothing. */
static void edu_start_transfer(FIXTURE_DATA(probe) *self)
{
	*(volatile u64 *)(self->regs + EDU_DMA_SRC) = 0x1000;
	*(volatile u64 *)(self->regs + EDU_DMA_DST) = EDU_BUF;
	reg_write(self, EDU_DMA_COUNT, 4);
	reg_write(self, EDU_DMA_CMD, 1);
}

/* One after the other: a transfer lasts 100 ms, and a slow kernel may take longer to get to it. */
static void *edu_keep_busy(void *arg)
{
	FIXTURE_DATA(probe) *self = arg;

	while (!__atomic_load_n(&self->enough, __ATOMIC_ACQUIRE))
		edu_start_transfer(self);
	return NULL;
}

/* The driver waits 1 ms. */
static int bind_impatiently(void)
{
	char patience[16];
	int rc;

	if (!module_param("quiesce_ms", patience, sizeof(patience)) ||
	    module_param_set("quiesce_ms", "1"))
		abort();
	rc = driver_bind(card_bdf());
	if (module_param_set("quiesce_ms", patience))
		abort();
	return rc;
}

static int edu_bind_while_busy(struct __test_metadata *_metadata, FIXTURE_DATA(probe) *self)
{
	pthread_t thread;
	int rc;

	self->enough = false;
	ASSERT_EQ(0, pthread_create(&thread, NULL, edu_keep_busy, self));
	ASSERT_TRUE(WAIT_FOR(reg_read(self, EDU_DMA_CMD) & 1, 5000));
	rc = bind_impatiently();
	__atomic_store_n(&self->enough, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	return rc;
}

/*
 * Between two transfers the device is idle until the thread starts the next one, longer if the host
 * takes its CPU away. A driver that looks then is right to bind, and is asked again.
 */
TEST_F(probe, edu_does_not_stop)
{
	int rc, tries = 1;

	if (strcmp(card_kind(), "edu"))
		SKIP(return, "about edu only");
	while (!(rc = edu_bind_while_busy(_metadata, self)) && tries < 20) {
		ASSERT_EQ(0, driver_unbind(card_bdf()));
		tries++;
	}
	if (tries > 1)
		printf("# tries: probe.edu_does_not_stop %d\n", tries);
	EXPECT_EQ(-ETIMEDOUT, rc);
	EXPECT_TRUE(log_says(self->log, "a DMA request of an earlier driver does not end"));
	expect_nothing_left(_metadata);
}

#define RING_CONTROL 0x100
#define RING_COMMAND 0x104

/* A device may still write for an earlier driver: it is reset, and its gate stays closed until then. */
TEST_F(probe, ring_does_not_answer_a_reset)
{
	u32 command;

	if (strcmp(card_kind(), "ring"))
		SKIP(return, "about ring only");
	command = reg_read(self, RING_COMMAND);
	ASSERT_EQ(0, ring_order("stop"));
	reg_write(self, RING_CONTROL, 0);
	EXPECT_EQ(-ETIMEDOUT, bind_impatiently());
	EXPECT_NE(command, reg_read(self, RING_COMMAND));
	EXPECT_EQ(0, reg_read(self, RING_CONTROL));
	ASSERT_EQ(0, ring_order("cont"));
	expect_nothing_left(_metadata);
}

/* --- registers of a ring device that no driver can believe ---------------- */

#define RING_VERSION 0x04
#define RING_CAPS 0x08
#define RING_ENGINES 0x0c
#define RING_MEM_OFFSET 0x10
#define RING_MEM_SIZE 0x18
#define RING_MEM_SIZE_HIGH 0x1c
#define RING_MAX_XFER 0x20
#define RING_MAX_SEGMENTS 0x24
#define RING_ENTRIES 0x28
#define RING_DMA_BITS 0x2c

#define BAD(what) "backend ring: " what ": must be "

/* Each is wrong alone. `keep` are the bits of the register that stay. */
static const struct {
	u32 offset, keep, value;
	int error;
	const char *text;
} wrong[] = {
	{ 0, 0, 0, ENODEV, NO_RING("MAGIC") },
	{ RING_VERSION, 0xffff, 2 << 16, ENODEV, NO_RING("VERSION") },
	{ RING_CAPS, ~0u, 0x80, ENODEV, NO_RING("CAPS") },
	{ RING_CAPS, ~1u, 0, ENODEV, NO_RING("CAPS") },
	{ RING_ENGINES, 0, 0, ENODEV, NO_RING("ENGINES") },
	{ RING_ENGINES, 0, 9, ENODEV, NO_RING("ENGINES") },
	{ RING_MEM_SIZE, 0, 0, EINVAL, BAD("mem_size=0") },
	{ RING_MEM_SIZE, 0, 0x1800, EINVAL, BAD("mem_size=6144") },
	{ RING_MEM_SIZE_HIGH, 0, 1, EINVAL, "must be inside the BAR from mem_offset on" },
	{ RING_MEM_OFFSET, 0, 0xff000, ENODEV, NO_RING("MEM_OFFSET") },
	{ RING_MEM_OFFSET, 0, 0xfffff000, EINVAL, BAD("mem_offset=4294963200") },
	{ RING_MEM_OFFSET, 0, 0x100800, EINVAL, BAD("mem_offset=1050624") },
	{ RING_ENTRIES, 0, 48, ENODEV, NO_RING("ENTRIES") },
	{ RING_ENTRIES, 0, 32, ENODEV, NO_RING("ENTRIES") },
	{ RING_ENTRIES, 0, 512, ENODEV, NO_RING("ENTRIES") },
	{ RING_DMA_BITS, 0, 0, ENODEV, NO_RING("DMA_BITS") },
	{ RING_DMA_BITS, 0, 65, ENODEV, NO_RING("DMA_BITS") },
	{ RING_DMA_BITS, 0, 8, EIO, NULL },
	{ RING_MAX_XFER, 0, 0, EINVAL, BAD("max_xfer=0") },
	{ RING_MAX_XFER, 0, 12, EINVAL, BAD("max_xfer=12") },
	{ RING_MAX_SEGMENTS, 0, 0, EINVAL, BAD("max_segs=0") },
};

TEST_F(probe, registers_are_wrong)
{
	if (strcmp(card_kind(), "ring"))
		SKIP(return, "registers of a %s cannot be written", card_kind());
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		u32 right = reg_read(self, wrong[i].offset);

		reg_write(self, wrong[i].offset, (right & wrong[i].keep) | wrong[i].value);
		EXPECT_EQ(-wrong[i].error, driver_bind(card_bdf()))
			TH_LOG("register %#x", wrong[i].offset);
		EXPECT_TRUE(!wrong[i].text || log_says(self->log, wrong[i].text))
			TH_LOG("register %#x: no '%s'", wrong[i].offset, wrong[i].text);
		expect_nothing_left(_metadata);
		reg_write(self, wrong[i].offset, right);
	}
}

/* --- a kernel without memory --------------------------------------------- */

/*
 * Errors that allocations end in. The PCI core reports interrupt vectors that it has no memory for as
 * ENOSPC, their domain as EINVAL, regions as EBUSY; that a region has not been left behind shows in the
 * next attempt.
 */
static bool is_for_memory(int rc, int log)
{
	if (rc == -EINVAL)
		return log_says(log, " MSI-X or MSI vectors");
	return rc == -ENOMEM || rc == -EFAULT || rc == -ENOSPC || rc == -EBUSY;
}

TEST_F(probe, allocations_fail_one_by_one)
{
	int nth, rc, failed = 0, nth_fd;
	bool taken = true;

	if (!have_injection())
		SKIP(return, "this kernel has no fault injection");
	nth_fd = nth_open();
	ASSERT_LE(0, nth_fd);
	/* Routing an interrupt runs ACPI's interpreter, which a failed allocation leaves unusable. */
	ASSERT_EQ(0, pci_attr_write(card_bdf(), "enable", "1"));
	allow_warnings(NO_MEMORY);
	for (nth = 1; taken && nth < LIMIT; nth++) {
		nth_arm(nth_fd, nth);
		rc = driver_bind(card_bdf());
		taken = nth_disarm(nth_fd);
		ASSERT_TRUE(rc ? taken && is_for_memory(rc, self->log) : true)
			TH_LOG("failure %d: rc %d", nth, rc);
		failed += rc != 0;
		/* What can be done without does not stop it: a file in debugfs. */
		if (!rc)
			ASSERT_EQ(0, driver_unbind(card_bdf()));
		expect_nothing_left(_metadata);
	}
	allow_warnings(NULL);
	printf("# %d of %d failures stop it\n", failed, nth - 2);
	EXPECT_EQ(0, pci_attr_write(card_bdf(), "enable", "0"));
	EXPECT_LT(20, failed);
	EXPECT_LT(nth, LIMIT);
	close(nth_fd);
}

PACCEL_TEST_MAIN
