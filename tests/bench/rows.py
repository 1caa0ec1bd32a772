# SPDX-License-Identifier: MIT
"""The rows of the table: names, references and goals, made of samples."""

from statistics import median

EDU_CARDS = 8
BYTES = 65536
TRANSFERS_64K = 17
TRANSFERS_D2D = 2
QUERY_LIMIT = 20
POOL_LIMIT = 50
PACK_LIMIT = 100
POOL_THREADS = 4
PYTHON_LIMIT = 2
MPI_CHECK_LIMIT = 20
MPI_REDUCED = 16 << 20
LARGE = 64 << 20
PADDLE_BYTES = 16 << 20
IMPORT_LIMIT = 20e6
NO_GOAL = "none"


def is_met(ratio, goal):
    """None if there is no goal."""
    if goal == NO_GOAL:
        return None
    word, number = goal.split()
    return ratio >= float(number) if word == ">=" else ratio <= float(number)


def row(name, value, unit, reference, ratio, goal):
    """The goal is a limit of `ratio`; value and reference have the same unit."""
    ratio = round(ratio, 4)
    return {"name": name, "value": round(value, 3), "unit": unit,
            "reference": round(reference, 3), "ratio": ratio, "goal": goal,
            "ok": is_met(ratio, goal)}


def transfer_row(name, ns, raw, transfers):
    """How near a copy comes to as many raw transfers."""
    return row(name, ns / 1e6, "ms", transfers * raw / 1e6, transfers * raw / ns, ">= 0.98")


def at_most(name, value, unit, reference, goal, scale=1):
    """Less is better: how many times the reference it takes."""
    return row(name, value / scale, unit, reference / scale, value / reference, goal)


def edu_rows(middle, counts):
    raw = middle["raw"]
    all_cards = EDU_CARDS * BYTES / 1024 / (middle["cards.all"] / 1e9)
    one_card = BYTES / 1024 / (middle["cards.one"] / 1e9)
    slowest, fastest = min(counts["fair"]), max(counts["fair"])
    seconds, = counts["fair.seconds"]
    ops, calls = counts["batch"]
    return [
        transfer_row("edu.h2d.64k", middle["h2d"], raw, TRANSFERS_64K),
        transfer_row("edu.d2h.64k", middle["d2h"], raw, TRANSFERS_64K),
        transfer_row("edu.d2d.2k", middle["d2d"], raw, TRANSFERS_D2D),
        row("edu.8cards", all_cards, "KiB/s", one_card, all_cards / one_card, ">= 7.9"),
        at_most("edu.small", middle["small"], "ms", raw, "<= 1.05", 1e6),
        at_most("alloc.free", middle["alloc"], "us", middle["info"], "<= 4", 1e3),
        row("fair.4procs", slowest / seconds / 1024, "KiB/s", fastest / seconds / 1024,
            slowest / fastest, ">= 0.9"),
        at_most("small.beside.long", middle["beside"], "ms", raw, "<= 2.1", 1e6),
        # Without streams it is one.
        row("submit.batch", ops / calls, "ops", 1, ops / calls, ">= 64"),
    ]


def speed_row(name, ns, reference, goal, bytes_moved=LARGE):
    """More is better, and both have moved as much."""
    speed, limit = (bytes_moved / 2**30 / (t / 1e9) for t in (ns, reference))
    return row(name, speed, "GiB/s", limit, reference / ns, goal)


def ring_rows(middle, _):
    sync, batches = middle["async.sync"], middle["async.batches"]
    return [
        speed_row("ring.h2d.64m", middle["ring.h2d"], middle["memory.h2d"], ">= 0.9"),
        speed_row("ring.d2h.64m", middle["ring.d2h"], middle["memory.d2h"], ">= 0.9"),
        speed_row("ring.pageable", middle["pageable"], middle["pinned"], ">= 0.7"),
        at_most("ring.sync.4k", middle["sync.call"], "us", middle["sync.card"], "<= 1.2", 1e3),
        row("ring.async.4k", 1e6 / batches, "op/ms", 1e6 / sync, sync / batches, ">= 10"),
        # As many copies on each engine.
        row("ring.4engines", middle["engines.one"] * 4 / 1e6, "ms", middle["engines.all"] / 1e6,
            middle["engines.one"] * 4 / middle["engines.all"], ">= 3.8"),
        speed_row("ring.d2d", middle["ring.d2d"], middle["memory.d2d"], ">= 0.9"),
        speed_row("ring.p2p", middle["p2p.across"], middle["p2p.inside"], ">= 0.9"),
        speed_row("ring.fill", middle["ring.fill"], middle["memory.fill"], ">= 0.9"),
        row("pool.vs.driver", 1e6 / middle["pool.pairs"], "pair/ms", 1e6 / middle["driver.pairs"],
            middle["driver.pairs"] / middle["pool.pairs"], ">= 50"),
        # Round by round: from one to the next the machine changes by more.
        row("acl.overhead", middle["acl.memcpy"] / 1e3, "us", middle["acl.libaccel"] / 1e3,
            middle["acl.ratio"], "<= 1.05"),
    ]


def live_rows(middle, counts):
    few, many = middle["live.few"], middle["live.many"]
    cost, live = counts["live.bytes"]
    return [
        at_most("alloc.scale", many, "us", few, "<= 2", 1e3),
        at_most("alloc.vgem", few, "us", middle["live.vgem"], "<= 0.5", 1e3),
        # The goal is the number of bytes itself.
        row("alloc.bytes", cost / live, "B", 1, cost / live, "<= 256"),
    ]


def irqsoff_rows(middle, _):
    """Besides the driver's own time it is that of the machine, which can stop a processor."""
    small = middle["irqsoff.small"]
    return [at_most(name, middle[name], "us", small, NO_GOAL, 1e3)
            for name in ("irqsoff.streams", "irqsoff.rows")]


def paddle_rows(middle, _):
    return [
        speed_row("paddle.h2d", middle["paddle.h2d"], middle["paddle.h2d.libaccel"], ">= 0.8",
                  PADDLE_BYTES),
        speed_row("paddle.d2h", middle["paddle.d2h"], middle["paddle.d2h.libaccel"], ">= 0.8",
                  PADDLE_BYTES),
        at_most("paddle.import", middle["paddle.import"], "ms", IMPORT_LIMIT, "<= 1", 1e6),
        at_most("paddle.train", middle["train.card"], "ms", middle["train.standin"], "<= 3", 1e6),
    ]


def mpi_send_rows(middle, transport, suffix):
    """
    Two limits, of which one is enough: 0.7 of host memory, or 0.9 of the same path through Open MPI with memcpy()
    in place of the device. The slower one is the reference.
    """
    device, host = middle[f"{transport}.mpi.send.64m.device"], middle[f"{transport}.mpi.send.64m.host"]
    plain = middle[f"{transport}.plain.mpi.send.64m.device"]
    name = f"mpi.send.64m{suffix}"
    return [
        speed_row(name, device, max(host / 0.7, plain / 0.9), ">= 1"),
        speed_row(name + ".host", device, host, NO_GOAL),
        speed_row(name + ".plain", device, plain, NO_GOAL),
    ]


def mpi_rows(middle, _):
    device, host = middle["sm.mpi.send.4k.device"], middle["sm.mpi.send.4k.host"]
    staged = middle["sm.mpi.send.4k.copies"]
    return [
        *mpi_send_rows(middle, "sm", ""),
        *mpi_send_rows(middle, "tcp", ".tcp"),
        row("mpi.send.4k", device / 1e3, "us", staged / 1e3, (device - host) / (staged - host), "<= 1"),
        speed_row("mpi.allreduce.16m", middle["sm.mpi.allreduce.16m.device"], middle["sm.mpi.allreduce.16m.host"],
                  NO_GOAL, MPI_REDUCED),
    ]


def check_addr_rows(middle):
    if "mpi.check_addr" not in middle:
        return []
    return [at_most("mpi.check_addr", middle["mpi.check_addr"], "ns", MPI_CHECK_LIMIT, "<= 1")]


def python_rows(middle):
    """The difference between a call from Python and one from C is what the goal speaks of."""
    if "py.memcpy" not in middle:
        return []
    ours, theirs = middle["py.memcpy"] / 1e3, middle["py.memcpy.c"] / 1e3
    return [row("py.overhead", ours, "us", theirs, ours - theirs, f"<= {PYTHON_LIMIT}")]


def host_rows(middle, counts):
    ours, best_fit = counts["pool.failures"]
    at_once = min(POOL_THREADS, counts["pool.cores"][0])
    one, four, apart = middle["pool.one"], middle["pool.four"], middle["pool.apart"]
    return [
        at_most("stream.query", middle["query"], "ns", QUERY_LIMIT, "<= 1"),
        at_most("pool.1e5", middle["pool.1e5"], "ns", POOL_LIMIT, "<= 1"),
        at_most("pool.pack", ours, "failed", best_fit, "<= 1"),
        at_most("pool.pack.ns", middle["pool.pack"], "ns", PACK_LIMIT, "<= 1"),
        at_most("pool.failed", middle["pool.failed"], "ns", middle["pool.pack"], "<= 1"),
        # Operations per second of all threads, for each processor that they can have.
        row("pool.threads", 1e3 / four, "op/us", 1e3 / one, one / four / at_once, ">= 0.7"),
        # The same without anything in common, so what processors and caches allow.
        row("pool.apart", 1e3 / apart, "op/us", 1e3 / one, one / apart / at_once, NO_GOAL),
        # What the machine is like: a step of a chain through 8 MiB.
        row("chain.8m", middle["chain"], "ns", middle["chain"], 1, NO_GOAL),
        *python_rows(middle),
        *check_addr_rows(middle),
    ]


ROWS = {"edu": edu_rows, "ring": ring_rows, "live": live_rows, "paddle": paddle_rows,
        "mpi": mpi_rows, "host": host_rows, "irqsoff": irqsoff_rows}


def curves_of(samples):
    """{way: {bytes of one copy: MiB/s}}"""
    curves = {}
    for name, ns in samples.items():
        if name.startswith("curve."):
            way, _, size = name.removeprefix("curve.").rpartition(".")
            curves.setdefault(way, {})[int(size)] = round(int(size) / 2**20 / median(ns) * 1e9, 1)
    return curves
