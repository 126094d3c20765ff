#pragma once
/// @file
/// What systemd is told of a service of type notify.

#include <string_view>

namespace underway::agent {

/// sd_notify(3) without libsystemd: one datagram to the socket that systemd named; nothing without one.
void notify_systemd(std::string_view state);

}  // namespace underway::agent
