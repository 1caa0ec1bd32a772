/* SPDX-License-Identifier: MIT */
/*
 * accelctl reset, quota, dump: what an administrator does with a device.
 */
#include "accelctl.h"
#include "clients.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reset ---- */

/* FAILED after an error message if other processes have the device open. */
static int check_unused(unsigned int number)
{
	char pids[128] = "";
	struct client *clients;
	int count = clients_read(&clients);
	size_t length = 0;

	for (int i = 0; i < count; i++)
		if (clients[i].device == number && length + 16 < sizeof(pids))
			length += (size_t)snprintf(pids + length, sizeof(pids) - length, "%s%d",
						   length ? ", " : "", clients[i].pid);
	free(clients);
	if (!length)
		return DONE;
	return complain("reset: device %u is in use by process %s: a reset fails the work in "
			"flight, and may lose the contents of device memory; --force resets it",
			number, pids);
}

static int reset(unsigned int number)
{
	struct accel_device_info info;
	struct accel_device *dev;
	int status = device_open("reset", number, &dev, &info);

	if (status)
		return status;
	if (accel_device_reset(dev))
		status = complain_last("reset");
	accel_device_close(dev);
	return status;
}

int command_reset(const struct options *options)
{
	unsigned int number;
	char health[32];
	int status = device_choose("reset", options, &number);

	if (!status && !options->force)
		status = check_unused(number);
	if (!status)
		status = reset(number);
	if (status)
		return status;
	device_attribute(number, "health", health, sizeof(health));
	printf("device %u was reset: health is %s\n", number, *health ? health : "unknown");
	return DONE;
}

/* ---- quota ---- */

struct quota {
	unsigned int number;
	uint64_t max_user_bytes, memory_size;
};

static bool quota_read(struct quota *quota, unsigned int number)
{
	char text[32];
	bool good = device_attribute(number, "max_user_bytes", text, sizeof(text));

	quota->number = number;
	quota->max_user_bytes = strtoull(text, NULL, 10);
	device_attribute(number, "mem_size", text, sizeof(text));
	quota->memory_size = strtoull(text, NULL, 10);
	return good;
}

static void quota_print(const struct quota *quota)
{
	if (quota->max_user_bytes)
		printf("device %u: each user may allocate %" PRIu64 " of %" PRIu64 " bytes\n",
		       quota->number, quota->max_user_bytes, quota->memory_size);
	else
		printf("device %u: no quota, %" PRIu64 " bytes of memory\n", quota->number,
		       quota->memory_size);
}

static struct json_object *quota_json(const struct quota *quota)
{
	struct json_object *object = json_device(quota->number, NULL);

	json_add_number(object, "max_user_bytes", quota->max_user_bytes);
	json_add_number(object, "memory_size", quota->memory_size);
	return object;
}

static int quota_set(unsigned int number, uint64_t bytes)
{
	char path[96], text[24];
	int fd, length, err = 0;

	snprintf(path, sizeof(path), "/sys/class/paccel/paccel%u/max_user_bytes", number);
	length = snprintf(text, sizeof(text), "%" PRIu64, bytes);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)length) != length)
		err = errno;
	if (fd >= 0)
		close(fd);
	return err ? complain("quota: cannot write %s: %s%s", path, strerror(err),
			      err == EACCES ? ": it requires root" : "") :
		     DONE;
}

static int quota_show(unsigned int number, struct json_object **json)
{
	struct quota quota;

	if (!quota_read(&quota, number))
		return complain("quota: device %u was removed just now", number);
	if (json)
		*json = quota_json(&quota);
	else
		quota_print(&quota);
	return DONE;
}

int command_quota(const struct options *options)
{
	unsigned int number;

	/* What changes a device is not for the first one by default. */
	if (options->has_size && !options->has_device) {
		complain("quota: DEVICE is missing, which --set requires");
		return USAGE;
	}
	if (options->has_size && (device_choose("quota", options, &number) ||
				  quota_set(number, options->size)))
		return FAILED;
	return devices_show("quota", options, devices_in_sysfs, NULL, quota_show);
}

/* ---- dump ---- */

#define DUMPS "/sys/class/devcoredump"

/* The file with the core dump of the device at a PCI address. */
static bool find_dump(const char *wanted, char *path, size_t size)
{
	DIR *dir = opendir(DUMPS);
	struct dirent *entry;
	bool found = false;
	char address[32];

	while (dir && !found && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "devcd", 5))
			continue;
		snprintf(path, size, DUMPS "/%.32s/failing_device", entry->d_name);
		found = pci_address(path, address, sizeof(address)) && !strcmp(address, wanted);
		snprintf(path, size, DUMPS "/%.32s/data", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Returns the bytes that were copied, or a negative errno. */
static int64_t copy_dump(int from, int to)
{
	char block[4096];
	int64_t bytes = 0;
	ssize_t n;

	while ((n = read(from, block, sizeof(block))) > 0) {
		for (ssize_t done = 0, wrote; done < n; done += wrote) {
			wrote = write(to, block + done, (size_t)(n - done));
			if (wrote < 0)
				return -errno;
		}
		bytes += n;
	}
	return n < 0 ? -errno : bytes;
}

static int delete_dump(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, "1", 1) == 1;
	int err = errno;

	if (fd >= 0)
		close(fd);
	return good ? DONE : complain("dump: cannot delete %s: %s", path, strerror(err));
}

/* A file that exists is not replaced. */
static int open_output(const char *name)
{
	int fd;

	if (!strcmp(name, "-"))
		return STDOUT_FILENO;
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		complain("dump: cannot create %s: %s", name, strerror(errno));
	return fd;
}

static int save_dump(const char *path, const char *name)
{
	int from = open(path, O_RDONLY | O_CLOEXEC), to;
	int64_t bytes;

	if (from < 0)
		return complain("dump: cannot open %s: %s", path, strerror(errno));
	to = open_output(name);
	if (to < 0) {
		close(from);
		return FAILED;
	}
	bytes = copy_dump(from, to);
	close(from);
	if (to != STDOUT_FILENO && close(to) && bytes >= 0)
		bytes = -errno;
	if (bytes >= 0 && to != STDOUT_FILENO)
		printf("%s: %" PRId64 " bytes\n", visible(name), bytes);
	if (bytes >= 0)
		return DONE;
	if (to != STDOUT_FILENO)
		unlink(name);
	return complain("dump: cannot write %s: %s", name, strerror((int)-bytes));
}

int command_dump(const struct options *options)
{
	char address[32], path[128], name[32];
	const char *output = options->output ? options->output : name;
	unsigned int number;
	int status = device_choose("dump", options, &number);

	if (status)
		return status;
	device_bus_address(number, address, sizeof(address));
	if (!*address || !find_dump(address, path, sizeof(path)))
		return complain("dump: there is no core dump of device %u: the driver records one "
				"when an engine hangs or the device goes out of service, and the "
				"kernel keeps it for five minutes",
				number);
	snprintf(name, sizeof(name), "paccel%u.dump", number);
	status = save_dump(path, output);
	return !status && options->delete ? delete_dump(path) : status;
}
