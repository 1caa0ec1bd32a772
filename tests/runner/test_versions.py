# SPDX-License-Identifier: MIT
"""Tests of tests/versions: the tables are what the jobs of tests/check have left."""

import json
import os
import subprocess

from guests import TOP, contains, equal
from test_counting import check, shell

STOCK = ("[    0.000000] Linux version 6.12.9+deb12-amd64 (a@b) (gcc-12, ld (Binutils) 2.40) #1 SMP "
         "PREEMPT_DYNAMIC Debian 6.12.9-1~deb12u1 (2026-01-02)\r\n")
OWN = "[    0.000000] Linux version 6.12.8 (a@b) (gcc-12, ld) #1 SMP PREEMPT_DYNAMIC Fri Jan 2 2026\r\n"
NEWER = STOCK.replace("6.12.9", "7.10.1")


def emulator(version, architecture="x86_64"):
    return f"word\nqemu/run: QEMU {version} (Debian 1:{version}+dfsg-7), {architecture}\n"


def leave(build, name, numbers, klog="", log=""):
    """What a job leaves."""
    folder = build / "check"
    folder.mkdir(exist_ok=True)
    data = numbers if isinstance(numbers, dict) else dict(zip(("passed", "failed", "skipped"), numbers))
    (folder / f"{name}.json").write_text(json.dumps({"date": "2026-01-02", **data}))
    (folder / f"{name}.klog").write_text(klog, newline="")
    (folder / f"{name}.log").write_text(log)


def versions(build, *words):
    result = subprocess.run([os.path.join(TOP, "tests/versions"), *words], capture_output=True, text=True,
                            check=False, env={**os.environ, "BUILD": str(build)})
    equal((result.returncode, result.stderr), (0, ""))
    return result.stdout


def test_results_of_one_kernel_and_qemu_are_added(tmp_path):
    guest = STOCK + emulator("7.2.9")
    leave(tmp_path, "kselftest-6.12-edu", (100, 0, 2), guest)
    leave(tmp_path, "races-6.12", (20, 1, 0), guest)
    leave(tmp_path, "kselftest-6.12-ring", (300, 0, 1), guest)
    leave(tmp_path, "library-6.12", (7, 0, 0), guest)
    contains(versions(tmp_path), "| x86_64 | 6.12.9-1~deb12u1 (`6.12`) | 7.2.9 | **1 failed**, 120 passed, 2 skipped "
                                 "| 300 passed, 1 skipped | 7 passed | 2026-01-02 |\n")


def test_each_kernel_and_qemu_has_a_row(tmp_path):
    leave(tmp_path, "kselftest-newest-edu", (1, 0, 0), NEWER + emulator("7.2.9"))
    leave(tmp_path, "kselftest-6.1-edu", (1, 0, 0), STOCK + emulator("11.0.1"))
    leave(tmp_path, "kselftest-6.12-edu", (1, 0, 0), STOCK + emulator("7.2.9"))
    leave(tmp_path, "kselftest-debug-edu", (1, 0, 0), OWN + emulator("7.2.9"))
    leave(tmp_path, "unit-python", (1, 0, 0))
    rows = [line.split(" | ")[:3] for line in versions(tmp_path).splitlines() if line.startswith("| x86_64")]
    equal(rows, [["| x86_64", "6.12.8 (`debug`)", "7.2.9"],
                 ["| x86_64", "6.12.9-1~deb12u1 (`6.1`)", "11.0.1"],
                 ["| x86_64", "6.12.9-1~deb12u1 (`6.12`)", "7.2.9"],
                 ["| x86_64", "7.10.1-1~deb12u1 (`newest`)", "7.2.9"]])


def test_header_packages(tmp_path):
    line = "ok 4 trixie-backports 7.10: the modules build without a warning with linux-headers-7.10.1-amd64\n"
    other = line.replace("ok 4", "not ok 5").replace("7.10", "7.9")
    leave(tmp_path, "headers-trixie", (1, 1, 0), log=f"ok 1 x\n{line}{other}# 1 failed\n")
    contains(versions(tmp_path), "| 7.9 | trixie-backports | 7.9.1-amd64 | **failed** | 2026-01-02 |\n"
                                 "| 7.10 | trixie-backports | 7.10.1-amd64 | no warning | 2026-01-02 |\n")


def test_a_job_that_this_machine_cannot_run_is_named(tmp_path):
    leave(tmp_path, "kselftest-newest-edu", {"not_run": "only root can"})
    contains(versions(tmp_path), "| `kselftest-newest-edu` | only root can | 2026-01-02 |\n")


def test_what_jobs_leave(tmp_path):
    check(tmp_path, [shell("a", "echo 1..2; echo ok 1 a; echo not ok 2 b; exit 1")], "a")
    left = json.loads((tmp_path / "check/a.json").read_text())
    equal([left[what] for what in ("passed", "failed", "skipped")], [1, 1, 0])


def test_a_page_gets_the_tables(tmp_path):
    leave(tmp_path, "kselftest-6.12-edu", (1, 0, 0), STOCK + emulator("7.2.9"))
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- tests/versions -->\nold\n<!-- end -->\nafter\n")
    equal(versions(tmp_path, str(page)), "")
    equal(page.read_text(), f"before\n<!-- tests/versions -->\n\n{versions(tmp_path)}\n<!-- end -->\nafter\n")
