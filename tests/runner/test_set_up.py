# SPDX-License-Identifier: MIT
"""Tests that qemu/setup trusts nothing that was interrupted."""

import os
import signal
import subprocess
import tempfile

from guests import PATIENCE, TOP, contains, equal, wait_until

SETUP = os.path.join(TOP, "qemu/setup")


def setup(cache, *words, **env):
    return subprocess.run([SETUP, *words], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE,
                          env={**os.environ, "XDG_CACHE_HOME": cache, **env})


def package_set(name):
    with tempfile.TemporaryDirectory() as cache:
        result = setup(cache, "print", "packages", name)
    equal((result.returncode, result.stderr), (0, ""))
    return result.stdout.split()


def nothing_is_trusted(cache, kernel):
    result = setup(cache, "print", kernel, "image")
    equal((result.returncode, result.stdout), (1, ""))
    contains(result.stderr, "is not set up")
    assert not os.path.exists(os.path.join(cache, "paccel/kernel", kernel))


def stand_in(directory, name, script):
    path = os.path.join(directory, name)
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n" + script)
    os.chmod(path, 0o755)


def with_apt_get(script):
    """A download with an apt-get that does what the script says instead."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as programs:
        stand_in(programs, "apt-get", 'for word; do [ "$word" != update ] || exit 0; done\n' + script)
        result = setup(cache, "kernel", "6.12", PATH=f"{programs}:{os.environ['PATH']}",
                       NO_INSTALL="")
        assert result.returncode != 0, result
        nothing_is_trusted(cache, "6.12")
        return result


def test_setup_a_failed_download():
    contains(with_apt_get("echo half >image.deb; exit 100\n").stderr, "none is in")


def test_setup_a_damaged_download():
    with_apt_get("echo half >image.deb; exit 0\n")


def test_setup_a_killed_download():
    with_apt_get("echo half >image.deb; kill -KILL $PPID\n")


def test_setup_an_interrupted_build():
    real = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    with tempfile.TemporaryDirectory() as cache:
        os.mkdir(os.path.join(cache, "paccel"))
        os.symlink(os.path.join(real, "paccel/source"), os.path.join(cache, "paccel/source"))
        with subprocess.Popen([SETUP, "kernel", "debug"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True,
                              env={**os.environ, "XDG_CACHE_HOME": cache, "JOBS": "1",
                                   "NO_INSTALL": ""}) as process:
            log = os.path.join(cache, "paccel/tmp/kernel-debug/log")
            wait_until(lambda: os.path.exists(log) and os.path.getsize(log) > 100, "it builds")
            os.killpg(process.pid, signal.SIGKILL)
        nothing_is_trusted(cache, "debug")


def with_tar(script):
    """The disk of Paddle with a tar that does what the script says instead; it is the first
    program that its build needs. All packages are there, says dpkg-query."""
    names = package_set("disk")
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as programs:
        stand_in(programs, "dpkg-query", "".join(f"echo installed {name}\n" for name in names))
        stand_in(programs, "tar", script)
        result = setup(cache, "paddle", "3.3.1", PATH=f"{programs}:{os.environ['PATH']}",
                       NO_INSTALL="")
        assert result.returncode != 0, result
        printed = setup(cache, "print", "paddle", "3.3.1")
        equal((printed.returncode, printed.stdout), (1, ""))
        contains(printed.stderr, "is not set up")
        return result


def test_setup_a_disk_that_cannot_be_made():
    contains(with_tar("exit 1\n").stderr, "the disk of paddle 3.3.1 could not be made")


def test_setup_a_killed_build_of_a_disk():
    with_tar("kill -KILL $PPID\n")


def test_setup_libraries_that_cannot_be_had():
    with tempfile.TemporaryDirectory() as cache:
        result = setup(cache, "sundials", "7.9.0", PIP_INDEX_URL="http://127.0.0.1:9/simple",
                       PIP_RETRIES="0", NO_INSTALL="")
        assert result.returncode != 0, result
        contains(result.stderr, "sundials 7.9.0 could not be had")
        printed = setup(cache, "print", "sundials", "7.9.0")
        equal((printed.returncode, printed.stdout), (1, ""))
        contains(printed.stderr, "is not set up")


def test_setup_a_target_gets_what_it_uses():
    demo = set(package_set("run"))
    assert len(demo) <= 14, demo
    for name in ("clang", "sparse", "shellcheck", "python3-numpy"):
        assert name not in demo, name
    for less, more in (("run", "check-quick"), ("check-quick", "check"), ("check", "check-full"),
                       ("run", "fuzz"), ("run", "bench"), ("check", "coverage")):
        assert set(package_set(less)) <= set(package_set(more)), (less, more)


def install(set_name, status):
    """Packages on a machine that has none, with an apt-get that ends with this status."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as programs:
        stand_in(programs, "dpkg-query", "exit 0\n")
        stand_in(programs, "apt-get", f'echo "apt-get $*"\nexit {status}\n')
        return setup(cache, "packages", set_name, NO_INSTALL="",
                     PATH=f"{programs}:{os.environ['PATH']}")


def test_setup_packages_are_installed_quietly():
    names = " ".join(package_set("run"))
    result = install("run", 0)
    equal((result.returncode, result.stdout, result.stderr), (0, "", f"setup: installing: {names}\n"))


def test_setup_packages_that_cannot_be_installed():
    """What apt-get said is shown then."""
    names = " ".join(package_set("run"))
    result = install("run", 100)
    equal(result.returncode, 1)
    contains(result.stderr, f"apt-get install -q -y --no-install-recommends {names}\n")
    contains(result.stderr, f"apt-get could not install: {names}\n")


def test_setup_no_install_only_names():
    with tempfile.TemporaryDirectory() as cache:
        for item in (["kernel", "6.12"], ["kernel", "debug"], ["source"], ["clang-tree"],
                     ["paddle", "3.3.1"], ["sundials", "7.6.0"], ["sundials"]):
            result = setup(cache, *item, NO_INSTALL="1")
            equal(result.returncode, 1)
            contains(result.stderr, "NO_INSTALL is set and ")


def test_setup_no_install_names_all():
    """That `make check` needs, not just the first."""
    with tempfile.TemporaryDirectory() as cache:
        result = setup(cache, "all", NO_INSTALL="1")
        equal(result.returncode, 1)
        for item in ("kernel 6.1", "kernel 6.12", "paddle 3.3.1"):
            contains(result.stderr, f"NO_INSTALL is set and {item} is not in ")


def test_setup_bad_words():
    with tempfile.TemporaryDirectory() as cache:
        for words, why in ((["kernel", "nosuch"], "no kernel is called 'nosuch'"),
                           (["paddle", "nosuch"], "there is no release 'nosuch'"),
                           (["paddle"], "which release"), (["print", "paddle"], "which release"),
                           (["sundials", "nosuch"], "there is no release 'nosuch'"),
                           (["print", "sundials"], "which release"),
                           (["kernel"], "which kernel"), (["packages"], "which set"),
                           (["packages", "nosuch"], "there is no set of packages 'nosuch'"), (["nosuch"], "usage"),
                           (["print"], "print what"), ([], "usage")):
            result = setup(cache, *words)
            assert result.returncode != 0, words
            contains(result.stderr, why)
