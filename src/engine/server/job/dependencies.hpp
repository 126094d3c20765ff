#pragma once
/// @file
/// `depends_on`: what an allocation may do while the jobs that its own depends on work or do not, and which nodes have
/// to hear of a change. While munge is not ready on c1, slurmd is not started there; when both are stopped, munge stops
/// once slurmd has ended. Pure; the sessions ask whenever health changed.

#include "server/guard.hpp"

namespace underway::server {

/// Who depends on a job. Follows the tables by itself: built again after jobs have changed.
class Dependents {
 public:
  /// `guard` outlives it; null: there is none.
  explicit Dependents(const Guard* guard = nullptr) : guard_(guard) {}
  const Guard* guard() const { return guard_; }

  struct Edge {
    tables::Row<model::Job> job;  ///< which depends
    std::string group;            ///< only this group of it; empty: all
    model::Dependency dependency;
  };
  const std::vector<Edge>& of(const tables::Tables&, const std::string& ns, const std::string& job_id);

  /// An allocation of the job, on this node, has become healthy, or is so no longer, or has ended.
  struct Event {
    std::string ns, job_id, node_id;
    bool ended = false;
    auto operator<=>(const Event&) const = default;
  };
  /// Adds the ids of nodes whose allocations may now do something else.
  void collect(const tables::Tables&, const Event&, std::set<std::string>& nodes);

 private:
  void refresh(const tables::Tables&);

  const Guard* guard_;
  model::Revision built_at_ = -1;
  std::map<std::pair<std::string, std::string>, std::vector<Edge>> edges_;
  std::map<std::pair<std::string, std::string>, bool> worked_;  ///< whether it did anywhere, when last asked
};

/// What an allocation may do now.
struct Gate {
  bool start = true;        ///< tasks that do not run may be started, or started again
  bool pause = false;       ///< tasks that run are stopped, and started again when `start` is true
  bool stop = true;         ///< when it is not wanted any more: it may stop now
  std::string waiting_for;  ///< in words ("'munge' on this node"), when it may not
  /// After a boot of its machine it is not started before it is told so again; and its node tells at once what becomes
  /// of it, since somebody waits.
  bool guarded = false;
  bool suspend = false;  ///< with `pause`: they are stopped by going to sleep
  bool operator==(const Gate&) const = default;
};
Gate gate_of(const tables::Tables&, Dependents&, const model::Allocation&);
/// What a wanted allocation waits for before it may start, or start again, in words; nothing when it may. `guard` may
/// be null.
std::optional<std::string> waiting_for(const tables::Tables&, const model::Allocation&, const Guard* guard);
/// Whether both were given something that only one can have at a time: a port, a core, a device.
bool exclude_each_other(const model::Allocation& a, const model::Allocation& b);
/// Whether another allocation of its name, on its node for a system job, has taken the place of `lost`.
bool replaced(const tables::Tables&, const model::Job&, const model::Allocation& lost);

}  // namespace underway::server
