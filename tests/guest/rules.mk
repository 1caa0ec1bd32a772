# SPDX-License-Identifier: MIT
#
# Tests of the library and its programs in a guest; see run. Included by ../unit/rules.mk.

GUEST_TESTS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/guest/*.c)))
ifeq ($(DRM),)
GUEST_TESTS := $(filter-out $(BUILD)/tests/guest/drm,$(GUEST_TESTS))
endif
$(BUILD)/tests/guest/drm: GUEST_CFLAGS := $(DRM_CFLAGS)
$(BUILD)/tests/guest/drm: GUEST_LIBS := -laccel_drm $(DRM_LIBS)
$(BUILD)/tests/guest/drm: $(DRM_FILES)
# Fences that are signalled when the test says so.
$(BUILD)/tests/guest/drm $(BUILD)/tests/guest/streams: GUEST_MORE := tests/kselftest/foreign.c
$(BUILD)/tests/guest/drm $(BUILD)/tests/guest/streams: tests/kselftest/foreign.c

.PHONY: guest-programs
tests: guest-programs
guest-programs: $(GUEST_TESTS)

$(GUEST_TESTS): $(BUILD)/tests/guest/%: tests/guest/%.c $(LIB_FILES) tests/guest/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) $(GUEST_CFLAGS) $(CFLAGS) -MMD -MP -o $@ $< $(GUEST_MORE) -L$(BUILD)/lib \
		$(GUEST_LIBS) -laccel -pthread \
		-Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../../lib' $(LDFLAGS)

-include $(GUEST_TESTS:=.d)
