#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PaddlePaddle with its default settings on ring devices of three sizes. Run by
tests/clients/paddle/guest.

sizes.py [WORD...]    only checks whose names contain one of the words
"""

import sys

from suite import Suite, card_of, counters, near, on_card, raises, run, same

# pylint: disable=wrong-import-order
import network
import numpy as np
import paddle

SUITE = Suite()
MIB = 1 << 20
# Each piece is an eighth of the device memory. The driver reserves some of it, and Paddle caches what the
# training has used.
PIECES = 8
# The guest has 1 GiB, and each tensor is there several times.
LARGEST = 48 * MIB


def fill_up(array):
    """As many tensors as there is room for, and what Paddle said then."""
    held = []

    def take_more():
        while True:
            held.append(paddle.to_tensor(array))

    return held, raises(MemoryError, take_more)


def use(size, number):
    """Trains, allocates a large tensor, fills device memory with several, and allocates the large one again."""
    device = f"accel:{number}"
    paddle.set_device(device)
    training = network.Training(device)
    got = [training.step() for _ in range(3)]
    for tensor in training.tensors:
        on_card(tensor, number)
    near(got, network.losses("cpu", 3))
    paddle.set_device(device)
    large = np.resize(np.arange(251, dtype="uint8"), min(size * 3 // 4, LARGEST))
    same(on_card(paddle.to_tensor(large), number).numpy(), large)
    array = large[:size // PIECES]
    held, text = fill_up(array)
    assert "Out of memory" in text and device in text, text
    assert PIECES - 2 <= len(held) <= PIECES, len(held)
    assert counters(number)["used"] >= len(held) * array.size, counters(number)
    same(held[-1].numpy(), array)
    held.clear()
    same(on_card(paddle.to_tensor(large), number).numpy(), large)


def add(mib):
    """The check of one size."""
    def function():
        use(mib * MIB, card_of(mib * MIB))
    function.__doc__ = f"a ring device of {mib} MiB without any flag: used, full, used again"
    SUITE.check(function)


for card_size in (16, 64, 256):
    add(card_size)

if __name__ == "__main__":
    sys.exit(run([SUITE], sys.argv[1:]))
