#pragma once
/// @file
/// What the provider and underway-init say to each other. Plain data, libc only.

#include <cstdint>

namespace underway::host::init_protocol {

inline constexpr int kPlanFd = 3;     ///< sealed memory with the launch plan
inline constexpr int kControlFd = 4;  ///< SOCK_SEQPACKET
inline constexpr int kReportFd = 5;   ///< pipe for os::launch::Report; closed by the exec that ends the plan

/// Launcher to provider, with the pidfd of the new process as SCM_RIGHTS.
struct Launched {
  std::int32_t pid = 0;    ///< as the launcher's pid namespace numbers it
  std::int32_t error = 0;  ///< errno of clone3(2)
};

/// Provider to pid 1: everything is recorded and in place.
inline constexpr char kGo = 'g';

}  // namespace underway::host::init_protocol
