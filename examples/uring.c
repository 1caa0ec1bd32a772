/* SPDX-License-Identifier: MIT */
/*
 * io_uring: the end of a copy becomes a completion.
 *
 * Build: cc uring.c $(pkg-config --cflags --libs accel liburing)
 */
#include <accel/accel.h>
#include <liburing.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, err == -1 ? "io_uring" : accel_last_error());
	exit(1);
}

int main(void)
{
	struct accel_stream *stream;
	struct accel_device *dev;
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	void *card, *host;
	int fence;

	check(accel_device_open(0, &dev), "open");
	check(accel_stream_create(dev, &stream), "stream");
	check(accel_device_memory_allocate(dev, &card, 1000), "allocate");
	check(accel_host_memory_allocate(dev, &host, 1000), "host memory");
	check(accel_async_device_memory_set(dev, stream, card, 'u', 1000), "fill");
	check(accel_async_memory_copy_d2h(dev, stream, host, card, 1000), "copy");

	/* A sync_file that signals the end of all queued operations. An eventfd works too. */
	check(accel_stream_export_fence(stream, &fence), "fence");
	check(io_uring_queue_init(8, &ring, 0) ? -1 : 0, "set up");
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_poll_add(sqe, fence, POLLIN);
	io_uring_sqe_set_data(sqe, host);
	check(io_uring_submit(&ring) == 1 ? 0 : -1, "submit");
	check(io_uring_wait_cqe(&ring, &cqe) ? -1 : 0, "wait");
	printf("the copy is done, the last byte is %c\n",
	       ((char *)io_uring_cqe_get_data(cqe))[999]);
	io_uring_cqe_seen(&ring, cqe);

	io_uring_queue_exit(&ring);
	close(fence);
	check(accel_device_close(dev), "close");
	return 0;
}
