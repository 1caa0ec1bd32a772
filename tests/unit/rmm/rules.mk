# SPDX-License-Identifier: MIT
#
# Tests of the C++ interface over the mock. Included by tests/unit/rules.mk, whose objects of
# the library and the mock these link.

RMM_TESTS := $(patsubst tests/unit/rmm/test_%.cpp,%,$(sort $(wildcard tests/unit/rmm/test_*.cpp)))
RMM_CXXFLAGS := $(CXX_WARNINGS) -Iinclude/accel/compat -Iinclude -Iinclude/uapi -Itests/unit -g -O1 \
	-fno-omit-frame-pointer

# rmm_variant(variant of tests/unit/rules.mk, compiler, standard, flags)
define rmm_variant
RMM_PROGS_$(1) := $$(RMM_TESTS:%=$$(UNIT_OUT)/$(1)/rmm/%)

$$(UNIT_OUT)/$(1)/rmm/%.o: tests/unit/rmm/test_%.cpp tests/unit/rmm/rules.mk
	@mkdir -p $$(@D)
	$$(call step,CXX)$(2) -std=$(3) $$(RMM_CXXFLAGS) $(4) -MMD -MP -c -o $$@ $$<

$$(RMM_PROGS_$(1)): $$(UNIT_OUT)/$(1)/rmm/%: $$(UNIT_OUT)/$(1)/rmm/%.o $$(UNIT_LIB_$(1))
	$$(call step,LD)$(2) $(4) -o $$@ $$^ $$(UNIT_WRAP) -pthread

-include $$(RMM_PROGS_$(1):%=%.d)
endef

$(eval $(call rmm_variant,gcc-asan,g++,c++17,$(UNIT_ASAN)))
$(eval $(call rmm_variant,clang-asan,clang++,c++20,$(UNIT_ASAN)))
$(eval $(call rmm_variant,gcc-tsan,g++,c++20,$(UNIT_TSAN)))
$(eval $(call rmm_variant,gcov,g++,c++17,$(UNIT_GCOV)))

UNIT_PROGS += $(RMM_PROGS_gcc-asan) $(RMM_PROGS_clang-asan) $(RMM_PROGS_gcc-tsan)
