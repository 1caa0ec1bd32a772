// SPDX-License-Identifier: MIT
/*
 * MPI on device memory of the interfaces above libaccel: AscendCL, RMM's names, and a pool. Between all ranks; rank 0
 * prints TAP.
 */
#include <accel/pool.h>
#include <acl/acl.h>
#include <mpi.h>
#include <rmm/device_buffer.hpp>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

static constexpr int count = 10000;
static constexpr std::size_t bytes = count * sizeof(float);

static int rank, ranks, number, failures;

static void must(bool done, const char *what)
{
	if (done)
		return;
	std::printf("# rank %d: %s: %s\n", rank, what, accel_last_error());
	std::fflush(stdout);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static std::vector<float> values_of(int from)
{
	std::vector<float> values(count);

	std::iota(values.begin(), values.end(), static_cast<float>(from * 100));
	return values;
}

static void compare(const void *ptr, const std::vector<float> &wanted, const char *what)
{
	std::vector<float> got(count);

	must(!accel_memory_copy(got.data(), ptr, bytes), "a copy");
	if (got == wanted)
		return;
	std::printf("# rank %d: %s has wrong values\n", rank, what);
	std::fflush(stdout);
	failures++;
}

/* A message to the next rank, and a sum over all. */
static void exchange(void *out, void *in)
{
	const auto mine = values_of(rank);
	std::vector<float> sum(count);

	must(!accel_memory_copy(out, mine.data(), bytes), "a copy");
	MPI_Sendrecv(out, count, MPI_FLOAT, (rank + 1) % ranks, 0, in, count, MPI_FLOAT, (rank + ranks - 1) % ranks, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	compare(in, values_of((rank + ranks - 1) % ranks), "a message");
	MPI_Allreduce(out, in, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	for (int from = 0; from < ranks; from++)
		for (int i = 0; i < count; i++)
			sum[i] += static_cast<float>(from * 100 + i);
	compare(in, sum, "a reduction");
}

static void conclude(const char *name)
{
	int all = 0;

	MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!rank)
		std::printf("%sok %d - %s\n", all ? "not " : "", ++number, name);
	std::fflush(stdout);
}

static void use_acl()
{
	void *out, *in;

	must(!aclrtMalloc(&out, bytes, ACL_MEM_MALLOC_NORMAL_ONLY), "aclrtMalloc");
	must(!aclrtMalloc(&in, bytes, ACL_MEM_MALLOC_NORMAL_ONLY), "aclrtMalloc");
	exchange(out, in);
	must(!aclrtFree(out) && !aclrtFree(in), "aclrtFree");
	conclude("memory of aclrtMalloc()");
}

static void use_rmm()
{
	const rmm::cuda_stream_view stream;
	rmm::device_buffer out{bytes, stream}, in{bytes, stream};

	exchange(out.data(), in.data());
	conclude("rmm::device_buffer");
}

static void use_pool(struct accel_device *dev)
{
	struct accel_pool *pool;
	void *out, *in;

	must(!accel_pool_create(dev, nullptr, nullptr, &pool), "a pool");
	must(!accel_pool_allocate(pool, nullptr, bytes, 64, &out), "a block");
	must(!accel_pool_allocate(pool, nullptr, bytes, 64, &in), "a block");
	exchange(out, in);
	must(!accel_pool_deallocate(pool, nullptr, out, bytes, 64), "a block");
	must(!accel_pool_deallocate(pool, nullptr, in, bytes, 64), "a block");
	must(!accel_pool_destroy(pool), "a pool");
	conclude("blocks of a pool");
}

int main()
{
	struct accel_device *dev;
	int devices;

	MPI_Init(nullptr, nullptr);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	devices = accel_device_count();
	must(devices > 0 && !accel_device_open(rank % devices, &dev), "a device");
	must(!aclInit(nullptr) && !aclrtSetDevice(rank % devices), "AscendCL");
	use_acl();
	use_rmm();
	use_pool(dev);
	must(!aclrtResetDevice(rank % devices) && !aclFinalize(), "AscendCL");
	must(!accel_device_close(dev), "close");
	if (!rank)
		std::printf("1..%d\n", number);
	MPI_Finalize();
	return failures ? 1 : 0;
}
