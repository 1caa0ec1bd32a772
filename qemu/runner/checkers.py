# SPDX-License-Identifier: MIT
"""The state of the kernel's checkers at the end of a run.

A checker may switch itself off, lockdep without a line on the console, or count errors that it does not
print. guest/main reads the state of each checker that the kernel has, as NAME=VALUE, when the command
and the clean-up are done. The state must agree with the reports in the log.
"""

import re

# Of each checker that the kernel's configuration has: the name and the value of its state while it works.
STATES = {
    "CONFIG_DEBUG_KMEMLEAK=y": ("leaks", "reported"),
    "CONFIG_LOCKDEP=y": ("debug_locks", "1"),
    "CONFIG_DMA_API_DEBUG=y": ("dma_debug_disabled", "N"),
    "CONFIG_KCSAN=y": ("kcsan", "1"),
}

DMA_REPORT = re.compile(r"DMA-API: \S+ \S+: ")

# Modules of this tree are out-of-tree, unsigned, and may be tests: O, E, N.
HARMLESS_TAINT = {12, 13, 18}
# S: of a command line that clears a feature of the CPU.
CLEARCPUID_TAINT = 2
# The taints that a report explains, and that report. Every other taint is a complaint.
TAINTS = {
    4: ("M: machine check", r"\[Hardware Error\]"),
    5: ("B: bad page", r"BUG: (KASAN|KFENCE|Bad page)|BUG [a-z0-9_-]+ \("),
    7: ("D: oops", r"\[#\d+\]"),
    9: ("W: warning", r"WARNING: CPU: |UBSAN: |scheduling while atomic|sleeping function"),
    14: ("L: soft lockup", r"soft lockup"),
}


def parse(text):
    return dict(word.partition("=")[::2] for word in text.split())


def _off(state, config):
    for option, (name, value) in STATES.items():
        if option in config and state.get(name) != value:
            yield f"a checker is off: {name} is {state.get(name, 'not reported')}, not {value}"


def _hidden_dma_errors(state, reports):
    counted = int(state.get("dma_errors", "0"))
    shown = sum(bool(DMA_REPORT.search(line)) for line in reports)
    if counted > shown:
        yield f"the DMA-API debugger counted {counted} errors, the log has {shown}"


def _unexplained_taints(state, reports):
    taint = int(state.get("taint", "-1"))
    if taint < 0:
        yield "the guest has not reported the taint of its kernel"
        return
    harmless = HARMLESS_TAINT | ({CLEARCPUID_TAINT} if "clearcpuid" in state else set())
    for bit in set(range(taint.bit_length())) - harmless:
        name, pattern = TAINTS.get(bit, (f"bit {bit}", "$^"))
        if taint >> bit & 1 and not any(re.search(pattern, line) for line in reports):
            yield f"the kernel is tainted ({name}), and no report in the log says why"


def judge(state, config, reports):
    """Returns complaints. `reports` are the headings of all reports, also of those that are allowed."""
    return [*_off(state, config), *_hidden_dma_errors(state, reports),
            *_unexplained_taints(state, reports)]
