#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mpi4py on memory of the module accel, between all ranks: see run. Rank N uses device N modulo their number.

No check copies to the host what it sends: copies are for filling and comparing.
"""

import os
import sys
import traceback

import accel
import numpy
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, RANKS = WORLD.rank, WORLD.size
NEXT, BEFORE = (RANK + 1) % RANKS, (RANK - 1) % RANKS
DEVICE = accel.open(RANK % accel.count())
CHECKS = []
# Of one rank's buffers, of which a check has up to three, each with as many bytes for every rank.
MOST = DEVICE.info().memory_size * accel.count() // RANKS // 4


def check(function):
    CHECKS.append(function)
    return function


def values(seed, count, kind=numpy.float32):
    """Whole numbers, so sums are exact."""
    generator = numpy.random.default_rng(seed)
    return generator.integers(0, 100, count).astype(kind)


def memory_of(array):
    memory = DEVICE.allocate(array.nbytes)
    memory.copy_from(array)
    return memory


def empty(array):
    memory = DEVICE.allocate(array.nbytes)
    memory.fill(0xa5)
    return memory


def equal(memory, array):
    got = numpy.frombuffer(memory.tobytes(), array.dtype)
    assert got.size == array.size and (got == array).all(), \
        f"{(got != array).sum()} of {array.size} values differ, the first is {numpy.nonzero(got != array)[0][:1]}"


def number(count, size=4):
    """As many elements as there is room for."""
    return max(1, min(count, MOST // size // RANKS // 2))


@check
def kinds():
    """mpi4py takes the address of device memory"""
    memory = DEVICE.allocate(8)
    assert memory.kind == "device"
    if "NO_ACCESS" in os.environ:
        assert memory.__dlpack_device__() == (12, DEVICE.index), memory.__dlpack_device__()
        try:
            memoryview(memory)
        except BufferError:
            pass
        else:
            raise AssertionError("a memoryview")
    assert MPI.memory.frombuffer(memory).address == memory.address
    memory.free()


@check
def send_and_receive():
    """Send and Recv, of sizes below and above the limits of the transports"""
    for count in (1, 100, 3000, 100000):
        count = number(count)
        there, back = memory_of(values(RANK * 7 + count, count)), empty(values(0, count))
        if RANK == 0:
            WORLD.Send([there, MPI.FLOAT], NEXT)
        WORLD.Recv([back, MPI.FLOAT], BEFORE)
        if RANK:
            WORLD.Send([there, MPI.FLOAT], NEXT)
        equal(back, values(BEFORE * 7 + count, count))
        for memory in (there, back):
            memory.free()


@check
def slices_and_bytes():
    """slices of memory, as bytes and without a type"""
    count = number(1000, 1)
    data = values(RANK, count, numpy.uint8)
    there, back = memory_of(data), empty(data)
    half = count // 2
    WORLD.Sendrecv(there[:half], NEXT, 0, back[count - half:], BEFORE, 0)
    wanted = numpy.full(count, 0xa5, numpy.uint8)
    wanted[count - half:] = values(BEFORE, count, numpy.uint8)[:half]
    equal(back, wanted)
    there.free()
    back.free()


@check
def non_blocking():
    """Isend and Irecv, several at once"""
    count = number(5000) // 4 or 1
    outs = [memory_of(values(RANK * 10 + tag, count)) for tag in range(4)]
    ins = [empty(values(0, count)) for _ in range(4)]
    requests = [WORLD.Irecv([ins[tag], MPI.FLOAT], BEFORE, tag) for tag in range(4)]
    requests += [WORLD.Isend([outs[tag], MPI.FLOAT], NEXT, tag) for tag in (2, 0, 3, 1)]
    MPI.Request.Waitall(requests)
    for tag, memory in enumerate(ins):
        equal(memory, values(BEFORE * 10 + tag, count))
    for memory in outs + ins:
        memory.free()


@check
def host_to_device():
    """a NumPy array is sent, and device memory receives it; and back"""
    count = number(2000)
    back = empty(values(0, count))
    WORLD.Sendrecv(values(RANK, count), NEXT, 0, [back, MPI.FLOAT], BEFORE, 0)
    equal(back, values(BEFORE, count))
    array = numpy.zeros(count, numpy.float32)
    WORLD.Sendrecv([back, MPI.FLOAT], BEFORE, 0, array, NEXT, 0)
    assert (array == values(RANK, count)).all()
    back.free()


@check
def collectives():
    """Bcast, Gather, Allgather, Alltoall and Scatter"""
    count = number(3000)
    mine, blocks = memory_of(values(RANK, count)), empty(values(0, count * RANKS))
    everything = numpy.concatenate([values(rank, count) for rank in range(RANKS)])
    WORLD.Gather([mine, MPI.FLOAT], [blocks, MPI.FLOAT] if RANK == 0 else None, 0)
    if RANK == 0:
        equal(blocks, everything)
    WORLD.Allgather([mine, MPI.FLOAT], [blocks, MPI.FLOAT])
    equal(blocks, everything)
    WORLD.Scatter([blocks, MPI.FLOAT] if RANK == RANKS - 1 else None, [mine, MPI.FLOAT], RANKS - 1)
    equal(mine, values(RANK, count))
    WORLD.Bcast([mine, MPI.FLOAT], RANKS - 1)
    equal(mine, values(RANKS - 1, count))
    blocks.copy_from(numpy.concatenate([values(RANK * RANKS + to, count) for to in range(RANKS)]))
    received = empty(values(0, count * RANKS))
    WORLD.Alltoall([blocks, MPI.FLOAT], [received, MPI.FLOAT])
    equal(received, numpy.concatenate([values(rank * RANKS + RANK, count) for rank in range(RANKS)]))
    for memory in (mine, blocks, received):
        memory.free()


@check
def reductions():
    """Allreduce, Reduce, Scan and Iallreduce, of float32, float64 and int32"""
    for kind, datatype in ((numpy.float32, MPI.FLOAT), (numpy.float64, MPI.DOUBLE), (numpy.int32, MPI.INT)):
        count = number(20000, 8)
        of_ranks = [values(rank, count, kind) for rank in range(RANKS)]
        mine, result = memory_of(of_ranks[RANK]), empty(of_ranks[RANK])
        WORLD.Allreduce([mine, datatype], [result, datatype], MPI.SUM)
        equal(result, sum(of_ranks))
        WORLD.Iallreduce([mine, datatype], [result, datatype], MPI.MAX).Wait()
        equal(result, numpy.maximum.reduce(of_ranks))
        WORLD.Scan([mine, datatype], [result, datatype])
        equal(result, sum(of_ranks[:RANK + 1]))
        WORLD.Reduce([mine, datatype], [result, datatype] if RANK == 0 else None, MPI.MIN, 0)
        if RANK == 0:
            equal(result, numpy.minimum.reduce(of_ranks))
        mine.free()
        result.free()


@check
def strides():
    """a column of a matrix, by a vector type"""
    rows = number(300) // 4 or 1
    matrix = values(RANK, rows * 4)
    column = MPI.FLOAT.Create_vector(rows, 1, 4).Commit()
    there, back = memory_of(matrix), empty(values(0, rows))
    WORLD.Sendrecv([there, 1, column], NEXT, 0, [back, MPI.FLOAT], BEFORE, 0)
    equal(back, values(BEFORE, rows * 4)[::4])
    column.Free()
    there.free()
    back.free()


@check
def persistent():
    """persistent requests"""
    count = number(100)
    there, back = empty(values(0, count)), empty(values(0, count))
    requests = [WORLD.Send_init([there, MPI.FLOAT], NEXT), WORLD.Recv_init([back, MPI.FLOAT], BEFORE)]
    for step in range(3):
        there.copy_from(values(RANK * 5 + step, count))
        MPI.Prequest.Startall(requests)
        MPI.Request.Waitall(requests)
        equal(back, values(BEFORE * 5 + step, count))
    for request in requests:
        request.Free()
    there.free()
    back.free()


@check
def given_back():
    """no device memory is left"""
    stats = DEVICE.stats()
    assert (stats.mine, stats.mine_allocs) == (0, 0), stats


def main():
    failures = 0
    for step, function in enumerate(CHECKS, 1):
        problem = None
        try:
            function()
        except Exception:  # pylint: disable=broad-exception-caught
            problem = traceback.format_exc()
            print(f"# rank {RANK}: " + problem.strip().replace("\n", "\n# "), flush=True)
        # Ranks that wait for this one would wait for ever.
        if problem and RANKS > 1 and "Error" in problem and "AssertionError" not in problem:
            WORLD.Abort(1)
        bad = WORLD.allreduce(bool(problem), MPI.LOR)
        failures += bad
        if RANK == 0:
            print(f"{'not ' if bad else ''}ok {step} - {function.__doc__}", flush=True)
    if RANK == 0:
        print(f"1..{len(CHECKS)}", flush=True)
    DEVICE.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
