#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two streams: one fills, the other copies when that has ended, and the device takes the time.

Prints:
    b'aaaaaaaa'
    True
"""
import accel

with accel.open(0) as device:
    memory, host = device.allocate(8), device.allocate_host(8)
    with device.stream() as producer, device.stream() as consumer:
        begin = producer.record()
        memory.fill(ord("a"), producer)
        consumer.wait(producer.record())
        memory.copy_to(host, consumer)
        end = consumer.record()
    print(host.tobytes())
    print(begin.elapsed_ns(end) >= 0)
