# SPDX-License-Identifier: MIT
"""Checks that the pages and the driver's interfaces say the same."""

import glob
import os
import re
import subprocess

HEADERS = ("include/uapi/linux/paccel.h", "include/accel/accel.h", "include/accel/resource.h",
           "include/accel/pool.h", "include/accel/buffer.h", "include/accel/drm.h",
           "include/accel/sundials.h", "lib/acl/include/acl/acl.h",
           "lib/acl/include/acl/acl_rt.h", "kernel/include/paccel.h", "kernel/include/paccel_xfer.h")
ABI = "Documentation/ABI/testing"


def read(top, path):
    with open(os.path.join(top, path), encoding="utf-8") as file:
        return file.read()


def difference(ours, theirs, missing, surplus):
    return [f"{name}: {missing}" for name in sorted(ours - theirs)] + \
           [f"{name}: {surplus}" for name in sorted(theirs - ours)]


# --- Documentation/ABI ---------------------------------------------------------------------

def _whats(top, path, prefix):
    return {what[len(prefix):] for what in re.findall(r"^What:\s+(\S+)", read(top, path), re.M)
            if what.startswith(prefix)}


def check_sysfs(top):
    """sysfs attributes are documented, and exist"""
    source = read(top, "kernel/driver/sysfs.c")
    listed = set(re.findall(r"&dev_attr_(\w+)\.attr", source))
    documented = _whats(top, f"{ABI}/sysfs-class-paccel", "/sys/class/paccel/paccelN/")
    problems = difference(listed, documented, "not in the ABI file", "not in kernel/driver/sysfs.c")
    if not listed:
        problems.append("no attribute found in kernel/driver/sysfs.c")
    return problems


PARAMETER = re.compile(r"module_param(?:_named|_cb)?\((\w+)")
DESCRIPTION = re.compile(r'MODULE_PARM_DESC\((\w+),\s*"([^"]*)"')


def check_parameters(top):
    """module parameters are documented with their defaults, and exist"""
    source = "".join(read(top, os.path.relpath(path, top))
                     for path in glob.glob(f"{top}/kernel/**/*.c", recursive=True))
    path = f"{ABI}/module-paccel"
    prefix = "/sys/module/paccel/parameters/"
    problems = difference(set(PARAMETER.findall(source)), _whats(top, path, prefix),
                          "not in the ABI file", "no parameter of the module")
    texts = dict(re.findall(rf"What:\s+{prefix}(\w+)\n(.*?)(?=\nWhat:|\Z)", read(top, path), re.S))
    for name, description in DESCRIPTION.findall(source):
        default = re.search(r"\((\w+)\)$", description)
        said = re.search(r"Default\s+(\w+)", texts.get(name, ""))
        if not default or (said and said.group(1) != default.group(1)) or not said:
            problems.append(f"{name}: its default is not the same in the ABI file and in its "
                            "MODULE_PARM_DESC")
    return problems


def check_abi_format(top):
    """ABI files have the kernel's format"""
    problems = []
    for path in glob.glob(f"{top}/{ABI}/*"):
        with open(path, encoding="utf-8") as file:
            entries = file.read().split("\n\n")
        for entry in entries:
            keys = re.findall(r"^(\w+):\t", entry, re.M) + re.findall(r"^(Description):$", entry, re.M)
            if keys != ["What", "Date", "Contact", "Description"]:
                problems.append(f"{os.path.basename(path)}: {entry.splitlines()[0]}: {keys}")
    return problems


# --- the contract ---------------------------------------------------------------------------------

def check_ioctls(top):
    """every ioctl and every general error is in uapi.md"""
    header = read(top, "include/uapi/linux/paccel.h")
    page = read(top, "Documentation/uapi.md")
    table = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    ioctls = set(re.findall(r"^#define PACCEL_IOC_(\w+) _IO\(", header, re.M))
    problems = difference(ioctls, table & {name for name in table if not name.startswith("E")},
                          "not in the table of uapi.md", "no ioctl of paccel.h")
    errors = set(re.findall(r"``-(E\w+)``", header))
    return problems + difference(errors, {name for name in table if name.startswith("E")},
                                 "not in the table of uapi.md", "no error of paccel.h")


def kernel_doc(top, *arguments):
    source = subprocess.run(["qemu/setup", "print", "source"], cwd=top, capture_output=True,
                            text=True, check=True).stdout.strip()
    return subprocess.run(["perl", f"{source}/scripts/kernel-doc", "-sphinx-version", "3.0",
                           *arguments], cwd=top, capture_output=True, text=True, check=False)


RULER = re.compile(r"=+( +=+)+$")


def table_problems(lines):
    """Simple tables whose text crosses from one column into the next: not rendered at all."""
    problems = []
    gaps = None
    for number, line in enumerate(lines, 1):
        if RULER.match(line):
            gaps = [match.start() for match in re.finditer(" ", line)]
        elif not line.strip():
            gaps = None
        elif gaps and any(line[gap:gap + 1].strip() for gap in gaps):
            problems.append(f"line {number}: text between columns: {line}")
    return problems


def check_kernel_doc(top):
    """kernel-doc of the headers has no warning, its tables are whole"""
    problems = []
    for header in HEADERS:
        result = kernel_doc(top, "-Wall", "-Werror", "-rst", header)
        if result.returncode or result.stderr.strip():
            problems += [f"{header}: {line}" for line in result.stderr.splitlines()] or [header]
        if len(result.stdout) < 1000:
            problems.append(f"{header}: nothing came out")
        problems += [f"{header}, as rst: {problem}"
                     for problem in table_problems(result.stdout.splitlines())]
    return problems


# Page and what it says, source and where that number comes from.
NUMBERS = [
    ("Documentation/concepts.md", "`mem_base`, which is 4 GiB", "kernel/mem/pool.h",
     r"PACCEL_MEM_BASE\s+SZ_4G\b"),
    ("Documentation/concepts.md", "up to 2 MiB", "kernel/mem/pool.h", r"PACCEL_MAX_ALIGN\s+SZ_2M\b"),
    ("Documentation/concepts.md", "in slices of 1 MiB at most", "kernel/uapi/copy.c",
     r"PACCEL_SLICE\s+SZ_1M\b"),
    ("Documentation/security.md", "4 GiB per range", "kernel/mem/host.h",
     r"PACCEL_MAX_HOST_BYTES\s+SZ_4G\b"),
    ("Documentation/security.md", "65536 ranges per context", "kernel/mem/host.h",
     r"PACCEL_MAX_HOST_RANGES\s+65536\b"),
    ("Documentation/backends.md", "| `engines` | 1 to 8 |", "kernel/include/paccel.h",
     r"PACCEL_MAX_ENGINES\s+8\b"),
    ("Documentation/backends.md", "multiple of 8, at most 2 MiB", "kernel/include/paccel.h",
     r"PACCEL_MAX_XFER\s+SZ_2M\b"),
    ("Documentation/uapi.md", "longer than 4096 bytes", "kernel/uapi/file.c",
     r"PACCEL_MAX_STRUCT\s+4096\b"),
    ("Documentation/concepts.md", "`watchdog_ms` (10 s)", "kernel/core/module.c",
     r"paccel_watchdog_ms = \{ .value = 10000,"),
    ("Documentation/concepts.md", "`quiesce_ms` (5 s)", "kernel/core/module.c",
     r"paccel_quiesce_ms = \{ .value = 5000,"),
    ("Documentation/quickstart.md", "at most 4032 bytes", "kernel/hw/edu.c",
     r"EDU_MEM_SIZE_OLD\s+\(63 \* EDU_GRANULE\)"),
    ("Documentation/quickstart.md", "64 KiB take 13 seconds", "qemu/demo", r"head -c 65536\b"),
    ("Documentation/library.md", "4096 operations are queued", "kernel/stream/stream.h",
     r"PACCEL_MAX_QUEUED\s+4096\b"),
    ("Documentation/library.md", "up to 64 KiB", "lib/core/stage.c", r"STAGE_MAX \(\(size_t\)64 << 10\)"),
    ("Documentation/library.md", "1 MiB in all", "lib/core/stage.c",
     r"STAGE_BYTES \(\(size_t\)1 << 20\)"),
    ("Documentation/testing.md", "times 4 on the debug kernel", "qemu/runner/kernel.py",
     r"^SLOWDOWN = 4$"),
]


def check_numbers(top):
    """numbers in the pages are those of the code"""
    problems = []
    for page, says, path, pattern in NUMBERS:
        if says not in " ".join(read(top, page).split()):
            problems.append(f"{page} does not say '{says}' any more")
        if not re.search(pattern, read(top, path), re.M):
            problems.append(f"{page} says '{says}', but {path} has no {pattern}")
    return problems


def check_kselftest(top):
    """every program of tests/kselftest is in testing.md"""
    programs = {os.path.basename(path)[:-2] for path in glob.glob(f"{top}/tests/kselftest/*.c")
                if re.search(r"^PACCEL_TEST_MAIN|^TEST_HARNESS_MAIN|^int main",
                             read(top, os.path.relpath(path, top)), re.M)}
    # Has a folder of its own, and is run by the same script.
    programs.add("conformance")
    page = read(top, "Documentation/testing.md").partition("## Tests of the driver")[2]
    listed = set(re.findall(r"^\| `([\w-]+)` \|", page.partition("\n## ")[0], re.M))
    return difference(programs, listed, "not in the table of testing.md",
                      "no program of tests/kselftest")


# --- the ring card ---------------------------------------------------------------------------------

RING_HEADER = "qemu/ringdev/hw.h"
RING_PAGE = "Documentation/ringdev.md"


def _ring_section(page, heading):
    return page.partition(f"### {heading}\n")[2].partition("\n#")[0]


def _ring_tables(header, page):
    """Pairs of what the header defines and what the page's table says, as (name, number)."""
    registers = re.findall(r"^#define RING_(\w+?)(?:_REG)?\t+0x([0-9a-f]{3})\b", header, re.M)
    # Both pages of registers are in the header between these two.
    device, engine = header.index("#define RING_MAGIC\t"), header.index("#define RING_SQ_TAIL")
    split = len(re.findall(r"^#define RING_\w+\t+0x[0-9a-f]{3}\b", header[device:engine], re.M))
    row = r"^\| 0x([0-9a-f]{3}) \| `(\w+)`"
    for heading, found in (("Device registers", registers[:split]),
                           ("Engine registers", registers[split:])):
        said = re.findall(row, _ring_section(page, heading), re.M)
        yield {(re.sub("^E_", "", name), number) for name, number in found}, \
            {(name, number) for number, name in said}
    for heading, prefix in (("## Descriptor", "RING_OP_"), ("### Checks", "RING_")):
        section = page.partition(f"\n{heading}\n")[2].partition("\n## ")[0]
        if heading == "### Checks":
            enum = header.partition("enum ring_status {")[2].partition("}")[0]
            found = set(re.findall(rf"{prefix}(\w+) = (\d+)", enum)) - {("OK", "1"),
                                                                      ("DATA_ERROR", "12")}
        else:
            section = section.partition("\n### ")[0]
            found = set(re.findall(rf"{prefix}(\w+) = (\d+)", header))
        yield found, {(name, number)
                      for number, name in re.findall(r"^\| (\d+) \| `(\w+)`", section, re.M)}


def check_ring_card(top):
    """the data sheet of the ring card and its header have the same registers and codes"""
    problems = []
    for found, said in _ring_tables(read(top, RING_HEADER), read(top, RING_PAGE)):
        if not found:
            problems.append(f"nothing found in {RING_HEADER}")
        problems += [f"{name}, {number}: not in {RING_PAGE}" for name, number in found - said]
        problems += [f"{name}, {number}: not in {RING_HEADER}" for name, number in said - found]
    return problems


# --- licences -----------------------------------------------------------------------------------------

def check_licences(top):
    """every licence that an SPDX line names is in LICENSES"""
    named = set()
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name not in (".git", "build", "__pycache__")]
        for name in files:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                found = re.search(r"SPDX-License-[I]dentifier: ([\w. -]+?)(?: \*/)?$",
                                  file.read(400), re.M)
            if found:
                named |= set(re.split(r" (?:WITH|OR|AND) ", found.group(1)))
    return difference(named, {name.removesuffix(".txt") for name in os.listdir(f"{top}/LICENSES")},
                      "not in LICENSES", "no file has this licence")


# --- pictures ------------------------------------------------------------------------------

def check_bench_picture(top):
    """the picture of the latest results is drawn from their table"""
    page, picture = "Documentation/performance.md", "Documentation/bench.svg"
    command = ("tests/bench/plot.py", page)
    drawn = subprocess.run(command, cwd=top, capture_output=True, text=True, check=True).stdout
    problems = ["no row found in " + page] * ('class="ok"' not in drawn)
    if drawn != read(top, picture):
        problems.append(f"{picture} is not what {' '.join(command)} draws")
    return problems
