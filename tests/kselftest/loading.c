// SPDX-License-Identifier: MIT
/*
 * Loading the module in a kernel without memory: each allocation fails once. The module does not load
 * then, or does without what it has no memory for, and leaves nothing that is in the way of the next
 * attempt. Nothing else may run. What probing allocates is for `probe`: the module finds no devices.
 */
#include "inject.h"

/* Loading takes less than this many allocations, from the parameters on. */
#define LIMIT 2000
#define MAX_CARDS 8

FIXTURE(loading) {
	char parameters[256];
	char bdf[MAX_CARDS][32];
	int nr;
	int log;
	int nth_fd;
};

/* "\n" gives the devices back. */
static void override(FIXTURE_DATA(loading) *self, const char *driver)
{
	for (int i = 0; i < self->nr; i++)
		if (pci_attr_write(self->bdf[i], "driver_override", driver))
			abort();
}

FIXTURE_SETUP(loading)
{
	if (!have_injection())
		SKIP(return, "this kernel has no fault injection");
	module_parameters(self->parameters, sizeof(self->parameters));
	while (self->nr < MAX_CARDS && card_nth(self->nr, self->bdf[self->nr]))
		self->nr++;
	self->log = kmsg_open();
	ASSERT_LE(0, self->log);
	self->nth_fd = nth_open();
	ASSERT_LE(0, self->nth_fd);
	xfers_note();
	ASSERT_EQ(0, module_unload_unused(10000));
	override(self, "none");
}

FIXTURE_TEARDOWN(loading)
{
	allow_warnings(NULL);
	override(self, "\n");
	if (!module_loaded())
		EXPECT_EQ(0, module_load(self->parameters));
	EXPECT_EQ(self->nr, card_count());
	close(self->nth_fd);
	close(self->log);
}

/*
 * What is allocated before the parameters are read is the kernel's own, whose tracing warns when some
 * of that fails.
 */
static int allocations_before(int nth_fd)
{
	const int never = 1000000;
	int passed;

	nth_arm(nth_fd, never);
	if (module_load("watchdog_ms=9") != -EINVAL)
		abort();
	passed = nth_passed(nth_fd, never);
	nth_disarm(nth_fd);
	return passed;
}

/* The driver core has no memory for a folder, and says it in this way. */
static bool is_for_memory(int rc, int log)
{
	return rc == -ENOMEM ||
	       (rc == -EINVAL && log_says(log, "failed to create module links for paccel"));
}

/* Hundreds of loads in a debug kernel. */
TEST_F_TIMEOUT(loading, allocations_fail_one_by_one, 1500)
{
	int first = allocations_before(self->nth_fd), nth, rc, failed = 0;
	bool taken = true;

	allow_warnings(NO_MEMORY);
	for (nth = first; taken && nth < first + LIMIT; nth++) {
		lseek(self->log, 0, SEEK_END);
		nth_arm(self->nth_fd, nth);
		rc = module_load(self->parameters);
		taken = nth_disarm(self->nth_fd);
		EXPECT_TRUE(!rc || (taken && is_for_memory(rc, self->log)))
			TH_LOG("failure %d: rc %d", nth - first, rc);
		ASSERT_EQ(!rc, module_loaded()) TH_LOG("failure %d: rc %d", nth - first, rc);
		failed += rc != 0;
		if (!rc)
			ASSERT_EQ(0, module_unload());
	}
	allow_warnings(NULL);
	printf("# %d of %d failures stop it\n", failed, nth - 1 - first);
	EXPECT_LT(20, failed);
	EXPECT_LT(nth, first + LIMIT);
}

PACCEL_TEST_MAIN
