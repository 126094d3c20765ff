#pragma once
/// @file
/// A rehearsal: a clone of a capsule is started beside it and asked whether it works. The clone has the capsule's
/// configuration and data and cannot be told from it by what runs inside, but it is alone:
///
///   networks   the same addresses, on bridges in a network namespace of the rehearsal's own, which lead nowhere
///   data       a copy; what is bound from the host can be read only
///   files      copies of what its task has in /local and /secrets, the latter in memory
///   `probe`, `before_stop`  do not run: nobody could be reached; and nobody in it may set the clock or touch the
///   kernel
///
/// All of it lies below one directory and is recorded before it is made, so that a crash of the agent leaves nothing
/// that the next start does not find (`sweep`). One thing is shared: a Unix socket in a directory that is bound from
/// the host is the host's.

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json/describe.hpp"
#include "model/capsule/rehearsal.hpp"
#include "model/job/job.hpp"
#include "model/node/node.hpp"
#include "run/capsule.hpp"

namespace underway::rehearsal {

/// Of the stream "rehearsal.run", which ends with one control message, a model::Rehearsal.
struct RehearsalRequest {
  std::string ns, name;
  model::Job job;        ///< with its configuration
  std::string group;     ///< whose capsule it is
  std::string image;     ///< "name:version" in the place of the job's; empty: the job's
  std::string snapshot;  ///< its id; empty: one is taken now, and removed again
  /// As an upgrade does it: what ran last starts with the data before, and ends by itself. Some data of one that was
  /// cut short can be read by itself alone, e.g. the log of a database.
  bool stop_first = false;
  std::vector<model::RehearsalScript> scripts;
  Duration patience = std::chrono::minutes{10};  ///< with the start, with the check and with each script
};
const describe::Structure& description(describe::Tag<RehearsalRequest>);

struct Options {
  /// As the node's driver of capsules has it: `capsules` are those of the node.
  run::Options driver;
  /// "<agent data_dir>/rehearsals": on a plain file system with room for a copy of an overlay.
  std::string place;
  std::string cgroup = "underway/rehearsals";
  /// For `${…}` in configurations, and its name for errors.
  model::Node self;
  /// Asked all the time: the rehearsal is given up. Thread: that of `rehearse`.
  std::function<bool()> cancelled;
  /// Told before each part: for tests that end the agent there.
  std::function<void(const std::string&)> on_step;
};

/// Whether the capsule would work with the data that `fill(upper)` brings as the directory `upper`, which does not
/// exist yet. Findings, in this order: "stop" if it was asked for and the image of what ran is here, "start", "check",
/// each script; after one that failed nothing more is tried, but for scripts, of which each is. Image and digest are
/// told; whose data it had is for the caller to say.
///
/// Errors: invalid (the group has no capsule, a script is none); is_under_way() while the same capsule is rehearsed;
/// those of `fill`, and of what is left of a clone before and cannot be cleared away; exhausted; unavailable when it
/// was cancelled. That the clone does not start is no error. Blocks: as long as it takes.
model::Rehearsal rehearse(const Options& options, const RehearsalRequest& request,
                          const std::function<void(const std::string& upper)>& fill);

/// The same with the snapshot that the request names, or one that is taken now. Errors also: not_found when the capsule
/// has no overlay on this node, or no such snapshot.
model::Rehearsal rehearse(const Options& options, const RehearsalRequest& request);

/// Whether it says that the same capsule is being rehearsed by somebody else: that ends, and then it may be asked for
/// again. No other failure is like it, whatever its code. Errors travel whole, so it holds at the other end of a link.
bool is_under_way(const Error& error);

/// Ends and removes what rehearsals of an earlier agent have left. Throws the first failure, having tried everything.
void sweep(const Options& options);

}  // namespace underway::rehearsal
