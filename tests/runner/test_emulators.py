# SPDX-License-Identifier: MIT
"""Other versions of QEMU: `qemu/setup qemu` and `qemu/run --qemu-version`."""

import os
import subprocess
import sys

import pytest

from guests import FAILED, TOP, contains, ended, equal, failed, run
from test_set_up import setup, stand_in

sys.path.insert(0, os.path.join(TOP, "qemu"))
# pylint: disable=wrong-import-position
from runner import RunnerError, architecture, emulator  # noqa: E402

LIBRARIES = "usr/lib/x86_64-linux-gnu"
CANNOT_HAVE = 77
# It prints what a QEMU would be started with.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	puts("QEMU emulator version 11.9.8 (a test)");
	for (int i = 0; i < argc; i++)
		puts(argv[i]);
	puts(getenv("QEMU_MODULE_DIR"));
	return 0;
}
"""
AMD64 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="its packages are for amd64")


class Archive:
    """A stand-in for Debian's archive with one package, which contains the program, the loader and the C library."""

    def __init__(self, directory, version):
        self.cache = str(directory / "cache")
        self.programs = str(directory / "programs")
        self.log = str(directory / "log")
        os.mkdir(self.programs)
        package = self._package(directory)
        stand_in(self.programs, "apt-cache", f'case "$*" in *policy*) echo "  Candidate: 1:{version}" ;; esac\n')
        stand_in(self.programs, "apt-get", f"""
            [ "$1" != indextargets ] || exec /usr/bin/apt-get "$@"
            echo "$*" >>{self.log}
            for word; do
                case $word in Dir::Cache::archives=*) cp {package} "${{word#*=}}" ;; esac
            done
            """)

    @staticmethod
    def _package(directory):
        root = directory / "root"
        for path in ("DEBIAN", "usr/bin", LIBRARIES, "usr/share/doc/qemu"):
            os.makedirs(root / path)
        (root / "DEBIAN/control").write_text("Package: qemu\nVersion: 1\nArchitecture: all\nDescription: a test\n"
                                             "Maintainer: maintainers <root@localhost>\n")
        (root / "usr/share/doc/qemu/copyright").write_text("none\n")
        subprocess.run(["gcc", "-x", "c", "-", "-o", root / "usr/bin/qemu-system-x86_64"], input=PROGRAM, text=True,
                       check=True)
        for name in ("ld-linux-x86-64.so.2", "libc.so.6"):
            subprocess.run(["cp", "-L", f"/{LIBRARIES.removeprefix('usr/')}/{name}", root / LIBRARIES], check=True)
        package = directory / "qemu.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, package], check=True,
                       stdout=subprocess.DEVNULL)
        return package

    def setup(self, *words, **env):
        return setup(self.cache, *words, **{"NO_INSTALL": "", "PATH": f"{self.programs}:{os.environ['PATH']}", **env})

    def asked(self):
        """How often apt-get was called."""
        try:
            with open(self.log, encoding="utf-8") as file:
                return len(file.readlines())
        except FileNotFoundError:
            return 0


@AMD64
def test_a_version_runs_on_its_own_libraries(tmp_path):
    archive = Archive(tmp_path, "11.9.8+ds-1~bpo13+1")
    result = archive.setup("qemu", "11")
    equal((result.returncode, result.stdout), (0, ""))
    program = archive.setup("print", "qemu", "11").stdout.strip()
    home = os.path.dirname(program)
    # The host's libraries could be too old, and its loader is another.
    contains(open(program, encoding="utf-8").read(), '--library-path "$here/usr/lib')
    assert not os.path.exists(f"{home}/usr/share/doc")
    printed = subprocess.run([program, "-S"], capture_output=True, text=True, check=True).stdout.splitlines()
    equal(printed[2:], ["-L", f"{home}/usr/share/qemu", "-L", f"{home}/usr/share/seabios", "-S",
                        f"{home}/{LIBRARIES}/qemu"])
    os.environ["XDG_CACHE_HOME"], before = archive.cache, os.environ.get("XDG_CACHE_HOME")
    try:
        found = emulator.find("11", architecture.AMD64)
        with pytest.raises(RunnerError, match="QEMU 11 is set up for other guests than those of arm64"):
            emulator.find("11", architecture.ARM64)
    finally:
        del os.environ["XDG_CACHE_HOME"]
        os.environ.update({"XDG_CACHE_HOME": before} if before else {})
    equal((found.program, found.version, str(found)), (program, (11, 9, 8), "QEMU 11.9.8"))
    calls = archive.asked()
    equal(archive.setup("qemu", "11").returncode, 0)
    equal(archive.asked(), calls)


@AMD64
@pytest.mark.parametrize("version", ["12.0.0+ds-1", "10.2.0", "110.0.0"])
def test_the_archive_has_another_version(version, tmp_path):
    archive = Archive(tmp_path, version)
    result = archive.setup("qemu", "11")
    equal(result.returncode, CANNOT_HAVE)
    contains(result.stderr, "QEMU 11 is not in Debian trixie-backports, and not in ")
    equal(archive.setup("print", "qemu", "11").returncode, 1)


@AMD64
def test_a_download_that_fails(tmp_path):
    archive = Archive(tmp_path, "11.0.0")
    stand_in(archive.programs, "apt-get", '[ "$1" != indextargets ] || exec /usr/bin/apt-get "$@"\n'
                                          'case "$*" in *download-only*) echo no network; exit 100 ;; esac\n')
    result = archive.setup("qemu", "11")
    equal(result.returncode, CANNOT_HAVE)
    contains(result.stderr, "no network")
    contains(archive.setup("print", "qemu", "11").stderr, "QEMU 11 is not set up: run qemu/setup qemu 11")


@AMD64
def test_a_program_that_does_not_start(tmp_path):
    archive = Archive(tmp_path, "11.0.0")
    subprocess.run(["rm", tmp_path / "root/usr/bin/qemu-system-x86_64"], check=True)
    subprocess.run(["dpkg-deb", "-b", tmp_path / "root", tmp_path / "qemu.deb"], check=True, stdout=subprocess.DEVNULL)
    result = archive.setup("qemu", "11")
    equal(result.returncode, 1)
    contains(result.stderr, "QEMU 11 does not start")
    equal(archive.setup("print", "qemu", "11").returncode, 1)


def test_bad_versions(tmp_path):
    for words, why in ((["qemu", "5"], "there is no QEMU '5' to set up: there are 10 11"),
                       (["qemu"], "which version of QEMU"), (["print", "qemu"], "which version")):
        result = setup(str(tmp_path), *words)
        assert result.returncode == 1, words
        contains(result.stderr, why)
    for version in ("11", "../11"):
        failed(run("true", "--qemu-version", version, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}), FAILED,
               f"QEMU {version} is not set up: run qemu/setup qemu {version}")


def test_the_runner_tells_its_emulator():
    for obstacle, word in (("tcg", "TCG, not KVM: PACCEL_ACCEL is tcg"), ("kvm", "KVM")):
        result = subprocess.run([os.path.join(TOP, "qemu/run"), "--print-qemu"], capture_output=True, text=True,
                                check=False, env={**os.environ, "PACCEL_ACCEL": obstacle})
        equal((result.returncode, result.stderr), (0, ""))
        assert result.stdout.startswith("QEMU ") and result.stdout.endswith(f" with {word}\n"), result.stdout


@pytest.mark.parametrize("version", ["10", "11"])
def test_a_guest_of_another_version(version):
    """The version of QEMU is in what it tells its guest: the name of the machine."""
    if setup(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "qemu", version,
             NO_INSTALL="").returncode == CANNOT_HAVE:
        pytest.skip(f"no QEMU {version}")
    result = run("cat /sys/class/dmi/id/product_version", "--qemu-version", version)
    ended(result, 0)
    contains(result.stdout.decode(), f"pc-q35-{version}.")
