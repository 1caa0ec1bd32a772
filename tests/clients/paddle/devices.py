# SPDX-License-Identifier: MIT
"""Replaces core.init_devices(), which Paddle calls at the end of its import to load the plugin and to
open the devices.
"""

import importlib.abc
import importlib.machinery
import sys


class _Library(importlib.abc.MetaPathFinder):
    """Finds the library in C++ as usual, and takes its init_devices()."""

    def __init__(self):
        self.init = None
        self.instead = None

    def find_spec(self, name, path, target=None):
        if name != "paddle.base.libpaddle":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            self.init = module.init_devices
            module.init_devices = self.instead

        spec.loader.exec_module = exec_module
        return spec


_LIBRARY = _Library()


def is_replaced():
    return _LIBRARY.instead is not None


def replace(function):
    """Before Paddle is imported: it calls this instead."""
    _LIBRARY.instead = function
    sys.meta_path.insert(0, _LIBRARY)


def init():
    """What it would have called."""
    _LIBRARY.init()
