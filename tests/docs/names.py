# SPDX-License-Identifier: MIT
"""Checks that what the pages name is there. Each returns a list of problems."""

import glob
import os
import re
import subprocess

from markdown import pages

# Absolute paths that exist on every Linux system, or that a page tells the reader to make.
SYSTEM = ("/dev", "/etc", "/lib", "/proc", "/sys", "/tmp", "/run", "/usr", "/var")

PATH = re.compile(r"[\w.*-]+(/[\w.*-]+)+/?$|[\w-]+/$|(Makefile|README\.md)$")
ABSOLUTE = re.compile(r"(?<![\w.~}:/])/[a-z]\w*(?=/\w)")
IDENTIFIER = re.compile(r"\b(?:accel|paccel|ACCEL|PACCEL)_\w*[A-Za-z0-9](?![\w*])")
TARGET = re.compile(r"^([a-z][\w-]*(?:\s+[a-z][\w-]*)*)\s*:(?!=)", re.MULTILINE)


def check_links(top):
    """relative links lead somewhere"""
    known = {page.path: page for page in pages(top)}
    problems = []
    for page in known.values():
        for line, link in page.links:
            if "://" in link:
                continue
            path, _, wanted = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(page.path), path)) \
                if path else page.path
            if not os.path.exists(os.path.join(top, target)):
                problems.append(f"{page.at(line)}: {link}: there is no {target}")
            elif wanted and target in known and wanted not in known[target].anchors:
                problems.append(f"{page.at(line)}: {link}: there is no such heading")
    return problems


def check_every_page_is_linked(top):
    """every page can be reached from the index"""
    linked = set()
    for page in pages(top):
        linked |= {os.path.normpath(os.path.join(os.path.dirname(page.path), link.split("#")[0]))
                   for _, link in page.links if "://" not in link}
    return [f"{page.path}: no page links to it" for page in pages(top)
            if page.path not in linked and page.path != "README.md"]


def _path_problem(top, page, text):
    if not PATH.match(text) or text.startswith("build/"):
        return None
    first = text.split("/")[0]
    ours = {name for name in os.listdir(top) if not name.startswith(".")}
    if first not in ours and not _promised(text):
        return None
    for base in ("", os.path.dirname(page.path)):
        if glob.glob(os.path.join(top, base, text)):
            return None
    return f"there is no {text}"


def _promised(text):
    """Folders that the layout has, whether they are there or not."""
    return text.split("/")[0] in ("kernel", "include", "lib", "tools", "qemu", "tests",
                                  "examples", "Documentation", "LICENSES")


def _targets(top):
    targets = set()
    for path in [os.path.join(top, "Makefile")] + glob.glob(f"{top}/**/rules.mk", recursive=True):
        with open(path, encoding="utf-8") as file:
            for names in TARGET.findall(file.read()):
                targets |= set(names.split())
    return targets


def _output(top, *command):
    try:
        return subprocess.run(command, cwd=top, capture_output=True, text=True, check=True,
                              timeout=20).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return f"{error}"


class Commands:
    """What the tree's commands understand."""

    def __init__(self, top):
        self.top = top
        self.targets = _targets(top)
        self.options = set(re.findall(r"--[a-z][\w-]*", _output(top, "qemu/run", "--help")))
        self.verbs = set(re.findall(r"qemu/setup (\w[\w-]*)", _output(top, "qemu/setup", "--help")))
        self.tool = _output(top, os.path.join(os.environ.get("BUILD") or "build", "tools/accelctl"),
                            "--help")
        self.jobs = {line.split()[0] for line in
                     _output(top, "tests/check", "--list").splitlines() if line}
        with open(os.path.join(top, "Makefile"), encoding="utf-8") as file:
            self.makefile = file.read()

    def problem(self, text):
        """What is wrong with a command line, or None."""
        words = re.sub("^[$] ", "", text).split(" # ")[0].split()
        while words and re.match(r"[A-Z_]+=|sudo$", words[0]):
            words = words[1:]
        if not words:
            return None
        rules = {"make": self._make, "qemu/run": self._run, "qemu/setup": self._setup,
                 "tests/check": self._check, "accelctl": self._accelctl}
        if words[0] in rules:
            return rules[words[0]](words[1:])
        if "/" in words[0] and not words[0].startswith(("/", "build/", "./", "-")) \
                and _promised(words[0]) and not glob.glob(os.path.join(self.top, words[0])):
            return f"there is no {words[0]}"
        return None

    def _make(self, words):
        if "-C" in words:
            return None
        for word in words:
            name, assigned, _ = word.partition("=")
            if assigned and not re.search(rf"\b{name}\b", self.makefile):
                return f"the Makefile knows no {name}"
            if not assigned and re.match(r"[a-z]", word) and word not in self.targets:
                return f"make has no target {word}"
        return None

    def _run(self, words):
        for word in words:
            if word == "--":
                return self.problem(" ".join(words[words.index(word) + 1:]))
            option = word.split("=")[0]
            if option.startswith("--") and option not in self.options:
                return f"qemu/run has no option {option}"
        return None

    def _accelctl(self, words):
        if words and re.match(r"[a-z]", words[0]) and \
                not re.search(rf"^ +{words[0]}\b", self.tool, re.M):
            return f"accelctl has no command {words[0]}"
        return None

    def _setup(self, words):
        if words and words[0] not in self.verbs:
            return f"qemu/setup has no verb {words[0]}"
        return None

    def _check(self, words):
        for word in words:
            if re.match(r"[a-z0-9]", word) and word not in self.jobs:
                return f"tests/check has no job {word}"
        return None


def check_names(top):
    """paths and commands that the pages name exist"""
    commands = Commands(top)
    problems = []
    for page in pages(top):
        found = [(line, _path_problem(top, page, text) or commands.problem(text))
                 for line, text in page.spans]
        for block in page.blocks:
            if block.language in ("sh", "", "console"):
                # In a console block "# " is the prompt of a guest, elsewhere a comment.
                is_console = block.language == "console"
                found += [(block.line + number, commands.problem(text.removeprefix("# ") if is_console else text))
                          for number, text in enumerate(block.text.splitlines(), 1)
                          if not is_console or text.startswith(("$ ", "# "))]
        problems += [f"{page.at(line)}: {problem}" for line, problem in found if problem]
    return problems


def _sources(top):
    text = ""
    for folder in ("include", "kernel", "lib", "qemu", "tests/kselftest"):
        for path in glob.glob(f"{top}/{folder}/**/*", recursive=True):
            if os.path.isfile(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    text += file.read()
    return set(re.findall(r"\w+", text))


def check_identifiers(top):
    """functions, structs and constants that the pages name exist"""
    known = _sources(top)
    problems = []
    for page in pages(top):
        for line, text in page.spans:
            problems += [f"{page.at(line)}: no source has {name}"
                         for name in IDENTIFIER.findall(text) if name not in known]
    return problems


def check_absolute_paths(top):
    """the pages name no path of one machine"""
    return [f"{page.at(number)}: {path}" for page in pages(top)
            for number, line in enumerate(page.lines, 1)
            for path in ABSOLUTE.findall(line) if path not in SYSTEM]
