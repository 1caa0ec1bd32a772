# SPDX-License-Identifier: MIT
"""Tests of the search through the kernel log, and of the judgement about its checkers."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../qemu"))

# pylint: disable=wrong-import-position
from runner import checkers, klog, machine, reports  # noqa: E402

# First lines of reports as kernels print them, for each row of the table.
REPORTS = {
    "WARNING": """
WARNING: CPU: 0 PID: 71 at kernel/dma/debug.c:1018 check_unmap+0x6d6/0x9f0
WARNING: possible circular locking dependency detected
WARNING: possible recursive locking detected
WARNING: inconsistent lock state
WARNING: suspicious RCU usage
WARNING: bad unlock balance detected!
WARNING: held lock freed!
WARNING: lock held when returning to user space!
""",
    "panic": "Kernel panic - not syncing: Fatal exception",
    "BUG": """
BUG: KASAN: slab-use-after-free in paccel_open+0x1/0x2 [paccel]
BUG: KFENCE: out-of-bounds read in paccel_open+0x1/0x2 [paccel]
BUG: KCSAN: data-race in paccel_open / paccel_close
BUG: kernel NULL pointer dereference, address: 0000000000000008
BUG: sleeping function called from invalid context at mm/slab.c:1
BUG: scheduling while atomic: cat/71/0x00000002
BUG: unable to handle page fault for address: ffffffffdeadbeef
BUG: soft lockup - CPU#0 stuck for 26s! [cat:71]
BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 31s!
[ BUG: Invalid wait context ]
BUG: MAX_LOCKDEP_ENTRIES too low!
BUG kmalloc-64 (Tainted: G    B      O      ): Object already free
BUG: Bad page state in process cat  pfn:01234
kernel BUG at lib/genalloc.c:500!
""",
    "oops": """
Oops: general protection fault, probably for non-canonical address 0: 0000 [#1] PREEMPT SMP
general protection fault, probably for non-canonical address 0x8: 0000 [#1] PREEMPT SMP NOPTI
Oops: Oops: 0002 [#1] PREEMPT SMP KASAN
Oops: 0002 [#1] PREEMPT SMP NOPTI
invalid opcode: 0000 [#1] PREEMPT SMP NOPTI
stack segment: 0070 [#12] PREEMPT SMP NOPTI
segment not present: 0070 [#1] SMP
Internal error: Oops: 0000000096000004 [#1] SMP
Internal error: Oops - BUG: 00000000f2000800 [#2] PREEMPT SMP
""",
    "SError": "SError Interrupt on CPU1, code 0x00000000bf000002 -- SError",
    "machine check": "mce: [Hardware Error]: CPU 0: Machine Check Exception: 5 Bank 0: be0000000000011c",
    "NMI": """
Uhhuh. NMI received for unknown reason 30 on CPU 0.
NMI: PCI system error (SERR) for reason a1 on CPU 0.
""",
    "hung task": """
INFO: task cat:71 blocked for more than 120 seconds.
Future hung task reports are suppressed, see sysctl kernel.hung_task_warnings
""",
    "lockup": """
watchdog: Watchdog detected hard LOCKUP on cpu 1
NMI watchdog: Watchdog detected hard LOCKUP on cpu 1
""",
    "RCU stall": """
rcu: INFO: rcu_preempt self-detected stall on CPU
rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
rcu: rcu_preempt kthread starved for 2500 jiffies! g1 f0x2 RCU_GP_WAIT_FQS(5) ->state=0x0 ->cpu=0
""",
    "lockdep": """
INFO: trying to register non-static key.
turning off the locking correctness validator.
Disabling lock debugging due to kernel taint
INFO: lockdep is turned off.
DEBUG_LOCKS_WARN_ON(lock->magic != lock)
""",
    "KASAN": "KASAN: null-ptr-deref in range [0x0000000000000008-0x000000000000000f]",
    "UBSAN": """
UBSAN: array-index-out-of-bounds in /x/kernel/mem.c:12:3
UBSAN: shift-out-of-bounds in /x/kernel/mem.c:12:3
""",
    "list": "list_del corruption. prev->next should be ffff, but was 0000",
    "refcount": "refcount_t: underflow; use-after-free.",
    "ODEBUG": """
ODEBUG: free active (active state 0) object: 00000000 object type: timer_list
ODEBUG: Out of memory. ODEBUG disabled
""",
    "stack depot": """
Stack depot reached limit capacity
stackdepot: hash table allocation failed, disabling
Stack Depot hash table allocation failed, disabling
""",
    "kmemleak": """
unreferenced object 0xffff888001234500 (size 64):
kmemleak: unreferenced object 0xffff888001234500 (size 64):
kmemleak: Kernel memory leak detector disabled
kmemleak: Cannot allocate a kmemleak_object structure
kmemleak: Cannot insert 0xffff888001234500 into the object search tree (overlaps existing)
kmemleak: Memory pool empty, consider increasing CONFIG_DEBUG_KMEMLEAK_MEM_POOL_SIZE
kmemleak: Freeing unknown object at 0xffff888001234500
""",
    "DMA-API": """
DMA-API: edu 0000:01:00.0: device driver frees DMA memory with wrong function
DMA-API: pci 0000:01:00.0: device driver has pending DMA allocations while released from device
DMA-API: debugging out of memory - disabling
DMA-API: cacheline tracking ENOMEM, dma-debug disabled
DMA-API: debugging disabled on kernel command line
DMA-API: enable driver filter for driver [e1000]
""",
    "allocation": """
probe: vmalloc error: size 64, vm_struct allocation failed, mode:0xdc0(GFP_KERNEL|__GFP_ZERO), nodemask=(null)
copy: page allocation failure: order:10, mode:0x40dc0(GFP_KERNEL|__GFP_COMP|__GFP_ZERO), nodemask=(null)
vmap allocation for size 4198400 failed: use vmalloc=<size> to increase size
vmalloc_node_range for size 4198400 failed: Address range restricted to 0xffffc90000000000 - 0xffffe8ffffffffff
""",
    "swiotlb": "edu 0000:01:00.0: swiotlb buffer is full (sz: 4096 bytes), total 512 (slots), used 512 (slots)",
    "DMAR": """
DMAR: DRHD: handling fault status reg 2
DMAR: [DMA Write NO_PASID] Request device [01:00.0] fault addr 0xdead000 [fault reason 0x05] PTE Write
DMAR: [DMA Read PASID 0x1] Request device [01:00.0] fault addr 0x0 [fault reason 0x06] PTE Read
DMAR: [INTR-REMAP] Request device [01:00.0] fault index 0x1 [fault reason 0x22] Present field
DMAR: VT-d detected Invalidation Queue Error: Reason 0
DMAR: ERROR: DMA PTE for vPFN 0xdead already set (to 1 not 2)
""",
    "AER": """
pcieport 0000:00:04.0: AER: Corrected error received: 0000:00:04.0
pcieport 0000:00:04.0: AER: Correctable error message received from 0000:00:04.0
pcieport 0000:00:04.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)
paccel 0000:01:00.0: AER: can't recover (no error_detected callback)
pcieport 0000:00:04.0: AER: device recovery failed
pcieport 0000:00:04.0: DPC: containment event, status:0x1f01 source:0x0000
""",
    "interrupt": """
irq 16: nobody cared (try booting with the "irqpoll" option)
irq event 31: bogus return value 55
""",
    "printk": """
** 2745 printk messages dropped **
printk: dropped 12 messages
printk: Too many dropped messages. Suppress messages on non-panic CPUs to prevent livelock.
storm: 3 output lines suppressed due to ratelimiting
""",
}

# What belongs to a report and begins none.
TRACES = """
RIP: 0010:paccel_open+0x1/0x2 [paccel]
Call Trace:
""".strip().splitlines()

# What a kernel prints when nothing is wrong.
HARMLESS = """
DMA-API: preallocated 65536 debug entries
DMA-API: debugging enabled by kernel config
kmemleak: Kernel memory leak detector initialized (mem pool available: 38766)
kmemleak: 2 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
DMA-API: dma_debug_entry pool grown to 131072 (200%)
DMAR: Host address width 39
DMAR: DRHD base: 0x000000fed90000 flags: 0x0
DMAR: dmar0: reg_base_addr fed90000 ver 1:0 cap d2008c222f0686 ecap f00f5a
DMAR: dmar0: Using Queued invalidation
DMAR: Intel(R) Virtualization Technology for Directed I/O
pcieport 0000:00:04.0: AER: enabled with IRQ 24
ODEBUG: selftest passed
stackdepot: allocating hash table of 65536 entries via kvcalloc
kasan: KernelAddressSanitizer initialized (generic)
kfence: initialized - using 2097152 bytes for 255 objects at 0x(____ptrval____)-0x(____ptrval____)
traps: library[71] general protection fault ip:401136 sp:7ffd error:0 in library[401000+1000]
paccel_scrub: 12 callbacks suppressed
paccel: loading out-of-tree module taints kernel.
smpboot: CPU0: Intel(R) Debug thing
rcu: \tRCU lockdep checking is enabled.
Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar
workingset: timestamp_bits=56 max_order=17 bucket_order=0
""".strip().splitlines()

STAMP = "[    1.234567] "
BEGIN = STAMP + "paccel-test: expect-warning begin "
END = STAMP + "paccel-test: expect-warning end"
WARNING = "WARNING: CPU: 0 PID: 71 at mm/x.c:1018 f+0x6d6/0x9f0"


def log(*lines):
    return "\n".join(line if line.startswith("[") else STAMP + line for line in lines)


def test_log_every_report_is_found():
    assert set(REPORTS) == set(reports.REPORTS)
    for row, lines in REPORTS.items():
        for line in lines.strip().splitlines():
            assert klog.search(log("before", line, "after")), line
            # By the row that it is a sample of, and not by another one.
            assert re.search(reports.REPORTS[row], line), (row, line)


def test_log_a_trace_without_a_report_is_found():
    for line in TRACES:
        assert klog.search(log("before", line, "after")), line


CUT = "------------[ cut here ]------------"
END_TRACE = "---[ end trace 0000000000000000 ]---"


def test_log_reports_of_two_processors_are_mixed():
    text = log(BEGIN + "at mm/x", CUT, WARNING, CUT, "RIP: 0010:a+0x1/0x2", WARNING, END_TRACE,
               "RIP: 0010:b+0x1/0x2", END_TRACE, END)
    assert not klog.search(text), klog.search(text)


def test_log_a_trace_behind_reports_that_have_ended_is_found():
    text = log(BEGIN + "at mm/x", CUT, WARNING, CUT, WARNING, END_TRACE, END_TRACE, "RIP: 0010:b+0x1/0x2", END)
    assert len(klog.search(text)) == 1


def test_log_nothing_harmless_is_found():
    assert not klog.search(log(*HARMLESS)), klog.search(log(*HARMLESS))


def test_log_expected_report():
    text = log(BEGIN + "at mm/x", WARNING, "Call Trace:", END)
    assert not klog.search(text), klog.search(text)


def test_log_other_report_while_one_is_expected():
    text = log(BEGIN + "at mm/x", WARNING, "BUG: KASAN: slab-use-after-free in f", END)
    assert len(klog.search(text)) == 1


def test_log_report_after_the_expected_part():
    text = log(BEGIN + "WARNING", "WARNING: CPU: 0", "Call Trace:", END, "Call Trace:")
    assert len(klog.search(text)) == 1


def test_log_expected_report_that_never_came():
    assert klog.search(log(BEGIN + "at mm/x", END))
    assert not klog.search(log(BEGIN.replace("expect", "allow") + "at mm/x", END))


def test_log_expectation_without_an_end():
    assert klog.search(log(BEGIN + "WARNING", "WARNING: CPU: 0"))
    # Another one is no end, and does not hide what the first waits for.
    assert klog.search(log(BEGIN + "BUG", BEGIN + "WARNING", "WARNING: CPU: 0", END))


def test_log_reports_that_are_allowed():
    text = log("BUG: x", BEGIN + "at mm/x", WARNING, END)
    assert klog.Reports(text).found == [STAMP + "BUG: x"]
    assert klog.Reports(text).allowed == [STAMP + WARNING]


KEPT = [
    "DMA-API: pci 0000:01:00.0: device driver has pending DMA allocations while released from device "
    "[count=1]",
    "One of leaked entries details: [device address=0x1000] [size=4096 bytes] [mapped as coherent]",
    "WARNING: CPU: 0 PID: 71 at kernel/dma/debug.c:877 dma_debug_device_change+0x1/0x2",
    "Call Trace:", "---[ end trace 0 ]---", "DMA-API: Mapped at:",
]


def test_log_kept_mapping_is_reported_again():
    allowed = [BEGIN + "dma_debug_device_change|DMA-API: ", *KEPT, END]
    assert not klog.search(log(*allowed, *KEPT, *KEPT))
    assert len(klog.search(log(*KEPT, *KEPT))) == 4
    # One more mapping, another device, the warning of another report.
    for old, new in (("count=1", "count=2"), ("01:00.0", "02:00.0")):
        assert len(klog.search(log(*allowed, *(line.replace(old, new) for line in KEPT)))) == 2
    assert len(klog.search(log(*allowed, KEPT[0], WARNING))) == 1
    assert len(klog.search(log(*allowed, *KEPT, KEPT[2]))) == 1


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
# Where the code that halts a processor is not marked as idling.
HALTED = [
    "NMI backtrace for cpu 0",
    "CPU: 0 UID: 0 PID: 0 Comm: swapper/0 Tainted: G           OE      6.12.117+deb12-amd64 #1",
    "Tainted: [O]=OOT_MODULE, [E]=UNSIGNED_MODULE",
    "Hardware name: QEMU Standard PC (Q35 + ICH9, 2009), BIOS 1.16.2-debian-1.16.2-1 04/01/2014",
    "RIP: 0010:pv_native_safe_halt+0xf/0x20",
    *["RAX: 0000000000000001 RBX: 0000000000000000 RCX: 0000000000000000"] * 23,
]


def test_log_lost_timer():
    assert klog.lost_timer(log("before", *STALL, "after")) == 0
    assert klog.lost_timer(log(*STALL[:4], *HALTED, *STALL[5:])) == 0
    assert klog.lost_timer(log(*STALL[:4], *HALTED[:4], *STALL[5:])) is None
    other = [line.replace("swapper/0", "fuzz") for line in HALTED]
    assert klog.lost_timer(log(*STALL[:4], *other, *STALL[5:])) is None
    # A processor that something keeps busy, or another one that idles.
    busy = [line for line in STALL if "idling" not in line]
    assert klog.lost_timer(log(*busy)) is None
    assert klog.lost_timer(log(*(line.replace("for cpu 0", "for cpu 1") for line in STALL))) is None
    assert klog.lost_timer(log(*STALL[:5])) is None


# What QEMU 7.2 makes of a kernel that switches tracepoints while it works, and of 6.1.
INT3 = """
[   13.454186] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI
[   13.473323] CPU: 1 UID: 0 PID: 214 Comm: true Not tainted 6.12.117+deb12-amd64 #1  Debian 6.12.117-1
[   13.477109] Hardware name: QEMU Standard PC (Q35 + ICH9, 2009), BIOS 1.16.2-debian-1.16.2-1 04/01/2014
[   13.477285] RIP: 0010:update_curr+0xf7/0x1e0
[   13.483548] Code: 39 43 78 74 ab 48 3b 5d 58 75 8d eb c5 4c 8d 7b 80 0f <1f> 44 00 00 48 8b 83 80 0b 00 00
[   13.483870] RSP: 0000:ff4af742c04abd98 EFLAGS: 00000046
"""


def test_log_int3_of_qemu():
    assert klog.patched_int3(INT3) == "[   13.454186] Oops: int3: 0000 [#1]"
    assert klog.patched_int3(INT3.replace("Oops: int3", "int3")) == "[   13.454186] int3: 0000 [#1]"
    # Code of a module, of nowhere, and an int3 that is there.
    assert klog.patched_int3(INT3.replace("/0x1e0", "/0x1e0 [paccel]")) is None
    assert klog.patched_int3(INT3.replace("update_curr+0xf7/0x1e0", "0xffffffffc06781a0")) is None
    assert klog.patched_int3(INT3.replace("0f <1f>", "cc <1f>")) is None
    assert klog.patched_int3(INT3.replace("int3", "invalid opcode")) is None
    # Not the first that went wrong.
    assert klog.patched_int3(INT3.replace("[#1]", "[#2]")) is None


def test_log_why_a_guest_died():
    died = "Kernel panic - not syncing: Fatal exception in interrupt"
    assert klog.with_report(died, INT3 + f"[   13.5] {died}\n") == \
        f"Oops: int3: 0000 [#1] PREEMPT SMP NOPTI; RIP: 0010:update_curr+0xf7/0x1e0; {died}"
    assert klog.with_report(died, f"[   13.5] {died}\n") == died
    stall = "[    9.1] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n"
    assert klog.with_report(died, stall + INT3) == \
        f"rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:; {died}"
    assert klog.with_report("QEMU ended with signal 11: ", "[    1.2] smp: 2 CPUs\n") == \
        "QEMU ended with signal 11: "


CONFIG = set(checkers.STATES)
STATE = {"taint": "12288", "leaks": "reported", "debug_locks": "1", "dma_debug_disabled": "N",
         "dma_errors": "0", "kcsan": "1"}


def complaints(state, *found, config=frozenset(CONFIG)):
    return checkers.judge({**STATE, **state}, config, found)


def test_state_of_checkers_that_are_well():
    assert not complaints({})
    assert not checkers.judge({"taint": "0"}, set(), [])
    # Out of the tree, without a signature, a test.
    assert not complaints({"taint": str(1 << 12 | 1 << 13 | 1 << 18)})


def test_state_of_checkers_that_are_off_or_silent():
    for name, value in (("leaks", "unknown"), ("debug_locks", "0"), ("dma_debug_disabled", "Y"),
                        ("kcsan", "0")):
        assert len(complaints({name: value})) == 1, name
    assert len(checkers.judge({"taint": "0"}, CONFIG, [])) == 4
    assert checkers.judge({}, set(), [])


def test_state_of_dma_errors():
    report = "DMA-API: edu 0000:01:00.0: device driver has pending DMA allocations"
    assert complaints({"dma_errors": "1"})
    assert not complaints({"dma_errors": "1"}, report)
    assert complaints({"dma_errors": "2"}, report)
    assert not complaints({"dma_errors": "2"}, report, report)


def test_state_of_taints():
    for bit, report in ((4, "mce: [Hardware Error]: CPU 0"), (5, "BUG: KASAN: x"), (7, "x: 0000 [#1]"),
                        (9, WARNING), (9, "UBSAN: x"), (14, "BUG: soft lockup - CPU#0")):
        assert len(complaints({"taint": str(1 << bit)})) == 1
        assert not complaints({"taint": str(1 << bit)}, report)
    # A module that was forced.
    assert complaints({"taint": "2"}, WARNING)


def test_log_of_a_runner_without_cpu():
    # 64 KiB in single bytes, as the serial port sends them, before any is read.
    channel = machine.Channel("console")
    channel.theirs.setblocking(False)
    text = b"paccel-test: allow-warning begin\n" * 2000
    for byte in text:
        channel.theirs.send(bytes([byte]))
    got = b""
    while len(got) < len(text):
        got += channel.ours.recv(1 << 16)
    channel.close()
    assert got == text
