# SPDX-License-Identifier: MIT
#
# `make bench`. Included by the Makefile at the top.

BENCH_OUT := $(BUILD)/tests/bench
BENCH_SRC := $(sort $(wildcard tests/bench/*.c))
BENCH_OBJ := $(BENCH_SRC:tests/bench/%.c=$(BENCH_OUT)/%.o)
BENCH_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wmissing-prototypes -Wstrict-prototypes \
	-Wshadow -Wformat=2 -Wwrite-strings -pthread -Iinclude/uapi

bench: $(BENCH_OUT)/bench $(BENCH_OUT)/query $(BENCH_OUT)/pool $(BENCH_OUT)/pairs
	@tests/bench/run

$(BENCH_OUT)/bench: $(BENCH_OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^

$(BENCH_OBJ): $(BENCH_OUT)/%.o: tests/bench/%.c tests/bench/bench.h include/uapi/linux/paccel.h tests/bench/rules.mk
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(BENCH_CFLAGS) -c -o $@ $<

# On the host, with the shared library and the mock of its unit tests.
$(BENCH_OUT)/query $(BENCH_OUT)/pool: $(BENCH_OUT)/%: tests/bench/host/%.c $(LIB_FILES) $(UNIT_PRELOAD) tests/bench/rules.mk
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) -Iinclude/uapi $(CFLAGS) -o $@ $< -L$(UNIT_OUT) -lmock -L$(BUILD)/lib -laccel \
		-pthread -Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../unit:$$ORIGIN/../../lib' $(LDFLAGS)

# In a guest, with the shared library and the driver.
$(BENCH_OUT)/pairs: tests/bench/library/pairs.c $(LIB_FILES) tests/bench/rules.mk
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(CFLAGS) -o $@ $< -L$(BUILD)/lib -laccel \
		-Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../../lib' $(LDFLAGS)
