# SPDX-License-Identifier: MIT
"""The frequency of the time stamp counter (TSC) of a guest.

A kernel that measures it takes a wrong one when the host is busy meanwhile: 143 to 622 MHz instead of
2300 were seen in 5 of 47 guests. The clock of such a guest runs up to 16 times too fast, and all its
limits of time are as much too short. So it is a parameter of the kernel (tsc_early_khz).
"""

import ctypes
import mmap
import platform
import time

# rdtsc; shl $32, %rdx; or %rdx, %rax; ret
CODE = bytes.fromhex("0f31 48c1e220 4809d0 c3")
READINGS = 20
SECONDS = 0.05


def _read_with_time(rdtsc):
    """The counter, and the time in ns at which it was read: the reading that was disturbed least."""
    readings = []
    for _ in range(READINGS):
        before = time.monotonic_ns()
        ticks = rdtsc()
        after = time.monotonic_ns()
        readings.append((after - before, (before + after) / 2, ticks))
    return min(readings)[1:]


def _of_the_host():
    code = mmap.mmap(-1, len(CODE), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(CODE)
    rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    start, first = _read_with_time(rdtsc)
    time.sleep(SECONDS)
    end, last = _read_with_time(rdtsc)
    return round((last - first) * 1e6 / (end - start))


def khz(clock):
    """Returns the frequency in kHz, or None where it is not known. In virtual time QEMU counts nanoseconds;
    in real time a guest reads the counter of the host."""
    if clock == "virtual":
        return 1000000
    if platform.machine() != "x86_64":
        return None
    try:
        return _of_the_host()
    except OSError:
        # The host allows no memory that can be written and run.
        return None
