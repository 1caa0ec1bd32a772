// SPDX-License-Identifier: MIT
//
// The engine over gloo, whose ranks are threads here and talk through the loopback device.

#include "../../../../lib/paddle/engine.h"
#include "../../../../lib/paddle/gloo/rendezvous.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <gloo/transport/tcp/address.h>
#include <limits>
#include <mutex>
#include <pthread.h>
#include <random>
#include <string>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" const engine *paddle_accel_engine();

static const engine *tested;
static std::atomic<unsigned int> wrong;

#define ok(condition) check(!!(condition), __func__, __LINE__, #condition)

static void check(bool good, const char *function, int line, const char *text)
{
	if (good)
		return;
	wrong++;
	printf("# %s:%d: not so: %s (%s)\n", function, line, text, tested->error());
}

constexpr unsigned int limit_ms = 20000;

using body = std::function<void(engine_comm *comm, int rank, int size)>;

// Runs it in all ranks of a communicator.
static void with_ranks(int size, const body &function, unsigned int limit = limit_ms)
{
	unsigned char id[ENGINE_ID_SIZE];
	std::vector<std::thread> threads;
	std::atomic<int> created{ 0 };
	pthread_barrier_t all_created;

	pthread_barrier_init(&all_created, nullptr, static_cast<unsigned int>(size));
	ok(!tested->make_id(id));
	for (int rank = 0; rank < size; rank++)
		threads.emplace_back([&, rank] {
			engine_comm *comm = nullptr;

			ok(!tested->create(id, rank, size, limit, &comm));
			created += !!comm;
			// A rank that closes its connections fails those that still connect.
			pthread_barrier_wait(&all_created);
			// Ranks wait for each other.
			if (created == size)
				function(comm, rank, size);
			if (comm)
				tested->destroy(comm);
		});
	for (auto &thread : threads)
		thread.join();
	pthread_barrier_destroy(&all_created);
}

// What rank `rank` gives to a message: differs for each message, rank and element.
template <typename T> static std::vector<T> values(uint32_t message, int rank, size_t count)
{
	std::mt19937 random(message * 131 + static_cast<uint32_t>(rank));
	std::vector<T> result(count);

	for (auto &one : result) {
		if constexpr (std::is_floating_point_v<T>)
			one = static_cast<T>(static_cast<int>(random() % 64) - 32) / 4;
		else
			one = static_cast<T>(random());
	}
	return result;
}

template <typename T> static T reduced(reduction op, T a, T b)
{
	if constexpr (std::is_integral_v<T>) {
		if (op == REDUCE_SUM || op == REDUCE_AVG)
			return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
		if (op == REDUCE_PRODUCT)
			return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
	}
	switch (op) {
	case REDUCE_SUM:
	case REDUCE_AVG:
		return static_cast<T>(a + b);
	case REDUCE_PRODUCT:
		return static_cast<T>(a * b);
	case REDUCE_MAX:
		return std::max(a, b);
	default:
		return std::min(a, b);
	}
}

template <typename T>
static std::vector<T> wanted(uint32_t message, reduction op, int size, size_t count)
{
	auto result = values<T>(message, 0, count);

	for (int rank = 1; rank < size; rank++) {
		auto more = values<T>(message, rank, count);

		for (size_t i = 0; i < count; i++)
			result[i] = reduced(op, result[i], more[i]);
	}
	if (op == REDUCE_AVG)
		for (auto &one : result)
			one = static_cast<T>(one / static_cast<T>(size));
	return result;
}

template <typename T> static void reduce_type(engine_comm *comm, int rank, int size, enum type type)
{
	uint32_t tag = static_cast<uint32_t>(type) << 16;

	for (reduction op : { REDUCE_SUM, REDUCE_AVG, REDUCE_MAX, REDUCE_MIN, REDUCE_PRODUCT }) {
		for (size_t count : { size_t{ 1 }, size_t{ 3 }, size_t{ 1000 } }) {
			auto mine = values<T>(++tag, rank, count);
			auto right = wanted<T>(tag, op, size, count);

			ok(!tested->all_reduce(comm, tag, mine.data(), count, type, op));
			ok(mine == right);
			mine = values<T>(++tag, rank, count);
			right = wanted<T>(tag, op, size, count);
			ok(!tested->reduce(comm, tag, mine.data(), count, type, op, size - 1));
			ok(rank != size - 1 || mine == right);
			mine = values<T>(++tag, rank, count * static_cast<size_t>(size));
			right = wanted<T>(tag, op, size, count * static_cast<size_t>(size));
			std::vector<T> part(count);
			ok(!tested->reduce_scatter(comm, tag, mine.data(), part.data(), count, type, op));
			ok(std::equal(part.begin(), part.end(),
				      right.begin() + static_cast<ptrdiff_t>(count) * rank));
		}
	}
}

static void all_types(engine_comm *comm, int rank, int size)
{
	reduce_type<uint8_t>(comm, rank, size, TYPE_UINT8);
	reduce_type<uint16_t>(comm, rank, size, TYPE_UINT16);
	reduce_type<uint32_t>(comm, rank, size, TYPE_UINT32);
	reduce_type<uint64_t>(comm, rank, size, TYPE_UINT64);
	reduce_type<int8_t>(comm, rank, size, TYPE_INT8);
	reduce_type<int16_t>(comm, rank, size, TYPE_INT16);
	reduce_type<int32_t>(comm, rank, size, TYPE_INT32);
	reduce_type<int64_t>(comm, rank, size, TYPE_INT64);
	reduce_type<double>(comm, rank, size, TYPE_FLOAT64);
}

static void test_reductions()
{
	for (int size : { 1, 2, 3, 5 })
		with_ranks(size, all_types);
}

// In float, products of more than two ranks are rounded in an order that is gloo's.
static void test_float()
{
	with_ranks(2, [](engine_comm *comm, int rank, int size) {
		reduce_type<float>(comm, rank, size, TYPE_FLOAT32);
	});
}

// ---- 16 bits ----

static float half_value(uint16_t bits)
{
	int exponent = bits >> 10 & 31, fraction = bits & 1023;
	float value = exponent == 31 ? (fraction ? NAN : INFINITY)
		      : exponent    ? std::ldexp(static_cast<float>(1024 + fraction), exponent - 25)
				    : std::ldexp(static_cast<float>(fraction), -24);

	return bits & 0x8000 ? -value : value;
}

static float brain_value(uint16_t bits)
{
	uint32_t wide = static_cast<uint32_t>(bits) << 16;
	float value;

	memcpy(&value, &wide, sizeof(value));
	return value;
}

// Whether no number of the type is nearer; of two that are as near it is the even one.
static bool is_nearest(float (*value)(uint16_t), uint16_t got, float exact)
{
	double error = std::fabs(static_cast<double>(value(got)) - static_cast<double>(exact));

	if (std::isnan(exact))
		return std::isnan(value(got));
	if (std::isinf(value(got)) || std::isinf(exact))
		return std::signbit(value(got)) == std::signbit(exact) &&
		       (std::isinf(exact) || std::fabs(exact) >= (value == half_value ? 65520.0f : 3.39e38f));
	for (int step : { -1, 1 }) {
		uint16_t other = static_cast<uint16_t>(got + step);
		double distance;

		if (std::isnan(value(other)) || std::isinf(value(other)))
			continue;
		distance = std::fabs(static_cast<double>(value(other)) - static_cast<double>(exact));
		if (distance < error || (distance == error && got & 1))
			return false;
	}
	return true;
}

static std::vector<uint16_t> bits16(uint32_t message, int rank)
{
	std::vector<uint16_t> result = values<uint16_t>(message, rank, 65536);

	// Rank 0 has all of them, in their order.
	for (size_t i = 0; !rank && i < result.size(); i++)
		result[i] = static_cast<uint16_t>(i);
	return result;
}

static void sums16(engine_comm *comm, int rank, enum type type, float (*value)(uint16_t))
{
	uint32_t tag = static_cast<uint32_t>(type) << 8;
	auto first = bits16(tag, 0), second = bits16(tag, 1), mine = rank ? second : first;
	size_t bad = 0;

	ok(!tested->all_reduce(comm, tag, mine.data(), mine.size(), type, REDUCE_SUM));
	for (size_t i = 0; i < mine.size(); i++)
		bad += !is_nearest(value, mine[i], value(first[i]) + value(second[i]));
	ok(!bad);
	mine = rank ? second : first;
	ok(!tested->all_reduce(comm, tag + 1, mine.data(), mine.size(), type, REDUCE_MAX));
	for (size_t i = bad = 0; i < mine.size(); i++) {
		float a = value(first[i]), b = value(second[i]);
		float right = std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);

		bad += std::isnan(right) ? !std::isnan(value(mine[i])) : value(mine[i]) != right;
	}
	ok(!bad);
}

static void test_16_bits()
{
	with_ranks(2, [](engine_comm *comm, int rank, int) {
		sums16(comm, rank, TYPE_FLOAT16, half_value);
		sums16(comm, rank, TYPE_BFLOAT16, brain_value);
	});
}

static void test_booleans_and_complex()
{
	with_ranks(2, [](engine_comm *comm, int rank, int) {
		unsigned char flags[4] = { 0, 1, static_cast<unsigned char>(rank), 1 };
		float numbers[2] = { 2, rank ? -1.0f : 3.0f };

		ok(!tested->all_reduce(comm, 1, flags, 4, TYPE_BOOL, REDUCE_SUM));
		ok(!flags[0] && flags[1] == 1 && flags[2] == 1 && flags[3] == 1);
		flags[2] = static_cast<unsigned char>(rank);
		ok(!tested->all_reduce(comm, 2, flags, 4, TYPE_BOOL, REDUCE_MIN));
		ok(!flags[0] && flags[1] == 1 && !flags[2] && flags[3] == 1);
		ok(tested->all_reduce(comm, 3, flags, 4, TYPE_BOOL, REDUCE_AVG) == -EOPNOTSUPP);
		ok(tested->all_reduce(comm, 4, numbers, 1, TYPE_COMPLEX64, REDUCE_MAX) == -EOPNOTSUPP);
		ok(!tested->all_reduce(comm, 5, numbers, 1, TYPE_COMPLEX64, REDUCE_PRODUCT));
		// (2 + 3i) (2 - i)
		ok(numbers[0] == 7.0f && numbers[1] == 4.0f);
	});
}

// ---- Data ----

static void test_broadcast_and_gather()
{
	for (int ranks : { 1, 2, 3, 8 })
		with_ranks(ranks, [](engine_comm *comm, int rank, int size) {
			for (size_t count : { size_t{ 1 }, size_t{ 4097 }, size_t{ 3 } << 20 }) {
				uint32_t tag = static_cast<uint32_t>(count) * 16;

				for (int root = 0; root < size; root++) {
					auto mine = values<char>(++tag, rank, count);

					ok(!tested->broadcast(comm, tag, mine.data(), count, root));
					ok(mine == values<char>(tag, root, count));
				}
				auto mine = values<char>(++tag, rank, count);
				std::vector<char> all(count * static_cast<size_t>(size));

				ok(!tested->all_gather(comm, tag, mine.data(), all.data(), count));
				for (int from = 0; from < size; from++)
					ok(std::equal(all.begin() + static_cast<ptrdiff_t>(count) * from,
						      all.begin() + static_cast<ptrdiff_t>(count) * (from + 1),
						      values<char>(tag, from, count).begin()));
			}
		});
}

// Rank r gives (r + 1) * (s + 2) * 1000 bytes to rank s, and nothing to the one behind it.
static size_t given(int from, int to, int size)
{
	return size > 1 && to == (from + 1) % size ? 0 : static_cast<size_t>((from + 1) * (to + 2)) * 1000;
}

static void test_all_to_all()
{
	for (int ranks : { 1, 2, 4 })
		with_ranks(ranks, [](engine_comm *comm, int rank, int size) {
			std::vector<std::vector<char>> in, out;
			std::vector<void *> in_at, out_at;
			std::vector<size_t> in_sizes, out_sizes;

			for (int other = 0; other < size; other++) {
				in.push_back(values<char>(static_cast<uint32_t>(other), rank,
							  given(rank, other, size)));
				out.emplace_back(given(other, rank, size));
			}
			for (size_t i = 0; i < in.size(); i++) {
				in_at.push_back(in[i].data());
				out_at.push_back(out[i].data());
				in_sizes.push_back(in[i].size());
				out_sizes.push_back(out[i].size());
			}
			engine_blocks sent = { in_at.data(), in_sizes.data() };
			engine_blocks got = { out_at.data(), out_sizes.data() };
			ok(!tested->all_to_all(comm, 7, &sent, &got));
			for (int other = 0; other < size; other++)
				ok(out[static_cast<size_t>(other)] ==
				   values<char>(static_cast<uint32_t>(rank), other, given(other, rank, size)));
		});
}

static void test_messages()
{
	with_ranks(3, [](engine_comm *comm, int rank, int size) {
		constexpr size_t count = 300000;
		int to = (rank + 1) % size, from = (rank + size - 1) % size;
		auto first = values<char>(1, rank, count), second = values<char>(2, rank, count);
		std::vector<char> a(count), b(count);
		engine_request *requests[4] = {};

		// The second message is received first: tags choose.
		ok(!tested->receive(comm, 2, b.data(), count, from, &requests[0]));
		ok(!tested->send(comm, 1, first.data(), count, to, &requests[1]));
		ok(!tested->send(comm, 2, second.data(), count, to, &requests[2]));
		ok(!tested->receive(comm, 1, a.data(), count, from, &requests[3]));
		for (auto *request : requests)
			ok(request && !tested->wait(request));
		ok(a == values<char>(1, from, count) && b == values<char>(2, from, count));
	});
}

// ---- What goes wrong ----

// A rank whose tag differs exchanges nothing: both wait for their time.
static void test_tags_differ()
{
	with_ranks(
		2,
		[](engine_comm *comm, int rank, int) {
			auto mine = values<int32_t>(1, rank, 1000), before = mine;
			int err = tested->all_reduce(comm, 40 + static_cast<uint32_t>(rank), mine.data(), 1000,
						   TYPE_INT32, REDUCE_MAX);

			ok(err == -ETIMEDOUT || err == -ECONNRESET);
			tested->abort(comm);
			ok(tested->all_reduce(comm, 50, mine.data(), 1000, TYPE_INT32, REDUCE_MAX) ==
			   -ECONNABORTED);
		},
		5000);
}

// Rank 0 sends rank 1 `sent` bytes, of which rank 1 expects `expected`: neither takes the other's data.
static void blocks_differ(size_t sent, size_t expected)
{
	with_ranks(
		2,
		[=](engine_comm *comm, int rank, int) {
			std::vector<char> in(128, 1), out(128, 2);
			void *in_at[2] = { in.data(), in.data() }, *out_at[2] = { out.data(), out.data() };
			size_t in_sizes[2] = { 0, rank ? 0 : sent }, out_sizes[2] = { rank ? expected : 0, 0 };
			engine_blocks from = { in_at, in_sizes }, to = { out_at, out_sizes };
			int err = tested->all_to_all(comm, 7, &from, &to);

			ok(err == -ETIMEDOUT || err == -ECONNRESET);
			ok(out == std::vector<char>(128, 2));
			tested->abort(comm);
		},
		3000);
}

static void test_blocks_differ()
{
	blocks_differ(64, 128);
	blocks_differ(128, 64);
}

// The others see it at once, and what they had posted ends.
static void test_abort()
{
	with_ranks(3, [](engine_comm *comm, int rank, int) {
		auto mine = values<float>(1, rank, 1 << 20);
		engine_request *request = nullptr;

		if (!rank) {
			tested->abort(comm);
			ok(tested->receive(comm, 1, mine.data(), 4, 1, &request) == -ECONNABORTED);
			return;
		}
		int err = tested->receive(comm, 1, mine.data(), 4, 0, &request);
		ok(!err || err == -ECONNRESET);
		ok(tested->all_reduce(comm, 2, mine.data(), mine.size(), TYPE_FLOAT32, REDUCE_SUM) == -ECONNRESET);
		tested->abort(comm);
		ok(err || tested->wait(request) == -ECONNABORTED);
	});
}

// A child that does nothing until it is ended.
class idle_child {
    public:
	idle_child()
	{
		ok(!pipe(ends_));
		pid_ = fork();
		if (!pid_) {
			char byte;

			close(ends_[1]);
			_exit(read(ends_[0], &byte, 1) != 0);
		}
	}
	~idle_child()
	{
		int status = -1;

		close(ends_[1]);
		ok(waitpid(pid_, &status, 0) == pid_ && !status);
		close(ends_[0]);
	}

    private:
	int ends_[2];
	pid_t pid_;
};

// As a worker of a DataLoader: the connections of a rank close although its child goes on.
static void test_fork()
{
	pthread_barrier_t seen;

	pthread_barrier_init(&seen, nullptr, 2);
	with_ranks(
		2,
		[&](engine_comm *comm, int rank, int) {
			char byte = 0;
			engine_request *request = nullptr;

			if (rank) {
				idle_child child;

				tested->abort(comm);
				pthread_barrier_wait(&seen);
				return;
			}
			// The connection may be closed before that.
			int err = tested->receive(comm, 1, &byte, 1, 1, &request);
			ok((err ? err : tested->wait(request)) == -ECONNRESET);
			pthread_barrier_wait(&seen);
		},
		5000);
	pthread_barrier_destroy(&seen);
}

// Those below are open when the test begins.
static int first_fd;

static bool is_connected(int fd)
{
	sockaddr_storage peer;
	socklen_t length = sizeof(peer);

	return !getpeername(fd, reinterpret_cast<sockaddr *>(&peer), &length) && peer.ss_family == AF_INET;
}

// The connections of this process, without those that it was started with.
static std::vector<int> connections()
{
	std::vector<int> found;

	for (int fd = first_fd; fd < 1024; fd++)
		if (is_connected(fd))
			found.push_back(fd);
	return found;
}

// A program that is started gets no connection.
static void test_exec()
{
	with_ranks(3, [](engine_comm *comm, int rank, int) {
		int sum = 0;

		if (!rank) {
			ok(connections().size() == 6);
			for (int fd : connections())
				ok(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		}
		// The others go on until it has looked.
		ok(!tested->all_reduce(comm, 1, &sum, 1, TYPE_INT32, REDUCE_SUM));
	});
}

// The thread of gloo does not see what has happened while the test holds this.
static std::mutex gate;

extern "C" int epoll_wait(int fd, epoll_event *events, int most, int limit)
{
	int got = static_cast<int>(syscall(SYS_epoll_pwait, fd, events, most, limit, nullptr, 0));
	std::lock_guard<std::mutex> guard(gate);

	return got;
}

// A write to a connection that is closed, before the thread of gloo knows: an error and no SIGPIPE.
static void test_sigpipe()
{
	pthread_barrier_t written;

	pthread_barrier_init(&written, nullptr, 2);
	with_ranks(2, [&](engine_comm *comm, int rank, int) {
		engine_request *request = nullptr;
		sigset_t pending;
		int err = 0;

		if (!rank) {
			std::lock_guard<std::mutex> guard(gate);

			ok(connections().size() == 2);
			for (int fd : connections())
				shutdown(fd, SHUT_RDWR);
			err = tested->send(comm, 1, &rank, sizeof(rank), 1, &request);
		}
		pthread_barrier_wait(&written);
		if (request)
			err = tested->wait(request);
		ok(err == (rank ? 0 : -ECONNRESET));
		ok(!sigpending(&pending) && !sigismember(&pending, SIGPIPE));
	});
	pthread_barrier_destroy(&written);
}

static void test_ids()
{
	unsigned char id[ENGINE_ID_SIZE], other[ENGINE_ID_SIZE];
	engine_comm *comm = nullptr;

	memset(other, 0, sizeof(other));
	ok(tested->create(other, 1, 2, 1000, &comm) == -EINVAL);
	ok(strstr(tested->error(), "same one"));
	ok(!tested->make_id(id));
	// Rank 1 does not come.
	ok(tested->create(id, 0, 2, 500, &comm) == -ETIMEDOUT);
	ok(strstr(tested->error(), "waiting for all 2 ranks"));
	// An id serves once; the port is closed now.
	ok(tested->create(id, 0, 2, 500, &comm) == -EINVAL);
	ok(tested->create(id, 1, 2, 500, &comm) == -ECONNREFUSED);
	ok(!comm);
}

// A stranger that connects is sent away, and does not hold up the ranks.
static void test_wrong_secret()
{
	unsigned char id[ENGINE_ID_SIZE], wrong_id[ENGINE_ID_SIZE];
	engine_comm *comm[2] = {}, *none = nullptr;

	ok(!tested->make_id(id));
	memcpy(wrong_id, id, sizeof(id));
	wrong_id[8] ^= 1;
	std::thread first([&] { ok(!tested->create(id, 0, 2, limit_ms, &comm[0])); });
	std::thread stranger([&] { ok(tested->create(wrong_id, 1, 2, 5000, &none) < 0); });
	stranger.join();
	ok(!tested->create(id, 1, 2, limit_ms, &comm[1]));
	first.join();
	for (auto *one : comm)
		if (one)
			tested->destroy(one);
}

// A socket of this machine that accepts nothing.
static gloo::transport::tcp::Address unused_address(const rendezvous::descriptor &fd, const char *host)
{
	sockaddr_storage where = {};
	auto *in = reinterpret_cast<sockaddr_in *>(&where);
	socklen_t length = sizeof(*in);

	in->sin_family = AF_INET;
	inet_pton(AF_INET, host, &in->sin_addr);
	ok(!bind(fd.get(), reinterpret_cast<sockaddr *>(in), length));
	ok(!getsockname(fd.get(), reinterpret_cast<sockaddr *>(in), &length));
	return gloo::transport::tcp::Address(where);
}

// A rank that tells its address and then does not connect. The time of rank 0 is at most twice its limit.
static void test_unconnected_rank()
{
	const std::chrono::milliseconds limit(3000);
	unsigned char id[ENGINE_ID_SIZE];
	engine_comm *comm = nullptr;
	rendezvous::descriptor fd(socket(AF_INET, SOCK_STREAM, 0));
	auto begin = std::chrono::steady_clock::now();

	ok(!tested->make_id(id));
	// The rank with the lower address listens.
	auto blob = unused_address(fd, "127.255.255.254").bytes();
	std::thread other([&] { rendezvous::exchange(rendezvous::read_id(id), 1, 2, blob, begin + 10 * limit); });
	ok(tested->create(id, 0, 2, static_cast<unsigned int>(limit.count()), &comm) == -ETIMEDOUT);
	ok(std::chrono::steady_clock::now() - begin < 3 * limit);
	ok(strstr(tested->error(), "cannot connect to rank 1 at 127.255.255.254 port "));
	other.join();
}

// 260 connections that say nothing, in a process of its own since descriptors are limited.
static int connect_silently(const unsigned char id[ENGINE_ID_SIZE], int connected, int end)
{
	auto where = rendezvous::read_id(id);
	sockaddr_in to = {};
	char byte = 0;

	to.sin_family = AF_INET;
	to.sin_port = htons(where.port);
	inet_pton(AF_INET, where.host.c_str(), &to.sin_addr);
	for (int i = 0; i < 260; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		// The server closes them meanwhile.
		if (fd < 0 || connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof(to)))
			return 1;
	}
	return write(connected, &byte, 1) != 1 || read(end, &byte, 1) != 0;
}

// Strangers that connect and say nothing take no more than a part of the descriptors.
static void test_silent_strangers()
{
	unsigned char id[ENGINE_ID_SIZE];
	engine_comm *comm[2] = {};
	rlimit before, few;
	int connected[2], end[2], status = -1;
	char byte;

	ok(!getrlimit(RLIMIT_NOFILE, &before));
	ok(!tested->make_id(id) && !pipe(connected) && !pipe(end));
	pid_t pid = fork();
	if (!pid) {
		close(end[1]);
		_exit(connect_silently(id, connected[1], end[0]));
	}
	// Its end is seen if the child fails.
	close(connected[1]);
	few = { 200, before.rlim_max };
	ok(!setrlimit(RLIMIT_NOFILE, &few));
	std::thread first([&] { ok(!tested->create(id, 0, 2, limit_ms, &comm[0])); });
	ok(read(connected[0], &byte, 1) == 1);
	ok(!tested->create(id, 1, 2, limit_ms, &comm[1]));
	first.join();
	for (auto *one : comm)
		if (one)
			tested->destroy(one);
	ok(!setrlimit(RLIMIT_NOFILE, &before));
	close(end[1]);
	ok(waitpid(pid, &status, 0) == pid && !status);
	close(connected[0]);
	close(end[0]);
}

// The calls of send() by an exchange of two ranks: their greetings, and an answer to each. After the first answer
// the server continues when it is stopped.
static struct {
	std::mutex lock;
	std::condition_variable changed;
	bool are_counted, is_stopped;
	int count;
} sends;

extern "C" ssize_t send(int fd, const void *data, size_t size, int flags)
{
	std::unique_lock<std::mutex> guard(sends.lock);
	int number = sends.are_counted ? ++sends.count : 0;

	guard.unlock();
	ssize_t sent = syscall(SYS_sendto, fd, data, size, flags, nullptr, 0);
	guard.lock();
	sends.changed.notify_all();
	if (number == 3)
		sends.changed.wait(guard, [] { return sends.is_stopped; });
	return sent;
}

extern "C" ssize_t write(int fd, const void *data, size_t size)
{
	ssize_t written = syscall(SYS_write, fd, data, size);
	std::lock_guard<std::mutex> guard(sends.lock);

	// The size of an eventfd.
	sends.is_stopped = sends.is_stopped || (sends.are_counted && size == sizeof(uint64_t));
	sends.changed.notify_all();
	return written;
}

static void stop_counting()
{
	std::lock_guard<std::mutex> guard(sends.lock);

	sends.are_counted = false;
	sends.is_stopped = true;
	sends.changed.notify_all();
}

// Rank 0 has all it needs, and ends the server, before the others have their answers.
static void test_early_end_of_the_server()
{
	auto server = std::make_unique<rendezvous::server>();
	auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
	rendezvous::place where = server->where();
	rendezvous::blob mine(8);
	std::atomic<size_t> got[2] = {};
	auto exchange = [&](int rank) {
		try {
			got[rank] = rendezvous::exchange(where, rank, 2, mine, deadline).size();
		} catch (const std::exception &error) {
			printf("# rank %d: %s\n", rank, error.what());
		}
	};

	sends.are_counted = true;
	server->start(2);
	std::thread first([&] {
		exchange(0);
		server.reset();
		stop_counting();
	});
	{
		std::unique_lock<std::mutex> guard(sends.lock);

		sends.changed.wait(guard, [] { return sends.count >= 1 || sends.is_stopped; });
	}
	exchange(1);
	first.join();
	ok(got[0] == 2 && got[1] == 2 && sends.count == 4);
}

// How often accept4() has no descriptor.
static std::atomic<int> shortages;

extern "C" int accept4(int fd, sockaddr *address, socklen_t *length, int flags)
{
	if (shortages > 0) {
		shortages--;
		errno = EMFILE;
		return -1;
	}
	return static_cast<int>(syscall(SYS_accept4, fd, address, length, flags));
}

// Where no connection of a stranger can be closed, the server tries again.
static void test_no_descriptors()
{
	shortages = 3;
	with_ranks(2, [](engine_comm *, int, int) {});
	ok(!shortages);
}

// An id that is never used.
static void test_unused_id()
{
	unsigned char id[ENGINE_ID_SIZE];

	ok(!tested->make_id(id));
}

static void test_bad_address()
{
	unsigned char id[ENGINE_ID_SIZE];

	setenv("PADDLE_ACCEL_ADDRESS", "192.0.2.1", 1);
	ok(tested->make_id(id) == -EADDRNOTAVAIL && strstr(tested->error(), "PADDLE_ACCEL_ADDRESS"));
	setenv("PADDLE_ACCEL_ADDRESS", "no such host.invalid", 1);
	ok(tested->make_id(id) == -EINVAL && strstr(tested->error(), "PADDLE_ACCEL_ADDRESS"));
	unsetenv("PADDLE_ACCEL_ADDRESS");
}

struct test {
	const char *name;
	void (*run)();
};

static const test tests[] = {
	{ "reductions", test_reductions },
	{ "float", test_float },
	{ "float16 and bfloat16, all of their values", test_16_bits },
	{ "bool and complex", test_booleans_and_complex },
	{ "broadcast and all_gather", test_broadcast_and_gather },
	{ "all_to_all", test_all_to_all },
	{ "messages", test_messages },
	{ "tags that differ", test_tags_differ },
	{ "blocks whose sizes differ", test_blocks_differ },
	{ "abort", test_abort },
	{ "a child of fork", test_fork },
	{ "programs get no connection", test_exec },
	{ "SIGPIPE", test_sigpipe },
	{ "ids", test_ids },
	{ "a wrong secret", test_wrong_secret },
	{ "a rank that does not connect", test_unconnected_rank },
	{ "strangers that say nothing", test_silent_strangers },
	{ "no descriptors for a while", test_no_descriptors },
	{ "an early end of the server", test_early_end_of_the_server },
	{ "an unused id", test_unused_id },
	{ "a bad address", test_bad_address },
};

int main()
{
	unsigned int failed = 0, number = 0;

	tested = paddle_accel_engine();
	first_fd = dup(0);
	close(first_fd);
	if (tested->version != ENGINE_VERSION)
		return 1;
	for (const auto &one : tests) {
		wrong = 0;
		one.run();
		failed += !!wrong;
		printf("%sok %u - %s\n", wrong ? "not " : "", ++number, one.name);
		fflush(stdout);
	}
	printf("1..%u\n", number);
	return !!failed;
}
