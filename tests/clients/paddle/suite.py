# SPDX-License-Identifier: MIT
"""Checks with PaddlePaddle on the devices of a guest, and the counters of the driver."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import paddle

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# pylint: disable=wrong-import-position
import tap  # noqa: E402
from tap import equal, raises, wait_until  # noqa: E402,F401  pylint: disable=unused-import

# Of the processor, since the process began.
IMPORTED = time.process_time()
RELEASE = tuple(int(word) for word in paddle.__version__.split(".")[:2])


class Suite:
    """Checks in the order of a file's text. A docstring is a check's name. `device` is the
    current one at the beginning of each; None leaves that to the check."""

    def __init__(self, device="accel:0"):
        self.device = device
        self.checks = []

    def check(self, function):
        self.checks.append((function, None))
        return function

    def check_since(self, release, why):
        """One that older releases cannot pass."""
        def add(function):
            self.checks.append((function, why if RELEASE < release else None))
            return function
        return add


def run(suites, words=()):
    """The exit status. Of the checks whose names contain one of the words, or all."""
    print(f"# paddle {paddle.__version__}, {IMPORTED:.1f} s of CPU to import")
    return tap.run((function.__doc__, _on(suite.device, function), why) for suite in suites
                   for function, why in suite.checks if tap.is_chosen(function, words))


def _on(device, function):
    def on_device():
        if device:
            paddle.set_device(device)
        function()
    return on_device


# --- what checks say -------------------------------------------------------------------------

def same(got, wanted):
    """Bit for bit."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    equal((got.shape, got.dtype), (wanted.shape, wanted.dtype))
    assert got.tobytes() == wanted.tobytes(), f"got {got}, wanted {wanted}"


def near(got, wanted, relative=1e-5):
    np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=relative, atol=1e-6)


def on_card(tensor, index=0):
    assert tensor.place.is_custom_place(), tensor.place
    equal((tensor.place.custom_device_type(), tensor.place.custom_device_id()), ("accel", index))
    return tensor


# --- what the driver says --------------------------------------------------------------------

def ask(*words):
    """What accelctl says in JSON."""
    text = subprocess.run(["accelctl", *words, "--json"], check=True, capture_output=True,
                          text=True).stdout
    return json.loads(text)


def cards():
    return ask("list")


def card_of(size):
    """The number of the last device with this memory size, minus what the driver reserves.
    Paddle's is the same."""
    return max(number for number, card in enumerate(cards()) if size * 0.9 < card["memory_size"] <= size)


# Paddle's numbers are positions among the devices that there were at its start.
NODES = [card["node"] for card in cards()]


def counters(number=0):
    """Counters of one of Paddle's devices, of all processes: bytes_h2d, requests, used, and so on."""
    return ask("stats", NODES[number])


class Counted(tap.Grown):
    """The increments of the counters of a device inside a `with`."""

    def __init__(self, number=0):
        super().__init__(lambda: counters(number))
