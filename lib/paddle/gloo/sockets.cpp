// SPDX-License-Identifier: MIT

#include "sockets.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <netinet/in.h>
#include <new>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sockets
{

bool is_same(const sockaddr_storage &a, const sockaddr_storage &b)
{
	auto *a4 = reinterpret_cast<const sockaddr_in *>(&a), *b4 = reinterpret_cast<const sockaddr_in *>(&b);
	auto *a6 = reinterpret_cast<const sockaddr_in6 *>(&a), *b6 = reinterpret_cast<const sockaddr_in6 *>(&b);

	if (a.ss_family != b.ss_family)
		return false;
	if (a.ss_family == AF_INET6)
		return a6->sin6_port == b6->sin6_port &&
		       !memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr));
	return a.ss_family == AF_INET && a4->sin_port == b4->sin_port &&
	       a4->sin_addr.s_addr == b4->sin_addr.s_addr;
}

namespace
{

// gloo closes a descriptor when it wants: its number may stand for another file by then.
struct known {
	int fd;
	dev_t device;
	ino_t inode;
};

// Of `all`. It is held during fork(), so that the child finds the list whole.
std::mutex lock;
std::vector<known> all;

bool is_open(const known &one)
{
	struct stat about;

	return !fstat(one.fd, &about) && about.st_dev == one.device && about.st_ino == one.inode;
}

void before_fork()
{
	lock.lock();
}

void in_parent()
{
	lock.unlock();
}

// Async-signal-safe, since the process had threads. gloo does nothing in a child.
void in_child()
{
	for (const auto &one : all)
		if (is_open(one))
			close(one.fd);
	lock.unlock();
}

bool is_tcp(int fd)
{
	int protocol = 0;
	socklen_t length = sizeof(protocol);

	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) && protocol == IPPROTO_TCP;
}

// AF_UNSPEC: there is none.
sockaddr_storage name_by(int (*function)(int, sockaddr *, socklen_t *), int fd)
{
	sockaddr_storage found = {};
	socklen_t length = sizeof(found);

	if (function(fd, reinterpret_cast<sockaddr *>(&found), &length))
		found.ss_family = AF_UNSPEC;
	return found;
}

bool has_one_of(const std::vector<name> &names, int fd)
{
	sockaddr_storage own = name_by(getsockname, fd), peer = name_by(getpeername, fd);

	return is_tcp(fd) && std::any_of(names.begin(), names.end(), [&](const auto &one) {
		       return is_same(one.own, own) &&
			      (one.peer.ss_family == AF_UNSPEC || is_same(one.peer, peer));
	       });
}

} // namespace

void keep_from_children(const std::vector<name> &names)
{
	static const int registered = pthread_atfork(before_fork, in_parent, in_child);
	std::lock_guard<std::mutex> guard(lock);

	if (registered)
		throw std::bad_alloc();
	all.erase(std::remove_if(all.begin(), all.end(), [](const known &one) { return !is_open(one); }),
		  all.end());
	for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
		int fd = atoi(entry.path().filename().c_str());
		struct stat about;

		if (fstat(fd, &about) || !has_one_of(names, fd))
			continue;
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		all.push_back({ fd, about.st_dev, about.st_ino });
	}
}

} // namespace sockets
