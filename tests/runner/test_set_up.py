# SPDX-License-Identifier: MIT
"""Tests that qemu/setup trusts nothing that was interrupted."""

import os
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

from guests import PATIENCE, TOP, children_of, contains, equal, gone, wait_until

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


class Archive:
    """A stand-in for Debian's archive, with small packages; those are real ones."""

    MIRROR = "http://127.0.0.1:9/debian/"

    def __init__(self, directory):
        self.debs = os.path.join(directory, "debs")
        self.programs = os.path.join(directory, "programs")
        self.cache = os.path.join(directory, "cache")
        for path in (self.debs, self.programs, self.cache):
            os.mkdir(path)
        stand_in(self.programs, "apt-cache", f"""cd {self.debs}
            while [ "$1" = -o ]; do shift 2; done
            case $1 in
            pkgnames) ls | sed -n 's/.deb$//p' | grep "^$2" ;;
            policy) [ ! -e "$2.deb" ] || echo '  Candidate: 1' ;;
            show) dpkg-deb -f "$3.deb" | grep ^Depends ;;
            esac
            """)
        stand_in(self.programs, "apt-get", f"""
            [ "$1" != indextargets ] || . /etc/os-release
            [ "$1" != indextargets ] || echo "Debian main $VERSION_CODENAME {self.MIRROR}"
            to=.
            for word; do
                case $word in Dir::Cache::Archives=*) to=${{word#*=}} ;; esac
                word=${{word%:$(dpkg --print-architecture)}}
                [ ! -e "{self.debs}/$word.deb" ] || cp "{self.debs}/$word.deb" "$to"
            done
            """)

    def add(self, name, files=None, depends=""):
        """A package with files: their contents, or None for a module."""
        with tempfile.TemporaryDirectory() as root:
            files = {"DEBIAN/control": f"Package: {name}\nVersion: 1\nArchitecture: all\n"
                                       f"Maintainer: maintainers <root@localhost>\n{depends}"
                                       "Description: a test\n", **(files or {})}
            for path, content in files.items():
                path = os.path.join(root, path)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                if content is None:
                    subprocess.run(["gcc", "-c", "-x", "c", "/dev/null", "-o", path], check=True)
                else:
                    with open(path, "w", encoding="ascii") as file:
                        file.write(content)
            subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, f"{self.debs}/{name}.deb"],
                           check=True, stdout=subprocess.DEVNULL)

    def add_headers(self, abi, makefile, variables=""):
        version = abi.partition("-")[0]
        src = f"usr/src/linux-headers-{abi}"
        self.add(f"linux-headers-{version}-common")
        self.add(f"linux-kbuild-{version}")
        self.add(f"linux-headers-{abi}", depends=f"Depends: linux-headers-{version}-common (= 1), "
                                                 f"linux-kbuild-{version}, gcc-99\n",
                 files={f"{src}/Makefile": makefile,
                        f"{src}/.kernelvariables": f"CC = $(CROSS_COMPILE)gcc-99\n{variables}"})

    def setup(self, *words):
        return setup(self.cache, *words, NO_INSTALL="",
                     PATH=f"{self.programs}:{os.environ['PATH']}")

    def printed(self, name, what):
        result = self.setup("print", name, what)
        equal((result.returncode, result.stderr), (0, ""))
        return result.stdout.strip()


def modules_below(folder, abi):
    return {f"{folder}/{abi}/kernel/drivers/virtio/virtio.ko": None,
            f"{folder}/{abi}/kernel/sound/sound.ko": None,
            f"{folder}/{abi}/modules.order": "", f"{folder}/{abi}/modules.builtin": ""}


def add_debian_12(archive, abi):
    archive.add(f"linux-image-{abi}-unsigned",
                {f"boot/vmlinuz-{abi}": abi, **modules_below("lib/modules", abi)})
    archive.add_headers(abi, f"include /usr/src/linux-headers-{abi}/common\n")


def add_debian_13(archive, abi):
    archive.add(f"linux-image-{abi}-unsigned",
                {f"boot/vmlinuz-{abi}": abi, **modules_below("usr/lib/modules", abi)})
    archive.add_headers(abi, f"include /usr/src/linux-headers-{abi}/common\n")


def add_6_19_and_later(archive, abi):
    depends = ", ".join(f"linux-{part}-{abi} (= 1)" for part in ("base", "binary", "modules"))
    archive.add(f"linux-image-{abi}", depends=f"Depends: dracut, {depends}\n")
    archive.add(f"linux-base-{abi}")
    archive.add(f"linux-binary-{abi}", {f"usr/lib/modules/{abi}/vmlinuz": abi})
    archive.add(f"linux-modules-{abi}", modules_below("usr/lib/modules", abi))
    archive.add_headers(abi, f"KBUILD_OUTPUT=/usr/src/linux-headers-{abi}\n"
                             f"include /usr/src/linux-headers-{abi}/common\n")


def read_text(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def newest_kernel_is_found(add):
    with tempfile.TemporaryDirectory() as directory:
        archive = Archive(directory)
        for abi in ("6.12.9-amd64", "6.12.10-amd64", "6.12.11-rt-amd64", "6.12.11-cloud-amd64"):
            add(archive, abi)
        result = archive.setup("kernel", "6.12")
        assert result.returncode == 0, result.stderr
        abi = "6.12.10-amd64"
        equal(archive.printed("6.12", "version"), abi)
        equal(read_text(archive.printed("6.12", "image")), abi)
        modules = archive.printed("6.12", "modules")
        contains(read_text(f"{modules}/modules.dep"), "kernel/drivers/virtio/virtio.ko:")
        assert not os.path.exists(f"{modules}/kernel/sound"), "guests have no sound card"
        headers = archive.printed("6.12", "kdir")
        contains(read_text(f"{headers}/Makefile"), f"include {headers}/common\n")
        assert " /usr/src" not in read_text(f"{headers}/Makefile")
        assert "=/usr/src" not in read_text(f"{headers}/Makefile")
        equal(read_text(f"{headers}/.kernelvariables"), "CC = $(CROSS_COMPILE)gcc\n")
        home = os.path.join(archive.cache, "paccel/kernel/6.12")
        shown = subprocess.run(["/sbin/modprobe", "-d", home, "-S", abi, "--show-depends", "virtio"],
                               capture_output=True, text=True, check=True)
        contains(shown.stdout, "drivers/virtio/virtio.ko")


def test_setup_a_kernel_as_debian_12_packs_it():
    newest_kernel_is_found(add_debian_12)


def test_setup_a_kernel_as_debian_13_packs_it():
    newest_kernel_is_found(add_debian_13)


def test_setup_a_kernel_as_6_19_and_later_are_packed():
    newest_kernel_is_found(add_6_19_and_later)


USERLAND = {
    "base-passwd": {"usr/share/base-passwd/passwd.master": "root\n",
                    "usr/share/base-passwd/group.master": "root\n"},
    "base-files": {"etc/debian_version": "12\n", "bin/of-an-old-tree": ""},
    "dash": {"usr/bin/dash": "", "usr/share/doc/dash/changelog": ""}, "libc6": {"lib/libc.so.6": ""},
}


def add_arm64(archive, *abis):
    for abi in abis:
        archive.add(f"linux-image-{abi}-unsigned",
                    {f"boot/vmlinuz-{abi}": abi, **modules_below("lib/modules", abi)})
        archive.add_headers(abi, "", "override CROSS_COMPILE = aarch64-linux-gnu-\n")
    for name, files in USERLAND.items():
        archive.add(name, files)


@pytest.mark.parametrize("name, abi", [("6.12-arm64", "6.12.10-arm64"),
                                       ("6.12-arm64-16k", "6.12.9-arm64-16k")])
def test_setup_a_kernel_of_another_architecture(name, abi):
    """Of its own flavour; with tools of linux-kbuild for this machine, and with a user space."""
    with tempfile.TemporaryDirectory() as directory:
        archive = Archive(directory)
        add_arm64(archive, "6.12.9-arm64", "6.12.10-arm64", "6.12.9-arm64-16k", "6.12.11-rt-arm64")
        result = archive.setup("kernel", name)
        assert result.returncode == 0, result.stderr
        equal(archive.printed(name, "version"), abi)
        equal(read_text(archive.printed(name, "image")), abi)
        headers = archive.printed(name, "kdir")
        equal(read_text(f"{headers}/.kernelvariables"),
              "CC = $(CROSS_COMPILE)gcc\noverride CROSS_COMPILE = aarch64-linux-gnu-\n")
        root = archive.printed("userland", "arm64")
        equal(read_text(f"{root}/etc/passwd"), "root\n")
        equal(os.readlink(f"{root}/bin"), "usr/bin")
        for path in ("usr/bin/of-an-old-tree", "usr/lib/libc.so.6", "bin/sh"):
            assert os.path.exists(f"{root}/{path}"), path
        assert not os.path.exists(f"{root}/usr/share/doc")


def test_setup_a_user_space_that_cannot_be_had():
    with tempfile.TemporaryDirectory() as directory:
        archive = Archive(directory)
        stand_in(archive.programs, "apt-get", 'case "$*" in *install*) exit 1 ;; esac\n')
        result = archive.setup("userland", "arm64")
        equal(result.returncode, 1)
        contains(result.stderr, "the packages of the user space of arm64 guests could not be downloaded")
        assert not os.path.exists(f"{archive.cache}/paccel/userland/arm64")


def test_setup_the_newest_kernel():
    """Of all series, by the lists of the release that has it."""
    with tempfile.TemporaryDirectory() as directory:
        archive = Archive(directory)
        add_debian_13(archive, "6.12.10-amd64")
        add_6_19_and_later(archive, "7.9.1-amd64")
        add_6_19_and_later(archive, "7.10.0-amd64")
        archive.add("linux-image-7.11.0-rt-amd64")
        result = archive.setup("kernel", "newest")
        assert result.returncode == 0, result.stderr
        equal(archive.printed("newest", "version"), "7.10.0-amd64")
        # These headers have no program that this machine could not run.
        equal(archive.printed("newest", "builder"), "")
        sources = read_text(os.path.join(archive.cache, "paccel/apt/trixie-backports/sources.list"))
        equal([line.split("]")[1] for line in sources.splitlines()],
              [f" {archive.MIRROR} {suite} main" for suite in ("trixie", "trixie-backports")])


def test_setup_a_kernel_without_an_image():
    with tempfile.TemporaryDirectory() as directory:
        archive = Archive(directory)
        archive.add("linux-image-6.12.9-amd64-unsigned", modules_below("lib/modules", "6.12.9-amd64"))
        archive.add_headers("6.12.9-amd64", "")
        contains(archive.setup("kernel", "6.12").stderr,
                 "the packages of kernel 6.12.9-amd64 have no vmlinuz")
        nothing_is_trusted(archive.cache, "6.12")


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


def test_setup_a_disk_for_another_python():
    """Its packages are compiled for one; it is no failure of set-up, and has a status of its own."""
    with tempfile.TemporaryDirectory() as top, tempfile.TemporaryDirectory() as cache:
        shutil.copytree(os.path.join(TOP, "qemu"), f"{top}/qemu", symlinks=True)
        path = f"{top}/qemu/paddle/3.3.1.txt"
        text = read_text(path)
        contains(text, "for Python 3.")
        with open(path, "w", encoding="ascii") as file:
            file.write(text.replace("for Python 3.", "for Python 2.", 1))
        result = subprocess.run([f"{top}/qemu/setup", "paddle", "3.3.1"], capture_output=True,
                                text=True, check=False, env={**os.environ, "XDG_CACHE_HOME": cache})
        equal(result.returncode, 77)
        contains(result.stderr, "the packages of paddle 3.3.1 are for Python 2.")


def test_setup_libraries_that_cannot_be_had():
    with tempfile.TemporaryDirectory() as cache:
        result = setup(cache, "sundials", "7.9.0", PIP_INDEX_URL="http://127.0.0.1:9/simple",
                       PIP_RETRIES="0", NO_INSTALL="")
        assert result.returncode != 0, result
        contains(result.stderr, "sundials 7.9.0 could not be had")
        printed = setup(cache, "print", "sundials", "7.9.0")
        equal((printed.returncode, printed.stdout), (1, ""))
        contains(printed.stderr, "is not set up")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its root")
def test_setup_a_killed_root_leaves_nothing():
    """The system of tests/setup; this machine's own stands in for it."""
    command = [os.path.join(TOP, "qemu/in-root"), "/", "sh", "-c", "echo started; sleep 1000"]
    before = read_text("/proc/mounts")
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        equal(process.stdout.readline(), b"started\n")
        inside = children_of(process)
        equal(len(inside), 1)
        process.kill()
    wait_until(lambda: gone(inside[0]), "what runs in it ends")
    equal(read_text("/proc/mounts"), before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its root")
def test_setup_folders_of_this_machine_in_a_root(tmp_path):
    """They have the same paths there, and are not seen afterwards."""
    root, folder = tmp_path / "root", tmp_path / "a folder"
    for path in (root / "proc", root / "dev", root / "bin", folder):
        path.mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), root / "bin/busybox")
    script = f"echo word >'{folder}/file' && ls / && test -c /dev/null"
    result = subprocess.run([os.path.join(TOP, "qemu/in-root"), "--bind", folder, root,
                             "/bin/busybox", "sh", "-c", f"PATH=; alias ls='busybox ls'; {script}"],
                            capture_output=True, text=True, check=False)
    equal((result.returncode, result.stderr), (0, ""))
    equal(read_text(folder / "file"), "word\n")
    contains(result.stdout, "bin\ndev\nproc\n")
    equal(os.listdir(f"{root}{folder}"), [])


def test_setup_a_target_gets_what_it_uses():
    demo = set(package_set("run"))
    assert len(demo) <= 14, demo
    for name in ("clang", "sparse", "shellcheck", "python3-numpy"):
        assert name not in demo, name
    for less, more in (("run", "check-quick"), ("check-quick", "check"), ("check", "check-full"),
                       ("run", "fuzz"), ("run", "bench"), ("check", "coverage"),
                       ("run", "arm64"), ("cross-arm64", "check"), ("arm64", "check-full")):
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
    contains(result.stderr, f"apt-get install {names} -q -y --no-install-recommends\n")
    contains(result.stderr, f"apt-get could not install: {names}\n")


def test_setup_no_install_only_names():
    with tempfile.TemporaryDirectory() as cache:
        for item in (["kernel", "6.12"], ["kernel", "newest"], ["kernel", "debug"], ["source"], ["clang-tree"],
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


def test_setup_all_leaves_out_kernels_that_take_longer():
    """A configuration more in qemu/configs is a kernel, but none of `all`."""
    with tempfile.TemporaryDirectory() as top, tempfile.TemporaryDirectory() as cache:
        shutil.copytree(os.path.join(TOP, "qemu"), f"{top}/qemu", symlinks=True)
        shutil.copy(f"{top}/qemu/configs/debug.config", f"{top}/qemu/configs/other.config")
        # Instead of building it.
        with open(f"{top}/qemu/setup.d/own.sh", "a", encoding="ascii") as file:
            file.write('\nsetup_own() { die "building kernel $1"; }\n')
        for words, built in ((["kernel", "other"], ["other"]), (["all"], ["debug"])):
            result = subprocess.run([f"{top}/qemu/setup", *words], capture_output=True, text=True,
                                    check=False, env={**os.environ, "XDG_CACHE_HOME": cache,
                                                      "NO_INSTALL": "1"})
            equal(result.returncode, 1)
            equal(re.findall("building kernel (.*)", result.stderr), built)


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
