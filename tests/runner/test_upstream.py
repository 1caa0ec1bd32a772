# SPDX-License-Identifier: MIT
"""Tests of tests/upstream/run: that what SUNDIALS' tests print is counted, whatever their exit status."""

import os
import subprocess
import tempfile

from guests import TOP, equal
from test_counting import counts

PASSES = "echo '  Helper_Alloc... '; echo '  Helper_Alloc... PASSED'; "
# What sundials-sys and sundials-cuda are planned to print.
COMPLETE = (7 * PASSES, 19 * PASSES)


def run(*programs):
    """What tests/check counts, (passed, failed, skipped), of scripts in the place of both programs."""
    with tempfile.TemporaryDirectory() as build:
        folder = os.path.join(build, "tests/upstream")
        os.makedirs(folder)
        for name, script in zip(("sundials-sys", "sundials-cuda"), programs):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n" + script)
            os.chmod(path, 0o755)
        result = subprocess.run([os.path.join(TOP, "tests/upstream/run")], capture_output=True, text=True,
                                check=False, env={**os.environ, "BUILD": build})
    return counts(result.stdout, result.returncode)


def test_upstream_all_passes():
    equal(run(*COMPLETE), (26, 0, 0))


def test_upstream_a_failure_with_status_0():
    failure = 6 * PASSES + "echo '  Helper_Copy... FAILED comparison'\n"
    equal(run(failure, COMPLETE[1]), (25, 1, 0))


def test_upstream_a_test_that_stops_early():
    equal(run(6 * PASSES, COMPLETE[1]), (25, 1, 0))


def test_upstream_a_test_that_dies():
    equal(run(COMPLETE[0] + "kill -SEGV $$\n", COMPLETE[1]), (26, 1, 0))


def test_upstream_a_test_that_is_not_built():
    equal(run(COMPLETE[0]), (7, 2, 0))
