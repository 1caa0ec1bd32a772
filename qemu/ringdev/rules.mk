# SPDX-License-Identifier: MIT
#
# The ring card's process. Included by ../../Makefile after lib/rules.mk.

RINGDEV_OUT := $(BUILD)/qemu/ringdev
# The model is what is tested without QEMU.
RINGDEV_MODEL := $(addprefix qemu/ringdev/,bus.c card.c check.c command.c crc32c.c engine.c fault.c \
	move.c number.c reference.c stream.c)
RINGDEV_SRC := $(sort $(wildcard qemu/ringdev/*.c))
RINGDEV_OBJ := $(RINGDEV_SRC:%.c=$(BUILD)/%.o)
RINGDEV_CFLAGS := -std=c11 -D_GNU_SOURCE $(USER_WARNINGS) -Wconversion -D_FILE_OFFSET_BITS=64

ringdev: $(RINGDEV_OUT)/ringdev
tests: ringdev

$(RINGDEV_OBJ): $(BUILD)/%.o: %.c qemu/ringdev/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(RINGDEV_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(RINGDEV_OUT)/ringdev: $(RINGDEV_OBJ)
	$(call step,LD)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

-include $(RINGDEV_OBJ:.o=.d)
