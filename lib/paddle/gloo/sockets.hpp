// SPDX-License-Identifier: MIT
//
// The connections of gloo, which it opens without FD_CLOEXEC, and whose descriptors it does not return. A child
// that kept them open would hide from the other ranks that this one has ended: programs that are started do not get
// them, and a child of fork() closes them.
#ifndef PADDLE_ACCEL_GLOO_SOCKETS_HPP
#define PADDLE_ACCEL_GLOO_SOCKETS_HPP

#include <sys/socket.h>
#include <vector>

namespace sockets
{

// Of IPv4 and IPv6, with their ports.
bool is_same(const sockaddr_storage &a, const sockaddr_storage &b);

// The own name of a TCP connection. Connections that this process has opened can have the same one, to other peers.
struct name {
	sockaddr_storage own;
	sockaddr_storage peer; // AF_UNSPEC: any
};

// Of all sockets of this process, those that have one of these names. Children that were forked earlier keep them.
void keep_from_children(const std::vector<name> &names);

} // namespace sockets

#endif
