/* SPDX-License-Identifier: MIT */
#ifndef RINGDEV_SOCKETS_H
#define RINGDEV_SOCKETS_H

/*
 * A Unix stream socket that listens, or -1 with errno. A name that begins with @ is one of the
 * abstract name space, which leaves no file. A socket file that nobody serves is replaced.
 */
int socket_listen(const char *name);
/* Removes what socket_listen() has left in the file system. */
void socket_unlink(const char *name);

#endif
