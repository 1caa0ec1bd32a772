#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How the time of all_reduce grows with ranks and bytes: a table, and TAP for the sums. Run by
tests/clients/paddle/guest, or on a machine with devices; ranks share devices if there are fewer.

scale.py [RANKS...]    default: 1 2 4 8
"""

import json
import os
import statistics
import sys
import time

import ranks  # before paddle
import numpy as np
import paddle
import paddle.distributed as dist

SIZES = (4 << 10, 64 << 10, 1 << 20, 4 << 20)
TURNS = 5
RESULTS = "/tmp/paccel-scale"


def measure():
    """Rank 0 writes the median of each size, in milliseconds."""
    dist.init_parallel_env()
    me, size = dist.get_rank(), dist.get_world_size()
    medians = []
    for count in (bytes_ // 4 for bytes_ in SIZES):
        times = []
        for turn in range(TURNS + 1):
            tensor = paddle.full([count], float(me + turn))
            dist.barrier()
            began = time.monotonic()
            dist.all_reduce(tensor)
            paddle.device.synchronize()
            times.append((time.monotonic() - began) * 1e3)
            got = tensor.numpy()
            assert (got == sum(range(size)) + turn * size).all(), got
        # The first one makes buffers.
        medians.append(statistics.median(times[1:]))
    if not me:
        with open(RESULTS, "w", encoding="utf-8") as file:
            json.dump(medians, file)


def alone():
    """One rank exchanges nothing: its copies to the host and back, which every rank makes."""
    medians = []
    for count in (bytes_ // 4 for bytes_ in SIZES):
        times = []
        for turn in range(TURNS + 1):
            tensor = paddle.full([count], float(turn))
            began = time.monotonic()
            host = tensor.numpy()
            paddle.to_tensor(host)
            paddle.device.synchronize()
            times.append((time.monotonic() - began) * 1e3)
            assert np.all(host == turn)
        medians.append(statistics.median(times[1:]))
    with open(RESULTS, "w", encoding="utf-8") as file:
        json.dump(medians, file)


def row(size):
    ranks.run(measure if size > 1 else alone, size)
    with open(RESULTS, encoding="utf-8") as file:
        return json.load(file)


def main():
    sizes = [int(word) for word in sys.argv[1:]] or [1, 2, 4, 8]
    print(f"all_reduce of float32, milliseconds, median of {TURNS}; {ranks.device_count()} devices, "
          f"{os.cpu_count()} CPUs; 1 rank: only its copies")
    print("| ranks | " + " | ".join(f"{size >> 10} KiB" for size in SIZES) + " |")
    print("|---|" + "---|" * len(SIZES))
    for number, size in enumerate(sizes, 1):
        print(f"| {size} | " + " | ".join(f"{value:.1f}" for value in row(size)) + " |")
        print(f"ok {number} - " + (f"sums of {size} ranks" if size > 1 else "copies of one rank"), flush=True)
    print(f"1..{len(sizes)}")


if __name__ == "__main__":
    main()
