#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# %% [markdown]
# # A tour of the module `accel`
#
# Cells begin with `# %%`: Jupyter (with jupytext), VS Code and Spyder show them as a notebook. As a
# program: `python3 tour.py [INDEX]`

# %% Devices
import sys

import accel

card = accel.open(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
info = card.info()
print(f"{accel.count()} devices; this is {info.name} at {info.bus_address} with {info.memory_size} bytes,"
      f" allocated by {info.granule}: {accel.Capability(info.capabilities)!r}")

# %% Device memory: copies from and to objects with the buffer protocol
memory = card.allocate(26)
memory.copy_from(b"abcdefghijklmnopqrstuvwxyz")
memory[2:5].fill(ord("-"))
print(memory.tobytes().decode())

back = bytearray(3)
accel.copy(back, memory[-3:])
print(back.decode())

# %% The CPU cannot access device memory that is not mapped
try:
    memoryview(memory)
except BufferError as error:
    print("BufferError:", error)

# %% Page-locked host memory: has the buffer protocol, and can be copied asynchronously
host = card.allocate_host(26)
view = memoryview(host)
view[:5] = b"HELLO"
with card.stream() as stream:
    begin = stream.record()
    memory[:5].copy_from(host[:5], stream)
    memory.copy_to(host, stream)
    end = stream.record()
print(bytes(view).decode())
print("the device took some time:", begin.elapsed_ns(end) >= 0)

# %% Memory of a Python object, registered (pinned)
data = bytearray(b"0123456789")
with card.register(data) as pinned, card.stream() as stream:
    memory[:10].copy_from(pinned, stream)
print(memory[:10].tobytes().decode())

# %% Arrays with gaps between rows
table = memoryview(bytearray(range(65, 85))).cast("B", (4, 5))
memory[:10].copy_from(table[::2])
print(memory[:10].tobytes().decode())

# %% NumPy, if it is installed: arrays over host memory, without a copy
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

# %% Errors are OSErrors with an errno and a message
try:
    card.allocate(1 << 50)
except accel.Error as error:
    print(type(error).__name__, error.errno, "no 1125899906842624" in error.strerror)
try:
    memory.copy_from(b"short")
except ValueError as error:
    print("ValueError:", error)

# %% Statistics
stats = card.stats()
print(f"{stats.mine_allocs} allocation of {stats.mine} bytes, {stats.bytes_h2d > 0}, "
      f"{stats.bytes_d2h > 0}")

# %% Views have to be released before their memory
view.release()
card.close()
print(memory.freed, host.freed)
