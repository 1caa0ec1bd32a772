# SPDX-License-Identifier: MIT
"""Disks of a guest: images of qemu/setup by their names, and others by their paths."""

import os

from . import RunnerError
from .kernel import cache_dir

KINDS = ("paddle", "torch", "dlrover", "mpi")


def find(name):
    """The image, for `--disk NAME`."""
    if "/" in name:
        path = os.path.abspath(name)
        if not os.path.isfile(path):
            raise RunnerError(f"--disk {name}: there is no such file")
        return path
    kind, _, release = name.partition("-")
    home = os.path.join(cache_dir(), kind, release)
    if kind not in KINDS or not os.path.exists(os.path.join(home, ".complete")):
        raise RunnerError(f"disk {name} is not set up: run qemu/setup {kind} {release}")
    return os.path.join(os.path.realpath(home), "image")


def arguments(paths):
    """For QEMU: nobody can write them, so guests can share them."""
    words = []
    for number, path in enumerate(paths):
        # In the value of an option a comma is doubled.
        name = path.replace(",", ",,")
        words += ["-drive", f"file={name},if=none,id=disk{number},format=raw,readonly=on",
                  "-device", f"virtio-blk-pci,drive=disk{number}"]
    return words
