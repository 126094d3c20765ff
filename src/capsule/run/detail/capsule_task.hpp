#pragma once
/// @file
/// A capsule's run as the node's handle: a local task, and what lies around it.

#include <memory>

#include "driver/driver.hpp"
#include "run/running.hpp"

namespace underway::run::detail {

/// What a run has beside its keeper: recorded on behalf of `owner`.
struct Surroundings {
  std::string owner;
  std::string capsules;  ///< where the record of the run is
  os::Ledger* ledger = nullptr;
  const Clock* clock = nullptr;  ///< outlives the task
  /// The record of this run; nothing when it never came so far.
  std::optional<Run> run;
};

/// Links, mounts and the overlay's file system of a run that has ended, and the note that it has. Idempotent.
void clear_away(const Surroundings& around);

std::unique_ptr<driver::TaskHandle> make_task(std::unique_ptr<driver::TaskHandle> task, Surroundings around);

}  // namespace underway::run::detail
