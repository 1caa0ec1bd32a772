// SPDX-License-Identifier: MIT
//
// How the ranks of a communicator find each other: rank 0 listens, its address is in the unique id,
// and each rank sends it a blob and gets those of all ranks.
#ifndef PADDLE_ACCEL_GLOO_RENDEZVOUS_HPP
#define PADDLE_ACCEL_GLOO_RENDEZVOUS_HPP

#include "../engine.h"

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace rendezvous
{

using moment = std::chrono::steady_clock::time_point;
using blob = std::vector<char>;

// The address of this machine by which the other ranks reach it.
std::string own_address();

// A descriptor that is closed.
class descriptor {
    public:
	explicit descriptor(int fd = -1) : fd_(fd)
	{
	}
	descriptor(descriptor &&other) noexcept : fd_(other.release())
	{
	}
	descriptor &operator=(descriptor &&other) noexcept;
	~descriptor();

	int get() const
	{
		return fd_;
	}
	int release();

    private:
	int fd_;
};

struct place {
	std::array<char, 16> secret; // connections without it are closed
	std::string host; // a numeric address
	uint16_t port;
};

void write_id(const place &where, unsigned char id[ENGINE_ID_SIZE]);
place read_id(const unsigned char id[ENGINE_ID_SIZE]);

// Listens, and serves one exchange in a thread of its own.
class server {
    public:
	server();
	// Stops waiting for ranks. If all have come, it waits up to ten seconds until they have their answers.
	~server();
	server(const server &) = delete;
	server &operator=(const server &) = delete;

	const place &where() const
	{
		return where_;
	}
	// Before the first rank is served.
	void start(int size);

    private:
	void run(int size);

	place where_;
	descriptor listener_, stop_;
	std::thread thread_;
};

// The blobs of all ranks, in their order.
std::vector<blob> exchange(const place &where, int rank, int size, const blob &mine, moment deadline);

} // namespace rendezvous

#endif
