# SPDX-License-Identifier: MIT
#
# Programs to AscendCL's documentation, for guests (see run), linked as those for CANN are, and the
# example. Included by ../../unit/rules.mk.

ACL_CLIENTS_OUT := $(BUILD)/tests/clients/acl
ACL_CLIENTS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/clients/acl/*.c)))
ACL_EXAMPLE := $(BUILD)/examples/acl

$(ACL_CLIENTS): $(ACL_CLIENTS_OUT)/%: tests/clients/acl/%.c $(ACL_FILES) tests/clients/acl/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) -I$(ACL_INCLUDE) $(CFLAGS) -MMD -MP -o $@ $< -L$(BUILD)/lib/ascendcl \
		-lascendcl -L$(BUILD)/lib -laccel -pthread -Wl,--enable-new-dtags \
		-Wl,-rpath,'$$ORIGIN/../../../lib' $(LDFLAGS)

.PHONY: acl-clients
tests: acl-clients
acl-clients: $(ACL_CLIENTS) $(ACL_EXAMPLE)

-include $(ACL_CLIENTS:=.d)
