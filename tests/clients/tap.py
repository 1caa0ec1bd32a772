# SPDX-License-Identifier: MIT
"""Checks in Python: TAP output, messages, and the increments of a device's counters.

A check is a function that raises. Those of one program run in one process: an import can take half a
minute in a guest, and a forked process cannot use devices. A check that kills the interpreter
leaves results missing, which counts as a failure.
"""

import gc
import sys
import time
import traceback


def run(checks):
    """The exit status. Of (name, function, why it is skipped, or None)."""
    checks = list(checks)
    print(f"1..{len(checks)}", flush=True)
    failures = 0
    for number, (name, function, why) in enumerate(checks, 1):
        name = f"{number} - {name}"
        if why:
            print(f"ok {name} # SKIP {why}", flush=True)
            continue
        begin = time.monotonic()
        failures += _run_one(name, function)
        print(f"# {time.monotonic() - begin:.1f} s", flush=True)
    return 1 if failures or not checks else 0


def _run_one(name, function):
    """True if it failed."""
    problem = None
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


def is_chosen(function, words):
    """A docstring is a check's name. Without words it is."""
    return not words or any(word in function.__doc__ for word in words)


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def raises(kind, function):
    """The text of the exception."""
    try:
        function()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def wait_until(condition, says, seconds=60):
    """Fails with what `says` returns after so long: a limit against hangs, no measurement."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, says()
        time.sleep(0.01)


class Grown:
    """What numbers have grown by inside a `with`. `stats` returns them by their names."""

    def __init__(self, stats):
        self.stats = stats
        self.before = None
        self.grown = {}

    def __enter__(self):
        self.before = self.stats()
        return self

    def __exit__(self, *_):
        after = self.stats()
        self.grown = {name: after[name] - value for name, value in self.before.items()
                      if isinstance(value, int)}

    def __getitem__(self, name):
        return self.grown[name]
