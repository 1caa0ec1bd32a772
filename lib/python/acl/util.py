# SPDX-License-Identifier: MIT
"""Between addresses and objects of Python. Device memory is refused: the processor cannot read it."""

from ._acl import bytes_to_ptr, check_ptr as _check_ptr, ptr_to_bytes

# Numbers of NumPy's types, those that are documented.
_TYPES = {0: "?", 1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "i8", 8: "u8",
          11: "f4", 12: "f8", 23: "f2"}


class _Memory:
    """What NumPy makes an array of."""

    def __init__(self, ptr, shape, dtype):
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str,
                                    "data": (ptr, False)}


def ptr_to_numpy(ptr, shape, npy_type, /):
    """An array over host memory, which has to live as long as the array does."""
    import numpy  # pylint: disable=import-outside-toplevel
    if not isinstance(shape, (tuple, list)) or not all(type(size) is int for size in shape):
        raise TypeError(f"ptr_to_numpy(): shape has to be a tuple of ints, not {shape!r}")
    if any(size < 0 for size in shape):
        raise ValueError(f"ptr_to_numpy(): shape is {shape!r}: sizes are at least 0")
    if type(npy_type) is not int:
        raise TypeError(f"ptr_to_numpy(): npy_type has to be an int, not {npy_type!r}")
    if npy_type not in _TYPES:
        raise ValueError(f"ptr_to_numpy(): npy_type is {npy_type}: there are "
                         + ", ".join(map(str, _TYPES)))
    dtype = numpy.dtype(_TYPES[npy_type])
    size = dtype.itemsize
    for length in shape:
        size *= length
    _check_ptr(ptr, size)
    if not size:
        return numpy.empty(shape, dtype)
    return numpy.asarray(_Memory(int(ptr), tuple(shape), dtype))


def numpy_to_ptr(array, /):
    """Address of a C-contiguous array, which has to live as long as it is used."""
    interface = getattr(array, "__array_interface__", None)
    if not isinstance(interface, dict):
        raise TypeError(f"numpy_to_ptr(): array has to be an array of NumPy, not {type(array)}")
    if interface.get("strides") is not None:
        raise ValueError("numpy_to_ptr(): the array is not C-contiguous: "
                         "numpy.ascontiguousarray() makes one that is")
    return interface["data"][0]


__all__ = ["bytes_to_ptr", "numpy_to_ptr", "ptr_to_bytes", "ptr_to_numpy"]
