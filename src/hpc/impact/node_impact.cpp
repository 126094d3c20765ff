#include <algorithm>

#include "impact/detail/parts.hpp"
#include "model/capsule/capsule_name.hpp"
#include "ownership/capsules.hpp"
#include "server/node/move_decisions.hpp"

namespace underway::impact::detail {

namespace {

using AllocationRow = tables::Row<model::Allocation>;

/// How a node is left.
struct Leaving {
  bool at_once = false;       ///< nothing is waited for
  bool asks_slurm = false;    ///< its Slurm jobs are waited for
  bool keeps_system = false;  ///< system jobs stay
  bool slurm_first = false;   ///< its Slurm jobs alone are waited for, whatever becomes of the rest
};

/// Why the capsule has no host to go to; nothing when it has. A drain moves it to its standby, or to where a copy is.
std::optional<std::string> capsule_is_stuck(const View& view, const model::Capsule& capsule, const model::Node& node) {
  const auto usable = [&](const std::string& id) {
    const auto other = id.empty() || id == node.id ? nullptr : view.tables.find_node(id);
    return other && other->ready();
  };
  if (usable(capsule.standby)) return std::nullopt;
  const bool copied = std::any_of(capsule.replicas.begin(), capsule.replicas.end(),
                                  [&](const auto& replica) { return usable(replica.node); });
  if (copied) return std::nullopt;
  return "it has no standby that is ready, and no copy elsewhere";
}

/// Why nothing takes the allocation's place; nothing when some other node would.
std::optional<std::string> is_stuck(const View& view, const AllocationRow& row, const model::TaskGroup& group,
                                    const model::Node& node) {
  if (model::capsule_task(group) != nullptr) {
    if (const auto capsule = ownership::find_capsule(view.tables, *row->job, group))
      return capsule_is_stuck(view, *capsule, node);
  }
  std::optional<std::string> against;
  for (const auto& verdict : view.verdicts ? view.verdicts(row->job, group) : std::vector<scheduler::NodeVerdict>{}) {
    if (verdict.node->id == node.id) continue;
    if (verdict.against.empty()) return std::nullopt;
    if (!against) against = fmt::format("{}: {}", verdict.node->name, verdict.against);
  }
  return against.value_or("there is no other node");
}

class Departure {
 public:
  Departure(const View& view, const model::Node& node, const std::string& why, const Leaving& how,
            std::vector<Finding>& findings)
      : view_(view), node_(node), why_(why), how_(how), findings_(findings) {}

  void judge() {
    const std::size_t before = findings_.size();
    for (const auto& row : view_.tables.allocations_on_node(node_.id)) {
      const auto* group = row->terminal() || !row->job ? nullptr : row->job->find_group(row->group);
      if (group != nullptr) look_at(row, *group);
    }
    if (work_ > 0) emptied();
    if (moving_ > 0)
      say(Impact::brief,
          fmt::format("{} {} to other nodes", counted(moving_, "service"), moving_ == 1 ? "moves" : "move"));
    if (machines_ > 0)
      say(Impact::brief,
          fmt::format("{} {} to other nodes, and {} still on the way", counted(machines_, "virtual machine"),
                      machines_ == 1 ? "goes" : "go", machines_ == 1 ? "stands" : "stand"));
    if (findings_.size() == before) say(Impact::none, "nothing that runs there is missed");
  }

 private:
  void look_at(const AllocationRow& row, const model::TaskGroup& group) {
    const auto& job = *row->job;
    if (job.type == model::JobType::system) {
      const bool slurmd = slurmd_of(group) != nullptr && !how_.keeps_system;
      if (!slurmd) return;
      ++work_;
      ++slurm_;
    } else if (job.runs_to_its_end()) {
      ++work_;
    } else if (!deferrable(job, group)) {
      if (const auto stuck = is_stuck(view_, row, group, node_))
        say(Impact::outage, fmt::format("job '{}' has nowhere to go ({})", job.id, *stuck));
      else
        ++(!how_.at_once && server::can_move(*row) ? machines_ : moving_);
    }
  }
  void emptied() {
    const std::size_t waited_for = how_.slurm_first ? slurm_ : 0;
    if (how_.at_once && work_ > waited_for) return say(Impact::outage, "what it computes ends at once");
    if (slurm_ > 0 && !how_.asks_slurm)
      return say(Impact::outage, "its Slurm jobs are not waited for, which a drain with -slurm does");
    say(Impact::drain,
        slurm_ > 0 ? "its Slurm jobs end first" : fmt::format("{} end first", counted(work_, "batch task group")));
  }
  void say(Impact impact, const std::string& what) { findings_.push_back({impact, fmt::format("{}: {}", why_, what)}); }

  const View& view_;
  const model::Node& node_;
  const std::string& why_;
  const Leaving& how_;
  std::vector<Finding>& findings_;
  std::size_t work_ = 0, moving_ = 0, machines_ = 0;
  std::size_t slurm_ = 0;  ///< of `work_`: slurmds
};

}  // namespace

void judge_node(const View& view, const model::Node& proposed, std::vector<Finding>& findings) {
  const auto current = view.tables.find_node(proposed.id);
  if (!current || !proposed.drain) return;
  const bool forced = proposed.drain->deadline < Duration{0};
  // Another deadline is the same drain, unless nothing is waited for any more.
  if (current->drain && (!forced || current->drain->deadline < Duration{0})) return;
  const Leaving how{forced, proposed.drain->ask_slurm, proposed.drain->ignore_system_jobs};
  Departure(view, *current, fmt::format("node {} is emptied", current->name), how, findings).judge();
}

void judge_loss(const View& view, const model::Node& node, const std::string& why, bool slurm_first,
                std::vector<Finding>& findings) {
  const Leaving how{.at_once = true, .asks_slurm = slurm_first, .slurm_first = slurm_first};
  Departure(view, node, why, how, findings).judge();
}

}  // namespace underway::impact::detail
