#pragma once
/// @file
/// `protect { sync = true }`: what it takes to hold a service until what it saved is on the standby (init/saves.hpp).

#include <string>

#include "os/process/capability.hpp"

namespace underway::run {

/// What a capsule's init needs for it besides what its services have.
os::Capabilities sync_capabilities();

/// Throws Error(unsupported): this host's kernel cannot do it.
void require_sync();

}  // namespace underway::run
