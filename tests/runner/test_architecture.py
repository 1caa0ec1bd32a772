# SPDX-License-Identifier: MIT
"""Guests of another architecture: what qemu/run makes of their kernels' names."""

import os
import sys

import pytest

from guests import FAILED, TOP, failed, run

sys.path.insert(0, os.path.join(TOP, "qemu"))
# pylint: disable=wrong-import-position
from runner import architecture, kernel, machine, options  # noqa: E402


def parse(*words):
    return options.parse([*words, "--", "true"])


def edu_of(*words):
    """The width of bus addresses of an edu, as QEMU and as the driver get it."""
    parsed = parse("--card", "edu", *words)
    return options.edu_properties(parsed).get("dma_mask"), parsed.module.split()


@pytest.mark.parametrize("name, found", [
    ("6.12", "amd64"), ("debug", "amd64"), ("6.12-arm64", "arm64"), ("6.12-arm64-16k", "arm64")])
def test_architecture_of_a_name(name, found):
    assert architecture.of_kernel(name).name == found


def write_image(path, text):
    """With the magic of an arm64 Image, and with the text that the kernel prints."""
    with open(path, "wb") as file:
        file.write(bytes(56) + b"ARM\x64" + bytes(1000) + text)


def test_architecture_of_a_path(tmp_path):
    image = f"{tmp_path}/Image"
    write_image(image, b"Linux version 6.12.1-own (builder) #1 SMP\n")
    assert architecture.of_kernel(image).name == "arm64"
    assert kernel.image_version(image) == "6.12.1-own"
    os.makedirs(f"{tmp_path}/arch/arm64/boot")
    assert architecture.of_kernel(str(tmp_path)).name == "amd64"
    write_image(f"{tmp_path}/arch/arm64/boot/Image", b"")
    assert architecture.of_kernel(str(tmp_path)).name == "arm64"


ARM64 = ["--kernel", "6.12-arm64"]


@pytest.mark.parametrize("words, mask, module", [
    ([], None, []), (["--module", "scrub=0"], None, ["scrub=0"]),
    # RAM starts where the addresses of an edu end.
    (ARM64, "0xffffffff", ["edu_dma_bits=32"]),
    ([*ARM64, "--module", "scrub=0"], "0xffffffff", ["edu_dma_bits=32", "scrub=0"]),
    ([*ARM64, "--module", "none"], "0xffffffff", ["none"]),
    # An IOMMU gives it addresses that it has.
    ([*ARM64, "--iommu"], None, [])])
def test_an_edu_reaches_ram(words, mask, module):
    assert edu_of(*words) == (mask, module)


def test_the_kernel_finds_its_console():
    line = machine.kernel_command_line(parse(*ARM64, "--iommu")).split()
    assert "console=ttyAMA0" in line
    assert not [word for word in line if word.startswith(("tsc", "intel_iommu"))]


def test_a_kernel_without_its_user_space(tmp_path):
    os.makedirs(f"{tmp_path}/paccel/kernel/6.12-arm64")
    failed(run("true", *ARM64, cwd=TOP, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}), FAILED,
           "the user space of arm64 guests is not set up: run qemu/setup userland arm64")
