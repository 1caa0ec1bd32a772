# SPDX-License-Identifier: MIT
#
# Unit tests of the library over a mock of the driver, each in several variants (compiler and
# sanitizer), tests of the programs with the mock preloaded, and tests of what is installed.
# `make unit` runs them all.

UNIT_OUT := $(BUILD)/tests/unit
UNIT_SYSCALLS := opendir readdir64 closedir fstatat64 stat64 fstat64 access open64 close ioctl \
	mmap64
UNIT_WRAP := $(UNIT_SYSCALLS:%=-Wl,--wrap=%)
UNIT_CFLAGS := $(USER_CFLAGS) -Iinclude/uapi -Ilib -g -O1 -fno-omit-frame-pointer

UNIT_TESTS := $(patsubst tests/unit/test_%.c,%,$(sort $(wildcard tests/unit/test_*.c)))
UNIT_SCRIPTS := tests/unit/abi.sh tests/unit/install.sh tests/unit/tool.sh tests/unit/paddle.sh \
	tests/unit/sundials.sh tests/unit/rmm.sh tests/unit/acl.sh

UNIT_MOCK := $(sort $(wildcard tests/unit/mock*.c))

# Those that are worth it; the engine of the mock is a thread, so all of streams is.
UNIT_THREADED := threads handle locks batch stream peer staged pool_threads pool_stream resource

UNIT_ASAN := -fsanitize=address,undefined -fno-sanitize-recover=all
UNIT_TSAN := -fsanitize=thread
UNIT_VARIANTS := gcc-asan clang-asan gcc-tsan clang-tsan
# Not one of `make unit`: see tests/coverage/rules.mk. -O0, so that each branch is the source's own.
# gcov's fork() would drop what handlers of pthread_atfork() have counted in the child.
UNIT_GCOV := -O0 --coverage -fprofile-update=atomic -fno-builtin-fork

# What fails on request.
UNIT_WRAP_no_memory := -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc \
	-Wl,--wrap=aligned_alloc

# What is counted.
UNIT_WRAP_locks := -Wl,--wrap=pthread_mutex_lock -Wl,--wrap=pthread_mutex_unlock \
	-Wl,--wrap=pthread_create -Wl,--wrap=write

# unit_variant(name, compiler, flags, tests): objects of their own, and a program per test
define unit_variant
UNIT_LIB_$(1) := $$(LIB_SRC:%.c=$$(UNIT_OUT)/$(1)/%.o) $$(UNIT_MOCK:%.c=$$(UNIT_OUT)/$(1)/%.o)
UNIT_PROGS_$(1) := $$(patsubst %,$$(UNIT_OUT)/$(1)/%,$(4))

$$(UNIT_OUT)/$(1)/%.o: %.c tests/unit/rules.mk
	@mkdir -p $$(@D)
	$$(call step,CC)$(2) $$(UNIT_CFLAGS) $(3) -MMD -MP -c -o $$@ $$<

$$(UNIT_PROGS_$(1)): $$(UNIT_OUT)/$(1)/%: $$(UNIT_OUT)/$(1)/tests/unit/test_%.o $$(UNIT_LIB_$(1))
	$$(call step,LD)$(2) $(3) -o $$@ $$^ $$(UNIT_WRAP) $$(UNIT_WRAP_$$*) -pthread

-include $$(UNIT_LIB_$(1):.o=.d) $$(patsubst %,$$(UNIT_OUT)/$(1)/tests/unit/test_%.d,$(4))
endef

$(eval $(call unit_variant,gcc-asan,gcc,$(UNIT_ASAN),$(UNIT_TESTS)))
$(eval $(call unit_variant,clang-asan,clang,$(UNIT_ASAN),$(UNIT_TESTS)))
$(eval $(call unit_variant,gcc-tsan,gcc,$(UNIT_TSAN),$(UNIT_THREADED)))
$(eval $(call unit_variant,clang-tsan,clang,$(UNIT_TSAN),$(UNIT_THREADED)))
$(eval $(call unit_variant,gcov,gcc,$(UNIT_GCOV),$(UNIT_TESTS)))

include tests/conformance/rules.mk

UNIT_PROGS := $(foreach variant,$(UNIT_VARIANTS),$(UNIT_PROGS_$(variant)))
include tests/unit/paddle/rules.mk tests/unit/sundials/rules.mk tests/unit/rmm/rules.mk tests/unit/acl/rules.mk \
	tests/unit/python/rules.mk

# The same mock for whole programs.
UNIT_PRELOAD := $(UNIT_OUT)/libmock.so
$(UNIT_PRELOAD): $(UNIT_MOCK) $(wildcard tests/unit/mock*.h) tests/unit/rules.mk
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) -Iinclude/uapi -g -O1 -fPIC -shared -DMOCK_PRELOAD -o $@ \
		$(UNIT_MOCK) -pthread

# `make unit UNIT_RUN=gcc-asan` runs the programs of one variant, UNIT_RUN=scripts the scripts,
# UNIT_RUN=python the tests in Python; unit-gcc-asan, unit-scripts and so on build what these run.
UNIT_RUN ?= $(UNIT_VARIANTS) scripts python

define unit_build
.PHONY: unit-$(1)
unit-$(1): $$(filter $$(UNIT_OUT)/$(1)/%,$$(UNIT_PROGS))
endef
$(foreach variant,$(UNIT_VARIANTS),$(eval $(call unit_build,$(variant))))

.PHONY: unit unit-programs unit-scripts unit-python
unit-python: python python-asan $(UNIT_PRELOAD) $(PYTHON_COUNT) $(UNIT_OUT)/gcc-asan/conformance
unit-scripts: $(UNIT_PRELOAD) $(PADDLE_LOADER) lib tools man examples sundials-programs rmm-programs
tests: unit-programs
unit-programs: $(UNIT_VARIANTS:%=unit-%) unit-scripts unit-python

unit: $(UNIT_RUN:%=unit-%)
	@export BUILD=$(BUILD); status=0; \
	tests/unit/run $(foreach part,$(UNIT_RUN),$(if $(filter scripts,$(part)),\
		$(UNIT_SCRIPTS),$(filter $(UNIT_OUT)/$(part)/%,$(UNIT_PROGS)))) || status=1; \
	$(if $(filter python,$(UNIT_RUN)),tests/unit/python.sh || status=1; \
		/usr/bin/python3 -m pytest -p no:xdist tests/conformance || status=1;) \
	exit $$status

-include tests/coverage/rules.mk tests/guest/rules.mk tests/clients/sundials/rules.mk tests/clients/mpi/rules.mk tests/clients/rmm/rules.mk \
	tests/clients/acl/rules.mk tests/clients/paddle/rules.mk
