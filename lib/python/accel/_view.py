# SPDX-License-Identifier: MIT
"""Views of memory as arrays: element type, shape, slices."""

import itertools
import math
import numbers
import operator
import struct
import sys

from . import _accel

_FORMATS = {"bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
            "int64": "q", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d"}
# Prefixes of a format, and values of a byteorder, that are this machine's.
_NATIVE = "@=|" + ("<" if sys.byteorder == "little" else ">")
_NAMES = {**{code: name for name, code in _FORMATS.items()}, "l": "int64", "L": "uint64"}


def _dtype_name(dtype):
    """Takes a name, a format of struct, or a type of NumPy."""
    order = getattr(dtype, "byteorder", "=")
    if isinstance(order, str) and order not in tuple(_NATIVE):
        raise ValueError(f"dtype is {dtype!r}: its byte order has to be that of this machine, {sys.byteorder}")
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", dtype)
    name = _NAMES.get(name, name) if isinstance(name, str) else name
    if name not in _FORMATS:
        raise ValueError(f"dtype is {dtype!r}: it has to be one of {', '.join(_FORMATS)}")
    return name


def _contiguous(shape, itemsize):
    """Strides without gaps, the last dimension first in memory."""
    return tuple(math.prod(shape[i + 1:]) * itemsize for i in range(len(shape)))


def _layout(shape, itemsize, *strides):
    """The dimensions, innermost first, as (number, strides of each side). The innermost one is of bytes.
    Those without gaps on all sides are one."""
    layout = [(itemsize, (1,) * len(strides))]
    for number, *steps in reversed(list(zip(shape, *strides))):
        inner, inner_steps = layout[-1]
        if number == 1:
            continue
        if all(step == inner * inner_step for step, inner_step in zip(steps, inner_steps)):
            layout[-1] = (inner * number, inner_steps)
        else:
            layout.append((number, tuple(steps)))
    return layout


def _pack(dtype, values):
    """The bytes of numbers."""
    try:
        return struct.pack(f"{len(values)}{_FORMATS[dtype]}", *values)
    except struct.error as error:
        kind = OverflowError if all(hasattr(one, "__index__") for one in values) else TypeError
        raise kind(f"a value is no {dtype}: {error}") from None


def _is_raw(buffer):
    """Whether a memoryview is one of bytes or a bytearray, which have no element type."""
    return isinstance(buffer.obj, (bytes, bytearray)) and buffer.format == "B" and buffer.ndim == 1


def _flatten(values, shape):
    """The numbers of nested sequences."""
    if not shape or len(values) != shape[0]:
        raise ValueError(f"there are {len(values)} values for the dimensions {shape}")
    return values if len(shape) == 1 else [one for row in values for one in _flatten(row, shape[1:])]


class View:
    """An array over Memory: element type, shape, slices and slice assignment. Made by Memory.view().

    view[i, j] is an element; view[1:3] and view[:, 2:6] are views of the same memory. What is assigned to
    a slice is copied there: a number, nested lists or tuples of numbers, another view, Memory, or an
    object with the buffer protocol or DLPack. Two dimensions whose rows have no inner gaps are one copy."""

    __slots__ = ("_memory", "_dtype", "_shape", "_strides", "_offset", "__weakref__")

    def __init__(self, memory, dtype="uint8", shape=None):
        self._memory = memory
        self._dtype = _dtype_name(dtype)
        if shape is None:
            shape = memory.size // self.itemsize
        self._shape = tuple(map(operator.index, shape if hasattr(shape, "__iter__") else (shape,)))
        self._strides = _contiguous(self.shape, self.itemsize)
        self._offset = 0
        if min(self.shape, default=0) < 0 or self.nbytes != memory.size:
            raise ValueError(f"shape is {self.shape} of {self.dtype}, {self.nbytes} bytes: the memory has "
                             f"{memory.size}")

    @property
    def memory(self):
        """Memory that it is over."""
        return self._memory

    @property
    def dtype(self):
        """Name of the element type."""
        return self._dtype

    @property
    def shape(self):
        """Number of elements of each dimension."""
        return self._shape

    @property
    def strides(self):
        """Bytes from one element of each dimension to the next."""
        return self._strides

    @property
    def itemsize(self):
        """Bytes of an element."""
        return struct.calcsize(_FORMATS[self.dtype])

    @property
    def size(self):
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self):
        """Bytes of all elements, without gaps."""
        return self.size * self.itemsize

    @property
    def ndim(self):
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self):
        if not self.shape:
            raise TypeError("a view without dimensions has no length")
        return self.shape[0]

    def __repr__(self):
        return f"<accel.View of {self.memory.kind} memory, {self.dtype} {self.shape}>"

    # ---- slices ----

    def _slice(self, key):
        """The view that a key names; its shape is () for an element."""
        keys = list(key) if isinstance(key, tuple) else [key]
        if sum(one is Ellipsis for one in keys) > 1:
            raise IndexError("there may be one ... in an index")
        missing = self.ndim - sum(one is not Ellipsis for one in keys)
        if missing < 0:
            raise IndexError(f"there are {len(keys)} indices for {self.ndim} dimensions")
        at = keys.index(Ellipsis) if Ellipsis in keys else len(keys)
        keys[at:at + 1] = [slice(None)] * missing
        part = View.__new__(View)
        part._memory, part._dtype, part._offset = self.memory, self.dtype, self._offset
        dimensions = []
        for one, number, stride in zip(keys, self.shape, self.strides):
            if isinstance(one, slice):
                begin, end, step = one.indices(number)
                if step < 1:
                    raise ValueError(f"the step is {step}: it has to be at least 1")
                dimensions.append((len(range(begin, end, step)), stride * step))
            else:
                begin = operator.index(one)
                if not -number <= begin < number:
                    raise IndexError(f"index {begin} is out of a dimension of {number}")
                begin %= number
            part._offset += begin * stride
        part._shape = tuple(number for number, _ in dimensions)
        part._strides = tuple(stride for _, stride in dimensions)
        return part

    def __getitem__(self, key):
        part = self._slice(key)
        return part if part.shape else part._unpack()[0]

    def __iter__(self):
        """Rows, or the elements of one dimension."""
        return map(self.__getitem__, range(len(self)))

    def __setitem__(self, key, value):
        self._slice(key).copy_from(value)

    # ---- copies ----

    def _copy(self, other, strides, offset, stream, to_view):
        """To or from an object whose first byte is at an offset, and whose dimensions have the strides."""
        sides = (self.strides, strides) if to_view else (strides, self.strides)
        layout = _layout(self.shape, self.itemsize, *sides)
        width = layout[0][0]
        rows, pitches = layout[1] if len(layout) > 1 else (1, (width, width))
        for place in itertools.product(*(range(number) for number, _ in layout[2:])) if self.size else ():
            starts = [sum(at * steps[side] for at, (_, steps) in zip(place, layout[2:])) for side in (0, 1)]
            places = [self._offset, offset] if to_view else [offset, self._offset]
            ends = (self.memory, other) if to_view else (other, self.memory)
            _accel.copy_rows(*ends, width, rows, *pitches, *map(operator.add, starts, places), stream)

    def _check(self, shape, dtype):
        if (shape, dtype) != (self.shape, self.dtype):
            raise ValueError(f"{dtype} {shape} is not the view's {self.dtype} {self.shape}")

    def _host(self, value, writable):
        """An object with the buffer protocol, contiguous; bytes are taken as they are."""
        value = _accel.tensor_buffer(value)
        with memoryview(value) as buffer:
            if not _is_raw(buffer):
                self._check(buffer.shape, _NAMES.get(buffer.format.lstrip(_NATIVE), buffer.format))
            elif buffer.nbytes != self.nbytes:
                raise ValueError(f"there are {buffer.nbytes} bytes: the view has {self.nbytes}")
            if buffer.c_contiguous:
                return value
            if writable:
                raise BufferError("the destination is not C-contiguous: give one that is")
            return buffer.tobytes()

    def _extent(self):
        """Addresses of the first byte, and of the one behind the last."""
        begin = self.memory.address + self._offset
        return begin, begin + sum((number - 1) * stride for number, stride in
                                  zip(self.shape, self.strides)) + self.itemsize

    def _overlaps(self, other):
        """Whether the other one, a View or Memory, is in the same bytes, or between them."""
        begin, end = self._extent()
        other_begin, other_end = (other._extent() if isinstance(other, View) else
                                  (other.address, other.address + other.size))
        return self.size and begin < other_end and other_begin < end

    def _transfer(self, other, stream, to_view):
        if isinstance(other, View):
            self._check(other.shape, other.dtype)
            if stream is None and self._overlaps(other):
                source, destination = (other, self) if to_view else (self, other)
                destination.copy_from(source.tobytes())
                return
            self._copy(other.memory, other.strides, other._offset, stream, to_view)
            return
        if not isinstance(other, _accel.Memory):
            other = self._host(other, not to_view)
        elif other.size != self.nbytes:
            raise ValueError(f"there are {other.size} bytes: the view has {self.nbytes}")
        elif stream is None and self._overlaps(other):
            if to_view:
                other = other.tobytes()
            else:
                other.copy_from(self.tobytes())
                return
        self._copy(other, _contiguous(self.shape, self.itemsize), 0, stream, to_view)

    def copy_from(self, source, stream=None):
        """Copies what may be assigned to the view into it. On a stream it is queued, and then a view of the
        same memory may not overlap this one."""
        if isinstance(source, numbers.Number):
            self.fill(source, stream)
            return
        if isinstance(source, (list, tuple)):
            source = _pack(self.dtype, _flatten(source, self.shape))
        self._transfer(source, stream, True)

    def copy_to(self, destination, stream=None):
        """Copies the elements to another view, Memory, or a writable object with the buffer protocol or
        DLPack."""
        self._transfer(destination, stream, False)

    def fill(self, value, stream=None):
        """Sets every element to a number."""
        pattern = _pack(self.dtype, [value])
        if self.strides == _contiguous(self.shape, self.itemsize):
            self.memory[self._offset:self._offset + self.nbytes].fill(pattern, stream)
        else:
            self._transfer(pattern * self.size, stream, True)

    def _unpack(self):
        return struct.unpack(f"{self.size}{_FORMATS[self.dtype]}", self.tobytes())

    def tobytes(self):
        """A copy of the elements, without gaps."""
        data = bytearray(self.nbytes)
        self.copy_to(data)
        return bytes(data)

    def tolist(self):
        """The elements as numbers in nested lists; one number if there is no dimension."""
        values = list(self._unpack())
        for number in reversed(self.shape[1:]):
            values = [values[at:at + number] for at in range(0, len(values), number)]
        return values if self.shape else values[0]

    def __array__(self, dtype=None, copy=None):
        """For numpy.asarray(): a copy in an array of NumPy."""
        import numpy  # pylint: disable=import-outside-toplevel
        if copy is False:
            raise ValueError("an array of a view is a copy")
        array = numpy.frombuffer(bytearray(self.tobytes()), self.dtype).reshape(self.shape)
        return array if dtype is None else array.astype(dtype)
