# SPDX-License-Identifier: MIT
#
# The module that makes a guest's kernel report errors, for tests/runner. Included by the top Makefile.

$(BUILD)/tests/runner/%/provoke.ko: setup-% FORCE
	@qemu/link-sources tests/runner/provoke $(@D)
	+@qemu/kbuild $* --no-print-directory M=$(abspath $(@D)) W=1 modules
