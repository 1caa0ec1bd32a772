# SPDX-License-Identifier: MIT
#
# The contract of the uAPI as one program, linked twice: with the mock for `make unit`, and plain for
# guests, where tests/kselftest/run runs it. Included by ../unit/rules.mk.

CONFORMANCE_SRC := $(filter-out %/target_mock.c %/target_driver.c,\
	$(sort $(wildcard tests/conformance/*.c)))

# conformance_variant(name, compiler, flags): a variant of the unit tests
define conformance_variant
CONFORMANCE_OBJ_$(1) := $$(patsubst %.c,$$(UNIT_OUT)/$(1)/%.o,\
	$$(CONFORMANCE_SRC) tests/conformance/target_mock.c)
UNIT_PROGS_$(1) += $$(UNIT_OUT)/$(1)/conformance

$$(UNIT_OUT)/$(1)/conformance: $$(CONFORMANCE_OBJ_$(1)) $$(UNIT_MOCK:%.c=$$(UNIT_OUT)/$(1)/%.o)
	$$(call step,LD)$(2) $(3) -o $$@ $$^ $$(UNIT_WRAP) -pthread

-include $$(CONFORMANCE_OBJ_$(1):.o=.d)
endef

$(eval $(call conformance_variant,gcc-asan,gcc,$(UNIT_ASAN)))
$(eval $(call conformance_variant,clang-asan,clang,$(UNIT_ASAN)))

CONFORMANCE_GUEST := $(BUILD)/tests/kselftest/conformance
CONFORMANCE_GUEST_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(CONFORMANCE_SRC) tests/conformance/target_driver.c)

$(CONFORMANCE_GUEST_OBJ): $(BUILD)/%.o: %.c tests/conformance/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) -Iinclude/uapi $(CFLAGS) -MMD -MP -c -o $@ $<

$(CONFORMANCE_GUEST): $(CONFORMANCE_GUEST_OBJ) \
		$(patsubst %,$(BUILD)/tests/kselftest/%.o,card foreign util)
	$(call step,LD)$(CC) $(CFLAGS) -static -o $@ $^ -pthread

kselftest: $(CONFORMANCE_GUEST)
-include $(CONFORMANCE_GUEST_OBJ:.o=.d)
