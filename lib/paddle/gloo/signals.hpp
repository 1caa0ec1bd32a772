// SPDX-License-Identifier: MIT
//
// Signals that a library must not cause in the program, nor take from it.
#ifndef PADDLE_ACCEL_GLOO_SIGNALS_HPP
#define PADDLE_ACCEL_GLOO_SIGNALS_HPP

#include <csignal>
#include <ctime>

// Threads that are started meanwhile inherit the mask: they take no signals of the program, and writes to closed
// connections fail instead of ending it by SIGPIPE.
class blocked_signals {
    public:
	blocked_signals()
	{
		sigset_t all;

		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before_);
	}
	~blocked_signals()
	{
		pthread_sigmask(SIG_SETMASK, &before_, nullptr);
	}
	blocked_signals(const blocked_signals &) = delete;
	blocked_signals &operator=(const blocked_signals &) = delete;

    private:
	sigset_t before_;
};

// Writes of this thread to closed connections cause no SIGPIPE: one that was not pending before is discarded.
class no_sigpipe {
    public:
	no_sigpipe()
	{
		sigset_t pending;

		sigemptyset(&pipe_);
		sigaddset(&pipe_, SIGPIPE);
		sigpending(&pending);
		was_pending_ = sigismember(&pending, SIGPIPE);
		pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
	}
	~no_sigpipe()
	{
		const timespec at_once = {};

		if (!was_pending_)
			sigtimedwait(&pipe_, nullptr, &at_once);
		pthread_sigmask(SIG_SETMASK, &before_, nullptr);
	}
	no_sigpipe(const no_sigpipe &) = delete;
	no_sigpipe &operator=(const no_sigpipe &) = delete;

    private:
	sigset_t pipe_, before_;
	bool was_pending_;
};

#endif
