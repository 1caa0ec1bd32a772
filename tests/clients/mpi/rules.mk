# SPDX-License-Identifier: MIT
#
# Programs for Open MPI 5.0, which run in the Debian 13 of a guest's disk (see guest). Included by ../../unit/rules.mk.

MPI_CLIENTS_OUT := $(BUILD)/tests/clients/mpi
MPI_OPERATIONS := operations point_to_point collectives reductions one_sided
MPI_CLIENTS := $(patsubst %,$(MPI_CLIENTS_OUT)/%,operations fault ring)
MPI_INTERFACES := $(MPI_CLIENTS_OUT)/interfaces
MPI_PRELOADS := $(patsubst %,$(MPI_CLIENTS_OUT)/lib%.so,hide other)

$(MPI_CLIENTS_OUT)/%.o: tests/clients/mpi/%.c tests/clients/mpi/rules.mk | mpi-headers
	@mkdir -p $(@D)
	$(call step,CC)$(CC) $(USER_CFLAGS) $(MPI_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(MPI_PRELOADS): $(MPI_CLIENTS_OUT)/lib%.so: tests/clients/mpi/%.c tests/clients/mpi/rules.mk | mpi-headers
	@mkdir -p $(@D)
	$(call step,LD)$(CC) $(filter-out -Wmissing-prototypes,$(USER_CFLAGS)) -Iinclude/uapi $(MPI_CFLAGS) $(CFLAGS) -fPIC \
		-shared -o $@ $< $(LDFLAGS)

$(MPI_CLIENTS_OUT)/operations: $(MPI_OPERATIONS:%=$(MPI_CLIENTS_OUT)/%.o)
$(MPI_CLIENTS_OUT)/fault: $(MPI_CLIENTS_OUT)/fault.o
$(MPI_CLIENTS_OUT)/ring: $(MPI_CLIENTS_OUT)/ring.o
$(MPI_CLIENTS): $(LIB_FILES) tests/clients/mpi/rules.mk
	$(call step,LD)$(CC) -o $@ $(filter %.o,$^) -L$(BUILD)/lib -laccel $(MPI_LIBDIR)/libmpi.so.40 \
		-Wl,--allow-shlib-undefined -Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../../../lib' $(LDFLAGS)

$(MPI_INTERFACES): tests/clients/mpi/interfaces.cpp tests/clients/mpi/rules.mk $(ACL_FILES) | mpi-headers
	@mkdir -p $(@D)
	$(call step,CXX)$(CXX) -std=c++17 $(CXX_WARNINGS) -Iinclude/accel/compat -Iinclude -I$(ACL_INCLUDE) $(MPI_CFLAGS) $(CFLAGS) \
		-MMD -MP -MF $@.d -o $@ $< -L$(BUILD)/lib -laccel_acl -laccel $(MPI_LIBDIR)/libmpi.so.40 \
		-Wl,--allow-shlib-undefined -Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/../../../lib' $(LDFLAGS)

.PHONY: mpi-clients
mpi-clients: mpi $(MPI_CLIENTS) $(MPI_INTERFACES) $(MPI_PRELOADS)

-include $(MPI_OPERATIONS:%=$(MPI_CLIENTS_OUT)/%.d) $(MPI_CLIENTS_OUT)/fault.d $(MPI_CLIENTS_OUT)/ring.d $(MPI_INTERFACES).d
