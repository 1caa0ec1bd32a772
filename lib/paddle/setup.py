# SPDX-License-Identifier: MIT
"""Builds the plugin and libaccel with make, and packs both into the folder that Paddle looks into,
beside its own package. There is no Python in it, so it serves every version of Python."""

import os
import re
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
PLUGIN = "build/lib/paddle_custom_device/libpaddle_accel.so"
# The engine of paddle.distributed: only where libgloo-dev is, and not in a wheel for other machines, which would have
# to contain gloo and the libraries for InfiniBand that it needs.
ENGINE = "build/lib/paddle_custom_device/libpaddle_accel_gloo.so.1"
HAS_GLOO = os.path.exists("/usr/include/gloo/context.h") and not os.environ.get("WITHOUT_GLOO")
FILES = (PLUGIN, "build/lib/libaccel.so", *((ENGINE,) if HAS_GLOO else ()))
# Of setuptools, and not in the tree.
SCRATCH = os.path.join(TOP, "build/paddle")


def version():
    """The header of libaccel has it."""
    with open(os.path.join(TOP, "include/accel/accel.h"), encoding="utf-8") as file:
        return ".".join(re.findall(r"^#define ACCEL_VERSION_\w+ (\d+)$", file.read(), re.M))


class Build(build):
    """The libraries alone: the Makefile at the top would ask for all that the tests need."""

    def run(self):
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("BUILD", "MAKEFLAGS", "MAKELEVEL")}
        subprocess.run(["make", "-f", "lib/rules.mk", "-f", "lib/paddle/rules.mk", PLUGIN,
                        *((ENGINE,) if HAS_GLOO else ())],
                       cwd=TOP, env=environment, check=True)
        target = os.path.join(self.build_lib, "paddle_custom_device")
        # What an earlier build has left would be in the wheel, too.
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(target)
        # libaccel by the name that the plugin asks for, which is what the link leads to.
        for name in FILES:
            shutil.copy(os.path.realpath(os.path.join(TOP, name)), target)


class Wheel(bdist_wheel):
    """Of one machine and of any Python."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class Binary(Distribution):
    """One that belongs to a machine, as one with extension modules."""

    def has_ext_modules(self):
        return True


os.makedirs(SCRATCH, exist_ok=True)
setup(version=version(), packages=[], distclass=Binary,
      cmdclass={"build": Build, "bdist_wheel": Wheel},
      options={"build": {"build_base": SCRATCH}, "egg_info": {"egg_base": SCRATCH}})
