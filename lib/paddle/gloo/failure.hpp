// SPDX-License-Identifier: MIT
#ifndef PADDLE_ACCEL_GLOO_FAILURE_HPP
#define PADDLE_ACCEL_GLOO_FAILURE_HPP

#include <stdexcept>
#include <string>

// An error with the number that the plugin is given.
class failure : public std::runtime_error {
    public:
	failure(int number, const std::string &sentence) : std::runtime_error(sentence), err(-number)
	{
	}

	const int err;
};

#endif
