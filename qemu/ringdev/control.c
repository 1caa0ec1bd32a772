// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.h"

void control_accept(struct control *control)
{
	int fd = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	for (unsigned int i = 0; i < CONTROL_CLIENTS; i++) {
		if (control->clients[i].fd >= 0)
			continue;
		control->clients[i].fd = fd;
		control->clients[i].used = 0;
		return;
	}
	close(fd);
}

static void hang_up(struct control *control, unsigned int client)
{
	close(control->clients[client].fd);
	control->clients[client].fd = -1;
}

static bool answer(int fd, const char *line, struct ring_bus *bus)
{
	char reply[256 + 1];
	size_t len;

	ring_command(bus, line, reply, sizeof(reply) - 1);
	len = strlen(reply);
	reply[len++] = '\n';
	/* Who sends without reading is cut off. */
	return send(fd, reply, len, MSG_NOSIGNAL) == (ssize_t)len;
}

bool control_serve(struct control *control, unsigned int client, struct ring_bus *bus)
{
	char *text = control->clients[client].text, *end;
	size_t *used = &control->clients[client].used;
	int fd = control->clients[client].fd;
	ssize_t got = recv(fd, text + *used, sizeof(control->clients[0].text) - *used, 0);
	bool good = got > 0 || (got < 0 && errno == EAGAIN), any = false;

	*used += got > 0 ? (size_t)got : 0;
	while (good && (end = memchr(text, '\n', *used))) {
		*end++ = '\0';
		good = answer(fd, text, bus);
		any = true;
		*used -= (size_t)(end - text);
		memmove(text, end, *used);
	}
	if (!good || *used == sizeof(control->clients[0].text))
		hang_up(control, client);
	return any;
}
