# SPDX-License-Identifier: MIT
#
# `make coverage`: the driver and the libraries are built a second time, instrumented for gcov, and run
# under the same tests. Included by ../unit/rules.mk, which has the unit tests' variant `gcov`.

COVERAGE_PROGS := $(UNIT_PROGS_gcov) $(ACL_PROGS_gcov) $(PADDLE_PROGS_gcov) $(RMM_PROGS_gcov) \
	$(SUNDIALS_PROGS_gcov)
COVERAGE_EXIT := $(UNIT_OUT)/gcov/tests/coverage/exit.o

$(COVERAGE_PROGS): $(COVERAGE_EXIT)
$(COVERAGE_PROGS): UNIT_WRAP += -Wl,--wrap=_exit

# What follows is for the second build only: of it the libraries and the driver are instrumented, not
# the tests, nor the process of the ring device. The same branches in a library and in a unit test need
# the same flags: no C here throws.
ifneq ($(PACCEL_GCOV),)
$(BUILD)/lib/%: CFLAGS += $(UNIT_GCOV) -fno-exceptions
$(BUILD)/lib/%: LDFLAGS += --coverage
endif

.PHONY: coverage-build coverage-run
coverage-build: $(COVERAGE_PROGS) $(UNIT_PRELOAD) $(BUILD)/kernel/debug/paccel.ko lib tools examples \
	ringdev kselftest guest-programs

coverage-run: coverage-build
	@BUILD=$(BUILD) tests/coverage/run $(COVERAGE_PROGS)
