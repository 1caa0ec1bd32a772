# SPDX-License-Identifier: MIT
"""The C programs that stand in the pages: taken out, compiled, run.

A ```c block is a whole program; ```c build/NAME.c says where the page tells the reader to save it. A
```text block after it, and before the next program, is what it prints, or the end of a ```console block
that runs it. A ```c kernel block is the file of a card.
"""

import os
import re
import shlex
import shutil
import subprocess

from markdown import pages

WARNINGS = "-std=gnu11 -O2 -Wall -Wextra -Werror -Wmissing-prototypes -Wstrict-prototypes -Wshadow"


class Program:
    """One of them. Its name tells the page and which of its programs it is."""

    def __init__(self, page, block, number):
        self.where = page.at(block.line)
        self.page = page.path
        self.name = os.path.splitext(page.path)[0].replace("/", "-") + f"-{number}"
        self.text = block.text
        self.path = block.language.partition(" ")[2]
        self.output = None

    def build(self, top, out):
        """Returns what the compiler says against it, or an empty string."""
        build = os.environ.get("BUILD") or "build"
        source = os.path.join(out, self.name + ".c")
        with open(source, "w", encoding="utf-8") as file:
            # Messages of the compiler then have the page's own lines.
            line = int(self.where.rpartition(":")[2]) + 1
            file.write(f'#line {line} "{self.page}"\n' + self.text)
        command = [*shlex.split(os.environ.get("CC") or "gcc"), *WARNINGS.split(), "-Iinclude",
                   "-Iinclude/uapi", source, f"-L{build}/lib", "-laccel",
                   "-o", os.path.join(out, self.name)]
        result = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)
        if result.returncode or result.stderr:
            return result.stderr or f"the compiler ended with {result.returncode}"
        return ""

    def save(self, top):
        """Saves it where the page says, if it says so."""
        if self.path:
            with open(os.path.join(top, self.path), "w", encoding="utf-8") as file:
                file.write(self.text)

    def run(self, out):
        """
        Returns what is wrong with what it does, or an empty string. Without a limit of time: while
        the guest waits for the host to read the file, hours of its virtual time may pass.
        `qemu/run` has a limit in the host's time.
        """
        result = subprocess.run([os.path.join(out, self.name)], capture_output=True, text=True,
                                check=False)
        if result.returncode or result.stderr:
            return f"ended with {result.returncode}, said: {result.stderr.strip()}"
        if self.output is not None and result.stdout != self.output:
            return f"printed\n{result.stdout}and not, as the page says,\n{self.output}"
        return ""


def session_output(session, path):
    """What a session prints whose last command runs the program without arguments, or None."""
    before, _, last = session.rpartition("$ ")
    command, _, output = last.partition("\n")
    runs = path and before and command.endswith(" -- " + path.removesuffix(".c"))
    return output if runs else None


def programs(top):
    found = []
    for page in pages(top):
        last = None
        number = 0
        for block in page.blocks:
            if re.match(r"c( build/\w+\.c)?$", block.language):
                number += 1
                last = Program(page, block, number)
                found.append(last)
            elif block.language == "text" and last and last.output is None:
                last.output = block.text
            elif block.language == "console" and last and last.output is None:
                last.output = session_output(block.text, last.path)
    return found


def folder(top, name):
    out = os.path.join(os.path.abspath(os.path.join(top, os.environ.get("BUILD") or "build")),
                       "tests/docs", name)
    os.makedirs(out, exist_ok=True)
    return out


def build_programs(top, out):
    problems = []
    found = programs(top)
    if not any(program.page == "README.md" for program in found):
        problems.append("README.md: there is no program")
    for program in found:
        message = program.build(top, out)
        if message:
            problems.append(f"{program.where}: {message}")
    return problems


def check_programs(top):
    """every C program in the pages compiles"""
    # A guest may be running those that were built for it.
    return build_programs(top, folder(top, "check"))


def check_card(top):
    """the backend in backends.md builds as a module of its own, as the page says"""
    page, = [page for page in pages(top) if page.path == "Documentation/backends.md"]
    source, = [block.text for block in page.blocks if block.language == "c kernel"]
    kbuild, = [block.text for block in page.blocks
               if block.language == "text" and block.text.startswith("obj-m")]
    command, = [block.text for block in page.blocks
                if block.language == "sh" and "PACCEL=DIRECTORY" in block.text]
    out = folder(top, "card")
    for name, text in (("tern.c", source), ("Kbuild", kbuild)):
        with open(os.path.join(out, name), "w", encoding="utf-8") as file:
            file.write(text)
    built = os.path.abspath(os.path.join(top, os.environ.get("BUILD") or "build",
                                         "kernel/6.12/Module.symvers"))
    if not os.path.exists(built):
        return [f"{built} is not there: make kernel"]
    installed = os.path.join(out, "installed")
    shutil.rmtree(installed, ignore_errors=True)
    subprocess.run(["kernel/install-module", os.path.dirname(built), "6.12", installed, "/usr"],
                   cwd=top, check=True)
    driver = os.path.join(installed, "usr/src/paccel-6.12")
    tree = subprocess.run(["qemu/setup", "print", "6.12", "kdir"], cwd=top, capture_output=True,
                          text=True, check=True).stdout.strip()
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("CC", "CFLAGS", "MAKEFLAGS", "MAKELEVEL")}
    # As W=1 does.
    environment["KBUILD_EXTRA_WARN"] = "1"
    command = command.replace("DIRECTORY", driver).replace("/lib/modules/$(uname -r)/build", tree)
    result = subprocess.run(["sh", "-c", command], cwd=out, capture_output=True, text=True,
                            check=False, env=environment)
    said = result.stderr.strip()
    return [said or f"make ended with {result.returncode}"] if result.returncode or said else []
