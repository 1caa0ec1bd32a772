# SPDX-License-Identifier: MIT
"""What a job reports: results of tests, read from its output, and the verdict on the job.

A job prints TAP, or pytest's report, or counts as one test by its exit status.
"""

import itertools
import re
from dataclasses import dataclass, field

from . import names
from .pytest_results import explain_pytest, read_pytest

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass
class Report:
    """Of one job. `results` is (name, outcome, reason); `problems` are failures that no result
    stands for; `tries` is {test: how often it was tried}."""

    suite: str = ""
    results: list = field(default_factory=list)
    problems: list = field(default_factory=list)
    tries: dict = field(default_factory=dict)

    def of(self, outcome):
        return [(name, reason) for name, found, reason in self.results if found == outcome]

    @property
    def failures(self):
        return len(self.of(FAILED)) + len(self.problems)


RESULT = re.compile(r"(not )?ok (\d+)\s*(?:-\s+)?(.*)$")
PLAN = re.compile(r"1\.\.(\d+)\s*(?:#\s*(SKIP.*))?$", re.IGNORECASE)
SKIP = re.compile(r"(.*?)\s*#\s*SKIP\S*\s*(.*)$", re.IGNORECASE)
TRIES = re.compile(r"# tries: (\S+) (\d+)$")


def _tap_result(match):
    skip = SKIP.match(match.group(3))
    if match.group(1):
        return match.group(3), FAILED, ""
    if skip:
        return skip.group(1), SKIPPED, skip.group(2)
    return match.group(3), PASSED, ""


def read_tap(text, suite=""):
    """Unindented results only. One output may hold several plans, of several programs; the sum of
    the plans must be the number of results."""
    report = Report(suite)
    planned = None
    ran = 0
    for line in text.splitlines():
        plan = PLAN.match(line)
        result = RESULT.match(line)
        tries = TRIES.match(line)
        if plan:
            planned = (planned or 0) + int(plan.group(1))
            if plan.group(2):
                report.results.append((suite, SKIPPED, plan.group(2)))
        elif line.startswith("Bail out!"):
            report.problems.append(line)
        elif result:
            ran += 1
            report.results.append(_tap_result(result))
        elif tries:
            report.tries[tries[1]] = report.tries.get(tries[1], 0) + int(tries[2])
    if ran and planned is None:
        report.problems.append("there is no plan (1..N)")
    elif planned is not None and planned != ran:
        report.problems.append(f"{planned} tests were planned, {ran} were run")
    return report


def explain(text):
    """The results that failed with the lines of detail around them: some programs print these
    before the result, some after it."""
    def is_detail(line):
        return line.startswith(("#", "not ok"))

    found = []
    for detail, lines in itertools.groupby(text.splitlines(), is_detail):
        block = list(lines)
        if detail and any(line.startswith("not ok") for line in block):
            found += block
    return found + explain_pytest(text)


# The last line of qemu/run is the reason, if its exit status says that the guest failed and not
# the command in it.
RUNNER = re.compile(r"^(qemu/run: .*)$", re.MULTILINE)
RUNNER_FAILED = (124, 125)


def judge(job, text, code):
    """The report of a job that printed `text` and ended with `code`."""
    report = read_tap(text, job.suite)
    found, problems = read_pytest(text)
    report.results += found
    report.problems += problems
    empty = not (report.results or report.problems)
    if code in RUNNER_FAILED and (sentences := RUNNER.findall(text)):
        report.problems.append(sentences[-1])
    elif code and not report.failures:
        report.problems.append(f"ended with status {code}")
    elif empty:
        report.results.append((job.name, PASSED, ""))
    skipped = len(report.of(SKIPPED))
    if skipped != job.skips:
        report.problems.append(f"{skipped} tests skipped, {job.skips} expected")
    return report


@dataclass
class Total:
    """Of all jobs: each test counts once, however many kernels, devices and compilers ran it. It has
    passed if it passed somewhere and failed nowhere. `again` is the number of jobs that ran twice,
    `rebooted` that of guests that booted twice. `failures` has each failure with its job."""

    outcomes: dict = field(default_factory=dict)
    results: int = 0
    tries: dict = field(default_factory=dict)
    again: int = 0
    rebooted: int = 0
    failures: list = field(default_factory=list)

    def add(self, job, report):
        for name, outcome, _ in report.results:
            self.outcomes.setdefault(names.identity(job.suite, name), set()).add(outcome)
            if outcome == FAILED:
                self.failures.append(f"{job.name}: {name}")
        for problem in report.problems:
            self.fail(f"{job.name}: {problem}")
        self.results += len(report.results)
        for test, tries in report.tries.items():
            self.tries[test] = self.tries.get(test, 0) + tries

    def note(self, outcome):
        """What a job met that is no failure of it."""
        self.again += bool(outcome.again)
        self.rebooted += len(outcome.rebooted)

    def fail(self, why):
        self.outcomes.setdefault(why, set()).add(FAILED)
        self.failures.append(why)

    def count(self, outcome):
        order = (FAILED, PASSED, SKIPPED)
        return sum(next(one for one in order if one in found) == outcome
                   for found in self.outcomes.values())

    def to_json(self):
        return {"outcomes": {test: sorted(found) for test, found in self.outcomes.items()},
                "results": self.results, "tries": self.tries,
                "again": self.again, "rebooted": self.rebooted, "failures": self.failures}

    @classmethod
    def from_json(cls, data):
        return cls({test: set(found) for test, found in data["outcomes"].items()},
                   data["results"], data["tries"], data["again"], data["rebooted"],
                   data["failures"])

    def closing_line(self):
        """What the last line of a run says."""
        line = f"{self.count(PASSED)} passed, {self.count(FAILED)} failed"
        if skipped := self.count(SKIPPED):
            line += f", {skipped} skipped"
        if self.again:
            line += f", {self.again} run again"
        return line + (f", {self.rebooted} booted twice" if self.rebooted else "")
