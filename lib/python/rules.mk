# SPDX-License-Identifier: MIT
#
# The Python module accel, where the headers of Python are; without them all else is built. The
# folder is one for PYTHONPATH, and what a package has (setup.py). Included by ../../Makefile after
# lib/rules.mk.

PYTHON ?= /usr/bin/python3
PYTHON_OUT ?= $(BUILD)/lib/python
PYTHON_INCLUDE := $(shell $(PYTHON) -c 'import os, sysconfig; p = sysconfig.get_path("include"); \
	print(p if os.path.exists(p + "/Python.h") else "")' 2>/dev/null)
# What the module accel needs of the stable ABI came with 3.11.
PYTHON_ACCEL := $(shell $(PYTHON) -c 'import sys; print("yes" if sys.version_info >= (3, 11) else "")' \
	2>/dev/null)

# Strings of CPython's structs are not const everywhere.
PYTHON_CFLAGS = $(filter-out -Wwrite-strings,$(USER_CFLAGS)) -isystem $(PYTHON_INCLUDE) -fPIC \
	-fvisibility=hidden
# In a package libaccel is in accel.libs beside the modules, else two folders above.
PYTHON_LDFLAGS := -Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../accel.libs:$$ORIGIN/../..' \
	-Wl,-z,relro -Wl,-z,now

PYTHON_ACCEL_SRC := $(sort $(wildcard lib/python/accel/*.c))
PYTHON_ACCEL_OBJ := $(PYTHON_ACCEL_SRC:lib/python/%.c=$(PYTHON_OUT).obj/%.o)
PYTHON_TEXT := $(sort $(wildcard lib/python/accel/*.py lib/python/accel/*.pyi lib/python/accel/py.typed))
PYTHON_FILES := $(PYTHON_TEXT:lib/python/%=$(PYTHON_OUT)/%)
ifneq ($(PYTHON_ACCEL),)
PYTHON_FILES += $(PYTHON_OUT)/accel/_accel.abi3.so
endif

.PHONY: python
ifneq ($(PYTHON_INCLUDE),)
lib: python
endif
python: $(PYTHON_FILES)

$(PYTHON_TEXT:lib/python/%=$(PYTHON_OUT)/%): $(PYTHON_OUT)/%: lib/python/%
	@mkdir -p $(@D)
	cp $< $@

$(PYTHON_ACCEL_OBJ): $(PYTHON_OUT).obj/%.o: lib/python/%.c lib/python/rules.mk
	@mkdir -p $(@D)
	$(CC) $(PYTHON_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(PYTHON_OUT)/accel/_accel.abi3.so: $(PYTHON_ACCEL_OBJ) $(LIB_FILES)
	@mkdir -p $(@D)
	$(CC) -shared -o $@ $(PYTHON_ACCEL_OBJ) -L$(BUILD)/lib -laccel $(PYTHON_LDFLAGS) $(LDFLAGS)

-include $(PYTHON_ACCEL_OBJ:.o=.d)
