#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/node/draining.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

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
  const auto targets = drain_targets(client, arguments);
  if (only_watch) return monitor_drains(client, targets);
  if (only_tell) {
    print(drain_impact(client, targets, *drain) + "\n");
    return kDone;
  }
  if (enable) say(drain_impact(client, targets, *drain));
  if (!arguments.has("yes")) ask_to_drain(targets, enable);
  for (const auto& target : targets)
    client.drain_node(target.id, drain, disable && !arguments.has("keep-ineligible"), meta);
  if (enable && !arguments.has("detach")) return monitor_drains(client, targets);
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
          "themselves until the deadline; system jobs go last; virtual machines go along as they are, with memory and "
          "disks. The node takes nothing new until its drain is ended "
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
