#pragma once
/// @file
/// A machine does what its seed says: the part of cloud-init that a node image of ours needs, without Python.

#include "base/clock.hpp"
#include "guest/seed.hpp"
#include "net/namespace.hpp"

namespace underway::guest {

struct BootOptions {
  std::string root;                              ///< before each path; empty: the machine's own
  std::string state = "/var/lib/underway-boot";  ///< remembers the last instance
  Duration command_limit = std::chrono::minutes(5);
};

/// Reads the seed from a directory (a mounted "cidata" disk). Errors: not_found when it has no meta-data; as
/// parse_seed.
Seed read_seed(const std::string& directory);

/// Links get their names, addresses and routes, the machine its host name and resolver; then, once per instance, files
/// are written and commands run. A command that fails is logged, and the others run. Returns whether the instance is
/// another one than before. Errors: not_found for a MAC that no link has, after all others were set up; what cannot be
/// written. Blocks: yes.
bool boot(const Seed& seed, const net::Namespace& in, const BootOptions& options = {});

}  // namespace underway::guest
