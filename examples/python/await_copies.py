#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Three tasks of asyncio, each of which waits for its own stream.

Prints:
    [b'task 0', b'task 1', b'task 2']
"""
import asyncio

import accel


async def copy(device, number):
    data = f"task {number}".encode()
    memory, back = device.allocate(len(data)), device.allocate_host(len(data))
    with device.stream() as stream:
        memory.copy_from(data, stream)
        memory.copy_to(back, stream)
        await stream
    return back.tobytes()


async def main():
    with accel.open(0) as device:
        print(await asyncio.gather(*(copy(device, number) for number in range(3))))


asyncio.run(main())
