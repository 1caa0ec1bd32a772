#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PaddlePaddle on an edu device: 4032 bytes of memory, 100 ms for each DMA request. Run by
tests/clients/paddle/guest.

edu.py [WORD...]    only checks whose names contain one of the words
"""

import os
import subprocess
import sys

from suite import Counted, Suite, card_of, counters, near, on_card, raises, run, same

# pylint: disable=wrong-import-order
import network
import numpy as np
import paddle

NUMBER = card_of(int(os.environ["PACCEL_EDU_BYTES"]))
DEVICE = f"accel:{NUMBER}"
SUITE = Suite(DEVICE)
check = SUITE.check

STEPS = 3
SMALL = {"shape": (2, 4), "batch": 8}


@check
def there_and_back():
    """a tensor comes back bit for bit, by transfers that the driver has counted"""
    array = np.arange(100, dtype="float32")
    with Counted(NUMBER) as there:
        tensor = on_card(paddle.to_tensor(array), NUMBER)
    assert there["bytes_h2d"] >= array.nbytes and there["requests"] >= 1, there.grown
    with Counted(NUMBER) as back:
        same(tensor.numpy(), array)
    assert back["bytes_d2h"] >= array.nbytes and back["requests"] >= 1, back.grown


@check
def view():
    """a view that is not contiguous, and an operation on it"""
    array = np.arange(12, dtype="float32").reshape(3, 4)
    same(on_card(paddle.to_tensor(array).t() + 1, NUMBER).numpy(), array.T + 1)


@check
def trained():
    """a tiny network trains on the device with the losses of the CPU, and the driver counts its copies"""
    training = network.Training(DEVICE, **SMALL)
    with Counted(NUMBER) as card:
        got = [training.step() for _ in range(STEPS)]
    for tensor in training.tensors:
        on_card(tensor, NUMBER)
    wanted = network.losses("cpu", STEPS, **SMALL)
    near(got, wanted)
    assert got[-1] < got[0], got
    there = STEPS * (training.bytes_of_inputs() + training.bytes_of_parameters())
    assert card["bytes_h2d"] >= there and card["bytes_d2h"] >= there, card.grown
    assert card["requests"] >= 40 * STEPS, card.grown
    print(f"# {STEPS} steps: {card['requests']} requests, {card['bytes_h2d']} bytes to the device, "
          f"{card['bytes_d2h']} back; losses {got}, on the CPU {wanted}")


@check
def accumulated():
    """backward() without clear_grad() adds to the gradient on the device"""
    array = np.arange(6, dtype="float32").reshape(2, 3)
    tensor = paddle.to_tensor(array, stop_gradient=False)
    for _ in range(2):
        (tensor * tensor).sum().backward()
    same(on_card(tensor.grad, NUMBER).numpy(), 4 * array)


@check
def out_of_memory():
    """out of memory is a MemoryError with numbers, and the program goes on"""
    array = np.arange(128, dtype="float32")
    held = []

    def fill_up():
        while True:
            held.append(paddle.to_tensor(array))

    text = raises(MemoryError, fill_up)
    assert "Out of memory" in text and DEVICE in text, text
    # Of 512 bytes seven have room, less what Paddle holds.
    assert 4 <= len(held) <= 7, len(held)
    assert counters(NUMBER)["used"] >= 2048, counters(NUMBER)
    same(held[-1].numpy(), array)
    held.clear()
    same(on_card(paddle.to_tensor(array[:64]), NUMBER).numpy(), array[:64])


# The last check: this process cannot use an unplugged device again.
@check
def unplugged():
    """calls on a device that was unplugged in use raise OSError, and the interpreter continues"""
    tensor = paddle.to_tensor([1.0, 2.0])
    card = f"card{NUMBER}"
    subprocess.run(["guestctl", "device_del", card], check=True)
    for function in (tensor.numpy, lambda: paddle.to_tensor([1.0] * 100).numpy(),
                     lambda: (tensor + 1).numpy()):
        raises(OSError, function)
    paddle.set_device("cpu")
    near(float(paddle.ones([3]).sum()), 3.0)
    # For those that come after this process.
    subprocess.run(["guestctl", "device_add", card], check=True)


if __name__ == "__main__":
    sys.exit(run([SUITE], sys.argv[1:]))
