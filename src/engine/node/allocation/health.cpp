#include "node/allocation/health.hpp"

#include <algorithm>

namespace underway::node {

using model::HealthCheck;

HealthRules health_rules(const model::Allocation& allocation) {
  const model::Job& job = *allocation.job;
  static const model::TaskGroup none;
  const model::TaskGroup* found = job.find_group(allocation.group);
  const model::TaskGroup& group = found != nullptr ? *found : none;
  if (allocation.deployment_id.empty() && job.type == model::JobType::service) {
    const auto policy = model::migrate_policy(job, group);
    return {policy.health_check, policy.min_healthy_time, policy.healthy_deadline};
  }
  const auto policy = model::update_policy(job, group);
  return {policy.health_check, policy.min_healthy_time, policy.healthy_deadline};
}

HealthMonitor::HealthMonitor(Runtime& runtime, model::AllocHealth health, HealthMeasure measure,
                             std::function<void()> changed)
    : runtime_(runtime), health_(std::move(health)), measure_(std::move(measure)), changed_(std::move(changed)) {}

void HealthMonitor::measure(const model::Allocation& allocation, const Failures& failures) {
  const bool same = measure_.since != 0 && measure_.job_version == allocation.job_version &&
                    measure_.deployment_id == allocation.deployment_id;
  if (same && measuring_) return;
  const std::int64_t now = unix_nanos(runtime_.now());
  if (!same) {
    health_.healthy.reset();
    health_.timestamp = 0;
    health_.description.clear();
    measure_ = {allocation.job_version, allocation.deployment_id, now, {}};
    for (const auto& [task, failed] : failures) measure_.failures_before[task] = failed.count;
  }
  measuring_ = true;
  rules_ = health_rules(allocation);
  lasting_.reset();
  deadline_.reset();
  if (health_.healthy || rules_.check == HealthCheck::manual) return;
  // An agent that comes back late still gives what works the time to show it.
  const Duration least = std::min(rules_.deadline, 2 * rules_.min_healthy_time);
  const Duration left = std::clamp(rules_.deadline - Duration{now - measure_.since}, least, rules_.deadline);
  deadline_ = runtime_.after(left, [this] { out_of_time(); });
}

bool HealthMonitor::well() const {
  return signs_.tasks_work && (rules_.check == HealthCheck::task_states || signs_.check_problem.empty());
}

std::string HealthMonitor::found_failure() const {
  for (const auto& [task, failed] : signs_.failures) {
    const auto before = measure_.failures_before.find(task);
    if (failed.count > (before == measure_.failures_before.end() ? 0 : before->second))
      return fmt::format("task '{}' failed: {}", task, failed.last);
  }
  return {};
}

void HealthMonitor::decide(bool healthy, std::string description) {
  health_.healthy = healthy;
  health_.timestamp = unix_nanos(runtime_.now());
  health_.description = std::move(description);
  lasting_.reset();
  deadline_.reset();
}

void HealthMonitor::out_of_time() {
  std::string why = !signs_.tasks_work              ? "its tasks do not run"
                    : !signs_.check_problem.empty() ? signs_.check_problem
                                                    : fmt::format("it has not yet worked for {} without interruption",
                                                                  human_duration(rules_.min_healthy_time));
  decide(false, fmt::format("not healthy within {}: {}", human_duration(rules_.deadline), why));
  changed_();
}

bool HealthMonitor::observe(HealthSigns signs) {
  signs_ = std::move(signs);
  const bool ready = signs_.tasks_work && signs_.check_problem.empty();
  bool news = std::exchange(health_.ready, ready) != ready;
  if (!measuring_ || health_.healthy || rules_.check == HealthCheck::manual) return news;
  if (std::string failure = found_failure(); !failure.empty()) {
    decide(false, std::move(failure));
    return true;
  }
  if (!well()) {
    lasting_.reset();
  } else if (rules_.min_healthy_time <= Duration{0}) {
    decide(true, "");
    news = true;
  } else if (!lasting_) {
    lasting_ = runtime_.after(rules_.min_healthy_time, [this] {
      decide(true, "");
      changed_();
    });
  }
  return news;
}

bool HealthMonitor::stop() {
  measuring_ = false;
  lasting_.reset();
  deadline_.reset();
  return std::exchange(health_.ready, false);
}

const describe::Structure& description(describe::Tag<HealthMeasure>) {
  static const describe::Structure structure =
      describe::Builder<HealthMeasure>("health_measure", "What an allocation's health was measured for.")
          .wire<&HealthMeasure::job_version>("JobVersion", "The version of its job.")
          .wire<&HealthMeasure::deployment_id>("DeploymentID", "The rollout.")
          .wire<&HealthMeasure::since>("Since", "When it began.")
          .wire<&HealthMeasure::failures_before>("FailuresBefore", "Failures of each task until then.")
          .done();
  return structure;
}

const describe::Structure& description(describe::Tag<TaskFailures>) {
  static const describe::Structure structure =
      describe::Builder<TaskFailures>("task_failures", "The failures of a task.")
          .wire<&TaskFailures::count>("Count", "How many.")
          .wire<&TaskFailures::last>("Last", "The newest.")
          .done();
  return structure;
}

}  // namespace underway::node
