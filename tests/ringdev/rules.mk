# SPDX-License-Identifier: MIT
#
# Tests of the ring card's model, with both compilers under sanitizers, and the fuzzer's program.
# `make ringdev-test` runs the tests. Included by ../../Makefile after qemu/ringdev/rules.mk.

RINGDEV_TEST_OUT := $(BUILD)/tests/ringdev
RINGDEV_TESTS := $(patsubst tests/ringdev/test_%.c,%,$(sort $(wildcard tests/ringdev/test_*.c)))
RINGDEV_TEST_CFLAGS := $(RINGDEV_CFLAGS) -Wno-conversion -g -O1 -fno-omit-frame-pointer
RINGDEV_SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all

# ringdev_variant(name, compiler, flags)
define ringdev_variant
RINGDEV_LIB_$(1) := $$(RINGDEV_MODEL:%.c=$$(RINGDEV_TEST_OUT)/$(1)/%.o)
RINGDEV_PROGS_$(1) := $$(RINGDEV_TESTS:%=$$(RINGDEV_TEST_OUT)/$(1)/%)

$$(RINGDEV_TEST_OUT)/$(1)/%.o: %.c tests/ringdev/rules.mk
	@mkdir -p $$(@D)
	$$(call step,CC)$(2) $$(RINGDEV_TEST_CFLAGS) $(3) -MMD -MP -c -o $$@ $$<

$$(RINGDEV_PROGS_$(1)): $$(RINGDEV_TEST_OUT)/$(1)/%: \
		$$(RINGDEV_TEST_OUT)/$(1)/tests/ringdev/test_%.o \
		$$(RINGDEV_TEST_OUT)/$(1)/tests/ringdev/fixture.o $$(RINGDEV_LIB_$(1))
	$$(call step,LD)$(2) $(3) -o $$@ $$^

-include $$(RINGDEV_LIB_$(1):.o=.d) $$(wildcard $$(RINGDEV_TEST_OUT)/$(1)/tests/ringdev/*.d)
endef

$(eval $(call ringdev_variant,gcc,gcc,$(RINGDEV_SANITIZE)))
$(eval $(call ringdev_variant,clang,clang,$(RINGDEV_SANITIZE)))
$(eval $(call ringdev_variant,fuzz,clang,$(RINGDEV_SANITIZE) -O2 -fsanitize=fuzzer-no-link))

RINGDEV_FUZZ := $(RINGDEV_TEST_OUT)/fuzz/fuzz
$(RINGDEV_FUZZ): $(RINGDEV_TEST_OUT)/fuzz/tests/ringdev/fuzz.o $(RINGDEV_LIB_fuzz)
	$(call step,LD)clang $(RINGDEV_SANITIZE) -fsanitize=fuzzer -o $@ $^

RINGDEV_BENCH := $(RINGDEV_TEST_OUT)/bench
$(RINGDEV_BENCH): tests/ringdev/bench.c qemu/ringdev/hw.h qemu/ringdev/shared.h tests/ringdev/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(RINGDEV_CFLAGS) -Wno-conversion $(CFLAGS) -o $@ $< $(LDFLAGS)

.PHONY: ringdev-test ringdev-fuzz ringdev-bench ringdev-programs
tests: ringdev-programs
ringdev-programs: $(RINGDEV_PROGS_gcc) $(RINGDEV_PROGS_clang) $(RINGDEV_FUZZ) $(RINGDEV_BENCH) ringdev

ringdev-test: ringdev-programs ## tests of the ring card's process, without QEMU
	@export BUILD=$(BUILD); status=0; \
	tests/unit/run $(RINGDEV_PROGS_gcc) $(RINGDEV_PROGS_clang) || status=1; \
	timeout 120 pytest-3 tests/ringdev || status=1; \
	exit $$status

ringdev-bench: $(RINGDEV_BENCH) ringdev ## how fast the ring card's process is, without QEMU
	@$(RINGDEV_BENCH) $(RINGDEV_OUT)/ringdev

# What it finds is kept, so that the next run starts from there.
ringdev-fuzz: $(RINGDEV_FUZZ) ## a fuzzer plays the guest of a ring card: make ringdev-fuzz FUZZ_SECONDS=30
	@mkdir -p $(RINGDEV_TEST_OUT)/seeds $(RINGDEV_TEST_OUT)/corpus
	@$(RINGDEV_FUZZ) --corpus $(RINGDEV_TEST_OUT)/seeds
	@$(RINGDEV_FUZZ) -max_total_time=$(FUZZ_SECONDS) -max_len=1024 -timeout=20 \
		-print_final_stats=1 -artifact_prefix=$(RINGDEV_TEST_OUT)/ \
		$(RINGDEV_TEST_OUT)/corpus $(RINGDEV_TEST_OUT)/seeds
