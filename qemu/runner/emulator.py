# SPDX-License-Identifier: MIT
"""The QEMU of a guest: this machine's, or a version that qemu/setup has unpacked."""

import functools
import os
import re
import subprocess

from . import RunnerError
from .kernel import cache_dir


class Emulator:
    """program, and `version` of it: three numbers."""

    def __init__(self, program, architecture):
        self.program = program
        self.architecture = architecture

    @functools.cached_property
    def version(self):
        try:
            said = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=False).stdout
        except FileNotFoundError:
            raise RunnerError(f"there is no {self.program}: run qemu/setup packages "
                              f"{self.architecture.package_set}") from None
        match = re.match(r"QEMU emulator version (\d+)\.(\d+)\.(\d+)", said)
        if not match:
            raise RunnerError(f"{self.program} --version prints no version: {said[:100]!r}")
        return tuple(map(int, match.groups()))

    @property
    def edu_bytes(self):
        """How much of an edu's memory the driver uses: what DMA requests may include, if the driver can read
        the version of the machine."""
        return 4096 if self.version >= (9, 0, 0) and self.architecture.dmi else 4032

    def __str__(self):
        return "QEMU " + ".".join(map(str, self.version))


def find(name, architecture):
    """For `--qemu-version NAME`; without a name this machine's."""
    if not name:
        return Emulator(architecture.qemu, architecture)
    home = os.path.join(cache_dir(), "qemu", name)
    if "/" in name or not os.path.exists(os.path.join(home, ".complete")):
        raise RunnerError(f"QEMU {name} is not set up: run qemu/setup qemu {name}")
    program = os.path.join(os.path.realpath(home), architecture.qemu)
    if not os.path.exists(program):
        raise RunnerError(f"QEMU {name} is set up for other guests than those of {architecture.name}")
    return Emulator(program, architecture)
