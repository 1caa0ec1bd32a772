// SPDX-License-Identifier: MIT
/*
 * ringdev: the ring card behind QEMU's ivshmem-doorbell. `ringdev --help`; the hardware is
 * specified in Documentation/ringdev.md.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "control.h"
#include "options.h"
#include "port.h"
#include "sockets.h"

#define MAX_FDS	(2 + CONTROL_CLIENTS + RING_MAX_CARDS * (2 + RING_MAX_VECTORS))

struct process {
	struct options options;
	struct ring_bus bus;
	struct port ports[RING_MAX_CARDS];
	struct control control;
	int signals;
};

/* One process is one of these; it is too large for the stack. */
static struct process process;

/* --- setting up --------------------------------------------------------------------------- */

static bool say(const char *what, const char *name)
{
	fprintf(stderr, "ringdev: %s %s: %s\n", what, name, strerror(errno));
	return false;
}

static bool open_port(struct process *p, unsigned int number)
{
	struct port *port = &p->ports[number];
	const struct options *o = &p->options;
	struct ring_config config;

	*port = (struct port){
		.file = options_ram(&p->options, number), .vectors = o->engines + 1,
		.bar_fd = -1, .listener = -1, .client = -1, .next = RING_NEVER,
	};
	memset(port->doorbell, -1, sizeof(port->doorbell));
	memset(port->interrupt, -1, sizeof(port->interrupt));
	if (!port_make_bar(port, o->memory))
		return say("memory of", "the card");
	config = (struct ring_config){
		.bar = port->bar, .bar_size = port->bar_size, .engines = o->engines,
		.rate = o->rate, .latency = o->latency, .seed = o->seed,
		.ops = &port_ops, .owner = port,
	};
	port->card = ring_card_create(&p->bus, &config);
	if (!port->card)
		return say("memory of", "the model");
	port->listener = socket_listen(o->sockets[number]);
	return port->listener >= 0 || say("--socket", o->sockets[number]);
}

static bool open_control(struct process *p)
{
	const char *name = p->options.control;

	p->control.listener = -1;
	for (unsigned int i = 0; i < CONTROL_CLIENTS; i++)
		p->control.clients[i].fd = -1;
	if (!name)
		return true;
	p->control.listener = socket_listen(name);
	return p->control.listener >= 0 || say("--control", name);
}

static bool start_storm(struct process *p)
{
	char line[64], reply[128];

	for (unsigned int i = 0; p->options.storm && i < p->options.cards; i++) {
		snprintf(line, sizeof(line), "storm every=%llu card=%u",
			 (unsigned long long)p->options.storm, i);
		ring_command(&p->bus, line, reply, sizeof(reply));
		if (strcmp(reply, "ok")) {
			fprintf(stderr, "ringdev: --storm: %s\n", reply);
			return false;
		}
	}
	return true;
}

/* Signals come as data, so that sockets in the file system can be removed. */
static bool open_signals(struct process *p)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	p->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return p->signals >= 0 || say("signals", "");
}

static bool open_all(struct process *p)
{
	for (unsigned int i = 0; i < p->options.cards; i++)
		if (!open_port(p, i))
			return false;
	return open_control(p) && start_storm(p) && open_signals(p);
}

static void close_all(struct process *p)
{
	for (unsigned int i = 0; i < p->options.cards; i++)
		if (p->ports[i].listener >= 0)
			socket_unlink(p->options.sockets[i]);
	if (p->options.control && p->control.listener >= 0)
		socket_unlink(p->options.control);
}

/* --- waiting and serving ---------------------------------------------------------------------- */

/* What a descriptor is, in the order in which collect() puts them. */
struct poll_set {
	struct pollfd fds[MAX_FDS];
	nfds_t count;
};

/* Negative ones stay in their places and are ignored by poll(). */
static void add(struct poll_set *set, int fd)
{
	set->fds[set->count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static void collect(const struct process *p, struct poll_set *set)
{
	set->count = 0;
	add(set, p->signals);
	add(set, p->control.listener);
	for (unsigned int i = 0; i < CONTROL_CLIENTS; i++)
		add(set, p->control.clients[i].fd);
	for (unsigned int i = 0; i < p->options.cards; i++) {
		const struct port *port = &p->ports[i];

		add(set, port->client);
		for (unsigned int n = 0; n < port->vectors; n++)
			add(set, port->doorbell[n]);
		add(set, port->listener);
	}
}

static int wait_for_work(const struct process *p, struct poll_set *set)
{
	uint64_t soonest = RING_NEVER, now = port_ops.now(NULL);
	struct timespec limit = { 0, 0 };

	for (unsigned int i = 0; i < p->options.cards; i++)
		if (p->ports[i].next < soonest)
			soonest = p->ports[i].next;
	if (soonest > now) {
		limit.tv_sec = (time_t)((soonest - now) / 1000000000u);
		limit.tv_nsec = (long)((soonest - now) % 1000000000u);
	}
	return ppoll(set->fds, set->count, soonest == RING_NEVER ? NULL : &limit, NULL);
}

/* Returns where the next port begins. */
static struct pollfd *serve_port(struct port *port, struct pollfd *fd, bool ordered)
{
	bool rang = ordered;
	bool gone = false;
	char byte;

	/* QEMU has nothing to say to us but good-bye. */
	if (fd->revents)
		gone = read(fd->fd, &byte, 1) == 0 || fd->revents & (POLLHUP | POLLERR);
	fd++;
	for (unsigned int n = 0; n < port->vectors; n++, fd++)
		rang |= fd->revents && port_take_doorbell(port, n);
	if (gone)
		port_hang_up(port);
	if (fd++->revents)
		port_accept(port);
	if (rang || port->next <= port_ops.now(port))
		port_run(port);
	return fd;
}

/* false: a signal has told us to end. */
static bool serve(struct process *p, struct poll_set *set)
{
	struct pollfd *fd = set->fds;
	bool ordered = false;

	if (fd++->revents)
		return false;
	if (fd++->revents)
		control_accept(&p->control);
	for (unsigned int i = 0; i < CONTROL_CLIENTS; i++, fd++)
		if (fd->revents)
			ordered |= control_serve(&p->control, i, &p->bus);
	/* As a machine that loses power: no good-bye to anybody. */
	if (p->bus.die)
		raise(SIGKILL);
	for (unsigned int i = 0; i < p->options.cards; i++)
		fd = serve_port(&p->ports[i], fd, ordered);
	return true;
}

static void loop(struct process *p)
{
	struct poll_set set;

	do {
		collect(p, &set);
		if (wait_for_work(p, &set) < 0)
			for (nfds_t i = 0; i < set.count; i++)
				set.fds[i].revents = 0;
	} while (serve(p, &set));
}

int main(int argc, char **argv)
{
	int status = options_parse(&process.options, argc, argv);
	bool good;

	if (status >= 0)
		return status;
	/* Latencies are of microseconds; the default slack is fifty of them. */
	prctl(PR_SET_TIMERSLACK, 1);
	good = open_all(&process);
	if (good) {
		puts("ready");
		fflush(stdout);
		loop(&process);
	}
	close_all(&process);
	return good ? 0 : 1;
}
