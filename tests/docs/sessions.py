# SPDX-License-Identifier: MIT
"""The commands that stand in the pages with what they print.

A ```console block has commands for the host after "$ ", and for root in a guest after "# ", and below
each what it prints. All are run in the top folder. In a guest the driver is loaded anew for each page.
"""

import os
import re
import subprocess

from markdown import pages

HOST, GUEST = "$ ", "# "

# What differs from run to run or from machine to machine: speeds, times left, requests, which include
# those of scrubbing, the QEMU, progress, what is built, and waits for another set-up.
VOLATILE = (
    (re.compile(r"\d[\d.]* ([KMGT]i)?B/s"), "SPEED"),
    (re.compile(r"\d+:\d\d left"), "TIME left"),
    (re.compile(r"^DMA requests .*", re.M), "DMA requests"),
    (re.compile(r"^guest: QEMU .*", re.M), "guest"),
    (re.compile(r"^(\[[#.]+\].*\n)+", re.M), "PROGRESS\n"),
    (re.compile(r"^(setup|qemu/run): .*\n", re.M), ""),
    (re.compile(r"^  (?:MODULE|CC|LD|AR|GEN) .*\n", re.M), ""),
    (re.compile(r"[ \t]+$", re.M), ""),
)


# Of the device whose output the pages show. With a newer QEMU it has 4096, and all numbers that follow
# from its size are others.
EDU_BYTES = 4032


def comparable(text, edu_bytes):
    for pattern, instead in VOLATILE:
        text = pattern.sub(instead, text)
    if edu_bytes != EDU_BYTES:
        text = re.sub(r" +", " ", re.sub(r"\b\d[\d.]*\b", "NUMBER", text))
    return text


class Command:
    """A command, and what the page says that it prints."""

    def __init__(self, where, text):
        self.where = where
        self.page = where.rpartition(":")[0]
        self.text = text
        self.output = ""

    def run(self, top, edu_bytes=EDU_BYTES):
        """Returns what is wrong with what it prints, or an empty string."""
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
        result = subprocess.run(["sh", "-c", self.text], cwd=top, env=environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, check=False)
        if comparable(result.stdout, edu_bytes) == comparable(self.output, edu_bytes):
            return ""
        return f"{self.text}\nprinted\n{result.stdout}and not, as the page says,\n{self.output}"


def reload_driver():
    """Counters and settings are those of a driver that has just been loaded."""
    for options in (["-r"], []):
        subprocess.run(["modprobe", *options, "paccel"], check=True)


def commands(top, prompt):
    """The commands of all pages for the host, or for a guest."""
    found = []
    for page in pages(top):
        for block in page.blocks:
            if block.language != "console":
                continue
            command = None
            for number, line in enumerate(block.text.splitlines(), block.line + 1):
                if line.startswith((HOST, GUEST)):
                    command = Command(page.at(number), line[2:]) if line.startswith(prompt) else None
                    found += [command] if command else []
                elif command:
                    command.output += line + "\n"
    return found


def check_sessions(top):
    """every block of a session begins with a command"""
    return [f"{page.at(block.line)}: a session without a command" for page in pages(top)
            for block in page.blocks
            if block.language == "console" and not block.text.startswith((HOST, GUEST))]
