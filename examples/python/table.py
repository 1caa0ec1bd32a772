#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rows, columns and tiles of a table in device memory.

Prints:
    [0, 0, 0, 0, 0, 0]
    [7, 7, 7, 7, 7, 7]
    [0, 0, 1, 2, 0, 0]
    [9, 0, 3, 4, 0, 9]
"""
import accel

with accel.open(0) as device:
    table = device.allocate(4 * 6 * 2).view("int16", (4, 6))
    table[:] = 0
    table[1] = 7
    table[2:, 2:4] = [[1, 2], [3, 4]]  # one copy of two rows
    table[3, ::5] = 9
    for row in table.tolist():
        print(row)
