# SPDX-License-Identifier: MIT
#
# Programs with SUNDIALS itself, for guests (see run) and over the mock: with the libraries of each
# release that set-up fetches, and libaccel_sundials as it is for 7.3 and later, whatever SUNDIALS
# this machine has. Included by ../../unit/rules.mk.

CLIENTS_OUT := $(BUILD)/tests/clients/sundials
CLIENTS_CFLAGS := $(USER_CFLAGS) -I$(SUNDIALS_OURS)
CLIENTS_OBJ := $(SUNDIALS_SRC:lib/sundials/%.c=$(CLIENTS_OUT)/lib/%.o)
CLIENTS_SO := $(CLIENTS_OUT)/$(SUNDIALS_SONAME)

# CVODE is in the packages of one release only.
CLIENTS_7.9.0 := operations datanode heat
CLIENTS_7.6.0 := operations datanode
CLIENTS := $(foreach release,$(SUNDIALS_RELEASES),\
	$(CLIENTS_$(release):%=$(CLIENTS_OUT)/$(release)/%)) $(CLIENTS_OUT)/7.9.0/checkpoint

$(CLIENTS_OBJ): $(CLIENTS_OUT)/lib/%.o: lib/sundials/%.c tests/clients/sundials/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(CLIENTS_CFLAGS) -fPIC -fvisibility=hidden $(CFLAGS) -MMD -MP -c -o $@ $<

$(CLIENTS_SO): $(CLIENTS_OBJ) $(LIB_FILES) $(SUNDIALS_MAP)
	$(call step,LD)$(CC) -shared -o $@ $(CLIENTS_OBJ) -Wl,-soname,$(SUNDIALS_SONAME) \
		-Wl,--version-script=$(SUNDIALS_MAP) -L$(BUILD)/lib -laccel \
		-Wl,-z,relro -Wl,-z,now $(LDFLAGS)

# clients(release): a guest has the library of the tree on LD_LIBRARY_PATH, an RPATH goes before it
define clients
$$(CLIENTS_$(1):%=$$(CLIENTS_OUT)/$(1)/%): $$(CLIENTS_OUT)/$(1)/%: tests/clients/sundials/%.c
$$(filter $$(CLIENTS_OUT)/$(1)/%,$$(CLIENTS)): $$(CLIENTS_SO) tests/clients/sundials/rules.mk \
		| $$(SUNDIALS_LIBS_OUT)/$(1)
	@mkdir -p $$(@D)
	$$(call step,CC)$$(CC) $$(CLIENTS_CFLAGS) $$(CFLAGS) -MMD -MP -o $$@ $$(filter %.c,$$^) $$(CLIENTS_SO) \
		-L$$(BUILD)/lib -laccel $$(SUNDIALS_LIBS_OUT)/$(1)/libsundials_*.so.* -pthread -lm \
		-Wl,--disable-new-dtags -Wl,-rpath,'$$$$ORIGIN/..:$$$$ORIGIN/../../../../lib' \
		-Wl,-rpath,$$(realpath $$(SUNDIALS_LIBS_OUT)/$(1)) $$(LDFLAGS)
endef
$(foreach release,$(SUNDIALS_RELEASES),$(eval $(call clients,$(release))))
$(CLIENTS_OUT)/7.9.0/checkpoint: examples/sundials_checkpoint.c

.PHONY: sundials-programs
tests: sundials-programs
sundials-programs: $(CLIENTS)

-include $(CLIENTS_OBJ:.o=.d) $(CLIENTS:=.d)
