# SPDX-License-Identifier: MIT
"""Checks with PaddlePaddle on the cards of a guest: TAP, and what the driver has counted.

Those of one program run in one process: an import takes 20 s there, and a process that has been
forked has no cards. A check that kills the interpreter leaves results missing, which counts as a
failure.
"""

import gc
import json
import subprocess
import sys
import time
import traceback

import numpy as np
import paddle

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
    chosen = [(suite.device, function, why) for suite in suites for function, why in suite.checks
              if not words or any(word in function.__doc__ for word in words)]
    print(f"# paddle {paddle.__version__}, {IMPORTED:.1f} s of CPU to import")
    print(f"1..{len(chosen)}", flush=True)
    failures = 0
    for number, (device, function, why) in enumerate(chosen, 1):
        name = f"{number} - {function.__doc__}"
        if why:
            print(f"ok {name} # SKIP {why}", flush=True)
            continue
        begin = time.monotonic()
        failures += run_one(function, name, device)
        print(f"# {time.monotonic() - begin:.1f} s", flush=True)
    return 1 if failures else 0


def run_one(function, name, device):
    """True if it failed."""
    problem = None
    try:
        if device:
            paddle.set_device(device)
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

def ask(*words):
    """What accelctl says in JSON."""
    text = subprocess.run(["accelctl", *words, "--json"], check=True, capture_output=True,
                          text=True).stdout
    return json.loads(text)


def cards():
    return ask("list")


def card_of(size):
    """The number of the last card that has so much memory, less what it keeps for itself.
    Paddle's is the same."""
    return max(card["index"] for card in cards() if size * 0.9 < card["memory_size"] <= size)


# Paddle's numbers are those of the cards that there were. accelctl counts those that there are.
NODES = [card["node"] for card in cards()]


def counters(number=0):
    """Of one of Paddle's cards, by all processes: bytes_h2d, transfers, used, and so on."""
    nodes = [card["node"] for card in cards()]
    return ask("stats", str(nodes.index(NODES[number])))


class Counted:
    """What a card's counters have grown by inside a `with`."""

    def __init__(self, number=0):
        self.number = number
        self.before = None
        self.grown = {}

    def __enter__(self):
        self.before = counters(self.number)
        return self

    def __exit__(self, *_):
        after = counters(self.number)
        self.grown = {name: after[name] - value for name, value in self.before.items()
                      if isinstance(value, int)}

    def __getitem__(self, name):
        return self.grown[name]
