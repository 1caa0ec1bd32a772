/* SPDX-License-Identifier: MIT */
/*
 * Which processes use a device, and how much: from fdinfo, where each context has a number. A
 * process sees those of other users only as root.
 */
#include "accelctl.h"
#include "clients.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t number_of(const char *text, const char *key)
{
	char value[32];

	file_field(text, key, value, sizeof(value));
	return strtoull(value, NULL, 10);
}

/* False for a file of another driver. */
static bool client_parse(const char *path, struct client *client)
{
	char text[4096], driver[16];

	if (!file_read(path, text, sizeof(text)) ||
	    !file_field(text, "drm-driver:", driver, sizeof(driver)) || strcmp(driver, "paccel"))
		return false;
	file_field(text, "drm-pdev:", client->bus_address, sizeof(client->bus_address));
	client->id = number_of(text, "drm-client-id:");
	client->busy_ns = number_of(text, "drm-engine-dma:");
	client->engines = number_of(text, "drm-engine-capacity-dma:");
	client->memory = number_of(text, "drm-total-device:");
	client->host = number_of(text, "drm-total-host:");
	client->h2d = number_of(text, "paccel-bytes-h2d:");
	client->d2h = number_of(text, "paccel-bytes-d2h:");
	client->d2d = number_of(text, "paccel-bytes-d2d:");
	client->filled = number_of(text, "paccel-bytes-filled:");
	return true;
}

/* A file that was duplicated or inherited is one client, of the process with the lowest number. */
static bool is_known(struct client *clients, int count, const struct client *client)
{
	for (int i = 0; i < count; i++) {
		if (clients[i].id != client->id ||
		    strcmp(clients[i].bus_address, client->bus_address))
			continue;
		if (client->pid < clients[i].pid)
			clients[i].pid = client->pid;
		return true;
	}
	return false;
}

/*
 * The number is that in the name of the node that was opened: after a device was removed, a new one
 * may have its PCI address. Where the node has another name, the PCI address has to do.
 */
static bool find_device(const char *link, struct client *client)
{
	unsigned int *numbers;
	char address[32], target[64];
	ssize_t length = readlink(link, target, sizeof(target) - 1);
	bool found = false;
	int count;

	target[length > 0 ? length : 0] = 0;
	if (device_parse_node(target, &client->device))
		return true;
	if (strstr(target, " (deleted)"))
		return false;
	count = devices_in_sysfs(&numbers);
	for (int i = 0; i < count && !found; i++) {
		client->device = numbers[i];
		found = device_bus_address(numbers[i], address, sizeof(address)) &&
			!strcmp(address, client->bus_address);
	}
	free(numbers);
	return found;
}

static void read_process(int pid, struct client **clients, int *count)
{
	struct client client = { .pid = pid };
	struct dirent *entry;
	char path[320];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, entry->d_name);
		if (entry->d_name[0] == '.' || !client_parse(path, &client) ||
		    is_known(*clients, *count, &client))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, entry->d_name);
		if (!find_device(path, &client))
			continue;
		*clients = xrealloc(*clients, ((size_t)*count + 1) * sizeof(client));
		(*clients)[(*count)++] = client;
	}
	if (dir)
		closedir(dir);
}

int clients_of(int pid, struct client **clients)
{
	int count = 0;

	*clients = NULL;
	read_process(pid, clients, &count);
	return count;
}

int clients_read(struct client **clients)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int count = 0, pid;

	*clients = NULL;
	while (dir && (entry = readdir(dir))) {
		pid = atoi(entry->d_name);
		if (pid > 0)
			read_process(pid, clients, &count);
	}
	if (dir)
		closedir(dir);
	return count;
}
