# SPDX-License-Identifier: MIT
"""Which results are results of one test.

A test that runs on several kernels, kinds of device, compilers, sanitizers or releases is one test.
The kernel is in the job's name; the rest is in the results' names, and taken out here.
"""

import re

KIND = r"(?:edu|ring|all)"
COMPILER = r"(?:g\+\+|clang\+\+)"

VARIANTS = [(re.compile(pattern), name) for pattern, name in [
    # Unit tests: compiler and sanitizer, and the release of SUNDIALS.
    (r"^(?:gcc|clang)-(?:asan|tsan)/", ""),
    (r"^(?:gcc|clang)/", ""),
    (r"^(sundials)-[\d.]+_", r"\1_"),
    # Conformance over the mock or in a guest: the program's name, and the kind of device.
    (rf"^conformance[. ]{KIND}\.", "conformance."),
    # Programs of tests/kselftest, on a kind of device.
    (rf"^([\w-]+)\.{KIND}\.", r"\1."),
    # Containers of RMM: release, compiler, kind of device.
    (rf"\b[\d.]+-{COMPILER}\.{KIND}\.", ""),
    # SUNDIALS in a guest: release, program, kind of device.
    (rf"\b[\d.]+\.(\w+)\.{KIND}\.", r"\1."),
    # The Python modules in a guest: the device's name.
    (rf"\b{KIND}: ", ""),
    (rf"\.{KIND}\b", ""),
]]


def test_of(name):
    """The name of the test that the result of this name belongs to."""
    for pattern, replacement in VARIANTS:
        name = pattern.sub(replacement, name, count=1)
    return name


# Programs that jobs of several suites run: over the mock on the host, and in a guest.
SHARED = ("conformance.",)


def identity(suite, name):
    """What a result is counted under."""
    test = test_of(name)
    return test if test.startswith(SHARED) else f"{suite}: {test}"
