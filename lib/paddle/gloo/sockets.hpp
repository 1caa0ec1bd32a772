// SPDX-License-Identifier: MIT
//
// The connections of gloo, which it opens without FD_CLOEXEC, and whose descriptors it does not return. A child
// that kept them open would hide from the other ranks that this one has ended: programs that are started do not get
// them, and in a child of fork() /dev/null takes their place.
#ifndef PADDLE_ACCEL_GLOO_SOCKETS_HPP
#define PADDLE_ACCEL_GLOO_SOCKETS_HPP

#include <sys/socket.h>
#include <vector>

namespace sockets
{

using addresses = std::vector<sockaddr_storage>;

// Of all sockets of this process, those whose own address or whose peer's is one of these. A child that has been
// forked before keeps them.
void keep_from_children(const addresses &own, const addresses &peers);

} // namespace sockets

#endif
