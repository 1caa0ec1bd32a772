# SPDX-License-Identifier: MIT
"""What tests/check prints about jobs."""

from . import results
from .jobs import LOGS

# Lines about failed tests of a job that are printed: often all that there is to read.
DETAILS = 200
END = 80


def say(text):
    print(text, flush=True)


def minutes(seconds):
    return f"{seconds / 60:.1f} min"


def _show(title, name, lines):
    if lines:
        say(f"       {title} {LOGS}/{name}.log:")
    for line in lines:
        say(f"       | {line}")


def show_job(outcome, report):
    job = outcome.job
    numbers = f"{len(report.of(results.PASSED))} passed"
    if report.failures:
        numbers += f", {report.failures} failed"
    if skipped := report.of(results.SKIPPED):
        numbers += f", {len(skipped)} skipped"
    word = "FAIL" if report.failures else "ok"
    say(f"{word:5}{job.name:24}{minutes(outcome.seconds):>9}   {numbers}")
    if outcome.again:
        say(f"       run again, for a fault of QEMU: {outcome.again}")
    for reason in outcome.rebooted:
        say(f"       booted twice: {reason}")
    for test, tries in report.tries.items():
        say(f"       {test}: {tries} tries")
    for name, reason in skipped:
        say(f"       skipped: {name}: {reason}")
    if not report.failures:
        return
    for line in [name for name, _ in report.of(results.FAILED)] + report.problems:
        say(f"       failed: {line}")
    last = f"{job.name}.again" if outcome.again else job.name
    _show("what failed, in", last, results.explain(outcome.text)[:DETAILS])
    _show("the end of", last, outcome.text.splitlines()[-END:])


def show_unstarted(names, why):
    if names:
        say(f"{why} for lack of time: {' '.join(names)}")
