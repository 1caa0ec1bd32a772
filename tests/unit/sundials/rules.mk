# SPDX-License-Identifier: MIT
#
# Tests of the helper for SUNDIALS: its objects and those of libaccel over the mock, with the core
# library of SUNDIALS itself, of each release. Included by ../rules.mk.

SUNDIALS_RELEASES := 7.9.0 7.6.0
SUNDIALS_TESTS := $(patsubst tests/unit/sundials/test_%.c,%,\
	$(sort $(wildcard tests/unit/sundials/test_*.c)))
SUNDIALS_THREADED := threads operations resource

# What these do on request only.
SUNDIALS_WRAP_helper := -Wl,--wrap=SUNDIALSGetVersionNumber -Wl,--wrap=SUNMemoryHelper_NewEmpty \
	-Wl,--wrap=calloc
SUNDIALS_WRAP_memory := -Wl,--wrap=SUNMemoryNewEmpty

# Fetched once; a link says where it is.
SUNDIALS_LIBS_OUT := $(BUILD)/tests/sundials
$(SUNDIALS_RELEASES:%=$(SUNDIALS_LIBS_OUT)/%): $(SUNDIALS_LIBS_OUT)/%: qemu/sundials/%.txt \
		qemu/build-sundials
	@mkdir -p $(@D)
	@qemu/setup sundials $*
	@ln -sfn "$$(qemu/setup print sundials $*)" $@

# sundials_objects(name, tests)
define sundials_objects
SUNDIALS_UNIT_$(1) := $$(patsubst %,$$(UNIT_OUT)/$(1)/tests/unit/sundials/test_%.o,$(2)) \
	$$(SUNDIALS_SRC:%.c=$$(UNIT_OUT)/$(1)/%.o) \
	$$(UNIT_OUT)/$(1)/tests/clients/sundials/operations.o \
	$$(UNIT_OUT)/$(1)/tests/unit/sundials/card.o
$$(SUNDIALS_UNIT_$(1)): UNIT_CFLAGS += -I$$(SUNDIALS_OURS)
-include $$(SUNDIALS_UNIT_$(1):.o=.d)
endef

# sundials_variant(name, compiler, flags, tests, release)
define sundials_variant
SUNDIALS_PROGS_$(1) += $$(patsubst %,$$(UNIT_OUT)/$(1)/sundials-$(5)_%,$(4))

$$(UNIT_OUT)/$(1)/sundials-$(5)_operations: $$(UNIT_OUT)/$(1)/tests/clients/sundials/operations.o \
		$$(UNIT_OUT)/$(1)/tests/unit/sundials/card.o
$$(patsubst %,$$(UNIT_OUT)/$(1)/sundials-$(5)_%,$(filter-out operations,$(4))): \
		$$(UNIT_OUT)/$(1)/sundials-$(5)_%: $$(UNIT_OUT)/$(1)/tests/unit/sundials/test_%.o
$$(patsubst %,$$(UNIT_OUT)/$(1)/sundials-$(5)_%,$(4)): $$(SUNDIALS_SRC:%.c=$$(UNIT_OUT)/$(1)/%.o) \
		$$(UNIT_LIB_$(1)) | $$(SUNDIALS_LIBS_OUT)/$(5)
	$$(call step,LD)$(2) $(3) -o $$@ $$^ $$(UNIT_WRAP) $$(SUNDIALS_WRAP_$$(@F:sundials-$(5)_%=%)) -pthread \
		$$(SUNDIALS_LIBS_OUT)/$(5)/libsundials_core-*.so.$(5) \
		-Wl,-rpath,$$(realpath $$(SUNDIALS_LIBS_OUT)/$(5))
endef

$(eval $(call sundials_objects,gcc-asan,$(SUNDIALS_TESTS)))
$(eval $(call sundials_objects,clang-asan,$(SUNDIALS_TESTS)))
$(eval $(call sundials_objects,gcc-tsan,$(filter $(SUNDIALS_TESTS),$(SUNDIALS_THREADED))))
$(eval $(call sundials_objects,clang-tsan,$(filter $(SUNDIALS_TESTS),$(SUNDIALS_THREADED))))
$(eval $(call sundials_objects,gcov,$(SUNDIALS_TESTS)))
$(foreach release,$(SUNDIALS_RELEASES),\
	$(eval $(call sundials_variant,gcc-asan,gcc,$(UNIT_ASAN),$(SUNDIALS_TESTS) operations,$(release)))\
	$(eval $(call sundials_variant,clang-asan,clang,$(UNIT_ASAN),$(SUNDIALS_TESTS) operations,$(release)))\
	$(eval $(call sundials_variant,gcc-tsan,gcc,$(UNIT_TSAN),$(SUNDIALS_THREADED),$(release)))\
	$(eval $(call sundials_variant,clang-tsan,clang,$(UNIT_TSAN),$(SUNDIALS_THREADED),$(release))))
$(eval $(call sundials_variant,gcov,gcc,$(UNIT_GCOV),$(SUNDIALS_TESTS) operations,7.9.0))

UNIT_PROGS += $(foreach variant,$(UNIT_VARIANTS),$(SUNDIALS_PROGS_$(variant)))
