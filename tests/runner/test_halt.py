# SPDX-License-Identifier: MIT
"""A guest whose kernel stops, as before a kexec, resets its ring device: seen from the host."""

import re
import subprocess

from guests import equal, qemu_of, wait_until, words
from test_rings import control_of, order

# Four transfers are in flight, of a second each, when the kernel stops.
SCRIPT = """
    set -e
    guestctl fault card0 set latency=1000000000
    $PACCEL_TOP/build/tools/accelctl copy /bin/busybox >/dev/null &
    until guestctl fault card0 stats | grep -q 'descriptors=[1-9]'; do sleep 0.1; done
    guestctl fault card0 stats
    python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0xcdef0123)'
"""


def generation(stats):
    return int(re.search(r"generation=(\d+)", stats)[1])


def test_a_kernel_that_stops_has_stopped_its_device():
    """A reset of the device, which the driver makes to stop it, counts its generation up."""
    with subprocess.Popen(words(SCRIPT, "--module", "", "--card", "ring,mem=16M,engines=1"),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as guest:
        try:
            before = generation(guest.stdout.readline().decode())
            control = control_of(guest.pid)
            wait_until(lambda: generation(order(control, "stats")) != before,
                       "the driver stops the device")
            equal(generation(order(control, "stats")), before + 1)
            # QEMU, which would reset the device when it ends, goes on.
            equal(len(qemu_of(guest)), 1)
        finally:
            guest.kill()
