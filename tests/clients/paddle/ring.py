#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PaddlePaddle on the first two devices, which are ring devices of 64 MiB. Run by
tests/clients/paddle/guest.

ring.py [WORD...]    only checks whose names contain one of the words
"""

import copy
import json
import os
import subprocess
import sys
import threading

from suite import Counted, Suite, cards, counters, equal, near, on_card, raises, run, same, wait_until

# pylint: disable=wrong-import-order, protected-access
import network
import numpy as np
import paddle

SUITE = Suite()
check = SUITE.check
check_since = SUITE.check_since

CARD = paddle.CustomPlace("accel", 0)
OTHER = paddle.CustomPlace("accel", 1)
TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
         "complex64", "complex128"]
# `full` has them all but the complex ones.
REAL_TYPES = TYPES[:-2]
STEPS = 30
MIB = 1 << 20


def random(shape, kind="float32", seed=1):
    return (np.random.default_rng(seed).random(shape) * 100).astype(kind)


# --- devices ---------------------------------------------------------------------------------

@check
def devices():
    """all devices are listed, and the first is the default place"""
    equal(paddle.device.get_all_custom_device_type(), ["accel"])
    equal(paddle.device.get_available_custom_device(),
          [f"accel:{number}" for number in range(len(cards()))])
    on_card(paddle.ones([2]))
    paddle.set_device("accel:1")
    equal(paddle.device.get_device(), "accel:1")
    on_card(paddle.ones([2]), 1)


# --- there and back --------------------------------------------------------------------------

@check
def there_and_back():
    """tensors of 11 types come back bit for bit"""
    for kind in TYPES:
        array = random((7, 9), kind)
        same(on_card(paddle.to_tensor(array, place=CARD)).numpy(), array)
    tensor = paddle.to_tensor(np.arange(8, dtype="float32")).cast("bfloat16")
    same(on_card(tensor).cast("float32").numpy(), np.arange(8, dtype="float32"))


@check
def sizes():
    """tensors of no, one, odd and many bytes"""
    for size in (0, 1, 3, 511, 513, 4095, 4097, 65537, 4 * MIB + 1):
        array = random(size, "uint8")
        same(on_card(paddle.to_tensor(array)).numpy(), array)


@check
def counted():
    """the driver counts each byte that is copied to the device and back"""
    array = random(MIB // 4)
    with Counted() as there:
        tensor = paddle.to_tensor(array)
    assert there["bytes_h2d"] >= MIB and there["requests"] > 0, there.grown
    equal(there["bytes_d2h"], 0)
    with Counted() as back:
        same(tensor.numpy(), array)
    assert back["bytes_d2h"] >= MIB and back["requests"] > 0, back.grown
    equal(back["bytes_h2d"], 0)


@check
def copies():
    """clone, deepcopy, cpu(), to() and _copy_to"""
    array = random((33, 5))
    tensor = paddle.to_tensor(array)
    for other in (tensor.clone(), copy.deepcopy(tensor), tensor._copy_to(CARD, True)):
        same(on_card(other).numpy(), array)
    assert tensor.cpu().place.is_cpu_place()
    same(tensor.cpu().numpy(), array)
    same(on_card(tensor.cpu()._copy_to(CARD, True)).numpy(), array)
    same(on_card(tensor.to("float64")).numpy(), array.astype("float64"))


@check
def printed():
    """a tensor prints with its place"""
    text = str(paddle.to_tensor([1.5, 2.5]))
    assert "accel:0" in text and "1.5" in text and "2.5" in text, text


@check
def saved(path="/tmp/saved"):
    """save and load"""
    tensor = paddle.to_tensor(random((4, 6)))
    layer = paddle.nn.Linear(3, 2)
    paddle.save({"tensor": tensor, "layer": layer.state_dict()}, path)
    loaded = paddle.load(path)
    same(on_card(loaded["tensor"]).numpy(), tensor.numpy())
    other = paddle.nn.Linear(3, 2)
    other.set_state_dict(loaded["layer"])
    same(on_card(other.weight).numpy(), layer.weight.numpy())
    os.unlink(path)


# --- operations ------------------------------------------------------------------------------

@check
def filled():
    """full() of 9 types, as on the CPU"""
    for kind in REAL_TYPES:
        for value in (0, 1, 3, 100):
            tensor = on_card(paddle.full([3, 5], value, dtype=kind))
            same(tensor.numpy(), np.full((3, 5), value, dtype=kind))
    for value in (-2.5, 1e-7, float("inf")):
        same(paddle.full([9], value, "float32").numpy(), np.full(9, value, "float32"))
    same(paddle.full([9], 2**53 - 1, "int64").numpy(), np.full(9, 2**53 - 1, "int64"))


@check
def views():
    """200 random views, made contiguous and computed with"""
    rng = np.random.default_rng(2)
    for number in range(200):
        shape = [int(n) for n in rng.integers(1, 6, rng.integers(1, 5))]
        array = random(shape, ["float32", "int64", "uint8", "float64", "int16"][number % 5])
        axes = [int(n) for n in rng.permutation(len(shape))]
        cut = tuple(slice(int(rng.integers(0, shape[axis])), None, int(rng.integers(1, 3)))
                    for axis in axes)
        view, wanted = paddle.to_tensor(array).transpose(axes)[cut], array.transpose(axes)[cut]
        same(on_card(view.contiguous()).numpy(), np.ascontiguousarray(wanted))
        if number % 10 == 0 and wanted.dtype == np.float32:
            same(on_card(view + view).numpy(), wanted + wanted)


@check
def in_place():
    """operations in place, items and masks"""
    array = random((4, 6))
    tensor = paddle.to_tensor(array)
    tensor.add_(paddle.ones([4, 6]))
    array += 1
    tensor[1, :] = 7
    array[1, :] = 7
    tensor[:, 2:4] = paddle.to_tensor(array[:, 0:2])
    array[:, 2:4] = array[:, 0:2]
    tensor[tensor > 50] = 0
    array[array > 50] = 0
    same(on_card(tensor).numpy(), array)
    tensor.zero_()
    same(tensor.numpy(), np.zeros((4, 6), "float32"))


OPERATIONS = {
    "arithmetic": lambda a, b: (a + b) * a - b / (a + 1),
    "matmul": lambda a, b: paddle.matmul(a, b, transpose_y=True),
    "sum": lambda a, b: a.sum(axis=1),
    "mean, max, min": lambda a, b: a.mean() + a.max() + b.min(),
    "comparison": lambda a, b: (a > b).astype("int32"),
    "index": lambda a, b: a[1:, ::2],
    "gather": lambda a, b: paddle.gather(a, paddle.to_tensor([2, 0], place=a.place)),
    "where": lambda a, b: paddle.where(a > b, a, b),
    "nonzero": lambda a, b: paddle.nonzero(a > 50),
    "unique": lambda a, b: paddle.unique((a / 10).astype("int64")),
    "topk": lambda a, b: paddle.topk(a, 3)[1],
    "sort": lambda a, b: paddle.sort(a, axis=0),
    "cumsum": lambda a, b: paddle.cumsum(a, axis=1),
    "einsum": lambda a, b: paddle.einsum("ij,kj->ik", a, b),
    "concat, split, stack": lambda a, b: paddle.stack(paddle.split(paddle.concat([a, b]), 2)),
    "expand": lambda a, b: a.unsqueeze(0).expand([3, 5, 6]) + 0,
    "svd": lambda a, b: paddle.linalg.svd(a)[1],
    "transposed": lambda a, b: a.t() + b.t(),
}


@check
def operations():
    """operations have the same results as on the CPU, and the results are on the device"""
    arrays = random((5, 6)), random((5, 6), seed=2)
    for name, function in OPERATIONS.items():
        got = function(*[paddle.to_tensor(array) for array in arrays])
        wanted = function(*[paddle.to_tensor(array, place=paddle.CPUPlace()) for array in arrays])
        assert on_card(got).shape == wanted.shape, name
        near(got.numpy(), wanted.numpy())


@check
def creation():
    """zeros, ones, arange, rand and randn, and the same random numbers again"""
    same(on_card(paddle.zeros([3])).numpy(), np.zeros(3, "float32"))
    same(on_card(paddle.arange(5)).numpy(), np.arange(5))
    paddle.seed(3)
    first = on_card(paddle.rand([50])).numpy(), on_card(paddle.randn([50])).numpy()
    paddle.seed(3)
    same(paddle.rand([50]).numpy(), first[0])
    same(paddle.randn([50]).numpy(), first[1])


# --- layers and optimizers -------------------------------------------------------------------

LAYERS = {
    "Linear": (lambda: paddle.nn.Linear(4, 3), (2, 4)),
    "Conv2D, BatchNorm2D, MaxPool2D": (lambda: paddle.nn.Sequential(
        paddle.nn.Conv2D(3, 4, 3), paddle.nn.BatchNorm2D(4), paddle.nn.ReLU(),
        paddle.nn.MaxPool2D(2)), (2, 3, 8, 8)),
    "LSTM": (lambda: paddle.nn.LSTM(3, 4), (2, 5, 3)),
    "TransformerEncoderLayer": (
        lambda: paddle.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), (2, 3, 8)),
}


def layer_results(device, make, shape):
    """The output and the gradients, and whether they were where they should be."""
    paddle.set_device(device)
    paddle.seed(11)
    layer = make()
    output = layer(paddle.to_tensor(random(shape) / 100))
    output = output[0] if isinstance(output, tuple) else output
    (output * output).sum().backward()
    # An LSTM has parameters twice, for itself and for its cells.
    tensors = [output] + [parameter.grad for parameter in layer.parameters()
                          if parameter.grad is not None]
    return tensors, [tensor.numpy() for tensor in tensors]


@check
def layers():
    """layers forward and backward, as on the CPU"""
    for name, (make, shape) in LAYERS.items():
        tensors, got = layer_results("accel:0", make, shape)
        _, wanted = layer_results("cpu", make, shape)
        for tensor in tensors:
            on_card(tensor)
        assert len(got) == len(wanted) > 2, name
        for one, other in zip(got, wanted):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5, err_msg=name)


@check
def embedding():
    """Embedding, Dropout and cross_entropy; Paddle leaves that gradient on the CPU"""
    layer = paddle.nn.Embedding(10, 4)
    before = layer.weight.numpy()
    words = paddle.to_tensor([1, 5, 9])
    logits = on_card(paddle.nn.Dropout(0.5)(layer(words)))
    loss = paddle.nn.functional.cross_entropy(logits, paddle.to_tensor([0, 1, 2]))
    loss.backward()
    assert np.isfinite(float(on_card(loss)))
    assert layer.weight.grad.place.is_cpu_place(), layer.weight.grad.place
    paddle.optimizer.SGD(0.1, parameters=layer.parameters()).step()
    changed = (on_card(layer.weight).numpy() != before).any(axis=1)
    assert changed.any() and not changed[[0, 2, 3, 4, 6, 7, 8]].any(), changed


def optimized(device, make):
    paddle.set_device(device)
    paddle.seed(4)
    layer = paddle.nn.Linear(6, 2)
    optimizer = make(layer.parameters())
    for number in range(3):
        layer(paddle.to_tensor(random((5, 6), seed=number) / 100)).square().mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    return layer.weight


@check
def optimizers():
    """SGD, Momentum, Adam and AdamW, as on the CPU"""
    kinds = paddle.optimizer
    for kind in (kinds.SGD, kinds.Momentum, kinds.Adam, kinds.AdamW):
        def make(parameters, kind=kind):
            return kind(learning_rate=0.1, parameters=parameters)
        near(on_card(optimized("accel:0", make)).numpy(), optimized("cpu", make).numpy())


@check
def cleared():
    """clear_grad() fills gradients with 0 on the device"""
    layer = paddle.nn.Linear(3, 2)
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    layer(paddle.ones([4, 3])).sum().backward()
    gradient = on_card(layer.weight.grad)
    same(gradient.numpy(), np.full((3, 2), 4, "float32"))
    optimizer.clear_grad()
    same(on_card(layer.weight.grad).numpy(), np.zeros((3, 2), "float32"))


def accumulated_gradients(device, kind):
    """Of six backward() calls: a matrix, also as its transposed view, and a row that is broadcast. The
    CPU has no operations of float16, so these are of float64."""
    paddle.set_device(device)
    matrix = paddle.to_tensor(random((4, 6), kind), stop_gradient=False)
    row = paddle.to_tensor(random(4, kind, seed=2), stop_gradient=False)
    for factor in (1, 2, 3):
        ((matrix.t().cast("float64") + row.cast("float64")) * factor).sum().backward()
        (matrix.cast("float64") * factor).sum().backward()
    return matrix.grad, row.grad


@check
def accumulated():
    """backward() without clear_grad() adds to the gradients on the device"""
    for kind in ("float16", "float32", "float64"):
        for got, wanted in zip(accumulated_gradients("accel:0", kind),
                               accumulated_gradients("cpu", kind)):
            same(on_card(got).numpy(), wanted.numpy())


def trained_words(device, optimizer):
    """The weights of an Embedding with sparse gradients, accumulated over two calls of backward()."""
    paddle.set_device(device)
    layer = paddle.nn.Embedding(10, 4, sparse=True)
    layer.weight.set_value(paddle.to_tensor(random((10, 4)) / 100))
    trainer = optimizer(layer.parameters())
    for _ in range(3):
        for words in ([1, 5, 9, 5], [2, 5]):
            (layer(paddle.to_tensor(words)) ** 2).sum().backward()
        assert layer.weight.grad.is_selected_rows()
        trainer.step()
        trainer.clear_grad()
    return layer.weight.numpy()


@check
def sparse_gradients():
    """an Embedding with sparse gradients trains with Momentum; SGD and Adam are refused"""
    optimizers = paddle.optimizer
    clip = paddle.nn.ClipGradByGlobalNorm(0.1)
    for make in (lambda parameters: optimizers.Momentum(0.1, parameters=parameters),
                 lambda parameters: optimizers.Momentum(0.1, parameters=parameters, grad_clip=clip),
                 lambda parameters: optimizers.SGD(0.1, parameters, weight_decay=0.1)):
        near(trained_words("accel:0", make), trained_words("cpu", make))
    for make in (lambda parameters: optimizers.SGD(0.1, parameters),
                 lambda parameters: optimizers.Adam(0.1, parameters=parameters),
                 lambda parameters: optimizers.Adam(0.1, parameters=parameters, lazy_mode=True)):
        raises(OSError, lambda: trained_words("accel:0", make))  # pylint: disable=cell-var-from-loop
    near(float(paddle.ones([3]).sum()), 3.0)


@check
def second_gradient():
    """a gradient of a gradient"""
    x = paddle.to_tensor([2.0, 3.0], stop_gradient=False)
    first = paddle.grad((x ** 3).sum(), x, create_graph=True)[0]
    second = paddle.grad(first.sum(), x)[0]
    near(on_card(second).numpy(), [12.0, 18.0])


# --- a network -------------------------------------------------------------------------------

@check
def trained():
    """a network trains on the device with the losses of the CPU, and the driver counts its copies"""
    training = network.Training("accel:0")
    with Counted() as card:
        got = [training.step() for _ in range(STEPS)]
    for tensor in training.tensors:
        on_card(tensor)
    with Counted() as cpu:
        wanted = network.losses("cpu", STEPS)
    near(got, wanted)
    assert got[-1] < got[0] / 5, got
    # Each step the inputs go there; inputs and parameters are computed with, here; new
    # parameters go back.
    there = STEPS * (training.bytes_of_inputs() + training.bytes_of_parameters())
    assert card["bytes_h2d"] >= there and card["bytes_d2h"] >= there, card.grown
    assert card["requests"] >= 40 * STEPS, card.grown
    equal([cpu[name] for name in ("bytes_h2d", "bytes_d2h", "allocs", "requests")], [0, 0, 0, 0])
    print(f"# {STEPS} steps: {card['requests']} requests, {card['bytes_h2d']} bytes to the device, "
          f"{card['bytes_d2h']} back; losses {got[0]:.6f} to {got[-1]:.6f}, on the CPU "
          f"{wanted[0]:.6f} to {wanted[-1]:.6f}")


@check_since((3, 0), "its static graphs have no way back to the CPU's kernels")
def to_static():
    """a function made static"""
    weights, inputs = random((4, 3)), random((2, 4), seed=2)
    factor = paddle.to_tensor(weights)
    function = paddle.jit.to_static(lambda x: paddle.nn.functional.relu(x @ factor - 9000) + 1)
    result = on_card(function(paddle.to_tensor(inputs)))
    near(result.numpy(), np.maximum(inputs @ weights - 9000, 0) + 1, 1e-4)


@check_since((3, 0), "its static graphs have no way back to the CPU's kernels")
def static_graph():
    """a static graph, run by an Executor on the device"""
    paddle.enable_static()
    try:
        program, start = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(program, start):
            inputs = paddle.static.data("inputs", [None, 4], "float32")
            output = paddle.matmul(inputs, inputs, transpose_y=True) + 1
        array = random((3, 4))
        with Counted() as card:
            executor = paddle.static.Executor(CARD)
            executor.run(start)
            got = executor.run(program, feed={"inputs": array}, fetch_list=[output])[0]
        near(got, array @ array.T + 1)
        assert card["bytes_h2d"] >= array.nbytes and card["bytes_d2h"] >= got.nbytes, card.grown
    finally:
        paddle.disable_static()


# --- two devices -------------------------------------------------------------------------------

@check
def two_cards():
    """copies between two devices, and each device counts its own"""
    array = random(100000, "int64")
    with Counted(1) as there:
        tensor = paddle.to_tensor(array, place=OTHER)
    assert there["bytes_h2d"] >= array.nbytes, there.grown
    moved = on_card(tensor._copy_to(CARD, True), 0)
    same(moved.numpy(), array)
    same(on_card(moved._copy_to(OTHER, True), 1).numpy(), array)
    same(on_card(moved.to("accel:1"), 1).numpy(), array)


@check
def threads():
    """six threads copy both ways between the devices"""
    problems = []

    def copy_around(number):
        array = random(20000, seed=number)
        try:
            for _ in range(5):
                tensor = paddle.to_tensor(array, place=(CARD, OTHER)[number % 2])
                other = tensor._copy_to((OTHER, CARD)[number % 2], True)
                same(other.numpy(), array)
        except Exception as error:  # pylint: disable=broad-exception-caught
            problems.append(error)

    workers = [threading.Thread(target=copy_around, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    equal(problems, [])


@check_since((3, 3), "paddle.device has no statistics of memory")
def statistics():
    """Paddle's statistics of memory, beside the driver's"""
    paddle.device.empty_cache()
    device = paddle.device
    before = device.memory_allocated("accel:0"), device.memory_allocated("accel:1")
    tensor = paddle.to_tensor(random(MIB), place=CARD)
    equal(device.memory_allocated("accel:0") - before[0], 4 * MIB)
    equal(device.memory_allocated("accel:1"), before[1])
    assert device.max_memory_allocated("accel:0") >= 4 * MIB
    used = counters()["used"]
    assert device.memory_reserved("accel:0") <= used, (device.memory_reserved("accel:0"), used)
    del tensor
    equal(device.memory_allocated("accel:0"), before[0])
    device.empty_cache()
    wait_until(lambda: counters()["used"] <= used - 4 * MIB, counters)


# --- streams, loaders ------------------------------------------------------------------------

@check
def streams():
    """streams and events"""
    stream = paddle.device.Stream("accel:0")
    assert "accel:0" in str(stream.device), stream.device
    event = paddle.device.Event()
    tensor = paddle.to_tensor(random(MIB))
    event.record(stream)
    stream.wait_event(event)
    event.synchronize()
    assert event.query()
    stream.synchronize()
    assert stream.query()
    with paddle.device.stream_guard(stream):
        total = (tensor + tensor).sum()
    paddle.device.synchronize("accel:0")
    near(float(total), 2 * random(MIB).astype("float64").sum(), 1e-4)


class Numbers(paddle.io.Dataset):
    """Eight rows."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return np.full(3, index, "float32")


@check
def loader():
    """a DataLoader without workers and with two"""
    for workers in (0, 2):
        total = 0.0
        for batch in paddle.io.DataLoader(Numbers(), batch_size=4, num_workers=workers):
            batch = batch[0] if isinstance(batch, (list, tuple)) else batch
            total += float(on_card(batch).sum())
        equal(total, 3.0 * sum(range(8)))


class Asking(Numbers):
    """Rows that a worker computes with the CPU, while accel:0 is the device of its parent, and what a worker
    may ask of the devices."""

    def __getitem__(self, index):
        assert "accel:1" in paddle.device.get_available_custom_device()
        paddle.device.synchronize("accel:0")
        row = paddle.to_tensor(super().__getitem__(index), place=paddle.CPUPlace())
        return (row * 2).numpy()


@check
def worker():
    """workers of a DataLoader compute with the CPU, and ask for devices, streams and memory"""
    paddle.ones([2]).numpy()
    total = 0.0
    for batch in paddle.io.DataLoader(Asking(), batch_size=4, num_workers=2):
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        total += float(on_card(batch).sum())
    equal(total, 6.0 * sum(range(8)))


@check
def profiled(path="/tmp/profile"):
    """the profiler of the CPU's side"""
    profiler = paddle.profiler.Profiler(
        targets=[paddle.profiler.ProfilerTarget.CPU],
        on_trace_ready=paddle.profiler.export_chrome_tracing(path))
    profiler.start()
    near(float(paddle.ones([3]).sum()), 3.0)
    profiler.stop()
    assert os.listdir(path)


@check_since((3, 3), "its table of functions has no known place for the profiler's")
def profiled_device(path="/tmp/profile-device"):
    """the profiler of the device: a trace has the copies and fills that the driver has counted"""
    target = paddle.profiler.ProfilerTarget
    training = network.Training("accel:0")
    profiler = paddle.profiler.Profiler(targets=[target.CPU, target.CUSTOM_DEVICE],
                                        on_trace_ready=paddle.profiler.export_chrome_tracing(path))
    with Counted() as driver:
        profiler.start()
        for _ in range(3):
            training.step()
        read = threading.Thread(target=paddle.ones([1000]).numpy)
        read.start()
        read.join()
        profiler.stop()
    profiler.summary()
    with open(os.path.join(path, os.listdir(path)[0]), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    calls = {event["args"]["correlation id"]: event for event in events if event.get("cat") == "CudaRuntime"}
    works = [event for event in events if event.get("cat") in ("Memcpy", "Memset")]
    moved = {name: sum(event["args"]["bytes"] for event in works if event["name"].startswith(name))
             for name in ("memcpy_h2d", "memcpy_d2h", "memset")}
    equal((moved["memcpy_h2d"], moved["memcpy_d2h"]), (driver["bytes_h2d"], driver["bytes_d2h"]))
    assert moved["memset"] >= training.bytes_of_parameters(), moved
    assert len(works) == len(calls) > 100, (len(works), len(calls))
    # The network uses a stream for its kernels, and none for the copies of operands.
    equal({event["args"]["stream"] for event in works}, {0, 1})
    for event in works:
        call = calls[event["args"]["correlation id"]]
        equal(event["pid"], 0)
        assert event["dur"] >= 0 and event["ts"] >= call["ts"], (event, call)
        if event["args"]["stream"] == 0:
            equal((event["ts"], event["dur"]), (call["ts"], call["dur"]))
    print(f"# {len(works)} operations of the device in the trace, {moved}")


# --- what fails ------------------------------------------------------------------------------

@check
def out_of_memory():
    """out of memory is a MemoryError with numbers, and the program goes on"""
    array = random(MIB)
    held = []

    def fill_up():
        while True:
            held.append(paddle.to_tensor(array))

    text = raises(MemoryError, fill_up)
    assert "Out of memory" in text and "accel:0" in text and "MB" in text, text
    # The device has 64 MiB, minus what the driver reserves.
    assert 10 <= len(held) <= 16, len(held)
    same(held[0].numpy(), array)
    assert counters()["used"] >= 40 * MIB, counters()
    del held[1:]
    array = random(2 * MIB)
    same(on_card(paddle.to_tensor(array)).numpy(), array)


@check
def quota():
    """so is a user's quota"""
    path = "/sys/class/paccel/paccel0/max_user_bytes"
    array = np.resize(random(MIB, "uint8"), 32 * MIB)
    with open(path, "w", encoding="ascii") as file:
        file.write(str(16 * MIB))
    try:
        raises(MemoryError, lambda: paddle.to_tensor(array))
    finally:
        with open(path, "w", encoding="ascii") as file:
            file.write("0")
    same(paddle.to_tensor(array).numpy(), array)


@check
def mixed_precision():
    """amp.auto_cast is refused with a RuntimeError, and the program goes on"""
    layer = paddle.nn.Linear(4, 3)

    def run():
        with paddle.amp.auto_cast(level="O1"):
            layer(paddle.ones([2, 4])).numpy()

    raises(RuntimeError, run)
    equal(layer(paddle.ones([2, 4])).shape, [2, 3])


@check
def unavailable():
    """pinned tensors and dlpack, which Paddle lacks here, are refused, and the program goes on"""
    tensor = paddle.ones([2])
    raises(RuntimeError, tensor.pin_memory)
    raises(RuntimeError, lambda: paddle.utils.dlpack.to_dlpack(tensor))
    same(on_card(tensor + 1).numpy(), np.full(2, 2, "float32"))


# The last check with this device: the process cannot use an unplugged device again.
@check
def unplugged():
    """calls on a device that was unplugged in use raise OSError, the other device still works"""
    tensor = paddle.to_tensor(random(1000), place=OTHER)
    safe = paddle.to_tensor(random(1000), place=CARD)
    subprocess.run(["guestctl", "device_del", "card1"], check=True)
    paddle.set_device("accel:1")
    for function in (tensor.numpy, lambda: paddle.to_tensor([1.0, 2.0]).numpy(),
                     lambda: (tensor + 1).numpy(), lambda: tensor._copy_to(CARD, True)):
        raises(OSError, function)
    del tensor
    paddle.set_device("accel:0")
    same(safe.numpy(), random(1000))
    near(network.losses("accel:0", 3), network.losses("cpu", 3))


if __name__ == "__main__":
    sys.exit(run([SUITE], sys.argv[1:]))
