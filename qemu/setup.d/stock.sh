# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Kernels of Debian. Sourced by qemu/setup, which sets what is named here.
#
# There are three kinds of packages: linux-image-ABI-unsigned with all that a kernel is, modules in
# lib/modules (Debian 12) or in usr/lib/modules (13); and, since 6.19, linux-image-ABI that depends on
# linux-binary-ABI with the image in usr/lib/modules/ABI, linux-modules-ABI and linux-base-ABI.

: "${cache?}" "${no_install?}"

# The release of Debian whose archive has a series that the machine's own has not, and the one that has the
# newest kernel.
declare -A series_release=([6.1]=bookworm [newest]=trixie-backports)

# A kernel is called after its series, and after its flavour where that is not amd64: 6.12-arm64-16k.
kernel_series() { echo "${1%%-*}"; } # name

kernel_flavour() { # name
	case $1 in
	*-*) echo "${1#*-}" ;;
	*) echo amd64 ;;
	esac
}

# Nothing for this machine's own architecture.
foreign_architecture() { # name
	case $1 in
	*-arm64 | *-arm64-*) echo arm64 ;;
	esac
}

# The header packages a kernel's headers are made of, from their own Depends. The tools of linux-kbuild run
# on this machine.
header_packages() { # abi
	local host=''
	[ -z "$(foreign_architecture "$1")" ] || host=:$(dpkg --print-architecture)
	echo "linux-headers-$1"
	package_depends "linux-headers-$1" | grep -E '^linux-(headers|kbuild)-' |
		sed "/^linux-kbuild-/s/\$/$host/"
}

# The package that tells the version of a kernel, and is downloaded with what it is made of.
image_package() { # abi
	local package
	for package in "linux-image-$1-unsigned" "linux-image-$1"; do
		[ -z "$(candidate_version "$package")" ] || { echo "$package"; return; }
	done
	return 1
}

image_packages() { # abi
	local package
	package=$(image_package "$1")
	echo "$package"
	package_depends "$package" | grep -E '^linux-(base|binary|modules)-[0-9]' || true
}

# The newest ABI of a series, or of all, and of a flavour that has an image and headers; other flavours do not
# match.
newest_abi() { # name
	local abi flavour prefix
	flavour=$(kernel_flavour "$1")
	prefix=$(kernel_series "$1").
	[ "$1" != newest ] || prefix=''
	apt_cache pkgnames "linux-image-$prefix" |
		sed -nE "s/^linux-image-([0-9.+~-]*(deb[0-9]*)?-$flavour)(-unsigned)?\$/\1/p" | sort -rVu |
		while read -r abi; do
			[ -n "$(candidate_version "linux-headers-$abi")" ] || continue
			image_package "$abi" >/dev/null || continue
			echo "$abi"
			break
		done
}

# The layout that everybody else relies on.
publish_kernel() { # scratch, key, name
	publish "$1" "$cache/kernel/$2"
	select_kernel "$2" "$3"
}

select_kernel() { # key, name
	ln -sfn "$1" "$cache/kernel/.$2.new"
	mv -T "$cache/kernel/.$2.new" "$cache/kernel/$2"
}

# Modules are in lib/modules, and found in usr/lib/modules too: where modprobe and depmod look depends on
# the release that they are from.
place_modules() { # scratch, abi
	mkdir -p "$1/lib/modules" "$1/usr/lib"
	if [ -d "$1/usr/lib/modules" ]; then
		cp -al "$1/usr/lib/modules/." "$1/lib/modules/"
		rm -r "$1/usr/lib/modules"
	fi
	ln -s ../../lib/modules "$1/usr/lib/modules"
	depmod -b "$1" "$2"
}

# Headers name where they are when they are installed, and the compiler that the kernel was built with,
# which another release need not have.
adapt_headers() { # headers, where usr/src will be
	local compiler prefix
	sed -i -E "s,(^include |^KBUILD_OUTPUT=)/usr/src/,\\1$2/," "$1/Makefile"
	compiler=$(sed -nE 's/^CC *=.*(gcc-[0-9]+)$/\1/p' "$1/.kernelvariables")
	prefix=$(sed -nE 's/^(override )?CROSS_COMPILE *= *//p' "$1/.kernelvariables")
	command -v "$prefix$compiler" >/dev/null ||
		sed -i -E '/^CC *=/s/gcc-[0-9]+$/gcc/' "$1/.kernelvariables"
}

# Guests have none of these devices, and depmod reads every module that there is: most of the time that a
# kernel takes to unpack.
guest_excludes=(sound drivers/{ata,bluetooth,comedi,hid,hwmon,iio,infiniband,input,isdn,media,mtd,nfc}
	drivers/{platform,scsi,staging,usb} drivers/net/{ethernet,usb,wireless})

unpack_packages() { # scratch, abi
	local deb
	for deb in "$1"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" |
			tar -C "$1" -x "${guest_excludes[@]/#/--exclude=*/lib/modules/$2/kernel/}"
		rm "$deb"
	done
}

# Packages are unpacked, not installed: the machine's own boot menu stays as it is.
unpack_stock() { # scratch, final, abi
	local scratch=$1 final=$2 abi=$3 image=boot/vmlinuz-$3
	local headers=usr/src/linux-headers-$abi
	unpack_packages "$scratch" "$abi"
	place_modules "$scratch" "$abi"
	adapt_headers "$scratch/$headers" "$final/usr/src"
	[ -e "$scratch/$image" ] || image=lib/modules/$abi/vmlinuz
	[ -e "$scratch/$image" ] || die "the packages of kernel $abi have no vmlinuz where one is known to be"
	ln -s "$image" "$scratch/image"
	ln -s "$headers" "$scratch/kdir"
	ln -s "lib/modules/$abi" "$scratch/modules"
	echo "$abi" >"$scratch/version"
}

# May fail, and is therefore called in a condition; what follows it may not, and is
# not: `set -e` does not work inside a condition.
download_stock() { # scratch, name, abi
	say "kernel $2: downloading and unpacking $3"
	# shellcheck disable=SC2046 # a list of words
	download "$1" $(image_packages "$3") $(header_packages "$3")
}

stock_key() { echo "$1_$(candidate_version "$(image_package "$1")")"; }

install_stock() { # scratch, name, abi
	local key
	key=$(stock_key "$3")
	unpack_stock "$1" "$cache/kernel/$key" "$3"
	publish_kernel "$1" "$key" "$2"
}

use_cached_stock() { # name
	complete "$cache/kernel/$1" || {
		refuse_to_fetch "kernel $1"
		cannot_have "the archive has no linux-image-$(kernel_series "$1").*-$(kernel_flavour "$1") with headers, and none is in $cache"
	}
	say "kernel $1: using $(cat "$cache/kernel/$1/version") from the cache"
}

# The archive is asked once a day; asking takes longer than all the rest.
asked_lately() { # name
	complete "$cache/kernel/$1" && [ -n "$(find "$cache/kernel/.asked-$1" -mtime -1 2>/dev/null)" ]
}

setup_stock() { # name
	if ! asked_lately "$1"; then
		find_stock "$1"
		touch "$cache/kernel/.asked-$1"
	fi
}

# From here on packages are those of the release that has the newest kernel. Its lists are refreshed: old ones
# name an older kernel.
use_newest_release() {
	use_release "${series_release[newest]}"
	[ -n "$no_install" ] || refresh_lists || true
}

find_stock() { # name
	local name=$1 abi='' key scratch release architecture
	release=${series_release[$(kernel_series "$name")]:-}
	architecture=$(foreign_architecture "$name")
	if is_debian; then
		[ -z "$architecture" ] || use_release "$(own_release)" "$architecture"
		[ "$name" != newest ] || use_newest_release
		abi=$(newest_abi "$name")
		if [ -z "$abi" ] && [ -n "$release" ] && [ "$release" != "$(own_release)" ]; then
			use_release "$release" "$architecture"
			abi=$(newest_abi "$name")
		fi
		[ -n "$abi" ] || [ -n "$no_install" ] || ! refresh_lists || abi=$(newest_abi "$name")
	fi
	key=${abi:+$(stock_key "$abi")}
	if [ -n "$key" ] && complete "$cache/kernel/$key"; then
		select_kernel "$key" "$name"
		return
	fi
	if [ -z "$abi" ] || [ -n "$no_install" ]; then
		use_cached_stock "$name"
		return
	fi
	scratch=$(scratch_dir "kernel-$name")
	if download_stock "$scratch" "$name" "$abi"; then
		install_stock "$scratch" "$name" "$abi"
	elif refresh_lists && abi=$(newest_abi "$name") &&
		download_stock "$scratch" "$name" "$abi"; then
		# The old lists named packages that the archive has replaced.
		install_stock "$scratch" "$name" "$abi"
	else
		use_cached_stock "$name"
	fi
}
