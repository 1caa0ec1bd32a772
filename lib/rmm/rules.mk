# SPDX-License-Identifier: MIT
#
# The C++ interface, which is headers only: our own, and by RMM's names. Included by ../../Makefile
# after lib/rules.mk.

CXX_HEADERS := $(sort $(wildcard include/accel/*.hpp))
RMM_HEADERS := $(patsubst include/accel/compat/%,%,$(sort $(shell find include/accel/compat -type f)))

.PHONY: install-rmm
install-lib: install-rmm

install-rmm:
	install -d $(DESTDIR)$(INCLUDEDIR)/accel $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(CXX_HEADERS) $(DESTDIR)$(INCLUDEDIR)/accel
	for header in $(RMM_HEADERS); do \
		install -D -m 644 include/accel/compat/$$header \
			$(DESTDIR)$(INCLUDEDIR)/accel/compat/$$header || exit 1; \
	done
	sed -e 's|@prefix@|$(PREFIX)|; s|@libdir@|$(LIBDIR)|; s|@includedir@|$(INCLUDEDIR)|' \
		-e 's|@version@|$(LIB_VERSION)|' lib/rmm/accel-rmm.pc.in \
		> $(DESTDIR)$(LIBDIR)/pkgconfig/accel-rmm.pc
	lib/install-cmake lib/rmm/accel_rmmConfig.cmake.in $(LIB_VERSION) $(LIBDIR) $(INCLUDEDIR) \
		"$(DESTDIR)"
