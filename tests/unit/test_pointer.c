/* SPDX-License-Identifier: MIT */
/* What an address is, and errors as words. */
#include "fixture.h"

#include <limits.h>
#include <pthread.h>

static int is(const void *ptr, struct accel_device *dev, enum accel_memory_kind kind,
	      const void *base, size_t size)
{
	struct accel_pointer_info info;

	memset(&info, 0xff, sizeof(info));
	expect(accel_pointer_get_info(ptr, &info), 0);
	for (size_t i = 0; i < sizeof(info.reserved) / sizeof(info.reserved[0]); i++)
		ok(!info.reserved[i]);
	/* Of this card: its memory cannot be mapped. */
	ok(info.flags == (kind == ACCEL_MEMORY_DEVICE || kind == ACCEL_MEMORY_PAGEABLE ?
				  0 :
				  ACCEL_POINTER_ACCESSIBLE));
	return info.device == dev && info.kind == kind && info.base == base && info.size == size;
}

static uint64_t serial_of(const void *ptr)
{
	struct accel_pointer_info info;

	expect(accel_pointer_get_info(ptr, &info), 0);
	return info.serial;
}

static void test_every_kind(void)
{
	struct accel_device *dev = open_card();
	char *device = device_memory(dev, 100), *host = host_memory(dev, 100),
	     *unified = unified_memory(dev, 100);
	static char mine[100];

	expect(accel_host_register(dev, mine + 10, 50, 0), 0);
	ok(is(device, dev, ACCEL_MEMORY_DEVICE, device, 100));
	ok(is(device + 99, dev, ACCEL_MEMORY_DEVICE, device, 100));
	ok(is(host + 1, dev, ACCEL_MEMORY_HOST, host, 100));
	ok(is(unified + 99, dev, ACCEL_MEMORY_UNIFIED, unified, 100));
	ok(is(mine + 10, dev, ACCEL_MEMORY_REGISTERED, mine + 10, 50));
	ok(is(mine + 59, dev, ACCEL_MEMORY_REGISTERED, mine + 10, 50));
	ok(is(mine + 9, NULL, ACCEL_MEMORY_PAGEABLE, NULL, 0));
	ok(is(mine + 60, NULL, ACCEL_MEMORY_PAGEABLE, NULL, 0));
	ok(is(host + 100, NULL, ACCEL_MEMORY_PAGEABLE, NULL, 0));
	ok(is((void *)1, NULL, ACCEL_MEMORY_PAGEABLE, NULL, 0));
	ok(is((void *)UINTPTR_MAX, NULL, ACCEL_MEMORY_PAGEABLE, NULL, 0));
	ok(!serial_of(mine));
	expect(accel_device_close(dev), 0);
}

static void test_dead_addresses(void)
{
	struct accel_device *dev = open_card();
	struct accel_pointer_info info;
	char *ptr = device_memory(dev, 100);

	refused(accel_pointer_get_info(ptr + 100, &info), -ENOENT, hex(ptr + 100));
	refused(accel_pointer_get_info(ptr + 4032, &info), -ENOENT, "no live allocation");
	refused(accel_pointer_get_info(ptr - 1, &info), -ENOENT, "no live allocation");
	expect(accel_device_memory_deallocate(dev, ptr, 100), 0);
	refused(accel_pointer_get_info(ptr, &info), -ENOENT, "freed before");
	refused(accel_pointer_get_info(NULL, &info), -EINVAL, "ptr");
	refused(accel_pointer_get_info(ptr, NULL), -EINVAL, "info");
	expect(accel_device_close(dev), 0);
}

static void test_serial_tells_a_new_block_at_an_old_address(void)
{
	struct accel_device *dev = open_card(), *other;
	char *old = device_memory(dev, 4032), *new, *host;
	uint64_t serial = serial_of(old);

	ok(serial && serial_of(old + 4031) == serial);
	expect(accel_device_memory_deallocate(dev, old, 4032), 0);
	new = device_memory(dev, 4032);
	ok(new == old &&serial_of(new) > serial);
	host = host_memory(dev, 1);
	ok(serial_of(host) > serial_of(new));
	serial = serial_of(host);
	expect(accel_device_close(dev), 0);
	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	ok(serial_of(device_memory(other, 1)) > serial);
	expect(accel_device_close(other), 0);
}

static void test_registered_with_two_cards(void)
{
	struct accel_device *dev = open_card(), *other;
	static char mine[64];

	mock_add(1);
	expect(accel_device_open(1, &other), 0);
	expect(accel_host_register(other, mine, 64, 0), 0);
	ok(is(mine, other, ACCEL_MEMORY_REGISTERED, mine, 64));
	expect(accel_host_register(dev, mine, 64, 0), 0);
	ok(is(mine, dev, ACCEL_MEMORY_REGISTERED, mine, 64));
	expect(accel_device_close(dev), 0);
	ok(is(mine, other, ACCEL_MEMORY_REGISTERED, mine, 64));
	expect(accel_device_close(other), 0);
	ok(is(mine, NULL, ACCEL_MEMORY_PAGEABLE, NULL, 0));
}

static void test_node(void)
{
	struct accel_device *dev = open_card(), *other;
	char *ptr = device_memory(dev, 100), *host = host_memory(dev, 100), *unified = unified_memory(dev, 100), *theirs;
	unsigned int calls;
	int own;

	mock_add(5);
	expect(accel_device_open(1, &other), 0);
	theirs = device_memory(other, 100);
	refused(accel_pointer_get_info(NULL, NULL), -EINVAL, "ptr");
	calls = mock_all_calls();
	expect(accel_pointer_node(ptr), 0);
	expect(accel_pointer_node(ptr + 99), 0);
	expect(accel_pointer_node(theirs), 5);
	expect(accel_pointer_node(host), -ENOENT);
	expect(accel_pointer_node(unified), -ENOENT);
	expect(accel_pointer_node(&own), -ENOENT);
	expect(accel_pointer_node(NULL), -ENOENT);
	ok(calls == mock_all_calls());
	ok(!strcmp(accel_last_error(), "ptr is NULL"));
	/* No longer allocated, and still nothing that the processor may access. */
	expect(accel_device_memory_deallocate(dev, ptr, 100), 0);
	expect(accel_pointer_node(ptr), 0);
	expect(accel_device_close(dev), 0);
	expect(accel_pointer_node(ptr), -ENOENT);
	expect(accel_pointer_node(theirs), 5);
	expect(accel_device_close(other), 0);
	expect(accel_pointer_node(theirs), -ENOENT);
}

static void test_strerror(void)
{
	static const int ours[] = { EACCES, EDQUOT, EEXIST, EFAULT,	EINVAL, EIO,	ENODEV,
				    ENOENT, ENOMEM, ENOSPC, EOPNOTSUPP, EPERM,	ESTALE, ETIMEDOUT };

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		ok(accel_strerror(-ours[i]) == accel_strerror(ours[i]));
		ok(strcmp(accel_strerror(-ours[i]), strerror(ours[i])));
		for (size_t j = 0; j < i; j++)
			ok(strcmp(accel_strerror(-ours[i]), accel_strerror(-ours[j])));
	}
	ok(!strcmp(accel_strerror(0), "success"));
	ok(!strcmp(accel_strerror(-EMFILE), strerror(EMFILE)));
	ok(!strcmp(accel_strerror(INT_MIN), "unknown error") &&
	   !strcmp(accel_strerror(INT_MAX), "unknown error"));
}

static void *other_thread(void *arg)
{
	ok(!*accel_last_error());
	refused(accel_device_open(-7, arg), -EINVAL, "-7");
	return NULL;
}

static void test_last_error_is_of_this_thread(void)
{
	struct accel_device *dev, *none;
	pthread_t thread;

	refused(accel_device_open(-5, &dev), -EINVAL, "-5");
	pthread_create(&thread, NULL, other_thread, &none);
	pthread_join(thread, NULL);
	ok(strstr(accel_last_error(), "-5"));
	dev = open_card();
	ok(strstr(accel_last_error(), "-5"));
	expect(accel_device_close(dev), 0);
	refused(accel_device_open(7, &dev), -ENODEV, "7");
	ok(!strstr(accel_last_error(), "-5"));
}

static void test_version(void)
{
	char version[32];

	snprintf(version, sizeof(version), "%d.%d.%d", ACCEL_VERSION_MAJOR, ACCEL_VERSION_MINOR,
		 ACCEL_VERSION_PATCH);
	ok(!strcmp(accel_version(), version));
	ok(accel_version_number() == ACCEL_VERSION);
#if ACCEL_VERSION < ACCEL_MAKE_VERSION(0, 1, 0) || ACCEL_VERSION >= ACCEL_MAKE_VERSION(127, 0, 0)
	ok(!"the preprocessor can compare versions");
#endif
	ok(ACCEL_MAKE_VERSION(0, 255, 255) < ACCEL_MAKE_VERSION(1, 0, 0));
	ok(ACCEL_MAKE_VERSION(1, 2, 255) < ACCEL_MAKE_VERSION(1, 3, 0));
}

int main(void)
{
	RUN(test_every_kind);
	RUN(test_dead_addresses);
	RUN(test_serial_tells_a_new_block_at_an_old_address);
	RUN(test_registered_with_two_cards);
	RUN(test_node);
	RUN(test_strerror);
	RUN(test_last_error_is_of_this_thread);
	RUN(test_version);
	return tap_end();
}
