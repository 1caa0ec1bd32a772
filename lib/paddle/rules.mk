# SPDX-License-Identifier: MIT
#
# The plugin for PaddlePaddle, in a folder of its own: Paddle loads every *.so of the one that it is
# told of. Included by ../../Makefile after lib/rules.mk.

PADDLE_SRC := $(sort $(wildcard lib/paddle/*.c))
PADDLE_OBJ := $(PADDLE_SRC:%.c=$(BUILD)/%.o)
PADDLE_PLUGIN := $(BUILD)/lib/paddle_custom_device/libpaddle_accel.so

# Paddle's exceptions pass through the kernels.
PADDLE_CFLAGS := -fexceptions

.PHONY: install-paddle
lib: $(PADDLE_PLUGIN)
install-lib: install-paddle

$(PADDLE_OBJ): $(BUILD)/%.o: %.c lib/paddle/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) -fPIC -fvisibility=hidden $(PADDLE_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# libaccel is beside it in a Python package, and in the folder above everywhere else.
$(PADDLE_PLUGIN): $(PADDLE_OBJ) $(LIB_FILES) lib/paddle/libpaddle_accel.map
	@mkdir -p $(@D)
	$(call step,LD)$(CC) -shared -o $@ $(PADDLE_OBJ) -Wl,-soname,$(@F) \
		-Wl,--version-script=lib/paddle/libpaddle_accel.map -L$(BUILD)/lib -laccel \
		$(call rpath,$$ORIGIN:$$ORIGIN/..) \
		-Wl,-z,defs -Wl,-z,relro -Wl,-z,now $(LDFLAGS)

install-paddle: lib
	install -d $(DESTDIR)$(LIBDIR)/paddle_custom_device
	install -m 755 $(PADDLE_PLUGIN) $(DESTDIR)$(LIBDIR)/paddle_custom_device

-include $(PADDLE_OBJ:.o=.d)
