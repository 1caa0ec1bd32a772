# SPDX-License-Identifier: MIT
#
# RMM's own containers over our device_buffer, with the headers of each release that set-up fetches
# and each compiler: for guests (see run), and over the mock. Included by ../../unit/rules.mk.

RMM_RELEASES := 24.12.1 25.6.0 26.10.0
RMM_STD_24.12.1 := c++17
RMM_STD_25.6.0 := c++17
RMM_STD_26.10.0 := c++20
RMM_COMPILERS := g++ clang++
RMM_CLIENTS_OUT := $(BUILD)/tests/clients/rmm
RMM_HEADERS_OUT := $(BUILD)/tests/rmm
RMM_CLIENTS := $(foreach release,$(RMM_RELEASES),\
	$(RMM_COMPILERS:%=$(RMM_CLIENTS_OUT)/$(release)-%))

$(RMM_RELEASES:%=$(RMM_HEADERS_OUT)/%): $(RMM_HEADERS_OUT)/%: qemu/rmm/%.txt qemu/build-rmm
	@mkdir -p $(@D)
	@qemu/setup rmm $*
	@ln -sfn "$$(qemu/setup print rmm $*)" $@
	@touch -h $@

# rmm_client(release, compiler): our headers come first, then theirs as they are.
define rmm_client
$$(RMM_CLIENTS_OUT)/$(1)-$(2): tests/clients/rmm/containers.cpp tests/clients/rmm/rules.mk \
		$$(LIB_FILES) | $$(RMM_HEADERS_OUT)/$(1)
	@mkdir -p $$(@D)
	$$(call step,CXX)$(2) -std=$$(RMM_STD_$(1)) $$(CXX_WARNINGS) -Iinclude/accel/compat -Iinclude \
		-isystem $$(RMM_HEADERS_OUT)/$(1)/include \
		-isystem $$(RMM_HEADERS_OUT)/$(1)/include/rapids $$(CFLAGS) -MMD -MP -MF $$@.d -o $$@ $$< \
		-L$$(BUILD)/lib -laccel -Wl,--enable-new-dtags -Wl,-rpath,'$$$$ORIGIN/../../../lib' \
		$$(LDFLAGS)
endef
$(foreach release,$(RMM_RELEASES),$(foreach compiler,$(RMM_COMPILERS),\
	$(eval $(call rmm_client,$(release),$(compiler)))))

# With SUNDIALS beside it, as tests/clients/sundials/rules.mk builds that.
RMM_SHARED := $(RMM_CLIENTS_OUT)/shared
$(RMM_SHARED): tests/clients/rmm/shared.cpp tests/clients/rmm/rules.mk $(LIB_FILES) $(CLIENTS_SO) \
		| $(RMM_HEADERS_OUT)/26.10.0 $(SUNDIALS_LIBS_OUT)/7.9.0
	@mkdir -p $(@D)
	$(call step,CXX)g++ -std=c++20 $(CXX_WARNINGS) -Iinclude/accel/compat -Iinclude -I$(SUNDIALS_OURS) \
		-isystem $(RMM_HEADERS_OUT)/26.10.0/include \
		-isystem $(RMM_HEADERS_OUT)/26.10.0/include/rapids $(CFLAGS) -MMD -MP -MF $@.d -o $@ $< \
		$(CLIENTS_SO) -L$(BUILD)/lib -laccel \
		$(SUNDIALS_LIBS_OUT)/7.9.0/libsundials_core-*.so.* -Wl,--enable-new-dtags \
		-Wl,-rpath,'$$ORIGIN/../sundials:$$ORIGIN/../../../lib' \
		-Wl,-rpath,$(realpath $(SUNDIALS_LIBS_OUT)/7.9.0) $(LDFLAGS)

.PHONY: rmm-programs
tests: rmm-programs
rmm-programs: $(RMM_CLIENTS) $(RMM_SHARED)

-include $(RMM_CLIENTS:=.d) $(RMM_SHARED).d
