#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Blocks of a pool, which need no system call and are freed in the order of their stream.

Prints:
    4 blocks of 1 chunk
    0 bytes in use
"""
import accel

with accel.open(0) as device, device.pool(2048) as pool, device.stream() as stream:
    for value in range(4):
        block = pool.allocate(200, stream)
        block.fill(value, stream)
        del block
    stats = pool.stats()
    print(f"{stats.total_blocks} blocks of {stats.grown} chunk")
    print(f"{stats.used_bytes} bytes in use")
