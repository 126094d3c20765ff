#pragma once
/// @file
/// How many files this process may have open (RLIMIT_NOFILE, getrlimit(2)).

#include <cstddef>

namespace underway::os {

/// Raises this process's own limit of open descriptors to the highest that it may have, and returns that. What it
/// spawns has the limit from before, unless it is given another: programs that use select(2), or that close every
/// number there may be, want a low one (systemd.exec(5), LimitNOFILE). Once, before there are other threads.
std::size_t raise_descriptor_limit();

}  // namespace underway::os
