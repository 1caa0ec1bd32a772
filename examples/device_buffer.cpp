/* SPDX-License-Identifier: MIT */
/*
 * C++ buffers from a pool: device memory is allocated once, and a buffer costs no system call.
 *
 * Build: c++ -std=c++17 device_buffer.cpp $(pkg-config --cflags --libs accel)
 */
#include <accel/device_buffer.hpp>
#include <cstdio>
#include <exception>
#include <string>

static void run()
{
	const std::string text = "Hello from a buffer of the pool.";
	accel::pool_resource pool{accel::device_resource{}, 2048};
	accel::statistics_resource counted{pool};
	accel::stream stream;

	/* The default resource of all buffers from now on. */
	accel::set_current_device_resource(counted);

	for (int i = 0; i < 100; i++) {
		/* Copied on the stream, and freed on it at the end of the scope. */
		accel::device_buffer buffer{text.data(), text.size(), stream};
		accel::device_buffer copy{buffer, stream};
		std::string back(text.size(), ' ');

		copy.resize(2 * text.size(), stream);
		stream.synchronize();
		accel::check(accel_memory_copy(back.data(), copy.data(), back.size()));
		if (back != text)
			throw std::runtime_error{"other bytes came back"};
	}
	accel::reset_current_device_resource();

	const auto now = counted.statistics();

	std::printf("%s\n%llu buffers, at most %llu bytes at a time, out of %zu\n", text.c_str(),
		    static_cast<unsigned long long>(now.total_count),
		    static_cast<unsigned long long>(now.peak_bytes), pool.pool_size());
}

int main()
{
	try {
		run();
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s\n", error.what());
		return 1;
	}
	return 0;
}
