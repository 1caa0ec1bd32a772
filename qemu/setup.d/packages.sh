# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Packages of the distribution. Sourced by qemu/setup, which sets what is named here.

: "${no_install?}"

# What is needed from the distribution: Debian package, and a file or a
# command by which another distribution's equivalent is recognised.
# shellcheck disable=SC2034 # used by qemu/setup
packages=(
	"bc                 bc"
	"bison              bison"
	"busybox-static     busybox"
	"ca-certificates    /etc/ssl/certs/ca-certificates.crt"
	"clang              clang"
	"cmake              cmake"
	"cpio               cpio"
	"dwarves            pahole"
	"flex               flex"
	"g++                g++"
	"gcc                gcc"
	"git                git"
	"kmod               modprobe"
	"libc6-dev          /usr/include/stdlib.h"
	"libclang-rt-14-dev clang"
	"libdrm-dev         /usr/include/libdrm/drm.h"
	"libelf-dev         /usr/include/libelf.h"
	"libssl-dev         /usr/include/openssl/ssl.h"
	"liburing-dev       /usr/include/liburing.h"
	"make               make"
	"perl               perl"
	"pkg-config         pkg-config"
	"python3            python3"
	"python3-dev        python3-config"
	"python3-numpy      /usr/lib/python3/dist-packages/numpy/__init__.py"
	"python3-pip        pip3"
	"python3-pytest     pytest-3"
	"python3-pytest-xdist /usr/lib/python3/dist-packages/xdist/__init__.py"
	"qemu-system-x86    qemu-system-x86_64"
	"shellcheck         shellcheck"
	"sparse             sparse"
	"xz-utils           xz"
)

# What disks with Python packages need besides. The guest runs the host's Python.
# shellcheck disable=SC2034 # used by qemu/setup
disk_packages=(
	"erofs-utils        mkfs.erofs"
)

is_debian() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }

# Prints what stands before a command that needs root, fails if there is no way.
root_prefix() {
	if [ "$(id -u)" -eq 0 ]; then
		return 0
	elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
		echo 'sudo -n'
	else
		return 1
	fi
}

as_root() {
	local prefix
	prefix=$(root_prefix) || return 1
	# shellcheck disable=SC2086 # two words on purpose
	$prefix env DEBIAN_FRONTEND=noninteractive "$@"
}

installed_packages() {
	! is_debian || dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p'
}

have_package() { # list of installed ones, package, file or command
	local installed=$1
	shift
	if is_debian; then
		grep -qxF -- "$1" <<<"$installed"
	elif [ "${2#/}" != "$2" ]; then
		[ -e "$2" ]
	else
		command -v "$2" >/dev/null
	fi
}

missing_packages() { # line of a table...
	local line package sign installed
	installed=$(installed_packages)
	for line; do
		read -r package sign <<<"$line"
		have_package "$installed" "$package" "$sign" || echo "$package"
	done
}

setup_packages() { # line of a table...
	local missing
	missing=$(missing_packages "$@" | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	if ! is_debian; then
		die "this is not Debian, install the equivalents of: $missing"
	elif [ -n "$no_install" ]; then
		die "NO_INSTALL is set and these packages are missing: $missing"
	elif ! root_prefix >/dev/null; then
		die "not root and no sudo without a password; please run: apt-get install $missing"
	fi
	say "installing: $missing"
	as_root apt-get update -q >&2 || say "apt-get update failed, trying with the old lists"
	# shellcheck disable=SC2086 # a list of words
	as_root apt-get install -q -y --no-install-recommends $missing </dev/null >&2 ||
		die "apt-get could not install: $missing"
}
