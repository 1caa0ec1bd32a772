# SPDX-License-Identifier: MIT
"""What jobs leave for `make versions`: build/check/JOB.json."""

import json
import os
import time

from . import results
from .jobs import LOGS


def _write(name, data):
    path = os.path.join(LOGS, name + ".json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({"date": time.strftime("%Y-%m-%d", time.gmtime()), **data}, file)
    os.replace(path + ".new", path)


def ended(name, report):
    """Of a job that has run: the numbers of its results. A problem without a result is a failure."""
    _write(name, {"passed": len(report.of(results.PASSED)), "failed": report.failures,
                  "skipped": len(report.of(results.SKIPPED))})


def not_run(name, why):
    """Of a job that this machine cannot run."""
    _write(name, {"not_run": why})


def read(name):
    """What a job has left, or None."""
    try:
        with open(os.path.join(LOGS, name + ".json"), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None
