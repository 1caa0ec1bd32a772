# SPDX-License-Identifier: MIT
#
# Tests of the plugin for PaddlePaddle: its objects and those of libaccel over the mock. Included by
# ../rules.mk.

PADDLE_TESTS := $(patsubst tests/unit/paddle/test_%.c,%,\
	$(sort $(wildcard tests/unit/paddle/test_*.c)))
PADDLE_THREADED := device stream
# Without gloo there is no engine for it.
ifeq ($(HAVE_GLOO),)
PADDLE_TESTS := $(filter-out collective,$(PADDLE_TESTS))
endif

# The functions of Paddle that are needed are those of the tests, which say where they are, too.
PADDLE_WRAP_kernel := -rdynamic -Wl,--wrap=dlopen -Wl,--wrap=dlsym
PADDLE_WRAP_profile := $(PADDLE_WRAP_kernel)
# The engine, which is loaded, throws. Clang's AddressSanitizer, which is in the program, takes the C++ library's
# functions before that.
PADDLE_WRAP_collective := -Wl,--no-as-needed -lstdc++

# paddle_variant(name, compiler, flags, tests): as unit_variant, whose rule makes the objects
define paddle_variant
PADDLE_LIB_$(1) := $$(PADDLE_SRC:%.c=$$(UNIT_OUT)/$(1)/%.o)
PADDLE_PROGS_$(1) := $$(patsubst %,$$(UNIT_OUT)/$(1)/paddle_%,$(4))

$$(PADDLE_LIB_$(1)): UNIT_CFLAGS += $(PADDLE_CFLAGS)

$$(PADDLE_PROGS_$(1)): $$(UNIT_OUT)/$(1)/paddle_%: $$(UNIT_OUT)/$(1)/tests/unit/paddle/test_%.o \
		$$(PADDLE_LIB_$(1)) $$(UNIT_LIB_$(1))
	$$(call step,LD)$(2) $(3) -o $$@ $$^ $$(UNIT_WRAP) $$(PADDLE_WRAP_$$*) -pthread

# The plugin looks for the engine beside itself.
$$(filter %_collective,$$(PADDLE_PROGS_$(1))): | $$(UNIT_OUT)/$(1)/$$(notdir $$(GLOO_ENGINE))
$$(UNIT_OUT)/$(1)/$$(notdir $$(GLOO_ENGINE)): $$(GLOO_ENGINE)
	@mkdir -p $$(@D)
	cp $$< $$@

-include $$(PADDLE_LIB_$(1):.o=.d) \
	$$(patsubst %,$$(UNIT_OUT)/$(1)/tests/unit/paddle/test_%.d,$(4))
endef

$(eval $(call paddle_variant,gcc-asan,gcc,$(UNIT_ASAN),$(PADDLE_TESTS)))
$(eval $(call paddle_variant,clang-asan,clang,$(UNIT_ASAN),$(PADDLE_TESTS)))
$(eval $(call paddle_variant,gcc-tsan,gcc,$(UNIT_TSAN),$(PADDLE_THREADED)))
$(eval $(call paddle_variant,clang-tsan,clang,$(UNIT_TSAN),$(PADDLE_THREADED)))
$(eval $(call paddle_variant,gcov,gcc,$(UNIT_GCOV),$(PADDLE_TESTS)))

UNIT_PROGS += $(foreach variant,$(UNIT_VARIANTS),$(PADDLE_PROGS_$(variant)))

PADDLE_LOADER := $(UNIT_OUT)/paddle_loader
$(PADDLE_LOADER): tests/unit/paddle/loader.c lib/paddle/abi.h tests/unit/paddle/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) -g -O1 -o $@ $<

# The engine of collectives, whose ranks are threads. gloo itself is the distribution's, without a sanitizer: TSan
# does not see the order that its reference counts make, and reports races in it.
define gloo_variant
GLOO_TEST_$(1) := $$(UNIT_OUT)/$(1)/paddle_gloo

$$(UNIT_OUT)/$(1)/gloo/%.o: %.cpp tests/unit/paddle/rules.mk
	@mkdir -p $$(@D)
	$$(call step,CXX)$(2) -std=c++17 $$(GLOO_WARNINGS) -g -O1 -fno-omit-frame-pointer $(3) -MMD -MP -c -o $$@ $$<

$$(GLOO_TEST_$(1)): $$(GLOO_SRC:%.cpp=$$(UNIT_OUT)/$(1)/gloo/%.o) \
		$$(UNIT_OUT)/$(1)/gloo/tests/unit/paddle/gloo/test_engine.o
	$$(call step,LD)$(2) $(3) -o $$@ $$^ -lgloo -pthread

-include $$(GLOO_SRC:%.cpp=$$(UNIT_OUT)/$(1)/gloo/%.d) $$(UNIT_OUT)/$(1)/gloo/tests/unit/paddle/gloo/test_engine.d
endef

$(eval $(call gloo_variant,gcc-asan,g++,$(UNIT_ASAN)))

ifneq ($(HAVE_GLOO),)
UNIT_PROGS += $(GLOO_TEST_gcc-asan)
endif
