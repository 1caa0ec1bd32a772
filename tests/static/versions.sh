# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Checks of version numbers. Sourced by tests/static/run.

# ACCEL_VERSION_* of include/accel/accel.h is the version of all that a release has. Each line: what
# derives it, and the value.
versions() {
	local path
	# shellcheck disable=SC2016 # expanded by make
	echo "lib/rules.mk $(make -s -f lib/rules.mk --eval 'print: ; @echo $(LIB_VERSION)' print)"
	# shellcheck disable=SC2016
	echo "kernel/Kbuild $(make -s -f kernel/Kbuild src=kernel --eval 'print: ; @echo $(PACCEL_VERSION)' print)"
	echo "packaging/version $(packaging/version)"
	for path in lib/*/setup.py; do
		# The function alone: setuptools may not be installed.
		echo "$path $(python3 -c '
import ast, os, re, sys
with open(sys.argv[1], encoding="utf-8") as file:
    function = next(node for node in ast.parse(file.read()).body if getattr(node, "name", "") == "version")
names = {"os": os, "re": re, "TOP": "."}
exec(compile(ast.Module([function], []), sys.argv[1], "exec"), names)
print(names["version"]())' "$path")"
	done
	echo "CHANGELOG.md $(sed -n 's/^## \[\(.*\)\].*/\1/p' CHANGELOG.md | head -n 1)"
}

check_one_version() {
	local version path found wrong=0
	version=$(sed -n 's/^#define ACCEL_VERSION_[A-Z]* //p' include/accel/accel.h | paste -sd.)
	[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || {
		echo "include/accel/accel.h has the version '$version'"
		return 1
	}
	while read -r path found; do
		[ "$found" = "$version" ] && continue
		echo "$path: '$found' instead of '$version'"
		wrong=1
	done < <(versions)
	return $wrong
}
