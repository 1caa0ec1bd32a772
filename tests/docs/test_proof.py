# SPDX-License-Identifier: MIT
"""The proof that each check finds what it is there for: in a copy of the tree something
is broken, and the check has to say so."""

import os
import re
import shutil
import subprocess
import sys

import pytest

import contract
import manual
import names
import pictures
import programs
import sessions
from markdown import Block, Page

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Check, file, what is replaced (a regular expression, once), by what, a word of the answer.
BREAKS = [
    (names.check_links, "README.md", r"\]\(Documentation/[\w-]+\.md\)", "](Documentation/no.md)",
     "no.md"),
    (names.check_links, "README.md", r"\Z", "[x](Documentation/uapi.md#nowhere)\n", "nowhere"),
    (names.check_every_page_is_linked, "Documentation/extra.md", r"\Z", "text\n", "extra.md"),
    (names.check_names, "README.md", r"\Z", "`kernel/no.c`\n", "kernel/no.c"),
    (names.check_names, "README.md", r"\Z", "`make nothing`\n", "nothing"),
    (names.check_names, "README.md", r"\Z", "`make check NO=1`\n", "NO"),
    (names.check_names, "README.md", r"\Z", "```sh\nqemu/run --no -- true\n```\n", "--no"),
    (names.check_names, "README.md", r"\Z", "`qemu/setup no`\n", "verb no"),
    (names.check_names, "README.md", r"\Z", "`tests/check no`\n", "job no"),
    (names.check_names, "README.md", r"\Z", "`accelctl no`\n", "command no"),
    (names.check_names, "README.md", r"\Z", "`qemu/run --card edu -- accelctl no`\n", "command no"),
    (names.check_identifiers, "README.md", r"\Z", "`accel_no_such()`\n", "accel_no_such"),
    (names.check_absolute_paths, "README.md", r"\Z", "in /home/me/tree\n", "/home"),
    (contract.check_sysfs, "kernel/driver/sysfs.c", r"&dev_attr_backend", "&dev_attr_new", "new"),
    (contract.check_sysfs, "kernel/driver/sysfs.c", r"&dev_attr_backend", "&dev_attr_new", "backend"),
    (contract.check_parameters, "kernel/core/module.c", r"module_param_named\(scrub",
     "module_param_named(new", "new"),
    (contract.check_parameters, "kernel/core/module.c", r"\(10000\)", "(20000)", "watchdog_ms"),
    (contract.check_abi_format, "Documentation/ABI/testing/module-paccel", r"Contact:.*\n", "",
     "Description"),
    (contract.check_ioctls, "include/uapi/linux/paccel.h", r"PACCEL_IOC_COPY _IO",
     "PACCEL_IOC_NEW _IO", "NEW"),
    (contract.check_ioctls, "Documentation/uapi.md", r"\| `EINTR`", "| `EAGAIN`", "EINTR"),
    (contract.check_kernel_doc, "include/uapi/linux/paccel.h", r" \* @granule:.*\n", "",
     "granule"),
    (contract.check_kernel_doc, "include/uapi/linux/paccel.h", r"``-ENODEV``   ",
     "``-ENODEV``, or-so", "between columns"),
    (contract.check_numbers, "kernel/mem/pool.h", r"SZ_2M", "SZ_4M", "SZ_2M"),
    (contract.check_numbers, "Documentation/concepts.md", r"\(10 s\)", "(20 s)", "(10 s)"),
    (contract.check_kselftest, "tests/kselftest/new.c", r"\Z", "int main(void)\n", "new"),
    (contract.check_ring_card, "qemu/ringdev/hw.h", r"CONTROL\t\t0x100", "CONTROL\t\t0x10c",
     "CONTROL, 10c"),
    (contract.check_ring_card, "Documentation/ringdev.md", r"\| 0x094 \| `STATUS`",
     "| 0x094 | `STATE`", "STATE, 094"),
    (contract.check_ring_card, "qemu/ringdev/hw.h", r"RING_OVERLAP = 8", "RING_OVERLAP = 13",
     "OVERLAP, 13"),
    (contract.check_ring_card, "qemu/ringdev/hw.h", r"RING_OP_FILL = 4", "RING_OP_FILL = 7",
     "FILL, 7"),
    (contract.check_bench_picture, "Documentation/performance.md", r"0\.6923", "0.8923", "bench.svg"),
    (contract.check_licences, "kernel/driver/main.c", r"GPL-2.0-only", "GPL-3.0-only", "GPL-3.0-only"),
    (manual.check_man_lint, "lib/make-man", r'"\.SH NOTES"', '".SX NOTES"', "SX"),
    (manual.check_man_lint, "Documentation/man/accelctl.1", r"\.SH SYNOPSIS", ".SX SYNOPSIS", "SX"),
    (manual.check_man_lint, "lib/make-man", r'symlink\(f"', 'symlink(f"no-', "leads nowhere"),
    (manual.check_man_names, "include/accel/pool.h", r"\Z", "int accel_pool_new(void);\n", "accel_pool_new"),
    (manual.check_man_names, "include/accel/pool.h", r"\Z", "struct accel_new {\n", "accel_new"),
    (manual.check_man_errors, "include/accel/pool.h", r"``-EBUSY``", "sometimes ``-EBUSY``", "EBUSY"),
    (manual.check_man_parts, "include/accel/pool.h", r"\*Thread safety\.\*", "*Threads.*",
     "Thread safety"),
    (manual.check_man_parts, "include/accel/pool.h", r"\*Lifetime\.\*", "*Life.*", "Lifetime"),
    (manual.check_man_parts, "include/accel/pool.h", r" \* Gives wholly free chunks .*\n( \* \w.*\n)*", "",
     "accel_pool_trim.3: nothing under DESCRIPTION"),
    (manual.check_man_parts, "include/accel/pool.h", r"examples/pool\.c", "examples/no.c",
     "examples/no.c"),
    (pictures.check_pictures, "Documentation/pictures/unplug.dot", r"signals all", "signals the", "newer"),
    (pictures.check_pictures, "Documentation/pictures/unplug.svg", r"signals all", "signals the", "other texts"),
    (pictures.check_pictures, "Documentation/pictures/unplug.svg", r'<polygon fill="white"', '<polygon fill="none"',
     "background"),
    (pictures.check_pictures, "Documentation/pictures/new.dot", r"\Z", 'graph { a [label="a"] }\n', "not drawn"),
    (pictures.check_pictures, "Documentation/pictures/unplug.dot", r"driver/device\.c", "driver/no.c", "no.c"),
    (pictures.check_recording, "Documentation/pictures/make-run.cast", r"came back", "come back", "not what"),
    (pictures.check_recording, "Documentation/pictures/make-run.cast", r"came back", r"\u0007 back", "control code"),
    (pictures.check_recording, "Documentation/pictures/cast-to-svg", r"LINE = 19", "LINE = 20", "not what"),
    (names.check_names, "Documentation/quickstart.md", r"# accelctl list", "# accelctl no", "command no"),
    (sessions.check_sessions, "Documentation/quickstart.md", r"# accelctl list", "accelctl list", "without"),
    (programs.check_programs, "README.md", r"#include <accel/accel.h>", "", "README.md"),
    (programs.check_programs, "Documentation/uapi.md", r"\.dir = ", ".direction = ", "uapi.md"),
    (programs.check_card, "kernel/include/paccel.h", r"\(\*poll\)\(struct paccel_hw \*hw",
     "(*poll)(struct paccel_device *pd", "poll"),
    (programs.check_card, "Documentation/backends.md", "module_paccel_backend.*",
     "module_driver(paccel_tern, paccel_backend_register, paccel_backend_unregister);", "PACCEL"),
]


def copy_tree(top, to):
    """All that the checks read; what was built is shared."""
    shutil.copytree(top, to, symlinks=True,
                    ignore=shutil.ignore_patterns(".git", "build", "__pycache__"))
    for name in ("kernel", "lib", "tools"):
        built = os.path.join(top, os.environ.get("BUILD") or "build", name)
        if os.path.isdir(built):
            os.makedirs(os.path.join(to, "build"), exist_ok=True)
            os.symlink(os.path.abspath(built), os.path.join(to, "build", name))


def answer(tree, check, path, old, new):
    """What the check says while the file is broken."""
    whole = os.path.join(tree, path)
    before = None
    if os.path.exists(whole):
        with open(whole, encoding="utf-8") as file:
            before = file.read()
    after, count = re.subn(old, lambda _: new, before or "", count=1)
    if not count:
        return f"proof: {path} has no {old}"
    with open(whole, "w", encoding="utf-8") as file:
        file.write(after)
    try:
        return "\n".join(check(tree))
    finally:
        os.unlink(whole)
        if before is not None:
            with open(whole, "w", encoding="utf-8") as file:
                file.write(before)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    path = tmp_path_factory.mktemp("docs") / "tree"
    copy_tree(TOP, path)
    return str(path)


@pytest.mark.parametrize("check, path, old, new, word", BREAKS,
                         ids=[f"{line[0].__name__}: {line[-1]}" for line in BREAKS])
def test_break_is_found(tree, monkeypatch, check, path, old, new, word):
    # Nothing may be built beside what is not broken.
    monkeypatch.setenv("BUILD", "build")
    said = answer(tree, check, path, old, new)
    assert word in said and not said.startswith("proof:")


def date_in_a_page(tree):
    folder = tree / "man"
    subprocess.run([sys.executable, "lib/make-man", "0", str(folder)], cwd=tree, check=True)
    return re.search(r"^\.TH \S+ 3 (\S+)", manual.read_page(str(folder), "accel_pool_trim"),
                     re.M).group(1)


def test_date_of_a_page(tmp_path, monkeypatch):
    """that of the last commit, since a clone has other times; without git that of the file"""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for name in ("include/accel", "examples", "lib/make-man"):
        os.makedirs(tmp_path / os.path.dirname(name), exist_ok=True)
        copy = shutil.copy2 if name == "lib/make-man" else shutil.copytree
        copy(os.path.join(TOP, name), tmp_path / name)
    os.utime(tmp_path / "include/accel/pool.h", (1e9, 1e9))
    assert date_in_a_page(tmp_path) == "2001-09-09"
    for key in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{key}_DATE", "@1234567890 +0000")
        monkeypatch.setenv(f"GIT_{key}_NAME", "a")
        monkeypatch.setenv(f"GIT_{key}_EMAIL", "a@example.org")
    for command in ("init -q", "add include", "commit -q -m pages"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True)
    assert date_in_a_page(tmp_path) == "2009-02-13"


@pytest.mark.parametrize("script, output, good", [
    ("echo a", "a\n", True), ("echo a", None, True), ("echo b", "a\n", False),
    ("echo a; exit 1", "a\n", False), ("echo a; echo x >&2", "a\n", False)],
    ids=["same", "any", "other", "status", "stderr"])
def test_bad_output_is_found(tmp_path, script, output, good):
    program = programs.Program(Page("page.md"), Block("c", 1), 1)
    program.output = output
    path = tmp_path / program.name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    assert (program.run(tmp_path) == "") == good


@pytest.mark.parametrize("output, good", [
    ("5031 B/s  0:11 left\n", True), ("4 B/s  0:11 left\n", True), ("5031 B  0:11 left\n", False),
    ("5031 B/s  0:11 left\nmore\n", False), ("", False)],
    ids=["same", "speed", "other", "more", "nothing"])
def test_bad_session_is_found(output, good):
    command = sessions.Command("page.md:1", "echo '5031 B/s  0:11 left'")
    command.output = output
    assert (command.run(TOP) == "") == good


@pytest.mark.parametrize("printed, good", [
    ("4096 B\n", True), ("  4096 B\n", False), ("4096 C\n", False),
    ("[##..]  50 %\n[####] 100 %\n4032 B\n", False)], ids=["size", "blanks", "word", "progress"])
def test_session_with_a_larger_edu(printed, good):
    command = sessions.Command("page.md:1", f"printf '{printed}'")
    command.output = "4032 B\n"
    assert (command.run(TOP, 4096) == "") == good


def test_sessions_of_a_page(tmp_path):
    (tmp_path / "Documentation").mkdir()
    (tmp_path / "README.md").write_text("```console\n$ a\nb\nc\n# d\n$ e\nf\n```\n")
    found = [(command.where, command.text, command.output)
             for command in sessions.commands(str(tmp_path), sessions.HOST)]
    assert found == [("README.md:2", "a", "b\nc\n"), ("README.md:6", "e", "f\n")]
    found, = sessions.commands(str(tmp_path), sessions.GUEST)
    assert (found.text, found.output) == ("d", "")
