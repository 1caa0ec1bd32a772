#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds two arrays that the device has, a slice at a time.

Prints:
    [0.0, 11.0, 22.0, 33.0, 44.0, 55.0, 66.0, 77.0]
"""
import array

import accel

with accel.open(0) as device:
    ones = device.allocate(64).view("float64")
    tens = device.allocate(64).view("float64")
    ones[:] = array.array("d", range(8))
    tens[:] = [number * 10.0 for number in range(8)]
    for begin in range(0, 8, 4):
        pairs = zip(ones[begin:begin + 4].tolist(), tens[begin:begin + 4].tolist())
        ones[begin:begin + 4] = [one + ten for one, ten in pairs]
    print(ones.tolist())
