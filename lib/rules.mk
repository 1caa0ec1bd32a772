# SPDX-License-Identifier: MIT
#
# libaccel, and what user space shares: flags, version, installation. Included by ../Makefile.

BUILD ?= build
CFLAGS ?= -O2 -g
OBJCOPY ?= objcopy
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share/accel
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions

# $(call step,CC) before a command prints a line such as `CC lib/copy.o` in its place, and $(Q) nothing;
# with V=1 both print the command. With -s nothing is printed at all.
V ?= 0
ifneq ($(V),1)
Q := @
step = @$(if $(findstring s,$(firstword -$(MAKEFLAGS))),,printf '  %-7s %s\n' $(1) $(@:$(BUILD)/%=%);)
endif

# Where a library or program looks for libaccel: relative to itself, so that a tree that is installed can be moved.
# With RPATH=no: where the system has its libraries, as packages of distributions do.
RPATH ?=
rpath = $(if $(filter no,$(RPATH)),,-Wl,--enable-new-dtags -Wl,-rpath,'$(1)')

USER_WARNINGS := -Wall -Wextra -Werror -Wmissing-prototypes -Wstrict-prototypes -Wshadow \
	-Wformat=2 -Wwrite-strings -Wcast-function-type
USER_CFLAGS := -std=gnu11 $(USER_WARNINGS) -D_FILE_OFFSET_BITS=64 -Iinclude
LIB_CFLAGS := $(USER_CFLAGS) -Iinclude/uapi -Ilib -fPIC -fvisibility=hidden

# The header is the one source of the version.
LIB_VERSION := $(shell awk '/define ACCEL_VERSION_/ { v = v s $$3; s = "." } END { print v }' \
	include/accel/accel.h)
# Of all libraries: their major version, so 0 until the interface is promised.
LIB_SOVERSION := $(firstword $(subst ., ,$(LIB_VERSION)))
LIB_SONAME := libaccel.so.$(LIB_SOVERSION)

LIB_SRC := $(sort $(wildcard lib/core/*.c lib/pool/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
LIB_FILES := $(BUILD)/lib/$(LIB_SONAME) $(BUILD)/lib/libaccel.so $(BUILD)/lib/libaccel.a

.PHONY: lib install-lib
lib: $(LIB_FILES)

$(LIB_OBJ): $(BUILD)/%.o: %.c lib/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(LIB_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# nodelete: interfaces on top may be unloaded, but their pointers and the fork handlers live on.
$(BUILD)/lib/$(LIB_SONAME): $(LIB_OBJ) lib/libaccel.map
	$(call step,LD)$(CC) -shared -o $@ $(LIB_OBJ) -Wl,-soname,$(LIB_SONAME) \
		-Wl,--version-script=lib/libaccel.map \
		-Wl,-z,defs -Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now $(LDFLAGS)

$(BUILD)/lib/libaccel.so: $(BUILD)/lib/$(LIB_SONAME)
	$(Q)ln -sf $(LIB_SONAME) $@

# One object with the inner names made local, so that a program's own cannot clash with them.
$(BUILD)/lib/libaccel.a: $(LIB_OBJ)
	$(call step,AR)$(LD) -r -o $(BUILD)/lib/accel-all.o $(LIB_OBJ)
	$(Q)$(OBJCOPY) --localize-hidden $(BUILD)/lib/accel-all.o
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $(BUILD)/lib/accel-all.o

# All pages are written at once, accel.7 among them.
MAN := $(BUILD)/man
man: $(MAN)/man7/accel.7 $(MAN)/man1/accelctl.1

$(MAN)/man7/accel.7: lib/make-man $(wildcard include/accel/*.h examples/*.c)
	$(call step,MAN)lib/make-man $(LIB_VERSION) $(MAN)

$(MAN)/man1/accelctl.1: Documentation/man/accelctl.1
	@mkdir -p $(@D)
	$(Q)cp $< $@

install-lib: lib tools man
	install -d $(DESTDIR)$(INCLUDEDIR)/accel $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(BINDIR)
	install -m 644 include/accel/*.h $(DESTDIR)$(INCLUDEDIR)/accel
	install -m 755 $(BUILD)/lib/$(LIB_SONAME) $(DESTDIR)$(LIBDIR)
	ln -sf $(LIB_SONAME) $(DESTDIR)$(LIBDIR)/libaccel.so
	install -m 644 $(BUILD)/lib/libaccel.a $(DESTDIR)$(LIBDIR)
	# Written here, because the paths are known only now.
	sed -e 's|@prefix@|$(PREFIX)|; s|@libdir@|$(LIBDIR)|; s|@includedir@|$(INCLUDEDIR)|' \
		-e 's|@version@|$(LIB_VERSION)|' lib/accel.pc.in \
		> $(DESTDIR)$(LIBDIR)/pkgconfig/accel.pc
	lib/install-cmake lib/accelConfig.cmake.in $(LIB_VERSION) $(LIBDIR) $(INCLUDEDIR) "$(DESTDIR)"
	install -m 755 $(BUILD)/tools/accelctl $(DESTDIR)$(BINDIR)
	install -d $(DESTDIR)$(COMPLETIONDIR) $(DESTDIR)$(DATADIR)
	install -m 644 Documentation/accelctl.schema.json $(DESTDIR)$(DATADIR)
	install -m 644 tools/accelctl.bash $(DESTDIR)$(COMPLETIONDIR)/accelctl
	install -d $(DESTDIR)$(MANDIR)
	chmod -R u=rwX,go=rX $(MAN)
	umask 022; cp -RPf $(MAN)/. $(DESTDIR)$(MANDIR)

-include $(LIB_OBJ:.o=.d)
