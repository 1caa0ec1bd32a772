# SPDX-License-Identifier: MIT
#
# The Python modules accel and acl, where the headers of Python are; without them all else is built.
# The folder is one for PYTHONPATH, and what a package has (setup.py). Included by ../../Makefile
# after lib/acl/rules.mk.

PYTHON ?= /usr/bin/python3
PYTHON_OUT ?= $(BUILD)/lib/python
# What the module accel needs of the stable ABI came with 3.11.
PYTHON_SAYS := $(shell $(PYTHON) -c 'import os, sys, sysconfig; \
	path = sysconfig.get_path("include"); \
	os.path.exists(path + "/Python.h") and print(path, *["accel"] * (sys.version_info >= (3, 11)))' \
	2>/dev/null)
PYTHON_INCLUDE := $(firstword $(PYTHON_SAYS))
PYTHON_MODULES := $(if $(PYTHON_INCLUDE),acl $(filter accel,$(wordlist 2,2,$(PYTHON_SAYS))))

# Strings of CPython's structs are not const everywhere.
PYTHON_CFLAGS = $(filter-out -Wwrite-strings,$(USER_CFLAGS)) $(ACL_CFLAGS) \
	-isystem $(PYTHON_INCLUDE) -fPIC -fvisibility=hidden
PYTHON_LIBS_accel := -laccel
PYTHON_LIBS_acl := -laccel_acl -laccel
# In a package the libraries are in accel.libs beside the modules, else two folders above.
PYTHON_LDFLAGS := $(call rpath,$$ORIGIN/../accel.libs:$$ORIGIN/../..) \
	-Wl,-z,relro -Wl,-z,now

PYTHON_OBJ := $(patsubst lib/python/%.c,$(PYTHON_OUT).obj/%.o,$(sort $(wildcard lib/python/*/*.c)))
PYTHON_TEXT := $(patsubst lib/python/%,$(PYTHON_OUT)/%,$(sort $(wildcard lib/python/*/*.py \
	lib/python/*/*.pyi lib/python/*/py.typed)))
PYTHON_SO := $(foreach module,$(PYTHON_MODULES),$(PYTHON_OUT)/$(module)/_$(module).abi3.so)

.PHONY: python
python: $(PYTHON_TEXT) $(PYTHON_SO)
ifneq ($(PYTHON_INCLUDE),)
lib: python
endif

$(PYTHON_TEXT): $(PYTHON_OUT)/%: lib/python/%
	@mkdir -p $(@D)
	$(call step,COPY)cp $< $@

$(PYTHON_OBJ): $(PYTHON_OUT).obj/%.o: lib/python/%.c lib/python/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(PYTHON_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# python_module(name)
define python_module
$$(PYTHON_OUT)/$(1)/_$(1).abi3.so: $$(filter $$(PYTHON_OUT).obj/$(1)/%,$$(PYTHON_OBJ)) \
		$$(LIB_FILES) $$(ACL_FILES)
	@mkdir -p $$(@D)
	$$(call step,LD)$$(CC) -shared -o $$@ $$(filter %.o,$$^) -L$$(BUILD)/lib $$(PYTHON_LIBS_$(1)) \
		$$(PYTHON_LDFLAGS) $$(LDFLAGS)
endef
$(foreach module,$(PYTHON_MODULES),$(eval $(call python_module,$(module))))

-include $(PYTHON_OBJ:.o=.d)
