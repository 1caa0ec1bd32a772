# SPDX-License-Identifier: MIT
#
# libaccel_sundials. SUNDIALS=PREFIX is where SUNDIALS is; none: it is built with declarations of
# ours, for 7.3 and later, as it is where none is found. Included by ../../Makefile after
# lib/rules.mk.

SUNDIALS_SONAME := libaccel_sundials.so.$(LIB_SOVERSION)
SUNDIALS_SO := $(BUILD)/lib/$(SUNDIALS_SONAME)
SUNDIALS_OURS := lib/sundials/abi
SUNDIALS_SRC := $(sort $(wildcard lib/sundials/*.c))
SUNDIALS_OBJ := $(SUNDIALS_SRC:%.c=$(BUILD)/%.o)
SUNDIALS_MAP := lib/sundials/libaccel_sundials.map

ifneq ($(filter-out help clean,$(or $(MAKECMDGOALS),all)),)
SUNDIALS_FOUND := $(BUILD)/sundials/found.mk
$(shell lib/sundials/find $(BUILD)/sundials $(SUNDIALS))
include $(SUNDIALS_FOUND)
endif
ifneq ($(SUNDIALS_ERROR),)
$(error $(SUNDIALS_ERROR))
endif
ifneq ($(SUNDIALS_NOTE),)
$(info $(SUNDIALS_NOTE))
endif

# With the library at hand nothing is left unresolved; without, the program links SUNDIALS.
ifneq ($(SUNDIALS_INCLUDE),)
SUNDIALS_CFLAGS := -isystem $(SUNDIALS_INCLUDE) $(SUNDIALS_MPI) $(SUNDIALS_CPPFLAGS)
else
SUNDIALS_CFLAGS := -I$(SUNDIALS_OURS)
endif
SUNDIALS_DEFS := $(if $(SUNDIALS_LIBS),-z defs)
SUNDIALS_ABI := $(if $(filter 7.1.% 7.2.%,$(SUNDIALS_VERSION)),7.1,7.3)

.PHONY: install-sundials
lib: $(SUNDIALS_SO) $(BUILD)/lib/libaccel_sundials.so
install-lib: install-sundials

$(SUNDIALS_OBJ): $(BUILD)/%.o: %.c lib/sundials/rules.mk $(SUNDIALS_FOUND)
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) -fPIC -fvisibility=hidden $(SUNDIALS_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(SUNDIALS_SO): $(SUNDIALS_OBJ) $(LIB_FILES) $(SUNDIALS_MAP)
	$(call step,LD)$(CC) -shared -o $@ $(SUNDIALS_OBJ) -Wl,-soname,$(SUNDIALS_SONAME) \
		-Wl,--version-script=$(SUNDIALS_MAP) -L$(BUILD)/lib -laccel $(SUNDIALS_LIBS) \
		$(call rpath,$$ORIGIN) \
		$(SUNDIALS_DEFS) -Wl,-z,relro -Wl,-z,now $(LDFLAGS)

$(BUILD)/lib/libaccel_sundials.so: $(SUNDIALS_SO)
	$(Q)ln -sf $(SUNDIALS_SONAME) $@

install-sundials: lib
	install -d $(DESTDIR)$(INCLUDEDIR)/accel $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 include/accel/sundials.h $(DESTDIR)$(INCLUDEDIR)/accel
	install -m 755 $(SUNDIALS_SO) $(DESTDIR)$(LIBDIR)
	ln -sf $(SUNDIALS_SONAME) $(DESTDIR)$(LIBDIR)/libaccel_sundials.so
	sed -e 's|@prefix@|$(PREFIX)|; s|@libdir@|$(LIBDIR)|; s|@includedir@|$(INCLUDEDIR)|' \
		-e 's|@version@|$(LIB_VERSION)|; s|@sundials_abi@|$(SUNDIALS_ABI)|' \
		lib/sundials/accel-sundials.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/accel-sundials.pc
	lib/install-cmake lib/sundials/accel_sundialsConfig.cmake.in $(LIB_VERSION) $(LIBDIR) \
		$(INCLUDEDIR) "$(DESTDIR)"

-include $(SUNDIALS_OBJ:.o=.d)
