# SPDX-License-Identifier: MIT
#
# The example programs. Included by ../Makefile after lib/rules.mk.

EXAMPLES := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard examples/*.c)))

.PHONY: examples
examples: $(EXAMPLES)

$(EXAMPLES): $(BUILD)/examples/%: examples/%.c $(LIB_FILES) examples/rules.mk
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(CFLAGS) -MMD -MP -o $@ $< -L$(BUILD)/lib -laccel \
		-Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../lib' $(LDFLAGS)

-include $(EXAMPLES:=.d)
