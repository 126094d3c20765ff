#pragma once
/// @file
/// Whether a task that ended starts again on this node, and when: the `restart` block. Pure: time and jitter are given.

#include <optional>
#include <string>

#include "model/job/job.hpp"

namespace underway::node {

/// What is kept on disk, so that an agent's restart grants no new attempts.
struct RestartCounters {
  std::int64_t count = 0;           ///< restarts in the present interval
  std::int64_t interval_start = 0;  ///< ns since the epoch; 0: none has begun
};

enum class RestartKind {
  after,   ///< start again after `delay`
  refuse,  ///< no: the task has failed for good
  done     ///< it ended as it should
};

struct RestartDecision {
  RestartKind kind = RestartKind::done;
  Duration delay{0};
  std::string reason;  ///< Nomad's words
};

/// Why the task is not running.
enum class EndKind {
  exited,         ///< with `success` or without
  start_failed,   ///< setup or the driver failed, and another try may help
  invalid,        ///< no further try can help: a bad configuration
  asked_restart,  ///< a template, a person: costs no attempt
  unhealthy,      ///< a check asked for it: as if it had failed by itself
};

class RestartTracker {
 public:
  explicit RestartTracker(model::RestartPolicy policy, RestartCounters counters = {})
      : policy_(policy), counters_(counters) {}

  /// `runs_forever`: such tasks are restarted even after success; others are then done.
  /// `jitter` in [0, 1): up to a quarter of the delay is added.
  RestartDecision decide(EndKind end, bool success, bool runs_forever, TimePoint now, double jitter);

  /// In-place updates bring a new policy; the counters stay.
  void set_policy(model::RestartPolicy policy) { policy_ = policy; }
  const RestartCounters& counters() const { return counters_; }

 private:
  model::RestartPolicy policy_;
  RestartCounters counters_;
};

/// Whether the task's successful end is a reason to start it again.
bool runs_forever(model::JobType type, const model::Task& task);

}  // namespace underway::node
