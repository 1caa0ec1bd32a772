# SPDX-License-Identifier: MIT
"""The headings of the kernel's error reports.

One row for each checker: its name, and the lines that begin a report, as Linux 6.1 and 6.12 print them.
A line by which a checker announces that it is switched off is a report as well, since its silence then
proves nothing. Similar lines that every boot prints are excluded. "N callbacks suppressed" is not in
the table: the first lines of such a burst are in the log.

tests/runner/test_kernel_log.py has samples of each row, tests/runner/test_checkers.py provokes each row
in a guest but those that it names with a reason.
"""

import re

REPORTS = {
    # kernel/panic.c, and each heading of kernel/locking/lockdep.c that begins with it.
    "WARNING": r"WARNING: ",
    "panic": r"Kernel panic",
    # The scheduler, lockdep, KASAN, KFENCE, KCSAN, the page allocator, page faults; mm/slub.c; lib/bug.c.
    "BUG": r"\bBUG: |\bBUG [a-z0-9_-]+ \(|[Kk]ernel BUG at",
    # arch/x86/kernel/dumpstack.c: "TRAP: ERROR [#N]" on 6.1, "Oops: TRAP: ERROR [#N]" on 6.12. The ERROR of
    # arch/arm64/kernel/traps.c has 16 digits.
    "oops": r": ([0-9a-f]{4}|[0-9a-f]{16}) \[#\d+\]",
    # arch/arm64/kernel/traps.c.
    "SError": r"SError Interrupt on CPU|Bad mode in ",
    # arch/x86/kernel/cpu/mce, drivers/ras, drivers/acpi/apei.
    "machine check": r"\[Hardware Error\]: ",
    "NMI": r"Uhhuh\. NMI received|NMI: (PCI system|IOCK) error",
    # kernel/hung_task.c, kernel/watchdog.c, kernel/rcu.
    "hung task": r"INFO: task .* blocked|Future hung task reports are suppressed",
    "lockup": r"Watchdog detected hard LOCKUP",
    "RCU stall": r"detected stall|rcu: .* kthread starved",
    # kernel/locking: these stand without a "WARNING: ". Some switch lockdep off in silence, see checkers.py.
    "lockdep": r"INFO: trying to register non-static key|[Ll]ockdep is turned off"
               r"|turning off the locking correctness validator|Disabling lock debugging"
               r"|DEBUG_LOCKS_WARN_ON",
    "KASAN": r"KASAN: ",
    "UBSAN": r"UBSAN: ",
    # mm/page_alloc.c, mm/vmalloc.c.
    "allocation": r"page allocation failure|vmalloc error: |(vmap allocation|vmalloc_node_range) for size",
    "list": r"list_(add|del) corruption",
    "refcount": r"refcount_t: ",
    # lib/debugobjects.c.
    "ODEBUG": r"ODEBUG: (?!selftest passed)",
    # lib/stackdepot.c: without it KASAN and kmemleak do not know where memory is from.
    "stack depot": r"Stack depot reached limit|[Ss]tack ?[Dd]epot.* disabl(ed|ing)",
    # mm/kmemleak.c; leaks themselves are written to the log by guest/main.
    "kmemleak": r"unreferenced object|kmemleak: .*([Dd]isabled|[Uu]nknown object|Cannot |Memory pool empty"
                r"|by alias|Scan area larger|Failed to create)",
    # kernel/dma.
    # "Mapped at:" is the end of a report.
    "DMA-API": r"DMA-API: (?!preallocated |debugging enabled by kernel config|dma_debug_entry pool grown"
               r"|Mapped at:)",
    "swiotlb": r"swiotlb buffer is full",
    # drivers/iommu/intel: faults, page requests, the invalidation queue.
    "DMAR": r"DMAR: (\[|DRHD: handling fault|VT-d detected|ERROR|IOMMU: .*(request|canonical|overflow)"
            r"|.*: Invalid page request|.*[Ff]ailed)",
    # drivers/pci/pcie: aer.c, err.c, dpc.c.
    "AER": r"PCIe Bus Error|AER: .*(error|recover|aer_status)|DPC: containment event",
    # kernel/irq/spurious.c.
    "interrupt": r"irq \d+: \w+ cared |irq event \d+: bogus return value",
    # kernel/printk: what is not in the log was not searched, a mark of a test neither.
    "printk": r"\d+ printk messages dropped|printk: dropped \d+ messages|Too many dropped messages"
              r"|output lines suppressed due to ratelimiting",
}

REPORT = re.compile("|".join(f"(?:{pattern})" for pattern in REPORTS.values()))

# The rest of a report. It counts as a report where no heading precedes it: the heading may be missing
# in the table.
TRACE = re.compile(r"(\] |^)(RIP: |Call [Tt]race:)|\] ---\[ end trace")
