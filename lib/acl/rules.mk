# SPDX-License-Identifier: MIT
#
# libaccel_acl: AscendCL on libaccel. Its headers, and the name that programs link, are in folders of
# their own, which nobody searches without being told. Included by ../../Makefile after lib/rules.mk.

ACL_SONAME := libaccel_acl.so.$(LIB_SOVERSION)
ACL_SO := $(BUILD)/lib/$(ACL_SONAME)
ACL_INCLUDE := lib/acl/include
ACL_HEADERS := $(sort $(wildcard $(ACL_INCLUDE)/acl/*.h))
ACL_SRC := $(sort $(wildcard lib/acl/*.c))
ACL_OBJ := $(ACL_SRC:%.c=$(BUILD)/%.o)
ACL_MAP := lib/acl/libaccel_acl.map
ACL_FILES := $(ACL_SO) $(BUILD)/lib/libaccel_acl.so $(BUILD)/lib/ascendcl/libascendcl.so

# The headers make visible what they declare.
ACL_CFLAGS := -I$(ACL_INCLUDE) -DFUNC_VISIBILITY

.PHONY: install-acl
lib: $(ACL_FILES)
install-lib: install-acl

$(ACL_OBJ): $(BUILD)/%.o: %.c lib/acl/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) $(ACL_CFLAGS) -fPIC -fvisibility=hidden $(CFLAGS) -MMD -MP -c -o $@ $<

# libaccel is beside it, and above the folder that has it by its other name. Threads may be in a call
# while the process unloads what is on top.
$(ACL_SO): $(ACL_OBJ) $(LIB_FILES) $(ACL_MAP)
	$(call step,LD)$(CC) -shared -o $@ $(ACL_OBJ) -Wl,-soname,$(ACL_SONAME) \
		-Wl,--version-script=$(ACL_MAP) -L$(BUILD)/lib -laccel \
		$(call rpath,$$ORIGIN:$$ORIGIN/..) \
		-Wl,-z,defs -Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now $(LDFLAGS)

$(BUILD)/lib/libaccel_acl.so: $(ACL_SO)
	$(Q)ln -sf $(ACL_SONAME) $@

$(BUILD)/lib/ascendcl/libascendcl.so: $(ACL_SO)
	@mkdir -p $(@D)
	$(Q)ln -sf ../$(ACL_SONAME) $@

install-acl: lib
	install -d $(DESTDIR)$(INCLUDEDIR)/accel/ascendcl/acl $(DESTDIR)$(LIBDIR)/ascendcl \
		$(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(ACL_HEADERS) $(DESTDIR)$(INCLUDEDIR)/accel/ascendcl/acl
	install -m 755 $(ACL_SO) $(DESTDIR)$(LIBDIR)
	ln -sf $(ACL_SONAME) $(DESTDIR)$(LIBDIR)/libaccel_acl.so
	ln -sf ../$(ACL_SONAME) $(DESTDIR)$(LIBDIR)/ascendcl/libascendcl.so
	sed -e 's|@prefix@|$(PREFIX)|; s|@libdir@|$(LIBDIR)|; s|@includedir@|$(INCLUDEDIR)|' \
		-e 's|@version@|$(LIB_VERSION)|' lib/acl/accel-acl.pc.in \
		> $(DESTDIR)$(LIBDIR)/pkgconfig/accel-acl.pc
	lib/install-cmake lib/acl/accel_aclConfig.cmake.in $(LIB_VERSION) $(LIBDIR) $(INCLUDEDIR) \
		"$(DESTDIR)"

-include $(ACL_OBJ:.o=.d)
