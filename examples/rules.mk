# SPDX-License-Identifier: MIT
#
# The example programs. Included by ../Makefile after lib/rules.mk.

# Those with SUNDIALS are linked with its libraries, by tests/clients/sundials/rules.mk.
EXAMPLES := $(patsubst %.c,$(BUILD)/%,$(filter-out examples/sundials_%,\
	$(sort $(wildcard examples/*.c))))
CXX_EXAMPLES := $(patsubst %.cpp,$(BUILD)/%,$(sort $(wildcard examples/*.cpp)))
EXAMPLE_LIBS_uring := -luring

.PHONY: examples
examples: $(filter-out $(NO_EXAMPLES),$(EXAMPLES)) $(CXX_EXAMPLES)

$(EXAMPLES): $(BUILD)/examples/%: examples/%.c $(LIB_FILES) examples/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) $(CFLAGS) -MMD -MP -o $@ $< -L$(BUILD)/lib -laccel \
		$(EXAMPLE_LIBS_$*) -Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../lib' $(LDFLAGS)

$(CXX_EXAMPLES): $(BUILD)/examples/%: examples/%.cpp $(LIB_FILES) examples/rules.mk
	@mkdir -p $(@D)
	$(call step,CXX)$(CXX) -std=c++17 $(CXX_WARNINGS) -Iinclude $(CFLAGS) -MMD -MP -o $@ $< -L$(BUILD)/lib -laccel \
		-Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../lib' $(LDFLAGS)

-include $(EXAMPLES:=.d) $(CXX_EXAMPLES:=.d)

EXAMPLE_LIBS_vgem := -laccel_drm $(DRM_LIBS)
$(BUILD)/examples/vgem: USER_CFLAGS += $(DRM_CFLAGS)
$(BUILD)/examples/vgem: $(DRM_FILES)

EXAMPLE_LIBS_acl := -laccel_acl
$(BUILD)/examples/acl: USER_CFLAGS += -I$(ACL_INCLUDE)
$(BUILD)/examples/acl: $(ACL_FILES)
