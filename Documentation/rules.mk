# SPDX-License-Identifier: MIT
#
# The reference of the interfaces, which is in the comments of the headers, and the
# programs that stand in the pages. Included by the Makefile at the top.

DOCS_OUT := $(BUILD)/docs
KERNEL_DOC = perl "$$(qemu/setup print source)/scripts/kernel-doc" -Wall -Werror -sphinx-version 3.0

.PHONY: docs docs-programs
docs: $(foreach page,uapi accel hw,$(DOCS_OUT)/$(page).rst $(DOCS_OUT)/$(page).man)

# The stem is what kernel-doc calls the format. The tool is not in the tree.
$(DOCS_OUT)/uapi.%: include/uapi/linux/paccel.h
	@mkdir -p $(@D)
	@qemu/setup source
	$(KERNEL_DOC) -$* $< >$@

$(DOCS_OUT)/accel.%: include/accel/accel.h
	@mkdir -p $(@D)
	@qemu/setup source
	$(KERNEL_DOC) -$* $< >$@

$(DOCS_OUT)/hw.%: kernel/hw/hw.h
	@mkdir -p $(@D)
	@qemu/setup source
	$(KERNEL_DOC) -$* $< >$@

# Compiled here, because a guest has few CPUs; run there by tests/docs/run-readme.
tests: docs-programs
docs-programs: lib
	@tests/docs/build-programs
