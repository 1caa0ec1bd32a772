# SPDX-License-Identifier: MIT
"""Searches a kernel log for what should not be in it.

A test that causes a report on purpose says so in /dev/kmsg:

    paccel-test: expect-warning begin REGEX
    paccel-test: expect-warning end

Between the two, reports whose first line matches REGEX are not counted, and there
must be at least one. With allow-warning there need not be one.
"""

import re

# The first line of a report.
REPORT = re.compile(r"""
    WARNING: | BUG: | \bBUG\ [a-z0-9_-]+\ \( | kernel\ BUG\ at | Oops | Kernel\ panic
    | general\ protection\ fault | [Uu]nable\ to\ handle | double\ fault | divide\ error
    | INFO:\ task\ .*\ blocked | INFO:\ possible | INFO:\ trying\ to\ register
    | INFO:\ rcu_ | detected\ stall | self-detected\ stall
    | possible\ (recursive|circular|irq) | inconsistent\ lock\ state | held\ lock\ freed
    | bad\ unlock\ balance | suspicious\ RCU | lock\ held\ when\ returning
    | DEBUG_LOCKS_WARN_ON | scheduling\ while\ atomic | sleeping\ function\ called
    | DMA-API:\ .*: | KASAN: | UBSAN: | ODEBUG: | unreferenced\ object
    | refcount_t: | list_(add|del)\ corruption | Bad\ page\ state | Bad\ rss-counter
    | corrupted\ stack\ end | nobody\ cared | swiotlb\ buffer\ is\ full
    """, re.VERBOSE)

# The rest of a report; suspicious by itself, for the first line may be of a kind
# that nobody has thought of.
TRACE = re.compile(r"(\] |^)(RIP: |Call Trace:)|\] ---\[ end trace")

# What contains the words above and is no report.
HARMLESS = re.compile(r"""
    DMA-API:\ (preallocated|debugging\ enabled) | kmemleak:\ Kernel\ memory\ leak\ detector
    """, re.VERBOSE)

MARK = re.compile(r"paccel-test: (expect|allow)-warning (begin (.*)|end)\s*$")


class _Window:
    """The part of the log between begin and end."""

    def __init__(self, kind, pattern):
        self.expected = kind == "expect"
        self.pattern = re.compile(pattern)
        self.seen = False


def _is_report(line):
    return REPORT.search(line) and not HARMLESS.search(line)


def search(text):
    """Returns the lines that start a report nobody expects."""
    found = []
    window = None
    in_report = False
    for line in text.splitlines():
        mark = MARK.search(line)
        if mark:
            in_report = False
        if mark and mark.group(2) == "end":
            if window and window.expected and not window.seen:
                found.append(f"expected, but never seen: {window.pattern.pattern}")
            window = None
        elif mark:
            window = _Window(mark.group(1), mark.group(3))
        elif _is_report(line):
            in_report = True
            if window and window.pattern.search(line):
                window.seen = True
            else:
                found.append(line)
        elif TRACE.search(line):
            if not in_report:
                found.append(line)
            in_report = "end trace" not in line
    if window:
        found.append("an expected warning has a begin and no end")
    return found


def panic(text):
    match = re.search(r"Kernel panic - not syncing: .*", text)
    return match.group() if match else None


# RCU waits for a timer, on a processor that has nothing else to do than to take its interrupt.
LOST_TIMER = re.compile(r"""
    NMI\ backtrace\ for\ cpu\ (\d+)\ skipped:\ idling\ .*\n
    (?:.*\n){0,2}?
    .*\ kthread\ timer\ wakeup\ didn't\ happen\ .*\n
    .*\ timer\ handling\ issue\ on\ cpu=\1\ """, re.VERBOSE)


def lost_timer(text):
    """The number of a processor that idles though its timer has run out, or None."""
    match = LOST_TIMER.search(text)
    return match and int(match[1])


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
