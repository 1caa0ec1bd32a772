# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Checks of all files. Sourced by tests/static/run.

scripts() { # interpreter
	files | while read -r file; do
		case $file in
		*.sh) [ "$1" = sh ] && echo "$file" ;;
		*.py) [ "$1" = python3 ] && echo "$file" ;;
		*) head -n 1 "$file" | tr -d '\0' | grep -qE "^#!.*\b(ba|da)?$1( |\$)" && echo "$file" ;;
		esac
	done
}

check_shellcheck() {
	# Each file of its own, for those that are sourced; -x follows them.
	scripts sh | xargs shellcheck -x
}

check_python_compiles() {
	scripts python3 | xargs python3 -c '
import ast, sys
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        ast.parse(file.read(), path)'
}

licence_of() { # file
	case $1 in
	kernel/* | tests/module/*) echo 'GPL-2.0-only' ;;
	include/uapi/*) echo 'GPL-2.0-only WITH Linux-syscall-note' ;;
	*) echo 'MIT' ;;
	esac
}

# Prose and data have no licence line of their own.
has_no_licence_line() { # file
	case $1 in
	*.md | *.rst | *.txt | *.json | *.csv | *.png | *.svg | *.abi | LICENSE* | lib/python/LICENSES | \
		*.gitignore | .gitattributes | Documentation/*) return 0 ;;
	packaging/debian/copyright | packaging/debian/source/format) return 0 ;;
	esac
	return 1
}

check_licences() {
	local file line wrong=0
	while read -r file; do
		has_no_licence_line "$file" && continue
		line=$(head -n 5 "$file" | sed -n 's/.*SPDX-License-[I]dentifier: //p' | sed 's, *\*/$,,; s, *-->$,,')
		[ "$line" = "$(licence_of "$file")" ] && continue
		echo "$file: '$line' instead of '$(licence_of "$file")'"
		wrong=1
	done < <(files)
	return $wrong
}

check_maintainers() {
	files | python3 tests/static/maintainers.py MAINTAINERS
}

# Lines with words that a reader has to decode, per file. What stands there already is in
# words-allowed.txt, and may only become less: `tests/static/allow-words` writes it anew. The names
# --card and CARD= are exempt.
lines_with_words() {
	local found status=0
	found=$(git grep --untracked -ciP "(?<!--)\b($(paste -sd '|' tests/static/words.txt))\b(?!=)" -- \
		. ':!tests/static/words*' ':!LICENSES') || status=$?
	[ $status -le 1 ] || return 1
	sort <<<"$found"
}

check_words() {
	local lines
	lines=$(lines_with_words) || return 1
	awk -F: '
		NR == FNR { allowed[$1] = $2; next }
		$2 > allowed[$1] + 0 { print $1 ": " $2 " lines with words of words.txt, " allowed[$1] + 0 " allowed" }
	' tests/static/words-allowed.txt - <<<"$lines" | nothing
}
