#pragma once
/// @file
/// How many connections an agent takes, by the descriptors that it may have.

#include <cstddef>

namespace underway::agent {

struct ConnectionLimits {
  std::size_t api = 0;    ///< of clients; root and the agent's own user are taken beyond it
  std::size_t tasks = 0;  ///< of all tasks together: each takes two descriptors here
};

/// `descriptors`: how many files this process may have open. What is left is for the store, for nodes and their
/// streams, and for root at the socket: strangers that hold every connection there is keep nobody out who could help.
ConnectionLimits connection_limits(std::size_t descriptors);

/// RLIMIT_NOFILE of this process.
std::size_t descriptor_limit();

}  // namespace underway::agent
