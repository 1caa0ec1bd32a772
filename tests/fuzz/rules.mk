# SPDX-License-Identifier: MIT
#
# The fuzzer of the driver. `make fuzz SECONDS=60 KERNEL=debug` runs it in a guest. Included by ../../Makefile after
# tests/kselftest/rules.mk, of which it takes what knows the devices of a guest.

SECONDS ?= 60
KERNEL ?= debug
FUZZ_DIR := tests/fuzz
FUZZ_OUT := $(BUILD)/tests/fuzz
FUZZ_SRCS := $(filter-out $(FUZZ_DIR)/test_%,$(sort $(wildcard $(FUZZ_DIR)/*.c)))
FUZZ_OBJS := $(FUZZ_SRCS:$(FUZZ_DIR)/%.c=$(FUZZ_OUT)/%.o)
FUZZ_CFLAGS := -std=gnu11 -D_GNU_SOURCE $(USER_WARNINGS) -pthread -Iinclude/uapi

$(FUZZ_OUT)/%.o: $(FUZZ_DIR)/%.c $(FUZZ_DIR)/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(CFLAGS) $(FUZZ_CFLAGS) -MMD -MP -c $< -o $@

# Linked statically: its processes are forked all the time.
$(FUZZ_OUT)/fuzz: $(FUZZ_OBJS) $(KSELFTEST_OUT)/card.o $(KSELFTEST_OUT)/util.o
	$(call step,LD)$(CC) $(CFLAGS) -pthread -static $^ -o $@

-include $(FUZZ_OBJS:.o=.d) $(FUZZ_OUT)/test_program.d

$(FUZZ_OUT)/test_program: $(FUZZ_OUT)/test_program.o \
		$(filter $(FUZZ_OUT)/calls_% %/grammar.o %/program.o %/text.o,$(FUZZ_OBJS)) \
		$(KSELFTEST_OUT)/card.o $(KSELFTEST_OUT)/util.o
	$(call step,LD)$(CC) $(CFLAGS) -pthread -static $^ -o $@

.PHONY: fuzz fuzz-test
tests: $(FUZZ_OUT)/fuzz $(FUZZ_OUT)/test_program

fuzz-test: $(FUZZ_OUT)/fuzz $(FUZZ_OUT)/test_program ## tests of the fuzzer itself, without a guest
	@tests/fuzz/test

fuzz: $(BUILD)/kernel/$(KERNEL)/paccel.ko $(FUZZ_OUT)/fuzz ringdev
	@KERNEL=$(KERNEL) tests/fuzz/run $(SECONDS)
