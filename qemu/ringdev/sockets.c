// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "sockets.h"

#define BACKLOG	4

/* The length for bind(), or 0. */
static socklen_t make_address(const char *name, struct sockaddr_un *address)
{
	size_t len = strlen(name);

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (len >= sizeof(address->sun_path) || !len) {
		errno = ENAMETOOLONG;
		return 0;
	}
	memcpy(address->sun_path, name, len);
	if (*name != '@')
		return sizeof(*address);
	address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

/* A name that is left from a process that was killed is taken over; nothing else is. */
static int bind_again(int fd, const struct sockaddr_un *address, socklen_t len)
{
	int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat status;
	bool refused;

	/* A file that is no socket refuses connections, too. */
	refused = !lstat(address->sun_path, &status) && S_ISSOCK(status.st_mode) &&
		  connect(probe, (const struct sockaddr *)address, len) && errno == ECONNREFUSED;
	close(probe);
	errno = EADDRINUSE;
	if (!refused || unlink(address->sun_path))
		return -1;
	return bind(fd, (const struct sockaddr *)address, len);
}

int socket_listen(const char *name)
{
	struct sockaddr_un address;
	socklen_t len = make_address(name, &address);
	int fd = len ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1, error;

	if (fd < 0)
		return -1;
	error = bind(fd, (const struct sockaddr *)&address, len);
	if (error && errno == EADDRINUSE)
		error = bind_again(fd, &address, len);
	if (!error && !listen(fd, BACKLOG))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

void socket_unlink(const char *name)
{
	if (*name != '@')
		unlink(name);
}
