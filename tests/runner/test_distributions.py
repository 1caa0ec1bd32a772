# SPDX-License-Identifier: MIT
"""qemu/setup on distributions other than Debian: it installs nothing, and names what is missing as they do."""

import os
import re
import subprocess

import pytest

from guests import TOP, contains, equal
from test_set_up import package_set, setup, stand_in

UBUNTU = 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n'
MINT = 'PRETTY_NAME="Linux Mint 22"\nID=linuxmint\nID_LIKE="ubuntu debian"\n'
FEDORA = 'PRETTY_NAME="Fedora Linux 42 (Workstation Edition)"\nID=fedora\nVERSION_ID=42\n'
ROCKY = 'PRETTY_NAME="Rocky Linux 9"\nID="rocky"\nID_LIKE="rhel centos fedora"\n'
ARCH = 'PRETTY_NAME="Arch Linux"\nID=arch\n'
DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\nVERSION_CODENAME=trixie\n'
# What set-up itself uses.
TOOLS = ("awk", "bash", "basename", "cat", "dirname", "echo", "env", "flock", "grep", "head", "id", "mkdir", "mktemp", "nproc",
         "rm", "sed", "sort", "xargs")


class Machine:
    """Of this distribution, with these commands and what set-up itself needs."""

    def __init__(self, directory, release, commands=()):
        self.release = str(directory / "os-release")
        self.cache = str(directory / "cache")
        self.programs = str(directory / "programs")
        os.mkdir(self.programs)
        with open(self.release, "w", encoding="utf-8") as file:
            file.write(release)
        for name in TOOLS:
            path = subprocess.run(["which", name], capture_output=True, text=True, check=True).stdout.strip()
            os.symlink(path, os.path.join(self.programs, name))
        self.add(*commands)

    def add(self, *commands, script="exit 0\n"):
        for name in commands:
            stand_in(self.programs, name, script)

    def setup(self, *words):
        return setup(self.cache, *words, OS_RELEASE=self.release, PATH=self.programs, NO_INSTALL="")


def said(result, status=1):
    equal((result.returncode, result.stdout), (status, ""))
    return result.stderr


def all_packages():
    names = set()
    for line in subprocess.run([os.path.join(TOP, "qemu/setup"), "packages", "none of them"], capture_output=True,
                               text=True, check=False).stderr.split("there are ")[1].split():
        names |= set(package_set(line))
    return names


def table(name):
    """The keys and values of an array of the shell."""
    with open(os.path.join(TOP, "qemu/setup.d/distributions.sh"), encoding="utf-8") as file:
        body = re.search(rf"declare -A {name}=\(\n(.*?)\n\)", file.read(), re.S).group(1)
    return dict(re.findall(r"^\t\[(\S+)\]=(\S+)$", body, re.M))


@pytest.mark.parametrize("release, name", [(UBUNTU, "Ubuntu 24.04.3 LTS"), (MINT, "Linux Mint 22")])
def test_ubuntu(release, name, tmp_path):
    machine = Machine(tmp_path, release, ["apt-get"])
    machine.add("dpkg-query", script="echo installed busybox-static; echo installed gcc\n")
    names = [package for package in package_set("run") if package not in ("busybox-static", "gcc")]
    equal(said(machine.setup("packages", "run")),
          f"setup: {name}: packages are missing, please run: apt-get install {' '.join(names)}\n")
    contains(said(machine.setup("packages", "site")), " chromium-browser chromium-chromedriver ")
    contains(said(machine.setup("kernel", "6.12")), f"comes from Debian's archive and this is {name}; a container")


def test_ubuntu_with_all_of_it(tmp_path):
    machine = Machine(tmp_path, UBUNTU, ["apt-get"])
    machine.add("dpkg-query", script="".join(f"echo installed {name}\n" for name in
                                             [*package_set("site"), "chromium-browser", "chromium-chromedriver"]
                                             if name not in ("chromium", "chromium-driver")))
    equal(said(machine.setup("packages", "site"), 0), "")


@pytest.mark.parametrize("release, name", [
    (FEDORA, "Fedora Linux 42 (Workstation Edition)"), (ROCKY, "Rocky Linux 9")])
def test_fedora(release, name, tmp_path):
    machine = Machine(tmp_path, release, ["gcc", "make"])
    # The headers that this machine has are found.
    headers = {"glibc-devel": "/usr/include/stdlib.h", "json-c-devel": "/usr/include/json-c/json.h"}
    wanted = ["busybox", *[name for name, path in headers.items() if not os.path.exists(path)], "kmod", "dwarves", "perl",
              "pkgconf-pkg-config", "python3", "qemu-system-x86-core"]
    error = said(machine.setup("packages", "run"))
    assert error.startswith(f"setup: {name}: packages are missing, please run: dnf install "), error
    equal(sorted(error.split("dnf install ")[1].split()), sorted(wanted))
    contains(said(machine.setup("kernel", "6.12")), f"comes from Debian's archive and this is {name}; a container")


def test_fedora_with_all_of_it(tmp_path):
    machine = Machine(tmp_path, FEDORA, ["busybox", "gcc", "make", "modprobe", "pahole", "perl", "pkg-config",
                                         "python3", "qemu-system-x86_64"])
    # Libraries are recognised by their headers, which this machine has when it runs these tests.
    equal(said(machine.setup("packages", "guest"), 0), "")


def test_what_fedora_has_not_is_named_apart(tmp_path):
    machine = Machine(tmp_path, FEDORA)
    error = said(machine.setup("packages", "cross-arm64"))
    contains(error, "please run: dnf install gcc-aarch64-linux-gnu\n")
    if not os.path.exists("/usr/aarch64-linux-gnu/include/stdlib.h"):
        contains(error, "it has no package for Debian's libc6-dev-arm64-cross\n")


def test_an_unknown_distribution(tmp_path):
    error = said(Machine(tmp_path, ARCH).setup("packages", "guest"))
    equal(error, "setup: Arch Linux: packages are missing, with Debian's names: busybox-static kmod python3 "
                 "qemu-system-x86\n")


def test_debian_installs(tmp_path):
    """The same stand-ins: it is os-release that decides."""
    machine = Machine(tmp_path, DEBIAN, ["dpkg-query", "apt-get"])
    contains(said(machine.setup("packages", "guest"), 0), "setup: installing: busybox-static kmod ")


def test_every_package_has_a_name_on_fedora():
    """Names of these forms are Debian's own, except for two."""
    known = table("fedora_names")
    missing = [name for name in sorted(all_packages()) if name not in known and
               (name.endswith(("-dev", "-static", "-utils", "-tools")) or name.startswith(("lib", "qemu-", "linux-")))
               and name not in ("dpkg-dev", "erofs-utils")]
    equal(missing, [])
    equal([name for name in known if name not in all_packages()], [])
    equal([name for name in table("ubuntu_names") if name not in all_packages()], [])
