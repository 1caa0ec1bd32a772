# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Kernels of Debian. Sourced by qemu/setup, which sets what is named here.

: "${cache?}" "${no_install?}"

# The header packages a kernel's headers are made of, from their own Depends.
header_packages() { # abi
	echo "linux-headers-$1"
	apt-cache show --no-all-versions "linux-headers-$1" | sed -n 's/^Depends: //p' |
		tr ',' '\n' | awk '{ print $1 }' | grep -E '^linux-(headers|kbuild)-'
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

# Packages are unpacked, not installed: the machine's own boot menu stays as it is.
unpack_stock() { # scratch, final, abi
	local scratch=$1 final=$2 abi=$3 deb
	local headers=usr/src/linux-headers-$abi
	for deb in "$scratch"/*.deb; do
		dpkg-deb -x "$deb" "$scratch"
		rm "$deb"
	done
	# The one absolute path in Debian's headers.
	sed -i "s,^include /usr/src/,include $final/usr/src/," "$scratch/$headers/Makefile"
	depmod -b "$scratch" "$abi"
	ln -s "boot/vmlinuz-$abi" "$scratch/image"
	ln -s "$headers" "$scratch/kdir"
	ln -s "lib/modules/$abi" "$scratch/modules"
	echo "$abi" >"$scratch/version"
}

# May fail, and is therefore called in a condition; what follows it may not, and is
# not: `set -e` does not work inside a condition.
download_stock() { # scratch, name, abi
	say "kernel $2: downloading and unpacking $3"
	# shellcheck disable=SC2046 # a list of words
	download "$1" "linux-image-$3-unsigned" $(header_packages "$3")
}

stock_key() { echo "$1_$(candidate_version "linux-image-$1-unsigned")"; }

install_stock() { # scratch, name, abi
	local key
	key=$(stock_key "$3")
	unpack_stock "$1" "$cache/kernel/$key" "$3"
	publish_kernel "$1" "$key" "$2"
}

use_cached_stock() { # name
	complete "$cache/kernel/$1" || {
		refuse_to_fetch "kernel $1"
		die "the archive has no linux-image-$1.*-amd64-unsigned with headers, and none is in $cache"
	}
	say "kernel $1: using $(cat "$cache/kernel/$1/version") from the cache"
}

# The archive is asked once a day; asking takes longer than all the rest.
asked_lately() { # name
	complete "$cache/kernel/$1" && [ -n "$(find "$cache/kernel/.asked-$1" -mtime -1 2>/dev/null)" ]
}

setup_stock() { # name
	asked_lately "$1" || find_stock "$1"
	touch "$cache/kernel/.asked-$1"
}

find_stock() { # name
	local name=$1 abi='' key scratch
	if is_debian; then
		abi=$(newest_abi "$name")
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
