# SPDX-License-Identifier: MIT
#
# The C++ of layers.py, a library by RMM's names without RMM's headers. Included by ../../unit/rules.mk.

PADDLE_LAYERS := $(BUILD)/tests/clients/paddle/layers.so

$(PADDLE_LAYERS): tests/clients/paddle/layers.cpp tests/clients/paddle/rules.mk $(LIB_FILES)
	@mkdir -p $(@D)
	$(call step,CXX)g++ -std=c++17 $(CXX_WARNINGS) -Iinclude/accel/compat -Iinclude $(CFLAGS) -fPIC -shared \
		-MMD -MP -MF $@.d -o $@ $< -L$(BUILD)/lib -laccel -Wl,--enable-new-dtags \
		-Wl,-rpath,'$$ORIGIN/../../../lib' $(LDFLAGS)

.PHONY: paddle-clients
tests: paddle-clients
paddle-clients: $(PADDLE_LAYERS) python

-include $(PADDLE_LAYERS).d
