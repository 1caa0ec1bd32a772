# SPDX-License-Identifier: MIT
"""Whether KVM can run a guest on this machine.

/dev/kvm and the flags in /proc/cpuinfo do not answer that: where the host is itself a guest, KVM may emulate
each instruction in software, and a kernel then needs hours to boot. So a probe runs a small program as a guest,
in 64-bit mode as a kernel, in a process of its own. A CPU executes it in about 10 ms. The answer is kept in the
cache until the host boots again or loads another KVM module.
"""

import ctypes
import fcntl
import functools
import glob
import hashlib
import mmap
import os
import platform
import signal
import struct
import subprocess
import sys
import time

DEVICE = "/dev/kvm"
# Both in seconds. A probe that gets no CPU on a busy host has until PATIENCE.
LIMIT = 0.5
PATIENCE = 10

# linux/kvm.h
API_VERSION = 12
GET_API_VERSION, CREATE_VM, GET_VCPU_MMAP_SIZE = 0xAE00, 0xAE01, 0xAE04
CREATE_VCPU, SET_MEMORY, SET_TSS, RUN = 0xAE41, 0x4020AE46, 0xAE47, 0xAE80
SET_REGS, GET_SREGS, SET_SREGS = 0x4090AE82, 0x8138AE83, 0x4138AE84
SREGS_SIZE = 312
# struct kvm_run: exit_reason; of an I/O: direction, size, port, and the offset of the data.
EXIT_REASON, EXIT_DATA = 8, 32
EXIT_IO, EXIT_HLT = 2, 5

# The guest's memory: code, page tables, and pages that the program writes.
MEMORY = 4 << 20
CODE_AT, TABLES_AT, PAGES_AT = 0x1000, 0x2000, 2 << 20
TSS_AT = 16 << 20
PAGE = 4096
PORT, MARK = 0xE9, 0x4B
LOOPS = 20_000_000


def program(loops):
    """The guest's code: counts down, writes a byte to each page of the second half, tells it and halts."""
    return bytes.fromhex(
        f"b9{loops.to_bytes(4, 'little').hex()}"        # mov $loops, %ecx
        "ffc9 75fc"                                     # 1: dec %ecx; jnz 1b
        f"b0{MARK:02x}"                                 # mov $MARK, %al
        f"bf{PAGES_AT.to_bytes(4, 'little').hex()}"     # mov $PAGES_AT, %edi
        "8807"                                          # 2: mov %al, (%rdi)
        f"81c7{PAGE.to_bytes(4, 'little').hex()}"       # add $PAGE, %edi
        f"81ff{MEMORY.to_bytes(4, 'little').hex()}"     # cmp $MEMORY, %edi
        "75f0"                                          # jne 2b
        f"e6{PORT:02x} f4")                             # out %al, $PORT; hlt


class Unusable(Exception):
    """The text says why."""


def _system_registers(sregs):
    """64-bit mode with paging: the first GiB at its own addresses, in pages of 2 MiB."""
    def segment(index, kind, is_code):
        # base, limit, selector, type, present, dpl, db, s, l, g, avl, unusable
        struct.pack_into("=QIH10B", sregs, index * 24, 0, 0xFFFFFFFF, (index + 1) * 8, kind,
                         1, 0, 0 if is_code else 1, 1, 1 if is_code else 0, 1, 0, 0, 0)
    segment(0, 11, True)
    for index in range(1, 6):
        segment(index, 3, False)
    # cr0: PE, MP, ET, NE, WP, PG; cr3; cr4: PAE
    struct.pack_into("=QQQQ", sregs, 224, 0x80010033, 0, TABLES_AT, 0x20)
    # efer: LME, LMA
    struct.pack_into("=Q", sregs, 264, 0x500)


def _fill(memory, code):
    memory[CODE_AT:CODE_AT + len(code)] = code
    present_writable, large = 3, 0x80
    struct.pack_into("=Q", memory, TABLES_AT, (TABLES_AT + PAGE) | present_writable)
    struct.pack_into("=Q", memory, TABLES_AT + PAGE, (TABLES_AT + 2 * PAGE) | present_writable)
    for index in range(512):
        struct.pack_into("=Q", memory, TABLES_AT + 2 * PAGE + index * 8,
                         (index << 21) | present_writable | large)


def _expect(run, wanted, what):
    reason = struct.unpack_from("=I", run, EXIT_REASON)[0]
    if reason != wanted:
        raise Unusable(f"a guest does not {what}: exit reason {reason}")


def probe(device, loops=LOOPS):
    """Runs the program as a guest. Raises OSError or Unusable if it does not come to its end."""
    system = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    if fcntl.ioctl(system, GET_API_VERSION, 0) != API_VERSION:
        raise Unusable("it has another version of the API")
    machine = fcntl.ioctl(system, CREATE_VM, 0)
    # Intel processors need three pages that the guest does not use.
    fcntl.ioctl(machine, SET_TSS, TSS_AT)
    memory = mmap.mmap(-1, MEMORY)
    _fill(memory, program(loops))
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    fcntl.ioctl(machine, SET_MEMORY, struct.pack("=IIQQQ", 0, 0, 0, MEMORY, address))
    size = fcntl.ioctl(system, GET_VCPU_MMAP_SIZE, 0)
    cpu = fcntl.ioctl(machine, CREATE_VCPU, 0)
    run = mmap.mmap(cpu, size)
    sregs = bytearray(SREGS_SIZE)
    fcntl.ioctl(cpu, GET_SREGS, sregs, True)
    _system_registers(sregs)
    fcntl.ioctl(cpu, SET_SREGS, bytes(sregs))
    # 16 general registers, rip, rflags
    fcntl.ioctl(cpu, SET_REGS, struct.pack("=18Q", *[0] * 16, CODE_AT, 2))
    fcntl.ioctl(cpu, RUN, 0)
    _expect(run, EXIT_IO, "reach its I/O")
    offset = struct.unpack_from("=Q", run, EXIT_DATA + 8)[0]
    if run[offset] != MARK or memory[PAGES_AT:MEMORY:PAGE] != bytes([MARK]) * ((MEMORY - PAGES_AT) // PAGE):
        raise Unusable("a guest writes wrong bytes")
    fcntl.ioctl(cpu, RUN, 0)
    _expect(run, EXIT_HLT, "halt")


def _is_starved(pid, limit):
    """Whether a process wants a CPU and has had less time of one than this."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            words = file.read().rpartition(")")[2].split()
    except OSError:
        return False
    return words[0] == "R" and (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK") < limit


def _ask(command):
    """Returns None if the probe succeeds, else a reason."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as process:
        start = time.monotonic()
        while True:
            try:
                said = process.communicate(timeout=LIMIT)[0].strip()
                break
            except subprocess.TimeoutExpired:
                if time.monotonic() - start < PATIENCE and _is_starved(process.pid, LIMIT):
                    continue
                process.kill()
                return f"a guest of {2 * LOOPS // 1000000} million instructions does not end in {LIMIT} s"
    if process.returncode < 0:
        return f"the probe ended with signal {-process.returncode}"
    return None if process.returncode == 0 else said or f"the probe ended with status {process.returncode}"


def _key():
    """What the answer depends on: this boot of the host, its KVM modules, and the probe. A system in a folder
    may have no /sys."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    modules = sorted(map(os.path.basename, glob.glob("/sys/module/kvm*")))
    with open(__file__, "rb") as file:
        own = hashlib.sha256(file.read()).hexdigest()[:16]
    return " ".join([boot, own, *modules])


def _kept(path, key):
    """The answer in the cache as a list of one, or nothing."""
    try:
        with open(path, encoding="utf-8") as file:
            first, _, answer = file.read().partition("\n")
    except OSError:
        return []
    return [answer.strip() or None] if first == key else []


def _keep(path, key, answer):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # Of two runs at once the last one wins: both have the same answer.
        temporary = f"{path}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(f"{key}\n{answer or ''}\n")
        os.rename(temporary, path)
    except OSError:
        pass


def obstacle_of(device, path):
    """Why KVM cannot run a guest, or None. `path` is where the answer is kept. That the device is absent or
    may not be opened is not kept: it may change at any time, and asking costs nothing."""
    if platform.machine() != "x86_64":
        return f"the probe is for x86-64 only and this machine is {platform.machine()}"
    try:
        os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return f"{device}: {error.strerror}"
    key = _key()
    kept = _kept(path, key)
    if kept:
        return kept[0]
    reason = _ask([sys.executable, "-I", "-S", os.path.abspath(__file__), device])
    answer = f"{device} opens, but {reason}" if reason else None
    _keep(path, key, answer)
    return answer


@functools.cache
def obstacle():
    """The same for this machine. PACCEL_ACCEL=tcg or kvm takes the place of the probe."""
    # The process of the probe has no package.
    from . import RunnerError  # pylint: disable=import-outside-toplevel
    from .kernel import cache_dir  # pylint: disable=import-outside-toplevel
    wanted = os.environ.get("PACCEL_ACCEL", "")
    if wanted not in ("", "kvm", "tcg"):
        raise RunnerError(f"PACCEL_ACCEL={wanted}: kvm, tcg, or nothing")
    if wanted:
        return None if wanted == "kvm" else "PACCEL_ACCEL is tcg"
    return obstacle_of(DEVICE, os.path.join(cache_dir(), "kvm"))


def main():
    # The runner has a limit, but may be killed before.
    signal.alarm(2 * PATIENCE)
    try:
        probe(sys.argv[1])
    except OSError as error:
        print(f"it does not run a guest: {error.strerror}")
        return 1
    except Unusable as why:
        print(why)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
