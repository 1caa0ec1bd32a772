# SPDX-License-Identifier: MIT
"""One run: the conversation with guest/main, the time limits, the verdict."""

import fcntl
import os
import queue
import secrets
import select
import shlex
import signal
import struct
import sys
import termios
import threading
import time
import tty

from . import RunnerError, checkers, klog
from .kernel import QEMU_DIR, TOP, Kernel, base_initramfs, read, run_initramfs
from .machine import Machine, clock_of

TIMED_OUT = 124

# Once the command has ended, unloading and the search for leaks must not take longer than
# this (times the kernel's slowdown).
FINISH_LIMIT = 60

# The guest has its own of these; what the run needs of the host below them is bound.
HIDDEN = ("/tmp", "/run")

CTRL_CLOSE_BRACKET = b"\x1d"


# Of a QEMU that has crashed, and not been ended.
CRASHES = (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGILL)


class DiedBooting(Exception):
    """The kernel has panicked or hung, or QEMU crashed, before any program of ours ran."""


class TimedOut(Exception):
    """The command did not end in time."""


class Stopped(Exception):
    """A signal told the runner to end."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def hidden(path):
    return any(path.startswith(top + "/") for top in HIDDEN)


def shares(options, kernel):
    """Host paths that the run cannot do without: those under the guest's own directories, or all where the
    guest has a user space of its own."""
    wanted = [TOP, os.getcwd(), kernel.modules, os.path.dirname(kernel.paccel_ko)]
    own = {path for path in wanted if path and path != "/"} if kernel.architecture.userland() else set()
    wanted += [os.path.abspath(word) for word in options.command if "/" in word]
    found = own | {path for path in wanted if path and hidden(path)}
    found = {path for path in found if os.path.exists(path)}
    # A directory brings what is below it.
    return sorted(path for path in found
                  if not any(path.startswith(other + "/") for other in found))


def module_path(options, kernel):
    if os.path.exists(kernel.paccel_ko):
        return kernel.paccel_ko
    if options.module == "none":
        return ""
    target = os.path.relpath(kernel.paccel_ko, TOP)
    raise RunnerError(f"the driver is not built for this kernel: make {target}, "
                      "or run with --module none")


def assignments(values, prefix=""):
    return "".join(f"{prefix}{name}={shlex.quote(str(value))}\n"
                   for name, value in values.items())


def terminal_size():
    try:
        size = fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8))
        rows, columns = struct.unpack("HHHH", size)[:2]
    except OSError:
        rows = columns = 0
    return rows or 24, columns or 80


def guest_files(options, kernel, nonce):
    """What /run/paccel holds in the guest."""
    rows, columns = terminal_size()
    none = options.module == "none"
    env = {
        "NONCE": nonce, "KVER": kernel.version, "MODULES_DIR": kernel.modules or "",
        "USERLAND": kernel.architecture.userland(), "PACCEL_KO": module_path(options, kernel), "MODULE": "none" if none else "load",
        "MODULE_ARGS": "" if none else options.module,
        "HOST_NAME": "guest", "NET_ADDRESS": "", "ON_TERMINAL": "yes" if options.tty else "", "ROWS": rows, "COLUMNS": columns,
    }
    build = os.path.dirname(os.path.dirname(os.path.dirname(kernel.paccel_ko)))
    build = os.path.join(build, kernel.architecture.build).rstrip("/")
    exported = {
        "PATH": ":".join([f"{build}/tools", "/run/paccel", "/usr/local/sbin", "/usr/local/bin",
                          "/usr/sbin", "/usr/bin", "/sbin", "/bin"]),
        "LD_LIBRARY_PATH": f"{build}/lib",
        "BUILD": build, "HOME": "/tmp", "TERM": os.environ.get("TERM", "dumb"), "LANG": "C.UTF-8",
        "KVER": kernel.version, "PACCEL_KERNEL": kernel.name, "PACCEL_KO": env["PACCEL_KO"],
        "PACCEL_SLOWDOWN": kernel.slowdown, "PACCEL_CLOCK": clock_of(options), "PACCEL_TOP": TOP,
        "PACCEL_EDU_BYTES": options.emulator.edu_bytes,
    }
    if options.network:
        env.update(options.network.settings())
        exported.update(options.network.environment())
    command = (assignments(exported, "export ") + f"cd {shlex.quote(os.getcwd())} || exit 126\n"
               + "exec " + shlex.join(options.command) + "\n")
    # The command's PATH goes through here: no names of programs.
    files = {
        "settings": assignments(env).encode(),
        "job": command.encode(errors="surrogateescape"),
        "shares": "".join(path + "\n" for path in shares(options, kernel)).encode(),
    }
    files.update(options.network.files() if options.network else {})
    for name in ("main", "guestctl"):
        files[name] = read(os.path.join(QEMU_DIR, "guest", name))
    return files


class Output:
    """The command's output: everything up to NUL, nonce, newline.

    Read at once and written by a thread of its own, so that a slow reader of ours
    does not stop the guest."""

    def __init__(self, channel, nonce, events):
        self.channel = channel
        self.marker = b"\0" + nonce.encode() + b"\n"
        self.events = events
        self.chunks = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self.writer = threading.Thread(target=self._write, daemon=True)
        self.writer.start()

    def _read(self):
        pending = b""
        while True:
            try:
                data = self.channel.ours.recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                break
            pending += data
            if pending.endswith(self.marker):
                pending = pending[:-len(self.marker)]
                break
            # A part of the marker may be at the end.
            keep = pending.rfind(b"\0", -len(self.marker))
            keep = keep if keep >= 0 else len(pending)
            self.chunks.put(pending[:keep])
            pending = pending[keep:]
        self.chunks.put(pending)
        self.chunks.put(None)

    def _write(self):
        while (data := self.chunks.get()) is not None:
            try:
                while data:
                    data = data[os.write(1, data):]
            except OSError:
                self.events.put(("stdout closed", ""))
                return
        self.events.put(("output complete", ""))


class Session:
    """Everything about one guest, from start to verdict."""

    def __init__(self, options):
        self.options = options
        self.kernel = Kernel(options.kernel, options.architecture)
        self.nonce = secrets.token_hex(16)
        # A signal handler may put into it at any time.
        self.events = queue.SimpleQueue()
        self.log = bytearray()
        self.qemu_output = b""
        self.exit_code = None
        self.state = {}
        self.output_complete = False
        self.has_begun = False
        self.boot_hangs = False
        self.machine = None
        self.threads = []

    # --- threads: each turns one channel into events ---------------------------------

    def _thread(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        thread.start()
        self.threads.append(thread)

    def _read_console(self, log_file):
        last_line = f"end of the log {self.nonce}".encode()
        while True:
            try:
                data = self.machine["console"].ours.recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                break
            self.log += data
            if log_file:
                log_file.write(data)
                log_file.flush()
            if last_line in self.log[-len(data) - len(last_line):]:
                self.events.put(("log complete", ""))
            if b" timer handling issue " in self.log[-len(data) - 100:]:
                self._look_for_lost_timer()

    def _look_for_lost_timer(self):
        """Such a guest may never end, and nothing in it can help that."""
        cpu = klog.lost_timer(self.log_text())
        if cpu is not None:
            self.events.put(("lost timer", f"CPU {cpu} idles, and its timer has run out"))

    def _read_status(self):
        with self.machine["status"].ours.makefile("r", encoding="utf-8",
                                                  errors="replace") as lines:
            try:
                for line in lines:
                    nonce, _, text = line.rstrip("\n").partition(" ")
                    if nonce == self.nonce:
                        self.events.put(("status", text))
            except OSError:
                pass

    def _serve_ctl(self):
        cards = {card.id: card for card in self.options.cards}
        verbs = {"device_del": self.machine.qmp.device_del,
                 "device_add": self.machine.qmp.device_add}
        with self.machine["ctl"].ours.makefile("r", encoding="utf-8", errors="replace") as lines:
            try:
                for line in lines:
                    self.machine["ctl"].send(self._control(line.split(), verbs, cards) + "\n")
            except OSError:
                pass

    def _set_link(self, words):
        if words not in (["up"], ["down"]):
            return "error: link up or link down"
        if not self.options.network:
            return "error: this guest has no network: qemu/run --guests"
        self.machine.qmp.set_link(words == ["up"])
        return "ok"

    def _control(self, words, verbs, cards):
        if words[:1] == ["link"]:
            return self._set_link(words[1:])
        fault = len(words) > 2 and words[0] == "fault"
        if not fault and (len(words) != 2 or words[0] not in verbs):
            return "error: device_del CARD, device_add CARD, fault CARD COMMAND... or link up|down"
        if words[1] not in cards:
            return f"error: this guest has no {words[1]}"
        if fault:
            return order(cards[words[1]], words[2:])
        try:
            verbs[words[0]](cards[words[1]], self.kernel.slowdown)
        except RunnerError as error:
            return f"error: {error}"
        return "ok"

    def _watch_qemu(self):
        self.qemu_output = self.machine.process.stdout.read()
        self.machine.process.wait()
        self.events.put(("qemu ended", ""))

    def _relay_terminal(self):
        """Our terminal, raw, to the guest's console and back."""
        guest = self.machine["tty"].ours
        while True:
            readable = select.select([0, guest], [], [])[0]
            if guest in readable:
                data = guest.recv(1 << 16)
                if not data:
                    return
                os.write(1, data)
            if 0 in readable:
                data = os.read(0, 1 << 10)
                if not data or CTRL_CLOSE_BRACKET in data:
                    self.events.put(("signal", signal.SIGTERM))
                    return
                guest.sendall(data)

    # --- the conversation ------------------------------------------------------------

    def _next_event(self, deadline):
        remaining = None if deadline is None else max(0, deadline - time.monotonic())
        try:
            kind, text = self.events.get(timeout=remaining)
        except queue.Empty:
            raise TimedOut from None
        if kind == "signal":
            raise Stopped(text)
        if kind == "stdout closed":
            raise Stopped(signal.SIGPIPE)
        if kind == "output complete":
            self.output_complete = True  # maybe before the guest has told the exit status
        if kind == "status" and text.startswith("failed "):
            raise RunnerError("in the guest: " + text[len("failed "):])
        if kind == "lost timer":
            raise RunnerError(text)
        return kind, text

    def _next_of_boot_or_command(self, boot_deadline, deadline):
        if self.has_begun or deadline is not None and deadline < boot_deadline:
            return self._next_event(deadline)
        try:
            return self._next_event(boot_deadline)
        except TimedOut:
            self.boot_hangs = True
            raise RunnerError("the kernel has not started its first program after "
                              f"{self._boot_limit()} s") from None

    def _boot_limit(self):
        return self.options.boot_timeout * self.options.guests * self.kernel.slowdown

    def _wait_for_command(self, deadline):
        boot_deadline = time.monotonic() + self._boot_limit()
        while True:
            kind, text = self._next_of_boot_or_command(boot_deadline, deadline)
            self.has_begun = self.has_begun or (kind, text) == ("status", "begun")
            if kind == "status" and text.startswith("exit "):
                self.exit_code = int(text[len("exit "):])
                return
            if kind == "qemu ended":
                raise RunnerError(self._why_qemu_ended())

    def _wait_for_end(self):
        """The guest waits until we have all output, cleans up and says "end". What it
        has logged until then comes over a slow line; a last line of its own closes it.
        Then there is nothing to wait for: QEMU is ended, which is quicker than power-off."""
        deadline = time.monotonic() + FINISH_LIMIT * self.kernel.slowdown
        missing = "end of its output"
        ended = False
        log_complete = False
        try:
            while not (self.output_complete or self.options.tty):
                if self._next_event(deadline)[0] == "qemu ended":
                    raise RunnerError(self._why_qemu_ended())
            self.machine["status"].send("go on\n")
            missing = "end of its clean-up"
            while not (ended and log_complete):
                kind, text = self._next_event(deadline)
                if kind == "status" and text.startswith("end "):
                    ended = True
                    self.state = checkers.parse(text[len("end "):])
                log_complete = log_complete or kind == "log complete"
                missing = "end of its log" if ended else missing
                if kind == "qemu ended":
                    raise RunnerError(self._why_qemu_ended())
        except TimedOut:
            raise RunnerError("the command has ended, but the guest has not: "
                              f"there is no {missing}") from None

    def _why_qemu_ended(self):
        self._join_threads()
        text = self.log_text()
        panic = klog.panic(text)
        if panic:
            return panic
        code = self.machine.process.returncode
        if code:
            why = f"signal {-code}" if code < 0 else f"status {code}"
            return f"QEMU ended with {why}: " + self.qemu_output.decode(errors="replace").strip()
        return "the guest powered off before the command had ended"

    def _died_booting(self):
        text = self.log_text()
        crashed = self.machine and self.machine.process.poll() in CRASHES
        return self.boot_hangs or not klog.has_booted(text) and bool(crashed or klog.panic(text))

    def _join_threads(self):
        for thread in self.threads:
            if thread is not threading.current_thread():
                thread.join(timeout=5)

    def log_text(self):
        return bytes(self.log).decode("utf-8", "replace").replace("\r\n", "\n")

    def _check_log(self):
        reports = klog.Reports(self.log_text())
        complaints = checkers.judge(self.state, self.kernel.config, reports.found + reports.allowed)
        if reports.found:
            complaints.insert(0, "\n  ".join(["the kernel log has reports:"] + reports.found[:10]))
        if complaints:
            raise RunnerError("\n".join(complaints))

    def _start(self, log_file):
        files = guest_files(self.options, self.kernel, self.nonce)
        initramfs = base_initramfs(self.kernel) + run_initramfs(files)
        self.machine = Machine(self.options, self.kernel, initramfs)
        self._thread(self._read_console, log_file)
        self._thread(self._watch_qemu)
        self._thread(self._read_status)
        try:
            self.machine.connect_qmp()
        except (RunnerError, OSError):
            raise RunnerError(self._why_qemu_ended()) from None
        threading.Thread(target=self._serve_ctl, daemon=True).start()
        if self.options.tty:
            threading.Thread(target=self._relay_terminal, daemon=True).start()
        else:
            Output(self.machine["out"], self.nonce, self.events)

    def _converse(self, log_file):
        limit = self.options.timeout * self.kernel.slowdown
        deadline = time.monotonic() + limit if limit else None
        self._start(log_file)
        try:
            self._wait_for_command(deadline)
        except TimedOut:
            raise TimedOut(f"the command has not ended after {limit} s") from None
        self._wait_for_end()
        self.machine.end()
        self._join_threads()
        self._check_log()
        return self.exit_code

    def run(self):
        """Returns the exit status of qemu/run."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: self.events.put(("signal", number)))
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        log_file = open_log(self.options.log, self.options.boots_once)
        saved = enter_raw_mode() if self.options.tty else None
        try:
            return self._converse(log_file)
        except TimedOut as limit:
            return self._fail(TIMED_OUT, str(limit), saved)
        except RunnerError as error:
            if self._died_booting() and not self.options.boots_once:
                self._show_log(saved)
                raise DiedBooting(klog.with_report(str(error), self.log_text())) from None
            return self._fail(error.status, str(error), saved)
        except Stopped as stopped:
            return 128 + stopped.number
        finally:
            if self.machine:
                self.machine.stop()
            leave_raw_mode(saved)
            if log_file:
                self._join_threads()
                if self.machine and self.machine.about:
                    log_file.write(f"\nqemu/run: {self.machine.about}\n".encode())
                log_file.close()

    def _show_log(self, saved):
        if self.machine:
            self.machine.stop()
            self._join_threads()
        leave_raw_mode(saved)
        text = self.log_text()
        if text:
            say("from the kernel log:\n" + klog.excerpt(text))

    def _fail(self, code, why, saved):
        self._show_log(saved)
        if self.exit_code is not None:
            say(f"the command itself ended with {self.exit_code}")
        say(why)
        return code


def order(card, words):
    """A command for the process of a ring card, about this card of it."""
    if not card.ring:
        return f"error: {card.id} is not a ring card"
    # These it cannot do itself.
    signals = {"stop": card.ring.stop, "cont": card.ring.go_on, "kill": card.ring.kill}
    if words[0] in signals and len(words) == 1:
        return signals[words[0]]()
    return card.ring.order(" ".join(words + [f"card={card.ring.group.cards.index(card)}"]))


def open_log(path, append):
    """With `append`, of a second boot, it goes on behind the log of the guest that died booting."""
    if not path:
        return None
    try:
        file = open(path, "ab" if append else "wb")
    except OSError as error:
        raise RunnerError(f"--log {path}: {error.strerror}") from None
    if append:
        file.write(b"\nqemu/run: booted once more\n")
    return file


def enter_raw_mode():
    if not os.isatty(0):
        return None
    saved = termios.tcgetattr(0)
    tty.setraw(0)
    return saved


def leave_raw_mode(saved):
    if saved:
        termios.tcsetattr(0, termios.TCSADRAIN, saved)


def say(text):
    print(f"qemu/run: {text}", file=sys.stderr, flush=True)
