# SPDX-License-Identifier: MIT
"""Tests of the ring card's process as QEMU and a driver see it: these tests play both."""

import mmap
import os
import random
import secrets
import signal
import socket
import struct
import subprocess
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RINGDEV = os.path.join(os.environ.get("BUILD") or os.path.join(TOP, "build"),
                       "qemu/ringdev/ringdev")
MIB = 1 << 20
RAM_SIZE = 64 * MIB
HOST = 16 * MIB
MAGIC = 0x474E4952
STATUS, GENERATION, CONTROL, COMMAND, DONE, BAR_ADDRESS = 0x80, 0x84, 0x100, 0x104, 0x88, 0x108
MEMORY = MIB
H2D, D2H, D2D = 1, 2, 3
IRQ = 1
OK, BAD_HOST_ADDRESS = 1, 11
PATIENCE = 20


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


class Process:
    """A ringdev that runs."""

    def __init__(self, *options, ram=None, pass_fds=()):
        self.name = "@ringdev-test-" + secrets.token_hex(8)
        self.control_name = self.name + "-control"
        if ram is not None:
            options += ("--ram", f"fd:{ram}")
            pass_fds += (ram,)
        self.process = subprocess.Popen(
            [RINGDEV, "--socket", self.name, "--control", self.control_name, "--mem", "16M",
             *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=pass_fds)
        equal(self.process.stdout.readline(), b"ready\n")

    def order(self, line):
        with connect(self.control_name) as control:
            control.sendall(line.encode() + b"\n")
            return control.recv(1000).decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def connect(name):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(PATIENCE)
    client.connect("\0" + name[1:] if name.startswith("@") else name)
    return client


class Card:
    """QEMU's end of the ivshmem protocol, and a driver for one engine at a time."""

    def __init__(self, name, ram=None, engines=4):
        self.socket = connect(name)
        self.doorbells, self.interrupts = [], []
        self.ram = mmap.mmap(ram, RAM_SIZE) if ram is not None else None
        self.greeting = [self._receive() for _ in range(3 + 2 * (engines + 1))]
        self.bar = mmap.mmap(next(fd for value, fd in self.greeting if value == -1), 0)
        self.doorbells = [fd for value, fd in self.greeting[2:] if value == 1]
        self.interrupts = [fd for value, fd in self.greeting[2:] if value == 7]

    def _receive(self):
        data, fds, _, _ = socket.recv_fds(self.socket, 8, 1)
        assert len(data) == 8, "the process has hung up"
        return struct.unpack("<q", data)[0], fds[0] if fds else None

    def get(self, at):
        return struct.unpack_from("<I", self.bar, at)[0]

    def reads(self, wanted, *registers):
        """Waits until the registers read so."""
        end = time.monotonic() + PATIENCE
        while (got := tuple(map(self.get, registers))) != wanted and time.monotonic() < end:
            time.sleep(0.001)
        equal(got, wanted)

    def put(self, at, value):
        struct.pack_into("<I", self.bar, at, value)

    def ring(self, vector):
        os.write(self.doorbells[vector], struct.pack("<Q", 1))

    def wait(self, vector, limit=PATIENCE):
        """The number of interrupts that have come, 0 at the limit."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            try:
                return struct.unpack("<Q", os.read(self.interrupts[vector], 8))[0]
            except BlockingIOError:
                time.sleep(0.001)
        return 0

    def start(self):
        self.put(CONTROL, 1)
        self.command(1)
        equal(self.get(STATUS), 3)

    def command(self, code):
        code |= (self.get(DONE) & ~0xFF) + 0x100
        self.put(COMMAND, code)
        self.ring(0)
        assert self.wait(0), "no interrupt of the device"
        equal(self.get(DONE), code)

    def submit(self, opcode, src, dst, size, engine=0):
        registers = 0x1000 * (engine + 1)
        tail = self.get(registers)
        struct.pack_into("<BBHIQQQQ24x", self.bar, 0x10000 * (engine + 1) + tail % 256 * 64,
                         opcode, IRQ, 0, self.get(registers + 0x90), tail + 1000, src, dst, size)
        self.put(registers, (tail + 1) & 0xFFFFFFFF)
        self.ring(1 + engine)
        return tail + 1000

    def completion(self, engine=0):
        """cookie, generation, status, bytes, time."""
        registers = 0x1000 * (engine + 1)
        head = self.get(registers + 4)
        assert head != self.get(registers + 0x84), "there is no completion"
        self.put(registers + 4, head + 1)
        return struct.unpack_from("<QIIQQ", self.bar,
                                  0x10000 * (engine + 1) + 0x8000 + head % 256 * 64)

    def carry(self, opcode, src, dst, size, engine=0):
        cookie = self.submit(opcode, src, dst, size, engine)
        assert self.wait(1 + engine), "no interrupt of the engine"
        got = self.completion(engine)
        equal((got[0], got[1]), (cookie, self.get(0x1000 * (engine + 1) + 0x90)))
        return got[2]

    def close(self):
        self.socket.close()
        for _, fd in self.greeting:
            if fd is not None:
                os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def memory():
    fd = os.memfd_create("ram")
    os.ftruncate(fd, RAM_SIZE)
    return fd


# --- the tests -----------------------------------------------------------------------------

def test_the_greeting():
    with Process("--engines", "3", "--mem", "32M") as process, \
            Card(process.name, engines=3) as card:
        equal([value for value, _ in card.greeting], [0, 7] + [1] * 4 + [-1] + [7] * 4)
        equal([fd is None for _, fd in card.greeting], [True] * 2 + [False] * 9)
        equal(len(card.bar), 32 * MIB)
        equal((card.get(0), card.get(0xC)), (MAGIC, 3))
        # A card is in one machine.
        with connect(process.name) as other:
            equal(other.recv(8), b"")


def test_a_copy_there_and_back():
    ram = memory()
    with Process(ram=ram) as process, Card(process.name, ram) as card:
        card.start()
        data = random.Random(1).randbytes(5 * MIB)
        card.ram[HOST:HOST + len(data)] = data
        equal(card.carry(H2D, HOST, 77, len(data)), OK)
        assert card.bar[MEMORY + 77:MEMORY + 77 + len(data)] == data
        equal(card.carry(D2H, 77, 2 * HOST, len(data), engine=3), OK)
        assert card.ram[2 * HOST:2 * HOST + len(data)] == data
    os.close(ram)


def test_ram_that_is_made_late():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "ram")
        with Process("--ram", path) as process:
            with Card(process.name) as card:
                fd = os.open(path, os.O_RDWR | os.O_CREAT)
                os.ftruncate(fd, RAM_SIZE)
                os.pwrite(fd, b"late", HOST)
                card.start()
                equal(card.carry(H2D, HOST, 0, 4), OK)
                equal(card.bar[MEMORY:MEMORY + 4], b"late")
                os.close(fd)
            # The next guest has a file of its own by the same name.
            os.unlink(path)
            time.sleep(0.1)
            with open(path, "wb") as file:
                file.truncate(RAM_SIZE)
                file.seek(HOST)
                file.write(b"next")
            with Card(process.name) as card:
                card.start()
                equal(card.carry(H2D, HOST, 0, 4), OK)
                equal(card.bar[MEMORY:MEMORY + 4], b"next")


def test_no_ram():
    with Process("--ram", "/nosuch/file") as process, Card(process.name) as card:
        card.start()
        equal(card.carry(H2D, HOST, 0, 4), BAD_HOST_ADDRESS)
        process.process.terminate()
        assert b"RAM of the guest, /nosuch/file: No such file" in process.process.stderr.read()


def test_a_card_that_is_plugged_again():
    ram = memory()
    with Process(ram=ram) as process:
        with Card(process.name, ram) as card:
            card.start()
            equal(card.carry(H2D, HOST, 0, 4), OK)
            first = card.get(GENERATION)
        time.sleep(0.1)
        with Card(process.name, ram) as card:
            assert card.get(GENERATION) > first
            equal((card.get(STATUS), card.get(CONTROL), card.get(0x1000)), (1, 0, 0))
            card.start()
            equal(card.carry(H2D, HOST, 0, 4), OK)
    os.close(ram)


def test_peers():
    ram = memory()
    with Process("--cards", "2", ram=ram) as process, Card(process.name + ".0", ram) as one, \
            Card(process.name + ".1", ram) as two:
        for number, card in enumerate((one, two), 1):
            struct.pack_into("<Q", card.bar, BAR_ADDRESS, number << 40)
            card.start()
        two.bar[MEMORY:MEMORY + 5] = b"peers"
        equal(one.carry(H2D, (2 << 40) + MEMORY, 9, 5), OK)
        equal(one.bar[MEMORY + 9:MEMORY + 14], b"peers")
        equal(two.carry(H2D, (2 << 40) + MEMORY, 9, 5), BAD_HOST_ADDRESS)
    os.close(ram)


def test_a_card_at_work_does_not_keep_others_waiting():
    with Process("--cards", "2") as process, Card(process.name + ".0") as one, \
            Card(process.name + ".1") as two:
        one.start()
        two.start()
        # Once is enough: this program may get no processor until all are done.
        for end in range(250, 2501, 250):
            for _ in range(250):
                one.submit(D2D, 0, 8 * MIB, 7 * MIB)
            two.command(1)
            assert process.order("stats card=1").startswith("ok "), "no answer"
            done = one.get(0x1084)
            while one.get(0x1084) < end:
                assert one.wait(1), "the transfers do not end"
            if done < end:
                return
            one.put(0x1004, end)
        raise AssertionError("the other card was served last")


def test_cards_of_two_guests_are_no_peers():
    rams = [memory(), memory()]
    with Process("--cards", "2", "--ram", f"fd:{rams[0]}", "--ram", f"fd:{rams[1]}",
                 pass_fds=tuple(rams)) as process, \
            Card(process.name + ".0", rams[0]) as one, Card(process.name + ".1", rams[1]) as two:
        for number, card in enumerate((one, two), 1):
            struct.pack_into("<Q", card.bar, BAR_ADDRESS, number << 40)
            card.start()
            card.ram[HOST:HOST + 1] = bytes([number])
            equal(card.carry(H2D, HOST, 0, 1), OK)
            equal(card.bar[MEMORY], number)
        equal(one.carry(H2D, (2 << 40) + MEMORY, 9, 5), BAD_HOST_ADDRESS)


def asleep(pid):
    """How often of 20 times. A process that has work and gets no processor is not asleep, either."""
    count = 0
    for _ in range(20):
        time.sleep(0.02)
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            count += file.read().rpartition(")")[2].split()[0] == "S"
    return count


def test_an_idle_card_sleeps():
    ram = memory()
    with Process(ram=ram) as process, Card(process.name, ram) as card:
        card.start()
        equal(card.carry(H2D, HOST, 0, 4), OK)
        # As quiet: a stalled engine, one that waits for room, no answer, no link.
        for line in ("", "stall", "mute", "link-down"):
            if line:
                equal(process.order(line), "ok\n")
                card.submit(H2D, HOST, 0, 4)
            # It may get no processor for what it has to do first.
            counts = []
            while len(counts) < 10 and max(counts, default=0) <= 15:
                counts.append(asleep(process.process.pid))
            assert counts[-1] > 15, f"{line or 'idle'}: asleep {counts} times of 20"
    os.close(ram)


def test_latency():
    ram = memory()
    with Process("--latency", "50000000", ram=ram) as process, Card(process.name, ram) as card:
        card.start()
        begin = time.monotonic()
        equal(card.carry(H2D, HOST, 0, 4), OK)
        assert time.monotonic() - begin >= 0.05
    os.close(ram)


def test_orders():
    ram = memory()
    with Process(ram=ram) as process, Card(process.name, ram) as card:
        card.start()
        equal(process.order("nothing"), "error: there is no command 'nothing'\n")
        with connect(process.control_name) as control:
            control.sendall(b"drop engine=1\nst")
            control.sendall(b"ats\n")
            text = b""
            while text.count(b"\n") < 2:
                text += control.recv(1000)
            assert text.startswith(b"ok\nok descriptors=0 "), text
        card.submit(H2D, HOST, 0, 4, engine=1)
        equal(card.wait(2, limit=0.3), 0)
        equal(card.carry(H2D, HOST, 0, 4), OK)
        # A line without an end: the process closes the connection, and serves others.
        with connect(process.control_name) as control:
            control.sendall(b"x" * 512)
            equal(control.recv(1), b"")
        equal(process.order("clear"), "ok\n")
    os.close(ram)


def test_the_link_is_lost_at_once():
    with Process() as process, Card(process.name) as card:
        equal(process.order("link-down"), "ok\n")
        card.reads((0xFFFFFFFF, 0xFFFFFFFF), 0, STATUS)
        equal(process.order("link-up"), "ok\n")
        card.reads((MAGIC, 1), 0, STATUS)


def test_it_dies():
    with Process() as process, Card(process.name) as card:
        equal(process.order("die"), "ok\n")
        equal(process.process.wait(timeout=PATIENCE), -signal.SIGKILL)
        equal(card.socket.recv(8), b"")


def test_sockets_in_the_file_system():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "socket")
        words = [RINGDEV, "--socket", path, "--mem", "16M"]
        for number in (signal.SIGKILL, signal.SIGTERM):
            # After the kill a file is left, which is replaced.
            with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
                try:
                    equal(process.stdout.readline(), b"ready\n")
                    refused(*words[1:])
                    Card(path).close()
                    process.send_signal(number)
                    process.wait(timeout=PATIENCE)
                finally:
                    process.kill()
        equal(process.returncode, 0)
        equal(os.listdir(directory), [])


def refused(*words):
    result = subprocess.run([RINGDEV, *words], capture_output=True, check=False, timeout=PATIENCE)
    equal((result.returncode, result.stdout), (1, b""))
    assert result.stderr.endswith(b": Address already in use\n"), result.stderr


def test_what_is_no_socket_of_ours_stays():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "name")
        with open(path, "wb") as file:
            file.write(b"precious")
        refused("--socket", path)
        refused("--socket", path + "-2", "--control", path)
        with open(path, "rb") as file:
            equal(file.read(), b"precious")
        os.symlink(path, path + "-link")
        refused("--socket", path + "-link")
        os.unlink(path)
        # Another process serves this socket.
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.bind(path)
            refused("--socket", path)
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
                client.connect(path)
        equal(sorted(os.listdir(directory)), ["name", "name-link"])
    with Process("--cards", "2") as process:
        refused("--socket", process.name + ".1", "--mem", "16M")
        refused("--socket", "@ringdev-test-other", "--control", process.control_name)
        Card(process.name + ".1").close()


def test_bad_options():
    for words, why in (
            ("", "--socket is missing"),
            ("--mem 48M", "--mem 48M: a power of two from 16M to 4G"),
            ("--mem 8M", "a power of two from 16M to 4G"),
            ("--mem 0", "a power of two from 16M to 4G"),
            ("--mem 17M", "a power of two from 16M to 4G"),
            ("--mem 16MB", "a power of two from 16M to 4G"),
            ("--mem 0x1000000000000000000", "a power of two from 16M to 4G"),
            ("--mem 8G", "a power of two from 16M to 4G"),
            ("--engines 0", "--engines 0: a number from 1 to 8"),
            ("--engines 9", "a number from 1 to 8"),
            ("--engines -1", "a number from 1 to 8"),
            ("--engines 4294967297", "a number from 1 to 8"),
            ("--cards 0", "--cards 0: a number from 1 to 8"),
            ("--cards 9", "--cards 9: a number from 1 to 8"),
            ("--rate 5", "--rate 5: bytes per second from 1M to 1024G, or 0"),
            ("--rate 1048575", "bytes per second from 1M to 1024G, or 0"),
            ("--rate 1025G", "bytes per second from 1M to 1024G, or 0"),
            ("--rate fast", "bytes per second from 1M to 1024G, or 0"),
            ("--latency -1", "--latency -1: a number from 0 to 60000000000"),
            ("--latency 60000000001", "--latency 60000000001: a number from 0 to 60000000000"),
            ("--seed x", "--seed x: a number from 0 to 18446744073709551615"),
            ("--seed 18446744073709551616", "a number from 0 to 18446744073709551615"),
            ("--storm -1", "--storm -1: a number from 0 to 4294967295"),
            ("--storm 4294967296", "a number from 0 to 4294967295"),
            ("--ram fd:x", "--ram fd:x: fd:N, with the number of an open file"),
            ("--ram fd:999", "--ram fd:999: fd:N, with the number of an open file"),
            ("--ram-low 5", "--ram-low 5: a number from 1048576 to 4294967296"),
            ("--ram-low 4294967297", "a number from 1048576 to 4294967296"),
            ("--ram-start 281474976710657", "a number from 0 to 281474976710656"),
            ("--socket @x --ram-start 5", "--ram-start 5: a multiple of 4096"),
            ("--socket @x --ram-start 1073741824 --ram-low 1048576", "RAM that has a --ram-start is in one piece"),
            ("--socket " + "x" * 101, ": 1 to 100 characters"),
            ("--socket=", "--socket : 1 to 100 characters"),
            ("--control " + "x" * 101, ": 1 to 100 characters"),
            ("--control=", "--control : 1 to 100 characters"),
            ("--ram x " * 9, "--ram x: at most 8 times"),
            ("--socket @x --cards 2 --ram x --ram y --ram z", "as there are cards, 2"),
            ("--nosuch", "--nosuch: no option"),
            ("--mem", "--mem: no option, or its value is missing"),
            ("word", "word: there are options only")):
        result = subprocess.run([RINGDEV, *words.split()], capture_output=True, check=False,
                                timeout=PATIENCE)
        equal((words, result.returncode, result.stdout), (words, 2, b""))
        text = result.stderr.decode()
        assert why in text and text.count("\n") == 1, f"{words}: {text}"
    equal(subprocess.run([RINGDEV, "--help"], capture_output=True, check=True).stderr, b"")
    result = subprocess.run([RINGDEV, "--socket", "/nosuch/socket"], capture_output=True,
                            check=False, timeout=PATIENCE)
    equal((result.returncode, result.stderr.decode()),
          (1, "ringdev: --socket /nosuch/socket: No such file or directory\n"))
