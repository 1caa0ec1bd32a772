# SPDX-License-Identifier: MIT
"""Finds a kernel that qemu/setup has fetched, and makes its initramfs."""

import hashlib
import lzma
import os
import re
import shutil
import subprocess
import tempfile

from . import RunnerError

QEMU_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOP = os.path.dirname(QEMU_DIR)

# What a modular kernel needs before it can see the host's files.
BOOT_MODULES = ["virtio_pci", "virtio_console", "virtio-rng", "9pnet_virtio", "9p", "overlay"]

# How much slower a kernel with these checkers is. The one place for that number.
SLOWDOWN = 4
SLOW_SYMBOLS = {"CONFIG_KASAN=y", "CONFIG_PROVE_LOCKING=y", "CONFIG_KCSAN=y"}


def cache_dir():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "paccel")


def build_dir():
    return os.path.abspath(os.environ.get("BUILD") or os.path.join(TOP, "build"))


class Kernel:
    """image, version, modules (a directory, or None), config (lines), slowdown, paccel_ko, architecture,
    busybox."""

    def __init__(self, name, architecture):
        self.name = name
        self.architecture = architecture
        self.busybox = find_busybox(architecture)
        if "/" in name:
            self._from_path(os.path.abspath(name))
        else:
            self._from_cache(name)
        self.slowdown = SLOWDOWN if self.config & SLOW_SYMBOLS else 1
        self.paccel_ko = os.path.join(build_dir(), "kernel",
                                      os.path.basename(self.name.rstrip("/")), "paccel.ko")

    def _from_cache(self, name):
        home = os.path.join(cache_dir(), "kernel", name)
        if not os.path.exists(os.path.join(home, ".complete")):
            raise RunnerError(f"kernel {name} is not set up: run qemu/setup kernel {name}")
        home = os.path.realpath(home)
        self.image = os.path.join(home, "image")
        with open(os.path.join(home, "version"), encoding="ascii") as file:
            self.version = file.read().strip()
        modules = os.path.join(home, "lib/modules", self.version)
        self.modules = modules if os.path.isdir(modules) else None
        self.config = read_config(os.path.join(home, "kdir/.config"))
        self.home = home

    def _from_path(self, path):
        self.home = None
        self.modules = None
        self.config = set()
        self.image = path
        if os.path.isdir(path):
            self.image = os.path.join(path, self.architecture.image)
            self.config = read_config(os.path.join(path, ".config"))
        if not os.path.isfile(self.image):
            raise RunnerError(f"--kernel {self.name}: {self.image} does not exist")
        self.version = image_version(self.image)


def read_config(path):
    try:
        with open(path, encoding="ascii") as file:
            return set(file.read().splitlines())
    except OSError:
        return set()


def find_busybox(architecture):
    """The host's, or that of the guest's user space."""
    userland = architecture.userland()
    busybox = os.path.join(userland, "usr/bin/busybox") if userland else shutil.which("busybox")
    if not busybox:
        raise RunnerError("there is no busybox: run qemu/setup packages run")
    return busybox


def image_version(image):
    """The boot protocol of a bzImage has it: a pointer at 0x20e, relative to 0x200. An Image of arm64 has
    the text that the kernel prints."""
    with open(image, "rb") as file:
        head = file.read()
    if head[56:60] == b"ARM\x64":
        return re.search(rb"Linux version (\S+)", head)[1].decode("ascii", "replace")
    if head[0x202:0x206] != b"HdrS":
        raise RunnerError(f"{image} is not a bzImage")
    start = int.from_bytes(head[0x20e:0x210], "little") + 0x200
    return re.match(rb"[^\s\0]*", head[start:]).group().decode("ascii", "replace")


# --- initramfs -------------------------------------------------------------------------

class Cpio:
    """An archive as the kernel unpacks it ("newc")."""

    def __init__(self):
        self.data = bytearray()
        self.inode = 0

    def _entry(self, name, mode, content=b""):
        self.inode += 1
        name = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
        self.data += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        self.data += bytes(-len(self.data) % 4)
        self.data += content
        self.data += bytes(-len(self.data) % 4)

    def directory(self, name):
        self._entry(name, 0o040755)

    def file(self, name, content, mode=0o644):
        self._entry(name, 0o100000 | mode, content)

    def finish(self):
        self._entry("TRAILER!!!", 0)
        return bytes(self.data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def boot_modules(kernel):
    """Files to insmod, in order; nothing for what is built in."""
    if not kernel.modules:
        return []
    files = []
    for name in BOOT_MODULES:
        result = subprocess.run(
            ["/sbin/modprobe", "-d", kernel.home, "-S", kernel.version, "--show-depends", name],
            capture_output=True, text=True, check=False)
        if result.returncode:
            raise RunnerError(f"kernel {kernel.name} has no {name}: {result.stderr.strip()}")
        for line in result.stdout.splitlines():
            word = line.split()
            if word[0] == "insmod" and word[1] not in files:
                files.append(word[1])
    return files


def build_base(kernel):
    cpio = Cpio()
    for name in ("bin", "dev", "host", "layer", "modules", "newroot", "paccel", "proc", "sys"):
        cpio.directory(name)
    cpio.file("bin/busybox", read(kernel.busybox), 0o755)
    cpio.file("init", read(os.path.join(QEMU_DIR, "guest/init")), 0o755)
    names = []
    for path in boot_modules(kernel):
        content = read(path)
        name = os.path.basename(path)
        if name.endswith(".xz"):
            name, content = name[:-3], lzma.decompress(content)
        names.append(name)
        cpio.file("modules/" + name, content)
    cpio.file("modules/list", "".join(name + "\n" for name in names).encode())
    return cpio.finish()


def base_initramfs(kernel):
    """What does not change from run to run, kept beside the kernel."""
    if not kernel.home:
        return build_base(kernel)
    key = hashlib.sha256()
    for path in (__file__, os.path.join(QEMU_DIR, "guest/init"), kernel.busybox):
        key.update(read(path))
    path = os.path.join(kernel.home, f"initramfs-{key.hexdigest()[:16]}")
    try:
        return read(path)
    except FileNotFoundError:
        pass
    data = build_base(kernel)
    # Two runs may get here at once; each puts a whole file in place.
    with tempfile.NamedTemporaryFile(dir=kernel.home, prefix=".initramfs-", delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.rename(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
    return data


def run_initramfs(files):
    """The part that is of one run: /paccel/NAME with the given contents."""
    cpio = Cpio()
    cpio.directory("paccel")
    for name, content in files.items():
        cpio.file("paccel/" + name, content, 0o755)
    return cpio.finish()
