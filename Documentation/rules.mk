# SPDX-License-Identifier: MIT
#
# The reference of the interfaces, which is in the comments of the headers, the site, and
# the programs that stand in the pages. Included by the Makefile at the top.

DOCS_OUT := $(BUILD)/docs

.PHONY: docs docs-programs html
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

CPP_HEADERS := $(addprefix include/accel/,error.hpp stream.hpp memory_resource.hpp device_buffer.hpp)

$(DOCS_OUT)/cpp/xml/index.xml: $(CPP_HEADERS) $(addprefix Documentation/sphinx/,Doxyfile doxygen.sed)
	@rm -rf $(DOCS_OUT)/cpp && mkdir -p $(DOCS_OUT)/cpp
	$(call step,DOC)(cat Documentation/sphinx/Doxyfile && echo INPUT=$(CPP_HEADERS) && \
		echo OUTPUT_DIRECTORY=$(DOCS_OUT)/cpp) | doxygen -

# The modules for Python are imported, to read their docstrings. Nothing is taken from an earlier run: it would
# hide warnings, and leave pages that have gone.
HTML_OUT = $(BUILD)/html
html: docs lib $(DOCS_OUT)/cpp/xml/index.xml
	@printf '  %-7s %s\n' HTML $(HTML_OUT)/index.html
	@rm -rf $(HTML_OUT)
	$(Q)$(PYTHON) -m sphinx -q -W -E --keep-going -b html -d $(HTML_OUT).pickles Documentation $(HTML_OUT)

-include Documentation/pictures/rules.mk

# Compiled here, because a guest has few CPUs; run there by tests/docs/run-readme.
tests: docs-programs
docs-programs: lib
	@tests/docs/build-programs
