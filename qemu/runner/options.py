# SPDX-License-Identifier: MIT
"""The command line of qemu/run."""

import argparse
import os
import re
import shlex

from . import BadOption, RunnerError, architecture, disk, emulator
from .cluster import MAX_GUESTS
from .kernel import TOP

DEFAULT_TIMEOUT = 120
# Thirty times what it takes on an idle machine.
BOOT_TIMEOUT = 90

KINDS = ("edu", "ring")
MAX_CARDS = 8

CLOCKS = ("virtual", "real")
# Linux 6.1 does not get past the start of its second CPU in virtual time; 7.3 stops at times under busy processes.
REAL_TIME_KERNELS = ("6.1", "newest")

# What `--card ring,NAME=VALUE` may say; ringdev has the options of these names.
RING_OPTIONS = ("mem", "engines", "cards", "rate", "latency", "seed", "storm")
RING_ENGINES = 4


class Card:
    """A device on a root port of its own, and its properties in QEMU."""

    def __init__(self, index, driver, properties):
        self.id = f"card{index}"
        self.bus = f"rp{index}"
        self.slot = index + 1
        self.properties = {"driver": driver, "id": self.id, "bus": self.bus, **properties}
        # Of a ring device: the process and its socket, once it runs, and QEMU's name for that.
        self.ring = None
        self.socket = None
        self.channel = f"{self.id}-process"

    def port_argument(self):
        return f"pcie-root-port,id={self.bus},bus=pcie.0,chassis={self.slot},slot={self.slot}"

    def device_argument(self):
        rest = dict(self.properties)
        driver = rest.pop("driver")
        return ",".join([driver] + [f"{name}={value}" for name, value in rest.items()])


class RingGroup:
    """The devices of one `--card ring`: they share a process, and are each other's peers."""

    def __init__(self, spec, options):
        unknown = sorted(set(options) - set(RING_OPTIONS))
        if unknown:
            raise BadOption(f"--card {spec}: there is no '{unknown[0]}', only "
                            + ", ".join(RING_OPTIONS))
        self.spec = spec
        self.options = options
        self.count = small_number(spec, options, "cards", 1)
        self.vectors = small_number(spec, options, "engines", RING_ENGINES) + 1
        self.cards = []

    def add_cards(self, index):
        for number in range(index, index + self.count):
            card = Card(number, "ivshmem-doorbell", {"vectors": self.vectors})
            card.properties["chardev"] = card.channel
            self.cards.append(card)
        return self.cards


def small_number(spec, options, name, default):
    """Of what the runner itself has to know."""
    value = options.get(name, str(default))
    if not re.fullmatch("[1-8]", value):
        raise BadOption(f"--card {spec}: {name}={value}: a number from 1 to 8")
    return int(value)


def card_properties(spec, properties):
    found = {}
    for item in filter(None, properties.split(",")):
        name, equals, value = item.partition("=")
        if not equals or not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
            raise RunnerError(f"--card {spec}: '{item}' is not PROPERTY=VALUE")
        found[name] = value
    return found


def edu_properties(options):
    """What an edu needs to reach the RAM of this machine. An IOMMU gives it addresses that it has."""
    bits = options.architecture.edu_dma_bits
    return {"dma_mask": hex((1 << bits) - 1)} if bits and not options.iommu else {}


def make_cards(options):
    """All devices, and the groups of ring devices."""
    cards, rings = [], []
    for spec in options.card:
        kind, _, rest = spec.partition(",")
        if kind not in KINDS:
            raise RunnerError(f"--card {spec}: there is no card '{kind}', "
                              f"only {', '.join(KINDS)}")
        properties = card_properties(spec, rest)
        if kind == "ring":
            rings.append(RingGroup(spec, properties))
            cards += rings[-1].add_cards(len(cards))
        else:
            cards.append(Card(len(cards), kind, {**edu_properties(options), **properties}))
    if len(cards) > MAX_CARDS:
        raise RunnerError(f"--card: at most {MAX_CARDS} cards")
    return cards, rings


class Parser(argparse.ArgumentParser):
    """Bad options are failures of the runner, which has an exit status for them."""

    def error(self, message):
        raise RunnerError(message)


def positive(text):
    value = int(text)
    if value < 0:
        raise ValueError
    return value


positive.__name__ = "number"


def memory_size(text):
    """512M, 2G or plain MiB -> MiB."""
    match = re.fullmatch(r"([1-9][0-9]*)([MG]?)", text)
    if not match:
        raise ValueError
    return int(match.group(1)) * (1024 if match.group(2) == "G" else 1)


memory_size.__name__ = "size"


def make_parser():
    parser = Parser(
        prog="qemu/run", allow_abbrev=False,
        usage="qemu/run [option...] -- COMMAND [ARG...]",
        description="Boots a guest and runs COMMAND in it as root, in this directory. The host's "
                    "files are at the same paths, read-only; /tmp and /run are the guest's own.",
        epilog="Exit status: the command's; 124 at the time limit; 2 for a value of a ring card "
               "that is out of range; 125 for any other failure of the guest or of the runner.")
    parser.add_argument("--kernel", default="6.12", metavar="NAME",
                        help="6.1, 6.12 (default), newest, debug, kcsan, latency, 6.12-arm64, 6.12-arm64-16k, or "
                             "the path of a kernel: an image with all built in, or a build tree")
    parser.add_argument("--card", action="append", default=[], metavar="KIND[,NAME=VALUE...]",
                        help="a card on a root port of its own; up to eight. edu, with QEMU's "
                             "properties; or ring, with mem=256M, engines=4, cards=1 (so many in "
                             "one process), rate, latency, seed, storm of qemu/ringdev")
    parser.add_argument("--disk", action="append", default=[], metavar="NAME",
                        help="a disk that cannot be written: paddle-3.3.1, torch-2.7.1 and "
                             "the like of qemu/setup, or the path of an image. The first is "
                             "/dev/vda, after modprobe virtio_blk")
    parser.add_argument("--smp", type=positive, default=2, metavar="N", help="CPUs (2)")
    parser.add_argument("--mem", type=memory_size, default=512, metavar="SIZE",
                        help="memory, such as 256M or 5G (512M)")
    parser.add_argument("--guests", type=positive, default=1, metavar="N",
                        help="so many guests of this kind (1), up to 16, with a network between them, each of which "
                             "runs COMMAND: they are guest0, guest1, ... with the addresses 10.77.0.1, 10.77.0.2, "
                             "...; PACCEL_RANK is 0, 1, ..., PACCEL_HOSTS 'guest0=10.77.0.1 guest1=...'. When "
                             "COMMAND fails in one guest, all end. The output of guest0 is unchanged, the lines of "
                             "the others begin with their names; their logs are FILE.guest1, ...")
    parser.add_argument("--iommu", action="store_true", help="with an IOMMU that translates, of Intel or ARM")
    parser.add_argument("--append", default="", metavar="ARGS",
                        help="more words for the kernel's command line")
    parser.add_argument("--module", default="", metavar="ARGS",
                        help="parameters of paccel.ko; 'none': do not load it")
    parser.add_argument("--qemu", default="", metavar="ARGS", help="more arguments for QEMU")
    parser.add_argument("--qemu-version", default="", metavar="VERSION",
                        help="the QEMU of qemu/setup qemu VERSION: 10 or 11. Default: this machine's")
    parser.add_argument("--print-qemu", action="store_true",
                        help="only print the version of QEMU, whether it uses KVM, and why not")
    parser.add_argument("--timeout", type=positive, default=None, metavar="S",
                        help=f"time limit in seconds ({DEFAULT_TIMEOUT}; 0: none); a kernel full "
                             "of checkers gets a multiple of it")
    parser.add_argument("--boot-timeout", type=positive, default=BOOT_TIMEOUT, metavar="S",
                        help="time limit in seconds until the kernel starts its first program "
                             f"({BOOT_TIMEOUT}), multiplied as --timeout, and by the number of guests")
    parser.add_argument("--log", metavar="FILE", help="keep the kernel log")
    parser.add_argument("--clock", choices=CLOCKS, default=None,
                        help="virtual: the guest's time follows its instructions, waiting takes "
                             "none, and one host thread runs all CPUs; for guests without ring "
                             "cards. real: the host's time, a thread for each CPU; for tests of "
                             "races. Default: virtual if all cards are edu and the kernel is not "
                             "6.1 or newest, and there is one guest, else real. With KVM always real")
    parser.add_argument("--tty", action="store_true",
                        help="COMMAND gets this terminal; Ctrl-] ends the guest")
    return parser


def choose_clock(options):
    """The default, or what the command line says if this guest can have it."""
    if options.clock == "virtual" and options.rings:
        raise RunnerError("--clock virtual: a ring card's process has a clock of its own; "
                          "only --clock real fits --card ring")
    if options.clock == "virtual" and options.guests > 1:
        raise RunnerError("--clock virtual: each guest would have a time of its own; only --clock real fits "
                          "--guests")
    if options.clock == "virtual" and options.tty:
        raise RunnerError("--clock virtual: a guest that waits for a terminal's input would "
                          "spend years of its time; only --clock real fits --tty")
    if options.clock:
        return options.clock
    if options.rings or options.tty or options.guests > 1 or options.kernel in REAL_TIME_KERNELS:
        return "real"
    return "virtual" if options.cards else "real"


def collect_coverage(options, folder):
    """`make coverage` sets PACCEL_COVERAGE to a folder. What the instrumented driver and libraries
    have counted comes out of the guest through a port of its own, into a file of this run there."""
    archive = os.path.abspath(os.path.join(folder, f"{os.getpid()}.tar.gz"))
    options.qemu += (f" -chardev file,id=coverage,path={shlex.quote(archive)}"
                     " -device virtserialport,chardev=coverage,name=paccel.coverage")
    options.command = [os.path.join(TOP, "tests/coverage/guest")] + options.command


def parse(argv):
    if "--" in argv:
        split = argv.index("--")
        own, command = argv[:split], argv[split + 1:]
    else:
        own, command = argv, []
    options = make_parser().parse_args(own)
    options.architecture = architecture.of_kernel(options.kernel)
    options.emulator = emulator.find(options.qemu_version, options.architecture)
    if not command and not options.print_qemu:
        raise RunnerError("no COMMAND: qemu/run [option...] -- COMMAND [ARG...]")
    if options.smp < 1:
        raise RunnerError("--smp: a guest needs a CPU")
    options.command = command
    if folder := os.environ.get("PACCEL_COVERAGE"):
        collect_coverage(options, folder)
    if not 1 <= options.guests <= MAX_GUESTS:
        raise RunnerError(f"--guests: a number from 1 to {MAX_GUESTS}")
    if options.guests > 1 and options.tty:
        raise RunnerError("--tty: one guest only")
    options.boots_once = False
    # Of one guest of several: a Network of cluster.py.
    options.network = None
    options.cards, options.rings = make_cards(options)
    if options.module != "none" and edu_properties(options):
        # The last one counts.
        options.module = f"edu_dma_bits={options.architecture.edu_dma_bits} {options.module}"
    options.clock = choose_clock(options)
    options.disks = [disk.find(name) for name in options.disk]
    if options.rings and options.iommu:
        raise RunnerError("--iommu: a ring card's process takes bus addresses for addresses of "
                          "RAM, it knows no IOMMU")
    if options.timeout is None:
        options.timeout = 0 if options.tty else DEFAULT_TIMEOUT
    return options
