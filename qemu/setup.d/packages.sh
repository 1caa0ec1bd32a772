# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Packages of the distribution, in sets: one for each purpose, and one for each target of make, which
# adds up purposes. Sourced by qemu/setup, which sets what is named here.

: "${no_install?}"

# A word is a Debian package, or @SET. `make TARGET` installs the set of that name, or else the one that
# the Makefile names; a program that only some targets use does not belong in `run`.
declare -A package_sets=(
	[guest]='busybox-static kmod python3 qemu-system-x86'
	[guest-arm64]='qemu-system-arm'
	[cross-arm64]='gcc-aarch64-linux-gnu libc6-dev-arm64-cross'
	[module]='gcc libc6-dev make pahole perl'
	[tool]='libjson-c-dev pkg-config'
	[programs]='g++ libdrm-dev libgloo-dev liburing-dev python3-dev xz-utils'
	[kernel]='bc bison flex gcc libc6-dev libelf-dev libssl-dev make pahole perl xz-utils'
	[clang-tree]='@kernel clang'
	[disk]='ca-certificates erofs-utils iproute2 python3 python3-pip'
	# Two ranks of PaddlePaddle in a guest: the engine of collectives is built and runs there.
	[run-paddle-2]='@run @disk g++ libgloo-dev'
	[client]='ca-certificates python3 python3-pip'
	[root]='debootstrap e2fsprogs'
	[unit]='clang cmake libclang-rt-dev mandoc @pytest'
	[pytest]='python3-jsonschema python3-numpy python3-pytest python3-pytest-xdist'
	[static]='clang cpio git perl shellcheck sparse'

	[html]='@module @tool @programs doxygen mandoc python3-breathe python3-myst-parser python3-sphinx python3-sphinx-rtd-theme'
	[site]='@html chromium chromium-driver @pytest python3-selenium'

	[run]='@guest @module @tool'
	[run-mpi]='@run @disk g++ openssh-client'
	[check-mpi]='@run-mpi @programs @root'
	[check-quick]='@run @programs @unit @static @client'
	[arm64]='@run @programs @cross-arm64 @guest-arm64'
	[check]='@check-quick @clang-tree @disk @cross-arm64 @html abigail-tools'
	[check-full]='@check @root @arm64 python3-venv @run-mpi'
	[coverage]='@check gcovr'
	[deb]='dpkg-dev git'
	[rpm]='file git libdrm-dev python3-dev rpm @module @tool'
	[wheels]='gcc libc6-dev make @client python3-dev python3-venv'
	[fuzz]='@run @programs @kernel'
	[bench]='@run @programs @disk'
	[pictures]='graphviz'
	[record]='@run @pictures asciinema'
)

# A file, a Python module or a command by which another distribution's equivalent is recognised, where it is
# not the command of the package's name. Of several files one is enough.
declare -A package_signs=(
	[abigail-tools]=abidiff
	[busybox-static]=busybox
	[ca-certificates]='/etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt'
	[chromium-driver]=chromedriver
	[dpkg-dev]=dpkg-buildpackage
	[e2fsprogs]=mkfs.ext4
	[erofs-utils]=mkfs.erofs
	[gcc-aarch64-linux-gnu]=aarch64-linux-gnu-gcc
	[graphviz]=neato
	[kmod]=modprobe
	[libc6-dev]=/usr/include/stdlib.h
	[libc6-dev-arm64-cross]=/usr/aarch64-linux-gnu/include/stdlib.h
	[libclang-rt-dev]=clang
	[libdrm-dev]=/usr/include/libdrm/drm.h
	[libelf-dev]=/usr/include/libelf.h
	[iproute2]=ip
	[libgloo-dev]=/usr/include/gloo/context.h
	[libjson-c-dev]=/usr/include/json-c/json.h
	[libssl-dev]=/usr/include/openssl/ssl.h
	[liburing-dev]=/usr/include/liburing.h
	[python3-breathe]=python:breathe
	[python3-dev]=python3-config
	[python3-jsonschema]=python:jsonschema
	[python3-myst-parser]=python:myst_parser
	[python3-numpy]=python:numpy
	[python3-pip]=pip3
	[python3-pytest]=pytest-3
	[python3-pytest-xdist]=python:xdist
	[python3-selenium]=python:selenium
	[python3-sphinx]=python:sphinx
	[python3-sphinx-rtd-theme]=python:sphinx_rtd_theme
	[python3-venv]=python3
	[openssh-client]=ssh-keygen
	[qemu-system-arm]=qemu-system-aarch64
	[qemu-system-x86]=qemu-system-x86_64
	[rpm]=rpmbuild
	[xz-utils]=xz
)

package_set_names() { printf '%s\n' "${!package_sets[@]}" | sort; }

expand_set() { # set: its words, and those of the sets in it
	local word
	for word in ${package_sets[$1]}; do
		case $word in
		@*) expand_set "${word#@}" ;;
		*) echo "$word" ;;
		esac
	done
}

print_packages() { # set...
	local name
	[ $# -gt 0 ] || die "which set of packages? There are $(package_set_names | xargs)"
	for name; do
		[ -n "${package_sets[$name]:-}" ] ||
			die "there is no set of packages '$name': there are $(package_set_names | xargs)"
	done
	for name; do
		expand_set "$name"
	done | sort -u
}

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

# The output of a command is shown if the command fails.
quietly() { # command...
	local log status=0
	log=$(mktemp)
	"$@" >"$log" 2>&1 </dev/null || status=$?
	[ $status -eq 0 ] || cat "$log" >&2
	rm "$log"
	return $status
}

has_dpkg() { [[ ${this_distribution?} =~ ^(debian|ubuntu)$ ]] && command -v dpkg-query >/dev/null; }

installed_packages() {
	! has_dpkg || dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p'
}

has_sign() { # one of package_signs
	local file
	case $1 in
	python:*) /usr/bin/python3 -c "import ${1#*:}" 2>/dev/null ;;
	/*)
		for file in $1; do
			[ ! -e "$file" ] || return 0
		done
		return 1
		;;
	*) command -v "$1" >/dev/null ;;
	esac
}

have_package() { # list of installed ones, package
	if has_dpkg; then
		grep -qxF -- "$(own_package "$2")" <<<"$1"
	else
		has_sign "${package_signs[$2]:-$2}"
	fi
}

missing_packages() { # package...
	local package installed
	installed=$(installed_packages)
	for package; do
		have_package "$installed" "$package" || echo "$package"
	done
}

# Ends the program where it may not or cannot install.
check_install() { # packages
	if ! is_debian; then
		# shellcheck disable=SC2086 # a list of words
		advise_install $1
		exit 1
	elif [ -n "$no_install" ]; then
		die "NO_INSTALL is set and these packages are missing: $1"
	elif ! root_prefix >/dev/null; then
		die "not root and no sudo without a password; please run: apt-get install $1"
	fi
}

install_packages() { # names, then words for apt-get
	say "installing: $1"
	quietly as_root apt-get update -q || say "apt-get update failed, trying with the old lists"
	quietly as_root apt-get "${@:2}" -q -y --no-install-recommends || die "apt-get could not install: $1"
}

setup_packages() { # set...
	local wanted missing
	wanted=$(print_packages "$@")
	# shellcheck disable=SC2086 # a list of words
	missing=$(missing_packages $wanted | xargs)
	[ -n "$missing" ] || return 0
	check_install "$missing"
	# shellcheck disable=SC2086 # a list of words
	install_packages "$missing" install $missing
}

# What a Debian source package in a folder needs to be built.
setup_build_dependencies() { # folder, dpkg-buildpackage's --build-profiles=..., if any
	local missing profiles=${2:-}
	profiles=${profiles#--build-profiles=}
	missing=$(cd "$1" && dpkg-checkbuilddeps ${profiles:+-P "$profiles"} 2>&1) && return
	missing=${missing#*dependencies: }
	check_install "$missing"
	install_packages "$missing" build-dep ${profiles:+--build-profiles="$profiles"} "$1"
}
