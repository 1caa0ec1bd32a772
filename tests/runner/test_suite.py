# SPDX-License-Identifier: MIT
"""Tests of tests/kselftest/run: that what it checks after the programs can fail."""

from guests import ended, equal, run

# Three pages that stay pinned, as buffers of an io_uring (calls 425 and 427) that a process keeps open.
PIN = """#!/usr/bin/python3
import ctypes, mmap, os, signal
call = ctypes.CDLL(None).syscall
pages = mmap.mmap(-1, 3 * mmap.PAGESIZE)
buffers = (ctypes.c_uint64 * 2)(ctypes.addressof(ctypes.c_char.from_buffer(pages)), len(pages))
if call(427, call(425, 1, ctypes.create_string_buffer(120)), 0, buffers, 1) == 0:
    print("1..1", "ok 1 a", sep="\\n", flush=True)
if os.fork() == 0:
    os.setsid()
    signal.pause()
"""

# A program that does nothing, and one that says that its device has kept three pages for good.
SCRIPT = f"""
    export BUILD=/tmp/build
    mkdir -p $BUILD/tests/kselftest
    cd $BUILD/tests/kselftest
    printf '#!/bin/sh\\necho 1..1\\necho ok 1 a\\n' >idle
    {{ cat idle; echo "echo '# leaked: 3'"; }} >leaks
    cat >pins <<'END'
{PIN}
END
    chmod +x idle leaks pins
    cd "$PACCEL_TOP"
    tests/kselftest/run idle pins leaks leaks
"""


def test_pinned_pages_must_be_as_many_as_are_said_to_be_leaked():
    result = run(SCRIPT, "--module", "", "--card", "edu")
    lines = result.stdout.decode().splitlines()
    equal([line for line in lines if "ok " in line],
          ["ok 1 idle.edu.a", "ok 2 run.pins_are_balanced",
           "ok 3 pins.edu.a", "not ok 4 run.pins_are_balanced",
           "ok 5 leaks.edu.a", "ok 6 run.pins_are_balanced",
           "ok 7 leaks.edu.a", "not ok 8 run.pins_are_balanced"])
    equal([line.rpartition(", ")[2] for line in lines if " unpinned, " in line],
          ["0 leaked", "6 leaked"])
    ended(result, 1)
