# SPDX-License-Identifier: MIT
"""Checks with PaddlePaddle on the cards of a guest: TAP, and what the driver has counted.

All run in one process: an import takes 20 s there, and a process that has been forked has no cards.
A check that kills the interpreter leaves results missing, which counts as a failure.
"""

import gc
import json
import subprocess
import sys
import time
import traceback

STARTED = time.monotonic()

# pylint: disable=wrong-import-position
import numpy as np  # noqa: E402
import paddle  # noqa: E402

IMPORTED = time.monotonic()
RELEASE = tuple(int(word) for word in paddle.__version__.split(".")[:2])


class Suite:
    """The checks of one program, in the order of its text. A docstring is a check's name."""

    def __init__(self):
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

    def run(self, words=()):
        """The exit status. Of the checks whose names contain one of the words, or all."""
        chosen = [(function, why) for function, why in self.checks
                  if not words or any(word in function.__doc__ for word in words)]
        print(f"# paddle {paddle.__version__}, import {IMPORTED - STARTED:.1f} s")
        print(f"1..{len(chosen)}", flush=True)
        failures = 0
        for number, (function, why) in enumerate(chosen, 1):
            name = f"{number} - {function.__doc__}"
            if why:
                print(f"ok {name} # SKIP {why}", flush=True)
                continue
            begin = time.monotonic()
            failures += run_one(function, name)
            print(f"# {time.monotonic() - begin:.1f} s", flush=True)
        return 1 if failures else 0


def run_one(function, name):
    """True if it failed."""
    problem = None
    paddle.set_device("accel:0")
    try:
        function()
    except Exception:  # pylint: disable=broad-exception-caught
        problem = traceback.format_exc()
    gc.collect()
    print(f"{'not ' if problem else ''}ok {name}")
    if problem:
        print("# " + problem.strip().replace("\n", "\n# "))
    sys.stdout.flush()
    return bool(problem)


# --- what checks say -------------------------------------------------------------------------

def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def same(got, wanted):
    """Bit for bit."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    equal((got.shape, got.dtype), (wanted.shape, wanted.dtype))
    assert got.tobytes() == wanted.tobytes(), f"got {got}, wanted {wanted}"


def near(got, wanted, relative=1e-5):
    np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=relative, atol=1e-6)


def raises(kind, function):
    """The text of the exception."""
    try:
        function()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def on_card(tensor, index=0):
    assert tensor.place.is_custom_place(), tensor.place
    equal((tensor.place.custom_device_type(), tensor.place.custom_device_id()), ("accel", index))
    return tensor


# --- what the driver says --------------------------------------------------------------------

def counters(index=0):
    """Of a card, by all processes: bytes_h2d, transfers, used, and so on."""
    text = subprocess.run(["accelctl", "stats", "--json", str(index)], check=True,
                          capture_output=True, text=True).stdout
    return json.loads(text)


class Counted:
    """What a card's counters have grown by inside a `with`."""

    def __init__(self, index=0):
        self.index = index
        self.before = None
        self.grown = {}

    def __enter__(self):
        self.before = counters(self.index)
        return self

    def __exit__(self, *_):
        after = counters(self.index)
        self.grown = {name: after[name] - value for name, value in self.before.items()
                      if isinstance(value, int)}

    def __getitem__(self, name):
        return self.grown[name]
