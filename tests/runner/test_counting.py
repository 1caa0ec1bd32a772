# SPDX-License-Identifier: MIT
"""Tests of tests/check: how it counts, orders, runs again and ends in time."""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)

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
    equal(qemu_faults.find("".join(f"E         {line}\n" for line in oops.splitlines())),
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
    total.note(runner.Outcome(a_job(), again="a crash", rebooted=["a panic"]))
    copied = results.Total.from_json(total.to_json())
    equal(copied.closing_line(), "1 passed, 0 failed, 1 run again, 1 booted twice")
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
    found, _ = outcomes_of([shell("endless", "sleep 1000")], until=time.time() + 10)
    assert found["endless"].ended


def test_room_for_jobs():
    """Two that fill the machine run one after the other."""
    with tempfile.TemporaryDirectory() as there:
        script = f"mkdir {there}/x || exit 1; sleep 0.3; rmdir {there}/x"
        found, _ = outcomes_of([shell("a", script, load=4), shell("b", script, load=4)])
    equal([found[name].code for name in "ab"], [0, 0])


def test_a_job_without_room_lets_others_pass(tmp_path):
    """But not where time is limited: then the order is one of priority."""
    wait = f"until [ -e {tmp_path}/small ]; do sleep 0.01; done"
    for until, passes in ((None, True), (time.time() + 100, False)):
        first = shell("first", wait if passes else "true", load=3, limit=60)
        large = shell("large", f"[ -e {tmp_path}/small ] || touch {tmp_path}/large", load=4)
        small = shell("small", f"touch {tmp_path}/small", load=1)
        found, _ = outcomes_of([first, large, small], until)
        equal([found[name].code for name in ("first", "large", "small")], [0, 0, 0])
        equal((tmp_path / "large").exists(), not passes)
        for path in tmp_path.iterdir():
            path.unlink()


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


def test_a_covered_job_runs_in_its_own_tier_only():
    for job in filter(lambda job: job.covered, jobs.JOBS):
        equal([tier for tier in jobs.TIERS if job in jobs.of_tier(tier)], [job.tier])


# --- tests/check itself, with other jobs -------------------------------------------------------

WITH_JOBS = """
import json, runpy, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "tests")
from checks import jobs
jobs.JOBS = [jobs.Job(**job) for job in json.loads(sys.argv.pop())]
runpy.run_path("tests/check", run_name="__main__")
"""


def check(there, listed, *arguments):
    """What it prints, and its exit status. `there` is its build folder, and where it finds programs
    first."""
    given = json.dumps([dataclasses.asdict(job) for job in listed])
    result = subprocess.run(
        [sys.executable, "-c", WITH_JOBS, *arguments, given], cwd=os.path.dirname(TESTS),
        env={**os.environ, "BUILD": str(there), "XDG_CACHE_HOME": str(there),
             "PATH": f"{there}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=600, check=False)
    return result.stdout.decode().splitlines(), result.returncode


def contains(lines, line):
    assert line in lines, "\n".join([f"there is no {line!r} in:", *lines])


def booting_twice(name, *reasons):
    """A job whose guests boot twice, for these reasons."""
    return shell(name, "".join(f"echo '{reason}' >>$PACCEL_BOOTED_TWICE; " for reason in reasons))


def test_guests_that_booted_twice_are_shown_and_counted(tmp_path):
    lines, code = check(tmp_path, [booting_twice("booted", "Kernel panic - not syncing: x", "y"),
                                   shell("other", "test ! -s $PACCEL_BOOTED_TWICE")],
                        "--tier", "check")
    contains(lines, "       booted twice: Kernel panic - not syncing: x")
    contains(lines, "       booted twice: y")
    equal((lines[-1], code), ("2 passed, 0 failed, 2 booted twice", 0))


def test_a_guest_that_booted_twice_is_counted_whatever_the_job_prints(tmp_path):
    """The runner of tests/check tells qemu/run where to say so, and pytest shows nothing of it."""
    (tmp_path / "test_it.py").write_text(f"""
import importlib.util, sys
from importlib.machinery import SourceFileLoader
sys.path.insert(0, {os.path.join(os.path.dirname(TESTS), "qemu")!r})
loader = SourceFileLoader("qemu_run", {os.path.join(os.path.dirname(TESTS), "qemu/run")!r})
qemu_run = importlib.util.module_from_spec(importlib.util.spec_from_loader("qemu_run", loader))
loader.exec_module(qemu_run)


class Session:
    def __init__(self, chosen):
        self.chosen = chosen

    def run(self):
        if not self.chosen.boots_once:
            raise qemu_run.session.DiedBooting("two\\nlines")
        return 0


class Chosen:
    boots_once = False


def test_it(monkeypatch):
    monkeypatch.setattr(qemu_run.session, "Session", Session)
    assert qemu_run.run(Chosen()) == 0
""")
    command = f"{sys.executable} -B -m pytest -q -rA -p no:cacheprovider {tmp_path}/test_it.py"
    lines, code = check(tmp_path, [shell("pytest", command)], "--tier", "check")
    contains(lines, "       booted twice: two; lines")
    equal((lines[-1], code), ("1 passed, 0 failed, 1 booted twice", 0))


def test_more_than_two_guests_that_booted_twice_are_a_failure(tmp_path):
    listed = [booting_twice("a", "x", "y"), booting_twice("b", "z")]
    lines, code = check(tmp_path, listed, "--tier", "check")
    contains(lines, "FAIL 3 guests booted twice; more than 2 are a failure")
    equal((lines[-1], code), ("2 passed, 1 failed, 3 booted twice", 1))


def test_guests_of_the_rest_that_booted_twice_are_added(tmp_path):
    listed = [booting_twice("a", "x", "y"), of_full(booting_twice("b", "z"))]
    lines, code = check(tmp_path, listed, "--tier", "check")
    equal((lines[-1], code), ("1 passed, 0 failed, 2 booted twice", 0))
    lines, code = check(tmp_path, listed, "--rest", "full")
    equal((lines[-1], code), ("2 passed, 1 failed, 3 booted twice", 1))


CRASH = "qemu/run: QEMU ended with signal 11: "


def crashing(there, name):
    """A guest that meets a fault of QEMU in its first run; each run leaves a kernel log."""
    klog = f"{there}/check/{name}.klog"
    return shell(name, f"echo of $$ >{klog}; mkdir {there}/{name} || exit 0; echo '{CRASH}'; exit 125")


def test_more_than_two_jobs_run_again_are_a_failure(tmp_path):
    for names_of_jobs, last, code in ((("a", "b"), "2 passed, 0 failed, 2 run again", 0),
                                      (("c", "d", "e"), "3 passed, 1 failed, 3 run again", 1)):
        found = check(tmp_path, [crashing(tmp_path, name) for name in names_of_jobs], "--tier", "check")
        equal((found[0][-1], found[1]), (last, code))
    contains(found[0], "FAIL 3 jobs met a fault of QEMU; more than 2 are none")


def test_both_kernel_logs_of_a_job_run_again_are_kept(tmp_path):
    check(tmp_path, [crashing(tmp_path, "a")], "--tier", "check")
    logs = sorted((tmp_path / "check").glob("a.*log"))
    equal([path.name for path in logs], ["a.again.klog", "a.again.log", "a.klog", "a.log"])
    assert logs[0].read_text() != logs[2].read_text()


def of_full(job):
    return dataclasses.replace(job, tier="full")


def a_program(there, name, script):
    """What a program is for tests/check."""
    (there / name).write_text("#!/bin/sh\n" + script)
    (there / name).chmod(0o755)


def took(there, **seconds):
    """How long jobs took the last time."""
    (there / "paccel").mkdir(exist_ok=True)
    (there / "paccel/job-seconds.json").write_text(json.dumps(seconds))


def test_a_run_that_does_not_get_to_its_end_fails_the_rest_too(tmp_path):
    a_program(tmp_path, "make", "exit 2")
    rest = of_full(shell("rest", "true"))
    for early, last in ((shell("early", "true"), "2 passed, 0 failed"),
                        (shell("early", "true", setup=("nosuch",)), "1 passed, 1 failed"),
                        (shell("early", "true", builds=("nosuch",)), "1 passed, 1 failed"),
                        (shell("early", "kill -KILL $PPID"), "1 passed, 1 failed")):
        lines, code = check(tmp_path, [early, rest], "--tier", "check")
        equal(code == 0, last.endswith("0 failed"))
        if early.setup or early.builds:
            equal(lines[-1], "0 passed, 1 failed")
        lines, code = check(tmp_path, [early, rest], "--rest", "full")
        equal((lines[-1], code == 0), (last, last.endswith("0 failed")))


def test_what_failed_is_named_at_the_end_of_both_parts(tmp_path):
    listed = [shell("good", "true"), shell("early", "echo 'not ok 1 copy.edu.rows'; echo 1..1; exit 1"),
              of_full(shell("rest", "exit 3"))]
    lines, _ = check(tmp_path, listed, "--tier", "check")
    equal(lines[-3], "failed: early: copy.edu.rows")
    lines, _ = check(tmp_path, listed, "--rest", "full")
    equal(lines[-4:-2], ["failed: early: copy.edu.rows", "failed: rest: ended with status 3"])


def test_a_rest_that_cannot_be_built_is_added_as_a_failure(tmp_path):
    listed = [shell("early", "true"), of_full(shell("rest", "true", setup=("nosuch",)))]
    check(tmp_path, listed, "--tier", "check")
    lines, code = check(tmp_path, listed, "--rest", "full")
    contains(lines, "FAIL `qemu/setup nosuch` failed: rest did not run")
    equal((lines[-1], code), ("1 passed, 1 failed", 1))


def test_jobs_run_whose_set_up_has_not_failed(tmp_path):
    listed = [shell("a", "true", setup=("nosuch",)), shell("b", "true")]
    lines, code = check(tmp_path, listed, "a", "b")
    contains(lines, "FAIL `qemu/setup nosuch` failed: a did not run")
    equal((lines[-1], code), ("1 passed, 1 failed", 1))


def test_nothing_begins_when_the_time_is_over(tmp_path):
    a_program(tmp_path, "make", f"touch {tmp_path}/built")
    late = shell("late", "true", setup=("nosuch",), builds=("nosuch",))
    lines, code = check(tmp_path, [late], "--tier", "check", "--until", "1")
    contains(lines, "not started for lack of time: late")
    equal((lines[-1], code), ("0 passed, 1 failed", 1))
    assert not (tmp_path / "built").exists()
    assert not (tmp_path / "check/late.log").exists()


def test_no_build_begins_when_set_up_took_all_the_time(tmp_path):
    a_program(tmp_path, "make", f"touch {tmp_path}/built")
    # qemu/setup asks it.
    a_program(tmp_path, "nproc", "sleep 3; echo 1")
    lines, code = check(tmp_path, [shell("late", "true", setup=("--help",), builds=("it",))],
                        "--tier", "check", "--until", str(time.time() + 2))
    contains(lines, "not started for lack of time: late")
    equal((lines[-1], code), ("0 passed, 1 failed", 1))
    assert not (tmp_path / "built").exists()


def test_only_the_rest_may_be_cut_short(tmp_path):
    took(tmp_path, a=1, c=1)
    listed = [shell("a", "true"), shell("b", "true"), of_full(shell("c", "true")),
              of_full(shell("d", "true"))]
    soon = ["--until", str(time.time() + 100)]
    for options, missing, last, code in (
            (["--tier", "check"], None, "2 passed, 0 failed", 0),
            (["--rest", "full", *soon], "d", "3 passed, 0 failed", 0),
            (["--tier", "check", *soon], "b", "1 passed, 1 failed", 1),
            (["--rest", "full"], None, "3 passed, 1 failed", 1)):
        took(tmp_path, a=1, c=1)
        lines, got = check(tmp_path, listed, *options)
        equal([line for line in lines if "lack of time: " in line],
              [f"not started for lack of time: {missing}"] if missing else [])
        equal((lines[-1], got), (last, code))


def test_a_job_of_check_that_is_ended_for_lack_of_time_is_a_failure(tmp_path):
    took(tmp_path, endless=0)
    # Time enough to start it, on a busy host too.
    lines, code = check(tmp_path, [shell("endless", "sleep 1000")],
                        "--tier", "check", "--until", str(time.time() + 10))
    contains(lines, "not finished for lack of time: endless")
    equal((lines[-1], code), ("0 passed, 1 failed", 1))


def test_the_long_jobs_first_and_the_rest_by_priority(tmp_path):
    listed = [shell(name, f"echo {name} >>{tmp_path}/order", load=runner.ROOM) for name in "abc"]
    listed += [of_full(dataclasses.replace(job, name=job.name + "-rest")) for job in listed]
    took(tmp_path, **{job.name: number for number, job in enumerate(listed)})
    later = ["--until", str(time.time() + 1000)]
    for options, order in ((["--tier", "check"], "cba"), (["--tier", "check", *later], "cba"),
                           (["--rest", "full", *later], "abc")):
        check(tmp_path, listed, *options)
        equal((tmp_path / "order").read_text().split(), list(order))
        (tmp_path / "order").unlink()
        took(tmp_path, **{job.name: number for number, job in enumerate(listed)})


def submission(there, make):
    """What .ci/run prints with such a make, as words, and its exit status."""
    a_program(there, "make", make)
    result = subprocess.run([os.path.join(os.path.dirname(TESTS), ".ci/run")],
                            env={**os.environ, "BUILD": str(there),
                                 "PATH": f"{there}:{os.environ['PATH']}"},
                            stdout=subprocess.PIPE, timeout=600, check=False)
    return result.stdout.decode().split(), result.returncode


def test_both_parts_of_a_submission_end_at_the_same_time(tmp_path):
    now = time.time()
    said, code = submission(tmp_path,
                            'mkdir -p "$BUILD/check"; touch "$BUILD/check/counts.json"; echo "$@"\n')
    until = said[1].removeprefix("UNTIL=")
    equal((said, code), (["check", f"UNTIL={until}", "check-rest", f"UNTIL={until}"], 0))
    assert 0 <= int(until) - int(now) - 74 * 60 < 60


def test_a_submission_whose_first_part_does_not_begin(tmp_path):
    said, code = submission(tmp_path, "exit 2\n")
    equal((said, code), ("0 passed, 1 failed".split(), 1))


def test_make_passes_the_end_of_time_on():
    for target, options in (("check", "--tier check"), ("check-rest", "--rest full")):
        for setting, until in (["UNTIL=5"], " --until 5"), ([], ""):
            said = subprocess.run(["make", "-s", "-n", target, *setting], cwd=os.path.dirname(TESTS),
                                  stdout=subprocess.PIPE, check=True).stdout.decode()
            equal(said.strip(), f"tests/check {options}{until}")
