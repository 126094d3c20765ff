#pragma once
/// @file
/// The driver `charliecloud`: a user's software environment, entered without any privilege. The task's user runs
/// Charliecloud's `ch-run`, which makes a user and a mount namespace and becomes the command; it has the user's own
/// rights and no others, inside and outside, and the node's network, processes and devices, as MPI programs need them.
///
/// An image is a directory of the node (of a shared file system, as a rule), or whatever the driver `podman` takes. The
/// agent stacks it with a small directory in memory, which has the mount points that images lack (/alloc, /local,
/// /secrets), in a mount namespace of the run's own: nothing of it is left when the task ends.

#include <memory>

#include "pod/pod.hpp"

namespace underway::pod {

struct CharliecloudOptions {
  driver::Options driver;
  std::shared_ptr<oci::Store> store;
  /// Credentials for registries, as containers' auth.json.
  std::string auth_file;
  /// Absolute; empty: `ch-run` along the usual path.
  std::string program;
};

std::unique_ptr<driver::Driver> make_charliecloud(CharliecloudOptions options);

/// What it says to a config. Pure.
std::vector<std::string> charliecloud_problems(const boost::json::value& config);

}  // namespace underway::pod
