/* SPDX-License-Identifier: MIT */
/*
 * Devices: which there are, and which one a user means. A device has the number of its node
 * /dev/paccelN, so that the number of a device does not change when another one is removed.
 */
#include "accelctl.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSFS "/sys/class/paccel"
#define NAME "paccel"
#define DIGITS 9 /* as the library: a number cannot overflow */

static bool parse_number(const char *text, unsigned int *number)
{
	size_t length = strspn(text, "0123456789");

	if (!length || length > DIGITS || text[length] || (text[0] == '0' && length > 1))
		return false;
	*number = (unsigned int)strtoul(text, NULL, 10);
	return true;
}

static bool parse_name(const char *text, unsigned int *number)
{
	return !strncmp(text, NAME, strlen(NAME)) && parse_number(text + strlen(NAME), number);
}

static int by_number(const void *a, const void *b)
{
	unsigned int left = *(const unsigned int *)a, right = *(const unsigned int *)b;

	return (left > right) - (left < right);
}

static int devices_in(const char *folder, bool nodes, unsigned int **numbers)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	unsigned int number;
	struct stat st;
	int count = 0;

	*numbers = NULL;
	while (dir && (entry = readdir(dir))) {
		if (!parse_name(entry->d_name, &number))
			continue;
		/* The library passes over what is no character device, too. */
		if (nodes && (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
			      !S_ISCHR(st.st_mode)))
			continue;
		*numbers = xrealloc(*numbers, ((size_t)count + 1) * sizeof(number));
		(*numbers)[count++] = number;
	}
	if (dir)
		closedir(dir);
	if (count)
		qsort(*numbers, (size_t)count, sizeof(number), by_number);
	return count;
}

int devices_in_dev(unsigned int **numbers)
{
	return devices_in("/dev", true, numbers);
}

int devices_in_sysfs(unsigned int **numbers)
{
	return devices_in(SYSFS, false, numbers);
}

/* ---- sysfs ---- */

bool file_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

bool file_line(const char *path, char *text, size_t size)
{
	bool good = file_read(path, text, size);

	text[strcspn(text, "\n")] = 0;
	return good;
}

bool file_field(const char *text, const char *key, char *value, size_t size)
{
	const char *at = strstr(text, key);

	*value = 0;
	while (at && at > text && at[-1] != '\n')
		at = strstr(at + 1, key);
	if (!at)
		return false;
	at += strlen(key);
	at += strspn(at, " \t");
	snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
	return true;
}

bool device_attribute(unsigned int number, const char *name, char *text, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), SYSFS "/" NAME "%u/%s", number, name);
	return file_line(path, text, size);
}

bool pci_address(const char *folder, char *text, size_t size)
{
	char path[512], uevent[1024];

	snprintf(path, sizeof(path), "%s/uevent", folder);
	file_read(path, uevent, sizeof(uevent));
	return file_field(uevent, "PCI_SLOT_NAME=", text, size);
}

bool device_bus_address(unsigned int number, char *text, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), SYSFS "/" NAME "%u/device", number);
	return pci_address(path, text, size);
}

/* ---- A device by its name ---- */

/* Up to so many hexadecimal digits and the character @end; @text is then what follows. */
static bool parse_hex(const char **text, size_t digits, char end, unsigned int *number)
{
	size_t length = strspn(*text, "0123456789abcdefABCDEF");

	if (!length || length > digits || (*text)[length] != end)
		return false;
	*number = (unsigned int)strtoul(*text, NULL, 16);
	*text += length + 1;
	return true;
}

/* "0000:01:00.0", or without the domain; a colon is in no other name of a device. */
static bool parse_address(const char *text, char address[16])
{
	unsigned int domain = 0, bus, slot, function;
	bool has_domain = strchr(text, ':') != strrchr(text, ':');

	if ((has_domain && !parse_hex(&text, 4, ':', &domain)) || !parse_hex(&text, 2, ':', &bus) ||
	    !parse_hex(&text, 2, '.', &slot) || !parse_hex(&text, 1, 0, &function) || slot > 0x1f ||
	    function > 7)
		return false;
	snprintf(address, 16, "%04x:%02x:%02x.%x", domain & 0xffff, bus & 0xff, slot, function);
	return true;
}

static bool find_address(const char *command, const char *wanted, unsigned int *number)
{
	unsigned int *numbers;
	int count = devices_in_sysfs(&numbers);
	char address[32];
	bool found = false;

	for (int i = 0; i < count && !found; i++) {
		*number = numbers[i];
		found = device_bus_address(*number, address, sizeof(address)) &&
			!strcmp(address, wanted);
	}
	free(numbers);
	if (!found)
		complain(
			"%s: there is no device at PCI address %s: accelctl list shows the devices",
			command, wanted);
	return found;
}

bool device_parse_node(const char *path, unsigned int *number)
{
	return !strncmp(path, "/dev/", 5) && parse_name(path + 5, number);
}

/* A link to a node, such as those in /dev/paccel/by-path. */
static bool parse_link(const char *text, unsigned int *number)
{
	char *node = strchr(text, '/') ? realpath(text, NULL) : NULL;
	bool found = node && device_parse_node(node, number);

	free(node);
	return found;
}

bool device_parse(const char *command, const char *text, unsigned int *number)
{
	const char *name = strncmp(text, "/dev/", 5) ? text : text + 5;
	char address[16];

	if (parse_number(text, number) || parse_name(name, number) || parse_link(text, number))
		return true;
	if (parse_address(text, address))
		return find_address(command, address, number);
	complain("%s: '%s' is no device: give a number (0), a node (/dev/paccel0) or a PCI address "
		 "(0000:01:00.0)",
		 command, text);
	return false;
}

int no_devices(void)
{
	struct accel_device *dev;

	/* Why there are none is what opening the first one says. */
	if (accel_device_open(0, &dev))
		return complain("%s", accel_last_error());
	accel_device_close(dev);
	return complain("there was no device just now");
}

static void no_such_device(const char *command, unsigned int number, const unsigned int *numbers,
			   int count)
{
	char list[128] = "";
	size_t length = 0;

	for (int i = 0; i < count && length + 16 < sizeof(list); i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%u",
					   i ? ", " : "", numbers[i]);
	complain("%s: there is no device %u: there %s %s", command, number,
		 count > 1 ? "are" : "is", list);
}

int devices_choose(const char *command, const struct options *options,
		   int (*find)(unsigned int **numbers), unsigned int **numbers)
{
	int count = find(numbers), at = 0;

	if (!count)
		no_devices();
	if (!count || !options->has_device)
		return count;
	while (at < count && (*numbers)[at] != options->device)
		at++;
	if (at == count) {
		no_such_device(command, options->device, *numbers, count);
		return 0;
	}
	(*numbers)[0] = options->device;
	return 1;
}

int device_choose(const char *command, const struct options *options, unsigned int *number)
{
	unsigned int *numbers;
	int count = devices_choose(command, options, devices_in_dev, &numbers);

	if (count)
		*number = numbers[0];
	free(numbers);
	return count ? DONE : FAILED;
}

int devices_show(const char *command, const struct options *options,
		 int (*find)(unsigned int **numbers), const char *header,
		 int (*show)(unsigned int number, struct json_object **json))
{
	bool is_array = options->json && !options->has_device;
	struct json_object *array = is_array ? json_object_new_array() : NULL, *value;
	unsigned int *numbers;
	int count = devices_choose(command, options, find, &numbers);
	int status = count ? DONE : FAILED;

	if (count && header && !options->json)
		puts(header);
	for (int i = 0; i < count; i++) {
		value = NULL;
		if (show(numbers[i], options->json ? &value : NULL))
			status = FAILED;
		if (value && array)
			json_object_array_add(array, value);
		else if (value)
			json_print(value);
	}
	if (array)
		json_print(array);
	free(numbers);
	return status;
}

int device_try(unsigned int number, struct accel_device **dev, struct accel_device_info *info)
{
	char path[32];

	snprintf(path, sizeof(path), "/dev/paccel%u", number);
	if (accel_device_open_name(path, dev))
		return FAILED;
	if (!accel_device_get_info(*dev, info))
		return DONE;
	accel_device_close(*dev);
	return FAILED;
}

int device_open(const char *command, unsigned int number, struct accel_device **dev,
		struct accel_device_info *info)
{
	return device_try(number, dev, info) ? complain_last(command) : DONE;
}
