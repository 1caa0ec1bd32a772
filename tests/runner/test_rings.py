# SPDX-License-Identifier: MIT
"""Tests of qemu/run with ring cards: their processes, seen from a guest without a driver."""

import os
import signal
import socket
import subprocess

from guests import (FAILED, PATIENCE, TOP, contains, ended, equal, failed, gone, run, said_nothing,
                    wait_until, words)

BAD_OPTION = 2

# The ring cards that the guest sees, and how many MiB of BAR 2 one has.
FIND = """
    set -e
    rings() { grep -l 0x1110 /sys/bus/pci/devices/*/device | sed 's,/device$,,'; }
    size() { set -- $(sed -n 3p $1/resource); echo $((($2 - $1 + 1) >> 20)); }
"""

# The kernel lets programs map a BAR of memory, but not read() it.
PEEK = """
import mmap, os, struct, sys
with open(sys.argv[1] + "/resource2", "r+b") as file:
    bar = mmap.mmap(file.fileno(), 2 << 20)
    print(*(f"{struct.unpack_from('<I', bar, int(at, 16))[0]:x}" for at in sys.argv[2:]))
"""


def rings_of(pid):
    """The device processes among the children of a runner."""
    found = []
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        for child in file.read().split():
            with open(f"/proc/{child}/comm", encoding="ascii") as name:
                if name.read() == "ringdev\n":
                    found.append(int(child))
    return found


def control_of(pid):
    """The name of the control socket of a runner's one device process."""
    ring = rings_of(pid)
    equal(len(ring), 1)
    with open(f"/proc/{ring[0]}/cmdline", "rb") as file:
        line = file.read().split(b"\0")
    return line[line.index(b"--control") + 1].decode()


def order(socket_name, line):
    with socket.socket(socket.AF_UNIX) as control:
        control.connect("\0" + socket_name[1:])
        control.sendall(line.encode() + b"\n")
        return control.makefile().readline()


def test_ring_cards_beside_an_edu():
    script = FIND + """
        for card in $(rings); do
            echo 1 >$card/enable
            size $card
            cat $card/vendor
            python3 -c "$PEEK" $card 0 c
        done
        grep -l 0x11e8 /sys/bus/pci/devices/*/device | wc -l
    """
    result = run("PEEK=$(cat <<'END'\n" + PEEK + "END\n)\n" + script,
                 "--card", "ring,mem=64M,engines=2,cards=2", "--card", "edu", "--card", "ring")
    said_nothing(result.stderr)
    equal(result.stdout.decode().split(),
          ["64", "0x1af4", "474e4952", "2"] * 2 + ["256", "0x1af4", "474e4952", "4"] + ["1"])
    ended(result, 0)


def test_a_copy_by_a_ring_card():
    """With its RAM in two parts, and the largest BAR."""
    script = FIND + """
        set -- $(rings)
        $PACCEL_TOP/tests/runner/ring_program ${1##*/}
        size $1
    """
    for ram, card, where, size in (("5G", "ring,mem=4G,engines=8", "high", "4096"),
                                   ("256M", "ring,mem=16M,engines=1", "low", "16")):
        result = run(script, "--mem", ram, "--card", card)
        said_nothing(result.stderr)
        equal(result.stdout.decode().split(), ["1", "1", "True", "True", where, size])
        ended(result, 0)


def test_a_ring_card_pulled_and_plugged_under_load():
    # Many files are opened while QEMU closes those of the card.
    script = FIND + """
        for reader in 1 2 3; do
            (while :; do cat /usr/bin/env /etc/passwd /etc/group >/dev/null; done) &
        done
        for cycle in 1 2 3 4 5 6; do
            guestctl device_del card1
            echo "left: $(rings | wc -l)"
            guestctl device_add card1
            until [ "$(rings | wc -l)" = 2 ]; do sleep 0.1; done
            guestctl fault card1 stats | sed 's/.*generation=/generation /'
        done
        guestctl fault card0 flip offset=5 mask=3
        guestctl fault card0 flip 2>&1 || true
        guestctl fault card2 stats 2>&1 || true
    """
    result = run(script, "--card", "ring,mem=16M", "--card", "ring,mem=16M", "--card", "edu")
    ended(result, 0)
    said_nothing(result.stderr)
    lines = result.stdout.decode().splitlines()
    equal(lines[0:12:2], ["left: 1"] * 6)
    equal(lines[1:12:2], [f"generation {number}" for number in range(3, 15, 2)])
    contains(lines[12], "error: flip wants offset=0 to 15728639")
    contains(lines[13], "error: card2 is not a ring card")


def test_the_process_of_a_ring_card_goes_with_its_guest():
    for number in (signal.SIGKILL, signal.SIGTERM):
        with subprocess.Popen(words("echo started; sleep 1000", "--card", "ring"),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
            equal(process.stdout.readline(), b"started\n")
            rings = rings_of(process.pid)
            equal(len(rings), 1)
            process.send_signal(number)
            process.wait(timeout=PATIENCE)
        wait_until(lambda: gone(rings[0]), "the card's process ends")


def test_a_ring_card_that_dies():
    script = FIND + """
        guestctl fault card0 die
        guestctl fault card0 stats 2>&1 || true
        rings | wc -l
    """
    result = run(script, "--card", "ring")
    lines = result.stdout.decode().splitlines()
    contains(lines[0], "error: the card's process has ended")
    ended(result, 0)
    equal(lines[1], "1")


def test_a_ring_card_whose_process_is_stopped():
    script = FIND + """
        card=$(rings)
        $PACCEL_TOP/tests/runner/ring_program ${card##*/}
        guestctl fault card0 stop
        guestctl fault card0 stats 2>&1 || true
        $PACCEL_TOP/tests/runner/ring_program ${card##*/} submit
        # Of engine 0: what was submitted and what has ended.
        python3 -c "$PEEK" $(rings) 1000 1084
        guestctl fault card0 cont
        # The descriptor that it had no answer to.
        until guestctl fault card0 stats | grep '^descriptors=3 '; do sleep 0.1; done
        $PACCEL_TOP/tests/runner/ring_program ${card##*/}
        guestctl fault card0 stop
        guestctl device_del card0
        guestctl device_add card0 2>&1 || true
        guestctl fault card0 cont
        guestctl device_add card0
        guestctl fault card0 stop
        guestctl fault card0 kill
        guestctl fault card0 kill 2>&1 || true
    """
    result = run("PEEK=$(cat <<'END'\n" + PEEK + "END\n)\n" + script, "--card", "ring,mem=16M")
    lines = result.stdout.decode().splitlines()
    said_nothing(result.stderr)
    equal(lines[0], "1 1 True True low")
    contains(lines[1], "error: the card's process is stopped")
    equal(lines[2], "2 1")
    contains(lines[3], "descriptors=3 ")
    equal(lines[4], "1 1 True True low")
    contains(lines[5], "error: the card's process is stopped")
    contains(lines[6], "error: the card's process has ended")
    ended(result, 0)
    equal(len(lines), 7)


def test_a_ring_card_whose_process_is_killed_and_comes_back():
    script = FIND + """
        for how in kill die; do
            for card in $(rings); do
                $PACCEL_TOP/tests/runner/ring_program ${card##*/}
            done
            guestctl fault card0 $how
            for card in card0 card1; do
                guestctl device_del $card
                guestctl device_add $card
            done
            until [ "$(rings | wc -l)" = 2 ]; do sleep 0.1; done
            guestctl fault card1 stats | sed 's/.*generation=/generation /'
        done
    """
    result = run(script, "--card", "ring,mem=16M,cards=2")
    said_nothing(result.stderr)
    good = "1 1 True True low"
    equal(result.stdout.decode().splitlines(), [good, good, "generation 1"] * 2)
    ended(result, 0)


class Guest:
    """One that copies until the byte 0 of its card's memory is 1."""

    def __init__(self):
        script = FIND + """
            PEEK=$1
            card=$(rings)
            echo ready
            copies=0
            until [ "$(python3 -c "$PEEK" $card 100000)" = 1 ]; do
                [ "$($PACCEL_TOP/tests/runner/ring_program ${card##*/})" = "1 1 True True low" ]
                copies=$((copies + 1))
            done
            guestctl fault card0 stats | sed "s/ .*/ of $copies copies/"
        """
        self.process = subprocess.Popen(
            words(script, "--card", "ring,mem=16M") + ["sh", PEEK], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def find(self):
        """When it has started, the name of its card's control socket."""
        equal(self.process.stdout.readline(), b"ready\n")
        self.control = control_of(self.process.pid)

    def descriptors(self):
        return int(order(self.control, "stats").split("=")[1].split()[0])

    def wait_for_copies(self):
        now = self.descriptors()
        wait_until(lambda: self.descriptors() >= now + 4, "a guest goes on to copy")

    def finish(self):
        equal(order(self.control, "flip offset=0"), "ok\n")
        out, errors = self.process.communicate(timeout=PATIENCE)
        number = int(out.split()[2])
        equal(out, b"descriptors=%d of %d copies\n" % (2 * number, number))
        said_nothing(errors)
        equal(self.process.returncode, 0)

    def end(self):
        self.process.kill()
        self.process.communicate()


def test_two_guests_with_ring_cards_on_one_host():
    guests = [Guest(), Guest()]
    try:
        for guest in guests:
            guest.find()
        # Both at the same time; a command to one device has no effect on the other.
        for guest in guests:
            guest.wait_for_copies()
        guests[0].finish()
        guests[1].wait_for_copies()
        guests[1].finish()
    finally:
        for guest in guests:
            guest.end()


def test_bad_options_of_ring_cards():
    for option, why in (
            ("mem=48M", "--mem 48M: a power of two from 16M to 4G"),
            ("mem=8G", "--mem 8G: a power of two from 16M to 4G"),
            ("engines=0", "engines=0: a number from 1 to 8"),
            ("engines=9", "engines=9: a number from 1 to 8"),
            ("cards=0", "cards=0: a number from 1 to 8"),
            ("cards=9", "cards=9: a number from 1 to 8"),
            ("rate=1", "--rate 1: bytes per second from 1M to 1024G, or 0 for no limit"),
            ("latency=-1", "--latency -1: a number from 0 to 60000000000"),
            ("seed=x", "--seed x: a number from 0 to 18446744073709551615"),
            ("storm=4294967296", "--storm 4294967296: a number from 0 to 4294967295"),
            ("size=1", "there is no 'size', only mem, engines, cards")):
        result = run("true", "--card", f"ring,{option}", cwd=TOP)
        failed(result, BAD_OPTION, why)
        equal(result.stderr.count(b"\n"), 1)
    for options, why in (
            (["--card", "ring,cards=8", "--card", "edu"], "at most 8 cards"),
            (["--card", "ring", "--iommu"], "it knows no IOMMU")):
        failed(run("true", *options, cwd=TOP), FAILED, why)
    result = subprocess.run(words("true", "--card", "ring"), capture_output=True, check=False,
                            env={**os.environ, "BUILD": "/nosuch"})
    failed(result, FAILED, "build it (make ringdev)")
