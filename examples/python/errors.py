#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Errors are exceptions of Python, with an errno and a message.

Prints:
    OutOfMemory ENOMEM
    Timeout ETIME
    ValueError: the destination has 64 bytes and the source 5: slice one of them
    ValueError: the memory has been freed
"""
import errno
import threading

import accel

with accel.open(0) as device:
    try:
        device.allocate(1 << 50)
    except MemoryError as error:
        print(type(error).__name__, errno.errorcode[error.errno])
    with device.stream() as stream:
        go = threading.Event()
        stream.call(lambda error: go.wait())
        try:
            stream.synchronize(timeout=0.01)
        except TimeoutError as error:
            print(type(error).__name__, errno.errorcode[error.errno])
        go.set()
    memory = device.allocate(64)
    for call in (lambda: memory.copy_from(b"short"), lambda: (memory.free(), memory.fill(0))):
        try:
            call()
        except ValueError as error:
            print("ValueError:", error)
