#pragma once
/// @file
/// The drivers `podman` and `docker`: a container as a task, under the names that job files use. The agent writes the
/// OCI bundle itself and has crun or runc start it; there is no daemon, and no program stays beside the container but
/// its keeper, whose task is the container's first process.
///
/// A start: pull the image · write the bundle · keeper → (own mount namespace: overlay of layers and a writable
/// directory) → runtime → container. The overlay is mounted in that namespace alone, so it ends with the container,
/// however that ends, and the machine never sees it.

#include <functional>
#include <memory>
#include <string>

#include "driver/driver.hpp"
#include "oci/store.hpp"
#include "pod/config.hpp"

namespace underway::pod {

struct Options {
  /// As for other drivers: keeper, cgroups, ledger.
  driver::Options driver;
  /// "podman" or "docker": what jobs call it. Both do the same.
  std::string name = "podman";
  std::shared_ptr<oci::Store> store;
  Policy policy;
  /// Empty: crun, else runc.
  std::string runtime;
  /// Credentials for registries, as containers' auth.json.
  std::string auth_file;
};

std::unique_ptr<driver::Driver> make_pod(Options options);

}  // namespace underway::pod
