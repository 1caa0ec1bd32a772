#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a call from Python costs more than the same call from C: acl.rt.memcpy() of 64 bytes on a card
of the mock. Rounds of both take turns, and are shorter than a time slice of a busy host.

overhead.py LIBRARY SAMPLES    prints two lines of JSON"""

import ctypes
import itertools
import json
import sys
import time

import acl

CALLS = 500
HOST_TO_DEVICE = 1


def time_python(dst, src):
    """Of one call, in ns; bad codes would show in the sum."""
    memcpy, codes = acl.rt.memcpy, 0
    start = time.perf_counter_ns()
    for _ in itertools.repeat(None, CALLS):
        codes |= memcpy(dst, 64, src, 64, HOST_TO_DEVICE)
    end = time.perf_counter_ns()
    if codes:
        sys.exit(f"overhead.py: a copy failed: {acl.get_recent_err_msg()}")
    return (end - start) / CALLS


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.calls_ns.restype = ctypes.c_uint64
    library.calls_ns.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
    if acl.init() or acl.rt.set_device(0):
        sys.exit(f"overhead.py: {acl.get_recent_err_msg()}")
    dst, src = acl.rt.malloc_align32(64, 0)[0], acl.rt.malloc_host(64)[0]
    ours, theirs = [], []
    # The first round of each warms up.
    for _ in range(int(sys.argv[2]) + 1):
        ours.append(time_python(dst, src))
        theirs.append(library.calls_ns(dst, src, CALLS) / CALLS)
    for name, ns in ("py.memcpy", ours), ("py.memcpy.c", theirs):
        print(json.dumps({"name": name, "ns": ns[1:]}))
    acl.finalize()


if __name__ == "__main__":
    main()
