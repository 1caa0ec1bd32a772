#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A function that runs when the device has done its work.

Prints:
    done: None
    [5, 5, 5, 5]
"""
import accel


def done(error):
    print("done:", error)


with accel.open(0) as device:
    memory = device.allocate(4)
    with device.stream() as stream:
        memory.fill(5, stream)
        stream.call(done)
    print(list(memory.tobytes()))
