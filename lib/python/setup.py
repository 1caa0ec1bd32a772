# SPDX-License-Identifier: MIT
"""Builds the modules accel and acl with make, and packs them with libaccel and libaccel_acl, which lie
in a folder accel.libs beside them.

Both are written to the stable ABI, acl to that of 3.9 and accel to that of 3.11. So one wheel that was
built with 3.11 or later serves all from 3.9 on; in older ones accel says what it needs. What is built
with an older one has acl only, and is for that one."""

import os
import re
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
RULES = ("lib/rules.mk", "lib/acl/rules.mk", "lib/python/rules.mk")
LIBRARIES = ("build/lib/libaccel.so", "build/lib/libaccel_acl.so")
# Of setuptools, and not in the tree.
SCRATCH = os.path.join(TOP, "build/python")
MODULES = f"build/python/{sys.implementation.cache_tag}"
WHOLE = sys.version_info >= (3, 11)


def version():
    """The header of libaccel has it."""
    with open(os.path.join(TOP, "include/accel/accel.h"), encoding="utf-8") as file:
        return ".".join(re.findall(r"^#define ACCEL_VERSION_\w+ (\d+)$", file.read(), re.M))


class Build(build):
    """The modules alone: the Makefile at the top would ask for all that the tests need."""

    def run(self):
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("BUILD", "MAKEFLAGS", "MAKELEVEL")}
        rules = [word for name in RULES for word in ("-f", name)]
        subprocess.run(["make", *rules, f"PYTHON={sys.executable}", f"PYTHON_OUT={MODULES}",
                        "python"], cwd=TOP, env=environment, check=True)
        built = os.path.join(TOP, MODULES)
        if not os.path.exists(os.path.join(built, "acl/_acl.abi3.so")):
            sys.exit(f"there is no Python.h for {sys.executable}: install its headers "
                     "(Debian: python3-dev)")
        shutil.copytree(built, self.build_lib, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("__pycache__"))
        libraries = os.path.join(self.build_lib, "accel.libs")
        os.makedirs(libraries, exist_ok=True)
        # By the names that the modules ask for, which are what the links lead to.
        for name in LIBRARIES:
            shutil.copy(os.path.realpath(os.path.join(TOP, name)), libraries)


class Wheel(bdist_wheel):
    """Of one machine, and of every Python that the stable ABI serves."""

    def get_tag(self):
        tag = super().get_tag()
        return ("cp39", "abi3", tag[2]) if WHOLE else tag


class Binary(Distribution):
    """One that belongs to a machine, as one with extension modules."""

    def has_ext_modules(self):
        return True


os.makedirs(SCRATCH, exist_ok=True)
setup(version=version(), packages=[], distclass=Binary,
      cmdclass={"build": Build, "bdist_wheel": Wheel},
      options={"build": {"build_base": os.path.join(SCRATCH, "setuptools")},
               "egg_info": {"egg_base": SCRATCH}})
