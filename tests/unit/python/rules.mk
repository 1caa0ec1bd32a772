# SPDX-License-Identifier: MIT
#
# The Python modules with sanitizers, for their tests. The libraries below are the usual ones. Included
# by ../rules.mk.

PYTHON_ASAN := $(UNIT_OUT)/python-asan
PYTHON_ASAN_FLAGS := $(UNIT_ASAN) -g -O1 -fno-omit-frame-pointer

# What counts calls of libaccel.
PYTHON_COUNT := $(UNIT_OUT)/libcount.so
$(PYTHON_COUNT): tests/unit/python/count.c tests/unit/python/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) -g -O1 -fPIC -shared -o $@ $<

# The second make finds the libraries made, so that these flags are the modules' alone.
.PHONY: python-asan
python-asan: lib
	@$(MAKE) -s --no-print-directory -f lib/rules.mk -f lib/acl/rules.mk -f lib/python/rules.mk \
		BUILD=$(BUILD) PYTHON_OUT=$(PYTHON_ASAN) CFLAGS="$(PYTHON_ASAN_FLAGS)" \
		LDFLAGS="$(UNIT_ASAN)" python
