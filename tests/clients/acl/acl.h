/* SPDX-License-Identifier: MIT */
/*
 * Programs according to AscendCL's public documentation, on the devices of a guest. The tests read numbers
 * of copies and bytes from the driver with libaccel, not with the interface under test.
 */
#ifndef ACL_CLIENT_H
#define ACL_CLIENT_H

#include "../../unit/tap.h"
#include "acl/acl.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#define gives(call, code) gives_code((call), (code), __func__, __LINE__, #call)

static inline void gives_code(aclError got, aclError wanted, const char *function, int line,
			      const char *text)
{
	const char *said = aclGetRecentErrMsg();

	if (got == wanted && (!got || *said))
		return;
	__atomic_add_fetch(&tap_wrong, 1, __ATOMIC_RELAXED);
	printf("# %s:%d: %s is %d, not %d (%s)\n", function, line, text, got, wanted, said);
}

#define RUN(test) \
	do { \
		test(); \
		tap_done(#test); \
	} while (0)

/* The driver's own numbers. */
static inline struct accel_memory_stats card_stats(int index)
{
	struct accel_memory_stats stats = { 0 };
	struct accel_device *dev;

	if (accel_device_open(index, &dev)) {
		printf("Bail out! no device %d: %s\n", index, accel_last_error());
		exit(1);
	}
	ok(!accel_memory_stats_full(dev, &stats));
	ok(!accel_device_close(dev));
	return stats;
}

static inline void fill_with(char *bytes, size_t size, int seed)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(i * 31 + i / 251 + (size_t)seed);
}

#endif
