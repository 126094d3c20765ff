#pragma once
/// @file
/// The rollouts that `apply` began: watched beside the cluster, and what became of them.

#include "cli/alloc/failing_tasks.hpp"

namespace underway::cli {

class RolloutsOfChange {
 public:
  RolloutsOfChange(sdk::Client& client, sdk::AppliedCluster applied)
      : client_(client), applied_(std::move(applied)), failing_(client) {}

  /// Until the cluster has settled and every rollout has its verdict or waits for somebody; when one failed and nothing
  /// took its job back, or a job failed of what no waiting cures, the cluster is not waited for. Throws timeout naming
  /// what is missing; while a rollout goes on it is its own deadline that counts, not `patience`.
  void follow(const std::string& cluster, Duration patience);
  /// Says what became of each. The exit code: 1 when one did not succeed.
  int tell();

 private:
  struct Rollout {
    model::Deployment deployment;
    std::optional<model::Deployment> rollback;

    bool under_way() const;
    bool failed() const;
    bool stuck() const;  ///< failed, and its job was not taken back
  };
  void look();
  /// Whether a job of the change failed of what no waiting cures, and its rollout had the time to say so.
  bool gives_up(const wire::Status& status);
  bool any(bool (Rollout::*holds)() const) const;
  std::vector<std::string> lines();

  sdk::Client& client_;
  sdk::AppliedCluster applied_;
  FailingTasks failing_;
  std::map<std::string, Rollout> rollouts_;                                ///< by job
  std::map<std::string, std::chrono::steady_clock::time_point> hopeless_;  ///< by job: since when it is known
};

/// What became of one rollout, in words.
std::string verdict_text(const model::Deployment& deployment, const std::optional<model::Deployment>& rollback);

}  // namespace underway::cli
