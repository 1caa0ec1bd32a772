# SPDX-License-Identifier: MIT
#
# libaccel_drm, where there is libdrm; without it, or with `make DRM=`, all else is built. Included by
# ../../Makefile after lib/rules.mk.

ifeq ($(origin DRM),undefined)
DRM := $(shell pkg-config --exists libdrm 2>/dev/null && echo yes)
endif
DRM_SONAME := libaccel_drm.so.$(LIB_SOVERSION)

ifneq ($(DRM),)
DRM_CFLAGS := $(shell pkg-config --cflags libdrm)
DRM_LIBS := $(shell pkg-config --libs libdrm)
DRM_SRC := $(sort $(wildcard lib/drm/*.c))
DRM_OBJ := $(DRM_SRC:%.c=$(BUILD)/%.o)
DRM_FILES := $(BUILD)/lib/$(DRM_SONAME) $(BUILD)/lib/libaccel_drm.so

.PHONY: install-drm
lib: $(DRM_FILES)
install-lib: install-drm

$(DRM_OBJ): $(BUILD)/%.o: %.c lib/drm/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) -fPIC -fvisibility=hidden $(DRM_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/lib/$(DRM_SONAME): $(DRM_OBJ) $(LIB_FILES) lib/drm/libaccel_drm.map
	$(call step,LD)$(CC) -shared -o $@ $(DRM_OBJ) -Wl,-soname,$(DRM_SONAME) \
		-Wl,--version-script=lib/drm/libaccel_drm.map -L$(BUILD)/lib -laccel $(DRM_LIBS) \
		$(call rpath,$$ORIGIN) \
		-Wl,-z,defs -Wl,-z,relro -Wl,-z,now $(LDFLAGS)

$(BUILD)/lib/libaccel_drm.so: $(BUILD)/lib/$(DRM_SONAME)
	$(Q)ln -sf $(DRM_SONAME) $@

install-drm: lib
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 755 $(BUILD)/lib/$(DRM_SONAME) $(DESTDIR)$(LIBDIR)
	ln -sf $(DRM_SONAME) $(DESTDIR)$(LIBDIR)/libaccel_drm.so
	sed -e 's|@prefix@|$(PREFIX)|; s|@libdir@|$(LIBDIR)|; s|@includedir@|$(INCLUDEDIR)|' \
		-e 's|@version@|$(LIB_VERSION)|' lib/drm/accel-drm.pc.in \
		> $(DESTDIR)$(LIBDIR)/pkgconfig/accel-drm.pc

-include $(DRM_OBJ:.o=.d)
else
NO_EXAMPLES := $(BUILD)/examples/vgem
endif
