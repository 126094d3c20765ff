#pragma once
/// @file
/// Where the clone of one capsule lies, so that whoever comes after a crash finds all of it by the capsule's name:
///
///     <place>/<namespace>/<name>/lock                    held by who rehearses
///     <place>/<namespace>/<name>/capsules/…              the clone's overlay and the record of its run
///     <place>/<namespace>/<name>/alloc, …/task           as of an allocation; task/secrets is a tmpfs
///
/// and in the ledger by `owner`, in the kernel by `cgroup`.

#include <string>

#include "rehearsal/rehearsal.hpp"

namespace underway::rehearsal::detail {

struct Place {
  Place(const Options& options, const std::string& ns, const std::string& name);

  std::string directory;
  std::string capsules() const { return directory + "/capsules"; }
  std::string task() const { return directory + "/task"; }
  std::string secrets() const { return task() + "/secrets"; }
  std::string alloc() const { return directory + "/alloc"; }
  std::string keeper() const { return task() + "/private/run-1"; }
  std::string lock() const { return directory + ".lock"; }
  /// What the driver takes for the allocation.
  std::string owner;
  std::string cgroup;
};

/// Ends the clone, if one runs there, and removes all of it. Nothing happens where there is nothing. Blocks: yes.
void clear_away(const Options& options, const Place& place);

}  // namespace underway::rehearsal::detail
