#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# %% [markdown]
# # A tour of the module `accel`
#
# Cells begin with `# %%`: Jupyter (with jupytext), VS Code and Spyder show them as a notebook; as a
# program all of them run. `python3 tour.py [CARD]`

# %% What is there
import sys

import accel

card = accel.open(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
info = card.info()
print(f"{accel.count()} cards; this is {info.name} at {info.bus_address} with {info.memory_size} bytes,"
      f" allocated by {info.granule}: {accel.Capability(info.capabilities)!r}")

# %% Memory of the card: what has the buffer protocol goes in and comes out
memory = card.allocate(26)
memory.copy_from(b"abcdefghijklmnopqrstuvwxyz")
memory[2:5].fill(ord("-"))
print(memory.tobytes().decode())

back = bytearray(3)
accel.copy(back, memory[-3:])
print(back.decode())

# %% The processor cannot read it, and says so
try:
    memoryview(memory)
except BufferError as error:
    print("BufferError:", error)

# %% Page-locked memory of the host is both: a buffer, and what the card copies from beside the program
host = card.allocate_host(26)
view = memoryview(host)
view[:5] = b"HELLO"
with card.stream() as stream:
    begin = stream.record()
    memory[:5].copy_from(host[:5], stream)
    memory.copy_to(host, stream)
    end = stream.record()
print(bytes(view).decode())
print("the card took some time:", begin.elapsed_ns(end) >= 0)

# %% Memory of Python's own, pinned
data = bytearray(b"0123456789")
with card.register(data) as pinned, card.stream() as stream:
    memory[:10].copy_from(pinned, stream)
print(memory[:10].tobytes().decode())

# %% Rows that do not touch are copied as they lie
table = memoryview(bytearray(range(65, 85))).cast("B", (4, 5))
memory[:10].copy_from(table[::2])
print(memory[:10].tobytes().decode())

# %% With NumPy, where it is there: arrays over host memory, without a copy
try:
    import numpy
except ImportError:
    print("no NumPy")
else:
    letters = numpy.frombuffer(host, dtype=numpy.uint8, count=5)
    letters += 32
    same = numpy.from_dlpack(host[:5])  # read-only before NumPy 2.1
    print(bytes(view[:5]).decode(), (same == letters).all())
    del letters, same

# %% Failures are OSErrors with the errno, and a sentence
try:
    card.allocate(1 << 50)
except accel.Error as error:
    print(type(error).__name__, error.errno, "no 1125899906842624" in error.strerror)
try:
    memory.copy_from(b"short")
except ValueError as error:
    print("ValueError:", error)

# %% What was used
stats = card.stats()
print(f"{stats.mine_allocs} allocation of {stats.mine} bytes, {stats.bytes_h2d > 0}, "
      f"{stats.bytes_d2h > 0}")

# %% Views have to go before what they show
view.release()
card.close()
print(memory.freed, host.freed)
