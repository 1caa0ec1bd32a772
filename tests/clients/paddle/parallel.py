#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains a network for images of 28 x 28 with several ranks, each on a part of every batch, and then with one
rank alone. Run by paddle.distributed.launch, see run-2.

parallel.py [STEPS]    rank 0 prints a JSON object for each step: ranks, step, steps, loss; and at the end
                       how far weights differ
"""

import json
import socket
import sys

import numpy as np
import paddle
import paddle.distributed as dist

STEPS = 20
BATCH = 64
PIXELS, HIDDEN, CLASSES = 28 * 28, 64, 10


def network(seed=3):
    rng = np.random.default_rng(seed)
    net = paddle.nn.Sequential(paddle.nn.Linear(PIXELS, HIDDEN), paddle.nn.ReLU(),
                               paddle.nn.Linear(HIDDEN, CLASSES))
    for parameter in net.parameters():
        parameter.set_value(paddle.to_tensor(rng.uniform(-0.1, 0.1, parameter.shape).astype("float32")))
    return net


def batches(steps):
    """Images whose brightest block of rows is their label."""
    rng = np.random.default_rng(9)
    for _ in range(steps):
        labels = rng.integers(0, CLASSES, (BATCH, 1))
        images = rng.random((BATCH, CLASSES + 4, PIXELS // (CLASSES + 4)), "float32") / 2
        images[np.arange(BATCH), labels[:, 0]] += 0.5
        yield images.reshape(BATCH, PIXELS), labels


def train(net, part=0, parts=1, steps=STEPS):
    """Yields the loss of each step, of this rank's part."""
    optimizer = paddle.optimizer.Momentum(0.1, 0.9, parameters=net.parameters())
    rows = slice(part * BATCH // parts, (part + 1) * BATCH // parts)
    for images, labels in batches(steps):
        loss = paddle.nn.functional.cross_entropy(net(paddle.to_tensor(images[rows])),
                                                  paddle.to_tensor(labels[rows]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        yield float(loss)


def mean_of_ranks(value):
    tensor = paddle.to_tensor([value], dtype="float32")
    dist.all_reduce(tensor)
    return tensor.item() / dist.get_world_size()


def train_together(steps):
    """Yields the loss of the whole batch; the weights are in the list then."""
    me, size = dist.get_rank(), dist.get_world_size()
    # The other ranks get their weights from rank 0.
    net = paddle.DataParallel(network(3 + me))
    for loss in train(net, me, size, steps):
        yield mean_of_ranks(loss), net


def say(**row):
    print(json.dumps(row), flush=True)


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    dist.init_parallel_env()
    me, size = dist.get_rank(), dist.get_world_size()
    net = None
    for step, (loss, net) in enumerate(train_together(steps), 1):
        if not me:
            say(ranks=size, step=step, steps=steps, loss=loss)
    places = []
    dist.all_gather_object(places, f"{net.parameters()[0].place} of {socket.gethostname()}")
    if me:
        return
    alone = network()
    for step, loss in enumerate(train(alone, steps=steps), 1):
        say(ranks=1, step=step, steps=steps, loss=loss)
    worst = max(float(np.abs(one.numpy() - other.numpy()).max())
                for one, other in zip(net.parameters(), alone.parameters()))
    say(places=places, weights=worst)


if __name__ == "__main__":
    main()
