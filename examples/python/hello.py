#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Copies bytes to a device and back.

Prints:
    there and back again
"""
import accel

with accel.open(0) as device, device.allocate(20) as memory:
    memory.copy_from(b"there and back again")
    print(memory.tobytes().decode())
