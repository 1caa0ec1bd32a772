# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Checks of kernel/. Sourced by tests/static/run, which sets `work`.

: "${work:?}"

# The Makefile builds the module for every kernel with W=1, where a warning is an error. What is left
# for here: another compiler, sparse, and a build in place.

# The layers of the driver, the lowest first.
layer_numbers='BEGIN {
	n = split("include core mem exec stream uapi hw driver", name)
	for (i = 1; i <= n; i++)
		layer[name[i]] = i
}'

# No file includes a header of a folder behind its own. The header of a folder's own files is internal.h.
# A backend may be a module of its own, so hw/ has what it needs in include/.
check_includes_go_down() {
	(cd kernel && grep -rn '^#include "' --include='*.[ch]' -- *) | awk "$layer_numbers"'
		{
			split($0, part, "[:\"]")
			folder = part[1]
			sub("/.*", "", folder)
			header = part[4]
			of = header
			sub("/.*", "", of)
			if (!(of in layer) || layer[of] > layer[folder] ||
			    (header ~ /internal/ && of != folder) ||
			    (folder == "hw" && of != "hw" && of != "include"))
				print part[1] ":" part[2] " includes " header
		}
		END {
			if (!NR)
				print "no file includes anything"
		}' | nothing
}

# No object needs a symbol of a folder behind its own.
calls_go_down() { # folder of objects
	(cd "$1" && nm -A -- */*.o) | awk "$layer_numbers"'
		{
			split($1, file, ":")
			folder = substr(file[1], 1, index(file[1], "/") - 1)
			seen[folder] = folder in layer
			if ($(NF - 1) == "U")
				needs[file[1] " " $NF] = folder
			else if ($(NF - 1) ~ /^[A-Z]$/)
				home[$NF] = folder
		}
		END {
			for (need in needs) {
				split(need, word, " ")
				if (word[2] in home && layer[home[word[2]]] > layer[needs[need]])
					print word[1] " needs " word[2] " of " home[word[2]] "/, a higher layer"
			}
			for (folder in seen)
				if (!seen[folder])
					print folder "/ is no layer"
			for (folder in layer)
				if (folder != "include" && !(folder in seen))
					print folder "/ has no object"
		}' | nothing
}

# The calls between the files of a folder form no cycle: a file can be read with those below it.
# Prints the first cycle.
calls_have_no_cycle() { # folder of objects
	(cd "$1" && nm -A -- */*.o) | awk '
		{
			sub(/\.o:.*/, "", $1)
			if ($(NF - 1) == "U")
				needs[$1 " " $NF]
			else if ($(NF - 1) ~ /^[A-Z]$/)
				home[$NF] = $1
		}
		END {
			for (need in needs) {
				split(need, word, " ")
				from = word[1]
				to = home[word[2]]
				split(from, from_part, "/")
				split(to, to_part, "/")
				if (from != to && from_part[1] == to_part[1])
					print from, to
			}
		}' | tsort 2>&1 >/dev/null | sed '2,${/contains a loop/Q}' | nothing
}

# Compile only: that tree has no Module.symvers.
check_module_clang() {
	local tree dir=$work/kernel
	tree=$(qemu/setup print clang-tree) || return 1
	qemu/link-sources kernel "$dir"
	MAKEFLAGS='' make -j2 -C "$tree" M="$dir" W=1 CC=clang paccel.o >"$dir/log" 2>&1 || {
		tail -n 30 "$dir/log"
		return 1
	}
	no_warnings "$dir/log" && calls_go_down "$dir" && calls_have_no_cycle "$dir"
}

# As the documentation says that it can be built, in a copy of the tree, with sparse beside gcc.
check_module_in_place_with_sparse() {
	local tree folder copy=$work/tree
	tree=$(qemu/setup print 6.12 kdir) || return 1
	mkdir -p "$copy"
	files kernel include tests/module Makefile .gitignore | cpio -pdm --quiet "$copy" || return 1
	git -C "$copy" init -q || return 1
	git -C "$copy" add -A
	for folder in kernel tests/module; do
		MAKEFLAGS='' make -j2 -C "$tree" M="$copy/$folder" C=2 CHECK=sparse modules \
			>>"$work/log" 2>&1 || {
			tail -n 30 "$work/log"
			return 1
		}
	done
	no_warnings "$work/log" || return 1
	[ -e "$copy/kernel/paccel.ko" ] || return 1
	git -C "$copy" status --porcelain | grep -v '^A ' | nothing || return 1
	make -C "$copy" clean || return 1
	git -C "$copy" status --porcelain --ignored | grep -v '^A ' | nothing
}

# Without what checkpatch.allow names, with the reason, for one file each.
check_checkpatch() {
	local source file
	source=$(qemu/setup print source) || return 1
	for file in $(files kernel include/uapi tests/module | grep '\.[ch]$'); do
		"$source/scripts/checkpatch.pl" --terse --show-types \
			--ignore "NONE$(allowed_types "$file")" -f "$file"
	done | grep -v '^total: ' | nothing
}

allowed_types() { # file
	awk -v file="$1" '$1 == file { printf ",%s", $2 }' tests/static/checkpatch.allow
}

check_kernel_doc() {
	local source
	source=$(qemu/setup print source) || return 1
	files 'include/*.h' | xargs "$source/scripts/kernel-doc" -none -Werror
}

check_kernel_versions_only_in_compat_h() {
	grep -rnE 'LINUX_VERSION_CODE|KERNEL_VERSION\(|linux/version\.h' kernel \
		--include='*.[ch]' --exclude=compat.h | nothing
}

# The core does not know which card it drives.
check_cards_only_in_hw() {
	grep -rniwE 'edu|ivshmem|ringdev' kernel --include='*.[ch]' --exclude-dir=hw | nothing
}
