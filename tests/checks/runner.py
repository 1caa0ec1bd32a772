# SPDX-License-Identifier: MIT
"""Runs jobs, several at a time."""

import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field

from . import qemu_faults
from .jobs import LOGS

# What two processors do at once, in halves of a processor (Job.load).
ROOM = 4


@dataclass
class Outcome:
    """Of one job: what it printed, its exit status, how long it took, why it ran twice (or ""), and
    for each of its guests that booted twice the reason. `started` is false for a job that was not
    started for lack of time; `ended` is true for one that ran when the time was over."""

    job: object
    text: str = ""
    code: int = 0
    seconds: float = 0
    again: str = ""
    rebooted: list = field(default_factory=list)
    started: bool = True
    ended: bool = False


class Runner:
    """Takes jobs in order until there is none; several threads do so at once. A job starts as soon
    as there is room for its load; one for which there is none lets later ones pass. Where the run has
    to be over at `until` none passes, as the order is one of priority, and a job starts only if it can
    be expected to end before."""

    def __init__(self, jobs, expected, until=None):
        self.waiting = list(jobs)
        self.expected = expected
        self.until = until
        self.room = ROOM
        self.changed = threading.Condition()
        self.finished = queue.SimpleQueue()
        self.running = set()
        self.lock = threading.Lock()
        self.stopped = False
        self.time_is_over = False

    def start(self):
        for _ in range(ROOM):
            threading.Thread(target=self._work, daemon=True).start()
        if self.until is not None:
            timer = threading.Timer(max(0, self.until - time.time()), self._end_of_time)
            timer.daemon = True
            timer.start()

    def _end_of_time(self):
        self.time_is_over = True
        self.stop()

    def _has_time(self, job):
        return self.until is None or time.time() + self.expected(job) < self.until

    def _first_that_fits(self):
        candidates = self.waiting if self.until is None else self.waiting[:1]
        return next((job for job in candidates if job.load <= self.room), None)

    def _take(self):
        """A job as soon as there is room for one; None if there is no job."""
        with self.changed:
            while True:
                while self.waiting and not self._has_time(self.waiting[0]):
                    self.finished.put(Outcome(self.waiting.pop(0), started=False))
                if not self.waiting:
                    return None
                if job := self._first_that_fits():
                    break
                self.changed.wait()
            self.waiting.remove(job)
            self.room -= job.load
            return job

    def _give_back(self, job):
        with self.changed:
            self.room += job.load
            self.changed.notify_all()

    def _work(self):
        while job := self._take():
            start = time.monotonic()
            outcome = Outcome(job)
            self._run(outcome, job.name)
            outcome.again = qemu_faults.find(outcome.text) or ""
            if outcome.again and not self.stopped:
                # Both logs are kept.
                self._run(outcome, f"{job.name}.again")
            outcome.ended = self.time_is_over
            outcome.seconds = time.monotonic() - start
            self._give_back(job)
            self.finished.put(outcome)

    def _run(self, outcome, name):
        job = outcome.job
        # qemu/run writes a line into the second file for each guest that it boots twice: the job's
        # own output need not show it, since pytest keeps that of a test that passes.
        with (open(os.path.join(LOGS, name + ".log"), "w+b") as log,
              tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as booted_twice):
            with self.lock:
                if self.stopped:
                    outcome.text, outcome.code = "", 1
                    return
                process = self._start(job, name, log, booted_twice.name)
            try:
                outcome.code = process.wait(timeout=job.limit)
            except subprocess.TimeoutExpired:
                end(process)
                outcome.code = 124
                log.write(f"\nended after {job.limit} s\n".encode())
            with self.lock:
                self.running.discard(process)
            log.seek(0)
            outcome.text = log.read().decode("utf-8", "replace")
            outcome.rebooted += booted_twice.read().splitlines()

    def _start(self, job, name, log, booted_twice):
        # The kernel log of a second run has a name of its own, too.
        command = [word.replace(f"{LOGS}/{job.name}.klog", f"{LOGS}/{name}.klog")
                   for word in job.command]
        try:
            # A session of its own, so that all of a job can be ended.
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=subprocess.STDOUT, start_new_session=True,
                                       env={**os.environ, "PACCEL_BOOTED_TWICE": booted_twice})
        except OSError as error:
            process = subprocess.Popen(["sh", "-c", 'echo "$1"; exit 126', "sh", str(error)],
                                       stdout=log)
        self.running.add(process)
        return process

    def stop(self):
        """Ends all that runs; nothing else starts."""
        with self.lock:
            self.stopped = True
            processes = list(self.running)
        for process in processes:
            end(process)


def end(process):
    """SIGTERM first: qemu/run then ends its guest."""
    for number, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(timeout=patience)
            return
        except subprocess.TimeoutExpired:
            pass
