#include <unistd.h>

#include <set>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/impact/impact_text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

struct Target {
  std::string id, name;
};

/// The nodes that were named, and those of the pool, class or rack.
std::vector<Target> targets_of(sdk::Client& client, const Arguments& arguments) {
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
  std::vector<Target> targets;
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

void line(const std::string& text) { print(fmt::format("{}: {}\n", format_time(current_time()), text)); }

/// Tells what changed about a node and its allocations since it was asked last.
class Watch {
 public:
  explicit Watch(Target target) : target_(std::move(target)) {}

  bool over() const { return over_; }

  void look(sdk::Client& client) {
    const auto node = client.node(target_.id);
    if (node.drain && !std::exchange(told_, true)) line(fmt::format("Node \"{}\" drain strategy set", target_.id));
    const std::string slurm = node.drain && node.slurm_drain ? node.slurm_drain->description : std::string();
    if (slurm != slurm_ && !slurm.empty()) line(fmt::format("Node \"{}\" {}", target_.id, slurm));
    slurm_ = slurm;
    for (const auto& allocation : client.node_allocations(target_.id)) look(allocation);
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
  };

  void look(const model::Allocation& allocation) {
    const auto [it, fresh] = seen_.try_emplace(allocation.id);
    Seen& seen = it->second;
    // What had ended before is of no interest.
    if (fresh) seen.status = allocation.client_status;
    if (fresh && allocation.client_terminal()) seen = {true, true, allocation.client_status};
    const std::string what = fmt::format("Alloc \"{}\" ({})", allocation.id, allocation.name);
    if (allocation.transition.migrate && !std::exchange(seen.marked, true)) line(what + " marked for migration");
    if (allocation.server_terminal() && !std::exchange(seen.stopping, true)) line(what + " draining");
    if (allocation.client_status == seen.status) return;
    line(fmt::format("{} status {} -> {}", what, describe::spell(seen.status),
                     describe::spell(allocation.client_status)));
    seen.status = allocation.client_status;
  }

  Target target_;
  bool told_ = false, over_ = false;
  std::string slurm_;
  std::map<std::string, Seen> seen_;
};

int monitor(sdk::Client& client, const std::vector<Target>& targets) {
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

Duration deadline_of(const Arguments& arguments) {
  const bool force = arguments.has("force"), none = arguments.has("no-deadline");
  if (static_cast<int>(force) + static_cast<int>(none) + static_cast<int>(arguments.has("deadline")) > 1)
    throw Error(Code::invalid, "only one of -deadline, -no-deadline and -force can be given");
  if (force) return Duration(-1);
  if (none) return Duration(0);
  const auto given = arguments.get("deadline", "1h");
  const auto parsed = parse_duration(given);
  if (!parsed || *parsed <= Duration{0})
    throw Error(Code::invalid, fmt::format("'{}' is no deadline", given)).advise("write a duration, like 1h or 30m");
  return *parsed;
}

model::StringMap meta_of(const Arguments& arguments) {
  model::StringMap meta;
  if (const auto message = arguments.find("m")) meta["message"] = *message;
  for (const auto& pair : arguments.all("meta")) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(Code::invalid, fmt::format("'{}' is not KEY=VALUE", pair));
    meta[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return meta;
}

std::string impact_of(sdk::Client& client, const std::vector<Target>& targets, const model::DrainStrategy& drain) {
  std::vector<model::Judgement> parts;
  for (const auto& target : targets) parts.push_back(client.plan_drain(target.id, drain));
  return impact_line(parts);
}

void ask_to_drain(const std::vector<Target>& targets, bool enable) {
  std::vector<std::string> names;
  for (const auto& target : targets) names.push_back(target.name);
  const std::string question =
      fmt::format("Are you sure you want to {} the drain of {}?", enable ? "begin" : "end", join(names, ", "));
  if (!confirm(question)) throw Error(Code::conflict, "nothing was changed").advise("-yes answers the question");
}

int run_node_drain(const Arguments& arguments) {
  const bool enable = arguments.has("enable"), disable = arguments.has("disable");
  const bool only_watch = arguments.has("monitor") && !enable && !disable;
  if (enable == disable && !only_watch)
    throw Error(Code::invalid, "either -enable or -disable must be given, or -monitor alone");
  const bool only_tell = arguments.has("dry-run");
  if (only_tell && !enable) throw Error(Code::invalid, "-dry-run is for -enable: the end of a drain empties nothing");
  std::optional<model::DrainStrategy> drain;
  if (enable) {
    drain.emplace().deadline = deadline_of(arguments);
    drain->ignore_system_jobs = arguments.has("ignore-system");
    drain->ask_slurm = arguments.has("slurm");
  }
  const auto meta = meta_of(arguments);
  auto client = make_client(arguments);
  const auto targets = targets_of(client, arguments);
  if (only_watch) return monitor(client, targets);
  if (only_tell) {
    print(impact_of(client, targets, *drain) + "\n");
    return kDone;
  }
  if (enable) say(impact_of(client, targets, *drain));
  if (!arguments.has("yes")) ask_to_drain(targets, enable);
  for (const auto& target : targets)
    client.drain_node(target.id, drain, disable && !arguments.has("keep-ineligible"), meta);
  if (enable && !arguments.has("detach")) return monitor(client, targets);
  for (const auto& target : targets)
    print(fmt::format("Node \"{}\" drain strategy {}\n", target.id, enable ? "set" : "unset"));
  return kDone;
}

}  // namespace

const Command& node_drain_command() {
  static const Command command{
      .name = "node drain",
      .arguments = "[ID|NAME…]",
      .summary = "Moves everything away from nodes, or ends that.",
      .details =
          "Services move as their `migrate` says, so that enough of them are healthy at any time; batch jobs may end "
          "by "
          "themselves until the deadline; system jobs go last. The node takes nothing new until its drain is ended "
          "with -disable. The drain is the server's: it goes on when this command is interrupted, and when the server "
          "is restarted.\n"
          "With -slurm the Slurm node of that name is set to drain first, and nothing is moved while its Slurm jobs "
          "run; it is handed back to Slurm when the node is eligible again. If Slurm cannot be asked, the drain waits "
          "for it until the deadline.\n"
          "What those who use the cluster will notice is told first, and with -dry-run nothing else is done.",
      .examples = {"underway node drain -enable -dry-run c1", "underway node drain -enable -yes c1",
                   "underway node drain -enable -slurm -deadline 24h c3",
                   "underway node drain -enable -yes -detach -rack r7 -m 'new cooling'",
                   "underway node drain -monitor c1", "underway node drain -disable -yes c1"},
      .flags = {{"enable", "", "Begins, or changes the drain that runs."},
                {"disable", "", "Ends it; what has not moved stays, and the node is eligible again."},
                {"deadline", "DURATION", "When what is left goes at once; 1h."},
                {"no-deadline", "", "Waits for as long as it takes."},
                {"force", "", "Everything goes at once."},
                {"dry-run", "", "With -enable: says what would be noticed, and does nothing."},
                {"ignore-system", "", "System jobs stay."},
                {"keep-ineligible", "", "With -disable: takes nothing new all the same."},
                {"slurm", "", "Waits for the node's Slurm jobs first."},
                {"m", "MESSAGE", "Why: kept with the drain."},
                {"meta", "KEY=VALUE", "Kept with the drain.", true},
                {"self", "", "The node of this machine's name."},
                {"pool", "NAME", "Every node of the pool."},
                {"class", "NAME", "Every node of the class."},
                {"rack", "NAME", "Every node whose meta.rack is this."},
                {"monitor", "", "Shows the progress until it is done; alone: of a drain that runs."},
                {"detach", "", "Returns at once."},
                {"yes", "", "Does not ask."}},
      .least = 0,
      .most = 10'000,
      .run = run_node_drain};
  return command;
}

}  // namespace underway::cli
