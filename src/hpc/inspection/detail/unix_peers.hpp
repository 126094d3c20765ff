#pragma once
/// @file
/// Who is at the other end of a connected unix socket: /proc does not say it, sock_diag(7) does.

#include <cstdint>
#include <map>

#include "net/namespace.hpp"

namespace underway::inspection::detail {

/// Inode → inode of its peer, both ways, in the namespace. Errors: as the kernel has them.
std::map<std::int64_t, std::int64_t> unix_peers(const net::Namespace& in);

}  // namespace underway::inspection::detail
