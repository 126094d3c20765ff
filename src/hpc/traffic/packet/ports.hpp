#pragma once
/// @file
/// Which side of a conversation has the door, when nobody saw it opened.

#include <cstdint>

namespace underway::traffic {

/// How much a port looks like a server's: 3 one that HPC sites know (it may be above 1024, as NFS's is), 2 one that the
/// system keeps for servers, 1 one that is registered, 0 one that kernels give to clients (Linux: 32768 to 60999).
unsigned server_likeness(std::uint16_t port);

}  // namespace underway::traffic
