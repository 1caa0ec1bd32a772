# SPDX-License-Identifier: MIT
#
# Components for Open MPI 5.0, in a folder of their own: Open MPI scans all of the one that a parameter names. The headers
# are those of libopenmpi-dev, or what qemu/setup has fetched of it. Included by ../../Makefile after lib/rules.mk.

MPI_NAMES := mca_accelerator_paccel mca_op_paccel
MPI_OUT := $(BUILD)/lib/openmpi
MPI_FILES := $(MPI_NAMES:%=$(MPI_OUT)/%.so)
MPI_OBJ := $(patsubst lib/mpi/%.c,$(BUILD)/lib/mpi/%.o,$(wildcard lib/mpi/*.c))

# The folder of libraries that has Open MPI and openmpi/include.
MPI_SYSTEM := $(firstword $(patsubst %/openmpi/include/openmpi/opal/mca/accelerator/accelerator.h,%,\
	$(wildcard /usr/lib/*/openmpi/include/openmpi/opal/mca/accelerator/accelerator.h)))
MPI_LIBDIR = $(or $(MPI_SYSTEM),$(shell qemu/setup print openmpi))
MPI_INCLUDE = $(MPI_LIBDIR)/openmpi/include
MPI_CFLAGS = -isystem $(MPI_INCLUDE) -isystem $(MPI_INCLUDE)/openmpi -idirafter lib/mpi/abi

.PHONY: mpi mpi-headers install-mpi
mpi: $(MPI_FILES)

mpi-headers:
	@$(if $(MPI_SYSTEM),:,qemu/setup openmpi)

$(MPI_OBJ): $(BUILD)/lib/mpi/%.o: lib/mpi/%.c lib/mpi/rules.mk | mpi-headers
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) -fPIC -fvisibility=hidden $(MPI_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Linked with libmpi, for a program such as Python may have loaded that for itself alone. The name of the library
# below it changes with the version, about which version.c has a sentence. libaccel is in the folder above.
$(MPI_OUT)/mca_accelerator_paccel.so: $(BUILD)/lib/mpi/limits.o
$(MPI_OUT)/mca_%_paccel.so: $(BUILD)/lib/mpi/%.o $(BUILD)/lib/mpi/version.o $(LIB_FILES)
	@mkdir -p $(@D)
	$(call step,LD)$(CC) -shared -o $@ $(filter %.o,$^) -Wl,-soname,$(@F) -L$(BUILD)/lib -laccel \
		-Wl,--no-as-needed $(MPI_LIBDIR)/libmpi.so.40 -Wl,--allow-shlib-undefined \
		$(call rpath,$$ORIGIN/..) -Wl,-z,relro -Wl,-z,now $(LDFLAGS)

install-mpi: mpi
	install -d $(DESTDIR)$(LIBDIR)/openmpi
	install -m 755 $(MPI_FILES) $(DESTDIR)$(LIBDIR)/openmpi

-include $(MPI_OBJ:.o=.d)
