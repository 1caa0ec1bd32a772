# SPDX-License-Identifier: MIT
"""Tests of how tests/check counts."""

import importlib.machinery
import importlib.util
import os

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../check")


def load_check():
    loader = importlib.machinery.SourceFileLoader("check", PATH)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
    loader.exec_module(module)
    return module


CHECK = load_check()


def counts(text, code=0, skips=0):
    count = CHECK.judge(CHECK.Job("name", [], skips=skips), text, code)
    return count.passed, count.failures, len(count.skipped)


def equal(got, wanted):
    assert got == wanted, f"got {got}, wanted {wanted}"


def test_count_tap():
    equal(counts("TAP version 13\n1..2\nok 1 a\nok 2 b\n"), (2, 0, 0))
    equal(counts("1..2\nok 1 a\nnot ok 2 b\n", 1), (1, 1, 0))
    equal(counts("ok 1 a\n1..1\n"), (1, 0, 0))


def test_count_several_plans():
    equal(counts("1..1\nok 1 a\n1..2\nok 1 b\nok 2 c\n"), (3, 0, 0))


def test_count_only_the_outer_results():
    equal(counts("1..1\n# ok 1 inner\n    ok 1 inner\nok 1 a\n"), (1, 0, 0))


def test_count_early_end():
    equal(counts("1..3\nok 1 a\n"), (1, 1, 0))
    equal(counts("1..3\n"), (0, 1, 0))
    equal(counts("ok 1 a\n"), (1, 1, 0))
    equal(counts("1..1\nok 1 a\nBail out! no card\n"), (1, 1, 0))


def test_count_exit_status():
    equal(counts(""), (1, 0, 0))
    equal(counts("words\n", 1), (0, 1, 0))
    equal(counts("1..1\nok 1 a\n", 125), (1, 1, 0))
    equal(counts("1..1\nnot ok 1 a\n", 1), (0, 1, 0))


def test_why_the_runner_failed():
    text = "ok 1 a\nqemu/run: from the kernel log:\n[1] BUG\nqemu/run: Kernel panic - not syncing: x\n"
    count = CHECK.judge(CHECK.Job("name", []), text, 125)
    equal(count.problems[-1], "qemu/run: Kernel panic - not syncing: x")
    equal(CHECK.judge(CHECK.Job("name", []), text, 3).problems, ["there is no plan (1..N)"])


def test_what_counts_as_a_fault_of_qemu():
    died = "qemu/run: QEMU ended with signal 11: "
    again = died + ", before the first program: once more\n"
    oops = "[    2.1] Oops: int3: 0000 [#1] SMP\n"
    equal(CHECK.crash_of("1..1\nok 1 a\n" + died + "\n"), "qemu/run: QEMU ended with signal 11")
    equal(CHECK.crash_of("qemu/run: from the kernel log:\n" + oops), "[    2.1] Oops: int3: 0000 [#1]")
    lost = "qemu/run: CPU 1 idles, and its timer has run out"
    equal(CHECK.crash_of("qemu/run: from the kernel log:\n[    9.1] rcu\n" + lost + "\n"), lost)
    # The guest that had the job was another one.
    equal(CHECK.crash_of(again + "1..1\nnot ok 1 a\n"), None)
    equal(CHECK.crash_of(oops + again + "1..1\nnot ok 1 a\n"), None)
    equal(CHECK.crash_of(again + oops), "[    2.1] Oops: int3: 0000 [#1]")


def test_count_skips():
    text = "1..2\nok 1 a # SKIP no card\nok 2 b\n"
    equal(counts(text, skips=1), (1, 0, 1))
    equal(counts(text, skips=0), (1, 1, 1))
    equal(counts(text, skips=2), (1, 1, 1))
    equal(counts("1..0 # SKIP nothing to do\n", skips=1), (0, 0, 1))


def test_details_of_failures():
    text = "1..4\n# of the first\nok 1 a\n# why\n# where\nnot ok 2 b\nok 3 c\n" \
           "not ok 4 d\n# afterwards\nwords\n# of nobody\n"
    equal(CHECK.explain(text), ["# why", "# where", "not ok 2 b", "not ok 4 d", "# afterwards"])
    equal(CHECK.explain("1..1\n# all is well\nok 1 a\n"), [])
