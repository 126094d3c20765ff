#pragma once
/// @file
/// The driver of capsules: a sealed service as a task. Below a signed image that is verified before it is mounted,
/// above an overlay, around both namespaces, and onto the host's bridges addresses that nobody else has.
///
/// A start, in this order; whatever fails undoes what was before it, and the ledger undoes it after a crash:
///
///   verify the image · open the overlay · mount the image · write the capsule's own layer (layer.hpp)
///   links onto the bridges, without addresses (network.hpp)
///   keeper and init, which waits (plan.hpp, init/main.cpp) — meanwhile: does somebody have the addresses?
///   addresses, announcement · "go": the step `probe`, then the services
///
/// Nothing acts before its addresses are its own and the probe has succeeded: a controller that runs and cannot reach
/// its nodes does more harm than one that is down.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/driver.hpp"
#include "net/announce.hpp"

namespace underway::run {

struct Options {
  /// As for other drivers: keeper, cgroups, ledger.
  driver::Options driver;
  /// The static program that becomes pid 1 of a capsule.
  std::string init_program;
  /// "<agent data_dir>/capsules": overlays and records of runs. On a file system that can hold an overlay's upper
  /// layer.
  std::string capsules;
  /// "<agent data_dir>/images".
  std::string images;
  /// Brings an image that is not there into the store, and gives its path. Blocks. Absent: none is fetched.
  std::function<std::string(const std::string& reference)> fetch;
  /// Directories with the public keys that are trusted.
  std::vector<std::string> keys;
  net::ProbeSchedule probes;
  /// For clones that are only tried out: what is bound can be read only, the step `probe` does not run, a service is
  /// given up after its third failure, and nobody may do what reaches beyond the namespaces (set the clock, reboot).
  bool rehearsal = false;
  const Clock* clock = nullptr;  ///< outlives the driver, and is there
  /// Told before each part of a start: for tests that end the agent there.
  std::function<void(const std::string&)> on_step;
};

std::unique_ptr<driver::Driver> make_capsule(Options options);

}  // namespace underway::run
