# SPDX-License-Identifier: MIT
"""Tests of tests/check: how it counts, orders, runs again and ends in time."""

import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

# pylint: disable=wrong-import-position
from checks import history, jobs, names, qemu_faults, results, runner  # noqa: E402


def a_job(name="name", command=(), suite="suite", **more):
    return jobs.Job(name, "check", tuple(command), suite, **more)


def counts(text, code=0, skips=0):
    report = results.judge(a_job(skips=skips), text, code)
    return len(report.of("passed")), report.failures, len(report.of("skipped"))


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


PYTEST = """===== test session starts =====
===== short test summary info =====
PASSED tests/a.py::test_a
SKIPPED [1] tests/a.py:3: no device
===== 1 passed, 1 skipped in 0.01s =====
"""


def test_count_pytest():
    equal(counts(PYTEST, skips=1), (1, 0, 1))
    equal(counts("1..1\nok 1 a\n" + PYTEST, skips=1), (2, 0, 1))
    equal(counts(PYTEST + "killed\n", 1, skips=1), (1, 1, 1))
    equal(counts(PYTEST.replace("PASSED", "FAILED").replace("passed", "failed"), 1, skips=1), (0, 1, 1))
    equal(counts(PYTEST.partition("PASSED")[0]), (0, 1, 0))


def test_why_the_runner_failed():
    text = "ok 1 a\nqemu/run: from the kernel log:\n[1] BUG\nqemu/run: Kernel panic - not syncing: x\n"
    report = results.judge(a_job(), text, 125)
    equal(report.problems[-1], "qemu/run: Kernel panic - not syncing: x")
    equal(results.judge(a_job(), text, 3).problems, ["there is no plan (1..N)"])


def test_what_counts_as_a_fault_of_qemu():
    died = "qemu/run: QEMU ended with signal 11: "
    again = died + ", before the first program: once more\n"
    oops = ("[    2.1] Oops: int3: 0000 [#1] SMP\n"
            "[    2.1] RIP: 0010:schedule+0x12/0x80\n"
            "[    2.1] Code: 48 89 e5 0f <1f> 44\n")
    equal(qemu_faults.find("1..1\nok 1 a\n" + died + "\n"), "qemu/run: QEMU ended with signal 11")
    equal(qemu_faults.find("qemu/run: from the kernel log:\n" + oops),
          "[    2.1] Oops: int3: 0000 [#1]")
    lost = "qemu/run: CPU 1 idles, and its timer has run out"
    equal(qemu_faults.find("qemu/run: from the kernel log:\n[    9.1] rcu\n" + lost + "\n"), lost)
    # The guest that had the job was another one.
    equal(qemu_faults.find(again + "1..1\nnot ok 1 a\n"), None)
    equal(qemu_faults.find(oops + again + "1..1\nnot ok 1 a\n"), None)
    equal(qemu_faults.find(again + oops), "[    2.1] Oops: int3: 0000 [#1]")


def test_count_skips():
    text = "1..2\nok 1 a # SKIP no card\nok 2 b\n"
    equal(counts(text, skips=1), (1, 0, 1))
    equal(counts(text, skips=0), (1, 1, 1))
    equal(counts(text, skips=2), (1, 1, 1))
    equal(counts("1..0 # SKIP nothing to do\n", skips=1), (0, 0, 1))


def test_details_of_failures():
    text = "1..4\n# of the first\nok 1 a\n# why\n# where\nnot ok 2 b\nok 3 c\n" \
           "not ok 4 d\n# afterwards\nwords\n# of no test\n"
    equal(results.explain(text), ["# why", "# where", "not ok 2 b", "not ok 4 d", "# afterwards"])
    equal(results.explain("1..1\n# all is well\nok 1 a\n"), [])


def test_one_test_in_many_variants():
    for variants in (("gcc-asan/batch is empty", "clang-tsan/batch is empty"),
                     ("copy.edu.copy.h2d", "copy.ring.copy.h2d"),
                     ("sundials-7.9.0_copy one", "sundials-7.6.0_copy one"),
                     ("sundials: 7.9.0.heat.edu.ends", "sundials: 7.6.0.heat.ring.ends"),
                     ("rmm: 24.12.1-g++.ring.copies", "rmm: 26.10.0-clang++.edu.copies")):
        equal(len({names.test_of(name) for name in variants}), 1)
    assert names.test_of("gcc-asan/batch a") != names.test_of("gcc-asan/copy a")
    assert names.test_of("copy.edu.copy.h2d") != names.test_of("fill.edu.copy.h2d")


def total_of(*runs):
    """Of (job, output) pairs."""
    total = results.Total()
    for job, text in runs:
        total.add(job, results.judge(job, text, 0))
    return total


def test_a_test_counts_once():
    one, other = a_job("one"), a_job("other")
    passed = "1..2\nok 1 copy.edu.a\nok 2 copy.ring.a\n"
    equal(total_of((one, passed), (other, passed)).closing_line(), "1 passed, 0 failed")
    elsewhere = a_job("third", suite="another")
    equal(total_of((one, passed), (elsewhere, passed)).closing_line(), "2 passed, 0 failed")
    failed = "1..2\nok 1 copy.edu.a\nnot ok 2 copy.ring.a\n"
    equal(total_of((one, passed), (other, failed)).closing_line(), "0 passed, 1 failed")


def test_conformance_of_mock_and_driver_counts_once():
    mock = (a_job("unit", suite="unit"), "1..1\nok 1 - gcc-asan/conformance edu.copy.width_0\n")
    driver = (a_job("guest", suite="kselftest"), "1..1\nok 1 conformance.ring.copy.width_0\n")
    equal(total_of(mock, driver).closing_line(), "1 passed, 0 failed")


def test_a_test_is_skipped_if_it_ran_nowhere():
    skipping = a_job(skips=1)
    skipped = "1..1\nok 1 copy.edu.a # SKIP no device\n"
    equal(total_of((skipping, skipped)).closing_line(), "0 passed, 0 failed, 1 skipped")
    equal(total_of((skipping, skipped), (a_job("b"), "1..1\nok 1 copy.ring.a\n")).closing_line(),
          "1 passed, 0 failed")


def test_problems_count_as_failures():
    equal(total_of((a_job(), "1..2\nok 1 a\n")).closing_line(), "1 passed, 1 failed")


def test_totals_survive_a_file():
    total = total_of((a_job(), "1..1\n# tries: a 3\nok 1 a\n"))
    copied = results.Total.from_json(total.to_json())
    equal(copied.closing_line(1), "1 passed, 0 failed, 1 run again")
    equal(copied.tries, {"a": 3})


def test_tries_are_added_up():
    report = results.read_tap("1..1\n# tries: wait.race 2\n# tries: wait.race 4\nok 1 a\n")
    equal(report.tries, {"wait.race": 6})


# --- running them ----------------------------------------------------------------------------

def outcomes_of(listed, until=None, expected=lambda job: 0):
    """{name: Outcome}, with logs in a folder of their own."""
    with tempfile.TemporaryDirectory() as logs:
        kept, runner.LOGS = runner.LOGS, logs
        try:
            active = runner.Runner(listed, expected, until)
            active.start()
            found = [active.finished.get() for _ in listed]
            return {one.job.name: one for one in found}, sorted(os.listdir(logs))
        finally:
            runner.LOGS = kept


def shell(name, script, **more):
    return a_job(name, ("sh", "-c", script), **more)


def test_jobs_run_and_report():
    found, logs = outcomes_of([shell("good", "echo ok; exit 0"), shell("bad", "exit 3"),
                               a_job("none", ("/no/such/program",))])
    equal((found["good"].text, found["good"].code), ("ok\n", 0))
    equal(found["bad"].code, 3)
    equal(found["none"].code, 126)
    equal(logs, ["bad.log", "good.log", "none.log"])


def test_a_job_that_hangs_is_ended():
    found, _ = outcomes_of([shell("hangs", "sleep 1000", limit=1)])
    equal(found["hangs"].code, 124)
    assert "ended after 1 s" in found["hangs"].text


def test_a_fault_of_qemu_is_run_again_and_both_logs_are_kept():
    text = "qemu/run: QEMU ended with signal 11: "
    found, logs = outcomes_of([shell("crashes", f"echo '{text}'; exit 125")])
    assert found["crashes"].again.startswith("qemu/run: QEMU ended with signal 11")
    equal(logs, ["crashes.again.log", "crashes.log"])


def test_what_has_no_time_is_not_started():
    found, logs = outcomes_of([shell("short", "true"), shell("long", "true")],
                              until=time.time() + 100,
                              expected=lambda job: 1000 if job.name == "long" else 1)
    assert found["short"].started and not found["long"].started
    equal(logs, ["short.log"])


def test_what_runs_when_the_time_is_over_is_ended():
    found, _ = outcomes_of([shell("endless", "sleep 1000")], until=time.time() + 1)
    assert found["endless"].ended


def test_room_for_jobs():
    """Two that fill the machine run one after the other."""
    with tempfile.TemporaryDirectory() as there:
        script = f"mkdir {there}/x || exit 1; sleep 0.3; rmdir {there}/x"
        found, _ = outcomes_of([shell("a", script, load=4), shell("b", script, load=4)])
    equal([found[name].code for name in "ab"], [0, 0])


def test_how_long_a_job_took_is_remembered():
    with tempfile.TemporaryDirectory() as cache:
        kept = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = cache
        try:
            first = history.History()
            equal(first.of("job", 7), 7)
            first.note("job", 12.34)
            first.save()
            equal(history.History().of("job", 7), 12.3)
            with open(history.path(), "w", encoding="ascii") as file:
                file.write("[not json")
            equal(history.History().of("job", 7), 7)
        finally:
            os.environ.pop("XDG_CACHE_HOME")
            if kept is not None:
                os.environ["XDG_CACHE_HOME"] = kept


def test_every_job_has_a_name_of_its_own():
    found = [job.name for job in jobs.JOBS]
    equal(len(found), len(set(found)))
    assert {job.tier for job in jobs.JOBS} <= set(jobs.TIERS)
    assert jobs.UNSEEN <= set(found)
