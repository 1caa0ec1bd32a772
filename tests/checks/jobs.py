# SPDX-License-Identifier: MIT
"""The jobs of tests/check and the tiers that they belong to."""

import os
import shlex
from dataclasses import dataclass

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD") or "build"
LOGS = os.path.join(BUILD, "check")

# Each tier runs its own jobs and those of the tiers before it; `long` and `named` run alone.
TIERS = ("quick", "check", "full", "long", "named")

# Time limit of a guest in seconds, against hangs only: a busy host has made 300 s of 100 s. The
# runner multiplies it for a kernel with checkers.
GUEST_LIMIT = 600


@dataclass(frozen=True)
class Job:
    """One command. `load` is the share of a processor that it keeps busy, in halves. `suite` is
    whose tests it runs: jobs of one suite run the same tests, which count once. `skips` is the
    number of results that are skipped, exactly. `limit` (s) ends it. `setup` are words for
    qemu/setup, `builds` targets of make; both are done before the first job starts. Jobs of a tier
    are in order of priority; other jobs of the next tiers run what is `covered`."""

    name: str
    tier: str
    command: tuple
    suite: str
    load: int = 2
    skips: int = 0
    limit: int = 1800
    setup: tuple = ()
    builds: tuple = ()
    covered: bool = False


def host(name, tier, command, **more):
    more.setdefault("suite", name)
    return Job(name, tier, tuple(shlex.split(command)), **more)


def option(words, name, default):
    return words[words.index(name) + 1] if name in words else default


def guest(name, tier, options, command, **more):
    """A command in a guest. The driver, and what the options ask for, is made before."""
    words = shlex.split(options)
    kernel = option(words, "--kernel", "6.12")
    disk = option(words, "--disk", "")
    setup = list(more.pop("setup", ())) + [f"kernel {kernel}"]
    if disk:
        setup.append(" ".join(disk.split("-", 1)))
    if version := option(words, "--qemu-version", ""):
        setup.append(f"qemu {version}")
    programs = ["lib", "tools", *more.pop("builds", ())]
    builds = [f"{BUILD}/kernel/{kernel}/paccel.ko", *(["arm64"] if "arm64" in kernel else programs)]
    if "ring," in options:
        builds.append("ringdev")
    more.setdefault("suite", "kselftest")
    more.setdefault("load", 2 if kernel in ("debug", "kcsan") else 1)
    log = ["--log", f"{LOGS}/{name}.klog"]
    limit = [] if "--timeout" in words else ["--timeout", str(GUEST_LIMIT)]
    # Longer than the guest's own, which says why; the runner multiplies that for a kernel with checkers.
    seconds = int(option(words, "--timeout", GUEST_LIMIT))
    more.setdefault("limit", 300 + seconds * (4 if kernel in ("debug", "kcsan") else 1))
    return Job(name, tier, tuple(["qemu/run"] + limit + log + words + ["--"] + shlex.split(command)),
               setup=tuple(setup), builds=tuple(builds), **more)


def kselftest(name, tier, options, programs="", **more):
    command = f"tests/kselftest/run {programs}"
    return guest(name, tier, options, command, builds=("kselftest",), **more)


def with_qemu(version):
    """The suite on the QEMU of another release than this machine's."""
    options = f"--qemu-version {version}"
    return [kselftest(f"kselftest-6.12-edu-qemu-{version}", "full", f"{options} {TWO_CARDS} {IOMEM}", "all smoke",
                      skips=3),
            kselftest(f"kselftest-6.12-ring-qemu-{version}", "full", f"{options} {RING_CARDS} {IOMEM}",
                      "device smoke", skips=1)]


def smoke(shape, options, expected, **more):
    return kselftest(f"smoke-{shape}", "full", options, f"{expected} smoke", **more)


def storm_long(kernel, operations=1000000, seconds=300):
    """Random work against a model, a storm of faults, and each fault alone on several engines."""
    return guest(f"storm-long-{kernel}", "long",
                 f"--kernel {kernel} --card ring,mem=64M,engines=4 --mem 1G --timeout 1200",
                 f"env PACCEL_OPS={operations} PACCEL_SECONDS={seconds} "
                 "tests/kselftest/run limit=1100 storm faults", builds=("kselftest",))


def unit(variant, tier, **more):
    return host(f"unit-{variant}", tier, f"make -s unit UNIT_RUN={variant}", suite="unit",
                builds=(f"unit-{variant}",), **more)


TWO_CARDS = "--card edu --card edu"
# Programs about the order of things run on the device of one engine, the others on that of four.
RING_CARDS = "--card ring,mem=16M,engines=4 --card ring,mem=16M,engines=1"
# Some tests map a BAR that has a driver, to look at the device without it.
IOMEM = "--append iomem=relaxed"
BOTH_KINDS = "--card edu --card ring,mem=16M,engines=2"
PEERS = "--card ring,mem=32M,engines=2,cards=2 --module p2p=force"
# As slow as an edu, for tests that do not know which device they run on.
SLOW_RING = "ring,mem=16M,latency=100000000"
STORM_CARD = "--card ring,mem=16M,engines=4 --mem 1G"
# The pages' programs are compiled, and their commands looked up.
DOCS = {"setup": ("source", "kernel 6.12"),
        "builds": (f"{BUILD}/kernel/6.12/paccel.ko", "lib", "tools")}
GROWN = f"{BUILD}/grown/kernel/paccel.ko"
# /dev/vda: zeroes, and what is written over them as long as the guest lives.
SWAP = "--qemu '-drive if=virtio,driver=null-co,size=1G,read-zeroes=on,snapshot=on'"
GPU = "--qemu '-device virtio-gpu-pci'"
# All kinds of devices in one guest: importing PaddlePaddle is most of what it costs.
PADDLE_CARDS = ("--card ring,mem=64M,engines=4,cards=2 --card ring,mem=16M "
                "--card ring,mem=256M --card edu --mem 1G --timeout 1500")
MPI_CARDS = "--card ring,mem=64M,engines=2,cards=2"


def paddle(release, tier, **more):
    """PaddlePaddle itself. What an older release does not have is skipped."""
    return guest(f"paddle-{release}", tier, f"--disk paddle-{release} {PADDLE_CARDS}",
                 "tests/clients/paddle/guest tests/clients/paddle/all", suite="paddle", load=2,
                 builds=("paddle-clients",), **more)


def mpi(name, tier, devices, parts, **more):
    """Open MPI 5.0, in the Debian 13 of a disk."""
    return guest(name, tier, f"--disk mpi-trixie {devices} --mem 1G --timeout 1500", f"tests/clients/mpi/run {parts}",
                 suite="mpi", load=2, setup=("openmpi",), builds=("mpi-clients",), **more)


def paddle_ranks(name, tier, command, device="ring,mem=64M,engines=2", memory="3G", **more):
    """Ranks of paddle.distributed, on two devices. The CPUs of virtual time lack what NumPy needs."""
    return guest(name, tier,
                 f"--disk paddle-3.3.1 --clock real --card {device} --card {device} --mem {memory} --timeout 2400",
                 f"tests/clients/paddle/guest tests/clients/paddle/{command}", suite="paddle", load=2, **more)


def network(name, tier, options="", guests=2, **more):
    """Guests that exchange data, without the driver."""
    return guest(f"network-{name}", tier, f"--guests {guests} --module none {options}", "tests/guest/network.py",
                 suite="network", load=2, **more)


def clients(name, tier, which):
    disk = "--disk dlrover-0.6.1 " if "python" in which else ""
    return guest(name, tier, f"{disk}{BOTH_KINDS} --mem 1G",
                 f"tests/clients/run {which}", suite="clients", load=2,
                 builds=("sundials-programs", "rmm-programs", "acl-clients", "python"))


JOBS = [
    # --- quick ---------------------------------------------------------------------------------
    unit("gcc-asan", "quick"),
    host("static", "quick", "tests/static/run -module -cxx", setup=("source",)),
    kselftest("quick", "quick", BOTH_KINDS, "quick", covered=True),

    # --- check: all that can find a regression of the product ----------------------------------
    # A guest with edu alone runs in virtual time. Programs that any device will do for run there only.
    kselftest("kselftest-debug-edu", "check", f"--kernel debug {TWO_CARDS} {IOMEM} --mem 1G",
              skips=4),
    kselftest("kselftest-debug-ring", "check", f"--kernel debug {RING_CARDS} {IOMEM} --mem 1G",
              "device"),
    kselftest("kselftest-6.12-edu", "check", f"{TWO_CARDS} {IOMEM}", "all smoke", skips=3),
    # In real time: what pulls devices, and races between CPUs. On debug, kselftest-debug-ring has them.
    kselftest("races-6.12", "check", f"--clock real {TWO_CARDS}", "races", skips=2),
    kselftest("kselftest-6.12-ring", "check", f"{RING_CARDS} {IOMEM}", "device smoke", skips=1),
    paddle("3.3.1", "check"),
    paddle_ranks("paddle-ranks", "check", "collectives.py reductions DataParallel"),
    # Apart, since the packages on its disk are for one version of Python.
    clients("python", "check", "python"),
    clients("clients", "check", "sundials rmm acl"),
    unit("scripts", "check"),
    unit("python", "check"),
    guest("library-6.12", "check", TWO_CARDS, "tests/guest/run", suite="library",
          builds=("guest-programs", "examples")),
    guest("drm", "check", f"--card edu {GPU}", "tests/guest/run-drm", suite="drm",
          builds=("guest-programs", "examples")),
    # And compiles the programs that only the next tiers run, for a tree that does not build is not green.
    host("static-cxx", "check", "tests/static/run cxx", builds=("bench-programs", "ringdev-programs")),
    host("abi", "check", "tests/abi/run", setup=("packages check",)),
    # What guests of the next tier run.
    host("build-arm64", "check", "make -s arm64", setup=("kernel 6.12-arm64", "source")),
    host("fuzz-test", "check", "make -s fuzz-test"),
    host("docs", "check", "pytest-3 tests/docs/test_pages.py", **DOCS),
    # Warnings are errors. The job `site` opens the pages of build/html.
    host("html", "check", f"make -s html HTML_OUT={LOGS}/html", setup=("source",), builds=("docs", "lib"), covered=True),
    guest("docs-programs", "check", "--card edu", "tests/docs/run-readme", suite="docs-programs",
          builds=("docs-programs", "examples", "python")),

    # --- full: the rest, by priority -----------------------------------------------------------
    # Kernels in real time, where the suite has the races, too.
    kselftest("kselftest-6.1-edu", "full", f"--kernel 6.1 {TWO_CARDS} {IOMEM}", skips=16),
    kselftest("kselftest-6.1-ring", "full", f"--kernel 6.1 {RING_CARDS} {IOMEM}", "device"),
    # The newest kernel of Debian 13's backports.
    kselftest("kselftest-newest-edu", "full", f"--kernel newest {TWO_CARDS} {IOMEM}", "all smoke", skips=16),
    kselftest("kselftest-newest-ring", "full", f"--kernel newest {RING_CARDS} {IOMEM}", "device smoke", skips=1),
    kselftest("races-debug", "full", f"--kernel debug --clock real {TWO_CARDS} --mem 1G",
              "cycles=20 races", skips=2),
    *with_qemu(10),
    *with_qemu(11),
    unit("gcc-tsan", "full"),
    host("static-module", "full", "tests/static/run module", setup=("clang-tree", "kernel 6.12")),
    # Two devices of one process, which reach each other's memory.
    kselftest("peers-6.1", "full", f"--kernel 6.1 {PEERS}", "peers"),
    guest("p2p-6.12", "full", PEERS, "tests/guest/run-p2p", suite="p2p",
          builds=("guest-programs",)),
    guest("p2p-staged", "full", PEERS.replace("force", "auto"), "tests/guest/run-p2p",
          suite="p2p", builds=("guest-programs",)),
    # The last part unloads the driver.
    mpi("mpi", "full", MPI_CARDS, "sm python"),
    # Another architecture, and pages of 16 KiB. RAM starts at 1 GiB, out of reach of an edu's 28 bits. Programs
    # that load the driver by themselves rely on these bits, so that edu is behind an SMMU.
    kselftest("kselftest-ring-arm64", "full", f"--kernel 6.12-arm64 {RING_CARDS} {IOMEM} --timeout 1200",
              "device smoke", skips=2),
    kselftest("kselftest-edu-arm64", "full", f"--kernel 6.12-arm64 {TWO_CARDS} --iommu {IOMEM} --timeout 1200",
              "dma=direct all smoke", skips=3),
    kselftest("races-arm64", "full", f"--kernel 6.12-arm64 --clock real {TWO_CARDS}", "races", skips=2),
    kselftest("ring-16k-arm64", "full", f"--kernel 6.12-arm64-16k {RING_CARDS}",
              "smoke copy streams unplug map share", skips=2),
    kselftest("iommu-16k-arm64", "full", "--kernel 6.12-arm64-16k --card edu --iommu",
              "dma=direct smoke copy streams"),
    # Programs that know the structs of now, with a driver whose structs have grown.
    guest("grown", "full", "--module none --card edu",
          f"sh -c 'insmod {GROWN} && PACCEL_KO={GROWN} tests/kselftest/run submit streams wait copy fill host alloc'",
          builds=("kselftest", GROWN)),
    # Verified and mapped work, and memory of a peer: calls that edu refuses.
    kselftest("fail-nth-ring", "full", f"--kernel debug {PEERS} --mem 1G", "fail_nth"),
    # Random work against a model, and a storm of faults under it.
    kselftest("storm-6.12", "full", STORM_CARD, "storm"),
    kselftest("storm-debug", "full", f"--kernel debug {STORM_CARD}", "storm"),
    # Each fault alone; devices that fall silent, die, or are pulled at work.
    kselftest("faults-6.12", "full", "--card ring,mem=16M,engines=1 --mem 1G", "faults-one", load=3,
              skips=2),
    kselftest("silence-6.1", "full", "--kernel 6.1 --card ring,mem=16M,engines=1 --mem 1G", "silence"),
    kselftest("full", "full", "--card ring,mem=1G,engines=4 --mem 1G", "full"),
    kselftest("suspend", "full", f"{BOTH_KINDS} {SWAP}", "suspend"),
    # The same where KASAN and lockdep see how the driver recovers.
    # Half of their time they wait for time limits.
    kselftest("faults-debug", "full", "--kernel debug --card ring,mem=16M,engines=1 --mem 1G",
              "faults-one silence", skips=2, load=1),
    kselftest("faults-4-debug", "full", "--kernel debug --card ring,mem=16M,engines=4 --mem 1G", "faults",
              load=1),
    # The stock job has the card of 1 GiB; its 10^5 pieces take a debug kernel minutes.
    kselftest("full-debug", "full", "--kernel debug --card ring,mem=256M,engines=4 --mem 1G", "full"),
    kselftest("peers-debug", "full", f"--kernel debug {PEERS} --mem 1G", "peers"),
    # No hibernation: this kernel's image of 330 MB takes minutes to compress.
    kselftest("suspend-debug", "full", f"--kernel debug {BOTH_KINDS} --mem 1G", "suspend", skips=4),
    kselftest("errors-debug", "full", f"--kernel debug {BOTH_KINDS} {IOMEM} --mem 1G",
              "errors probe loading", skips=4),
    # Errors of the bus, probing that fails.
    kselftest("errors-6.12", "full", f"{BOTH_KINDS} {IOMEM} --mem 1G", "errors probe", skips=8),
    # Machines of other shapes; what the driver should make of them stands behind `run`.
    smoke("256M", "--card edu --mem 256M", "dma=direct"),
    smoke("2G", f"{BOTH_KINDS} --mem 2G", "dma=bounce"),
    smoke("5G", f"{BOTH_KINDS} --mem 5G", "dma=bounce"),
    smoke("iommu", "--card edu --iommu", "dma=direct"),
    smoke("intx", f"{BOTH_KINDS} --append pci=nomsi", "irq=intx"),
    smoke("intx-debug", f"--kernel debug {BOTH_KINDS} --append pci=nomsi", "irq=intx"),
    smoke("wide-mask", "--card edu,dma_mask=0xffffffffffffffff --module edu_dma_bits=64",
          "dma=direct"),
    smoke("8-cards", "--card edu " * 8, "dma=bounce"),
    # The device reaches the memory of other drivers by itself; it does not in the whole suite.
    smoke("swiotlb", "--card edu --mem 256M --append swiotlb=force", "dma=bounce share"),
    smoke("iommu-debug", "--kernel debug --card edu --iommu", "dma=direct share"),
    kselftest("share-256M", "full", "--kernel 6.1 --card edu --mem 256M", "share"),
    guest("library-6.1", "full", f"--kernel 6.1 {TWO_CARDS}", "tests/guest/run", suite="library",
          builds=("guest-programs", "examples")),
    guest("library-newest", "full", f"--kernel newest {TWO_CARDS}", "tests/guest/run", suite="library",
          builds=("guest-programs", "examples")),
    guest("library-ring", "full", f"--card {SLOW_RING} --card {SLOW_RING}", "tests/guest/run",
          suite="library", builds=("guest-programs", "examples")),
    guest("library-debug", "full", f"--kernel debug {TWO_CARDS}", "tests/guest/run",
          suite="library", builds=("guest-programs", "examples")),
    guest("drm-ring", "full", f"--card {SLOW_RING} {GPU}", "tests/guest/run-drm", suite="drm",
          builds=("guest-programs", "examples")),
    guest("drm-debug", "full", f"--kernel debug --card edu {GPU}", "tests/guest/run-drm", suite="drm",
          builds=("guest-programs", "examples")),
    host("runner", "full", "pytest-3 -n 3 -m 'not long' tests/runner", limit=5400,
         setup=("kernel 6.12", "kernel 6.1", "kernel debug"), builds=("kernel", "ringdev", "kselftest", "tools")),
    mpi("mpi-transports", "full", MPI_CARDS, "tcp hosts ranks mapped interfaces limits"),
    mpi("mpi-edu", "full", f"--clock real {TWO_CARDS}", "edu"),
    mpi("mpi-faults", "full", "--card ring,mem=64M,engines=2 " * 2, "faults"),
    guest("mpi-guests", "full",
          f"--guests 2 --disk mpi-trixie {STORM_CARD} --timeout 1500",
          "tests/clients/mpi/guest qemu/guest/on-first tests/clients/mpi/run guests", suite="mpi", load=2,
          setup=("openmpi", "packages run-mpi"), builds=("mpi-clients",), skips=3),
    # What the targets run-mpi and run-paddle-2 do.
    host("mpi-demo", "full", "tests/clients/mpi/demo",
         setup=("kernel 6.12", "mpi trixie", "openmpi", "packages run-mpi"),
         builds=(f"{BUILD}/kernel/6.12/paccel.ko", "lib", "tools", "ringdev", "mpi-clients")),
    guest("paddle-guests", "full",
          "--guests 2 --disk paddle-3.3.1 --card ring,mem=64M,engines=2 --mem 2G --timeout 1500",
          "tests/clients/paddle/guest tests/clients/paddle/guests.py", suite="paddle", load=2,
          setup=("packages run-paddle-2",)),
    host("paddle-launch", "full", "env GUESTS=1 tests/clients/paddle/run-2 4", limit=2400,
         setup=("kernel 6.12", "paddle 3.3.1", "packages run-paddle-2"),
         builds=(f"{BUILD}/kernel/6.12/paccel.ko", "lib", "tools", "ringdev")),
    host("paddle-guests-training", "full", "tests/clients/paddle/run-2", limit=2400,
         setup=("kernel 6.12", "paddle 3.3.1", "packages run-paddle-2"),
         builds=(f"{BUILD}/kernel/6.12/paccel.ko", "lib", "tools", "ringdev")),
    network("6.12", "full", guests=3),
    network("6.1", "full", "--kernel 6.1"),
    network("newest", "full", "--kernel newest"),
    *[network(f"qemu-{version}", "full", f"--qemu-version {version}") for version in (10, 11)],
    host("ringdev", "full", "make -s ringdev-test", load=1, builds=("ringdev-programs",)),
    host("ringdev-fuzz", "full", "make -s ringdev-fuzz", load=1, builds=("ringdev-programs",)),
    unit("clang-asan", "full"),
    unit("clang-tsan", "full"),
    kselftest("storm-6.1", "full", f"--kernel 6.1 {STORM_CARD}", "storm"),
    host("fuzz", "full", "env KERNEL=debug tests/fuzz/run 300", setup=("kernel debug",), limit=2700,
         builds=(f"{BUILD}/kernel/debug/paccel.ko", f"{BUILD}/tests/fuzz/fuzz", "ringdev")),
    # The README's first command on a clean Debian.
    host("fresh-debian-12", "full", "tests/setup/fresh-debian bookworm", setup=("root bookworm",)),
    host("fresh-debian-13", "full", "tests/setup/fresh-debian trixie", setup=("root trixie",)),
    host("container", "full", "tests/setup/container", setup=("root bookworm",), limit=3600),
    # The Debian packages are built, installed, used in a guest that boots from them, and removed.
    host("packages-debian-12", "full", "tests/setup/packages bookworm", setup=("root bookworm",), limit=5400),
    host("packages-debian-13", "full", "tests/setup/packages trixie", setup=("root trixie",), limit=5400),
    host("packages-rpm", "full", "tests/setup/rpm-packages", setup=("root trixie",)),
    # Needs Python's package index.
    host("python-packages", "full", "tests/setup/python-packages", setup=("packages wheels",)),
    # The modules, with each series of kernels that a release and its backports have.
    *[host(f"headers-{release}", "full", f"tests/setup/headers {release}", setup=(f"root {release}",), limit=3600)
      for release in ("bookworm", "trixie", "sid")],
    host("project-files", "full", "tests/setup/project-files", setup=("packages wheels", "kernel 6.12"),
         builds=(f"{BUILD}/kernel/6.12/paccel.ko", "lib", "tools")),
    paddle_ranks("paddle-ranks-all", "full", "collectives.py"),
    paddle_ranks("paddle-ranks-edu", "full", "collectives.py -s objects sentence", device="edu"),
    paddle_ranks("paddle-lost", "full", "lost.py"),
    paddle_ranks("paddle-scale", "full", "scale.py", memory="6G"),
    host("bench", "full", "pytest-3 tests/bench", setup=("paddle 3.3.1", "mpi trixie", "openmpi"),
         builds=(f"{BUILD}/kernel/6.12/paccel.ko", "bench-programs", "bench-mpi")),
    # The pages' commands for the host, which boot guests.
    host("docs-commands", "full", "tests/docs/run-readme host", setup=("kernel 6.12",),
         builds=("all",)),
    host("site", "full", "sh -c 'make -s html && pytest-3 tests/docs/test_site.py'",
         setup=("packages site", "source"), builds=("docs", "lib")),
    host("docs-mutations", "full", "pytest-3 tests/docs/test_proof.py", **DOCS),

    # --- long ----------------------------------------------------------------------------------
    # Data races of the driver, and the test that they are reported.
    host("runner-kcsan", "long", "pytest-3 -m long tests/runner", setup=("kernel kcsan",)),
    kselftest("kcsan-edu", "long", f"--kernel kcsan --clock real {TWO_CARDS} --mem 1G",
              "races streams", skips=2),
    kselftest("kcsan-ring", "long", f"--kernel kcsan {STORM_CARD} --card ring,mem=16M,engines=1",
              "concurrency streams unplug storm"),
    *[storm_long(kernel) for kernel in ("6.12", "6.1")],
    storm_long("debug", operations=100000, seconds=30),
    host("fuzz-long", "long", "env KERNEL=6.12 tests/fuzz/run 1800", setup=("kernel 6.12",), limit=2700,
         builds=(f"{BUILD}/kernel/6.12/paccel.ko", f"{BUILD}/tests/fuzz/fuzz", "ringdev")),
    host("ringdev-fuzz-long", "long", "make -s ringdev-fuzz FUZZ_SECONDS=600", load=1,
         builds=("ringdev-programs",)),

    # --- by name only, as the targets of `make` that have their names --------------------------
    *[clients(name, "named", name) for name in ("sundials", "rmm", "acl")],
    paddle("3.0.0", "named", skips=11),
    paddle("2.6.2", "named", skips=14),
    *[guest(name, "named",
            "--disk torch-2.7.1 --card ring,mem=64M,engines=4,cards=2 --mem 2G --timeout 1500",
            f"tests/clients/torch/guest tests/clients/torch/{script}.py", suite=name, load=2)
      for name, script in (("torch", "card"), ("torch-distributed", "distributed"))],
    guest("sundials-debian", "named", BOTH_KINDS, "tests/clients/sundials/run 7.1.1",
          suite="sundials"),
    # Tests of other projects, which are in their source packages.
    guest("upstream", "named", STORM_CARD, "tests/upstream/run", suite="upstream"),
]

def of_tier(tier):
    """The jobs that `make check-TIER` runs, in the order in which they matter."""
    if tier in ("quick", "check", "full"):
        wanted = TIERS[:TIERS.index(tier) + 1]
    else:
        wanted = (tier,)
    return [job for job in JOBS
            if job.tier in wanted and not (job.covered and job.tier != tier)]
