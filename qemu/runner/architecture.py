# SPDX-License-Identifier: MIT
"""What a guest's architecture decides: QEMU's program and machine, the kernel's console, where RAM starts."""

import os
import platform
from dataclasses import dataclass

from . import RunnerError
from .kernel import cache_dir


@dataclass(frozen=True)
class Architecture:
    """`name` is Debian's. `cpus` has the CPU of an emulated guest for each clock. `image` is the kernel in a
    build tree. `ram_start` is the bus address of RAM, if RAM is one piece; 0: as on a PC. `edu_dma_bits` is the
    width of bus addresses that an `edu` needs to reach RAM, if that is not its default. `dmi`: the kernel finds the
    tables of DMI without EFI. Below `build`, a folder in build/, are the programs for its guests.
    `old_qemu_words` are for the kernel, where QEMU before 8.0 emulates the CPU."""

    name: str
    machine_name: str
    qemu: str
    package_set: str
    machine: str
    cpus: dict
    console: str
    kernel_words: tuple
    image: str
    build: str = ""
    tsc: bool = False
    dmi: bool = False
    ram_start: int = 0
    edu_dma_bits: int = 0
    iommu_machine: str = ""
    iommu_device: tuple = ()
    iommu_words: tuple = ()
    old_qemu_words: tuple = ()

    def is_host(self):
        return self.machine_name == platform.machine()

    def userland(self):
        """The root of the guest's user space on the host. "": the host's own."""
        if not self.build:
            return ""
        home = os.path.join(cache_dir(), "userland", self.name)
        if not os.path.exists(os.path.join(home, ".complete")):
            raise RunnerError(f"the user space of {self.name} guests is not set up: "
                              f"run qemu/setup userland {self.name}")
        return os.path.join(os.path.realpath(home), "root")


AMD64 = Architecture(
    name="amd64", machine_name="x86_64", qemu="qemu-system-x86_64", package_set="run", machine="q35",
    # cmpxchg16b of QEMU 7.2 now and then leaves another register's value in EFLAGS (seen in kmem_cache_alloc(): a
    # debug trap for TF), more often where one thread runs all CPUs. Those do not have it. NumPy needs it: where each
    # CPU has a thread, only the kernel does without it.
    cpus={"virtual": "max,-cx16", "real": "max"}, old_qemu_words=("clearcpuid=cx16",),
    console="ttyS0", kernel_words=("random.trust_cpu=on", "tsc=reliable", "no_timer_check"),
    image="arch/x86/boot/bzImage", tsc=True, dmi=True,
    iommu_device=("-device", "intel-iommu"), iommu_words=("intel_iommu=on",))

ARM64 = Architecture(
    name="arm64", machine_name="aarch64", qemu="qemu-system-aarch64", package_set="arm64",
    # The ITS makes interrupts of MSI.
    machine="virt,gic-version=3,its=on",
    # Pointer authentication by the specified cipher takes a third of the time of an emulated guest.
    cpus={"virtual": "max,pauth-impdef=on", "real": "max,pauth-impdef=on"},
    console="ttyAMA0", kernel_words=("random.trust_cpu=on",),
    image="arch/arm64/boot/Image", build="arm64",
    # 28 bits, the default of an edu, end below.
    ram_start=1 << 30, edu_dma_bits=32,
    iommu_machine=",iommu=smmuv3")


def of_kernel(name):
    """That of `--kernel NAME`: a name of qemu/setup, or the path of a build tree or of an image."""
    if "/" not in name:
        return ARM64 if "-arm64" in name else AMD64
    if os.path.isdir(name):
        return ARM64 if os.path.exists(os.path.join(name, ARM64.image)) else AMD64
    try:
        with open(name, "rb") as file:
            return ARM64 if file.read(60)[56:] == b"ARM\x64" else AMD64
    except OSError:
        return AMD64
