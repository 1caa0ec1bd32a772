# SPDX-License-Identifier: MIT
"""Imports Paddle once and opens devices later, in forked processes, each of which may have an
environment and flags of its own. An import takes 20 seconds in a guest without KVM.

The import must not open devices (see devices.py): a forked process cannot use them.
"""

import ctypes
import os
import sys
import traceback

import devices

# Unless what imports this has chosen something else.
if not devices.is_replaced():
    devices.replace(lambda: None)

# pylint: disable=wrong-import-position
import paddle  # noqa: E402
from paddle.base import framework  # noqa: E402


def load():
    """Sets the default place as an import would with the devices that are present now."""
    devices.init()
    framework._global_expected_place_ = None  # pylint: disable=protected-access
    # pylint: disable-next=protected-access
    framework._set_expected_place(framework._current_expected_place_())


def _in_child(function, flags, environment, loads):
    status = 1
    try:
        os.environ.update(environment)
        paddle.set_flags(flags)
        if loads:
            load()
        function()
        status = 0
    except BaseException:  # pylint: disable=broad-exception-caught
        traceback.print_exc()
    leave(status)


def leave(status):
    """Ends a forked process with all that Paddle does at its end, and without what the callers would do on
    their way out: this process has a copy of them."""
    ctypes.pythonapi.Py_Exit(status)


def run(function, flags=None, environment=None, loads=True):
    """In a process with these flags of Paddle and this environment, with the plugin or without.
    What it printed."""
    ours, theirs = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.close(ours)
        os.dup2(theirs, 1)
        os.dup2(theirs, 2)
        os.close(theirs)
        _in_child(function, flags or {}, environment or {}, loads)
    os.close(theirs)
    with os.fdopen(ours, encoding="utf-8", errors="replace") as file:
        text = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, f"it ended with {status} and said:\n{text}"
    return text
