# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Checks of lib/. Sourced by tests/static/run, which sets `work`.

: "${work:?}"

# lib/core/ is the layer below lib/pool/: no object of core needs a symbol that pool defines, and no
# file of core includes a header of pool.
check_core_needs_nothing_of_pool() {
	local file object
	grep -nE '#include ["<](\.\./|lib/)*(pool|accel/(buffer|pool|resource)\.h)' lib/core/*.[ch] |
		nothing || return 1
	for file in lib/core/*.c lib/pool/*.c; do
		object=$work/${file%.c}.o
		mkdir -p "${object%/*}"
		gcc -std=gnu11 -D_FILE_OFFSET_BITS=64 -Iinclude -Iinclude/uapi -Ilib -w -c \
			-o "$object" "$file" || return 1
	done
	(cd "$work/lib" && nm -A -- */*.o) | awk '
		{
			split($1, file, ":")
			folder = substr(file[1], 1, index(file[1], "/") - 1)
			if ($(NF - 1) == "U")
				needs[file[1] " " $NF] = folder
			else if ($(NF - 1) ~ /^[A-Z]$/)
				home[$NF] = folder
			seen[folder]
		}
		END {
			for (need in needs) {
				split(need, word, " ")
				if (needs[need] == "core" && home[word[2]] == "pool")
					print word[1] " needs " word[2] " of pool/, a higher layer"
			}
			if (!("core" in seen && "pool" in seen))
				print "a folder has no object"
		}' | nothing
}

# Each header has what it needs.
check_library_headers_alone() {
	local header
	for header in $(files 'lib/core/*.h' 'lib/pool/*.h'); do
		printf '#include "%s"\n' "${header#lib/}" |
			gcc -std=gnu11 -Werror -Wall -fsyntax-only -Iinclude -Iinclude/uapi -Ilib -x c - ||
			return 1
	done
}
