/* SPDX-License-Identifier: MIT */
/*
 * accelctl top: the processes that use devices, from fdinfo.
 */
#include "accelctl.h"
#include "clients.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A process on one device: the sum of its contexts, and per second what they did in an interval. */
struct process {
	int pid;
	unsigned int device;
	char bus_address[32], user[32], command[64];
	uint64_t memory, host;
	double busy; /* percent of the time of all engines */
	double h2d, d2h, d2d, filled;
};

static void process_describe(struct process *process)
{
	char path[64], text[4096], uid[64];
	struct passwd *user;

	snprintf(path, sizeof(path), "/proc/%d/comm", process->pid);
	file_line(path, process->command, sizeof(process->command));
	snprintf(path, sizeof(path), "/proc/%d/status", process->pid);
	file_read(path, text, sizeof(text));
	if (!file_field(text, "Uid:", uid, sizeof(uid)))
		return;
	uid[strcspn(uid, "\t ")] = 0;
	user = getpwuid((uid_t)strtoul(uid, NULL, 10));
	snprintf(process->user, sizeof(process->user), "%.31s", user ? user->pw_name : uid);
}

static const struct client *client_before(const struct client *before, int count,
					  const struct client *client)
{
	static const struct client opened_since;

	for (int i = 0; i < count; i++)
		if (before[i].id == client->id &&
		    !strcmp(before[i].bus_address, client->bus_address))
			return &before[i];
	return &opened_since;
}

static void process_add(struct process *process, const struct client *now,
			const struct client *before, double seconds)
{
	double engines = now->engines ? (double)now->engines : 1;

	process->memory += now->memory;
	process->host += now->host;
	process->busy += (double)(now->busy_ns - before->busy_ns) / (seconds * 1e7 * engines);
	process->h2d += (double)(now->h2d - before->h2d) / seconds;
	process->d2h += (double)(now->d2h - before->d2h) / seconds;
	process->d2d += (double)(now->d2d - before->d2d) / seconds;
	process->filled += (double)(now->filled - before->filled) / seconds;
}

static int by_use(const void *a, const void *b)
{
	const struct process *left = a, *right = b;

	if (left->busy != right->busy)
		return left->busy < right->busy ? 1 : -1;
	if (left->memory != right->memory)
		return left->memory < right->memory ? 1 : -1;
	return left->pid - right->pid;
}

/* An array to be freed, the busiest first. */
static struct process *processes_of(const struct options *options, const struct client *now,
				    int now_count, const struct client *before, int before_count,
				    double seconds, int *count)
{
	struct process *processes = NULL;
	unsigned int device;
	int at;

	*count = 0;
	for (int i = 0; i < now_count; i++) {
		device = now[i].device;
		if (options->has_device && device != options->device)
			continue;
		for (at = 0; at < *count; at++)
			if (processes[at].pid == now[i].pid && processes[at].device == device)
				break;
		if (at == *count) {
			processes = xrealloc(processes, ((size_t)at + 1) * sizeof(*processes));
			processes[(*count)++] =
				(struct process){ .pid = now[i].pid, .device = device };
			memcpy(processes[at].bus_address, now[i].bus_address,
			       sizeof(now[i].bus_address));
			process_describe(&processes[at]);
		}
		process_add(&processes[at], &now[i], client_before(before, before_count, &now[i]),
			    seconds);
	}
	if (*count)
		qsort(processes, (size_t)*count, sizeof(*processes), by_use);
	return processes;
}

static void print_json(const struct process *processes, int count, double seconds)
{
	struct json_object *object = json_object_new_object(), *array = json_object_new_array();
	char time[48];

	time_text(time);
	json_add_text(object, "time", time);
	json_add_real(object, "seconds", seconds);
	json_add(object, "processes", array);
	for (int i = 0; i < count; i++) {
		const struct process *process = &processes[i];
		struct json_object *entry = json_device(process->device, NULL);

		json_add_text(entry, "bus_address", process->bus_address);
		json_add_number(entry, "pid", (uint64_t)process->pid);
		json_add_text(entry, "user", process->user);
		json_add_text(entry, "command", process->command);
		json_add_number(entry, "device_memory", process->memory);
		json_add_number(entry, "host_memory", process->host);
		json_add_real(entry, "busy_percent", process->busy);
		json_add_real(entry, "h2d_per_second", process->h2d);
		json_add_real(entry, "d2h_per_second", process->d2h);
		json_add_real(entry, "d2d_per_second", process->d2d);
		json_add_real(entry, "filled_per_second", process->filled);
		json_object_array_add(array, entry);
	}
	json_print(object);
}

/* On a terminal in place, and as many as fit; elsewhere one table after the other. */
static void print_table(const struct process *processes, int count)
{
	bool in_place = is_terminal();
	struct winsize window = { 0 };

	if (in_place && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) && window.ws_row > 3 &&
	    count > window.ws_row - 3)
		count = window.ws_row - 3;
	if (in_place)
		fputs("\033[H\033[J", stdout);
	printf("%s%7s %-10s %6s %10s %10s %6s %10s %10s %10s %10s %s%s\n", colour(BOLD), "PID",
	       "USER", "DEVICE", "DEVICE MEM", "HOST MEM", "BUSY %", "H2D/s", "D2H/s", "D2D/s", "FILLED/s",
	       "COMMAND", colour(PLAIN));
	for (int i = 0; i < count; i++) {
		const struct process *process = &processes[i];

		printf("%7d %-10.10s %6u %10s %10s %6.1f %10s %10s %10s %10s %s\n", process->pid,
		       process->user, process->device, size_text((double)process->memory),
		       size_text((double)process->host), process->busy, size_text(process->h2d),
		       size_text(process->d2h), size_text(process->d2d), size_text(process->filled),
		       visible(process->command));
	}
	if (!count)
		puts("no process has a device open");
}

int command_top(const struct options *options)
{
	struct client *before, *now;
	int before_count, now_count, count;
	struct process *processes;
	struct timespec next;
	double last, time;
	unsigned int number;

	if (options->has_device && device_choose("top", options, &number))
		return FAILED;
	before_count = clients_read(&before);
	last = time_now();
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (unsigned long row = 0; !options->count || row < options->count; row++) {
		time_wait(&next, options->interval);
		now_count = clients_read(&now);
		time = time_now();
		processes = processes_of(options, now, now_count, before, before_count, time - last,
					 &count);
		if (options->json)
			print_json(processes, count, time - last);
		else
			print_table(processes, count);
		free(processes);
		free(before);
		before = now;
		before_count = now_count;
		last = time;
		if (fflush(stdout))
			break;
	}
	free(before);
	return DONE;
}
