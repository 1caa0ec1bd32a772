# SPDX-License-Identifier: MIT
"""Builds the modules accel and acl with make, and packs them with libaccel and libaccel_acl, which lie
in a folder accel.libs beside them.

The modules are written to the stable ABI, acl to that of 3.9 and accel to that of 3.11. So there are two
wheels of a version: cp311-abi3 has both modules, cp39-abi3 has acl, and an accel that raises ImportError with
the reason. An installer takes the first one where it can. Each Python builds the newest one that it can use;
`bdist_wheel --py-limited-api cp39` builds the other one.

A source archive has the sources of the libraries too, as they lie in the repository."""

import os
import platform
import re
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
# In a source archive this file is at the top.
TOP = HERE if os.path.exists(os.path.join(HERE, "lib/rules.mk")) else os.path.dirname(os.path.dirname(HERE))
RULES = ("lib/rules.mk", "lib/acl/rules.mk", "lib/python/rules.mk")
SOURCES = (*RULES, "lib/libaccel.map", "lib/core", "lib/pool", "lib/acl", "lib/python/accel", "lib/python/acl",
           "include/accel", "include/uapi", "LICENSES")
LIBRARIES = ("build/lib/libaccel.so", "build/lib/libaccel_acl.so")
# Of setuptools, and not in the tree.
SCRATCH = os.path.join(TOP, "build/python")
MODULES = f"build/python/{sys.implementation.cache_tag}"
ABIS = ("cp39", "cp311") if sys.version_info >= (3, 11) else ("cp39",)
# What the package consists of.
PARTS = ("acl", "accel", "accel.libs")


def version():
    """The header of libaccel has it."""
    with open(os.path.join(TOP, "include/accel/accel.h"), encoding="utf-8") as file:
        return ".".join(re.findall(r"^#define ACCEL_VERSION_\w+ (\d+)$", file.read(), re.M))


def left_out(abi):
    """Names that a wheel does not have."""
    return ("__pycache__",) if abi == "cp311" else ("__pycache__", "_accel.abi3.so", "*.pyi")


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
        # The folder may be one of the caller's, with other files.
        for part in PARTS:
            shutil.rmtree(os.path.join(self.build_lib, part), ignore_errors=True)
        wanted = self.get_finalized_command("bdist_wheel").py_limited_api
        for module, abi in (("acl", "cp311"), ("accel", wanted)):
            shutil.copytree(os.path.join(built, module), os.path.join(self.build_lib, module),
                            ignore=shutil.ignore_patterns(*left_out(abi)))
        libraries = os.path.join(self.build_lib, "accel.libs")
        os.makedirs(libraries)
        # By the names that the modules ask for, which are what the links lead to.
        for name in LIBRARIES:
            shutil.copy(os.path.realpath(os.path.join(TOP, name)), libraries)


def needed_glibc(folder):
    """The newest version of glibc that a library below the folder asks for."""
    found = {(2, 17)}
    for place, _, names in os.walk(folder):
        for name in names:
            if ".so" in name:
                with open(os.path.join(place, name), "rb") as file:
                    found |= {(int(major), int(minor)) for major, minor in
                              re.findall(rb"\0GLIBC_(\d+)\.(\d+)", file.read())}
    return max(found)


class Wheel(bdist_wheel):
    """Of one kind of machine, and of every Python that the stable ABI serves."""

    def initialize_options(self):
        super().initialize_options()
        self.py_limited_api = ABIS[-1]

    def finalize_options(self):
        super().finalize_options()
        if self.py_limited_api not in ABIS:
            sys.exit(f"--py-limited-api is {self.py_limited_api}: this Python builds {' and '.join(ABIS)}")

    def get_tag(self):
        python, abi, machine = super().get_tag()
        if machine.startswith("linux_") and platform.libc_ver()[0] == "glibc":
            glibc = needed_glibc(self.get_finalized_command("build").build_lib)
            machine = machine.replace("linux_", "manylinux_{}_{}_".format(*glibc))
        return python, abi, machine


class Sdist(sdist):
    """With what make needs, in the folders of the repository."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in SOURCES:
            source, target = os.path.join(TOP, name), os.path.join(base_dir, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if os.path.isdir(source):
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"),
                                dirs_exist_ok=True)
            else:
                shutil.copy(source, target)


class Binary(Distribution):
    """One that belongs to a machine, as one with extension modules."""

    def has_ext_modules(self):
        return True


os.makedirs(SCRATCH, exist_ok=True)
setup(version=version(), packages=[], distclass=Binary,
      cmdclass={"build": Build, "bdist_wheel": Wheel, "sdist": Sdist},
      options={"build": {"build_base": os.path.join(SCRATCH, "setuptools")},
               "egg_info": {"egg_base": SCRATCH}})
