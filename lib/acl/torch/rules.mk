# SPDX-License-Identifier: MIT
#
# The other libraries that torch_npu links, beside libascendcl.so: all that it wants of them is there,
# or in libge_runner.so. Included by ../../../Makefile after lib/acl/rules.mk.

ACL_TORCH_OUT := $(BUILD)/lib/ascendcl
ACL_TORCH_EMPTY := $(patsubst %,$(ACL_TORCH_OUT)/lib%.so,acl_op_compiler graph acl_tdt_channel)
ACL_TORCH_FILES := $(ACL_TORCH_OUT)/libge_runner.so $(ACL_TORCH_OUT)/libhccl.so $(ACL_TORCH_EMPTY)
# What looks for a function in one of them finds that of libaccel_acl.
ACL_TORCH_LDFLAGS := -Wl,--no-as-needed -L$(BUILD)/lib -laccel_acl $(call rpath,$$ORIGIN/..) \
	-Wl,-rpath-link,$(BUILD)/lib -Wl,-z,defs -Wl,-z,relro -Wl,-z,now

.PHONY: install-acl-torch
lib: $(ACL_TORCH_FILES)
install-lib: install-acl-torch

$(BUILD)/lib/acl/torch/%.o: lib/acl/torch/%.c lib/acl/torch/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) $(ACL_CFLAGS) -fPIC -fvisibility=hidden $(CFLAGS) -MMD -MP -c -o $@ $<

$(ACL_TORCH_OUT)/libge_runner.so: $(BUILD)/lib/acl/torch/runtime.o
$(ACL_TORCH_OUT)/libhccl.so: $(BUILD)/lib/acl/torch/hccl.o
$(ACL_TORCH_OUT)/libge_runner.so $(ACL_TORCH_OUT)/libhccl.so: $(ACL_FILES) lib/acl/torch/rules.mk
	@mkdir -p $(@D)
	$(call step,LD)$(CC) -shared -o $@ $(filter %.o,$^) -Wl,-soname,$(@F) $(ACL_TORCH_LDFLAGS) $(LDFLAGS)

$(ACL_TORCH_EMPTY): $(ACL_FILES) lib/acl/torch/rules.mk
	@mkdir -p $(@D)
	$(call step,LD)$(CC) -shared -o $@ -Wl,-soname,$(@F) $(ACL_TORCH_LDFLAGS) $(LDFLAGS)

install-acl-torch: install-acl
	install -m 755 $(ACL_TORCH_FILES) $(DESTDIR)$(LIBDIR)/ascendcl

-include $(BUILD)/lib/acl/torch/runtime.d $(BUILD)/lib/acl/torch/hccl.d
