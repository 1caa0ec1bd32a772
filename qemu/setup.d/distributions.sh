# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Which distribution this is, and what it calls the packages that have Debian's names in packages.sh. Sourced
# by qemu/setup.

# OS_RELEASE is for tests.
os_release=${OS_RELEASE:-/etc/os-release}

os_field() { # name: its value, or nothing
	# The file is made to be read by a shell, and may set any variable.
	# shellcheck disable=SC1090
	[ ! -r "$os_release" ] || (set +u && unset "$1" && . "$os_release" && echo "${!1}")
}

# debian (and those made of it whose archive has its kernels), ubuntu, fedora, other; a distribution names in
# ID_LIKE what it is made of.
distribution() {
	case " $(os_field ID) $(os_field ID_LIKE) " in
	*' ubuntu '*) echo ubuntu ;;
	*' debian '*) echo debian ;;
	*' fedora '*) echo fedora ;;
	*) echo other ;;
	esac
}

# Once: it starts other processes.
this_distribution=$(distribution)

distribution_name() {
	local name
	name=$(os_field PRETTY_NAME)
	echo "${name:-this system}"
}

# Only where packages are installed, and kernels downloaded, by apt from Debian's archive.
is_debian() {
	command -v apt-get >/dev/null && command -v dpkg-query >/dev/null && [ "$this_distribution" = debian ]
}

# Where they differ from Debian's. Ubuntu 24.04:
declare -A ubuntu_names=(
	[chromium]=chromium-browser
	[chromium-driver]=chromium-chromedriver
)

# Fedora 40 to 43; `-` is what it does not have.
declare -A fedora_names=(
	[abigail-tools]=libabigail
	[busybox-static]=busybox
	[chromium-driver]=chromedriver
	[g++]=gcc-c++
	[iproute2]=iproute
	[libc6-dev]=glibc-devel
	[libc6-dev-arm64-cross]=-
	[libclang-rt-dev]=compiler-rt
	[libdrm-dev]=libdrm-devel
	[libelf-dev]=elfutils-libelf-devel
	[libgloo-dev]=gloo-devel
	[libjson-c-dev]=json-c-devel
	[libssl-dev]=openssl-devel
	[liburing-dev]=liburing-devel
	[openssh-client]=openssh
	[pahole]=dwarves
	[pkg-config]=pkgconf-pkg-config
	[python3-dev]=python3-devel
	[python3-sphinx-rtd-theme]=python3-sphinx_rtd_theme
	[python3-venv]=python3
	[qemu-system-arm]=qemu-system-aarch64-core
	[qemu-system-x86]=qemu-system-x86-core
	[rpm]=rpm-build
	[shellcheck]=ShellCheck
	[xz-utils]=xz
)

# The package of this distribution, or `-`.
own_package() { # Debian's name
	case $this_distribution in
	ubuntu) echo "${ubuntu_names[$1]:-$1}" ;;
	fedora) echo "${fedora_names[$1]:-$1}" ;;
	*) echo "$1" ;;
	esac
}

# Prints the command that installs these; nothing is installed here.
advise_install() { # Debian's names...
	local package name command=''
	local -a available=() unavailable=()
	for package; do
		name=$(own_package "$package")
		if [ "$name" = - ]; then unavailable+=("$package"); else available+=("$name"); fi
	done
	case $this_distribution in
	ubuntu) command='apt-get install' ;;
	fedora) command='dnf install' ;;
	esac
	if [ -n "$command" ] && [ ${#available[@]} -gt 0 ]; then
		say "$(distribution_name): packages are missing, please run: $command ${available[*]}"
	elif [ -z "$command" ]; then
		say "$(distribution_name): packages are missing, with Debian's names: ${available[*]}"
	fi
	[ ${#unavailable[@]} -eq 0 ] || say "it has no package for Debian's ${unavailable[*]}"
}
