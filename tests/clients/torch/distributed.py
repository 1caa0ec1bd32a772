#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torch.distributed with gloo: tensors of two devices are copied to the host, exchanged between processes
and copied back. Run by tests/clients/torch/guest on two devices.

distributed.py [WORD...]    only checks whose names contain one of the words
"""

import ctypes
import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
from multiprocessing.reduction import ForkingPickler

# pylint: disable=no-member
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

from ranks import DEVICES, Rank, in_ranks, numbers, run_ranks, unused
from suite import Counted, Device, Suite, equal, on_card, raises, same, wait_until

SUITE = Suite()
check = SUITE.check

# Bytes that are not multiples of anything, and more than one fragment of gloo.
SIZES = (1, 1023, 300001)
REDUCTIONS = {
    dist.ReduceOp.SUM: torch.Tensor.add,
    dist.ReduceOp.PRODUCT: torch.Tensor.mul,
    dist.ReduceOp.MIN: torch.minimum,
    dist.ReduceOp.MAX: torch.maximum,
}
REDUCED = (torch.uint8, torch.int8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
           torch.float64)
COPIED_ONLY = "No backend type associated with device type npu"
MESSAGES = 5


def there(rank, tensor):
    return on_card(tensor.to(rank.device), rank.index)


def of_all(rank, shape, kind, *words):
    """What each rank contributes to a message."""
    return [numbers(shape, kind, number, *words) for number in range(rank.size)]


def reduced(function, tensors):
    result = tensors[0]
    for tensor in tensors[1:]:
        result = function(result, tensor)
    return result


# --- collectives -----------------------------------------------------------------------------------

@check
@in_ranks()
def each_byte(rank):
    """what is exchanged comes from the own device, and the result goes there: the driver counts each byte"""
    with rank.group():
        parts = of_all(rank, (100003,), torch.float32, 1)
        device = there(rank, parts[rank.number])
        result = there(rank, torch.zeros(100003))
        own = Device(rank.index)
        with Counted(own) as grown:
            host = device.cpu()
            dist.all_reduce(host)
            result.copy_(host)
        equal((grown["bytes_d2h"], grown["bytes_h2d"]), (400012, 400012))
        same(result, parts[0] + parts[1])
        same(device, parts[rank.number])
        own.close()


@check
@in_ranks()
def reductions(rank):
    """all_reduce and reduce: sum, product, minimum and maximum of 8 types"""
    with rank.group():
        for message, kind in enumerate(REDUCED):
            for operation, function in REDUCTIONS.items():
                parts = of_all(rank, (1023,), kind, message)
                device = there(rank, parts[rank.number])
                host = device.cpu()
                dist.all_reduce(host, operation)
                same(device.copy_(host), reduced(function, parts))
                device = there(rank, parts[rank.number])
                host = device.cpu()
                dist.reduce(host, rank.size - 1, operation)
                if rank.number == rank.size - 1:
                    same(device.copy_(host), reduced(function, parts))


@check
@in_ranks()
def one_to_all(rank):
    """broadcast and scatter, of several sizes and from each rank"""
    with rank.group():
        for size in SIZES:
            for source in range(rank.size):
                parts = of_all(rank, (size,), torch.uint8, size, source)
                device = there(rank, parts[rank.number])
                host = device.cpu()
                dist.broadcast(host, source)
                same(device.copy_(host), parts[source])
                pieces = of_all(rank, (size,), torch.float32, size, source, 1)
                given = [there(rank, piece).cpu() for piece in pieces] if rank.number == source else None
                host = torch.zeros(size)
                dist.scatter(host, given, source)
                same(there(rank, host), pieces[rank.number])


@check
@in_ranks()
def all_to_one(rank):
    """all_gather, all_gather_into_tensor and gather, of several sizes"""
    with rank.group():
        for size in SIZES:
            parts = of_all(rank, (size,), torch.int32, size)
            host = there(rank, parts[rank.number]).cpu()
            results = [torch.zeros(size, dtype=torch.int32) for _ in parts]
            dist.all_gather(results, host)
            for got, wanted in zip(results, parts):
                same(there(rank, got), wanted)
            whole = torch.zeros(size * rank.size, dtype=torch.int32)
            dist.all_gather_into_tensor(whole, host)
            same(there(rank, whole), torch.cat(parts))
            results = [torch.zeros(size, dtype=torch.int32) for _ in parts] if not rank.number else None
            dist.gather(host, results)
            for got, wanted in zip(results or [], parts):
                same(there(rank, got), wanted)


@check
@in_ranks()
def pieces_of_all(rank):
    """reduce_scatter_tensor and all_to_all_single"""
    with rank.group():
        for size in SIZES:
            parts = of_all(rank, (size * rank.size,), torch.float32, size)
            host = there(rank, parts[rank.number]).cpu()
            mine = slice(size * rank.number, size * (rank.number + 1))
            result = torch.zeros(size)
            dist.reduce_scatter_tensor(result, host)
            same(there(rank, result), (parts[0] + parts[1])[mine])
            result = torch.zeros_like(host)
            dist.all_to_all_single(result, host)
            same(there(rank, result), torch.cat([part[mine] for part in parts]))


@check
@in_ranks()
def point_to_point(rank):
    """send, recv, isend and irecv: several messages under way, each into its own part of a tensor"""
    with rank.group():
        for size in SIZES:
            mine = numbers((MESSAGES, size), torch.uint8, rank.number, size)
            theirs = numbers((MESSAGES, size), torch.uint8, rank.peer, size)
            device, result = there(rank, mine), there(rank, torch.zeros_like(theirs))
            host, arrived = device.cpu(), torch.zeros_like(theirs)
            # Received in the opposite order: the tag says which one.
            work = [dist.isend(host[number], rank.peer, tag=number) for number in range(MESSAGES)]
            work += [dist.irecv(arrived[number], rank.peer, tag=number)
                     for number in reversed(range(MESSAGES))]
            for one in work:
                one.wait()
            for number in range(MESSAGES):
                result[number].copy_(arrived[number])
            same(result, theirs)
            # The device's own slice as the source of one message, and the target of another.
            for sender in range(rank.size):
                if rank.number == sender:
                    dist.send(device[2].cpu(), rank.peer)
                else:
                    host = torch.zeros(size, dtype=torch.uint8)
                    dist.recv(host, sender)
                    result[4].copy_(host)
            same(result[4], theirs[2])
            same(result[:4], theirs[:4])


@check
@in_ranks(4)
def groups(rank):
    """4 ranks share 2 devices, two at a time, and exchange in groups of their own and around a ring"""
    with rank.group():
        pairs = [[0, 2], [1, 3]]
        members = pairs[rank.number % 2]
        both = [dist.new_group(pair) for pair in pairs]
        parts = of_all(rank, (5001,), torch.int64, 1)
        device = there(rank, parts[rank.number])
        host = device.cpu()
        dist.all_reduce(host, group=both[rank.number % 2])
        same(device.copy_(host), parts[members[0]] + parts[members[1]])
        # After all steps each one has had that of each.
        device = there(rank, parts[rank.number])
        for step in range(1, rank.size + 1):
            host, arrived = device.cpu(), torch.zeros_like(parts[0])
            work = dist.isend(host, rank.peer)
            dist.recv(arrived, (rank.number - 1) % rank.size)
            work.wait()
            same(device.copy_(arrived), parts[(rank.number - step) % rank.size])


@check
@in_ranks()
def staged(rank):
    """pinned memory between device and gloo: copies are queued, and waited for before the exchange"""
    with rank.group():
        size = 1 << 20
        event = torch.npu.Event()
        device = there(rank, torch.zeros(size, dtype=torch.uint8))
        host = torch.zeros(size, dtype=torch.uint8).pin_memory()
        for message in range(MESSAGES):
            parts = [part.pin_memory() for part in of_all(rank, (size,), torch.uint8, message)]
            torch.npu.synchronize()
            # Behind others, so that who does not wait exchanges what was there before.
            for part in (parts[rank.peer], parts[rank.peer], parts[rank.number]):
                device.copy_(part, non_blocking=True)
            host.copy_(device, non_blocking=True)
            event.record()
            event.synchronize()
            dist.all_reduce(host)
            device.copy_(host, non_blocking=True)
            # The same stream: the copy back comes after it.
            same(device, parts[0] + parts[1])
            torch.npu.synchronize()


@check
@in_ranks()
def types(rank):
    """bool and complex as far as gloo has them; int16 it has not: view it as bytes"""
    with rank.group():
        for kind in (torch.complex64, torch.complex128):
            parts = of_all(rank, (101,), kind, 1)
            host = there(rank, parts[rank.number]).cpu()
            dist.all_reduce(host)
            same(there(rank, host), parts[0] + parts[1])
        parts = [part > 3 for part in of_all(rank, (101,), torch.uint8, 2)]
        host = there(rank, parts[rank.number]).cpu()
        dist.all_reduce(host, dist.ReduceOp.MAX)
        same(there(rank, host), parts[0] | parts[1])
        parts = of_all(rank, (101,), torch.int16, 3)
        host = there(rank, parts[rank.number]).cpu()
        equal(raises(RuntimeError, lambda: dist.broadcast(host, 0)), "Invalid scalar type")
        dist.broadcast(host.view(torch.uint8), 0)
        same(there(rank, host), parts[0])


@check
@in_ranks()
def objects(rank):
    """objects are exchanged; a device tensor in one arrives on the current device of each rank"""
    with rank.group():
        values = [None] * rank.size
        dist.all_gather_object(values, {"rank": rank.number})
        equal(values, [{"rank": number} for number in range(rank.size)])
        wanted = numbers((1000,), torch.float32, 1)
        values = [there(rank, wanted) if rank.number == 1 else None]
        dist.broadcast_object_list(values, 1)
        same(on_card(values[0], rank.index), wanted)


# --- training ----------------------------------------------------------------------------------------

STEPS, BATCH, RATE = 20, 32, 0.1


def network(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(20, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3)).double()


def batch(step):
    generator = torch.Generator().manual_seed(step)
    data = torch.randn(BATCH, 20, generator=generator, dtype=torch.float64)
    return data, torch.randint(0, 3, (BATCH,), generator=generator)


def loss_of(module, data, target):
    return torch.nn.functional.cross_entropy(module(data), target)


def alone():
    """(losses, weights) of one process with all of each batch."""
    module, losses = network(0), []
    optimizer = torch.optim.SGD(module.parameters(), RATE, 0.9)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(module, *batch(step))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [value.detach() for value in module.parameters()]


def train(rank, module, model, average, copies):
    """The same in all ranks, each with its share of the batch. Weights live on the device between steps;
    `copies` is how often each of their bytes is copied in a step, in each direction."""
    losses, own = [], Device(rank.index)
    weights = [there(rank, value.detach()) for value in module.parameters()]
    optimizer = torch.optim.SGD(module.parameters(), RATE, 0.9)
    with Counted(own) as grown:
        for step in range(STEPS):
            with torch.no_grad():
                for value, held in zip(module.parameters(), weights):
                    value.copy_(held)
            data, target = batch(step)
            optimizer.zero_grad()
            loss = loss_of(model, data[rank.number::rank.size], target[rank.number::rank.size])
            loss.backward()
            average()
            optimizer.step()
            for value, held in zip(module.parameters(), weights):
                held.copy_(value.detach())
                value.detach().zero_()
            whole = loss.detach().clone()
            dist.all_reduce(whole)
            losses.append(whole.item() / rank.size)
    size = sum(value.nbytes for value in weights)
    equal((grown["bytes_h2d"], grown["bytes_d2h"]), (copies * STEPS * size,) * 2)
    own.close()
    return losses, [value.cpu() for value in weights]


def compare(got, wanted):
    for name, ours, theirs in zip(("losses", "weights"), got, wanted):
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            one, other = torch.as_tensor(one), torch.as_tensor(other)
            assert torch.allclose(one, other, rtol=1e-9, atol=1e-12), (name, number, one, other)
    assert got[0][-1] < 0.99 * got[0][0], got[0]


def same_everywhere(rank, weights):
    for value in weights:
        others = [torch.zeros_like(value) for _ in range(rank.size)]
        dist.all_gather(others, value)
        same(others[rank.peer], value)


@check
@in_ranks()
def data_parallel(rank):
    """two ranks train as one: gradients exchanged by all_reduce, weights on the devices"""
    with rank.group():
        # Each begins with others, and gets those of rank 0.
        module = network(rank.number)
        for value in module.parameters():
            device = there(rank, value.detach())
            host = device.cpu()
            dist.broadcast(host, 0)
            device.copy_(host)
            value.detach().copy_(device)

        def average():
            for value in module.parameters():
                device = there(rank, value.grad)
                host = device.cpu()
                dist.all_reduce(host)
                value.grad.copy_(host / rank.size)

        got = train(rank, module, module, average, 2)
        same_everywhere(rank, got[1])
        compare(got, alone())


@check
@in_ranks()
def distributed_data_parallel(rank):
    """DistributedDataParallel of a module on the host trains as one process; on the device it raises"""
    with rank.group():
        module = network(rank.number)
        got = train(rank, module, DistributedDataParallel(module), lambda: None, 1)
        same_everywhere(rank, got[1])
        compare(got, alone())
        module.to(rank.device)
        for words in ({}, {"device_ids": [rank.index]}):
            text = raises(RuntimeError, lambda: DistributedDataParallel(module, **words))
            equal(text, COPIED_ONLY)


# --- how ranks are started ---------------------------------------------------------------------------

def started(number, port):
    """In a process of torch.multiprocessing, for torch.distributed.run also of its own."""
    rank = Rank(number, DEVICES, port)
    with rank.group():
        parts = of_all(rank, (1000,), torch.float32, 1)
        device = there(rank, parts[number])
        host = device.cpu()
        dist.all_reduce(host)
        same(device.copy_(host), parts[0] + parts[1])


@check
@in_ranks(1)
def forked(rank):
    """fork, where the parent has used a device, and a device tensor in a queue: both raise"""
    tensor = there(rank, torch.ones(3))
    port = int(os.environ["MASTER_PORT"])
    text = raises(mp.ProcessRaisedException,
                  lambda: mp.start_processes(started, (port,), nprocs=DEVICES, start_method="fork"))
    assert "Cannot re-initialize NPU in forked subprocess" in text, text
    # As Queue.put() does, in a thread of its own.
    text = raises(RuntimeError, lambda: ForkingPickler.dumps(tensor))
    assert "aclrtIpcMemGetExportKey" in text, text


# --- what does not work ------------------------------------------------------------------------------

def calls(rank, device):
    """Each collective with tensors of the device, by its name."""
    size = device.numel() // 2
    other, halves = torch.empty_like(device), [device[:size], device[size:]]
    first = rank.number == 0
    return {
        "all_reduce": lambda: dist.all_reduce(device),
        "broadcast": lambda: dist.broadcast(device, 0),
        "reduce": lambda: dist.reduce(device, 0),
        "all_gather": lambda: dist.all_gather([torch.empty(2 * size), torch.empty(2 * size)], device),
        "all_gather_into_tensor": lambda: dist.all_gather_into_tensor(other, device[:size]),
        "gather": lambda: dist.gather(device[:size], halves if first else None),
        "scatter": lambda: dist.scatter(device[:size], halves if first else None),
        "reduce_scatter": lambda: dist.reduce_scatter(other[:size], halves),
        "reduce_scatter_tensor": lambda: dist.reduce_scatter_tensor(other[:size], device),
        "all_to_all": lambda: dist.all_to_all([other[:size], other[size:]], halves),
        "all_to_all_single": lambda: dist.all_to_all_single(other, device),
        "send": lambda: dist.send(device, rank.peer),
        "recv": lambda: dist.recv(device, rank.peer),
        "isend": lambda: dist.isend(device, rank.peer),
        "irecv": lambda: dist.irecv(device, rank.peer),
    }


@check
@in_ranks()
def device_tensors(rank):
    """each of 15 calls with tensors on the device raises, nothing is written, and the group continues"""
    with rank.group():
        mine = numbers((1000,), torch.float32, rank.number)
        device = there(rank, mine)
        functions = calls(rank, device)
        equal(len(functions), 15)
        for name, function in functions.items():
            text = raises(RuntimeError, function)
            assert text == COPIED_ONLY, (name, text)
            same(device, mine)
        host = torch.ones(3)
        dist.all_reduce(host)
        same(host, torch.full((3,), 2.0))


@check
@in_ranks()
def unsupported(rank):
    """what gloo has not for tensors of the host: AVG, reduce_scatter and all_to_all raise"""
    with rank.group():
        host, halves = torch.ones(4), [torch.ones(2), torch.ones(2)]
        for function, wanted in (
                (lambda: dist.all_reduce(host, dist.ReduceOp.AVG), "Cannot use ReduceOp.AVG with Gloo"),
                (lambda: dist.reduce_scatter(torch.ones(2), halves),
                 "ProcessGroupGloo does not support reduce_scatter"),
                (lambda: dist.all_to_all(halves, halves), "Backend gloo does not support alltoall")):
            equal(raises(RuntimeError, function), wanted)
        dist.all_reduce(host)
        same(host, torch.full((4,), 2.0))


def is_mapped(tensor):
    """The processor can access the memory, as on some devices: a system call reads it."""
    reader, writer = os.pipe()
    written = ctypes.CDLL(None).write(writer, ctypes.c_void_p(tensor.data_ptr()), ctypes.c_size_t(1))
    os.close(reader)
    os.close(writer)
    return written == 1


@check
def gloo_for_npu():
    """with "npu:gloo", which gloo does not refuse, collectives raise, and send() reads the address or dies"""
    def both(rank):
        with rank.group("cpu:gloo,npu:gloo"):
            mine = numbers((1000,), torch.float32, rank.number)
            device = there(rank, mine)
            for name, function in calls(rank, device).items():
                if name in ("send", "recv", "isend", "irecv", "reduce_scatter", "all_to_all"):
                    continue
                text = raises(RuntimeError, function)
                assert "unsupported device type npu" in text or name == "all_gather", (name, text)
                same(device, mine)
            host, mapped = torch.empty(1000), is_mapped(device)
            if not rank.number:
                dist.send(device, 1)
            elif mapped:
                dist.recv(host, 0)
                same(host, numbers((1000,), torch.float32, 0))
            else:
                text = raises(RuntimeError, lambda: dist.recv(host, 0))
                assert "Connection closed by peer" in text, text
            return mapped

    first, second = run_ranks(both)
    print(f"# the processor can access device memory: {second.value}")
    assert not second.status, second
    if second.value:
        equal(first.status, 0)
    elif first.status != -signal.SIGABRT:
        # Which thread of gloo writes first decides.
        assert "Bad address" in first.text, first


def hccl(rank, backend):
    with rank.group(backend, seconds=200):
        mine = numbers((1000,), torch.float32, rank.number)
        device = there(rank, mine)
        if backend is None:
            raises(RuntimeError, lambda: dist.all_reduce(torch.ones(3)))
        # What the others see is that rank 0 has ended.
        try:
            dist.all_reduce(device)
        except (RuntimeError, dist.DistError) as error:
            same(device, mine)
            return str(error)
    return "no error"


@check
def other_backends():
    """with "hccl", alone or for the device, or with none, init_process_group() returns and all_reduce raises"""
    for backend in ("hccl", "cpu:gloo,npu:hccl", None):
        first, second = run_ranks(lambda rank, backend=backend: hccl(rank, backend))
        equal((first.status, second.status), (0, 0))
        assert "HcclGetRootInfo (collectives: use the backend gloo)" in first.value, first.value
        # Not by the timeout of the group.
        assert "retrieving hcclUniqueId from [0]" in second.value, second.value
        assert second.at - first.at < 60, second.at - first.at


# --- faults ------------------------------------------------------------------------------------------

def exchange_until(rank, fault):
    """(rounds, the error) of a loop of exchanges, in which the fault of rank 1 comes at the third round."""
    with rank.group(seconds=120):
        device, round_ = there(rank, torch.zeros(1 << 16, dtype=torch.int64)), 0
        while True:
            parts = of_all(rank, (1 << 16,), torch.int64, round_)
            device.copy_(parts[rank.number])
            if round_ == 3 and rank.number == 1:
                fault(rank)
            try:
                host = device.cpu()
                dist.all_reduce(host)
                device.copy_(host)
            except RuntimeError as error:
                text = str(error)
                break
            # What arrives is right, or an error.
            same(device, parts[0] + parts[1])
            round_ += 1
        if rank.number == 0:
            same(device, parts[0])
        return round_, text


def lost(fault):
    """(Ended of the other rank, of the one with the fault, seconds between their ends)"""
    first, second = run_ranks(lambda rank: exchange_until(rank, fault))
    assert first.status == 0, first
    round_, text = first.value
    equal(round_, 3)
    assert "Connection closed by peer" in text or "Connection reset by peer" in text, text
    after = first.at - second.at
    assert after < 30, f"rank 0 has got its error {after:.1f} s after rank 1 had ended"
    print(f"# rank 0 has ended {after:.2f} s after rank 1: {text}")
    return second


@check
def killed():
    """a rank is killed: the other gets an exception at once, and all device memory is free"""
    second = lost(lambda rank: os.kill(os.getpid(), signal.SIGKILL))
    equal(second.status, -signal.SIGKILL)
    all_free()


def guestctl(*words):
    subprocess.run(["guestctl", *words], check=True)


def hangs():
    """a device hangs in a copy: its rank gets an exception after the driver's time, and then the other"""
    second = lost(lambda rank: guestctl("fault", "card1", "stall"))
    assert second.status == 0, second
    equal(second.value[0], 3)
    print(f"# rank 1: {second.value[1].splitlines()[0]}")
    all_free()


def pulled():
    """a device is pulled: its rank gets an exception, and then the other"""
    second = lost(lambda rank: guestctl("device_del", "card1"))
    guestctl("device_add", "card1")
    wait_until(lambda: os.path.exists("/dev/paccel1"), lambda: "the device has not come back")
    assert second.status == 0, second
    equal(second.value[0], 3)
    print(f"# rank 1: {second.value[1].splitlines()[0]}")
    all_free()


if shutil.which("guestctl"):
    check(hangs)
    check(pulled)


# These import torch once more in each of their processes.
@check
def launched():
    """torch.distributed.run starts a process for each device"""
    got = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nnodes=1",
                          "--local-addr=127.0.0.1", f"--nproc-per-node={DEVICES}", os.path.abspath(__file__),
                          "--launched"], check=False, capture_output=True, text=True, timeout=1200)
    equal((got.returncode, sorted(line for line in got.stdout.splitlines() if line.startswith("rank"))),
          (0, [f"rank {number}: right" for number in range(DEVICES)]))


@check
def multiprocessing():
    """torch.multiprocessing starts ranks with spawn, and with fork where the parent has not used a device"""
    # In a process of its own, for the parent of the ranks must not have used the device.
    for method in ("fork", "spawn"):
        def parent(rank, method=method):
            port = int(os.environ["MASTER_PORT"])
            mp.start_processes(started, (port,), nprocs=DEVICES, start_method=method)
        ended, = run_ranks(parent, 1, 1200)
        equal((ended.status, ended.text), (0, ""))


def all_free():
    """at the end all memory of both devices is free"""
    for rank in run_ranks(unused()):
        assert rank.status == 0, rank


check(all_free)


def main():
    if sys.argv[1:] == ["--launched"]:
        number = int(os.environ["LOCAL_RANK"])
        started(number, int(os.environ["MASTER_PORT"]))
        print(f"rank {number}: right", flush=True)
        return 0
    words = sys.argv[1:]
    if not words or any("train" in word for word in words):
        # Optimizers import it when they are used, which would be in each rank.
        importlib.import_module("torch._dynamo")
    return SUITE.run(words)


if __name__ == "__main__":
    sys.exit(main())
