/* SPDX-License-Identifier: MIT */
/*
 * Two processes share device memory: its dma-buf is passed over a socket.
 *
 * Build: cc share.c $(pkg-config --cflags --libs accel)
 */
#include <accel/accel.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sends a descriptor, or receives one: SCM_RIGHTS, see unix(7). */
static int pass(int socket, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	char byte = 0;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { NULL, 0, &data, 1, &control, sizeof(control), 0 };

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if ((fd < 0 ? recvmsg(socket, &message, 0) : sendmsg(socket, &message, 0)) != 1)
		return -1;
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

static int run(int socket, int child)
{
	char text[32] = "written by the other process", back[32];
	struct accel_device *dev;
	size_t size;
	void *ptr;
	int fd;

	/* Each process opens the device itself: a child cannot use the handle of its parent. */
	if (accel_device_open(0, &dev))
		return 1;
	if (child)
		return accel_memory_import(dev, pass(socket, -1), &ptr, &size) ||
		       accel_memory_copy(ptr, text, 32);
	if (accel_device_memory_allocate(dev, &ptr, 32) || accel_memory_export(dev, ptr, &fd) ||
	    pass(socket, fd) < 0 || wait(NULL) < 0 || accel_memory_copy(back, ptr, 32))
		return 1;
	printf("%s\n", back);
	return accel_device_close(dev);
}

int main(void)
{
	int sockets[2], err = socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), child = !err && !fork();

	if (err || run(sockets[child], child))
		fprintf(stderr, "%s\n", accel_last_error());
	return err;
}
