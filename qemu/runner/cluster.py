# SPDX-License-Identifier: MIT
"""Several guests with a network between them: `qemu/run --guests N`.

Each guest has a runner of its own, which is a child process of this one. This process is the switch of
the network, prints what the guests print, and ends all guests when one fails."""

import contextlib
import os
import queue
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

from . import RunnerError
from .child import stay_with_parent
from .kernel import read

MAX_GUESTS = 16
# The largest frame is the MTU and a header of 18 bytes.
MTU = 9000
FRAME = MTU + 18
# How long the switch waits for room at the port of a guest that does not receive, in s. Then it drops the frame.
PORT_TIMEOUT = 1
# A runner that has got SIGTERM ends QEMU and itself, in s.
END_LIMIT = 60
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def name_of(rank):
    return f"guest{rank}"


def address_of(rank):
    return f"10.77.0.{rank + 1}"


def mac_of(rank):
    return bytes((0x52, 0x54, 0, 0x77, 0, rank + 1))


class Network:
    """What a guest knows of the network, and its end of it."""

    def __init__(self, rank, count, port, keys):
        self.rank = rank
        self.count = count
        self.name = name_of(rank)
        self.fd = port.fileno()
        self.keys = keys

    def arguments(self):
        """For QEMU. The set-up needs no boot ROM."""
        mac = ":".join(f"{byte:02x}" for byte in mac_of(self.rank))
        return ["-netdev", f"dgram,id=net,local.type=fd,local.str={self.fd}",
                "-device", f"virtio-net-pci,netdev=net,id=nic,mac={mac},host_mtu={MTU},romfile="]

    def settings(self):
        """For guest/main."""
        return {"HOST_NAME": self.name, "NET_ADDRESS": f"{address_of(self.rank)}/24"}

    def environment(self):
        """For the command."""
        pairs = (f"{name_of(rank)}={address_of(rank)}" for rank in range(self.count))
        return {"PACCEL_RANK": self.rank, "PACCEL_HOSTS": " ".join(pairs)}

    def files(self):
        """Below /run/paccel; guest/init copies `hosts` to /etc."""
        lines = ["127.0.0.1 localhost", "::1 localhost"]
        lines += [f"{address_of(rank)} {name_of(rank)}" for rank in range(self.count)]
        return {"hosts": "".join(line + "\n" for line in lines).encode(), **self.keys}


def make_keys():
    """A pair of keys for ssh between the guests of this run, if this machine can make one."""
    if not shutil.which("ssh-keygen"):
        return {}
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "key")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "paccel", "-f", path], check=True,
                       stdin=subprocess.DEVNULL)
        return {"ssh_key": read(path), "ssh_key.pub": read(path + ".pub")}


class Switch:
    """Each guest is at a port: a pair of sockets, of which QEMU has one. A datagram is a frame. The addresses
    of the guests are known; a frame for any other goes to all guests but its sender."""

    def __init__(self, count):
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(count)]
        self.ports, self.guests = zip(*pairs)
        self.rank_of = {mac_of(rank): rank for rank in range(count)}
        self.full = set()
        for port in self.ports:
            port.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", PORT_TIMEOUT, 0))

    def start(self):
        for rank in range(len(self.ports)):
            threading.Thread(target=self._forward, args=(rank,), daemon=True).start()

    def _receivers(self, frame, sender):
        rank = self.rank_of.get(frame[:6])
        return [other for other in range(len(self.ports)) if other != sender and rank in (None, other)]

    def _forward(self, sender):
        while True:
            frame = self.ports[sender].recv(FRAME)
            for rank in self._receivers(frame, sender):
                self._send(rank, frame)

    def _send(self, rank, frame):
        """A guest that does not receive holds up the others once, and not with each frame."""
        try:
            self.ports[rank].send(frame, socket.MSG_DONTWAIT if rank in self.full else 0)
        except BlockingIOError:
            self.full.add(rank)
        else:
            self.full.discard(rank)


class Guest:
    """The runner of one guest, and what it prints. The lines of the first guest are printed as they are, so
    that its output can be read by a program; those of others begin with their names."""

    def __init__(self, network, run):
        self.name = network.name
        self.prefix = f"{self.name}: ".encode() if network.rank else b""
        self.reason = ""
        pipes = [os.pipe(), os.pipe()]
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(self._be_runner(run, network, [writer for _, writer in pipes]))
        for _, writer in pipes:
            os.close(writer)
        self.readers = [reader for reader, _ in pipes]
        self.threads = []

    @staticmethod
    def _be_runner(run, network, writers):
        """Not in the group of processes that a terminal sends its signals to: the parent gets them."""
        stay_with_parent()
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDONLY)
        for fd, number in zip([null, *writers], range(3)):
            os.dup2(fd, number)
        return run(network)

    def start(self, events):
        """Threads: one for each stream, and one that waits for the end of both and of the process."""
        for reader, writer in zip(self.readers, (1, 2)):
            self.threads.append(threading.Thread(target=self._relay, args=(reader, writer, events), daemon=True))
            self.threads[-1].start()
        threading.Thread(target=self._wait, args=(events,), daemon=True).start()

    def _relay(self, reader, writer, events):
        with open(reader, "rb") as lines:
            for line in lines:
                if line.startswith(b"qemu/run: "):
                    self.reason = line.decode(errors="replace").strip().removeprefix("qemu/run: ")
                data = self.prefix + line
                # Of the other guests the last line may have no end.
                data += b"\n" if self.prefix and not line.endswith(b"\n") else b""
                try:
                    while data:
                        data = data[os.write(writer, data):]
                except OSError:
                    events.put(("signal", signal.SIGPIPE))
                    return

    def _wait(self, events):
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        for thread in self.threads:
            thread.join()
        events.put((self, code))

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def why(self, code):
        """How it failed, in words."""
        if code < 0:
            return f"{self.name}: its runner ended with signal {-code}"
        return f"{self.name}: " + (self.reason or f"its command ended with {code}")


class Cluster:
    """The guests of one run."""

    def __init__(self, count, run):
        # A signal handler may put into it at any time.
        self.events = queue.SimpleQueue()
        keys = make_keys()
        self.switch = Switch(count)
        # All processes first: a thread does not survive a fork().
        self.guests = [Guest(Network(rank, count, self.switch.guests[rank], keys), run) for rank in range(count)]
        self.running = set(self.guests)

    def run(self):
        """Returns the exit status of qemu/run: of the first guest that fails, or 0."""
        for number in SIGNALS:
            signal.signal(number, lambda number, _: self.events.put(("signal", number)))
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        for guest in self.guests:
            guest.start(self.events)
        self.switch.start()
        try:
            while self.running:
                guest, code = self.events.get()
                if guest == "signal":
                    return 128 + code
                self.running.remove(guest)
                if code:
                    self._end(guest.why(code))
                    return code if code > 0 else RunnerError.status
            return 0
        finally:
            self._end()

    def _end(self, why=""):
        """Ends the guests that still run. Their last lines are printed before the reason."""
        ended = [guest.name for guest in self.guests if guest in self.running]
        for number in (signal.SIGTERM, signal.SIGKILL):
            for guest in self.running:
                guest.signal(number)
            self._wait_for_all()
        if why:
            say(why + (f"; {', '.join(ended)} ended for that" if ended else ""))

    def _wait_for_all(self):
        with contextlib.suppress(queue.Empty):
            while self.running:
                guest, _ = self.events.get(timeout=END_LIMIT)
                self.running.discard(guest)


def say(text):
    print(f"qemu/run: {text}", file=sys.stderr, flush=True)
