# SPDX-License-Identifier: MIT
"""Tests of the search through the kernel log."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../qemu"))

# pylint: disable=wrong-import-position
from runner import klog  # noqa: E402

# First lines of reports as kernels print them.
REPORTS = """
WARNING: CPU: 0 PID: 71 at kernel/dma/debug.c:1018 check_unmap+0x6d6/0x9f0
WARNING: possible circular locking dependency detected
WARNING: possible recursive locking detected
WARNING: inconsistent lock state
WARNING: suspicious RCU usage
WARNING: bad unlock balance detected!
BUG: KASAN: slab-use-after-free in paccel_open+0x1/0x2 [paccel]
BUG: kernel NULL pointer dereference, address: 0000000000000008
BUG: sleeping function called from invalid context at mm/slab.c:1
BUG: scheduling while atomic: cat/71/0x00000002
BUG: unable to handle page fault for address: ffffffffdeadbeef
BUG: soft lockup - CPU#0 stuck for 26s! [cat:71]
BUG kmalloc-64 (Tainted: G    B      O      ): Object already free
BUG: Bad page state in process cat  pfn:01234
kernel BUG at lib/genalloc.c:500!
Oops: general protection fault, probably for non-canonical address: 0000 [#1]
UBSAN: array-index-out-of-bounds in /x/kernel/mem.c:12:3
UBSAN: shift-out-of-bounds in /x/kernel/mem.c:12:3
DMA-API: edu 0000:01:00.0: device driver frees DMA memory with wrong function
DMA-API: pci 0000:01:00.0: device driver has pending DMA allocations while released from device
unreferenced object 0xffff888001234500 (size 64):
kmemleak: unreferenced object 0xffff888001234500 (size 64):
ODEBUG: free active (active state 0) object: 00000000 object type: timer_list
INFO: task cat:71 blocked for more than 120 seconds.
INFO: trying to register non-static key.
rcu: INFO: rcu_preempt self-detected stall on CPU
refcount_t: underflow; use-after-free.
list_del corruption. prev->next should be ffff, but was 0000
irq 16: nobody cared (try booting with the "irqpoll" option)
Kernel panic - not syncing: Fatal exception
RIP: 0010:paccel_open+0x1/0x2 [paccel]
Call Trace:
""".strip().splitlines()

# What a kernel prints when nothing is wrong.
HARMLESS = """
DMA-API: preallocated 65536 debug entries
DMA-API: debugging enabled by kernel config
kmemleak: Kernel memory leak detector initialized (mem pool available: 38766)
paccel: loading out-of-tree module taints kernel.
smpboot: CPU0: Intel(R) Debug thing
rcu: \tRCU lockdep checking is enabled.
Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar
workingset: timestamp_bits=56 max_order=17 bucket_order=0
""".strip().splitlines()

STAMP = "[    1.234567] "
BEGIN = STAMP + "paccel-test: expect-warning begin "
END = STAMP + "paccel-test: expect-warning end"


def log(*lines):
    return "\n".join(line if line.startswith("[") else STAMP + line for line in lines)


def test_log_every_report_is_found():
    for line in REPORTS:
        assert klog.search(log("before", line, "after")), line


def test_log_nothing_harmless_is_found():
    assert not klog.search(log(*HARMLESS)), klog.search(log(*HARMLESS))


def test_log_expected_report():
    text = log(BEGIN + "at mm/x", REPORTS[0].replace("kernel/dma", "mm/x"), "Call Trace:", END)
    assert not klog.search(text), klog.search(text)


def test_log_other_report_while_one_is_expected():
    text = log(BEGIN + "at mm/x", REPORTS[0].replace("kernel/dma", "mm/x"), REPORTS[6], END)
    assert len(klog.search(text)) == 1


def test_log_report_after_the_expected_part():
    text = log(BEGIN + "WARNING", "WARNING: CPU: 0", "Call Trace:", END, "Call Trace:")
    assert len(klog.search(text)) == 1


def test_log_expected_report_that_never_came():
    assert klog.search(log(BEGIN + "at mm/x", END))
    assert not klog.search(log(BEGIN.replace("expect", "allow") + "at mm/x", END))


def test_log_expectation_without_an_end():
    assert klog.search(log(BEGIN + "WARNING", "WARNING: CPU: 0"))


STALL = [
    "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "rcu: \t0-...!: (0 ticks this GP) idle=4db0/0/0x0 softirq=13567/13567 fqs=0 (false positive?)",
    "rcu: \t(detected by 1, t=6502 jiffies, g=18821, q=12035 ncpus=2)",
    "Sending NMI from CPU 1 to CPUs 0:",
    "NMI backtrace for cpu 0 skipped: idling at default_idle+0x13/0x20",
    "rcu: rcu_preempt kthread timer wakeup didn't happen for 6501 jiffies! g18821 f0x0 "
    "RCU_GP_WAIT_FQS(5) ->state=0x402",
    "rcu: \tPossible timer handling issue on cpu=0 timer-softirq=3725",
]


def test_log_lost_timer():
    assert klog.lost_timer(log("before", *STALL, "after")) == 0
    # A processor that something keeps busy, or another one that idles.
    busy = [line for line in STALL if "idling" not in line]
    assert klog.lost_timer(log(*busy)) is None
    assert klog.lost_timer(log(*(line.replace("for cpu 0", "for cpu 1") for line in STALL))) is None
    assert klog.lost_timer(log(*STALL[:5])) is None
