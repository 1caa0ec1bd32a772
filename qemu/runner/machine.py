# SPDX-License-Identifier: MIT
"""QEMU as a child process. Its channels are socket pairs and its initrd is a memfd,
so that there is no file and no name that could be left behind or collide."""

import json
import os
import queue
import shlex
import socket
import subprocess
import threading
import time

from . import RunnerError, disk, kvm, tsc
from .child import stay_with_parent
from .ring import RingProcess
from .room import Room

# A guest takes 6 s of its own time to let go of a card; on a host with much else to do, a minute.
DELETE_TIMEOUT = 120
# After the card is gone, QEMU still has to let go of the channel to its process.
CHANNEL_TIMEOUT = 60


def kvm_obstacle(options):
    """Why this guest cannot use KVM, or None."""
    if not options.architecture.is_host():
        return f"the guest is {options.architecture.name}"
    return kvm.obstacle()


def runs_by_kvm(options):
    return kvm_obstacle(options) is None


def describe(options):
    """The emulator and the accelerator, in words."""
    obstacle = kvm_obstacle(options)
    return f"{options.emulator} with " + (f"TCG, not KVM: {obstacle}" if obstacle else "KVM")


def clock_of(options):
    """KVM does not count instructions, so the clock of its guests is always the host's."""
    return "real" if runs_by_kvm(options) else options.clock


def damages_cmpxchg16b(options):
    """QEMU 8.0 has implemented it anew."""
    return not runs_by_kvm(options) and options.emulator.version < (8, 0, 0)


def accelerator(options):
    """
    In virtual time an instruction takes 1 ns, and when all CPUs are idle the clock jumps to the next
    timer. Time does not pass while the host has other things to do, so that a busy host changes
    neither the order of the guest's timers nor what happens between two of them.
    """
    if runs_by_kvm(options):
        return ["-accel", "kvm", "-cpu", "host"]
    cpu = options.architecture.cpus[options.clock]
    cpu = ["-cpu", cpu if damages_cmpxchg16b(options) else cpu.removesuffix(",-cx16")]
    if options.clock == "virtual":
        return ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"] + cpu
    return ["-accel", "tcg,thread=multi"] + cpu


# The kernel waits 10 ms for room in the FIFO of its serial port, and then overwrites it. QEMU empties that into
# the socket byte by byte, each of which occupies a buffer of about 800 bytes until the runner has read it. So the
# socket must hold what a guest can log while the runner gets no CPU.
SO_SNDBUFFORCE = 32  # asm-generic/socket.h; not in Python's module
SEND_BUFFER = 64 << 20


class Channel:
    """The runner's end of one of QEMU's character devices."""

    def __init__(self, name):
        self.name = name
        self.ours, self.theirs = socket.socketpair()
        try:
            self.theirs.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER)
        except PermissionError:
            self.theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)

    def argument(self):
        return f"socket,id={self.name},fd={self.theirs.fileno()}"

    def send(self, text):
        self.ours.sendall(text.encode())

    def close(self):
        """Also wakes a thread that reads."""
        try:
            self.ours.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.ours.close()


class Qmp:
    """QEMU's control protocol, as far as cards need it."""

    def __init__(self, channel, process):
        self.channel = channel
        self.room = Room(self, process.pid)
        self.replies = queue.Queue()
        self.deleted = queue.Queue()
        self.version = {}
        threading.Thread(target=self._read, daemon=True).start()
        self._reply_to({"execute": "qmp_capabilities"})

    def _read(self):
        with self.channel.ours.makefile("r", encoding="utf-8") as lines:
            try:
                for line in lines:
                    message = json.loads(line)
                    self.version = message.get("QMP", {}).get("version", self.version)
                    if "return" in message or "error" in message:
                        self.replies.put(message)
                    elif message.get("event") == "DEVICE_DELETED":
                        self.deleted.put(message["data"].get("device"))
            except (OSError, ValueError):
                pass
        self.replies.put({"error": {"desc": "QEMU has ended"}})

    def _reply_to(self, command, fds=()):
        """A command, with file descriptors for QEMU."""
        socket.send_fds(self.channel.ours, [json.dumps(command).encode() + b"\n"], fds)
        reply = self.replies.get()
        if "error" in reply:
            raise RunnerError(reply["error"]["desc"])
        return reply["return"]

    def execute(self, name, arguments=None, fds=()):
        return self._reply_to({"execute": name, "arguments": arguments or {}}, fds)

    def about(self):
        """The version of QEMU and its machine's architecture, in words."""
        number = "{major}.{minor}.{micro}".format(**self.version["qemu"])
        package = self.version["package"] or "no package"
        return f"QEMU {number} ({package}), {self.execute('query-target')['arch']}"

    def device_del(self, card, slowdown):
        """Returns when the guest has let go of the card and it is gone."""
        while not self.deleted.empty():
            self.deleted.get()
        if card.socket:
            self.room.make()
        self.execute("device_del", {"id": card.id})
        try:
            while self.deleted.get(timeout=DELETE_TIMEOUT * slowdown) != card.id:
                pass
        except queue.Empty:
            raise RunnerError("the guest does not release the card") from None
        if card.socket:
            self.room.fill()
            self._remove_channel(card)

    def _remove_channel(self, card):
        """QEMU refuses it as long as the device has it open."""
        deadline = time.monotonic() + CHANNEL_TIMEOUT
        while self._is_open(card.channel) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.execute("chardev-remove", {"id": card.channel})

    def _is_open(self, channel):
        return any(one["label"] == channel and one["frontend-open"]
                   for one in self.execute("query-chardev"))

    def device_add(self, card, slowdown):
        del slowdown  # QEMU does not wait for the guest
        if not card.socket:
            self.execute("device_add", card.properties)
            return
        card.ring.revive()
        address = {"type": "unix", "data": {"path": card.socket, "abstract": True}}
        with self.room.above():
            self.execute("chardev-add", {
                "id": card.channel,
                "backend": {"type": "socket", "data": {"addr": address, "server": False}}})
            self.execute("device_add", card.properties)
            self.take_in([card.ring])

    def set_link(self, is_up):
        """Of the guest's network: its end and QEMU's."""
        self.execute("set_link", {"name": "net", "up": is_up})

    def take_in(self, rings):
        """Returns when QEMU has all that the processes of its cards send it at first."""
        for ring in rings:
            # It does one thing after the other.
            ring.order("stats card=0")
        self.room.wait_for_rest()


class Machine:
    """A QEMU that runs: its channels, and what it prints about itself."""

    CHANNELS = ("console", "qmp", "status", "out", "ctl", "tty")

    def __init__(self, options, kernel, initramfs):
        self.channels = {name: Channel(name) for name in self.CHANNELS}
        self.initrd = os.memfd_create("initramfs")
        with open(self.initrd, "wb", closefd=False) as file:
            file.write(initramfs)
        self.ram = None
        self.quiet = None
        self.rings = []
        self.qmp = None
        self.about = ""
        try:
            self._start_rings(options)
            self.command = self._command_line(options, kernel)
            self.process = self._start(options)
        except BaseException:
            self._end_rings()
            raise

    def __getitem__(self, name):
        return self.channels[name]

    def _start_rings(self, options):
        """Ring cards are processes, which copy from and to the guest's RAM: a file for both."""
        if not options.rings:
            return
        self.ram = os.memfd_create("ram")
        os.ftruncate(self.ram, options.mem << 20)
        self.quiet = os.eventfd(0)
        for group in options.rings:
            ring = RingProcess(group, self.ram, options.architecture.ram_start)
            self.rings.append(ring)
            for number, card in enumerate(group.cards):
                card.socket = ring.socket_of(number)
                card.ring = ring

    def _end_rings(self):
        for ring in self.rings:
            ring.end()

    def _start(self, options):
        fds = [channel.theirs.fileno() for channel in self.channels.values()] + [self.initrd]
        fds += [self.ram, self.quiet] if self.rings else []
        fds += [options.network.fd] if options.network else []
        try:
            # A session of its own: Ctrl-C is for the runner, which then ends QEMU.
            # pylint: disable=subprocess-popen-preexec-fn
            process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, pass_fds=fds, start_new_session=True,
                preexec_fn=stay_with_parent)
        except FileNotFoundError:
            raise RunnerError(f"there is no {self.command[0]}: run qemu/setup packages "
                              f"{options.architecture.package_set}") from None
        finally:
            for channel in self.channels.values():
                channel.theirs.close()
            os.close(self.initrd)
            if self.rings:
                os.close(self.ram)
                os.close(self.quiet)
        return process

    def _command_line(self, options, kernel):
        architecture = options.architecture
        machine = architecture.machine + ",memory-backend=ram"
        if options.iommu:
            machine += architecture.iommu_machine + (",kernel-irqchip=split" if runs_by_kvm(options) else "")
        words = [options.emulator.program, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                 "-name", "debug-threads=on",
                 "-machine", machine, "-smp", str(options.smp), "-m", f"{options.mem}M",
                 # Memory that the host need not have until the guest touches it.
                 "-object", f"{self._memory()},id=ram,size={options.mem}M,reserve=off"]
        words += accelerator(options)
        if options.iommu:
            words += architecture.iommu_device  # before all that it translates for
        words += ["-kernel", kernel.image, "-initrd", f"/proc/self/fd/{self.initrd}",
                  "-append", kernel_command_line(options)]
        words += self._channel_arguments()
        words += ["-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
                  "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
                  "-device", "virtio-rng-pci"]
        words += options.network.arguments() if options.network else []
        words += disk.arguments(options.disks)
        # Cards are complete before the guest runs.
        words += ["-S"] + Room.arguments(self.quiet) if self.rings else []
        return words + card_arguments(options) + shlex.split(options.qemu)

    def _memory(self):
        if not self.rings:
            return "memory-backend-ram"
        return f"memory-backend-file,mem-path=/proc/self/fd/{self.ram},share=on"

    def _channel_arguments(self):
        words = []
        for channel in self.channels.values():
            words += ["-chardev", channel.argument()]
        words += ["-serial", "chardev:console", "-mon", "chardev=qmp,mode=control",
                  "-device", "virtio-serial-pci", "-device", "virtconsole,chardev=tty"]
        for name in ("status", "out", "ctl"):
            words += ["-device", f"virtserialport,chardev={name},name=paccel.{name}"]
        return words

    def connect_qmp(self):
        self.qmp = Qmp(self.channels["qmp"], self.process)
        self.about = self.qmp.about()
        if self.rings:
            self.qmp.take_in(self.rings)
            self.qmp.execute("cont")

    def end(self):
        """Ends QEMU; what it has sent so far can still be read."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._end_rings()

    def stop(self):
        """Ends QEMU and all talk with it."""
        self.end()
        for channel in self.channels.values():
            channel.close()


def card_arguments(options):
    words = []
    for card in options.cards:
        if card.socket:
            words += ["-chardev", f"socket,id={card.channel},path={card.socket},abstract=on"]
        words += ["-device", card.port_argument(), "-device", card.device_argument()]
    return words


def kernel_command_line(options):
    architecture = options.architecture
    words = [f"console={architecture.console}", "loglevel=7", "panic=-1", "oops=panic",
             *architecture.kernel_words,
             # KASAN reports each error, not the first alone.
             "kasan_multi_shot"]
    # KVM passes the frequency to its guest.
    khz = tsc.khz(options.clock) if architecture.tsc and not runs_by_kvm(options) else None
    if khz:
        words.append(f"tsc_early_khz={khz}")
    if damages_cmpxchg16b(options):
        words += architecture.old_qemu_words
    if options.iommu:
        words += architecture.iommu_words
    return " ".join(words + [options.append])
