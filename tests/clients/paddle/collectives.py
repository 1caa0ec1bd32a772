#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""paddle.distributed on the devices of a guest: every element of every message is compared, and no two
messages are equal. Run by tests/clients/paddle/guest.

collectives.py [-s] [WORD...]    only checks whose names contain one of the words; -s: the short ones
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# pylint: disable=wrong-import-position
import ranks  # noqa: E402  before paddle
import numpy as np  # noqa: E402
import paddle  # noqa: E402
import parallel  # noqa: E402
import paddle.distributed as dist  # noqa: E402
from paddle.base import core  # noqa: E402
import tap  # noqa: E402
from tap import equal, raises  # noqa: E402

# Averages do not come as far as the plugin: Paddle 3.3.1 refuses them for all custom devices.
OPS = {"sum": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX, "min": dist.ReduceOp.MIN,
       "product": dist.ReduceOp.PROD}
INTEGERS = ("int8", "uint8", "int32", "int64")
FLOATS = ("float32", "float64", "float16", "bfloat16")
CHECKS = []


def check(size, short=False):
    """A function that each of `size` ranks runs."""
    def add(function):
        CHECKS.append((size, short, function))
        return function
    return add


# --- what messages contain -------------------------------------------------------------------

class Messages:
    """Contents of messages. Each rank knows those of all ranks."""

    def __init__(self, seed):
        self.seed = seed
        self.number = 0
        self.kind = "float32"

    def next(self, shape, kind="float32"):
        self.number += 1
        self.kind = kind
        return [self._of(rank, shape, kind) for rank in range(dist.get_world_size())]

    def _of(self, rank, shape, kind):
        rng = np.random.default_rng((self.seed, self.number, rank))
        if kind == "bool":
            return rng.integers(0, 2, shape).astype("bool")
        if kind in INTEGERS:
            info = np.iinfo(kind)
            return rng.integers(info.min, info.max, shape, kind, endpoint=True)
        if kind in ("float16", "bfloat16"):
            # Multiples of 1/4 whose sums have no rounding.
            return (rng.integers(-64, 64, shape) / 4).astype("float32")
        return rng.uniform(-8, 8, shape).astype(kind)


def tensor(array, kind=None):
    made = paddle.to_tensor(array)
    made = made.astype(kind) if kind and kind != str(array.dtype) else made
    assert made.place.is_custom_place(), made.place
    return made


def values(of):
    return of.astype("float32").numpy() if of.dtype in (paddle.bfloat16, paddle.float16) else of.numpy()


def same(got, wanted, what=""):
    got, wanted = np.asarray(values(got)), np.asarray(wanted)
    equal((got.shape, got.dtype), (wanted.shape, wanted.dtype))
    wrong = np.flatnonzero(got.reshape(-1) != wanted.reshape(-1))
    assert not wrong.size, (f"{what}: {wrong.size} of {wanted.size} elements differ, the first at {wrong[0]}: "
                            f"got {got.reshape(-1)[wrong[0]]}, wanted {wanted.reshape(-1)[wrong[0]]}")


def near(got, wanted, what=""):
    """Sums of floating point, whose order is not ours."""
    np.testing.assert_allclose(values(got), wanted, rtol=2e-6 if got.dtype == paddle.float32 else 1e-12,
                               atol=4e-6 if got.dtype == paddle.float32 else 1e-11, err_msg=what)


def reduced(all_ranks, op):
    stacked = np.stack(all_ranks)
    if stacked.dtype == bool:
        return stacked.any(0) if op in ("sum", "max") else stacked.all(0)
    if op in ("max", "min"):
        return getattr(stacked, op)(0)
    with np.errstate(over="ignore"):
        return getattr(stacked, "prod" if op == "product" else "sum")(0, dtype=stacked.dtype)


def start(seed):
    dist.init_parallel_env()
    return Messages(seed), dist.get_rank(), dist.get_world_size()


# --- two ranks -------------------------------------------------------------------------------

@check(2, short=True)
def test_all_reduce():
    """all_reduce: 9 types, 4 reductions"""
    messages, me, _ = start(1)
    for kind in (*FLOATS, *INTEGERS, "bool"):
        for name, op in OPS.items():
            all_ranks = messages.next((3, 41), kind)
            if kind in ("float16", "bfloat16") and name == "product":
                # Powers of two, whose products have no rounding either.
                all_ranks = [np.exp2(np.round(one / 8)).astype("float32") for one in all_ranks]
            mine = tensor(all_ranks[me], kind)
            dist.all_reduce(mine, op)
            compare = near if kind in ("float32", "float64") and name in ("sum", "product") else same
            compare(mine, reduced(all_ranks, name), f"{kind} {name}")


@check(2, short=True)
def test_broadcast():
    """broadcast from each rank: 9 types"""
    messages, me, size = start(2)
    for kind in (*FLOATS, *INTEGERS, "bool"):
        for root in range(size):
            all_ranks = messages.next((17,), kind)
            mine = tensor(all_ranks[me], kind)
            dist.broadcast(mine, root)
            same(mine, all_ranks[root], f"{kind} from {root}")


@check(2, short=True)
def test_gather_and_scatter():
    """all_gather, reduce_scatter, scatter, gather, reduce, alltoall"""
    check_all_collectives(3)


def check_all_collectives(seed, shape=(4, 5)):
    messages, me, size = start(seed)
    check_gathers(messages, me, size, shape)
    check_scatters(messages, me, size, shape)
    check_alltoall(messages, me, size, shape)


def check_gathers(messages, me, size, shape):
    all_ranks = messages.next(shape)
    got = []
    dist.all_gather(got, tensor(all_ranks[me]))
    for rank in range(size):
        same(got[rank], all_ranks[rank], f"all_gather of {rank}")
    for root in range(size):
        all_ranks = messages.next(shape)
        mine = tensor(all_ranks[me])
        dist.reduce(mine, root, dist.ReduceOp.MAX)
        if me == root:
            same(mine, np.max(all_ranks, 0), f"reduce to {root}")
        all_ranks = messages.next(shape)
        got = []
        dist.gather(tensor(all_ranks[me]), got, root)
        for rank in range(size if me == root else 0):
            same(got[rank], all_ranks[rank], f"gather of {rank} to {root}")


def check_scatters(messages, me, size, shape):
    all_ranks = messages.next((size, *shape))
    got = paddle.zeros(shape)
    dist.reduce_scatter(got, [tensor(part) for part in all_ranks[me]])
    near(got, np.sum(all_ranks, 0)[me], "reduce_scatter")
    for root in range(size):
        all_ranks = messages.next((size, *shape))
        got = paddle.zeros(shape)
        dist.scatter(got, [tensor(part) for part in all_ranks[me]] if me == root else None, root)
        same(got, all_ranks[root][me], f"scatter from {root}")


def check_alltoall(messages, me, size, shape):
    all_ranks = messages.next((size, *shape))
    got = []
    dist.alltoall(got, [tensor(part) for part in all_ranks[me]])
    for rank in range(size):
        same(got[rank], all_ranks[rank][me], f"alltoall from {rank}")
    # Rank r gives r + 1 + s rows to rank s.
    counts = [[sender + 1 + receiver for receiver in range(size)] for sender in range(size)]
    all_ranks = [messages.next((sum(row), 3))[sender] for sender, row in enumerate(counts)]
    got = paddle.zeros((sum(row[me] for row in counts), 3))
    dist.alltoall_single(got, tensor(all_ranks[me]), [row[me] for row in counts], counts[me])
    wanted = [np.split(all_ranks[rank], np.cumsum(counts[rank])[:-1])[me] for rank in range(size)]
    same(got, np.concatenate(wanted), "alltoall_single")


@check(2, short=True)
def test_send_and_receive():
    """send, recv, isend, irecv, batch_isend_irecv"""
    messages, me, size = start(4)
    for kind in ("float32", "bfloat16", "int64", "bool"):
        for sender in range(size):
            all_ranks = messages.next((7, 3), kind)
            receiver = (sender + 1) % size
            if me == sender:
                dist.send(tensor(all_ranks[me], kind), receiver)
            elif me == receiver:
                got = tensor(np.zeros_like(all_ranks[me]), kind)
                dist.recv(got, sender)
                same(got, all_ranks[sender], f"{kind} from {sender}")
    check_batch(messages, me, size)


def check_batch(messages, me, size):
    """Large enough to fill the buffers of a socket. Each rank sends to all others before it receives."""
    others = [(me + i) % size for i in range(1, size)]
    all_ranks = [messages.next((1 << 18,)) for _ in range(size)]
    sent = [tensor(all_ranks[to][me]) for to in others]
    got = [paddle.zeros((1 << 18,)) for _ in others]
    for task in dist.batch_isend_irecv([dist.P2POp(dist.isend, one, to) for one, to in zip(sent, others)] +
                                       [dist.P2POp(dist.irecv, one, of) for one, of in zip(got, others)]):
        task.wait()
    for one, of in zip(got, others):
        same(one, all_ranks[me][of], f"batch of {of}")


@check(2, short=True)
def test_order():
    """results are ordered with work of the stream"""
    messages, me, size = start(5)
    for _ in range(4):
        all_ranks = messages.next((64, 64))
        mine = paddle.matmul(tensor(all_ranks[me]), paddle.eye(64))
        task = dist.all_reduce(mine, sync_op=False)
        task.wait()
        after = paddle.matmul(mine, paddle.eye(64) * 2)
        near(after, np.sum(all_ranks, 0) * 2, "behind it")
    # A chain without a wait of the host between the links.
    chain = tensor(np.full((1000,), me + 1.0, "float32"))
    for _ in range(5):
        dist.all_reduce(chain)
    same(chain, np.full((1000,), sum(range(1, size + 1)) * size ** 4, "float32"), "chain")
    dist.barrier()


@check(2)
def test_sizes():
    """all_reduce of 1 element to 16 MiB"""
    messages, me, _ = start(6)
    for count in (1, 2, 1023, 4097, (1 << 18) + 1, 1 << 22):
        all_ranks = messages.next((count,), "int32")
        mine = tensor(all_ranks[me])
        dist.all_reduce(mine)
        same(mine, reduced(all_ranks, "sum"), f"{count} elements")


@check(2, short=True)
def test_objects():
    """objects: all_gather_object, broadcast_object_list"""
    _, me, size = start(7)
    got = []
    dist.all_gather_object(got, {"rank": me, "text": "x" * (100 + me)})
    equal(got, [{"rank": rank, "text": "x" * (100 + rank)} for rank in range(size)])
    things = [f"from {me}", me]
    dist.broadcast_object_list(things, 1)
    equal(things, ["from 1", 1])


@check(2)
def test_process_group():
    """the calls of a process group, as upstream's process_group_xccl checks them"""
    group = dist.init_parallel_env().process_group
    me, size = group.rank(), 2
    rng = np.random.default_rng(2022)
    for kind in ("float32", "float16", "int32", "uint8"):
        both = [(rng.random((2, 10, 5)) * 50).astype(kind) for _ in range(2)]
        for op, wanted in ((core.ReduceOp.SUM, both[0] + both[1]), (core.ReduceOp.MAX, np.maximum(*both))):
            mine = tensor(both[me])
            group.all_reduce(mine, op, False).wait()
            equal(mine.numpy().tolist(), wanted.tolist())
        mine = tensor(both[me])
        task = group.broadcast(mine, 0, False)
        task.synchronize()
        paddle.device.synchronize()
        assert task.is_completed()
        equal(mine.numpy().tolist(), both[0].tolist())
        group.barrier(me).wait()
        out = tensor(np.zeros((4, 10, 5), kind))
        group.all_gather_into_tensor(out, tensor(both[me]), False).wait()
        equal(out.numpy().tolist(), np.concatenate(both).tolist())
        out = tensor(np.zeros((2, 10, 5), kind))
        group.all_to_all_single(out, tensor(both[me]), [1] * size, [1] * size, False).wait()
        equal(out.numpy().tolist(), np.stack([one[me] for one in both]).tolist())
        mine = tensor(both[me])
        group.reduce(mine, 0, core.ReduceOp.SUM, False).wait()
        if not me:
            equal(mine.numpy().tolist(), (both[0] + both[1]).tolist())
        out = tensor(np.zeros((1, 10, 5), kind))
        group.scatter_tensor(out, tensor(both[me]), 0, False).wait()
        equal(out.numpy().tolist(), both[0][me:me + 1].tolist())
        if me:
            group.recv(out, 0, False).wait()
            equal(out.numpy().tolist(), both[1][:1].tolist())
        else:
            group.send(tensor(both[1][:1]), 1, False).wait()


@check(2, short=True)
def test_refused():
    """what no rank can have is a sentence, and the communicator stays usable"""
    _, me, size = start(8)
    group = dist.get_group().process_group
    raises(OSError, lambda: group.send(tensor(np.ones(3)), me, False))
    mine = tensor(np.array([me], "int32"))
    dist.all_reduce(mine)
    same(mine, np.array([sum(range(size))], "int32"))


# --- training --------------------------------------------------------------------------------

@check(2, short=True)
def test_data_parallel():
    """DataParallel: two ranks have the losses and weights of one rank to 1e-5"""
    start(10)
    rows = list(parallel.train_together(8))
    alone = parallel.network()
    np.testing.assert_allclose([loss for loss, _ in rows], list(parallel.train(alone, steps=8)), rtol=1e-5)
    for mine, one in zip(rows[-1][1].parameters(), alone.parameters()):
        np.testing.assert_allclose(mine.numpy(), one.numpy(), rtol=1e-5, atol=1e-6)


# --- groups ----------------------------------------------------------------------------------

@check(4)
def test_four_ranks():
    """4 ranks: all collectives, batch_isend_irecv"""
    check_all_collectives(11)
    check_batch(Messages(16), dist.get_rank(), dist.get_world_size())
    test_all_reduce()


@check(4)
def test_groups():
    """4 ranks: groups of 2 and 3 of them, one behind the other and crosswise"""
    messages, me, _ = start(12)
    members = [[0, 2], [1, 3], [1, 2, 3], [0, 1, 2, 3]]
    groups = [dist.new_group(one) for one in members]
    for turn in range(3):
        for group, of in zip(groups, members):
            all_ranks = messages.next((100 + turn,), "int64")
            if me not in of:
                continue
            mine = tensor(all_ranks[me])
            dist.all_reduce(mine, group=group)
            same(mine, reduced([all_ranks[rank] for rank in of], "sum"), f"{of}")
            mine = tensor(all_ranks[me])
            dist.broadcast(mine, of[-1], group=group)
            same(mine, all_ranks[of[-1]], f"broadcast in {of}")
            got = []
            dist.all_gather(got, tensor(all_ranks[me]), group=group)
            for one, rank in zip(got, of):
                same(one, all_ranks[rank], f"all_gather in {of}")


@check(8)
def test_eight_ranks():
    """8 ranks: all collectives"""
    check_all_collectives(13)


def main():
    words = [word for word in sys.argv[1:] if word != "-s"]
    chosen = [(size, function) for size, short, function in CHECKS
              if (short or "-s" not in sys.argv) and tap.is_chosen(function, words)]
    return tap.run((f"{size} ranks: {function.__doc__}", lambda size=size, function=function:
                    ranks.run(function, size), None) for size, function in chosen)


if __name__ == "__main__":
    sys.exit(main())
