# SPDX-License-Identifier: MIT
#
# accelctl. Included by ../Makefile after lib/rules.mk.

TOOL_SRC := $(sort $(wildcard tools/*.c))
# Silent where json-c is missing: make help needs none.
TOOL_CFLAGS := $(shell pkg-config --cflags json-c 2>/dev/null)
TOOL_LIBS := $(or $(shell pkg-config --libs json-c 2>/dev/null),-ljson-c) -lm
ifneq ($(DRM),)
TOOL_CFLAGS += -DHAVE_DRM
TOOL_LIBS += -laccel_drm -Wl,-rpath-link,$(BUILD)/lib
endif
TOOL_OBJ := $(TOOL_SRC:%.c=$(BUILD)/%.o)

.PHONY: tools
tools: $(BUILD)/tools/accelctl

# libaccel_drm is there from one run of make to the next if libdrm is: what was compiled without is older.
$(TOOL_OBJ): $(BUILD)/%.o: %.c tools/rules.mk $(DRM_FILES)
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) -Iinclude/uapi $(TOOL_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The library beside it, in the build tree as where it is installed.
$(BUILD)/tools/accelctl: $(TOOL_OBJ) $(LIB_FILES) $(DRM_FILES)
	$(call step,LD)$(CC) -o $@ $(TOOL_OBJ) -L$(BUILD)/lib $(TOOL_LIBS) -laccel \
		$(call rpath,$$ORIGIN/../lib) $(LDFLAGS)

-include $(TOOL_OBJ:.o=.d)
