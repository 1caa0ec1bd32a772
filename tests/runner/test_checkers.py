# SPDX-License-Identifier: MIT
"""Tests of the runner with kernels that report errors: the module in provoke/ makes each checker print
a report, which the runner must find."""

import fcntl
import os
import re
import subprocess
import sys
import tempfile

import pytest

from guests import FAILED, PATIENCE, TOP, contains, ended, equal, run

sys.path.insert(0, os.path.join(TOP, "qemu"))
# pylint: disable=wrong-import-position
from runner import checkers, klog, reports  # noqa: E402

BUILD = os.path.join(TOP, os.environ.get("BUILD") or "build")

# --- for each word of provoke.c: rows of the runner's table, and the heading that each must find ---

OOPSES = {
    "warning": {"WARNING": "WARNING: CPU: .* provoke_warning"},
    "refcount": {"refcount": "refcount_t: addition on 0; use-after-free"},
    "vmalloc": {"allocation": "vmalloc error: size .* exceeds total pages"},
    "irq": {"interrupt": "bogus return value 55"},
    "aer": {"AER": "PCIe Bus Error: severity=Correct"},
    "machine-check": {"machine check": r"mce: \[Hardware Error\]: "},
    "nmi": {"NMI": "Uhhuh. NMI received for unknown reason"},
    "dma-fault": {"DMAR": r"DMAR: \[DMA Write NO_PASID\] Request device .* fault addr 0xdead000 "},
    "many-mappings": {"swiotlb": r"provoke: swiotlb buffer is full"},
    "flood": {"printk": r"\*\* \d+ printk messages dropped \*\*"},
    "bug": {"BUG": r"kernel BUG at .*provoke\.c"},
    "list": {"list": "list_del corruption"},
    "null": {"BUG": "BUG: kernel NULL pointer dereference", "oops": r"Oops: 0002 \[#\d+\]"},
    "general-protection": {"oops": r"general protection fault, .*: 0000 \[#\d+\]"},
    "invalid-opcode": {"oops": r"invalid opcode: 0000 \[#\d+\]"},
    "divide-error": {"oops": r"divide error: 0000 \[#\d+\]"},
    "stack-segment": {"oops": r"stack segment: [0-9a-f]{4} \[#\d+\]"},
    # The kernel treats it as an interrupt and panics; so it is the last.
    "int3": {"oops": r"int3: 0000 \[#\d+\]", "panic": "Kernel panic - not syncing"},
}

# kmemleak reports at the end of the run, so its word is the last.
CHECKERS = {
    "lockdep": {"WARNING": "WARNING: possible circular locking dependency detected"},
    "sleep": {"BUG": "BUG: sleeping function called from invalid context"},
    "kasan": {"KASAN": "BUG: KASAN: slab-out-of-bounds in provoke_kasan"},
    "ubsan": {"UBSAN": "UBSAN: shift-out-of-bounds in "},
    "odebug": {"ODEBUG": "ODEBUG: free active .* object type: timer_list"},
    "dma": {"DMA-API": "DMA-API: platform provoke: device driver tries to free DMA memory it has not"},
    "hung-task": {"hung task": "INFO: task .* blocked for more than 1 seconds"},
    "busy": {"BUG": "BUG: soft lockup", "RCU stall": "rcu: INFO: rcu_.* stall"},
    "leak": {"kmemleak": "unreferenced object 0x"},
}

STATES = {
    "dma-off": {"DMA-API": "DMA-API: debugging out of memory - disabling"},
    "kmemleak-off": {"kmemleak": "kmemleak: Kernel memory leak detector disabled"},
    "lockdep-off": {"lockdep": "Disabling lock debugging due to kernel taint"},
}

UNPROVOKED = {
    "SError": "of arm64 only: an error that a bus reports, which the buses of QEMU do not",
    "lockup": "no kernel here has a detector but that of performance counters, which TCG lacks",
    "stack depot": "its pool is larger than the guest's memory",
}

FUNCTIONS = """
    set -e
    mark() { echo "provoke: $1" >/dev/kmsg; }
    order() { echo "$1" >/sys/kernel/debug/provoke; }
    provoke() { mark "$1"; order "$1"; }
    window() { echo "paccel-test: allow-warning $1" >/dev/kmsg; }
    wait_for() { until dmesg | grep -q "$1"; do sleep 0.2; done; }
"""


def module(kernel):
    """Of two tests that want it at once the second waits for the first."""
    path = os.path.join(BUILD, "tests/runner", kernel, "provoke.ko")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "--no-print-directory", path], cwd=TOP, check=True, timeout=PATIENCE,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       env={**os.environ, "MAKEFLAGS": "", "BUILD": BUILD})
    return path


def provoke(kernel, script, *options):
    """Returns the runner's result and the guest's log."""
    script = f"{FUNCTIONS}\ninsmod {module(kernel)}\n{script}"
    with tempfile.NamedTemporaryFile() as log:
        result = run(script, "--kernel", kernel, "--log", log.name, *options)
        return result, log.read().decode(errors="replace").replace("\r\n", "\n")


def sections(log):
    """The parts of a log that begin with the marks of what is provoked."""
    parts = re.split(r"\] provoke: ([a-z0-9-]+)\n", log)
    return dict(zip(parts[1::2], parts[2::2]))


def missed(log, table):
    """What the table names and the search does not find behind its mark."""
    parts = sections(log)
    missing = []
    for word, rows in table.items():
        found = klog.search(parts.get(word, ""))
        for row, heading in rows.items():
            if not any(re.search(reports.REPORTS[row], line) and re.search(heading, line)
                       for line in found):
                missing.append((word, row, found[:5]))
    return missing


def complaints(result):
    """What the runner says last."""
    return result.stderr.decode().rpartition("qemu/run: ")[2].splitlines()


# --- reports ------------------------------------------------------------------------------------

@pytest.mark.parametrize("kernel", ["6.1", "6.12"])
def test_reports_and_oopses(kernel):
    script = """
        mark aer
        modprobe aer_inject
        port=$(grep -l 0x060400 /sys/bus/pci/devices/*/class | head -n 1)
        slot=$(expr "$port" : '.*:\\([0-9a-f]*\\)\\.0/class')
        printf "\\\\000\\\\$(printf %o "0x$slot")\\\\000\\\\000" >/tmp/error
        # No uncorrectable error; a correctable one: of the receiver. No header, domain 0.
        printf '\\000\\000\\000\\000\\001' >>/tmp/error
        head -c 23 /dev/zero >>/tmp/error
        cat /tmp/error >/dev/aer_inject
        wait_for 'PCIe Bus Error'
        rmmod aer_inject

        mark machine-check
        modprobe mce-inject
        cd /sys/kernel/debug/mce-inject
        echo sw >flags
        echo 0x8000000000000000 >status
        # An error, injected without an exception.
        echo 0 >bank
        cd /
        wait_for 'Hardware Error'

        echo 0 >/proc/sys/kernel/panic_on_oops
        for word in WORDS; do
            (provoke $word) || true
        done
    """.replace("WORDS", " ".join(word for word in OOPSES if word not in ("aer", "machine-check")))
    result, log = provoke(kernel, script, "--card", "edu", "--clock", "real", "--iommu",
                          "--append", "swiotlb=512,force")
    equal(missed(log, OOPSES), [])
    ended(result, FAILED)
    # Not QEMU's fault, even if it were the first oops of this guest: it was in the module.
    int3 = re.sub(r"int3: 0000 \[#\d+\]", "int3: 0000 [#1]", sections(log)["int3"])
    equal(klog.patched_int3(int3), None)
    int3 = int3.replace(" [provoke]", "").replace("cc <", "0f <")
    contains(klog.patched_int3(int3), "int3: 0000 [#1]")


def test_reports_of_the_checkers():
    result, log = provoke("debug", """
        provoke lockdep
        provoke sleep
        provoke kasan
        provoke ubsan
        provoke odebug
        # One that is allowed must not hide the next.
        window 'begin DMA-API: | check_unmap'
        order dma
        window end
        provoke dma

        echo 1 >/proc/sys/kernel/hung_task_timeout_secs
        provoke hung-task &
        wait_for 'blocked for more than'
        order release
        wait
        echo 0 >/proc/sys/kernel/hung_task_timeout_secs

        echo 1 >/proc/sys/kernel/watchdog_thresh
        echo 3 >/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
        taskset -p 2 $$
        mark busy
        taskset 1 sh -c 'echo busy >/sys/kernel/debug/provoke' &
        wait_for 'soft lockup'
        wait_for 'rcu: INFO: .*stall'
        order release
        wait

        provoke leak
    """)
    equal(missed(log, CHECKERS), [])
    ended(result, FAILED)
    # Its own report has switched it off.
    contains(result.stderr.decode(), "a checker is off: debug_locks is 0, not 1")


@pytest.mark.long
def test_reports_of_races():
    result, log = provoke("kcsan", """
        order race &
        order race &
        wait_for 'BUG: KCSAN: '
        order release
        wait
    """)
    contains(log, "BUG: KCSAN: data-race in provoke_race")
    ended(result, FAILED)


# --- checkers that are off, and errors that they do not show ---------------------------------------

def test_states_of_the_checkers():
    result, log = provoke("debug", """
        window 'begin WARNING: |DMA-API: |BUG: |kmemleak: |Disabling lock debugging'
        mark lockdep-off
        order kasan
        # What the runner has switched on.
        echo 0 >/sys/kernel/debug/dma-api/all_errors
        echo 0 >/sys/kernel/debug/dma-api/num_errors
        order dma
        mark dma-off
        cd /sys/kernel/debug/fail_page_alloc
        # Only the task that asks for it, before anything can fail at all.
        echo Y >task-filter
        echo -1 >times
        echo 0 >min-order
        echo N >ignore-gfp-wait
        echo 0 >verbose
        echo 100 >probability
        order many-mappings
        mark kmemleak-off
        echo off >/sys/kernel/debug/kmemleak
        window end
    """, "--append", "dma_debug_entries=1000")
    equal(missed(log, STATES), [])
    ended(result, FAILED)
    equal(complaints(result), [
        "a checker is off: leaks is unknown, not reported",
        "a checker is off: debug_locks is 0, not 1",
        "a checker is off: dma_debug_disabled is Y, not N",
        "the DMA-API debugger counted 1 errors, the log has 0"])


@pytest.mark.long
def test_races_that_are_not_looked_for():
    result, _ = provoke("kcsan", "echo off >/sys/kernel/debug/kcsan")
    ended(result, FAILED)
    equal(complaints(result), ["a checker is off: kcsan is 0, not 1"])


def test_a_warning_that_the_console_does_not_show():
    result, _ = provoke("6.12", "dmesg -n 1; order warning")
    ended(result, FAILED)
    equal(complaints(result),
          ["the kernel is tainted (W: warning), and no report in the log says why"])


def test_a_cpu_out_of_specification():
    """Only where the command line clears a feature of it."""
    equal(checkers.judge({"taint": "4", "clearcpuid": "yes"}, "", []), [])
    equal(checkers.judge({"taint": "4"}, "", []), ["the kernel is tainted (bit 2), and no report in the log says why"])


def test_each_row_of_the_table_was_provoked():
    provoked = {row for table in (OOPSES, CHECKERS, STATES) for rows in table.values() for row in rows}
    equal(provoked & set(UNPROVOKED), set())
    equal(provoked | set(UNPROVOKED), set(reports.REPORTS))
