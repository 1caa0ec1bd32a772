# SPDX-License-Identifier: MIT
"""A guest whose kernel stops, as before a kexec, resets its ring device: seen from the host."""

import re
import subprocess

from guests import equal, wait_until, words
from test_rings import control_of, order, rings_of

# Four transfers are in flight, of a second each, when the kernel stops.
SCRIPT = """
    set -e
    guestctl fault card0 set latency=1000000000
    $PACCEL_TOP/build/tools/accelctl copy /bin/busybox &
    until guestctl fault card0 stats | grep -q 'descriptors=[1-9]'; do sleep 0.1; done
    read halt
    python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0xcdef0123)'
"""


def test_a_kernel_that_stops_has_stopped_its_device():
    """A reset of the device, which the driver makes to stop it, counts its generation up."""
    with subprocess.Popen(words(SCRIPT, "--module", "", "--card", "ring,mem=16M,engines=1"),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as guest:
        try:
            wait_until(lambda: rings_of(guest.pid), "the device's process starts")
            control = control_of(guest.pid)

            def stat(name):
                return int(re.search(rf"\b{name}=(\d+)", order(control, "stats"))[1])

            wait_until(lambda: stat("descriptors"), "the device copies")
            before = stat("generation")
            guest.stdin.write(b"\n")
            guest.stdin.flush()
            wait_until(lambda: stat("generation") != before, "the driver stops the device")
            equal(stat("generation"), before + 1)
        finally:
            guest.kill()
