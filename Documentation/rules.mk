# SPDX-License-Identifier: MIT
#
# The reference of the interfaces, which is in the comments of the headers, and the
# programs that stand in the pages. Included by the Makefile at the top.

DOCS_OUT := $(BUILD)/docs

.PHONY: docs docs-programs
docs: $(DOCS_OUT)/uapi.rst $(DOCS_OUT)/accel.rst $(DOCS_OUT)/resource.rst $(DOCS_OUT)/pool.rst \
	$(DOCS_OUT)/buffer.rst $(DOCS_OUT)/drm.rst $(DOCS_OUT)/sundials.rst \
	$(DOCS_OUT)/acl.rst $(DOCS_OUT)/acl_rt.rst $(DOCS_OUT)/hw.rst

$(DOCS_OUT)/uapi.rst: include/uapi/linux/paccel.h
$(DOCS_OUT)/accel.rst: include/accel/accel.h
$(DOCS_OUT)/resource.rst: include/accel/resource.h
$(DOCS_OUT)/pool.rst: include/accel/pool.h
$(DOCS_OUT)/buffer.rst: include/accel/buffer.h
$(DOCS_OUT)/drm.rst: include/accel/drm.h
$(DOCS_OUT)/sundials.rst: include/accel/sundials.h
$(DOCS_OUT)/acl.rst: lib/acl/include/acl/acl.h
$(DOCS_OUT)/acl_rt.rst: lib/acl/include/acl/acl_rt.h
$(DOCS_OUT)/hw.rst: kernel/include/paccel.h kernel/include/paccel_xfer.h

# The tool is not in the tree. Without a version it asks sphinx, which need not be there.
$(DOCS_OUT)/%.rst:
	@mkdir -p $(@D)
	@qemu/setup source
	$(call step,DOC)perl "$$(qemu/setup print source)/scripts/kernel-doc" -Wall -Werror -sphinx-version 3.0 -rst $^ >$@

# Compiled here, because a guest has few CPUs; run there by tests/docs/run-readme.
tests: docs-programs
docs-programs: lib
	@tests/docs/build-programs
