# SPDX-License-Identifier: MIT
"""The module accel on the devices of a guest, with NumPy."""

import ast
import asyncio
import errno
import gc
import glob
import os
import runpy
import socket
import subprocess
import sys
import textwrap

import accel
import numpy

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
TOUR = """\
ab---fghijklmnopqrstuvwxyz
xyz
HELLOfghijklmnopqrstuvwxyz
the device took some time: True
0123456789
ABCDEKLMNO
hello True
OutOfMemory 12 True
ValueError: the destination has 26 bytes and the source 5: slice one of them
"""


def equal(one, other):
    if one != other:
        raise AssertionError(f"{one!r} is not {other!r}")


def fails(number, function, *arguments):
    try:
        function(*arguments)
    except accel.Error as error:
        equal(error.errno, number)
    else:
        raise AssertionError("it has not failed")


def moved(card, before):
    after = card.stats()
    return (after.bytes_h2d - before.bytes_h2d, after.bytes_d2h - before.bytes_d2h,
            after.transfers > before.transfers)


def arrays(index):
    """arrays are copied to the device and back, by DMA"""
    with accel.open(index) as card:
        before = card.stats()
        numbers = numpy.random.default_rng(index).integers(0, 255, 500, dtype=numpy.uint8)
        memory = card.allocate(numbers.nbytes)
        memory.copy_from(numbers)
        back = numpy.zeros_like(numbers)
        memory.copy_to(back)
        equal(back.tobytes(), numbers.tobytes())
        table = numpy.arange(48, dtype=numpy.uint16).reshape(6, 8)
        memory[:48].copy_from(table[:, 1:5])
        equal(memory[:48].tobytes(), table[:, 1:5].tobytes())
        equal(moved(card, before), (548, 548, True))
        memory.fill(7)
        equal(memory[400:].tobytes(), b"\7" * 100)


def pinned(index):
    """memory that is queued stays until the copy has ended"""
    with accel.open(index) as card:
        memory = card.allocate(512)
        data = numpy.arange(128, dtype=numpy.uint32)
        wanted = data.tobytes()
        with card.stream() as stream:
            memory.copy_from(card.register(data), stream)
            del data
            gc.collect()
            # What the array's memory would be used for again.
            noise = [numpy.zeros(128, dtype=numpy.uint32) for _ in range(50)]
            event = stream.record()
            event.synchronize(60)
            del noise
        equal(memory.tobytes(), wanted)
        host = card.allocate_host(512)
        with card.stream() as stream:
            host.copy_from(memory, stream)
            host.free()
        assert host.freed


def views(index):
    """DLPack and the buffer protocol show what the device has written"""
    with accel.open(index) as card:
        memory, host = card.allocate(64), card.allocate_host(64)
        memory.copy_from(bytes(range(64)))
        packed = numpy.from_dlpack(host)
        shown = numpy.frombuffer(host, dtype=numpy.uint8)
        host.copy_from(memory)
        equal(packed.tolist(), list(range(64)))
        equal(shown.tolist(), list(range(64)))
        try:
            host.free()
        except BufferError:
            pass
        else:
            raise AssertionError("it was freed under an array")
        del packed, shown
        host.free()


def typed_views(index):
    """views with an element type copy from and to arrays of NumPy"""
    with accel.open(index) as device:
        table = numpy.arange(48, dtype="float32").reshape(6, 8)
        for memory in (device.allocate(192), device.allocate_host(192), device.allocate_unified(192)):
            view = memory.view(numpy.float32, (6, 8))
            wanted = table.copy()
            view[:] = table
            view[1:, 2:4], wanted[1:, 2:4] = view[:-1, 2:4], wanted[:-1, 2:4].copy()
            view[0, ::2], wanted[0, ::2] = table[5, 1::2].copy(), table[5, 1::2]
            view[5] = wanted[5] = 0.5
            assert (numpy.asarray(view) == wanted).all()
            equal(numpy.asarray(view[2], dtype="int32").dtype.name, "int32")
            try:
                memory.view(numpy.dtype("float32").newbyteorder())
            except ValueError:
                continue
            raise AssertionError("it took another byte order")


def everything_comes_back(index):
    """nothing is left of what was allocated"""
    with accel.open(index) as card:
        used = card.stats().used
        for _ in range(50):
            card.allocate(64)
            card.allocate_host(64)
            card.register(bytearray(64))
            card.stream()
        equal(card.stats().used, used)
        equal(card.stats().mine_allocs, 0)


def forked(index):
    """a forked process can use only devices that it has opened itself"""
    with accel.open(index) as card:
        memory = card.allocate(8)
        memory.copy_from(b"parental")
        pid = os.fork()
        if not pid:
            code = 1
            try:
                fails(errno.EPERM, memory.tobytes)
                with accel.open(index) as own:
                    mine = own.allocate(8)
                    mine.copy_from(b"childish")
                    equal(mine.tobytes(), b"childish")
                card.close()
                code = 0
            finally:
                os._exit(code)
        equal(os.waitpid(pid, 0)[1], 0)
        equal(memory.tobytes(), b"parental")


def shared(index):
    """two processes share device memory by a dma-buf"""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        code = 1
        try:
            fd = socket.recv_fds(theirs, 1, 1)[1][0]
            with accel.open(index) as own, own.import_memory(fd) as memory:
                equal(memory.tobytes()[:8], b"parental")
                memory[:8].copy_from(b"childish")
            code = 0
        finally:
            os._exit(code)
    with accel.open(index) as device:
        memory = device.allocate(64)
        memory[:8].copy_from(b"parental")
        fd = memory.export()
        socket.send_fds(ours, [b"f"], [fd])
        os.close(fd)
        equal(os.waitpid(pid, 0)[1], 0)
        equal(memory[:8].tobytes(), b"childish")


async def upload(device, stream):
    """Two streams of copies, one of which is awaited by an event."""
    memory, data = device.allocate(64), device.allocate_host(64)
    for value in range(3):
        data.fill(value)
        memory.copy_from(data, stream)
        await stream
        equal(memory.tobytes(), bytes([value]) * 64)
        memory.fill(9, stream)
        await stream.record()
        equal(memory.tobytes(), b"\x09" * 64)


def awaited(index):
    """streams and events are awaited, and callbacks run after the work"""
    with accel.open(index) as device:
        errors = []
        with device.stream() as stream:
            asyncio.run(upload(device, stream))
            stream.call(errors.append)
        equal(errors, [None])


def tour(index):
    """the tour says what it should"""
    result = subprocess.run([sys.executable, os.path.join(TOP, "examples/tour.py"), str(index)],
                            stdout=subprocess.PIPE, text=True, check=True)
    for line in TOUR.splitlines():
        if line not in result.stdout.splitlines():
            raise AssertionError(f"no line {line!r} in:\n{result.stdout}")
    equal(result.stdout.splitlines()[-1], "True True")


def printed(path):
    """What a program prints, in a forked process: in a guest an interpreter takes seconds to start."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        code = 1
        try:
            os.dup2(write, 1)
            runpy.run_path(path, run_name="__main__")
            sys.stdout.flush()
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        text = pipe.read()
    equal(os.waitpid(pid, 0)[1], 0)
    return text


def gallery(index):
    """the programs of examples/python print what they should"""
    if index:
        return  # They open the first device.
    for path in sorted(glob.glob(os.path.join(TOP, "examples/python/*.py"))):
        with open(path, encoding="utf-8") as file:
            words = ast.get_docstring(ast.parse(file.read())).split("Prints:\n")[1]
        equal(printed(path), textwrap.dedent(words).rstrip() + "\n")


def unplugged(index):
    """a device is unplugged while a program uses it"""
    with accel.open(index) as card:
        memory, host, stream = card.allocate(64), card.allocate_host(64), card.stream()
        data = bytearray(64)
        registered = card.register(data)
        view = memoryview(host)
        memory.copy_from(registered, stream)
        with open(f"/sys/bus/pci/devices/{card.info().bus_address}/remove", "w",
                  encoding="ascii") as file:
            file.write("1")
        for function, *arguments in ((memory.copy_from, host), (memory.tobytes,), (card.stats,),
                                     (card.allocate, 1), (memory.copy_from, host, stream),
                                     (stream.synchronize,)):
            fails(errno.ENODEV, function, *arguments)
        view[:4] = b"here"
        equal(bytes(view[:4]), b"here")
        view.release()
        stream.close()
    data.append(1)
    assert registered.freed


CHECKS = (arrays, pinned, views, typed_views, everything_comes_back, forked, shared, awaited, gallery, tour)
