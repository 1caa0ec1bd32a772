#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The network between guests, in each of them: qemu/run --module none --guests 3 -- tests/guest/network.py

Prints TAP in the first guest; in the others a failure is the exit status. Every byte that arrives is compared."""

import errno
import os
import random
import socket
import subprocess
import sys
import threading
import time

PORT = 7000
SIZE = 4 << 20
# Against what hangs, in s.
PATIENCE = 300
# TCP ends a connection whose data is not acknowledged, in ms.
GIVES_UP = 3000
RANK = int(os.environ["PACCEL_RANK"])
HOSTS = dict(pair.split("=") for pair in os.environ["PACCEL_HOSTS"].split())
NAMES = list(HOSTS)
# What TCP reports where packets get lost, and where the kernel knows that no interface leads there.
LOST = (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN)


def message(sender, receiver, number=0):
    return random.Random(f"{sender} {receiver} {number}").randbytes(SIZE)


def connect(rank):
    """By name. The other guest may still boot."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            peer = socket.create_connection((NAMES[rank], PORT), timeout=PATIENCE)
            peer.sendall(bytes([RANK]))
            return peer
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def receive(peer, size):
    data = bytearray()
    while len(data) < size:
        part = peer.recv(min(1 << 20, size - len(data)))
        assert part, f"the connection ends after {len(data)} of {size} bytes"
        data += part
    return bytes(data)


class Peers:
    """A connection with each other guest."""

    def __init__(self):
        self.listener = socket.create_server(("", PORT))
        self.of = {}
        for rank in range(RANK):
            self.of[rank] = connect(rank)
        while len(self.of) < len(HOSTS) - 1:
            peer, address = self.listener.accept()
            peer.settimeout(PATIENCE)
            rank = receive(peer, 1)[0]
            assert address[0] == HOSTS[NAMES[rank]], f"{NAMES[rank]} has the address {address[0]}"
            self.of[rank] = peer

    def meet(self):
        """Returns when all have called it."""
        for rank in sorted(self.of):
            self.of[rank].sendall(b"!")
        for rank in sorted(self.of):
            assert receive(self.of[rank], 1) == b"!"


def hosts(_):
    assert socket.gethostname() == NAMES[RANK], socket.gethostname()
    assert socket.gethostbyname(NAMES[-1]) == HOSTS[NAMES[-1]]
    with open("/sys/class/net/eth0/mtu", encoding="ascii") as file:
        assert file.read() == "9000\n"


def transfer(peers):
    """From each to each at once."""
    failed = []

    def send(rank):
        peers.of[rank].sendall(message(RANK, rank))

    def take(rank):
        if receive(peers.of[rank], SIZE) != message(rank, RANK):
            failed.append(rank)

    start = time.monotonic()
    threads = [threading.Thread(target=function, args=(rank,)) for function in (send, take) for rank in peers.of]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, f"other bytes from {failed}"
    if RANK == 0:
        speed = len(peers.of) * SIZE / (time.monotonic() - start) / 1e6
        print(f"# {SIZE >> 20} MiB to and from each of {len(peers.of)} guests, each way {speed:.1f} MB/s")


def error_of(peer):
    """What a program gets that goes on to send."""
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, GIVES_UP)
    peer.settimeout(PATIENCE)
    try:
        while True:
            peer.sendall(bytes(1 << 20))
    except TimeoutError as error:
        assert error.errno == errno.ETIMEDOUT, "no error"
        return errno.ETIMEDOUT
    except OSError as error:
        return error.errno


def carrier():
    with open("/sys/class/net/eth0/carrier", encoding="ascii") as file:
        return int(file.read())


def link_down(peers):
    """The first guest loses its link; the second one notices by its time limit alone. It waits for the end of
    that at a connection that is made afterwards."""
    if RANK > 1:
        return
    other = peers.of[1 - RANK]
    if RANK == 0:
        subprocess.run(["guestctl", "link", "down"], check=True)
        assert not carrier()
    start = time.monotonic()
    code = error_of(other)
    seconds = time.monotonic() - start
    # The first guest may have its link again, and have ended this connection.
    assert code in LOST or RANK and code == errno.ECONNRESET, errno.errorcode.get(code, code)
    assert seconds < PATIENCE / 2, f"after {seconds} s"
    if RANK == 0:
        print(f"# {errno.errorcode[code]} after {seconds:.1f} s")
        subprocess.run(["guestctl", "link", "up"], check=True)
        assert carrier()
    other.close()
    if RANK == 0:
        peers.of[1], _ = peers.listener.accept()
        assert receive(peers.of[1], 1) == bytes([1])
        assert receive(peers.of[1], SIZE) == message(1, 0, 1)
    else:
        peers.of[0] = connect(0)
        peers.of[0].sendall(message(1, 0, 1))


TESTS = (hosts, transfer, link_down)


def main():
    if RANK == 0:
        print(f"1..{len(TESTS)}")
    peers = Peers()
    failed = False
    for number, test in enumerate(TESTS, start=1):
        try:
            test(peers)
            ok = True
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            ok, failed = False, True
            print(f"# {test.__name__}: {type(error).__name__}: {error}")
        if RANK == 0:
            print(f"{'ok' if ok else 'not ok'} {number} {test.__name__}", flush=True)
        if failed:
            break
        peers.meet()
    return failed


if __name__ == "__main__":
    sys.exit(main())
