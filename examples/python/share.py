#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two processes: the child's device writes into page-locked memory of the parent.

Processes that are not related pass the descriptor by socket.send_fds() and socket.recv_fds().

Prints:
    written by the child
"""
import os
import sys

import accel

SIZE = 4096
with accel.open(0) as device, device.allocate_host(SIZE) as host:
    descriptor = host.export()
    if not os.fork():
        status = 1
        try:
            # A child cannot use the devices of its parent, and opens its own.
            with accel.open(0) as own, own.register_dmabuf(descriptor, SIZE) as shared:
                memory = own.allocate(20)
                memory.copy_from(b"written by the child")
                shared[:20].copy_from(memory)
            status = 0
        finally:
            os._exit(status)
    os.close(descriptor)
    if os.wait()[1]:
        sys.exit("the child has failed")
    print(host[:20].tobytes().decode())
