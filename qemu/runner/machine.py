# SPDX-License-Identifier: MIT
"""QEMU as a child process. Its channels are socket pairs and its initrd is a memfd,
so that there is no file and no name that could be left behind or collide."""

import ctypes
import json
import os
import queue
import shlex
import signal
import socket
import subprocess
import threading

from . import RunnerError

QEMU = "qemu-system-x86_64"
PR_SET_PDEATHSIG = 1
DELETE_TIMEOUT = 30


def kvm_usable():
    """/dev/kvm may exist and not work; without these flags it does not."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = next((line for line in file if line.startswith("flags")), "").split()
    except OSError:
        return False
    return ("vmx" in flags or "svm" in flags) and os.access("/dev/kvm", os.R_OK | os.W_OK)


def die_with_parent():
    """Runs in the child: should the runner be killed, QEMU goes with it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Channel:
    """The runner's end of one of QEMU's character devices."""

    def __init__(self, name):
        self.name = name
        self.ours, self.theirs = socket.socketpair()

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

    def __init__(self, channel):
        self.channel = channel
        self.replies = queue.Queue()
        self.deleted = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self._reply_to({"execute": "qmp_capabilities"})

    def _read(self):
        with self.channel.ours.makefile("r", encoding="utf-8") as lines:
            try:
                for line in lines:
                    message = json.loads(line)
                    if "return" in message or "error" in message:
                        self.replies.put(message)
                    elif message.get("event") == "DEVICE_DELETED":
                        self.deleted.put(message["data"].get("device"))
            except (OSError, ValueError):
                pass
        self.replies.put({"error": {"desc": "QEMU has ended"}})

    def _reply_to(self, command):
        self.channel.send(json.dumps(command) + "\n")
        reply = self.replies.get()
        if "error" in reply:
            raise RunnerError(reply["error"]["desc"])
        return reply["return"]

    def execute(self, name, arguments):
        return self._reply_to({"execute": name, "arguments": arguments})

    def device_del(self, card, slowdown):
        """Returns when the guest has let go of the card and it is gone."""
        while not self.deleted.empty():
            self.deleted.get()
        self.execute("device_del", {"id": card.id})
        try:
            while self.deleted.get(timeout=DELETE_TIMEOUT * slowdown) != card.id:
                pass
        except queue.Empty:
            raise RunnerError("the guest does not release the card") from None

    def device_add(self, card, slowdown):
        del slowdown  # QEMU does not wait for the guest
        self.execute("device_add", card.properties)


class Machine:
    """A QEMU that runs: its channels, and what it prints about itself."""

    CHANNELS = ("console", "qmp", "status", "out", "ctl", "tty")

    def __init__(self, options, kernel, initramfs):
        self.channels = {name: Channel(name) for name in self.CHANNELS}
        self.initrd = os.memfd_create("initramfs")
        with open(self.initrd, "wb", closefd=False) as file:
            file.write(initramfs)
        self.command = self._command_line(options, kernel)
        self.process = self._start()
        self.qmp = None

    def __getitem__(self, name):
        return self.channels[name]

    def _start(self):
        fds = [channel.theirs.fileno() for channel in self.channels.values()] + [self.initrd]
        try:
            # A session of its own: Ctrl-C is for the runner, which then ends QEMU.
            # pylint: disable=subprocess-popen-preexec-fn
            process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, pass_fds=fds, start_new_session=True,
                preexec_fn=die_with_parent)
        except FileNotFoundError:
            raise RunnerError(f"there is no {QEMU}: run qemu/setup packages") from None
        finally:
            for channel in self.channels.values():
                channel.theirs.close()
            os.close(self.initrd)
        return process

    def _command_line(self, options, kernel):
        kvm = kvm_usable()
        machine = "q35,memory-backend=ram"
        if kvm and options.iommu:
            machine += ",kernel-irqchip=split"
        words = [QEMU, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                 "-machine", machine, "-smp", str(options.smp), "-m", f"{options.mem}M",
                 # Memory that the host need not have until the guest touches it.
                 "-object", f"memory-backend-ram,id=ram,size={options.mem}M,reserve=off"]
        words += ["-accel", "kvm", "-cpu", "host"] if kvm else \
                 ["-accel", "tcg,thread=multi", "-cpu", "max"]
        if options.iommu:
            words += ["-device", "intel-iommu"]  # before all that it translates for
        words += ["-kernel", kernel.image, "-initrd", f"/proc/self/fd/{self.initrd}",
                  "-append", kernel_command_line(options)]
        words += self._channel_arguments()
        words += ["-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
                  "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
                  "-device", "virtio-rng-pci"]
        for card in options.cards:
            words += ["-device", card.port_argument(), "-device", card.device_argument()]
        return words + shlex.split(options.qemu)

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
        self.qmp = Qmp(self.channels["qmp"])

    def stop(self):
        """Ends QEMU whatever state it is in."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for channel in self.channels.values():
            channel.close()


def kernel_command_line(options):
    words = ["console=ttyS0", "loglevel=7", "panic=-1", "oops=panic", "random.trust_cpu=on",
             "tsc=reliable", "no_timer_check"]
    if options.iommu:
        words.append("intel_iommu=on")
    return " ".join(words + [options.append])
