# SPDX-License-Identifier: MIT
"""What QEMU 7.2 does to a guest now and then, and no guest can do to itself.

It crashes when an ivshmem is pulled while its eventfds are busy. Where a guest patches its own code
while another CPU translates that code, the breakpoint that was there in between may stay in the
translation: the guest meets an int3 that it has long removed, in the kernel's own code (fixed in 8.1, "accel/tcg: Lock pages
before translation"). Both CPUs may idle with the timers of their APICs run out and no interrupt
pending (seen once). A job that meets one of these is run again, once.
"""

import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../qemu"))

# pylint: disable=wrong-import-position
from runner import klog  # noqa: E402

FAULT = re.compile(r"^qemu/run: QEMU ended with signal 11"
                   r"|^qemu/run: CPU \d idles, and its timer has run out", re.MULTILINE)
# qemu/run prints this where it boots a guest again; nothing before it is of the guest that ran
# the job.
REBOOTED = "before the first program: once more\n"
# pytest puts this before each line of a guest's output that it shows, qemu/run before those of all guests but the
# first.
MARGIN = re.compile(r"^(E {3,})?(guest\d+: )?", re.MULTILINE)


def find(text):
    """The line that shows the fault in a job's output, or None."""
    text = MARGIN.sub("", text).rpartition(REBOOTED)[2]
    found = FAULT.search(text)
    return found[0] if found else klog.patched_int3(text)
