#include "cli/node/draining.hpp"

#include <unistd.h>

#include <set>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/impact/impact_text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {

std::vector<DrainTarget> drain_targets(sdk::Client& client, const Arguments& arguments) {
  std::vector<std::string> wanted = arguments.positional();
  if (arguments.has("self")) {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    wanted.emplace_back(name);
  }
  std::set<std::string> ids;
  for (const auto& node : wanted) ids.insert(resolve_node(client, node));
  const auto pool = arguments.find("pool"), node_class = arguments.find("class"), rack = arguments.find("rack");
  const bool selects = pool || node_class || rack;
  if (!selects && ids.empty())
    throw Error(Code::invalid, "no node is named").advise("name nodes, or -pool, -class, -rack, -self");
  std::vector<DrainTarget> targets;
  for (const auto& node : client.nodes()) {
    bool selected = selects && (!pool || node.node_pool == *pool) && (!node_class || node.node_class == *node_class);
    if (selected && rack) {
      const auto meta = client.node(node.id).meta;
      const auto it = meta.find("rack");
      selected = it != meta.end() && it->second == *rack;
    }
    if (selected || ids.contains(node.id)) targets.push_back({node.id, node.name});
  }
  if (targets.empty())
    throw Error(Code::not_found, "no node is of that pool, class and rack")
        .advise("`underway node status` lists nodes");
  return targets;
}

namespace {

void line(const std::string& text) { print(fmt::format("{}: {}\n", format_time(current_time()), text)); }

/// Tells what changed about a node and its allocations since it was asked last.
class Watch {
 public:
  explicit Watch(DrainTarget target) : target_(std::move(target)) {}

  bool over() const { return over_; }

  void look(sdk::Client& client) {
    const auto node = client.node(target_.id);
    if (node.drain && !std::exchange(told_, true)) line(fmt::format("Node \"{}\" drain strategy set", target_.id));
    const std::string slurm = node.drain && node.slurm_drain ? node.slurm_drain->description : std::string();
    if (slurm != slurm_ && !slurm.empty()) line(fmt::format("Node \"{}\" {}", target_.id, slurm));
    slurm_ = slurm;
    const auto allocations = client.node_allocations(target_.id);
    for (const auto& allocation : allocations) look(client, allocation);
    if (node.drain) return;
    over_ = true;
    const bool canceled = node.last_drain && node.last_drain->status == model::DrainStatus::canceled;
    if (!node.last_drain) line(fmt::format("No drain strategy set for node {}", target_.id));
    if (node.last_drain)
      line(
          fmt::format("{} for node {} ({})", canceled ? "Drain canceled" : "Drain complete", target_.id, target_.name));
  }

 private:
  struct Seen {
    bool marked = false, stopping = false;
    model::ClientStatus status = model::ClientStatus::pending;
    std::string way;      ///< of its machines
    std::string trouble;  ///< why they do not move
  };

  void look(sdk::Client& client, const model::Allocation& allocation) {
    const auto [it, fresh] = seen_.try_emplace(allocation.id);
    Seen& seen = it->second;
    // What had ended before is of no interest.
    if (fresh) seen.status = allocation.client_status;
    if (fresh && allocation.client_terminal()) seen.marked = seen.stopping = true;
    const std::string what = fmt::format("Alloc \"{}\" ({})", allocation.id, allocation.name);
    if (allocation.transition.migrate && !std::exchange(seen.marked, true)) line(what + " marked for migration");
    if (allocation.server_terminal() && !std::exchange(seen.stopping, true)) line(what + " draining");
    if (!fresh || !allocation.client_terminal()) look_at_machines(client, allocation, seen, what);
    if (allocation.client_status == seen.status) return;
    line(fmt::format("{} status {} -> {}", what, describe::spell(seen.status),
                     describe::spell(allocation.client_status)));
    seen.status = allocation.client_status;
  }

  /// Virtual machines go elsewhere as they are.
  void look_at_machines(sdk::Client& client, const model::Allocation& allocation, Seen& seen, const std::string& what) {
    const auto trouble = allocation.sleep && !allocation.terminal() ? allocation.sleep->trouble : std::string();
    if (!trouble.empty() && trouble != seen.trouble)
      line(fmt::format("{} stays, and runs on: {}; `underway node drain -enable` tries again", what, trouble));
    seen.trouble = trouble;
    if (!allocation.transition.with_machines || allocation.next_allocation.empty()) return;
    const auto next = client.allocation(allocation.next_allocation);
    if (!next.arrival) return;
    const auto way = in_words(next);
    if (!way.empty() && way != seen.way) line(fmt::format("{}: {}", what, seen.way = way));
  }
  static std::string in_words(const model::Allocation& next) {
    switch (next.arrival->phase) {
      case model::ArrivalPhase::expected:
        return fmt::format("node {} looks whether it can take its machines", next.node_name);
      case model::ArrivalPhase::coming:
        return fmt::format("its machines are sent to node {} while they run", next.node_name);
      case model::ArrivalPhase::ready:
        return fmt::format("its machines sleep, and are sent to node {}", next.node_name);
      case model::ArrivalPhase::arrived:
        return fmt::format("its machines are on node {}", next.node_name);
      case model::ArrivalPhase::lost:
        return fmt::format("its machines are lost, and begin anew on node {}: {}", next.node_name,
                           next.arrival->trouble);
      case model::ArrivalPhase::refused:
        return {};  // told of the allocation itself
    }
    return {};
  }

  DrainTarget target_;
  bool told_ = false, over_ = false;
  std::string slurm_;
  std::map<std::string, Seen> seen_;
};

}  // namespace

int monitor_drains(sdk::Client& client, const std::vector<DrainTarget>& targets) {
  line("Ctrl-C to stop monitoring: will not cancel the node drain");
  std::vector<Watch> watches(targets.begin(), targets.end());
  // The server may be restarted meanwhile: that is no reason to stop looking.
  constexpr int kMostFailures = 120;
  int failures = 0;
  while (true) {
    try {
      for (auto& watch : watches) {
        if (!watch.over()) watch.look(client);
      }
      failures = 0;
    } catch (const Error& error) {
      if (error.code() != Code::unavailable || ++failures == kMostFailures) throw;
    }
    if (std::all_of(watches.begin(), watches.end(), [](const Watch& watch) { return watch.over(); })) return kDone;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

std::string drain_impact(sdk::Client& client, const std::vector<DrainTarget>& targets,
                         const model::DrainStrategy& drain) {
  std::vector<model::Judgement> parts;
  for (const auto& target : targets) parts.push_back(client.plan_drain(target.id, drain));
  return impact_line(parts);
}

void ask_to_drain(const std::vector<DrainTarget>& targets, bool enable) {
  std::vector<std::string> names;
  for (const auto& target : targets) names.push_back(target.name);
  const std::string question =
      fmt::format("Are you sure you want to {} the drain of {}?", enable ? "begin" : "end", join(names, ", "));
  if (!confirm(question)) throw Error(Code::conflict, "nothing was changed").advise("-yes answers the question");
}

}  // namespace underway::cli
