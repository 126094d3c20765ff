#pragma once
/// @file
/// Two answers about an allocation. `ready`: it does what it is for, now; dependents start by it and people see it.
/// `healthy`: it has done so for `min_healthy_time` since its version came (`update` or `migrate`); rollouts count it,
/// and once found it stands for that version. A task that fails an hour after its rollout makes its allocation not
/// ready; the rollout stays a success. Spans are measured with timers, so a clock that is set changes nothing.

#include <map>
#include <memory>
#include <string>

#include "node/runtime.hpp"

namespace underway::node {

/// By which measure, and within which time.
struct HealthRules {
  model::HealthCheck check = model::HealthCheck::checks;
  Duration min_healthy_time{0};
  Duration deadline{0};
};

/// `update` for what a rollout placed, `migrate` for other services: Source: Nomad's health hook (client/allocrunner).
HealthRules health_rules(const model::Allocation& allocation);

/// What is measured: kept on disk with the verdict, so that an agent's restart neither forgets nor begins anew.
struct HealthMeasure {
  std::int64_t job_version = 0;
  std::string deployment_id;
  std::int64_t since = 0;  ///< ns since the epoch; 0: nothing was measured yet
  /// How often each task had failed before; what came later counts.
  std::map<std::string, std::int64_t> failures_before;
};

/// The failures of one task.
struct TaskFailures {
  std::int64_t count = 0;
  std::string last;  ///< "exit code 1"
};
using Failures = std::map<std::string, TaskFailures>;

/// What there is to see at one moment.
struct HealthSigns {
  bool tasks_work = false;
  std::string check_problem;  ///< why the checks that count do not pass; empty: they do, or there are none
  Failures failures;
};

class HealthMonitor {
 public:
  /// `changed` is called when time has decided. `health` and `measure` are what an earlier agent had found.
  HealthMonitor(Runtime& runtime, model::AllocHealth health, HealthMeasure measure, std::function<void()> changed);
  HealthMonitor(const HealthMonitor&) = delete;
  HealthMonitor& operator=(const HealthMonitor&) = delete;

  /// The allocation may run: its health is measured from now on. Another version or deployment than before is measured
  /// anew; the same one is not.
  void measure(const model::Allocation& allocation, const Failures& failures);
  /// True when this changed what is known.
  bool observe(HealthSigns signs);
  /// It is being stopped: not ready, and nothing more is found.
  bool stop();

  const model::AllocHealth& health() const { return health_; }
  const HealthMeasure& measured() const { return measure_; }

 private:
  /// Whether it could be called healthy if this lasted.
  bool well() const;
  void decide(bool healthy, std::string description);
  void out_of_time();
  std::string found_failure() const;

  Runtime& runtime_;
  model::AllocHealth health_;
  HealthMeasure measure_;
  std::function<void()> changed_;
  HealthRules rules_;
  HealthSigns signs_;
  bool measuring_ = false;
  std::shared_ptr<void> deadline_, lasting_;  ///< timers
};

const describe::Structure& description(describe::Tag<HealthMeasure>);
const describe::Structure& description(describe::Tag<TaskFailures>);

}  // namespace underway::node
