#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Page-locked memory: of the library, and of an object of the program. Neither is copied by the CPU.

Prints:
    b'written by the CPU'
    bytearray(b'WRITTEN by the CPU')
"""
import accel

with accel.open(0) as device, device.stream() as stream:
    memory = device.allocate(18)
    with device.allocate_host(18) as host:
        with memoryview(host) as view:
            view[:] = b"written by the CPU"
        memory.copy_from(host, stream)
        stream.synchronize()
        print(memory.tobytes())
    data = bytearray(b"WRITTEN           ")
    with device.register(data) as registered:
        registered[7:].copy_from(memory[7:], stream)
    print(data)
