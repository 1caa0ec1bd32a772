# SPDX-License-Identifier: MIT
"""Searches a kernel log for what should not be in it.

A test that causes a report on purpose says so in /dev/kmsg:

    paccel-test: expect-warning begin REGEX
    paccel-test: expect-warning end

Between the two, reports whose first line matches REGEX are not counted, and there
must be at least one. With allow-warning there need not be one.
"""

import re

from .reports import REPORT, TRACE

MARK = re.compile(r"paccel-test: (expect|allow)-warning (begin (.*)|end)\s*$")

# The DMA-API debugger reports a mapping that was kept each time that a driver leaves the device.
KEPT = re.compile(r"DMA-API: \S+ (\S+: device driver has pending DMA allocations .*\[count=\d+\])")


class _Window:
    """The part of the log between begin and end."""

    def __init__(self, kind, pattern):
        self.expected = kind == "expect"
        self.pattern = re.compile(pattern)
        self.seen = False


class Reports:
    """The first lines of all reports of a log: those that no window allows, the others, and
    complaints about windows."""

    def __init__(self, text):
        self.found = []
        self.allowed = []
        self.window = None
        self.in_report = False
        # Reports of several processors may be mixed: how many of them have not ended.
        self.open = 0
        self.kept = set()
        self.kept_again = False
        for line in text.splitlines():
            self._read(line)
        if self.window:
            self.found.append(f"an expected warning has no end: {self.window.pattern.pattern}")

    def _read(self, line):
        mark = MARK.search(line)
        if mark:
            self._change_window(mark)
        elif "[ cut here ]" in line:
            self.open += 1
        elif REPORT.search(line):
            self._count(line)
        elif TRACE.search(line):
            if not self.in_report:
                self.found.append(line)
            if "end trace" in line:
                self.open = max(self.open - 1, 0)
            self.in_report = "end trace" not in line or self.open > 0

    def _change_window(self, mark):
        self.in_report = False
        self.open = 0
        window, self.window = self.window, None
        if mark.group(2) != "end":
            if window:
                self.found.append(f"an expected warning has no end: {window.pattern.pattern}")
            self.window = _Window(mark.group(1), mark.group(3))
        elif window and window.expected and not window.seen:
            self.found.append(f"expected, but never seen: {window.pattern.pattern}")

    def _count(self, line):
        self.in_report = True
        allowed = self.window and self.window.pattern.search(line)
        if allowed:
            self.window.seen = True
        known = self._is_kept_again(line, allowed)
        (self.allowed if allowed or known else self.found).append(line)

    def _is_kept_again(self, line, allowed):
        """A report is of two lines here. The count is in the first, so one more mapping is a new report."""
        kept = KEPT.search(line)
        if kept and allowed:
            self.kept.add(kept[1])
        second = self.kept_again and " dma_debug_device_change+" in line
        self.kept_again = bool(kept) and kept[1] in self.kept
        return self.kept_again or second


def search(text):
    """Returns the lines that start a report nobody expects."""
    return Reports(text).found


def panic(text):
    match = re.search(r"Kernel panic - not syncing: .*", text)
    return match.group() if match else None


STAMP = re.compile(r"^\[ *[\d.]+\](\[[^]]*\])? ")
PLACE = re.compile(r"\] (RIP: 0010:\S+)")


def with_report(error, text):
    """The error behind the heading of the first report of the log, if there is one, and its place."""
    found = [line for line in search(text) if line in text]
    if not found:
        return error
    report = text[text.index(found[0]) + len(found[0]):]
    place = PLACE.search(report.partition(found[1])[0] if found[1:] else report)
    parts = [STAMP.sub("", found[0]).strip(), place and place[1]]
    return "; ".join([*(part for part in parts if part and part != error), error])


# RCU waits for a timer, on a processor that has nothing else to do than to take its interrupt.
LOST_TIMER = re.compile(r"""
    NMI\ backtrace\ for\ cpu\ (\d+)
    (?:\ skipped:\ idling\ .*\n | \n .*\ Comm:\ swapper/\1\ .*\n (?:.*\n){0,3}? .*RIP:\ \S+safe_halt\+.*\n)
    (?:.*\n){0,30}?
    .*\ kthread\ timer\ wakeup\ didn't\ happen\ .*\n
    .*\ timer\ handling\ issue\ on\ cpu=\1\ """, re.VERBOSE)


def lost_timer(text):
    """The number of a processor that idles though its timer has run out, or None."""
    match = LOST_TIMER.search(text)
    return match and int(match[1])


# TCG before QEMU 8.1 may execute a breakpoint that the kernel has already replaced in its own code: an
# int3 whose address is in the kernel itself and where memory holds the byte of another instruction.
# In a module, and where memory does hold 0xcc, the kernel has executed what it should not.
PATCHED_INT3 = re.compile(r"""
    ^\[.*\]\ (Oops:\ )?int3:\ 0000\ \[\#1\]
    (?=.*\n(?:.*\n){0,5}?
    .*\]\ RIP:\ 0010:[\w.]+\+0x[0-9a-f]+/0x[0-9a-f]+\n
    .*\]\ Code:\ (?:[0-9a-f]{2}\ )*(?!cc)[0-9a-f]{2}\ <)""", re.VERBOSE | re.MULTILINE)


def patched_int3(text):
    """The heading of an int3 that is QEMU's fault, or None."""
    match = PATCHED_INT3.search(text)
    return match and match.group()


# The kernel's last word before it is in the hands of a program.
FIRST_PROGRAM = re.compile(r"Run \S+ as init process")


def has_booted(text):
    return bool(FIRST_PROGRAM.search(text))


def tail(text, lines=40):
    return "\n".join(text.splitlines()[-lines:])


# What the unwinder itself does not believe.
GUESS = re.compile(r"\]  \? \S+\+0x")


def excerpt(text, lines=60):
    """The log from its first unexpected report on, without guesses; or its end."""
    found = search(text)
    if not found or found[0] not in text:
        return tail(text)
    report = text[text.index(found[0]):].splitlines()
    return "\n".join([line for line in report if not GUESS.search(line)][:lines])
