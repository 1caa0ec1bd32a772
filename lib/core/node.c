/* SPDX-License-Identifier: MIT */
/*
 * The nodes /dev/paccelN: which there are, and why one cannot be opened.
 */
#define _GNU_SOURCE
#include "api.h"
#include "device.h"
#include "error.h"
#include "node.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/paccel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "paccel"
#define DIGITS 9 /* so that neither a number nor NODE_PATH can overflow */

static bool parse_name(const char *name, unsigned int *number)
{
	const char *digits = name + strlen(PREFIX);
	size_t length;

	if (strncmp(name, PREFIX, strlen(PREFIX)))
		return false;
	length = strspn(digits, "0123456789");
	if (!length || length > DIGITS || digits[length] || (digits[0] == '0' && length > 1))
		return false;
	*number = (unsigned int)strtoul(digits, NULL, 10);
	return true;
}

static bool is_node(DIR *dir, const char *name, struct node *node)
{
	struct stat st;

	if (!parse_name(name, &node->number) ||
	    fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISCHR(st.st_mode))
		return false;
	node->rdev = st.st_rdev;
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct node *left = a, *right = b;

	return (left->number > right->number) - (left->number < right->number);
}

static int collect(DIR *dir, struct node **nodes)
{
	struct dirent *entry;
	struct node node, *grown;
	int count = 0;

	while ((entry = readdir(dir))) {
		if (!is_node(dir, entry->d_name, &node))
			continue;
		grown = reallocarray(*nodes, (size_t)count + 1, sizeof(node));
		if (!grown)
			return fail(-ENOMEM, "out of memory");
		*nodes = grown;
		grown[count++] = node;
	}
	return count;
}

int node_scan(struct node **nodes)
{
	DIR *dir = opendir("/dev");
	int count, err = errno;

	*nodes = NULL;
	if (!dir)
		return fail(-err, "cannot read /dev: %s", strerrordesc_np(err));
	count = collect(dir, nodes);
	closedir(dir);
	if (count > 0)
		qsort(*nodes, (size_t)count, sizeof(**nodes), by_number);
	return count;
}

static int no_node(int index, int count)
{
	if (count)
		return fail(-ENODEV, "index is %d: the last device is %d", index, count - 1);
	if (access("/sys/class/paccel", F_OK))
		return fail(-ENODEV, "the driver is not loaded: modprobe paccel");
	return fail(-ENODEV, "the driver is loaded, but there is no device: no /dev/paccelN "
			     "(see lspci, and dmesg for why the driver would not take one)");
}

int node_find(int index, struct node *node)
{
	struct node *nodes;
	int count = node_scan(&nodes);

	if (count > index)
		*node = nodes[index];
	free(nodes);
	if (count < 0)
		return count;
	return count > index ? 0 : no_node(index, count);
}

static int open_failed(const char *path, int err)
{
	struct stat st;

	switch (err) {
	case EACCES:
		if (stat(path, &st))
			return fail(-EACCES, "no permission to open %s", path);
		return fail(
			-EACCES,
			"no permission to open %s: it belongs to user %u and group %u, mode %03o; "
			"join the group, or ask the administrator",
			path, st.st_uid, st.st_gid, st.st_mode & 0777);
	case EPERM: /* in our contract EPERM speaks of fork */
		return fail(-EACCES, "no permission to open %s: it is not on the container's list",
			    path);
	case ENOENT:
	case ENXIO:
	case ENODEV:
		return fail(-ENODEV, "%s was removed just now", path);
	default:
		return fail(-err, "cannot open %s: %s", path, strerrordesc_np(err));
	}
}

void node_path(const struct node *node, char path[NODE_PATH])
{
	snprintf(path, NODE_PATH, "/dev/" PREFIX "%u", node->number);
}

int node_open(const char *path)
{
	int fd;

	do
		fd = open(path, O_RDWR | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? open_failed(path, errno) : fd;
}

/* ---- By name ---- */

static int find_path(const char *path, const struct node *nodes, int count)
{
	struct stat st;

	if (stat(path, &st))
		return errno == ENOENT || errno == ENOTDIR || errno == ENXIO
			       ? fail(-ENODEV, "there is no %s", path)
			       : fail(-errno, "cannot look at %s: %s", path, strerrordesc_np(errno));
	for (int i = 0; i < count && S_ISCHR(st.st_mode); i++)
		if (nodes[i].rdev == st.st_rdev)
			return i;
	return fail(-EINVAL, "%s is none of the nodes /dev/" PREFIX "N", path);
}

/* Whether a node's device has the address; a negative errno if the node cannot be asked. */
static int has_address(const struct node *node, const char *address)
{
	struct paccel_device_info info = { .size = sizeof(info) };
	char path[NODE_PATH];
	int fd, rc;

	node_path(node, path);
	device_move_begin();
	fd = node_open(path);
	rc = fd;
	if (fd >= 0) {
		rc = ioctl(fd, PACCEL_IOC_DEVICE_INFO, &info);
		rc = rc ? fail(-errno, "%s: %s", path, accel_strerror(errno))
			: !strncasecmp(info.bus_addr, address, sizeof(info.bus_addr));
		close(fd);
	}
	device_move_end();
	return rc;
}

#define ADDRESS sizeof(((struct paccel_device_info *)NULL)->bus_addr)

/* As the kernel writes it; as lspci does, the domain may be left out if it is 0. */
static bool parse_address(const char *name, char address[ADDRESS])
{
	unsigned int domain, bus, slot, function;
	int end = 0;

	if (name[strspn(name, "0123456789abcdefABCDEF:.")])
		return false;
	if (sscanf(name, "%8x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) != 4) {
		domain = 0;
		if (sscanf(name, "%2x:%2x.%1x%n", &bus, &slot, &function, &end) != 3)
			return false;
	}
	snprintf(address, ADDRESS, "%04x:%02x:%02x.%x", domain, bus, slot, function);
	return !name[end];
}

static int find_address(const char *name, const struct node *nodes, int count)
{
	char address[ADDRESS];
	int found, err = 0;

	if (!parse_address(name, address))
		return fail(-EINVAL,
			    "name is \"%s\": it has to be a path such as /dev/" PREFIX
			    "0, or a PCI address such as 0000:01:00.0",
			    name);
	for (int i = 0; i < count; i++) {
		found = has_address(&nodes[i], address);
		if (found > 0)
			return i;
		err = found ? found : err;
	}
	return err ? err
		   : fail(-ENODEV, "none of the %d devices has the address %s", count, address);
}

int node_find_name(const char *name, struct node *node)
{
	struct node *nodes;
	int count = node_scan(&nodes), found;

	if (count <= 0) {
		free(nodes);
		return count ? count : no_node(0, 0);
	}
	found = strchr(name, '/') ? find_path(name, nodes, count)
				  : find_address(name, nodes, count);
	if (found >= 0)
		*node = nodes[found];
	free(nodes);
	return found < 0 ? found : 0;
}
