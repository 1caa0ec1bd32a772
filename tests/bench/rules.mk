# SPDX-License-Identifier: MIT
#
# `make bench`. Included by the Makefile at the top.

BENCH_OUT := $(BUILD)/tests/bench
BENCH_SRC := $(sort $(wildcard tests/bench/*.c))
BENCH_OBJ := $(BENCH_SRC:tests/bench/%.c=$(BENCH_OUT)/%.o)
BENCH_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wmissing-prototypes -Wstrict-prototypes \
	-Wshadow -Wformat=2 -Wwrite-strings -pthread -Iinclude/uapi

# In a folder of its own: Paddle loads every *.so of the one that it is told of.
BENCH_STANDIN := $(BENCH_OUT)/paddle/libpaddle_accel.so

.PHONY: bench-programs
bench-programs: $(BENCH_OUT)/bench $(BENCH_OUT)/query $(BENCH_OUT)/pool $(BENCH_OUT)/race $(BENCH_OUT)/pairs $(BENCH_OUT)/acl \
		$(BENCH_STANDIN) $(BENCH_OUT)/libcalls.so ringdev python lib tools

# Without the disk of PaddlePaddle, or of Open MPI, all but its rows is measured.
bench: bench-programs
	-@qemu/setup paddle 3.3.1
	-@qemu/setup mpi trixie && $(MAKE) --no-print-directory bench-mpi
	@tests/bench/run

# Other allocators take part where their source is there: OffsetAllocator's in the folder
# OFFSETALLOCATOR_SRC, and the headers of VMA and Vulkan in VMA_SRC.
bench-pool: $(BENCH_OUT)/race
	@$<

# Not a part of `bench`, for its kernel is built first: some minutes.
.PHONY: bench-irqsoff
bench-irqsoff: bench-programs $(BUILD)/kernel/latency/paccel.ko
	@tests/bench/run irqsoff

$(BENCH_OUT)/bench: $(BENCH_OBJ)
	$(call step,LD)$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^

$(BENCH_OBJ): $(BENCH_OUT)/%.o: tests/bench/%.c tests/bench/bench.h include/uapi/linux/paccel.h tests/bench/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(CFLAGS) $(BENCH_CFLAGS) -c -o $@ $<

# On the host, with the shared library and the mock of its unit tests.
$(BENCH_OUT)/query $(BENCH_OUT)/pool: $(BENCH_OUT)/%: tests/bench/host/%.c $(LIB_FILES) $(UNIT_PRELOAD) tests/bench/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) -Iinclude/uapi $(CFLAGS) -o $@ $< -L$(UNIT_OUT) -lmock -L$(BUILD)/lib -laccel \
		-pthread -Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../unit:$$ORIGIN/../../lib' $(LDFLAGS)

# The list makes it link again when other allocators take part.
VMA_SRC ?= /usr/include
RACE_OBJ := $(patsubst tests/bench/race/%.c,$(BENCH_OUT)/race.%.o,$(wildcard tests/bench/race/*.c))
ifneq ($(wildcard $(OFFSETALLOCATOR_SRC)/offsetAllocator.cpp),)
RACE_OBJ += $(BENCH_OUT)/race.offset.o $(BENCH_OUT)/race.offsetAllocator.o
endif
ifneq ($(wildcard $(VMA_SRC)/vk_mem_alloc.h),)
RACE_OBJ += $(BENCH_OUT)/race.vma.o
endif

$(BENCH_OUT)/race.list: FORCE
	@mkdir -p $(@D)
	@echo '$(RACE_OBJ)' | cmp -s - $@ || echo '$(RACE_OBJ)' >$@

$(BENCH_OUT)/race.%.o: tests/bench/race/%.c tests/bench/race/race.h tests/bench/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) $(CFLAGS) -c -o $@ $<

$(BENCH_OUT)/race.%.o: tests/bench/race/%.cpp tests/bench/race/race.h tests/bench/rules.mk
	@mkdir -p $(@D)
	$(call step,CXX)$(CXX) -std=c++17 -O2 -w -DNDEBUG \
		$(addprefix -I,$(OFFSETALLOCATOR_SRC) $(filter-out /usr/include,$(VMA_SRC))) $(CXXFLAGS) -c -o $@ $<

$(BENCH_OUT)/race.offsetAllocator.o: $(OFFSETALLOCATOR_SRC)/offsetAllocator.cpp
	@mkdir -p $(@D)
	$(call step,CXX)$(CXX) -std=c++17 -O2 -w -DNDEBUG $(CXXFLAGS) -c -o $@ $<

$(BENCH_OUT)/race: $(RACE_OBJ) $(BENCH_OUT)/race.list $(LIB_FILES)
	$(call step,LD)$(CXX) -o $@ $(RACE_OBJ) -L$(BUILD)/lib -laccel -pthread \
		-Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../../lib' $(LDFLAGS)

# In a guest, with the shared library and the driver.
$(BENCH_OUT)/pairs: tests/bench/library/pairs.c $(LIB_FILES) tests/bench/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) $(CFLAGS) -o $@ $< -L$(BUILD)/lib -laccel \
		-Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../../lib' $(LDFLAGS)

$(BENCH_OUT)/acl: tests/bench/library/acl.c $(ACL_FILES) tests/bench/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) -I$(ACL_INCLUDE) $(CFLAGS) -o $@ $< -L$(BUILD)/lib -laccel_acl -laccel \
		-Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../../lib' $(LDFLAGS)

# For calls from Python and from C in one process.
$(BENCH_OUT)/libcalls.so: tests/bench/python/calls.c $(ACL_FILES) tests/bench/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) -I$(ACL_INCLUDE) $(CFLAGS) -fPIC -shared -o $@ $< -L$(BUILD)/lib -laccel_acl \
		-Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../../lib' $(LDFLAGS)

# The plugin's own objects, with another library below.
$(BENCH_OUT)/paddle/standin.o: tests/bench/paddle/standin.c include/accel/accel.h \
		tests/bench/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) -fPIC $(CFLAGS) -c -o $@ $<

$(BENCH_STANDIN): $(PADDLE_OBJ) $(BENCH_OUT)/paddle/standin.o lib/paddle/libpaddle_accel.map
	$(call step,LD)$(CC) -shared -o $@ $(PADDLE_OBJ) $(BENCH_OUT)/paddle/standin.o -Wl,-soname,$(@F) \
		-Wl,--version-script=lib/paddle/libpaddle_accel.map -Wl,-z,defs -Wl,-z,relro \
		-Wl,-z,now $(LDFLAGS)

# Open MPI's headers are needed: without them these are not built.
BENCH_MPI := $(BENCH_OUT)/check_addr $(BENCH_OUT)/send $(BENCH_OUT)/libplain.so

$(BENCH_OUT)/check_addr: tests/bench/mpi/check_addr.c $(filter-out %/op.o,$(MPI_OBJ)) $(LIB_FILES) $(UNIT_PRELOAD) \
		tests/bench/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(filter-out -Wmissing-prototypes,$(USER_CFLAGS)) -Iinclude/uapi $(MPI_CFLAGS) $(CFLAGS) -o $@ \
		$(filter %.c %.o,$^) -L$(UNIT_OUT) -lmock -L$(BUILD)/lib -laccel \
		-Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../unit:$$ORIGIN/../../lib' $(LDFLAGS)

$(BENCH_OUT)/send: tests/bench/mpi/send.c tests/bench/mpi/plain.h $(LIB_FILES) tests/bench/rules.mk | mpi-headers
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) $(MPI_CFLAGS) $(CFLAGS) -o $@ $< -L$(BUILD)/lib -laccel $(MPI_LIBDIR)/libmpi.so.40 \
		-Wl,--allow-shlib-undefined -Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../../lib' $(LDFLAGS)

$(BENCH_OUT)/libplain.so: tests/bench/mpi/plain.c tests/bench/mpi/plain.h tests/bench/rules.mk
	@mkdir -p $(@D)
	$(call step,LD)$(CC) $(USER_CFLAGS) $(CFLAGS) -fPIC -shared -o $@ $< $(LDFLAGS)

.PHONY: bench-mpi
bench-mpi: mpi-clients $(BENCH_MPI)
