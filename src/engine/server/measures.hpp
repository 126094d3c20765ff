#pragma once
/// @file
/// What /v1/metrics tells of the server, counted as things change: a Prometheus that asks every ten seconds does not
/// have the loop walk over ten thousand nodes and their allocations each time.

#include <array>
#include <string>
#include <unordered_map>

#include "base/timing.hpp"
#include "tables/observer.hpp"

namespace underway::server {

/// The allocations of one group of a job, as the tables have them.
struct GroupCounts {
  std::int64_t starting = 0, running = 0, complete = 0, failed = 0, lost = 0, unknown = 0;
};

/// Follows the tables. Between apply() and publish() it is ahead of what is durable, as they are: read it when they may
/// be read. Thread: the loop's.
class Measures final : public tables::Observer {
 public:
  /// `tables` outlives it.
  explicit Measures(const tables::Tables& tables) : tables_(&tables) {}

  std::int64_t nodes() const { return nodes_; }
  std::int64_t nodes_ready() const { return ready_; }  ///< and eligible
  std::int64_t jobs() const { return jobs_; }
  std::int64_t jobs(model::JobStatus status) const { return by_status_[static_cast<std::size_t>(status)]; }
  std::int64_t allocations_running() const { return running_; }
  std::int64_t allocations_pending() const { return pending_; }  ///< that are still wanted

  /// By group_key(); those without an allocation may be absent.
  const std::unordered_map<std::string, GroupCounts>& groups() const { return groups_; }
  static std::string group_key(std::string_view ns, std::string_view job, std::string_view group);

  void reset() override;
  void loaded() override;
  void node_changed(const tables::Row<model::Node>& before, const tables::Row<model::Node>& after) override;
  void allocation_changed(const tables::Row<model::Allocation>& before,
                          const tables::Row<model::Allocation>& after) override;
  void job_changed(const tables::Row<model::Job>& before, const tables::Row<model::Job>& after) override;
  void evaluation_changed(const tables::Row<model::Evaluation>&, const tables::Row<model::Evaluation>&) override {}
  void deployment_changed(const tables::Row<model::Deployment>&, const tables::Row<model::Deployment>&) override {}
  void cluster_changed(const tables::Row<model::Cluster>&, const tables::Row<model::Cluster>&) override {}
  void host_changed(const tables::Row<model::Host>&, const tables::Row<model::Host>&) override {}
  void variable_changed(const tables::Row<model::Variable>&, const tables::Row<model::Variable>&) override {}
  void acl_policy_changed(const tables::Row<model::AclPolicy>&, const tables::Row<model::AclPolicy>&) override {}
  void acl_token_changed(const tables::Row<model::AclToken>&, const tables::Row<model::AclToken>&) override {}
  void acl_role_changed(const tables::Row<model::AclRole>&, const tables::Row<model::AclRole>&) override {}
  void record_changed(const tables::Row<model::Record>&, const tables::Row<model::Record>&) override {}

 private:
  void count(const model::Allocation& allocation, int by);

  const tables::Tables* tables_;
  std::int64_t nodes_ = 0, ready_ = 0, jobs_ = 0, running_ = 0, pending_ = 0;
  std::array<std::int64_t, 3> by_status_{};
  std::unordered_map<std::string, GroupCounts> groups_;
};

/// What the writer measures of itself.
struct WriterMeasures {
  template <class T>
  using ByType = std::array<T, 4>;  ///< by model::JobType
  ByType<Timing> scheduling;        ///< to plan an evaluation
  Timing commits;                   ///< until the store says that they are durable
  Timing plan_commits;              ///< those of them that have plans in them
  std::int64_t plans = 0;           ///< made, and not durable yet
  ByType<std::int64_t> planning{};  ///< evaluations that are being planned, or whose plan is not durable yet
};

}  // namespace underway::server
