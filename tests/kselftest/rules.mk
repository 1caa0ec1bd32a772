# SPDX-License-Identifier: MIT
#
# The programs that run in the guest. Included by the top Makefile; `make kselftest`
# builds them all. The harness is the kernel's own and comes from its unpacked
# source, KSELFTEST_INC is the folder that holds kselftest.h.

KSELFTEST_DIR := tests/kselftest
KSELFTEST_OUT := $(BUILD)/tests/kselftest
KSELFTEST_SRCS := $(wildcard $(KSELFTEST_DIR)/*.c)
# In each of the programs.
KSELFTEST_PARTS := card foreign util
KSELFTEST_PROGS := $(filter-out $(KSELFTEST_PARTS),$(KSELFTEST_SRCS:$(KSELFTEST_DIR)/%.c=%))
# Asked only when something is compiled.
KSELFTEST_INC ?= $(shell qemu/setup print kselftest)

# Linked statically: a process of few mappings is forked in half the time, which is what
# the harness does all day, and `suspend` runs from memory alone.
# Without optimisation: after a failed ASSERT the harness reads a local variable that
# was set after setjmp(), and with it would not run the teardown.
KSELFTEST_CFLAGS = -O0 -std=gnu11 -Wall -Wextra -Werror -pthread -D_GNU_SOURCE \
	-isystem $(KSELFTEST_INC) -Iinclude/uapi

.PHONY: kselftest
kselftest: $(KSELFTEST_PROGS:%=$(KSELFTEST_OUT)/%) ## the test programs for the guest
tests: kselftest

$(KSELFTEST_OUT)/%: $(KSELFTEST_OUT)/%.o $(KSELFTEST_PARTS:%=$(KSELFTEST_OUT)/%.o)
	$(call step,LD)$(CC) $(CFLAGS) -pthread -static $^ -o $@

$(KSELFTEST_OUT)/%.o: $(KSELFTEST_DIR)/%.c $(wildcard $(KSELFTEST_DIR)/*.h) \
		include/uapi/linux/paccel.h $(KSELFTEST_DIR)/rules.mk | $(BUILD)/kselftest.source
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(CFLAGS) $(KSELFTEST_CFLAGS) -c $< -o $@

.PRECIOUS: $(KSELFTEST_OUT)/%.o

# The kernel source is not in the tree; it is fetched once.
$(BUILD)/kselftest.source:
	@mkdir -p $(@D)
	@qemu/setup source
	@: >$@

# The driver as a later version may be, with larger structs, for programs that know those of now: the job
# `grown`.
GROWN := $(BUILD)/grown
$(GROWN)/kernel/paccel.ko: setup-6.12 FORCE
	@qemu/link-sources kernel $(@D)
	@mkdir -p $(GROWN)/uapi/linux
	@awk -f $(KSELFTEST_DIR)/grow.awk include/uapi/linux/paccel.h >$(GROWN)/paccel.h
	@cmp -s $(GROWN)/paccel.h $(GROWN)/uapi/linux/paccel.h || cp $(GROWN)/paccel.h $(GROWN)/uapi/linux/
	+$(call step,MODULE)qemu/kbuild 6.12 $(if $(Q),-s,V=1) --no-print-directory \
		M=$(abspath $(@D)) KCFLAGS="-include $(abspath $(GROWN)/uapi/linux/paccel.h)" modules
