# SPDX-License-Identifier: MIT
"""What all child processes of the runner do before they become another program."""

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1


def stay_with_parent():
    """Runs in the child: should the runner be killed, the child goes with it. If the runner
    is nice, so is the child, whose session has a niceness of its own to the scheduler."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write(str(os.nice(0)))
    except OSError:
        pass
