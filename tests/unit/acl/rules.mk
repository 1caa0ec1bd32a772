# SPDX-License-Identifier: MIT
#
# Tests of AscendCL's calls: their objects and those of libaccel over the mock. Included by
# ../rules.mk.

ACL_TESTS := $(patsubst tests/unit/acl/test_%.c,%,$(sort $(wildcard tests/unit/acl/test_*.c)))
ACL_THREADED := device stream report
# What fails on request.
# What a test counts.
ACL_WRAP_stream := -Wl,--wrap=accel_event_query
# What a test waits at.
ACL_WRAP_report := -Wl,--wrap=state_unlock
ACL_WRAP_memory := -Wl,--wrap=malloc -Wl,--wrap=tsearch

# acl_variant(name, compiler, flags, tests): as unit_variant, whose rule makes the objects
define acl_variant
ACL_LIB_$(1) := $$(ACL_SRC:%.c=$$(UNIT_OUT)/$(1)/%.o)
ACL_TEST_OBJ_$(1) := $$(patsubst %,$$(UNIT_OUT)/$(1)/tests/unit/acl/test_%.o,$(4))
ACL_PROGS_$(1) := $$(patsubst %,$$(UNIT_OUT)/$(1)/acl_%,$(4))

$$(ACL_LIB_$(1)) $$(ACL_TEST_OBJ_$(1)): UNIT_CFLAGS += $$(ACL_CFLAGS)

$$(ACL_PROGS_$(1)): $$(UNIT_OUT)/$(1)/acl_%: $$(UNIT_OUT)/$(1)/tests/unit/acl/test_%.o \
		$$(ACL_LIB_$(1)) $$(UNIT_LIB_$(1))
	$$(call step,LD)$(2) $(3) -o $$@ $$^ $$(UNIT_WRAP) $$(ACL_WRAP_$$*) -pthread

-include $$(ACL_LIB_$(1):.o=.d) $$(ACL_TEST_OBJ_$(1):.o=.d)
endef

$(eval $(call acl_variant,gcc-asan,gcc,$(UNIT_ASAN),$(ACL_TESTS)))
$(eval $(call acl_variant,clang-asan,clang,$(UNIT_ASAN),$(ACL_TESTS)))
$(eval $(call acl_variant,gcc-tsan,gcc,$(UNIT_TSAN),$(filter $(ACL_TESTS),$(ACL_THREADED))))
$(eval $(call acl_variant,clang-tsan,clang,$(UNIT_TSAN),$(filter $(ACL_TESTS),$(ACL_THREADED))))
$(eval $(call acl_variant,gcov,gcc,$(UNIT_GCOV),$(ACL_TESTS)))

UNIT_PROGS += $(foreach variant,$(UNIT_VARIANTS),$(ACL_PROGS_$(variant)))
