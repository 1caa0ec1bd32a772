# SPDX-License-Identifier: MIT
#
# `make help` lists the targets. All output goes below build/; the rules for user
# space are in the rules.mk of each folder, which add to the targets named here:
# lib, tools, examples, tests, unit, bench, install.

.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

BUILD     ?= build
PREFIX    ?= /usr/local
DESTDIR   ?=
# Of user space, such as aarch64-linux-gnu-. Kernels have their own.
CROSS_COMPILE ?=
ifeq ($(origin CC),default)
CC        := $(CROSS_COMPILE)gcc
endif
ifeq ($(origin AR),default)
AR        := $(CROSS_COMPILE)ar
endif
ifeq ($(origin LD),default)
LD        := $(CROSS_COMPILE)ld
endif
OBJCOPY   ?= $(CROSS_COMPILE)objcopy
CFLAGS    ?= -O2 -g
NO_INSTALL ?=
# A prefix, or none; see lib/sundials/rules.mk.
SUNDIALS  ?=
FILE      ?=
CARD      ?= edu
# The ring card is a process of ours.
CARD_NEEDS := $(if $(filter ring%,$(CARD)),ringdev)
FUZZ_SECONDS ?= 30

KERNELS   := 6.1 6.12 debug
KERNELS_ARM64 := 6.12-arm64 6.12-arm64-16k
MODULE    := $(BUILD)/kernel/6.12/paccel.ko

# What is given on the command line is ours; Kbuild, which has variables of the same
# names, gets it as environment, which it does not listen to.
MAKEOVERRIDES :=
UNTIL ?=
# The jobs run make, too.
unexport UNTIL CROSS_COMPILE
export BUILD NO_INSTALL CC CFLAGS PREFIX DESTDIR SUNDIALS PACCEL_GCOV

# The sets of packages that the goals need (qemu/setup.d/packages.sh): `run` for what the demo is made of,
# the set of its own name for a target that has one, `check` for all else; what check-full runs in parts
# needs its set. A make that is called by this one has no other needs.
GOALS := $(filter-out help clean versions,$(or $(MAKECMDGOALS),all))
GOALS := $(patsubst check-rest,check-full,$(patsubst check-long,check-full,$(GOALS)))
RUN_GOALS := all lib tools ringdev man run shell install install-module sbom run-paddle mpi install-mpi check-paddle check-paddle-all check-torch $(MODULE)
OWN_SETS := check-quick check-full coverage fuzz bench html pictures record arm64 deb rpm wheels run-mpi check-mpi run-paddle-2
PACKAGE_SETS ?= $(sort $(foreach goal,$(GOALS),$(or $(filter $(goal),$(OWN_SETS)),\
	$(if $(filter $(goal),$(RUN_GOALS)),run),check)))
export PACKAGE_SETS

# The compiler may be among what set-up installs. A makefile that is included is made
# before anything else, so no rule can be ahead of it, with -j neither.
ifneq ($(GOALS),)
include $(PACKAGE_SETS:%=$(BUILD)/packages/%.mk)
endif

$(BUILD)/packages/%.mk: qemu/setup.d/packages.sh
	@mkdir -p $(@D)
	@qemu/setup packages $*
	@echo '# the packages are there' >$@

.PHONY: all help setup kernel lib tools ringdev examples tests unit docs html pictures record man run demo shell check-quick check \
	check-full check-rest check-long check-paddle check-paddle-all check-torch check-sundials-debian check-upstream \
	versions run-paddle run-paddle-2 run-mpi check-mpi bench bench-pool coverage abi sbom wheels install install-module deb rpm clean FORCE

all: $(MODULE) lib tools ringdev man ## driver for 6.12, library, tools and man pages

help: ## this list
	@awk -F ' ## ' '/^[a-z0-9-]+:.* ## / { sub(":.*", "", $$1); printf "%-21s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo 'NO_INSTALL=1 installs nothing and fetches nothing, it only names what is missing.'
	@echo 'SUNDIALS=PREFIX builds libaccel_sundials for the SUNDIALS there, SUNDIALS=none for 7.3 and later.'

setup: ## packages, kernels, kernel source, PaddlePaddle: all that is outside of this tree
	@qemu/setup all

# --- the driver ------------------------------------------------------------------
# Kbuild puts its output beside the sources; so each kernel has a folder of links to
# them, and kernel/ stays clean. Kbuild knows best what is out of date.

kernel: $(KERNELS:%=$(BUILD)/kernel/%/paccel.ko) ## paccel.ko for every kernel

SETUP_KERNELS := $(patsubst %,setup-%,$(KERNELS) $(KERNELS_ARM64) newest kcsan latency)
.PHONY: $(SETUP_KERNELS)
$(SETUP_KERNELS): setup-%:
	@qemu/setup kernel $*

KBUILD = qemu/kbuild $* $(if $(Q),-s,V=1) --no-print-directory W=1 KCFLAGS=-Werror

# The modules for the tests need its symbols, so they are built after it.
$(BUILD)/kernel/%/paccel.ko: setup-% FORCE
	@qemu/link-sources kernel $(@D)
	+$(call step,MODULE)$(KBUILD) M=$(abspath $(@D)) modules
	@qemu/link-sources tests/module $(BUILD)/tests/module/$*
	+$(Q)$(KBUILD) M=$(abspath $(BUILD)/tests/module/$*) PACCEL=$(abspath $(@D)) modules

# --- user space --------------------------------------------------------------------

lib: ## libaccel
tools: ## accelctl
ringdev: ## the process that is the ring card
examples: lib ## the example programs
tests: lib tools examples ## the test programs
man: ## the man pages, from the headers, in build/man: man -M build/man accel
arm64: ## driver, library, tools and test programs for arm64 guests, cross-built: build/arm64
unit: ## runs the unit tests
# A command that does nothing: make says nothing where all is up to date.
lib tools ringdev examples tests man:
	@:
mpi: ## the components for Open MPI 5.0, in build/lib/openmpi
docs: ## the reference of the interfaces, from the headers, in build/docs
html: ## the manual as a site, in build/html: open build/html/index.html
pictures: ## the pictures of the manual, from their sources in Documentation/pictures
record: ## records the output of make run, for the picture in README.md

-include lib/rules.mk lib/drm/rules.mk lib/paddle/rules.mk lib/sundials/rules.mk lib/rmm/rules.mk lib/acl/rules.mk \
	lib/acl/torch/rules.mk lib/python/rules.mk lib/mpi/rules.mk
-include tools/rules.mk examples/rules.mk
-include qemu/ringdev/rules.mk
-include tests/ringdev/rules.mk tests/unit/rules.mk tests/kselftest/rules.mk tests/bench/rules.mk \
	tests/fuzz/rules.mk tests/runner/rules.mk
-include Documentation/rules.mk

# --- another architecture ------------------------------------------------------------
# libaccel_drm and the Python modules are left out: they need libdrm and Python of that architecture, and no
# test in its guests uses them.

ARM64_FILES = $(patsubst $(BUILD)/%,$(BUILD)/arm64/%,$(LIB_FILES) $(ACL_FILES) $(PADDLE_PLUGIN))

.PHONY: arm64
arm64: $(BUILD)/kernel/6.12-arm64/paccel.ko
	@root=$$(qemu/setup print userland arm64) && \
	PKG_CONFIG_SYSROOT_DIR=$$root PKG_CONFIG_LIBDIR=$$root/usr/lib/aarch64-linux-gnu/pkgconfig \
	$(MAKE) --no-print-directory BUILD=$(BUILD)/arm64 CROSS_COMPILE=aarch64-linux-gnu- \
		CC=aarch64-linux-gnu-gcc DRM= $(ARM64_FILES) tools ringdev kselftest

# --- guests ------------------------------------------------------------------------

# One step for each CPU at a time, unless make was given a number.
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

run: ## boots a guest with a card and copies a file through it: FILE=path CARD=edu
	@$(MAKE) --no-print-directory $(PARALLEL) $(MODULE) tools $(CARD_NEEDS)
	@qemu/demo $(CARD) $${FILE:+"$$FILE"}

shell: $(MODULE) lib tools $(CARD_NEEDS) ## a shell in a guest with a card: CARD=ring,mem=256M,engines=4
	@qemu/run --card $(CARD) --tty -- /bin/bash

run-paddle: all ## trains a small network with PaddlePaddle on a ring card, draws build/paddle.svg
	@qemu/setup paddle 3.3.1
	@tests/clients/paddle/run

run-mpi: $(MODULE) lib tools ringdev mpi-clients ## ranks of Open MPI in GUESTS=2 guests send device memory to each other
	@qemu/setup mpi trixie
	@tests/clients/mpi/demo

run-paddle-2: all ## trains it with a rank on a ring device in each of two guests, by paddle.distributed.launch
	@qemu/setup paddle 3.3.1
	@tests/clients/paddle/run-2

# --- tests -------------------------------------------------------------------------

check-quick: ## before a commit: unit tests, static checks, one guest
	@tests/check --tier quick

# UNTIL ends it early, in seconds since the epoch: then it has failed.
check: ## before a push: all that can find a regression; the last line counts the tests
	@tests/check --tier check $(if $(UNTIL),--until $(UNTIL))

check-full: ## every kernel, compiler, machine shape and fuzzer
	@tests/check --tier full

check-rest: ## what check-full has and check has not, until UNTIL (seconds since the epoch)
	@tests/check --rest full $(if $(UNTIL),--until $(UNTIL))

versions: ## which kernels, QEMUs and architectures the last jobs ran on: Documentation/versions.md
	@tests/versions Documentation/versions.md

check-long: ## data races (KCSAN), the long storm, longer fuzzing
	@tests/check --tier long

check-paddle: ## of these, PaddlePaddle 3.3.1 itself on the devices of a guest
	@tests/check paddle-3.3.1

check-paddle-all: ## and its releases 3.0.0 and 2.6.2
	@tests/check paddle-3.3.1 paddle-3.0.0 paddle-2.6.2

check-torch: ## PyTorch itself on the devices of a guest, through torch_npu and libaccel_acl
	@tests/check torch torch-distributed

check-mpi: ## Open MPI on the devices of guests: all parts, faults too
	@tests/check mpi mpi-transports mpi-edu mpi-faults mpi-guests

check-sundials-debian: $(MODULE) lib tools ringdev ## SUNDIALS 7.1.1 as Debian 13 has it, in a guest
	@tests/clients/sundials/build-7.1
	@tests/check sundials-debian

check-upstream: $(MODULE) lib tools ringdev ## SUNDIALS' own tests of memory helpers, from its source package, in a guest
	@tests/clients/sundials/build-7.1 upstream
	@echo "not run, because no package has them: RMM's tests, SUNDIALS' data node and adjoint tests"
	@tests/check upstream

abi: ## renews the records of the binary interfaces in tests/abi
	@tests/abi/run --renew

wheels: ## source archive and wheels of the Python packages, in build/wheels
	@packaging/make-wheels $(BUILD)/wheels

sbom: $(MODULE) lib tools ## what the build is made of and needs at run time, in SPDX: build/sbom.spdx.json
	@packaging/make-sbom $(BUILD)/lib/libaccel*.so.$(LIB_SOVERSION) $(BUILD)/tools/accelctl $(MODULE) \
		>$(BUILD)/sbom.spdx.json

# A build of its own, with all instrumented for gcov.
coverage: ## lines and branches of driver and libraries that tests reach: build/coverage/index.html
	@$(MAKE) --no-print-directory -j$$(nproc) BUILD=$(BUILD)/coverage/build PACCEL_GCOV=y coverage-run

fuzz: ## random programs against the driver: SECONDS=60 KERNEL=debug

bench: $(MODULE) ## ratios against the card's limit, a table and build/bench.json

bench-pool: ## pools beside other allocators, on the host: OFFSETALLOCATOR_SRC= VMA_SRC=

install: install-lib ## library, headers and tools: make install DESTDIR= PREFIX=

install-module: $(BUILD)/kernel/$(or $(KERNEL),6.12)/paccel.ko ## paccel.ko, and the interface for backends: KERNEL=6.12 DESTDIR= PREFIX=
	kernel/install-module $(<D) "$$(qemu/setup print $(or $(KERNEL),6.12) version)" "$(DESTDIR)" "$(PREFIX)"

deb: ## Debian packages for this release of Debian, in build/deb
	@packaging/deb

rpm: ## RPM packages, in build/rpm
	@packaging/rpm/build

clean: ## removes all that was built
	@rm -rf $(BUILD)
	@find kernel tests/module \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' \
		-o -name '.*.cmd' -o -name '.*.o.d' -o -name Module.symvers -o -name modules.order \) -delete
