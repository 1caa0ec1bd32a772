#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests of a folder and prints TAP. The mock is preloaded; see ../python.sh.

run.py MODULE... [-- WORD...]    only tests whose names contain one of the words
"""

import faulthandler
import os
import sys
import traceback
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def outcome(test):
    """('ok', text, directive)"""
    result = unittest.TestResult()
    test.run(result)
    problems = [text for _, text in result.failures + result.errors]
    if result.skipped:
        return "ok", "", f" # SKIP {result.skipped[0][1]}"
    return "not ok" if problems else "ok", "".join(problems), ""


def main():
    faulthandler.enable()
    faulthandler.dump_traceback_later(100, exit=True)
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    names, words = arguments[:cut], arguments[cut + 1:]
    tests = []
    for name in names:
        try:
            tests += tests_of(unittest.defaultTestLoader.loadTestsFromName(name))
        except Exception:  # pylint: disable=broad-exception-caught
            traceback.print_exc()
            print(f"not ok 1 - {name} loads\n1..1")
            return 1
    tests = [test for test in tests if not words or any(word in test.id() for word in words)]
    failed = 0
    for number, test in enumerate(tests, 1):
        result, text, directive = outcome(test)
        failed += result != "ok"
        name = test.id().split(".", 1)[1].replace("_", " ")
        print(f"{result} {number} - {name}{directive}")
        for line in text.splitlines():
            print(f"# {line}")
        sys.stdout.flush()
    print(f"1..{len(tests)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
