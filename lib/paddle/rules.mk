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

# The engine of collectives, if gloo is there: without it the plugin says what is missing. Its name does not
# end with .so, since Paddle takes all files that do for plugins.
GLOO_SRC := $(sort $(wildcard lib/paddle/gloo/*.cpp))
GLOO_OBJ := $(GLOO_SRC:%.cpp=$(BUILD)/%.o)
GLOO_ENGINE := $(BUILD)/lib/paddle_custom_device/libpaddle_accel_gloo.so.1
HAVE_GLOO := $(if $(CROSS_COMPILE),,$(wildcard /usr/include/gloo/context.h))
GLOO_WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Werror

$(GLOO_OBJ): $(BUILD)/%.o: %.cpp lib/paddle/rules.mk
	@mkdir -p $(@D)
	$(call step,CXX)g++ -std=c++17 -O2 $(GLOO_WARNINGS) -fPIC -fvisibility=hidden $(CFLAGS) -MMD -MP -c -o $@ $<

$(GLOO_ENGINE): $(GLOO_OBJ)
	@mkdir -p $(@D)
	$(call step,LD)g++ -shared -o $@ $(GLOO_OBJ) -Wl,-soname,$(@F) -lgloo \
		-Wl,-z,defs -Wl,-z,relro -Wl,-z,now $(LDFLAGS)

ifneq ($(HAVE_GLOO),)
lib: $(GLOO_ENGINE)
endif

install-paddle: lib
	install -d $(DESTDIR)$(LIBDIR)/paddle_custom_device
	install -m 755 $(PADDLE_PLUGIN) $(if $(HAVE_GLOO),$(GLOO_ENGINE)) $(DESTDIR)$(LIBDIR)/paddle_custom_device

-include $(GLOO_OBJ:.o=.d)
-include $(PADDLE_OBJ:.o=.d)
